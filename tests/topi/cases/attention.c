/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_attention[] = {
    {"nn.rotary_embedding", NULL, "T[2, 3, 5, 8] T[2, 5, 4] T[2, 5, 4]"},
    {"nn.rotary_embedding", "interleaved=1", "T[2, 3, 5, 8] T[2, 5, 4] T[2, 5, 4]"},
    {"nn.rotary_embedding", "interleaved=1", "T[2, 1, 3, 7] T[1, 3, 2] T[1, 3, 2]"},
    {"nn.rotary_embedding", NULL, "T[1, 2, 3, 9] T[1, 3, 3] T[1, 3, 3]"},
    {NULL},
};
