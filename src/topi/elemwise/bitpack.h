/* SPDX-License-Identifier: Apache-2.0 */
/* What operators on packed bits have in common. */
#ifndef GPUC_TOPI_ELEMWISE_BITPACK_H
#define GPUC_TOPI_ELEMWISE_BITPACK_H

#include "topi/util.h"

gpuc_expr gpuc_topi_count_bits(gpuc_ctx *ctx, gpuc_expr x); /* set bits of a uint32, as a uint32 */

#endif
