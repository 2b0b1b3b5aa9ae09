/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the model, inlined: each call becomes the function's nodes, with the call's names for its
 * inputs and outputs, names of their own for what is between, and the call's attributes where nodes refer
 * to them. */
#include <string.h>

#include "onnx/onnx.h"

/* Functions that call functions multiply. */
enum { MAX_NESTED = 64, MAX_BYTES = 256 << 20 };

/* A call whose body is being copied. */
typedef struct call {
    const struct call *outer; /* NULL: the graph itself */
    const Onnx__FunctionProto *f;
    const Onnx__NodeProto *node; /* names and attributes are those of the graph */
    int64_t opset;
    int number;
    gpuc_strmap names; /* of the function -> of the graph */
} call;

typedef struct inliner {
    gpuc_onnx *m;
    gpuc_ctx *ctx;
    gpuc_onnx_items *out;
    size_t capacity, bytes;
    int num_calls;
    gpuc_strmap functions; /* "domain:name:overload" -> Onnx__FunctionProto */
} inliner;

static const char *text(const char *s)
{
    return s ? s : "";
}

static const char *key_of(gpuc_ctx *ctx, const char *domain, const char *name, const char *overload)
{
    return gpuc_ctx_printf(ctx, "%s:%s:%s", gpuc_onnx_domain(domain), text(name), text(overload));
}

static void charge(inliner *in, size_t bytes)
{
    in->bytes += bytes;
    if (in->bytes > MAX_BYTES)
        gpuc_raise(in->ctx, GPUC_UNSUPPORTED,
                   "the model's functions call each other too often to be inlined (%d MB of nodes)",
                   MAX_BYTES >> 20);
}

static void push(inliner *in, const Onnx__NodeProto *node, int64_t opset)
{
    gpuc_onnx_items *out = in->out;
    out->at = gpuc_ctx_grow(in->ctx, out->at, out->count, &in->capacity, sizeof *out->at);
    out->at[out->count++] = (gpuc_onnx_item){node, opset};
}

static char *name_of(inliner *in, call *c, const char *name)
{
    if (!*name) return "";
    char *known = gpuc_strmap_get(&c->names, name);
    if (known) return known;
    known = gpuc_ctx_printf(in->ctx, "%s/%s#%d", gpuc_onnx_label(in->ctx, c->node), name, c->number);
    charge(in, strlen(known) + 64);
    gpuc_strmap_set(&c->names, name, known);
    return known;
}

static char **names_of(inliner *in, call *c, size_t n, char *const *names)
{
    char **out = gpuc_new_array(in->ctx, char *, n + 1);
    for (size_t i = 0; i < n; i++) out[i] = name_of(in, c, names[i]);
    return out;
}

/* ---- Attributes ---- */

static const Onnx__AttributeProto *find_attribute(size_t n, Onnx__AttributeProto *const *list,
                                                  const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(text(list[i]->name), name)) return list[i];
    return NULL;
}

/* What a node's attribute is in this call; NULL: not given. */
static Onnx__AttributeProto *attribute_of(inliner *in, const call *c, Onnx__AttributeProto *a)
{
    if (!a->ref_attr_name || !*a->ref_attr_name) return a;
    const Onnx__AttributeProto *from =
        find_attribute(c->node->n_attribute, c->node->attribute, a->ref_attr_name);
    if (!from) from = find_attribute(c->f->n_attribute_proto, c->f->attribute_proto, a->ref_attr_name);
    if (!from) return NULL;
    Onnx__AttributeProto *out = gpuc_ctx_memdup(in->ctx, from, sizeof *out);
    out->name = a->name;
    out->ref_attr_name = NULL;
    return out;
}

static void check_call(inliner *in, const Onnx__FunctionProto *f, const Onnx__NodeProto *p)
{
    const char *label = gpuc_onnx_label(in->ctx, p);
    if (p->n_input > f->n_input || p->n_output > f->n_output)
        gpuc_raise(in->ctx, GPUC_INVALID_DATA,
                   "node '%s' gives function '%s' %zu inputs and %zu outputs; it has %zu and %zu", label,
                   text(f->name), p->n_input, p->n_output, f->n_input, f->n_output);
    for (size_t i = 0; i < p->n_attribute; i++) {
        const char *name = text(p->attribute[i]->name);
        bool known = find_attribute(f->n_attribute_proto, f->attribute_proto, name) != NULL;
        for (size_t k = 0; k < f->n_attribute; k++) known = known || !strcmp(f->attribute[k], name);
        if (!known)
            gpuc_raise(in->ctx, GPUC_INVALID_DATA, "node '%s': function '%s' has no attribute '%s'", label,
                       text(f->name), name);
    }
}

static void check_nesting(inliner *in, const call *c)
{
    int depth = 0;
    for (const call *o = c->outer; o; o = o->outer, depth++)
        if (o->f == c->f)
            gpuc_raise(in->ctx, GPUC_UNSUPPORTED, "function '%s' calls itself (by node '%s')",
                       text(c->f->name), gpuc_onnx_label(in->ctx, c->node));
    if (depth >= MAX_NESTED)
        gpuc_raise(in->ctx, GPUC_UNSUPPORTED, "function '%s' is called by more than %d functions around it",
                   text(c->f->name), MAX_NESTED);
}

/* ---- Bodies ---- */

/* An output that is an input, or an output twice, has no node of its own in the function. */
static void pass_through(inliner *in, const call *c, const char *from, char *to)
{
    static char identity[] = "Identity";
    Onnx__NodeProto *p = gpuc_new(in->ctx, Onnx__NodeProto);
    gpuc_onnx__node_proto__init(p);
    p->op_type = identity;
    p->name = (char *)gpuc_onnx_label(in->ctx, c->node);
    p->n_input = p->n_output = 1;
    p->input = gpuc_new_array(in->ctx, char *, 1);
    p->output = gpuc_new_array(in->ctx, char *, 1);
    p->input[0] = (char *)from;
    p->output[0] = to;
    push(in, p, c->opset);
}

static void name_interface(inliner *in, call *c)
{
    const Onnx__FunctionProto *f = c->f;
    const Onnx__NodeProto *p = c->node;
    for (size_t i = 0; i < f->n_input; i++) {
        if (gpuc_strmap_has(&c->names, f->input[i]))
            gpuc_raise(in->ctx, GPUC_INVALID_DATA, "function '%s' has two inputs '%s'", text(f->name),
                       f->input[i]);
        gpuc_strmap_set(&c->names, f->input[i], i < p->n_input ? p->input[i] : "");
    }
    for (size_t i = 0; i < p->n_output; i++) {
        const char *inner = gpuc_strmap_get(&c->names, f->output[i]);
        if (!*p->output[i]) continue;
        if (inner)
            pass_through(in, c, inner, p->output[i]);
        else
            gpuc_strmap_set(&c->names, f->output[i], p->output[i]);
    }
}

static Onnx__NodeProto *copy_node(inliner *in, call *c, const Onnx__NodeProto *p)
{
    gpuc_ctx *ctx = in->ctx;
    Onnx__NodeProto *out = gpuc_ctx_memdup(ctx, p, sizeof *out);
    const char *own = p->name && *p->name ? p->name : text(p->op_type);
    out->name = gpuc_ctx_printf(ctx, "%s/%s", gpuc_onnx_label(ctx, c->node), own);
    charge(in, sizeof *out + strlen(out->name) + 8 * (p->n_input + p->n_output + p->n_attribute));
    out->input = names_of(in, c, p->n_input, p->input);
    out->output = names_of(in, c, p->n_output, p->output);
    out->attribute = gpuc_new_array(ctx, Onnx__AttributeProto *, p->n_attribute + 1);
    out->n_attribute = 0;
    for (size_t i = 0; i < p->n_attribute; i++) {
        Onnx__AttributeProto *a = attribute_of(in, c, p->attribute[i]);
        if (a) out->attribute[out->n_attribute++] = a;
    }
    return out;
}

static void add_node(inliner *in, const call *outer, const Onnx__NodeProto *p, int64_t opset)
{
    const Onnx__FunctionProto *f =
        in->functions.map.count
            ? gpuc_strmap_get(&in->functions, key_of(in->ctx, p->domain, p->op_type, p->overload))
            : NULL;
    if (!f) {
        push(in, p, opset);
        return;
    }
    call c = {.outer = outer, .f = f, .node = p, .number = ++in->num_calls};
    c.opset = gpuc_onnx_default_opset(in->ctx, f->n_opset_import, f->opset_import, opset);
    gpuc_strmap_init(&c.names, in->ctx);
    check_nesting(in, &c);
    check_call(in, f, p);
    name_interface(in, &c);
    for (size_t i = 0; i < f->n_node; i++) add_node(in, &c, copy_node(in, &c, f->node[i]), c.opset);
}

const gpuc_onnx_items *gpuc_onnx_inline(gpuc_onnx *m, const Onnx__GraphProto *g)
{
    inliner in = {.m = m, .ctx = m->ctx, .out = gpuc_new(m->ctx, gpuc_onnx_items)};
    gpuc_strmap_init(&in.functions, m->ctx);
    for (size_t i = 0; i < m->model->n_functions; i++) {
        Onnx__FunctionProto *f = m->model->functions[i];
        const char *key = key_of(m->ctx, f->domain, f->name, f->overload);
        if (gpuc_strmap_has(&in.functions, key))
            gpuc_raise(m->ctx, GPUC_INVALID_DATA, "the model has two functions '%s'", text(f->name));
        gpuc_strmap_set(&in.functions, key, f);
    }
    for (size_t i = 0; i < g->n_node; i++) add_node(&in, NULL, g->node[i], m->opset);
    return in.out;
}
