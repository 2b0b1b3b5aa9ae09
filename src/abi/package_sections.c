/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the header and the section table of a package. */
#include "abi/package_sections.h"

#include <stdio.h>
#include <string.h>

#include "abi/check.h"
#include "base/hash.h"
#include "base/size.h"

#define BAD(...) gpuc_fail(GPUC_INVALID_DATA, __VA_ARGS__)

const char *gpuc_abi_section_type_name(uint32_t type)
{
    switch ((gpuc_section_type)type) {
    case GPUC_SECTION_MANIFEST: return "manifest";
    case GPUC_SECTION_SIGNATURE: return "signature";
    case GPUC_SECTION_EXEC: return "executable";
    case GPUC_SECTION_KERNELS: return "kernels";
    case GPUC_SECTION_MODULE: return "module";
    case GPUC_SECTION_WEIGHTS: return "weights";
    case GPUC_SECTION_PROVENANCE: return "provenance";
    case GPUC_SECTION_ENTRIES: return "entries";
    case GPUC_SECTION_IMAGES: return "images";
    }
    return "unknown";
}

static bool is_known_type(uint32_t type)
{
    return type >= GPUC_SECTION_MANIFEST && type <= GPUC_SECTION_IMAGES;
}

char *gpuc_abi_section_describe(const gpuc_section_info *s, char out[64])
{
    int n = is_known_type(s->type) ? snprintf(out, 64, "%s", gpuc_abi_section_type_name(s->type))
                                   : snprintf(out, 64, "section of type %u", s->type);
    if (s->type == GPUC_SECTION_MODULE || s->type == GPUC_SECTION_WEIGHTS)
        n += snprintf(out + n, 64 - (size_t)n, " %u", s->index);
    if (s->program != GPUC_NO_INDEX) snprintf(out + n, 64 - (size_t)n, " of program %u", s->program);
    return out;
}

static gpuc_status read_header(gpuc_reader *r, uint32_t *out_count)
{
    *out_count = 0;
    const void *magic = gpuc_read_bytes(r, 8);
    if (!magic || memcmp(magic, GPUC_PACKAGE_MAGIC, 8) != 0) {
        if (magic && memcmp(magic, GPUC_PACKAGE_MAGIC, 4) == 0)
            return BAD("not a gpuc package: its first bytes were changed, as a transfer in text mode does");
        return BAD("not a gpuc package: it does not begin with the package's magic bytes");
    }
    uint32_t version = gpuc_read_u32(r);
    uint32_t count = gpuc_read_u32(r);
    uint64_t file_size = gpuc_read_u64(r);
    uint64_t checksum = gpuc_read_u64(r);
    if (r->failed) return BAD("header: the file ends after %zu bytes", r->size);
    if (version != GPUC_PACKAGE_VERSION)
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "header: the package has format version %u, this gpuc reads version %d; build it again or "
            "use the gpuc that built it",
            version, GPUC_PACKAGE_VERSION);
    if (file_size != r->size)
        return BAD("header: the file has %zu bytes, but %llu were written%s", r->size,
                   (unsigned long long)file_size, r->size < file_size ? "; it is cut short" : "");
    if (count > (r->size - r->pos) / GPUC_PACKAGE_ROW_BYTES)
        return BAD("header: a table of %u sections does not fit the file", count);
    uint64_t sum = gpuc_hash_bytes(r->data + r->pos, (size_t)count * GPUC_PACKAGE_ROW_BYTES, 0);
    if (sum != checksum) return BAD("section table: damaged, its checksum differs");
    *out_count = count;
    return NULL;
}

static gpuc_status check_gap(const uint8_t *bytes, uint64_t begin, uint64_t end, const char *name)
{
    for (uint64_t i = begin; i < end; i++)
        if (bytes[i] != 0) return BAD("%s: the padding before it is not zero", name);
    return NULL;
}

/* end is where the section before ends; *out_end where this one does. */
static gpuc_status check_section(const gpuc_section_info *s, const uint8_t *bytes, size_t size,
                                 bool check_weights, uint64_t end, uint64_t *out_end)
{
    char name[64];
    gpuc_abi_section_describe(s, name);
    uint64_t alignment = s->type == GPUC_SECTION_WEIGHTS ? GPUC_WEIGHT_ALIGN : GPUC_PACKAGE_SECTION_ALIGN;
    if (s->offset > size || s->size > size - s->offset)
        return BAD("%s: %llu bytes at offset %llu reach beyond the end of the file", name,
                   (unsigned long long)s->size, (unsigned long long)s->offset);
    if (s->offset % alignment != 0 || s->offset < end || s->offset - end >= alignment)
        return BAD("%s: its offset %llu does not follow the section before it", name,
                   (unsigned long long)s->offset);
    GPUC_TRY(check_gap(bytes, end, s->offset, name));
    *out_end = s->offset + s->size;
    if (!is_known_type(s->type) && (s->flags & GPUC_SECTION_REQUIRED))
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "%s: it is required, but this version of gpuc does not know it; use a "
                         "newer one",
                         name);
    if (s->type == GPUC_SECTION_WEIGHTS && !check_weights) return NULL;
    if (gpuc_hash_bytes(bytes + s->offset, (size_t)s->size, 0) != s->checksum)
        return BAD("%s: damaged, its checksum differs", name);
    return NULL;
}

gpuc_status gpuc_abi_package_read_sections(const void *bytes, size_t size, bool check_weights,
                                           gpuc_arena *arena, gpuc_section_info **out_sections,
                                           uint32_t *out_count)
{
    *out_sections = NULL;
    *out_count = 0;
    if ((uintptr_t)bytes % 16 != 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the package's bytes must start at a multiple of 16 in memory; "
                         "declare the array with alignas(64)");
    gpuc_reader r = {.data = bytes, .size = size};
    uint32_t count;
    GPUC_TRY(read_header(&r, &count));
    gpuc_section_info *sections;
    GPUC_TRY(gpuc_abi_array(arena, count, sizeof *sections, &sections));
    uint64_t end = GPUC_PACKAGE_HEADER_BYTES + (uint64_t)count * GPUC_PACKAGE_ROW_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        gpuc_section_info *s = &sections[i];
        s->type = gpuc_read_u32(&r);
        s->flags = gpuc_read_u32(&r);
        s->program = gpuc_read_u32(&r);
        s->index = gpuc_read_u32(&r);
        s->offset = gpuc_read_u64(&r);
        s->size = gpuc_read_u64(&r);
        s->checksum = gpuc_read_u64(&r);
        GPUC_TRY(check_section(s, bytes, size, check_weights, end, &end));
    }
    if (end != size)
        return BAD("section table: %llu bytes after the last section belong to none",
                   (unsigned long long)(size - end));
    *out_sections = sections;
    *out_count = count;
    return NULL;
}
