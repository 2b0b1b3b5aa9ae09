/* SPDX-License-Identifier: Apache-2.0 */
/* Appends text and little-endian numbers to a growing buffer, whose failure is looked at once, at the end. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"

void gpuc_buf_init(gpuc_buf *buf, gpuc_allocator allocator)
{
    *buf = (gpuc_buf){.allocator = allocator};
}

void gpuc_buf_deinit(gpuc_buf *buf)
{
    gpuc_mem_free(buf->allocator, buf->data, buf->capacity);
    gpuc_buf_init(buf, buf->allocator);
}

void gpuc_buf_clear(gpuc_buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    if (buf->data) buf->data[0] = 0;
}

/* Room for size more bytes and the 0 after them; NULL once failed. */
static char *reserve(gpuc_buf *buf, size_t size)
{
    size_t need;
    if (buf->failed || !gpuc_size_add(buf->size, size, &need) || !gpuc_size_add(need, 1, &need)) {
        buf->failed = true;
        return NULL;
    }
    if (need > buf->capacity) {
        size_t capacity = buf->capacity < 64 ? 64 : buf->capacity;
        while (capacity < need) capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
        char *data = gpuc_mem_resize(buf->allocator, buf->data, buf->capacity, capacity);
        if (!data) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->capacity = capacity;
    }
    char *at = buf->data + buf->size;
    buf->size += size;
    buf->data[buf->size] = 0;
    return at;
}

void gpuc_buf_bytes(gpuc_buf *buf, const void *data, size_t size)
{
    char *at = reserve(buf, size);
    if (at && size) memcpy(at, data, size);
}

void gpuc_buf_str(gpuc_buf *buf, const char *text)
{
    gpuc_buf_bytes(buf, text, strlen(text));
}

void gpuc_buf_printf(gpuc_buf *buf, const char *fmt, ...)
{
    va_list args;
    char small[256];
    va_start(args, fmt);
    int length = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (length < 0) {
        buf->failed = true;
        return;
    }
    if ((size_t)length < sizeof small) {
        gpuc_buf_bytes(buf, small, (size_t)length);
        return;
    }
    char *at = reserve(buf, (size_t)length);
    if (!at) return;
    va_start(args, fmt);
    vsnprintf(at, (size_t)length + 1, fmt, args);
    va_end(args);
}

static void put_le(gpuc_buf *buf, uint64_t v, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(v >> (8 * i));
    gpuc_buf_bytes(buf, bytes, size);
}

void gpuc_buf_word(gpuc_buf *buf, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
    if (*text && !text[strspn(text, plain)]) {
        gpuc_buf_str(buf, text);
        return;
    }
    gpuc_buf_str(buf, "'");
    for (const char *c = text; *c; c++)
        if (*c == '\'')
            gpuc_buf_str(buf, "'\\''");
        else
            gpuc_buf_bytes(buf, c, 1);
    gpuc_buf_str(buf, "'");
}

void gpuc_buf_u8(gpuc_buf *buf, uint8_t v)
{
    put_le(buf, v, 1);
}

void gpuc_buf_u16(gpuc_buf *buf, uint16_t v)
{
    put_le(buf, v, 2);
}

void gpuc_buf_u32(gpuc_buf *buf, uint32_t v)
{
    put_le(buf, v, 4);
}

void gpuc_buf_u64(gpuc_buf *buf, uint64_t v)
{
    put_le(buf, v, 8);
}

void gpuc_buf_i64(gpuc_buf *buf, int64_t v)
{
    put_le(buf, (uint64_t)v, 8);
}

void gpuc_buf_lstr(gpuc_buf *buf, const char *text)
{
    size_t length = strlen(text);
    if (length > UINT32_MAX - 8) {
        buf->failed = true;
        return;
    }
    size_t padded = gpuc_align_up(length + 1, 4);
    gpuc_buf_u32(buf, (uint32_t)length);
    char *at = reserve(buf, padded);
    if (!at) return;
    memcpy(at, text, length);
    memset(at + length, 0, padded - length);
}

void gpuc_buf_align(gpuc_buf *buf, size_t alignment)
{
    size_t rest = buf->size % alignment;
    if (rest == 0) return;
    char *at = reserve(buf, alignment - rest);
    if (at) memset(at, 0, alignment - rest);
}

gpuc_status gpuc_buf_status(const gpuc_buf *buf)
{
    if (!buf->failed) return NULL;
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory while writing text or bytes after %zu bytes",
                     buf->size);
}

const char *gpuc_buf_cstr(const gpuc_buf *buf)
{
    return buf->data ? buf->data : "";
}
