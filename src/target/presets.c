/* SPDX-License-Identifier: Apache-2.0 */
/* Named targets. The first rows are the bare kinds. */
#include <string.h>

#include "target/private.h"

static const gpuc_target_preset presets[] = {
#define GPUC_TARGET_KIND(id, text, generator, device, what, ...) {.name = text, .attrs = "", .about = what},
#include "target/kinds.def"
#undef GPUC_TARGET_KIND
    {.name = "vulkan/llvmpipe",
     .attrs = "-max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 -max_threads_z=1024 "
              "-max_shared_memory=32768 -max_storage_buffers=32 -max_texels=134217728 -thread_warp_size=8 "
              "-float16=1 -float64=1 -int8=1 -int16=1 -int64=1 -storage8=1 -storage16=1 -subgroup=1 "
              "-subgroup_shuffle=1 -atomic_float=1 -simd_lanes=8 -num_cores=2 -unified_memory=1 -texel=1 "
              "-hidden_lanes=1 -wide_stores=1 -float_controls=1",
     .about = "Mesa's software Vulkan (lavapipe): lanes are invocations, texel reads are the fast ones"},
    {.name = "vulkan/desktop",
     .attrs = "-max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 -max_shared_memory=32768 "
              "-max_storage_buffers=16 -max_buffer_range=1073741824 -max_texels=134217728 -float16=1 -int8=1 "
              "-int16=1 -int64=1 -storage8=1 -storage16=1 -subgroup=1 -subgroup_shuffle=1 -num_cores=16 "
              "-float_controls=1",
     .about = "a desktop GPU of the last years, any vendor"},
    {.name = "vulkan/mobile",
     .attrs = "-max_num_threads=256 -max_threads_x=256 -max_threads_y=256 -float16=1 -int16=1 -storage16=1 "
              "-num_cores=4 -unified_memory=1",
     .about = "a phone or tablet GPU: four buffers per kernel, 16 KiB of shared memory, float16"},
    /* Shared memory: what pocl 6 has; pocl 3 has more. */
    {.name = "opencl/pocl",
     .attrs = "-max_num_threads=4096 -max_threads_x=4096 -max_threads_y=4096 -max_threads_z=4096 "
              "-max_shared_memory=524288 -max_storage_buffers=64 -max_buffer_range=1073741824 -float64=1 "
              "-simd_lanes=8 -unified_memory=1",
     .about =
         "OpenCL on this machine's CPU cores (pocl): work-items run one by one, explicit vectors are the "
         "fast ones",
     .native = true},
};

enum { NUM_PRESETS = sizeof presets / sizeof *presets };

const gpuc_target_preset *gpuc_target_preset_find(const char *name)
{
    for (size_t i = 0; i < NUM_PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0) return &presets[i];
    return NULL;
}

size_t gpuc_target_preset_count(void)
{
    return NUM_PRESETS;
}

const char *gpuc_target_preset_name(size_t i)
{
    return i < NUM_PRESETS ? presets[i].name : NULL;
}

const char *gpuc_target_preset_about(size_t i)
{
    return i < NUM_PRESETS ? presets[i].about : NULL;
}
