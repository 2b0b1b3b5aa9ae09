/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of helper functions: elementary functions of vectors of float32 and float64, within a few units of the last
 * place. Polynomials are Cephes' (Moshier). */
#ifndef GPUC_CODEGEN_C_VECTOR_FUNCTIONS_H
#define GPUC_CODEGEN_C_VECTOR_FUNCTIONS_H

/* The larger or smaller of a and b, a where it is NaN. */
#define BOUND(op, beyond)                                                                                    \
    "#if defined(__clang__) || !defined(__SSE__)\n"                                                          \
    "    return gpuc_select_$S(a " beyond " b, b, a);\n"                                                     \
    "#elif $N == 16 && defined(__AVX512F__)\n"                                                               \
    "    return __builtin_ia32_" op "ps512_mask(b, a, ($T){0}, -1, 4);\n"                                    \
    "#elif $N == 8 && defined(__AVX__)\n"                                                                    \
    "    return __builtin_ia32_" op "ps256(b, a);\n"                                                         \
    "#elif $N == 4\n"                                                                                        \
    "    return __builtin_ia32_" op "ps(b, a);\n"                                                            \
    "#else\n"                                                                                                \
    "    return gpuc_select_$S(a " beyond " b, b, a);\n"                                                     \
    "#endif\n"
/* An angle without its quarter turns, and their number: exact for arguments below 2^10 (Cody and Waite). */
#define REDUCED                                                                                              \
    "    const $M i = ($M)a;\n"                                                                              \
    "    const $T x = ($T)(i & INT32_MAX);\n"                                                                \
    "    const $T turns = (x * 0.636619772f + 12582912.0f) - 12582912.0f;\n"                                 \
    "    const $M n = ($M)(turns + 12582912.0f);\n"                                                          \
    "    const $T y = (((x - turns * 0x1.9218p+0f) - turns * 0x1.ed5p-14f) - turns * 0x1.10ap-30f) -\n"      \
    "                 turns * 0x1.4611a6p-42f;\n"                                                            \
    "    const $T z = y * y;\n"
/* Angles beyond are calls. */
#define HARD_LANES(function)                                                                                 \
    "    const $M far = ~(x < 1024.0f);\n"                                                                   \
    "    if (gpuc_anylane_i32x$N(far))\n"                                                                    \
    "        for (int k = 0; k < $N; k++)\n"                                                                 \
    "            if (far[k]) r[k] = " function "(a[k]);\n"                                                   \
    "    return r;\n"
/* The quadrant q of an angle decides which polynomial is the result, and flip its sign. */
#define CIRCULAR(function, q, flip)                                                                          \
    REDUCED                                                                                                  \
    "    $T s = z * -1.9515295891e-4f + 8.3321608736e-3f;\n"                                                 \
    "    s = s * z - 1.6666654611e-1f;\n"                                                                    \
    "    s = s * z * y + y;\n"                                                                               \
    "    $T c = z * 2.443315711809948e-5f - 1.388731625493765e-3f;\n"                                        \
    "    c = c * z + 4.166664568298827e-2f;\n"                                                               \
    "    c = (c * z * z - z * 0.5f) + 1.0f;\n"                                                               \
    "    const $M swap = -(" q " & 1);\n"                                                                    \
    "    $T r = ($T)(((~swap & ($M)s) | (swap & ($M)c)) ^ (" flip "));\n" HARD_LANES(function)
#define TANGENT                                                                                              \
    REDUCED                                                                                                  \
    "    $T t = z * 9.38540185543e-3f + 3.11992232697e-3f;\n"                                                \
    "    t = t * z + 2.44301354525e-2f;\n"                                                                   \
    "    t = t * z + 5.34112807005e-2f;\n"                                                                   \
    "    t = t * z + 1.33387994085e-1f;\n"                                                                   \
    "    t = t * z + 3.33331568548e-1f;\n"                                                                   \
    "    t = t * z * y + y;\n"                                                                               \
    "    $T r = ($T)(($M)gpuc_select_$S(-(n & 1), -1.0f / t, t) ^ (i & INT32_MIN));\n" HARD_LANES("tanf")
/* asin and acos share asin(sqrt((1 - |a|) / 2)) for |a| > 1/2. */
#define ARC_SINE                                                                                             \
    "    const $T x = ($T)(($M)a & INT32_MAX);\n"                                                            \
    "    const $M far = x > 0.5f;\n"                                                                         \
    "    const $T y = gpuc_select_$S(far, gpuc_sqrt_$S((1.0f - x) * 0.5f), x), z = y * y;\n"                 \
    "    $T r = z * 4.2163199048e-2f + 2.4181311049e-2f;\n"                                                  \
    "    r = r * z + 4.5470025998e-2f;\n"                                                                    \
    "    r = r * z + 7.4953002686e-2f;\n"                                                                    \
    "    r = r * z + 1.6666752422e-1f;\n"                                                                    \
    "    r = r * z * y + y;\n"
/* A polynomial times 2^scale; n is the multiple of ln 2 that is left out of its argument. */
#define EXP(most, scale)                                                                                     \
    "    const $T x = gpuc_atmost_$S(gpuc_atleast_$S(a, ($T){0} - 104.0f), ($T){0} + " most ");\n"           \
    "    const $T n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;\n"                                      \
    "    const $T r = (x - n * 0.693359375f) + n * 2.12194440e-4f;\n"                                        \
    "    $T p = r * 1.9875691500e-4f + 1.3981999507e-3f;\n"                                                  \
    "    p = p * r + 8.3334519073e-3f;\n"                                                                    \
    "    p = p * r + 4.1665795894e-2f;\n"                                                                    \
    "    p = p * r + 1.6666665459e-1f;\n"                                                                    \
    "    p = p * r + 5.0000001201e-1f;\n"                                                                    \
    "    p = p * (r * r) + r + 1.0f;\n"                                                                      \
    "#if $N == 16 && defined(__AVX512F__) && !defined(__clang__)\n"                                          \
    "    return __builtin_ia32_scalefps512_mask(p, " scale ", p, -1, 4);\n"                                  \
    "#endif\n"                                                                                               \
    "    const $M i = __builtin_convertvector(" scale ", $M), half = i >> 1;\n"                              \
    "    return p * ($T)(($U)(half + 127) << 23) * ($T)(($U)(i - half + 127) << 23);\n"
/* Near 0 a polynomial; else of exponentials, and of logarithms, whose arguments do not overflow. */
#define HYPERBOLIC_SINE                                                                                      \
    "    const $T x = ($T)(($M)a & INT32_MAX), h = gpuc_halfexp_$S(x), z = a * a;\n"                         \
    "    const $T far = h - 0.25f / h;\n"                                                                    \
    "    $T p = z * 2.03721912945e-4f + 8.33028376239e-3f;\n"                                                \
    "    p = p * z + 1.66667160211e-1f;\n"                                                                   \
    "    return ($T)(($M)gpuc_select_$S(x < 1.0f, p * z * x + x, far) | (($M)a & INT32_MIN));\n"
#define AREA_SINE                                                                                            \
    "    const $T x = ($T)(($M)a & INT32_MAX), z = a * a;\n"                                                 \
    "    const $M large = x > 1500.0f;\n"                                                                    \
    "    const $T log = gpuc_log_$S(gpuc_select_$S(large, x, x + gpuc_sqrt_$S(z + 1.0f)));\n"                \
    "    const $T far = log + ($T)(large & ($M)(($T){0} + 0.693147181f));\n"                                 \
    "    $T p = z * 2.0122003309e-2f - 4.2699340972e-2f;\n"                                                  \
    "    p = p * z + 7.4847586088e-2f;\n"                                                                    \
    "    p = p * z - 1.6666288134e-1f;\n"                                                                    \
    "    return ($T)(($M)gpuc_select_$S(x < 0.5f, p * z * x + x, far) | (($M)a & INT32_MIN));\n"
#define AREA_COSINE                                                                                          \
    "    const $T z = a - 1.0f;\n"                                                                           \
    "    const $M large = a > 1500.0f;\n"                                                                    \
    "    const $T log = gpuc_log_$S(gpuc_select_$S(large, a, a + gpuc_sqrt_$S(z * (a + 1.0f))));\n"          \
    "    const $T far = log + ($T)(large & ($M)(($T){0} + 0.693147181f));\n"                                 \
    "    $T p = z * 1.7596881071e-3f - 7.5272886713e-3f;\n"                                                  \
    "    p = p * z + 2.6454905019e-2f;\n"                                                                    \
    "    p = p * z - 1.1784741703e-1f;\n"                                                                    \
    "    p = p * z + 1.4142135263f;\n"                                                                       \
    "    return gpuc_select_$S(z < 0.5f, p * gpuc_sqrt_$S(z), far);\n"
#define AREA_TANGENT                                                                                         \
    "    const $T x = ($T)(($M)a & INT32_MAX), z = a * a;\n"                                                 \
    "    const $T far = gpuc_log_$S((1.0f + x) / (1.0f - x)) * 0.5f;\n"                                      \
    "    $T p = z * 1.81740078349e-1f + 8.24370301058e-2f;\n"                                                \
    "    p = p * z + 1.46691431730e-1f;\n"                                                                   \
    "    p = p * z + 1.99782164500e-1f;\n"                                                                   \
    "    p = p * z + 3.33337300303e-1f;\n"                                                                   \
    "    return ($T)(($M)gpuc_select_$S(x < 0.5f, p * z * x + x, far) | (($M)a & INT32_MIN));\n"

/* ---- float64 ---- */

/* r is exp(|a|) or exp(a), by a quotient of polynomials times 2^n. */
#define EXP_DOUBLE(of, lo, hi)                                                                               \
    "    $T x = gpuc_select_$S(" of " > " hi ", ($T){0} + " hi ", " of ");\n"                                \
    "    x = gpuc_select_$S(x < " lo ", ($T){0} + " lo ", x);\n"                                             \
    "    const $T k = x * 1.4426950408889634 + 0x1.8p52, n = k - 0x1.8p52;\n"                                \
    "    const $T y = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6, z = y * y;\n"           \
    "    $T p = z * 1.26177193074810590878e-4 + 3.02994407707441961300e-2;\n"                                \
    "    p = (p * z + 9.99999999999999999910e-1) * y;\n"                                                     \
    "    $T q = z * 3.00198505138664455042e-6 + 2.52448340349684104192e-3;\n"                                \
    "    q = q * z + 2.27265548208155028766e-1;\n"                                                           \
    "    q = q * z + 2.00000000000000000009;\n"                                                              \
    "    const $T e = p / (q - p);\n"                                                                        \
    "    const $M i = ($M)k - ($M)(($T){0} + 0x1.8p52), half = i >> 1;\n"                                    \
    "    const $T r = (e + e + 1.0) * ($T)(($U)(half + 1023) << 52) * ($T)(($U)(i - half + 1023) << 52);\n"
/* Near 0 a quotient of polynomials, else of an exponential. */
#define TANH_DOUBLE                                                                                          \
    "    const $T m = ($T)(($M)a & INT64_MAX), s = m * m, twice = m + m;\n" EXP_DOUBLE(                      \
        "twice", "0.0",                                                                                      \
        "50.0") "    const $T far = 1.0 - 2.0 / (r + 1.0);\n"                                                \
                "    $T u = s * -9.64399179425052238628e-1 - 9.92877231001918586564e1;\n"                    \
                "    u = u * s - 1.61468768441708447952e3;\n"                                                \
                "    $T v = s + 1.12811678491632931402e2;\n"                                                 \
                "    v = v * s + 2.23548839060100448583e3;\n"                                                \
                "    v = v * s + 4.84406305325125486048e3;\n"                                                \
                "    const $T near = u / v * s * m + m;\n"                                                   \
                "    return ($T)(($M)gpuc_select_$S(m < 0.625, near, far) | (($M)a & INT64_MIN));\n"
#define LOG_DOUBLE                                                                                           \
    "    const $M tiny = a < 0x1p-1022;\n"                                                                   \
    "    const $M bits = ($M)gpuc_select_$S(tiny, a * 0x1p54, a);\n"                                         \
    "    $T m = ($T)((bits & 0x000fffffffffffff) | 0x3fe0000000000000);\n"                                   \
    "    const $M low = m < 7.0710678118654752440e-1;\n"                                                     \
    "    const $M whole = (($M)(($U)bits >> 52) & 0x7ff) - 1022 - (tiny & 54) + low;\n"                      \
    "    const $T e = ($T)(whole + ($M)(($T){0} + 0x1.8p52)) - 0x1.8p52;\n"                                  \
    "    m = gpuc_select_$S(low, m + m, m) - 1.0;\n"                                                         \
    "    const $T z = m * m;\n"                                                                              \
    "    $T p = m * 1.01875663804580931796e-4 + 4.97494994976747001425e-1;\n"                                \
    "    p = p * m + 4.70579119878881725854;\n"                                                              \
    "    p = p * m + 1.44989225341610930846e1;\n"                                                            \
    "    p = p * m + 1.79368678507819816313e1;\n"                                                            \
    "    p = p * m + 7.70838733755885391666;\n"                                                              \
    "    $T q = m + 1.12873587189167450590e1;\n"                                                             \
    "    q = q * m + 4.52279145837532221105e1;\n"                                                            \
    "    q = q * m + 8.29875266912776603211e1;\n"                                                            \
    "    q = q * m + 7.11544750618563894466e1;\n"                                                            \
    "    q = q * m + 2.31251620126765340583e1;\n"                                                            \
    "    $T y = m * (z * p / q) - e * 2.121944400546905827679e-4 - z * 0.5;\n"                               \
    "    y = m + y + e * 0.693359375;\n"                                                                     \
    "    y = gpuc_select_$S((a < 0.0) | (a != a), ($T){0} + NAN, y);\n"                                      \
    "    y = gpuc_select_$S(a == INFINITY, a, y);\n"                                                         \
    "    return gpuc_select_$S(a == 0.0, ($T){0} - INFINITY, y);\n"

#endif
