/* SPDX-License-Identifier: Apache-2.0 */
/* One operator as a network of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "bench.h"
#include "relay/relay.h"

enum { MOST_INPUTS = 6 };

typedef struct job {
    const bench_op *op;
    bench_subject *s;
    const char *package;
    gpuc_device *device;
    gpuc_session *session;
    void *data[MOST_INPUTS];
} job;

static bool is_constant(const bench_op *op, int input)
{
    return op->constants >> input & 1;
}

static gpuc_status make_data(job *j)
{
    const bench_op *op = j->op;
    for (int i = 0; i < op->num_inputs; i++) {
        if (!(j->data[i] = malloc(bench_bytes(&op->inputs[i]))))
            return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
        bench_fill(&op->inputs[i], i, 0, j->data[i]);
    }
    return NULL;
}

static void build(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const bench_op *op = j->op;
    const gpuc_target *target = bench_open(ctx, j->s, &j->device);

    gpuc_rexpr *params[MOST_INPUTS], *args[MOST_INPUTS];
    int num_params = 0;
    for (int i = 0; i < op->num_inputs; i++) {
        const bench_shape *s = &op->inputs[i];
        const gpuc_rtype *type = gpuc_rtype_tensor_static(ctx, s->dtype, s->ndim, s->dims);
        if (is_constant(op, i)) {
            gpuc_const_data *data = gpuc_const_data_create(ctx, bench_bytes(s));
            memcpy(data->bytes, j->data[i], bench_bytes(s));
            args[i] = gpuc_relay_constant(ctx, type, data);
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
    gpuc_build_report report;
    gpuc_build_options options = bench_build_options(ctx, j->s);
    if (op->chain) options.opt_level = 0; /* nothing is fused */
    gpuc_build_package(ctx, module, 1, &target, &options, j->package, &report);
    bench_need_tuned(ctx, j->s, &report);
}

static gpuc_status run(void *arg)
{
    job *j = arg;
    GPUC_TRY(gpuc_session_run(j->session));
    return gpuc_session_sync(j->session);
}

static gpuc_status set_inputs(job *j)
{
    const bench_op *op = j->op;
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
    return NULL;
}

static gpuc_status compare(job *j, gpuc_dtype type, const void *got, int64_t count)
{
    const bench_op *op = j->op;
    bench_subject *s = j->s;
    s->difference = 0;
    for (int64_t i = 0; i < count; i += op->step) {
        double want = op->expected(op, (const void *const *)j->data, i);
        double d = fabs(want - bench_element(type, got, i)) / (1 + fabs(want) / 16);
        if (!(d <= s->difference)) s->difference = d;
    }
    if (s->difference > 1e-3) return gpuc_fail(GPUC_INTERNAL, "%s is wrong by %g", op->title, s->difference);
    return NULL;
}

static gpuc_status check(job *j)
{
    gpuc_ndarray *y;
    GPUC_TRY(gpuc_session_get_output(j->session, 0, &y));
    size_t bytes = gpuc_ndarray_bytes(y);
    void *got = malloc(bytes + 1);
    if (!got) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
    gpuc_status status = gpuc_ndarray_read(y, got, bytes);
    gpuc_dtype type = gpuc_ndarray_dtype(y);
    if (!status) status = compare(j, type, got, (int64_t)(bytes / gpuc_dtype_bytes(type)));
    free(got);
    return status;
}

gpuc_status bench_run_op(const bench_op *op, const char *work, bench_subject *s)
{
    char package[1024];
    snprintf(package, sizeof package, "%s/ops.gpuc", work);
    job j = {.op = op, .s = s, .package = package};
    gpuc_ctx *ctx = NULL;
    gpuc_model *model = NULL;
    gpuc_status status = make_data(&j);
    if (!status) status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = bench_load(s, package, j.device, &model);
    if (!status) status = gpuc_session_create(model, &j.session);
    if (!status) status = set_inputs(&j);
    if (!status) status = run(&j);
    if (!status && j.device->type == GPUC_DEVICE_VULKAN) gpuc_pin_llvmpipe();
    if (!status) status = bench_measure(&s->plan, run, &j, &s->samples);
    if (!status) status = check(&j);
    gpuc_session_release(j.session);
    gpuc_model_release(model);
    for (int i = 0; i < MOST_INPUTS; i++) free(j.data[i]);
    remove(package);
    return status;
}
