/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_crop[] = {
    {"image.crop_and_resize", "crop_size=[3, 4]", "T[2, a, 6, 7] float32[5, 4] int32[5]", 0, 1,
     .types = GPUC_T_FLOATS, .tolerance = 1e-3},
    {"image.crop_and_resize", "crop_size=[1, 5] extrapolation_value=3.5",
     "T[2, 3, 5, 4] float32[3, 4] int64[3]", -0.5, 1.5, .types = GPUC_T_FLOATS, .tolerance = 1e-3},
    {"image.crop_and_resize", "crop_size=[2, 3] data_layout=\"NHWC\"", "T[1, 5, 7, 3] float32[2, 4] int32[2]",
     0, 1, .types = GPUC_T_FLOATS, .tolerance = 1e-3},
    {"image.crop_and_resize", "crop_size=[3, 3] method=\"nearest\"", "T[2, 2, 3, 3] float64[4, 4] int32[4]",
     0, 1},
    {"image.crop_and_resize", "crop_size=[0, 3]", "T[1, 2, 3, 3] float32[4, 4] int32[4]", 0, 1},
    {"image.crop_and_resize", "crop_size=[2, 2] method=\"nearest\"", "T[1, 2, 4, 3] float32[0, 4] int32[0]",
     0, 1},
    {"image.dilation2d", NULL, "T[a, 3, 5, 7] T[3, 2, 3]"},
    {"image.dilation2d", "strides=[2, 1] padding=[1, 0, 2, 1] dilations=[1, 2]", "T[2, 2, 6, 5] T[2, 3, 2]"},
    {"image.dilation2d", "padding=[1, 1, 1, 1] data_layout=\"NHWC\"", "T[1, 4, 5, 3] T[3, 3, 3]"},
    {"image.dilation2d", NULL, "T[0, 1, 3, 3] T[1, 1, 1]"},
    {NULL},
};
