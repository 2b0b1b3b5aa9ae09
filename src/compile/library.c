/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled functions -> a library: a package of entries, with a program per target. A function of this process
 * is a library of one. */
#include <string.h>

#include "base/file.h"
#include "compile/build_code.h"
#include "compile/lowered.h"
#include "compile/program.h"
#include "library/library.h"

typedef struct library_function {
    const gpuc_tir_func *func;       /* as it was added: with the shapes of its arrays */
    const gpuc_tir_program *program; /* lowered: arrays are flat */
    gpuc_kernel_code *code;          /* of its kernels */
} library_function;

typedef struct library_target {
    const gpuc_target *target;
    const char *text;
    gpuc_ptrs functions; /* library_function */
} library_target;

struct gpuc_library {
    gpuc_ctx *ctx;
    gpuc_ptrs targets; /* library_target, in the order in which they were first added */
};

/* ---- Functions ---- */

/* Each array of a function lies in a buffer of its own. */
static void check_bindings(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func,
                           const gpuc_kernel *k)
{
    uint32_t buffers = 0;
    for (uint32_t t = 0; t < k->num_tensors; t++) buffers += !k->tensors[t].image;
    if (!target->language->descriptors || k->num_bindings == buffers) return;
    gpuc_raise(ctx, GPUC_UNSUPPORTED,
               "function '%s': a kernel of it accesses %u arrays, the target '%s' promises %lld buffers "
               "(max_storage_buffers); for devices that have more, write %s -max_storage_buffers=%u",
               func->name, buffers, gpuc_target_text(ctx, target), (long long)target->max_storage_buffers,
               gpuc_target_text(ctx, target), buffers);
}

/* The function under a name that none of its kernels shares with another function's, and that every language and
 * driver takes. */
static const gpuc_tir_func *renamed(gpuc_ctx *ctx, const gpuc_tir_func *func, size_t number)
{
    enum { MAX_LENGTH = 40 }; /* pocl names folders after kernels */
    gpuc_tir_func *f = gpuc_ctx_memdup(ctx, func, sizeof *f);
    f->name = gpuc_ctx_printf(ctx, "f%zu_%.*s", number, MAX_LENGTH, func->name);
    return f;
}

static void emit(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func, size_t number,
                 library_function *out)
{
    const gpuc_tir_program *p = gpuc_lower(ctx, renamed(ctx, func, number), target);
    out->func = func;
    out->program = p;
    out->code = gpuc_new_array(ctx, gpuc_kernel_code, p->num_kernels);
    for (int i = 0; i < p->num_kernels; i++) {
        gpuc_compile_emit(ctx, target, p->kernels[i], &out->code[i]);
        out->code[i].meta.iterations = gpuc_compile_kernel_iterations(ctx, p, i, p->kernels[i]->iterations);
        gpuc_compile_kernel_windows(ctx, p, i, &out->code[i].meta);
        check_bindings(ctx, target, func, &out->code[i].meta);
    }
}

gpuc_library *gpuc_library_create(gpuc_ctx *ctx)
{
    gpuc_library *l = gpuc_new(ctx, gpuc_library);
    l->ctx = ctx;
    return l;
}

static library_target *find_target(const gpuc_library *l, const char *text)
{
    for (size_t i = 0; i < l->targets.count; i++) {
        library_target *t = l->targets.at[i];
        if (strcmp(t->text, text) == 0) return t;
    }
    return NULL;
}

typedef struct foreign_search {
    const gpuc_ctx *ctx;
    bool found;
} foreign_search;

static bool look_for_foreign(gpuc_expr e, void *arg)
{
    foreign_search *s = arg;
    s->found |= e->ctx != s->ctx;
    return !s->found;
}

static bool belongs(gpuc_ctx *ctx, const gpuc_tir_func *func)
{
    foreign_search s = {.ctx = ctx};
    for (int i = 0; i < func->num_scalars; i++) look_for_foreign(func->scalars[i], &s);
    for (int i = 0; i < func->num_buffers; i++)
        for (int d = 0; d < func->buffers[i]->ndim; d++) look_for_foreign(func->buffers[i]->shape[d], &s);
    gpuc_tir_visit_stmt(ctx, func->body, NULL, look_for_foreign, &s);
    return !s.found;
}

void gpuc_library_add(gpuc_library *l, const gpuc_target *target, const gpuc_tir_func *func)
{
    gpuc_ctx *ctx = l->ctx;
    if (!target || !func)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "adding to a library: the %s is NULL",
                   target ? "function" : "target");
    if (!belongs(ctx, func))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "adding to a library: the function was made in another context");
    const char *text = gpuc_target_text(ctx, target);
    library_target *t = find_target(l, text);
    for (size_t i = 0; t && i < t->functions.count; i++)
        if (strcmp(((library_function *)t->functions.at[i])->func->name, func->name) == 0)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the library has a function '%s' for target '%s' already",
                       func->name, text);
    library_function *f = gpuc_new(ctx, library_function);
    target = t ? t->target
               : gpuc_target_parse(ctx, text, NULL); /* that which was given may be of another context */
    emit(ctx, target, func, t ? t->functions.count : 0, f);
    if (!t) {
        t = gpuc_new(ctx, library_target);
        *t = (library_target){.target = target, .text = text};
        gpuc_ptrs_push(ctx, &l->targets, t);
    }
    gpuc_ptrs_push(ctx, &t->functions, f);
}

/* ---- Entries ---- */

static gpuc_entry_array entry_array(gpuc_ctx *ctx, const gpuc_tir_func *func, const gpuc_tir_buffer *b)
{
    gpuc_entry_dim *dims = gpuc_new_array(ctx, gpuc_entry_dim, b->ndim);
    for (int d = 0; d < b->ndim; d++)
        dims[d] = (gpuc_entry_dim){
            .size = gpuc_arith_to_xexpr(ctx, b->shape[d], func->num_scalars, func->scalars),
            .text = gpuc_expr_is_int(b->shape[d], NULL) ? "" : gpuc_expr_text(ctx, b->shape[d])};
    return (gpuc_entry_array){.name = b->name, .dtype = b->dtype, .ndim = (uint32_t)b->ndim, .dims = dims};
}

static uint32_t *numbers(gpuc_ctx *ctx, int n, const int *from)
{
    uint32_t *out = gpuc_new_array(ctx, uint32_t, n);
    for (int i = 0; i < n; i++) out[i] = (uint32_t)from[i];
    return out;
}

static gpuc_entry make_entry(gpuc_ctx *ctx, const library_function *f, uint32_t first_kernel)
{
    const gpuc_tir_program *p = f->program;
    const gpuc_tir_func *func = f->func;
    gpuc_entry_array *arrays = gpuc_new_array(ctx, gpuc_entry_array, func->num_buffers);
    gpuc_entry_scalar *scalars = gpuc_new_array(ctx, gpuc_entry_scalar, func->num_scalars);
    gpuc_xexpr *workspaces = gpuc_new_array(ctx, gpuc_xexpr, p->num_workspaces);
    gpuc_entry_step *steps = gpuc_new_array(ctx, gpuc_entry_step, p->num_kernels);
    for (int i = 0; i < func->num_buffers; i++) arrays[i] = entry_array(ctx, func, func->buffers[i]);
    for (int i = 0; i < func->num_scalars; i++)
        scalars[i] = (gpuc_entry_scalar){.name = gpuc_as_var(func->scalars[i])->name,
                                         .dtype = func->scalars[i]->dtype};
    for (int i = 0; i < p->num_workspaces; i++)
        workspaces[i] = gpuc_compile_workspace_bytes(ctx, p->func, p->workspaces[i], NULL);
    for (int i = 0; i < p->num_kernels; i++)
        steps[i] = (gpuc_entry_step){
            .kernel = first_kernel + (uint32_t)i,
            .slots = numbers(ctx, p->kernels[i]->num_buffers, p->args[i].buffers),
            .scalars = numbers(ctx, p->kernels[i]->num_scalars, p->args[i].scalars),
        };
    return (gpuc_entry){
        .name = func->name,
        .num_arrays = (uint32_t)func->num_buffers,
        .num_scalars = (uint32_t)func->num_scalars,
        .num_workspaces = (uint32_t)p->num_workspaces,
        .num_steps = (uint32_t)p->num_kernels,
        .arrays = arrays,
        .scalars = scalars,
        .workspaces = workspaces,
        .steps = steps,
    };
}

/* ---- Programs ---- */

static int count_kernels(const library_target *t)
{
    int n = 0;
    for (size_t i = 0; i < t->functions.count; i++)
        n += ((library_function *)t->functions.at[i])->program->num_kernels;
    return n;
}

/* The code of all kernels, in order. */
static gpuc_kernel_code *join_code(gpuc_ctx *ctx, const library_target *t)
{
    gpuc_kernel_code *code = gpuc_new_array(ctx, gpuc_kernel_code, count_kernels(t));
    for (size_t i = 0, at = 0; i < t->functions.count; i++) {
        const library_function *f = t->functions.at[i];
        for (int k = 0; k < f->program->num_kernels; k++) code[at++] = f->code[k];
    }
    return code;
}

/* Loops whose extent is negative have no iterations, and kernels no work-groups. */
static gpuc_xexpr at_least_none(gpuc_ctx *ctx, gpuc_xexpr groups)
{
    int64_t known;
    if (gpuc_abi_xexpr_is_const(groups, &known) && known >= 0) return groups;
    gpuc_xinstr *code = gpuc_new_array(ctx, gpuc_xinstr, groups.count + 2);
    memcpy(code, groups.code, groups.count * sizeof *code);
    code[groups.count] = (gpuc_xinstr){.op = GPUC_XOP_CONST};
    code[groups.count + 1] = (gpuc_xinstr){.op = GPUC_XOP_MAX};
    return (gpuc_xexpr){.code = code, .count = groups.count + 2};
}

static gpuc_program make_program(gpuc_ctx *ctx, const library_target *t)
{
    int n = count_kernels(t);
    gpuc_kernel_code *code = join_code(ctx, t);
    gpuc_linked linked;
    gpuc_compile_link(ctx, t->target, n, code, &linked);
    gpuc_kernel *kernels = gpuc_new_array(ctx, gpuc_kernel, n);
    for (int i = 0; i < n; i++) {
        kernels[i] = code[i].meta;
        kernels[i].module = linked.kernel_module[i];
        for (int d = 0; d < 3; d++) kernels[i].launch[d] = at_least_none(ctx, kernels[i].launch[d]);
    }
    gpuc_entry *entries = gpuc_new_array(ctx, gpuc_entry, (int)t->functions.count);
    for (size_t i = 0, first = 0; i < t->functions.count; i++) {
        const library_function *f = t->functions.at[i];
        entries[i] = make_entry(ctx, f, (uint32_t)first);
        first += (size_t)f->program->num_kernels;
    }
    gpuc_program p = {
        .target = t->text,
        .device_type = gpuc_target_device_type(t->target),
        .num_kernels = (uint32_t)n,
        .num_modules = (uint32_t)linked.num_modules,
        .num_entries = (uint32_t)t->functions.count,
        .kernels = kernels,
        .modules = linked.modules,
        .entries = entries,
    };
    gpuc_compile_library_requirements(ctx, t->target, &linked, &p);
    return p;
}

/* With the programs for a kind of device; device NULL: with all. */
static gpuc_package make_package(const gpuc_library *l, const gpuc_device *device)
{
    int n = 0;
    gpuc_program *programs = gpuc_new_array(l->ctx, gpuc_program, l->targets.count);
    if (l->targets.count == 0) gpuc_raise(l->ctx, GPUC_INVALID_ARGUMENT, "the library has no functions");
    for (size_t i = 0; i < l->targets.count; i++) {
        const library_target *t = l->targets.at[i];
        if (!device || gpuc_target_device_type(t->target) == device->type)
            programs[n++] = make_program(l->ctx, t);
    }
    if (n == 0)
        gpuc_raise(l->ctx, GPUC_DEVICE_UNAVAILABLE, "the library holds nothing for %s devices",
                   device->api->name);
    return (gpuc_package){
        .gpuc_version = GPUC_VERSION, .is_library = true, .num_programs = (uint32_t)n, .programs = programs};
}

/* ---- What comes of a library ---- */

void gpuc_library_save(gpuc_library *l, const char *path)
{
    gpuc_ctx *ctx = l->ctx;
    if (!path) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "saving a library: the path is NULL");
    gpuc_package package = make_package(l, NULL);
    GPUC_RAISE_IF(ctx, gpuc_abi_package_write(ctx->pending, ctx->allocator, &package, path));
}

gpuc_module *gpuc_library_load(gpuc_library *l, gpuc_runtime *rt, gpuc_device *device)
{
    gpuc_ctx *ctx = l->ctx;
    gpuc_module *module;
    gpuc_buf bytes;
    if (!rt) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "loading a library: the runtime is NULL");
    gpuc_package package = make_package(l, device);
    gpuc_buf_init(&bytes, gpuc_runtime_allocator(rt));
    gpuc_status status = gpuc_abi_package_append(&package, &bytes);
    if (status)
        gpuc_buf_deinit(&bytes);
    else
        status = gpuc_library_from_bytes(rt, &bytes, device, true, &module);
    GPUC_RAISE_IF(ctx, status);
    return module;
}

const char *gpuc_library_source(gpuc_library *l, const char *target)
{
    gpuc_ctx *ctx = l->ctx;
    const library_target *t = target ? find_target(l, target) : NULL;
    if (!t)
        gpuc_raise(ctx, GPUC_NOT_FOUND, "the library has no functions for target '%s'",
                   target ? target : "NULL");
    return gpuc_compile_text(ctx, t->target, count_kernels(t), join_code(ctx, t));
}

/* ---- One function ---- */

/* llvmpipe takes 9 s for a kernel of this size without loops, 60 s for four times as much. */
enum { LARGE_CODE = 64 << 10 };

static void warn_of_size(gpuc_runtime *rt, const gpuc_kernel_code *code)
{
    if (code->size > LARGE_CODE)
        gpuc_runtime_log(
            rt, GPUC_LOG_WARNING, "build.large",
            "kernel '%s' is %zu KiB of code, which drivers take long to compile; unroll fewer loops, "
            "or split them first and unroll the inner ones",
            code->meta.name, code->size >> 10);
}

typedef struct func_build {
    gpuc_runtime *rt;
    gpuc_device *device;
    const gpuc_target *target;
    const gpuc_tir_func *func;
    gpuc_module *module;
} func_build;

static void build(gpuc_ctx *ctx, void *arg)
{
    func_build *b = arg;
    gpuc_library *l = gpuc_library_create(ctx);
    gpuc_library_add(l, b->target, b->func);
    const library_target *t = l->targets.at[0];
    const library_function *f = t->functions.at[0];
    for (int i = 0; i < f->program->num_kernels; i++) warn_of_size(b->rt, &f->code[i]);
    b->module = gpuc_library_load(l, b->rt, b->device);
}

gpuc_module *gpuc_build_func(gpuc_ctx *ctx, gpuc_runtime *rt, gpuc_device *device, const gpuc_target *target,
                             const gpuc_tir_func *func)
{
    if (!rt || !device || !target || !func)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "building a function: the %s is NULL",
                   !rt       ? "runtime"
                   : !device ? "device"
                   : !target ? "target"
                             : "function");
    func_build b = {.rt = rt, .device = device, .target = target, .func = func};
    gpuc_runtime *before = ctx->runtime;
    ctx->runtime = rt;
    gpuc_status status = gpuc_ctx_protect(ctx, build, &b);
    ctx->runtime = before;
    if (status) gpuc_ctx_raise_status(ctx, gpuc_error_prefix(status, "building %s", func->name));
    return b.module;
}

const char *gpuc_build_source(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func)
{
    if (!target || !func)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "printing code: the %s is NULL",
                   target ? "function" : "target");
    gpuc_library *l = gpuc_library_create(ctx);
    gpuc_library_add(l, target, func);
    return gpuc_library_source(l, gpuc_target_text(ctx, target));
}
