/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_pool_index[] = {
    {"nn.max_pool_with_argmax", "pool_size=[3] strides=[2] padding=[1, 1] dilation=[1]", "T[2, 3, 11]"},
    {"nn.max_pool_with_argmax", "pool_size=[3, 2] strides=[2, 2] padding=[1, 0, 1, 1] dilation=[1, 1]",
     "T[2, 2, 7, 10]"},
    {"nn.max_pool_with_argmax",
     "pool_size=[3, 3] strides=[2, 3] padding=[0, 1, 0, 1] dilation=[1, 2] ceil_mode=1 storage_order=1",
     "T[1, 2, 7, 10]"},
    {"nn.max_pool_with_argmax",
     "pool_size=[2, 2, 2] strides=[2, 1, 2] padding=[0, 0, 0, 1, 1, 1] dilation=[1, 1, 1] storage_order=1",
     "T[1, 2, 3, 4, 5]"},
    {"nn.max_pool_with_argmax", "pool_size=[1, 1] strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
     "float32[0, 2, 1, 1]"},
    {"nn.max_pool_grad", "pool_size=[3] strides=[2] padding=[1, 1] dilation=[1]", "T[2, 3, 6] T[2, 3, 11]"},
    {"nn.max_pool_grad", "pool_size=[3, 2] strides=[2, 2] padding=[1, 0, 1, 1] dilation=[1, 1]",
     "T[2, 2, 4, 5] T[2, 2, 7, 10]"},
    {"nn.max_pool_grad", "pool_size=[2, 2] strides=[1, 1] padding=[0, 0, 0, 0] dilation=[2, 1] ceil_mode=1",
     "T[1, 1, 3, 3] T[1, 1, 5, 4]"},
    {"nn.avg_pool_grad", "pool_size=[3] strides=[2] padding=[1, 1] dilation=[1]", "T[2, 3, 6] T[2, 3, 11]"},
    {"nn.avg_pool_grad",
     "pool_size=[3, 2] strides=[2, 2] padding=[1, 0, 1, 1] dilation=[1, 1] count_include_pad=1",
     "T[2, 2, 4, 5] T[2, 2, 7, 10]"},
    {"nn.avg_pool_grad",
     "pool_size=[2, 1, 2] strides=[2, 1, 2] padding=[0, 0, 0, 1, 0, 1] dilation=[1, 1, 1]",
     "T[1, 2, 2, 4, 3] T[1, 2, 3, 4, 5]"},
    {NULL},
};
