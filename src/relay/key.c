/* SPDX-License-Identifier: Apache-2.0 */
/* The text by which tuning logs know a fused function, through its hash. It has a form of its own that never changes:
 * one numbered line per node, with types, and the first names of what was renamed. */
#include <string.h>

#include "relay/relay.h"

typedef struct printer {
    gpuc_ctx *ctx;
    gpuc_buf *out;
    gpuc_map names; /* node -> text */
    int next, indent;
} printer;

static void print_scope(printer *p, gpuc_rexpr *body);

/* What a fused function never has. */
#define OTHER_KINDS                                                                                          \
    case GPUC_REXPR_GLOBAL:                                                                                  \
    case GPUC_REXPR_LET:                                                                                     \
    case GPUC_REXPR_IF:                                                                                      \
    case GPUC_REXPR_MATCH:                                                                                   \
    case GPUC_REXPR_CONSTRUCTOR:                                                                             \
    case GPUC_REXPR_KIND_COUNT:

static GPUC_NORETURN void refuse(const printer *p, const gpuc_rexpr *e)
{
    gpuc_raise(p->ctx, GPUC_INTERNAL, "the key of a function with a node of kind %d", (int)e->kind);
}

static void print_type(printer *p, const gpuc_rtype *t)
{
    char name[24];
    GPUC_CHECK(t->kind == GPUC_RTYPE_TENSOR || t->kind == GPUC_RTYPE_TUPLE);
    bool tensor = t->kind == GPUC_RTYPE_TENSOR;
    int n = tensor ? t->tensor.ndim : t->n;
    gpuc_buf_str(p->out, tensor ? "Tensor[(" : "(");
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        if (!tensor)
            print_type(p, t->at[i]);
        else
            gpuc_buf_str(p->out, t->tensor.dims[i] ? gpuc_expr_text(p->ctx, t->tensor.dims[i]) : "?");
    }
    if (tensor)
        gpuc_buf_printf(p->out, "), %s]", gpuc_dtype_name(t->tensor.dtype, name));
    else
        gpuc_buf_str(p->out, n == 1 ? ",)" : ")");
}

static void print_values(printer *p, const gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = &e->type->tensor;
    int64_t n = 1, d;
    for (int i = 0; i < t->ndim; i++)
        if (gpuc_expr_is_int(t->dims[i], &d)) n *= d;
    gpuc_buf_str(p->out, t->ndim ? "[" : "");
    for (int64_t i = 0; i < n; i++)
        gpuc_buf_printf(p->out, "%s%s", i ? ", " : "", gpuc_expr_text(p->ctx, e->values[i]));
    gpuc_buf_str(p->out, t->ndim ? "]" : "");
}

static void print_ref(printer *p, gpuc_rexpr *e)
{
    const char *name = gpuc_map_get(&p->names, e);
    if (name) {
        gpuc_buf_str(p->out, name);
        return;
    }
    switch (e->kind) {
    case GPUC_REXPR_VAR: gpuc_buf_printf(p->out, "%%%s", gpuc_as_rvar(e)->name); return;
    case GPUC_REXPR_OP: gpuc_buf_str(p->out, gpuc_as_rop(e)->op->name); return;
    case GPUC_REXPR_CONSTANT:
        gpuc_buf_str(p->out, "const(");
        if (gpuc_as_rconstant(e)->data->size == gpuc_dtype_bytes(e->type->tensor.dtype))
            gpuc_buf_printf(
                p->out, "%s, ",
                gpuc_expr_text(p->ctx, gpuc_relay_const_element(p->ctx, gpuc_as_rconstant(e), 0)));
        else if (e->values) {
            print_values(p, e);
            gpuc_buf_str(p->out, ", ");
        }
        print_type(p, e->type);
        gpuc_buf_str(p->out, ")");
        return;
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_FUNCTION:
        break;
        OTHER_KINDS
        refuse(p, e);
    }
    gpuc_buf_printf(p->out, "<%u>", e->id);
}

static void print_list(printer *p, int n, gpuc_rexpr *const *at)
{
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        print_ref(p, at[i]);
    }
}

static void indent(printer *p)
{
    gpuc_buf_printf(p->out, "%*s", p->indent * 2, "");
}

static void print_block(printer *p, gpuc_rexpr *body)
{
    gpuc_buf_str(p->out, " {\n");
    p->indent++;
    print_scope(p, body);
    p->indent--;
    indent(p);
    gpuc_buf_str(p->out, "}");
}

static void print_function(printer *p, const gpuc_rfunction *f)
{
    gpuc_buf_str(p->out, "(");
    for (int i = 0; i < f->n; i++) {
        gpuc_buf_printf(p->out, "%s%%%s: ", i ? ", " : "", gpuc_as_rvar(f->params[i])->name);
        print_type(p, f->params[i]->type);
    }
    if (f->attrs && f->attrs->count) {
        gpuc_buf_str(p->out, f->n ? ", " : "");
        gpuc_op_attrs_print(p->ctx, p->out, f->attrs, true);
    }
    gpuc_buf_str(p->out, ")");
    if (f->body->type) {
        gpuc_buf_str(p->out, " -> ");
        print_type(p, f->body->type);
    }
    print_block(p, f->body);
}

static void print_node(printer *p, gpuc_rexpr *e)
{
    gpuc_buf *out = p->out;
    switch (e->kind) {
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP: print_ref(p, e); break;
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        print_ref(p, c->callee);
        gpuc_buf_str(out, "(");
        print_list(p, c->n, c->args);
        if (c->attrs && c->attrs->count) {
            gpuc_buf_str(out, c->n ? ", " : "");
            gpuc_op_attrs_print(p->ctx, out, c->attrs, true);
        }
        gpuc_buf_str(out, ")");
        break;
    }
    case GPUC_REXPR_TUPLE:
        gpuc_buf_str(out, "(");
        print_list(p, gpuc_as_rtuple(e)->n, gpuc_as_rtuple(e)->fields);
        gpuc_buf_str(out, gpuc_as_rtuple(e)->n == 1 ? ",)" : ")");
        break;
    case GPUC_REXPR_GET:
        print_ref(p, gpuc_as_rget(e)->tuple);
        gpuc_buf_printf(out, ".%d", gpuc_as_rget(e)->index);
        break;
    case GPUC_REXPR_FUNCTION:
        gpuc_buf_str(out, "fn ");
        print_function(p, gpuc_as_rfunction(e));
        break;
        OTHER_KINDS
        refuse(p, e);
    }
}

static bool named(const gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_CALL || e->kind == GPUC_REXPR_TUPLE || e->kind == GPUC_REXPR_GET ||
           e->kind == GPUC_REXPR_FUNCTION;
}

static bool is_open(const gpuc_rexpr *e, void *p)
{
    return named(e) && !gpuc_map_get(&((printer *)p)->names, e);
}

static gpuc_rexpr *operand(const gpuc_rexpr *e, int i, void *arg)
{
    (void)arg;
    return gpuc_relay_child(e, i);
}

/* Each on a line of its own; added to the block's names. */
static void print_operands(printer *p, gpuc_rexpr *root, gpuc_ptrs *block)
{
    gpuc_ptrs lines = {0};
    gpuc_relay_walk_post_order(p->ctx, root, &(gpuc_relay_walk){operand, is_open, p}, &lines);
    for (size_t i = 0; i + 1 < lines.count; i++) { /* the last is root */
        gpuc_rexpr *e = lines.at[i];
        indent(p);
        char *name = gpuc_ctx_printf(p->ctx, "%%%d", p->next++);
        gpuc_buf_printf(p->out, "%s = ", name);
        print_node(p, e);
        gpuc_map_set(&p->names, e, name);
        gpuc_ptrs_push(p->ctx, block, e);
        gpuc_buf_str(p->out, ";");
        if (e->type && e->kind != GPUC_REXPR_FUNCTION) {
            gpuc_buf_str(p->out, " /* ");
            print_type(p, e->type);
            gpuc_buf_str(p->out, " */");
        }
        gpuc_buf_str(p->out, "\n");
    }
}

static void print_value(printer *p, gpuc_rexpr *e)
{
    if (is_open(e, p))
        print_node(p, e);
    else
        print_ref(p, e);
}

static void print_scope(printer *p, gpuc_rexpr *body)
{
    gpuc_ptrs block = {0};
    if (is_open(body, p)) print_operands(p, body, &block);
    indent(p);
    print_value(p, body);
    gpuc_buf_str(p->out, "\n");
    for (size_t i = 0; i < block.count; i++) gpuc_map_set(&p->names, block.at[i], NULL);
}

void gpuc_relay_print_key(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e)
{
    printer p = {.ctx = ctx, .out = out};
    gpuc_map_init(&p.names, ctx);
    print_scope(&p, e);
}
