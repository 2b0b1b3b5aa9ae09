/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduled function, compiled and loaded in this process: a module with one packed function. */
#include <stdlib.h>
#include <string.h>

#include "build/lowered.h"
#include "build/program.h"
#include "runtime/driver.h"

typedef struct func_state {
    gpuc_runtime *rt;
    gpuc_device *device;
    gpuc_arena arena; /* metadata, bindings */
    const char *name;
    uint32_t num_buffers, num_scalars, num_kernels, num_workspaces, num_modules;
    gpuc_kernel *kernels;
    uint32_t *kernel_number; /* in its module */
    gpuc_code_module **modules;
    uint32_t **slots;     /* per kernel and tensor: parameter, then workspace number */
    uint32_t **scalars;   /* per kernel and scalar: number among the function's scalars */
    gpuc_xexpr *required; /* per kernel, over its scalars; no code: nothing */
    int64_t *workspace_bytes;
    gpuc_buffer **workspaces;
} func_state;

static void destroy_state(func_state *s)
{
    const gpuc_device_api *api = s->device->api;
    api->stream_sync(s->device, NULL);
    for (uint32_t i = 0; i < s->num_workspaces; i++)
        if (s->workspaces[i]) api->free_data_space(s->device, s->workspaces[i]);
    for (uint32_t i = 0; i < s->num_modules; i++)
        if (s->modules[i]) api->module_release(s->device, s->modules[i]);
    gpuc_allocator a = gpuc_runtime_allocator(s->rt);
    gpuc_arena_deinit(&s->arena);
    gpuc_mem_free(a, s, sizeof *s);
}

static void destroy_module(gpuc_module *m)
{
    destroy_state(gpuc_module_state(m));
}

static gpuc_status check_args(const func_state *s, const gpuc_value *args, int num_args)
{
    if (num_args != (int)(s->num_buffers + s->num_scalars))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s takes %u arrays and %u numbers, got %d arguments",
                         s->name, s->num_buffers, s->num_scalars, num_args);
    for (uint32_t i = 0; i < s->num_buffers; i++) {
        if (args[i].kind != GPUC_VALUE_NDARRAY)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u is not an array", s->name, i);
        if (gpuc_ndarray_device(args[i].as.ndarray) != s->device)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: array %u is on another device", s->name, i);
    }
    for (uint32_t i = s->num_buffers; i < (uint32_t)num_args; i++)
        if (args[i].kind != GPUC_VALUE_INT && args[i].kind != GPUC_VALUE_FLOAT)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u is not a number", s->name, i);
    return NULL;
}

static gpuc_status check_requirement(const func_state *s, uint32_t k, const int64_t *scalars)
{
    const gpuc_kernel *kernel = &s->kernels[k];
    int64_t holds = 1;
    if (s->required[k].count) GPUC_TRY(gpuc_xexpr_eval(s->required[k], scalars, kernel->num_scalars, &holds));
    return holds ? NULL : gpuc_fail(GPUC_INVALID_ARGUMENT, GPUC_TOO_MANY_ROUNDS, kernel->name);
}

static gpuc_status launch(func_state *s, const gpuc_value *args)
{
    gpuc_binding slots[256];
    gpuc_step_tensor tensors[256];
    int64_t scalars[64];
    uint32_t num_slots = s->num_buffers + s->num_workspaces;
    if (num_slots > 256) return gpuc_fail(GPUC_UNSUPPORTED, "%s: too many arrays", s->name);
    for (uint32_t i = 0; i < s->num_buffers; i++) slots[i] = gpuc_ndarray_binding(args[i].as.ndarray);
    for (uint32_t i = 0; i < s->num_workspaces; i++)
        slots[s->num_buffers + i] = (gpuc_binding){s->workspaces[i], 0, (uint64_t)s->workspace_bytes[i]};
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const gpuc_kernel *kernel = &s->kernels[k];
        gpuc_step step = {.module = s->modules[kernel->module], .kernel = s->kernel_number[k]};
        step.num_tensors = kernel->num_tensors;
        step.num_scalars = kernel->num_scalars;
        step.tensors = tensors;
        step.scalars = scalars;
        for (uint32_t t = 0; t < kernel->num_tensors; t++)
            tensors[t] = (gpuc_step_tensor){.slot = s->slots[k][t],
                                            .access = kernel->tensors[t].access,
                                            .size = slots[s->slots[k][t]].size};
        for (uint32_t v = 0; v < kernel->num_scalars; v++) {
            const gpuc_value *a = &args[s->num_buffers + s->scalars[k][v]];
            if (a->kind == GPUC_VALUE_INT)
                scalars[v] = a->as.i;
            else
                memcpy(&scalars[v], &a->as.f, sizeof a->as.f);
        }
        int64_t n;
        GPUC_TRY(check_requirement(s, k, scalars));
        for (int d = 0; d < 3; d++) {
            GPUC_TRY(gpuc_xexpr_eval(kernel->launch[d], scalars, kernel->num_scalars, &n));
            step.launch[d] = n > 0 ? (uint32_t)n : 0;
        }
        gpuc_plan *plan;
        GPUC_TRY(s->device->api->plan_create(s->device, &step, 1, &plan));
        gpuc_bindings bindings = {.slots = slots, .count = num_slots};
        gpuc_status status = s->device->api->plan_run(plan, &bindings, NULL);
        if (!status) status = s->device->api->stream_sync(s->device, NULL);
        s->device->api->plan_destroy(plan);
        GPUC_TRY(status);
    }
    return NULL;
}

static gpuc_status call(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    func_state *s = self;
    if (ret) *ret = (gpuc_value){.kind = GPUC_VALUE_NULL};
    GPUC_TRY(check_args(s, args, num_args));
    return launch(s, args);
}

static gpuc_status get_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    func_state *s = gpuc_module_state(m);
    *out = NULL;
    if (strcmp(name, s->name)) return NULL;
    return gpuc_function_create(s->rt, call, s, NULL, m, out);
}

static const gpuc_module_ops func_ops = {
    .type_key = "func", .get_function = get_function, .destroy = destroy_module};

/* Kernels and modules of a lowered function, for both entry points. */
static const gpuc_tir_program *compile(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func,
                                       gpuc_kernel_code **code, gpuc_linked *linked)
{
    const gpuc_tir_program *p = gpuc_lower(ctx, func, target);
    const gpuc_codegen *gen = gpuc_codegen_get(ctx, target);
    *code = gpuc_new_array(ctx, gpuc_kernel_code, p->num_kernels);
    for (int i = 0; i < p->num_kernels; i++) gen->emit(ctx, target, p->kernels[i], &(*code)[i]);
    gen->link(ctx, target, p->num_kernels, *code, linked);
    return p;
}

/* What each kernel requires of its scalars. */
static const gpuc_xexpr *requirements(gpuc_ctx *ctx, const gpuc_tir_program *p)
{
    gpuc_xexpr *out = gpuc_new_array(ctx, gpuc_xexpr, p->num_kernels);
    for (int i = 0; i < p->num_kernels; i++) {
        const gpuc_tir_func *k = p->kernels[i];
        if (k->requires) out[i] = gpuc_kernel_requires(ctx, p, i, k->requires);
    }
    return out;
}

static gpuc_status fill_state(gpuc_ctx *ctx, func_state *s, const gpuc_tir_program *p,
                              const gpuc_kernel_code *code, const gpuc_xexpr *required,
                              const gpuc_linked *linked)
{
    gpuc_arena *a = &s->arena;
    uint32_t n = (uint32_t)p->num_kernels;
    s->kernels = gpuc_arena_alloc(a, sizeof *s->kernels * n + 1);
    s->kernel_number = gpuc_arena_alloc(a, sizeof(uint32_t) * n + 1);
    s->slots = gpuc_arena_alloc(a, sizeof(uint32_t *) * n + 1);
    s->scalars = gpuc_arena_alloc(a, sizeof(uint32_t *) * n + 1);
    s->required = gpuc_arena_alloc(a, sizeof *s->required * n + 1);
    s->modules = gpuc_arena_alloc(a, sizeof(gpuc_code_module *) * (size_t)linked->num_modules + 1);
    s->workspaces = gpuc_arena_alloc(a, sizeof(gpuc_buffer *) * (size_t)p->num_workspaces + 1);
    s->workspace_bytes = gpuc_arena_alloc(a, sizeof(int64_t) * (size_t)p->num_workspaces + 1);
    if (!s->kernels || !s->kernel_number || !s->slots || !s->scalars || !s->required || !s->modules ||
        !s->workspaces || !s->workspace_bytes)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for function %s", s->name);
    for (uint32_t i = 0; i < n; i++) {
        gpuc_buf meta;
        gpuc_buf_init(&meta, ctx->allocator);
        gpuc_kernel_write(&meta, &code[i].meta);
        gpuc_reader r = {.data = (const uint8_t *)meta.data, .size = meta.size};
        gpuc_status status = gpuc_buf_status(&meta);
        if (!status) status = gpuc_kernel_read(&r, a, &s->kernels[i]);
        gpuc_buf_deinit(&meta);
        GPUC_TRY(status);
        s->kernels[i].module = linked->kernel_module[i];
        const gpuc_tir_func *k = p->kernels[i];
        s->slots[i] = gpuc_arena_alloc(a, sizeof(uint32_t) * (size_t)k->num_buffers + 1);
        s->scalars[i] = gpuc_arena_alloc(a, sizeof(uint32_t) * (size_t)k->num_scalars + 1);
        if (!s->slots[i] || !s->scalars[i])
            return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for function %s", s->name);
        s->required[i].count = required[i].count;
        size_t bytes = sizeof *required[i].code * required[i].count;
        gpuc_xinstr *steps = gpuc_arena_alloc(a, bytes + 1);
        if (!steps) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for function %s", s->name);
        if (bytes) s->required[i].code = memcpy(steps, required[i].code, bytes);
        for (int b = 0; b < k->num_buffers; b++) s->slots[i][b] = (uint32_t)p->args[i].buffers[b];
        for (int v = 0; v < k->num_scalars; v++) s->scalars[i][v] = (uint32_t)p->args[i].scalars[v];
    }
    s->num_kernels = n;
    return NULL;
}

static gpuc_status load_state(func_state *s, const gpuc_tir_program *p, const gpuc_linked *linked)
{
    const gpuc_device_api *api = s->device->api;
    const gpuc_kernel **mine = gpuc_arena_alloc(&s->arena, sizeof *mine * s->num_kernels + 1);
    if (!mine) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for function %s", s->name);
    for (int m = 0; m < linked->num_modules; m++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < s->num_kernels; k++)
            if (s->kernels[k].module == (uint32_t)m) mine[count++] = &s->kernels[k];
        const gpuc_module_blob *blob = &linked->modules[m];
        GPUC_TRY(api->module_load(s->device, blob->type_key, blob->bytes, blob->size, mine, count,
                                  &s->modules[m]));
        s->num_modules = (uint32_t)m + 1;
    }
    for (uint32_t k = 0; k < s->num_kernels; k++)
        GPUC_TRY(api->kernel_get(s->modules[s->kernels[k].module], s->kernels[k].name, &s->kernel_number[k]));
    for (int i = 0; i < p->num_workspaces; i++) {
        int64_t bytes = (int64_t)gpuc_dtype_bytes(p->workspaces[i]->dtype), d;
        for (int k = 0; k < p->workspaces[i]->ndim; k++) {
            if (!gpuc_expr_is_int(p->workspaces[i]->shape[k], &d))
                return gpuc_fail(GPUC_UNSUPPORTED, "%s: an intermediate tensor has no constant size",
                                 s->name);
            bytes *= d;
        }
        s->workspace_bytes[i] = (bytes + 15) / 16 * 16;
        GPUC_TRY(api->alloc_data_space(s->device, (size_t)s->workspace_bytes[i], GPUC_SLOT_ALIGN,
                                       &s->workspaces[i]));
        s->num_workspaces = (uint32_t)i + 1;
    }
    return NULL;
}

gpuc_module *gpuc_build_func(gpuc_ctx *ctx, gpuc_runtime *rt, gpuc_device *device, const gpuc_target *target,
                             const gpuc_tir_func *func)
{
    gpuc_kernel_code *code;
    gpuc_linked linked;
    const gpuc_tir_program *p = compile(ctx, target, func, &code, &linked);
    const gpuc_xexpr *required = requirements(ctx, p);
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    func_state *s = gpuc_mem_alloc(a, sizeof *s);
    if (!s) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for function %s", func->name);
    s->rt = rt;
    s->device = device;
    gpuc_arena_init(&s->arena, a);
    char *name = gpuc_arena_alloc(&s->arena, strlen(func->name) + 1);
    s->name = name ? strcpy(name, func->name) : "";
    s->num_buffers = (uint32_t)func->num_buffers;
    s->num_scalars = (uint32_t)func->num_scalars;
    gpuc_status status = fill_state(ctx, s, p, code, required, &linked);
    if (!status) status = load_state(s, p, &linked);
    gpuc_module *m = NULL;
    if (!status) status = gpuc_module_create(rt, &func_ops, s, &m);
    if (status) {
        destroy_state(s);
        gpuc_ctx_raise_status(ctx, gpuc_error_prefix(status, "building %s", func->name));
    }
    return m;
}

const char *gpuc_build_source(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func)
{
    gpuc_kernel_code *code;
    gpuc_linked linked;
    compile(ctx, target, func, &code, &linked);
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    for (int i = 0; i < linked.num_files; i++) {
        gpuc_buf_printf(&text, "%s%s:\n", i ? "\n" : "", linked.file_names[i]);
        gpuc_buf_bytes(&text, linked.files[i].bytes, linked.files[i].size);
    }
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}
