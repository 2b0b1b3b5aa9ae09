/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define PARAMETERS " float32[] int32[] float32[] int32[]"
#define OWN " float32[] T[] float32[1] T[1]"
#define MAP(nm)                                                                                              \
    {nm, NULL, "T[3, a]" PARAMETERS, 0.02, 9}, {nm, NULL, "T[0, 2]" OWN, 0.02, 9},                           \
    {                                                                                                        \
        nm, NULL, "T[]" OWN, 0.02, 9                                                                         \
    }
#define PAIR(nm)                                                                                             \
    {nm, NULL, "T[3, a] T[a]" PARAMETERS " float32[] int32[]", 0.02, 9},                                     \
        {nm, "lhs_axis=1 rhs_axis=-1",                                                                       \
         "T[2, 5, 3] T[5, 3] float32[5] int32[5] float32[3] T[3] float32[] T[]", 0.02, 9},                   \
    {                                                                                                        \
        nm, NULL, "T[0, 2] T[]" PARAMETERS " float32[1] int32[]", 0.02, 9                                    \
    }
#define PLAIN "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]"
#define PADDED "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]"
#define SCALES " float32[] float32[]"
#define BYTES GPUC_T_INT8 | GPUC_T_UINT8

const op_case op_cases_quantized[] = {
    MAP("qnn.abs"),
    MAP("qnn.erf"),
    MAP("qnn.exp"),
    MAP("qnn.log"),
    MAP("qnn.sqrt"),
    MAP("qnn.rsqrt"),
    MAP("qnn.sigmoid"),
    MAP("qnn.tanh"),
    MAP("qnn.hardswish"),
    MAP("qnn.leaky_relu"),
    {"qnn.leaky_relu", "alpha=0.5", "T[5]" PARAMETERS, 0.02, 9},
    {"qnn.softmax", NULL, "T[3, a]" PARAMETERS, 0.01, 5},
    {"qnn.softmax", "axis=1", "T[2, 3, 4]" OWN, 0.01, 2},
    {"qnn.softmax", NULL, "T[0, 3]" PARAMETERS, 0.01, 2},
    {"qnn.avg_pool2d", "pool_size=[2, 3] " PLAIN, "T[1, 2, 5, 7]" PARAMETERS, 0.02, 9},
    {"qnn.avg_pool2d",
     "pool_size=[3, 2] strides=[2, 1] padding=[1, 0, 1, 1] dilation=[1, 2] ceil_mode=1 "
     "count_include_pad=1 data_layout=\"NHWC\"",
     "T[2, 6, 5, 3]" OWN, 0.02, 9},
    {"qnn.avg_pool2d", "pool_size=[1, 1] " PLAIN, "T[0, 2, 3, 3]" PARAMETERS, 0.02, 9},
    PAIR("qnn.add"),
    PAIR("qnn.subtract"),
    PAIR("qnn.mul"),
    {"qnn.concatenate", NULL, "T[2, 3] T[a, 3] float32[] float32[] int32[] int32[] float32[] int32[]", 0.02,
     9},
    {"qnn.concatenate", "axis=-1", "T[2, 3, 1] T[2, 3, 4] float32[] float32[] T[] int32[] float32[] T[1]",
     0.02, 9},
    {"qnn.concatenate", NULL, "T[0, 3] float32[1] int32[] float32[] int32[]", 0.02, 9},
    {"qnn.conv2d", PLAIN, "T[1, 3, 5, 6] T[4, 3, 2, 3] int32[] int32[]" SCALES, 1, 9},
    {"qnn.conv2d", "strides=[2, 1] padding=[1, 0, 1, 2] dilation=[1, 2]",
     "T[2, 3, 6, 7] int8[5, 3, 3, 2] T[] int8[5] float32[1] float32[5]", 1, 9},
    {"qnn.conv2d", "groups=2 " PADDED " data_layout=\"NHWC\" out_dtype=int64",
     "T[1, 4, 5, 4] uint8[6, 2, 3, 3] T[1] int32[6] float32[] float32[6]", 1, 9},
    {"qnn.conv2d", "strides=[2, 2] padding=[0, 0, 0, 0] dilation=[1, 1]",
     "T[1, 3, 5, 4] T[4, 3, 1, 1] int32[] int32[]" SCALES, 1, 9},
    {"qnn.conv2d", "padding=[0, 0, 0, 0] strides=[2, 2] dilation=[1, 1]",
     "uint8[2, 1, 2, 4] uint8[3, 1, 2, 2] int32[] int32[]" SCALES, 126, 132},
    {"qnn.conv2d", PLAIN, "T[0, 2, 3, 3] T[1, 2, 1, 1] int32[] T[]" SCALES, 1, 9},
    {"qnn.conv2d", PADDED, "T[1, 3, 4, 4] T[2, 3, 3, 3] int32[] int32[]" SCALES, 2, 2, .constants = true},
    {"qnn.conv2d_transpose", "strides=[2, 2] dilation=[1, 1] padding=[1, 0, 0, 1] output_padding=[1, 0]",
     "T[1, 3, 4, 3] T[3, 2, 3, 2] int32[] int32[2] float32[] float32[2]", 1, 9},
    {"qnn.conv2d_transpose", "groups=2 output_padding=[0, 0] " PLAIN,
     "T[1, 4, 2, 3] int8[4, 3, 2, 2] T[] int8[] float32[] float32[6]", 1, 9},
    {"qnn.conv2d_transpose", "output_padding=[0, 0] data_layout=\"NHWC\" " PLAIN,
     "T[2, 2, 4, 4] uint8[4, 3, 2, 2] int32[] int32[]" SCALES, 1, 9},
    {"qnn.dense", NULL, "T[3, a] T[4, a] int32[] int32[]" SCALES, 1, 9},
    {"qnn.dense", "out_dtype=int64", "T[3, 5] int8[4, 5] T[] int8[4] float32[] float32[4]", 1, 9},
    {"qnn.dense", NULL, "T[3, 5] int16[4, 5] int32[] int32[]" SCALES, 33000, 40000, .types = BYTES},
    {"qnn.dense", NULL, "int16[3, 5] T[4, 5] int32[] int32[4]" SCALES, 33000, 40000, .types = BYTES,
     .constants = true},
    {"qnn.dense", NULL, "T[2, 3, 5] int8[4, 5] T[] int8[4] float32[] float32[4]", 1, 9},
    {"qnn.dense", NULL, "T[0, 5] T[4, 5] int32[] int32[]" SCALES, 1, 9},
    {"qnn.dense", NULL, "T[2, 0] T[4, 0] int32[] int32[]" SCALES, 1, 9},
    {"qnn.batch_matmul", "transpose_b=1", "T[2, 3, a] T[2, 5, a] int32[] int32[]" SCALES, 1, 9},
    {"qnn.batch_matmul", "transpose_a=1", "T[2, 3, 4] uint8[1, 3, 5] T[] uint8[1]" SCALES, 1, 9},
    {NULL},
};
