/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels that were verified. The loops over lanes are plain C, for the compiler to vectorize. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "foo.h"

#ifdef __GNUC__
#define ALIAS __attribute__((may_alias)) /* cells are of the type of who wrote them last */
#else
#define ALIAS
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define LANES(k) _Pragma("GCC ivdep") for (uint32_t k = 0; k < n; k++) /* dst is an operand, or lies apart */
#else
#define LANES(k) for (uint32_t k = 0; k < n; k++)
#endif
typedef int32_t ALIAS cell_I32;
typedef uint32_t ALIAS cell_U32;
typedef int64_t ALIAS cell_I64;
typedef uint64_t ALIAS cell_U64;
typedef float ALIAS cell_F32;
typedef double ALIAS cell_F64;

typedef struct store {
    uint8_t *at;
    uint64_t count; /* elements */
    foo_format format;
} store;

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t foo_kernel_scratch(const foo_kernel *k)
{
    size_t bytes = rounded(k->num_cells * sizeof(uint32_t)) + rounded(k->num_stores * sizeof(store)) + 64;
    for (uint32_t i = k->num_tensors; i < k->num_stores; i++)
        bytes += rounded((size_t)k->stores[i].count * foo_format_bytes((foo_format)k->stores[i].format));
    return bytes;
}

/* ---- Memory ---- */

static int64_t index_at(const uint32_t *cells, const foo_instr *i, uint16_t cell, uint32_t lane)
{
    return i->flags & FOO_INDEX64 ? ((const cell_I64 *)&cells[cell])[lane]
                                  : ((const cell_I32 *)&cells[cell])[lane];
}

/* The element of each lane; false: one is none. */
static bool find_elements(const uint32_t *cells, const foo_instr *i, const store *s, uint64_t *out)
{
    bool gathered = (i->flags & 3) == FOO_GATHERED;
    uint64_t at = (uint64_t)index_at(cells, i, i->a, 0) + (uint64_t)(int64_t)i->imm;
    uint64_t stride = (i->flags & 3) == FOO_STRIDED ? (uint64_t)index_at(cells, i, i->c, 0) : 1;
    for (uint32_t k = 0; k < i->lanes; k++, at += stride) {
        if (gathered) at = (uint64_t)index_at(cells, i, i->a, k) + (uint64_t)(int64_t)i->imm;
        if (at >= s->count) return false;
        out[k] = at;
    }
    return true;
}

#define EACH(format_type, cell_type, statement)                                                              \
    for (uint32_t k = 0; k < n; k++) {                                                                       \
        format_type x;                                                                                       \
        uint8_t *at = s->at + element[k] * sizeof x;                                                         \
        cell_type *c = (cell_type *)cell + k;                                                                \
        statement                                                                                            \
    }                                                                                                        \
    return true;
#define READ(format_type, cell_type)                                                                         \
    EACH(format_type, cell_type, memcpy(&x, at, sizeof x); *c = (cell_type)x;)
#define WRITE(format_type, cell_type)                                                                        \
    EACH(format_type, cell_type, x = (format_type)*c; memcpy(at, &x, sizeof x);)

static bool move_apart(uint32_t *cells, const foo_instr *i, const store *s)
{
    uint64_t element[FOO_MAX_LANES];
    uint32_t n = i->lanes, *cell = &cells[i->dst];
    if (!find_elements(cells, i, s, element)) return false;
    if (i->op == FOO_LOAD) switch (s->format) {
        case FOO_S8: READ(int8_t, cell_I32)
        case FOO_U8: READ(uint8_t, cell_I32)
        case FOO_S16: READ(int16_t, cell_I32)
        case FOO_U16: READ(uint16_t, cell_I32)
        case FOO_B32: READ(uint32_t, cell_U32)
        case FOO_B64: READ(uint64_t, cell_U64)
        case FOO_NUM_FORMATS: break;
        }
    else
        switch (s->format) {
        case FOO_S8:
        case FOO_U8: WRITE(uint8_t, cell_U32)
        case FOO_S16:
        case FOO_U16: WRITE(uint16_t, cell_U32)
        case FOO_B32: WRITE(uint32_t, cell_U32)
        case FOO_B64: WRITE(uint64_t, cell_U64)
        case FOO_NUM_FORMATS: break;
        }
    return false;
}

/* A LOAD or a STORE; false: an element is not there. */
static inline bool move(uint32_t *cells, const foo_instr *i, const store *s)
{
    if ((i->flags & 3) != FOO_SIDE_BY_SIDE || s->format < FOO_B32) return move_apart(cells, i, s);
    uint64_t at = (uint64_t)index_at(cells, i, i->a, 0) + (uint64_t)(int64_t)i->imm;
    if (at >= s->count || i->lanes > s->count - at) return false;
    size_t element = s->format == FOO_B32 ? 4 : 8;
    if (i->op == FOO_LOAD)
        memcpy(&cells[i->dst], s->at + at * element, i->lanes * element);
    else
        memcpy(s->at + at * element, &cells[i->dst], i->lanes * element);
    return true;
}

static gpuc_status outside(const foo_kernel *k, const foo_instr *i, const store *s)
{
    return gpuc_fail(GPUC_INVALID_DATA,
                     "kernel '%s': instruction %u reaches beyond the %llu elements of store %u", k->name,
                     (unsigned)(i - k->code), (unsigned long long)s->count, (unsigned)i->b);
}

/* ---- Values ---- */

static inline bool below_0(int64_t a)
{
    return a < 0;
}
#define NEGATIVE(a) (SIGNED && below_0((int64_t)(a)))
#define DIVIDE(a, b) ((b) == 0 ? 0 : SIGNED && (b) == (T)-1 ? (T)(0 - (U)(a)) : (T)((a) / (b)))
#define REMAINDER(a, b) ((T)((U)(a) - (U)DIVIDE(a, b) * (U)(b)))
#define ROUNDS_UP(a, b) ((b) != 0 && REMAINDER(a, b) != 0 && NEGATIVE(REMAINDER(a, b)) != NEGATIVE(b))
#define SHIFT_RIGHT(a, b)                                                                                    \
    (NEGATIVE(a)      ? (T) ~(~(U)(a) >> ((U)(b) >= BITS ? BITS - 1 : (U)(b)))                               \
     : (U)(b) >= BITS ? 0                                                                                    \
                      : (T)((U)(a) >> (U)(b)))

static int64_t saturate(double v, double min, double above, int64_t lowest, int64_t highest)
{
    return v != v ? 0 : v < min ? lowest : v >= above ? highest : (int64_t)v;
}
static int32_t to_I32(double v)
{
    return (int32_t)saturate(v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX);
}
static uint32_t to_U32(double v)
{
    return (uint32_t)saturate(v, 0, 0x1p32, 0, UINT32_MAX);
}
static int64_t to_I64(double v)
{
    return saturate(v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
}
static uint64_t to_U64(double v)
{
    return v != v || v <= 0 ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

static const int32_t lowest[] = {[FOO_S8] = INT8_MIN, [FOO_S16] = INT16_MIN, [FOO_U8] = 0, [FOO_U16] = 0};
static const int32_t highest[] = {
    [FOO_S8] = INT8_MAX, [FOO_S16] = INT16_MAX, [FOO_U8] = UINT8_MAX, [FOO_U16] = UINT16_MAX};

static int32_t narrow(foo_format f, int32_t v)
{
    switch (f) {
    case FOO_S8: return (int8_t)v;
    case FOO_U8: return (uint8_t)v;
    case FOO_S16: return (int16_t)v;
    case FOO_U16: return (uint16_t)v;
    case FOO_B32:
    case FOO_B64:
    case FOO_NUM_FORMATS: break;
    }
    return v;
}

/* ---- Instructions: cases of one switch over the operator and the type ---- */

#define CODE(op, type) ((unsigned)(op) << 3 | (unsigned)(type))
#define AT(type, field) ((cell_##type *)&cells[i->field])

#define CASE(id, type, result, value)                                                                        \
    case CODE(FOO_##id, FOO_##type): {                                                                       \
        const cell_##type *x = AT(type, a), *y = AT(type, b);                                                \
        cell_##result *d = AT(result, dst);                                                                  \
        typedef cell_##type T;                                                                               \
        LANES(l)                                                                                             \
        {                                                                                                    \
            T a = x[l], b = y[l];                                                                            \
            (void)b;                                                                                         \
            d[l] = (cell_##result)(value);                                                                   \
        }                                                                                                    \
        break;                                                                                               \
    }
#define CASE_SAME(id, type, value) CASE(id, type, type, value)
#define CASE_BOOL(id, type, value) CASE(id, type, I32, value)

#define MOVES(type)                                                                                          \
    case CODE(FOO_MOVE, FOO_##type): {                                                                       \
        LANES(l) AT(type, dst)[l] = AT(type, a)[l];                                                          \
        break;                                                                                               \
    }                                                                                                        \
    case CODE(FOO_SPLAT, FOO_##type): {                                                                      \
        cell_##type x = *AT(type, a);                                                                        \
        LANES(l) AT(type, dst)[l] = x;                                                                       \
        break;                                                                                               \
    }                                                                                                        \
    case CODE(FOO_CONST, FOO_##type): {                                                                      \
        uint64_t bits = (uint64_t)((uint32_t)i->a | (uint32_t)i->b << 16) << 32 | (uint32_t)i->imm;          \
        memcpy(AT(type, dst), &bits, sizeof(cell_##type));                                                   \
        break;                                                                                               \
    }                                                                                                        \
    case CODE(FOO_SELECT, FOO_##type): {                                                                     \
        LANES(l) AT(type, dst)[l] = AT(I32, a)[l] ? AT(type, b)[l] : AT(type, c)[l];                         \
        break;                                                                                               \
    }
#define RAMPS(type, U)                                                                                       \
    case CODE(FOO_RAMP, FOO_##type): {                                                                       \
        U x = (U)*AT(type, a), y = (U)*AT(type, b);                                                          \
        LANES(l) AT(type, dst)[l] = (cell_##type)(x + y * (U)l);                                             \
        break;                                                                                               \
    }
#define CASTS(to, convert)                                                                                   \
    case CODE(FOO_CAST, FOO_##to): {                                                                         \
        switch ((foo_type)i->flags) {                                                                        \
        case FOO_I32: LANES(l) AT(to, dst)[l] = (cell_##to)AT(I32, a)[l]; break;                             \
        case FOO_U32: LANES(l) AT(to, dst)[l] = (cell_##to)AT(U32, a)[l]; break;                             \
        case FOO_I64: LANES(l) AT(to, dst)[l] = (cell_##to)AT(I64, a)[l]; break;                             \
        case FOO_U64: LANES(l) AT(to, dst)[l] = (cell_##to)AT(U64, a)[l]; break;                             \
        case FOO_F32: LANES(l) AT(to, dst)[l] = convert(AT(F32, a)[l]); break;                               \
        case FOO_F64: LANES(l) AT(to, dst)[l] = convert(AT(F64, a)[l]); break;                               \
        case FOO_NUM_TYPES: break;                                                                           \
        }                                                                                                    \
        break;                                                                                               \
    }
#define FMAS(type)                                                                                           \
    case CODE(FOO_FMA, FOO_##type): {                                                                        \
        LANES(l) AT(type, dst)[l] = AT(type, c)[l] + AT(type, a)[l] * AT(type, b)[l];                        \
        break;                                                                                               \
    }                                                                                                        \
    case CODE(FOO_FMAS, FOO_##type): {                                                                       \
        const cell_##type x = *AT(type, a), *y = AT(type, b), *z = AT(type, c);                              \
        cell_##type *d = AT(type, dst);                                                                      \
        LANES(l) d[l] = z[l] + x * y[l];                                                                     \
        break;                                                                                               \
    }
#define LOOPS(type, U)                                                                                       \
    case CODE(FOO_ENTER, FOO_##type):                                                                        \
        if (*AT(type, dst) >= *AT(type, a)) i = k->code + i->imm - 1;                                        \
        break;                                                                                               \
    case CODE(FOO_LOOP, FOO_##type):                                                                         \
        *AT(type, dst) = (cell_##type)((U)*AT(type, dst) + 1);                                               \
        if (*AT(type, dst) >= *AT(type, a)) break;                                                           \
        if (budget-- <= 0) return endless(k);                                                                \
        i = k->code + i->imm - 1;                                                                            \
        break;

static gpuc_status endless(const foo_kernel *k)
{
    return gpuc_fail(GPUC_INVALID_DATA, "kernel '%s' loops for longer than the device may (foo.limit)",
                     k->name);
}

/* ---- Kernels ---- */

static void place_scalars(const foo_kernel *k, const int64_t *scalars, uint32_t *cells)
{
    for (uint32_t s = 0; s < k->num_scalars; s++) {
        uint32_t *cell = &cells[k->scalars[s].cell];
        double wide;
        memcpy(&wide, &scalars[s], sizeof wide);
        switch (k->scalars[s].type) {
        case FOO_I32: *(cell_I32 *)cell = (int32_t)scalars[s]; break;
        case FOO_F32: *(cell_F32 *)cell = (float)wide; break;
        default: *(cell_I64 *)cell = scalars[s]; break;
        }
    }
}

static store *place_stores(const foo_kernel *k, const foo_span *tensors, uint8_t *scratch)
{
    store *stores = (store *)scratch;
    uint8_t *at = scratch + rounded(k->num_stores * sizeof *stores);
    for (uint32_t i = 0; i < k->num_stores; i++) {
        foo_format format = (foo_format)k->stores[i].format;
        if (i < k->num_tensors) {
            stores[i] = (store){tensors[i].at, tensors[i].bytes / foo_format_bytes(format), format};
        } else {
            stores[i] = (store){at, k->stores[i].count, format};
            at += rounded((size_t)k->stores[i].count * foo_format_bytes(format));
        }
    }
    return stores;
}

gpuc_status foo_kernel_run(const foo_kernel *k, const foo_span *tensors, const int64_t *scalars,
                           void *scratch, int64_t budget)
{
    uint32_t *cells = scratch;
    store *stores = place_stores(k, tensors, (uint8_t *)scratch + rounded(k->num_cells * sizeof *cells));
    place_scalars(k, scalars, cells);
    for (const foo_instr *i = k->code;; i++) {
        const uint32_t n = i->lanes;
        switch (CODE(i->op, i->type)) {
        case CODE(FOO_END, FOO_I32): return NULL;
        case CODE(FOO_LOAD, FOO_I32):
        case CODE(FOO_LOAD, FOO_I64):
        case CODE(FOO_STORE, FOO_I32):
        case CODE(FOO_STORE, FOO_I64):
            if (!move(cells, i, &stores[i->b])) return outside(k, i, &stores[i->b]);
            break;
        case CODE(FOO_JUMP, FOO_I32): i = k->code + i->imm - 1; break;
        case CODE(FOO_UNLESS, FOO_I32):
            if (!*AT(I32, a)) i = k->code + i->imm - 1;
            break;
            LOOPS(I32, uint32_t)
            LOOPS(I64, uint64_t)
            FMAS(F32)
            FMAS(F64)
#define TYPES_BOOL(id, result, value) CASE_BOOL(id, I32, value)
#define TYPES_INT(id, result, value) /* below */
#define TYPES_FLT(id, result, value) CASE_##result(id, F32, value) CASE_##result(id, F64, value)
#define TYPES_NUM(id, result, value) TYPES_FLT(id, result, value)
#define FOO_OP(id, name, operands, types, result, value) TYPES_##types(id, result, value)
#define U T
#include "ops.def"
#undef U
#undef TYPES_BOOL
#undef TYPES_INT
#undef TYPES_FLT
#define TYPES_BOOL(id, result, value)
#define TYPES_FLT(id, result, value)
#undef TYPES_NUM
#define TYPES_NUM(id, result, value) TYPES_INT(id, result, value)

#define U uint32_t
#define BITS 32u
#define SIGNED 1
#define TYPES_INT(id, result, value) CASE_##result(id, I32, value)
#include "ops.def"
#undef SIGNED
#undef TYPES_INT
#define SIGNED 0
#define TYPES_INT(id, result, value) CASE_##result(id, U32, value)
#include "ops.def"
#undef U
#undef BITS
#undef SIGNED
#undef TYPES_INT
#define U uint64_t
#define BITS 64u
#define SIGNED 1
#define TYPES_INT(id, result, value) CASE_##result(id, I64, value)
#include "ops.def"
#undef SIGNED
#undef TYPES_INT
#define SIGNED 0
#define TYPES_INT(id, result, value) CASE_##result(id, U64, value)
#include "ops.def"
#undef FOO_OP
                MOVES(I32) MOVES(U32) MOVES(I64) MOVES(U64) MOVES(F32) MOVES(F64) RAMPS(I32, uint32_t)
                    RAMPS(U32, uint32_t) RAMPS(I64, uint64_t) RAMPS(U64, uint64_t) CASTS(I32, to_I32)
                        CASTS(U32, to_U32) CASTS(I64, to_I64) CASTS(U64, to_U64) CASTS(F32, (float))
                            CASTS(F64, (double)) case CODE(FOO_NARROW, FOO_I32)
                : case CODE(FOO_NARROW, FOO_U32) :
            {
                LANES(l) AT(I32, dst)[l] = narrow((foo_format)i->flags, AT(I32, a)[l]);
                break;
            }
        case CODE(FOO_CLAMP, FOO_I32): {
            int32_t min = lowest[i->flags], max = highest[i->flags];
            LANES(l)
            {
                int32_t v = AT(I32, a)[l];
                AT(I32, dst)[l] = v < min ? min : v > max ? max : v;
            }
            break;
        }
        }
    }
}
