# SPDX-License-Identifier: Apache-2.0
"""Sound and other series."""
import numpy as np

from .net import model


def mel(b, x, bins, bands):
    """Logarithm of the bands of a spectrum's power; x: [B, frames, bins, 2]."""
    power = b.ReduceSum(b.Mul(x, x), [3], keepdims=0)
    return b.Log(b.Add(b.MatMul(power, np.abs(b.normal(bins, bands, gain=.05))), 1e-6))


@model("sound")
def wavenet(b):
    """Dilated causal convolutions with gates; what each gives is summed."""
    n, x, total = 64, b.conv(b.given([1, 1, 3000]), 1, 64, 1, rank=1), None
    for k in range(8):
        d = 1 << k
        t, s = (b.conv(x, n, n, 2, dilation=d, pads=[d, 0], rank=1) for _ in range(2))
        y = b.Mul(b.Tanh(t), b.Sigmoid(s))
        skip = b.conv(y, n, n, 1, rank=1)
        total = skip if total is None else b.Add(total, skip)
        x = b.Add(x, b.conv(y, n, n, 1, rank=1))
    b.output(b.conv(b.Relu(b.conv(b.Relu(total), n, 128, 1, rank=1)), 128, 256, 1, rank=1))


@model("sound")
def speech_encoder(b):
    """As wav2vec: strided convolutions of the samples, group norm, a wide grouped convolution for places."""
    x, c = b.given([1, 1, 12000]), 1
    for i, (k, stride) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (2, 2))):
        x, c = b.conv(x, c, 96, k, stride=stride, pads=[0, 0], rank=1, bias=False), 96
        x = b.group_norm(x, 96, 96, [2399]) if i == 0 else x
        x = b.act(x, "gelu")
    y = b.conv(x, c, c, 32, pads=[16, 15], group=8, rank=1, act="gelu")
    y = b.Transpose(b.Add(x, y), perm=[0, 2, 1])
    b.output(b.encoder(b.encoder(y, c, 4), c, 4))


@model("sound")
def vocoder(b):
    """As HiFi-GAN."""
    x, c = b.conv(b.given([1, 80, 30]), 80, 96, 7, rank=1), 96
    for up in (8, 8):
        x = b.ConvTranspose(b.LeakyRelu(x, alpha=.1), b.normal(c, c // 2, 2 * up, gain=.06), kernel_shape=[2 * up],
                            strides=[up], pads=[up // 2] * 2)
        c //= 2
        paths = []
        for k in (3, 7):
            y = x
            for d in (1, 3, 5):
                z = b.conv(b.LeakyRelu(y, alpha=.1), c, c, k, dilation=d, rank=1)
                y = b.Add(y, b.conv(b.LeakyRelu(z, alpha=.1), c, c, k, rank=1))
            paths.append(y)
        x = b.Div(b.Add(*paths), 2.0)
    b.output(b.Tanh(b.conv(b.LeakyRelu(x, alpha=.1), c, 1, 7, rank=1)))


@model("sound")
def mel_front(b):
    x = b.STFT(b.given([1, 16000, 1]), 160, np.hanning(512).astype(np.float32), 512)
    y = b.Transpose(mel(b, x, 257, 40), perm=[0, 2, 1])
    mean = b.ReduceMean(y, [2])
    y = b.Div(b.Sub(y, mean), b.Sqrt(b.Add(b.ReduceMean(b.Mul(b.Sub(y, mean), b.Sub(y, mean)), [2]), 1e-5)))
    b.output(b.conv(b.conv(y, 40, 96, rank=1, act="gelu"), 96, 96, stride=2, rank=1, act="gelu"))


@model("sound")
def fourier_front(b):
    """A Fourier transform as exporters write it that have none: two convolutions with its basis."""
    n, x = 400, b.given([1, 1, 16000])
    angle = 2 * np.pi / n * np.outer(np.arange(201), np.arange(n))
    window = np.hanning(n)
    parts = [b.Conv(x, (f(angle) * window)[:, None].astype(np.float32), kernel_shape=[n], strides=[160],
                    pads=[200, 200]) for f in (np.cos, np.sin)]
    power = b.Add(*(b.Mul(p, p) for p in parts))
    b.output(b.Log(b.Add(b.MatMul(np.abs(b.normal(64, 201)), power), 1e-6)))


@model("sound")
def keyword_spotter(b):
    x = b.conv(b.given([1, 1, 49, 40]), 1, 60, [10, 4], stride=2, pads=[5, 1, 4, 2], act="Relu")
    for _ in range(4):
        x = b.conv(b.conv(x, 60, 60, group=60, act="Relu"), 60, 60, 1, act="Relu")
    b.output(b.Softmax(b.linear(b.ReduceMean(x, [2, 3], keepdims=0), 60, 12)))


@model("sound")
def sound_separation(b):
    """As Demucs: strided convolutions with gated units, a recurrence, and the way back."""
    x, c, kept = b.given([1, 2, 4096]), 2, []
    for co in (24, 48, 96):
        x = b.conv(x, c, co, 8, stride=4, pads=[2, 2], rank=1, act="Relu")
        p, g = b.Split(b.conv(x, co, 2 * co, 1, rank=1), axis=1, num_outputs=2, results=2)
        x, c = b.Mul(p, b.Sigmoid(g)), co
        kept.append(x)
    y = b.recurrent("LSTM", b.Transpose(x, perm=[2, 0, 1]), c, c, 2)
    y = b.linear(b.Reshape(b.Transpose(y, perm=[1, 0, 2, 3]), [1, -1, 2 * c]), 2 * c, c)
    x = b.Transpose(y, perm=[0, 2, 1])
    for co in (48, 24, 4):
        x = b.Add(x, kept.pop())
        x = b.ConvTranspose(x, b.normal(c, co, 8, gain=.1), b.normal(co, gain=.1), kernel_shape=[8], strides=[4], pads=[2, 2])
        x, c = x if co == 4 else b.Relu(x), co
    b.output(x)


@model("sound")
def sound_events(b):
    """Convolutions over a spectrogram, then a recurrence over time."""
    x, c = b.given([1, 1, 120, 64]), 1
    for co in (24, 48, 64):
        x, c = b.MaxPool(b.conv(x, c, co, act="Relu"), kernel_shape=[1, 4], strides=[1, 4]), co
    x = b.Transpose(b.Squeeze(x, [3]), perm=[2, 0, 1])
    b.output(b.Sigmoid(b.linear(b.Squeeze(b.recurrent("GRU", x, c, 96), [1]), 96, 10)))


@model("series")
def forecast_stack(b):
    """As N-BEATS: each stack explains what the one before left."""
    x, total = b.given([32, 140]), None
    for _ in range(4):
        y = x
        for k in range(3):
            y = b.linear(y, 140 if k == 0 else 200, 200, "Relu")
        back, ahead = b.linear(y, 200, 140), b.linear(y, 200, 24)
        x, total = b.Sub(x, back), ahead if total is None else b.Add(total, ahead)
    b.output(total)


@model("series")
def fusion(b):
    """As the temporal fusion transformer: gated residual units, weights of variables, a recurrence, attention."""
    n, steps, count = 64, 90, 7

    def gated(x, n):
        p, g = b.Split(b.linear(b.Elu(b.linear(x, n, n)), n, 2 * n), axis=-1, num_outputs=2, results=2)
        return b.layer_norm(b.Add(x, b.Mul(p, b.Sigmoid(g))), n)
    x = b.Add(b.Mul(b.Unsqueeze(b.given([4, steps, count]), [3]), b.normal(count, n)), b.normal(count, n))
    share = b.Softmax(b.linear(b.Reshape(x, [4, steps, count * n]), count * n, count), axis=-1)
    x = b.ReduceSum(b.Mul(gated(x, n), b.Unsqueeze(share, [3])), [2], keepdims=0)
    y = b.Squeeze(b.recurrent("LSTM", b.Transpose(x, perm=[1, 0, 2]), n, n), [1])
    x = gated(b.Add(x, b.Transpose(y, perm=[1, 0, 2])), n)
    x = gated(b.attention(x, n, 4, bias=np.triu(np.full((steps, steps), -1e9, np.float32), 1)), n)
    b.output(b.linear(x, n, 3))


@model("series")
def fourier_operator(b):
    """The lowest frequencies of a field are mixed, and transformed back."""
    n, width, modes = 256, 32, 24
    x = b.linear(b.given([4, n, 2]), 2, width)
    for _ in range(2):
        s = b.DFT(b.Unsqueeze(b.Transpose(x, perm=[0, 2, 1]), [3]), axis=2)
        low = b.part(s, 0, modes, 2)
        re, im = (b.Transpose(b.Gather(low, i, axis=3), perm=[2, 0, 1]) for i in (0, 1))
        wr, wi = (b.normal(modes, width, width, gain=.2) for _ in range(2))
        mixed = [b.Sub(b.MatMul(re, wr), b.MatMul(im, wi)), b.Add(b.MatMul(re, wi), b.MatMul(im, wr))]
        mixed = b.Concat(*(b.Unsqueeze(b.Transpose(m, perm=[1, 2, 0]), [3]) for m in mixed), axis=3)
        back = b.DFT(b.Pad(mixed, [0, 0, 0, 0, 0, 0, n - modes, 0]), axis=2, inverse=1)
        y = b.Transpose(b.Gather(back, 0, axis=3), perm=[0, 2, 1])
        x = b.act(b.Add(y, b.linear(x, width, width)), "gelu")
    b.output(b.linear(x, width, 1))
