/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that read elements at given positions. Positions are brought into range, so that no read is
 * outside of the tensor. */
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

/* Position i of n, brought into range by the mode. */
static gpuc_expr position(gpuc_ctx *ctx, gpuc_expr i, gpuc_expr n, const char *mode)
{
    gpuc_dtype t = gpuc_expr_dtype(i);
    int64_t count;
    bool is_small =
        t.code == GPUC_DTYPE_INT && t.bits == 32 && gpuc_expr_is_int(n, &count) && count <= INT32_MAX;
    if (!is_small) t = GPUC_INDEX;
    gpuc_expr zero = gpuc_imm_int(ctx, t, 0);
    i = gpuc_cast(ctx, t, i);
    n = gpuc_cast(ctx, t, n);
    if (!strcmp(mode, "wrap")) i = gpuc_floormod_(ctx, i, n);
    if (!strcmp(mode, "negative")) i = gpuc_select(ctx, gpuc_lt(ctx, i, zero), gpuc_add(ctx, i, n), i);
    i = gpuc_max(ctx, zero, gpuc_min(ctx, i, gpuc_sub(ctx, n, gpuc_imm_int(ctx, t, 1))));
    return gpuc_cast(ctx, GPUC_INDEX, i);
}

/* Unless there are no indices, there is a position for them in dimension k. */
static void check_extent(const gpuc_op_call *call, int k, const gpuc_tensor_type *at)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr extent = call->in[0].dims[k], zero = gpuc_int(ctx, 0);
    if (!extent) return;
    gpuc_expr some = gpuc_gt(ctx, extent, zero);
    for (int i = 0; i < at->ndim; i++)
        if (at->dims[i]) some = gpuc_or(ctx, some, gpuc_eq(ctx, at->dims[i], zero));
    gpuc_topi_require(call, some, "dimension %d has no elements to take", k);
}

/* ---- take ---- */

/* clip: the nearest position; wrap: modulo the extent; negative: those count from the end, the rest is
 * clipped; fast: as clip, since nothing outside is ever read. */
static const char *take_mode(const gpuc_op_call *call)
{
    static const char *const modes[] = {"negative", "clip", "wrap", "fast"};
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (!strcmp(mode, modes[i])) return mode;
    gpuc_topi_fail(call, "mode '%s' is not negative, clip, wrap or fast", mode);
}

static void infer_take(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    gpuc_expr dims[2 * GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim), n = 0;
    const char *mode = take_mode(call);
    for (int i = 0; i < axis; i++) dims[n++] = in->dims[i];
    for (int i = 0; i < at->ndim; i++) dims[n++] = at->dims[i];
    for (int i = axis + 1; i < in->ndim; i++) dims[n++] = in->dims[i];
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
    int64_t count = 1, extent = -1;
    if (in->dims[axis]) gpuc_expr_is_int(in->dims[axis], &extent);
    check_extent(call, axis, at);
    if (in->ndim != 1 || at->ndim > 1 || !call->in_values[0] || !call->in_values[1]) return;
    if (at->ndim) gpuc_expr_is_int(at->dims[0], &count);
    gpuc_expr *values = gpuc_new_array(call->ctx, gpuc_expr, count + 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t k;
        if (extent < 1 || !gpuc_expr_is_int(call->in_values[1][i], &k)) return;
        bool negative = !strcmp(mode, "negative");
        if (negative && (k < -extent || k >= extent))
            gpuc_topi_fail(call, "index %lld is outside of %lld elements", (long long)k, (long long)extent);
        if (!strcmp(mode, "wrap")) k %= extent;
        if (k < 0 && (negative || !strcmp(mode, "wrap"))) k += extent;
        k = k < 0 ? 0 : k >= extent ? extent - 1 : k;
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
    gpuc_expr i = gpuc_te_read(ctx, ins[1], at->ndim, vars + axis);
    i = position(ctx, i, in->dims[axis], take_mode(call));
    for (int k = 0; k < in->ndim; k++) index[k] = k < axis ? vars[k] : k == axis ? i : vars[k + at->ndim - 1];
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

/* ---- gather: one position along an axis for each element of the result ---- */

/* Unless there are no indices. */
static void check_within(const gpuc_op_call *call, int k, const gpuc_tensor_type *at, gpuc_expr max)
{
    gpuc_ctx *ctx = call->ctx;
    if (!at->dims[k] || !max) return;
    gpuc_expr fits = gpuc_le(ctx, at->dims[k], max);
    for (int i = 0; i < at->ndim; i++)
        if (at->dims[i]) fits = gpuc_or(ctx, fits, gpuc_eq(ctx, at->dims[i], gpuc_int(ctx, 0)));
    gpuc_topi_require(call, fits, "dimension %d of the indices is %s, of the data %s", k,
                      gpuc_expr_text(ctx, at->dims[k]), gpuc_expr_text(ctx, max));
}

static void infer_gather(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    if (in->ndim != at->ndim || in->ndim == 0)
        gpuc_topi_fail(call, "the data has %d dimensions, the indices have %d", in->ndim, at->ndim);
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    for (int k = 0; k < in->ndim; k++)
        if (k != axis) check_within(call, k, at, in->dims[k]);
    check_extent(call, axis, at);
    gpuc_topi_set_out(call, 0, in->dtype, at->ndim, at->dims);
}

static void gather_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    vars[axis] = position(ctx, gpuc_te_read(ctx, ins[1], in->ndim, vars), in->dims[axis], "negative");
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, vars));
}

/* ---- gather_nd: the last dimension of the indices holds positions along the first dimensions of the data
 * behind the batch's ---- */

static int batch_dims(const gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    int64_t batch = gpuc_attrs_get_int(call->attrs, "batch_dims", 0);
    if (at->ndim == 0) gpuc_topi_fail(call, "the indices have no dimensions");
    if (batch < 0 || batch >= at->ndim || batch > in->ndim)
        gpuc_topi_fail(call, "batch_dims is %lld for data of %d and indices of %d dimensions",
                       (long long)batch, in->ndim, at->ndim);
    return (int)batch;
}

static void infer_gather_nd(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    int batch = batch_dims(call), n = 0;
    int64_t depth = gpuc_topi_static_dim(call, 1, at->ndim - 1);
    gpuc_expr dims[2 * GPUC_TOPI_MAX_DIMS];
    if (depth < 0 || depth > in->ndim - batch)
        gpuc_topi_fail(call, "an index has %lld positions, the data has %d dimensions behind the batch's",
                       (long long)depth, in->ndim - batch);
    for (int k = 0; k < batch; k++) check_within(call, k, at, in->dims[k]);
    for (int k = 0; k < (int)depth; k++) check_extent(call, batch + k, at);
    for (int k = 0; k < at->ndim - 1; k++) dims[n++] = at->dims[k];
    for (int k = batch + (int)depth; k < in->ndim; k++) dims[n++] = in->dims[k];
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
}

static void gather_nd_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], where[GPUC_TOPI_MAX_DIMS];
    int batch = batch_dims(call), depth = (int)gpuc_topi_static_dim(call, 1, at->ndim - 1);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int k = 0; k < at->ndim - 1; k++) where[k] = vars[k];
    for (int k = 0; k < in->ndim; k++) {
        if (k < batch || k >= batch + depth) {
            index[k] = k < batch ? vars[k] : vars[at->ndim - 1 + k - batch - depth];
            continue;
        }
        where[at->ndim - 1] = gpuc_int(ctx, k - batch);
        index[k] = position(ctx, gpuc_te_read(ctx, ins[1], at->ndim, where), in->dims[k], "negative");
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

/* ---- adv_index: numpy's data[i, j, ...], whose index tensors broadcast ---- */

static void infer_adv_index(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    int indexed = call->num_in - 1, n = 0;
    gpuc_tensor_type at;
    gpuc_expr dims[2 * GPUC_TOPI_MAX_DIMS];
    if (indexed > in->ndim)
        gpuc_topi_fail(call, "there are %d index tensors for %d dimensions", indexed, in->ndim);
    gpuc_topi_broadcast_types(call, 1, indexed, &at);
    for (int k = 0; k < indexed; k++) check_extent(call, k, &at);
    for (int k = 0; k < at.ndim; k++) dims[n++] = at.dims[k];
    for (int k = indexed; k < in->ndim; k++) dims[n++] = in->dims[k];
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
}

static void adv_index_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr vars[2 * GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    int indexed = call->num_in - 1, rank = call->out[0].ndim - (in->ndim - indexed);
    const gpuc_tensor_type at = {.ndim = rank, .dims = call->out[0].dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int k = 0; k < in->ndim; k++)
        index[k] = k < indexed ? position(ctx, gpuc_topi_read_broadcast(ctx, ins[1 + k], &at, vars),
                                          in->dims[k], "negative")
                               : vars[rank + k - indexed];
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

/* ---- one_hot ---- */

static int hot_axis(const gpuc_op_call *call)
{
    int ndim = call->in[0].ndim + 1;
    return gpuc_topi_axis(call, "axis", ndim);
}

static void infer_one_hot(gpuc_op_call *call)
{
    const gpuc_tensor_type *at = &call->in[0];
    const gpuc_attr *given = gpuc_attrs_find(call->attrs, "depth");
    int axis = hot_axis(call), from = 0;
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS + 1];
    if (given->n > 1) gpuc_topi_fail(call, "depth has %d numbers, at most 1 is needed", given->n);
    gpuc_expr depth = given->n ? gpuc_attr_size(call->ctx, given, 0) : gpuc_topi_num(call, 0);
    gpuc_topi_require(call, gpuc_ge(call->ctx, depth, gpuc_topi_num(call, 0)), "depth is %s",
                      gpuc_expr_text(call->ctx, depth));
    for (int i = 1; i < 3; i++)
        if (call->in[i].ndim) gpuc_topi_fail(call, "input %d must be a scalar", i);
    for (int k = 0; k <= at->ndim; k++) dims[k] = k == axis ? depth : at->dims[from++];
    gpuc_topi_set_out(call, 0, call->in[1].dtype, at->ndim + 1, dims);
}

/* Negative positions count from the end; those outside of the depth are off everywhere. */
static void one_hot_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS + 1], where[GPUC_TOPI_MAX_DIMS];
    int axis = hot_axis(call), n = 0;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int k = 0; k <= call->in[0].ndim; k++)
        if (k != axis) where[n++] = vars[k];
    gpuc_expr i = gpuc_cast(ctx, GPUC_INT64, gpuc_te_read(ctx, ins[0], n, where));
    gpuc_expr below = gpuc_lt(ctx, i, gpuc_int(ctx, 0));
    i = gpuc_select(ctx, below, gpuc_add(ctx, i, call->out[0].dims[axis]), i);
    outs[0] =
        gpuc_topi_injective(call, 0, axes,
                            gpuc_select(ctx, gpuc_eq(ctx, i, vars[axis]), gpuc_te_read(ctx, ins[1], 0, NULL),
                                        gpuc_te_read(ctx, ins[2], 0, NULL)));
}

ATTRS(take_attrs, INT("axis", 0), STRING("mode", "clip"), FLAT_WITHOUT("axis"), ONLY("batch_dims", INT, "0"))
ATTRS(axis_0, INT("axis", 0))
/* The number of positions in an index. */
static void take_index_rank(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    if (w->in && w->num_written > 1) gpuc_op_must_be(w, spec->name, value->i, 1, w->in[1].ndim - 1);
}

static void take_hot_type(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    (void)spec;
    w->inputs[1].cast = w->inputs[2].cast = value->dtype;
    w->changed |= value->dtype.bits != 0;
}

ATTRS(batch_attrs, INT("batch_dims", 0),
      SPELLED("index_rank", INT, take_index_rank, NULL, "must be the last dimension of input 1"))
ATTRS(hot_attrs, SIZES("depth"), INT("axis", -1),
      SPELLED("dtype", DTYPE, take_hot_type, NULL, "inputs 1 and 2 are cast to it"))

const gpuc_op gpuc_topi_ops_gather[] = {
    MOVES_OF("take", 2, 2, take_attrs, infer_take, take_compute, "take", "take", "Gather", GPUC_T_ANY,
             GPUC_T_INTS),
    MOVES_OF("gather", 2, 2, axis_0, infer_gather, gather_compute, "gather", "", "GatherElements", GPUC_T_ANY,
             GPUC_T_INTS),
    MOVES_OF("gather_nd", 2, 2, batch_attrs, infer_gather_nd, gather_nd_compute, "gather_nd", "", "GatherND",
             GPUC_T_ANY, GPUC_T_INTS),
    MOVES_OF("adv_index", 2, -1, NULL, infer_adv_index, adv_index_compute, "adv_index", "", "", GPUC_T_ANY,
             GPUC_T_INTS),
    MOVES_OF("one_hot", 3, 3, hot_attrs, infer_one_hot, one_hot_compute, "one_hot", "", "OneHot", GPUC_T_INTS,
             GPUC_T_ANY, GPUC_T_LIKE_1),
};
const size_t gpuc_topi_ops_gather_count = sizeof gpuc_topi_ops_gather / sizeof gpuc_topi_ops_gather[0];
