/* SPDX-License-Identifier: Apache-2.0 */
/* Folds constants by the host evaluator. Models may compute weights by chains of large tensors, so constants
 * are freed at their last use. */
#include <string.h>

#include "relay_pass/common/util.h"

typedef struct folder {
    gpuc_relay_pass_ctx *p;
    gpuc_map uses;      /* of expressions before folding */
    gpuc_map fields;    /* tuple before folding -> uintptr_t uses of each field */
    gpuc_map remaining; /* constant after folding -> uses that are still to come */
    gpuc_map value_of;  /* variable of a let -> its value before folding */
    gpuc_map generic;   /* nodes with data of type parameters in them: types of others may follow from it */
    gpuc_map constants; /* value of a let, before folding -> the constant that it is */
} folder;

static void add_remaining(folder *f, const gpuc_rexpr *constant, uintptr_t n)
{
    gpuc_map_set(&f->remaining, constant, (void *)(gpuc_relay_uses(&f->remaining, constant) + n));
}

/* Uses of fields, through GETs and of the tuple as a whole. */
static void count_fields(folder *f, const gpuc_ptrs *order)
{
    gpuc_ctx *ctx = f->p->ctx;
    for (size_t i = 0; i < order->count; i++) {
        const gpuc_rexpr *e = order->at[i];
        if (e->kind != GPUC_REXPR_GET) continue;
        const gpuc_rexpr *tuple = gpuc_as_rget(e)->tuple;
        uintptr_t *fields = gpuc_map_get(&f->fields, tuple), others = gpuc_relay_uses(&f->uses, tuple);
        if (!fields) {
            fields = gpuc_new_array(ctx, uintptr_t, tuple->type->n);
            for (int k = 0; k < tuple->type->n; k++) fields[k] = others;
            gpuc_map_set(&f->fields, tuple, fields);
        }
        for (int k = 0; k < tuple->type->n; k++) fields[k]--; /* a GET uses one field, not the whole tuple */
        fields[gpuc_as_rget(e)->index] += gpuc_relay_uses(&f->uses, e);
    }
}

/* Counts down the uses of the operands of a folded call, and frees those that have none left. */
static void consume(folder *f, const gpuc_rcall *call)
{
    for (int i = 0; i < call->n; i++) {
        gpuc_rexpr *a = call->args[i];
        if (a->kind != GPUC_REXPR_CONSTANT) continue;
        uintptr_t left = gpuc_relay_uses(&f->remaining, a);
        gpuc_map_set(&f->remaining, a, (void *)(left - 1));
        if (left != 1) continue;
        gpuc_const_data *data = gpuc_as_rconstant(a)->data;
        if (data->refs == 1) f->p->budget.bytes += (int64_t)data->size;
        gpuc_relay_const_data_release(data);
    }
}

/* Its parts were looked at. */
static void note_generic(folder *f, const gpuc_rexpr *old)
{
    const gpuc_rexpr *c;
    bool found = old->type && gpuc_relay_pass_is_generic(old->type);
    for (int i = 0; !found && (c = gpuc_relay_operand(old, i)); i++) found = gpuc_map_has(&f->generic, c);
    if (found) gpuc_map_set(&f->generic, old, f);
}

static bool is_true(const gpuc_rexpr *constant)
{
    return *(const uint8_t *)gpuc_as_rconstant(constant)->data->bytes;
}

/* A variable whose value is constant, and a branch that a constant decides. */
static gpuc_rexpr *fold_scoped(folder *f, const gpuc_rexpr *old, gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_IF && gpuc_as_rif(e)->cond->kind == GPUC_REXPR_CONSTANT &&
        !gpuc_map_has(&f->generic, old))
        return is_true(gpuc_as_rif(e)->cond) ? gpuc_as_rif(e)->then_branch : gpuc_as_rif(e)->else_branch;
    const gpuc_rexpr *value = e->kind == GPUC_REXPR_VAR ? gpuc_map_get(&f->value_of, old) : NULL;
    gpuc_rexpr *constant = value ? gpuc_map_get(&f->constants, value) : NULL;
    if (!constant) return e;
    add_remaining(f, constant, gpuc_relay_uses(&f->uses, old) - 1); /* the let goes, which was a use */
    return constant;
}

static gpuc_rexpr *fold(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    folder *f = arg;
    gpuc_relay_budget *budget = &f->p->budget;
    note_generic(f, old);
    gpuc_rexpr *out = gpuc_relay_evaluate_call(ctx, e, budget);
    if (budget->exceeded)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "%s%s%s: its value is constant and takes %lld bytes, %lld more are allowed for constants "
                   "that are "
                   "computed when building: raise --fold-limit, or give the model a smaller one",
                   gpuc_relay_call_op(e)->name, *e->source ? " of " : "", e->source,
                   (long long)budget->exceeded, (long long)budget->bytes);
    if (out && !f->p->keep_constants) consume(f, gpuc_as_rcall(e));
    if (!out) out = fold_scoped(f, old, e);
    const uintptr_t *fields = gpuc_map_get(&f->fields, old);
    if (out->kind == GPUC_REXPR_TUPLE && fields) {
        for (int i = 0; i < gpuc_as_rtuple(out)->n; i++) {
            gpuc_rexpr *field = gpuc_as_rtuple(out)->fields[i];
            if (field->kind == GPUC_REXPR_CONSTANT) add_remaining(f, field, fields[i]);
        }
    } else if (out->kind == GPUC_REXPR_CONSTANT && old->kind != GPUC_REXPR_GET &&
               old->kind != GPUC_REXPR_VAR) {
        add_remaining(f, out, gpuc_relay_uses(&f->uses, old));
    }
    if (out->kind == GPUC_REXPR_CONSTANT && gpuc_map_has(&f->constants, old))
        gpuc_map_set(&f->constants, old, out);
    return out;
}

/* Values that follow from shapes which the build does not know, as an operator without inputs. */
static gpuc_rexpr *symbolic_values(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t count = 1;
    if (t->ndim > 1 || !gpuc_is_integer(t->dtype) || (t->ndim && !gpuc_expr_is_int(t->dims[0], &count)))
        return e;
    for (int64_t i = 0; i < count; i++) /* only its operand tells what it is */
        if (gpuc_relay_is_any_dim(e->values[i])) return e;
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "values", (int)count, e->values);
    a = gpuc_attrs_int(ctx, gpuc_attrs_dtype(ctx, a, "dtype", t->dtype), "scalar", t->ndim == 0);
    return gpuc_relay_op(ctx, "sizes", a, 0, NULL);
}

/* Folds operators that need only the shape of their operands, before the operands are computed. */
static gpuc_rexpr *fold_known(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    gpuc_relay_budget none = {0};
    if (!e->values || !gpuc_relay_call_op(e) || gpuc_relay_is_op(e, "sizes")) return e;
    gpuc_rexpr *out = gpuc_relay_evaluate_call(ctx, e, &none);
    return out ? out : symbolic_values(ctx, e);
}

/* Folded constants may take fold_limit bytes more than the constants of the model. */
static void start_budget(gpuc_relay_pass_ctx *p, const gpuc_ptrs *order)
{
    gpuc_map seen;
    gpuc_map_init(&seen, p->ctx);
    for (size_t i = 0; i < order->count; i++) {
        const gpuc_rexpr *e = order->at[i];
        if (e->kind != GPUC_REXPR_CONSTANT || gpuc_map_has(&seen, gpuc_as_rconstant(e)->data)) continue;
        gpuc_map_set(&seen, gpuc_as_rconstant(e)->data, p);
        p->budget.bytes += (int64_t)gpuc_as_rconstant(e)->data->size;
    }
    p->budget.bytes += p->fold_limit;
    p->budget.work = GPUC_RELAY_WORK;
}

void gpuc_relay_pass_fold_constant(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    folder f = {.p = p};
    gpuc_ptrs order = {0};
    gpuc_relay_pass_rewrite_module(p, fold_known, NULL);
    gpuc_map_init(&f.uses, p->ctx);
    gpuc_map_init(&f.fields, p->ctx);
    gpuc_map_init(&f.remaining, p->ctx);
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_relay_post_order(p->ctx, functions->entries[i].value, true, &order);
        gpuc_relay_pass_add_uses(p->ctx, functions->entries[i].value, &f.uses);
    }
    count_fields(&f, &order);
    gpuc_map_init(&f.value_of, p->ctx);
    gpuc_map_init(&f.constants, p->ctx);
    gpuc_map_init(&f.generic, p->ctx);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_LET) continue;
        gpuc_map_set(&f.value_of, gpuc_as_rlet(e)->var, gpuc_as_rlet(e)->value);
        gpuc_map_set(&f.constants, gpuc_as_rlet(e)->value, NULL);
    }
    if (!p->budget.work) start_budget(p, &order);
    gpuc_relay_pass_rewrite_module(p, fold, &f);
}
