/* SPDX-License-Identifier: Apache-2.0 */
/* softmax(Q K^T * scale + bias) V without a matrix of scores in memory (Milakov and Gimelshein, "Online
 * normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). */
#ifndef GPUC_TOPI_NN_ATTENTION_H
#define GPUC_TOPI_NN_ATTENTION_H

#include "target/target.h"
#include "topi/util.h"

/* A tensor whose dimension axes[i] is dimension i of what it stands for: [batch..., rows, columns]. */
typedef struct gpuc_attention_operand {
    const gpuc_tir_buffer *buffer;
    int ndim;
    const gpuc_expr *dims; /* of what it stands for */
    int axes[GPUC_TOPI_MAX_DIMS];
} gpuc_attention_operand;

typedef struct gpuc_attention {
    gpuc_ctx *ctx;
    gpuc_dtype work, result; /* what sums are made in, and what is stored */
    int num_batch;
    const gpuc_expr *batch;
    gpuc_expr queries, keys;
    int64_t head, value; /* columns of queries and keys, of values */
    gpuc_attention_operand query, key, of, bias, out;
    bool biased, logical; /* logical: the bias says which scores stay; others become fill */
    bool empty_is_zero;   /* a row of scores that are all minus infinity gives zeros, not NaN */
    double scale, fill;
} gpuc_attention;

/* A task has lanes * vectors queries, one per lane, so that maxima and sums of rows stay in their lanes. It
 * takes so many keys at a time. Registers hold scores of key_tile keys, and value_tile columns of the
 * result. With threads > 0 these are a group of so many tasks, for which blocks of keys and values lie in
 * shared memory. */
typedef struct gpuc_attention_tile {
    int64_t lanes, vectors, keys, key_tile, value_tile, threads;
} gpuc_attention_tile;

gpuc_stmt gpuc_topi_attention_emit(const gpuc_attention *a, const gpuc_attention_tile *tile);

#endif
