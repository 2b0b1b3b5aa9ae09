/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the steps of a program into plans: consecutive steps of one device become one plan, and a copy between
 * devices is a segment of its own. */
#include <string.h>

#include "executor/session.h"

typedef struct builder {
    const gpuc_session *s;
    gpuc_shape_state *state;
    gpuc_part *part;
    gpuc_step *steps; /* of the segment that is being built */
    uint32_t num_steps, first_step, device;
} builder;

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory planning a session");
}

static gpuc_status eval_symbols(const builder *b, gpuc_xexpr e, int64_t *out)
{
    return gpuc_abi_xexpr_eval(e, b->state->symbols, b->s->model->exec->num_symbols, out);
}

/* The window of a reference, or all of its value. */
static gpuc_status eval_ref(const builder *b, const gpuc_exec_tensor_ref *ref, gpuc_extent *out)
{
    const gpuc_extent *value = &b->state->values[ref->value];
    int64_t offset, size;
    GPUC_TRY(eval_symbols(b, ref->offset, &offset));
    GPUC_TRY(eval_symbols(b, ref->size, &size));
    if (offset < 0 || size < 0 || (uint64_t)offset > value->size ||
        (uint64_t)size > value->size - (uint64_t)offset)
        return gpuc_fail(GPUC_INVALID_DATA,
                         "a window of %lld bytes at %lld exceeds the %llu bytes of '%.64s'", (long long)size,
                         (long long)offset, (unsigned long long)value->size,
                         b->s->model->exec->values[ref->value].name);
    *out = (gpuc_extent){.slot = value->slot,
                         .offset = value->offset + (uint64_t)offset,
                         .size = size ? (uint64_t)size : value->size - (uint64_t)offset};
    return NULL;
}

static gpuc_status eval_tensors(const builder *b, const gpuc_exec_step *from, gpuc_step *to)
{
    gpuc_step_tensor *tensors = gpuc_arena_alloc_array(&b->part->arena, from->num_tensors, sizeof *tensors);
    if (!tensors) return out_of_memory();
    for (uint32_t t = 0; t < from->num_tensors; t++) {
        gpuc_extent x;
        GPUC_TRY(gpuc_error_prefix(eval_ref(b, &from->tensors[t], &x), "tensor %u", t));
        tensors[t] = (gpuc_step_tensor){.slot = x.slot,
                                        .access = from->tensors[t].access,
                                        .offset = x.offset,
                                        .size = x.size,
                                        .name = b->s->model->exec->values[from->tensors[t].value].name};
    }
    to->tensors = tensors;
    to->num_tensors = from->num_tensors;
    return NULL;
}

static gpuc_status eval_scalars(const builder *b, const gpuc_kernel *k, const gpuc_exec_step *from,
                                gpuc_step *to)
{
    int64_t *scalars = gpuc_arena_alloc_array(&b->part->arena, from->num_scalars, sizeof *scalars);
    if (!scalars) return out_of_memory();
    for (uint32_t i = 0; i < from->num_scalars; i++) {
        GPUC_TRY(eval_symbols(b, from->scalars[i], &scalars[i]));
        if (k->scalars[i].code == GPUC_DTYPE_INT && k->scalars[i].bits == 32 &&
            (scalars[i] < INT32_MIN || scalars[i] > INT32_MAX))
            return gpuc_fail(GPUC_UNSUPPORTED,
                             "scalar %u becomes %lld with these input shapes: more than 32 bits", i,
                             (long long)scalars[i]);
    }
    to->scalars = scalars;
    to->num_scalars = from->num_scalars;
    return NULL;
}

static gpuc_status add_step(builder *b, const gpuc_exec_step *from, uint32_t *out_kernel)
{
    const gpuc_model *m = b->s->model;
    gpuc_step *to = &b->steps[b->num_steps++];
    *to = (gpuc_step){.label = m->step_nodes[from - m->exec->steps]};
    GPUC_TRY(eval_tensors(b, from, to));
    if (from->kind == GPUC_STEP_COPY) {
        if (to->tensors[0].size != to->tensors[1].size)
            return gpuc_fail(GPUC_INVALID_DATA, "a copy of %llu bytes to %llu",
                             (unsigned long long)to->tensors[0].size,
                             (unsigned long long)to->tensors[1].size);
        return NULL;
    }
    GPUC_TRY(eval_scalars(b, &m->program->kernels[from->kernel], from, to));
    GPUC_TRY(gpuc_loader_launch(&m->devices[from->device].code, from->kernel, to, out_kernel));
    bool empty = !to->launch[0] || !to->launch[1] || !to->launch[2];
    if (!empty) *(b->device == 0 ? &b->part->launches_device : &b->part->launches_other) += 1;
    return NULL;
}

static gpuc_status create_plan(builder *b, gpuc_segment *segment)
{
    const gpuc_model *m = b->s->model;
    gpuc_device *dev = m->devices[b->device].code.dev;
    uint32_t flags = m->profiling ? GPUC_PLAN_PROFILING : 0;
    return dev->api->plan_create(dev, b->steps, b->num_steps, flags, &segment->plan);
}

/* Makes a plan of the steps that have gathered. */
static gpuc_status finish_plan(builder *b)
{
    if (b->num_steps == 0) return NULL;
    gpuc_segment *segment = &b->part->segments[b->part->num_segments];
    *segment = (gpuc_segment){.device = b->device, .first_step = b->first_step, .num_steps = b->num_steps};
    GPUC_TRY(create_plan(b, segment));
    b->part->num_segments++;
    b->num_steps = 0;
    return NULL;
}

static bool crosses_devices(const gpuc_exec *e, const gpuc_exec_step *s)
{
    if (s->kind != GPUC_STEP_COPY) return false;
    const gpuc_exec_value *from = &e->values[s->tensors[0].value], *to = &e->values[s->tensors[1].value];
    return e->slots[from->slot].device != e->slots[to->slot].device;
}

static gpuc_status add_transfer(builder *b, const gpuc_exec_step *from, uint32_t number)
{
    gpuc_segment *segment = &b->part->segments[b->part->num_segments];
    *segment = (gpuc_segment){.device = from->device, .first_step = number, .num_steps = 1};
    GPUC_TRY(eval_ref(b, &from->tensors[0], &segment->from));
    GPUC_TRY(eval_ref(b, &from->tensors[1], &segment->to));
    if (segment->from.size != segment->to.size)
        return gpuc_fail(GPUC_INVALID_DATA, "a copy of %llu bytes to %llu",
                         (unsigned long long)segment->from.size, (unsigned long long)segment->to.size);
    b->part->num_segments++;
    return NULL;
}

/* *node is one that does not end before the step; for steps in order. */
static bool starts_node(const gpuc_exec *e, uint32_t step, uint32_t *node)
{
    while (*node < e->num_nodes && e->nodes[*node].first_step + e->nodes[*node].num_steps <= step) ++*node;
    return *node < e->num_nodes && e->nodes[*node].first_step == step;
}

static gpuc_status build(builder *b)
{
    const gpuc_model *m = b->s->model;
    uint32_t node = 0;
    for (uint32_t i = b->part->first_step; i < b->part->end_step; i++) {
        const gpuc_exec_step *step = &m->exec->steps[i];
        bool crosses = crosses_devices(m->exec, step);
        bool ends_plan = crosses || (b->s->stepped && starts_node(m->exec, i, &node));
        if (ends_plan || step->device != b->device) GPUC_TRY(finish_plan(b));
        if (b->num_steps == 0) {
            b->first_step = i;
            b->device = step->device;
        }
        uint32_t *kernel = &b->part->kernels[i - b->part->first_step];
        *kernel = GPUC_NO_INDEX;
        GPUC_TRY(gpuc_error_prefix(crosses ? add_transfer(b, step, i) : add_step(b, step, kernel),
                                   "step %u (%s)", i, m->step_nodes[i]));
    }
    return finish_plan(b);
}

static void drop_plans(const gpuc_session *s, gpuc_part *part)
{
    for (uint32_t i = 0; i < part->num_segments; i++)
        if (part->segments[i].plan)
            s->model->devices[part->segments[i].device].code.dev->api->plan_destroy(part->segments[i].plan);
    gpuc_arena_deinit(&part->arena);
    gpuc_arena_init(&part->arena, s->allocator);
    part->num_segments = 0;
    part->symbols = NULL;
    part->launches_device = part->launches_other = 0;
}

gpuc_status gpuc_executor_part_plan(const gpuc_session *s, gpuc_shape_state *state, gpuc_part *part)
{
    uint32_t count = part->end_step - part->first_step, num_symbols = s->model->exec->num_symbols;
    builder b = {.s = s, .state = state, .part = part};
    drop_plans(s, part);
    part->richer = gpuc_model_richer(s->model); /* before choosing among the kernels */
    GPUC_TRY(gpuc_model_make_kernels(s->model, false, NULL, NULL));
    part->kernels = gpuc_arena_alloc_array(&part->arena, count, sizeof *part->kernels);
    int64_t *symbols = gpuc_arena_alloc_array(&part->arena, num_symbols, sizeof *symbols);
    part->segments = gpuc_arena_alloc_array(&part->arena, count, sizeof *part->segments);
    if (!symbols || !part->segments || !part->kernels) return out_of_memory();
    if (num_symbols) memcpy(symbols, state->symbols, num_symbols * sizeof *symbols);
    gpuc_arena_mark mark = gpuc_arena_save(&part->arena); /* plans copy the steps */
    b.steps = gpuc_arena_alloc_array(&part->arena, count, sizeof *b.steps);
    gpuc_status status = b.steps ? build(&b) : out_of_memory();
    gpuc_arena_restore(&part->arena, mark);
    if (!status) part->symbols = symbols;
    return status;
}

gpuc_status gpuc_executor_state_make_parts(const gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    uint32_t count = 1;
    for (uint32_t i = 0; i < e->num_steps; i++) count += e->steps[i].kind == GPUC_STEP_READ;
    state->parts = gpuc_arena_alloc_array(&state->arena, count, sizeof *state->parts);
    if (!state->parts) return out_of_memory();
    for (uint32_t step = 0; step <= e->num_steps; step++) {
        if (step < e->num_steps && e->steps[step].kind != GPUC_STEP_READ) continue;
        gpuc_part *part = &state->parts[state->num_parts++];
        *part = (gpuc_part){.first_step = state->num_parts > 1 ? part[-1].end_step + 1 : 0, .end_step = step};
        gpuc_arena_init(&part->arena, s->allocator);
    }
    return NULL;
}

void gpuc_executor_state_destroy_parts(const gpuc_session *s, gpuc_shape_state *state)
{
    for (uint32_t i = 0; i < state->num_parts; i++) {
        drop_plans(s, &state->parts[i]);
        gpuc_arena_deinit(&state->parts[i].arena);
    }
    state->num_parts = 0;
}
