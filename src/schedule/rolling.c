/* SPDX-License-Identifier: Apache-2.0 */
/* Storage that is a ring: consecutive iterations of a loop share most of it. */
#include "schedule/nest.h"

/* How far the part moves along axis k from one iteration to the next. */
static int64_t step_of(gpuc_lowering *l, const gpuc_nest *n, int k, const gpuc_nest_loop *loop)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_range *r = gpuc_map_get(&n->dom, n->op->axes[k]);
    const char *axis = gpuc_schedule_iter_name(n->op->axes[k]), *name = gpuc_schedule_iter_name(loop->iter);
    gpuc_expr next = gpuc_add(ctx, loop->var, gpuc_int(ctx, 1));
    gpuc_expr step = gpuc_sub(ctx, gpuc_tir_substitute(ctx, r->min, 1, &loop->var, &next), r->min);
    int64_t by = 0;
    if (!gpuc_expr_is_int(gpuc_arith_simplify(l->analyzer, step), &by) || by < 0)
        gpuc_stage_fail(n->stage,
                        "rolling_buffer: along '%s' its part begins at %s: not the same step further in each "
                        "iteration of '%s'",
                        axis, gpuc_expr_text(ctx, r->min), name);
    if (gpuc_tir_uses_var(ctx, r->extent, loop->var))
        gpuc_stage_fail(
            n->stage,
            "rolling_buffer: along '%s' its part has %s elements, which differs between iterations "
            "of '%s'",
            axis, gpuc_expr_text(ctx, r->extent), name);
    return by;
}

void gpuc_schedule_lowering_roll(gpuc_lowering *l, gpuc_nest *n)
{
    gpuc_ctx *ctx = l->ctx;
    const gpuc_stage *st = n->stage;
    if (!st->rolling) return;
    if (!n->parent)
        gpuc_stage_fail(
            st, "rolling_buffer: it is computed at root; compute_at puts it into the loop that it rolls in");
    const gpuc_nest_loop *loop = &n->parent->loops[n->parent_loop];
    const char *name = gpuc_schedule_iter_name(loop->iter);
    if (loop->note.kind != GPUC_LOOP_SERIAL && loop->note.kind != GPUC_LOOP_UNROLLED)
        gpuc_stage_fail(st,
                        "rolling_buffer: the iterations of '%s' of stage '%s' do not run one after the other",
                        name, n->parent->stage->name);
    if (st->double_buffer) gpuc_stage_fail(st, "rolling_buffer: it has a double buffer; choose one of them");
    if (loop->value != loop->var) return; /* one iteration */
    int axis = -1;
    int64_t step = 0, extent;
    for (int k = 0; k < n->op->num_axes; k++) {
        int64_t by = step_of(l, n, k, loop);
        if (by == 0) continue;
        if (axis >= 0)
            gpuc_stage_fail(
                st, "rolling_buffer: its part moves along '%s' and '%s' in '%s'; it can roll along one",
                gpuc_schedule_iter_name(n->op->axes[axis]), gpuc_schedule_iter_name(n->op->axes[k]), name);
        axis = k;
        step = by;
    }
    if (axis < 0)
        gpuc_stage_fail(
            st, "rolling_buffer: its part is the same in each iteration of '%s'; compute it outside", name);
    const gpuc_range *r = gpuc_map_get(&n->dom, n->op->axes[axis]);
    if (!gpuc_expr_is_int(r->extent, &extent) || step >= extent)
        gpuc_stage_fail(
            st,
            "rolling_buffer: along '%s' the part has %s elements and moves by %lld in each iteration of "
            "'%s', so that these have none in common",
            gpuc_schedule_iter_name(n->op->axes[axis]), gpuc_expr_text(ctx, r->extent), (long long)step,
            name);
    n->rolls = true;
    n->rolling_axis = axis;
    n->held = gpuc_int(ctx, extent - step);
}
