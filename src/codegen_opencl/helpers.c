/* SPDX-License-Identifier: Apache-2.0 */
/* Helper functions of generated OpenCL C, besides those that it shares with C (codegen/helper_rows.c). */
#include "codegen_opencl/dot.h"
#include "codegen_opencl/private.h"

static const gpuc_helper_row rows[] = {
    /* -- Vectors for which the language has what the scalars lack -- */
    {.name = "abs", .to = "i", .sig = "TT", .vector = true, .body = "    return as_$T(abs(a));\n"},
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
    /* Rounded by itself: only what stands in one expression is contracted. */
    {.name = "exact", .to = "f", .sig = "TT", .both = true, .body = "    return a;\n"},
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
    /* PoCL's is wrong for other lanes where one is subnormal or no number. */
    {.name = "pow",
     .to = "f",
     .sig = "TTT",
     .vector = true,
     .body = "    if (all((isnormal(a) | (a == ($E)0)) & isfinite(b))) return pow(a, b);\n    $T r;\n"
             "    for (int i = 0; i < $N; i++)\n"
             "        ((__private $E *)&r)[i] =\n"
             "            pow(((const __private $E *)&a)[i], ((const __private $E *)&b)[i]);\n"
             "    return r;\n"},
    /* PoCL's divides in steps, lane by lane. The quotient of float64 is off by one at most, and its products with b are
     * exact. */
    {.name = "fmod",
     .to = "f32",
     .sig = "TTT",
     .vector = true,
     .body = "#ifdef cl_khr_fp64\n"
             "    const double$N p = fabs(convert_double$N(a)), q = fabs(convert_double$N(b));\n"
             "    if (all(p < q * 0x1p28 & q < (double$N)INFINITY)) {\n"
             "        double$N r = p - convert_double$N(convert_int$N(p / q)) * q;\n"
             "        r = r < 0.0 ? r + q : r;\n"
             "        r = r >= q ? r - q : r;\n"
             "        return copysign(convert_float$N(r), a);\n"
             "    }\n"
             "#endif\n"
             "    return fmod(a, b);\n"},
    {.name = "select", .to = "iuf", .sig = "TMTT", .vector = true, .body = "    return a ? b : c;\n"},
    /* -- Types that are not held as they are -- */
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
    {.name = "doti8", .to = "i32", .sig = "TTTT", .body = DOT_PACKED("i8", "i8", "ss_int((uint)b, (uint)c)")},
    {.name = "dotu8i8",
     .to = "i32",
     .sig = "TTTT",
     .body = DOT_PACKED("u8", "i8", "us_int((uint)b, (uint)c)")},
    {.name = "dotu8",
     .to = "i32",
     .sig = "TTTT",
     .body = DOT_PACKED("u8", "u8", "uu_uint((uint)b, (uint)c)")},
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

const gpuc_helper_lang gpuc_opencl_helpers = {
    .rows = rows,
    .num_rows = sizeof rows / sizeof *rows,
    .qualifier = "",
    .type = gpuc_opencl_type,
    .clike = &gpuc_opencl_lang,
    .lanes = lanes,
};
