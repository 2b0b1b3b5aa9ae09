/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the default schedules. */
#ifndef GPUC_TOPI_RULES_H
#define GPUC_TOPI_RULES_H

#include "te/te.h"
#include "topi/schedule.h"

/* How a target runs parallel work. */
typedef enum gpuc_target_class {
    GPUC_CLASS_GPU,      /* many invocations side by side, vectors of a few lanes */
    GPUC_CLASS_SIMD_GPU, /* a GPU interface on a CPU: invocations are lanes of a SIMD unit */
    GPUC_CLASS_SIMD_CPU, /* work-items run one by one on CPU cores: explicit wide vectors */
    GPUC_CLASS_C         /* parallel loops over cores, vectors or what the C compiler makes of scalar loops */
} gpuc_target_class;

typedef struct gpuc_rules {
    gpuc_ctx *ctx;
    const gpuc_target *target;
    gpuc_target_class kind;
    gpuc_schedule *s;
} gpuc_rules;

gpuc_target_class gpuc_target_classify(const gpuc_target *t);
/* Lanes of an explicit vector of this type; 1: none. */
int gpuc_rules_lanes(const gpuc_rules *r, gpuc_dtype t);
/* Product of constant extents; 0 if one is symbolic. */
int64_t gpuc_rules_extent(const gpuc_iter *iter);
/* Spreads a loop over blocks and threads, or cores. */
void gpuc_rules_spread(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *loop, int64_t per_thread);
/* Fuses leaves [first, last) of a stage; NULL if there is none. */
gpuc_iter *gpuc_rules_fuse(gpuc_stage *st, int first, int last);

/* An output without reductions of its own, all producers inlined. Returns the loop at which a stage that is read
 * element by element may be computed. */
gpuc_iter *gpuc_rules_injective(const gpuc_rules *r, gpuc_stage *st);
/* A reduction; out is the stage of the function's output that reads it element by element, or the same stage. */
void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);

#endif
