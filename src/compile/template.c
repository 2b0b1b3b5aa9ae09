/* SPDX-License-Identifier: Apache-2.0 */
/* Templates as functions of the graph IR. */
#include "compile/template.h"

#include "autoschedule/knobs.h"
#include "op/op.h"
#include "te/te.h"

#define PREFIX "template." /* of rows, so that logs tell them from operators */

/* What a template computes is known only by running it. */
static void no_infer(gpuc_op_call *call)
{
    gpuc_raise(call->ctx, GPUC_INTERNAL, "%s is a template, not an operator", call->op->name);
}

static void no_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins, (void)outs;
    gpuc_raise(call->ctx, GPUC_INTERNAL, "%s is a template, not an operator", call->op->name);
}

gpuc_template_row *gpuc_compile_template_row(gpuc_ctx *ctx, const gpuc_tune_template *t, bool plain)
{
    gpuc_template_row *row = gpuc_new(ctx, gpuc_template_row);
    *row = (gpuc_template_row){.op = {.name = gpuc_ctx_printf(ctx, PREFIX "%s", t->name),
                                      .max_in = -1,
                                      .attrs = t->params,
                                      .infer = no_infer,
                                      .compute = no_compute,
                                      .pattern = GPUC_FUSE_OPAQUE},
                               .of = t,
                               .plain = plain};
    return row;
}

const gpuc_template_row *gpuc_compile_template_of(const gpuc_rfunction *f)
{
    const gpuc_op *op = gpuc_relay_call_op(f->body);
    return op && op->compute == no_compute ? (const gpuc_template_row *)op : NULL;
}

/* ---- Running it ---- */

typedef struct running {
    const gpuc_template_row *row;
    gpuc_tune_call *call;
} running;

static void check_tensor(gpuc_ctx *ctx, gpuc_tensor *t, const char *what, int i, bool is_input)
{
    if (!t) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s %d is NULL", what, i);
    if ((gpuc_te_get(t).kind == GPUC_TE_PLACEHOLDER) == is_input) return;
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s %d, '%s', is %s", what, i, gpuc_te_name(t),
               is_input ? "no placeholder" : "a placeholder, not computed");
}

static void check_count(gpuc_ctx *ctx, const char *what, int n, int min)
{
    if (n < min || n > GPUC_TUNE_MAX_TENSORS)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s is %d, not %d to %d", what, n, min, GPUC_TUNE_MAX_TENSORS);
}

static void run_body(gpuc_ctx *ctx, void *arg)
{
    running *r = arg;
    gpuc_tune_call *c = r->call;
    r->row->of->body(c);
    check_count(ctx, "num_in", c->num_in, 0);
    check_count(ctx, "num_out", c->num_out, 1);
    for (int i = 0; i < c->num_in; i++) check_tensor(ctx, c->in[i], "input", i, true);
    for (int i = 0; i < c->num_out; i++) check_tensor(ctx, c->out[i], "output", i, false);
    if (r->row->plain)
        c->schedule = gpuc_schedule_create(ctx, c->num_out, c->out);
    else if (!c->schedule)
        c->schedule = gpuc_topi_schedule(ctx, c->target, c->knobs, c->num_out, c->out);
}

static void run(gpuc_ctx *ctx, const gpuc_template_row *row, const gpuc_attrs *params,
                const gpuc_target *target, gpuc_knobs *knobs, gpuc_tune_call *out)
{
    *out = (gpuc_tune_call){
        .ctx = ctx, .target = target, .params = params, .knobs = knobs, .user = row->of->user};
    if (row->plain) out->knobs = NULL;
    running r = {.row = row, .call = out};
    gpuc_status status = gpuc_ctx_protect(ctx, run_body, &r);
    if (status) gpuc_ctx_raise_status(ctx, gpuc_error_prefix(status, "template '%s'", row->of->name));
}

/* ---- Types ---- */

/* Of the array that an argument is. */
static const gpuc_rtype *type_of(gpuc_ctx *ctx, const gpuc_tensor *t)
{
    if (t->view) return gpuc_relay_rtype_tensor(ctx, t->dtype, 1, &t->view->size);
    return gpuc_relay_rtype_tensor(ctx, t->dtype, t->ndim, t->shape);
}

gpuc_rfunction *gpuc_compile_template_function(gpuc_ctx *ctx, const gpuc_tune_template *t,
                                               const gpuc_attrs *params, const gpuc_target *target,
                                               bool plain)
{
    gpuc_template_row *row = gpuc_compile_template_row(ctx, t, plain);
    gpuc_tune_call c;
    params = gpuc_op_complete_attrs(ctx, &row->op, params);
    run(ctx, row, params, target, NULL, &c);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c.num_in);
    const gpuc_rtype **results = gpuc_new_array(ctx, const gpuc_rtype *, c.num_out);
    for (int i = 0; i < c.num_in; i++)
        args[i] = gpuc_relay_var(ctx, gpuc_te_name(c.in[i]), type_of(ctx, c.in[i]));
    for (int i = 0; i < c.num_out; i++) results[i] = type_of(ctx, c.out[i]);
    gpuc_rop *op = gpuc_new(ctx, gpuc_rop);
    *op = (gpuc_rop){.base = {.kind = GPUC_REXPR_OP, .source = ""}, .op = &row->op, .name = row->op.name};
    gpuc_rexpr *call = gpuc_relay_call(ctx, &op->base, params, c.num_in, args);
    call->type = c.num_out == 1 ? results[0] : gpuc_relay_rtype_tuple(ctx, c.num_out, results);
    return (gpuc_rfunction *)gpuc_relay_function(ctx, c.num_in, args, call, NULL);
}

static bool same_type(gpuc_ctx *ctx, const gpuc_rtype *want, const gpuc_tensor *t)
{
    const gpuc_rtype *have = type_of(ctx, t);
    const gpuc_tensor_type *a = &want->tensor, *b = &have->tensor;
    int64_t x, y;
    if (!gpuc_dtype_equal(a->dtype, b->dtype) || a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (gpuc_expr_is_int(a->dims[i], &x) && gpuc_expr_is_int(b->dims[i], &y) && x != y) return false;
    return true;
}

static const gpuc_rtype *result_of(const gpuc_rfunction *f, int i)
{
    const gpuc_rtype *t = f->body->type;
    return t->kind == GPUC_RTYPE_TUPLE ? t->at[i] : t;
}

void gpuc_compile_template_run(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_target *target,
                               gpuc_knobs *knobs, gpuc_tune_call *out)
{
    const gpuc_template_row *row = gpuc_compile_template_of(f);
    const gpuc_rtype *result = f->body->type;
    run(ctx, row, gpuc_as_rcall(f->body)->attrs, target, knobs, out);
    bool same = out->num_in == f->n && out->num_out == (result->kind == GPUC_RTYPE_TUPLE ? result->n : 1);
    for (int i = 0; same && i < out->num_in; i++) same = same_type(ctx, f->params[i]->type, out->in[i]);
    for (int i = 0; same && i < out->num_out; i++) same = same_type(ctx, result_of(f, i), out->out[i]);
    if (!same)
        gpuc_raise(
            ctx, GPUC_INVALID_ARGUMENT,
            "template '%s': its arguments depend on more than its parameters: knobs must not change number "
            "and types of tensors",
            row->of->name);
}
