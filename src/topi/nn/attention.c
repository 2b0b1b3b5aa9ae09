/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and position embeddings. */
#include "topi/nn/attention.h"

#include <math.h>
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/parallel.h"
#include "op/rows.h"
#include "autoschedule/rules.h"

/* ---- nn.attention: query [..., Q, D], key [..., K, D], value [..., K, E], and perhaps a bias that
 * broadcasts to [..., Q, K], give [..., Q, E]; leading dimensions broadcast. Each may lie transposed. ---- */

enum { QUERY, KEY, VALUE, BIAS, OUT };

/* axes[i]: the dimension of the tensor that dimension i of the matrices is. */
static void order_of(const gpuc_op_call *call, const char *attr, int ndim, int *axes)
{
    const gpuc_attr *a = gpuc_attrs_find(call->attrs, attr);
    bool seen[GPUC_TOPI_MAX_DIMS] = {false};
    for (int i = 0; i < ndim; i++) axes[i] = i;
    if (!a || a->n == 0) return;
    const int64_t *given = gpuc_topi_ints(call, attr, ndim);
    for (int i = 0; i < ndim; i++) {
        if (given[i] < 0 || given[i] >= ndim || seen[given[i]])
            gpuc_topi_fail(call, "'%s' must name each of %d dimensions once", attr, ndim);
        seen[axes[i] = (int)given[i]] = true;
    }
}

static gpuc_attention_operand operand_of(const gpuc_op_call *call, int i, const char *attr)
{
    const gpuc_tensor_type *t = &call->in[i];
    gpuc_attention_operand o = {.ndim = t->ndim};
    if (t->ndim < 2 && i != BIAS)
        gpuc_topi_fail(call, "input %d has %d dimensions, not 2 or more", i, t->ndim);
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, t->ndim + 1);
    order_of(call, attr, t->ndim, o.axes);
    for (int k = 0; k < t->ndim; k++) dims[k] = t->dims[o.axes[k]];
    o.dims = dims;
    return o;
}

static int64_t columns_of(const gpuc_op_call *call, const gpuc_attention_operand *o, int i)
{
    int64_t n;
    if (!gpuc_expr_is_int(o->dims[o->ndim - 1], &n))
        gpuc_topi_fail(call,
                       "the size of heads of input %d is not known: write it in the program, or fix it with "
                       "--shape in a "
                       "model",
                       i);
    return n;
}

/* Raises if the bias does not broadcast to the scores: its shape must not be larger. */
static void check_bias(const gpuc_op_call *call, const gpuc_attention_operand *bias, int back, gpuc_expr dim)
{
    if (bias->ndim < back) return;
    gpuc_expr own = bias->dims[bias->ndim - back];
    if (own && !gpuc_tir_is_const(own, 1))
        gpuc_topi_same_dim(call, own, dim, "dimensions of the bias and the scores");
}

static gpuc_attention describe(const gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_attention a = {.ctx = ctx, .biased = call->num_in > BIAS, .result = call->in[QUERY].dtype};
    a.work = gpuc_topi_accumulator(a.result);
    a.query = operand_of(call, QUERY, "query_axes");
    a.key = operand_of(call, KEY, "key_axes");
    a.of = operand_of(call, VALUE, "value_axes");
    if (a.biased) {
        gpuc_dtype t = call->in[BIAS].dtype;
        a.bias = operand_of(call, BIAS, "");
        a.logical = gpuc_is_bool(t);
        if (!a.logical && !gpuc_is_float(t)) gpuc_topi_fail(call, "the bias must be of floats or bool");
    }
    a.head = columns_of(call, &a.query, QUERY);
    a.value = columns_of(call, &a.of, VALUE);
    if (columns_of(call, &a.key, KEY) != a.head)
        gpuc_topi_fail(call, "queries have %lld columns, keys %lld", (long long)a.head,
                       (long long)columns_of(call, &a.key, KEY));
    a.queries = a.query.dims[a.query.ndim - 2];
    a.keys = gpuc_topi_same_dim(call, a.key.dims[a.key.ndim - 2], a.of.dims[a.of.ndim - 2],
                                "numbers of keys and values");
    check_bias(call, &a.bias, 2, a.queries);
    check_bias(call, &a.bias, 1, a.keys);
    const gpuc_attention_operand *all[] = {&a.query, &a.key, &a.of, &a.bias};
    for (int i = 0; i < 4; i++)
        if (all[i]->ndim - 2 > a.num_batch) a.num_batch = all[i]->ndim - 2;
    gpuc_expr *batch = gpuc_new_array(ctx, gpuc_expr, a.num_batch + 1);
    for (int k = 0; k < a.num_batch; k++) {
        batch[k] = gpuc_int(ctx, 1);
        for (int i = 0; i < 4; i++) {
            int at = k - (a.num_batch - (all[i]->ndim - 2));
            if (at >= 0 && all[i]->ndim) batch[k] = gpuc_topi_broadcast_dim(call, batch[k], all[i]->dims[at]);
        }
    }
    a.batch = batch;
    a.scale = gpuc_attrs_get_float(call->attrs, "scale", 1);
    a.fill = gpuc_attrs_get_float(call->attrs, "fill", 0);
    a.empty_is_zero = gpuc_attrs_get_int(call->attrs, "empty_is_zero", 0);
    a.out.ndim = a.num_batch + 2;
    order_of(call, "out_axes", a.out.ndim, a.out.axes);
    return a;
}

static void infer_attention(gpuc_op_call *call)
{
    gpuc_attention a = describe(call);
    gpuc_expr whole[GPUC_TOPI_MAX_DIMS], dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < a.num_batch; i++) whole[i] = a.batch[i];
    whole[a.num_batch] = a.queries;
    whole[a.num_batch + 1] = gpuc_int(call->ctx, a.value);
    for (int i = 0; i < a.out.ndim; i++) dims[i] = whole[a.out.axes[i]];
    gpuc_topi_set_out(call, 0, a.result, a.out.ndim, dims);
}

/* The definition, before a target is known: query by query. */
static const gpuc_attention_tile plain = {
    .lanes = 1, .vectors = 1, .keys = 16, .key_tile = 4, .value_tile = 4};

static int64_t known(gpuc_expr size, int64_t otherwise)
{
    int64_t n;
    return gpuc_expr_is_int(size, &n) ? n : otherwise;
}

/* A tail of queries that does not fill a vector is computed as a whole vector. */
static int64_t lanes_for(int64_t lanes, int64_t queries)
{
    while (lanes > 1 && lanes / 2 >= queries) lanes /= 2;
    return lanes;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Keys of a block that shared memory holds with their values. */
static int64_t staged_keys(const gpuc_target *target, const gpuc_attention_sizes *s)
{
    const gpuc_constants *c = target->constants;
    int64_t keys = c->attention_staged_keys,
            each = (s->head + s->value) * (int64_t)gpuc_dtype_bytes(s->dtype);
    while (keys >= c->attention_min_staged && keys * each > target->max_shared_memory) keys /= 2;
    return keys < c->attention_min_staged ? 0 : keys;
}

/* Whether the threads of a group stage keys and values in shared memory. The values of a query must fit a
 * thread's registers. */
static bool stages(const gpuc_target *target, const gpuc_attention_sizes *s)
{
    return gpuc_target_is_gpu(target) && s->head <= target->constants->attention_head &&
           s->value <= target->constants->attention_head && staged_keys(target, s) > 0;
}

static gpuc_stmt attention_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg,
                                const gpuc_target *target, gpuc_knobs *knobs)
{
    const gpuc_attention *a = arg;
    (void)op;
    if (!target) return gpuc_topi_attention_emit(a, &plain);
    const gpuc_rules r = gpuc_rules_of(ctx, target, knobs);
    const gpuc_constants *c = target->constants;
    static const int64_t vectors[] = {1, 2, 3, 4}, keys[] = {4, 8, 16, 32, 64, 128, 256},
                         tiles[] = {2, 4, 6, 8, 12}, groups[] = {16, 32, 64, 128, 256};
    const gpuc_attention_sizes sizes = {.head = a->head, .value = a->value, .dtype = a->work};
    bool staged = stages(target, &sizes);
    int64_t max_keys = staged ? staged_keys(target, &sizes) : 256,
            own_keys = staged ? max_keys : c->attention_keys;
    int64_t lanes = r.kind == GPUC_CLASS_GPU ? 1 : gpuc_target_lanes(r.target, a->work),
            queries = known(a->queries, GPUC_COMMON_symbolic);
    gpuc_attention_tile t = {.lanes = lanes_for(lanes, queries)};
    int64_t filled = (queries + t.lanes - 1) / t.lanes, rounded = (filled + 1) / 2 * 2;
    int64_t own_vectors = lanes > 1 && (double)filled > c->attention_filled * (double)rounded ? 2 : 1;
    t.vectors = gpuc_rules_knob(&r, "vectors", own_vectors, 4, 4, vectors);
    t.keys = gpuc_rules_knob(&r, "keys", own_keys, max_keys, 7, keys);
    bool many = target->vector_registers >= c->attention_registers;
    int64_t registers = many ? c->attention_tile : c->attention_small_tile;
    t.key_tile = gpuc_rules_knob(&r, "key_tile", registers, t.keys, 5, tiles);
    t.value_tile = gpuc_rules_knob(&r, "value_tile", registers, 16, 5, tiles);
    if (staged) {
        int64_t max = smaller(target->max_num_threads, target->max_threads_x), own = c->attention_threads;
        while (own > c->attention_min_threads && queries <= own / 2) own /= 2;
        t.threads = gpuc_rules_knob(&r, "threads", smaller(own, max), max, 5, groups);
    }
    return gpuc_topi_attention_emit(a, &t);
}

static void attention_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_attention *a = gpuc_new(call->ctx, gpuc_attention);
    *a = describe(call);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "attention", call->num_in, ins, 1, call->out);
    gpuc_attention_operand *all[] = {&a->query, &a->key, &a->of, &a->bias};
    for (int i = 0; i < call->num_in; i++) all[i]->buffer = op->input_buffers[i];
    a->out.buffer = op->output_buffers[0];
    gpuc_topi_par_set_body(call->ctx, op, attention_body, a);
    outs[0] = op->outputs[0];
}

/* ---- nn.rotary_embedding (Su et al., "RoFormer", 2021; ONNX RotaryEmbedding-23): x [N, heads, S, D], cos
 * and sin [N, S, R/2] of the R first elements of each head. Pairs are halves of them, or neighbours. ---- */

static void infer_rotary(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0];
    if (x->ndim != 4)
        gpuc_topi_fail(call, "takes [N, heads, sequence, head size], not %d dimensions", x->ndim);
    if (call->in[1].ndim != 3) gpuc_topi_fail(call, "the angles have %d dimensions, not 3", call->in[1].ndim);
    gpuc_ctx *ctx = call->ctx;
    int64_t head = gpuc_topi_static_dim(call, 0, 3), half = gpuc_topi_static_dim(call, 1, 2);
    if (2 * half > head)
        gpuc_topi_fail(call, "%lld angles for heads of %lld elements", (long long)half, (long long)head);
    for (int i = 1; i < 3; i++) {
        const gpuc_tensor_type *t = &call->in[i];
        if (t->ndim != 3 || gpuc_topi_static_dim(call, i, 2) != half)
            gpuc_topi_fail(call, "input %d must be [N, sequence, %lld]", i, (long long)half);
        for (int k = 0; k < 2; k++) {
            gpuc_expr have = t->dims[k], want = x->dims[2 * k];
            if (!have || !want || have == want) continue;
            gpuc_expr fits = gpuc_eq(ctx, have, want);
            if (k == 0) fits = gpuc_or(ctx, fits, gpuc_eq(ctx, have, gpuc_int(ctx, 1)));
            gpuc_topi_require(call, fits, "dimension %d of input %d is %s, of the data %s", k, i,
                              gpuc_expr_text(ctx, have), gpuc_expr_text(ctx, want));
        }
    }
    call->out[0] = call->in[0];
}

static void rotary_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    bool neighbours = gpuc_attrs_get_int(call->attrs, "interleaved", 0);
    int64_t half = gpuc_topi_static_dim(call, 1, 2), head = gpuc_topi_static_dim(call, 0, 3);
    gpuc_expr vars[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 4, vars)), value = x,
              h = gpuc_int(ctx, half), two = gpuc_int(ctx, 2), d = vars[3];
    if (half > 0) {
        gpuc_expr first =
            neighbours ? gpuc_eq(ctx, gpuc_floormod_(ctx, d, two), gpuc_int(ctx, 0)) : gpuc_lt(ctx, d, h);
        gpuc_expr step = neighbours ? gpuc_int(ctx, 1) : h;
        gpuc_expr mate = gpuc_select(ctx, first, gpuc_add(ctx, d, step), gpuc_sub(ctx, d, step));
        gpuc_expr angle =
            neighbours ? gpuc_floordiv_(ctx, d, two) : gpuc_select(ctx, first, d, gpuc_sub(ctx, d, h));
        gpuc_expr at[] = {vars[0], vars[1], vars[2], mate}, a[] = {vars[0], vars[2], angle};
        gpuc_expr other = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 4, at));
        const gpuc_expr *d4 = call->out[0].dims, angles[] = {d4[0], d4[2], h};
        const gpuc_tensor_type t = {.ndim = 3, .dims = angles};
        gpuc_expr c = gpuc_topi_widen(ctx, gpuc_topi_read_broadcast(ctx, ins[1], &t, a)),
                  s = gpuc_topi_widen(ctx, gpuc_topi_read_broadcast(ctx, ins[2], &t, a));
        gpuc_expr zero = gpuc_imm(ctx, gpuc_expr_dtype(s), 0);
        s = gpuc_select(ctx, first, gpuc_sub(ctx, zero, s), s);
        gpuc_expr turned = gpuc_add(ctx, gpuc_mul(ctx, x, c), gpuc_mul(ctx, other, s));
        value = 2 * half == head
                    ? turned
                    : gpuc_if_then_else(ctx, gpuc_lt(ctx, d, gpuc_int(ctx, 2 * half)), turned, x);
    }
    outs[0] =
        gpuc_topi_compute(ctx, "rotary", "injective", 4, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

ATTRS(attention, FLOAT("scale", 1), FLOAT("fill", -INFINITY), INT("empty_is_zero", 0), INTS("query_axes"),
      INTS("key_axes"), INTS("value_axes"), INTS("out_axes"))
ATTRS(rotary, INT("interleaved", 0))

const gpuc_op gpuc_topi_ops_attention[] = {
    {.name = "nn.attention",
     .min_in = 3,
     .max_in = 4,
     .types = {GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_LIKE, GPUC_T_FLOATS | GPUC_T_BOOL},
     .attrs = attention,
     .infer = infer_attention,
     .compute = attention_compute,
     .pattern = GPUC_FUSE_OPAQUE,
     .topi = "",
     .nnvm = "",
     .onnx = "",
     .schedule = gpuc_topi_par_schedule},
    INJECTIVE("nn.rotary_embedding", 3, 3, rotary, infer_rotary, rotary_compute, "rotary_embedding", "",
              "RotaryEmbedding", GPUC_T_FLOATS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_attention_count =
    sizeof gpuc_topi_ops_attention / sizeof gpuc_topi_ops_attention[0];
