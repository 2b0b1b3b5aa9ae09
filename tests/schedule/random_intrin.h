/* SPDX-License-Identifier: Apache-2.0 */
/* Intrinsics that compute what a stage does in its innermost loops. */
#ifndef GPUC_TESTS_SCHEDULE_RANDOM_INTRIN_H
#define GPUC_TESTS_SCHEDULE_RANDOM_INTRIN_H

#include <gpuc/schedule.h>

/* What its parts are like. */
enum {
    RANDOM_INTRIN_BODY = 1,     /* a reduction has a body, too */
    RANDOM_INTRIN_INIT = 2,     /* ... and an init part */
    RANDOM_INTRIN_FINALISE = 4, /* ... that keeps negative sums, and a finalise part that negates them */
    RANDOM_INTRIN_VECTORS = 8,  /* results are stored as vectors, where the last dimension is short */
    RANDOM_INTRIN_KINDS = 16
};

/* One for the loops from number `at` on; raises where they are not what intrinsics stand for. */
const gpuc_tensor_intrin *random_intrin_make(gpuc_ctx *ctx, const gpuc_stage *st, int at, unsigned kind);

#endif
