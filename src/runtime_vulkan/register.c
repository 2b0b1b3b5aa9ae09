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

static const gpuc_driver driver = {.struct_size = sizeof driver,
                                   .name = "vulkan",
                                   .api = &gpuc_vk_api,
                                   .count = driver_count,
                                   .open = driver_open,
                                   .free_self = driver_free};

gpuc_status gpuc_vulkan_register_with(gpuc_runtime *rt, void *get_instance_proc_addr)
{
    gpuc_allocator allocator = gpuc_runtime_allocator(rt);
    gpuc_vk *vk = gpuc_mem_alloc(allocator, sizeof(*vk));
    if (!vk) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    vk->rt = rt;
    vk->allocator = allocator;
    *(void **)&vk->given_get_proc = get_instance_proc_addr;
    pthread_mutex_init(&vk->lock, NULL);
    gpuc_status s = gpuc_driver_register(rt, &driver, vk);
    if (s) driver_free(rt, vk);
    return s;
}

gpuc_status gpuc_vulkan_register(gpuc_runtime *rt)
{
    return gpuc_vulkan_register_with(rt, NULL);
}
