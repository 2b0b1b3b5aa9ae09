/* SPDX-License-Identifier: Apache-2.0 */
#include "interp.h"

#include <math.h>

#include "relay_pass/common/dynamic.h"

typedef struct interp {
    gpuc_ctx *ctx;
    gpuc_rmodule *m;
    gpuc_map values; /* expr -> constant, or TUPLE of them */
} interp;

static gpuc_rexpr *value_of(interp *in, gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_CONSTANT) return e;
    gpuc_rexpr *v = gpuc_map_get(&in->values, e);
    if (!v) gpuc_raise(in->ctx, GPUC_INTERNAL, "interp: an expression of kind %d has no value", (int)e->kind);
    return v;
}

static gpuc_rexpr *run_function(interp *in, const gpuc_rexpr *fn, int n, gpuc_rexpr *const *args);

static gpuc_rexpr *run_body(interp *in, gpuc_rexpr *body);

/* A row without a definition is what simplify_inference writes for it, or the row that has its extents as attributes;
 * test_topi_ops holds that to the references. */
static gpuc_rexpr *run_rewritten(interp *in, const gpuc_rcall *c, gpuc_rexpr *const *args)
{
    gpuc_ctx *ctx = in->ctx;
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
    gpuc_rexpr *fixed = gpuc_relay_pass_write_static(ctx, &c->base);
    if (fixed) return run_body(in, fixed);
    for (int i = 0; i < c->n; i++) {
        if (args[i]->kind != GPUC_REXPR_CONSTANT) return NULL;
        params[i] = gpuc_relay_var(ctx, "x", args[i]->type);
    }
    gpuc_rexpr *call = gpuc_relay_call(ctx, c->callee, c->attrs, c->n, params);
    call->type = c->base.type;
    gpuc_rmodule *m = fx_module(ctx, call, c->n, params);
    gpuc_relay_pass_ctx p = {.ctx = ctx, .module = m, .fold_limit = 1 << 20, .keep_constants = true};
    gpuc_relay_pass_simplify_inference(&p);
    const gpuc_rexpr *main = gpuc_rmodule_get(m, "main");
    return gpuc_as_rfunction(main)->body == call ? NULL : run_function(in, main, c->n, args);
}

static gpuc_rexpr *run_call(interp *in, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **args = gpuc_new_array(in->ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++) args[i] = value_of(in, c->args[i]);
    if (c->callee->kind == GPUC_REXPR_FUNCTION) return run_function(in, c->callee, c->n, args);
    if (c->callee->kind == GPUC_REXPR_GLOBAL)
        return run_function(in, gpuc_rmodule_get(in->m, gpuc_as_rglobal(c->callee)->name), c->n, args);
    if (!gpuc_relay_call_op(e)) gpuc_raise(in->ctx, GPUC_UNSUPPORTED, "interp: the callee is no operator");
    gpuc_rexpr *call = gpuc_relay_call(in->ctx, c->callee, c->attrs, c->n, args);
    call->type = e->type;
    call->values = e->values;
    gpuc_relay_budget budget = {.bytes = INT64_MAX / 2, .work = INT64_MAX / 2};
    gpuc_rexpr *out = gpuc_relay_evaluate_call(in->ctx, call, &budget);
    if (!out) out = run_rewritten(in, gpuc_as_rcall(call), args);
    if (!out)
        gpuc_raise(in->ctx, GPUC_UNSUPPORTED, "interp: %s has no definition", gpuc_relay_call_op(e)->name);
    return out;
}

static gpuc_rexpr *run_body(interp *in, gpuc_rexpr *body)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(in->ctx, body, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i], *v = NULL;
        switch (e->kind) {
        case GPUC_REXPR_CALL: v = run_call(in, e); break;
        case GPUC_REXPR_TUPLE: {
            const gpuc_rtuple *t = gpuc_as_rtuple(e);
            gpuc_rexpr **fields = gpuc_new_array(in->ctx, gpuc_rexpr *, t->n);
            for (int k = 0; k < t->n; k++) fields[k] = value_of(in, t->fields[k]);
            v = gpuc_relay_tuple(in->ctx, t->n, fields);
            break;
        }
        case GPUC_REXPR_GET:
            v = gpuc_relay_get(in->ctx, value_of(in, gpuc_as_rget(e)->tuple), gpuc_as_rget(e)->index);
            break;
        case GPUC_REXPR_VAR:
        case GPUC_REXPR_CONSTANT:
        case GPUC_REXPR_OP:
        case GPUC_REXPR_FUNCTION:
        case GPUC_REXPR_GLOBAL: break;
        case GPUC_REXPR_LET:
        case GPUC_REXPR_IF:
        case GPUC_REXPR_MATCH:
        case GPUC_REXPR_CONSTRUCTOR:
        case GPUC_REXPR_KIND_COUNT:
            gpuc_raise(in->ctx, GPUC_UNSUPPORTED, "interp: expressions of kind %d", (int)e->kind);
        }
        if (v) gpuc_map_set(&in->values, e, v);
    }
    return value_of(in, body);
}

static gpuc_rexpr *run_function(interp *outer, const gpuc_rexpr *fn, int n, gpuc_rexpr *const *args)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(fn);
    interp in = {.ctx = outer->ctx, .m = outer->m};
    gpuc_map_init(&in.values, in.ctx);
    if (n != f->n) gpuc_raise(in.ctx, GPUC_INTERNAL, "interp: %d arguments for %d parameters", n, f->n);
    for (int i = 0; i < n; i++) {
        if (!gpuc_relay_rtype_equal(args[i]->type, f->params[i]->type))
            gpuc_raise(in.ctx, GPUC_INTERNAL, "interp: argument %d has another type than the parameter", i);
        gpuc_map_set(&in.values, f->params[i], args[i]);
    }
    return run_body(&in, f->body);
}

void interp_run(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *fn, int n, gpuc_rexpr *const *args,
                gpuc_ptrs *outs)
{
    interp in = {.ctx = ctx, .m = m};
    gpuc_rexpr *v = run_function(&in, fn, n, args);
    if (v->kind != GPUC_REXPR_TUPLE)
        gpuc_ptrs_push(ctx, outs, v);
    else
        for (int i = 0; i < gpuc_as_rtuple(v)->n; i++)
            gpuc_ptrs_push(ctx, outs, gpuc_as_rtuple(v)->fields[i]);
}

gpuc_rexpr **interp_args(gpuc_ctx *ctx, gpuc_rexpr *fn, uint64_t seed)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(fn);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, f->n);
    fx_rng r = {seed};
    for (int i = 0; i < f->n; i++) args[i] = fx_random(ctx, f->params[i]->type, &r);
    return args;
}

void interp_expect_close(gpuc_ctx *ctx, const gpuc_rexpr *a, const gpuc_rexpr *b, double rtol, double atol)
{
    if (!gpuc_relay_rtype_equal(a->type, b->type)) {
        gpuc_buf text;
        gpuc_buf_init(&text, ctx->allocator);
        gpuc_relay_rtype_print(ctx, &text, a->type);
        gpuc_buf_str(&text, " and ");
        gpuc_relay_rtype_print(ctx, &text, b->type);
        fail_msg("the types differ: %s", gpuc_buf_cstr(&text));
    }
    for (int64_t i = 0; i < fx_count(a); i++) {
        double x = fx_element(ctx, a, i), y = fx_element(ctx, b, i);
        bool same = x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= atol + rtol * fabs(y);
        if (!same) fail_msg("element %lld is %.9g, should be %.9g", (long long)i, x, y);
    }
}

void interp_expect_equal(gpuc_ctx *ctx, gpuc_rmodule *a, gpuc_rmodule *b, uint64_t seed, double tolerance)
{
    gpuc_rexpr *fa = gpuc_rmodule_get(a, "main"), *fb = gpuc_rmodule_get(b, "main");
    gpuc_rexpr **args = interp_args(ctx, fa, seed);
    gpuc_ptrs x = {0}, y = {0};
    interp_run(ctx, a, fa, gpuc_as_rfunction(fa)->n, args, &x);
    interp_run(ctx, b, fb, gpuc_as_rfunction(fb)->n, args, &y);
    assert_int_equal(x.count, y.count);
    for (size_t i = 0; i < x.count; i++) interp_expect_close(ctx, y.at[i], x.at[i], tolerance, tolerance);
}
