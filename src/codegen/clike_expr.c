/* SPDX-License-Identifier: Apache-2.0 */
/* Prints expressions as C or OpenCL C, with as few parentheses as read well. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/clike_parts.h"

void gpuc_clike_open(gpuc_clike *p, int prec, int own)
{
    if (own < prec) gpuc_buf_str(&p->out, "(");
}

void gpuc_clike_close(gpuc_clike *p, int prec, int own)
{
    if (own < prec) gpuc_buf_str(&p->out, ")");
}

void gpuc_clike_helper(gpuc_clike *p, const char *row, gpuc_dtype t)
{
    char suffix[16];
    gpuc_put(p, "gpuc_%s_%s", row, gpuc_clike_suffix(t, suffix));
}

void gpuc_clike_helper2(gpuc_clike *p, const char *row, gpuc_dtype to, gpuc_dtype from)
{
    char a[16], b[16];
    gpuc_put(p, "gpuc_%s_%s_%s", row, gpuc_clike_suffix(to, a), gpuc_clike_suffix(from, b));
}

static gpuc_dtype held(gpuc_clike *p, gpuc_dtype t)
{
    return p->lang->held(p, t);
}

/* ---- Constants ---------------------------------------------------------------------------------- */

void gpuc_clike_float(gpuc_clike *p, gpuc_dtype t, double v)
{
    if (isnan(v)) {
        gpuc_buf_str(&p->out, "NAN");
    } else if (isinf(v)) {
        gpuc_buf_str(&p->out, v < 0 ? "-INFINITY" : "INFINITY");
    } else {
        char text[40];
        int max = t.bits == 64 ? 17 : 9;
        for (int digits = 1; digits <= max; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v);
            if (t.bits == 64 ? strtod(text, NULL) == v : strtof(text, NULL) == (float)v) break;
        }
        for (char *c = text; *c; c++)
            if (*c == ',') *c = '.'; /* of the application's locale */
        bool marked = strpbrk(text, ".e") != NULL;
        gpuc_put(p, "%s%s%s", text, marked ? "" : ".0",
                 t.bits == 64   ? ""
                 : t.bits == 16 ? p->lang->half
                                : "f");
    }
}

static void print_int(gpuc_clike *p, gpuc_expr e, int prec, bool plain)
{
    int64_t v = gpuc_as_int(e)->value;
    gpuc_dtype t = e->dtype;
    if (gpuc_is_bool(t)) {
        gpuc_put(p, "%d", v != 0);
        return;
    }
    bool is_unsigned = t.code == GPUC_DTYPE_UINT;
    bool negative = !is_unsigned && v < 0;
    if (negative) gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
    bool fits = v > INT32_MIN && v <= INT32_MAX;
    if (t.bits == 64 && !(plain && fits && !is_unsigned))
        p->lang->int64(p, v, is_unsigned);
    else if (v == INT32_MIN)
        gpuc_put(p, "(-2147483647 - 1)");
    else if (t.bits == 32 && is_unsigned)
        gpuc_put(p, "%" PRIu32 "u", (uint32_t)v);
    else
        gpuc_put(p, "%" PRId64, v);
    if (negative) gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
}

static void print_float(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_dtype t = held(p, e->dtype);
    double v = gpuc_as_float(e)->value;
    if (!gpuc_is_float(t)) { /* held as bits */
        gpuc_put(p, "0x%04x", (unsigned)gpuc_float_bits(e->dtype, v));
        return;
    }
    int own = signbit(v) && !isnan(v) ? GPUC_PREC_UNARY : GPUC_PREC_POSTFIX;
    gpuc_clike_open(p, prec, own);
    gpuc_clike_float(p, t, v);
    gpuc_clike_close(p, prec, own);
}

/* ---- Operands ------------------------------------------------------------------------------------- */

/* An integer constant needs no type where the other side has it. */
void gpuc_clike_plain(gpuc_clike *p, gpuc_expr e, int prec)
{
    if (e->kind == GPUC_EXPR_INT)
        print_int(p, e, prec, true);
    else
        gpuc_clike_expr(p, e, prec);
}

void gpuc_clike_operand(gpuc_clike *p, gpuc_expr e, int prec)
{
    if (e->kind == GPUC_EXPR_BROADCAST && p->lang->splats(p, e->dtype))
        gpuc_clike_expr(p, gpuc_as_broadcast(e)->a, prec);
    else
        gpuc_clike_plain(p, e, prec);
}

void gpuc_clike_args(gpuc_clike *p, int n, const gpuc_expr *args)
{
    gpuc_put(p, "(");
    for (int i = 0; i < n; i++) {
        if (i) gpuc_put(p, ", ");
        gpuc_clike_expr(p, args[i], GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ")");
}

void gpuc_clike_call(gpuc_clike *p, const char *row, gpuc_dtype t, int n, const gpuc_expr *args)
{
    gpuc_clike_helper(p, row, t);
    gpuc_clike_args(p, n, args);
}

/* Where few know the precedence, parentheses help: around what a shift or bit operator takes, and around
 * && inside of ||. */
static int operand_prec(gpuc_tir_op op, gpuc_expr e, int own)
{
    gpuc_prec prec = gpuc_tir_ops[op].prec;
    bool is_op = e->kind == GPUC_EXPR_OP, shifts = prec == GPUC_PREC_SHIFT;
    bool bits = prec == GPUC_PREC_AND || prec == GPUC_PREC_OR || prec == GPUC_PREC_XOR;
    if (shifts || bits) return bits && is_op && gpuc_as_op(e)->op == op ? own : GPUC_PREC_UNARY;
    if (op == GPUC_TIR_OR && is_op && gpuc_as_op(e)->op == GPUC_TIR_AND) return GPUC_PREC_UNARY;
    return own;
}

gpuc_dtype gpuc_clike_unsigned_of(gpuc_dtype t)
{
    t.code = GPUC_DTYPE_UINT;
    return t;
}

void gpuc_clike_infix(gpuc_clike *p, gpuc_tir_op op, gpuc_expr a, gpuc_expr b, int prec,
                      void (*operand)(gpuc_clike *, gpuc_expr, int))
{
    int own = (int)gpuc_tir_ops[op].prec;
    int64_t v;
    gpuc_clike_open(p, prec, own);
    bool both = a->kind == GPUC_EXPR_BROADCAST && b->kind == GPUC_EXPR_BROADCAST;
    if (both) /* one of the two has to be a vector */
        p->lang->bitcast(p, operand == gpuc_clike_as_unsigned ? gpuc_clike_unsigned_of(a->dtype) : a->dtype,
                         a, own, gpuc_clike_expr);
    else
        operand(p, a, operand_prec(op, a, own));
    if (op == GPUC_TIR_ADD && b->dtype.code == GPUC_DTYPE_INT && gpuc_expr_is_int(b, &v) && v < 0 &&
        v > INT32_MIN) {
        gpuc_put(p, " - %" PRId64, -v);
    } else if (op == GPUC_TIR_ADD && b->kind == GPUC_EXPR_OP && gpuc_as_op(b)->op == GPUC_TIR_MUL &&
               gpuc_clike_is_index(p, b) && gpuc_tir_is_const(gpuc_as_op(b)->a[1], -1)) {
        gpuc_put(p, " - ");
        operand(p, gpuc_as_op(b)->a[0], own + 1);
    } else {
        gpuc_put(p, " %s ", gpuc_clike_ops[op].infix);
        operand(p, b, operand_prec(op, b, own + 1));
    }
    gpuc_clike_close(p, prec, own);
}

/* ---- Operators ------------------------------------------------------------------------------------ */

bool gpuc_clike_is_half(gpuc_clike *p, gpuc_dtype t)
{
    return gpuc_is_float(t) && t.bits == 16 && !gpuc_dtype_equal(held(p, t), t);
}

gpuc_expr gpuc_clike_promoted(gpuc_clike *p, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP) return e;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    const gpuc_tir_op_info *info = &gpuc_tir_ops[n->op];
    gpuc_dtype t = n->a[0]->dtype;
    if (info->result == GPUC_TIR_ARM || !gpuc_is_float(t) || t.bits != 16) return e;
    bool native = *gpuc_clike_ops[n->op].infix || n->op == GPUC_TIR_MIN || n->op == GPUC_TIR_MAX ||
                  p->lang->math(p, n->op, t);
    if (!gpuc_clike_is_half(p, t) && native && !(n->op == GPUC_TIR_MOD && !p->lang->math(p, n->op, t)))
        return e;
    gpuc_expr a[3] = {NULL, NULL, NULL};
    for (int i = 0; i < info->arity; i++) a[i] = gpuc_cast(p->ctx, GPUC_FLOAT32, n->a[i]);
    gpuc_expr r = gpuc_tir_make(p->ctx, n->op, a[0], a[1], a[2]);
    return info->result == GPUC_TIR_BOOL ? r : gpuc_cast(p->ctx, gpuc_dtype_with_lanes(e->dtype, 1), r);
}

static bool is_number(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_BROADCAST) e = gpuc_as_broadcast(e)->a;
    return e->kind == GPUC_EXPR_FLOAT && !isnan(gpuc_as_float(e)->value);
}

static void print_min_max(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    bool is_min = n->op == GPUC_TIR_MIN;
    const char *name = p->lang->math(p, n->op, e->dtype);
    if (name) {
        gpuc_put(p, "%s", name);
        gpuc_clike_args(p, 2, n->a);
        return;
    }
    gpuc_expr a[2] = {n->a[0], n->a[1]};
    bool bounded = gpuc_is_float(e->dtype) && (is_number(a[0]) || is_number(a[1]));
    if (bounded && is_number(a[0])) {
        a[0] = n->a[1];
        a[1] = n->a[0];
    }
    gpuc_clike_call(p, bounded ? (is_min ? "atmost" : "atleast") : (is_min ? "min" : "max"), e->dtype, 2, a);
}

static void print_shift(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_dtype t = e->dtype;
    int64_t count;
    bool plain = t.lanes == 1 && gpuc_expr_is_int(n->a[1], &count) && count >= 0 && count < t.bits;
    if (!plain) {
        gpuc_clike_call(p, n->op == GPUC_TIR_SHL ? "shl" : "shr", t, 2, n->a);
    } else if (n->op == GPUC_TIR_SHR) {
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_plain);
    } else if (t.bits < 32 || t.code == GPUC_DTYPE_INT) {
        gpuc_dtype wide = gpuc_clike_unsigned_of(t);
        if (wide.bits < 32) wide.bits = 32;
        gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
        gpuc_put(p, "(");
        p->lang->type(p, t);
        gpuc_put(p, ")((");
        p->lang->type(p, wide);
        gpuc_put(p, ")");
        gpuc_clike_expr(p, n->a[0], GPUC_PREC_UNARY);
        gpuc_put(p, " << %d)", (int)count);
        gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
    } else {
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_plain);
    }
}

static void print_bits(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (n->op != GPUC_TIR_BITNOT) {
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_operand);
        return;
    }
    bool small = e->dtype.bits < 32 && e->dtype.lanes == 1;
    gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
    if (small) {
        gpuc_put(p, "(");
        p->lang->type(p, e->dtype);
        gpuc_put(p, ")");
    }
    gpuc_put(p, "~");
    gpuc_clike_expr(p, n->a[0], GPUC_PREC_UNARY);
    gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
}

/* The classifying functions give any number but 0. */
static void print_class(gpuc_clike *p, gpuc_expr e, int prec)
{
    if (e->dtype.lanes > 1) {
        gpuc_clike_mask(p, e, gpuc_clike_mask_bits(p, e), prec);
        return;
    }
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    gpuc_put(p, "%s", gpuc_tir_ops[n->op].text);
    gpuc_clike_args(p, 1, n->a);
    gpuc_put(p, " != 0");
    gpuc_clike_close(p, prec, GPUC_PREC_EQ);
}

static void print_math(gpuc_clike *p, gpuc_expr e, int prec)
{
    (void)prec;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    const char *name = p->lang->math(p, n->op, n->a[0]->dtype);
    if (name)
        gpuc_put(p, "%s", name);
    else
        gpuc_clike_helper(p, gpuc_clike_row(n->op), n->a[0]->dtype);
    gpuc_clike_args(p, gpuc_tir_ops[n->op].arity, n->a);
}

void gpuc_clike_arms(gpuc_clike *p, gpuc_expr e, int mask_bits)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    for (int i = 1; i <= 2; i++) {
        int inner = i == 1 ? GPUC_PREC_COND + 1 : GPUC_PREC_COND;
        gpuc_put(p, i == 1 ? " ? " : " : ");
        if (mask_bits)
            gpuc_clike_mask(p, n->a[i], mask_bits, inner);
        else
            gpuc_clike_expr(p, n->a[i], inner);
    }
}

void gpuc_clike_choice(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_expr cond = n->a[0];
    if (cond->kind == GPUC_EXPR_BROADCAST) cond = gpuc_as_broadcast(cond)->a;
    if (cond->dtype.lanes > 1) {
        p->lang->select(p, e, prec);
        return;
    }
    gpuc_clike_open(p, prec, GPUC_PREC_COND);
    gpuc_clike_expr(p, cond, GPUC_PREC_COND + 1);
    bool masks = gpuc_is_bool(e->dtype) && e->dtype.lanes > 1;
    gpuc_clike_arms(p, e, masks ? gpuc_clike_mask_bits(p, n->a[1]) : 0);
    gpuc_clike_close(p, prec, GPUC_PREC_COND);
}

static void print_abs(gpuc_clike *p, gpuc_expr e, int prec)
{
    if (e->dtype.code == GPUC_DTYPE_UINT)
        gpuc_clike_expr(p, gpuc_as_op(e)->a[0], prec);
    else
        print_math(p, e, prec);
}

static void print_division(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (!gpuc_is_float(e->dtype))
        gpuc_clike_division(p, e, prec);
    else if (n->op == GPUC_TIR_DIV)
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_operand);
    else
        print_math(p, e, prec);
}

static void print_logic(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (e->dtype.lanes > 1)
        gpuc_clike_mask(p, e, gpuc_clike_mask_bits(p, e), prec);
    else
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_operand);
}

static void print_not(gpuc_clike *p, gpuc_expr e, int prec)
{
    if (e->dtype.lanes > 1) {
        gpuc_clike_mask(p, e, gpuc_clike_mask_bits(p, e), prec);
        return;
    }
    gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
    gpuc_put(p, "!");
    gpuc_clike_expr(p, gpuc_as_op(e)->a[0], GPUC_PREC_UNARY);
    gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
}

#define print_arithmetic gpuc_clike_arithmetic
#define print_choice gpuc_clike_choice
#define C(printer, sign, of_floats, of_ints)                                                                 \
    {                                                                                                        \
        .print = print_##printer, .infix = sign, .function = of_floats, .int_function = of_ints              \
    }
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, arith, clike, ...)                    \
    [GPUC_TIR_##e] = clike,
const gpuc_clike_op gpuc_clike_ops[GPUC_TIR_OP_COUNT] = {
#include "tir/ops.def"
};
#undef GPUC_TIR_OP
#undef C
#undef print_arithmetic
#undef print_choice

static void print_op(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_expr promoted = gpuc_clike_promoted(p, e);
    if (promoted != e)
        gpuc_clike_expr(p, promoted, prec);
    else
        gpuc_clike_ops[gpuc_as_op(e)->op].print(p, e, prec);
}

/* ---- All ------------------------------------------------------------------------------------------ */

static void print_element(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_put(p, "%s", gpuc_clike_buf(p, b));
    if (gpuc_clike_buffer_of(p, b)->variable) return;
    gpuc_put(p, "[");
    gpuc_clike_plain(p, index, GPUC_PREC_COMMA);
    gpuc_put(p, "]");
}

void gpuc_clike_element(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr index)
{
    int vec = gpuc_clike_buffer_of(p, b)->vec;
    int64_t at;
    if (vec == 1) {
        print_element(p, b, index);
        return;
    }
    GPUC_CHECK(gpuc_expr_is_int(index, &at));
    print_element(p, b, gpuc_imm_int(p->ctx, index->dtype, at / vec));
    p->lang->lane(p, (int)(at % vec));
}

void gpuc_clike_byte(gpuc_clike *p, const char *type, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_expr bytes = gpuc_imm_int(p->ctx, index->dtype, (int64_t)gpuc_dtype_bytes(b->dtype));
    gpuc_put(p, "(%s *)%s + ", type, gpuc_clike_buf(p, b));
    gpuc_clike_expr(p, gpuc_mul(p->ctx, index, bytes), GPUC_PREC_UNARY);
}

bool gpuc_clike_vector_element(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr index)
{
    const gpuc_clike_buffer *plan = gpuc_clike_buffer_of(p, b);
    gpuc_expr start = gpuc_lower_contiguous(index);
    int lanes = index->dtype.lanes;
    int64_t at;
    if (plan->vec == 1 || !start || lanes > plan->vec) return false;
    if (lanes < plan->vec) {
        if (!p->lang->part || !gpuc_expr_is_int(start, &at) || at % lanes) return false;
        print_element(p, b, gpuc_imm_int(p->ctx, start->dtype, at / plan->vec));
        p->lang->part(p, (int)(at % plan->vec), lanes);
        return true;
    }
    gpuc_expr by = gpuc_imm_int(p->ctx, start->dtype, plan->vec);
    if (!gpuc_arith_prove_equal(p->analyzer, gpuc_floormod_(p->ctx, start, by),
                                gpuc_imm_int(p->ctx, start->dtype, 0)))
        return false;
    print_element(p, b, gpuc_arith_simplify(p->analyzer, gpuc_floordiv_(p->ctx, start, by)));
    return true;
}

static void gather(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    int lanes = e->dtype.lanes;
    gpuc_expr *a = gpuc_new_array(p->ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++) {
        gpuc_expr at = gpuc_arith_simplify(p->analyzer, gpuc_lower_slice(p->ctx, n->index[0], i, 1, NULL));
        a[i] = gpuc_tir_load1(p->ctx, n->buffer, at);
    }
    gpuc_expr all = gpuc_tir_vector(p->ctx, lanes, a);
    if (gpuc_is_bool(e->dtype))
        gpuc_clike_mask(p, all, 8, prec);
    else
        gpuc_clike_expr(p, all, prec);
}

bool gpuc_clike_load(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    if (e->dtype.lanes > 1) {
        if (gpuc_clike_vector_element(p, n->buffer, n->index[0])) return true;
        if (gpuc_lower_contiguous(n->index[0]) && gpuc_clike_buffer_of(p, n->buffer)->vec == 1) return false;
        gather(p, e, prec);
        return true;
    }
    bool truth = gpuc_is_bool(e->dtype);
    if (truth) gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    gpuc_clike_element(p, n->buffer, n->index[0]);
    if (!truth) return true;
    gpuc_put(p, " != 0");
    gpuc_clike_close(p, prec, GPUC_PREC_EQ);
    return true;
}

void gpuc_clike_cast(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec,
                     void (*print)(gpuc_clike *, gpuc_expr, int))
{
    gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
    gpuc_put(p, "(");
    p->lang->type(p, to);
    gpuc_put(p, ")");
    print(p, a, GPUC_PREC_UNARY);
    gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
}

static void print_cast(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_expr a = gpuc_as_cast(e)->a;
    /* A type that is held as a wider one: what was loaded needs no conversion. */
    if (gpuc_dtype_equal(held(p, e->dtype), held(p, a->dtype)) && gpuc_is_float(held(p, a->dtype)) &&
        e->dtype.bits >= a->dtype.bits) {
        gpuc_clike_expr(p, a, prec);
        return;
    }
    p->lang->cast(p, e, prec);
}

static void print_atomic(gpuc_clike *p, const gpuc_tir_call_node *n, const char *name)
{
    p->lang->atomic(p, n, name);
    gpuc_put(p, "(&");
    gpuc_clike_element(p, n->buffer, n->args[0]);
    for (int i = 1; i < n->n; i++) {
        gpuc_put(p, ", ");
        gpuc_clike_expr(p, n->args[i], GPUC_PREC_ASSIGN);
    }
    gpuc_put(p, ")");
}

static void print_call(gpuc_clike *p, gpuc_expr e, int prec)
{
    static const char *const helpers[GPUC_TIR_INTRIN_COUNT] = {
        [GPUC_TIR_CALL_EXACT] = "exact",      [GPUC_TIR_CALL_DOT_I8] = "doti8",
        [GPUC_TIR_CALL_DOT_U8I8] = "dotu8i8", [GPUC_TIR_CALL_DOT_U8] = "dotu8",
        [GPUC_TIR_CALL_DOT_I16] = "doti16",
    };
    static const char *const atomics[GPUC_TIR_INTRIN_COUNT] = {
        [GPUC_TIR_CALL_ATOMIC_ADD] = "add",       [GPUC_TIR_CALL_ATOMIC_MIN] = "min",
        [GPUC_TIR_CALL_ATOMIC_MAX] = "max",       [GPUC_TIR_CALL_ATOMIC_AND] = "and",
        [GPUC_TIR_CALL_ATOMIC_OR] = "or",         [GPUC_TIR_CALL_ATOMIC_XOR] = "xor",
        [GPUC_TIR_CALL_ATOMIC_EXCHANGE] = "xchg", [GPUC_TIR_CALL_ATOMIC_CAS] = "cmpxchg",
    };
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    if (helpers[n->fn])
        gpuc_clike_call(p, helpers[n->fn], e->dtype, n->n, n->args);
    else if (atomics[n->fn])
        print_atomic(p, n, atomics[n->fn]);
    else
        p->lang->call(p, e, prec);
}

static void print_lane(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_expr a = gpuc_as_lane(e)->a;
    bool from_mask = gpuc_is_bool(e->dtype);
    if (from_mask) gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    gpuc_clike_expr(p, a, GPUC_PREC_POSTFIX);
    p->lang->lane(p, gpuc_as_lane(e)->lane);
    if (!from_mask) return;
    gpuc_put(p, " != 0");
    gpuc_clike_close(p, prec, GPUC_PREC_EQ);
}

void gpuc_clike_expr(gpuc_clike *p, gpuc_expr e, int prec)
{
    if (p->out.size > 64u << 20)
        gpuc_raise(p->ctx, GPUC_UNSUPPORTED,
                   "the text of kernel '%s' passes 64 MiB: its expressions are too large; compute parts of "
                   "them in tensors of their own",
                   p->func->name);
    if (gpuc_is_bool(e->dtype) && e->dtype.lanes > 1) {
        gpuc_clike_mask(p, e, gpuc_clike_mask_bits(p, e), prec);
        return;
    }
    switch (e->kind) {
    case GPUC_EXPR_VAR: gpuc_put(p, "%s", gpuc_clike_var(p, e)); return;
    case GPUC_EXPR_INT: print_int(p, e, prec, false); return;
    case GPUC_EXPR_FLOAT: print_float(p, e, prec); return;
    case GPUC_EXPR_CAST: print_cast(p, e, prec); return;
    case GPUC_EXPR_OP: print_op(p, e, prec); return;
    case GPUC_EXPR_LOAD: p->lang->load(p, e, prec); return;
    case GPUC_EXPR_RAMP: p->lang->ramp(p, e, prec); return;
    case GPUC_EXPR_BROADCAST: p->lang->broadcast(p, e, prec); return;
    case GPUC_EXPR_LANE: print_lane(p, e, prec); return;
    case GPUC_EXPR_VECTOR: p->lang->vector(p, held(p, e->dtype), gpuc_as_vector(e)->a); return;
    case GPUC_EXPR_CALL: print_call(p, e, prec); return;
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    gpuc_raise(p->ctx, GPUC_INTERNAL, "kernel '%s' reads a tensor or reduces, so it was not lowered: %s",
               p->func->name, gpuc_expr_text(p->ctx, e));
}
