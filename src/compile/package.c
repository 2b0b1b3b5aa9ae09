/* SPDX-License-Identifier: Apache-2.0 */
/* A Relay module -> one package with a program per target. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "compile/image.h"
#include "compile/program.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void signature_tensor(gpuc_ctx *ctx, const char *name, const gpuc_rtype *type,
                             gpuc_signature_tensor *out)
{
    const gpuc_tensor_type *t = &type->tensor;
    int64_t *dims = gpuc_new_array(ctx, int64_t, t->ndim);
    const char **names = gpuc_new_array(ctx, const char *, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        names[i] = "";
        if (t->dims[i] && gpuc_expr_is_int(t->dims[i], &dims[i])) continue;
        dims[i] = -1;
        names[i] = t->dims[i] ? gpuc_expr_text(ctx, t->dims[i]) : "?";
    }
    *out = (gpuc_signature_tensor){
        .name = name,
        .dtype = t->dtype,
        .ndim = (uint32_t)t->ndim,
        .dims = dims,
        .dim_names = names,
    };
}

static void default_value(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_signature_tensor *t)
{
    gpuc_rexpr *e = gpuc_strmap_get(&m->defaults, t->name);
    if (!e) return;
    gpuc_const_data *data = gpuc_relay_const_data_retain(gpuc_as_rconstant(e)->data);
    int64_t *dims = gpuc_new_array(ctx, int64_t, t->ndim);
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(e), dims);
    t->value = data->size ? data->bytes : "";
    t->value_dims = dims;
    t->value_bytes = data->size;
}

static gpuc_signature make_signature(gpuc_ctx *ctx, const gpuc_rmodule *m)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    bool tuple = f->body->type->kind == GPUC_RTYPE_TUPLE;
    int num_outputs = gpuc_rmodule_num_outputs(m);
    gpuc_signature_tensor *in = gpuc_new_array(ctx, gpuc_signature_tensor, f->n);
    gpuc_signature_tensor *out = gpuc_new_array(ctx, gpuc_signature_tensor, num_outputs);
    for (int i = 0; i < f->n; i++) {
        signature_tensor(ctx, gpuc_as_rvar(f->params[i])->name, f->params[i]->type, &in[i]);
        default_value(ctx, m, &in[i]);
        in[i].image = gpuc_image_of(&m->input_images, in[i].name);
    }
    for (int i = 0; i < num_outputs; i++) {
        const char *name = gpuc_rmodule_output_name(m, i);
        signature_tensor(ctx, name, tuple ? f->body->type->at[i] : f->body->type, &out[i]);
        out[i].image = gpuc_image_of(&m->output_images, name);
    }
    return (gpuc_signature){
        .num_inputs = (uint32_t)f->n,
        .num_outputs = (uint32_t)num_outputs,
        .inputs = in,
        .outputs = out,
    };
}

static gpuc_strmap copy_functions(gpuc_ctx *ctx, const gpuc_strmap *from)
{
    gpuc_strmap out;
    gpuc_strmap_init(&out, ctx);
    for (uint32_t i = 0; i < from->map.count; i++)
        gpuc_strmap_set(&out, from->map.entries[i].key, from->map.entries[i].value);
    return out;
}

const gpuc_target *gpuc_build_fallback(gpuc_ctx *ctx, int n, const gpuc_target *const *targets)
{
    for (int i = 0; i < n; i++)
        if (gpuc_target_device_type(targets[i]) == GPUC_DEVICE_CPU &&
            gpuc_target_computes(targets[i], GPUC_FLOAT64) && !targets[i]->kind->runs)
            return gpuc_target_level(ctx, targets[i], gpuc_target_num_levels(targets[i]) - 1);
    return gpuc_target_parse(ctx, "c", NULL);
}

/* The targets of the programs: those that list levels become one for each. */
static const gpuc_target *const *each_level(gpuc_ctx *ctx, const gpuc_target *const *targets, int *in_out_n)
{
    int n = 0, count = 0;
    for (int i = 0; i < *in_out_n; i++) n += gpuc_target_num_levels(targets[i]);
    const gpuc_target **out = gpuc_new_array(ctx, const gpuc_target *, n);
    for (int i = 0; i < *in_out_n; i++)
        for (int k = 0; k < gpuc_target_num_levels(targets[i]); k++)
            out[count++] = gpuc_target_level(ctx, targets[i], k);
    *in_out_n = n;
    return out;
}

static const char *emit_subdir(gpuc_ctx *ctx, const char *dir, int num_targets, int i, const char *target)
{
    if (num_targets == 1) return dir;
    char *name = gpuc_ctx_printf(ctx, "%s/%d-%s", dir, i, target);
    for (char *c = name + strlen(dir) + 1; *c; c++)
        if (*c == '/' || *c == ' ') *c = '_';
    return name;
}

/* ---- Provenance ---- */

/* "kernel 0 conv2d_3: {...} from NAME" of those that do not come from the default schedule. */
static void note_kernels(gpuc_buf *out, int program, const gpuc_graph *g)
{
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_graph_function *f = g->functions.at[i];
        for (int k = 0; f->tuned && k < f->lowered->num_kernels; k++) {
            gpuc_buf_printf(out, "kernel %d %s: ", program, f->lowered->kernels[k].code.meta.name);
            gpuc_config_print(out, f->tuned->config);
            gpuc_buf_printf(out, " from %s\n", f->tuned->source);
        }
    }
}

static const char *make_provenance(gpuc_ctx *ctx, const gpuc_build_options *options, int n,
                                   const gpuc_built_program *built)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_printf(&text, "model: %s\nlevel: %d\n", options->model_name ? options->model_name : "",
                    options->opt_level);
    for (int i = 0; i < n; i++) note_kernels(&text, i, built[i].graph);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

/* ---- Build ---- */

static void count_nodes(const gpuc_graph *g, gpuc_build_report *report)
{
    report->num_nodes += (int)g->nodes.count;
    for (size_t i = 0; i < g->nodes.count; i++) {
        const gpuc_graph_node *node = g->nodes.at[i];
        if (node->function == GPUC_NO_INDEX) continue;
        const gpuc_graph_function *f = g->functions.at[node->function];
        report->num_tuned += f->tuned != NULL;
        report->num_untuned += !f->tuned && f->lowered->num_knobs > 0;
    }
}

static void build_program(gpuc_ctx *ctx, const gpuc_rmodule *module, const gpuc_target *target,
                          const gpuc_target *fallback, const gpuc_build_options *options,
                          gpuc_built_program *out, gpuc_build_report *report)
{
    double start = now();
    gpuc_build_program(ctx, module, target, fallback, options, out);
    report->seconds_kernels += now() - start;
    report->num_kernels += (int)out->graph->steps.count;
    report->num_unique_kernels += (int)out->program.num_kernels;
    report->weight_bytes = out->program.weights_size;
    count_nodes(out->graph, report);
}

/* Writes the package to a file, or to memory if path is NULL. */
static void write(gpuc_ctx *ctx, gpuc_signature signature, int n, const gpuc_built_program *built,
                  const gpuc_build_options *options, const char *path, gpuc_buf *memory,
                  gpuc_build_report *report)
{
    gpuc_program *programs = gpuc_new_array(ctx, gpuc_program, n);
    for (int i = 0; i < n; i++) programs[i] = built[i].program;
    gpuc_package package = {
        .gpuc_version = GPUC_VERSION,
        .signature = signature,
        .num_programs = (uint32_t)n,
        .programs = programs,
        .provenance = make_provenance(ctx, options, n, built),
    };
    double start = now();
    GPUC_RAISE_IF(ctx, path ? gpuc_abi_package_write(ctx->pending, ctx->allocator, &package, path)
                            : gpuc_abi_package_append(&package, memory));
    report->seconds_write = now() - start;
}

gpuc_relay_pass_ctx gpuc_build_passes(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_build_options *options)
{
    for (int i = 0; i < options->num_disabled; i++) gpuc_relay_pass_need(ctx, options->disabled_passes[i]);
    return (gpuc_relay_pass_ctx){
        .ctx = ctx,
        .module = module,
        .opt_level = options->opt_level,
        .disabled = options->disabled_passes,
        .num_disabled = options->num_disabled,
        .fold_limit = options->fold_limit > 0 ? options->fold_limit : GPUC_RELAY_FOLD_LIMIT,
    };
}

typedef struct build_job {
    gpuc_rmodule *module;
    int num_targets;
    const gpuc_target *const *targets;
    const gpuc_build_options *options;
    const char *path; /* NULL: to memory */
    gpuc_buf *memory;
    gpuc_build_report report;
} build_job;

static void build_within(gpuc_ctx *ctx, void *arg)
{
    build_job *job = arg;
    gpuc_rmodule *module = job->module;
    const gpuc_build_options *options = job->options;
    const gpuc_target *const *targets = job->targets;
    int num_targets = job->num_targets;
    gpuc_build_report report = {0};
    gpuc_relay_pass_ctx passes = gpuc_build_passes(ctx, module, options);
    double start = now();
    if (options->progress) options->progress(options->progress_user, "folding and fusing", 0, 0);
    gpuc_relay_pass_optimize(&passes);
    gpuc_signature signature = make_signature(ctx, module);
    report.seconds_passes = now() - start;
    gpuc_strmap shared = module->functions;
    const gpuc_target *fallback = gpuc_build_fallback(ctx, num_targets, targets);
    targets = each_level(ctx, targets, &num_targets);
    gpuc_built_program *built = gpuc_new_array(ctx, gpuc_built_program, num_targets);
    for (int i = 0; i < num_targets; i++) {
        bool last = i + 1 == num_targets;
        module->functions = copy_functions(ctx, &shared);
        passes.target = targets[i];
        passes.keep_constants = !last;
        start = now();
        gpuc_relay_pass_optimize_for_target(&passes);
        report.seconds_passes += now() - start;
        build_program(ctx, module, targets[i], fallback, options, &built[i], &report);
        if (options->emit_dir)
            gpuc_compile_emit_program(
                ctx, &built[i], emit_subdir(ctx, options->emit_dir, num_targets, i, built[i].program.target));
    }
    write(ctx, signature, num_targets, built, options, job->path, job->memory, &report);
    job->report = report;
}

static gpuc_build_report build(gpuc_ctx *ctx, gpuc_rmodule *module, int num_targets,
                               const gpuc_target *const *targets, const gpuc_build_options *options,
                               const char *path, gpuc_buf *memory)
{
    build_job job = {module, num_targets, targets, options, path, memory, {0}};
    gpuc_relay_pass_within(ctx, build_within, &job);
    return job.report;
}

void gpuc_build_package(gpuc_ctx *ctx, gpuc_rmodule *module, int num_targets,
                        const gpuc_target *const *targets, const gpuc_build_options *options,
                        const char *path, gpuc_build_report *out_report)
{
    bool listed = targets != NULL;
    for (int i = 0; listed && i < num_targets; i++) listed = targets[i] != NULL;
    if (!module || !listed || !options || !path)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "building a package: the %s NULL",
                   !module    ? "module is"
                   : !listed  ? "list of targets, or one of them, is"
                   : !options ? "options are"
                              : "path is");
    if (options->opt_level < 0 || options->opt_level > 3)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "opt_level is %d, which is not 0 to 3", options->opt_level);
    if (options->num_threads < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "num_threads is %d, which is below 0", options->num_threads);
    gpuc_build_report report = build(ctx, module, num_targets, targets, options, path, NULL);
    if (out_report) *out_report = report;
}

void gpuc_build_package_bytes(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target, gpuc_buf *out)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    options.num_threads = 1;
    build(ctx, module, 1, &target, &options, NULL, out);
}

void gpuc_build_function_bytes(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_target *target,
                               const gpuc_build_options *options, gpuc_buf *out, gpuc_build_report *report)
{
    gpuc_rmodule *module = gpuc_rmodule_create(ctx);
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, f->n);
    for (int i = 0; i < f->n; i++)
        params[i] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "input%d", i), f->params[i]->type);
    gpuc_rexpr *call = gpuc_relay_call(ctx, (gpuc_rexpr *)f, NULL, f->n, params);
    call->type = f->body->type;
    gpuc_strmap_set(&module->functions, "main", gpuc_relay_function(ctx, f->n, params, call, NULL));
    gpuc_built_program *built = gpuc_new(ctx, gpuc_built_program);
    *report = (gpuc_build_report){0};
    build_program(ctx, module, target, gpuc_build_fallback(ctx, 1, &target), options, built, report);
    write(ctx, make_signature(ctx, module), 1, built, options, NULL, out, report);
}
