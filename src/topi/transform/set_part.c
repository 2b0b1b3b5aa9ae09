/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of one tensor, with those of another in some places. */
#include <string.h>

#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

/* ---- strided_set: numpy's data[begin:end:strides] = v, with begin inside and sizes from v ---- */

static void infer_strided_set(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *v = &call->in[1];
    const int64_t *begin = gpuc_topi_ints(call, "begin", in->ndim),
                  *strides = gpuc_topi_ints(call, "strides", in->ndim);
    gpuc_ctx *ctx = call->ctx;
    if (v->ndim != in->ndim)
        gpuc_topi_fail(call, "the values have %d dimensions, the data %d", v->ndim, in->ndim);
    for (int i = 0; i < in->ndim; i++) {
        if (strides[i] == 0) gpuc_topi_fail(call, "the stride of dimension %d is 0", i);
        gpuc_expr first = gpuc_int(ctx, begin[i]), step = gpuc_int(ctx, strides[i]);
        gpuc_expr last =
            gpuc_add(ctx, first, gpuc_mul(ctx, gpuc_sub(ctx, v->dims[i], gpuc_int(ctx, 1)), step));
        gpuc_expr none = gpuc_eq(ctx, v->dims[i], gpuc_int(ctx, 0));
        gpuc_expr low = strides[i] > 0 ? first : last, high = strides[i] > 0 ? last : first;
        gpuc_expr fits = gpuc_and(ctx, gpuc_ge(ctx, low, gpuc_int(ctx, 0)), gpuc_lt(ctx, high, in->dims[i]));
        gpuc_topi_require(call, gpuc_or(ctx, none, fits), "%s values from %lld on leave dimension %d of %s",
                          gpuc_expr_text(ctx, v->dims[i]), (long long)begin[i], i,
                          gpuc_expr_text(ctx, in->dims[i]));
    }
    gpuc_topi_infer_same(call);
}

static void strided_set_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->out[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at[GPUC_TOPI_MAX_DIMS], inside = NULL, zero = gpuc_int(ctx, 0);
    const int64_t *begin = gpuc_topi_ints(call, "begin", ndim),
                  *strides = gpuc_topi_ints(call, "strides", ndim);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) {
        bool back = strides[i] < 0;
        gpuc_expr first = gpuc_int(ctx, begin[i]), step = gpuc_int(ctx, back ? -strides[i] : strides[i]);
        gpuc_expr distance = back ? gpuc_sub(ctx, first, vars[i]) : gpuc_sub(ctx, vars[i], first);
        at[i] = gpuc_floordiv_(ctx, distance, step);
        gpuc_expr ok = gpuc_and(ctx, gpuc_ge(ctx, distance, zero), gpuc_lt(ctx, at[i], call->in[1].dims[i]));
        ok = gpuc_and(ctx, ok, gpuc_eq(ctx, gpuc_floormod_(ctx, distance, step), zero));
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[1], ndim, at);
    if (inside) value = gpuc_if_then_else(ctx, inside, value, gpuc_te_read(ctx, ins[0], ndim, vars));
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
}

/* Begins and strides, one for each dimension: what is missing takes all. TVM: they are inputs 2 to 4, with ends, which
 * must leave as many places as there are values. */
static void take_slice(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    bool inputs = w->num_written == 5, is_begin = !strcmp(spec->name, "begin");
    int ndim = w->in && w->num_written ? w->in[0].ndim : 0, n[3] = {0};
    const gpuc_expr *v[3];
    int64_t list[GPUC_TOPI_MAX_DIMS] = {0}, d = 0, count = 0;
    for (int i = 0; i < 3 && inputs; i++)
        if ((n[i] = gpuc_op_values_of(w, 2 + i, &v[i])) < 0)
            gpuc_raise(w->ctx, GPUC_UNSUPPORTED, "%s: input %d must be known when building", w->name, 2 + i);
    const int64_t *given = value ? gpuc_op_ints_of(w, value, &n[0]) : NULL;
    if (value && inputs) gpuc_op_written_fail(w, "%s is an attribute and input 2", spec->name);
    for (int i = 0; i < ndim; i++) {
        int64_t stride = 1, begin = 0, end = 0;
        bool known = gpuc_expr_is_int(w->in[0].dims[i], &d);
        if (value) list[i] = i < n[0] ? given[i] : !is_begin;
        if (value && is_begin && list[i] < 0 && known) list[i] += d;
        if (value) continue;
        if (inputs && i < n[2]) gpuc_expr_is_int(v[2][i], &stride);
        begin = stride < 0 && known ? d - 1 : 0;
        if (inputs && i < n[0]) gpuc_expr_is_int(v[0][i], &begin);
        if (begin < 0 && known) begin += d;
        list[i] = is_begin ? begin : stride;
        if (!inputs || !is_begin || i >= n[1] || !known || stride == 0 || w->in[1].ndim != ndim) continue;
        gpuc_expr_is_int(v[1][i], &end);
        if (end < 0) end = end < -d ? (stride < 0 ? -1 : 0) : end + d;
        end = end > d ? d : end;
        count = stride > 0 ? (end - begin + stride - 1) / stride : (begin - end - stride - 1) / -stride;
        gpuc_op_must_be(w, "the number of places", count > 0 ? count : 0, 1, i);
    }
    gpuc_op_set_ints(w, spec->name, ndim, list);
    if (!inputs) return;
    w->num_in = 2;
    w->changed = true;
}

#define SLICE(nm)                                                                                            \
    INTS(nm),                                                                                                \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .take = take_slice, .always = true,                              \
        .about = "of each dimension, or an input"                                                            \
    }

/* ---- fifo_buffer: the last elements of buffer and data along an axis, as many as the buffer has ---- */

static void infer_fifo(gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0], *buffer = &call->in[1];
    if (data->ndim != buffer->ndim)
        gpuc_topi_fail(call, "data of %d dimensions, a buffer of %d", data->ndim, buffer->ndim);
    int axis = gpuc_topi_axis(call, "axis", data->ndim);
    for (int i = 0; i < data->ndim; i++)
        if (i != axis) gpuc_topi_same_dim(call, data->dims[i], buffer->dims[i], "data and buffer");
    call->out[0] = *buffer;
}

static void fifo_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->out[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], old[GPUC_TOPI_MAX_DIMS], fresh[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr kept = gpuc_add(ctx, vars[axis], call->in[0].dims[axis]), size = call->in[1].dims[axis];
    memcpy(old, vars, sizeof *vars * (size_t)ndim);
    memcpy(fresh, vars, sizeof *vars * (size_t)ndim);
    old[axis] = kept;
    fresh[axis] = gpuc_sub(ctx, kept, size);
    gpuc_expr value = gpuc_if_then_else(ctx, gpuc_lt(ctx, kept, size), gpuc_te_read(ctx, ins[1], ndim, old),
                                        gpuc_te_read(ctx, ins[0], ndim, fresh));
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
}

ATTRS(set_attrs, SLICE("begin"), SLICE("strides"))
ATTRS(fifo_attrs, INT("axis", 0))

const gpuc_op gpuc_topi_ops_set_part[] = {
    MOVES_OF("strided_set", 2, 2, set_attrs, infer_strided_set, strided_set_compute, "strided_set", "", "",
             GPUC_T_ANY, GPUC_T_LIKE),
    MOVES_OF("nn.fifo_buffer", 2, 2, fifo_attrs, infer_fifo, fifo_compute, "fifo_buffer", "", "", GPUC_T_ANY,
             GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_set_part_count = sizeof gpuc_topi_ops_set_part / sizeof gpuc_topi_ops_set_part[0];
