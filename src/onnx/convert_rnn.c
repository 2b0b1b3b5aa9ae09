/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: one matrix product of the inputs of all steps, then the steps. */
#include <ctype.h>
#include <string.h>

#include "onnx/onnx.h"

typedef struct layer {
    gpuc_onnx_node *n;
    int gates, functions; /* of a cell */
    int64_t directions, units;
    bool batch_first;
    gpuc_dtype dtype;
} layer;

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };

static gpuc_rexpr *permuted(gpuc_onnx_node *n, gpuc_rexpr *x, int ndim, const int64_t *perm)
{
    return gpuc_onnx_op1(n, "transpose", gpuc_attrs_ints(n->ctx, NULL, "axes", ndim, perm), x);
}

static const int64_t swapped[] = {1, 0, 2};

/* Elements [from, to) of dimension 1 of x [directions, ...]. */
static gpuc_rexpr *part(const layer *l, gpuc_rexpr *x, int64_t from, int64_t to)
{
    gpuc_ctx *ctx = l->n->ctx;
    int64_t begin[] = {0, from}, sizes[] = {l->directions, to - from}, strides[] = {1, 1};
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", 2, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_ints(ctx, a, "sizes", 2, sizes), "strides", 2, strides);
    return gpuc_onnx_op1(l->n, "strided_slice", a, x);
}

static gpuc_rexpr *zeros(const layer *l, int ndim, const int64_t *dims)
{
    return gpuc_onnx_op1(l->n, "broadcast_to", gpuc_attrs_ints(l->n->ctx, NULL, "shape", ndim, dims),
                         gpuc_relay_const_scalar(l->n->ctx, l->dtype, 0));
}

static gpuc_rexpr *initial_state(const layer *l, int i)
{
    int64_t dims[] = {l->directions, 1, l->units};
    if (!gpuc_onnx_has(l->n, i)) return zeros(l, 3, dims);
    return l->batch_first ? permuted(l->n, l->n->in[i], 3, swapped) : l->n->in[i];
}

/* x [length, batch, features] times the transpose of w [directions, gates * units, features], plus bias. */
static gpuc_rexpr *project(const layer *l, gpuc_rexpr *x, gpuc_rexpr *bias)
{
    gpuc_onnx_node *n = l->n;
    const int64_t *w = gpuc_onnx_dims(n, W);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    int64_t columns = l->directions * l->gates * l->units, weights[] = {columns, w[2]}, dims[3];
    gpuc_rexpr *args[] = {x, gpuc_onnx_reshaped(n, gpuc_onnx_in(n, W), 2, weights)};
    bool known = gpuc_relay_tensor_type_static(t, dims); /* then the steps are rows of one matrix */
    int64_t rows[] = {known ? dims[0] * dims[1] : 0, w[2]};
    if (known) args[0] = gpuc_onnx_reshaped(n, x, 2, rows);
    gpuc_rexpr *y =
        gpuc_relay_op(n->ctx, "nn.matmul", gpuc_attrs_int(n->ctx, NULL, "transpose_b", 1), 2, args);
    if (bias) y = gpuc_onnx_op2(n, "add", y, gpuc_onnx_reshaped(n, bias, 1, &columns));
    dims[2] = columns;
    return known ? gpuc_onnx_reshaped(n, y, 3, dims) : y;
}

/* ---- Activations ---- */

typedef struct function {
    const char *name;
    double alpha, beta; /* defaults */
    int numbers;        /* how many of them it takes */
} function;

static const function functions[] = {
    {"relu", 0, 0, 0},         {"tanh", 0, 0, 0},
    {"sigmoid", 0, 0, 0},      {"affine", 1, 0, 2},
    {"leakyrelu", 0.01, 0, 1}, {"thresholdedrelu", 1, 0, 1},
    {"scaledtanh", 1, 1, 2},   {"hardsigmoid", 0.2, 0.5, 2},
    {"elu", 1, 0, 1},          {"softsign", 0, 0, 0},
    {"softplus", 0, 0, 0},
};

static const function *find_function(gpuc_onnx_node *n, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strlen(functions[i].name) == length && !strncasecmp(functions[i].name, name, length))
            return &functions[i];
    gpuc_onnx_fail(n, "activation '%.*s' is not known", (int)length, name);
}

/* The names and numbers of all directions. Numbers are given in order to the functions that take any. */
static const gpuc_attrs *activations(const layer *l, const gpuc_attrs *a)
{
    static const char *const defaults[] = {"tanh", "sigmoid tanh", "sigmoid tanh tanh"};
    enum { MAX = 6 };
    gpuc_onnx_node *n = l->n;
    const Onnx__AttributeProto *given = gpuc_onnx_attr(n, "activations"),
                               *alpha = gpuc_onnx_attr(n, "activation_alpha"),
                               *beta = gpuc_onnx_attr(n, "activation_beta");
    int count = l->functions * (int)l->directions;
    size_t alphas = 0, betas = 0;
    double numbers[2][MAX];
    const char *names = "", *p = defaults[l->functions - 1];
    if (given && given->n_strings != (size_t)count)
        gpuc_onnx_fail(n, "attribute 'activations' has %zu names, needs %d", given->n_strings, count);
    for (int i = 0; i < count; i++) {
        if (i == l->functions) p = defaults[l->functions - 1];
        const function *f =
            given ? find_function(n, (const char *)given->strings[i].data, given->strings[i].len)
                  : find_function(n, p, strcspn(p, " "));
        p += strcspn(p, " ");
        p += *p == ' ';
        names = gpuc_ctx_printf(n->ctx, "%s%s%s", names, i ? "," : "", f->name);
        bool has_alpha = f->numbers > 0 && alpha && alphas<alpha->n_floats, has_beta = f->numbers> 1 &&
                         beta && betas < beta->n_floats;
        numbers[0][i] = has_alpha ? (double)alpha->floats[alphas++] : f->alpha;
        numbers[1][i] = has_beta ? (double)beta->floats[betas++] : f->beta;
    }
    a = gpuc_attrs_string(n->ctx, a, "activations", names);
    a = gpuc_attrs_floats(n->ctx, a, "alpha", count, numbers[0]);
    return gpuc_attrs_floats(n->ctx, a, "beta", count, numbers[1]);
}

/* ---- Layers ---- */

static layer describe(gpuc_onnx_node *n, int gates, int function_count)
{
    layer l = {
        .n = n, .gates = gates, .functions = function_count, .batch_first = gpuc_onnx_int(n, "layout", 0)};
    if (gpuc_onnx_type(n, X)->ndim != 3 || gpuc_onnx_type(n, W)->ndim != 3 || gpuc_onnx_type(n, R)->ndim != 3)
        gpuc_onnx_fail(n, "X, W and R must have three dimensions");
    const int64_t *r = gpuc_onnx_dims(n, R), *w = gpuc_onnx_dims(n, W);
    l.directions = r[0];
    l.units = r[2];
    l.dtype = gpuc_onnx_type(n, X)->dtype;
    if (gpuc_onnx_int(n, "hidden_size", l.units) != l.units)
        gpuc_onnx_fail(n, "hidden_size is not %lld, as R says", (long long)l.units);
    bool fits = l.units > 0 && l.units < INT32_MAX / 8 && (l.directions == 1 || l.directions == 2);
    if (!fits || r[1] != gates * l.units || w[0] != l.directions || w[1] != r[1])
        gpuc_onnx_fail(n, "W and R do not fit each other");
    gpuc_onnx_ignore(n, "output_sequence"); /* of opset 1 to 6: all outputs are there */
    return l;
}

static const gpuc_attrs *common_attrs(const layer *l)
{
    const char *direction = gpuc_onnx_string(l->n, "direction", "forward");
    bool both = !strcmp(direction, "bidirectional"), reverse = !strcmp(direction, "reverse");
    if (!both && !reverse && strcmp(direction, "forward"))
        gpuc_onnx_fail(l->n, "direction '%s' is not known", direction);
    if (both != (l->directions == 2))
        gpuc_onnx_fail(l->n, "direction '%s' does not fit weights of %lld directions", direction,
                       (long long)l->directions);
    const gpuc_attrs *a = gpuc_attrs_int(l->n->ctx, activations(l, NULL), "reverse", reverse);
    return gpuc_attrs_float(l->n->ctx, a, "clip", gpuc_onnx_float(l->n, "clip", 0));
}

static gpuc_rexpr *recurrent_weights(const layer *l)
{
    static const int64_t perm[] = {0, 2, 1}; /* neighbouring units next to each other */
    return permuted(l->n, gpuc_onnx_in(l->n, R), 3, perm);
}

/* The bias of the inputs, and of the state where it need not be told apart: the gates from `apart` on have
 * only the first. */
static gpuc_rexpr *sum_of_biases(const layer *l, int apart)
{
    gpuc_onnx_node *n = l->n;
    if (!gpuc_onnx_has(n, BIAS)) return NULL;
    const gpuc_tensor_type *t = gpuc_onnx_type(n, BIAS);
    const int64_t *dims = gpuc_onnx_dims(n, BIAS);
    int64_t size = l->gates * l->units, joined = apart * l->units;
    if (t->ndim != 2 || dims[0] != l->directions || dims[1] != 2 * size)
        gpuc_onnx_fail(n, "B must have the shape [%lld, %lld]", (long long)l->directions,
                       (long long)(2 * size));
    gpuc_rexpr *b = n->in[BIAS];
    gpuc_rexpr *sum = gpuc_onnx_op2(n, "add", part(l, b, 0, joined), part(l, b, size, size + joined));
    if (apart == l->gates) return sum;
    gpuc_rexpr *parts[] = {sum, part(l, b, joined, size)};
    return gpuc_relay_op(n->ctx, "concatenate", gpuc_attrs_int(n->ctx, NULL, "axis", 1), 2, parts);
}

/* args has room for one more. */
static void finish(const layer *l, const char *op, const gpuc_attrs *a, int count, gpuc_rexpr **args)
{
    static const int64_t all[] = {2, 0, 1, 3};
    gpuc_onnx_node *n = l->n;
    if (gpuc_onnx_has(n, LENGTHS)) args[count++] = n->in[LENGTHS];
    gpuc_rexpr *tuple = gpuc_relay_op(n->ctx, op, a, count, args);
    int outputs = tuple->type->n;
    if (n->n_out > outputs) gpuc_onnx_fail(n, "has %d outputs, at most %d", n->n_out, outputs);
    for (int i = 0; i < n->n_out; i++) {
        n->out[i] = gpuc_relay_get(n->ctx, tuple, i);
        if (l->batch_first) n->out[i] = permuted(n, n->out[i], i ? 3 : 4, i ? swapped : all);
    }
}

static gpuc_rexpr *projected(const layer *l, int apart)
{
    gpuc_rexpr *x = gpuc_onnx_in(l->n, X);
    if (l->batch_first) x = permuted(l->n, x, 3, swapped);
    return project(l, x, sum_of_biases(l, apart));
}

static void rnn(gpuc_onnx_node *n)
{
    layer l = describe(n, 1, 1);
    gpuc_rexpr *args[4] = {projected(&l, 1), recurrent_weights(&l), initial_state(&l, INITIAL_H)};
    finish(&l, gpuc_onnx_relay(n), common_attrs(&l), 3, args);
}

static void gru(gpuc_onnx_node *n)
{
    layer l = describe(n, 3, 2);
    int64_t dims[] = {l.directions, l.units};
    gpuc_rexpr *bias =
        gpuc_onnx_has(n, BIAS) ? part(&l, n->in[BIAS], 5 * l.units, 6 * l.units) : zeros(&l, 2, dims);
    gpuc_rexpr *args[5] = {projected(&l, 2), recurrent_weights(&l), initial_state(&l, INITIAL_H), bias};
    const gpuc_attrs *a = common_attrs(&l);
    finish(&l, gpuc_onnx_relay(n),
           gpuc_attrs_int(n->ctx, a, "linear_before_reset", gpuc_onnx_int(n, "linear_before_reset", 0)), 4,
           args);
}

static void lstm(gpuc_onnx_node *n)
{
    layer l = describe(n, 4, 3);
    int64_t dims[] = {l.directions, 3 * l.units};
    gpuc_rexpr *peepholes = gpuc_onnx_has(n, PEEPHOLES) ? n->in[PEEPHOLES] : zeros(&l, 2, dims);
    gpuc_rexpr *args[6] = {projected(&l, 4), recurrent_weights(&l), initial_state(&l, INITIAL_H),
                           initial_state(&l, INITIAL_C), peepholes};
    const gpuc_attrs *a = common_attrs(&l);
    finish(&l, gpuc_onnx_relay(n),
           gpuc_attrs_int(n->ctx, a, "input_forget", gpuc_onnx_int(n, "input_forget", 0)), 5, args);
}

const gpuc_onnx_row gpuc_onnx_rows_rnn[] = {
    {"RNN", 7, rnn},
    {"GRU", 7, gru},
    {"LSTM", 7, lstm},
    {NULL, 0, NULL},
};
