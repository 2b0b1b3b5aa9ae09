/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_linalg[] = {
    {"det", NULL, "T[a, 3, 3]", 0, 0, .tolerance = 1e-4},
    {"det", NULL, "float32[2, 3, 5, 5]", 0, 0, .tolerance = 1e-4},
    {"det", NULL, "float32[4, 4]", 0, 0, .tolerance = 1e-4},
    {"det", NULL, "float32[3, 1, 1]", 0, 0},
    {"det", NULL, "float32[2, 0, 0]", 0, 0},
    {"det", NULL, "float32[0, 2, 2]", 0, 0},
    {NULL},
};
