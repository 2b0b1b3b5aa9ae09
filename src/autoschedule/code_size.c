/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the code of a function after inlining, where an operation is emitted at each place that reads
 * it. */
#include <limits.h>

#include "tir/intern.h"
#include "autoschedule/rules.h"

enum { FUNCTION = GPUC_COMMON_code_function };

typedef struct sizing {
    gpuc_ctx *ctx;
    bool inlines;
    gpuc_map named; /* expressions that are always evaluated: hoist_common names them once for all uses */
    int64_t size, max;
    int depth, max_depth; /* of indices */
} sizing;

static bool is_too_much(const sizing *s)
{
    return s->size > s->max || s->depth > s->max_depth;
}

static int weight(gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP || !gpuc_is_float(e->dtype)) return 1;
    gpuc_tir_op op = gpuc_as_op(e)->op;
    if (op == GPUC_TIR_POW) return 2 * FUNCTION;
    return op == GPUC_TIR_MOD || gpuc_tir_ops[op].flags & GPUC_TIR_FUNC ? FUNCTION : 1;
}

static void note_depth(sizing *s, const gpuc_tir_read_node *read)
{
    for (int i = 0; i < read->n; i++)
        if (read->index[i]->depth > s->depth) s->depth = read->index[i]->depth;
}

static void add(sizing *s, gpuc_expr e, bool sure)
{
    if (e->kind == GPUC_EXPR_VAR || e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT) return;
    if (is_too_much(s) || gpuc_map_has(&s->named, e)) return;
    if (sure) gpuc_map_set(&s->named, e, (void *)e);
    if (e->kind == GPUC_EXPR_READ) {
        const gpuc_te_op *from = gpuc_as_read(e)->tensor->op;
        note_depth(s, gpuc_as_read(e));
        if (s->inlines && gpuc_rules_is_inlined(GPUC_CLASS_GPU, from)) {
            if (!is_too_much(s)) add(s, gpuc_te_inlined(s->ctx, from, gpuc_as_read(e)), sure);
            return;
        }
    }
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(s->ctx, e, &operands);
    bool lazy = e->kind == GPUC_EXPR_OP && gpuc_tir_ops[gpuc_as_op(e)->op].flags & GPUC_TIR_LAZY;
    s->size += weight(e);
    for (int i = 0; i < operands.n; i++) add(s, operands.at[i], sure && !(lazy && i > 0));
}

static void add_op(sizing *s, const gpuc_te_op *op)
{
    gpuc_map_init(&s->named, s->ctx);
    for (int k = 0; op->kind == GPUC_TE_COMPUTE && k < op->num_outputs; k++) add(s, op->bodies[k], true);
}

static bool is_output(const gpuc_te_op *op, int n, gpuc_tensor *const *outputs)
{
    for (int i = 0; i < n; i++)
        if (outputs[i]->op == op) return true;
    return false;
}

int64_t gpuc_rules_code_size(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs)
{
    gpuc_ptrs ops = {0};
    sizing s = {.ctx = ctx, .max = INT64_MAX, .max_depth = INT_MAX};
    gpuc_te_post_order(ctx, n, outputs, &ops);
    for (size_t i = 0; i < ops.count; i++) add_op(&s, ops.at[i]);
    return s.size;
}

bool gpuc_rules_stays_small(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs)
{
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, n, outputs, &ops);
    sizing alone = {.ctx = ctx, .max = INT64_MAX, .max_depth = INT_MAX};
    int64_t largest = 0;
    for (size_t i = 0; i < ops.count; i++) {
        int64_t before = alone.size;
        add_op(&alone, ops.at[i]);
        if (alone.size - before > largest) largest = alone.size - before;
    }
    int64_t max = GPUC_COMMON_code_more + GPUC_COMMON_code_times * alone.size,
            cap = GPUC_COMMON_code + GPUC_COMMON_code_times * largest;
    sizing all = {.ctx = ctx, .inlines = true, .max = max < cap ? max : cap};
    all.max_depth = GPUC_COMMON_code_index_depth + alone.depth;
    for (size_t i = 0; i < ops.count; i++) {
        const gpuc_te_op *op = ops.at[i];
        if (!gpuc_rules_is_inlined(GPUC_CLASS_GPU, op) || is_output(op, n, outputs)) add_op(&all, op);
    }
    return !is_too_much(&all);
}
