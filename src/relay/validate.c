/* SPDX-License-Identifier: Apache-2.0 */
/* Checks programs whose types are inferred: between passes, and for callers. */
#include "relay/infer.h"

void gpuc_relay_check_inferred(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code)
{
    for (uint32_t i = 0; i < m->functions.map.count; i++) {
        const gpuc_map_entry *f = &m->functions.map.entries[i];
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(ctx, f->value, true, &order);
        for (size_t k = 0; k < order.count; k++) {
            const gpuc_rexpr *e = order.at[k];
            bool is_op = e->kind == GPUC_REXPR_OP,
                 there = is_op ? gpuc_as_rop(e)->op != NULL : e->type != NULL;
            if (there && (is_op || !e->type->open)) continue;
            gpuc_raise(ctx, code, "in @%s: the type of %s is not inferred (gpuc_relay_infer_module)",
                       (const char *)f->key, gpuc_relay_describe(ctx, e));
        }
    }
}

static void check_all(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code)
{
    gpuc_relay_check_scopes(ctx, m, code);
    gpuc_relay_check_inferred(ctx, m, code);
    gpuc_relay_check_types(ctx, m, code);
}

static void check_own(gpuc_ctx *ctx, void *arg)
{
    check_all(ctx, arg, GPUC_INTERNAL);
}

void gpuc_relay_validate(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *after_pass)
{
    gpuc_status status = gpuc_ctx_protect(ctx, check_own, (void *)m);
    if (!status) return;
    if (gpuc_status_code(status) == GPUC_OUT_OF_MEMORY) gpuc_ctx_raise_status(ctx, status);
    const char *message = gpuc_ctx_strdup(ctx, gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_raise(ctx, GPUC_INTERNAL, "the Relay program is not valid after %s: %s", after_pass, message);
}

void gpuc_relay_validate_given(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    gpuc_relay_need(ctx, "checking a Relay program", "module", m);
    check_all(ctx, m, GPUC_INVALID_ARGUMENT);
}
