/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-fit [OPTION]... TARGET [MODEL]...: measures the constants of default schedules (src/target/constants.def) again, and
 * what kernels of the models become under what it found. bench/fit.sh calls it. */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpuc/devices.h>

#include "base/file.h"
#include "fit.h"

cli_quiet *bench_quiet; /* not asked: seconds of the processor do not depend on what else runs */

const gpuc_target *fit_target(gpuc_ctx *ctx, const fit *f, const gpuc_constants *constants)
{
    gpuc_target *t = gpuc_ctx_memdup(ctx, gpuc_target_parse(ctx, f->text, f->device), sizeof *t);
    if (constants) t->constants = constants;
    return t;
}

gpuc_graph *fit_graph(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_relay_pass_ctx passes = gpuc_build_passes(ctx, module, &options);
    gpuc_relay_pass_optimize(&passes);
    passes.target = target;
    gpuc_relay_pass_optimize_for_target(&passes);
    return gpuc_compile_graph_create(ctx, module, target, gpuc_build_fallback(ctx, 1, &target));
}

/* ---- Trials ---- */

static void note(void *user, const char *text)
{
    snprintf(user, 512, "%s", text);
}

static gpuc_bytes build(gpuc_ctx *ctx, const gpuc_graph_function *function, const gpuc_target *target,
                        const gpuc_config *config)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_report report;
    char misfit[512] = "";
    gpuc_buf out;
    options.num_threads = 1;
    options.warning = note;
    options.warning_user = misfit;
    if (config) {
        gpuc_tuning *tuning = gpuc_compile_tuning_create(ctx);
        gpuc_tuned tuned = {.config = config, .source = "gpuc-fit"};
        gpuc_compile_tuning_add(ctx, tuning, function->workload, gpuc_target_text(ctx, target), &tuned);
        options.tuning = tuning;
    }
    gpuc_buf_init(&out, ctx->allocator);
    gpuc_build_function_bytes(ctx, gpuc_compile_clone_function(ctx, function->f), target, &options, &out,
                              &report);
    if (config && !report.num_tuned) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s", misfit);
    gpuc_bytes bytes = {.data = gpuc_ctx_memdup(ctx, out.data, out.size), .size = out.size};
    gpuc_buf_deinit(&out);
    return bytes;
}

static gpuc_status run(fit_trial *t, int count)
{
    for (int i = 0; i < count; i++) {
        GPUC_TRY(gpuc_session_run(t->session));
        GPUC_TRY(gpuc_session_sync(t->session));
    }
    return NULL;
}

enum { OPEN = 16 }; /* a size that only a run knows */

/* Integers are 0, so that they are indices of anything. */
static gpuc_status feed(const fit *f, fit_trial *t)
{
    for (int i = 0; i < gpuc_model_num_inputs(t->model); i++) {
        gpuc_tensor_info info = gpuc_model_input(t->model, i);
        bench_shape s = {.dtype = info.dtype, .ndim = info.ndim, .below = 1};
        gpuc_ndarray *array;
        if ((size_t)info.ndim > BENCH_COUNT(s.dims))
            return gpuc_fail(GPUC_UNSUPPORTED, "an input has %d dimensions", info.ndim);
        for (int k = 0; k < info.ndim; k++) s.dims[k] = info.dims[k] < 0 ? OPEN : info.dims[k];
        void *data = calloc(1, bench_bytes(&s) + 1);
        if (!data) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for data");
        if (gpuc_is_float(s.dtype)) bench_fill(&s, i, 0, data);
        gpuc_status status = gpuc_ndarray_create(f->rt, f->device, s.dtype, s.ndim, s.dims, &array);
        if (!status) {
            status = gpuc_ndarray_write(array, data, bench_bytes(&s));
            if (!status) status = gpuc_session_set_input(t->session, i, array);
            gpuc_ndarray_release(array);
        }
        free(data);
        GPUC_TRY(status);
    }
    return NULL;
}

void fit_add(gpuc_ctx *ctx, const fit *f, fit_trials *trials, const gpuc_graph_function *function,
             const gpuc_target *target, const gpuc_config *config)
{
    GPUC_CHECK(trials->n < FIT_TRIALS);
    gpuc_bytes bytes = build(ctx, function, target, config);
    fit_trial *t = &trials->at[trials->n++];
    *t = (fit_trial){.count = 1};
    for (int b = 0; b <= FIT_BATCHES; b++) t->seconds[b] = INFINITY;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.bytes = bytes.data;
    desc.size = bytes.size;
    desc.device = f->device;
    desc.allow_native_code = true;
    GPUC_RAISE_IF(ctx, gpuc_model_load(f->rt, &desc, &t->model));
    GPUC_RAISE_IF(ctx, gpuc_session_create(t->model, &t->session));
    GPUC_RAISE_IF(ctx, feed(f, t));
    GPUC_RAISE_IF(ctx, run(t, 1));
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double sample(gpuc_ctx *ctx, fit_trial *t)
{
    double from = processor_seconds();
    GPUC_RAISE_IF(ctx, run(t, t->count));
    return (processor_seconds() - from) / t->count;
}

void fit_measure(gpuc_ctx *ctx, fit_trials *trials)
{
    enum { SAMPLES = 6, MAX_RUNS = 1 << 14 };
    const double enough = 4e-3;
    for (int i = 0; i < trials->n; i++) {
        fit_trial *t = &trials->at[i];
        while (sample(ctx, t) * t->count < enough && t->count < MAX_RUNS) t->count *= 2;
    }
    for (int k = 0; k < SAMPLES * FIT_BATCHES; k++) {
        for (int i = 0; i < trials->n; i++) {
            fit_trial *t = &trials->at[k % 2 ? trials->n - 1 - i : i];
            double s = sample(ctx, t), *batch = &t->seconds[k % FIT_BATCHES], *all = &t->seconds[FIT_BATCHES];
            if (s < *batch) *batch = s;
            if (s < *all) *all = s;
        }
    }
}

void fit_close(fit_trials *trials)
{
    for (int i = 0; i < trials->n; i++) {
        gpuc_session_release(trials->at[i].session);
        gpuc_model_release(trials->at[i].model);
    }
    trials->n = 0;
}

/* ---- Results ---- */

bool fit_wants(const fit *f, gpuc_constant_id id)
{
    const gpuc_constant_info *info = &gpuc_target_constant_infos[id];
    return info->fitted && gpuc_target_constant_get(&f->old, id) != 0 &&
           (!f->only || strstr(info->name, f->only));
}

void fit_print(fit *f, gpuc_constant_id id, double value, const char *spread)
{
    gpuc_target_constant_set(&f->new, id, value);
    printf("%-28s %8.7g %8.7g   %-16s %s\n", gpuc_target_constant_infos[id].name,
           gpuc_target_constant_get(&f->old, id), round(gpuc_target_constant_get(&f->new, id) * 1e3) * 1e-3,
           spread, gpuc_target_constant_infos[id].unit);
    fflush(stdout);
}

static bool set(fit *f, const char *text)
{
    const char *equals = strchr(text, '=');
    for (int i = 0; equals && i < GPUC_CONSTANT_COUNT; i++) {
        const char *name = gpuc_target_constant_infos[i].name;
        if (strlen(name) != (size_t)(equals - text) || strncmp(name, text, strlen(name))) continue;
        gpuc_target_constant_set(&f->new, (gpuc_constant_id)i, atof(equals + 1));
        return true;
    }
    return false;
}

static void open_target(gpuc_ctx *ctx, void *arg)
{
    fit *f = arg;
    bench_subject s = {.rt = f->rt, .target = f->text};
    const gpuc_target *t = bench_open(ctx, &s, &f->device);
    f->lanes = gpuc_target_lanes_are_threads(t);
    f->old = f->new = *t->constants;
}

static const char usage[] =
    "usage: gpuc-fit [--only WORD] [--set NAME=VALUE]... TARGET [MODEL]...\n"
    "  --only WORD       measure what has WORD in its name\n"
    "  --set NAME=VALUE  compare models with this value; nothing is measured then\n"
    "  --verbose         each trial too\n"
    "  MODEL             ONNX: count its kernels whose schedule differs, and time them\n";

static gpuc_status work(fit *f, int argc, char **argv, int num_sets, char *const *sets)
{
    gpuc_ctx *ctx;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, open_target, f);
    gpuc_ctx_destroy(ctx);
    GPUC_TRY(status);
    for (int i = 0; i < num_sets; i++)
        if (!set(f, sets[i])) return gpuc_fail(GPUC_INVALID_ARGUMENT, "no constant is set by '%s'", sets[i]);
    printf("%s\n%-28s %8s %8s   %-16s %s\n", f->text, "constant", "old", "new", "spread", "unit");
    if (!num_sets) {
        fit_tiles(f);
        fit_sweeps(f);
    }
    return fit_compare(f, argc, argv);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"only", required_argument, NULL, 'o'},
                                            {"set", required_argument, NULL, 's'},
                                            {"verbose", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    char *sets[GPUC_CONSTANT_COUNT];
    int num_sets = 0;
    fit f = {.rt = NULL};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'o') {
            f.only = optarg;
        } else if (c == 's' && num_sets < GPUC_CONSTANT_COUNT) {
            sets[num_sets++] = optarg;
        } else if (c == 'v') {
            f.verbose = true;
        } else {
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return 2;
    }
    f.text = argv[optind++];
    gpuc_file_open_standard();
    /* One thread each, and nothing of it kept: before any driver is loaded. */
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    setenv("LP_NUM_THREADS", "1", 1);
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.num_threads = 1;
    gpuc_status status = gpuc_runtime_create(&desc, &f.rt);
    if (!status) status = gpuc_devices_register(f.rt);
    if (!status) status = work(&f, argc - optind, argv + optind, num_sets, sets);
    if (status) fprintf(stderr, "gpuc-fit: %s\n", gpuc_status_message(status));
    int code = status ? 1 : 0;
    gpuc_status_release(status);
    gpuc_runtime_release(f.rt);
    return code;
}
