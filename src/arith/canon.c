/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions to polynomials and back. */
#include "arith/private.h"

#include <stdlib.h>

static bool leaf_contract(gpuc_expr e)
{
    return e->dtype.code == GPUC_DTYPE_BOOL || (e->dtype.code == GPUC_DTYPE_INT && e->dtype.bits >= 32);
}

static bool compute_contract(gpuc_analyzer *a, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT: return leaf_contract(e);
    case GPUC_EXPR_CAST: {
        gpuc_expr x = ((const gpuc_tir_cast_node *)e)->a;
        return leaf_contract(e) && (e->dtype.bits >= x->dtype.bits || x->dtype.code == GPUC_DTYPE_BOOL) &&
               e->dtype.code != GPUC_DTYPE_BOOL && arith_contract(a, x);
    }
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *o = (const gpuc_tir_opexpr_node *)e;
        if (o->op > GPUC_TIR_IF_THEN_ELSE || !leaf_contract(e)) return false;
        for (int i = 0; i < gpuc_tir_ops[o->op].arity; i++)
            if (!arith_contract(a, o->a[i])) return false;
        return true;
    }
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LOAD:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: return false;
    }
    return false;
}

bool arith_contract(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_VAR || e->kind == GPUC_EXPR_INT) return leaf_contract(e);
    const arith_memo_entry *m = arith_memo_get(&a->contracts, e, 0);
    if (m) return m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return false;
    a->depth++;
    bool result = compute_contract(a, e);
    a->depth--;
    arith_memo_set(a, &a->contracts, e, 0, result, 0);
    return result;
}

static const uint8_t op_cost[GPUC_TIR_OP_COUNT] = {
    [GPUC_TIR_ADD] = 2, [GPUC_TIR_SUB] = 2, [GPUC_TIR_MUL] = 3, [GPUC_TIR_DIV] = 12, [GPUC_TIR_MOD] = 12,
    [GPUC_TIR_FLOORDIV] = 10, [GPUC_TIR_FLOORMOD] = 10, [GPUC_TIR_MIN] = 3, [GPUC_TIR_MAX] = 3,
    [GPUC_TIR_EQ] = 2, [GPUC_TIR_NE] = 2, [GPUC_TIR_LT] = 2, [GPUC_TIR_LE] = 2, [GPUC_TIR_AND] = 1,
    [GPUC_TIR_OR] = 1, [GPUC_TIR_NOT] = 1, [GPUC_TIR_SELECT] = 3, [GPUC_TIR_IF_THEN_ELSE] = 4,
    [GPUC_TIR_BITAND] = 2, [GPUC_TIR_BITOR] = 2, [GPUC_TIR_BITXOR] = 2, [GPUC_TIR_BITNOT] = 2,
    [GPUC_TIR_SHL] = 3, [GPUC_TIR_SHR] = 3, [GPUC_TIR_ABS] = 2,
};

static int64_t sum_cost(gpuc_analyzer *a, int64_t total, int n, const gpuc_expr *parts)
{
    for (int i = 0; i < n; i++) total += arith_cost(a, parts[i]);
    return total;
}

static int64_t compute_cost(gpuc_analyzer *a, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_VAR: return 1;
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT: return 0;
    case GPUC_EXPR_CAST: return 1 + arith_cost(a, ((const gpuc_tir_cast_node *)e)->a);
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *o = (const gpuc_tir_opexpr_node *)e;
        int64_t c, own = op_cost[o->op] ? op_cost[o->op] : 20;
        if ((o->op == GPUC_TIR_FLOORDIV || o->op == GPUC_TIR_FLOORMOD) && arith_const(o->a[1], &c) && c > 0 &&
            (c & (c - 1)) == 0)
            own = 4;
        return sum_cost(a, own, gpuc_tir_ops[o->op].arity, o->a);
    }
    case GPUC_EXPR_LOAD: {
        const gpuc_tir_load_node *l = (const gpuc_tir_load_node *)e;
        return sum_cost(a, 20, l->n, l->index);
    }
    case GPUC_EXPR_RAMP: {
        const gpuc_tir_ramp_node *r = (const gpuc_tir_ramp_node *)e;
        return 3 + arith_cost(a, r->start) + arith_cost(a, r->stride);
    }
    case GPUC_EXPR_BROADCAST: return 1 + arith_cost(a, ((const gpuc_tir_broadcast_node *)e)->a);
    case GPUC_EXPR_LANE: return 1 + arith_cost(a, ((const gpuc_tir_lane_node *)e)->a);
    case GPUC_EXPR_VECTOR: return sum_cost(a, 2, e->dtype.lanes, ((const gpuc_tir_vector_node *)e)->a);
    case GPUC_EXPR_CALL: {
        const gpuc_tir_call_node *c = (const gpuc_tir_call_node *)e;
        return sum_cost(a, 20, c->n, c->args);
    }
    case GPUC_EXPR_READ: {
        const gpuc_tir_read_node *r = (const gpuc_tir_read_node *)e;
        return sum_cost(a, 20, r->n, r->index);
    }
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: return 100;
    }
    return 0;
}

int64_t arith_cost(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_VAR) return 1;
    if (e->kind == GPUC_EXPR_INT) return 0;
    const arith_memo_entry *m = arith_memo_get(&a->costs, e, 0);
    if (m) return m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return INT32_MAX;
    a->depth++;
    int64_t cost = compute_cost(a, e);
    a->depth--;
    if (cost > INT32_MAX) cost = INT32_MAX; /* of a tree; shared nodes may count exponentially */
    arith_memo_set(a, &a->costs, e, 0, cost, 0);
    return cost;
}

gpuc_expr arith_cheaper(gpuc_analyzer *a, gpuc_expr canonical, gpuc_expr other)
{
    if (canonical == other) return canonical;
    return arith_cost(a, canonical) <= arith_cost(a, other) ? canonical : other;
}

/* ---- To ---- */

static gpuc_expr cast_of(gpuc_analyzer *a, gpuc_dtype t, gpuc_expr e)
{
    return gpuc_cast(a->ctx, t, e);
}

/* A uint64 beyond int64 is no number that polynomials know. */
static const arith_poly *opaque(gpuc_analyzer *a, gpuc_expr e)
{
    int64_t v;
    bool constant = arith_const(e, &v) && !(e->dtype.code == GPUC_DTYPE_UINT && v < 0);
    return constant ? arith_poly_const(a, e->dtype, v) : arith_poly_atom(a, e);
}

/* A cast whose values all fit goes to the atoms, where it is cheaper to reason about. */
static const arith_poly *cast_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_expr x = ((const gpuc_tir_cast_node *)e)->a;
    if (!arith_is_scalar_int(x))
        return opaque(a, gpuc_cast(a->ctx, e->dtype, arith_simplify(a, x)));
    const arith_poly *p = arith_to_poly(a, x);
    gpuc_bounds type = arith_type_bounds(e->dtype);
    bool fits = arith_exact(a, p);
    for (int i = 0; i < p->n && fits; i++)
        for (int j = 0; j < p->at[i].n && fits; j++) fits = arith_within(arith_bounds(a, p->at[i].atom[j]), type);
    const arith_poly *sum = fits ? arith_poly_const(a, e->dtype, p->c) : NULL;
    for (int i = 0; i < p->n && sum; i++) {
        const arith_poly *product = arith_poly_const(a, e->dtype, p->at[i].coeff);
        for (int j = 0; j < p->at[i].n; j++) {
            gpuc_expr atom = cast_of(a, e->dtype, p->at[i].atom[j]);
            if (atom->kind == GPUC_EXPR_INT)
                product = arith_poly_scale(a, product, ((const gpuc_tir_int_node *)atom)->value);
            else
                product = arith_poly_mul(a, product, arith_poly_atom(a, atom));
        }
        sum = arith_poly_add(a, sum, product, 1);
    }
    if (sum) {
        gpuc_bounds value = arith_poly_bounds(a, p);
        if (arith_within(value, type) || (sum->index && arith_contract(a, e))) return sum;
    }
    gpuc_expr cast = cast_of(a, e->dtype, arith_simplify(a, x));
    return opaque(a, cast);
}

const arith_poly *arith_poly_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, bool index)
{
    gpuc_expr e = gpuc_tir_make(a->ctx, op, x, y, NULL);
    if (e->kind == GPUC_EXPR_INT || arith_op_of(e) == op || a->depth > ARITH_MAX_DEPTH) return opaque(a, e);
    (void)index;
    a->depth++;
    const arith_poly *p = arith_to_poly(a, e);
    a->depth--;
    return p;
}

static const arith_poly *divide(gpuc_analyzer *a, gpuc_expr e, gpuc_tir_op op, const arith_poly *x, const arith_poly *y)
{
    bool mod = op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORMOD;
    bool exact = arith_exact(a, x) && arith_exact(a, y);
    if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) {
        bool nonneg = exact && arith_nonnegative(a, x) && arith_nonnegative(a, y);
        if (nonneg) op = mod ? GPUC_TIR_FLOORMOD : GPUC_TIR_FLOORDIV;
        exact = nonneg;
    }
    if (exact && y->n == 0 && y->c > 0) return mod ? arith_poly_floormod(a, x, y->c) : arith_poly_floordiv(a, x, y->c);
    if (exact && y->n > 0) {
        const arith_poly *q = arith_poly_divmod_symbolic(a, x, y, mod);
        if (q) return q;
    }
    return arith_poly_op(a, op, arith_from_poly(a, x), arith_from_poly(a, y), arith_contract(a, e));
}

/* x and y without the terms that they share; those go to *common. */
static void take_common(gpuc_analyzer *a, const arith_poly **x, const arith_poly **y, const arith_poly **common)
{
    const arith_poly *p = *x, *q = *y;
    bool shared[ARITH_MAX_TERMS];
    for (int i = 0, j = 0; i < p->n; i++) {
        while (j < q->n && arith_monomial_compare(&q->at[j], &p->at[i]) < 0) j++;
        shared[i] = j < q->n && arith_monomial_compare(&q->at[j], &p->at[i]) == 0 &&
                    q->at[j].coeff == p->at[i].coeff;
    }
    const arith_poly *c = arith_poly_pick(a, p, shared, p->c == q->c);
    if (c->n < p->n && c->n < q->n && p->c != q->c) c = arith_poly_shift(a, c, p->at[0].atom[0]->id < q->at[0].atom[0]->id ? p->c : q->c);
    const arith_poly *p2 = arith_poly_add(a, p, c, -1), *q2 = arith_poly_add(a, q, c, -1);
    if (!p2 || !q2 || (c->n == 0 && c->c == 0)) {
        *common = NULL;
        return;
    }
    *x = p2;
    *y = q2;
    *common = c;
}

static const arith_poly *extremum(gpuc_analyzer *a, gpuc_expr e, gpuc_tir_op op, const arith_poly *x, const arith_poly *y)
{
    if (arith_exact(a, x) && arith_exact(a, y)) {
        const arith_poly *d = arith_poly_add(a, y, x, -1);
        if (d && arith_nonnegative(a, d)) return op == GPUC_TIR_MIN ? x : y;
        if (d && arith_nonnegative(a, arith_poly_scale(a, d, -1))) return op == GPUC_TIR_MIN ? y : x;
        const arith_poly *common, *x2 = x, *y2 = y;
        take_common(a, &x2, &y2, &common);
        if (common && arith_writable(a, x2) && arith_writable(a, y2)) {
            gpuc_expr inner = gpuc_tir_make(a->ctx, op, arith_from_poly(a, x2), arith_from_poly(a, y2), NULL);
            inner = arith_apply_rules(a, inner);
            const arith_poly *sum = arith_poly_add(a, opaque(a, inner), common, 1);
            if (sum) return sum;
        }
    }
    gpuc_expr made = gpuc_tir_make(a->ctx, op, arith_from_poly(a, x), arith_from_poly(a, y), NULL);
    gpuc_expr better = arith_apply_rules(a, made);
    (void)e;
    if (better == made || better->kind == GPUC_EXPR_INT) return opaque(a, better);
    return arith_to_poly(a, better);
}

static const arith_poly *op_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_tir_op op = arith_op_of(e);
    bool ring = op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL;
    int64_t count;
    if (op == GPUC_TIR_SHL && arith_const(arith_arg(e, 1), &count) && count >= 0 && count < 31 &&
        count < e->dtype.bits)
        return arith_poly_scale(a, arith_to_poly(a, arith_arg(e, 0)), (int64_t)1 << count);
    bool division = op == GPUC_TIR_DIV || op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD;
    if (!ring && !division && op != GPUC_TIR_MIN && op != GPUC_TIR_MAX) return NULL;
    const arith_poly *x = arith_to_poly(a, arith_arg(e, 0)), *y = arith_to_poly(a, arith_arg(e, 1));
    if (division) return divide(a, e, op, x, y);
    if (!ring) return extremum(a, e, op, x, y);
    const arith_poly *p = op == GPUC_TIR_ADD   ? arith_poly_add(a, x, y, 1)
                          : op == GPUC_TIR_SUB ? arith_poly_add(a, x, y, -1)
                                               : arith_poly_mul(a, x, y);
    if (p) return arith_recombine(a, p);
    return opaque(a, gpuc_tir_make(a->ctx, op, arith_simplify(a, arith_arg(e, 0)), arith_simplify(a, arith_arg(e, 1)), NULL));
}

static const arith_poly *var_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    const arith_known *k = arith_known_get(a, e);
    if (!k) return arith_poly_atom(a, e);
    if (k->bounds.min == k->bounds.max) return arith_poly_const(a, e->dtype, k->bounds.min);
    gpuc_expr v = k->value;
    if (v && v != e && (v->kind == GPUC_EXPR_INT || v->kind == GPUC_EXPR_VAR)) return arith_to_poly(a, v);
    return arith_poly_atom(a, e);
}

static const arith_poly *compute_poly(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_INT) return opaque(a, e);
    if (e->kind == GPUC_EXPR_VAR) return var_to_poly(a, e);
    if (e->flags & GPUC_TIR_HAS_EFFECT) return arith_poly_atom(a, arith_simplify(a, e));
    const arith_poly *p = NULL;
    if (e->kind == GPUC_EXPR_CAST) p = cast_to_poly(a, e);
    if (e->kind == GPUC_EXPR_OP) p = op_to_poly(a, e);
    if (!p) {
        gpuc_expr s = arith_simplify(a, e);
        bool open = s != e && (s->kind == GPUC_EXPR_VAR || s->kind == GPUC_EXPR_CAST || s->kind == GPUC_EXPR_OP);
        p = open ? arith_to_poly(a, s) : opaque(a, s);
    }
    if (p->n > 0) {
        gpuc_bounds b = arith_poly_bounds(a, p);
        if (b.min == b.max && arith_within(b, arith_type_bounds(e->dtype)) && arith_finite(b))
            return arith_poly_const(a, e->dtype, b.min);
    }
    if (p->n == 0) { /* what does not fit has wrapped */
        gpuc_expr wrapped = gpuc_imm_int(a->ctx, e->dtype, p->c);
        return ((const gpuc_tir_int_node *)wrapped)->value == p->c ? p : opaque(a, wrapped);
    }
    if (p->index || !arith_contract(a, e)) return p;
    arith_poly *q = arith_pool_alloc(a->ctx, &a->scratch, sizeof *q);
    *q = *p;
    q->index = true;
    return q;
}

const arith_poly *arith_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    const arith_memo_entry *m = arith_memo_get(&a->polys, e, a->gen);
    if (m) return (const arith_poly *)(uintptr_t)m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return opaque(a, e);
    a->depth++;
    const arith_poly *p = compute_poly(a, e);
    a->depth--;
    arith_memo_set(a, &a->polys, e, a->gen, (int64_t)(uintptr_t)p, 0);
    return p;
}

/* ---- Digits: (y // low) % (high / low) is what y has between the places low and high ------------ */

typedef struct digits {
    gpuc_expr y;
    int64_t low, high; /* high 0: no end */
} digits;

static bool decode_digits(gpuc_expr e, digits *out)
{
    gpuc_tir_op op = arith_op_of(e);
    int64_t c, low;
    if ((op != GPUC_TIR_FLOORDIV && op != GPUC_TIR_FLOORMOD) || !arith_const(arith_arg(e, 1), &c) || c <= 0)
        return false;
    gpuc_expr y = arith_arg(e, 0);
    if (op == GPUC_TIR_FLOORDIV) {
        *out = (digits){y, c, 0};
        return true;
    }
    *out = (digits){y, 1, c};
    if (arith_op_of(y) == GPUC_TIR_FLOORDIV && arith_const(arith_arg(y, 1), &low) && low > 0) {
        *out = (digits){arith_arg(y, 0), low, 0};
        return gpuc_i64_mul(low, c, &out->high);
    }
    return true;
}

static bool same_but_one(const arith_term *x, int skip_x, const arith_term *y, int skip_y)
{
    if (x->n != y->n) return false;
    for (int i = 0, j = 0; i < x->n; i++, j++) {
        i += i == skip_x;
        j += j == skip_y;
        if (i < x->n && j < y->n && x->atom[i] != y->atom[j]) return false;
    }
    return true;
}

/* p without terms i and j (j may be -1), plus the rest of term i times value * scale. */
static const arith_poly *replace(gpuc_analyzer *a, const arith_poly *p, int i, int atom, int j,
                                 const arith_poly *value, int64_t scale)
{
    bool keep[ARITH_MAX_TERMS];
    for (int k = 0; k < p->n; k++) keep[k] = k != i && k != j;
    const arith_poly *others = arith_poly_pick(a, p, keep, true);
    return arith_poly_add(a, others, arith_poly_mul(a, value, arith_poly_term(a, p, &p->at[i], atom, scale)), 1);
}

static const arith_poly *digits_to_poly(gpuc_analyzer *a, digits d)
{
    gpuc_expr low = gpuc_imm_int(a->ctx, d.y->dtype, d.low);
    if (d.high == 0) return d.low == 1 ? arith_to_poly(a, d.y) : arith_poly_op(a, GPUC_TIR_FLOORDIV, d.y, low, true);
    gpuc_expr y = d.low == 1 ? d.y : gpuc_tir_make(a->ctx, GPUC_TIR_FLOORDIV, d.y, low, NULL);
    return arith_poly_op(a, GPUC_TIR_FLOORMOD, y, gpuc_imm_int(a->ctx, d.y->dtype, d.high / d.low), true);
}

/* k * lower + k * (place of higher) * higher is k times both together. */
static const arith_poly *join_digits(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits lower)
{
    for (int j = 0; j < p->n; j++)
        for (int aj = 0; aj < p->at[j].n && j != i; aj++) {
            digits upper;
            int64_t scaled;
            if (!decode_digits(p->at[j].atom[aj], &upper) || upper.y != lower.y || upper.low != lower.high) continue;
            if (!same_but_one(&p->at[i], ai, &p->at[j], aj)) continue;
            if (upper.high / lower.low > arith_type_bounds(p->dtype).max) continue;
            if (!gpuc_i64_mul(p->at[i].coeff, lower.high / lower.low, &scaled) || scaled != p->at[j].coeff) continue;
            const arith_poly *both = digits_to_poly(a, (digits){lower.y, lower.low, upper.high});
            if (p->value && !arith_exact(a, both)) continue;
            return replace(a, p, i, ai, j, both, p->at[i].coeff);
        }
    return NULL;
}

/* y - (y // c) * c is y % c, and the reverse, where that has fewer terms. */
static const arith_poly *complement(gpuc_analyzer *a, const arith_poly *p, int i, int ai, digits d)
{
    int64_t k = p->at[i].coeff;
    if (d.high == 0) {
        if (k % d.low != 0) return NULL;
        const arith_poly *y = arith_to_poly(a, d.y);
        if (p->value && !arith_exact(a, y)) return NULL;
        gpuc_modular m = arith_modular(a, d.y);
        if (m.coeff % d.low == 0) { /* coeff 0 too */
            int64_t r = gpuc_floormod(m.remainder, d.low);
            return replace(a, p, i, ai, -1, arith_poly_shift(a, y, -r), k / d.low);
        }
        const arith_poly *mod = digits_to_poly(a, (digits){d.y, 1, d.low});
        const arith_poly *q = replace(a, p, i, ai, -1, arith_poly_add(a, y, mod, -1), k / d.low);
        return q && q->n < p->n ? q : NULL;
    }
    int64_t scaled;
    if (d.low != 1 || !gpuc_i64_mul(k, d.high, &scaled)) return NULL;
    const arith_poly *y = arith_to_poly(a, d.y);
    if (p->value && !arith_exact(a, y)) return NULL;
    const arith_poly *div = digits_to_poly(a, (digits){d.y, d.high, 0});
    const arith_poly *q = replace(a, p, i, ai, -1, arith_poly_add(a, y, div, -d.high), k);
    return q && q->n < p->n ? q : NULL;
}

/* min(x, y) + rest with rest moved inside where it cancels. */
static const arith_poly *absorb(gpuc_analyzer *a, const arith_poly *p, int i)
{
    const arith_term *t = &p->at[i];
    gpuc_tir_op op = arith_op_of(t->atom[0]);
    if (t->n != 1 || (op != GPUC_TIR_MIN && op != GPUC_TIR_MAX) || (t->coeff != 1 && t->coeff != -1)) return NULL;
    if (p->n < 2 || !arith_exact(a, p)) return NULL;
    const arith_poly *x = arith_to_poly(a, arith_arg(t->atom[0], 0)), *y = arith_to_poly(a, arith_arg(t->atom[0], 1));
    if (!arith_exact(a, x) || !arith_exact(a, y)) return NULL;
    bool keep[ARITH_MAX_TERMS];
    for (int k = 0; k < p->n; k++) keep[k] = k != i;
    const arith_poly *rest = arith_poly_pick(a, p, keep, true);
    const arith_poly *x2 = arith_poly_add(a, rest, x, t->coeff), *y2 = arith_poly_add(a, rest, y, t->coeff);
    if (!x2 || !y2 || x2->n + y2->n > x->n + y->n) return NULL;
    if (!arith_writable(a, x2) || !arith_writable(a, y2)) return NULL;
    if (t->coeff < 0) op = op == GPUC_TIR_MIN ? GPUC_TIR_MAX : GPUC_TIR_MIN;
    gpuc_expr e = gpuc_tir_make(a->ctx, op, arith_from_poly(a, x2), arith_from_poly(a, y2), NULL);
    return arith_poly_add(a, arith_to_poly(a, e), rest, 0); /* of rest the flags only */
}

static const arith_poly *recombine_once(gpuc_analyzer *a, const arith_poly *p)
{
    for (int i = 0; i < p->n; i++) {
        const arith_poly *q = absorb(a, p, i);
        if (q) return q;
        for (int ai = 0; ai < p->at[i].n; ai++) {
            digits d;
            if (!decode_digits(p->at[i].atom[ai], &d)) continue;
            q = d.high ? join_digits(a, p, i, ai, d) : NULL;
            if (!q) q = complement(a, p, i, ai, d);
            if (q) return q;
        }
    }
    return NULL;
}

const arith_poly *arith_recombine(gpuc_analyzer *a, const arith_poly *p)
{
    if (p->n == 0 || a->depth > ARITH_MAX_DEPTH) return p;
    a->depth += 2;
    for (int round = 0; round < 16; round++) {
        const arith_poly *q = recombine_once(a, p);
        if (!q) break;
        p = q;
    }
    a->depth -= 2;
    return p;
}

/* ---- From ---- */

static int compare_for_print(const arith_term *x, const arith_term *y)
{
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    uint64_t p = x->coeff < 0 ? -(uint64_t)x->coeff : (uint64_t)x->coeff;
    uint64_t q = y->coeff < 0 ? -(uint64_t)y->coeff : (uint64_t)y->coeff;
    if (p != q) return p > q ? -1 : 1;
    return arith_monomial_compare(x, y);
}

gpuc_expr arith_from_term(gpuc_analyzer *a, gpuc_dtype dtype, const arith_term *t, int64_t coeff)
{
    gpuc_expr e = t->atom[0];
    for (int i = 1; i < t->n; i++) e = gpuc_mul(a->ctx, e, t->atom[i]);
    return coeff == 1 ? e : gpuc_mul(a->ctx, e, gpuc_imm_int(a->ctx, dtype, coeff));
}

/* Positive terms first, largest factor first; a leading minus becomes a factor -1. */
gpuc_expr arith_from_poly(gpuc_analyzer *a, const arith_poly *p)
{
    int order[ARITH_MAX_TERMS];
    for (int i = 0; i < p->n; i++) {
        int j = i;
        for (; j > 0 && compare_for_print(&p->at[i], &p->at[order[j - 1]]) < 0; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    gpuc_expr sum = NULL;
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[order[i]];
        if (t->coeff < 0) continue;
        gpuc_expr e = arith_from_term(a, p->dtype, t, t->coeff);
        sum = sum ? gpuc_add(a->ctx, sum, e) : e;
    }
    bool const_first = p->c > 0 && !sum, const_done = p->c == 0 || const_first;
    if (const_first) sum = gpuc_imm_int(a->ctx, p->dtype, p->c);
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[order[i]];
        if (t->coeff > 0) continue;
        bool least = t->coeff == INT64_MIN;
        gpuc_expr e = arith_from_term(a, p->dtype, t, sum && !least ? -t->coeff : t->coeff);
        sum = !sum ? e : least ? gpuc_add(a->ctx, sum, e) : gpuc_sub(a->ctx, sum, e);
    }
    if (!sum) return gpuc_imm_int(a->ctx, p->dtype, p->c);
    if (const_done) return sum;
    if (p->c < 0 && p->c != INT64_MIN) return gpuc_sub(a->ctx, sum, gpuc_imm_int(a->ctx, p->dtype, -p->c));
    return gpuc_add(a->ctx, sum, gpuc_imm_int(a->ctx, p->dtype, p->c));
}
