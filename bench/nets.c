/* SPDX-License-Identifier: Apache-2.0 */
/* Networks: compiled to a package in the work directory, loaded, run with the runtime's public interface. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "bench_ops.h"

/* clang-format off */
#define IMAGE FLOATS(4, 1, 3, 224, 224)
#define TEXT(words) INDICES(64, words, 2, 1, 128)
#define DIM(of, is) {.name = of, .is_dim = true, .dims = (const int64_t[]){is}}
#define ONE_TEXT {DIM("batch", 1), DIM("seq", 128)}
const bench_net bench_nets[] = {
    {"resnet18", "bench/models/resnet18.onnx", 1814.07e6, BENCH_NET, 1, .inputs = {IMAGE}},
    {"resnet50", "bench/models/resnet50.onnx", 4089.18e6, BENCH_NET, 1, .inputs = {IMAGE}},
    {"squeezenet1_1", "tests/models/squeezenet1_1/model.onnx", 349.15e6, BENCH_NET, 1, .inputs = {IMAGE}},
    {"mobilenet_v2", "tests/models/mobilenet_v2/model.onnx", 300.77e6, BENCH_NET, 1, .inputs = {IMAGE}},
    {"bert_tiny, 128 words", "bench/models/bert_tiny.onnx", 58.74e6, BENCH_SMALL_NET, 3,
        .inputs = {TEXT(30000), INDICES(64, 2, 2, 1, 128), INDICES(64, 2, 2, 1, 128)}, .dims = ONE_TEXT},
    {"lstm_text, 128 words", "bench/models/lstm_text.onnx", 29.37e6, BENCH_SMALL_NET, 1, .inputs = {TEXT(5000)}, .dims = ONE_TEXT},
    {"googlenet", "bench/models/googlenet.onnx", 1582.67e6, BENCH_OTHER, 1, .inputs = {IMAGE}},
    {"vgg11_slim", "bench/models/vgg11_slim.onnx", 7499.08e6, BENCH_OTHER, 1, .inputs = {IMAGE}},
    {"mixer_tiny", "bench/models/mixer_tiny.onnx", 48.25e6, BENCH_OTHER, 1, .inputs = {FLOATS(4, 1, 3, 128, 128)}},
    {"espcn_x3", "tests/models/espcn_x3/model.onnx", 2984.87e6, BENCH_OTHER, 1, .inputs = {FLOATS(4, 1, 1, 224, 224)}},
    {"fast_style", "tests/models/fast_style/model.onnx", 10078.91e6, BENCH_OTHER, 1, .inputs = {FLOATS(4, 1, 3, 256, 256)}},
    {"dcgan", "tests/models/dcgan/model.onnx", 104.63e6, BENCH_OTHER, 1, .inputs = {FLOATS(4, 1, 100, 1, 1)}, .dims = {DIM("N", 1)}},
    {"tcn_audio", "tests/models/tcn_audio/model.onnx", 65.54e6, BENCH_OTHER, 1, .inputs = {FLOATS(3, 1, 1, 16000)}, .dims = {DIM("N", 1)}},
};
/* clang-format on */
const size_t bench_num_nets = BENCH_COUNT(bench_nets);

void bench_list_nets(FILE *to)
{
    for (size_t i = 0; i < bench_num_nets; i++) {
        const bench_net *net = &bench_nets[i];
        fprintf(to, "%s\t%s", net->title, net->path);
        for (size_t k = 0; k < BENCH_COUNT(net->dims) && net->dims[k].name; k++)
            fprintf(to, " --shape %s=%" PRId64, net->dims[k].name, net->dims[k].dims[0]);
        fputc('\n', to);
    }
}

/* ---- Compiling ---- */

typedef struct build_job {
    const bench_net_data *d;
    bench_subject *s;
    const char *package;
    gpuc_device *device; /* out */
} build_job;

static void build(gpuc_ctx *ctx, void *arg)
{
    build_job *j = arg;
    const gpuc_target *target = bench_open(ctx, j->s, &j->device);
    gpuc_onnx_options import = GPUC_ONNX_OPTIONS_INIT;
    import.pins = j->d->net->dims;
    while (import.num_pins < (int)BENCH_COUNT(j->d->net->dims) && import.pins[import.num_pins].name)
        import.num_pins++;
    gpuc_build_options options = bench_build_options(ctx, j->s);
    gpuc_build_report report;
    gpuc_rmodule *module = gpuc_onnx_load(ctx, j->d->net->path, &import);
    gpuc_build_package(ctx, module, 1, &target, &options, j->package, &report);
    bench_need_tuned(ctx, j->s, &report);
}

/* ---- Running ---- */

typedef struct net_runner {
    bench_net_data *d;
    bench_subject subject;
    gpuc_model *model;
    gpuc_session *session;
    gpuc_ndarray *inputs[BENCH_VARIANTS][3];
    float *outputs[BENCH_VARIANTS];
    size_t count; /* of floats in each */
    int runs;
} net_runner;

static gpuc_status run_once(void *arg)
{
    net_runner *r = arg;
    gpuc_ndarray *output;
    int variant = r->runs++ % BENCH_VARIANTS;
    for (int i = 0; i < r->d->net->num_inputs; i++)
        GPUC_TRY(gpuc_session_set_input(r->session, i, r->inputs[variant][i]));
    GPUC_TRY(gpuc_session_run(r->session));
    GPUC_TRY(gpuc_session_get_output(r->session, 0, &output));
    size_t bytes = gpuc_ndarray_bytes(output);
    if (!r->outputs[variant]) {
        r->count = bytes / sizeof(float);
        if (!(r->outputs[variant] = malloc(bytes)))
            return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the output");
    }
    return gpuc_ndarray_read(output, r->outputs[variant], bytes);
}

static gpuc_status run(void *arg, int count, double *seconds)
{
    return bench_repeat(run_once, arg, count, seconds);
}

static gpuc_status check(void *arg, double *difference)
{
    net_runner *r = arg;
    for (int v = 0; v < BENCH_VARIANTS; v++)
        GPUC_TRY(bench_net_check(r->d, v, r->outputs[v], r->count, difference));
    return NULL;
}

static void close_runner(void *arg)
{
    net_runner *r = arg;
    for (int v = 0; v < BENCH_VARIANTS; v++) {
        for (int i = 0; i < r->d->net->num_inputs; i++) gpuc_ndarray_release(r->inputs[v][i]);
        free(r->outputs[v]);
    }
    gpuc_session_release(r->session);
    gpuc_model_release(r->model);
    free(r);
}

static gpuc_status make_inputs(net_runner *r)
{
    const bench_net *net = r->d->net;
    for (int v = 0; v < BENCH_VARIANTS; v++) {
        for (int i = 0; i < net->num_inputs; i++) {
            const bench_shape *s = &net->inputs[i];
            gpuc_ndarray **array = &r->inputs[v][i];
            GPUC_TRY(gpuc_ndarray_create(r->subject.rt, NULL, s->dtype, s->ndim, s->dims, array));
            GPUC_TRY(gpuc_ndarray_write(*array, r->d->inputs[v][i], bench_bytes(s)));
        }
    }
    return NULL;
}

static gpuc_status open_net(net_runner *r)
{
    char package[1024];
    snprintf(package, sizeof package, "%s/net.gpuc", r->d->work);
    gpuc_ctx *ctx;
    build_job j = {.d = r->d, .s = &r->subject, .package = package};
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = bench_load(&r->subject, package, j.device, &r->model);
    remove(package);
    if (!status) status = gpuc_session_create(r->model, &r->session);
    if (!status) status = make_inputs(r);
    for (int v = 0; v < BENCH_VARIANTS && !status; v++) status = run_once(r);
    if (!status && r->subject.pin && j.device->type == GPUC_DEVICE_VULKAN) cli_pin_llvmpipe();
    return status;
}

void bench_net_open(bench_net_data *d, bench_subject *s, bench_runner *out)
{
    net_runner *r = calloc(1, sizeof *r);
    if (!r) {
        out->failure = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a network");
        return;
    }
    *r = (net_runner){.d = d, .subject = *s};
    *out = (bench_runner){run, check, close_runner, r, .difference = -1};
    out->failure = open_net(r);
    *s = r->subject;
}

/* ---- Data ---- */

gpuc_status bench_net_init(bench_net_data *d, const bench_net *net, const char *work)
{
    *d = (bench_net_data){.net = net, .work = work};
    for (int v = 0; v < BENCH_VARIANTS; v++) {
        for (int i = 0; i < net->num_inputs; i++) {
            size_t bytes = bench_bytes(&net->inputs[i]);
            char path[1024];
            void *data = d->inputs[v][i] = malloc(bytes);
            if (!data) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the inputs");
            bench_fill(&net->inputs[i], i, v, data);
            snprintf(path, sizeof path, "%s/input.%d.%d.bin", work, v, i);
            FILE *f = fopen(path, "wb");
            bool ok = f && fwrite(data, 1, bytes, f) == bytes;
            if (f && fclose(f) != 0) ok = false;
            if (!ok) return gpuc_fail(GPUC_IO, "cannot write %s", path);
        }
    }
    return NULL;
}

void bench_net_deinit(bench_net_data *d)
{
    for (int v = 0; v < BENCH_VARIANTS; v++) {
        for (int i = 0; i < 3; i++) free(d->inputs[v][i]);
        free(d->reference[v]);
    }
}

gpuc_status bench_net_check(bench_net_data *d, int variant, const float *got, size_t count,
                            double *difference)
{
    if (!d->reference[variant]) {
        if (!(d->reference[variant] = malloc(count * sizeof *got)))
            return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the reference");
        memcpy(d->reference[variant], got, count * sizeof *got);
        d->reference_count = count;
        return NULL;
    }
    if (d->reference_count != count)
        return gpuc_fail(GPUC_INTERNAL, "%zu outputs, %zu in the reference", count, d->reference_count);
    bench_worst worst = {0};
    double off = 0;
    for (size_t i = 0; i < count; i++) bench_look(&worst, (double)got[i], (double)d->reference[variant][i]);
    GPUC_TRY(bench_judge(&worst, &off));
    if (off > *difference) *difference = off;
    return NULL;
}
