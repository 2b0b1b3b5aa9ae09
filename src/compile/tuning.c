/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the best configuration of each function and target that a tuning log has. */
#include "compile/tuning.h"

gpuc_tuning *gpuc_compile_tuning_create(gpuc_ctx *ctx)
{
    gpuc_tuning *t = gpuc_new(ctx, gpuc_tuning);
    gpuc_strmap_init(&t->best, ctx);
    gpuc_strmap_init(&t->targets, ctx);
    return t;
}

static const char *key_of(gpuc_ctx *ctx, const char *workload, const char *target)
{
    return gpuc_ctx_printf(ctx, "%s %s", workload, target);
}

void gpuc_compile_tuning_add(gpuc_ctx *ctx, gpuc_tuning *t, const char *workload, const char *target,
                             const gpuc_tuned *tuned)
{
    const char *key = key_of(ctx, workload, target);
    const gpuc_tuned *known = gpuc_strmap_get(&t->best, key);
    if (known && known->seconds <= tuned->seconds) return;
    gpuc_tuned *copy = gpuc_ctx_memdup(ctx, tuned, sizeof *tuned);
    copy->config = gpuc_config_copy(ctx, tuned->config);
    copy->source = gpuc_ctx_strdup(ctx, tuned->source);
    gpuc_strmap_set(&t->best, key, copy);
    gpuc_strmap_set(&t->targets, target, t);
}

const gpuc_tuned *gpuc_compile_tuning_find(gpuc_ctx *ctx, const gpuc_tuning *t, const char *workload,
                                           const char *target)
{
    return t ? gpuc_strmap_get(&t->best, key_of(ctx, workload, target)) : NULL;
}
