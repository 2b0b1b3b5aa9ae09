/* SPDX-License-Identifier: Apache-2.0 */
/* Relay text: one numbered line per node of the DAG, as TVM prints it. */
#include <string.h>

#include "relay/relay.h"

typedef struct printer {
    gpuc_ctx *ctx;
    gpuc_buf *out;
    gpuc_map names; /* node -> text */
    int next, indent;
    bool first_names; /* of gpuc_op_attrs_print */
} printer;

static void print_scope(printer *p, gpuc_rexpr *body);

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
    case GPUC_REXPR_GLOBAL: gpuc_buf_printf(p->out, "@%s", gpuc_as_rglobal(e)->name); return;
    case GPUC_REXPR_OP: gpuc_buf_str(p->out, gpuc_as_rop(e)->op->name); return;
    case GPUC_REXPR_CONSTRUCTOR: gpuc_buf_str(p->out, gpuc_as_rconstructor(e)->constructor->name); return;
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
        gpuc_relay_rtype_print(p->ctx, p->out, e->type);
        gpuc_buf_str(p->out, ")");
        return;
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_LET:
    case GPUC_REXPR_FUNCTION:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_MATCH:
    case GPUC_REXPR_KIND_COUNT: break;
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
        gpuc_relay_rtype_print(p->ctx, p->out, f->params[i]->type);
    }
    if (f->attrs && f->attrs->count) {
        gpuc_buf_str(p->out, f->n ? ", " : "");
        gpuc_op_attrs_print(p->ctx, p->out, f->attrs, p->first_names);
    }
    gpuc_buf_str(p->out, ")");
    if (f->body->type) {
        gpuc_buf_str(p->out, " -> ");
        gpuc_relay_rtype_print(p->ctx, p->out, f->body->type);
    }
    print_block(p, f->body);
}

static void print_pattern(printer *p, const gpuc_rpattern *pattern)
{
    if (pattern->var) {
        gpuc_buf_printf(p->out, "%%%s", gpuc_as_rvar(pattern->var)->name);
        return;
    }
    if (!pattern->constructor && !pattern->tuple) {
        gpuc_buf_str(p->out, "_");
        return;
    }
    gpuc_buf_printf(p->out, "%s(", pattern->constructor ? pattern->constructor->name : "");
    for (int i = 0; i < pattern->n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        print_pattern(p, &pattern->at[i]);
    }
    gpuc_buf_str(p->out, ")");
}

static void print_node(printer *p, gpuc_rexpr *e)
{
    gpuc_buf *out = p->out;
    switch (e->kind) {
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: print_ref(p, e); break;
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        print_ref(p, c->callee);
        gpuc_buf_str(out, "(");
        print_list(p, c->n, c->args);
        if (c->attrs && c->attrs->count) {
            gpuc_buf_str(out, c->n ? ", " : "");
            gpuc_op_attrs_print(p->ctx, out, c->attrs, p->first_names);
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
    case GPUC_REXPR_IF:
        gpuc_buf_str(out, "if (");
        print_ref(p, gpuc_as_rif(e)->cond);
        gpuc_buf_str(out, ")");
        print_block(p, gpuc_as_rif(e)->then_branch);
        gpuc_buf_str(out, " else");
        print_block(p, gpuc_as_rif(e)->else_branch);
        break;
    case GPUC_REXPR_LET:
        gpuc_buf_str(out, "{\n");
        p->indent++;
        print_scope(p, e);
        p->indent--;
        indent(p);
        gpuc_buf_str(out, "}");
        break;
    case GPUC_REXPR_MATCH: {
        const gpuc_rmatch *m = gpuc_as_rmatch(e);
        gpuc_buf_str(out, "match (");
        print_ref(p, m->value);
        gpuc_buf_str(out, ") {\n");
        for (int i = 0; i < m->n; i++) {
            indent(p);
            print_pattern(p, &m->clauses[i].pattern);
            gpuc_buf_str(out, " =>");
            print_block(p, m->clauses[i].body);
            gpuc_buf_str(out, "\n");
        }
        indent(p);
        gpuc_buf_str(out, "}");
        break;
    }
    }
}

static bool named(const gpuc_rexpr *e)
{
    switch (e->kind) {
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_FUNCTION:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_LET:
    case GPUC_REXPR_MATCH: return true;
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return false;
}

/* Operands that are evaluated where e stands. Branches and bodies are blocks of their own. */
static gpuc_rexpr *operand(const gpuc_rexpr *e, int i)
{
    bool has_blocks = e->kind == GPUC_REXPR_IF || e->kind == GPUC_REXPR_MATCH || e->kind == GPUC_REXPR_LET;
    return has_blocks && i > 0 ? NULL : gpuc_relay_child(e, i);
}

static bool is_open(const printer *p, const gpuc_rexpr *e)
{
    return named(e) && !gpuc_map_get(&p->names, e);
}

typedef struct frame {
    gpuc_rexpr *e;
    int next;
} frame;

/* Lists what root depends on and is not yet printed, operands first. */
static void collect(printer *p, gpuc_rexpr *root, gpuc_ptrs *lines)
{
    gpuc_map seen;
    gpuc_map_init(&seen, p->ctx);
    size_t capacity = 0, depth = 0;
    frame *stack = gpuc_ctx_grow(p->ctx, NULL, 0, &capacity, sizeof *stack);
    stack[depth++] = (frame){root, 0};
    while (depth) {
        frame *top = &stack[depth - 1];
        gpuc_rexpr *c = operand(top->e, top->next++);
        if (!c) {
            if (top->e != root) gpuc_ptrs_push(p->ctx, lines, top->e);
            depth--;
        } else if (is_open(p, c) && !gpuc_map_has(&seen, c)) {
            gpuc_map_set(&seen, c, c);
            stack = gpuc_ctx_grow(p->ctx, stack, depth, &capacity, sizeof *stack);
            stack[depth++] = (frame){c, 0};
        }
    }
}

/* Each on a line of its own; added to the block's names. */
static void print_operands(printer *p, gpuc_rexpr *root, gpuc_ptrs *block)
{
    gpuc_ptrs lines = {0};
    collect(p, root, &lines);
    for (size_t i = 0; i < lines.count; i++) {
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
            gpuc_relay_rtype_print(p->ctx, p->out, e->type);
            gpuc_buf_str(p->out, " */");
        }
        gpuc_buf_str(p->out, "\n");
    }
}

static void print_value(printer *p, gpuc_rexpr *e)
{
    if (is_open(p, e))
        print_node(p, e);
    else
        print_ref(p, e);
}

/* A chain of lets is one block: it may be long. */
static void print_scope(printer *p, gpuc_rexpr *body)
{
    gpuc_ptrs block = {0};
    for (; body->kind == GPUC_REXPR_LET; body = gpuc_as_rlet(body)->body) {
        const gpuc_rlet *l = gpuc_as_rlet(body);
        if (is_open(p, l->value)) print_operands(p, l->value, &block);
        indent(p);
        gpuc_buf_str(p->out, "let ");
        print_ref(p, l->var);
        gpuc_buf_str(p->out, " = ");
        print_value(p, l->value);
        gpuc_buf_str(p->out, ";\n");
    }
    if (is_open(p, body)) print_operands(p, body, &block);
    indent(p);
    print_value(p, body);
    gpuc_buf_str(p->out, "\n");
    for (size_t i = 0; i < block.count; i++) gpuc_map_set(&p->names, block.at[i], NULL);
}

static void print_expr(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e, bool first_names)
{
    printer p = {.ctx = ctx, .out = out, .first_names = first_names};
    gpuc_map_init(&p.names, ctx);
    print_scope(&p, e);
}

void gpuc_relay_print_expr(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e)
{
    print_expr(ctx, out, e, false);
}

void gpuc_relay_print_key(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e)
{
    print_expr(ctx, out, e, true);
}

void gpuc_relay_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rmodule *m)
{
    for (uint32_t i = 0; i < m->functions.map.count; i++) {
        printer p = {.ctx = ctx, .out = out};
        gpuc_map_init(&p.names, ctx);
        const gpuc_map_entry *entry = &m->functions.map.entries[i];
        gpuc_buf_printf(out, "def @%s", (const char *)entry->key);
        print_function(&p, gpuc_as_rfunction(entry->value));
        gpuc_buf_str(out, "\n");
    }
}
