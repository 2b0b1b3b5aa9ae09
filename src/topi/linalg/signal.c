/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms of any length as sums, windows, mel filters. */
#include <math.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

/* ---- Transforms. The last dimension is 1 (real) or 2 (complex: real and imaginary part). ---- */

static gpuc_expr real(gpuc_dtype t, gpuc_ctx *ctx, double v)
{
    return gpuc_imm(ctx, t, v);
}

/* cos and sin of 2 pi m / n for m in [0, n), in rows of 2. */
static gpuc_tensor *make_circle(gpuc_ctx *ctx, gpuc_dtype t, int64_t n)
{
    gpuc_expr vars[2], dims[] = {gpuc_int(ctx, n), gpuc_int(ctx, 2)};
    gpuc_tensor_type type = {.ndim = 2, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, vars);
    gpuc_expr angle = gpuc_mul(ctx, gpuc_cast(ctx, t, vars[0]), real(t, ctx, 2 * M_PI / (double)n));
    gpuc_expr value = gpuc_select(ctx, gpuc_eq(ctx, vars[1], gpuc_int(ctx, 0)), gpuc_call1(ctx, "cos", angle),
                                  gpuc_call1(ctx, "sin", angle));
    return gpuc_topi_compute(ctx, "circle", "table", 2, axes, value);
}

/* The contribution of one part of an input element to one part of an output: x[i] * exp(-+ 2 pi i m / n). */
static gpuc_expr turned(gpuc_ctx *ctx, gpuc_tensor *circle, gpuc_expr m, gpuc_expr in_part,
                        gpuc_expr out_part, bool inverse)
{
    gpuc_expr same = gpuc_eq(ctx, in_part, out_part), one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    gpuc_expr at[] = {m, gpuc_select(ctx, same, zero, one)}, w = gpuc_te_read(ctx, circle, 2, at);
    /* Forward, the sine goes from real to imaginary with a minus, and back with a plus. */
    gpuc_expr minus =
        gpuc_and(ctx, gpuc_ne(ctx, in_part, out_part), gpuc_eq(ctx, out_part, inverse ? zero : one));
    return gpuc_select(ctx, minus, gpuc_sub(ctx, real(gpuc_expr_dtype(w), ctx, 0), w), w);
}

static int64_t parts_of(const gpuc_op_call *call, int input)
{
    const gpuc_tensor_type *t = &call->in[input];
    int64_t parts = t->ndim ? gpuc_topi_static_dim(call, input, t->ndim - 1) : 0;
    if (parts != 1 && parts != 2)
        gpuc_topi_fail(call, "the last dimension of input %d must be 1 (real) or 2 (complex)", input);
    return parts;
}

static int64_t length_of(const gpuc_op_call *call, const char *name)
{
    int64_t n = gpuc_attrs_get_int(call->attrs, name, 0);
    if (n < 1) gpuc_topi_fail(call, "%s is %lld, must be positive", name, (long long)n);
    return n;
}

/* The spectrum of real numbers is symmetric: one half gives the other. */
static int64_t bins_of(const gpuc_op_call *call, int64_t length)
{
    return gpuc_attrs_get_int(call->attrs, "onesided", 0) ? length / 2 + 1 : length;
}

static int dft_axis(const gpuc_op_call *call)
{
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    if (axis == ndim - 1) gpuc_topi_fail(call, "axis is the last dimension, which has the parts of numbers");
    return axis;
}

static void infer_dft(gpuc_op_call *call)
{
    const gpuc_tensor_type *t = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    bool inverse = gpuc_attrs_get_int(call->attrs, "inverse", 0);
    if (t->ndim < 2) gpuc_topi_fail(call, "takes two dimensions or more, not %d", t->ndim);
    if (gpuc_attrs_get_int(call->attrs, "onesided", 0) && (inverse || parts_of(call, 0) == 2))
        gpuc_topi_fail(call, "onesided is for transforms of real numbers");
    parts_of(call, 0);
    for (int k = 0; k < t->ndim; k++) dims[k] = t->dims[k];
    dims[dft_axis(call)] = gpuc_int(call->ctx, bins_of(call, length_of(call, "length")));
    dims[t->ndim - 1] = gpuc_int(call->ctx, 2);
    gpuc_topi_set_out(call, 0, t->dtype, t->ndim, dims);
}

/* value, scaled and in the type of the result */
static gpuc_tensor *scaled(const gpuc_op_call *call, gpuc_tensor *sum, double factor)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = call->out[0].dtype, work = gpuc_te_dtype(sum);
    if (factor == 1) return gpuc_topi_rounded(call, sum);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr value = gpuc_mul(ctx, gpuc_te_read(ctx, sum, call->out[0].ndim, vars), real(work, ctx, factor));
    return gpuc_topi_compute(ctx, "scaled", "elemwise", call->out[0].ndim, axes, gpuc_cast(ctx, t, value));
}

/* Inputs beyond the length are left out, missing ones are zeros. */
static void dft_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = dft_axis(call);
    bool inverse = gpuc_attrs_get_int(call->attrs, "inverse", 0);
    int64_t n = length_of(call, "length");
    gpuc_dtype work = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_tensor *circle = make_circle(ctx, work, n);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], length = gpuc_int(ctx, n);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr used = gpuc_min(ctx, length, call->in[0].dims[axis]);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, used, "i"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, parts_of(call, 0)), "part")};
    gpuc_expr i = gpuc_iter_var(over[0]), part = gpuc_iter_var(over[1]);
    for (int k = 0; k < ndim; k++) index[k] = vars[k];
    index[axis] = i;
    index[ndim - 1] = part;
    gpuc_expr m = gpuc_floormod_(ctx, gpuc_mul(ctx, i, vars[axis]), length);
    gpuc_expr value = gpuc_cast(ctx, work, gpuc_te_read(ctx, ins[0], ndim, index));
    value = gpuc_mul(ctx, value, turned(ctx, circle, m, part, vars[ndim - 1], inverse));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", value, 2, over);
    outs[0] = scaled(call, gpuc_topi_compute(ctx, "dft", "", ndim, axes, sum), inverse ? 1 / (double)n : 1);
}

/* signal [batch, time, parts], window [length]: [batch, frames, bins, 2] */
static void infer_stft(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *t = &call->in[0];
    int64_t length = length_of(call, "length"), step = length_of(call, "step");
    if (t->ndim != 3) gpuc_topi_fail(call, "the signal has %d dimensions, needs 3", t->ndim);
    if (parts_of(call, 0) == 2 && gpuc_attrs_get_int(call->attrs, "onesided", 0))
        gpuc_topi_fail(call, "onesided is for transforms of real numbers");
    if (call->num_in > 1 && (call->in[1].ndim != 1 || gpuc_topi_static_dim(call, 1, 0) != length))
        gpuc_topi_fail(call, "the window must have %lld elements", (long long)length);
    gpuc_expr rest = gpuc_sub(ctx, t->dims[1], gpuc_int(ctx, length));
    gpuc_topi_require(call, gpuc_ge(ctx, rest, gpuc_int(ctx, 0)), "a frame of %lld is longer than the signal",
                      (long long)length);
    gpuc_expr frames = gpuc_add(ctx, gpuc_floordiv_(ctx, rest, gpuc_int(ctx, step)), gpuc_int(ctx, 1));
    gpuc_expr dims[] = {t->dims[0], frames, gpuc_int(ctx, bins_of(call, length)), gpuc_int(ctx, 2)};
    gpuc_topi_set_out(call, 0, t->dtype, 4, dims);
}

static void stft_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int64_t n = length_of(call, "length"), step = length_of(call, "step");
    gpuc_dtype work = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_tensor *circle = make_circle(ctx, work, n);
    gpuc_expr vars[4], length = gpuc_int(ctx, n);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, length, "i"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, parts_of(call, 0)), "part")};
    gpuc_expr i = gpuc_iter_var(over[0]), part = gpuc_iter_var(over[1]);
    gpuc_expr at[] = {vars[0], gpuc_add(ctx, gpuc_mul(ctx, vars[1], gpuc_int(ctx, step)), i), part};
    gpuc_expr value = gpuc_cast(ctx, work, gpuc_te_read(ctx, ins[0], 3, at));
    if (call->num_in > 1)
        value = gpuc_mul(ctx, value, gpuc_cast(ctx, work, gpuc_te_read(ctx, ins[1], 1, &i)));
    gpuc_expr m = gpuc_floormod_(ctx, gpuc_mul(ctx, i, vars[2]), length);
    value = gpuc_mul(ctx, value, turned(ctx, circle, m, part, vars[3], false));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", value, 2, over);
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "stft", "", 4, axes, sum));
}

/* ---- Windows: a0 - a1 cos(x) + a2 cos(2 x), x from 0 to 2 pi ---- */

static gpuc_dtype dtype_of(const gpuc_op_call *call)
{
    gpuc_dtype t = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    return t.bits ? t : GPUC_FLOAT32;
}

static void infer_window(gpuc_op_call *call)
{
    int64_t size = gpuc_attrs_get_int(call->attrs, "size", 0);
    if (size < 0) gpuc_topi_fail(call, "size is %lld", (long long)size);
    if (gpuc_attrs_find(call->attrs, "terms")->n != 3) gpuc_topi_fail(call, "terms does not have 3 numbers");
    gpuc_expr n = gpuc_int(call->ctx, size);
    gpuc_topi_set_out(call, 0, dtype_of(call), 1, &n);
}

static void window_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    gpuc_ctx *ctx = call->ctx;
    const double *a = gpuc_attrs_find(call->attrs, "terms")->floats;
    gpuc_dtype t = call->out[0].dtype, work = gpuc_is_float(t) ? gpuc_topi_accumulator(t)
                                              : t.bits > 16    ? GPUC_FLOAT64
                                                               : GPUC_FLOAT32;
    int64_t period =
        gpuc_attrs_get_int(call->attrs, "size", 0) - !gpuc_attrs_get_int(call->attrs, "periodic", 1);
    gpuc_expr i;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], &i);
    gpuc_expr x =
        gpuc_mul(ctx, gpuc_cast(ctx, work, i), real(work, ctx, period ? 2 * M_PI / (double)period : 0));
    gpuc_expr first = gpuc_mul(ctx, real(work, ctx, a[1]), gpuc_call1(ctx, "cos", x));
    gpuc_expr twice = gpuc_call1(ctx, "cos", gpuc_mul(ctx, x, real(work, ctx, 2)));
    gpuc_expr value = gpuc_add(ctx, gpuc_sub(ctx, real(work, ctx, a[0]), first),
                               gpuc_mul(ctx, real(work, ctx, a[2]), twice));
    outs[0] = gpuc_topi_compute(ctx, "window", "injective", 1, axes, gpuc_cast(ctx, t, value));
}

/* ---- Mel filters: triangles over the bins of a spectrum, even in mels. Inputs: sample rate, lower and upper
 * frequency, one number each. ---- */

static void infer_mel(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    int64_t bands = length_of(call, "num_mel_bins"), length = length_of(call, "dft_length");
    for (int i = 0; i < 3; i++)
        if (call->in[i].ndim) gpuc_topi_fail(call, "input %d must be one number", i);
    gpuc_expr dims[] = {gpuc_int(ctx, length / 2 + 1), gpuc_int(ctx, bands)};
    gpuc_topi_set_out(call, 0, dtype_of(call), 2, dims);
}

static gpuc_expr mel_of(gpuc_ctx *ctx, gpuc_expr hertz)
{
    gpuc_expr part = gpuc_div(ctx, hertz, real(GPUC_FLOAT32, ctx, 700));
    gpuc_expr log = gpuc_call1(ctx, "log", gpuc_add(ctx, part, real(GPUC_FLOAT32, ctx, 1)));
    return gpuc_mul(ctx, log, real(GPUC_FLOAT32, ctx, 2595 / M_LN10));
}

static void mel_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype f = GPUC_FLOAT32;
    gpuc_expr vars[2], in[3], edge[3], one = real(f, ctx, 1), zero = real(f, ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    double bands = (double)length_of(call, "num_mel_bins"), length = (double)length_of(call, "dft_length");
    for (int i = 0; i < 3; i++) in[i] = gpuc_cast(ctx, f, gpuc_te_read(ctx, ins[i], 0, NULL));
    gpuc_expr low = mel_of(ctx, in[1]), high = mel_of(ctx, in[2]);
    gpuc_expr step = gpuc_div(ctx, gpuc_sub(ctx, high, low), real(f, ctx, bands + 2));
    for (int i = 0; i < 3; i++) { /* the bins where the triangle starts, peaks and ends */
        gpuc_expr at = gpuc_add(ctx, gpuc_cast(ctx, f, vars[1]), real(f, ctx, i));
        gpuc_expr mel = gpuc_add(ctx, gpuc_mul(ctx, at, step), low);
        gpuc_expr power = gpuc_call1(ctx, "exp", gpuc_mul(ctx, mel, real(f, ctx, M_LN10 / 2595)));
        gpuc_expr hertz = gpuc_mul(ctx, gpuc_sub(ctx, power, one), real(f, ctx, 700));
        edge[i] =
            gpuc_call1(ctx, "floor", gpuc_div(ctx, gpuc_mul(ctx, hertz, real(f, ctx, length + 1)), in[0]));
    }
    gpuc_expr bin = gpuc_cast(ctx, f, vars[0]), rise = gpuc_sub(ctx, edge[1], edge[0]),
              fall = gpuc_sub(ctx, edge[2], edge[1]);
    gpuc_expr up = gpuc_div(ctx, gpuc_sub(ctx, bin, edge[0]), gpuc_max(ctx, rise, one)),
              down = gpuc_div(ctx, gpuc_sub(ctx, edge[2], bin), gpuc_max(ctx, fall, one));
    up = gpuc_select(ctx, gpuc_eq(ctx, rise, zero), one, up); /* then its start is its peak */
    gpuc_expr before = gpuc_and(ctx, gpuc_ge(ctx, bin, edge[0]), gpuc_le(ctx, bin, edge[1]));
    gpuc_expr behind = gpuc_and(ctx, gpuc_ge(ctx, bin, edge[1]), gpuc_lt(ctx, bin, edge[2]));
    gpuc_expr value = gpuc_select(ctx, behind, down, gpuc_select(ctx, before, up, zero));
    outs[0] = gpuc_topi_compute(ctx, "mel", "injective", 2, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

#define LENGTH(nm)                                                                                           \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .required = true, .max = GPUC_OP_MAX_WINDOW                       \
    }
/* The extent of the axis, where it is not given. */
static void take_length(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int64_t axis = gpuc_attrs_get_int(w->attrs, "axis", -2), d;
    if (value) gpuc_op_set_attr(w, spec->name, value);
    if (value || !w->in || w->num_written < 1) return;
    if (axis < 0) axis += w->in[0].ndim;
    bool known =
        axis >= 0 && axis < w->in[0].ndim && w->in[0].dims[axis] && gpuc_expr_is_int(w->in[0].dims[axis], &d);
    if (known)
        gpuc_op_set_attr(w, spec->name, &(gpuc_attr){.name = spec->name, .kind = GPUC_ATTR_INT, .i = d});
}

ATTRS(dft_attrs, LENGTH("length"), INT("axis", -2), INT("inverse", 0), INT("onesided", 0),
      {.name = "length",
       .kind = GPUC_ATTR_INT,
       .take = take_length,
       .always = true,
       .about = "the extent of the axis where it is not given"})
#define AS_ONNX(nm)                                                                                          \
    REFUSED(nm, INT, "frames come before frequencies, as in ONNX, whose attributes are length and step")
ATTRS(stft_attrs, LENGTH("length"), LENGTH("step"), INT("onesided", 1), AS_ONNX("n_fft"),
      AS_ONNX("hop_length"), AS_ONNX("win_length"), AS_ONNX("normalized"))
ATTRS(window_attrs, LENGTH("size"), INT("periodic", 1), {.name = "terms", .kind = GPUC_ATTR_FLOATS},
      DTYPE("dtype"))
ATTRS(mel_attrs, LENGTH("num_mel_bins"), LENGTH("dft_length"), DTYPE("dtype"))

#define ROW(nm, lo, hi, ts, at, inf, fn, pt, tp, on)                                                         \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .types = ts, .attrs = at, .infer = inf, .compute = fn,       \
        .pattern = pt, .topi = tp, .nnvm = "", .onnx = on                                                    \
    }
#define SET(...)                                                                                             \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

const gpuc_op gpuc_topi_ops_signal[] = {
    ROW("dft", 1, 1, SET(GPUC_T_FLOATS), dft_attrs, infer_dft, dft_compute, GPUC_FUSE_OUT_FUSABLE, "dft",
        "DFT"),
    ROW("stft", 1, 2, SET(GPUC_T_FLOATS, GPUC_T_LIKE), stft_attrs, infer_stft, stft_compute,
        GPUC_FUSE_OUT_FUSABLE, "stft", "STFT"),
    ROW("window", 0, 0, SET(GPUC_T_NUMBERS), window_attrs, infer_window, window_compute, GPUC_FUSE_INJECTIVE,
        "window", "HannWindow,HammingWindow,BlackmanWindow"),
    ROW("mel_weight_matrix", 3, 3, SET(GPUC_T_INTS, GPUC_T_FLOATS, GPUC_T_LIKE_1), mel_attrs, infer_mel,
        mel_compute, GPUC_FUSE_INJECTIVE, "mel_weight_matrix", "MelWeightMatrix"),
};
const size_t gpuc_topi_ops_signal_count = sizeof gpuc_topi_ops_signal / sizeof gpuc_topi_ops_signal[0];
