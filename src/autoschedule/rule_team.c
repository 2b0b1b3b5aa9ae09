/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a team of GPU threads reduce together: the threads take vectors of values in turn, side by side, then
 * combine their results. A team of one subgroup needs no barrier. */
#include "autoschedule/rules.h"

/* ---- Vectors ---- */

typedef struct aligned_reads {
    const gpuc_te_op *op;
    int64_t lanes; /* whose vectors start where vector loads may, for what is seen so far */
} aligned_reads;

static bool is_multiple(gpuc_expr e, int64_t n)
{
    int64_t v;
    if (gpuc_expr_is_int(e, &v)) return v % n == 0;
    if (e->kind != GPUC_EXPR_OP) return false;
    const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
    if (o->op == GPUC_TIR_MUL) return is_multiple(o->a[0], n) || is_multiple(o->a[1], n);
    return o->op == GPUC_TIR_ADD && is_multiple(o->a[0], n) && is_multiple(o->a[1], n);
}

/* index is var and a multiple of n. */
static bool starts_at(gpuc_expr index, gpuc_expr var, int64_t n)
{
    if (index == var) return true;
    if (index->kind != GPUC_EXPR_OP || gpuc_as_op(index)->op != GPUC_TIR_ADD) return false;
    gpuc_expr a = gpuc_as_op(index)->a[0], b = gpuc_as_op(index)->a[1];
    return (starts_at(a, var, n) && is_multiple(b, n)) || (starts_at(b, var, n) && is_multiple(a, n));
}

/* Values side by side: the last axes that are reduced, as far as they are the last of what is read. */
static bool limit_lanes(gpuc_expr e, void *arg)
{
    aligned_reads *f = arg;
    const gpuc_te_op *op = f->op;
    int count = 1;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    gpuc_iter *const *last = op->reduce + op->num_reduce - 1;
    if (read->n == 0 || !starts_at(read->index[read->n - 1], (*last)->var, f->lanes)) return true;
    int64_t run = gpuc_rules_extent(*last);
    while (count < read->n && count < op->num_reduce && read->index[read->n - 1 - count] == last[-count]->var)
        run *= gpuc_rules_extent(last[-count++]);
    if ((run == 0 || run % f->lanes) && count < read->n) f->lanes = 1; /* 0: who knows */
    return true;
}

/* ---- The team ---- */

/* Threads that combine their results in shared memory at most: each has a value of every result there. */
static int64_t max_together(const gpuc_rules *r, const gpuc_te_op *op)
{
    enum { ALIGN = 16 };
    int64_t bytes = 0, room = r->target->max_shared_memory;
    for (int i = 0; i < op->num_outputs; i++) {
        int64_t each = gpuc_dtype_bytes(gpuc_te_dtype(op->outputs[i]));
        bytes += each < 4 ? 4 : each;
        room -= ALIGN - 1;
    }
    return room / bytes;
}

gpuc_team gpuc_rules_team(const gpuc_rules *r, const gpuc_tensor *reduction)
{
    const gpuc_te_op *op = reduction->op;
    const gpuc_target *t = r->target;
    const gpuc_constants *c = r->constants;
    gpuc_team out = {.threads = 1, .teams = 1, .lanes = 1};
    int64_t values = gpuc_rules_likely_product(op->num_reduce, op->reduce), max = c->team_threads;
    if (r->kind != GPUC_CLASS_GPU || values < c->team_values) return out;
    if (t->max_num_threads < max) max = t->max_num_threads;
    if (t->max_threads_x < max) max = t->max_threads_x;
    bool subgroups = gpuc_target_lanes_are_threads(r->target);
    int64_t together = max_together(r, op); /* subgroups need it where a device has others */
    if (subgroups) max = t->thread_warp_size;
    if (together < max) max = together;
    while (out.threads * 2 <= max && values / (out.threads * 2) >= (subgroups ? 1 : c->team_steps))
        out.threads *= 2;
    aligned_reads f = {.op = op, .lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction))};
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(r->ctx, op->bodies[i], limit_lanes, &f);
    if (values >= out.threads * f.lanes) out.lanes = (int)f.lanes;
    int64_t group = t->max_num_threads < c->team_group ? t->max_num_threads : c->team_group;
    if (together < group) group = together;
    while (out.teams * out.threads * 2 <= group && out.teams * 2 <= t->max_threads_y) out.teams *= 2;
    return out;
}

static void place(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *at)
{
    gpuc_stage_compute_at(st, parent, at);
    gpuc_stage_set_scope(st, "local");
}

/* Some steps are unrolled, so that as many loads are under way. The vector runs along the first axis; what came before it is one element. */
static void accumulate(gpuc_stage *st, int lanes, int64_t unrolled)
{
    gpuc_iter *order[68], *vector = gpuc_stage_axis(st, 0), *steps = gpuc_stage_reduce_axis(st, 0), *few;
    int n = gpuc_stage_num_axes(st), m = 0;
    for (int i = 1; i < n; i++) order[m++] = gpuc_stage_axis(st, i);
    if (gpuc_rules_extent(steps) >= 2 * unrolled) {
        gpuc_stage_split(st, steps, unrolled, &steps, &few);
        gpuc_stage_unroll(st, few);
        order[m++] = steps;
        steps = few;
    }
    order[m++] = steps;
    if (lanes == 1) return;
    order[m++] = vector;
    gpuc_stage_reorder(st, m, order);
    gpuc_stage_vectorize(st, vector);
}

void gpuc_rules_share(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_team team)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[64], *steps, *thread, *lane;
    int n = gpuc_stage_num_reduce(st);
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_reduce_axis(st, i);
    gpuc_stage_split(st, gpuc_rules_fuse(st, n, loops), team.threads * team.lanes, &steps, &thread);
    if (team.lanes > 1) gpuc_stage_split(st, thread, team.lanes, &thread, &lane);
    gpuc_tensor *own = gpuc_rfactor(r->s, reduction, thread);
    gpuc_iter *together = gpuc_stage_reduce_axis(st, 0);
    gpuc_stage_bind(st, together, "threadIdx.x");
    gpuc_stage *part = gpuc_schedule_stage(r->s, own);
    if (team.lanes > 1) {
        place(part, st, together);
        own = gpuc_rfactor(r->s, own, gpuc_stage_reduce_axis(part, 1));
        gpuc_stage_unroll(part, gpuc_stage_reduce_axis(part, 0));
        part = gpuc_schedule_stage(r->s, own);
    }
    place(part, st, together);
    accumulate(part, team.lanes, r->constants->team_unrolled);
}

gpuc_iter *gpuc_rules_spread_teams(gpuc_stage *st, gpuc_iter *rows, gpuc_team team)
{
    gpuc_iter *team_loop;
    gpuc_stage_split(st, rows, team.teams, &rows, &team_loop);
    gpuc_stage_bind(st, rows, "blockIdx.x");
    gpuc_stage_bind(st, team_loop, "threadIdx.y");
    return team_loop;
}

void gpuc_rules_reduce_by_team(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, gpuc_team team)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64], *lead;
    int n = gpuc_stage_num_axes(st);
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_axis(st, i);
    gpuc_iter *at = gpuc_rules_fuse(st, n, loops);
    if (at && reduction != out) { /* one thread goes on with the result */
        gpuc_stage_split(st, at, 1, &at, &lead);
        gpuc_stage_bind(st, lead, "threadIdx.x");
    }
    if (at) at = gpuc_rules_spread_teams(st, at, team);
    if (at && reduction != out) place(gpuc_schedule_stage(r->s, reduction), st, at);
    gpuc_rules_share(r, reduction, team);
}

/* Outputs side by side: each lane takes vectors of them in turn, so that a subgroup reads one piece of memory
 * at each step. */
void gpuc_rules_columns_by_lanes(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int lanes,
                                 int64_t iterations)
{
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *inner = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *loops[68], *order[68], *all, *turn, *thread, *vector = NULL;
    int n = gpuc_stage_num_axes(st), m = 0;
    int64_t width = r->target->thread_warp_size * lanes;
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_axis(st, i);
    gpuc_stage_split(st, loops[n - 1], width * iterations, &loops[n - 1], &turn);
    gpuc_stage_split(st, turn, width, &turn, &thread);
    if (lanes > 1) gpuc_stage_split(st, thread, lanes, &thread, &vector);
    all = gpuc_rules_fuse(st, n, loops);
    gpuc_stage_bind(st, all, "blockIdx.x");
    gpuc_stage_bind(st, turn, "vthread");
    gpuc_stage_bind(st, thread, "threadIdx.x");
    if (vector) gpuc_stage_vectorize(st, vector);
    place(inner, st, thread);
    n = gpuc_stage_num_axes(inner);
    gpuc_iter *last = gpuc_stage_axis(inner, n - 1);
    for (int i = 0; i < n - 1; i++) order[m++] = gpuc_stage_axis(inner, i);
    for (int i = 0; i < gpuc_stage_num_reduce(inner); i++) order[m++] = gpuc_stage_reduce_axis(inner, i);
    order[m++] = last;
    gpuc_stage_reorder(inner, m, order);
    if (vector) gpuc_stage_vectorize(inner, last);
}
