/* SPDX-License-Identifier: Apache-2.0 */
/* test_topi_sort_random TARGET [CASES [SEED]]: operators that have bodies of their own for CPUs, llvmpipe
 * among them, beside the bodies that other targets get: the same bytes, for random types, extents, axes
 * and values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/run.h"
#include "on_device.h"

static const int64_t lengths[] = {0,  1,  2,  3,   10,  23,  24,   25,   31,   32,    33,    63,     64,
                                  65, 96, 99, 100, 257, 600, 1000, 1025, 3000, 40000, 70001, 140000, 300000};
enum { LENGTHS = sizeof lengths / sizeof lengths[0], LONG = 5 /* of them */ };

static gpuc_dtype random_type(fx_rng *r)
{
    static const gpuc_dtype types[] = {
        {GPUC_DTYPE_FLOAT, 32, 1},  {GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_FLOAT, 16, 1},
        {GPUC_DTYPE_BFLOAT, 16, 1}, {GPUC_DTYPE_INT, 8, 1},    {GPUC_DTYPE_INT, 16, 1},
        {GPUC_DTYPE_INT, 32, 1},    {GPUC_DTYPE_INT, 64, 1},   {GPUC_DTYPE_UINT, 8, 1},
        {GPUC_DTYPE_UINT, 16, 1},   {GPUC_DTYPE_UINT, 32, 1},  {GPUC_DTYPE_UINT, 64, 1},
        {GPUC_DTYPE_FLOAT, 64, 1},  {GPUC_DTYPE_BOOL, 8, 1},
    };
    return types[fx_below(r, (int)(sizeof types / sizeof types[0]))];
}

/* Bits at random, NaN and infinities among them; few different ones; or in order, or the other way round. */
static gpuc_rexpr *keys(gpuc_ctx *ctx, fx_rng *r, gpuc_dtype t, int ndim, const int64_t *dims)
{
    const gpuc_rtype *type = fx_type(ctx, t, ndim, dims);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    size_t item = gpuc_dtype_bytes(t);
    int way = fx_below(r, 5), few = 1 + fx_below(r, 40);
    uint64_t some[40];
    for (int i = 0; i < 40; i++) some[i] = fx_next(r);
    for (size_t i = 0; i < data->size / item; i++) {
        double number = way == 3 ? (double)i : way == 4 ? -(double)i : (double)fx_below(r, 7) - 3;
        uint64_t bits = way == 0 ? fx_next(r) : some[fx_below(r, few)];
        gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, t, number);
        const void *from = way < 2 ? (const void *)&bits : gpuc_as_rconstant(one)->data->bytes;
        if (gpuc_is_bool(t)) bits &= 1;
        memcpy((char *)data->bytes + i * item, from, item);
    }
    return gpuc_relay_constant(ctx, type, data);
}

static gpuc_rexpr *numbers(gpuc_ctx *ctx, fx_rng *r, gpuc_dtype t, int ndim, const int64_t *dims, int lo,
                           int hi)
{
    const gpuc_rtype *type = fx_type(ctx, t, ndim, dims);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    size_t item = gpuc_dtype_bytes(t);
    for (size_t at = 0; at < data->size; at += item) {
        gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, t, lo + fx_below(r, hi - lo + 1));
        memcpy((char *)data->bytes + at, gpuc_as_rconstant(one)->data->bytes, item);
    }
    return gpuc_relay_constant(ctx, type, data);
}

/* A variable of the same type, some of whose extents are open. */
static gpuc_rexpr *open_of(gpuc_ctx *ctx, fx_rng *r, const gpuc_rexpr *x, int kept)
{
    gpuc_tensor_type t = x->type->tensor;
    gpuc_expr dims[8];
    for (int k = 0; k < t.ndim; k++)
        dims[k] = k != kept && fx_below(r, 3) ? gpuc_var(ctx, "n", GPUC_INDEX) : t.dims[k];
    return gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, t.dtype, t.ndim, dims));
}

static void sorting(gpuc_ctx *ctx, on_device_case *c)
{
    fx_rng *r = &c->rng;
    int op = fx_below(r, 4), ndim = 1 + fx_below(r, 3), axis = fx_below(r, ndim);
    bool is_long = fx_below(r, 6) == 0;
    int64_t n = lengths[is_long ? LENGTHS - LONG + fx_below(r, LONG) : fx_below(r, LENGTHS - LONG)], dims[3];
    for (int k = 0; k < ndim; k++) dims[k] = k == axis ? n : 1 + fx_below(r, is_long ? 2 : 9);
    gpuc_dtype t = random_type(r);
    if (t.bits == 64 && gpuc_is_float(t) && !run_target(ctx)->float64) t = GPUC_FLOAT32;
    int64_t wanted[] = {0, 1, 2, 5, 16, 24, 25, 60, 100, 1000, n / 2, n - 1, n}, k;
    do k = wanted[fx_below(r, 13)];
    while (k < 0 || k > n);
    const char *attrs[] = {
        gpuc_ctx_printf(ctx, "axis=%d is_ascend=%d", axis, fx_below(r, 2)),
        gpuc_ctx_printf(ctx, "axis=%d is_ascend=%d dtype=int%d", axis, fx_below(r, 2), 32 << fx_below(r, 2)),
        gpuc_ctx_printf(ctx, "axis=%d largest=%d dtype=int%d k=%lld", axis, fx_below(r, 2),
                        32 << fx_below(r, 2), (long long)k),
        gpuc_ctx_printf(ctx, "axis=%d sorted=%d", axis, fx_below(r, 2))};
    static const char *const ops[] = {"sort", "argsort", "topk", "unique"};
    if (op == 3 && n > 1000) op = 2; /* slow the old way */
    gpuc_rexpr *x = keys(ctx, r, t, ndim, dims), *open = NULL;
    if (fx_below(r, 2)) {
        gpuc_rexpr *v = open_of(ctx, r, x, op == 2 ? axis : -1);
        open = fx_op(ctx, ops[op], attrs[op], 1, &v);
    }
    char name[24];
    const char *text = gpuc_ctx_printf(ctx, "seed %llu: %s(%s, rank %d, %lld along the axis, %s)%s",
                                       (unsigned long long)c->seed, ops[op], gpuc_dtype_name(t, name), ndim,
                                       (long long)n, attrs[op], open ? ", open" : "");
    on_device_check_same(ctx, fx_op(ctx, ops[op], attrs[op], 1, &x), open, text);
}

/* Elements at places of their own, of any number. */
static gpuc_rexpr *scatter_elements(gpuc_ctx *ctx, fx_rng *r, gpuc_dtype t, const char *way,
                                    const char **attrs)
{
    int ndim = 1 + fx_below(r, 3), axis = fx_below(r, ndim);
    bool is_long = ndim == 1 && fx_below(r, 2);
    int64_t dims[3], at[3];
    for (int k = 0; k < ndim; k++) dims[k] = at[k] = 1 + fx_below(r, 30);
    at[axis] = is_long ? lengths[LENGTHS - LONG + fx_below(r, LONG)] : lengths[fx_below(r, 20)];
    int n = (int)dims[axis];
    gpuc_rexpr *args[] = {numbers(ctx, r, t, ndim, dims, -3, 3),
                          numbers(ctx, r, fx_below(r, 2) ? GPUC_INT64 : GPUC_INT32, ndim, at, -n, n - 1),
                          numbers(ctx, r, t, ndim, at, -3, 3)};
    *attrs = gpuc_ctx_printf(ctx, "axis=%d reduction=\"%s\"", axis, way);
    return fx_op(ctx, "scatter_elements", *attrs, 3, args);
}

/* Slices, of the last dimensions. */
static gpuc_rexpr *scatter_nd(gpuc_ctx *ctx, fx_rng *r, gpuc_dtype t, const char *way, const char **attrs)
{
    int ndim = 1 + fx_below(r, 3), depth = 1 + fx_below(r, ndim);
    int64_t dims[3], n = lengths[fx_below(r, 20)], at[] = {n, depth}, slices[4] = {n};
    int min = 30;
    for (int k = 0; k < ndim; k++) dims[k] = 1 + fx_below(r, 30);
    if (fx_below(r, 2)) dims[ndim - 1] = 4 * (1 + fx_below(r, 7));
    for (int k = 0; k < depth; k++) min = dims[k] < min ? (int)dims[k] : min;
    for (int k = depth; k < ndim; k++) slices[1 + k - depth] = dims[k];
    gpuc_rexpr *args[] = {numbers(ctx, r, t, ndim, dims, -3, 3),
                          numbers(ctx, r, GPUC_INT64, 2, at, -min, min - 1),
                          numbers(ctx, r, t, 1 + ndim - depth, slices, -3, 3)};
    *attrs = gpuc_ctx_printf(ctx, "reduction=\"%s\"", way);
    return fx_op(ctx, "scatter_nd", *attrs, 3, args);
}

static void scattering(gpuc_ctx *ctx, on_device_case *c)
{
    static const char *const ways[] = {"none", "add", "mul", "min", "max"};
    static const gpuc_dtype types[] = {{GPUC_DTYPE_FLOAT, 32, 1},
                                       {GPUC_DTYPE_INT, 32, 1},
                                       {GPUC_DTYPE_INT, 8, 1},
                                       {GPUC_DTYPE_FLOAT, 16, 1}};
    fx_rng *r = &c->rng;
    bool slices = fx_below(r, 2);
    const char *way = ways[fx_below(r, 5)], *attrs;
    gpuc_rexpr *call = (slices ? scatter_nd : scatter_elements)(ctx, r, types[fx_below(r, 4)], way, &attrs);
    const gpuc_tensor_type *u = &gpuc_as_rcall(call)->args[2]->type->tensor, *x = &call->type->tensor;
    char size[128] = "";
    for (int k = 0; k < x->ndim + u->ndim; k++) {
        int64_t d = 0;
        (void)gpuc_expr_is_int(k < x->ndim ? x->dims[k] : u->dims[k - x->ndim], &d);
        snprintf(size + strlen(size), sizeof size - strlen(size), "%s%lld", k == x->ndim ? " by " : " ",
                 (long long)d);
    }
    on_device_check_same(ctx, call, NULL,
                         gpuc_ctx_printf(ctx, "seed %llu: scatter_%s(%s),%s", (unsigned long long)c->seed,
                                         slices ? "nd" : "elements", attrs, size));
}

static gpuc_rexpr *scalar(gpuc_ctx *ctx, gpuc_dtype t, double value)
{
    return gpuc_relay_const_scalar(ctx, t, value);
}

static void suppressing(gpuc_ctx *ctx, on_device_case *c)
{
    fx_rng *r = &c->rng;
    int64_t n = lengths[fx_below(r, 20)], batch = 1 + fx_below(r, 3);
    const char *text, *attrs;
    gpuc_rexpr *call;
    if (fx_below(r, 2)) {
        int64_t boxes[] = {batch, n, 4}, scores[] = {batch, 1 + fx_below(r, 4), n};
        gpuc_rexpr *args[] = {numbers(ctx, r, GPUC_FLOAT32, 3, boxes, 0, 20 + fx_below(r, 200)),
                              fx_below(r, 2) ? keys(ctx, r, GPUC_FLOAT32, 3, scores)
                                             : numbers(ctx, r, GPUC_FLOAT32, 3, scores, -5, 500),
                              scalar(ctx, GPUC_INT64, fx_below(r, 3) ? fx_below(r, 100) : 1000000),
                              scalar(ctx, GPUC_FLOAT32, fx_below(r, 10) / 10.0),
                              scalar(ctx, GPUC_FLOAT32, fx_below(r, 2) ? -1e30 : fx_below(r, 400))};
        attrs = gpuc_ctx_printf(ctx, "center_point_box=%d", fx_below(r, 2));
        call = fx_op(ctx, "vision.all_class_non_max_suppression", attrs, 5, args);
    } else {
        int64_t rows[] = {batch, n, 6};
        gpuc_rexpr *args[] = {
            numbers(ctx, r, fx_below(r, 2) ? GPUC_FLOAT32 : GPUC_FLOAT16, 3, rows, 0, 5 + fx_below(r, 60)),
            numbers(ctx, r, GPUC_INT32, 1, &batch, 0, (int)n)};
        attrs = gpuc_ctx_printf(ctx, "nms_threshold=0.%d force_suppress=%d nms_topk=%d", 1 + fx_below(r, 9),
                                fx_below(r, 2), fx_below(r, 2) ? -1 : fx_below(r, 100));
        call = fx_op(ctx, "vision.nms", attrs, 2, args);
    }
    text =
        gpuc_ctx_printf(ctx, "seed %llu: %lld boxes, %s", (unsigned long long)c->seed, (long long)n, attrs);
    on_device_check_same(ctx, call, NULL, text);
}

static void check(gpuc_ctx *ctx, void *arg)
{
    on_device_case *c = arg;
    int way = fx_below(&c->rng, 6);
    (way < 4 ? sorting : way < 5 ? scattering : suppressing)(ctx, c);
    print_message("cases: 1\n");
}

int main(int argc, char **argv)
{
    return on_device_main(argc, argv, 12, check);
}
