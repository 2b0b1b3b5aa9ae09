/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an inference in slices: so many steps and units of steps in each as fit into a time, by what they took before. */
#include <string.h>
#include <time.h>

#include "base/require.h"
#include "executor/session.h"
#include "runtime/current.h"

#define OPS_UNKNOWN 1e6
#define OPS_PER_BYTE 10.0
#define FIRST_NS_PER_OP 0.1 /* before anything has been measured: of a slow device */
#define UNKNOWN_MARGIN                                                                                       \
    2.0 /* steps differ so much in their speed: those that have not been measured may take that */
#define MIN_FILL 0.125 /* of the budget: less time than this is left free before a step is cut to fill it */
/* What else runs on the device makes some slices longer. So the part of the budget that is filled falls after each of
 * those, and rises slowly: in the long run OVER_RISE / OVER_FALL of them take more than OVER budgets. */
#define OVER 1.25
#define OVER_FALL 0.1
#define OVER_RISE 0.001
#define MIN_AIM 0.5

/* What one call queues. */
typedef struct slicer {
    gpuc_session *s;
    double start, budget, left; /* nanoseconds */
    bool any;                   /* something has been queued */
    bool complete;
    double device_ns; /* of earlier parts */
} slicer;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- What steps cost ---- */

static double estimate_ops(const gpuc_model *m, const gpuc_exec_step *step)
{
    if (step->kind != GPUC_STEP_LAUNCH) return OPS_UNKNOWN;
    const gpuc_loaded *code = &m->devices[step->device].code;
    const gpuc_kernel *k = &m->program->kernels[gpuc_loader_current(code, step->kernel)];
    double ops = (double)k->cost_ops, bytes = OPS_PER_BYTE * (double)k->cost_bytes;
    if (ops < bytes) ops = bytes;
    return ops > 0 ? ops : OPS_UNKNOWN;
}

static gpuc_status make_costs(const gpuc_session *s, gpuc_shape_state *state)
{
    const gpuc_exec *e = s->model->exec;
    if (state->costs) return NULL;
    gpuc_step_cost *costs = gpuc_arena_alloc_array(&state->arena, e->num_steps, sizeof *costs);
    state->measured = gpuc_arena_alloc_array(&state->arena, e->num_steps, sizeof *state->measured);
    if (!costs || !state->measured) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for slices");
    for (uint32_t i = 0; i < e->num_steps; i++) costs[i].ops = estimate_ops(s->model, &e->steps[i]);
    state->costs = costs;
    return NULL;
}

static double cost_of(const gpuc_session *s, uint32_t step)
{
    const gpuc_step_cost *c = &s->states->costs[step];
    if (c->ns > 0) return c->ns;
    return c->ops * (s->slices.ops > 0 ? UNKNOWN_MARGIN * s->slices.ns / s->slices.ops : FIRST_NS_PER_OP);
}

/* A time much above the last ones is mostly of something else that ran, or of a first launch. */
static void learn(gpuc_session *s, uint32_t step, double ns)
{
    gpuc_step_cost *c = &s->states->costs[step];
    if (ns <= 0) return;
    if (c->ns == 0) {
        s->slices.ops += c->ops;
        s->slices.ns += ns;
        c->ns = ns;
    } else {
        c->ns = ns < c->ns / 2 ? ns : c->ns + (ns - c->ns) / (ns < c->ns ? 2 : 4);
    }
}

/* Slices that were queued take that long: some devices tell it in the same call, others in a later one. */
static void compare(const slicer *r)
{
    gpuc_slices *at = &r->s->slices;
    double queued = r->budget - r->left;
    if (r->device_ns > 0) {
        double budget = (at->queued > queued ? at->queued : queued) / (1 - at->spared);
        bool over = r->device_ns > OVER * budget;
        at->spared = over ? at->spared + OVER_FALL * (1 - at->spared) : at->spared - OVER_RISE;
        if (at->spared < 0) at->spared = 0;
        if (at->spared > 1 - MIN_AIM) at->spared = 1 - MIN_AIM;
        at->queued = 0;
    }
    at->queued += queued;
}

/* ---- What fits ---- */

/* How many of the next units of a step are queued. */
static uint32_t fit(const slicer *r, double ns_each, uint32_t have)
{
    double n = r->left > 0 ? r->left / ns_each : 0;
    if (n >= have) return have;
    if (r->any && r->left < MIN_FILL * r->budget) return 0;
    return n >= 1 ? (uint32_t)n : !r->any;
}

static void choose_end(slicer *r, const gpuc_device_api *api, const gpuc_segment *g, gpuc_plan_part *part)
{
    while (part->end_step < g->num_steps) {
        uint32_t units = api->plan_units(g->plan, part->end_step), have = units - part->end_unit;
        double each = cost_of(r->s, g->first_step + part->end_step) / units;
        uint32_t n = fit(r, each, have);
        r->left -= n * each;
        r->any = r->any || n;
        part->end_unit += n;
        if (n < have) return;
        part->end_step++;
        part->end_unit = 0;
    }
}

static gpuc_status run_part(slicer *r, const gpuc_device_api *api, const gpuc_segment *g, bool *out_done)
{
    gpuc_session *s = r->s;
    gpuc_slices *at = &s->slices;
    const gpuc_bindings bindings = {.slots = s->bindings, .count = s->model->exec->num_slots};
    gpuc_plan_part part = {at->step, at->unit, at->step, at->unit, s->states->measured + g->first_step, 0};
    choose_end(r, api, g, &part);
    *out_done = part.end_step == g->num_steps;
    if (part.end_step == part.step && part.end_unit == part.unit) return NULL;
    memset(part.step_ns, 0, g->num_steps * sizeof *part.step_ns);
    gpuc_session_note_work(s);
    gpuc_session_set_loops(s, g);
    GPUC_TRY(api->plan_run_part(g->plan, &bindings, &part, NULL));
    for (uint32_t i = 0; i < g->num_steps; i++) learn(s, g->first_step + i, part.step_ns[i]);
    r->device_ns += part.device_ns;
    at->step = part.end_step;
    at->unit = part.end_unit;
    return NULL;
}

/* A plan that has no parts, or a copy between devices, which waits for them. */
static gpuc_status run_whole(slicer *r, gpuc_segment *g, bool *out_done)
{
    double cost = 0;
    for (uint32_t i = 0; i < g->num_steps; i++) cost += cost_of(r->s, g->first_step + i);
    *out_done = !r->any || cost <= r->left;
    if (!*out_done) return NULL;
    r->any = true;
    GPUC_TRY(gpuc_session_run_segment(r->s, g));
    r->left = g->plan ? r->left - cost : r->budget - (now_ns() - r->start);
    return NULL;
}

static gpuc_status run_segment(slicer *r, gpuc_segment *g, bool *out_done)
{
    const gpuc_device_api *api = r->s->model->devices[g->device].code.dev->api;
    return g->plan && api->plan_run_part ? run_part(r, api, g, out_done) : run_whole(r, g, out_done);
}

static gpuc_status run_parts(slicer *r)
{
    gpuc_session *s = r->s;
    gpuc_slices *at = &s->slices;
    for (; s->next_part < s->states->num_parts; s->next_part++, s->next_segment = 0) {
        gpuc_part *part = &s->states->parts[s->next_part];
        /* New plans, with kernels that are there since the last slice, begin where a plan does. */
        if (at->step == 0 && at->unit == 0) GPUC_TRY(gpuc_session_prepare_part(s, part));
        for (; s->next_segment < part->num_segments; s->next_segment++, at->step = at->unit = 0) {
            bool done;
            GPUC_TRY(run_segment(r, &part->segments[s->next_segment], &done));
            if (!done) return NULL;
        }
        if (part->end_step == s->model->exec->num_steps) continue;
        if (r->any && r->left <= 0) return NULL;
        r->any = true;
        GPUC_TRY(gpuc_session_end_part(s, part)); /* waits */
        r->left = r->budget - (now_ns() - r->start);
    }
    r->complete = true;
    return gpuc_session_finish(s);
}

static gpuc_status run_slice(slicer *r)
{
    gpuc_session *s = r->s;
    bool goes_on = s->slices.under_way;
    s->slices.under_way = false; /* after an error, only from the beginning */
    if (!goes_on) {
        GPUC_TRY(gpuc_session_begin(s));
        GPUC_TRY(make_costs(s, s->states));
        s->slices.step = s->slices.unit = 0;
        s->slices.fraction = 0;
    }
    for (uint32_t d = 0; goes_on && d < s->model->exec->num_devices; d++)
        GPUC_TRY(gpuc_runtime_enter_default(s->model->devices[d].code.dev));
    GPUC_TRY(run_parts(r));
    s->has_run = false; /* no plan has measured it as a whole */
    s->slices.under_way = !r->complete;
    return NULL;
}

/* ---- How far it is ---- */

static uint32_t next_step(const gpuc_session *s)
{
    if (s->next_part == s->states->num_parts) return s->model->exec->num_steps;
    const gpuc_part *part = &s->states->parts[s->next_part];
    if (s->next_segment == part->num_segments) return part->end_step;
    return part->segments[s->next_segment].first_step + s->slices.step;
}

static double fraction(const gpuc_session *s, uint32_t next)
{
    double done = 0, all = 0;
    for (uint32_t i = 0; i < s->model->exec->num_steps; i++) {
        double cost = cost_of(s, i);
        all += cost;
        if (i < next) done += cost;
    }
    if (s->slices.unit) {
        const gpuc_segment *g = &s->states->parts[s->next_part].segments[s->next_segment];
        const gpuc_device_api *api = s->model->devices[g->device].code.dev->api;
        done += cost_of(s, next) * s->slices.unit / api->plan_units(g->plan, s->slices.step);
    }
    return all > 0 ? done / all : 0;
}

static void tell(const slicer *r, gpuc_slice_progress *out)
{
    gpuc_session *s = r->s;
    const gpuc_exec *e = s->model->exec;
    uint32_t next = next_step(s), nodes = 0;
    double now = r->complete ? 1 : fraction(s, next);
    while (nodes < e->num_nodes && e->nodes[nodes].first_step + e->nodes[nodes].num_steps <= next) nodes++;
    if (now > s->slices.fraction) s->slices.fraction = now;
    *out = (gpuc_slice_progress){.operators = (int)(r->complete ? e->num_nodes : nodes),
                                 .num_operators = (int)e->num_nodes,
                                 .fraction = s->slices.fraction,
                                 .complete = r->complete,
                                 .device_us = r->device_ns / 1000};
}

gpuc_status gpuc_session_run_slice(gpuc_session *s, uint32_t budget_us, gpuc_slice_progress *out)
{
    if (out) *out = (gpuc_slice_progress){0};
    GPUC_REQUIRE(s);
    double budget = budget_us * 1e3 * (1 - s->slices.spared);
    slicer r = {.s = s, .start = now_ns(), .budget = budget, .left = budget};
    gpuc_status status = run_slice(&r), marked = gpuc_session_mark(s);
    if (status || marked) s->slices.under_way = false;
    compare(&r);
    if (!status && !marked && out) tell(&r, out);
    if (!status) return marked;
    gpuc_status_release(marked);
    return status;
}
