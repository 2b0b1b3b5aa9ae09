/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of code: lists the kernels in their bytes, and takes the source of one out of them. */
#include "library/code_module.h"

#include <stdio.h>
#include <string.h>

#include <gpuc/files.h>

#include "abi/code.h"
#include "runtime/services.h"

typedef struct code_module code_module;

/* A type of code. */
typedef struct code_type {
    gpuc_module_ops ops;
    const char *extension; /* of its files */
    const char *form;      /* its own form of source */
    /* Reads the bytes, and lists the kernels. */
    gpuc_status (*read)(code_module *m);
    /* Leaves the value null for a form that there is not. function: a kernel that it lists, or NULL for all. */
    gpuc_status (*source)(code_module *m, const char *form, const char *function, gpuc_value *out);
} code_type;

struct code_module {
    gpuc_runtime *rt;
    const code_type *type;
    gpuc_arena arena;
    void *bytes; /* in the arena */
    size_t size;
    uint32_t num_kernels;
    const char *const *kernels;
    gpuc_spirv_module spirv;
    gpuc_opencl_module opencl;
};

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a module of code");
}

/* ---- spirv ---- */

static gpuc_status read_spirv(code_module *m)
{
    GPUC_TRY(gpuc_abi_spirv_read(m->bytes, m->size, &m->arena, &m->spirv));
    const gpuc_spirv_module *s = &m->spirv;
    const char **names =
        gpuc_arena_alloc_array(&m->arena, (size_t)s->num_codes + s->num_shared, sizeof *names);
    if (!names) return out_of_memory();
    for (uint32_t i = 0; i < s->num_codes; i++) names[m->num_kernels++] = s->codes[i].name;
    for (uint32_t i = 0; i < s->num_shared; i++) {
        gpuc_spirv_kernel k = gpuc_abi_spirv_find(s, s->shared[i].kernel);
        if (!k.code)
            return gpuc_fail(GPUC_INVALID_DATA, "there is no code for kernel '%.64s'", s->shared[i].kernel);
        if (strcmp(k.code->name, s->shared[i].kernel) != 0) names[m->num_kernels++] = s->shared[i].kernel;
    }
    m->kernels = names;
    return NULL;
}

static gpuc_status disassemble(code_module *m, const gpuc_spirv_code *code, gpuc_buf *text)
{
    gpuc_function *f = gpuc_registry_get(m->rt, GPUC_LIBRARY_SPIRV_ASM);
    gpuc_value words = {.kind = GPUC_VALUE_BYTES,
                        .as.bytes = {.data = code->words, .size = code->num_words * sizeof(uint32_t)}};
    gpuc_value assembly;
    if (!f)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "SPIR-V assembly is made by the compiler's library built with "
                         "SPIRV-Tools (gpuc_compiler_register); the form 'spv' gives words");
    GPUC_TRY(gpuc_function_call(f, &words, 1, &assembly));
    if (assembly.kind == GPUC_VALUE_STRING) gpuc_buf_str(text, assembly.as.string);
    gpuc_value_clear(m->rt, &assembly);
    return gpuc_buf_status(text);
}

static gpuc_status spirv_assembly(code_module *m, const gpuc_spirv_code *only, gpuc_value *out)
{
    gpuc_buf text;
    gpuc_status status = NULL;
    gpuc_buf_init(&text, gpuc_runtime_allocator(m->rt));
    for (uint32_t i = 0; !status && i < m->spirv.num_codes; i++)
        if (!only || only == &m->spirv.codes[i]) status = disassemble(m, &m->spirv.codes[i], &text);
    if (!status) status = gpuc_value_set_string(m->rt, out, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return status;
}

static gpuc_status spirv_source(code_module *m, const char *form, const char *function, gpuc_value *out)
{
    const gpuc_spirv_code *code = function ? gpuc_abi_spirv_find(&m->spirv, function).code : NULL;
    if (strcmp(form, "asm") == 0) return spirv_assembly(m, code, out);
    if (strcmp(form, "spv") != 0) return NULL;
    if (!code && m->spirv.num_codes != 1)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the module has %u SPIR-V modules; name the function whose words are wanted",
                         m->spirv.num_codes);
    if (!code) code = m->spirv.codes;
    return gpuc_value_set_bytes(m->rt, out, code->words, code->num_words * sizeof(uint32_t));
}

/* ---- opencl_c ---- */

static gpuc_status read_opencl(code_module *m)
{
    uint32_t count = 0;
    GPUC_TRY(gpuc_abi_opencl_read(m->bytes, m->size, &m->arena, &m->opencl));
    const gpuc_opencl_module *c = &m->opencl;
    for (uint32_t i = 0; i < c->num_programs; i++) count += c->programs[i].num_functions;
    const char **names = gpuc_arena_alloc_array(&m->arena, count, sizeof *names);
    if (!names) return out_of_memory();
    for (uint32_t i = 0; i < c->num_programs; i++)
        for (uint32_t f = 0; f < c->programs[i].num_functions; f++)
            names[m->num_kernels++] = c->programs[i].functions[f].kernel;
    m->kernels = names;
    return NULL;
}

static gpuc_status opencl_source(code_module *m, const char *form, const char *function, gpuc_value *out)
{
    const gpuc_opencl_function *f;
    if (strcmp(form, "cl") != 0) return NULL;
    const gpuc_opencl_source *only = function ? gpuc_abi_opencl_find(&m->opencl, function, &f) : NULL;
    gpuc_buf text;
    gpuc_buf_init(&text, gpuc_runtime_allocator(m->rt));
    for (uint32_t i = 0; i < m->opencl.num_programs; i++)
        if (!only || only == &m->opencl.programs[i]) gpuc_buf_str(&text, m->opencl.programs[i].text);
    gpuc_status status = gpuc_buf_status(&text);
    if (!status) status = gpuc_value_set_string(m->rt, out, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return status;
}

/* ---- cpu_so ---- */

static gpuc_status read_object(code_module *m)
{
    return gpuc_abi_object_functions(m->bytes, m->size, &m->arena, &m->num_kernels, &m->kernels);
}

static gpuc_status object_source(code_module *m, const char *form, const char *function, gpuc_value *out)
{
    (void)function; /* all are in it */
    if (strcmp(form, "so") != 0) return NULL;
    return gpuc_value_set_bytes(m->rt, out, m->bytes, m->size);
}

/* ---- All types ---- */

static const char *function_name(gpuc_module *module, size_t i)
{
    const code_module *m = gpuc_module_state(module);
    return i < m->num_kernels ? m->kernels[i] : NULL;
}

static gpuc_status get_source(gpuc_module *module, const char *form, const char *function, gpuc_value *out)
{
    code_module *m = gpuc_module_state(module);
    bool found = !function;
    for (uint32_t i = 0; i < m->num_kernels && !found; i++) found = strcmp(m->kernels[i], function) == 0;
    if (!found)
        return gpuc_fail(GPUC_NOT_FOUND, "the module of type '%s' has no kernel '%.64s'",
                         m->type->ops.type_key, function);
    return m->type->source(m, *form ? form : m->type->form, function, out);
}

static gpuc_status save_to_binary(gpuc_module *module, gpuc_value *out_bytes)
{
    const code_module *m = gpuc_module_state(module);
    return gpuc_value_set_bytes(m->rt, out_bytes, m->bytes, m->size);
}

static void destroy(gpuc_module *module)
{
    code_module *m = gpuc_module_state(module);
    gpuc_arena_deinit(&m->arena);
    gpuc_mem_free(gpuc_runtime_allocator(m->rt), m, sizeof *m);
}

#define OPS(key)                                                                                             \
    {                                                                                                        \
        .type_key = key, .function_name = function_name, .get_source = get_source,                           \
        .save_to_binary = save_to_binary, .destroy = destroy                                                 \
    }
static const code_type types[] = {
    {OPS("spirv"), "spirv", "spv", read_spirv, spirv_source},
    {OPS("opencl_c"), "opencl_c", "cl", read_opencl, opencl_source},
    {OPS("cpu_so"), "so", "so", read_object, object_source},
};
enum { NUM_TYPES = sizeof types / sizeof *types };

/* ---- Making ---- */

static gpuc_status fill(code_module *m, const void *bytes, size_t size)
{
    m->bytes = gpuc_arena_alloc(&m->arena, size + 1);
    if (!m->bytes) return out_of_memory();
    if (size) memcpy(m->bytes, bytes, size);
    m->size = size;
    return m->type->read(m);
}

static gpuc_status create(gpuc_runtime *rt, const code_type *type, const void *bytes, size_t size,
                          gpuc_module **out)
{
    gpuc_allocator allocator = gpuc_runtime_allocator(rt);
    code_module *m = gpuc_mem_alloc(allocator, sizeof *m);
    if (!m) return out_of_memory();
    *m = (code_module){.rt = rt, .type = type};
    gpuc_arena_init(&m->arena, allocator);
    gpuc_status status = fill(m, bytes, size);
    if (!status) status = gpuc_module_create(rt, &type->ops, m, out);
    if (!status) return NULL;
    gpuc_arena_deinit(&m->arena);
    gpuc_mem_free(allocator, m, sizeof *m);
    return status;
}

gpuc_status gpuc_library_code_module(gpuc_runtime *rt, const char *type_key, const void *bytes, size_t size,
                                     gpuc_module **out)
{
    *out = NULL;
    for (int i = 0; i < NUM_TYPES; i++)
        if (strcmp(types[i].ops.type_key, type_key) == 0) return create(rt, &types[i], bytes, size, out);
    return gpuc_fail(GPUC_UNSUPPORTED, "there are no modules of code of type '%.64s'", type_key);
}

/* ---- Loaders ---- */

typedef struct loader {
    gpuc_runtime *rt;
    const code_type *type;
} loader;

static void free_loader(void *self)
{
    loader *l = self;
    gpuc_mem_free(gpuc_runtime_allocator(l->rt), l, sizeof *l);
}

/* (bytes) */
static gpuc_status load_binary(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    const loader *l = self;
    if (num_args != 1 || args[0].kind != GPUC_VALUE_BYTES || !args[0].as.bytes.data)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the loader of modules of type '%s' takes bytes",
                         l->type->ops.type_key);
    ret->kind = GPUC_VALUE_MODULE;
    return create(l->rt, l->type, args[0].as.bytes.data, args[0].as.bytes.size, &ret->as.module);
}

/* (path, and what else gpuc_module_load_file passes) */
static gpuc_status load_file(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    const loader *l = self;
    gpuc_mapping mapping;
    if (num_args < 1 || args[0].kind != GPUC_VALUE_STRING || !args[0].as.string)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the loader of .%s files takes a path", l->type->extension);
    GPUC_TRY(gpuc_file_map(args[0].as.string, &mapping));
    ret->kind = GPUC_VALUE_MODULE;
    gpuc_status status = create(l->rt, l->type, mapping.data, mapping.size, &ret->as.module);
    gpuc_file_unmap(&mapping);
    return gpuc_error_prefix(status, "'%s'", args[0].as.string);
}

static gpuc_status enter(gpuc_runtime *rt, const code_type *type, const char *what, const char *name,
                         gpuc_packed_fn fn)
{
    char full[64];
    snprintf(full, sizeof full, "runtime.module.%s_%s", what, name);
    loader *l = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *l);
    if (!l) return out_of_memory();
    *l = (loader){.rt = rt, .type = type};
    return gpuc_registry_set_fn(rt, full, fn, l, free_loader, true);
}

gpuc_status gpuc_library_register_code(gpuc_runtime *rt)
{
    for (int i = 0; i < NUM_TYPES; i++) {
        GPUC_TRY(enter(rt, &types[i], "loadbinary", types[i].ops.type_key, load_binary));
        GPUC_TRY(enter(rt, &types[i], "loadfile", types[i].extension, load_file));
    }
    return NULL;
}
