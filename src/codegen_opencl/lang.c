/* SPDX-License-Identifier: Apache-2.0 */
/* How OpenCL C 1.2 spells things. Without cl_khr_fp16 float16 lives in memory only: values are held as
 * float32, and go through vload_half and vstore_half. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen_opencl/private.h"

static const char *const reserved[] = {
    "half",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "kernel",
    "global",
    "local",
    "constant",
    "private",
    "read_only",
    "write_only",
    "read_write",
    "image1d_t",
    "image2d_t",
    "image3d_t",
    "sampler_t",
    "event_t",
    "quad",
    "complex",
    "imaginary",
    "pipe",
    "uniform",
    "all",
    "any",
    "barrier",
    "bitselect",
    "clamp",
    "clz",
    "cross",
    "degrees",
    "distance",
    "dot",
    "erfc",
    "fract",
    "hadd",
    "isfinite",
    "isnormal",
    "length",
    "mad",
    "mem_fence",
    "mix",
    "mul24",
    "mul_hi",
    "nan",
    "normalize",
    "popcount",
    "powr",
    "prefetch",
    "printf",
    "radians",
    "rotate",
    "rsqrt",
    "select",
    "shuffle",
    "sign",
    "smoothstep",
    "step",
    "sub_sat",
    "tgamma",
    "upsample",
    "vec_step",
    "CLK_LOCAL_MEM_FENCE",
    "CLK_GLOBAL_MEM_FENCE",
    "M_PI",
    "get_*",
    "convert_*",
    "as_*",
    "vload*",
    "vstore*",
    "atomic_*",
    "atom_*",
    "sub_group_*",
    "async_*",
    "native_*",
    "half_*",
    "read_image*",
    "write_image*",
    NULL,
};

static bool is_half(gpuc_dtype t)
{
    return gpuc_is_float(t) && t.bits == 16;
}

gpuc_dtype gpuc_opencl_held(const gpuc_clike *p, gpuc_dtype t)
{
    if (is_half(t) && !p->target->float16) t.bits = 32;
    return t;
}

void gpuc_opencl_type(gpuc_buf *out, gpuc_dtype t)
{
    static const char *const ints[2][4] = {{"char", "short", "int", "long"},
                                           {"uchar", "ushort", "uint", "ulong"}};
    static const char *const floats[4] = {"half", "half", "float", "double"};
    int size = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
    if (gpuc_is_bool(t))
        gpuc_buf_str(out, "bool");
    else if (t.code == GPUC_DTYPE_FLOAT)
        gpuc_buf_str(out, floats[size]);
    else
        gpuc_buf_str(out, ints[t.code != GPUC_DTYPE_INT][size]);
    if (t.lanes > 1) gpuc_buf_printf(out, "%d", t.lanes);
}

static void print_type(gpuc_clike *p, gpuc_dtype t)
{
    gpuc_opencl_type(&p->out, gpuc_opencl_held(p, t));
}

void gpuc_opencl_element(gpuc_clike *p, gpuc_dtype t)
{
    gpuc_opencl_type(&p->out, gpuc_is_bool(t) ? GPUC_UINT8 : gpuc_opencl_held(p, t));
}

/* Prints the type of elements in memory: float16 is half there, whatever registers hold. */
void gpuc_opencl_memory_type(gpuc_clike *p, gpuc_dtype t)
{
    if (t.code == GPUC_DTYPE_FLOAT && t.bits == 16)
        gpuc_put(p, "half");
    else
        gpuc_opencl_element(p, t);
}

/* Of vectors (helpers.c). */
static bool by_helper(const gpuc_clike *p, gpuc_tir_op op, gpuc_dtype t)
{
    bool mixes = op == GPUC_TIR_SIN || op == GPUC_TIR_COS || op == GPUC_TIR_TAN || op == GPUC_TIR_POW;
    return mixes || (op == GPUC_TIR_MOD && t.bits == 32 && gpuc_target_is_cpu(p->target));
}

static const char *math(const gpuc_clike *p, gpuc_tir_op op, gpuc_dtype t)
{
    bool is_float = gpuc_is_float(t);
    if (is_float && t.lanes > 1 && by_helper(p, op, t)) return NULL;
    if (!is_float && t.bits < 32 && t.lanes == 1) return NULL; /* promoted to int: an ambiguous overload */
    const char *name = is_float ? gpuc_clike_ops[op].function : gpuc_clike_ops[op].int_function;
    return *name ? name : NULL;
}

static void int64_constant(gpuc_clike *p, int64_t v, bool is_unsigned)
{
    if (is_unsigned)
        gpuc_put(p, "%" PRIu64 "ul", (uint64_t)v);
    else if (v == INT64_MIN)
        gpuc_put(p, "(-9223372036854775807l - 1)");
    else
        gpuc_put(p, "%" PRId64 "l", v);
}

/* ---- Casts ---------------------------------------------------------------------------------------- */

static void convert(gpuc_clike *p, gpuc_dtype to, const char *how, gpuc_expr a)
{
    gpuc_put(p, "convert_");
    gpuc_opencl_type(&p->out, to);
    gpuc_put(p, "%s(", how);
    if (*how && to.code == GPUC_DTYPE_UINT && to.bits == 64) {
        /* NVIDIA's driver (580.159) makes 2^63 of NaN: fmax takes the number. */
        gpuc_put(p, "fmax(");
        gpuc_clike_expr(p, a, GPUC_PREC_ASSIGN);
        int bits = gpuc_opencl_held(p, a->dtype).bits;
        gpuc_put(p, bits == 64 ? ", 0.0)" : bits == 16 ? ", (half)0)" : ", 0.0f)");
    } else if (gpuc_is_bool(a->dtype) && a->dtype.lanes > 1) {
        gpuc_put(p, "-"); /* of a mask: -1 is true */
        gpuc_clike_mask(p, a, gpuc_clike_mask_bits(p, a), GPUC_PREC_UNARY);
    } else {
        gpuc_clike_expr(p, a, GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ")");
}

static void compare_to_zero(gpuc_clike *p, gpuc_expr a, int prec)
{
    gpuc_dtype t = gpuc_opencl_held(p, a->dtype);
    gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    gpuc_clike_expr(p, a, GPUC_PREC_EQ);
    if (t.lanes > 1) {
        gpuc_put(p, " != (");
        gpuc_opencl_type(&p->out, t);
        gpuc_put(p, ")(0)");
    } else {
        gpuc_put(p, " != 0");
    }
    gpuc_clike_close(p, prec, GPUC_PREC_EQ);
}

/* Helpers see float16 without cl_khr_fp16 as what holds it. */
static void call1(gpuc_clike *p, const char *row, gpuc_dtype to, gpuc_dtype from, gpuc_expr a)
{
    gpuc_clike_helper2(p, row, gpuc_opencl_held(p, to), gpuc_opencl_held(p, from));
    gpuc_clike_args(p, 1, &a);
}

/* Prints a cast. An expression for it cannot be built, since builders fold casts of casts. */
static void cast_to(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec)
{
    gpuc_dtype from = a->dtype;
    if (is_half(to) && !p->target->float16) {
        bool exact = gpuc_is_bool(from) || (gpuc_is_integer(from) && from.bits <= 8);
        if (!gpuc_is_float(from) || from.bits < 32) a = gpuc_cast(p->ctx, GPUC_FLOAT32, a);
        if (exact)
            gpuc_clike_expr(p, a, prec);
        else
            call1(p, "roundhalf", to, a->dtype, a);
    } else if (gpuc_is_bool(to)) {
        compare_to_zero(p, a, prec);
    } else if (gpuc_is_float(from) && gpuc_is_integer(to)) {
        convert(p, to, gpuc_clike_fits(p, to, a) ? "" : "_sat", a);
    } else if (to.lanes > 1) {
        convert(p, gpuc_opencl_held(p, to), "", a);
    } else {
        gpuc_clike_cast(p, to, a, prec, gpuc_clike_expr);
    }
}

void gpuc_opencl_cast(gpuc_clike *p, gpuc_expr e, int prec)
{
    cast_to(p, e->dtype, gpuc_as_cast(e)->a, prec);
}

static void bitcast(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec,
                    void (*print)(gpuc_clike *, gpuc_expr, int))
{
    (void)prec;
    gpuc_put(p, "as_");
    print_type(p, to);
    gpuc_put(p, "(");
    print(p, a, GPUC_PREC_ASSIGN);
    gpuc_put(p, ")");
}

/* ---- Vectors -------------------------------------------------------------------------------------- */

static bool splats(const gpuc_clike *p, gpuc_dtype t)
{
    (void)p;
    return gpuc_is_float(t);
}

static void open_vector(gpuc_clike *p, gpuc_dtype t)
{
    gpuc_put(p, "(");
    print_type(p, t);
    gpuc_put(p, ")(");
}

static void broadcast(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
    open_vector(p, e->dtype);
    gpuc_clike_expr(p, gpuc_as_broadcast(e)->a, GPUC_PREC_ASSIGN);
    gpuc_put(p, ")");
    gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
}

static void ramp(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_ramp_node *n = gpuc_as_ramp(e);
    gpuc_clike_open(p, prec, GPUC_PREC_ADD);
    open_vector(p, e->dtype);
    gpuc_clike_expr(p, n->start, GPUC_PREC_ASSIGN);
    gpuc_put(p, ") + ");
    open_vector(p, e->dtype);
    for (int i = 0; i < e->dtype.lanes; i++) gpuc_put(p, "%s%d", i ? ", " : "", i);
    gpuc_put(p, ")");
    if (!gpuc_tir_is_const(n->stride, 1)) {
        gpuc_put(p, " * ");
        open_vector(p, e->dtype);
        gpuc_clike_expr(p, n->stride, GPUC_PREC_ASSIGN);
        gpuc_put(p, ")");
    }
    gpuc_clike_close(p, prec, GPUC_PREC_ADD);
}

static void vector(gpuc_clike *p, gpuc_dtype t, const gpuc_expr *lanes)
{
    gpuc_put(p, "(");
    gpuc_opencl_type(&p->out, t);
    gpuc_put(p, ")");
    gpuc_clike_args(p, t.lanes, lanes);
}

static void lane(gpuc_clike *p, int number)
{
    gpuc_put(p, ".s%x", (unsigned)number);
}

static void part(gpuc_clike *p, int first, int lanes)
{
    gpuc_put(p, ".s");
    for (int i = first; i < first + lanes; i++) gpuc_put(p, "%x", (unsigned)i);
}

static gpuc_dtype mask_type(int bits, int lanes)
{
    return (gpuc_dtype){.code = GPUC_DTYPE_INT, .bits = (uint8_t)bits, .lanes = (uint16_t)lanes};
}

static void widen_mask(gpuc_clike *p, gpuc_expr mask, int bits, int prec)
{
    (void)prec;
    gpuc_put(p, "convert_");
    gpuc_opencl_type(&p->out, mask_type(bits, mask->dtype.lanes));
    gpuc_put(p, "(");
    gpuc_clike_mask(p, mask, gpuc_clike_mask_bits(p, mask), GPUC_PREC_ASSIGN);
    gpuc_put(p, ")");
}

static void select_lanes(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    bool masks = gpuc_is_bool(e->dtype);
    int bits = masks ? gpuc_clike_mask_bits(p, n->a[1]) : gpuc_opencl_held(p, e->dtype).bits;
    gpuc_clike_open(p, prec, GPUC_PREC_COND);
    gpuc_clike_mask(p, n->a[0], bits, GPUC_PREC_COND + 1);
    gpuc_clike_arms(p, e, masks ? bits : 0);
    gpuc_clike_close(p, prec, GPUC_PREC_COND);
}

static void vector_op(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_put(p, "%s", gpuc_tir_ops[n->op].text);
    gpuc_clike_args(p, 1, n->a);
}

/* ---- Calls ---------------------------------------------------------------------------------------- */

/* Words in memory that start at their own size; others are put together from their parts, lane by lane. */
static void words(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_expr a = gpuc_as_call(e)->args[0];
    int each = a->dtype.lanes / e->dtype.lanes;
    const gpuc_tir_load_node *n = a->kind == GPUC_EXPR_LOAD ? gpuc_as_load(a) : NULL;
    gpuc_expr start = n ? gpuc_lower_contiguous(n->index[0]) : NULL;
    bool param = start && gpuc_clike_buffer_of(p, n->buffer)->param;
    if (param && gpuc_codegen_ramp_align(p->analyzer, n->index[0]) >= each) {
        const char *type = e->dtype.code == GPUC_DTYPE_UINT ? "uint" : "int";
        if (e->dtype.lanes > 1)
            gpuc_put(p, "vload%d(0, (const __global %s *)(", e->dtype.lanes, type);
        else
            gpuc_put(p, "*(const __global %s *)(", type);
        gpuc_opencl_pointer(p, n->buffer, start);
        gpuc_put(p, e->dtype.lanes > 1 ? "))" : ")");
        return;
    }
    if (a->dtype.lanes <= 4) {
        bitcast(p, e->dtype, a, prec, gpuc_clike_expr);
        return;
    }
    gpuc_expr *lanes = gpuc_new_array(p->ctx, gpuc_expr, e->dtype.lanes);
    for (int i = 0; i < e->dtype.lanes; i++) lanes[i] = gpuc_lower_slice(p->ctx, e, i, 1, NULL);
    vector(p, e->dtype, lanes);
}

static void reinterpret(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_expr a = gpuc_as_call(e)->args[0];
    if (gpuc_tir_is_words(e)) {
        words(p, e, prec);
        return;
    }
    gpuc_dtype to = e->dtype, from = a->dtype;
    bool half_out = is_half(to) && !p->target->float16;
    bool half_in = is_half(from) && !p->target->float16;
    if (half_out || half_in) {
        call1(p, half_out ? "ofbits" : "bitsof", to, from, a);
    } else if (gpuc_dtype_equal(gpuc_opencl_held(p, to), gpuc_opencl_held(p, from))) {
        gpuc_clike_expr(p, a, prec);
    } else {
        bitcast(p, to, a, prec, gpuc_clike_expr);
    }
}

static const char *space(const gpuc_tir_buffer *b)
{
    return b->scope == GPUC_SCOPE_SHARED ? "local" : "global";
}

static void atomic(gpuc_clike *p, const gpuc_tir_call_node *n, const char *name)
{
    gpuc_dtype t = n->buffer->dtype;
    if (t.bits < 32 || n->buffer->scope == GPUC_SCOPE_LOCAL)
        gpuc_raise(p->ctx, GPUC_UNSUPPORTED, "kernel '%s': %s on buffer '%s' of %s %d-bit elements",
                   p->func->name, gpuc_tir_intrins[n->fn].text, n->buffer->name,
                   gpuc_scope_name(n->buffer->scope), t.bits);
    bool builtin = gpuc_is_integer(t) || n->fn == GPUC_TIR_CALL_ATOMIC_EXCHANGE;
    if (builtin && t.bits == 32) {
        gpuc_put(p, "atomic_%s", name);
    } else if (builtin) {
        bool base = n->fn == GPUC_TIR_CALL_ATOMIC_ADD || n->fn == GPUC_TIR_CALL_ATOMIC_EXCHANGE ||
                    n->fn == GPUC_TIR_CALL_ATOMIC_CAS;
        *(uint32_t *)p->user |= base ? GPUC_OPENCL_INT64_BASE_ATOMICS : GPUC_OPENCL_INT64_EXTENDED_ATOMICS;
        gpuc_put(p, "atom_%s", name);
    } else {
        char row[32];
        snprintf(row, sizeof row, "%s%s", space(n->buffer), name);
        gpuc_clike_helper(p, row, t);
    }
}

static void subgroup(gpuc_clike *p, gpuc_expr e, const char *name, uint32_t need)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    bool shuffle = n->fn == GPUC_TIR_CALL_SUBGROUP_SHUFFLE;
    if (shuffle ? !p->target->subgroup_shuffle : !p->target->subgroup)
        gpuc_raise(p->ctx, GPUC_UNSUPPORTED, "kernel '%s': the target has no %s", p->func->name,
                   gpuc_tir_intrins[n->fn].text);
    *(uint32_t *)p->user |= need;
    gpuc_put(p, "%s(", name);
    for (int i = 0; i < n->n; i++) {
        if (i) gpuc_put(p, ", ");
        if (shuffle && i == 1) gpuc_put(p, "(uint)");
        gpuc_clike_expr(p, n->args[i], shuffle && i == 1 ? GPUC_PREC_UNARY : GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ")");
}

static void call(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    switch (n->fn) {
    case GPUC_TIR_CALL_REINTERPRET: reinterpret(p, e, prec); return;
    case GPUC_TIR_CALL_BARRIER: gpuc_put(p, "barrier(CLK_LOCAL_MEM_FENCE)"); return;
    case GPUC_TIR_CALL_PREFETCH:
        gpuc_put(p, "prefetch(");
        gpuc_clike_byte(p, "const global char", n->buffer, n->args[0]);
        gpuc_put(p, ", 64)");
        return;
    case GPUC_TIR_CALL_THREAD_DECIDES: gpuc_put(p, "%s", gpuc_opencl_decision(p)); return;
    case GPUC_TIR_CALL_SUBGROUP_LANE:
        subgroup(p, e, "(int)get_sub_group_local_id", GPUC_OPENCL_SUBGROUPS);
        return;
    case GPUC_TIR_CALL_SUBGROUP_ADD: subgroup(p, e, "sub_group_reduce_add", GPUC_OPENCL_SUBGROUPS); return;
    case GPUC_TIR_CALL_SUBGROUP_MUL:
        subgroup(p, e, "sub_group_non_uniform_reduce_mul",
                 GPUC_OPENCL_SUBGROUPS | GPUC_OPENCL_SUBGROUP_ARITHMETIC);
        return;
    case GPUC_TIR_CALL_SUBGROUP_MIN: subgroup(p, e, "sub_group_reduce_min", GPUC_OPENCL_SUBGROUPS); return;
    case GPUC_TIR_CALL_SUBGROUP_MAX: subgroup(p, e, "sub_group_reduce_max", GPUC_OPENCL_SUBGROUPS); return;
    case GPUC_TIR_CALL_SUBGROUP_SHUFFLE:
        subgroup(p, e, "sub_group_shuffle", GPUC_OPENCL_SUBGROUPS | GPUC_OPENCL_SUBGROUP_SHUFFLE);
        return;
    case GPUC_TIR_CALL_TEXTURE2D_LOAD: gpuc_opencl_read_texel(p, e); return;
    case GPUC_TIR_CALL_TEXTURE2D_STORE: gpuc_opencl_write_texel(p, e); return;
    case GPUC_TIR_CALL_DOT_I8:
    case GPUC_TIR_CALL_DOT_U8I8:
    case GPUC_TIR_CALL_DOT_U8:
    case GPUC_TIR_CALL_DOT_I16:
    case GPUC_TIR_CALL_EXACT:
    case GPUC_TIR_CALL_ATOMIC_ADD:
    case GPUC_TIR_CALL_ATOMIC_MIN:
    case GPUC_TIR_CALL_ATOMIC_MAX:
    case GPUC_TIR_CALL_ATOMIC_AND:
    case GPUC_TIR_CALL_ATOMIC_OR:
    case GPUC_TIR_CALL_ATOMIC_XOR:
    case GPUC_TIR_CALL_ATOMIC_EXCHANGE:
    case GPUC_TIR_CALL_ATOMIC_CAS:
    case GPUC_TIR_CALL_EXTERN:
    case GPUC_TIR_CALL_ADDRESS:
    case GPUC_TIR_CALL_CONST_ADDRESS:
    case GPUC_TIR_CALL_STRIDE:
    case GPUC_TIR_INTRIN_COUNT: break;
    }
    gpuc_raise(p->ctx, GPUC_UNSUPPORTED, "kernel '%s': OpenCL C cannot call %s", p->func->name,
               n->name ? n->name : gpuc_tir_intrins[n->fn].text);
}

/* PoCL 3.1 takes a variable that is not written on some path for one that all work-items share, where it cuts the
 * kernel at barriers: so it has a value on each path. A small array gets its values by stores of elements, and none
 * equal, so that LLVM makes no wider store of them: in the loops of PoCL over work-items, LLVM 15 moves such a store
 * behind the kernel's own stores of elements. */
static void declare(gpuc_clike *p, const gpuc_tir_buffer *b)
{
    enum { SMALL = 16 }; /* elements; more than 8 bytes are a call of memset, which stays in its place */
    const gpuc_clike_buffer *plan = gpuc_clike_buffer_of(p, b);
    gpuc_clike_declare(p, b);
    if (b->scope != GPUC_SCOPE_LOCAL || !p->uses->has_barrier || !gpuc_codegen_use(p->uses, b)->conditional) {
        gpuc_put(p, ";");
        return;
    }
    int64_t n = gpuc_codegen_elements(p->ctx, b) / plan->vec;
    if (plan->variable || n > SMALL) {
        gpuc_put(p, plan->variable ? " = 0;" : " = {0};");
        return;
    }
    gpuc_put(p, ";");
    for (int64_t i = 0; i < n; i++)
        gpuc_put(p, " %s[%" PRId64 "] = %" PRId64 ";", gpuc_clike_buf(p, b), i, i);
}

static bool loop(gpuc_clike *p, gpuc_stmt s)
{
    (void)p;
    (void)s;
    return false;
}

const gpuc_clike_lang gpuc_opencl_lang = {
    .reserved = reserved,
    .half = "h",
    .held = gpuc_opencl_held,
    .type = print_type,
    .element = gpuc_opencl_element,
    .math = math,
    .int64 = int64_constant,
    .cast = gpuc_opencl_cast,
    .bitcast = bitcast,
    .load = gpuc_opencl_load,
    .store = gpuc_opencl_store,
    .broadcast = broadcast,
    .ramp = ramp,
    .vector = vector,
    .lane = lane,
    .part = part,
    .splats = splats,
    .select = select_lanes,
    .widen_mask = widen_mask,
    .vector_op = vector_op,
    .call = call,
    .atomic = atomic,
    .loop = loop,
    .declare = declare,
};
