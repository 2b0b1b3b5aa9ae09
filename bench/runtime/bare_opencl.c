/* SPDX-License-Identifier: Apache-2.0 */
/* clSetKernelArg of every argument, and clEnqueueNDRangeKernel. */
#include <stdlib.h>

#include "launches.h"
#include "runtime_opencl/cl.h"

typedef struct state {
    launches *l;
    gpuc_cl_device *dev;
    cl_kernel kernel;
    cl_command_queue queue;
} state;

static gpuc_status open_bare(launches *l, void **out)
{
    state *s = calloc(1, sizeof *s);
    gpuc_cl_module *m = (gpuc_cl_module *)l->step.module;
    cl_int error;
    *out = s;
    s->l = l;
    s->dev = (gpuc_cl_device *)l->dev;
    GPUC_TRY(gpuc_cl_kernel_create(s->dev, &m->kernels[l->step.kernel], &s->kernel));
    s->queue = s->dev->fn->CreateCommandQueue(s->dev->context, s->dev->id, 0, &error);
    return s->queue ? NULL : gpuc_cl_fail("clCreateCommandQueue", error);
}

static gpuc_status begin(void *self)
{
    (void)self;
    return NULL;
}

static gpuc_status append(void *self, int count)
{
    state *s = self;
    const gpuc_cl_fns *fn = s->dev->fn;
    const gpuc_cl_module *m = (const gpuc_cl_module *)s->l->step.module;
    const gpuc_kernel *k = m->kernels[s->l->step.kernel].meta;
    size_t global[3], local[3];
    cl_int n = (cl_int)s->l->scalars[0];
    for (int i = 0; i < 3; i++) {
        local[i] = k->local_size[i];
        global[i] = local[i] * s->l->step.launch[i];
    }
    for (int c = 0; c < count; c++) {
        for (cl_uint t = 0; t < 3; t++) {
            cl_mem mem = ((gpuc_cl_buffer *)s->l->slots[t].buffer)->mem;
            cl_int offset = 0;
            fn->SetKernelArg(s->kernel, 2 * t, sizeof mem, &mem);
            fn->SetKernelArg(s->kernel, 2 * t + 1, sizeof offset, &offset);
        }
        if (k->scalars[0].bits == 64)
            fn->SetKernelArg(s->kernel, 6, sizeof s->l->scalars[0], &s->l->scalars[0]);
        else
            fn->SetKernelArg(s->kernel, 6, sizeof n, &n);
        GPUC_CL_TRY("clEnqueueNDRangeKernel",
                    fn->EnqueueNDRangeKernel(s->queue, s->kernel, 3, NULL, global, local, 0, NULL, NULL));
    }
    return NULL;
}

static gpuc_status submit(void *self)
{
    state *s = self;
    GPUC_CL_TRY("clFlush", s->dev->fn->Flush(s->queue));
    return NULL;
}

static gpuc_status wait_for(void *self)
{
    state *s = self;
    GPUC_CL_TRY("clFinish", s->dev->fn->Finish(s->queue));
    return NULL;
}

static void close_bare(void *self)
{
    state *s = self;
    if (s->queue) s->dev->fn->ReleaseCommandQueue(s->queue);
    if (s->kernel) s->dev->fn->ReleaseKernel(s->kernel);
    free(s);
}

const bare bare_opencl = {open_bare, begin, append, submit, NULL, wait_for, close_bare};
