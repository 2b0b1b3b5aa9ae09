/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_arg_reduce[] = {
    {"argmax", "axis=[1] dtype=int64", "T[a, 5, b]"},
    {"argmax", "axis=[0, -1] keepdims=1", "T[3, a, 2]"},
    {"argmax", NULL, "T[a, b]"},
    {"argmax", NULL, "T[]"},
    {"argmax", "axis=[0] select_last_index=1 dtype=int64", "T[33, 3]"},
    {"argmax", "axis=[1]", "T[2, 300]"},
    {"argmax", "axis=[1] select_last_index=1", "T[2, 300]"},
    {"argmax", "axis=[2]", "T[2, 0, 3]"},
    {"argmax", "axis=[1]", "T[5, 7]", .types = GPUC_T_FLOATS, .specials = true},
    {"argmax", "axis=[0] select_last_index=1", "T[70]", .types = GPUC_T_FLOATS, .specials = true},
    {"argmin", "axis=[1] dtype=int64", "T[a, 5, b]"},
    {"argmin", "axis=[0, -1] keepdims=1", "T[3, a, 2]"},
    {"argmin", NULL, "T[a, b]"},
    {"argmin", NULL, "T[]"},
    {"argmin", "axis=[0] select_last_index=1 dtype=int64", "T[33, 3]"},
    {"argmin", "axis=[1]", "T[2, 300]"},
    {"argmin", "axis=[1] select_last_index=1", "T[2, 300]"},
    {"argmin", "axis=[2]", "T[2, 0, 3]"},
    {"argmin", "axis=[1]", "T[5, 7]", .types = GPUC_T_FLOATS, .specials = true},
    {"argmin", "axis=[0] select_last_index=1", "T[70]", .types = GPUC_T_FLOATS, .specials = true},
    {NULL},
};
