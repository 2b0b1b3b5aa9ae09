/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative matrices of a kernel: what each buffer of that scope holds, and where operations find theirs. */
#ifndef GPUC_LOWER_COOPMAT_COOPMAT_H
#define GPUC_LOWER_COOPMAT_COOPMAT_H

#include "lower/common/util.h"

typedef enum gpuc_coopmat_use {
    GPUC_COOPMAT_AS_SUM,
    GPUC_COOPMAT_AS_A, /* the factor that has the rows of the sum */
    GPUC_COOPMAT_AS_B  /* the one that has its columns */
} gpuc_coopmat_use;

/* A buffer: matrices one behind the other, each row by row. */
typedef struct gpuc_coopmat_buffer {
    gpuc_coopmat_use use;
    bool multiplied; /* use is what a product says */
    bool transposed; /* its rows are columns of the factor */
    int64_t count;
} gpuc_coopmat_buffer;

typedef struct gpuc_coopmats {
    gpuc_ctx *ctx;
    const gpuc_tir_func *f;
    gpuc_map buffers; /* gpuc_tir_buffer -> gpuc_coopmat_buffer */
    gpuc_expr lane;   /* threadIdx.x; NULL: there are no such threads */
    int64_t width;    /* its extent, or 1 */
    bool native;      /* the target's instructions do all that is asked for */
} gpuc_coopmats;

/* Finds the matrices of a flat kernel; NULL: it has none. Raises if a buffer of scope coopmat cannot hold
 * matrices. */
const gpuc_coopmats *gpuc_lower_coopmats_find(gpuc_ctx *ctx, const gpuc_target *target,
                                              const gpuc_tir_func *f);
const gpuc_coopmat_buffer *gpuc_lower_coopmats_get(const gpuc_coopmats *c, const gpuc_tir_buffer *b);

/* Where an operation's access begins, and how far the next row and column are. */
typedef struct gpuc_coopmat_place {
    gpuc_expr base, step[2];
} gpuc_coopmat_place;
gpuc_coopmat_place gpuc_lower_coopmat_place_of(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_tir_coopmat *m,
                                               gpuc_expr index, int row_loop, int column_loop);
/* Which of a buffer's matrices an operation accesses at that place. */
gpuc_expr gpuc_lower_coopmat_number(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_coopmat_place *at);

#endif
