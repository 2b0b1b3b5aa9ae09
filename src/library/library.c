/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a library: the program of its package that the device can run, as a module with a packed function per
 * entry. */
#include "library/library.h"

#include <stdio.h>
#include <string.h>

#include "base/require.h"
#include "library/code_module.h"

/* ---- The module ---- */

static void destroy(gpuc_module *m)
{
    gpuc_loaded_library *l = gpuc_module_state(m);
    gpuc_allocator a = gpuc_runtime_allocator(l->rt);
    gpuc_loader_unload(&l->code);
    gpuc_arena_deinit(&l->arena);
    gpuc_buf_deinit(&l->bytes);
    gpuc_file_unmap(&l->mapping);
    gpuc_mem_free(a, l, sizeof *l);
}

static gpuc_status get_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    const gpuc_loaded_library *l = gpuc_module_state(m);
    *out = NULL;
    for (uint32_t i = 0; i < l->program->num_entries; i++)
        if (strcmp(l->program->entries[i].name, name) == 0)
            return gpuc_function_create(l->rt, gpuc_library_call, &l->functions[i], NULL, m, out);
    return NULL;
}

static const char *function_name(gpuc_module *m, size_t i)
{
    const gpuc_loaded_library *l = gpuc_module_state(m);
    return i < l->program->num_entries ? l->program->entries[i].name : NULL;
}

static gpuc_status save_to_binary(gpuc_module *m, gpuc_value *out_bytes)
{
    const gpuc_loaded_library *l = gpuc_module_state(m);
    const void *bytes = l->mapping.size ? (const void *)l->mapping.data : l->bytes.data;
    return gpuc_value_set_bytes(l->rt, out_bytes, bytes, l->mapping.size ? l->mapping.size : l->bytes.size);
}

static const gpuc_module_ops library_ops = {.type_key = "library",
                                            .get_function = get_function,
                                            .save_to_binary = save_to_binary,
                                            .destroy = destroy,
                                            .function_name = function_name,
                                            .get_source = gpuc_library_loaded_source};

/* ---- Choosing ---- */

static gpuc_status try_program(gpuc_loaded_library *l, const gpuc_program *p, gpuc_device *given,
                               bool allow_native)
{
    gpuc_device *dev = given;
    if (!dev) GPUC_TRY(gpuc_device_open(l->rt, (gpuc_device_type)p->device_type, 0, &dev));
    GPUC_TRY(gpuc_loader_check_native_code(p, allow_native));
    GPUC_TRY(gpuc_loader_check_requirements(p, &dev, 1));
    l->device = dev;
    l->program = p;
    return NULL;
}

static gpuc_status choose(gpuc_loaded_library *l, const gpuc_package *package, gpuc_device *given,
                          bool allow_native, gpuc_buf *reasons)
{
    for (uint32_t i = 0; i < package->num_programs; i++) {
        const gpuc_program *p = &package->programs[i];
        if (given && p->device_type != (uint32_t)given->type) continue;
        gpuc_status s = try_program(l, p, given, allow_native);
        if (!s || gpuc_status_code(s) == GPUC_OUT_OF_MEMORY) return s;
        gpuc_buf_printf(reasons, "%starget '%s': %s", reasons->size ? "; " : ": ", p->target,
                        gpuc_status_message(s));
        gpuc_status_release(s);
    }
    GPUC_TRY(gpuc_buf_status(reasons));
    if (reasons->size || !given)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no program of the library can run here%s",
                         gpuc_buf_cstr(reasons));
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "the library holds nothing for %s devices", given->api->name);
}

/* ---- Loading ---- */

static void note_step(const gpuc_program *p, const gpuc_entry *e, const gpuc_entry_step *step, bool *launched,
                      bool *written)
{
    const gpuc_kernel *k = &p->kernels[step->kernel];
    launched[step->kernel] = true;
    for (uint32_t t = 0; t < k->num_tensors; t++)
        if (step->slots[t] < e->num_arrays && (k->tensors[t].access & GPUC_ACCESS_WRITE))
            written[step->slots[t]] = true;
}

static gpuc_status load_code(gpuc_loaded_library *l)
{
    const gpuc_program *p = l->program;
    bool *launched = gpuc_arena_alloc_array(&l->arena, p->num_kernels, sizeof *launched);
    l->functions = gpuc_arena_alloc_array(&l->arena, p->num_entries, sizeof *l->functions);
    if (!launched || !l->functions) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a library");
    for (uint32_t i = 0; i < p->num_entries; i++) {
        const gpuc_entry *e = &p->entries[i];
        bool *written = gpuc_arena_alloc_array(&l->arena, e->num_arrays, sizeof *written);
        if (!written) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a library");
        l->functions[i] = (gpuc_library_function){.library = l, .entry = e, .written = written};
        for (uint32_t s = 0; s < e->num_steps; s++) note_step(p, e, &e->steps[s], launched, written);
    }
    l->code.dev = l->device;
    gpuc_loaded *code = &l->code;
    gpuc_status s = gpuc_loader_load(code, p, launched, false, &l->arena);
    const gpuc_making all = {.loaded = &code, .num_loaded = 1, .richest = true};
    if (!s) s = gpuc_loader_make(l->rt, &all);
    return gpuc_error_prefix(s, "target '%s'", p->target);
}

static gpuc_status check_flags(uint32_t flags)
{
    if ((flags & ~(uint32_t)GPUC_LOAD_NATIVE_CODE) == 0) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "loading a library: flags 0x%x has unknown bits", flags);
}

/* The program's code as modules that the library imports; but for types that no loader is registered for. */
static gpuc_status import_code(gpuc_loaded_library *l, gpuc_module *library)
{
    const gpuc_program *p = l->program;
    l->code_modules = gpuc_arena_alloc_array(&l->arena, p->num_modules, sizeof *l->code_modules);
    if (!l->code_modules) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a library");
    for (uint32_t i = 0; i < p->num_modules; i++) {
        const gpuc_module_blob *b = &p->modules[i];
        gpuc_status s = gpuc_library_code_module(l->rt, b->type_key, b->bytes, b->size, &l->code_modules[i]);
        if (gpuc_status_code(s) == GPUC_UNSUPPORTED) {
            gpuc_status_release(s);
            s = gpuc_module_load_binary(l->rt, b->type_key, b->bytes, b->size, &l->code_modules[i]);
        }
        if (gpuc_status_code(s) == GPUC_NOT_FOUND) {
            gpuc_status_release(s);
            continue;
        }
        if (!s) s = gpuc_runtime_module_contain(library, l->code_modules[i]);
        gpuc_module_release(l->code_modules[i]); /* the library holds it */
        GPUC_TRY(s);
    }
    return NULL;
}

static gpuc_status load(gpuc_module *library, gpuc_loaded_library *l, const void *bytes, size_t size,
                        gpuc_device *given, bool allow_native)
{
    gpuc_package package;
    if (given && given->runtime != l->rt)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the device belongs to another runtime");
    GPUC_TRY(gpuc_abi_package_read(bytes, size, false, &l->arena, &package, NULL, NULL));
    if (!package.is_library)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "it is a network, not a library of functions; load it with gpuc_model_load");
    gpuc_buf reasons;
    gpuc_buf_init(&reasons, gpuc_runtime_allocator(l->rt));
    gpuc_status s = choose(l, &package, given, allow_native, &reasons);
    gpuc_buf_deinit(&reasons);
    GPUC_TRY(s);
    GPUC_TRY(load_code(l));
    return import_code(l, library);
}

static gpuc_status create(gpuc_runtime *rt, gpuc_loaded_library **out_state, gpuc_module **out)
{
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    gpuc_loaded_library *l = gpuc_mem_alloc(a, sizeof *l);
    if (!l) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a library");
    *l = (gpuc_loaded_library){.rt = rt};
    gpuc_arena_init(&l->arena, a);
    gpuc_buf_init(&l->bytes, a);
    gpuc_status s = gpuc_module_create(rt, &library_ops, l, out);
    if (s) gpuc_mem_free(a, l, sizeof *l);
    *out_state = l;
    return s;
}

gpuc_status gpuc_library_from_bytes(gpuc_runtime *rt, gpuc_buf *bytes, gpuc_device *device,
                                    bool allow_native_code, gpuc_module **out)
{
    gpuc_loaded_library *l;
    *out = NULL;
    gpuc_status s = create(rt, &l, out);
    if (s) {
        gpuc_buf_deinit(bytes);
        return s;
    }
    l->bytes = *bytes;
    gpuc_buf_init(bytes, l->bytes.allocator);
    s = load(*out, l, l->bytes.data, l->bytes.size, device, allow_native_code);
    if (!s) return NULL;
    gpuc_module_release(*out);
    *out = NULL;
    return s;
}

gpuc_status gpuc_module_load_bytes(gpuc_runtime *rt, const void *bytes, size_t size, gpuc_device *device,
                                   uint32_t flags, gpuc_module **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(bytes);
    GPUC_TRY(check_flags(flags));
    gpuc_buf copy;
    gpuc_buf_init(&copy, gpuc_runtime_allocator(rt));
    gpuc_buf_bytes(&copy, bytes, size);
    gpuc_status s = gpuc_buf_status(&copy);
    if (!s) return gpuc_library_from_bytes(rt, &copy, device, flags & GPUC_LOAD_NATIVE_CODE, out);
    gpuc_buf_deinit(&copy);
    return s;
}

static gpuc_status load_file(gpuc_runtime *rt, const char *path, gpuc_device *device, uint32_t flags,
                             gpuc_module **out)
{
    gpuc_loaded_library *l;
    gpuc_mapping mapping;
    *out = NULL;
    GPUC_TRY(check_flags(flags));
    GPUC_TRY(gpuc_file_map(path, &mapping));
    gpuc_status s = create(rt, &l, out);
    if (s) {
        gpuc_file_unmap(&mapping);
        return s;
    }
    l->mapping = mapping;
    s = load(*out, l, mapping.data, mapping.size, device, flags & GPUC_LOAD_NATIVE_CODE);
    if (!s) return NULL;
    gpuc_module_release(*out);
    *out = NULL;
    return gpuc_error_prefix(s, "'%s'", path);
}

/* ---- By the registry ---- */

gpuc_status gpuc_module_load_file(gpuc_runtime *rt, const char *path, gpuc_device *device, uint32_t flags,
                                  gpuc_module **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(path);
    const char *dot = strrchr(path, '.');
    char name[96];
    int length =
        dot && !strchr(dot, '/') ? snprintf(name, sizeof name, "runtime.module.loadfile_%s", dot + 1) : 0;
    if (length <= 0 || (size_t)length >= sizeof name || !gpuc_registry_get(rt, name))
        return load_file(rt, path, device, flags, out);
    gpuc_value args[] = {
        {.kind = GPUC_VALUE_STRING, .as.string = path},
        {.kind = device ? GPUC_VALUE_DEVICE : GPUC_VALUE_NULL, .as.device = device},
        {.kind = GPUC_VALUE_INT, .as.i = flags},
    };
    return gpuc_runtime_module_by(rt, name, args, 3, out);
}

/* The device and the flags behind the first argument; both may be missing. */
static gpuc_status take_options(const gpuc_value *args, int num_args, gpuc_device **device, uint32_t *flags)
{
    *device = num_args > 1 && args[1].kind == GPUC_VALUE_DEVICE ? args[1].as.device : NULL;
    *flags = num_args > 2 && args[2].kind == GPUC_VALUE_INT ? (uint32_t)args[2].as.i : 0;
    bool fits = num_args <= 3;
    fits = fits && (num_args < 2 || args[1].kind == GPUC_VALUE_NULL || args[1].kind == GPUC_VALUE_DEVICE);
    fits = fits && (num_args < 3 || (args[2].kind == GPUC_VALUE_INT && args[2].as.i == *flags));
    if (fits) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "the loader of libraries takes a device or null, then flags (gpuc_load_flag)");
}

/* (bytes, device, flags) */
static gpuc_status packed_load_binary(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    gpuc_device *device;
    uint32_t flags;
    if (num_args < 1 || args[0].kind != GPUC_VALUE_BYTES)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the loader of libraries takes bytes");
    GPUC_TRY(take_options(args, num_args, &device, &flags));
    ret->kind = GPUC_VALUE_MODULE;
    return gpuc_module_load_bytes(self, args[0].as.bytes.data, args[0].as.bytes.size, device, flags,
                                  &ret->as.module);
}

/* (path, device, flags) */
static gpuc_status packed_load_file(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    gpuc_device *device;
    uint32_t flags;
    if (num_args < 1 || args[0].kind != GPUC_VALUE_STRING || !args[0].as.string)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the loader of libraries takes a path");
    GPUC_TRY(take_options(args, num_args, &device, &flags));
    ret->kind = GPUC_VALUE_MODULE;
    return load_file(self, args[0].as.string, device, flags, &ret->as.module);
}

gpuc_status gpuc_module_types_register(gpuc_runtime *rt)
{
    GPUC_REQUIRE(rt);
    GPUC_TRY(
        gpuc_registry_set_fn(rt, "runtime.module.loadbinary_library", packed_load_binary, rt, NULL, true));
    GPUC_TRY(gpuc_registry_set_fn(rt, "runtime.module.loadfile_gpuc-lib", packed_load_file, rt, NULL, true));
    return gpuc_library_register_code(rt);
}
