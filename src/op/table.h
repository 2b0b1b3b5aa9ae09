/* SPDX-License-Identifier: Apache-2.0 */
/* The families of operator rows: topi defines them (topi/table.c), in the order of topi/families.def. */
#ifndef GPUC_OP_TABLE_H
#define GPUC_OP_TABLE_H

#include "op/op.h"

typedef struct gpuc_op_family {
    const gpuc_op *rows;
    const size_t *count;
} gpuc_op_family;

extern const gpuc_op_family gpuc_topi_op_families[]; /* ends with NULL rows */

#endif
