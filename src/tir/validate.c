/* SPDX-License-Identifier: Apache-2.0 */
/* Validates functions, buffers and statements at a stage of lowering. */
#include "tir/validate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tir/print.h"

#define MAX_COMPLAINTS 40
#define PRESENT ((void *)1)

void gpuc_tir_complain(gpuc_tir_validator *v, const char *fmt, ...)
{
    char text[400];
    va_list args;
    if (++v->complaints > MAX_COMPLAINTS) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    gpuc_ptrs *notes = gpuc_map_get(&v->notes, v->place);
    if (!notes) {
        notes = gpuc_new(v->ctx, gpuc_ptrs);
        gpuc_map_set(&v->notes, v->place, notes);
    }
    gpuc_ptrs_push(v->ctx, notes, gpuc_ctx_strdup(v->ctx, text));
}

static void enter_var(gpuc_tir_validator *v, gpuc_expr var)
{
    if (!var || var->kind != GPUC_EXPR_VAR) {
        gpuc_tir_complain(v, "what is defined here is not a variable");
        return;
    }
    if (gpuc_map_get(&v->scope, var))
        gpuc_tir_complain(v, "the variable '%s' is defined already", gpuc_as_var(var)->name);
    gpuc_map_set(&v->scope, var, PRESENT);
}

static void enter_buffer(gpuc_tir_validator *v, const gpuc_tir_buffer *b)
{
    if (gpuc_map_get(&v->scope, b)) gpuc_tir_complain(v, "the buffer '%s' is defined already", b->name);
    gpuc_map_set(&v->scope, b, PRESENT);
}

static void leave(gpuc_tir_validator *v, const void *what)
{
    gpuc_map_set(&v->scope, what, NULL);
}

/* ---- Buffers ------------------------------------------------------------------------------------------- */

static bool is_on_chip(gpuc_scope scope)
{
    return !gpuc_scope_is_global(scope);
}

static void check_buffer(gpuc_tir_validator *v, const gpuc_tir_buffer *b)
{
    gpuc_tir_stage stage = v->func->stage;
    int64_t size;
    if (b->dtype.lanes != 1) gpuc_tir_complain(v, "'%s' has vectors as elements", b->name);
    for (int i = 0; i < b->ndim; i++) {
        gpuc_tir_validate_expr(v, b->shape[i]);
        if (b->strides) gpuc_tir_validate_expr(v, b->strides[i]);
        if (!gpuc_is_integer(b->shape[i]->dtype) || b->shape[i]->dtype.lanes != 1)
            gpuc_tir_complain(v, "dimension %d of '%s' is not an integer", i, b->name);
        if (b->shape[i]->flags & GPUC_TIR_HAS_LOAD)
            gpuc_tir_complain(v, "dimension %d of '%s' depends on memory", i, b->name);
    }
    const char *why = b->scope != GPUC_SCOPE_TEXTURE ? NULL
                      : stage == GPUC_TIR_STAGE_NESTED
                          ? gpuc_tir_not_image(b->dtype, b->ndim, b->shape)
                          : (b->image ? gpuc_tir_not_image(b->dtype, 3, b->image) : "it is of no image");
    for (int i = 0; b->image && i < 3; i++) gpuc_tir_validate_expr(v, b->image[i]);
    if (why) gpuc_tir_complain(v, "'%s' cannot be in global.texture: %s", b->name, why);
    if (stage == GPUC_TIR_STAGE_NESTED) return;
    if (b->ndim != 1) gpuc_tir_complain(v, "'%s' has %d dimensions after flattening", b->name, b->ndim);
    if (b->strides) gpuc_tir_complain(v, "'%s' has strides after flattening", b->name);
    if (is_on_chip(b->scope) && b->ndim == 1 && !gpuc_expr_is_int(b->shape[0], &size))
        gpuc_tir_complain(v, "the size of '%s' in %s memory is not a constant", b->name,
                          gpuc_scope_name(b->scope));
    if (stage == GPUC_TIR_STAGE_TARGET && b->double_buffer)
        gpuc_tir_complain(v, "'%s' still asks for a double buffer", b->name);
}

/* ---- Statements ---------------------------------------------------------------------------------------- */

static void check_stmt(gpuc_tir_validator *v, gpuc_stmt s);

static void check_body(gpuc_tir_validator *v, gpuc_stmt body)
{
    const void *place = v->place;
    if (!body)
        gpuc_tir_complain(v, "the body is missing");
    else
        check_stmt(v, body);
    v->place = place;
}

static void enter_thread(gpuc_tir_validator *v, gpuc_expr var, gpuc_thread_tag tag)
{
    if (gpuc_is_thread_tag(tag)) gpuc_map_set(&v->varies[GPUC_TIR_GROUP], var, (void *)GPUC_TIR_VARIES);
    if (tag == GPUC_THREAD_X) gpuc_map_set(&v->varies[GPUC_TIR_ROW], var, (void *)GPUC_TIR_VARIES);
}

static void check_thread_loop(gpuc_tir_validator *v, const gpuc_tir_for_node *n)
{
    const char *tag = gpuc_thread_tag_name(n->tag);
    if (n->tag <= GPUC_THREAD_NONE || n->tag >= GPUC_THREAD_TAG_COUNT) {
        gpuc_tir_complain(v, "the loop over '%s' is bound to no thread axis", gpuc_as_var(n->var)->name);
        return;
    }
    if (v->func->stage >= GPUC_TIR_STAGE_KERNEL)
        gpuc_tir_complain(v, "a loop over %s is left in a kernel", tag);
    if (v->tags[n->tag] && n->tag != GPUC_VTHREAD) gpuc_tir_complain(v, "loops over %s nest", tag);
    enter_thread(v, n->var, n->tag);
}

static void check_for(gpuc_tir_validator *v, const gpuc_tir_for_node *n)
{
    gpuc_tir_validate_expr(v, n->min);
    gpuc_tir_validate_expr(v, n->extent);
    if (!gpuc_is_integer(n->var->dtype) || !gpuc_dtype_equal(n->var->dtype, n->min->dtype) ||
        !gpuc_dtype_equal(n->var->dtype, n->extent->dtype))
        gpuc_tir_complain(v, "the loop variable has type %s, its start %s and its extent %s",
                          gpuc_tir_type_text(v->ctx, n->var->dtype),
                          gpuc_tir_type_text(v->ctx, n->min->dtype),
                          gpuc_tir_type_text(v->ctx, n->extent->dtype));
    bool bound = n->loop == GPUC_LOOP_THREAD, outer = v->tags[n->tag];
    if (bound)
        check_thread_loop(v, n);
    else if (n->tag != GPUC_THREAD_NONE)
        gpuc_tir_complain(v, "the loop has a thread axis but is not bound to it");
    if (n->loop == GPUC_LOOP_VECTORIZED && v->func->stage == GPUC_TIR_STAGE_TARGET)
        gpuc_tir_complain(v, "a vectorized loop is left");
    gpuc_tir_guard guard = {.outer = v->guard, .a = n->min, .b = n->extent};
    enter_var(v, n->var);
    v->guard = &guard;
    if (bound) v->tags[n->tag] = true;
    check_body(v, n->body);
    v->tags[n->tag] = outer;
    v->guard = guard.outer;
    leave(v, n->var);
}

/* Whether the buffer is a parameter of the function. Parameters of a kernel do not count: they may hold what
 * another kernel wrote. */
static bool is_parameter(const gpuc_tir_func *f, const gpuc_tir_buffer *b)
{
    for (int i = 0; f->stage < GPUC_TIR_STAGE_KERNEL && i < f->num_buffers; i++)
        if (f->buffers[i] == b) return true;
    return false;
}

static void check_store(gpuc_tir_validator *v, const gpuc_tir_store_node *n)
{
    for (int i = 0; i < n->n; i++) gpuc_tir_validate_expr(v, n->index[i]);
    gpuc_tir_validate_expr(v, n->value);
    gpuc_dtype t =
        gpuc_dtype_with_lanes(n->buffer->dtype, gpuc_tir_validate_access(v, n->buffer, n->n, n->index));
    if (!gpuc_dtype_equal(n->value->dtype, t))
        gpuc_tir_complain(v, "a value of type %s is stored where %s is wanted",
                          gpuc_tir_type_text(v->ctx, n->value->dtype), gpuc_tir_type_text(v->ctx, t));
    if (n->buffer->scope == GPUC_SCOPE_TEXEL && is_parameter(v->func, n->buffer))
        gpuc_tir_complain(v, "'%s' is of scope global.texel, which can only be read", n->buffer->name);
}

static void check_if(gpuc_tir_validator *v, const gpuc_tir_if_node *n)
{
    gpuc_tir_validate_expr(v, n->cond);
    if (!gpuc_dtype_equal(n->cond->dtype, GPUC_BOOL))
        gpuc_tir_complain(v, "the condition has type %s", gpuc_tir_type_text(v->ctx, n->cond->dtype));
    gpuc_tir_guard guard = {.outer = v->guard, .a = n->cond};
    v->guard = &guard;
    check_body(v, n->then_body);
    if (n->else_body) check_body(v, n->else_body);
    v->guard = guard.outer;
}

static void check_seq(gpuc_tir_validator *v, const gpuc_tir_seq_node *n)
{
    const void *place = v->place;
    for (int i = 0; i < n->n; i++) {
        if (n->at[i] && n->at[i]->kind == GPUC_STMT_SEQ)
            gpuc_tir_complain(v, "a sequence directly in a sequence");
        check_body(v, n->at[i]);
        v->place = place;
    }
}

static void check_alloc(gpuc_tir_validator *v, const gpuc_tir_alloc_node *n)
{
    const gpuc_tir_buffer *b = n->buffer;
    check_buffer(v, b);
    if (v->func->stage >= GPUC_TIR_STAGE_KERNEL && !is_on_chip(b->scope))
        gpuc_tir_complain(v, "'%s' is allocated in %s memory inside of a kernel", b->name,
                          gpuc_scope_name(b->scope));
    enter_buffer(v, b);
    check_body(v, n->body);
    leave(v, b);
}

static void check_let(gpuc_tir_validator *v, const gpuc_tir_let_node *n)
{
    gpuc_tir_validate_expr(v, n->value);
    if (!gpuc_dtype_equal(n->var->dtype, n->value->dtype))
        gpuc_tir_complain(v, "'%s' of type %s gets a value of type %s", gpuc_as_var(n->var)->name,
                          gpuc_tir_type_text(v->ctx, n->var->dtype),
                          gpuc_tir_type_text(v->ctx, n->value->dtype));
    enter_var(v, n->var);
    gpuc_map_set(&v->values, n->var, (void *)n->value);
    check_body(v, n->body);
    leave(v, n->var);
}

static void check_reducer(gpuc_tir_validator *v, const gpuc_tir_reducer *r)
{
    for (int i = 0; i < r->count; i++) {
        enter_var(v, r->lhs[i]);
        enter_var(v, r->rhs[i]);
    }
    for (int i = 0; i < r->count; i++) {
        gpuc_tir_validate_expr(v, r->result[i]);
        gpuc_tir_validate_expr(v, r->identity[i]);
        gpuc_dtype t = r->lhs[i]->dtype;
        if (!gpuc_dtype_equal(t, r->rhs[i]->dtype) || !gpuc_dtype_equal(t, r->result[i]->dtype) ||
            !gpuc_dtype_equal(t, r->identity[i]->dtype))
            gpuc_tir_complain(v, "the types of the reducer '%s' do not fit", r->name);
    }
    for (int i = 0; i < r->count; i++) {
        leave(v, r->lhs[i]);
        leave(v, r->rhs[i]);
    }
}

static bool is_key(const gpuc_tir_attr_node *n, const char *key)
{
    return strcmp(n->key, key) == 0;
}

static bool are_thread_tags(const char *text)
{
    char word[24];
    gpuc_thread_tag tag;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ",");
        if (length >= sizeof word) return false;
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (!gpuc_thread_tag_parse(word, &tag) || !gpuc_is_thread_tag(tag)) return false;
        p += length;
        if (!*p) return true;
    }
}

static void check_allreduce(gpuc_tir_validator *v, const gpuc_tir_attr_node *n)
{
    if (v->func->stage == GPUC_TIR_STAGE_TARGET) gpuc_tir_complain(v, "a cross-thread reduction is left");
    if (!n->text || !are_thread_tags(n->text))
        gpuc_tir_complain(v, "the cross-thread reduction is over no list of thread axes");
    if (!n->reducer) {
        gpuc_tir_complain(v, "the cross-thread reduction has no reducer");
        return;
    }
    gpuc_stmt s = n->body;
    if (s && s->kind == GPUC_STMT_IF && !gpuc_as_if(s)->else_body) s = gpuc_as_if(s)->then_body;
    int count = !s ? 0 : s->kind == GPUC_STMT_SEQ ? gpuc_as_seq(s)->n : 1;
    const gpuc_stmt *list = s && s->kind == GPUC_STMT_SEQ ? gpuc_as_seq(s)->at : &s;
    bool stores = count == n->reducer->count;
    for (int i = 0; i < count; i++) stores = stores && list[i] && list[i]->kind == GPUC_STMT_STORE;
    if (!stores)
        gpuc_tir_complain(v, "the body of the cross-thread reduction is not one store for each value of '%s'",
                          n->reducer->name);
}

static void check_coopmat(gpuc_tir_validator *v, const gpuc_tir_attr_node *n)
{
    gpuc_tir_coopmat m;
    const char *wrong = gpuc_tir_coopmat_of(v->ctx, n, &m);
    if (wrong) gpuc_tir_complain(v, "the operation on cooperative matrices %s", wrong);
    gpuc_expr of = gpuc_tir_divergent(v, GPUC_TIR_ROW);
    if (of)
        gpuc_tir_complain(
            v, "not all threads along x reach the operation on cooperative matrices: %s differs between them",
            gpuc_tir_short_text(v->ctx, of));
}

static void check_attr(gpuc_tir_validator *v, const gpuc_tir_attr_node *n)
{
    if (n->value) gpuc_tir_validate_expr(v, n->value);
    if (n->reducer) check_reducer(v, n->reducer);
    if (is_key(n, "allreduce")) check_allreduce(v, n);
    if (gpuc_tir_is_coopmat(&n->base)) check_coopmat(v, n);
    check_body(v, n->body);
}

static void check_stmt(gpuc_tir_validator *v, gpuc_stmt s)
{
    v->place = s;
    switch (s->kind) {
    case GPUC_STMT_FOR: check_for(v, gpuc_as_for(s)); return;
    case GPUC_STMT_STORE: check_store(v, gpuc_as_store(s)); return;
    case GPUC_STMT_IF: check_if(v, gpuc_as_if(s)); return;
    case GPUC_STMT_SEQ: check_seq(v, gpuc_as_seq(s)); return;
    case GPUC_STMT_ALLOC: check_alloc(v, gpuc_as_alloc(s)); return;
    case GPUC_STMT_LET: check_let(v, gpuc_as_let(s)); return;
    case GPUC_STMT_EVAL: gpuc_tir_validate_expr(v, gpuc_as_eval(s)->value); return;
    case GPUC_STMT_ATTR: check_attr(v, gpuc_as_attr(s)); return;
    case GPUC_STMT_KIND_COUNT: break;
    }
    gpuc_tir_complain(v, "a statement of no kind");
}

/* ---- Functions ----------------------------------------------------------------------------------------- */

static void check_params(gpuc_tir_validator *v, const gpuc_tir_func *f)
{
    for (int i = 0; i < f->num_scalars; i++) {
        enter_var(v, f->scalars[i]);
        gpuc_dtype t = f->scalars[i]->dtype;
        if (!gpuc_dtype_equal(t, GPUC_INT32) && !gpuc_dtype_equal(t, GPUC_INT64) &&
            !gpuc_dtype_equal(t, GPUC_FLOAT32))
            gpuc_tir_complain(v, "the scalar '%s' has type %s, not int32, int64 or float32",
                              gpuc_as_var(f->scalars[i])->name, gpuc_tir_type_text(v->ctx, t));
    }
    for (int i = 0; i < f->num_buffers; i++) {
        const gpuc_tir_buffer *b = f->buffers[i];
        check_buffer(v, b);
        if (is_on_chip(b->scope))
            gpuc_tir_complain(v, "the parameter '%s' is in %s memory", b->name, gpuc_scope_name(b->scope));
        enter_buffer(v, b);
    }
}

static void check_threads(gpuc_tir_validator *v, const gpuc_tir_func *f)
{
    bool seen[GPUC_THREAD_TAG_COUNT] = {false};
    if (f->num_threads && f->stage < GPUC_TIR_STAGE_KERNEL)
        gpuc_tir_complain(v, "only a kernel lists its threads");
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        bool known = gpuc_is_block_tag(t->tag) || gpuc_is_thread_tag(t->tag);
        gpuc_tir_validate_expr(v, t->extent);
        if (!known || seen[t->tag])
            gpuc_tir_complain(v, "thread %d is of %s, which %s", i,
                              t->tag < GPUC_THREAD_TAG_COUNT ? gpuc_thread_tag_name(t->tag) : "no axis",
                              known ? "another is of already" : "is not a launch dimension");
        if (known) seen[t->tag] = true;
        if (t->extent->flags & GPUC_TIR_HAS_LOAD)
            gpuc_tir_complain(v, "the extent of thread %d depends on memory", i);
        enter_thread(v, t->var, t->tag);
    }
    for (int i = 0; i < f->num_threads; i++) enter_var(v, f->threads[i].var);
}

static void init(gpuc_tir_validator *v, gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    *v = (gpuc_tir_validator){.ctx = ctx, .func = f, .place = f};
    gpuc_map_init(&v->scope, ctx);
    gpuc_map_init(&v->values, ctx);
    for (int i = 0; i < 2; i++) gpuc_map_init(&v->varies[i], ctx);
    gpuc_map_init(&v->notes, ctx);
}

static void free_text(void *buf)
{
    gpuc_buf_deinit(buf);
}

static void raise_listing(gpuc_tir_validator *v, gpuc_code code, const char *after)
{
    gpuc_tir_printer p;
    gpuc_buf buf;
    gpuc_buf_init(&buf, v->ctx->allocator);
    gpuc_ctx_push_cleanup(v->ctx, free_text, &buf);
    gpuc_tir_printer_init(&p, v->ctx, &buf, false);
    p.notes = &v->notes;
    gpuc_tir_printer_func(&p, v->func);
    gpuc_raise(v->ctx, code, "the loop IR of '%s' is not valid%s%s (%d complaint%s, marked with ^):\n%s",
               v->func->name ? v->func->name : "?", after ? " after " : "", after ? after : "", v->complaints,
               v->complaints == 1 ? "" : "s", gpuc_buf_cstr(&buf));
}

static void validate(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_code code, const char *after)
{
    gpuc_tir_validator v;
    init(&v, ctx, f);
    check_params(&v, f);
    check_threads(&v, f);
    if (f->body) check_stmt(&v, f->body);
    if (v.complaints) raise_listing(&v, code, after);
}

void gpuc_tir_validate(gpuc_ctx *ctx, const gpuc_tir_func *f, const char *after_pass)
{
    validate(ctx, f, GPUC_INTERNAL, after_pass);
}

void gpuc_tir_validate_given(gpuc_ctx *ctx, const gpuc_tir_func *f, const char *after)
{
    validate(ctx, f, GPUC_INVALID_ARGUMENT, after);
}
