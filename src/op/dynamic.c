/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators whose extents are tensors, and their types. */
#include "op/dynamic.h"

#include <math.h>
#include <string.h>

#include "tir/tir.h"

static const gpuc_op_dynamic table[] = {
    {"dyn.reshape", "reshape", .n = 1, .from = {{1, "newshape", GPUC_EXTENTS_SHAPE}}},
    {"dyn.tile", "tile", .n = 1, .from = {{1, "reps", GPUC_EXTENTS_SIZES}}},
    {"dyn.broadcast_to", "broadcast_to", .n = 1, .from = {{1, "shape", GPUC_EXTENTS_SIZES}}},
    {"dyn.squeeze", "squeeze", .n = 1, .from = {{1, "axis", GPUC_EXTENTS_AXES}}},
    {"dyn.expand_dims", "expand_dims", .n = 1, .from = {{1, "axis", GPUC_EXTENTS_AXIS}}},
    {"dyn.zeros", "zeros", .n = 1, .from = {{0, "shape", GPUC_EXTENTS_SIZES}}},
    {"dyn.ones", "ones", .n = 1, .from = {{0, "shape", GPUC_EXTENTS_SIZES}}},
    {"dyn.full", "full", .n = 1, .from = {{1, "shape", GPUC_EXTENTS_SIZES}}},
    {"dyn.topk", "topk", .n = 1, .from = {{1, "k", GPUC_EXTENTS_SIZE}}},
    {"dyn.one_hot", "one_hot", .n = 1, .from = {{3, "depth", GPUC_EXTENTS_SIZE}}},
    {"dyn.nn.pad", "nn.pad", .n = 1, .from = {{1, "pad_width", GPUC_EXTENTS_PAIRS}}},
    {"dyn.sparse_to_dense", "sparse_to_dense", .n = 1, .from = {{3, "output_shape", GPUC_EXTENTS_SIZES}}},
    {"dyn.image.resize2d", "image.resize2d", .n = 2,
     .from = {{1, "size", GPUC_EXTENTS_SIZES}, {2, "roi", GPUC_EXTENTS_REALS}}},
    {"dyn.nn.upsampling", "nn.upsampling", .together = "size", .n = 2,
     .from = {{1, "scale_h", GPUC_EXTENTS_SCALE}, {2, "scale_w", GPUC_EXTENTS_SCALE}}},
    {"dyn.nn.upsampling3d", "nn.upsampling3d", .together = "size", .n = 3,
     .from = {{1, "scale_d", GPUC_EXTENTS_SCALE},
              {2, "scale_h", GPUC_EXTENTS_SCALE},
              {3, "scale_w", GPUC_EXTENTS_SCALE}}},
    {"dyn.strided_slice", "strided_slice", .together = "sizes", .own = true, .n = 3,
     .from = {{1, "begin", GPUC_EXTENTS_BOUND},
              {2, "end", GPUC_EXTENTS_BOUND},
              {3, "strides", GPUC_EXTENTS_STEP}}},
    {"arange", "arange", .together = "length", .own = true, .n = 3,
     .from = {{0, "start", GPUC_EXTENTS_BOUND},
              {1, "stop", GPUC_EXTENTS_BOUND},
              {2, "step", GPUC_EXTENTS_STEP}}},
};

const gpuc_op_dynamic *gpuc_op_dynamic_find(const char *name, const gpuc_attrs *attrs)
{
    const gpuc_op_dynamic *d = NULL;
    for (size_t i = 0; i < sizeof table / sizeof table[0] && !d; i++)
        if (!strcmp(table[i].name, name)) d = &table[i];
    if (!d || !d->own) return d;
    const gpuc_attr *given = gpuc_attrs_find(attrs, d->together);
    return given && given->n ? NULL : d;
}

int gpuc_op_dynamic_num(const gpuc_op_dynamic *d, int num_in)
{
    int n = d->n;
    while (n > 0 && d->from[n - 1].input >= num_in) n--;
    return n;
}

int gpuc_op_dynamic_at(const gpuc_op_dynamic *d, int i)
{
    for (int k = 0; k < d->n; k++)
        if (d->from[k].input == i) return k;
    return -1;
}

gpuc_expr gpuc_op_any_size(gpuc_ctx *ctx)
{
    return gpuc_var(ctx, "?", GPUC_INDEX);
}

/* ---- What stands in the inputs ---- */

static bool is_one(gpuc_op_extents_form form)
{
    return form == GPUC_EXTENTS_SIZE || form == GPUC_EXTENTS_AXIS || form == GPUC_EXTENTS_SCALE;
}

int gpuc_op_dynamic_count(gpuc_ctx *ctx, const gpuc_op_dynamic *d, int k, const gpuc_tensor_type *t)
{
    const gpuc_op_extents *x = &d->from[k];
    int64_t count = 1, n = 2;
    bool pairs = x->form == GPUC_EXTENTS_PAIRS;
    for (int i = 0; i < t->ndim; i++) {
        if (!t->dims[i] || !gpuc_expr_is_int(t->dims[i], &n))
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: input %d, %s, must have a known number of elements",
                       d->name, x->input, x->attr);
        count = n > GPUC_TOPI_MAX_DIMS ? GPUC_TOPI_MAX_DIMS + 1 : count * n;
    }
    if (t->ndim > 1 + pairs || (pairs && n != 2))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: input %d, %s, has %d dimensions; it must be %s", d->name,
                   x->input, x->attr, t->ndim,
                   pairs             ? "a pair for each dimension"
                   : is_one(x->form) ? "one number"
                                     : "a list");
    if (is_one(x->form) && count != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: input %d, %s, has %lld elements; it must be one number",
                   d->name, x->input, x->attr, (long long)count);
    if (count > (pairs ? 2 : 1) * GPUC_OP_MAX_DIMS)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: input %d, %s, has more than %d elements", d->name,
                   x->input, x->attr, (pairs ? 2 : 1) * GPUC_OP_MAX_DIMS);
    return (int)count;
}

static bool number_of(gpuc_expr e, double *out)
{
    int64_t v;
    if (e->kind == GPUC_EXPR_FLOAT) {
        *out = gpuc_as_float(e)->value;
        return true;
    }
    if (!gpuc_expr_is_int(e, &v)) return false;
    *out = (double)v;
    return true;
}

bool gpuc_op_dynamic_takes(const gpuc_op_extents *x, int n, const gpuc_expr *elements)
{
    double v;
    bool numbers = true, axes = x->form == GPUC_EXTENTS_AXES || x->form == GPUC_EXTENTS_AXIS,
         factors = x->form == GPUC_EXTENTS_SCALE || x->form == GPUC_EXTENTS_STEP;
    for (int i = 0; i < n; i++) numbers &= number_of(elements[i], &v);
    return numbers || !(axes || factors);
}

/* Integers, which may be written as whole real numbers. */
static const gpuc_attrs *sizes_attr(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_op_extents *x,
                                    const gpuc_attrs *attrs, int n, const gpuc_expr *from)
{
    gpuc_expr *v = gpuc_new_array(ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++) {
        double real;
        int64_t known;
        v[i] = from[i];
        if (v[i]->kind == GPUC_EXPR_FLOAT) {
            bool whole = number_of(v[i], &real) && real == trunc(real) && fabs(real) < 0x1p63;
            if (!whole)
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s has %g, which is no integer", d->name, x->attr,
                           real);
            v[i] = gpuc_int(ctx, (int64_t)real);
        } else if (gpuc_expr_is_int(v[i], &known)) {
            /* The number of dimensions must not depend on elements. */
            if (x->form == GPUC_EXTENTS_SHAPE && (known == -2 || known == -4))
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s has %lld; known are sizes, 0, -1 and -3",
                           d->name, x->attr, (long long)known);
            v[i] = gpuc_int(ctx, known);
        } else if (!gpuc_dtype_equal(v[i]->dtype, GPUC_INDEX)) {
            v[i] = gpuc_cast(ctx, GPUC_INDEX, v[i]);
        }
    }
    return gpuc_attrs_sizes(ctx, attrs, x->attr, n, v);
}

static const gpuc_attrs *reals_attr(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_op_extents *x,
                                    const gpuc_attrs *attrs, int n, const gpuc_expr *from)
{
    double *v = gpuc_new_array(ctx, double, n + 1);
    for (int i = 0; i < n; i++)
        if (!number_of(from[i], &v[i]))
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: %s must be known when building", d->name, x->attr);
    return x->form == GPUC_EXTENTS_SCALE ? gpuc_attrs_float(ctx, attrs, x->attr, v[0])
                                         : gpuc_attrs_floats(ctx, attrs, x->attr, n, v);
}

/* The other row takes what is set only. */
static const gpuc_attrs *set_attrs(gpuc_ctx *ctx, const gpuc_attrs *attrs)
{
    const gpuc_attrs *out = NULL;
    for (int i = 0; attrs && i < attrs->count; i++) {
        const gpuc_attr *a = &attrs->at[i];
        bool unset = a->kind == GPUC_ATTR_DTYPE && !a->dtype.bits;
        if (!unset) out = gpuc_op_attrs_put(ctx, out, a->name, a);
    }
    return out;
}

/* Its own attribute for extents is not there. */
static const gpuc_attrs *without(gpuc_ctx *ctx, const gpuc_attrs *attrs, const char *name)
{
    const gpuc_attrs *out = NULL;
    for (int i = 0; attrs && i < attrs->count; i++)
        if (strcmp(attrs->at[i].name, name))
            out = gpuc_op_attrs_put(ctx, out, attrs->at[i].name, &attrs->at[i]);
    return out;
}

const gpuc_attrs *gpuc_op_dynamic_attrs(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_attrs *attrs,
                                        int num_in, const gpuc_tensor_type *in,
                                        const gpuc_expr *const *elements)
{
    const gpuc_attrs *out = set_attrs(ctx, d->own ? without(ctx, attrs, d->together) : attrs);
    for (int k = 0; k < gpuc_op_dynamic_num(d, num_in); k++) {
        const gpuc_op_extents *x = &d->from[k];
        int n = gpuc_op_dynamic_count(ctx, d, k, &in[x->input]);
        bool reals = x->form == GPUC_EXTENTS_SCALE || x->form == GPUC_EXTENTS_REALS;
        out = reals ? reals_attr(ctx, d, x, out, n, elements[k]) : sizes_attr(ctx, d, x, out, n, elements[k]);
    }
    return out;
}

const gpuc_attrs *gpuc_op_dynamic_sized(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_attrs *attrs,
                                        int n, const gpuc_expr *extents)
{
    return gpuc_attrs_sizes(ctx, set_attrs(ctx, attrs), d->together, n, extents);
}

/* ---- Types ---- */

/* The type of input i of the row, of a call that is written otherwise. */
static gpuc_tensor_type type_of(gpuc_ctx *ctx, const gpuc_op_written *w, int i)
{
    const gpuc_op_input *x = &w->inputs[i];
    if (i >= GPUC_OP_WRITTEN_IN) return w->in[i];
    if (x->from < 0) return x->constant;
    gpuc_tensor_type t = w->in[x->from];
    if (x->columns || x->rows) {
        gpuc_expr *dims = gpuc_ctx_memdup(ctx, t.dims, sizeof *dims * (size_t)t.ndim);
        if (x->columns) dims[t.ndim - 1] = gpuc_int(ctx, x->columns);
        if (x->rows) dims[0] = x->rows;
        t.dims = dims;
    }
    if (x->dims) {
        t.ndim = x->ndim;
        t.dims = x->dims;
    }
    if (x->cast.bits) t.dtype = x->cast;
    return t;
}

/* What the other row says of a call with these inputs and attributes. */
static void infer_as(gpuc_op_call *call, const gpuc_op_dynamic *d, const gpuc_attrs *attrs, int n,
                     const gpuc_tensor_type *in, const gpuc_expr *const *values)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_op *of = gpuc_op_find(d->of);
    gpuc_op_written w = {.ctx = ctx, .op = of, .name = of ? d->name : d->of, .given = attrs, .num_in = n};
    w.in = in;
    w.in_values = values;
    gpuc_op_complete(&w);
    gpuc_op *row = gpuc_ctx_memdup(ctx, w.op, sizeof *row);
    gpuc_tensor_type *types = gpuc_new_array(ctx, gpuc_tensor_type, w.num_in + 1);
    const gpuc_expr **known = gpuc_new_array(ctx, const gpuc_expr *, w.num_in + 1);
    row->name = d->name; /* for messages */
    for (int i = 0; i < w.num_in; i++) {
        types[i] = type_of(ctx, &w, i);
        known[i] = w.changed ? NULL : values[i];
    }
    gpuc_op_call inner = {.ctx = ctx,
                          .op = row,
                          .attrs = w.attrs,
                          .num_in = w.num_in,
                          .in = types,
                          .in_values = known,
                          .out = call->out,
                          .out_values = call->out_values};
    gpuc_op_infer(&inner);
    call->num_out = inner.num_out;
    call->out = inner.out;
    call->out_values = inner.out_values;
    if (w.out_dtype.bits) call->out[0].dtype = w.out_dtype;
}

/* Without the axes, n of them, it is the number of dimensions that is known. */
static void infer_rank(gpuc_op_call *call, gpuc_op_extents_form form, int n)
{
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int64_t ndim = in->ndim - n, more = gpuc_attrs_get_int(call->attrs, "num_newaxis", 1);
    if (form == GPUC_EXTENTS_AXIS) {
        ndim = in->ndim + more;
        if (more < 0 || more > GPUC_TOPI_MAX_DIMS || ndim > GPUC_TOPI_MAX_DIMS)
            gpuc_topi_fail(call, "num_newaxis is %lld, the input has %d dimensions", (long long)more,
                           in->ndim);
    } else if (n > in->ndim) {
        gpuc_topi_fail(call, "axis has %d elements, the input %d dimensions", n, in->ndim);
    } else if (!n) { /* no axis at all means all that are 1 */
        gpuc_topi_fail(call, "axis has no elements");
    }
    for (int i = 0; i < ndim; i++) dims[i] = gpuc_op_any_size(call->ctx);
    gpuc_topi_set_out(call, 0, in->dtype, (int)ndim, dims);
}

static const gpuc_expr *unknown_elements(gpuc_ctx *ctx, gpuc_op_extents_form form, int n)
{
    gpuc_expr *out = gpuc_new_array(ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = form == GPUC_EXTENTS_REALS ? gpuc_int(ctx, 0) : gpuc_op_any_size(ctx);
    return out;
}

/* The elements of the inputs of extents, or NULL; whether all are known. */
static bool find_elements(const gpuc_op_call *call, const gpuc_op_dynamic *d, const gpuc_expr **elements)
{
    bool known = true;
    for (int k = 0; k < gpuc_op_dynamic_num(d, call->num_in); k++) {
        int input = d->from[k].input, count = gpuc_op_dynamic_count(call->ctx, d, k, &call->in[input]);
        elements[k] = call->in_values ? call->in_values[input] : NULL;
        if (elements[k] && !gpuc_op_dynamic_takes(&d->from[k], count, elements[k])) elements[k] = NULL;
        known &= elements[k] != NULL;
    }
    return known;
}

/* Extents that nobody knows, as many as the inputs decide together. */
static const gpuc_attrs *unknown_extents(const gpuc_op_call *call, const gpuc_op_dynamic *d)
{
    gpuc_ctx *ctx = call->ctx;
    int n = d->own ? gpuc_op_dynamic_count(ctx, d, 0, &call->in[d->from[0].input]) : d->n;
    return gpuc_op_dynamic_sized(ctx, d, call->attrs, n, unknown_elements(ctx, GPUC_EXTENTS_SIZES, n));
}

void gpuc_op_dynamic_infer(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_op_dynamic *d = gpuc_op_dynamic_find(call->op->name, call->attrs);
    const gpuc_expr *elements[GPUC_OP_EXTENTS];
    bool known = find_elements(call, d, elements);
    if (!known && d->own) {
        call->attrs = unknown_extents(call, d);
        call->op->infer(call);
        return;
    }
    for (int k = 0; k < d->n && !d->together; k++) {
        gpuc_op_extents_form form = d->from[k].form;
        int count = gpuc_op_dynamic_count(ctx, d, k, &call->in[d->from[k].input]);
        if (elements[k]) continue;
        if (form == GPUC_EXTENTS_AXES || form == GPUC_EXTENTS_AXIS) {
            infer_rank(call, form, count);
            return;
        }
        elements[k] = unknown_elements(ctx, form, count);
    }
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, call->num_in + 1);
    const gpuc_expr **values = gpuc_new_array(ctx, const gpuc_expr *, call->num_in + 1);
    int n = 0;
    for (int i = 0; i < call->num_in; i++) {
        if (gpuc_op_dynamic_at(d, i) >= 0) continue;
        in[n] = call->in[i];
        values[n++] = call->in_values ? call->in_values[i] : NULL;
    }
    const gpuc_attrs *attrs =
        known || !d->together ? gpuc_op_dynamic_attrs(ctx, d, call->attrs, call->num_in, call->in, elements)
                              : unknown_extents(call, d);
    infer_as(call, d, attrs, n, in, values);
}
