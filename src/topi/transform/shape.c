/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give the same bytes another shape, and those that tell a shape. */
#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

/* Elements by linear position; strides of static or symbolic dims. */
static void alias_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], linear = gpuc_topi_num(call, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    const gpuc_tensor_type *in = &call->in[0], *out = &call->out[0];
    for (int k = 0; k < out->ndim; k++) linear = gpuc_add(ctx, gpuc_mul(ctx, linear, out->dims[k]), vars[k]);
    for (int k = in->ndim - 1; k >= 0; k--) {
        index[k] = k ? gpuc_floormod_(ctx, linear, in->dims[k]) : linear;
        if (k) linear = gpuc_floordiv_(ctx, linear, in->dims[k]);
    }
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], in->ndim, index));
}

/* A product of sizes as its factors: a number, and sizes that are not known. */
typedef struct factors {
    int64_t number;
    gpuc_ptrs sizes;
} factors;

static void add_factor(const gpuc_op_call *call, factors *f, gpuc_expr e)
{
    int64_t d;
    if (gpuc_expr_is_int(e, &d)) {
        if (__builtin_mul_overflow(f->number, d, &f->number))
            gpuc_topi_fail(call, "the number of elements does not fit 63 bits");
    } else if (e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == GPUC_TIR_MUL) {
        add_factor(call, f, gpuc_as_op(e)->a[0]);
        add_factor(call, f, gpuc_as_op(e)->a[1]);
    } else {
        gpuc_ptrs_push(call->ctx, &f->sizes, (void *)e);
    }
}

/* Cancels sizes that are factors of both products. */
static void cancel(factors *a, factors *b)
{
    for (size_t i = 0; i < a->sizes.count; i++) {
        size_t k = 0;
        while (k < b->sizes.count && b->sizes.at[k] != a->sizes.at[i]) k++;
        if (k == b->sizes.count) continue;
        b->sizes.at[k] = b->sizes.at[--b->sizes.count];
        a->sizes.at[i--] = a->sizes.at[--a->sizes.count];
    }
}

static gpuc_expr product(const gpuc_op_call *call, const factors *f)
{
    gpuc_expr n = gpuc_topi_num(call, f->number);
    for (size_t i = 0; i < f->sizes.count; i++) n = gpuc_mul(call->ctx, n, f->sizes.at[i]);
    return n;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static gpuc_expr element_count(const gpuc_op_call *call, const gpuc_tensor_type *t)
{
    gpuc_expr n = gpuc_topi_num(call, 1);
    for (int i = 0; i < t->ndim; i++) {
        if (!t->dims[i])
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "%s: dimension %d of the input is unknown",
                       call->op->name, i);
        n = gpuc_mul(call->ctx, n, t->dims[i]);
    }
    return n;
}

static void infer_reshape(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "newshape");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the new shape has %d dimensions", shape->n);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    factors have = {.number = 1}, want = {.number = 1};
    int guess = -1;
    for (int i = 0; i < shape->n; i++) {
        if (shape->ints[i] == -1) {
            if (guess >= 0) gpuc_topi_fail(call, "two dimensions of the new shape are -1");
            guess = i;
            continue;
        }
        dims[i] = gpuc_attr_size(call->ctx, shape, i);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)),
                          "dimension %s of the new shape", gpuc_expr_text(call->ctx, dims[i]));
        add_factor(call, &want, dims[i]);
    }
    for (int i = 0; i < call->in[0].ndim; i++) {
        if (!call->in[0].dims[i])
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "reshape: dimension %d of the input is unknown", i);
        add_factor(call, &have, call->in[0].dims[i]);
    }
    cancel(&have, &want);
    int64_t shared = have.sizes.count ? common_divisor(have.number, want.number) : 1;
    if (shared > 1) {
        have.number /= shared;
        want.number /= shared;
    }
    gpuc_expr count = product(call, &have), known = product(call, &want), zero = gpuc_topi_num(call, 0);
    const char *count_text = gpuc_expr_text(call->ctx, count), *known_text = gpuc_expr_text(call->ctx, known);
    if (guess >= 0) {
        bool whole = want.number == 1 && !want.sizes.count;
        gpuc_expr divides = gpuc_eq(call->ctx, gpuc_floormod_(call->ctx, count, known), zero);
        if (!whole)
            gpuc_topi_require(call, gpuc_and(call->ctx, gpuc_ne(call->ctx, known, zero), divides),
                              "%s elements do not divide into a shape of %s and -1", count_text, known_text);
        dims[guess] = whole ? count : gpuc_floordiv_(call->ctx, count, known);
    } else {
        gpuc_topi_require(call, gpuc_eq(call->ctx, count, known), "%s elements do not fit a shape of %s",
                          count_text, known_text);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, shape->n, dims);
    if (shape->n <= 1) call->out_values[0] = call->in_values[0];
}

static void infer_squeeze(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    bool all = gpuc_attrs_find(call->attrs, "axis")->n == 0;
    gpuc_topi_axis_flags(call, "axis", in->ndim, flags);
    int n = 0;
    for (int i = 0; i < in->ndim; i++) {
        int64_t d = -1;
        if (in->dims[i]) gpuc_expr_is_int(in->dims[i], &d);
        if (flags[i] && d == 1) continue;
        if (flags[i] && !all && in->dims[i]) {
            gpuc_topi_require(call, gpuc_eq(call->ctx, in->dims[i], gpuc_topi_num(call, 1)),
                              "dimension %d is not 1", i);
            continue;
        }
        if (flags[i] && in->dims[i]) /* the rank is that of an extent that is kept */
            gpuc_topi_require(
                call, gpuc_ne(call->ctx, in->dims[i], gpuc_topi_num(call, 1)),
                "dimension %d is 1: name the dimensions to squeeze, or give its size to the build", i);
        dims[n++] = in->dims[i];
    }
    gpuc_topi_set_out(call, 0, in->dtype, n, dims);
    call->out_values[0] = call->in_values[0];
}

static void infer_expand_dims(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *axis = gpuc_attrs_find(call->attrs, "axis");
    int ndim = in->ndim + axis->n, from = 0;
    bool flags[GPUC_TOPI_MAX_DIMS];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (ndim > GPUC_TOPI_MAX_DIMS) gpuc_topi_fail(call, "%d dimensions are too many", ndim);
    gpuc_topi_axis_flags(call, "axis", ndim, flags);
    for (int i = 0; i < ndim; i++) dims[i] = axis->n && flags[i] ? gpuc_topi_num(call, 1) : in->dims[from++];
    gpuc_topi_set_out(call, 0, in->dtype, ndim, dims);
    if (ndim <= 1) call->out_values[0] = call->in_values[0];
}

static void infer_batch_flatten(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    int64_t axis = gpuc_attrs_get_int(call->attrs, "axis", 1);
    if (axis < -in->ndim || axis > in->ndim)
        gpuc_topi_fail(call, "axis=%lld is outside of the %d dimensions of the input", (long long)axis,
                       in->ndim);
    if (axis < 0) axis += in->ndim;
    gpuc_expr dims[2] = {gpuc_topi_num(call, 1), gpuc_topi_num(call, 1)};
    for (int i = 0; i < in->ndim; i++) {
        gpuc_expr *d = &dims[i >= axis];
        *d = *d && in->dims[i] ? gpuc_mul(call->ctx, *d, in->dims[i]) : NULL;
    }
    gpuc_topi_set_out(call, 0, in->dtype, 2, dims);
}

/* The second input has the shape; its elements are not read. */
static void infer_reshape_like(gpuc_op_call *call)
{
    const gpuc_tensor_type *like = &call->in[1];
    gpuc_expr have = element_count(call, &call->in[0]), want = element_count(call, like);
    gpuc_topi_require(call, gpuc_eq(call->ctx, have, want), "%s elements do not fit a shape of %s",
                      gpuc_expr_text(call->ctx, have), gpuc_expr_text(call->ctx, want));
    gpuc_topi_set_out(call, 0, call->in[0].dtype, like->ndim, like->dims);
}

static void infer_ndarray_size(gpuc_op_call *call)
{
    gpuc_expr *count = gpuc_new(call->ctx, gpuc_expr);
    *count = element_count(call, &call->in[0]);
    gpuc_topi_set_out(call, 0, gpuc_attrs_find(call->attrs, "dtype")->dtype, 0, NULL);
    if (!gpuc_is_float(call->out[0].dtype)) call->out_values[0] = count;
}

static void ndarray_size_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    gpuc_expr count = gpuc_cast(call->ctx, call->out[0].dtype, element_count(call, &call->in[0]));
    outs[0] = gpuc_topi_injective(call, 0, NULL, count);
}

/* Sizes as data: numbers that follow from the shapes of inputs. */
static void infer_sizes(gpuc_op_call *call)
{
    const gpuc_attr *values = gpuc_attrs_find(call->attrs, "values");
    gpuc_dtype t = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    bool scalar = gpuc_attrs_get_int(call->attrs, "scalar", 0);
    gpuc_expr n = gpuc_topi_num(call, values->n);
    if (!gpuc_is_integer(t) || (scalar && values->n != 1) || values->n > GPUC_OP_MAX_VALUES)
        gpuc_topi_fail(call, "%d values do not make a short list of integers", values->n);
    gpuc_topi_set_out(call, 0, t, !scalar, &n);
    gpuc_expr *list = gpuc_new_array(call->ctx, gpuc_expr, values->n + 1);
    for (int i = 0; i < values->n; i++) list[i] = gpuc_attr_size(call->ctx, values, i);
    call->out_values[0] = list;
}

static void sizes_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)ins;
    gpuc_ctx *ctx = call->ctx;
    const gpuc_attr *values = gpuc_attrs_find(call->attrs, "values");
    gpuc_expr i, value = values->n ? gpuc_attr_size(ctx, values, values->n - 1) : gpuc_topi_num(call, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], &i);
    for (int k = values->n - 2; k >= 0; k--)
        value =
            gpuc_select(ctx, gpuc_eq(ctx, i, gpuc_topi_num(call, k)), gpuc_attr_size(ctx, values, k), value);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

static void infer_shape_of(gpuc_op_call *call)
{
    gpuc_expr n = gpuc_topi_num(call, call->in[0].ndim);
    gpuc_topi_set_out(call, 0, gpuc_attrs_find(call->attrs, "dtype")->dtype, 1, &n);
    for (int i = 0; i < call->in[0].ndim; i++)
        if (!call->in[0].dims[i]) return;
    /* The empty list of a scalar is known, too. */
    call->out_values[0] = call->in[0].ndim ? call->in[0].dims : gpuc_new_array(call->ctx, gpuc_expr, 1);
}

/* ---- Other spellings ---- */

static bool has_no_elements(const gpuc_tensor_type *t)
{
    for (int i = 0; i < t->ndim; i++)
        if (t->dims[i] && gpuc_tir_is_const(t->dims[i], 0)) return true;
    return false;
}

typedef struct new_dims {
    gpuc_expr at[GPUC_TOPI_MAX_DIMS];
    int n;
    bool back; /* dimensions are counted from the last one */
} new_dims;

static void push_dim(gpuc_op_written *w, new_dims *out, gpuc_expr d)
{
    if (out->n == GPUC_TOPI_MAX_DIMS) gpuc_op_written_fail(w, "the new shape has too many dimensions");
    out->at[out->n++] = d;
}

static gpuc_expr take_dim(gpuc_op_written *w, const new_dims *out, int i)
{
    int ndim = w->in[0].ndim;
    if (i >= ndim) gpuc_op_written_fail(w, "the input has no dimension %d", i);
    return w->in[0].dims[out->back ? ndim - 1 - i : i];
}

/* Entry i of the new shape; returns how many behind it belong to it. */
static int by_code(gpuc_op_written *w, const gpuc_attr *value, int i, bool copies, int *from, new_dims *out)
{
    gpuc_ctx *ctx = w->ctx;
    int64_t code = value->ints[i];
    if (code == 0 && copies) {
        push_dim(w, out, take_dim(w, out, (*from)++));
    } else if (code == -2) {
        while (*from < w->in[0].ndim) push_dim(w, out, take_dim(w, out, (*from)++));
    } else if (code == -3) {
        push_dim(w, out, gpuc_mul(ctx, take_dim(w, out, *from), take_dim(w, out, *from + 1)));
        *from += 2;
    } else if (code == -4) {
        if (i + 2 >= value->n || out->back) gpuc_op_written_fail(w, "-4 must have two sizes behind it");
        gpuc_expr whole = take_dim(w, out, (*from)++), a = gpuc_attr_size(ctx, value, i + 1),
                  b = gpuc_attr_size(ctx, value, i + 2);
        if (gpuc_tir_is_const(a, -1)) a = gpuc_floordiv_(ctx, whole, b);
        if (gpuc_tir_is_const(b, -1)) b = gpuc_floordiv_(ctx, whole, a);
        push_dim(w, out, a);
        push_dim(w, out, b);
        return 2;
    } else if (code < -1 && code != GPUC_ATTR_UNKNOWN) {
        gpuc_op_written_fail(w, "the new shape has %lld; known are sizes, 0 and -1 to -4", (long long)code);
    } else {
        push_dim(w, out, gpuc_attr_size(ctx, value, i));
        (*from)++;
    }
    return 0;
}

/* TVM: 0 is the dimension of the input, -2 all that are left, -3 the product of two, -4 cuts one in two. A 0 for an
 * input without elements is the number, unless allowzero=0 is given. */
static void take_newshape(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_attr *zero = gpuc_attrs_find(w->given, "allowzero");
    bool codes = false, known = w->in && w->num_written > 0;
    if (zero && (zero->kind != GPUC_ATTR_INT || zero->i < 0 || zero->i > 1))
        gpuc_op_written_fail(w, "allowzero must be 0 or 1");
    bool copies = zero ? !zero->i : known && !has_no_elements(&w->in[0]);
    for (int i = 0; value->kind == GPUC_ATTR_INTS && i < value->n; i++)
        codes |=
            (value->ints[i] < -1 && value->ints[i] != GPUC_ATTR_UNKNOWN) || (value->ints[i] == 0 && copies);
    if (!codes || !known) {
        gpuc_op_set_attr(w, spec->to, value);
        return;
    }
    new_dims out = {.back = gpuc_attrs_get_int(w->given, "reverse", 0)};
    int from = 0;
    for (int i = 0; i < value->n;)
        i += 1 + by_code(w, value, out.back ? value->n - 1 - i : i, copies, &from, &out);
    for (int i = 0; out.back && i < out.n / 2; i++) {
        gpuc_expr d = out.at[i];
        out.at[i] = out.at[out.n - 1 - i];
        out.at[out.n - 1 - i] = d;
    }
    gpuc_op_set_sizes(w, spec->to, out.n, out.at);
}

static void take_allowzero(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    if (value->kind != GPUC_ATTR_INT || value->i < 0 || value->i > 1)
        gpuc_op_written_fail(w, "%s must be 0 or 1", spec->name);
    if (!gpuc_attrs_find(w->given, "newshape") && !gpuc_attrs_find(w->given, "shape"))
        gpuc_op_written_fail(w, "attribute '%s' goes with 'newshape', which is missing", spec->name);
}

/* TVM: axis is one number, at which num_newaxis dimensions begin. */
static void take_num_newaxis(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_attr *axis = gpuc_attrs_find(w->attrs, "axis");
    int64_t at[GPUC_TOPI_MAX_DIMS];
    if (value->kind != GPUC_ATTR_INT || value->i < 0 || value->i > GPUC_TOPI_MAX_DIMS)
        gpuc_op_written_fail(w, "%s must be a number of dimensions", spec->name);
    if (!axis || axis->n != 1) gpuc_op_written_fail(w, "%s goes with one axis", spec->name);
    if (!w->in || w->num_written < 1) return;
    int64_t ndim = w->in[0].ndim, first = axis->ints[0] < 0 ? axis->ints[0] + ndim + 1 : axis->ints[0];
    if (first < 0 || first > ndim)
        gpuc_op_written_fail(w, "axis is %lld, outside of the %lld dimensions", (long long)axis->ints[0],
                             (long long)ndim);
    for (int i = 0; i < value->i; i++) at[i] = first + i;
    gpuc_op_set_ints(w, "axis", (int)value->i, at);
}

/* TVM: dimensions [lhs_begin, lhs_end) become [rhs_begin, rhs_end) of the other input. */
static void take_part(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    static const char *const names[] = {"lhs_begin", "lhs_end", "rhs_begin", "rhs_end"};
    int64_t at[4];
    new_dims out = {.n = 0};
    (void)spec;
    (void)value;
    if (!w->in || w->num_written != 2) return;
    for (int i = 0; i < 4; i++) {
        int ndim = w->in[i / 2].ndim;
        const gpuc_attr *a = gpuc_attrs_find(w->given, names[i]);
        if (a && a->kind != GPUC_ATTR_INT)
            gpuc_op_written_fail(w, "attribute '%s' must be an integer", names[i]);
        at[i] = a ? a->i : i % 2 ? ndim : 0;
        if (at[i] < 0) at[i] += ndim;
        if (at[i] < 0 || at[i] > ndim || (i % 2 && at[i] < at[i - 1]))
            gpuc_op_written_fail(w, "%s is %lld, of %d dimensions", names[i], (long long)at[i], ndim);
    }
    for (int i = 0; i < at[0]; i++) push_dim(w, &out, w->in[0].dims[i]);
    for (int64_t i = at[2]; i < at[3]; i++) push_dim(w, &out, w->in[1].dims[i]);
    for (int64_t i = at[1]; i < w->in[0].ndim; i++) push_dim(w, &out, w->in[0].dims[i]);
    w->op = gpuc_op_find("reshape");
    w->num_in = 1;
    w->changed = true;
    gpuc_op_set_sizes(w, "newshape", out.n, out.at);
}
#define PART(nm) SPELLED(nm, INT, take_part, NULL, "which dimensions are replaced")

ATTRS(newshape, SIZES("newshape"),
      SPELLED("newshape", INTS, take_newshape, "newshape", "0: as the input; -2, -3 and -4 as in TVM"),
      SPELLED("shape", INTS, take_newshape, "newshape", NULL),
      SPELLED("reverse", INT, take_allowzero, NULL, "1: dimensions are counted from the last one"),
      SPELLED("allowzero", INT, take_allowzero, NULL, "1: a 0 in newshape is the number"))
ATTRS(part_attrs, PART("lhs_begin"), PART("lhs_end"), PART("rhs_begin"), PART("rhs_end"))
ATTRS(sizes_attrs, SIZES("values"), INT("scalar", 0), DTYPE("dtype"))
ATTRS(axis_list, INTS("axis"))
ATTRS(expand_attrs, INTS("axis"),
      SPELLED("num_newaxis", INT, take_num_newaxis, NULL, "new dimensions from axis on"))
ATTRS(axis_1, INT("axis", 1))
ATTRS(dtype_attrs, DTYPE_OR("dtype", GPUC_INT64))

#define ALIAS(nm, at, inf, tp, nn, on)                                                                       \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .attrs = at, .infer = inf, .compute = alias_compute,           \
        .alias = true, .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on                    \
    }

const gpuc_op gpuc_topi_ops_shape[] = {
    ALIAS("reshape", newshape, infer_reshape, "reshape", "reshape", "Reshape"),
    ALIAS("nn.batch_flatten", axis_1, infer_batch_flatten, "nn.flatten,flatten", "flatten", "Flatten"),
    ALIAS("squeeze", axis_list, infer_squeeze, "squeeze", "squeeze", "Squeeze"),
    ALIAS("expand_dims", expand_attrs, infer_expand_dims, "expand_dims", "expand_dims", "Unsqueeze"),
    MOVES("reshape_like", 2, 2, part_attrs, infer_reshape_like, alias_compute, "", "reshape_like", ""),
    MOVES("ndarray_size", 1, 1, dtype_attrs, infer_ndarray_size, ndarray_size_compute, "ndarray_size", "",
          "Size"),
    MOVES_OF("sizes", 0, 0, sizes_attrs, infer_sizes, sizes_compute, "", "", "", GPUC_T_INTS),
    MOVES("shape_of", 1, 1, dtype_attrs, infer_shape_of, NULL, "shape", "", "Shape"),
};
const size_t gpuc_topi_ops_shape_count = sizeof gpuc_topi_ops_shape / sizeof gpuc_topi_ops_shape[0];
