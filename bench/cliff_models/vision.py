# SPDX-License-Identifier: Apache-2.0
"""Pictures: convolutional networks, transformers of windows, diffusion, detection."""
import numpy as np

from .net import model

# ---- Classifiers ----


@model("classifier")
def convnext(b):
    x, c = b.conv(b.given([1, 3, 112, 112]), 3, 64, 4, stride=4, pads=[0] * 4), 64
    for co in (64, 120):
        if co != c:
            x, c = b.conv(x, c, co, 2, stride=2, pads=[0] * 4), co
        for _ in range(2):
            y = b.Transpose(b.conv(x, c, c, 7, group=c), perm=[0, 2, 3, 1])
            y = b.linear(b.linear(b.layer_norm(y, c), c, 4 * c, "gelu"), 4 * c, c)
            x = b.Add(x, b.Transpose(b.Mul(y, b.normal(c, gain=.3)), perm=[0, 3, 1, 2]))
    b.output(b.linear(b.layer_norm(b.ReduceMean(x, [2, 3], keepdims=0), c), c, 100))


@model("classifier")
def shuffle(b):
    """Half of the channels go by; then the halves are mixed."""
    c, x = 116, b.given([1, 116, 28, 28])
    for _ in range(3):
        p, q = b.Split(x, axis=1, num_outputs=2, results=2)
        q = b.conv(b.conv(b.conv(q, 58, 58, 1, act="Relu"), 58, 58, group=58), 58, 58, 1, act="Relu")
        x = b.Reshape(b.Transpose(b.Reshape(b.Concat(p, q, axis=1), [0, 2, 58, 28, 28]), perm=[0, 2, 1, 3, 4]), [0, c, 28, 28])
    b.output(b.conv(x, c, 200, 1, act="Relu"))


@model("classifier", efficient=("silu", "Sigmoid"), mobile_v3=("HardSwish", "HardSigmoid"))
def efficient(b, act, gate):
    """Inverted bottlenecks with squeeze and excitation."""
    x, c = b.conv(b.given([1, 3, 112, 112]), 3, 24, stride=2, act=act), 24
    for co, k, stride in ((24, 3, 1), (40, 5, 2), (40, 5, 1), (72, 3, 2), (72, 3, 1)):
        wide = 4 * c
        y = b.conv(b.conv(x, c, wide, 1, act=act), wide, wide, k, stride=stride, group=wide, act=act)
        s = b.conv(b.GlobalAveragePool(y), wide, wide // 8, 1, act="Relu" if gate == "HardSigmoid" else act)
        y = b.conv(b.Mul(y, b.op(gate, b.conv(s, wide // 8, wide, 1))), wide, co, 1)
        x, c = b.Add(x, y) if c == co and stride == 1 else y, co
    b.output(b.linear(b.Flatten(b.GlobalAveragePool(b.conv(x, c, 288, 1, act=act))), 288, 100))


@model("classifier")
def dense_block(b):
    x, c = b.given([1, 64, 28, 28]), 64
    for _ in range(6):
        y = b.Relu(b.BatchNormalization(x, 1 + b.normal(c, gain=.1), b.normal(c, gain=.1), b.normal(c, gain=.1),
                                        1 + np.abs(b.normal(c, gain=.1))))
        x, c = b.Concat(x, b.conv(b.conv(y, c, 96, 1, act="Relu", bias=False), 96, 24), axis=1), c + 24
    b.output(b.AveragePool(b.conv(x, c, c // 2, 1), kernel_shape=[2, 2], strides=[2, 2]))


@model("classifier")
def grouped(b):
    """As RegNet."""
    x, c = b.given([1, 3, 112, 112]), 3
    for co, group in ((48, 3), (96, 6), (192, 12)):
        y = b.conv(b.conv(b.conv(x, c, co, 1, act="Relu"), co, co, stride=2, group=group, act="Relu"), co, co, 1)
        x, c = b.Relu(b.Add(y, b.conv(x, c, co, 1, stride=2, pads=[0] * 4))), co
    b.output(x)


@model("classifier")
def quantized(b):
    """Convolutions between QuantizeLinear and DequantizeLinear, a scale for each channel of the weights."""
    b.tolerance = 5e-2

    def fake(x, scale=.04, zero=0):
        s, z = np.array(scale, np.float32), np.array(zero, np.int8)
        return b.DequantizeLinear(b.QuantizeLinear(x, s, z), s, z)
    x, c = fake(b.given([1, 3, 64, 64])), 3
    for co, stride in ((32, 2), (60, 1), (60, 2)):
        w = b.rng.integers(-127, 128, (co, c, 3, 3)).astype(np.int8)
        scale = (.02 / (9 * c) ** .5 * (1 + b.rng.random(co))).astype(np.float32)
        w = b.DequantizeLinear(w, scale, np.zeros(co, np.int8), axis=0)
        x, c = fake(b.Relu(b.Conv(x, w, b.normal(co, gain=.1), kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4))), co
    b.output(x)


@model("classifier")
def capsules(b):
    """Routing by agreement."""
    x = b.conv(b.conv(b.given([1, 1, 28, 28]), 1, 64, 9, pads=[0] * 4, act="Relu"), 64, 64, 9, stride=2, pads=[0] * 4)
    u = b.Transpose(b.Reshape(x, [1, 8, 8, 36]), perm=[0, 1, 3, 2])
    u = b.Reshape(u, [288, 1, 8])
    votes = b.Reshape(b.MatMul(u, b.normal(288, 8, 160, gain=.3)), [288, 10, 16])
    logit = b.const(np.zeros((288, 10, 1), np.float32))
    for k in range(3):
        s = b.ReduceSum(b.Mul(b.Softmax(logit, axis=1), votes), [0])
        size = b.ReduceSum(b.Mul(s, s), [2])
        v = b.Mul(s, b.Div(b.Sqrt(size), b.Add(size, 1.0)))
        logit = b.Add(logit, b.ReduceSum(b.Mul(votes, v), [2])) if k < 2 else logit
    b.output(v)


# ---- Transformers ----


@model("transformer")
def vit(b):
    n = 160
    x = b.Transpose(b.Reshape(b.conv(b.given([1, 3, 112, 112]), 3, n, 14, stride=14, pads=[0] * 4), [0, n, -1]), perm=[0, 2, 1])
    x = b.Add(b.Concat(b.normal(1, 1, n), x, axis=1), b.normal(65, n))
    for _ in range(3):
        x = b.encoder(x, n, 5)
    b.output(b.linear(b.Gather(b.layer_norm(x, n), 0, axis=1), n, 100))


@model("transformer")
def swin(b):
    """Windows of 7 x 7, then the same shifted by 3, with the bias of relative positions and the mask of the shift; merged."""
    size, n, heads, w = 28, 72, 3, 7
    at = np.stack(np.meshgrid(np.arange(w), np.arange(w), indexing="ij"), -1).reshape(-1, 2)
    apart = at[:, None] - at[None] + w - 1
    relative = (apart[..., 0] * (2 * w - 1) + apart[..., 1]).astype(np.int64)
    zone = np.digitize(np.arange(size), [size - w, size - 3])
    zone = (zone[:, None] * 3 + zone[None]).reshape(size // w, w, size // w, w).transpose(0, 2, 1, 3).reshape(-1, w * w)
    mask = np.where(zone[:, None] != zone[:, :, None], -100, 0).astype(np.float32)[:, None]
    x = b.Transpose(b.conv(b.given([1, 3, 4 * size, 4 * size]), 3, n, 4, stride=4, pads=[0] * 4), perm=[0, 2, 3, 1])
    for shift in (0, 3):
        y = b.layer_norm(x, n)
        y = b.roll(b.roll(y, shift, 1), shift, 2) if shift else y
        y = b.Transpose(b.Reshape(y, [1, size // w, w, size // w, w, n]), perm=[0, 1, 3, 2, 4, 5])
        y = b.Reshape(y, [-1, w * w, n])
        bias = b.Unsqueeze(b.Transpose(b.Gather(b.normal((2 * w - 1) ** 2, heads), relative), perm=[2, 0, 1]), [0])
        y = b.attention(y, n, heads, bias=b.Add(bias, mask) if shift else bias)
        y = b.Transpose(b.Reshape(y, [1, size // w, size // w, w, w, n]), perm=[0, 1, 3, 2, 4, 5])
        y = b.Reshape(y, [1, size, size, n])
        y = b.roll(b.roll(y, size - shift, 1), size - shift, 2) if shift else y
        x = b.Add(x, y)
        x = b.Add(x, b.linear(b.linear(b.layer_norm(x, n), n, 4 * n, "gelu"), 4 * n, n))
    quarters = [b.part(b.part(x, i, size, 1, 2), j, size, 2, 2) for j in (0, 1) for i in (0, 1)]
    b.output(b.linear(b.layer_norm(b.Concat(*quarters, axis=3), 4 * n), 4 * n, 2 * n, bias=False))


@model("transformer")
def mobile_vit(b):
    """Convolutions, then attention among the pixels that have the same place in their patches."""
    c, n, side = 48, 80, 28
    x = b.conv(b.conv(b.given([1, 3, 56, 56]), 3, c, stride=2, act="silu"), c, c, act="silu")
    y = b.conv(x, c, n, 1, bias=False)
    half = side // 2
    y = b.Transpose(b.Reshape(y, [n * half, 2, half, 2]), perm=[0, 2, 1, 3])
    y = b.Transpose(b.Reshape(y, [1, n, half * half, 4]), perm=[0, 3, 2, 1])
    y = b.Reshape(y, [4, half * half, n])
    y = b.layer_norm(b.encoder(b.encoder(y, n, 4, 2, "silu"), n, 4, 2, "silu"), n)
    y = b.Transpose(b.Reshape(y, [1, 4, half * half, n]), perm=[0, 3, 2, 1])
    y = b.Transpose(b.Reshape(y, [n * half, half, 2, 2]), perm=[0, 2, 1, 3])
    y = b.conv(b.Reshape(y, [1, n, side, side]), n, c, 1, act="silu")
    b.output(b.conv(b.Concat(x, y, axis=1), 2 * c, c, act="silu"))


@model("transformer")
def pooled(b):
    """As PoolFormer: pools stand in for attention."""
    n, x = 64, b.conv(b.given([1, 3, 112, 112]), 3, 64, 7, stride=4, pads=[3, 3, 3, 3])
    for _ in range(3):
        y = b.group_norm(x, n, 1, [28, 28])
        y = b.Sub(b.AveragePool(y, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=0), y)
        x = b.Add(x, b.Mul(y, b.normal(n, 1, 1, gain=.3)))
        x = b.Add(x, b.conv(b.conv(b.group_norm(x, n, 1, [28, 28]), n, 4 * n, 1, act="gelu"), 4 * n, n, 1))
    b.output(x)


@model("transformer")
def deformable_attention(b):
    """Each query looks at four points of two maps."""
    n, heads, points, queries = 128, 4, 4, 150
    q, sizes, sampled = b.given([1, queries, n]), (24, 12), []
    for size in sizes:
        v = b.Reshape(b.Transpose(b.linear(b.given([1, size * size, n]), n, n), perm=[0, 2, 1]),
                      [heads, n // heads, size, size])
        at = b.Reshape(b.linear(q, n, heads * points * 2, gain=.3), [queries, heads, points, 2])
        at = b.Transpose(b.Clip(at, -1.0, 1.0), perm=[1, 0, 2, 3])
        sampled.append(b.GridSample(v, at, mode="bilinear", padding_mode="zeros", align_corners=0))
    share = b.Softmax(b.Reshape(b.linear(q, n, heads * points * 2), [queries, heads, 2 * points]), axis=-1)
    share = b.Unsqueeze(b.Transpose(share, perm=[1, 0, 2]), [1])
    y = b.ReduceSum(b.Mul(b.Concat(*sampled, axis=3), share), [3], keepdims=0)
    y = b.Reshape(b.Transpose(y, perm=[2, 0, 1]), [1, queries, n])
    b.output(b.layer_norm(b.Add(q, b.linear(y, n, n)), n))


# ---- From picture to picture ----


def residual(b, x, ci, co, side, time):
    y = b.conv(b.silu(b.group_norm(x, ci, 8, [side, side])), ci, co)
    y = b.Add(y, b.Unsqueeze(b.linear(b.silu(time), 128, co), [2, 3]))
    y = b.conv(b.silu(b.group_norm(y, co, 8, [side, side])), co, co)
    return b.Add(y, x if ci == co else b.conv(x, ci, co, 1))


@model("image")
def diffusion_unet(b):
    """Group norm, SiLU, the time's sines, attention at the lower size, and the way up beside what was kept."""
    n, t = 64, b.given(np.array([437.3], np.float32))
    angle = b.Mul(b.Unsqueeze(t, [1]), np.exp(-np.log(10000) * np.arange(32) / 32).astype(np.float32))
    time = b.linear(b.linear(b.Concat(b.Sin(angle), b.Cos(angle), axis=1), 64, 128, "silu"), 128, 128)
    x = b.conv(b.given([1, 4, 32, 32]), 4, n)
    kept = x = residual(b, x, n, n, 32, time)
    x = residual(b, b.conv(x, n, n, stride=2), n, 2 * n, 16, time)
    y = b.Transpose(b.Reshape(b.group_norm(x, 2 * n, 8, [16, 16]), [0, 2 * n, -1]), perm=[0, 2, 1])
    y = b.attention(y, 2 * n, 4)
    x = b.Add(x, b.Reshape(b.Transpose(y, perm=[0, 2, 1]), [0, 2 * n, 16, 16]))
    x = b.conv(b.Resize(x, None, [1.0, 1.0, 2.0, 2.0], mode="nearest", coordinate_transformation_mode="asymmetric",
                        nearest_mode="floor"), 2 * n, 2 * n)
    x = residual(b, b.Concat(x, kept, axis=1), 3 * n, n, 32, time)
    b.output(b.conv(b.silu(b.group_norm(x, n, 8, [32, 32])), n, 4))


@model("image")
def diffusion_cross(b):
    """The layer of a diffusion network that looks at words; its wide part has gates."""
    n, x = 160, b.given([2, 256, 160])
    words = b.given([2, 77, 160])
    x = b.Add(x, b.attention(b.layer_norm(x, n), n, 5))
    x = b.Add(x, b.attention(b.layer_norm(x, n), n, 5, words))
    p, gate = b.Split(b.linear(b.layer_norm(x, n), n, 8 * n), axis=-1, num_outputs=2, results=2)
    b.output(b.Add(x, b.linear(b.Mul(p, b.gelu(gate)), 4 * n, n)))


@model("image")
def segment_unet(b):
    x, c, kept = b.given([1, 3, 96, 96]), 3, []
    for co in (16, 32, 64):
        x, c = b.conv(b.conv(x, c, co, act="Relu"), co, co, act="Relu"), co
        kept.append(x)
        x = b.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    for co in (64, 32, 16):
        x = b.ConvTranspose(x, b.normal(c, co, 2, 2, gain=.1), b.normal(co, gain=.1), kernel_shape=[2, 2], strides=[2, 2])
        x, c = b.conv(b.Concat(x, kept.pop(), axis=1), 2 * co, co, act="Relu"), co
    y = b.conv(x, c, 7, 1)
    b.output(b.Softmax(y, axis=1))
    b.output(b.ArgMax(y, axis=1, keepdims=0), dtype=np.int64)


@model("image")
def dilated_pyramid(b):
    """As DeepLab."""
    c, x = 96, b.given([1, 96, 28, 28])
    paths = [b.conv(x, c, 64, 1, act="Relu")] + [b.conv(x, c, 64, dilation=d, act="Relu") for d in (6, 12, 18)]
    pooled = b.conv(b.GlobalAveragePool(x), c, 64, 1, act="Relu")
    paths.append(b.Resize(pooled, None, None, [1, 64, 28, 28], mode="linear", coordinate_transformation_mode="half_pixel"))
    y = b.conv(b.conv(b.Concat(*paths, axis=1), 320, 64, 1, act="Relu"), 64, 19, 1)
    b.output(b.Resize(y, None, None, [1, 19, 112, 112], mode="linear", coordinate_transformation_mode="half_pixel"))


@model("image")
def enlarged(b):
    """As ESRGAN: dense residual blocks, then pixels from channels."""
    n, x = 32, b.conv(b.given([1, 3, 48, 48]), 3, 32)
    for _ in range(2):
        y, c = x, n
        for _ in range(4):
            y, c = b.Concat(y, b.LeakyRelu(b.conv(y, c, 16), alpha=.2), axis=1), c + 16
        x = b.Add(x, b.Mul(b.conv(y, c, n), .2))
    b.output(b.conv(b.DepthToSpace(b.conv(x, n, 4 * n), blocksize=2), n, 3))


@model("image")
def restyled(b):
    """Reflected borders, instance norms, wide kernels at both ends."""
    def conv(x, ci, co, k, stride=1, norm=True):
        p = k // 2
        x = b.conv(b.Pad(x, [0, 0, p, p, 0, 0, p, p], mode="reflect"), ci, co, k, stride=stride, pads=[0] * 4)
        return b.InstanceNormalization(x, 1 + b.normal(co, gain=.1), b.normal(co, gain=.1)) if norm else x
    x = b.Relu(conv(b.given([1, 3, 96, 96]), 3, 24, 9))
    x = b.Relu(conv(x, 24, 48, 3, 2))
    for _ in range(2):
        x = b.Add(x, conv(b.Relu(conv(x, 48, 48, 3)), 48, 48, 3))
    x = b.Resize(x, None, [1.0, 1.0, 2.0, 2.0], mode="nearest", coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor")
    b.output(conv(b.Relu(conv(x, 48, 24, 3)), 24, 3, 9, norm=False))


@model("image")
def flow(b):
    """As RAFT: all pairs, samples of them around where a pixel goes, and a gated step."""
    side, n = 24, 64
    f, g = (b.conv(b.conv(b.given([1, 3, 48, 48]), 3, n, 5, stride=2, act="Relu"), n, n) for _ in range(2))
    pairs = b.MatMul(b.Transpose(b.Reshape(f, [n, -1]), perm=[1, 0]), b.Reshape(g, [n, -1]))
    pairs = b.Reshape(b.Div(pairs, n ** .5), [side * side, 1, side, side])
    y, x = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    near = np.stack(np.meshgrid(np.arange(-3, 4), np.arange(-3, 4)), -1) * 2 / side
    at = np.stack([x, y], -1).reshape(-1, 1, 1, 2) + near
    moved = b.Add(at.astype(np.float32), b.Mul(b.given([side * side, 1, 1, 2]), .05))
    seen = b.GridSample(pairs, moved, mode="bilinear", align_corners=1)
    seen = b.Reshape(b.Transpose(b.Reshape(seen, [side, side, 49]), perm=[2, 0, 1]), [1, 49, side, side])
    h = b.Tanh(f)
    both = b.Concat(h, seen, axis=1)
    z, r = (b.Sigmoid(b.conv(both, n + 49, n)) for _ in range(2))
    q = b.Tanh(b.conv(b.Concat(b.Mul(r, h), seen, axis=1), n + 49, n))
    b.output(b.conv(b.Add(b.Mul(b.Sub(1.0, z), h), b.Mul(z, q)), n, 2))


@model("image")
def warped(b):
    """A spatial transformer."""
    b.opset = 20
    x = b.given([2, 3, 64, 64])
    y = b.MaxPool(b.conv(x, 3, 24, 5, stride=2, act="Relu"), kernel_shape=[4, 4], strides=[4, 4])
    theta = b.Reshape(b.linear(b.linear(b.Flatten(y), 24 * 64, 32, "Relu"), 32, 6, gain=.2), [2, 2, 3])
    theta = b.Add(theta, np.array([[1, 0, 0], [0, 1, 0]], np.float32))
    b.output(b.conv(b.GridSample(x, b.AffineGrid(theta, [2, 3, 64, 64], align_corners=0), mode="linear", align_corners=0), 3,
                    32, stride=2, act="Relu"))


@model("image")
def prepared(b):
    """Bytes with channels last are cast, made smaller, turned and scaled."""
    x = b.Cast(b.given(b.rng.integers(0, 256, (1, 300, 400, 3)).astype(np.uint8)), to=1)
    x = b.Resize(b.Transpose(x, perm=[0, 3, 1, 2]), None, None, [1, 3, 224, 224], mode="linear",
                 coordinate_transformation_mode="half_pixel")
    b.output(b.Div(b.Sub(b.Div(x, 255.0), b.normal(3, 1, 1, gain=.3)),
                   np.array([.229, .224, .225], np.float32).reshape(3, 1, 1)))


@model("image")
def median_filter(b):
    """The middle of each pixel's nine neighbours, by order."""
    x = b.Pad(b.given([1, 1, 120, 120]), [0, 0, 1, 1, 0, 0, 1, 1], mode="edge")
    near = b.Concat(*(b.part(b.part(x, i, i + 120, 2), j, j + 120, 3) for i in range(3) for j in range(3)), axis=1)
    b.output(b.Gather(b.TopK(near, [5], axis=1, results=2)[0], [4], axis=1))


# ---- Detection ----


@model("detection")
def yolo(b):
    """Two maps of boxes, decoded, and those kept that overlap no better one."""
    c, boxes, scores = 64, [], []
    for side in (20, 10):
        x = b.conv(b.conv(b.given([1, c, side, side]), c, c, act="silu"), c, 3 * 25, 1)
        x = b.Sigmoid(b.Reshape(b.Transpose(b.Reshape(x, [1, 3, 25, side, side]), perm=[0, 1, 3, 4, 2]), [1, -1, 25]))
        y, xs = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
        cell = np.tile(np.stack([xs, y], -1).reshape(-1, 2), (3, 1)).astype(np.float32)
        anchor = np.repeat(np.array([[12.3, 16.1], [19.7, 36.2], [40.9, 28.4]], np.float32), side * side, 0)
        centre = b.Mul(b.Add(b.Sub(b.Mul(b.part(x, 0, 2, 2), 2.0), .5), cell), float(320 // side))
        half = b.Mul(b.Mul(b.Mul(b.part(x, 2, 4, 2), b.part(x, 2, 4, 2)), anchor), 2.0)
        boxes.append(b.Concat(b.Sub(centre, half), b.Add(centre, half), axis=2))
        scores.append(b.Mul(b.part(x, 5, 25, 2), b.part(x, 4, 5, 2)))
    boxes, scores = b.Concat(*boxes, axis=1), b.Transpose(b.Concat(*scores, axis=1), perm=[0, 2, 1])
    b.output(b.NonMaxSuppression(boxes, scores, [20], .45, .55), dtype=np.int64)
    b.output(boxes)


@model("detection")
def best_boxes(b):
    """The best candidates of all places, their boxes from offsets, and which of them stay."""
    x = b.given([1, 64, 25, 25])
    score = b.Sigmoid(b.Reshape(b.Transpose(b.conv(x, 64, 9, act=None), perm=[0, 2, 3, 1]), [-1]))
    offset = b.Reshape(b.Transpose(b.conv(x, 64, 36), perm=[0, 2, 3, 1]), [-1, 4])
    corner = b.rng.random((5625, 2)) * 400
    anchor = np.concatenate([corner, corner + 10 + 90 * b.rng.random((5625, 2))], 1).astype(np.float32)
    best, at = b.TopK(score, [600], axis=0, results=2)
    box = b.Add(b.Gather(anchor, at), b.Mul(b.Gather(offset, at), 4.0))
    box = b.Clip(box, 0.0, 500.0)
    kept = b.NonMaxSuppression(b.Unsqueeze(box, [0]), b.Unsqueeze(best, [0, 1]), [100], .6, .3)
    b.output(b.Gather(box, b.Gather(kept, 2, axis=1)))


@model("detection")
def mask_head(b):
    """Regions of a map, convolutions of each, twice as large."""
    corner = b.rng.random((16, 2)) * 300
    rois = np.concatenate([corner, corner + 20 + 150 * b.rng.random((16, 2))], 1).astype(np.float32)
    x = b.RoiAlign(b.given([1, 64, 32, 32]), b.given(rois), np.zeros(16, np.int64), output_height=14, output_width=14,
                   sampling_ratio=2, spatial_scale=1 / 16)
    x = b.conv(b.conv(x, 64, 64, act="Relu"), 64, 64, act="Relu")
    x = b.Relu(b.ConvTranspose(x, b.normal(64, 48, 2, 2, gain=.1), b.normal(48, gain=.1), kernel_shape=[2, 2], strides=[2, 2]))
    b.output(b.Sigmoid(b.conv(x, 48, 12, 1)))


@model("detection")
def feature_pyramid(b):
    maps = [b.given([1, c, side, side]) for c, side in ((48, 40), (96, 20), (192, 10))]
    sides = [b.conv(x, c, 64, 1) for x, c in zip(maps, (48, 96, 192))]
    x = sides[-1]
    b.output(b.conv(x, 64, 64))
    for y in sides[-2::-1]:
        x = b.Add(y, b.Resize(x, None, [1.0, 1.0, 2.0, 2.0], mode="nearest", coordinate_transformation_mode="asymmetric",
                              nearest_mode="floor"))
        b.output(b.conv(x, 64, 64))
