/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_loss[] = {
    {"nn.nll_loss", "reduction=\"none\"", "T[3, 5] int64[3]", 0, 4},
    {"nn.nll_loss", "reduction=\"mean\" ignore_index=2", "T[3, 5, 4, 2] int32[3, 4, 2] T[5]", 0, 4},
    {"nn.nll_loss", "reduction=\"sum\" ignore_index=-1", "T[2, 3, 7] int64[2, 7] T[3]", -1, 2},
    {"nn.nll_loss", NULL, "T[4, 3, 2] int64[4, 2]", -2, 9},
    {"nn.nll_loss", "reduction=\"none\"", "T[2, 3, 2, 1, 2] int32[2, 2, 1, 2] T[3]", 0, 3},
    {"nn.cross_entropy", NULL, "T[3, 7] T[3, 7]", 0.1, 1},
    {"nn.cross_entropy", NULL, "T[1, 1] T[1, 1]", 0.1, 1},
    {"nn.cross_entropy", NULL, "T[5, 0] T[5, 0]", 0.1, 1},
    {"nn.cross_entropy_with_logits", NULL, "T[33, 5] T[33, 5]", -1, 1},
    {"nn.cross_entropy_with_logits", NULL, "T[a, b] T[a, b]", -1, 1},
    {NULL},
};
