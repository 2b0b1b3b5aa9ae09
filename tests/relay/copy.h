/* SPDX-License-Identifier: Apache-2.0 */
/* A program all of whose nodes are rebuilt: each leaf gives its place to another one. */
#ifndef GPUC_TESTS_RELAY_COPY_H
#define GPUC_TESTS_RELAY_COPY_H

#include <gpuc/relay_ir.h>

static inline gpuc_rexpr *another_leaf(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)arg;
    if (gpuc_relay_get_kind(old) == GPUC_REXPR_VAR)
        return gpuc_relay_var(ctx, gpuc_relay_get_name(old), gpuc_relay_get_annotation(old));
    if (gpuc_relay_get_kind(old) == GPUC_REXPR_GLOBAL)
        return gpuc_relay_global(ctx, gpuc_relay_get_name(old));
    return rebuilt;
}

static inline gpuc_rmodule *copy_of(gpuc_rmodule *m)
{
    return gpuc_rmodule_mutate(m, another_leaf, NULL);
}

#endif
