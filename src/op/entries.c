/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps rows of programs in a runtime's registry, and finds them again. */
#include "op/entries.h"

#include <string.h>

#include "runtime/services.h"

/* ---- What is wrong with a row ---- */

#define NOT_FIRST "0123456789." /* characters of names */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" NOT_FIRST

bool gpuc_op_entry_is_name(const char *name)
{
    return *name && strspn(name, LETTERS) == strlen(name) && !strspn(name, NOT_FIRST);
}

static gpuc_status check_attr(const gpuc_attr_spec *attrs, const gpuc_attr_spec *a)
{
    const char *wrong = NULL;
    if ((unsigned)a->kind >= GPUC_ATTR_KIND_COUNT) wrong = "has no such kind";
    if (!gpuc_op_entry_is_name(a->name)) wrong = "has no possible name: " GPUC_OP_ENTRY_NAME;
    for (const gpuc_attr_spec *other = attrs; other != a; other++)
        if (!other->take && !a->take && !strcmp(other->name, a->name)) wrong = "is there twice";
    return wrong ? gpuc_fail(GPUC_INVALID_ARGUMENT, "attribute '%s' %s", a->name, wrong) : NULL;
}

gpuc_status gpuc_op_entry_check_attrs(const gpuc_attr_spec *attrs)
{
    for (const gpuc_attr_spec *a = attrs; a && a->name; a++) GPUC_TRY(check_attr(attrs, a));
    return NULL;
}

/* ---- In the registry ---- */

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
    if (!f || !gpuc_runtime_function_is(f, give)) return NULL;
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
