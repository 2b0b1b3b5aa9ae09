/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over one module, compared with what it was. */
#ifndef GPUC_TESTS_RELAY_PASS_PASS_TEST_H
#define GPUC_TESTS_RELAY_PASS_PASS_TEST_H

#include "interp.h"
#include "relay_pass/passes.h"

static inline gpuc_relay_pass_ctx pass_ctx(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    return (gpuc_relay_pass_ctx){
        .ctx = ctx, .module = m, .opt_level = 3, .fold_limit = 1 << 20, .keep_constants = true};
}

/* The module after the pass; the one before is as it was. */
static inline gpuc_rmodule *run_pass(gpuc_ctx *ctx, gpuc_rmodule *m, void (*pass)(gpuc_relay_pass_ctx *p),
                                     const char *target)
{
    gpuc_rmodule *after = gpuc_ctx_memdup(ctx, m, sizeof *m);
    gpuc_strmap_init(&after->functions, ctx);
    for (uint32_t i = 0; i < m->functions.map.count; i++)
        gpuc_strmap_set(&after->functions, m->functions.map.entries[i].key,
                        m->functions.map.entries[i].value);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, after);
    if (target) p.target = gpuc_target_parse(ctx, target, NULL);
    pass(&p);
    return after;
}

static inline gpuc_rexpr *body_of(const gpuc_rmodule *m)
{
    return gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body;
}

/* main of one expression over the given variables; runs the pass, compares values, returns the text after it. */
static inline const char *after_pass(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params,
                                     void (*pass)(gpuc_relay_pass_ctx *p), const char *target)
{
    gpuc_rmodule *before = fx_module(ctx, body, n, params), *after = run_pass(ctx, before, pass, target);
    interp_expect_equal(ctx, before, after, 1234, 1e-5);
    return fx_text(ctx, body_of(after));
}

/* Calls of an operator below root, functions included. */
static inline int count_op(gpuc_ctx *ctx, gpuc_rexpr *root, const char *op)
{
    gpuc_ptrs order = {0};
    int n = 0;
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) n += gpuc_relay_is_op(order.at[i], op);
    return n;
}

#define CONV1 "strides=[1] padding=[1, 1] dilation=[1]"
static inline gpuc_rexpr *conv1(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr *w)
{
    gpuc_rexpr *args[] = {x, w};
    return fx_op(ctx, "nn.conv1d", CONV1, 2, args);
}

static inline gpuc_rexpr *random_floats(gpuc_ctx *ctx, uint64_t seed, int ndim, const int64_t *dims)
{
    fx_rng r = {seed};
    return fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, ndim, dims), &r);
}

#endif
