/* SPDX-License-Identifier: Apache-2.0 */
#include "relay_pass/layout.h"

#include <string.h>

bool gpuc_relay_pass_is_conv(const gpuc_rexpr *e)
{
    return gpuc_relay_is_op(e, "nn.conv1d") || gpuc_relay_is_op(e, "nn.conv2d") ||
           gpuc_relay_is_op(e, "nn.conv3d");
}

int gpuc_relay_pass_channel_of(const gpuc_rcall *c)
{
    const char *layout = gpuc_attrs_get_string(c->attrs, "data_layout", "");
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    if (ndim < 3) return -1;
    return !strcmp(layout, "NCHW") ? 1 : !strcmp(layout, "NHWC") ? ndim - 1 : -1;
}
