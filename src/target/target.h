/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TARGET_TARGET_H
#define GPUC_TARGET_TARGET_H

#include <gpuc/target.h>

#include "abi/package.h"
#include "base/ctx.h"
#include "target/constants.h"

typedef enum gpuc_target_kind_id {
#define GPUC_TARGET_KIND(id, ...) GPUC_TARGET_##id,
#include "target/kinds.def"
#undef GPUC_TARGET_KIND
    GPUC_TARGET_KIND_COUNT
} gpuc_target_kind_id;

/* What the kernels of a kind are written in. One row per kind, in kinds.def. */
typedef struct gpuc_language {
    bool work_groups;  /* a launch is a grid of work-groups; else its dimensions are loops of the kernel */
    bool ahead;        /* packages hold machine code; else a driver compiles while the program waits */
    bool descriptors;  /* tensors are bindings with limits, windows and texel views; vectors are aligned */
    bool matrices;     /* has operations on cooperative matrices */
    bool functions;    /* has functions, which kernels share: dot products of small integers */
    bool c99_math;     /* floats, and remainders of negative integers, are as C99 defines them */
    bool vector_mod;   /* fmod of vectors is right (PoCL's is not) */
    bool compares_nan; /* isnan is written a != a (PoCL compiles isnan for long) */
    bool states_iterations; /* kernels state their loop iterations, though they have no variants */
    bool guarded_barriers;  /* a barrier may stand under a condition in a loop whose extent a run decides */
    bool vector_parts;      /* some lanes of a vector in memory or registers are a vector: v.s01234567 */
    bool three_lanes;       /* has vectors of three elements */
    bool machine_vectors;   /* vectors are those of the machine: no longer than vector_bits */
    int max_lanes;          /* of the longest vector */
    uint32_t own_features;  /* gpuc_feature bits that it has on every device */
} gpuc_language;

/* Passes and generators ask these fields, never for the kind. */
struct gpuc_target {
    gpuc_target_kind_id kind;
    const gpuc_language *language;
    const char *preset; /* "" or "llvmpipe": what the text form is relative to */
#define GPUC_TARGET_INT(field, ...) int64_t field;
#include "target/attrs.def"
#undef GPUC_TARGET_INT
    const gpuc_constants *constants; /* by which default schedules decide */
    const char *cc;                  /* c: compiler command, default "cc" */
    const char *mcpu;   /* c: -march/-mcpu value; "" is the ABI's baseline. "native" is resolved by the
                           parser to what this machine has (name kept, vector_bits and registers filled) */
    const char *cflags; /* c: more flags */
};

/* Whether work-items run one by one on CPU cores, or loops do. */
bool gpuc_target_is_cpu(const gpuc_target *t);
/* Whether kernels run on a CPU in any way: also where its lanes are work-items. */
bool gpuc_target_is_software(const gpuc_target *t);
/* How a target runs parallel work. */
typedef enum gpuc_target_class {
    GPUC_CLASS_GPU,      /* many invocations side by side, vectors of a few lanes */
    GPUC_CLASS_SIMD_CPU, /* work-items run one by one on CPU cores: explicit wide vectors */
    GPUC_CLASS_C         /* parallel loops over cores, vectors or what the C compiler makes of scalar loops */
} gpuc_target_class;
gpuc_target_class gpuc_target_classify(const gpuc_target *t);
/* Lanes of an explicit vector of this type; 1: none. */
int gpuc_target_lanes(const gpuc_target *t, gpuc_dtype type);
/* Lanes (a power of two) that a vector of the language may have in a statement whose widest element has so
 * many bits; 1: scalars only. */
int gpuc_target_max_lanes(const gpuc_target *t, int bits);
/* Does the target sum several products of integers of so many bits in one instruction? */
bool gpuc_target_has_dot(const gpuc_target *t, int bits);
/* Is a subgroup a vector of a CPU, whose lanes are its threads? */
bool gpuc_target_lanes_are_threads(const gpuc_target *t);
/* Do convolutions keep channels last, where lanes are threads? */
bool gpuc_target_keeps_channels_last(const gpuc_target *t);
/* Target features as gpuc_feature bits. */
uint32_t gpuc_target_features(const gpuc_target *t);

#endif
