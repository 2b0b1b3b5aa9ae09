/* SPDX-License-Identifier: Apache-2.0 */
/* Types of random programs, and what the prelude defines. */
#include "random_program.h"

#include <ctype.h>

/* ---- Making types ---- */

static bool same(const rp_type *a, const rp_type *b)
{
    if (a->kind != b->kind || a->element != b->element || a->ndim != b->ndim || a->data != b->data ||
        a->n != b->n || a->ret != b->ret || a->param != b->param)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dims[i] != b->dims[i]) return false;
    for (int i = 0; i < a->n; i++)
        if (a->at[i] != b->at[i]) return false;
    return true;
}

static const rp_type *intern(rp_program *p, rp_type t)
{
    for (size_t i = 0; i < p->types.count; i++)
        if (same(p->types.at[i], &t)) return p->types.at[i];
    t.vars = t.kind == RP_PARAM ? 1u << t.param : t.ret ? t.ret->vars : 0;
    for (int i = 0; i < t.n; i++) t.vars |= t.at[i]->vars;
    rp_type *made = gpuc_ctx_memdup(p->ctx, &t, sizeof t);
    gpuc_ptrs_push(p->ctx, &p->types, made);
    return made;
}

static const rp_type *with_parts(rp_program *p, rp_type t, int n, const rp_type *const *at)
{
    GPUC_CHECK(n <= RP_FIELDS);
    t.n = n;
    for (int i = 0; i < n; i++) t.at[i] = at[i];
    return intern(p, t);
}

const rp_type *rp_tensor(rp_program *p, rp_element element, int ndim, const int *dims)
{
    rp_type t = {.kind = RP_TENSOR, .element = element, .ndim = ndim};
    for (int i = 0; i < ndim; i++) t.dims[i] = dims[i];
    return intern(p, t);
}

const rp_type *rp_scalar(rp_program *p, rp_element element)
{
    return rp_tensor(p, element, 0, NULL);
}

const rp_type *rp_tuple(rp_program *p, int n, const rp_type *const *fields)
{
    return with_parts(p, (rp_type){.kind = RP_TUPLE}, n, fields);
}

const rp_type *rp_fn(rp_program *p, int n, const rp_type *const *params, const rp_type *ret)
{
    return with_parts(p, (rp_type){.kind = RP_FN, .ret = ret}, n, params);
}

const rp_type *rp_data_of(rp_program *p, const rp_data *data, const rp_type *const *args)
{
    return with_parts(p, (rp_type){.kind = RP_DATA, .data = data}, data->num_params, args);
}

const rp_type *rp_param(rp_program *p, int number)
{
    return intern(p, (rp_type){.kind = RP_PARAM, .param = number});
}

const rp_type *rp_substitute(rp_program *p, const rp_type *t, const rp_type *const *args)
{
    const rp_type *at[RP_FIELDS];
    if (!t->vars) return t;
    if (t->kind == RP_PARAM) return args[t->param];
    rp_type out = *t;
    for (int i = 0; i < t->n; i++) at[i] = rp_substitute(p, t->at[i], args);
    if (t->ret) out.ret = rp_substitute(p, t->ret, args);
    return with_parts(p, out, t->n, at);
}

bool rp_fits(const rp_type *schema, const rp_type *t, const rp_type **args)
{
    if (schema->kind == RP_PARAM) {
        if (!args[schema->param]) args[schema->param] = t;
        return args[schema->param] == t;
    }
    if (!schema->vars) return schema == t;
    if (schema->kind != t->kind || schema->n != t->n || schema->data != t->data) return false;
    for (int i = 0; i < t->n; i++)
        if (!rp_fits(schema->at[i], t->at[i], args)) return false;
    return !t->ret || rp_fits(schema->ret, t->ret, args);
}

int rp_count(const rp_type *tensor)
{
    int n = 1;
    for (int i = 0; i < tensor->ndim; i++) n *= tensor->dims[i];
    return n;
}

const rp_data *rp_find_data(const rp_program *p, const char *name)
{
    for (size_t i = 0; i < p->data.count; i++)
        if (!strcmp(((const rp_data *)p->data.at[i])->name, name)) return p->data.at[i];
    return NULL;
}

bool rp_is_generic(const rp_function *f)
{
    return f->num_types > 0;
}

/* ---- Text ---- */

static const char *const element_names[] = {"bool", "int8", "int32", "int64", "float32"};

static void list_text(gpuc_buf *out, int n, const rp_type *const *at)
{
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(out, ", ");
        rp_type_text(out, at[i]);
    }
}

void rp_type_text(gpuc_buf *out, const rp_type *t)
{
    switch (t->kind) {
    case RP_TENSOR:
        if (!t->ndim) {
            gpuc_buf_str(out, element_names[t->element]);
            break;
        }
        for (int i = 0; i < t->ndim; i++) gpuc_buf_printf(out, i ? ", %d" : "Tensor[(%d", t->dims[i]);
        gpuc_buf_printf(out, "), %s]", element_names[t->element]);
        break;
    case RP_TUPLE:
        gpuc_buf_str(out, "(");
        list_text(out, t->n, t->at);
        gpuc_buf_str(out, t->n == 1 ? ",)" : ")");
        break;
    case RP_FN:
        gpuc_buf_str(out, "fn (");
        list_text(out, t->n, t->at);
        gpuc_buf_str(out, ") -> ");
        rp_type_text(out, t->ret);
        break;
    case RP_DATA:
        gpuc_buf_str(out, t->data->name);
        if (t->n) {
            gpuc_buf_str(out, "[");
            list_text(out, t->n, t->at);
            gpuc_buf_str(out, "]");
        }
        break;
    case RP_PARAM: gpuc_buf_printf(out, "%c", 'A' + t->param); break;
    }
}

const char *rp_function_type(const rp_program *p, const rp_function *f)
{
    gpuc_buf out;
    gpuc_buf_init(&out, p->ctx->allocator);
    gpuc_buf_str(&out, "fn ");
    for (int i = 0; i < f->num_types; i++) gpuc_buf_printf(&out, i ? ", %c" : "[%c", 'A' + i);
    gpuc_buf_str(&out, f->num_types ? "](" : "(");
    list_text(&out, f->n, f->params);
    gpuc_buf_str(&out, ") -> ");
    rp_type_text(&out, f->ret);
    const char *text = gpuc_ctx_strdup(p->ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

/* ---- The prelude ---- */

static const rp_type *parse(rp_program *p, const char **at);

static int parse_list(rp_program *p, const char **at, char close, const rp_type **list)
{
    int n = 0;
    for (++*at; **at != close;) {
        list[n++] = parse(p, at);
        *at += strspn(*at, ", ");
    }
    ++*at;
    return n;
}

/* Types of the rows below: A, int32, bool, (A, B), fn(A) -> B, List[A]. */
static const rp_type *parse(rp_program *p, const char **at)
{
    const rp_type *list[RP_FIELDS];
    if (**at == '(') {
        int n = parse_list(p, at, ')', list);
        return rp_tuple(p, n, list);
    }
    size_t length = 0;
    while (isalnum((unsigned char)(*at)[length])) length++;
    const char *name = gpuc_ctx_printf(p->ctx, "%.*s", (int)length, *at);
    *at += length;
    if (!strcmp(name, "fn")) {
        int n = parse_list(p, at, ')', list);
        *at += strlen(" -> ");
        return rp_fn(p, n, list, parse(p, at));
    }
    for (rp_element e = 0; e < RP_ELEMENTS; e++)
        if (!strcmp(name, element_names[e])) return rp_scalar(p, e);
    const rp_data *data = rp_find_data(p, name);
    if (!data) return rp_param(p, *name - 'A');
    if (**at == '[') parse_list(p, at, ']', list);
    return rp_data_of(p, data, list);
}

static void add_data(rp_program *p, const char *name, int num_params, int n, const char *const (*rows)[2])
{
    rp_data *d = gpuc_new(p->ctx, rp_data);
    *d = (rp_data){.name = name, .num_params = num_params, .n = n};
    gpuc_ptrs_push(p->ctx, &p->data, d);
    for (int i = 0; i < n; i++) {
        rp_constructor *c = &d->at[i];
        *c = (rp_constructor){.name = rows[i][0], .tag = i, .data = d};
        const char *at = rows[i][1];
        if (*at) c->n = parse_list(p, &at, ')', c->fields);
    }
}

/* Without what is an error for the empty list, and what need not end. */
static const struct {
    const char *name, *type;
} prelude[] = {
    {"id", "fn(A) -> A"},
    {"compose", "fn(fn(B) -> C, fn(A) -> B) -> fn(A) -> C"},
    {"flip", "fn(fn(A, B) -> C) -> fn(B, A) -> C"},
    {"foldl", "fn(fn(A, B) -> A, A, List[B]) -> A"},
    {"foldr", "fn(fn(A, B) -> B, B, List[A]) -> B"},
    {"length", "fn(List[A]) -> int32"},
    {"sum", "fn(List[int32]) -> int32"},
    {"rev", "fn(List[A]) -> List[A]"},
    {"map", "fn(fn(A) -> B, List[A]) -> List[B]"},
    {"filter", "fn(fn(A) -> bool, List[A]) -> List[A]"},
    {"concat", "fn(List[A], List[A]) -> List[A]"},
    {"zip", "fn(List[A], List[B]) -> List[(A, B)]"},
    {"map_accumr", "fn(fn(A, B) -> (A, C), A, List[B]) -> (A, List[C])"},
    {"map_accuml", "fn(fn(A, B) -> (A, C), A, List[B]) -> (A, List[C])"},
    {"tmap", "fn(fn(A) -> B, Tree[A]) -> Tree[B]"},
    {"size", "fn(Tree[A]) -> int32"},
};

void rp_add_prelude(rp_program *p)
{
    static const char *const list[][2] = {{"Cons", "(A, List[A])"}, {"Nil", ""}};
    static const char *const option[][2] = {{"Some", "(A)"}, {"None", ""}};
    static const char *const tree[][2] = {{"Rose", "(A, List[Tree[A]])"}};
    add_data(p, "List", 1, 2, list);
    add_data(p, "Option", 1, 2, option);
    add_data(p, "Tree", 1, 1, tree);
    for (size_t i = 0; i < sizeof prelude / sizeof *prelude; i++) {
        rp_function *f = gpuc_new(p->ctx, rp_function);
        const char *at = prelude[i].type;
        const rp_type *t = parse(p, &at);
        *f = (rp_function){.name = prelude[i].name, .n = t->n, .ret = t->ret, .type = t, .group = -1};
        for (int k = 0; k < t->n; k++) f->params[k] = t->at[k];
        while (t->vars >> f->num_types) f->num_types++;
        p->functions[p->num_functions++] = f;
    }
}
