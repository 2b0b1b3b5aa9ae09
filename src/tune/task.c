/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the functions of a program that have something to tune. */
#include "tune/task.h"

#include <string.h>

#include "compile/template.h"
#include "op/op.h"

typedef struct asking {
    const gpuc_target *target;
    const gpuc_rfunction *f;
    gpuc_knobs knobs;
} asking;

static void ask(gpuc_ctx *ctx, void *arg)
{
    asking *a = arg;
    gpuc_compile_schedule_function(ctx, a->target, a->f, &a->knobs);
}

/* In a context of its own: schedules are large. */
gpuc_status gpuc_tune_count_knobs(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f, int *out)
{
    gpuc_ctx *scratch;
    GPUC_TRY(gpuc_ctx_create_child(ctx, &scratch));
    asking a = {.target = target, .knobs = {.ctx = scratch}};
    a.f = gpuc_compile_clone_function(scratch, f);
    gpuc_status status = gpuc_ctx_protect(scratch, ask, &a);
    *out = (int)a.knobs.asked.count;
    gpuc_ctx_destroy(scratch);
    return status;
}

/* A function that cannot be scheduled is an error, as it is when building. */
static bool has_knobs(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_graph_function *f)
{
    int n;
    gpuc_status status = gpuc_tune_count_knobs(ctx, target, f->f, &n);
    GPUC_RAISE_IF(ctx, gpuc_error_prefix(status, "%s", f->label));
    return n > 0;
}

static bool is_fixed(const gpuc_rtype *t)
{
    bool fixed = true;
    int64_t d;
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++) fixed &= is_fixed(t->at[i]);
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++)
        fixed &= gpuc_expr_is_int(t->tensor.dims[i], &d);
    return fixed;
}

bool gpuc_tune_has_fixed_sizes(const gpuc_rfunction *f)
{
    bool fixed = is_fixed(f->body->type);
    for (int i = 0; i < f->n; i++) fixed &= is_fixed(f->params[i]->type);
    return fixed;
}

/* Parameters of a template behind its tensors. */
static void print_params(gpuc_ctx *ctx, gpuc_buf *text, const gpuc_rfunction *f)
{
    const gpuc_attrs *params = gpuc_as_rcall(f->body)->attrs;
    if (!params || params->count == 0) return;
    if (f->n) gpuc_buf_str(text, ", ");
    gpuc_op_attrs_print(ctx, text, params, false);
}

const char *gpuc_tune_task_text(gpuc_ctx *ctx, const char *label, const gpuc_rfunction *f)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_printf(&text, "%s(", label);
    for (int i = 0; i < f->n; i++) {
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(f->params[i]);
        char dtype[24];
        gpuc_buf_printf(&text, "%s%s[", i ? ", " : "", gpuc_dtype_name(t->dtype, dtype));
        for (int d = 0; d < t->ndim; d++)
            gpuc_buf_printf(&text, "%s%s", d ? "," : "", gpuc_expr_text(ctx, t->dims[d]));
        gpuc_buf_str(&text, "]");
    }
    if (gpuc_compile_template_of(f)) print_params(ctx, &text, f);
    gpuc_buf_str(&text, ")");
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

static int count_uses(const gpuc_graph *g, size_t function)
{
    int n = 0;
    for (size_t i = 0; i < g->nodes.count; i++)
        n += ((const gpuc_graph_node *)g->nodes.at[i])->function == function;
    return n;
}

/* A function that stores its result into a part of something larger is tuned as it is alone. */
static gpuc_tune_task *find(gpuc_tune_tasks *t, gpuc_tune_task *tasks, const char *workload)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(tasks[i].workload, workload)) return &tasks[i];
    return NULL;
}

static void run_passes(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_pass_ctx *p = arg;
    const gpuc_target *target = p->target;
    (void)ctx;
    p->target = NULL; /* in the part that all targets share */
    gpuc_relay_pass_optimize(p);
    p->target = target;
    gpuc_relay_pass_optimize_for_target(p);
}

void gpuc_tune_extract(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target,
                       const gpuc_build_options *options, gpuc_tune_tasks *out)
{
    gpuc_relay_pass_ctx passes = gpuc_build_passes(ctx, module, options);
    passes.target = target;
    gpuc_relay_pass_within(ctx, run_passes, &passes);
    gpuc_graph *g = gpuc_compile_graph_create(ctx, module, target, gpuc_build_fallback(ctx, 1, &target));
    gpuc_tune_task *tasks = gpuc_new_array(ctx, gpuc_tune_task, g->functions.count);
    *out = (gpuc_tune_tasks){.target = target, .target_text = gpuc_target_text(ctx, target), .at = tasks};
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_graph_function *f = g->functions.at[i];
        gpuc_tune_task *known = find(out, tasks, f->workload);
        if (known) known->uses += count_uses(g, i);
        if (known || f->device || !has_knobs(ctx, target, f)) continue;
        if (!gpuc_tune_has_fixed_sizes(f->f)) {
            out->num_open++;
            continue;
        }
        tasks[out->n++] = (gpuc_tune_task){
            .f = f->f,
            .workload = f->workload,
            .text = gpuc_tune_task_text(ctx, f->label, f->f),
            .uses = count_uses(g, i),
        };
    }
}
