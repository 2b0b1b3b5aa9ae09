/* SPDX-License-Identifier: Apache-2.0 */
/* Builds SPIR-V modules: ids, sections, and types and constants that exist once. */
#include "codegen_spirv/module.h"

#include <string.h>

#define SPIRV_1_3 0x00010300u

/* Open addressing over the words of global instructions (without result id). */
typedef struct unique_entry {
    uint64_t hash;
    uint32_t id, start, count; /* in keys */
} unique_entry;
struct gpuc_spv_unique {
    unique_entry *slots;
    size_t num_slots, count;
    gpuc_spv_words keys;
    gpuc_map capabilities;
    gpuc_strmap extensions;
};

void gpuc_spv_init(gpuc_spv *m, gpuc_ctx *ctx)
{
    *m = (gpuc_spv){.ctx = ctx, .next_id = 2, .first_label = 1, .block = 1};
    m->unique = gpuc_new(ctx, struct gpuc_spv_unique);
    m->unique->num_slots = 256;
    m->unique->slots = gpuc_new_array(ctx, unique_entry, m->unique->num_slots);
    gpuc_map_init(&m->unique->capabilities, ctx);
    gpuc_strmap_init(&m->unique->extensions, ctx);
    gpuc_map_init(&m->interface, ctx);
}

uint32_t gpuc_spv_id(gpuc_spv *m)
{
    return m->next_id++;
}

void gpuc_spv_push(gpuc_ctx *ctx, gpuc_spv_words *to, uint32_t word)
{
    if (to->count == to->capacity)
        to->at = gpuc_ctx_grow(ctx, to->at, to->count, &to->capacity, sizeof *to->at);
    to->at[to->count++] = word;
}

static void push_head(gpuc_spv *m, gpuc_spv_words *to, SpvOp op, int words)
{
    if (words > 0xffff) gpuc_raise(m->ctx, GPUC_UNSUPPORTED, "a SPIR-V instruction of %d words", words);
    gpuc_spv_push(m->ctx, to, (uint32_t)words << 16 | (uint32_t)op);
}

void gpuc_spv_op(gpuc_spv *m, gpuc_spv_words *to, SpvOp op, int n, const uint32_t *operands)
{
    push_head(m, to, op, n + 1);
    for (int i = 0; i < n; i++) gpuc_spv_push(m->ctx, to, operands[i]);
}

uint32_t gpuc_spv_value(gpuc_spv *m, SpvOp op, uint32_t type, int n, const uint32_t *operands)
{
    uint32_t id = gpuc_spv_id(m);
    push_head(m, &m->code, op, n + 3);
    gpuc_spv_push(m->ctx, &m->code, type);
    gpuc_spv_push(m->ctx, &m->code, id);
    for (int i = 0; i < n; i++) gpuc_spv_push(m->ctx, &m->code, operands[i]);
    return id;
}

void gpuc_spv_op_string(gpuc_spv *m, gpuc_spv_words *to, SpvOp op, int n, const uint32_t *operands,
                        const char *text)
{
    size_t length = strlen(text), words = length / 4 + 1;
    push_head(m, to, op, 1 + n + (int)words);
    for (int i = 0; i < n; i++) gpuc_spv_push(m->ctx, to, operands[i]);
    for (size_t w = 0; w < words; w++) {
        uint32_t word = 0;
        for (size_t b = 0; b < 4 && 4 * w + b < length; b++)
            word |= (uint32_t)(unsigned char)text[4 * w + b] << 8 * b;
        gpuc_spv_push(m->ctx, to, word);
    }
}

uint32_t gpuc_spv_glsl(gpuc_spv *m, enum GLSLstd450 fn, uint32_t type, int n, const uint32_t *operands)
{
    if (!m->glsl) {
        m->glsl = gpuc_spv_id(m);
        gpuc_spv_op_string(m, &m->imports, SpvOpExtInstImport, 1, &m->glsl, "GLSL.std.450");
    }
    uint32_t all[6] = {m->glsl, (uint32_t)fn};
    GPUC_CHECK(n <= 4);
    memcpy(all + 2, operands, (size_t)n * sizeof *all);
    return gpuc_spv_value(m, SpvOpExtInst, type, n + 2, all);
}

void gpuc_spv_capability(gpuc_spv *m, SpvCapability capability)
{
    const void *key = (const void *)(uintptr_t)(capability + 1);
    if (gpuc_map_has(&m->unique->capabilities, key)) return;
    gpuc_map_set(&m->unique->capabilities, key, m);
    gpuc_spv_emit(m, &m->capabilities, SpvOpCapability, (uint32_t)capability);
}

void gpuc_spv_extension(gpuc_spv *m, const char *name)
{
    if (gpuc_strmap_has(&m->unique->extensions, name)) return;
    gpuc_strmap_set(&m->unique->extensions, name, m);
    gpuc_spv_op_string(m, &m->extensions, SpvOpExtension, 0, NULL, name);
}

void gpuc_spv_name(gpuc_spv *m, uint32_t id, const char *name)
{
    gpuc_spv_op_string(m, &m->names, SpvOpName, 1, &id, name);
}

void gpuc_spv_decorate(gpuc_spv *m, uint32_t id, SpvDecoration d, int n, const uint32_t *operands)
{
    uint32_t all[6] = {id, (uint32_t)d};
    GPUC_CHECK(n <= 4);
    for (int i = 0; i < n; i++) all[i + 2] = operands[i];
    gpuc_spv_op(m, &m->decorations, SpvOpDecorate, n + 2, all);
}

/* ---- What exists once ------------------------------------------------------------------------------ */

static unique_entry *find_slot(struct gpuc_spv_unique *u, uint64_t hash, const uint32_t *key, uint32_t n)
{
    for (size_t i = hash % u->num_slots;; i = (i + 1) % u->num_slots) {
        unique_entry *e = &u->slots[i];
        if (!e->id) return e;
        if (e->hash == hash && e->count == n && memcmp(u->keys.at + e->start, key, n * sizeof *key) == 0)
            return e;
    }
}

static void grow_unique(gpuc_spv *m)
{
    struct gpuc_spv_unique *u = m->unique, old = *u;
    u->num_slots *= 2;
    u->slots = gpuc_new_array(m->ctx, unique_entry, u->num_slots);
    for (size_t i = 0; i < old.num_slots; i++) {
        const unique_entry *e = &old.slots[i];
        if (e->id) *find_slot(u, e->hash, u->keys.at + e->start, e->count) = *e;
    }
}

uint32_t gpuc_spv_global(gpuc_spv *m, SpvOp op, uint32_t type, int n, const uint32_t *operands, uint32_t tag,
                         bool *is_new)
{
    struct gpuc_spv_unique *u = m->unique;
    uint32_t start = (uint32_t)u->keys.count;
    gpuc_spv_push(m->ctx, &u->keys, (uint32_t)op);
    gpuc_spv_push(m->ctx, &u->keys, type);
    gpuc_spv_push(m->ctx, &u->keys, tag);
    for (int i = 0; i < n; i++) gpuc_spv_push(m->ctx, &u->keys, operands[i]);
    uint32_t count = (uint32_t)u->keys.count - start;
    uint64_t hash = gpuc_hash_bytes(u->keys.at + start, count * sizeof(uint32_t), 0);
    unique_entry *e = find_slot(u, hash, u->keys.at + start, count);
    if (is_new) *is_new = !e->id;
    if (e->id) {
        u->keys.count = start;
        return e->id;
    }
    uint32_t id = gpuc_spv_id(m);
    *e = (unique_entry){hash, id, start, count};
    push_head(m, &m->globals, op, n + 2 + (type != 0));
    if (type) gpuc_spv_push(m->ctx, &m->globals, type);
    gpuc_spv_push(m->ctx, &m->globals, id);
    for (int i = 0; i < n; i++) gpuc_spv_push(m->ctx, &m->globals, operands[i]);
    if (++u->count * 2 > u->num_slots) grow_unique(m);
    return id;
}

uint32_t gpuc_spv_type_void(gpuc_spv *m)
{
    return gpuc_spv_global(m, SpvOpTypeVoid, 0, 0, NULL, 0, NULL);
}

uint32_t gpuc_spv_type_bool(gpuc_spv *m)
{
    return gpuc_spv_global(m, SpvOpTypeBool, 0, 0, NULL, 0, NULL);
}

uint32_t gpuc_spv_type_int(gpuc_spv *m, int bits, bool is_signed)
{
    return gpuc_spv_global(m, SpvOpTypeInt, 0, 2, (uint32_t[]){(uint32_t)bits, is_signed}, 0, NULL);
}

uint32_t gpuc_spv_type_float(gpuc_spv *m, int bits)
{
    return gpuc_spv_global(m, SpvOpTypeFloat, 0, 1, (uint32_t[]){(uint32_t)bits}, 0, NULL);
}

uint32_t gpuc_spv_type_vector(gpuc_spv *m, uint32_t element, int lanes)
{
    if (lanes == 1) return element;
    return gpuc_spv_global(m, SpvOpTypeVector, 0, 2, (uint32_t[]){element, (uint32_t)lanes}, 0, NULL);
}

uint32_t gpuc_spv_type_pointer(gpuc_spv *m, SpvStorageClass storage, uint32_t to)
{
    return gpuc_spv_global(m, SpvOpTypePointer, 0, 2, (uint32_t[]){(uint32_t)storage, to}, 0, NULL);
}

uint32_t gpuc_spv_type_array(gpuc_spv *m, uint32_t element, uint32_t count)
{
    return gpuc_spv_global(m, SpvOpTypeArray, 0, 2, (uint32_t[]){element, gpuc_spv_const_u32(m, count)}, 0,
                           NULL);
}

uint32_t gpuc_spv_const(gpuc_spv *m, uint32_t type, int bits, uint64_t value)
{
    if (bits < 64) value &= (UINT64_C(1) << bits) - 1;
    return gpuc_spv_global(m, SpvOpConstant, type, bits == 64 ? 2 : 1,
                           (uint32_t[]){(uint32_t)value, (uint32_t)(value >> 32)}, 0, NULL);
}

uint32_t gpuc_spv_const_u32(gpuc_spv *m, uint32_t value)
{
    return gpuc_spv_const(m, gpuc_spv_type_int(m, 32, false), 32, value);
}

uint32_t gpuc_spv_const_bool(gpuc_spv *m, bool value)
{
    return gpuc_spv_global(m, value ? SpvOpConstantTrue : SpvOpConstantFalse, gpuc_spv_type_bool(m), 0, NULL,
                           0, NULL);
}

uint32_t gpuc_spv_const_splat(gpuc_spv *m, uint32_t vector_type, uint32_t scalar, int lanes)
{
    if (lanes == 1) return scalar;
    const uint32_t all[4] = {scalar, scalar, scalar, scalar};
    GPUC_CHECK(lanes <= 4);
    return gpuc_spv_global(m, SpvOpConstantComposite, vector_type, lanes, all, 0, NULL);
}

uint32_t gpuc_spv_variable(gpuc_spv *m, SpvStorageClass storage, uint32_t type)
{
    uint32_t pointer = gpuc_spv_type_pointer(m, storage, type), id = gpuc_spv_id(m);
    gpuc_spv_emit(m, storage == SpvStorageClassFunction ? &m->variables : &m->globals, SpvOpVariable, pointer,
                  id, (uint32_t)storage);
    return id;
}

/* ---- The whole ------------------------------------------------------------------------------------- */

void gpuc_spv_label(gpuc_spv *m, uint32_t label)
{
    gpuc_spv_emit(m, &m->code, SpvOpLabel, label);
    m->block = label;
}

static uint32_t *append(uint32_t *to, const gpuc_spv_words *w)
{
    if (w->count) memcpy(to, w->at, w->count * sizeof *to);
    return to + w->count;
}

const uint32_t *gpuc_spv_finish(gpuc_spv *m, uint32_t main_id, size_t *num_words)
{
    uint32_t none = gpuc_spv_type_void(m);
    uint32_t type = gpuc_spv_global(m, SpvOpTypeFunction, 0, 1, &none, 0, NULL);
    gpuc_spv_words head = {0}, tail = {0};
    gpuc_spv_emit(m, &head, SpvOpFunction, none, main_id, SpvFunctionControlMaskNone, type);
    gpuc_spv_emit(m, &head, SpvOpLabel, m->first_label);
    gpuc_spv_op(m, &tail, SpvOpReturn, 0, NULL);
    gpuc_spv_op(m, &tail, SpvOpFunctionEnd, 0, NULL);
    const gpuc_spv_words *const sections[] = {
        &m->capabilities, &m->extensions, &m->imports, &m->model,     &m->entry, &m->modes, &m->names,
        &m->decorations,  &m->globals,    &head,       &m->variables, &m->code,  &tail};
    size_t total = 5;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) total += sections[i]->count;
    uint32_t *words = gpuc_new_array(m->ctx, uint32_t, total), *to = words + 5;
    words[0] = SpvMagicNumber;
    words[1] = SPIRV_1_3;
    words[2] = 0;
    words[3] = m->next_id;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) to = append(to, sections[i]);
    *num_words = total;
    return words;
}
