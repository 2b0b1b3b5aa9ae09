/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the module for one target: graph, lowered functions, memory plan, code. */
#include "compile/program.h"

#include <string.h>

#include "compile/build_code.h"

static void warn_misfit(gpuc_ctx *ctx, const gpuc_graph_function *f, const char *why,
                        const gpuc_build_options *options)
{
    gpuc_buf config;
    if (!options->warning) return;
    gpuc_buf_init(&config, ctx->allocator);
    gpuc_config_print(&config, f->tuned->config);
    const char *text = gpuc_ctx_printf(
        ctx, "%s: the record of %s (workload %s, config %s) does not fit, its default schedule is used: %s",
        f->tuned->source, f->label, f->workload, gpuc_buf_cstr(&config), why);
    gpuc_buf_deinit(&config);
    options->warning(options->warning_user, text);
}

/* Warns if the tuning log has nothing for this target: it is probably that of another device or of other
 * options. */
static void check_target(gpuc_ctx *ctx, const char *target, const gpuc_build_options *options)
{
    const gpuc_tuning *t = options->tuning;
    if (!t || !options->warning || gpuc_strmap_has(&t->targets, target)) return;
    const char *others = "";
    for (uint32_t i = 0; i < t->targets.map.count; i++)
        others = gpuc_ctx_printf(ctx, "%s%s'%s'", others, i ? ", " : "; it has some for ",
                                 (const char *)t->targets.map.entries[i].key);
    options->warning(options->warning_user,
                     gpuc_ctx_printf(ctx, "the tuning log has no record for target '%s'%s", target, others));
}

static void lower_all(gpuc_ctx *ctx, gpuc_graph *g, const gpuc_build_options *options)
{
    int n = (int)g->functions.count;
    gpuc_lower_task *tasks = gpuc_new_array(ctx, gpuc_lower_task, n);
    const char *targets[] = {gpuc_target_text(ctx, g->target), gpuc_target_text(ctx, g->fallback)};
    check_target(ctx, targets[0], options);
    for (int i = 0; i < n; i++) {
        gpuc_graph_function *f = g->functions.at[i];
        f->tuned = gpuc_compile_tuning_find(ctx, options->tuning, f->workload, targets[f->device]);
        tasks[i] = (gpuc_lower_task){
            .target = gpuc_graph_target(g, f->device),
            .f = f->f,
            .name = f->name,
            .label = f->label,
            .placed = f->placed,
            .place = f->place,
            .images = f->images,
            .config = f->tuned ? f->tuned->config : NULL,
        };
    }
    gpuc_compile_lower_functions(ctx, n, tasks, options);
    for (int i = 0; i < n; i++) {
        gpuc_graph_function *f = g->functions.at[i];
        f->lowered = tasks[i].lowered;
        if (!tasks[i].misfit) continue;
        warn_misfit(ctx, f, tasks[i].misfit, options);
        f->tuned = NULL;
    }
}

/* Constants are written from where they lie; another target that folds them away leaves them alone. */
static void list_weights(gpuc_ctx *ctx, gpuc_graph *g, gpuc_program *out)
{
    const void **data = gpuc_new_array(ctx, const void *, g->weights.count + 1);
    for (size_t i = 0; i < g->weights.count; i++)
        data[i] =
            gpuc_relay_const_data_retain(((gpuc_graph_weight *)g->weights.at[i])->constant->data)->bytes;
    out->weight_data = data;
    out->weights_size = g->weight_bytes;
}

/* ---- Code ---- */

typedef struct link_arg {
    const gpuc_target *target;
    int n;
    const gpuc_kernel_code *code;
    gpuc_linked *out;
} link_arg;

static void run_link(gpuc_ctx *ctx, void *arg)
{
    link_arg *a = arg;
    gpuc_compile_link(ctx, a->target, a->n, a->code, a->out);
}

/* Names, for messages, operators that the program's own target does not run. */
static const char *why_helped(gpuc_graph *g)
{
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_graph_function *f = g->functions.at[i];
        if (f->device)
            return gpuc_ctx_printf(
                g->ctx, "%s: target %s does not run it, or does not compute in its types; it runs on %s",
                f->label, gpuc_target_text(g->ctx, g->target), gpuc_target_text(g->ctx, g->fallback));
    }
    return "";
}

static void *join(gpuc_ctx *ctx, const void *a, int num_a, const void *b, int num_b, size_t item)
{
    char *out = gpuc_ctx_alloc_array(ctx, (size_t)num_a + (size_t)num_b + 1, item);
    if (num_a) memcpy(out, a, (size_t)num_a * item);
    if (num_b) memcpy(out + (size_t)num_a * item, b, (size_t)num_b * item);
    return out;
}

/* Modules of one device behind those that there are; kernels keep their numbers. */
static void link_device(gpuc_graph *g, uint32_t device, const gpuc_kernel_code *code, const uint32_t *devices,
                        uint32_t n, gpuc_linked *all, uint32_t *kernel_module)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_kernel_code *own = gpuc_new_array(ctx, gpuc_kernel_code, n);
    gpuc_linked linked = {0};
    link_arg arg = {.target = gpuc_graph_target(g, device), .code = own, .out = &linked};
    for (uint32_t i = 0; i < n; i++)
        if (devices[i] == device) own[arg.n++] = code[i];
    gpuc_status status = gpuc_ctx_protect(ctx, run_link, &arg);
    if (status) gpuc_ctx_raise_status(ctx, device ? gpuc_error_prefix(status, "%s", why_helped(g)) : status);
    for (uint32_t i = 0, at = 0; i < n; i++)
        if (devices[i] == device) kernel_module[i] = (uint32_t)all->num_modules + linked.kernel_module[at++];
    all->modules =
        join(ctx, all->modules, all->num_modules, linked.modules, linked.num_modules, sizeof *all->modules);
    all->files = join(ctx, all->files, all->num_files, linked.files, linked.num_files, sizeof *all->files);
    all->file_names = join(ctx, all->file_names, all->num_files, linked.file_names, linked.num_files,
                           sizeof *all->file_names);
    all->requirements = join(ctx, all->requirements, all->num_requirements, linked.requirements,
                             linked.num_requirements, sizeof *all->requirements);
    all->num_requirements += linked.num_requirements;
    all->num_modules += linked.num_modules;
    all->num_files += linked.num_files;
}

void gpuc_build_program(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                        const gpuc_target *fallback, const gpuc_build_options *options,
                        gpuc_built_program *out)
{
    memset(out, 0, sizeof *out);
    gpuc_graph *g = gpuc_compile_graph_create(ctx, m, target, fallback);
    out->graph = g;
    lower_all(ctx, g, options);
    gpuc_compile_graph_plan(g);
    uint32_t n = g->num_kernels, at = 0;
    gpuc_kernel_code *code = gpuc_new_array(ctx, gpuc_kernel_code, n);
    uint32_t *devices = gpuc_new_array(ctx, uint32_t, n), *modules = gpuc_new_array(ctx, uint32_t, n);
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_graph_function *f = g->functions.at[i];
        for (int k = 0; k < f->lowered->num_kernels; k++, at++) {
            code[at] = f->lowered->kernels[k].code;
            devices[at] = f->device;
        }
    }
    if (options->progress) options->progress(options->progress_user, "linking kernels", 0, 0);
    for (uint32_t d = 0; d < (g->uses_fallback ? 2 : 1); d++)
        link_device(g, d, code, devices, n, &out->linked, modules);
    out->linked.kernel_module = modules;
    gpuc_kernel *kernels = gpuc_new_array(ctx, gpuc_kernel, n);
    for (uint32_t i = 0; i < n; i++) {
        kernels[i] = code[i].meta;
        kernels[i].module = modules[i];
    }
    gpuc_program *p = &out->program;
    p->target = gpuc_target_text(ctx, target);
    p->device_type = gpuc_target_device_type(target);
    p->num_kernels = n;
    p->kernels = kernels;
    p->num_modules = (uint32_t)out->linked.num_modules;
    p->modules = out->linked.modules;
    gpuc_compile_graph_to_exec(g, &p->exec);
    gpuc_compile_program_requirements(g, &out->linked, options, p);
    list_weights(ctx, g, p);
}
