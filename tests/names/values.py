#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tests/names/values.txt: calls of operators as TVM and NNVM write them, with results that numpy computes.

    python3 tests/names/values.py > tests/names/values.txt

test_names_values calls each name of a row with the attributes and inputs that stand there. Nothing here is taken from gpuc:
a row is what TVM 0.13 or NNVM say that the operator computes, with only those attributes that they require where the row
has no others. Numbers are quarters, so that floats hold inputs exactly."""
import itertools
import math

import numpy as np

state = 1


def word():
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return state >> 40


def f(*shape, lo=-2.0, hi=2.0, dtype="float32"):
    """Quarters from lo to hi."""
    n = int((hi - lo) * 4) + 1
    return np.array([lo + (word() % n) / 4 for _ in range(math.prod(shape))], dtype).reshape(shape)


def ints(*shape, lo=-5, hi=5, dtype="int32"):
    return np.array([lo + word() % (hi - lo + 1) for _ in range(math.prod(shape))], dtype).reshape(shape)


def bools(*shape):
    return ints(*shape, lo=0, hi=1).astype(bool)


def distinct(*shape):
    """Floats in some order, none twice."""
    n = math.prod(shape)
    return np.array(sorted(range(n), key=lambda i: (word(), i)), "float32").reshape(shape) / 4 - n / 8


def scalar(v, dtype="float32"):
    return np.array(v, dtype)


def text(a):
    def one(v):
        if a.dtype == bool:
            return str(int(v))
        return repr(int(v)) if a.dtype.kind in "iu" else f"{float(v):.9g}"

    return f"{a.dtype.name}[{', '.join(map(str, a.shape))}] " + " ".join(one(v) for v in a.reshape(-1))


class Constant:
    """An input whose values the build must know."""

    def __init__(self, a):
        self.a = a


def row(names, attrs, inputs, *outs):
    print(f"call {names}" + (f" | {attrs}" if attrs else ""))
    for i in inputs:
        print("const " + text(i.a) if isinstance(i, Constant) else "in " + text(i))
    for o in outs:
        print("type " + o.text if isinstance(o, Unknown) else "out " + text(np.asarray(o)))
    print()


class Unknown:
    """A result of which only the type is told."""

    def __init__(self, dtype, *shape):
        self.text = f"{dtype}[{', '.join(map(str, shape))}]"


def f32(a):
    return np.asarray(a, "float32")


def wide(a):
    return np.asarray(a, "float64")


# ---- Elementwise ----


def unary():
    x, positive, small, over = f(3, 5), f(3, 5, lo=0.25, hi=4), f(3, 5, lo=-0.75, hi=0.75), f(3, 5, lo=1, hi=4)
    erf = np.vectorize(math.erf)
    for names, fn in (
        ("abs", np.abs), ("ceil", np.ceil), ("cos", np.cos), ("cosh", np.cosh), ("erf", erf), ("exp", np.exp),
        ("floor", np.floor), ("negative", np.negative), ("sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("sign", np.sign),
        ("sin", np.sin), ("sinh", np.sinh), ("tan", np.tan), ("tanh", np.tanh), ("trunc", np.trunc), ("atan", np.arctan),
        ("asinh", np.arcsinh), ("nn.relu relu", lambda v: np.maximum(v, 0)), ("copy identity block_grad", lambda v: v),
        ("zeros_like", np.zeros_like), ("ones_like", np.ones_like), ("fast_erf", erf), ("fast_exp", np.exp),
        ("fast_tanh", np.tanh), ("nn.leaky_relu leaky_relu", lambda v: np.where(v > 0, v, 0.25 * v)),
    ):
        row(names, "", [x], f32(fn(wide(x))))
    for names, fn in (("log", np.log), ("log2", np.log2), ("log10", np.log10), ("sqrt", np.sqrt),
                      ("rsqrt", lambda v: 1 / np.sqrt(v))):
        row(names, "", [positive], f32(fn(wide(positive))))
    for names, fn in (("acos", np.arccos), ("asin", np.arcsin), ("atanh", np.arctanh)):
        row(names, "", [small], f32(fn(wide(small))))
    row("acosh", "", [over], f32(np.arccosh(wide(over))))
    near = np.array([-1.75, -1.25, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 1.75], "float32")
    row("round", "", [near], np.round(near))
    odd = np.array([0, 1.5, np.nan, np.inf, -np.inf, -3], "float32")
    for name in ("isnan", "isinf", "isfinite"):
        row(name, "", [odd], getattr(np, name)(odd))
    b = bools(7)
    row("logical_not", "", [b], ~b)
    i = ints(2, 3)
    row("bitwise_not", "", [i], ~i)
    row("nn.leaky_relu leaky_relu", "alpha=0.5", [x], np.where(x > 0, x, x / 2).astype("float32"))
    row("clip", "a_min=-0.5, a_max=1", [x], np.clip(x, -0.5, 1).astype("float32"))
    row("cast", "dtype=int32", [x], np.trunc(x).astype("int32"))
    row("reinterpret", "dtype=int32", [x], x.view("int32"))
    row("shape_of shape", "dtype=int32", [f(2, 3, 5)], np.array([2, 3, 5], "int32"))
    row("ndarray_size", "dtype=int32", [f(2, 3, 5)], scalar(30, "int32"))
    for names, fn in (
        ("__add_scalar__", lambda v: v + 3), ("__sub_scalar__", lambda v: v - 3), ("__rsub_scalar__", lambda v: 3 - v),
        ("__mul_scalar__", lambda v: v * 3), ("__div_scalar__", lambda v: v / 3), ("__rdiv_scalar__", lambda v: 3 / v),
        ("__pow_scalar__", lambda v: v**3), ("__rpow_scalar__", lambda v: 3**v),
    ):
        row(names, "scalar=3", [positive], f32(fn(wide(positive))))
    i = ints(5, lo=0, hi=100)
    row("__lshift_scalar__", "scalar=2", [i], i << 2)
    row("__rshift_scalar__", "scalar=2", [i], i >> 2)


def binary():
    a, b, over, under = f(3, 4), f(3, 4), f(3, 4, lo=0.25, hi=4), f(4, lo=0.5, hi=3)
    same = {"add": "elemwise_add", "subtract": "elemwise_sub", "multiply": "elemwise_mul", "divide": "elemwise_div",
            "mod": "elemwise_mod", "power": "elemwise_pow"}
    for name, fn in (("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
                     ("mod", np.fmod), ("power", np.power), ("maximum", np.maximum), ("minimum", np.minimum),
                     ("floor_divide", np.floor_divide), ("floor_mod", np.mod),
                     ("trunc_divide", lambda p, q: np.trunc(p / q)), ("trunc_mod", np.fmod)):
        if name in same:
            row(same[name], "", [over, over[::-1].copy()], f32(fn(wide(over), wide(over[::-1]))))
        left = over if name == "power" else a
        row(name, "", [left, under], f32(fn(wide(left), wide(under))))
    for name, fn in (("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
                     ("greater", np.greater), ("greater_equal", np.greater_equal)):
        row(name, "", [a, b[1]], fn(a, b[1]))
    p, q = bools(3, 4), bools(4)
    for name in ("logical_and", "logical_or", "logical_xor"):
        row(name, "", [p, q], getattr(np, name)(p, q))
    i, k = ints(3, 4, lo=0, hi=99), ints(4, lo=0, hi=5)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        row(name, "", [i, k], getattr(np, name)(i, k))
    row("elemwise_sum", "", [a, b, over], a + b + over)
    row("where", "", [p, a, b], np.where(p, a, b))
    row("cast_like", "", [a, i], np.trunc(a).astype("int32"))
    row("broadcast_to_like", "", [b[0], a], np.broadcast_to(b[0], (3, 4)))
    row("collapse_sum_like collapse_sum", "", [a, b[:1]], a.sum(0, keepdims=True))
    row("collapse_sum_to", "shape=[4]", [a], a.sum(0))
    row("slice_like", "", [a, b[:2, :3].copy()], a[:2, :3])
    row("slice_like", "axis=[1]", [a, b[:2, :3].copy()], a[:, :3])
    row("reshape_like", "", [a, f(2, 6)], a.reshape(2, 6))
    row("expand_like", "axis=[0]", [b[0], a], np.broadcast_to(b[0], (3, 4)))
    row("expand_like", "axis=[1], exclude=True", [b[0], a], np.broadcast_to(b[0], (3, 4)))
    row("fixed_point_multiply", "multiplier=1073741824, shift=2", [i], (i * 2).astype("int32"))


# ---- Shapes and positions ----


def make():
    row("arange", "stop=4", [], np.arange(4, dtype="float32"))
    row("arange", "start=1, stop=9, step=3, dtype=int32", [], np.arange(1, 9, 3, dtype="int32"))
    row("ones", "shape=[2, 3]", [], np.ones((2, 3), "float32"))
    row("zeros", "shape=[2, 3]", [], np.zeros((2, 3), "float32"))
    row("full", "shape=[2, 3], dtype=int32, fill_value=7", [], np.full((2, 3), 7, "int32"))
    row("full", "shape=[2]", [scalar(2.5)], np.full(2, 2.5, "float32"))
    row("full_like", "fill_value=1.5", [f(2, 3)], np.full((2, 3), 1.5, "float32"))
    row("full_like", "", [f(2, 3), scalar(1.25)], np.full((2, 3), 1.25, "float32"))


def shapes():
    x, y = f(2, 3, 4), f(3, 4)
    row("reshape", "shape=(4, -1)", [x], x.reshape(4, 6))
    row("reshape", "newshape=[0, -1]", [x], x.reshape(2, 12))
    row("contrib_reverse_reshape", "newshape=[-1, 0]", [x], x.reshape(6, 4))
    row("nn.batch_flatten nn.flatten flatten", "", [x], x.reshape(2, 12))
    row("transpose", "", [x], x.transpose())
    row("transpose", "axes=[1, 0, 2]", [x], x.transpose(1, 0, 2))
    s = f(1, 3, 1, 2)
    row("squeeze", "", [s], s.reshape(3, 2))
    row("squeeze", "axis=[0]", [s], s.reshape(3, 1, 2))
    row("expand_dims", "axis=1", [y], y[:, None])
    row("expand_dims", "axis=0, num_newaxis=2", [y], y[None, None])
    row("broadcast_to", "shape=[2, 3, 4]", [y], np.broadcast_to(y, (2, 3, 4)))
    row("concatenate", "", [y, y + 1], np.concatenate([y, y + 1], 0))
    row("nnvm.concatenate", "", [y, y + 1], np.concatenate([y, y + 1], 1))
    row("stack", "", [y, y + 1, y + 2], np.stack([y, y + 1, y + 2]))
    row("stack", "axis=1", [y, y + 1], np.stack([y, y + 1], 1))
    row("split", "indices_or_sections=3", [y], *np.split(y, 3))
    row("nnvm.split", "indices_or_sections=2", [y], *np.split(y, 2, 1))
    row("split", "indices_or_sections=[1, 3], axis=1", [y], *np.split(y, [1, 3], 1))
    row("repeat", "repeats=2", [y], np.repeat(y, 2))
    row("repeat", "repeats=3, axis=1", [y], np.repeat(y, 3, 1))
    row("tile", "reps=[2, 1]", [y], np.tile(y, (2, 1)))
    row("tile", "reps=[2]", [y], np.tile(y, 2))
    row("reverse", "axis=0", [y], y[::-1])
    row("flip", "", [y], y[::-1])
    row("flip", "axis=1", [y], y[:, ::-1])
    row("strided_slice", "begin=[0, 1], end=[2, 4]", [y], y[0:2, 1:4])
    row("strided_slice", "begin=[0, 3], end=[3, 0], stride=[2, -1]", [y], y[0:3:2, 3:0:-1])
    row("strided_slice", "begin=[-2], end=[100], axes=[1]", [y], y[:, -2:])
    v = f(5)
    one = lambda n: np.array([n], "int64")
    row("dynamic_strided_slice dyn.strided_slice", "sizes=[2]", [v, one(1), one(5), one(2)], v[1:5:2])
    p = y.copy()
    row("pad nn.pad", "pad_width=((1, 0), (0, 2))", [p], np.pad(p, ((1, 0), (0, 2))))
    row("pad nn.pad", "pad_width=((0, 1), (2, 1)), pad_value=1.5", [p], np.pad(p, ((0, 1), (2, 1)), constant_values=1.5))
    row("nn.mirror_pad", "pad_width=((1, 0), (2, 1))", [p], np.pad(p, ((1, 0), (2, 1)), mode="symmetric"))
    row("nn.mirror_pad", "pad_width=((1, 0), (2, 1)), mode=\"REFLECT\"", [p], np.pad(p, ((1, 0), (2, 1)), mode="reflect"))
    z = np.zeros((5, 7), "float32")
    z[::2, ::2] = y
    row("nn.dilate", "strides=[2, 2]", [y], z)
    row("meshgrid", "", [v[:3].copy(), v[3:].copy()], *np.meshgrid(v[:3], v[3:], indexing="ij"))
    n = f(1, 4, 2, 3)
    row("layout_transform __layout_transform__", "src_layout=\"NCHW\", dst_layout=\"NHWC\"", [n], n.transpose(0, 2, 3, 1))
    row("layout_transform __layout_transform__", "src_layout=\"NCHW\", dst_layout=\"NCHW2c\"", [n],
        n.reshape(1, 2, 2, 2, 3).transpose(0, 1, 3, 4, 2))
    row("nn.depth_to_space", "block_size=2", [n],
        n.reshape(1, 2, 2, 1, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 6))
    m = f(1, 2, 4, 2)
    row("nn.space_to_depth", "block_size=2", [m],
        m.reshape(1, 2, 2, 2, 1, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 1))
    t = f(1, 4, 4)
    row("nn.space_to_batch_nd", "block_shape=[2, 2], paddings=[[0, 0], [0, 0]]", [t],
        np.stack([t[0, i::2, j::2] for i in range(2) for j in range(2)]))
    b = f(4, 2, 2)
    back = np.zeros((1, 4, 4), "float32")
    for i, j in itertools.product(range(2), repeat=2):
        back[0, i::2, j::2] = b[2 * i + j]
    row("nn.batch_to_space_nd", "block_shape=[2, 2], crops=[[0, 0], [0, 1]]", [b], back[:, :, :3])
    dm = f(2, 3, 4)
    diagonal = f(2, 3)
    set_ = dm.copy()
    set_[:, range(3), range(3)] = diagonal
    row("matrix_set_diag", "", [dm, diagonal], set_)
    row("trilu", "", [y], np.triu(y))
    row("trilu", "upper=False", [y], np.tril(y))
    row("sliding_window", "axis=0, window_shape=[2, 3], strides=[1, 1]", [y],
        np.lib.stride_tricks.sliding_window_view(y, (2, 3)))
    c = f(1, 4, 2, 2)
    row("vision.reorg vision.yolo_reorg yolo_reorg", "", [c], c)


def gathers():
    x, y = f(4, 3), f(3, 4)
    at = np.array([3, 0, 2], "int32")
    row("take", "", [x, np.array([11, 0, 5], "int32")], x.reshape(-1)[[11, 0, 5]])
    row("take", "axis=0", [x, at], x[at])
    row("take", "axis=1, mode=\"wrap\"", [x, np.array([4, -1], "int32")], x[:, [1, 2]])
    g = np.array([[0, 2, 1], [2, 2, 0], [1, 0, 3], [3, 1, 1]], "int32")
    row("gather", "axis=0", [x, g], np.take_along_axis(x, g.astype("int64"), 0))
    nd = np.array([[3, 0], [1, 2], [2, 1]], "int32")  # positions last, as gpuc has them
    row("gather_nd", "", [x, nd], x[nd[:, 0], nd[:, 1]])
    row("adv_index", "", [x, at, np.array([1, 2, 0], "int32")], x[at, [1, 2, 0]])
    h = ints(3, lo=0, hi=3)
    row("one_hot", "depth=4, axis=-1, dtype=float32", [h, scalar(1), scalar(0)], np.eye(4, dtype="float32")[h])
    row("unravel_index", "", [np.array([5, 0, 11], "int32"), np.array([3, 4], "int32")],
        np.array(np.unravel_index([5, 0, 11], (3, 4)), "int32"))
    row("sparse_to_dense", "output_shape=[6]", [np.array([1, 4], "int32"), f(2) * 0 + 3, scalar(-1)],
        np.array([-1, 3, -1, -1, 3, -1], "float32"))
    places = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 5]], "int64")
    moved = np.stack(np.unravel_index(np.ravel_multi_index(places.T, (2, 3, 6)), (9, 4)), 1)
    row("sparse_reshape", "", [places, np.array([2, 3, 6], "int64"), np.array([9, -1], "int64")], moved,
        np.array([9, 4], "int64"))
    far = np.array([[70000, 70001]], "int32")  # of more elements than 32 bits count
    row("sparse_reshape", "", [far, np.array([80000, 80000], "int32"), np.array([40000, -1], "int32")],
        np.stack(np.divmod(far[:, 0].astype("int64") * 80000 + far[:, 1], 160000), 1).astype("int32"),
        np.array([40000, 160000], "int32"))
    row("segment_sum", "num_segments=4", [x, np.array([0, 2], "int32")], f32([x[0], [0, 0, 0], x[1], [0, 0, 0]]))
    row("segment_sum", "num_segments=5", [x, np.array([2, 0, 2, 3], "int32")],
        f32([x[1], [0, 0, 0], x[0] + x[2], x[3], [0, 0, 0]]))
    lengths = np.array([1, 3, 0, 2], "int32")
    masked = y.copy()
    for b, n in enumerate(lengths):
        masked[n:, b] = 0
    row("sequence_mask", "", [y, lengths], masked)
    s, turned = f(4, 3), None
    turned = s.copy()
    for b, n in enumerate([2, 4, 1]):
        turned[:n, b] = s[:n, b][::-1]
    row("reverse_sequence", "seq_axis=0, batch_axis=1", [s, np.array([2, 4, 1], "int32")], turned)
    data, updates = f(4, 3), f(2, 3)
    put = data.copy()
    put[[2, 0], [0, 1]] = updates[0, :2]
    where = np.array([[2, 0, 3]], "int32")
    el = data.copy()
    el[where[0], range(3)] = updates[0]
    row("scatter_elements", "", [data, where, updates[:1].copy()], el)
    rows = data.copy()
    rows[[3, 1]] = updates
    row("scatter_nd", "", [data, np.array([[3], [1]], "int32"), updates], rows)
    perm = np.array([2, 0, 3, 1], "int32")
    row("invert_permutation", "", [perm], np.argsort(perm).astype("int32"))


# ---- Reductions and order ----


def reductions():
    x = f(2, 3, 4)
    w = wide(x)
    for name, fn in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min), ("prod", np.prod)):
        row(name, "", [x], f32(fn(w)))
        row(name, "axis=[1], keepdims=True", [x], f32(fn(w, axis=1, keepdims=True)))
        row(name, "axis=[1], exclude=True", [x], f32(fn(w, axis=(0, 2))))
    b = bools(2, 3)
    row("all", "axis=[1]", [b], b.all(1))
    row("any", "axis=[1]", [b], b.any(1))
    row("all", "", [b], b.all())
    row("any", "", [b], b.any())
    d = distinct(3, 4)
    for name, fn in (("argmax", np.argmax), ("argmin", np.argmin)):
        row(name, "axis=[1]", [d], fn(d, 1).astype("int32"))
        row(name, "axis=[0], keepdims=True", [d], fn(d, 0)[None].astype("int32"))
        row(name, "", [d], scalar(fn(d), "int32"))
    m = wide(x).mean(1, keepdims=True)
    row("variance", "axis=[1]", [x, f32(m)], f32(wide(x).var(1)))
    row("cumsum", "", [x], f32(np.cumsum(w)))
    row("cumsum", "axis=1", [x], f32(np.cumsum(w, 1)))
    row("cumprod", "axis=2", [x], f32(np.cumprod(w, 2)))
    row("argsort", "", [d], np.argsort(d).astype("int32"))
    row("sort", "", [d], np.sort(d))
    row("sort", "is_ascend=False, axis=0", [d], np.sort(d, 0)[::-1])
    order = np.argsort(-d)[:, :2]
    row("topk", "k=2", [d], np.take_along_axis(d, order, 1), order.astype("int32"))
    row("topk", "k=2, ret_type=\"values\"", [d], np.take_along_axis(d, order, 1))
    row("topk", "k=2, ret_type=\"indices\"", [d], order.astype("int32"))
    edges = np.sort(distinct(6))
    v = f(5)
    row("searchsorted", "", [edges, v], np.searchsorted(edges, v).astype("int32"))
    row("searchsorted", "right=True", [edges, v], np.searchsorted(edges, v, "right").astype("int32"))


# ---- Products and windows ----


def pads(n, padding):
    p = list(padding)
    return p * 2 if len(p) == n else p


def conv(x, w, strides, padding=None, dilation=None, groups=1):
    n = x.ndim - 2
    p, dil = pads(n, padding or [0] * n), dilation or [1] * n
    x = np.pad(wide(x), [(0, 0), (0, 0)] + list(zip(p[:n], p[n:])))
    out = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * dil[i] - 1) // strides[i] + 1 for i in range(n)]
    y = np.zeros([x.shape[0], w.shape[0]] + out)
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    for at in itertools.product(*map(range, out)):
        for tap in itertools.product(*map(range, w.shape[2:])):
            where = tuple(a * s + t * d for a, s, t, d in zip(at, strides, tap, dil))
            for g in range(groups):
                ic, oc = slice(g * per_in, (g + 1) * per_in), slice(g * per_out, (g + 1) * per_out)
                y[(slice(None), oc) + at] += x[(slice(None), ic) + where] @ wide(w)[(oc, slice(None)) + tap].T
    return f32(y)


def transposed(x, w, strides, padding, extra=None):
    n = x.ndim - 2
    p, extra = pads(n, padding), extra or [0] * n
    full = [(x.shape[2 + i] - 1) * strides[i] + w.shape[2 + i] for i in range(n)]
    y = np.zeros([x.shape[0], w.shape[1]] + [a + b for a, b in zip(full, extra)])
    for at in itertools.product(*map(range, x.shape[2:])):
        for tap in itertools.product(*map(range, w.shape[2:])):
            where = tuple(a * s + t for a, s, t in zip(at, strides, tap))
            y[(slice(None), slice(None)) + where] += wide(x)[(slice(None), slice(None)) + at] @ wide(w)[(slice(None), slice(None)) + tap]
    cut = tuple(slice(p[i], y.shape[2 + i] - p[n + i]) for i in range(n))
    return f32(y[(slice(None), slice(None)) + cut])


def pool(x, size, strides, padding, kind, counted=False):
    n = x.ndim - 2
    p = pads(n, padding)
    widths = [(0, 0), (0, 0)] + list(zip(p[:n], p[n:]))
    v = np.pad(wide(x), widths, constant_values=-np.inf if kind == "max" else 0)
    ones = np.pad(np.ones(x.shape), widths, constant_values=1 if counted else 0)
    out = [(v.shape[2 + i] - size[i]) // strides[i] + 1 for i in range(n)]
    y = np.zeros(list(x.shape[:2]) + out)
    for at in itertools.product(*map(range, out)):
        part = (slice(None), slice(None)) + tuple(slice(a * s, a * s + k) for a, s, k in zip(at, strides, size))
        axes = tuple(range(2, 2 + n))
        y[(slice(None), slice(None)) + at] = v[part].max(axes) if kind == "max" else v[part].sum(axes) / ones[part].sum(axes)
    return f32(y)


def adaptive(x, size, kind):
    y = np.zeros(x.shape[:2] + tuple(size))
    for at in itertools.product(*map(range, size)):
        part = tuple(slice(a * n // s, -(-(a + 1) * n // s)) for a, n, s in zip(at, x.shape[2:], size))
        block = wide(x)[(slice(None), slice(None)) + part].reshape(x.shape[:2] + (-1,))
        y[(slice(None), slice(None)) + at] = block.max(2) if kind == "max" else block.mean(2)
    return f32(y)


def products():
    a, b, bias = f(3, 4), f(5, 4), f(5)
    row("nn.dense dense", "units=5", [a, b], f32(a @ b.T))
    row("nn.dense dense", "units=5, use_bias=True", [a, b, bias], f32(a @ b.T + bias))
    row("nn.matmul matmul", "", [a, b.T.copy()], f32(a @ b.T))
    row("matmul", "transpose_a=True, transpose_b=True", [a.T.copy(), b], f32(a @ b.T))
    p, q = f(2, 3, 4), f(2, 4, 5)
    row("nn.batch_matmul", "transpose_b=False", [p, q], f32(p @ q))
    row("nn.batch_matmul", "transpose_b=True", [p, q.transpose(0, 2, 1).copy()], f32(p @ q))
    row("tensordot", "axes=1", [p, b.T.copy()], f32(np.tensordot(p, b.T, 1)))
    row("einsum", "equation=\"ij,kj->ik\"", [a, b], f32(a @ b.T))
    x, w = f(1, 2, 5, 6), f(4, 2, 3, 2)
    row("nn.conv2d conv2d", "channels=4, kernel_size=[3, 2]", [x, w], conv(x, w, [1, 1]))
    row("conv2d", "channels=4, kernel_size=[3, 2], strides=[2, 1], padding=[1, 0], dilation=[1, 2], use_bias=True",
        [x, w, bias[:4].copy()], conv(x, w, [2, 1], [1, 0], [1, 2]) + bias[:4].reshape(4, 1, 1))
    grouped = f(4, 1, 2, 2)
    row("nn.conv2d conv2d", "channels=4, kernel_size=[2, 2], groups=2", [x, grouped], conv(x, grouped, [1, 1], groups=2))
    nhwc = x.transpose(0, 2, 3, 1).copy()
    row("conv2d", "channels=4, kernel_size=[3, 2], layout=\"NHWC\", kernel_layout=\"OIHW\"",
        [nhwc, w], conv(x, w, [1, 1]).transpose(0, 2, 3, 1))
    row("nn.conv2d", "channels=4, kernel_size=[3, 2], data_layout=\"NHWC\", kernel_layout=\"HWIO\"",
        [nhwc, w.transpose(2, 3, 1, 0).copy()], conv(x, w, [1, 1]).transpose(0, 2, 3, 1))
    x1, w1 = f(1, 2, 7), f(3, 2, 2)
    row("nn.conv1d", "", [x1, w1], conv(x1, w1, [1]))
    x3, w3 = f(1, 1, 3, 3, 4), f(2, 1, 2, 2, 2)
    row("nn.conv3d", "", [x3, w3], conv(x3, w3, [1, 1, 1]))
    row("nn.conv1d_transpose", "", [x1, w1.transpose(1, 0, 2).copy()], transposed(x1, w1.transpose(1, 0, 2), [1], [0]))
    row("nn.conv3d_transpose", "", [x3, w3.transpose(1, 0, 2, 3, 4).copy()],
        transposed(x3, w3.transpose(1, 0, 2, 3, 4), [1, 1, 1], [0, 0, 0]))
    wt = f(2, 3, 2, 3)
    row("nn.conv2d_transpose conv2d_transpose", "channels=3, kernel_size=[2, 3]", [x, wt], transposed(x, wt, [1, 1], [0, 0]))
    row("conv2d_transpose", "channels=3, kernel_size=[2, 3], strides=[2, 2], padding=[1, 1], output_padding=[1, 0]",
        [x, wt], transposed(x, wt, [2, 2], [1, 1], [1, 0]))
    row("nn.conv2d_transpose", "channels=3, kernel_size=[2, 3], strides=[2, 2], padding=[1, 1], output_padding=[1, 0], "
        "data_layout=\"NHWC\", kernel_layout=\"HWOI\"", [nhwc, wt.transpose(2, 3, 1, 0).copy()],
        transposed(x, wt, [2, 2], [1, 1], [1, 0]).transpose(0, 2, 3, 1))
    x, x1, x3 = f(1, 2, 5, 6), f(1, 2, 7), f(1, 1, 3, 4, 4)
    for k in ("max", "avg"):
        row(f"nn.{k}_pool1d", "pool_size=[2]", [x1], pool(x1, [2], [1], [0], k))
        row(f"nn.{k}_pool2d {k}_pool2d", "pool_size=[3, 2]", [x], pool(x, [3, 2], [1, 1], [0, 0], k))
        row(f"nn.{k}_pool2d {k}_pool2d", "pool_size=[3, 2], strides=[2, 2], padding=[1, 1]", [x],
            pool(x, [3, 2], [2, 2], [1, 1], k))
        row(f"nn.{k}_pool3d", "pool_size=[2, 2, 2]", [x3], pool(x3, [2, 2, 2], [1, 1, 1], [0, 0, 0], k))
        row("nn.pool1d", f"kernel=[2], stride=[2], dilation=[1], padding=[1, 0], pool_type=\"{k}\"", [x1],
            pool(x1, [2], [2], [1, 0], k))
        row("nn.pool2d", f"kernel=[2, 2], stride=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], pool_type=\"{k}\"", [x],
            pool(x, [2, 2], [2, 2], [0, 0], k))
        row("nn.pool3d", f"kernel=[2, 2, 2], stride=[1, 2, 2], dilation=[1, 1, 1], padding=[0, 0, 0, 0, 0, 0], pool_type=\"{k}\"",
            [x3], pool(x3, [2, 2, 2], [1, 2, 2], [0, 0, 0], k))
        row(f"nn.global_{k}_pool2d global_{k}_pool2d", "", [x], adaptive(x, (1, 1), k))
        row("nn.global_pool", f"pool_type=\"{k}\"", [x], adaptive(x, (1, 1), k))
        row(f"nn.adaptive_{k}_pool1d", "output_size=[3]", [x1], adaptive(x1, (3,), k))
        row(f"nn.adaptive_{k}_pool2d", "output_size=[2, 4]", [x], adaptive(x, (2, 4), k))
        row(f"nn.adaptive_{k}_pool3d", "output_size=[2, 3, 1]", [x3], adaptive(x3, (2, 3, 1), k))
        row("nn.adaptive_pool", f"output_size=[2, 4], pool_type=\"{k}\"", [x], adaptive(x, (2, 4), k))
        row("nn.adaptive_pool3d", f"output_size=[2, 3, 1], pool_type=\"{k}\"", [x3], adaptive(x3, (2, 3, 1), k))
        d = distinct(1, 1, 4, 4)
        grad = f(1, 1, 2, 2)
        back = np.zeros((1, 1, 4, 4), "float32")
        for i, j in itertools.product(range(2), repeat=2):
            block = d[0, 0, 2 * i:2 * i + 2, 2 * j:2 * j + 2]
            spot = block == block.max() if k == "max" else np.full((2, 2), 0.25)
            back[0, 0, 2 * i:2 * i + 2, 2 * j:2 * j + 2] = grad[0, 0, i, j] * spot
        row("nn.pool_grad", f"kernel=[2, 2], stride=[2, 2], padding=[0, 0, 0, 0], pool_type=\"{k}\"", [grad, d], back)
        row(f"nn.{k}_pool2d_grad", "pool_size=[2, 2], strides=[2, 2]", [grad, d], back)
    row("image.dilation2d", "data_layout=\"NCHW\", kernel_layout=\"IHW\"", [x, f(2, 2, 2) * 0],
        pool(x, [2, 2], [1, 1], [0, 0], "max"))


# ---- Networks ----


def softmax(v, axis=-1):
    e = np.exp(wide(v) - wide(v).max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def networks():
    x = f(2, 5)
    row("nn.softmax softmax nn.fast_softmax", "", [x], f32(softmax(x)))
    row("nn.softmax softmax", "axis=0", [x], f32(softmax(x, 0)))
    row("nn.log_softmax log_softmax", "", [x], f32(np.log(softmax(x))))
    n = f(2, 3, 4)
    per = (1, 3, 1)
    gamma, beta, mean, var = f(3), f(3), f(3), f(3, lo=0.25, hi=2)
    whole = (wide(n) - mean.reshape(per)) / np.sqrt(wide(var).reshape(per) + 1e-5)
    row("nn.batch_norm batch_norm", "", [n, gamma, beta, mean, var], f32(whole * gamma.reshape(per) + beta.reshape(per)))
    row("nn.batch_norm batch_norm", "center=False, scale=False", [n, gamma, beta, mean, var], f32(whole))
    slope = f(3)
    row("nn.prelu prelu", "", [n, slope], np.where(n > 0, n, n * slope.reshape(per)).astype("float32"))
    row("nn.bias_add", "", [n, beta], n + beta.reshape(per))
    row("nn.scale_shift_nchw", "", [n.reshape(2, 3, 4, 1), gamma, beta],
        (n * gamma.reshape(per) + beta.reshape(per)).reshape(2, 3, 4, 1))
    last = f(2, 2, 2, 3)
    row("nn.scale_shift_nhwc", "", [last, gamma, beta], last * gamma + beta)

    def normal(v, axes, eps=1e-5):
        v = wide(v)
        return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + eps)

    g4, b4 = f(4), f(4)
    row("nn.layer_norm", "", [n, g4, b4], f32(normal(n, (2,)) * g4 + b4))
    row("nn.instance_norm", "", [n, gamma, beta], f32(normal(n, (2,)) * gamma.reshape(per) + beta.reshape(per)))
    g = f(2, 4, 3)
    row("nn.group_norm", "num_groups=2, axis=1", [g, g4, b4],
        f32(normal(g.reshape(2, 2, 6), (2,)).reshape(2, 4, 3) * g4.reshape(1, 4, 1) + b4.reshape(1, 4, 1)))
    row("nn.l2_normalize l2_normalize", "eps=0.25, axis=[1]", [n],
        f32(wide(n) / np.sqrt(np.maximum((wide(n)**2).sum(1, keepdims=True), 0.25))))
    image = f(1, 6, 2, 2)

    def lrn(v, size, bias, alpha, beta_):
        c = v.shape[1]
        sums = np.stack([(wide(v)[:, max(0, i - size // 2):min(c, i + size // 2 + 1)]**2).sum(1) for i in range(c)], 1)
        return f32(wide(v) / (bias + alpha / size * sums)**beta_)

    row("nn.lrn", "", [image], lrn(image, 5, 2, 0.0001, 0.75))
    row("lrn", "size=3, axis=1, alpha=0.5, beta=0.75, bias=2", [image], lrn(image, 3, 2, 0.5, 0.75))
    row("nn.dropout dropout", "", [x], x)
    logits, target = softmax(f(3, 4)), np.array([1, 3, 0], "int32")
    logits, weight = f32(np.log(logits)), f(4, lo=0.5, hi=2)
    picked = -wide(logits)[range(3), target] * weight[target]
    row("nn.nll_loss", "reduction=\"sum\", ignore_index=-100", [logits, target, weight], f32(picked.sum()))
    row("nn.nll_loss", "reduction=\"mean\", ignore_index=-100", [logits, target, weight],
        f32(picked.sum() / wide(weight)[target].sum()))
    p, t = f(3, 4, lo=0.25, hi=1), f(3, 4, lo=0, hi=1)
    row("nn.cross_entropy", "", [p, t], f32(-(wide(t) * np.log(wide(p))).sum() / 3))
    z = f(3, 4)
    row("nn.cross_entropy_with_logits", "", [z, t], f32(-(wide(t) * wide(z)).sum() / 3))
    data, buffer = f(2, 3), f(4, 3)
    row("nn.fifo_buffer", "", [data, buffer], np.concatenate([buffer[2:], data]))
    bits = np.array([-1, 0, 1, 2] * 8, "float32").reshape(1, 32)
    pack = sum(1 << (31 - i) for i, v in enumerate(bits[0]) if v >= 0)
    row("nn.binarize_pack", "", [bits], np.array([[pack]], "uint32"))
    u, v = ints(2, 1, lo=0, hi=2**24 - 1).astype("uint32"), ints(3, 1, lo=0, hi=2**24 - 1).astype("uint32")
    count = np.array([[bin(int(i ^ k)).count("1") for k in v[:, 0]] for i in u[:, 0]])
    row("nn.binary_dense", "", [u, v], f32(32 - 2 * count))


def images():
    x = f(1, 2, 3, 4)
    double = x.repeat(2, 2).repeat(2, 3)
    row("nn.upsampling", "scale_h=2, scale_w=2", [x], double)
    row("upsampling", "scale=2", [x], double)
    cube = f(1, 1, 2, 2, 3)
    row("nn.upsampling3d", "scale_d=2, scale_h=2, scale_w=2", [cube], cube.repeat(2, 2).repeat(2, 3).repeat(2, 4))

    def along(v, axis, size, place):
        n = v.shape[axis]
        at = np.clip([place(i, n, size) for i in range(size)], 0, n - 1)
        low = np.floor(at).astype(int)
        high, part = np.minimum(low + 1, n - 1), at - low
        part = part.reshape([-1 if k == axis else 1 for k in range(v.ndim)])
        return v.take(low, axis) * (1 - part) + v.take(high, axis) * part

    from_corner = lambda i, n, size: i * n / size
    half = lambda i, n, size: (i + 0.5) * n / size - 0.5
    both = lambda v, h, w, place: f32(along(along(wide(v), 2, h, place), 3, w, place))
    row("resize", "size=(5, 6)", [x], both(x, 5, 6, from_corner))
    row("resize", "size=(5, 6), align_corners=True", [x], both(x, 5, 6, lambda i, n, size: i * (n - 1) / (size - 1)))
    row("image.resize2d", "size=[5, 6]", [x], both(x, 5, 6, half))
    line = f(1, 2, 5)
    row("image.resize1d", "size=[8]", [line], f32(along(wide(line), 2, 8, half)))
    row("image.resize3d", "size=[3, 4, 3]", [cube],
        f32(along(along(along(wide(cube), 2, 3, half), 3, 4, half), 4, 3, half)))


# ---- Vision ----


def overlap(a, b):
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    area = lambda c: (c[2] - c[0]) * (c[3] - c[1])
    both = width * height
    return both / (area(a) + area(b) - both) if both else 0


def vision():
    x = f(1, 1, 2, 3)
    prior = [[(j + 0.5) / 3 - 0.5 * 2 / 3, (i + 0.5) / 2 - 0.5, (j + 0.5) / 3 + 0.5 * 2 / 3, (i + 0.5) / 2 + 0.5]
             for i in range(2) for j in range(3)]
    row("vision.multibox_prior multibox_prior", "", [x], np.array([prior], "float32"))
    boxes = np.array([[0, 0.9, 0, 0, 2, 2], [1, 0.8, 0, 0, 2, 2.25], [0, 0.7, 0, 0.25, 2, 2.25], [0, 0.3, 4, 4, 5, 5],
                      [-1, 0.6, 4, 4, 5, 5]], "float32")[None]

    def nms(threshold, force):
        """In the order of scores; what is suppressed loses its class."""
        out = boxes[0][np.argsort(-boxes[0, :, 1])].copy()
        for i, k in itertools.product(range(5), range(5)):
            if k < i and out[k, 0] >= 0 and (force or out[k, 0] == out[i, 0]):
                if overlap(out[k, 2:], out[i, 2:]) >= threshold:
                    out[i, 0] = -1
        return out[None]

    row("nms vision.nms", "", [boxes, np.array([5], "int32")], nms(0.5, False))
    row("nms vision.nms", "nms_threshold=0.25, force_suppress=True", [boxes, np.array([5], "int32")], nms(0.25, True))
    cut = nms(0.5, False)
    cut[0, 2:] = -1
    row("nms vision.nms", "nms_topk=2", [boxes, np.array([5], "int32")], cut)
    chances, moves = softmax(f(1, 3, 4), 1), f(1, 16, lo=-1, hi=1)
    anchors = np.array([[[0, 0, 0.5, 0.5], [0.25, 0.25, 0.75, 1], [0.5, 0, 1, 0.25], [0, 0.5, 0.25, 1]]], "float32")
    boxes, score, kind = [], chances[0, 1:].max(0), chances[0, 1:].argmax(0)
    for i in range(4):
        a, m = wide(anchors[0, i]), wide(moves[0, 4 * i:4 * i + 4]) * [0.1, 0.1, 0.2, 0.2]
        size, middle = a[2:] - a[:2], (a[2:] + a[:2]) / 2
        middle, half = middle + m[:2] * size, np.exp(m[2:]) * size / 2
        boxes.append(np.concatenate([[kind[i], score[i]], np.clip(np.concatenate([middle - half, middle + half]), 0, 1)]))
    row("vision.multibox_transform_loc multibox_transform_loc", "", [f32(chances), moves, anchors], f32([boxes]),
        np.array([4], "int32"))
    r = f(1, 16, 2, 1).reshape(1, 2, 8, 2, 1)
    y = wide(r)
    y[:, :, [0, 1, 4]] = 1 / (1 + np.exp(-y[:, :, [0, 1, 4]]))
    y[:, :, 5:] = softmax(y[:, :, 5:], 2)
    row("yolo_region", "n=2, num_classes=3, coords=4, background=False, softmax=True", [r.reshape(1, 16, 2, 1)],
        f32(y.reshape(1, 16, 2, 1)))

    many = np.zeros((2, 70, 6), "float32")
    many[:, :, 0], many[:, :, 1] = ints(2, 70, lo=-1, hi=1), distinct(2, 70)
    many[:, :, 2:4] = f(2, 70, 2, lo=0, hi=6)
    many[:, :, 4:] = many[:, :, 2:4] + f(2, 70, 2, lo=0.5, hi=3)
    valid, names = np.array([70, 33], "int32"), np.stack([np.arange(100, 170), np.arange(70)]).astype("int32")

    def suppressed(limit, threshold, force=False, top=-1, of=0):
        """Per row the boxes that are left, at their places in the order of scores."""
        for b in range(2):
            order = [int(i) for i in np.argsort(-many[b, :valid[b], 1])]
            left, num = [-1] * 70, 0
            for j, i in enumerate(order[:top] if top > 0 else order):
                if num == limit:
                    break
                ok = many[b, i, 1] <= 0 or not any(
                    k >= 0 and (of < 0 or (many[b, k, 0] >= 0 and (force or many[b, k, 0] == many[b, i, 0])))
                    and overlap(many[b, k, 2:], many[b, i, 2:]) >= threshold for k in left[:j])
                left[j] = i if ok else -1
                num += ok and many[b, i, 1] > 0
            yield left

    for attrs, limit, threshold, keys in (("", -1, 0.25, {}), ("top_k=20", -1, 0.5, {"top": 20}),
                                          ("force_suppress=True", 5, 0.125, {"force": True}), ("id_index=-1", 0, 0.5, {"of": -1})):
        inputs = [many, valid, names, scalar(limit, "int32"), scalar(threshold)]
        left = list(suppressed(limit, threshold, **keys))
        found = [[int(names[b, i]) for i in left[b] if i >= 0] for b in range(2)]
        row("vision.non_max_suppression", attrs, inputs, np.array([r + [-1] * (70 - len(r)) for r in found], "int32"),
            np.array([[len(r)] for r in found], "int32"))
        gone = np.full((1, 6), -1, "float32")
        row("vision.non_max_suppression", (attrs + ", " if attrs else "") + "return_indices=False", inputs,
            np.stack([np.concatenate([many[b, i:i + 1] if i >= 0 else gone for i in left[b]]) for b in range(2)]))
    left = list(suppressed(-1, 0.25))
    bottom = np.full((2, 70, 6), -1, "float32")
    for b in range(2):
        rows = [i for i in left[b] if i >= 0 and many[b, i, 0] >= 0]
        bottom[b, :len(rows)] = many[b, rows]
    inputs = [many, valid, names, scalar(-1, "int32"), scalar(0.25)]
    row("vision.non_max_suppression", "return_indices=False, invalid_to_bottom=True", inputs, bottom)
    inputs = [many, valid, names, scalar(3, "int32"), scalar(0)]
    whole = np.where(np.arange(70) < valid[:, None], names, -1)
    row("vision.non_max_suppression", "", inputs, whole.astype("int32"), np.array([[70], [33]], "int32"))
    chance, moves, image = distinct(1, 12, 4, 5) / 40, f(1, 24, 4, 5, lo=-1, hi=1) / 2, np.array([[60, 70, 1]], "float32")
    found = []
    for y, x, k in itertools.product(range(4), range(5), range(6)):
        ratio, scale = [0.5, 1, 2][k // 2], [1, 2][k % 2]
        width = math.floor(math.sqrt(math.floor(256 / ratio)) + 0.5)
        size = np.array([width * scale, math.floor(width * ratio + 0.5) * scale])
        d = wide(moves[0, 4 * k:4 * k + 4, y, x])
        middle, size = 7.5 + 16 * np.array([x, y]) + d[:2] * size, np.exp(d[2:]) * size
        ends = np.concatenate([middle - (size - 1) / 2, middle + (size - 1) / 2]).clip(0, [69, 59, 69, 59])
        score = chance[0, 6 + k, y, x] if y < 3 and x < 4 else -1
        if min(ends[2:] - ends[:2]) + 1 < 16:
            ends, score = ends + [-8, -8, 8, 8], -1
        found.append((score, ends))
    best, one = [], np.array([0, 0, 1, 1])
    for _, box in sorted(found, key=lambda p: -p[0])[:50]:
        if all(overlap(other + one, box + one) <= 0.5 for other in best):
            best.append(box)
    row("vision.proposal", "scales=[1.0, 2.0], threshold=0.5, rpn_pre_nms_top_n=50, rpn_post_nms_top_n=30", [chance, moves, image],
        f32([np.concatenate([[0], best[i % len(best)]]) for i in range(30)]))
    counted = np.array([[[0, 0.75, 0, 0, 1, 1], [1, -1, 0, 0, 2, 2], [-1, 0.5, 0, 0, 3, 3], [2, 0.25, 1, 1, 2, 2]]], "float32")
    kept = np.full((1, 4, 6), -1, "float32")
    kept[0, :2] = counted[0, [0, 3]]
    row("vision.get_valid_counts", "", [counted, scalar(0)], np.array([2], "int32"), kept, np.array([[0, 3, -1, -1]], "int32"))
    row("vision.get_valid_counts", "score_threshold=0", [counted], np.array([2], "int32"), kept,
        np.array([[0, 3, -1, -1]], "int32"))
    spots = np.array([[[0, 0, 2, 2], [0, 0, 2, 2.25], [3, 3, 4, 4]]], "float32")
    scores = np.array([[[0.5, 0.75, 0.25], [0.75, 0.25, 0.5]]], "float32")
    row("vision.all_class_non_max_suppression", "", [spots, scores, scalar(3, "int64"), scalar(0.5), scalar(0.125)],
        np.array([[0, 0, 1], [0, 0, 2], [0, 1, 0], [0, 1, 2], [0, 0, 0], [0, 0, 0]], "int64"), scalar(4, "int64"))


def bilinear(image, y, x, outside=None):
    """Of [C, H, W]; what lies outside is 0, or the nearest."""
    low_y, low_x, total = math.floor(y), math.floor(x), 0
    for i, j in itertools.product((0, 1), repeat=2):
        r, c, part = low_y + i, low_x + j, (i * (y - low_y) + (1 - i) * (1 + low_y - y)) * (j * (x - low_x) + (1 - j) * (1 + low_x - x))
        if outside == "nearest":
            r, c = min(max(r, 0), image.shape[1] - 1), min(max(c, 0), image.shape[2] - 1)
        if 0 <= r < image.shape[1] and 0 <= c < image.shape[2]:
            total = total + part * wide(image)[:, r, c]
    return total + np.zeros(image.shape[0])


def places():
    x = f(1, 2, 4, 5)
    grid = f(1, 2, 3, 2, lo=-1.25, hi=1.25)
    want = np.stack([[bilinear(x[0], (g[1] + 1) / 2 * 3, (g[0] + 1) / 2 * 4) for g in r] for r in wide(grid[0])])
    row("image.grid_sample", "", [x, grid], f32(want.transpose(2, 0, 1)[None]))
    theta = f(1, 2, 3)
    at = np.array([[[a, b, 1] for a in np.linspace(-1, 1, 3)] for b in np.linspace(-1, 1, 2)])
    row("image.affine_grid", "target_shape=[2, 3]", [theta], f32((at @ wide(theta[0]).T)[None]))
    boxes, which = np.array([[0, 0, 1, 1], [0.25, 0.5, 0.75, 1]], "float32"), np.array([0, 0], "int32")
    crop = [[[bilinear(x[0], y, z) for z in np.linspace(b[1] * 4, b[3] * 4, 3)] for y in np.linspace(b[0] * 3, b[2] * 3, 2)]
            for b in wide(boxes)]
    row("image.crop_and_resize", "crop_size=[2, 3], layout=\"NCHW\"", [x, boxes, which],
        f32(np.array(crop).transpose(0, 3, 1, 2)))
    regions = np.array([[0, 0, 0, 6, 4], [0, 2, 1, 8, 7]], "float32")
    aligned, pooled = np.zeros((2, 2, 2, 2)), np.zeros((2, 2, 2, 2))
    for n, (_, x1, y1, x2, y2) in enumerate(wide(regions) * 0.5):
        size = max(y2 - y1, 1) / 2, max(x2 - x1, 1) / 2
        taps = [math.ceil(v) for v in size]
        start = [math.floor(v + 0.5) for v in (y1, x1, y2, x2)]
        whole = max(start[2] - start[0] + 1, 1) / 2, max(start[3] - start[1] + 1, 1) / 2
        for i, j in itertools.product(range(2), repeat=2):
            points = [bilinear(x[0], y1 + (i + (a + 0.5) / taps[0]) * size[0], x1 + (j + (b + 0.5) / taps[1]) * size[1], "nearest")
                      for a in range(taps[0]) for b in range(taps[1])]
            aligned[n, :, i, j] = np.mean(points, 0)
            ys = [min(max(v + start[0], 0), 4) for v in (math.floor(i * whole[0]), math.ceil((i + 1) * whole[0]))]
            xs = [min(max(v + start[1], 0), 5) for v in (math.floor(j * whole[1]), math.ceil((j + 1) * whole[1]))]
            part = x[0, :, ys[0]:ys[1], xs[0]:xs[1]].reshape(2, -1)
            pooled[n, :, i, j] = part.max(1) if part.size else 0
    row("vision.roi_align", "pooled_size=[2, 2], spatial_scale=0.5, mode=\"avg\"", [x, regions], f32(aligned))
    row("vision.roi_pool", "pooled_size=[2, 2], spatial_scale=0.5", [x, regions], f32(pooled))
    data, weight, moves = f(1, 2, 4, 4), f(3, 2, 2, 2), f(1, 8, 3, 3, lo=-0.5, hi=0.5)
    out = np.zeros((1, 3, 3, 3))
    for i, j, a, b in itertools.product(range(3), range(3), range(2), range(2)):
        tap = 2 * a + b
        point = bilinear(data[0], i + a + moves[0, 2 * tap, i, j], j + b + moves[0, 2 * tap + 1, i, j])
        out[0, :, i, j] += wide(weight)[:, :, a, b] @ point
    row("nn.deformable_conv2d", "kernel_size=[2, 2], channels=3", [data, moves, weight], f32(out))


# ---- Quantised numbers ----


def quantised(v, scale, zero, dtype="int8"):
    limits = np.iinfo(dtype)
    return np.clip(np.round(v / scale) + zero, limits.min, limits.max).astype(dtype)


def qnn():
    x, s, z, so, zo = ints(3, 4, lo=-60, hi=60, dtype="int8"), 0.0313, 5, 0.0217, -3
    real = (wide(x) - z) * s
    quant = [scalar(s), scalar(z, "int32"), scalar(so), scalar(zo, "int32")]
    positive = (wide(np.abs(x)) + 5) * s
    for name, fn in (("abs", np.abs), ("erf", np.vectorize(math.erf)), ("exp", np.exp), ("tanh", np.tanh),
                     ("sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("softmax", softmax),
                     ("hardswish", lambda v: v * np.clip(v + 3, 0, 6) / 6), ("leaky_relu", lambda v: np.where(v > 0, v, v / 4))):
        row(f"qnn.{name}", "", [x] + quant, quantised(fn(real), so, zo))
    up = [scalar(s), scalar(-5, "int32")] + quant[2:]
    for name, fn in (("log", np.log), ("sqrt", np.sqrt), ("rsqrt", lambda v: 1 / np.sqrt(v))):
        row(f"qnn.{name}", "", [np.abs(x)] + up, quantised(fn(positive), so, zo))
    y, t, zy = ints(3, 4, lo=-60, hi=60, dtype="int8"), 0.05, 2
    other = (wide(y) - zy) * t
    pair = [x, y, scalar(s), scalar(z, "int32"), scalar(t), scalar(zy, "int32"), scalar(0.07), scalar(1, "int32")]
    for name, fn in (("add", np.add), ("subtract", np.subtract), ("mul", np.multiply)):
        row(f"qnn.{name}", "", pair, quantised(fn(real, other), 0.07, 1))
    row("qnn.concatenate", "", [x, y, scalar(s), scalar(t), scalar(z, "int32"), scalar(zy, "int32"), scalar(0.07), scalar(1, "int32")],
        quantised(np.concatenate([real, other], 0), 0.07, 1))
    v = f(3, 4)
    row("qnn.quantize", "out_dtype=int8", [v, scalar(0.03), scalar(4, "int8")], quantised(wide(v), 0.03, 4))
    row("qnn.dequantize", "", [x, scalar(0.5), scalar(4, "int8")], f32((wide(x) - 4) * 0.5))
    wx, wy = x.astype("int32") - 3, y.astype("int32") + 2
    kept = [scalar(3, "int32"), scalar(-2, "int32"), scalar(s), scalar(t)]
    row("qnn.dense", "units=3, out_dtype=int32", [x, y] + kept, wx @ wy.T)
    row("qnn.batch_matmul", "transpose_b=True, out_dtype=int32", [x[None], y[None]] + kept, (wx @ wy.T)[None])
    image, weight = ints(1, 2, 4, 4, lo=-60, hi=60, dtype="int8"), ints(3, 2, 2, 2, lo=-60, hi=60, dtype="int8")
    row("qnn.conv2d", "channels=3, kernel_size=[2, 2], out_dtype=int32", [image, weight] + kept,
        conv(image.astype("int32") - 3, weight.astype("int32") + 2, [1, 1]).astype("int32"))
    turned = weight.transpose(1, 0, 2, 3).copy()
    row("qnn.conv2d_transpose", "channels=3, kernel_size=[2, 2], out_dtype=int32", [image, turned] + kept,
        transposed(image.astype("int32") - 3, turned.astype("int32") + 2, [1, 1], [0, 0]).astype("int32"))
    row("qnn.conv2d_transpose", "channels=3, kernel_size=[2, 2], data_layout=\"NHWC\", kernel_layout=\"HWOI\", "
        "out_dtype=int32", [image.transpose(0, 2, 3, 1).copy(), turned.transpose(2, 3, 1, 0).copy()] + kept,
        transposed(image.astype("int32") - 3, turned.astype("int32") + 2, [1, 1], [0, 0])
        .astype("int32").transpose(0, 2, 3, 1))
    row("qnn.avg_pool2d", "pool_size=[2, 2]", [image] + quant,
        quantised(pool((wide(image) - z) * s, [2, 2], [1, 1], [0, 0], "avg"), so, zo))
    wanted = quantised(wide(x.astype("int32") * 9) * 0.3, 1, 2)
    row("qnn.requantize", "out_dtype=int8", [x.astype("int32") * 9, scalar(0.3), scalar(2, "int8")], wanted)
    q = x.astype("int32") * 3 + 1  # halves, which are rounded up, or away from zero
    sides = [scalar(0.5), scalar(2, "int32"), scalar(4.0), scalar(-1, "int32")]
    eighths = (wide(q) - 2) / 8
    away = np.sign(eighths) * np.floor(np.abs(eighths) + 0.5)
    up = np.clip(np.floor(eighths + 0.5) - 1, -128, 127).astype("int8")
    row("qnn.requantize", "out_dtype=int8", [q] + sides, up)
    row("qnn.requantize", "rounding=\"UPWARD\", compute_dtype=\"float32\", out_dtype=int8", [q] + sides, up)
    row("qnn.requantize", "rounding=\"TONEAREST\", out_dtype=int8", [q] + sides, np.clip(away - 1, -128, 127).astype("int8"))
    by_channel = [f32([0.25, 0.5, 1, 2]), np.array([2, 1, 0, -1], "int32"), scalar(0.5), scalar(3, "int32")]
    whole = (wide(x.astype("int32") * 2) - by_channel[1] * 2) * wide(by_channel[0])
    row("qnn.requantize", "axis=1, out_dtype=int16", [x.astype("int32") * 4] + [by_channel[0], by_channel[1] * 4] + by_channel[2:],
        (whole * 4 + 3).astype("int16"))
    for code, dtype in ((1, "int8"), (2, "uint8"), (3, "int32")):
        row("qnn.simulated_quantize", "", [v, scalar(code, "int32"), scalar(0.03), scalar(4, "int32")],
            f32(quantised(wide(v), 0.03, 4, dtype)))
        row("qnn.simulated_dequantize", "axis=0", [v, scalar(code, "int32"), f32([0.5, 1, 2]), np.array([1, 2, 3], "int32")],
            f32((v - np.array([[1], [2], [3]])) * [[0.5], [1], [2]]))
    row("qnn.simulated_quantize qnn.simulated_dequantize", "", [v, scalar(0, "int32"), scalar(0.03), scalar(4, "int32")], v)


# ---- Few elements, bits, random numbers and the rest ----


def rest():
    dense = np.where(bools(4, 3), f(4, 3), 0).astype("float32")
    data, columns, begins = dense[dense != 0], np.nonzero(dense)[1].astype("int32"), [0]
    for r in dense:
        begins.append(begins[-1] + np.count_nonzero(r))
    csr = [data, columns, np.array(begins, "int32")]
    x = f(2, 3)
    row("nn.sparse_dense", "", [x] + csr, f32(x @ dense.T))
    base = f(4, 3)
    row("nn.sparse_add", "", [base] + csr, base + dense)
    picture = f(1, 2, 3, 3)
    row("nn.sparse_conv2d", "", [picture] + csr, f32(picture @ dense.T))
    taps = np.where(bools(2, 3, 3, 2), f(2, 3, 3, 2), 0).astype("float32")
    flat = taps.reshape(2, 18)
    bsr = [flat[flat != 0], np.nonzero(flat)[1].astype("int32"),
           np.concatenate([[0], np.cumsum(np.count_nonzero(flat, 1))]).astype("int32")]
    picture = f(1, 4, 3, 2)
    row("nn.sparse_conv2d", "kernel_size=[3, 3]", [picture] + bsr,
        conv(picture.transpose(0, 3, 1, 2), taps.transpose(0, 3, 1, 2), [1, 1], [1, 1]).transpose(0, 2, 3, 1))
    square = np.where(bools(4, 4), f(4, 4), 0).astype("float32")
    parts = []
    for m in (square, square.T):
        parts.append([m[m != 0], np.nonzero(m)[1].astype("int32"),
                      np.concatenate([[0], np.cumsum(np.count_nonzero(m, 1))]).astype("int32")])
    row("nn.sparse_transpose", "", parts[0], *parts[1])
    bits = ints(2, 32, lo=0, hi=1)
    words = [sum(int(v) << (31 - i) for i, v in enumerate(r)) for r in bits]
    row("nn.bitpack", "pack_type=uint32", [bits], np.array(words, "uint32").reshape(2, 1, 1))
    a, w = ints(2, 32, lo=0, hi=3, dtype="int8"), ints(3, 32, lo=0, hi=1, dtype="int8")
    row("nn.bitserial_dense", "units=3, data_bits=2", [a, w], (a.astype("int16") @ (2 * w.T.astype("int16") - 1)))
    image, weight = ints(1, 32, 3, 3, lo=0, hi=3, dtype="int8"), ints(2, 32, 2, 2, lo=0, hi=1, dtype="int8")
    row("nn.bitserial_conv2d", "channels=2, kernel_size=[2, 2], activation_bits=2", [image, weight],
        conv(image, 2 * weight - 1, [1, 1]).astype("int16"))
    grad, data = f(1, 2, 3, 3), f(1, 2, 4, 4)
    back = np.zeros((2, 2, 2, 2))
    for i, j in itertools.product(range(2), repeat=2):
        back[:, :, i, j] = np.einsum("nohw,nihw->oi", wide(grad), wide(data)[:, :, i:i + 3, j:j + 3])
    row("nn.conv2d_backward_weight", "kernel_size=[2, 2], channels=2", [grad, data], f32(back))
    p, q = f(1, 2, 3, 4), f(1, 2, 3, 4)
    row("nn.correlation", "", [p, q], 
        f32(np.stack([(p[:, :, 1:2, 1:3] * q[:, :, i:i + 1, j:j + 2]).mean(1) for i in range(3) for j in range(3)], 1)))
    i = ints(3, 2, lo=0, hi=1000)
    row("fixed_point_multiply_per_axis", "axes=[0], is_lshift_required=True, is_rshift_required=True",
        [i, np.array([1073741824, 1610612736, 1073741824], "int32"), np.array([1, 2, 0], "int32"), np.array([0, 0, 1], "int32")],
        np.floor(i * np.array([[1], [3], [0.25]]) + 0.5).astype("int32"))
    z = f(1, 4, 2)
    line = np.fft.fft(wide(z)[..., 0] + 1j * wide(z)[..., 1])
    row("dft", "", [z], f32(np.stack([line.real, line.imag], -1)))
    line = np.fft.ifft(wide(z)[..., 0] + 1j * wide(z)[..., 1])
    row("dft", "inverse=True", [z], f32(np.stack([line.real, line.imag], -1)))
    v, n = f(5), f(2)
    put = v.copy()
    put[1:5:2] = n
    row("strided_set", "begin=[1], strides=[2]", [v, n], put)
    sig, win = f(1, 8, 1), f(4)
    frames = [np.fft.fft(wide(sig)[0, k:k + 4, 0] * win) for k in (0, 2, 4)]
    row("stft", "length=4, step=2", [sig, win], f32(np.stack([np.real(frames), np.imag(frames)], -1)[None])[:, :, :3])
    u, number = np.array([2, 0, 2, 3, 0], "float32"), lambda n: scalar(n, "int64")
    long = lambda *v: np.array(v, "int64")
    row("unique", "", [u], np.array([0, 2, 3, 0, 0], "float32"), long(1, 0, 3, 0, 0), long(1, 0, 1, 2, 0),
        long(2, 2, 1, 0, 0), number(3))
    b = bools(2, 3)
    where = np.argwhere(b)
    row("argwhere", "", [b], np.pad(where, ((0, 6 - len(where)), (0, 0))), number(len(where)))
    state = np.arange(10, dtype="uint64")
    row("random.threefry_generate", "out_shape=[4]", [state], Unknown("uint64", 10), Unknown("uint64", 4))
    row("random.threefry_split", "", [state], Unknown("uint64", 10), Unknown("uint64", 10))
    row("random.uniform", "out_shape=[2, 4], out_dtype=float32", [state, scalar(0), scalar(1)], Unknown("uint64", 10),
        Unknown("float32", 2, 4))
    row("random.normal", "out_shape=[2, 4], out_dtype=float32", [state, scalar(0), scalar(1)], Unknown("uint64", 10),
        Unknown("float32", 2, 4))
    row("random.multinomial", "num_samples=3", [state, f(2, 5, lo=0.25, hi=1)], Unknown("uint64", 10), Unknown("int32", 2, 3))


def dynamic():
    """Extents as tensors."""
    long, single = lambda *v: np.array(v, "int64"), lambda *v: np.array(v, "int32")
    x, s, d = f(2, 3, 4), f(1, 3, 1), distinct(3, 5)
    row("shape_of", "dtype=int64", [scalar(2.5)], np.zeros(0, "int64"))
    row("dyn.reshape", "", [x, long(0, -1)], x.reshape(2, 12))
    row("dyn.reshape", "", [x, single(3, 4, 2)], x.reshape(3, 4, 2))
    row("dyn.squeeze", "", [s, long(2)], s[:, :, 0])
    row("dyn.squeeze", "", [s, single(-1, 0)], s[0, :, 0])
    row("dyn.expand_dims", "num_newaxis=2", [d, np.array(1, "int32")], d[:, None, None])
    row("dyn.expand_dims", "num_newaxis=1", [d, np.array(2, "int64")], d[:, :, None])
    row("dyn.tile", "", [d, long(2, 1, 3)], np.tile(d, (2, 1, 3)))
    row("dyn.tile", "", [d, single(2)], np.tile(d, 2))
    row("dyn.broadcast_to", "", [s, long(2, 3, 4)], np.broadcast_to(s, (2, 3, 4)))
    row("dyn.zeros", "dtype=int64", [long(2, 3)], np.zeros((2, 3), "int64"))
    row("dyn.ones", "dtype=float32", [single(4, 1)], np.ones((4, 1), "float32"))
    row("dyn.full", "", [scalar(2.5), long(2, 3)], np.full((2, 3), 2.5, "float32"))
    row("dyn.full", "dtype=int32", [scalar(7), long(2)], np.full(2, 7, "int32"))
    order = np.argsort(-d)[:, :2]
    row("dyn.topk", "", [d, np.array(2, "int32")], np.take_along_axis(d, order, 1), order.astype("int32"))
    order = np.argsort(d, 0)[:1]
    row("dyn.topk", "axis=0, ret_type=\"both\", is_ascend=True, dtype=int64", [d, long(1)],
        np.take_along_axis(d, order, 0), order)
    h = ints(2, 3, lo=0, hi=3)
    row("dyn.one_hot", "axis=-1, dtype=float32", [h, scalar(1), scalar(0), np.array(4, "int32")],
        np.eye(4, dtype="float32")[h])
    row("dyn.nn.pad", "", [d, single(1, 2, 0, 3).reshape(2, 2), scalar(1.5)],
        np.pad(d, ((1, 2), (0, 3)), constant_values=1.5))
    row("dyn.nn.pad", "pad_mode=\"reflect\"", [d, long(1, 2, 0, 3).reshape(2, 2)], np.pad(d, ((1, 2), (0, 3)), "reflect"))
    zero, padded = np.array(0, "int32"), np.pad(d, ((1, 2), (0, 3)))
    row("dyn.nn.pad", "", [d, single(1, 2, 0, 3).reshape(2, 2), zero], padded)  # what Python's nn.pad writes
    row("nn.pad", "pad_width=[[1, 2], [0, 3]]", [d, zero], padded)
    row("nn.pad", "pad_width=[[0, 1]]", [single(5, -7), scalar(2.75)], single(5, -7, 2))
    row("dyn.sparse_to_dense", "", [single(1, 4), f(2) * 0 + 3, scalar(-1), long(6)],
        np.array([-1, 3, -1, -1, 3, -1], "float32"))
    image, cube, two = f(1, 2, 3, 4), f(1, 1, 2, 2, 3), scalar(2)
    double, roi = image.repeat(2, 2).repeat(2, 3), scalar([0, 0, 1, 1])
    row("dyn.nn.upsampling", "", [image, two, two], double)
    row("dyn.nn.upsampling3d", "", [cube, two, two, two], cube.repeat(2, 2).repeat(2, 3).repeat(2, 4))
    row("dyn.image.resize2d",
        "method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\"",
        [image, long(6, 8), roi], double)


if __name__ == "__main__":
    print("# Made by tests/names/values.py: calls, their inputs, and what numpy makes of them.\n")
    for part in (unary, binary, make, shapes, gathers, reductions, products, networks, images, vision,
                 places, qnn, rest, dynamic):
        part()
