/* SPDX-License-Identifier: Apache-2.0 */
/* A network: compiled to a package in the work directory, loaded, run with the runtime's public interface;
 * every sample sets the input, runs and fetches the output. The peer runs in a process of its own and gets
 * the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "bench.h"

static char *path_in(const bench_model *m, const char *name)
{
    size_t size = strlen(m->work) + strlen(name) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/%s", m->work, name);
    return path;
}

/* ---- Compiling ---- */

typedef struct build_job {
    const bench_model *m;
    bench_subject *s;
    const char *package;
    gpuc_device *device; /* out */
} build_job;

static void build(gpuc_ctx *ctx, void *arg)
{
    build_job *j = arg;
    const gpuc_target *target = bench_open(ctx, j->s, &j->device);
    gpuc_onnx_options import = GPUC_ONNX_OPTIONS_INIT;
    gpuc_build_options options = bench_build_options(ctx, j->s);
    gpuc_rmodule *module = gpuc_onnx_load(ctx, j->m->path, &import);
    gpuc_build_package(ctx, module, 1, &target, &options, j->package, NULL);
}

/* ---- Running ---- */

typedef struct run_job {
    bench_model *m;
    gpuc_session *session;
    gpuc_ndarray *input;
    float *output;
    size_t output_count;
} run_job;

static gpuc_status run(void *arg)
{
    run_job *j = arg;
    gpuc_ndarray *output;
    GPUC_TRY(gpuc_session_set_input(j->session, 0, j->input));
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

static gpuc_status make_input(bench_model *m, gpuc_runtime *rt, gpuc_tensor_info info, gpuc_ndarray **out)
{
    *out = NULL;
    if (!gpuc_dtype_equal(info.dtype, GPUC_FLOAT32))
        return gpuc_fail(GPUC_UNSUPPORTED, "input %s is not float32", info.name);
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, info.dtype, info.ndim, info.dims, out));
    if (gpuc_ndarray_bytes(*out) != m->input_count * sizeof(float))
        return gpuc_fail(GPUC_INVALID_DATA, "input %s has %zu bytes, %zu were made", info.name,
                         gpuc_ndarray_bytes(*out), m->input_count * sizeof(float));
    return gpuc_ndarray_write(*out, m->input, m->input_count * sizeof(float));
}

/* Against the peer's output; where there is none, against the first target's. */
static gpuc_status compare(run_job *j, bench_subject *s)
{
    bench_model *m = j->m;
    if (!m->reference) {
        m->reference = j->output;
        m->reference_count = j->output_count;
        j->output = NULL;
        s->difference = -1;
        return NULL;
    }
    if (m->reference_count != j->output_count)
        return gpuc_fail(GPUC_INTERNAL, "%zu outputs, %zu in the reference", j->output_count,
                         m->reference_count);
    s->difference = 0;
    double largest = 0;
    for (size_t i = 0; i < j->output_count; i++) {
        double d = fabs((double)j->output[i] - m->reference[i]);
        if (!(d <= s->difference)) s->difference = d;
        if (fabs((double)m->reference[i]) > largest) largest = fabs((double)m->reference[i]);
    }
    if (!(s->difference <= 1e-3 * largest))
        return gpuc_fail(GPUC_INTERNAL, "the output differs from the reference by %g", s->difference);
    return NULL;
}

static gpuc_status measure(bench_model *m, bench_subject *s, gpuc_model *model, gpuc_device *device)
{
    run_job j = {.m = m};
    gpuc_status status = gpuc_session_create(model, &j.session);
    if (!status) status = make_input(m, s->rt, gpuc_model_input(model, 0), &j.input);
    if (!status) status = run(&j);
    if (!status && device->type == GPUC_DEVICE_VULKAN) gpuc_pin_llvmpipe();
    if (!status) status = bench_measure(&s->plan, run, &j, &s->samples);
    if (!status) status = compare(&j, s);
    gpuc_ndarray_release(j.input);
    gpuc_session_release(j.session);
    free(j.output);
    return status;
}

gpuc_status bench_model_run(bench_model *m, bench_subject *s)
{
    gpuc_ctx *ctx;
    gpuc_model *model = NULL;
    char *package = path_in(m, "bench.gpuc");
    if (!package) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a path");
    build_job j = {.m = m, .s = s, .package = package};
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &j);
    gpuc_ctx_destroy(ctx);
    if (!status) status = bench_load(s, package, j.device, &model);
    if (!status) status = measure(m, s, model, j.device);
    gpuc_model_release(model);
    remove(package);
    free(package);
    return status;
}

/* ---- Data and the peer ---- */

static gpuc_status write_input(const bench_model *m)
{
    char *path = path_in(m, "input.bin");
    FILE *f = path ? fopen(path, "wb") : NULL;
    bool ok = f && fwrite(m->input, sizeof(float), m->input_count, f) == m->input_count;
    if (f && fclose(f) != 0) ok = false;
    gpuc_status status = ok ? NULL : gpuc_fail(GPUC_IO, "cannot write %s", path ? path : "a file");
    free(path);
    return status;
}

gpuc_status bench_model_init(bench_model *m)
{
    m->input_count = 1 * 3 * 224 * 224;
    m->input = malloc(m->input_count * sizeof(float));
    if (!m->input) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the input");
    uint32_t state = 1;
    for (size_t i = 0; i < m->input_count; i++) {
        state = state * 1664525u + 1013904223u;
        m->input[i] = (float)(state >> 8) / (float)(1 << 24) * 4 - 2;
    }
    return write_input(m);
}

void bench_model_deinit(bench_model *m)
{
    free(m->input);
    free(m->reference);
}

static gpuc_status read_reference(bench_model *m)
{
    char *path = path_in(m, "output.bin");
    FILE *f = path ? fopen(path, "rb") : NULL;
    long size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (f) rewind(f);
    m->reference = size > 0 ? malloc((size_t)size) : NULL;
    m->reference_count = size > 0 ? (size_t)size / sizeof(float) : 0;
    bool ok = m->reference && fread(m->reference, sizeof(float), m->reference_count, f) == m->reference_count;
    if (f) fclose(f);
    free(path);
    return ok ? NULL : gpuc_fail(GPUC_IO, "cannot read the peer's output in %s", m->work);
}

typedef struct peer_job {
    const char *command;
    bench_model *m;
    bench_samples samples;
    int limit;
} peer_job;

/* The script prints "name TEXT" and a line "sample SECONDS" per run. */
static gpuc_status run_peer(void *arg)
{
    peer_job *j = arg;
    char line[256];
    j->samples = (bench_samples){0};
    FILE *p = popen(j->command, "r");
    if (!p) return gpuc_fail(GPUC_IO, "cannot start %s", j->command);
    while (fgets(line, sizeof line, p)) {
        double seconds;
        if (sscanf(line, "name %63[^\n]", j->m->peer_name) == 1) continue;
        if (sscanf(line, "sample %lf", &seconds) == 1 && j->samples.count < j->limit)
            j->samples.seconds[j->samples.count++] = seconds;
    }
    if (pclose(p) != 0 || j->samples.count == 0) return gpuc_fail(GPUC_IO, "the peer failed: %s", j->command);
    return NULL;
}

gpuc_status bench_model_peer(bench_model *m, const bench_plan *plan, int threads, bench_samples *out)
{
    int repeats = plan->repeats < BENCH_MAX_SAMPLES ? plan->repeats : BENCH_MAX_SAMPLES;
    char command[2048];
    *out = (bench_samples){0};
    int length = snprintf(command, sizeof command, "%s '%s' %d %d '%s/input.bin' '%s/output.bin'", m->peer,
                          m->path, threads, repeats, m->work, m->work);
    if (length >= (int)sizeof command) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the paths are too long");
    for (int attempt = 0; attempt < 4; attempt++) {
        peer_job j = {.command = command, .m = m, .limit = repeats};
        bool quiet = gpuc_quiet_wait(bench_quiet, BENCH_PATIENCE);
        GPUC_TRY(run_peer(&j));
        j.samples.noisy = !(quiet && gpuc_quiet_wait(bench_quiet, BENCH_PATIENCE));
        if (out->count == 0 || !j.samples.noisy) *out = j.samples;
        if (!j.samples.noisy) break;
    }
    return m->reference ? NULL : read_reference(m);
}
