/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for the functions that a device leaves out: streams that hold nothing, and plans that are launched
 * step by step. */
#include "runtime/default_api.h"

#include <string.h>

#include "base/arena.h"
#include "runtime/services.h"

static gpuc_status alloc_image(gpuc_device *dev, gpuc_dtype dtype, int64_t height, int64_t width,
                               int channels, gpuc_buffer **out)
{
    (void)dtype, (void)height, (void)width, (void)channels;
    *out = NULL;
    return gpuc_fail(GPUC_UNSUPPORTED, "%s:%d has no images", dev->api->name, dev->index);
}

/* ---- Streams: everything is done when its function returns ---- */

static gpuc_status read_later(gpuc_device *dev, gpuc_copy_end from, void *host, size_t bytes,
                              gpuc_stream *stream)
{
    if (!from.buffer) return gpuc_fail(GPUC_INVALID_ARGUMENT, "copy: the source is memory of the host");
    return dev->api->copy_data_from_to(dev, from, (gpuc_copy_end){.host = host}, bytes, stream);
}

static gpuc_status create_stream(gpuc_device *dev, gpuc_stream **out)
{
    *out = gpuc_mem_alloc(gpuc_runtime_allocator(dev->runtime), sizeof **out);
    if (!*out) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a stream");
    (*out)->device = dev;
    return NULL;
}

static void free_stream(gpuc_device *dev, gpuc_stream *stream)
{
    gpuc_mem_free(gpuc_runtime_allocator(dev->runtime), stream, sizeof *stream);
}

static gpuc_status stream_nothing(gpuc_device *dev, gpuc_stream *stream)
{
    return gpuc_device_check_stream(dev, stream);
}

static gpuc_status stream_signal(gpuc_device *dev, gpuc_stream *stream, uint64_t *out)
{
    *out = 0;
    return gpuc_device_check_stream(dev, stream);
}

static gpuc_status stream_wait(gpuc_device *dev, gpuc_stream *stream, uint64_t ticket)
{
    GPUC_TRY(gpuc_device_check_stream(dev, stream));
    return gpuc_device_check_ticket(dev, ticket, 0);
}

static gpuc_status ticket_wait(gpuc_device *dev, uint64_t ticket, int64_t timeout_ns, bool *out_done)
{
    (void)timeout_ns;
    *out_done = ticket == 0;
    return gpuc_device_check_ticket(dev, ticket, 0);
}

/* ---- Plans: steps to launch ---- */

typedef struct step_plan {
    gpuc_device *dev;
    gpuc_arena arena;
    gpuc_step *steps;
    uint32_t count;
} step_plan;

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a plan");
}

static bool copy_array(gpuc_arena *arena, const void *items, uint32_t count, size_t item_size,
                       const void **out)
{
    void *copy = gpuc_arena_alloc_array(arena, count, item_size);
    if (copy && count) memcpy(copy, items, count * item_size);
    *out = copy;
    return copy;
}

static gpuc_status copy_steps(step_plan *plan, const gpuc_step *steps, uint32_t count)
{
    plan->steps = gpuc_arena_alloc_array(&plan->arena, count, sizeof *steps);
    if (!plan->steps) return out_of_memory();
    for (uint32_t i = 0; i < count; i++) {
        const gpuc_step *from = &steps[i];
        const void *tensors, *scalars;
        if (!copy_array(&plan->arena, from->tensors, from->num_tensors, sizeof *from->tensors, &tensors) ||
            !copy_array(&plan->arena, from->scalars, from->num_scalars, sizeof *from->scalars, &scalars))
            return out_of_memory();
        plan->steps[i] = *from;
        plan->steps[i].tensors = tensors;
        plan->steps[i].scalars = scalars;
    }
    plan->count = count;
    return NULL;
}

static void plan_destroy(gpuc_plan *p)
{
    step_plan *plan = (step_plan *)p;
    if (!plan) return;
    gpuc_arena_deinit(&plan->arena);
    gpuc_mem_free(gpuc_runtime_allocator(plan->dev->runtime), plan, sizeof *plan);
}

static gpuc_status plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                               gpuc_plan **out)
{
    *out = NULL;
    if (flags & GPUC_PLAN_PROFILING)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s devices do not measure the steps of a plan", dev->api->name);
    gpuc_allocator a = gpuc_runtime_allocator(dev->runtime);
    step_plan *plan = gpuc_mem_alloc(a, sizeof *plan);
    if (!plan) return out_of_memory();
    plan->dev = dev;
    gpuc_arena_init(&plan->arena, a);
    gpuc_status status = copy_steps(plan, steps, count);
    if (status)
        plan_destroy((gpuc_plan *)plan);
    else
        *out = (gpuc_plan *)plan;
    return status;
}

static gpuc_status launch_steps(const step_plan *plan, uint32_t first, uint32_t end,
                                const gpuc_bindings *bindings, gpuc_stream *stream)
{
    for (uint32_t i = first; i < end; i++)
        GPUC_TRY(gpuc_error_prefix(plan->dev->api->launch(plan->dev, stream, &plan->steps[i], bindings),
                                   "step %u", i));
    return NULL;
}

static gpuc_status plan_run(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_stream *stream)
{
    return launch_steps((const step_plan *)p, 0, ((const step_plan *)p)->count, bindings, stream);
}

static uint32_t plan_units(const gpuc_plan *plan, uint32_t step)
{
    (void)plan;
    (void)step;
    return 1;
}

static gpuc_status plan_run_part(gpuc_plan *p, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                 gpuc_stream *stream)
{
    const step_plan *plan = (const step_plan *)p;
    GPUC_TRY(launch_steps(plan, part->step, part->end_step, bindings, stream));
    return plan->dev->api->stream_flush(plan->dev, stream);
}

/* ---- Completing a table ---- */

static const gpuc_device_api default_streams = {.create_stream = create_stream,
                                                .free_stream = free_stream,
                                                .stream_sync = stream_nothing,
                                                .stream_flush = stream_nothing,
                                                .stream_signal = stream_signal,
                                                .stream_wait = stream_wait,
                                                .ticket_wait = ticket_wait};
static const gpuc_device_api default_plans = {
    .plan_create = plan_create, .plan_run = plan_run, .plan_destroy = plan_destroy};

typedef void (*any_function)(void);
typedef struct slot {
    const char *name;
    size_t offset; /* in gpuc_device_api */
} slot;
#define SLOT(name)                                                                                           \
    {                                                                                                        \
#name, offsetof(gpuc_device_api, name)                                                               \
    }
#define NUM(slots) (sizeof(slots) / sizeof(slots)[0])

static any_function function_at(const gpuc_device_api *api, slot s)
{
    any_function f;
    memcpy(&f, (const char *)api + s.offset, sizeof f);
    return f;
}

static gpuc_status all_there(const char *name, const gpuc_device_api *api, const slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!function_at(api, slots[i]))
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "the DeviceAPI of '%s' has no function '%s'", name,
                             slots[i].name);
    return NULL;
}

/* Either the table has all of these, or the defaults have. */
static gpuc_status complete(const char *name, gpuc_device_api *api, const gpuc_device_api *defaults,
                            const slot *slots, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) any = any || function_at(api, slots[i]);
    if (any) return all_there(name, api, slots, count);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)api + slots[i].offset, (const char *)defaults + slots[i].offset, sizeof(any_function));
    return NULL;
}

gpuc_status gpuc_runtime_complete_api(const char *name, const gpuc_device_api *api, gpuc_device_api *out)
{
    static const slot needed[] = {SLOT(get_attr),          SLOT(alloc_data_space), SLOT(free_data_space),
                                  SLOT(copy_data_from_to), SLOT(module_load),      SLOT(module_release),
                                  SLOT(kernel_get),        SLOT(launch),           SLOT(destroy)};
    static const slot workspaces[] = {SLOT(alloc_workspace), SLOT(free_workspace)};
    static const slot streams[] = {SLOT(create_stream), SLOT(free_stream),   SLOT(stream_sync),
                                   SLOT(stream_flush),  SLOT(stream_signal), SLOT(stream_wait),
                                   SLOT(ticket_wait)};
    static const slot plans[] = {SLOT(plan_create), SLOT(plan_run), SLOT(plan_destroy)};
    if (api->struct_size != sizeof *api)
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "gpuc_device_api.struct_size of '%s' is %zu, this version's is %zu: compile the driver anew",
            name, api->struct_size, sizeof *api);
    *out = *api;
    out->name = name;
    GPUC_TRY(all_there(name, out, needed, NUM(needed)));
    GPUC_TRY(complete(name, out, &(gpuc_device_api){0}, workspaces, NUM(workspaces)));
    GPUC_TRY(complete(name, out, &default_streams, streams, NUM(streams)));
    GPUC_TRY(complete(name, out, &default_plans, plans, NUM(plans)));
    if (!out->read_later) out->read_later = read_later;
    if (out->plan_create == plan_create) {
        out->plan_units = plan_units;
        out->plan_run_part = plan_run_part;
    }
    if (!out->alloc_image) out->alloc_image = alloc_image;
    return NULL;
}
