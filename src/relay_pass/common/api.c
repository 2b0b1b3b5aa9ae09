/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of gpuc/relay_pass.h. */
#include <gpuc/relay_pass.h>

#include "relay/infer.h"
#include "relay_pass/passes.h"

void gpuc_relay_pass_tell(const gpuc_relay_pass *pass, gpuc_relay_pass_info *out)
{
    *out = (gpuc_relay_pass_info){
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
    gpuc_relay_pass_tell(&gpuc_relay_pass_table[i], out);
    return true;
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

typedef struct run {
    gpuc_relay_pass_ctx p;
    const char *passes;
} run;

static void run_text(gpuc_ctx *ctx, void *arg)
{
    run *r = arg;
    (void)ctx;
    gpuc_relay_pass_run_text(&r->p, r->passes);
}

gpuc_rmodule *gpuc_relay_run_passes(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                    const char *passes)
{
    gpuc_relay_need(ctx, "running passes", "module", m);
    gpuc_relay_need(ctx, "running passes", "list of passes", passes);
    run r = {.passes = passes};
    r.p = (gpuc_relay_pass_ctx){
        .ctx = ctx,
        .module = copy(ctx, m),
        .target = target,
        .opt_level = 3,
        .fold_limit = GPUC_RELAY_FOLD_LIMIT,
        .keep_constants = true,
    };
    gpuc_relay_pass_within(ctx, run_text, &r);
    return r.p.module;
}
