/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_binary[] = {
    {"nn.binarize_pack", NULL, "T[3, 64]", -4, 4},
    {"nn.binarize_pack", "axis=1", "T[2, 32, 3]", -4, 4},
    {"nn.binary_dense", NULL, "uint32[3, 2] uint32[5, 2]", 0, 2000000000},
    {"nn.binary_dense", NULL, "uint32[1, 1] uint32[1, 1]", 0, 2000000000},
    {NULL},
};
