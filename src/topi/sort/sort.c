/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting along an axis: the order of the elements, then what stands in it. Ascending order puts NaN last,
 * descending order is the same the other way round; equal elements stay in the order of their positions. */
#include <string.h>

#include "topi/families.h"
#include "topi/parallel.h"
#include "op/rows.h"

static void check_index_type(const gpuc_op_call *call, gpuc_dtype t)
{
    char name[24];
    if (!gpuc_is_integer(t) || t.bits < 32)
        gpuc_topi_fail(call, "dtype %s cannot hold indices; int32 or int64 can", gpuc_dtype_name(t, name));
}

static int sort_axis(const gpuc_op_call *call)
{
    int ndim = call->in[0].ndim;
    return ndim ? gpuc_topi_axis(call, "axis", ndim) : 0;
}

static void infer_sort(gpuc_op_call *call)
{
    gpuc_topi_rows_of(call, &call->in[0], sort_axis(call));
    gpuc_topi_infer_same(call);
}

static void infer_argsort(gpuc_op_call *call)
{
    infer_sort(call);
    call->out[0].dtype = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    check_index_type(call, call->out[0].dtype);
}

/* The results that topk has, in order: the elements, their positions, or both. */
static bool gives(const gpuc_op_call *call, const char *what)
{
    const char *ret = gpuc_attrs_get_string(call->attrs, "ret_type", "both");
    return !strcmp(ret, "both") || !strcmp(ret, what);
}

static void infer_topk(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *given = gpuc_attrs_find(call->attrs, "k");
    gpuc_dtype position = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    bool values = gives(call, "values"), indices = gives(call, "indices");
    if (!values && !indices)
        gpuc_topi_fail(call, "ret_type is '%s'; known are both, values, indices",
                       gpuc_attrs_get_string(call->attrs, "ret_type", "both"));
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (in->ndim == 0) gpuc_topi_fail(call, "the input has no dimensions");
    int axis = sort_axis(call);
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    if (given->n > 1) gpuc_topi_fail(call, "k has %d numbers, at most 1 is needed", given->n);
    gpuc_expr k = given->n ? gpuc_attr_size(call->ctx, given, 0) : gpuc_topi_num(call, 1);
    gpuc_expr extent = gpuc_topi_par_countable(call, dims[axis]);
    gpuc_topi_require(call, gpuc_le(call->ctx, gpuc_topi_num(call, 0), k), "k is %s",
                      gpuc_expr_text(call->ctx, k));
    gpuc_topi_require(call, gpuc_le(call->ctx, k, extent), "k is %s, dimension %d has %s elements",
                      gpuc_expr_text(call->ctx, k), axis, gpuc_expr_text(call->ctx, extent));
    dims[axis] = k;
    check_index_type(call, position);
    gpuc_topi_set_num_out(call, values + indices);
    if (values) gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
    if (indices) gpuc_topi_set_out(call, values, position, in->ndim, dims);
}

typedef struct keys {
    gpuc_rows rows;
    gpuc_expr keep;
    gpuc_dtype value;
    bool descending;
    const gpuc_tir_buffer *in;
} keys;

static gpuc_expr element(const gpuc_order *o, gpuc_expr row, gpuc_expr i)
{
    const keys *k = o->arg;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_rows_index(o->ctx, &k->rows, row, i, index);
    return gpuc_tir_load(o->ctx, k->in, k->rows.ndim, index);
}

static gpuc_stmt element_less(const gpuc_order *o, gpuc_expr row, gpuc_expr a, gpuc_expr b,
                              const gpuc_tir_buffer *less)
{
    gpuc_expr x = element(o, row, a), y = element(o, row, b);
    gpuc_expr before = ((const keys *)o->arg)->descending ? gpuc_topi_order_below(o->ctx, y, x)
                                                          : gpuc_topi_order_below(o->ctx, x, y);
    return gpuc_topi_par_set(o->ctx, less, gpuc_cast(o->ctx, GPUC_INT32, before));
}

static gpuc_expr element_key(const gpuc_order *o, gpuc_expr row, gpuc_expr i)
{
    return gpuc_topi_order_key(o->ctx, element(o, row, i), ((const keys *)o->arg)->descending);
}

static gpuc_stmt order_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                            gpuc_knobs *knobs)
{
    (void)knobs;
    keys k = *(const keys *)arg;
    k.in = op->input_buffers[0];
    gpuc_order o = {.ctx = ctx,
                    .rows = k.rows.count,
                    .n = k.rows.n,
                    .keep = k.keep,
                    .less = element_less,
                    .arg = &k,
                    .key = element_key,
                    .value = k.value,
                    .target = gpuc_topi_par_cpu(target),
                    .lanes = gpuc_topi_par_on_lanes(target)};
    return gpuc_topi_order_emit(&o, op->output_buffers[0]);
}

/* Positions of the first `keep` elements in order: int32, [rows * keep]. */
static gpuc_tensor *order_of(const gpuc_op_call *call, gpuc_tensor *const *ins, const gpuc_rows *rows,
                             gpuc_expr keep, bool descending)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr size = gpuc_mul(ctx, rows->count, keep);
    gpuc_tensor_type type = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "order", 1, ins, 1, &type);
    keys *k = gpuc_new(ctx, keys);
    *k = (keys){.rows = *rows, .keep = keep, .value = call->in[0].dtype, .descending = descending};
    k->rows.dims = gpuc_topi_par_type(ctx, k->value, rows->ndim, rows->dims).dims;
    gpuc_topi_par_set_body(ctx, op, order_body, k);
    return op->outputs[0];
}

/* Output `out`: the positions in order, or what stands there. */
static gpuc_tensor *ordered(const gpuc_op_call *call, gpuc_tensor *in, const gpuc_rows *rows,
                            gpuc_tensor *order, gpuc_expr keep, int out, bool values)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *t = &call->out[out];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], zero = gpuc_int(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, t, vars);
    gpuc_expr k = t->ndim ? vars[rows->axis] : zero;
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, gpuc_topi_rows_number(ctx, rows, vars), keep), k);
    gpuc_expr value = gpuc_te_read(ctx, order, 1, &at);
    if (values) {
        value = gpuc_topi_par_clamp(ctx, gpuc_topi_par_index(ctx, value), zero,
                                    gpuc_sub(ctx, rows->n, gpuc_int(ctx, 1)));
        if (t->ndim) vars[rows->axis] = value;
        value = gpuc_te_read(ctx, in, t->ndim, vars);
    }
    return gpuc_topi_compute(ctx, values ? "T_sorted" : "T_order", "injective", t->ndim, axes,
                             gpuc_cast(ctx, t->dtype, value));
}

static void sort_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_rows rows = gpuc_topi_rows_of(call, &call->in[0], sort_axis(call));
    bool ascending = gpuc_attrs_get_int(call->attrs, "is_ascend", 1);
    gpuc_tensor *order = order_of(call, ins, &rows, rows.n, !ascending);
    outs[0] = ordered(call, ins[0], &rows, order, rows.n, 0, !strcmp(call->op->name, "sort"));
}

static void topk_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_rows rows = gpuc_topi_rows_of(call, &call->in[0], sort_axis(call));
    gpuc_expr k = call->out[0].dims[rows.axis];
    gpuc_tensor *order = order_of(call, ins, &rows, k, gpuc_attrs_get_int(call->attrs, "largest", 1));
    int n = 0;
    if (gives(call, "values")) outs[n++] = ordered(call, ins[0], &rows, order, k, 0, true);
    if (gives(call, "indices")) outs[n] = ordered(call, ins[0], &rows, order, k, n, false);
}

/* The inverse of a permutation is the order of its elements. */
static void infer_invert_permutation(gpuc_op_call *call)
{
    if (call->in[0].ndim != 1) gpuc_topi_fail(call, "takes a list, not %d dimensions", call->in[0].ndim);
    infer_sort(call);
}

ATTRS(sort_attrs, INT("axis", -1), INT("is_ascend", 1),
      REFUSED("dtype", DTYPE, "it is of indices, which argsort gives"))
ATTRS(argsort_attrs, INT("axis", -1), INT("is_ascend", 1), DTYPE_OR("dtype", GPUC_INT32))
/* k: one number, 1 if there is none. sorted=0 allows any order: the sorted one, too. */
ATTRS(topk_attrs, INT("axis", -1), DTYPE_OR("dtype", GPUC_INT32), SIZES("k"), INT("largest", 1),
      INT("sorted", 1), STRING("ret_type", "both"), NOT("is_ascend", "largest"))

const gpuc_op gpuc_topi_ops_sort[] = {
    ALONE_BY(gpuc_topi_par_schedule, "sort", 1, 1, sort_attrs, infer_sort, sort_compute, "sort", "", "",
             GPUC_T_ANY),
    ALONE_BY(gpuc_topi_par_schedule, "argsort", 1, 1, argsort_attrs, infer_argsort, sort_compute, "argsort",
             "argsort", "", GPUC_T_ANY),
    ALONE_BY(gpuc_topi_par_schedule, "invert_permutation", 1, 1, NULL, infer_invert_permutation, sort_compute,
             "invert_permutation", "", "", GPUC_T_INT32 | GPUC_T_INT64),
    ALONE_BY(gpuc_topi_par_schedule, "topk", 1, 1, topk_attrs, infer_topk, topk_compute, "topk", "", "TopK",
             GPUC_T_ANY),
};
const size_t gpuc_topi_ops_sort_count = sizeof gpuc_topi_ops_sort / sizeof gpuc_topi_ops_sort[0];
