/* SPDX-License-Identifier: Apache-2.0 */
/* Tags: names for targets, those that are built in and those of programs. */
#include <string.h>

#include "base/require.h"
#include "runtime/services.h"
#include "target/private.h"
#include "target/store.h"

static const gpuc_target_tag_row builtin[] = {
    {.name = "vulkan/llvmpipe",
     .target = "vulkan -max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 -max_threads_z=1024 "
               "-max_shared_memory=32768 -max_storage_buffers=32 -max_texels=134217728 -thread_warp_size=8 "
               "-float16=1 -float64=1 -int8=1 -int16=1 -int64=1 -storage8=1 -storage16=1 -subgroup=1 "
               "-subgroup_shuffle=1 -atomic_float=1 -simd_lanes=8 -num_cores=2 -unified_memory=1 -texel=1 "
               "-hidden_lanes=1 -wide_stores=1 -float_controls=1 -image_any_format=1",
     .about = "Mesa's software Vulkan (lavapipe): lanes are invocations, texel reads are the fast ones"},
    {.name = "vulkan/desktop",
     .target =
         "vulkan -max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 -max_shared_memory=32768 "
         "-max_storage_buffers=16 -max_buffer_range=1073741824 -max_texels=134217728 -float16=1 -int8=1 "
         "-int16=1 -int64=1 -storage8=1 -storage16=1 -subgroup=1 -subgroup_shuffle=1 -num_cores=16 "
         "-float_controls=1 -image_any_format=1",
     .about = "a desktop GPU of the last years, any vendor"},
    {.name = "vulkan/mobile",
     .target =
         "vulkan -max_num_threads=256 -max_threads_x=256 -max_threads_y=256 -float16=1 -int16=1 -storage16=1 "
         "-num_cores=4 -unified_memory=1",
     .about = "a phone or tablet GPU: four buffers per kernel, 16 KiB of shared memory, float16"},
    /* Shared memory: what pocl 6 has; pocl 3 has more. */
    {.name = "opencl/pocl",
     .target = "opencl -max_num_threads=4096 -max_threads_x=4096 -max_threads_y=4096 -max_threads_z=4096 "
               "-max_shared_memory=524288 -max_storage_buffers=64 -max_buffer_range=1073741824 -float64=1 "
               "-images=1 -image_any_format=1 -unified_memory=1 -native=1",
     .about =
         "OpenCL on this machine's CPU cores (pocl): work-items run one by one, explicit vectors are the "
         "fast ones"},
};

enum { NUM_BUILTIN = sizeof builtin / sizeof *builtin, MAX_NAME = 80 };

/* ---- Find ---- */

size_t gpuc_target_tag_count(gpuc_ctx *ctx)
{
    return NUM_BUILTIN + gpuc_target_held_count(ctx, &gpuc_target_held_tag);
}

const gpuc_target_tag_row *gpuc_target_tag_at(gpuc_ctx *ctx, size_t i)
{
    return i < NUM_BUILTIN ? &builtin[i] : gpuc_target_held_at(ctx, &gpuc_target_held_tag, i - NUM_BUILTIN);
}

const gpuc_target_tag_row *gpuc_target_tag_find(gpuc_ctx *ctx, const char *name)
{
    if (!name) return NULL;
    for (size_t i = 0; i < NUM_BUILTIN; i++)
        if (strcmp(builtin[i].name, name) == 0) return &builtin[i];
    return gpuc_target_held_find(ctx, &gpuc_target_held_tag, name);
}

/* ---- Register ---- */

/* The tag itself is not there yet: it cannot lead to itself. */
static void try_text(gpuc_ctx *ctx, void *arg)
{
    const gpuc_target_tag_row *tag = arg;
    gpuc_device_type type;
    int index;
    const char *name = tag->name, *text = tag->target + strspn(tag->target, " \t\r\n");
    size_t n = strlen(name);
    if (strncmp(text, name, n) == 0 && (!text[n] || strchr(" \t\r\n", text[n])))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "it is a name for itself");
    if (gpuc_target_wants_device(ctx, text, &type, &index))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "-from_device is not for tags, since it differs by machine");
    gpuc_target_parse(ctx, text, NULL);
}

gpuc_status gpuc_target_tag_register(gpuc_runtime *rt, const gpuc_target_tag_row *tag)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(tag);
    GPUC_REQUIRE(tag->name);
    GPUC_REQUIRE(tag->target);
    if (!gpuc_target_is_name(tag->name, "_-./", MAX_NAME))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "target tag '%s': a name begins with a letter or a digit, and has those, '_', '-', "
                         "'.' and '/', at most %d",
                         tag->name, MAX_NAME);
    GPUC_TRY(gpuc_target_check_free(rt, "tag", tag->name));
    GPUC_TRY(gpuc_error_prefix(gpuc_target_try(rt, try_text, (void *)tag), "target tag '%s'", tag->name));
    gpuc_target_held *held = gpuc_target_held_create(rt, &gpuc_target_held_tag);
    gpuc_target_tag_row *row = held ? gpuc_arena_alloc(&held->arena, sizeof *row) : NULL;
    gpuc_status status = NULL;
    if (row) {
        *row = (gpuc_target_tag_row){.name = gpuc_target_held_text(held, tag->name),
                                     .target = gpuc_target_held_text(held, tag->target),
                                     .about = gpuc_target_held_text(held, tag->about)};
        held->row = row;
    }
    if (!row || !row->name || !row->target || !row->about)
        status = gpuc_fail(GPUC_OUT_OF_MEMORY, "target tag '%s': out of memory", tag->name);
    if (!status) status = gpuc_target_held_enter(rt, tag->name, held);
    if (held) gpuc_object_release(&held->base);
    return status;
}
