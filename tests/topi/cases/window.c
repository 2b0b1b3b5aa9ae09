/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_window[] = {
    {"nn.space_to_batch_nd", "block_shape=[2, 3] pad_before=[1, 0] pad_after=[0, 1] pad_value=1.0",
     "T[2, 5, 5, 3]", 0, 3},
    {"nn.space_to_batch_nd", "block_shape=[3] pad_before=[0] pad_after=[0]", "T[1, 6]"},
    {"nn.space_to_batch_nd", "block_shape=[1, 2] pad_before=[2, 1] pad_after=[1, 0]", "float32[0, 2, 3]"},
    {"nn.batch_to_space_nd", "block_shape=[2, 3] crop_begin=[1, 0] crop_end=[0, 2]", "T[12, 3, 2, 5]"},
    {"nn.batch_to_space_nd", "block_shape=[2] crop_begin=[0] crop_end=[0]", "T[4, 3]"},
    {"nn.dilate", "strides=[1, 2, 3] dilation_value=1.0", "T[2, 3, 4]", 0, 3},
    {"nn.dilate", "strides=[1, 1]", "T[2, 3]"},
    {"nn.dilate", "strides=[4]", "float32[0]"},
    {"nn.dilate", "strides=[]", "float32[]"},
    {"nn.col2im", "image_shape=[5, 5] block_shape=[1, 5] strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
     "T[1, 5, 5]", 0, 3},
    {"nn.col2im", "image_shape=[5, 6] block_shape=[2, 3] strides=[2, 1] padding=[1, 0, 1, 2] dilation=[1, 2]",
     "T[2, 12, 12]", 0, 2},
    {"nn.col2im", "image_shape=[7] block_shape=[3] strides=[2] padding=[1, 1] dilation=[1]", "T[2, 6, 4]", 0,
     3},
    {"nn.col2im",
     "image_shape=[3, 3, 4] block_shape=[2, 2, 1] strides=[1, 1, 2] padding=[0, 0, 0, 0, 0, 0] dilation=[1, "
     "1, 1]",
     "T[1, 8, 8]", 0, 3},
    {NULL},
};
