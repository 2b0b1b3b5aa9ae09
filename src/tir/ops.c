/* SPDX-License-Identifier: Apache-2.0 */
/* Finds operators and intrinsics by name, with their properties. */
#include "tir/ops.h"

#include <string.h>

#define SAME GPUC_TIR_SAME
#define BOOL GPUC_TIR_BOOL
#define ARM GPUC_TIR_ARM
#define COMM GPUC_TIR_COMM
#define ASSOC GPUC_TIR_ASSOC
#define INT GPUC_TIR_INT
#define FLT GPUC_TIR_FLT
#define LOGIC GPUC_TIR_LOGIC
#define LAZY GPUC_TIR_LAZY
const gpuc_tir_op_info gpuc_tir_ops[GPUC_TIR_OP_COUNT] = {
#define GPUC_TIR_OP(e, name, number, kind, bits)                                                             \
    [GPUC_TIR_##e] = {.text = name, .arity = number, .result = kind, .flags = bits},
#include "tir/ops.def"
#undef GPUC_TIR_OP
};
#undef SAME
#undef BOOL
#undef ARM
#undef COMM
#undef ASSOC
#undef INT
#undef FLT
#undef LOGIC
#undef LAZY

const gpuc_tir_intrin_info gpuc_tir_intrins[GPUC_TIR_INTRIN_COUNT] = {
#define GPUC_TIR_INTRIN(e, name, kind) [GPUC_TIR_CALL_##e] = {.text = name, .effect = GPUC_TIR_##kind},
#include "tir/intrinsics.def"
#undef GPUC_TIR_INTRIN
};

bool gpuc_tir_op_find(const char *text, gpuc_tir_op *out)
{
    for (int op = 0; op < GPUC_TIR_OP_COUNT; op++)
        if (strcmp(gpuc_tir_ops[op].text, text) == 0) {
            *out = (gpuc_tir_op)op;
            return true;
        }
    return false;
}

bool gpuc_tir_intrin_find(const char *text, gpuc_tir_intrin *out)
{
    for (int fn = 0; fn < GPUC_TIR_INTRIN_COUNT; fn++)
        if (strcmp(gpuc_tir_intrins[fn].text, text) == 0) {
            *out = (gpuc_tir_intrin)fn;
            return true;
        }
    return false;
}

int gpuc_tir_op_precedence(gpuc_tir_op op)
{
    static const int levels[GPUC_TIR_OP_COUNT] = {
        [GPUC_TIR_OR] = 1,       [GPUC_TIR_AND] = 2, [GPUC_TIR_EQ] = 3,  [GPUC_TIR_NE] = 3,
        [GPUC_TIR_LT] = 4,       [GPUC_TIR_LE] = 4,  [GPUC_TIR_ADD] = 5, [GPUC_TIR_SUB] = 5,
        [GPUC_TIR_MUL] = 6,      [GPUC_TIR_DIV] = 6, [GPUC_TIR_MOD] = 6, [GPUC_TIR_FLOORDIV] = 6,
        [GPUC_TIR_FLOORMOD] = 6,
    };
    return levels[op];
}
