/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TARGET_TARGET_H
#define GPUC_TARGET_TARGET_H

#include <gpuc/target.h>

#include "abi/package.h"
#include "base/ctx.h"

typedef enum gpuc_target_kind_id {
    GPUC_TARGET_VULKAN,
    GPUC_TARGET_OPENCL,
    GPUC_TARGET_C,
    GPUC_TARGET_KIND_COUNT
} gpuc_target_kind_id;

/* Passes and generators ask these fields, never for the kind, unless the source language differs. */
struct gpuc_target {
    gpuc_target_kind_id kind;
    const char *preset; /* "" or "llvmpipe": what the text form is relative to */
#define GPUC_TARGET_INT(field, v, o, c, req, about) int64_t field;
#include "target/attrs.def"
#undef GPUC_TARGET_INT
    const char *cc;     /* c: compiler command, default "cc" */
    const char *mcpu;   /* c: -march/-mcpu value; "" is the ABI's baseline. "native" is resolved by the
                           parser to what this machine has (name kept, vector_bits and registers filled) */
    const char *cflags; /* c: more flags */
};

/* Whether work-items run one by one on CPU cores, or loops do. */
bool gpuc_target_is_cpu(const gpuc_target *t);
/* How a target runs parallel work. */
typedef enum gpuc_target_class {
    GPUC_CLASS_GPU,      /* many invocations side by side, vectors of a few lanes */
    GPUC_CLASS_SIMD_CPU, /* work-items run one by one on CPU cores: explicit wide vectors */
    GPUC_CLASS_C         /* parallel loops over cores, vectors or what the C compiler makes of scalar loops */
} gpuc_target_class;
gpuc_target_class gpuc_target_classify(const gpuc_target *t);
/* Lanes of an explicit vector of this type; 1: none. */
int gpuc_target_lanes(const gpuc_target *t, gpuc_dtype type);
/* Does the target sum several products of integers of so many bits in one instruction? */
bool gpuc_target_has_dot(const gpuc_target *t, int bits);
/* Is a subgroup a vector of a CPU, whose lanes are its threads? */
bool gpuc_target_lanes_are_threads(const gpuc_target *t);
/* Do convolutions keep channels last, where lanes are threads? */
bool gpuc_target_keeps_channels_last(const gpuc_target *t);
/* Target features as gpuc_feature bits. */
uint32_t gpuc_target_features(const gpuc_target *t);

#endif
