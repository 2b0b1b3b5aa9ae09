/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms become products with constant matrices. A length n1 * n2 is a transform of length n1 over
 * the columns, a turn of each element, and one of length n2 over the rows (Cooley and Tukey 1965). A length without
 * small factors becomes a convolution with a chirp, by two transforms of a length that has them (Bluestein 1970). Which
 * of these a length takes is decided by an estimate of the multiplications and of the passes over memory.
 *
 * Cosines and sines stand in rows of a matrix on the left, so that a product takes columns as they lie, of real and of
 * complex numbers; the pass over memory that adds the two sums also turns and transposes. Numbers are
 * [rows, length, outer, parts, inner]: 1 part (real) or 2 (real and imaginary), outer or inner is 1. */
#include <math.h>
#include <string.h>

#include "relay_pass/common/util.h"
#include "target/constants.h"

enum { MAX_LEVELS = 4, MAX_RANK = 8 };

/* ---- Complex numbers in double, for constants ---- */

typedef struct complex {
    double re, im;
} complex;

/* exp(sign * 2 pi i k / n), by an angle of the first octant: exact to the last place but one */
static complex root(int sign, int64_t k, int64_t n)
{
    k %= n;
    bool below = 2 * k > n;
    int64_t quarter = 4 * (below ? n - k : k);
    bool left = quarter > n;
    if (left) quarter = 2 * n - quarter;
    bool steep = 2 * quarter > n;
    double angle = M_PI / 2 * (double)(steep ? n - quarter : quarter) / (double)n;
    double re = steep ? sin(angle) : cos(angle), im = steep ? cos(angle) : sin(angle);
    return (complex){left ? -re : re, below ? -sign * im : sign * im};
}

static complex times(complex a, complex b)
{
    return (complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* The transform of x[0], x[step], ... to out[0..n), by the smallest factor of n first. */
static void transform_now(int64_t n, int64_t step, const complex *x, complex *out, complex *spare)
{
    int64_t f = 2;
    while (f < n && n % f) f++;
    if (n == 1) {
        out[0] = x[0];
        return;
    }
    int64_t m = n / f;
    for (int64_t i = 0; i < f; i++) transform_now(m, step * f, x + i * step, spare + i * m, out + i * m);
    for (int64_t k = 0; k < n; k++) {
        out[k] = spare[k % m];
        for (int64_t i = 1; i < f; i++) {
            complex t = times(spare[i * m + k % m], root(-1, i * k % n, n));
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

/* How many times as long a product or a pass takes, since its rows fill no whole vectors. */
static double ragged(int64_t columns)
{
    int64_t v = GPUC_COMMON_fourier_columns;
    return (double)((columns + v - 1) / v * v) / (double)columns;
}

static plan product_of(int64_t n, int parts, int64_t columns)
{
    double even =
        columns < GPUC_COMMON_fourier_columns ? 1 : ragged(columns); /* few ones: a product of rows */
    return (plan){.cost = n <= GPUC_COMMON_fourier_matrix ? 2.0 * parts * (double)n * even : INFINITY};
}

/* Of a number of columns: outer * parts * inner. */
static plan plan_factors(int64_t n, int parts, int64_t columns, int levels)
{
    plan best = product_of(n, parts, columns);
    for (int64_t f = 2; levels > 1 && f <= GPUC_COMMON_fourier_factor && f * 2 <= n; f++) {
        if (n % f) continue;
        int64_t next = columns / parts * f;
        double cost =
            2.0 * parts * (double)f * ragged(n / f * columns) + GPUC_COMMON_fourier_pass * ragged(next);
        if (cost < best.cost) cost += plan_factors(n / f, 2, 2 * next, levels - 1).cost;
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

static plan plan_of(int64_t n, int parts, int64_t columns)
{
    plan best = plan_factors(n, parts, columns, MAX_LEVELS);
    for (int64_t m = 2 * n - 1; m < 4 * n; m++) {
        double share = (double)m / (double)n;
        if (share * 5 * GPUC_COMMON_fourier_pass >= best.cost) break;
        if (!is_smooth(m)) continue;
        double cost = plan_factors(m, 2, columns / parts * 2, MAX_LEVELS).cost;
        cost = (2 * cost + 3 * GPUC_COMMON_fourier_pass) * share;
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

/* x with these dimensions behind that of the rows */
static gpuc_rexpr *shaped(const maker *m, gpuc_rexpr *x, gpuc_expr rows, int n, const int64_t *dims)
{
    gpuc_expr shape[MAX_RANK] = {rows};
    for (int i = 0; i < n; i++) shape[1 + i] = gpuc_int(m->ctx, dims[i]);
    return gpuc_relay_pass_reshape(m->ctx, x, 1 + n, shape);
}

/* Dimension i of the result is dimension order[i] of x: only another shape where none but those of 1 change places. */
static gpuc_rexpr *permuted(const maker *m, gpuc_rexpr *x, const int64_t *order)
{
    int ndim = gpuc_relay_tensor_type(x)->ndim;
    gpuc_expr shape[MAX_RANK];
    bool same = true;
    int64_t last = -1;
    for (int i = 0; i < ndim; i++) {
        shape[i] = dim_of(x, (int)order[i]);
        if (static_dim(x, (int)order[i]) == 1) continue;
        same = same && order[i] > last;
        last = order[i];
    }
    return same ? gpuc_relay_pass_reshape(m->ctx, x, ndim, shape)
                : gpuc_relay_pass_transpose(m->ctx, x, order);
}

/* Elements [begin, begin + size) of a dimension, in steps of 1. */
static gpuc_rexpr *cut(const maker *m, gpuc_rexpr *x, int axis, int64_t begin, int64_t size)
{
    int ndim = gpuc_relay_tensor_type(x)->ndim;
    int64_t begins[MAX_RANK] = {0}, steps[MAX_RANK];
    gpuc_expr sizes[MAX_RANK];
    for (int i = 0; i < ndim; i++) {
        sizes[i] = i == axis ? gpuc_int(m->ctx, size) : dim_of(x, i);
        steps[i] = 1;
    }
    begins[axis] = begin;
    const gpuc_attrs *a = gpuc_attrs_ints(m->ctx, NULL, "begin", ndim, begins);
    a = gpuc_attrs_ints(m->ctx, gpuc_attrs_sizes(m->ctx, a, "sizes", ndim, sizes), "strides", ndim, steps);
    return gpuc_relay_op1(m->ctx, "strided_slice", a, x);
}

/* x with another extent of a dimension: its first elements, or zeros behind them. */
static gpuc_rexpr *resized(const maker *m, gpuc_rexpr *x, int axis, int64_t n)
{
    int ndim = gpuc_relay_tensor_type(x)->ndim;
    int64_t have = static_dim(x, axis), none[GPUC_TOPI_MAX_DIMS] = {0}, more[GPUC_TOPI_MAX_DIMS] = {0};
    bool open = !gpuc_expr_is_int(dim_of(x, axis), &have);
    if (!open && have == n) return x;
    if (open || have < n) {
        more[axis] = open ? n : n - have;
        const gpuc_attrs *a = gpuc_attrs_ints(m->ctx, NULL, "pad_before", ndim, none);
        x = gpuc_relay_op1(m->ctx, "nn.pad", gpuc_attrs_ints(m->ctx, a, "pad_after", ndim, more), x);
    }
    return open || have > n ? gpuc_relay_truncate(m->ctx, x, axis, gpuc_int(m->ctx, n)) : x;
}

/* Complex numbers times i; parts is the place of theirs. */
static gpuc_rexpr *times_i(const maker *m, gpuc_rexpr *x, int parts)
{
    static const double signs[] = {-1, 1};
    int64_t dims[MAX_RANK] = {2, 1, 1, 1, 1, 1, 1, 1};
    int behind = gpuc_relay_tensor_type(x)->ndim - parts;
    x = gpuc_relay_op1(m->ctx, "reverse", gpuc_attrs_int(m->ctx, NULL, "axis", parts), x);
    return gpuc_relay_op2(m->ctx, "multiply", NULL, x, constant(m, behind, dims, signs));
}

/* Each number times its own of `by`, a table for the last dimensions of x, of which `parts` is that of the parts: 1
 * (real) or 2. In dims it is 1. */
static gpuc_rexpr *turned(const maker *m, gpuc_rexpr *x, const complex *by, int ndim, int64_t *dims,
                          int parts)
{
    int64_t n = 1;
    int axis = gpuc_relay_tensor_type(x)->ndim - ndim + parts;
    bool real = static_dim(x, axis) == 1;
    for (int i = 0; i < ndim; i++) n *= dims[i];
    double *re = gpuc_new_array(m->ctx, double, n), *im = gpuc_new_array(m->ctx, double, n);
    for (int64_t i = 0; i < n; i++) {
        re[i] = by[i].re;
        im[i] = by[i].im;
    }
    gpuc_rexpr *a = gpuc_relay_op2(m->ctx, "multiply", NULL, x, constant(m, ndim, dims, re)),
               *b = gpuc_relay_op2(m->ctx, "multiply", NULL, real ? x : times_i(m, x, axis),
                                   constant(m, ndim, dims, im));
    if (!real) return gpuc_relay_op2(m->ctx, "add", NULL, a, b);
    gpuc_rexpr *both[] = {a, b};
    return gpuc_relay_op(m->ctx, "concatenate", gpuc_attrs_int(m->ctx, NULL, "axis", axis), 2, both);
}

/* ---- Transforms: x is [rows, n, outer, parts, inner], the result [rows, keep, outer * inner, 2] ---- */

/* Both sums of the columns of x, [rows, n, others, outer, parts, inner], by cosines and by sines: [rows, keep, 2,
 * others, outer, parts, inner]. */
static gpuc_rexpr *sums(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1), matrix[] = {2 * keep, n}, dims[] = {keep, 2, 0, 0, 0, 0}, columns = 1;
    for (int i = 2; i < 6; i++) columns *= dims[i] = static_dim(x, i);
    double *w = gpuc_new_array(m->ctx, double, 2 * keep * n);
    for (int64_t k = 0; k < keep; k++)
        for (int64_t i = 0; i < n; i++) {
            complex r = root(m->sign, i * k, n);
            w[2 * k * n + i] = scale * r.re;
            w[(2 * k + 1) * n + i] = scale * r.im;
        }
    int64_t flat[] = {n, columns};
    gpuc_expr rows = dim_of(x, 0);
    gpuc_rexpr *y =
        gpuc_relay_op2(m->ctx, "nn.matmul", NULL, constant(m, 2, matrix, w), shaped(m, x, rows, 2, flat));
    return shaped(m, y, rows, 6, dims);
}

/* The same of few columns, as a product of rows: its sums are those of real numbers, others is 1. */
static gpuc_rexpr *row_sums(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1), outer = static_dim(x, 2), parts = static_dim(x, 3),
            inner = static_dim(x, 4);
    double *w = gpuc_new_array(m->ctx, double, n *parts *keep * 2);
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
    static const int64_t rows_last[] = {0, 2, 4, 1, 3}, sums_first[] = {0, 3, 4, 5, 1, 6, 2};
    int64_t matrix[] = {n * parts, keep * 2}, dims[] = {outer, inner, keep, 2, 1, 1};
    gpuc_expr rows = dim_of(x, 0), all = gpuc_mul(m->ctx, rows, gpuc_int(m->ctx, outer * inner));
    x = shaped(m, permuted(m, x, rows_last), all, 1, matrix);
    x = gpuc_relay_op2(m->ctx, "nn.matmul", NULL, x, constant(m, 2, matrix, w));
    return permuted(m, shaped(m, x, rows, 6, dims), sums_first);
}

/* The complex numbers that two sums are, in another order of dimensions: parts is the place of theirs. The order of
 * complex numbers' sums leaves out the dimension of the sums, as one of 1. */
static gpuc_rexpr *joined(const maker *m, gpuc_rexpr *y, const int64_t *of_real, const int64_t *of_complex,
                          int parts)
{
    if (static_dim(y, 5) == 1) return permuted(m, y, of_real);
    gpuc_rexpr *cosines = permuted(m, cut(m, y, 2, 0, 1), of_complex),
               *sines = permuted(m, cut(m, y, 2, 1, 1), of_complex);
    return gpuc_relay_op2(m->ctx, "add", NULL, cosines, times_i(m, sines, parts));
}

static gpuc_rexpr *product(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    static const int64_t of_real[] = {0, 1, 3, 4, 5, 6, 2}, of_complex[] = {0, 1, 3, 2, 4, 6, 5};
    gpuc_expr rows = dim_of(x, 0);
    int64_t n = static_dim(x, 1), a = static_dim(x, 2), p = static_dim(x, 3), b = static_dim(x, 4);
    int64_t dims[] = {n, 1, a, p, b}, out[] = {keep, a * b, 2};
    gpuc_rexpr *y = a * p * b < GPUC_COMMON_fourier_columns
                        ? row_sums(m, x, keep, scale)
                        : sums(m, shaped(m, x, rows, 5, dims), keep, scale);
    return shaped(m, joined(m, y, of_real, of_complex, 6), rows, 3, out);
}

static gpuc_rexpr *transform(const maker *m, gpuc_rexpr *x, int64_t keep, double scale);

/* x[i1 * n2 + i2], X[k1 + n1 * k2]: sums over i1, a turn by i2 * k1, sums over i2. */
static gpuc_rexpr *split(const maker *m, gpuc_rexpr *x, int64_t n1, int64_t keep, double scale)
{
    static const int64_t of_real[] = {0, 3, 2, 1, 4, 5, 6}, of_complex[] = {0, 3, 5, 1, 4, 2, 6};
    gpuc_expr rows = dim_of(x, 0);
    int64_t n = static_dim(x, 1), a = static_dim(x, 2), p = static_dim(x, 3), b = static_dim(x, 4);
    int64_t n2 = n / n1, keep2 = (keep + n1 - 1) / n1, dims[] = {n1, n2, a, p, b},
            table[] = {n2, 1, n1, 1, 1, 1}, next[] = {n2, 1, 2, n1 * a * b}, all[] = {keep2 * n1, a * b, 2};
    gpuc_rexpr *y = joined(m, sums(m, shaped(m, x, rows, 5, dims), n1, 1), of_real, of_complex, 2);
    complex *by = gpuc_new_array(m->ctx, complex, n);
    for (int64_t i = 0; i < n; i++) by[i] = root(m->sign, (i / n1) * (i % n1), n);
    y = transform(m, shaped(m, turned(m, y, by, 6, table, 1), rows, 4, next), keep2, scale);
    return resized(m, shaped(m, y, rows, 3, all), 1, keep);
}

/* i * k is (i^2 + k^2 - (i - k)^2) / 2: X[k] is a chirp times the convolution of turned x with the chirp back. */
static gpuc_rexpr *convolved(const maker *m, gpuc_rexpr *x, int64_t length, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1), numbers = static_dim(x, 2) * static_dim(x, 4);
    complex *chirp = gpuc_new_array(m->ctx, complex, n), *back = gpuc_new_array(m->ctx, complex, length),
            *by = gpuc_new_array(m->ctx, complex, length), *spare = gpuc_new_array(m->ctx, complex, length);
    for (int64_t i = 0; i < n; i++) chirp[i] = root(m->sign, i * i % (2 * n), 2 * n);
    memset(back, 0, sizeof *back * (size_t)length);
    for (int64_t i = 0; i < n; i++) {
        complex c = {chirp[i].re / (double)length, -chirp[i].im / (double)length};
        back[i] = c;
        if (i) back[length - i] = c;
    }
    transform_now(length, 1, back, by, spare);
    maker forth = {m->ctx, m->type, -1}, home = {m->ctx, m->type, 1};
    int64_t first[] = {n, 1, 1, 1}, between[] = {length, 1, 1}, last[] = {keep, 1, 1},
            dims[] = {length, numbers, 2, 1};
    x = resized(m, turned(m, x, chirp, 4, first, 2), 1, length);
    x = turned(m, transform(&forth, x, length, 1), by, 3, between, 2);
    x = transform(&home, shaped(m, x, dim_of(x, 0), 4, dims), keep, 1);
    for (int64_t i = 0; i < keep; i++) chirp[i] = (complex){scale * chirp[i].re, scale * chirp[i].im};
    return turned(m, x, chirp, 3, last, 2);
}

/* The first `keep` numbers of the transform, times scale. */
static gpuc_rexpr *transform(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    int64_t parts = static_dim(x, 3);
    plan p = plan_of(static_dim(x, 1), (int)parts, static_dim(x, 2) * parts * static_dim(x, 4));
    if (p.chirp) return convolved(m, x, p.chirp, keep, scale);
    if (p.factor) return split(m, x, p.factor, keep, scale);
    return product(m, x, keep, scale);
}

/* All numbers of the transform of real ones: the second half is the first one's, reversed and conjugate. */
static gpuc_rexpr *mirrored(const maker *m, gpuc_rexpr *half, int64_t n)
{
    static const double conjugate[] = {1, -1};
    static const int64_t two = 2;
    int64_t others = n - n / 2 - 1;
    if (others == 0) return half;
    gpuc_rexpr *other = gpuc_relay_op1(m->ctx, "reverse", gpuc_attrs_int(m->ctx, NULL, "axis", 1),
                                       cut(m, half, 1, 1, others));
    gpuc_rexpr *parts[] = {half,
                           gpuc_relay_op2(m->ctx, "multiply", NULL, other, constant(m, 1, &two, conjugate))};
    return gpuc_relay_op(m->ctx, "concatenate", gpuc_attrs_int(m->ctx, NULL, "axis", 1), 2, parts);
}

static gpuc_rexpr *bins(const maker *m, gpuc_rexpr *x, int64_t keep, double scale)
{
    int64_t n = static_dim(x, 1);
    if (static_dim(x, 3) == 1 && keep > n / 2 + 1) return mirrored(m, transform(m, x, n / 2 + 1, scale), n);
    return transform(m, x, keep, scale);
}

/* ---- The operators ---- */

static gpuc_dtype work_type(gpuc_dtype t)
{
    return t.bits == 16 ? GPUC_FLOAT32 : t;
}

/* The product of dims[begin, end); 0: not known when building */
static int64_t count_of(int begin, int end, const gpuc_expr *dims)
{
    int64_t n = 1, d;
    for (int i = begin; i < end; i++) n *= gpuc_expr_is_int(dims[i], &d) ? d : 0;
    return n;
}

/* Columns are taken as they lie where a product has enough of them; else the axis goes before that of the parts. */
static gpuc_rexpr *dft(gpuc_ctx *ctx, const gpuc_rcall *c, const gpuc_tensor_type *out)
{
    const gpuc_tensor_type *in = gpuc_relay_tensor_type(c->args[0]);
    int ndim = in->ndim, axis = (int)gpuc_attrs_get_int(c->attrs, "axis", 0);
    int64_t length = gpuc_attrs_get_int(c->attrs, "length", 0), axes[GPUC_TOPI_MAX_DIMS];
    bool inverse = gpuc_attrs_get_int(c->attrs, "inverse", 0);
    if (axis < 0) axis += ndim;
    maker m = {ctx, work_type(in->dtype), inverse ? 1 : -1};
    gpuc_rexpr *x = resized(&m, gpuc_relay_pass_cast(ctx, c->args[0], m.type), axis, length);
    int64_t parts = static_dim(x, ndim - 1), inner = count_of(axis + 1, ndim - 1, in->dims);
    bool moved = inner != 1 && inner * parts < GPUC_COMMON_fourier_columns;
    for (int i = 0; i < ndim; i++) axes[i] = i;
    if (moved) {
        axes[axis] = ndim - 2;
        axes[ndim - 2] = axis;
        x = gpuc_relay_pass_transpose(ctx, x, axes);
        axis = ndim - 2;
        inner = 1;
    }
    gpuc_expr rows = gpuc_int(ctx, 1), shape[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < ndim; i++) shape[i] = out->dims[axes[i]];
    for (int i = 0; i < axis; i++) rows = gpuc_mul(ctx, rows, shape[i]);
    int64_t dims[] = {length, inner, parts, 1}, keep = 0;
    gpuc_expr_is_int(shape[axis], &keep);
    x = bins(&m, shaped(&m, x, rows, 4, dims), keep, inverse ? 1 / (double)length : 1);
    x = gpuc_relay_pass_reshape(ctx, x, ndim, shape);
    return gpuc_relay_pass_cast(ctx, moved ? gpuc_relay_pass_transpose(ctx, x, axes) : x, in->dtype);
}

static gpuc_rexpr *stft(gpuc_ctx *ctx, const gpuc_rcall *c, const gpuc_tensor_type *out)
{
    const gpuc_tensor_type *in = gpuc_relay_tensor_type(c->args[0]);
    int64_t keep, parts = 1, length = gpuc_attrs_get_int(c->attrs, "length", 0);
    gpuc_expr_is_int(in->dims[2], &parts);
    gpuc_expr_is_int(out->dims[2], &keep);
    int64_t window[] = {length, parts}, frame[] = {length, 1, parts, 1},
            steps[] = {gpuc_attrs_get_int(c->attrs, "step", 1), 1};
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
    x = gpuc_relay_pass_reshape(ctx, bins(&m, shaped(&m, x, rows, 4, frame), keep, 1), 4, out->dims);
    return gpuc_relay_pass_cast(ctx, x, in->dtype);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    bool frames = gpuc_relay_is_op(e, "stft");
    if (!frames && !gpuc_relay_is_op(e, "dft")) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    return (frames ? stft : dft)(ctx, c, gpuc_relay_tensor_type(e));
}

void gpuc_relay_pass_fourier(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, rewrite, NULL);
}
