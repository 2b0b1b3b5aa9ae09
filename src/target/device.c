/* SPDX-License-Identifier: Apache-2.0 */
/* -from_device: attributes that a live device reports. */
#include "abi/kernel.h"
#include "target/private.h"

static const struct {
    gpuc_device_attr from;
    gpuc_target_attr_id to;
    bool filled;
} numbers[] = {
#define GPUC_LIMIT(target, device, fill) {GPUC_ATTR_##device, GPUC_TARGET_ATTR_##target, fill},
#include "abi/limits.def"
#undef GPUC_LIMIT
};

static gpuc_status ask(gpuc_device *device, gpuc_device_attr attr, gpuc_attr_value *out)
{
    *out = (gpuc_attr_value){0};
    return device->api->get_attr(device, attr, out);
}

static gpuc_status fill_features(gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value features;
    GPUC_TRY(ask(device, GPUC_ATTR_FEATURES, &features));
    for (int bit = 0; features.known && bit < GPUC_FEATURE_COUNT; bit++) {
        int attr = gpuc_target_find_attr(d->t.kind, gpuc_feature_name((gpuc_feature)(1u << bit)));
        gpuc_target_derive(d, (gpuc_target_attr_id)attr, features.i >> bit & 1);
    }
    return NULL;
}

static gpuc_status fill_gpu(gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value v, control;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!numbers[i].filled) continue;
        GPUC_TRY(ask(device, numbers[i].from, &v));
        /* What is below the specification's floor is a driver that does not know: the floor stands. */
        int64_t floor = d->t.kind->attrs[numbers[i].to].i;
        if (!v.known || v.i <= 0 || (gpuc_target_fields[numbers[i].to].required && v.i < floor)) continue;
        gpuc_target_derive(d, numbers[i].to, v.i);
    }
    GPUC_TRY(fill_features(d, device));
    GPUC_TRY(ask(device, GPUC_ATTR_MAX_ITERATIONS, &v));
    gpuc_target_derive(d, GPUC_TARGET_ATTR_max_iterations, v.known ? v.i : 0);
    GPUC_TRY(ask(device, GPUC_ATTR_WARP_SIZE, &v));
    GPUC_TRY(ask(device, GPUC_ATTR_SUBGROUP_SIZE_CONTROL, &control));
    if (v.known && control.known && control.i && v.i > 1)
        gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, v.i);
    return NULL;
}

static gpuc_status is_software(gpuc_device *device, bool *out)
{
    gpuc_attr_value software;
    *out = false;
    GPUC_TRY(ask(device, GPUC_ATTR_IS_SOFTWARE, &software));
    *out = software.known && software.i;
    return NULL;
}

/* A CPU that plays a GPU wants other schedules: how many lanes it has, and what reads fast there. */
gpuc_status gpuc_target_vulkan_from_device(gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value warp;
    bool software;
    GPUC_TRY(fill_gpu(d, device));
    GPUC_TRY(is_software(device, &software));
    if (!software) return NULL;
    GPUC_TRY(ask(device, GPUC_ATTR_WARP_SIZE, &warp));
    gpuc_target_derive(d, GPUC_TARGET_ATTR_simd_lanes, warp.known && warp.i > 1 ? warp.i : 8);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_texel, 1);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_hidden_lanes, 1);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_wide_stores, 1);
    if (warp.known && warp.i > 1) gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, warp.i);
    return NULL;
}

gpuc_status gpuc_target_opencl_from_device(gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value bits;
    bool software;
    GPUC_TRY(fill_gpu(d, device));
    GPUC_TRY(is_software(device, &software));
    if (!software) return NULL;
    GPUC_TRY(ask(device, GPUC_ATTR_VECTOR_BITS, &bits));
    int64_t width = bits.known && bits.i >= 128 ? bits.i : 128;
    gpuc_target_derive(d, GPUC_TARGET_ATTR_vector_bits, width);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_simd_lanes, width / 32);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_last_level_cache, gpuc_target_host_cache());
    return NULL;
}

gpuc_status gpuc_target_c_from_device(gpuc_target_draft *d, gpuc_device *device)
{
    (void)device;
    GPUC_TRY(gpuc_target_draft_fill(d, "mcpu", gpuc_target_string("native")));
    gpuc_target_fill_native(d);
    return NULL;
}
