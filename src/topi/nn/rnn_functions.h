/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that recurrent layers may apply to gates and states. */
#ifndef GPUC_TOPI_NN_RNN_FUNCTIONS_H
#define GPUC_TOPI_NN_RNN_FUNCTIONS_H

#include <gpuc/tir.h>

typedef gpuc_expr (*gpuc_rnn_function)(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr alpha, gpuc_expr beta);
/* By its name in small letters, which need not end; NULL: there is no such function. */
gpuc_rnn_function gpuc_rnn_find(const char *name, size_t length);

#endif
