/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in protobuf messages, field by field, with the lengths of what is around them mended: a reader
 * gets past the wire format. Without a schema, bytes that parse as a message are one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mutate.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, MAX_FIELDS = 200000, MAX_DEPTH = 24 };

typedef struct field {
    uint64_t tag, value; /* value: of numbers */
    const uint8_t *bytes;
    size_t size; /* of bytes that are no message */
    struct field *first, *next;
    bool message;
} field;

typedef struct tree {
    field *at; /* all, in the order of the file */
    size_t count;
} tree;

static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t b = *(*p)++;
        *out |= (uint64_t)(b & 127) << shift;
        if (b < 128) return true;
    }
    return false;
}

static bool parse(tree *t, const uint8_t *p, const uint8_t *end, int depth, field **first);

static bool parse_field(tree *t, const uint8_t **p, const uint8_t *end, int depth, field *f)
{
    uint64_t size;
    if (!read_varint(p, end, &f->tag) || f->tag < 8 || f->tag >> 3 > 1000) return false;
    switch (f->tag & 7) {
    case VARINT: return read_varint(p, end, &f->value);
    case FIXED64:
    case FIXED32:
        size = (f->tag & 7) == FIXED64 ? 8 : 4;
        if ((size_t)(end - *p) < size) return false;
        memcpy(&f->value, *p, size);
        *p += size;
        return true;
    case BYTES:
        if (!read_varint(p, end, &size) || size > (size_t)(end - *p)) return false;
        f->bytes = *p;
        f->size = (size_t)size;
        *p += size;
        size_t before = t->count;
        f->message = f->size > 1 && depth < MAX_DEPTH && parse(t, f->bytes, *p, depth + 1, &f->first);
        if (f->message) return true;
        t->count = before; /* what was tried */
        f->first = NULL;
        return true;
    default: return false;
    }
}

static bool parse(tree *t, const uint8_t *p, const uint8_t *end, int depth, field **first)
{
    field **last = first;
    while (p < end) {
        if (t->count == MAX_FIELDS) return false;
        field *f = &t->at[t->count++];
        *f = (field){0};
        if (!parse_field(t, &p, end, depth, f)) return false;
        *last = f;
        last = &f->next;
    }
    *last = NULL;
    return true;
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v > 127; v >>= 7) n++;
    return n;
}

static size_t size_of_list(const field *f);

static size_t payload(const field *f)
{
    return f->message ? size_of_list(f->first) : f->size;
}

static size_t size_of_list(const field *f)
{
    size_t n = 0;
    for (; f; f = f->next) {
        n += varint_size(f->tag);
        switch (f->tag & 7) {
        case VARINT: n += varint_size(f->value); break;
        case FIXED64: n += 8; break;
        case FIXED32: n += 4; break;
        default: n += varint_size(payload(f)) + payload(f); break;
        }
    }
    return n;
}

static uint8_t *write_varint(uint8_t *p, uint64_t v)
{
    for (; v > 127; v >>= 7) *p++ = (uint8_t)(v | 128);
    *p++ = (uint8_t)v;
    return p;
}

static uint8_t *write_list(uint8_t *p, const field *f)
{
    for (; f; f = f->next) {
        p = write_varint(p, f->tag);
        size_t fixed = (f->tag & 7) == FIXED64 ? 8 : 4;
        switch (f->tag & 7) {
        case VARINT: p = write_varint(p, f->value); break;
        case FIXED64:
        case FIXED32:
            memcpy(p, &f->value, fixed);
            p += fixed;
            break;
        default:
            p = write_varint(p, payload(f));
            if (f->message) {
                p = write_list(p, f->first);
            } else {
                memcpy(p, f->bytes, f->size);
                p += f->size;
            }
        }
    }
    return p;
}

static bool is_bytes(const field *f)
{
    return (f->tag & 7) == BYTES;
}

/* Another field of the same tag, or any with the same wire type. */
static const field *another(const tree *t, const field *f, uint64_t *state)
{
    bool any = mutate_below(state, 4) == 0;
    for (int tries = 0; tries < 64; tries++) {
        const field *o = &t->at[mutate_below(state, t->count)];
        if (o != f && (any ? (o->tag & 7) == (f->tag & 7) : o->tag == f->tag)) return o;
    }
    return f;
}

static bool contains(const field *outer, const field *inner)
{
    for (const field *f = outer->message ? outer->first : NULL; f; f = f->next)
        if (f == inner || contains(f, inner)) return true;
    return false;
}

static void take_content(const tree *t, field *f, uint64_t *state)
{
    const field *o = another(t, f, state);
    if (contains(o, f)) return; /* it would be inside of itself */
    f->value = o->value;
    f->bytes = o->bytes;
    f->size = o->size;
    f->first = o->first;
    f->message = o->message;
}

static void change_content(const tree *t, field *f, uint8_t *own, uint64_t *state)
{
    if (!is_bytes(f)) {
        f->value = mutate_number(state, f->value);
    } else if (!f->message && f->size > 0 && f->size <= 64 && mutate_below(state, 2)) {
        memcpy(own, f->bytes, f->size);
        own[mutate_below(state, f->size)] ^= (uint8_t)(1u << mutate_below(state, 8));
        if (mutate_below(state, 4) == 0) f->size = mutate_below(state, f->size);
        f->bytes = own;
    } else {
        take_content(t, f, state);
    }
}

size_t mutate_once(uint8_t *data, size_t size, size_t room, uint64_t *state)
{
    tree t = {.at = malloc(sizeof(field) * (MAX_FIELDS + 1))};
    field *root = NULL, copy;
    uint8_t own[64];
    if (!t.at) abort();
    if (!parse(&t, data, data + size, 0, &root) || t.count == 0) {
        data[mutate_below(state, size)] ^= (uint8_t)(1u << mutate_below(state, 8));
        free(t.at);
        return size;
    }
    field *f = &t.at[mutate_below(state, t.count)];
    if (mutate_below(state,
                     3)) /* most fields are single numbers of weights: rather something with a structure */
        for (int tries = 0; tries < 16 && !f->message && f->size > 64; tries++)
            f = &t.at[mutate_below(state, t.count)];
    switch (mutate_below(state, 8)) {
    case 0: /* gone */
        for (field **at = &root; *at;) {
            if (*at == f)
                *at = f->next;
            else
                at = &(*at)->next;
        }
        for (size_t i = 0; i < t.count; i++)
            for (field **at = &t.at[i].first; *at;) {
                if (*at == f)
                    *at = f->next;
                else
                    at = &(*at)->next;
            }
        break;
    case 1: /* twice */
        copy = *f;
        f->next = &copy;
        break;
    case 2: /* in the place of the next */
        if (f->next) {
            field *g = f->next, *behind = g->next;
            copy = *f;
            *f = *g;
            *g = copy;
            f->next = g;
            g->next = behind;
        }
        break;
    case 3: take_content(&t, f, state); break;
    case 4: f->tag = (f->tag & 7) | (uint64_t)(1 + mutate_below(state, 30)) << 3; break;
    default: change_content(&t, f, own, state); break;
    }
    size_t now = size_of_list(root);
    if (now > 0 && now <= room) {
        uint8_t *out = malloc(now);
        if (!out) abort();
        write_list(out, root);
        memcpy(data, out, now);
        free(out);
        size = now;
    }
    free(t.at);
    return size;
}
