/* SPDX-License-Identifier: Apache-2.0 */
/* Size expressions (gpuc/kernel.h): checked, evaluated, written and printed. */
#ifndef GPUC_ABI_EXPR_H
#define GPUC_ABI_EXPR_H

#include <gpuc/kernel.h>

#include "base/arena.h"
#include "base/buf.h"

#define GPUC_XEXPR_MAX_STACK 64

/* Checks stack discipline, depth and symbol numbers; evaluation of a verified expression can
 * fail by overflow or division only. */
GPUC_NODISCARD gpuc_status gpuc_abi_xexpr_verify(gpuc_xexpr e, uint32_t num_symbols);
GPUC_NODISCARD gpuc_status gpuc_abi_xexpr_eval(gpuc_xexpr e, const int64_t *symbols, uint32_t num_symbols,
                                               int64_t *out);
/* True if it has no DIM; then *out is its value. */
bool gpuc_abi_xexpr_is_const(gpuc_xexpr e, int64_t *out);

void gpuc_abi_xexpr_write(gpuc_buf *buf, gpuc_xexpr e);
/* Reads into the arena. Verifies. */
GPUC_NODISCARD gpuc_status gpuc_abi_xexpr_read(gpuc_reader *r, gpuc_arena *arena, uint32_t num_symbols,
                                               gpuc_xexpr *out);
/* Infix text such as "(n + 63) // 64"; names may be NULL, then "s0". */
void gpuc_abi_xexpr_print(gpuc_buf *buf, gpuc_xexpr e, const char *const *symbol_names);

#endif
