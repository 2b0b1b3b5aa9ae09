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

/* Names of other systems that stand for a row in a way of their own. */
struct gpuc_op_alias {
    const char *names;  /* comma-separated */
    const char *row;    /* its name; %s is the value of the attribute `by`, %d the spatial rank of input 0 */
    const char *by;     /* attribute that chooses the row, and is none of it; NULL: none does */
    const char *values; /* of it, comma-separated */
    const char *defaults; /* attributes as text, where the call does not have them; NULL: the row's */
    const char *inputs;   /* "021": the row's inputs as numbers of the written ones; NULL: in order */
};

/* The name of the row, for a value of `by`. */
void gpuc_op_row_name(const gpuc_op_alias *a, const char *by, int rank, char row[2 * GPUC_OP_NAME]);

extern const gpuc_op_alias gpuc_topi_op_aliases[]; /* ends with NULL names */

#endif
