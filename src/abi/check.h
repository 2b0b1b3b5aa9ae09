/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of the ABI's byte forms share. Their input may be hostile. */
#ifndef GPUC_ABI_CHECK_H
#define GPUC_ABI_CHECK_H

#include "base/arena.h"
#include "base/buf.h"

/* INVALID_DATA with the offset if the reader has failed. */
GPUC_NODISCARD gpuc_status gpuc_abi_reader_status(const gpuc_reader *r);
/* Zeroed array in the arena; NULL for none. The count is bounded by the bytes that it was read from. */
GPUC_NODISCARD gpuc_status gpuc_abi_array(gpuc_arena *arena, size_t count, size_t item_size, void *out_array);
/* Copies to the arena. */
GPUC_NODISCARD gpuc_status gpuc_abi_read_string(gpuc_reader *r, gpuc_arena *arena, const char **out);

void gpuc_abi_write_dtype(gpuc_buf *buf, gpuc_dtype t);
gpuc_dtype gpuc_abi_read_dtype(gpuc_reader *r);
/* A storable element type of one lane. */
GPUC_NODISCARD gpuc_status gpuc_abi_check_dtype(gpuc_dtype t);
/* A read byte that must be 0 or 1. */
GPUC_NODISCARD gpuc_status gpuc_abi_read_bool(gpuc_reader *r, const char *what, bool *out);

#endif
