/* SPDX-License-Identifier: Apache-2.0 */
/* Merges expressions that are equal, among them small constants. */
#include <string.h>

#include "relay_pass/util.h"

enum { SMALL_CONSTANT = 256 }; /* bytes */

static bool equal_constants(const gpuc_rconstant *x, const gpuc_rconstant *y)
{
    return gpuc_relay_rtype_equal(x->base.type, y->base.type) && x->data->size == y->data->size &&
           !memcmp(x->data->bytes, y->data->bytes, x->data->size);
}

static bool equal(const void *a, const void *b)
{
    const gpuc_rexpr *p = a, *q = b;
    if (p->kind != q->kind) return false;
    if (p->kind == GPUC_REXPR_CONSTANT) return equal_constants(gpuc_as_rconstant(p), gpuc_as_rconstant(q));
    const gpuc_rcall *x = gpuc_as_rcall(p), *y = gpuc_as_rcall(q);
    if (gpuc_relay_call_op(p) != gpuc_relay_call_op(q) || x->n != y->n) return false;
    for (int i = 0; i < x->n; i++)
        if (x->args[i] != y->args[i]) return false;
    return gpuc_attrs_equal(x->attrs, y->attrs);
}

static uint32_t hash(const gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_CONSTANT) {
        const gpuc_const_data *data = gpuc_as_rconstant(e)->data;
        return gpuc_hash_mix(1, gpuc_hash_bytes(data->bytes, data->size, 0));
    }
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const char *name = gpuc_relay_call_op(e)->name;
    uint32_t h = gpuc_hash_mix(gpuc_attrs_hash(c->attrs), gpuc_hash_bytes(name, strlen(name), 0));
    for (int i = 0; i < c->n; i++) h = gpuc_hash_mix(h, c->args[i]->id);
    return h;
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    gpuc_intern *table = arg;
    bool small = e->kind == GPUC_REXPR_CONSTANT && gpuc_as_rconstant(e)->data->size <= SMALL_CONSTANT;
    if (!small && !gpuc_relay_call_op(e)) return e;
    uint32_t h = hash(e);
    gpuc_rexpr *found = (gpuc_rexpr *)(uintptr_t)gpuc_intern_find(table, e, h);
    if (found && found != e && !small) gpuc_relay_with_source(ctx, found, e->source);
    if (!found) gpuc_intern_add(table, e, h);
    return found ? found : e;
}

void gpuc_relay_pass_eliminate_common_subexpr(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_intern table;
        gpuc_intern_init(&table, p->ctx, equal);
        functions->entries[i].value =
            gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &table);
    }
}
