/* SPDX-License-Identifier: Apache-2.0 */
/* .npy, .npz and .pb: what is written reads back, and damage is an error that names the file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include <gpuc/tensor_files.h>

#include "base/buf.h"
#include "base/file.h"
#include "../../tools/gpuc/unzip.h"

static char folder[] = "/tmp/gpuc-tensors-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

static void fails(gpuc_status status, const char *part)
{
    assert_non_null(status);
    if (!strstr(gpuc_status_message(status), part))
        fail_msg("'%s' lacks '%s'", gpuc_status_message(status), part);
    gpuc_status_release(status);
}

static const gpuc_dtype dtypes[] = {
    {GPUC_DTYPE_FLOAT, 32, 1},  {GPUC_DTYPE_FLOAT, 64, 1}, {GPUC_DTYPE_FLOAT, 16, 1},
    {GPUC_DTYPE_BFLOAT, 16, 1}, {GPUC_DTYPE_INT, 8, 1},    {GPUC_DTYPE_INT, 16, 1},
    {GPUC_DTYPE_INT, 32, 1},    {GPUC_DTYPE_INT, 64, 1},   {GPUC_DTYPE_UINT, 8, 1},
    {GPUC_DTYPE_UINT, 16, 1},   {GPUC_DTYPE_UINT, 32, 1},  {GPUC_DTYPE_UINT, 64, 1},
    {GPUC_DTYPE_BOOL, 8, 1},
};

static const struct {
    int ndim;
    int64_t dims[5];
} shapes[] = {{0, {0}}, {1, {1}}, {1, {7}}, {2, {3, 5}}, {3, {2, 0, 4}}, {5, {1, 2, 3, 2, 1}}};

static gpuc_host_tensor make(gpuc_dtype dtype, int shape)
{
    gpuc_host_tensor t;
    ok(gpuc_host_tensor_init(dtype, shapes[shape].ndim, shapes[shape].dims, "test", &t));
    for (size_t i = 0; i < t.size; i++) ((uint8_t *)t.data)[i] = (uint8_t)(i * 151 + 42);
    return t;
}

static void assert_same(const gpuc_host_tensor *a, const gpuc_host_tensor *b)
{
    assert_true(gpuc_dtype_equal(a->dtype, b->dtype));
    assert_int_equal(a->ndim, b->ndim);
    assert_memory_equal(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims);
    assert_int_equal(a->size, b->size);
    if (a->size) assert_memory_equal(a->data, b->data, a->size);
}

static void each_type_and_shape(gpuc_status (*write)(gpuc_pending *, const gpuc_host_tensor *, const char *),
                                const char *name)
{
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
            gpuc_host_tensor t = make(dtypes[d], s), back;
            ok(write(NULL, &t, path_of(name)));
            ok(gpuc_tensor_file_load(path_of(name), &back));
            assert_same(&t, &back);
            gpuc_host_tensor_deinit(&t);
            gpuc_host_tensor_deinit(&back);
        }
}

static void test_npy_round_trip(void **state)
{
    (void)state;
    each_type_and_shape(gpuc_npy_write, "a.npy");
}

static void test_pb_round_trip(void **state)
{
    (void)state;
    each_type_and_shape(gpuc_pb_write, "a.pb");
}

/* Every prefix of a file, and every file with one byte changed, is read without harm. */
static void damage(const char *name,
                   gpuc_status (*parse)(const void *, size_t, const char *, gpuc_host_tensor *))
{
    gpuc_mapping map;
    ok(gpuc_file_map(path_of(name), &map));
    uint8_t *bytes = malloc(map.size);
    assert_non_null(bytes);
    for (size_t n = 0; n < map.size; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* of its own, so that a checker sees reads beyond */
        gpuc_host_tensor t;
        assert_non_null(cut);
        memcpy(cut, map.data, n);
        gpuc_status status = parse(cut, n, "cut", &t);
        assert_non_null(status);
        gpuc_status_release(status);
        free(cut);
    }
    for (size_t n = 0; n < map.size * 8; n++) {
        gpuc_host_tensor t;
        memcpy(bytes, map.data, map.size);
        bytes[n / 8] ^= (uint8_t)(1 << n % 8);
        gpuc_status status = parse(bytes, map.size, "flipped", &t);
        if (!status) gpuc_host_tensor_deinit(&t);
        gpuc_status_release(status);
    }
    free(bytes);
    gpuc_file_unmap(&map);
}

static void test_damage(void **state)
{
    (void)state;
    gpuc_host_tensor t = make(dtypes[0], 3);
    ok(gpuc_npy_write(NULL, &t, path_of("d.npy")));
    ok(gpuc_pb_write(NULL, &t, path_of("d.pb")));
    gpuc_host_tensor_deinit(&t);
    damage("d.npy", gpuc_npy_parse);
    damage("d.pb", gpuc_pb_parse);
}

static gpuc_status parse_npy(const char *header, size_t elements, gpuc_host_tensor *out)
{
    uint8_t bytes[512] = "\x93NUMPY\x01";
    size_t n = strlen(header);
    bytes[8] = (uint8_t)n;
    memcpy(bytes + 10, header, n);
    return gpuc_npy_parse(bytes, 10 + n + elements, "h.npy", out);
}

static void test_npy_headers(void **state)
{
    (void)state;
    gpuc_host_tensor t;
    ok(parse_npy("{ \"shape\":(2,3),'fortran_order':False , 'descr' : '<f4'}", 24, &t));
    assert_int_equal(t.ndim, 2);
    gpuc_host_tensor_deinit(&t);
    ok(parse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (5L,), }", 5, &t));
    assert_int_equal(t.dims[0], 5);
    gpuc_host_tensor_deinit(&t);
    ok(parse_npy("{'descr': '>u1', 'fortran_order': False, 'shape': (), }", 1, &t));
    assert_int_equal(t.ndim, 0);
    gpuc_host_tensor_deinit(&t);
    fails(parse_npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8, &t), "big-endian");
    fails(parse_npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,1), }", 8, &t), "Fortran");
    fails(parse_npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, &t), "'<c8'");
    fails(parse_npy("{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (1,), }", 4, &t),
          "are not supported");
    fails(parse_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 4, &t),
          "damaged");
    fails(parse_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4), }", 4, &t),
          "cut off");
    fails(parse_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 5, &t), "damaged");
    fails(parse_npy("{'descr': '<f4', 'fortran_order': False}", 4, &t), "header");
}

/* Typed fields of TensorProto, packed and one by one. */
static void test_pb_fields(void **state)
{
    (void)state;
    static const uint8_t packed[] = {0x08, 3, 0x10, 6, 0x2a, 3, 1, 2, 0x7f}; /* dims 3, int32, int32_data */
    static const uint8_t single[] = {0x0a, 1, 2,    0x10, 7,
                                     0x38, 5, 0x38, 6}; /* packed dims 2, int64, int64_data */
    static const uint8_t floats[] = {0x08, 1, 0x10, 1, 0x22, 4, 0, 0, 0x80, 0x3f};
    static const uint8_t few[] = {0x08, 3, 0x10, 6, 0x2a, 1, 1};
    static const uint8_t strings[] = {0x08, 0, 0x10, 8};
    static const uint8_t vast[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x10, 1};
    static const uint8_t external[] = {0x08, 1, 0x10, 1, 0x70, 1};
    gpuc_host_tensor t;
    ok(gpuc_pb_parse(packed, sizeof packed, "p", &t));
    assert_int_equal(((int32_t *)t.data)[2], 127);
    gpuc_host_tensor_deinit(&t);
    ok(gpuc_pb_parse(single, sizeof single, "p", &t));
    assert_int_equal(((int64_t *)t.data)[1], 6);
    gpuc_host_tensor_deinit(&t);
    ok(gpuc_pb_parse(floats, sizeof floats, "p", &t));
    assert_true(((float *)t.data)[0] == 1.0f);
    gpuc_host_tensor_deinit(&t);
    fails(gpuc_pb_parse(few, sizeof few, "p", &t), "needs 3 elements, it has 1");
    fails(gpuc_pb_parse(strings, sizeof strings, "p", &t), "type 8");
    fails(gpuc_pb_parse(vast, sizeof vast, "p", &t), "more elements than the file holds");
    fails(gpuc_pb_parse(external, sizeof external, "p", &t), "another file");
}

/* ---- Archives ---- */

static uint32_t crc_of(const uint8_t *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

typedef struct zip {
    gpuc_buf file, directory;
    int count;
} zip;

static void zip_head(gpuc_buf *b, bool central, const char *name, size_t name_size, uint16_t method,
                     uint32_t crc, size_t packed, size_t size)
{
    gpuc_buf_u32(b, central ? 0x02014b50 : 0x04034b50);
    if (central) gpuc_buf_u16(b, 20);
    gpuc_buf_u16(b, 20);
    gpuc_buf_u16(b, 0);
    gpuc_buf_u16(b, method);
    gpuc_buf_u32(b, 0);
    gpuc_buf_u32(b, crc);
    gpuc_buf_u32(b, (uint32_t)packed);
    gpuc_buf_u32(b, (uint32_t)size);
    gpuc_buf_u16(b, (uint16_t)name_size);
    gpuc_buf_u16(b, 0);
    if (!central) gpuc_buf_bytes(b, name, name_size);
}

/* An entry of the directory for a member at that offset. */
static void zip_entry(zip *z, const char *name, size_t name_size, uint16_t method, uint32_t crc,
                      size_t packed_size, size_t size, size_t offset)
{
    zip_head(&z->directory, true, name, name_size, method, crc, packed_size, size);
    for (int i = 0; i < 5; i++) gpuc_buf_u16(&z->directory, 0); /* comment, disk, attributes */
    gpuc_buf_u32(&z->directory, (uint32_t)offset);
    gpuc_buf_bytes(&z->directory, name, name_size);
    z->count++;
}

static void zip_add(zip *z, const char *name, uint16_t method, const uint8_t *packed, size_t packed_size,
                    const uint8_t *data, size_t size)
{
    size_t offset = z->file.size;
    uint32_t crc = crc_of(data, size);
    zip_head(&z->file, false, name, strlen(name), method, crc, packed_size, size);
    gpuc_buf_bytes(&z->file, packed, packed_size);
    zip_entry(z, name, strlen(name), method, crc, packed_size, size, offset);
}

static void zip_end(zip *z, const char *path)
{
    size_t offset = z->file.size;
    gpuc_buf_bytes(&z->file, z->directory.data, z->directory.size);
    gpuc_buf_u32(&z->file, 0x06054b50);
    gpuc_buf_u32(&z->file, 0);
    gpuc_buf_u16(&z->file, (uint16_t)z->count);
    gpuc_buf_u16(&z->file, (uint16_t)z->count);
    gpuc_buf_u32(&z->file, (uint32_t)z->directory.size);
    gpuc_buf_u32(&z->file, (uint32_t)offset);
    gpuc_buf_u16(&z->file, 0);
    ok(gpuc_file_put(NULL, path, z->file.data, z->file.size));
    gpuc_buf_deinit(&z->directory);
}

/* The bytes of an .npy file. */
static gpuc_mapping npy_of(const gpuc_host_tensor *t)
{
    gpuc_mapping map;
    ok(gpuc_npy_write(NULL, t, path_of("member.npy")));
    ok(gpuc_file_map(path_of("member.npy"), &map));
    return map;
}

/* The error of an archive, of its directory or of its first member that has one; NULL: it has none. */
static gpuc_status load_all(const char *path)
{
    gpuc_npz *archive;
    gpuc_status status = gpuc_npz_open(path, cli_npz_codec(), &archive);
    for (int i = 0; !status && i < gpuc_npz_count(archive); i++) {
        gpuc_host_tensor t;
        status = gpuc_npz_read(archive, i, &t);
        if (!status) gpuc_host_tensor_deinit(&t);
    }
    gpuc_npz_close(archive);
    return status;
}

static void assert_member(const gpuc_npz *archive, int i, const char *name, const gpuc_host_tensor *want)
{
    gpuc_host_tensor type, t;
    assert_string_equal(gpuc_npz_name(archive, i), name);
    ok(gpuc_npz_type(archive, i, &type));
    assert_null(type.data);
    assert_int_equal(type.ndim, want->ndim);
    assert_memory_equal(type.dims, want->dims, (size_t)want->ndim * sizeof *want->dims);
    ok(gpuc_npz_read(archive, i, &t));
    assert_same(want, &t);
    gpuc_host_tensor_deinit(&t);
}

static void test_npz_stored(void **state)
{
    (void)state;
    gpuc_host_tensor a = make(dtypes[0], 3), b = make(dtypes[7], 2);
    gpuc_mapping map_a = npy_of(&a), map_b = npy_of(&b);
    zip z = {0};
    zip_add(&z, "a.npy", 0, map_a.data, map_a.size, map_a.data, map_a.size);
    zip_add(&z, "dir/b.npy", 0, map_b.data, map_b.size, map_b.data, map_b.size);
    zip_end(&z, path_of("s.npz"));
    gpuc_npz *archive;
    ok(gpuc_npz_open(path_of("s.npz"), cli_npz_codec(), &archive));
    assert_int_equal(gpuc_npz_count(archive), 2);
    assert_member(archive, 0, "a", &a);
    assert_member(archive, 1, "dir/b", &b);
    gpuc_host_tensor none;
    assert_null(gpuc_npz_name(archive, 2));
    assert_null(gpuc_npz_file(archive, -1));
    fails(gpuc_npz_type(archive, 2, &none), "2 members");
    fails(gpuc_npz_read(archive, -1, &none), "2 members");
    gpuc_npz_close(archive);
    /* Every byte of the archive changed in turn: no harm, and no wrong elements. */
    for (size_t n = 0; n < z.file.size; n++) {
        z.file.data[n] ^= 0x10;
        ok(gpuc_file_put(NULL, path_of("flip.npz"), z.file.data, z.file.size));
        gpuc_status_release(load_all(path_of("flip.npz")));
        z.file.data[n] ^= 0x10;
    }
    z.file.data[z.file.size / 3] ^= 1;
    ok(gpuc_file_put(NULL, path_of("flip.npz"), z.file.data, z.file.size));
    fails(load_all(path_of("flip.npz")), "flip.npz");
    gpuc_buf_deinit(&z.file);
    gpuc_file_unmap(&map_a);
    gpuc_file_unmap(&map_b);
    gpuc_host_tensor_deinit(&a);
    gpuc_host_tensor_deinit(&b);
}

/* ---- Directories that lie ---- */

static void refused(zip *z, const char *part)
{
    zip_end(z, path_of("bad.npz"));
    fails(load_all(path_of("bad.npz")), part);
    gpuc_buf_deinit(&z->file);
}

static void test_npz_names(void **state)
{
    (void)state;
    gpuc_host_tensor a = make(dtypes[0], 3);
    gpuc_mapping map = npy_of(&a);
    uint32_t crc = crc_of(map.data, map.size);
    zip twice = {0}, zero = {0}, other = {0};
    zip_add(&twice, "a.npy", 0, map.data, map.size, map.data, map.size);
    zip_add(&twice, "b.npy", 0, map.data, map.size, map.data, map.size);
    zip_add(&twice, "a.npy", 0, map.data, map.size, map.data, map.size);
    refused(&twice, "bad.npz:a.npy': is there twice");
    zip_head(&zero.file, false, "a\0b.npy", 7, 0, crc, map.size, map.size);
    gpuc_buf_bytes(&zero.file, map.data, map.size);
    zip_entry(&zero, "a\0b.npy", 7, 0, crc, map.size, map.size, 0);
    refused(&zero, "bad.npz:a': its name has a zero byte");
    zip_head(&other.file, false, "b.npy", 5, 0, crc, map.size, map.size);
    gpuc_buf_bytes(&other.file, map.data, map.size);
    zip_entry(&other, "a.npy", 5, 0, crc, map.size, map.size, 0);
    refused(&other, "bad.npz:a.npy': has another name in its own header");
    gpuc_file_unmap(&map);
    gpuc_host_tensor_deinit(&a);
}

static void test_npz_places(void **state)
{
    (void)state;
    gpuc_host_tensor a = make(dtypes[0], 3);
    gpuc_mapping map = npy_of(&a);
    uint32_t crc = crc_of(map.data, map.size);
    zip inner = {0}, reach = {0}, far = {0}, more = {0};
    /* a's bytes hold b: its header, and the same array. */
    gpuc_buf b = {0};
    zip_head(&b, false, "b.npy", 5, 0, crc, map.size, map.size);
    gpuc_buf_bytes(&b, map.data, map.size);
    zip_head(&inner.file, false, "a.npy", 5, 0, crc, b.size, b.size);
    size_t offset = inner.file.size;
    gpuc_buf_bytes(&inner.file, b.data, b.size);
    zip_entry(&inner, "a.npy", 5, 0, crc, b.size, b.size, 0);
    zip_entry(&inner, "b.npy", 5, 0, crc, map.size, map.size, offset);
    refused(&inner, "bad.npz:a.npy': overlaps");
    gpuc_buf_deinit(&b);
    zip_head(&reach.file, false, "a.npy", 5, 0, crc, map.size, map.size);
    gpuc_buf_bytes(&reach.file, map.data, map.size);
    zip_entry(&reach, "a.npy", 5, 0, crc, map.size + 8, map.size + 8, 0);
    refused(&reach, "bad.npz:a.npy': overlaps");
    zip_entry(&far, "a.npy", 5, 0, crc, map.size, map.size, 1 << 20);
    refused(&far, "bad.npz:a.npy': is cut off or damaged");
    zip_add(&more, "a.npy", 0, map.data, map.size, map.data, map.size);
    zip_add(&more, "b.npy", 0, map.data, map.size, map.data, map.size);
    more.count = 1;
    refused(&more, "more entries than it says");
    gpuc_file_unmap(&map);
    gpuc_host_tensor_deinit(&a);
}

/* Sizes of 0xffffffff are in an extra field; without it, and with it. */
static void test_npz_zip64(void **state)
{
    (void)state;
    gpuc_host_tensor a = make(dtypes[0], 3);
    gpuc_mapping map = npy_of(&a);
    uint32_t crc = crc_of(map.data, map.size);
    for (int with = 0; with < 3; with++) {
        zip z = {0};
        zip_head(&z.file, false, "a.npy", 5, 0, crc, map.size, map.size);
        gpuc_buf_bytes(&z.file, map.data, map.size);
        zip_entry(&z, "a.npy", 5, 0, crc, 0xffffffff, 0xffffffff, 0);
        if (with) {
            z.directory.data[30] = 20; /* the length of the extra field */
            gpuc_buf_u16(&z.directory, 1);
            gpuc_buf_u16(&z.directory, 16);
            gpuc_buf_u64(&z.directory, with == 1 ? map.size : UINT64_MAX);
            gpuc_buf_u64(&z.directory, with == 1 ? map.size : UINT64_MAX);
        }
        if (with != 1) {
            refused(&z, with ? "bad.npz:a.npy': is cut off" : "bad.npz:a.npy': its zip64 sizes are missing");
            continue;
        }
        zip_end(&z, path_of("s.npz"));
        ok(load_all(path_of("s.npz")));
        gpuc_buf_deinit(&z.file);
    }
    gpuc_file_unmap(&map);
    gpuc_host_tensor_deinit(&a);
}

/* Returns the bytes of the packed form. */
static size_t deflated(const uint8_t *data, size_t size, uint8_t *out, size_t room)
{
    z_stream d = {0};
    assert_int_equal(deflateInit2(&d, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    d.next_in = (Bytef *)data;
    d.avail_in = (uInt)size;
    d.next_out = out;
    d.avail_out = (uInt)room;
    assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
    size_t packed = d.total_out;
    deflateEnd(&d);
    return packed;
}

static void test_npz_deflated(void **state)
{
    (void)state;
    gpuc_host_tensor a = make(dtypes[0], 5);
    gpuc_mapping map = npy_of(&a);
    uint8_t packed[1024];
    size_t size = deflated(map.data, map.size, packed, sizeof packed);
    gpuc_npz *archive;
    zip z = {0};
    zip_add(&z, "a.npy", 8, packed, size, map.data, map.size);
    zip_end(&z, path_of("d.npz"));
    ok(gpuc_npz_open(path_of("d.npz"), cli_npz_codec(), &archive));
    assert_int_equal(gpuc_npz_count(archive), 1);
    assert_member(archive, 0, "a", &a);
    gpuc_npz_close(archive);
    gpuc_buf_deinit(&z.file);
    for (size_t n = 0; n < size; n++) { /* damage inside of the compressed bytes */
        packed[n] ^= 0x41;
        zip y = {0};
        zip_add(&y, "a.npy", 8, packed, size, map.data, map.size);
        zip_end(&y, path_of("d.npz"));
        gpuc_buf_deinit(&y.file);
        fails(load_all(path_of("d.npz")), "d.npz:a.npy");
        packed[n] ^= 0x41;
    }
    gpuc_file_unmap(&map);
    gpuc_host_tensor_deinit(&a);
}

/* A stream that goes on behind the size that the directory states, one that ends before it, and bytes behind
 * the stream. */
static void test_npz_sizes(void **state)
{
    (void)state;
    gpuc_host_tensor a = make(dtypes[0], 3);
    gpuc_mapping map = npy_of(&a);
    uint8_t longer[512] = {0}, packed[1024];
    assert_true(map.size + 8 <= sizeof longer);
    memcpy(longer, map.data, map.size);
    const struct {
        size_t stream, stated, behind;
    } cases[] = {{map.size + 8, map.size, 0}, {map.size - 8, map.size, 0}, {map.size, map.size, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zip z = {0};
        size_t size = deflated(longer, cases[i].stream, packed, sizeof packed);
        memset(packed + size, 0, cases[i].behind);
        zip_add(&z, "a.npy", 8, packed, size + cases[i].behind, map.data, cases[i].stated);
        refused(&z, "bad.npz:a.npy': its bytes are damaged");
    }
    zip z = {0};
    size_t size = deflated(map.data, map.size, packed, sizeof packed);
    zip_head(&z.file, false, "a.npy", 5, 8, 0, size, 1 << 30);
    gpuc_buf_bytes(&z.file, packed, size);
    zip_entry(&z, "a.npy", 5, 8, 0, size, 1 << 30, 0);
    refused(&z, "bad.npz:a.npy': its size cannot be true");
    gpuc_file_unmap(&map);
    gpuc_host_tensor_deinit(&a);
}

static long max_resident(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Runs, repeats and noise, so that every kind of block and code is written. */
static void fill(uint8_t *out, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size;) {
        seed = seed * 1664525u + 1013904223u;
        size_t n = 1 + (seed >> 8) % 600, back = 1 + (seed >> 16) % 40000;
        if (n > size - i) n = size - i;
        for (size_t k = 0; k < n; k++, i++) {
            seed = seed * 1664525u + 1013904223u;
            out[i] = seed & 1u << 31 && i >= back ? out[i - back] : (uint8_t)(seed >> 24 >> (n % 5));
        }
    }
}

static void inflates(const uint8_t *data, size_t size, int level, int strategy)
{
    static uint8_t packed[300000], out[200000];
    z_stream d = {0};
    size_t made;
    assert_int_equal(deflateInit2(&d, level, Z_DEFLATED, -MAX_WBITS, 8, strategy), Z_OK);
    d.next_in = (Bytef *)data;
    d.avail_in = (uInt)size;
    d.next_out = packed;
    d.avail_out = sizeof packed;
    assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
    size_t n = d.total_out;
    deflateEnd(&d);
    uint8_t *exact = malloc(n); /* of its own, so that a checker sees reads beyond */
    assert_non_null(exact);
    memcpy(exact, packed, n);
    assert_int_equal(cli_npz_codec()->inflate(exact, n, out, size, &made), GPUC_INFLATED_ALL);
    assert_int_equal(made, size);
    assert_memory_equal(out, data, size);
    assert_int_equal(cli_npz_codec()->crc32(out, size), crc32(0, data, (uInt)size));
    assert_int_equal(cli_npz_codec()->inflate(exact, n, out, size / 3, &made), GPUC_INFLATED_PART);
    assert_int_equal(made, size / 3);
    assert_memory_equal(out, data, size / 3);
    assert_int_equal(cli_npz_codec()->inflate(exact, n, out, size + 1, &made), GPUC_INFLATED_PART);
    assert_int_equal(made, size);
    for (size_t cut = 0; cut < n; cut += 1 + n / 50)
        assert_int_equal(cli_npz_codec()->inflate(exact, cut, out, size, &made), GPUC_INFLATED_BAD);
    free(exact);
}

static void test_inflate(void **state)
{
    (void)state;
    static uint8_t data[150000];
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE};
    for (int level = 0; level <= 9; level += 3)
        for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
            for (size_t size = 3; size <= sizeof data; size = size * 7 + 1) {
                fill(data, size, (uint32_t)(size + s * 7 + (size_t)level));
                inflates(data, size, level, strategies[s]);
            }
}

/* What a member holds is told without unpacking it: here 256 MB of zeros. */
static void test_npz_bomb(void **state)
{
    (void)state;
    enum { BLOCK = 1 << 20, BLOCKS = 256 };
    static const char start[] =
        "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (67108864,), }";
    static uint8_t block[BLOCK], packed[2 * BLOCK];
    uint8_t head[128];
    memset(head, ' ', sizeof head);
    memcpy(head, start, sizeof start - 1);
    z_stream d = {0};
    assert_int_equal(deflateInit2(&d, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    d.next_out = packed;
    d.avail_out = sizeof packed;
    for (int i = -1; i <= BLOCKS; i++) {
        d.next_in = i < 0 ? head : block;
        d.avail_in = i < 0 ? sizeof head : i < BLOCKS ? BLOCK : 0;
        assert_int_equal(deflate(&d, i < BLOCKS ? Z_NO_FLUSH : Z_FINISH), i < BLOCKS ? Z_OK : Z_STREAM_END);
    }
    size_t size = d.total_out, whole = sizeof head + (size_t)BLOCK * BLOCKS;
    deflateEnd(&d);
    zip z = {0};
    zip_head(&z.file, false, "x.npy", 5, 8, 0, size, whole);
    gpuc_buf_bytes(&z.file, packed, size);
    zip_entry(&z, "x.npy", 5, 8, 0, size, whole, 0);
    zip_end(&z, path_of("bad.npz"));
    gpuc_buf_deinit(&z.file);
    long before = max_resident();
    gpuc_npz *archive;
    gpuc_host_tensor type;
    ok(gpuc_npz_open(path_of("bad.npz"), cli_npz_codec(), &archive));
    ok(gpuc_npz_type(archive, 0, &type));
    assert_int_equal(type.dims[0], 67108864);
    gpuc_npz_close(archive);
    assert_true(max_resident() - before < 16 << 10); /* kB */
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"a.npy", "a.pb",     "d.npy", "d.pb",   "member.npy",
                                        "s.npz", "flip.npz", "d.npz", "bad.npz"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(path_of(files[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_round_trip), cmocka_unit_test(test_pb_round_trip),
        cmocka_unit_test(test_damage),         cmocka_unit_test(test_npy_headers),
        cmocka_unit_test(test_pb_fields),      cmocka_unit_test(test_npz_stored),
        cmocka_unit_test(test_npz_names),      cmocka_unit_test(test_npz_places),
        cmocka_unit_test(test_npz_zip64),      cmocka_unit_test(test_npz_deflated),
        cmocka_unit_test(test_npz_sizes),      cmocka_unit_test(test_npz_bomb),
        cmocka_unit_test(test_inflate),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
