/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces types that the target cannot compute in. Expressions get a wider type with the same value (floats
 * are not rounded to 16 bits between operators, unless `exact`). Memory keeps its bytes: elements that the
 * target cannot address are parts of 32-bit words. Whole words are stored plainly; a part is stored by
 * atomics, since other invocations own the rest of the word. */
#include "lower/legalize_dtypes/legalize.h"

#include "tir/value.h"

typedef struct legalizer {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    const gpuc_target *target;
    const gpuc_tir_func *f;
    gpuc_map buffers; /* buffer -> the one of legal type */
    gpuc_map vars;    /* let variable -> the one of legal type */
} legalizer;

/* ---- Types ----------------------------------------------------------------------------------------------- */

static bool is_small_int(gpuc_dtype t)
{
    return gpuc_is_integer(t) && t.bits < 32;
}

gpuc_dtype gpuc_lower_legal_compute(const gpuc_target *target, gpuc_dtype t)
{
    if (gpuc_is_coded(t) || (t.code == GPUC_DTYPE_FLOAT && t.bits == 16 && !target->float16)) {
        t.code = GPUC_DTYPE_FLOAT;
        t.bits = 32;
    } else if (is_small_int(t) && !(t.bits == 8 ? target->int8 : target->int16)) {
        t.bits = 32;
    }
    return t;
}

gpuc_dtype gpuc_lower_legal_memory(const gpuc_target *target, gpuc_dtype t, gpuc_scope scope)
{
    if (scope == GPUC_SCOPE_TEXTURE) return t;
    if (!gpuc_scope_is_global(scope)) {
        if (t.code == GPUC_DTYPE_BOOL) return target->int8 ? GPUC_UINT8 : GPUC_UINT32;
        return gpuc_lower_legal_compute(target, t);
    }
    if (t.bits >= 32) return t;
    if (!(t.bits == 8 ? target->storage8 : target->storage16)) return GPUC_UINT32;
    if (t.code == GPUC_DTYPE_BOOL) return GPUC_UINT8;
    if (gpuc_is_coded(t)) t.code = GPUC_DTYPE_UINT;
    return t;
}

static bool is_packed(const gpuc_tir_buffer *b, const gpuc_tir_buffer *to)
{
    return gpuc_scope_is_global(b->scope) && to->dtype.bits > b->dtype.bits;
}

static gpuc_dtype compute(legalizer *l, gpuc_dtype t)
{
    return gpuc_lower_legal_compute(l->target, t);
}

static void check_type(legalizer *l, gpuc_dtype t, const char *what)
{
    char name[24];
    if (gpuc_target_computes(l->target, t)) return;
    gpuc_dtype_name(gpuc_dtype_with_lanes(t, 1), name);
    gpuc_raise(
        l->m.ctx, GPUC_UNSUPPORTED,
        "kernel '%s': %s has type %s, which the target does not have; make the code for a target with -%s=1, "
        "or cast it to another type",
        l->f->name, what, name, name);
}

static gpuc_tir_buffer *legal_buffer(legalizer *l, const gpuc_tir_buffer *b)
{
    gpuc_ctx *ctx = l->m.ctx;
    gpuc_tir_buffer *r = gpuc_map_get(&l->buffers, b);
    if (r) return r;
    check_type(l, b->dtype, gpuc_ctx_printf(ctx, "the buffer '%s'", b->name));
    gpuc_dtype t = gpuc_lower_legal_memory(l->target, b->dtype, b->scope);
    r = (gpuc_tir_buffer *)b;
    if (!gpuc_dtype_equal(t, b->dtype)) {
        gpuc_expr size = b->shape[0];
        if (gpuc_scope_is_global(b->scope) && t.bits > b->dtype.bits) {
            int per = t.bits / b->dtype.bits;
            size = gpuc_floordiv_(ctx, gpuc_add(ctx, size, gpuc_imm_int(ctx, size->dtype, per - 1)),
                                  gpuc_imm_int(ctx, size->dtype, per));
        }
        r = gpuc_lower_buffer_like(ctx, b, t, size, b->scope);
    }
    gpuc_map_set(&l->buffers, b, r);
    return r;
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static gpuc_expr num_like(gpuc_ctx *ctx, gpuc_expr e, int64_t v)
{
    return gpuc_imm_int(ctx, e->dtype, v);
}

/* Word and bit position of an element. */
static void locate(legalizer *l, const gpuc_tir_buffer *b, gpuc_expr index, gpuc_expr *word, gpuc_expr *shift)
{
    gpuc_ctx *ctx = l->m.ctx;
    int per = 32 / b->dtype.bits;
    *word = gpuc_arith_simplify(l->a, gpuc_floordiv_(ctx, index, num_like(ctx, index, per)));
    gpuc_expr part = gpuc_arith_simplify(l->a, gpuc_floormod_(ctx, index, num_like(ctx, index, per)));
    part = gpuc_cast(ctx, GPUC_UINT32, part);
    *shift = gpuc_mul(ctx, part, num_like(ctx, part, b->dtype.bits));
}

static gpuc_expr packed_load(legalizer *l, const gpuc_tir_buffer *b, gpuc_tir_buffer *to, gpuc_expr index)
{
    gpuc_ctx *ctx = l->m.ctx;
    int lanes = index->dtype.lanes;
    gpuc_expr word, shift;
    if (lanes > 1) {
        gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, lanes);
        for (int i = 0; i < lanes; i++) at[i] = packed_load(l, b, to, gpuc_tir_lane(ctx, index, i));
        return gpuc_tir_vector(ctx, lanes, at);
    }
    locate(l, b, index, &word, &shift);
    gpuc_expr bits = gpuc_tir_make(ctx, GPUC_TIR_SHR, gpuc_tir_load1(ctx, to, word), shift, NULL);
    bits = gpuc_tir_make(ctx, GPUC_TIR_BITAND, bits, num_like(ctx, bits, ((int64_t)1 << b->dtype.bits) - 1),
                         NULL);
    return gpuc_lower_legal_from_bits(ctx, l->target, b->dtype, bits);
}

static gpuc_expr legal_load(legalizer *l, const gpuc_tir_load_node *n)
{
    gpuc_ctx *ctx = l->m.ctx;
    gpuc_tir_buffer *to = legal_buffer(l, n->buffer);
    gpuc_expr index = gpuc_tir_map(&l->m, n->index[0]);
    if (is_packed(n->buffer, to)) return packed_load(l, n->buffer, to, index);
    gpuc_expr e = gpuc_tir_load1(ctx, to, index);
    gpuc_dtype t = n->buffer->dtype, word = gpuc_dtype_with_lanes(GPUC_UINT32, e->dtype.lanes);
    if (t.code == GPUC_DTYPE_BOOL) {
        if (!l->target->int8) e = gpuc_cast(ctx, word, e);
        return gpuc_ne(ctx, e, num_like(ctx, e, 0));
    }
    if (gpuc_is_coded(t) && to->dtype.code == GPUC_DTYPE_UINT)
        return gpuc_lower_legal_from_bits(ctx, l->target, t, gpuc_cast(ctx, word, e));
    return gpuc_cast(ctx, gpuc_dtype_with_lanes(compute(l, t), e->dtype.lanes), e);
}

/* The value that is stored in an element of memory which is no larger than the element. */
static gpuc_expr memory_value(legalizer *l, gpuc_dtype t, const gpuc_tir_buffer *to, gpuc_expr value)
{
    gpuc_ctx *ctx = l->m.ctx;
    if (gpuc_is_coded(t) && to->dtype.code == GPUC_DTYPE_UINT)
        value = gpuc_lower_legal_to_bits(ctx, l->target, t, value);
    return gpuc_cast(ctx, gpuc_dtype_with_lanes(to->dtype, value->dtype.lanes), value);
}

static gpuc_stmt store_part(legalizer *l, const gpuc_tir_buffer *b, gpuc_tir_buffer *to, gpuc_expr index,
                            gpuc_expr bits)
{
    gpuc_ctx *ctx = l->m.ctx;
    gpuc_expr word, shift, ones = num_like(ctx, bits, ((int64_t)1 << b->dtype.bits) - 1);
    locate(l, b, index, &word, &shift);
    gpuc_expr mask =
        gpuc_tir_make(ctx, GPUC_TIR_BITNOT, gpuc_tir_make(ctx, GPUC_TIR_SHL, ones, shift, NULL), NULL, NULL);
    gpuc_expr set = gpuc_tir_make(ctx, GPUC_TIR_SHL, bits, shift, NULL);
    if (l->f->num_threads == 0) {
        gpuc_expr kept = gpuc_tir_make(ctx, GPUC_TIR_BITAND, gpuc_tir_load1(ctx, to, word), mask, NULL);
        return gpuc_tir_store1(ctx, to, word, gpuc_tir_make(ctx, GPUC_TIR_BITOR, kept, set, NULL));
    }
    gpuc_expr clear_args[2] = {word, mask}, set_args[2] = {word, set};
    gpuc_expr clear = gpuc_tir_call(ctx, GPUC_UINT32, GPUC_TIR_CALL_ATOMIC_AND, NULL, to, 2, clear_args);
    gpuc_expr put = gpuc_tir_call(ctx, GPUC_UINT32, GPUC_TIR_CALL_ATOMIC_OR, NULL, to, 2, set_args);
    return gpuc_tir_seq2(ctx, gpuc_tir_eval(ctx, clear), gpuc_tir_eval(ctx, put));
}

static gpuc_stmt packed_store(legalizer *l, const gpuc_tir_buffer *b, gpuc_tir_buffer *to, gpuc_expr index,
                              gpuc_expr value)
{
    gpuc_ctx *ctx = l->m.ctx;
    gpuc_expr bits = gpuc_lower_legal_to_bits(ctx, l->target, b->dtype, value);
    int lanes = index->dtype.lanes, per = 32 / b->dtype.bits;
    gpuc_expr name = gpuc_var(ctx, "bits", bits->dtype);
    gpuc_stmt all = NULL;
    bool ramp = index->kind == GPUC_EXPR_RAMP && gpuc_tir_is_const(gpuc_as_ramp(index)->stride, 1);
    gpuc_modular m = {1, 0};
    if (ramp) m = gpuc_arith_analyzer_modular(l->a, gpuc_as_ramp(index)->start);
    bool whole = ramp && lanes % per == 0 && m.coeff % per == 0 && m.remainder % per == 0;
    for (int i = 0; i < lanes; i += whole ? per : 1) {
        gpuc_expr at = gpuc_tir_lane(ctx, index, i), word, shift, sum = gpuc_tir_lane(ctx, name, i);
        if (!whole) {
            all = gpuc_tir_seq2(ctx, all, store_part(l, b, to, at, sum));
            continue;
        }
        for (int k = 1; k < per; k++) {
            gpuc_expr part = gpuc_tir_lane(ctx, name, i + k);
            part = gpuc_tir_make(ctx, GPUC_TIR_SHL, part, num_like(ctx, part, k * b->dtype.bits), NULL);
            sum = gpuc_tir_make(ctx, GPUC_TIR_BITOR, sum, part, NULL);
        }
        locate(l, b, at, &word, &shift);
        all = gpuc_tir_seq2(ctx, all, gpuc_tir_store1(ctx, to, word, sum));
    }
    return gpuc_tir_let(ctx, name, bits, all);
}

/* Drops the rounding of a value that is stored as the bits of a float, since the store rounds it. */
static gpuc_expr unrounded(const gpuc_tir_buffer *to, gpuc_expr value)
{
    bool iterations = gpuc_is_float(value->dtype) && !gpuc_is_float(to->dtype);
    bool exact = value->kind == GPUC_EXPR_CALL && gpuc_as_call(value)->fn == GPUC_TIR_CALL_EXACT;
    return iterations && exact ? gpuc_as_call(value)->args[0] : value;
}

static gpuc_stmt legal_store(legalizer *l, gpuc_stmt s)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_tir_buffer *to = legal_buffer(l, n->buffer);
    gpuc_expr index = gpuc_tir_map(&l->m, n->index[0]), value = gpuc_tir_map(&l->m, unrounded(to, n->value));
    if (is_packed(n->buffer, to)) return packed_store(l, n->buffer, to, index, value);
    if (to == n->buffer && index == n->index[0] && value == n->value) return s;
    return gpuc_tir_store1(l->m.ctx, to, index, memory_value(l, n->buffer->dtype, to, value));
}

/* ---- Expressions ----------------------------------------------------------------------------------------- */

static gpuc_expr legal_op(legalizer *l, gpuc_expr e)
{
    gpuc_expr r = gpuc_tir_map_children(&l->m, e);
    bool wider = is_small_int(e->dtype) && r->dtype.bits > e->dtype.bits;
    bool wraps = gpuc_tir_ops[gpuc_as_op(e)->op].flags & GPUC_TIR_WRAPS;
    return wider && wraps ? gpuc_lower_legal_wrap(l->m.ctx, e->dtype, r) : r;
}

static gpuc_expr legal_cast(legalizer *l, gpuc_expr e)
{
    gpuc_ctx *ctx = l->m.ctx;
    gpuc_expr a = gpuc_tir_map(&l->m, gpuc_as_cast(e)->a);
    gpuc_dtype from = gpuc_as_cast(e)->a->dtype, to = e->dtype, wide = compute(l, to);
    gpuc_expr r = gpuc_cast(ctx, wide, a);
    if (!is_small_int(to) || wide.bits == to.bits) return r;
    if (gpuc_is_float(from)) {
        gpuc_dtype one = gpuc_dtype_with_lanes(to, 1);
        int64_t lo = 0, hi = 0;
        gpuc_expr_is_int(gpuc_tir_min_value(ctx, one), &lo);
        gpuc_expr_is_int(gpuc_tir_max_value(ctx, one), &hi);
        return gpuc_max(ctx, gpuc_min(ctx, r, num_like(ctx, r, hi)), num_like(ctx, r, lo));
    }
    return gpuc_tir_holds_all(to, from) ? r : gpuc_lower_legal_wrap(ctx, to, r);
}

static gpuc_expr legal_reinterpret(legalizer *l, gpuc_expr e)
{
    gpuc_ctx *ctx = l->m.ctx;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_dtype from = n->args[0]->dtype, to = e->dtype;
    gpuc_expr a = gpuc_tir_map(&l->m, n->args[0]);
    if (gpuc_tir_is_words(e)) {
        if (gpuc_dtype_equal(compute(l, from), from)) return gpuc_tir_call(ctx, to, n->fn, NULL, NULL, 1, &a);
        return gpuc_tir_words(ctx, to, from, a);
    }
    bool as_is = gpuc_dtype_equal(compute(l, from), from) && gpuc_dtype_equal(compute(l, to), to);
    if (as_is) return gpuc_tir_call(ctx, to, n->fn, NULL, NULL, 1, &a);
    return gpuc_lower_legal_from_bits(ctx, l->target, to, gpuc_lower_legal_to_bits(ctx, l->target, from, a));
}

/* A value of 16 bits that is computed as float32 is rounded by way of its bits. */
static gpuc_expr legal_exact(legalizer *l, gpuc_expr e)
{
    gpuc_ctx *ctx = l->m.ctx;
    gpuc_expr a = gpuc_tir_map(&l->m, gpuc_as_call(e)->args[0]);
    if (gpuc_dtype_equal(compute(l, e->dtype), e->dtype))
        return gpuc_tir_call(ctx, e->dtype, GPUC_TIR_CALL_EXACT, NULL, NULL, 1, &a);
    return gpuc_lower_legal_from_bits(ctx, l->target, e->dtype,
                                      gpuc_lower_legal_to_bits(ctx, l->target, e->dtype, a));
}

static gpuc_expr legal_call(legalizer *l, gpuc_expr e)
{
    gpuc_ctx *ctx = l->m.ctx;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    if (n->fn == GPUC_TIR_CALL_EXACT) return legal_exact(l, e);
    if (n->fn == GPUC_TIR_CALL_REINTERPRET) return legal_reinterpret(l, e);
    gpuc_expr *args = gpuc_new_array(ctx, gpuc_expr, n->n + 1);
    for (int i = 0; i < n->n; i++) args[i] = gpuc_tir_map(&l->m, n->args[i]);
    const gpuc_tir_buffer *b = n->buffer ? legal_buffer(l, n->buffer) : NULL;
    bool other = b && !gpuc_dtype_equal(b->dtype, n->buffer->dtype);
    if (other && n->fn == GPUC_TIR_CALL_PREFETCH) return gpuc_imm_int(ctx, e->dtype, 0);
    bool address = n->fn == GPUC_TIR_CALL_ADDRESS || n->fn == GPUC_TIR_CALL_CONST_ADDRESS;
    if (address && other)
        other = b->dtype.bits != n->buffer->dtype.bits; /* a C function gets the same bytes */
    if (other) {
        char name[24];
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': '%s' on '%s' of type %s, which the target does not have", l->f->name,
                   gpuc_tir_intrins[n->fn].text, n->buffer->name, gpuc_dtype_name(n->buffer->dtype, name));
    }
    return gpuc_tir_call(ctx, compute(l, e->dtype), n->fn, n->name, b, n->n, args);
}

static gpuc_expr legal_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    legalizer *l = (legalizer *)m;
    gpuc_expr r;
    check_type(l, e->dtype, "an expression");
    switch (e->kind) {
    case GPUC_EXPR_VAR: return (r = gpuc_map_get(&l->vars, e)) ? r : e;
    case GPUC_EXPR_INT: return is_small_int(e->dtype) ? gpuc_cast(m->ctx, compute(l, e->dtype), e) : e;
    case GPUC_EXPR_FLOAT: return gpuc_cast(m->ctx, compute(l, e->dtype), e);
    case GPUC_EXPR_CAST: return legal_cast(l, e);
    case GPUC_EXPR_OP: return legal_op(l, e);
    case GPUC_EXPR_LOAD: return legal_load(l, gpuc_as_load(e));
    case GPUC_EXPR_CALL: return legal_call(l, e);
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR: return gpuc_tir_map_children(m, e);
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return e;
}

static gpuc_stmt legal_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    legalizer *l = (legalizer *)m;
    if (s->kind == GPUC_STMT_STORE) return legal_store(l, s);
    if (s->kind == GPUC_STMT_ALLOC) {
        gpuc_tir_buffer *b = legal_buffer(l, gpuc_as_alloc(s)->buffer);
        gpuc_stmt body = gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body);
        return b == gpuc_as_alloc(s)->buffer && body == gpuc_as_alloc(s)->body
                   ? s
                   : gpuc_tir_alloc(m->ctx, b, body);
    }
    size_t mark = gpuc_arith_analyzer_mark(l->a);
    if (s->kind == GPUC_STMT_LET) {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        gpuc_expr value = gpuc_tir_map(m, n->value), var = n->var;
        if (!gpuc_dtype_equal(value->dtype, var->dtype)) {
            var = gpuc_var(m->ctx, gpuc_as_var(var)->name, value->dtype);
            gpuc_map_set(&l->vars, n->var, (void *)var);
            gpuc_tir_mapper_forget(m);
        }
        gpuc_lower_bind(l->a, s);
        gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
        gpuc_arith_analyzer_rewind(l->a, mark);
        return value == n->value && body == n->body ? s : gpuc_tir_let(m->ctx, var, value, body);
    }
    gpuc_lower_bind(l->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(l->a, mark);
    return s;
}

gpuc_tir_func *gpuc_lower_legalize_dtypes(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    legalizer l = {.a = gpuc_lower_analyzer(ctx, f), .target = p->target, .f = f};
    gpuc_tir_mapper_init(&l.m, ctx, legal_expr, legal_stmt);
    gpuc_map_init(&l.buffers, ctx);
    gpuc_map_init(&l.vars, ctx);
    gpuc_tir_buffer **buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, f->num_buffers);
    bool same = true;
    for (int i = 0; i < f->num_buffers; i++) {
        buffers[i] = legal_buffer(&l, f->buffers[i]);
        same = same && buffers[i] == f->buffers[i];
    }
    gpuc_stmt body = gpuc_tir_map_stmt(&l.m, f->body);
    if (same) return gpuc_lower_with_body(ctx, f, body, f->stage);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    out->buffers = buffers;
    out->body = body;
    return out;
}
