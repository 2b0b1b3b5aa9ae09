/* SPDX-License-Identifier: Apache-2.0 */
/* Registers Vulkan devices with a runtime. */
#include <gpuc/devices.h>

#include "runtime_vulkan/testing.h"
#include "runtime_vulkan/device.h"

static gpuc_status driver_count(gpuc_runtime *rt, void *self, int *out)
{
    gpuc_vk *vk = self;
    (void)rt;
    *out = 0;
    GPUC_TRY(gpuc_vk_instance_ensure(vk));
    *out = (int)vk->num_devices;
    return NULL;
}

static gpuc_status driver_open(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    (void)rt;
    return gpuc_vk_device_open(self, index, out);
}

static void driver_free(gpuc_runtime *rt, void *self)
{
    gpuc_vk *vk = self;
    (void)rt;
    gpuc_vk_instance_drop(vk);
    pthread_mutex_destroy(&vk->lock);
    gpuc_mem_free(vk->allocator, vk, sizeof(*vk));
}

static const gpuc_device_driver driver = {
    .type = GPUC_DEVICE_VULKAN,
    .name = "vulkan",
    .count = driver_count,
    .open = driver_open,
    .free_self = driver_free,
};

/* device_api.vulkan(): the table of functions, as a handle. */
static gpuc_status device_api(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    (void)self;
    *ret = (gpuc_value){.kind = GPUC_VALUE_HANDLE, .as.handle = (void *)&gpuc_vk_api};
    return NULL;
}

gpuc_status gpuc_vulkan_register_with(gpuc_runtime *rt, void *get_instance_proc_addr)
{
    gpuc_allocator allocator = gpuc_runtime_allocator(rt);
    gpuc_vk *vk = gpuc_mem_alloc(allocator, sizeof(*vk));
    if (!vk) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    vk->rt = rt;
    vk->allocator = allocator;
    *(void **)&vk->given_get_proc = get_instance_proc_addr;
    pthread_mutex_init(&vk->lock, NULL);
    gpuc_status s = gpuc_runtime_add_driver(rt, &driver, vk);
    if (s) {
        driver_free(rt, vk);
        return s;
    }
    gpuc_function *f;
    GPUC_TRY(gpuc_function_create(rt, device_api, NULL, NULL, NULL, &f));
    s = gpuc_registry_set(rt, "device_api.vulkan", f, true);
    gpuc_function_release(f);
    return s;
}

gpuc_status gpuc_vulkan_register(gpuc_runtime *rt)
{
    return gpuc_vulkan_register_with(rt, NULL);
}
