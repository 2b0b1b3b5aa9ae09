/* SPDX-License-Identifier: Apache-2.0 */
/* softmax(Q K^T * scale + bias) V, as models spell it, becomes one operator where that costs the target less:
 * scales of the operands and of the scores are one number, additions and conditions one bias, and matrices
 * are read as they lie, whatever transposition they come through. */
#include <math.h>
#include <string.h>

#include "autoschedule/rules.h"
#include "relay_pass/common/util.h"

enum { MAX_DIMS = 16 };

typedef struct matcher {
    gpuc_relay_pass_ctx *p;
    gpuc_map uses; /* of old expressions, and of what they were rewritten to */
} matcher;

/* What is known of the scores, from the softmax down to the product. */
typedef struct scores {
    double scale, fill;
    gpuc_rexpr *bias, *logical, *product;
} scores;

/* An operand of a product: dimension i of its matrices is dimension axes[i] of e. */
typedef struct matrices {
    gpuc_rexpr *e;
    int ndim;
    int64_t axes[MAX_DIMS];
} matrices;

static bool used_once(const matcher *m, const gpuc_rexpr *e)
{
    return gpuc_relay_uses(&m->uses, e) <= 1;
}

static gpuc_rexpr *arg(const gpuc_rexpr *e, int i)
{
    return gpuc_as_rcall(e)->args[i];
}

static gpuc_dtype dtype_of(const gpuc_rexpr *e)
{
    return gpuc_relay_tensor_type(e)->dtype;
}

static bool same_dims(const gpuc_rexpr *a, const gpuc_rexpr *b)
{
    const gpuc_tensor_type *s = gpuc_relay_tensor_type(a), *t = gpuc_relay_tensor_type(b);
    bool same = s->ndim == t->ndim;
    for (int i = 0; same && i < s->ndim; i++) same = s->dims[i] == t->dims[i];
    return same;
}

/* A constant with one element of floats. */
static bool is_number(gpuc_ctx *ctx, const gpuc_rexpr *e, double *out)
{
    if (e->kind != GPUC_REXPR_CONSTANT || !gpuc_is_float(dtype_of(e))) return false;
    const gpuc_rconstant *c = gpuc_as_rconstant(e);
    if (c->data->size != gpuc_dtype_bytes(dtype_of(e))) return false;
    *out = gpuc_as_float(gpuc_relay_const_element(ctx, c, 0))->value;
    return true;
}

/* e = *inside * *by */
static bool is_scaled(gpuc_ctx *ctx, const gpuc_rexpr *e, gpuc_rexpr **inside, double *by)
{
    bool product = gpuc_relay_is_op(e, "multiply"), quotient = gpuc_relay_is_op(e, "divide");
    if (!product && !quotient) return false;
    int at = product && is_number(ctx, arg(e, 0), by) ? 0 : 1;
    if (!is_number(ctx, arg(e, at), by)) return false;
    if (quotient) *by = 1 / *by;
    *inside = arg(e, 1 - at);
    return isfinite(*by) && same_dims(*inside, e);
}

static gpuc_rexpr *number(gpuc_ctx *ctx, const gpuc_rexpr *like, double v)
{
    return gpuc_relay_const_scalar(ctx, dtype_of(like), v);
}

/* Adds a bias, unless the sum of biases would have more elements than either of them. */
static bool add_bias(gpuc_ctx *ctx, scores *s, gpuc_rexpr *bias)
{
    if (s->scale != 1) bias = gpuc_relay_op2(ctx, "multiply", NULL, bias, number(ctx, bias, s->scale));
    if (!s->bias) {
        s->bias = bias;
        return true;
    }
    if (!gpuc_dtype_equal(dtype_of(s->bias), dtype_of(bias))) return false;
    gpuc_rexpr *sum = gpuc_relay_op2(ctx, "add", NULL, s->bias, bias);
    bool fits = same_dims(sum, s->bias) || same_dims(sum, bias);
    s->bias = sum;
    return fits;
}

/* Turns the logical bias into one that is added: 0, or fill. That is exact where fill is so large that a
 * score added to it is lost. */
static bool add_condition(gpuc_ctx *ctx, scores *s, const gpuc_rexpr *like)
{
    enum { LARGE = 100 }; /* exponent */
    if (!s->logical) return true;
    if (!(s->fill <= -ldexp(1, LARGE))) return false;
    gpuc_rexpr *args[] = {s->logical, number(ctx, like, 0), number(ctx, like, s->fill)};
    double scale = s->scale;
    s->logical = NULL;
    s->scale = 1;
    bool added = add_bias(ctx, s, gpuc_relay_op(ctx, "where", NULL, 3, args));
    s->scale = scale;
    return added;
}

static bool find_product(const matcher *m, gpuc_rexpr *e, scores *s);

static bool through_add(const matcher *m, gpuc_rexpr *e, scores *s)
{
    for (int i = 0; i < 2; i++) {
        scores tried = *s;
        if (!same_dims(arg(e, i), e) || !find_product(m, arg(e, i), &tried)) continue;
        tried = *s;
        if (!add_bias(m->p->ctx, &tried, arg(e, 1 - i)) || !find_product(m, arg(e, i), &tried)) return false;
        *s = tried;
        return true;
    }
    return false;
}

static bool through_where(const matcher *m, gpuc_rexpr *e, scores *s)
{
    gpuc_ctx *ctx = m->p->ctx;
    for (int i = 1; i < 3; i++) {
        scores tried = *s;
        double fill;
        if (!is_number(ctx, arg(e, i), &fill)) continue;
        gpuc_rexpr *inside = arg(e, 3 - i), *condition = arg(e, 0);
        if (!same_dims(inside, e) || !add_condition(ctx, &tried, inside)) return false;
        tried.fill = fill * s->scale;
        tried.logical = i == 2 ? condition : gpuc_relay_op1(ctx, "logical_not", NULL, condition);
        if (!find_product(m, inside, &tried)) return false;
        *s = tried;
        return true;
    }
    return false;
}

/* Finds the product that the scores are made of; it must have no other use. */
static bool find_product(const matcher *m, gpuc_rexpr *e, scores *s)
{
    gpuc_rexpr *inside;
    double by;
    if (!used_once(m, e)) return false;
    if (gpuc_relay_is_op(e, "nn.matmul")) {
        s->product = e;
        return gpuc_is_float(dtype_of(e));
    }
    if (gpuc_relay_is_op(e, "cast"))
        return gpuc_is_float(dtype_of(e)) && gpuc_is_float(dtype_of(arg(e, 0))) &&
               dtype_of(arg(e, 0)).bits <= dtype_of(e).bits && find_product(m, arg(e, 0), s);
    if (is_scaled(m->p->ctx, e, &inside, &by)) {
        s->scale *= by;
        return find_product(m, inside, s);
    }
    if (gpuc_relay_is_op(e, "add")) return through_add(m, e, s);
    if (gpuc_relay_is_op(e, "where")) return through_where(m, e, s);
    return false;
}

/* e = zeros where all of a row of *bias is minus infinity, else *inside. */
static bool is_zero_where_empty(gpuc_ctx *ctx, const gpuc_rexpr *e, gpuc_rexpr **inside, gpuc_rexpr **bias)
{
    double zero, min;
    if (!gpuc_relay_is_op(e, "where") || !is_number(ctx, arg(e, 1), &zero) || zero != 0) return false;
    const gpuc_rexpr *empty = arg(e, 0);
    if (!gpuc_relay_is_op(empty, "equal") || !is_number(ctx, arg(empty, 1), &min) || min != -INFINITY)
        return false;
    const gpuc_rexpr *max = arg(empty, 0);
    if (!gpuc_relay_is_op(max, "max")) return false;
    const gpuc_attrs *attrs = gpuc_as_rcall(max)->attrs;
    const gpuc_attr *axis = gpuc_attrs_find(attrs, "axis");
    *inside = arg(e, 2);
    *bias = arg(max, 0);
    return same_dims(*inside, e) && axis->n == 1 && gpuc_attrs_get_int(attrs, "keepdims", 0) &&
           (axis->ints[0] == -1 || axis->ints[0] == gpuc_relay_tensor_type(*bias)->ndim - 1);
}

static bool is_last_axis(const gpuc_rexpr *softmax)
{
    int64_t axis = gpuc_attrs_get_int(gpuc_as_rcall(softmax)->attrs, "axis", -1);
    return axis == -1 || axis == gpuc_relay_tensor_type(softmax)->ndim - 1;
}

/* Strips transpositions from e and, if scale is given, constant factors, which are collected there. */
static bool matrices_of(const matcher *m, gpuc_rexpr *e, bool swapped, double *scale, matrices *out)
{
    int64_t through[MAX_DIMS];
    int n = out->ndim = gpuc_relay_tensor_type(e)->ndim;
    if (n < 2 || n > MAX_DIMS) return false;
    for (int i = 0; i < n; i++) out->axes[i] = i;
    if (swapped) {
        out->axes[n - 2] = n - 1;
        out->axes[n - 1] = n - 2;
    }
    for (;; e = out->e) {
        double by;
        out->e = e;
        if (!used_once(m, e)) return true;
        if (scale && is_scaled(m->p->ctx, e, &out->e, &by)) {
            *scale *= by;
        } else if (gpuc_relay_is_op(e, "transpose")) {
            const gpuc_attr *axes = gpuc_attrs_find(gpuc_as_rcall(e)->attrs, "axes");
            for (int i = 0; i < n; i++) {
                int64_t axis = axes->n ? axes->ints[out->axes[i]] : n - 1 - out->axes[i];
                through[i] = axis < 0 ? axis + n : axis;
            }
            memcpy(out->axes, through, sizeof through);
            out->e = arg(e, 0);
        } else {
            return true;
        }
    }
}

static int64_t size_of(const matrices *x, int back)
{
    int64_t n;
    return gpuc_expr_is_int(gpuc_relay_tensor_type(x->e)->dims[x->axes[x->ndim - back]], &n) ? n : 0;
}

static bool has_own_biases(const scores *s)
{
    const gpuc_rexpr *bias = s->logical ? s->logical : s->bias;
    if (!bias) return false;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(bias);
    return t->ndim > 1 && !gpuc_tir_is_const(t->dims[t->ndim - 1], 1) &&
           !gpuc_tir_is_const(t->dims[t->ndim - 2], 1);
}

static bool is_cheaper(const matcher *m, const gpuc_rexpr *e, const scores *scores, const matrices *q,
                       const matrices *k, const matrices *v)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    gpuc_attention_sizes s = {.batch = 1,
                              .queries = size_of(q, 2),
                              .keys = size_of(k, 2),
                              .head = size_of(q, 1),
                              .value = size_of(v, 1),
                              .dtype = t->dtype,
                              .own_biases = has_own_biases(scores)};
    int64_t n;
    for (int i = 0; i < t->ndim - 2; i++) s.batch *= gpuc_expr_is_int(t->dims[i], &n) ? n : 0;
    return s.head > 0 && s.value > 0 && gpuc_rules_attends_at_once(m->p->target, &s);
}

static const gpuc_attrs *with_axes(gpuc_ctx *ctx, const gpuc_attrs *attrs, const char *name,
                                   const matrices *x)
{
    bool moved = false;
    for (int i = 0; i < x->ndim; i++) moved |= x->axes[i] != i;
    return moved ? gpuc_attrs_ints(ctx, attrs, name, x->ndim, x->axes) : attrs;
}

/* The product of weights and values as an attention; e itself if it is none. */
static gpuc_rexpr *attend(const matcher *m, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = m->p->ctx;
    const gpuc_attrs *attrs = gpuc_as_rcall(e)->attrs;
    gpuc_rexpr *weights = arg(e, 0), *inside, *bias = NULL;
    if (gpuc_attrs_get_int(attrs, "transpose_a", 0) || gpuc_relay_tensor_type(weights)->ndim < 2) return e;
    bool empty_is_zero = is_zero_where_empty(ctx, weights, &inside, &bias);
    if (empty_is_zero && !used_once(m, weights)) return e;
    if (empty_is_zero) weights = inside;
    if (gpuc_relay_is_op(weights, "cast") && used_once(m, weights)) weights = arg(weights, 0);
    if (!gpuc_relay_is_op(weights, "nn.softmax") || !used_once(m, weights) || !is_last_axis(weights))
        return e;
    scores s = {.scale = 1};
    if (!find_product(m, arg(weights, 0), &s) || !same_dims(s.product, weights)) return e;
    if (empty_is_zero && s.bias != bias) return e;
    if (s.bias && !add_condition(ctx, &s, s.bias)) return e;
    const gpuc_attrs *product = gpuc_as_rcall(s.product)->attrs;
    matrices q, k, v;
    if (!matrices_of(m, arg(s.product, 0), gpuc_attrs_get_int(product, "transpose_a", 0), &s.scale, &q) ||
        !matrices_of(m, arg(s.product, 1), !gpuc_attrs_get_int(product, "transpose_b", 0), &s.scale, &k) ||
        !matrices_of(m, arg(e, 1), gpuc_attrs_get_int(attrs, "transpose_b", 0), NULL, &v))
        return e;
    if (!gpuc_dtype_equal(dtype_of(q.e), dtype_of(e)) || !gpuc_dtype_equal(dtype_of(k.e), dtype_of(e)) ||
        !gpuc_dtype_equal(dtype_of(v.e), dtype_of(e)) || !is_cheaper(m, e, &s, &q, &k, &v))
        return e;
    const gpuc_attrs *own = gpuc_attrs_float(ctx, NULL, "scale", s.scale);
    if (s.logical) own = gpuc_attrs_float(ctx, own, "fill", s.fill);
    if (empty_is_zero) own = gpuc_attrs_int(ctx, own, "empty_is_zero", 1);
    own = with_axes(ctx, own, "query_axes", &q);
    own = with_axes(ctx, own, "key_axes", &k);
    own = with_axes(ctx, own, "value_axes", &v);
    gpuc_rexpr *args[] = {q.e, k.e, v.e, s.logical ? s.logical : s.bias};
    gpuc_rexpr *out = gpuc_relay_op(ctx, "nn.attention", own, args[3] ? 4 : 3, args);
    return gpuc_relay_rtype_equal(out->type, e->type) ? out : e;
}

/* Merges a transposition of the result into the attention, which stores in that order. */
static gpuc_rexpr *store_transposed(const matcher *m, gpuc_rexpr *e)
{
    gpuc_rexpr *inside = arg(e, 0);
    if (!gpuc_relay_is_op(inside, "nn.attention") || !used_once(m, inside)) return e;
    const gpuc_rcall *c = gpuc_as_rcall(inside);
    const gpuc_attr *before = gpuc_attrs_find(c->attrs, "out_axes"),
                    *axes = gpuc_attrs_find(gpuc_as_rcall(e)->attrs, "axes");
    int64_t out[MAX_DIMS];
    int n = gpuc_relay_tensor_type(e)->ndim;
    if (n > MAX_DIMS) return e;
    for (int i = 0; i < n; i++) {
        int64_t axis = axes->n ? axes->ints[i] : n - 1 - i;
        if (axis < 0) axis += n;
        out[i] = before && before->n ? before->ints[axis] : axis;
    }
    return gpuc_relay_op(m->p->ctx, "nn.attention", gpuc_attrs_ints(m->p->ctx, c->attrs, "out_axes", n, out),
                         c->n, c->args);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg_)
{
    matcher *m = arg_;
    gpuc_rexpr *out = e;
    (void)ctx;
    if (gpuc_relay_is_op(e, "nn.matmul")) out = attend(m, e);
    if (gpuc_relay_is_op(e, "transpose")) out = store_transposed(m, e);
    if (out != old) gpuc_map_set(&m->uses, out, gpuc_map_get(&m->uses, old));
    return out;
}

void gpuc_relay_pass_fuse_attention(gpuc_relay_pass_ctx *p)
{
    matcher m = {.p = p};
    gpuc_map_init(&m.uses, p->ctx);
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++)
        gpuc_relay_pass_add_uses(p->ctx, functions->entries[i].value, &m.uses);
    gpuc_relay_pass_rewrite_module(p, rewrite, &m);
}
