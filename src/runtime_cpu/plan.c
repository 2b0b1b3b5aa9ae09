/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan on the CPU: calls its kernels one by one. */
#include "runtime_cpu/cpu.h"

#include <string.h>
#include <time.h>

#include "base/arena.h"

typedef struct cpu_step {
    const gpuc_cpu_kernel *kernel; /* NULL: a copy */
    uint32_t num_tensors;
    bool empty;     /* nothing to launch or to copy */
    uint32_t units; /* iterations of the loop that is all of the kernel; else 1 */
    const gpuc_step_tensor *tensors;
    const int64_t *scalars;
} cpu_step;

typedef struct cpu_plan {
    gpuc_cpu_device *dev;
    gpuc_arena arena;
    cpu_step *steps;
    uint32_t num_steps;
    void **pointers;        /* of the step that runs */
    double *ns;             /* NULL without profiling */
    gpuc_parallel parallel; /* runs its loops; zeros: as the device does */
    gpuc_cpu_env env;       /* of those */
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

static gpuc_status add_step(cpu_plan *plan, const gpuc_step *from, cpu_step *to)
{
    GPUC_TRY(gpuc_cpu_check_step(plan->dev, from, &to->kernel, &to->empty));
    to->num_tensors = from->num_tensors;
    to->units = to->kernel && from->launch[0] > 1 ? from->launch[0] : 1;
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

/* Units of a step. */
typedef struct loop_part {
    const gpuc_cpu_env *whole;
    uint32_t first, end;
} loop_part;

static void run_loop_part(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                          void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    const loop_part *part = env->host;
    int64_t first = begin + part->first, stop = begin + part->end;
    if (stop > end) stop = end;
    if (first < stop) part->whole->parallel_for(part->whole, first, stop, body, arg);
}

/* part NULL: all units. */
static gpuc_status run_step(const cpu_plan *plan, const cpu_step *s, loop_part *part)
{
    const gpuc_cpu_env *env = plan->parallel.run ? &plan->env : &plan->dev->env;
    gpuc_cpu_env cut = {.struct_size = sizeof cut, .parallel_for = run_loop_part, .host = part};
    if (part) part->whole = env;
    if (s->kernel) return gpuc_cpu_call(plan->dev, part ? &cut : env, s->kernel, plan->pointers, s->scalars);
    memmove(plan->pointers[1], plan->pointers[0], s->tensors[0].size);
    return NULL;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The steps of a part. The time that each takes as a whole goes to part->step_ns, if that is not NULL. */
static gpuc_status run_steps(cpu_plan *plan, const gpuc_bindings *bindings, const gpuc_plan_part *part)
{
    for (uint32_t i = part->step; i < part->end_step + (part->end_unit > 0); i++) {
        const cpu_step *s = &plan->steps[i];
        loop_part units = {.first = i == part->step ? part->unit : 0,
                           .end = i == part->end_step ? part->end_unit : s->units};
        bool all = units.end - units.first == s->units;
        if (s->empty) continue;
        GPUC_TRY(gpuc_error_prefix(
            gpuc_cpu_resolve(plan->dev, s->kernel, s->tensors, s->num_tensors, bindings, plan->pointers),
            "%s", step_name(s)));
        double start = part->step_ns ? now_ns() : 0;
        GPUC_TRY(run_step(plan, s, all ? NULL : &units));
        if (part->step_ns) part->step_ns[i] = (now_ns() - start) * s->units / (units.end - units.first);
    }
    return NULL;
}

gpuc_status gpuc_cpu_plan_run_part(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                   gpuc_stream *stream)
{
    cpu_plan *plan = (cpu_plan *)p;
    GPUC_TRY(gpuc_device_check_stream(&plan->dev->base, stream));
    if (!gpuc_cpu_stream_idle(gpuc_cpu_stream_of(plan->dev, stream)))
        GPUC_TRY(gpuc_cpu_stream_sync(&plan->dev->base, stream));
    double start = now_ns();
    gpuc_cpu_pool *pool = plan->parallel.run ? NULL : plan->dev->pool;
    if (pool) gpuc_cpu_pool_begin_burst(pool);
    gpuc_status s = run_steps(plan, bindings, part);
    if (pool) gpuc_cpu_pool_end_burst(pool);
    part->device_ns = now_ns() - start;
    return s;
}

uint32_t gpuc_cpu_plan_units(const gpuc_plan *p, uint32_t step)
{
    return ((const cpu_plan *)p)->steps[step].units;
}

gpuc_status gpuc_cpu_plan_run(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    const cpu_plan *plan = (const cpu_plan *)p;
    return gpuc_cpu_plan_run_part(
        p, bindings, &(gpuc_plan_part){.end_step = plan->num_steps, .step_ns = plan->ns}, stream);
}

void gpuc_cpu_plan_set_parallel(gpuc_plan *p, const gpuc_parallel *loops)
{
    cpu_plan *plan = (cpu_plan *)p;
    plan->parallel = loops ? *loops : (gpuc_parallel){0};
    plan->env = gpuc_cpu_env_of(&plan->parallel);
}

gpuc_status gpuc_cpu_plan_profile(gpuc_plan *p, double *out_ns, uint32_t count)
{
    const cpu_plan *plan = (const cpu_plan *)p;
    if (!plan->ns) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the plan was created without profiling");
    for (uint32_t i = 0; i < count; i++) out_ns[i] = i < plan->num_steps ? plan->ns[i] : 0;
    return NULL;
}
