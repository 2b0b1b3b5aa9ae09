/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_sample[] = {
    {"image.affine_grid", "target_shape=[5, 6] align_corners=0", "T[2, 2, 3]"},
    {"image.affine_grid", "target_shape=[5, 1]", "T[1, 2, 3]"},
    {"image.affine_grid", "target_shape=[3, 4, 2] align_corners=1", "T[2, 3, 4]"},
    {"image.affine_grid", "target_shape=[3, 1, 2] align_corners=0", "T[1, 3, 4]"},
    {"nn.deformable_conv", "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
     "T[1, 2, 4, 5] T[3, 2, 2, 2] T[1, 8, 3, 4]"},
    {"nn.deformable_conv", "strides=[2, 1] padding=[1, 0, 1, 1] dilation=[1, 2] groups=2 deformable_groups=2",
     "T[2, 4, 5, 6] T[4, 2, 2, 3] T[2, 24, 3, 3] T[2, 12, 3, 3]"},
    {"nn.deformable_conv", "strides=[2] padding=[1, 1] dilation=[1]",
     "T[1, 3, 7] T[2, 3, 3] T[1, 3, 4] T[1, 3, 4]"},
    {"nn.deformable_conv", "strides=[1, 1, 1] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1]",
     "T[1, 1, 3, 3, 2] T[1, 1, 2, 2, 2] T[1, 24, 2, 2, 1]"},
    {"nn.deformable_conv", "data_layout=\"NHWC\" strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
     "T[1, 4, 5, 2] T[3, 2, 2, 2] T[1, 3, 4, 8]"},
    {"nn.deformable_conv",
     "data_layout=\"NHWC\" strides=[2, 1] padding=[1, 0, 1, 1] dilation=[1, 2] groups=2 deformable_groups=2",
     "float32[2, 5, 6, 4] float32[4, 2, 2, 3] float32[2, 3, 3, 24] float32[2, 3, 3, 12]"},
    {NULL},
};
