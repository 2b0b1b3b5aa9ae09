/* SPDX-License-Identifier: Apache-2.0 */
/* Elements made from their position. */
#include <math.h>
#include <string.h>

#include "base/element.h"
#include "op/dynamic.h"
#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

/* ---- Ranges: how many steps lead from start to stop ---- */

/* Steps from start until stop is reached, by a step that is a number. */
static gpuc_expr symbolic_length(const gpuc_op_call *call, int64_t step)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr start = call->in_values[0][0], stop = call->in_values[1][0];
    gpuc_expr span = step > 0 ? gpuc_sub(ctx, stop, start) : gpuc_sub(ctx, start, stop);
    int64_t by = step > 0 ? step : -step;
    gpuc_expr n =
        gpuc_floordiv_(ctx, gpuc_add(ctx, span, gpuc_topi_num(call, by - 1)), gpuc_topi_num(call, by));
    return gpuc_max(ctx, n, gpuc_topi_num(call, 0));
}

static gpuc_expr length_of_ints(const gpuc_op_call *call, const int64_t *v)
{
    bool wide = gpuc_dtype_equal(call->in[0].dtype, (gpuc_dtype){GPUC_DTYPE_UINT, 64, 1});
    __int128 start = wide ? (__int128)(uint64_t)v[0] : v[0], stop = wide ? (__int128)(uint64_t)v[1] : v[1],
             step = wide ? (__int128)(uint64_t)v[2] : v[2];
    __int128 n = (stop - start + step + (step > 0 ? -1 : 1)) / step;
    if (n > INT64_MAX) gpuc_topi_fail(call, "the length does not fit 63 bits");
    return gpuc_topi_num(call, n > 0 ? (int64_t)n : 0);
}

/* The difference has the type of the numbers, the quotient is a float64: as programs compute it
 * (relay/count_steps.c). NAN: there is none. */
static double length_of_floats(gpuc_dtype t, const double *v)
{
    double n = ceil(gpuc_float_round(t, v[1] - v[0]) / v[2]);
    return !(fabs(n) < 0x1p62) ? NAN : n > 0 ? n : 0;
}

/* NULL: it depends on what a run knows. */
static gpuc_expr length_of(const gpuc_op_call *call)
{
    int64_t v[3];
    double f[3];
    bool ints = true, floats = gpuc_is_float(call->in[0].dtype);
    for (int i = 0; i < 3; i++) {
        if (!call->in_values[i]) return NULL;
        gpuc_expr e = call->in_values[i][0];
        ints &= gpuc_expr_is_int(e, &v[i]);
        if (floats) f[i] = gpuc_as_float(e)->value;
    }
    if (floats ? f[2] == 0 : gpuc_expr_is_int(call->in_values[2][0], &v[2]) && v[2] == 0)
        gpuc_topi_fail(call, "the step is 0");
    if (ints) return length_of_ints(call, v);
    if (!floats) {
        bool known = gpuc_expr_is_int(call->in_values[2][0], &v[2]) && v[2] != INT64_MIN;
        return known ? symbolic_length(call, v[2]) : NULL;
    }
    double n = length_of_floats(call->in[0].dtype, f);
    if (isnan(n)) gpuc_topi_fail(call, "the step %g does not lead from %g to %g", f[2], f[0], f[1]);
    return gpuc_topi_num(call, (int64_t)n);
}

static void infer_arange(gpuc_op_call *call)
{
    const gpuc_attr *given = gpuc_attrs_find(call->attrs, "length");
    if (given->n > 1) gpuc_topi_fail(call, "length has %d entries, at most 1 is needed", given->n);
    for (int i = 0; i < 3; i++)
        if (call->in[i].ndim != 0 || !gpuc_dtype_equal(call->in[i].dtype, call->in[0].dtype))
            gpuc_topi_fail(call, "start, stop and step must be scalars of one type");
    gpuc_expr dim = given->n ? gpuc_attr_size(call->ctx, given, 0) : length_of(call);
    if (!dim) dim = gpuc_op_any_size(call->ctx);
    gpuc_topi_require(call, gpuc_ge(call->ctx, dim, gpuc_topi_num(call, 0)), "the length %s",
                      gpuc_expr_text(call->ctx, dim));
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 1, &dim);
}

static void arange_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr i;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], &i);
    gpuc_expr start = gpuc_te_read(ctx, ins[0], 0, NULL), step = gpuc_te_read(ctx, ins[2], 0, NULL);
    gpuc_expr at = gpuc_cast(ctx, call->out[0].dtype, i);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_add(ctx, start, gpuc_mul(ctx, at, step)));
}

/* ---- Made from positions ---- */

static gpuc_dtype dtype_of(const gpuc_op_call *call)
{
    return gpuc_attrs_find(call->attrs, "dtype")->dtype;
}

static void infer_eye(gpuc_op_call *call)
{
    gpuc_expr dims[2];
    static const char *const names[] = {"n", "m"};
    for (int i = 0; i < 2; i++) {
        gpuc_topi_sizes(call, names[i], 1, &dims[i]);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)), "%s=%s", names[i],
                          gpuc_expr_text(call->ctx, dims[i]));
    }
    gpuc_topi_set_out(call, 0, dtype_of(call), 2, dims);
}

static void eye_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[2];
    gpuc_dtype t = call->out[0].dtype;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr on = gpuc_add(ctx, vars[0], gpuc_topi_num(call, gpuc_attrs_get_int(call->attrs, "k", 0)));
    outs[0] = gpuc_topi_injective(
        call, 0, axes, gpuc_select(ctx, gpuc_eq(ctx, vars[1], on), gpuc_imm(ctx, t, 1), gpuc_imm(ctx, t, 0)));
}

static void infer_trilu(gpuc_op_call *call)
{
    if (call->in[0].ndim < 2) gpuc_topi_fail(call, "the input has %d dimensions, needs 2", call->in[0].ndim);
    for (int i = 0; call->num_in > 1 && i < call->in[1].ndim; i++)
        if (gpuc_topi_static_dim(call, 1, i) != 1) gpuc_topi_fail(call, "k must be one number");
    gpuc_topi_infer_same(call);
}

/* The diagonal is the attribute k, or the number in input 1. */
static void trilu_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], zeros[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr k = gpuc_topi_num(call, gpuc_attrs_get_int(call->attrs, "k", 0));
    if (call->num_in > 1) {
        for (int i = 0; i < call->in[1].ndim; i++) zeros[i] = gpuc_topi_num(call, 0);
        /* Diagonals beyond the extents are all empty: k is clamped so that sums do not overflow. */
        gpuc_expr rows = call->in[0].dims[ndim - 2], columns = call->in[0].dims[ndim - 1];
        k = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, ins[1], call->in[1].ndim, zeros));
        k = gpuc_max(ctx, gpuc_sub(ctx, gpuc_topi_num(call, 0), rows), gpuc_min(ctx, k, columns));
    }
    gpuc_expr at = gpuc_sub(ctx, vars[ndim - 1], vars[ndim - 2]);
    bool upper = gpuc_attrs_get_int(call->attrs, "upper", 1);
    gpuc_expr keep = upper ? gpuc_ge(ctx, at, k) : gpuc_le(ctx, at, k);
    gpuc_expr x = gpuc_te_read(ctx, ins[0], ndim, vars);
    outs[0] =
        gpuc_topi_injective(call, 0, axes, gpuc_select(ctx, keep, x, gpuc_imm(ctx, call->out[0].dtype, 0)));
}

/* One output per input, of the shape that all of them span. "xy" swaps the first two dimensions. */
static int meshgrid_axis(const gpuc_op_call *call, int i)
{
    bool swap = !strcmp(gpuc_attrs_get_string(call->attrs, "indexing", "ij"), "xy") && call->num_in > 1;
    return swap && i < 2 ? 1 - i : i;
}

static void infer_meshgrid(gpuc_op_call *call)
{
    const char *indexing = gpuc_attrs_get_string(call->attrs, "indexing", "ij");
    if (strcmp(indexing, "ij") && strcmp(indexing, "xy"))
        gpuc_topi_fail(call, "indexing '%s' is neither ij nor xy", indexing);
    if (call->num_in > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "%d inputs are too many", call->num_in);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, call->num_in);
    for (int i = 0; i < call->num_in; i++) {
        if (call->in[i].ndim > 1)
            gpuc_topi_fail(call, "input %d has %d dimensions, needs 1", i, call->in[i].ndim);
        dims[meshgrid_axis(call, i)] = call->in[i].ndim ? call->in[i].dims[0] : gpuc_topi_num(call, 1);
    }
    gpuc_topi_set_num_out(call, call->num_in);
    for (int i = 0; i < call->num_in; i++) gpuc_topi_set_out(call, i, call->in[i].dtype, call->num_in, dims);
}

static void meshgrid_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    for (int i = 0; i < call->num_out; i++) {
        gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
        gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[i], vars);
        gpuc_expr at = vars[meshgrid_axis(call, i)];
        outs[i] = gpuc_topi_injective(call, i, axes, gpuc_te_read(call->ctx, ins[i], call->in[i].ndim, &at));
    }
}

/* Input 1 is a shape; positions in it become indices, one row per dimension. */
static void infer_unravel_index(gpuc_op_call *call)
{
    const gpuc_tensor_type *at = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS + 1];
    if (call->in[1].ndim != 1) gpuc_topi_fail(call, "the shape has %d dimensions, needs 1", call->in[1].ndim);
    if (gpuc_topi_static_dim(call, 1, 0) > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the shape is too long");
    dims[0] = call->in[1].dims[0];
    for (int i = 0; i < at->ndim; i++) dims[1 + i] = at->dims[i];
    gpuc_topi_set_out(call, 0, at->dtype, at->ndim + 1, dims);
}

static void unravel_index_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS + 1], value = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr left = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, ins[0], call->in[0].ndim, vars + 1));
    int64_t n = gpuc_topi_static_dim(call, 1, 0);
    for (int64_t i = n - 1; i >= 0; i--) {
        gpuc_expr k = gpuc_topi_num(call, i), extent = gpuc_te_read(ctx, ins[1], 1, &k);
        extent = gpuc_max(ctx, gpuc_cast(ctx, GPUC_INDEX, extent), gpuc_topi_num(call, 1));
        gpuc_expr here = gpuc_floormod_(ctx, left, extent);
        left = gpuc_floordiv_(ctx, left, extent);
        value = value ? gpuc_select(ctx, gpuc_eq(ctx, vars[0], k), here, value) : here;
    }
    if (!value) value = left;
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

/* ---- Sequences: one length per element of the batch ---- */

/* A length as an index in [0, extent]. */
static gpuc_expr read_length(const gpuc_op_call *call, gpuc_tensor *lengths, gpuc_expr at, gpuc_expr extent)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr n = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, lengths, 1, &at));
    return gpuc_max(ctx, gpuc_topi_num(call, 0), gpuc_min(ctx, n, extent));
}

static void check_lengths(const gpuc_op_call *call, int batch)
{
    const gpuc_tensor_type *in = &call->in[0], *lengths = &call->in[1];
    if (lengths->ndim != 1) gpuc_topi_fail(call, "the lengths have %d dimensions, need 1", lengths->ndim);
    gpuc_expr have = lengths->dims[0], want = in->dims[batch];
    if (have && want)
        gpuc_topi_require(call, gpuc_eq(call->ctx, have, want), "there are %s lengths for %s sequences",
                          gpuc_expr_text(call->ctx, have), gpuc_expr_text(call->ctx, want));
}

static void infer_sequence_mask(gpuc_op_call *call)
{
    int64_t axis = gpuc_attrs_get_int(call->attrs, "axis", 0);
    if (axis != 0 && axis != 1) gpuc_topi_fail(call, "axis=%lld is neither 0 nor 1", (long long)axis);
    if (call->in[0].ndim < 2) gpuc_topi_fail(call, "the input has %d dimensions, needs 2", call->in[0].ndim);
    check_lengths(call, 1 - (int)axis);
    gpuc_topi_infer_same(call);
}

static void sequence_mask_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int axis = (int)gpuc_attrs_get_int(call->attrs, "axis", 0);
    gpuc_expr length = read_length(call, ins[1], vars[1 - axis], call->in[0].dims[axis]);
    gpuc_expr x = gpuc_te_read(ctx, ins[0], call->in[0].ndim, vars),
              mask = gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "mask_value", 0));
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_select(ctx, gpuc_lt(ctx, vars[axis], length), x, mask));
}

static void infer_reverse_sequence(gpuc_op_call *call)
{
    int ndim = call->in[0].ndim, seq = gpuc_topi_axis(call, "seq_axis", ndim),
        batch = gpuc_topi_axis(call, "batch_axis", ndim);
    if (seq == batch) gpuc_topi_fail(call, "seq_axis and batch_axis are both %d", seq);
    check_lengths(call, batch);
    gpuc_topi_infer_same(call);
}

static void reverse_sequence_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, seq = gpuc_topi_axis(call, "seq_axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr batch = vars[gpuc_topi_axis(call, "batch_axis", ndim)],
              length = read_length(call, ins[1], batch, call->in[0].dims[seq]);
    at = gpuc_sub(ctx, gpuc_sub(ctx, length, gpuc_topi_num(call, 1)), vars[seq]);
    vars[seq] = gpuc_select(ctx, gpuc_lt(ctx, vars[seq], length), at, vars[seq]);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], ndim, vars));
}

/* ---- Diagonals of matrices ---- */

typedef struct diagonals {
    int64_t first, last;           /* above (positive) or below the main one */
    bool right_above, right_below; /* shorter ones stand at the end of their rows */
} diagonals;

static diagonals diagonals_of(const gpuc_op_call *call)
{
    return (diagonals){
        .first = gpuc_attrs_get_int(call->attrs, "k1", 0),
        .last = gpuc_attrs_get_int(call->attrs, "k2", 0),
        .right_above = gpuc_attrs_get_int(call->attrs, "super_diag_right_align", 1),
        .right_below = gpuc_attrs_get_int(call->attrs, "sub_diag_right_align", 0),
    };
}

static void infer_matrix_set_diag(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *d = &call->in[1];
    diagonals k = diagonals_of(call);
    int n = in->ndim - 2, want = n + 1 + (k.first != k.last);
    if (in->ndim < 2) gpuc_topi_fail(call, "the input has %d dimensions, needs 2", in->ndim);
    if (k.first > k.last)
        gpuc_topi_fail(call, "k1=%lld is above k2=%lld", (long long)k.first, (long long)k.last);
    if (d->ndim != want) gpuc_topi_fail(call, "the diagonals have %d dimensions, need %d", d->ndim, want);
    int64_t rows = gpuc_topi_static_dim(call, 0, n), columns = gpuc_topi_static_dim(call, 0, n + 1);
    int64_t above = k.first > 0 ? k.first : 0, below = k.last < 0 ? -k.last : 0;
    int64_t length = rows - below < columns - above ? rows - below : columns - above;
    if (rows && columns && (k.last >= columns || k.first <= -rows || length < 1))
        gpuc_topi_fail(call, "diagonals %lld to %lld leave the matrix of %lld by %lld", (long long)k.first,
                       (long long)k.last, (long long)rows, (long long)columns);
    if (want > n + 1 && gpuc_topi_static_dim(call, 1, n) != k.last - k.first + 1)
        gpuc_topi_fail(call, "%lld diagonals are given for %lld to %lld",
                       (long long)gpuc_topi_static_dim(call, 1, n), (long long)k.first, (long long)k.last);
    if (rows && columns && gpuc_topi_static_dim(call, 1, want - 1) != length)
        gpuc_topi_fail(call, "the diagonals have %lld elements, need %lld",
                       (long long)gpuc_topi_static_dim(call, 1, want - 1), (long long)length);
    for (int i = 0; i < n; i++)
        if (gpuc_topi_static_dim(call, 1, i) != gpuc_topi_static_dim(call, 0, i))
            gpuc_topi_fail(call, "dimension %d of the diagonals is not that of the matrices", i);
    gpuc_topi_infer_same(call);
}

static void matrix_set_diag_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int n = call->in[0].ndim - 2, at = n;
    diagonals k = diagonals_of(call);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], zero = gpuc_topi_num(call, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr row = vars[n], column = vars[n + 1], rows = call->in[0].dims[n],
              columns = call->in[0].dims[n + 1];
    gpuc_expr which = gpuc_sub(ctx, column, row), above = gpuc_ge(ctx, which, zero);
    gpuc_expr inside = gpuc_and(ctx, gpuc_ge(ctx, which, gpuc_topi_num(call, k.first)),
                                gpuc_le(ctx, which, gpuc_topi_num(call, k.last)));
    gpuc_expr start = zero;
    memcpy(index, vars, sizeof *vars * (size_t)n);
    if (k.first != k.last) {
        gpuc_expr longest = call->in[1].dims[n + 1];
        gpuc_expr len_above = gpuc_min(ctx, gpuc_sub(ctx, columns, which), rows),
                  len_below = gpuc_min(ctx, columns, gpuc_add(ctx, rows, which));
        index[at++] = gpuc_sub(ctx, gpuc_topi_num(call, k.last), which);
        start = gpuc_select(ctx, above, k.right_above ? gpuc_sub(ctx, longest, len_above) : zero,
                            k.right_below ? gpuc_sub(ctx, longest, len_below) : zero);
    }
    index[at++] = gpuc_add(ctx, gpuc_select(ctx, above, row, column), start);
    gpuc_expr diagonal = gpuc_te_read(ctx, ins[1], at, index), x = gpuc_te_read(ctx, ins[0], n + 2, vars);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_if_then_else(ctx, inside, diagonal, x));
}

static double number(gpuc_op_written *w, const char *name, double otherwise)
{
    const gpuc_attr *a = gpuc_attrs_find(w->given, name);
    if (a && a->kind != GPUC_ATTR_FLOAT && a->kind != GPUC_ATTR_INT)
        gpuc_op_written_fail(w, "attribute '%s' must be a number", name);
    return !a ? otherwise : a->kind == GPUC_ATTR_INT ? (double)a->i : a->f;
}

/* start, stop, step and dtype as attributes, without inputs; dtype also casts inputs. */
static void take_range(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    static const char *const names[] = {"start", "stop", "step"};
    const gpuc_attr *type = gpuc_attrs_find(w->given, "dtype");
    gpuc_dtype t = type && type->dtype.bits ? type->dtype : GPUC_FLOAT32;
    (void)value;
    if (!strcmp(spec->name, "dtype") && w->num_written > 0) {
        for (int i = 0; i < 3; i++) {
            if (w->in && i < w->num_written && gpuc_dtype_equal(w->in[i].dtype, t)) continue;
            w->inputs[i].cast = t;
            w->changed = true;
        }
        return;
    }
    if (w->num_written) gpuc_op_written_fail(w, "attribute '%s' and %d inputs", spec->name, w->num_written);
    if (!gpuc_attrs_find(w->given, "stop")) gpuc_op_written_fail(w, "attribute 'stop' is missing");
    double v[] = {number(w, "start", 0), number(w, "stop", 0), number(w, "step", 1)};
    for (int i = 0; i < 3; i++) {
        if (gpuc_is_integer(t) && v[i] != trunc(v[i]))
            gpuc_op_written_fail(w, "%s is %g, of an integer type", names[i], v[i]);
        if (gpuc_is_float(t)) v[i] = gpuc_float_round(t, v[i]);
        gpuc_op_constant_input(w, i, (gpuc_tensor_type){.dtype = t}, v[i]);
    }
    double length = length_of_floats(gpuc_is_float(t) ? t : GPUC_FLOAT64, v);
    if (!(length <= GPUC_OP_MAX_WINDOW)) gpuc_op_written_fail(w, "step %g from %g to %g", v[2], v[0], v[1]);
    w->num_in = 3;
    gpuc_op_set_ints(w, "length", 1, &(int64_t){(int64_t)length});
}

#define RANGE(nm, k) SPELLED(nm, k, take_range, NULL, "in place of the inputs")
ATTRS(arange_attrs, SIZES("length"), RANGE("start", FLOAT), RANGE("stop", FLOAT), RANGE("step", FLOAT),
      SPELLED("dtype", DTYPE, take_range, NULL, "of the result"))
#define DIAGONAL(nm) INT_UP_TO(nm, 0, INT64_MAX / 4)
ATTRS(eye_attrs, SIZES("n"), SIZES("m"), DIAGONAL("k"), DTYPE_OR("dtype", GPUC_FLOAT32))
ATTRS(trilu_attrs, INT("upper", 1), DIAGONAL("k"))
ATTRS(diag_attrs, DIAGONAL("k1"), DIAGONAL("k2"), INT("super_diag_right_align", 1),
      INT("sub_diag_right_align", 0))
ATTRS(meshgrid_attrs, STRING("indexing", "ij"))
ATTRS(mask_attrs, INT("axis", 0), FLOAT("mask_value", 0))
ATTRS(sequence_attrs, INT("seq_axis", 1), INT("batch_axis", 0))

const gpuc_op gpuc_topi_ops_index[] = {
    MOVES_OF("arange", 3, 3, arange_attrs, infer_arange, arange_compute, "arange", "", "Range",
             GPUC_T_NUMBERS, GPUC_T_LIKE),
    MOVES("eye", 0, 0, eye_attrs, infer_eye, eye_compute, "", "", "EyeLike"),
    MOVES_OF("trilu", 1, 2, trilu_attrs, infer_trilu, trilu_compute, "trilu", "", "Trilu", GPUC_T_ANY,
             GPUC_T_INTS),
    MOVES_OF("meshgrid", 1, -1, meshgrid_attrs, infer_meshgrid, meshgrid_compute, "meshgrid", "", "",
             GPUC_T_ANY, GPUC_T_LIKE),
    MOVES_OF("unravel_index", 2, 2, NULL, infer_unravel_index, unravel_index_compute, "unravel_index", "", "",
             GPUC_T_INTS),
    MOVES_OF("sequence_mask", 2, 2, mask_attrs, infer_sequence_mask, sequence_mask_compute, "sequence_mask",
             "", "", GPUC_T_ANY, GPUC_T_INTS),
    MOVES_OF("reverse_sequence", 2, 2, sequence_attrs, infer_reverse_sequence, reverse_sequence_compute,
             "reverse_sequence", "", "ReverseSequence", GPUC_T_ANY, GPUC_T_INTS),
    MOVES_OF("matrix_set_diag", 2, 2, diag_attrs, infer_matrix_set_diag, matrix_set_diag_compute,
             "matrix_set_diag", "", "", GPUC_T_ANY, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_index_count = sizeof gpuc_topi_ops_index / sizeof gpuc_topi_ops_index[0];
