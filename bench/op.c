/* SPDX-License-Identifier: Apache-2.0 */
/* One operator as a network of its own. */
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "bench.h"
#include "relay/relay.h"

static bool is_constant(const bench_op *op, int input)
{
    return op->constants >> input & 1;
}

static gpuc_status make_data(bench_job *j, bool constants)
{
    const bench_op *op = j->op;
    for (int i = 0; i < op->num_inputs; i++) {
        if (is_constant(op, i) != constants) continue;
        free(j->data[i]);
        if (!(j->data[i] = malloc(bench_bytes(&op->inputs[i]))))
            return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
        bench_fill(&op->inputs[i], i, 0, j->data[i]);
    }
    return NULL;
}

/* open: the sizes that are left open, made as they are met. */
static const gpuc_rtype *type_of(gpuc_ctx *ctx, const bench_shape *s, gpuc_expr open[BENCH_SIZES + 1])
{
    gpuc_expr dims[BENCH_COUNT(s->dims)];
    for (int i = 0; i < s->ndim; i++) {
        int64_t d = s->dims[i];
        if (d < 0 && !open[-d]) open[-d] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "n%d", (int)-d), GPUC_INDEX);
        dims[i] = d < 0 ? open[-d] : gpuc_int(ctx, d);
    }
    return gpuc_relay_rtype_tensor(ctx, s->dtype, s->ndim, dims);
}

gpuc_rmodule *bench_op_module(gpuc_ctx *ctx, const bench_op *op, void *const *data)
{
    gpuc_rexpr *params[BENCH_INPUTS], *args[BENCH_INPUTS];
    gpuc_expr open[BENCH_SIZES + 1] = {NULL};
    int num_params = 0;
    for (int i = 0; i < op->num_inputs; i++) {
        const bench_shape *s = &op->inputs[i];
        const gpuc_rtype *type = type_of(ctx, s, open);
        if (is_constant(op, i)) {
            gpuc_const_data *bytes = gpuc_relay_const_data_create(ctx, bench_bytes(s));
            memcpy(bytes->bytes, data[i], bench_bytes(s));
            args[i] = gpuc_relay_constant(ctx, type, bytes);
        } else {
            args[i] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", i), type);
            params[num_params++] = args[i];
        }
    }
    const gpuc_attrs *attrs = op->attrs ? op->attrs(ctx) : NULL;
    gpuc_rexpr *call =
        op->spell ? op->spell(ctx, args) : gpuc_relay_op(ctx, op->relay, attrs, op->num_inputs, args);
    for (int i = 1; i < op->chain; i++) {
        args[0] = call;
        call = gpuc_relay_op(ctx, op->relay, attrs, op->num_inputs, args);
    }
    gpuc_rmodule *module = gpuc_rmodule_create(ctx);
    const char **names = gpuc_new_array(ctx, const char *, 1);
    names[0] = "y";
    module->num_outputs = 1;
    module->output_names = names;
    gpuc_strmap_set(&module->functions, "main", gpuc_relay_function(ctx, num_params, params, call, NULL));
    return module;
}

static void build(gpuc_ctx *ctx, void *arg)
{
    bench_job *j = arg;
    const gpuc_target *target = bench_open(ctx, j->s, &j->device);
    gpuc_rmodule *module = bench_op_module(ctx, j->op, j->data);
    gpuc_build_report report;
    gpuc_build_options options = bench_build_options(ctx, j->s);
    if (j->op->chain) options.opt_level = 0; /* nothing is fused */
    gpuc_build_package(ctx, module, 1, &target, &options, j->package, &report);
    bench_need_tuned(ctx, j->s, &report);
}

gpuc_status bench_job_build(bench_job *j, const char *work)
{
    char package[1024];
    snprintf(package, sizeof package, "%s/ops.gpuc", work);
    j->package = package;
    gpuc_ctx *ctx = NULL;
    gpuc_status status = make_data(j, true);
    if (!status) status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = bench_load(j->s, package, j->device, &j->model);
    if (!status) status = gpuc_session_create(j->model, &j->session);
    remove(package);
    return status;
}

gpuc_status bench_job_run(void *job)
{
    bench_job *j = job;
    GPUC_TRY(gpuc_session_run(j->session));
    return gpuc_session_sync(j->session);
}

gpuc_status bench_job_feed(bench_job *j)
{
    const bench_op *op = j->op;
    GPUC_TRY(make_data(j, false));
    for (int i = 0, input = 0; i < op->num_inputs; i++) {
        const bench_shape *s = &op->inputs[i];
        gpuc_ndarray *array;
        if (is_constant(op, i)) continue;
        GPUC_TRY(gpuc_ndarray_create(j->s->rt, j->device, s->dtype, s->ndim, s->dims, &array));
        gpuc_status status = gpuc_ndarray_write(array, j->data[i], bench_bytes(s));
        if (!status) status = gpuc_session_set_input(j->session, input++, array);
        gpuc_ndarray_release(array);
        GPUC_TRY(status);
    }
    GPUC_TRY(bench_job_run(j));
    if (j->s->pin && j->device->type == GPUC_DEVICE_VULKAN) cli_pin_llvmpipe();
    return NULL;
}

gpuc_status bench_job_output(bench_job *j, gpuc_dtype *type, int64_t *count, void **out)
{
    gpuc_ndarray *y;
    GPUC_TRY(gpuc_session_get_output(j->session, 0, &y));
    size_t bytes = gpuc_ndarray_bytes(y);
    *type = gpuc_ndarray_dtype(y);
    *count = (int64_t)(bytes / gpuc_dtype_bytes(*type));
    if (!(*out = malloc(bytes + 1))) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
    return gpuc_ndarray_read(y, *out, bytes);
}

void bench_job_deinit(bench_job *j)
{
    gpuc_session_release(j->session);
    gpuc_model_release(j->model);
    for (int i = 0; i < BENCH_INPUTS; i++) free(j->data[i]);
    *j = (bench_job){0};
}

gpuc_status bench_op_check(const bench_op *op, const void *const *ins, gpuc_dtype type, const void *got,
                           int64_t count, double *difference)
{
    bench_worst worst = {0};
    for (int64_t i = 0; i < count; i += op->step)
        bench_look(&worst, bench_element(type, got, i), op->expected(op, ins, i));
    return bench_judge(&worst, difference);
}

/* ---- As one of those that are measured together ---- */

typedef struct op_runner {
    bench_job job;
    bench_subject subject;
} op_runner;

static gpuc_status run(void *arg, int count, double *seconds)
{
    return bench_repeat(bench_job_run, &((op_runner *)arg)->job, count, seconds);
}

static gpuc_status check(void *arg, double *difference)
{
    op_runner *r = arg;
    void *got = NULL;
    gpuc_dtype type;
    int64_t count;
    gpuc_status status = bench_job_output(&r->job, &type, &count, &got);
    if (!status)
        status = bench_op_check(r->job.op, (const void *const *)r->job.data, type, got, count, difference);
    free(got);
    return status;
}

static void close_runner(void *arg)
{
    op_runner *r = arg;
    bench_job_deinit(&r->job);
    free(r);
}

void bench_op_open(const bench_op *op, const char *work, bench_subject *s, bench_runner *out)
{
    op_runner *r = calloc(1, sizeof *r);
    if (!r) {
        out->failure = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for an operator");
        return;
    }
    r->subject = *s;
    r->job = (bench_job){.op = op, .s = &r->subject};
    *out = (bench_runner){run, check, close_runner, r, .difference = -1};
    out->failure = bench_job_build(&r->job, work);
    if (!out->failure) out->failure = bench_job_feed(&r->job);
    *s = r->subject;
}
