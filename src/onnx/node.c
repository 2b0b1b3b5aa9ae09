/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onnx/onnx.h"

const Onnx__AttributeProto *gpuc_onnx_attr(gpuc_onnx_node *n, const char *name)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->proto->attribute[i];
        if (!a->name || strcmp(a->name, name)) continue;
        n->used[i] = true;
        return a;
    }
    return NULL;
}

/* type is missing in files older than IR version 2; then the field that is there tells. */
static void expect(gpuc_onnx_node *n, const Onnx__AttributeProto *a, int type, const char *what)
{
    if (a->has_type && a->type && a->type != type) gpuc_onnx_fail(n, "attribute '%s' is not %s", a->name, what);
}

int64_t gpuc_onnx_int(gpuc_onnx_node *n, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, name);
    if (!a) return otherwise;
    expect(n, a, 2, "an integer");
    return a->i;
}

double gpuc_onnx_float(gpuc_onnx_node *n, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, name);
    if (!a) return otherwise;
    expect(n, a, 1, "a float");
    return (double)a->f;
}

const char *gpuc_onnx_string(gpuc_onnx_node *n, const char *name, const char *otherwise)
{
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, name);
    if (!a) return otherwise;
    expect(n, a, 3, "a string");
    return gpuc_ctx_printf(n->ctx, "%.*s", (int)a->s.len, a->s.data ? (const char *)a->s.data : "");
}

const int64_t *gpuc_onnx_ints(gpuc_onnx_node *n, const char *name, int *count)
{
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, name);
    *count = 0;
    if (!a) return NULL;
    expect(n, a, 7, "a list of integers");
    *count = (int)a->n_ints;
    int64_t *copy = gpuc_new_array(n->ctx, int64_t, a->n_ints + 1);
    if (a->n_ints) memcpy(copy, a->ints, sizeof *copy * a->n_ints);
    return copy;
}

const int64_t *gpuc_onnx_ints_or(gpuc_onnx_node *n, const char *name, int rank, int64_t otherwise)
{
    int count;
    const int64_t *given = gpuc_onnx_ints(n, name, &count);
    if (given && count != rank) gpuc_onnx_fail(n, "attribute '%s' has %d numbers, needs %d", name, count, rank);
    if (given) return given;
    int64_t *list = gpuc_new_array(n->ctx, int64_t, rank);
    for (int i = 0; i < rank; i++) list[i] = otherwise;
    return list;
}

void gpuc_onnx_ignore(gpuc_onnx_node *n, const char *name)
{
    gpuc_onnx_attr(n, name);
}

bool gpuc_onnx_has(const gpuc_onnx_node *n, int i)
{
    return i < n->n_in && n->in[i];
}

gpuc_rexpr *gpuc_onnx_in(gpuc_onnx_node *n, int i)
{
    if (!gpuc_onnx_has(n, i)) gpuc_onnx_fail(n, "input %d is missing", i);
    return n->in[i];
}

const gpuc_tensor_type *gpuc_onnx_type(gpuc_onnx_node *n, int i)
{
    return gpuc_relay_tensor_type(gpuc_onnx_in(n, i));
}

const int64_t *gpuc_onnx_dims(gpuc_onnx_node *n, int i)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, i);
    int64_t *dims = gpuc_new_array(n->ctx, int64_t, t->ndim);
    if (!gpuc_tensor_type_static(t, dims))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "the shape of input %d is not known when building: fix it with --shape", i);
    return dims;
}

static int element_count(gpuc_onnx_node *n, int i)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, i);
    const int64_t *dims = gpuc_onnx_dims(n, i);
    int64_t count = 1;
    if (t->ndim > 1) gpuc_onnx_fail(n, "input %d has %d dimensions, a list is needed", i, t->ndim);
    for (int k = 0; k < t->ndim; k++) count *= dims[k];
    return (int)count;
}

const int64_t *gpuc_onnx_in_ints(gpuc_onnx_node *n, int i, int *count)
{
    gpuc_rexpr *e = gpuc_onnx_in(n, i);
    *count = element_count(n, i);
    int64_t *out = gpuc_new_array(n->ctx, int64_t, *count + 1);
    for (int k = 0; k < *count; k++)
        if (!e->values || !gpuc_expr_is_int(e->values[k], &out[k]))
            gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "input %d ('%s') decides a shape, and is not known when building", i,
                       n->proto->input[i]);
    return out;
}

const double *gpuc_onnx_in_floats(gpuc_onnx_node *n, int i, int *count)
{
    gpuc_rexpr *e = gpuc_onnx_in(n, i);
    *count = element_count(n, i);
    double *out = gpuc_new_array(n->ctx, double, *count + 1);
    if (e->kind != GPUC_REXPR_CONSTANT || gpuc_relay_tensor_type(e)->dtype.code != GPUC_DTYPE_FLOAT)
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "input %d ('%s') must be a constant list of floats", i, n->proto->input[i]);
    for (int k = 0; k < *count; k++)
        out[k] = gpuc_as_float(gpuc_relay_const_element(n->ctx, gpuc_as_rconstant(e), k))->value;
    return out;
}

const int64_t *gpuc_onnx_axes(gpuc_onnx_node *n, const char *attr, int input, int *count)
{
    const int64_t *given = gpuc_onnx_ints(n, attr, count);
    if (given || !gpuc_onnx_has(n, input)) return given;
    return gpuc_onnx_in_ints(n, input, count);
}

int gpuc_onnx_axis(gpuc_onnx_node *n, int64_t axis, int ndim)
{
    if (axis < -ndim || axis >= ndim)
        gpuc_onnx_fail(n, "axis %lld is outside of the %d dimensions of the input", (long long)axis, ndim);
    return (int)(axis < 0 ? axis + ndim : axis);
}

gpuc_rexpr *gpuc_onnx_reshaped(gpuc_onnx_node *n, gpuc_rexpr *x, int ndim, const int64_t *dims)
{
    return gpuc_relay_op1(n->ctx, "reshape", gpuc_attrs_ints(n->ctx, NULL, "newshape", ndim, dims), x);
}

gpuc_rexpr *gpuc_onnx_as(gpuc_onnx_node *n, gpuc_rexpr *x, gpuc_dtype t)
{
    if (gpuc_dtype_equal(gpuc_relay_tensor_type(x)->dtype, t)) return x;
    return gpuc_relay_op1(n->ctx, "cast", gpuc_attrs_dtype(n->ctx, NULL, "dtype", t), x);
}
