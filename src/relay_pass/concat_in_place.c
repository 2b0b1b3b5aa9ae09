/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the kernel of a concatenation whose operands nothing else reads: the functions that compute them
 * store directly into their places in the result. */
#include "relay_pass/common/util.h"

/* Places start at multiples of this, so that vectors that were aligned stay aligned. */
enum { PLACE_MULTIPLE = 4 };

bool gpuc_relay_pass_place_of(const gpuc_rcall *c, gpuc_relay_place *out)
{
    const gpuc_attr *a = gpuc_attrs_find(c->attrs, "place");
    if (a) *out = (gpuc_relay_place){(int)a->ints[0], a->ints[1], a->ints[2]};
    return a != NULL;
}

bool gpuc_relay_pass_is_joined(const gpuc_rcall *c)
{
    return gpuc_attrs_get_int(c->attrs, "joined", 0) != 0;
}

static const gpuc_rexpr *below_aliases(const gpuc_rexpr *e)
{
    for (const gpuc_op *op; (op = gpuc_relay_call_op(e)) && op->alias;) e = gpuc_as_rcall(e)->args[0];
    return e;
}

/* The axis of t that has this extent, where an element has `behind` elements in the dimensions after it; -1:
 * none. */
static int find_axis(const gpuc_tensor_type *t, int64_t extent, int64_t behind)
{
    int64_t inner = 1, d;
    for (int axis = t->ndim - 1; axis >= 0 && gpuc_expr_is_int(t->dims[axis], &d); axis--) {
        if (inner == behind && d == extent) return axis;
        if (__builtin_mul_overflow(inner, d, &inner) || inner > behind) break;
    }
    return -1;
}

static bool has_anchor(gpuc_ctx *ctx, const gpuc_rfunction *f)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, f->body, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_op *op = gpuc_relay_call_op(order.at[i]);
        if (op && op->pattern == GPUC_FUSE_OUT_FUSABLE) return true;
    }
    return false;
}

typedef struct in_place {
    const gpuc_relay_pass_ctx *p;
    gpuc_map uses;
} in_place;

/* Whether the value has no other use and is computed by a function with a product or a convolution. Other
 * functions are bound by memory, and their loops assume that rows are contiguous, so they gain nothing. */
static bool can_store_elsewhere(const in_place *x, gpuc_ctx *ctx, const gpuc_rexpr *old)
{
    if (old->kind != GPUC_REXPR_CALL || gpuc_relay_uses(&x->uses, old) != 1 ||
        old->type->kind != GPUC_RTYPE_TENSOR)
        return false;
    const gpuc_rcall *c = gpuc_as_rcall(old);
    if (c->callee->kind != GPUC_REXPR_FUNCTION) return false;
    const gpuc_rfunction *f = gpuc_as_rfunction(c->callee);
    return !gpuc_attrs_find(f->attrs, "compiler") && has_anchor(ctx, f) &&
           !gpuc_relay_pass_function_needs_fallback(ctx, x->p->target, f);
}

static int param_number(const gpuc_rfunction *f, const gpuc_rexpr *var)
{
    for (int i = 0; i < f->n; i++)
        if (f->params[i] == var) return i;
    return -1;
}

/* places[i]: the place of argument i. */
static bool find_places(const in_place *x, gpuc_ctx *ctx, const gpuc_rexpr *old, gpuc_relay_place *places)
{
    const gpuc_rcall *c = gpuc_as_rcall(old);
    const gpuc_rfunction *f = gpuc_as_rfunction(c->callee);
    const gpuc_rexpr *root = below_aliases(f->body);
    if (!gpuc_relay_is_op(root, "concatenate")) return false;
    const gpuc_rcall *join = gpuc_as_rcall(root);
    const gpuc_tensor_type *whole = gpuc_relay_tensor_type(root);
    if (join->n != c->n || join->n < 2) return false;
    int axis = (int)gpuc_attrs_get_int(join->attrs, "axis", 0);
    if (axis < 0) axis += whole->ndim;
    int64_t behind = 1, total, begin = 0, d;
    for (int i = axis + 1; i < whole->ndim; i++)
        if (!gpuc_expr_is_int(whole->dims[i], &d) || __builtin_mul_overflow(behind, d, &behind)) return false;
    if (!gpuc_expr_is_int(whole->dims[axis], &total)) return false;
    for (int i = 0; i < c->n; i++) places[i].axis = -1;
    for (int i = 0; i < join->n; i++) {
        int arg = param_number(f, below_aliases(join->args[i]));
        if (arg < 0 || places[arg].axis >= 0 || !can_store_elsewhere(x, ctx, c->args[arg])) return false;
        if (!gpuc_expr_is_int(gpuc_relay_tensor_type(join->args[i])->dims[axis], &d)) return false;
        places[arg] = (gpuc_relay_place){.axis = find_axis(gpuc_relay_tensor_type(c->args[arg]), d, behind),
                                         .begin = begin,
                                         .extent = total};
        if (places[arg].axis < 0 || begin * behind % PLACE_MULTIPLE) return false;
        begin += d;
    }
    return total * behind % PLACE_MULTIPLE == 0;
}

static gpuc_rexpr *with_attrs(gpuc_ctx *ctx, const gpuc_rexpr *call, const gpuc_attrs *attrs,
                              gpuc_rexpr *const *args)
{
    const gpuc_rcall *c = gpuc_as_rcall(call);
    gpuc_rexpr *out = gpuc_relay_call(ctx, c->callee, attrs, c->n, args);
    out->type = call->type;
    return gpuc_relay_with_source(ctx, out, call->source);
}

static gpuc_rexpr *place(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    const in_place *x = arg;
    if (old->kind != GPUC_REXPR_CALL || gpuc_as_rcall(old)->callee->kind != GPUC_REXPR_FUNCTION) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_relay_place *places = gpuc_new_array(ctx, gpuc_relay_place, c->n);
    if (!find_places(x, ctx, old, places)) return e;
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++) {
        const int64_t at[] = {places[i].axis, places[i].begin, places[i].extent};
        args[i] = with_attrs(ctx, c->args[i], gpuc_attrs_ints(ctx, NULL, "place", 3, at),
                             gpuc_as_rcall(c->args[i])->args);
    }
    return with_attrs(ctx, e, gpuc_attrs_int(ctx, NULL, "joined", 1), args);
}

void gpuc_relay_pass_concat_in_place(gpuc_relay_pass_ctx *p)
{
    in_place x = {.p = p};
    gpuc_rexpr *main_fn = gpuc_rmodule_get(p->module, "main");
    const gpuc_rfunction *f = gpuc_as_rfunction(main_fn);
    gpuc_relay_pass_count_uses(p->ctx, f->body, &x.uses);
    gpuc_rexpr *body = gpuc_relay_rewrite(p->ctx, f->body, place, &x);
    if (body != f->body)
        gpuc_strmap_set(&p->module->functions, "main",
                        gpuc_relay_function(p->ctx, f->n, f->params, body, f->attrs));
}
