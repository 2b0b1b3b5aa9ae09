/* SPDX-License-Identifier: Apache-2.0 */
/* What the scattering operators have in common. Each row has slots that n updates go to. */
#ifndef GPUC_TOPI_TRANSFORM_SCATTER_H
#define GPUC_TOPI_TRANSFORM_SCATTER_H

#include "topi/parallel.h"

typedef enum gpuc_scatter_kind {
    GPUC_SCATTER_NONE, /* the last update replaces the element */
    GPUC_SCATTER_ADD,
    GPUC_SCATTER_MUL,
    GPUC_SCATTER_MIN,
    GPUC_SCATTER_MAX,
    GPUC_SCATTER_KIND_COUNT
} gpuc_scatter_kind;

typedef struct gpuc_scatter gpuc_scatter;
struct gpuc_scatter {
    const gpuc_op_call *call;
    gpuc_ctx *ctx;
    gpuc_scatter_kind kind;
    int indices, updates; /* inputs; input 0 is the data, which is of the result's shape or 0-D */
    gpuc_expr rows;
    gpuc_expr n, slots;               /* of each row */
    gpuc_rows index_rows;             /* of scatter_elements */
    int depth;                        /* of scatter_nd: positions of an index */
    int outer, inner;                 /* of the result: slots are along its dimensions [outer, inner) */
    bool own_indices;                 /* elements behind the slots have indices of their own */
    const gpuc_expr *extents;         /* of the updates along its other dimensions */
    const gpuc_tir_buffer *positions; /* the indices; set before slot is called */
    const gpuc_tir_buffer *old, *values, *out; /* of the operation: the data, the updates, what it makes */
    /* The slot of update i: int32, negative if there is none. */
    gpuc_expr (*slot)(const gpuc_scatter *s, gpuc_expr row, gpuc_expr i);
    /* The same by an element of the row, whose index along [outer, inner) is not read. */
    gpuc_expr (*slot_of)(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr i);
    /* The row and slot of an element of the result, under a condition (NULL: always). */
    gpuc_expr (*locate)(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr *row, gpuc_expr *slot);
    /* Where update i has its value for that element; returns the rank. */
    int (*update_index)(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr row, gpuc_expr i,
                        gpuc_expr *index);
};

/* The attribute "reduction" of the call; raises for another word, and for bools that are to be combined. */
gpuc_scatter_kind gpuc_topi_scatter_kind_of(const gpuc_op_call *call);
gpuc_tensor *gpuc_topi_scatter_te(gpuc_scatter *s, gpuc_tensor *const *ins);
gpuc_expr gpuc_topi_scatter_join(const gpuc_scatter *s, gpuc_expr a, gpuc_expr b);
/* The body of the operation for CPUs: each task goes through all updates in order, and applies those to its part of
 * the rows, or of the slots where there are few rows. The loops of tasks are those of topi/parallel.h. */
gpuc_stmt gpuc_topi_scatter_in_order(const gpuc_scatter *s, const gpuc_target *target);
/* The same where lanes are threads: each lane has the elements of the result that are at one place beside the slots.
 * NULL: there may be too many updates. */
gpuc_stmt gpuc_topi_scatter_on_lanes(const gpuc_scatter *s, const gpuc_target *target);

#endif
