/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of SPV_KHR_cooperative_matrix (revision 10, registry.khronos.org/SPIR-V), which headers before
 * 2023-06 do not have. */
#ifndef GPUC_CODEGEN_SPIRV_KHR_H
#define GPUC_CODEGEN_SPIRV_KHR_H

enum {
    GPUC_SPV_CAPABILITY_COOPMAT = 6022,
    GPUC_SPV_OP_TYPE_COOPMAT = 4456,    /* component type, scope, rows, columns, use: ids */
    GPUC_SPV_OP_COOPMAT_LOAD = 4457,    /* type, pointer, layout id, stride id, memory operands */
    GPUC_SPV_OP_COOPMAT_STORE = 4458,   /* pointer, matrix, layout id, stride id, memory operands */
    GPUC_SPV_OP_COOPMAT_MUL_ADD = 4459, /* type, a, b, c */
    GPUC_SPV_COOPMAT_ROW_MAJOR = 0,
    GPUC_SPV_COOPMAT_COLUMN_MAJOR = 1,
    GPUC_SPV_COOPMAT_USE_A = 0,
    GPUC_SPV_COOPMAT_USE_B = 1,
    GPUC_SPV_COOPMAT_USE_SUM = 2
};

#endif
