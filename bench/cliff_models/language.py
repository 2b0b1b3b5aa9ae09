# SPDX-License-Identifier: Apache-2.0
"""Transformers, decoders with a cache, what stands in for attention, and recurrent readers and speakers."""
import numpy as np

from .net import model


def embedded(b, vocabulary, n, *shape):
    return b.Gather(b.normal(vocabulary, n), b.indices(vocabulary, *shape))


def causal(n):
    return np.triu(np.full((n, n), -1e9, np.float32), 1)


def rotary(b, x, angles, width):
    """Each half of the last axis turned by the angles; x: [B, heads, T, width]."""
    half = width // 2
    p, q = b.part(x, 0, half, 3), b.part(x, half, width, 3)
    c, s = b.Cos(angles), b.Sin(angles)
    return b.Concat(b.Sub(b.Mul(p, c), b.Mul(q, s)), b.Add(b.Mul(q, c), b.Mul(p, s)), axis=3)


# ---- Decoders ----


@model("decoder")
def decoder_cache(b):
    """One word, as GPT-2: keys and values of those before are inputs, and longer by one as outputs."""
    n, heads, past = 256, 8, 300
    width, x = n // heads, embedded(b, 3000, n, 1, 1)
    for _ in range(4):
        y = b.linear(b.layer_norm(x, n), n, 3 * n)
        q, k, v = (b.heads(p, heads, width) for p in b.Split(y, axis=2, num_outputs=3, results=3))
        k, v = (b.Concat(b.given([1, heads, past, width]), new, axis=2) for new in (k, v))
        y = b.attend(q, b.Transpose(k, perm=[0, 1, 3, 2]), v, width ** -.5)
        x = b.Add(x, b.linear(b.joined(y, n), n, n))
        x = b.Add(x, b.linear(b.linear(b.layer_norm(x, n), n, 4 * n, "gelu"), 4 * n, n))
        b.output(k, v)
    b.output(b.linear(b.layer_norm(x, n), n, 3000, bias=False))


@model("decoder", decoder_grouped=(1, 256), decoder_batch=(8, 128))
def decoder_grouped(b, batch, past):
    """One word each, as LLaMA: rotary positions, groups of heads share keys, which are written into a cache in place."""
    n, heads, shared, width = 320, 10, 2, 32
    x, at = embedded(b, 2000, n, batch, 1), b.given(np.array([past - 20], np.int64))
    angles = b.Mul(b.Cast(b.Reshape(at, [1, 1, 1, 1]), to=1), (10000.0 ** -(np.arange(16) / 16)).astype(np.float32))
    later = b.Where(b.Greater(np.arange(past), at), np.float32(-1e9) * np.ones(1, np.float32), np.zeros(1, np.float32))
    for _ in range(3):
        y = b.rms_norm(x, n)
        q, k, v = (b.heads(b.linear(y, n, m * width, bias=False), m, width) for m in (heads, shared, shared))
        q, k = rotary(b, q, angles, width), rotary(b, k, angles, width)
        index = b.Expand(b.Reshape(at, [1, 1, 1, 1]), [batch, shared, 1, width])
        k, v = (b.ScatterElements(b.given([batch, shared, past, width]), index, new, axis=2) for new in (k, v))
        b.output(k, v)
        k, v = (b.Reshape(b.Expand(b.Unsqueeze(c, [2]), [batch, shared, heads // shared, past, width]),
                          [batch, heads, past, width]) for c in (k, v))
        y = b.joined(b.attend(q, b.Transpose(k, perm=[0, 1, 3, 2]), v, width ** -.5, later), n)
        x = b.Add(x, b.linear(y, n, n, bias=False))
        y = b.rms_norm(x, n)
        x = b.Add(x, b.linear(b.Mul(b.linear(y, n, 860, "silu", bias=False), b.linear(y, n, 860, bias=False)), 860, n,
                              bias=False))
    b.output(b.linear(b.rms_norm(x, n), n, 2000, bias=False))


@model("decoder")
def decoder_prefill(b):
    n, words = 192, 120
    x = b.Add(embedded(b, 2000, n, 1, words), b.normal(words, n))
    for _ in range(3):
        x = b.encoder(x, n, 6, bias=causal(words))
    b.output(b.linear(b.part(b.layer_norm(x, n), words - 1, words, 1), n, 2000))


@model("decoder")
def beam_step(b):
    """What follows the last layer of a search with 6 beams: the best of all continuations, and their caches."""
    beams, words = 6, 5000
    score = b.Add(b.LogSoftmax(b.linear(b.given([beams, 200]), 200, words), axis=-1), b.given([beams, 1]))
    best, at = b.TopK(b.Reshape(score, [-1]), [beams], axis=0, results=2)
    beam = b.Div(at, words)
    b.output(best, b.Gather(b.given([beams, 8, 150, 32]), beam))
    b.output(b.Mod(at, words), dtype=np.int64)


@model("decoder")
def sampled_word(b):
    """Words below a share of the probability are left out: sort, sum, compare, and put back where they were."""
    p, at = b.TopK(b.Softmax(b.Div(b.given([4, 6000]), .7)), [6000], axis=1, results=2)
    kept = b.Where(b.Less(b.Sub(b.CumSum(p, 1), p), .9), p, 0.0)
    b.output(b.ScatterElements(np.zeros((4, 6000), np.float32), at, kept, axis=1))


# ---- Encoders ----


@model("encoder")
def t5_encoder(b):
    """The bias of relative positions is computed in the graph, as exporters leave it."""
    n, heads, words = 192, 6, 100
    x = embedded(b, 2000, n, 1, words)
    place = b.Range(0, b.Gather(b.Shape(x), 1), 1)
    apart = b.Sub(b.Unsqueeze(place, [0]), b.Unsqueeze(place, [1]))
    far = b.Abs(apart)
    log = b.Log(b.Div(b.Cast(b.Max(far, 1), to=1), 8.0))
    wide = b.Min(b.Add(b.Cast(b.Mul(b.Div(log, float(np.log(16))), 8.0), to=7), 8), 15)
    bucket = b.Add(b.Mul(b.Cast(b.Greater(apart, 0), to=7), 16), b.Where(b.Less(far, 8), far, wide))
    bias = b.Unsqueeze(b.Transpose(b.Gather(b.normal(32, heads), bucket), perm=[2, 0, 1]), [0])
    for _ in range(3):
        y, width = b.rms_norm(x, n), n // heads
        q, k, v = (b.linear(y, n, n, bias=False) for _ in range(3))
        y = b.attend(b.heads(q, heads, width), b.heads(k, heads, width, True), b.heads(v, heads, width), bias=bias)
        x = b.Add(x, b.linear(b.joined(y, n), n, n, bias=False))
        y = b.rms_norm(x, n)
        x = b.Add(x, b.linear(b.Mul(b.linear(y, n, 512, "gelu", bias=False), b.linear(y, n, 512, bias=False)), 512, n,
                              bias=False))
    b.output(b.rms_norm(x, n))


@model("encoder")
def bert_masked(b):
    n, words = 200, 90
    mask = b.given((np.arange(words) < np.array([[90], [55]])).astype(np.int64))
    bias = b.Mul(b.Sub(1.0, b.Cast(b.Unsqueeze(mask, [1, 2]), to=1)), -1e4)
    x = b.Add(b.Add(embedded(b, 2000, n, 2, words), embedded(b, 2, n, 2, words)), b.normal(words, n))
    x = b.layer_norm(x, n)
    for _ in range(3):
        x = b.layer_norm(b.Add(x, b.attention(x, n, 5, bias=bias)), n)
        x = b.layer_norm(b.Add(x, b.linear(b.linear(x, n, 800, "gelu"), 800, n)), n)
    b.output(x, b.linear(b.Tanh(b.linear(b.Gather(x, 0, axis=1), n, n)), n, 2))


@model("encoder")
def deberta(b):
    """Scores of content and of position, which GatherElements takes from those by distance."""
    n, heads, words, span = 160, 5, 80, 40
    width, x = n // heads, embedded(b, 1500, n, 1, words)
    apart = np.clip(np.arange(words)[:, None] - np.arange(words)[None], -span, span - 1) + span
    index = np.broadcast_to(apart, (1, heads, words, words)).astype(np.int64)
    for _ in range(2):
        q, k, v = (b.heads(b.linear(x, n, n), heads, width) for _ in range(3))
        near, far = (b.normal(1, heads, width, 2 * span, gain=.2) for _ in range(2))
        c2p = b.GatherElements(b.MatMul(q, near), index, axis=3)
        p2c = b.Transpose(b.GatherElements(b.MatMul(k, far), index, axis=3), perm=[0, 1, 3, 2])
        s = b.Add(b.Add(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), c2p), p2c)
        y = b.MatMul(b.Softmax(b.Div(s, (3 * width) ** .5), axis=-1), v)
        x = b.layer_norm(b.Add(x, b.linear(b.joined(y, n), n, n)), n)
        x = b.layer_norm(b.Add(x, b.linear(b.linear(x, n, 640, "gelu"), 640, n)), n)
    b.output(x)


@model("encoder")
def int8_encoder(b):
    """Inputs of products are quantized as they come."""
    n, x = 192, b.given([1, 100, 192])
    b.tolerance = 3e-2

    def product(x, n, m):
        q, scale, zero = b.DynamicQuantizeLinear(x, results=3)
        w = b.rng.integers(-127, 128, (n, m)).astype(np.int8)
        y = b.Cast(b.MatMulInteger(q, w, zero, np.array(0, np.int8)), to=1)
        return b.Add(b.Mul(y, b.Mul(scale, float(.02 / n ** .5))), b.normal(m, gain=.1))
    for _ in range(2):
        q, k, v = (product(x, n, n) for _ in range(3))
        y = b.attend(b.heads(q, 6, 32), b.heads(k, 6, 32, True), b.heads(v, 6, 32), 32 ** -.5)
        x = b.layer_norm(b.Add(x, product(b.joined(y, n), n, n)), n)
        x = b.layer_norm(b.Add(x, product(b.act(product(x, n, 640), "gelu"), 640, n)), n)
    b.output(x)


@model("encoder")
def conformer(b):
    n, frames = 144, 150
    x = b.given([1, frames, n])
    for _ in range(2):
        x = b.Add(x, b.Mul(b.linear(b.linear(b.layer_norm(x, n), n, 4 * n, "silu"), 4 * n, n), .5))
        x = b.Add(x, b.attention(b.layer_norm(x, n), n, 4))
        y = b.conv(b.Transpose(b.layer_norm(x, n), perm=[0, 2, 1]), n, 2 * n, 1, rank=1)
        p, gate = b.Split(y, axis=1, num_outputs=2, results=2)
        y = b.conv(b.Mul(p, b.Sigmoid(gate)), n, n, 31, group=n, rank=1, act="silu")
        x = b.Add(x, b.Transpose(b.conv(y, n, n, 1, rank=1), perm=[0, 2, 1]))
        x = b.Add(x, b.Mul(b.linear(b.linear(b.layer_norm(x, n), n, 4 * n, "silu"), 4 * n, n), .5))
        x = b.layer_norm(x, n)
    b.output(x)


@model("encoder")
def perceiver(b):
    n, x, seen = 128, b.given([1, 48, 128]), b.given([1, 1100, 128])
    for _ in range(2):
        x = b.Add(x, b.attention(b.layer_norm(x, n), n, 4, b.layer_norm(seen, n)))
        x = b.encoder(b.encoder(x, n, 4), n, 4)
    b.output(b.linear(b.ReduceMean(x, [1], keepdims=0), n, 20))


# ---- Instead of attention ----


@model("sequence")
def linear_attention(b):
    n, heads, width, words = 160, 5, 32, 200
    x = b.given([1, words, n])
    for _ in range(2):
        y = b.layer_norm(x, n)
        q, k, v = (b.heads(b.linear(y, n, n), heads, width) for _ in range(3))
        q, k = (b.Add(b.Elu(p), 1.0) for p in (q, k))
        mixed = b.MatMul(q, b.MatMul(b.Transpose(k, perm=[0, 1, 3, 2]), v))
        total = b.ReduceSum(b.Mul(q, b.ReduceSum(k, [2])), [3])
        x = b.Add(x, b.linear(b.joined(b.Div(mixed, total), n), n, n))
        x = b.Add(x, b.linear(b.linear(b.layer_norm(x, n), n, 400, "Relu"), 400, n))
    b.output(x)


@model("sequence")
def state_space(b):
    """As Mamba: a short convolution, and a recurrence of first order as sums of logarithms."""
    n, inner, states, words = 128, 200, 4, 120
    x = b.given([1, words, n])
    for _ in range(2):
        y, gate = b.Split(b.linear(b.layer_norm(x, n), n, 2 * inner), axis=2, num_outputs=2, results=2)
        y = b.conv(b.Transpose(y, perm=[0, 2, 1]), inner, inner, 4, pads=[3, 0], group=inner, rank=1, act="silu")
        y = b.Transpose(y, perm=[0, 2, 1])
        step = b.Mul(b.Softplus(b.linear(y, inner, inner)), .02)
        into, out = (b.Unsqueeze(b.linear(y, inner, states), [2]) for _ in range(2))
        decay = b.CumSum(b.Mul(b.Unsqueeze(step, [3]), -np.arange(1, states + 1, dtype=np.float32)), 1)
        terms = b.Mul(b.Mul(b.Unsqueeze(b.Mul(step, y), [3]), into), b.Exp(b.Neg(decay)))
        state = b.Mul(b.CumSum(terms, 1), b.Exp(decay))
        y = b.Add(b.ReduceSum(b.Mul(state, out), [3], keepdims=0), b.Mul(y, b.normal(inner)))
        x = b.Add(x, b.linear(b.Mul(y, b.silu(gate)), inner, n))
    b.output(x)


@model("sequence")
def experts(b):
    """Two of eight experts each word; the others are computed with a weight of nothing."""
    n, words, count = 128, 64, 8
    x = b.given([words, n])
    gate = b.linear(x, n, count)
    best, at = b.TopK(gate, [2], axis=1, results=2)
    share = b.ScatterElements(np.zeros((words, count), np.float32), at, b.Softmax(best, axis=1), axis=1)
    y = b.MatMul(b.Unsqueeze(x, [0]), b.normal(count, n, 300, gain=.09))
    y = b.MatMul(b.act(y, "gelu"), b.normal(count, 300, n, gain=.06))
    b.output(b.ReduceSum(b.Mul(y, b.Unsqueeze(b.Transpose(share, perm=[1, 0]), [2])), [0], keepdims=0))


@model("sequence")
def fourier_mixer(b):
    """As FNet: the real part of a transform over words and features."""
    n, words = 128, 96
    x = b.given([1, words, n])
    for _ in range(2):
        y = b.DFT(b.DFT(b.Unsqueeze(x, [3]), axis=2), axis=1)
        x = b.layer_norm(b.Add(x, b.Gather(y, 0, axis=3)), n)
        x = b.layer_norm(b.Add(x, b.linear(b.linear(x, n, 512, "gelu"), 512, n)), n)
    b.output(x)


# ---- Recurrent ----


@model("recurrent")
def tagger(b):
    """Words of several lengths, read in both directions; the best tags by Viterbi's steps."""
    words, tags = 40, 17
    x = b.Transpose(embedded(b, 3000, 100, 4, words), perm=[1, 0, 2])
    lengths = np.array([40, 33, 21, 8], np.int32)
    n, w, r = 120, b.normal(2, 480, 100, gain=.1), b.normal(2, 480, 120, gain=.09)
    y = b.LSTM(x, w, r, b.normal(2, 960, gain=.1), b.given(lengths), results=2, hidden_size=n, direction="bidirectional")[0]
    y = b.Reshape(b.Transpose(y, perm=[0, 2, 1, 3]), [words, 4, 2 * n])
    score = b.linear(y, 2 * n, tags)
    step, best = b.Gather(score, 0), []
    for t in range(1, 9):
        through = b.Add(b.Unsqueeze(step, [2]), b.normal(tags, tags))
        best.append(b.Unsqueeze(b.ArgMax(through, axis=1, keepdims=0), [0]))
        step = b.Add(b.ReduceMax(through, [1], keepdims=0), b.Gather(score, t))
    b.output(score, step)
    b.output(b.Concat(*best, axis=0), dtype=np.int64)


@model("recurrent")
def speaker(b):
    """As Tacotron: convolutions, both directions, then a decoder's steps with attention, unrolled."""
    n, words = 128, 60
    x = b.Transpose(embedded(b, 80, n, 1, words), perm=[0, 2, 1])
    for _ in range(2):
        x = b.conv(x, n, n, 5, rank=1, act="Relu")
    y = b.recurrent("LSTM", b.Transpose(x, perm=[2, 0, 1]), n, 64, 2)
    memory = b.Reshape(b.Transpose(y, perm=[1, 0, 2, 3]), [1, words, n])
    keys, state, frame, frames = b.linear(memory, n, 96), b.given([1, 192]), b.given([1, 80]), []
    query, joint, gates, out = (b.normal(*s, gain=s[0] ** -.5) for s in ((192, 96), (96, 1), (192 + n + 80, 2 * 192),
                                                                         (192, 80)))
    for _ in range(8):
        e = b.MatMul(b.Tanh(b.Add(keys, b.Unsqueeze(b.MatMul(state, query), [1]))), joint)
        seen = b.ReduceSum(b.Mul(b.Softmax(e, axis=1), memory), [1], keepdims=0)
        u, c = b.Split(b.MatMul(b.Concat(state, seen, frame, axis=1), gates), axis=1, num_outputs=2, results=2)
        u = b.Sigmoid(u)
        state = b.Add(b.Mul(u, state), b.Mul(b.Sub(1.0, u), b.Tanh(c)))
        frame = b.MatMul(state, out)
        frames.append(b.Unsqueeze(frame, [1]))
    b.output(b.Concat(*frames, axis=1))
