/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: a zip archive of .npy members. What a member holds is known from its first bytes; the rest is
 * unpacked into memory of the size that its header states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_files/npy.h"
#include "tensor_files/zip.h"

struct gpuc_npz {
    gpuc_mapping map; /* of the file, if this opened it */
    zip_archive zip;
    const gpuc_npz_codec *codec; /* NULL: none */
    char **files, **bases;       /* per member: names for messages, and for inputs */
};

static bool is_member(const gpuc_npz *a, int i)
{
    return i >= 0 && (size_t)i < a->zip.count;
}

static gpuc_status no_member(const gpuc_npz *a, int i)
{
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "the archive has %zu members; there is no number %d",
                     a->zip.count, i);
}

static gpuc_status bad_bytes(const gpuc_npz *a, int i)
{
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': its bytes are damaged", a->files[i]);
}

static gpuc_status no_codec(const gpuc_npz *a, int i)
{
    return gpuc_fail(GPUC_UNSUPPORTED,
                     "'%s': is compressed, and this program was built without zlib; save it with numpy.savez",
                     a->files[i]);
}

static gpuc_status no_memory(const char *name)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "'%s': out of memory", name);
}

/* The first bytes of a member. */
static gpuc_status unpack_start(const gpuc_npz *a, int i, uint8_t *out, size_t size)
{
    const zip_member *m = &a->zip.members[i];
    size_t made;
    if (m->method == ZIP_STORED) {
        if (size > m->packed) return bad_bytes(a, i);
        memcpy(out, m->data, size);
        return NULL;
    }
    if (!a->codec) return no_codec(a, i);
    gpuc_inflated end = a->codec->inflate(m->data, (size_t)m->packed, out, size, &made);
    return end == GPUC_INFLATED_BAD || made < size ? bad_bytes(a, i) : NULL;
}

/* All of it, and it is what was packed. */
static gpuc_status unpack(const gpuc_npz *a, int i, uint8_t *out)
{
    const zip_member *m = &a->zip.members[i];
    size_t made;
    if (m->method == ZIP_STORED)
        memcpy(out, m->data, (size_t)m->size);
    else if (!a->codec)
        return no_codec(a, i);
    else if (a->codec->inflate(m->data, (size_t)m->packed, out, (size_t)m->size, &made) != GPUC_INFLATED_ALL)
        return bad_bytes(a, i);
    if (!a->codec || a->codec->crc32(out, (size_t)m->size) == m->crc) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': its checksum is wrong", a->files[i]);
}

/* The tensor without its elements, which are next. */
static gpuc_status read_head(const gpuc_npz *a, int i, size_t *head_size, gpuc_host_tensor *out)
{
    const char *name = a->files[i];
    uint64_t all = a->zip.members[i].size;
    uint8_t start[GPUC_NPY_START];
    *out = (gpuc_host_tensor){0};
    if (all < sizeof start || all > SIZE_MAX)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a .npy file", name);
    GPUC_TRY(unpack_start(a, i, start, sizeof start));
    GPUC_TRY(gpuc_npy_head_size(start, all, name, head_size));
    uint8_t *head = malloc(*head_size);
    if (!head) return no_memory(name);
    gpuc_status status = unpack_start(a, i, head, *head_size);
    if (!status) status = gpuc_npy_head(head, *head_size, all, name, out);
    free(head);
    return status;
}

gpuc_status gpuc_npz_type(const gpuc_npz *a, int i, gpuc_host_tensor *out)
{
    size_t head_size;
    *out = (gpuc_host_tensor){0};
    if (!is_member(a, i)) return no_member(a, i);
    return read_head(a, i, &head_size, out);
}

gpuc_status gpuc_npz_read(const gpuc_npz *a, int i, gpuc_host_tensor *out)
{
    size_t head_size;
    gpuc_host_tensor t;
    *out = (gpuc_host_tensor){0};
    if (!is_member(a, i)) return no_member(a, i);
    GPUC_TRY(read_head(a, i, &head_size, &t));
    size_t all = (size_t)a->zip.members[i].size;
    /* The header and what it says are as long as the member. */
    t.size = all - head_size;
    t.count = t.size / gpuc_dtype_bytes(t.dtype);
    t.data = malloc(all);
    if (!t.data) return no_memory(a->files[i]);
    gpuc_status status = unpack(a, i, t.data);
    if (status) {
        gpuc_host_tensor_deinit(&t);
        return status;
    }
    memmove(t.data, (const char *)t.data + head_size, t.size);
    *out = t;
    return NULL;
}

/* ---- The archive ---- */

static char *base_of(const char *name)
{
    size_t n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, ".npy") == 0) n -= 4;
    return strndup(name, n);
}

static char *file_of(const char *archive, const char *member)
{
    char *out;
    return asprintf(&out, "%s:%s", archive, member) < 0 ? NULL : out;
}

gpuc_status gpuc_npz_parse(const void *bytes, size_t size, const char *name, const gpuc_npz_codec *codec,
                           gpuc_npz **out)
{
    gpuc_npz *a = calloc(1, sizeof *a);
    *out = NULL;
    if (!a) return no_memory(name);
    a->codec = codec;
    gpuc_status status = gpuc_npz_zip_open(bytes, size, name, &a->zip);
    if (!status) {
        a->files = calloc(a->zip.count + 1, sizeof *a->files);
        a->bases = calloc(a->zip.count + 1, sizeof *a->bases);
        if (!a->files || !a->bases) status = no_memory(name);
    }
    for (size_t i = 0; !status && i < a->zip.count; i++) {
        a->files[i] = file_of(name, a->zip.members[i].name);
        a->bases[i] = base_of(a->zip.members[i].name);
        if (!a->files[i] || !a->bases[i]) status = no_memory(name);
    }
    if (status)
        gpuc_npz_close(a);
    else
        *out = a;
    return status;
}

gpuc_status gpuc_npz_open(const char *path, const gpuc_npz_codec *codec, gpuc_npz **out)
{
    gpuc_mapping map;
    *out = NULL;
    GPUC_TRY(gpuc_file_map(path, &map));
    gpuc_status status = gpuc_npz_parse(map.data, map.size, path, codec, out);
    if (status)
        gpuc_file_unmap(&map);
    else
        (*out)->map = map;
    return status;
}

int gpuc_npz_count(const gpuc_npz *a)
{
    return (int)a->zip.count;
}

const char *gpuc_npz_file(const gpuc_npz *a, int i)
{
    return is_member(a, i) ? a->files[i] : NULL;
}

const char *gpuc_npz_name(const gpuc_npz *a, int i)
{
    return is_member(a, i) ? a->bases[i] : NULL;
}

void gpuc_npz_close(gpuc_npz *a)
{
    if (!a) return;
    for (size_t i = 0; a->files && a->bases && i < a->zip.count; i++) {
        free(a->files[i]);
        free(a->bases[i]);
    }
    free(a->files);
    free(a->bases);
    gpuc_npz_zip_close(&a->zip);
    gpuc_file_unmap(&a->map);
    free(a);
}
