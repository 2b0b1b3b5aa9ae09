/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_RELAY_PASS_COMMON_INLINE_PRIMITIVE_H
#define GPUC_RELAY_PASS_COMMON_INLINE_PRIMITIVE_H

#include "relay_pass/common/util.h"

/* Puts the bodies of those primitive functions where they are called. Those of other compilers stay. */
void gpuc_relay_pass_inline_primitive(gpuc_relay_pass_ctx *p,
                                      bool (*which)(gpuc_ctx *ctx, const gpuc_rfunction *f));

#endif
