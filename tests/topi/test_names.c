/* SPDX-License-Identifier: Apache-2.0 */
/* Names and attributes as TVM and NNVM write them make the call that gpuc's own spelling makes. */
#include "cases.h"

/* A call as it is written, and the same in gpuc's own words. own: "row: attributes"; NULL: the written attributes are
 * the row's own, and only that the call is made is looked at. Letters in `in` are extents of 1 + their number. words:
 * what the expression has in it. */
typedef struct written {
    const char *names, *attrs, *in, *own, *words;
} written;

#define F "float32"
#define IMAGE F "[2, 3, 8, 9]"
#define WINDOW "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]"

static const written calls[] = {
    {"abs ceil copy cos cosh erf exp floor log log10 log2 negative round rsqrt sigmoid sign sin sinh sqrt "
     "tan tanh "
     "trunc acos acosh asin asinh atan atanh fast_erf fast_exp fast_tanh isfinite isinf isnan identity "
     "nn.relu relu "
     "nn.batch_flatten nn.flatten flatten zeros_like ones_like shape ndarray_size argwhere block_grad",
     "", F "[3, 4]"},
    {"logical_not", "", "bool[3]"},
    {"bitwise_not", "", "int32[3]"},
    {"add subtract multiply divide mod floor_divide floor_mod trunc_divide trunc_mod power maximum minimum "
     "equal "
     "not_equal less less_equal greater greater_equal elemwise_add elemwise_sub elemwise_mul elemwise_div "
     "elemwise_mod "
     "elemwise_pow elemwise_sum cast_like broadcast_to_like collapse_sum_like slice_like reshape_like",
     "", F "[3, 4] " F "[3, 4]"},
    {"expand_like", "axis=[0]", F "[4] " F "[3, 4]"},
    {"logical_and logical_or logical_xor", "", "bool[3] bool[3]"},
    {"bitwise_and bitwise_or bitwise_xor left_shift right_shift", "", "int32[3] int32[3]"},
    {"__add_scalar__ __sub_scalar__ __rsub_scalar__ __mul_scalar__ __div_scalar__ __rdiv_scalar__ "
     "__pow_scalar__ "
     "__rpow_scalar__",
     "scalar=2", F "[3]"},
    {"__lshift_scalar__ __rshift_scalar__", "scalar=2", "int32[3]"},
    {"all any max mean min prod sum", "axis=1, exclude=True", F "[2, 3, 4]", "sum: axis=[0, 2]"},
    {"all any max mean min prod sum", "axis=[0, 2], keepdims=1", F "[2, 3, 4]",
     "sum: axis=[0, 2] keepdims=1"},
    {"argmax argmin", "axis=1, exclude=1, select_last_index=False", F "[2, 3, 4]", "argmax: axis=[0, 2]"},
    {"variance", "axis=[1], exclude=1, unbiased=True", F "[2, 3] " F "[2, 1]",
     "variance: axis=[0] unbiased=1"},
    {"argsort", "", F "[3, 4]", "argsort: dtype=int32"},
    {"sort", "axis=0, is_ascend=False", F "[3, 4]", "sort: axis=0 is_ascend=0"},
    {"topk", "k=2, is_ascend=True, ret_type=\"both\"", F "[3, 4]", "topk: k=[2] largest=0 dtype=int32"},
    {"topk", "k=2, ret_type=\"indices\", dtype=int64", F "[3, 4]",
     "topk: k=[2] dtype=int64 ret_type=\"indices\""},
    {"searchsorted", "right=True", F "[5] " F "[3]", "searchsorted: right=1"},
    {"invert_permutation", "", "int32[5]"},
    {"arange", "start=1, stop=7, step=2, dtype=int64", "", NULL, "length=[3]"},
    {"arange", "stop=2.5", "", NULL, "length=[3]"},
    {"broadcast_to", "shape=[2, 3]", F "[3]"},
    {"cast", "dtype=int8", F "[3]"},
    {"reinterpret", "dtype=int32", F "[3]"},
    {"clip", "a_min=0, a_max=6", F "[3]", "clip: a_min=0.0 a_max=6.0"},
    {"collapse_sum_to", "shape=[1, 4]", F "[3, 4]"},
    {"concatenate", "", F "[2, 3] " F "[2, 3]", "concatenate: axis=0"},
    {"nnvm.concatenate", "", F "[2, 3] " F "[2, 3]", "concatenate: axis=1"},
    {"contrib_reverse_reshape", "newshape=[-1, 0]", F "[2, 3, 4]", "reshape: newshape=[-1, 4]"},
    {"cumsum cumprod", "", F "[2, 3]", NULL, "newshape=[-1]"},
    {"cumsum cumprod", "axis=1, dtype=float64, exclusive=True", F "[2, 3]", NULL, "cast("},
    {"dft", "inverse=1", F "[2, 8, 2]"},
    {"einsum", "equation=\"ij,jk->ik\"", F "[2, 3] " F "[3, 4]"},
    {"expand_dims", "axis=-1, num_newaxis=2", F "[2, 3]", "expand_dims: axis=[2, 3]"},
    {"expand_dims", "axis=1", F "[2, 3]", "expand_dims: axis=[1]"},
    {"fixed_point_multiply", "multiplier=1073741824, shift=1", "int32[3]"},
    {"fixed_point_multiply_per_axis", "axes=[0], is_lshift_required=True",
     "int32[3] int32[3] int32[3] int32[3]"},
    {"full", "fill_value=2, shape=[2, 3]", "", "full: shape=[2, 3] fill_value=2.0"},
    {"full", "shape=[2, 3]", "int8[]", "full: shape=[2, 3] dtype=none"},
    {"full_like", "fill_value=2", F "[3]"},
    {"full_like", "", F "[3] " F "[]"},
    {"gather", "axis=1", F "[2, 3] int32[2, 2]"},
    {"gather_nd", "batch_dims=0, index_rank=2", F "[2, 3] int32[4, 2]", "gather_nd: batch_dims=0"},
    {"adv_index", "", F "[2, 3] int32[4] int32[4]"},
    {"image.affine_grid", "target_shape=[4, 5]", F "[1, 2, 3]"},
    {"image.crop_and_resize", "crop_size=[4, 5], layout=\"NCHW\", method=\"bilinear\", out_dtype=\"\"",
     IMAGE " " F "[3, 4] int32[3]", "image.crop_and_resize: crop_size=[4, 5]"},
    {"image.dilation2d", "data_layout=\"NCHW\", kernel_layout=\"IHW\"", IMAGE " " F "[3, 2, 2]",
     "image.dilation2d: strides=[1, 1] padding=[0, 0, 0, 0] dilations=[1, 1]"},
    {"image.grid_sample", "layout=\"NCHW\", method=\"bilinear\"", IMAGE " " F "[2, 4, 5, 2]",
     "image.grid_sample: method=\"linear\" align_corners=1"},
    {"image.resize1d", "size=[5], layout=\"NCW\"", F "[1, 2, 9]",
     "image.resize: sizes=[1, 2, 5] scales=[1.0, 1.0, 0.0] method=\"linear\" rounding=\"round_prefer_ceil\" "
     "cubic_a=-0.5"},
    {"image.resize2d",
     "size=[4, 5], layout=\"NHWC\", method=\"cubic\", coordinate_transformation_mode=\"align_corners\", "
     "cubic_exclude=1, roi=[0, 0, 1, 1], out_dtype=none",
     IMAGE,
     "image.resize: sizes=[2, 4, 5, 9] scales=[1.0, 0.0, 0.0, 1.0] method=\"cubic\" "
     "coordinate=\"align_corners\" "
     "rounding=\"round_prefer_ceil\" cubic_a=-0.5 exclude_outside=1 "
     "roi=[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]"},
    {"image.resize3d", "size=[4, 5, 6]", F "[1, 2, 3, 4, 5]",
     "image.resize: sizes=[1, 2, 4, 5, 6] scales=[1.0, 1.0, 0.0, 0.0, 0.0] method=\"linear\" "
     "rounding=\"round_prefer_ceil\" cubic_a=-0.5"},
    {"resize", "size=(4, 5), method=\"BILINEAR\", align_corners=False, layout=\"NCHW\"", IMAGE,
     "image.resize: sizes=[2, 3, 4, 5] scales=[1.0, 1.0, 0.0, 0.0] method=\"linear\" "
     "coordinate=\"asymmetric\""},
    {"nn.upsampling", "scale_h=2, scale_w=1.5", IMAGE,
     "image.resize: sizes=[2, 3, 16, 14] scales=[1.0, 1.0, 0.0, 0.0] method=\"nearest\" "
     "coordinate=\"asymmetric\" "
     "rounding=\"floor\""},
    {"upsampling", "scale=2, method=\"BILINEAR\", layout=\"NHWC\"", IMAGE,
     "image.resize: sizes=[2, 6, 16, 9] scales=[1.0, 0.0, 0.0, 1.0] method=\"linear\" "
     "coordinate=\"asymmetric\" "
     "rounding=\"floor\""},
    {"nn.upsampling3d", "scale_d=2, scale_h=2, scale_w=2", F "[1, 2, 3, 4, 5]",
     "image.resize: sizes=[1, 2, 6, 8, 10] scales=[1.0, 1.0, 0.0, 0.0, 0.0] method=\"nearest\" "
     "rounding=\"round_prefer_ceil\""},
    {"layout_transform __layout_transform__", "src_layout=\"NCHW\", dst_layout=\"NHWC\"", IMAGE},
    {"matrix_set_diag", "", F "[3, 4] " F "[3]"},
    {"meshgrid", "", F "[3] " F "[4]"},
    {"nn.adaptive_avg_pool1d nn.adaptive_max_pool1d", "", F "[1, 2, 9]",
     "nn.adaptive_avg_pool1d: output_size=[9]"},
    {"nn.adaptive_avg_pool2d nn.adaptive_max_pool2d", "output_size=[1], layout=\"NCHW\"", IMAGE,
     "nn.adaptive_avg_pool2d: output_size=[1, 1]"},
    {"nn.adaptive_avg_pool3d nn.adaptive_max_pool3d", "output_size=[1, 2, 3], out_layout=\"\"",
     F "[1, 2, 3, 4, 5]", "nn.adaptive_avg_pool3d: output_size=[1, 2, 3]"},
    {"nn.adaptive_pool adaptive_pool", "output_size=[2, 3], pool_type=\"avg\"", IMAGE,
     "nn.adaptive_avg_pool2d: output_size=[2, 3]"},
    {"nn.adaptive_pool3d", "output_size=[1, 1, 1], pool_type=\"max\"", F "[1, 2, 3, 4, 5]",
     "nn.adaptive_max_pool3d: output_size=[1, 1, 1]"},
    {"nn.avg_pool1d nn.max_pool1d", "pool_size=[2]", F "[1, 2, 9]",
     "nn.avg_pool1d: pool_size=[2] strides=[1] padding=[0, 0] dilation=[1]"},
    {"nn.avg_pool2d nn.max_pool2d avg_pool2d max_pool2d", "pool_size=[2, 2]", IMAGE,
     "nn.avg_pool2d: pool_size=[2, 2] " WINDOW},
    {"nn.avg_pool2d",
     "pool_size=3, strides=2, padding=[1, 2], layout=\"NHWC\", ceil_mode=True, "
     "count_include_pad=False",
     IMAGE,
     "nn.avg_pool2d: pool_size=[3, 3] strides=[2, 2] padding=[1, 2, 1, 2] dilation=[1, 1] ceil_mode=1 "
     "data_layout=\"NHWC\""},
    {"nn.avg_pool3d nn.max_pool3d", "pool_size=[2, 2, 2]", F "[1, 2, 3, 4, 5]",
     "nn.avg_pool3d: pool_size=[2, 2, 2] strides=[1, 1, 1] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1]"},
    {"nn.pool1d", "kernel=[2], stride=[2], padding=[0, 1], dilation=[1], pool_type=\"avg\"", F "[1, 2, 9]",
     "nn.avg_pool1d: pool_size=[2] strides=[2] padding=[0, 1] dilation=[1]"},
    {"nn.pool2d pool2d", "kernel=[2, 2], stride=[2, 2], pool_type=\"max\"", IMAGE,
     "nn.max_pool2d: pool_size=[2, 2] strides=[2, 2] padding=[0, 0, 0, 0] dilation=[1, 1]"},
    {"nn.pool3d", "kernel=2, pool_type=\"max\"", F "[1, 2, 3, 4, 5]",
     "nn.max_pool3d: pool_size=[2, 2, 2] strides=[1, 1, 1] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1]"},
    {"nn.global_avg_pool2d nn.global_max_pool2d global_avg_pool2d global_max_pool2d", "layout=\"NCHW\"",
     IMAGE, "nn.global_avg_pool2d:"},
    {"nn.global_pool", "pool_type=\"avg\"", F "[1, 2, 9]", "nn.global_avg_pool1d:"},
    {"nn.global_pool global_pool", "pool_type=\"max\"", IMAGE, "nn.global_max_pool2d:"},
    {"nn.avg_pool2d_grad", "pool_size=[2, 2]", F "[2, 3, 7, 8] " IMAGE,
     "nn.avg_pool_grad: pool_size=[2, 2] " WINDOW},
    {"nn.max_pool2d_grad", "pool_size=[2, 2]", F "[2, 3, 7, 8] " IMAGE,
     "nn.max_pool_grad: pool_size=[2, 2] " WINDOW},
    {"nn.pool_grad", "kernel=[2, 2], pool_type=\"avg\"", F "[2, 3, 7, 8] " IMAGE,
     "nn.avg_pool_grad: pool_size=[2, 2] " WINDOW},
    {"nn.batch_matmul batch_matmul nn.matmul", "", F "[2, 3, 4] " F "[2, 4, 5]", "nn.matmul:"},
    {"nn.matmul matmul", "units=5, transpose_b=True, out_dtype=\"\"", F "[3, 4] " F "[5, 4]",
     "nn.matmul: transpose_b=1"},
    {"nn.batch_norm batch_norm", "center=False, scale=False", IMAGE " " F "[3] " F "[3] " F "[3] " F "[3]",
     NULL, "broadcast_to(const(1"},
    {"nn.batch_norm batch_norm", "", IMAGE " " F "[3] " F "[3] " F "[3] " F "[3]",
     "nn.batch_norm: axis=1 epsilon=0.00001"},
    {"nn.batch_to_space_nd", "crops=[[0, 1], [1, 0]], block_shape=[2, 2]", F "[4, 3, 3, 2]",
     "nn.batch_to_space_nd: block_shape=[2, 2] crop_begin=[0, 1] crop_end=[1, 0]"},
    {"nn.space_to_batch_nd", "paddings=[[0, 0], [0, 1]]", F "[1, 2, 3, 2]",
     "nn.space_to_batch_nd: block_shape=[1, 1] pad_before=[0, 0] pad_after=[0, 1]"},
    {"nn.bias_add", "", IMAGE " " F "[3]", "nn.bias_add: axis=1"},
    {"nn.conv1d", "", F "[1, 3, 9] " F "[4, 3, 2]", "nn.conv1d: strides=[1] padding=[0, 0] dilation=[1]"},
    {"nn.conv2d conv2d", "", IMAGE " " F "[4, 3, 3, 3]", "nn.conv2d: " WINDOW},
    {"nn.conv2d conv2d",
     "channels=4, kernel_size=[3, 3], data_layout=\"NCHW\", kernel_layout=\"OIHW\", out_layout=\"\", "
     "out_dtype=\"\", "
     "groups=1",
     IMAGE " " F "[4, 3, 3, 3]", "nn.conv2d: " WINDOW},
    {"nn.conv2d conv2d", "padding=[1, 2], strides=2, use_bias=True, channels=4, kernel_size=3",
     IMAGE " " F "[4, 3, 3, 3] " F "[4]", NULL, "nn.bias_add("},
    {"nn.conv2d", "data_layout=\"NHWC\", padding=1", F "[1, 8, 8, 3] " F "[4, 3, 3, 3]",
     "nn.conv2d: data_layout=\"NHWC\" strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]"},
    {"nn.conv2d", "data_layout=\"NHWC\", kernel_layout=\"HWIO\", channels=4, kernel_size=[3, 2]",
     F "[1, 8, 8, 3] " F "[3, 2, 3, 4]", NULL, "transpose(%x1, axes=[3, 2, 0, 1])"},
    {"nn.conv1d", "kernel_layout=\"WIO\"", F "[1, 3, 9] " F "[2, 3, 4]", NULL,
     "transpose(%x1, axes=[2, 1, 0])"},
    {"nn.conv3d_transpose", "data_layout=\"NDHWC\", kernel_layout=\"DHWIO\"",
     F "[1, 3, 4, 5, 2] " F "[1, 2, 3, 2, 4]", NULL, "transpose(%x1, axes=[3, 4, 0, 1, 2])"},
    {"nn.conv2d_transpose", "data_layout=\"NHWC\", channels=4, kernel_size=[2, 2], kernel_layout=\"HWOI\"",
     F "[1, 8, 8, 3] " F "[2, 2, 4, 3]", NULL, "transpose(%x1, axes=[3, 2, 0, 1])"},
    {"nn.conv3d", "data_layout=\"NCDHW\", kernel_layout=\"OIDHW\"", F "[1, 2, 3, 4, 5] " F "[4, 2, 1, 1, 1]",
     "nn.conv3d: strides=[1, 1, 1] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1]"},
    {"nn.conv1d_transpose", "data_layout=\"NCW\", kernel_layout=\"IOW\"", F "[1, 3, 9] " F "[3, 4, 2]",
     "nn.conv1d_transpose: strides=[1] padding=[0, 0] dilation=[1] output_padding=[0]"},
    {"nn.conv2d_transpose conv2d_transpose", "channels=4, kernel_size=[2, 2]", IMAGE " " F "[3, 4, 2, 2]",
     "nn.conv2d_transpose: " WINDOW " output_padding=[0, 0]"},
    {"nn.conv3d_transpose", "", F "[1, 2, 3, 4, 5] " F "[2, 4, 1, 1, 1]",
     "nn.conv3d_transpose: strides=[1, 1, 1] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1] "
     "output_padding=[0, 0, 0]"},
    {"nn.cross_entropy nn.cross_entropy_with_logits", "", F "[3, 4] " F "[3, 4]"},
    {"nn.deformable_conv2d", "kernel_size=[3, 3], channels=4, data_layout=\"NCHW\"",
     F "[1, 3, 8, 8] " F "[1, 18, 6, 6] " F "[4, 3, 3, 3]", NULL, "nn.deformable_conv(%x0, %x2, %x1"},
    {"nn.dense dense", "units=4, out_dtype=\"\"", F "[2, 3] " F "[4, 3]", "nn.dense:"},
    {"nn.dense dense", "units=4, use_bias=True", F "[2, 3] " F "[4, 3] " F "[4]", NULL, "nn.bias_add("},
    {"nn.dense dense", "", F "[2, 3] " F "[4, 3] " F "[4]", NULL, "nn.bias_add("},
    {"nn.depth_to_space nn.space_to_depth", "block_size=1", IMAGE},
    {"nn.dilate", "", F "[3, 4]", "nn.dilate: strides=[1, 1]"},
    {"nn.dropout dropout", "rate=0.5", F "[3]", "nn.dropout:"},
    {"nn.fifo_buffer", "", F "[2, 3] " F "[4, 3]"},
    {"nn.group_norm", "num_groups=3, axis=1", IMAGE " " F "[3] " F "[3]", "nn.group_norm: num_groups=3"},
    {"nn.instance_norm", "axis=1, center=True", IMAGE " " F "[3] " F "[3]", "nn.instance_norm:"},
    {"nn.layer_norm", "", F "[2, 3] " F "[3] " F "[3]", "nn.layer_norm: axis=-1"},
    {"nn.l2_normalize l2_normalize", "eps=0.001, axis=[1]", F "[2, 3]"},
    {"nn.leaky_relu leaky_relu", "", F "[3]", "nn.leaky_relu: alpha=0.25"},
    {"nn.log_softmax nn.softmax nn.fast_softmax log_softmax softmax", "", F "[2, 3]", "nn.softmax: axis=-1"},
    {"nn.lrn lrn", "", IMAGE, "nn.lrn: size=5 axis=1 bias=2.0 alpha=0.0001 beta=0.75"},
    {"nn.mirror_pad", "pad_width=[[0, 0], [1, 2]]", F "[3, 4]",
     "nn.pad: pad_before=[0, 1] pad_after=[0, 2] mode=\"symmetric\""},
    {"nn.mirror_pad", "pad_width=[[0, 0], [1, 2]], mode=\"REFLECT\"", F "[3, 4]",
     "nn.pad: pad_before=[0, 1] pad_after=[0, 2] mode=\"reflect\""},
    {"nn.nll_loss", "ignore_index=-100", F "[3, 4] int32[3] " F "[4]"},
    {"nn.pad", "pad_width=[[1, 2], [0, 3]], pad_mode=\"edge\"", F "[3, 4] " F "[]",
     "nn.pad: pad_before=[1, 0] pad_after=[2, 3] mode=\"edge\""},
    {"pad", "pad_width=((1, 2), (0, 3)), pad_value=1.5", F "[3, 4]",
     "nn.pad: pad_before=[1, 0] pad_after=[2, 3] value=1.5"},
    {"nn.prelu prelu", "", IMAGE " " F "[3]", NULL, "newshape=[3, 1, 1]"},
    {"nn.prelu prelu", "axis=3", IMAGE " " F "[9]", NULL, "newshape=[1, 9]"},
    {"one_hot", "depth=5, dtype=int8", "int32[3] " F "[] " F "[]", NULL, "int8"},
    {"ones zeros", "shape=[2, 3], dtype=float16", "", "ones: shape=[2, 3] dtype=float16"},
    {"qnn.quantize", "axis=1, out_dtype=int8", IMAGE " " F "[] int8[]"},
    {"qnn.dequantize", "axis=1", "int8[2, 3] " F "[] int8[]"},
    {"qnn.requantize", "out_dtype=int8", "int32[2, 3] " F "[] int8[]"},
    {"repeat", "repeats=2", F "[2, 3]", NULL, "newshape=[-1]"},
    {"repeat", "repeats=2, axis=1", F "[2, 3]", "repeat: repeats=2 axis=1"},
    {"reshape", "newshape=[0, -1]", F "[2, 3, 4]", "reshape: newshape=[2, -1]"},
    {"reshape", "shape=(-3, -2)", F "[2, 3, 4]", "reshape: newshape=[6, 4]"},
    {"reshape", "newshape=[-4, 1, -1, -2]", F "[2, 3, 4]", "reshape: newshape=[1, 2, 3, 4]"},
    {"reshape", "newshape=[0, 3], allowzero=True", F "[0, 3]", "reshape: newshape=[0, 3]"},
    {"reshape_like", "lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2", F "[6, 4] " F "[2, 3]", NULL,
     "newshape=[2, 3, 4]"},
    {"reverse flip", "axis=1", F "[2, 3]"},
    {"reverse_sequence", "", F "[4, 4] int32[4]"},
    {"scatter_elements", "reduction=\"update\"", F "[3, 4] int32[1, 4] " F "[1, 4]",
     "scatter_elements: axis=0"},
    {"scatter_nd", "mode=\"add\"", F "[3, 4] int32[2, 1] " F "[2, 4]", "scatter_nd: reduction=\"add\""},
    {"sequence_mask", "", F "[3, 4] int32[4]"},
    {"shape_of", "dtype=int32", F "[3]"},
    {"slice_like", "axes=[1]", F "[3, 4] " F "[2, 2]", "slice_like: axis=[1]"},
    {"sliding_window", "axis=0, window_shape=[2, 2], strides=[1, 1]", F "[3, 4]"},
    {"sparse_to_dense", "output_shape=[5]", "int32[2] " F "[2] " F "[]"},
    {"split", "indices_or_sections=2", F "[4, 6]", "split: sizes=[2, 2]"},
    {"split", "indices_or_sections=[1, 4], axis=1", F "[4, 6]", "split: sizes=[1, 3, 2] axis=1"},
    {"nnvm.split", "indices_or_sections=3", F "[4, 6]", "split: sizes=[2, 2, 2] axis=1"},
    {"squeeze", "", F "[1, 3, 1]"},
    {"stack", "", F "[3] " F "[3]"},
    {"stft", "length=4 step=2", F "[1, 16, 1] " F "[4]"},
    {"strided_set", "begin=[1], strides=[2]", F "[5] " F "[2]"},
    {"strided_slice", "begin=[0, 4], end=[2, 0], strides=[1, -2], axes=None", F "[3, 6]",
     "strided_slice: begin=[0, 4] sizes=[2, 2] strides=[1, -2]"},
    {"strided_slice", "begin=[-2], end=[100], axes=[1]", F "[3, 6]",
     "strided_slice: begin=[0, 4] sizes=[3, 2] strides=[1, 1]"},
    {"strided_slice", "begin=[1, 2], end=[-1, 3], slice_mode=\"size\"", F "[3, 6]",
     "strided_slice: begin=[1, 2] sizes=[2, 3] strides=[1, 1]"},
    {"strided_slice", "begin=[1], end=[2], stride=[1]", F "[3, 6]",
     "strided_slice: begin=[1, 0] sizes=[1, 6] strides=[1, 1]"},
    {"take", "", F "[2, 3] int32[4]", NULL, "newshape=[-1]"},
    {"nn.sparse_dense", "sparse_lhs=False", F "[3, 4] " F "[5] int32[5] int32[7]", "nn.sparse_dense:"},
    {"nn.sparse_transpose", "", F "[5] int32[5] int32[4]"},
    {"random.multinomial", "num_samples=3", "uint64[10] " F "[2, 5]", "random.multinomial: num_samples=3"},
    {"random.normal random.uniform", "out_shape=[2, 4], out_dtype=\"float32\"", "uint64[10] " F "[] " F "[]"},
    {"random.threefry_generate", "out_shape=[4]", "uint64[10]", "random.threefry_generate: out_shape=[4]"},
    {"random.threefry_split", "", "uint64[10]"},
    {"take", "axis=1, batch_dims=0", F "[2, 3] int32[4]", "take: axis=1 mode=\"clip\""},
    {"tensordot", "axes=1", F "[2, 3] " F "[3, 4]"},
    {"tile", "reps=[2]", F "[2, 3]", "tile: reps=[1, 2]"},
    {"tile", "reps=[2, 1, 3]", F "[2, 3]", NULL, "newshape=[1, 2, 3]"},
    {"transpose", "", F "[2, 3]"},
    {"trilu", "upper=False", F "[3, 4]", "trilu: upper=0"},
    {"unique", "sorted=True", F "[5]"},
    {"unravel_index", "", "int32[3] int32[2]"},
    {"vision.all_class_non_max_suppression", "output_format=\"onnx\"",
     F "[1, 5, 4] " F "[1, 2, 5] int64[] " F "[] " F "[]", "vision.all_class_non_max_suppression:"},
    {"vision.get_valid_counts", "id_index=0, score_index=1", F "[1, 5, 6] " F "[]",
     "vision.get_valid_counts: score_index=1"},
    {"vision.get_valid_counts", "score_threshold=0.5, id_index=-1", F "[1, 5, 6]", NULL, "id_index=-1"},
    {"nms", "nms_threshold=0.5, force_suppress=False, nms_topk=-1", F "[1, 5, 6] int32[1]"},
    {"vision.multibox_prior multibox_prior", "", IMAGE, "vision.multibox_prior: sizes=[1.0] ratios=[1.0]"},
    {"vision.multibox_transform_loc multibox_transform_loc", "", F "[1, 3, 5] " F "[1, 20] " F "[1, 5, 4]"},
    {"vision.roi_align", "pooled_size=[2, 2], spatial_scale=0.5, sample_ratio=-1, layout=\"NCHW\"",
     IMAGE " " F "[3, 5]", NULL, "aligned=0"},
    {"vision.roi_pool vision.roi_align", "pooled_size=[2, 2], layout=\"NHWC\"", IMAGE " " F "[3, 5]", NULL,
     "data_layout=\"NSC\""}, /* as texts have it */
    {"nn.deformable_conv2d", "kernel_layout=\"HWIO\", data_layout=\"NHWC\"",
     F "[1, 8, 8, 3] " F "[1, 6, 6, 18] " F "[3, 3, 3, 4]", NULL, "transpose(%x2, axes=[3, 2, 0, 1])"},
    {"vision.roi_pool", "pooled_size=[2, 2], spatial_scale=0.5", IMAGE " " F "[3, 5]", NULL,
     "strided_slice("},
    {"vision.yolo_reorg vision.reorg yolo_reorg", "", IMAGE, "vision.yolo_reorg: stride=1"},
    {"yolo_region", "num_classes=3 n=2", F "[1, 16, 3, 3]"},
    {"where", "", "bool[3] " F "[3] " F "[3]"},
    {"nn.correlation",
     "kernel_size=3, max_displacement=1, stride1=2, stride2=1, padding=[1, 2], is_multiply=True, "
     "layout=\"NCHW\"",
     IMAGE " " IMAGE, "nn.correlation: kernel_size=3 stride1=2 padding=[1, 2, 1, 2]"},
    {"nn.conv2d_backward_weight",
     "strides=[1, 1], padding=[1, 0], dilation=[1, 1], groups=1, channels=4, kernel_size=[3, 2], "
     "grad_layout=\"NCHW\", "
     "data_layout=\"NCHW\", kernel_layout=\"OIHW\", out_layout=\"\"",
     F "[1, 4, 5, 4] " F "[1, 3, 5, 5]",
     "nn.conv2d_backward_weight: padding=[1, 0, 1, 0] channels=4 kernel_size=[3, 2]"},
    {"nn.bitpack", "bits=2, pack_axis=1, bit_axis=2, pack_type=uint32", "int32[2, 64]",
     "nn.bitpack: bits=2 bit_axis=2"},
    {"nn.bitserial_dense",
     "units=4, data_bits=2, weight_bits=1, pack_dtype=uint8, out_dtype=int32, unipolar=True",
     "int8[2, 16] int8[4, 16]", "nn.bitserial_dense: data_bits=2 pack_dtype=uint8 out_dtype=int32"},
    {"nn.bitserial_conv2d",
     "channels=4, kernel_size=[3, 2], padding=[1, 0], activation_bits=2, kernel_layout=\"OIHW\", "
     "data_layout=\"NCHW\"",
     "int8[1, 32, 5, 6] int8[4, 32, 3, 2]",
     "nn.bitserial_conv2d: strides=[1, 1] padding=[1, 0, 1, 0] activation_bits=2"},
    {"nn.binarize_pack", "", F "[2, 32]"},
    {"nn.binary_dense", "", "uint32[2, 3] uint32[4, 3]"},
    {"nn.scale_shift_nchw", "", IMAGE " " F "[3] " F "[3]"},
    {"nn.scale_shift_nhwc", "", F "[2, 4, 5, 3] " F "[3] " F "[3]"},
    {"collapse_sum", "", F "[3, 4] " F "[4]"},
    {"qnn.abs qnn.erf qnn.exp qnn.log qnn.sqrt qnn.rsqrt qnn.sigmoid qnn.tanh qnn.hardswish qnn.leaky_relu "
     "qnn.softmax",
     "", "int8[3, 4] float32[] int32[] float32[] int32[]"},
    {"qnn.avg_pool2d", "pool_size=[2, 2], layout=\"NCHW\"",
     "uint8[2, 3, 8, 9] float32[] int32[] float32[] int32[]", "qnn.avg_pool2d: pool_size=[2, 2] " WINDOW},
    {"qnn.add qnn.subtract qnn.mul", "lhs_axis=-1, rhs_axis=-1",
     "int8[3, 4] int8[3, 4] float32[] int32[] float32[4] int32[4] float32[] int32[]", "qnn.add:"},
    {"qnn.concatenate", "", "int8[2, 3] int8[2, 3] float32[] float32[] int32[] int32[] float32[] int32[]"},
    {"qnn.conv2d",
     "channels=4, kernel_size=[3, 3], padding=[1, 1], kernel_layout=\"OIHW\", data_layout=\"NCHW\", "
     "out_dtype=int32",
     "uint8[2, 3, 8, 9] int8[4, 3, 3, 3] int32[] int32[] float32[] float32[4]",
     "qnn.conv2d: strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] out_dtype=int32"},
    {"qnn.conv2d_transpose", "channels=4, kernel_size=[2, 2], kernel_layout=\"IOHW\"",
     "uint8[2, 3, 8, 9] int8[3, 4, 2, 2] int32[] int32[] float32[] float32[]",
     "qnn.conv2d_transpose: strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]"},
    {"qnn.dense", "units=4, out_dtype=int32", "int8[2, 3] int8[4, 3] int32[] int32[] float32[] float32[4]",
     "qnn.dense: out_dtype=int32"},
    {"qnn.batch_matmul", "transpose_b=True",
     "int8[2, 3, 4] int8[2, 5, 4] int32[] int32[] float32[] float32[]", "qnn.batch_matmul: transpose_b=1"},
    {"dyn.strided_slice dynamic_strided_slice", "sizes=[2]", F "[5] int64[1] int64[1]"},
};

static gpuc_rexpr *call(gpuc_ctx *ctx, const char *name, const char *attrs, const char *in)
{
    gpuc_rexpr *args[8];
    fx_rng r = {3};
    const op_case c = {.in = in, .hi = 1};
    int n = op_case_inputs(ctx, &c, GPUC_FLOAT32, &r, args);
    for (int i = 0; i < n; i++) args[i] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", i), args[i]->type);
    gpuc_op_name what = gpuc_op_lookup_name(ctx, name);
    if (!what.op && !what.alias) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no such name");
    return gpuc_relay_op(ctx, name, gpuc_op_parse_attrs(ctx, &what, attrs), n, args);
}

/* The text without names of temporaries' types, which follow from it. */
static void check_call(gpuc_ctx *ctx, const written *c, const char *name)
{
    const char *text = fx_text(ctx, call(ctx, name, c->attrs, c->in));
    if (c->words && !strstr(text, c->words))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' is not in\n%s", c->words, text);
    if (!c->own) return;
    const char *colon = strchr(c->own, ':');
    gpuc_op_name what = gpuc_op_lookup_name(ctx, name);
    /* A line for several names has the row of the first. */
    const char *row = strchr(c->names, ' ') && what.op
                          ? what.op->name
                          : gpuc_ctx_printf(ctx, "%.*s", (int)(colon - c->own), c->own);
    const char *want = fx_text(ctx, call(ctx, row, colon + 1, c->in));
    if (strcmp(text, want)) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "it is\n%s, should be\n%s", text, want);
}

static const char *next_word(const char *list, char word[GPUC_OP_NAME])
{
    list += strspn(list, " ");
    size_t n = strcspn(list, " ");
    if (n == 0 || n >= GPUC_OP_NAME) return NULL;
    memcpy(word, list, n);
    word[n] = 0;
    return list + n;
}

typedef struct one {
    const written *c;
    const char *name;
} one;

static void check_one(gpuc_ctx *ctx, void *arg)
{
    const one *o = arg;
    check_call(ctx, o->c, o->name);
}

static void calls_as_they_are_written(void **state)
{
    (void)state;
    char name[GPUC_OP_NAME];
    int n = 0, bad = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (const char *list = calls[i].names; (list = next_word(list, name)); n++) {
            gpuc_ctx *ctx;
            one o = {&calls[i], name};
            assert_null(gpuc_ctx_create(NULL, &ctx));
            gpuc_status status = gpuc_ctx_protect(ctx, check_one, &o);
            if (status) print_message("%s(%s): %s\n", name, calls[i].attrs, gpuc_status_message(status));
            bad += status != NULL;
            gpuc_status_release(status);
            gpuc_ctx_destroy(ctx);
        }
    }
    assert_int_equal(bad, 0);
    print_message("cases: %d\n", n);
}

/* ---- What is not computed is refused by name ---- */

static void bad_call(gpuc_ctx *ctx, void *arg)
{
    const written *c = arg;
    call(ctx, c->names, c->attrs, c->in);
}

static void refusals(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const written bad[] = {
        {"nn.pool2d", "kernel=[2, 2]", IMAGE, "nn.pool2d|'pool_type' is missing; it is one of max,avg", NULL},
        {"nn.pool2d", "kernel=[2, 2], pool_type=\"min\"", IMAGE, "nn.pool2d|'min', must be one of", NULL},
        {"nn.global_pool", "pool_type=\"max\"", F "[3]", "nn.global_pool|3 to 5 dimensions", NULL},
        {"nn.max_pool2d", "pool_size=2, kernel=2", IMAGE, "nn.max_pool2d|both 'kernel' and 'pool_size'",
         NULL},
        {"nn.max_pool2d", "pool_size=2, pool_type=\"max\"", IMAGE, "nn.max_pool2d|no attribute 'pool_type'",
         NULL},
        {"nn.conv2d", "kernel_size=[2, 3]", IMAGE " " F "[4, 3, 3, 3]",
         "nn.conv2d|kernel_size is 2, dimension 2", NULL},
        {"nn.conv2d", "channels=5", IMAGE " " F "[4, 3, 3, 3]", "nn.conv2d|channels is 5, dimension 0", NULL},
        {"nn.conv2d", "out_layout=\"NHWC\"", IMAGE " " F "[4, 3, 3, 3]", "out_layout is 'NHWC'|transpose it",
         NULL},
        {"nn.conv2d", "kernel_layout=\"HWIK\"", IMAGE " " F "[4, 3, 3, 3]",
         "kernel_layout is 'HWIK'; known are the orders of the letters in OIHW", NULL},
        {"nn.conv2d", "kernel_layout=\"HHIO\"", IMAGE " " F "[4, 3, 3, 3]", "kernel_layout is 'HHIO'", NULL},
        {"nn.conv2d", "kernel_layout=\"HWIO\", channels=5", IMAGE " " F "[3, 3, 3, 4]",
         "channels is 5, dimension 3 of input 1 is 4", NULL},
        {"nn.conv2d", "kernel_layout=\"WIO\"", IMAGE " " F "[4, 3, 3, 3]",
         "kernel_layout is 'WIO', input 1 has 4 dimensions", NULL},
        {"nn.conv2d", "use_bias=True", IMAGE " " F "[4, 3, 3, 3]", "use_bias=1|there are 2 inputs", NULL},
        {"nn.conv2d", "use_bias=False", IMAGE " " F "[4, 3, 3, 3] " F "[4]", "use_bias=0|there are 3 inputs",
         NULL},
        {"nn.conv2d", "kernal_size=3", IMAGE " " F "[4, 3, 3, 3]", "did you mean 'kernel_size'", NULL},
        {"nn.conv2d_transpose", "data_layout=\"NHWC\"", IMAGE " " F "[3, 4, 2, 2]",
         "9 input channels do not fit", NULL},
        {"segment_sum", "num_segments=3", F "[2, 3] int32[3]",
         "segment_sum|the data has 2 rows, and there are 3 ids", NULL},
        {"segment_sum", "", F "[2, 3] int32[2]", "needs num_segments, unless the ids are known", NULL},
        {"segment_sum", "num_segments=-1", F "[2, 3] int32[2]", "num_segments is -1", NULL},
        {"scatter_nd", "num_segments=3", F "[2, 3] int32[2, 1] " F "[2, 3]",
         "has no attribute 'num_segments'", NULL},
        {"qnn.requantize", "", "int32[3] " F "[] int32[] " F "[]", "has 4 inputs", NULL},
        {"qnn.requantize", "axis=2", "int32[3, 2] " F "[3] int32[] " F "[] int32[]",
         "axis is outside of the 2", NULL},
        {"qnn.requantize", "rounding=\"DOWN\"", "int32[3] " F "[]", "rounding is 'DOWN'; known are", NULL},
        {"qnn.requantize", "compute_dtype=\"int8\"", "int32[3] " F "[]", "compute_dtype is 'int8'; known are",
         NULL},
        {"qnn.simulated_quantize", "", F "[3] int32[2] " F "[] int32[]", "input 1, which says the type",
         NULL},
        {"qnn.simulated_quantize", "", F "[3] int32[] " F "[2] int32[]", "input 2 must have one element, or",
         NULL},
        {"qnn.simulated_dequantize", "", F "[3] int32[] " F "[] int32[1, 1]", "input 3 has 2 dimensions",
         NULL},
        {"sparse_reshape", "", "int32[4, 3] int32[2] int32[2]", "places have 3 numbers, the old shape has 2",
         NULL},
        {"sparse_reshape", "", "int32[4] int32[2] int32[2]", "the places have 1 dimensions", NULL},
        {"nn.dense", "units=7", F "[2, 3] " F "[4, 3]", "units is 7, dimension 0 of input 1 is 4", NULL},
        {"nn.instance_norm", "axis=2", IMAGE " " F "[3] " F "[3]", "axis is '2'; what is computed is 1",
         NULL},
        {"vision.get_valid_counts", "score_index=6", F "[1, 5, 6] " F "[]",
         "vision.get_valid_counts|score_index=6 is outside of the 6 numbers of a box", NULL},
        {"vision.get_valid_counts", "score_threshold=0.5", F "[1, 5, 6] " F "[]",
         "vision.get_valid_counts|both score_threshold and input 1", NULL},
        {"nn.sparse_dense", "", F "[3, 4] " F "[5] int32[6] int32[7]", "data has 5 elements, and indices 6",
         NULL},
        {"nn.sparse_dense", "", F "[3, 4] " F "[5, 2] int32[5] int32[7]", "must have 1 (CSR) or 3 (BSR)",
         NULL},
        {"nn.sparse_transpose", "", F "[5] int32[5] int32[0]", "indptr is empty", NULL},
        {"random.threefry_generate", "out_shape=[4]", "uint64[4]",
         "random.threefry_generate|input 0, the key, has 4 words, must have 10", NULL},
        {"random.threefry_split", "", "uint64[4]",
         "random.threefry_split|input 0, the key, has 4 words, must have 10", NULL},
        {"random.threefry_generate", "out_shape=[-1]", "uint64[10]", "dimension 0 of out_shape is -1", NULL},
        {"random.uniform", "out_shape=[4], out_dtype=\"int32\"", "uint64[10] " F "[] " F "[]",
         "random.uniform|out_dtype must be float32 or float64", NULL},
        {"random.normal", "out_shape=[4]", "uint64[10] " F "[2] " F "[]", "input 1, mean, must be one number",
         NULL},
        {"random.multinomial", "num_samples=-1", "uint64[10] " F "[4]", "num_samples=-1 is negative", NULL},
        {"random.multinomial", "", "uint64[10] " F "[2, 0]", "rows without elements", NULL},
        {"nn.conv2d_backward_weight", "kernel_size=[3, 3]", IMAGE " " IMAGE,
         "nn.conv2d_backward_weight|too large for the padded data in dimension 2", NULL},
        {"nn.conv2d_backward_weight", "groups=2", F "[1, 3, 2, 2] " F "[1, 2, 3, 3]",
         "nn.conv2d_backward_weight|no multiples of groups=2", NULL},
        {"nn.correlation", "kernel_size=2", IMAGE " " IMAGE, "nn.correlation|kernel_size=2 is even", NULL},
        {"nn.correlation", "stride2=0", IMAGE " " IMAGE, "nn.correlation|stride2=0 is below 1", NULL},
        {"nn.correlation", "max_displacement=5", IMAGE " " IMAGE,
         "nn.correlation|larger than the padded input in dimension 2", NULL},
        {"nn.correlation", "layout=\"NHWC\"", IMAGE " " IMAGE, "nn.correlation|layout is 'NHWC'", NULL},
        {"nn.bitpack", "", "int32[2, 33]",
         "nn.bitpack|dimension 1 (33) of input 0 does not divide by the 32 bits", NULL},
        {"nn.bitpack", "bits=9", "int32[2, 32]", "nn.bitpack|bits=9 is outside of 1 to 8", NULL},
        {"nn.bitpack", "pack_type=int32", "int32[2, 32]", "nn.bitpack|pack_type is int32; words are uint8",
         NULL},
        {"nn.bitserial_dense", "units=3", "int8[2, 32] int8[4, 32]",
         "nn.bitserial_dense|units is 3, dimension 0 of input 1 is 4", NULL},
        {"nn.bitserial_dense", "weight_bits=2", "int8[2, 32] uint32[4, 1, 1]",
         "nn.bitserial_dense|dimension 1 of input 1 has 1 bits, weight_bits is 2", NULL},
        {"nn.bitserial_dense", "pack_dtype=uint8", "int8[2, 32] uint32[4, 1, 1]",
         "nn.bitserial_dense|input 1 is packed into uint32, pack_dtype is uint8", NULL},
        {"nn.bitserial_conv2d", "kernel_layout=\"HWIO\"", "int8[1, 32, 3, 3] int8[2, 32, 2, 2]",
         "nn.bitserial_conv2d|kernel_layout is 'HWIO'; what is computed is OIHW,OIHWi", NULL},
        {"nn.bitserial_conv2d", "out_dtype=float32", "int8[1, 32, 3, 3] int8[2, 32, 2, 2]",
         "nn.bitserial_conv2d|out_dtype is float32; sums are integers", NULL},
        {"qnn.exp", "", "int8[3] float32[3] int32[] float32[] int32[]",
         "qnn.exp|input 1, a scale, has 1 dimensions, must be one number", NULL},
        {"qnn.add", "", "int8[3] int8[3] float32[] int8[] float32[] uint8[] float32[] int32[]",
         "qnn.add|input 5, a zero point, is uint8, must be int32 or, as its tensor, int8", NULL},
        {"qnn.add", "lhs_axis=1", "int8[3, 4] int8[4] float32[3] int8[] float32[] int32[] float32[] int32[]",
         "qnn.add|input 2, a list of scales, has 3 entries for 4 positions", NULL},
        {"qnn.add", "", "int8[3] int8[3] int8[] int8[] float32[] int8[] float32[] int32[]",
         "qnn.add|input 2 takes float32, not int8", NULL},
        {"qnn.concatenate", "", "int8[3] int8[3] float32[] float32[] int32[] float32[] int32[]",
         "qnn.concatenate|has 7 inputs; takes n tensors", NULL},
        {"qnn.softmax", "axis=2", "int8[3] float32[] int32[] float32[] int32[]",
         "qnn.softmax|axis=2 is outside of the 1 dimensions", NULL},
        {"qnn.dense", "out_dtype=int8", "int8[2, 3] int8[4, 3] int32[] int32[] float32[] float32[]",
         "qnn.dense|out_dtype is int8; sums are int16, int32 or int64", NULL},
        {"qnn.dense", "units=5", "int8[2, 3] int8[4, 3] int32[] int32[] float32[] float32[]",
         "qnn.dense|units is 5, dimension 0 of input 1 is 4", NULL},
        {"qnn.conv2d", "", "int8[2, 3, 8, 9] int8[4, 3, 3, 3] int32[3] int32[] float32[] float32[4]",
         "qnn.conv2d|input 2, a zero point, has 1 dimensions, must be one number", NULL},
        {"nn.dropout", "rate=1.5", F "[3]", "nn.dropout|rate must be", NULL},
        {"one_hot", "depth=5, axis=[1]", "int32[3] " F "[] " F "[]", "one_hot|integer", NULL},
        {"stft", "n_fft=4", F "[1, 16, 1]", "attribute 'n_fft' is not taken: frames come before", NULL},
        {"sum", "dtype=int32", F "[2]", "attribute 'dtype' is not taken", NULL},
        {"topk", "k=1, ret_type=\"value\"", F "[3]", "ret_type is 'value'; known are both, values, indices",
         NULL},
        {"split", "indices_or_sections=4", F "[6]", "split|indices_or_sections=4 does not divide", NULL},
        {"split", "indices_or_sections=[4, 2]", F "[6]", "split|2 behind 4", NULL},
        {"strided_slice", "begin=[0], end=[2], strides=[0]", F "[6]", "strided_slice|stride 0", NULL},
        {"strided_slice", "begin=[0], end=[2], slice_mode=\"all\"", F "[6]", "slice_mode is 'all'", NULL},
        {"reshape", "newshape=[-7]", F "[6]", "reshape|-7", NULL},
        {"full", "shape=[2]", "", "full|", NULL},
        {"image.resize2d", "size=[2, 2], layout=\"NCHW4c\"", IMAGE, "layout is 'NCHW4c'", NULL},
        {"image.resize2d", "size=[2, 2, 2]", IMAGE, "size has 3 entries for 2", NULL},
        {"sum", "exclude=True", IMAGE, "exclude without axis", NULL},
        {"expand_dims", "axis=[0, 1], num_newaxis=2", F "[2]", "num_newaxis goes with one axis", NULL},
        {"nn.prelu", "axis=2", IMAGE " " F "[3]", "the slope has 3 elements", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, bad[i].own, bad_call, (void *)&bad[i]);
}

/* A name of another system costs no more than the row's own: all are found in one table. */
static void names_are_found_alike(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_op *conv = gpuc_op_find("nn.conv2d");
    assert_ptr_equal(gpuc_op_lookup(ctx, "nn.conv2d"), conv);
    assert_ptr_equal(gpuc_op_lookup(ctx, "conv2d_nchw"), conv);
    assert_ptr_equal(gpuc_op_lookup(ctx, "image.resize2d"), gpuc_op_find("image.resize"));
    assert_null(gpuc_op_lookup(ctx, "nn.pool2d")); /* one of two rows */
    assert_ptr_equal(gpuc_op_get(ctx, "nn.pool2d"), gpuc_op_find("nn.max_pool2d"));
    const gpuc_op_name *own = gpuc_op_named(ctx, "nn.conv2d"), *other = gpuc_op_named(ctx, "conv2d");
    assert_ptr_equal(own->op, other->op);
    assert_null(gpuc_op_named(ctx, "no.such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_as_they_are_written),
        fx_test(refusals),
        fx_test(names_are_found_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
