/* SPDX-License-Identifier: Apache-2.0 */
/* An int64 expression whose value fits in 32 bits is computed in int32. Where bounds depend on symbols,
 * it fits if the target's limits keep buffers below 2^31 elements, since what indices are made of is no
 * larger; else a kernel with symbols stays as it is. */
#include "lower/common/util.h"

typedef struct narrower {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    gpuc_map vars;     /* int64 variable -> int32 variable */
    gpuc_map buffers;  /* parameters whose shape names such variables */
    gpuc_map symbolic; /* variables without constant bounds */
    bool assume;       /* symbolic index expressions fit */
    int64_t room;      /* and so do those that have this much added to them, or taken from them */
    bool wraps;        /* int32 that overflows wraps around */
    bool has_long;     /* the target has 64-bit integers; else scalars are passed as int32, or not at all */
} narrower;

static bool is_wide(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_INT && t.bits == 64;
}

static gpuc_dtype narrow_type(gpuc_dtype t)
{
    return gpuc_dtype_with_lanes(GPUC_INT32, t.lanes);
}

static bool not_symbolic(gpuc_expr e, void *arg)
{
    return e->kind != GPUC_EXPR_VAR || !gpuc_map_has(&((narrower *)arg)->symbolic, e);
}

/* A sum that no index is: of extents of launches, which are rounded up to what a device starts at most. */
static bool is_beyond_indices(const narrower *t, gpuc_expr e)
{
    int64_t c;
    if (e->kind != GPUC_EXPR_OP) return false;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    return (n->op == GPUC_TIR_ADD || n->op == GPUC_TIR_SUB) && gpuc_expr_is_int(n->a[1], &c) &&
           (c > t->room || c < -t->room);
}

static bool fits(narrower *t, gpuc_expr e)
{
    /* Symbolic indices are assumed to fit first: their bounds take long to compute and are rarely known. */
    if (t->assume && e->flags & GPUC_TIR_IS_INDEX && !is_beyond_indices(t, e) &&
        !gpuc_tir_visit(t->m.ctx, e, not_symbolic, t))
        return true;
    gpuc_bounds b = gpuc_arith_analyzer_bounds(t->a, e);
    return b.min >= INT32_MIN && b.max <= INT32_MAX;
}

static gpuc_expr narrow(narrower *t, gpuc_expr e);
static gpuc_expr low_word(narrower *t, gpuc_expr e);

/* A remainder that is in the low bits. */
static bool is_low_bits(const gpuc_tir_opexpr_node *n)
{
    int64_t c;
    return n->op == GPUC_TIR_FLOORMOD && gpuc_expr_is_int(n->a[1], &c) && c > 0 && c <= 1 << 30 &&
           !(c & (c - 1));
}

static gpuc_expr narrow_op(narrower *t, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    const gpuc_tir_op_info *info = &gpuc_tir_ops[n->op];
    gpuc_expr a[3] = {NULL};
    bool arm = info->result == GPUC_TIR_ARM, shift = n->op == GPUC_TIR_SHL || n->op == GPUC_TIR_SHR;
    if (!fits(t, e)) return NULL;
    if (is_low_bits(n)) return gpuc_tir_make(t->m.ctx, n->op, low_word(t, n->a[0]), narrow(t, n->a[1]), NULL);
    for (int i = 0; i < info->arity; i++) {
        a[i] = arm && i == 0 ? gpuc_tir_map(&t->m, n->a[0]) : narrow(t, n->a[i]);
        if (!a[i]) return NULL;
    }
    if (shift && gpuc_arith_analyzer_bounds(t->a, n->a[1]).max > 31) return NULL;
    return gpuc_tir_make(t->m.ctx, n->op, a[0], a[1], a[2]);
}

static gpuc_expr narrow_vector(narrower *t, gpuc_expr e)
{
    int lanes = e->dtype.lanes;
    gpuc_expr *a = gpuc_new_array(t->m.ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++)
        if (!(a[i] = narrow(t, gpuc_as_vector(e)->a[i]))) return NULL;
    return gpuc_tir_vector(t->m.ctx, lanes, a);
}

/* The same value in int32, or NULL if that is not known to be possible. */
static gpuc_expr narrow(narrower *t, gpuc_expr e)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr a, b;
    gpuc_dtype from;
    switch (e->kind) {
    case GPUC_EXPR_VAR: return gpuc_map_get(&t->vars, e);
    case GPUC_EXPR_INT: return fits(t, e) ? gpuc_imm_int(ctx, GPUC_INT32, gpuc_as_int(e)->value) : NULL;
    case GPUC_EXPR_CAST:
        from = gpuc_as_cast(e)->a->dtype;
        if (gpuc_is_float(from) || !fits(t, e)) return NULL;
        return gpuc_cast(ctx, narrow_type(e->dtype), gpuc_tir_map(&t->m, gpuc_as_cast(e)->a));
    case GPUC_EXPR_OP: return narrow_op(t, e);
    case GPUC_EXPR_RAMP:
        if (!fits(t, e)) return NULL;
        a = narrow(t, gpuc_as_ramp(e)->start);
        b = narrow(t, gpuc_as_ramp(e)->stride);
        return a && b ? gpuc_tir_ramp(ctx, a, b, e->dtype.lanes) : NULL;
    case GPUC_EXPR_BROADCAST:
        a = narrow(t, gpuc_as_broadcast(e)->a);
        return a ? gpuc_tir_broadcast(ctx, a, e->dtype.lanes) : NULL;
    case GPUC_EXPR_LANE:
        a = narrow(t, gpuc_as_lane(e)->a);
        return a ? gpuc_tir_lane(ctx, a, gpuc_as_lane(e)->lane) : NULL;
    case GPUC_EXPR_VECTOR: return narrow_vector(t, e);
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LOAD:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return NULL;
}

/* Whether a sum or a product has an operand that is known to reach beyond 32 bits. */
static bool overflows(narrower *t, const gpuc_tir_opexpr_node *n)
{
    for (int i = 0; i < 2; i++) {
        gpuc_bounds b = gpuc_arith_analyzer_bounds(t->a, n->a[i]);
        if ((b.max > INT32_MAX && b.max != INT64_MAX) || (b.min < INT32_MIN && b.min != INT64_MIN))
            return true;
    }
    return false;
}

/* The low 32 bits: enough for the index of a buffer of fewer than 2^31 elements, whatever its parts are. */
static gpuc_expr low_word(narrower *t, gpuc_expr e)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr r = narrow(t, e);
    if (r) return r;
    if (e->kind == GPUC_EXPR_OP) {
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        bool ring = n->op == GPUC_TIR_ADD || n->op == GPUC_TIR_SUB || n->op == GPUC_TIR_MUL;
        if (ring && (t->wraps || !overflows(t, n)))
            return gpuc_tir_make(ctx, n->op, low_word(t, n->a[0]), low_word(t, n->a[1]), NULL);
        if (n->op == GPUC_TIR_SELECT || n->op == GPUC_TIR_IF_THEN_ELSE)
            return gpuc_tir_make(ctx, n->op, gpuc_tir_map(&t->m, n->a[0]), low_word(t, n->a[1]),
                                 low_word(t, n->a[2]));
    }
    if (e->kind == GPUC_EXPR_RAMP)
        return gpuc_tir_ramp(ctx, low_word(t, gpuc_as_ramp(e)->start), low_word(t, gpuc_as_ramp(e)->stride),
                             e->dtype.lanes);
    if (e->kind == GPUC_EXPR_BROADCAST)
        return gpuc_tir_broadcast(ctx, low_word(t, gpuc_as_broadcast(e)->a), e->dtype.lanes);
    return gpuc_cast(ctx, narrow_type(e->dtype), gpuc_tir_map(&t->m, e));
}

/* Whether by elements for each of b's have indices below 2^31: those of 16 bits in a buffer of words. */
static bool is_small(narrower *t, const gpuc_tir_buffer *b, int64_t by)
{
    int64_t count, size;
    if (by <= 0) return false;
    if (gpuc_lower_const_size(b, &count)) return count <= INT32_MAX / by;
    if (!t->assume || by == 1) return t->assume;
    if (b->shape[0]->kind != GPUC_EXPR_OP) return false;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(b->shape[0]); /* the number of them, rounded up */
    return n->op == GPUC_TIR_FLOORDIV && gpuc_expr_is_int(n->a[1], &size) && size >= by;
}

static gpuc_expr narrow_access(narrower *t, const gpuc_tir_buffer *b, gpuc_expr index)
{
    int64_t by;
    if (!is_wide(index->dtype)) return gpuc_tir_map(&t->m, index);
    gpuc_expr r = narrow(t, index);
    if (r) return r;
    const gpuc_tir_opexpr_node *n = index->kind == GPUC_EXPR_OP ? gpuc_as_op(index) : NULL;
    if (n && n->op == GPUC_TIR_FLOORDIV && gpuc_expr_is_int(n->a[1], &by) && is_small(t, b, by))
        return gpuc_tir_make(t->m.ctx, n->op, low_word(t, n->a[0]), narrow(t, n->a[1]), NULL);
    return is_small(t, b, 1) ? low_word(t, index) : gpuc_tir_map(&t->m, index);
}

static const gpuc_tir_buffer *renamed(narrower *t, const gpuc_tir_buffer *b)
{
    const gpuc_tir_buffer *r = gpuc_map_get(&t->buffers, b);
    return r ? r : b;
}

static gpuc_expr narrow_call(narrower *t, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    if (!n->buffer || n->fn == GPUC_TIR_CALL_EXTERN) return gpuc_tir_map_children(&t->m, e);
    int indices = gpuc_tir_is_texture_call(e) ? 2 : 1;
    gpuc_expr args[3];
    for (int i = 0; i < n->n; i++)
        args[i] = i < indices ? narrow_access(t, n->buffer, n->args[i]) : gpuc_tir_map(&t->m, n->args[i]);
    return gpuc_tir_call(t->m.ctx, e->dtype, n->fn, n->name, renamed(t, n->buffer), n->n, args);
}

static gpuc_expr narrow_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    narrower *t = (narrower *)m;
    gpuc_ctx *ctx = m->ctx;
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        return gpuc_tir_load1(ctx, renamed(t, n->buffer), narrow_access(t, n->buffer, n->index[0]));
    }
    if (e->kind == GPUC_EXPR_CALL) return narrow_call(t, e);
    if (is_wide(e->dtype) && e->kind != GPUC_EXPR_INT) {
        gpuc_expr r = narrow(t, e);
        if (r) return gpuc_cast(ctx, e->dtype, r);
    }
    if (e->kind != GPUC_EXPR_OP) return gpuc_tir_map_children(m, e);
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (gpuc_tir_ops[n->op].result != GPUC_TIR_BOOL || !is_wide(n->a[0]->dtype))
        return gpuc_tir_map_children(m, e);
    gpuc_expr x = narrow(t, n->a[0]), y = narrow(t, n->a[1]);
    return x && y ? gpuc_tir_make(ctx, n->op, x, y, NULL) : gpuc_tir_map_children(m, e);
}

/* ---- Variables ------------------------------------------------------------------------------------------- */

static gpuc_expr narrow_var(narrower *t, gpuc_expr var)
{
    gpuc_expr r = gpuc_var(t->m.ctx, gpuc_as_var(var)->name, narrow_type(var->dtype));
    gpuc_map_set(&t->vars, var, (void *)r);
    gpuc_tir_mapper_forget(&t->m);
    return r;
}

static void note_symbolic(narrower *t, gpuc_expr var, gpuc_expr min, gpuc_expr extent)
{
    bool known =
        gpuc_tir_visit(t->m.ctx, min, not_symbolic, t) && gpuc_tir_visit(t->m.ctx, extent, not_symbolic, t);
    if (!known) gpuc_map_set(&t->symbolic, var, (void *)var);
}

static gpuc_stmt narrow_for(narrower *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_expr min = n->min, extent = n->extent, var = n->var;
    bool wide = is_wide(var->dtype);
    gpuc_expr end = gpuc_add(ctx, min, extent);
    note_symbolic(t, var, min, extent);
    if (wide && fits(t, end) && fits(t, min) && fits(t, extent)) {
        min = low_word(t, n->min);
        extent = low_word(t, n->extent);
        var = narrow_var(t, n->var);
    } else {
        min = gpuc_tir_map(&t->m, n->min);
        extent = gpuc_tir_map(&t->m, n->extent);
    }
    gpuc_arith_analyzer_bind(t->a, n->var, n->min, n->extent);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return gpuc_tir_for_(ctx, var, min, extent, n->loop, n->tag, body);
}

static gpuc_stmt narrow_let(narrower *t, const gpuc_tir_let_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_expr value = is_wide(n->value->dtype) ? narrow(t, n->value) : NULL, var = n->var;
    if (value)
        var = narrow_var(t, n->var);
    else
        value = gpuc_tir_map(&t->m, n->value);
    if (!gpuc_tir_visit(ctx, n->value, not_symbolic, t)) gpuc_map_set(&t->symbolic, n->var, (void *)n->var);
    gpuc_lower_bind(t->a, &n->base);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return gpuc_tir_let(ctx, var, value, body);
}

static gpuc_stmt narrow_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    narrower *t = (narrower *)m;
    gpuc_ctx *ctx = m->ctx;
    if (s->kind == GPUC_STMT_FOR) return narrow_for(t, gpuc_as_for(s));
    if (s->kind == GPUC_STMT_LET) return narrow_let(t, gpuc_as_let(s));
    if (s->kind == GPUC_STMT_STORE) {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        return gpuc_tir_store1(ctx, renamed(t, n->buffer), narrow_access(t, n->buffer, n->index[0]),
                               gpuc_tir_map(m, n->value));
    }
    if (s->kind != GPUC_STMT_IF) return gpuc_tir_map_stmt_children(m, s);
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    gpuc_expr cond = gpuc_tir_map(m, n->cond);
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    bool fact = !(n->cond->flags & GPUC_TIR_HAS_LOAD);
    if (fact) gpuc_arith_analyzer_assume(t->a, n->cond);
    gpuc_tir_mapper_forget(m);
    gpuc_stmt then_body = gpuc_tir_map_stmt(m, n->then_body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    gpuc_tir_mapper_forget(m);
    return gpuc_tir_if_(ctx, cond, then_body, gpuc_tir_map_stmt(m, n->else_body));
}

/* ---- Kernels --------------------------------------------------------------------------------------------- */

/* Indices of threads and tiles may exceed the last element by less than this. What no limit says more of leaves MAX_ROOM. */
enum { ROUNDED_UP = 1 << 24, MAX_ROOM = 1 << 30 };

/* What the target's limits leave of 2^31 above every index; less than ROUNDED_UP: they do not keep indices below it. */
static int64_t room_above(const gpuc_target *target, const gpuc_tir_func *f)
{
    int64_t most = 0, count;
    for (int i = 0; i < f->num_buffers; i++) {
        const gpuc_tir_buffer *b = f->buffers[i];
        if (!gpuc_lower_const_size(b, &count)) {
            count = target->max_buffer_range / (int64_t)gpuc_dtype_bytes(b->dtype);
            if (count == 0) count = INT32_MAX;
        } else if (count <= INT32_MAX) {
            count = 0; /* its indices have bounds */
        }
        if (count > most) most = count;
    }
    return most < MAX_ROOM ? MAX_ROOM : INT32_MAX - most;
}

static bool has_symbols(const gpuc_tir_func *f)
{
    for (int i = 0; i < f->num_scalars; i++)
        if (is_wide(f->scalars[i]->dtype)) return true;
    return false;
}

static const gpuc_expr *narrow_extents(narrower *t, const gpuc_tir_buffer *b)
{
    gpuc_expr *out = gpuc_new_array(t->m.ctx, gpuc_expr, 3);
    for (int i = 0; i < 3; i++) out[i] = gpuc_tir_map(&t->m, b->image[i]);
    return out;
}

static void narrow_params(narrower *t, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr *scalars = gpuc_new_array(ctx, gpuc_expr, f->num_scalars);
    for (int i = 0; i < f->num_scalars; i++) {
        gpuc_expr s = scalars[i] = f->scalars[i];
        if (gpuc_is_integer(s->dtype)) gpuc_map_set(&t->symbolic, s, (void *)s);
        if (!is_wide(s->dtype)) continue;
        gpuc_bounds b = gpuc_arith_analyzer_bounds(t->a, s);
        if (!t->has_long || (b.min >= INT32_MIN && b.max <= INT32_MAX)) scalars[i] = narrow_var(t, s);
    }
    gpuc_tir_buffer **buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, f->num_buffers);
    for (int i = 0; i < f->num_buffers; i++) {
        gpuc_tir_buffer *b = buffers[i] = f->buffers[i];
        gpuc_expr size = gpuc_tir_map(&t->m, b->shape[0]);
        if (size == b->shape[0]) continue;
        buffers[i] = gpuc_lower_buffer_like(ctx, b, b->dtype, size, b->scope);
        if (b->image) buffers[i]->image = narrow_extents(t, b);
        gpuc_map_set(&t->buffers, b, buffers[i]);
    }
    gpuc_tir_thread *threads = gpuc_new_array(ctx, gpuc_tir_thread, f->num_threads);
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *th = &f->threads[i];
        threads[i] = *th;
        if (!is_wide(th->var->dtype)) continue;
        note_symbolic(t, th->var, gpuc_int(ctx, 0), th->extent);
        threads[i].extent = low_word(t, th->extent);
        threads[i].var = narrow_var(t, th->var);
    }
    f->scalars = scalars;
    f->buffers = buffers;
    f->threads = threads;
}

gpuc_tir_func *gpuc_lower_narrow_index(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    narrower t = {.a = gpuc_lower_analyzer(ctx, f), .room = room_above(p->target, f)};
    t.has_long = p->target->int64;
    t.assume = t.room >= ROUNDED_UP || !t.has_long; /* without: larger ones are refused before the launch */
    if (t.room < ROUNDED_UP) t.room = ROUNDED_UP;
    t.wraps = p->target->language->wraps;
    if (!t.assume && has_symbols(f)) return f;
    gpuc_tir_mapper_init(&t.m, ctx, narrow_expr, narrow_stmt);
    gpuc_map_init(&t.vars, ctx);
    gpuc_map_init(&t.buffers, ctx);
    gpuc_map_init(&t.symbolic, ctx);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    narrow_params(&t, out);
    out->body = gpuc_tir_map_stmt(&t.m, f->body);
    return out;
}
