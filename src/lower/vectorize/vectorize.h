/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the vectorize pass. */
#ifndef GPUC_LOWER_VECTORIZE_VECTORIZE_H
#define GPUC_LOWER_VECTORIZE_VECTORIZE_H

#include "lower/common/util.h"

#define GPUC_VECTORIZE_MAX_LANES 16

/* One loop on its way to vectors: var takes start, start + 1, ..., start + lanes - 1. */
typedef struct gpuc_vectorizer {
    gpuc_tir_mapper m; /* first */
    gpuc_analyzer *a;
    gpuc_expr var, start;
    int lanes;
    gpuc_ptrs lets, vector_lets; /* scalar let variables around, and the vectors that they became */
    bool widened;                /* storage of the body has a lane dimension */
    bool parts;                  /* the language has halves of vectors */
} gpuc_vectorizer;

/* expr.c: the vector of e over all lanes, or e itself if it is the same in all. */
gpuc_expr gpuc_lower_vectorize_expr(gpuc_tir_mapper *m, gpuc_expr e);
gpuc_expr gpuc_lower_vectorize_lane(gpuc_vectorizer *v, gpuc_expr e, int lane);
/* A scalar condition that makes cond true in all lanes, cheaper than testing each; NULL if there is none. */
gpuc_expr gpuc_lower_vectorize_all_lanes(gpuc_vectorizer *v, gpuc_expr cond);
/* Start and stride of an index that is linear in the variable. */
bool gpuc_lower_vectorize_stride(gpuc_vectorizer *v, gpuc_expr index, gpuc_expr *start, gpuc_expr *stride);

/* A load of elements side by side, the first at its index's start; else NULL. */
const gpuc_tir_load_node *gpuc_lower_vectorize_contiguous(gpuc_expr e);

/* deps.c: may iterations of var that are less than span apart run in any order? */
bool gpuc_lower_vectorize_independent(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_stmt body, gpuc_expr var,
                                      int64_t span);

#endif
