/* SPDX-License-Identifier: Apache-2.0 */
/* Sets arguments, and enqueues kernels and copies: the steps of plans, and single launches. */
#include "runtime_opencl/cl.h"

#include <string.h>

#define FLUSH_OPS 100000000u /* what is launched between two flushes at most */
#define UNKNOWN_OPS 1000000

/* A tensor's memory in one launch. */
typedef struct cl_place {
    gpuc_cl_buffer *buffer;
    uint64_t offset;
} cl_place;

gpuc_status gpuc_cl_launch_check(const gpuc_cl_device *dev, const gpuc_step *step, gpuc_cl_launch *out)
{
    gpuc_cl_module *m = (gpuc_cl_module *)step->module;
    *out = (gpuc_cl_launch){0};
    if (m->dev != dev || step->kernel >= m->num_kernels)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "kernel number %u of a module with %u", step->kernel,
                         m->num_kernels);
    out->kernel = &m->kernels[step->kernel];
    const gpuc_kernel *k = out->kernel->meta;
    if (step->num_tensors != k->num_tensors || step->num_scalars != k->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the kernel takes %u tensors and %u scalars, the step has %u and %u", k->num_tensors,
                         k->num_scalars, step->num_tensors, step->num_scalars);
    for (int i = 0; i < 3; i++) {
        out->empty = out->empty || step->launch[i] == 0;
        out->local[i] = k->local_size[i];
        if (__builtin_mul_overflow((size_t)step->launch[i], out->local[i], &out->global[i]))
            return gpuc_fail(GPUC_UNSUPPORTED, "%u work-groups of %zu in %c overflow", step->launch[i],
                             out->local[i], "xyz"[i]);
    }
    return NULL;
}

/* ---- Sites ---- */

gpuc_status gpuc_cl_site_create(const gpuc_cl_device *dev, const gpuc_cl_kernel *k, gpuc_arena *arena,
                                gpuc_cl_site **out)
{
    gpuc_cl_site *s = gpuc_arena_alloc(arena, sizeof *s);
    *out = NULL;
    if (s) s->tensors = gpuc_arena_alloc_array(arena, k->meta->num_tensors, sizeof *s->tensors);
    if (s) s->scalars = gpuc_arena_alloc_array(arena, k->meta->num_scalars, sizeof *s->scalars);
    if (!s || !s->tensors || !s->scalars)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the arguments of an OpenCL kernel");
    GPUC_TRY(gpuc_cl_kernel_create(dev, k, &s->handle));
    *out = s;
    return NULL;
}

void gpuc_cl_site_release(const gpuc_cl_device *dev, gpuc_cl_site *site)
{
    if (site) dev->fn->ReleaseKernel(site->handle);
}

static gpuc_status set_scalar(const gpuc_cl_device *dev, const gpuc_kernel *k, cl_kernel handle, uint32_t i,
                              int64_t value)
{
    gpuc_dtype t = k->scalars[i];
    union {
        cl_int i32;
        cl_long i64;
        cl_float f32;
    } v;
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
    GPUC_CL_TRY("clSetKernelArg",
                dev->fn->SetKernelArg(handle, 2 * k->num_tensors + i, gpuc_dtype_bytes(t), &v));
    return NULL;
}

gpuc_status gpuc_cl_site_set_scalars(const gpuc_cl_device *dev, const gpuc_kernel *k, gpuc_cl_site *site,
                                     const int64_t *scalars)
{
    for (uint32_t i = 0; i < k->num_scalars; i++) {
        if (i < site->num_scalars_set && site->scalars[i] == scalars[i]) continue;
        if (site->num_scalars_set > i) site->num_scalars_set = i;
        GPUC_TRY(set_scalar(dev, k, site->handle, i, scalars[i]));
        site->scalars[i] = scalars[i];
        site->num_scalars_set = i + 1;
    }
    return NULL;
}

/* use: what the command does with it. */
static gpuc_status resolve(const gpuc_cl_device *dev, const gpuc_bindings *bindings,
                           const gpuc_step_tensor *t, unsigned use, cl_place *out)
{
    GPUC_TRY(gpuc_device_check_tensor(&dev->base, bindings, t));
    const gpuc_binding *b = &bindings->slots[t->slot];
    *out = (cl_place){.buffer = (gpuc_cl_buffer *)b->buffer, .offset = b->offset + t->offset};
    if (atomic_load_explicit(&out->buffer->fresh, memory_order_relaxed))
        atomic_store(&out->buffer->fresh, false);
    return gpuc_cl_buffer_check(out->buffer, use);
}

/* Kernels may access the last element whole where the tensor has a part of it only. */
static gpuc_status check_place(const gpuc_kernel_tensor *meta, cl_place place, uint64_t size)
{
    uint64_t element = gpuc_dtype_bytes(meta->dtype), address = place.offset + place.buffer->skew;
    if (place.offset % element != 0 || (meta->alignment > 1 && address % meta->alignment != 0))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "offset %llu is not a multiple of %llu bytes",
                         (unsigned long long)address,
                         (unsigned long long)(meta->alignment > element ? meta->alignment : element));
    uint64_t rest = place.buffer->base.size - place.offset;
    if (place.buffer->foreign && size <= rest && (size + element - 1) / element * element > rest)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "the kernel uses words of %llu bytes, and the buffer ends within one: make it longer",
            (unsigned long long)element);
    return NULL;
}

static gpuc_status set_tensor(const gpuc_cl_device *dev, const gpuc_kernel *k, gpuc_cl_site *site, uint32_t t,
                              cl_place place, uint64_t size)
{
    const gpuc_kernel_tensor *meta = &k->tensors[t];
    uint64_t element = gpuc_dtype_bytes(meta->dtype);
    GPUC_TRY(check_place(meta, place, size));
    if (place.offset / element > INT32_MAX)
        return gpuc_fail(GPUC_UNSUPPORTED, "offset %llu exceeds 2^31 elements",
                         (unsigned long long)place.offset);
    GPUC_TRY(gpuc_cl_image_check(meta, place.buffer, place.offset));
    cl_int offset = (cl_int)(place.offset / element);
    gpuc_cl_arg *set = &site->tensors[t];
    bool same = set->buffer == place.buffer->id;
    if (same && set->offset == offset) return NULL;
    set->buffer = 0;
    if (!same)
        GPUC_CL_TRY("clSetKernelArg",
                    dev->fn->SetKernelArg(site->handle, 2 * t, sizeof place.buffer->mem, &place.buffer->mem));
    GPUC_CL_TRY("clSetKernelArg", dev->fn->SetKernelArg(site->handle, 2 * t + 1, sizeof offset, &offset));
    *set = (gpuc_cl_arg){.buffer = place.buffer->id, .offset = offset};
    return NULL;
}

/* ---- Enqueuing ---- */

gpuc_status gpuc_cl_launch_enqueue(gpuc_cl_device *dev, const gpuc_cl_launch *launch,
                                   const gpuc_cl_groups *groups, gpuc_cl_site *site,
                                   const gpuc_step_tensor *tensors, const gpuc_bindings *bindings,
                                   gpuc_cl_queue *queue, cl_event *out_event)
{
    const gpuc_kernel *k = launch->kernel->meta;
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        cl_place place;
        gpuc_status status = resolve(dev, bindings, &tensors[t], tensors[t].access, &place);
        if (!status) status = set_tensor(dev, k, site, t, place, tensors[t].size);
        if (status) return gpuc_error_prefix(status, "tensor %u", t);
    }
    size_t offset[3] = {0}, global[3];
    memcpy(global, launch->global, sizeof global);
    if (groups) {
        offset[groups->axis] = groups->first * launch->local[groups->axis];
        global[groups->axis] = (groups->end - groups->first) * launch->local[groups->axis];
    }
    gpuc_cl_turn turn;
    gpuc_cl_turn_begin(queue, out_event, &turn);
    cl_int error =
        dev->fn->EnqueueNDRangeKernel(queue->handle, site->handle, 3, groups ? offset : NULL, global,
                                      launch->local, turn.num_waits, turn.waits, turn.place);
    GPUC_CL_TRY("clEnqueueNDRangeKernel", gpuc_cl_turn_end(dev, queue, &turn, error, out_event));
    __atomic_fetch_add(&dev->base.launches, 1, __ATOMIC_RELAXED);
    return NULL;
}

gpuc_status gpuc_cl_check_copy_step(const gpuc_step *step)
{
    if (step->num_tensors == 2 && step->tensors[0].size == step->tensors[1].size) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy step needs two tensors of one size");
}

gpuc_status gpuc_cl_copy_enqueue(gpuc_cl_device *dev, const gpuc_step_tensor *tensors,
                                 const gpuc_bindings *bindings, gpuc_cl_queue *queue, cl_event *out_event)
{
    cl_place from, to;
    gpuc_cl_turn turn;
    GPUC_TRY(resolve(dev, bindings, &tensors[0], 0, &from));
    GPUC_TRY(resolve(dev, bindings, &tensors[1], 0, &to));
    if (tensors[0].size == 0 || (from.buffer == to.buffer && from.offset == to.offset)) return NULL;
    if (from.buffer->channels || to.buffer->channels)
        return gpuc_cl_image_copy(dev, queue,
                                  (gpuc_copy_end){.buffer = &from.buffer->base, .offset = from.offset},
                                  (gpuc_copy_end){.buffer = &to.buffer->base, .offset = to.offset},
                                  tensors[0].size, false, out_event);
    gpuc_cl_turn_begin(queue, out_event, &turn);
    cl_int error =
        dev->fn->EnqueueCopyBuffer(queue->handle, from.buffer->mem, to.buffer->mem, from.offset, to.offset,
                                   tensors[0].size, turn.num_waits, turn.waits, turn.place);
    GPUC_CL_TRY("clEnqueueCopyBuffer", gpuc_cl_turn_end(dev, queue, &turn, error, out_event));
    return NULL;
}

static gpuc_status take_site(gpuc_cl_device *dev, gpuc_cl_module *m, gpuc_cl_kernel *k, gpuc_cl_site **out)
{
    gpuc_status status = NULL;
    pthread_mutex_lock(&dev->lock);
    *out = k->sites;
    if (k->sites)
        k->sites = k->sites->next;
    else
        status = gpuc_cl_site_create(dev, k, &m->arena, out);
    pthread_mutex_unlock(&dev->lock);
    return status;
}

static void give_site(gpuc_cl_device *dev, gpuc_cl_kernel *k, gpuc_cl_site *site)
{
    pthread_mutex_lock(&dev->lock);
    site->next = k->sites;
    k->sites = site;
    pthread_mutex_unlock(&dev->lock);
}

static gpuc_status launch_kernel(gpuc_cl_device *dev, const gpuc_step *step, const gpuc_bindings *bindings,
                                 gpuc_cl_stream *s)
{
    gpuc_cl_launch launch;
    gpuc_cl_site *site;
    gpuc_status status = gpuc_cl_launch_check(dev, step, &launch);
    if (!status && !launch.empty) {
        status = take_site(dev, (gpuc_cl_module *)step->module, launch.kernel, &site);
        if (site) {
            status = gpuc_cl_site_set_scalars(dev, launch.kernel->meta, site, step->scalars);
            if (!status)
                status = gpuc_cl_launch_enqueue(dev, &launch, NULL, site, step->tensors, bindings, &s->queue,
                                                NULL);
            give_site(dev, launch.kernel, site);
        }
    }
    return launch.kernel ? gpuc_error_prefix(status, "kernel '%s'", launch.kernel->meta->name) : status;
}

/* Drivers may keep what is enqueued until they are told. */
static gpuc_status flush_if_much(gpuc_cl_device *dev, gpuc_cl_stream *s, const gpuc_step *step)
{
    const gpuc_cl_module *m = (const gpuc_cl_module *)step->module;
    int64_t ops = m ? m->kernels[step->kernel].meta->cost_ops : (int64_t)(step->tensors[0].size / 4);
    if (ops < 0) ops = UNKNOWN_OPS;
    if (atomic_fetch_add(&s->unflushed, (uint64_t)ops + 1) + (uint64_t)ops < FLUSH_OPS) return NULL;
    atomic_store(&s->unflushed, 0);
    GPUC_CL_TRY("clFlush", dev->fn->Flush(s->queue.handle));
    return NULL;
}

gpuc_status gpuc_cl_launch_step(gpuc_device *device, gpuc_stream *stream, const gpuc_step *step,
                                const gpuc_bindings *bindings)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    gpuc_status status = step->module ? launch_kernel(dev, step, bindings, s) : gpuc_cl_check_copy_step(step);
    if (!status && !step->module)
        status = gpuc_cl_copy_enqueue(dev, step->tensors, bindings, &s->queue, NULL);
    atomic_fetch_add(&s->queued, 1);
    if (!status) status = flush_if_much(dev, s, step);
    return gpuc_error_prefix(status, "launch");
}
