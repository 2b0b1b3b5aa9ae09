/* SPDX-License-Identifier: Apache-2.0 */
/* What a function must satisfy.
 *
 * At every stage: variables and buffers are used inside of what defines them and defined once on any path;
 * types, lanes and numbers of indices fit; no READ or REDUCE is left; parameters are of a global scope
 * buffers and scalars of type int32, int64 or float32; loops over one thread axis do not nest (vthread may);
 * barriers stand under no condition or loop bound that differs between the threads of a group, operations on
 * cooperative matrices under none that differs between those along x.
 * - NESTED: vectors have up to 64 lanes.
 * - FLAT: buffers have one dimension and no strides, accesses one index; sizes of buffers on the chip
 *   (shared, warp, local, coopmat) are constants.
 * - KERNEL: as FLAT; no thread loops are left: the function lists its threads, each axis once, with extents
 *   over its scalars; allocated buffers are on the chip.
 * - TARGET: as KERNEL; no vectorized loops, cross-thread reductions or double buffers are left; vectors have
 *   2, 3, 4, 8 or 16 lanes. */
#ifndef GPUC_TIR_VALIDATE_H
#define GPUC_TIR_VALIDATE_H

#include "tir/intern.h"

typedef struct gpuc_tir_validator gpuc_tir_validator;

enum { GPUC_TIR_UNIFORM = 1, GPUC_TIR_VARIES = 2 };
/* Threads that get to a place together, or not: of a group, or those of it that differ in x only. */
typedef enum gpuc_tir_team { GPUC_TIR_GROUP, GPUC_TIR_ROW } gpuc_tir_team;

/* A condition or bound around the current place. */
typedef struct gpuc_tir_guard {
    const struct gpuc_tir_guard *outer;
    gpuc_expr a, b; /* b may be NULL */
} gpuc_tir_guard;

struct gpuc_tir_validator {
    gpuc_ctx *ctx;
    const gpuc_tir_func *func;
    gpuc_map scope;     /* variables and buffers that may be used here -> anything; NULL when left */
    gpuc_map values;    /* variable of a let -> value */
    gpuc_map varies[2]; /* by gpuc_tir_team: variable -> one of the two above, as far as known */
    int team;           /* the gpuc_tir_team whose differences are asked about */
    gpuc_map notes;     /* statement or function -> gpuc_ptrs of texts */
    const gpuc_tir_guard *guard;
    const void *place; /* the statement being checked, or the function */
    int complaints;
    bool tags[GPUC_THREAD_TAG_COUNT]; /* of the thread loops around */
};

void gpuc_tir_complain(gpuc_tir_validator *v, const char *fmt, ...) GPUC_PRINTF(2, 3);
/* Checks an expression and all in it, each shared node once. */
void gpuc_tir_validate_expr(gpuc_tir_validator *v, gpuc_expr e);
/* An access of a buffer, by a load, store or call: is it in scope, do the indices fit? Returns the lanes. */
int gpuc_tir_validate_access(gpuc_tir_validator *v, const gpuc_tir_buffer *b, int n, const gpuc_expr *index);
/* A condition or bound around the current place that may differ between threads of a team, for all that its
 * text tells; NULL: there is none. */
gpuc_expr gpuc_tir_divergent(gpuc_tir_validator *v, gpuc_tir_team team);

/* Whether it can name a function: letters, digits and '_', no digit first. */
bool gpuc_tir_is_identifier(const char *name);
/* gpuc_tir_validate of what a caller has made: complaints are INVALID_ARGUMENT. after: what of it, or NULL. */
void gpuc_tir_validate_given(gpuc_ctx *ctx, const gpuc_tir_func *f, const char *after);

#endif
