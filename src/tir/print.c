/* SPDX-License-Identifier: Apache-2.0 */
/* Prints loop IR as text that the parser reads back. */
#include "tir/intern.h"
#include "tir/print.h"

#include <string.h>

#include "tir/ops.h"

#define ALIAS_ABOVE 500 /* a statement with more nodes than this abbreviates what it shares */
#define ALIAS_SIZE 8    /* if it has at least so many nodes */

const char *const gpuc_tir_stage_names[4] = {
    [GPUC_TIR_STAGE_NESTED] = "nested",
    [GPUC_TIR_STAGE_FLAT] = "flat",
    [GPUC_TIR_STAGE_KERNEL] = "kernel",
    [GPUC_TIR_STAGE_TARGET] = "target",
};
const char *const gpuc_tir_loop_names[GPUC_LOOP_KIND_COUNT] = {
    [GPUC_LOOP_SERIAL] = "serial",         [GPUC_LOOP_PARALLEL] = "parallel",
    [GPUC_LOOP_VECTORIZED] = "vectorized", [GPUC_LOOP_UNROLLED] = "unrolled",
    [GPUC_LOOP_THREAD] = "bind",
};

void gpuc_tir_printer_init(gpuc_tir_printer *p, gpuc_ctx *ctx, gpuc_buf *out, bool canonical)
{
    *p = (gpuc_tir_printer){.ctx = ctx, .out = out};
    gpuc_tir_names_init(&p->names, ctx, canonical);
    gpuc_map_init(&p->aliases, ctx);
}

static void print_indent(gpuc_tir_printer *p)
{
    static const char spaces[] = "                                                                ";
    int n = p->indent * 2;
    gpuc_buf_bytes(p->out, spaces, (size_t)(n < 64 ? n : 64));
}

/* ---- Abbreviations ------------------------------------------------------------------------------------ */

/* The expressions of a statement itself, not of those inside it. */
typedef struct own_exprs {
    gpuc_expr at[2];
    const gpuc_expr *list;
    int n, list_n;
} own_exprs;

static own_exprs own_exprs_of(gpuc_stmt s)
{
    own_exprs own = {.n = 0};
    switch (s->kind) {
    case GPUC_STMT_FOR:
        own.at[own.n++] = gpuc_as_for(s)->min;
        own.at[own.n++] = gpuc_as_for(s)->extent;
        break;
    case GPUC_STMT_STORE:
        own.list = gpuc_as_store(s)->index;
        own.list_n = gpuc_as_store(s)->n;
        own.at[own.n++] = gpuc_as_store(s)->value;
        break;
    case GPUC_STMT_IF: own.at[own.n++] = gpuc_as_if(s)->cond; break;
    case GPUC_STMT_LET: own.at[own.n++] = gpuc_as_let(s)->value; break;
    case GPUC_STMT_EVAL: own.at[own.n++] = gpuc_as_eval(s)->value; break;
    case GPUC_STMT_ATTR:
        if (gpuc_as_attr(s)->value) own.at[own.n++] = gpuc_as_attr(s)->value;
        break;
    case GPUC_STMT_ALLOC:
        own.list = gpuc_as_alloc(s)->buffer->shape;
        own.list_n = gpuc_as_alloc(s)->buffer->ndim;
        break;
    case GPUC_STMT_SEQ:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return own;
}

static bool needs_aliases(const own_exprs *own)
{
    uint64_t size = 0;
    for (int i = 0; i < own->n; i++) size += own->at[i]->size;
    for (int i = 0; i < own->list_n; i++) size += own->list[i]->size;
    return size > ALIAS_ABOVE;
}

typedef struct alias_search {
    gpuc_ctx *ctx;
    gpuc_map seen;    /* expr -> times reached */
    gpuc_ptrs shared; /* inner ones first */
} alias_search;

static void count_uses(alias_search *a, gpuc_expr e)
{
    if (e->size < ALIAS_SIZE) return;
    uintptr_t times = (uintptr_t)gpuc_map_get(&a->seen, e);
    gpuc_map_set(&a->seen, e, (void *)(times + 1));
    if (times) return;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(a->ctx, e, &operands);
    for (int i = 0; i < operands.n; i++) count_uses(a, operands.at[i]);
    gpuc_ptrs_push(a->ctx, &a->shared, e);
}

static void print_aliases(gpuc_tir_printer *p, const own_exprs *own)
{
    alias_search a = {.ctx = p->ctx};
    gpuc_map_init(&a.seen, p->ctx);
    for (int i = 0; i < own->list_n; i++) count_uses(&a, own->list[i]);
    for (int i = 0; i < own->n; i++) count_uses(&a, own->at[i]);
    gpuc_map_init(&p->aliases, p->ctx);
    uintptr_t number = 0;
    for (size_t i = 0; i < a.shared.count; i++) {
        gpuc_expr e = a.shared.at[i];
        if ((uintptr_t)gpuc_map_get(&a.seen, e) < 2) continue;
        gpuc_buf_printf(p->out, "%%%u = ", (unsigned)++number);
        gpuc_tir_printer_expr(p, e, 0, false);
        gpuc_buf_str(p->out, "\n");
        print_indent(p);
        gpuc_map_set(&p->aliases, e, (void *)number);
        p->has_aliases = true;
    }
}

/* ---- Statements --------------------------------------------------------------------------------------- */

static void print_notes(gpuc_tir_printer *p, const void *of)
{
    const gpuc_ptrs *notes = p->notes ? gpuc_map_get(p->notes, of) : NULL;
    if (!notes) return;
    for (size_t i = 0; i < notes->count; i++) {
        print_indent(p);
        gpuc_buf_printf(p->out, "# ^ %s\n", (const char *)notes->at[i]);
    }
}

static void print_numbers(gpuc_tir_printer *p, const char *word, int n, const gpuc_expr *numbers)
{
    if (!numbers) return;
    gpuc_buf_printf(p->out, " %s(", word);
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        gpuc_tir_printer_expr(p, numbers[i], 0, false);
    }
    gpuc_buf_str(p->out, ")");
}

static void print_buffer_type(gpuc_tir_printer *p, const gpuc_tir_buffer *b)
{
    char name[24];
    gpuc_buf_printf(p->out, ": %s[", gpuc_dtype_name(b->dtype, name));
    for (int i = 0; i < b->ndim; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        gpuc_tir_printer_expr(p, b->shape[i], 0, false);
    }
    gpuc_buf_printf(p->out, "] %s", gpuc_scope_name(b->scope));
    print_numbers(p, "strides", b->ndim, b->strides);
    print_numbers(p, "image", 3, b->image);
    if (b->double_buffer) gpuc_buf_str(p->out, " double_buffer");
    if (b->non_temporal) gpuc_buf_str(p->out, " non_temporal");
    if (b->require_scope) gpuc_buf_str(p->out, " require_scope");
}

static void print_range(gpuc_tir_printer *p, gpuc_expr min, gpuc_expr extent)
{
    if (gpuc_tir_is_const(min, 0)) {
        gpuc_buf_str(p->out, "0..");
    } else {
        gpuc_tir_printer_expr(p, min, 0, true);
        gpuc_buf_str(p->out, "..+");
    }
    gpuc_tir_printer_expr(p, extent, 0, true);
}

static void print_typed_vars(gpuc_tir_printer *p, int n, const gpuc_expr *vars)
{
    char type[24];
    for (int i = 0; i < n; i++)
        gpuc_buf_printf(p->out, "%s%s: %s", i ? ", " : "", gpuc_tir_names_enter_var(&p->names, vars[i]),
                        gpuc_dtype_name(vars[i]->dtype, type));
}

static void print_exprs(gpuc_tir_printer *p, int n, const gpuc_expr *list)
{
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        gpuc_tir_printer_expr(p, list[i], 0, false);
    }
}

/* Reducers of the standard set are named; others are written out. */
static void print_reducer(gpuc_tir_printer *p, const gpuc_tir_reducer *r)
{
    char type[24];
    gpuc_buf_printf(p->out, " with %s", gpuc_tir_identifier(p->ctx, r->name));
    gpuc_dtype t = r->count ? r->lhs[0]->dtype : GPUC_INT32;
    const char *key = gpuc_ctx_printf(p->ctx, "%s %s", r->name, gpuc_dtype_name(t, type));
    if (gpuc_strmap_get(&gpuc_tir_state_get(p->ctx)->reducers, key) == r) {
        gpuc_buf_printf(p->out, " %s", type);
        return;
    }
    gpuc_buf_str(p->out, "(");
    print_typed_vars(p, r->count, r->lhs);
    gpuc_buf_str(p->out, "; ");
    print_typed_vars(p, r->count, r->rhs);
    gpuc_buf_str(p->out, "; ");
    print_exprs(p, r->count, r->result);
    gpuc_buf_str(p->out, "; ");
    print_exprs(p, r->count, r->identity);
    gpuc_buf_str(p->out, ")");
    for (int i = 0; i < r->count; i++) {
        gpuc_tir_names_leave(&p->names, r->lhs[i]);
        gpuc_tir_names_leave(&p->names, r->rhs[i]);
    }
}

static void print_stmt(gpuc_tir_printer *p, gpuc_stmt s);

static void print_block(gpuc_tir_printer *p, gpuc_stmt opener, gpuc_stmt body)
{
    gpuc_buf_str(p->out, "{\n");
    p->has_aliases = false;
    p->indent++;
    print_notes(p, opener);
    if (body) gpuc_tir_printer_stmt(p, body);
    p->indent--;
    print_indent(p);
    gpuc_buf_str(p->out, "}");
}

static void print_for(gpuc_tir_printer *p, gpuc_stmt s)
{
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    char type[24];
    gpuc_buf_printf(p->out, "for %s", gpuc_tir_names_enter_var(&p->names, n->var));
    if (!gpuc_dtype_equal(n->var->dtype, GPUC_INDEX))
        gpuc_buf_printf(p->out, ": %s", gpuc_dtype_name(n->var->dtype, type));
    gpuc_buf_str(p->out, " in ");
    print_range(p, n->min, n->extent);
    gpuc_buf_str(p->out, " ");
    if (n->loop == GPUC_LOOP_THREAD)
        gpuc_buf_printf(p->out, "bind %s ", gpuc_thread_tag_name(n->tag));
    else if (n->loop != GPUC_LOOP_SERIAL)
        gpuc_buf_printf(p->out, "%s ", gpuc_tir_loop_names[n->loop]);
    print_block(p, s, n->body);
    gpuc_buf_str(p->out, "\n");
    gpuc_tir_names_leave(&p->names, n->var);
}

static void print_if(gpuc_tir_printer *p, gpuc_stmt s)
{
    for (;;) {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        gpuc_buf_str(p->out, "if (");
        gpuc_tir_printer_expr(p, n->cond, 0, false);
        gpuc_buf_str(p->out, ") ");
        print_block(p, s, n->then_body);
        if (!n->else_body) break;
        gpuc_buf_str(p->out, " else ");
        own_exprs own = own_exprs_of(n->else_body);
        if (n->else_body->kind != GPUC_STMT_IF || needs_aliases(&own)) {
            print_block(p, NULL, n->else_body);
            break;
        }
        s = n->else_body;
    }
    gpuc_buf_str(p->out, "\n");
}

static void print_store(gpuc_tir_printer *p, const gpuc_tir_store_node *n)
{
    gpuc_buf_printf(p->out, "%s[", gpuc_tir_names_buffer(&p->names, n->buffer));
    print_exprs(p, n->n, n->index);
    gpuc_buf_str(p->out, "] = ");
    gpuc_tir_printer_expr(p, n->value, 0, true);
    gpuc_buf_str(p->out, "\n");
}

static void print_attr(gpuc_tir_printer *p, gpuc_stmt s)
{
    const gpuc_tir_attr_node *n = gpuc_as_attr(s);
    gpuc_buf_printf(p->out, "attr %s", gpuc_tir_identifier(p->ctx, n->key));
    if (n->text) {
        gpuc_buf_str(p->out, " ");
        gpuc_tir_print_string(p->out, n->text);
    }
    if (n->value) {
        gpuc_buf_str(p->out, " = ");
        gpuc_tir_printer_expr(p, n->value, 0, false);
    }
    if (n->reducer) print_reducer(p, n->reducer);
    gpuc_buf_str(p->out, " ");
    print_block(p, s, n->body);
    gpuc_buf_str(p->out, "\n");
}

static void print_own(gpuc_tir_printer *p, gpuc_stmt s)
{
    switch (s->kind) {
    case GPUC_STMT_FOR: print_for(p, s); return;
    case GPUC_STMT_STORE: print_store(p, gpuc_as_store(s)); break;
    case GPUC_STMT_IF: print_if(p, s); return;
    case GPUC_STMT_ALLOC:
        gpuc_buf_printf(p->out, "alloc %s", gpuc_tir_names_enter_buffer(&p->names, gpuc_as_alloc(s)->buffer));
        print_buffer_type(p, gpuc_as_alloc(s)->buffer);
        gpuc_buf_str(p->out, "\n");
        break;
    case GPUC_STMT_LET:
        gpuc_buf_printf(p->out, "let %s = ", gpuc_tir_names_enter_var(&p->names, gpuc_as_let(s)->var));
        gpuc_tir_printer_expr(p, gpuc_as_let(s)->value, 0, false);
        gpuc_buf_str(p->out, "\n");
        break;
    case GPUC_STMT_EVAL:
        gpuc_tir_printer_expr(p, gpuc_as_eval(s)->value, 0, false);
        gpuc_buf_str(p->out, "\n");
        break;
    case GPUC_STMT_ATTR: print_attr(p, s); return;
    case GPUC_STMT_SEQ:
    case GPUC_STMT_KIND_COUNT: return;
    }
    print_notes(p, s);
}

static void print_stmt(gpuc_tir_printer *p, gpuc_stmt s)
{
    own_exprs own = own_exprs_of(s);
    print_indent(p);
    p->has_aliases = false;
    if (needs_aliases(&own)) print_aliases(p, &own);
    print_own(p, s);
    p->has_aliases = false;
}

/* The body of a let or alloc follows it at the same level; SEQ gives its last place to one. */
static bool opens_scope(gpuc_stmt s)
{
    return s->kind == GPUC_STMT_LET || s->kind == GPUC_STMT_ALLOC;
}

static void print_braced(gpuc_tir_printer *p, gpuc_stmt s)
{
    print_indent(p);
    print_block(p, NULL, s);
    gpuc_buf_str(p->out, "\n");
}

void gpuc_tir_printer_stmt(gpuc_tir_printer *p, gpuc_stmt s)
{
    gpuc_ptrs opened = {0};
    while (s) {
        if (opens_scope(s)) {
            print_stmt(p, s);
            bool let = s->kind == GPUC_STMT_LET;
            gpuc_ptrs_push(p->ctx, &opened,
                           let ? (const void *)gpuc_as_let(s)->var : gpuc_as_alloc(s)->buffer);
            s = let ? gpuc_as_let(s)->body : gpuc_as_alloc(s)->body;
        } else if (s->kind == GPUC_STMT_SEQ) {
            const gpuc_tir_seq_node *n = gpuc_as_seq(s);
            for (int i = 0; i < n->n - 1; i++) {
                if (opens_scope(n->at[i]))
                    print_braced(p, n->at[i]);
                else
                    print_stmt(p, n->at[i]);
            }
            s = n->at[n->n - 1];
        } else {
            print_stmt(p, s);
            s = NULL;
        }
    }
    while (opened.count) gpuc_tir_names_leave(&p->names, opened.at[--opened.count]);
}

/* ---- Functions ---------------------------------------------------------------------------------------- */

static void enter_params(gpuc_tir_printer *p, const gpuc_tir_func *f)
{
    for (int i = 0; i < f->num_buffers; i++) gpuc_tir_names_enter_buffer(&p->names, f->buffers[i]);
    for (int i = 0; i < f->num_scalars; i++) gpuc_tir_names_enter_var(&p->names, f->scalars[i]);
    for (int i = 0; i < f->num_threads; i++) gpuc_tir_names_enter_var(&p->names, f->threads[i].var);
}

static void print_threads(gpuc_tir_printer *p, const gpuc_tir_func *f)
{
    char type[24];
    gpuc_buf_str(p->out, " launch (");
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        gpuc_buf_printf(p->out, "%s%s", i ? ", " : "", gpuc_tir_names_var(&p->names, t->var));
        if (!gpuc_dtype_equal(t->var->dtype, GPUC_INDEX))
            gpuc_buf_printf(p->out, ": %s", gpuc_dtype_name(t->var->dtype, type));
        gpuc_buf_printf(p->out, " = %s of ", gpuc_thread_tag_name(t->tag));
        gpuc_tir_printer_expr(p, t->extent, 0, false);
    }
    gpuc_buf_str(p->out, ")");
}

void gpuc_tir_printer_func(gpuc_tir_printer *p, const gpuc_tir_func *f)
{
    char type[24];
    bool canonical = p->names.canonical;
    enter_params(p, f);
    gpuc_buf_printf(p->out, "func %s(",
                    canonical ? "f" : gpuc_tir_identifier(p->ctx, f->name ? f->name : "f"));
    for (int i = 0; i < f->num_buffers; i++) {
        gpuc_buf_printf(p->out, "%s%s", i ? ", " : "", gpuc_tir_names_buffer(&p->names, f->buffers[i]));
        print_buffer_type(p, f->buffers[i]);
    }
    for (int i = 0; i < f->num_scalars; i++)
        gpuc_buf_printf(p->out, "%s%s: %s", i || f->num_buffers ? ", " : "",
                        gpuc_tir_names_var(&p->names, f->scalars[i]),
                        gpuc_dtype_name(f->scalars[i]->dtype, type));
    gpuc_buf_str(p->out, ")");
    if (f->label && !canonical) {
        gpuc_buf_str(p->out, " label ");
        gpuc_tir_print_string(p->out, f->label);
    }
    if (f->stage != GPUC_TIR_STAGE_NESTED)
        gpuc_buf_printf(p->out, " stage %s", gpuc_tir_stage_names[f->stage]);
    if (f->aliased) gpuc_buf_str(p->out, " aliased");
    if (f->subgroup_size) gpuc_buf_printf(p->out, " subgroup %u", f->subgroup_size);
    if (f->num_threads) print_threads(p, f);
    gpuc_buf_str(p->out, " ");
    gpuc_buf_str(p->out, "{\n");
    p->indent++;
    print_notes(p, f);
    if (f->body) gpuc_tir_printer_stmt(p, f->body);
    p->indent--;
    gpuc_buf_str(p->out, "}\n");
}

void gpuc_tir_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_tir_func *f)
{
    gpuc_tir_printer p;
    gpuc_tir_printer_init(&p, ctx, out, false);
    gpuc_tir_printer_func(&p, f);
}

void gpuc_tir_print_canonical(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_tir_func *f)
{
    gpuc_tir_printer p;
    gpuc_tir_printer_init(&p, ctx, out, true);
    gpuc_tir_printer_func(&p, f);
}

void gpuc_tir_print_stmt(gpuc_ctx *ctx, gpuc_buf *out, gpuc_stmt s)
{
    gpuc_tir_printer p;
    gpuc_tir_printer_init(&p, ctx, out, false);
    if (s) gpuc_tir_printer_stmt(&p, s);
}

void gpuc_tir_print_expr(gpuc_ctx *ctx, gpuc_buf *out, gpuc_expr e)
{
    gpuc_tir_printer p;
    gpuc_tir_printer_init(&p, ctx, out, false);
    own_exprs own = {.at = {e}, .n = 1};
    if (needs_aliases(&own)) print_aliases(&p, &own);
    gpuc_tir_printer_expr(&p, e, 0, false);
}

/* ---- As strings --------------------------------------------------------------------------------------- */

static void free_text(void *buf)
{
    gpuc_buf_deinit(buf);
}

static const char *take_text(gpuc_ctx *ctx, gpuc_buf *buf)
{
    GPUC_RAISE_IF(ctx, gpuc_buf_status(buf));
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(buf));
    gpuc_ctx_pop_cleanup(ctx, true);
    return text;
}

static void open_text(gpuc_ctx *ctx, gpuc_buf *buf)
{
    gpuc_buf_init(buf, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_text, buf);
}

const char *gpuc_expr_text(gpuc_ctx *ctx, gpuc_expr e)
{
    gpuc_buf buf;
    gpuc_tir_need(ctx, e, "gpuc_expr_text");
    open_text(ctx, &buf);
    gpuc_tir_print_expr(ctx, &buf, e);
    return take_text(ctx, &buf);
}

const char *gpuc_tir_text(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    gpuc_buf buf;
    if (!f) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "gpuc_tir_text: the function is NULL");
    open_text(ctx, &buf);
    gpuc_tir_print(ctx, &buf, f);
    return take_text(ctx, &buf);
}
