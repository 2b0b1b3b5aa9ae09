/* SPDX-License-Identifier: Apache-2.0 */
/* Storage scopes and thread axes: the vocabulary of schedules, loop IR and generators. */
#ifndef GPUC_SCOPE_H
#define GPUC_SCOPE_H

#include <gpuc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a buffer lies. */
typedef enum gpuc_scope {
    GPUC_SCOPE_GLOBAL, /* "global": device memory, a kernel argument */
    GPUC_SCOPE_TEXEL,  /* "global.texel": the same memory, read through texel buffers */
    GPUC_SCOPE_TEXTURE, /* "global.texture": an image [height, width, 1 or 4 channels] of uint8 (0 to 255 for 0 to
                           1), float16 or float32, which a kernel either reads, or writes in whole texels; where
                           the target has no images, plain memory */
    GPUC_SCOPE_SHARED,  /* "shared": of one work-group */
    GPUC_SCOPE_WARP,    /* "warp": of the threads that differ in x only; read across a subgroup by shuffles */
    GPUC_SCOPE_LOCAL,   /* "local": registers of one invocation */
    GPUC_SCOPE_COOPMAT, /* "coopmat": matrices that the threads that differ in x only hold together */
    GPUC_SCOPE_COUNT
} gpuc_scope;

/* A launch dimension. */
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

/* "global", ...; "unknown scope" for a number that is none. */
GPUC_API const char *gpuc_scope_name(gpuc_scope scope);
/* The scope of that name; false, and GLOBAL, if there is none. */
GPUC_API bool gpuc_scope_parse(const char *name, gpuc_scope *out);
/* Memory of the device, not of one kernel? */
static inline bool gpuc_scope_is_global(gpuc_scope s)
{
    return s == GPUC_SCOPE_GLOBAL || s == GPUC_SCOPE_TEXEL || s == GPUC_SCOPE_TEXTURE;
}
/* "blockIdx.x", ...; "" for NONE, "unknown tag" for a number that is none. */
GPUC_API const char *gpuc_thread_tag_name(gpuc_thread_tag tag);
/* The tag of that name; false, and NONE, if there is none. */
GPUC_API bool gpuc_thread_tag_parse(const char *name, gpuc_thread_tag *out);
/* A group's number in the grid? */
static inline bool gpuc_is_block_tag(gpuc_thread_tag t)
{
    return t >= GPUC_BLOCK_X && t <= GPUC_BLOCK_Z;
}
/* An invocation's number in its group? */
static inline bool gpuc_is_thread_tag(gpuc_thread_tag t)
{
    return t >= GPUC_THREAD_X && t <= GPUC_THREAD_Z;
}

#ifdef __cplusplus
}
#endif
#endif
