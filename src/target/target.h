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

extern const gpuc_target_kind_row gpuc_target_builtin[GPUC_TARGET_KIND_COUNT];

/* Passes and generators ask these fields, and gpuc_target_get for what one kind has, never for the kind. */
struct gpuc_target {
    const gpuc_target_kind_row *kind;
    const gpuc_language *language;
    const char *tag; /* "" or "vulkan/llvmpipe": what the text form is relative to */
#define GPUC_TARGET_ATTR(field, ...) int64_t field;
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
    const gpuc_constants *constants; /* by which default schedules decide */
    const gpuc_target_value *others; /* of the kind's attributes behind those above */
    const struct gpuc_target *start; /* the kind or tag alone, before anything follows from it */
};

/* Whether work-items run one by one on CPU cores, or loops do. */
bool gpuc_target_is_cpu(const gpuc_target *t);
/* Whether kernels run on a CPU in any way: also where its lanes are work-items. */
bool gpuc_target_is_software(const gpuc_target *t);
/* Whether the threads of a work-group run side by side: on a GPU, or on what is not known to be a CPU. */
bool gpuc_target_is_gpu(const gpuc_target *t);
/* How a target runs parallel work. */
typedef enum gpuc_target_class {
    GPUC_CLASS_GPU,      /* many invocations side by side, vectors of a few lanes */
    GPUC_CLASS_SIMD_CPU, /* work-items run one by one on CPU cores: explicit wide vectors */
    GPUC_CLASS_C         /* parallel loops over cores, vectors or what the C compiler makes of scalar loops */
} gpuc_target_class;
gpuc_target_class gpuc_target_classify(const gpuc_target *t);
/* Lanes of an explicit vector of this type; 1: none. */
int gpuc_target_lanes(const gpuc_target *t, gpuc_dtype type);
/* Bits of a block of packed weights: those of a vector, unless the target says more. */
int64_t gpuc_target_block_bits(const gpuc_target *t);
/* Units of a panel of recurrent weights, which a core, or a subgroup on one, makes at a time; 0: threads make a
 * unit each, and weights are not packed. */
int64_t gpuc_target_recurrent_block(const gpuc_target *t, gpuc_dtype dtype);
/* Targets that one stands for, if it lists several levels of instruction sets, and each of them, the richest first.
 * They agree in the layout of weights. Any other one stands for itself. */
int gpuc_target_num_levels(const gpuc_target *t);
const gpuc_target *gpuc_target_level(gpuc_ctx *ctx, const gpuc_target *t, int i);
/* Lanes (a power of two) that a vector of the language may have in a statement whose widest element has so
 * many bits; 1: scalars only. */
int gpuc_target_max_lanes(const gpuc_target *t, int bits);
/* Does the target sum several products of integers of so many bits in one instruction? */
bool gpuc_target_has_dot(const gpuc_target *t, int bits);
/* Does it have cooperative matrices? They are not loaded from buffers of the storage class Uniform. */
bool gpuc_target_has_matrices(const gpuc_target *t);
/* Is a subgroup a vector of a CPU, whose lanes are its threads? */
bool gpuc_target_lanes_are_threads(const gpuc_target *t);
/* Do convolutions keep channels last, where lanes are threads? */
bool gpuc_target_keeps_channels_last(const gpuc_target *t);
/* Target features as gpuc_feature bits. */
uint32_t gpuc_target_features(const gpuc_target *t);

#endif
