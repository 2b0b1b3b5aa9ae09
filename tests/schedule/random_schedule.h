/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random schedules. The same expression and seed give the same schedule everywhere, so that a
 * device test can run what was checked in the evaluator:
 *
 *   random_schedule r;
 *   random_schedule_make(ctx, &expr_cases[e], seed, &counts, &r);
 *   gpuc_tir_func *f = gpuc_schedule_lower(r.schedule, "f", r.graph.num_args, r.graph.args);
 *
 * Primitives that are refused are tried under a trap and leave no trace; what is left may still be
 * refused by lowering (a raise), which counts as a rejected schedule. */
#ifndef GPUC_TESTS_SCHEDULE_RANDOM_SCHEDULE_H
#define GPUC_TESTS_SCHEDULE_RANDOM_SCHEDULE_H

#include "exprs.h"

typedef enum random_primitive {
    RANDOM_SPLIT,
    RANDOM_SPLIT_NPARTS,
    RANDOM_FUSE,
    RANDOM_REORDER,
    RANDOM_TILE,
    RANDOM_BIND,
    RANDOM_UNROLL,
    RANDOM_VECTORIZE,
    RANDOM_PARALLEL,
    RANDOM_PRAGMA,
    RANDOM_COMPUTE_AT,
    RANDOM_COMPUTE_INLINE,
    RANDOM_COMPUTE_ROOT,
    RANDOM_SET_SCOPE,
    RANDOM_STORAGE_ALIGN,
    RANDOM_TRANSFORM_LAYOUT,
    RANDOM_DOUBLE_BUFFER,
    RANDOM_ROUND_UP,
    RANDOM_OVERLAP,
    RANDOM_NON_TEMPORAL,
    RANDOM_CACHE_READ,
    RANDOM_REINDEX_READ,
    RANDOM_CACHE_WRITE,
    RANDOM_RFACTOR,
    RANDOM_TENSORIZE,
    RANDOM_TENSORIZE_OWN,
    RANDOM_ENV_THREADS,
    RANDOM_SET_STORE_PREDICATE,
    RANDOM_PREFETCH,
    RANDOM_ROLLING_BUFFER,
    RANDOM_CREATE_GROUP,
    RANDOM_PRIMITIVE_COUNT
} random_primitive;

extern const char *const random_primitive_names[RANDOM_PRIMITIVE_COUNT];

typedef struct random_counts {
    int used[RANDOM_PRIMITIVE_COUNT], refused[RANDOM_PRIMITIVE_COUNT];
} random_counts;

enum { RANDOM_MAX_CALLS = 512 };

typedef struct random_schedule {
    const bool *left_out; /* given: the calls, by number, that are not made; NULL: all are */
    const char *name;     /* "matmul_prime#17" */
    const char *log;      /* the primitives, one per line */
    int num_calls;        /* that were tried */
    expr_graph graph;     /* its args are the function's */
    gpuc_schedule *schedule;
} random_schedule;

/* Everything is in the context. Adds to counts. */
void random_schedule_make(gpuc_ctx *ctx, const expr_case *c, uint64_t seed, random_counts *counts,
                          random_schedule *out);
/* Leaves out calls of a schedule that fails for as long as fails(left_out, arg) holds, the last ones first.
 * left_out is what random_schedule_make takes, with one of RANDOM_MAX_CALLS per call; it begins as no call,
 * and ends as all calls but those that the failure needs. */
void random_schedule_shrink(int num_calls, bool (*fails)(const bool *left_out, void *arg), void *arg,
                            bool *left_out);

#endif
