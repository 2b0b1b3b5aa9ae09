/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to shared memory and whether two of them can meet in different threads. */
#ifndef GPUC_LOWER_THREAD_SYNC_SYNC_H
#define GPUC_LOWER_THREAD_SYNC_SYNC_H

#include "lower/common/util.h"

typedef struct gpuc_sync_access {
    const gpuc_tir_buffer *buffer;
    gpuc_expr index; /* NULL: anything */
    gpuc_stmt store; /* of a plain store: the statement */
    bool write, atomic;
    int num_guards;
    gpuc_expr const *guards; /* conditions that hold, without loads */
} gpuc_sync_access;

typedef struct gpuc_sync_list {
    gpuc_sync_access *at;
    size_t count, capacity;
} gpuc_sync_list;

typedef struct gpuc_sync_checker {
    gpuc_ctx *ctx;
    gpuc_analyzer *a; /* knows launch dimensions */
    const gpuc_tir_func *f;
    gpuc_map bounds; /* loop variable -> gpuc_bounds */
    gpuc_map lets;   /* variable -> value, where that has no loads */
    gpuc_ptrs open;  /* loop variables that have the same value for both accesses */
} gpuc_sync_checker;

/* Notes the value of a let variable, unless the value has loads. */
void gpuc_lower_sync_let(gpuc_sync_checker *c, gpuc_expr var, gpuc_expr value);
void gpuc_lower_sync_push(gpuc_ctx *ctx, gpuc_sync_list *list, const gpuc_sync_access *access);
/* Whether the accesses can conflict. carried: a loop variable whose value differs between the iterations of x
 * and y; next: y's iteration is the one after x's. */
bool gpuc_lower_sync_conflict(gpuc_sync_checker *c, const gpuc_sync_access *x, const gpuc_sync_access *y,
                              gpuc_expr carried, bool next);
bool gpuc_lower_sync_conflict_lists(gpuc_sync_checker *c, const gpuc_sync_list *x, const gpuc_sync_list *y,
                                    gpuc_expr carried, bool next);

#endif
