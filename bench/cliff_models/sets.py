# SPDX-License-Identifier: Apache-2.0
"""Graphs, points, tables of users and goods, fields and rays."""
import numpy as np

from .net import model

# ---- Graphs ----


def summed(b, values, to, nodes, n, reduction="add", start=0.0):
    """Of each edge's row at the node it leads to."""
    index = b.Expand(b.Unsqueeze(to, [1]), b.Shape(values))
    return b.ScatterElements(np.full((nodes, n), start, np.float32), index, values, axis=0, reduction=reduction)


@model("graph")
def graph_convolution(b):
    nodes, edges, n = 1500, 9000, 48
    x, source, to = b.given([nodes, n]), b.indices(nodes, edges), b.indices(nodes, edges)
    weight = b.given(b.rng.random((edges, 1)).astype(np.float32))
    for _ in range(3):
        x = b.Relu(b.Add(summed(b, b.Mul(b.Gather(b.linear(x, n, n, bias=False), source), weight), to, nodes, n),
                         b.normal(n, gain=.1)))
    b.output(x)


@model("graph")
def graph_attention(b):
    """Softmax over the edges of a node: the greatest, then the sum, by scatter."""
    nodes, edges, heads, width = 800, 5000, 4, 16
    n, x, source, to = heads * width, b.given([nodes, 64]), b.indices(nodes, edges), b.indices(nodes, edges)
    for _ in range(2):
        h = b.Reshape(b.linear(x, n, n, bias=False), [nodes, heads, width])
        left, right = (b.ReduceSum(b.Mul(h, b.normal(heads, width)), [2], keepdims=0) for _ in range(2))
        e = b.LeakyRelu(b.Add(b.Gather(left, source), b.Gather(right, to)), alpha=.2)
        e = b.Exp(b.Sub(e, b.Gather(summed(b, e, to, nodes, heads, "max", -1e9), to)))
        share = b.Div(e, b.Gather(summed(b, e, to, nodes, heads), to))
        mixed = b.Reshape(b.Mul(b.Gather(h, source), b.Unsqueeze(share, [2])), [edges, n])
        x = b.Elu(summed(b, mixed, to, nodes, n))
    b.output(x)


@model("graph")
def molecule(b):
    """As SchNet: filters from distances."""
    atoms, edges, n = 300, 4000, 64
    place, source, to = b.given([atoms, 3]), b.indices(atoms, edges), b.indices(atoms, edges)
    x = b.Gather(b.normal(20, n), b.indices(20, atoms))
    apart = b.Sub(b.Gather(place, source), b.Gather(place, to))
    far = b.Sqrt(b.Add(b.ReduceSum(b.Mul(apart, apart), [1]), 1e-6))
    gap = b.Sub(far, np.linspace(0, 5, 40, dtype=np.float32))
    radial, cut = b.Exp(b.Mul(b.Mul(gap, gap), -8.1)), b.Mul(b.Add(b.Cos(b.Mul(far, .63)), 1.0), .5)
    for _ in range(2):
        f = b.linear(b.Sub(b.Softplus(b.linear(radial, 40, n)), .6931), n, n)
        y = summed(b, b.Mul(b.Gather(b.linear(x, n, n, bias=False), source), b.Mul(f, cut)), to, atoms, n)
        x = b.Add(x, b.linear(b.Sub(b.Softplus(b.linear(y, n, n)), .6931), n, n))
    b.output(b.ReduceSum(b.linear(x, n, 1), [0]))


@model("graph")
def neighbours(b):
    """As GraphSAGE: samples of fixed count, their mean and their greatest."""
    nodes, seen, n = 900, 12, 64
    x, index = b.given([nodes, n]), b.indices(nodes, nodes, seen)
    for _ in range(2):
        near = b.Gather(x, index)
        x = b.linear(b.Concat(x, b.ReduceMean(near, [1], keepdims=0), b.ReduceMax(near, [1], keepdims=0), axis=1), 3 * n, n,
                     "Relu")
        x = b.Div(x, b.Add(b.ReduceL2(x, [1]), 1e-6))
    b.output(x)


# ---- Points ----


@model("points")
def point_cloud(b):
    """As PointNet: the same layers for each point, and the greatest of all."""
    x, c = b.given([1, 3, 1500]), 3
    for co in (48, 64, 128):
        x, c = b.conv(x, c, co, 1, rank=1, act="Relu"), co
    best = b.Expand(b.ReduceMax(x, [2]), [1, c, 1500])
    b.output(b.conv(b.conv(b.Concat(x, best, axis=1), 2 * c, 96, 1, rank=1, act="Relu"), 96, 13, 1, rank=1))


@model("points")
def nearest_points(b):
    """As dynamic graph networks: the 12 nearest of each point by features, and the greatest of their edges."""
    points, x, n = 400, b.given([400, 24]), 24
    for co in (48, 48):
        size = b.ReduceSum(b.Mul(x, x), [1])
        far = b.Sub(b.Sub(b.Mul(b.MatMul(x, b.Transpose(x, perm=[1, 0])), 2.0), size), b.Transpose(size, perm=[1, 0]))
        near = b.Gather(x, b.TopK(far, [12], axis=1, results=2)[1])
        own = b.Expand(b.Unsqueeze(x, [1]), [points, 12, n])
        y = b.LeakyRelu(b.linear(b.Concat(own, b.Sub(near, own), axis=2), 2 * n, co), alpha=.2)
        x, n = b.ReduceMax(y, [1], keepdims=0), co
    b.output(x)


@model("points")
def voxels(b):
    """Points are put into the cells of a plane, which convolutions read."""
    cell = b.indices(64 * 64, 6000)
    x = b.linear(b.given([6000, 9]), 9, 32, "Relu")
    plane = summed(b, x, cell, 64 * 64, 32, "max", 0.0)
    plane = b.Reshape(b.Transpose(plane, perm=[1, 0]), [1, 32, 64, 64])
    b.output(b.conv(b.conv(plane, 32, 48, stride=2, act="Relu"), 48, 48, act="Relu"))


# ---- Users and goods ----


@model("recommender")
def click_model(b):
    """As DLRM: bags of rows are summed, every two vectors multiplied."""
    n, batch, tables = 32, 64, 8
    parts = [b.linear(b.linear(b.given([batch, 13]), 13, 128, "Relu"), 128, n, "Relu")]
    for k in range(tables):
        rows = b.Gather(b.normal(4000 + 7 * k, n), b.indices(4000, batch, 10))
        parts.append(b.ReduceSum(b.Mul(rows, b.given(b.rng.random((batch, 10, 1)).astype(np.float32))), [1], keepdims=0))
    x = b.Concat(*(b.Unsqueeze(p, [1]) for p in parts), axis=1)
    pairs = b.Reshape(b.MatMul(x, b.Transpose(x, perm=[0, 2, 1])), [batch, -1])
    low = np.flatnonzero(np.tril(np.ones((tables + 1, tables + 1)), -1)).astype(np.int64)
    x = b.Concat(parts[0], b.Gather(pairs, low, axis=1), axis=1)
    b.output(b.Sigmoid(b.linear(b.linear(x, n + len(low), 256, "Relu"), 256, 1)))


@model("recommender")
def factors(b):
    """As DeepFM: indices made of remainders; half of (the square of the sum less the sum of the squares)."""
    fields, n, batch = 20, 16, 128
    index = b.Add(b.Mod(b.given(b.rng.integers(0, 1 << 40, (batch, fields))), 997), 997 * np.arange(fields))
    x = b.Gather(b.normal(997 * fields, n), index)
    total = b.ReduceSum(x, [1], keepdims=0)
    pair = b.Mul(b.Sub(b.Mul(total, total), b.ReduceSum(b.Mul(x, x), [1], keepdims=0)), .5)
    first = b.ReduceSum(b.Gather(b.normal(997 * fields, 1), index), [1], keepdims=0)
    deep = b.linear(b.linear(b.Reshape(x, [batch, fields * n]), fields * n, 200, "Relu"), 200, 1)
    b.output(b.Sigmoid(b.Add(b.Add(first, b.ReduceSum(pair, [1])), deep)))


@model("recommender")
def two_towers(b):
    """The best 50 of 30000 goods for each of 8 users."""
    bag = b.ReduceMean(b.Gather(b.normal(3000, 48), b.indices(3000, 8, 30)), [1], keepdims=0)
    user = b.linear(b.linear(bag, 48, 128, "Relu"), 128, 64)
    user = b.Div(user, b.Sqrt(b.Add(b.ReduceSumSquare(user, [1]), 1e-9)))
    scores = b.MatMul(user, b.normal(64, 30000, gain=.12))
    best, at = b.TopK(scores, [50], axis=1, results=2)
    b.output(best)
    b.output(b.GatherElements(scores, at, axis=1))  # not the places: scores that differ by their last bit change them


@model("recommender")
def interest(b):
    """Attention of what is offered over what a user did, the list's end masked."""
    n, batch, steps = 36, 48, 50
    table, lengths = b.normal(5000, n), b.given(b.rng.integers(5, steps, (batch, 1)))
    x, offer = b.Gather(table, b.indices(5000, batch, steps)), b.Gather(table, b.indices(5000, batch, 1))
    wide = b.Expand(offer, [batch, steps, n])
    y = b.Concat(x, wide, b.Sub(x, wide), b.Mul(x, wide), axis=2)
    y = b.linear(b.Sigmoid(b.linear(y, 4 * n, 80)), 80, 1)
    there = b.Unsqueeze(b.Less(np.arange(steps), lengths), [2])
    share = b.Softmax(b.Where(there, y, np.full((1, 1, 1), -1e9, np.float32)), axis=1)
    x = b.Concat(b.ReduceSum(b.Mul(x, share), [1], keepdims=0), b.Squeeze(offer, [1]), axis=1)
    b.output(b.Sigmoid(b.linear(b.PRelu(b.linear(x, 2 * n, 200), np.abs(b.normal(200, gain=.2))), 200, 1)))


@model("recommender")
def ranks(b):
    """Places in the order, by sorting twice, and what a list is worth."""
    x = b.linear(b.linear(b.given([16, 700, 24]), 24, 64, "Relu"), 64, 1)
    x = b.Squeeze(x, [2])
    order = b.TopK(x, [700], axis=1, results=2)[1]
    rank = b.TopK(order, [700], axis=1, largest=0, results=2)[1]
    gain = b.Div(b.given(b.rng.integers(0, 4, (16, 700)).astype(np.float32)), b.Log(b.Add(b.Cast(rank, to=1), 2.0)))
    b.output(b.ReduceSum(gain, [1]))
    b.output(rank, dtype=np.int64)


# ---- Fields and rays ----


@model("field")
def radiance(b):
    """As NeRF: sines of places, layers, and light along the rays."""
    rays, steps = 40, 48
    place = b.given(b.normal(rays * steps, 3))
    angle = b.Reshape(b.Mul(b.Unsqueeze(place, [2]), (2.0 ** np.arange(8)).astype(np.float32)), [-1, 24])
    start = x = b.Concat(place, b.Sin(angle), b.Cos(angle), axis=1)
    for k in range(5):
        x = b.linear(b.Concat(x, start, axis=1) if k == 3 else x, {0: 51, 3: 179}.get(k, 128), 128, "Relu")
    y = b.Reshape(b.linear(x, 128, 4), [rays, steps, 4])
    alpha = b.Mul(b.Relu(b.part(y, 3, 4, 2)), .08)
    through = b.Exp(b.Neg(b.CumSum(alpha, 1, exclusive=1)))
    light = b.Mul(through, b.Sub(1.0, b.Exp(b.Neg(alpha))))
    b.output(b.ReduceSum(b.Mul(light, b.Sigmoid(b.part(y, 0, 3, 2))), [1], keepdims=0))


@model("field")
def stencil(b):
    """Steps of a wave on a ring, by shifts."""
    x, before = b.given([1, 300, 300]), b.given([1, 300, 300])
    for _ in range(4):
        near = b.Add(b.Add(b.roll(x, 1, 1), b.roll(x, 299, 1)), b.Add(b.roll(x, 1, 2), b.roll(x, 299, 2)))
        x, before = b.Sub(b.Add(b.Mul(x, 1.56), b.Mul(near, .11)), before), x
    b.output(x)


@model("field")
def histogram(b):
    """Counts of values by class, as sums of comparisons."""
    bins = b.Cast(b.Clip(b.Floor(b.Add(b.Mul(b.given([8, 2500]), 6.1), 16.0)), 0.0, 31.0), to=7)
    hot = b.OneHot(bins, 32, np.array([0, 1], np.float32), axis=-1)
    b.output(b.Softmax(b.linear(b.ReduceMean(hot, [1], keepdims=0), 32, 10)))


@model("field")
def mixer(b):
    n, m, x = 128, 100, b.given([1, 100, 128])
    for _ in range(3):
        y = b.Transpose(b.layer_norm(x, n), perm=[0, 2, 1])
        x = b.Add(x, b.Transpose(b.linear(b.linear(y, m, 200, "gelu"), 200, m), perm=[0, 2, 1]))
        x = b.Add(x, b.linear(b.linear(b.layer_norm(x, n), n, 512, "gelu"), 512, n))
    b.output(x)


@model("field")
def variational(b):
    x = b.conv(b.conv(b.given([2, 3, 32, 32]), 3, 32, 4, stride=2, pads=[1] * 4, act="Relu"), 32, 64, 4, stride=2,
               pads=[1] * 4, act="Relu")
    x = b.Flatten(x)
    mean, spread = b.linear(x, 4096, 48), b.linear(x, 4096, 48)
    z = b.Add(mean, b.Mul(b.Exp(b.Mul(spread, .5)), b.given([2, 48])))
    x = b.Reshape(b.linear(z, 48, 4096, "Relu"), [2, 64, 8, 8])
    for ci, co in ((64, 32), (32, 3)):
        x = b.ConvTranspose(x, b.normal(ci, co, 4, 4, gain=.1), b.normal(co, gain=.1), kernel_shape=[4, 4], strides=[2, 2],
                            pads=[1] * 4)
        x = b.Sigmoid(x) if co == 3 else b.Relu(x)
    b.output(x)
