/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions to polynomials and back. */
#include "arith/private.h"

#include <stdlib.h>

enum { CAST_OF_SUM, EXTREMUM_DECIDED, EXTREMUM_COMMON, SHIFT };
static const struct {
    const char *name;
} steps[] = {
    [CAST_OF_SUM] = {"cast_of_sum"},           /* a sum of casts, where all values fit */
    [EXTREMUM_DECIDED] = {"extremum_decided"}, /* by the sign of the difference */
    [EXTREMUM_COMMON] = {"extremum_common"},   /* terms on both sides are added outside */
    [SHIFT] = {"shift_is_product"},
};
const gpuc_rule_table gpuc_arith_canon_steps = GPUC_RULE_TABLE(steps);

static const arith_poly *did(gpuc_analyzer *a, int step, const arith_poly *result)
{
    gpuc_rule_fired(a->ctx, steps[step].name);
    return result;
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
    return constant ? gpuc_arith_poly_const(a, e->dtype, v) : gpuc_arith_poly_atom(a, e);
}

/* A cast whose values all fit goes to the atoms, where it is cheaper to reason about. */
static const arith_poly *cast_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_expr x = ((const gpuc_tir_cast_node *)e)->a;
    if (!arith_is_scalar_int(x))
        return opaque(a, gpuc_cast(a->ctx, e->dtype, gpuc_arith_simplify_nested(a, x)));
    const arith_poly *p = gpuc_arith_to_poly(a, x);
    gpuc_bounds type = gpuc_arith_type_bounds(e->dtype);
    bool fits = gpuc_arith_exact(a, p);
    for (int i = 0; i < p->n && fits; i++)
        for (int j = 0; j < p->at[i].n && fits; j++)
            fits = arith_within(gpuc_arith_bounds(a, p->at[i].atom[j]), type);
    const arith_poly *sum = fits ? gpuc_arith_poly_const(a, e->dtype, p->c) : NULL;
    for (int i = 0; i < p->n && sum; i++) {
        const arith_poly *product = gpuc_arith_poly_const(a, e->dtype, p->at[i].coeff);
        for (int j = 0; j < p->at[i].n; j++) {
            gpuc_expr atom = cast_of(a, e->dtype, p->at[i].atom[j]);
            if (atom->kind == GPUC_EXPR_INT)
                product = gpuc_arith_poly_scale(a, product, ((const gpuc_tir_int_node *)atom)->value);
            else
                product = gpuc_arith_poly_mul(a, product, gpuc_arith_poly_atom(a, atom));
        }
        sum = gpuc_arith_poly_add(a, sum, product, 1);
    }
    if (sum) {
        gpuc_bounds value = gpuc_arith_poly_bounds(a, p);
        bool same = p->n == 1 && p->c == 0 && p->at[0].n == 1 && p->at[0].coeff == 1; /* the cast itself */
        if (arith_within(value, type) || (sum->index && gpuc_arith_contract(a, e)))
            return same ? sum : did(a, CAST_OF_SUM, sum);
    }
    gpuc_expr cast = cast_of(a, e->dtype, gpuc_arith_simplify_nested(a, x));
    return opaque(a, cast);
}

const arith_poly *gpuc_arith_poly_op(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, bool index)
{
    gpuc_expr e = gpuc_tir_make(a->ctx, op, x, y, NULL);
    if (e->kind == GPUC_EXPR_INT || arith_op_of(e) == op || a->depth > ARITH_MAX_DEPTH) return opaque(a, e);
    (void)index;
    a->depth++;
    const arith_poly *p = gpuc_arith_to_poly(a, e);
    a->depth--;
    return p;
}

static const arith_poly *divide(gpuc_analyzer *a, gpuc_expr e, gpuc_tir_op op, const arith_poly *x,
                                const arith_poly *y)
{
    bool mod = op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORMOD;
    bool exact = gpuc_arith_exact(a, x) && gpuc_arith_exact(a, y);
    if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) {
        bool nonneg = exact && gpuc_arith_nonnegative(a, x) && gpuc_arith_nonnegative(a, y);
        if (nonneg) op = mod ? GPUC_TIR_FLOORMOD : GPUC_TIR_FLOORDIV;
        exact = nonneg;
    }
    if (exact && y->n == 0 && y->c > 0)
        return mod ? gpuc_arith_poly_floormod(a, x, y->c) : gpuc_arith_poly_floordiv(a, x, y->c);
    if (exact && y->n > 0) {
        const arith_poly *q = gpuc_arith_poly_divmod_symbolic(a, x, y, mod);
        if (q) return q;
    }
    return gpuc_arith_poly_op(a, op, gpuc_arith_from_poly(a, x), gpuc_arith_from_poly(a, y),
                              gpuc_arith_contract(a, e));
}

/* x and y without the terms that they share; those go to *common. */
static void take_common(gpuc_analyzer *a, const arith_poly **x, const arith_poly **y,
                        const arith_poly **common)
{
    const arith_poly *p = *x, *q = *y;
    bool shared[ARITH_MAX_TERMS];
    for (int i = 0, j = 0; i < p->n; i++) {
        while (j < q->n && gpuc_arith_monomial_compare(&q->at[j], &p->at[i]) < 0) j++;
        shared[i] = j < q->n && gpuc_arith_monomial_compare(&q->at[j], &p->at[i]) == 0 &&
                    q->at[j].coeff == p->at[i].coeff;
    }
    const arith_poly *c = gpuc_arith_poly_pick(a, p, shared, p->c == q->c);
    if (c->n < p->n && c->n < q->n && p->c != q->c)
        c = gpuc_arith_poly_shift(a, c, p->at[0].atom[0]->id < q->at[0].atom[0]->id ? p->c : q->c);
    const arith_poly *p2 = gpuc_arith_poly_add(a, p, c, -1), *q2 = gpuc_arith_poly_add(a, q, c, -1);
    if (!p2 || !q2 || (c->n == 0 && c->c == 0)) {
        *common = NULL;
        return;
    }
    *x = p2;
    *y = q2;
    *common = c;
}

static const arith_poly *extremum(gpuc_analyzer *a, gpuc_expr e, gpuc_tir_op op, const arith_poly *x,
                                  const arith_poly *y)
{
    if (gpuc_arith_exact(a, x) && gpuc_arith_exact(a, y)) {
        const arith_poly *d = gpuc_arith_poly_add(a, y, x, -1);
        bool min = op == GPUC_TIR_MIN;
        if (d && gpuc_arith_nonnegative(a, d)) return did(a, EXTREMUM_DECIDED, min ? x : y);
        if (d && gpuc_arith_nonnegative(a, gpuc_arith_poly_scale(a, d, -1)))
            return did(a, EXTREMUM_DECIDED, min ? y : x);
        const arith_poly *common, *x2 = x, *y2 = y;
        take_common(a, &x2, &y2, &common);
        if (common && gpuc_arith_writable(a, x2) && gpuc_arith_writable(a, y2)) {
            gpuc_expr inner =
                gpuc_tir_make(a->ctx, op, gpuc_arith_from_poly(a, x2), gpuc_arith_from_poly(a, y2), NULL);
            inner = gpuc_arith_apply_rules(a, inner);
            const arith_poly *sum = gpuc_arith_poly_add(a, opaque(a, inner), common, 1);
            if (sum) return did(a, EXTREMUM_COMMON, sum);
        }
    }
    gpuc_expr made = gpuc_tir_make(a->ctx, op, gpuc_arith_from_poly(a, x), gpuc_arith_from_poly(a, y), NULL);
    gpuc_expr better = gpuc_arith_apply_rules(a, made);
    (void)e;
    if (better == made || better->kind == GPUC_EXPR_INT) return opaque(a, better);
    return gpuc_arith_to_poly(a, better);
}

static const arith_poly *op_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_tir_op op = arith_op_of(e);
    bool ring = op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL;
    int64_t count;
    if (op == GPUC_TIR_SHL && arith_const(arith_arg(e, 1), &count) && count >= 0 && count < 31 &&
        count < e->dtype.bits)
        return did(a, SHIFT,
                   gpuc_arith_poly_scale(a, gpuc_arith_to_poly(a, arith_arg(e, 0)), (int64_t)1 << count));
    bool division =
        op == GPUC_TIR_DIV || op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD;
    if (!gpuc_arith_has_poly(op)) return NULL;
    const arith_poly *x = gpuc_arith_to_poly(a, arith_arg(e, 0)), *y = gpuc_arith_to_poly(a, arith_arg(e, 1));
    if (division) return divide(a, e, op, x, y);
    if (!ring) return extremum(a, e, op, x, y);
    const arith_poly *p = op == GPUC_TIR_ADD   ? gpuc_arith_poly_add(a, x, y, 1)
                          : op == GPUC_TIR_SUB ? gpuc_arith_poly_add(a, x, y, -1)
                                               : gpuc_arith_poly_mul(a, x, y);
    if (p) return gpuc_arith_recombine(a, p);
    return opaque(a, gpuc_tir_make(a->ctx, op, gpuc_arith_simplify_nested(a, arith_arg(e, 0)),
                                   gpuc_arith_simplify_nested(a, arith_arg(e, 1)), NULL));
}

static const arith_poly *var_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    const arith_known *k = gpuc_arith_known_get(a, e);
    if (!k) return gpuc_arith_poly_atom(a, e);
    if (k->bounds.min == k->bounds.max) return gpuc_arith_poly_const(a, e->dtype, k->bounds.min);
    gpuc_expr v = k->value;
    if (v && v != e && (v->kind == GPUC_EXPR_INT || v->kind == GPUC_EXPR_VAR))
        return gpuc_arith_to_poly(a, v);
    return gpuc_arith_poly_atom(a, e);
}

static const arith_poly *compute_poly(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_INT) return opaque(a, e);
    if (e->kind == GPUC_EXPR_VAR) return var_to_poly(a, e);
    if (e->flags & GPUC_TIR_HAS_EFFECT) return gpuc_arith_poly_atom(a, gpuc_arith_simplify_nested(a, e));
    const arith_poly *p = NULL;
    if (e->kind == GPUC_EXPR_CAST) p = cast_to_poly(a, e);
    if (e->kind == GPUC_EXPR_OP) p = op_to_poly(a, e);
    if (!p) {
        gpuc_expr s = gpuc_arith_simplify_nested(a, e);
        bool open =
            s != e && (s->kind == GPUC_EXPR_VAR || s->kind == GPUC_EXPR_CAST || s->kind == GPUC_EXPR_OP);
        p = open ? gpuc_arith_to_poly(a, s) : opaque(a, s);
    }
    if (p->n > 0) {
        gpuc_bounds b = gpuc_arith_poly_bounds(a, p);
        if (b.min == b.max && arith_within(b, gpuc_arith_type_bounds(e->dtype)) && arith_finite(b))
            return gpuc_arith_poly_const(a, e->dtype, b.min);
    }
    if (p->n == 0) { /* what does not fit has wrapped */
        gpuc_expr wrapped = gpuc_imm_int(a->ctx, e->dtype, p->c);
        return ((const gpuc_tir_int_node *)wrapped)->value == p->c ? p : opaque(a, wrapped);
    }
    if (p->index || !gpuc_arith_contract(a, e)) return p;
    arith_poly *q = gpuc_arith_pool_alloc(a->ctx, &a->scratch, sizeof *q);
    *q = *p;
    q->index = true;
    return q;
}

const arith_poly *gpuc_arith_to_poly(gpuc_analyzer *a, gpuc_expr e)
{
    const arith_memo_entry *m = gpuc_arith_memo_get(&a->polys, e, a->gen);
    if (m) return (const arith_poly *)(uintptr_t)m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return opaque(a, e);
    a->depth++;
    const arith_poly *p = compute_poly(a, e);
    a->depth--;
    gpuc_arith_memo_set(a, &a->polys, e, a->gen, (int64_t)(uintptr_t)p, 0);
    return p;
}

/* ---- From ---- */

static int compare_for_print(const arith_term *x, const arith_term *y)
{
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    uint64_t p = x->coeff < 0 ? -(uint64_t)x->coeff : (uint64_t)x->coeff;
    uint64_t q = y->coeff < 0 ? -(uint64_t)y->coeff : (uint64_t)y->coeff;
    if (p != q) return p > q ? -1 : 1;
    return gpuc_arith_monomial_compare(x, y);
}

gpuc_expr gpuc_arith_from_term(gpuc_analyzer *a, gpuc_dtype dtype, const arith_term *t, int64_t coeff)
{
    gpuc_expr e = t->atom[0];
    for (int i = 1; i < t->n; i++) e = gpuc_mul(a->ctx, e, t->atom[i]);
    return coeff == 1 ? e : gpuc_mul(a->ctx, e, gpuc_imm_int(a->ctx, dtype, coeff));
}

/* Positive terms first, largest factor first; a leading minus becomes a factor -1. */
gpuc_expr gpuc_arith_from_poly(gpuc_analyzer *a, const arith_poly *p)
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
        gpuc_expr e = gpuc_arith_from_term(a, p->dtype, t, t->coeff);
        sum = sum ? gpuc_add(a->ctx, sum, e) : e;
    }
    bool const_first = p->c > 0 && !sum, const_done = p->c == 0 || const_first;
    if (const_first) sum = gpuc_imm_int(a->ctx, p->dtype, p->c);
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[order[i]];
        if (t->coeff > 0) continue;
        bool min = t->coeff == INT64_MIN;
        gpuc_expr e = gpuc_arith_from_term(a, p->dtype, t, sum && !min ? -t->coeff : t->coeff);
        sum = !sum ? e : min ? gpuc_add(a->ctx, sum, e) : gpuc_sub(a->ctx, sum, e);
    }
    if (!sum) return gpuc_imm_int(a->ctx, p->dtype, p->c);
    if (const_done) return sum;
    if (p->c < 0 && p->c != INT64_MIN) return gpuc_sub(a->ctx, sum, gpuc_imm_int(a->ctx, p->dtype, -p->c));
    return gpuc_add(a->ctx, sum, gpuc_imm_int(a->ctx, p->dtype, p->c));
}
