/* SPDX-License-Identifier: Apache-2.0 */
/* Asks devices for their attributes, which have names: gpuc's, and TVM's for the same. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/require.h"
#include "runtime/impl.h"

/* TVM's name stands where it has another one: those of tvm.runtime.Device. */
static const struct {
    const char *name, *tvm;
} names[GPUC_ATTR_COUNT] = {
    [GPUC_ATTR_EXISTS] = {"exist", NULL},
    [GPUC_ATTR_NAME] = {"device_name", "name"},
    [GPUC_ATTR_DRIVER] = {"driver_version", "driver"},
    [GPUC_ATTR_IS_SOFTWARE] = {"is_software", NULL},
    [GPUC_ATTR_API_VERSION] = {"api_version", NULL},
    [GPUC_ATTR_MAX_THREADS_PER_BLOCK] = {"max_threads_per_block", NULL},
    [GPUC_ATTR_MAX_BLOCK_X] = {"max_block_x", NULL},
    [GPUC_ATTR_MAX_BLOCK_Y] = {"max_block_y", NULL},
    [GPUC_ATTR_MAX_BLOCK_Z] = {"max_block_z", NULL},
    [GPUC_ATTR_MAX_GRID_X] = {"max_grid_x", NULL},
    [GPUC_ATTR_MAX_GRID_Y] = {"max_grid_y", NULL},
    [GPUC_ATTR_MAX_GRID_Z] = {"max_grid_z", NULL},
    [GPUC_ATTR_MAX_SHARED_BYTES] = {"max_shared_bytes", "max_shared_memory_per_block"},
    [GPUC_ATTR_WARP_SIZE] = {"warp_size", NULL},
    [GPUC_ATTR_MULTI_PROCESSOR_COUNT] = {"multi_processor_count", NULL},
    [GPUC_ATTR_TOTAL_GLOBAL_BYTES] = {"total_global_bytes", "total_global_memory"},
    [GPUC_ATTR_MAX_ALLOC_BYTES] = {"max_alloc_bytes", NULL},
    [GPUC_ATTR_MAX_BUFFER_RANGE] = {"max_buffer_range", NULL},
    [GPUC_ATTR_MAX_STORAGE_BUFFERS] = {"max_storage_buffers", NULL},
    [GPUC_ATTR_MAX_PUSH_BYTES] = {"max_push_bytes", NULL},
    [GPUC_ATTR_MAX_TEXELS] = {"max_texels", NULL},
    [GPUC_ATTR_BUFFER_ALIGN] = {"buffer_align", NULL},
    [GPUC_ATTR_UNIFIED_MEMORY] = {"unified_memory", NULL},
    [GPUC_ATTR_FEATURES] = {"features", NULL},
    [GPUC_ATTR_SUBGROUP_SIZE_CONTROL] = {"subgroup_size_control", NULL},
    [GPUC_ATTR_VECTOR_BITS] = {"vector_bits", NULL},
    [GPUC_ATTR_INSTRUCTION_SETS] = {"instruction_sets", NULL},
    [GPUC_ATTR_MAX_ITERATIONS] = {"max_iterations", NULL},
    [GPUC_ATTR_COMPUTE_VERSION] = {"compute_version", NULL},
    [GPUC_ATTR_MAX_CLOCK_RATE] = {"max_clock_rate", NULL},
    [GPUC_ATTR_MAX_THREAD_DIMENSIONS] = {"max_thread_dimensions", NULL},
    [GPUC_ATTR_MAX_REGISTERS] = {"max_registers", "max_registers_per_block"},
    [GPUC_ATTR_GCN_ARCH] = {"gcn_arch", NULL},
    [GPUC_ATTR_L2_CACHE_BYTES] = {"l2_cache_bytes", "l2_cache_size_bytes"},
    [GPUC_ATTR_AVAILABLE_GLOBAL_BYTES] = {"available_global_bytes", "available_global_memory"},
    [GPUC_ATTR_MAX_IMAGE_WIDTH] = {"max_image_width", NULL},
    [GPUC_ATTR_MAX_IMAGE_HEIGHT] = {"max_image_height", NULL},
};

const char *gpuc_device_attr_name(gpuc_device_attr attr)
{
    return (unsigned)attr < GPUC_ATTR_COUNT ? names[attr].name : NULL;
}

gpuc_status gpuc_device_attr_named(const char *name, gpuc_device_attr *out)
{
    GPUC_REQUIRE(out);
    *out = GPUC_ATTR_COUNT;
    GPUC_REQUIRE(name);
    const char *known[GPUC_ATTR_COUNT];
    for (int i = 0; i < GPUC_ATTR_COUNT; i++) {
        known[i] = names[i].name;
        if (strcmp(names[i].name, name) != 0 && (!names[i].tvm || strcmp(names[i].tvm, name) != 0)) continue;
        *out = (gpuc_device_attr)i;
        return NULL;
    }
    const char *best = gpuc_suggest(name, known, GPUC_ATTR_COUNT);
    return gpuc_fail(GPUC_NOT_FOUND, "devices have no attribute '%s'%s%s%s", name,
                     best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
}

static gpuc_attr_value ask(gpuc_device *dev, gpuc_device_attr attr)
{
    gpuc_attr_value value = {0};
    gpuc_status status = dev->api->get_attr(dev, attr, &value);
    if (!status) return value;
    gpuc_status_release(status);
    return (gpuc_attr_value){0};
}

void gpuc_runtime_fill_dimensions(gpuc_open_device *open)
{
    gpuc_attr_value v[3];
    for (int i = 0; i < 3; i++) v[i] = ask(open->device, (gpuc_device_attr)(GPUC_ATTR_MAX_BLOCK_X + i));
    if (v[0].known && v[1].known && v[2].known)
        snprintf(open->dimensions, sizeof open->dimensions, "[%lld, %lld, %lld]", (long long)v[0].i,
                 (long long)v[1].i, (long long)v[2].i);
}

gpuc_attr_value gpuc_device_get_attr(gpuc_device *dev, gpuc_device_attr attr)
{
    if (attr == GPUC_ATTR_EXISTS) return (gpuc_attr_value){.known = true, .i = 1};
    if (attr != GPUC_ATTR_MAX_THREAD_DIMENSIONS) return ask(dev, attr);
    const gpuc_open_device *open = gpuc_runtime_find_open(dev->runtime, dev);
    bool known = open && *open->dimensions;
    return (gpuc_attr_value){.known = known, .s = known ? open->dimensions : NULL};
}

gpuc_status gpuc_device_check_instruction_set(gpuc_device *dev, const char *name)
{
    gpuc_attr_value have = gpuc_device_get_attr(dev, GPUC_ATTR_INSTRUCTION_SETS),
                    called = gpuc_device_get_attr(dev, GPUC_ATTR_NAME);
    const char *set = name + strlen("cpu.");
    size_t n = strlen(set);
    for (const char *at = have.s; at && (at = strstr(at, set)); at += n)
        if (at > have.s && at[-1] == ' ' && at[n] == ' ') return NULL;
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                     "it was compiled for the instruction set %.64s, which '%s' does not have", set,
                     called.s ? called.s : dev->api->name);
}
