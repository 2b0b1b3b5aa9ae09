/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_conv_gradient[] = {
    {"nn.conv2d_backward_weight", NULL, "T[2, 4, 3, 5] T[2, 3, 5, 6]"},
    {"nn.conv2d_backward_weight",
     "strides=[2, 3] padding=[1, 0, 2, 1] dilation=[2, 1] groups=2 kernel_size=[2, 3]",
     "T[3, 4, 4, 3] T[3, 6, 7, 8]"},
    {"nn.conv2d_backward_weight", "groups=3 padding=[1, 1, 1, 1] channels=6", "T[a, 6, 5, 4] T[a, 3, 5, 4]"},
    {"nn.conv2d_backward_weight", "strides=[2]", "T[2, 3, 4] T[2, 2, 9]"},
    {"nn.conv2d_backward_weight", "padding=[1, 0, 1, 1, 0, 1]", "T[1, 2, 3, 2, 4] T[1, 3, 4, 3, 3]"},
    {"nn.conv2d_backward_weight", NULL, "T[0, 2, 3, 3] T[0, 2, 4, 4]"},
    {NULL},
};
