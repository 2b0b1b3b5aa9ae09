/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: a zip archive of .npy members. What a member holds is known from its first bytes; the rest is
 * unpacked into memory of the size that its header states. */
#include <stdlib.h>
#include <string.h>

#ifdef GPUC_CLI_ZLIB
#include <zlib.h>
#endif

#include "base/file.h"
#include "cli.h"
#include "tensor_files/tensor.h"
#include "tensor_files/zip.h"

struct cli_npz {
    gpuc_mapping map; /* of the file, if this opened it */
    zip_archive zip;
    char **files, **bases; /* per member: names for messages, and for inputs */
};

/* A member that is being unpacked. */
typedef struct source {
    const zip_member *member;
    const char *name;
    uint64_t left; /* packed bytes that were not taken yet, from the end of the member's */
#ifdef GPUC_CLI_ZLIB
    z_stream z;
    uLong crc;
#endif
} source;

enum { MOST_AT_ONCE = 1 << 30 }; /* zlib counts in 32 bits */

static const uint8_t *take_packed(source *s, size_t size)
{
    const uint8_t *at = s->member->data + (s->member->packed - s->left);
    s->left -= size;
    return at;
}

#ifdef GPUC_CLI_ZLIB
static gpuc_status inflate_open(source *s)
{
    s->crc = crc32(0, NULL, 0);
    if (s->member->method == ZIP_STORED || inflateInit2(&s->z, -MAX_WBITS) == Z_OK) return NULL;
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "'%s': out of memory", s->name);
}

/* Z_OK if size bytes came, Z_STREAM_END if fewer did, at the end of the stream. */
static int inflate_part(source *s, uint8_t *out, size_t size)
{
    s->z.next_out = out;
    s->z.avail_out = (uInt)size;
    while (s->z.avail_out) {
        if (!s->z.avail_in) {
            s->z.avail_in = s->left < MOST_AT_ONCE ? (uInt)s->left : MOST_AT_ONCE;
            s->z.next_in = (Bytef *)take_packed(s, s->z.avail_in);
        }
        int result = inflate(&s->z, Z_NO_FLUSH);
        if (result == Z_STREAM_END) return s->z.avail_out ? result : Z_OK;
        if (result != Z_OK) return result;
    }
    return Z_OK;
}

static bool inflate_ended(source *s)
{
    uint8_t spare;
    return inflate_part(s, &spare, 1) == Z_STREAM_END && !s->z.avail_in;
}

static bool inflate_bytes(source *s, uint8_t *out, size_t size)
{
    return inflate_part(s, out, size) == Z_OK;
}

static void inflate_close(source *s)
{
    if (s->member->method != ZIP_STORED) inflateEnd(&s->z);
}

static void add_checksum(source *s, const uint8_t *bytes, size_t size)
{
    s->crc = crc32(s->crc, bytes, (uInt)size);
}

static bool checksum_is_right(const source *s)
{
    return s->crc == s->member->crc;
}
#else
/* Stored members only, and no checksums. */
static gpuc_status inflate_open(source *s)
{
    if (s->member->method == ZIP_STORED) return NULL;
    return gpuc_fail(GPUC_UNSUPPORTED,
                     "'%s': is compressed, and this gpuc was built without zlib; save it with np.savez",
                     s->name);
}

static bool inflate_ended(source *s)
{
    return !s->left;
}

static bool inflate_bytes(source *s, uint8_t *out, size_t size)
{
    (void)s;
    (void)out;
    return !size;
}

static void inflate_close(source *s)
{
    (void)s;
}

static void add_checksum(source *s, const uint8_t *bytes, size_t size)
{
    (void)s;
    (void)bytes;
    (void)size;
}

static bool checksum_is_right(const source *s)
{
    return s != NULL;
}
#endif

static gpuc_status source_open(const cli_npz *a, int i, source *s)
{
    const zip_member *m = &a->zip.members[i];
    *s = (source){.member = m, .name = a->files[i], .left = m->packed};
    return inflate_open(s);
}

static gpuc_status bad_bytes(const source *s)
{
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': its bytes are damaged", s->name);
}

/* The next bytes, unpacked: so many, or an error. */
static gpuc_status source_read(source *s, uint8_t *out, size_t size)
{
    for (size_t part; size; out += part, size -= part) {
        part = size < MOST_AT_ONCE ? size : MOST_AT_ONCE;
        if (s->member->method != ZIP_STORED) {
            if (!inflate_bytes(s, out, part)) return bad_bytes(s);
        } else {
            if (part > s->left) return bad_bytes(s);
            memcpy(out, take_packed(s, part), part);
        }
        add_checksum(s, out, part);
    }
    return NULL;
}

/* All was read, and was what was packed. */
static gpuc_status source_check(source *s)
{
    if (s->member->method != ZIP_STORED && !inflate_ended(s)) return bad_bytes(s);
    if (s->left) return bad_bytes(s);
    if (checksum_is_right(s)) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': its checksum is wrong", s->name);
}

/* The tensor without its elements, which are next. */
static gpuc_status read_head(source *s, cli_tensor *out)
{
    uint8_t start[CLI_NPY_START];
    size_t size;
    *out = (cli_tensor){0};
    if (s->member->size < sizeof start)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a .npy file", s->name);
    GPUC_TRY(source_read(s, start, sizeof start));
    GPUC_TRY(cli_npy_head_size(start, s->member->size, s->name, &size));
    uint8_t *head = cli_alloc(size);
    memcpy(head, start, sizeof start);
    gpuc_status status = source_read(s, head + sizeof start, size - sizeof start);
    if (!status) status = cli_npy_head(head, size, s->member->size, s->name, out);
    free(head);
    return status;
}

gpuc_status cli_npz_type(const cli_npz *a, int i, cli_tensor *out)
{
    source s;
    GPUC_TRY(source_open(a, i, &s));
    gpuc_status status = read_head(&s, out);
    inflate_close(&s);
    return status;
}

gpuc_status cli_npz_read(const cli_npz *a, int i, cli_tensor *out)
{
    source s;
    cli_tensor t;
    GPUC_TRY(source_open(a, i, &s));
    gpuc_status status = read_head(&s, &t);
    *out = (cli_tensor){0};
    if (!status) status = cli_tensor_create(t.dtype, t.ndim, t.dims, s.name, out);
    if (!status) status = source_read(&s, out->data, out->size);
    if (!status) status = source_check(&s);
    if (status) cli_tensor_free(out);
    inflate_close(&s);
    return status;
}

/* ---- The archive ---- */

static char *base_of(const char *name)
{
    size_t n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, ".npy") == 0) n -= 4;
    return cli_printf("%.*s", (int)n, name);
}

gpuc_status cli_npz_parse(const void *bytes, size_t size, const char *name, cli_npz **out)
{
    cli_npz *a = cli_alloc(sizeof *a);
    gpuc_status status = zip_open(bytes, size, name, &a->zip);
    *out = NULL;
    if (status) {
        zip_close(&a->zip);
        free(a);
        return status;
    }
    a->files = cli_alloc(a->zip.count * sizeof *a->files);
    a->bases = cli_alloc(a->zip.count * sizeof *a->bases);
    for (size_t i = 0; i < a->zip.count; i++) {
        a->files[i] = cli_printf("%s:%s", name, a->zip.members[i].name);
        a->bases[i] = base_of(a->zip.members[i].name);
    }
    *out = a;
    return NULL;
}

gpuc_status cli_npz_open(const char *path, cli_npz **out)
{
    gpuc_mapping map;
    *out = NULL;
    GPUC_TRY(gpuc_file_map(path, &map));
    gpuc_status status = cli_npz_parse(map.data, map.size, path, out);
    if (status)
        gpuc_file_unmap(&map);
    else
        (*out)->map = map;
    return status;
}

int cli_npz_count(const cli_npz *a)
{
    return (int)a->zip.count;
}

const char *cli_npz_file(const cli_npz *a, int i)
{
    return a->files[i];
}

const char *cli_npz_name(const cli_npz *a, int i)
{
    return a->bases[i];
}

void cli_npz_close(cli_npz *a)
{
    if (!a) return;
    for (size_t i = 0; i < a->zip.count; i++) {
        free(a->files[i]);
        free(a->bases[i]);
    }
    free(a->files);
    free(a->bases);
    zip_close(&a->zip);
    gpuc_file_unmap(&a->map);
    free(a);
}
