/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions whose outputs share their inputs: a tile of accumulators stays in registers while the reduction
 * runs. rows x lines x vectors, which run along the last axis: rows of a matrix, or output channels of a
 * convolution whose lines are rows of an image; with channels last rows and lines are those of the image, and
 * vectors hold channels. */
#include <string.h>

#include "arith/arith.h"
#include "autoschedule/rules.h"

typedef struct tile {
    int64_t rows, lines, vectors;
    int lanes;
} tile;

typedef struct shape {
    int64_t rows, lines, row_length, others; /* extents of the output */
    int64_t group;                           /* of a convolution: rows that read the same channels; 0: all */
    bool stream;                             /* vectors are read once per tile, from a cache further away */
    bool open;         /* only a run knows how long rows are: what is left of one goes element by element */
    bool packs;        /* then panels of it are packed, whose last one is filled up */
    int64_t step;      /* it is a multiple of that */
    bool taps;         /* sums are few and all unrolled: what is loaded serves one of them */
    bool line_vectors; /* each line has vectors of its own to load; else each row of each line has a value */
} shape;

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Compilers for CPUs keep a step's vectors of one operand and a value of the other besides the sums; what is
 * too many goes to memory and back in each step: tiles of 7 x 2 vectors took 1.2 to 2 times as long as 6 x 2
 * with 16 registers. */
static bool fits_registers(const gpuc_rules *r, const shape *s, const tile *t)
{
    int64_t sums = t->rows * t->lines * t->vectors, registers = r->target->vector_registers;
    if (r->kind == GPUC_CLASS_GPU || s->taps) return sums <= 8;
    return sums + t->vectors + 1 <= registers && sums <= registers * 7 / 8;
}

enum { STREAMED = 4 }; /* loads of what is near, for one of what is not */

/* Time of one step of the reduction per useful element, in multiply-adds of a vector. */
static double cost(const gpuc_rules *r, const shape *s, const tile *t)
{
    double sums = (double)(t->rows * t->lines * t->vectors),
           loads = (double)(s->line_vectors ? t->lines * t->vectors + t->rows
                                            : (s->stream ? STREAMED : 1) * t->vectors + t->rows * t->lines);
    double time = sums > 8 || r->kind == GPUC_CLASS_GPU ? sums : 8; /* latency shows below 8 chains */
    if (r->kind == GPUC_CLASS_GPU)
        time += 2.0 * ((double)(t->lines * t->vectors) + (double)ceil_div(t->rows, 4));
    else
        time += 0.3 * loads;
    int64_t blocks = ceil_div(s->rows, t->rows) * ceil_div(s->lines, t->lines);
    blocks *= ceil_div(s->row_length, t->vectors * t->lanes);
    double total = time * (double)blocks;
    if (s->lines == 1 && r->kind != GPUC_CLASS_GPU && s->rows % t->rows)
        total *= 1.15; /* guards in the loop */
    if (r->kind == GPUC_CLASS_SIMD_CPU && s->row_length % (t->vectors * t->lanes))
        total *= s->lines == 1 ? 1.3 : 1.1;
    int64_t wanted = r->kind == GPUC_CLASS_C          ? 4 * r->target->num_cores
                     : r->kind == GPUC_CLASS_SIMD_CPU ? 64
                                                      : 128;
    int64_t have = blocks * s->others;
    return have < wanted ? total * (1 + 0.25 * (double)(wanted - have) / (double)wanted) : total;
}

static tile choose(const gpuc_rules *r, const shape *s, int most_lanes, bool reuse)
{
    static const int64_t rows[] = {1, 2, 3, 4, 6, 7, 8, 12};
    tile best = {.rows = 1, .lines = 1, .vectors = 1, .lanes = most_lanes};
    double best_cost = -1;
    for (int lanes = most_lanes; lanes >= 1; lanes /= 2) {
        if (lanes > s->row_length && lanes > 1) continue;
        if (lanes * 2 < most_lanes) break;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            if (rows[i] > s->rows || (!reuse && rows[i] > 1)) continue;
            if (s->group && s->group % rows[i]) continue;
            bool whole = rows[i] % 4 == 0 || s->group % 4; /* a vector of weights */
            if (r->kind == GPUC_CLASS_GPU && rows[i] > 1 && !whole) continue;
            for (int64_t lines = 1; lines <= 8 && lines <= s->lines; lines++) {
                /* Pixels of several rows of an image take more addresses than CPUs have registers for. */
                if (lines > 1 && rows[i] > 1 && r->kind != GPUC_CLASS_GPU) break;
                for (int64_t vectors = 1; vectors <= 8; vectors++) {
                    tile t = {.rows = rows[i], .lines = lines, .vectors = vectors, .lanes = lanes};
                    if (!fits_registers(r, s, &t)) break;
                    bool guarded = s->open && !s->packs && s->step % (vectors * lanes);
                    if (vectors > 1 && guarded && r->kind == GPUC_CLASS_C) break;
                    if (vectors > 1 && vectors * lanes > ceil_div(s->row_length, lanes) * lanes) break;
                    double c = cost(r, s, &t) * (r->kind == GPUC_CLASS_GPU ? 1.0
                                                 : lanes == 16             ? 1.0
                                                                           : 0.55 * 16 / lanes / 2 + 0.05);
                    if (!reuse && s->row_length % lanes) c *= 2; /* what is left goes one by one */
                    if (best_cost >= 0 && c >= best_cost) continue;
                    best = t;
                    best_cost = c;
                }
            }
        }
    }
    return best;
}

/* Of what an open size is known to be a multiple. */
static int64_t step_of(const gpuc_rules *r, gpuc_expr extent)
{
    enum { MOST = 16 };
    gpuc_analyzer *a = gpuc_analyzer_create(r->ctx);
    int64_t step = MOST;
    while (step > 1 &&
           !gpuc_prove_equal(a, gpuc_floormod_(r->ctx, extent, gpuc_int(r->ctx, step)), gpuc_int(r->ctx, 0)))
        step /= 2;
    return step;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A tuner knows better what registers hold, and what to spill. */
static tile ask(const gpuc_rules *r, const shape *s, int most_lanes, bool reuse, const tile *own)
{
    enum { FEW = 8, ROWS = 14 };
    static const int64_t powers[] = {1, 2, 4, 8, 16}, few[FEW] = {1, 2, 3, 4, 5, 6, 7, 8},
                         rows[ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 28};
    int64_t left = r->kind == GPUC_CLASS_GPU ? 64 : r->target->vector_registers, divisors[ROWS];
    tile t;
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (!s->group || s->group % rows[i] == 0) divisors[n++] = rows[i];
    t.lanes = (int)gpuc_rules_knob(r, "lanes", own->lanes, smaller(most_lanes, s->row_length), 5, powers);
    t.rows = gpuc_rules_knob(r, "rows", own->rows, reuse ? s->rows : 1, n, divisors);
    left = left > t.rows ? left / t.rows : 1;
    t.lines = gpuc_rules_knob(r, "lines", smaller(own->lines, left), smaller(s->lines, left), FEW, few);
    left = left > t.lines ? left / t.lines : 1;
    int64_t vectors = ceil_div(s->row_length, t.lanes);
    t.vectors = gpuc_rules_knob(r, "vectors", smaller(own->vectors, left), smaller(vectors, left), FEW, few);
    return t;
}

/* Where a tile is as wide as the output and half a vector or less is left at its end, that is a vector of its
 * own: then vectors are not a loop, but parts of one. */
static bool ends_in_part(const gpuc_rules *r, const shape *s, const tile *t)
{
    enum { LEAST = 4 };
    int64_t rest = s->row_length % t->lanes;
    return r->kind != GPUC_CLASS_GPU && s->stream && !s->open && s->row_length < t->vectors * t->lanes &&
           rest > 0 && 2 * rest <= t->lanes && rest % LEAST == 0;
}

/* Along a window that is not longer, sums are unrolled and share what is loaded into registers. */
enum { MOST_SHARED = 16 };

static void conv_operands(const gpuc_rules *r, gpuc_stage *sum, const tile *t)
{
    gpuc_tensor *const *in = gpuc_stage_tensor(sum, 0)->op->inputs;
    gpuc_tensor *data = in[0], *weight = in[1];
    int n = gpuc_stage_num_reduce(sum);
    gpuc_iter *last = gpuc_stage_reduce_axis(sum, n - 1);
    bool window = n > 1 && gpuc_rules_extent(last) > 1 && gpuc_rules_extent(last) <= MOST_SHARED;
    if (!gpuc_rules_starts_rows_at_vectors(data, t->lanes)) {
        data = gpuc_cache_read(r->s, data, "global", 1, &sum);
        gpuc_rules_copy_rows(r, gpuc_schedule_stage(r->s, data));
    }
    if (window) gpuc_stage_unroll(sum, last);
    gpuc_rules_load_to_registers(r, sum, data, sum, window ? gpuc_stage_reduce_axis(sum, n - 2) : last,
                                 t->lanes);
    if (t->rows % t->lanes == 0) gpuc_rules_load_to_registers(r, sum, weight, sum, last, t->lanes);
}

/* Vectors of both operands run along memory: those of one along the reduction, which goes in steps of a
 * vector. */
static void matmul_operands(const gpuc_rules *r, gpuc_stage *sum, const tile *t)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    int last = op->num_reduce - 1;
    gpuc_iter *k = gpuc_stage_reduce_axis(sum, last), *outer, *inner;
    gpuc_tensor *operands[] = {op->inputs[0], op->inputs[1]};
    bool along[2];
    if (gpuc_rules_extent(k) % t->lanes || gpuc_rules_extent(k) == 0) return;
    for (int i = 0; i < 2; i++)
        along[i] =
            gpuc_rules_dimension_of(r, op, operands[i], op->reduce[last]) == gpuc_te_ndim(operands[i]) - 1;
    gpuc_stage_split(sum, k, t->lanes, &outer, &inner);
    gpuc_stage_unroll(sum, inner);
    for (int i = 0; i < 2; i++)
        gpuc_rules_load_to_registers(r, sum, operands[i], sum, along[i] ? outer : inner, t->lanes);
}

enum {
    CACHED = 256 << 10, /* bytes of an operand that stay in a core's own cache */
    OFTEN = 48          /* uses of an element that pay for packing it */
};

/* The columns of the second operand that fit a cache serve all rows, then the next ones do: [..., row,
 * column] becomes
 * [..., columns, row, column]. Returns the new number of loops. */
static int block_columns(const gpuc_rules *r, gpuc_stage *st, const gpuc_tensor *product, const tile *t,
                         int n, gpuc_iter **loops)
{
    int64_t depth = gpuc_rules_extent(product->op->reduce[0]),
            bytes = (int64_t)gpuc_dtype_bytes(gpuc_te_dtype(product));
    int64_t column = depth * t->vectors * t->lanes * bytes, fit = column > 0 ? CACHED / column : 1;
    gpuc_iter *rows = loops[n - 2];
    static const int64_t blocks[] = {1, 2, 4, 8, 16, 32, 64};
    bool open = !gpuc_rules_extent(loops[n - 1]); /* a block that is cut has guards in all of its tiles */
    fit = gpuc_rules_knob(r, "block", fit > 1 && !open ? fit : 1, open ? 1 : 64,
                          sizeof blocks / sizeof *blocks, blocks);
    gpuc_stage_split(st, loops[n - 1], fit, &loops[n - 2], &loops[n]);
    loops[n - 1] = rows;
    return n + 1;
}

/* A copy of an operand in panels of as many rows or columns as a tile has, in the order in which the tile's
 * sums read them. */
static bool pack(const gpuc_rules *r, gpuc_stage *sum, int operand, int axis, int64_t width)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    gpuc_tensor *t = op->inputs[operand];
    int n = gpuc_te_ndim(t), across = gpuc_rules_dimension_of(r, op, t, op->axes[axis]),
        along = gpuc_rules_dimension_of(r, op, t, op->reduce[0]),
        lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(t));
    if (across < 0 || along < 0 || across == along) return false;
    gpuc_stage *st = gpuc_schedule_stage(r->s, gpuc_cache_read(r->s, t, "global", 1, &sum));
    gpuc_stage_round_up(st);
    gpuc_iter *order[68], *vector = NULL;
    int m = gpuc_rules_panels(r, st, across, along, width, 1, order), outer = m + 1;
    order[m + 1] = gpuc_stage_axis(st, along);
    gpuc_stage_split(st, gpuc_stage_axis(st, across), width, &order[m], &order[m + 2]);
    m += 3;
    if (across == n - 1 && lanes > 1 && width % lanes == 0) {
        gpuc_stage_split(st, order[m - 1], lanes, &order[m - 1], &vector);
        order[m++] = vector;
    }
    gpuc_stage_reorder(st, m, order);
    if (vector) gpuc_stage_vectorize(st, vector);
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, outer, order));
    return true;
}

/* Operands that a cache does not hold, or whose rows share few lines of it since their starts are a large
 * power of two apart, are packed where each element is used often enough to pay for that. */
static void pack_operands(const gpuc_rules *r, gpuc_stage *sum, const shape *s, const tile *t)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    int64_t bytes = (int64_t)gpuc_dtype_bytes(gpuc_te_dtype(op->inputs[0])), depth;
    if (op->num_inputs != 2 || op->num_reduce != 1) return;
    depth = gpuc_rules_likely_product(1, op->reduce);
    static const int64_t choices[] = {0, 1};
    int64_t width = t->vectors * t->lanes;
    bool open_rows = !gpuc_rules_extent(op->axes[op->num_axes - 2]),
         open = s->open || open_rows || !gpuc_rules_extent(op->reduce[0]);
    bool columns = s->rows >= OFTEN && (open || depth * s->row_length * bytes > CACHED), packed[2] = {false};
    if (gpuc_rules_knob(r, "pack_columns", columns, 1, 2, choices))
        packed[1] = pack(r, sum, 1, op->num_axes - 1, width);
    bool rows = s->row_length >= OFTEN && (open || depth * s->rows * bytes > CACHED);
    if (gpuc_rules_knob(r, "pack_rows", rows, 1, 2, choices))
        packed[0] = pack(r, sum, 0, op->num_axes - 2, t->rows);
    bool whole = (packed[0] || (!open_rows && s->rows % t->rows == 0)) &&
                 (packed[1] || (!s->open && s->row_length % width == 0));
    if (whole) gpuc_stage_round_up(sum); /* the last panels are */
}

static int64_t rows_of_group(const gpuc_tensor *conv, int64_t rows)
{
    int64_t channels, in_group = gpuc_rules_extent(conv->op->reduce[0]);
    if (!gpuc_expr_is_int(gpuc_te_shape(conv->op->inputs[0])[1], &channels) || in_group == 0) return 1;
    return channels == in_group ? 0 : rows / (channels / in_group);
}

/* Some steps of the last of m reduction loops at a time: code grows by them, and so does the time to compile
 * it. Returns the new number of loops. */
static int unroll(const gpuc_rules *r, gpuc_stage *sum, const tile *t, int m, gpuc_iter **loops)
{
    enum { MOST = 8, MOST_SUMS = 160 };
    if (m == 0 || gpuc_rules_extent(loops[m - 1]) < 2) return m;
    int64_t most = smaller(MOST, MOST_SUMS / (t->rows * t->lines * t->vectors)),
            steps = gpuc_rules_divisor_knob(r, "unroll", 1, most, gpuc_rules_extent(loops[m - 1]));
    if (steps == 1) return m;
    gpuc_stage_split(sum, loops[m - 1], steps, &loops[m - 1], &loops[m]);
    gpuc_stage_unroll(sum, loops[m]);
    return m + 1;
}

enum {
    MOST_WINDOW = 7, /* along an axis, that is unrolled */
    MOST_TAPS = 48   /* of all sums of a tile, unrolled: compilers take 0.5 s for each 100 */
};

/* Neighbours in the tile share what is loaded for their windows, along each axis that is unrolled. Where
 * whole windows are too much code, other axes become loops outside of the one with most neighbours. loops is
 * of space, then channels. Returns how many of the loops stay loops. */
static int order_window(const tile *t, int n, gpuc_iter **loops)
{
    int64_t taps = t->rows * t->lines * t->vectors;
    int shared = t->lines > t->rows && n > 2 ? n - 3 : n - 2, outside = 0;
    for (int i = 0; i < n; i++) taps *= gpuc_rules_extent(loops[i]);
    for (int i = 0; i < n - 1 && taps > MOST_TAPS; i++) {
        gpuc_iter *loop = loops[i];
        if (i == shared) continue;
        taps /= gpuc_rules_extent(loop);
        memmove(loops + outside + 1, loops + outside, sizeof *loops * (size_t)(i - outside));
        loops[outside++] = loop;
    }
    return outside;
}

bool gpuc_rules_tile(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    const char *tag = gpuc_rules_tag(reduction);
    bool conv = !strcmp(tag, "conv"), matmul = !strcmp(tag, "matmul"),
         depthwise_nsc = !strcmp(tag, "depthwise_nsc"), matmul_nsc = !strcmp(tag, "matmul_nsc"),
         conv_nsc = depthwise_nsc || matmul_nsc || !strcmp(tag, "conv_nsc"),
         depthwise = !strcmp(tag, "depthwise") || !strcmp(tag, "window");
    int n = gpuc_te_ndim(out), row_axis = conv || depthwise ? 1 : n - 2,
        line_axis = n <= 3 || matmul || matmul_nsc ? -1
                    : conv_nsc                     ? n - 3
                                                   : n - 2;
    shape s = {.rows = 1,
               .lines = 1,
               .others = 1,
               .line_vectors = conv || depthwise,
               .stream = conv_nsc,
               .taps = depthwise_nsc};
    if ((!conv && !depthwise && !matmul && !conv_nsc) || n < 1 || (matmul && gpuc_te_ndim(reduction) != n))
        return false;
    for (int i = 0; i < n; i++) {
        bool tiled = i == n - 1 || i == row_axis || i == line_axis;
        int64_t d = tiled ? GPUC_RULES_SYMBOLIC : 1; /* tiles for an extent that is not known have guards */
        bool known = gpuc_expr_is_int(gpuc_te_shape(reduction)[i], &d);
        if (known && d < 1) return false;
        if (i == n - 1) {
            s.row_length = d;
            s.open = !known;
            s.step = known ? 1 : step_of(r, gpuc_te_shape(reduction)[i]);
        } else if (i == row_axis)
            s.rows = d;
        else if (i == line_axis)
            s.lines = d;
        else
            s.others *= d;
    }
    if (matmul && s.rows == 1 && gpuc_target_lanes_are_threads(r->target))
        return false; /* no reuse to gain from */
    s.packs = matmul && n > 1 && s.rows >= OFTEN && reduction->op->num_inputs == 2;
    if (conv) s.group = rows_of_group(reduction, s.rows);
    int lanes =
        gpuc_target_lanes(r->target, gpuc_te_dtype(reduction)); /* the output may be of a smaller type */
    tile t = choose(r, &s, lanes, !depthwise);
    t = ask(r, &s, lanes, !depthwise, &t);
    bool parts = ends_in_part(r, &s, &t);
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *sum = gpuc_schedule_stage(r->s, reduction);

    /* The output: tiles outside, the elements of a tile inside. */
    gpuc_iter *outer[64], *inner[4], *order[72];
    int num_outer = 0, num_inner = 0;
    for (int i = 0; i < n; i++) {
        gpuc_iter *axis = gpuc_stage_axis(st, i), *o = axis, *v;
        int64_t factor = i == n - 1       ? t.vectors * t.lanes
                         : i == row_axis  ? t.rows
                         : i == line_axis ? t.lines
                                          : 0;
        if (factor) gpuc_stage_split(st, axis, factor, &o, &inner[num_inner++]);
        outer[num_outer++] = o;
        if (i == n - 1 && t.lanes > 1 && !parts && gpuc_rules_extent(inner[num_inner - 1]) > t.lanes) {
            gpuc_stage_split(st, inner[num_inner - 1], t.lanes, &inner[num_inner - 1], &v);
            inner[num_inner++] = v;
        }
    }
    if (conv_nsc && r->kind != GPUC_CLASS_GPU) { /* the weights of some channels serve all rows, or one */
        gpuc_iter *columns = outer[num_outer - 1];
        int at_columns = depthwise_nsc || matmul_nsc ? num_outer - 2 : 1;
        memmove(outer + at_columns + 1, outer + at_columns,
                sizeof *outer * (size_t)(num_outer - 1 - at_columns));
        outer[at_columns] = columns;
    }
    if (matmul && n > 1 && r->kind != GPUC_CLASS_GPU) {
        num_outer = block_columns(r, st, reduction, &t, num_outer, outer);
        pack_operands(r, sum, &s, &t);
    }
    memcpy(order, outer, sizeof *order * (size_t)num_outer);
    memcpy(order + num_outer, inner, sizeof *order * (size_t)num_inner);
    gpuc_stage_reorder(st, num_outer + num_inner, order);
    for (int i = 0; i < num_inner - 1; i++) gpuc_stage_unroll(st, inner[i]);
    if (t.lanes > 1) gpuc_stage_vectorize(st, inner[num_inner - 1]);
    int spread = num_outer;
    gpuc_iter *at = outer[num_outer - 1];
    enum { TASKS = 16, TASKS_OF_ROWS = 4 }; /* of a core: what is left at the end of a loop is little */
    int64_t tasks = gpuc_rules_likely_product(num_outer - 1, outer);
    if (depthwise_nsc ? r->kind != GPUC_CLASS_GPU && tasks >= TASKS_OF_ROWS * r->target->num_cores
                      : r->kind == GPUC_CLASS_C && num_outer > 1 && tasks >= TASKS * r->target->num_cores)
        spread--; /* the last tiles of a row stay with one task */
    gpuc_iter *all = gpuc_rules_spread(r, st, gpuc_rules_fuse(st, spread, outer));
    if (spread == num_outer) at = all;

    /* The sums: the reduction outside of the tile. */
    gpuc_stage_compute_at(sum, st, at);
    gpuc_stage_set_scope(sum, "local");
    if (t.lanes > 1 && !parts) gpuc_stage_align_bounds(sum, n - 1, t.lanes);
    int m = 0, num_reduce = gpuc_stage_num_reduce(sum);
    for (int i = 0; i < num_reduce; i++) order[m++] = gpuc_stage_reduce_axis(sum, i);
    int window_loops = depthwise_nsc ? order_window(&t, m, order) : 0;
    const gpuc_tensor_intrin *dot = NULL;
    gpuc_iter *dot_loop = NULL;
    if (m > 0) dot = gpuc_rules_dot(r, sum, &order[m - 1], &dot_loop);
    bool loads = !dot && r->target->texel && t.lanes > 1; /* elsewhere caches serve loads of any alignment */
    if (!loads) m = unroll(r, sum, &t, m, order);
    gpuc_iter *tile_loops[64], *vector = NULL;
    int tile_count = 0;
    for (int i = 0; i < n; i++) tile_loops[tile_count++] = gpuc_stage_axis(sum, i);
    if (parts) {
        vector = tile_loops[n - 1];
    } else if (t.lanes > 1) {
        gpuc_stage_split(sum, tile_loops[n - 1], t.lanes, &tile_loops[n - 1], &vector);
        tile_loops[tile_count++] = vector;
    }
    memcpy(order + m, tile_loops, sizeof *order * (size_t)tile_count);
    if (dot) order[m + tile_count] = dot_loop;
    gpuc_stage_reorder(sum, m + tile_count + (dot != NULL), order);
    if (dot) gpuc_stage_tensorize(sum, dot_loop, dot);
    for (int i = 0; i < n; i++)
        if (tile_loops[i] != vector) gpuc_stage_unroll(sum, tile_loops[i]);
    for (int i = window_loops; i < num_reduce && depthwise_nsc; i++)
        if (gpuc_rules_extent(order[i]) <= MOST_WINDOW) gpuc_stage_unroll(sum, order[i]);
    if (vector) gpuc_stage_vectorize(sum, vector);
    if (!loads) return true;
    if (gpuc_stage_tensor(sum, 0)->op->num_inputs != 2) return true;
    if (conv) conv_operands(r, sum, &t);
    if (matmul || conv_nsc) matmul_operands(r, sum, &t);
    return true;
}
