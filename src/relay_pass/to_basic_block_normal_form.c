/* SPDX-License-Identifier: Apache-2.0 */
/* Gives lets to values that are used in other blocks than their own, so that each node belongs to one block. */
#include "relay_pass/common/blocks.h"

void gpuc_relay_pass_to_basic_block_normal_form(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_bind_values(p, false);
}
