/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose values are given at build time. */
#include <string.h>

#include "onnx/onnx.h"

/* Operands that say how large a result is, or along which dimensions it is computed, as bits by number. No
 * operand of data is among them. */
typedef struct operands {
    const char *op_type;
    uint32_t bits;
} operands;

#define IN(i) (1u << (i))

static const operands shape_operands[] = {
    {"AffineGrid", IN(1)},
    {"BlackmanWindow", IN(0)},
    {"CenterCropPad", IN(1)},
    {"Col2Im", IN(1) | IN(2)},
    {"ConstantOfShape", IN(0)},
    {"CumSum", IN(1)},
    {"DFT", IN(1) | IN(2)},
    {"Expand", IN(1)},
    {"HammingWindow", IN(0)},
    {"HannWindow", IN(0)},
    {"MaxUnpool", IN(2)},
    {"MelWeightMatrix", IN(0) | IN(1)},
    {"NonMaxSuppression", IN(2)},
    {"OneHot", IN(1)},
    {"Pad", IN(1) | IN(3)},
    {"Range", IN(0) | IN(1) | IN(2)},
    {"ReduceL1", IN(1)},
    {"ReduceL2", IN(1)},
    {"ReduceLogSum", IN(1)},
    {"ReduceLogSumExp", IN(1)},
    {"ReduceMax", IN(1)},
    {"ReduceMean", IN(1)},
    {"ReduceMin", IN(1)},
    {"ReduceProd", IN(1)},
    {"ReduceSum", IN(1)},
    {"ReduceSumSquare", IN(1)},
    {"Reshape", IN(1)},
    {"Resize", IN(1) | IN(2) | IN(3)},
    {"STFT", IN(1) | IN(3)},
    {"Slice", IN(1) | IN(2) | IN(3) | IN(4)},
    {"Split", IN(1)},
    {"Squeeze", IN(1)},
    {"Tile", IN(1) | IN(2)},
    {"TopK", IN(1)},
    {"Trilu", IN(1)},
    {"Unsqueeze", IN(1)},
    {"Upsample", IN(1)},
};

bool gpuc_onnx_decides_shape(const char *op_type, int input)
{
    for (size_t i = 0; i < sizeof shape_operands / sizeof shape_operands[0]; i++)
        if (op_type && !strcmp(shape_operands[i].op_type, op_type))
            return input >= 0 && input < 32 && shape_operands[i].bits >> input & 1;
    return false;
}

static const Onnx__ValueInfoProto *find_input(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; i < g->n_input; i++)
        if (g->input[i]->name && !strcmp(g->input[i]->name, name)) return g->input[i];
    return NULL;
}

bool gpuc_onnx_is_default(const gpuc_onnx *m, const Onnx__GraphProto *g, const char *name)
{
    return m->model->ir_version >= GPUC_ONNX_FIRST_WITH_DEFAULTS && find_input(g, name);
}

bool gpuc_onnx_stays_open(const gpuc_onnx *m, const Onnx__GraphProto *g, const char *name)
{
    if (m->options->constant_defaults) return false;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            if (!strcmp(g->node[i]->input[k], name) && gpuc_onnx_decides_shape(g->node[i]->op_type, (int)k))
                return false;
    return true;
}

/* The extents against those of the model; a symbolic one has this value from here on. */
static void match_dims(gpuc_onnx *m, const gpuc_onnx_bind *b, const Onnx__TensorShapeProto *shape)
{
    gpuc_ctx *ctx = m->ctx;
    if (shape && shape->n_dim != (size_t)b->ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "--bind %s: the value has %d dimensions, the input %zu",
                   b->name, b->ndim, shape->n_dim);
    for (size_t i = 0; shape && i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];
        bool fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (fixed && d->dim_value >= 0 && d->dim_value != b->dims[i])
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "--bind %s: dimension %zu of the value is %lld, that of the input %lld", b->name, i,
                       (long long)b->dims[i], (long long)d->dim_value);
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *d->dim_param &&
            !gpuc_strmap_has(&m->symbols, d->dim_param))
            gpuc_strmap_set(&m->symbols, d->dim_param, (void *)(uintptr_t)gpuc_int(ctx, b->dims[i]));
    }
}

static gpuc_rexpr *constant(gpuc_onnx *m, const gpuc_onnx_bind *b, const Onnx__ValueInfoProto *v)
{
    gpuc_ctx *ctx = m->ctx;
    const char *where = gpuc_ctx_printf(ctx, "input '%s'", b->name);
    if (!v->type || v->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s is not a tensor", where);
    const Onnx__TypeProto__Tensor *t = v->type->tensor_type;
    gpuc_dtype dtype = gpuc_onnx_dtype(ctx, t->elem_type, where);
    char have[24], want[24];
    if (!gpuc_dtype_equal(dtype, b->dtype))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "--bind %s: the value is of type %s, the input of %s", b->name,
                   gpuc_dtype_name(b->dtype, have), gpuc_dtype_name(dtype, want));
    if (b->ndim > GPUC_OP_MAX_DIMS)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "--bind %s: %d dimensions, at most %d are supported", b->name,
                   b->ndim, GPUC_OP_MAX_DIMS);
    match_dims(m, b, t->shape);
    gpuc_rexpr *c = gpuc_relay_const_bytes(ctx, dtype, b->ndim, b->dims, b->data);
    gpuc_const_data *data = gpuc_as_rconstant(c)->data;
    for (size_t i = 0; i < data->size && gpuc_dtype_equal(dtype, GPUC_BOOL); i++)
        ((uint8_t *)data->bytes)[i] = ((uint8_t *)data->bytes)[i] != 0;
    return c;
}

void gpuc_onnx_bind_inputs(gpuc_onnx *m, const Onnx__GraphProto *g)
{
    for (int i = 0; i < m->options->num_binds; i++) {
        const gpuc_onnx_bind *b = &m->options->binds[i];
        const Onnx__ValueInfoProto *v = find_input(g, b->name);
        bool replaces = gpuc_onnx_is_default(m, g, b->name);
        for (int k = 0; k < i; k++) replaces &= strcmp(m->options->binds[k].name, b->name) != 0;
        if (gpuc_strmap_has(&m->values, b->name) && !replaces)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--bind %s: the tensor has a value already", b->name);
        if (!v)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "--bind names '%s', which is no input of the model",
                       b->name);
        gpuc_rexpr *c = constant(m, b, v);
        gpuc_strmap_set(&m->values, b->name, gpuc_relay_with_source(m->ctx, c, b->name));
    }
}
