/* SPDX-License-Identifier: Apache-2.0 */
/* A product of float16 whose blocks are cooperative matrices, staged through shared memory. */
#ifndef GPUC_TESTS_SCHEDULE_COOPMAT_PRODUCT_H
#define GPUC_TESTS_SCHEDULE_COOPMAT_PRODUCT_H

#include "exprs.h"

typedef struct coopmat_product {
    int64_t rows, columns, depth; /* depth: a multiple of 16 */
    bool transposed;              /* the second factor is [columns, depth] */
    gpuc_dtype sum;
    int lanes; /* threads that hold a matrix together */
} coopmat_product;

extern const coopmat_product coopmat_products[];
extern const int num_coopmat_products;

/* The graph, and its schedule: groups of 32 x 32 by two rows of threads. */
gpuc_schedule *coopmat_schedule(gpuc_ctx *ctx, const coopmat_product *p, expr_graph *g);

#endif
