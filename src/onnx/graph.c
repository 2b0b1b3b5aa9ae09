/* SPDX-License-Identifier: Apache-2.0 */
/* A graph: inputs with their shapes, initializers, nodes in an order in which they can be converted. */
#include <string.h>

#include "onnx/onnx.h"

static const char *node_label(gpuc_ctx *ctx, const Onnx__NodeProto *p)
{
    if (p->name && *p->name) return p->name;
    return p->n_output && p->output[0] ? p->output[0] : gpuc_ctx_strdup(ctx, "(unnamed)");
}

static void define(gpuc_onnx *m, const char *name, gpuc_rexpr *value, const char *what)
{
    if (gpuc_strmap_has(&m->values, name))
        gpuc_raise(m->ctx, GPUC_INVALID_DATA, "the name '%s' is given to two tensors (the second by %s)",
                   name, what);
    gpuc_strmap_set(&m->values, name, value);
}

/* ---- Inputs ---- */

static const gpuc_shape_pin *find_pin(const gpuc_onnx *m, const char *name, bool is_dim)
{
    for (int i = 0; i < m->options->num_pins; i++)
        if (m->options->pins[i].is_dim == is_dim && !strcmp(m->options->pins[i].name, name))
            return &m->options->pins[i];
    return NULL;
}

static gpuc_expr symbol(gpuc_onnx *m, const char *name)
{
    gpuc_expr v = gpuc_strmap_get(&m->symbols, name);
    if (v) return v;
    v = gpuc_var(m->ctx, name, GPUC_INDEX);
    gpuc_strmap_set(&m->symbols, name, (void *)(uintptr_t)v);
    return v;
}

static gpuc_expr input_dim(gpuc_onnx *m, const char *input, const Onnx__TensorShapeProto__Dimension *d, int i,
                           const gpuc_shape_pin *pin)
{
    gpuc_ctx *ctx = m->ctx;
    bool fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    const char *name =
        d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ? d->dim_param : "";
    if (pin && fixed && d->dim_value != pin->dims[i] && d->dim_value > 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "dimension %d of input '%s' is %lld in the model, the given shape says %lld", i, input,
                   (long long)d->dim_value, (long long)pin->dims[i]);
    if (pin) return gpuc_int(ctx, pin->dims[i]);
    if (fixed && d->dim_value >= 0) return gpuc_int(ctx, d->dim_value);
    const gpuc_shape_pin *value = *name ? find_pin(m, name, true) : NULL;
    if (value) return gpuc_int(ctx, value->dims[0]);
    gpuc_expr known = *name ? gpuc_strmap_get(&m->symbols, name) : NULL;
    if (known) return known;
    if (m->options->keep_symbolic) return symbol(m, *name ? name : gpuc_ctx_printf(ctx, "%s_%d", input, i));
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
               "dimension %d%s%s%s of input '%s' is not fixed: give the shape with --shape %s=..%s%s%s", i,
               *name ? " ('" : "", name, *name ? "')" : "", input, input, *name ? ", or --shape " : "", name,
               *name ? "=1" : "");
}

static gpuc_rexpr *add_input(gpuc_onnx *m, const Onnx__ValueInfoProto *v)
{
    gpuc_ctx *ctx = m->ctx;
    const char *name = v->name ? v->name : "";
    const char *where = gpuc_ctx_printf(ctx, "input '%s'", name);
    if (!v->type || v->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s is not a tensor", where);
    const Onnx__TypeProto__Tensor *t = v->type->tensor_type;
    const gpuc_shape_pin *pin = find_pin(m, name, false);
    gpuc_dtype dtype = gpuc_onnx_dtype(ctx, t->elem_type, where);
    if (!t->shape && !pin)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has no shape: give it with --shape %s=..", where, name);
    if (!*name) gpuc_raise(ctx, GPUC_INVALID_DATA, "an input of the graph has no name");
    if (t->shape && t->shape->n_dim > GPUC_OP_MAX_DIMS)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s has %zu dimensions, at most %d are supported", where,
                   t->shape->n_dim, GPUC_OP_MAX_DIMS);
    int ndim = t->shape ? (int)t->shape->n_dim : pin->ndim;
    if (pin && pin->ndim != ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has %d dimensions, the given shape %d", where, ndim,
                   pin->ndim);
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++)
        dims[i] = t->shape ? input_dim(m, name, t->shape->dim[i], i, pin) : gpuc_int(ctx, pin->dims[i]);
    gpuc_rexpr *var = gpuc_relay_var(ctx, name, gpuc_rtype_tensor(ctx, dtype, ndim, dims));
    define(m, name, var, "the graph's inputs");
    return var;
}

static void check_pins(gpuc_onnx *m, const Onnx__GraphProto *g)
{
    for (int i = 0; i < m->options->num_pins; i++) {
        const gpuc_shape_pin *pin = &m->options->pins[i];
        bool known = false;
        if (pin->ndim > GPUC_OP_MAX_DIMS || (pin->is_dim && !pin->dims))
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--shape %s has %d dimensions", pin->name, pin->ndim);
        for (int k = 0; k < (pin->is_dim ? 1 : pin->ndim); k++)
            if (pin->dims[k] < 0)
                gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--shape %s has the extent %lld", pin->name,
                           (long long)pin->dims[k]);
        for (size_t k = 0; k < g->n_input; k++) {
            const Onnx__ValueInfoProto *v = g->input[k];
            if (!pin->is_dim) known |= v->name && !strcmp(v->name, pin->name);
            const Onnx__TensorShapeProto *s =
                v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
                    ? v->type->tensor_type->shape
                    : NULL;
            for (size_t d = 0; pin->is_dim && s && d < s->n_dim; d++)
                known |= s->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                         !strcmp(s->dim[d]->dim_param, pin->name);
        }
        if (!known)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--shape names '%s', which is no %s of the model",
                       pin->name, pin->is_dim ? "symbolic dimension" : "input");
    }
}

/* ---- Nodes ---- */

typedef struct convert_arg {
    gpuc_onnx_node *n;
    const gpuc_onnx_row *row;
} convert_arg;

static void run_converter(gpuc_ctx *ctx, void *arg)
{
    convert_arg *c = arg;
    const Onnx__NodeProto *p = c->n->proto;
    gpuc_strmap names;
    gpuc_strmap_init(&names, ctx);
    for (size_t i = 0; i < p->n_attribute; i++) {
        const char *name = p->attribute[i]->name;
        if (!name) gpuc_raise(ctx, GPUC_INVALID_DATA, "an attribute has no name");
        if (gpuc_strmap_has(&names, name))
            gpuc_raise(ctx, GPUC_INVALID_DATA, "attribute '%s' is given twice", name);
        gpuc_strmap_set(&names, name, p->attribute[i]);
    }
    c->row->convert(c->n);
    for (size_t i = 0; i < p->n_attribute; i++)
        if (!c->n->used[i])
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "attribute '%s' is not one that %s of opset %lld takes here",
                       p->attribute[i]->name, p->op_type, (long long)c->n->m->opset);
}

static void convert(gpuc_onnx *m, const Onnx__NodeProto *p)
{
    gpuc_ctx *ctx = m->ctx;
    const char *label = node_label(ctx, p), *op = p->op_type ? p->op_type : "";
    if (p->domain && *p->domain && strcmp(p->domain, "ai.onnx"))
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "node '%s': operator %s of domain '%s' is not supported", label, op,
                   p->domain);
    const gpuc_onnx_row *row = gpuc_onnx_find(op, m->opset), *any = gpuc_onnx_find(op, INT64_MAX);
    if (!row && any)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "node '%s': operator %s is of opset %d and later, the model uses opset %lld", label, op,
                   any->from, (long long)m->opset);
    if (!row) {
        const char *near = gpuc_onnx_nearest(m->ctx, op);
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "node '%s': operator %s is not supported%s%s%s", label, op,
                   near ? " (a similar name: " : "", near ? near : "", near ? ")" : "");
    }
    if (!p->n_output) gpuc_raise(ctx, GPUC_INVALID_DATA, "node '%s' (%s) has no outputs", label, op);
    gpuc_onnx_node n = {.m = m,
                        .ctx = ctx,
                        .proto = p,
                        .relay = row->relay,
                        .n_in = (int)p->n_input,
                        .n_out = (int)p->n_output};
    n.in = gpuc_new_array(ctx, gpuc_rexpr *, p->n_input + 1);
    n.out = gpuc_new_array(ctx, gpuc_rexpr *, p->n_output + 1);
    n.used = gpuc_new_array(ctx, bool, p->n_attribute + 1);
    for (size_t i = 0; i < p->n_input; i++)
        n.in[i] = *p->input[i] ? gpuc_strmap_get(&m->values, p->input[i]) : NULL;
    convert_arg arg = {&n, row};
    uint32_t first_id = ctx->next_id;
    gpuc_status status = gpuc_ctx_protect(ctx, run_converter, &arg);
    if (status) gpuc_ctx_raise_status(ctx, gpuc_error_prefix(status, "node '%s' (%s)", label, op));
    for (size_t i = 0; i < p->n_output; i++) {
        if (!*p->output[i]) continue;
        if (!n.out[i])
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "node '%s' (%s): output %zu is not supported", label, op, i);
        gpuc_relay_mark_source(ctx, n.out[i], first_id, label);
        define(m, p->output[i], n.out[i], label);
    }
}

/* Nodes wait for their inputs: Kahn's algorithm, so that the order in the file does not matter. */
typedef struct scheduler {
    gpuc_onnx *m;
    const Onnx__GraphProto *g;
    int *missing;        /* per node */
    gpuc_strmap waiting; /* name -> gpuc_ptrs of node number + 1 */
    gpuc_ptrs ready;
} scheduler;

static void wait_for(scheduler *s, const char *name, size_t node)
{
    gpuc_ptrs *list = gpuc_strmap_get(&s->waiting, name);
    if (!list) {
        list = gpuc_new(s->m->ctx, gpuc_ptrs);
        gpuc_strmap_set(&s->waiting, name, list);
    }
    gpuc_ptrs_push(s->m->ctx, list, (void *)(node + 1));
}

static void announce(scheduler *s, const char *name)
{
    const gpuc_ptrs *list = gpuc_strmap_get(&s->waiting, name);
    for (size_t i = 0; list && i < list->count; i++) {
        size_t node = (size_t)list->at[i] - 1;
        if (--s->missing[node] == 0) gpuc_ptrs_push(s->m->ctx, &s->ready, (void *)(node + 1));
    }
}

static void explain_stuck(scheduler *s, gpuc_strmap *produced)
{
    for (size_t i = 0; i < s->g->n_node; i++) {
        const Onnx__NodeProto *p = s->g->node[i];
        if (!s->missing[i]) continue;
        for (size_t k = 0; k < p->n_input; k++)
            if (*p->input[k] && !gpuc_strmap_has(&s->m->values, p->input[k]) &&
                !gpuc_strmap_has(produced, p->input[k]))
                gpuc_raise(s->m->ctx, GPUC_INVALID_DATA, "node '%s' (%s): input '%s' is not made by any node",
                           node_label(s->m->ctx, p), p->op_type ? p->op_type : "", p->input[k]);
    }
    for (size_t i = 0; i < s->g->n_node; i++)
        if (s->missing[i])
            gpuc_raise(s->m->ctx, GPUC_INVALID_DATA, "the graph has a cycle through node '%s' (%s)",
                       node_label(s->m->ctx, s->g->node[i]),
                       s->g->node[i]->op_type ? s->g->node[i]->op_type : "");
}

static void convert_nodes(gpuc_onnx *m, const Onnx__GraphProto *g)
{
    gpuc_ctx *ctx = m->ctx;
    scheduler s = {.m = m, .g = g, .missing = gpuc_new_array(ctx, int, g->n_node + 1)};
    gpuc_strmap produced;
    gpuc_strmap_init(&s.waiting, ctx);
    gpuc_strmap_init(&produced, ctx);
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];
        for (size_t k = 0; k < p->n_output; k++) {
            if (!*p->output[k]) continue;
            if (gpuc_strmap_has(&produced, p->output[k]) || gpuc_strmap_has(&m->values, p->output[k]))
                gpuc_raise(ctx, GPUC_INVALID_DATA,
                           "the name '%s' is given to two tensors (the second by node '%s')", p->output[k],
                           node_label(ctx, p));
            gpuc_strmap_set(&produced, p->output[k], (void *)p);
        }
    }
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];
        for (size_t k = 0; k < p->n_input; k++) {
            if (!*p->input[k] || gpuc_strmap_has(&m->values, p->input[k])) continue;
            s.missing[i]++;
            wait_for(&s, p->input[k], i);
        }
        if (!s.missing[i]) gpuc_ptrs_push(ctx, &s.ready, (void *)(i + 1));
    }
    for (size_t i = 0; i < s.ready.count; i++) {
        const Onnx__NodeProto *p = g->node[(size_t)s.ready.at[i] - 1];
        convert(m, p);
        for (size_t k = 0; k < p->n_output; k++) announce(&s, p->output[k]);
    }
    if (s.ready.count != g->n_node) explain_stuck(&s, &produced);
}

static bool is_initializer(const gpuc_onnx *m, const char *name)
{
    const gpuc_rexpr *e = gpuc_strmap_get(&m->values, name);
    return e && e->kind == GPUC_REXPR_CONSTANT;
}

gpuc_rmodule *gpuc_onnx_graph(gpuc_onnx *m, const Onnx__GraphProto *g)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_ptrs params = {0};
    if (g->n_sparse_initializer) gpuc_raise(ctx, GPUC_UNSUPPORTED, "sparse initializers are not supported");
    check_pins(m, g);
    for (size_t i = 0; i < g->n_initializer; i++) {
        const char *name = g->initializer[i]->name ? g->initializer[i]->name : "";
        if (!*name) gpuc_raise(ctx, GPUC_INVALID_DATA, "initializer %zu has no name", i);
        gpuc_rexpr *c = gpuc_onnx_tensor(m, g->initializer[i], name);
        define(m, name, gpuc_relay_with_source(ctx, c, name), "the initializers");
    }
    gpuc_onnx_bind_inputs(m, g);
    for (size_t i = 0; i < g->n_input; i++) /* older models list their initializers as inputs too */
        if (!g->input[i]->name || !is_initializer(m, g->input[i]->name))
            gpuc_ptrs_push(ctx, &params, add_input(m, g->input[i]));
    convert_nodes(m, g);
    gpuc_rmodule *module = gpuc_rmodule_create(ctx);
    gpuc_rexpr **outs = gpuc_new_array(ctx, gpuc_rexpr *, g->n_output);
    const char **names = gpuc_new_array(ctx, const char *, g->n_output);
    gpuc_strmap seen;
    gpuc_strmap_init(&seen, ctx);
    if (!g->n_output) gpuc_raise(ctx, GPUC_INVALID_DATA, "the graph has no outputs");
    for (size_t i = 0; i < g->n_output; i++) {
        names[i] = gpuc_ctx_strdup(ctx, g->output[i]->name ? g->output[i]->name : "");
        if (gpuc_strmap_has(&seen, names[i]))
            gpuc_raise(ctx, GPUC_INVALID_DATA, "the graph has two outputs '%s'", names[i]);
        gpuc_strmap_set(&seen, names[i], module);
        outs[i] = gpuc_strmap_get(&m->values, names[i]);
        if (!outs[i]) gpuc_raise(ctx, GPUC_INVALID_DATA, "output '%s' is not made by any node", names[i]);
    }
    module->num_outputs = (int)g->n_output;
    module->output_names = names;
    gpuc_rexpr *body = g->n_output == 1 ? outs[0] : gpuc_relay_tuple(ctx, (int)g->n_output, outs);
    gpuc_rexpr *main_fn =
        gpuc_relay_function(ctx, (int)params.count, (gpuc_rexpr *const *)params.at, body, NULL);
    gpuc_strmap_set(&module->functions, "main", main_fn);
    return module;
}
