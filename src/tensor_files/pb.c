/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's TensorProto. */
#include <stdlib.h>
#include <string.h>

#include <gpuc/tensor_files.h>

#include "base/buf.h"
#include "base/element.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- The wire format of protocol buffers ---- */

typedef struct wire {
    const uint8_t *at, *end;
    bool failed; /* cut off, or a wire type that there is none of */
} wire;

typedef enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } wire_type;

/* A field's number, type, and value: the number for the scalar types, else the bytes. */
typedef struct wire_field {
    uint32_t number;
    wire_type type;
    uint64_t value;
    wire bytes;
} wire_field;

static uint64_t wire_varint(wire *w)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (w->at == w->end) break;
        uint8_t b = *w->at++;
        if (shift < 64) v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return v;
    }
    w->failed = true;
    return 0;
}

static wire take(wire *w, uint64_t size)
{
    wire out = {w->at, w->at, false};
    if (size > (uint64_t)(w->end - w->at)) {
        w->failed = true;
        return out;
    }
    out.end = w->at += size;
    return out;
}

/* The next field; false at the end and after a failure. */
static bool wire_next(wire *w, wire_field *out)
{
    if (w->failed || w->at == w->end) return false;
    uint64_t tag = wire_varint(w);
    *out = (wire_field){.number = (uint32_t)(tag >> 3), .type = (wire_type)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 32) w->failed = true;
    switch (tag & 7) {
    case WIRE_VARINT: out->value = wire_varint(w); break;
    case WIRE_64: out->bytes = take(w, 8); break;
    case WIRE_32: out->bytes = take(w, 4); break;
    case WIRE_BYTES: out->bytes = take(w, wire_varint(w)); break;
    default: w->failed = true;
    }
    if (out->type != WIRE_VARINT && !w->failed && out->type != WIRE_BYTES)
        memcpy(&out->value, out->bytes.at, out->type == WIRE_64 ? 8 : 4); /* little-endian */
    return !w->failed;
}

/* ---- TensorProto ---- */

enum {
    DIMS = 1,
    DATA_TYPE = 2,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    DATA_LOCATION = 14,
    EXTERNAL = 1, /* a value of DATA_LOCATION */
};

/* Where typed data lies when there is no raw_data: narrow types stand one to an int32, uint32 in uint64s. */
static int field_of(gpuc_dtype t)
{
    if (t.code == GPUC_DTYPE_FLOAT && t.bits >= 32) return t.bits == 32 ? FLOAT_DATA : DOUBLE_DATA;
    if (t.code == GPUC_DTYPE_UINT && t.bits >= 32) return UINT64_DATA;
    return t.code == GPUC_DTYPE_INT && t.bits == 64 ? INT64_DATA : INT32_DATA;
}

typedef struct proto {
    const char *file;
    int64_t dims[GPUC_HOST_TENSOR_DIMS];
    int ndim;
    uint64_t data_type, location;
    bool too_many_dims, has_raw, no_memory;
    wire raw;
    char *name;
} proto;

static void add_dim(proto *p, uint64_t v)
{
    if (p->ndim == GPUC_HOST_TENSOR_DIMS)
        p->too_many_dims = true;
    else
        p->dims[p->ndim++] = (int64_t)v;
}

static bool read_fields(wire w, proto *p)
{
    for (wire_field f; wire_next(&w, &f);) {
        bool bytes = f.type == WIRE_BYTES;
        if (f.number == DIMS && bytes) {
            while (f.bytes.at < f.bytes.end && !f.bytes.failed) add_dim(p, wire_varint(&f.bytes));
            if (f.bytes.failed) return false;
        } else if (f.number == DIMS) {
            add_dim(p, f.value);
        } else if (f.number == DATA_TYPE) {
            p->data_type = f.value;
        } else if (f.number == DATA_LOCATION) {
            p->location = f.value;
        } else if (f.number == RAW_DATA && bytes) {
            p->has_raw = f.bytes.at != f.bytes.end;
            p->raw = f.bytes;
        } else if (f.number == NAME && bytes) {
            free(p->name);
            p->name = strndup((const char *)f.bytes.at, (size_t)(f.bytes.end - f.bytes.at));
            p->no_memory = !p->name;
        }
    }
    return !w.failed;
}

static void add_element(gpuc_host_tensor *t, size_t *count, uint64_t bits)
{
    size_t item = gpuc_dtype_bytes(t->dtype);
    if (*count < t->count) memcpy((char *)t->data + *count * item, &bits, item); /* little-endian */
    ++*count;
}

static bool read_packed(wire w, size_t fixed, gpuc_host_tensor *t, size_t *count)
{
    while (w.at < w.end && !w.failed) {
        uint64_t v = 0;
        if (!fixed) {
            v = wire_varint(&w);
        } else {
            if ((size_t)(w.end - w.at) < fixed) return false;
            memcpy(&v, w.at, fixed);
            w.at += fixed;
        }
        add_element(t, count, v);
    }
    return !w.failed;
}

/* Elements of a typed field, packed or one by one; counts those beyond the tensor, too. */
static bool read_elements(wire w, const gpuc_element *row, gpuc_host_tensor *t, size_t *count)
{
    const int field = field_of(row->dtype);
    size_t fixed = field == FLOAT_DATA ? 4 : field == DOUBLE_DATA ? 8 : 0;
    for (wire_field f; wire_next(&w, &f);) {
        if ((int)f.number != field) continue;
        if (f.type != WIRE_BYTES)
            add_element(t, count, f.value);
        else if (!read_packed(f.bytes, fixed, t, count))
            return false;
    }
    return !w.failed;
}

static gpuc_status fill(const proto *p, wire all, const gpuc_element *row, gpuc_host_tensor *out)
{
    size_t have = (size_t)(p->raw.end - p->raw.at);
    if (p->has_raw) {
        if (have != out->size)
            return gpuc_fail(GPUC_INVALID_DATA, "'%s': its shape needs %zu bytes of elements, it has %zu",
                             p->file, out->size, have);
        memcpy(out->data, p->raw.at, have);
        return NULL;
    }
    size_t count = 0;
    if (!read_elements(all, row, out, &count))
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': its elements are cut off or damaged", p->file);
    if (count == out->count) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': its shape needs %zu elements, it has %zu", p->file, out->count,
                     count);
}

static gpuc_status make(const proto *p, wire all, gpuc_host_tensor *out)
{
    const gpuc_element *row = NULL;
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++)
        if ((uint64_t)gpuc_elements[i].onnx == p->data_type) row = &gpuc_elements[i];
    if (p->data_type == 0)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not an ONNX TensorProto: it has no element type",
                         p->file);
    if (!row)
        return gpuc_fail(GPUC_UNSUPPORTED, "'%s': elements of ONNX type %llu are not supported", p->file,
                         (unsigned long long)p->data_type);
    if (p->too_many_dims)
        return gpuc_fail(GPUC_UNSUPPORTED, "'%s': has more than %d dimensions", p->file,
                         GPUC_HOST_TENSOR_DIMS);
    if (p->location == EXTERNAL)
        return gpuc_fail(GPUC_UNSUPPORTED, "'%s': its elements are in another file; save it with raw_data",
                         p->file);
    /* A damaged shape must not cost memory: each element takes at least a byte of the file. */
    size_t max = (size_t)(all.end - all.at), count = 1;
    bool zero = false;
    for (int i = 0; i < p->ndim; i++) {
        zero = zero || p->dims[i] == 0;
        if (p->dims[i] < 0 || __builtin_mul_overflow(count, (size_t)p->dims[i], &count)) count = SIZE_MAX;
    }
    if (!zero && count > max)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': its shape needs more elements than the file holds",
                         p->file);
    GPUC_TRY(gpuc_host_tensor_init(row->dtype, p->ndim, p->dims, p->file, out));
    gpuc_status status = fill(p, all, row, out);
    if (status) gpuc_host_tensor_deinit(out);
    return status;
}

gpuc_status gpuc_pb_parse(const void *bytes, size_t size, const char *name, gpuc_host_tensor *out)
{
    wire all = {bytes, (const uint8_t *)bytes + size, false};
    proto p = {.file = name};
    *out = (gpuc_host_tensor){0};
    bool whole = read_fields(all, &p);
    gpuc_status status = p.no_memory ? gpuc_fail(GPUC_OUT_OF_MEMORY, "'%s': out of memory for its name", name)
                         : whole
                             ? make(&p, all, out)
                             : gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a whole ONNX TensorProto", name);
    if (!status) {
        out->name = p.name;
        p.name = NULL;
    }
    free(p.name);
    return status;
}

static void put_varint(gpuc_buf *buf, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) gpuc_buf_u8(buf, (uint8_t)(v | 0x80));
    gpuc_buf_u8(buf, (uint8_t)v);
}

static void put_bytes_head(gpuc_buf *buf, int field, size_t size)
{
    put_varint(buf, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(buf, size);
}

gpuc_status gpuc_pb_write(gpuc_pending *pending, const gpuc_host_tensor *t, const char *path)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    for (int i = 0; i < t->ndim; i++) {
        put_varint(&buf, DIMS << 3 | WIRE_VARINT);
        put_varint(&buf, (uint64_t)t->dims[i]);
    }
    put_varint(&buf, DATA_TYPE << 3 | WIRE_VARINT);
    put_varint(&buf, (uint64_t)gpuc_element_of(t->dtype)->onnx);
    if (t->name) {
        put_bytes_head(&buf, NAME, strlen(t->name));
        gpuc_buf_str(&buf, t->name);
    }
    put_bytes_head(&buf, RAW_DATA, t->size);
    gpuc_file_writer *w = NULL;
    gpuc_status status = gpuc_buf_status(&buf);
    if (!status) status = gpuc_file_create(pending, (gpuc_allocator){0}, path, &w);
    if (!status) status = gpuc_file_write(w, buf.data, buf.size);
    if (!status) status = gpuc_file_write(w, t->data, t->size);
    if (status)
        gpuc_file_abandon(w);
    else
        status = gpuc_file_commit(w);
    gpuc_buf_deinit(&buf);
    return status;
}
