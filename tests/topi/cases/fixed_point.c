/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_fixed_point[] = {
    {"fixed_point_multiply", "multiplier=1073741824 shift=1", "int32[a, 7]", -9999, 9999},
    {"fixed_point_multiply", "multiplier=1395864371 shift=-3", "int32[33]", -99999, 99999},
    {"fixed_point_multiply", "multiplier=-1500000001 shift=4", "int32[a, b]", -9999, 9999},
    {"fixed_point_multiply", "multiplier=1200000000 shift=0", "int32[]", -99999, 99999},
    {"fixed_point_multiply", "multiplier=1200000000 shift=-31", "int32[0, 3]"},
    {"fixed_point_multiply_per_axis", "axes=[1] is_lshift_required=1 is_rshift_required=1",
     "int32[3, 5, 2] int32[5] int32[5] int32[5]", 0, 12},
    {"fixed_point_multiply_per_axis", "axes=[-1, 0]", "int32[4, 2, 3] int32[3, 4] int32[3, 4] int32[3, 4]",
     -40000, 40000},
    {"fixed_point_multiply_per_axis", "axes=[0] is_lshift_required=1",
     "int32[9, a] int32[9] int32[9] int32[9]", 0, 30},
    {NULL},
};
