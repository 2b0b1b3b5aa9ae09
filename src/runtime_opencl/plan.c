/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan on OpenCL: enqueues its kernels and copies, of which each kernel has arguments of its own. */
#include "runtime_opencl/cl.h"

#include <string.h>

typedef struct cl_step {
    gpuc_cl_launch launch; /* without a kernel: a copy */
    bool empty;            /* nothing to launch or to copy */
    const gpuc_step_tensor *tensors;
    gpuc_cl_site *site;
    cl_event timed; /* of the last part with it, if that was not read yet */
    double share;   /* that the part had of it */
} cl_step;

typedef struct cl_plan {
    gpuc_cl_device *dev;
    gpuc_arena arena;
    cl_step *steps;
    uint32_t num_steps;
    cl_event *events; /* of the last run; NULL without profiling */
} cl_plan;

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for an OpenCL plan");
}

static const char *step_name(const cl_step *s)
{
    return s->launch.kernel ? s->launch.kernel->meta->name : "copy";
}

static gpuc_status add_launch(cl_plan *plan, const gpuc_step *from, cl_step *to)
{
    GPUC_TRY(gpuc_cl_launch_check(plan->dev, from, &to->launch));
    to->empty = to->launch.empty;
    if (to->empty) return NULL;
    GPUC_TRY(gpuc_cl_site_create(plan->dev, to->launch.kernel, &plan->arena, &to->site));
    return gpuc_cl_site_set_scalars(plan->dev, to->launch.kernel->meta, to->site, from->scalars);
}

static gpuc_status add_step(cl_plan *plan, const gpuc_step *from, cl_step *to)
{
    gpuc_step_tensor *tensors = gpuc_arena_alloc_array(&plan->arena, from->num_tensors, sizeof *tensors);
    if (!tensors) return out_of_memory();
    if (from->num_tensors) memcpy(tensors, from->tensors, from->num_tensors * sizeof *tensors);
    to->tensors = tensors;
    if (from->module) return add_launch(plan, from, to);
    GPUC_TRY(gpuc_cl_check_copy_step(from));
    to->empty = from->tensors[0].size == 0;
    return NULL;
}

static gpuc_status fill_plan(cl_plan *plan, const gpuc_step *steps, uint32_t count, uint32_t flags)
{
    plan->steps = gpuc_arena_alloc_array(&plan->arena, count, sizeof *plan->steps);
    if (!plan->steps) return out_of_memory();
    plan->num_steps = count;
    if (flags & GPUC_PLAN_PROFILING) {
        GPUC_TRY(gpuc_cl_ensure_queue(plan->dev, CL_QUEUE_PROFILING_ENABLE, &plan->dev->profiling_queue));
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
    for (uint32_t i = 0; i < plan->num_steps; i++) {
        if (plan->steps[i].timed) plan->dev->fn->ReleaseEvent(plan->steps[i].timed);
        gpuc_cl_site_release(plan->dev, plan->steps[i].site);
    }
    gpuc_arena_deinit(&plan->arena);
    gpuc_mem_free(plan->dev->allocator, plan, sizeof *plan);
}

static gpuc_status enqueue_step(cl_plan *plan, uint32_t i, const gpuc_cl_groups *groups,
                                const gpuc_bindings *bindings, gpuc_cl_queue *queue, cl_event *event)
{
    cl_step *s = &plan->steps[i];
    gpuc_status status = s->site ? gpuc_cl_launch_enqueue(plan->dev, &s->launch, groups, s->site, s->tensors,
                                                          bindings, queue, event)
                                 : gpuc_cl_copy_enqueue(plan->dev, s->tensors, bindings, queue, event);
    return status ? gpuc_error_prefix(status, "step %u (%s)", i, step_name(s)) : NULL;
}

static gpuc_status enqueue_all(cl_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                               gpuc_cl_queue *queue)
{
    (void)part;
    for (uint32_t i = 0; i < plan->num_steps; i++)
        if (!plan->steps[i].empty)
            GPUC_TRY(enqueue_step(plan, i, NULL, bindings, queue, plan->events ? &plan->events[i] : NULL));
    return NULL;
}

typedef gpuc_status (*enqueue_steps)(cl_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                     gpuc_cl_queue *queue);

/* Enqueues all steps behind a user event. On a CPU the driver's workers and the enqueuing thread would
 * contend for the locks of the queue and for processors at each launch, which costs more than starting early
 * gains. */
static gpuc_status enqueue_behind_gate(cl_plan *plan, enqueue_steps enqueue, const gpuc_bindings *bindings,
                                       gpuc_plan_part *part, gpuc_cl_queue *queue)
{
    const gpuc_cl_fns *fn = plan->dev->fn;
    cl_int error;
    cl_event gate = fn->CreateUserEvent(plan->dev->context, &error);
    if (!gate) return gpuc_cl_fail("clCreateUserEvent", error);
    gpuc_status status = gpuc_cl_queue_wait(plan->dev, queue, 1, &gate);
    if (!status) status = enqueue(plan, bindings, part, queue);
    error = fn->SetUserEventStatus(gate, CL_COMPLETE);
    fn->ReleaseEvent(gate);
    return status || error == CL_SUCCESS ? status : gpuc_cl_fail("clSetUserEventStatus", error);
}

static gpuc_status run_steps(cl_plan *plan, enqueue_steps enqueue, const gpuc_bindings *bindings,
                             gpuc_plan_part *part, gpuc_cl_queue *queue)
{
    bool gated = plan->dev->caps.is_cpu && plan->num_steps > 1;
    GPUC_TRY(gated ? enqueue_behind_gate(plan, enqueue, bindings, part, queue)
                   : enqueue(plan, bindings, part, queue));
    GPUC_CL_TRY("clFlush", plan->dev->fn->Flush(queue->handle));
    return NULL;
}

/* On the queue whose events tell times. */
static gpuc_status run_timed(cl_plan *plan, enqueue_steps enqueue, const gpuc_bindings *bindings,
                             gpuc_plan_part *part, gpuc_cl_stream *s)
{
    gpuc_cl_device *dev = plan->dev;
    GPUC_TRY(gpuc_cl_queue_join(dev, &s->queue, &dev->profiling_queue));
    gpuc_status status = run_steps(plan, enqueue, bindings, part, &dev->profiling_queue);
    gpuc_status joined = gpuc_cl_queue_join(dev, &dev->profiling_queue, &s->queue);
    if (!status) return joined;
    gpuc_status_release(joined);
    return status;
}

gpuc_status gpuc_cl_plan_run(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    cl_plan *plan = (cl_plan *)p;
    gpuc_cl_device *dev = plan->dev;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    GPUC_TRY(gpuc_device_check_stream(&dev->base, stream));
    drop_events(plan);
    gpuc_status status = plan->events ? run_timed(plan, enqueue_all, bindings, NULL, s)
                                      : run_steps(plan, enqueue_all, bindings, NULL, &s->queue);
    atomic_fetch_add(&s->queued, 1);
    return status;
}

/* ---- Parts ---- */

/* The axis with the most work-groups. */
static int axis_of(const cl_step *s)
{
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (s->launch.global[i] / s->launch.local[i] > s->launch.global[best] / s->launch.local[best])
            best = i;
    return best;
}

uint32_t gpuc_cl_plan_units(const gpuc_plan *p, uint32_t step)
{
    const cl_step *s = &((const cl_plan *)p)->steps[step];
    if (s->empty || !s->site || !s->launch.kernel->based) return 1;
    int axis = axis_of(s);
    return (uint32_t)(s->launch.global[axis] / s->launch.local[axis]);
}

static gpuc_status event_times(const cl_plan *plan, cl_event event, double *out_ns)
{
    cl_ulong start = 0, end = 0;
    GPUC_CL_TRY(
        "clGetEventProfilingInfo",
        plan->dev->fn->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    GPUC_CL_TRY("clGetEventProfilingInfo", plan->dev->fn->GetEventProfilingInfo(
                                               event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    *out_ns = end > start ? (double)(end - start) : 0;
    return NULL;
}

/* Reads the times of earlier parts that are done. */
static gpuc_status read_times(cl_plan *plan, gpuc_plan_part *part)
{
    for (uint32_t i = 0; i < plan->num_steps; i++) {
        cl_step *s = &plan->steps[i];
        double ns = 0;
        cl_int state = s->timed ? gpuc_cl_event_state(plan->dev, s->timed) : CL_QUEUED;
        if (state > CL_COMPLETE) continue;
        if (state == CL_COMPLETE) GPUC_TRY(event_times(plan, s->timed, &ns));
        plan->dev->fn->ReleaseEvent(s->timed);
        s->timed = NULL;
        part->step_ns[i] = ns / s->share;
        part->device_ns += ns;
    }
    return NULL;
}

static gpuc_status enqueue_part(cl_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                gpuc_cl_queue *queue)
{
    for (uint32_t i = part->step; i < part->end_step + (part->end_unit > 0); i++) {
        cl_step *s = &plan->steps[i];
        uint32_t units = gpuc_cl_plan_units((const gpuc_plan *)plan, i);
        gpuc_cl_groups groups = {.first = i == part->step ? part->unit : 0,
                                 .end = i == part->end_step ? part->end_unit : units};
        if (s->empty) continue;
        if (units > 1) groups.axis = axis_of(s);
        if (s->timed) plan->dev->fn->ReleaseEvent(s->timed);
        s->timed = NULL;
        s->share = (double)(groups.end - groups.first) / units;
        GPUC_TRY(enqueue_step(plan, i, s->share < 1 ? &groups : NULL, bindings, queue, &s->timed));
    }
    return NULL;
}

gpuc_status gpuc_cl_plan_run_part(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                  gpuc_stream *stream)
{
    cl_plan *plan = (cl_plan *)p;
    gpuc_cl_device *dev = plan->dev;
    gpuc_cl_stream *s = gpuc_cl_stream_of(dev, stream);
    GPUC_TRY(gpuc_device_check_stream(&dev->base, stream));
    GPUC_TRY(gpuc_cl_ensure_queue(dev, CL_QUEUE_PROFILING_ENABLE, &dev->profiling_queue));
    GPUC_TRY(read_times(plan, part));
    gpuc_status status = run_timed(plan, enqueue_part, bindings, part, s);
    atomic_fetch_add(&s->queued, 1);
    return status;
}

gpuc_status gpuc_cl_plan_profile(gpuc_plan *p, double *out_ns, uint32_t count)
{
    const cl_plan *plan = (const cl_plan *)p;
    if (!plan->events) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the plan was created without profiling");
    for (uint32_t i = 0; i < count; i++) {
        out_ns[i] = 0;
        if (i >= plan->num_steps || !plan->events[i]) continue;
        GPUC_TRY(event_times(plan, plan->events[i], &out_ns[i]));
    }
    return NULL;
}
