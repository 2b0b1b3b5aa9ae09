/* SPDX-License-Identifier: Apache-2.0 */
/* Products of sparse matrices by tiles: an element of the matrix is read once for all places of a tile, of which there are
 * vectors. On a CPU a task has some rows, and a tile of places at a time. Where lanes are threads, each has a row of its own,
 * and on a GPU a place of its own, so that neighbours read neighbours. */
#include "target/target.h"
#include "topi/linalg/sparse.h"

typedef gpuc_sparse_product product;

enum { SUMS = GPUC_COMMON_sparse_sums };

static gpuc_expr num(const product *p, int64_t n)
{
    return gpuc_int(p->s.ctx, n);
}

/* The statement for each lane of a vector. */
static gpuc_stmt by_lanes(const product *p, gpuc_expr lane, gpuc_stmt body)
{
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr zero = num(p, 0);
    if (p->lanes == 1) return gpuc_tir_substitute_stmt(ctx, body, 1, &lane, &zero);
    return gpuc_tir_for_(ctx, lane, zero, num(p, p->lanes), GPUC_LOOP_VECTORIZED, GPUC_THREAD_NONE, body);
}

/* ---- A tile ---- */

typedef struct tile {
    const product *p;
    gpuc_expr row, batch, first; /* place */
    gpuc_tir_buffer *sums;       /* of chain 0, then of the others */
} tile;

static gpuc_expr place_in(const tile *t, int chain, int vector, gpuc_expr lane)
{
    const product *p = t->p;
    return gpuc_add(p->s.ctx, num(p, (chain * p->vectors + vector) * p->lanes), lane);
}

static gpuc_stmt add_to_sum(const tile *t, int chain, int vector, gpuc_expr lane, gpuc_expr more)
{
    gpuc_ctx *ctx = t->p->s.ctx;
    gpuc_expr at = place_in(t, chain, vector, lane);
    return gpuc_tir_store1(ctx, t->sums, at, gpuc_add(ctx, gpuc_tir_load1(ctx, t->sums, at), more));
}

static gpuc_expr number(const product *p, gpuc_expr at)
{
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr index[] = {num(p, 0), at};
    if (p->numbers) return gpuc_tir_load1(ctx, p->numbers, at);
    return gpuc_cast(ctx, p->wide, gpuc_tir_load(ctx, p->op->input_buffers[0], 2, index));
}

/* Adds what element j of the matrix is multiplied with to the sums of a chain. */
static gpuc_stmt add_element(const tile *t, gpuc_expr j, int chain)
{
    const product *p = t->p;
    const gpuc_sparse *s = &p->s;
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr c = gpuc_var(ctx, "c", GPUC_INDEX), lane = gpuc_var(ctx, "lane", GPUC_INDEX),
              r = s->block[0] ? gpuc_floormod_(ctx, t->row, s->block[0]) : NULL;
    gpuc_expr at = gpuc_var(ctx, "at", GPUC_INDEX), value = gpuc_var(ctx, "value", p->wide);
    gpuc_expr column = gpuc_topi_sparse_column(s, j, c), from = column;
    if (p->numbers) from = gpuc_add(ctx, gpuc_topi_sparse_offset(p, t->batch, column), t->first);
    gpuc_stmt add = NULL;
    for (int v = 0; v < p->vectors; v++) {
        gpuc_expr next = gpuc_add(ctx, at, gpuc_add(ctx, num(p, v * p->lanes), lane));
        gpuc_expr more = gpuc_mul(ctx, value, number(p, next));
        add = gpuc_tir_seq2(ctx, add, by_lanes(p, lane, add_to_sum(t, chain, v, lane, more)));
    }
    gpuc_expr element = gpuc_cast(ctx, p->wide, gpuc_topi_sparse_element(s, j, r, c));
    add = gpuc_tir_let(ctx, value, element, gpuc_tir_let(ctx, at, from, add));
    return s->block[1] ? gpuc_topi_par_serial(ctx, c, s->block[1], add) : add;
}

/* The elements of the row: so many chains at a time, then those that are left. */
static gpuc_stmt add_row(const tile *t)
{
    const product *p = t->p;
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr row = t->row, from = gpuc_var(ctx, "from", GPUC_INT32),
              count = gpuc_var(ctx, "count", GPUC_INT32), some = gpuc_var(ctx, "some", GPUC_INT32),
              j = gpuc_var(ctx, "j", GPUC_INT32), none = gpuc_topi_par_i32(ctx, 0),
              chains = gpuc_topi_par_i32(ctx, p->chains);
    if (p->s.block[0]) row = gpuc_floordiv_(ctx, row, p->s.block[0]);
    gpuc_expr begin = gpuc_topi_sparse_begin(&p->s, row), n = gpuc_topi_sparse_count(&p->s, row, from);
    if (p->chains == 1) {
        gpuc_stmt all =
            gpuc_tir_for_(ctx, j, from, n, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, add_element(t, j, 0));
        return gpuc_tir_let(ctx, from, begin, all);
    }
    gpuc_expr parts = gpuc_floordiv_(ctx, count, chains),
              first = gpuc_add(ctx, from, gpuc_mul(ctx, some, chains));
    gpuc_stmt each = NULL;
    for (int i = 0; i < p->chains; i++)
        each = gpuc_tir_seq2(ctx, each, add_element(t, gpuc_add(ctx, first, gpuc_topi_par_i32(ctx, i)), i));
    each = gpuc_tir_for_(ctx, some, none, parts, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, each);
    gpuc_expr rest = gpuc_floormod_(ctx, count, chains),
              behind = gpuc_add(ctx, from, gpuc_sub(ctx, count, rest));
    gpuc_stmt last = gpuc_tir_for_(ctx, j, none, rest, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                                   add_element(t, gpuc_add(ctx, behind, j), 0));
    return gpuc_tir_let(ctx, from, begin, gpuc_tir_let(ctx, count, n, gpuc_tir_seq2(ctx, each, last)));
}

static gpuc_stmt store(const tile *t, gpuc_expr place, gpuc_expr value)
{
    const product *p = t->p;
    gpuc_ctx *ctx = p->s.ctx;
    const gpuc_tir_buffer *out = p->op->output_buffers[0];
    gpuc_expr index[4];
    gpuc_topi_sparse_index(p, t->row, t->batch, place, index);
    return gpuc_tir_store(ctx, out, out->ndim, index, gpuc_cast(ctx, out->dtype, value));
}

/* The vector of sums: as one if all its places exist, else one by one. */
static gpuc_stmt store_vector(const tile *t, int v)
{
    const product *p = t->p;
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr lane = gpuc_var(ctx, "lane", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX),
              lanes = num(p, p->lanes);
    gpuc_expr first = gpuc_add(ctx, t->first, num(p, v * p->lanes)), place = gpuc_add(ctx, first, lane);
    gpuc_expr sum = gpuc_tir_load1(ctx, t->sums, place_in(t, 0, v, lane));
    gpuc_stmt all = by_lanes(p, lane, store(t, place, sum));
    gpuc_expr exist = gpuc_topi_sparse_exist(p, first, p->lanes);
    if (!exist) return all;
    if (p->lanes == 1) return gpuc_tir_if_(ctx, exist, all, NULL);
    gpuc_tir_buffer *near = gpuc_tir_buffer_make(ctx, "near", p->wide, 1, &lanes, GPUC_SCOPE_LOCAL);
    gpuc_expr one = gpuc_add(ctx, first, k);
    gpuc_stmt put = gpuc_tir_if_(ctx, gpuc_topi_sparse_exist(p, one, 1),
                                 store(t, one, gpuc_tir_load1(ctx, near, k)), NULL);
    gpuc_stmt steps = gpuc_tir_seq2(ctx, by_lanes(p, lane, gpuc_tir_store1(ctx, near, lane, sum)),
                                    gpuc_topi_par_serial(ctx, k, lanes, put));
    return gpuc_tir_if_(ctx, exist, all, gpuc_tir_alloc(ctx, near, steps));
}

static gpuc_stmt make_tile(const product *p, gpuc_expr row, gpuc_expr batch, gpuc_expr first)
{
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr size = num(p, (int64_t)p->chains * p->vectors * p->lanes),
              lane = gpuc_var(ctx, "lane", GPUC_INDEX);
    tile t = {p, row, batch, first, gpuc_tir_buffer_make(ctx, "sums", p->wide, 1, &size, GPUC_SCOPE_LOCAL)};
    gpuc_stmt clear = NULL, join = NULL, put = NULL;
    for (int c = 0; c < p->chains; c++)
        for (int v = 0; v < p->vectors; v++) {
            gpuc_expr at = place_in(&t, c, v, lane);
            clear = gpuc_tir_seq2(
                ctx, clear, by_lanes(p, lane, gpuc_tir_store1(ctx, t.sums, at, gpuc_imm(ctx, p->wide, 0))));
            if (c)
                join = gpuc_tir_seq2(
                    ctx, join,
                    by_lanes(p, lane, add_to_sum(&t, 0, v, lane, gpuc_tir_load1(ctx, t.sums, at))));
        }
    for (int v = 0; v < p->vectors; v++) put = gpuc_tir_seq2(ctx, put, store_vector(&t, v));
    gpuc_stmt steps[] = {clear, add_row(&t), join, put};
    return gpuc_tir_alloc(ctx, t.sums, gpuc_tir_seq(ctx, 4, steps));
}

/* ---- Who makes it ---- */

/* Tiles of as many vectors each, and as few tiles as there can be; chains: of sums that hide their latency. */
static void choose_vectors(product *p, gpuc_knobs *knobs, int64_t places, int chains)
{
    int64_t candidates[SUMS], all = (places + p->lanes - 1) / p->lanes, tiles = (all + SUMS - 1) / SUMS;
    for (int v = 0; v < SUMS; v++) candidates[v] = v + 1;
    int64_t own = tiles > 0 ? (all + tiles - 1) / tiles : 1;
    p->vectors = (int)gpuc_knob(knobs, "vectors", own, SUMS, candidates);
    p->chains = p->s.block[0] || chains < 2 * p->vectors ? 1 : chains / p->vectors;
}

static gpuc_stmt fill_numbers(const product *p, const gpuc_target *target)
{
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), size = p->numbers->shape[0];
    gpuc_stmt put = gpuc_tir_store1(ctx, p->numbers, e, gpuc_topi_sparse_number(p, e));
    const gpuc_target *lanes = gpuc_topi_par_on_lanes(target);
    return lanes ? gpuc_topi_par_many_lanes(ctx, lanes, e, size, put) : gpuc_topi_par_loop(ctx, e, size, put);
}

static gpuc_expr num_tiles(const product *p)
{
    return gpuc_topi_par_ceildiv(p->s.ctx, gpuc_topi_sparse_places(p), num(p, p->lanes * p->vectors));
}

/* Tasks of some rows and one tile; tasks that follow each other have the same numbers. */
static gpuc_stmt by_tasks(const product *p, const gpuc_target *target, gpuc_knobs *knobs)
{
    static const int64_t some[] = {1, 4, 8, 16, 32, 64};
    gpuc_ctx *ctx = p->s.ctx;
    int64_t each = gpuc_knob(knobs, "rows", GPUC_COMMON_sparse_rows, sizeof some / sizeof *some, some);
    gpuc_expr task = gpuc_var(ctx, "task", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX),
              tiles = num_tiles(p);
    gpuc_expr blocks = gpuc_topi_par_ceildiv(ctx, p->rows, num(p, each)), at[3];
    const gpuc_expr dims[] = {p->batches, tiles, blocks};
    gpuc_topi_par_unravel(ctx, 3, dims, task, at);
    gpuc_expr row = gpuc_add(ctx, gpuc_mul(ctx, at[2], num(p, each)), k);
    gpuc_stmt body = make_tile(p, row, at[0], gpuc_mul(ctx, at[1], num(p, p->lanes * p->vectors)));
    int64_t rows;
    if (!gpuc_expr_is_int(p->rows, &rows) || rows % each)
        body = gpuc_tir_if_(ctx, gpuc_lt(ctx, row, p->rows), body, NULL);
    body = gpuc_topi_par_serial(ctx, k, num(p, each), body);
    gpuc_expr tasks = gpuc_mul(ctx, gpuc_mul(ctx, p->batches, tiles), blocks);
    return gpuc_topi_par_tasks(ctx, target, task, tasks, body);
}

/* A lane or a thread for each row and tile. */
static gpuc_stmt by_threads(const product *p, const gpuc_target *lanes)
{
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), tiles = num_tiles(p), at[3];
    const gpuc_expr of_rows[] = {p->batches, tiles, p->rows}, of_places[] = {p->batches, p->rows, tiles};
    gpuc_topi_par_unravel(ctx, 3, lanes ? of_rows : of_places, i, at);
    gpuc_expr row = at[lanes ? 2 : 1],
              first = gpuc_mul(ctx, at[lanes ? 1 : 2], num(p, p->lanes * p->vectors));
    gpuc_stmt body = make_tile(p, row, at[0], first);
    gpuc_expr n = gpuc_mul(ctx, gpuc_mul(ctx, p->batches, tiles), p->rows);
    return lanes ? gpuc_topi_par_lanes(ctx, lanes, i, n, body) : gpuc_topi_par_loop(ctx, i, n, body);
}

/* The shortest vector that holds so many places, or the longest there is. */
static int lanes_for(int64_t places, int most)
{
    int lanes = 1;
    while (lanes < most && lanes < places) lanes *= 2;
    return lanes;
}

gpuc_stmt gpuc_topi_sparse_product_body(const gpuc_sparse_product *of, const gpuc_target *target,
                                        gpuc_knobs *knobs)
{
    const gpuc_target *cpu = gpuc_topi_par_cpu(target), *on_lanes = gpuc_topi_par_on_lanes(target);
    product p = *of;
    int64_t places;
    p.lanes = p.vectors = p.chains = 1;
    if (!target) return NULL;
    if (!gpuc_expr_is_int(gpuc_topi_sparse_places(&p), &places)) places = GPUC_COMMON_symbolic;
    int most = gpuc_target_lanes(target, p.wide);
    if (cpu) {
        p.lanes = lanes_for(places, most);
        choose_vectors(&p, knobs, places, SUMS);
    } else if (on_lanes) {
        if (places < 2) return NULL;
        p.lanes = most;
        p.is_aligned = true;
        choose_vectors(&p, knobs, places, 1);
    } else if (places < GPUC_COMMON_sparse_places) {
        return NULL;
    }
    if (places < 2 && !p.is_image) return by_tasks(&p, cpu, knobs);
    gpuc_tir_buffer *numbers = gpuc_topi_par_workspace(p.s.ctx, "numbers", p.wide, gpuc_topi_sparse_size(&p));
    p.numbers = numbers;
    gpuc_stmt body = cpu ? by_tasks(&p, cpu, knobs) : by_threads(&p, on_lanes);
    return gpuc_tir_alloc(p.s.ctx, numbers, gpuc_tir_seq2(p.s.ctx, fill_numbers(&p, target), body));
}
