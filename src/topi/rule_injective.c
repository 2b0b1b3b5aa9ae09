/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise work: the axes that run in step become one row, cut into whole vectors; rows and pieces of
 * rows are spread. */
#include "topi/rules.h"

enum { CHUNK = 4096 }; /* elements of one work-item or task on a CPU */

/* On a CPU: [outer..., row] -> tasks of about CHUNK elements, vectors inside. */
static void cpu(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *outer, gpuc_iter *row, int lanes)
{
    int64_t extent = gpuc_rules_extent(row), rows = outer ? gpuc_rules_extent(outer) : 1;
    int64_t tasks = r->kind == GPUC_CLASS_C ? 8 * r->target->num_cores : 64, chunk = CHUNK;
    gpuc_iter *piece, *vector;
    while (chunk > 4 * lanes && extent * rows / chunk < tasks) chunk /= 2;
    if (extent > chunk) {
        gpuc_stage_split(st, row, chunk, &piece, &row);
        gpuc_iter *both[] = {outer, piece};
        outer = outer ? gpuc_rules_fuse(st, 2, both) : piece;
    } else if (outer && extent > 0 && rows > tasks && r->kind == GPUC_CLASS_SIMD_CPU && extent * 2 <= chunk) {
        int64_t per_task = chunk / extent;
        while (per_task > 1 && rows / per_task < tasks) per_task /= 2;
        gpuc_iter *inner;
        gpuc_stage_split(st, outer, per_task, &outer, &inner);
    }
    if (lanes > 1 && gpuc_rules_extent(row) >= lanes) {
        gpuc_stage_split(st, row, lanes, &row, &vector);
        gpuc_stage_vectorize(st, vector);
    }
    if (outer) gpuc_rules_spread(r, st, outer);
}

void gpuc_rules_injective(const gpuc_rules *r, gpuc_stage *st)
{
    if (gpuc_rules_transpose(r, st)) return;
    const gpuc_tensor *t = gpuc_stage_tensor(st, 0);
    int n = gpuc_stage_num_leaves(st), inner = gpuc_rules_contiguous_axes(r->ctx, t->op);
    gpuc_iter *loops[64], *vector;
    if (n == 0) return;
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_leaf(st, i);
    gpuc_iter *row = gpuc_rules_fuse(st, inner, loops + n - inner);
    gpuc_iter *outer = gpuc_rules_fuse(st, n - inner, loops);
    int lanes = gpuc_rules_lanes(r, gpuc_te_dtype(t));
    if (r->kind != GPUC_CLASS_GPU) {
        cpu(r, st, outer, row, lanes);
        return;
    }
    bool whole = gpuc_rules_extent(row) > 0 && gpuc_rules_extent(row) % lanes == 0;
    if (lanes > 1 && whole) {
        gpuc_stage_split(st, row, lanes, &row, &vector);
        gpuc_stage_vectorize(st, vector);
    }
    gpuc_iter *both[] = {outer, row};
    gpuc_rules_spread(r, st, outer ? gpuc_rules_fuse(st, 2, both) : row);
}

void gpuc_rules_copy_rows(const gpuc_rules *r, gpuc_stage *st)
{
    int n = gpuc_stage_num_axes(st), lanes = gpuc_rules_lanes(r, gpuc_te_dtype(gpuc_stage_tensor(st, 0)));
    if (n > 1 && lanes > 1) gpuc_stage_storage_align(st, n - 2, lanes, 0);
    gpuc_rules_injective(r, st);
}
