/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that need numbers of themselves, such as softmax: on a CPU one task makes some rows from beginning to
 * end, on a GPU a team of threads makes a row, so that a row is read from memory once. */
#include "topi/rules.h"

enum { MOST_ROW = 1 << 16 /* elements of a row that caches hold */ };

static bool is_one(gpuc_expr extent)
{
    int64_t n;
    return gpuc_expr_is_int(extent, &n) && n == 1;
}

/* Leading axes that the reduction has in common with the output; those after them must be reduced away.
 * 0: it is none of rows. */
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

/* The number of axes that count rows, or 0. */
static int find_rows(const gpuc_ptrs *ops, const gpuc_te_op *out)
{
    int rows = 0;
    int64_t length = 1;
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *op = ops->at[i];
        if (op->kind != GPUC_TE_COMPUTE && op->kind != GPUC_TE_PLACEHOLDER) return 0;
        if (!op->num_reduce) continue;
        int m = rows_of(op, out);
        if (m == 0 || op->num_outputs != 1 || (rows && m != rows)) return 0;
        rows = m;
    }
    for (int i = rows; i < out->num_axes; i++) {
        int64_t n;
        if (!gpuc_expr_is_int(out->axes[i]->extent, &n) || n > MOST_ROW) return 0;
        length *= n;
    }
    return length > 1 && length <= MOST_ROW ? rows : 0;
}

static void vectors(const gpuc_rules *r, gpuc_stage *st, int rows)
{
    int n = gpuc_stage_num_axes(st), lanes = gpuc_rules_lanes(r, gpuc_te_dtype(gpuc_stage_tensor(st, 0)));
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
    }
    return all;
}

/* What is no reduction is computed again where it is read: that costs less than memory for a row. */
static bool by_team(const gpuc_rules *r, const gpuc_ptrs *ops, gpuc_tensor *out, int rows)
{
    gpuc_team team = team_of(r, ops);
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64], *thread, *vector, *steps;
    int n = gpuc_stage_num_axes(st);
    if (team.threads == 1) return false;
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
    return true;
}

bool gpuc_rules_rows(const gpuc_rules *r, const gpuc_ptrs *ops, gpuc_tensor *out)
{
    int rows = out->op->num_reduce ? 0 : find_rows(ops, out->op);
    if (rows == 0) return false;
    if (r->kind == GPUC_CLASS_GPU) return by_team(r, ops, out, rows);
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loops[64];
    for (int i = 0; i < rows; i++) loops[i] = gpuc_stage_axis(st, i);
    vectors(r, st, rows);
    gpuc_iter *at = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, rows, loops));
    for (size_t i = ops->count; i-- > 0;) {
        gpuc_te_op *op = ops->at[i];
        if (op->kind != GPUC_TE_COMPUTE || op == out->op) continue;
        gpuc_stage *stage = gpuc_schedule_stage(r->s, op->outputs[0]);
        if (!op->num_reduce && readers(ops, op) == 1) {
            gpuc_stage_compute_inline(stage);
            continue;
        }
        gpuc_stage_compute_at(stage, st, at); /* what is read twice is kept for a row */
        gpuc_stage_set_scope(stage, "local");
        if (op->num_reduce)
            gpuc_rules_along_values(r, op->outputs[0], st, at);
        else
            vectors(r, stage, rows);
    }
    return true;
}
