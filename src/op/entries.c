/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps rows of programs in a runtime's registry, and finds them again. */
#include "op/entries.h"

#include <string.h>

static gpuc_status give(const gpuc_value *args, int num_args, gpuc_value *ret, void *row)
{
    (void)args;
    if (num_args) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the function gives a row, and takes no arguments");
    *ret = (gpuc_value){.kind = GPUC_VALUE_HANDLE, .as.handle = row};
    return NULL;
}

gpuc_status gpuc_op_entry_add(gpuc_runtime *rt, const char *full, const void *row)
{
    return gpuc_registry_set_fn(rt, full, give, (void *)(uintptr_t)row, NULL, false);
}

const void *gpuc_op_entry_find(gpuc_runtime *rt, const char *full)
{
    gpuc_value value = {0};
    gpuc_function *f = gpuc_registry_get(rt, full);
    if (!f) return NULL;
    gpuc_status status = gpuc_function_call(f, NULL, 0, &value);
    const void *row = !status && value.kind == GPUC_VALUE_HANDLE ? value.as.handle : NULL;
    gpuc_status_release(status);
    gpuc_value_clear(rt, &value);
    return row;
}

const void *gpuc_op_entry_next(gpuc_runtime *rt, const char *prefix, size_t *at)
{
    const void *row = NULL;
    while (!row && *at < gpuc_registry_count(rt)) {
        const char *name = gpuc_registry_name(rt, (*at)++);
        if (!strncmp(name, prefix, strlen(prefix))) row = gpuc_op_entry_find(rt, name);
    }
    return row;
}
