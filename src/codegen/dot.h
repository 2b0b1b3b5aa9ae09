/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a helper function: a + b . c, of words that hold four bytes of these types. */
#ifndef GPUC_CODEGEN_DOT_H
#define GPUC_CODEGEN_DOT_H

#define DOT_BYTES(tb, tc)                                                                                    \
    "    $<u32> sum = ($<u32>)a;\n"                                                                          \
    "    for (int i = 0; i < 32; i += 8) sum += ($<u32>)(($<" tb ">)(b >> i) * ($<" tc ">)(c >> i));\n"      \
    "    return ($T)sum;\n"

#endif
