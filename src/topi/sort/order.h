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
enum { GPUC_TOPI_ORDER_DIGITS = 256 };
/* Digits of the keys of values, the last of which has a sign; the digit of a key, of type index. */
int gpuc_topi_order_digits(gpuc_dtype value);
gpuc_expr gpuc_topi_order_digit(gpuc_ctx *ctx, gpuc_expr key, int d, int digits);

/* Elements of a tile that a core sorts by keys; 0: the order has none, or the target is not a CPU. */
int64_t gpuc_topi_order_key_tile(const gpuc_order *o);
/* Sorts each tile, of the first elements that are wanted, into its own positions of the row (key_sort.c). */
gpuc_stmt gpuc_topi_order_sort_keys(const gpuc_order *o, int64_t tile, const gpuc_order_target *to);

/* Where lanes are threads (digit_sort.c): as gpuc_topi_order_emit, and as gpuc_topi_order_sort_rows. */
gpuc_stmt gpuc_topi_order_by_digits(const gpuc_order *o, const gpuc_tir_buffer *out);
gpuc_stmt gpuc_topi_order_rows_by_digits(const gpuc_order *o);

#endif
