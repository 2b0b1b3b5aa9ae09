/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define SOME_UNITS .tolerance = 2e-4

const op_case op_cases_winograd[] = {
    {"nn.winograd_weight", "tile=[4]", "T[3, 2, 3]"},
    {"nn.winograd_weight", "tile=[2, 4]", "float32[3, 5, 3, 3]"},
    {"nn.winograd_weight", "tile=[6, 1]", "float32[2, 3, 3, 3]", SOME_UNITS},
    {"nn.winograd_weight", "tile=[2, 2, 3]", "float32[2, 2, 3, 1, 2]"},
    {"nn.conv_winograd", "tile=[2] padding=[1, 1]", "T[1, a, 9] T[4, a, 3]", SOME_UNITS},
    {"nn.conv_winograd", "tile=[4] padding=[0, 2]", "float32[2, 3, 11] float32[6, 3, 5]", SOME_UNITS},
    {"nn.conv_winograd", "tile=[2, 2] padding=[1, 1, 1, 1]", "float32[1, 4, 8, 8] float32[4, 4, 4, 8]",
     SOME_UNITS},
    {"nn.conv_winograd", "tile=[4, 4] padding=[1, 1, 1, 1]", "float32[2, 3, 7, 9] float32[6, 6, 3, 5]",
     SOME_UNITS},
    {"nn.conv_winograd", "tile=[4, 4] padding=[0, 2, 1, 0]", "float32[1, 5, 6, 13] float32[6, 6, 5, 7]",
     SOME_UNITS},
    {"nn.conv_winograd", "tile=[4, 4] padding=[0, 0, 0, 0]", "float32[1, 2, 3, 3] float32[6, 6, 2, 3]",
     SOME_UNITS},
    {"nn.conv_winograd", "tile=[4, 4] padding=[-1, 0, 0, -1]", "float32[1, 2, 9, 8] float32[6, 6, 2, 3]",
     SOME_UNITS},
    {"nn.conv_winograd", "tile=[2, 4] padding=[1, 0, 1, 0]", "float32[1, 3, 5, 9] float32[4, 4, 3, 2]",
     SOME_UNITS},
    {"nn.conv_winograd", "tile=[2, 3] padding=[1, 1, 1, 1]", "float16[1, 4, 6, 6] float16[4, 5, 4, 6]",
     .tolerance = 2e-2},
    {"nn.conv_winograd", "tile=[2, 1, 2] padding=[1, 0, 1, 0, 1, 1]",
     "float32[1, 2, 5, 3, 6] float32[4, 1, 4, 2, 3]", SOME_UNITS},
    /* channels last, weights in blocks */
    {"nn.conv_winograd", "tile=[4, 4] padding=[1, 1, 1, 1] data_layout=\"NHWC\"",
     "float32[2, 9, 6, 5] float32[6, 6, 5, 7]", SOME_UNITS},
    {"nn.conv_winograd", "tile=[4, 4] padding=[1, 1, 1, 1] data_layout=\"NHWC\" kernel_layout=\"HWOIo\"",
     "float32[1, 14, 15, 20] float32[6, 6, 2, 20, 32]", SOME_UNITS},
    {"nn.conv_winograd",
     "tile=[2, 2] padding=[0, 1, 2, 0] data_layout=\"NHWC\" kernel_layout=\"HWOIo\" channels=37",
     "float32[2, 7, 5, 19] float32[4, 4, 3, 19, 16]", SOME_UNITS},
    {"nn.conv_winograd", "tile=[4] padding=[1, 1] data_layout=\"NHWC\" kernel_layout=\"HWOIo\" channels=5",
     "float32[1, 50, 8] float32[6, 1, 8, 8]", SOME_UNITS},
    {NULL},
};
