/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators that suppress overlapping boxes have in common. */
#ifndef GPUC_TOPI_VISION_NON_MAX_SUPPRESSION_H
#define GPUC_TOPI_VISION_NON_MAX_SUPPRESSION_H

#include "topi/parallel.h"

typedef struct gpuc_suppress {
    gpuc_ctx *ctx;
    gpuc_expr rows, n;              /* n boxes in a row */
    const gpuc_tir_buffer *corners; /* float32: [rows * n * 4]: the lower two, then the upper two */
    /* int32 [rows * n]: which take part (1), and which only need a place among the max (2): these neither suppress nor are
     * suppressed nor counted. On return, which are left (not 0). */
    const gpuc_tir_buffer *there;
    const gpuc_tir_buffer
        *classes;   /* float32 [rows * n]: boxes of a class below 0 suppress none; NULL: there are none */
    bool any_class; /* boxes of different classes suppress each other, too */
    gpuc_expr threshold; /* float32 */
    bool at_threshold;   /* equal to it is too much */
    gpuc_expr max;       /* int32: boxes of a row that may be left; NULL: any number */
} gpuc_suppress;
gpuc_stmt gpuc_topi_suppress_emit(const gpuc_suppress *s);
/* Whether a box of class a suppresses those of class b. */
gpuc_expr gpuc_topi_suppress_class(const gpuc_suppress *s, gpuc_expr a, gpuc_expr b);
/* Whether boxes a and b overlap too much. */
gpuc_expr gpuc_topi_suppress_overlap(const gpuc_suppress *s, const gpuc_expr *a, const gpuc_expr *b);

/* The same on a CPU, for a row whose boxes come in order: each is compared with those that are left so far. */
typedef struct gpuc_suppress_row gpuc_suppress_row;
struct gpuc_suppress_row {
    gpuc_suppress s; /* without corners, there and classes */
    const gpuc_target *target;
    const gpuc_tir_buffer *left; /* by gpuc_topi_suppress_space */
    int64_t most;                /* boxes of a row that may be left; 0: not known */
    const void *arg;
    gpuc_expr (*corner)(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box, int k);
    gpuc_expr (*class_of)(const gpuc_suppress_row *s, gpuc_expr row,
                          gpuc_expr box); /* NULL: there are none */
    /* Number q in the order is left, as number k of those, or is not. */
    gpuc_stmt (*keep)(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr q, gpuc_expr k, gpuc_expr box);
    /* Which only need a place, as above; or NULL: none. */
    gpuc_expr (*idle)(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box);
    gpuc_stmt (*drop)(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr q, gpuc_expr box); /* or NULL */
    gpuc_stmt (*end)(const gpuc_suppress_row *s, gpuc_expr row,
                     gpuc_expr count); /* so many are left: int32; or NULL */
};
/* A workspace for the corners and classes of those that are left. */
gpuc_tir_buffer *gpuc_topi_suppress_space(gpuc_ctx *ctx, const gpuc_target *cpu, gpuc_expr rows, gpuc_expr n);
gpuc_stmt gpuc_topi_suppress_in_order(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_order_list *list);
/* The same where lanes are threads: those of the work-group that has the row share the boxes that are left. */
gpuc_stmt gpuc_topi_suppress_on_lanes(const gpuc_suppress_row *s, gpuc_expr row, const gpuc_order_list *list);
/* Whether lanes can: drivers end loops. */
bool gpuc_topi_suppress_fits_lanes(const gpuc_suppress_row *s);

/* Of the element that is e-th in the order of its row: the position of its box in the row + 1, negative if it is suppressed; 0
 * if it is not taken. Input 0 has the boxes, [rows, n, numbers]; the call says what is done with them. The row's schedule
 * is gpuc_topi_par_schedule. */
gpuc_tensor *gpuc_topi_suppress_left(const gpuc_op_call *call, int num_in, gpuc_tensor *const *ins,
                                     gpuc_expr rows, gpuc_expr n);

#endif
