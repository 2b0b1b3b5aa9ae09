/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>
#include <string.h>

#include "te/te.h"
#include "base/element.h"

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static int64_t value_of(const expr_graph *g, gpuc_expr e)
{
    gpuc_expr with[EXPR_MAX_SYMBOLS];
    for (int i = 0; i < g->num_symbols; i++) with[i] = gpuc_int(g->ctx, g->values[i]);
    int64_t out = -1;
    GPUC_CHECK(gpuc_expr_is_int(gpuc_tir_substitute(g->ctx, e, g->num_symbols, g->symbols, with), &out));
    return out;
}

static void fill(gpuc_dtype t, void *data, int64_t count, uint64_t *state)
{
    for (int64_t i = 0; i < count; i++) {
        int v = (int)(next_random(state) % 17) - 8;
        if (t.code == GPUC_DTYPE_FLOAT && t.bits == 16)
            ((uint16_t *)data)[i] = gpuc_float_bits(GPUC_FLOAT16, v / 2);
        else if (t.code == GPUC_DTYPE_FLOAT)
            ((float *)data)[i] = (float)v;
        else if (t.bits == 8) /* all that there are: products of small integers must not saturate */
            ((uint8_t *)data)[i] = (uint8_t)(next_random(state) >> 11);
        else if (t.bits == 16)
            ((uint16_t *)data)[i] = (uint16_t)(next_random(state) >> 11);
        else
            ((int32_t *)data)[i] = v;
    }
}

void data_fill(const expr_graph *g, uint64_t seed, data_set *out)
{
    *out = (data_set){0};
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < g->num_args; i++) {
        const gpuc_tensor *t = g->args[i];
        int64_t count = 1;
        for (int k = 0; k < t->ndim && !t->view; k++) count *= value_of(g, t->shape[k]);
        if (t->view) count = value_of(g, t->view->size);
        GPUC_CHECK(t->dtype.bits == 32 || t->dtype.code == GPUC_DTYPE_FLOAT ||
                   i < g->num_args - g->num_outputs);
        out->counts[i] = count;
        out->args[i].size = (size_t)count * gpuc_dtype_bytes(t->dtype);
        out->args[i].data = gpuc_ctx_alloc(g->ctx, out->args[i].size);
        if (i < g->num_args - g->num_outputs) fill(t->dtype, out->args[i].data, count, &state);
    }
    data_clear_outputs(g, out);
}

void data_clear_outputs(const expr_graph *g, data_set *d)
{
    for (int i = g->num_args - g->num_outputs; i < g->num_args; i++)
        memset(d->args[i].data, 0xA5, d->args[i].size);
}

void data_run(const expr_graph *g, const gpuc_tir_func *f, data_set *d)
{
    int64_t scalars[EXPR_MAX_SYMBOLS] = {0};
    for (int i = 0; i < f->num_scalars; i++)
        for (int k = 0; k < g->num_symbols; k++)
            if (f->scalars[i] == g->symbols[k]) scalars[i] = g->values[k];
    GPUC_RAISE_IF(g->ctx, gpuc_ev_run(g->ctx, f, d->args, scalars, true));
}

static bool close_enough(gpuc_dtype t, const void *got, const void *want, int64_t i)
{
    if (t.code != GPUC_DTYPE_FLOAT) return ((const int32_t *)got)[i] == ((const int32_t *)want)[i];
    if (t.bits == 16) return ((const uint16_t *)got)[i] == ((const uint16_t *)want)[i]; /* sums are exact */
    double x = ((const float *)got)[i], y = ((const float *)want)[i];
    return fabs(x - y) <= 1e-6 + 1e-5 * fabs(y) || (isnan(x) && isnan(y)) || x == y;
}

void data_compare(const expr_graph *g, const data_set *got, const data_set *want)
{
    for (int i = g->num_args - g->num_outputs; i < g->num_args; i++) {
        gpuc_dtype t = g->args[i]->dtype;
        bool real = t.code == GPUC_DTYPE_FLOAT;
        for (int64_t k = 0; k < got->counts[i]; k++) {
            const void *x = got->args[i].data, *y = want->args[i].data;
            if (close_enough(t, x, y, k)) continue;
            gpuc_raise(g->ctx, GPUC_INTERNAL, "output '%s': element %lld is %g, should be %g",
                       g->args[i]->name, (long long)k, real ? ((const float *)x)[k] : ((const int32_t *)x)[k],
                       real ? ((const float *)y)[k] : ((const int32_t *)y)[k]);
        }
    }
}

void compare_with_definition(const expr_graph *g, gpuc_schedule *s)
{
    gpuc_ctx *ctx = g->ctx;
    const gpuc_tir_func *plain = gpuc_te_lower_plain(ctx, "plain", g->num_args, g->args);
    const gpuc_tir_func *scheduled = gpuc_schedule_lower(s, "scheduled", g->num_args, g->args);
    gpuc_tir_validate(ctx, plain, "te");
    gpuc_tir_validate(ctx, scheduled, "schedule");
    data_set want, got;
    data_fill(g, 1, &want);
    data_fill(g, 1, &got);
    data_run(g, plain, &want);
    data_run(g, scheduled, &got);
    data_compare(g, &got, &want);
}
