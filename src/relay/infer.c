/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference: one node from its children, and whole expressions in post-order. */
#include "relay/infer.h"
#include "relay/solve.h"

#include <string.h>

#include "op/dynamic.h"

enum { MAX_ELEMENTS = 2 * GPUC_OP_MAX_DIMS /* of a list of extents: pairs are the most */ };

static bool small_integers(const gpuc_tensor_type *t, int64_t *count)
{
    if (t->dtype.code != GPUC_DTYPE_INT && t->dtype.code != GPUC_DTYPE_UINT &&
        t->dtype.code != GPUC_DTYPE_BOOL)
        return false;
    *count = 1;
    for (int i = 0; i < t->ndim; i++) {
        int64_t d;
        if (!t->dims[i] || !gpuc_expr_is_int(t->dims[i], &d) || d < 0 || d > GPUC_OP_MAX_VALUES) return false;
        *count *= d;
        if (*count > GPUC_OP_MAX_VALUES) return false;
    }
    return true;
}

int64_t gpuc_relay_read_integer(const void *p, gpuc_dtype t)
{
    bool is_signed = t.code == GPUC_DTYPE_INT;
    switch (t.bits) {
    case 8: return is_signed ? *(const int8_t *)p : *(const uint8_t *)p;
    case 16: return is_signed ? *(const int16_t *)p : *(const uint16_t *)p;
    case 32: return is_signed ? (int64_t) * (const int32_t *)p : (int64_t) * (const uint32_t *)p;
    default: return *(const int64_t *)p;
    }
}

void gpuc_relay_constant_values(gpuc_ctx *ctx, gpuc_rexpr *constant)
{
    const gpuc_rconstant *c = gpuc_as_rconstant(constant);
    const gpuc_tensor_type *t = &constant->type->tensor;
    int64_t count;
    if (!small_integers(t, &count)) return;
    gpuc_expr *values = gpuc_new_array(ctx, gpuc_expr, count ? count : 1);
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *p = (const uint8_t *)c->data->bytes + (size_t)i * gpuc_dtype_bytes(t->dtype);
        values[i] = gpuc_int(ctx, gpuc_relay_read_integer(p, t->dtype));
    }
    constant->values = values;
}

const gpuc_expr *gpuc_relay_elements(gpuc_ctx *ctx, const gpuc_rexpr *e)
{
    int64_t count = 1, d = 0;
    if (e->values || e->kind != GPUC_REXPR_CONSTANT) return e->values;
    const gpuc_tensor_type *t = &e->type->tensor;
    for (int i = 0; i < t->ndim; i++) {
        gpuc_expr_is_int(t->dims[i], &d);
        count = d > MAX_ELEMENTS ? MAX_ELEMENTS + 1 : count * d;
        if (count > MAX_ELEMENTS) return NULL;
    }
    gpuc_expr *out = gpuc_new_array(ctx, gpuc_expr, count + 1);
    for (int64_t i = 0; i < count; i++) out[i] = gpuc_relay_const_element(ctx, gpuc_as_rconstant(e), i);
    return out;
}

static void infer(gpuc_ctx *ctx, const gpuc_rexpr *e, gpuc_op_call *call)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_as_rop(c->callee)->op;
    const gpuc_op_dynamic *d = gpuc_op_dynamic_find(op->name, c->attrs);
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    const gpuc_expr **values = gpuc_new_array(ctx, const gpuc_expr *, c->n);
    for (int i = 0; i < c->n; i++) {
        const gpuc_rtype *t = c->args[i]->type;
        if (!t || t->kind != GPUC_RTYPE_TENSOR)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: input %d is not a tensor%s%s", op->name, i,
                       *e->source ? " in " : "", e->source);
        in[i] = t->tensor;
        bool extents = d && gpuc_op_dynamic_at(d, i) >= 0;
        values[i] = extents ? gpuc_relay_elements(ctx, c->args[i]) : c->args[i]->values;
    }
    call->ctx = ctx;
    call->op = op;
    call->attrs = c->attrs;
    call->num_in = c->n;
    call->in = in;
    call->in_values = values;
    gpuc_op_infer(call);
}

void gpuc_relay_conditions(gpuc_ctx *ctx, const gpuc_rexpr *e, gpuc_ptrs *out)
{
    gpuc_tensor_type types[GPUC_OP_MAX_OUT] = {0};
    const gpuc_expr *values[GPUC_OP_MAX_OUT] = {0};
    gpuc_op_call call = {.out = types, .out_values = values, .conditions = out};
    infer(ctx, e, &call);
}

static bool is_input_dim(const gpuc_op_call *call, gpuc_expr dim)
{
    bool found = false;
    for (int i = 0; i < call->num_in; i++)
        for (int k = 0; k < call->in[i].ndim; k++) found |= call->in[i].dims[k] == dim;
    return found;
}

/* Dimension k of result i, if t is known to be the type of all results, and it is a `?` there. */
static gpuc_expr old_any_dim(const gpuc_rtype *t, int i, int k)
{
    if (t && t->kind == GPUC_RTYPE_TUPLE) t = i < t->n ? t->at[i] : NULL;
    bool is_there = t && t->kind == GPUC_RTYPE_TENSOR && k < t->tensor.ndim &&
                    t->tensor.dims[k]->kind == GPUC_EXPR_VAR && gpuc_relay_is_any_dim(t->tensor.dims[k]);
    return is_there ? t->tensor.dims[k] : NULL;
}

/* Sizes that tensors hold are symbols of their own. They stay when types are inferred again: attributes of nodes behind
 * name them. */
static void name_sizes(gpuc_ctx *ctx, const gpuc_rexpr *e, gpuc_op_call *call)
{
    const gpuc_rtype *old = e->type ? e->type : e->type_before;
    gpuc_map names;
    if (!gpuc_op_dynamic_find(call->op->name, gpuc_as_rcall(e)->attrs)) return;
    gpuc_map_init(&names, ctx);
    for (int i = 0; i < call->num_out; i++) {
        gpuc_tensor_type *t = &call->out[i];
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, t->ndim + 1);
        for (int k = 0; k < t->ndim; k++) {
            dims[k] = t->dims[k];
            if (!gpuc_relay_is_any_dim(dims[k]) || is_input_dim(call, dims[k])) continue;
            gpuc_expr name = gpuc_map_get(&names, dims[k]);
            if (!name) name = old_any_dim(old, i, k);
            if (!name) name = gpuc_relay_any_dim(ctx);
            gpuc_map_set(&names, dims[k], (void *)(uintptr_t)name);
            dims[k] = name;
        }
        t->dims = dims;
    }
}

void gpuc_relay_infer_call(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_tensor_type types[GPUC_OP_MAX_OUT] = {0};
    const gpuc_expr *values[GPUC_OP_MAX_OUT] = {0};
    gpuc_op_call call = {.out = types, .out_values = values};
    infer(ctx, e, &call);
    name_sizes(ctx, e, &call);
    if (call.num_out == 1) {
        e->type = gpuc_relay_rtype_tensor(ctx, call.out[0].dtype, call.out[0].ndim, call.out[0].dims);
        int64_t count;
        if (call.out_values[0] && small_integers(&e->type->tensor, &count)) e->values = call.out_values[0];
        return;
    }
    const gpuc_rtype **fields = gpuc_new_array(ctx, const gpuc_rtype *, call.num_out);
    for (int i = 0; i < call.num_out; i++)
        fields[i] = gpuc_relay_rtype_tensor(ctx, call.out[i].dtype, call.out[i].ndim, call.out[i].dims);
    e->type = gpuc_relay_rtype_tuple(ctx, call.num_out, fields);
}

/* A call of a local function: what functions around it name, inference of the whole program tells from its own sizes. */
static const gpuc_rtype *stay_unknown(gpuc_ctx *ctx, const gpuc_rtype *t, const gpuc_rtype *before)
{
    if (!before || !before->unknown || t->kind != before->kind || t->n != before->n) return t;
    if (t->kind == GPUC_RTYPE_TENSOR && t->tensor.ndim == before->tensor.ndim) {
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, t->tensor.ndim + 1);
        for (int i = 0; i < t->tensor.ndim; i++)
            dims[i] = (gpuc_relay_is_any_dim(before->tensor.dims[i]) ? before : t)->tensor.dims[i];
        return gpuc_relay_rtype_tensor(ctx, t->tensor.dtype, t->tensor.ndim, dims);
    }
    if (t->kind != GPUC_RTYPE_TUPLE) return t;
    const gpuc_rtype **at = gpuc_new_array(ctx, const gpuc_rtype *, t->n + 1);
    for (int i = 0; i < t->n; i++) at[i] = stay_unknown(ctx, t->at[i], before->at[i]);
    return gpuc_relay_rtype_tuple(ctx, t->n, at);
}

/* NULL: a recursive global, and the caller's annotation decides. */
static const gpuc_rtype *callee_result(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_rcall *c)
{
    const gpuc_rexpr *callee = c->callee;
    bool is_global = callee->kind == GPUC_REXPR_GLOBAL;
    if (is_global && m) callee = gpuc_rmodule_get(m, gpuc_as_rglobal(callee)->name);
    const gpuc_rtype *t = callee->type;
    if (!t) return NULL;
    if (t->kind != GPUC_RTYPE_FUNC)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a call's callee is not a function");
    if (t->n != c->n)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a function of %d parameters is called with %d arguments",
                   t->n, c->n);
    gpuc_map sizes;
    gpuc_map_init(&sizes, ctx);
    for (int i = 0; i < c->n; i++)
        if (c->args[i]->type) gpuc_relay_note_named_sizes(&sizes, t->at[i], c->args[i]->type);
    const gpuc_rtype *ret = gpuc_relay_with_named_sizes(ctx, t->ret, &sizes, is_global);
    if (!is_global) ret = stay_unknown(ctx, ret, c->base.type_before);
    if (t->num_params != c->num_type_args) return ret;
    return gpuc_relay_rtype_substitute(ctx, ret, t->num_params, t->params, c->type_args);
}

/* The type that both branches fit: where their dims differ, the dim is unknown; where one function has type parameters,
 * it is used as the other. */
static const gpuc_rtype *join(gpuc_ctx *ctx, const gpuc_rtype *a, const gpuc_rtype *b)
{
    if (gpuc_relay_rtype_equal(a, b) || !b) return a;
    if (!a) return b;
    if (a->kind != b->kind || a->n != b->n)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "branches have different types");
    if (a->kind == GPUC_RTYPE_TENSOR) {
        if (!gpuc_dtype_equal(a->tensor.dtype, b->tensor.dtype) || a->tensor.ndim != b->tensor.ndim)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "branches give tensors of different element types or ranks");
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, a->tensor.ndim);
        for (int i = 0; i < a->tensor.ndim; i++)
            dims[i] = a->tensor.dims[i] == b->tensor.dims[i] ? a->tensor.dims[i] : gpuc_relay_any_dim(ctx);
        return gpuc_relay_rtype_tensor(ctx, a->tensor.dtype, a->tensor.ndim, dims);
    }
    if (a->kind == GPUC_RTYPE_FUNC) return gpuc_relay_join_functions(ctx, a, b);
    if (a->kind != GPUC_RTYPE_TUPLE && a->kind != GPUC_RTYPE_ADT) return a;
    const gpuc_rtype **fields = gpuc_new_array(ctx, const gpuc_rtype *, a->n);
    for (int i = 0; i < a->n; i++) fields[i] = join(ctx, a->at[i], b->at[i]);
    return a->kind == GPUC_RTYPE_TUPLE ? gpuc_relay_rtype_tuple(ctx, a->n, fields)
                                       : gpuc_relay_rtype_adt(ctx, a->adt, a->n, fields);
}

void gpuc_relay_infer_node(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *e)
{
    switch (e->kind) {
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    case GPUC_REXPR_GLOBAL:
        if (m) e->type = gpuc_rmodule_get(m, gpuc_as_rglobal(e)->name)->type;
        break;
    case GPUC_REXPR_CALL: {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        if (c->callee->kind == GPUC_REXPR_OP)
            gpuc_relay_infer_call(ctx, e);
        else if (!e->type)
            e->type = gpuc_relay_rtype_keep_any(ctx, callee_result(ctx, m, c), e->type_before);
        break;
    }
    case GPUC_REXPR_TUPLE: {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        const gpuc_rtype **fields = gpuc_new_array(ctx, const gpuc_rtype *, t->n);
        for (int i = 0; i < t->n; i++) fields[i] = t->fields[i]->type;
        e->type = gpuc_relay_rtype_tuple(ctx, t->n, fields);
        break;
    }
    case GPUC_REXPR_GET: {
        const gpuc_rget *g = gpuc_as_rget(e);
        const gpuc_rtype *t = g->tuple->type;
        if (!t || t->kind != GPUC_RTYPE_TUPLE || g->index < 0 || g->index >= t->n)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "field %d is taken of what is not a tuple with as many",
                       g->index);
        e->type = t->at[g->index];
        break;
    }
    case GPUC_REXPR_LET: {
        const gpuc_rlet *l = gpuc_as_rlet(e);
        if (!l->var->type) l->var->type = l->value->type;
        if (!l->var->values) l->var->values = l->value->values;
        e->type = l->body->type;
        break;
    }
    case GPUC_REXPR_FUNCTION: {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        const gpuc_rtype **types = gpuc_new_array(ctx, const gpuc_rtype *, f->n);
        for (int i = 0; i < f->n; i++) types[i] = f->params[i]->type;
        const gpuc_rtype *ret = f->ret ? f->ret : f->body->type;
        if (ret) e->type = gpuc_relay_rtype_scheme(ctx, f->num_type_params, f->type_params, f->n, types, ret);
        break;
    }
    case GPUC_REXPR_IF:
        e->type = join(ctx, gpuc_as_rif(e)->then_branch->type, gpuc_as_rif(e)->else_branch->type);
        e->type = gpuc_relay_rtype_keep_any(ctx, e->type, e->type_before);
        break;
    case GPUC_REXPR_MATCH: {
        const gpuc_rmatch *match = gpuc_as_rmatch(e);
        const gpuc_rtype *t = NULL;
        for (int i = 0; i < match->n; i++) t = join(ctx, t, match->clauses[i].body->type);
        e->type = gpuc_relay_rtype_keep_any(ctx, t, e->type_before);
        break;
    }
    }
}

void gpuc_relay_infer_type(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) gpuc_relay_infer_node(ctx, m, order.at[i]);
}
