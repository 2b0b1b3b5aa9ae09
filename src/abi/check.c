/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the small items that all packages share (strings, arrays, types, bools), with their
 * checks. */
#include "abi/check.h"

#include <string.h>

gpuc_status gpuc_abi_reader_status(const gpuc_reader *r)
{
    if (!r->failed) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA,
                     "it ends too early or holds a bad length or string near byte %zu of %zu", r->pos,
                     r->size);
}

gpuc_status gpuc_abi_array(gpuc_arena *arena, size_t count, size_t item_size, void *out_array)
{
    void *items = NULL;
    if (count > 0 && !(items = gpuc_arena_alloc_array(arena, count, item_size)))
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %zu items of %zu bytes", count, item_size);
    memcpy(out_array, &items, sizeof items);
    return NULL;
}

gpuc_status gpuc_abi_read_string(gpuc_reader *r, gpuc_arena *arena, const char **out)
{
    *out = "";
    const char *text = gpuc_read_lstr(r);
    GPUC_TRY(gpuc_abi_reader_status(r));
    if (!*text) return NULL;
    *out = gpuc_arena_strdup(arena, text);
    return *out ? NULL
                : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a string of %zu bytes", strlen(text));
}

void gpuc_abi_write_dtype(gpuc_buf *buf, gpuc_dtype t)
{
    gpuc_buf_u8(buf, t.code);
    gpuc_buf_u8(buf, t.bits);
    gpuc_buf_u16(buf, t.lanes);
}

gpuc_dtype gpuc_abi_read_dtype(gpuc_reader *r)
{
    gpuc_dtype t = {.code = gpuc_read_u8(r)};
    t.bits = gpuc_read_u8(r);
    t.lanes = gpuc_read_u16(r);
    return t;
}

gpuc_status gpuc_abi_check_dtype(gpuc_dtype t)
{
    char name[24];
    if (t.lanes == 1 && t.code != GPUC_DTYPE_HANDLE && gpuc_dtype_exists(t)) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "%s is not the type of a tensor's element", gpuc_dtype_name(t, name));
}

gpuc_status gpuc_abi_read_bool(gpuc_reader *r, const char *what, bool *out)
{
    uint8_t v = gpuc_read_u8(r);
    *out = v == 1;
    if (v > 1) return gpuc_fail(GPUC_INVALID_DATA, "%s is %u, not 0 or 1", what, v);
    return NULL;
}
