/* SPDX-License-Identifier: Apache-2.0 */
/* Operations as a graph: inputs, order, replacement of inputs. */
#include "te/internal.h"

typedef struct input_list {
    gpuc_ctx *ctx;
    gpuc_map seen;
    gpuc_ptrs list;
} input_list;

static bool collect_read(gpuc_expr e, void *arg)
{
    input_list *in = arg;
    if (e->kind == GPUC_EXPR_READ) {
        gpuc_tensor *t = gpuc_as_read(e)->tensor;
        if (!gpuc_map_has(&in->seen, t)) {
            gpuc_map_set(&in->seen, t, t);
            gpuc_ptrs_push(in->ctx, &in->list, t);
        }
    }
    return true;
}

void gpuc_te_collect_inputs(gpuc_ctx *ctx, gpuc_te_op *op)
{
    input_list in = {.ctx = ctx};
    gpuc_map_init(&in.seen, ctx);
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(ctx, op->bodies[i], collect_read, &in);
    op->num_inputs = (int)in.list.count;
    op->inputs = (gpuc_tensor **)in.list.at;
}

/* ---- Replacement -------------------------------------------------------------------------------- */

typedef struct replace {
    gpuc_tir_mapper m;
    int n;
    gpuc_tensor *const *from, *const *to;
} replace;

static gpuc_tensor *replaced(const replace *r, gpuc_tensor *t)
{
    for (int i = 0; i < r->n; i++)
        if (r->from[i] == t) return r->to[i];
    return t;
}

static gpuc_expr replace_read(gpuc_tir_mapper *m, gpuc_expr e)
{
    replace *r = (replace *)m;
    e = gpuc_tir_map_children(m, e);
    if (e->kind != GPUC_EXPR_READ) return e;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    gpuc_tensor *t = replaced(r, read->tensor);
    return t == read->tensor ? e : gpuc_tir_read(m->ctx, e->dtype, t, read->n, read->index);
}

static bool reads_any(const gpuc_te_op *op, int n, gpuc_tensor *const *from)
{
    for (int i = 0; i < op->num_inputs; i++)
        for (int k = 0; k < n; k++)
            if (op->inputs[i] == from[k]) return true;
    return false;
}

gpuc_te_op *gpuc_te_replace_inputs(gpuc_ctx *ctx, gpuc_te_op *op, int n, gpuc_tensor *const *from,
                                   gpuc_tensor *const *to)
{
    if (!reads_any(op, n, from)) return op;
    for (int i = 0; i < n; i++) {
        if (from[i]->ndim != to[i]->ndim || !gpuc_dtype_equal(from[i]->dtype, to[i]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' cannot be replaced by '%s': rank or type differs",
                       from[i]->name, to[i]->name);
    }
    gpuc_te_op *out = gpuc_te_op_make(ctx, op->kind, op->name, op->num_outputs);
    out->attrs = op->attrs;
    out->num_axes = op->num_axes;
    out->num_reduce = op->num_reduce;
    out->axes = op->axes;
    out->reduce = op->reduce;
    replace r = {.n = n, .from = from, .to = to};
    if (op->kind == GPUC_TE_EXTERN) {
        out->num_inputs = op->num_inputs;
        out->inputs = gpuc_new_array(ctx, gpuc_tensor *, op->num_inputs);
        for (int i = 0; i < op->num_inputs; i++) out->inputs[i] = replaced(&r, op->inputs[i]);
        out->input_buffers = op->input_buffers;
        out->output_buffers = op->output_buffers;
        out->extern_body = op->extern_body;
    } else {
        gpuc_tir_mapper_init(&r.m, ctx, replace_read, NULL);
        gpuc_expr *bodies = gpuc_new_array(ctx, gpuc_expr, op->num_outputs);
        for (int i = 0; i < op->num_outputs; i++) bodies[i] = gpuc_tir_map(&r.m, op->bodies[i]);
        out->bodies = bodies;
        gpuc_te_collect_inputs(ctx, out);
    }
    for (int i = 0; i < op->num_outputs; i++) {
        const gpuc_tensor *t = op->outputs[i];
        gpuc_te_output_make(ctx, out, i, t->ndim, t->shape, t->dtype);
    }
    return out;
}

gpuc_expr gpuc_te_inlined(gpuc_ctx *ctx, const gpuc_te_op *op, const gpuc_tir_read_node *read)
{
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, read->n);
    for (int i = 0; i < read->n; i++) vars[i] = op->axes[i]->var;
    return gpuc_tir_substitute(ctx, op->bodies[read->tensor->value_index], read->n, vars, read->index);
}

/* ---- Order -------------------------------------------------------------------------------------- */

typedef struct walk_item {
    gpuc_te_op *op;
    int next; /* input to go to */
} walk_item;

void gpuc_te_post_order(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs, gpuc_ptrs *ops)
{
    gpuc_map seen;
    gpuc_map_init(&seen, ctx);
    walk_item *stack = NULL;
    size_t depth = 0, capacity = 0;
    for (int i = 0; i < n; i++) {
        if (gpuc_map_has(&seen, outputs[i]->op)) continue;
        gpuc_map_set(&seen, outputs[i]->op, outputs[i]->op);
        stack = gpuc_ctx_grow(ctx, stack, depth, &capacity, sizeof(*stack));
        stack[depth++] = (walk_item){.op = outputs[i]->op};
        while (depth > 0) {
            walk_item *top = &stack[depth - 1];
            if (top->next == top->op->num_inputs) {
                gpuc_ptrs_push(ctx, ops, top->op);
                depth--;
                continue;
            }
            gpuc_te_op *in = top->op->inputs[top->next++]->op;
            if (gpuc_map_has(&seen, in)) continue;
            gpuc_map_set(&seen, in, in);
            stack = gpuc_ctx_grow(ctx, stack, depth, &capacity, sizeof(*stack));
            stack[depth++] = (walk_item){.op = in};
        }
    }
}
