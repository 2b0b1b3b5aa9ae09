/* SPDX-License-Identifier: Apache-2.0 */
/* Implements modules: functions by name, imports, source, and saving and loading as bytes. */
#include <stdio.h>

#include <gpuc/files.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

struct gpuc_module {
    gpuc_runtime *runtime;
    atomic_size_t refs;
    const gpuc_module_ops *ops;
    void *state;
    gpuc_module **imports;
    size_t num_imports, import_capacity;
    size_t num_contained; /* of the imports, the first ones: the module's own bytes hold them */
    bool
        imported; /* by another, perhaps no more; one that never was ends no circle, so that chains grow at once */
};

gpuc_status gpuc_module_create(gpuc_runtime *rt, const gpuc_module_ops *ops, void *state, gpuc_module **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(ops);
    GPUC_REQUIRE(ops->type_key);
    gpuc_module *m = gpuc_mem_alloc(rt->allocator, sizeof *m);
    if (!m) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a module of type '%s'", ops->type_key);
    m->runtime = rt;
    atomic_init(&m->refs, 1);
    m->ops = ops;
    m->state = state;
    m->imports = NULL;
    m->num_imports = m->import_capacity = m->num_contained = 0;
    m->imported = false;
    gpuc_runtime_pin(rt);
    *out = m;
    return NULL;
}

gpuc_module *gpuc_module_retain(gpuc_module *m)
{
    if (m) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void gpuc_module_release(gpuc_module *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    gpuc_runtime *rt = m->runtime;
    if (m->ops->destroy) m->ops->destroy(m);
    for (size_t i = 0; i < m->num_imports; i++) gpuc_module_release(m->imports[i]);
    gpuc_mem_free(rt->allocator, m->imports, m->import_capacity * sizeof *m->imports);
    gpuc_mem_free(rt->allocator, m, sizeof *m);
    gpuc_runtime_unpin(rt);
}

void *gpuc_module_state(gpuc_module *m)
{
    return m->state;
}

const char *gpuc_module_type_key(gpuc_module *m)
{
    return m->ops->type_key;
}

/* ---- Imports ---- */

static bool imports(const gpuc_module *m, const gpuc_module *other)
{
    bool found = m == other;
    for (size_t i = 0; i < m->num_imports && !found; i++) found = imports(m->imports[i], other);
    return found;
}

gpuc_status gpuc_module_import(gpuc_module *m, gpuc_module *other)
{
    GPUC_REQUIRE(m);
    GPUC_REQUIRE(other);
    if (m->runtime != other->runtime)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a module of type '%s' cannot import one of another runtime",
                         m->ops->type_key);
    if (m == other || (m->imported && imports(other, m)))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "a module of type '%s' cannot import one of type '%s' which imports it",
                         m->ops->type_key, other->ops->type_key);
    for (size_t i = 0; i < m->num_imports; i++)
        if (m->imports[i] == other) return NULL;
    if (m->num_imports == m->import_capacity) {
        size_t old = m->import_capacity, grown = 2 * old + 4;
        gpuc_module **list =
            gpuc_mem_resize(m->runtime->allocator, m->imports, old * sizeof *list, grown * sizeof *list);
        if (!list) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %zu imports", grown);
        m->imports = list;
        m->import_capacity = grown;
    }
    m->imports[m->num_imports++] = gpuc_module_retain(other);
    other->imported = true;
    return NULL;
}

gpuc_status gpuc_runtime_module_contain(gpuc_module *m, gpuc_module *part)
{
    GPUC_TRY(gpuc_module_import(m, part));
    m->num_contained = m->num_imports;
    return NULL;
}

gpuc_module *gpuc_module_imported(gpuc_module *m, size_t i)
{
    return m && i < m->num_imports ? m->imports[i] : NULL;
}

/* ---- Functions and source ---- */

static gpuc_status find_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    if (m->ops->get_function) GPUC_TRY(m->ops->get_function(m, name, out));
    for (size_t i = 0; i < m->num_imports && !*out; i++) GPUC_TRY(find_function(m->imports[i], name, out));
    return NULL;
}

gpuc_status gpuc_module_get_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(m);
    GPUC_REQUIRE(name);
    gpuc_status status = find_function(m, name, out);
    if (status) *out = NULL;
    if (status || *out) return status;
    return gpuc_fail(GPUC_NOT_FOUND, "the module of type '%s' has no function '%s'", m->ops->type_key, name);
}

const char *gpuc_module_function_name(gpuc_module *m, size_t i)
{
    return m && m->ops->function_name ? m->ops->function_name(m, i) : NULL;
}

gpuc_status gpuc_module_get_source(gpuc_module *m, const char *form, const char *function, gpuc_value *out)
{
    GPUC_REQUIRE(out);
    *out = (gpuc_value){0};
    GPUC_REQUIRE(m);
    GPUC_REQUIRE(form);
    if (m->ops->get_source) GPUC_TRY(m->ops->get_source(m, form, function, out));
    if (out->kind == GPUC_VALUE_STRING || out->kind == GPUC_VALUE_BYTES) return NULL;
    gpuc_value_clear(m->runtime, out);
    return gpuc_fail(GPUC_UNSUPPORTED, "modules of type '%s' have no source%s%s%s", m->ops->type_key,
                     *form ? " of the form '" : "", form, *form ? "'" : "");
}

/* ---- Bytes ---- */

gpuc_status gpuc_runtime_module_save_alone(gpuc_module *m, gpuc_value *out_bytes)
{
    *out_bytes = (gpuc_value){0};
    if (!m->ops->save_to_binary)
        return gpuc_fail(GPUC_UNSUPPORTED, "modules of type '%s' cannot be saved", m->ops->type_key);
    gpuc_status failed = m->ops->save_to_binary(m, out_bytes);
    if (failed) {
        gpuc_value_clear(m->runtime, out_bytes);
        return failed;
    }
    if (out_bytes->kind == GPUC_VALUE_BYTES) return NULL;
    gpuc_status status = gpuc_fail(GPUC_INTERNAL, "saving a module of type '%s' gave a value of kind %s",
                                   m->ops->type_key, gpuc_value_kind_name(out_bytes->kind));
    gpuc_value_clear(m->runtime, out_bytes);
    return status;
}

gpuc_status gpuc_module_save_binary(gpuc_module *m, gpuc_value *out_bytes)
{
    GPUC_REQUIRE(out_bytes);
    *out_bytes = (gpuc_value){0};
    GPUC_REQUIRE(m);
    if (m->num_imports > m->num_contained)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "saving a module of type '%s': it imports one of type '%s', which its bytes do not "
                         "hold; save them one by one",
                         m->ops->type_key, m->imports[m->num_contained]->ops->type_key);
    return gpuc_runtime_module_save_alone(m, out_bytes);
}

gpuc_status gpuc_module_save_file(gpuc_module *m, const char *path)
{
    gpuc_value bytes;
    GPUC_REQUIRE(m);
    GPUC_REQUIRE(path);
    GPUC_TRY(gpuc_module_save_binary(m, &bytes));
    gpuc_status status = gpuc_file_put(NULL, path, bytes.as.bytes.data, bytes.as.bytes.size);
    gpuc_value_clear(m->runtime, &bytes);
    return status;
}

gpuc_status gpuc_runtime_module_of(gpuc_runtime *rt, const char *name, gpuc_value *result, gpuc_module **out)
{
    bool is_module = result->kind == GPUC_VALUE_MODULE;
    *out = is_module ? result->as.module : NULL;
    if (*out) return NULL;
    gpuc_status status = gpuc_fail(GPUC_INTERNAL, "'%s' gave %s instead of a module", name,
                                   is_module ? "NULL" : gpuc_value_kind_name(result->kind));
    gpuc_value_clear(rt, result);
    return status;
}

gpuc_status gpuc_runtime_module_by(gpuc_runtime *rt, const char *name, const gpuc_value *args, int num_args,
                                   gpuc_module **out)
{
    gpuc_value ret;
    *out = NULL;
    GPUC_TRY(gpuc_function_call(gpuc_registry_get(rt, name), args, num_args, &ret));
    return gpuc_runtime_module_of(rt, name, &ret, out);
}

gpuc_status gpuc_module_load_binary(gpuc_runtime *rt, const char *type_key, const void *bytes, size_t size,
                                    gpuc_module **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(type_key);
    if (size > 0) GPUC_REQUIRE(bytes);
    char name[128];
    int length = snprintf(name, sizeof name, "runtime.module.loadbinary_%s", type_key);
    if (length < 0 || (size_t)length >= sizeof name)
        return gpuc_fail(GPUC_INVALID_DATA, "the type key of a module has %d bytes", length);
    if (!gpuc_registry_get(rt, name))
        return gpuc_fail(GPUC_NOT_FOUND,
                         "no loader for modules of type '%s'; register a function '%s' (gpuc's own types: "
                         "gpuc_module_types_register)",
                         type_key, name);
    gpuc_value arg = {.kind = GPUC_VALUE_BYTES, .as.bytes = {.data = bytes, .size = size}};
    return gpuc_error_prefix(gpuc_runtime_module_by(rt, name, &arg, 1, out), "module of type '%s'", type_key);
}
