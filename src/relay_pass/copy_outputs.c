/* SPDX-License-Identifier: Apache-2.0 */
/* Copies outputs that no operator computes (inputs, constants), so that each output is written. */
#include "relay_pass/common/util.h"

static gpuc_rexpr *computed(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    return e->type->kind == GPUC_RTYPE_TENSOR && gpuc_relay_pass_is_stored(e)
               ? gpuc_relay_pass_copied(p->ctx, e)
               : e;
}

void gpuc_relay_pass_copy_outputs(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_outputs(p, computed);
}
