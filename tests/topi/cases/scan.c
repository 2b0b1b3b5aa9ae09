/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_scan[] = {
    {"cumsum", "axis=1", "T[a, 5]", -2, 2},
    {"cumprod", "axis=0 exclusive=1", "T[4, a]", 1, 2},
    {"cumsum", "axis=1", "float32[2, 5]"},
    {"cumsum", "axis=0 exclusive=1 reverse=1", "int64[130, 2]"},
    {"cumsum", NULL, "bfloat16[7]"},
    {"cumprod", "reverse=1", "float32[9]"},
    {"cumprod", "axis=-1 exclusive=1", "uint32[2, 4]", 1, 3},
    {NULL},
};
