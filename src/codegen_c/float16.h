/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of helper functions: float16, held as its bits, in vectors, from and to float32. x86 converts 4, 8 or 16
 * at a time (F16C, AVX-512); without an instruction the bits are moved, as those of scalars are. */
#ifndef GPUC_CODEGEN_C_FLOAT16_H
#define GPUC_CODEGEN_C_FLOAT16_H

#define HALF_AT_16 "$N == 16 && defined(__AVX512F__)\n"
#define HALF_AT_8 "$N == 8 && defined(__F16C__)\n"
#define HALF_AT_4 "$N == 4 && defined(__F16C__)\n"
#define HALF_TYPES                                                                                           \
    "    typedef short shorts __attribute__((vector_size(2 * ($N < 8 ? 8 : $N))));\n"                        \
    "    typedef uint32_t words __attribute__((vector_size(4 * $N)));\n"

/* Numbers below 2^-14 have no hidden bit: the product, which is exact, gives them one. */
#define FROM_HALF                                                                                            \
    HALF_TYPES "#if " HALF_AT_16                                                                             \
               "    return ($T)__builtin_ia32_vcvtph2ps512_mask((shorts)a, ($T){0}, -1, 4);\n"               \
               "#elif " HALF_AT_8 "    return ($T)__builtin_ia32_vcvtph2ps256((shorts)a);\n"                 \
               "#elif " HALF_AT_4 "    return ($T)__builtin_ia32_vcvtph2ps(\n"                               \
               "        (shorts){(short)a[0], (short)a[1], (short)a[2], (short)a[3]});\n"                    \
               "#else\n"                                                                                     \
               "    const words all = __builtin_convertvector(a, words), x = (all & 0x7fff) << 13;\n"        \
               "    const words special = (words)(x >= 0x0f800000), f = (words)(($T)x * 0x1p112f);\n"        \
               "    return ($T)((all & 0x8000) << 16 | (special & (x | 0x7f800000)) | (~special & f));\n"    \
               "#endif\n"
#define TO_HALF                                                                                              \
    HALF_TYPES "#if " HALF_AT_16 "    return ($T)__builtin_ia32_vcvtps2ph512_mask(a, 0, (shorts){0}, -1);\n" \
               "#elif " HALF_AT_8 "    return ($T)__builtin_ia32_vcvtps2ph256(a, 0);\n"                      \
               "#elif " HALF_AT_4 "    const shorts all = (shorts)__builtin_ia32_vcvtps2ph(a, 0);\n"         \
               "    $T r;\n"                                                                                 \
               "    memcpy(&r, &all, sizeof r);\n"                                                           \
               "    return r;\n"                                                                             \
               "#else\n"                                                                                     \
               "    const words bits = (words)a, x = bits & 0x7fffffff;\n"                                   \
               "    const words nan = (words)(x > 0x7f800000), far = (words)(x >= 0x47800000);\n"            \
               "    const words tiny = (words)(x < 0x38800000);\n"                                           \
               "    const words sum = (words)(($F)x + 0.5f) - 0x3f000000; /* subnormal */\n"                 \
               "    const words normal = (x + 0xc8000fff + (x >> 13 & 1)) >> 13;\n"                          \
               "    const words small = (tiny & sum) | (~tiny & normal);\n"                                  \
               "    const words large = (nan & 0x7e00) | (~nan & 0x7c00);\n"                                 \
               "    const words r = (far & large) | (~far & small) | (bits >> 16 & 0x8000);\n"               \
               "    return __builtin_convertvector(r, $T);\n"                                                \
               "#endif\n"

/* Scalars: begins a body that goes on with bits. */
#define FROM_HALF_INSTRUCTION                                                                                \
    "#if defined(__F16C__)\n"                                                                                \
    "    typedef short shorts __attribute__((vector_size(16)));\n"                                           \
    "    return __builtin_ia32_vcvtph2ps((shorts){(short)a})[0];\n"                                          \
    "#endif\n"
#define TO_HALF_INSTRUCTION                                                                                  \
    "#if defined(__F16C__)\n"                                                                                \
    "    typedef float floats __attribute__((vector_size(16)));\n"                                           \
    "    return (uint16_t)__builtin_ia32_vcvtps2ph((floats){a}, 0)[0];\n"                                    \
    "#endif\n"

#endif
