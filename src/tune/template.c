/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: their place in the registry, the tasks that they are, and functions made of them with what was found. */
#include <stdio.h>
#include <string.h>

#include "base/require.h"
#include "compile/template.h"
#include "compile/tuning.h"
#include "op/entries.h"
#include "op/op.h"
#include "runtime/services.h"
#include "tune/log.h"
#include "tune/task.h"

#define PREFIX "tune.template." /* of their names in the registry */

/* ---- The registry ---- */

static gpuc_status check_template(const gpuc_tune_template *t)
{
    if (!t) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the template is NULL");
    if (!t->name || strlen(t->name) >= GPUC_OP_NAME || !gpuc_op_entry_is_name(t->name))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "'%.80s' is no name for a template of at most %d letters: " GPUC_OP_ENTRY_NAME,
                         t->name ? t->name : "", GPUC_OP_NAME - 1);
    if (!t->body) return gpuc_fail(GPUC_INVALID_ARGUMENT, "template '%s' has no body", t->name);
    for (const gpuc_attr_spec *p = t->params; p && p->name; p++)
        if (p->take)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "template '%s': parameter '%s' has another spelling, which templates have not",
                             t->name, p->name);
    return gpuc_error_prefix(gpuc_op_entry_check_attrs(t->params), "template '%s'", t->name);
}

gpuc_status gpuc_tune_template_register(gpuc_runtime *rt, const gpuc_tune_template *t)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(t);
    char full[sizeof PREFIX + GPUC_OP_NAME];
    GPUC_TRY(check_template(t));
    snprintf(full, sizeof full, PREFIX "%s", t->name);
    if (gpuc_registry_get(rt, full))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "there is a template '%s' already", t->name);
    return gpuc_op_entry_add(rt, full, t);
}

const gpuc_tune_template *gpuc_tune_template_at(gpuc_ctx *ctx, size_t i)
{
    const gpuc_tune_template *t;
    size_t at = 0;
    while (ctx->runtime && (t = gpuc_op_entry_next(ctx->runtime, PREFIX, &at)))
        if (i-- == 0) return t;
    return NULL;
}

size_t gpuc_tune_template_count(gpuc_ctx *ctx)
{
    size_t n = 0;
    while (gpuc_tune_template_at(ctx, n)) n++;
    return n;
}

const gpuc_tune_template *gpuc_tune_template_get(gpuc_ctx *ctx, const char *name)
{
    const gpuc_tune_template *t;
    gpuc_ptrs names = {0};
    if (!name) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the name of a template is NULL");
    for (size_t i = 0; (t = gpuc_tune_template_at(ctx, i)); i++) {
        if (!strcmp(t->name, name)) return t;
        gpuc_ptrs_push(ctx, &names, (void *)t->name);
    }
    const char *nearest = gpuc_suggest(name, (const char *const *)names.at, names.count);
    gpuc_raise(ctx, GPUC_NOT_FOUND, "there is no template '%s'%s%s%s", name,
               nearest ? "; the nearest is '" : "", nearest ? nearest : "",
               nearest       ? "'"
               : names.count ? ""
                             : ": nobody registered one");
}

/* ---- Tasks ---- */

const gpuc_attrs *gpuc_tune_template_params(gpuc_ctx *ctx, const gpuc_tune_template *t, const char *text)
{
    GPUC_RAISE_IF(ctx, check_template(t));
    const gpuc_op *row = &gpuc_compile_template_row(ctx, t, false)->op;
    const gpuc_attrs *given = text && *text ? gpuc_op_parse_row_attrs(ctx, row, text) : NULL;
    return gpuc_op_complete_attrs(ctx, row, given);
}

static gpuc_tune_task task_of(gpuc_ctx *ctx, const gpuc_tune_template *t, const gpuc_attrs *params,
                              const gpuc_target *target)
{
    int num_knobs = 0;
    GPUC_RAISE_IF(ctx, check_template(t));
    gpuc_rfunction *f = gpuc_compile_template_function(ctx, t, params, target, false);
    if (!gpuc_tune_has_fixed_sizes(f))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "template '%s' has sizes that are known at run time only: what is tuned has numbers",
                   t->name);
    if (gpuc_relay_pass_function_needs_fallback(ctx, target, f))
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "template '%s': target '%s' does not compute in all of its types",
                   t->name, gpuc_target_text(ctx, target));
    GPUC_RAISE_IF(ctx, gpuc_tune_count_knobs(ctx, target, f, &num_knobs));
    if (num_knobs == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "template '%s' has an empty space: its schedule for '%s' asks for no knob", t->name,
                   gpuc_target_text(ctx, target));
    return (gpuc_tune_task){.f = f,
                            .workload = gpuc_compile_workload(ctx, f),
                            .text = gpuc_tune_task_text(ctx, t->name, f),
                            .uses = 1};
}

static void start(gpuc_ctx *ctx, const gpuc_target *target, int max, gpuc_tune_task **at,
                  gpuc_tune_tasks *out)
{
    if (!target) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "tasks of templates: the target is NULL");
    *at = gpuc_new_array(ctx, gpuc_tune_task, max);
    *out = (gpuc_tune_tasks){.target = target, .target_text = gpuc_target_text(ctx, target), .at = *at};
}

static void add(gpuc_tune_tasks *out, gpuc_tune_task *at, gpuc_tune_task task)
{
    for (int i = 0; i < out->n; i++)
        if (!strcmp(at[i].workload, task.workload)) return;
    at[out->n++] = task;
}

void gpuc_tune_extract_template(gpuc_ctx *ctx, const gpuc_tune_template *t, const gpuc_attrs *params,
                                const gpuc_target *target, gpuc_tune_tasks *out)
{
    gpuc_tune_task *at;
    start(ctx, target, 1, &at, out);
    add(out, at, task_of(ctx, t, params, target));
}

/* "name" or "name(n=1024)" */
static gpuc_tune_task task_of_text(gpuc_ctx *ctx, const char *text, const gpuc_target *target)
{
    size_t n = strcspn(text, "("), end = strlen(text);
    if (text[n] && text[end - 1] != ')')
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' is no template: write NAME or 'NAME(n=64, ...)'", text);
    const gpuc_tune_template *t = gpuc_tune_template_get(ctx, gpuc_ctx_printf(ctx, "%.*s", (int)n, text));
    const char *params = text[n] ? gpuc_ctx_printf(ctx, "%.*s", (int)(end - n - 2), text + n + 1) : NULL;
    return task_of(ctx, t, gpuc_tune_template_params(ctx, t, params), target);
}

void gpuc_tune_extract_templates(gpuc_ctx *ctx, int n, const char *const *texts, const gpuc_target *target,
                                 gpuc_tune_tasks *out)
{
    gpuc_tune_task *at;
    const gpuc_tune_template *t;
    size_t all = gpuc_tune_template_count(ctx);
    bool listed = n <= 0 || texts;
    for (int i = 0; listed && i < n; i++) listed = texts[i] != NULL;
    if (n < 0 || !listed)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "tasks of templates: %s",
                   n < 0 ? "their number is negative" : "their list, or one of it, is NULL");
    if (n == 0 && all == 0) gpuc_raise(ctx, GPUC_NOT_FOUND, "there is no template: nobody registered one");
    start(ctx, target, n ? n : (int)all, &at, out);
    for (int i = 0; i < n; i++) add(out, at, task_of_text(ctx, texts[i], target));
    for (size_t i = 0; n == 0 && (t = gpuc_tune_template_at(ctx, i)); i++)
        add(out, at, task_of(ctx, t, NULL, target));
}

/* ---- Functions ---- */

typedef struct making {
    const gpuc_rfunction *f;
    const char *name;
    const gpuc_target *target;
    const gpuc_config *config;
    gpuc_tir_func *out;
} making;

static void make(gpuc_ctx *ctx, void *arg)
{
    making *m = arg;
    gpuc_tune_call c;
    gpuc_knobs knobs = {.ctx = ctx, .config = m->config};
    gpuc_tensor *args[2 * GPUC_TUNE_MAX_TENSORS];
    gpuc_compile_template_run(ctx, m->f, m->target, &knobs, &c);
    gpuc_knobs_check(&knobs);
    memcpy(args, c.in, sizeof *args * (size_t)c.num_in);
    memcpy(args + c.num_in, c.out, sizeof *args * (size_t)c.num_out);
    m->out = gpuc_schedule_lower(c.schedule, m->name, c.num_in + c.num_out, args);
}

/* The name of a C function. */
static const char *function_name(gpuc_ctx *ctx, const char *name)
{
    char *out = gpuc_ctx_strdup(ctx, name);
    for (char *p = out; *p; p++)
        if (*p == '.') *p = '_';
    return out;
}

gpuc_tir_func *gpuc_tune_func(gpuc_ctx *ctx, const gpuc_tune_template *t, const gpuc_attrs *params,
                              const gpuc_target *target, const gpuc_tuning *tuning,
                              const gpuc_tune_warnings *warnings)
{
    if (!target) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a function of a template: the target is NULL");
    GPUC_RAISE_IF(ctx, check_template(t));
    making m = {.f = gpuc_compile_template_function(ctx, t, params, target, false),
                .name = function_name(ctx, t->name),
                .target = target};
    const gpuc_tuned *tuned =
        gpuc_compile_tuning_find(ctx, tuning, gpuc_compile_workload(ctx, m.f), gpuc_target_text(ctx, target));
    m.config = tuned ? tuned->config : NULL;
    gpuc_status status = gpuc_ctx_protect(ctx, make, &m);
    if (status && tuned) {
        gpuc_tune_warn(warnings, ctx, "%s: the record of template '%s' does not fit, and is left out: %s",
                       tuned->source, t->name, gpuc_status_message(status));
        gpuc_status_release(status);
        m.config = NULL;
        status = gpuc_ctx_protect(ctx, make, &m);
    }
    GPUC_RAISE_IF(ctx, status);
    return m.out;
}
