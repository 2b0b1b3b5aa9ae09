/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_gather[] = {
    {"take", "axis=1 mode=\"negative\"", "T[3, 5, 2] int64[2, 3]", -7, 7},
    {"take", "axis=0 mode=\"negative\"", "T[4] int32[]", -4, 3},
    {"take", "axis=0 mode=\"negative\"", "T[40, 256] int32[300]", -41, 41},
    {"take", "axis=-1 mode=\"negative\"", "T[6] int64[4]", -6, 5},
    {"take", "axis=0", "T[4, 2] int64[0]"},
    {"take", "axis=1 mode=\"clip\"", "T[a, 5, 2] int64[2, b]", -7, 7},
    {"take", "axis=0 mode=\"wrap\"", "T[4] int32[9]", -9, 9},
    {"take", "axis=-1 mode=\"fast\"", "T[a, 6] uint8[4]", 0, 9},
    {"gather", "axis=1", "T[3, 5] int64[2, 9]", -6, 6},
    {"gather", "axis=-3", "T[4, 2, 3] int32[1, 2, 2]", -4, 3},
    {"gather", NULL, "T[4] int32[0]"},
    {"gather_nd", NULL, "T[3, 4, 5] int64[2, 2]", -3, 2},
    {"gather_nd", NULL, "T[3, 4] int32[5, 1, 2]", -9, 9},
    {"gather_nd", "batch_dims=1", "T[2, 4, a] int64[2, 3, 1]", -4, 3},
    {"gather_nd", "batch_dims=2", "T[2, 3, 4] int64[2, 3, 1]", 0, 3},
    {"gather_nd", NULL, "T[4] int64[0, 1]"},
    {"adv_index", NULL, "T[5, 4, a] int64[2, 3]", -5, 4},
    {"adv_index", NULL, "T[5, 4, 3] int64[2, 1] int32[3]", -4, 3},
    {"adv_index", NULL, "T[3, 3] int64[] int64[]", -3, 2},
    {"one_hot", "depth=4", "int64[3, 2] T[] T[]", -4, 5},
    {"one_hot", "depth=3 axis=0", "uint8[5] T[] T[]", 0, 4},
    {"one_hot", "depth=2 axis=1", "int32[2, a] T[] T[]", 0, 1},
    {"one_hot", "depth=0", "int32[2] float16[] float16[]", 0, 1},
    {NULL},
};
