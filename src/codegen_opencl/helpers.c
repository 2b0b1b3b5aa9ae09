/* SPDX-License-Identifier: Apache-2.0 */
/* Helper functions of generated OpenCL C. */
#include "codegen_opencl/dot.h"
#include "codegen_opencl/private.h"

static const gpuc_helper_row rows[] = {
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
    {.name = "abs", .to = "i", .sig = "TT", .vector = true, .body = "    return as_$T(abs(a));\n"},
    {.name = "shl", .to = "i", .sig = "TTT", .body = "    return b < 0 || b >= $B ? 0 : ($T)(($W)a << b);\n"},
    {.name = "shl", .to = "u", .sig = "TTT", .body = "    return b >= $B ? 0 : ($T)(($W)a << b);\n"},
    {.name = "shr",
     .to = "i",
     .sig = "TTT",
     .body = "    return ($T)(a >> (b < 0 || b >= $B ? $B - 1 : b));\n"},
    {.name = "shr", .to = "u", .sig = "TTT", .body = "    return b >= $B ? 0 : ($T)(a >> b);\n"},
    {.name = "shl",
     .to = "u",
     .sig = "TTT",
     .vector = true,
     .body = "    return b >= ($E)$B ? ($T)(0) : a << b;\n"},
    {.name = "shr",
     .to = "u",
     .sig = "TTT",
     .vector = true,
     .body = "    return b >= ($E)$B ? ($T)(0) : a >> b;\n"},
    /* -- Floats: NaN if an operand is; the second operand of atleast and atmost is a number -- */
    {.name = "min", .to = "f", .sig = "TTT", .body = "    return a < b || a != a ? a : b;\n"},
    {.name = "max", .to = "f", .sig = "TTT", .body = "    return a > b || a != a ? a : b;\n"},
    {.name = "min", .to = "f", .sig = "TTT", .vector = true, .body = "    return a < b | a != a ? a : b;\n"},
    {.name = "max", .to = "f", .sig = "TTT", .vector = true, .body = "    return a > b | a != a ? a : b;\n"},
    {.name = "atleast", .to = "f", .sig = "TTT", .body = "    return a < b ? b : a;\n"},
    {.name = "atmost", .to = "f", .sig = "TTT", .body = "    return a > b ? b : a;\n"},
    {.name = "atleast", .to = "f", .sig = "TTT", .vector = true, .body = "    return a < b ? b : a;\n"},
    {.name = "atmost", .to = "f", .sig = "TTT", .vector = true, .body = "    return a > b ? b : a;\n"},
    /* Rounded by itself: only what stands in one expression is contracted. */
    {.name = "exact", .to = "f", .sig = "TT", .body = "    return a;\n"},
    {.name = "exact", .to = "f", .sig = "TT", .vector = true, .body = "    return a;\n"},
/* PoCL's are wrong for the other lanes where one is huge. */
#define CIRCULAR(fn)                                                                                         \
    {                                                                                                        \
        .name = fn, .to = "f", .sig = "TT", .vector = true,                                                  \
        .body = "    if (all(fabs(a) < ($E)64)) return " fn "(a);\n    $T r;\n"                              \
                "    for (int i = 0; i < $N; i++)\n"                                                         \
                "        ((__private $E *)&r)[i] = " fn "(((const __private $E *)&a)[i]);\n"                 \
                "    return r;\n"                                                                            \
    }
    CIRCULAR("sin"),
    CIRCULAR("cos"),
    CIRCULAR("tan"),
#undef CIRCULAR
    /* -- Types that are not held as they are -- */
    {.name = "cvt",
     .to = "f32",
     .from = "bf16",
     .sig = "TF",
     .body = "    return as_float((uint)a << 16);\n"},
    {.name = "cvt",
     .to = "bf16",
     .from = "f32",
     .sig = "TF",
     .body = "    const uint x = as_uint(a);\n"
             "    return a != a ? 0x7fc0 : (ushort)((x + 0x7fff + (x >> 16 & 1)) >> 16);\n"},
    {.name = "roundhalf",
     .to = "f32",
     .from = "f",
     .sig = "TF",
     .body = "    ushort bits;\n"
             "    vstore_half_rte(a, 0, (__private half *)&bits);\n"
             "    return vload_half(0, (__private const half *)&bits);\n"},
    {.name = "bitsof",
     .to = "iu",
     .from = "f32",
     .sig = "TF",
     .body = "    ushort bits;\n"
             "    vstore_half_rte(a, 0, (__private half *)&bits);\n"
             "    return ($T)bits;\n"},
    {.name = "ofbits",
     .to = "f32",
     .from = "iu",
     .sig = "TF",
     .body = "    const ushort bits = (ushort)a;\n"
             "    return vload_half(0, (__private const half *)&bits);\n"},
    /* PoCL 3.1's functions take a vector of halves to be aligned as a whole. */
    {.name = "loadhalf",
     .to = "f32",
     .sig = "TH",
     .vector = true,
     .body = "    const ushort$N bits = vload$N(0, (const __global ushort *)a);\n"
             "    return vload_half$N(0, (__private const half *)&bits);\n"},
    {.name = "storehalf",
     .to = "f",
     .sig = "vhT",
     .vector = true,
     .body = "    ushort$N bits;\n"
             "    vstore_half$N_rte(b, 0, (__private half *)&bits);\n"
             "    vstore$N(bits, 0, (__global ushort *)a);\n"},
    /* -- Words of small integers -- */
    {.name = "doti8",
     .to = "i32",
     .sig = "TTTT",
     .body = DOT_BYTES("char", "char", "ss_int((uint)b, (uint)c)")},
    {.name = "dotu8i8",
     .to = "i32",
     .sig = "TTTT",
     .body = DOT_BYTES("uchar", "char", "us_int((uint)b, (uint)c)")},
    {.name = "dotu8",
     .to = "i32",
     .sig = "TTTT",
     .body = DOT_BYTES("uchar", "uchar", "uu_uint((uint)b, (uint)c)")},
    {.name = "doti16", .to = "i32", .sig = "TTTT", .body = DOT_SHORTS},
    {.name = "doti8", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_I8_VECTORS},
    {.name = "dotu8i8", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_U8I8_VECTORS},
    {.name = "dotu8", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_U8_VECTORS},
    {.name = "doti16", .to = "i32", .sig = "TTTT", .vector = true, .body = DOT_I16_VECTORS},
    /* -- Past the caches. Others see what a work-item stored after the kernel only, by whatever means. -- */
    {.name = "stream",
     .to = "iuf",
     .sig = "vGT",
     .vector = true,
     .body = "#if defined(__has_builtin)\n"
             "#if __has_builtin(__builtin_nontemporal_store)\n"
             "    if ((size_t)a % sizeof(b) == 0) {\n"
             "        __builtin_nontemporal_store(b, (__global $T *)a);\n"
             "        return;\n"
             "    }\n"
             "#endif\n"
             "#endif\n"
             "    vstore$N(b, 0, (__global $E *)a);\n"},
/* -- Atomics of floats, by exchange of their bits -- */
#define UPDATE(space, value)                                                                                 \
    "    volatile __" space " int *bits = (volatile __" space " int *)a;\n"                                  \
    "    int old = atomic_or(bits, 0), was;\n    do {\n        was = old;\n"                                 \
    "        old = atomic_cmpxchg(bits, was, as_int(" value "));\n    } while (old != was);\n"               \
    "    return as_float(old);\n"
#define ATOMICS(space, letter)                                                                               \
    {.name = space "add", .to = "f32", .sig = "T" letter "T", .body = UPDATE(space, "as_float(was) + b")},   \
        {.name = space "min",                                                                                \
         .to = "f32",                                                                                        \
         .sig = "T" letter "T",                                                                              \
         .body = UPDATE(space, "gpuc_min_f32(as_float(was), b)")},                                           \
        {.name = space "max",                                                                                \
         .to = "f32",                                                                                        \
         .sig = "T" letter "T",                                                                              \
         .body = UPDATE(space, "gpuc_max_f32(as_float(was), b)")},                                           \
    {                                                                                                        \
        .name = space "cmpxchg", .to = "f32", .sig = "T" letter "TT",                                        \
        .body =                                                                                              \
            "    return as_float(atomic_cmpxchg((volatile __" space " int *)a, as_int(b), as_int(c)));\n"    \
    }
    ATOMICS("global", "G"),
    ATOMICS("local", "L"),
#undef ATOMICS
#undef UPDATE
};

static const char *function(const char *row, gpuc_dtype t)
{
    gpuc_tir_op op = gpuc_clike_row_op(row);
    return op == GPUC_TIR_OP_COUNT ? NULL : gpuc_opencl_lang.math(NULL, op, gpuc_dtype_with_lanes(t, 1));
}

static void lanes(gpuc_buf *out, gpuc_dtype result, const char *name, int num_args)
{
    gpuc_buf_str(out, "    return (");
    gpuc_opencl_type(out, result);
    gpuc_buf_str(out, ")(");
    for (int lane = 0; lane < result.lanes; lane++) {
        gpuc_buf_printf(out, "%s%s(", lane ? ", " : "", name);
        for (int i = 0; i < num_args; i++)
            gpuc_buf_printf(out, "%s%c.s%x", i ? ", " : "", 'a' + i, (unsigned)lane);
        gpuc_buf_str(out, ")");
    }
    gpuc_buf_str(out, ");\n");
}

static const char *limit(gpuc_dtype t, bool max)
{
    static const char *const names[4][3] = {
        {"CHAR_MIN", "CHAR_MAX", "UCHAR_MAX"},
        {"SHRT_MIN", "SHRT_MAX", "USHRT_MAX"},
        {"INT_MIN", "INT_MAX", "UINT_MAX"},
        {"LONG_MIN", "LONG_MAX", "ULONG_MAX"},
    };
    int size = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
    if (t.code == GPUC_DTYPE_UINT) return max ? names[size][2] : "0";
    return names[size][max];
}

const gpuc_helper_lang gpuc_opencl_helpers = {
    .rows = rows,
    .num_rows = sizeof rows / sizeof *rows,
    .qualifier = "",
    .type = gpuc_opencl_type,
    .function = function,
    .lanes = lanes,
    .limit = limit,
};
