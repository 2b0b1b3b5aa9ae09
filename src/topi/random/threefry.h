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

/* What a uint64 word becomes; op has the inputs. */
typedef gpuc_expr (*gpuc_random_value)(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, gpuc_expr word);
/* The same with values of the type t instead of words. Input 0 is the key, others are for value; arg lives as long as the
 * context. */
gpuc_te_op *gpuc_topi_random_values(const gpuc_op_call *call, int num_in, gpuc_tensor *const *ins,
                                    gpuc_dtype t, int ndim, const gpuc_expr *dims, gpuc_random_value value,
                                    const void *arg);

#endif
