/* SPDX-License-Identifier: Apache-2.0 */
/* What tiles cost (src/autoschedule/tile/choice.c): products and convolutions are timed under tiles that are forced on
 * them, and the constants solved from the model of the costs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_ops.h"
#include "fit.h"

typedef struct tile {
    int64_t rows, lines, vectors, lanes;
} tile;

/* One measurement: operators under tiles, and what is solved from their times. */
typedef struct study {
    fit *f;
    gpuc_ctx *ctx;
    const gpuc_target *target;
    int64_t lanes;
    tile tiles[FIT_TRIALS];
    double steps[FIT_TRIALS]; /* of tiles, in each trial */
    fit_trials trials;
} study;

static const gpuc_graph_function *function_of(study *s, const bench_op *op)
{
    void *data[BENCH_INPUTS] = {NULL};
    for (int i = 0; i < op->num_inputs; i++) {
        if (!(op->constants >> i & 1)) continue;
        data[i] = gpuc_ctx_alloc(s->ctx, bench_bytes(&op->inputs[i]));
        bench_fill(&op->inputs[i], i, 0, data[i]);
    }
    gpuc_graph *g = fit_graph(s->ctx, bench_op_module(s->ctx, op, data), s->target);
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_graph_function *function = g->functions.at[i];
        if (strstr(function->label, "matmul") || strstr(function->label, "conv")) return function;
    }
    gpuc_raise(s->ctx, GPUC_INTERNAL, "no function of %s", op->relay);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* columns x lines x rows of the output in tiles, whose sums have so many steps. */
static void add(study *s, const bench_op *op, tile t, const int64_t extent[3], int64_t depth, bool matmul,
                int64_t packs)
{
    const gpuc_knob_value knobs[] = {{"lanes", t.lanes},     {"rows", t.rows}, {"lines", t.lines},
                                     {"vectors", t.vectors}, {"block", 1},     {"pack_columns", packs},
                                     {"pack_rows", packs}};
    const gpuc_config config = {.n = matmul ? 7 : 4, .at = knobs};
    s->tiles[s->trials.n] = t;
    s->steps[s->trials.n] = (double)(ceil_div(extent[0], t.vectors * t.lanes) * ceil_div(extent[1], t.lines) *
                                     ceil_div(extent[2], t.rows) * depth);
    fit_add(s->ctx, s->f, &s->trials, function_of(s, op), s->target, &config);
}

enum {
    DEPTH = 64, /* of products: panels of both operands stay in the first cache */
    DEEP = 512  /* no processor begins the next tile before such a one ends */
};

static void add_product(study *s, int64_t rows, int64_t columns, int64_t depth, int64_t packs, tile t)
{
    const bench_op op = {
        .relay = "nn.matmul", .num_inputs = 2, .inputs = {FLOATS(2, rows, depth), FLOATS(2, depth, columns)}};
    add(s, &op, t, (int64_t[]){columns, 1, rows}, depth, true, packs);
}

static const gpuc_attrs *one_by_one(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 2, (int64_t[]){1, 1});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){0, 0, 0, 0});
    return gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
}

/* A convolution with channels last, of lines of so many pixels: its weights are more than the first cache holds, and lie
 * in panels. */
static void add_channels(study *s, int64_t pixels, tile t)
{
    enum { CHANNELS = 256, LINES = 24 };
    const bench_op op = {
        .relay = "nn.conv2d",
        .attrs = one_by_one,
        .num_inputs = 2,
        .constants = 2,
        .inputs = {FLOATS(4, 1, CHANNELS, LINES, pixels), FLOATS(4, CHANNELS, CHANNELS, 1, 1)}};
    add(s, &op, t, (int64_t[]){CHANNELS, LINES, pixels}, CHANNELS, false, 0);
}

static const gpuc_attrs *each_channel(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 2, (int64_t[]){1, 1});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){0, 0, 0, 0});
    a = gpuc_attrs_int(ctx, a, "groups", 32);
    return gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
}

/* Depthwise, channels first: tiles of lines, without reuse. */
static void add_window(study *s, int64_t columns, tile t)
{
    const bench_op op = {.relay = "nn.conv2d",
                         .attrs = each_channel,
                         .num_inputs = 2,
                         .constants = 2,
                         .inputs = {FLOATS(4, 1, 32, 34, columns + 2), FLOATS(4, 32, 1, 3, 3)}};
    add(s, &op, t, (int64_t[]){columns, 32, 32}, 9, false, 0);
}

/* ---- What is solved ---- */

static double sums(const tile *t)
{
    return (double)(t->rows * t->lines * t->vectors);
}

/* Seconds of a step. */
static double step(const study *s, int trial, int batch)
{
    return s->trials.at[trial].seconds[batch] / s->steps[trial];
}

/* The a and b with the least squares of (a x + b y - time) / time. */
static void min_squares(int n, const double *x, const double *y, const double *time, double *a, double *b)
{
    double xx = 0, xy = 0, yy = 0, xt = 0, yt = 0;
    for (int i = 0; i < n; i++) {
        double u = x[i] / time[i], v = y[i] / time[i];
        xx += u * u;
        xy += u * v;
        yy += v * v;
        xt += u;
        yt += v;
    }
    double det = xx * yy - xy * xy;
    *a = (xt * yy - yt * xy) / det;
    *b = (yt * xx - xt * xy) / det;
}

enum { ALONE = 2 }; /* the first trials of the study of loads: a tile of one sum, of two */

static double load_and_unit(const study *s, int batch, double *unit)
{
    double x[FIT_TRIALS], y[FIT_TRIALS], time[FIT_TRIALS], load;
    int n = 0;
    for (int i = ALONE; i < s->trials.n; i++, n++) {
        x[n] = sums(&s->tiles[i]);
        y[n] = (double)(s->tiles[i].vectors + s->tiles[i].rows);
        time[n] = step(s, i, batch);
    }
    min_squares(n, x, y, time, unit, &load);
    return fmax(load / *unit, 0);
}

static double solve_load(const study *s, int batch)
{
    double unit;
    return load_and_unit(s, batch, &unit);
}

static double solve_chains(const study *s, int batch)
{
    double unit, load = load_and_unit(s, batch, &unit), all = 0;
    for (int i = 0; i < ALONE; i++)
        all += step(s, i, batch) / unit - load * (double)(s->tiles[i].vectors + s->tiles[i].rows);
    return all / ALONE;
}

/* Pairs: with and without what is looked at. */
static double solve_pairs(const study *s, int batch)
{
    double product = 1;
    for (int i = 0; i + 1 < s->trials.n; i += 2) product *= step(s, i + 1, batch) / step(s, i, batch);
    return pow(product, 2.0 / s->trials.n);
}

enum { GUARDED = 128 }; /* rows, which some tiles divide */

/* The seconds that one unit of the modelled cost takes in guarded tiles, beside the others. */
static double solve_guards(const study *s, int batch)
{
    double logs[2] = {0}, load = s->f->new.tile_load;
    int count[2] = {0};
    for (int i = 0; i < s->trials.n; i++) {
        const tile *t = &s->tiles[i];
        bool guarded = GUARDED % t->rows;
        logs[guarded] += log(step(s, i, batch) / (sums(t) + load * (double)(t->rows + t->vectors)));
        count[guarded]++;
    }
    return exp(logs[1] / count[1] - logs[0] / count[0]);
}

static double solve_half(const study *s, int batch)
{
    return solve_pairs(s, batch) - s->f->old.tile_vector;
}

static double solve_tail(const study *s, int batch)
{
    return solve_pairs(s, batch) / s->f->new.tile_part_vectors_of_lines;
}

static double solve_streamed(const study *s, int batch)
{
    double x[FIT_TRIALS], y[FIT_TRIALS], time[FIT_TRIALS], unit, vector, load = s->f->new.tile_load;
    for (int i = 0; i < s->trials.n; i++) {
        const tile *t = &s->tiles[i];
        x[i] = sums(t) + load * (double)(t->rows * t->lines);
        y[i] = (double)t->vectors;
        time[i] = step(s, i, batch);
    }
    min_squares(s->trials.n, x, y, time, &unit, &vector);
    return load > 0 ? fmax(vector / unit / load, 0) : s->f->old.tile_streamed;
}

static void print(study *s, gpuc_constant_id id, double (*solve)(const study *, int))
{
    double min = INFINITY, max = -INFINITY;
    char spread[32];
    if (!fit_wants(s->f, id)) return;
    for (int i = 0; i < s->trials.n && s->f->verbose; i++) {
        const tile *t = &s->tiles[i];
        printf("  rows %2d lines %d vectors %d lanes %2d: %.4g ns a step\n", (int)t->rows, (int)t->lines,
               (int)t->vectors, (int)t->lanes, step(s, i, FIT_BATCHES) * 1e9);
    }
    for (int b = 0; b < FIT_BATCHES; b++) {
        double v = solve(s, b);
        min = fmin(min, v);
        max = fmax(max, v);
    }
    snprintf(spread, sizeof spread, "%.3g..%.3g", min, max);
    fit_print(s->f, id, solve(s, FIT_BATCHES), spread);
}

/* ---- The studies ---- */

/* Does the tile fit the registers, as the rules want it? */
static bool fits(const study *s, const tile *t)
{
    double registers = (double)s->target->vector_registers;
    return sums(t) + (double)t->vectors + 1 <= registers &&
           sums(t) <= registers * s->f->old.tile_register_share;
}

static void study_loads(study *s)
{
    static const int64_t shapes[][2] = {{1, 1}, {2, 1},  {1, 8}, {2, 4}, {4, 2}, {8, 1}, {3, 4}, {4, 3},
                                        {6, 2}, {12, 1}, {4, 4}, {8, 2}, {6, 3}, {6, 4}, {8, 3}, {12, 2}};
    for (size_t i = 0; i < BENCH_COUNT(shapes); i++) {
        tile t = {.rows = shapes[i][0], .lines = 1, .vectors = shapes[i][1], .lanes = s->lanes};
        if (fits(s, &t)) add_product(s, 96, 24 * s->lanes, i < ALONE ? DEEP : DEPTH, 0, t);
    }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_load, solve_load);
    print(s, GPUC_CONSTANT_tile_chains, solve_chains);
}

static const int64_t some[][2] = {{4, 2}, {4, 4}, {6, 4}, {8, 3}}; /* rows, vectors */

/* How much longer tiles take that do not divide the rows, beyond what the other costs say of both: in place, and packed,
 * where the rows of the last tile are filled up. */
static void study_guards(study *s)
{
    static const int64_t shapes[][2] = {{4, 2}, {4, 4}, {8, 2}, {8, 3}, {3, 4},
                                        {6, 3}, {6, 4}, {7, 3}, {12, 2}};
    for (int64_t packs = 0; packs < 2; packs++)
        for (size_t i = 0; i < BENCH_COUNT(shapes); i++) {
            tile t = {.rows = shapes[i][0], .lines = 1, .vectors = shapes[i][1], .lanes = s->lanes};
            if (fits(s, &t)) add_product(s, GUARDED, 24 * s->lanes, 2 * DEPTH, packs, t);
        }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_guarded_rows, solve_guards);
}

static void study_parts(study *s)
{
    for (size_t i = 0; i < BENCH_COUNT(some); i++) {
        tile t = {.rows = some[i][0], .lines = 1, .vectors = some[i][1], .lanes = s->lanes};
        if (!fits(s, &t)) continue;
        for (int64_t less = 5; less <= s->lanes; less += s->lanes - 5) { /* a part of a vector, a vector */
            add_product(s, 96, 24 * s->lanes, DEPTH, 0, t);
            add_product(s, 96, 24 * s->lanes - less, DEPTH, 0, t);
        }
    }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_part_vectors, solve_pairs);
}

static void study_parts_of_lines(study *s)
{
    for (int64_t lines = 2; lines <= 4; lines += 2) {
        tile t = {.rows = 1, .lines = lines, .vectors = 8 / lines, .lanes = s->lanes};
        add_window(s, 8 * s->lanes, t);
        add_window(s, 7 * s->lanes, t);
    }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_part_vectors_of_lines, solve_pairs);
}

static void study_tail(study *s)
{
    for (int64_t lines = 2; lines <= 4; lines += 2) {
        tile t = {.rows = 1, .lines = lines, .vectors = 1, .lanes = s->lanes};
        add_window(s, 4 * s->lanes, t);
        add_window(s, 4 * s->lanes - 5, t);
    }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_scalar_tail, solve_tail);
}

static void study_half(study *s)
{
    if (s->lanes != s->f->old.vector_lanes) return;
    for (size_t i = 0; i < BENCH_COUNT(some); i++) {
        tile t = {.rows = some[i][0], .lines = 1, .vectors = some[i][1], .lanes = s->lanes}, half = t;
        half.lanes /= 2;
        if (!fits(s, &t)) continue;
        add_product(s, 96, 24 * s->lanes, DEPTH, 0, t);
        add_product(s, 96, 24 * s->lanes, DEPTH, 0, half);
    }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_half_vector, solve_half);
}

static void study_streams(study *s)
{
    static const int64_t shapes[][2] = {{4, 2}, {8, 1},  {4, 4}, {6, 2}, {6, 4},
                                        {8, 2}, {12, 1}, {8, 3}, {12, 2}};
    for (size_t i = 0; i < BENCH_COUNT(shapes); i++) {
        tile t = {.rows = shapes[i][0], .lines = 1, .vectors = shapes[i][1], .lanes = s->lanes};
        if (fits(s, &t)) add_channels(s, 24, t);
    }
    fit_measure(s->ctx, &s->trials);
    print(s, GPUC_CONSTANT_tile_streamed, solve_streamed);
}

typedef struct running {
    study *s;
    void (*run)(study *s);
} running;

static void run_study(gpuc_ctx *ctx, void *arg)
{
    running *r = arg;
    r->s->target = fit_target(ctx, r->s->f, &r->s->f->old);
    r->s->lanes = gpuc_target_lanes(r->s->target, GPUC_FLOAT32);
    if (gpuc_target_is_cpu(r->s->target) && r->s->lanes > 1) r->run(r->s);
}

void fit_tiles(fit *f)
{
    static const struct {
        gpuc_constant_id first, second;
        void (*run)(study *s);
    } studies[] = {
        {GPUC_CONSTANT_tile_load, GPUC_CONSTANT_tile_chains, study_loads},
        {GPUC_CONSTANT_tile_guarded_rows, GPUC_CONSTANT_tile_guarded_rows, study_guards},
        {GPUC_CONSTANT_tile_part_vectors, GPUC_CONSTANT_tile_part_vectors, study_parts},
        {GPUC_CONSTANT_tile_part_vectors_of_lines, GPUC_CONSTANT_tile_part_vectors_of_lines,
         study_parts_of_lines},
        {GPUC_CONSTANT_tile_scalar_tail, GPUC_CONSTANT_tile_scalar_tail, study_tail},
        {GPUC_CONSTANT_tile_half_vector, GPUC_CONSTANT_tile_half_vector, study_half},
        {GPUC_CONSTANT_tile_streamed, GPUC_CONSTANT_tile_streamed, study_streams},
    };
    for (size_t i = 0; i < BENCH_COUNT(studies); i++) {
        gpuc_ctx *ctx;
        if (!fit_wants(f, studies[i].first) && !fit_wants(f, studies[i].second)) continue;
        study *s = calloc(1, sizeof *s);
        gpuc_status status = s ? gpuc_ctx_create(NULL, &ctx) : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        if (!status) {
            *s = (study){.f = f, .ctx = ctx};
            running r = {.s = s, .run = studies[i].run};
            status = gpuc_ctx_protect(ctx, run_study, &r);
            fit_close(&s->trials);
            gpuc_ctx_destroy(ctx);
        }
        if (status)
            printf("%-28s %s\n", gpuc_target_constant_infos[studies[i].first].name,
                   gpuc_status_message(status));
        gpuc_status_release(status);
        free(s);
    }
}
