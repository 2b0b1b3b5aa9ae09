/* SPDX-License-Identifier: Apache-2.0 */
/* Gives operators whose extents are tensors their definitions: extents that the build knows become attributes, others sizes
 * that the program computes and reads before what needs them runs. */
#include <string.h>

#include "relay/count_steps.h"
#include "relay/infer.h"
#include "relay_pass/common/dynamic.h"

typedef struct reader {
    gpuc_ctx *ctx;
    gpuc_ptrs reads;
    gpuc_map numbers; /* tensor -> its elements as scalars of int64 */
    /* The call at hand. */
    const gpuc_rexpr *call;
    const gpuc_op_dynamic *d;
} reader;

/* ---- Numbers that the program computes: scalars of int64 ---- */

static gpuc_rexpr *number(reader *r, int64_t v)
{
    return gpuc_relay_const_bytes(r->ctx, GPUC_INT64, 0, NULL, &v);
}

static gpuc_rexpr *op2(reader *r, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    return gpuc_relay_op2(r->ctx, op, NULL, a, b);
}

static gpuc_rexpr *where(reader *r, gpuc_rexpr *cond, gpuc_rexpr *then, gpuc_rexpr *rest)
{
    gpuc_rexpr *args[] = {cond, then, rest};
    return gpuc_relay_op(r->ctx, "where", NULL, 3, args);
}

/* `then` where x is v, otherwise `rest`. */
static gpuc_rexpr *where_is(reader *r, gpuc_rexpr *x, int64_t v, gpuc_rexpr *then, gpuc_rexpr *rest)
{
    return where(r, op2(r, "equal", x, number(r, v)), then, rest);
}

/* An integer of a number: -1, which is no extent, of a real number that is none. */
static gpuc_rexpr *whole(reader *r, gpuc_rexpr *x)
{
    gpuc_rexpr *out = gpuc_relay_pass_cast(r->ctx, x, GPUC_INT64);
    if (!gpuc_is_float(gpuc_relay_tensor_type(x)->dtype)) return out;
    gpuc_rexpr *down = gpuc_relay_op1(r->ctx, "floor", NULL, x);
    return where(r, op2(r, "equal", x, down), out, number(r, -1));
}

static gpuc_rexpr *size_number(reader *r, gpuc_expr size)
{
    int64_t v;
    if (gpuc_expr_is_int(size, &v)) return number(r, v);
    const gpuc_attrs *a = gpuc_attrs_sizes(r->ctx, NULL, "values", 1, &size);
    a = gpuc_attrs_int(r->ctx, gpuc_attrs_dtype(r->ctx, a, "dtype", GPUC_INT64), "scalar", 1);
    return gpuc_relay_op(r->ctx, "sizes", a, 0, NULL);
}

static gpuc_rexpr *as_scalar(reader *r, gpuc_rexpr *e)
{
    return gpuc_relay_pass_reshape_static(r->ctx, e, 0, NULL);
}

static gpuc_rexpr **numbers_of(reader *r, gpuc_rexpr *list, int n)
{
    gpuc_ctx *ctx = r->ctx;
    gpuc_rexpr **out = gpuc_map_get(&r->numbers, list);
    if (out) return out;
    out = gpuc_new_array(ctx, gpuc_rexpr *, n + 1);
    int64_t count = n, one = 1;
    gpuc_rexpr *flat = gpuc_relay_pass_reshape_static(ctx, list, 1, &count);
    for (int64_t i = 0; i < n; i++) {
        const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", 1, &i);
        a = gpuc_attrs_ints(ctx, gpuc_attrs_ints(ctx, a, "sizes", 1, &one), "strides", 1, &one);
        gpuc_rexpr *element = n > 1 ? gpuc_relay_op1(ctx, "strided_slice", a, flat) : flat;
        out[i] = whole(r, as_scalar(r, element));
    }
    gpuc_map_set(&r->numbers, list, out);
    return out;
}

/* Those of an input of extents: sizes that are known, or what is read of it. */
static gpuc_rexpr *const *extents_of(reader *r, int input, int n)
{
    gpuc_rexpr *list = gpuc_as_rcall(r->call)->args[input];
    if (!list->values) return numbers_of(r, list, n);
    gpuc_rexpr **out = gpuc_new_array(r->ctx, gpuc_rexpr *, n + 1);
    for (int i = 0; i < n; i++) out[i] = size_number(r, list->values[i]);
    return out;
}

static gpuc_expr read_number(reader *r, const char *attr, gpuc_rexpr *v)
{
    const char *name = gpuc_ctx_printf(r->ctx, "%s.%s", r->d->name, attr);
    return gpuc_relay_read_size(r->ctx, &r->reads, name, v, NULL);
}

static gpuc_rexpr *argument(const reader *r, int i)
{
    return gpuc_as_rcall(r->call)->args[i];
}

/* ---- What each form of extents means ---- */

/* A 0 is that dimension of the input, and -1 what the others leave: the program puts in what they stand for. A second -1, one
 * beside an extent of 0, and a 0 for a dimension that the input has not stay or become -1, which is no extent. */
static gpuc_rexpr *const *shape_numbers(reader *r, gpuc_rexpr *const *from, int n)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(argument(r, 0));
    bool zero = gpuc_attrs_get_int(gpuc_as_rcall(r->call)->attrs, "allowzero", 0);
    gpuc_rexpr **out = gpuc_new_array(ctx, gpuc_rexpr *, n + 1), *product = number(r, 1);
    gpuc_rexpr *none = number(r, 0), *one = product, *bad = number(r, -1), *asked = none;
    gpuc_expr all = gpuc_int(ctx, 1);
    for (int i = 0; i < t->ndim; i++) all = gpuc_mul(ctx, all, t->dims[i]);
    for (int i = 0; i < n; i++) {
        out[i] = from[i];
        if (!zero && i < t->ndim) out[i] = where_is(r, out[i], 0, size_number(r, t->dims[i]), out[i]);
        product = op2(r, "multiply", product, where_is(r, out[i], -1, one, out[i]));
        asked = op2(r, "add", asked, where_is(r, out[i], -1, one, none));
    }
    gpuc_rexpr *left = op2(r, "floor_divide", size_number(r, all), op2(r, "maximum", product, one));
    left = where_is(r, asked, 1, where_is(r, product, 0, bad, left), bad);
    for (int i = 0; i < n; i++) {
        out[i] = where_is(r, out[i], -1, left, out[i]);
        if (!zero && i >= t->ndim) out[i] = where_is(r, from[i], 0, bad, out[i]);
    }
    return out;
}

static const gpuc_expr *read_list(reader *r, const gpuc_op_extents *x, int n)
{
    gpuc_expr *out = gpuc_new_array(r->ctx, gpuc_expr, n + 1);
    gpuc_rexpr *const *from = numbers_of(r, argument(r, x->input), n);
    if (x->form == GPUC_EXTENTS_SHAPE) from = shape_numbers(r, from, n);
    for (int i = 0; i < n; i++) out[i] = read_number(r, x->attr, from[i]);
    return out;
}

/* The dimension that the k-th scale is for. */
static gpuc_expr scaled_dim(const reader *r, int k)
{
    const char *layout = gpuc_attrs_get_string(gpuc_as_rcall(r->call)->attrs, "layout", "NCHW");
    return gpuc_relay_tensor_type(argument(r, 0))->dims[k + (layout[1] == 'C' ? 2 : 1)];
}

/* The nearest integer from 0 on, of two the larger one. */
static gpuc_rexpr *nearest(reader *r, gpuc_rexpr *x)
{
    gpuc_ctx *ctx = r->ctx;
    gpuc_rexpr *down = gpuc_relay_op1(ctx, "floor", NULL, x);
    gpuc_rexpr *half = gpuc_relay_const_scalar(ctx, gpuc_relay_tensor_type(x)->dtype, 0.5);
    gpuc_rexpr *up = op2(r, "greater_equal", op2(r, "subtract", x, down), half);
    return op2(r, "add", gpuc_relay_pass_cast(ctx, down, GPUC_INT64),
               gpuc_relay_pass_cast(ctx, up, GPUC_INT64));
}

/* The dimension times the scale, in the type of the scale, to the nearest integer; of a scale that is none, -1. */
static gpuc_expr read_scaled(reader *r, int k)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_op_extents *x = &r->d->from[k];
    gpuc_rexpr *scale = as_scalar(r, argument(r, x->input));
    if (argument(r, x->input)->values) scale = extents_of(r, x->input, 1)[0];
    gpuc_dtype t = gpuc_relay_tensor_type(scale)->dtype;
    if (!gpuc_is_float(t)) t = GPUC_INT64;
    gpuc_rexpr *size = gpuc_relay_pass_cast(ctx, size_number(r, scaled_dim(r, k)), t);
    scale = gpuc_relay_pass_cast(ctx, scale, t);
    size = op2(r, "multiply", size, scale);
    if (gpuc_is_float(t)) size = nearest(r, size);
    gpuc_rexpr *is_scale = op2(r, "greater_equal", scale, gpuc_relay_const_scalar(ctx, t, 0));
    return read_number(r, x->attr, where(r, is_scale, size, number(r, -1)));
}

/* dyn.squeeze: the program computes which dimensions are left. Where their number is another, as an axis is none or is there
 * twice, or one that goes is not 1, no extent is right. Where none is left, there is one for that on the way. */
static gpuc_rexpr *squeezed(reader *r, const gpuc_op_extents *x, int n)
{
    gpuc_ctx *ctx = r->ctx;
    gpuc_rexpr *data = argument(r, 0), *const *axes = extents_of(r, x->input, n);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(data);
    int left = t->ndim - n, read = left ? left : 1;
    gpuc_rexpr *at = number(r, 0), *zero = at, *one = number(r, 1), *right = one;
    gpuc_rexpr **sizes = gpuc_new_array(ctx, gpuc_rexpr *, read);
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, read);
    sizes[0] = one;
    for (int j = 0; j < left; j++) sizes[j] = zero;
    for (int i = 0; i < t->ndim; i++) {
        gpuc_rexpr *stays = one;
        for (int k = 0; k < n; k++)
            stays = where_is(r, axes[k], i, zero, where_is(r, axes[k], i - t->ndim, zero, stays));
        gpuc_rexpr *extent = size_number(r, t->dims[i]), *size = op2(r, "multiply", stays, extent);
        right = op2(r, "multiply", right, where_is(r, stays, 1, one, where_is(r, extent, 1, one, zero)));
        for (int j = 0; j < left; j++) sizes[j] = op2(r, "add", sizes[j], where_is(r, at, j, size, zero));
        at = op2(r, "add", at, stays);
    }
    right = op2(r, "multiply", right, where_is(r, at, left, one, zero));
    for (int j = 0; j < read; j++)
        dims[j] = read_number(r, x->attr, where_is(r, right, 1, sizes[j], number(r, -1)));
    data = gpuc_relay_pass_reshape(ctx, data, read, dims);
    return left ? data : as_scalar(r, data);
}

/* dyn.expand_dims: the program computes which extents stand where. Of an axis that is none, no extent is right. */
static gpuc_rexpr *expanded(reader *r, const gpuc_op_extents *x)
{
    gpuc_ctx *ctx = r->ctx;
    gpuc_rexpr *data = argument(r, 0), *axis = extents_of(r, x->input, 1)[0];
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(data);
    int more = (int)gpuc_attrs_get_int(gpuc_as_rcall(r->call)->attrs, "num_newaxis", 1),
        ndim = t->ndim + more;
    gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndim + 1);
    for (int j = 0; j < ndim; j++) {
        gpuc_rexpr *size = number(r, -1);
        for (int at = 0; at <= t->ndim; at++) {
            gpuc_expr here = j < at ? t->dims[j] : j < at + more ? gpuc_int(ctx, 1) : t->dims[j - more];
            gpuc_rexpr *extent = size_number(r, here);
            size = where_is(r, axis, at, extent, where_is(r, axis, at - t->ndim - 1, extent, size));
        }
        dims[j] = read_number(r, x->attr, size);
    }
    return gpuc_relay_pass_reshape(ctx, data, ndim, dims);
}

/* ---- Steps: from a bound until the next is reached ---- */

/* A bound of a slice as an element of the dimension: it counts from the end if it is negative. */
static gpuc_rexpr *within(reader *r, gpuc_rexpr *at, gpuc_rexpr *extent, gpuc_rexpr *up)
{
    gpuc_rexpr *zero = number(r, 0), *one = number(r, 1);
    gpuc_rexpr *low = where(r, up, zero, number(r, -1)),
               *high = where(r, up, extent, op2(r, "subtract", extent, one));
    gpuc_rexpr *from_end = op2(r, "maximum", op2(r, "add", at, extent), low);
    return where(r, op2(r, "less", at, zero), from_end, op2(r, "minimum", at, high));
}

static gpuc_rexpr *slice_length(reader *r, gpuc_rexpr *begin, gpuc_rexpr *end, gpuc_rexpr *stride,
                                gpuc_expr dim)
{
    gpuc_rexpr *extent = size_number(r, dim), *up = op2(r, "greater", stride, number(r, 0));
    return gpuc_relay_count_steps(r->ctx, within(r, begin, extent, up), within(r, end, extent, up), stride);
}

/* The extents that bounds and steps decide: of arange one, of a slice that of each dimension it names. */
static const gpuc_expr *read_lengths(reader *r, int n)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_op_dynamic *d = r->d;
    const gpuc_rcall *c = gpuc_as_rcall(r->call);
    gpuc_expr *out = gpuc_new_array(ctx, gpuc_expr, n + 1);
    if (!gpuc_relay_tensor_type(c->args[d->from[0].input])->ndim) {
        gpuc_rexpr *length = gpuc_relay_count_steps(ctx, c->args[0], c->args[1], c->args[2]);
        out[0] = read_number(r, d->together, length);
        return out;
    }
    bool strided = gpuc_op_dynamic_num(d, c->n) > 2;
    gpuc_rexpr *const *begin = extents_of(r, 1, n), *const *end = extents_of(r, 2, n),
                      *const *strides = strided ? extents_of(r, 3, n) : NULL;
    for (int i = 0; i < n; i++) {
        gpuc_expr dim = gpuc_relay_tensor_type(c->args[0])->dims[i];
        gpuc_rexpr *stride = strided ? strides[i] : number(r, 1);
        out[i] = read_number(r, d->together, slice_length(r, begin[i], end[i], stride, dim));
    }
    return out;
}

/* The region of an image matters where it is cut out: there it is part of the code. */
static const gpuc_expr *unused_reals(const reader *r, const gpuc_op_extents *x, int n)
{
    const gpuc_attrs *attrs = gpuc_as_rcall(r->call)->attrs;
    const char *mode = gpuc_attrs_get_string(attrs, "coordinate_transformation_mode", "");
    if (!strcmp(mode, "tf_crop_and_resize"))
        gpuc_raise(r->ctx, GPUC_UNSUPPORTED, "%s: input %d, %s, must be known when building", r->d->name,
                   x->input, x->attr);
    gpuc_expr *out = gpuc_new_array(r->ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++) out[i] = gpuc_int(r->ctx, 0);
    return out;
}

/* ---- Calls ---- */

/* A call whose inputs decide extents together, as not all of them are known. */
static gpuc_rexpr *write_together(reader *r)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_op_dynamic *d = r->d;
    if (d->from[0].form == GPUC_EXTENTS_BOUND) {
        int n = gpuc_op_dynamic_count(ctx, d, 0, gpuc_relay_tensor_type(argument(r, d->from[0].input)));
        return gpuc_relay_pass_sized_call(ctx, r->call, n, read_lengths(r, n));
    }
    gpuc_expr sizes[GPUC_OP_EXTENTS];
    for (int k = 0; k < d->n; k++) sizes[k] = read_scaled(r, k);
    return gpuc_relay_pass_sized_call(ctx, r->call, d->n, sizes);
}

static gpuc_rexpr *write_call(reader *r)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_op_dynamic *d = r->d;
    const gpuc_expr *elements[GPUC_OP_EXTENTS];
    bool known = true;
    for (int k = 0; k < gpuc_op_dynamic_num(d, gpuc_as_rcall(r->call)->n); k++) {
        const gpuc_op_extents *x = &d->from[k];
        gpuc_rexpr *arg = argument(r, x->input);
        int n = gpuc_op_dynamic_count(ctx, d, k, gpuc_relay_tensor_type(arg));
        elements[k] = gpuc_relay_elements(ctx, arg);
        if (elements[k] && !gpuc_op_dynamic_takes(x, n, elements[k])) elements[k] = NULL;
        known &= elements[k] != NULL;
        if (elements[k] || d->together) continue;
        if (x->form == GPUC_EXTENTS_AXES) return squeezed(r, x, n);
        if (x->form == GPUC_EXTENTS_AXIS) return expanded(r, x);
        elements[k] = x->form == GPUC_EXTENTS_REALS ? unused_reals(r, x, n) : read_list(r, x, n);
    }
    if (d->together && !known) return write_together(r);
    return gpuc_relay_pass_static_call(ctx, r->call, elements);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    reader *r = arg;
    (void)ctx;
    (void)old;
    r->d = gpuc_relay_pass_dynamic(e);
    r->call = e;
    return r->d ? write_call(r) : e;
}

static bool has_dynamic(gpuc_relay_pass_ctx *p)
{
    gpuc_ptrs order = {0};
    bool found = false;
    gpuc_relay_post_order(p->ctx, gpuc_rmodule_get(p->module, "main"), true, &order);
    for (size_t i = 0; i < order.count && !found; i++) found = gpuc_relay_pass_dynamic(order.at[i]);
    return found;
}

void gpuc_relay_pass_read_extents(gpuc_relay_pass_ctx *p)
{
    gpuc_ctx *ctx = p->ctx;
    gpuc_rmodule *m = p->module;
    if (!has_dynamic(p)) return;
    gpuc_relay_pass_dynamic_to_static(p);
    if (!has_dynamic(p)) return;
    gpuc_relay_pass_need_graph(p);
    reader r = {.ctx = ctx};
    gpuc_map_init(&r.numbers, ctx);
    int n = gpuc_rmodule_num_outputs(m);
    const gpuc_rfunction *f =
        gpuc_as_rfunction(gpuc_relay_rewrite(ctx, gpuc_rmodule_get(m, "main"), rewrite, &r));
    bool tuple = f->body->kind == GPUC_REXPR_TUPLE;
    gpuc_rexpr *const *fields = tuple ? gpuc_as_rtuple(f->body)->fields : &f->body;
    gpuc_ptrs reads = {0};
    for (size_t i = 0; i < m->reads.count; i++) {
        gpuc_relay_read *old = m->reads.at[i];
        old->number = fields[n + (int)i];
        gpuc_ptrs_push(ctx, &reads, old);
    }
    for (size_t i = 0; i < r.reads.count; i++) gpuc_ptrs_push(ctx, &reads, r.reads.at[i]);
    gpuc_rmodule_set_main(m, f->n, f->params, tuple ? n : 1, fields, &reads);
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
}
