/* SPDX-License-Identifier: Apache-2.0 */
/* Helper functions that C and OpenCL C share: what both leave undefined, or lack. */
#include "codegen/dot.h"
#include "codegen/helpers.h"

const gpuc_helper_row gpuc_codegen_helper_shared[] = {
    /* -- Integers: division by zero gives 0, MIN / -1 wraps -- */
    {.name = "div",
     .to = "i",
     .sig = "TTT",
     .body = "    if (b == 0) return 0;\n"
             "    if (b == -1) return ($T)(0 - ($U)a);\n"
             "    return ($T)(a / b);\n"},
    {.name = "div", .to = "u", .sig = "TTT", .body = "    return b == 0 ? 0 : ($T)(a / b);\n"},
    {.name = "mod", .to = "i", .sig = "TTT", .body = "    return b == 0 || b == -1 ? 0 : ($T)(a % b);\n"},
    {.name = "mod", .to = "u", .sig = "TTT", .body = "    return b == 0 ? 0 : ($T)(a % b);\n"},
    {.name = "floordiv",
     .to = "i",
     .sig = "TTT",
     .body = "    if (b == 0) return 0;\n"
             "    if (b == -1) return ($T)(0 - ($U)a);\n"
             "    return ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));\n"},
    {.name = "floormod",
     .to = "i",
     .sig = "TTT",
     .body = "    if (b == 0 || b == -1) return 0;\n"
             "    const $T r = ($T)(a % b);\n"
             "    return r != 0 && (r < 0) != (b < 0) ? ($T)(r + b) : r;\n"},
    {.name = "min", .to = "iu", .sig = "TTT", .body = "    return a < b ? a : b;\n"},
    {.name = "max", .to = "iu", .sig = "TTT", .body = "    return a > b ? a : b;\n"},
    {.name = "abs", .to = "i", .sig = "TT", .body = "    return a < 0 ? ($T)(0 - ($U)a) : a;\n"},
    {.name = "shl", .to = "i", .sig = "TTT", .body = "    return b < 0 || b >= $B ? 0 : ($T)(($W)a << b);\n"},
    {.name = "shl", .to = "u", .sig = "TTT", .body = "    return b >= $B ? 0 : ($T)(($W)a << b);\n"},
    {.name = "shr",
     .to = "i",
     .sig = "TTT",
     .body = "    return ($T)(a >> (b < 0 || b >= $B ? $B - 1 : b));\n"},
    {.name = "shr", .to = "u", .sig = "TTT", .body = "    return b >= $B ? 0 : ($T)(a >> b);\n"},
    /* -- Floats: NaN if an operand is; the second operand of atleast and atmost is a number -- */
    {.name = "min", .to = "f", .sig = "TTT", .body = "    return a < b || a != a ? a : b;\n"},
    {.name = "max", .to = "f", .sig = "TTT", .body = "    return a > b || a != a ? a : b;\n"},
    {.name = "atleast", .to = "f", .sig = "TTT", .body = "    return a < b ? b : a;\n"},
    {.name = "atmost", .to = "f", .sig = "TTT", .body = "    return a > b ? b : a;\n"},
    {.name = "min",
     .to = "f",
     .sig = "TTT",
     .vector = true,
     .body = "    return gpuc_select_$S((a < b) | (a != a), a, b);\n"},
    {.name = "max",
     .to = "f",
     .sig = "TTT",
     .vector = true,
     .body = "    return gpuc_select_$S((a > b) | (a != a), a, b);\n"},
    {.name = "atleast",
     .to = "f",
     .sig = "TTT",
     .vector = true,
     .body = "    return gpuc_select_$S(a < b, b, a);\n"},
    {.name = "atmost",
     .to = "f",
     .sig = "TTT",
     .vector = true,
     .body = "    return gpuc_select_$S(a > b, b, a);\n"},
    /* -- Words of small integers -- */
    {.name = "doti8", .to = "i32", .sig = "TTTT", .body = DOT_BYTES("i8", "i8")},
    {.name = "dotu8i8", .to = "i32", .sig = "TTTT", .body = DOT_BYTES("u8", "i8")},
    {.name = "dotu8", .to = "i32", .sig = "TTTT", .body = DOT_BYTES("u8", "u8")},
    {.name = "doti16",
     .to = "i32",
     .sig = "TTTT",
     .body = "    const $<u32> low = ($<u32>)(($<i16>)b * ($<i16>)c);\n"
             "    return ($T)(($<u32>)a + low + ($<u32>)((b >> 16) * (c >> 16)));\n"},
    {0},
};
