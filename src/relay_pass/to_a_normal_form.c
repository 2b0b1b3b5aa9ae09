/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each value a let, so that operands are variables: what a program computes, and in which order, stands in its lets. */
#include "relay_pass/common/blocks.h"

void gpuc_relay_pass_to_a_normal_form(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_bind_values(p, true);
}
