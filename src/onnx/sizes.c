/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that decide a shape. Those that the build cannot know become sizes that the program computes. */
#include "onnx/onnx.h"
#include "relay/infer.h"

enum { MAX_DEPTH = 32 }; /* of lists joined from lists */

static bool is_integer(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_INT || t.code == GPUC_DTYPE_UINT;
}

/* The number of elements of a list whose extent is known; -1: it is no such list. */
static int64_t list_length(const gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t count = 1;
    return t->ndim > 1 || (t->ndim && !gpuc_expr_is_int(t->dims[0], &count)) ? -1 : count;
}

static gpuc_rexpr *make_element(gpuc_onnx_node *n, gpuc_rexpr *list, int64_t k)
{
    int64_t one = 1;
    if (list_length(list) > 1) {
        const gpuc_attrs *a = gpuc_attrs_ints(n->ctx, NULL, "begin", 1, &k);
        a = gpuc_attrs_ints(n->ctx, gpuc_attrs_ints(n->ctx, a, "sizes", 1, &one), "strides", 1, &one);
        list = gpuc_onnx_op1(n, "strided_slice", a, list);
    }
    return gpuc_onnx_as(n, gpuc_onnx_reshaped(n, list, 0, NULL), GPUC_INT64);
}

/* The elements of a list that is computed: the same ones for every node that asks. */
static gpuc_rexpr **elements(gpuc_onnx_node *n, gpuc_rexpr *list)
{
    int64_t count = list_length(list);
    gpuc_rexpr **out = gpuc_map_get(&n->m->elements, list);
    if (out) return out;
    if (count > GPUC_OP_MAX_VALUES)
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "a list of %lld numbers decides a shape, %d are supported",
                   (long long)count, GPUC_OP_MAX_VALUES);
    out = gpuc_new_array(n->ctx, gpuc_rexpr *, count + 1);
    for (int64_t k = 0; k < count; k++) out[k] = make_element(n, list, k);
    gpuc_map_set(&n->m->elements, list, out);
    return out;
}

/* The list whose one number e is, perhaps with another shape or integer type. */
static gpuc_rexpr *same_number(gpuc_rexpr *e)
{
    static const char *const keep[] = {"expand_dims", "reshape", "squeeze", "cast", "identity"};
    for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++) {
        if (!gpuc_relay_is_op(e, keep[i])) continue;
        gpuc_rexpr *from = gpuc_as_rcall(e)->args[0];
        return list_length(from) == 1 && is_integer(gpuc_relay_tensor_type(from)->dtype) ? from : NULL;
    }
    return NULL;
}

/* Lists are often joined from single numbers, some of which are known. */
static void numbers(gpuc_onnx_node *n, gpuc_rexpr *e, int depth, gpuc_onnx_size *out)
{
    gpuc_ctx *ctx = n->ctx;
    int64_t count = list_length(e);
    const gpuc_rconstant *c = gpuc_onnx_constant(n, e);
    const gpuc_dtype t = gpuc_relay_tensor_type(e)->dtype;
    gpuc_rexpr *from = count == 1 ? same_number(e) : NULL;
    if (c) {
        for (int64_t k = 0; k < count; k++) {
            const char *at = (const char *)c->data->bytes + (size_t)k * gpuc_dtype_bytes(t);
            out[k].known = gpuc_int(ctx, gpuc_relay_read_integer(at, t));
        }
    } else if (e->values) {
        for (int64_t k = 0; k < count; k++) out[k].known = e->values[k];
    } else if (depth < MAX_DEPTH && from) {
        numbers(n, from, depth + 1, out);
    } else if (depth < MAX_DEPTH && gpuc_relay_is_op(e, "concatenate")) {
        const gpuc_rcall *call = gpuc_as_rcall(e);
        for (int i = 0; i < call->n; i++) {
            numbers(n, call->args[i], depth + 1, out);
            out += list_length(call->args[i]);
        }
    } else {
        gpuc_rexpr **at = elements(n, e);
        for (int64_t k = 0; k < count; k++) out[k].number = at[k];
    }
}

gpuc_onnx_size *gpuc_onnx_in_numbers(gpuc_onnx_node *n, int i, int *count)
{
    if (!is_integer(gpuc_onnx_type(n, i)->dtype)) gpuc_onnx_fail(n, "input %d is not a list of integers", i);
    *count = gpuc_onnx_in_count(n, i);
    gpuc_onnx_size *out = gpuc_new_array(n->ctx, gpuc_onnx_size, *count + 1);
    numbers(n, gpuc_onnx_in(n, i), 0, out);
    return out;
}

const gpuc_expr *gpuc_onnx_in_sizes(gpuc_onnx_node *n, int i, int *count)
{
    const gpuc_onnx_size *list = gpuc_onnx_in_numbers(n, i, count);
    gpuc_expr *out = gpuc_new_array(n->ctx, gpuc_expr, *count + 1);
    for (int k = 0; k < *count; k++)
        out[k] = list[k].known ? list[k].known : gpuc_onnx_read_size(n, list[k].number, "size", NULL);
    return out;
}

gpuc_expr gpuc_onnx_read_size(gpuc_onnx_node *n, gpuc_rexpr *number, const char *name, gpuc_expr max)
{
    gpuc_expr known = (gpuc_expr)(uintptr_t)gpuc_map_get(&n->m->read_sizes, number);
    if (known) return known;
    gpuc_rexpr *scalar = gpuc_onnx_as(n, gpuc_onnx_reshaped(n, number, 0, NULL), GPUC_INT64);
    name = gpuc_ctx_printf(n->ctx, "%.40s.%s", gpuc_onnx_label(n->ctx, n->proto), name); /* for messages */
    gpuc_expr out = gpuc_relay_read_size(n->ctx, &n->m->reads, name, scalar, max);
    gpuc_map_set(&n->m->read_sizes, number, (void *)(uintptr_t)out);
    return out;
}

gpuc_expr gpuc_onnx_read_signed(gpuc_onnx_node *n, gpuc_onnx_size size, const char *name)
{
    if (size.known) return size.known;
    gpuc_rexpr *zero = gpuc_onnx_number(n, 0), *min = gpuc_onnx_number(n, -INT64_MAX), *v = size.number;
    gpuc_rexpr *less = gpuc_onnx_op2(n, "subtract", zero, gpuc_onnx_op2(n, "maximum", v, min));
    gpuc_expr above = gpuc_onnx_read_size(n, gpuc_onnx_op2(n, "maximum", v, zero), name, NULL),
              below = gpuc_onnx_read_size(n, gpuc_onnx_op2(n, "maximum", less, zero), name, NULL);
    return gpuc_sub(n->ctx, above, below);
}

gpuc_rexpr *gpuc_onnx_number(gpuc_onnx_node *n, int64_t v)
{
    return gpuc_relay_const_bytes(n->ctx, GPUC_INT64, 0, NULL, &v);
}

gpuc_rexpr *gpuc_onnx_number_of(gpuc_onnx_node *n, gpuc_onnx_size size)
{
    int64_t v;
    if (!size.known) return size.number;
    if (gpuc_expr_is_int(size.known, &v)) return gpuc_onnx_number(n, v);
    const gpuc_attrs *a = gpuc_attrs_sizes(n->ctx, NULL, "values", 1, &size.known);
    a = gpuc_attrs_int(n->ctx, gpuc_attrs_dtype(n->ctx, a, "dtype", GPUC_INT64), "scalar", 1);
    return gpuc_relay_op(n->ctx, "sizes", a, 0, NULL);
}
