/* SPDX-License-Identifier: Apache-2.0 */
/* Gives converters the attributes, inputs and constants of a node, with messages that name it. */
#include <string.h>

#include "onnx/onnx.h"
#include "relay/infer.h"
#include "tir/tir.h"

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
    if (a->has_type && a->type && a->type != type)
        gpuc_onnx_fail(n, "attribute '%s' is not %s", a->name, what);
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
    if (a->s.len && memchr(a->s.data, 0, a->s.len))
        gpuc_onnx_fail(n, "attribute '%s' has a zero byte in its string", name);
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

const double *gpuc_onnx_floats(gpuc_onnx_node *n, const char *name, int *count)
{
    const Onnx__AttributeProto *a = gpuc_onnx_attr(n, name);
    *count = 0;
    if (!a) return NULL;
    expect(n, a, 6, "a list of floats");
    *count = (int)a->n_floats;
    double *copy = gpuc_new_array(n->ctx, double, a->n_floats + 1);
    for (size_t i = 0; i < a->n_floats; i++) copy[i] = (double)a->floats[i];
    return copy;
}

const int64_t *gpuc_onnx_ints_or(gpuc_onnx_node *n, const char *name, int rank, int64_t otherwise)
{
    int count;
    const int64_t *given = gpuc_onnx_ints(n, name, &count);
    if (given && count != rank)
        gpuc_onnx_fail(n, "attribute '%s' has %d numbers, needs %d", name, count, rank);
    if (given) return given;
    int64_t *list = gpuc_new_array(n->ctx, int64_t, rank);
    for (int i = 0; i < rank; i++) list[i] = otherwise;
    return list;
}

void gpuc_onnx_ignore(gpuc_onnx_node *n, const char *name)
{
    gpuc_onnx_attr(n, name);
}

bool gpuc_onnx_wants(const gpuc_onnx_node *n, int i)
{
    return i < n->n_out && *n->proto->output[i];
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
    if (!gpuc_relay_tensor_type_static(t, dims))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "the shape of input %d is not known when building%s", i,
                   gpuc_onnx_shape_hint(n->m));
    return dims;
}

int64_t gpuc_onnx_dim(gpuc_onnx_node *n, int i, int k)
{
    int64_t d;
    if (!gpuc_expr_is_int(gpuc_onnx_type(n, i)->dims[k], &d))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "dimension %d of input %d is not known when building%s", k, i,
                   gpuc_onnx_shape_hint(n->m));
    return d;
}

static gpuc_expr elements(gpuc_ctx *ctx, const gpuc_tensor_type *t, int from, int to)
{
    gpuc_expr count = gpuc_int(ctx, 1);
    for (int k = from; k < to; k++) count = gpuc_mul(ctx, count, t->dims[k]);
    return count;
}

gpuc_expr gpuc_onnx_elements(gpuc_onnx_node *n, int i, int to)
{
    return elements(n->ctx, gpuc_onnx_type(n, i), 0, to);
}

gpuc_rexpr *gpuc_onnx_matrix(gpuc_onnx_node *n, gpuc_rexpr *x, int axis)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr matrix[2] = {elements(n->ctx, t, 0, axis), elements(n->ctx, t, axis, t->ndim)};
    return gpuc_onnx_reshaped_sizes(n, x, 2, matrix);
}

/* ---- Values that converters need: small graphs of constants and shapes are evaluated on the spot ---- */

typedef struct frame {
    gpuc_rexpr *e;
    int next;
} frame;

static gpuc_rexpr *folded(gpuc_onnx *m, gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_CONSTANT ? e : gpuc_map_get(&m->folded, e);
}

/* What e becomes when its operands are folded; NULL: it does not fold. */
static gpuc_rexpr *fold_one(gpuc_onnx *m, gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_GET) {
        gpuc_rexpr *tuple = folded(m, gpuc_as_rget(e)->tuple);
        return tuple ? gpuc_relay_get(m->ctx, tuple, gpuc_as_rget(e)->index) : NULL;
    }
    if (!gpuc_relay_call_op(e)) return NULL;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **args = gpuc_new_array(m->ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++)
        if (!(args[i] = folded(m, c->args[i]))) args[i] = c->args[i];
    gpuc_rexpr *call = gpuc_relay_call(m->ctx, c->callee, c->attrs, c->n, args);
    call->type = e->type;
    call->values = e->values;
    return gpuc_relay_evaluate_call(m->ctx, call, &m->budget);
}

static gpuc_rexpr *fold(gpuc_onnx *m, gpuc_rexpr *root)
{
    gpuc_ctx *ctx = m->ctx;
    size_t capacity = 0, depth = 0;
    frame *stack = gpuc_ctx_grow(ctx, NULL, 0, &capacity, sizeof *stack);
    stack[depth++] = (frame){root, 0};
    while (depth) {
        frame *top = &stack[depth - 1];
        gpuc_rexpr *e = top->e, *child = NULL;
        if (folded(m, e)) {
            depth--;
            continue;
        }
        bool leaf = e->values && gpuc_relay_call_op(e); /* known without its operands */
        while (!leaf && (child = gpuc_relay_child(e, top->next)) &&
               (child->kind == GPUC_REXPR_OP || folded(m, child)))
            top->next++;
        if (child) {
            if (!gpuc_relay_call_op(child) && child->kind != GPUC_REXPR_GET) return NULL;
            stack = gpuc_ctx_grow(ctx, stack, depth, &capacity, sizeof *stack);
            stack[depth++] = (frame){child, 0};
            continue;
        }
        gpuc_rexpr *out = fold_one(m, e);
        if (!out) return NULL; /* then nothing above folds either */
        gpuc_map_set(&m->folded, e, out);
        depth--;
    }
    return folded(m, root);
}

const gpuc_rconstant *gpuc_onnx_constant(gpuc_onnx_node *n, gpuc_rexpr *e)
{
    gpuc_rexpr *known = fold(n->m, e);
    return known && known->kind == GPUC_REXPR_CONSTANT ? gpuc_as_rconstant(known) : NULL;
}

const gpuc_rconstant *gpuc_onnx_constant_in(gpuc_onnx_node *n, int i)
{
    return gpuc_onnx_constant(n, gpuc_onnx_in(n, i));
}

int gpuc_onnx_in_count(gpuc_onnx_node *n, int i)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, i);
    const int64_t *dims = gpuc_onnx_dims(n, i);
    int64_t count = t->ndim ? dims[0] : 1;
    if (t->ndim > 1) gpuc_onnx_fail(n, "input %d has %d dimensions, a list is needed", i, t->ndim);
    if (count >= INT32_MAX)
        gpuc_onnx_fail(n, "input %d has %lld elements, a short list is needed", i, (long long)count);
    return (int)count;
}

static const void *element(const gpuc_rconstant *c, int k)
{
    return (const char *)c->data->bytes + (size_t)k * gpuc_dtype_bytes(c->base.type->tensor.dtype);
}

const int64_t *gpuc_onnx_in_ints(gpuc_onnx_node *n, int i, int *count)
{
    gpuc_rexpr *e = gpuc_onnx_in(n, i);
    gpuc_dtype t = gpuc_relay_tensor_type(e)->dtype;
    if (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT)
        gpuc_onnx_fail(n, "input %d is not a list of integers", i);
    *count = gpuc_onnx_in_count(n, i);
    const gpuc_rconstant *c = gpuc_onnx_constant_in(n, i);
    if (!c)
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                   "input %d ('%s') decides a shape, and is not known when building; give the input that it "
                   "comes from with --bind NAME=FILE%s",
                   i, n->proto->input[i], gpuc_onnx_shape_hint(n->m));
    int64_t *out = gpuc_new_array(n->ctx, int64_t, *count + 1);
    for (int k = 0; k < *count; k++) out[k] = gpuc_relay_read_integer(element(c, k), t);
    return out;
}

static double number(gpuc_onnx_node *n, const gpuc_rconstant *c, int k)
{
    gpuc_expr e = gpuc_relay_const_element(n->ctx, c, k);
    return e->kind == GPUC_EXPR_FLOAT ? gpuc_as_float(e)->value : (double)gpuc_as_int(e)->value;
}

static const gpuc_rconstant *need_constant(gpuc_onnx_node *n, int i)
{
    const gpuc_rconstant *c = gpuc_onnx_constant_in(n, i);
    if (!c)
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED,
                   "input %d ('%s') must be a constant, or made of constants and fixed shapes", i,
                   n->proto->input[i]);
    return c;
}

const double *gpuc_onnx_in_floats(gpuc_onnx_node *n, int i, int *count)
{
    *count = gpuc_onnx_in_count(n, i);
    const gpuc_rconstant *c = need_constant(n, i);
    double *out = gpuc_new_array(n->ctx, double, *count + 1);
    for (int k = 0; k < *count; k++) out[k] = number(n, c, k);
    return out;
}

double gpuc_onnx_in_number(gpuc_onnx_node *n, int i)
{
    const int64_t *dims = gpuc_onnx_dims(n, i);
    for (int k = 0; k < gpuc_onnx_type(n, i)->ndim; k++)
        if (dims[k] != 1) gpuc_onnx_fail(n, "input %d must be one number", i);
    return number(n, need_constant(n, i), 0);
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
    gpuc_expr *sizes = gpuc_new_array(n->ctx, gpuc_expr, ndim + 1);
    for (int i = 0; i < ndim; i++) sizes[i] = gpuc_int(n->ctx, dims[i]);
    return gpuc_onnx_reshaped_sizes(n, x, ndim, sizes);
}

gpuc_rexpr *gpuc_onnx_reshaped_sizes(gpuc_onnx_node *n, gpuc_rexpr *x, int ndim, const gpuc_expr *dims)
{
    return gpuc_relay_reshape(n->ctx, x, ndim, dims);
}

gpuc_rexpr *gpuc_onnx_list_of(gpuc_onnx_node *n, int i, int64_t count, const char *otherwise)
{
    gpuc_rexpr *x = gpuc_onnx_in(n, i);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    int64_t have = count;
    bool known = t->ndim == 1 && gpuc_expr_is_int(t->dims[0], &have);
    if (t->ndim != 1 || have != count) gpuc_onnx_fail(n, "%s", otherwise);
    return known ? x : gpuc_onnx_reshaped(n, x, 1, &count);
}

gpuc_rexpr *gpuc_onnx_as(gpuc_onnx_node *n, gpuc_rexpr *x, gpuc_dtype t)
{
    if (gpuc_dtype_equal(gpuc_relay_tensor_type(x)->dtype, t)) return x;
    return gpuc_relay_op1(n->ctx, "cast", gpuc_attrs_dtype(n->ctx, NULL, "dtype", t), x);
}

bool gpuc_onnx_in_empty(gpuc_onnx_node *n, int i)
{
    if (!gpuc_onnx_has(n, i)) return true;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, i);
    int64_t d;
    return t->ndim == 1 && gpuc_expr_is_int(t->dims[0], &d) && d == 0;
}

const gpuc_op *gpuc_onnx_op(gpuc_onnx_node *n)
{
    const char *name = n->proto->op_type;
    const gpuc_op *op = gpuc_op_find_onnx(n->ctx, gpuc_onnx_domain(n->proto->domain), name);
    if (!op) gpuc_raise(n->ctx, GPUC_INTERNAL, "not exactly one operator answers to ONNX's '%s'", name);
    return op;
}

const char *gpuc_onnx_relay(gpuc_onnx_node *n)
{
    return gpuc_onnx_op(n)->name;
}

void gpuc_onnx_simple(gpuc_onnx_node *n)
{
    gpuc_onnx_ignore(n, "consumed_inputs");
    for (int i = 0; i < n->n_in; i++) gpuc_onnx_in(n, i);
    n->out[0] = gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), NULL, n->n_in, n->in);
}
