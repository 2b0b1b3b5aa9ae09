/* SPDX-License-Identifier: Apache-2.0 */
/* Networks: compiled to a package in the work directory, loaded, run with the runtime's public interface.
 * Other programs run in processes of their own and get the same. */
#include <inttypes.h>
#include <math.h>
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

typedef struct run_job {
    bench_net_data *d;
    gpuc_session *session;
    gpuc_ndarray *inputs[BENCH_VARIANTS][3];
    float *output;
    size_t output_count;
    int runs;
} run_job;

static gpuc_status run(void *arg)
{
    run_job *j = arg;
    gpuc_ndarray *output;
    int variant = j->runs++ % BENCH_VARIANTS;
    for (int i = 0; i < j->d->net->num_inputs; i++)
        GPUC_TRY(gpuc_session_set_input(j->session, i, j->inputs[variant][i]));
    GPUC_TRY(gpuc_session_run(j->session));
    GPUC_TRY(gpuc_session_get_output(j->session, 0, &output));
    size_t bytes = gpuc_ndarray_bytes(output);
    if (!j->output) {
        j->output = malloc(bytes);
        j->output_count = bytes / sizeof(float);
        if (!j->output) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the output");
    }
    return gpuc_ndarray_read(output, j->output, bytes);
}

static gpuc_status make_inputs(run_job *j, gpuc_runtime *rt)
{
    const bench_net *net = j->d->net;
    for (int v = 0; v < BENCH_VARIANTS; v++) {
        for (int i = 0; i < net->num_inputs; i++) {
            const bench_shape *s = &net->inputs[i];
            gpuc_ndarray **array = &j->inputs[v][i];
            GPUC_TRY(gpuc_ndarray_create(rt, NULL, s->dtype, s->ndim, s->dims, array));
            GPUC_TRY(gpuc_ndarray_write(*array, j->d->inputs[v][i], bench_bytes(s)));
        }
    }
    return NULL;
}

/* Where there is no reference, got is it. */
static gpuc_status compare(bench_net_data *d, int variant, float **got, size_t count, double *difference)
{
    *difference = -1;
    if (!d->reference[variant]) {
        d->reference[variant] = *got;
        d->reference_count = count;
        *got = NULL;
        return NULL;
    }
    if (d->reference_count != count)
        return gpuc_fail(GPUC_INTERNAL, "%zu outputs, %zu in the reference", count, d->reference_count);
    *difference = 0;
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double want = (double)d->reference[variant][i], off = fabs((double)(*got)[i] - want);
        if (!(off <= *difference)) *difference = off;
        if (fabs(want) > largest) largest = fabs(want);
    }
    if (!(*difference <= 1e-3 * largest))
        return gpuc_fail(GPUC_INTERNAL, "the output differs from the reference by %g", *difference);
    return NULL;
}

static gpuc_status measure(bench_net_data *d, bench_subject *s, gpuc_model *model, gpuc_device *device)
{
    run_job j = {.d = d};
    gpuc_status status = gpuc_session_create(model, &j.session);
    if (!status) status = make_inputs(&j, s->rt);
    if (!status) status = run(&j);
    if (!status && device->type == GPUC_DEVICE_VULKAN) cli_pin_llvmpipe();
    if (!status) status = bench_measure(&s->plan, run, &j, &s->samples);
    if (!status)
        status = compare(d, (j.runs - 1) % BENCH_VARIANTS, &j.output, j.output_count, &s->difference);
    for (int v = 0; v < BENCH_VARIANTS; v++)
        for (int i = 0; i < d->net->num_inputs; i++) gpuc_ndarray_release(j.inputs[v][i]);
    gpuc_session_release(j.session);
    free(j.output);
    return status;
}

gpuc_status bench_net_run(bench_net_data *d, bench_subject *s)
{
    char package[1024];
    snprintf(package, sizeof package, "%s/net.gpuc", d->work);
    gpuc_ctx *ctx;
    gpuc_model *model = NULL;
    build_job j = {.d = d, .s = s, .package = package};
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = bench_load(s, package, j.device, &model);
    if (!status) status = measure(d, s, model, j.device);
    gpuc_model_release(model);
    remove(package);
    return status;
}

/* ---- Data and peers ---- */

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

static gpuc_status read_output(bench_net_data *d, int variant, double *difference)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/output.%d.bin", d->work, variant);
    FILE *f = fopen(path, "rb");
    long size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (f) rewind(f);
    size_t count = size > 0 ? (size_t)size / sizeof(float) : 0;
    float *data = count ? malloc(count * sizeof(float)) : NULL;
    bool ok = data && fread(data, sizeof(float), count, f) == count;
    if (f) fclose(f);
    gpuc_status status = ok ? compare(d, variant, &data, count, difference)
                            : gpuc_fail(GPUC_IO, "cannot read the peer's output %s", path);
    free(data);
    return status;
}

typedef struct peer_job {
    const char *command;
    char *name;
    bench_samples samples;
    int limit;
} peer_job;

/* The script prints "name TEXT" and a line "sample SECONDS" per run. */
static gpuc_status run_peer(peer_job *j)
{
    char line[256];
    j->samples = (bench_samples){0};
    FILE *p = popen(j->command, "r");
    if (!p) return gpuc_fail(GPUC_IO, "cannot start %s", j->command);
    while (fgets(line, sizeof line, p)) {
        double seconds;
        if (sscanf(line, "name %63[^\n]", j->name) == 1) continue;
        if (sscanf(line, "sample %lf", &seconds) == 1 && j->samples.count < j->limit)
            j->samples.seconds[j->samples.count++] = seconds;
    }
    if (pclose(p) != 0 || j->samples.count == 0) return gpuc_fail(GPUC_IO, "it failed");
    return NULL;
}

static void write_arguments(FILE *to, const bench_net_data *d, const char *command, int threads, int repeats,
                            double budget)
{
    fprintf(to, "%s '%s' %d %d %g '%s' %d", command, d->net->path, threads, repeats, budget, d->work,
            BENCH_VARIANTS);
    for (int i = 0; i < d->net->num_inputs; i++) {
        const bench_shape *s = &d->net->inputs[i];
        fprintf(to, " %s%d", s->dtype.code == GPUC_DTYPE_FLOAT ? "float" : "int", s->dtype.bits);
        for (int k = 0; k < s->ndim; k++) fprintf(to, "%c%" PRId64, k ? 'x' : ':', s->dims[k]);
    }
}

gpuc_status bench_net_peer(bench_net_data *d, const char *command, const bench_plan *plan, int threads,
                           char name[64], double *difference, bench_samples *out)
{
    int repeats = plan->repeats < BENCH_MAX_SAMPLES ? plan->repeats : BENCH_MAX_SAMPLES;
    char *line = NULL;
    size_t size;
    *out = (bench_samples){0};
    FILE *to = open_memstream(&line, &size);
    if (!to) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a command");
    write_arguments(to, d, command, threads, repeats, plan->budget);
    gpuc_status status =
        fclose(to) == 0 ? NULL : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a command");
    for (int attempt = 0; attempt < 3 && !status; attempt++) {
        peer_job j = {.command = line, .name = name, .limit = repeats};
        bool quiet = bench_wait_quiet(plan);
        double from = bench_now();
        status = run_peer(&j);
        double spent = bench_now() - from;
        j.samples.noisy = !(quiet && bench_wait_quiet(plan));
        if (!status && (out->count == 0 || !j.samples.noisy)) *out = j.samples;
        if (!j.samples.noisy || !bench_may_repeat(plan, spent)) break;
    }
    free(line);
    double worst = -1;
    for (int v = 0; v < BENCH_VARIANTS && !status; v++) {
        double off;
        status = read_output(d, v, &off);
        if (off > worst) worst = off;
    }
    *difference = worst;
    return status;
}
