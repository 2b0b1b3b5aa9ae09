/* SPDX-License-Identifier: Apache-2.0 */
/* Drops operators that change nothing, and replaces others by cheaper ones. */
#include <string.h>

#include "relay_pass/common/rules.h"
#include "tir/tir.h"

static bool all_equal(const gpuc_attr *a, int64_t value)
{
    for (int i = 0; i < a->n; i++)
        if (a->ints[i] != value) return false;
    return true;
}

/* The tensor whose bytes an alias operator, or several on each other, give another shape. */
static gpuc_rexpr *aliased(gpuc_rexpr *e)
{
    do e = gpuc_as_rcall(e)->args[0];
    while (gpuc_relay_call_op(e) && gpuc_relay_call_op(e)->alias);
    return e;
}

static gpuc_rexpr *drop_alias(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    (void)ctx;
    gpuc_rexpr *in = aliased(e);
    return gpuc_relay_rtype_equal(in->type, e->type) ? in : NULL;
}

static gpuc_rexpr *join_aliases(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *in = aliased(e);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    if (in == gpuc_as_rcall(e)->args[0] && gpuc_relay_is_op(e, "reshape")) return NULL;
    for (int i = 0; i < t->ndim; i++)
        if (!t->dims[i]) return NULL;
    return gpuc_relay_pass_reshape(ctx, in, t->ndim, t->dims);
}

/* Sets perm[i] to the dimension of the operand that dimension i of the result comes from. */
static void get_perm(const gpuc_rexpr *transpose, int64_t *perm)
{
    const gpuc_attr *axes = gpuc_attrs_find(gpuc_as_rcall(transpose)->attrs, "axes");
    int n = gpuc_relay_tensor_type(transpose)->ndim;
    for (int i = 0; i < n; i++) {
        perm[i] = axes->n ? axes->ints[i] : n - 1 - i;
        if (perm[i] < 0) perm[i] += n;
    }
}

/* Only dimensions of extent 1 change places: the bytes stay as they are. */
static bool moves_nothing(const gpuc_tensor_type *in, const int64_t *perm)
{
    int64_t last = -1;
    for (int i = 0; i < in->ndim; i++) {
        if (!in->dims[i]) return false;
        if (gpuc_tir_is_const(in->dims[perm[i]], 1)) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

/* A transpose, perhaps of another one: their common operand and permutation. */
typedef struct permuted {
    gpuc_rexpr *in;
    int n;
    int64_t perm[64];
} permuted;

static bool get_permuted(gpuc_rexpr *e, permuted *p)
{
    *p = (permuted){.in = gpuc_as_rcall(e)->args[0], .n = gpuc_relay_tensor_type(e)->ndim};
    int64_t inner[64];
    if (p->n > 64) return false;
    get_perm(e, p->perm);
    if (!gpuc_relay_is_op(p->in, "transpose")) return true;
    get_perm(p->in, inner);
    for (int i = 0; i < p->n; i++) p->perm[i] = inner[p->perm[i]];
    p->in = gpuc_as_rcall(p->in)->args[0];
    return true;
}

static gpuc_rexpr *drop_transpose(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    (void)ctx;
    permuted p;
    if (!get_permuted(e, &p)) return NULL;
    for (int i = 0; i < p.n; i++)
        if (p.perm[i] != i) return NULL;
    return p.in;
}

static gpuc_rexpr *reshape_for_transpose(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    permuted p;
    if (!get_permuted(e, &p) || !moves_nothing(gpuc_relay_tensor_type(p.in), p.perm)) return NULL;
    return gpuc_relay_pass_reshape(ctx, p.in, p.n, gpuc_relay_tensor_type(e)->dims);
}

static gpuc_rexpr *join_transposes(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    permuted p;
    if (!get_permuted(e, &p) || p.in == gpuc_as_rcall(e)->args[0]) return NULL;
    return gpuc_relay_pass_transpose(ctx, p.in, p.perm);
}

/* Is it x to the power of this number, as written in decomposed norms and activations? */
static bool has_exponent(gpuc_ctx *ctx, gpuc_rexpr *e, double exponent)
{
    gpuc_rexpr *x = gpuc_as_rcall(e)->args[0], *power = gpuc_as_rcall(e)->args[1];
    if (power->kind != GPUC_REXPR_CONSTANT || !gpuc_relay_rtype_equal(x->type, e->type)) return false;
    const gpuc_rconstant *c = gpuc_as_rconstant(power);
    gpuc_dtype t = power->type->tensor.dtype;
    if (t.code != GPUC_DTYPE_FLOAT || c->data->size != gpuc_dtype_bytes(t)) return false;
    return gpuc_as_float(gpuc_relay_const_element(ctx, c, 0))->value == exponent;
}

static gpuc_rexpr *power_of_one(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return has_exponent(ctx, e, 1) ? gpuc_as_rcall(e)->args[0] : NULL;
}

static gpuc_rexpr *square_of(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *x = gpuc_as_rcall(e)->args[0];
    return gpuc_relay_op2(ctx, "multiply", NULL, x, x);
}

static gpuc_rexpr *power_of_two(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return has_exponent(ctx, e, 2) ? square_of(ctx, e) : NULL;
}

static gpuc_rexpr *power_of_three(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    if (!has_exponent(ctx, e, 3)) return NULL;
    return gpuc_relay_op2(ctx, "multiply", NULL, square_of(ctx, e), gpuc_as_rcall(e)->args[0]);
}

static gpuc_rexpr *same_type(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    (void)ctx;
    gpuc_rexpr *in = gpuc_as_rcall(e)->args[0];
    return gpuc_relay_rtype_equal(e->type, in->type) ? in : NULL;
}

static gpuc_rexpr *join_one(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    (void)ctx;
    return gpuc_as_rcall(e)->n == 1 ? gpuc_as_rcall(e)->args[0] : NULL;
}

static gpuc_rexpr *pad_nothing(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    (void)ctx;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    bool none = all_equal(gpuc_attrs_find(c->attrs, "pad_before"), 0) &&
                all_equal(gpuc_attrs_find(c->attrs, "pad_after"), 0);
    return none ? c->args[0] : NULL;
}

static gpuc_rexpr *slice_all(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return all_equal(gpuc_attrs_find(gpuc_as_rcall(e)->attrs, "strides"), 1) ? same_type(ctx, e) : NULL;
}

/* All elements of a slice of the updates go to the same place along axis 0: an index for each slice says so. */
static gpuc_rexpr *scatter_slices(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *data = gpuc_relay_tensor_type(c->args[0]),
                           *at = gpuc_relay_tensor_type(c->args[1]);
    int64_t axis = gpuc_attrs_get_int(c->attrs, "axis", 0);
    if ((axis != 0 && axis != -data->ndim) || !gpuc_relay_is_op(c->args[1], "broadcast_to")) return NULL;
    gpuc_rexpr *rows = gpuc_as_rcall(c->args[1])->args[0];
    const gpuc_tensor_type *row = gpuc_relay_tensor_type(rows);
    if (row->ndim != at->ndim || !row->dims[0] || row->dims[0] != at->dims[0]) return NULL;
    for (int i = 1; i < at->ndim; i++)
        if (!data->dims[i] || data->dims[i] != at->dims[i] || !gpuc_tir_is_const(row->dims[i], 1))
            return NULL;
    gpuc_rexpr *args[] = {
        c->args[0], gpuc_relay_pass_reshape(ctx, rows, 2, (gpuc_expr[]){row->dims[0], gpuc_int(ctx, 1)}),
        c->args[2]};
    const char *reduction = gpuc_attrs_get_string(c->attrs, "reduction", "none");
    return gpuc_relay_op(ctx, "scatter_nd", gpuc_attrs_string(ctx, NULL, "reduction", reduction), 3, args);
}

static const gpuc_relay_pass_rule rules[] = {
    {"reshape_to_same", NULL, drop_alias},
    {"reshape_of_reshape", NULL, join_aliases},
    {"transpose_to_same", "transpose", drop_transpose},
    {"transpose_is_reshape", "transpose", reshape_for_transpose},
    {"transpose_of_transpose", "transpose", join_transposes},
    {"power_of_one", "power", power_of_one},
    {"power_of_two", "power", power_of_two},
    {"power_of_three", "power", power_of_three},
    {"cast_to_same", "cast", same_type},
    {"broadcast_to_same", "broadcast_to", same_type},
    {"concatenate_one", "concatenate", join_one},
    {"pad_nothing", "nn.pad", pad_nothing},
    {"slice_all", "strided_slice", slice_all},
    {"scatter_slices", "scatter_elements", scatter_slices},
};

const gpuc_rule_table *const *gpuc_relay_pass_simplify_rules(void)
{
    static const gpuc_rule_table here = GPUC_RULE_TABLE(rules);
    static const gpuc_rule_table *const tables[] = {&here, &gpuc_relay_pass_rules_of_arithmetic,
                                                    &gpuc_relay_pass_rules_of_casts,
                                                    &gpuc_relay_pass_rules_of_shapes, NULL};
    return tables;
}

static gpuc_rexpr *apply_one(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op) return NULL;
    for (const gpuc_rule_table *const *t = gpuc_relay_pass_simplify_rules(); *t; t++) {
        const gpuc_relay_pass_rule *all = (*t)->rows;
        for (size_t i = 0; i < (*t)->count; i++) {
            if (all[i].op ? op->alias || strcmp(op->name, all[i].op) != 0 : !op->alias) continue;
            gpuc_rexpr *better = all[i].apply(ctx, e);
            if (!better || better == e) continue;
            gpuc_rule_fired(ctx, all[i].name);
            return better;
        }
    }
    return NULL;
}

/* What a rule makes of an operator may be another one's. */
static gpuc_rexpr *simplify(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    enum { MOST_STEPS = 16 };
    (void)old;
    (void)arg;
    for (int i = 0; i < MOST_STEPS; i++) {
        gpuc_rexpr *better = apply_one(ctx, e);
        if (!better) break;
        e = better;
    }
    return e;
}

void gpuc_relay_pass_simplify_expr(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, simplify, NULL);
}
