/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators that suppress overlapping boxes have in common. */
#ifndef GPUC_TOPI_VISION_NON_MAX_SUPPRESSION_H
#define GPUC_TOPI_VISION_NON_MAX_SUPPRESSION_H

#include "topi/parallel.h"

typedef struct gpuc_suppress {
    gpuc_ctx *ctx;
    gpuc_expr rows, n;              /* n boxes in a row */
    const gpuc_tir_buffer *corners; /* float32: [rows * n * 4]: the lower two, then the upper two */
    const gpuc_tir_buffer *there;   /* int32 [rows * n]: which take part; on return, which are left */
    const gpuc_tir_buffer
        *classes;        /* float32 [rows * n]: only equal ones suppress each other; NULL: all do */
    gpuc_expr threshold; /* float32 */
    bool at_threshold;   /* equal to it is too much */
    gpuc_expr max;       /* int32: boxes of a row that may be left; NULL: any number */
} gpuc_suppress;
gpuc_stmt gpuc_topi_suppress_emit(const gpuc_suppress *s);

#endif
