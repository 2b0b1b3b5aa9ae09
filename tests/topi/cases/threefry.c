/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

/* Counters that end. */
#define NEAR_END 18446744073709547520.0, 18446744073709549568.0

const op_case op_cases_threefry[] = {
    {"random.threefry_generate", "out_shape=[3, 4]", "uint64[10]"},
    {"random.threefry_generate", "out_shape=[7]", "uint64[10]"},
    {"random.threefry_generate", "out_shape=[]", "uint64[10]"},
    {"random.threefry_generate", "out_shape=[2, 0]", "uint64[10]"},
    {"random.threefry_generate", "out_shape=[1]", "uint64[10]"},
    {"random.threefry_generate", "out_shape=[1, 3, 1, 2, 1, 1]", "uint64[10]", NEAR_END},
    {"random.threefry_generate", "out_shape=[5, 7, 31]", "uint64[10]", 0, 4e9},
    {"random.threefry_generate", "out_shape=[5000]", "uint64[10]", NEAR_END},
    {"random.threefry_split", NULL, "uint64[10]", 1, 9},
    {"random.threefry_split", NULL, "uint64[10]", 0, 1},
    {"random.threefry_split", NULL, "uint64[10]", NEAR_END},
    {NULL},
};
