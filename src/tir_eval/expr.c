/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions to instructions. What has no loads is computed in the outermost scope that knows its
 * variables, so that loops repeat only what changes in them. */
#include "tir_eval/eval.h"

#include <limits.h>
#include <string.h>

/* ---- Scopes and registers -------------------------------------------------------------------------- */

void gpuc_ev_open(ev_compiler *c, ev_scope *s, ev_block *code, bool deeper)
{
    *s = (ev_scope){.outer = c->scope, .code = code, .level = c->scope ? c->scope->level + deeper : 0};
    c->scope = s;
}

static void move_all(ev_reg **from, ev_reg **to)
{
    while (*from) {
        ev_reg *r = *from;
        *from = r->next;
        r->next = *to;
        *to = r;
    }
}

/* Only now may others use its registers: code that was hoisted out of it runs before it. */
void gpuc_ev_close(ev_compiler *c)
{
    ev_scope *s = c->scope;
    if (s->outer) {
        move_all(&s->regs, &s->outer->free);
        move_all(&s->free, &s->outer->free);
    }
    c->scope = s->outer;
}

void gpuc_ev_close_keeping(ev_compiler *c)
{
    move_all(&c->scope->regs, &c->scope->outer->regs);
    gpuc_ev_close(c);
}

static void *take_storage(ev_compiler *c, ev_scope *s, size_t bytes)
{
    for (; s; s = s->outer)
        for (ev_reg **at = &s->free; *at; at = &(*at)->next)
            if ((*at)->bytes == bytes) {
                void *storage = (*at)->at;
                *at = (*at)->next;
                return storage;
            }
    return gpuc_ev_alloc(c->m, bytes);
}

ev_ins *gpuc_ev_emit(ev_compiler *c, ev_scope *s, ev_kind kind)
{
    ev_ins *ins = ev_new(c->m, ev_ins);
    ins->kind = kind;
    ins->stmt = c->stmt;
    s->code->at = gpuc_ev_grow(c->m, s->code->at, s->code->count, &s->code->capacity, sizeof *s->code->at);
    s->code->at[s->code->count++] = ins;
    return ins;
}

ev_reg *gpuc_ev_reg(ev_compiler *c, ev_scope *s, ev_type type, int vl, bool uniform)
{
    size_t lanes = uniform || !c->lanes ? 1 : (size_t)c->lanes->width;
    size_t bytes = (size_t)gpuc_ev_reg_bytes[type] * (size_t)vl * lanes;
    bytes = (bytes + 63) & ~(size_t)63;
    ev_reg *r = ev_new(c->m, ev_reg);
    *r = (ev_reg){.type = type, .vl = vl, .uniform = uniform, .bytes = bytes, .next = s->regs};
    r->at = take_storage(c, s, bytes);
    s->regs = r;
    return r;
}

static ev_reg *lookup(const ev_compiler *c, gpuc_expr e)
{
    for (const ev_scope *s = c->scope; s; s = s->outer) {
        ev_reg *r = gpuc_ev_map_get(&s->memo, e);
        if (r) return r;
    }
    return NULL;
}

/* The outermost scope in which an expression of this level can be computed. */
static ev_scope *home(ev_compiler *c, int level)
{
    ev_scope *s = c->scope;
    if (level == INT_MAX) return s;
    while (s->outer && s->level > level) s = s->outer;
    return s;
}

/* ---- Leaves ----------------------------------------------------------------------------------------- */

ev_reg *gpuc_ev_const(ev_compiler *c, gpuc_dtype t, gpuc_tir_value v)
{
    ev_reg *r = ev_new(c->m, ev_reg);
    *r = (ev_reg){
        .type = gpuc_ev_type(t), .vl = 1, .uniform = true, .constant = !gpuc_is_float(t), .value = v.i};
    r->at = gpuc_ev_alloc(c->m, 8);
    float single = (float)v.f; /* of registers of narrow floats too */
    bool narrow = gpuc_is_float(t) && t.bits < 64;
    memcpy(r->at, narrow ? (const void *)&single : &v, gpuc_ev_reg_bytes[r->type]);
    return r;
}

static ev_reg *constant(ev_compiler *c, gpuc_expr e)
{
    ev_reg *r = gpuc_ev_map_get(&c->constants, e);
    if (r) return r;
    gpuc_tir_value v = {0};
    if (e->kind == GPUC_EXPR_FLOAT)
        v.f = gpuc_as_float(e)->value;
    else
        v.i = gpuc_as_int(e)->value;
    r = gpuc_ev_const(c, e->dtype, v);
    gpuc_ev_map_set(c->m, &c->constants, e, r);
    return r;
}

static ev_reg *cast_reg(ev_compiler *c, ev_scope *s, ev_reg *a, ev_type to)
{
    if (a->type == to) return a;
    ev_ins *ins = gpuc_ev_emit(c, s, EV_UNARY);
    ins->a = a;
    ins->fn.unary = gpuc_ev_cast(to, a->type);
    return ins->d = gpuc_ev_reg(c, s, to, a->vl, a->uniform);
}

static ev_reg *variable(ev_compiler *c, gpuc_expr e)
{
    ev_var *v = gpuc_ev_map_get(&c->vars, e);
    if (!v) gpuc_ev_fail(c->m, c->stmt, "the variable %s has no value here", gpuc_expr_text(c->m->ctx, e));
    if (!v->axis) return v->reg;
    if (!v->axis->number) {
        v->axis->number = ev_new(c->m, ev_reg);
        *v->axis->number = (ev_reg){.type = EV_INT64, .vl = 1};
        v->axis->number->at = gpuc_ev_alloc(c->m, sizeof(int64_t) * (size_t)c->lanes->width);
    }
    ev_type t = gpuc_ev_type(e->dtype);
    if (t == EV_INT64) return v->axis->number;
    ev_reg *r = lookup(c, e);
    if (r) return r;
    ev_scope *s = home(c, v->level);
    r = cast_reg(c, s, v->axis->number, t);
    gpuc_ev_map_set(c->m, &s->memo, e, r);
    return r;
}

/* ---- Operators --------------------------------------------------------------------------------------- */

static ev_reg *select_op(ev_compiler *c, ev_scope *s, ev_reg *cond, ev_reg *x, ev_reg *y)
{
    ev_ins *ins = gpuc_ev_emit(c, s, EV_SELECT);
    ins->c = cond;
    ins->a = x;
    ins->b = y;
    return ins->d = gpuc_ev_reg(c, s, x->type, x->vl, cond->uniform && x->uniform && y->uniform);
}

/* The code of one arm, run under the mask of those that choose it. */
static ev_reg *arm(ev_compiler *c, ev_block *code, gpuc_expr e)
{
    ev_scope s;
    gpuc_ev_open(c, &s, code, false);
    ev_reg *r = gpuc_ev_expr(c, e);
    gpuc_ev_close_keeping(c); /* the result is read after the arm */
    return r;
}

static bool is_safe(gpuc_expr e)
{
    return !(e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT));
}

static ev_reg *lazy(ev_compiler *c, const gpuc_tir_opexpr_node *o)
{
    ev_scope *s = c->scope;
    gpuc_expr one = o->a[0];
    if (one->kind == GPUC_EXPR_BROADCAST) one = gpuc_as_broadcast(one)->a;
    if (one->dtype.lanes > 1)
        gpuc_ev_fail(c->m, c->stmt,
                     "an if_then_else whose arms load vectors needs one condition for all lanes");
    ev_reg *cond = gpuc_ev_expr(c, one);
    ev_block then_code = {0}, else_code = {0};
    c->mask_depth += 2;
    if (c->mask_depth > c->m->max_masks) c->m->max_masks = c->mask_depth;
    ev_reg *x = arm(c, &then_code, o->a[1]), *y = arm(c, &else_code, o->a[2]);
    c->mask_depth -= 2;
    ev_ins *ins = gpuc_ev_emit(c, s, EV_LAZY);
    ins->c = cond;
    ins->a = x;
    ins->b = y;
    ins->body = then_code;
    ins->other = else_code;
    return ins->d = gpuc_ev_reg(c, s, x->type, x->vl, cond->uniform && x->uniform && y->uniform);
}

static ev_reg *operator(ev_compiler *c, ev_scope *s, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
    bool one_choice = o->a[0]->dtype.lanes == 1 || o->a[0]->kind == GPUC_EXPR_BROADCAST;
    if (o->op == GPUC_TIR_IF_THEN_ELSE && !(is_safe(o->a[1]) && is_safe(o->a[2])) && one_choice)
        return lazy(c, o);
    int arity = gpuc_tir_ops[o->op].arity;
    ev_reg *x = gpuc_ev_expr(c, o->a[0]), *y = arity > 1 ? gpuc_ev_expr(c, o->a[1]) : NULL;
    if (arity == 3) return select_op(c, s, x, y, gpuc_ev_expr(c, o->a[2]));
    ev_ins *ins = gpuc_ev_emit(c, s, arity == 1 ? EV_UNARY : EV_BINARY);
    ins->op = o->op;
    ins->a = x;
    ins->b = y;
    if (arity == 1)
        ins->fn.unary = gpuc_ev_unary(o->op, x->type);
    else
        ins->fn.binary = gpuc_ev_binary(o->op, x->type);
    if (arity == 1 ? !ins->fn.unary : !ins->fn.binary)
        gpuc_ev_fail(c->m, c->stmt, "the operator %s does not exist for this type", gpuc_tir_ops[o->op].text);
    ev_type t = gpuc_ev_type(e->dtype);
    return ins->d = gpuc_ev_reg(c, s, t, e->dtype.lanes, x->uniform && (!y || y->uniform));
}

/* ---- Others ------------------------------------------------------------------------------------------- */

static ev_reg *ramp(ev_compiler *c, ev_scope *s, gpuc_expr e)
{
    ev_reg *x = gpuc_ev_expr(c, gpuc_as_ramp(e)->start), *y = gpuc_ev_expr(c, gpuc_as_ramp(e)->stride);
    ev_ins *ins = gpuc_ev_emit(c, s, EV_RAMP);
    ins->a = x;
    ins->b = y;
    return ins->d = gpuc_ev_reg(c, s, x->type, e->dtype.lanes, x->uniform && y->uniform);
}

static ev_reg *vector(ev_compiler *c, ev_scope *s, gpuc_expr e)
{
    const gpuc_tir_vector_node *v = gpuc_as_vector(e);
    int n = e->dtype.lanes;
    ev_reg **list = ev_new_array(c->m, ev_reg *, n);
    bool uniform = true;
    for (int i = 0; i < n; i++) {
        list[i] = gpuc_ev_expr(c, v->a[i]);
        uniform = uniform && list[i]->uniform;
    }
    ev_ins *ins = gpuc_ev_emit(c, s, EV_VECTOR);
    ins->list = list;
    ins->num_list = n;
    return ins->d = gpuc_ev_reg(c, s, list[0]->type, n, uniform);
}

static ev_reg *one_operand(ev_compiler *c, ev_scope *s, ev_kind kind, gpuc_expr of, gpuc_dtype t, int64_t k)
{
    ev_reg *a = gpuc_ev_expr(c, of);
    ev_ins *ins = gpuc_ev_emit(c, s, kind);
    ins->a = a;
    ins->k = k;
    return ins->d = gpuc_ev_reg(c, s, gpuc_ev_type(t), t.lanes, a->uniform);
}

static ev_reg *load(ev_compiler *c, gpuc_expr e)
{
    const gpuc_tir_load_node *l = gpuc_as_load(e);
    ev_access *a = gpuc_ev_access(c, l->buffer, l->n, l->index);
    ev_ins *ins = gpuc_ev_emit(c, c->scope, EV_LOAD);
    ins->access = a;
    return ins->d = gpuc_ev_reg(c, c->scope, a->buffer->type, a->vl, a->uniform);
}

static ev_reg *call(ev_compiler *c, ev_scope *s, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_expr plain = gpuc_tir_expand(c->m->ctx, e);
    if (plain != e) return gpuc_ev_expr(c, plain);
    if (n->fn == GPUC_TIR_CALL_THREAD_DECIDES) return gpuc_ev_const(c, e->dtype, (gpuc_tir_value){.i = 1});
    if (n->fn == GPUC_TIR_CALL_REINTERPRET) return one_operand(c, s, EV_REINTERPRET, n->args[0], e->dtype, 0);
    if (n->fn == GPUC_TIR_CALL_TEXTURE2D_LOAD)
        return gpuc_ev_expr(
            c, gpuc_cast(c->m->ctx, e->dtype,
                         gpuc_tir_load1(c->m->ctx, n->buffer, gpuc_tir_texture_index(c->m->ctx, e))));
    if (n->fn == GPUC_TIR_CALL_EXTERN)
        gpuc_ev_fail(c->m, c->stmt,
                     "the evaluator calls no C functions: %s runs where the code is built for the target c",
                     n->name);
    ev_access *access = NULL;
    ev_reg **list = ev_new_array(c->m, ev_reg *, n->n + 1);
    bool ahead = n->fn == GPUC_TIR_CALL_PREFETCH;
    if (n->buffer) access = gpuc_ev_access(c, n->buffer, ahead ? n->n : 1, n->args);
    if (access && !ahead) access->buffer->stored = true;
    for (int i = ahead ? n->n : n->buffer ? 1 : 0; i < n->n; i++) list[i] = gpuc_ev_expr(c, n->args[i]);
    ev_ins *ins = gpuc_ev_emit(c, s, EV_CALL);
    ins->call = n;
    ins->access = access;
    ins->list = list;
    ins->num_list = n->n;
    if (n->fn == GPUC_TIR_CALL_BARRIER || ahead)
        return ins->d = gpuc_ev_const(c, GPUC_BOOL, (gpuc_tir_value){0});
    return ins->d = gpuc_ev_reg(c, s, gpuc_ev_type(e->dtype), e->dtype.lanes, !c->lanes);
}

static ev_reg *compile(ev_compiler *c, ev_scope *s, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_CAST: return cast_reg(c, s, gpuc_ev_expr(c, gpuc_as_cast(e)->a), gpuc_ev_type(e->dtype));
    case GPUC_EXPR_OP: return operator(c, s, e);
    case GPUC_EXPR_LOAD: return load(c, e);
    case GPUC_EXPR_RAMP: return ramp(c, s, e);
    case GPUC_EXPR_BROADCAST: return one_operand(c, s, EV_FILL, gpuc_as_broadcast(e)->a, e->dtype, 0);
    case GPUC_EXPR_LANE:
        return one_operand(c, s, EV_PART, gpuc_as_lane(e)->a, e->dtype, gpuc_as_lane(e)->lane);
    case GPUC_EXPR_VECTOR: return vector(c, s, e);
    case GPUC_EXPR_CALL: return call(c, s, e);
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE: gpuc_ev_fail(c->m, c->stmt, "tensor expressions cannot be run: lower them first");
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    gpuc_ev_fail(c->m, c->stmt, "an expression of an unknown kind");
}

ev_reg *gpuc_ev_expr(ev_compiler *c, gpuc_expr e)
{
    int64_t v;
    if (e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT) return constant(c, e);
    if (e->kind == GPUC_EXPR_VAR) return variable(c, e);
    ev_reg *r = lookup(c, e);
    if (r) return r;
    if (e->dtype.lanes == 1 && !gpuc_is_float(e->dtype) && gpuc_ev_constant(c, e, &v)) {
        r = gpuc_ev_const(c, e->dtype, (gpuc_tir_value){.i = v});
        gpuc_ev_map_set(c->m, &c->scope->memo, e, r);
        return r;
    }
    int level = gpuc_ev_level(c, e);
    ev_scope *s = home(c, level), *here = c->scope;
    c->scope = s;
    r = compile(c, s, e);
    gpuc_ev_map_set(c->m, &s->memo, e, r);
    c->scope = here;
    return r;
}

ev_reg *gpuc_ev_index_reg(ev_compiler *c, gpuc_expr e)
{
    ev_reg *r = gpuc_ev_expr(c, e);
    if (r->type == EV_INT64) return r;
    if (r->constant) return gpuc_ev_const(c, GPUC_INT64, (gpuc_tir_value){.i = r->value});
    for (const ev_scope *s = c->scope; s; s = s->outer) {
        ev_reg *wide = gpuc_ev_map_get(&s->memo, r);
        if (wide) return wide;
    }
    ev_scope *s = home(c, gpuc_ev_level(c, e));
    ev_reg *wide = cast_reg(c, s, r, EV_INT64);
    gpuc_ev_map_set(c->m, &s->memo, r, wide);
    return wide;
}
