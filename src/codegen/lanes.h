/* SPDX-License-Identifier: Apache-2.0 */
/* What generators ask of accesses before they print. */
#ifndef GPUC_CODEGEN_LANES_H
#define GPUC_CODEGEN_LANES_H

#include "arith/arith.h"
#include "lower/common/lanes.h"
#include "target/target.h"

/* Whether a store of so many lanes to a parameter is made as half as many elements of 64 bits. */
bool gpuc_codegen_stores_pairs(const gpuc_target *t, gpuc_dtype dtype, int lanes);
/* Bytes of an element in shared memory: small types take a word where the target has no arithmetic
 * for them. */
size_t gpuc_codegen_shared_bytes(const gpuc_target *t, gpuc_dtype dtype);
/* How a buffer is accessed over the whole body. */
typedef struct gpuc_buffer_use {
    const gpuc_tir_buffer *buffer;
    int vec;    /* largest power of two that divides lanes and start of every contiguous vector access
                   (so 1: some are not aligned); 0: there are none */
    int widest; /* the same, of the best aligned one */
    int lanes;  /* of the accesses that cannot be done lane by lane at constant places, if all are of whole,
                   aligned  vectors of one size; else -1; 0: there are none */
    int anywhere, placed; /* the same of those at computed places; the max of those at constant places */
    bool read, written, atomic;
    int conditions;   /* around its ALLOC */
    bool conditional; /* some of it is written under a further condition, or in a loop that may not run */
    uint32_t align;   /* bytes at whose multiples it starts, beyond what vectors ask for */
} gpuc_buffer_use;
typedef struct gpuc_uses {
    gpuc_map by_buffer; /* buffer -> gpuc_buffer_use * */
    int64_t shared_bytes;
    uint32_t features;  /* gpuc_feature bits that the body's types and calls need */
    int64_t ops, bytes; /* arithmetic operations and bytes moved of one launch; -1: not constant */
    bool has_barrier, has_subgroup;
    bool has_decision; /* calls thread_decides */
} gpuc_uses;
gpuc_uses *gpuc_codegen_uses(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f);
const gpuc_buffer_use *gpuc_codegen_use(const gpuc_uses *uses, const gpuc_tir_buffer *b); /* never NULL */

/* Power of two, at most lanes, that divides the start of a stride-1 ramp; 0 for other indices. */
int gpuc_codegen_ramp_align(gpuc_analyzer *a, gpuc_expr index);
/* Whether a texel view of elements of this type exists (the formats that Vulkan requires). */
static inline bool gpuc_codegen_has_texels(gpuc_dtype t)
{
    return t.bits <= 32;
}
/* Constant number of elements of a flat buffer. Raises if it is not constant. */
int64_t gpuc_codegen_elements(gpuc_ctx *ctx, const gpuc_tir_buffer *b);

#endif
