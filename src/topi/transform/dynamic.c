/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the operators whose extents are tensors, with the inputs and attributes of TVM's (op/dynamic.h). */
#include "op/dynamic.h"

#include "op/rows.h"
#include "topi/families.h"

/* lo to hi inputs, of these element types. */
#define DYNAMIC(nm, lo, hi, at, ...)                                                                         \
    {                                                                                                        \
        .name = "dyn." nm, .min_in = lo, .max_in = hi, .types = {__VA_ARGS__}, .attrs = at,                  \
        .infer = gpuc_op_dynamic_infer, .pattern = GPUC_FUSE_OPAQUE, .topi = "", .nnvm = "", .onnx = ""      \
    }

ATTRS(reshape_attrs, INT("allowzero", 0))
ATTRS(expand_attrs, INT("num_newaxis", 1))
ATTRS(filled_attrs, DTYPE_OR("dtype", GPUC_FLOAT32))
ATTRS(full_attrs, {.name = "dtype", .kind = GPUC_ATTR_DTYPE})
ATTRS(topk_attrs, INT("axis", -1), STRING("ret_type", "both"), INT("is_ascend", 0),
      DTYPE_OR("dtype", GPUC_INT32))
ATTRS(hot_attrs, INT("axis", -1), {.name = "dtype", .kind = GPUC_ATTR_DTYPE})
ATTRS(pad_attrs, STRING("pad_mode", "constant"))
ATTRS(resize_attrs, STRING("layout", "NCHW"), STRING("method", "linear"),
      STRING("coordinate_transformation_mode", "half_pixel"), STRING("rounding_method", ""),
      FLOAT("cubic_alpha", -0.5), INT("cubic_exclude", 0), FLOAT("extrapolation_value", 0),
      {.name = "out_dtype", .kind = GPUC_ATTR_DTYPE})
ATTRS(upsampling_attrs, STRING("layout", "NCHW"), STRING("method", "nearest_neighbor"),
      INT("align_corners", 0))
ATTRS(upsampling3d_attrs, STRING("layout", "NCDHW"), STRING("method", "nearest_neighbor"),
      STRING("coordinate_transformation_mode", "half_pixel"))

const gpuc_op gpuc_topi_ops_dynamic[] = {
    DYNAMIC("reshape", 2, 2, reshape_attrs, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("tile", 2, 2, NULL, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("broadcast_to", 2, 2, NULL, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("squeeze", 2, 2, NULL, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("expand_dims", 2, 2, expand_attrs, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("zeros", 1, 1, filled_attrs, GPUC_T_INTS),
    DYNAMIC("ones", 1, 1, filled_attrs, GPUC_T_INTS),
    DYNAMIC("full", 2, 2, full_attrs, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("topk", 2, 2, topk_attrs, GPUC_T_ANY, GPUC_T_INTS),
    DYNAMIC("one_hot", 4, 4, hot_attrs, GPUC_T_INTS, GPUC_T_ANY, GPUC_T_LIKE_1, GPUC_T_INTS),
    DYNAMIC("nn.pad", 2, 3, pad_attrs, GPUC_T_ANY, GPUC_T_INTS, GPUC_T_ANY),
    DYNAMIC("sparse_to_dense", 4, 4, NULL, GPUC_T_INTS, GPUC_T_ANY, GPUC_T_LIKE_1, GPUC_T_INTS),
    DYNAMIC("image.resize2d", 3, 3, resize_attrs, GPUC_T_ANY, GPUC_T_NUMBERS, GPUC_T_FLOATS),
    DYNAMIC("nn.upsampling", 3, 3, upsampling_attrs, GPUC_T_ANY, GPUC_T_NUMBERS),
    DYNAMIC("nn.upsampling3d", 4, 4, upsampling3d_attrs, GPUC_T_ANY, GPUC_T_NUMBERS),
};
const size_t gpuc_topi_ops_dynamic_count = sizeof gpuc_topi_ops_dynamic / sizeof gpuc_topi_ops_dynamic[0];
