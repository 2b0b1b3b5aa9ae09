/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_einsum[] = {
    {"einsum", "equation=\"ij,jk->ik\"", "T[a, 5] T[5, b]", 0, 0},
    {"einsum", "equation=\"ij,jk->ik\"", "float32[33, 17] float32[17, 40]", 0, 0},
    {"einsum", "equation=\"ij,kj->ki\"", "float32[9, 16] float32[24, 16]", 0, 0},
    {"einsum", "equation=\"bhwi,hkj->bkwij\"", "float32[2, 3, 2, 3] float32[3, 4, 5]", 0, 0},
    {"einsum", "equation=\"...ii->...i\"", "float32[2, 3, 4, 4]", 0, 0},
    {"einsum", "equation=\"ii\"", "int32[5, 5]", 0, 0},
    {"einsum", "equation=\"ij->\"", "float16[3, 70]", 0, 0},
    {"einsum", "equation=\"ij->ji\"", "T[3, a]", 0, 0},
    {"einsum", "equation=\"ba\"", "float32[2, 3]", 0, 0},
    {"einsum", "equation=\"...ij,...jk\"", "float32[2, 1, 3, 4] float32[5, 4, 2]", 0, 0},
    {"einsum", "equation=\"i...,j...->...ij\"", "float32[2, 3] float32[4, 3]", 0, 0},
    {"einsum", "equation=\"a,b,ab->\"", "float32[3] float32[4] float32[3, 4]", 0, 0},
    {"einsum", "equation=\"Bij,Bj->Bi\"", "float32[3, 5, 7] float32[3, 7]", 0, 0},
    {"einsum", "equation=\"i,i\"", "float32[0] float32[0]", 0, 0},
    {"einsum", "equation=\",i->i\"", "float32[] float32[4]", 0, 0},
    {"einsum", "equation=\"ij,ij->i\"", "float32[3, 1] float32[1, 4]", 0, 0},
    {"einsum", "equation=\"iji,ik->jk\"", "float32[3, 2, 3] float32[3, 5]", 0, 0},
    {"tensordot", NULL, "T[2, 3, a] T[3, a, 4]", 0, 0},
    {"tensordot", "axes=0", "float32[2, 3] float32[4]", 0, 0},
    {"tensordot", "axes=1", "float32[2, 3] float32[3, 2, 2]", 0, 0},
    {"tensordot", "a_axes=[0, -1] b_axes=[1, 0]", "float32[2, 3, 5] float32[5, 2, 7]", 0, 0},
    {NULL},
};
