/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_movement[] = {
    {"transpose", NULL, "float32[2, 3, 4]"},
    {"transpose", "axes=[1, 2, 0]", "float32[2, 3, 5]"},
    {"transpose", "axes=[0, 2, 1]", "int8[1, 5, 7]"},
    {"transpose", NULL, "float32[]"},
    {"broadcast_to", "shape=[2, 3, 4]", "float32[3, 1]"},
    {"broadcast_to", "shape=[4]", "int64[]"},
    {"broadcast_to", "shape=[5]", "int64[1]"},
    {"broadcast_to", "shape=[2, 0]", "float32[1, 1]"},
    {"concatenate", "axis=1", "float32[2, 3] float32[2, 1] float32[2, 5]"},
    {"concatenate", "axis=-1", "int64[3] int64[0] int64[2]"},
    {"concatenate", "axis=0", "float16[2, 3]"},
    {"strided_slice", "begin=[1, 4] sizes=[2, 3] strides=[2, -2]", "float32[5, 6]"},
    {"strided_slice", "begin=[0, 0] sizes=[0, 6] strides=[1, 1]", "float32[5, 6]"},
    {"strided_slice", "begin=[4] sizes=[5] strides=[-1]", "int64[5]"},
    {"split", "sizes=[1, 0, 4] axis=1", "float32[2, 5]"},
    {"split", "sizes=[2, 2] axis=-2", "int32[4, 3]"},
    {"split", "sizes=[3] axis=0", "int32[3]"},
    {"tile", "reps=[2, 1, 3]", "float32[2, 3, 1]"},
    {"tile", "reps=[0]", "float32[3]"},
    {NULL},
};
