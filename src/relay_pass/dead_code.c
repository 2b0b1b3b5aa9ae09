/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relay_pass/util.h"

static gpuc_rexpr *drop_lets(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    (void)old;
    const gpuc_map *uses = arg;
    if (e->kind != GPUC_REXPR_LET) return e;
    const gpuc_rlet *l = gpuc_as_rlet(e);
    return gpuc_relay_uses(uses, l->var) ? e : l->body;
}

static void mark(gpuc_relay_pass_ctx *p, const char *name, gpuc_strmap *live)
{
    if (gpuc_strmap_has(live, name)) return;
    gpuc_rexpr *f = gpuc_rmodule_get(p->module, name);
    gpuc_strmap_set(live, name, f);
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(p->ctx, f, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind == GPUC_REXPR_GLOBAL) mark(p, gpuc_as_rglobal(e)->name, live);
    }
}

void gpuc_relay_dead_code(gpuc_relay_pass_ctx *p)
{
    gpuc_strmap live;
    gpuc_strmap_init(&live, p->ctx);
    mark(p, "main", &live);
    p->module->functions = live;
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_map uses;
        gpuc_relay_count_uses(p->ctx, functions->entries[i].value, &uses);
        functions->entries[i].value =
            gpuc_relay_rewrite(p->ctx, functions->entries[i].value, drop_lets, &uses);
    }
}
