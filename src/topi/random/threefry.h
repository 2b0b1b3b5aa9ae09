/* SPDX-License-Identifier: Apache-2.0 */
/* Random words of a key, which other rows make numbers of. */
#ifndef GPUC_TOPI_RANDOM_THREEFRY_H
#define GPUC_TOPI_RANDOM_THREEFRY_H

#include "topi/parallel.h"

/* Words of the state that a key is. */
#define GPUC_RANDOM_STATE 10

/* Raises unless input 0 is a key; output 0 is one, too. */
void gpuc_topi_random_infer_key(gpuc_op_call *call);
/* The extents that the attribute out_shape gives; returns how many. */
int gpuc_topi_random_shape(const gpuc_op_call *call, gpuc_expr *dims);
/* An operation whose output 0 is the key for what comes next, and 1 uint64 words of that shape, uniform and
 * independent, each of its place. Checks their number. */
gpuc_te_op *gpuc_topi_random_words(const gpuc_op_call *call, gpuc_tensor *key, int ndim,
                                   const gpuc_expr *dims);

#endif
