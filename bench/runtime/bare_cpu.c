/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's function, called. */
#include "launches.h"
#include "runtime_cpu/cpu.h"

static gpuc_status open_bare(launches *l, void **out)
{
    *out = l;
    return NULL;
}

static gpuc_status nothing(void *self)
{
    (void)self;
    return NULL;
}

static gpuc_status append(void *self, int count)
{
    launches *l = self;
    const gpuc_cpu_module *m = (const gpuc_cpu_module *)l->step.module;
    const gpuc_cpu_device *dev = (const gpuc_cpu_device *)l->dev;
    void *tensors[3];
    for (int t = 0; t < 3; t++) tensors[t] = (char *)l->slots[t].buffer->host + l->slots[t].offset;
    for (int i = 0; i < count; i++) m->kernels[l->step.kernel].fn(&dev->env, tensors, l->scalars);
    return NULL;
}

static void close_bare(void *self)
{
    (void)self;
}

const bare bare_cpu = {open_bare, nothing, append, nothing, NULL, nothing, close_bare};
