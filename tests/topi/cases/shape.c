/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_shape[] = {
    {"reshape", "newshape=[4, 6]", "float32[2, 3, 4]"},
    {"reshape", "newshape=[-1, 2]", "float32[2, 3, 4]"},
    {"reshape", "newshape=[]", "int64[1, 1]"},
    {"reshape", "newshape=[0, 5]", "float32[5, 0]"},
    {"reshape", "newshape=[3, 5, 7]", "uint8[105]"},
    {"squeeze", "axis=[0, -2]", "float32[1, 3, 1, 4]"},
    {"squeeze", NULL, "float32[1, 3, 1]"},
    {"squeeze", "axis=[0]", "int64[1]"},
    {"expand_dims", "axis=[0, -1]", "float32[3, 4]"},
    {"expand_dims", "axis=[0]", "int64[]"},
    {NULL},
};
