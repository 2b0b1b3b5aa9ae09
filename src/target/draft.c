/* SPDX-License-Identifier: Apache-2.0 */
/* Targets while they are made: attributes are put, then what follows from them is filled in. */
#include <string.h>

#include "base/require.h"
#include "target/private.h"

static void start(gpuc_ctx *ctx, gpuc_target_draft *d, const gpuc_target_kind_row *kind)
{
    int n = gpuc_target_num_attrs(kind);
    *d = (gpuc_target_draft){.ctx = ctx,
                             .others = gpuc_new_array(ctx, gpuc_target_value, n - GPUC_TARGET_ATTR_COUNT),
                             .given = gpuc_new_array(ctx, bool, n)};
}

static void store(gpuc_target_draft *d, int attr, const gpuc_target_value *v)
{
    if (attr < GPUC_TARGET_ATTR_COUNT)
        *(int64_t *)((char *)&d->t + gpuc_target_fields[attr].offset) = v->i;
    else
        d->others[attr - GPUC_TARGET_ATTR_COUNT] = *v;
}

void gpuc_target_draft_init(gpuc_ctx *ctx, gpuc_target_draft *d, const gpuc_target_kind_row *kind)
{
    start(ctx, d, kind);
    d->t = (gpuc_target){.kind = kind, .language = &kind->language, .tag = "", .others = d->others};
    for (int i = 0; kind->attrs[i].name; i++) {
        const gpuc_target_attr_row *row = &kind->attrs[i];
        store(d, i, &(gpuc_target_value){.type = row->type, .i = row->i, .s = row->s});
    }
}

void gpuc_target_draft_copy(gpuc_ctx *ctx, gpuc_target_draft *d, const gpuc_target *from)
{
    start(ctx, d, from->kind);
    size_t n = (size_t)gpuc_target_num_attrs(from->kind) - GPUC_TARGET_ATTR_COUNT;
    memcpy(d->others, from->others, n * sizeof *d->others);
    d->t = *from;
    d->t.others = d->others;
}

const gpuc_target *gpuc_target_draft_keep(const gpuc_target_draft *d)
{
    gpuc_target_draft copy;
    gpuc_target_draft_copy(d->ctx, &copy, &d->t);
    return gpuc_ctx_memdup(d->ctx, &copy.t, sizeof copy.t);
}

/* An attribute of all kinds keeps its rule where a kind has a stricter one. */
static gpuc_status check(const gpuc_target_draft *d, int attr, const gpuc_target_value *v)
{
    if (attr < GPUC_TARGET_ATTR_COUNT) GPUC_TRY(gpuc_target_check(&gpuc_target_others_attrs[attr], v));
    return gpuc_target_check(&d->t.kind->attrs[attr], v);
}

void gpuc_target_draft_put(gpuc_target_draft *d, int attr, const gpuc_target_value *v)
{
    GPUC_RAISE_IF(d->ctx, check(d, attr, v));
    gpuc_target_value copy = {.type = v->type, .i = v->i, .s = ""};
    if (v->type == GPUC_TARGET_STRING) copy = gpuc_target_string(gpuc_ctx_strdup(d->ctx, v->s));
    store(d, attr, &copy);
}

void gpuc_target_derive(gpuc_target_draft *d, gpuc_target_attr_id id, int64_t value)
{
    if (!d->given[id]) store(d, (int)id, &(gpuc_target_value){.i = value});
}

/* ---- For the functions of kinds ---- */

typedef struct setting {
    gpuc_target_draft *d;
    const char *name;
    const gpuc_target_value *v;
    bool fill;
} setting;

static void set_in_ctx(gpuc_ctx *ctx, void *arg)
{
    setting *s = arg;
    int attr = gpuc_target_find_attr(s->d->t.kind, s->name);
    if (attr < 0) gpuc_target_unknown_attr(ctx, s->d->t.kind, s->name);
    GPUC_RAISE_IF(ctx, check(s->d, attr, s->v));
    if (!s->fill || !s->d->given[attr]) gpuc_target_draft_put(s->d, attr, s->v);
}

gpuc_status gpuc_target_draft_set(gpuc_target_draft *d, const char *name, gpuc_target_value value)
{
    GPUC_REQUIRE(d);
    GPUC_REQUIRE(name);
    return gpuc_ctx_protect(d->ctx, set_in_ctx, &(setting){.d = d, .name = name, .v = &value});
}

gpuc_status gpuc_target_draft_fill(gpuc_target_draft *d, const char *name, gpuc_target_value value)
{
    GPUC_REQUIRE(d);
    GPUC_REQUIRE(name);
    return gpuc_ctx_protect(d->ctx, set_in_ctx, &(setting){.d = d, .name = name, .v = &value, .fill = true});
}

const gpuc_target *gpuc_target_draft_get(const gpuc_target_draft *d)
{
    return &d->t;
}

bool gpuc_target_draft_given(const gpuc_target_draft *d, const char *name)
{
    int attr = gpuc_target_find_attr(d->t.kind, name);
    return attr >= 0 && d->given[attr];
}

/* ---- What follows ---- */

static void fill_from_device(gpuc_ctx *ctx, gpuc_target_draft *d, gpuc_device *device)
{
    const gpuc_target_kind_row *kind = d->t.kind;
    if (!kind->from_device)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "target kind '%s' cannot be filled from a device; write a tag or attributes", kind->name);
    if (!device)
        gpuc_raise(
            ctx, GPUC_INVALID_ARGUMENT,
            "target '%s -from_device=%d' needs that device open; write a tag or attributes where there "
            "is none",
            kind->name, d->device_index);
    if (device->type != kind->device_type)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target kind '%s' cannot be filled from a device of kind '%s'",
                   kind->name, device->api->name);
    GPUC_RAISE_IF(ctx, kind->from_device(d, device));
}

/* Who registers a kind names it. */
static void canonicalise(gpuc_target_draft *d)
{
    const gpuc_target_kind_row *kind = d->t.kind;
    gpuc_status s = kind->canonicalise ? kind->canonicalise(d) : NULL;
    if (d->t.start) s = gpuc_error_prefix(s, "target '%s'", *d->t.tag ? d->t.tag : kind->name);
    GPUC_RAISE_IF(d->ctx, s);
}

const gpuc_target *gpuc_target_draft_finish(gpuc_target_draft *d, gpuc_device *device)
{
    if (d->wants_device) fill_from_device(d->ctx, d, device);
    canonicalise(d);
    if (d->given[GPUC_TARGET_ATTR_max_num_threads]) {
        int64_t threads = d->t.max_num_threads;
        gpuc_target_derive(d, GPUC_TARGET_ATTR_max_threads_x, threads);
        gpuc_target_derive(d, GPUC_TARGET_ATTR_max_threads_y, threads);
        if (d->t.max_threads_z > threads) gpuc_target_derive(d, GPUC_TARGET_ATTR_max_threads_z, threads);
        if (d->t.thread_warp_size > threads) gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, 1);
    }
    if (d->given[GPUC_TARGET_ATTR_max_threads_x] && d->t.thread_warp_size > d->t.max_threads_x)
        gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, 1); /* a subgroup lies along x */
    gpuc_target *t = gpuc_ctx_memdup(d->ctx, &d->t, sizeof d->t);
    t->constants = gpuc_target_constants_of(t);
    return t;
}

/* ---- From a target to what its text says ---- */

/* The start of t with the values of t for some attributes. */
static void go_on(gpuc_ctx *ctx, gpuc_target_draft *d, const gpuc_target *t, const bool *given)
{
    gpuc_target_draft_copy(ctx, d, t->start);
    d->t.start = t->start;
    for (int i = 0; t->kind->attrs[i].name; i++) {
        gpuc_target_value v = gpuc_target_value_of(t, i);
        if (given[i]) store(d, i, &v);
        d->given[i] = given[i];
    }
}

static const gpuc_target *again(gpuc_ctx *ctx, const gpuc_target *t, const bool *given)
{
    gpuc_target_draft d;
    go_on(ctx, &d, t, given);
    return gpuc_target_draft_finish(&d, NULL);
}

/* What differs from the bare kind or tag; work-group sizes stand beside a number of threads of its own. Then what
 * would follow from these and is not so. */
bool *gpuc_target_printed(gpuc_ctx *ctx, const gpuc_target *t)
{
    int n = gpuc_target_num_attrs(t->kind), added = 1;
    bool *given = gpuc_new_array(ctx, bool, n);
    const gpuc_target *base = again(ctx, t, given);
    for (int i = 0; i < n; i++) given[i] = !gpuc_target_same_value(t, base, i);
    if (given[GPUC_TARGET_ATTR_max_num_threads])
        given[GPUC_TARGET_ATTR_max_threads_x] = given[GPUC_TARGET_ATTR_max_threads_y] =
            given[GPUC_TARGET_ATTR_max_threads_z] = true;
    while (added) {
        const gpuc_target *have = again(ctx, t, given);
        added = 0;
        for (int i = 0; i < n; i++) {
            if (given[i] || gpuc_target_same_value(t, have, i)) continue;
            given[i] = true;
            added++;
        }
    }
    return given;
}

const gpuc_target *gpuc_target_with(gpuc_ctx *ctx, const gpuc_target *t, const char *name,
                                    gpuc_target_value value)
{
    gpuc_target_draft d;
    if (!name) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the name of a target attribute is missing");
    int attr = gpuc_target_find_attr(t->kind, name);
    if (attr < 0) gpuc_target_unknown_attr(ctx, t->kind, name);
    go_on(ctx, &d, t, gpuc_target_printed(ctx, t));
    gpuc_target_draft_put(&d, attr, &value);
    d.given[attr] = true;
    return gpuc_target_draft_finish(&d, NULL);
}
