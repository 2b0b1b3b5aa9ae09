/* SPDX-License-Identifier: Apache-2.0 */
#include "exprs.h"

#include <string.h>

#include "te/te.h"

gpuc_expr num(expr_graph *g, int64_t value)
{
    return gpuc_int(g->ctx, value);
}

gpuc_expr real(expr_graph *g, double value)
{
    return gpuc_imm(g->ctx, GPUC_FLOAT32, value);
}

gpuc_expr symbol(expr_graph *g, const char *name, int64_t value)
{
    gpuc_expr v = gpuc_var(g->ctx, name, GPUC_INDEX);
    g->symbols[g->num_symbols] = v;
    g->values[g->num_symbols++] = value;
    return v;
}

gpuc_tensor *input(expr_graph *g, const char *name, gpuc_dtype dtype, int ndim, const gpuc_expr *dims)
{
    return g->args[g->num_args++] = gpuc_te_placeholder(g->ctx, name, ndim, dims, dtype);
}

void output(expr_graph *g, gpuc_tensor *t)
{
    g->args[g->num_args++] = t;
    g->num_outputs++;
}

gpuc_iter *axis(expr_graph *g, gpuc_expr extent, const char *name)
{
    return gpuc_te_axis(g->ctx, extent, name);
}

gpuc_iter *raxis(expr_graph *g, gpuc_expr extent, const char *name)
{
    return gpuc_te_reduce_axis(g->ctx, extent, name);
}

gpuc_expr at(expr_graph *g, gpuc_tensor *t, int n, const gpuc_expr *index)
{
    return gpuc_te_read(g->ctx, t, n, index);
}

static gpuc_tensor *input2(expr_graph *g, const char *name, gpuc_expr rows, gpuc_expr cols)
{
    return input(g, name, GPUC_FLOAT32, 2, EXPRS(rows, cols));
}

static gpuc_tensor *compute(expr_graph *g, const char *name, int n, gpuc_iter *const *axes, gpuc_expr body)
{
    return gpuc_te_compute(g->ctx, name, n, axes, body);
}

static gpuc_expr sum(expr_graph *g, gpuc_expr value, int n, gpuc_iter *const *axes)
{
    return gpuc_te_reduce(g->ctx, "sum", value, n, axes);
}

static gpuc_expr plus(expr_graph *g, gpuc_expr a, gpuc_expr b)
{
    return gpuc_add(g->ctx, a, b);
}

static gpuc_expr times(expr_graph *g, gpuc_expr a, gpuc_expr b)
{
    return gpuc_mul(g->ctx, a, b);
}

static gpuc_expr relu(expr_graph *g, gpuc_expr a)
{
    return gpuc_max(g->ctx, a, real(g, 0));
}

/* ---- Elementwise ------------------------------------------------------------------------------------ */

static void add_of(expr_graph *g, gpuc_expr n)
{
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 1, &n), *b = input(g, "B", GPUC_FLOAT32, 1, &n);
    gpuc_iter *i = axis(g, n, "i");
    output(g, compute(g, "C", 1, &i, plus(g, AT1(g, a, V(i)), AT1(g, b, V(i)))));
}

static void add_prime(expr_graph *g)
{
    add_of(g, num(g, 97));
}

static void add_power(expr_graph *g)
{
    add_of(g, num(g, 128));
}

static void add_symbolic(expr_graph *g)
{
    add_of(g, symbol(g, "n", 75));
}

static void bias_relu_of(expr_graph *g, gpuc_expr n, gpuc_expr m)
{
    gpuc_tensor *a = input2(g, "A", n, m), *b = input(g, "B", GPUC_FLOAT32, 1, &m);
    gpuc_iter *ij[] = {axis(g, n, "i"), axis(g, m, "j")}, *kl[] = {axis(g, n, "i"), axis(g, m, "j")};
    gpuc_tensor *t = compute(g, "T", 2, ij, plus(g, AT2(g, a, V(ij[0]), V(ij[1])), AT1(g, b, V(ij[1]))));
    output(g, compute(g, "C", 2, kl, relu(g, AT2(g, t, V(kl[0]), V(kl[1])))));
}

static void bias_relu(expr_graph *g)
{
    bias_relu_of(g, num(g, 13), num(g, 24));
}

static void bias_relu_symbolic(expr_graph *g)
{
    bias_relu_of(g, symbol(g, "n", 7), symbol(g, "m", 18));
}

static void transpose(expr_graph *g)
{
    gpuc_expr n = num(g, 16), m = num(g, 11);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *ij[] = {axis(g, m, "i"), axis(g, n, "j")};
    output(g, compute(g, "C", 2, ij, AT2(g, a, V(ij[1]), V(ij[0]))));
}

static void two_outputs(expr_graph *g)
{
    gpuc_expr n = num(g, 9), m = num(g, 16);
    gpuc_tensor *a = input2(g, "A", n, m), *outs[2];
    gpuc_iter *ij[] = {axis(g, n, "i"), axis(g, m, "j")};
    gpuc_expr x = AT2(g, a, V(ij[0]), V(ij[1]));
    gpuc_te_compute_n(g->ctx, "C", 2, ij, 2, EXPRS(plus(g, x, real(g, 1)), times(g, x, x)), outs);
    output(g, outs[0]);
    output(g, outs[1]);
}

static void upsample(expr_graph *g)
{
    gpuc_expr n = num(g, 7), two = num(g, 2);
    gpuc_tensor *a = input2(g, "A", n, n);
    gpuc_iter *ij[] = {axis(g, n, "i"), axis(g, n, "j")};
    gpuc_tensor *t = compute(g, "T", 2, ij, times(g, AT2(g, a, V(ij[0]), V(ij[1])), real(g, 3)));
    gpuc_iter *yx[] = {axis(g, num(g, 14), "y"), axis(g, num(g, 14), "x")};
    output(g,
           compute(g, "C", 2, yx,
                   AT2(g, t, gpuc_floordiv_(g->ctx, V(yx[0]), two), gpuc_floordiv_(g->ctx, V(yx[1]), two))));
}

/* The last five of the seven columns of T. */
static void last_columns(expr_graph *g)
{
    gpuc_expr m = num(g, 3), n = num(g, 7), two = num(g, 2);
    gpuc_tensor *a = input2(g, "A", m, n);
    gpuc_iter *ij[] = {axis(g, m, "i"), axis(g, n, "j")};
    gpuc_tensor *t = compute(g, "T", 2, ij, times(g, AT2(g, a, V(ij[0]), V(ij[1])), real(g, 3)));
    gpuc_iter *yx[] = {axis(g, m, "y"), axis(g, num(g, 5), "x")};
    output(g, compute(g, "C", 2, yx, AT2(g, t, V(yx[0]), gpuc_add(g->ctx, V(yx[1]), two))));
}

static void gather(expr_graph *g)
{
    gpuc_expr n = num(g, 12), m = num(g, 10);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 1, &n), *index = input(g, "I", GPUC_INT32, 1, &m);
    gpuc_iter *i = axis(g, n, "i"), *j = axis(g, m, "j");
    gpuc_tensor *t = compute(g, "T", 1, &i, times(g, AT1(g, a, V(i)), real(g, 2)));
    gpuc_expr where = gpuc_floormod_(g->ctx, gpuc_cast(g->ctx, GPUC_INDEX, AT1(g, index, V(j))), n);
    output(g, compute(g, "C", 1, &j, AT1(g, t, where)));
}

static void concat(expr_graph *g)
{
    gpuc_expr n = num(g, 10), m = num(g, 7), c = num(g, 5);
    gpuc_tensor *a = input2(g, "A", n, c), *b = input2(g, "B", m, c);
    gpuc_iter *ij[] = {axis(g, num(g, 17), "i"), axis(g, c, "j")};
    gpuc_expr left = AT2(g, a, V(ij[0]), V(ij[1]));
    gpuc_expr right = AT2(g, b, gpuc_sub(g->ctx, V(ij[0]), n), V(ij[1]));
    output(g, compute(g, "C", 2, ij, gpuc_if_then_else(g->ctx, gpuc_lt(g->ctx, V(ij[0]), n), left, right)));
}

static void stencils(expr_graph *g)
{
    gpuc_expr n = num(g, 34), n1 = num(g, 32), n2 = num(g, 30), one = num(g, 1), two = num(g, 2);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 1, &n), *t = a;
    gpuc_expr sizes[2] = {n1, n2};
    for (int k = 0; k < 2; k++) {
        gpuc_iter *i = axis(g, sizes[k], k ? "j" : "i");
        gpuc_expr x = plus(g, AT1(g, t, V(i)), AT1(g, t, plus(g, V(i), two)));
        t = compute(g, k ? "C" : "T", 1, &i, plus(g, x, times(g, real(g, 2), AT1(g, t, plus(g, V(i), one)))));
    }
    output(g, t);
}

/* What is shifted out of the row is 0: reads that a condition lets happen. */
static void shift(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, 5), m = num(g, 14), three = num(g, 3);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *ij[] = {axis(g, n, "i"), axis(g, m, "j")}, *yx[] = {axis(g, n, "y"), axis(g, m, "x")};
    gpuc_tensor *t = compute(g, "T", 2, ij, times(g, AT2(g, a, V(ij[0]), V(ij[1])), real(g, 2)));
    gpuc_expr left = gpuc_sub(ctx, V(yx[1]), three), right = plus(g, V(yx[1]), three);
    gpuc_expr before =
        gpuc_if_then_else(ctx, gpuc_ge(ctx, left, num(g, 0)), AT2(g, t, V(yx[0]), left), real(g, 0));
    gpuc_expr after = gpuc_if_then_else(ctx, gpuc_lt(ctx, right, m), AT2(g, t, V(yx[0]), right), real(g, 1));
    output(g, compute(g, "C", 2, yx, gpuc_sub(ctx, before, after)));
}

/* Backwards, in steps of 2, and only the half of it. */
static void reverse(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, 23), m = num(g, 11);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 1, &n);
    gpuc_iter *i = axis(g, n, "i"), *j = axis(g, m, "j");
    gpuc_tensor *t = compute(g, "T", 1, &i, plus(g, AT1(g, a, V(i)), real(g, 1)));
    gpuc_expr two = times(g, V(j), num(g, 2));
    output(g, compute(g, "C", 1, &j, times(g, AT1(g, t, gpuc_sub(ctx, num(g, 22), two)), AT1(g, t, two))));
}

/* D = (B + 1) * B: one producer is read directly and through another. */
static void twice_read(expr_graph *g)
{
    gpuc_expr n = num(g, 16), m = num(g, 8);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *x[3][2];
    for (int k = 0; k < 3; k++) {
        x[k][0] = axis(g, n, "i");
        x[k][1] = axis(g, m, "j");
    }
    gpuc_tensor *b = compute(g, "B", 2, x[0], times(g, AT2(g, a, V(x[0][0]), V(x[0][1])), real(g, 2)));
    gpuc_tensor *c = compute(g, "C", 2, x[1], plus(g, AT2(g, b, V(x[1][0]), V(x[1][1])), real(g, 1)));
    gpuc_expr d = times(g, AT2(g, c, V(x[2][0]), V(x[2][1])), AT2(g, b, V(x[2][0]), V(x[2][1])));
    output(g, compute(g, "D", 2, x[2], d));
}

/* The first rows of several tensors, each of its own open size. */
static void many_sizes(expr_graph *g)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"};
    enum { COUNT = sizeof names / sizeof names[0] };
    gpuc_ctx *ctx = g->ctx;
    gpuc_tensor *in[COUNT];
    gpuc_expr total = num(g, 0), n[COUNT];
    for (int k = 0; k < COUNT; k++) {
        n[k] = symbol(g, names[k], k % 4);
        in[k] = input(g, gpuc_ctx_printf(ctx, "A%d", k), GPUC_FLOAT32, 1, &n[k]);
        total = plus(g, total, n[k]);
    }
    gpuc_iter *i = axis(g, total, "i"), *j = axis(g, total, "j");
    gpuc_expr value = real(g, 0), start = total;
    for (int k = COUNT - 1; k >= 0; k--) {
        gpuc_expr end = start;
        start = gpuc_sub(ctx, start, n[k]);
        gpuc_expr here = gpuc_and(ctx, gpuc_le(ctx, start, V(i)), gpuc_lt(ctx, V(i), end));
        value = gpuc_if_then_else(ctx, here, AT1(g, in[k], gpuc_sub(ctx, V(i), start)), value);
    }
    gpuc_tensor *t = compute(g, "T", 1, &i, value);
    output(g, compute(g, "C", 1, &j, times(g, AT1(g, t, V(j)), real(g, 2))));
}

/* ---- Products -------------------------------------------------------------------------------------- */

static gpuc_tensor *matmul(expr_graph *g, const char *name, gpuc_tensor *a, gpuc_tensor *b)
{
    gpuc_iter *ij[] = {axis(g, gpuc_te_shape(a)[0], "i"), axis(g, gpuc_te_shape(b)[1], "j")};
    gpuc_iter *k = raxis(g, gpuc_te_shape(a)[1], "k");
    gpuc_expr product = times(g, AT2(g, a, V(ij[0]), V(k)), AT2(g, b, V(k), V(ij[1])));
    return compute(g, name, 2, ij, sum(g, product, 1, &k));
}

static void matmul_of(expr_graph *g, gpuc_expr n, gpuc_expr k, gpuc_expr m)
{
    gpuc_tensor *a = input2(g, "A", n, k), *b = input2(g, "B", k, m);
    output(g, matmul(g, "C", a, b));
}

static void matmul_prime(expr_graph *g)
{
    matmul_of(g, num(g, 17), num(g, 13), num(g, 19));
}

static void matmul_power(expr_graph *g)
{
    matmul_of(g, num(g, 16), num(g, 32), num(g, 16));
}

static void matmul_symbolic(expr_graph *g)
{
    matmul_of(g, symbol(g, "n", 11), symbol(g, "k", 9), num(g, 8));
}

/* At most 20 rows, by a size that a run knows. */
static void matmul_of_few_rows(expr_graph *g)
{
    matmul_of(g, gpuc_min(g->ctx, symbol(g, "n", 31), num(g, 20)), num(g, 9), num(g, 8));
}

static void matmul_chain(expr_graph *g)
{
    gpuc_tensor *a = input2(g, "A", num(g, 8), num(g, 7)), *b = input2(g, "B", num(g, 7), num(g, 12));
    gpuc_tensor *c = input2(g, "C", num(g, 12), num(g, 5));
    output(g, matmul(g, "D", matmul(g, "T", a, b), c));
}

static void dense_bias_relu(expr_graph *g)
{
    gpuc_expr m = num(g, 12);
    gpuc_tensor *a = input2(g, "A", num(g, 9), num(g, 16)), *w = input2(g, "W", num(g, 16), m);
    gpuc_tensor *bias = input(g, "bias", GPUC_FLOAT32, 1, &m), *t = matmul(g, "T", a, w);
    gpuc_iter *ij[] = {axis(g, num(g, 9), "i"), axis(g, m, "j")};
    output(g,
           compute(g, "C", 2, ij, relu(g, plus(g, AT2(g, t, V(ij[0]), V(ij[1])), AT1(g, bias, V(ij[1]))))));
}

static void batch_matmul(expr_graph *g)
{
    gpuc_expr batch = num(g, 3), n = num(g, 8), m = num(g, 5), k = num(g, 7);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(batch, n, k));
    gpuc_tensor *b = input(g, "B", GPUC_FLOAT32, 3, EXPRS(batch, m, k));
    gpuc_iter *x[] = {axis(g, batch, "b"), axis(g, n, "i"), axis(g, m, "j")}, *r = raxis(g, k, "k");
    gpuc_expr product = times(g, AT3(g, a, V(x[0]), V(x[1]), V(r)), AT3(g, b, V(x[0]), V(x[2]), V(r)));
    output(g, compute(g, "C", 3, x, sum(g, product, 1, &r)));
}

/* ---- Windows ---------------------------------------------------------------------------------------- */

static gpuc_tensor *pad2d(expr_graph *g, gpuc_tensor *a, int64_t pad)
{
    gpuc_ctx *ctx = g->ctx;
    const gpuc_expr *s = gpuc_te_shape(a);
    gpuc_expr p = num(g, pad), two = num(g, 2 * pad);
    gpuc_iter *x[] = {axis(g, s[0], "c"), axis(g, plus(g, s[1], two), "h"), axis(g, plus(g, s[2], two), "w")};
    gpuc_expr h = gpuc_sub(ctx, V(x[1]), p), w = gpuc_sub(ctx, V(x[2]), p), zero = num(g, 0);
    gpuc_expr in_h = gpuc_and(ctx, gpuc_ge(ctx, h, zero), gpuc_lt(ctx, h, s[1]));
    gpuc_expr in_w = gpuc_and(ctx, gpuc_ge(ctx, w, zero), gpuc_lt(ctx, w, s[2]));
    gpuc_expr body = gpuc_if_then_else(ctx, gpuc_and(ctx, in_h, in_w), AT3(g, a, V(x[0]), h, w), real(g, 0));
    return compute(g, "pad", 3, x, body);
}

static void conv2d_of(expr_graph *g, int64_t size, int64_t in_channels, int64_t channels, int64_t window,
                      int64_t pad, int64_t stride)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, size), ci = num(g, in_channels), co = num(g, channels), k = num(g, window);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(ci, n, n));
    gpuc_tensor *w = input(g, "W", GPUC_FLOAT32, 4, EXPRS(co, ci, k, k));
    gpuc_tensor *p = pad ? pad2d(g, a, pad) : a;
    gpuc_expr out = num(g, (size + 2 * pad - window) / stride + 1), step = num(g, stride);
    gpuc_iter *x[] = {axis(g, co, "f"), axis(g, out, "y"), axis(g, out, "x")};
    gpuc_iter *r[] = {raxis(g, ci, "rc"), raxis(g, k, "ry"), raxis(g, k, "rx")};
    gpuc_expr h = gpuc_add(ctx, gpuc_mul(ctx, V(x[1]), step), V(r[1]));
    gpuc_expr v = gpuc_add(ctx, gpuc_mul(ctx, V(x[2]), step), V(r[2]));
    gpuc_expr product = times(g, AT3(g, p, V(r[0]), h, v), AT4(g, w, V(x[0]), V(r[0]), V(r[1]), V(r[2])));
    output(g, compute(g, "C", 3, x, sum(g, product, 3, r)));
}

static void conv2d_same(expr_graph *g)
{
    conv2d_of(g, 11, 3, 4, 3, 1, 1);
}

static void conv2d_strided(expr_graph *g)
{
    conv2d_of(g, 16, 2, 5, 3, 1, 2);
}

static void conv2d_pointwise(expr_graph *g)
{
    conv2d_of(g, 8, 8, 6, 1, 0, 1);
}

static void depthwise(expr_graph *g)
{
    gpuc_expr c = num(g, 5), n = num(g, 8), k = num(g, 3);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(c, n, n));
    gpuc_tensor *w = input(g, "W", GPUC_FLOAT32, 3, EXPRS(c, k, k)), *p = pad2d(g, a, 1);
    gpuc_iter *x[] = {axis(g, c, "c"), axis(g, n, "y"), axis(g, n, "x")};
    gpuc_iter *r[] = {raxis(g, k, "ry"), raxis(g, k, "rx")};
    gpuc_expr in = AT3(g, p, V(x[0]), plus(g, V(x[1]), V(r[0])), plus(g, V(x[2]), V(r[1])));
    output(g, compute(g, "C", 3, x, sum(g, times(g, in, AT3(g, w, V(x[0]), V(r[0]), V(r[1]))), 2, r)));
}

static void conv1d_dilated(expr_graph *g)
{
    gpuc_expr c = num(g, 4), n = num(g, 37), f = num(g, 3), k = num(g, 3);
    gpuc_tensor *a = input2(g, "A", c, n), *w = input(g, "W", GPUC_FLOAT32, 3, EXPRS(f, c, k));
    gpuc_iter *x[] = {axis(g, f, "f"), axis(g, num(g, 31), "x")},
              *r[] = {raxis(g, c, "rc"), raxis(g, k, "rx")};
    gpuc_expr in = AT2(g, a, V(r[0]), plus(g, V(x[1]), times(g, V(r[1]), num(g, 3))));
    output(g, compute(g, "C", 2, x, sum(g, times(g, in, AT3(g, w, V(x[0]), V(r[0]), V(r[1]))), 2, r)));
}

static void max_pool(expr_graph *g)
{
    gpuc_expr c = num(g, 3), n = num(g, 13), two = num(g, 2);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(c, n, n));
    gpuc_iter *x[] = {axis(g, c, "c"), axis(g, num(g, 6), "y"), axis(g, num(g, 6), "x")};
    gpuc_iter *r[] = {raxis(g, num(g, 3), "ry"), raxis(g, num(g, 3), "rx")};
    gpuc_expr h = plus(g, times(g, V(x[1]), two), V(r[0])), w = plus(g, times(g, V(x[2]), two), V(r[1]));
    output(g, compute(g, "C", 3, x, gpuc_te_reduce(g->ctx, "max", AT3(g, a, V(x[0]), h, w), 2, r)));
}

/* ---- Reductions ------------------------------------------------------------------------------------ */

static void sum_two_axes(expr_graph *g)
{
    gpuc_expr n = num(g, 7), m = num(g, 13), k = num(g, 8);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(n, m, k));
    gpuc_iter *i = axis(g, m, "i"), *r[] = {raxis(g, n, "r0"), raxis(g, k, "r1")};
    output(g, compute(g, "C", 1, &i, sum(g, AT3(g, a, V(r[0]), V(i), V(r[1])), 2, r)));
}

static void sum_all(expr_graph *g)
{
    gpuc_expr n = num(g, 29), m = num(g, 16);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *r[] = {raxis(g, n, "r0"), raxis(g, m, "r1")};
    output(g, compute(g, "C", 0, NULL, sum(g, AT2(g, a, V(r[0]), V(r[1])), 2, r)));
}

static void row_max(expr_graph *g)
{
    gpuc_expr n = num(g, 5), m = num(g, 67);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    output(g, compute(g, "C", 1, &i, gpuc_te_reduce(g->ctx, "max", AT2(g, a, V(i), V(k)), 1, &k)));
}

static void sum_symbolic(expr_graph *g)
{
    gpuc_expr n = symbol(g, "n", 6), m = symbol(g, "m", 45);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    output(g, compute(g, "C", 1, &i, sum(g, AT2(g, a, V(i), V(k)), 1, &k)));
}

static void int_sum(expr_graph *g)
{
    gpuc_expr n = num(g, 31), m = num(g, 4);
    gpuc_tensor *a = input(g, "A", GPUC_INT32, 2, EXPRS(n, m));
    gpuc_iter *i = axis(g, m, "i"), *k = raxis(g, n, "k");
    gpuc_expr x = AT2(g, a, V(k), V(i));
    output(g, compute(g, "C", 1, &i, sum(g, times(g, x, x), 1, &k)));
}

static void any_negative(expr_graph *g)
{
    gpuc_expr n = num(g, 6), m = num(g, 23);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    gpuc_expr below = gpuc_lt(g->ctx, AT2(g, a, V(i), V(k)), real(g, -7));
    gpuc_tensor *t = compute(g, "T", 1, &i, gpuc_te_reduce(g->ctx, "any", below, 1, &k));
    gpuc_iter *j = axis(g, n, "j");
    output(g, compute(g, "C", 1, &j, gpuc_select(g->ctx, AT1(g, t, V(j)), real(g, 1), real(g, 0))));
}

static void arg_max(gpuc_ctx *ctx, gpuc_expr value, gpuc_expr index, gpuc_iter *k, gpuc_expr out[2])
{
    static const char *const names[] = {"v", "i"};
    gpuc_expr lhs[2], rhs[2];
    gpuc_dtype types[2] = {value->dtype, index->dtype};
    for (int i = 0; i < 2; i++) {
        lhs[i] = gpuc_var(ctx, names[i], types[i]);
        rhs[i] = gpuc_var(ctx, names[i], types[i]);
    }
    gpuc_expr equal = gpuc_eq(ctx, lhs[0], rhs[0]), less = gpuc_lt(ctx, lhs[1], rhs[1]);
    gpuc_expr keep = gpuc_or(ctx, gpuc_gt(ctx, lhs[0], rhs[0]), gpuc_and(ctx, equal, less));
    gpuc_expr result[2] = {gpuc_select(ctx, keep, lhs[0], rhs[0]), gpuc_select(ctx, keep, lhs[1], rhs[1])};
    gpuc_expr identity[2] = {gpuc_tir_min_value(ctx, types[0]), gpuc_tir_max_value(ctx, types[1])};
    gpuc_expr source[2] = {value, index};
    const gpuc_tir_reducer *r = gpuc_te_comm_reducer(ctx, "argmax", 2, lhs, rhs, result, identity);
    gpuc_te_reduce_n(ctx, r, source, 1, &k, NULL, out);
}

static void argmax(expr_graph *g)
{
    gpuc_expr n = num(g, 4), m = num(g, 41);
    gpuc_tensor *a = input2(g, "A", n, m), *outs[2];
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    gpuc_expr x = AT2(g, a, V(i), V(k)), index = gpuc_cast(g->ctx, GPUC_INT32, V(k));
    gpuc_expr bodies[2];
    arg_max(g->ctx, x, index, k, bodies);
    gpuc_te_compute_n(g->ctx, "C", 1, &i, 2, bodies, outs);
    output(g, outs[0]);
    output(g, outs[1]);
}

/* Count, mean and sum of squared differences of what a condition lets in, by Welford's parts. */
static void welford(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    static const char *const names[] = {"n", "mean", "m2"};
    gpuc_expr n = num(g, 5), m = num(g, 21), l[3], r[3], bodies[3], one = real(g, 1), zero = real(g, 0);
    for (int i = 0; i < 3; i++) {
        l[i] = gpuc_var(ctx, names[i], GPUC_FLOAT32);
        r[i] = gpuc_var(ctx, names[i], GPUC_FLOAT32);
    }
    gpuc_expr both = plus(g, l[0], r[0]), by = gpuc_max(ctx, both, one), apart = gpuc_sub(ctx, r[1], l[1]);
    gpuc_expr share = gpuc_div(ctx, r[0], by);
    gpuc_expr moved = times(g, times(g, apart, apart), times(g, l[0], share));
    gpuc_expr result[] = {both, plus(g, l[1], times(g, apart, share)), plus(g, plus(g, l[2], r[2]), moved)};
    const gpuc_tir_reducer *reducer =
        gpuc_te_comm_reducer(ctx, "welford", 3, l, r, result, EXPRS(zero, zero, zero));
    gpuc_tensor *a = input2(g, "A", n, m), *outs[3];
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    gpuc_expr x = AT2(g, a, V(i), V(k));
    gpuc_te_reduce_n(ctx, reducer, EXPRS(one, x, zero), 1, &k, gpuc_lt(ctx, V(k), plus(g, V(i), num(g, 15))),
                     bodies);
    gpuc_te_compute_n(ctx, "C", 1, &i, 3, bodies, outs);
    for (int o = 0; o < 3; o++) output(g, outs[o]);
}

/* The maximum with the sum of exponentials of what is below it, over two axes that begin elsewhere than 0. */
static void logsumexp_pairs(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, 3), h = num(g, 4), w = num(g, 7), l[2], r[2], bodies[2], lowest = real(g, -1e30);
    for (int i = 0; i < 2; i++) {
        l[i] = gpuc_var(ctx, i ? "sum" : "top", GPUC_FLOAT32);
        r[i] = gpuc_var(ctx, i ? "sum" : "top", GPUC_FLOAT32);
    }
    gpuc_expr top = gpuc_max(ctx, l[0], r[0]);
    gpuc_expr left = times(g, l[1], gpuc_call1(ctx, "exp", gpuc_sub(ctx, l[0], top)));
    gpuc_expr right = times(g, r[1], gpuc_call1(ctx, "exp", gpuc_sub(ctx, r[0], top)));
    const gpuc_tir_reducer *reducer = gpuc_te_comm_reducer(
        ctx, "logsumexp", 2, l, r, EXPRS(top, plus(g, left, right)), EXPRS(lowest, real(g, 0)));
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(n, h, w)), *outs[2];
    gpuc_iter *i = gpuc_te_axis_from(ctx, num(g, 2), n, "i");
    gpuc_iter *over[] = {gpuc_te_reduce_axis_from(ctx, num(g, -3), h, "y"),
                         gpuc_te_reduce_axis_from(ctx, num(g, 1), w, "x")};
    gpuc_expr x = AT3(g, a, gpuc_sub(ctx, V(i), num(g, 2)), plus(g, V(over[0]), num(g, 3)),
                      gpuc_sub(ctx, V(over[1]), num(g, 1)));
    gpuc_te_reduce_n(ctx, reducer, EXPRS(times(g, x, real(g, 0.25)), real(g, 1)), 2, over, NULL, bodies);
    gpuc_te_compute_n(ctx, "C", 1, &i, 2, bodies, outs);
    output(g, outs[0]);
    output(g, outs[1]);
}

/* Only a part of the elements is summed up. */
static void conditional_sum(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, 9);
    gpuc_tensor *a = input2(g, "A", n, n);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, n, "k");
    gpuc_expr x = AT2(g, a, V(i), V(k)), lower = gpuc_le(ctx, V(k), V(i));
    gpuc_te_reduce_n(ctx, gpuc_tir_reducer_get(ctx, "sum", GPUC_FLOAT32), &x, 1, &k, lower, &x);
    output(g, compute(g, "C", 1, &i, x));
}

static void softmax_of(expr_graph *g, gpuc_expr n, gpuc_expr m)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    gpuc_tensor *top = compute(g, "top", 1, &i, gpuc_te_reduce(ctx, "max", AT2(g, a, V(i), V(k)), 1, &k));
    gpuc_iter *ij[] = {axis(g, n, "i"), axis(g, m, "j")};
    gpuc_expr less = gpuc_sub(ctx, AT2(g, a, V(ij[0]), V(ij[1])), AT1(g, top, V(ij[0])));
    gpuc_tensor *e = compute(g, "e", 2, ij, gpuc_call1(ctx, "exp", less));
    gpuc_iter *p = axis(g, n, "p"), *q = raxis(g, m, "q");
    gpuc_tensor *s = compute(g, "s", 1, &p, sum(g, AT2(g, e, V(p), V(q)), 1, &q));
    gpuc_iter *yx[] = {axis(g, n, "y"), axis(g, m, "x")};
    output(g, compute(g, "C", 2, yx, gpuc_div(ctx, AT2(g, e, V(yx[0]), V(yx[1])), AT1(g, s, V(yx[0])))));
}

static void softmax(expr_graph *g)
{
    softmax_of(g, num(g, 6), num(g, 19));
}

static void softmax_symbolic(expr_graph *g)
{
    softmax_of(g, symbol(g, "n", 5), symbol(g, "m", 21));
}

static void softmax_of_one(expr_graph *g)
{
    softmax_of(g, num(g, 1), symbol(g, "m", 1));
}

static void normalize(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, 5), m = num(g, 16);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k"), *p = axis(g, n, "p"), *q = raxis(g, m, "q");
    gpuc_tensor *s =
        compute(g, "mean", 1, &i, sum(g, times(g, AT2(g, a, V(i), V(k)), real(g, 0.0625)), 1, &k));
    gpuc_expr d = gpuc_sub(ctx, AT2(g, a, V(p), V(q)), AT1(g, s, V(p)));
    gpuc_tensor *v = compute(g, "var", 1, &p, sum(g, times(g, d, d), 1, &q));
    gpuc_iter *yx[] = {axis(g, n, "y"), axis(g, m, "x")};
    gpuc_expr x = gpuc_sub(ctx, AT2(g, a, V(yx[0]), V(yx[1])), AT1(g, s, V(yx[0])));
    gpuc_expr scale = gpuc_call1(ctx, "sqrt", plus(g, AT1(g, v, V(yx[0])), real(g, 1)));
    output(g, compute(g, "C", 2, yx, gpuc_div(ctx, x, scale)));
}

/* ---- Odd ones --------------------------------------------------------------------------------------- */

static void add_empty(expr_graph *g)
{
    add_of(g, num(g, 0));
}

static void sum_of_nothing(expr_graph *g)
{
    gpuc_expr n = num(g, 5), m = num(g, 0);
    gpuc_tensor *a = input2(g, "A", n, m);
    gpuc_iter *i = axis(g, n, "i"), *k = raxis(g, m, "k");
    output(g, compute(g, "C", 1, &i, sum(g, AT2(g, a, V(i), V(k)), 1, &k)));
}

static void matmul_thin(expr_graph *g)
{
    matmul_of(g, num(g, 1), num(g, 23), num(g, 1));
}

static void matmul_of_nothing(expr_graph *g)
{
    matmul_of(g, num(g, 6), num(g, 0), symbol(g, "m", 3));
}

static void matmul_of_one(expr_graph *g)
{
    matmul_of(g, symbol(g, "n", 1), symbol(g, "k", 1), num(g, 1));
}

/* What comes of an empty intermediate. */
static void total_of_nothing(expr_graph *g)
{
    gpuc_expr n = num(g, 4), m = symbol(g, "m", 0), k = num(g, 3);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 3, EXPRS(n, m, k));
    gpuc_iter *x[] = {axis(g, n, "i"), axis(g, m, "j"), axis(g, k, "k")}, *i = axis(g, n, "p");
    gpuc_iter *r[] = {raxis(g, m, "r0"), raxis(g, k, "r1")};
    gpuc_tensor *t = compute(g, "T", 3, x, plus(g, AT3(g, a, V(x[0]), V(x[1]), V(x[2])), real(g, 1)));
    output(g, compute(g, "C", 1, &i, sum(g, AT3(g, t, V(i), V(r[0]), V(r[1])), 2, r)));
}

/* An output that another output reads. */
static void output_of_output(expr_graph *g)
{
    gpuc_expr n = num(g, 14);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 1, &n);
    gpuc_iter *i = axis(g, n, "i"), *j = axis(g, num(g, 11), "j");
    gpuc_tensor *t = compute(g, "T", 1, &i, times(g, AT1(g, a, V(i)), AT1(g, a, V(i))));
    gpuc_expr x = AT1(g, t, V(j)), y = AT1(g, t, plus(g, V(j), num(g, 3)));
    output(g, t);
    output(g, compute(g, "C", 1, &j, gpuc_sub(g->ctx, x, y)));
}

static void conv1d_symbolic(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = symbol(g, "n", 21), c = num(g, 3), one = num(g, 1), zero = num(g, 0);
    gpuc_tensor *a = input2(g, "A", c, n), *w = input(g, "W", GPUC_FLOAT32, 2, EXPRS(c, num(g, 3)));
    gpuc_iter *p[] = {axis(g, c, "c"), axis(g, plus(g, n, num(g, 2)), "p")};
    gpuc_expr where = gpuc_sub(ctx, V(p[1]), one);
    gpuc_expr inside = gpuc_and(ctx, gpuc_ge(ctx, where, zero), gpuc_lt(ctx, where, n));
    gpuc_expr value = gpuc_if_then_else(ctx, inside, AT2(g, a, V(p[0]), where), real(g, 0));
    gpuc_tensor *pad = compute(g, "pad", 2, p, value);
    gpuc_iter *x = axis(g, n, "x"), *r[] = {raxis(g, c, "rc"), raxis(g, num(g, 3), "rx")};
    gpuc_expr product = times(g, AT2(g, pad, V(r[0]), plus(g, V(x), V(r[1]))), AT2(g, w, V(r[0]), V(r[1])));
    output(g, compute(g, "C", 1, &x, sum(g, product, 2, r)));
}

static gpuc_stmt reversed(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in, const gpuc_tir_buffer *const *out,
                          void *arg)
{
    const gpuc_expr n = *(const gpuc_expr *)arg, v = gpuc_var(ctx, "v", GPUC_INDEX);
    gpuc_expr back = gpuc_sub(ctx, gpuc_sub(ctx, n, gpuc_int(ctx, 1)), v);
    gpuc_stmt store = gpuc_tir_store(ctx, out[0], 1, &back, gpuc_tir_load(ctx, in[0], 1, &v));
    return gpuc_tir_for_(ctx, v, gpuc_int(ctx, 0), n, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, store);
}

/* A stage whose body is a statement, between two that are computed. */
static void extern_between(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr n = num(g, 12);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 1, &n), *back;
    gpuc_iter *i = axis(g, n, "i"), *j = axis(g, n, "j");
    gpuc_tensor *t = compute(g, "T", 1, &i, plus(g, AT1(g, a, V(i)), real(g, 1)));
    const gpuc_expr *shape = &n;
    gpuc_dtype dtype = GPUC_FLOAT32;
    int ndim = 1;
    gpuc_te_extern(ctx, "reverse", 1, &t, 1, &ndim, &shape, &dtype, reversed, &n, &back);
    output(g, compute(g, "C", 1, &j, times(g, AT1(g, back, V(j)), real(g, 2))));
}

/* A transposed window of an array, each row twice, the columns backwards. */
static void strided(expr_graph *g)
{
    gpuc_expr shape[] = {num(g, 6), num(g, 2), num(g, 11)}, by[] = {num(g, 1), num(g, 0), num(g, -7)};
    gpuc_tensor *a =
        gpuc_te_placeholder_strided(g->ctx, "A", 3, shape, GPUC_FLOAT32, num(g, 80), by, num(g, 72));
    g->args[g->num_args++] = a;
    gpuc_iter *ijk[] = {axis(g, shape[0], "i"), axis(g, shape[1], "j"), axis(g, shape[2], "k")};
    gpuc_expr x = AT3(g, a, V(ijk[0]), V(ijk[1]), V(ijk[2]));
    output(g, compute(g, "C", 3, ijk, plus(g, x, gpuc_cast(g->ctx, GPUC_FLOAT32, V(ijk[2])))));
}

/* Two states: sums of rows so far, and the largest of these, which a product with a matrix changes on the way. */
static void scan_two_states(expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr steps = num(g, 6), n = num(g, 5), one = num(g, 1);
    gpuc_tensor *a = input2(g, "A", steps, n), *w = input2(g, "W", n, n), *init[2], *state[2], *update[2],
                *outs[2];
    gpuc_iter *xy[] = {axis(g, steps, "p"), axis(g, n, "q")};
    gpuc_tensor *x = compute(g, "X", 2, xy, times(g, AT2(g, a, V(xy[0]), V(xy[1])), real(g, 2)));
    for (int k = 0; k < 2; k++) {
        gpuc_iter *oi[] = {axis(g, one, "o"), axis(g, n, "i")};
        state[k] = gpuc_te_placeholder(ctx, k ? "top" : "sum", 2, EXPRS(steps, n), GPUC_FLOAT32);
        init[k] = compute(g, k ? "top0" : "sum0", 2, oi, AT2(g, x, V(oi[0]), V(oi[1])));
    }
    gpuc_iter *ti[] = {gpuc_te_axis_from(ctx, one, num(g, 5), "t"), axis(g, n, "i")}, *k = raxis(g, n, "k");
    gpuc_expr before = gpuc_sub(ctx, V(ti[0]), one);
    gpuc_expr product = times(g, AT2(g, state[1], before, V(k)), AT2(g, w, V(k), V(ti[1])));
    gpuc_tensor *mixed = compute(g, "mixed", 2, ti, gpuc_te_reduce(ctx, "max", product, 1, &k));
    gpuc_iter *tj[] = {gpuc_te_axis_from(ctx, one, num(g, 5), "t"), axis(g, n, "j")},
              *tl[] = {gpuc_te_axis_from(ctx, one, num(g, 5), "t"), axis(g, n, "l")};
    before = gpuc_sub(ctx, V(tj[0]), one);
    update[0] =
        compute(g, "sum1", 2, tj, plus(g, AT2(g, state[0], before, V(tj[1])), AT2(g, x, V(tj[0]), V(tj[1]))));
    gpuc_expr clipped = gpuc_min(ctx, AT2(g, mixed, gpuc_sub(ctx, V(tl[0]), one), V(tl[1])), real(g, 50));
    update[1] = compute(g, "top1", 2, tl,
                        gpuc_max(ctx, AT2(g, update[0], gpuc_sub(ctx, V(tl[0]), one), V(tl[1])), clipped));
    gpuc_te_scan(ctx, "S", 2, init, update, state, outs);
    gpuc_iter *uv[] = {axis(g, steps, "u"), axis(g, n, "v")};
    output(g, outs[0]);
    output(g, compute(g, "C", 2, uv, plus(g, AT2(g, outs[1], V(uv[0]), V(uv[1])), real(g, 1))));
}

static gpuc_expr wide(expr_graph *g, gpuc_expr x)
{
    return gpuc_cast(g->ctx, GPUC_INT32, x);
}

/* Rows by rows, as dot products of small integers take them. */
static void dot_of(expr_graph *g, gpuc_dtype a_type, gpuc_dtype b_type)
{
    gpuc_expr n = num(g, 7), m = num(g, 12), depth = num(g, 24);
    gpuc_tensor *a = input(g, "A", a_type, 2, EXPRS(n, depth)),
                *b = input(g, "B", b_type, 2, EXPRS(m, depth));
    gpuc_iter *ij[] = {axis(g, n, "i"), axis(g, m, "j")}, *k = raxis(g, depth, "k");
    gpuc_expr x = wide(g, AT2(g, a, V(ij[0]), V(k))), y = wide(g, AT2(g, b, V(ij[1]), V(k)));
    output(g, compute(g, "C", 2, ij, sum(g, times(g, x, y), 1, &k)));
}

static void dot_u8i8(expr_graph *g)
{
    dot_of(g, GPUC_UINT8, GPUC_INT8);
}

static void dot_i8(expr_graph *g)
{
    dot_of(g, GPUC_INT8, GPUC_INT8);
}

static void dot_u8(expr_graph *g)
{
    dot_of(g, GPUC_UINT8, GPUC_UINT8);
}

static void dot_i16(expr_graph *g)
{
    dot_of(g, GPUC_INT16, GPUC_INT16);
}

const expr_case expr_cases[] = {
    {"add_prime", add_prime},
    {"add_power", add_power},
    {"add_symbolic", add_symbolic},
    {"bias_relu", bias_relu},
    {"transpose", transpose},
    {"two_outputs", two_outputs},
    {"upsample", upsample},
    {"last_columns", last_columns},
    {"gather", gather},
    {"concat", concat},
    {"stencils", stencils},
    {"matmul_prime", matmul_prime},
    {"matmul_power", matmul_power},
    {"matmul_symbolic", matmul_symbolic},
    {"matmul_of_few_rows", matmul_of_few_rows},
    {"matmul_chain", matmul_chain},
    {"dense_bias_relu", dense_bias_relu},
    {"batch_matmul", batch_matmul},
    {"conv2d_same", conv2d_same},
    {"conv2d_strided", conv2d_strided},
    {"conv2d_pointwise", conv2d_pointwise},
    {"depthwise", depthwise},
    {"conv1d_dilated", conv1d_dilated},
    {"max_pool", max_pool},
    {"sum_two_axes", sum_two_axes},
    {"sum_all", sum_all},
    {"row_max", row_max},
    {"sum_symbolic", sum_symbolic},
    {"int_sum", int_sum},
    {"any_negative", any_negative},
    {"argmax", argmax},
    {"welford", welford},
    {"logsumexp_pairs", logsumexp_pairs},
    {"conditional_sum", conditional_sum},
    {"softmax", softmax},
    {"normalize", normalize},
    {"add_empty", add_empty},
    {"sum_of_nothing", sum_of_nothing},
    {"matmul_thin", matmul_thin},
    {"matmul_of_nothing", matmul_of_nothing},
    {"matmul_of_one", matmul_of_one},
    {"total_of_nothing", total_of_nothing},
    {"softmax_symbolic", softmax_symbolic},
    {"softmax_of_one", softmax_of_one},
    {"bias_relu_symbolic", bias_relu_symbolic},
    {"many_sizes", many_sizes},
    {"shift", shift},
    {"reverse", reverse},
    {"twice_read", twice_read},
    {"output_of_output", output_of_output},
    {"conv1d_symbolic", conv1d_symbolic},
    {"extern_between", extern_between},
    {"strided", strided},
    {"scan_two_states", scan_two_states},
    {"dot_u8i8", dot_u8i8},
    {"dot_i8", dot_i8},
    {"dot_u8", dot_u8},
    {"dot_i16", dot_i16},
};
const int num_expr_cases = (int)(sizeof expr_cases / sizeof expr_cases[0]);

const expr_case *expr_find(const char *name)
{
    for (int i = 0; i < num_expr_cases; i++)
        if (strcmp(expr_cases[i].name, name) == 0) return &expr_cases[i];
    return NULL;
}

void expr_build(const expr_case *c, gpuc_ctx *ctx, expr_graph *g)
{
    *g = (expr_graph){.ctx = ctx};
    c->build(g);
}

gpuc_tensor *expr_tensor(const expr_graph *g, const char *name)
{
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(g->ctx, g->num_args, g->args, &ops);
    for (size_t i = 0; i < ops.count; i++) {
        const gpuc_te_op *op = ops.at[i];
        if (strcmp(op->name, name) == 0) return op->outputs[0];
    }
    gpuc_raise(g->ctx, GPUC_NOT_FOUND, "the expression has no tensor '%s'", name);
}
