/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_sort[] = {
    {"sort", NULL, "T[3, 7]"},
    {"sort", "axis=0 is_ascend=0", "T[5, a]"},
    {"argsort", "dtype=int32 axis=1", "T[2, 31, 2]", 0, 5},
    {"topk", "dtype=int64 k=3", "T[a, 5]"},
    {"sort", "axis=0 is_ascend=0", "int16[9, 2]", -3, 3},
    {"sort", NULL, "bfloat16[300]"},
    {"sort", NULL, "float32[]"},
    {"sort", NULL, "bool[5]"},
    {"argsort", "dtype=int32 axis=1", "uint64[2, 131, 2]", 0, 5},
    {"argsort", "dtype=int64", "int32[0]"},
    {"topk", "dtype=int64 k=3", "float32[2, 5]"},
    {"topk", "dtype=int32 k=4 axis=0 largest=0", "int8[270, 2]", -4, 4},
    {"topk", "dtype=int64 k=1", "float64[1]"},
    {"topk", "dtype=int64 k=3 ret_type=\"values\"", "T[a, 5]"},
    {"topk", "dtype=int64 k=2 largest=0 axis=0 ret_type=\"indices\"", "T[4, a]"},
    {"invert_permutation", NULL, "T[a]", 0, 9},
    {"invert_permutation", NULL, "T[131]", 0, 200},
    {"invert_permutation", NULL, "T[0]"},
    {NULL},
};
