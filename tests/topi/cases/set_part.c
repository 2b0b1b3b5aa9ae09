/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_set_part[] = {
    {"strided_set", "begin=[1, 0] strides=[2, 1]", "T[7, 3] T[3, 3]"},
    {"strided_set", "begin=[6, -1, 0] strides=[-2, -1, 3]", "T[7, 2, 5] T[4, 2, 2]"},
    {"strided_set", "begin=[2]", "T[5, a] T[3, a]"},
    {"strided_set", NULL, "T[a, b] T[a, b]"},
    {"strided_set", NULL, "T[] T[]"},
    {"strided_set", "begin=[4]", "T[5] T[0]"},
    {"nn.fifo_buffer", NULL, "T[2, a] T[5, a]"},
    {"nn.fifo_buffer", "axis=1", "T[3, 7, 2] T[3, 4, 2]"},
    {"nn.fifo_buffer", "axis=-1", "T[3, 0] T[3, 4]"},
    {NULL},
};
