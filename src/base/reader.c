/* SPDX-License-Identifier: Apache-2.0 */
/* Reads little-endian numbers and strings from bytes, and fails for good at the first that is not there. */
#include <string.h>

#include "base/buf.h"

/* The next n bytes, or NULL with failed set. */
static const uint8_t *take(gpuc_reader *r, size_t n)
{
    if (r->failed || r->pos > r->size || n > r->size - r->pos) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *at = r->data ? r->data + r->pos : (const uint8_t *)"";
    r->pos += n;
    return at;
}

static uint64_t take_le(gpuc_reader *r, size_t n)
{
    const uint8_t *at = take(r, n);
    uint64_t v = 0;
    for (size_t i = 0; at && i < n; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

uint8_t gpuc_read_u8(gpuc_reader *r)
{
    return (uint8_t)take_le(r, 1);
}

uint16_t gpuc_read_u16(gpuc_reader *r)
{
    return (uint16_t)take_le(r, 2);
}

uint32_t gpuc_read_u32(gpuc_reader *r)
{
    return (uint32_t)take_le(r, 4);
}

uint64_t gpuc_read_u64(gpuc_reader *r)
{
    return take_le(r, 8);
}

int64_t gpuc_read_i64(gpuc_reader *r)
{
    return (int64_t)take_le(r, 8);
}

const char *gpuc_read_lstr(gpuc_reader *r)
{
    uint32_t length = gpuc_read_count(r, 1);
    if (r->failed) return "";
    size_t padded = (size_t)length / 4 * 4 + 4; /* the 0 is counted */
    const uint8_t *at = take(r, padded);
    if (!at) return "";
    bool clean = !memchr(at, 0, length);
    for (size_t i = length; i < padded; i++) clean = clean && at[i] == 0;
    if (!clean) {
        r->failed = true;
        return "";
    }
    return (const char *)at;
}

const void *gpuc_read_bytes(gpuc_reader *r, size_t n)
{
    return take(r, n);
}

uint32_t gpuc_read_count(gpuc_reader *r, size_t min_item_size)
{
    uint32_t count = gpuc_read_u32(r);
    if (r->failed) return 0;
    if (min_item_size == 0) min_item_size = 1;
    if (count > (r->size - r->pos) / min_item_size) {
        r->failed = true;
        return 0;
    }
    return count;
}
