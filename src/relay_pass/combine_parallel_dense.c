/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the same data with several matrices become one with the columns of all, as those of queries, keys and
 * values. */
#include <string.h>

#include "relay_pass/common/combine.h"

static bool sides_of(const gpuc_rexpr *e, gpuc_relay_sides *out)
{
    bool dense = gpuc_relay_is_op(e, "nn.dense");
    if (!dense && !gpuc_relay_is_op(e, "nn.matmul")) return false;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(c->args[1]);
    if (w->ndim != 2 || gpuc_relay_tensor_type(c->args[0])->ndim < 2) return false;
    if (gpuc_attrs_get_int(c->attrs, "columns", 0)) return false;
    bool rows = dense || gpuc_attrs_get_int(c->attrs, "transpose_b", 0);
    *out = (gpuc_relay_sides){rows ? 0 : 1, gpuc_relay_tensor_type(e)->ndim - 1};
    return true;
}

void gpuc_relay_pass_combine_parallel_dense(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_combine(p, sides_of);
}
