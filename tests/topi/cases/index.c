/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_index[] = {
    {"take", "axis=1", "float32[3, 5, 2] int64[2, 3]", -7, 7},
    {"take", "axis=0", "float32[4] int32[]", -4, 3},
    {"take", "axis=-1", "int64[6] int64[4]", -6, 5},
    {"take", "axis=0", "float32[4, 2] int64[0]"},
    {"arange", "length=8", "float32[] float32[] float32[]"},
    {NULL},
};
