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

gpuc_status gpuc_cpu_register(gpuc_runtime *rt)
{
    static const gpuc_driver driver = {.struct_size = sizeof driver,
                                       .name = "cpu",
                                       .api = &gpuc_cpu_api,
                                       .count = count,
                                       .open = open_device};
    return gpuc_driver_register(rt, &driver, NULL);
}
