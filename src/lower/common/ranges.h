/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of a kernel's expressions over what its variables run through, with ends over its scalars. What
 * is read from memory, or comes from other invocations, is any number of its type. */
#ifndef GPUC_LOWER_COMMON_RANGES_H
#define GPUC_LOWER_COMMON_RANGES_H

#include "arith/arith.h"

typedef struct gpuc_ranges {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    gpuc_map of; /* variable -> gpuc_interval * */
} gpuc_ranges;

void gpuc_lower_ranges_init(gpuc_ranges *r, gpuc_ctx *ctx, gpuc_analyzer *a);
/* A NULL end is not known. */
gpuc_interval gpuc_lower_ranges_eval(gpuc_ranges *r, gpuc_expr e);
void gpuc_lower_ranges_set(gpuc_ranges *r, gpuc_expr var, gpuc_interval values);
/* A variable from min on, of as many values. */
void gpuc_lower_ranges_set_loop(gpuc_ranges *r, gpuc_expr var, gpuc_expr min, gpuc_expr extent);
void gpuc_lower_ranges_set_let(gpuc_ranges *r, const gpuc_tir_let_node *let);

#endif
