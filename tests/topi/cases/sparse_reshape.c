/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

/* Shapes of random numbers, which do not fit; those that do stand in tests/names. */
const op_case op_cases_sparse_reshape[] = {
    {"sparse_reshape", NULL, "T[a, 3] T[3] T[2]", 1, 5},
    {"sparse_reshape", NULL, "int64[7, 2] int32[2] int64[4]", 1, 9},
    {"sparse_reshape", NULL, "int32[5, 1] int64[1] int32[1]", 1, 9},
    {"sparse_reshape", NULL, "T[0, 2] T[2] T[3]", 1, 5},
    {"sparse_reshape", NULL, "T[4, 2] T[2] T[0]", 1, 5},
    {NULL},
};
