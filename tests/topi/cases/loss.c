/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_loss[] = {
    {"nn.nll_loss", "reduction=\"none\"", "T[3, 5] int64[3]", 0, 4},
    {"nn.nll_loss", "reduction=\"mean\" ignore_index=2", "T[3, 5, 4, 2] int32[3, 4, 2] T[5]", 0, 4},
    {"nn.nll_loss", "reduction=\"sum\" ignore_index=-1", "T[2, 3, 7] int64[2, 7] T[3]", -1, 2},
    {"nn.nll_loss", NULL, "T[4, 3, 2] int64[4, 2]", -2, 9},
    {"nn.nll_loss", "reduction=\"none\"", "T[2, 3, 2, 1, 2] int32[2, 2, 1, 2] T[3]", 0, 3},
    {NULL},
};
