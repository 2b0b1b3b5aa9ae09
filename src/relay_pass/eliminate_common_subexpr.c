/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relay_pass/util.h"

typedef struct table {
    gpuc_intern calls;
} table;

static bool equal(const void *a, const void *b)
{
    const gpuc_rcall *x = a, *y = b;
    if (gpuc_relay_call_op(&x->base) != gpuc_relay_call_op(&y->base) || x->n != y->n) return false;
    for (int i = 0; i < x->n; i++)
        if (x->args[i] != y->args[i]) return false;
    return gpuc_attrs_equal(x->attrs, y->attrs);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    table *t = arg;
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    uint32_t hash = gpuc_hash_mix(gpuc_attrs_hash(c->attrs), gpuc_hash_bytes(op->name, strlen(op->name), 0));
    for (int i = 0; i < c->n; i++) hash = gpuc_hash_mix(hash, c->args[i]->id);
    gpuc_rexpr *found = (gpuc_rexpr *)(uintptr_t)gpuc_intern_find(&t->calls, e, hash);
    if (found) return gpuc_relay_with_source(ctx, found, e->source);
    gpuc_intern_add(&t->calls, e, hash);
    return e;
}

void gpuc_relay_eliminate_common_subexpr(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        table t;
        gpuc_intern_init(&t.calls, p->ctx, equal);
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &t);
    }
}
