/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs as text. A type is written where nothing else tells it: inference goes over all of a function, so that
 * a type is known from inside, or from what stands around, where no type parameter is left open. */
#include "random_program.h"

typedef struct printer {
    rp_program *p;
    gpuc_buf *out, constants;
    bool bare;
    int indent, num_constants;
    int *names;      /* of variables: the number that is printed */
    gpuc_ptrs scope; /* rp_var * that could be hidden */
} printer;

static void print(printer *w, const rp_expr *e, bool known);
static void print_generic(printer *w, const rp_expr *e, const rp_var *var);

static bool coin(const printer *w, int id, int of)
{
    fx_rng r = {w->p->seed * 31 + (uint64_t)id};
    return fx_below(&r, of) != 0;
}

/* Whether what could be left out is, in this place. */
static bool omits(const printer *w, int id)
{
    return w->bare && coin(w, id, 4);
}

static void say(printer *w, const char *text)
{
    gpuc_buf_str(w->out, text);
}

static void line(printer *w)
{
    gpuc_buf_printf(w->out, "\n%*s", 2 * w->indent, "");
}

static void annotate(printer *w, const rp_type *t)
{
    say(w, ": ");
    rp_type_text(w->out, t);
}

static void name(printer *w, const rp_var *v)
{
    gpuc_buf_printf(w->out, v->node ? "%%%d" : "%%x%d", w->names[v->id]);
}

static bool uses(const rp_expr *e, const rp_var *v)
{
    if (e->kind == RP_VAR && e->var == v) return true;
    for (int i = 0; i < e->n; i++)
        if (uses(e->at[i], v)) return true;
    return false;
}

/* A let may have the name of a variable that is not used any longer. A function could call itself by it. */
static void hide(printer *w, const rp_expr *let)
{
    bool calls = let->at[0]->kind == RP_LAMBDA;
    for (size_t i = w->scope.count; i-- > 0 && !let->var->node && !coin(w, let->id + 7, 2);) {
        const rp_var *v = w->scope.at[i];
        if (uses(let->at[1], v) || (calls && uses(let->at[0], v))) continue;
        w->names[let->var->id] = w->names[v->id];
        w->scope.at[i] = w->scope.at[--w->scope.count];
        return;
    }
}

/* ---- Blocks ---- */

/* Lets, and what follows them. */
static void print_chain(printer *w, const rp_expr *e, bool known)
{
    size_t scope = w->scope.count;
    void **before = scope ? gpuc_ctx_memdup(w->p->ctx, w->scope.at, sizeof *before * scope) : NULL;
    for (; e->kind == RP_LET; e = e->at[1]) {
        const rp_expr *value = e->at[0];
        bool written = !e->var->node && !e->var->num_types && !omits(w, e->id);
        hide(w, e);
        say(w, e->var->node ? "" : "let ");
        name(w, e->var);
        if (written) annotate(w, e->var->type);
        say(w, " = ");
        if (e->var->num_types)
            print_generic(w, value, e->var);
        else
            print(w, value, written);
        say(w, ";");
        line(w);
        if (!e->var->node) gpuc_ptrs_push(w->p->ctx, &w->scope, e->var);
    }
    print(w, e, known);
    w->scope.count = scope;
    if (scope) memcpy(w->scope.at, before, sizeof *before * scope);
}

static void print_block(printer *w, const rp_expr *e, bool known)
{
    say(w, "{");
    w->indent++;
    line(w);
    print_chain(w, e, known);
    w->indent--;
    line(w);
    say(w, "}");
}

/* ---- Leaves ---- */

static void print_scalar(printer *w, const rp_expr *e)
{
    static const char *const ends[] = {"", "i8", "", "i64", "f"};
    if (e->type->element == RP_BOOL)
        say(w, e->number ? "True" : "False");
    else
        gpuc_buf_printf(w->out, "%d%s", e->number, ends[e->type->element]);
}

static void print_base64(gpuc_buf *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)bytes[i] << 16 | (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
                     (i + 2 < n ? bytes[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            gpuc_buf_printf(out, "%c", i + (size_t)k > n ? '=' : digits[v >> (18 - 6 * k) & 63]);
    }
}

static void print_constant(printer *w, const rp_expr *e)
{
    static const size_t sizes[] = {1, 1, 4, 8, 4};
    rp_cell cells[256];
    uint8_t bytes[8 * 256];
    size_t size = sizes[e->type->element];
    int n = rp_count(e->type);
    GPUC_CHECK(n <= 256);
    rp_constant_cells(e->type, e->number, cells);
    for (int i = 0; i < n; i++) {
        float f = (float)cells[i].f;
        memcpy(bytes + (size_t)i * size, e->type->element == RP_FLOAT32 ? (void *)&f : (void *)&cells[i],
               size);
    }
    gpuc_buf_printf(w->out, "meta[relay.Constant][%d]", w->num_constants++);
    rp_type_text(&w->constants, e->type);
    gpuc_buf_str(&w->constants, " \"");
    print_base64(&w->constants, bytes, size * (size_t)n);
    gpuc_buf_str(&w->constants, "\"\n");
}

/* ---- Calls ---- */

/* Which arguments have a type that the others, or the result, decide. Functions come last: they can take the types of
 * their parameters from the other arguments. outer: type parameters of the function around, which are types. */
static void find_known(const rp_type *callee, unsigned outer, const rp_expr *const *args, bool known,
                       bool *inside, bool *params)
{
    unsigned decided = outer | (known ? callee->ret->vars : 0);
    for (int lambdas = 0; lambdas < 2; lambdas++)
        for (int i = 0; i < callee->n; i++) {
            const rp_type *t = callee->at[i];
            if ((args[i]->kind == RP_LAMBDA) != lambdas) continue;
            inside[i] = !(t->vars & ~decided);
            unsigned in = 0;
            for (int k = 0; t->kind == RP_FN && k < t->n; k++) in |= t->at[k]->vars;
            params[i] = t->kind == RP_FN && !(in & ~decided);
            decided |= t->vars;
        }
}

static void print_types(printer *w, int first, int n)
{
    for (int i = 0; i < n; i++) gpuc_buf_printf(w->out, i ? ", %c" : "[%c", 'A' + first + i);
    say(w, n ? "](" : "(");
}

static bool gives_function(const rp_type *t)
{
    if (t->kind == RP_FN) return true;
    for (int i = 0; i < t->n; i++)
        if (gives_function(t->at[i])) return true;
    return false;
}

/* Without its type, a result that is a function of the program keeps its type parameters. */
static void print_params(printer *w, const rp_expr *e, bool params, bool result)
{
    bool written = e->itself || gives_function(e->type->ret) || !omits(w, e->id + 1);
    for (int i = 0; i < e->num_params; i++) {
        if (i) say(w, ", ");
        name(w, e->params[i]);
        if (!params || e->itself || !omits(w, e->params[i]->id)) annotate(w, e->params[i]->type);
    }
    size_t scope = w->scope.count;
    for (int i = 0; i < e->num_params; i++) gpuc_ptrs_push(w->p->ctx, &w->scope, e->params[i]);
    say(w, ") ");
    if (written) {
        say(w, "-> ");
        rp_type_text(w->out, e->type->ret);
        say(w, " ");
    }
    print_block(w, e->at[0], written || result);
    w->scope.count = scope;
}

static void print_lambda(printer *w, const rp_expr *e, bool params, bool result)
{
    say(w, "fn (");
    print_params(w, e, params, result);
}

static void print_generic(printer *w, const rp_expr *e, const rp_var *var)
{
    say(w, "fn ");
    print_types(w, var->first_type, var->num_types);
    print_params(w, e, false, false);
}

static void print_args(printer *w, const rp_type *callee, unsigned outer, const rp_expr *const *args,
                       bool known)
{
    bool inside[RP_FIELDS], params[RP_FIELDS];
    find_known(callee, outer, args, known, inside, params);
    say(w, "(");
    for (int i = 0; i < callee->n; i++) {
        if (i) say(w, ", ");
        if (args[i]->kind == RP_LAMBDA)
            print_lambda(w, args[i], params[i], inside[i]);
        else
            print(w, args[i], inside[i]);
    }
    say(w, ")");
}

static void print_call(printer *w, const rp_expr *e, bool known)
{
    const rp_expr *callee = e->at[0];
    const rp_type *type = callee->type;
    unsigned outer = ~0u;
    if (callee->kind == RP_VAR && callee->var->num_types) {
        type = callee->var->type;
        outer = (1u << callee->var->first_type) - 1;
    }
    if (callee->kind == RP_GLOBAL) {
        gpuc_buf_printf(w->out, "@%s", callee->function->name);
        type = callee->function->type;
        outer = 0;
    } else {
        say(w, "(");
        print(w, callee, false);
        say(w, ")");
    }
    print_args(w, type, outer, (const rp_expr *const *)e->at + 1, known);
}

static void print_make(printer *w, const rp_expr *e, bool known)
{
    const rp_constructor *c = e->maker;
    rp_type type = {.kind = RP_FN, .n = c->n};
    rp_type result = {.kind = RP_DATA, .vars = (1u << c->data->num_params) - 1};
    type.ret = &result;
    for (int i = 0; i < c->n; i++) type.at[i] = c->fields[i];
    say(w, c->name);
    if (c->n) print_args(w, &type, 0, (const rp_expr *const *)e->at, known);
}

static void print_list(printer *w, const rp_expr *e)
{
    for (int i = 0; i < e->n; i++) {
        if (i) say(w, ", ");
        print(w, e->at[i], false);
    }
}

static void print_op(printer *w, const rp_expr *e)
{
    const char *between;
    if (rp_op_infix(e, &between)) {
        say(w, "(");
        print(w, e->at[0], false);
        gpuc_buf_printf(w->out, " %s ", between);
        print(w, e->at[1], false);
        say(w, ")");
        return;
    }
    say(w, rp_op_name(e));
    say(w, rp_op_takes_tuple(e) ? "((" : "(");
    print_list(w, e);
    if (rp_op_takes_tuple(e)) say(w, e->n == 1 ? ",)" : ")");
    rp_op_attrs(w->out, e);
    say(w, ")");
}

/* ---- Match ---- */

static void print_pattern(printer *w, const rp_pattern *p)
{
    if (p->var) {
        name(w, p->var);
        if (!w->bare && coin(w, p->var->id, 2)) annotate(w, p->var->type);
        return;
    }
    if (!p->maker && !p->n) {
        say(w, "_");
        return;
    }
    if (p->maker) say(w, p->maker->name);
    if (!p->n) return;
    for (int i = 0; i < p->n; i++) {
        say(w, i ? ", " : "(");
        print_pattern(w, p->at[i]);
    }
    say(w, !p->maker && p->n == 1 ? ",)" : ")");
}

static void print_match(printer *w, const rp_expr *e, bool known)
{
    say(w, coin(w, e->id, 4) ? "match (" : "match? (");
    print(w, e->at[0], false);
    say(w, ") {");
    w->indent++;
    for (int i = 1; i < e->n; i++) {
        line(w);
        print_pattern(w, e->patterns[i - 1]);
        say(w, " => ");
        print_block(w, e->at[i], known || i > 1);
        say(w, ",");
    }
    w->indent--;
    line(w);
    say(w, "}");
}

/* ---- Expressions ---- */

/* Whether the type has parameters that the text of e does not decide. */
static bool is_open(const rp_expr *e)
{
    unsigned decided = 0;
    if (e->kind == RP_GLOBAL) return rp_is_generic(e->function);
    if (e->kind != RP_MAKE && e->kind != RP_MAKER) return false;
    for (int i = 0; e->kind == RP_MAKE && i < e->n; i++) decided |= e->maker->fields[i]->vars;
    return ((1u << e->maker->data->num_params) - 1) & ~decided;
}

static void print_here(printer *w, const rp_expr *e, bool known)
{
    switch (e->kind) {
    case RP_VAR: name(w, e->var); break;
    case RP_SCALAR: print_scalar(w, e); break;
    case RP_CONSTANT: print_constant(w, e); break;
    case RP_OP: print_op(w, e); break;
    case RP_MAKE_TUPLE:
        say(w, "(");
        for (int i = 0; i < e->n; i++) {
            if (i) say(w, ", ");
            print(w, e->at[i], known);
        }
        say(w, e->n == 1 ? ",)" : ")");
        break;
    case RP_GET:
        say(w, "(");
        print(w, e->at[0], false);
        gpuc_buf_printf(w->out, ").%d", e->number);
        break;
    case RP_LET: print_block(w, e, known); break;
    case RP_LAMBDA: print_lambda(w, e, known, known); break;
    case RP_IF:
        say(w, "if (");
        print(w, e->at[0], true);
        say(w, ") ");
        print_block(w, e->at[1], known);
        say(w, " else ");
        print_block(w, e->at[2], true);
        break;
    case RP_MATCH: print_match(w, e, known); break;
    case RP_CALL: print_call(w, e, known); break;
    case RP_GLOBAL: gpuc_buf_printf(w->out, "@%s", e->function->name); break;
    case RP_MAKE: print_make(w, e, known); break;
    case RP_MAKER: say(w, e->maker->name); break;
    }
}

/* known: what stands around e decides its type. Where nothing does, a let says it. */
static void print(printer *w, const rp_expr *e, bool known)
{
    if (known || !is_open(e)) {
        print_here(w, e, known);
        return;
    }
    gpuc_buf_printf(w->out, "{ let %%w%d", e->id);
    annotate(w, e->type);
    say(w, " = ");
    print_here(w, e, true);
    gpuc_buf_printf(w->out, "; %%w%d }", e->id);
}

/* ---- Programs ---- */

static void print_function(printer *w, const rp_function *f)
{
    gpuc_buf_printf(w->out, "\ndef @%s", f->name);
    print_types(w, 0, f->num_types);
    for (int i = 0; i < f->n; i++) {
        if (i) say(w, ", ");
        name(w, f->vars[i]);
        annotate(w, f->params[i]);
        gpuc_ptrs_push(w->p->ctx, &w->scope, f->vars[i]);
    }
    say(w, ") ");
    bool written = f->ends != RP_CALLS_BEFORE || !omits(w, f->vars[0] ? f->vars[0]->id : 0);
    if (written) {
        say(w, "-> ");
        rp_type_text(w->out, f->ret);
        say(w, " ");
    }
    print_block(w, f->body, written);
    say(w, "\n");
    w->scope.count = 0;
}

static void print_data(gpuc_buf *out, const rp_data *d)
{
    gpuc_buf_printf(out, "type %s", d->name);
    for (int i = 0; i < d->num_params; i++) gpuc_buf_printf(out, i ? ", %c" : "[%c", 'A' + i);
    gpuc_buf_str(out, d->num_params ? "] {\n" : " {\n");
    for (int i = 0; i < d->n; i++) {
        const rp_constructor *c = &d->at[i];
        gpuc_buf_printf(out, "  %s", c->name);
        for (int k = 0; k < c->n; k++) {
            gpuc_buf_str(out, k ? ", " : "(");
            rp_type_text(out, c->fields[k]);
        }
        gpuc_buf_str(out, c->n ? "),\n" : ",\n");
    }
    gpuc_buf_str(out, "}\n");
}

/* Whether the text has the type, or a constructor of it. */
static bool mentions(const char *text, const rp_data *d)
{
    bool found = strstr(text, d->name) != NULL;
    for (int i = 0; i < d->n; i++) found = found || strstr(text, d->at[i].name);
    return found;
}

/* Types that the functions need: each may need those before it. */
static void print_used_data(rp_program *p, const char *functions, gpuc_buf *out)
{
    const char *text = "", *all = functions;
    for (size_t i = p->data.count; i-- > 0;) {
        const rp_data *d = p->data.at[i];
        gpuc_buf one;
        if (!d->own || !mentions(all, d)) continue;
        gpuc_buf_init(&one, p->ctx->allocator);
        print_data(&one, d);
        text = gpuc_ctx_printf(p->ctx, "%s%s", gpuc_buf_cstr(&one), text);
        all = gpuc_ctx_printf(p->ctx, "%s%s", text, functions);
        gpuc_buf_deinit(&one);
    }
    gpuc_buf_str(out, text);
}

void rp_text(rp_program *p, bool bare, gpuc_buf *out)
{
    gpuc_buf functions;
    printer w = {.p = p, .out = &functions, .bare = bare};
    gpuc_buf_init(&functions, p->ctx->allocator);
    gpuc_buf_init(&w.constants, p->ctx->allocator);
    w.names = gpuc_new_array(p->ctx, int, p->next_id);
    for (int i = 0; i < p->next_id; i++) w.names[i] = i;
    gpuc_buf_str(out, "import \"prelude.rly\"\n");
    for (int i = 0; i < p->num_functions; i++) {
        int from = p->seed % 2 ? i : p->num_functions - 1 - i; /* the order does not matter */
        if (p->functions[from]->body) print_function(&w, p->functions[from]);
    }
    print_used_data(p, gpuc_buf_cstr(&functions), out);
    gpuc_buf_str(out, gpuc_buf_cstr(&functions));
    gpuc_buf_deinit(&functions);
    if (w.num_constants) gpuc_buf_printf(out, "\n#[constants]\n%s", gpuc_buf_cstr(&w.constants));
    gpuc_buf_deinit(&w.constants);
}
