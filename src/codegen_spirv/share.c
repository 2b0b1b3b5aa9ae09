/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose modules differ in whole numbers only become one module, which reads these numbers behind the
 * kernel's parameters. Networks repeat a block with other extents many times, and llvmpipe compiles each
 * kernel anew while the program waits, for 50 to 200 ms.
 *
 * A form is the module with ids numbered in the order of their first use by the function, and their
 * definitions where they are first used. Numbers stay where the driver makes better code of what it knows:
 * ends of short loops, which it unrolls, divisors in loops, indices of arrays that become registers. */
#include <string.h>

#include "base/size.h"
#include "codegen/share.h"
#include "codegen_spirv/emit.h"

enum {
    HEADER = 5,
    SHORT_LOOP = 16,
    MAX_BYTES = 128, /* of parameters: what every device takes as push constants */
    HOLE = 0         /* in a form, in the place of an id's number */
};

typedef struct form {
    gpuc_kernel_form base;
    gpuc_spv_words text;   /* for comparing */
    gpuc_spv_words values; /* of the holes */
    gpuc_spv_words places; /* of the holes: words of the module */
} form;

typedef struct scanner {
    gpuc_ctx *ctx;
    const uint32_t *words;
    size_t count;
    size_t *defined;        /* by id: the word where a type, constant or variable of the module is; 0 */
    gpuc_ptrs *decorations; /* by id */
    uint32_t *number, last; /* by id; 0: not met yet */
    uint32_t loop_end;      /* the label behind the outermost loop; 0: not in one */
    form *out;
} scanner;

static uint32_t op_at(const scanner *s, size_t at)
{
    return s->words[at] & 0xffff;
}

static size_t next(const scanner *s, size_t at)
{
    return at + (s->words[at] >> 16);
}

static void put(scanner *s, uint32_t word)
{
    gpuc_spv_push(s->ctx, &s->out->text, word);
}

/* An OpConstant of an unsigned type of 32 bits. */
static bool is_number(const scanner *s, uint32_t id)
{
    size_t at = s->defined[id];
    if (!at || op_at(s, at) != SpvOpConstant) return false;
    const uint32_t *type = s->words + s->defined[s->words[at + 1]];
    return (*type & 0xffff) == SpvOpTypeInt && type[2] == 32 && type[3] == 0;
}

static SpvStorageClass storage_of(const scanner *s, uint32_t id)
{
    size_t at = s->defined[id];
    return at && op_at(s, at) == SpvOpVariable ? s->words[at + 3] : SpvStorageClassFunction;
}

static bool is_buffer(SpvStorageClass class)
{
    return class == SpvStorageClassStorageBuffer || class == SpvStorageClassUniform;
}

/* at: the instruction; i: the number of the operand behind the result. */
static bool may_vary(const scanner *s, size_t at, int i, uint32_t value)
{
    switch (op_at(s, at)) {
    case SpvOpIAdd:
    case SpvOpISub:
    case SpvOpIMul:
    case SpvOpSelect:
    case SpvOpPhi:
    case SpvOpImageFetch:
    case SpvOpCompositeConstruct:
    case SpvOpBitwiseAnd:
    case SpvOpShiftLeftLogical:
    case SpvOpShiftRightLogical:
    case SpvOpShiftRightArithmetic:
    case SpvOpExtInst:
    case SpvOpIEqual:
    case SpvOpINotEqual: return true;
    case SpvOpSLessThan:
    case SpvOpSLessThanEqual:
    case SpvOpULessThan:
    case SpvOpULessThanEqual:
    case SpvOpUGreaterThan: return value > SHORT_LOOP || op_at(s, next(s, at)) != SpvOpLoopMerge;
    case SpvOpSDiv:
    case SpvOpUDiv:
    case SpvOpUMod: return !s->loop_end;
    case SpvOpAccessChain: return i >= 2 && is_buffer(storage_of(s, s->words[at + 3]));
    default: return false;
    }
}

static bool scan_instruction(scanner *s, size_t at);

/* Adds an id to the form: its number, and its definition where it occurs first. */
static void put_id(scanner *s, uint32_t id)
{
    if (s->number[id]) {
        put(s, s->number[id]);
        return;
    }
    s->number[id] = ++s->last;
    put(s, s->last);
    if (s->defined[id]) scan_instruction(s, s->defined[id]);
    for (size_t i = 0; i < s->decorations[id].count; i++) {
        const uint32_t *at = s->decorations[id].at[i];
        for (uint32_t k = 0; k < *at >> 16; k++)
            if (k != 1) put(s, at[k]);
    }
}

/* Adds an instruction to the form: one of the function, or one that defines an id of the module. False: the
 * module has no form. */
static bool scan_instruction(scanner *s, size_t at)
{
    const char *kinds = gpuc_spv_operand_kinds(op_at(s, at));
    size_t end = next(s, at), from = at + 1;
    if (!kinds) return false;
    if (op_at(s, at) == SpvOpLoopMerge && !s->loop_end) s->loop_end = s->words[at + 1];
    if (op_at(s, at) == SpvOpLabel && s->words[at + 1] == s->loop_end) s->loop_end = 0;
    put(s, s->words[at]);
    if (*kinds == 'r') put_id(s, s->words[from++]);
    if (*kinds == 'r' || *kinds == 'R') {
        put_id(s, s->words[from++]);
        kinds++;
    }
    for (int i = 0; from < end; from++, i++) {
        uint32_t word = s->words[from];
        if (*kinds != 'i') {
            put(s, word);
        } else if (is_number(s, word) && may_vary(s, at, i, s->words[s->defined[word] + 3])) {
            put(s, HOLE);
            gpuc_spv_push(s->ctx, &s->out->values, s->words[s->defined[word] + 3]);
            gpuc_spv_push(s->ctx, &s->out->places, (uint32_t)from);
        } else {
            put_id(s, word);
        }
        if (kinds[0] && kinds[1]) kinds++;
    }
    return true;
}

/* Scans an instruction that stands before the function. */
static void scan_global(scanner *s, size_t at)
{
    uint32_t op = op_at(s, at);
    const char *kinds = gpuc_spv_operand_kinds(op);
    if (op == SpvOpDecorate || op == SpvOpMemberDecorate) {
        gpuc_ptrs_push(s->ctx, &s->decorations[s->words[at + 1]], s->words + at);
    } else if (kinds && (*kinds == 'r' || *kinds == 'R')) {
        s->defined[s->words[at + (*kinds == 'r' ? 2 : 1)]] = at;
    } else if (op != SpvOpName && op != SpvOpEntryPoint) {
        bool of_entry = op == SpvOpExecutionMode; /* whose id says nothing */
        for (size_t i = at; i < next(s, at); i++)
            if (!of_entry || i != at + 1) put(s, s->words[i]);
    }
}

static size_t function_of(const scanner *s)
{
    size_t at = HEADER;
    while (at < s->count && op_at(s, at) != SpvOpFunction) at = next(s, at);
    return at;
}

static void init(scanner *s, gpuc_ctx *ctx, const gpuc_kernel_code *k)
{
    *s = (scanner){.ctx = ctx, .words = k->bytes, .count = k->size / sizeof(uint32_t)};
    uint32_t bound = s->words[3];
    s->out = gpuc_new(ctx, form);
    s->defined = gpuc_new_array(ctx, size_t, bound);
    s->decorations = gpuc_new_array(ctx, gpuc_ptrs, bound);
    s->number = gpuc_new_array(ctx, uint32_t, bound);
    for (size_t at = HEADER, end = function_of(s); at < end; at = next(s, at)) scan_global(s, at);
}

static uint32_t param_bytes(const gpuc_kernel *k)
{
    return (uint32_t)gpuc_align_up(gpuc_abi_kernel_param_layout(k, NULL), sizeof(uint32_t));
}

/* NULL: there is none. Accesses of the Vulkan memory model have ids among their literals. */
static form *form_of(gpuc_ctx *ctx, const gpuc_kernel_code *k, int number)
{
    scanner s;
    if (k->meta.features & GPUC_FEATURE_COOPMAT) return NULL;
    init(&s, ctx, k);
    put(&s, param_bytes(&k->meta));
    for (size_t at = function_of(&s); at < s.count; at = next(&s, at))
        if (!scan_instruction(&s, at)) return NULL;
    form *f = s.out;
    f->base = (gpuc_kernel_form){.kernel = number,
                                 .bytes = f->text.at,
                                 .size = f->text.count * sizeof(uint32_t),
                                 .num_holes = (int)f->values.count,
                                 .values = (const int32_t *)f->values.at};
    return f;
}

/* ---- The module of all ------------------------------------------------------------------------------ */

/* The places of the parameters in a module. */
typedef struct params {
    uint32_t variable, type; /* a struct */
    uint32_t members, number_type;
    SpvStorageClass storage;
    uint32_t bytes;
} params;

/* False: it has none, or their type comes before that of numbers. */
static bool find_params(const scanner *s, const gpuc_kernel *meta, params *out)
{
    *out = (params){.storage = meta->params_in_buffer ? SpvStorageClassUniform : SpvStorageClassPushConstant,
                    .bytes = param_bytes(meta)};
    for (size_t at = HEADER, end = function_of(s); at < end; at = next(s, at)) {
        const uint32_t *w = s->words + at;
        uint32_t op = op_at(s, at);
        if (op == SpvOpTypeInt && w[2] == 32 && w[3] == 0) out->number_type = w[1];
        if (op != SpvOpVariable || w[3] != (uint32_t)out->storage) continue;
        out->variable = w[2];
        out->type = s->words[s->defined[w[1]] + 3];
    }
    if (!out->variable || !out->number_type || s->defined[out->number_type] > s->defined[out->type])
        return false;
    out->members = (s->words[s->defined[out->type]] >> 16) - 2;
    return true;
}

static void copy(gpuc_ctx *ctx, gpuc_spv_words *to, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) gpuc_spv_push(ctx, to, words[i]);
}

/* Ids: of the pointer type; of the numbers' indices; of pointers to them; of themselves. */
static uint32_t id_of(const scanner *s, int n, int what, int argument)
{
    return s->words[3] + (what ? 1 + (uint32_t)((what - 1) * n + argument) : 0);
}
enum { POINTER_TYPE, INDEX, POINTER, NUMBER };

static void shared_module(scanner *s, const params *p, const gpuc_kernel_group *g, gpuc_spv_words *out)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_spv m = {.ctx = ctx}; /* of whose sections none is used */
    const form *f = g->forms.at[0];
    int n = g->num_arguments;
    size_t hole = 0, function = function_of(s), body = next(s, next(s, function));
    while (op_at(s, body) == SpvOpVariable) body = next(s, body);
    copy(ctx, out, s->words, HEADER);
    out->at[3] = id_of(s, n, NUMBER, n);
    for (size_t at = HEADER; at < s->count; at = next(s, at)) {
        if (at == function) {
            gpuc_spv_emit(&m, out, SpvOpTypePointer, id_of(s, n, POINTER_TYPE, 0), (uint32_t)p->storage,
                          p->number_type);
            for (int a = 0; a < n; a++)
                gpuc_spv_emit(&m, out, SpvOpConstant, p->number_type, id_of(s, n, INDEX, a),
                              p->members + (uint32_t)a);
        }
        for (int a = 0; at == body && a < n; a++) {
            gpuc_spv_emit(&m, out, SpvOpAccessChain, id_of(s, n, POINTER_TYPE, 0), id_of(s, n, POINTER, a),
                          p->variable, id_of(s, n, INDEX, a));
            gpuc_spv_emit(&m, out, SpvOpLoad, p->number_type, id_of(s, n, NUMBER, a),
                          id_of(s, n, POINTER, a));
        }
        size_t start = out->count, length = s->words[at] >> 16;
        copy(ctx, out, s->words + at, length);
        for (; hole < f->places.count && f->places.at[hole] < at + length; hole++)
            if (g->argument[hole] >= 0)
                out->at[start + f->places.at[hole] - at] = id_of(s, n, NUMBER, g->argument[hole]);
        if (op_at(s, at) == SpvOpDecorate && s->words[at + 1] == p->type)
            for (int a = 0; a < n; a++)
                gpuc_spv_emit(&m, out, SpvOpMemberDecorate, p->type, p->members + (uint32_t)a,
                              SpvDecorationOffset, p->bytes + 4 * (uint32_t)a);
        if (at != s->defined[p->type]) continue;
        for (int a = 0; a < n; a++) gpuc_spv_push(ctx, out, p->number_type);
        out->at[start] += (uint32_t)n << 16;
    }
}

static void share(gpuc_ctx *ctx, const gpuc_kernel_code *kernels, const gpuc_kernel_group *g,
                  gpuc_spv_entry *entries)
{
    int first = ((form *)g->forms.at[0])->base.kernel;
    scanner s;
    params p;
    gpuc_spv_words words = {0};
    init(&s, ctx, &kernels[first]);
    if (!find_params(&s, &kernels[first].meta, &p)) return;
    shared_module(&s, &p, g, &words);
    for (size_t i = 0; i < g->forms.count; i++) {
        const gpuc_kernel_form *f = g->forms.at[i];
        entries[f->kernel] = (gpuc_spv_entry){
            .code = first, .num_values = g->num_arguments, .values = gpuc_codegen_group_values(ctx, g, f)};
    }
    entries[first].words = words.at;
    entries[first].num_words = words.count;
}

void gpuc_spv_share(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                    gpuc_spv_entry *entries)
{
    gpuc_ptrs forms = {0};
    int *max = gpuc_new_array(ctx, int, n);
    uint32_t limit = t->max_push_constants < MAX_BYTES ? (uint32_t)t->max_push_constants : MAX_BYTES;
    for (int i = 0; i < n; i++) {
        uint32_t bytes = param_bytes(&kernels[i].meta);
        max[i] = bytes < limit ? (int)((limit - bytes) / sizeof(uint32_t)) : 0;
        form *f = form_of(ctx, &kernels[i], i);
        if (f) gpuc_ptrs_push(ctx, &forms, f);
    }
    gpuc_ptrs groups = gpuc_codegen_group(ctx, &forms, max);
    for (size_t i = 0; i < groups.count; i++) share(ctx, kernels, groups.at[i], entries);
}
