/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_compact[] = {
    {"argwhere", NULL, "T[3, a]", 0, 1},
    {"argwhere", NULL, "float32[]"},
    {"argwhere", NULL, "bool[2, 0]"},
    {"argwhere", NULL, "T[2, 131]", 0, 2},
    {"argwhere", NULL, "T[2, 9]", .types = GPUC_T_FLOATS, .specials = true},
    {"compress", "axis=1", "T[a, 5] bool[5]"},
    {"compress", "axis=-2", "T[4, 3] bool[2]"},
    {"compress", NULL, "T[3] bool[9]"},
    {"compress", NULL, "float32[3] bool[0]"},
    {NULL},
};
