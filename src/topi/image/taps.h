/* SPDX-License-Identifier: Apache-2.0 */
/* Data [N, C, space] or [N, space, C] read between its elements, at places that are data themselves: weighted sums of a few
 * elements along each axis of the space. Where these are and what they weigh depends on the place, but on no
 * channel. So operations of their own compute that, whose results CPUs keep in memory for all channels; GPUs
 * inline them. */
#ifndef GPUC_TOPI_IMAGE_TAPS_H
#define GPUC_TOPI_IMAGE_TAPS_H

#include "topi/util.h"

enum { GPUC_TAPS_AXES = 6, GPUC_TAPS_MAX = 4 };

/* The elements that a place reads along one axis. */
typedef struct gpuc_taps {
    int count;
    gpuc_expr index[GPUC_TAPS_MAX]; /* int32, on the data */
    /* Of one tap: NULL, it weighs 1. Of two: the first one's is 1 less the second one's, and not looked at. */
    gpuc_expr weight[GPUC_TAPS_MAX];
    gpuc_expr inside[GPUC_TAPS_MAX]; /* a condition where the tap is 0 otherwise, or NULL */
} gpuc_taps;

/* For infer: numbers of elements of the space of input 0 are int32. */
void gpuc_topi_taps_check(const gpuc_op_call *call);

/* The same of all places and axes, in tensors. */
typedef struct gpuc_taps_table gpuc_taps_table;
/* The axes of the places; the taps, which are expressions of their variables, and the type of their weights;
 * the sizes of the data's space. */
gpuc_taps_table *gpuc_topi_taps_tabulate(gpuc_ctx *ctx, int num_axes, gpuc_iter *const *axes, int rank,
                                         const gpuc_taps *taps, const gpuc_expr *sizes, gpuc_dtype t);
/* The weighted sum, of the type of the weights, of an image and a channel of the data, which has this layout, at a place
 * (an index of the axes). */
gpuc_expr gpuc_topi_taps_sum(gpuc_ctx *ctx, const gpuc_taps_table *table, gpuc_tensor *data,
                             gpuc_topi_layout at, gpuc_expr image, gpuc_expr channel, const gpuc_expr *place);
#endif
