/* SPDX-License-Identifier: Apache-2.0 */
/* How the units of a recurrent layer are made, of which the steps consist. */
#ifndef GPUC_TOPI_NN_RNN_LAYER_H
#define GPUC_TOPI_NN_RNN_LAYER_H

#include "target/constants.h"
#include "target/target.h"
#include "topi/nn/rnn.h"

/* One sequence in one direction, or some that are walked through together: what the statements of a step have
 * at hand. */
typedef struct gpuc_rnn_layer {
    const gpuc_op_call *call;
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    const gpuc_target *cpu; /* NULL: it is none */
    gpuc_dtype work;
    int kind, gates, functions, directions, lengths;
    int64_t units, block, threads;
    int64_t lanes; /* units of a vector of a panel; 0: there are none, a group's threads make a unit each */
    int64_t width; /* threads of the subgroup that makes a panel; 1: one thread makes all */
    bool spread;   /* cores share the panels of each step */
    int together;
    gpuc_expr batch, direction;
    gpuc_expr thread, lane; /* of the panel's unit */
    /* As many states as a panel has units, a part of them in each thread of the subgroup. */
    gpuc_tir_buffer *near[GPUC_COMMON_rnn_together];
    int64_t first;                         /* where the sequence's units are in the buffers */
    gpuc_tir_buffer *hidden, *next, *kept; /* shared by the group: the state; made of it; the cells' own */
} gpuc_rnn_layer;

/* Units of a panel, where there are panels. */
static inline int64_t gpuc_topi_rnn_panel(const gpuc_rnn_layer *l)
{
    return l->lanes * l->width;
}
/* Sequence i of those that go through the steps together. */
gpuc_rnn_layer gpuc_topi_rnn_nth(const gpuc_rnn_layer *l, int i);
/* An element of hidden, next or kept. */
gpuc_expr gpuc_topi_rnn_state(const gpuc_rnn_layer *l, const gpuc_tir_buffer *b, gpuc_expr unit);
gpuc_expr gpuc_topi_rnn_input(const gpuc_rnn_layer *l, int i, int n, const gpuc_expr *index);

/* The body, which declares nothing, for each value of its variable `unit`. */
gpuc_stmt gpuc_topi_rnn_each_unit(const gpuc_rnn_layer *l, gpuc_expr unit, gpuc_stmt body);

/* What a unit does once the products of the state with the weights of its gates are in `value`. The sums of
 * these begin with `start`, which it sets. */
typedef gpuc_stmt (*gpuc_rnn_unit_fn)(const gpuc_rnn_layer *l, gpuc_expr step, gpuc_expr unit,
                                      const gpuc_expr *value, gpuc_expr *start);

/* Makes gates first, ..., first + count - 1 of all units, by the products with a state. */
gpuc_stmt gpuc_topi_rnn_each_gate(const gpuc_rnn_layer *l, const gpuc_tir_buffer *state, int first, int count,
                                  gpuc_expr step, gpuc_rnn_unit_fn unit);

#endif
