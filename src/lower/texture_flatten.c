/* SPDX-License-Identifier: Apache-2.0 */
/* Makes loads and stores of images ones of whole texels at a row and a column. */
#include "lower/common/lanes.h"
#include "lower/common/util.h"

typedef struct texturer {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    const gpuc_tir_func *f;
} texturer;

static bool is_image(const gpuc_tir_buffer *b)
{
    return b->scope == GPUC_SCOPE_TEXTURE;
}

/* Row and column of the texel that begins at, or holds, an element. */
static void locate(texturer *t, const gpuc_tir_buffer *b, gpuc_expr element, gpuc_expr at[2])
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr width = gpuc_cast(ctx, element->dtype, b->image[1]);
    gpuc_expr channels = gpuc_imm_int(ctx, element->dtype, gpuc_tir_image_channels(b));
    gpuc_expr texel = gpuc_arith_simplify(t->a, gpuc_floordiv_(ctx, element, channels));
    at[0] = gpuc_arith_simplify(t->a, gpuc_floordiv_(ctx, texel, width));
    at[1] = gpuc_arith_simplify(t->a, gpuc_floormod_(ctx, texel, width));
}

/* Whether a texel begins at the element. */
static bool is_start(texturer *t, const gpuc_tir_buffer *b, gpuc_expr element)
{
    int channels = gpuc_tir_image_channels(b);
    gpuc_modular m = gpuc_arith_analyzer_modular(t->a, element);
    return m.coeff % channels == 0 && m.remainder % channels == 0;
}

/* ---- Loads -------------------------------------------------------------------------------------------- */

static gpuc_expr load_texel(texturer *t, const gpuc_tir_buffer *b, gpuc_expr element)
{
    gpuc_expr at[2];
    locate(t, b, element, at);
    gpuc_dtype type = gpuc_dtype_with_lanes(b->dtype, gpuc_tir_image_channels(b));
    return gpuc_tir_call(t->m.ctx, type, GPUC_TIR_CALL_TEXTURE2D_LOAD, NULL, b, 2, at);
}

static gpuc_expr load_element(texturer *t, const gpuc_tir_buffer *b, gpuc_expr element)
{
    gpuc_ctx *ctx = t->m.ctx;
    int channels = gpuc_tir_image_channels(b);
    int64_t number;
    gpuc_expr texel = load_texel(t, b, element);
    if (channels == 1) return texel;
    gpuc_expr which =
        gpuc_arith_simplify(t->a, gpuc_floormod_(ctx, element, gpuc_imm_int(ctx, element->dtype, channels)));
    if (gpuc_expr_is_int(which, &number)) return gpuc_tir_lane(ctx, texel, (int)number);
    gpuc_expr value = gpuc_tir_lane(ctx, texel, 0);
    for (int i = 1; i < channels; i++) {
        gpuc_expr here = gpuc_eq(ctx, which, gpuc_imm_int(ctx, which->dtype, i));
        value = gpuc_select(ctx, here, gpuc_tir_lane(ctx, texel, i), value);
    }
    return value;
}

static gpuc_expr load(texturer *t, const gpuc_tir_load_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr index = gpuc_tir_map(&t->m, n->index[0]);
    int lanes = index->dtype.lanes;
    if (lanes == 1) return load_element(t, n->buffer, index);
    if (index->kind == GPUC_EXPR_BROADCAST)
        return gpuc_tir_broadcast(ctx, load_element(t, n->buffer, gpuc_as_broadcast(index)->a), lanes);
    gpuc_expr start = gpuc_lower_contiguous(index);
    if (start && lanes == gpuc_tir_image_channels(n->buffer) && is_start(t, n->buffer, start))
        return load_texel(t, n->buffer, start);
    gpuc_expr *each = gpuc_new_array(ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++)
        each[i] = load_element(t, n->buffer, gpuc_arith_simplify(t->a, gpuc_tir_lane(ctx, index, i)));
    return gpuc_tir_vector(ctx, lanes, each);
}

static gpuc_expr texture_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    texturer *t = (texturer *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    if (e->kind == GPUC_EXPR_LOAD && is_image(gpuc_as_load(e)->buffer)) return load(t, gpuc_as_load(e));
    return gpuc_tir_map_children(m, e);
}

/* ---- Stores ------------------------------------------------------------------------------------------- */

static gpuc_stmt store_texel(texturer *t, const gpuc_tir_buffer *b, gpuc_expr start, gpuc_expr value)
{
    gpuc_expr args[3] = {NULL, NULL, value};
    locate(t, b, start, args);
    return gpuc_tir_eval(
        t->m.ctx, gpuc_tir_call(t->m.ctx, value->dtype, GPUC_TIR_CALL_TEXTURE2D_STORE, NULL, b, 3, args));
}

static void refuse_parts(texturer *t, const gpuc_tir_buffer *b)
{
    gpuc_raise(
        t->m.ctx, GPUC_UNSUPPORTED,
        "kernel '%s': it writes '%s' element by element, and an image takes whole texels: vectorize or "
        "unroll the loop over all its channels, innermost and without conditions",
        t->f->name, b->name);
}

static gpuc_stmt store(texturer *t, const gpuc_tir_store_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_tir_buffer *b = n->buffer;
    int channels = gpuc_tir_image_channels(b), lanes = n->value->dtype.lanes;
    gpuc_expr index = gpuc_tir_map(&t->m, n->index[0]), value = gpuc_tir_map(&t->m, n->value);
    gpuc_expr start = lanes == 1 ? index : gpuc_lower_contiguous(index);
    if (lanes % channels != 0 || !start || !is_start(t, b, start)) refuse_parts(t, b);
    if (lanes == channels) return store_texel(t, b, start, value);
    gpuc_expr whole = gpuc_var(ctx, "texels", value->dtype);
    gpuc_stmt all = NULL;
    for (int i = 0; i < lanes; i += channels) {
        gpuc_expr each[4], at = gpuc_add(ctx, start, gpuc_imm_int(ctx, start->dtype, i));
        for (int k = 0; k < channels; k++) each[k] = gpuc_tir_lane(ctx, whole, i + k);
        gpuc_expr texel = channels == 1 ? each[0] : gpuc_tir_vector(ctx, channels, each);
        all = gpuc_tir_seq2(ctx, all, store_texel(t, b, at, texel));
    }
    return gpuc_tir_let(ctx, whole, value, all);
}

/* The stores of one texel's elements, one after the other, as one store; NULL if no such begins at s[0]. *count is how
 * many it takes. */
static gpuc_stmt gathered(texturer *t, int n, const gpuc_stmt *s, int *count)
{
    gpuc_ctx *ctx = t->m.ctx;
    if (s[0]->kind != GPUC_STMT_STORE || !is_image(gpuc_as_store(s[0])->buffer)) return NULL;
    const gpuc_tir_buffer *image = gpuc_as_store(s[0])->buffer;
    int channels = gpuc_tir_image_channels(image), have = 0;
    gpuc_expr values[4], start = NULL;
    for (*count = 0; have < channels && *count < n; ++*count) {
        if (s[*count]->kind != GPUC_STMT_STORE || gpuc_as_store(s[*count])->buffer != image) return NULL;
        const gpuc_tir_store_node *next = gpuc_as_store(s[*count]);
        int lanes = next->value->dtype.lanes;
        gpuc_expr at = lanes == 1 ? next->index[0] : gpuc_lower_contiguous(next->index[0]);
        if (!at || have + lanes > channels) return NULL;
        if (!start) start = at;
        gpuc_expr apart = gpuc_arith_simplify(t->a, gpuc_sub(ctx, at, start));
        if (!gpuc_tir_is_const(apart, have)) return NULL;
        for (int i = 0; i < lanes; i++)
            values[have++] = lanes == 1 ? next->value : gpuc_tir_lane(ctx, next->value, i);
    }
    if (have < channels || *count == 1) return NULL;
    gpuc_expr value = gpuc_tir_vector(ctx, channels, values);
    gpuc_expr index = gpuc_tir_ramp(ctx, start, gpuc_imm_int(ctx, start->dtype, 1), channels);
    return store(t, gpuc_as_store(gpuc_tir_store1(ctx, image, index, value)));
}

static gpuc_stmt sequence(texturer *t, const gpuc_tir_seq_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_ptrs out = {0};
    for (int i = 0; i < n->n; i++) {
        int count;
        gpuc_stmt s = gathered(t, n->n - i, n->at + i, &count);
        if (s)
            i += count - 1;
        else
            s = gpuc_tir_map_stmt(&t->m, n->at[i]);
        if (s) gpuc_ptrs_push(ctx, &out, s);
    }
    return gpuc_tir_seq(ctx, (int)out.count, (const gpuc_stmt *)out.at);
}

static gpuc_stmt texture_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    texturer *t = (texturer *)m;
    if (s->kind == GPUC_STMT_STORE && is_image(gpuc_as_store(s)->buffer)) return store(t, gpuc_as_store(s));
    if (s->kind == GPUC_STMT_SEQ) return sequence(t, gpuc_as_seq(s));
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

/* ---- A kernel ----------------------------------------------------------------------------------------- */

typedef struct use {
    const gpuc_tir_buffer *buffer;
    bool read, written, otherwise;
} use;

static void note_use(const gpuc_lower_access *access, void *arg)
{
    use *u = arg;
    if (access->buffer != u->buffer) return;
    u->read |= access->read;
    u->written |= access->write;
    u->otherwise |= access->atomic || !access->index;
}

static void check_use(texturer *t, const gpuc_tir_buffer *b)
{
    use u = {.buffer = b};
    gpuc_lower_accesses(t->m.ctx, t->f->body, note_use, &u);
    if (u.otherwise || (u.read && u.written))
        gpuc_raise(
            t->m.ctx, GPUC_UNSUPPORTED,
            "kernel '%s': it reads and writes the image '%s', and a kernel can do one of the two: compute "
            "the result in a stage of cache_write, and copy it to the image",
            t->f->name, b->name);
}

gpuc_tir_func *gpuc_lower_texture_flatten(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    texturer t = {.f = f};
    bool any = false;
    gpuc_tir_mapper_init(&t.m, p->ctx, texture_expr, texture_stmt);
    for (int i = 0; i < f->num_buffers; i++) {
        if (!is_image(f->buffers[i])) continue;
        check_use(&t, f->buffers[i]);
        any = true;
    }
    if (!any) return f;
    t.a = gpuc_lower_analyzer(p->ctx, f);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
