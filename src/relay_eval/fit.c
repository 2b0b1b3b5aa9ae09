/* SPDX-License-Identifier: Apache-2.0 */
/* Whether values have the types of parameters: all of it for what comes from outside, extents at each call. */
#include <string.h>

#include "relay_eval/eval.h"

int64_t gpuc_relay_eval_symbol_in(const gpuc_relay_value *v, const gpuc_rtype *t, gpuc_expr symbol)
{
    if (!v || !t) return -1;
    if (t->kind == GPUC_RTYPE_TENSOR && v->kind == GPUC_RELAY_TENSOR && t->tensor.ndim == v->n)
        for (int k = 0; k < v->n; k++)
            if (t->tensor.dims[k] == symbol) return v->at.dims[k];
    for (int k = 0; t->kind == GPUC_RTYPE_TUPLE && v->kind == GPUC_RELAY_TUPLE && k < t->n; k++) {
        int64_t found = gpuc_relay_eval_symbol_in(v->at.fields[k], t->at[k], symbol);
        if (found >= 0) return found;
    }
    return -1;
}

typedef struct extents {
    const gpuc_relay_eval_code *code;
    gpuc_relay_value *const *regs;
    bool written;
    bool is_around; /* out: functions around say the size */
} extents;

static bool find_symbol(const extents *x, int n, const gpuc_relay_eval_param *among, gpuc_expr symbol,
                        int64_t *out)
{
    for (int k = 0; k < n; k++) {
        *out = gpuc_relay_eval_symbol_in(x->regs[among[k].index], among[k].type, symbol);
        if (*out >= 0) return true;
    }
    return false;
}

/* What an extent must be; false: a symbol of it stands alone in no parameter. */
static bool extent_value(extents *x, gpuc_expr e, int64_t *out)
{
    if (gpuc_expr_is_int(e, out)) return true;
    if (e->kind == GPUC_EXPR_CAST) return extent_value(x, gpuc_as_cast(e)->a, out);
    if (e->kind == GPUC_EXPR_VAR) {
        const gpuc_relay_eval_code *c = x->code;
        if (x->written && find_symbol(x, c->num_around, c->around, e, out)) return x->is_around = true;
        return find_symbol(x, c->num_checked, c->checked, e, out);
    }
    if (e->kind != GPUC_EXPR_OP) return false;
    const gpuc_tir_opexpr_node *n = (const gpuc_tir_opexpr_node *)e;
    int arity = gpuc_tir_ops[n->op].arity;
    gpuc_tir_value a[3] = {{0}};
    for (int k = 0; k < arity; k++)
        if (!extent_value(x, n->a[k], &a[k].i)) return false;
    *out = gpuc_tir_apply(n->op, n->a[arity - 1]->dtype, a).i;
    return true;
}

static const char *wrong_extent(gpuc_relay_interpreter *i, extents *x, const gpuc_relay_value *v,
                                const gpuc_rtype *t)
{
    for (int d = 0; t->kind == GPUC_RTYPE_TENSOR && d < t->tensor.ndim; d++) {
        gpuc_expr dim = t->tensor.dims[d];
        int64_t must, is = v->at.dims[d];
        x->is_around = false;
        if (gpuc_relay_is_any_dim(dim) || !extent_value(x, dim, &must) || must == is) continue;
        bool before = dim->kind == GPUC_EXPR_VAR && !x->is_around;
        const char *why = gpuc_expr_is_int(dim, &must) ? "" : before ? ", as before for " : ", which is ";
        return gpuc_ctx_printf(i->ctx, "dimension %d is %lld, it must be %lld%s%s%s", d, (long long)is,
                               (long long)must, why, *why ? gpuc_expr_text(i->ctx, dim) : "",
                               x->is_around ? " of a function around" : "");
    }
    const char *wrong = NULL;
    for (int k = 0; t->kind == GPUC_RTYPE_TUPLE && k < t->n && !wrong; k++)
        wrong = wrong_extent(i, x, v->at.fields[k], t->at[k]);
    return wrong;
}

const char *gpuc_relay_eval_wrong_extent(gpuc_relay_interpreter *i, const gpuc_relay_eval_code *code,
                                         gpuc_relay_value *const *regs, int k)
{
    const gpuc_relay_eval_param *p = &code->checked[k];
    extents x = {.code = code, .regs = regs, .written = p->written};
    return wrong_extent(i, &x, regs[p->index], p->type);
}

/* ---- Fields of constructors ---- */

typedef struct adt_entry {
    const gpuc_rtype *type;
    const gpuc_rtype *const **fields; /* per constructor */
} adt_entry;

static adt_entry *entry_of(gpuc_relay_interpreter *i, const gpuc_rtype *t)
{
    adt_entry *e = gpuc_map_get(&i->field_types, t);
    for (size_t k = 0; !e && k < i->adt_types.count; k++) {
        adt_entry *other = i->adt_types.at[k];
        if (gpuc_relay_rtype_equal(other->type, t)) e = other;
    }
    if (!e) {
        const gpuc_adt *adt = t->adt;
        e = gpuc_new(i->ctx, adt_entry);
        e->type = t;
        e->fields = gpuc_new_array(i->ctx, const gpuc_rtype *const *, adt->n + 1);
        for (int k = 0; k < adt->n; k++) {
            const gpuc_constructor *c = &adt->constructors[k];
            const gpuc_rtype **fields = gpuc_new_array(i->ctx, const gpuc_rtype *, c->n + 1);
            for (int f = 0; f < c->n; f++)
                fields[f] =
                    gpuc_relay_rtype_substitute(i->ctx, c->fields[f], adt->num_params, adt->params, t->at);
            e->fields[k] = fields;
        }
        gpuc_ptrs_push(i->ctx, &i->adt_types, e);
    }
    gpuc_map_set(&i->field_types, t, e);
    return e;
}

const gpuc_rtype *const *gpuc_relay_eval_fields_of(gpuc_relay_interpreter *i, const gpuc_rtype *t,
                                                   const gpuc_constructor *c)
{
    return entry_of(i, t)->fields[c->tag];
}

const gpuc_constructor *gpuc_relay_eval_cons(const gpuc_adt *adt)
{
    if (adt->n != 2) return NULL;
    const gpuc_constructor *a = &adt->constructors[0], *b = &adt->constructors[1];
    const gpuc_constructor *cons = a->n == 2 && !b->n ? a : b->n == 2 && !a->n ? b : NULL;
    if (!cons || cons->fields[1]->kind != GPUC_RTYPE_ADT || cons->fields[1]->adt != adt) return NULL;
    for (int k = 0; k < adt->num_params; k++) /* the tail has elements of the same type */
        if (!gpuc_relay_rtype_equal(cons->fields[1]->at[k], adt->params[k])) return NULL;
    if (!strcmp(a->name, adt->name) || !strcmp(b->name, adt->name)) return NULL;
    return cons;
}

/* ---- Whole values ---- */

static const char *value_text(gpuc_relay_interpreter *i, const gpuc_relay_value *v)
{
    gpuc_expr dims[GPUC_OP_MAX_DIMS];
    switch (v->kind) {
    case GPUC_RELAY_TENSOR:
        for (int d = 0; d < v->n && d < GPUC_OP_MAX_DIMS; d++) dims[d] = gpuc_int(i->ctx, v->at.dims[d]);
        return gpuc_relay_rtype_text(i->ctx, gpuc_relay_rtype_tensor(i->ctx, v->dtype, v->n, dims));
    case GPUC_RELAY_TUPLE: return gpuc_ctx_printf(i->ctx, "a tuple of %d fields", v->n);
    case GPUC_RELAY_DATA:
        return gpuc_ctx_printf(i->ctx, "%s, of %s", v->constructor->name, v->constructor->adt->name);
    case GPUC_RELAY_FUNCTION: break;
    }
    return "a function";
}

bool gpuc_relay_eval_tensor_fits(const gpuc_relay_value *v, const gpuc_tensor_type *t)
{
    if (v->kind != GPUC_RELAY_TENSOR || !gpuc_dtype_equal(v->dtype, t->dtype) || v->n != t->ndim)
        return false;
    for (int d = 0; d < v->n; d++) {
        int64_t dim;
        if (t->dims[d] && gpuc_expr_is_int(t->dims[d], &dim) && dim != v->at.dims[d]) return false;
    }
    return true;
}

/* Whether v, but for its fields, has the type. */
static bool is_of(const gpuc_relay_value *v, const gpuc_rtype *t)
{
    switch (t->kind) {
    case GPUC_RTYPE_TENSOR: return gpuc_relay_eval_tensor_fits(v, &t->tensor);
    case GPUC_RTYPE_TUPLE: return v->kind == GPUC_RELAY_TUPLE && v->n == t->n;
    case GPUC_RTYPE_ADT: return v->kind == GPUC_RELAY_DATA && v->constructor->adt == t->adt;
    case GPUC_RTYPE_FUNC: return v->kind == GPUC_RELAY_FUNCTION;
    case GPUC_RTYPE_VAR:
    case GPUC_RTYPE_HOLE:
    case GPUC_RTYPE_KIND_COUNT: break;
    }
    return true;
}

typedef struct pair {
    const gpuc_relay_value *v;
    const gpuc_rtype *t;
} pair;

const char *gpuc_relay_eval_misfit(gpuc_relay_interpreter *i, const gpuc_relay_value *v, const gpuc_rtype *t)
{
    size_t capacity = 0, n = 0;
    gpuc_map seen; /* value that others may hold, too -> type that it has */
    gpuc_map_init(&seen, i->ctx);
    pair *stack = gpuc_ctx_grow(i->ctx, NULL, 0, &capacity, sizeof *stack);
    stack[n++] = (pair){v, t};
    while (n) {
        pair p = stack[--n];
        if (!is_of(p.v, p.t))
            return gpuc_ctx_printf(i->ctx, "%s is %s, it must be %s",
                                   p.v == v ? "the value" : "a part of the value", value_text(i, p.v),
                                   gpuc_relay_rtype_text(i->ctx, p.t));
        const gpuc_rtype *const *types = p.t->kind == GPUC_RTYPE_TUPLE ? p.t->at
                                         : p.t->kind == GPUC_RTYPE_ADT
                                             ? gpuc_relay_eval_fields_of(i, p.t, p.v->constructor)
                                             : NULL;
        if (types && p.v->n && atomic_load_explicit(&p.v->object.refs, memory_order_relaxed) > 1) {
            const gpuc_rtype *known = gpuc_map_get(&seen, p.v);
            if (known && gpuc_relay_rtype_equal(known, p.t)) continue;
            gpuc_map_set(&seen, p.v, (void *)p.t);
        }
        for (int k = 0; types && k < p.v->n; k++) { /* the last field, which is a list's tail, comes next */
            stack = gpuc_ctx_grow(i->ctx, stack, n, &capacity, sizeof *stack);
            stack[n++] = (pair){p.v->at.fields[k], types[k]};
        }
    }
    return NULL;
}
