/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_pool_adaptive[] = {
    {"nn.adaptive_max_pool1d", "output_size=[4]", "T[2, 3, 11]"},
    {"nn.adaptive_max_pool1d", "output_size=[7]", "T[1, 2, 3]"},
    {"nn.adaptive_max_pool2d", "output_size=[3, 5]", "T[2, 2, 7, 10]"},
    {"nn.adaptive_max_pool2d", "output_size=[1, 4]", "T[1, 3, 6, 13]"},
    {"nn.adaptive_max_pool3d", "output_size=[2, 1, 3]", "T[1, 2, 5, 4, 3]"},
    {"nn.global_max_pool1d", NULL, "T[2, 3, 11]"},
    {"nn.global_max_pool2d", NULL, "T[2, 3, 5, 7]"},
    {"nn.global_max_pool3d", NULL, "T[1, 2, 3, 4, 5]"},
    {"nn.adaptive_avg_pool1d", "output_size=[4]", "T[2, 3, 11]"},
    {"nn.adaptive_avg_pool1d", "output_size=[7]", "T[1, 2, 3]"},
    {"nn.adaptive_avg_pool2d", "output_size=[3, 5]", "T[2, 2, 7, 10]"},
    {"nn.adaptive_avg_pool2d", "output_size=[1, 4]", "T[1, 3, 6, 13]"},
    {"nn.adaptive_avg_pool3d", "output_size=[2, 1, 3]", "T[1, 2, 5, 4, 3]"},
    {"nn.global_avg_pool1d", NULL, "T[2, 3, 11]"},
    {"nn.global_avg_pool2d", NULL, "T[2, 3, 5, 7]"},
    {"nn.global_avg_pool3d", NULL, "T[1, 2, 3, 4, 5]"},
    {NULL},
};
