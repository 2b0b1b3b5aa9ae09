/* SPDX-License-Identifier: Apache-2.0 */
/* Finds operators and intrinsics by name, with their properties. */
#include "tir/ops.h"

#include <ctype.h>
#include <string.h>

const gpuc_tir_op_info gpuc_tir_ops[GPUC_TIR_OP_COUNT] = {
#define GPUC_TIR_OP(e, name, number, kind, binds, bits, ...)                                                 \
    [GPUC_TIR_##e] = {                                                                                       \
        .text = name, .arity = number, .result = GPUC_TIR_##kind, .prec = GPUC_PREC_##binds, .flags = bits},
#include "tir/ops.def"
#undef GPUC_TIR_OP
};

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

gpuc_prec gpuc_tir_op_precedence(gpuc_tir_op op)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    return ispunct((unsigned char)*info->text) ? info->prec : GPUC_PREC_NONE;
}
