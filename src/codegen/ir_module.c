/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of kernels that are to become code. */
#include "codegen/ir_module.h"

#include <string.h>

gpuc_ir_module *gpuc_ir_module_create(gpuc_ctx *ctx, const gpuc_target *target)
{
    if (!target) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a module of kernels: the target is NULL");
    gpuc_ir_module *m = gpuc_new(ctx, gpuc_ir_module);
    m->ctx = ctx;
    m->target = target;
    return m;
}

static void add(gpuc_ir_module *m, gpuc_ir_kernel kernel)
{
    gpuc_ptrs_push(m->ctx, &m->kernels, gpuc_ctx_memdup(m->ctx, &kernel, sizeof kernel));
}

static const char *name_of(const gpuc_ir_kernel *k)
{
    return k->func ? k->func->name : k->code->meta.name;
}

void gpuc_ir_module_add(gpuc_ir_module *m, const gpuc_tir_func *kernel)
{
    if (!kernel)
        gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "adding to a module of kernels: the kernel is NULL");
    for (size_t i = 0; i < m->kernels.count; i++)
        if (strcmp(name_of(m->kernels.at[i]), kernel->name) == 0)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "the module has a kernel '%s' already", kernel->name);
    add(m, (gpuc_ir_kernel){.func = kernel});
}

void gpuc_ir_module_add_deferred(gpuc_ir_module *m, const gpuc_kernel_code *code)
{
    GPUC_CHECK(code->deferred);
    add(m, (gpuc_ir_kernel){.code = code});
}

const gpuc_target *gpuc_ir_module_target(const gpuc_ir_module *m)
{
    return m->target;
}

int gpuc_ir_module_count(const gpuc_ir_module *m)
{
    return (int)m->kernels.count;
}

const gpuc_tir_func *gpuc_ir_module_func(gpuc_ir_module *m, int i)
{
    if (i < 0 || (size_t)i >= m->kernels.count)
        gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "there is no kernel %d in a module of %zu", i,
                   m->kernels.count);
    gpuc_ir_kernel *k = m->kernels.at[i];
    if (!k->func) k->func = gpuc_tir_parse(m->ctx, k->code->bytes, k->code->meta.name);
    return k->func;
}

void gpuc_ir_module_require(gpuc_ir_module *m, const char *name, int64_t at_least)
{
    if (!name || !*name) gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "a requirement of code has no name");
    gpuc_requirement r = {.name = gpuc_ctx_strdup(m->ctx, name), .at_least = at_least};
    gpuc_ptrs_push(m->ctx, &m->requirements, gpuc_ctx_memdup(m->ctx, &r, sizeof r));
}

void gpuc_ir_module_link(gpuc_ir_module *m, gpuc_linked *out)
{
    int n = gpuc_ir_module_count(m);
    gpuc_kernel_code *code = gpuc_new_array(m->ctx, gpuc_kernel_code, n);
    for (int i = 0; i < n; i++) {
        const gpuc_ir_kernel *k = m->kernels.at[i];
        gpuc_codegen_emit(m->ctx, m->target, gpuc_ir_module_func(m, i), &code[i]);
        if (k->code) code[i].meta = k->code->meta;
    }
    gpuc_codegen_link(m->ctx, m->target, n, code, out);
    for (int i = 0; i < out->num_requirements; i++)
        gpuc_ir_module_require(m, out->requirements[i].name, out->requirements[i].at_least);
    m->num_files = out->num_files;
    m->file_names = out->file_names;
    m->files = out->files;
}
