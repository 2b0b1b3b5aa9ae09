/* SPDX-License-Identifier: Apache-2.0 */
/* The cooperative matrices that a device with the feature "coopmat" multiplies in a subgroup: the compiler
 * uses these, and the runtime asks for all of them. Integers are not among them: what devices have of those
 * differs, and every target has dot products. */
#ifndef GPUC_ABI_COOPMAT_H
#define GPUC_ABI_COOPMAT_H

#include <gpuc/base.h>

#define GPUC_COOPMAT_SIDE 16  /* rows, columns and steps */
#define GPUC_COOPMAT_ALIGN 16 /* bytes at whose multiples rows start in memory */

typedef struct gpuc_coopmat_row {
    const char *name; /* of the intrinsic */
    gpuc_dtype factor, sum;
} gpuc_coopmat_row;

static const gpuc_coopmat_row gpuc_coopmat_rows[] = {
    {"coopmat_f16_f32", {GPUC_DTYPE_FLOAT, 16, 1}, {GPUC_DTYPE_FLOAT, 32, 1}},
    {"coopmat_f16", {GPUC_DTYPE_FLOAT, 16, 1}, {GPUC_DTYPE_FLOAT, 16, 1}},
};
#define GPUC_COOPMAT_ROWS (sizeof gpuc_coopmat_rows / sizeof gpuc_coopmat_rows[0])

#endif
