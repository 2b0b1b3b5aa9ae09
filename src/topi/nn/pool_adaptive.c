/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling to a given size: output y of `out` takes the input from floor(y*in/out) to ceil((y+1)*in/out).
 * Global pooling is that to size 1. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/nn/pool.h"

static int space(const gpuc_op_call *call)
{
    int rank = call->in[0].ndim - 2;
    if (rank < 1) gpuc_topi_fail(call, "data of %d dimensions has no space", call->in[0].ndim);
    if (rank > GPUC_TOPI_MAX_RANK)
        gpuc_topi_fail(call, "data of %d dimensions, at most %d are supported", call->in[0].ndim,
                       GPUC_TOPI_MAX_RANK + 2);
    return rank;
}

static void infer_sizes(gpuc_op_call *call, const int64_t *sizes)
{
    int rank = space(call);
    gpuc_expr dims[GPUC_TOPI_MAX_RANK + 2] = {call->in[0].dims[0], call->in[0].dims[1]};
    for (int i = 0; i < rank; i++) {
        int64_t out = sizes ? sizes[i] : 1;
        if (out < 1) gpuc_topi_fail(call, "output_size %lld of dimension %d", (long long)out, 2 + i);
        gpuc_topi_require(call, gpuc_ge(call->ctx, call->in[0].dims[2 + i], gpuc_topi_num(call, 1)),
                          "dimension %d of the data has no elements", 2 + i);
        dims[2 + i] = gpuc_int(call->ctx, out);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, rank + 2, dims);
}

static void infer_adaptive(gpuc_op_call *call)
{
    infer_sizes(call, gpuc_topi_ints(call, "output_size", space(call)));
}

static void infer_global(gpuc_op_call *call)
{
    infer_sizes(call, NULL);
}

/* The input from which output y takes, and (where it varies) to which. */
typedef struct part {
    gpuc_expr max; /* elements */
    gpuc_expr from, to;
} part;

/* floor((y*in + plus) / out). The whole multiples in an extent are taken apart: what is left is small. */
static gpuc_expr bound(gpuc_ctx *ctx, gpuc_expr y, gpuc_expr in, gpuc_expr out, gpuc_expr plus)
{
    gpuc_expr whole = gpuc_mul(ctx, y, gpuc_floordiv_(ctx, in, out)),
              rest = gpuc_mul(ctx, y, gpuc_floormod_(ctx, in, out));
    return gpuc_add(ctx, whole, gpuc_floordiv_(ctx, gpuc_add(ctx, rest, plus), out));
}

static part part_of(const gpuc_op_call *call, int i, gpuc_expr y)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr in = call->in[0].dims[2 + i], out = call->out[0].dims[2 + i], one = gpuc_int(ctx, 1);
    gpuc_expr each = gpuc_floordiv_(ctx, in, out);
    if (gpuc_topi_proves(ctx, gpuc_eq(ctx, gpuc_floormod_(ctx, in, out), gpuc_int(ctx, 0))))
        return (part){.max = each, .from = gpuc_mul(ctx, y, each)};
    part p = {.max = gpuc_min(ctx, gpuc_add(ctx, each, gpuc_int(ctx, 2)), in)};
    p.from = bound(ctx, y, in, out, gpuc_int(ctx, 0));
    p.to = bound(ctx, gpuc_add(ctx, y, one), in, out, gpuc_sub(ctx, out, one));
    return p;
}

static gpuc_tensor *pool(const gpuc_op_call *call, gpuc_tensor *data, const char *reducer, gpuc_expr outside)
{
    gpuc_ctx *ctx = call->ctx;
    int rank = space(call);
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2], x[GPUC_TOPI_MAX_RANK + 2], inside = NULL;
    gpuc_iter *over[GPUC_TOPI_MAX_RANK], **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    x[0] = vars[0];
    x[1] = vars[1];
    for (int i = 0; i < rank; i++) {
        part p = part_of(call, i, vars[2 + i]);
        over[i] = gpuc_te_reduce_axis(ctx, p.max, i == rank - 1 ? "kx" : "ky");
        x[2 + i] = gpuc_add(ctx, p.from, gpuc_iter_var(over[i]));
        if (!p.to) continue;
        gpuc_expr ok = gpuc_lt(ctx, x[2 + i], p.to);
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, data, rank + 2, x);
    if (!strcmp(reducer, "sum")) value = gpuc_topi_widen(ctx, value);
    if (inside) value = gpuc_if_then_else(ctx, inside, value, outside);
    return gpuc_topi_compute(ctx, "pool", "pool", rank + 2, axes,
                             gpuc_te_reduce(ctx, reducer, value, rank, over));
}

static void max_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    outs[0] = pool(call, ins[0], "max", gpuc_tir_min_value(call->ctx, call->in[0].dtype));
}

static void avg_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int rank = space(call);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_tensor *sum = pool(call, ins[0], "sum", gpuc_imm(ctx, t, 0));
    gpuc_expr vars[GPUC_TOPI_MAX_RANK + 2], count = gpuc_int(ctx, 1);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < rank; i++) {
        part p = part_of(call, i, vars[2 + i]);
        count = gpuc_mul(ctx, count, p.to ? gpuc_sub(ctx, p.to, p.from) : p.max);
    }
    gpuc_expr value = gpuc_div(ctx, gpuc_te_read(ctx, sum, rank + 2, vars), gpuc_cast(ctx, t, count));
    outs[0] =
        gpuc_topi_compute(ctx, "avg", "elemwise", rank + 2, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

/* Without it, or empty: the size of the input. */
static void take_output_size(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    if (value && (value->kind != GPUC_ATTR_INTS || value->n)) {
        gpuc_op_set_attr(w, spec->to, value);
    } else if (w->in && w->num_in > 0 && w->in[0].ndim > 2) {
        gpuc_op_set_sizes(w, spec->to, w->in[0].ndim - 2, w->in[0].dims + 2);
    }
}

ATTRS(sizes, SPACE_REQUIRED("output_size"),
      {.name = "output_size",
       .kind = GPUC_ATTR_INTS,
       .take = take_output_size,
       .to = "output_size",
       .always = true,
       .about = "the size of the input where it is not given"},
      NCHW_ONLY("layout"), OUT_LAYOUT)
ATTRS(layout_specs, NCHW_ONLY("layout"), OUT_LAYOUT)

#define ROWS(r)                                                                                              \
    ANCHOR("nn.adaptive_max_pool" r "d", 1, 1, sizes, infer_adaptive, max_compute,                           \
           "adaptive_max_pool" r "d", "", "", GPUC_T_NUMBERS),                                               \
        ANCHOR("nn.adaptive_avg_pool" r "d", 1, 1, sizes, infer_adaptive, avg_compute,                       \
               "adaptive_avg_pool" r "d", "", "", GPUC_T_FLOATS),                                            \
        ANCHOR("nn.global_max_pool" r "d", 1, 1, layout_specs, infer_global, max_compute,                    \
               "global_max_pool" r "d", "global_max_pool" r "d", "GlobalMaxPool", GPUC_T_NUMBERS),           \
        ANCHOR("nn.global_avg_pool" r "d", 1, 1, layout_specs, infer_global, avg_compute,                    \
               "global_avg_pool" r "d", "global_avg_pool" r "d", "GlobalAveragePool", GPUC_T_FLOATS)

const gpuc_op gpuc_topi_ops_pool_adaptive[] = {ROWS("1"), ROWS("2"), ROWS("3")};
const size_t gpuc_topi_ops_pool_adaptive_count =
    sizeof gpuc_topi_ops_pool_adaptive / sizeof gpuc_topi_ops_pool_adaptive[0];
