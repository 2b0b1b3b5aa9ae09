/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_like[] = {
    {"zeros", "shape=[2, 3] dtype=T", ""},
    {"zeros", "shape=[] dtype=T", ""},
    {"ones", "shape=[5, 1, 3] dtype=T", ""},
    {"ones", "shape=[0, 4] dtype=T", ""},
    {"full", "shape=[3, 7] dtype=T", "T[]"},
    {"full", "shape=[] dtype=float32", "T[]"},
    {"zeros_like", NULL, "T[a, b]"},
    {"ones_like", NULL, "T[a, b, c]"},
    {"ones_like", NULL, "T[]"},
    {"full_like", NULL, "T[a, b] T[]"},
    {"expand_like", "axis=[1, 2]", "T[3] float32[3, 3, 2]"},
    {"expand_like", "axis=[1] exclude=1", "T[b] float32[a, b, c]"},
    {"expand_like", "axis=[0, -1]", "T[1, 3] int8[2, 5, 3, 4]"},
    {"expand_like", NULL, "T[] float32[2, 3]"},
    {"slice_like", NULL, "T[5, 7] float32[3, 7]"},
    {"slice_like", "axis=[-1]", "T[5, 7, 4] int32[9, 9, 3]"},
    {"slice_like", "axis=[0, 1]", "T[5, 7, 4] int32[2, 0]"},
    {"collapse_sum_like", NULL, "T[4, 3, 5] T[3, 1]", 0, 3},
    {"collapse_sum_like", NULL, "T[2, 3] T[2, 3]", 0, 3},
    {"collapse_sum_like", NULL, "T[2, 3, 7] T[]", 0, 3},
    {"collapse_sum_like", NULL, "T[2, 0, 7] T[1, 7]", 0, 3},
    {"collapse_sum_like", NULL, "T[a, b, 4] T[1, 1, 4]", 0, 2},
    {NULL},
};
