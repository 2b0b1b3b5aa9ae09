/* SPDX-License-Identifier: Apache-2.0 */
/* What a model says of itself. */
#include <string.h>

#include "onnx/onnx.h"

/* Inputs by name, and how they are used. */
typedef struct use {
    bool is_initializer, shape, other;
} use;

typedef struct describe {
    gpuc_ctx *ctx;
    gpuc_strmap uses;      /* input -> use */
    gpuc_strmap operators; /* "domain:name" -> gpuc_onnx_operator */
} describe;

static const char *text_of(gpuc_ctx *ctx, const char *text)
{
    return text ? gpuc_ctx_strdup(ctx, text) : "";
}

/* ---- Values ---- */

static void set_shape(gpuc_ctx *ctx, const Onnx__TensorShapeProto *shape, gpuc_onnx_value *out)
{
    int64_t *dims = gpuc_new_array(ctx, int64_t, shape->n_dim);
    const char **names = gpuc_new_array(ctx, const char *, shape->n_dim);
    out->has_shape = true;
    out->ndim = (int)shape->n_dim;
    out->dims = dims;
    out->dim_names = names;
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];
        bool fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        dims[i] = fixed && d->dim_value >= 0 ? d->dim_value : -1;
        names[i] = named ? text_of(ctx, d->dim_param) : "";
    }
}

static gpuc_onnx_value value_of(gpuc_ctx *ctx, const Onnx__ValueInfoProto *v)
{
    gpuc_onnx_value out = {.name = text_of(ctx, v->name)};
    if (!v->type || v->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return out;
    const Onnx__TypeProto__Tensor *t = v->type->tensor_type;
    out.is_tensor = true;
    out.elem_type = t->elem_type;
    gpuc_onnx_dtype_of(t->elem_type, &out.dtype);
    if (t->shape) set_shape(ctx, t->shape, &out);
    return out;
}

static gpuc_onnx_initializer initializer_of(gpuc_ctx *ctx, const Onnx__TensorProto *t)
{
    int64_t *dims = gpuc_new_array(ctx, int64_t, t->n_dims);
    gpuc_onnx_initializer out = {.name = text_of(ctx, t->name),
                                 .elem_type = t->data_type,
                                 .ndim = (int)t->n_dims,
                                 .dims = dims,
                                 .external = t->data_location == 1};
    gpuc_onnx_dtype_of(t->data_type, &out.dtype);
    if (t->n_dims) memcpy(dims, t->dims, t->n_dims * sizeof *dims);
    return out;
}

/* ---- What nodes do ---- */

static void add_use(describe *d, const char *name, bool shape)
{
    use *u = gpuc_strmap_get(&d->uses, name);
    if (u) *(shape ? &u->shape : &u->other) = true;
}

static void count_operator(describe *d, const Onnx__NodeProto *n)
{
    const char *domain = gpuc_onnx_domain(n->domain), *name = n->op_type ? n->op_type : "";
    const char *key = gpuc_ctx_printf(d->ctx, "%s:%s", domain, name);
    gpuc_onnx_operator *o = gpuc_strmap_get(&d->operators, key);
    if (!o) {
        o = gpuc_new(d->ctx, gpuc_onnx_operator);
        *o = (gpuc_onnx_operator){.domain = text_of(d->ctx, domain), .name = text_of(d->ctx, name)};
        gpuc_strmap_set(&d->operators, key, o);
    }
    o->count++;
}

/* Nodes of inner graphs see the names of outer ones. Nesting was bounded when the file was read. */
static void read_graph(describe *d, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        count_operator(d, n);
        for (size_t k = 0; k < n->n_input; k++)
            add_use(d, n->input[k],
                    !*gpuc_onnx_domain(n->domain) && gpuc_onnx_decides_shape(n->op_type, (int)k));
        for (size_t k = 0; k < n->n_attribute; k++) {
            const Onnx__AttributeProto *a = n->attribute[k];
            if (a->g) read_graph(d, a->g);
            for (size_t j = 0; j < a->n_graphs; j++) read_graph(d, a->graphs[j]);
        }
    }
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name) add_use(d, g->output[i]->name, false);
}

/* ---- All ---- */

static void set_inputs(describe *d, const Onnx__ModelProto *m, gpuc_onnx_description *out)
{
    const Onnx__GraphProto *g = m->graph;
    gpuc_onnx_value *inputs = gpuc_new_array(d->ctx, gpuc_onnx_value, g->n_input);
    bool defaults = m->ir_version >= GPUC_ONNX_FIRST_WITH_DEFAULTS;
    for (size_t i = 0; i < g->n_input; i++) {
        const use *u = gpuc_strmap_get(&d->uses, g->input[i]->name ? g->input[i]->name : "");
        if (u->is_initializer && !defaults) continue;
        gpuc_onnx_value *v = &inputs[out->num_inputs++];
        *v = value_of(d->ctx, g->input[i]);
        v->has_default = u->is_initializer;
        v->decides_shape = u->shape && !u->other;
    }
    out->inputs = inputs;
}

static void set_operators(describe *d, gpuc_onnx_description *out)
{
    const gpuc_map *map = &d->operators.map;
    gpuc_onnx_operator *list = gpuc_new_array(d->ctx, gpuc_onnx_operator, map->count);
    for (uint32_t i = 0; i < map->count; i++) list[i] = *(gpuc_onnx_operator *)map->entries[i].value;
    out->num_operators = (int)map->count;
    out->operators = list;
}

static void set_others(gpuc_ctx *ctx, const Onnx__ModelProto *m, gpuc_onnx_description *out)
{
    const Onnx__GraphProto *g = m->graph;
    gpuc_onnx_value *outputs = gpuc_new_array(ctx, gpuc_onnx_value, g->n_output);
    gpuc_onnx_initializer *initializers = gpuc_new_array(ctx, gpuc_onnx_initializer, g->n_initializer);
    for (size_t i = 0; i < g->n_output; i++) outputs[i] = value_of(ctx, g->output[i]);
    for (size_t i = 0; i < g->n_initializer; i++) initializers[i] = initializer_of(ctx, g->initializer[i]);
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (!*gpuc_onnx_domain(m->opset_import[i]->domain)) out->opset = m->opset_import[i]->version;
    const char *version = m->producer_version ? m->producer_version : "";
    out->ir_version = m->ir_version;
    out->producer = !m->producer_name ? ""
                    : *version        ? gpuc_ctx_printf(ctx, "%s %s", m->producer_name, version)
                                      : text_of(ctx, m->producer_name);
    out->num_outputs = (int)g->n_output;
    out->num_initializers = (int)g->n_initializer;
    out->outputs = outputs;
    out->initializers = initializers;
}

const gpuc_onnx_description *gpuc_onnx_describe_messages(gpuc_ctx *ctx, gpuc_onnx_messages *messages,
                                                         const char *name)
{
    gpuc_ctx_push_cleanup(ctx, gpuc_onnx_free_messages, messages);
    gpuc_onnx_need_graph(ctx, messages, name);
    const Onnx__GraphProto *g = messages->model->graph;
    gpuc_onnx_description *out = gpuc_new(ctx, gpuc_onnx_description);
    describe d = {.ctx = ctx};
    gpuc_strmap_init(&d.uses, ctx);
    gpuc_strmap_init(&d.operators, ctx);
    for (size_t i = 0; i < g->n_input; i++)
        gpuc_strmap_set(&d.uses, g->input[i]->name ? g->input[i]->name : "", gpuc_new(ctx, use));
    for (size_t i = 0; i < g->n_initializer; i++) {
        use *u = gpuc_strmap_get(&d.uses, g->initializer[i]->name ? g->initializer[i]->name : "");
        if (u) u->is_initializer = true;
    }
    read_graph(&d, g);
    set_inputs(&d, messages->model, out);
    set_operators(&d, out);
    set_others(ctx, messages->model, out);
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}

const gpuc_onnx_description *gpuc_onnx_describe(gpuc_ctx *ctx, const char *path)
{
    return gpuc_onnx_describe_messages(ctx, gpuc_onnx_parse_file(ctx, path), path);
}
