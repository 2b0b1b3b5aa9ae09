/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of targets by name: what a name means, what values are allowed, and their values. */
#include <inttypes.h>
#include <string.h>

#include "base/names.h"
#include "target/private.h"

/* ---- Names ---- */

static const gpuc_target_alias aliases[] = {
#define GPUC_TARGET_ALIAS(name, of) {name, of},
#include "target/aliases.def"
#undef GPUC_TARGET_ALIAS
    {NULL, NULL}};

int gpuc_target_num_attrs(const gpuc_target_kind_row *kind)
{
    int n = 0;
    while (kind->attrs[n].name) n++;
    return n;
}

static const char *look_up(const gpuc_target_alias *list, const char *name)
{
    for (; list && list->name; list++)
        if (strcmp(list->name, name) == 0) return list->of;
    return NULL;
}

const char *gpuc_target_canonical_name(const char *name)
{
    const char *now = gpuc_names_now("target", name), *of = look_up(aliases, now);
    return of ? of : now;
}

static int find_exact(const gpuc_target_kind_row *kind, const char *name)
{
    for (int i = 0; kind->attrs[i].name; i++)
        if (strcmp(kind->attrs[i].name, name) == 0) return i;
    return -1;
}

int gpuc_target_find_attr(const gpuc_target_kind_row *kind, const char *name)
{
    if (!name) return -1;
    /* Registering has seen that they end. */
    for (const char *of; (of = look_up(kind->aliases, name));) name = of;
    int i = find_exact(kind, name);
    return i < 0 ? find_exact(kind, gpuc_target_canonical_name(name)) : i;
}

void gpuc_target_unknown_attr(gpuc_ctx *ctx, const gpuc_target_kind_row *kind, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < gpuc_target_kind_count(ctx); i++) {
        const gpuc_target_kind_row *other = gpuc_target_kind_at(ctx, i);
        if (other != kind && find_exact(other, name) >= 0)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' belongs to kind '%s', not to '%s'",
                       name, other->name, kind->name);
    }
    const gpuc_target_alias *own = kind->aliases;
    for (; own && own[n].name; n++) continue;
    size_t most = (size_t)gpuc_target_num_attrs(kind) + n + sizeof aliases / sizeof *aliases + 1;
    const char **names = gpuc_new_array(ctx, const char *, most);
    n = 0;
    names[n++] = "from_device";
    for (int i = 0; kind->attrs[i].name; i++) names[n++] = kind->attrs[i].name;
    for (; own && own->name; own++) names[n++] = own->name;
    for (const gpuc_target_alias *a = aliases; a->name; a++) names[n++] = a->name;
    const char *near = gpuc_suggest(name, names, n);
    if (near)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' is unknown; did you mean '%s'?", name,
                   near);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' is unknown; `gpuc targets -a` lists them",
               name);
}

/* ---- What values are allowed ---- */

gpuc_status gpuc_target_check_count(const gpuc_target_value *v)
{
    if (v->i >= 0 && v->i <= INT64_C(1) << 40) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "it cannot be %" PRId64, v->i);
}

gpuc_status gpuc_target_check_positive(const gpuc_target_value *v)
{
    if (v->i == 0) return gpuc_fail(GPUC_INVALID_ARGUMENT, "it must be at least 1");
    return gpuc_target_check_count(v);
}

gpuc_status gpuc_target_check_power_of_two(const gpuc_target_value *v)
{
    GPUC_TRY(gpuc_target_check_positive(v));
    if ((v->i & (v->i - 1)) == 0) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "it must be a power of two, not %" PRId64, v->i);
}

gpuc_status gpuc_target_check_vector_bits(const gpuc_target_value *v)
{
    if (v->i == 0) return NULL;
    GPUC_TRY(gpuc_target_check_power_of_two(v));
    if (v->i >= 64 && v->i <= 2048) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "it must be 0 or in 64..2048, not %" PRId64, v->i);
}

gpuc_status gpuc_target_check_block(const gpuc_target_value *v)
{
    return v->i == 0 ? NULL : gpuc_target_check_power_of_two(v);
}

gpuc_status gpuc_target_check_parameters(const gpuc_target_value *v)
{
    if (v->i >= 0 && v->i < 16) return gpuc_fail(GPUC_INVALID_ARGUMENT, "it must be at least 16");
    return gpuc_target_check_count(v);
}

static gpuc_status check_version(const gpuc_target_value *v, int64_t least, const char *what)
{
    if (v->i >= least) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "it must be at least %" PRId64 ": kernels are for %s", least,
                     what);
}

gpuc_status gpuc_target_check_vulkan(const gpuc_target_value *v)
{
    return check_version(v, 1 << 22 | 1 << 12, "Vulkan 1.1");
}

gpuc_status gpuc_target_check_spirv(const gpuc_target_value *v)
{
    return check_version(v, 0x10300, "SPIR-V 1.3");
}

gpuc_status gpuc_target_check_command(const gpuc_target_value *v)
{
    if (*v->s) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "it needs a command, such as -cc=gcc");
}

const char *gpuc_target_type_name(gpuc_target_type type)
{
    switch (type) {
    case GPUC_TARGET_INT: return "an integer";
    case GPUC_TARGET_BOOL: return "a bool (0 or 1)";
    case GPUC_TARGET_STRING: return "a string";
    }
    return NULL;
}

gpuc_status gpuc_target_check(const gpuc_target_attr_row *row, const gpuc_target_value *v)
{
    const char *have = gpuc_target_type_name(v->type);
    if (v->type != row->type)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "target attribute '%s' needs %s, not %s", row->name,
                         gpuc_target_type_name(row->type), have ? have : "a value without a type");
    if (v->type == GPUC_TARGET_STRING && !v->s)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "target attribute '%s': its string is NULL", row->name);
    if (v->type == GPUC_TARGET_BOOL && v->i != 0 && v->i != 1)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "target attribute '%s' needs %s, not %" PRId64, row->name,
                         gpuc_target_type_name(row->type), v->i);
    if (!row->check) return NULL;
    return gpuc_error_prefix(row->check(v), "target attribute '%s'", row->name);
}

/* ---- Values ---- */

gpuc_target_value gpuc_target_value_of(const gpuc_target *t, int attr)
{
    if (attr >= GPUC_TARGET_ATTR_COUNT) return t->others[attr - GPUC_TARGET_ATTR_COUNT];
    const char *field = (const char *)t + gpuc_target_fields[attr].offset;
    return (gpuc_target_value){.type = t->kind->attrs[attr].type, .i = *(const int64_t *)field, .s = ""};
}

bool gpuc_target_same_value(const gpuc_target *a, const gpuc_target *b, int attr)
{
    gpuc_target_value x = gpuc_target_value_of(a, attr), y = gpuc_target_value_of(b, attr);
    return x.type == y.type && x.i == y.i && strcmp(x.s, y.s) == 0;
}

bool gpuc_target_equal(const gpuc_target *a, const gpuc_target *b)
{
    int n = gpuc_target_num_attrs(a->kind);
    if (strcmp(a->kind->name, b->kind->name) != 0 || strcmp(a->tag, b->tag) != 0 ||
        n != gpuc_target_num_attrs(b->kind))
        return false;
    for (int i = 0; i < n; i++)
        if (!gpuc_target_same_value(a, b, i)) return false;
    return true;
}

bool gpuc_target_get(const gpuc_target *t, const char *name, gpuc_target_value *out)
{
    int attr = gpuc_target_find_attr(t->kind, name);
    *out = attr < 0 ? gpuc_target_int(0) : gpuc_target_value_of(t, attr);
    return attr >= 0;
}

int64_t gpuc_target_get_int(const gpuc_target *t, const char *name)
{
    gpuc_target_value v;
    gpuc_target_get(t, name, &v);
    return v.i;
}

bool gpuc_target_get_bool(const gpuc_target *t, const char *name)
{
    return gpuc_target_get_int(t, name) != 0;
}

const char *gpuc_target_get_string(const gpuc_target *t, const char *name)
{
    gpuc_target_value v;
    gpuc_target_get(t, name, &v);
    return v.s;
}

int64_t gpuc_target_attr(const gpuc_target *t, const char *name)
{
    return gpuc_target_get_int(t, name);
}
