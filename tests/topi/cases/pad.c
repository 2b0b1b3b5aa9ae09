/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_pad[] = {
    {"nn.pad", "pad_before=[0, 1, 2] pad_after=[0, 3, 0] value=1.5", "T[2, 3, 4]", 0, 0, GPUC_T_FLOATS},
    {"nn.pad", "pad_before=[0, 1, 2] pad_after=[0, 3, 0] value=1.0", "T[2, 3, 4]"},
    {"nn.pad", "pad_before=[1, 0] pad_after=[2, 3]", "T[3, 4] T[]"},
    {"nn.pad", "pad_before=[-1, 2] pad_after=[1, -3]", "T[3, 5]"},
    {"nn.pad", "pad_before=[-4, 0] pad_after=[6, 0]", "T[3, 5]"},
    {"nn.pad", "pad_before=[2, 7] pad_after=[1, 9] mode=\"reflect\"", "T[3, 4]"},
    {"nn.pad", "pad_before=[2] pad_after=[3] mode=\"reflect\"", "T[1]"},
    {"nn.pad", "pad_before=[2, 0] pad_after=[1, 3] mode=\"edge\"", "T[3, 4]"},
    {"nn.pad", "pad_before=[2, 5] pad_after=[4, 3] mode=\"wrap\"", "T[3, 4]"},
    {"nn.pad", "pad_before=[-1] pad_after=[2] mode=\"edge\"", "T[4]"},
    {NULL},
};
