/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and position embeddings. */
#include <math.h>
#include <string.h>

#include "onnx/onnx.h"

static gpuc_rexpr *scalar(gpuc_onnx_node *n, gpuc_dtype t, double v)
{
    return gpuc_relay_const_scalar(n->ctx, t, v);
}

static gpuc_rexpr *select(gpuc_onnx_node *n, gpuc_rexpr *condition, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {condition, a, b};
    return gpuc_relay_op(n->ctx, "where", NULL, 3, args);
}

static gpuc_rexpr *transposed(gpuc_onnx_node *n, gpuc_rexpr *x)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    return gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", 4, perm), x);
}

static const gpuc_expr *dims_of(gpuc_rexpr *x)
{
    return gpuc_relay_tensor_type(x)->dims;
}

static int64_t known(gpuc_onnx_node *n, gpuc_expr size, const char *what)
{
    int64_t v;
    if (!gpuc_expr_is_int(size, &v))
        gpuc_raise(n->ctx, GPUC_UNSUPPORTED, "%s must be known when building%s", what,
                   gpuc_onnx_shape_hint(n->m));
    return v;
}

static bool is_of(gpuc_rexpr *x, const gpuc_expr *dims)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    bool same = true;
    for (int i = 0; i < t->ndim; i++) same &= t->dims[i] == dims[i];
    return same;
}

/* x, whose shape is this one: what the build does not know the program checks. */
static gpuc_rexpr *of_shape(gpuc_onnx_node *n, gpuc_rexpr *x, const gpuc_expr *dims)
{
    return is_of(x, dims) ? x : gpuc_onnx_reshaped_sizes(n, x, gpuc_relay_tensor_type(x)->ndim, dims);
}

/* Input i as [N, heads, sequence, head size]; [N, sequence, heads * head size] is taken apart. */
static gpuc_rexpr *by_heads(gpuc_onnx_node *n, int i, const char *attr)
{
    const gpuc_tensor_type *t = gpuc_onnx_type(n, i);
    int64_t heads = gpuc_onnx_int(n, attr, 0), width;
    gpuc_rexpr *x = gpuc_onnx_in(n, i);
    if (t->ndim == 4) return x;
    if (t->ndim != 3) gpuc_onnx_fail(n, "input %d has %d dimensions, needs 3 or 4", i, t->ndim);
    if (heads < 1 || (gpuc_expr_is_int(t->dims[2], &width) && width % heads))
        gpuc_onnx_fail(n, "attribute '%s' is %lld, dimension 2 of input %d is %s", attr, (long long)heads, i,
                       gpuc_expr_text(n->ctx, t->dims[2]));
    gpuc_expr count = gpuc_int(n->ctx, heads),
              split[] = {t->dims[0], t->dims[1], count, gpuc_floordiv_(n->ctx, t->dims[2], count)};
    return transposed(n, gpuc_onnx_reshaped_sizes(n, x, 4, split));
}

/* The other way, where input 0 came like that. */
static gpuc_rexpr *like_input(gpuc_onnx_node *n, gpuc_rexpr *x)
{
    if (gpuc_onnx_type(n, 0)->ndim == 4) return x;
    const gpuc_expr *d = dims_of(x), joined[] = {d[0], d[2], gpuc_mul(n->ctx, d[1], d[3])};
    return gpuc_onnx_reshaped_sizes(n, transposed(n, x), 3, joined);
}

static gpuc_rexpr *joined(gpuc_onnx_node *n, gpuc_rexpr *past, gpuc_rexpr *now)
{
    gpuc_rexpr *args[] = {past, now};
    return gpuc_relay_op(n->ctx, "concatenate", gpuc_attrs_int(n->ctx, NULL, "axis", 2), 2, args);
}

typedef struct attention {
    gpuc_dtype t;
    gpuc_expr batch, heads, kv_heads, queries, keys, past, head_size;
    gpuc_rexpr *offset; /* of positions of queries among keys: [] or [N, 1, 1, 1], int64 */
    gpuc_rexpr *bias;   /* NULL: none */
    bool may_be_empty;  /* a query may see no key */
} attention;

static void add_bias(gpuc_onnx_node *n, attention *a, gpuc_rexpr *bias)
{
    a->bias = a->bias ? gpuc_onnx_op2(n, "add", a->bias, bias) : bias;
}

/* 0 where it holds, else minus infinity. */
static gpuc_rexpr *only_where(gpuc_onnx_node *n, const attention *a, gpuc_rexpr *allowed)
{
    return select(n, allowed, scalar(n, a->t, 0), scalar(n, a->t, -INFINITY));
}

static gpuc_rexpr *number_of(gpuc_onnx_node *n, gpuc_expr size)
{
    return gpuc_onnx_number_of(n, (gpuc_onnx_size){.known = size});
}

static gpuc_rexpr *positions(gpuc_onnx_node *n, gpuc_expr count, bool column)
{
    gpuc_rexpr *args[] = {gpuc_onnx_number(n, 0), number_of(n, count), gpuc_onnx_number(n, 1)};
    gpuc_expr dims[] = {count, gpuc_int(n->ctx, 1)};
    gpuc_rexpr *x =
        gpuc_relay_op(n->ctx, "arange", gpuc_attrs_sizes(n->ctx, NULL, "length", 1, &count), 3, args);
    return column ? gpuc_onnx_reshaped_sizes(n, x, 2, dims) : x;
}

/* How many keys a mask for `of` keys lacks: none where it is for one, which broadcasts, or for too many. */
static gpuc_expr missing_keys(gpuc_ctx *ctx, gpuc_expr of, gpuc_expr keys, bool broadcasts)
{
    gpuc_expr zero = gpuc_int(ctx, 0), missing = gpuc_max(ctx, gpuc_sub(ctx, keys, of), zero);
    return broadcasts ? gpuc_select(ctx, gpuc_eq(ctx, of, gpuc_int(ctx, 1)), zero, missing) : missing;
}

static void add_mask(gpuc_onnx_node *n, attention *a)
{
    gpuc_ctx *ctx = n->ctx;
    gpuc_rexpr *mask = gpuc_onnx_in(n, 3);
    const gpuc_tensor_type *t = gpuc_onnx_type(n, 3);
    bool logical = gpuc_is_bool(t->dtype);
    if (t->ndim < 1 || t->ndim > 4) gpuc_onnx_fail(n, "attn_mask has %d dimensions", t->ndim);
    gpuc_expr of = t->dims[t->ndim - 1], none = gpuc_int(ctx, 0), before[4] = {none, none, none, none},
              after[4] = {none, none, none, none}, missing = missing_keys(ctx, of, a->keys, t->ndim > 1);
    if (gpuc_topi_proves(ctx, gpuc_gt(ctx, of, a->keys)))
        gpuc_onnx_fail(n, "attn_mask is for %s keys, there are %s", gpuc_expr_text(ctx, of),
                       gpuc_expr_text(ctx, a->keys));
    if (!gpuc_topi_proves(ctx, gpuc_eq(ctx, missing, none))) {
        after[t->ndim - 1] = missing;
        const gpuc_attrs *pads = gpuc_attrs_sizes(ctx, NULL, "pad_before", t->ndim, before);
        pads = gpuc_attrs_sizes(ctx, pads, "pad_after", t->ndim, after);
        mask =
            gpuc_onnx_op1(n, "nn.pad", gpuc_attrs_float(ctx, pads, "value", logical ? 0 : -INFINITY), mask);
    }
    add_bias(n, a, logical ? only_where(n, a, mask) : gpuc_onnx_as(n, mask, a->t));
    a->may_be_empty = true;
}

/* Keys that a query sees by position: from left before it to right after it; -1: all. */
static void add_window(gpuc_onnx_node *n, attention *a, int64_t left, int64_t right)
{
    if (left < 0 && right < 0) return;
    gpuc_rexpr *query = gpuc_onnx_op2(n, "add", positions(n, a->queries, true), a->offset),
               *key = positions(n, a->keys, false), *allowed = NULL;
    if (right >= 0)
        allowed = gpuc_onnx_op2(n, "less_equal", key,
                                gpuc_onnx_op2(n, "add", query, scalar(n, GPUC_INT64, (double)right)));
    if (left >= 0) {
        gpuc_rexpr *first = gpuc_onnx_op2(n, "subtract", query, scalar(n, GPUC_INT64, (double)left));
        gpuc_rexpr *ok = gpuc_onnx_op2(n, "greater_equal", key, first);
        allowed = allowed ? gpuc_onnx_op2(n, "logical_and", allowed, ok) : ok;
    }
    add_bias(n, a, only_where(n, a, allowed));
    a->may_be_empty |= left >= 0 || gpuc_onnx_has(n, 6);
}

static void add_biases(gpuc_onnx_node *n, attention *a)
{
    int64_t left = gpuc_onnx_int(n, "left_window_size", -1),
            right = gpuc_onnx_int(n, "right_window_size", -1);
    if (left < -1 || right < -1)
        gpuc_onnx_fail(n, "left_window_size %lld, right_window_size %lld", (long long)left, (long long)right);
    a->offset = number_of(n, a->past);
    gpuc_rexpr *lengths = NULL;
    if (gpuc_onnx_has(n, 6)) {
        gpuc_expr one = gpuc_int(n->ctx, 1), each[] = {a->batch, one, one, one};
        if (gpuc_onnx_has(n, 4)) gpuc_onnx_fail(n, "nonpad_kv_seqlen and past_key exclude each other");
        lengths = gpuc_onnx_reshaped_sizes(n, gpuc_onnx_as(n, n->in[6], GPUC_INT64), 4, each);
        a->offset = gpuc_onnx_op2(n, "subtract", lengths, number_of(n, a->queries));
    }
    if (gpuc_onnx_has(n, 3)) add_mask(n, a);
    if (gpuc_onnx_int(n, "is_causal", 0)) add_window(n, a, -1, 0);
    add_window(n, a, left, right);
    if (!lengths) return;
    add_bias(n, a, only_where(n, a, gpuc_onnx_op2(n, "less", positions(n, a->keys, false), lengths)));
    a->may_be_empty = true;
}

/* [N, heads, queries, x] <-> [N, key heads, queries of them, x]: heads that share keys are one matrix. */
static gpuc_rexpr *grouped(gpuc_onnx_node *n, const attention *a, gpuc_rexpr *x, bool apart)
{
    if (a->heads == a->kv_heads) return x;
    gpuc_expr width = dims_of(x)[3],
              shared = gpuc_mul(n->ctx, gpuc_floordiv_(n->ctx, a->heads, a->kv_heads), a->queries),
              one[] = {a->batch, a->kv_heads, shared, width}, all[] = {a->batch, a->heads, a->queries, width};
    return gpuc_onnx_reshaped_sizes(n, x, 4, apart ? all : one);
}

static gpuc_rexpr *probabilities(gpuc_onnx_node *n, const attention *a, gpuc_rexpr *scores)
{
    int64_t precision = gpuc_onnx_int(n, "softmax_precision", 0), last = -1;
    gpuc_dtype t = precision ? gpuc_onnx_dtype(n->ctx, precision, "attribute 'softmax_precision'") : a->t;
    gpuc_rexpr *p =
        gpuc_onnx_op1(n, "nn.softmax", gpuc_attrs_int(n->ctx, NULL, "axis", -1), gpuc_onnx_as(n, scores, t));
    p = gpuc_onnx_as(n, p, a->t);
    if (!a->may_be_empty) return p;
    const gpuc_attrs *over =
        gpuc_attrs_int(n->ctx, gpuc_attrs_ints(n->ctx, NULL, "axis", 1, &last), "keepdims", 1);
    gpuc_rexpr *max = gpuc_onnx_op1(n, "max", over, a->bias);
    gpuc_rexpr *empty = gpuc_onnx_op2(n, "equal", max, scalar(n, a->t, -INFINITY));
    return of_shape(n, select(n, empty, scalar(n, a->t, 0), p), dims_of(scores));
}

/* Keys and values, behind those of the past. */
static void find_keys(gpuc_onnx_node *n, attention *a, gpuc_rexpr **k, gpuc_rexpr **v)
{
    a->past = gpuc_int(n->ctx, 0);
    if (gpuc_onnx_has(n, 4) != gpuc_onnx_has(n, 5)) gpuc_onnx_fail(n, "past_key and past_value go together");
    if (!gpuc_onnx_has(n, 4)) return;
    if (gpuc_onnx_type(n, 4)->ndim != 4 || gpuc_onnx_type(n, 5)->ndim != 4)
        gpuc_onnx_fail(n, "past_key and past_value must have 4 dimensions");
    a->past = gpuc_onnx_type(n, 4)->dims[2];
    *k = joined(n, n->in[4], *k);
    *v = joined(n, n->in[5], *v);
}

/* The sizes, and that those of keys and values fit those of the queries. */
static void check_operands(gpuc_onnx_node *n, attention *a, gpuc_rexpr *q, gpuc_rexpr **k, gpuc_rexpr **v)
{
    const gpuc_expr *dq = dims_of(q), *dk = dims_of(*k), *dv = dims_of(*v);
    int64_t heads, shared;
    a->batch = dq[0];
    a->heads = dq[1];
    a->queries = dq[2];
    a->head_size = dq[3];
    a->kv_heads = dk[1];
    a->keys = dk[2];
    const gpuc_expr keys[] = {a->batch, a->kv_heads, a->keys, a->head_size},
                    values[] = {a->batch, a->kv_heads, a->keys, dv[3]};
    for (int i = 0; i < 4; i++) {
        gpuc_expr wrong = gpuc_or(n->ctx, gpuc_ne(n->ctx, dk[i], keys[i]), gpuc_ne(n->ctx, dv[i], values[i]));
        if (gpuc_topi_proves(n->ctx, wrong))
            gpuc_onnx_fail(n, "Q %s, K %s and V %s do not fit", gpuc_relay_rtype_text(n->ctx, q->type),
                           gpuc_relay_rtype_text(n->ctx, (*k)->type),
                           gpuc_relay_rtype_text(n->ctx, (*v)->type));
    }
    if (a->heads != a->kv_heads) {
        heads = known(n, a->heads, "the number of heads of Q");
        shared = known(n, a->kv_heads, "the number of heads of K");
        if (shared < 1 || heads % shared)
            gpuc_onnx_fail(n, "%lld heads of Q do not share %lld of K", (long long)heads, (long long)shared);
    }
    *k = of_shape(n, *k, keys);
    *v = of_shape(n, *v, values);
}

static double scale_of(gpuc_onnx_node *n, const attention *a)
{
    double scale = gpuc_onnx_float(n, "scale", 0);
    if (scale != 0) return scale;
    return 1 / sqrt((double)known(n, a->head_size, "the size of a head"));
}

static void attend(gpuc_onnx_node *n)
{
    gpuc_rexpr *q = by_heads(n, 0, "q_num_heads"), *k = by_heads(n, 1, "kv_num_heads"),
               *v = by_heads(n, 2, "kv_num_heads");
    gpuc_onnx_ignore(n, "q_num_heads");
    gpuc_onnx_ignore(n, "kv_num_heads");
    attention a = {.t = gpuc_onnx_type(n, 0)->dtype};
    find_keys(n, &a, &k, &v);
    check_operands(n, &a, q, &k, &v);
    n->out[1] = k;
    n->out[2] = v;
    double softcap = gpuc_onnx_float(n, "softcap", 0);
    int64_t mode = gpuc_onnx_int(n, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) gpuc_onnx_fail(n, "qk_matmul_output_mode is %lld", (long long)mode);
    q = gpuc_onnx_op2(n, "multiply", q, scalar(n, a.t, scale_of(n, &a)));
    gpuc_rexpr *args[] = {grouped(n, &a, q, false), k};
    gpuc_rexpr *scores =
        gpuc_relay_op(n->ctx, "nn.matmul", gpuc_attrs_int(n->ctx, NULL, "transpose_b", 1), 2, args);
    scores = grouped(n, &a, scores, true);
    gpuc_rexpr *shown[4] = {scores};
    if (softcap > 0) {
        scores = gpuc_onnx_op1(n, "tanh", NULL, gpuc_onnx_op2(n, "divide", scores, scalar(n, a.t, softcap)));
        scores = gpuc_onnx_op2(n, "multiply", scores, scalar(n, a.t, softcap));
    }
    shown[1] = scores;
    add_biases(n, &a);
    if (a.bias) scores = of_shape(n, gpuc_onnx_op2(n, "add", scores, a.bias), dims_of(scores));
    shown[2] = scores;
    gpuc_rexpr *p = shown[3] = probabilities(n, &a, scores);
    n->out[0] =
        like_input(n, grouped(n, &a, gpuc_onnx_op2(n, "nn.matmul", grouped(n, &a, p, false), v), true));
    n->out[3] = shown[mode];
}

/* The results are as many as the node has names for; the rest is dropped. */
static void attention_23(gpuc_onnx_node *n)
{
    gpuc_rexpr *all[4] = {NULL}, **out = n->out;
    n->out = all;
    attend(n);
    n->out = out;
    for (int i = 0; i < n->n_out && i < 4; i++) out[i] = all[i];
}

static void rotary_embedding(gpuc_onnx_node *n)
{
    gpuc_rexpr *x = by_heads(n, 0, "num_heads"), *angles[2] = {gpuc_onnx_in(n, 1), gpuc_onnx_in(n, 2)};
    gpuc_onnx_ignore(n, "num_heads");
    int64_t rotated = gpuc_onnx_int(n, "rotary_embedding_dim", 0);
    if (rotated == 0) rotated = known(n, dims_of(x)[3], "the size of a head");
    const gpuc_attrs *positions = gpuc_attrs_int(n->ctx, NULL, "axis", 0);
    positions = gpuc_attrs_string(n->ctx, positions, "mode", "negative");
    for (int i = 0; i < 2; i++) {
        if (gpuc_onnx_has(n, 3)) {
            gpuc_rexpr *args[] = {angles[i], n->in[3]};
            angles[i] = gpuc_relay_op(n->ctx, "take", positions, 2, args);
        }
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(angles[i]);
        if (t->ndim != 3 || 2 * known(n, t->dims[2], "the number of angles") != rotated)
            gpuc_onnx_fail(n, "%s does not have %lld angles for each position", i ? "sin_cache" : "cos_cache",
                           (long long)(rotated / 2));
    }
    gpuc_rexpr *args[] = {x, angles[0], angles[1]};
    const gpuc_attrs *a = gpuc_attrs_int(n->ctx, NULL, "interleaved", gpuc_onnx_int(n, "interleaved", 0));
    n->out[0] = like_input(n, gpuc_relay_op(n->ctx, gpuc_onnx_relay(n), a, 3, args));
}

const gpuc_onnx_row gpuc_onnx_rows_attention[] = {
    {"Attention", 23, attention_23},
    {"RotaryEmbedding", 23, rotary_embedding},
    {NULL, 0, NULL},
};
