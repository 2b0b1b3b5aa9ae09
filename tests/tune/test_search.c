/* SPDX-License-Identifier: Apache-2.0 */
/* Spaces as the schedules describe them, and searches in them against a made-up device. */
#include <math.h>

#include "../relay/fixture.h"
#include "tune/search.h"

static const char *const targets[] = {"c -mcpu=native", "opencl/pocl", "vulkan/llvmpipe", "vulkan"};
enum { NUM_TARGETS = sizeof targets / sizeof *targets };

/* conv2d, relu, dense: two functions worth tuning. */
static gpuc_rmodule *network(gpuc_ctx *ctx)
{
    fx_rng rng = {1};
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 8, 12, 20));
    gpuc_rexpr *w = fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(24, 8, 3, 3)), &rng);
    gpuc_rexpr *m = fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(20, 48)), &rng);
    gpuc_rexpr *args[] = {x, w};
    gpuc_rexpr *conv =
        fx_op(ctx, "nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=1", 2, args);
    gpuc_rexpr *y = fx_op1(ctx, "nn.relu", NULL, conv);
    gpuc_rexpr *rows = fx_op1(ctx, "reshape", "newshape=[288, 20]", y);
    return fx_module(ctx, fx_op2(ctx, "nn.matmul", rows, m), 1, &x);
}

static gpuc_tune_tasks tasks_of(gpuc_ctx *ctx, const char *target)
{
    gpuc_tune_tasks tasks;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_tune_extract(ctx, network(ctx), gpuc_target_parse(ctx, target, NULL), &options, &tasks);
    return tasks;
}

static void extraction(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < NUM_TARGETS; i++) {
        if (!strcmp(targets[i], "c -mcpu=native")) continue;
        gpuc_tune_tasks t = tasks_of(ctx, targets[i]);
        int convs = 0, products = 0;
        assert_string_equal(t.target_text, targets[i]);
        for (int k = 0; k < t.n; k++) {
            assert_int_equal(t.at[k].uses, 1);
            assert_int_equal(strlen(t.at[k].workload), 16);
            convs += !strncmp(t.at[k].text, "conv2d_relu(float32[1,", 22);
            products += strstr(t.at[k].text, "matmul(") != NULL;
        }
        assert_int_equal(convs, 1);
        assert_int_equal(products, 1);
    }
}

/* Workloads are names in files: they must stay the same. */
static void names(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tune_tasks a = tasks_of(ctx, "opencl/pocl"), b = tasks_of(ctx, "opencl/pocl");
    assert_int_equal(a.n, b.n);
    for (int i = 0; i < a.n; i++) {
        assert_string_equal(a.at[i].workload, b.at[i].workload);
        for (int k = 0; k < i; k++) assert_string_not_equal(a.at[i].workload, a.at[k].workload);
    }
}

static void open_sizes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_var(ctx, "n", GPUC_INT64), gpuc_int(ctx, 64)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, dims));
    fx_rng rng = {1};
    gpuc_rexpr *w = fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(64, 64)), &rng);
    gpuc_rmodule *m = fx_module(ctx, fx_op2(ctx, "nn.matmul", x, w), 1, &x);
    gpuc_tune_tasks tasks;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_tune_extract(ctx, m, gpuc_target_parse(ctx, "opencl/pocl", NULL), &options, &tasks);
    assert_int_equal(tasks.n, 0);
    assert_int_equal(tasks.num_open, 1);
}

static void infer_same(gpuc_op_call *call)
{
    gpuc_topi_infer_same(call);
}

static void compute_nothing(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    (void)outs;
    gpuc_topi_fail(call, "there is no way");
}

static void extract_impossible(gpuc_ctx *ctx, void *arg)
{
    static const gpuc_op row = {.name = "test.impossible",
                                .min_in = 1,
                                .max_in = 1,
                                .types = {GPUC_T_FLOATS},
                                .infer = infer_same,
                                .compute = compute_nothing,
                                .pattern = GPUC_FUSE_OPAQUE,
                                .topi = "",
                                .nnvm = "",
                                .onnx = ""};
    (void)arg;
    gpuc_op_register(ctx, &row);
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 4));
    gpuc_tune_tasks tasks;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_tune_extract(ctx, fx_module(ctx, fx_op1(ctx, "test.impossible", NULL, x), 1, &x),
                      gpuc_target_parse(ctx, "c", NULL), &options, &tasks);
}

/* What no schedule can be made for is told, and not taken for something without decisions. */
static void what_cannot_be_scheduled(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "impossible: test.impossible: there is no way", extract_impossible,
              NULL);
}

/* Every sample is offered again as a configuration, and is lowered. */
static void samples(gpuc_ctx *ctx, void *arg)
{
    const gpuc_tune_tasks t = tasks_of(ctx, arg);
    gpuc_tune_rng rng = {7};
    for (int i = 0; i < t.n; i++) {
        gpuc_tune_state s;
        const char *problem;
        gpuc_tune_space *space = gpuc_tune_space_create(ctx, t.target, t.at[i].f);
        gpuc_tune_state_init(&s, ctx, space);
        const gpuc_tune_point *own = gpuc_tune_space_own(space), *first = gpuc_tune_space_first(space);
        assert_non_null(own);
        assert_true(own->config->n > 0);
        assert_non_null(first);
        assert_ptr_equal(gpuc_tune_space_own(space), own);
        assert_ptr_equal(gpuc_tune_space_find(space, own->config, &problem), own);
        for (int k = 0; k < 12; k++) {
            const gpuc_tune_point *p = gpuc_tune_sample(&s, &rng);
            if (!p) continue;
            assert_ptr_equal(gpuc_tune_space_find(space, p->config, &problem), p);
            const gpuc_tune_point *q = gpuc_tune_mutate(&s, &rng, p);
            gpuc_lower_task task = {
                .target = t.target, .f = t.at[i].f, .name = "f", .label = "f", .config = p->config};
            gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
            gpuc_compile_lower_functions(ctx, 1, &task, &options);
            assert_null(task.misfit);
            assert_int_equal(task.lowered->num_knobs, p->config->n);
            assert_true(!q || q->config->n > 0);
        }
    }
}

static void samples_on_c(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    samples(ctx, "c -vector_bits=256 -vector_registers=16");
}

static void samples_on_pocl(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    samples(ctx, "opencl/pocl");
}

static void samples_on_llvmpipe(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    samples(ctx, "vulkan/llvmpipe");
}

static void samples_on_vulkan(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    samples(ctx, "vulkan");
}

static void misfits(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        gpuc_knob_value knob;
        const char *word;
    } cases[] = {{{"rows", 5000}, "rows cannot be 5000"}, {{"colour", 1}, "knob colour"}};
    const gpuc_tune_tasks t = tasks_of(ctx, "opencl/pocl");
    gpuc_tune_space *space = gpuc_tune_space_create(ctx, t.target, t.at[0].f);
    for (int i = 0; i < 2; i++) {
        const gpuc_config c = {1, &cases[i].knob};
        const char *problem;
        gpuc_lower_task task = {.target = t.target, .f = t.at[0].f, .name = "f", .label = "f", .config = &c};
        gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
        assert_null(gpuc_tune_space_find(space, &c, &problem));
        assert_non_null(strstr(problem, cases[i].word));
        gpuc_compile_lower_functions(ctx, 1, &task, &options);
        assert_non_null(task.lowered);
        assert_non_null(strstr(task.misfit, cases[i].word));
    }
}

/* ---- Searches ---- */

/* A device on which every knob has a value that it likes best. */
typedef struct device {
    gpuc_ctx *ctx;
    gpuc_ptrs records;
    const gpuc_tune_tasks *tasks;
    int trials, repeated, broken; /* every so many trials fail */
    int together;
    gpuc_strmap seen;
    double first[8], best[8];
} device;

static double seconds_of(const gpuc_config *c)
{
    double cost = 1e-3;
    for (int i = 0; i < c->n; i++) {
        double likes = 1 + (double)(strlen(c->at[i].name) % 5) * 1.5, v = (double)c->at[i].value;
        cost *= 1 + 0.4 * fabs(log2(v + 1) - log2(likes + 1));
    }
    return cost;
}

static void measure_one(device *d, int task, const gpuc_config *config, gpuc_tune_result *out)
{
    gpuc_buf text;
    gpuc_buf_init(&text, d->ctx->allocator);
    gpuc_buf_printf(&text, "%d ", task);
    gpuc_config_print(&text, config);
    d->repeated += gpuc_strmap_has(&d->seen, gpuc_buf_cstr(&text));
    gpuc_strmap_set(&d->seen, gpuc_buf_cstr(&text), d);
    gpuc_buf_deinit(&text);
    d->trials++;
    double *costs = gpuc_new_array(d->ctx, double, 1);
    costs[0] = seconds_of(config);
    bool fails = d->broken && d->trials % d->broken == 0;
    snprintf(out->status, sizeof out->status, "%s", fails ? "crash" : GPUC_TUNE_OK);
    out->num_costs = !fails;
    out->costs[0] = costs[0];
    if (!fails && d->first[task] == 0) d->first[task] = d->best[task] = costs[0];
    if (!fails && costs[0] < d->best[task]) d->best[task] = costs[0];
    gpuc_tune_record *r = gpuc_new(d->ctx, gpuc_tune_record);
    *r = (gpuc_tune_record){
        .workload = d->tasks->at[task].workload,
        .task = "",
        .target = d->tasks->target_text,
        .config = gpuc_config_copy(d->ctx, config),
        .num_costs = out->num_costs,
        .costs = costs,
        .status = gpuc_ctx_strdup(d->ctx, out->status),
        .device = "",
        .driver = "",
        .version = "",
    };
    gpuc_ptrs_push(d->ctx, &d->records, r);
}

static void measure(void *user, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results)
{
    device *d = user;
    assert_true(n >= 1 && n <= d->together);
    for (int i = 0; i < n; i++) measure_one(d, asks[i].task, asks[i].config, &results[i]);
}

static void init_device(gpuc_ctx *ctx, device *d, const gpuc_tune_tasks *tasks)
{
    *d = (device){.ctx = ctx, .tasks = tasks, .together = 1};
    gpuc_strmap_init(&d->seen, ctx);
}

static gpuc_tune_records known_of(const device *d)
{
    return (gpuc_tune_records){.at = (const gpuc_tune_record *const *)d->records.at,
                               .count = d->records.count};
}

static gpuc_tune_progress search(gpuc_ctx *ctx, device *d, gpuc_tune_search how, int trials,
                                 bool ignore_default)
{
    gpuc_tune_progress out;
    gpuc_tune_records known = known_of(d);
    gpuc_tune_options o = {.search = how,
                           .trials = trials,
                           .ignore_default = ignore_default,
                           .seed = 3,
                           .together = d->together,
                           .measure = measure,
                           .user = d};
    gpuc_tune_run(ctx, d->tasks, &known, &o, &out);
    return out;
}

/* The best that 150 trials find, over the best that there is in the first task. */
static double quality(gpuc_ctx *ctx, gpuc_tune_search how)
{
    const gpuc_tune_tasks t = tasks_of(ctx, "opencl/pocl");
    device d;
    init_device(ctx, &d, &t);
    assert_true(t.n <= 8);
    gpuc_tune_progress p = search(ctx, &d, how, 150, true);
    assert_int_equal(p.trials, 150);
    assert_int_equal(d.trials, 150);
    assert_int_equal(d.repeated, 0);
    assert_int_equal(p.failures, 0);
    double best = 0, first = 0;
    for (int i = 0; i < t.n; i++) {
        assert_true(d.first[i] > 0); /* each was tried */
        best += d.best[i];
        first += d.first[i];
    }
    assert_true(fabs(best - p.total) < 1e-9);
    assert_true(fabs(first - p.total_own) < 1e-9);
    return best / first;
}

static void searches(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    double random = quality(ctx, GPUC_TUNE_RANDOM), sa = quality(ctx, GPUC_TUNE_SA),
           xgb = quality(ctx, GPUC_TUNE_XGB);
    print_message("of the first time: random %.3f, sa %.3f, xgb %.3f\n", random, sa, xgb);
    assert_true(random < 0.8);
    assert_true(sa < 0.8);
    assert_true(xgb <= random * 1.01);
}

/* What a log has is not measured again, and failures do not end a search. */
static void resumed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_tune_tasks t = tasks_of(ctx, "opencl/pocl");
    device d;
    init_device(ctx, &d, &t);
    d.broken = 3;
    d.together = 4;
    gpuc_tune_progress p = search(ctx, &d, GPUC_TUNE_SA, 30, false);
    assert_int_equal(p.failures, 10);
    double best = p.total;
    for (int i = 0; i < 3; i++) {
        p = search(ctx, &d, GPUC_TUNE_SA, 10, false);
        assert_int_equal(p.trials, 10);
        assert_true(p.total <= best);
        best = p.total;
    }
    assert_int_equal(d.trials, 60);
    assert_int_equal(d.repeated, 0);
}

/* The first and the best of each task, once more. */
static void confirmed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_tune_tasks t = tasks_of(ctx, "opencl/pocl");
    device d;
    init_device(ctx, &d, &t);
    d.together = 2;
    search(ctx, &d, GPUC_TUNE_SA, 40, true);
    gpuc_tune_progress p;
    gpuc_tune_records known = known_of(&d);
    gpuc_tune_options o = {.confirm = true, .together = 2, .measure = measure, .user = &d};
    int improved = 0;
    for (int i = 0; i < t.n; i++) improved += d.best[i] < d.first[i];
    assert_true(improved > 0);
    gpuc_tune_run(ctx, &t, &known, &o, &p);
    assert_int_equal(p.trials, 2 * improved);
    assert_int_equal(d.repeated, 2 * improved);
}

/* A space of few configurations is seen to its end, and then the search is over. */
static void small_space(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tune_tasks t = tasks_of(ctx, "opencl/pocl");
    fx_rng rng = {1};
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 4)),
               *w = fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(4, 2)), &rng);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_tune_extract(ctx, fx_module(ctx, fx_op2(ctx, "nn.matmul", x, w), 1, &x), t.target, &options, &t);
    assert_int_equal(t.n, 1);
    device d;
    init_device(ctx, &d, &t);
    gpuc_tune_progress p = search(ctx, &d, GPUC_TUNE_SA, 100000, false);
    assert_true(p.trials > 1 && p.trials < 2000);
    assert_int_equal(d.repeated, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(extraction),
                                       fx_test(names),
                                       fx_test(open_sizes),
                                       fx_test(samples_on_c),
                                       fx_test(samples_on_pocl),
                                       fx_test(samples_on_llvmpipe),
                                       fx_test(samples_on_vulkan),
                                       fx_test(misfits),
                                       fx_test(searches),
                                       fx_test(resumed),
                                       fx_test(confirmed),
                                       fx_test(small_space),
                                       fx_test(what_cannot_be_scheduled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
