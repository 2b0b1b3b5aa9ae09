/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs of loops against spaces counted by hand, and templates from registration to the function that a log gives. */
#include <math.h>

#include <gpuc/plugin.h>

#include "../relay/fixture.h"
#include "autoschedule/knobs.h"
#include "compile/tuning.h"
#include "tune/search.h"

/* ---- All configurations of a schedule ---- */

enum { MAX_POINTS = 4096, MAX_DIGITS = 16 };

typedef struct odometer {
    int digits[MAX_DIGITS], sizes[MAX_DIGITS], n;
} odometer;

static int64_t turn(void *user, const gpuc_asked *knob)
{
    odometer *o = user;
    assert_in_range(o->n, 0, MAX_DIGITS - 1);
    o->sizes[o->n] = knob->n;
    return knob->candidates[o->digits[o->n++]];
}

static bool next(odometer *o)
{
    int at = o->n - 1;
    while (at >= 0 && o->digits[at] + 1 == o->sizes[at]) at--;
    if (at < 0) return false;
    o->digits[at]++;
    for (int i = at + 1; i < MAX_DIGITS; i++) o->digits[i] = 0;
    o->n = 0;
    return true;
}

/* out[y, x] = the sum of in[y, k]: two loops and one that is reduced over. */
static gpuc_stage *make_stage(gpuc_ctx *ctx, gpuc_expr rows)
{
    gpuc_expr columns = gpuc_int(ctx, 24), shape[] = {rows, columns};
    gpuc_tensor *in = gpuc_te_placeholder(ctx, "in", 2, shape, GPUC_FLOAT32);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, rows, "y"), gpuc_te_axis(ctx, columns, "x")};
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, columns, "k");
    gpuc_expr at[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(k)};
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", gpuc_te_read(ctx, in, 2, at), 1, &k);
    gpuc_tensor *out = gpuc_te_compute(ctx, "out", 2, axes, sum);
    return gpuc_schedule_stage(gpuc_schedule_create(ctx, 1, &out), out);
}

typedef struct split_case {
    gpuc_split_options options;
    int n, count; /* loops, and how many splits there are */
} split_case;

static bool even_inner(void *user, int n, const int64_t *extents)
{
    assert_ptr_equal(user, &even_inner);
    return extents[n - 1] % 2 == 0;
}

static int64_t extent_of(const gpuc_iter *iter)
{
    int64_t n = -1;
    gpuc_expr_is_int(gpuc_iter_extent(iter), &n);
    return n;
}

static const int64_t listed[] = {3, 4, 2, 12, 3, 5};
static const int64_t own5[] = {5};
/* Of 24 iterations. Ordered pairs a * b that divide 24: 30. Powers of two with a * b <= 24: 15. */
static const split_case splits[] = {
    {{0}, 2, 8},
    {{0}, 3, 30},
    {{.max_factor = 4}, 2, 4},
    {{.policy = GPUC_SPLIT_POWER2}, 2, 5},
    {{.policy = GPUC_SPLIT_POWER2}, 3, 15},
    {{.policy = GPUC_SPLIT_POWER2, .no_tail = true}, 2, 4},
    {{.policy = GPUC_SPLIT_VERBOSE}, 2, 9},
    {{.policy = GPUC_SPLIT_VERBOSE, .no_tail = true}, 2, 8},
    {{.filter = even_inner, .user = (void *)&even_inner}, 2, 6},
    {{.policy = GPUC_SPLIT_CANDIDATES, .num_candidates = 3, .candidates = listed}, 3, 3},
    {{0}, 1, 1},
};

/* Each split is one of the space, none comes twice, and the loops have the extents that were chosen. */
static void test_split(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t c = 0; c < sizeof splits / sizeof *splits; c++) {
        const split_case *s = &splits[c];
        odometer o = {.n = 0};
        gpuc_strmap seen;
        int count = 0;
        gpuc_strmap_init(&seen, ctx);
        do {
            gpuc_stage *st = make_stage(ctx, gpuc_int(ctx, 8));
            gpuc_iter *loops[4];
            gpuc_knobs knobs = {.ctx = ctx, .choose = turn, .user = &o};
            gpuc_knob_split(&knobs, "tile", st, gpuc_stage_axis(st, 1), &s->options, s->n, loops);
            int64_t product = 1;
            const char *key = "";
            for (int i = 0; i < s->n; i++) {
                product *= extent_of(loops[i]);
                key = gpuc_ctx_printf(ctx, "%s %lld", key, (long long)extent_of(loops[i]));
            }
            assert_int_equal(gpuc_stage_num_leaves(st), s->n + 2);
            assert_true(product >= 24);
            if (s->options.policy == GPUC_SPLIT_FACTORS || s->options.no_tail) assert_int_equal(product, 24);
            if (s->options.max_factor) assert_true(extent_of(loops[1]) <= s->options.max_factor);
            if (s->options.filter) assert_int_equal(extent_of(loops[1]) % 2, 0);
            assert_false(gpuc_strmap_has(&seen, key));
            gpuc_strmap_set(&seen, key, st);
            count++;
        } while (next(&o));
        assert_int_equal(count, s->count);
    }
}

static void test_own_split(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_stage *st = make_stage(ctx, gpuc_int(ctx, 8));
    gpuc_iter *loops[2];
    const gpuc_split_options o = {.own = own5};
    gpuc_knob_split(NULL, "tile", st, gpuc_stage_axis(st, 1), &o, 2, loops);
    assert_int_equal(extent_of(loops[1]), 4); /* the largest divisor up to 5 */
    /* of sizes that are known at run time only, powers of two */
    st = make_stage(ctx, gpuc_var(ctx, "n", GPUC_INT64));
    const gpuc_split_options open = {.policy = GPUC_SPLIT_POWER2, .max_factor = 16, .own = own5};
    gpuc_knob_split(NULL, "tile", st, gpuc_stage_axis(st, 0), &open, 2, loops);
    assert_int_equal(extent_of(loops[1]), 4);
}

/* ---- Orders ---- */

static const int chains[] = {7, 7, 3}, orders[] = {0, 1, 2, 2, 1, 0};

static int count_orders(gpuc_ctx *ctx, const gpuc_reorder_options *options, const char *words)
{
    odometer o = {.n = 0};
    gpuc_strmap seen;
    int count = 0;
    gpuc_strmap_init(&seen, ctx);
    do {
        gpuc_stage *st = make_stage(ctx, gpuc_int(ctx, 8));
        gpuc_iter *loops[] = {gpuc_stage_axis(st, 0), gpuc_stage_axis(st, 1), gpuc_stage_reduce_axis(st, 0)};
        gpuc_iter *out[3];
        gpuc_knobs knobs = {.ctx = ctx, .choose = turn, .user = &o};
        gpuc_knob_reorder(&knobs, "order", st, 3, loops, options, out);
        char key[4] = "";
        for (int i = 0; i < 3; i++) {
            assert_ptr_equal(gpuc_stage_leaf(st, i), out[i]);
            for (int k = 0; k < 3; k++)
                if (loops[k] == out[i]) key[i] = "yxk"[k];
        }
        if (count == 0) assert_string_equal(key, "yxk"); /* the first candidate is the order given */
        assert_non_null(strstr(words, key));
        assert_false(gpuc_strmap_has(&seen, key));
        gpuc_strmap_set(&seen, key, st);
        count++;
    } while (next(&o));
    return count;
}

static void test_reorder(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_int_equal(count_orders(ctx, NULL, "yxk ykx xyk xky kyx kxy"), 6);
    assert_int_equal(count_orders(ctx, &(gpuc_reorder_options){.begin = 1, .end = 3}, "yxk ykx"), 2);
    assert_int_equal(count_orders(ctx, &(gpuc_reorder_options){.chains = chains}, "yxk ykx kyx"), 3);
    const gpuc_reorder_options two = {.num_candidates = 2, .candidates = orders};
    assert_int_equal(count_orders(ctx, &two, "yxk kxy"), 2);
}

/* ---- Annotations ---- */

static void test_annotate(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const unsigned all =
        GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_UNROLL | GPUC_ANNOTATE_VECTORIZE | GPUC_ANNOTATE_PARALLEL;
    odometer o = {.n = 0};
    int kinds[3][8] = {{0}}, count = 0;
    do {
        gpuc_stage *st = make_stage(ctx, gpuc_int(ctx, 100));
        gpuc_iter *loops[] = {gpuc_stage_axis(st, 0), gpuc_stage_reduce_axis(st, 0), gpuc_stage_axis(st, 1)};
        gpuc_knobs knobs = {.ctx = ctx, .choose = turn, .user = &o};
        gpuc_stage_reorder(st, 3, loops);
        gpuc_knob_annotate(&knobs, "ann", st, 3, loops, all, 32);
        gpuc_thread_tag tag;
        for (int i = 0; i < 3; i++) kinds[i][gpuc_stage_leaf_kind(st, i, &tag)]++;
        count++;
    } while (next(&o));
    /* y is too long to be unrolled, k is reduced over, x is the innermost. */
    assert_int_equal(count, 2 * 2 * 4);
    assert_int_equal(kinds[0][GPUC_LOOP_PARALLEL], 8);
    assert_int_equal(kinds[1][GPUC_LOOP_UNROLLED], 8);
    assert_int_equal(kinds[2][GPUC_LOOP_VECTORIZED], 4);
    assert_int_equal(
        kinds[0][GPUC_LOOP_UNROLLED] + kinds[1][GPUC_LOOP_PARALLEL] + kinds[1][GPUC_LOOP_VECTORIZED], 0);
}

/* ---- Mistakes ---- */

static bool never(void *user, int n, const int64_t *extents)
{
    (void)user, (void)n, (void)extents;
    return false;
}

static const int64_t bad_list[] = {7}, huge_list[] = {INT64_C(1) << 33};
static const int bad_order[] = {0, 0, 1};

typedef struct mistake {
    gpuc_code code;
    const char *words;
    int which;
} mistake;

static void make_mistake(gpuc_ctx *ctx, void *arg)
{
    const mistake *m = arg;
    gpuc_knobs knobs = {.ctx = ctx};
    int64_t rows = m->which == 17 ? 1 << 30 : m->which == 18 ? (INT64_C(1) << 41) + 1 : 8;
    gpuc_stage *st = make_stage(ctx, m->which == 2 || m->which == 3 ? gpuc_var(ctx, "n", GPUC_INT64)
                                                                    : gpuc_int(ctx, rows));
    gpuc_iter *y = gpuc_stage_axis(st, 0), *x = gpuc_stage_axis(st, 1), *out[12], *loops[] = {y, x, x};
    loops[2] = gpuc_stage_reduce_axis(st, 0);
    const gpuc_split_options none = {.filter = never}, power2 = {.policy = GPUC_SPLIT_POWER2},
                             list = {.policy = GPUC_SPLIT_CANDIDATES,
                                     .no_tail = true,
                                     .num_candidates = 1,
                                     .candidates = bad_list},
                             empty = {.policy = GPUC_SPLIT_CANDIDATES},
                             huge = {.policy = GPUC_SPLIT_CANDIDATES,
                                     .num_candidates = 1,
                                     .candidates = huge_list};
    const gpuc_config wrong = {1, &(gpuc_knob_value){"tile_x", 5}};
    switch (m->which) {
    case 0: gpuc_knob_split(&knobs, "tile_x", st, x, &none, 2, out); break;
    case 1: gpuc_knob_split(&knobs, "tile_x", st, x, &list, 2, out); break;
    case 2: gpuc_knob_split(&knobs, "tile_y", st, y, NULL, 2, out); break;
    case 3: gpuc_knob_split(&knobs, "tile_y", st, y, &power2, 2, out); break;
    case 4: gpuc_knob_split(&knobs, "tile_x", st, x, &empty, 2, out); break;
    case 5: gpuc_knob_split(&knobs, "tile_x", st, x, NULL, 0, out); break;
    case 6:
        gpuc_knob_reorder(&knobs, "order", st, 3, loops,
                          &(gpuc_reorder_options){.num_candidates = 1, .candidates = bad_order}, NULL);
        break;
    case 7:
        gpuc_knob_reorder(&knobs, "order", st, 3, loops, &(gpuc_reorder_options){.begin = 2, .end = 2}, NULL);
        break;
    case 8: gpuc_knob_annotate(&knobs, "ann", st, 1, &loops[2], GPUC_ANNOTATE_PARALLEL, 0); break;
    case 9: gpuc_knob_annotate(&knobs, "ann", st, 1, &y, 64, 0); break;
    case 10: gpuc_knob_choice(&knobs, "way", 0, 0); break;
    case 11: gpuc_knob(&knobs, "a way", 0, 0, NULL); break;
    case 12: gpuc_knob(&knobs, "turns", 0, 0, NULL); break;
    case 13:
        knobs.config = &wrong;
        gpuc_knob_split(&knobs, "tile_x", st, x, NULL, 2, out);
        break;
    case 14: gpuc_knob_choice(&knobs, "way", 0, 1000000000); break;
    case 15: gpuc_knob(&knobs, "way", 0, -3, NULL); break;
    case 16: gpuc_knob(&knobs, "way", 0, 3, NULL); break;
    case 17: gpuc_knob_split(&knobs, "tile_y", st, y, &none, 12, out); break;
    case 18: gpuc_knob_split(&knobs, "tile_y", st, y, NULL, 2, out); break;
    case 19: gpuc_knob_split(&knobs, "tile_x", st, x, &huge, 2, out); break;
    case 20: gpuc_knob_split(&knobs, "tile_x", st, x, NULL, INT32_MIN, out); break;
    }
}

static const mistake mistakes[] = {
    {GPUC_INVALID_ARGUMENT, "knob tile_x: its space is empty|'x', of 24 iterations, into 2 loops", 0},
    {GPUC_INVALID_ARGUMENT, "knob tile_x: candidate 0, (7), does not divide the 24 iterations of 'x'", 1},
    {GPUC_INVALID_ARGUMENT,
     "knob tile_y: the extent of 'y' is known at run time only|GPUC_SPLIT_POWER2 with max_factor", 2},
    {GPUC_INVALID_ARGUMENT, "knob tile_y|max_factor is missing", 3},
    {GPUC_INVALID_ARGUMENT, "knob tile_x: it has no candidates", 4},
    {GPUC_INVALID_ARGUMENT, "knob tile_x: it makes 1 to 64 loops, not 0", 5},
    {GPUC_INVALID_ARGUMENT, "knob order: candidate 0 is no order of its 3 loops", 6},
    {GPUC_INVALID_ARGUMENT, "knob order: begin 2 and end 2 are no interval", 7},
    {GPUC_INVALID_ARGUMENT, "knob ann: its space is empty|loop 'k'", 8},
    {GPUC_INVALID_ARGUMENT, "knob ann: its annotations are no sum of gpuc_annotation", 9},
    {GPUC_INVALID_ARGUMENT, "knob way: its space is empty: it has 0 choices", 10},
    {GPUC_INVALID_ARGUMENT, "'a way' is no name for a knob", 11},
    {GPUC_INVALID_ARGUMENT, "'turns' is an old name of the knob 'iterations'", 12},
    {GPUC_INVALID_ARGUMENT, "knob tile_x cannot be 5 here, but one of 1, 2, 3, 4, 6, 8, 12, 24", 13},
    {GPUC_INVALID_ARGUMENT, "knob way: 1000000000 candidates; there can be 0 to 65536", 14},
    {GPUC_INVALID_ARGUMENT, "knob way: -3 candidates", 15},
    {GPUC_INVALID_ARGUMENT, "knob way: its list of candidates is NULL", 16},
    {GPUC_INVALID_ARGUMENT, "knob tile_y: its filter refuses nearly all splits of 'y' into 12 loops", 17},
    {GPUC_INVALID_ARGUMENT, "knob tile_y: the divisors of the 2199023255553 iterations of 'y'", 18},
    {GPUC_INVALID_ARGUMENT,
     "knob tile_x: candidate 0, (8589934592), has an extent that is below 1 or too large", 19},
    {GPUC_INVALID_ARGUMENT, "knob tile_x: it makes 1 to 64 loops, not -2147483648", 20},
};

static void test_mistakes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        fx_expect(ctx, mistakes[i].code, mistakes[i].words, make_mistake, (void *)&mistakes[i]);
}

/* ---- Templates ---- */

typedef enum quirk {
    PLAIN,
    BY_RULES,
    NO_KNOBS,
    KNOB_IN_SHAPE,
    OPEN,
    NO_OUTPUT,
    COMPUTED_INPUT,
    TWO_OUTPUTS
} quirk;

/* out[i] = in[i] + 1, of n elements; also half of that */
static void plus_one(gpuc_tune_call *t)
{
    quirk q = *(const quirk *)t->user;
    gpuc_ctx *ctx = t->ctx;
    int64_t length = gpuc_attrs_get_int(t->params, "n", -1);
    if (q == KNOB_IN_SHAPE) length += gpuc_knob_choice(t->knobs, "extra", 0, 2);
    gpuc_expr n = q == OPEN ? gpuc_var(ctx, "n", GPUC_INT64) : gpuc_int(ctx, length);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr at = gpuc_iter_var(i);
    t->num_in = t->num_out = 1;
    t->in[0] = gpuc_te_placeholder(ctx, "in", 1, &n, GPUC_FLOAT32);
    gpuc_expr sum = gpuc_add(ctx, gpuc_te_read(ctx, t->in[0], 1, &at), gpuc_imm(ctx, GPUC_FLOAT32, 1));
    t->out[0] = gpuc_te_compute(ctx, "out", 1, &i, sum);
    if (q == NO_OUTPUT) t->num_out = 0;
    if (q == COMPUTED_INPUT) t->in[0] = t->out[0];
    if (q == BY_RULES || q == NO_OUTPUT) return;
    if (q == TWO_OUTPUTS) {
        gpuc_iter *k = gpuc_te_axis(ctx, n, "k");
        gpuc_expr of = gpuc_iter_var(k), half = gpuc_imm(ctx, GPUC_FLOAT32, 0.5);
        gpuc_expr value = gpuc_mul(ctx, gpuc_te_read(ctx, t->out[0], 1, &of), half);
        t->out[t->num_out++] = gpuc_te_compute(ctx, "half", 1, &k, value);
    }
    t->schedule = gpuc_schedule_create(ctx, t->num_out, t->out);
    gpuc_stage *st = gpuc_schedule_stage(t->schedule, t->out[0]);
    gpuc_iter *loops[2];
    const gpuc_split_options powers = {.policy = GPUC_SPLIT_POWER2, .max_factor = 64};
    if (q != NO_KNOBS) gpuc_knob_split(t->knobs, "tile", st, gpuc_stage_axis(st, 0), &powers, 2, loops);
}

static const gpuc_attr_spec params[] = {{.name = "n", .kind = GPUC_ATTR_INT, .i = 96}, {0}};
static const quirk quirks[] = {PLAIN, BY_RULES,  NO_KNOBS,       KNOB_IN_SHAPE,
                               OPEN,  NO_OUTPUT, COMPUTED_INPUT, TWO_OUTPUTS};
#define TEMPLATE(text, q)                                                                                    \
    {                                                                                                        \
        .name = text, .params = params, .body = plus_one, .user = (void *)&quirks[q]                         \
    }
static const gpuc_tune_template plain = TEMPLATE("test.plain", PLAIN),
                                by_rules = TEMPLATE("by_rules", BY_RULES),
                                no_knobs = TEMPLATE("no_knobs", NO_KNOBS),
                                in_shape = TEMPLATE("in_shape", KNOB_IN_SHAPE),
                                open_size = TEMPLATE("open", OPEN),
                                no_output = TEMPLATE("no_output", NO_OUTPUT),
                                computed = TEMPLATE("computed", COMPUTED_INPUT),
                                two_outputs = TEMPLATE("two_outputs", TWO_OUTPUTS);

static const char *const targets[] = {"c", "opencl", "vulkan"};

static gpuc_tune_tasks extract(gpuc_ctx *ctx, const gpuc_tune_template *t, const char *target,
                               const char *text)
{
    gpuc_tune_tasks tasks;
    gpuc_tune_extract_template(ctx, t, gpuc_tune_template_params(ctx, t, text),
                               gpuc_target_parse(ctx, target, NULL), &tasks);
    assert_int_equal(tasks.n, 1);
    return tasks;
}

static void test_tasks(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        gpuc_tune_tasks a = extract(ctx, &plain, targets[i], NULL),
                        b = extract(ctx, &plain, targets[i], "n=97");
        assert_string_equal(a.at[0].text, "test.plain(float32[96], n=96)");
        assert_int_equal(a.at[0].uses, 1);
        assert_string_not_equal(a.at[0].workload, b.at[0].workload);
        assert_string_equal(a.at[0].workload, extract(ctx, &plain, targets[i], "n=96").at[0].workload);
        gpuc_tune_space *space = gpuc_tune_space_create(ctx, a.target, a.at[0].f);
        assert_int_equal(gpuc_tune_space_own(space)->config->n, 1);
        assert_string_equal(gpuc_tune_space_own(space)->config->at[0].name, "tile");
    }
    /* Rules ask for knobs of their own, and need a schedule of nobody. */
    assert_int_equal(extract(ctx, &by_rules, "c", "n=4096").n, 1);
}

/* Where the tile is best is known: the search finds it, and a log that it left is not measured again. */
typedef struct device {
    int trials;
    gpuc_tune_record records[64];
    const gpuc_tune_record *list[64];
    double costs[64];
    gpuc_ctx *ctx;
    const gpuc_tune_tasks *tasks;
} device;

static void measure(void *user, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results)
{
    device *d = user;
    for (int i = 0; i < n; i++) {
        int64_t tile = asks[i].config->at[0].value;
        int k = d->trials++;
        d->costs[k] = 1e-3 * (1 + fabs(log2((double)tile) - 4));
        snprintf(results[i].status, sizeof results[i].status, GPUC_TUNE_OK);
        results[i].costs[0] = d->costs[k];
        results[i].num_costs = 1;
        d->records[k] = (gpuc_tune_record){.workload = d->tasks->at[0].workload,
                                           .task = "",
                                           .target = d->tasks->target_text,
                                           .config = gpuc_config_copy(d->ctx, asks[i].config),
                                           .num_costs = 1,
                                           .costs = &d->costs[k],
                                           .status = GPUC_TUNE_OK};
        d->list[k] = &d->records[k];
    }
}

static void test_search(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tune_tasks tasks = extract(ctx, &plain, "c", NULL);
    device d = {.ctx = ctx, .tasks = &tasks};
    gpuc_tune_records none = {0};
    gpuc_tune_progress p;
    gpuc_tune_options o = {.search = GPUC_TUNE_SA, .seed = 1, .measure = measure, .user = &d, .trials = 3};
    gpuc_tune_run(ctx, &tasks, &none, &o, &p);
    assert_int_equal(d.trials, 3);
    o.trials = 0;
    gpuc_tune_run(ctx, &tasks, &(gpuc_tune_records){.at = d.list, .count = 3}, &o, &p);
    assert_int_equal(d.trials, 7); /* 1 to 64, each once */
    assert_float_equal(p.best, 1e-3, 1e-9);
}

/* ---- The function that a log gives ---- */

static void collect(void *user, const char *text)
{
    snprintf(user, 512, "%s", text);
}

/* The extent of the inner of two loops; 1 if there is one only. */
static int64_t tile_of(const gpuc_tir_func *f)
{
    int64_t n = 1;
    assert_int_equal(f->body->kind, GPUC_STMT_FOR);
    gpuc_stmt inner = gpuc_as_for(f->body)->body;
    if (inner->kind == GPUC_STMT_FOR) gpuc_expr_is_int(gpuc_as_for(inner)->extent, &n);
    return n;
}

static void test_func(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tune_tasks tasks = extract(ctx, &plain, "c", NULL);
    char warning[512] = "";
    const gpuc_tune_warnings warnings = {.fn = collect, .user = warning};
    gpuc_tuning *tuning = gpuc_compile_tuning_create(ctx);
    assert_int_equal(tile_of(gpuc_tune_func(ctx, &plain, NULL, tasks.target, NULL, &warnings)), 1);
    for (int64_t tile = 8; tile <= 16; tile += 8) {
        const gpuc_config config = {1, &(gpuc_knob_value){"tile", tile}};
        const gpuc_tuned tuned = {.config = &config, .seconds = 1.0 / (double)tile, .source = "log"};
        gpuc_compile_tuning_add(ctx, tuning, tasks.at[0].workload, tasks.target_text, &tuned);
    }
    const gpuc_tir_func *f = gpuc_tune_func(ctx, &plain, NULL, tasks.target, tuning, &warnings);
    assert_string_equal(f->name, "test_plain");
    assert_int_equal(f->num_buffers, 2);
    assert_int_equal(tile_of(f), 16); /* the fastest */
    const gpuc_attrs *other = gpuc_tune_template_params(ctx, &plain, "n=97");
    assert_int_equal(tile_of(gpuc_tune_func(ctx, &plain, other, tasks.target, tuning, &warnings)), 1);
    assert_string_equal(warning, "");
    const gpuc_config config = {1, &(gpuc_knob_value){"tile", 7}};
    const gpuc_tuned tuned = {.config = &config, .seconds = 1e-9, .source = "old.jsonl"};
    gpuc_compile_tuning_add(ctx, tuning, tasks.at[0].workload, tasks.target_text, &tuned);
    assert_int_equal(tile_of(gpuc_tune_func(ctx, &plain, NULL, tasks.target, tuning, &warnings)), 1);
    assert_non_null(strstr(warning, "old.jsonl: the record of template 'test.plain' does not fit"));
    assert_non_null(strstr(warning, "knob tile cannot be 7 here"));
}

/* A trial is built with the configuration, and its reference without any. */
static void test_build(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        gpuc_tune_tasks tasks = extract(ctx, &plain, targets[i], NULL);
        const gpuc_config config = {1, &(gpuc_knob_value){"tile", 32}};
        if (i == 0) assert_true(gpuc_tune_build(ctx, &tasks.at[0], tasks.target, &config).size > 0);
        tasks = extract(ctx, &two_outputs, targets[i], NULL);
        if (i == 0) assert_true(gpuc_tune_build(ctx, &tasks.at[0], tasks.target, &config).size > 0);
        assert_true(
            gpuc_tune_build_reference(ctx, &tasks.at[0], gpuc_target_parse(ctx, "c -cflags=-O1", NULL)).size >
            0);
    }
}

/* ---- Refused ---- */

typedef struct refusal {
    const gpuc_tune_template *t;
    const char *words, *text;
} refusal;

static void refuse(gpuc_ctx *ctx, void *arg)
{
    const refusal *r = arg;
    gpuc_tune_tasks tasks = extract(ctx, r->t, "c", r->text);
    gpuc_tune_space *space = gpuc_tune_space_create(ctx, tasks.target, tasks.at[0].f);
    const gpuc_config config = {2, (gpuc_knob_value[]){{"extra", 1}, {"tile", 1}}};
    assert_non_null(gpuc_tune_space_own(space));
    gpuc_tune_build(ctx, &tasks.at[0], tasks.target, &config);
}

static void test_refused(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const refusal all[] = {
        {&no_knobs, "template 'no_knobs' has an empty space", NULL},
        {&in_shape, "template 'in_shape': its arguments depend on more than its parameters", NULL},
        {&open_size, "template 'open' has sizes that are known at run time only", NULL},
        {&no_output, "template 'no_output': num_out is 0", NULL},
        {&computed, "template 'computed': input 0, 'out', is no placeholder", NULL},
        {&plain, "test.plain: has no attribute 'm'", "m=1"},
        {&plain, "test.plain|'n'", "n=long"},
        {&plain, "'n' is given twice", "n=1, n=2"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, all[i].words, refuse, (void *)&all[i]);
}

typedef enum lack { NO_TARGET, NO_TEXTS, NO_TEXT, NEGATIVE, NO_MEASURE, NO_KNOB, NEGATIVE_CONFIG } lack;

static void leave_out(gpuc_ctx *ctx, void *arg)
{
    const char *none = NULL;
    const gpuc_target *c = gpuc_target_parse(ctx, "c", NULL);
    const gpuc_tune_options nothing = {0};
    const gpuc_tune_records no_records = {0};
    const gpuc_config unnamed = {1, &(gpuc_knob_value){NULL, 4}}, negative = {-1, NULL};
    gpuc_tune_progress p;
    gpuc_tune_tasks tasks = extract(ctx, &plain, "c", NULL);
    switch (*(const lack *)arg) {
    case NO_TARGET: gpuc_tune_extract_template(ctx, &plain, NULL, NULL, &tasks); break;
    case NO_TEXTS: gpuc_tune_extract_templates(ctx, 1, NULL, c, &tasks); break;
    case NO_TEXT: gpuc_tune_extract_templates(ctx, 1, &none, c, &tasks); break;
    case NEGATIVE: gpuc_tune_extract_templates(ctx, -1, &none, c, &tasks); break;
    case NO_MEASURE: gpuc_tune_run(ctx, &tasks, &no_records, &nothing, &p); break;
    case NO_KNOB: gpuc_tune_build(ctx, &tasks.at[0], c, &unnamed); break;
    case NEGATIVE_CONFIG: gpuc_tune_build(ctx, &tasks.at[0], c, &negative); break;
    }
}

static void test_left_out(gpuc_ctx *ctx, void *arg)
{
    static const char *const words[] = {
        [NO_TARGET] = "tasks of templates: the target is NULL",
        [NO_TEXTS] = "tasks of templates: their list, or one of it, is NULL",
        [NO_TEXT] = "tasks of templates: their list, or one of it, is NULL",
        [NEGATIVE] = "tasks of templates: their number is negative",
        [NO_MEASURE] = "the search: measure is NULL",
        [NO_KNOB] = "a knob whose name is NULL",
        [NEGATIVE_CONFIG] = "a configuration has -1 values",
    };
    (void)arg;
    for (lack l = NO_TARGET; l <= NEGATIVE_CONFIG; l++)
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, words[l], leave_out, &l);
}

/* ---- The registry ---- */

static const gpuc_attr_spec twice[] = {{.name = "n", .kind = GPUC_ATTR_INT},
                                       {.name = "n", .kind = GPUC_ATTR_INT},
                                       {0}},
                            spaced[] = {{.name = "a b", .kind = GPUC_ATTR_INT}, {0}};

static void find_nothing(gpuc_ctx *ctx, void *arg)
{
    gpuc_tune_tasks tasks;
    const char *text = arg;
    gpuc_tune_extract_templates(ctx, text != NULL, &text, gpuc_target_parse(ctx, "c", NULL), &tasks);
}

static void without_template(gpuc_ctx *ctx, void *arg)
{
    gpuc_tune_func(ctx, arg, NULL, gpuc_target_parse(ctx, "c", NULL), NULL, NULL);
}

static void test_registered(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_runtime *rt;
    gpuc_tune_tasks tasks;
    GPUC_RAISE_IF(ctx, gpuc_runtime_create(NULL, &rt));
    gpuc_ctx_set_runtime(ctx, rt);
    fx_expect(ctx, GPUC_NOT_FOUND, "there is no template: nobody registered one", find_nothing, NULL);
    assert_null(gpuc_tune_template_register(rt, &plain));
    assert_null(gpuc_tune_template_register(rt, &by_rules));
    fx_check_status(gpuc_tune_template_register(rt, &plain), GPUC_INVALID_ARGUMENT,
                    "there is a template 'test.plain' already");
    fx_check_status(gpuc_tune_template_register(rt, &(gpuc_tune_template){.name = "a b", .body = plus_one}),
                    GPUC_INVALID_ARGUMENT, "'a b' is no name for a template");
    fx_check_status(gpuc_tune_template_register(rt, &(gpuc_tune_template){.name = "3d", .body = plus_one}),
                    GPUC_INVALID_ARGUMENT, "begins with a letter or '_'");
    fx_check_status(gpuc_tune_template_register(
                        rt, &(gpuc_tune_template){.name = "b", .params = twice, .body = plus_one}),
                    GPUC_INVALID_ARGUMENT, "template 'b': attribute 'n' is there twice");
    fx_check_status(gpuc_tune_template_register(
                        rt, &(gpuc_tune_template){.name = "b", .params = spaced, .body = plus_one}),
                    GPUC_INVALID_ARGUMENT, "template 'b': attribute 'a b' has no possible name");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the template is NULL", without_template, NULL);
    fx_check_status(gpuc_tune_template_register(rt, &(gpuc_tune_template){.name = "b"}),
                    GPUC_INVALID_ARGUMENT, "template 'b' has no body");
    assert_int_equal(gpuc_tune_template_count(ctx), 2);
    assert_ptr_equal(gpuc_tune_template_at(ctx, 0), &by_rules);
    assert_ptr_equal(gpuc_tune_template_get(ctx, "test.plain"), &plain);
    const gpuc_target *c = gpuc_target_parse(ctx, "c", NULL);
    const char *texts[] = {"test.plain(n=12)", "test.plain", "test.plain(n=12)"};
    gpuc_tune_extract_templates(ctx, 3, texts, c, &tasks);
    assert_int_equal(tasks.n, 2); /* the third is the first */
    assert_string_equal(tasks.at[0].text, "test.plain(float32[12], n=12)");
    gpuc_tune_extract_templates(ctx, 0, NULL, c, &tasks);
    assert_int_equal(tasks.n, 2);
    fx_expect(ctx, GPUC_NOT_FOUND, "no template 'test.plan'; the nearest is 'test.plain'", find_nothing,
              "test.plan");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "is no template: write NAME", find_nothing, "test.plain(n=1");
    gpuc_ctx_set_runtime(ctx, NULL);
    gpuc_runtime_release(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(test_split),    fx_test(test_own_split), fx_test(test_reorder),  fx_test(test_annotate),
        fx_test(test_mistakes), fx_test(test_tasks),     fx_test(test_search),   fx_test(test_func),
        fx_test(test_build),    fx_test(test_refused),   fx_test(test_left_out), fx_test(test_registered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
