/* SPDX-License-Identifier: Apache-2.0 */
/* Prints programs as TVM 0.13 does: a line with a number for each node that is an operand, blocks for scopes. */
#include "relay/print.h"

#include <ctype.h>
#include <string.h>

typedef gpuc_relay_printer printer;

static void print_scope(printer *p, gpuc_relay_block *block, gpuc_rexpr *body);
static void print_value(printer *p, gpuc_rexpr *e);

static void indent(printer *p)
{
    gpuc_buf_printf(p->out, "%*s", p->indent * 2, "");
}

/* ---- Types ---- */

static gpuc_expr shown_size(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    (void)ctx;
    return gpuc_relay_print_size(arg, size);
}

static bool is_type_name(const printer *p, const char *name)
{
    bool is = p->adts && gpuc_strmap_has(p->adts, name);
    for (size_t i = 0; i < p->type_names.count; i++)
        is = is || !strcmp(((const gpuc_rtype *)p->type_names.at[i])->name, name);
    return is;
}

/* A name without the number behind it, unless that is all of it. */
static const char *name_of(printer *p, const char *name)
{
    size_t n = strlen(name);
    while (n > 1 && isdigit((unsigned char)name[n - 1])) n--;
    return gpuc_ctx_printf(p->ctx, "%.*s", (int)n, name);
}

/* A type parameter inside of what has that name, or a data type has it, gets another. In a comment the number in a name is
 * none of its own: text that was read may have it from where the type was written. */
static void begin_type_params(printer *p, int n, const gpuc_rtype *const *params)
{
    for (int i = 0; i < n; i++) {
        const char *own = p->in_comment ? name_of(p, params[i]->name) : params[i]->name, *name = own;
        for (int k = 1; is_type_name(p, name); k++) name = gpuc_ctx_printf(p->ctx, "%s%d", own, k);
        const gpuc_rtype *shown = name == params[i]->name ? params[i] : gpuc_relay_rtype_var(p->ctx, name);
        gpuc_ptrs_push(p->ctx, &p->type_params, (void *)params[i]);
        gpuc_ptrs_push(p->ctx, &p->type_names, (void *)shown);
    }
}

static void end_type_params(printer *p, int n)
{
    p->type_params.count -= (size_t)n;
    p->type_names.count -= (size_t)n;
}

/* The type with the names that its parameters have where it stands. */
static const gpuc_rtype *shown_type(printer *p, const gpuc_rtype *t)
{
    if (!t || !t->varies) return t;
    for (size_t i = p->type_params.count; t->kind == GPUC_RTYPE_VAR && i > 0; i--)
        if (p->type_params.at[i - 1] == t) return p->type_names.at[i - 1];
    if (t->kind == GPUC_RTYPE_VAR) return t;
    const gpuc_rtype **at = gpuc_new_array(p->ctx, const gpuc_rtype *, t->n + 1);
    size_t first = p->type_names.count;
    begin_type_params(p, t->num_params, t->params);
    for (int i = 0; i < t->n; i++) at[i] = shown_type(p, t->at[i]);
    const gpuc_rtype *ret = shown_type(p, t->ret), *const *params = NULL;
    if (t->num_params) params = (const gpuc_rtype *const *)p->type_names.at + first;
    if (t->kind == GPUC_RTYPE_FUNC)
        t = gpuc_relay_rtype_scheme(p->ctx, t->num_params, params, t->n, at, ret);
    else
        t = t->kind == GPUC_RTYPE_ADT ? gpuc_relay_rtype_adt(p->ctx, t->adt, t->n, at)
                                      : gpuc_relay_rtype_tuple(p->ctx, t->n, at);
    end_type_params(p, (int)(p->type_names.count - first));
    return t;
}

static void print_type(printer *p, const gpuc_rtype *t)
{
    t = gpuc_relay_rtype_map_sizes(p->ctx, t, shown_size, p);
    gpuc_relay_rtype_print(p->ctx, p->out, shown_type(p, t));
}

static void print_types(printer *p, int n, const gpuc_rtype *const *at)
{
    for (int i = 0; i < n; i++) {
        gpuc_buf_str(p->out, i ? ", " : "[");
        print_type(p, at[i]);
    }
    if (n) gpuc_buf_str(p->out, "]");
}

/* ---- Names ---- */

/* A name that no other variable has: letters, digits and underscores, a letter first. */
static char *unique_name(printer *p, const char *name)
{
    char *clean =
        gpuc_ctx_printf(p->ctx, "%s%s", isalpha((unsigned char)*name) || *name == '_' ? "" : "v", name);
    for (char *c = clean; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') *c = '_';
    char *unique = clean;
    uintptr_t n = (uintptr_t)gpuc_strmap_get(&p->used, clean);
    while (gpuc_strmap_has(&p->used, unique))
        unique = gpuc_ctx_printf(p->ctx, "%s%llu", clean, (unsigned long long)n++ + 1);
    gpuc_strmap_set(&p->used, clean, (void *)n);
    if (unique != clean) gpuc_strmap_set(&p->used, unique, NULL);
    return unique;
}

static void define_var(printer *p, gpuc_rexpr *var)
{
    const gpuc_rvar *v = gpuc_as_rvar(var);
    const gpuc_rtype *t = v->annotation ? v->annotation : var->type;
    bool says = gpuc_relay_print_says(p, t);
    char *name = gpuc_ctx_printf(p->ctx, "%%%s", unique_name(p, v->name));
    gpuc_map_set(&p->names, var, name);
    gpuc_buf_str(p->out, name);
    if (v->annotation || says) {
        gpuc_buf_str(p->out, ": ");
        print_type(p, t);
    }
}

static void print_constant(printer *p, gpuc_rexpr *e)
{
    const gpuc_rconstant *c = gpuc_as_rconstant(e);
    if (e->type->tensor.ndim == 0 && gpuc_relay_print_scalar(p->out, e->type->tensor.dtype, c->data->bytes))
        return;
    uintptr_t number = (uintptr_t)gpuc_map_get(&p->numbers, e);
    if (!number) {
        gpuc_ptrs_push(p->ctx, p->constants, e);
        number = p->constants->count;
        gpuc_map_set(&p->numbers, e, (void *)number);
    }
    gpuc_buf_printf(p->out, "meta[relay.Constant][%llu]", (unsigned long long)number - 1);
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
    case GPUC_REXPR_OP: gpuc_buf_str(p->out, gpuc_as_rop(e)->name); return;
    case GPUC_REXPR_CONSTRUCTOR: gpuc_buf_str(p->out, gpuc_as_rconstructor(e)->constructor->name); return;
    case GPUC_REXPR_CONSTANT: print_constant(p, e); return;
    case GPUC_REXPR_CALL:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_LET:
    case GPUC_REXPR_FUNCTION:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_MATCH:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    gpuc_raise(p->ctx, GPUC_INTERNAL, "node %u of the program has no name", e->id);
}

static void print_list(printer *p, int n, gpuc_rexpr *const *at)
{
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        print_ref(p, at[i]);
    }
}

/* ---- Nodes ---- */

static void print_block(printer *p, gpuc_relay_block *block, gpuc_rexpr *body)
{
    gpuc_buf_str(p->out, "{\n");
    p->indent++;
    print_scope(p, block, body);
    p->indent--;
    indent(p);
    gpuc_buf_str(p->out, "}");
}

static void print_function(printer *p, gpuc_relay_block *block, const gpuc_rfunction *f)
{
    size_t said = p->says.count;
    begin_type_params(p, f->num_type_params, f->type_params);
    print_types(p, f->num_type_params, f->type_params);
    gpuc_buf_str(p->out, "(");
    for (int i = 0; i < f->n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        define_var(p, f->params[i]);
    }
    gpuc_relay_print_attrs(p, NULL, f->attrs, f->n > 0);
    gpuc_buf_str(p->out, ") ");
    if (f->ret) {
        gpuc_buf_str(p->out, "-> ");
        print_type(p, f->ret);
        gpuc_buf_str(p->out, " ");
    }
    print_block(p, block, f->body);
    end_type_params(p, f->num_type_params);
    gpuc_relay_print_end_said(p, said);
}

static void print_pattern(printer *p, const gpuc_rpattern *pattern)
{
    if (pattern->var) {
        define_var(p, pattern->var);
        return;
    }
    if (!pattern->constructor && !pattern->tuple) {
        gpuc_buf_str(p->out, "_");
        return;
    }
    if (pattern->constructor) gpuc_buf_str(p->out, pattern->constructor->name);
    if (pattern->constructor && !pattern->n) return;
    gpuc_buf_str(p->out, "(");
    for (int i = 0; i < pattern->n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        print_pattern(p, &pattern->at[i]);
    }
    gpuc_buf_str(p->out, pattern->tuple && pattern->n == 1 ? ",)" : ")");
}

gpuc_rexpr *gpuc_relay_print_whole_tuple(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    const gpuc_rcall *c = op && op->max_in < 0 ? gpuc_as_rcall(e) : NULL;
    if (!c || !c->n || c->args[0]->kind != GPUC_REXPR_GET) return NULL;
    gpuc_rexpr *tuple = gpuc_as_rget(c->args[0])->tuple;
    if (!tuple->type || tuple->type->n != c->n) return NULL;
    for (int i = 0; i < c->n; i++) {
        if (c->args[i]->kind != GPUC_REXPR_GET) return NULL;
        const gpuc_rget *g = gpuc_as_rget(c->args[i]);
        if (g->tuple != tuple || g->index != i) return NULL;
    }
    return tuple;
}

static void print_call(printer *p, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_relay_call_op(e);
    gpuc_rexpr *whole = gpuc_relay_print_whole_tuple(e);
    bool tuple = op && op->max_in < 0 && !whole;
    print_ref(p, c->callee);
    if (c->callee->kind == GPUC_REXPR_CONSTRUCTOR && c->n == 0) return;
    gpuc_buf_str(p->out, tuple ? "((" : "(");
    print_list(p, whole ? 1 : c->n, whole ? &whole : c->args);
    if (tuple) gpuc_buf_str(p->out, c->n == 1 ? ",)" : ")");
    gpuc_relay_print_attrs(p, op, c->attrs, c->n > 0 || tuple);
    gpuc_buf_str(p->out, ")");
}

static gpuc_relay_block *block_of(printer *p, const gpuc_rexpr *e, int i)
{
    return ((gpuc_relay_place *)gpuc_map_get(&p->places, e))->blocks.at[i];
}

static void print_match(printer *p, const gpuc_rmatch *m)
{
    gpuc_buf_str(p->out, m->partial ? "match? (" : "match (");
    print_ref(p, m->value);
    gpuc_buf_str(p->out, ") {\n");
    p->indent++;
    for (int i = 0; i < m->n; i++) {
        indent(p);
        print_pattern(p, m->clauses[i].pattern);
        gpuc_buf_str(p->out, " => ");
        print_block(p, block_of(p, &m->base, i), m->clauses[i].body);
        gpuc_buf_str(p->out, ",\n");
    }
    p->indent--;
    indent(p);
    gpuc_buf_str(p->out, "}");
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
    case GPUC_REXPR_CALL: print_call(p, e); break;
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
        print_function(p, block_of(p, e, 0), gpuc_as_rfunction(e));
        break;
    case GPUC_REXPR_IF:
        gpuc_buf_str(out, "if (");
        print_ref(p, gpuc_as_rif(e)->cond);
        gpuc_buf_str(out, ") ");
        print_block(p, block_of(p, e, 0), gpuc_as_rif(e)->then_branch);
        gpuc_buf_str(out, " else ");
        print_block(p, block_of(p, e, 1), gpuc_as_rif(e)->else_branch);
        break;
    case GPUC_REXPR_LET: print_block(p, block_of(p, e, 0), e); break;
    case GPUC_REXPR_MATCH: print_match(p, gpuc_as_rmatch(e)); break;
    }
}

static void print_comment(printer *p, const gpuc_rexpr *e)
{
    if (!(p->flags & GPUC_RELAY_PRINT_TYPES) || !e->type || e->kind == GPUC_REXPR_FUNCTION) return;
    gpuc_buf_str(p->out, " /* ty=");
    p->in_comment = true;
    print_type(p, e->type);
    p->in_comment = false;
    gpuc_buf_str(p->out, " */");
}

/* ---- Blocks ---- */

/* What a line says since then is not known where its value is computed. What a let says has another name there, as what its
 * tensors hold may be named inside. */
static void print_computed(printer *p, size_t said, gpuc_rexpr *e, bool is_let)
{
    size_t last = p->says.count;
    void **names = gpuc_relay_print_hide_said(p, said, is_let);
    (is_let ? print_value : print_node)(p, e);
    gpuc_relay_print_show_said(p, said, last, names);
}

/* What is computed of other sizes follows from the value. */
static gpuc_expr alone(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    int64_t v;
    (void)arg;
    return !size || size->kind == GPUC_EXPR_VAR || gpuc_expr_is_int(size, &v) ? size
                                                                              : gpuc_relay_any_dim(ctx);
}

/* What e needs, each on a line of its own; and e, if it has one. */
static void print_lines(printer *p, gpuc_relay_block *block, const gpuc_rexpr *e)
{
    const gpuc_relay_place *end = gpuc_map_get(&p->places, e);
    for (; end && block->printed < block->lines.count; block->printed++) {
        gpuc_rexpr *line = block->lines.at[block->printed];
        if (((gpuc_relay_place *)gpuc_map_get(&p->places, line))->index > end->index) break;
        indent(p);
        char *name = gpuc_ctx_printf(p->ctx, "%%%d", p->next++);
        size_t said = p->says.count;
        gpuc_buf_str(p->out, name);
        if (gpuc_relay_result_of(line) && gpuc_relay_print_says(p, line->type)) {
            gpuc_buf_str(p->out, ": ");
            print_type(p, gpuc_relay_rtype_map_sizes(p->ctx, line->type, alone, NULL));
        }
        gpuc_buf_str(p->out, " = ");
        print_computed(p, said, line, false);
        gpuc_map_set(&p->names, line, name);
        gpuc_buf_str(p->out, ";");
        print_comment(p, line);
        gpuc_buf_str(p->out, "\n");
    }
}

static void print_value(printer *p, gpuc_rexpr *e)
{
    const gpuc_relay_place *place = gpuc_map_get(&p->places, e);
    if (place && place->alone)
        print_node(p, e);
    else
        print_ref(p, e);
}

/* A chain of lets is one block: it may be long. */
static void print_scope(printer *p, gpuc_relay_block *block, gpuc_rexpr *body)
{
    for (; body->kind == GPUC_REXPR_LET; body = gpuc_as_rlet(body)->body) {
        const gpuc_rlet *l = gpuc_as_rlet(body);
        if (block_of(p, body, 0) != block) break;
        print_lines(p, block, l->value);
        indent(p);
        gpuc_buf_str(p->out, "let ");
        size_t said = p->says.count;
        define_var(p, l->var);
        gpuc_buf_str(p->out, " = ");
        print_computed(p, said, l->value, true);
        gpuc_buf_str(p->out, ";\n");
    }
    print_lines(p, block, body);
    indent(p);
    print_value(p, body);
    print_comment(p, body);
    gpuc_buf_str(p->out, "\n");
}

/* ---- Modules ---- */

static void print_adt(printer *p, const gpuc_adt *adt)
{
    gpuc_buf_printf(p->out, "%stype %s", adt->is_extern ? "extern " : "", adt->name);
    print_types(p, adt->num_params, adt->params);
    gpuc_buf_str(p->out, adt->is_extern ? "\n" : " {\n");
    for (int i = 0; i < adt->n; i++) {
        const gpuc_constructor *c = &adt->constructors[i];
        gpuc_buf_printf(p->out, "  %s", c->name);
        for (int k = 0; k < c->n; k++) {
            gpuc_buf_str(p->out, k ? ", " : "(");
            print_type(p, c->fields[k]);
        }
        gpuc_buf_str(p->out, c->n ? "),\n" : ",\n");
    }
    if (!adt->is_extern) gpuc_buf_str(p->out, "}\n");
}

/* Names of variables and sizes are those of one global function. */
static void start_names(printer *p, gpuc_rexpr *root)
{
    gpuc_strmap_init(&p->used, p->ctx);
    gpuc_strmap_init(&p->size_names, p->ctx);
    gpuc_strmap_init(&p->taken, p->ctx);
    gpuc_map_init(&p->sizes, p->ctx);
    gpuc_map_init(&p->unnamed, p->ctx);
    gpuc_map_init(&p->said, p->ctx);
    p->says.count = 0;
    p->renamed = false;
    if (root) gpuc_relay_print_find_sizes(p, root);
}

static void start(printer *p, gpuc_ctx *ctx, gpuc_buf *out, int flags, gpuc_ptrs *constants)
{
    *p = (printer){.ctx = ctx, .out = out, .flags = flags, .constants = constants};
    gpuc_map_init(&p->names, ctx);
    gpuc_map_init(&p->numbers, ctx);
    start_names(p, NULL);
}

void gpuc_relay_print_expr(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e, int flags)
{
    printer p;
    gpuc_ptrs constants = {0};
    start(&p, ctx, out, flags, &constants);
    gpuc_relay_print_find_sizes(&p, e);
    print_scope(&p, gpuc_relay_print_place(&p, e), e);
    if (flags & GPUC_RELAY_PRINT_CONSTANTS && constants.count) gpuc_relay_print_constants(&p);
}

void gpuc_relay_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rmodule *m, int flags, gpuc_ptrs *constants)
{
    printer p;
    gpuc_ptrs own = {0};
    const char *between = "";
    start(&p, ctx, out, flags, constants ? constants : &own);
    p.adts = &m->adts;
    if (flags & GPUC_RELAY_PRINT_VERSION) gpuc_buf_str(out, "#[version = \"0.0.5\"]\n");
    for (uint32_t i = 0; i < m->adts.map.count; i++) {
        gpuc_buf_str(out, between);
        print_adt(&p, m->adts.map.entries[i].value);
        between = "\n";
    }
    for (uint32_t i = 0; i < m->functions.map.count; i++) {
        const gpuc_map_entry *entry = &m->functions.map.entries[i];
        p.next = 0;
        start_names(&p, entry->value);
        gpuc_buf_printf(out, "%sdef @%s", between, (const char *)entry->key);
        const gpuc_rfunction *f = gpuc_as_rfunction(entry->value);
        print_function(&p, gpuc_relay_print_place(&p, f->body), f);
        gpuc_buf_str(out, "\n");
        between = "\n";
    }
    if (flags & GPUC_RELAY_PRINT_CONSTANTS && p.constants->count) gpuc_relay_print_constants(&p);
}
