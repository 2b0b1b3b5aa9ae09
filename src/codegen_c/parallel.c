/* SPDX-License-Identifier: Apache-2.0 */
/* The outermost parallel loop of a nest becomes a function of a range of its iterations, which
 * env->parallel_for calls; what it uses of its surroundings travels in a struct. */
#include <string.h>

#include "codegen_c/private.h"

typedef struct capture {
    gpuc_clike *p;
    gpuc_ptrs vars, buffers;
    gpuc_map inside; /* declared in the body */
    gpuc_map seen;
} capture;

static void note_buffer(capture *c, const gpuc_tir_buffer *b)
{
    if (!b || gpuc_map_has(&c->seen, b)) return;
    gpuc_map_set(&c->seen, b, c);
    gpuc_ptrs_push(c->p->ctx, &c->buffers, b);
}

static bool note_expr(gpuc_expr e, void *arg)
{
    capture *c = arg;
    if (e->kind == GPUC_EXPR_VAR && !gpuc_map_has(&c->seen, e)) {
        gpuc_map_set(&c->seen, e, c);
        gpuc_ptrs_push(c->p->ctx, &c->vars, e);
    }
    if (e->kind == GPUC_EXPR_LOAD) note_buffer(c, gpuc_as_load(e)->buffer);
    if (e->kind == GPUC_EXPR_CALL) note_buffer(c, gpuc_as_call(e)->buffer);
    return true;
}

static void note_stmt(gpuc_stmt s, void *arg)
{
    capture *c = arg;
    if (s->kind == GPUC_STMT_STORE) note_buffer(c, gpuc_as_store(s)->buffer);
    if (s->kind == GPUC_STMT_FOR) gpuc_map_set(&c->inside, gpuc_as_for(s)->var, c);
    if (s->kind == GPUC_STMT_LET) gpuc_map_set(&c->inside, gpuc_as_let(s)->var, c);
    if (s->kind == GPUC_STMT_ALLOC) gpuc_map_set(&c->inside, gpuc_as_alloc(s)->buffer, c);
}

static void drop_inside(capture *c, gpuc_ptrs *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!gpuc_map_has(&c->inside, list->at[i])) list->at[n++] = list->at[i];
    list->count = n;
}

/* Parameters first, in their order. */
static void sort_captures(capture *c)
{
    const gpuc_tir_func *f = c->p->func;
    gpuc_ptrs buffers = {0}, vars = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; pass == 0 && i < f->num_buffers; i++)
            if (gpuc_map_has(&c->seen, f->buffers[i])) gpuc_ptrs_push(c->p->ctx, &buffers, f->buffers[i]);
        for (int i = 0; pass == 0 && i < f->num_scalars; i++)
            if (gpuc_map_has(&c->seen, f->scalars[i])) gpuc_ptrs_push(c->p->ctx, &vars, f->scalars[i]);
        for (size_t i = 0; pass == 1 && i < c->buffers.count; i++)
            if (!gpuc_clike_buffer_of(c->p, c->buffers.at[i])->param)
                gpuc_ptrs_push(c->p->ctx, &buffers, c->buffers.at[i]);
        for (size_t i = 0; pass == 1 && i < c->vars.count; i++) {
            bool scalar = false;
            for (int k = 0; k < f->num_scalars; k++) scalar = scalar || f->scalars[k] == c->vars.at[i];
            if (!scalar) gpuc_ptrs_push(c->p->ctx, &vars, c->vars.at[i]);
        }
    }
    c->buffers = buffers;
    c->vars = vars;
}

static void find_captures(gpuc_clike *p, const gpuc_tir_for_node *loop, capture *c)
{
    *c = (capture){.p = p};
    gpuc_map_init(&c->inside, p->ctx);
    gpuc_map_init(&c->seen, p->ctx);
    gpuc_map_set(&c->inside, loop->var, c);
    gpuc_tir_visit_stmt(p->ctx, loop->body, note_stmt, note_expr, c);
    drop_inside(c, &c->vars);
    drop_inside(c, &c->buffers);
    sort_captures(c);
}

static gpuc_dtype var_type(gpuc_clike *p, gpuc_expr var)
{
    gpuc_dtype t = p->lang->held(p, var->dtype);
    void *bits = gpuc_map_get(&p->mask_bits, var);
    if (bits) t = (gpuc_dtype){.code = GPUC_DTYPE_INT, .bits = (uint8_t)(intptr_t)bits, .lanes = t.lanes};
    return t;
}

static void print_struct(gpuc_clike *p, const capture *c, const char *name)
{
    gpuc_put(p, "struct %s {\n", name);
    for (size_t i = 0; i < c->buffers.count; i++) {
        gpuc_put(p, "    ");
        gpuc_c_pointer(p, c->buffers.at[i], false);
        gpuc_put(p, ";\n");
    }
    for (size_t i = 0; i < c->vars.count; i++) {
        gpuc_put(p, "    ");
        p->lang->type(p, var_type(p, c->vars.at[i]));
        gpuc_put(p, " %s;\n", gpuc_clike_var(p, c->vars.at[i]));
    }
    gpuc_put(p, "};\n\n");
}

static void print_unpacking(gpuc_clike *p, const capture *c, const char *name, const char *args)
{
    if (c->buffers.count + c->vars.count > 0) gpuc_put(p, "    const struct %s *%s = arg;\n", name, args);
    for (size_t i = 0; i < c->buffers.count; i++) {
        gpuc_put(p, "    ");
        gpuc_c_pointer(p, c->buffers.at[i], !p->func->aliased);
        gpuc_put(p, " = %s->%s;\n", args, gpuc_clike_buf(p, c->buffers.at[i]));
    }
    for (size_t i = 0; i < c->vars.count; i++) {
        const char *var = gpuc_clike_var(p, c->vars.at[i]);
        gpuc_put(p, "    const ");
        p->lang->type(p, var_type(p, c->vars.at[i]));
        gpuc_put(p, " %s = %s->%s;\n", var, args, var);
    }
}

/* Variables that were buffers of one element come as pointers. */
static void make_pointers(gpuc_clike *p, const capture *c, bool *was)
{
    for (size_t i = 0; i < c->buffers.count; i++) {
        gpuc_clike_buffer *plan = gpuc_clike_buffer_of(p, c->buffers.at[i]);
        bool now = was[i];
        was[i] = plan->variable;
        plan->variable = now;
    }
}

static const char *cut_tail(gpuc_clike *p, size_t from)
{
    if (p->out.failed)
        gpuc_raise(p->ctx, GPUC_OUT_OF_MEMORY, "printing kernel '%s': out of memory", p->func->name);
    const char *text = gpuc_ctx_strdup(p->ctx, p->out.data + from);
    p->out.size = from;
    p->out.data[from] = 0;
    return text;
}

static void print_body(gpuc_clike *p, const gpuc_tir_for_node *loop, const capture *c,
                       const char *struct_name, const char *body_name)
{
    gpuc_c_emit *emit = p->user;
    size_t start = p->out.size;
    int indent = p->indent;
    bool streams = emit->streams;
    bool *variable = gpuc_new_array(p->ctx, bool, c->buffers.count + 1);
    if (c->buffers.count + c->vars.count > 0) print_struct(p, c, struct_name);
    make_pointers(p, c, variable);
    gpuc_put(p, "static void %s(void *arg, int64_t begin, int64_t end)\n{\n", body_name);
    print_unpacking(p, c, struct_name, gpuc_clike_name(p, body_name, "args"));
    p->indent = 1;
    emit->in_parallel = true;
    emit->streams = false;
    gpuc_map_set(&p->declared, loop->var, p);
    bool narrow = loop->var->dtype.bits < 64;
    gpuc_clike_line(p);
    gpuc_clike_for_head(p, loop, narrow ? "(int32_t)begin" : "begin", narrow ? "(int32_t)end" : "end");
    gpuc_clike_block(p, loop->body);
    gpuc_put(p, "\n");
    gpuc_c_end_streams(p);
    gpuc_put(p, "}\n\n");
    emit->in_parallel = false;
    emit->streams = streams;
    make_pointers(p, c, variable);
    p->indent = indent;
    gpuc_ptrs_push(p->ctx, &emit->functions, cut_tail(p, start));
}

static void print_call(gpuc_clike *p, const gpuc_tir_for_node *loop, const capture *c,
                       const char *struct_name, const char *body_name)
{
    size_t n = c->buffers.count + c->vars.count;
    const char *args = NULL;
    if (n > 0) {
        args = gpuc_clike_name(p, body_name, "args");
        gpuc_clike_line(p);
        gpuc_put(p, "struct %s %s = {", struct_name, args);
        for (size_t i = 0; i < n; i++) {
            if (i) gpuc_put(p, ", ");
            if (i >= c->buffers.count) {
                gpuc_put(p, "%s", gpuc_clike_var(p, c->vars.at[i - c->buffers.count]));
                continue;
            }
            const gpuc_tir_buffer *b = c->buffers.at[i];
            gpuc_put(p, "%s%s", gpuc_clike_buffer_of(p, b)->variable ? "&" : "", gpuc_clike_buf(p, b));
        }
        gpuc_put(p, "};\n");
    }
    gpuc_clike_line(p);
    gpuc_put(p, "env->parallel_for(env, ");
    gpuc_clike_expr(p, loop->min, GPUC_PREC_ASSIGN);
    gpuc_put(p, ", ");
    gpuc_clike_expr(p, gpuc_arith_simplify(p->analyzer, gpuc_add(p->ctx, loop->min, loop->extent)),
                    GPUC_PREC_ASSIGN);
    gpuc_put(p, ", %s, %s%s);\n", body_name, args ? "&" : "", args ? args : "NULL");
}

bool gpuc_c_loop(gpuc_clike *p, gpuc_stmt s)
{
    gpuc_c_emit *emit = p->user;
    const gpuc_tir_for_node *loop = gpuc_as_for(s);
    if (loop->loop == GPUC_LOOP_THREAD)
        gpuc_raise(p->ctx, GPUC_INTERNAL, "kernel '%s' holds a loop over %s", p->func->name,
                   gpuc_thread_tag_name(loop->tag));
    if (loop->loop != GPUC_LOOP_PARALLEL || emit->in_parallel) return false;
    capture c;
    find_captures(p, loop, &c);
    size_t number = emit->functions.count;
    const char *more = number ? gpuc_ctx_printf(p->ctx, "_%zu", number) : "";
    const char *struct_name = gpuc_ctx_printf(p->ctx, "%s_args%s", p->func->name, more);
    const char *body_name = gpuc_ctx_printf(p->ctx, "%s_body%s", p->func->name, more);
    size_t mark = gpuc_arith_analyzer_mark(p->analyzer);
    print_body(p, loop, &c, struct_name, body_name);
    gpuc_arith_analyzer_rewind(p->analyzer, mark);
    print_call(p, loop, &c, struct_name, body_name);
    return true;
}
