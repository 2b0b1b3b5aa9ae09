/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan on the CPU: calls its kernels one by one. */
#include "runtime_cpu/cpu.h"

#include <string.h>
#include <time.h>

#include "base/arena.h"

typedef struct cpu_step {
    const gpuc_cpu_kernel *kernel; /* NULL: a copy */
    uint32_t num_tensors;
    bool empty; /* nothing to launch or to copy */
    const gpuc_step_tensor *tensors;
    const int64_t *scalars;
} cpu_step;

typedef struct cpu_plan {
    gpuc_cpu_device *dev;
    gpuc_arena arena;
    cpu_step *steps;
    uint32_t num_steps;
    void **pointers; /* of the step that runs */
    double *ns;      /* NULL without profiling */
} cpu_plan;

static const char *step_name(const cpu_step *s)
{
    return s->kernel ? s->kernel->meta->name : "copy";
}

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a plan of the CPU device");
}

static void *copy_array(gpuc_arena *arena, const void *items, uint32_t count, size_t item_size)
{
    void *copy = gpuc_arena_alloc_array(arena, count, item_size);
    if (copy && count) memcpy(copy, items, count * item_size);
    return copy;
}

static gpuc_status check_launch(const gpuc_step *from, const gpuc_kernel *k)
{
    if (from->num_tensors != k->num_tensors || from->num_scalars != k->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "kernel '%s' takes %u tensors and %u scalars, the step has %u and %u", k->name,
                         k->num_tensors, k->num_scalars, from->num_tensors, from->num_scalars);
    for (int i = 0; i < 3; i++)
        if (from->launch[i] > 1)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "kernel '%s': a launch on the CPU device is 1,1,1, not %u,%u,%u", k->name,
                             from->launch[0], from->launch[1], from->launch[2]);
    return NULL;
}

static gpuc_status add_step(cpu_plan *plan, const gpuc_step *from, cpu_step *to)
{
    if (from->module) {
        const gpuc_cpu_module *m = (const gpuc_cpu_module *)from->module;
        if (from->kernel >= m->num_kernels)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "kernel number %u of a module with %u", from->kernel,
                             m->num_kernels);
        to->kernel = &m->kernels[from->kernel];
        GPUC_TRY(check_launch(from, to->kernel->meta));
        to->empty = from->launch[0] == 0 || from->launch[1] == 0 || from->launch[2] == 0;
    } else {
        if (from->num_tensors != 2 || from->tensors[0].size != from->tensors[1].size)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "a copy step needs two tensors of one size");
        to->empty = from->tensors[0].size == 0;
    }
    to->num_tensors = from->num_tensors;
    to->tensors = copy_array(&plan->arena, from->tensors, from->num_tensors, sizeof *from->tensors);
    to->scalars = copy_array(&plan->arena, from->scalars, from->num_scalars, sizeof *from->scalars);
    return to->tensors && to->scalars ? NULL : out_of_memory();
}

static gpuc_status fill_plan(cpu_plan *plan, const gpuc_step *steps, uint32_t count, uint32_t flags)
{
    uint32_t max = 1;
    plan->steps = gpuc_arena_alloc_array(&plan->arena, count, sizeof *plan->steps);
    if (!plan->steps) return out_of_memory();
    for (uint32_t i = 0; i < count; i++) {
        GPUC_TRY(gpuc_error_prefix(add_step(plan, &steps[i], &plan->steps[i]), "step %u", i));
        if (steps[i].num_tensors > max) max = steps[i].num_tensors;
    }
    plan->num_steps = count;
    plan->pointers = gpuc_arena_alloc_array(&plan->arena, max, sizeof *plan->pointers);
    bool profiling = flags & GPUC_PLAN_PROFILING;
    if (profiling) plan->ns = gpuc_arena_alloc_array(&plan->arena, count, sizeof *plan->ns);
    return plan->pointers && (plan->ns || !profiling) ? NULL : out_of_memory();
}

gpuc_status gpuc_cpu_plan_create(gpuc_device *device, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                 gpuc_plan **out)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    *out = NULL;
    cpu_plan *plan = gpuc_mem_alloc(dev->allocator, sizeof *plan);
    if (!plan) return out_of_memory();
    plan->dev = dev;
    gpuc_arena_init(&plan->arena, dev->allocator);
    gpuc_status s = fill_plan(plan, steps, count, flags);
    if (s) {
        gpuc_cpu_plan_destroy((gpuc_plan *)plan);
        return s;
    }
    *out = (gpuc_plan *)plan;
    return NULL;
}

void gpuc_cpu_plan_destroy(gpuc_plan *p)
{
    cpu_plan *plan = (cpu_plan *)p;
    if (!plan) return;
    gpuc_arena_deinit(&plan->arena);
    gpuc_mem_free(plan->dev->allocator, plan, sizeof *plan);
}

static gpuc_status resolve(const cpu_plan *plan, const gpuc_bindings *bindings, const gpuc_step_tensor *t,
                           void **out)
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
    *out = (char *)b->buffer->host + b->offset + t->offset;
    return NULL;
}

static gpuc_status resolve_all(const cpu_plan *plan, const cpu_step *s, const gpuc_bindings *bindings)
{
    for (uint32_t t = 0; t < s->num_tensors; t++) {
        GPUC_TRY(gpuc_error_prefix(resolve(plan, bindings, &s->tensors[t], &plan->pointers[t]),
                                   "%s: tensor %u", step_name(s), t));
        uint32_t alignment = s->kernel ? s->kernel->meta->tensors[t].alignment : 1;
        if (alignment > 1 && (uintptr_t)plan->pointers[t] % alignment != 0)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: tensor %u is not aligned to %u bytes", step_name(s),
                             t, alignment);
    }
    return NULL;
}

static gpuc_status run_step(const cpu_plan *plan, const cpu_step *s)
{
    if (!s->kernel) {
        memmove(plan->pointers[1], plan->pointers[0], s->tensors[0].size);
        return NULL;
    }
    int rc = s->kernel->fn(&plan->dev->env, plan->pointers, s->scalars);
    __atomic_fetch_add(&plan->dev->base.launches, 1, __ATOMIC_RELAXED);
    if (rc != 0) return gpuc_fail(GPUC_INTERNAL, "kernel '%s' returned %d", s->kernel->meta->name, rc);
    return NULL;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static gpuc_status run_steps(cpu_plan *plan, const gpuc_bindings *bindings)
{
    for (uint32_t i = 0; i < plan->num_steps; i++) {
        const cpu_step *s = &plan->steps[i];
        if (s->empty) continue;
        GPUC_TRY(resolve_all(plan, s, bindings));
        double start = plan->ns ? now_ns() : 0;
        GPUC_TRY(run_step(plan, s));
        if (plan->ns) plan->ns[i] = now_ns() - start;
    }
    return NULL;
}

gpuc_status gpuc_cpu_plan_run(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    cpu_plan *plan = (cpu_plan *)p;
    (void)stream;
    if (plan->dev->pool) gpuc_cpu_pool_begin_burst(plan->dev->pool);
    gpuc_status s = run_steps(plan, bindings);
    if (plan->dev->pool) gpuc_cpu_pool_end_burst(plan->dev->pool);
    return s;
}

gpuc_status gpuc_cpu_plan_profile(gpuc_plan *p, double *out_ns, uint32_t count)
{
    const cpu_plan *plan = (const cpu_plan *)p;
    if (!plan->ns) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the plan was created without profiling");
    for (uint32_t i = 0; i < count; i++) out_ns[i] = i < plan->num_steps ? plan->ns[i] : 0;
    return NULL;
}
