/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_draw[] = {
    {"random.uniform", "out_shape=[3, 5] out_dtype=T", "uint64[10] T[] T[]"},
    {"random.uniform", "out_shape=[] out_dtype=T", "uint64[10] T[] T[]"},
    {"random.uniform", "out_shape=[0] out_dtype=T", "uint64[10] T[] T[]"},
    {"random.uniform", "out_shape=[7, 19] out_dtype=T", "uint64[10] T[] T[]"},
    {"random.uniform", "out_shape=[2, 1, 3, 1, 5, 1] out_dtype=T", "uint64[10] T[] T[]"},
    {"random.normal", "out_shape=[] out_dtype=T", "uint64[10] T[] T[]", .tolerance = 1e-5},
    {"random.normal", "out_shape=[3, 0] out_dtype=T", "uint64[10] T[] T[]", .tolerance = 1e-5},
    {"random.normal", "out_shape=[1, 2, 1, 3, 1, 1] out_dtype=T", "uint64[10] T[] T[]", .tolerance = 1e-5},
    {"random.normal", "out_shape=[4, 9] out_dtype=T", "uint64[10] T[] T[]", .tolerance = 1e-5},
    {"random.normal", "out_shape=[1001] out_dtype=T", "uint64[10] T[] T[]", .tolerance = 1e-5},
    {"random.multinomial", "num_samples=9", "uint64[10] T[5]"},
    {"random.multinomial", "num_samples=17", "uint64[10] T[2, 3, 6]", .lo = 0, .hi = 1},
    {"random.multinomial", NULL, "uint64[10] T[4, 1]"},
    {"random.multinomial", "num_samples=3", "uint64[10] T[2, 0, 5]"},
    {"random.multinomial", "num_samples=0", "uint64[10] T[4]"},
    {"random.multinomial", "num_samples=4", "uint64[10] T[2, 0, 3]"},
    {"random.multinomial", "num_samples=5", "uint64[10] T[1, 2, 1, 3, 7]", .lo = -1, .hi = 1},
    {NULL},
};
