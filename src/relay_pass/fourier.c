/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms become products with constant matrices. A length n1 * n2 is a transform of length n1 over
 * the columns, a turn of each element, and one of length n2 over the rows (Cooley and Tukey 1965). A length without
 * small factors becomes a convolution with a chirp, by two transforms of a length that has them (Bluestein 1970). Which
 * of these a length takes is decided by an estimate of the multiplications and of the passes over memory. Numbers are
 * [rows, length, parts]: 1 part (real) or 2 (real and imaginary). */
#include <math.h>
#include <string.h>

#include "relay_pass/util.h"
#include "target/constants.h"

enum { MAX_LEVELS = 4 };

/* ---- Complex numbers in double, for constants ---- */

typedef struct complex {
    double re, im;
} complex;

/* exp(-2 pi i k / n); forward is -1, the transform back 1 */
static complex root(int sign, int64_t k, int64_t n)
{
    double angle = 2 * M_PI * (double)(k % n) / (double)n;
    return (complex){cos(angle), sign * sin(angle)};
}

static complex times(complex a, complex b)
{
    return (complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* The transform of x[0], x[step], ... to out[0..n), by the smallest factor of n first. */
static void transform_now(gpuc_ctx *ctx, int64_t n, int64_t step, const complex *x, complex *out)
{
    int64_t f = 2;
    while (f < n && n % f) f++;
    if (n == 1) {
        out[0] = x[0];
        return;
    }
    int64_t m = n / f;
    complex *part = gpuc_new_array(ctx, complex, n);
    for (int64_t i = 0; i < f; i++) transform_now(ctx, m, step * f, x + i * step, part + i * m);
    for (int64_t k = 0; k < n; k++) {
        out[k] = part[k % m];
        for (int64_t i = 1; i < f; i++) {
            complex t = times(part[i * m + k % m], root(-1, i * k % n, n));
            out[k].re += t.re;
            out[k].im += t.im;
        }
    }
}

/* ---- Which way a length is transformed ---- */

typedef struct plan {
    double cost;    /* multiply-adds for each element, and what passes over memory cost */
    int64_t factor; /* the length of the first transform; 0: one product */
    int64_t chirp;  /* the length of the transforms that convolve with a chirp; 0: none */
} plan;

static plan product_of(int64_t n, int parts)
{
    return (plan){.cost = n <= GPUC_COMMON_fourier_matrix ? 2.0 * parts * (double)n : INFINITY};
}

static plan plan_factors(int64_t n, int parts, int levels)
{
    plan best = product_of(n, parts);
    for (int64_t f = 2; levels > 1 && f <= GPUC_COMMON_fourier_factor && f * 2 <= n; f++) {
        if (n % f) continue;
        double cost =
            2.0 * parts * (double)f + GPUC_COMMON_fourier_pass + plan_factors(n / f, 2, levels - 1).cost;
        if (cost < best.cost) best = (plan){.cost = cost, .factor = f};
    }
    return best;
}

static bool is_smooth(int64_t n)
{
    static const int64_t primes[] = {2, 3, 5};
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++)
        while (n % primes[i] == 0) n /= primes[i];
    return n == 1;
}

static plan plan_of(int64_t n, int parts)
{
    plan best = plan_factors(n, parts, MAX_LEVELS);
    for (int64_t m = 2 * n - 1; m < 4 * n; m++) {
        if (!is_smooth(m)) continue;
        double cost =
            (2 * plan_factors(m, 2, MAX_LEVELS).cost + 3 * GPUC_COMMON_fourier_pass) * (double)m / (double)n;
        if (cost < best.cost) best = (plan){.cost = cost, .chirp = m};
    }
    return best;
}

/* ---- Products ---- */

typedef struct maker {
    gpuc_ctx *ctx;
    gpuc_dtype type; /* float32 or float64 */
    int sign;        /* -1: forward */
} maker;

static gpuc_rexpr *constant(const maker *m, int ndim, const int64_t *dims, const double *values)
{
    int64_t count = 1;
    gpuc_expr *shape = gpuc_new_array(m->ctx, gpuc_expr, ndim);
    for (int i = 0; i < ndim; i++) {
        shape[i] = gpuc_int(m->ctx, dims[i]);
        count *= dims[i];
    }
    gpuc_const_data *data = gpuc_relay_const_data_create(m->ctx, (size_t)count * m->type.bits / 8);
    for (int64_t i = 0; i < count; i++) {
        if (m->type.bits == 64)
            ((double *)data->bytes)[i] = values[i];
        else
            ((float *)data->bytes)[i] = (float)values[i];
    }
    return gpuc_relay_constant(m->ctx, gpuc_relay_rtype_tensor(m->ctx, m->type, ndim, shape), data);
}

static gpuc_rexpr *shaped(const maker *m, gpuc_rexpr *x, gpuc_expr rows, int n, const int64_t *dims)
{
    gpuc_expr shape[4] = {rows};
    for (int i = 0; i < n; i++) shape[1 + i] = gpuc_int(m->ctx, dims[i]);
    return gpuc_relay_pass_reshape(m->ctx, x, 1 + n, shape);
}

static gpuc_expr dim_of(const gpuc_rexpr *x, int i)
{
    return gpuc_relay_tensor_type(x)->dims[i];
}

static int64_t static_dim(const gpuc_rexpr *x, int i)
{
    int64_t n = 0;
    gpuc_expr_is_int(dim_of(x, i), &n);
    return n;
}

/* [rows, a, b, parts] as [rows * b, a, parts] */
static gpuc_rexpr *columns(const maker *m, gpuc_rexpr *x)
{
    static const int64_t axes[] = {0, 2, 1, 3};
    gpuc_expr rows = gpuc_mul(m->ctx, dim_of(x, 0), dim_of(x, 2));
    int64_t dims[] = {static_dim(x, 1), static_dim(x, 3)};
    return shaped(m, gpuc_relay_pass_transpose(m->ctx, x, axes), rows, 2, dims);
}

/* The first `keep` numbers of the transform, by one product. */
static gpuc_rexpr *product(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1), parts = static_dim(x, 2), dims[] = {n * parts, keep * 2}, out[] = {keep, 2};
    double *w = gpuc_new_array(m->ctx, double, dims[0] * dims[1]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < keep; k++) {
            complex r = root(m->sign, i * k, n);
            double *to = w + (i * parts * keep + k) * 2;
            to[0] = scale * r.re;
            to[1] = scale * r.im;
            if (parts == 1) continue;
            to[2 * keep] = -scale * r.im;
            to[2 * keep + 1] = scale * r.re;
        }
    gpuc_expr rows = dim_of(x, 0);
    gpuc_rexpr *y =
        gpuc_relay_op2(m->ctx, "nn.matmul", NULL, shaped(m, x, rows, 1, dims), constant(m, 2, dims, w));
    return shaped(m, y, rows, 2, out);
}

/* Each number times its own of by[0..n): x is [rows, ..., parts], whose dimensions between have n elements. */
static gpuc_rexpr *turned(const maker *m, gpuc_rexpr *x, const complex *by)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    int64_t dims[4], n = 1;
    for (int i = 1; i < t->ndim; i++) dims[i - 1] = static_dim(x, i);
    for (int i = 1; i < t->ndim - 1; i++) n *= dims[i - 1];
    bool real = dims[t->ndim - 2] == 1;
    dims[t->ndim - 2] = 2;
    double *same = gpuc_new_array(m->ctx, double, 2 * n), *other = gpuc_new_array(m->ctx, double, 2 * n);
    for (int64_t i = 0; i < n; i++) {
        same[2 * i] = by[i].re;
        same[2 * i + 1] = real ? by[i].im : by[i].re;
        other[2 * i] = -by[i].im;
        other[2 * i + 1] = by[i].im;
    }
    gpuc_rexpr *y = gpuc_relay_op2(m->ctx, "multiply", NULL, x, constant(m, t->ndim - 1, dims, same));
    if (real) return y;
    x = gpuc_relay_op1(m->ctx, "reverse", gpuc_attrs_int(m->ctx, NULL, "axis", t->ndim - 1), x);
    x = gpuc_relay_op2(m->ctx, "multiply", NULL, x, constant(m, t->ndim - 1, dims, other));
    return gpuc_relay_op2(m->ctx, "add", NULL, y, x);
}

/* x with another extent of dimension 1: its first elements, or zeros behind them. */
static gpuc_rexpr *resized(const maker *m, gpuc_rexpr *x, int64_t n)
{
    int64_t have = static_dim(x, 1), none[3] = {0}, more[] = {0, n - have, 0};
    if (have == n) return x;
    if (have > n) return gpuc_relay_truncate(m->ctx, x, 1, gpuc_int(m->ctx, n));
    const gpuc_attrs *a = gpuc_attrs_ints(m->ctx, NULL, "pad_before", 3, none);
    return gpuc_relay_op1(m->ctx, "nn.pad", gpuc_attrs_ints(m->ctx, a, "pad_after", 3, more), x);
}

static gpuc_rexpr *transform(const maker *m, gpuc_rexpr *x, int64_t keep, double scale);

/* x[i1 * n2 + i2], X[k1 + n1 * k2]: sums over i1, a turn by i2 * k1, sums over i2. */
static gpuc_rexpr *split(const maker *m, gpuc_rexpr *x, int64_t n1, int64_t keep, double scale)
{
    gpuc_expr rows = dim_of(x, 0);
    int64_t n = static_dim(x, 1), n2 = n / n1, dims[] = {n1, n2, static_dim(x, 2)}, apart[] = {n2, n1, 2};
    gpuc_rexpr *y = product(m, columns(m, shaped(m, x, rows, 3, dims)), n1, 1);
    complex *by = gpuc_new_array(m->ctx, complex, n);
    for (int64_t i = 0; i < n; i++) by[i] = root(m->sign, (i / n1) * (i % n1), n);
    int64_t keep2 = (keep + n1 - 1) / n1, back[] = {n1, keep2, 2}, all[] = {keep2 * n1, 2};
    y = transform(m, columns(m, turned(m, shaped(m, y, rows, 3, apart), by)), keep2, scale);
    static const int64_t axes[] = {0, 2, 1, 3};
    y = gpuc_relay_pass_transpose(m->ctx, shaped(m, y, rows, 3, back), axes);
    return resized(m, shaped(m, y, rows, 2, all), keep);
}

/* i * k is (i^2 + k^2 - (i - k)^2) / 2: X[k] is a chirp times the convolution of turned x with the chirp back. */
static gpuc_rexpr *convolved(const maker *m, gpuc_rexpr *x, int64_t length, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1);
    complex *chirp = gpuc_new_array(m->ctx, complex, n), *back = gpuc_new_array(m->ctx, complex, length),
            *by = gpuc_new_array(m->ctx, complex, length);
    for (int64_t i = 0; i < n; i++) chirp[i] = root(m->sign, i * i % (2 * n), 2 * n);
    memset(back, 0, sizeof *back * (size_t)length);
    for (int64_t i = 0; i < n; i++) {
        complex c = {chirp[i].re / (double)length, -chirp[i].im / (double)length};
        back[i] = c;
        if (i) back[length - i] = c;
    }
    transform_now(m->ctx, length, 1, back, by);
    maker forth = {m->ctx, m->type, -1}, home = {m->ctx, m->type, 1};
    x = transform(&forth, resized(m, turned(m, x, chirp), length), length, 1);
    x = transform(&home, turned(m, x, by), keep, 1);
    for (int64_t i = 0; i < keep; i++) chirp[i] = (complex){scale * chirp[i].re, scale * chirp[i].im};
    return turned(m, x, chirp);
}

/* The first `keep` numbers of the transform of each row, times scale. */
static gpuc_rexpr *transform(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    plan p = plan_of(static_dim(x, 1), (int)static_dim(x, 2));
    if (p.chirp) return convolved(m, x, p.chirp, keep, scale);
    if (p.factor) return split(m, x, p.factor, keep, scale);
    return product(m, x, keep, scale);
}

/* All numbers of the transform of real ones: the second half is the first one's, reversed and conjugate. */
static gpuc_rexpr *mirrored(const maker *m, gpuc_rexpr *half, int64_t n)
{
    gpuc_ctx *ctx = m->ctx;
    int64_t rest = n - n / 2 - 1, begin[] = {0, 1, 0}, steps[] = {1, 1, 1};
    gpuc_expr sizes[] = {dim_of(half, 0), gpuc_int(ctx, rest), gpuc_int(ctx, 2)};
    if (rest == 0) return half;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", 3, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", 3, sizes), "strides", 3, steps);
    gpuc_rexpr *other = gpuc_relay_op1(ctx, "strided_slice", a, half);
    static const double conjugate[] = {1, -1};
    static const int64_t two = 2;
    other = gpuc_relay_op1(ctx, "reverse", gpuc_attrs_int(ctx, NULL, "axis", 1), other);
    gpuc_rexpr *parts[] = {half,
                           gpuc_relay_op2(ctx, "multiply", NULL, other, constant(m, 1, &two, conjugate))};
    return gpuc_relay_op(ctx, "concatenate", gpuc_attrs_int(ctx, NULL, "axis", 1), 2, parts);
}

static gpuc_rexpr *bins(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1);
    if (static_dim(x, 2) == 1 && keep > n / 2 + 1) return mirrored(m, transform(m, x, n / 2 + 1, scale), n);
    return transform(m, x, keep, scale);
}

/* ---- The operators ---- */

static gpuc_dtype work_type(gpuc_dtype t)
{
    return t.bits == 16 ? GPUC_FLOAT32 : t;
}

static gpuc_rexpr *dft(gpuc_ctx *ctx, const gpuc_rcall *c, const gpuc_tensor_type *out)
{
    const gpuc_tensor_type *in = gpuc_relay_tensor_type(c->args[0]);
    int ndim = in->ndim, axis = (int)gpuc_attrs_get_int(c->attrs, "axis", 0);
    int64_t extent, length = gpuc_attrs_get_int(c->attrs, "length", 0), axes[GPUC_TOPI_MAX_DIMS];
    bool inverse = gpuc_attrs_get_int(c->attrs, "inverse", 0);
    if (axis < 0) axis += ndim;
    if (!gpuc_expr_is_int(in->dims[axis], &extent)) return NULL;
    maker m = {ctx, work_type(in->dtype), inverse ? 1 : -1};
    gpuc_rexpr *x = gpuc_relay_pass_cast(ctx, c->args[0], m.type);
    for (int i = 0; i < ndim; i++) axes[i] = i;
    axes[axis] = ndim - 2; /* trades places with the dimension before the parts */
    axes[ndim - 2] = axis;
    x = gpuc_relay_pass_transpose(ctx, x, axes);
    gpuc_expr rows = gpuc_int(ctx, 1), shape[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < ndim; i++) shape[i] = out->dims[axes[i]];
    for (int i = 0; i < ndim - 2; i++) rows = gpuc_mul(ctx, rows, shape[i]);
    int64_t parts = static_dim(x, ndim - 1), dims[] = {extent, parts}, keep;
    gpuc_expr_is_int(out->dims[axis], &keep);
    x = resized(&m, shaped(&m, x, rows, 2, dims), length);
    x = gpuc_relay_pass_reshape(ctx, bins(&m, x, keep, inverse ? 1 / (double)length : 1), ndim, shape);
    return gpuc_relay_pass_cast(ctx, gpuc_relay_pass_transpose(ctx, x, axes), in->dtype);
}

static gpuc_rexpr *stft(gpuc_ctx *ctx, const gpuc_rcall *c, const gpuc_tensor_type *out)
{
    const gpuc_tensor_type *in = gpuc_relay_tensor_type(c->args[0]);
    int64_t keep, parts = 1, length = gpuc_attrs_get_int(c->attrs, "length", 0);
    gpuc_expr_is_int(in->dims[2], &parts);
    gpuc_expr_is_int(out->dims[2], &keep);
    int64_t window[] = {length, parts}, steps[] = {gpuc_attrs_get_int(c->attrs, "step", 1), 1};
    maker m = {ctx, work_type(in->dtype), -1};
    const gpuc_attrs *a =
        gpuc_attrs_ints(ctx, gpuc_attrs_int(ctx, NULL, "axis", 1), "window_shape", 2, window);
    gpuc_rexpr *x =
        gpuc_relay_op1(ctx, "sliding_window", gpuc_attrs_ints(ctx, a, "strides", 2, steps), c->args[0]);
    gpuc_expr rows = gpuc_mul(ctx, out->dims[0], out->dims[1]);
    x = shaped(&m, gpuc_relay_pass_cast(ctx, x, m.type), rows, 2, window);
    if (c->n > 1) {
        int64_t dims[] = {length, 1};
        gpuc_rexpr *w = gpuc_relay_pass_cast(ctx, c->args[1], m.type);
        x = gpuc_relay_op2(ctx, "multiply", NULL, x, gpuc_relay_pass_reshape_static(ctx, w, 2, dims));
    }
    x = gpuc_relay_pass_reshape(ctx, bins(&m, x, keep, 1), 4, out->dims);
    return gpuc_relay_pass_cast(ctx, x, in->dtype);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    bool frames = gpuc_relay_is_op(e, "stft");
    if (!frames && !gpuc_relay_is_op(e, "dft")) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr *y = (frames ? stft : dft)(ctx, c, gpuc_relay_tensor_type(e));
    return y ? y : e;
}

void gpuc_relay_pass_fourier(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, rewrite, NULL);
}
