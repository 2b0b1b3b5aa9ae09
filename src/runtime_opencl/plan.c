/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan on OpenCL: sets arguments and enqueues its kernels and copies. */
#include "runtime_opencl/cl.h"

#include <string.h>

typedef struct cl_arg {
    uint64_t buffer; /* id; 0: never set */
    cl_int offset;   /* in elements */
} cl_arg;

typedef struct cl_step {
    const gpuc_kernel *meta; /* NULL: a copy */
    cl_kernel handle;
    uint32_t num_tensors;
    bool empty; /* nothing to launch or to copy */
    const gpuc_step_tensor *tensors;
    cl_arg *set; /* what the kernel's arguments are now */
    size_t global[3], local[3];
} cl_step;

typedef struct cl_plan {
    gpuc_cl_device *dev;
    gpuc_arena arena;
    cl_step *steps;
    uint32_t num_steps;
    cl_event *events; /* of the last run; NULL without profiling */
} cl_plan;

/* A tensor's memory in one run. */
typedef struct cl_place {
    const gpuc_cl_buffer *buffer;
    uint64_t offset;
} cl_place;

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for an OpenCL plan");
}

static const char *step_name(const cl_step *s)
{
    return s->meta ? s->meta->name : "copy";
}

static gpuc_status set_scalar(const gpuc_cl_device *dev, cl_step *s, uint32_t i, int64_t value)
{
    gpuc_dtype t = s->meta->scalars[i];
    union {
        cl_int i32;
        cl_long i64;
        cl_float f32;
    } v;
    size_t size = gpuc_dtype_bytes(t);
    if (t.code == GPUC_DTYPE_FLOAT) {
        double d;
        memcpy(&d, &value, sizeof d);
        v.f32 = (float)d;
    } else if (t.bits == 64) {
        v.i64 = value;
    } else {
        if (value < INT32_MIN || value > UINT32_MAX)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "scalar %u is %lld, which does not fit 32 bits", i,
                             (long long)value);
        v.i32 = (cl_int)(uint32_t)value;
    }
    GPUC_CL_TRY("clSetKernelArg", dev->fn->SetKernelArg(s->handle, 2 * s->num_tensors + i, size, &v));
    return NULL;
}

static gpuc_status add_launch(cl_plan *plan, const gpuc_step *from, cl_step *to)
{
    gpuc_cl_module *m = (gpuc_cl_module *)from->module;
    if (from->kernel >= m->num_kernels)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "kernel number %u of a module with %u", from->kernel,
                         m->num_kernels);
    const gpuc_cl_kernel *k = &m->kernels[from->kernel];
    to->meta = k->meta;
    if (from->num_tensors != k->meta->num_tensors || from->num_scalars != k->meta->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the kernel takes %u tensors and %u scalars, the step has %u and %u",
                         k->meta->num_tensors, k->meta->num_scalars, from->num_tensors, from->num_scalars);
    to->empty = from->launch[0] == 0 || from->launch[1] == 0 || from->launch[2] == 0;
    if (to->empty) return NULL;
    for (int i = 0; i < 3; i++) {
        to->local[i] = k->meta->local_size[i];
        if (__builtin_mul_overflow((size_t)from->launch[i], to->local[i], &to->global[i]))
            return gpuc_fail(GPUC_UNSUPPORTED, "%u work-groups of %zu in %c overflow", from->launch[i],
                             to->local[i], "xyz"[i]);
    }
    to->set = gpuc_arena_alloc_array(&plan->arena, from->num_tensors, sizeof *to->set);
    if (!to->set) return out_of_memory();
    GPUC_TRY(gpuc_cl_kernel_create(plan->dev, k, &to->handle));
    for (uint32_t i = 0; i < from->num_scalars; i++) GPUC_TRY(set_scalar(plan->dev, to, i, from->scalars[i]));
    return NULL;
}

static gpuc_status add_step(cl_plan *plan, const gpuc_step *from, cl_step *to)
{
    to->num_tensors = from->num_tensors;
    gpuc_step_tensor *tensors = gpuc_arena_alloc_array(&plan->arena, from->num_tensors, sizeof *tensors);
    if (!tensors) return out_of_memory();
    if (from->num_tensors) memcpy(tensors, from->tensors, from->num_tensors * sizeof *tensors);
    to->tensors = tensors;
    if (from->module) return add_launch(plan, from, to);
    if (from->num_tensors != 2 || from->tensors[0].size != from->tensors[1].size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy step needs two tensors of one size");
    to->empty = from->tensors[0].size == 0;
    return NULL;
}

static gpuc_status ensure_profiling_queue(gpuc_cl_device *dev)
{
    cl_int error = CL_SUCCESS;
    pthread_mutex_lock(&dev->lock);
    if (!dev->profiling_queue)
        dev->profiling_queue =
            dev->fn->CreateCommandQueue(dev->context, dev->id, CL_QUEUE_PROFILING_ENABLE, &error);
    bool ok = dev->profiling_queue != NULL;
    pthread_mutex_unlock(&dev->lock);
    return ok ? NULL : gpuc_cl_fail("clCreateCommandQueue", error);
}

static gpuc_status fill_plan(cl_plan *plan, const gpuc_step *steps, uint32_t count, uint32_t flags)
{
    plan->steps = gpuc_arena_alloc_array(&plan->arena, count, sizeof *plan->steps);
    if (!plan->steps) return out_of_memory();
    plan->num_steps = count;
    if (flags & GPUC_PLAN_PROFILING) {
        GPUC_TRY(ensure_profiling_queue(plan->dev));
        plan->events = gpuc_arena_alloc_array(&plan->arena, count, sizeof *plan->events);
        if (!plan->events) return out_of_memory();
    }
    for (uint32_t i = 0; i < count; i++) {
        gpuc_status s = add_step(plan, &steps[i], &plan->steps[i]);
        if (s) return gpuc_error_prefix(s, "step %u (%s)", i, step_name(&plan->steps[i]));
    }
    return NULL;
}

gpuc_status gpuc_cl_plan_create(gpuc_device *device, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                gpuc_plan **out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    *out = NULL;
    cl_plan *plan = gpuc_mem_alloc(dev->allocator, sizeof *plan);
    if (!plan) return out_of_memory();
    plan->dev = dev;
    gpuc_arena_init(&plan->arena, dev->allocator);
    gpuc_status s = fill_plan(plan, steps, count, flags);
    if (s) {
        gpuc_cl_plan_destroy((gpuc_plan *)plan);
        return s;
    }
    *out = (gpuc_plan *)plan;
    return NULL;
}

static void drop_events(cl_plan *plan)
{
    for (uint32_t i = 0; plan->events && i < plan->num_steps; i++) {
        if (plan->events[i]) plan->dev->fn->ReleaseEvent(plan->events[i]);
        plan->events[i] = NULL;
    }
}

void gpuc_cl_plan_destroy(gpuc_plan *p)
{
    cl_plan *plan = (cl_plan *)p;
    if (!plan) return;
    drop_events(plan);
    for (uint32_t i = 0; i < plan->num_steps; i++)
        if (plan->steps[i].handle) plan->dev->fn->ReleaseKernel(plan->steps[i].handle);
    gpuc_arena_deinit(&plan->arena);
    gpuc_mem_free(plan->dev->allocator, plan, sizeof *plan);
}

static gpuc_status resolve(const cl_plan *plan, const gpuc_bindings *bindings, const gpuc_step_tensor *t,
                           cl_place *out)
{
    if (t->slot >= bindings->count || !bindings->slots[t->slot].buffer)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "slot %u is not bound", t->slot);
    const gpuc_binding *b = &bindings->slots[t->slot];
    if (b->buffer->device != &plan->dev->base)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "slot %u is bound to a buffer of another device", t->slot);
    if (b->offset > b->buffer->size || b->size > b->buffer->size - b->offset)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "slot %u: the binding exceeds its buffer of %zu bytes",
                         t->slot, b->buffer->size);
    if (t->offset > b->size || t->size > b->size - t->offset)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT, "slot %u: %llu bytes at %llu exceed the %llu bytes that are bound",
            t->slot, (unsigned long long)t->size, (unsigned long long)t->offset, (unsigned long long)b->size);
    *out = (cl_place){.buffer = (const gpuc_cl_buffer *)b->buffer, .offset = b->offset + t->offset};
    return NULL;
}

static gpuc_status set_tensor(const cl_plan *plan, cl_step *s, uint32_t t, cl_place place)
{
    const gpuc_kernel_tensor *meta = &s->meta->tensors[t];
    uint64_t element = gpuc_dtype_bytes(meta->dtype);
    if (place.offset % element != 0 || (meta->alignment > 1 && place.offset % meta->alignment != 0))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "offset %llu is not a multiple of %llu bytes",
                         (unsigned long long)place.offset,
                         (unsigned long long)(meta->alignment > element ? meta->alignment : element));
    if (place.offset / element > INT32_MAX)
        return gpuc_fail(GPUC_UNSUPPORTED, "offset %llu exceeds 2^31 elements",
                         (unsigned long long)place.offset);
    cl_int offset = (cl_int)(place.offset / element);
    cl_arg *set = &s->set[t];
    if (set->buffer != place.buffer->id) {
        set->buffer = 0;
        GPUC_CL_TRY("clSetKernelArg", plan->dev->fn->SetKernelArg(s->handle, 2 * t, sizeof place.buffer->mem,
                                                                  &place.buffer->mem));
        GPUC_CL_TRY("clSetKernelArg",
                    plan->dev->fn->SetKernelArg(s->handle, 2 * t + 1, sizeof offset, &offset));
    } else if (set->offset != offset) {
        set->buffer = 0;
        GPUC_CL_TRY("clSetKernelArg",
                    plan->dev->fn->SetKernelArg(s->handle, 2 * t + 1, sizeof offset, &offset));
    }
    *set = (cl_arg){.buffer = place.buffer->id, .offset = offset};
    return NULL;
}

static gpuc_status run_launch(const cl_plan *plan, cl_step *s, const gpuc_bindings *bindings,
                              cl_command_queue queue, cl_event *event)
{
    for (uint32_t t = 0; t < s->num_tensors; t++) {
        cl_place place;
        gpuc_status status = resolve(plan, bindings, &s->tensors[t], &place);
        if (!status) status = set_tensor(plan, s, t, place);
        if (status) return gpuc_error_prefix(status, "tensor %u", t);
    }
    GPUC_CL_TRY(
        "clEnqueueNDRangeKernel",
        plan->dev->fn->EnqueueNDRangeKernel(queue, s->handle, 3, NULL, s->global, s->local, 0, NULL, event));
    __atomic_fetch_add(&plan->dev->base.launches, 1, __ATOMIC_RELAXED);
    return NULL;
}

static gpuc_status run_copy(const cl_plan *plan, const cl_step *s, const gpuc_bindings *bindings,
                            cl_command_queue queue, cl_event *event)
{
    cl_place from, to;
    GPUC_TRY(resolve(plan, bindings, &s->tensors[0], &from));
    GPUC_TRY(resolve(plan, bindings, &s->tensors[1], &to));
    if (from.buffer == to.buffer && from.offset == to.offset) return NULL;
    GPUC_CL_TRY("clEnqueueCopyBuffer",
                plan->dev->fn->EnqueueCopyBuffer(queue, from.buffer->mem, to.buffer->mem, from.offset,
                                                 to.offset, s->tensors[0].size, 0, NULL, event));
    return NULL;
}

static gpuc_status enqueue_steps(cl_plan *plan, const gpuc_bindings *bindings, cl_command_queue queue)
{
    for (uint32_t i = 0; i < plan->num_steps; i++) {
        cl_step *s = &plan->steps[i];
        if (s->empty) continue;
        cl_event *event = plan->events ? &plan->events[i] : NULL;
        gpuc_status status =
            s->meta ? run_launch(plan, s, bindings, queue, event) : run_copy(plan, s, bindings, queue, event);
        if (status) return gpuc_error_prefix(status, "step %u (%s)", i, step_name(s));
    }
    return NULL;
}

/* Enqueues all steps behind a user event. On a CPU the driver's workers and the enqueuing thread would
 * contend for the locks of the queue and for processors at each launch, which costs more than starting early
 * gains. */
static gpuc_status enqueue_behind_gate(cl_plan *plan, const gpuc_bindings *bindings, cl_command_queue queue)
{
    const gpuc_cl_fns *fn = plan->dev->fn;
    cl_int error;
    cl_event gate = fn->CreateUserEvent(plan->dev->context, &error);
    if (!gate) return gpuc_cl_fail("clCreateUserEvent", error);
    error = fn->EnqueueBarrierWithWaitList(queue, 1, &gate, NULL);
    gpuc_status status = error == CL_SUCCESS ? enqueue_steps(plan, bindings, queue)
                                             : gpuc_cl_fail("clEnqueueBarrierWithWaitList", error);
    error = fn->SetUserEventStatus(gate, CL_COMPLETE);
    fn->ReleaseEvent(gate);
    return status || error == CL_SUCCESS ? status : gpuc_cl_fail("clSetUserEventStatus", error);
}

static gpuc_status run_steps(cl_plan *plan, const gpuc_bindings *bindings, cl_command_queue queue)
{
    bool gated = plan->dev->caps.is_cpu && plan->num_steps > 1;
    GPUC_TRY(gated ? enqueue_behind_gate(plan, bindings, queue) : enqueue_steps(plan, bindings, queue));
    GPUC_CL_TRY("clFlush", plan->dev->fn->Flush(queue));
    return NULL;
}

gpuc_status gpuc_cl_plan_run(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    cl_plan *plan = (cl_plan *)p;
    gpuc_cl_device *dev = plan->dev;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    atomic_fetch_add(&s->queued, 1);
    if (!plan->events) return run_steps(plan, bindings, s->queue);
    drop_events(plan);
    GPUC_TRY(gpuc_cl_queue_join(dev, s->queue, dev->profiling_queue));
    gpuc_status status = run_steps(plan, bindings, dev->profiling_queue);
    gpuc_status joined = gpuc_cl_queue_join(dev, dev->profiling_queue, s->queue);
    if (!status) return joined;
    gpuc_status_release(joined);
    return status;
}

gpuc_status gpuc_cl_plan_profile(gpuc_plan *p, double *out_ns, uint32_t count)
{
    const cl_plan *plan = (const cl_plan *)p;
    if (!plan->events) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the plan was created without profiling");
    for (uint32_t i = 0; i < count; i++) {
        out_ns[i] = 0;
        if (i >= plan->num_steps || !plan->events[i]) continue;
        cl_ulong start = 0, end = 0;
        GPUC_CL_TRY("clGetEventProfilingInfo",
                    plan->dev->fn->GetEventProfilingInfo(plan->events[i], CL_PROFILING_COMMAND_START,
                                                         sizeof start, &start, NULL));
        GPUC_CL_TRY("clGetEventProfilingInfo",
                    plan->dev->fn->GetEventProfilingInfo(plan->events[i], CL_PROFILING_COMMAND_END,
                                                         sizeof end, &end, NULL));
        out_ns[i] = end > start ? (double)(end - start) : 0;
    }
    return NULL;
}
