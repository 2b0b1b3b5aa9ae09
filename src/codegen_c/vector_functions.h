/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of helper functions: elementary functions of vectors of float32, within a few units of the last place.
 * Polynomials are Cephes' (Moshier). */
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

#endif
