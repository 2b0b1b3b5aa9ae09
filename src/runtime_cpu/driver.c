/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the CPU device with a runtime. */
#include <gpuc/devices.h>

#include "runtime_cpu/cpu.h"

static gpuc_status count(gpuc_runtime *rt, void *self, int *out)
{
    (void)rt;
    (void)self;
    *out = 1;
    return NULL;
}

static gpuc_status open_device(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    (void)self;
    *out = NULL;
    if (index != 0) return gpuc_fail(GPUC_NOT_FOUND, "there is no CPU device %d: the only one is 0", index);
    return gpuc_cpu_device_open(rt, out);
}

static void free_self(gpuc_runtime *rt, void *self)
{
    (void)rt;
    (void)self;
}

gpuc_status gpuc_cpu_register(gpuc_runtime *rt)
{
    static const gpuc_device_driver driver = {
        .type = GPUC_DEVICE_CPU,
        .name = "cpu",
        .count = count,
        .open = open_device,
        .free_self = free_self,
    };
    return gpuc_runtime_add_driver(rt, &driver, NULL);
}
