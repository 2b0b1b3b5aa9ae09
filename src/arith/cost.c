/* SPDX-License-Identifier: Apache-2.0 */
/* Which expressions do not overflow by contract, and what an expression costs as a tree. */
#include "arith/private.h"

#define POLY(rule, price)                                                                                    \
    {                                                                                                        \
        price, true, true                                                                                    \
    }
#define INDEX(rule, price)                                                                                   \
    {                                                                                                        \
        price, true, false                                                                                   \
    }
#define DATA(rule, price)                                                                                    \
    {                                                                                                        \
        price, false, false                                                                                  \
    }
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, arith, ...) [GPUC_TIR_##e] = arith,
static const struct {
    int cost;
    bool index, poly;
} operators[GPUC_TIR_OP_COUNT + 1] = {
#include "tir/ops.def"
};
#undef GPUC_TIR_OP
#undef POLY
#undef INDEX
#undef DATA

bool gpuc_arith_has_poly(gpuc_tir_op op)
{
    return operators[op].poly;
}

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
               e->dtype.code != GPUC_DTYPE_BOOL && gpuc_arith_contract(a, x);
    }
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *o = (const gpuc_tir_opexpr_node *)e;
        if (!operators[o->op].index || !leaf_contract(e)) return false;
        for (int i = 0; i < gpuc_tir_ops[o->op].arity; i++)
            if (!gpuc_arith_contract(a, o->a[i])) return false;
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

bool gpuc_arith_contract(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_VAR || e->kind == GPUC_EXPR_INT) return leaf_contract(e);
    const arith_memo_entry *m = gpuc_arith_memo_get(&a->contracts, e, 0);
    if (m) return m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return false;
    a->depth++;
    bool result = compute_contract(a, e);
    a->depth--;
    gpuc_arith_memo_set(a, &a->contracts, e, 0, result, 0);
    return result;
}

static int64_t sum_cost(gpuc_analyzer *a, int64_t total, int n, const gpuc_expr *parts)
{
    for (int i = 0; i < n; i++) total += gpuc_arith_cost(a, parts[i]);
    return total;
}

static int64_t compute_cost(gpuc_analyzer *a, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_VAR: return 1;
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT: return 0;
    case GPUC_EXPR_CAST: return 1 + gpuc_arith_cost(a, ((const gpuc_tir_cast_node *)e)->a);
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *o = (const gpuc_tir_opexpr_node *)e;
        int64_t c, own = operators[o->op].cost;
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
        return 3 + gpuc_arith_cost(a, r->start) + gpuc_arith_cost(a, r->stride);
    }
    case GPUC_EXPR_BROADCAST: return 1 + gpuc_arith_cost(a, ((const gpuc_tir_broadcast_node *)e)->a);
    case GPUC_EXPR_LANE: return 1 + gpuc_arith_cost(a, ((const gpuc_tir_lane_node *)e)->a);
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

int64_t gpuc_arith_cost(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_VAR) return 1;
    if (e->kind == GPUC_EXPR_INT) return 0;
    const arith_memo_entry *m = gpuc_arith_memo_get(&a->costs, e, 0);
    if (m) return m->v[0];
    if (a->depth > ARITH_MAX_DEPTH) return INT32_MAX;
    a->depth++;
    int64_t cost = compute_cost(a, e);
    a->depth--;
    if (cost > INT32_MAX) cost = INT32_MAX; /* of a tree; shared nodes may count exponentially */
    gpuc_arith_memo_set(a, &a->costs, e, 0, cost, 0);
    return cost;
}

gpuc_expr gpuc_arith_cheaper(gpuc_analyzer *a, gpuc_expr canonical, gpuc_expr other)
{
    if (canonical == other) return canonical;
    return gpuc_arith_cost(a, canonical) <= gpuc_arith_cost(a, other) ? canonical : other;
}
