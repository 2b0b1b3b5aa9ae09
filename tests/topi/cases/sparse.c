/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

/* Most rows of random numbers are empty, or have many elements. */
const op_case op_cases_sparse[] = {
    {"nn.sparse_dense", NULL, "T[3, 7] T[9] int32[9] int32[6]", 0, 9},
    {"nn.sparse_dense", "sparse_lhs=1", "T[3, 7] T[9] int64[9] int64[6]", 0, 9},
    {"nn.sparse_dense", NULL, "T[5, 12] T[6, 2, 3] int32[6] int32[5]", 0, 6},
    {"nn.sparse_dense", "sparse_lhs=1", "T[5, 12] T[6, 4, 1] int32[6] int64[5]", -3, 6},
    {"nn.sparse_dense", NULL, "T[a, b] T[40] int32[40] int32[c]", 0, 40},
    {"nn.sparse_dense", NULL, "T[3, 4] T[0] int32[0] int32[3]"},
    {"nn.sparse_dense", NULL, "T[0, 4] T[2] int32[2] int32[1]"},
    {"nn.sparse_dense", NULL, "T[3, 0] T[9] int32[9] int32[6]", 0, 9},
    {"nn.sparse_dense", "sparse_lhs=1", "T[3, 0] T[6, 2, 3] int32[6] int64[5]", 0, 6},
    {"nn.sparse_dense", NULL, "T[5, 12] T[6, 0, 3] int32[6] int32[5]", 0, 6},
    {"nn.sparse_dense", NULL, "T[5, 12] T[6, 2, 0] int64[6] int32[5]", 0, 6},
    {"nn.sparse_conv2d", NULL, "T[2, 3, 5, 4] T[9] int32[9] int32[6]", 0, 9},
    {"nn.sparse_conv2d", "layout=\"NCHW\"", "T[2, 5, 3, a] T[4, 2, 3] int64[4] int32[4]", -1, 5},
    {"nn.sparse_conv2d", "kernel_size=[3, 3]", "T[1, 3, 4, 3] T[9] int32[9] int64[4]", 0, 27},
    {"nn.sparse_conv2d", "layout=\"NCHW\" kernel_size=[1, 3]", "T[1, 2, 3, 4] T[7, 2, 1] int32[7] int64[4]",
     0, 7},
    {"nn.sparse_conv2d", "kernel_size=[3, 3]", "T[1, 3, 4, 0] T[9] int32[9] int64[4]", 0, 9},
    {"nn.sparse_conv2d", NULL, "T[0, 3, 4, 2] T[0] int32[0] int64[3]"},
    {"nn.sparse_add", NULL, "T[5, 7] T[9] int32[9] int32[6]", 0, 9, .types = GPUC_T_FLOAT32 | GPUC_T_FLOAT64},
    {"nn.sparse_add", NULL, "T[5, 7] T[9] int32[9] int64[6]", -1, 9, .tolerance = 0.02},
    {"nn.sparse_add", NULL, "T[3, 0] T[2] int64[2] int32[4]", 0, 2},
    {"nn.sparse_add", NULL, "T[0, 3] T[2] int32[2] int32[1]", 0, 2},
    {"nn.sparse_transpose", NULL, "T[9] int32[9] int32[6]", 0, 9},
    {"nn.sparse_transpose", NULL, "T[40] int64[40] int64[7]", 0, 40},
    {"nn.sparse_transpose", NULL, "T[0] int32[0] int32[4]"},
    {"nn.sparse_transpose", NULL, "T[9] int32[9] int64[1]", 0, 9},
    {"nn.sparse_transpose", NULL, "T[7] int64[7] int32[30]", -2, 9},
    {NULL},
};
