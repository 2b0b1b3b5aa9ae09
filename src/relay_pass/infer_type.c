/* SPDX-License-Identifier: Apache-2.0 */
/* Infers the types that are not known yet, and checks scopes. */
#include "relay_pass/passes.h"

void gpuc_relay_pass_infer_type(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_infer_module(p->ctx, p->module);
}
