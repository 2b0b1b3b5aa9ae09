/* SPDX-License-Identifier: Apache-2.0 */
/* Names storage scopes and thread tags, and parses their names. */
#include "abi/scope.h"

#include <string.h>

static const char *const scope_names[GPUC_SCOPE_COUNT] = {
    [GPUC_SCOPE_GLOBAL] = "global",
    [GPUC_SCOPE_TEXEL] = "global.texel",
    [GPUC_SCOPE_TEXTURE] = "global.texture",
    [GPUC_SCOPE_SHARED] = "shared",
    [GPUC_SCOPE_WARP] = "warp",
    [GPUC_SCOPE_LOCAL] = "local",
    [GPUC_SCOPE_COOPMAT] = "coopmat",
};

static const char *const tag_names[GPUC_THREAD_TAG_COUNT] = {
    [GPUC_THREAD_NONE] = "",         [GPUC_BLOCK_X] = "blockIdx.x",   [GPUC_BLOCK_Y] = "blockIdx.y",
    [GPUC_BLOCK_Z] = "blockIdx.z",   [GPUC_THREAD_X] = "threadIdx.x", [GPUC_THREAD_Y] = "threadIdx.y",
    [GPUC_THREAD_Z] = "threadIdx.z", [GPUC_VTHREAD] = "vthread",
};

const char *gpuc_scope_name(gpuc_scope scope)
{
    return (unsigned)scope < GPUC_SCOPE_COUNT ? scope_names[scope] : "unknown scope";
}

bool gpuc_scope_parse(const char *name, gpuc_scope *out)
{
    *out = GPUC_SCOPE_GLOBAL;
    for (int i = 0; name && i < GPUC_SCOPE_COUNT; i++) {
        if (strcmp(scope_names[i], name) != 0) continue;
        *out = (gpuc_scope)i;
        return true;
    }
    return false;
}

const char *gpuc_thread_tag_name(gpuc_thread_tag tag)
{
    return (unsigned)tag < GPUC_THREAD_TAG_COUNT ? tag_names[tag] : "unknown tag";
}

bool gpuc_thread_tag_parse(const char *name, gpuc_thread_tag *out)
{
    *out = GPUC_THREAD_NONE;
    for (int i = GPUC_THREAD_NONE + 1; name && i < GPUC_THREAD_TAG_COUNT; i++) {
        if (strcmp(tag_names[i], name) != 0) continue;
        *out = (gpuc_thread_tag)i;
        return true;
    }
    return false;
}
