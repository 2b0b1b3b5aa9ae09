/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules outputs whose rows need reductions of themselves, such as softmax, in one kernel, so that a row
 * is read from memory once: on a CPU a task computes some rows, on a GPU a team of threads computes a row. */
#include "autoschedule/rules.h"

static bool is_one(gpuc_expr extent)
{
    int64_t n;
    return gpuc_expr_is_int(extent, &n) && n == 1;
}

/* The number of leading axes that the reduction shares with the output; it must reduce over all others. 0: it
 * is not a reduction of rows. */
static int rows_of(const gpuc_te_op *reduction, const gpuc_te_op *out)
{
    int m = 0;
    if (reduction->num_axes > out->num_axes) return 0;
    while (m < reduction->num_axes && reduction->axes[m]->extent == out->axes[m]->extent) m++;
    for (int i = m; i < reduction->num_axes; i++)
        if (!is_one(reduction->axes[i]->extent)) return 0;
    while (m > 0 && is_one(out->axes[m - 1]->extent)) m--;
    return m;
}

static bool reads(const gpuc_te_op *op, const gpuc_te_op *from)
{
    for (int i = 0; i < op->num_inputs; i++)
        if (op->inputs[i]->op == from) return true;
    return false;
}

static int readers(const gpuc_ptrs *ops, const gpuc_te_op *of)
{
    int n = 0;
    for (size_t i = 0; i < ops->count; i++) n += reads(ops->at[i], of);
    return n;
}

/* The product of extents; 0 if it is none that a row has. */
static int64_t row_length(const gpuc_rules *r, int n, gpuc_iter *const *axes)
{
    int64_t max = r->constants->rows_elements;
    int64_t length = 1, extent;
    for (int i = 0; i < n; i++) {
        if (!gpuc_expr_is_int(axes[i]->extent, &extent) || extent > max) return 0;
        length *= extent;
        if (length > max) return 0;
    }
    return length;
}

typedef struct row_reads {
    const gpuc_te_op *reader;
    gpuc_map *astray;
    int rows;
} row_reads;

static bool check_row(gpuc_expr e, void *arg)
{
    const row_reads *f = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    bool same = !gpuc_map_get(f->astray, f->reader) && read->n >= f->rows && f->reader->num_axes >= f->rows;
    for (int i = 0; same && i < f->rows; i++) same = gpuc_rules_is_axis(read->index[i], f->reader->axes[i]);
    if (!same) gpuc_map_set(f->astray, read->tensor->op, read->tensor->op);
    return true;
}

/* Finds operations of which a row of the output needs more than the same row. */
static void find_astray(gpuc_ctx *ctx, const gpuc_ptrs *ops, int rows, gpuc_map *astray)
{
    gpuc_map_init(astray, ctx);
    for (size_t i = ops->count; i-- > 0;) {
        const gpuc_te_op *op = ops->at[i];
        row_reads f = {.reader = op, .astray = astray, .rows = rows};
        for (int k = 0; k < op->num_outputs && op->kind == GPUC_TE_COMPUTE; k++)
            gpuc_tir_visit(ctx, op->bodies[k], check_row, &f);
    }
}

/* Whether a row needs of other rows only what is stored, or computed without reductions. */
static bool rows_are_apart(gpuc_ctx *ctx, const gpuc_ptrs *ops, int rows)
{
    gpuc_map astray, reduced; /* the latter are made from reductions */
    find_astray(ctx, ops, rows, &astray);
    gpuc_map_init(&reduced, ctx);
    for (size_t i = 0; i < ops->count; i++) {
        gpuc_te_op *op = ops->at[i];
        bool found = op->num_reduce > 0;
        for (int k = 0; k < op->num_inputs; k++) found |= gpuc_map_get(&reduced, op->inputs[k]->op) != NULL;
        if (found && gpuc_map_get(&astray, op)) return false;
        if (found) gpuc_map_set(&reduced, op, op);
    }
    return true;
}

static void vectors(const gpuc_rules *r, gpuc_stage *st, int rows)
{
    int n = gpuc_stage_num_axes(st),
        lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(gpuc_stage_tensor(st, 0)));
    gpuc_iter *outer, *inner, *last = gpuc_stage_axis(st, n - 1);
    if (n == rows || lanes == 1 || gpuc_rules_extent(last) < lanes) return;
    gpuc_stage_split(st, last, lanes, &outer, &inner);
    gpuc_stage_vectorize(st, inner);
}

/* The team that all reductions of a row are for; threads == 1: there is none. */
static gpuc_team team_of(const gpuc_rules *r, const gpuc_ptrs *ops)
{
    gpuc_team all = {.threads = 0};
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *op = ops->at[i];
        if (!op->num_reduce) continue;
        gpuc_team own = gpuc_rules_team(r, op->outputs[0]);
        if (all.threads == 0) all = own;
        if (own.threads != all.threads) return (gpuc_team){.threads = 1};
        if (own.lanes < all.lanes) all.lanes = own.lanes;
        if (own.teams < all.teams) all.teams = own.teams;
    }
    return all;
}

/* Recomputes what is not a reduction where it is read: that costs less than memory for a row. */
static void by_team(const gpuc_rules *r, const gpuc_ptrs *ops, gpuc_tensor *out, int rows)
{
    gpuc_team team = team_of(r, ops);
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64], *thread, *vector, *steps;
    int n = gpuc_stage_num_axes(st);
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_axis(st, i);
    gpuc_iter *row = gpuc_rules_fuse(st, n - rows, loops + rows);
    gpuc_stage_split(st, row, team.threads * team.lanes, &steps, &thread);
    if (team.lanes > 1) {
        gpuc_stage_split(st, thread, team.lanes, &thread, &vector);
        gpuc_stage_vectorize(st, vector);
    }
    gpuc_stage_bind(st, thread, "threadIdx.x");
    gpuc_iter *at = gpuc_rules_spread_teams(st, gpuc_rules_fuse(st, rows, loops), team);
    for (size_t i = ops->count; i-- > 0;) {
        gpuc_te_op *op = ops->at[i];
        if (op->kind != GPUC_TE_COMPUTE || op == out->op) continue;
        gpuc_stage *stage = gpuc_schedule_stage(r->s, op->outputs[0]);
        if (!op->num_reduce) {
            gpuc_stage_compute_inline(stage);
            continue;
        }
        gpuc_stage_compute_at(stage, st, at);
        gpuc_stage_set_scope(stage, "local");
        gpuc_rules_share(r, op->outputs[0], team);
    }
}

int gpuc_rules_find_rows(const gpuc_rules *r, const gpuc_ptrs *ops, const gpuc_tensor *out)
{
    const gpuc_te_op *to = out->op;
    int rows = 0;
    if (to->num_reduce) return 0;
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *op = ops->at[i];
        if (op->kind != GPUC_TE_COMPUTE && op->kind != GPUC_TE_PLACEHOLDER) return 0;
        if (!op->num_reduce) continue;
        int m = rows_of(op, to);
        if (m == 0 || op->num_outputs != 1 || (rows && m != rows)) return 0;
        if (!row_length(r, op->num_reduce, op->reduce)) return 0;
        rows = m;
    }
    if (rows == 0 || row_length(r, to->num_axes - rows, to->axes + rows) < 2) return 0;
    if (r->kind == GPUC_CLASS_GPU && team_of(r, ops).threads == 1) return 0;
    return rows_are_apart(r->ctx, ops, rows) ? rows : 0;
}

static bool is_costly(gpuc_expr e, void *arg)
{
    bool costs = e->kind == GPUC_EXPR_CALL || e->kind == GPUC_EXPR_CAST;
    if (e->kind == GPUC_EXPR_OP && gpuc_is_float(e->dtype)) {
        gpuc_tir_op op = gpuc_as_op(e)->op;
        costs = op == GPUC_TIR_DIV || !(gpuc_tir_ops[op].flags & GPUC_TIR_INT);
    }
    *(bool *)arg |= costs;
    return true;
}

/* Finds what a task stores for several readers in a row: functions, quotients and conversions, which cost
 * more than a load; sums and products do not. Reductions are stored anyway. */
static void find_kept(const gpuc_rules *r, const gpuc_ptrs *ops, int rows, gpuc_map *kept)
{
    gpuc_map astray, costly; /* the latter are, with all that they inline */
    int64_t bytes = 0;
    find_astray(r->ctx, ops, rows, &astray);
    gpuc_map_init(&costly, r->ctx);
    gpuc_map_init(kept, r->ctx);
    for (size_t i = 0; i < ops->count; i++) {
        gpuc_te_op *op = ops->at[i];
        bool costs = false;
        if (op->kind != GPUC_TE_COMPUTE || op->num_reduce) continue;
        for (int k = 0; k < op->num_outputs; k++) gpuc_tir_visit(r->ctx, op->bodies[k], is_costly, &costs);
        for (int k = 0; k < op->num_inputs; k++) costs |= gpuc_map_get(&costly, op->inputs[k]->op) != NULL;
        if (!costs) continue;
        int64_t length = op->num_axes < rows ? 0 : row_length(r, op->num_axes - rows, op->axes + rows);
        int64_t size = length * (int64_t)gpuc_dtype_bytes(gpuc_te_dtype(op->outputs[0]));
        bool many = readers(ops, op) > 1 || length == 1; /* one number is for all of the row */
        if (!many || !length || bytes + size > r->constants->rows_kept || gpuc_map_get(&astray, op)) {
            gpuc_map_set(&costly, op, op);
            continue;
        }
        bytes += size;
        gpuc_map_set(kept, op, op);
    }
}

bool gpuc_rules_rows(const gpuc_rules *r, const gpuc_ptrs *ops, gpuc_tensor *out)
{
    int rows = gpuc_rules_find_rows(r, ops, out);
    if (rows == 0) return false;
    if (r->kind == GPUC_CLASS_GPU) {
        by_team(r, ops, out, rows);
        return true;
    }
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64];
    gpuc_map kept;
    find_kept(r, ops, rows, &kept);
    for (int i = 0; i < rows; i++) loops[i] = gpuc_stage_axis(st, i);
    vectors(r, st, rows);
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, rows, loops));
    for (size_t i = ops->count; i-- > 0;) {
        gpuc_te_op *op = ops->at[i];
        if (op->kind != GPUC_TE_COMPUTE || op == out->op) continue;
        gpuc_stage *stage = gpuc_schedule_stage(r->s, op->outputs[0]);
        if (!op->num_reduce && !gpuc_map_get(&kept, op)) {
            gpuc_stage_compute_inline(stage);
            continue;
        }
        gpuc_stage_compute_at(stage, st, at);
        gpuc_stage_set_scope(stage, "local");
        if (op->num_reduce)
            gpuc_rules_along_values(r, op->outputs[0], st, at);
        else
            vectors(r, stage, rows);
    }
    return true;
}
