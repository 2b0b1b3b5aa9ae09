/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: the types of code modules, loaded from bytes, and all that a module of each tells. */
#include <stdio.h>
#include <stdlib.h>

#include <gpuc/runtime.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(gpuc_status status)
{
    if (!status) return;
    fprintf(stderr, "%s\n", gpuc_status_message(status));
    abort();
}

static gpuc_runtime *runtime(void)
{
    static gpuc_runtime *rt; /* for all inputs: nothing of one stays in it */
    if (rt) return rt;
    check(gpuc_runtime_create(NULL, &rt));
    check(gpuc_module_types_register(rt));
    return rt;
}

static void read_source(gpuc_module *m, const char *function)
{
    static const char *const forms[] = {"", "spv", "cl", "so", "asm"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        gpuc_value v;
        gpuc_status status = gpuc_module_get_source(m, forms[i], function, &v);
        if (!status) gpuc_value_clear(runtime(), &v);
        gpuc_status_release(status);
    }
}

static void look(gpuc_module *m)
{
    gpuc_value bytes;
    const char *name;
    read_source(m, NULL);
    for (size_t i = 0; i < 16 && (name = gpuc_module_function_name(m, i)); i++) {
        gpuc_function *f;
        gpuc_status status = gpuc_module_get_function(m, name, &f);
        if (!status) gpuc_function_release(f);
        gpuc_status_release(status);
        read_source(m, name);
    }
    check(gpuc_module_save_binary(m, &bytes));
    gpuc_value_clear(runtime(), &bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {"spirv", "opencl_c", "cpu_so"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        gpuc_module *m;
        gpuc_status status = gpuc_module_load_binary(runtime(), types[i], data, size, &m);
        if (!status) look(m);
        if (!status) gpuc_module_release(m);
        gpuc_status_release(status);
    }
    return 0;
}
