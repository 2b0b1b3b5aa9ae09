/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of products with the same left operands become one with the columns of all. */
#include "relay_pass/common/combine.h"

static bool sides_of(const gpuc_rexpr *e, gpuc_relay_sides *out)
{
    if (!gpuc_relay_is_op(e, "nn.matmul")) return false;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int n = gpuc_relay_tensor_type(c->args[1])->ndim;
    if (n < 3 || gpuc_relay_tensor_type(c->args[0])->ndim < 2) return false;
    if (gpuc_attrs_get_int(c->attrs, "columns", 0)) return false;
    *out = (gpuc_relay_sides){n - (gpuc_attrs_get_int(c->attrs, "transpose_b", 0) ? 2 : 1),
                              gpuc_relay_tensor_type(e)->ndim - 1};
    return true;
}

void gpuc_relay_pass_combine_parallel_batch_matmul(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_combine(p, sides_of);
}
