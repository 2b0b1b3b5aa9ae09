/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the lowering passes in their order, and runs them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/names.h"
#include "lower/common/check.h"
#include "lower/common/util.h"

typedef struct pass_entry {
    const char *name;
    gpuc_tir_pass_fn run;
    int stage; /* what the validator checks afterwards */
} pass_entry;

enum { NESTED = GPUC_TIR_STAGE_NESTED, FLAT = GPUC_TIR_STAGE_FLAT, KERNEL = GPUC_TIR_STAGE_KERNEL };

/* clang-format off */
static const pass_entry function_passes[] = {
    {"clip_loops", gpuc_lower_clip_loops, NESTED},               /* a loop that its guards end need not be cut for them */
    {"loop_partition", gpuc_lower_loop_partition, NESTED},       /* loops are still as the schedule made them */
    {"storage_flatten", gpuc_lower_storage_flatten, FLAT},       /* all that follows knows one index only */
    {"simplify", gpuc_lower_simplify, FLAT},                     /* drops loops of one iteration before they are rewritten */
    {"vthread", gpuc_lower_vthread, FLAT},                       /* makes copies that vectorize then sees */
    {"double_buffer", gpuc_lower_double_buffer, FLAT},           /* needs the loop that unroll may expand */
    {"vectorize", gpuc_lower_vectorize, FLAT},                   /* before unroll: less code to rewrite */
    {"unroll", gpuc_lower_unroll, FLAT},
    {"simplify", gpuc_lower_simplify, FLAT},                     /* copies have constant indices now */
};

static const pass_entry kernel_passes[] = {
    {"coopmat", gpuc_lower_coopmat, KERNEL},                     /* makes loops, and storage of scope warp */
    {"limit_iterations", gpuc_lower_limit_iterations, KERNEL},           /* loops are what they will be */
    {"warp_memory", gpuc_lower_warp_memory, KERNEL},             /* makes shared memory, too; indices are constants now */
    {"thread_allreduce", gpuc_lower_thread_allreduce, KERNEL},   /* makes shared memory for thread_sync */
    {"storage_reuse", gpuc_lower_storage_reuse, KERNEL},         /* shared memory is final after it */
    {"thread_sync", gpuc_lower_thread_sync, KERNEL},             /* before indices turn into shifts and masks */
    {"serialize_threads", gpuc_lower_serialize_threads, KERNEL}, /* cuts at the barriers */
    {"fold_launch", gpuc_lower_fold_launch, KERNEL},
    {"windows", gpuc_lower_windows, KERNEL},                     /* the launch is final, and divisions are plain */
    {"texture_flatten", gpuc_lower_texture_flatten, KERNEL},     /* vectors are final, and the types of elements still theirs */
    {"legalize_dtypes", gpuc_lower_legalize_dtypes, KERNEL},     /* adds index arithmetic for packed words */
    {"simplify", gpuc_lower_simplify, KERNEL},
    {"narrow_index", gpuc_lower_narrow_index, KERNEL},           /* bounds are best known on floor divisions */
    {"legalize_int64", gpuc_lower_legalize_int64, KERNEL},       /* only data is 64 bits wide now */
    {"simplify", gpuc_lower_simplify, KERNEL},
    {"intrinsics", gpuc_lower_intrinsics, KERNEL},               /* simplify would undo it: floor divisions */
    {"hoist_common", gpuc_lower_hoist_common, KERNEL},           /* simplify would look through the names */
    {"cut_vectors", gpuc_lower_cut_vectors, KERNEL},             /* generators take each vector as it is */
    {"split_locals", gpuc_lower_split_locals, KERNEL},           /* vectors are those that the language has */
    {"interleave", gpuc_lower_interleave, KERNEL},               /* of names that hoist_common gave */
    {"guard_loops", gpuc_lower_guard_loops, KERNEL},             /* loops and barriers are final */
};
/* clang-format on */

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
static const char split_name[] = "split_kernels";

static const pass_entry *find_pass(const char *name)
{
    for (size_t i = 0; i < COUNT(function_passes); i++)
        if (strcmp(function_passes[i].name, name) == 0) return &function_passes[i];
    for (size_t i = 0; i < COUNT(kernel_passes); i++)
        if (strcmp(kernel_passes[i].name, name) == 0) return &kernel_passes[i];
    return NULL;
}

const char *gpuc_lower_pass_name(int i)
{
    int functions = (int)COUNT(function_passes);
    if (i < 0) return NULL;
    if (i < functions) return function_passes[i].name;
    if (i == functions) return split_name;
    i -= functions + 1;
    return i < (int)COUNT(kernel_passes) ? kernel_passes[i].name : NULL;
}

/* ---- Running one ------------------------------------------------------------------------------------- */

static void dump(gpuc_ctx *ctx, const char *name, const gpuc_tir_func *f, bool changed)
{
    if (!(ctx->debug & GPUC_DEBUG_PRINT)) return;
    if (changed)
        fprintf(stderr, "# after %s\n%s\n", name, gpuc_tir_text(ctx, f));
    else
        fprintf(stderr, "# after %s: %s is unchanged\n", name, f->name);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static gpuc_tir_func *run_pass(gpuc_pass_ctx *p, const pass_entry *e, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    double start = ctx->debug & GPUC_DEBUG_TIME ? now_ms() : 0;
    bool advances = e->stage > (int)f->stage; /* then parameters change, too */
    gpuc_tir_func *out = f->body || advances ? e->run(p, f) : f;
    if (ctx->debug & GPUC_DEBUG_TIME)
        fprintf(stderr, "%10.3f ms  %-18s %s\n", now_ms() - start, e->name, f->name);
    if (e->stage > (int)out->stage) out = gpuc_lower_with_body(ctx, out, out->body, (gpuc_tir_stage)e->stage);
    dump(ctx, e->name, out, out != f);
    if (out != f && gpuc_ctx_validates(ctx)) gpuc_tir_validate(ctx, out, e->name);
    return out;
}

static gpuc_tir_program *split(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_tir_program *program = gpuc_lower_split_kernels(p, f);
    for (int i = 0; i < program->num_kernels; i++) {
        dump(p->ctx, split_name, program->kernels[i], true);
        if (gpuc_ctx_validates(p->ctx)) gpuc_tir_validate(p->ctx, program->kernels[i], split_name);
    }
    return program;
}

gpuc_tir_program *gpuc_lower(gpuc_ctx *ctx, const gpuc_tir_func *func, const gpuc_target *target)
{
    gpuc_pass_ctx p = {.ctx = ctx, .target = target};
    gpuc_tir_func *f = (gpuc_tir_func *)func;
    for (size_t i = 0; i < COUNT(function_passes); i++)
        if ((int)f->stage <= function_passes[i].stage) f = run_pass(&p, &function_passes[i], f);
    gpuc_tir_program *program = split(&p, f);
    gpuc_tir_func **kernels = gpuc_new_array(ctx, gpuc_tir_func *, program->num_kernels);
    for (int k = 0; k < program->num_kernels; k++) {
        f = program->kernels[k];
        for (size_t i = 0; i < COUNT(kernel_passes); i++) f = run_pass(&p, &kernel_passes[i], f);
        gpuc_lower_check_limits(&p, f);
        kernels[k] = gpuc_lower_with_body(ctx, f, f->body, GPUC_TIR_STAGE_TARGET);
        if (gpuc_ctx_validates(ctx)) gpuc_tir_validate(ctx, kernels[k], "lowering");
    }
    program->kernels = kernels;
    gpuc_tir_rule_print(ctx, func->name);
    return program;
}

/* ---- Running some, by name ----------------------------------------------------------------------------- */

static void run_named(gpuc_pass_ctx *p, const char *name, gpuc_ptrs *funcs)
{
    gpuc_ctx *ctx = p->ctx;
    gpuc_ptrs out = {0};
    const pass_entry *e = find_pass(gpuc_names_now("pass", name));
    bool whole = strcmp(name, "lower") == 0, cut = strcmp(name, split_name) == 0;
    if (!e && !whole && !cut) {
        const char *names[COUNT(function_passes) + COUNT(kernel_passes) + 2];
        size_t n = 0;
        for (int i = 0; gpuc_lower_pass_name(i); i++) names[n++] = gpuc_lower_pass_name(i);
        names[n++] = "lower";
        const char *near = gpuc_suggest(name, names, n);
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no pass '%s'%s%s%s", name,
                   near ? "; did you mean '" : "; those of loop IR are listed by `gpuc opt --list`",
                   near ? near : "", near ? "'?" : "");
    }
    for (size_t i = 0; i < funcs->count; i++) {
        gpuc_tir_func *f = funcs->at[i];
        if (e) {
            gpuc_ptrs_push(ctx, &out, run_pass(p, e, f));
            gpuc_tir_rule_print(ctx, f->name);
            continue;
        }
        gpuc_tir_program *program = whole ? gpuc_lower(ctx, f, p->target) : split(p, f);
        for (int k = 0; k < program->num_kernels; k++) gpuc_ptrs_push(ctx, &out, program->kernels[k]);
    }
    *funcs = out;
}

void gpuc_lower_run(gpuc_pass_ctx *p, const gpuc_tir_func *f, const char *passes, gpuc_ptrs *out)
{
    gpuc_ctx *ctx = p->ctx;
    out->count = 0;
    gpuc_ptrs_push(ctx, out, f);
    for (const char *at = passes; *at;) {
        size_t n = strcspn(at, ", ");
        if (n > 0) run_named(p, gpuc_ctx_printf(ctx, "%.*s", (int)n, at), out);
        at += n;
        at += *at != 0;
    }
}

int gpuc_lower_passes(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func, const char *passes,
                      const gpuc_tir_func *const **out)
{
    if (!target || !func || !passes || !out)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "running passes: the %s NULL",
                   !target   ? "target is"
                   : !func   ? "function is"
                   : !passes ? "list of passes is"
                             : "place for the result is");
    gpuc_pass_ctx p = {.ctx = ctx, .target = target};
    gpuc_ptrs funcs = {0};
    gpuc_lower_run(&p, func, passes, &funcs);
    *out = (const gpuc_tir_func *const *)funcs.at;
    return (int)funcs.count;
}
