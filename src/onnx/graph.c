/* SPDX-License-Identifier: Apache-2.0 */
/* A graph: inputs with their shapes, initializers, outputs. */
#include <string.h>

#include "base/buf.h"
#include "onnx/onnx.h"

void gpuc_onnx_define(gpuc_onnx *m, const char *name, gpuc_rexpr *value, const char *what)
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

static const char *dim_name(const Onnx__TensorShapeProto__Dimension *d)
{
    return d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ? d->dim_param : "";
}

/* The number that the model or a pin of the dimension's name gives it; -1: it is open. */
static int64_t fixed_dim(const gpuc_onnx *m, const Onnx__TensorShapeProto__Dimension *d)
{
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        return d->dim_value >= 0 ? d->dim_value : -1;
    const gpuc_shape_pin *pin = *dim_name(d) ? find_pin(m, dim_name(d), true) : NULL;
    return pin ? pin->dims[0] : -1;
}

static const char *word(gpuc_ctx *ctx, const char *text)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, ctx->allocator);
    gpuc_buf_word(&buf, text);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&buf));
    gpuc_buf_deinit(&buf);
    return out;
}

/* "--shape x=1,3,224,224", as one may type it: 1 where the model says nothing. */
static const char *shape_option(const gpuc_onnx *m, const char *input, const Onnx__TensorShapeProto *s)
{
    gpuc_ctx *ctx = m->ctx;
    const char *text = gpuc_ctx_printf(ctx, "%s=", input);
    for (size_t i = 0; i < s->n_dim; i++) {
        int64_t d = fixed_dim(m, s->dim[i]);
        text = gpuc_ctx_printf(ctx, "%s%s%lld", text, i ? "," : "", (long long)(d < 0 ? 1 : d));
    }
    return gpuc_ctx_printf(ctx, "--shape %s", word(ctx, text));
}

static const Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *v)
{
    bool tensor = v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    return tensor ? v->type->tensor_type->shape : NULL;
}

const char *gpuc_onnx_shape_hint(const gpuc_onnx *m)
{
    const Onnx__GraphProto *g = m->model->graph;
    const char *options = "";
    for (size_t i = 0; i < g->n_input; i++) {
        const Onnx__TensorShapeProto *s = shape_of(g->input[i]);
        const gpuc_rexpr *value = gpuc_strmap_get(&m->values, g->input[i]->name ? g->input[i]->name : "");
        if (!s || !value || value->kind == GPUC_REXPR_CONSTANT || find_pin(m, g->input[i]->name, false))
            continue;
        bool open = false;
        for (size_t d = 0; d < s->n_dim; d++) open |= fixed_dim(m, s->dim[d]) < 0;
        if (open) options = gpuc_ctx_printf(m->ctx, "%s %s", options, shape_option(m, g->input[i]->name, s));
    }
    return *options ? gpuc_ctx_printf(m->ctx, "; fix the model's open sizes, such as with%s", options) : "";
}

static gpuc_expr input_dim(gpuc_onnx *m, const char *input, const Onnx__TensorShapeProto *s, int i,
                           const gpuc_shape_pin *pin)
{
    gpuc_ctx *ctx = m->ctx;
    const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
    const char *name = dim_name(d);
    int64_t fixed = fixed_dim(m, d);
    bool stated = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value > 0;
    if (pin && stated && d->dim_value != pin->dims[i])
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "dimension %d of input '%s' is %lld in the model, the given shape says %lld", i, input,
                   (long long)d->dim_value, (long long)pin->dims[i]);
    if (pin) return gpuc_int(ctx, pin->dims[i]);
    if (fixed >= 0) return gpuc_int(ctx, fixed);
    gpuc_expr known = *name ? gpuc_strmap_get(&m->symbols, name) : NULL;
    if (known) return known;
    if (m->options->keep_symbolic) return symbol(m, *name ? name : gpuc_ctx_printf(ctx, "%s_%d", input, i));
    const char *option = shape_option(m, input, s);
    if (!*name)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "dimension %d of input '%s' is not fixed: give the shape, such as %s", i, input, option);
    gpuc_raise(
        ctx, GPUC_INVALID_ARGUMENT,
        "dimension %d ('%s') of input '%s' is not fixed: give the shape, such as %s, or the dimension, "
        "such as --shape %s",
        i, name, input, option, word(ctx, gpuc_ctx_printf(ctx, "%s=1", name)));
}

/* An input without a shape has that of its default. */
static gpuc_expr *default_dims(gpuc_onnx *m, const char *name, int *ndim)
{
    const gpuc_rexpr *e = gpuc_strmap_get(&m->defaults, name);
    if (!e) return NULL;
    *ndim = gpuc_relay_tensor_type(e)->ndim;
    return gpuc_ctx_memdup(m->ctx, gpuc_relay_tensor_type(e)->dims, sizeof(gpuc_expr) * (size_t)*ndim);
}

static void check_default(gpuc_onnx *m, const char *name, const gpuc_tensor_type *t)
{
    const gpuc_rexpr *e = gpuc_strmap_get(&m->defaults, name);
    char want[24], have[24];
    if (!e) return;
    const gpuc_tensor_type *d = gpuc_relay_tensor_type(e);
    int64_t extent, value = 0;
    if (!gpuc_dtype_equal(d->dtype, t->dtype))
        gpuc_raise(m->ctx, GPUC_INVALID_DATA, "input '%s' is of type %s, its initializer of %s", name,
                   gpuc_dtype_name(t->dtype, want), gpuc_dtype_name(d->dtype, have));
    if (d->ndim != t->ndim)
        gpuc_raise(m->ctx, GPUC_INVALID_DATA, "input '%s' has %d dimensions, its initializer %d", name,
                   t->ndim, d->ndim);
    for (int i = 0; i < t->ndim; i++)
        if (gpuc_expr_is_int(t->dims[i], &extent) && gpuc_expr_is_int(d->dims[i], &value) && extent != value)
            gpuc_raise(m->ctx, GPUC_INVALID_DATA,
                       "dimension %d of input '%s' is %lld, of its initializer %lld", i, name,
                       (long long)extent, (long long)value);
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
    int own_ndim = 0;
    gpuc_expr *own = t->shape || pin ? NULL : default_dims(m, name, &own_ndim);
    if (!t->shape && !pin && !own)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s has no shape: give it, such as --shape %s for an image of 224 x 224", where,
                   word(ctx, gpuc_ctx_printf(ctx, "%s=1,3,224,224", name)));
    if (!*name) gpuc_raise(ctx, GPUC_INVALID_DATA, "an input of the graph has no name");
    if (t->shape && t->shape->n_dim > GPUC_OP_MAX_DIMS)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s has %zu dimensions, at most %d are supported", where,
                   t->shape->n_dim, GPUC_OP_MAX_DIMS);
    int ndim = t->shape ? (int)t->shape->n_dim : pin ? pin->ndim : own_ndim;
    if (pin && pin->ndim != ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has %d dimensions, the given shape %d", where, ndim,
                   pin->ndim);
    gpuc_expr *dims = own ? own : gpuc_new_array(ctx, gpuc_expr, ndim);
    for (int i = 0; !own && i < ndim; i++)
        dims[i] = t->shape ? input_dim(m, name, t->shape, i, pin) : gpuc_int(ctx, pin->dims[i]);
    gpuc_rexpr *var = gpuc_relay_var(ctx, name, gpuc_relay_rtype_tensor(ctx, dtype, ndim, dims));
    check_default(m, name, gpuc_relay_tensor_type(var));
    gpuc_onnx_define(m, name, var, "the graph's inputs");
    return var;
}

static void check_pins(gpuc_onnx *m, const Onnx__GraphProto *g)
{
    for (int i = 0; i < m->options->num_pins; i++) {
        const gpuc_shape_pin *pin = &m->options->pins[i];
        bool known = false;
        if (pin->ndim > GPUC_OP_MAX_DIMS)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--shape %s has %d dimensions", pin->name, pin->ndim);
        for (int k = 0; k < (pin->is_dim ? 1 : pin->ndim); k++)
            if (pin->dims[k] < 0)
                gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--shape %s has the extent %lld", pin->name,
                           (long long)pin->dims[k]);
        for (size_t k = 0; k < g->n_input; k++) {
            const Onnx__ValueInfoProto *v = g->input[k];
            if (!pin->is_dim) known |= v->name && !strcmp(v->name, pin->name);
            const Onnx__TensorShapeProto *s = shape_of(v);
            for (size_t d = 0; pin->is_dim && s && d < s->n_dim; d++)
                known |= s->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                         !strcmp(s->dim[d]->dim_param, pin->name);
        }
        if (!known)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--shape names '%s', which is no %s of the model",
                       pin->name, pin->is_dim ? "symbolic dimension" : "input");
    }
}

static bool is_initializer(const gpuc_onnx *m, const char *name)
{
    const gpuc_rexpr *e = gpuc_strmap_get(&m->values, name);
    return e && e->kind == GPUC_REXPR_CONSTANT;
}

/* "node 'x'", or, if no node computes the output, what it is else. */
static const char *maker_of(gpuc_onnx *m, const Onnx__GraphProto *g, const char *output)
{
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            if (!strcmp(g->node[i]->output[k], output))
                return gpuc_ctx_printf(m->ctx, "node '%s' (%s)", gpuc_onnx_label(m->ctx, g->node[i]),
                                       g->node[i]->op_type ? g->node[i]->op_type : "");
    return "an input or initializer";
}

/* The element type that an output declares, if it does, is that of what is computed. */
static void check_output(gpuc_onnx *m, const Onnx__GraphProto *g, const Onnx__ValueInfoProto *v,
                         const gpuc_rexpr *e)
{
    gpuc_ctx *ctx = m->ctx;
    const char *where = gpuc_ctx_printf(ctx, "output '%s'", v->name);
    if (!v->type || v->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !v->type->tensor_type->elem_type)
        return;
    gpuc_dtype declared = gpuc_onnx_dtype(ctx, v->type->tensor_type->elem_type, where),
               made = gpuc_relay_tensor_type(e)->dtype;
    char want[24], have[24];
    if (!gpuc_dtype_equal(declared, made))
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s is declared as %s, but %s gives %s", where,
                   gpuc_dtype_name(declared, want), maker_of(m, g, v->name), gpuc_dtype_name(made, have));
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
        gpuc_rexpr *c = gpuc_relay_with_source(ctx, gpuc_onnx_tensor(m, g->initializer[i], name), name);
        if (gpuc_strmap_has(&m->defaults, name))
            gpuc_raise(ctx, GPUC_INVALID_DATA, "two initializers are named '%s'", name);
        if (gpuc_onnx_is_default(m, g, name) && gpuc_onnx_stays_open(m, g, name))
            gpuc_strmap_set(&m->defaults, name, c);
        else
            gpuc_onnx_define(m, name, c, "the initializers");
    }
    gpuc_onnx_bind_inputs(m, g);
    for (size_t i = 0; i < g->n_input; i++) /* older models list their initializers as inputs too */
        if (!g->input[i]->name || !is_initializer(m, g->input[i]->name))
            gpuc_ptrs_push(ctx, &params, add_input(m, g->input[i]));
    gpuc_onnx_convert_nodes(m, gpuc_onnx_inline(m, g));
    gpuc_rmodule *module = gpuc_rmodule_create(ctx);
    for (size_t i = 0; i < params.count; i++) {
        const char *name = gpuc_as_rvar(params.at[i])->name;
        gpuc_rexpr *value = gpuc_strmap_get(&m->defaults, name);
        if (value) gpuc_strmap_set(&module->defaults, name, value);
    }
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
        check_output(m, g, g->output[i], outs[i]);
    }
    module->num_outputs = (int)g->n_output;
    module->output_names = names;
    gpuc_rmodule_set_main(module, (int)params.count, (gpuc_rexpr *const *)params.at, (int)g->n_output, outs,
                          &m->reads);
    return module;
}
