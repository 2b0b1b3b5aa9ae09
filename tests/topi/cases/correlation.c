/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_correlation[] = {
    {"nn.correlation", NULL, "T[1, a, 5, 7] T[1, a, 5, 7]"},
    {"nn.correlation", "kernel_size=3 max_displacement=2 stride1=2 stride2=2 padding=[2, 1, 3, 2]",
     "T[2, 3, 6, 7] T[2, 3, 6, 7]"},
    {"nn.correlation", "kernel_size=1 max_displacement=3 stride2=2 padding=[3, 3, 3, 3] is_multiply=0",
     "T[1, 2, 4, 5] T[1, 2, 4, 5]"},
    {"nn.correlation", "max_displacement=0 kernel_size=3", "T[1, 2, 3, 4] T[1, 2, 3, 4]"},
    {"nn.correlation", NULL, "T[0, 2, 3, 3] T[0, 2, 3, 3]"},
    {"nn.correlation", NULL, "T[1, 2, 2, 4] T[1, 2, 2, 4]"},
    {NULL},
};
