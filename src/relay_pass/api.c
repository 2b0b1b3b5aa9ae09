/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of gpuc/relay_pass.h. */
#include <gpuc/relay_pass.h>

#include "relay/infer.h"
#include "relay_pass/passes.h"

static gpuc_relay_pass_info info_of(const gpuc_relay_pass *pass)
{
    return (gpuc_relay_pass_info){
        .name = pass->name,
        .level = pass->level,
        .needs_graph = pass->needs & GPUC_RELAY_PASS_GRAPH,
        .needs_target = pass->needs & GPUC_RELAY_PASS_TARGET,
        .options = pass->options,
        .about = pass->about,
    };
}

bool gpuc_relay_pass_at(int i, gpuc_relay_pass_info *out)
{
    if (i < 0 || i >= GPUC_RELAY_PASS_ID_COUNT) return false;
    *out = info_of(&gpuc_relay_pass_table[i]);
    return true;
}

bool gpuc_relay_pass_watched_before(const gpuc_relay_pass_ctx *p, const gpuc_relay_pass *pass)
{
    gpuc_relay_pass_info info = info_of(pass);
    for (int i = 0; i < p->num_watches; i++) {
        const gpuc_relay_pass_watch *w = &p->watches[i];
        if (w->before && !w->before(w->arg, &info, p->module)) return false;
    }
    return true;
}

void gpuc_relay_pass_watched_after(const gpuc_relay_pass_ctx *p, const gpuc_relay_pass *pass)
{
    gpuc_relay_pass_info info = info_of(pass);
    for (int i = 0; i < p->num_watches; i++)
        if (p->watches[i].after) p->watches[i].after(p->watches[i].arg, &info, p->module);
}

static gpuc_rmodule *copy(gpuc_ctx *ctx, const gpuc_rmodule *m)
{
    gpuc_rmodule *out = gpuc_rmodule_create(ctx);
    gpuc_rmodule_copy_types(out, m);
    gpuc_rmodule_copy_interface(out, m);
    for (uint32_t i = 0; i < m->functions.map.count; i++)
        gpuc_strmap_set(&out->functions, m->functions.map.entries[i].key, m->functions.map.entries[i].value);
    for (size_t i = 0; i < m->reads.count; i++)
        gpuc_ptrs_push(ctx, &out->reads, gpuc_ctx_memdup(ctx, m->reads.at[i], sizeof(gpuc_relay_read)));
    return out;
}

gpuc_rmodule *gpuc_relay_run_passes_watched(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                            const char *passes, int n, const gpuc_relay_pass_watch *watches)
{
    gpuc_relay_need(ctx, "running passes", "module", m);
    gpuc_relay_need(ctx, "running passes", "list of passes", passes);
    if (n > 0) gpuc_relay_need(ctx, "running passes", "list of watches", watches);
    gpuc_relay_pass_ctx p = {
        .ctx = ctx,
        .module = copy(ctx, m),
        .target = target,
        .opt_level = 3,
        .fold_limit = GPUC_RELAY_FOLD_LIMIT,
        .keep_constants = true,
        .num_watches = n,
        .watches = watches,
    };
    gpuc_relay_pass_run_text(&p, passes);
    return p.module;
}

gpuc_rmodule *gpuc_relay_run_passes(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                    const char *passes)
{
    return gpuc_relay_run_passes_watched(ctx, m, target, passes, 0, NULL);
}
