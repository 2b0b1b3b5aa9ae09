/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a computation is that of a pattern: the same expression, in which each read of the pattern stands for one read of
 * another tensor. What differs is said of the order of operands that comes nearest. */
#include <string.h>

#include "schedule/internal.h"

enum { MAX_SWAPS = 4 }; /* operators whose operands are tried both ways */

static bool same(gpuc_tensor_match *m, gpuc_expr p, gpuc_expr e);

static bool differs(gpuc_tensor_match *m, const char *text)
{
    m->differs = text;
    return false;
}

static const char *text_of(const gpuc_tensor_match *m, gpuc_expr e)
{
    return gpuc_tir_short_text(m->ctx, e);
}

static const char *type_of(const gpuc_tensor_match *m, gpuc_expr e)
{
    char name[24];
    return gpuc_ctx_strdup(m->ctx, gpuc_dtype_name(e->dtype, name));
}

static bool other(gpuc_tensor_match *m, gpuc_expr p, gpuc_expr e)
{
    return differs(m, gpuc_ctx_printf(m->ctx, "it has %s in the place of %s", text_of(m, e), text_of(m, p)));
}

static bool same_operands(gpuc_tensor_match *m, int n, const gpuc_expr *p, const gpuc_expr *e)
{
    for (int i = 0; i < n; i++)
        if (!same(m, p[i], e[i])) return false;
    return true;
}

static bool same_op(gpuc_tensor_match *m, gpuc_expr p, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *a = gpuc_as_op(p), *b = gpuc_as_op(e);
    const gpuc_tir_op_info *info = &gpuc_tir_ops[a->op];
    if (a->op != b->op) return other(m, p, e);
    const gpuc_expr swapped[2] = {b->a[1], b->a[0]};
    bool swap = info->flags & GPUC_TIR_COMM && m->operators < MAX_SWAPS && m->swaps >> m->operators++ & 1;
    return same_operands(m, info->arity, a->a, swap ? swapped : b->a);
}

/* An input that is read twice at one place must stand for the same twice. */
static bool same_read(gpuc_tensor_match *m, gpuc_expr p, gpuc_expr e)
{
    for (size_t i = 0; i < m->pattern.count; i++) {
        if (m->pattern.at[i] != p) continue;
        if (m->found.at[i] == e) return true;
        return differs(m, gpuc_ctx_printf(m->ctx, "it has both %s and %s in the place of %s",
                                          text_of(m, m->found.at[i]), text_of(m, e), text_of(m, p)));
    }
    gpuc_ptrs_push(m->ctx, &m->pattern, (void *)(uintptr_t)p);
    gpuc_ptrs_push(m->ctx, &m->found, (void *)(uintptr_t)e);
    return true;
}

static bool same(gpuc_tensor_match *m, gpuc_expr p, gpuc_expr e)
{
    m->steps++;
    if (p == e && !(p->flags & GPUC_TIR_HAS_TE)) return true;
    if (p->kind == e->kind && !gpuc_dtype_equal(p->dtype, e->dtype))
        return differs(m, gpuc_ctx_printf(m->ctx, "%s is of type %s, and %s of %s", text_of(m, e),
                                          type_of(m, e), text_of(m, p), type_of(m, p)));
    if (p->kind != e->kind) return other(m, p, e);
    if (p->kind == GPUC_EXPR_READ) return same_read(m, p, e);
    if (p->kind == GPUC_EXPR_CAST) return same(m, gpuc_as_cast(p)->a, gpuc_as_cast(e)->a);
    if (p->kind == GPUC_EXPR_OP) return same_op(m, p, e);
    if (p->kind != GPUC_EXPR_CALL) return other(m, p, e);
    const gpuc_tir_call_node *a = gpuc_as_call(p), *b = gpuc_as_call(e);
    if (a->fn != b->fn || a->n != b->n || !gpuc_tir_is_value(a->fn)) return other(m, p, e);
    return same_operands(m, a->n, a->args, b->args);
}

/* Each reducer has variables of its own. */
static bool same_reducer(gpuc_tensor_match *m, const gpuc_tir_reducer *p, const gpuc_tir_reducer *e)
{
    int n = p->count;
    bool equal = n == e->count;
    gpuc_expr *vars = gpuc_new_array(m->ctx, gpuc_expr, 2 * n),
              *with = gpuc_new_array(m->ctx, gpuc_expr, 2 * n);
    for (int i = 0; equal && i < n; i++) {
        equal = gpuc_dtype_equal(p->lhs[i]->dtype, e->lhs[i]->dtype) && p->identity[i] == e->identity[i];
        vars[i] = e->lhs[i];
        with[i] = p->lhs[i];
        vars[n + i] = e->rhs[i];
        with[n + i] = p->rhs[i];
    }
    for (int i = 0; equal && i < n; i++)
        equal = gpuc_tir_substitute(m->ctx, e->result[i], 2 * n, vars, with) == p->result[i];
    if (equal) return true;
    if (n != e->count)
        return differs(m, gpuc_ctx_printf(m->ctx, "it reduces %d values by '%s', not %d by '%s'", e->count,
                                          e->name, n, p->name));
    return differs(m, gpuc_ctx_printf(m->ctx, "it reduces by '%s' of %s, not by '%s' of %s", e->name,
                                      type_of(m, e->lhs[0]), p->name, type_of(m, p->lhs[0])));
}

static bool same_body(gpuc_tensor_match *m, gpuc_expr p, gpuc_expr e)
{
    bool reduces = p->kind == GPUC_EXPR_REDUCE;
    if (reduces != (e->kind == GPUC_EXPR_REDUCE))
        return differs(m, reduces ? "it is no reduction" : "it is a reduction");
    if (!reduces) return same(m, p, e);
    const gpuc_tir_reduce_node *a = gpuc_as_reduce(p), *b = gpuc_as_reduce(e);
    if (!same_reducer(m, a->reducer, b->reducer)) return false;
    if (!a->condition != !b->condition)
        return differs(m, b->condition ? "its reduction has a condition" : "its reduction has no condition");
    if (a->condition && !same(m, a->condition, b->condition)) return false;
    return same_operands(m, a->reducer->count, a->source, b->source);
}

static bool same_bodies(gpuc_tensor_match *m, const gpuc_te_op *p, const gpuc_te_op *op)
{
    if (op->kind != GPUC_TE_COMPUTE) return differs(m, "it is no compute");
    if (op->num_outputs != p->num_outputs)
        return differs(m,
                       gpuc_ctx_printf(m->ctx, "it has %d outputs, not %d", op->num_outputs, p->num_outputs));
    int n = p->bodies[0]->kind == GPUC_EXPR_REDUCE ? 1 : p->num_outputs;
    for (int i = 0; i < n; i++)
        if (!same_body(m, p->bodies[i], op->bodies[i])) return false;
    return true;
}

const char *gpuc_tensor_intrin_find_match(gpuc_ctx *ctx, const gpuc_tensor_intrin *t, const gpuc_te_op *op,
                                          const char *(*fits)(const gpuc_tensor_match *m, void *arg),
                                          void *arg, gpuc_tensor_match *m)
{
    const char *nearest = NULL;
    int most = -1, operators = 0;
    for (unsigned swaps = 0; swaps < 1u << MAX_SWAPS; swaps++) {
        *m = (gpuc_tensor_match){.ctx = ctx, .intrin = t, .swaps = swaps};
        bool equal = same_bodies(m, t->pattern, op);
        if (equal && (!fits || !(m->differs = fits(m, arg)))) return NULL;
        int steps = equal ? INT32_MAX : m->steps;
        if (steps > most) most = steps, nearest = m->differs;
        if (m->operators > operators) operators = m->operators; /* a try may end before it comes to all */
        if (swaps + 1 >= 1u << operators) break;
    }
    return nearest;
}
