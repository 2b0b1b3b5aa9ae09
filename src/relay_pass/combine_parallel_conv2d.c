/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions over the same data become one with the output channels of all, as in blocks of Inception. */
#include <string.h>

#include "relay_pass/common/combine.h"
#include "relay_pass/common/layout.h"

static bool sides_of(const gpuc_rexpr *e, gpuc_relay_sides *out)
{
    if (!gpuc_relay_is_op(e, "nn.conv2d")) return false;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (gpuc_attrs_get_int(c->attrs, "groups", 1) != 1 || gpuc_attrs_get_int(c->attrs, "channels", 0))
        return false;
    const char *layout = gpuc_attrs_get_string(c->attrs, "kernel_layout", "");
    if (strcmp(layout, "OIHW") && strcmp(layout, "OHWI")) return false;
    *out = (gpuc_relay_sides){0, gpuc_relay_pass_channel_of(c)};
    return out->result >= 0;
}

void gpuc_relay_pass_combine_parallel_conv2d(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_combine(p, sides_of);
}
