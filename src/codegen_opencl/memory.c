/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: what they are declared as, loads and stores of scalars and vectors. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/lanes.h"
#include "codegen_opencl/private.h"

/* Held in memory as half, in registers as float. */
static bool half_in_memory(gpuc_clike *p, const gpuc_tir_buffer *b)
{
    return b->dtype.code == GPUC_DTYPE_FLOAT && b->dtype.bits == 16 && !p->target->float16 &&
           gpuc_clike_buffer_of(p, b)->param;
}

void gpuc_opencl_pointer(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr start)
{
    gpuc_put(p, "%s", gpuc_clike_buf(p, b));
    int64_t at;
    if (gpuc_expr_is_int(start, &at) && at == 0) return;
    gpuc_put(p, " + ");
    if (gpuc_expr_is_int(start, &at))
        gpuc_put(p, "%" PRId64, at);
    else
        gpuc_clike_expr(p, start, GPUC_PREC_ADD);
}

void gpuc_opencl_load(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    int lanes = e->dtype.lanes;
    if (lanes == 1 && half_in_memory(p, n->buffer)) {
        gpuc_put(p, "vload_half(");
        gpuc_clike_expr(p, n->index[0], GPUC_PREC_ASSIGN);
        gpuc_put(p, ", %s)", gpuc_clike_buf(p, n->buffer));
        return;
    }
    if (gpuc_clike_load(p, e, prec)) return;
    bool truth = gpuc_is_bool(e->dtype);
    if (truth) gpuc_clike_open(p, prec, GPUC_PREC_EQ);
    if (half_in_memory(p, n->buffer)) {
        gpuc_clike_helper(p, "loadhalf", gpuc_opencl_held(p, e->dtype));
        gpuc_put(p, "(");
    } else {
        gpuc_put(p, "vload%d(0, ", lanes);
    }
    gpuc_opencl_pointer(p, n->buffer, gpuc_lower_contiguous(n->index[0]));
    gpuc_put(p, ")");
    if (!truth) return;
    gpuc_put(p, " != (uchar%d)(0)", lanes);
    gpuc_clike_close(p, prec, GPUC_PREC_EQ);
}

/* Drops a cast of a float to float16 in front of a store, since the store rounds. */
static gpuc_expr unrounded(gpuc_expr value)
{
    if (value->kind != GPUC_EXPR_CAST) return value;
    gpuc_expr a = gpuc_as_cast(value)->a;
    return a->dtype.code == GPUC_DTYPE_FLOAT && a->dtype.bits >= 32 ? a : value;
}

static void store_half(gpuc_clike *p, const gpuc_tir_store_node *n)
{
    gpuc_expr value = unrounded(gpuc_clike_promoted(p, n->value));
    if (value->dtype.lanes > 1) {
        gpuc_clike_helper(p, "storehalf", gpuc_opencl_held(p, value->dtype));
        gpuc_put(p, "(");
        gpuc_opencl_pointer(p, n->buffer, gpuc_lower_contiguous(n->index[0]));
        gpuc_put(p, ", ");
        gpuc_clike_expr(p, value, GPUC_PREC_ASSIGN);
    } else {
        gpuc_put(p, "vstore_half_rte(");
        gpuc_clike_expr(p, value, GPUC_PREC_ASSIGN);
        gpuc_put(p, ", ");
        gpuc_clike_expr(p, n->index[0], GPUC_PREC_ASSIGN);
        gpuc_put(p, ", %s", gpuc_clike_buf(p, n->buffer));
    }
    gpuc_put(p, ")");
}

static void print_vector(gpuc_clike *p, gpuc_expr value)
{
    if (!gpuc_is_bool(value->dtype)) {
        gpuc_clike_expr(p, value, GPUC_PREC_ASSIGN);
        return;
    }
    gpuc_put(p, "as_uchar%d(-", value->dtype.lanes);
    gpuc_clike_mask(p, value, 8, GPUC_PREC_UNARY);
    gpuc_put(p, ")");
}

static void store_vector(gpuc_clike *p, const gpuc_tir_store_node *n)
{
    gpuc_dtype t = n->value->dtype;
    gpuc_expr start = gpuc_lower_contiguous(n->index[0]);
    if (n->buffer->non_temporal) {
        gpuc_clike_helper(p, "stream",
                          gpuc_is_bool(t) ? gpuc_dtype_with_lanes(GPUC_UINT8, t.lanes)
                                          : gpuc_opencl_held(p, t));
        gpuc_put(p, "(");
        gpuc_opencl_pointer(p, n->buffer, start);
        gpuc_put(p, ", ");
        print_vector(p, n->value);
    } else {
        gpuc_put(p, "vstore%d(", t.lanes);
        print_vector(p, n->value);
        gpuc_put(p, ", 0, ");
        gpuc_opencl_pointer(p, n->buffer, start);
    }
    gpuc_put(p, ")");
}

/* ---- Images ------------------------------------------------------------------------------------------- */

static void print_place(gpuc_clike *p, const gpuc_tir_call_node *n)
{
    gpuc_put(p, "%s, (int2)(", gpuc_clike_buf(p, n->buffer));
    gpuc_clike_expr(p, gpuc_cast(p->ctx, GPUC_INT32, n->args[1]), GPUC_PREC_ASSIGN);
    gpuc_put(p, ", ");
    gpuc_clike_expr(p, gpuc_cast(p->ctx, GPUC_INT32, n->args[0]), GPUC_PREC_ASSIGN);
    gpuc_put(p, ")");
}

static void print_convert(gpuc_clike *p, gpuc_dtype t)
{
    gpuc_put(p, "convert_");
    p->lang->type(p, t);
}

void gpuc_opencl_read_texel(gpuc_clike *p, gpuc_expr e)
{
    bool whole = !gpuc_is_float(e->dtype), single = gpuc_opencl_held(p, e->dtype).bits == 32 && !whole;
    if (!single) print_convert(p, e->dtype);
    gpuc_put(p, single ? "read_imagef(" : whole ? "_sat_rte(255.0f * read_imagef(" : "(read_imagef(");
    print_place(p, gpuc_as_call(e));
    gpuc_put(p, ")%s%s", e->dtype.lanes == 1 ? ".x" : "", single ? "" : ")");
}

void gpuc_opencl_write_texel(gpuc_clike *p, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_dtype single = gpuc_dtype_with_lanes(GPUC_FLOAT32, e->dtype.lanes);
    gpuc_expr value = gpuc_cast(p->ctx, single, n->args[2]);
    if (!gpuc_is_float(e->dtype))
        value = gpuc_div(p->ctx, value,
                         gpuc_tir_broadcast(p->ctx, gpuc_imm(p->ctx, GPUC_FLOAT32, 255), single.lanes));
    gpuc_put(p, "write_imagef(");
    print_place(p, n);
    gpuc_put(p, ", ");
    if (single.lanes == 1) gpuc_put(p, "(float4)(");
    gpuc_clike_expr(p, value, GPUC_PREC_ASSIGN);
    gpuc_put(p, single.lanes == 1 ? ", 0.0f, 0.0f, 1.0f))" : ")");
}

void gpuc_opencl_store(gpuc_clike *p, gpuc_stmt s)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    if (half_in_memory(p, n->buffer))
        store_half(p, n);
    else if (!gpuc_clike_store(p, n))
        store_vector(p, n);
}
