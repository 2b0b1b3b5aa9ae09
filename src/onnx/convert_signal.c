/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, windows, mel filters. */
#include "onnx/onnx.h"

/* The number of an input that decides a shape, or otherwise if it is absent. */
static int64_t size_input(gpuc_onnx_node *n, int i, int64_t otherwise)
{
    int count;
    if (!gpuc_onnx_has(n, i)) return otherwise;
    const int64_t *v = gpuc_onnx_in_ints(n, i, &count);
    if (count != 1) gpuc_onnx_fail(n, "input %d has %d numbers, needs one", i, count);
    return v[0];
}

/* An input whose last dimension has the parts of numbers; before opset 20, real ones may lack it. */
static gpuc_rexpr *with_parts(gpuc_onnx_node *n, int i, int rank)
{
    static const int64_t last = -1;
    gpuc_rexpr *x = gpuc_onnx_in(n, i);
    if (gpuc_onnx_type(n, i)->ndim >= rank) return x;
    return gpuc_onnx_op1(n, "expand_dims", gpuc_attrs_ints(n->ctx, NULL, "axis", 1, &last), x);
}

static void transform(gpuc_onnx_node *n, gpuc_rexpr *x, int64_t axis)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    int64_t extent = -1;
    int k = gpuc_onnx_axis(n, axis, t->ndim);
    gpuc_expr_is_int(t->dims[k], &extent);
    int64_t length = size_input(n, 1, extent);
    if (length < 0)
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                   "the extent of axis %d is not known when building, and dft_length is not given%s", k,
                   gpuc_onnx_shape_hint(n->m));
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "length", length);
    a = gpuc_attrs_int(n->ctx, gpuc_attrs_int(n->ctx, a, "axis", k), "inverse",
                       gpuc_onnx_int(n, "inverse", 0));
    n->out[0] =
        gpuc_onnx_op1(n, "dft", gpuc_attrs_int(n->ctx, a, "onesided", gpuc_onnx_int(n, "onesided", 0)), x);
}

static void dft_17(gpuc_onnx_node *n)
{
    transform(n, with_parts(n, 0, 2), gpuc_onnx_int(n, "axis", 1));
}

static void dft_20(gpuc_onnx_node *n)
{
    transform(n, with_parts(n, 0, 2), size_input(n, 2, -2));
}

static void stft(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[] = {with_parts(n, 0, 3), gpuc_onnx_has(n, 2) ? n->in[2] : NULL};
    int64_t window = args[1] && !gpuc_onnx_has(n, 3) ? gpuc_onnx_dims(n, 2)[0] : 0,
            length = size_input(n, 3, window);
    if (length < 1) gpuc_onnx_fail(n, "neither a window nor frame_length says how long a frame is");
    if (args[1]) args[1] = gpuc_onnx_list_of(n, 2, length, "the window is not of one frame");
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "length", length);
    a = gpuc_attrs_int(n->ctx, a, "step", size_input(n, 1, 0));
    a = gpuc_attrs_int(n->ctx, a, "onesided", gpuc_onnx_int(n, "onesided", 1));
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, args[1] ? 2 : 1, args);
}

/* ---- Windows ---- */

static gpuc_dtype output_type(gpuc_onnx_node *n)
{
    return gpuc_onnx_dtype(n->ctx, gpuc_onnx_int(n, "output_datatype", 1), "attribute 'output_datatype'");
}

static void window(gpuc_onnx_node *n, double a0, double a1, double a2)
{
    double terms[] = {a0, a1, a2};
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "size", size_input(n, 0, 0));
    a = gpuc_attrs_int(n->ctx, a, "periodic", gpuc_onnx_int(n, "periodic", 1));
    a = gpuc_attrs_dtype(n->ctx, gpuc_attrs_floats(n->ctx, a, "terms", 3, terms), "dtype", output_type(n));
    n->out[0] = gpuc_relay_op(n->ctx, "window", a, 0, NULL);
}

static void hann(gpuc_onnx_node *n)
{
    window(n, 0.5, 0.5, 0);
}

static void hamming(gpuc_onnx_node *n)
{
    window(n, 25.0 / 46, 21.0 / 46, 0);
}

static void blackman(gpuc_onnx_node *n)
{
    window(n, 0.42, 0.5, 0.08);
}

static void mel_weight_matrix(gpuc_onnx_node *n)
{
    gpuc_rexpr *args[3];
    for (int i = 0; i < 3; i++) args[i] = gpuc_onnx_reshaped(n, gpuc_onnx_in(n, 2 + i), 0, NULL);
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "num_mel_bins", size_input(n, 0, 0));
    a = gpuc_attrs_int(n->ctx, a, "dft_length", size_input(n, 1, 0));
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n),
                              gpuc_attrs_dtype(n->ctx, a, "dtype", output_type(n)), 3, args);
}

const gpuc_onnx_row gpuc_onnx_rows_signal[] = {
    {"DFT", 17, dft_17},
    {"DFT", 20, dft_20},
    {"STFT", 17, stft},
    {"HannWindow", 17, hann},
    {"HammingWindow", 17, hamming},
    {"BlackmanWindow", 17, blackman},
    {"MelWeightMatrix", 17, mel_weight_matrix},
    {NULL, 0, NULL},
};
