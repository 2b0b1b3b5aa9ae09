/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of helper functions: dot products of small integers in words of 32 bits, a + b . c.
 *
 * A device with the extension has those of bytes. Where clang compiles for x86 (pocl), its builtins give the
 * sum of two products of 16 bits in one instruction, or four of bytes; none of those used saturates. */
#ifndef GPUC_CODEGEN_OPENCL_DOT_H
#define GPUC_CODEGEN_OPENCL_DOT_H

#include "codegen/dot.h"

/* ---- Scalars ---- */
#define DOT_PACKED(tb, tc, name)                                                                             \
    "#if defined(cl_khr_integer_dot_product)\n"                                                              \
    "    return a + (int)dot_4x8packed_" name ";\n"                                                          \
    "#else\n" DOT_BYTES(tb, tc) "#endif\n"

/* ---- Vectors ---- */
#define DOT_X86                                                                                              \
    "defined(__clang__) && (($N == 16 && defined(__AVX512BW__)) || ($N == 8 && defined(__AVX2__)) || "       \
    "($N == 4 && defined(__SSE2__)))"
#define DOT_TYPES "    typedef short shorts __attribute__((ext_vector_type(2 * $N)));\n"
#define DOT_AS(name, x) "    const shorts " name " = __builtin_astype(" x ", shorts);\n"
/* sum: what the instruction itself does not add */
#define DOT_AT(lanes, name, args, sum)                                                                       \
    "\n#elif $N == " lanes "\n    return " sum "__builtin_astype(__builtin_ia32_" name "(" args "), $T);"
#define DOT_VNNI(name)                                                                                       \
    "#elif defined(__clang__) && defined(__AVX512VNNI__) && ($N == 16 || ($N >= 4 && "                       \
    "defined(__AVX512VL__)))\n"                                                                              \
    "#if 0" DOT_AT("16", name "512", "a, b, c", "") DOT_AT("8", name "256", "a, b, c", "")                   \
        DOT_AT("4", name "128", "a, b, c", "") "\n#endif\n"
/* The extension's are of scalars. */
#define DOT_LANES(row)                                                                                       \
    "#if defined(cl_khr_integer_dot_product) && $N < 10\n"                                                   \
    "    return ($T)($(gpuc_" row "_$e(a.s#, b.s#, c.s#)$));\n"
#define DOT_HALVES(row, vnni, low_b, high_b, low_c, high_c)                                                  \
    DOT_LANES(row)                                                                                           \
    vnni "#elif " DOT_X86 "\n" DOT_TYPES DOT_AS("x", "b")                                                    \
        DOT_AS("y", "c") "    a = gpuc_doti16_$S(a, __builtin_astype(" low_b                                 \
                         ", $T), __builtin_astype(" low_c ", $T));\n"                                        \
                         "    return gpuc_doti16_$S(a, __builtin_astype(" high_b                             \
                         ", $T), __builtin_astype(" high_c ", $T));\n"
#define DOT_SIGNED(x, k) "(" x " << " k " >> 24)"
#define DOT_UNSIGNED(x, k) "((" x " << " k " >> 24) & 255)"
#define DOT_PLAIN(B, C)                                                                                      \
    "#else\n"                                                                                                \
    "    a += " B("b", "24") " * " C("c", "24") " + " B("b", "16") " * " C(                                  \
        "c", "16") ";\n"                                                                                     \
                   "    return a + " B("b", "8") " * " C("c", "8") " + " B("b", "0") " * " C("c",            \
                                                                                             "0") ";\n"      \
                                                                                                  "#endif\n"

#define DOT_I8_VECTORS                                                                                       \
    DOT_HALVES("doti8", "", "x << (short)8 >> (short)8", "x >> (short)8", "y << (short)8 >> (short)8",       \
               "y >> (short)8")                                                                              \
    DOT_PLAIN(DOT_SIGNED, DOT_SIGNED)
#define DOT_U8I8_VECTORS                                                                                     \
    DOT_HALVES("dotu8i8", DOT_VNNI("vpdpbusd"), "x & (short)255", "(x >> (short)8) & (short)255",            \
               "y << (short)8 >> (short)8", "y >> (short)8")                                                 \
    DOT_PLAIN(DOT_UNSIGNED, DOT_SIGNED)
#define DOT_U8_VECTORS                                                                                       \
    DOT_HALVES("dotu8", "", "x & (short)255", "(x >> (short)8) & (short)255", "y & (short)255",              \
               "(y >> (short)8) & (short)255")                                                               \
    DOT_PLAIN(DOT_UNSIGNED, DOT_UNSIGNED)
#define DOT_I16_VECTORS                                                                                      \
    "#if 0\n" DOT_VNNI("vpdpwssd") "#elif " DOT_X86 "\n" DOT_TYPES DOT_AS("x", "b")                          \
        DOT_AS("y", "c") "#if 0" DOT_AT("16", "pmaddwd512", "x, y", "a + ")                                  \
            DOT_AT("8", "pmaddwd256", "x, y", "a + ")                                                        \
                DOT_AT("4", "pmaddwd128", "x, y",                                                            \
                       "a + ") "\n#endif\n"                                                                  \
                               "#else\n"                                                                     \
                               "    return a + (b << 16 >> 16) * (c << 16 >> 16) + (b >> 16) * (c >> 16);\n" \
                               "#endif\n"

#endif
