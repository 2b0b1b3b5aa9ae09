/* SPDX-License-Identifier: Apache-2.0 */
/* The central directory at the end of the file is what counts; zip64 sizes are read from its extra fields. */
#include "tensor_files/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define END_SIGNATURE 0x06054b50u
#define END64_SIGNATURE 0x06064b50u
#define LOCATOR64_SIGNATURE 0x07064b50u
#define ENTRY_SIGNATURE 0x02014b50u
#define LOCAL_SIGNATURE 0x04034b50u
#define MAX_END 65557        /* of the end record with the longest comment */
#define NOT_HERE 0xffffffffu /* the number is in the zip64 extra field */

typedef struct directory {
    uint64_t offset, size, count;
} directory;

static gpuc_status damaged(const zip_archive *a, const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a whole .npz archive: %s", a->path, what);
}

static gpuc_status no_memory(const zip_archive *a)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "'%s': out of memory for its directory", a->path);
}

static gpuc_status bad_member(const zip_archive *a, const zip_member *m, const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA, "'%s:%s': %s", a->path, m->name, what);
}

static gpuc_reader reader_at(const zip_archive *a, uint64_t offset)
{
    return (gpuc_reader){
        .data = a->data, .size = a->size, .pos = offset < a->size ? (size_t)offset : a->size};
}

/* at: of the end record. */
static gpuc_status read_end64(const zip_archive *a, size_t at, directory *d)
{
    gpuc_reader r = reader_at(a, at < 20 ? a->size : at - 20);
    if (gpuc_read_u32(&r) != LOCATOR64_SIGNATURE) return damaged(a, "its zip64 locator is missing");
    gpuc_read_u32(&r); /* disk */
    r = reader_at(a, gpuc_read_u64(&r));
    if (gpuc_read_u32(&r) != END64_SIGNATURE) return damaged(a, "its zip64 end is missing");
    gpuc_read_bytes(&r, 8 + 2 + 2 + 4 + 4 + 8); /* its size, versions, disks, entries of this disk */
    d->count = gpuc_read_u64(&r);
    d->size = gpuc_read_u64(&r);
    d->offset = gpuc_read_u64(&r);
    return r.failed ? damaged(a, "its zip64 end is cut off") : NULL;
}

static gpuc_status find_directory(const zip_archive *a, directory *d)
{
    size_t min = a->size > MAX_END ? a->size - MAX_END : 0, at = a->size >= 22 ? a->size - 22 + 1 : 0;
    while (at-- > min) {
        gpuc_reader r = reader_at(a, at);
        if (gpuc_read_u32(&r) != END_SIGNATURE) continue;
        gpuc_read_bytes(&r, 2 + 2 + 2); /* disks, entries of this disk */
        d->count = gpuc_read_u16(&r);
        d->size = gpuc_read_u32(&r);
        d->offset = gpuc_read_u32(&r);
        if (r.failed) return damaged(a, "its end is cut off");
        if (d->count == 0xffff || d->size == NOT_HERE || d->offset == NOT_HERE)
            GPUC_TRY(read_end64(a, at, d));
        if (d->offset > at || d->size > at - d->offset) return damaged(a, "its directory lies outside of it");
        return NULL;
    }
    return damaged(a, "there is no directory at its end");
}

/* Numbers that do not fit 32 bits are in extra field 1, in this order, only those that do not fit. */
static bool read_zip64(gpuc_reader extra, zip_member *m)
{
    uint64_t *const numbers[] = {&m->size, &m->packed, &m->offset};
    gpuc_reader field = {.failed = true};
    while (field.failed && !extra.failed && extra.pos + 4 <= extra.size) {
        uint16_t id = gpuc_read_u16(&extra), n = gpuc_read_u16(&extra);
        const uint8_t *data = gpuc_read_bytes(&extra, n);
        if (data && id == 1) field = (gpuc_reader){.data = data, .size = n};
    }
    bool whole = true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (*numbers[i] != NOT_HERE) continue;
        *numbers[i] = gpuc_read_u64(&field);
        whole = whole && !field.failed;
    }
    return whole;
}

static gpuc_status read_entry(const zip_archive *a, gpuc_reader *r, zip_member *m)
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
    gpuc_read_bytes(r, 2 + 2 + 4); /* disk, attributes */
    m->offset = gpuc_read_u32(r);
    const char *name = gpuc_read_bytes(r, name_size);
    const uint8_t *extra = gpuc_read_bytes(r, extra_size);
    gpuc_read_bytes(r, comment_size);
    if (r->failed) return damaged(a, "its directory is cut off");
    m->name = strndup(name, name_size);
    if (!m->name) return no_memory(a);
    if (strlen(m->name) != name_size) return bad_member(a, m, "its name has a zero byte");
    if (!read_zip64((gpuc_reader){.data = extra, .size = extra_size}, m))
        return bad_member(a, m, "its zip64 sizes are missing");
    return NULL;
}

static gpuc_status check_member(const zip_archive *a, const zip_member *m)
{
    if (m->flags & 1) return gpuc_fail(GPUC_UNSUPPORTED, "'%s:%s': is encrypted", a->path, m->name);
    if (m->method != ZIP_STORED && m->method != ZIP_DEFLATED)
        return gpuc_fail(GPUC_UNSUPPORTED, "'%s:%s': is compressed by method %u; save it with np.savez",
                         a->path, m->name, m->method);
    /* Deflate cannot shrink further than about 1032 to 1. */
    bool possible = m->method == ZIP_STORED ? m->size == m->packed : m->size / 1040 <= m->packed;
    possible = possible && m->size <= SIZE_MAX && m->packed <= SIZE_MAX;
    return possible ? NULL : bad_member(a, m, "its size cannot be true");
}

/* Where the bytes of a member are: behind a header of its own, which says its name again. */
static gpuc_status find_data(const zip_archive *a, zip_member *m)
{
    gpuc_reader r = reader_at(a, m->offset);
    if (gpuc_read_u32(&r) != LOCAL_SIGNATURE) return bad_member(a, m, "is cut off or damaged");
    gpuc_read_bytes(&r, 22);
    uint16_t name_size = gpuc_read_u16(&r), extra_size = gpuc_read_u16(&r);
    const char *name = gpuc_read_bytes(&r, name_size);
    gpuc_read_bytes(&r, extra_size);
    m->data = gpuc_read_bytes(&r, m->packed);
    if (r.failed) return bad_member(a, m, "is cut off or damaged");
    if (strlen(m->name) != name_size || memcmp(m->name, name, name_size) != 0)
        return bad_member(a, m, "has another name in its own header than in the directory");
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(zip_member *const *)a)->name, (*(zip_member *const *)b)->name);
}

static int by_offset(const void *a, const void *b)
{
    uint64_t x = (*(zip_member *const *)a)->offset, y = (*(zip_member *const *)b)->offset;
    return (x > y) - (x < y);
}

static gpuc_status check_together(const zip_archive *a, uint64_t end)
{
    zip_member **sorted = malloc(a->count * sizeof *sorted);
    if (!sorted) return no_memory(a);
    gpuc_status status = NULL;
    for (size_t i = 0; i < a->count; i++) sorted[i] = &a->members[i];
    qsort(sorted, a->count, sizeof *sorted, by_name);
    for (size_t i = 1; i < a->count && !status; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status = bad_member(a, sorted[i], "is there twice");
    qsort(sorted, a->count, sizeof *sorted, by_offset);
    for (size_t i = 0; i < a->count && !status; i++) {
        uint64_t next = i + 1 < a->count ? sorted[i + 1]->offset : end;
        uint64_t own_end = (uint64_t)(sorted[i]->data - a->data) + sorted[i]->packed;
        if (own_end > next)
            status = bad_member(a, sorted[i], "overlaps with another member or with the directory");
    }
    free(sorted);
    return status;
}

static gpuc_status read_directory(zip_archive *a)
{
    directory d = {0};
    GPUC_TRY(find_directory(a, &d));
    gpuc_reader r = reader_at(a, d.offset);
    r.size = (size_t)(d.offset + d.size);
    size_t room = 0;
    for (uint64_t i = 0; i < d.count; i++) {
        if (a->count == room) {
            room = 2 * room + 8;
            zip_member *more = reallocarray(a->members, room, sizeof *more);
            if (!more) return no_memory(a);
            a->members = more;
        }
        zip_member *m = &a->members[a->count++];
        *m = (zip_member){0};
        GPUC_TRY(read_entry(a, &r, m));
        GPUC_TRY(check_member(a, m));
        GPUC_TRY(find_data(a, m));
    }
    if (r.pos != r.size) return damaged(a, "its directory has more entries than it says");
    return a->count ? check_together(a, d.offset) : NULL;
}

gpuc_status gpuc_npz_zip_open(const void *bytes, size_t size, const char *path, zip_archive *out)
{
    *out = (zip_archive){.path = path, .data = bytes, .size = size};
    return read_directory(out);
}

void gpuc_npz_zip_close(zip_archive *a)
{
    for (size_t i = 0; i < a->count; i++) free(a->members[i].name);
    free(a->members);
    *a = (zip_archive){0};
}
