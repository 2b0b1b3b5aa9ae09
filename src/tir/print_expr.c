/* SPDX-License-Identifier: Apache-2.0 */
/* Prints expressions as text that the parser reads back. */
#include <math.h>

#include "tir/fold.h"
#include "tir/ops.h"
#include "tir/print.h"

static bool is_constant(gpuc_expr e)
{
    gpuc_tir_value v;
    return gpuc_tir_const_get(e, &v);
}

static void print_list(gpuc_tir_printer *p, int n, const gpuc_expr *list)
{
    for (int i = 0; i < n; i++) {
        if (i) gpuc_buf_str(p->out, ", ");
        gpuc_tir_printer_expr(p, list[i], 0, false);
    }
}

static void print_type(gpuc_tir_printer *p, gpuc_dtype t)
{
    char name[24];
    gpuc_buf_str(p->out, gpuc_dtype_name(t, name));
}

static void print_int(gpuc_tir_printer *p, gpuc_expr e, bool plain)
{
    int64_t v = gpuc_as_int(e)->value;
    bool wide = e->dtype.code == GPUC_DTYPE_UINT && v < 0;
    if (gpuc_is_bool(e->dtype)) {
        gpuc_buf_str(p->out, v ? "true" : "false");
        return;
    }
    bool typed = !gpuc_dtype_equal(e->dtype, GPUC_INDEX) && (!plain || wide);
    if (typed) {
        print_type(p, e->dtype);
        gpuc_buf_str(p->out, "(");
    }
    if (wide)
        gpuc_buf_printf(p->out, "%llu", (unsigned long long)v);
    else
        gpuc_buf_printf(p->out, "%lld", (long long)v);
    if (typed) gpuc_buf_str(p->out, ")");
}

static void print_float(gpuc_tir_printer *p, gpuc_expr e)
{
    bool typed = !gpuc_dtype_equal(e->dtype, GPUC_FLOAT32);
    if (typed) {
        print_type(p, e->dtype);
        gpuc_buf_str(p->out, "(");
    }
    gpuc_tir_print_float(p->out, e->dtype, gpuc_as_float(e)->value);
    if (typed) gpuc_buf_str(p->out, ")");
}

static bool is_negation(const gpuc_tir_opexpr_node *n)
{
    gpuc_tir_value v;
    if (n->op != GPUC_TIR_SUB || !gpuc_tir_const_get(n->a[0], &v)) return false;
    return gpuc_is_float(n->base.dtype) ? v.f == 0 && signbit(v.f) : v.i == 0;
}

/* x + -3 reads x - 3 where 3 is of the type, and 3 < x reads x > 3; the parser's builders turn both back. */
static void print_infix(gpuc_tir_printer *p, const gpuc_tir_opexpr_node *n, int prec)
{
    int level = (int)gpuc_tir_op_precedence(n->op);
    gpuc_expr x = n->a[0], y = n->a[1];
    const char *text = gpuc_tir_ops[n->op].text;
    int64_t c;
    if (is_negation(n)) {
        gpuc_buf_str(p->out, "-");
        gpuc_tir_printer_expr(p, y, GPUC_PREC_UNARY, false);
        return;
    }
    if (level < prec) gpuc_buf_str(p->out, "(");
    if ((n->op == GPUC_TIR_LT || n->op == GPUC_TIR_LE) && is_constant(x)) {
        gpuc_expr swap = x;
        x = y;
        y = swap;
        text = n->op == GPUC_TIR_LT ? ">" : ">=";
    }
    gpuc_tir_printer_expr(p, x, level, !is_constant(y));
    if (n->op == GPUC_TIR_ADD && y->dtype.code == GPUC_DTYPE_INT && gpuc_expr_is_int(y, &c) && c < 0 &&
        c > (int64_t)(~UINT64_C(0) << (y->dtype.bits - 1)) && !is_constant(x)) {
        gpuc_buf_printf(p->out, " - %lld", (long long)-c);
    } else {
        gpuc_buf_printf(p->out, n->op == GPUC_TIR_MUL ? "%s" : " %s ", text);
        gpuc_tir_printer_expr(p, y, level + 1, !is_constant(x));
    }
    if (level < prec) gpuc_buf_str(p->out, ")");
}

static void print_op(gpuc_tir_printer *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    const gpuc_tir_op_info *info = &gpuc_tir_ops[n->op];
    if (gpuc_tir_op_precedence(n->op)) {
        print_infix(p, n, prec);
        return;
    }
    if (n->op == GPUC_TIR_NOT) {
        gpuc_buf_str(p->out, "!");
        gpuc_tir_printer_expr(p, n->a[0], GPUC_PREC_UNARY, false);
        return;
    }
    gpuc_buf_printf(p->out, "%s(", info->text);
    int first = info->result == GPUC_TIR_ARM ? 1 : 0;
    if (first) {
        gpuc_tir_printer_expr(p, n->a[0], 0, false);
        gpuc_buf_str(p->out, ", ");
    }
    bool pair = info->arity - first == 2;
    gpuc_tir_printer_expr(p, n->a[first], 0, pair && !is_constant(n->a[first + 1]));
    if (pair) {
        gpuc_buf_str(p->out, ", ");
        gpuc_tir_printer_expr(p, n->a[first + 1], 0, !is_constant(n->a[first]));
    }
    gpuc_buf_str(p->out, ")");
}

gpuc_dtype gpuc_tir_call_default_type(gpuc_tir_intrin fn, const gpuc_tir_buffer *buffer, int n,
                                      const gpuc_expr *args)
{
    if (fn == GPUC_TIR_CALL_EXTERN) return GPUC_INT32;
    if (fn == GPUC_TIR_CALL_ADDRESS || fn == GPUC_TIR_CALL_CONST_ADDRESS || fn == GPUC_TIR_CALL_STRIDE)
        return GPUC_INT64;
    if (buffer && (fn == GPUC_TIR_CALL_TEXTURE2D_LOAD || fn == GPUC_TIR_CALL_TEXTURE2D_STORE)) {
        int channels = gpuc_tir_image_channels(buffer);
        return gpuc_dtype_with_lanes(buffer->dtype, channels ? channels : 1);
    }
    if (buffer) return gpuc_dtype_with_lanes(buffer->dtype, n ? args[0]->dtype.lanes : 1);
    return n ? args[0]->dtype : GPUC_INT32;
}

static void print_call(gpuc_tir_printer *p, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_buf_str(p->out, gpuc_tir_intrins[n->fn].text);
    if (!gpuc_dtype_equal(e->dtype, gpuc_tir_call_default_type(n->fn, n->buffer, n->n, n->args))) {
        gpuc_buf_str(p->out, "<");
        print_type(p, e->dtype);
        gpuc_buf_str(p->out, ">");
    }
    gpuc_buf_str(p->out, "(");
    if (n->name) gpuc_tir_print_string(p->out, n->name);
    if (n->buffer)
        gpuc_buf_printf(p->out, "%s&%s", n->name ? ", " : "", gpuc_tir_names_buffer(&p->names, n->buffer));
    if ((n->name || n->buffer) && n->n) gpuc_buf_str(p->out, ", ");
    print_list(p, n->n, n->args);
    gpuc_buf_str(p->out, ")");
}

/* Tensors and reductions are of te and appear in its messages only; they do not parse. */
static void print_read(gpuc_tir_printer *p, const gpuc_tir_read_node *n)
{
    gpuc_tir_state *state = gpuc_tir_state_get(p->ctx);
    gpuc_buf_printf(p->out, "%s(", state->tensor_name ? state->tensor_name(n->tensor) : "tensor");
    print_list(p, n->n, n->index);
    gpuc_buf_str(p->out, ")");
}

static void print_reduce(gpuc_tir_printer *p, const gpuc_tir_reduce_node *n)
{
    gpuc_buf_printf(p->out, "reduce %s(", n->reducer->name);
    print_list(p, n->reducer->count, n->source);
    for (int i = 0; i < n->num_axes; i++) {
        gpuc_buf_printf(p->out, "; %s in ", gpuc_tir_names_var(&p->names, n->axes[i]->var));
        gpuc_tir_printer_expr(p, n->axes[i]->min, GPUC_PREC_ADD, true);
        gpuc_buf_str(p->out, gpuc_tir_is_const(n->axes[i]->min, 0) ? ".." : "..+");
        gpuc_tir_printer_expr(p, n->axes[i]->extent, 0, true);
    }
    if (n->condition) {
        gpuc_buf_str(p->out, "; where ");
        gpuc_tir_printer_expr(p, n->condition, 0, false);
    }
    gpuc_buf_str(p->out, ")");
    if (n->reducer->count > 1) gpuc_buf_printf(p->out, ".%d", n->value_index);
}

static void print_ramp(gpuc_tir_printer *p, const gpuc_tir_ramp_node *n)
{
    gpuc_buf_str(p->out, "ramp(");
    gpuc_tir_printer_expr(p, n->start, 0, !is_constant(n->stride));
    gpuc_buf_str(p->out, ", ");
    gpuc_tir_printer_expr(p, n->stride, 0, true);
    gpuc_buf_printf(p->out, ", %d)", n->base.dtype.lanes);
}

void gpuc_tir_printer_expr(gpuc_tir_printer *p, gpuc_expr e, int prec, bool plain)
{
    if (p->limit && p->out->size >= p->limit) {
        gpuc_buf_str(p->out, "...");
        return;
    }
    if (p->has_aliases) {
        uintptr_t number = (uintptr_t)gpuc_map_get(&p->aliases, e);
        if (number) {
            gpuc_buf_printf(p->out, "%%%u", (unsigned)number);
            return;
        }
    }
    switch (e->kind) {
    case GPUC_EXPR_VAR: gpuc_buf_str(p->out, gpuc_tir_names_var(&p->names, e)); return;
    case GPUC_EXPR_INT: print_int(p, e, plain); return;
    case GPUC_EXPR_FLOAT: print_float(p, e); return;
    case GPUC_EXPR_CAST:
        print_type(p, e->dtype);
        gpuc_buf_str(p->out, "(");
        gpuc_tir_printer_expr(p, gpuc_as_cast(e)->a, 0, false);
        gpuc_buf_str(p->out, ")");
        return;
    case GPUC_EXPR_OP: print_op(p, e, prec); return;
    case GPUC_EXPR_LOAD:
        gpuc_buf_printf(p->out, "%s[", gpuc_tir_names_buffer(&p->names, gpuc_as_load(e)->buffer));
        print_list(p, gpuc_as_load(e)->n, gpuc_as_load(e)->index);
        gpuc_buf_str(p->out, "]");
        return;
    case GPUC_EXPR_RAMP: print_ramp(p, gpuc_as_ramp(e)); return;
    case GPUC_EXPR_BROADCAST:
        gpuc_buf_str(p->out, "broadcast(");
        gpuc_tir_printer_expr(p, gpuc_as_broadcast(e)->a, 0, plain);
        gpuc_buf_printf(p->out, ", %d)", e->dtype.lanes);
        return;
    case GPUC_EXPR_LANE:
        gpuc_buf_str(p->out, "lane(");
        gpuc_tir_printer_expr(p, gpuc_as_lane(e)->a, 0, false);
        gpuc_buf_printf(p->out, ", %d)", gpuc_as_lane(e)->lane);
        return;
    case GPUC_EXPR_VECTOR:
        gpuc_buf_str(p->out, "vector(");
        print_list(p, e->dtype.lanes, gpuc_as_vector(e)->a);
        gpuc_buf_str(p->out, ")");
        return;
    case GPUC_EXPR_CALL: print_call(p, e); return;
    case GPUC_EXPR_READ: print_read(p, gpuc_as_read(e)); return;
    case GPUC_EXPR_REDUCE: print_reduce(p, gpuc_as_reduce(e)); return;
    case GPUC_EXPR_KIND_COUNT: return;
    }
}
