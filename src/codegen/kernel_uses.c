/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over a kernel: how buffers are accessed, what the device must have, what a launch costs. */
#include "abi/coopmat.h"
#include "base/size.h"
#include "codegen/lanes.h"
#include "lower/common/util.h"

typedef struct walker {
    gpuc_ctx *ctx;
    gpuc_analyzer *analyzer;
    const gpuc_target *target;
    gpuc_uses *uses;
    uint32_t subgroup; /* its size, if the kernel relies on one */
    int64_t trips;     /* how often the statement runs in a launch; -1 unknown */
    int conditions;    /* around the statement; loops that may not run count as well */
    gpuc_map seen;     /* expressions of the statement at hand */
} walker;

int gpuc_codegen_ramp_align(gpuc_analyzer *a, gpuc_expr index)
{
    gpuc_expr start = gpuc_lower_contiguous(index);
    if (!start) return 0;
    gpuc_modular m = gpuc_arith_analyzer_modular(a, start);
    int align = 1;
    while (align * 2 <= index->dtype.lanes && index->dtype.lanes % (align * 2) == 0 &&
           m.coeff % (align * 2) == 0 && m.remainder % (align * 2) == 0)
        align *= 2;
    return align;
}

int64_t gpuc_codegen_elements(gpuc_ctx *ctx, const gpuc_tir_buffer *b)
{
    int64_t total = 1, n;
    for (int i = 0; i < b->ndim; i++) {
        if (!gpuc_expr_is_int(b->shape[i], &n))
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "buffer '%s' (%s) has a size that is not constant: %s", b->name,
                       gpuc_scope_name(b->scope), gpuc_expr_text(ctx, b->shape[i]));
        if (n < 0 || !gpuc_i64_mul(total, n, &total))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "buffer '%s' has an impossible size", b->name);
    }
    return total;
}

static gpuc_buffer_use *use_of(walker *w, const gpuc_tir_buffer *b)
{
    gpuc_buffer_use *u = gpuc_map_get(&w->uses->by_buffer, b);
    if (u) return u;
    if (gpuc_is_coded(b->dtype))
        gpuc_raise(w->ctx, GPUC_UNSUPPORTED, "buffer '%s' has a type that legalize_dtypes takes away",
                   b->name);
    u = gpuc_new(w->ctx, gpuc_buffer_use);
    u->buffer = b;
    gpuc_map_set(&w->uses->by_buffer, b, u);
    return u;
}

const gpuc_buffer_use *gpuc_codegen_use(const gpuc_uses *uses, const gpuc_tir_buffer *b)
{
    static const gpuc_buffer_use unused;
    const gpuc_buffer_use *u = gpuc_map_get(&uses->by_buffer, b);
    return u ? u : &unused;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t r;
    if (a < 0 || b < 0) return -1;
    return gpuc_i64_mul(a, b, &r) ? r : -1;
}

static void count(int64_t *total, int64_t trips, int64_t each)
{
    int64_t more = times(trips, each);
    if (*total < 0 || more < 0 || !gpuc_i64_add(*total, more, total)) *total = -1;
}

static uint32_t arithmetic_feature(gpuc_dtype t)
{
    if (t.code == GPUC_DTYPE_FLOAT)
        return t.bits == 16 ? GPUC_FEATURE_FLOAT16 : t.bits == 64 ? GPUC_FEATURE_FLOAT64 : 0;
    if (!gpuc_is_integer(t)) return 0;
    return t.bits == 8    ? GPUC_FEATURE_INT8
           : t.bits == 16 ? GPUC_FEATURE_INT16
           : t.bits == 64 ? GPUC_FEATURE_INT64
                          : 0;
}

static uint32_t storage_feature(gpuc_dtype t)
{
    return t.bits == 8 ? GPUC_FEATURE_STORAGE8 : t.bits == 16 ? GPUC_FEATURE_STORAGE16 : 0;
}

/* 8- and 16-bit values may be loaded, stored and converted without arithmetic of their type; wider
 * types need their feature for anything. */
static uint32_t mention_feature(gpuc_dtype t)
{
    return t.bits == 64 ? arithmetic_feature(t) : 0;
}

static void note_lanes(gpuc_buffer_use *u, gpuc_expr index, int align, bool write)
{
    int lanes = index->dtype.lanes;
    gpuc_expr start = lanes == 1 ? index : gpuc_lower_contiguous(index);
    bool constant = start && start->kind == GPUC_EXPR_INT;
    if (constant && (lanes == 1 || !write)) return;
    int whole = align > 1 && align == lanes ? lanes : -1;
    u->lanes = u->lanes == 0 || u->lanes == whole ? whole : -1;
    if (!constant)
        u->anywhere = u->anywhere == 0 || u->anywhere == whole ? whole : -1;
    else if (whole < 0 || u->placed < 0)
        u->placed = -1;
    else if (whole > u->placed)
        u->placed = whole;
}

static void use_access(walker *w, const gpuc_tir_buffer *b, gpuc_expr index, bool write, bool atomic)
{
    gpuc_buffer_use *u = use_of(w, b);
    u->written = u->written || write;
    u->conditional = u->conditional || (write && w->conditions > u->conditions);
    u->read = u->read || !write || atomic;
    u->atomic = u->atomic || atomic;
    int align = gpuc_codegen_ramp_align(w->analyzer, index);
    if (align > 0 && (u->vec == 0 || align < u->vec)) u->vec = align;
    if (align > u->widest) u->widest = align;
    note_lanes(u, index, align, write);
    bool global = gpuc_scope_is_global(b->scope);
    w->uses->features |=
        mention_feature(b->dtype) | (global ? storage_feature(b->dtype) : arithmetic_feature(b->dtype));
    if (global && write && gpuc_codegen_stores_pairs(w->target, b->dtype, align))
        w->uses->features |= GPUC_FEATURE_INT64;
    if (global) count(&w->uses->bytes, w->trips, (int64_t)gpuc_dtype_bytes(b->dtype) * index->dtype.lanes);
}

static void use_texture(walker *w, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_buffer_use *u = use_of(w, n->buffer);
    bool write = n->fn == GPUC_TIR_CALL_TEXTURE2D_STORE;
    u->written = u->written || write;
    u->read = u->read || !write;
    w->uses->features |= GPUC_FEATURE_IMAGES | (write ? GPUC_FEATURE_IMAGE_ANY_FORMAT : 0);
    count(&w->uses->bytes, w->trips, (int64_t)gpuc_dtype_bytes(n->buffer->dtype) * e->dtype.lanes);
}

static void use_call(walker *w, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    uint32_t *features = &w->uses->features;
    switch (n->fn) {
    case GPUC_TIR_CALL_REINTERPRET:
        *features |= arithmetic_feature(e->dtype) | arithmetic_feature(n->args[0]->dtype);
        if (gpuc_tir_is_words(e) && n->args[0]->kind == GPUC_EXPR_LOAD) { /* elements are addressed alone */
            gpuc_buffer_use *u = use_of(w, gpuc_as_load(n->args[0])->buffer);
            u->vec = 1;
            u->lanes = u->anywhere = -1;
        }
        return;
    case GPUC_TIR_CALL_DOT_I8:
    case GPUC_TIR_CALL_DOT_U8I8:
    case GPUC_TIR_CALL_DOT_U8:
    case GPUC_TIR_CALL_DOT_I16:
        if (!w->target->language->functions) *features |= GPUC_FEATURE_DOT_PRODUCT;
        return;
    case GPUC_TIR_CALL_BARRIER: w->uses->has_barrier = true; return;
    case GPUC_TIR_CALL_THREAD_DECIDES: w->uses->has_decision = true; return;
    case GPUC_TIR_CALL_PREFETCH: use_of(w, n->buffer)->read = true; return;
    case GPUC_TIR_CALL_ATOMIC_ADD:
    case GPUC_TIR_CALL_ATOMIC_MIN:
    case GPUC_TIR_CALL_ATOMIC_MAX:
    case GPUC_TIR_CALL_ATOMIC_AND:
    case GPUC_TIR_CALL_ATOMIC_OR:
    case GPUC_TIR_CALL_ATOMIC_XOR:
    case GPUC_TIR_CALL_ATOMIC_EXCHANGE:
    case GPUC_TIR_CALL_ATOMIC_CAS:
        if (gpuc_is_float(e->dtype) && n->fn == GPUC_TIR_CALL_ATOMIC_ADD)
            *features |= GPUC_FEATURE_ATOMIC_FLOAT;
        use_access(w, n->buffer, n->args[0], true, true);
        return;
    case GPUC_TIR_CALL_TEXTURE2D_LOAD:
    case GPUC_TIR_CALL_TEXTURE2D_STORE: use_texture(w, e); return;
    case GPUC_TIR_CALL_SUBGROUP_SHUFFLE:
        *features |= GPUC_FEATURE_SUBGROUP_SHUFFLE;
        w->uses->has_subgroup = true;
        return;
    case GPUC_TIR_CALL_SUBGROUP_LANE:
    case GPUC_TIR_CALL_SUBGROUP_ADD:
    case GPUC_TIR_CALL_SUBGROUP_MUL:
    case GPUC_TIR_CALL_SUBGROUP_MIN:
    case GPUC_TIR_CALL_SUBGROUP_MAX:
        *features |= GPUC_FEATURE_SUBGROUP;
        w->uses->has_subgroup = true;
        return;
    case GPUC_TIR_CALL_ADDRESS:
    case GPUC_TIR_CALL_CONST_ADDRESS: { /* the function has elements side by side */
        use_access(w, n->buffer, n->args[0], n->fn == GPUC_TIR_CALL_ADDRESS, false);
        gpuc_buffer_use *u = use_of(w, n->buffer);
        u->read = true;
        u->vec = 1;
        u->lanes = u->anywhere = -1;
        return;
    }
    case GPUC_TIR_CALL_STRIDE:
    case GPUC_TIR_CALL_EXACT:
    case GPUC_TIR_CALL_EXTERN:
    case GPUC_TIR_INTRIN_COUNT: return;
    }
}

static bool use_expr(gpuc_expr e, void *arg)
{
    walker *w = arg;
    if (gpuc_map_has(&w->seen, e)) return true;
    gpuc_map_set(&w->seen, e, (void *)e);
    w->uses->features |= mention_feature(e->dtype);
    if (gpuc_is_float(e->dtype)) w->uses->features |= GPUC_FEATURE_FLOAT_CONTROLS;
    switch (e->kind) {
    case GPUC_EXPR_LOAD:
        use_access(w, gpuc_as_load(e)->buffer, gpuc_as_load(e)->index[0], false, false);
        break;
    case GPUC_EXPR_CALL: use_call(w, e); break;
    case GPUC_EXPR_OP:
        for (int i = 0; i < 3 && gpuc_as_op(e)->a[i]; i++)
            w->uses->features |= arithmetic_feature(gpuc_as_op(e)->a[i]->dtype);
        w->uses->features |= arithmetic_feature(e->dtype);
        if (!(e->flags & GPUC_TIR_IS_INDEX)) count(&w->uses->ops, w->trips, e->dtype.lanes);
        break;
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_BROADCAST: w->uses->features |= arithmetic_feature(e->dtype); break;
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_CAST:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return true;
}

static void use_exprs(walker *w, gpuc_expr e)
{
    if (e) gpuc_tir_visit(w->ctx, e, use_expr, w);
}

static void walk(walker *w, gpuc_stmt s);

/* An instruction that a subgroup does once. */
static void walk_coopmat(walker *w, const gpuc_tir_attr_node *n)
{
    gpuc_tir_coopmat m;
    int64_t outside = w->trips;
    w->uses->features |= GPUC_FEATURE_COOPMAT;
    if (outside > 0 && w->subgroup > 1) w->trips = outside / w->subgroup;
    walk(w, n->body);
    w->trips = outside;
    if (gpuc_tir_coopmat_of(w->ctx, n, &m)) return;
    use_of(w, m.store->buffer)->align = GPUC_COOPMAT_ALIGN;
    if (m.load) use_of(w, m.load->buffer)->align = GPUC_COOPMAT_ALIGN;
}

static void walk_scoped(walker *w, gpuc_stmt s, gpuc_expr assumed)
{
    if (!s) return;
    size_t mark = gpuc_arith_analyzer_mark(w->analyzer);
    if (assumed) gpuc_arith_analyzer_assume(w->analyzer, assumed);
    walk(w, s);
    gpuc_arith_analyzer_rewind(w->analyzer, mark);
}

static void walk_for(walker *w, gpuc_stmt s)
{
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    use_exprs(w, n->min);
    use_exprs(w, n->extent);
    int64_t extent, outside = w->trips;
    bool constant = gpuc_expr_is_int(n->extent, &extent), may_not_run = !constant || extent <= 0;
    w->trips = times(outside, constant ? extent : -1);
    w->conditions += may_not_run;
    size_t mark = gpuc_arith_analyzer_mark(w->analyzer);
    gpuc_arith_analyzer_bind(w->analyzer, n->var, n->min, n->extent);
    walk(w, n->body);
    gpuc_arith_analyzer_rewind(w->analyzer, mark);
    w->trips = outside;
    w->conditions -= may_not_run;
}

bool gpuc_codegen_stores_pairs(const gpuc_target *t, gpuc_dtype dtype, int lanes)
{
    return t->wide_stores && t->int64 && lanes > 1 && dtype.bits == 32;
}

size_t gpuc_codegen_shared_bytes(const gpuc_target *t, gpuc_dtype dtype)
{
    size_t bytes = gpuc_dtype_bytes(dtype);
    uint32_t features = gpuc_target_features(t) | t->language->own_features;
    bool lacking = (gpuc_is_bool(dtype) && !(t->language->own_features & storage_feature(dtype))) ||
                   (arithmetic_feature(dtype) & ~features);
    return bytes < 4 && lacking ? 4 : bytes;
}

static void walk_alloc(walker *w, gpuc_stmt s)
{
    const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
    use_of(w, b)->conditions = w->conditions;
    if (b->scope == GPUC_SCOPE_SHARED) {
        int64_t bytes;
        if (!gpuc_i64_mul(gpuc_codegen_elements(w->ctx, b),
                          (int64_t)gpuc_codegen_shared_bytes(w->target, b->dtype), &bytes) ||
            !gpuc_i64_add(w->uses->shared_bytes, (int64_t)gpuc_align_up((uint64_t)bytes, 16),
                          &w->uses->shared_bytes))
            gpuc_raise(w->ctx, GPUC_INVALID_ARGUMENT, "buffer '%s' has an impossible size", b->name);
    }
    walk(w, gpuc_as_alloc(s)->body);
}

static void walk_let(walker *w, gpuc_stmt s)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    use_exprs(w, n->value);
    size_t mark = gpuc_arith_analyzer_mark(w->analyzer);
    if (gpuc_is_integer(n->var->dtype)) gpuc_arith_analyzer_bind_value(w->analyzer, n->var, n->value);
    walk(w, n->body);
    gpuc_arith_analyzer_rewind(w->analyzer, mark);
}

static void walk(walker *w, gpuc_stmt s)
{
    gpuc_map_init(&w->seen, w->ctx);
    switch (s->kind) {
    case GPUC_STMT_FOR: walk_for(w, s); return;
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        use_exprs(w, n->index[0]);
        use_exprs(w, n->value);
        use_access(w, n->buffer, n->index[0], true, false);
        return;
    }
    case GPUC_STMT_IF:
        use_exprs(w, gpuc_as_if(s)->cond);
        w->conditions++;
        walk_scoped(w, gpuc_as_if(s)->then_body, gpuc_as_if(s)->cond);
        walk_scoped(w, gpuc_as_if(s)->else_body, NULL);
        w->conditions--;
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) walk(w, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC: walk_alloc(w, s); return;
    case GPUC_STMT_LET: walk_let(w, s); return;
    case GPUC_STMT_EVAL: use_exprs(w, gpuc_as_eval(s)->value); return;
    case GPUC_STMT_ATTR:
        if (gpuc_tir_is_coopmat(s))
            walk_coopmat(w, gpuc_as_attr(s));
        else
            walk(w, gpuc_as_attr(s)->body);
        return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

static int64_t launch_invocations(const gpuc_tir_func *f)
{
    int64_t total = 1, extent;
    for (int i = 0; i < f->num_threads; i++)
        total = times(total, gpuc_expr_is_int(f->threads[i].extent, &extent) ? extent : -1);
    return total;
}

gpuc_uses *gpuc_codegen_uses(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f)
{
    gpuc_uses *uses = gpuc_new(ctx, gpuc_uses);
    gpuc_map_init(&uses->by_buffer, ctx);
    walker w = {
        .ctx = ctx, .target = t, .uses = uses, .subgroup = f->subgroup_size, .trips = launch_invocations(f)};
    w.analyzer = gpuc_lower_analyzer(ctx, f);
    for (int i = 0; i < f->num_buffers; i++) use_of(&w, f->buffers[i]);
    for (int i = 0; i < f->num_scalars; i++) uses->features |= mention_feature(f->scalars[i]->dtype);
    if (f->body) walk(&w, f->body);
    return uses;
}
