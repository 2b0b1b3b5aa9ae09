/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of recurrent layers. */
#ifndef GPUC_TOPI_NN_RNN_H
#define GPUC_TOPI_NN_RNN_H

#include "te/te.h"
#include "topi/util.h"

enum { GPUC_RNN, GPUC_GRU, GPUC_LSTM };
enum {
    GPUC_RNN_PROJECTED,
    GPUC_RNN_RECURRENT,
    GPUC_RNN_INITIAL,
    GPUC_RNN_RECURRENT_BIAS,
    GPUC_RNN_INITIAL_CELL = 3,
    GPUC_RNN_PEEPHOLES
}; /* inputs; then lengths */
enum {
    GPUC_RNN_PACKED_RANK = 5, /* of recurrent weights */
    GPUC_RNN_MAX_DIRECTIONS = 2,
};

typedef struct gpuc_rnn {
    const gpuc_op_call *call;
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    gpuc_dtype work;
    int kind, gates, functions, directions;
    int lengths; /* the input that has them, if there is one more than the cell needs */
    int64_t units;
    int64_t block; /* units of a panel of weights; 0: the weights are not packed */
} gpuc_rnn;

/* The body of the operation; NULL: the target is not known. */
gpuc_stmt gpuc_topi_rnn_emit(const gpuc_rnn *r, const gpuc_target *target);

#endif
