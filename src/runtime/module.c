/* SPDX-License-Identifier: Apache-2.0 */
/* Implements modules: functions by name, and saving and loading as bytes. */
#include <stdio.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

struct gpuc_module {
    gpuc_runtime *runtime;
    atomic_size_t refs;
    const gpuc_module_ops *ops;
    void *state;
};

gpuc_status gpuc_module_create(gpuc_runtime *rt, const gpuc_module_ops *ops, void *state, gpuc_module **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(ops);
    gpuc_module *m = gpuc_mem_alloc(rt->allocator, sizeof *m);
    if (!m) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a module of type '%s'", ops->type_key);
    m->runtime = rt;
    atomic_init(&m->refs, 1);
    m->ops = ops;
    m->state = state;
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

gpuc_status gpuc_module_get_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(m);
    GPUC_REQUIRE(name);
    if (m->ops->get_function) GPUC_TRY(m->ops->get_function(m, name, out));
    if (*out) return NULL;
    return gpuc_fail(GPUC_NOT_FOUND, "the module of type '%s' has no function '%s'", m->ops->type_key, name);
}

gpuc_status gpuc_module_save_binary(gpuc_module *m, gpuc_value *out_bytes)
{
    GPUC_REQUIRE(out_bytes);
    *out_bytes = (gpuc_value){0};
    GPUC_REQUIRE(m);
    if (!m->ops->save_to_binary)
        return gpuc_fail(GPUC_UNSUPPORTED, "modules of type '%s' cannot be saved", m->ops->type_key);
    GPUC_TRY(m->ops->save_to_binary(m, out_bytes));
    if (out_bytes->kind == GPUC_VALUE_BYTES) return NULL;
    gpuc_status status = gpuc_fail(GPUC_INTERNAL, "saving a module of type '%s' gave a value of kind %s",
                                   m->ops->type_key, gpuc_value_kind_name(out_bytes->kind));
    gpuc_value_clear(m->runtime, out_bytes);
    return status;
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
    gpuc_function *loader = gpuc_registry_get(rt, name);
    if (!loader)
        return gpuc_fail(GPUC_NOT_FOUND, "no loader for modules of type '%s'; register a function '%s'",
                         type_key, name);
    gpuc_value arg = {.kind = GPUC_VALUE_BYTES, .as.bytes = {.data = bytes, .size = size}}, ret;
    GPUC_TRY(gpuc_error_prefix(gpuc_function_call(loader, &arg, 1, &ret), "module of type '%s'", type_key));
    if (ret.kind != GPUC_VALUE_MODULE || !ret.as.module) {
        gpuc_status status = gpuc_fail(GPUC_INTERNAL, "'%s' gave a value of kind %s instead of a module",
                                       name, gpuc_value_kind_name(ret.kind));
        gpuc_value_clear(rt, &ret);
        return status;
    }
    *out = ret.as.module;
    return NULL;
}
