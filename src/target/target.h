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

/* Whether code for the target can compute in a type: it has it, or lowering puts another in its place. */
bool gpuc_target_computes(const gpuc_target *t, gpuc_dtype dtype);
/* Whether work-items run one by one on CPU cores, or loops do. */
bool gpuc_target_is_cpu(const gpuc_target *t);
/* Target features as gpuc_feature bits. */
uint32_t gpuc_target_features(const gpuc_target *t);

#endif
