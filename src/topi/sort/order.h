/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to sort the tiles of rows have in common. */
#ifndef GPUC_TOPI_SORT_ORDER_H
#define GPUC_TOPI_SORT_ORDER_H

#include "topi/parallel.h"

/* Where a pass stores its runs: to out if a run is a whole row, else to runs, [rows * n]. A buffer is NULL if
 * it is known not to be used. */
typedef struct gpuc_order_target {
    gpuc_expr whole; /* bool */
    const gpuc_tir_buffer *out, *runs;
} gpuc_order_target;

/* Stores the position of element i of a row in order. */
gpuc_stmt gpuc_topi_order_put(const gpuc_order *o, const gpuc_order_target *to, gpuc_expr row, gpuc_expr i,
                              gpuc_expr position);
/* Elements of a tile that a core sorts by keys; 0: the order has none, or the target is not a CPU. */
int64_t gpuc_topi_order_key_tile(const gpuc_order *o);
/* Sorts each tile, of the first elements that are wanted, into its own positions of the row (key_sort.c). */
gpuc_stmt gpuc_topi_order_sort_keys(const gpuc_order *o, int64_t tile, const gpuc_order_target *to);

#endif
