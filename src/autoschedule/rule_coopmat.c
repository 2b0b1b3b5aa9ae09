/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions of float16 where the target multiplies cooperative matrices. A group computes a
 * tile of the output; each of its subgroups, along x, some blocks of 16 x 16 of it, whose sums stay in
 * matrices while the reduction runs. What the group reads is staged in shared memory. At the end each
 * subgroup puts one block after the other into storage of its own, from which its threads make the output's
 * elements. */
#include <string.h>

#include "abi/coopmat.h"
#include "arith/arith.h"
#include "autoschedule/rules.h"

enum { SIDE = GPUC_COOPMAT_SIDE };

typedef struct factor {
    gpuc_tensor *tensor;
    int across, along; /* its dimensions: of rows or columns, and of the sum's steps */
} factor;

typedef struct matrices {
    int rows, columns; /* axes of the output */
    int steps;         /* the reduce axis whose elements matrices hold */
    int64_t blocks[2]; /* of a subgroup, along rows and columns */
    int64_t subgroups[2];
    int64_t staged;   /* steps of the sum */
    factor factor[2]; /* with rows, with columns */
    const char *multiply, *store;
} matrices;

static bool is_float16(gpuc_dtype t)
{
    return gpuc_dtype_equal(t, GPUC_FLOAT16);
}

typedef struct find_run {
    gpuc_ctx *ctx;
    const gpuc_tensor *of;
    gpuc_expr var;
    int uses, at; /* dimensions that depend on the variable; one in which its neighbours are neighbours */
} find_run;

static bool note_run(gpuc_expr e, void *arg)
{
    find_run *f = arg;
    if (e->kind != GPUC_EXPR_READ || gpuc_as_read(e)->tensor != f->of) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    for (int i = 0; i < read->n; i++) {
        gpuc_expr coeff, rest;
        if (!gpuc_tir_uses_var(f->ctx, read->index[i], f->var)) continue;
        f->uses++;
        if (gpuc_arith_linear(gpuc_arith_analyzer_create(f->ctx), read->index[i], 1, &f->var, &coeff,
                              &rest) &&
            gpuc_tir_is_const(coeff, 1))
            f->at = i;
    }
    return true;
}

/* The dimension in which an operand runs along an axis, and in no other; -1: not so. uses: of how many. */
static int run_of(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_tensor *t, const gpuc_iter *axis,
                  int *uses)
{
    find_run f = {.ctx = r->ctx, .of = t, .var = axis->var, .at = -1};
    gpuc_tir_visit(r->ctx, op->bodies[0], note_run, &f);
    *uses = f.uses;
    return f.uses == 1 ? f.at : -1;
}

static bool find_factor(const gpuc_rules *r, const gpuc_te_op *op, const matrices *m, int axis, factor *f)
{
    const gpuc_iter *apart = op->axes[axis == m->rows ? m->columns : m->rows];
    for (int i = 0; i < op->num_inputs; i++) {
        gpuc_tensor *t = op->inputs[i];
        int uses, across = run_of(r, op, t, op->axes[axis], &uses),
                  along = run_of(r, op, t, op->reduce[m->steps], &uses);
        run_of(r, op, t, apart, &uses);
        if (across < 0 || along < 0 || across == along || uses) continue;
        *f = (factor){.tensor = t, .across = across, .along = along};
        return true;
    }
    return false;
}

static bool find_shape(const gpuc_rules *r, const gpuc_tensor *reduction, matrices *m)
{
    gpuc_rules_tag tag = gpuc_rules_tag_of(reduction);
    const gpuc_te_op *op = reduction->op;
    int n = op->num_axes;
    if (n < 2 || op->num_inputs != 2 || op->num_outputs != 1) return false;
    *m = (matrices){.rows = n - 2, .columns = n - 1};
    if (gpuc_rules_channels_last(reduction)) return false;
    if (tag == GPUC_TAG_CONV) /* rows are channels, columns the elements of a line */
        m->rows = 1;
    else if (tag != GPUC_TAG_MATMUL)
        return false;
    for (int i = 0; i < 2; i++)
        if (!is_float16(gpuc_te_dtype(op->inputs[i]))) return false;
    bool wide = gpuc_dtype_equal(gpuc_te_dtype(reduction), GPUC_FLOAT32);
    if (!wide && !is_float16(gpuc_te_dtype(reduction))) return false;
    m->multiply = wide ? "coopmat_f16_f32" : "coopmat_f16";
    m->store = wide ? "coopmat_store_f32" : "coopmat_store_f16";
    return find_factor(r, op, m, m->rows, &m->factor[0]) &&
           find_factor(r, op, m, m->columns, &m->factor[1]) && m->factor[0].tensor != m->factor[1].tensor;
}

static int64_t tile(const matrices *m, int i)
{
    return m->blocks[i] * m->subgroups[i] * SIDE;
}

/* Of a group; the loops that stand in for the instructions elsewhere have matrices in it too. */
static int64_t shared_bytes(const gpuc_rules *r, const matrices *m)
{
    enum { HALF = 2, SINGLE = 4 };
    int64_t apart = r->constants->coopmat_apart;
    int64_t staged = HALF * (tile(m, 0) * (m->staged + apart) + (tile(m, 1) + apart) * (m->staged + apart)),
            subgroups = m->subgroups[0] * m->subgroups[1], block = SIDE * SIDE;
    return staged + subgroups * block * (SINGLE + HALF * (m->blocks[0] + m->blocks[1]));
}

static bool fits(const gpuc_rules *r, const matrices *m, const int64_t *extent)
{
    const gpuc_target *t = r->target;
    for (int i = 0; i < 2; i++)
        if (extent[i] && tile(m, i) > extent[i]) return false; /* a last tile ends at the tensor's end */
    return shared_bytes(r, m) <= t->max_shared_memory && m->subgroups[1] <= t->max_threads_y &&
           m->subgroups[0] <= t->max_threads_z && t->thread_warp_size <= t->max_threads_x &&
           m->subgroups[0] * m->subgroups[1] * t->thread_warp_size <= t->max_num_threads;
}

/* The largest tile that leaves enough of them for all cores. */
static bool choose(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_te_op *out, matrices *m)
{
    static const int64_t counts[] = {1, 2, 4};
    const gpuc_constants *c = r->constants;
    /* Rows of sums may be longer than those of what reads them. */
    int64_t extent[] = {gpuc_rules_extent(out->axes[m->rows]), gpuc_rules_extent(out->axes[m->columns])},
            best = 0, steps = gpuc_rules_extent(op->reduce[m->steps]);
    m->staged = steps % (c->coopmat_staged * SIDE) ? SIDE : c->coopmat_staged * SIDE;
    if (steps == 0 || steps % SIDE || gpuc_rules_product(op->num_reduce, op->reduce) < 1) return false;
    int64_t elements = gpuc_rules_likely_product(op->num_axes, op->axes);
    matrices found = *m;
    for (int i = 0; i < 81; i++) {
        int64_t pick[4], left = i;
        for (int k = 0; k < 4; k++, left /= 3) pick[k] = counts[left % 3];
        matrices next = *m;
        memcpy(next.blocks, pick, sizeof next.blocks);
        memcpy(next.subgroups, pick + 2, sizeof next.subgroups);
        int64_t blocks = pick[0] * pick[1], groups = elements / (tile(&next, 0) * tile(&next, 1));
        if (blocks > c->coopmat_blocks || pick[2] * pick[3] > c->coopmat_subgroups || !fits(r, &next, extent))
            continue;
        /* The larger and squarer a tile, the more sums share a load of a factor. */
        int64_t sum = tile(&next, 0) + tile(&next, 1),
                score = c->coopmat_group_reuse * tile(&next, 0) * tile(&next, 1) / sum;
        score += c->coopmat_subgroup_reuse * blocks * SIDE / (pick[0] + pick[1]);
        if (groups < c->coopmat_groups_of_core * r->target->num_cores)
            score = score * (groups + 1) / (2 * c->coopmat_groups_of_core);
        if (score <= best) continue;
        best = score;
        found = next;
    }
    *m = found;
    return best > 0;
}

/* ---- Stages ------------------------------------------------------------------------------------------ */

/* Blocks of 16 x 16 of two axes, one behind the other in storage. */
static void lay_out(const gpuc_rules *r, gpuc_stage *st, int n, int first, int second)
{
    const char *layout = "";
    for (int i = 0; i < n; i++) layout = gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + i);
    layout = gpuc_ctx_printf(r->ctx, "%s%d%c%d%c", layout, SIDE, 'a' + first, SIDE, 'a' + second);
    gpuc_stage_transform_layout(st, layout);
}

/* order: the axes that are in no block, then blocks, then rows and columns within; unrolled but for these.
 * Returns how many. */
static int by_blocks(gpuc_stage *st, int first, int second, gpuc_iter **order)
{
    int n = gpuc_stage_num_axes(st), m = 0;
    for (int i = 0; i < n; i++)
        if (i != first && i != second) order[m++] = gpuc_stage_axis(st, i);
    gpuc_stage_split(st, gpuc_stage_axis(st, first), SIDE, &order[m], &order[m + 2]);
    gpuc_stage_split(st, gpuc_stage_axis(st, second), SIDE, &order[m + 1], &order[m + 3]);
    for (int i = 0; i < m + 2; i++) gpuc_stage_unroll(st, order[i]);
    return m + 4;
}

/* All threads of the group copy what it reads of a factor in some steps of the sum. */
static void stage_factor(const gpuc_rules *r, const matrices *m, const factor *f, gpuc_stage *st)
{
    int n = gpuc_stage_num_axes(st), lanes = gpuc_target_lanes(r->target, GPUC_FLOAT16),
        slow = f->across < f->along ? f->across : f->along;
    gpuc_iter *axes[64], *vector = NULL, *all, *lane, *y, *z;
    int64_t length;
    for (int i = 0; i < n; i++) axes[i] = gpuc_stage_axis(st, i);
    gpuc_stage_round_up(st);
    gpuc_stage_storage_align(st, slow, SIDE, r->constants->coopmat_apart);
    bool vectors = lanes > 1 && slow != n - 1 && (f->across == n - 1 || f->along == n - 1) &&
                   gpuc_expr_is_int(gpuc_te_shape(f->tensor)[n - 1], &length) && length % lanes == 0;
    if (vectors) gpuc_stage_split(st, axes[n - 1], lanes, &axes[n - 1], &vector);
    all = gpuc_rules_fuse(st, n, axes);
    gpuc_stage_split(st, all, r->target->thread_warp_size, &all, &lane);
    gpuc_stage_split(st, all, m->subgroups[1], &all, &y);
    gpuc_stage_split(st, all, m->subgroups[0], &all, &z);
    gpuc_stage_bind(st, lane, "threadIdx.x");
    gpuc_stage_bind(st, y, "threadIdx.y");
    gpuc_stage_bind(st, z, "threadIdx.z");
    if (vector) gpuc_stage_vectorize(st, vector);
}

static void load_factor(const gpuc_rules *r, const matrices *m, const factor *f, gpuc_stage *sum,
                        gpuc_iter *staged, gpuc_iter *step)
{
    gpuc_tensor *shared = gpuc_cache_read(r->s, f->tensor, "shared", 1, &sum),
                *held = gpuc_cache_read(r->s, shared, "coopmat", 1, &sum);
    gpuc_stage *copy = gpuc_schedule_stage(r->s, shared), *load = gpuc_schedule_stage(r->s, held);
    int n = gpuc_te_ndim(f->tensor), first = f->across < f->along ? f->across : f->along,
        second = f->across + f->along - first;
    gpuc_iter *order[68];
    gpuc_stage_compute_at(copy, sum, staged);
    stage_factor(r, m, f, copy);
    gpuc_stage_compute_at(load, sum, step);
    gpuc_stage_round_up(load);
    lay_out(r, load, n, first, second);
    int count = by_blocks(load, first, second, order);
    gpuc_stage_reorder(load, count, order);
    gpuc_stage_tensorize(load, order[count - 2], gpuc_tensor_intrin_find(r->ctx, "coopmat_load_f16"));
}

/* The output, block by block: loops of the grid, of subgroups, of a subgroup's blocks, and of threads. */
static void spread_output(const gpuc_rules *r, const matrices *m, gpuc_stage *st, gpuc_iter **subgroup,
                          gpuc_iter **block)
{
    static const char *const grid[] = {"blockIdx.y", "blockIdx.x"}, *const threads[] = {"threadIdx.z",
                                                                                        "threadIdx.y"};
    int n = gpuc_stage_num_axes(st), axes[] = {m->rows, m->columns}, others = 0, count;
    gpuc_iter *order[72], *part[2][4], *lane, *turn;
    for (int i = 0; i < n; i++)
        if (i != m->rows && i != m->columns) order[others++] = gpuc_stage_axis(st, i);
    count = others;
    for (int i = 0; i < 2; i++) {
        gpuc_stage_split(st, gpuc_stage_axis(st, axes[i]), tile(m, i), &part[i][0], &part[i][1]);
        gpuc_stage_split(st, part[i][1], m->blocks[i] * SIDE, &part[i][1], &part[i][2]);
        gpuc_stage_split(st, part[i][2], SIDE, &part[i][2], &part[i][3]);
    }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 2; i++) order[count++] = part[i][k];
    gpuc_stage_reorder(st, count, order);
    for (int i = 0; i < 2; i++) {
        gpuc_stage_bind(st, part[i][0], grid[i]);
        gpuc_stage_bind(st, part[i][1], threads[i]);
        gpuc_stage_unroll(st, part[i][2]);
    }
    if (others) gpuc_stage_bind(st, gpuc_rules_fuse(st, others, order), "blockIdx.z");
    gpuc_stage_split(st, gpuc_stage_fuse(st, part[0][3], part[1][3]), r->target->thread_warp_size, &turn,
                     &lane);
    gpuc_stage_bind(st, lane, "threadIdx.x");
    *subgroup = part[1][1];
    *block = part[1][2];
}

static bool find(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out, matrices *m)
{
    const gpuc_target *t = r->target;
    if (!gpuc_target_is_gpu(t) || !gpuc_target_has_matrices(t) || !t->storage16) return false;
    return gpuc_te_ndim(reduction) == gpuc_te_ndim(out) && find_shape(r, reduction, m) &&
           choose(r, reduction->op, out->op, m);
}

bool gpuc_rules_is_coopmat(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    matrices m;
    return find(r, reduction, out, &m);
}

bool gpuc_rules_coopmat(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    matrices m;
    if (!find(r, reduction, out, &m)) return false;
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "warp");
    gpuc_tensor *sums = gpuc_cache_write(r->s, reduction, "coopmat");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *block = gpuc_schedule_stage(r->s, reduction),
               *sum = gpuc_schedule_stage(r->s, sums);
    gpuc_iter *at_subgroup, *at_block, *order[72], *staged, *step, *within;
    spread_output(r, &m, st, &at_subgroup, &at_block);
    gpuc_stage_compute_at(block, st, at_block);
    gpuc_stage_set_scope(block, "warp");
    gpuc_stage_round_up(block);
    int count = by_blocks(block, m.rows, m.columns, order);
    gpuc_stage_reorder(block, count, order);
    gpuc_stage_tensorize(block, order[count - 2], gpuc_tensor_intrin_find(r->ctx, m.store));

    gpuc_stage_compute_at(sum, st, at_subgroup);
    gpuc_stage_round_up(sum);
    lay_out(r, sum, gpuc_stage_num_axes(sum), m.rows, m.columns);
    gpuc_iter *loops[72];
    int reduced = 0, blocks = by_blocks(sum, m.rows, m.columns, loops);
    for (int i = 0; i < gpuc_stage_num_reduce(sum); i++)
        if (i != m.steps) order[reduced++] = gpuc_stage_reduce_axis(sum, i);
    gpuc_stage_split(sum, gpuc_stage_reduce_axis(sum, m.steps), m.staged, &staged, &step);
    gpuc_stage_split(sum, step, SIDE, &step, &within);
    order[reduced++] = staged;
    order[reduced++] = step;
    memcpy(order + reduced, loops, sizeof *loops * (size_t)blocks);
    order[reduced + blocks] = within;
    gpuc_stage_reorder(sum, reduced + blocks + 1, order);
    gpuc_stage_tensorize(sum, loops[blocks - 2], gpuc_tensor_intrin_find(r->ctx, m.multiply));
    for (int i = 0; i < 2; i++) load_factor(r, &m, &m.factor[i], sum, staged, step);
    return true;
}
