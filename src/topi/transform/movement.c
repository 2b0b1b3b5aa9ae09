/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements: each output element is one input element. */
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

static void transpose_axes(const gpuc_op_call *call, int ndim, int *perm)
{
    const gpuc_attr *axes = gpuc_attrs_find(call->attrs, "axes");
    bool seen[GPUC_TOPI_MAX_DIMS] = {false};
    if (axes->n && axes->n != ndim)
        gpuc_topi_fail(call, "axes has %d entries for %d dimensions", axes->n, ndim);
    for (int i = 0; i < ndim; i++) {
        int64_t p = axes->n ? axes->ints[i] : ndim - 1 - i;
        if (p < 0) p += ndim;
        if (p < 0 || p >= ndim || seen[p])
            gpuc_topi_fail(call, "axes is not a permutation of %d dimensions", ndim);
        seen[p] = true;
        perm[i] = (int)p;
    }
}

static void infer_transpose(gpuc_op_call *call)
{
    int perm[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    transpose_axes(call, call->in[0].ndim, perm);
    for (int i = 0; i < call->in[0].ndim; i++) dims[i] = call->in[0].dims[perm[i]];
    gpuc_topi_set_out(call, 0, call->in[0].dtype, call->in[0].ndim, dims);
}

static void transpose_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    int perm[GPUC_TOPI_MAX_DIMS], ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    transpose_axes(call, ndim, perm);
    for (int i = 0; i < ndim; i++) index[perm[i]] = vars[i];
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(call->ctx, ins[0], ndim, index));
}

/* mutual: ones of the shape take the extents of the input. */
static void infer_broadcast_to(gpuc_op_call *call)
{
    bool mutual = gpuc_attrs_get_int(call->attrs, "mutual", 0);
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "shape");
    const gpuc_tensor_type *in = &call->in[0];
    if (shape->n < in->ndim) gpuc_topi_fail(call, "the shape has fewer dimensions than the input");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the shape has %d dimensions", shape->n);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    for (int i = 0; i < shape->n; i++) {
        int at = i - (shape->n - in->ndim);
        dims[i] = gpuc_attr_size(call->ctx, shape, i);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)), "dimension %s",
                          gpuc_expr_text(call->ctx, dims[i]));
        if (at < 0 || in->dims[at] == dims[i]) continue;
        if (mutual) {
            dims[i] = gpuc_topi_broadcast_dim(call, in->dims[at], dims[i]);
            continue;
        }
        gpuc_topi_require_expands(call, in->dims[at], dims[i], "input");
    }
    gpuc_topi_set_out(call, 0, in->dtype, shape->n, dims);
    int64_t count = 1, have = 1;
    if (shape->n && !gpuc_expr_is_int(dims[0], &count)) return;
    if (!call->in_values[0] || shape->n > 1 || count > GPUC_OP_MAX_VALUES) return;
    if (in->ndim) gpuc_expr_is_int(in->dims[0], &have);
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, count + 1);
    for (int64_t i = 0; i < count; i++) values[i] = call->in_values[0][have == 1 ? 0 : i];
    call->out_values[0] = values;
}

static void broadcast_to_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    outs[0] =
        gpuc_topi_injective(call, 0, axes, gpuc_topi_read_broadcast(call->ctx, ins[0], &call->out[0], vars));
}

static void infer_concatenate(gpuc_op_call *call)
{
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    const gpuc_tensor_type *first = &call->in[0];
    int axis = gpuc_topi_axis(call, "axis", first->ndim);
    memcpy(dims, first->dims, sizeof *dims * (size_t)first->ndim);
    for (int i = 1; i < call->num_in; i++) {
        const gpuc_tensor_type *t = &call->in[i];
        if (t->ndim != first->ndim || !gpuc_dtype_equal(t->dtype, first->dtype))
            gpuc_topi_fail(call, "input %d has another rank or element type than input 0", i);
        for (int k = 0; k < t->ndim; k++) {
            if (k == axis)
                dims[k] = dims[k] && t->dims[k] ? gpuc_add(call->ctx, dims[k], t->dims[k]) : NULL;
            else if (dims[k] && t->dims[k] && dims[k] != t->dims[k])
                gpuc_topi_require(call, gpuc_eq(call->ctx, dims[k], t->dims[k]),
                                  "dimension %d of input %d is %s, of the inputs before %s", k, i,
                                  gpuc_expr_text(call->ctx, t->dims[k]), gpuc_expr_text(call->ctx, dims[k]));
        }
    }
    gpuc_topi_set_out(call, 0, first->dtype, first->ndim, dims);
    if (first->ndim != 1) return;
    int64_t total = 0, d = 0, at = 0;
    for (int i = 0; i < call->num_in; i++) {
        if (!call->in_values[i] || !gpuc_expr_is_int(call->in[i].dims[0], &d)) return;
        total += d;
        if (total > GPUC_OP_MAX_VALUES) return;
    }
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, total + 1);
    for (int i = 0; i < call->num_in; i++) {
        gpuc_expr_is_int(call->in[i].dims[0], &d);
        for (int64_t k = 0; k < d; k++) values[at++] = call->in_values[i][k];
    }
    call->out_values[0] = values;
}

static void concatenate_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], value = NULL;
    int ndim = call->out[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr *start = gpuc_new_array(ctx, gpuc_expr, call->num_in);
    start[0] = gpuc_topi_num(call, 0);
    for (int i = 1; i < call->num_in; i++) start[i] = gpuc_add(ctx, start[i - 1], call->in[i - 1].dims[axis]);
    memcpy(index, vars, sizeof *vars * (size_t)ndim);
    for (int i = call->num_in - 1; i >= 0; i--) {
        index[axis] = gpuc_sub(ctx, vars[axis], start[i]);
        gpuc_expr v = gpuc_te_read(ctx, ins[i], ndim, index);
        value = value ? gpuc_if_then_else(ctx, gpuc_lt(ctx, vars[axis], start[i + 1]), v, value) : v;
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
}

/* First and last element that are taken lie inside, if any are. */
static void check_slice(const gpuc_op_call *call, int i, gpuc_expr begin, gpuc_expr size, int64_t stride)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr extent = call->in[0].dims[i], zero = gpuc_topi_num(call, 0);
    int64_t b, n, d;
    bool inside,
        known = gpuc_expr_is_int(begin, &b) && gpuc_expr_is_int(size, &n) && gpuc_expr_is_int(extent, &d);
    if (known) {
        __int128 last = b + ((__int128)n - 1) * stride;
        inside = n <= 0 || (b >= 0 && b < d && last >= 0 && last < d);
        if (!inside)
            gpuc_topi_fail(call, "the slice of dimension %d leaves its extent %lld", i, (long long)d);
        return;
    }
    gpuc_expr last = gpuc_add(
        ctx, begin, gpuc_mul(ctx, gpuc_sub(ctx, size, gpuc_topi_num(call, 1)), gpuc_topi_num(call, stride)));
    gpuc_expr low = stride > 0 ? begin : last, high = stride > 0 ? last : begin;
    gpuc_expr fits = gpuc_and(ctx, gpuc_ge(ctx, low, zero), gpuc_lt(ctx, high, extent));
    gpuc_topi_require(call, gpuc_or(ctx, gpuc_eq(ctx, size, zero), fits),
                      "the slice of dimension %d leaves its extent %s", i, gpuc_expr_text(ctx, extent));
}

static void infer_strided_slice(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *begin = gpuc_topi_ints(call, "begin", in->ndim),
                  *sizes = gpuc_topi_ints(call, "sizes", in->ndim);
    const int64_t *strides = gpuc_topi_ints(call, "strides", in->ndim);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], starts[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_sizes(call, "begin", in->ndim, starts);
    gpuc_topi_sizes(call, "sizes", in->ndim, dims);
    for (int i = 0; i < in->ndim; i++) {
        if (strides[i] == 0 || (dims[i]->kind == GPUC_EXPR_INT && sizes[i] < 0))
            gpuc_topi_fail(call, "size %s and stride %lld of dimension %d",
                           gpuc_expr_text(call->ctx, dims[i]), (long long)strides[i], i);
        if (in->dims[i]) check_slice(call, i, starts[i], dims[i], strides[i]);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
    if (in->ndim != 1 || !call->in_values[0] || gpuc_attrs_symbolic(call->attrs)) return;
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, sizes[0] + 1);
    for (int64_t i = 0; i < sizes[0]; i++) values[i] = call->in_values[0][begin[0] + i * strides[0]];
    call->out_values[0] = values;
}

static void strided_slice_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    int ndim = call->out[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr begin[GPUC_TOPI_MAX_DIMS];
    const int64_t *strides = gpuc_topi_ints(call, "strides", ndim);
    gpuc_topi_sizes(call, "begin", ndim, begin);
    for (int i = 0; i < ndim; i++)
        index[i] = gpuc_add(ctx, gpuc_mul(ctx, vars[i], gpuc_topi_num(call, strides[i])), begin[i]);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], ndim, index));
}

static void infer_split(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *sizes = gpuc_attrs_find(call->attrs, "sizes");
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_expr total = gpuc_topi_num(call, 0), extent = in->dims[axis];
    gpuc_topi_set_num_out(call, sizes->n);
    for (int i = 0; i < sizes->n; i++) {
        gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
        memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
        dims[axis] = gpuc_attr_size(call->ctx, sizes, i);
        gpuc_expr rest = gpuc_sub(call->ctx, extent, total), zero = gpuc_topi_num(call, 0);
        gpuc_topi_require(
            call,
            gpuc_and(call->ctx, gpuc_ge(call->ctx, dims[axis], zero), gpuc_le(call->ctx, dims[axis], rest)),
            "part %d of %s does not fit dimension %d of %s", i, gpuc_expr_text(call->ctx, dims[axis]), axis,
            gpuc_expr_text(call->ctx, extent));
        total = gpuc_add(call->ctx, total, dims[axis]);
        gpuc_topi_set_out(call, i, in->dtype, in->ndim, dims);
    }
    if (sizes->n == 0) gpuc_topi_fail(call, "there are no parts");
    gpuc_topi_require(call, gpuc_eq(call->ctx, total, extent), "the parts add up to %s, dimension %d has %s",
                      gpuc_expr_text(call->ctx, total), axis, gpuc_expr_text(call->ctx, extent));
}

static void split_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr start = gpuc_topi_num(call, 0);
    for (int i = 0; i < call->num_out; i++) {
        gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
        gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[i], vars);
        vars[axis] = gpuc_add(ctx, vars[axis], start);
        outs[i] = gpuc_topi_injective(call, i, axes, gpuc_te_read(ctx, ins[0], ndim, vars));
        start = gpuc_add(ctx, start, call->out[i].dims[axis]);
    }
}

static void infer_tile(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr repeats[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_sizes(call, "reps", in->ndim, repeats);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) {
        int64_t d, times, product;
        gpuc_topi_require(call, gpuc_ge(call->ctx, repeats[i], gpuc_topi_num(call, 0)),
                          "repeats of dimension %d are negative", i);
        if (in->dims[i] && gpuc_expr_is_int(in->dims[i], &d) && gpuc_expr_is_int(repeats[i], &times) &&
            __builtin_mul_overflow(d, times, &product))
            gpuc_topi_fail(call, "dimension %d repeated %lld times does not fit 63 bits", i,
                           (long long)times);
        dims[i] = in->dims[i] ? gpuc_mul(call->ctx, in->dims[i], repeats[i]) : NULL;
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void tile_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    int ndim = call->in[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) index[i] = gpuc_floormod_(call->ctx, vars[i], call->in[0].dims[i]);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(call->ctx, ins[0], ndim, index));
}

/* ---- Reverse, repeat, stack, windows ---- */

static void reverse_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr last = gpuc_sub(ctx, call->in[0].dims[axis], gpuc_topi_num(call, 1));
    vars[axis] = gpuc_sub(ctx, last, vars[axis]);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], ndim, vars));
}

static void infer_reverse(gpuc_op_call *call)
{
    gpuc_topi_axis(call, "axis", call->in[0].ndim);
    gpuc_topi_infer_same(call);
}

static void infer_repeat(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    int64_t repeats = gpuc_attrs_get_int(call->attrs, "repeats", 1);
    if (repeats < 1) gpuc_topi_fail(call, "repeats=%lld, needs 1 or more", (long long)repeats);
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    if (dims[axis]) dims[axis] = gpuc_mul(call->ctx, dims[axis], gpuc_topi_num(call, repeats));
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void repeat_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS],
        repeats = gpuc_topi_num(call, gpuc_attrs_get_int(call->attrs, "repeats", 1));
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    vars[axis] = gpuc_floordiv_(call->ctx, vars[axis], repeats);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(call->ctx, ins[0], ndim, vars));
}

static void infer_stack(gpuc_op_call *call)
{
    const gpuc_tensor_type *first = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS + 1];
    int axis = gpuc_topi_axis(call, "axis", first->ndim + 1);
    for (int k = 0; k < first->ndim; k++) {
        gpuc_expr d = first->dims[k];
        for (int i = 1; i < call->num_in; i++) {
            const gpuc_tensor_type *t = &call->in[i];
            if (t->ndim != first->ndim) gpuc_topi_fail(call, "input %d has another rank than input 0", i);
            if (d && t->dims[k] && d != t->dims[k])
                gpuc_topi_require(call, gpuc_eq(call->ctx, d, t->dims[k]),
                                  "dimension %d of input %d is %s, of input 0 %s", k, i,
                                  gpuc_expr_text(call->ctx, t->dims[k]), gpuc_expr_text(call->ctx, d));
            if (!d || (t->dims[k] && t->dims[k]->kind == GPUC_EXPR_INT)) d = t->dims[k];
        }
        dims[k + (k >= axis)] = d;
    }
    for (int i = 1; i < call->num_in && first->ndim == 0; i++)
        if (call->in[i].ndim) gpuc_topi_fail(call, "input %d has another rank than input 0", i);
    dims[axis] = gpuc_topi_num(call, call->num_in);
    gpuc_topi_set_out(call, 0, first->dtype, first->ndim + 1, dims);
    if (first->ndim || call->num_in > GPUC_OP_MAX_VALUES) return;
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, call->num_in);
    for (int i = 0; i < call->num_in; i++) {
        if (!call->in_values[i]) return;
        values[i] = call->in_values[i][0];
    }
    call->out_values[0] = values;
}

static void stack_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim + 1);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS + 1], index[GPUC_TOPI_MAX_DIMS], value = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int k = 0; k < ndim; k++) index[k] = vars[k + (k >= axis)];
    for (int i = call->num_in - 1; i >= 0; i--) {
        gpuc_expr v = gpuc_te_read(ctx, ins[i], ndim, index),
                  here = gpuc_eq(ctx, vars[axis], gpuc_topi_num(call, i));
        value = value ? gpuc_if_then_else(ctx, here, v, value) : v;
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
}

/* Windows over the dimensions from axis on; the dimensions of a window come last. */
static void infer_sliding_window(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    int axis = gpuc_topi_axis(call, "axis", in->ndim), n = in->ndim - axis;
    const int64_t *window = gpuc_topi_ints(call, "window_shape", n),
                  *strides = gpuc_topi_ints(call, "strides", n);
    gpuc_expr dims[2 * GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < axis; i++) dims[i] = in->dims[i];
    for (int i = 0; i < n; i++) {
        gpuc_expr extent = in->dims[axis + i];
        if (window[i] < 1 || strides[i] < 1)
            gpuc_topi_fail(call, "window %lld and stride %lld of dimension %d, need 1 or more",
                           (long long)window[i], (long long)strides[i], axis + i);
        if (extent)
            gpuc_topi_require(call, gpuc_ge(ctx, extent, gpuc_topi_num(call, window[i])),
                              "the window %lld is larger than dimension %d of %s", (long long)window[i],
                              axis + i, gpuc_expr_text(ctx, extent));
        gpuc_expr steps = NULL;
        if (extent)
            steps = gpuc_floordiv_(ctx, gpuc_sub(ctx, extent, gpuc_topi_num(call, window[i])),
                                   gpuc_topi_num(call, strides[i]));
        dims[axis + i] = steps ? gpuc_add(ctx, steps, gpuc_topi_num(call, 1)) : NULL;
        dims[in->ndim + i] = gpuc_topi_num(call, window[i]);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim + n, dims);
}

static void sliding_window_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    const int64_t *strides = gpuc_topi_ints(call, "strides", ndim - axis);
    gpuc_expr vars[2 * GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = axis; i < ndim; i++) {
        vars[i] = gpuc_mul(ctx, vars[i], gpuc_topi_num(call, strides[i - axis]));
        vars[i] = gpuc_add(ctx, vars[i], vars[ndim + i - axis]);
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], ndim, vars));
}

/* Where a slice begins or ends: `at` counts from the end if it is negative. */
static gpuc_expr bound_of(gpuc_ctx *ctx, gpuc_expr extent, gpuc_expr at, bool up)
{
    gpuc_expr zero = gpuc_int(ctx, 0), low = up ? zero : gpuc_int(ctx, -1),
              high = up ? extent : gpuc_sub(ctx, extent, gpuc_int(ctx, 1)), below = gpuc_lt(ctx, at, zero);
    gpuc_expr inside = gpuc_min(ctx, at, high), from_end = gpuc_max(ctx, gpuc_add(ctx, extent, at), low);
    gpuc_expr bound =
        gpuc_topi_proves(ctx, gpuc_not(ctx, below)) ? inside : gpuc_select(ctx, below, from_end, inside);
    return gpuc_topi_canonical(ctx, bound);
}

/* What numpy's slice begin:end:stride has of an extent. */
static void slice_axis(gpuc_op_written *w, gpuc_expr extent, gpuc_expr begin, gpuc_expr end, int64_t stride,
                       gpuc_expr *first, gpuc_expr *size)
{
    gpuc_ctx *ctx = w->ctx;
    bool up = stride > 0;
    int64_t n, step = up ? stride : -stride;
    gpuc_expr zero = gpuc_int(ctx, 0);
    begin = bound_of(ctx, extent, begin, up);
    end = bound_of(ctx, extent, end, up);
    gpuc_expr span = gpuc_max(ctx, up ? gpuc_sub(ctx, end, begin) : gpuc_sub(ctx, begin, end), zero);
    span = gpuc_add(ctx, span, gpuc_int(ctx, step - 1));
    *size = gpuc_topi_canonical(ctx, gpuc_floordiv_(ctx, span, gpuc_int(ctx, step)));
    begin = up ? begin : gpuc_topi_canonical(ctx, gpuc_max(ctx, begin, zero));
    *first = gpuc_expr_is_int(*size, &n) && n == 0 ? zero : begin;
}

/* As far as a slice may reach: what is beyond changes nothing, and sums of these fit. */
static const int64_t FAR = INT64_MAX / 4;

static int64_t within_reach(int64_t at)
{
    return at < -FAR ? -FAR : at > FAR ? FAR : at;
}

/* Entry k of a list of bounds. */
static gpuc_expr bound_at(gpuc_op_written *w, const gpuc_attr *list, int k)
{
    int64_t at;
    if (list->kind != GPUC_ATTR_INT && list->kind != GPUC_ATTR_INTS)
        gpuc_op_written_fail(w, "attribute '%s' must be integers", list->name);
    gpuc_expr e = list->kind == GPUC_ATTR_INT ? gpuc_int(w->ctx, list->i) : gpuc_attr_size(w->ctx, list, k);
    return gpuc_expr_is_int(e, &at) ? gpuc_int(w->ctx, within_reach(at)) : e;
}

/* TVM: end (or, with slice_mode "size", a size, of which -1 is all) of each of axes; missing entries take all. */
static void take_end(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    static const gpuc_attr empty = {.kind = GPUC_ATTR_INTS};
    gpuc_ctx *ctx = w->ctx;
    const char *mode = gpuc_attrs_get_string(w->given, "slice_mode", "end");
    const gpuc_attr *begins = gpuc_attrs_find(w->given, "begin"),
                    *strides = gpuc_attrs_find(w->given, "strides"),
                    *axes = gpuc_attrs_find(w->given, "axes");
    if (!strides) strides = gpuc_attrs_find(w->given, "stride");
    if (!begins) begins = &empty;
    int num_strides, num_axes, num_begins = begins->kind == GPUC_ATTR_INT ? 1 : begins->n,
                               ends = value->kind == GPUC_ATTR_INT ? 1 : value->n,
                               ndim = w->in && w->num_in ? w->in[0].ndim : 0;
    const int64_t *step_at = gpuc_op_ints_of(w, strides ? strides : &empty, &num_strides),
                  *axis_at = gpuc_op_ints_of(w, axes ? axes : &empty, &num_axes);
    (void)spec;
    bool sizes = !strcmp(mode, "size");
    if (!sizes && strcmp(mode, "end"))
        gpuc_op_written_fail(w, "slice_mode is '%s'; known are end, size", mode);
    if (gpuc_attrs_find(w->given, "sizes")) gpuc_op_written_fail(w, "has both end and sizes");
    gpuc_expr first[GPUC_TOPI_MAX_DIMS], size[GPUC_TOPI_MAX_DIMS],
        zero = gpuc_int(ctx, 0), far = gpuc_int(ctx, FAR), all = gpuc_int(ctx, -FAR);
    int64_t step[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < ndim; i++) {
        first[i] = zero;
        size[i] = w->in[0].dims[i];
        step[i] = 1;
    }
    int most = num_begins > ends ? num_begins : ends;
    for (int k = 0; k < most && ndim; k++) {
        int64_t axis = num_axes ? (k < num_axes ? axis_at[k] : ndim) : k,
                stride = within_reach(num_strides == 1  ? step_at[0]
                                      : k < num_strides ? step_at[k]
                                                        : 1);
        if (axis < 0) axis += ndim;
        if (axis < 0 || axis >= ndim || stride == 0)
            gpuc_op_written_fail(w, "entry %d has axis %lld of %d and stride %lld", k, (long long)axis, ndim,
                                 (long long)stride);
        if (sizes) stride = 1;
        gpuc_expr extent = w->in[0].dims[axis],
                  begin = k < num_begins ? bound_at(w, begins, k)
                          : stride > 0   ? zero
                                         : far,
                  end = k < ends     ? bound_at(w, value, k)
                        : stride > 0 ? far
                                     : all;
        if (!extent)
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: dimension %lld is unknown", w->name, (long long)axis);
        if (sizes && k < ends) {
            begin = gpuc_select(ctx, gpuc_lt(ctx, begin, zero), gpuc_add(ctx, begin, extent), begin);
            end = gpuc_select(ctx, gpuc_lt(ctx, end, zero), far, gpuc_add(ctx, begin, end));
        }
        slice_axis(w, extent, begin, end, stride, &first[axis], &size[axis]);
        step[axis] = stride;
    }
    gpuc_op_set_sizes(w, "begin", ndim, first);
    gpuc_op_set_sizes(w, "sizes", ndim, size);
    gpuc_op_set_ints(w, "strides", ndim, step);
}

/* begin and strides are also the row's own, where end is not there. */
static void take_beside_end(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    bool own = !strcmp(spec->name, "begin") || !strcmp(spec->name, "strides");
    if (gpuc_attrs_find(w->given, "end")) return;
    if (!own) gpuc_op_written_fail(w, "attribute '%s' goes with 'end', which is missing", spec->name);
    gpuc_op_set_attr(w, spec->name, value);
}
#define WITH_END(nm, k) SPELLED(nm, k, take_beside_end, NULL, "with end")

static void take_sections(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    gpuc_ctx *ctx = w->ctx;
    int n, ndim = w->in && w->num_in ? w->in[0].ndim : 0;
    int64_t axis = gpuc_attrs_get_int(w->attrs, "axis", 0), d;
    const int64_t *at = gpuc_op_ints_of(w, value, &n);
    bool equal = value->kind == GPUC_ATTR_INT;
    if (!ndim) return;
    if (axis < -ndim || axis >= ndim)
        gpuc_op_written_fail(w, "axis=%lld is outside of the %d dimensions", (long long)axis, ndim);
    gpuc_expr extent = w->in[0].dims[axis < 0 ? axis + ndim : axis];
    int64_t parts = equal ? at[0] : n + 1;
    if (!extent) gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: dimension %lld is unknown", w->name, (long long)axis);
    bool known = gpuc_expr_is_int(extent, &d);
    if (parts < 1 || parts > GPUC_OP_MAX_WINDOW || (equal && known && d % parts))
        gpuc_op_written_fail(w, "%s=%lld does not divide dimension %lld of %s", spec->name, (long long)parts,
                             (long long)axis, gpuc_expr_text(ctx, extent));
    gpuc_expr *sizes = gpuc_new_array(ctx, gpuc_expr, parts), before = gpuc_int(ctx, 0);
    for (int64_t i = 0; i < parts; i++) {
        gpuc_expr next = i == parts - 1 || equal ? extent : gpuc_int(ctx, at[i]);
        sizes[i] = equal ? gpuc_floordiv_(ctx, extent, gpuc_int(ctx, parts)) : gpuc_sub(ctx, next, before);
        if (!equal && i < n && (at[i] < (i ? at[i - 1] : 0) || (known && at[i] > d)))
            gpuc_op_written_fail(w, "%s has %lld behind %s, in a dimension of %s", spec->name,
                                 (long long)at[i], gpuc_expr_text(ctx, before), gpuc_expr_text(ctx, extent));
        before = next;
    }
    gpuc_op_set_sizes(w, "sizes", (int)parts, sizes);
}

ATTRS(axes_list, INTS("axes"))
ATTRS(broadcast_attrs, SIZES("shape"), INT("mutual", 0))
/* numpy: the shorter of reps and the shape has ones in front. */
static void take_reps(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int n = value->kind == GPUC_ATTR_INT ? 1 : value->n, ndim = w->in && w->num_written ? w->in[0].ndim : n;
    gpuc_expr reps[GPUC_TOPI_MAX_DIMS], dims[GPUC_TOPI_MAX_DIMS], one = gpuc_int(w->ctx, 1);
    if (n == ndim || n > GPUC_TOPI_MAX_DIMS || ndim > GPUC_TOPI_MAX_DIMS || value->kind > GPUC_ATTR_INTS) {
        gpuc_op_set_attr(w, spec->to, value);
        return;
    }
    for (int i = 0; i < ndim - n; i++) reps[i] = one;
    for (int i = 0; i < n; i++)
        reps[i + (ndim > n ? ndim - n : 0)] =
            value->kind == GPUC_ATTR_INT ? gpuc_int(w->ctx, value->i) : gpuc_attr_size(w->ctx, value, i);
    for (int i = 0; i < n; i++) dims[i] = i < n - ndim ? one : w->in[0].dims[i - (n - ndim)];
    if (n > ndim) gpuc_op_reshape_input(w, 0, n, dims);
    gpuc_op_set_sizes(w, spec->to, n > ndim ? n : ndim, reps);
}

ATTRS(reps_list, SIZES("reps"),
      SPELLED("reps", INTS, take_reps, "reps", "fewer than dimensions: of the last ones"))
ATTRS(axis_0, INT("axis", 0))
ATTRS(slice_attrs, SIZES("begin"), SIZES("sizes"), INTS("strides"),
      SPELLED("end", INTS, take_end, NULL, "as in numpy: begin, end and strides of each of axes"),
      WITH_END("begin", INTS), WITH_END("strides", INTS), WITH_END("axes", INTS),
      WITH_END("slice_mode", STRING), WITH_END("stride", INTS))
ATTRS(repeat_attrs, INT_UP_TO("repeats", 1, GPUC_OP_MAX_WINDOW), INT("axis", 0), FLAT_WITHOUT("axis"))
ATTRS(window_attrs, INT("axis", 0), INTS_UP_TO("window_shape", GPUC_OP_MAX_WINDOW),
      INTS_UP_TO("strides", GPUC_OP_MAX_WINDOW))
ATTRS(split_attrs, SIZES("sizes"), INT("axis", 0),
      SPELLED("indices_or_sections", INTS, take_sections, NULL,
              "a number of equal parts, or where parts begin but the first"))

const gpuc_op gpuc_topi_ops_movement[] = {
    MOVES("transpose", 1, 1, axes_list, infer_transpose, transpose_compute, "transpose", "transpose",
          "Transpose"),
    MOVES("broadcast_to", 1, 1, broadcast_attrs, infer_broadcast_to, broadcast_to_compute, "broadcast_to",
          "broadcast_to", "Expand,ConstantOfShape"),
    MOVES("concatenate", 1, -1, axis_0, infer_concatenate, concatenate_compute, "concatenate", "concatenate",
          "Concat"),
    MOVES("strided_slice", 1, 1, slice_attrs, infer_strided_slice, strided_slice_compute, "strided_slice",
          "strided_slice", "Slice"),
    MOVES("split", 1, 1, split_attrs, infer_split, split_compute, "split", "split", "Split"),
    MOVES("reverse", 1, 1, axis_0, infer_reverse, reverse_compute, "flip", "flip", ""),
    MOVES("repeat", 1, 1, repeat_attrs, infer_repeat, repeat_compute, "repeat", "", ""),
    MOVES_OF("stack", 1, -1, axis_0, infer_stack, stack_compute, "stack", "", "", GPUC_T_ANY, GPUC_T_LIKE),
    MOVES("sliding_window", 1, 1, window_attrs, infer_sliding_window, sliding_window_compute,
          "sliding_window", "", ""),
    MOVES("tile", 1, 1, reps_list, infer_tile, tile_compute, "tile", "", "Tile"),
};
const size_t gpuc_topi_ops_movement_count = sizeof gpuc_topi_ops_movement / sizeof gpuc_topi_ops_movement[0];
