/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_matmul[] = {
    {"nn.dense", NULL, "T[3, a] T[4, a]"},
    {"nn.matmul", NULL, "T[b, a] T[a, 4]"},
    {"nn.dense", NULL, "float32[3, 5] float32[4, 5]"},
    {"nn.dense", NULL, "float32[1, 1] float32[1, 1]"},
    {"nn.dense", NULL, "float16[7, 33] float16[5, 33]"},
    {"nn.dense", NULL, "int32[3, 5] int32[2, 5]"},
    {"nn.dense", NULL, "float32[2, 0] float32[3, 0]"},
    {"nn.matmul", NULL, "float32[3, 5] float32[5, 4]"},
    {"nn.matmul", "transpose_a=1", "float32[5, 3] float32[5, 4]"},
    {"nn.matmul", "transpose_b=1", "float32[3, 5] float32[4, 5]"},
    {"nn.matmul", "transpose_a=1 transpose_b=1", "float32[2, 5, 3] float32[4, 5]"},
    {"nn.matmul", NULL, "float32[2, 1, 3, 4] float32[5, 4, 2]"},
    {"nn.matmul", NULL, "float32[5] float32[5]"},
    {"nn.matmul", NULL, "float32[5] float32[2, 5, 3]"},
    {"nn.matmul", NULL, "float32[2, 3, 5] float32[5]"},
    {"nn.matmul", NULL, "float16[3, 40] float16[40, 2]"},
    {"nn.dense", "out_dtype=int32", "int8[3, 40] int16[4, 40]", -100, 100},
    {"nn.matmul", "out_dtype=int32", "uint8[2, 3, 50] int8[50, 4]", 0, 100},
    {"nn.matmul", "out_dtype=float32", "float16[3, 50] float16[50, 4]"},
    {NULL},
};
