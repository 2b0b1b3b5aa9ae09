/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the wire format (protobuf encoding, proto2) along the schema's descriptors: nesting at most
 * 64, every length inside of its message, no zero byte in a string. What passes can be unpacked safely, and
 * C's strings hold all of its names. */
#include <string.h>

#include "onnx/onnx.h"

enum { MAX_NESTING = 64 };

typedef struct cursor {
    const uint8_t *data; /* of the file, for offsets in messages */
    size_t pos, end;
} cursor;

static gpuc_status damaged(const cursor *c, const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA, "not an ONNX model: %s at byte %zu", what, c->pos);
}

static gpuc_status varint(cursor *c, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (c->pos >= c->end) return damaged(c, "the file is cut off");
        uint8_t b = c->data[c->pos++];
        if (shift < 64) *out |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return NULL;
    }
    return damaged(c, "a number of more than ten bytes");
}

static gpuc_status skip(cursor *c, uint64_t n)
{
    if (n > c->end - c->pos) return damaged(c, "the file is cut off, or damaged: a length beyond the end");
    c->pos += n;
    return NULL;
}

static gpuc_status scan_string(const ProtobufCMessageDescriptor *desc, const ProtobufCFieldDescriptor *f,
                               const cursor *c)
{
    const uint8_t *zero = memchr(c->data + c->pos, 0, c->end - c->pos);
    if (!zero) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA,
                     "not an ONNX model: the field '%s' of %s has a zero byte, at byte %zu", f->name,
                     desc->short_name, (size_t)(zero - c->data));
}

static gpuc_status scan(const ProtobufCMessageDescriptor *desc, cursor c, int depth)
{
    if (depth > MAX_NESTING) return damaged(&c, "messages nested more than 64 deep");
    while (c.pos < c.end) {
        uint64_t tag, n;
        GPUC_TRY(varint(&c, &tag));
        if (tag >> 3 == 0 || tag >> 32) return damaged(&c, "a field number out of range");
        switch (tag & 7) {
        case 0: GPUC_TRY(varint(&c, &n)); break;
        case 1: GPUC_TRY(skip(&c, 8)); break;
        case 5: GPUC_TRY(skip(&c, 4)); break;
        case 2: {
            GPUC_TRY(varint(&c, &n));
            cursor inner = c;
            GPUC_TRY(skip(&c, n));
            inner.end = c.pos;
            const ProtobufCFieldDescriptor *f =
                protobuf_c_message_descriptor_get_field(desc, (unsigned)(tag >> 3));
            if (f && f->type == PROTOBUF_C_TYPE_MESSAGE) GPUC_TRY(scan(f->descriptor, inner, depth + 1));
            if (f && f->type == PROTOBUF_C_TYPE_STRING) GPUC_TRY(scan_string(desc, f, &inner));
            break;
        }
        default: return damaged(&c, "a wire type that ONNX does not use");
        }
    }
    return NULL;
}

gpuc_status gpuc_onnx_scan(const uint8_t *data, size_t size)
{
    cursor c = {.data = data, .end = size};
    return scan(&gpuc_onnx__model_proto__descriptor, c, 0);
}
