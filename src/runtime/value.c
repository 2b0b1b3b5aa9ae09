/* SPDX-License-Identifier: Apache-2.0 */
/* Names, sets and clears the values that packed functions take and give. */
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"
#include "runtime/object.h"

static const char *const kind_names[] = {
    [GPUC_VALUE_NULL] = "null",     [GPUC_VALUE_INT] = "int",           [GPUC_VALUE_FLOAT] = "float",
    [GPUC_VALUE_HANDLE] = "handle", [GPUC_VALUE_DTYPE] = "dtype",       [GPUC_VALUE_DEVICE] = "device",
    [GPUC_VALUE_STRING] = "string", [GPUC_VALUE_BYTES] = "bytes",       [GPUC_VALUE_NDARRAY] = "ndarray",
    [GPUC_VALUE_MODULE] = "module", [GPUC_VALUE_FUNCTION] = "function", [GPUC_VALUE_OBJECT] = "object",
};

const char *gpuc_value_kind_name(gpuc_value_kind kind)
{
    return (unsigned)kind < sizeof kind_names / sizeof kind_names[0] ? kind_names[kind] : "unknown kind";
}

void gpuc_value_clear(gpuc_runtime *rt, gpuc_value *value)
{
    gpuc_value old = *value;
    *value = (gpuc_value){0};
    switch (old.kind) {
    case GPUC_VALUE_NULL:
    case GPUC_VALUE_INT:
    case GPUC_VALUE_FLOAT:
    case GPUC_VALUE_HANDLE:
    case GPUC_VALUE_DTYPE:
    case GPUC_VALUE_DEVICE: break;
    case GPUC_VALUE_STRING:
        if (old.as.string) gpuc_mem_free(rt->allocator, (void *)old.as.string, strlen(old.as.string) + 1);
        break;
    case GPUC_VALUE_BYTES: gpuc_mem_free(rt->allocator, (void *)old.as.bytes.data, old.as.bytes.size); break;
    case GPUC_VALUE_NDARRAY: gpuc_ndarray_release(old.as.ndarray); break;
    case GPUC_VALUE_MODULE: gpuc_module_release(old.as.module); break;
    case GPUC_VALUE_FUNCTION: gpuc_function_release(old.as.function); break;
    case GPUC_VALUE_OBJECT: gpuc_object_release(old.as.object); break;
    }
}

gpuc_status gpuc_value_set_string(gpuc_runtime *rt, gpuc_value *value, const char *text)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(value);
    GPUC_REQUIRE(text);
    size_t size = strlen(text) + 1;
    char *copy = gpuc_mem_alloc(rt->allocator, size);
    *value = (gpuc_value){0};
    if (!copy) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a string of %zu bytes", size);
    memcpy(copy, text, size);
    *value = (gpuc_value){.kind = GPUC_VALUE_STRING, .as.string = copy};
    return NULL;
}

gpuc_status gpuc_value_set_bytes(gpuc_runtime *rt, gpuc_value *value, const void *data, size_t size)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(value);
    if (size > 0) GPUC_REQUIRE(data);
    void *copy = gpuc_mem_alloc(rt->allocator, size);
    *value = (gpuc_value){0};
    if (!copy) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %zu bytes", size);
    if (size) memcpy(copy, data, size);
    *value = (gpuc_value){.kind = GPUC_VALUE_BYTES, .as.bytes = {.data = copy, .size = size}};
    return NULL;
}
