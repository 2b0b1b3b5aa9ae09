/* SPDX-License-Identifier: Apache-2.0 */
/* Helper functions of generated C, besides those that it shares with OpenCL C (codegen/helper_rows.c). */
#include "codegen_c/dot.h"
#include "codegen_c/vector_functions.h"
#include "codegen_c/float16.h"
#include "codegen_c/private.h"

static const gpuc_helper_row rows[] = {
    /* Rounded by itself, where the compiler contracts across statements. */
    {.name = "exact",
     .to = "f",
     .sig = "TT",
     .both = true,
     .body = "    __asm__(\"\" : \"+m\"(a));\n    return a;\n"},
    {.name = "isnan", .to = "f", .sig = "MT", .body = "    return a != a;\n", .vector = true},
    {.name = "isinf",
     .to = "f",
     .sig = "MT",
     .vector = true,
     .body = "    return (a == ($E)INFINITY) | (a == -($E)INFINITY);\n"},
    {.name = "sat",
     .to = "i",
     .from = "f",
     .sig = "TF",
     .body = "    return a != a ? 0 : a < $LO ? INT$B_MIN : a >= $HI ? INT$B_MAX : ($T)a;\n"},
    {.name = "sat",
     .to = "u",
     .from = "f",
     .sig = "TF",
     .body = "    return a > 0 ? a >= $HI ? UINT$B_MAX : ($T)a : 0;\n"},
    /* -- Types held as their bits -- */
    {.name = "fromhalf",
     .to = "f32",
     .from = "u16",
     .sig = "TF",
     .body = FROM_HALF_INSTRUCTION
     "    const uint32_t sign = (uint32_t)(a & 0x8000) << 16, x = (uint32_t)(a & 0x7fff) << 13;\n"
     "    if (x >= 0x0f800000) return gpuc_bits_f32_u32(sign | 0x7f800000 | x);\n"
     "    const float f = gpuc_bits_f32_u32(x) * 0x1p112f;\n"
     "    return gpuc_bits_f32_u32(sign | gpuc_bits_u32_f32(f));\n"},
    {.name = "tohalf",
     .to = "u16",
     .from = "f32",
     .sig = "TF",
     .body = TO_HALF_INSTRUCTION
     "    const uint32_t bits = gpuc_bits_u32_f32(a), sign = bits >> 16 & 0x8000;\n"
     "    uint32_t x = bits & 0x7fffffff;\n"
     "    if (x > 0x7f800000) return 0x7e00;\n"
     "    if (x >= 0x47800000) return (uint16_t)(sign | 0x7c00);\n"
     "    if (x < 0x38800000) /* subnormal: the sum has its last bit where float16 has */\n"
     "        return (uint16_t)(sign | (gpuc_bits_u32_f32(gpuc_bits_f32_u32(x) + 0.5f) - 0x3f000000));\n"
     "    x += 0xc8000fff + (x >> 13 & 1);\n"
     "    return (uint16_t)(sign | x >> 13);\n"},
    {.name = "fromhalf", .to = "f32", .from = "u16", .sig = "TF", .vector = true, .body = FROM_HALF},
    {.name = "tohalf", .to = "u16", .from = "f32", .sig = "TF", .vector = true, .body = TO_HALF},
    {.name = "tohalf",
     .to = "u16",
     .from = "f64",
     .sig = "TF",
     .body = "    return gpuc_tohalf_u16_f32(gpuc_odd_f32_f64(a));\n"},
    /* Rounded to odd, so that a second rounding gives what one would have. */
    {.name = "odd",
     .to = "f32",
     .from = "f64",
     .sig = "TF",
     .body = "    const float f = (float)a;\n"
             "    if (a != a || (double)f == a) return f;\n"
             "    const uint32_t x = gpuc_bits_u32_f32(f);\n"
             "    const int up = a < 0 ? (double)f < a : (double)f > a;\n"
             "    return gpuc_bits_f32_u32((x - (uint32_t)up) | 1);\n"},
    {.name = "bits",
     .to = "iufb",
     .from = "iufb",
     .sig = "TF",
     .both = true,
     .body = "    $T r;\n    memcpy(&r, &a, sizeof r);\n    return r;\n"},
    /* -- Vectors -- */
    {.name = "load", .to = "iuf", .sig = "TP", .vector = true, .body = "    return *(const $T_any *)a;\n"},
    {.name = "keep",
     .to = "iuf",
     .sig = "TT",
     .vector = true,
     .body = "#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)\n"
             "#if $B * $N == 128 || ($B * $N == 256 && defined(__AVX__)) || ($B * $N == 512 && "
             "defined(__AVX512F__))\n"
             "    __asm__(\"\" : \"+v\"(a));\n"
             "#endif\n#endif\n"
             "    return a;\n"},
    {.name = "store", .to = "iuf", .sig = "vQT", .vector = true, .body = "    *($T_any *)a = b;\n"},
    /* Past the caches, where the compiler knows how. */
    {.name = "stream",
     .to = "iuf",
     .sig = "vQT",
     .vector = true,
     .body = "    if ((uintptr_t)a % sizeof b != 0) {\n"
             "        gpuc_store_$S(a, b);\n"
             "        return;\n"
             "    }\n"
             "#if defined(__clang__)\n"
             "    typedef $T cell __attribute__((may_alias));\n"
             "    __builtin_nontemporal_store(b, (cell *)a);\n"
             "#elif $N * $B == 512 && defined(__AVX512F__)\n"
             "    __builtin_ia32_movntps512((float *)a, (f32x16)b);\n"
             "#elif $N * $B == 256 && defined(__AVX__)\n"
             "    __builtin_ia32_movntps256((float *)a, (f32x8)b);\n"
             "#elif $N * $B == 128 && defined(__SSE__)\n"
             "    __builtin_ia32_movntps((float *)a, (f32x4)b);\n"
             "#else\n"
             "    gpuc_store_$S(a, b);\n"
             "#endif\n"},
    {.name = "fence",
     .to = "u8",
     .sig = "v",
     .body = "#if defined(__SSE__)\n    __builtin_ia32_sfence();\n#endif\n"},
    {.name = "splat", .to = "iuf", .sig = "TE", .vector = true, .body = "    return ($T){$(a$)};\n"},
    {.name = "ramp", .to = "iu", .sig = "TEE", .vector = true, .body = "    return ($T){$(a + # * b$)};\n"},
    /* By bits: loops over the lanes of a mask have been compiled wrongly (gcc 12 -O3). */
    {.name = "select",
     .to = "iuf",
     .sig = "TMTT",
     .vector = true,
     .body = "    return ($T)((a & ($M)b) | (~a & ($M)c));\n"},
    /* GCC makes no minimum of a comparison and a choice by bits. A number that is not one stays: it is a. */
    {.name = "atleast", .to = "f32", .sig = "TTT", .vector = true, .body = BOUND("max", "<")},
    {.name = "atmost", .to = "f32", .sig = "TTT", .vector = true, .body = BOUND("min", ">")},
    {.name = "flag", .to = "iu", .sig = "TM", .vector = true, .body = "    return ($T)(a & 1);\n"},
    {.name = "flag",
     .to = "f",
     .sig = "TM",
     .vector = true,
     .body = "    return __builtin_convertvector(a & 1, $T);\n"},
    /* -- Words of small integers -- */
    {.name = "word",
     .to = "iu",
     .sig = "Tw",
     .both = true,
     .body = "    $T r;\n    memcpy(&r, a, sizeof r);\n    return r;\n"},
    {.name = "doti8", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_I8_VECTORS},
    {.name = "dotu8i8", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_U8I8_VECTORS},
    {.name = "dotu8", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_U8_VECTORS},
    {.name = "doti16", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_I16_VECTORS},
    /* -- Functions of vectors, after Cephes (Moshier) and Eigen: within a few units of the last place. Without
       them each lane would be a call. -- */
    {.name = "exp", .to = "f32", .sig = "TT", .vector = true, .body = EXP("89.0f", "n")},
    {.name = "halfexp",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = EXP("91.0f", "(n - 1.0f)")}, /* exp(a) / 2 */
    {.name = "log",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = "    const $M tiny = a < 1.17549435e-38f;\n"
             "    const $M bits = ($M)gpuc_select_$S(tiny, a * 8388608.0f, a);\n"
             "    $T m = ($T)((bits & 0x007fffff) | 0x3f000000);\n"
             "    const $M low = m < 0.707106781f;\n"
             "    const $T e = __builtin_convertvector((bits >> 23) - 126 - (tiny & 23) + low, $T);\n"
             "    m = gpuc_select_$S(low, m + m, m) - 1.0f;\n"
             "    const $T z = m * m;\n"
             "    $T y = m * 7.0376836292e-2f - 1.1514610310e-1f;\n"
             "    y = y * m + 1.1676998740e-1f;\n"
             "    y = y * m - 1.2420140846e-1f;\n"
             "    y = y * m + 1.4249322787e-1f;\n"
             "    y = y * m - 1.6668057665e-1f;\n"
             "    y = y * m + 2.0000714765e-1f;\n"
             "    y = y * m - 2.4999993993e-1f;\n"
             "    y = y * m + 3.3333331174e-1f;\n"
             "    y = y * m * z - e * 2.12194440e-4f - z * 0.5f;\n"
             "    y = m + y + e * 0.693359375f;\n"
             "    y = gpuc_select_$S((a < 0.0f) | (a != a), ($T){0} + NAN, y);\n"
             "    y = gpuc_select_$S(a == INFINITY, a, y);\n"
             "    return gpuc_select_$S(a == 0.0f, ($T){0} - INFINITY, y);\n"},
    {.name = "expm1",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = "    const $T x = gpuc_atmost_$S(gpuc_atleast_$S(a, ($T){0} - 20.0f), ($T){0} + 88.8f);\n"
             "    const $T n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;\n"
             "    const $T r = (x - n * 0.693359375f) + n * 2.12194440e-4f;\n"
             "    $T p = r * 1.9875691500e-4f + 1.3981999507e-3f;\n"
             "    p = p * r + 8.3334519073e-3f;\n"
             "    p = p * r + 4.1665795894e-2f;\n"
             "    p = p * r + 1.6666665459e-1f;\n"
             "    p = p * r + 5.0000001201e-1f;\n"
             "    p = p * (r * r) + r;\n"
             "    const $T t = ($T)(($U)(__builtin_convertvector(n, $M) + 126) << 23);\n"
             "    p = p * t + (t - 0.5f);\n"
             "    return gpuc_select_$S((($M)a & 0x7fffffff) < 0x33000000, a, p + p);\n"},
    /* Adds what rounding 1 + a has lost. */
    {.name = "log1p",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = "    const $T w = a + 1.0f, lost = a - (w - 1.0f), r = gpuc_log_$S(w);\n"
             "    const $T y = gpuc_select_$S((a < 16777216.0f) & (a > -1.0f), r + lost / w, r);\n"
             "    return gpuc_select_$S(a == 0.0f, a, y);\n"},
    /* h / (h + 1), where h is expm1(2 |a|) / 2. */
    {.name = "tanh",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = "    const $T x = gpuc_atmost_$S(($T)(($M)a & INT32_MAX), ($T){0} + 10.0f);\n"
             "    const $T k = x * 2.88539008f + 12582912.0f, n = k - 12582912.0f;\n"
             "    const $T r = (x - n * 0.3466796875f) + n * 1.06097220e-4f;\n"
             "    $T p = r * 1.2720442560e-2f + 4.4742398422e-2f;\n"
             "    p = p * r + 1.3333523052e-1f;\n"
             "    p = p * r + 3.3332636715e-1f;\n"
             "    p = p * r + 6.6666661836e-1f;\n"
             "    p = p * r + 1.0000000240f;\n"
             "    p = p * (r * r) + r;\n"
             "    const $T t = ($T)((($U)k << 23) + 0x3f800000), h = p * t + (t * 0.5f - 0.5f);\n"
             "    return ($T)(($M)(h / (h + 1.0f)) | (($M)a & INT32_MIN));\n"},
    {.name = "erf",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body =
         "    const $T x = gpuc_atmost_$S(gpuc_atleast_$S(a, ($T){0} - 4.0f), ($T){0} + 4.0f), z = x * x;\n"
         "    $T p = z * -2.72614225801306e-10f + 2.77068142495902e-8f;\n"
         "    p = p * z - 2.10102402082508e-6f;\n"
         "    p = p * z - 5.69250639462346e-5f;\n"
         "    p = p * z - 7.34990630326855e-4f;\n"
         "    p = p * z - 2.95459980854025e-3f;\n"
         "    p = p * z - 1.60960333262415e-2f;\n"
         "    $T q = z * -1.45660718464996e-5f - 2.13374055278905e-4f;\n"
         "    q = q * z - 1.68282697438203e-3f;\n"
         "    q = q * z - 7.37332916720468e-3f;\n"
         "    q = q * z - 1.42647390514189e-2f;\n"
         "    return p / q * x;\n"},
    {.name = "anylane", /* whether a lane of a mask is set */
     .to = "i32",
     .sig = "ET",
     .vector = true,
     .body = "    int32_t x[$N], any = 0;\n"
             "    memcpy(x, &a, sizeof x);\n"
             "    for (int i = 0; i < $N; i++) any |= x[i];\n"
             "    return any;\n"},
    {.name = "sin",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = CIRCULAR("sinf", "n", "((n & 2) << 30) ^ (i & INT32_MIN)")},
    {.name = "cos",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = CIRCULAR("cosf", "(n + 1)", "((n + 1) & 2) << 30")},
    {.name = "tan", .to = "f32", .sig = "TT", .vector = true, .body = TANGENT},
    {.name = "asin",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = ARC_SINE "    r = gpuc_select_$S(far, 1.57079633f - (r + r), r);\n"
                      "    r = ($T)(($M)r | (($M)a & INT32_MIN));\n"
                      "    return gpuc_select_$S(x <= 1.0f, r, ($T){0} + NAN);\n"},
    {.name = "acos",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = ARC_SINE "    const $T twice = r + r;\n"
                      "    const $T outer = gpuc_select_$S(a < 0.0f, 3.14159265f - twice, twice);\n"
                      "    r = ($T)(($M)r | (($M)a & INT32_MIN));\n"
                      "    r = gpuc_select_$S(far, outer, 1.57079633f - r);\n"
                      "    return gpuc_select_$S(x <= 1.0f, r, ($T){0} + NAN);\n"},
    {.name = "atan",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body =
         "    const $T x = ($T)(($M)a & INT32_MAX);\n"
         "    const $M large = x > 2.41421356f, middle = x > 0.414213562f;\n"
         "    const $T over = gpuc_select_$S(large, ($T){0} - 1.0f, gpuc_select_$S(middle, x - 1.0f, x));\n"
         "    const $T under = gpuc_select_$S(large, x, gpuc_select_$S(middle, x + 1.0f, ($T){0} + 1.0f));\n"
         "    const $T base = ($T)((large & ($M)(($T){0} + 1.57079633f)) |\n"
         "                         (~large & middle & ($M)(($T){0} + 0.785398163f)));\n"
         "    const $T r = over / under, z = r * r;\n"
         "    $T p = z * 8.05374449538e-2f - 1.38776856032e-1f;\n"
         "    p = p * z + 1.99777106478e-1f;\n"
         "    p = p * z - 3.33329491539e-1f;\n"
         "    p = base + (p * z * r + r);\n"
         "    return ($T)(($M)p | (($M)a & INT32_MIN));\n"},
    {.name = "sinh", .to = "f32", .sig = "TT", .vector = true, .body = HYPERBOLIC_SINE},
    {.name = "cosh",
     .to = "f32",
     .sig = "TT",
     .vector = true,
     .body = "    const $T h = gpuc_halfexp_$S(($T)(($M)a & INT32_MAX));\n    return h + 0.25f / h;\n"},
    {.name = "asinh", .to = "f32", .sig = "TT", .vector = true, .body = AREA_SINE},
    {.name = "acosh", .to = "f32", .sig = "TT", .vector = true, .body = AREA_COSINE},
    {.name = "atanh", .to = "f32", .sig = "TT", .vector = true, .body = AREA_TANGENT},
    /* The quotient of float64 is exact enough to be off by one at most, and its products with b are exact. */
    {.name = "fmod",
     .to = "f32",
     .sig = "TTT",
     .vector = true,
     .body = "    float x[$N], y[$N];\n"
             "    int32_t any = 0;\n"
             "    memcpy(x, &a, sizeof x);\n"
             "    memcpy(y, &b, sizeof y);\n"
             "    for (int i = 0; i < $N; i++) {\n"
             "        const double p = __builtin_fabs((double)x[i]), q = __builtin_fabs((double)y[i]);\n"
             "        any |= !(p < q * 0x1p28 && q < INFINITY);\n"
             "    }\n"
             "    if (any) {\n"
             "        for (int i = 0; i < $N; i++) x[i] = fmodf(x[i], y[i]);\n"
             "    } else {\n"
             "        for (int i = 0; i < $N; i++) {\n"
             "            const double p = __builtin_fabs((double)x[i]), q = __builtin_fabs((double)y[i]);\n"
             "            double r = p - (double)(int32_t)(p / q) * q;\n"
             "            r = r < 0 ? r + q : r;\n"
             "            r = r >= q ? r - q : r;\n"
             "            x[i] = __builtin_copysignf((float)r, x[i]);\n"
             "        }\n"
             "    }\n"
             "    memcpy(&a, x, sizeof x);\n"
             "    return a;\n"},
    {.name = "exp",
     .to = "f64",
     .sig = "TT",
     .vector = true,
     .body = EXP_DOUBLE("a", "-746.0", "710.0") "    return r;\n"},
    {.name = "log", .to = "f64", .sig = "TT", .vector = true, .body = LOG_DOUBLE},
    {.name = "tanh", .to = "f64", .sig = "TT", .vector = true, .body = TANH_DOUBLE},
    /* -- Atomics, between the iterations of parallel loops -- */
    {.name = "atomicadd",
     .to = "iu",
     .sig = "TQT",
     .body = "    return __atomic_fetch_add(a, b, __ATOMIC_RELAXED);\n"},
    {.name = "atomicand",
     .to = "iu",
     .sig = "TQT",
     .body = "    return __atomic_fetch_and(a, b, __ATOMIC_RELAXED);\n"},
    {.name = "atomicor",
     .to = "iu",
     .sig = "TQT",
     .body = "    return __atomic_fetch_or(a, b, __ATOMIC_RELAXED);\n"},
    {.name = "atomicxor",
     .to = "iu",
     .sig = "TQT",
     .body = "    return __atomic_fetch_xor(a, b, __ATOMIC_RELAXED);\n"},
    {.name = "atomicxchg",
     .to = "iuf",
     .sig = "TQT",
     .body = "    $T old;\n    __atomic_exchange(a, &b, &old, __ATOMIC_RELAXED);\n    return old;\n"},
    {.name = "atomiccmpxchg",
     .to = "iuf",
     .sig = "TQTT",
     .body =
         "    __atomic_compare_exchange(a, &b, &c, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);\n    return b;\n"},
#define UPDATE(value)                                                                                        \
    "    $T old, next;\n    __atomic_load(a, &old, __ATOMIC_RELAXED);\n    do next = " value ";\n"           \
    "    while (!__atomic_compare_exchange(a, &old, &next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));\n"       \
    "    return old;\n"
    {.name = "atomicadd", .to = "f", .sig = "TQT", .body = UPDATE("old + b")},
    {.name = "atomicmin", .to = "iuf", .sig = "TQT", .body = UPDATE("gpuc_min_$S(old, b)")},
    {.name = "atomicmax", .to = "iuf", .sig = "TQT", .body = UPDATE("gpuc_max_$S(old, b)")},
#undef UPDATE
};

static void lanes(gpuc_buf *out, gpuc_dtype result, const char *name, int num_args)
{
    gpuc_buf_str(out, "    ");
    gpuc_c_type(out, result);
    gpuc_buf_printf(out, " r;\n    for (int i = 0; i < %d; i++) r[i] = %s(", result.lanes, name);
    for (int i = 0; i < num_args; i++) gpuc_buf_printf(out, "%s%c[i]", i ? ", " : "", 'a' + i);
    gpuc_buf_str(out, ");\n    return r;\n");
}

const gpuc_helper_lang gpuc_c_helpers = {
    .rows = rows,
    .num_rows = sizeof rows / sizeof *rows,
    .qualifier = "static inline ",
    .type = gpuc_c_type,
    .clike = &gpuc_c_lang,
    .lanes = lanes,
};
