/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const data_range *range_of(const data_setup *setup, const char *name)
{
    for (int i = 0; i < setup->n; i++)
        if (strcmp(setup->at[i].name, name) == 0) return &setup->at[i];
    return NULL;
}

static int64_t value_of(gpuc_ctx *ctx, gpuc_expr e, int n, const gpuc_expr *vars, const int64_t *values)
{
    gpuc_expr *with = gpuc_new_array(ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++) with[i] = gpuc_imm_int(ctx, vars[i]->dtype, values[i]);
    int64_t v;
    if (!gpuc_expr_is_int(gpuc_tir_substitute(ctx, e, n, vars, with), &v))
        gpuc_raise(ctx, GPUC_INTERNAL, "%s has no value", gpuc_expr_text(ctx, e));
    return v;
}

static int64_t count_of(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *vars,
                        const int64_t *values)
{
    int64_t count = 1;
    if (b->strides)
        return b->ndim ? value_of(ctx, b->shape[0], n, vars, values) *
                             value_of(ctx, b->strides[0], n, vars, values)
                       : 1;
    for (int i = 0; i < b->ndim; i++) count *= value_of(ctx, b->shape[i], n, vars, values);
    return count;
}

/* One element: a small multiple of 1/8, or an integer. */
static void put_random(gpuc_dtype t, void *at, int64_t lo, int64_t hi, uint64_t *seed)
{
    int64_t v = lo + (int64_t)(next_random(seed) % (uint64_t)(hi - lo + 1));
    double f = (double)((int64_t)(next_random(seed) % 33) - 16) / 8;
    float single = (float)f;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    if (gpuc_is_bool(t)) {
        *(uint8_t *)at = v & 1;
    } else if (t.code == GPUC_DTYPE_BFLOAT) {
        *(uint16_t *)at = (uint16_t)(bits >> 16);
    } else if (t.code == GPUC_DTYPE_FLOAT && t.bits == 16) { /* exact: at most 5 bits */
        uint32_t e = (bits >> 23 & 255), m = bits & 0x7fffff;
        *(uint16_t *)at = (uint16_t)((bits >> 16 & 0x8000) | (e ? (e - 112) << 10 | m >> 13 : 0));
    } else if (t.code == GPUC_DTYPE_FLOAT && t.bits == 32) {
        memcpy(at, &single, 4);
    } else if (t.code == GPUC_DTYPE_FLOAT) {
        memcpy(at, &f, 8);
    } else {
        memcpy(at, &v, gpuc_dtype_bytes(t));
    }
}

data_set data_make(gpuc_ctx *ctx, const gpuc_tir_func *f, const data_setup *setup)
{
    data_set d = {.func = f};
    uint64_t seed = setup->seed;
    d.scalars = gpuc_new_array(ctx, int64_t, f->num_scalars + 1);
    d.args = gpuc_new_array(ctx, gpuc_tir_arg, f->num_buffers + 1);
    for (int i = 0; i < f->num_scalars; i++) {
        const data_range *r = range_of(setup, gpuc_as_var(f->scalars[i])->name);
        d.scalars[i] = r ? r->lo : 13;
        double as_float = (double)d.scalars[i];
        if (gpuc_is_float(f->scalars[i]->dtype)) memcpy(&d.scalars[i], &as_float, 8);
    }
    for (int i = 0; i < f->num_buffers; i++) {
        const gpuc_tir_buffer *b = f->buffers[i];
        const data_range *r = range_of(setup, b->name);
        int64_t count = count_of(ctx, b, f->num_scalars, f->scalars, d.scalars);
        size_t bytes = gpuc_dtype_bytes(b->dtype);
        d.args[i].size = ((size_t)count * bytes + 15) / 16 * 16;
        d.args[i].data = gpuc_ctx_alloc(ctx, d.args[i].size + 16);
        bool is_signed = b->dtype.code == GPUC_DTYPE_INT;
        for (int64_t k = 0; k < count; k++)
            put_random(b->dtype, (char *)d.args[i].data + (size_t)k * bytes,
                       r           ? r->lo
                       : is_signed ? -100
                                   : 0,
                       r ? r->hi : 100, &seed);
    }
    return d;
}

data_set data_copy(gpuc_ctx *ctx, const data_set *d)
{
    data_set c = *d;
    c.args = gpuc_ctx_memdup(ctx, d->args, (size_t)d->func->num_buffers * sizeof *d->args + 1);
    for (int i = 0; i < d->func->num_buffers; i++)
        c.args[i].data = gpuc_ctx_memdup(ctx, d->args[i].data, d->args[i].size + 16);
    return c;
}

static double as_double(gpuc_dtype t, const void *at)
{
    float single;
    uint16_t half;
    uint32_t bits;
    double d;
    if (t.bits == 64) {
        memcpy(&d, at, 8);
        return d;
    }
    if (t.bits == 32) {
        memcpy(&single, at, 4);
        return single;
    }
    memcpy(&half, at, 2);
    if (t.code == GPUC_DTYPE_BFLOAT) {
        bits = (uint32_t)half << 16;
        memcpy(&single, &bits, 4);
        return single;
    }
    int e = half >> 10 & 31, m = half & 1023;
    d = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return half & 0x8000 ? -d : d;
}

static bool close_enough(gpuc_dtype t, double x, double y)
{
    double tolerance = t.bits == 16   ? (t.code == GPUC_DTYPE_BFLOAT ? 2e-2 : 4e-3)
                       : t.bits == 32 ? 2e-5
                                      : 1e-12;
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return x == y || fabs(x - y) <= tolerance * (1 + fabs(x));
}

const char *data_differs(gpuc_ctx *ctx, const data_set *a, const data_set *b)
{
    for (int i = 0; i < a->func->num_buffers; i++) {
        const gpuc_tir_buffer *buf = a->func->buffers[i];
        gpuc_dtype t = buf->dtype;
        size_t bytes = gpuc_dtype_bytes(t);
        int64_t count = count_of(ctx, buf, a->func->num_scalars, a->func->scalars, a->scalars);
        for (int64_t k = 0; k < count; k++) {
            const char *x = (const char *)a->args[i].data + (size_t)k * bytes;
            const char *y = (const char *)b->args[i].data + (size_t)k * bytes;
            if (gpuc_is_float(t) && !close_enough(t, as_double(t, x), as_double(t, y)))
                return gpuc_ctx_printf(ctx, "%s[%lld] is %.9g, not %.9g", buf->name, (long long)k,
                                       as_double(t, y), as_double(t, x));
            int64_t p = 0, q = 0;
            memcpy(&p, x, bytes);
            memcpy(&q, y, bytes);
            if (!gpuc_is_float(t) && p != q)
                return gpuc_ctx_printf(ctx, "%s[%lld] is %lld, not %lld", buf->name, (long long)k,
                                       (long long)q, (long long)p);
        }
    }
    return NULL;
}

void run_func(gpuc_ctx *ctx, const gpuc_tir_func *f, data_set *d)
{
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, d->args, d->scalars, true));
}

void run_program(gpuc_ctx *ctx, const gpuc_tir_program *program, data_set *d)
{
    const gpuc_tir_func *f = program->func;
    int num = f->num_buffers;
    gpuc_tir_arg *all = gpuc_new_array(ctx, gpuc_tir_arg, num + program->num_workspaces + 1);
    memcpy(all, d->args, (size_t)num * sizeof *all);
    for (int i = 0; i < program->num_workspaces; i++) {
        const gpuc_tir_buffer *b = program->workspaces[i];
        int64_t count = count_of(ctx, b, f->num_scalars, f->scalars, d->scalars);
        all[num + i].size = ((size_t)count * gpuc_dtype_bytes(b->dtype) + 15) / 16 * 16;
        all[num + i].data = gpuc_ctx_alloc(ctx, all[num + i].size + 16);
    }
    for (int i = 0; i < program->num_kernels; i++) {
        const gpuc_tir_func *k = program->kernels[i];
        gpuc_tir_arg *args = gpuc_new_array(ctx, gpuc_tir_arg, k->num_buffers + 1);
        int64_t *scalars = gpuc_new_array(ctx, int64_t, k->num_scalars + 1);
        for (int b = 0; b < k->num_buffers; b++) args[b] = all[program->args[i].buffers[b]];
        for (int s = 0; s < k->num_scalars; s++) scalars[s] = d->scalars[program->args[i].scalars[s]];
        gpuc_status status = gpuc_ev_run(ctx, k, args, scalars, true);
        if (status)
            GPUC_RAISE_IF(ctx, gpuc_error_prefix(status, "%s\nkernel '%s'", gpuc_tir_text(ctx, k), k->name));
    }
}
