/* SPDX-License-Identifier: Apache-2.0 */
/* Takes reshapes that became primitive functions of their own out of them: they give bytes another shape, and need no
 * kernel. */
#include "relay_pass/common/inline_primitive.h"

static bool only_reshapes(gpuc_ctx *ctx, const gpuc_rfunction *f)
{
    (void)ctx;
    const gpuc_rexpr *e = f->body;
    for (const gpuc_op *op; (op = gpuc_relay_call_op(e)) && op->alias;) e = gpuc_as_rcall(e)->args[0];
    return e != f->body && e->kind == GPUC_REXPR_VAR;
}

void gpuc_relay_pass_remove_standalone_reshapes(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_inline_primitive(p, only_reshapes);
}
