/* SPDX-License-Identifier: Apache-2.0 */
/* Foo's code as bytes and as a listing; bytes are verified when they are read, so that running them needs no checks but
 * those of indices. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "foo.h"

enum { MAGIC = 0x316f6f66 /* "foo1"; another order of bytes is refused by it */, MAX_CODE = 1 << 24 };

typedef enum typing { INT = 1, FLT = 2, NUM = 3, BOOL = 4 } typing;
#define GIVES_SAME false
#define GIVES_BOOL true
static const struct {
    const char *name;
    int operands; /* 0: by the switch of verify_operands */
    typing types;
    bool gives_bool;
} ops[FOO_NUM_OPS] = {
    [FOO_END] = {"end", 0, BOOL, false},       [FOO_CONST] = {"const", 0, NUM, false},
    [FOO_MOVE] = {"move", 0, NUM, false},      [FOO_SPLAT] = {"splat", 0, NUM, false},
    [FOO_RAMP] = {"ramp", 0, INT, false},      [FOO_CAST] = {"cast", 0, NUM, false},
    [FOO_NARROW] = {"narrow", 0, INT, false},  [FOO_CLAMP] = {"clamp", 0, BOOL, false},
    [FOO_FMA] = {"fma", 0, FLT, false},        [FOO_FMAS] = {"fma_scalar", 0, FLT, false},
    [FOO_SELECT] = {"select", 0, NUM, false},  [FOO_LOAD] = {"load", 0, INT, false},
    [FOO_STORE] = {"store", 0, INT, false},    [FOO_JUMP] = {"jump", 0, BOOL, false},
    [FOO_UNLESS] = {"unless", 0, BOOL, false}, [FOO_ENTER] = {"enter", 0, INT, false},
    [FOO_LOOP] = {"loop", 0, INT, false},
#define FOO_OP(id, name, operands, types, result, value) [FOO_##id] = {name, operands, types, GIVES_##result},
#include "ops.def"
#undef FOO_OP
};
static const char *const type_names[] = {"i32", "u32", "i64", "u64", "f32", "f64"};
static const char *const format_names[] = {"s8", "u8", "s16", "u16", "b32", "b64"};

/* ---- Bytes ---- */

static bool grow(foo_bytes *b, size_t more)
{
    if (more <= b->capacity - b->size) return true;
    size_t capacity = b->capacity ? b->capacity : 1024;
    while (capacity - b->size < more) capacity *= 2;
    uint8_t *data = b->failed ? NULL : foo_resize(b->allocator, b->data, b->capacity, capacity);
    b->failed = !data;
    if (!data) return false;
    b->data = data;
    b->capacity = capacity;
    return true;
}

void foo_bytes_add(foo_bytes *b, const void *data, size_t size)
{
    if (!size || !grow(b, size)) return;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void foo_bytes_text(foo_bytes *b, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    foo_bytes_add(b, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

void foo_bytes_free(foo_bytes *b)
{
    foo_resize(b->allocator, b->data, b->capacity, 0);
    *b = (foo_bytes){.allocator = b->allocator};
}

/* ---- Writing ---- */

static void put_u32(foo_bytes *b, uint32_t v)
{
    foo_bytes_add(b, &v, sizeof v);
}

void foo_head_write(foo_bytes *out, uint32_t lanes, uint32_t num_kernels)
{
    put_u32(out, MAGIC);
    put_u32(out, lanes);
    put_u32(out, num_kernels);
}

void foo_kernel_write(foo_bytes *out, const foo_kernel *k)
{
    put_u32(out, (uint32_t)strlen(k->name));
    foo_bytes_add(out, k->name, strlen(k->name));
    put_u32(out, k->num_tensors);
    put_u32(out, k->num_stores);
    put_u32(out, k->num_scalars);
    put_u32(out, k->num_cells);
    put_u32(out, k->num_code);
    foo_bytes_add(out, k->stores, k->num_stores * sizeof *k->stores);
    foo_bytes_add(out, k->scalars, k->num_scalars * sizeof *k->scalars);
    foo_bytes_add(out, k->code, k->num_code * sizeof *k->code);
}

/* ---- Verifying ---- */

static gpuc_status wrong(const foo_kernel *k, uint32_t at, const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA, "foo code: kernel '%s', instruction %u: %s", k->name, at, what);
}

/* Whether a value of so many lanes lies in the cells. */
static bool in_cells(const foo_kernel *k, uint16_t cell, foo_type type, uint32_t lanes)
{
    uint32_t size = foo_type_cells(type);
    return cell % size == 0 && cell + size * lanes <= k->num_cells;
}

static bool type_fits(typing types, foo_type type)
{
    return types == BOOL ? type == FOO_I32 : (types & (foo_type_is_float(type) ? FLT : INT)) != 0;
}

static bool access_fits(const foo_kernel *k, const foo_instr *i)
{
    foo_type index = i->flags & FOO_INDEX64 ? FOO_I64 : FOO_I32;
    unsigned mode = i->flags & 3;
    if (i->b >= k->num_stores || mode >= FOO_NUM_MODES || i->flags & ~7u) return false;
    if ((foo_type)i->type != (k->stores[i->b].format == FOO_B64 ? FOO_I64 : FOO_I32)) return false;
    if (mode == FOO_STRIDED && !in_cells(k, i->c, index, 1)) return false;
    return in_cells(k, i->dst, (foo_type)i->type, i->lanes) &&
           in_cells(k, i->a, index, mode == FOO_GATHERED ? i->lanes : 1);
}

static bool is_index(const foo_instr *i)
{
    return i->type == FOO_I32 || i->type == FOO_I64;
}

static bool is_ahead(const foo_kernel *k, uint32_t at, const foo_instr *i)
{
    return i->imm > (int32_t)at && i->imm < (int32_t)k->num_code && i->lanes == 1;
}

static bool operands_fit(const foo_kernel *k, uint32_t at, const foo_instr *i)
{
    foo_type t = (foo_type)i->type;
    uint32_t n = i->lanes;
    bool dst = in_cells(k, i->dst, ops[i->op].gives_bool ? FOO_I32 : t, n), a = in_cells(k, i->a, t, n),
         b = in_cells(k, i->b, t, n), c = in_cells(k, i->c, t, n);
    switch ((int)i->op) {
    case FOO_END: return true;
    case FOO_CONST: return dst && n == 1;
    case FOO_MOVE: return dst && a;
    case FOO_SPLAT: return dst && in_cells(k, i->a, t, 1);
    case FOO_RAMP: return dst && in_cells(k, i->a, t, 1) && in_cells(k, i->b, t, 1);
    case FOO_CAST: return dst && i->flags < FOO_NUM_TYPES && in_cells(k, i->a, (foo_type)i->flags, n);
    case FOO_NARROW:
    case FOO_CLAMP: return dst && a && i->flags <= FOO_U16 && foo_type_cells(t) == 1;
    case FOO_FMA: return dst && a && b && c;
    case FOO_FMAS: return dst && in_cells(k, i->a, t, 1) && b && c;
    case FOO_SELECT: return dst && in_cells(k, i->a, FOO_I32, n) && b && c;
    case FOO_LOAD:
    case FOO_STORE: return access_fits(k, i);
    case FOO_JUMP: return is_ahead(k, at, i);
    case FOO_UNLESS: return is_ahead(k, at, i) && in_cells(k, i->a, FOO_I32, 1);
    case FOO_ENTER: return is_ahead(k, at, i) && is_index(i) && dst && a;
    case FOO_LOOP: return i->imm >= 0 && i->imm <= (int32_t)at && is_index(i) && dst && a && n == 1;
    default: return dst && a && (ops[i->op].operands < 2 || b);
    }
}

gpuc_status foo_kernel_verify(const foo_kernel *k, uint32_t lanes)
{
    uint64_t local = 0;
    for (uint32_t s = 0; s < k->num_stores; s++)
        if (k->stores[s].format >= FOO_NUM_FORMATS || (local += k->stores[s].count) > FOO_MAX_LOCAL)
            return gpuc_fail(GPUC_INVALID_DATA,
                             "foo code: kernel '%s': store %u is of format %u with %u elements", k->name, s,
                             k->stores[s].format, k->stores[s].count);
    for (uint32_t s = 0; s < k->num_scalars; s++) {
        foo_type t = (foo_type)k->scalars[s].type;
        bool known = t == FOO_I32 || t == FOO_I64 || t == FOO_F32;
        if (!known || k->scalars[s].cell >= FOO_MAX_CELLS || !in_cells(k, (uint16_t)k->scalars[s].cell, t, 1))
            return gpuc_fail(GPUC_INVALID_DATA, "foo code: kernel '%s': scalar %u has no place", k->name, s);
    }
    for (uint32_t at = 0; at < k->num_code; at++) {
        const foo_instr *i = &k->code[at];
        if (i->op >= FOO_NUM_OPS) return wrong(k, at, "there is no such operator");
        if (i->type >= FOO_NUM_TYPES || !type_fits(ops[i->op].types, (foo_type)i->type))
            return wrong(k, at, "a wrong type");
        if (i->lanes < 1 || i->lanes > lanes) return wrong(k, at, "too many lanes");
        if (!operands_fit(k, at, i)) return wrong(k, at, "an operand that is not there");
    }
    if (k->num_code && k->code[k->num_code - 1].op == FOO_END) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "foo code: kernel '%s' has no end", k->name);
}

/* ---- Reading ---- */

typedef struct reader {
    const uint8_t *at;
    size_t left;
} reader;

static gpuc_status get(reader *r, void *out, size_t size)
{
    if (size > r->left) return gpuc_fail(GPUC_INVALID_DATA, "foo code: it ends too early");
    if (size) memcpy(out, r->at, size);
    r->at += size;
    r->left -= size;
    return NULL;
}

static gpuc_status get_number(reader *r, uint32_t max, const char *what, uint32_t *out)
{
    GPUC_TRY(get(r, out, sizeof *out));
    if (*out <= max) return NULL;
    uint32_t number = *out;
    *out = 0;
    return gpuc_fail(GPUC_INVALID_DATA, "foo code: %u %s", number, what);
}

/* The array is the kernel's, whatever follows; n is 0 if there is none. */
static gpuc_status get_array(reader *r, gpuc_allocator a, uint32_t *n, size_t size, void *out_array)
{
    size_t bytes = *n * size;
    if (bytes > r->left) *n = 0;
    if (bytes > r->left) return gpuc_fail(GPUC_INVALID_DATA, "foo code: it ends too early");
    if (!bytes) return NULL;
    void *array = foo_resize(a, NULL, 0, bytes);
    if (!array) *n = 0;
    if (!array) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for foo code");
    memcpy(out_array, &array, sizeof array);
    return get(r, array, bytes);
}

static gpuc_status get_kernel(reader *r, gpuc_allocator a, uint32_t lanes, foo_kernel *k)
{
    uint32_t length = 0, stores = 0, scalars = 0, code = 0;
    GPUC_TRY(get_number(r, sizeof k->name - 1, "letters in the name of a kernel", &length));
    GPUC_TRY(get(r, k->name, length));
    if (strlen(k->name) != length)
        return gpuc_fail(GPUC_INVALID_DATA, "foo code: a 0 in the name '%s'", k->name);
    GPUC_TRY(get_number(r, FOO_MAX_STORES, "tensors", &k->num_tensors));
    GPUC_TRY(get_number(r, FOO_MAX_STORES, "stores", &stores));
    GPUC_TRY(get_number(r, FOO_MAX_STORES, "scalars", &scalars));
    GPUC_TRY(get_number(r, FOO_MAX_CELLS, "cells", &k->num_cells));
    GPUC_TRY(get_number(r, MAX_CODE, "instructions", &code));
    if (k->num_tensors > stores) return gpuc_fail(GPUC_INVALID_DATA, "foo code: more tensors than stores");
    gpuc_status status = get_array(r, a, &stores, sizeof *k->stores, &k->stores);
    if (!status)
        status = get_array(r, a, &scalars, sizeof *k->scalars, &k->scalars);
    else
        scalars = 0;
    if (!status)
        status = get_array(r, a, &code, sizeof *k->code, &k->code);
    else
        code = 0;
    k->num_stores = stores;
    k->num_scalars = scalars;
    k->num_code = code;
    return status ? status : foo_kernel_verify(k, lanes);
}

static gpuc_status get_program(reader *r, foo_program *p)
{
    uint32_t magic = 0, kernels = 0;
    GPUC_TRY(get(r, &magic, sizeof magic));
    if (magic != MAGIC) return gpuc_fail(GPUC_INVALID_DATA, "it is no foo code");
    GPUC_TRY(get_number(r, FOO_MAX_LANES, "lanes", &p->lanes));
    GPUC_TRY(get_number(r, UINT32_MAX, "kernels", &kernels));
    if (kernels > r->left) return gpuc_fail(GPUC_INVALID_DATA, "foo code: it ends too early");
    p->kernels = kernels ? foo_resize(p->allocator, NULL, 0, kernels * sizeof *p->kernels) : NULL;
    if (kernels && !p->kernels) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for foo code");
    for (uint32_t i = 0; i < kernels; i++) p->kernels[i] = (foo_kernel){.num_code = 0};
    p->num_kernels = kernels;
    for (uint32_t i = 0; i < kernels; i++) GPUC_TRY(get_kernel(r, p->allocator, p->lanes, &p->kernels[i]));
    return r->left ? gpuc_fail(GPUC_INVALID_DATA, "foo code: %zu bytes too many", r->left) : NULL;
}

gpuc_status foo_program_read(gpuc_allocator a, const void *bytes, size_t size, foo_program *out)
{
    reader r = {bytes, size};
    *out = (foo_program){.allocator = a};
    gpuc_status status = get_program(&r, out);
    if (status) foo_program_free(out);
    return status;
}

void foo_program_free(foo_program *p)
{
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        foo_kernel *k = &p->kernels[i];
        foo_resize(p->allocator, k->stores, k->num_stores * sizeof *k->stores, 0);
        foo_resize(p->allocator, k->scalars, k->num_scalars * sizeof *k->scalars, 0);
        foo_resize(p->allocator, k->code, k->num_code * sizeof *k->code, 0);
    }
    foo_resize(p->allocator, p->kernels, p->num_kernels * sizeof *p->kernels, 0);
    *p = (foo_program){.allocator = p->allocator};
}

/* ---- Listing ---- */

static void list_access(foo_bytes *out, const foo_instr *i)
{
    static const char *const modes[] = {"", " by ", " each"};
    foo_bytes_text(out, "%d[c%u%+d%s", i->b, i->a, i->imm, modes[i->flags & 3]);
    if ((i->flags & 3) == FOO_STRIDED) foo_bytes_text(out, "c%u", i->c);
    foo_bytes_text(out, "]");
}

static void list_instr(foo_bytes *out, const foo_instr *i)
{
    const char *name = ops[i->op].name, *type = type_names[i->type];
    switch ((int)i->op) {
    case FOO_END: foo_bytes_text(out, "end"); return;
    case FOO_JUMP: foo_bytes_text(out, "jump %d", i->imm); return;
    case FOO_UNLESS: foo_bytes_text(out, "unless c%u jump %d", i->a, i->imm); return;
    case FOO_ENTER: foo_bytes_text(out, "if c%u >= c%u jump %d", i->dst, i->a, i->imm); return;
    case FOO_LOOP: foo_bytes_text(out, "if ++c%u < c%u jump %d", i->dst, i->a, i->imm); return;
    default: break;
    }
    if (i->op == FOO_STORE) {
        foo_bytes_text(out, "store ");
        list_access(out, i);
        foo_bytes_text(out, " = %s x%u c%u", type, i->lanes, i->dst);
        return;
    }
    foo_bytes_text(out, "c%u = %s x%u %s ", i->dst, type, i->lanes, name);
    switch ((int)i->op) {
    case FOO_LOAD: list_access(out, i); return;
    case FOO_CONST: foo_bytes_text(out, "0x%04x%04x%08x", i->b, i->a, (unsigned)i->imm); return;
    case FOO_CAST: foo_bytes_text(out, "%s c%u", type_names[i->flags], i->a); return;
    case FOO_NARROW:
    case FOO_CLAMP: foo_bytes_text(out, "%s c%u", format_names[i->flags], i->a); return;
    case FOO_FMA:
    case FOO_FMAS: foo_bytes_text(out, "c%u * c%u + c%u", i->a, i->b, i->c); return;
    case FOO_SELECT: foo_bytes_text(out, "c%u ? c%u : c%u", i->a, i->b, i->c); return;
    case FOO_RAMP: foo_bytes_text(out, "c%u, c%u", i->a, i->b); return;
    default: foo_bytes_text(out, ops[i->op].operands == 2 ? "c%u, c%u" : "c%u", i->a, i->b); return;
    }
}

void foo_kernel_list(foo_bytes *out, const foo_kernel *k)
{
    foo_bytes_text(out, "kernel %s: %u tensors, %u cells\n", k->name, k->num_tensors, k->num_cells);
    for (uint32_t s = 0; s < k->num_stores; s++) {
        foo_bytes_text(out, "  store %u: %s", s, format_names[k->stores[s].format]);
        foo_bytes_text(out, s < k->num_tensors ? ", a tensor\n" : ", %u elements\n", k->stores[s].count);
    }
    for (uint32_t s = 0; s < k->num_scalars; s++)
        foo_bytes_text(out, "  c%u = scalar %u: %s\n", k->scalars[s].cell, s, type_names[k->scalars[s].type]);
    for (uint32_t at = 0; at < k->num_code; at++) {
        foo_bytes_text(out, "%5u  ", at);
        list_instr(out, &k->code[at]);
        foo_bytes_text(out, "\n");
    }
}
