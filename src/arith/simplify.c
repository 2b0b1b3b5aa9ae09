/* SPDX-License-Identifier: Apache-2.0 */
/* Simplifies an expression bottom-up: children first, then the canonical form and the rules. */
#include "arith/private.h"

enum { MAX_CALL_ARGS = 64 };

enum { VALUE, SINGLE_VALUE, CANONICAL };
static const struct {
    const char *name;
} steps[] = {
    [VALUE] = {"value_of_variable"},
    [SINGLE_VALUE] = {"single_value"}, /* the bounds leave one */
    [CANONICAL] = {"canonical_sum"},   /* a polynomial, written down again */
};
const gpuc_rule_table gpuc_arith_simplify_steps = GPUC_RULE_TABLE(steps);

static gpuc_expr did(gpuc_analyzer *a, int step, gpuc_expr result)
{
    gpuc_rule_fired(a->ctx, steps[step].name);
    return result;
}

static gpuc_expr simplify_reduce(gpuc_analyzer *a, gpuc_expr e)
{
    const gpuc_tir_reduce_node *r = (const gpuc_tir_reduce_node *)e;
    gpuc_expr *source = gpuc_new_array(a->ctx, gpuc_expr, r->reducer->count);
    for (int i = 0; i < r->reducer->count; i++) source[i] = gpuc_arith_simplify_nested(a, r->source[i]);
    gpuc_expr condition = r->condition ? gpuc_arith_simplify_nested(a, r->condition) : NULL;
    return gpuc_tir_reduce(a->ctx, r->reducer, source, r->num_axes, r->axes, condition, r->value_index);
}

static bool simplify_all(gpuc_analyzer *a, int n, const gpuc_expr *from, gpuc_expr *to)
{
    bool changed = false;
    for (int i = 0; i < n; i++) {
        to[i] = gpuc_arith_simplify_nested(a, from[i]);
        changed |= to[i] != from[i];
    }
    return changed;
}

/* Nodes that hold a list of operands. */
static gpuc_expr simplify_list(gpuc_analyzer *a, gpuc_expr e, int n, const gpuc_expr *from)
{
    gpuc_expr small[MAX_CALL_ARGS], *to = n <= MAX_CALL_ARGS ? small : gpuc_new_array(a->ctx, gpuc_expr, n);
    if (!simplify_all(a, n, from, to)) return e;
    if (e->kind == GPUC_EXPR_LOAD)
        return gpuc_tir_load(a->ctx, ((const gpuc_tir_load_node *)e)->buffer, n, to);
    if (e->kind == GPUC_EXPR_READ)
        return gpuc_tir_read(a->ctx, e->dtype, ((const gpuc_tir_read_node *)e)->tensor, n, to);
    if (e->kind == GPUC_EXPR_VECTOR) return gpuc_tir_vector(a->ctx, n, to);
    const gpuc_tir_call_node *c = (const gpuc_tir_call_node *)e;
    return gpuc_tir_call(a->ctx, e->dtype, c->fn, c->name, c->buffer, n, to);
}

static gpuc_expr simplify_operator(gpuc_analyzer *a, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *o = (const gpuc_tir_opexpr_node *)e;
    if (o->op == GPUC_TIR_SELECT || o->op == GPUC_TIR_IF_THEN_ELSE) {
        if (!(e->flags & GPUC_TIR_HAS_EFFECT)) return gpuc_arith_choice(a, e);
    }
    gpuc_expr x[3] = {NULL};
    int arity = gpuc_tir_ops[o->op].arity;
    for (int i = 0; i < arity; i++) x[i] = gpuc_arith_simplify_nested(a, o->a[i]);
    if (e->flags & GPUC_TIR_HAS_EFFECT) return gpuc_tir_make(a->ctx, o->op, x[0], x[1], x[2]);
    if (e->dtype.lanes > 1 || x[0]->dtype.lanes > 1) return gpuc_arith_vector_op(a, o->op, x[0], x[1], x[2]);
    if (o->op == GPUC_TIR_EQ || o->op == GPUC_TIR_NE || o->op == GPUC_TIR_LT || o->op == GPUC_TIR_LE)
        return gpuc_arith_compare(a, o->op, x[0], x[1]);
    gpuc_expr r = o->op == GPUC_TIR_AND || o->op == GPUC_TIR_OR
                      ? gpuc_arith_logic(a, o->op, x[0], x[1])
                      : gpuc_tir_make(a->ctx, o->op, x[0], x[1], x[2]);
    return gpuc_arith_apply_rules(a, r);
}

static gpuc_expr simplify_children(gpuc_analyzer *a, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_VAR: {
        const arith_known *k = gpuc_arith_known_get(a, e);
        bool simple = k && k->value &&
                      (k->value->kind == GPUC_EXPR_VAR || k->value->kind == GPUC_EXPR_INT ||
                       k->value->kind == GPUC_EXPR_FLOAT);
        return simple ? did(a, VALUE, k->value) : e;
    }
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT: return e;
    case GPUC_EXPR_CAST:
        return gpuc_arith_apply_rules(
            a,
            gpuc_cast(a->ctx, e->dtype, gpuc_arith_simplify_nested(a, ((const gpuc_tir_cast_node *)e)->a)));
    case GPUC_EXPR_OP: return simplify_operator(a, e);
    case GPUC_EXPR_LOAD: {
        const gpuc_tir_load_node *l = (const gpuc_tir_load_node *)e;
        return simplify_list(a, e, l->n, l->index);
    }
    case GPUC_EXPR_RAMP: {
        const gpuc_tir_ramp_node *r = (const gpuc_tir_ramp_node *)e;
        return gpuc_tir_ramp(a->ctx, gpuc_arith_simplify_nested(a, r->start),
                             gpuc_arith_simplify_nested(a, r->stride), e->dtype.lanes);
    }
    case GPUC_EXPR_BROADCAST:
        return gpuc_tir_broadcast(
            a->ctx, gpuc_arith_simplify_nested(a, ((const gpuc_tir_broadcast_node *)e)->a), e->dtype.lanes);
    case GPUC_EXPR_LANE: {
        const gpuc_tir_lane_node *l = (const gpuc_tir_lane_node *)e;
        return gpuc_tir_lane(a->ctx, gpuc_arith_simplify_nested(a, l->a), l->lane);
    }
    case GPUC_EXPR_VECTOR: return simplify_list(a, e, e->dtype.lanes, ((const gpuc_tir_vector_node *)e)->a);
    case GPUC_EXPR_CALL: {
        const gpuc_tir_call_node *c = (const gpuc_tir_call_node *)e;
        return simplify_list(a, e, c->n, c->args);
    }
    case GPUC_EXPR_READ: {
        const gpuc_tir_read_node *r = (const gpuc_tir_read_node *)e;
        return simplify_list(a, e, r->n, r->index);
    }
    case GPUC_EXPR_REDUCE: return simplify_reduce(a, e);
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return e;
}

static bool is_arithmetic(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_CAST) return arith_is_scalar_int(((const gpuc_tir_cast_node *)e)->a);
    gpuc_tir_op op = arith_op_of(e);
    return gpuc_arith_has_poly(op) || op == GPUC_TIR_SHL;
}

/* Whether an int32 index within its type, written as sum of terms and a constant, has terms beyond it: C leaves
 * undefined what they are then. (i - 5000)*500000 is such a one for i from 5000 to 5100. */
static bool overflows_in_parts(gpuc_analyzer *a, gpuc_expr e, const arith_poly *p)
{
    gpuc_bounds type = gpuc_arith_type_bounds(e->dtype);
    if (p->n == 0 || e->dtype.code != GPUC_DTYPE_INT || e->dtype.bits != 32) return false;
    if (p->c < type.min || p->c > type.max) return true;
    gpuc_bounds b = gpuc_arith_bounds(a, e); /* at an end of the type: it is not known */
    return (b.max < type.max && b.max - p->c > type.max) || (b.min > type.min && b.min - p->c < type.min);
}

static gpuc_expr compute(gpuc_analyzer *a, gpuc_expr e)
{
    bool plain = e->flags & GPUC_TIR_HAS_EFFECT;
    if (plain || !arith_is_scalar_int(e)) {
        gpuc_expr r = simplify_children(a, e);
        if (plain || r->kind == GPUC_EXPR_INT || r->dtype.code != GPUC_DTYPE_BOOL || r->dtype.lanes != 1)
            return r;
        gpuc_bounds b = gpuc_arith_bounds(a, r);
        return b.min == b.max ? did(a, SINGLE_VALUE, gpuc_imm_int(a->ctx, GPUC_BOOL, b.min)) : r;
    }
    if (!is_arithmetic(e)) {
        gpuc_expr r = simplify_children(a, e);
        gpuc_bounds b = gpuc_arith_bounds(a, r);
        bool single = b.min == b.max && arith_finite(b) && r->kind != GPUC_EXPR_INT;
        return single ? did(a, SINGLE_VALUE, gpuc_imm_int(a->ctx, e->dtype, b.min)) : r;
    }
    const arith_poly *p = gpuc_arith_to_poly(a, e);
    gpuc_expr canonical = gpuc_arith_from_poly(a, p);
    if (canonical->kind == GPUC_EXPR_INT) return did(a, SINGLE_VALUE, canonical);
    gpuc_expr other = simplify_children(a, e);
    bool index = p->index || gpuc_arith_contract(a, e);
    if (index && canonical != other && overflows_in_parts(a, e, p)) return other;
    if (!index && canonical != other && gpuc_arith_cost(a, canonical) == gpuc_arith_cost(a, other))
        return other;
    gpuc_expr r = gpuc_arith_cheaper(a, canonical, other);
    return r == other ? r : did(a, CANONICAL, r);
}

gpuc_expr gpuc_arith_simplify_nested(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT) return e;
    const arith_memo_entry *m = gpuc_arith_memo_get(&a->simplified, e, a->gen);
    if (m) return (gpuc_expr)(uintptr_t)m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return e;
    a->depth++;
    gpuc_expr r = compute(a, e);
    a->depth--;
    gpuc_arith_memo_set(a, &a->simplified, e, a->gen, (int64_t)(uintptr_t)r, 0);
    if (r != e) gpuc_arith_memo_set(a, &a->simplified, r, a->gen, (int64_t)(uintptr_t)r, 0);
    return r;
}

gpuc_expr gpuc_arith_simplify(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_arith_begin(a);
    return gpuc_arith_simplify_nested(a, e);
}
