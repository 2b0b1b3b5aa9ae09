/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduled function, compiled and loaded in this process: a module with one packed function. */
#include <string.h>

#include "compile/func_module.h"
#include "compile/lowered.h"
#include "compile/program.h"
#include "runtime/driver.h"

static void destroy_func(gpuc_func *f)
{
    const gpuc_device_api *api = f->device->api;
    gpuc_status_release(api->stream_sync(f->device, NULL)); /* what uses the code is done, or lost */
    for (uint32_t i = 0; i < f->num_modules; i++) api->module_release(f->device, f->modules[i]);
    gpuc_allocator a = gpuc_runtime_allocator(f->rt);
    gpuc_arena_deinit(&f->arena);
    gpuc_mem_free(a, f, sizeof *f);
}

static void destroy_module(gpuc_module *m)
{
    destroy_func(gpuc_module_state(m));
}

static gpuc_status get_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    gpuc_func *f = gpuc_module_state(m);
    *out = NULL;
    if (strcmp(name, f->name)) return NULL;
    return gpuc_function_create(f->rt, gpuc_compile_func_call, f, NULL, m, out);
}

static const gpuc_module_ops func_ops = {
    .type_key = "func", .get_function = get_function, .destroy = destroy_module};

static const gpuc_tir_program *emit(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func,
                                    gpuc_kernel_code **code)
{
    const gpuc_tir_program *p = gpuc_lower(ctx, func, target);
    *code = gpuc_new_array(ctx, gpuc_kernel_code, p->num_kernels);
    for (int i = 0; i < p->num_kernels; i++) {
        gpuc_codegen_emit(ctx, target, p->kernels[i], &(*code)[i]);
        (*code)[i].meta.iterations = gpuc_compile_kernel_iterations(ctx, p, i, p->kernels[i]->iterations);
        gpuc_compile_kernel_windows(ctx, p, i, &(*code)[i].meta);
    }
    return p;
}

/* ---- What outlives the context ---------------------------------------------------------------------- */

static void *keep(gpuc_ctx *ctx, gpuc_func *f, const void *data, size_t count, size_t item_size)
{
    void *copy = gpuc_arena_alloc_array(&f->arena, count, item_size);
    if (!copy) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for the function %s", f->name);
    if (data && count) memcpy(copy, data, count * item_size);
    return copy;
}

static const char *keep_text(gpuc_ctx *ctx, gpuc_func *f, const char *text)
{
    return keep(ctx, f, text, strlen(text) + 1, 1);
}

static gpuc_xexpr keep_xexpr(gpuc_ctx *ctx, gpuc_func *f, gpuc_xexpr e)
{
    return (gpuc_xexpr){.code = keep(ctx, f, e.code, e.count, sizeof *e.code), .count = e.count};
}

static void keep_array(gpuc_ctx *ctx, gpuc_func *f, const gpuc_tir_func *func, int i)
{
    const gpuc_tir_buffer *b = func->buffers[i];
    gpuc_func_array *a = &f->arrays[i];
    a->name = keep_text(ctx, f, b->name);
    a->dtype = b->dtype;
    a->ndim = (uint32_t)b->ndim;
    a->dims = keep(ctx, f, NULL, a->ndim, sizeof *a->dims);
    for (int d = 0; d < b->ndim; d++) {
        gpuc_expr dim = b->shape[d];
        a->dims[d].size = keep_xexpr(ctx, f, gpuc_arith_to_xexpr(ctx, dim, func->num_scalars, func->scalars));
        if (!gpuc_expr_is_int(dim, NULL)) a->dims[d].text = keep_text(ctx, f, gpuc_expr_text(ctx, dim));
    }
}

static void keep_parameters(gpuc_ctx *ctx, gpuc_func *f, const gpuc_tir_func *func)
{
    f->num_arrays = (uint32_t)func->num_buffers;
    f->num_scalars = (uint32_t)func->num_scalars;
    f->arrays = keep(ctx, f, NULL, f->num_arrays, sizeof *f->arrays);
    f->scalars = keep(ctx, f, NULL, f->num_scalars, sizeof *f->scalars);
    for (int i = 0; i < func->num_buffers; i++) keep_array(ctx, f, func, i);
    for (int i = 0; i < func->num_scalars; i++)
        f->scalars[i] = (gpuc_func_scalar){.name = keep_text(ctx, f, gpuc_as_var(func->scalars[i])->name),
                                           .dtype = func->scalars[i]->dtype};
}

static void keep_kernel(gpuc_ctx *ctx, gpuc_func *f, const gpuc_tir_program *p, int i,
                        const gpuc_kernel_code *code, uint32_t module)
{
    const gpuc_tir_func *k = p->kernels[i];
    gpuc_func_kernel *out = &f->kernels[i];
    gpuc_buf meta;
    gpuc_buf_init(&meta, ctx->allocator);
    gpuc_abi_kernel_write(&meta, &code->meta);
    gpuc_reader r = {.data = (const uint8_t *)meta.data, .size = meta.size};
    gpuc_status status = gpuc_buf_status(&meta);
    if (!status) status = gpuc_abi_kernel_read(&r, &f->arena, &out->meta);
    gpuc_buf_deinit(&meta);
    GPUC_RAISE_IF(ctx, status);
    out->meta.module = module;
    out->slots = keep(ctx, f, p->args[i].buffers, (size_t)k->num_buffers, sizeof *out->slots);
    out->scalars = keep(ctx, f, p->args[i].scalars, (size_t)k->num_scalars, sizeof *out->scalars);
}

static void keep_program(gpuc_ctx *ctx, gpuc_func *f, const gpuc_tir_program *p, const gpuc_kernel_code *code,
                         const gpuc_linked *linked)
{
    f->num_kernels = (uint32_t)p->num_kernels;
    f->num_workspaces = (uint32_t)p->num_workspaces;
    f->kernels = keep(ctx, f, NULL, f->num_kernels, sizeof *f->kernels);
    f->workspace_bytes = keep(ctx, f, NULL, f->num_workspaces, sizeof *f->workspace_bytes);
    for (int i = 0; i < p->num_kernels; i++) keep_kernel(ctx, f, p, i, &code[i], linked->kernel_module[i]);
    for (int i = 0; i < p->num_workspaces; i++)
        f->workspace_bytes[i] =
            keep_xexpr(ctx, f, gpuc_compile_workspace_bytes(ctx, p->func, p->workspaces[i], NULL));
}

/* ---- Code on the device --------------------------------------------------------------------------- */

static void load(gpuc_ctx *ctx, gpuc_func *f, const gpuc_linked *linked)
{
    const gpuc_device_api *api = f->device->api;
    const gpuc_kernel **mine = keep(ctx, f, NULL, f->num_kernels, sizeof *mine);
    f->modules = keep(ctx, f, NULL, (size_t)linked->num_modules, sizeof *f->modules);
    for (int m = 0; m < linked->num_modules; m++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < f->num_kernels; k++)
            if (f->kernels[k].meta.module == (uint32_t)m) mine[count++] = &f->kernels[k].meta;
        const gpuc_module_blob *blob = &linked->modules[m];
        GPUC_RAISE_IF(ctx, api->module_load(f->device, blob->type_key, blob->bytes, blob->size, mine, count,
                                            &f->modules[m]));
        f->num_modules = (uint32_t)m + 1;
    }
    for (uint32_t k = 0; k < f->num_kernels; k++)
        GPUC_RAISE_IF(ctx, api->kernel_get(f->modules[f->kernels[k].meta.module], f->kernels[k].meta.name,
                                           &f->kernels[k].number));
}

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
    gpuc_func *f;
    gpuc_device *device;
    const gpuc_target *target;
    const gpuc_tir_func *func;
    gpuc_module *module;
} func_build;

static void build(gpuc_ctx *ctx, void *arg)
{
    func_build *b = arg;
    gpuc_func *f = b->f;
    gpuc_kernel_code *code;
    gpuc_linked linked;
    f->name = keep_text(ctx, f, b->func->name);
    keep_parameters(ctx, f, b->func);
    const gpuc_tir_program *p = emit(ctx, b->target, b->func, &code);
    for (int i = 0; i < p->num_kernels; i++) warn_of_size(f->rt, &code[i]);
    gpuc_codegen_link(ctx, b->target, p->num_kernels, code, &linked);
    for (int i = 0; i < linked.num_instruction_sets; i++)
        GPUC_RAISE_IF(ctx, gpuc_device_check_instruction_set(f->device, linked.instruction_sets[i]));
    keep_program(ctx, f, p, code, &linked);
    load(ctx, f, &linked);
    GPUC_RAISE_IF(ctx, gpuc_module_create(f->rt, &func_ops, f, &b->module));
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
    gpuc_func *f = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *f);
    if (!f) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for the function %s", func->name);
    *f = (gpuc_func){.rt = rt, .device = device, .name = func->name};
    gpuc_arena_init(&f->arena, gpuc_runtime_allocator(rt));
    func_build b = {.f = f, .device = device, .target = target, .func = func};
    gpuc_status status = gpuc_ctx_protect(ctx, build, &b);
    if (status) {
        destroy_func(f);
        gpuc_ctx_raise_status(ctx, gpuc_error_prefix(status, "building %s", func->name));
    }
    return b.module;
}

const char *gpuc_build_source(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func)
{
    gpuc_kernel_code *code;
    if (!target || !func)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "printing code: the %s is NULL",
                   target ? "function" : "target");
    const gpuc_tir_program *p = emit(ctx, target, func, &code);
    return gpuc_codegen_text(ctx, target, p->num_kernels, code);
}
