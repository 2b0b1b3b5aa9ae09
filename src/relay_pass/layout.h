/* SPDX-License-Identifier: Apache-2.0 */
/* Where operators on images have their channels. */
#ifndef GPUC_RELAY_PASS_LAYOUT_H
#define GPUC_RELAY_PASS_LAYOUT_H

#include "relay/relay.h"

/* Whether e is nn.conv1d, nn.conv2d or nn.conv3d. */
bool gpuc_relay_pass_is_conv(const gpuc_rexpr *e);
/* The dimension of channels in the data of an operator with a data_layout; -1: it has none, or is of another rank. */
int gpuc_relay_pass_channel_of(const gpuc_rcall *c);

#endif
