/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_space[] = {
    {"nn.space_to_depth", "block_size=2", "T[2, 3, 4, 6]"},
    {"nn.space_to_depth", "block_size=3 layout=\"NHWC\"", "T[1, 6, 9, 5]"},
    {"nn.space_to_depth", "block_size=1", "T[a, b, c, d]"},
    {"nn.depth_to_space", "block_size=2", "T[2, 12, 3, 5]"},
    {"nn.depth_to_space", "block_size=2 mode=\"CRD\"", "T[1, 8, 3, 2]"},
    {"nn.depth_to_space", "block_size=3 mode=\"CRD\" layout=\"NHWC\"", "T[2, 1, 3, 18]"},
    {"layout_transform", "src_layout=\"NCHW\" dst_layout=\"NHWC\"", "T[a, b, c, d]"},
    {"layout_transform", "src_layout=\"NCHW\" dst_layout=\"NCHW4c\"", "T[2, 8, 3, 5]"},
    {"layout_transform", "src_layout=\"NCHW\" dst_layout=\"NCHW4c\"", "T[1, 7, 3, 2]"},
    {"layout_transform", "src_layout=\"NCHW4c\" dst_layout=\"NCHW8c\"", "T[2, 3, 2, 3, 4]"},
    {"layout_transform", "src_layout=\"NCHW8c\" dst_layout=\"NHWC\"", "T[1, 2, 2, 3, 8]"},
    {"layout_transform", "src_layout=\"OIHW\" dst_layout=\"OIHW2i3o\"", "T[6, 4, 1, 3]"},
    {NULL},
};
