/* SPDX-License-Identifier: Apache-2.0 */
/* Runs functions before and after lowering on the same random data. */
#ifndef GPUC_TESTS_LOWER_HARNESS_H
#define GPUC_TESTS_LOWER_HARNESS_H

#include "lower/lower.h"

typedef struct data_range {
    const char *name;
    int64_t lo, hi;
} data_range;

/* Sizes of symbols, and ranges of the values of integer buffers that index others. */
typedef struct data_setup {
    data_range at[16];
    int n;
    uint64_t seed;
} data_setup;

typedef struct data_set {
    const gpuc_tir_func *func;
    int64_t *scalars;
    gpuc_tir_arg *args;
} data_set;

/* Random values for the parameters of f. Floats are multiples of 1/8, so that sums are exact in any order. */
data_set data_make(gpuc_ctx *ctx, const gpuc_tir_func *f, const data_setup *setup);
data_set data_copy(gpuc_ctx *ctx, const data_set *d);
/* NULL, or what differs. */
const char *data_differs(gpuc_ctx *ctx, const data_set *a, const data_set *b);

/* f may be of another stage than the function of d; its parameters are in the same order. Raises. */
void run_func(gpuc_ctx *ctx, const gpuc_tir_func *f, data_set *d);
void run_program(gpuc_ctx *ctx, const gpuc_tir_program *program, data_set *d);

#endif
