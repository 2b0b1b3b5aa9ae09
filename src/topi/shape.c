/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements: each output element is one input element. */
#include <string.h>

#include "topi/families.h"
#include "topi/util.h"

static gpuc_expr num(const gpuc_op_call *call, int64_t v)
{
    return gpuc_int(call->ctx, v);
}

static gpuc_tensor *injective(const gpuc_op_call *call, gpuc_iter *const *axes, gpuc_expr body)
{
    return gpuc_topi_compute(call->ctx, "T", "injective", call->out[0].ndim, axes, body);
}

/* ---- Same bytes, another shape ---- */

/* Elements by linear position; strides of static or symbolic dims. */
static void alias_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], linear = num(call, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    const gpuc_tensor_type *in = &call->in[0], *out = &call->out[0];
    for (int k = 0; k < out->ndim; k++) linear = gpuc_add(ctx, gpuc_mul(ctx, linear, out->dims[k]), vars[k]);
    for (int k = in->ndim - 1; k >= 0; k--) {
        index[k] = k ? gpuc_floormod_(ctx, linear, in->dims[k]) : linear;
        if (k) linear = gpuc_floordiv_(ctx, linear, in->dims[k]);
    }
    outs[0] = injective(call, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

static gpuc_expr element_count(const gpuc_op_call *call, const gpuc_tensor_type *t)
{
    gpuc_expr n = num(call, 1);
    for (int i = 0; i < t->ndim; i++) {
        if (!t->dims[i])
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "%s: dimension %d of the input is unknown",
                       call->op->name, i);
        n = gpuc_mul(call->ctx, n, t->dims[i]);
    }
    return n;
}

static void infer_reshape(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "newshape");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the new shape has %d dimensions", shape->n);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    int64_t want = 1;
    int guess = -1;
    for (int i = 0; i < shape->n; i++) {
        if (shape->ints[i] == -1) {
            if (guess >= 0) gpuc_topi_fail(call, "two dimensions of the new shape are -1");
            guess = i;
            continue;
        }
        if (shape->ints[i] < 0)
            gpuc_topi_fail(call, "dimension %lld of the new shape", (long long)shape->ints[i]);
        dims[i] = num(call, shape->ints[i]);
        if (__builtin_mul_overflow(want, shape->ints[i], &want))
            gpuc_topi_fail(call, "the new shape does not fit 63 bits");
    }
    gpuc_expr count = element_count(call, &call->in[0]), known = num(call, want);
    int64_t have;
    bool fixed = gpuc_expr_is_int(count, &have);
    if (guess >= 0) {
        if (fixed && (want == 0 || have % want))
            gpuc_topi_fail(call, "%lld elements do not divide into a shape of %lld and -1", (long long)have,
                           (long long)want);
        dims[guess] = fixed ? num(call, have / want) : gpuc_floordiv_(call->ctx, count, known);
    } else if (fixed && have != want) {
        gpuc_topi_fail(call, "%lld elements do not fit a shape of %lld", (long long)have, (long long)want);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, shape->n, dims);
    if (shape->n <= 1) call->out_values[0] = call->in_values[0];
}

static void infer_squeeze(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    bool all = gpuc_attrs_find(call->attrs, "axis")->n == 0;
    gpuc_topi_axis_flags(call, "axis", in->ndim, flags);
    int n = 0;
    for (int i = 0; i < in->ndim; i++) {
        int64_t d = -1;
        if (in->dims[i]) gpuc_expr_is_int(in->dims[i], &d);
        if (flags[i] && d == 1) continue;
        if (flags[i] && !all) gpuc_topi_fail(call, "dimension %d is not 1", i);
        dims[n++] = in->dims[i];
    }
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
    call->out_values[0] = call->in_values[0];
}

static void infer_expand_dims(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *axis = gpuc_attrs_find(call->attrs, "axis");
    int ndim = in->ndim + axis->n, from = 0;
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (ndim > GPUC_TOPI_MAX_DIMS) gpuc_topi_fail(call, "%d dimensions are too many", ndim);
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim; i++) dims[i] = axis->n && flags[i] ? num(call, 1) : in->dims[from++];
    gpuc_topi_set_out(call, 0, in->dtype, ndim, dims);
    if (ndim <= 1) call->out_values[0] = call->in_values[0];
}

/* ---- Transpose, broadcast, concatenate, slice ---- */

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
    outs[0] = injective(call, axes, gpuc_te_read(call->ctx, ins[0], ndim, index));
}

static void infer_broadcast_to(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "shape");
    const gpuc_tensor_type *in = &call->in[0];
    if (shape->n < in->ndim) gpuc_topi_fail(call, "the shape has fewer dimensions than the input");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the shape has %d dimensions", shape->n);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    for (int i = 0; i < shape->n; i++) {
        int at = i - (shape->n - in->ndim);
        if (shape->ints[i] < 0) gpuc_topi_fail(call, "dimension %lld", (long long)shape->ints[i]);
        dims[i] = num(call, shape->ints[i]);
        if (at >= 0 && gpuc_topi_broadcast_dim(call, in->dims[at], dims[i]) != dims[i])
            gpuc_topi_fail(call, "dimension %d of the input does not broadcast to the shape", at);
    }
    gpuc_topi_set_out(call, 0, in->dtype, shape->n, dims);
    int64_t count = shape->n ? shape->ints[0] : 1, have = 1;
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
    outs[0] = injective(call, axes, gpuc_topi_read_broadcast(call->ctx, ins[0], call->out[0].ndim, vars));
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
            int64_t a, b;
            if (k == axis)
                dims[k] = dims[k] && t->dims[k] ? gpuc_add(call->ctx, dims[k], t->dims[k]) : NULL;
            else if (dims[k] && t->dims[k] && gpuc_expr_is_int(dims[k], &a) &&
                     gpuc_expr_is_int(t->dims[k], &b) && a != b)
                gpuc_topi_fail(call, "dimension %d of input %d is %lld, of the inputs before %lld", k, i,
                               (long long)b, (long long)a);
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
    start[0] = num(call, 0);
    for (int i = 1; i < call->num_in; i++) start[i] = gpuc_add(ctx, start[i - 1], call->in[i - 1].dims[axis]);
    memcpy(index, vars, sizeof *vars * (size_t)ndim);
    for (int i = call->num_in - 1; i >= 0; i--) {
        index[axis] = gpuc_sub(ctx, vars[axis], start[i]);
        gpuc_expr v = gpuc_te_read(ctx, ins[i], ndim, index);
        value = value ? gpuc_if_then_else(ctx, gpuc_lt(ctx, vars[axis], start[i + 1]), v, value) : v;
    }
    outs[0] = injective(call, axes, value);
}

static void infer_strided_slice(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *begin = gpuc_topi_ints(call, "begin", in->ndim),
                  *sizes = gpuc_topi_ints(call, "sizes", in->ndim);
    const int64_t *strides = gpuc_topi_ints(call, "strides", in->ndim);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) {
        int64_t d;
        __int128 last = begin[i] + ((__int128)sizes[i] - 1) * strides[i];
        dims[i] = num(call, sizes[i]);
        if (strides[i] == 0 || sizes[i] < 0)
            gpuc_topi_fail(call, "size %lld and stride %lld of dimension %d", (long long)sizes[i],
                           (long long)strides[i], i);
        if (in->dims[i] && gpuc_expr_is_int(in->dims[i], &d) && sizes[i] > 0 &&
            (begin[i] < 0 || begin[i] >= d || last < 0 || last >= d))
            gpuc_topi_fail(call, "the slice of dimension %d leaves its extent %lld", i, (long long)d);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
    if (in->ndim != 1 || !call->in_values[0]) return;
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
    const int64_t *begin = gpuc_topi_ints(call, "begin", ndim),
                  *strides = gpuc_topi_ints(call, "strides", ndim);
    for (int i = 0; i < ndim; i++)
        index[i] = gpuc_add(ctx, gpuc_mul(ctx, vars[i], num(call, strides[i])), num(call, begin[i]));
    outs[0] = injective(call, axes, gpuc_te_read(ctx, ins[0], ndim, index));
}

static void infer_split(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *sizes = gpuc_attrs_find(call->attrs, "sizes");
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    int64_t total = 0, extent = gpuc_topi_static_dim(call, 0, axis);
    if (sizes->n > GPUC_OP_MAX_OUT) {
        call->out = gpuc_new_array(call->ctx, gpuc_tensor_type, sizes->n);
        call->out_values = gpuc_new_array(call->ctx, const gpuc_expr *, sizes->n);
    }
    call->num_out = sizes->n;
    for (int i = 0; i < sizes->n; i++) {
        gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
        memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
        dims[axis] = num(call, sizes->ints[i]);
        if (sizes->ints[i] < 0 || sizes->ints[i] > extent - total)
            gpuc_topi_fail(call, "part %d of %lld does not fit dimension %d of %lld", i,
                           (long long)sizes->ints[i], axis, (long long)extent);
        total += sizes->ints[i];
        gpuc_topi_set_out(call, i, in->dtype, in->ndim, dims);
    }
    if (total != extent || sizes->n == 0)
        gpuc_topi_fail(call, "the parts add up to %lld, dimension %d has %lld", (long long)total, axis,
                       (long long)extent);
}

static void split_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    int64_t start = 0;
    for (int i = 0; i < call->num_out; i++) {
        gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
        gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[i], vars);
        vars[axis] = gpuc_add(ctx, vars[axis], num(call, start));
        outs[i] = gpuc_topi_compute(ctx, "T", "injective", ndim, axes, gpuc_te_read(ctx, ins[0], ndim, vars));
        start += gpuc_attrs_find(call->attrs, "sizes")->ints[i];
    }
}

/* ---- Padding ---- */

static void infer_pad(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *before = gpuc_topi_ints(call, "pad_before", in->ndim),
                  *after = gpuc_topi_ints(call, "pad_after", in->ndim);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "");
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    bool known = false;
    for (size_t i = 0; i < 4; i++) known |= !strcmp(mode, modes[i]);
    if (!known) gpuc_topi_fail(call, "mode '%s' is not constant, reflect, edge or wrap", mode);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) {
        int64_t d;
        dims[i] = in->dims[i] ? gpuc_add(call->ctx, in->dims[i], num(call, before[i] + after[i])) : NULL;
        if (!dims[i] || !gpuc_expr_is_int(dims[i], &d)) continue;
        if (d < 0) gpuc_topi_fail(call, "dimension %d would be %lld", i, (long long)d);
        int64_t extent = d - before[i] - after[i];
        if (strcmp(mode, "constant") && (before[i] > 0 || after[i] > 0) && extent == 0)
            gpuc_topi_fail(call, "mode '%s' has nothing to take from in dimension %d", mode, i);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

/* The source position of p under a mode other than constant. */
static gpuc_expr pad_source(gpuc_ctx *ctx, const char *mode, gpuc_expr p, gpuc_expr extent)
{
    gpuc_expr zero = gpuc_int(ctx, 0), last = gpuc_sub(ctx, extent, gpuc_int(ctx, 1));
    if (!strcmp(mode, "edge")) return gpuc_max(ctx, zero, gpuc_min(ctx, p, last));
    if (!strcmp(mode, "wrap")) return gpuc_floormod_(ctx, p, extent);
    gpuc_expr period = gpuc_max(ctx, gpuc_mul(ctx, last, gpuc_int(ctx, 2)), gpuc_int(ctx, 1));
    gpuc_expr m = gpuc_floormod_(ctx, p, period);
    return gpuc_select(ctx, gpuc_lt(ctx, m, extent), m, gpuc_sub(ctx, period, m));
}

static void pad_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], inside = NULL;
    int ndim = call->out[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    const int64_t *before = gpuc_topi_ints(call, "pad_before", ndim),
                  *after = gpuc_topi_ints(call, "pad_after", ndim);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "constant");
    bool constant = !strcmp(mode, "constant");
    for (int i = 0; i < ndim; i++) {
        gpuc_expr p = gpuc_sub(ctx, vars[i], num(call, before[i]));
        bool grows = before[i] > 0 || after[i] > 0;
        index[i] = constant || !grows ? p : pad_source(ctx, mode, p, call->in[0].dims[i]);
        if (!constant || !grows) continue;
        gpuc_expr ok = NULL;
        if (before[i] > 0) ok = gpuc_ge(ctx, p, num(call, 0));
        if (after[i] > 0) {
            gpuc_expr below = gpuc_lt(ctx, p, call->in[0].dims[i]);
            ok = ok ? gpuc_and(ctx, ok, below) : below;
        }
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[0], ndim, index);
    gpuc_expr fill = gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "value", 0));
    outs[0] = injective(call, axes, inside ? gpuc_if_then_else(ctx, inside, value, fill) : value);
}

/* ---- Take, tile, arange, shape ---- */

static bool is_empty(const gpuc_tensor_type *t)
{
    int64_t d;
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] && gpuc_expr_is_int(t->dims[i], &d) && d == 0) return true;
    return false;
}

static void infer_take(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    gpuc_expr dims[2 * GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim), n = 0;
    if (at->dtype.code != GPUC_DTYPE_INT && at->dtype.code != GPUC_DTYPE_UINT)
        gpuc_topi_fail(call, "indices must be integers");
    for (int i = 0; i < axis; i++) dims[n++] = in->dims[i];
    for (int i = 0; i < at->ndim; i++) dims[n++] = at->dims[i];
    for (int i = axis + 1; i < in->ndim; i++) dims[n++] = in->dims[i];
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
    int64_t count = 1, extent = -1;
    if (in->dims[axis]) gpuc_expr_is_int(in->dims[axis], &extent);
    if (extent == 0 && !is_empty(at)) gpuc_topi_fail(call, "dimension %d has no elements to take", axis);
    if (in->ndim != 1 || at->ndim > 1 || !call->in_values[0] || !call->in_values[1]) return;
    if (at->ndim) gpuc_expr_is_int(at->dims[0], &count);
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, count + 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t k;
        if (!gpuc_expr_is_int(call->in_values[1][i], &k)) return;
        if (k < -extent || k >= extent)
            gpuc_topi_fail(call, "index %lld is outside of %lld elements", (long long)k, (long long)extent);
        if (k < 0) k += extent;
        values[i] = call->in_values[0][k];
    }
    call->out_values[0] = values;
}

static void take_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr i = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, ins[1], at->ndim, vars + axis)),
              n = in->dims[axis];
    i = gpuc_select(ctx, gpuc_lt(ctx, i, num(call, 0)), gpuc_add(ctx, i, n), i);
    i = gpuc_max(ctx, num(call, 0), gpuc_min(ctx, i, gpuc_sub(ctx, n, num(call, 1))));
    for (int k = 0; k < in->ndim; k++) index[k] = k < axis ? vars[k] : k == axis ? i : vars[k + at->ndim - 1];
    outs[0] = injective(call, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

static void infer_tile(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *reps = gpuc_topi_ints(call, "reps", in->ndim);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) {
        int64_t d, product;
        if (reps[i] < 0) gpuc_topi_fail(call, "repeats of dimension %d are negative", i);
        if (in->dims[i] && gpuc_expr_is_int(in->dims[i], &d) && __builtin_mul_overflow(d, reps[i], &product))
            gpuc_topi_fail(call, "dimension %d repeated %lld times does not fit 63 bits", i,
                           (long long)reps[i]);
        dims[i] = in->dims[i] ? gpuc_mul(call->ctx, in->dims[i], num(call, reps[i])) : NULL;
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void tile_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    int ndim = call->in[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) index[i] = gpuc_floormod_(call->ctx, vars[i], call->in[0].dims[i]);
    outs[0] = injective(call, axes, gpuc_te_read(call->ctx, ins[0], ndim, index));
}

static void infer_arange(gpuc_op_call *call)
{
    int64_t length = gpuc_attrs_get_int(call->attrs, "length", -1), v[3];
    for (int i = 0; i < 3; i++) {
        if (call->in[i].ndim != 0 || !gpuc_dtype_equal(call->in[i].dtype, call->in[0].dtype))
            gpuc_topi_fail(call, "start, stop and step must be scalars of one type");
        if (length < 0 && (!call->in_values[i] || !gpuc_expr_is_int(call->in_values[i][0], &v[i])))
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "arange: the length is not known when building");
    }
    if (length < 0) {
        if (v[2] == 0) gpuc_topi_fail(call, "the step is 0");
        __int128 span = (__int128)v[1] - v[0], step = v[2];
        __int128 n = (span + step + (step > 0 ? -1 : 1)) / step;
        if (n > INT64_MAX) gpuc_topi_fail(call, "the length does not fit 63 bits");
        length = n > 0 ? (int64_t)n : 0;
    }
    gpuc_expr dim = num(call, length);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 1, &dim);
}

static void arange_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr i;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], &i);
    gpuc_expr start = gpuc_te_read(ctx, ins[0], 0, NULL), step = gpuc_te_read(ctx, ins[2], 0, NULL);
    gpuc_expr at = gpuc_cast(ctx, call->out[0].dtype, i);
    outs[0] = injective(call, axes, gpuc_add(ctx, start, gpuc_mul(ctx, at, step)));
}

static void infer_shape_of(gpuc_op_call *call)
{
    gpuc_expr n = num(call, call->in[0].ndim);
    gpuc_topi_set_out(call, 0, GPUC_INT64, 1, &n);
    for (int i = 0; i < call->in[0].ndim; i++)
        if (!call->in[0].dims[i]) return;
    call->out_values[0] = call->in[0].dims;
}

#define ATTRS(id, ...) static const gpuc_attr_spec id[] = {__VA_ARGS__, {0}};
#define INTS(nm)                                                                                             \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS                                                                   \
    }
#define INT(nm, def)                                                                                         \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .i = def                                                          \
    }
ATTRS(newshape, INTS("newshape"))
ATTRS(axis_list, INTS("axis"))
ATTRS(axes_list, INTS("axes"))
ATTRS(shape_list, INTS("shape"))
ATTRS(reps_list, INTS("reps"))
ATTRS(axis_0, INT("axis", 0))
ATTRS(slice_attrs, INTS("begin"), INTS("sizes"), INTS("strides"))
ATTRS(split_attrs, INTS("sizes"), INT("axis", 0))
ATTRS(arange_attrs, INT("length", -1))
#define PADS(nm)                                                                                             \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .most = INT64_MAX / 4                                            \
    }
ATTRS(pad_attrs, PADS("pad_before"), PADS("pad_after"),
      {.name = "mode", .kind = GPUC_ATTR_STRING, .s = "constant"}, {.name = "value", .kind = GPUC_ATTR_FLOAT})

#define ROW(nm, lo, hi, at, inf, fn, tp, nn, on)                                                             \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .attrs = at, .infer = inf, .compute = fn,                    \
        .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on                                   \
    }
#define ALIAS(nm, at, inf, tp, nn, on)                                                                       \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .attrs = at, .infer = inf, .compute = alias_compute,           \
        .alias = true, .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on                    \
    }

const gpuc_op gpuc_ops_shape[] = {
    ALIAS("reshape", newshape, infer_reshape, "reshape,flatten", "reshape,flatten", "Reshape,Flatten"),
    ALIAS("squeeze", axis_list, infer_squeeze, "squeeze", "squeeze", "Squeeze"),
    ALIAS("expand_dims", axis_list, infer_expand_dims, "expand_dims", "expand_dims", "Unsqueeze"),
    ROW("transpose", 1, 1, axes_list, infer_transpose, transpose_compute, "transpose", "transpose",
        "Transpose"),
    ROW("broadcast_to", 1, 1, shape_list, infer_broadcast_to, broadcast_to_compute, "broadcast_to",
        "broadcast_to", "Expand,ConstantOfShape"),
    ROW("concatenate", 1, -1, axis_0, infer_concatenate, concatenate_compute, "concatenate", "concatenate",
        "Concat"),
    ROW("strided_slice", 1, 1, slice_attrs, infer_strided_slice, strided_slice_compute, "strided_slice",
        "strided_slice", "Slice"),
    ROW("split", 1, 1, split_attrs, infer_split, split_compute, "split", "split", "Split"),
    ROW("nn.pad", 1, 1, pad_attrs, infer_pad, pad_compute, "pad", "pad", "Pad"),
    ROW("take", 2, 2, axis_0, infer_take, take_compute, "take", "take", "Gather"),
    ROW("tile", 1, 1, reps_list, infer_tile, tile_compute, "tile", "", "Tile"),
    ROW("arange", 3, 3, arange_attrs, infer_arange, arange_compute, "arange", "", "Range"),
    ROW("shape_of", 1, 1, NULL, infer_shape_of, NULL, "shape", "", "Shape"),
};
const size_t gpuc_ops_shape_count = sizeof gpuc_ops_shape / sizeof gpuc_ops_shape[0];
