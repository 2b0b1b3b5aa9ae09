/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the names of variables, buffers and kernels in generated source, and how buffers are declared. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/clike.h"
#include "lower/common/util.h"

static void free_out(void *data)
{
    gpuc_buf_deinit(data);
}

static int lanes_of(const gpuc_clike *p, const gpuc_buffer_use *use)
{
    if (!p->lang->part) return use->lanes;
    if (use->anywhere < 0 || use->placed < 0) return 1;
    return use->anywhere == 0 ? use->placed : use->placed <= use->anywhere ? use->anywhere : 1;
}

/* Buffers of one element are variables. Those that are accessed by aligned vectors of one size hold vectors,
 * which live in registers; what else is accessed of them is lanes at constant places, and parts of vectors
 * there in a language that has these. */
static void plan_buffer(gpuc_clike *p, const gpuc_buffer_use *use)
{
    const gpuc_tir_buffer *b = use->buffer;
    gpuc_clike_buffer *plan = gpuc_new(p->ctx, gpuc_clike_buffer);
    plan->vec = 1;
    for (int i = 0; i < p->func->num_buffers; i++) plan->param = plan->param || p->func->buffers[i] == b;
    gpuc_map_set(&p->buffers, b, plan);
    if (plan->param || b->ndim != 1) return;
    int64_t n;
    if (!gpuc_expr_is_int(b->shape[0], &n)) return;
    int lanes = lanes_of(p, use);
    if (lanes > 1 && !use->atomic && !gpuc_is_bool(b->dtype) && n % lanes == 0) plan->vec = lanes;
    plan->variable = n == plan->vec && b->scope == GPUC_SCOPE_LOCAL;
}

void gpuc_clike_init(gpuc_clike *p, gpuc_ctx *ctx, const gpuc_clike_lang *lang, const gpuc_target *t,
                     const gpuc_tir_func *f)
{
    *p = (gpuc_clike){.ctx = ctx, .lang = lang, .target = t, .func = f};
    gpuc_buf_init(&p->out, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_out, &p->out);
    gpuc_map_init(&p->names, ctx);
    gpuc_strmap_init(&p->taken, ctx);
    gpuc_strmap_init(&p->numbers, ctx);
    gpuc_map_init(&p->ahead, ctx);
    gpuc_map_init(&p->declared, ctx);
    gpuc_map_init(&p->data_vars, ctx);
    gpuc_map_init(&p->mask_bits, ctx);
    gpuc_map_init(&p->buffers, ctx);
    gpuc_strmap_set(&p->taken, f->name, p);
    p->uses = gpuc_codegen_uses(ctx, t, f);
    for (uint32_t i = 0; i < p->uses->by_buffer.count; i++)
        plan_buffer(p, p->uses->by_buffer.entries[i].value);
    p->analyzer = gpuc_lower_analyzer(ctx, f);
}

const char *gpuc_clike_finish(gpuc_clike *p, size_t *out_size)
{
    if (p->out.failed)
        gpuc_raise(p->ctx, GPUC_OUT_OF_MEMORY, "printing kernel '%s': out of memory", p->func->name);
    *out_size = p->out.size;
    const char *text = gpuc_ctx_memdup(p->ctx, gpuc_buf_cstr(&p->out), p->out.size + 1);
    gpuc_ctx_pop_cleanup(p->ctx, true);
    return text;
}

bool gpuc_clike_is_function(const gpuc_clike_lang *lang, const char *name, size_t length)
{
    static const gpuc_dtype types[] = {GPUC_FLOAT32, GPUC_FLOAT64, GPUC_INT32};
    for (int op = 0; op < GPUC_TIR_OP_COUNT; op++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const char *f = lang->math(NULL, (gpuc_tir_op)op, types[i]);
            if (f && strlen(f) == length && memcmp(f, name, length) == 0) return true;
        }
    return false;
}

/* Names that neither language leaves to others. */
static const char *const reserved[] = {
    "auto",     "break",  "case",   "char",     "const",    "continue", "default",  "do",
    "double",   "else",   "enum",   "extern",   "float",    "for",      "goto",     "if",
    "inline",   "int",    "long",   "register", "restrict", "return",   "short",    "signed",
    "sizeof",   "static", "struct", "switch",   "typedef",  "union",    "unsigned", "void",
    "volatile", "while",  "bool",   "true",     "false",    "linux",    "unix",     "i386",
    "size_t",   "NULL",   "NAN",    "INFINITY", "isnan",    "isinf",    "abs",      "round",
    "signbit",  "exp2",   "log2",   "fma",      "fmin",     "fmax",     NULL,
};

static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++) {
        size_t n = strlen(*list);
        if ((*list)[n - 1] == '*' ? strncmp(*list, name, n - 1) == 0 : strcmp(*list, name) == 0) return true;
    }
    return false;
}

/* Names of two letters and more without a small one may be macros. */
static bool may_be_macro(const char *name)
{
    for (const char *c = name; *c; c++)
        if (islower((unsigned char)*c)) return false;
    return name[0] && name[1];
}

static bool is_reserved(const gpuc_clike_lang *lang, const char *name)
{
    gpuc_dtype t; /* "f32x8" is a type's name */
    return may_be_macro(name) || gpuc_clike_parse_suffix(name, strlen(name), &t) ||
           strncmp(name, "gpuc_", 5) == 0 || *name == '_' || is_listed(reserved, name) ||
           is_listed(lang->reserved, name) || gpuc_clike_is_function(lang, name, strlen(name));
}

const char *gpuc_clike_kernel_name(gpuc_ctx *ctx, const gpuc_clike_lang *lang, const char *name)
{
    return is_reserved(lang, name) ? gpuc_ctx_printf(ctx, "k_%s", name) : name;
}

const char *gpuc_clike_name(gpuc_clike *p, const void *key, const char *wanted)
{
    const char *name = gpuc_map_get(&p->names, key);
    if (name) return name;
    enum { MAX_LENGTH = 100 }; /* pocl and C compilers have limits of their own */
    size_t n = strnlen(wanted, MAX_LENGTH);
    char *base = gpuc_ctx_alloc(p->ctx, n + 2), *to = base;
    if (n == 0 || isdigit((unsigned char)*wanted)) *to++ = 'v';
    for (size_t i = 0; i < n; i++)
        *to++ = isalnum((unsigned char)wanted[i]) || wanted[i] == '_' ? wanted[i] : '_';
    if (is_reserved(p->lang, base)) base = gpuc_ctx_printf(p->ctx, "v%s%s", *base == '_' ? "" : "_", base);
    name = base;
    if (gpuc_strmap_has(&p->taken, base)) {
        intptr_t i = (intptr_t)gpuc_strmap_get(&p->numbers, base);
        do name = gpuc_ctx_printf(p->ctx, "%s_%d", base, (int)++i);
        while (gpuc_strmap_has(&p->taken, name));
        gpuc_strmap_set(&p->numbers, base, (void *)i);
    }
    gpuc_strmap_set(&p->taken, name, p);
    gpuc_map_set(&p->names, key, (void *)name);
    return name;
}

const char *gpuc_clike_var(gpuc_clike *p, gpuc_expr var)
{
    return gpuc_clike_name(p, var, gpuc_as_var(var)->name);
}

const char *gpuc_clike_buf(gpuc_clike *p, const gpuc_tir_buffer *b)
{
    return gpuc_clike_name(p, b, b->name);
}

gpuc_clike_buffer *gpuc_clike_buffer_of(gpuc_clike *p, const gpuc_tir_buffer *b)
{
    gpuc_clike_buffer *plan = gpuc_map_get(&p->buffers, b);
    GPUC_CHECK(plan != NULL);
    return plan;
}

const char *gpuc_clike_suffix(gpuc_dtype t, char out[16])
{
    const gpuc_element *e = gpuc_element_of(t);
    int n = e ? snprintf(out, 16, "%s", e->suffix) : snprintf(out, 16, "h%d", t.bits);
    if (t.lanes > 1) snprintf(out + n, 16 - (size_t)n, "x%d", t.lanes);
    return out;
}

bool gpuc_clike_parse_suffix(const char *text, size_t length, gpuc_dtype *out)
{
    char copy[16];
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++) {
        size_t n = strlen(gpuc_elements[i].suffix);
        if (strncmp(copy, gpuc_elements[i].suffix, n) != 0 || (copy[n] && copy[n] != 'x')) continue;
        char *end = copy + n;
        long lanes = 1;
        if (*end == 'x' && isdigit((unsigned char)end[1])) lanes = strtol(end + 1, &end, 10);
        if (*end || lanes < 1 || lanes > 1024) return false;
        *out = gpuc_dtype_with_lanes(gpuc_elements[i].dtype, (uint16_t)lanes);
        return true;
    }
    return false;
}

const char *gpuc_clike_row(gpuc_tir_op op)
{
    return op == GPUC_TIR_MOD ? "fmod" : gpuc_tir_ops[op].text;
}

gpuc_tir_op gpuc_clike_row_op(const char *row)
{
    for (int op = 0; op < GPUC_TIR_OP_COUNT; op++)
        if (strcmp(gpuc_clike_row((gpuc_tir_op)op), row) == 0) return (gpuc_tir_op)op;
    return GPUC_TIR_OP_COUNT;
}
