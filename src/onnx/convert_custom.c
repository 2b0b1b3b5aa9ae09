/* SPDX-License-Identifier: Apache-2.0 */
/* Converts nodes of operators that the application registered. */
#include "onnx/onnx.h"

static const gpuc_attrs *read_attr(gpuc_onnx_node *n, const gpuc_attr_spec *spec, const gpuc_attrs *a)
{
    const char *name = spec->name;
    int count;
    switch (spec->kind) {
    case GPUC_ATTR_INT: return gpuc_attrs_int(n->ctx, a, name, gpuc_onnx_int(n, name, 0));
    case GPUC_ATTR_FLOAT: return gpuc_attrs_float(n->ctx, a, name, gpuc_onnx_float(n, name, 0));
    case GPUC_ATTR_STRING: return gpuc_attrs_string(n->ctx, a, name, gpuc_onnx_string(n, name, ""));
    case GPUC_ATTR_INTS: {
        const int64_t *ints = gpuc_onnx_ints(n, name, &count);
        return gpuc_attrs_ints(n->ctx, a, name, count, ints);
    }
    case GPUC_ATTR_FLOATS: {
        const double *floats = gpuc_onnx_floats(n, name, &count);
        return gpuc_attrs_floats(n->ctx, a, name, count, floats);
    }
    case GPUC_ATTR_DTYPE:
        return gpuc_attrs_dtype(n->ctx, a, name,
                                gpuc_onnx_dtype(n->ctx, gpuc_onnx_int(n, name, 0),
                                                gpuc_ctx_printf(n->ctx, "attribute '%s'", name)));
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return a;
}

static void own(gpuc_onnx_node *n)
{
    const gpuc_attrs *a = NULL;
    for (const gpuc_attr_spec *spec = gpuc_onnx_op(n)->attrs; spec && spec->name; spec++)
        if (gpuc_onnx_attr(n, spec->name)) a = read_attr(n, spec, a);
    for (int i = 0; i < n->n_in; i++) gpuc_onnx_in(n, i);
    gpuc_rexpr *call = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, n->n_in, n->in);
    int outs = call->type->kind == GPUC_RTYPE_TUPLE ? call->type->n : 1;
    for (int i = 0; i < n->n_out && i < outs; i++)
        n->out[i] = call->type->kind == GPUC_RTYPE_TUPLE ? gpuc_relay_get(n->ctx, call, i) : call;
}

const gpuc_onnx_row gpuc_onnx_own_row = {.convert = own};
