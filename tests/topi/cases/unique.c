/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_unique[] = {
    {"unique", NULL, "T[9]", 0, 3},
    {"unique", "sorted=0", "T[9]", 0, 3},
    {"unique", "axis=0", "float32[5, 2]"},
    {"unique", "axis=1", "T[2, 9, 2]", 0, 1},
    {"unique", "axis=-1 sorted=0", "T[2, 11]", 0, 1},
    {"unique", NULL, "T[1]"},
    {"unique", NULL, "T[31]", .types = GPUC_T_FLOATS, .specials = true},
    {"unique", "sorted=0", "int32[0]"},
    {"unique", "axis=1", "int32[0, 3]"},
    {NULL},
};
