/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define SWAPPED "query_axes=[0, 2, 1, 3] key_axes=[0, 2, 1, 3] value_axes=[0, 2, 1, 3] out_axes=[0, 2, 1, 3]"

const op_case op_cases_attention[] = {
    {"nn.attention", "scale=0.5", "T[2, 3, 5, 4] T[2, 3, 7, 4] T[2, 3, 7, 6]", .tolerance = 1e-5},
    {"nn.attention", NULL, "T[5, 4] T[7, 4] T[7, 4]", .tolerance = 1e-5},
    {"nn.attention", "scale=0.3", "T[2, 37, 9] T[2, 131, 9] T[2, 131, 5] T[2, 1, 131]", .tolerance = 1e-5},
    {"nn.attention", "scale=0.3", "T[2, 34, 3] T[2, 64, 3] T[2, 64, 17] T[34, 64]", .tolerance = 1e-5},
    {"nn.attention", NULL, "T[2, 33, 8] T[2, 66, 8] T[2, 66, 8] bool[2, 33, 66]", .tolerance = 1e-5},
    {"nn.attention", "fill=-3.0", "T[17, 8] T[19, 8] T[19, 8] bool[19]", .tolerance = 1e-5},
    {"nn.attention", "empty_is_zero=1", "T[40, 2] T[2, 2] T[2, 3] bool[40, 2]", .tolerance = 1e-5},
    {"nn.attention", NULL, "T[40, 2] T[2, 2] T[2, 3] bool[40, 2]", .tolerance = 1e-5},
    {"nn.attention", SWAPPED, "T[2, 18, 3, 4] T[2, 21, 3, 4] T[2, 21, 3, 6] T[2, 1, 1, 21]",
     .tolerance = 1e-5},
    {"nn.attention", "key_axes=[0, 2, 1]", "T[1, 20, 4] T[3, 4, 9] T[1, 9, 4]", .tolerance = 1e-5},
    {"nn.attention", NULL, "T[2, 2, 3, 5, 4] T[2, 2, 1, 7, 4] T[2, 1, 7, 4] T[2, 2, 3, 5, 7]",
     .tolerance = 1e-5},
    {"nn.attention", NULL, "T[33, 4] T[18, 4] T[18, 2]", .lo = -300, .hi = 300, .tolerance = 1e-5,
     .types = GPUC_T_FLOAT32 | GPUC_T_FLOAT64},
    {"nn.attention", NULL, "T[4, 1] T[1, 1] T[1, 1] T[]", .tolerance = 1e-5},
    {"nn.attention", NULL, "T[3, 0] T[5, 0] T[5, 2]", .tolerance = 1e-5},
    {"nn.attention", NULL, "T[3, 4] T[0, 4] T[0, 2]"},
    {"nn.attention", NULL, "T[0, 4] T[6, 4] T[6, 2]"},
    {"nn.attention", NULL, "T[0, 3, 4] T[0, 6, 4] T[0, 6, 2]"},
    {"nn.attention", NULL, "T[3, 4] T[6, 4] T[6, 0]"},
    {"nn.attention", NULL, "T[a, 6] T[b, 6] T[b, 3] T[a, b]", .tolerance = 1e-5},
    {"nn.rotary_embedding", NULL, "T[2, 3, 5, 8] T[2, 5, 4] T[2, 5, 4]"},
    {"nn.rotary_embedding", "interleaved=1", "T[2, 3, 5, 8] T[2, 5, 4] T[2, 5, 4]"},
    {"nn.rotary_embedding", "interleaved=1", "T[2, 1, 3, 7] T[1, 3, 2] T[1, 3, 2]"},
    {"nn.rotary_embedding", NULL, "T[1, 2, 3, 9] T[1, 3, 3] T[1, 3, 3]"},
    {NULL},
};
