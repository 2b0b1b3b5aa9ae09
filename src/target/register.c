/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of targets: finds them by name, and takes those of programs into a runtime. */
#include <string.h>

#include "base/require.h"
#include "runtime/services.h"
#include "target/private.h"
#include "target/store.h"

enum { MAX_KIND = 40, MAX_ATTR = 80 };

/* ---- Find ---- */

size_t gpuc_target_kind_count(gpuc_ctx *ctx)
{
    return GPUC_TARGET_KIND_COUNT + gpuc_target_held_count(ctx, &gpuc_target_held_kind);
}

const gpuc_target_kind_row *gpuc_target_kind_at(gpuc_ctx *ctx, size_t i)
{
    return i < GPUC_TARGET_KIND_COUNT
               ? &gpuc_target_builtin[i]
               : gpuc_target_held_at(ctx, &gpuc_target_held_kind, i - GPUC_TARGET_KIND_COUNT);
}

const gpuc_target_kind_row *gpuc_target_kind_find(gpuc_ctx *ctx, const char *name)
{
    if (!name) return NULL;
    for (int i = 0; i < GPUC_TARGET_KIND_COUNT; i++)
        if (strcmp(gpuc_target_builtin[i].name, name) == 0) return &gpuc_target_builtin[i];
    return gpuc_target_held_find(ctx, &gpuc_target_held_kind, name);
}

/* ---- Check what a program gives ---- */

static const gpuc_target_attr_row *find_row(const gpuc_target_attr_row *rows, const char *name)
{
    for (; rows && rows->name; rows++)
        if (strcmp(rows->name, name) == 0) return rows;
    return NULL;
}

static gpuc_status check_attr(const gpuc_target_kind_row *kind, const gpuc_target_attr_row *row)
{
    const gpuc_target_attr_row *common = find_row(gpuc_target_others_attrs, row->name);
    const char *now = gpuc_target_canonical_name(row->name);
    if (!gpuc_target_is_name(row->name, "_-.", MAX_ATTR) || strcmp(row->name, "from_device") == 0 ||
        strcmp(row->name, "kind") == 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "an attribute cannot be named '%s'", row->name);
    if (strcmp(now, row->name) != 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "attribute '%s' is another name of '%s'", row->name, now);
    if (find_row(kind->attrs, row->name) != row)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "attribute '%s' is there twice", row->name);
    if (!gpuc_target_type_name(row->type))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "attribute '%s' has no type; there are int, bool and string",
                         row->name);
    if (row->list && row->type != GPUC_TARGET_STRING)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "attribute '%s' is a list and no string", row->name);
    if (common && !common->kept && common->type != row->type)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "attribute '%s' is that of all kinds, and %s", row->name,
                         gpuc_target_type_name(common->type));
    gpuc_target_value v = {.type = row->type, .i = row->i, .s = row->s ? row->s : ""};
    if (common && !common->kept) GPUC_TRY(gpuc_error_prefix(gpuc_target_check(common, &v), "its default"));
    return gpuc_error_prefix(gpuc_target_check(row, &v), "its default");
}

static const gpuc_target_alias *find_alias(const gpuc_target_alias *list, const char *name)
{
    for (; list && list->name; list++)
        if (strcmp(list->name, name) == 0) return list;
    return NULL;
}

static bool is_attr(const gpuc_target_kind_row *kind, const char *name)
{
    return find_row(kind->attrs, name) ||
           find_row(gpuc_target_others_attrs, gpuc_target_canonical_name(name));
}

static gpuc_status check_alias(const gpuc_target_kind_row *kind, const gpuc_target_alias *alias)
{
    int count = 0, steps = 0;
    if (!alias->of || !gpuc_target_is_name(alias->name, "_-.", MAX_ATTR))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the alias '%s' has no attribute, or no possible name",
                         alias->name);
    if (is_attr(kind, alias->name) || find_alias(kind->aliases, alias->name) != alias)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the alias '%s' is the name of an attribute, or of another alias", alias->name);
    while (kind->aliases[count].name) count++;
    const char *of = alias->name;
    for (const gpuc_target_alias *a; (a = find_alias(kind->aliases, of)) && a->of; of = a->of)
        if (++steps > count)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "the aliases '%s' and '%s' lead to each other",
                             alias->name, alias->of);
    if (is_attr(kind, of)) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the alias '%s' leads to '%s', which is no attribute",
                     alias->name, of);
}

static gpuc_status check_row(const gpuc_target_kind_row *kind)
{
    if (!gpuc_target_is_name(kind->name, "_", MAX_KIND))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "a name begins with a letter or a digit, and has those and '_', at most %d",
                         MAX_KIND);
    if (!kind->device || !gpuc_device_type_named(kind->device))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "it has no device; write the name of the devices that run it");
    int lanes = kind->language.max_lanes;
    if (lanes < 0 || lanes > 64 || (lanes & (lanes - 1)))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "max_lanes is %d; it must be a power of two, at most 64",
                         lanes);
    for (const gpuc_target_attr_row *a = kind->attrs; a && a->name; a++) GPUC_TRY(check_attr(kind, a));
    for (const gpuc_target_alias *a = kind->aliases; a && a->name; a++) GPUC_TRY(check_alias(kind, a));
    return NULL;
}

/* ---- Copy it ---- */

static bool copy_attr(gpuc_target_held *held, const gpuc_target_attr_row *from, gpuc_target_attr_row *out)
{
    *out = *from;
    out->name = gpuc_target_held_text(held, from->name);
    out->s = gpuc_target_held_text(held, from->s);
    out->about = gpuc_target_held_text(held, from->about);
    return out->name && out->s && out->about;
}

/* All attributes, in the order of private.h. */
static bool copy_attrs(gpuc_target_held *held, const gpuc_target_kind_row *kind, gpuc_target_kind_row *row)
{
    const gpuc_target_attr_row *own = kind->attrs, *all = gpuc_target_others_attrs;
    size_t count = 1, n = 0;
    for (const gpuc_target_attr_row *a = all; a->name; a++) count++;
    for (const gpuc_target_attr_row *a = own; a && a->name; a++) count++;
    gpuc_target_attr_row *rows = gpuc_arena_alloc_array(&held->arena, count, sizeof *rows);
    bool ok = rows != NULL;
    for (; ok && n < GPUC_TARGET_ATTR_COUNT; n++) {
        const gpuc_target_attr_row *given = find_row(own, all[n].name);
        ok = copy_attr(held, given ? given : &all[n], &rows[n]);
        if (ok && given && !given->check) rows[n].check = all[n].check;
        if (ok && given && !given->about) rows[n].about = all[n].about;
    }
    for (const gpuc_target_attr_row *a = own; ok && a && a->name; a++) {
        const gpuc_target_attr_row *common = find_row(all, a->name);
        if (!common || common->kept) ok = copy_attr(held, a, &rows[n++]);
    }
    for (const gpuc_target_attr_row *a = &all[GPUC_TARGET_ATTR_COUNT]; ok && a->name; a++) {
        if (find_row(own, a->name)) continue;
        ok = copy_attr(held, a, &rows[n]);
        if (strcmp(a->name, "keys") == 0) rows[n].s = row->keys;
        n++;
    }
    row->attrs = rows;
    return ok;
}

static bool copy_aliases(gpuc_target_held *held, const gpuc_target_kind_row *kind, gpuc_target_kind_row *row)
{
    size_t n = 0;
    while (kind->aliases && kind->aliases[n].name) n++;
    gpuc_target_alias *aliases = gpuc_arena_alloc_array(&held->arena, n + 1, sizeof *aliases);
    for (size_t i = 0; aliases && i < n; i++) {
        aliases[i].name = gpuc_target_held_text(held, kind->aliases[i].name);
        aliases[i].of = gpuc_target_held_text(held, kind->aliases[i].of);
        if (!aliases[i].name || !aliases[i].of) return false;
    }
    row->aliases = aliases;
    return aliases != NULL;
}

static bool copy_row(gpuc_target_held *held, const gpuc_target_kind_row *kind)
{
    gpuc_target_kind_row *row = gpuc_arena_alloc(&held->arena, sizeof *row);
    if (!row) return false;
    held->row = row;
    *row = *kind;
    row->name = gpuc_target_held_text(held, kind->name);
    row->device = gpuc_target_held_text(held, kind->device);
    row->keys = gpuc_target_held_text(held, kind->keys);
    row->about = gpuc_target_held_text(held, kind->about);
    row->device_type = gpuc_device_type_named(kind->device);
    if (!row->language.max_lanes) row->language.max_lanes = 1;
    return row->name && row->device && row->keys && row->about && copy_attrs(held, kind, row) &&
           copy_aliases(held, kind, row);
}

/* ---- Enter it ---- */

static void try_bare(gpuc_ctx *ctx, void *arg)
{
    gpuc_target_draft d;
    gpuc_target_draft_init(ctx, &d, ((const gpuc_target_held *)arg)->row);
    gpuc_target_draft_finish(&d, NULL);
}

gpuc_status gpuc_target_kind_register(gpuc_runtime *rt, const gpuc_target_kind_row *kind)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(kind);
    GPUC_REQUIRE(kind->name);
    GPUC_TRY(gpuc_error_prefix(check_row(kind), "target kind '%s'", kind->name));
    GPUC_TRY(gpuc_target_check_free(rt, "kind", kind->name));
    gpuc_target_held *held = gpuc_target_held_create(rt, &gpuc_target_held_kind);
    gpuc_status status = NULL;
    if (!held || !copy_row(held, kind)) status = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    if (!status) status = gpuc_target_try(rt, try_bare, held);
    status = gpuc_error_prefix(status, "target kind '%s'", kind->name);
    if (!status) status = gpuc_target_held_enter(rt, kind->name, held);
    if (held) gpuc_object_release(&held->base);
    return status;
}
