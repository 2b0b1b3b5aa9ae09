/* SPDX-License-Identifier: Apache-2.0 */
/* A function alone, as a package. */
#include <gpuc/tune.h>

#include <stdio.h>

#include "compile/program.h"
#include "compile/template.h"
#include "compile/tuning.h"

static void note_misfit(void *user, const char *text)
{
    char *misfit = user;
    snprintf(misfit, 512, "%s", text);
}

static void deinit(void *buf)
{
    gpuc_buf_deinit(buf);
}

/* A function of this context as a package. */
static gpuc_bytes build(gpuc_ctx *ctx, const gpuc_rfunction *f, const char *workload,
                        const gpuc_target *target, const gpuc_config *config)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_report report;
    char misfit[512] = "";
    gpuc_buf *out = gpuc_new(ctx, gpuc_buf);
    options.num_threads = 1;
    if (config) {
        gpuc_tuning *tuning = gpuc_compile_tuning_create(ctx);
        gpuc_tuned tuned = {.config = config, .source = "the search"};
        gpuc_compile_tuning_add(ctx, tuning, workload, gpuc_target_text(ctx, target), &tuned);
        options.tuning = tuning;
        options.warning = note_misfit;
        options.warning_user = misfit;
    }
    gpuc_buf_init(out, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, deinit, out);
    gpuc_build_function_bytes(ctx, f, target, &options, out, &report);
    if (config && report.num_tuned == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s", *misfit ? misfit : "the function changed");
    gpuc_bytes bytes = {.data = gpuc_ctx_memdup(ctx, out->data, out->size), .size = out->size};
    gpuc_ctx_pop_cleanup(ctx, true);
    return bytes;
}

static void check_config(gpuc_ctx *ctx, const gpuc_config *c)
{
    bool listed = c->n >= 0 && (c->n == 0 || c->at);
    for (int i = 0; listed && i < c->n; i++) listed = c->at[i].name != NULL;
    if (!listed)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "a configuration has %d values, a list that is NULL, or a knob whose "
                   "name is NULL",
                   c->n);
}

gpuc_bytes gpuc_tune_build(gpuc_ctx *ctx, const gpuc_tune_task *task, const gpuc_target *target,
                           const gpuc_config *config)
{
    if (config) check_config(ctx, config);
    return build(ctx, gpuc_compile_clone_function(ctx, task->f), task->workload, target, config);
}

gpuc_bytes gpuc_tune_build_reference(gpuc_ctx *ctx, const gpuc_tune_task *task, const gpuc_target *target)
{
    const gpuc_template_row *row = gpuc_compile_template_of(task->f);
    if (!row) return gpuc_tune_build(ctx, task, target, NULL);
    const gpuc_rfunction *own = gpuc_compile_clone_function(ctx, task->f);
    const gpuc_rfunction *f =
        gpuc_compile_template_function(ctx, row->of, gpuc_as_rcall(own->body)->attrs, target, true);
    return build(ctx, f, task->workload, target, NULL);
}
