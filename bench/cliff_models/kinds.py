# SPDX-License-Identifier: Apache-2.0
"""One kind of work each, which networks contain and on which a compiler can fall far behind."""
import numpy as np

from .net import model

# ---- Order, and places that data names ----


@model("order", top_of_many=(1, 1100000, 100), top_of_rows=(512, 1000, 5), sort_rows=(4, 30000, 30000),
       sort_short=(2000, 100, 100))
def top(b, rows, n, k):
    b.output(*(r := b.TopK(b.given([rows, n]), [k], axis=1, results=2))[:1])
    b.output(r[1], dtype=np.int64)


@model("order")
def sort_columns(b):
    b.output(b.TopK(b.given([400, 12, 40]), [400], axis=0, largest=0, results=2)[0])


@model("order")
def boxes(b):
    corner = b.rng.random((1, 1800, 2)) * 500
    box = np.concatenate([corner, corner + 8 + 60 * b.rng.random((1, 1800, 2))], 2).astype(np.float32)
    scores = b.given(b.rng.random((1, 12, 1800)).astype(np.float32))
    b.output(b.NonMaxSuppression(b.given(box), scores, [70], .5, .6), dtype=np.int64)


@model("scatter", scatter_add=("add",), scatter_max=("max",))
def scatter_rows(b, reduction):
    """Messages along the edges of a graph come together at its nodes."""
    index = b.Expand(b.Unsqueeze(b.indices(2500, 20000), [1]), [20000, 56])
    b.output(b.ScatterElements(np.zeros((2500, 56), np.float32), index, b.given([20000, 56]), axis=0, reduction=reduction))


@model("scatter")
def scatter_nd_add(b):
    b.output(b.ScatterND(b.given([90, 70, 24]), b.Concat(b.indices(90, 5000, 1), b.indices(70, 5000, 1), axis=1),
                         b.given([5000, 24]), reduction="add"))


@model("scatter")
def scatter_free(b):
    """No two columns have the same indices."""
    b.output(b.ScatterElements(b.given([600, 128]), b.indices(600, 900, 128), b.given([900, 128]), axis=0, reduction="add"))


@model("sampling")
def roi(b):
    corner = b.rng.random((110, 2)) * 420
    rois = np.concatenate([corner, corner + 25 + 180 * b.rng.random((110, 2))], 1).astype(np.float32)
    b.output(b.RoiAlign(b.given([1, 100, 38, 38]), b.given(rois), np.zeros(110, np.int64), output_height=7, output_width=7,
                        sampling_ratio=2, spatial_scale=1 / 16))


@model("sampling")
def resize_cubic(b):
    b.output(b.Resize(b.given([1, 24, 60, 60]), None, [1.0, 1.0, 2.0, 2.0], mode="cubic",
                      coordinate_transformation_mode="half_pixel"))


@model("sampling")
def resize_linear(b):
    b.output(b.Resize(b.given([1, 48, 45, 45]), None, None, [1, 48, 100, 100], mode="linear",
                      coordinate_transformation_mode="align_corners"))


@model("sampling")
def grid_sample(b):
    grid = (b.rng.random((2, 70, 70, 2)) * 2.2 - 1.1).astype(np.float32)
    b.output(b.GridSample(b.given([2, 40, 50, 50]), b.given(grid), mode="bilinear", align_corners=0))


@model("sampling")
def deform_conv(b):
    b.opset = 19
    offsets = b.given(b.normal(1, 18, 28, 28))
    b.output(b.DeformConv(b.given([1, 32, 28, 28]), b.weight(40, 32, 3, 3), offsets, kernel_shape=[3, 3], pads=[1] * 4))


# ---- Types ----


@model("types")
def half_conv(b):
    b.tolerance, c, x = 2e-2, 3, b.Cast(b.given([1, 3, 92, 92]), to=10)
    for co, stride in ((32, 2), (60, 1), (64, 2), (100, 1)):
        x = b.Relu(b.Conv(x, b.weight(co, c, 3, 3, dtype=np.float16), kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4))
        c = co
    b.output(b.Cast(x, to=1))


@model("types")
def half_matmul(b):
    b.tolerance, x = 2e-2, b.Cast(b.given([90, 300]), to=10)
    for _ in range(3):
        x = b.Tanh(b.MatMul(x, b.normal(300, 300, gain=.06, dtype=np.float16)))
    b.output(b.Cast(x, to=1))


@model("types")
def half_chain(b):
    b.tolerance, x = 2e-2, b.given(b.normal(300, 1000, dtype=np.float16))
    b.output(b.Mul(b.Sigmoid(b.Add(x, b.normal(1000, dtype=np.float16))), x), dtype=np.float16)


@model("types")
def double_mlp(b):
    x = b.given(b.normal(240, 150, dtype=np.float64))
    for _ in range(3):
        x = b.Tanh(b.MatMul(x, b.normal(150, 150, gain=.08, dtype=np.float64)))
    b.output(x, dtype=np.float64)


@model("types")
def int_matmul(b):
    a, w = (b.rng.integers(0, 255, s).astype(np.uint8) for s in ((100, 384), (384, 500)))
    b.output(b.MatMulInteger(b.given(a), w, np.array(120, np.uint8), np.array(131, np.uint8)), dtype=np.int32)


# ---- Spectra and recurrences ----


@model("spectra", dft_1024=(1024, 44), dft_1000=(1000, 44), dft_prime=(499, 40))
def dft(b, n, rows):
    b.output(b.DFT(b.given([rows, n, 1]), axis=1, onesided=1))


@model("spectra")
def stft_400(b):
    b.output(b.STFT(b.given([1, 24000, 1]), 160, np.hanning(400).astype(np.float32), 400))


@model("spectra")
def inverse_dft(b):
    b.output(b.DFT(b.DFT(b.given([60, 256, 2]), axis=1), axis=1, inverse=1))


@model("recurrences", gru_wide=("GRU", 42, 1, 448, 2), lstm_wide=("LSTM", 42, 1, 448, 2), gru_batch=("GRU", 42, 24, 112, 2),
       lstm_512=("LSTM", 30, 1, 512, 1), rnn_batch=("RNN", 60, 16, 200, 1))
def recurrence(b, kind, steps, batch, hidden, directions):
    b.output(b.recurrent(kind, b.given([steps, batch, 150]), 150, hidden, directions))


# ---- Element by element ----


@model("elements", one_asin=("Asin",), one_acos=("Acos",), one_atan=("Atan",), one_sin=("Sin",), one_cos=("Cos",),
       one_erf=("Erf",))
def one(b, kind):
    b.output(b.op(kind, b.Tanh(b.given([1000, 1000]))))


@model("elements")
def one_mod(b):
    b.output(b.Mod(b.given(b.normal(700, 700, gain=30)), b.normal(700, gain=2), fmod=1))


@model("elements")
def one_pow(b):
    b.output(b.Pow(b.Add(b.Abs(b.given([700, 700])), .1), b.normal(700)))


@model("elements")
def sines(b):
    x = b.given([5500, 48])
    for _ in range(3):
        x = b.Sin(b.linear(x, 48, 48, gain=12))
    b.output(x)


@model("elements")
def long_chain(b):
    x = b.given([1, 60, 94, 94])
    for k in range(10):
        x = b.Tanh(b.Add(b.silu(x), .11 * k))
        x = b.Sqrt(b.Abs(b.Sub(x, b.Exp(b.Neg(x)))))
    b.output(x)


@model("elements", lead_one=([1, 1000, 1001],), lead_ones=([1, 1, 1, 999, 1003],), lead_inner=([1, 37, 1, 27001],))
def lead(b, shape):
    """A first dimension of 1, and elements that are no multiple of a block."""
    b.output(b.Sub(b.Div(b.given(shape), 127.3), .97))


@model("elements")
def cumulate(b):
    b.output(b.CumSum(b.given([300, 2000]), 1), b.CumSum(b.given([2000, 300]), 0))


# ---- Products and convolutions of odd sizes ----


@model("products", matmul_576=(196, 144, 576), odd_vocab=(1, 256, 1001), vocab_30522=(1, 128, 30522), odd_matmul=(77, 301, 203))
def matmul(b, m, k, n):
    b.output(b.MatMul(b.given([m, k]), b.normal(k, n, gain=k ** -.5)))


@model("products")
def vocabulary(b):
    y = b.MatMul(b.given([1, 300]), b.normal(300, 36000, gain=.06))
    b.output(b.Softmax(y, axis=-1))
    b.output(b.ArgMax(y, axis=-1, keepdims=0), dtype=np.int64)


@model("products")
def einsum_pair(b):
    b.output(b.Einsum(b.given([8, 40, 16, 16]), b.given([8, 24, 16, 16]), equation="bchw,bdhw->bcd"))


@model("products")
def many_small(b):
    b.output(b.MatMul(b.given([3000, 9, 7]), b.given([3000, 7, 11])))


@model("convolutions")
def conv_116(b):
    x = b.conv(b.given([1, 116, 14, 14]), 116, 116, 1, act="Relu")
    b.output(b.conv(b.conv(x, 116, 116, 3, group=116), 116, 116, 1))


@model("convolutions", depthwise_31=(60, 56, 31), depthwise_7=(96, 56, 7), depthwise_odd=(90, 30, 5))
def depthwise(b, c, size, k):
    b.output(b.conv(b.given([1, c, size, size]), c, c, k, group=c))


@model("convolutions")
def conv1d_stride(b):
    b.output(b.conv(b.given([1, 1, 32000]), 1, 257, 512, stride=160, pads=[0, 0], rank=1))


@model("convolutions")
def conv1d_long(b):
    b.output(b.conv(b.given([1, 64, 4000]), 64, 64, 9, rank=1, dilation=4))


@model("convolutions")
def conv_3d(b):
    b.output(b.conv(b.conv(b.given([1, 3, 12, 40, 40]), 3, 24, act="Relu", rank=3), 24, 32, stride=2, rank=3))


@model("convolutions")
def conv_transposed(b):
    b.output(b.ConvTranspose(b.given([1, 72, 24, 24]), b.normal(72, 36, 4, 4, gain=.06), kernel_shape=[4, 4], strides=[2, 2],
                             pads=[1] * 4))


@model("convolutions")
def channels_last(b):
    """As exporters from TensorFlow write it: transposes around each convolution."""
    x, c = b.given([1, 190, 190, 3]), 3
    for co, stride in ((16, 2), (32, 2), (64, 1), (96, 2)):
        y = b.Conv(b.Transpose(x, perm=[0, 3, 1, 2]), b.weight(co, c, 3, 3), kernel_shape=[3, 3], strides=[stride] * 2,
                   auto_pad="SAME_UPPER")
        x, c = b.Relu(b.Add(b.Transpose(y, perm=[0, 2, 3, 1]), b.normal(co, gain=.1))), co
    b.output(x)
