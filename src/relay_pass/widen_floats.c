/* SPDX-License-Identifier: Apache-2.0 */
/* Computes networks of float16 and bfloat16 in float32 where the processor has no arithmetic for them (the
 * target c, and targets with simd_lanes). Each operator would convert its operands and round its result,
 * which takes longer than the operator, and the driver's compiler longer still: with this pass mobilenet_v2
 * of float16 takes a third of the time on pocl and a sixteenth on llvmpipe. Inputs and outputs keep their
 * types, casts of the model still round, and weights take twice the memory. (ONNX Runtime does the same on
 * CPUs.) --disable-pass widen_floats rounds the result of every operator. */
#include "relay_pass/common/util.h"
#include "base/element.h"

static bool is_narrow(const gpuc_rtype *t)
{
    gpuc_dtype d = t->tensor.dtype;
    return t->kind == GPUC_RTYPE_TENSOR && d.bits < 32 && gpuc_is_float(d);
}

/* e with the types that the model gives it. */
static gpuc_rexpr *as_declared(gpuc_ctx *ctx, gpuc_rexpr *e, const gpuc_rtype *t)
{
    if (is_narrow(t)) return gpuc_relay_pass_cast(ctx, e, t->tensor.dtype);
    if (t->kind != GPUC_RTYPE_TUPLE || gpuc_relay_rtype_equal(e->type, t)) return e;
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
    for (int i = 0; i < t->n; i++) fields[i] = as_declared(ctx, gpuc_relay_get(ctx, e, i), t->at[i]);
    return gpuc_relay_tuple(ctx, t->n, fields);
}

static gpuc_rexpr *widen_constant(gpuc_relay_pass_ctx *p, const gpuc_rconstant *c, bool release)
{
    const gpuc_tensor_type *t = &c->base.type->tensor;
    gpuc_tensor_type wide = *t;
    wide.dtype = GPUC_FLOAT32;
    gpuc_const_data *data =
        gpuc_relay_const_data_create(p->ctx, (size_t)gpuc_relay_tensor_type_bytes(p->ctx, &wide));
    const char *from = c->data->bytes;
    float *to = data->bytes;
    for (size_t i = 0; i < data->size / sizeof *to; i++)
        to[i] = (float)gpuc_float_load(t->dtype, from + i * gpuc_dtype_bytes(t->dtype));
    if (release) gpuc_relay_const_data_release(c->data);
    return gpuc_relay_constant(p->ctx, gpuc_relay_rtype_tensor(p->ctx, wide.dtype, wide.ndim, wide.dims),
                               data);
}

static gpuc_rexpr *widen_call(gpuc_ctx *ctx, const gpuc_rcall *c, const gpuc_map *wide)
{
    const gpuc_op *op = gpuc_relay_call_op(&c->base);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
    bool changed = is_narrow(c->base.type);
    for (int i = 0; i < c->n; i++) {
        args[i] = gpuc_map_get(wide, c->args[i]);
        changed = changed || args[i] != c->args[i];
    }
    if (!changed) return (gpuc_rexpr *)c;
    if (gpuc_relay_is_op(&c->base, "cast")) {
        gpuc_rexpr *rounded = gpuc_relay_pass_cast(ctx, args[0], c->base.type->tensor.dtype);
        return is_narrow(c->base.type) ? gpuc_relay_pass_cast(ctx, rounded, GPUC_FLOAT32) : rounded;
    }
    const gpuc_attrs *attrs = c->attrs;
    for (int i = 0; attrs && i < c->attrs->count; i++) {
        const gpuc_attr *a = &c->attrs->at[i];
        gpuc_rtype type = {.kind = GPUC_RTYPE_TENSOR, .tensor.dtype = a->dtype};
        if (a->kind == GPUC_ATTR_DTYPE && is_narrow(&type))
            attrs = gpuc_attrs_dtype(ctx, attrs, a->name, GPUC_FLOAT32);
    }
    return gpuc_relay_op(ctx, op->name, attrs, c->n, args);
}

static gpuc_rexpr *widen(gpuc_relay_pass_ctx *p, gpuc_rexpr *e, const gpuc_map *wide, bool release)
{
    gpuc_ctx *ctx = p->ctx;
    if (e->kind == GPUC_REXPR_CALL) return widen_call(ctx, gpuc_as_rcall(e), wide);
    if (e->kind == GPUC_REXPR_VAR && is_narrow(e->type)) return gpuc_relay_pass_cast(ctx, e, GPUC_FLOAT32);
    if (e->kind == GPUC_REXPR_CONSTANT && is_narrow(e->type))
        return widen_constant(p, gpuc_as_rconstant(e), release);
    if (e->kind == GPUC_REXPR_GET) {
        gpuc_rexpr *tuple = gpuc_map_get(wide, gpuc_as_rget(e)->tuple);
        return tuple == gpuc_as_rget(e)->tuple ? e : gpuc_relay_get(ctx, tuple, gpuc_as_rget(e)->index);
    }
    if (e->kind != GPUC_REXPR_TUPLE) return e;
    const gpuc_rtuple *t = gpuc_as_rtuple(e);
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
    bool changed = false;
    for (int i = 0; i < t->n; i++) {
        fields[i] = gpuc_map_get(wide, t->fields[i]);
        changed = changed || fields[i] != t->fields[i];
    }
    return changed ? gpuc_relay_tuple(ctx, t->n, fields) : e;
}

/* Whether the functions hold operators only, of which none depends on the bits of a type, and at least one
 * computes. */
static bool can_widen(const gpuc_ptrs *order)
{
    bool computes = false;
    for (size_t i = 0; i < order->count; i++) {
        const gpuc_rexpr *e = order->at[i];
        switch (e->kind) {
        case GPUC_REXPR_CALL:
            if (!gpuc_relay_call_op(e) || gpuc_relay_is_op(e, "reinterpret")) return false;
            computes = computes || is_narrow(e->type);
            break;
        case GPUC_REXPR_VAR:
        case GPUC_REXPR_CONSTANT:
        case GPUC_REXPR_OP:
        case GPUC_REXPR_TUPLE:
        case GPUC_REXPR_GET: break;
        case GPUC_REXPR_GLOBAL:
        case GPUC_REXPR_LET:
        case GPUC_REXPR_FUNCTION:
        case GPUC_REXPR_IF:
        case GPUC_REXPR_MATCH:
        case GPUC_REXPR_CONSTRUCTOR:
        case GPUC_REXPR_KIND_COUNT: return false;
        }
    }
    return computes;
}

void gpuc_relay_pass_widen_floats(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    if (!gpuc_target_is_software(p->target)) return;
    for (uint32_t i = 0; i < functions->count; i++) {
        const gpuc_rfunction *f = gpuc_as_rfunction(functions->entries[i].value);
        gpuc_ptrs order = {0};
        gpuc_map wide;
        gpuc_relay_post_order(p->ctx, f->body, true, &order);
        if (!can_widen(&order)) continue;
        gpuc_map_init(&wide, p->ctx);
        for (size_t k = 0; k < order.count; k++) {
            gpuc_rexpr *e = order.at[k], *w = widen(p, e, &wide, !p->keep_constants && functions->count == 1);
            gpuc_map_set(&wide, e, w == e ? e : gpuc_relay_with_source(p->ctx, w, e->source));
        }
        gpuc_rexpr *body = as_declared(p->ctx, gpuc_map_get(&wide, f->body), f->body->type);
        if (body == f->body) continue;
        gpuc_rexpr *new = gpuc_relay_function_with(p->ctx, f, f->params, body);
        gpuc_relay_infer_type(p->ctx, p->module, new);
        functions->entries[i].value = new;
    }
}
