/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte string: text being printed, a section being written. Little-endian writers, and
 * the reader that goes with them. Errors stick: after one, writes do nothing and status tells. */
#ifndef GPUC_BASE_BUF_H
#define GPUC_BASE_BUF_H

#include <gpuc/base.h>

typedef struct gpuc_buf {
    gpuc_allocator allocator;
    char *data; /* always 0-terminated when not NULL */
    size_t size, capacity;
    bool failed; /* out of memory */
} gpuc_buf;

void gpuc_buf_init(gpuc_buf *buf, gpuc_allocator allocator);
void gpuc_buf_deinit(gpuc_buf *buf);
void gpuc_buf_clear(gpuc_buf *buf);
void gpuc_buf_bytes(gpuc_buf *buf, const void *data, size_t size);
void gpuc_buf_str(gpuc_buf *buf, const char *text);
void gpuc_buf_printf(gpuc_buf *buf, const char *fmt, ...) GPUC_PRINTF(2, 3);
void gpuc_buf_word(gpuc_buf *buf,
                   const char *text); /* one word of a shell's command line, quoted where it must be */
void gpuc_buf_u8(gpuc_buf *buf, uint8_t v);
void gpuc_buf_u16(gpuc_buf *buf, uint16_t v);
void gpuc_buf_u32(gpuc_buf *buf, uint32_t v);
void gpuc_buf_u64(gpuc_buf *buf, uint64_t v);
void gpuc_buf_i64(gpuc_buf *buf, int64_t v);
void gpuc_buf_lstr(gpuc_buf *buf, const char *text);  /* u32 length, bytes, a 0, padded to 4 */
void gpuc_buf_align(gpuc_buf *buf, size_t alignment); /* zero bytes up to a multiple */
GPUC_NODISCARD gpuc_status gpuc_buf_status(const gpuc_buf *buf);
const char *gpuc_buf_cstr(const gpuc_buf *buf); /* never NULL */

/* Reads what gpuc_buf wrote. Any read past the end sets failed and gives zeros. */
typedef struct gpuc_reader {
    const uint8_t *data;
    size_t size, pos;
    bool failed;
} gpuc_reader;

uint8_t gpuc_read_u8(gpuc_reader *r);
uint16_t gpuc_read_u16(gpuc_reader *r);
uint32_t gpuc_read_u32(gpuc_reader *r);
uint64_t gpuc_read_u64(gpuc_reader *r);
int64_t gpuc_read_i64(gpuc_reader *r);
const char *gpuc_read_lstr(gpuc_reader *r);            /* in place, 0-terminated; "" on failure */
const void *gpuc_read_bytes(gpuc_reader *r, size_t n); /* in place; NULL on failure */
/* A count whose items take at least min_item_size bytes each: fails if they cannot be there. */
uint32_t gpuc_read_count(gpuc_reader *r, size_t min_item_size);

#endif
