/* SPDX-License-Identifier: Apache-2.0 */
/* Makes operations whose body is loop IR. */
#include "te/internal.h"
#include "tir/validate.h"

gpuc_te_op *gpuc_te_extern_make(gpuc_ctx *ctx, const char *name, int num_inputs, gpuc_tensor *const *inputs,
                                int num_outputs, const int *ndims, const gpuc_expr *const *shapes,
                                const gpuc_dtype *dtypes)
{
    if (num_outputs < 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "extern '%s' has no outputs", name ? name : "");
    gpuc_te_op *op = gpuc_te_op_make(ctx, GPUC_TE_EXTERN, name, num_outputs);
    op->num_inputs = num_inputs;
    op->inputs = gpuc_ctx_memdup(ctx, inputs, (size_t)num_inputs * sizeof(*inputs));
    op->input_buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, num_inputs);
    op->output_buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, num_outputs);
    for (int i = 0; i < num_inputs; i++)
        op->input_buffers[i] = gpuc_tir_buffer_make(ctx, inputs[i]->name, inputs[i]->dtype, inputs[i]->ndim,
                                                    inputs[i]->shape, GPUC_SCOPE_GLOBAL);
    for (int i = 0; i < num_outputs; i++) {
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndims[i]);
        for (int k = 0; k < ndims[i]; k++) dims[k] = gpuc_te_check_dim(ctx, shapes[i][k], op->name, k);
        gpuc_tensor *t = gpuc_te_output_make(ctx, op, i, ndims[i], dims, dtypes[i]);
        op->output_buffers[i] =
            gpuc_tir_buffer_make(ctx, t->name, t->dtype, t->ndim, t->shape, GPUC_SCOPE_GLOBAL);
    }
    return op;
}

/* ---- Bodies of users --------------------------------------------------------------------------------- */

typedef struct body_check {
    gpuc_ctx *ctx;
    const char *who;
    gpuc_map known; /* buffers that may be read, and stored to unless they are inputs */
    gpuc_map inputs;
    gpuc_map bound;    /* variables that the body sets */
    gpuc_ptrs symbols; /* others */
} body_check;

static void need_known(const body_check *c, const gpuc_tir_buffer *b)
{
    if (!gpuc_map_has(&c->known, b))
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT,
                   "%s: its body uses the buffer '%s', which is none of its inputs and outputs, and not "
                   "allocated in it",
                   c->who, b->name);
}

static void need_output(const body_check *c, const gpuc_tir_buffer *b)
{
    need_known(c, b);
    if (gpuc_map_has(&c->inputs, b))
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "%s: its body stores to the input '%s'", c->who, b->name);
}

static void know(gpuc_map *map, const gpuc_tir_buffer *b)
{
    gpuc_map_set(map, b, (void *)(uintptr_t)b);
}

static void check_stmt(gpuc_stmt s, void *arg)
{
    body_check *c = arg;
    if (s->kind == GPUC_STMT_FOR) gpuc_map_set(&c->bound, gpuc_as_for(s)->var, c);
    if (s->kind == GPUC_STMT_LET) gpuc_map_set(&c->bound, gpuc_as_let(s)->var, c);
    if (s->kind == GPUC_STMT_ALLOC) {
        if (gpuc_map_has(&c->known, gpuc_as_alloc(s)->buffer))
            gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT,
                       "%s: its body allocates '%s', which is an input, an output, or allocated already",
                       c->who, gpuc_as_alloc(s)->buffer->name);
        know(&c->known, gpuc_as_alloc(s)->buffer);
    }
    if (s->kind == GPUC_STMT_STORE) need_output(c, gpuc_as_store(s)->buffer);
}

static bool check_expr(gpuc_expr e, void *arg)
{
    body_check *c = arg;
    if (e->kind == GPUC_EXPR_VAR && !gpuc_map_has(&c->bound, e)) {
        gpuc_map_set(&c->bound, e, c);
        gpuc_ptrs_push(c->ctx, &c->symbols, (void *)(uintptr_t)e);
    }
    if (e->kind == GPUC_EXPR_LOAD) need_known(c, gpuc_as_load(e)->buffer);
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer) {
        bool stores = gpuc_as_call(e)->fn == GPUC_TIR_CALL_ADDRESS;
        (stores ? need_output : need_known)(c, gpuc_as_call(e)->buffer);
    }
    if (e->kind == GPUC_EXPR_READ || e->kind == GPUC_EXPR_REDUCE)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "%s: its body reads a tensor; it has buffers to load from",
                   c->who);
    return true;
}

static body_check check_body(gpuc_ctx *ctx, const char *who, gpuc_stmt body, int num_inputs,
                             const gpuc_tir_buffer *const *inputs, int num_outputs,
                             const gpuc_tir_buffer *const *outputs)
{
    body_check c = {.ctx = ctx, .who = who};
    gpuc_map_init(&c.known, ctx);
    gpuc_map_init(&c.inputs, ctx);
    gpuc_map_init(&c.bound, ctx);
    for (int i = 0; i < num_inputs; i++) {
        know(&c.known, inputs[i]);
        know(&c.inputs, inputs[i]);
    }
    for (int i = 0; i < num_outputs; i++) know(&c.known, outputs[i]);
    gpuc_tir_visit_stmt(ctx, body, check_stmt, NULL, &c);
    gpuc_tir_visit_stmt(ctx, body, NULL, check_expr, &c);
    return c;
}

void gpuc_te_check_body(gpuc_ctx *ctx, const char *who, gpuc_stmt body, int num_inputs,
                        const gpuc_tir_buffer *const *inputs, int num_outputs,
                        const gpuc_tir_buffer *const *outputs)
{
    check_body(ctx, who, body, num_inputs, inputs, num_outputs, outputs);
}

/* As a function of its buffers, the extents of these, and what else it names. */
static void validate_body(gpuc_ctx *ctx, const gpuc_te_op *op, body_check *c)
{
    int n = op->num_inputs + op->num_outputs;
    gpuc_tir_buffer **buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, n);
    for (int i = 0; i < n; i++)
        buffers[i] = i < op->num_inputs ? op->input_buffers[i] : op->output_buffers[i - op->num_inputs];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < buffers[i]->ndim; k++) gpuc_tir_visit(ctx, buffers[i]->shape[k], check_expr, c);
    gpuc_tir_func *f = gpuc_tir_func_new(ctx, "body", n, buffers, (int)c->symbols.count,
                                         (const gpuc_expr *)c->symbols.at, op->extern_body);
    f->name = op->name;
    gpuc_tir_validate_given(ctx, f, NULL);
}

void gpuc_te_extern(gpuc_ctx *ctx, const char *name, int num_inputs, gpuc_tensor *const *inputs,
                    int num_outputs, const int *ndims, const gpuc_expr *const *shapes,
                    const gpuc_dtype *dtypes, gpuc_te_extern_body body, void *arg, gpuc_tensor **outs)
{
    const char *who = gpuc_ctx_printf(ctx, "extern '%s'", name ? name : "");
    if (num_inputs < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %d inputs", who, num_inputs);
    if (num_inputs > 0) gpuc_te_need(ctx, inputs, who, "list of inputs");
    for (int i = 0; i < num_inputs; i++)
        gpuc_te_need_tensor(ctx, inputs[i], gpuc_ctx_printf(ctx, "%s: input %d", who, i));
    gpuc_te_need(ctx, ndims, who, "list of ranks");
    gpuc_te_need(ctx, shapes, who, "list of shapes");
    gpuc_te_need(ctx, dtypes, who, "list of types");
    gpuc_te_need(ctx, outs, who, "place for the outputs");
    if (!body) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the body is NULL", who);
    for (int i = 0; i < num_outputs; i++) {
        const char *out = gpuc_ctx_printf(ctx, "%s: output %d", who, i);
        if (ndims[i] < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has %d dimensions", out, ndims[i]);
        if (ndims[i] > 0) gpuc_te_need(ctx, shapes[i], out, "shape");
        gpuc_te_check_dtype(ctx, dtypes[i], out);
    }
    gpuc_te_op *op = gpuc_te_extern_make(ctx, name, num_inputs, inputs, num_outputs, ndims, shapes, dtypes);
    const gpuc_tir_buffer *const *in = (const gpuc_tir_buffer *const *)op->input_buffers,
                                 *const *out = (const gpuc_tir_buffer *const *)op->output_buffers;
    op->extern_body = body(ctx, in, out, arg);
    if (op->extern_body) {
        body_check c = check_body(ctx, who, op->extern_body, num_inputs, in, num_outputs, out);
        validate_body(ctx, op, &c);
    }
    for (int i = 0; i < num_outputs; i++) outs[i] = op->outputs[i];
}
