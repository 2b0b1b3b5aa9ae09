/* SPDX-License-Identifier: Apache-2.0 */
/* Storage scopes and thread axes: the vocabulary of schedules, loop IR, generators. */
#ifndef GPUC_ABI_SCOPE_H
#define GPUC_ABI_SCOPE_H

#include <gpuc/base.h>

typedef enum gpuc_scope {
    GPUC_SCOPE_GLOBAL,  /* "global": device memory, a kernel argument */
    GPUC_SCOPE_TEXTURE, /* "global.texture": the same memory read through texel buffers or images */
    GPUC_SCOPE_SHARED,  /* "shared": of one work-group */
    GPUC_SCOPE_WARP,    /* "warp": of the threads that differ in x only; read across a subgroup by shuffles */
    GPUC_SCOPE_LOCAL,   /* "local": registers of one invocation */
    GPUC_SCOPE_COOPMAT, /* "coopmat": matrices that the threads that differ in x only hold together */
    GPUC_SCOPE_COUNT
} gpuc_scope;

typedef enum gpuc_thread_tag {
    GPUC_THREAD_NONE,
    GPUC_BLOCK_X, /* "blockIdx.x" */
    GPUC_BLOCK_Y,
    GPUC_BLOCK_Z,
    GPUC_THREAD_X, /* "threadIdx.x" */
    GPUC_THREAD_Y,
    GPUC_THREAD_Z,
    GPUC_VTHREAD, /* "vthread": expanded inside one thread */
    GPUC_THREAD_TAG_COUNT
} gpuc_thread_tag;

const char *gpuc_abi_scope_name(gpuc_scope scope);
bool gpuc_abi_scope_parse(const char *name, gpuc_scope *out);
const char *gpuc_abi_thread_tag_name(gpuc_thread_tag tag);
bool gpuc_abi_thread_tag_parse(const char *name, gpuc_thread_tag *out);
static inline bool gpuc_is_block_tag(gpuc_thread_tag t)
{
    return t >= GPUC_BLOCK_X && t <= GPUC_BLOCK_Z;
}
static inline bool gpuc_is_thread_tag(gpuc_thread_tag t)
{
    return t >= GPUC_THREAD_X && t <= GPUC_THREAD_Z;
}

/* Every planned slot starts at a multiple of this, and its size is rounded up to the second, so
 * that a 16-byte vector read of the last element stays inside. */
#define GPUC_SLOT_ALIGN 256
#define GPUC_SLOT_ROUND 16
#define GPUC_WEIGHT_ALIGN 4096 /* of the weights section in a package file */

#endif
