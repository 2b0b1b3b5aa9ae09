/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: a zip archive of .npy members, stored or deflated. The central directory at the end of
 * the file is what counts; zip64 sizes are read from its extra fields. */
#include <stdlib.h>
#include <string.h>

#ifdef GPUC_CLI_ZLIB
#include <zlib.h>
#endif

#include "base/buf.h"
#include "base/file.h"
#include "cli.h"
#include "tensor.h"

#define END_SIGNATURE 0x06054b50u
#define END64_SIGNATURE 0x06064b50u
#define LOCATOR64_SIGNATURE 0x07064b50u
#define ENTRY_SIGNATURE 0x02014b50u
#define LOCAL_SIGNATURE 0x04034b50u
#define MAX_END 65557 /* of the end record with the longest comment */

typedef struct archive {
    const char *path;
    const uint8_t *data;
    size_t size;
} archive;

typedef struct member {
    char *name; /* "<archive>:<member>", for messages; then from cli_alloc */
    char *base; /* without the archive and ".npy" */
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed, size, offset;
} member;

static gpuc_status damaged(const archive *a, const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a whole .npz archive: %s", a->path, what);
}

static gpuc_reader reader_at(const archive *a, uint64_t offset)
{
    return (gpuc_reader){
        .data = a->data, .size = a->size, .pos = offset < a->size ? (size_t)offset : a->size};
}

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (size_t i = 0; i < size; i++) crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
    return ~crc;
}

/* Where the directory starts and how many entries it has. */
static gpuc_status find_directory(const archive *a, uint64_t *offset, uint64_t *count)
{
    size_t least = a->size > MAX_END ? a->size - MAX_END : 0, at = a->size >= 22 ? a->size - 22 + 1 : 0;
    while (at-- > least) {
        gpuc_reader r = reader_at(a, at);
        if (gpuc_read_u32(&r) != END_SIGNATURE) continue;
        gpuc_read_u32(&r); /* disks */
        gpuc_read_u16(&r);
        *count = gpuc_read_u16(&r);
        gpuc_read_u32(&r); /* bytes of the directory */
        *offset = gpuc_read_u32(&r);
        if (r.failed) return damaged(a, "its end is cut off");
        if (*count != 0xffff && *offset != 0xffffffffu) return NULL;
        if (at < 20) return damaged(a, "its zip64 locator is missing");
        r = reader_at(a, at - 20);
        if (gpuc_read_u32(&r) != LOCATOR64_SIGNATURE) return NULL;
        gpuc_read_u32(&r);
        uint64_t end64 = gpuc_read_u64(&r);
        r = reader_at(a, end64);
        if (gpuc_read_u32(&r) != END64_SIGNATURE) return damaged(a, "its zip64 end is missing");
        gpuc_read_bytes(&r, 8 + 2 + 2 + 4 + 4 + 8);
        *count = gpuc_read_u64(&r);
        gpuc_read_u64(&r);
        *offset = gpuc_read_u64(&r);
        return r.failed ? damaged(a, "its zip64 end is cut off") : NULL;
    }
    return damaged(a, "there is no directory at its end");
}

/* Sizes that do not fit 32 bits are in extra field 1, in this order, only those that do not fit. */
static void read_zip64(gpuc_reader extra, member *m)
{
    while (!extra.failed && extra.pos + 4 <= extra.size) {
        uint16_t id = gpuc_read_u16(&extra), n = gpuc_read_u16(&extra);
        gpuc_reader field = {.data = gpuc_read_bytes(&extra, n), .size = n};
        if (extra.failed || id != 1) continue;
        if (m->size == 0xffffffffu) m->size = gpuc_read_u64(&field);
        if (m->packed == 0xffffffffu) m->packed = gpuc_read_u64(&field);
        if (m->offset == 0xffffffffu) m->offset = gpuc_read_u64(&field);
    }
}

static gpuc_status read_entry(const archive *a, gpuc_reader *r, member *m)
{
    if (gpuc_read_u32(r) != ENTRY_SIGNATURE) return damaged(a, "its directory is damaged");
    gpuc_read_u32(r); /* versions */
    m->flags = gpuc_read_u16(r);
    m->method = gpuc_read_u16(r);
    gpuc_read_u32(r); /* time and date */
    m->crc = gpuc_read_u32(r);
    m->packed = gpuc_read_u32(r);
    m->size = gpuc_read_u32(r);
    uint16_t name_size = gpuc_read_u16(r), extra_size = gpuc_read_u16(r), comment_size = gpuc_read_u16(r);
    gpuc_read_u32(r); /* disk, internal attributes */
    gpuc_read_u16(r);
    gpuc_read_u16(r);
    m->offset = gpuc_read_u32(r);
    const char *name = gpuc_read_bytes(r, name_size);
    const uint8_t *extra = gpuc_read_bytes(r, extra_size);
    gpuc_read_bytes(r, comment_size);
    if (r->failed) return damaged(a, "its directory is cut off");
    read_zip64((gpuc_reader){.data = extra, .size = extra_size}, m);
    m->name = cli_printf("%s:%.*s", a->path, (int)name_size, name);
    size_t n = name_size;
    if (n > 4 && memcmp(name + n - 4, ".npy", 4) == 0) n -= 4;
    m->base = cli_printf("%.*s", (int)n, name);
    return NULL;
}

#ifdef GPUC_CLI_ZLIB
static gpuc_status inflate_member(const member *m, const uint8_t *packed, uint8_t *out)
{
    z_stream z = {0};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "'%s': out of memory", m->name);
    uint64_t left = m->packed, room = m->size;
    z.next_in = (Bytef *)packed;
    z.next_out = out;
    int result = Z_OK;
    while (result == Z_OK) {
        if (!z.avail_in) left -= z.avail_in = left < 1u << 30 ? (uInt)left : 1u << 30;
        if (!z.avail_out) room -= z.avail_out = room < 1u << 30 ? (uInt)room : 1u << 30;
        result = inflate(&z, Z_NO_FLUSH);
    }
    bool whole = result == Z_STREAM_END && room == 0 && z.avail_out == 0;
    inflateEnd(&z);
    return whole ? NULL : gpuc_fail(GPUC_INVALID_DATA, "'%s': its compressed bytes are damaged", m->name);
}
#else
static gpuc_status inflate_member(const member *m, const uint8_t *packed, uint8_t *out)
{
    (void)packed;
    (void)out;
    return gpuc_fail(GPUC_UNSUPPORTED,
                     "'%s': is compressed, and this gpuc was built without zlib; save it with np.savez",
                     m->name);
}
#endif

static gpuc_status read_member(const archive *a, const member *m, cli_tensor *out)
{
    gpuc_reader r = reader_at(a, m->offset);
    uint32_t signature = gpuc_read_u32(&r);
    gpuc_read_bytes(&r, 22);
    uint16_t name_size = gpuc_read_u16(&r), extra_size = gpuc_read_u16(&r);
    gpuc_read_bytes(&r, (size_t)name_size + extra_size);
    const uint8_t *packed = gpuc_read_bytes(&r, m->packed);
    if (r.failed || signature != LOCAL_SIGNATURE)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': is cut off or damaged", m->name);
    if (m->flags & 1) return gpuc_fail(GPUC_UNSUPPORTED, "'%s': is encrypted", m->name);
    if (m->method != 0 && m->method != 8)
        return gpuc_fail(GPUC_UNSUPPORTED, "'%s': is compressed by method %u; save it with np.savez", m->name,
                         m->method);
    /* Deflate cannot shrink further than about 1032 to 1: a larger claim is not worth its memory. */
    if (m->method == 0 ? m->size != m->packed : m->size / 1040 > m->packed)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': its size is damaged", m->name);
    uint8_t *bytes = m->method == 0 ? NULL : malloc(m->size ? m->size : 1);
    gpuc_status status = NULL;
    if (m->method == 8) {
        status = bytes ? inflate_member(m, packed, bytes)
                       : gpuc_fail(GPUC_OUT_OF_MEMORY, "'%s': out of memory for %llu bytes", m->name,
                                   (unsigned long long)m->size);
        packed = bytes;
    }
    if (!status && crc32_of(packed, m->size) != m->crc)
        status = gpuc_fail(GPUC_INVALID_DATA, "'%s': its checksum is wrong", m->name);
    if (!status) status = cli_npy_parse(packed, m->size, m->name, out);
    free(bytes);
    return status;
}

static gpuc_status read_members(const archive *a, cli_tensor **out, int *out_count)
{
    uint64_t offset = 0, count = 0;
    GPUC_TRY(find_directory(a, &offset, &count));
    gpuc_reader r = reader_at(a, offset);
    for (uint64_t i = 0; i < count; i++) {
        member m = {0};
        GPUC_TRY(read_entry(a, &r, &m));
        *out = cli_grow(*out, (size_t)*out_count, sizeof **out);
        gpuc_status status = read_member(a, &m, &(*out)[*out_count]);
        if (!status) {
            (*out)[(*out_count)++].name = m.base;
            m.base = NULL;
        }
        free(m.base);
        free(m.name);
        GPUC_TRY(status);
    }
    return NULL;
}

gpuc_status cli_npz_parse(const void *bytes, size_t size, const char *name, cli_tensor **out, int *out_count)
{
    *out = NULL;
    *out_count = 0;
    gpuc_status status = read_members(&(archive){.path = name, .data = bytes, .size = size}, out, out_count);
    if (!status) return NULL;
    for (int i = 0; i < *out_count; i++) cli_tensor_free(&(*out)[i]);
    free(*out);
    *out = NULL;
    *out_count = 0;
    return status;
}

gpuc_status cli_npz_load(const char *path, cli_tensor **out, int *out_count)
{
    *out = NULL;
    *out_count = 0;
    gpuc_mapping map;
    GPUC_TRY(gpuc_file_map(path, &map));
    gpuc_status status = cli_npz_parse(map.data, map.size, path, out, out_count);
    gpuc_file_unmap(&map);
    return status;
}
