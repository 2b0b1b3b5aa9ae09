/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that recurrent layers may apply to gates and states. */
#ifndef GPUC_TOPI_NN_RNN_FUNCTIONS_H
#define GPUC_TOPI_NN_RNN_FUNCTIONS_H

#include <gpuc/op.h>

typedef gpuc_expr (*gpuc_rnn_function)(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta);
/* Attribute activations: names in small letters by commas, functions of the first direction first; NULL past
 * the end. */
gpuc_rnn_function gpuc_topi_rnn_activation(const gpuc_op_call *call, int i);

#endif
