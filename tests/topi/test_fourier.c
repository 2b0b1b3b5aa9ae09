/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of random shapes as packages on the device of a target, against the plain sum: lengths with small
 * factors, with large ones, primes; every axis; open extents. Arguments: target, how many packages, the first seed. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <gpuc/build.h>

#include "../codegen/run.h"
#include "package.h"

enum { OF_PACKAGE = 4, MAX_NUMBERS = 12000 };

typedef struct random_call {
    op_case c;
    op_trial trial;
    int open; /* the dimension of the first input that only a run knows; -1: none */
} random_call;

typedef struct package {
    random_call calls[OF_PACKAGE];
    const char *path;
    uint64_t seed;
} package;

static int64_t random_length(fx_rng *r)
{
    static const int64_t others[] = {67, 97, 127, 131, 254, 499, 513, 521, 607, 998, 1042, 1031};
    static const int factors[] = {2, 2, 2, 3, 4, 5, 7, 8};
    int way = fx_below(r, 8);
    int64_t n = 1, max = way < 6 ? 1200 : 70;
    if (way == 0) return others[fx_below(r, 12)];
    if (way == 1) return 1 + fx_below(r, 40);
    for (int f; f = factors[fx_below(r, 8)], n * f <= max;) n *= f;
    return n;
}

static const char *random_type(gpuc_ctx *ctx, fx_rng *r)
{
    int way = fx_below(r, 6);
    return way == 0 ? "float16" : way == 1 && run_target(ctx)->float64 ? "float64" : "float32";
}

/* Of sums of n numbers: rounding errors add up as steps at random do, and so do the sums that they are shares of. */
static double tolerance(const char *type, int64_t n)
{
    double unit = strcmp(type, "float64") ? 1.2e-7 : 2.2e-16;
    return strcmp(type, "float16") ? unit * (4 * sqrt((double)n) + (double)n / 2) : 0;
}

static void random_dft(gpuc_ctx *ctx, fx_rng *r, random_call *call)
{
    int64_t n = random_length(r), dims[4], numbers = 2 * n;
    int ndim = 2 + fx_below(r, 3), axis = fx_below(r, ndim - 1), parts = 1 + fx_below(r, 2);
    bool inverse = fx_below(r, 3) == 0, onesided = parts == 1 && !inverse && fx_below(r, 2);
    const char *type = random_type(ctx, r), *text = "";
    for (int i = 0; i < ndim - 1; i++) {
        if (i == axis) continue;
        int64_t most = MAX_NUMBERS / numbers;
        dims[i] = most < 2 ? 1 : 1 + fx_below(r, most < 40 ? (int)most : 40);
        numbers *= dims[i];
    }
    dims[axis] = fx_below(r, 4) ? n : 1 + fx_below(r, 2 * (int)n);
    dims[ndim - 1] = parts;
    for (int i = 0; i < ndim; i++) text = gpuc_ctx_printf(ctx, "%s%s%d", text, i ? ", " : "", (int)dims[i]);
    call->c = (op_case){.op = "dft",
                        .in = gpuc_ctx_printf(ctx, "%s[%s]", type, text),
                        .attrs = gpuc_ctx_printf(ctx, "length=%d axis=%d inverse=%d onesided=%d", (int)n,
                                                 axis, inverse, onesided),
                        .tolerance = tolerance(type, n)};
    call->open = fx_below(r, 4) ? -1 : fx_below(r, ndim - 1);
}

static void random_stft(gpuc_ctx *ctx, fx_rng *r, random_call *call)
{
    int n = (int)random_length(r), parts = 1 + fx_below(r, 2), step = 1 + fx_below(r, n),
        frames = 1 + fx_below(r, 1 + MAX_NUMBERS / 2 / n), batch = 1 + fx_below(r, 2);
    const char *type = random_type(ctx, r);
    const char *window = fx_below(r, 2) ? gpuc_ctx_printf(ctx, " %s[%d]", type, n) : "";
    call->c = (op_case){
        .op = "stft",
        .in = gpuc_ctx_printf(ctx, "%s[%d, %d, %d]%s", type, batch,
                              n + (frames - 1) * step + fx_below(r, step), parts, window),
        .attrs = gpuc_ctx_printf(ctx, "length=%d step=%d onesided=%d", n, step, parts == 1 && fx_below(r, 2)),
        .tolerance = 2 * tolerance(type, n)};
    call->open = fx_below(r, 4) ? -1 : fx_below(r, 2);
}

static gpuc_rexpr *input_of(gpuc_ctx *ctx, const gpuc_rexpr *constant, int open, const char *name)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(constant);
    gpuc_expr dims[4];
    for (int i = 0; i < t->ndim; i++)
        dims[i] = i == open ? gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s_n", name), GPUC_INDEX) : t->dims[i];
    return gpuc_relay_var(ctx, name, gpuc_relay_rtype_tensor(ctx, t->dtype, t->ndim, dims));
}

static void build(gpuc_ctx *ctx, const package *p)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *target = run_target(ctx);
    gpuc_build_report report;
    gpuc_ptrs params = {0}, outs = {0};
    for (int i = 0; i < OF_PACKAGE; i++) {
        const op_trial *t = &p->calls[i].trial;
        gpuc_rexpr *args[2];
        for (int k = 0; k < t->n; k++) {
            args[k] = input_of(ctx, t->args[k], k == 0 ? p->calls[i].open : -1,
                               gpuc_ctx_printf(ctx, "x_%d_%d", i, k));
            gpuc_ptrs_push(ctx, &params, args[k]);
        }
        gpuc_ptrs_push(ctx, &outs, fx_op(ctx, t->c->op, t->attrs, t->n, args));
    }
    gpuc_rexpr *body = gpuc_relay_tuple(ctx, OF_PACKAGE, (gpuc_rexpr *const *)outs.at);
    gpuc_relay_infer_type(ctx, NULL, body);
    gpuc_build_package(ctx, fx_module(ctx, body, (int)params.count, (gpuc_rexpr *const *)params.at), 1,
                       &target, &options, p->path, &report);
}

static void check(gpuc_ctx *ctx, void *arg)
{
    package *p = arg;
    fx_rng r = {p->seed * 7919};
    for (int i = 0; i < OF_PACKAGE; i++) {
        random_call *call = &p->calls[i];
        (fx_below(&r, 3) ? random_dft : random_stft)(ctx, &r, call);
        op_trial_make(ctx, &call->c, GPUC_FLOAT32, &r, &call->trial);
        call->trial.text = gpuc_ctx_printf(ctx, "seed %llu: %s, open dimension %d",
                                           (unsigned long long)p->seed, call->trial.text, call->open);
        if (getenv("GPUC_TEST_VERBOSE")) print_message("  %s\n", call->trial.text);
    }
    build(ctx, p);
    gpuc_session *s = package_start(ctx, p->path);
    for (int i = 0, number = 0; i < OF_PACKAGE; i++)
        for (int k = 0; k < p->calls[i].trial.n; k++)
            package_set_input(ctx, s, number++, p->calls[i].trial.args[k]);
    GPUC_RAISE_IF(ctx, gpuc_session_run(s));
    GPUC_RAISE_IF(ctx, gpuc_session_sync(s));
    for (int i = 0; i < OF_PACKAGE; i++)
        op_trial_check(ctx, &p->calls[i].trial, 0, package_output(ctx, s, i), 1);
    gpuc_session_release(s);
    for (int i = 0; i < OF_PACKAGE; i++) op_trial_free(&p->calls[i].trial);
}

static int packages = 4;
static uint64_t first = 1;

static void at_random(void **state)
{
    (void)state;
    char path[] = "/tmp/gpuc-fourier-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < packages; i++) {
        package p = {.path = path, .seed = first + (uint64_t)i};
        run_in_ctx(check, &p);
    }
    unlink(path);
    print_message("cases: %d\n", packages * OF_PACKAGE);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    if (argc > 2) packages = atoi(argv[2]);
    if (argc > 3) first = strtoull(argv[3], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_random)};
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
