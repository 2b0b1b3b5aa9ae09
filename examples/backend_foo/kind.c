/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of target "foo": what texts say of it, and the language of its kernels. */
#include <string.h>

#include <gpuc/driver.h>
#include <gpuc/target.h>

#include "foo.h"

static gpuc_status check_lanes(const gpuc_target_value *v)
{
    if (v->i >= 1 && v->i <= FOO_MAX_LANES && (v->i & (v->i - 1)) == 0) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "must be a power of two from 1 to %d, not %lld", FOO_MAX_LANES,
                     (long long)v->i);
}

/* Schedules vectorize for vector_bits, which is at least 64; with one lane they do not. */
static gpuc_status canonicalise(gpuc_target_draft *d)
{
    int64_t lanes = gpuc_target_get_int(gpuc_target_draft_get(d), "lanes");
    return gpuc_target_draft_fill(d, "vector_bits", gpuc_target_int(lanes > 1 ? lanes * 32 : 0));
}

static gpuc_status from_device(gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value bits = gpuc_device_get_attr(device, GPUC_ATTR_VECTOR_BITS);
    if (!bits.known || bits.i < 32) return NULL;
    return gpuc_target_draft_fill(d, "lanes", gpuc_target_int(bits.i / 32));
}

/* Whether a name is an item of a list with commas. */
static bool has_item(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == length && memcmp(at, name, n) == 0) return true;
        at += n;
    }
    return false;
}

static bool runs(const gpuc_target *t, const char *op)
{
    return !has_item(gpuc_target_get_string(t, "without"), op);
}

static const gpuc_target_attr_row attrs[] = {
    {.name = "lanes",
     .type = GPUC_TARGET_INT,
     .i = 16,
     .check = check_lanes,
     .about = "of an instruction: 1 to 64, a power of two"},
    {.name = "without",
     .type = GPUC_TARGET_STRING,
     .list = true,
     .about = "operators that it leaves to the CPU: nn.softmax,nn.dense"},
    /* What all kinds have, and foo has more of than nothing. */
    {.name = "vector_bits", .type = GPUC_TARGET_INT, .i = 512},
    {.name = "max_storage_buffers", .type = GPUC_TARGET_INT, .i = 64},
    {.name = "float64", .type = GPUC_TARGET_BOOL, .i = 1},
    {.name = "int64", .type = GPUC_TARGET_BOOL, .i = 1},
    {.name = "storage8", .type = GPUC_TARGET_BOOL, .i = 1},
    {.name = NULL}};

static const gpuc_target_alias aliases[] = {
    {.name = "vector_width", .of = "lanes"}, /* as TVM's hexagon and ROCm say */
    {.name = NULL}};

static const gpuc_target_kind_row foo_kind = {
    .name = "foo",
    .device = "foo",
    .keys = "foo,cpu",
    .about = "an example: a machine of vector instructions, interpreted",
    .attrs = attrs,
    .aliases = aliases,
    .language = {.c99_math = true,
                 .vector_mod = true,
                 .max_lanes = FOO_MAX_LANES,
                 .own_features = GPUC_FEATURE_FLOAT64 | GPUC_FEATURE_INT64 | GPUC_FEATURE_STORAGE8 |
                                 GPUC_FEATURE_FLOAT_CONTROLS},
    .canonicalise = canonicalise,
    .from_device = from_device,
    .runs = runs,
};

gpuc_status foo_kind_register(gpuc_runtime *rt)
{
    return gpuc_target_kind_register(rt, &foo_kind);
}
