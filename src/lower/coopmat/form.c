/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cooperative matrices of a kernel, and whether the target can load and multiply them. */
#include "lower/coopmat/coopmat.h"

#include "abi/coopmat.h"

enum { SIDE = GPUC_COOPMAT_SIDE, ELEMENTS = SIDE * SIDE };

typedef struct finder {
    gpuc_tir_mapper m;
    gpuc_coopmats *c;
    gpuc_analyzer *a;
    const gpuc_target *target;
    bool found;
} finder;

static gpuc_expr index_at(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_tir_coopmat *m, gpuc_expr index,
                          int one_loop)
{
    gpuc_expr vars[3], with[3];
    for (int i = 0; i < m->num_loops; i++) {
        vars[i] = m->loop[i]->var;
        with[i] = gpuc_imm_int(ctx, vars[i]->dtype, i == one_loop);
    }
    return gpuc_arith_simplify(a, gpuc_tir_substitute(ctx, index, m->num_loops, vars, with));
}

gpuc_coopmat_place gpuc_lower_coopmat_place_of(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_tir_coopmat *m,
                                               gpuc_expr index, int row_loop, int column_loop)
{
    gpuc_coopmat_place at = {.base = index_at(a, ctx, m, index, -1)};
    const int loops[] = {row_loop, column_loop};
    for (int i = 0; i < 2; i++)
        at.step[i] = gpuc_arith_simplify(a, gpuc_sub(ctx, index_at(a, ctx, m, index, loops[i]), at.base));
    return at;
}

gpuc_expr gpuc_lower_coopmat_number(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_coopmat_place *at)
{
    return gpuc_arith_simplify(a,
                               gpuc_floordiv_(ctx, at->base, gpuc_imm_int(ctx, at->base->dtype, ELEMENTS)));
}

/* ---- Matrices ---------------------------------------------------------------------------------------- */

static gpuc_coopmat_buffer *buffer_of(finder *t, const gpuc_tir_buffer *b)
{
    gpuc_coopmat_buffer *r = gpuc_map_get(&t->c->buffers, b);
    if (r) return r;
    int64_t size = 0;
    gpuc_lower_const_size(b, &size);
    r = gpuc_new(t->c->ctx, gpuc_coopmat_buffer);
    r->count = (size + ELEMENTS - 1) / ELEMENTS;
    gpuc_map_set(&t->c->buffers, b, r);
    return r;
}

GPUC_NORETURN static void fail(const finder *t, const gpuc_tir_buffer *b, const char *what)
{
    gpuc_raise(t->c->ctx, GPUC_UNSUPPORTED, "kernel '%s': the cooperative matrices of '%s' %s", t->c->f->name,
               b->name, what);
}

static bool is_aligned(const finder *t, gpuc_expr e, int64_t to)
{
    gpuc_modular m = gpuc_arith_analyzer_modular(t->a, e);
    return m.coeff % to == 0 && m.remainder % to == 0;
}

/* Rows of a matrix and its columns; of a factor's operation they are loops of their own. */
static void note_matrix(finder *t, const gpuc_tir_coopmat *m, const gpuc_tir_buffer *b, gpuc_expr index,
                        int row_loop, int column_loop, gpuc_coopmat_use use)
{
    gpuc_coopmat_buffer *r = buffer_of(t, b);
    bool product = m->kind == GPUC_COOPMAT_MULTIPLY;
    gpuc_coopmat_place at = gpuc_lower_coopmat_place_of(t->a, t->c->ctx, m, index, row_loop, column_loop);
    bool along = gpuc_tir_is_const(at.step[0], SIDE) && gpuc_tir_is_const(at.step[1], 1),
         across = gpuc_tir_is_const(at.step[0], 1) && gpuc_tir_is_const(at.step[1], SIDE) &&
                  use != GPUC_COOPMAT_AS_SUM && product;
    if (!along && !across) fail(t, b, "do not lie row by row; lay its storage out in blocks (\"AB16a16b\")");
    if (!is_aligned(t, at.base, ELEMENTS)) fail(t, b, "do not begin where blocks of 16 x 16 do");
    if (t->c->lane && gpuc_tir_uses_var(t->c->ctx, at.base, t->c->lane))
        fail(t, b, "differ between the threads that hold them together");
    if (!product) return;
    if (r->multiplied && (r->use != use || r->transposed != across))
        fail(t, b, "are used in several ways: as another factor, transposed, or as a sum");
    r->multiplied = true;
    r->use = use;
    r->transposed = across;
}

/* ---- Does the target have it? ------------------------------------------------------------------------ */

static bool has_types(gpuc_dtype factor, gpuc_dtype sum)
{
    for (size_t i = 0; i < GPUC_COOPMAT_ROWS; i++)
        if (gpuc_dtype_equal(gpuc_coopmat_rows[i].factor, factor) &&
            gpuc_dtype_equal(gpuc_coopmat_rows[i].sum, sum))
            return true;
    return false;
}

/* Rows or columns lie side by side and start at aligned places. */
static bool is_loadable(const finder *t, const gpuc_tir_buffer *b, const gpuc_coopmat_place *at)
{
    int64_t each = GPUC_COOPMAT_ALIGN / (int64_t)gpuc_dtype_bytes(b->dtype);
    bool rows = gpuc_tir_is_const(at->step[1], 1), columns = gpuc_tir_is_const(at->step[0], 1);
    bool in_memory = b->scope == GPUC_SCOPE_SHARED ||
                     b->scope == GPUC_SCOPE_WARP || /* shared: they are no one's */
                     b->scope == GPUC_SCOPE_GLOBAL;
    if (!in_memory) return false;
    if (b->scope == GPUC_SCOPE_GLOBAL && b->dtype.bits == 16 && !t->target->storage16) return false;
    return (rows || columns) && is_aligned(t, at->base, each) && is_aligned(t, at->step[rows ? 0 : 1], each);
}

static void note_memory(finder *t, const gpuc_tir_coopmat *m, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = t->c->ctx;
    gpuc_coopmat_place at = gpuc_lower_coopmat_place_of(t->a, ctx, m, index, 0, 1);
    const gpuc_expr of[] = {at.base, at.step[0], at.step[1]};
    for (int i = 0; i < 3 && t->c->lane; i++)
        if (gpuc_tir_uses_var(ctx, of[i], t->c->lane))
            gpuc_raise(
                ctx, GPUC_UNSUPPORTED,
                "kernel '%s': the threads that hold a matrix together move it from or to different places "
                "of '%s'",
                t->c->f->name, b->name);
    if (!is_loadable(t, b, &at)) t->c->native = false;
}

static void note_operation(finder *t, const gpuc_tir_attr_node *n)
{
    gpuc_tir_coopmat m;
    const char *wrong = gpuc_tir_coopmat_of(t->c->ctx, n, &m);
    if (wrong)
        gpuc_raise(t->c->ctx, GPUC_INTERNAL, "kernel '%s': an operation on cooperative matrices %s",
                   t->c->f->name, wrong);
    for (int i = 0; i < m.num_loops; i++) {
        gpuc_arith_analyzer_bind(t->a, m.loop[i]->var, m.loop[i]->min, m.loop[i]->extent);
        if (m.extent[i] != SIDE)
            gpuc_raise(t->c->ctx, GPUC_UNSUPPORTED,
                       "kernel '%s': cooperative matrices have %d rows and columns, not %lld", t->c->f->name,
                       SIDE, (long long)m.extent[i]);
    }
    const gpuc_tir_buffer *to = m.store->buffer;
    if (m.kind == GPUC_COOPMAT_STORE)
        note_matrix(t, &m, m.load->buffer, m.load->index[0], 0, 1, GPUC_COOPMAT_AS_SUM);
    else
        note_matrix(t, &m, to, m.store->index[0], 0, 1, GPUC_COOPMAT_AS_SUM);
    if (m.kind == GPUC_COOPMAT_STORE) note_memory(t, &m, to, m.store->index[0]);
    if (m.kind == GPUC_COOPMAT_LOAD) note_memory(t, &m, m.load->buffer, m.load->index[0]);
    if (m.kind != GPUC_COOPMAT_MULTIPLY) return;
    note_matrix(t, &m, m.factor[0]->buffer, m.factor[0]->index[0], 0, 2, GPUC_COOPMAT_AS_A);
    note_matrix(t, &m, m.factor[1]->buffer, m.factor[1]->index[0], 2, 1, GPUC_COOPMAT_AS_B);
    for (int i = 0; i < 2; i++)
        if (!has_types(m.factor[i]->buffer->dtype, to->dtype)) t->c->native = false;
}

static gpuc_expr find_stray(gpuc_tir_mapper *m, gpuc_expr e)
{
    finder *t = (finder *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    if (e->kind == GPUC_EXPR_LOAD && gpuc_as_load(e)->buffer->scope == GPUC_SCOPE_COOPMAT)
        fail(t, gpuc_as_load(e)->buffer, "are read element by element");
    return gpuc_tir_map_children(m, e);
}

static gpuc_stmt find_operation(gpuc_tir_mapper *m, gpuc_stmt s)
{
    finder *t = (finder *)m;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, s);
    if (s->kind == GPUC_STMT_ALLOC && gpuc_as_alloc(s)->buffer->scope == GPUC_SCOPE_COOPMAT) {
        t->found = true;
        buffer_of(t, gpuc_as_alloc(s)->buffer);
    }
    if (s->kind == GPUC_STMT_STORE && gpuc_as_store(s)->buffer->scope == GPUC_SCOPE_COOPMAT)
        fail(t, gpuc_as_store(s)->buffer, "are written element by element");
    if (gpuc_tir_is_coopmat(s))
        note_operation(t, gpuc_as_attr(s));
    else
        gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

static void find_lanes(gpuc_coopmats *c)
{
    c->width = 1;
    for (int i = 0; i < c->f->num_threads; i++) {
        const gpuc_tir_thread *t = &c->f->threads[i];
        if (t->tag == GPUC_THREAD_X && gpuc_expr_is_int(t->extent, &c->width)) c->lane = t->var;
    }
}

const gpuc_coopmats *gpuc_lower_coopmats_find(gpuc_ctx *ctx, const gpuc_target *target,
                                              const gpuc_tir_func *f)
{
    gpuc_coopmats *c = gpuc_new(ctx, gpuc_coopmats);
    c->ctx = ctx;
    c->f = f;
    gpuc_map_init(&c->buffers, ctx);
    find_lanes(c);
    c->native = gpuc_target_has_matrices(target) && c->width == target->thread_warp_size;
    finder t = {.c = c, .a = gpuc_lower_analyzer(ctx, f), .target = target};
    gpuc_tir_mapper_init(&t.m, ctx, find_stray, find_operation);
    gpuc_tir_map_stmt(&t.m, f->body);
    return t.found ? c : NULL;
}

const gpuc_coopmat_buffer *gpuc_lower_coopmats_get(const gpuc_coopmats *c, const gpuc_tir_buffer *b)
{
    return gpuc_map_get(&c->buffers, b);
}
