/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_normalize[] = {
    {"nn.softmax", NULL, "float32[3, 7]", -9, 9},
    {"nn.softmax", "axis=1", "float32[2, 5, 3]"},
    {"nn.softmax", "axis=0", "float16[4, 2]"},
    {"nn.softmax", NULL, "float32[1]"},
    {"nn.log_softmax", "axis=-1", "float32[3, 7]", -9, 9},
    {"nn.log_softmax", "axis=1", "float64[2, 5, 3]"},
    {"nn.lrn", "size=5 alpha=0.1 beta=0.6 bias=1.5", "float32[2, 7, 3, 2]"},
    {"nn.lrn", "size=4 axis=2 alpha=0.5", "float32[2, 3, 6]"},
    {"nn.lrn", "size=1", "float16[1, 3, 2]"},
    {"nn.lrn", "size=9 alpha=1.0", "float32[1, 3, 2]"},
    {NULL},
};
