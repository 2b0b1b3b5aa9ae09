# SPDX-License-Identifier: Apache-2.0
"""Net: a network under construction. An operator is a method of its name; what is no name of a value becomes a constant:
whole numbers as int64, others as float32, arrays as they are. The methods below are blocks that many networks share."""
import functools
import zlib

import numpy as np
import onnx
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

MODELS = {}  # name: (kind, builder)
TYPES = {np.dtype(k): v for k, v in {
    np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16, np.float64: TensorProto.DOUBLE, np.int8: TensorProto.INT8,
    np.uint8: TensorProto.UINT8, np.int32: TensorProto.INT32, np.int64: TensorProto.INT64, bool: TensorProto.BOOL}.items()}


def model(kind, **variants):
    """A builder of a model of its name; or of several, each with arguments of its own."""
    def add(build):
        for name, arguments in (variants or {build.__name__: ()}).items():
            if name in MODELS:
                raise ValueError(f"two models are named {name}")
            MODELS[name] = kind, functools.partial(lambda a, b: build(b, *a), arguments)
        return build
    return add


class Net:
    def __init__(self, name):
        self.name, self.rng = name, np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.constants, self.inputs, self.outputs, self.feeds = [], [], [], [], {}
        self.opset, self.tolerance = 18, 1e-3  # tolerance: of the worst difference

    # ---- Values ----

    def __getattr__(self, kind):
        if not kind[0].isupper():
            raise AttributeError(kind)
        return functools.partial(self.op, kind)

    def op(self, kind, *inputs, results=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(results)]
        inputs = [i if isinstance(i, str) else "" if i is None else self.const(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, inputs, names, names[0], **attributes))
        return names[0] if results == 1 else names

    def const(self, value):
        a = np.asarray(value)
        if not isinstance(value, np.ndarray):
            a = a.astype(np.float32 if a.dtype.kind == "f" else bool if a.dtype.kind == "b" else np.int64)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape),
                                                      f"constant_{len(self.constants)}"))
        return self.constants[-1].name

    def normal(self, *shape, gain=1.0, dtype=np.float32):
        return (self.rng.standard_normal(shape) * gain).astype(dtype)

    def weight(self, *shape, gain=1.4, dtype=np.float32):
        """Outputs first, as of convolutions: each sums the product of the other sizes."""
        return self.normal(*shape, gain=gain / max(1, np.prod(shape[1:])) ** .5, dtype=dtype)

    def given(self, value, name=None):
        """An input of this value, or of normal numbers in this shape."""
        value = value if isinstance(value, np.ndarray) else self.normal(*value)
        name = name or f"input_{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[value.dtype], value.shape))
        self.feeds[name] = value
        return name

    def indices(self, limit, *shape, dtype=np.int64):
        return self.given(self.rng.integers(0, limit, shape).astype(dtype))

    def output(self, *values, dtype=np.float32):
        self.outputs += [helper.make_tensor_value_info(v, TYPES[np.dtype(dtype)], None) for v in values]

    def proto(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="gpuc bench")
        made.ir_version = 9
        made = onnx.shape_inference.infer_shapes(made)  # for the outputs
        del made.graph.value_info[:]
        return made

    # ---- Blocks ----

    def chain(self, x, *kinds):
        for kind in kinds:
            x = self.op(kind, x)
        return x

    def silu(self, x):
        return self.Mul(x, self.Sigmoid(x))

    def gelu(self, x):
        return self.Mul(self.Mul(x, .5), self.Add(self.Erf(self.Div(x, 2 ** .5)), 1.0))

    def act(self, x, kind):
        return x if kind is None else self.silu(x) if kind == "silu" else self.gelu(x) if kind == "gelu" else self.op(kind, x)

    def conv(self, x, ci, co, k=3, stride=1, group=1, dilation=1, act=None, pads=None, rank=2, bias=True):
        """k: of all axes or of each."""
        k = [k] * rank if isinstance(k, int) else list(k)
        strides = [stride] * rank if isinstance(stride, int) else list(stride)
        pads = [dilation * (n - 1) // 2 for n in k] * 2 if pads is None else pads
        weights = [self.weight(co, ci // group, *k)] + ([self.normal(co, gain=.1)] if bias else [])
        return self.act(self.Conv(x, *weights, kernel_shape=k, strides=strides, pads=pads, dilations=[dilation] * rank,
                                  group=group), act)

    def linear(self, x, n, m, act=None, bias=True, gain=1.0):
        y = self.MatMul(x, self.normal(n, m, gain=gain / n ** .5))
        return self.act(self.Add(y, self.normal(m, gain=.1)) if bias else y, act)

    def layer_norm(self, x, n):
        return self.LayerNormalization(x, 1 + self.normal(n, gain=.1), self.normal(n, gain=.1), axis=-1)

    def rms_norm(self, x, n):
        mean = self.ReduceMean(self.Mul(x, x), [-1])
        return self.Mul(self.Div(x, self.Sqrt(self.Add(mean, 1e-6))), 1 + self.normal(n, gain=.1))

    def group_norm(self, x, c, groups, spatial):
        y = self.InstanceNormalization(self.Reshape(x, [0, groups, -1]), np.ones(groups, np.float32),
                                       np.zeros(groups, np.float32), epsilon=1e-5)
        ones = [1] * len(spatial)
        return self.Add(self.Mul(self.Reshape(y, [-1, c, *spatial]), 1 + self.normal(c, *ones, gain=.1)),
                        self.normal(c, *ones, gain=.1))

    def heads(self, x, count, width, last=False):
        """[B, T, count * width] to [B, count, T, width], or with the last two exchanged."""
        return self.Transpose(self.Reshape(x, [0, -1, count, width]), perm=[0, 2, 3, 1] if last else [0, 2, 1, 3])

    def joined(self, x, n):
        return self.Reshape(self.Transpose(x, perm=[0, 2, 1, 3]), [0, -1, n])

    def attend(self, q, k_last, v, scale=None, bias=None):
        s = self.MatMul(q, k_last)
        s = s if scale is None else self.Mul(s, scale)
        s = s if bias is None else self.Add(s, bias)
        return self.MatMul(self.Softmax(s, axis=-1), v)

    def attention(self, x, n, count, other=None, bias=None):
        """Of x among itself or another sequence of the same width."""
        other, width = other or x, n // count
        q, k, v = (self.linear(y, n, n) for y in (x, other, other))
        y = self.attend(self.heads(q, count, width), self.heads(k, count, width, True), self.heads(v, count, width),
                        width ** -.5, bias)
        return self.linear(self.joined(y, n), n, n)

    def encoder(self, x, n, count, wide=4, act="gelu", bias=None):
        """A transformer's layer, norms first."""
        x = self.Add(x, self.attention(self.layer_norm(x, n), n, count, bias=bias))
        return self.Add(x, self.linear(self.linear(self.layer_norm(x, n), n, wide * n, act), wide * n, n))

    def recurrent(self, kind, x, n, hidden, directions=1, start=None, **more):
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
        w = self.normal(directions, gates * hidden, n, gain=n ** -.5)
        r = self.normal(directions, gates * hidden, hidden, gain=hidden ** -.5)
        bias = self.normal(directions, 2 * gates * hidden, gain=.1)
        return self.op(kind, x, w, r, bias, results=2, hidden_size=hidden,
                       direction="bidirectional" if directions == 2 else "forward", **more)[0]

    def part(self, x, begin, end, axis, step=1):
        return self.Slice(x, [begin], [end], [axis], [step])

    def roll(self, x, by, axis):
        """numpy.roll by -by."""
        return self.Concat(self.part(x, by, 1 << 40, axis), self.part(x, 0, by, axis), axis=axis)
