/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of types, expressions and patterns, for those who see the public headers only. */
#include "relay/infer.h"

/* ---- Types ---- */

gpuc_rtype_kind gpuc_relay_rtype_get_kind(const gpuc_rtype *t)
{
    return t ? t->kind : GPUC_RTYPE_HOLE;
}

const gpuc_tensor_type *gpuc_relay_rtype_get_tensor(const gpuc_rtype *t)
{
    return t && t->kind == GPUC_RTYPE_TENSOR ? &t->tensor : NULL;
}

int gpuc_relay_rtype_count(const gpuc_rtype *t)
{
    return t ? t->n : 0;
}

const gpuc_rtype *gpuc_relay_rtype_part(const gpuc_rtype *t, int i)
{
    return t && i >= 0 && i < t->n ? t->at[i] : NULL;
}

const gpuc_rtype *gpuc_relay_rtype_result(const gpuc_rtype *t)
{
    return t ? t->ret : NULL;
}

const gpuc_adt *gpuc_relay_rtype_get_adt(const gpuc_rtype *t)
{
    return t ? t->adt : NULL;
}

const char *gpuc_relay_adt_name(const gpuc_adt *adt)
{
    return adt ? adt->name : NULL;
}

const char *gpuc_relay_constructor_name(const gpuc_constructor *c)
{
    return c ? c->name : NULL;
}

/* ---- Expressions ---- */

gpuc_rexpr_kind gpuc_relay_get_kind(const gpuc_rexpr *e)
{
    return e->kind;
}

const gpuc_rtype *gpuc_relay_get_type(const gpuc_rexpr *e)
{
    return e ? e->type : NULL;
}

const char *gpuc_relay_get_name(const gpuc_rexpr *e)
{
    if (!e) return NULL;
    if (e->kind == GPUC_REXPR_CALL) {
        const gpuc_rexpr *callee = gpuc_as_rcall(e)->callee;
        return callee->kind == GPUC_REXPR_OP ? gpuc_as_rop(callee)->name : NULL;
    }
    if (e->kind == GPUC_REXPR_VAR) return gpuc_as_rvar(e)->name;
    if (e->kind == GPUC_REXPR_GLOBAL) return gpuc_as_rglobal(e)->name;
    if (e->kind == GPUC_REXPR_OP) return gpuc_as_rop(e)->name;
    return e->kind == GPUC_REXPR_CONSTRUCTOR ? gpuc_as_rconstructor(e)->constructor->name : NULL;
}

int gpuc_relay_num_operands(const gpuc_rexpr *e)
{
    if (!e) return 0;
    switch (e->kind) {
    case GPUC_REXPR_CALL: return 1 + gpuc_as_rcall(e)->n;
    case GPUC_REXPR_TUPLE: return gpuc_as_rtuple(e)->n;
    case GPUC_REXPR_GET: return 1;
    case GPUC_REXPR_LET:
    case GPUC_REXPR_IF: return 3;
    case GPUC_REXPR_FUNCTION: return gpuc_as_rfunction(e)->n + 1;
    case GPUC_REXPR_MATCH: return 1 + gpuc_as_rmatch(e)->n;
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return 0;
}

const gpuc_attrs *gpuc_relay_get_attrs(const gpuc_rexpr *e)
{
    if (e && e->kind == GPUC_REXPR_CALL) return gpuc_as_rcall(e)->attrs;
    return e && e->kind == GPUC_REXPR_FUNCTION ? gpuc_as_rfunction(e)->attrs : NULL;
}

int gpuc_relay_get_index(const gpuc_rexpr *e)
{
    return e && e->kind == GPUC_REXPR_GET ? gpuc_as_rget(e)->index : -1;
}

const void *gpuc_relay_get_bytes(const gpuc_rexpr *e)
{
    return e && e->kind == GPUC_REXPR_CONSTANT ? gpuc_as_rconstant(e)->data->bytes : NULL;
}

const gpuc_rtype *gpuc_relay_get_type_param(const gpuc_rexpr *e, int i)
{
    if (!e || e->kind != GPUC_REXPR_FUNCTION) return NULL;
    const gpuc_rfunction *f = gpuc_as_rfunction(e);
    return i >= 0 && i < f->num_type_params ? f->type_params[i] : NULL;
}

const gpuc_rtype *gpuc_relay_get_annotation(const gpuc_rexpr *e)
{
    if (e && e->kind == GPUC_REXPR_VAR) return gpuc_as_rvar(e)->annotation;
    return e && e->kind == GPUC_REXPR_FUNCTION ? gpuc_as_rfunction(e)->ret : NULL;
}

const gpuc_rpattern *gpuc_relay_get_pattern(const gpuc_rexpr *e, int i)
{
    bool there = e && e->kind == GPUC_REXPR_MATCH && i >= 0 && i < gpuc_as_rmatch(e)->n;
    return there ? gpuc_as_rmatch(e)->clauses[i].pattern : NULL;
}

bool gpuc_relay_is_partial(const gpuc_rexpr *e)
{
    return e && e->kind == GPUC_REXPR_MATCH && gpuc_as_rmatch(e)->partial;
}

gpuc_rexpr *gpuc_relay_pattern_get_var(const gpuc_rpattern *p)
{
    return p ? p->var : NULL;
}

const gpuc_constructor *gpuc_relay_pattern_get_constructor(const gpuc_rpattern *p)
{
    return p ? p->constructor : NULL;
}

const gpuc_rpattern *gpuc_relay_pattern_part(const gpuc_rpattern *p, int i)
{
    return p && i >= 0 && i < p->n ? &p->at[i] : NULL;
}
