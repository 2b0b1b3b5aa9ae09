/* SPDX-License-Identifier: Apache-2.0 */
/* -from_device: attributes that a live device reports. */
#include <inttypes.h>
#include <string.h>

#include "abi/kernel.h"
#include "target/private.h"

static gpuc_attr_value ask(gpuc_ctx *ctx, gpuc_device *device, gpuc_device_attr attr)
{
    gpuc_attr_value v = {0};
    GPUC_RAISE_IF(ctx, device->api->get_attr(device, attr, &v));
    return v;
}

static const struct {
    gpuc_device_attr from;
    int to;
    bool filled;
} numbers[] = {
#define GPUC_LIMIT(target, device, fill) {GPUC_ATTR_##device, GPUC_TARGET_ATTR_##target, fill},
#include "abi/limits.def"
#undef GPUC_LIMIT
};

static void fill_gpu(gpuc_ctx *ctx, gpuc_target_draft *d, gpuc_device *device)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!numbers[i].filled) continue;
        gpuc_attr_value v = ask(ctx, device, numbers[i].from);
        /* What is below the specification's floor is a driver that does not know: the floor stands. */
        int64_t floor = gpuc_target_attrs[numbers[i].to].by_kind[d->t.kind];
        if (!v.known || v.i <= 0 || (gpuc_target_attrs[numbers[i].to].required && v.i < floor)) continue;
        gpuc_target_derive(d, numbers[i].to, v.i);
    }
    gpuc_attr_value features = ask(ctx, device, GPUC_ATTR_FEATURES);
    for (int bit = 0; features.known && bit < GPUC_FEATURE_COUNT; bit++) {
        const char *name = gpuc_feature_name((gpuc_feature)(1u << bit));
        for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++)
            if (strcmp(gpuc_target_attrs[i].name, name) == 0) gpuc_target_derive(d, i, features.i >> bit & 1);
    }
    gpuc_attr_value iterations = ask(ctx, device, GPUC_ATTR_MAX_ITERATIONS);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_max_iterations, iterations.known ? iterations.i : 0);
    gpuc_attr_value warp = ask(ctx, device, GPUC_ATTR_WARP_SIZE);
    gpuc_attr_value control = ask(ctx, device, GPUC_ATTR_SUBGROUP_SIZE_CONTROL);
    if (warp.known && control.known && control.i && warp.i > 1)
        gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, warp.i);
}

/* A CPU that plays a GPU wants other schedules: how many lanes it has, and what reads fast there. */
static void fill_software(gpuc_ctx *ctx, gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value software = ask(ctx, device, GPUC_ATTR_IS_SOFTWARE);
    if (!software.known || !software.i) return;
    gpuc_attr_value bits = ask(ctx, device, GPUC_ATTR_VECTOR_BITS);
    gpuc_attr_value warp = ask(ctx, device, GPUC_ATTR_WARP_SIZE);
    if (d->t.kind == GPUC_TARGET_VULKAN) {
        gpuc_target_derive(d, GPUC_TARGET_ATTR_simd_lanes, warp.known && warp.i > 1 ? warp.i : 8);
        gpuc_target_derive(d, GPUC_TARGET_ATTR_texel, 1);
        gpuc_target_derive(d, GPUC_TARGET_ATTR_hidden_lanes, 1);
        gpuc_target_derive(d, GPUC_TARGET_ATTR_wide_stores, 1);
        if (warp.known && warp.i > 1) gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, warp.i);
        return;
    }
    int64_t width = bits.known && bits.i >= 128 ? bits.i : 128;
    gpuc_target_derive(d, GPUC_TARGET_ATTR_vector_bits, width);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_simd_lanes, width / 32);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_last_level_cache, gpuc_target_host_cache());
}

void gpuc_target_fill_device(gpuc_ctx *ctx, gpuc_target_draft *d, gpuc_device *device)
{
    if (!device)
        gpuc_raise(
            ctx, GPUC_INVALID_ARGUMENT,
            "target '%s -from_device=%d' needs that device open; write a preset or attributes where there is "
            "none",
            gpuc_target_kind(&d->t), d->device_index);
    if (device->type != gpuc_target_device_type(&d->t))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target kind '%s' cannot be filled from a device of kind '%s'",
                   gpuc_target_kind(&d->t), device->api->name);
    if (d->t.kind == GPUC_TARGET_C) {
        d->t.mcpu = "native";
        gpuc_target_fill_native(d);
        return;
    }
    fill_gpu(ctx, d, device);
    fill_software(ctx, d, device);
}
