/* SPDX-License-Identifier: Apache-2.0 */
/* Drops functions that nothing calls, neither from outside nor from those that are left. */
#include <string.h>

#include "relay/infer.h"
#include "relay_pass/common/util.h"

static void add(gpuc_relay_pass_ctx *p, const char *name, gpuc_strmap *live)
{
    if (!gpuc_strmap_has(live, name)) gpuc_strmap_set(live, name, gpuc_rmodule_get(p->module, name));
}

void gpuc_relay_pass_keep_reachable(gpuc_relay_pass_ctx *p, const gpuc_ptrs *entries)
{
    gpuc_ctx *ctx = p->ctx;
    gpuc_strmap live, kept;
    gpuc_strmap_init(&live, ctx);
    gpuc_strmap_init(&kept, ctx);
    for (size_t i = 0; i < entries->count; i++) add(p, entries->at[i], &live);
    for (uint32_t i = 0; i < live.map.count; i++) { /* it grows */
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(ctx, live.map.entries[i].value, true, &order);
        for (size_t k = 0; k < order.count; k++) {
            const gpuc_rexpr *e = order.at[k];
            if (e->kind == GPUC_REXPR_GLOBAL) add(p, gpuc_as_rglobal(e)->name, &live);
        }
    }
    const gpuc_map *all = &p->module->functions.map;
    for (uint32_t i = 0; i < all->count; i++)
        if (gpuc_strmap_has(&live, all->entries[i].key))
            gpuc_strmap_set(&kept, all->entries[i].key, all->entries[i].value);
    p->module->functions = kept;
}

void gpuc_relay_pass_remove_unused_functions(gpuc_relay_pass_ctx *p)
{
    const char *at = gpuc_attrs_get_string(p->options, "entry_functions", "");
    gpuc_ptrs entries = {0};
    for (size_t n; *at; at += n, at += strspn(at, ", ")) {
        n = strcspn(at, ", ");
        gpuc_ptrs_push(p->ctx, &entries, gpuc_ctx_printf(p->ctx, "%.*s", (int)n, at));
    }
    gpuc_relay_pass_keep_reachable(p, &entries);
}
