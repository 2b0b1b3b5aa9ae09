/* SPDX-License-Identifier: Apache-2.0 */
/* Generates code through target.build.<kind>: gpuc's own functions, and those that others put in their place. */
#include "compile/build_code.h"

#include <stdio.h>
#include <string.h>

#include "library/code_module.h"
#include "runtime/services.h"

/* ---- gpuc's own ---- */

typedef struct own_build {
    gpuc_runtime *rt;
    const char *kind;
    gpuc_ir_module *ir;
    gpuc_module *out;
} own_build;

/* The modules of code: the first, which imports the others. */
static gpuc_status make_modules(gpuc_runtime *rt, const gpuc_linked *linked, gpuc_module **out)
{
    gpuc_status status = NULL;
    *out = NULL;
    for (int i = 0; i < linked->num_modules && !status; i++) {
        const gpuc_module_blob *b = &linked->modules[i];
        gpuc_module *m;
        status = gpuc_library_code_module(rt, b->type_key, b->bytes, b->size, &m);
        if (status) break;
        if (i == 0) {
            *out = m;
            continue;
        }
        status = gpuc_module_import(*out, m);
        gpuc_module_release(m);
    }
    if (!status) return NULL;
    gpuc_module_release(*out);
    *out = NULL;
    return status;
}

static void run_own(gpuc_ctx *ctx, void *arg)
{
    own_build *b = arg;
    gpuc_linked linked;
    const char *kind = gpuc_target_kind(b->ir->target);
    if (strcmp(kind, b->kind) != 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target.build.%s: the kernels are for '%s'", b->kind,
                   gpuc_target_text(ctx, b->ir->target));
    if (b->ir->kernels.count == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target.build.%s: the module has no kernels", b->kind);
    gpuc_ir_module_link(b->ir, &linked);
    GPUC_RAISE_IF(ctx, make_modules(b->rt, &linked, &b->out));
}

typedef struct own_self {
    gpuc_runtime *rt;
    const char *kind;
} own_self;

/* target.build.<kind>: (context handle, gpuc_ir_module handle) -> module */
static gpuc_status build_own(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    const own_self *s = self;
    if (num_args != 2 || args[0].kind != GPUC_VALUE_HANDLE || args[1].kind != GPUC_VALUE_HANDLE)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "target.build.%s takes a context and a module of kernels",
                         s->kind);
    if (!args[0].as.handle || !args[1].as.handle)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "target.build.%s: the %s is NULL", s->kind,
                         args[0].as.handle ? "module of kernels" : "context");
    own_build b = {.rt = s->rt, .kind = s->kind, .ir = args[1].as.handle};
    GPUC_TRY(gpuc_ctx_protect(args[0].as.handle, run_own, &b));
    *ret = (gpuc_value){.kind = GPUC_VALUE_MODULE, .as.module = b.out};
    return NULL;
}

static void free_self(void *self)
{
    own_self *s = self;
    gpuc_mem_free(gpuc_runtime_allocator(s->rt), s, sizeof *s);
}

static void builder_name(const char *kind, char out[96])
{
    snprintf(out, 96, "target.build.%s", kind);
}

gpuc_status gpuc_compile_builders_register(gpuc_runtime *rt)
{
    for (size_t i = 0; i < gpuc_target_kind_count(NULL); i++) {
        const char *kind = gpuc_target_kind_at(NULL, i)->name;
        char name[96];
        builder_name(kind, name);
        own_self *s = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *s);
        if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", name);
        *s = (own_self){.rt = rt, .kind = kind};
        GPUC_TRY(gpuc_registry_set_fn(rt, name, build_own, s, free_self, false));
    }
    return NULL;
}

/* ---- Those of others ---- */

/* The function that is to make the code; NULL: gpuc's own generator does, without a detour. */
static gpuc_function *find_foreign(const gpuc_ctx *ctx, const gpuc_target *t)
{
    char name[96];
    builder_name(gpuc_target_kind(t), name);
    gpuc_function *f = ctx->runtime ? gpuc_registry_get(ctx->runtime, name) : NULL;
    return f && !gpuc_runtime_function_is(f, build_own) ? f : NULL;
}

void gpuc_compile_emit(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                       gpuc_kernel_code *out)
{
    if (find_foreign(ctx, t))
        gpuc_codegen_defer(ctx, t, kernel, out);
    else
        gpuc_codegen_emit(ctx, t, kernel, out);
}

static void release_builder(void *f)
{
    gpuc_function_release(f);
}

static gpuc_module *call_builder(gpuc_ir_module *ir, gpuc_runtime *rt)
{
    gpuc_ctx *ctx = ir->ctx;
    char name[96];
    gpuc_value ret;
    gpuc_module *out;
    builder_name(gpuc_target_kind(ir->target), name);
    gpuc_function *f = gpuc_registry_get(rt, name);
    if (!f)
        gpuc_raise(
            ctx, GPUC_NOT_FOUND,
            "no function '%s' is registered to generate code; gpuc_compiler_register registers gpuc's own",
            name);
    gpuc_value args[] = {{.kind = GPUC_VALUE_HANDLE, .as.handle = ctx},
                         {.kind = GPUC_VALUE_HANDLE, .as.handle = ir}};
    gpuc_function_retain(f); /* the builder may replace itself, and may raise */
    gpuc_ctx_push_cleanup(ctx, release_builder, f);
    GPUC_RAISE_IF(ctx, gpuc_runtime_function_run(f, args, 2, &ret));
    gpuc_ctx_pop_cleanup(ctx, true);
    GPUC_RAISE_IF(ctx, gpuc_runtime_module_of(rt, name, &ret, &out));
    return out;
}

gpuc_module *gpuc_ir_module_build(gpuc_ir_module *m, gpuc_runtime *rt)
{
    if (m->ctx->runtime) rt = m->ctx->runtime;
    if (!rt) gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "building a module of kernels: the runtime is NULL");
    return call_builder(m, rt);
}

static void release_module(void *module)
{
    gpuc_module_release(module);
}

static gpuc_module *module_at(gpuc_module *m, size_t i)
{
    return i ? gpuc_module_imported(m, i - 1) : m;
}

/* Bytes of a module whose imports are stored beside it. */
static gpuc_module_blob take_bytes(gpuc_ctx *ctx, gpuc_module *m)
{
    gpuc_value bytes;
    GPUC_RAISE_IF(ctx, gpuc_runtime_module_save_alone(m, &bytes));
    gpuc_module_blob out = {.type_key = gpuc_ctx_strdup(ctx, gpuc_module_type_key(m)),
                            .size = bytes.as.bytes.size};
    void *copy = gpuc_arena_alloc(&ctx->arena, out.size + 1);
    if (copy && out.size) memcpy(copy, bytes.as.bytes.data, out.size);
    gpuc_value_clear(ctx->runtime, &bytes);
    if (!copy) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for code of %zu bytes", out.size);
    out.bytes = copy;
    return out;
}

enum { MAX_FUNCTIONS = 1 << 20 }; /* a module that lists more does not end */

/* The number of the module that has a kernel. */
static uint32_t find_module(gpuc_ctx *ctx, gpuc_module *first, const char *kernel)
{
    for (size_t i = 0; module_at(first, i); i++) {
        gpuc_module *m = module_at(first, i);
        if (!gpuc_module_function_name(m, 0)) return (uint32_t)i;
        for (size_t f = 0; f < MAX_FUNCTIONS && gpuc_module_function_name(m, f); f++)
            if (strcmp(gpuc_module_function_name(m, f), kernel) == 0) return (uint32_t)i;
    }
    gpuc_raise(ctx, GPUC_INVALID_DATA, "the code that was generated has no kernel '%s'", kernel);
}

static void *list_of(gpuc_ctx *ctx, const gpuc_ptrs *items, size_t size)
{
    char *out = gpuc_ctx_alloc_array(ctx, items->count + 1, size);
    for (size_t i = 0; i < items->count; i++) memcpy(out + i * size, items->at[i], size);
    return out;
}

static void link_foreign(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                         gpuc_linked *out)
{
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, t);
    for (int i = 0; i < n; i++) gpuc_ir_module_add_deferred(ir, &kernels[i]);
    gpuc_module *first = call_builder(ir, ctx->runtime);
    gpuc_ctx_push_cleanup(ctx, release_module, first);
    int count = 0;
    while (module_at(first, (size_t)count)) count++;
    gpuc_module_blob *modules = gpuc_new_array(ctx, gpuc_module_blob, count);
    uint32_t *kernel_module = gpuc_new_array(ctx, uint32_t, n);
    for (int i = 0; i < count; i++) modules[i] = take_bytes(ctx, module_at(first, (size_t)i));
    for (int i = 0; i < n; i++) kernel_module[i] = find_module(ctx, first, kernels[i].meta.name);
    *out = (gpuc_linked){
        .num_modules = count,
        .modules = modules,
        .kernel_module = kernel_module,
        .num_requirements = (int)ir->requirements.count,
        .requirements = list_of(ctx, &ir->requirements, sizeof(gpuc_requirement)),
        .num_files = ir->num_files,
        .file_names = ir->file_names,
        .files = ir->files,
    };
    gpuc_ctx_pop_cleanup(ctx, true);
}

void gpuc_compile_link(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                       gpuc_linked *out)
{
    if (n == 0) /* for which no kind needs a generator */
        *out = (gpuc_linked){.kernel_module = gpuc_new_array(ctx, uint32_t, 1)};
    else if (find_foreign(ctx, t))
        link_foreign(ctx, t, n, kernels, out);
    else
        gpuc_codegen_link(ctx, t, n, kernels, out);
}

/* Source text of a module: assembly where its own form is words. */
static const char *text_of(gpuc_ctx *ctx, gpuc_module *m)
{
    static const char *const forms[] = {"asm", ""};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        gpuc_value source;
        gpuc_status status = gpuc_module_get_source(m, forms[i], NULL, &source);
        const char *text =
            !status && source.kind == GPUC_VALUE_STRING ? gpuc_ctx_strdup(ctx, source.as.string) : NULL;
        if (!status) gpuc_value_clear(ctx->runtime, &source);
        gpuc_status_release(status);
        if (text) return text;
    }
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "modules of type '%s' have no source to read", gpuc_module_type_key(m));
}

const char *gpuc_compile_text(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels)
{
    if (n == 0 || !find_foreign(ctx, t)) return gpuc_codegen_text(ctx, t, n, kernels);
    const char *text = "";
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, t);
    for (int i = 0; i < n; i++) gpuc_ir_module_add_deferred(ir, &kernels[i]);
    gpuc_module *first = call_builder(ir, ctx->runtime);
    gpuc_ctx_push_cleanup(ctx, release_module, first);
    for (size_t i = 0; module_at(first, i); i++)
        text = gpuc_ctx_printf(ctx, "%s%s", text, text_of(ctx, module_at(first, i)));
    gpuc_ctx_pop_cleanup(ctx, true);
    return text;
}
