/* SPDX-License-Identifier: Apache-2.0 */
/* One product of several over the same data. */
#ifndef GPUC_RELAY_PASS_COMMON_COMBINE_H
#define GPUC_RELAY_PASS_COMMON_COMBINE_H

#include "relay_pass/common/util.h"

/* Where weights of calls are put side by side, and their results then lie: dimensions. */
typedef struct gpuc_relay_sides {
    int weight, result;
} gpuc_relay_sides;

/* Makes one call of calls of operators that sides_of accepts, at least the option min_num_branches of them, that have the
 * same data, attributes and scope, and whose weights differ in the extent of that dimension alone. Elementwise operators
 * that all of them have behind them are one, too. Slices of its result are theirs. */
void gpuc_relay_pass_combine(gpuc_relay_pass_ctx *p,
                             bool (*sides_of)(const gpuc_rexpr *e, gpuc_relay_sides *out));

#endif
