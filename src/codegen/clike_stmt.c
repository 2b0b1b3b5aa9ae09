/* SPDX-License-Identifier: Apache-2.0 */
/* Prints statements as C or OpenCL C. */
#include <inttypes.h>

#include "codegen/clike.h"

void gpuc_clike_line(gpuc_clike *p)
{
    for (int i = 0; i < p->indent; i++) gpuc_buf_str(&p->out, "    ");
}

/* x of a store "A[i] = A[i] op x", where the language's "op=" means just that. */
static gpuc_expr updates(gpuc_clike *p, const gpuc_tir_store_node *n, const char **op)
{
    if (n->value->kind != GPUC_EXPR_OP) return NULL;
    const gpuc_tir_opexpr_node *v = gpuc_as_op(n->value);
    gpuc_dtype t = n->value->dtype;
    bool plain = t.bits >= 32 && (gpuc_is_float(t) || t.code == GPUC_DTYPE_UINT);
    *op = v->op == GPUC_TIR_ADD ? "+=" : v->op == GPUC_TIR_SUB ? "-=" : v->op == GPUC_TIR_MUL ? "*=" : NULL;
    if (!plain || !*op) return NULL;
    gpuc_expr self = gpuc_tir_load1(p->ctx, n->buffer, n->index[0]);
    if (v->a[0] == self) return v->a[1];
    return v->a[1] == self && v->op != GPUC_TIR_SUB ? v->a[0] : NULL;
}

/* " = value" of a store whose place was printed, or " += x" where that means the same. */
static void assign(gpuc_clike *p, const gpuc_tir_store_node *n)
{
    const char *op;
    gpuc_expr more = updates(p, n, &op);
    gpuc_put(p, " %s ", more ? op : "=");
    if (more)
        gpuc_clike_operand(p, more, GPUC_PREC_ASSIGN);
    else
        gpuc_clike_expr(p, n->value, GPUC_PREC_ASSIGN);
}

bool gpuc_clike_store(gpuc_clike *p, const gpuc_tir_store_node *n)
{
    if (n->value->dtype.lanes == 1)
        gpuc_clike_element(p, n->buffer, n->index[0]);
    else if (!gpuc_clike_vector_element(p, n->buffer, n->index[0]))
        return false;
    assign(p, n);
    return true;
}

void gpuc_clike_declare(gpuc_clike *p, const gpuc_tir_buffer *b)
{
    const gpuc_clike_buffer *plan = gpuc_clike_buffer_of(p, b);
    int64_t n = gpuc_codegen_elements(p->ctx, b);
    if (plan->vec > 1)
        p->lang->type(p, gpuc_dtype_with_lanes(b->dtype, plan->vec));
    else
        p->lang->element(p, b->dtype);
    gpuc_put(p, " %s", gpuc_clike_buf(p, b));
    if (!plan->variable) gpuc_put(p, "[%" PRId64 "]", n > plan->vec ? n / plan->vec : 1);
}

/* Whether a statement is one line that reads well without braces. */
static bool is_simple(gpuc_stmt s)
{
    switch (s->kind) {
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL: return true;
    case GPUC_STMT_ATTR: return is_simple(gpuc_as_attr(s)->body);
    case GPUC_STMT_FOR:
    case GPUC_STMT_IF:
    case GPUC_STMT_SEQ:
    case GPUC_STMT_ALLOC:
    case GPUC_STMT_LET:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return false;
}

void gpuc_clike_block(gpuc_clike *p, gpuc_stmt s)
{
    gpuc_put(p, " {\n");
    p->indent++;
    gpuc_clike_stmt(p, s);
    p->indent--;
    gpuc_clike_line(p);
    gpuc_put(p, "}");
}

/* The body of a loop or branch; ends its line unless else follows a block. */
static void print_body(gpuc_clike *p, gpuc_stmt s, bool braces, bool more)
{
    size_t mark = gpuc_arith_analyzer_mark(p->analyzer);
    if (braces) {
        gpuc_clike_block(p, s);
        gpuc_put(p, more ? " " : "\n");
    } else {
        gpuc_put(p, "\n");
        p->indent++;
        gpuc_clike_stmt(p, s);
        p->indent--;
        if (more) gpuc_clike_line(p);
    }
    gpuc_arith_analyzer_rewind(p->analyzer, mark);
}

static void print_plain(gpuc_clike *p, gpuc_expr e, int prec)
{
    int64_t v;
    if (gpuc_expr_is_int(e, &v) && v > INT32_MIN && v <= INT32_MAX)
        gpuc_put(p, "%d", (int)v);
    else
        gpuc_clike_expr(p, e, prec);
}

void gpuc_clike_for_head(gpuc_clike *p, const gpuc_tir_for_node *n, const char *begin, const char *end)
{
    const char *name = gpuc_clike_var(p, n->var);
    gpuc_put(p, "for (");
    p->lang->type(p, n->var->dtype);
    gpuc_put(p, " %s = ", name);
    if (begin)
        gpuc_put(p, "%s", begin);
    else
        print_plain(p, n->min, GPUC_PREC_ASSIGN);
    gpuc_put(p, "; %s < ", name);
    if (end)
        gpuc_put(p, "%s", end);
    else
        print_plain(p, gpuc_arith_simplify(p->analyzer, gpuc_add(p->ctx, n->min, n->extent)),
                    GPUC_PREC_REL + 1);
    gpuc_put(p, "; %s++)", name);
    gpuc_arith_analyzer_bind(p->analyzer, n->var, n->min, n->extent);
}

static void print_for(gpuc_clike *p, gpuc_stmt s)
{
    if (p->lang->loop(p, s)) return;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    size_t mark = gpuc_arith_analyzer_mark(p->analyzer);
    const char *end = NULL;
    if (n->extent->flags & GPUC_TIR_HAS_LOAD || n->min->flags & GPUC_TIR_HAS_LOAD) {
        /* The bounds are evaluated once, before the body may store to what they read. */
        end = gpuc_clike_name(p, n, "end");
        gpuc_clike_line(p);
        gpuc_put(p, "const ");
        p->lang->type(p, n->var->dtype);
        gpuc_put(p, " %s = ", end);
        gpuc_clike_expr(p, gpuc_add(p->ctx, n->min, n->extent), GPUC_PREC_ASSIGN);
        gpuc_put(p, ";\n");
    }
    gpuc_map_set(&p->declared, n->var, p);
    gpuc_clike_line(p);
    gpuc_clike_for_head(p, n, NULL, end);
    print_body(p, n->body, !is_simple(n->body), false);
    gpuc_arith_analyzer_rewind(p->analyzer, mark);
}

/* Whether no branch of an if, else if, else needs braces: all get them or none. */
static bool is_simple_chain(const gpuc_tir_if_node *n)
{
    if (!is_simple(n->then_body)) return false;
    if (!n->else_body || is_simple(n->else_body)) return true;
    return n->else_body->kind == GPUC_STMT_IF && is_simple_chain(gpuc_as_if(n->else_body));
}

static void print_if(gpuc_clike *p, const gpuc_tir_if_node *n, bool braces)
{
    gpuc_put(p, "if (");
    gpuc_clike_expr(p, n->cond, GPUC_PREC_COMMA);
    gpuc_put(p, ")");
    size_t mark = gpuc_arith_analyzer_assume(p->analyzer, n->cond);
    print_body(p, n->then_body, braces, n->else_body != NULL);
    gpuc_arith_analyzer_rewind(p->analyzer, mark);
    if (!n->else_body) return;
    gpuc_put(p, "else");
    if (n->else_body->kind == GPUC_STMT_IF) {
        gpuc_put(p, " ");
        print_if(p, gpuc_as_if(n->else_body), braces);
        return;
    }
    print_body(p, n->else_body, braces, false);
}

/* Storage and names belong to what follows. The first declaration of a thing in the function may stand
 * as it is; a second one (a copy that unrolling made) gets a block of its own. */
static bool begin_scope(gpuc_clike *p, const void *declares)
{
    bool again = gpuc_map_has(&p->declared, declares);
    gpuc_map_set(&p->declared, declares, p);
    if (!again) return false;
    gpuc_clike_line(p);
    gpuc_put(p, "{\n");
    p->indent++;
    return true;
}

static void end_scope(gpuc_clike *p, bool begun)
{
    if (!begun) return;
    p->indent--;
    gpuc_clike_line(p);
    gpuc_put(p, "}\n");
}

static void print_alloc(gpuc_clike *p, gpuc_stmt s)
{
    const gpuc_tir_alloc_node *n = gpuc_as_alloc(s);
    if (gpuc_map_has(&p->ahead, n->buffer)) {
        gpuc_clike_stmt(p, n->body);
        return;
    }
    bool scope = begin_scope(p, n->buffer);
    gpuc_clike_line(p);
    p->lang->declare(p, n->buffer);
    gpuc_put(p, "\n");
    gpuc_clike_stmt(p, n->body);
    end_scope(p, scope);
}

static void print_let(gpuc_clike *p, gpuc_stmt s)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    bool scope = begin_scope(p, n->var);
    gpuc_dtype t = p->lang->held(p, n->var->dtype);
    bool mask = gpuc_is_bool(t) && t.lanes > 1;
    gpuc_expr value = gpuc_clike_promoted(p, n->value);
    if (mask) {
        int bits = gpuc_clike_mask_bits(p, value);
        t = (gpuc_dtype){.code = GPUC_DTYPE_INT, .bits = (uint8_t)bits, .lanes = t.lanes};
        gpuc_map_set(&p->mask_bits, n->var, (void *)(intptr_t)bits);
    }
    if (!gpuc_clike_is_index(p, n->value)) gpuc_map_set(&p->data_vars, n->var, (void *)n->value);
    gpuc_clike_line(p);
    gpuc_put(p, "const ");
    p->lang->type(p, t);
    gpuc_put(p, " %s = ", gpuc_clike_var(p, n->var));
    if (p->lang->keeps && p->lang->keeps(p, value)) {
        gpuc_clike_helper(p, "keep", t);
        gpuc_put(p, "(");
        gpuc_clike_expr(p, value, GPUC_PREC_ASSIGN);
        gpuc_put(p, ")");
    } else {
        gpuc_clike_expr(p, value, GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ";\n");
    size_t mark = gpuc_arith_analyzer_mark(p->analyzer);
    if (gpuc_is_integer(n->var->dtype) && n->var->dtype.lanes == 1)
        gpuc_arith_analyzer_bind_value(p->analyzer, n->var, n->value);
    gpuc_clike_stmt(p, n->body);
    gpuc_arith_analyzer_rewind(p->analyzer, mark);
    end_scope(p, scope);
}

void gpuc_clike_stmt(gpuc_clike *p, gpuc_stmt s)
{
    switch (s->kind) {
    case GPUC_STMT_FOR: print_for(p, s); return;
    case GPUC_STMT_STORE:
        gpuc_clike_line(p);
        p->lang->store(p, s);
        gpuc_put(p, ";\n");
        return;
    case GPUC_STMT_IF:
        gpuc_clike_line(p);
        print_if(p, gpuc_as_if(s), !is_simple_chain(gpuc_as_if(s)));
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) gpuc_clike_stmt(p, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC: print_alloc(p, s); return;
    case GPUC_STMT_LET: print_let(p, s); return;
    case GPUC_STMT_EVAL:
        gpuc_clike_line(p);
        gpuc_clike_expr(p, gpuc_as_eval(s)->value, GPUC_PREC_COMMA);
        gpuc_put(p, ";\n");
        return;
    case GPUC_STMT_ATTR: gpuc_clike_stmt(p, gpuc_as_attr(s)->body); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}
