/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the analyzer.
 *
 * Integer expressions are rewritten through polynomials: sums of products of *atoms*, which are
 * simplified expressions that are no sums themselves (variables, x // c, min(x, y), loads, ...).
 * A polynomial is exact when its value over the integers is the value of the expression: by the
 * contract of index expressions (tir/node.h), or since its bounds fit the type. Sums and products
 * of wrapping integers are a ring, so that collecting terms is right even when it is not exact; all
 * that orders or divides needs exactness. */
#ifndef GPUC_ARITH_PRIVATE_H
#define GPUC_ARITH_PRIVATE_H

#include <string.h>

#include "arith/arith.h"
#include "base/size.h"
#include "tir/rules.h"

enum {
    ARITH_MAX_TERMS = 48,
    ARITH_MAX_DEGREE = 8,
    ARITH_MAX_DEPTH = 400,    /* of recursion; deeper expressions stay as they are */
    ARITH_MAX_CONTEXTS = 200, /* assumptions made inside of one call */
    ARITH_PROOF_STEPS = 4000, /* of one call */
    ARITH_FAILED_PROOFS = 512 /* that are remembered */
};

/* ---- Memory: a stack of chunks in the context's arena, used again after a rewind ---------------- */

typedef struct arith_chunk {
    struct arith_chunk *next;
    size_t size;
    /* the bytes follow */
} arith_chunk;
typedef struct arith_pool {
    arith_chunk *first, *at;
    size_t used;
    size_t spent; /* bytes handed out since it was last emptied */
} arith_pool;
typedef struct arith_pool_mark {
    arith_chunk *at;
    size_t used;
} arith_pool_mark;

void *gpuc_arith_pool_alloc(gpuc_ctx *ctx, arith_pool *pool, size_t size); /* not zeroed */
static inline arith_pool_mark arith_pool_save(const arith_pool *pool)
{
    return (arith_pool_mark){pool->at, pool->used};
}
static inline void arith_pool_restore(arith_pool *pool, arith_pool_mark m)
{
    pool->at = m.at;
    pool->used = m.used;
}

/* ---- Memo tables: expr -> two words, valid for one set of facts ("generation") ------------------ */

typedef struct arith_memo_entry {
    gpuc_expr key;
    uint32_t gen;
    int64_t v[2];
} arith_memo_entry;
typedef struct arith_memo {
    arith_memo_entry *at;
    uint32_t count, capacity;
} arith_memo;

const arith_memo_entry *gpuc_arith_memo_get(const arith_memo *m, gpuc_expr key, uint32_t gen);
void gpuc_arith_memo_set(gpuc_analyzer *a, arith_memo *m, gpuc_expr key, uint32_t gen, int64_t v0,
                         int64_t v1);

/* What could not be proven with one set of facts, from this level and depth of recursion on: the ways to
 * prove a thing meet in the same polynomials again and again. */
typedef struct arith_failed {
    uint64_t key;
    uint32_t gen;
    int16_t level, depth;
} arith_failed;

/* ---- Polynomials ------------------------------------------------------------------------------- */

typedef struct arith_term {
    int64_t coeff;
    int n;                            /* at least 1 */
    gpuc_expr atom[ARITH_MAX_DEGREE]; /* by id, repeated for powers */
} arith_term;
typedef struct arith_poly {
    gpuc_dtype dtype;
    bool index; /* exact by contract */
    bool value; /* stands for a number, such as the difference of two sides: nothing has wrapped */
    int n;
    int64_t c;            /* the constant term */
    const arith_term *at; /* ordered by gpuc_arith_monomial_compare, coefficients not 0 */
} arith_poly;

/* ---- Facts ------------------------------------------------------------------------------------- */

typedef struct arith_known {
    gpuc_expr e;
    uint32_t previous; /* number + 1 of the entry that this one hides; 0 none */
    gpuc_bounds bounds;
    gpuc_modular modular;
    gpuc_expr min, max; /* symbolic and inclusive; NULL if there is none */
    gpuc_expr value;    /* equal to e, or NULL */
} arith_known;

struct gpuc_analyzer {
    gpuc_ctx *ctx;
    gpuc_map known_at; /* expr -> number + 1 */
    arith_known *known;
    size_t num_known, cap_known;
    const arith_poly **facts; /* each is >= 0 */
    size_t num_facts, cap_facts;
    struct arith_scope {
        size_t known, facts;
        arith_pool_mark memory;
    } * scopes; /* one per change */
    size_t num_scopes, cap_scopes;
    size_t settled; /* scopes of calls that ended well */
    arith_pool facts_memory, scratch;
    arith_memo polys, simplified, bounds, modulars, costs, contracts;
    uint32_t gen, next_gen;
    uint32_t active_gens[ARITH_MAX_CONTEXTS];
    int num_active;
    int depth, contexts, steps;
    arith_failed failed[ARITH_FAILED_PROOFS]; /* by key */
};

static inline bool arith_is_int_type(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_INT || t.code == GPUC_DTYPE_UINT;
}
static inline bool arith_is_scalar_int(gpuc_expr e)
{
    return arith_is_int_type(e->dtype) && e->dtype.lanes == 1;
}
static inline gpuc_tir_op arith_op_of(gpuc_expr e) /* GPUC_TIR_OP_COUNT if it is no operator */
{
    return e->kind == GPUC_EXPR_OP ? ((const gpuc_tir_opexpr_node *)e)->op : GPUC_TIR_OP_COUNT;
}
static inline gpuc_expr arith_arg(gpuc_expr e, int i)
{
    return ((const gpuc_tir_opexpr_node *)e)->a[i];
}
static inline bool arith_const(gpuc_expr e, int64_t *out)
{
    if (e->kind != GPUC_EXPR_INT) return false;
    *out = ((const gpuc_tir_int_node *)e)->value;
    return true;
}
/* The range of an integer type, as far as int64 can say. */
gpuc_bounds gpuc_arith_type_bounds(gpuc_dtype t);
static inline bool arith_within(gpuc_bounds b, gpuc_bounds outer)
{
    return b.min >= outer.min && b.max <= outer.max;
}
/* Both ends known. */
static inline bool arith_finite(gpuc_bounds b)
{
    return b.min != INT64_MIN && b.max != INT64_MAX;
}
int64_t gpuc_arith_gcd(int64_t x, int64_t y); /* not negative; gcd(0, 0) == 0 */

const arith_known *gpuc_arith_known_get(const gpuc_analyzer *a, gpuc_expr e);
/* Assumes inside of a call: facts hold until gpuc_arith_leave. False if the budget of contexts is spent. */
typedef struct arith_context {
    size_t mark;
    uint32_t gen;
} arith_context;
bool gpuc_arith_enter(gpuc_analyzer *a, gpuc_expr cond, bool value, arith_context *out);
void gpuc_arith_leave(gpuc_analyzer *a, arith_context c);
/* Every public entry point: gpuc_arith_begin, work, arith_end. */
void gpuc_arith_begin(gpuc_analyzer *a);

/* poly.c; results are in scratch memory. NULL: too large, or a coefficient overflows. */
int gpuc_arith_monomial_compare(const arith_term *x, const arith_term *y);
const arith_poly *gpuc_arith_poly_const(gpuc_analyzer *a, gpuc_dtype t, int64_t value);
const arith_poly *gpuc_arith_poly_atom(gpuc_analyzer *a, gpuc_expr atom);
const arith_poly *gpuc_arith_poly_add(gpuc_analyzer *a, const arith_poly *x, const arith_poly *y,
                                      int64_t scale_y);
const arith_poly *gpuc_arith_poly_scale(gpuc_analyzer *a, const arith_poly *x, int64_t k);
const arith_poly *gpuc_arith_poly_shift(gpuc_analyzer *a, const arith_poly *x, int64_t c);
const arith_poly *gpuc_arith_poly_mul(gpuc_analyzer *a, const arith_poly *x, const arith_poly *y);
/* One term as a polynomial, without atom number `skip` (-1: whole). */
const arith_poly *gpuc_arith_poly_term(gpuc_analyzer *a, const arith_poly *x, const arith_term *t, int skip,
                                       int64_t coeff);
/* Terms of x that satisfy the mask, and its constant if with_const. */
const arith_poly *gpuc_arith_poly_pick(gpuc_analyzer *a, const arith_poly *x, const bool *mask,
                                       bool with_const);
bool gpuc_arith_poly_equal(const arith_poly *x, const arith_poly *y);
const arith_poly *gpuc_arith_poly_copy(gpuc_ctx *ctx, arith_pool *pool, const arith_poly *x);

/* canon.c */
const arith_poly *gpuc_arith_to_poly(gpuc_analyzer *a, gpuc_expr e); /* never NULL; e a scalar integer */
gpuc_expr gpuc_arith_from_poly(gpuc_analyzer *a, const arith_poly *p);
gpuc_expr gpuc_arith_from_term(gpuc_analyzer *a, gpuc_dtype dtype, const arith_term *t, int64_t coeff);
/* The polynomial of op(x, y) that no rule could open: an atom, unless the builder folded it. */
const arith_poly *gpuc_arith_poly_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, bool index);

/* recombine.c */
const arith_poly *gpuc_arith_recombine(gpuc_analyzer *a, const arith_poly *p);

/* cost.c */
bool gpuc_arith_has_poly(gpuc_tir_op op); /* does gpuc_arith_to_poly open it? */
int64_t gpuc_arith_cost(gpuc_analyzer *a, gpuc_expr e);
gpuc_expr gpuc_arith_cheaper(gpuc_analyzer *a, gpuc_expr canonical, gpuc_expr other);
bool gpuc_arith_contract(gpuc_analyzer *a, gpuc_expr e); /* an index expression */

/* divmod.c: x must be exact; c > 0. Never NULL. */
const arith_poly *gpuc_arith_poly_floordiv(gpuc_analyzer *a, const arith_poly *x, int64_t c);
const arith_poly *gpuc_arith_poly_floormod(gpuc_analyzer *a, const arith_poly *x, int64_t c);
/* By a symbolic d that is proven positive; NULL if nothing was gained. */
const arith_poly *gpuc_arith_poly_divmod_symbolic(gpuc_analyzer *a, const arith_poly *x, const arith_poly *d,
                                                  bool mod);
/* Makes g * s + t >= 0 smaller: the polynomial of floor(p / g) for the best g; sign is the same. */
const arith_poly *gpuc_arith_poly_reduce_sign(gpuc_analyzer *a, const arith_poly *p);

/* bounds.c */
gpuc_bounds gpuc_arith_bounds(gpuc_analyzer *a, gpuc_expr e);
gpuc_bounds gpuc_arith_poly_bounds(gpuc_analyzer *a, const arith_poly *p); /* over the integers */
bool gpuc_arith_exact(gpuc_analyzer *a, const arith_poly *p);
/* Would an expression made of p have p's value? */
bool gpuc_arith_writable(gpuc_analyzer *a, const arith_poly *p);
gpuc_bounds gpuc_arith_bounds_mul(gpuc_bounds x, gpuc_bounds y);
gpuc_bounds gpuc_arith_bounds_add(gpuc_bounds x, gpuc_bounds y);

/* modular.c */
gpuc_modular gpuc_arith_modular(gpuc_analyzer *a, gpuc_expr e);
gpuc_modular gpuc_arith_poly_modular(gpuc_analyzer *a, const arith_poly *p);

/* prove.c: p exact */
bool gpuc_arith_nonnegative(gpuc_analyzer *a, const arith_poly *p);
/* y - x as an exact polynomial, or NULL. */
const arith_poly *gpuc_arith_difference(gpuc_analyzer *a, gpuc_expr y, gpuc_expr x);

/* simplify.c */
gpuc_expr gpuc_arith_simplify_nested(gpuc_analyzer *a, gpuc_expr e);
/* logic.c: operands are simplified already, except for the lazy ones of && || and selects. */
gpuc_expr gpuc_arith_compare(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y);
gpuc_expr gpuc_arith_logic(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y);
gpuc_expr gpuc_arith_choice(gpuc_analyzer *a, gpuc_expr e);
/* vector.c */
gpuc_expr gpuc_arith_vector_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, gpuc_expr z);
/* rules.c: one rewrite by the table at the root of e, whose operands are simplified; e if none fits */
gpuc_expr gpuc_arith_apply_rules(gpuc_analyzer *a, gpuc_expr e);

/* The tables of rules, which gpuc_arith_rules lists. */
extern const gpuc_rule_table gpuc_arith_patterns, gpuc_arith_recombinations, gpuc_arith_quotients,
    gpuc_arith_rest_quotients, gpuc_arith_remainders, gpuc_arith_rest_remainders,
    gpuc_arith_symbolic_divisions, gpuc_arith_order_decisions, gpuc_arith_order_forms,
    gpuc_arith_equal_decisions, gpuc_arith_logic_steps, gpuc_arith_simplify_steps, gpuc_arith_canon_steps,
    gpuc_arith_vector_rules;

#endif
