/* SPDX-License-Identifier: Apache-2.0 */
/* sin, cos and tan of float64, for every argument. Small ones lose a multiple of pi/2 in parts whose
 * products are exact (Cody and Waite); from 2^30 on, digits of 2/pi are multiplied with the number (Payne
 * and Hanek). No bits of the number are looked at. Polynomials are those of S. Moshier's Cephes library. */
#include <math.h>

#include "lower/intrinsics/math.h"

/* A number is n * pi/2 + rest, with |rest| no more than a little above pi/4. */
typedef struct reduced {
    gpuc_expr n, rest;
} reduced;

static gpuc_expr scaled(gpuc_intrin *x, gpuc_expr a, double by)
{
    return gpuc_mul(x->ctx, a, num(x, by));
}

static reduced reduce_small(gpuc_intrin *x, gpuc_expr a)
{
    /* their products with n are exact up to 2^30 */
    static const double parts[] = {2 * 7.85398125648498535156e-1, 2 * 3.77489470793079817668e-8,
                                   2 * 2.69515142907905952645e-15};
    gpuc_expr n = op1(x, GPUC_TIR_ROUND, scaled(x, a, 0.63661977236758134308)), r = a;
    for (int i = 0; i < 3; i++) r = exact(x, gpuc_sub(x->ctx, r, scaled(x, n, parts[i])));
    return (reduced){n, r};
}

/* ---- Any argument ---- */

enum { WORDS = 6, DIGITS = 2 * WORDS, MOD_DIGITS = 6 };

/* The words of 2/pi that count for size = *first * 2^(32k), with *first in [1, 2^32): the first one counts
 * 2^32, what is above gives multiples of 4. */
static void window(gpuc_intrin *x, gpuc_expr size, gpuc_expr *first, gpuc_expr *words)
{
    static const uint32_t bits[] = {
        0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
        0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
        0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
        0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
        0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1};
    enum { COUNT = sizeof bits / sizeof *bits };
    gpuc_ctx *ctx = x->ctx;
    gpuc_dtype t = gpuc_dtype_with_lanes(GPUC_UINT32, x->t.lanes);
    gpuc_expr w[COUNT];
    for (int i = 0; i < COUNT; i++) w[i] = gpuc_imm_int(ctx, t, bits[i]);
    for (int step = 16; step > 0; step /= 2) {
        gpuc_expr large = gpuc_le(ctx, num(x, ldexp(1, 32 * step)), size);
        size = gpuc_select(ctx, large, scaled(x, size, ldexp(1, -32 * step)), size);
        for (int i = 0; i < step - 1 + WORDS; i++) w[i] = gpuc_select(ctx, large, w[i + step], w[i]);
    }
    *first = size;
    for (int i = 0; i < WORDS; i++) words[i] = w[i];
}

/* *sum + *low becomes more by t; |t| is not above |*sum| by much. */
static void add_exactly(gpuc_intrin *x, gpuc_expr *sum, gpuc_expr *low, gpuc_expr t)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr all = exact(x, gpuc_add(ctx, *sum, t)), own = exact(x, gpuc_sub(ctx, all, *sum));
    gpuc_expr left = exact(x, gpuc_sub(ctx, *sum, exact(x, gpuc_sub(ctx, all, own))));
    gpuc_expr error = exact(x, gpuc_add(ctx, left, exact(x, gpuc_sub(ctx, t, own))));
    *low = exact(x, gpuc_add(ctx, *low, error));
    *sum = all;
}

/* Halves of the number and digits of 16 bits have exact products. */
static reduced reduce_any(gpuc_intrin *x, gpuc_expr size)
{
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr number, words[WORDS], halves[2], sum = num(x, 0), low = sum;
    window(x, size, &number, words);
    gpuc_expr wide = exact(x, scaled(x, number, 0x1p27 + 1));
    halves[0] = exact(x, gpuc_sub(ctx, wide, exact(x, gpuc_sub(ctx, wide, number))));
    halves[1] = exact(x, gpuc_sub(ctx, number, halves[0]));
    for (int d = 0; d < DIGITS; d++) {
        gpuc_expr mask = gpuc_imm_int(ctx, words[0]->dtype, 0xffff),
                  by = gpuc_imm_int(ctx, words[0]->dtype, 16);
        gpuc_expr digit = d % 2 ? gpuc_tir_make(ctx, GPUC_TIR_BITAND, words[d / 2], mask, NULL)
                                : gpuc_tir_make(ctx, GPUC_TIR_SHR, words[d / 2], by, NULL);
        digit = scaled(x, gpuc_cast(ctx, x->t, digit), ldexp(1, 48 - 16 * d));
        for (int h = 0; h < 2; h++) {
            gpuc_expr t = exact(x, gpuc_mul(ctx, halves[h], digit));
            if (d < MOD_DIGITS)
                t = exact(x, gpuc_sub(ctx, t, scaled(x, op1(x, GPUC_TIR_TRUNC, scaled(x, t, 0.25)), 4)));
            add_exactly(x, &sum, &low, t);
        }
    }
    gpuc_expr n = op1(x, GPUC_TIR_ROUND, sum);
    gpuc_expr rest = exact(x, gpuc_add(ctx, exact(x, gpuc_sub(ctx, sum, n)), low));
    return (reduced){n, scaled(x, rest, 1.57079632679489661923)};
}

/* ---- The functions ---- */

static gpuc_expr finish(gpuc_intrin *x, gpuc_tir_op op, const reduced *d)
{
    static const double s[] = {1.58962301576546568060e-10, -2.50507477628578072866e-8,
                               2.75573136213857245213e-6,  -1.98412698295895385996e-4,
                               8.33333333332211858878e-3,  -1.66666666666666307295e-1};
    static const double c[] = {-1.13585365213876817300e-11, 2.08757008419747316778e-9,
                               -2.75573141792967388112e-7,  2.48015872888517045348e-5,
                               -1.38888888888730564116e-3,  4.16666666666665929218e-2};
    gpuc_ctx *ctx = x->ctx;
    gpuc_expr n = d->n, r = d->rest, z = gpuc_mul(ctx, r, r);
    gpuc_expr quadrant = gpuc_sub(ctx, n, scaled(x, op1(x, GPUC_TIR_FLOOR, scaled(x, n, 0.25)), 4));
    gpuc_expr p = gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, s), z), r), r);
    gpuc_expr q = gpuc_mul(ctx, gpuc_mul(ctx, POLYNOMIAL(x, z, c), z), z);
    q = gpuc_add(ctx, gpuc_sub(ctx, q, scaled(x, z, 0.5)), num(x, 1));
    gpuc_expr first = gpuc_eq(ctx, quadrant, num(x, 1)), third = gpuc_eq(ctx, quadrant, num(x, 3));
    gpuc_expr second = gpuc_eq(ctx, quadrant, num(x, 2)), swap = gpuc_or(ctx, first, third);
    gpuc_expr one = gpuc_select(ctx, swap, q, p), other = gpuc_select(ctx, swap, p, q);
    gpuc_expr sine = gpuc_select(ctx, gpuc_or(ctx, second, third), negated(x, one), one);
    gpuc_expr cosine = gpuc_select(ctx, gpuc_or(ctx, first, second), negated(x, other), other);
    if (op == GPUC_TIR_COS) return cosine;
    return op == GPUC_TIR_SIN ? sine : gpuc_div(ctx, sine, cosine);
}

gpuc_expr gpuc_lower_intrin_double_circular(gpuc_intrin *x, gpuc_tir_op op, gpuc_expr a)
{
    gpuc_ctx *ctx = x->ctx;
    int lanes = x->t.lanes;
    gpuc_expr size = absolute(x, a), limit = num(x, 0x1p30), small = gpuc_lt(ctx, size, limit), all = small;
    reduced near = reduce_small(x, size), far = reduce_any(x, size);
    if (lanes > 1) {
        for (int i = 0; i < lanes; i++) {
            gpuc_expr lane = gpuc_lt(ctx, gpuc_tir_lane(ctx, size, i), gpuc_imm(ctx, GPUC_FLOAT64, 0x1p30));
            all = i ? gpuc_and(ctx, all, lane) : lane;
        }
        all = gpuc_tir_broadcast(ctx, all, lanes);
        far.n = gpuc_select(ctx, small, near.n, far.n);
        far.rest = gpuc_select(ctx, small, near.rest, far.rest);
    }
    gpuc_expr r = gpuc_if_then_else(ctx, all, finish(x, op, &near), finish(x, op, &far));
    if (op == GPUC_TIR_COS) return r;
    r = gpuc_select(ctx, gpuc_lt(ctx, a, num(x, 0)), negated(x, r), r);
    return gpuc_select(ctx, gpuc_eq(ctx, a, num(x, 0)), a, r);
}
