# SPDX-License-Identifier: Apache-2.0
"""Networks with three axes of space, or two and time."""
from .net import model


@model("volume")
def video(b):
    """As R3D."""
    x, c = b.conv(b.given([1, 3, 8, 48, 48]), 3, 24, [3, 7, 7], stride=[1, 2, 2], rank=3, act="Relu"), 24
    for co in (24, 40):
        stride = 1 if co == c else 2
        y = b.conv(b.conv(x, c, co, stride=stride, rank=3, act="Relu"), co, co, rank=3)
        x, c = b.Relu(b.Add(y, x if stride == 1 else b.conv(x, c, co, 1, stride=2, pads=[0] * 6, rank=3))), co
    b.output(b.linear(b.ReduceMean(x, [2, 3, 4], keepdims=0), c, 50))


@model("volume")
def video_apart(b):
    """Space and time by turns."""
    x, c = b.given([1, 3, 8, 48, 48]), 3
    for co, stride in ((32, 2), (48, 1)):
        x = b.conv(x, c, co, [1, 3, 3], stride=[1, stride, stride], rank=3, act="Relu")
        x, c = b.conv(x, co, co, [3, 1, 1], rank=3, act="Relu"), co
    b.output(b.MaxPool(x, kernel_shape=[2, 2, 2], strides=[2, 2, 2]))


@model("volume")
def medical_unet(b):
    x = first = b.conv(b.given([1, 1, 24, 24, 24]), 1, 16, rank=3)
    x = first = b.LeakyRelu(b.InstanceNormalization(x, 1 + b.normal(16, gain=.1), b.normal(16, gain=.1)), alpha=.01)
    x = b.LeakyRelu(b.conv(x, 16, 32, stride=2, rank=3), alpha=.01)
    x = b.LeakyRelu(b.conv(x, 32, 32, rank=3), alpha=.01)
    x = b.ConvTranspose(x, b.normal(32, 16, 2, 2, 2, gain=.1), b.normal(16, gain=.1), kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    x = b.LeakyRelu(b.conv(b.Concat(x, first, axis=1), 32, 16, rank=3), alpha=.01)
    b.output(b.Softmax(b.conv(x, 16, 3, 1, rank=3), axis=1))


@model("volume")
def cost_volume(b):
    """As stereo networks: products at each shift, 3-D convolutions, the mean of the shifts."""
    c, shifts = 24, 12
    left, right = (b.conv(b.conv(b.given([1, 3, 48, 64]), 3, c, stride=2, act="Relu"), c, c) for _ in range(2))
    planes = []
    for d in range(shifts):
        moved = b.Pad(b.part(right, 0, 32 - d, 3), [0, 0, 0, d, 0, 0, 0, 0]) if d else right
        planes.append(b.Unsqueeze(b.Sub(left, moved), [2]))
    x = b.conv(b.conv(b.Concat(*planes, axis=2), c, 16, rank=3, act="Relu"), 16, 1, rank=3)
    x = b.Resize(b.Squeeze(x, [1]), None, [1.0, 1.0, 2.0, 2.0], mode="linear", coordinate_transformation_mode="half_pixel")
    share = b.Softmax(x, axis=1)
    shift = b.Range(0.0, float(shifts), 1.0)
    b.output(b.ReduceSum(b.Mul(share, b.Reshape(shift, [1, shifts, 1, 1])), [1]))


@model("volume")
def occupancy(b):
    """Transposed 3-D convolutions from a code, as generators of shapes have."""
    x = b.Reshape(b.linear(b.given([1, 100]), 100, 64 * 27, "Relu"), [1, 64, 3, 3, 3])
    for ci, co in ((64, 32), (32, 16), (16, 1)):
        x = b.ConvTranspose(x, b.normal(ci, co, 4, 4, 4, gain=.06), b.normal(co, gain=.1), kernel_shape=[4] * 3,
                            strides=[2] * 3, pads=[1] * 6)
        x = b.Sigmoid(x) if co == 1 else b.Relu(x)
    b.output(x)


@model("volume")
def volume_pools(b):
    x = b.given([1, 24, 16, 32, 32])
    y = b.MaxPool(x, kernel_shape=[3, 3, 3], strides=[2, 2, 2], pads=[1] * 6)
    b.output(b.Resize(b.AveragePool(y, kernel_shape=[2, 2, 2], strides=[1, 1, 1]), None, [1.0, 1.0, 2.0, 2.0, 2.0],
                      mode="linear", coordinate_transformation_mode="half_pixel"))
