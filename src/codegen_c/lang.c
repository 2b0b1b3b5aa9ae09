/* SPDX-License-Identifier: Apache-2.0 */
/* How C spells things. Vectors are the GNU extension's; a target without vectors never meets them, since
 * they were cut to scalars. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen_c/private.h"

static const char *const reserved[] = {
    "typeof",    "asm",        "main",       "errno",      "y0",        "y1",        "yn",
    "j0",        "j1",         "jn",         "int8_t",     "int16_t",   "int32_t",   "int64_t",
    "uint8_t",   "uint16_t",   "uint32_t",   "uint64_t",   "EXPORT",    "env",       "tensors",
    "scalars",   "arg",        "begin",      "end",        "gamma",     "memcpy",    "INT8_MIN",
    "INT8_MAX",  "INT16_MIN",  "INT16_MAX",  "INT32_MIN",  "INT32_MAX", "INT64_MIN", "INT64_MAX",
    "UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX", "INT64_C",   "UINT64_C",  NULL,
};

static bool is_half(gpuc_dtype t)
{
    return gpuc_is_float(t) && t.bits == 16;
}

static gpuc_dtype held(const gpuc_clike *p, gpuc_dtype t)
{
    if (is_half(t) && !p->target->float16) t.code = GPUC_DTYPE_UINT;
    return t;
}

void gpuc_c_type(gpuc_buf *out, gpuc_dtype t)
{
    char suffix[16];
    if (t.lanes > 1) {
        gpuc_buf_str(out, gpuc_clike_suffix(t, suffix));
    } else if (gpuc_is_bool(t)) {
        gpuc_buf_str(out, "bool");
    } else if (gpuc_is_float(t) && t.bits >= 32) {
        gpuc_buf_str(out, t.bits == 64 ? "double" : "float");
    } else if (gpuc_is_float(t)) {
        gpuc_buf_str(out, "_Float16");
    } else {
        gpuc_buf_printf(out, "%sint%d_t", t.code == GPUC_DTYPE_UINT ? "u" : "", t.bits);
    }
}

static void print_type(gpuc_clike *p, gpuc_dtype t)
{
    gpuc_c_type(&p->out, held(p, t));
}

void gpuc_c_element(gpuc_clike *p, gpuc_dtype t)
{
    gpuc_c_type(&p->out, gpuc_is_bool(t) ? GPUC_UINT8 : held(p, t));
}

static const char *math(const gpuc_clike *p, gpuc_tir_op op, gpuc_dtype t)
{
    (void)p;
    /* Of float32 and float64. */
#define C(printer, sign, of_floats, of_ints)                                                                 \
    {                                                                                                        \
        of_floats "f", of_floats                                                                             \
    }
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, arith, clike, ...)                    \
    [GPUC_TIR_##e] = clike,
    static const char *const names[GPUC_TIR_OP_COUNT][2] = {
#include "tir/ops.def"
    };
#undef GPUC_TIR_OP
#undef C
    if (t.lanes > 1 || !gpuc_is_float(t) || t.bits < 32 || !*names[op][1]) return NULL;
    return names[op][t.bits == 64];
}

static void int64_constant(gpuc_clike *p, int64_t v, bool is_unsigned)
{
    if (is_unsigned)
        gpuc_put(p, "UINT64_C(%" PRIu64 ")", (uint64_t)v);
    else if (v == INT64_MIN)
        gpuc_put(p, "INT64_MIN");
    else
        gpuc_put(p, "INT64_C(%" PRId64 ")", v);
}

/* ---- Casts ---------------------------------------------------------------------------------------- */

static void plain_cast(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec)
{
    if (to.lanes > 1) {
        gpuc_put(p, "__builtin_convertvector(");
        gpuc_clike_expr(p, a, GPUC_PREC_ASSIGN);
        gpuc_put(p, ", ");
        print_type(p, to);
        gpuc_put(p, ")");
        return;
    }
    gpuc_clike_cast(p, to, a, prec, gpuc_clike_expr);
}

static void compare_to_zero(gpuc_clike *p, gpuc_expr a, int prec)
{
    gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    gpuc_clike_expr(p, a, GPUC_PREC_EQ);
    gpuc_put(p, " != 0");
    gpuc_clike_close(p, prec, GPUC_PREC_EQ);
}

static gpuc_dtype signed_of(gpuc_dtype t)
{
    t.code = GPUC_DTYPE_INT;
    return t;
}

static void cast_to(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec);

static bool as_bits(const gpuc_clike *p, gpuc_dtype t)
{
    return is_half(t) && !gpuc_is_float(held(p, t));
}

/* Types that are held as bits convert to and from float32 (and from float64, in one rounding). */
static void half_cast(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec)
{
    gpuc_dtype from = a->dtype;
    if (as_bits(p, to)) {
        if (as_bits(p, from) || !gpuc_is_float(from) || from.bits < 32)
            a = gpuc_cast(p->ctx, GPUC_FLOAT32, a);
        gpuc_clike_helper2(p, "tohalf", held(p, to), a->dtype);
        gpuc_clike_args(p, 1, &a);
    } else if (gpuc_is_float(to) && to.bits == 32) {
        gpuc_clike_helper2(p, "fromhalf", to, held(p, from));
        gpuc_clike_args(p, 1, &a);
    } else {
        cast_to(p, to, gpuc_cast(p->ctx, GPUC_FLOAT32, a), prec);
    }
}

/* Prints a cast. An expression for it cannot be built, since builders fold casts of casts. */
static void cast_to(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec)
{
    gpuc_dtype from = a->dtype;
    if (as_bits(p, to) || as_bits(p, from)) {
        half_cast(p, to, a, prec);
    } else if (gpuc_is_bool(from) && to.lanes > 1 && !gpuc_is_bool(to)) {
        gpuc_clike_helper(p, "flag", to);
        gpuc_put(p, "(");
        gpuc_clike_mask(p, a, to.bits, GPUC_PREC_ASSIGN);
        gpuc_put(p, ")");
    } else if (gpuc_is_bool(to)) {
        compare_to_zero(p, a, prec);
    } else if (gpuc_is_float(from) && gpuc_is_integer(to) && !gpuc_clike_fits(p, to, a)) {
        if (from.bits == 16) a = gpuc_cast(p->ctx, GPUC_FLOAT32, a);
        gpuc_clike_helper2(p, "sat", to, a->dtype);
        gpuc_clike_args(p, 1, &a);
    } else {
        plain_cast(p, to, a, prec);
    }
}

static void cast(gpuc_clike *p, gpuc_expr e, int prec)
{
    cast_to(p, e->dtype, gpuc_as_cast(e)->a, prec);
}

/* ---- Vectors -------------------------------------------------------------------------------------- */

static bool splats(const gpuc_clike *p, gpuc_dtype t)
{
    return gpuc_is_float(t) && (t.bits >= 32 || gpuc_is_float(held(p, t)));
}

static bool is_zero(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_FLOAT) {
        double v = gpuc_as_float(e)->value;
        return v == 0 && 1 / v > 0;
    }
    return gpuc_tir_is_const(e, 0);
}

static void broadcast(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    gpuc_expr a = gpuc_as_broadcast(e)->a;
    if (is_zero(a)) {
        gpuc_put(p, "(");
        print_type(p, e->dtype);
        gpuc_put(p, "){0}");
        return;
    }
    gpuc_clike_helper(p, "splat", held(p, e->dtype));
    gpuc_clike_args(p, 1, &a);
}

static void ramp(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    const gpuc_expr args[2] = {gpuc_as_ramp(e)->start, gpuc_as_ramp(e)->stride};
    gpuc_clike_helper(p, "ramp", e->dtype);
    gpuc_clike_args(p, 2, args);
}

static void vector(gpuc_clike *p, gpuc_dtype t, const gpuc_expr *lanes)
{
    gpuc_put(p, "(");
    gpuc_c_type(&p->out, t);
    gpuc_put(p, "){");
    for (int i = 0; i < t.lanes; i++) {
        if (i) gpuc_put(p, ", ");
        gpuc_clike_expr(p, lanes[i], GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, "}");
}

static void lane(gpuc_clike *p, int number)
{
    gpuc_put(p, "[%d]", number);
}

static void widen_mask(gpuc_clike *p, gpuc_expr mask, int bits, int prec)
{
    (void)prec;
    gpuc_put(p, "__builtin_convertvector(");
    gpuc_clike_mask(p, mask, gpuc_clike_mask_bits(p, mask), GPUC_PREC_ASSIGN);
    gpuc_put(p, ", i%dx%d)", bits, mask->dtype.lanes);
}

static void select_lanes(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_dtype t = held(p, e->dtype);
    bool masks = gpuc_is_bool(t);
    if (masks) {
        t = signed_of(t);
        t.bits = (uint8_t)gpuc_clike_mask_bits(p, n->a[1]);
    }
    gpuc_clike_helper(p, "select", t);
    gpuc_put(p, "(");
    gpuc_clike_mask(p, n->a[0], t.bits, GPUC_PREC_ASSIGN);
    for (int i = 1; i <= 2; i++) {
        gpuc_put(p, ", ");
        if (masks)
            gpuc_clike_mask(p, n->a[i], t.bits, GPUC_PREC_ASSIGN);
        else
            gpuc_clike_expr(p, n->a[i], GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ")");
}

static void vector_op(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_clike_helper(p, gpuc_tir_ops[n->op].text, n->a[0]->dtype);
    gpuc_clike_args(p, 1, n->a);
}

/* ---- Memory --------------------------------------------------------------------------------------- */

static void address(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_put(p, "&");
    gpuc_clike_element(p, b, index);
}

static gpuc_dtype memory_vector(gpuc_clike *p, gpuc_dtype t)
{
    return gpuc_is_bool(t) ? gpuc_dtype_with_lanes(GPUC_UINT8, t.lanes) : held(p, t);
}

static void load(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    bool truth = gpuc_is_bool(e->dtype);
    if (gpuc_clike_load(p, e, prec)) return;
    if (truth) gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    gpuc_clike_helper(p, "load", memory_vector(p, e->dtype));
    gpuc_put(p, "(");
    address(p, n->buffer, gpuc_lower_contiguous(n->index[0]));
    gpuc_put(p, ")%s", truth ? " != 0" : "");
    if (truth) gpuc_clike_close(p, prec, GPUC_PREC_EQ);
}

/* GCC takes a vector with several readers from memory for each of them, though a register is free. */
static bool keeps(gpuc_clike *p, gpuc_expr value)
{
    if (value->kind != GPUC_EXPR_LOAD || value->dtype.lanes == 1 || gpuc_is_bool(value->dtype)) return false;
    const gpuc_tir_load_node *n = gpuc_as_load(value);
    return gpuc_lower_contiguous(n->index[0]) && gpuc_clike_buffer_of(p, n->buffer)->vec == 1;
}

static void store(gpuc_clike *p, gpuc_stmt s)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_dtype t = n->value->dtype;
    if (gpuc_clike_store(p, n)) return;
    gpuc_clike_helper(p, n->buffer->non_temporal ? "stream" : "store", memory_vector(p, t));
    ((gpuc_c_emit *)p->user)->streams |= n->buffer->non_temporal;
    gpuc_put(p, "(");
    address(p, n->buffer, gpuc_lower_contiguous(n->index[0]));
    gpuc_put(p, ", ");
    if (gpuc_is_bool(t)) {
        gpuc_put(p, "(u8x%d)(", t.lanes);
        gpuc_clike_mask(p, n->value, 8, GPUC_PREC_AND);
        gpuc_put(p, " & 1)");
    } else {
        gpuc_clike_expr(p, n->value, GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ")");
}

void gpuc_c_pointer(gpuc_clike *p, const gpuc_tir_buffer *b, bool with_restrict)
{
    const gpuc_buffer_use *use = gpuc_codegen_use(p->uses, b);
    const gpuc_clike_buffer *plan = gpuc_clike_buffer_of(p, b);
    if (!use->written) gpuc_put(p, "const ");
    if (plan->vec > 1)
        gpuc_c_type(&p->out, gpuc_dtype_with_lanes(held(p, b->dtype), plan->vec));
    else
        gpuc_c_element(p, b->dtype);
    gpuc_put(p, " *%s%s", with_restrict ? "restrict " : "", gpuc_clike_buf(p, b));
}

/* Large arrays would overflow the stacks of threads. */
#define STACK_BYTES (128 << 10)

static void declare(gpuc_clike *p, const gpuc_tir_buffer *b)
{
    const gpuc_clike_buffer *plan = gpuc_clike_buffer_of(p, b);
    int64_t n = gpuc_codegen_elements(p->ctx, b);
    int64_t bytes = n * (int64_t)gpuc_dtype_bytes(b->dtype);
    if (bytes > INT64_C(1) << 30)
        gpuc_raise(p->ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': local buffer '%s' of %" PRId64 " bytes is too large", p->func->name, b->name,
                   bytes);
    bool vectors = gpuc_codegen_use(p->uses, b)->vec > 1;
    if (bytes > STACK_BYTES) gpuc_put(p, "static __thread ");
    gpuc_clike_declare(p, b);
    if (vectors && plan->vec == 1) gpuc_put(p, " __attribute__((aligned(64)))");
    gpuc_put(p, ";");
}

/* ---- Calls ---------------------------------------------------------------------------------------- */

static void reinterpret(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_expr a = gpuc_as_call(e)->args[0];
    gpuc_dtype to = held(p, e->dtype), from = held(p, a->dtype);
    gpuc_expr start = gpuc_tir_is_words(e) && a->kind == GPUC_EXPR_LOAD
                          ? gpuc_lower_contiguous(gpuc_as_load(a)->index[0])
                          : NULL;
    if (start && gpuc_clike_buffer_of(p, gpuc_as_load(a)->buffer)->vec == 1) {
        gpuc_clike_helper(p, "word", to);
        gpuc_put(p, "(");
        address(p, gpuc_as_load(a)->buffer, start);
        gpuc_put(p, ")");
    } else if (gpuc_dtype_equal(to, from)) {
        gpuc_clike_expr(p, a, prec);
    } else if (to.lanes > 1 && from.lanes > 1) {
        gpuc_clike_cast(p, to, a, prec, gpuc_clike_expr);
    } else {
        gpuc_clike_helper2(p, "bits", to, from);
        gpuc_clike_args(p, 1, &a);
    }
}

static void atomic(gpuc_clike *p, const gpuc_tir_call_node *n, const char *name)
{
    gpuc_dtype t = n->buffer->dtype;
    char row[32];
    if (gpuc_is_bool(t) || is_half(t))
        gpuc_raise(p->ctx, GPUC_UNSUPPORTED, "kernel '%s': %s on buffer '%s' of 8- or 16-bit elements",
                   p->func->name, gpuc_tir_intrins[n->fn].text, n->buffer->name);
    snprintf(row, sizeof row, "atomic%s", name);
    gpuc_clike_helper(p, row, t);
}

static void call(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    switch (n->fn) {
    case GPUC_TIR_CALL_REINTERPRET: reinterpret(p, e, prec); return;
    case GPUC_TIR_CALL_EXTERN:
        gpuc_put(p, "%s", n->name);
        gpuc_clike_args(p, n->n, n->args);
        return;
    case GPUC_TIR_CALL_ADDRESS:
    case GPUC_TIR_CALL_CONST_ADDRESS: address(p, n->buffer, n->args[0]); return;
    case GPUC_TIR_CALL_PREFETCH:
        gpuc_put(p, "__builtin_prefetch(");
        gpuc_clike_byte(p, "const char", n->buffer, n->args[0]);
        gpuc_put(p, ")");
        return;
    case GPUC_TIR_CALL_THREAD_DECIDES: gpuc_clike_expr(p, gpuc_imm_int(p->ctx, e->dtype, 1), prec); return;
    case GPUC_TIR_CALL_STRIDE:
    case GPUC_TIR_CALL_EXACT:
    case GPUC_TIR_CALL_ATOMIC_ADD:
    case GPUC_TIR_CALL_ATOMIC_MIN:
    case GPUC_TIR_CALL_ATOMIC_MAX:
    case GPUC_TIR_CALL_ATOMIC_AND:
    case GPUC_TIR_CALL_ATOMIC_OR:
    case GPUC_TIR_CALL_ATOMIC_XOR:
    case GPUC_TIR_CALL_ATOMIC_EXCHANGE:
    case GPUC_TIR_CALL_ATOMIC_CAS:
    case GPUC_TIR_CALL_DOT_I8:
    case GPUC_TIR_CALL_DOT_U8I8:
    case GPUC_TIR_CALL_DOT_U8:
    case GPUC_TIR_CALL_DOT_I16:
    case GPUC_TIR_CALL_BARRIER:
    case GPUC_TIR_CALL_TEXTURE2D_LOAD:
    case GPUC_TIR_CALL_TEXTURE2D_STORE:
    case GPUC_TIR_CALL_SUBGROUP_LANE:
    case GPUC_TIR_CALL_SUBGROUP_ADD:
    case GPUC_TIR_CALL_SUBGROUP_MUL:
    case GPUC_TIR_CALL_SUBGROUP_MIN:
    case GPUC_TIR_CALL_SUBGROUP_MAX:
    case GPUC_TIR_CALL_SUBGROUP_SHUFFLE:
    case GPUC_TIR_INTRIN_COUNT: break;
    }
    gpuc_raise(p->ctx, GPUC_UNSUPPORTED, "kernel '%s': C has no %s", p->func->name,
               gpuc_tir_intrins[n->fn].text);
}

const gpuc_clike_lang gpuc_c_lang = {
    .reserved = reserved,
    .half = "f16",
    .held = held,
    .type = print_type,
    .element = gpuc_c_element,
    .math = math,
    .int64 = int64_constant,
    .cast = cast,
    .bitcast = gpuc_clike_cast,
    .load = load,
    .keeps = keeps,
    .store = store,
    .broadcast = broadcast,
    .ramp = ramp,
    .vector = vector,
    .lane = lane,
    .splats = splats,
    .select = select_lanes,
    .widen_mask = widen_mask,
    .vector_op = vector_op,
    .call = call,
    .atomic = atomic,
    .loop = gpuc_c_loop,
    .declare = declare,
};
