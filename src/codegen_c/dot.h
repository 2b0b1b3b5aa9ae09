/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of helper functions: dot products of small integers in vectors of words of 32 bits, a + b . c.
 *
 * x86 has one instruction for four products of bytes, one factor without sign and one with (VNNI),
 * and one for two products of 16 bits (SSE2 and later, which VNNI also sums). None of those used saturates.
 * What has no instruction is split into bytes of even and of odd numbers as 16 bits. */
#ifndef GPUC_CODEGEN_C_DOT_H
#define GPUC_CODEGEN_C_DOT_H

#define DOT_AT(lanes, isa, value) "#elif $N == " lanes " && " isa "\n    return ($T)" value ";\n"
#define DOT_AVX512 "defined(__AVX512VNNI__)"
#define DOT_AVX512VL "defined(__AVX512VNNI__) && defined(__AVX512VL__)"
/* The compilers name them differently. */
#define DOT_VNNI(name)                                                                                       \
    "#if 0\n" DOT_AT("16", DOT_AVX512 " && defined(__clang__)", "__builtin_ia32_" name "512(a, b, c)")       \
        DOT_AT("8", DOT_AVX512VL " && defined(__clang__)", "__builtin_ia32_" name "256(a, b, c)")            \
            DOT_AT("4", DOT_AVX512VL " && defined(__clang__)", "__builtin_ia32_" name "128(a, b, c)")        \
                DOT_AT("16", DOT_AVX512, "__builtin_ia32_" name "_v16si(a, b, c)")                           \
                    DOT_AT("8", DOT_AVX512VL, "__builtin_ia32_" name "_v8si(a, b, c)")                       \
                        DOT_AT("4", DOT_AVX512VL, "__builtin_ia32_" name "_v4si(a, b, c)")
#define DOT_TYPES                                                                                            \
    "    typedef short shorts __attribute__((vector_size(sizeof($T))));\n"                                   \
    "    const shorts x = (shorts)b, y = (shorts)c;\n"
#define DOT_HALVES(low_x, high_x, low_y, high_y)                                                             \
    DOT_TYPES "    a = gpuc_doti16_$S(a, ($T)(" low_x "), ($T)(" low_y "));\n"                               \
              "    return gpuc_doti16_$S(a, ($T)(" high_x "), ($T)(" high_y "));\n"

/* Without its sign bit a byte is 128 more; what that adds is the same for all that meet c. */
#define DOT_I8_VECTORS                                                                                       \
    "#if defined(__AVX512VNNI__) && ($N == 16 || ($N >= 4 && defined(__AVX512VL__)))\n"                      \
    "    const $T bias = gpuc_splat_$S(INT32_MIN | 0x00808080);\n"                                           \
    "    const $T more = gpuc_dotu8i8_$S(($T){0}, bias, c);\n"                                               \
    "    return ($T)(($U)gpuc_dotu8i8_$S(a, b ^ bias, c) - ($U)more);\n"                                     \
    "#else\n" DOT_HALVES("x << 8 >> 8", "x >> 8", "y << 8 >> 8", "y >> 8") "#endif\n"
#define DOT_U8I8_VECTORS                                                                                     \
    DOT_VNNI("vpdpbusd")                                                                                     \
    "#else\n" DOT_HALVES("x & 255", "(x >> 8) & 255", "y << 8 >> 8", "y >> 8") "#endif"                      \
                                                                               "\n"
#define DOT_U8_VECTORS DOT_HALVES("x & 255", "(x >> 8) & 255", "y & 255", "(y >> 8) & 255")
#define DOT_I16_VECTORS                                                                                      \
    DOT_VNNI("vpdpwssd")                                                                                     \
    "#elif ($N == 4 && defined(__SSE2__)) || ($N == 8 && defined(__AVX2__)) || "                             \
    "($N == 16 && defined(__AVX512BW__))\n" DOT_TYPES "    return ($T)(($U)a + ($U)"                         \
    "\n#if $N == 4\n        __builtin_ia32_pmaddwd128(x, y)"                                                 \
    "\n#elif $N == 8\n        __builtin_ia32_pmaddwd256(x, y)"                                               \
    "\n#elif defined(__clang__)\n        __builtin_ia32_pmaddwd512(x, y)"                                    \
    "\n#else\n        __builtin_ia32_pmaddwd512_mask(x, y, ($T){0}, -1)"                                     \
    "\n#endif\n    );\n"                                                                                     \
    "#else\n"                                                                                                \
    "    const $T low = (b << 16 >> 16) * (c << 16 >> 16);\n"                                                \
    "    return ($T)(($U)a + ($U)low + ($U)((b >> 16) * (c >> 16)));\n"                                      \
    "#endif\n"

#endif
