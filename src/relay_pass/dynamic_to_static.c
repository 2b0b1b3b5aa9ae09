/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operators whose extents follow from tensors as those that have them as attributes, where the elements of these
 * tensors are known, or follow from extents: dyn.NAME as NAME. */
#include "relay_pass/common/dynamic.h"

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    bool *changed = arg;
    gpuc_rexpr *out = gpuc_relay_pass_write_static(ctx, e);
    (void)old;
    *changed |= out != NULL;
    return out ? out : e;
}

void gpuc_relay_pass_dynamic_to_static(gpuc_relay_pass_ctx *p)
{
    bool changed;
    do { /* what became known may be what others are computed of */
        gpuc_relay_pass_fold_constant(p);
        changed = false;
        gpuc_relay_pass_rewrite_module(p, rewrite, &changed);
    } while (changed);
}
