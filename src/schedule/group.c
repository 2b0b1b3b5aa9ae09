/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: stages that are placed together. */
#include "schedule/internal.h"

/* Marks the operations that an input leads to, the inputs themselves too. */
static void mark_from(const gpuc_schedule *s, int n, gpuc_tensor *const *inputs, gpuc_map *marks)
{
    for (int i = 0; i < n; i++) gpuc_map_set(marks, inputs[i]->op, inputs[i]->op);
    for (size_t i = 0; i < s->stages.count; i++) {
        const gpuc_stage *st = s->stages.at[i];
        for (int k = 0; k < st->op->num_inputs; k++)
            if (gpuc_map_has(marks, st->op->inputs[k]->op)) gpuc_map_set(marks, st->op, st->op);
    }
}

/* Marks the operations that the outputs are computed from, not beyond the inputs. */
static void mark_to(const gpuc_schedule *s, int n, gpuc_tensor *const *outputs, const gpuc_map *ends,
                    gpuc_map *marks)
{
    for (int i = 0; i < n; i++) gpuc_map_set(marks, outputs[i]->op, outputs[i]->op);
    for (size_t i = s->stages.count; i > 0; i--) {
        const gpuc_stage *st = s->stages.at[i - 1];
        if (!gpuc_map_has(marks, st->op) || gpuc_map_has(ends, st->op)) continue;
        for (int k = 0; k < st->op->num_inputs; k++)
            gpuc_map_set(marks, st->op->inputs[k]->op, st->op->inputs[k]->op);
    }
}

static gpuc_tensor **current(gpuc_schedule *s, int n, gpuc_tensor *const *list, const char *what)
{
    if (n < 1 || !list) gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT, "create_group: no %s are given", what);
    gpuc_tensor **out = gpuc_new_array(s->ctx, gpuc_tensor *, n);
    for (int i = 0; i < n; i++) out[i] = gpuc_schedule_current(s, list[i]);
    return out;
}

gpuc_stage_group *gpuc_schedule_create_group(gpuc_schedule *s, int num_outputs, gpuc_tensor *const *outputs,
                                             int num_inputs, gpuc_tensor *const *inputs, bool include_inputs)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tensor **from = current(s, num_inputs, inputs, "inputs"),
                **to = current(s, num_outputs, outputs, "outputs");
    gpuc_map reached, needed, ends;
    gpuc_map_init(&reached, ctx);
    gpuc_map_init(&needed, ctx);
    gpuc_map_init(&ends, ctx);
    for (int i = 0; i < num_inputs; i++) gpuc_map_set(&ends, from[i]->op, from[i]->op);
    mark_from(s, num_inputs, from, &reached);
    mark_to(s, num_outputs, to, &ends, &needed);
    gpuc_stage_group *g = gpuc_new(ctx, gpuc_stage_group);
    *g = (gpuc_stage_group){.schedule = s, .name = to[0]->op->name, .attach = GPUC_ATTACH_ROOT};
    for (size_t i = 0; i < s->stages.count; i++) {
        gpuc_stage *st = s->stages.at[i];
        if (!gpuc_map_has(&reached, st->op) || !gpuc_map_has(&needed, st->op)) continue;
        if (gpuc_map_has(&ends, st->op) && !include_inputs) continue;
        if (st->op->kind == GPUC_TE_PLACEHOLDER) continue;
        if (st->group) gpuc_stage_fail(st, "create_group: it is in the group '%s' already", st->group->name);
        gpuc_ptrs_push(ctx, &g->stages, st);
    }
    if (g->stages.count == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "create_group: no stage is between '%s' and '%s'",
                   from[0]->name, to[0]->name);
    gpuc_ptrs_push(ctx, &s->groups, g);
    for (size_t i = 0; i < g->stages.count; i++) ((gpuc_stage *)g->stages.at[i])->group = g;
    return g;
}

static bool is_at_group(const gpuc_stage *st, const gpuc_stage_group *g)
{
    return st->attach == g->attach && st->attach_stage == g->attach_stage &&
           st->attach_iter == g->attach_iter;
}

static void place(gpuc_stage_group *g, gpuc_attach attach, gpuc_stage *parent, gpuc_iter *iter)
{
    const gpuc_stage_group before = *g;
    g->attach = attach;
    g->attach_stage = parent;
    g->attach_iter = iter;
    for (size_t i = 0; i < g->stages.count; i++) {
        gpuc_stage *st = g->stages.at[i];
        if (is_at_group(st, &before)) gpuc_stage_compute_root(st);
    }
}

void gpuc_stage_group_compute_at(gpuc_stage_group *g, gpuc_stage *parent, gpuc_iter *iter)
{
    for (size_t i = 0; i < g->stages.count; i++) {
        const gpuc_stage *st = g->stages.at[i];
        if (parent && parent->group == g)
            gpuc_stage_fail(st, "compute_at: stage '%s' is in the same group '%s'", parent->name, g->name);
        if (is_at_group(st, g)) gpuc_stage_need_place(st, parent, iter);
    }
    place(g, GPUC_ATTACH_AT, parent, iter);
}

void gpuc_stage_group_compute_root(gpuc_stage_group *g)
{
    place(g, GPUC_ATTACH_ROOT, NULL, NULL);
}

void gpuc_stage_group_join(gpuc_stage_group *g, gpuc_stage *st)
{
    if (!g) return;
    gpuc_ptrs_push(g->schedule->ctx, &g->stages, st);
    st->group = g;
    gpuc_stage_compute_root(st);
}
