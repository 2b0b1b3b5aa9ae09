/* SPDX-License-Identifier: Apache-2.0 */
#include "package.h"

#include <stdlib.h>
#include <unistd.h>

#include <gpuc/build.h>

#include "../codegen/run.h"

void package_set_input(gpuc_ctx *ctx, gpuc_session *s, int number, const gpuc_rexpr *constant)
{
    const gpuc_tensor_type *type = gpuc_relay_tensor_type(constant);
    const gpuc_const_data *data = gpuc_as_rconstant(constant)->data;
    int64_t dims[64];
    gpuc_ndarray *a;
    gpuc_relay_tensor_type_static(type, dims);
    GPUC_RAISE_IF(ctx, gpuc_ndarray_create(run_runtime(), NULL, type->dtype, type->ndim, dims, &a));
    GPUC_RAISE_IF(ctx, gpuc_ndarray_write(a, data->bytes, data->size));
    gpuc_status status = gpuc_session_set_input(s, number, a);
    gpuc_ndarray_release(a);
    GPUC_RAISE_IF(ctx, status);
}

const gpuc_rexpr *package_output(gpuc_ctx *ctx, gpuc_session *s, int number)
{
    gpuc_ndarray *a;
    GPUC_RAISE_IF(ctx, gpuc_session_get_output(s, number, &a));
    void *bytes = gpuc_ctx_alloc(ctx, gpuc_ndarray_bytes(a) + 1);
    GPUC_RAISE_IF(ctx, gpuc_ndarray_read(a, bytes, gpuc_ndarray_bytes(a)));
    return gpuc_relay_const_bytes(ctx, gpuc_ndarray_dtype(a), gpuc_ndarray_ndim(a), gpuc_ndarray_dims(a),
                                  bytes);
}

gpuc_session *package_start(gpuc_ctx *ctx, const char *path)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model;
    gpuc_session *s;
    desc.path = path;
    desc.device = run_device();
    desc.allow_native_code = true;
    GPUC_RAISE_IF(ctx, gpuc_model_load(run_runtime(), &desc, &model));
    run_validate(model);
    gpuc_status status = gpuc_session_create(model, &s);
    gpuc_model_release(model);
    GPUC_RAISE_IF(ctx, status);
    return s;
}

/* ---- Random calls ---- */

enum { OF_PACKAGE = 4 };

typedef struct package {
    package_call calls[OF_PACKAGE];
    const char *path;
    uint64_t seed;
} package;

static package_random_fn make_call;
static int packages = 4;
static uint64_t first = 1;

/* Variables are those of call number i. */
static gpuc_rexpr *input_of(gpuc_ctx *ctx, const package_call *call, int i, int k, gpuc_expr *vars)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(call->trial.args[k]);
    gpuc_expr dims[8];
    for (int d = 0; d < t->ndim; d++) {
        int number = call->open[k][d];
        if (number && !vars[number])
            vars[number] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "n_%d_%d", i, number), GPUC_INDEX);
        dims[d] = number ? vars[number] : t->dims[d];
    }
    return gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x_%d_%d", i, k),
                          gpuc_relay_rtype_tensor(ctx, t->dtype, t->ndim, dims));
}

static void build(gpuc_ctx *ctx, const package *p)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *target = run_target(ctx);
    gpuc_build_report report;
    gpuc_ptrs params = {0}, outs = {0};
    for (int i = 0; i < OF_PACKAGE; i++) {
        const op_trial *t = &p->calls[i].trial;
        gpuc_rexpr *args[8];
        gpuc_expr vars[128] = {NULL};
        for (int k = 0; k < t->n; k++) {
            args[k] = input_of(ctx, &p->calls[i], i, k, vars);
            gpuc_ptrs_push(ctx, &params, args[k]);
        }
        gpuc_ptrs_push(ctx, &outs, fx_op(ctx, t->c->op, t->attrs, t->n, args));
    }
    gpuc_rexpr *body = gpuc_relay_tuple(ctx, OF_PACKAGE, (gpuc_rexpr *const *)outs.at);
    gpuc_relay_infer_type(ctx, NULL, body);
    gpuc_build_package(ctx, fx_module(ctx, body, (int)params.count, (gpuc_rexpr *const *)params.at), 1,
                       &target, &options, p->path, &report);
}

static const char *text_of(gpuc_ctx *ctx, const package *p, const package_call *call)
{
    const char *text =
        gpuc_ctx_printf(ctx, "seed %llu: %s, open:", (unsigned long long)p->seed, call->trial.text);
    for (int k = 0; k < 8; k++)
        for (int d = 0; d < 8; d++)
            if (call->open[k][d]) text = gpuc_ctx_printf(ctx, "%s %d of input %d", text, d, k);
    return text;
}

static void check(gpuc_ctx *ctx, void *arg)
{
    package *p = arg;
    fx_rng r = {p->seed * 7919};
    for (int i = 0; i < OF_PACKAGE; i++) {
        package_call *call = &p->calls[i];
        make_call(ctx, &r, call);
        op_trial_make(ctx, &call->c, GPUC_FLOAT32, &r, &call->trial);
        call->trial.text = text_of(ctx, p, call);
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

static void at_random(void **state)
{
    (void)state;
    char path[] = "/tmp/gpuc-random-XXXXXX";
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

int package_main(int argc, char **argv, package_random_fn make)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    make_call = make;
    if (argc > 2) packages = atoi(argv[2]);
    if (argc > 3) first = strtoull(argv[3], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_random)};
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
