/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of type "foo_code": what target.build.foo gives and packages hold. They can be saved, listed and loaded. */
#include <string.h>

#include <gpuc/driver.h>
#include <gpuc/files.h>

#include "foo.h"

typedef struct state {
    gpuc_runtime *rt;
    foo_bytes bytes; /* as they were read */
    foo_program program;
} state;

static gpuc_status save_to_binary(gpuc_module *m, gpuc_value *out)
{
    const state *s = gpuc_module_state(m);
    return gpuc_value_set_bytes(s->rt, out, s->bytes.data, s->bytes.size);
}

static const char *function_name(gpuc_module *m, size_t i)
{
    const state *s = gpuc_module_state(m);
    return i < s->program.num_kernels ? s->program.kernels[i].name : NULL;
}

static gpuc_status get_source(gpuc_module *m, const char *form, const char *function, gpuc_value *out)
{
    const state *s = gpuc_module_state(m);
    if (*form && strcmp(form, "foo") != 0) return NULL;
    foo_bytes text = {.allocator = gpuc_runtime_allocator(s->rt)};
    bool found = !function;
    for (uint32_t i = 0; i < s->program.num_kernels; i++) {
        if (function && strcmp(function, s->program.kernels[i].name) != 0) continue;
        foo_kernel_list(&text, &s->program.kernels[i]);
        found = true;
    }
    foo_bytes_add(&text, "", 1);
    gpuc_status status = !found        ? gpuc_fail(GPUC_NOT_FOUND, "the module has no kernel '%s'", function)
                         : text.failed ? gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a listing")
                                       : gpuc_value_set_string(s->rt, out, (const char *)text.data);
    foo_bytes_free(&text);
    return status;
}

static void free_state(state *s)
{
    gpuc_allocator a = s->bytes.allocator;
    foo_program_free(&s->program);
    foo_bytes_free(&s->bytes);
    foo_resize(a, s, sizeof *s, 0);
}

static void destroy(gpuc_module *m)
{
    free_state(gpuc_module_state(m));
}

static const gpuc_module_ops module_ops = {.type_key = FOO_MODULE_TYPE,
                                           .save_to_binary = save_to_binary,
                                           .destroy = destroy,
                                           .function_name = function_name,
                                           .get_source = get_source};

gpuc_status foo_module_create(gpuc_runtime *rt, const void *bytes, size_t size, gpuc_module **out)
{
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    state *s = foo_resize(a, NULL, 0, sizeof *s);
    *out = NULL;
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a module");
    *s = (state){.rt = rt, .bytes = {.allocator = a}, .program = {.allocator = a}};
    foo_bytes_add(&s->bytes, bytes, size);
    gpuc_status status = s->bytes.failed ? gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a module")
                                         : foo_program_read(a, bytes, size, &s->program);
    if (!status) status = gpuc_module_create(rt, &module_ops, s, out);
    if (status) free_state(s);
    return status;
}

/* runtime.module.loadbinary_foo_code(bytes) -> module; self is the runtime. */
static gpuc_status load_binary(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    if (num_args != 1 || args[0].kind != GPUC_VALUE_BYTES)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "loadbinary_foo_code takes bytes");
    gpuc_module *m;
    GPUC_TRY(foo_module_create(self, args[0].as.bytes.data, args[0].as.bytes.size, &m));
    *ret = (gpuc_value){.kind = GPUC_VALUE_MODULE, .as.module = m};
    return NULL;
}

/* runtime.module.loadfile_foo(path, device or null, flags) -> module. The code is for any foo device. */
static gpuc_status load_file(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    if (num_args < 1 || args[0].kind != GPUC_VALUE_STRING)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "loadfile_foo takes the path of a file");
    gpuc_mapping file;
    gpuc_module *m;
    GPUC_TRY(gpuc_file_map(args[0].as.string, &file));
    gpuc_status status =
        gpuc_error_prefix(foo_module_create(self, file.data, file.size, &m), "'%s'", args[0].as.string);
    gpuc_file_unmap(&file);
    if (!status) *ret = (gpuc_value){.kind = GPUC_VALUE_MODULE, .as.module = m};
    return status;
}

gpuc_status foo_module_register(gpuc_runtime *rt)
{
    GPUC_TRY(
        gpuc_registry_set_fn(rt, "runtime.module.loadbinary_" FOO_MODULE_TYPE, load_binary, rt, NULL, false));
    return gpuc_registry_set_fn(rt, "runtime.module.loadfile_foo", load_file, rt, NULL, false);
}
