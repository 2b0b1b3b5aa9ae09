/* SPDX-License-Identifier: Apache-2.0 */
/* Functions to instructions. Code consists of regions: a function's body, a branch, a node that several nodes use. What
 * a region computes is needed whenever the region runs, so its nodes come in post-order; branches and shared nodes are
 * regions of their own, which stand behind it. */
#include <string.h>

#include "relay_eval/eval.h"

typedef enum end_kind { END_RETURN, END_JOIN, END_BACK } end_kind;

typedef struct region {
    gpuc_rexpr *root;
    end_kind end;
    int d;      /* JOIN, BACK: register of the result */
    int join;   /* JOIN: where it goes on */
    size_t ins; /* whose target it is: targets[slot], or `to` */
    int slot;   /* -1: `to` */
} region;

typedef struct compiler {
    gpuc_relay_interpreter *i;
    gpuc_ctx *ctx;
    gpuc_relay_eval_code *code;
    gpuc_map uses;   /* node -> number of nodes that use it, as a pointer */
    gpuc_map lets;   /* variable -> LET */
    gpuc_map selves; /* FUNCTION -> the variable of the let that binds it */
    gpuc_map
        begun; /* shared nodes that have a region: node -> its first pc + 1, as a pointer; 0 until it is known */
    gpuc_ptrs queue; /* region */
    const region *at;
    gpuc_map leaves; /* of this region: CONSTANT, ... -> register + 1 */
} compiler;

/* ---- Instructions and registers ---- */

static gpuc_relay_eval_ins *emit(compiler *c, gpuc_relay_eval_kind kind, gpuc_rexpr *e, int d)
{
    gpuc_relay_eval_code *code = c->code;
    code->ins = gpuc_ctx_grow(c->ctx, code->ins, code->num_ins, &code->capacity, sizeof *code->ins);
    code->ins[code->num_ins] = (gpuc_relay_eval_ins){.kind = kind, .e = e, .d = d};
    return &code->ins[code->num_ins++];
}

static int new_reg(compiler *c)
{
    return c->code->num_regs++;
}

static int find_reg(const gpuc_relay_eval_code *code, const gpuc_rexpr *e)
{
    return (int)(uintptr_t)gpuc_map_get(&code->regs, e) - 1;
}

static void set_reg(gpuc_relay_eval_code *code, const gpuc_rexpr *e, int reg)
{
    gpuc_map_set(&code->regs, e, (void *)(uintptr_t)(reg + 1));
}

static bool is_leaf(const gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_VAR || e->kind == GPUC_REXPR_GLOBAL || e->kind == GPUC_REXPR_CONSTANT ||
           e->kind == GPUC_REXPR_OP || e->kind == GPUC_REXPR_CONSTRUCTOR;
}

static bool is_shared(const compiler *c, const gpuc_rexpr *e)
{
    return !is_leaf(e) && (uintptr_t)gpuc_map_get(&c->uses, e) > 1;
}

/* ---- Values that the code holds ---- */

/* The value that is kept for a key; NULL: none yet, and there is room for it. */
static gpuc_relay_value *kept(compiler *c, const void *key)
{
    gpuc_relay_value *v = gpuc_map_get(&c->i->constants, key);
    if (!v) gpuc_map_set(&c->i->constants, key, NULL);
    return v;
}

static gpuc_relay_value *keep(compiler *c, const void *key, gpuc_relay_value *v, const gpuc_rexpr *e)
{
    if (!v) gpuc_relay_eval_no_memory(c->i, e);
    gpuc_map_set(&c->i->constants, key, v);
    return v;
}

static gpuc_relay_value *constant_value(compiler *c, const gpuc_rexpr *e)
{
    int64_t dims[GPUC_OP_MAX_DIMS];
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    gpuc_relay_value *v = kept(c, e);
    if (v) return v;
    if (!gpuc_relay_tensor_type_static(t, dims))
        gpuc_relay_eval_fail(c->i, GPUC_INVALID_ARGUMENT, e, "a constant has extents that are not known");
    v = keep(c, e, gpuc_relay_eval_tensor(c->i->heap, t->dtype, t->ndim, dims), e);
    gpuc_relay_eval_fill(v, gpuc_as_rconstant(e)->data->bytes);
    return v;
}

/* A function of the module, or a constructor, that is not called at once. */
static gpuc_relay_value *function_value(compiler *c, const gpuc_rexpr *e)
{
    gpuc_relay_value *v = kept(c, e);
    if (v) return v;
    v = keep(c, e, gpuc_relay_eval_fields(c->i->heap, GPUC_RELAY_FUNCTION, 0), e);
    if (e->kind == GPUC_REXPR_CONSTRUCTOR)
        v->constructor = gpuc_as_rconstructor(e)->constructor;
    else
        v->code = gpuc_relay_eval_global(c->i, gpuc_as_rglobal(e)->name);
    return v;
}

static gpuc_relay_value *empty_data(compiler *c, const gpuc_constructor *constructor, const gpuc_rexpr *e)
{
    gpuc_relay_value *v = kept(c, constructor);
    if (v) return v;
    v = keep(c, constructor, gpuc_relay_eval_fields(c->i->heap, GPUC_RELAY_DATA, 0), e);
    v->constructor = constructor;
    return v;
}

/* ---- Operands ---- */

static int emit_constant(compiler *c, gpuc_rexpr *e, int d, gpuc_relay_value *v)
{
    emit(c, GPUC_RELAY_EVAL_CONST, e, d)->value = v;
    return d;
}

/* The register that has the value of e, which was emitted if it is no leaf. */
static int operand(compiler *c, gpuc_rexpr *e)
{
    if (!is_leaf(e) || e->kind == GPUC_REXPR_VAR) {
        int reg = find_reg(c->code, e);
        if (reg < 0)
            gpuc_relay_eval_fail(c->i, GPUC_INVALID_ARGUMENT, e, "%s has no value here",
                                 e->kind == GPUC_REXPR_VAR
                                     ? gpuc_ctx_printf(c->ctx, "%%%s", gpuc_as_rvar(e)->name)
                                     : "an expression");
        return reg;
    }
    int reg = (int)(uintptr_t)gpuc_map_get(&c->leaves, e) - 1;
    if (reg >= 0) return reg;
    reg = new_reg(c);
    gpuc_map_set(&c->leaves, e, (void *)(uintptr_t)(reg + 1));
    if (e->kind == GPUC_REXPR_OP)
        gpuc_relay_eval_fail(c->i, GPUC_UNSUPPORTED, e, "an operator is a value only inside of a function");
    return emit_constant(c, e, reg,
                         e->kind == GPUC_REXPR_CONSTANT ? constant_value(c, e) : function_value(c, e));
}

static const int *operands(compiler *c, int n, gpuc_rexpr *const *at, gpuc_rexpr *first)
{
    int *regs = gpuc_new_array(c->ctx, int, n + 1), k = 0;
    if (first) regs[k++] = operand(c, first);
    for (int i = 0; i < n; i++) regs[k++] = operand(c, at[i]);
    return regs;
}

/* ---- Functions inside of functions ---- */

static bool has_symbols(const gpuc_rtype *t)
{
    if (!t) return false;
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++)
        if (t->tensor.dims[i] && t->tensor.dims[i]->kind == GPUC_EXPR_VAR) return true;
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++)
        if (has_symbols(t->at[i])) return true;
    return false;
}

static bool is_no_key(gpuc_expr e, void *sizes)
{
    return e->kind != GPUC_EXPR_VAR || !gpuc_map_get(sizes, e);
}

/* Whether the type names one of the sizes. */
static bool names_some(gpuc_ctx *ctx, const gpuc_rtype *t, gpuc_map *sizes)
{
    bool found = false;
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim && !found; i++)
        found = !gpuc_tir_visit(ctx, t->tensor.dims[i], is_no_key, sizes);
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n && !found; i++)
        found = names_some(ctx, t->at[i], sizes);
    return found;
}

/* Variables of the function around that f uses, itself, in attributes that depend on their extents, or because they say
 * sizes that parameters name. */
static void find_held(compiler *c, gpuc_rexpr *f, gpuc_relay_eval_code *inner)
{
    gpuc_ptrs order = {0}, named = {0}; /* types that name sizes */
    gpuc_map bound;
    bool symbolic = false;
    gpuc_map_init(&bound, c->ctx);
    gpuc_relay_walk_post_order(c->ctx, f, &(gpuc_relay_walk){0}, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind == GPUC_REXPR_LET) gpuc_map_set(&bound, gpuc_as_rlet(e)->var, f);
        for (int k = 0; e->kind == GPUC_REXPR_FUNCTION && k < gpuc_as_rfunction(e)->n; k++) {
            gpuc_rexpr *param = gpuc_as_rfunction(e)->params[k];
            gpuc_map_set(&bound, param, f);
            const gpuc_rtype *t = gpuc_relay_get_annotation(param);
            if (t && t->symbolic) gpuc_ptrs_push(c->ctx, &named, (void *)(uintptr_t)t);
        }
        for (int k = 0; e->kind == GPUC_REXPR_MATCH && k < gpuc_as_rmatch(e)->num_vars; k++)
            gpuc_map_set(&bound, gpuc_as_rmatch(e)->vars[k], f);
        symbolic |= gpuc_relay_call_op(e) && gpuc_attrs_symbolic(gpuc_as_rcall(e)->attrs);
    }
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_VAR || gpuc_map_has(&bound, e) || e == inner->self_var) continue;
        gpuc_map_set(&bound, e, e);
        gpuc_ptrs_push(c->ctx, &inner->held, e);
    }
    const gpuc_relay_eval_code *outer = c->code;
    for (uint32_t i = 0; i < outer->regs.count; i++) {
        const gpuc_rexpr *e = outer->regs.entries[i].key;
        bool is_set = find_reg(outer, e) < outer->num_params + outer->num_held, says = symbolic;
        if (!is_set || gpuc_map_has(&bound, e) || !has_symbols(e->type)) continue;
        gpuc_map sizes;
        gpuc_map_init(&sizes, c->ctx);
        gpuc_relay_rtype_find_sizes(gpuc_relay_get_annotation(e), &sizes);
        for (size_t k = 0; !says && k < named.count; k++) says = names_some(c->ctx, named.at[k], &sizes);
        if (!says) continue;
        gpuc_map_set(&bound, e, f);
        gpuc_ptrs_push(c->ctx, &inner->held, e);
    }
}

static gpuc_relay_eval_code *inner_code(compiler *c, gpuc_rexpr *f)
{
    gpuc_relay_eval_code *code = gpuc_map_get(&c->i->inner, f);
    if (code) return code;
    code = gpuc_new(c->ctx, gpuc_relay_eval_code);
    code->name = "fn";
    code->e = f;
    code->self_var = gpuc_map_get(&c->selves, f);
    find_held(c, f, code);
    gpuc_map_set(&c->i->inner, f, code);
    return code;
}

static void emit_closure(compiler *c, gpuc_rexpr *f, int d)
{
    gpuc_relay_eval_code *code = inner_code(c, f);
    int n = (int)code->held.count;
    const int *at = operands(c, n, (gpuc_rexpr *const *)code->held.at, NULL);
    gpuc_relay_eval_ins *ins = emit(c, GPUC_RELAY_EVAL_CLOSURE, f, d);
    ins->code = code;
    ins->at = at;
    ins->n = n;
}

/* ---- Nodes ---- */

static void emit_call(compiler *c, gpuc_rexpr *e, int d)
{
    const gpuc_rcall *call = gpuc_as_rcall(e);
    const gpuc_rexpr *callee = call->callee;
    if (callee->kind == GPUC_REXPR_CONSTRUCTOR && !call->n) {
        emit_constant(c, e, d, empty_data(c, gpuc_as_rconstructor(callee)->constructor, e));
        return;
    }
    bool apply = callee->kind != GPUC_REXPR_OP && callee->kind != GPUC_REXPR_GLOBAL &&
                 callee->kind != GPUC_REXPR_CONSTRUCTOR;
    const int *at = operands(c, call->n, call->args, apply ? call->callee : NULL);
    gpuc_relay_eval_ins ins = {.kind = GPUC_RELAY_EVAL_APPLY, .at = at, .n = call->n + apply, .e = e, .d = d};
    if (callee->kind == GPUC_REXPR_OP) {
        ins.kind = GPUC_RELAY_EVAL_OPERATOR;
        ins.site = gpuc_relay_eval_site_create(c->i, e);
    } else if (callee->kind == GPUC_REXPR_GLOBAL) {
        ins.kind = GPUC_RELAY_EVAL_CALL;
        ins.code = gpuc_relay_eval_global(c->i, gpuc_as_rglobal(callee)->name);
        if (!ins.code)
            gpuc_relay_eval_fail(c->i, GPUC_NOT_FOUND, e, "the module has no function '@%s'",
                                 gpuc_as_rglobal(callee)->name);
    } else if (callee->kind == GPUC_REXPR_CONSTRUCTOR) {
        ins.kind = GPUC_RELAY_EVAL_DATA;
        ins.creates = gpuc_as_rconstructor(callee)->constructor;
    }
    *emit(c, ins.kind, e, d) = ins;
}

static void push_region(compiler *c, gpuc_rexpr *root, end_kind end, int d, size_t ins, int slot)
{
    region *r = gpuc_new(c->ctx, region);
    *r = (region){root, end, d, (int)ins + 1, ins, slot};
    gpuc_ptrs_push(c->ctx, &c->queue, r);
}

static bool is_inside(const compiler *c, const gpuc_rexpr *e)
{
    return !is_shared(c, e) || (c->at->end == END_BACK && e == c->at->root);
}

/* The node whose value is the region's. */
static const gpuc_rexpr *last_node(const compiler *c)
{
    const gpuc_rexpr *e = c->at->root;
    while (e->kind == GPUC_REXPR_LET && is_inside(c, e)) e = gpuc_as_rlet(e)->body;
    return e;
}

/* Branches of the last node of a function's body give the function's result. */
static end_kind branch_end(const compiler *c, const gpuc_rexpr *e)
{
    return c->at->end == END_RETURN && e == last_node(c) && is_inside(c, e) ? END_RETURN : END_JOIN;
}

static void emit_if(compiler *c, gpuc_rexpr *e, int d)
{
    const gpuc_rif *f = gpuc_as_rif(e);
    const int *at = operands(c, 1, &f->cond, NULL);
    size_t pc = c->code->num_ins;
    gpuc_relay_eval_ins *ins = emit(c, GPUC_RELAY_EVAL_IF, e, d);
    ins->at = at;
    ins->targets = gpuc_new_array(c->ctx, int, 2);
    push_region(c, f->then_branch, branch_end(c, e), d, pc, 0);
    push_region(c, f->else_branch, branch_end(c, e), d, pc, 1);
}

static void compile_pattern(compiler *c, const gpuc_rpattern *p, gpuc_relay_eval_pattern *out)
{
    *out = (gpuc_relay_eval_pattern){.reg = -1, .constructor = p->constructor, .n = p->n};
    if (p->var) set_reg(c->code, p->var, out->reg = new_reg(c));
    gpuc_relay_eval_pattern *at = p->n ? gpuc_new_array(c->ctx, gpuc_relay_eval_pattern, p->n) : NULL;
    for (int i = 0; i < p->n; i++) compile_pattern(c, &p->at[i], &at[i]);
    out->at = at;
}

static void emit_match(compiler *c, gpuc_rexpr *e, int d)
{
    const gpuc_rmatch *m = gpuc_as_rmatch(e);
    const int *at = operands(c, 1, &m->value, NULL);
    size_t pc = c->code->num_ins;
    emit(c, GPUC_RELAY_EVAL_MATCH, e, d);
    gpuc_relay_eval_pattern *patterns = gpuc_new_array(c->ctx, gpuc_relay_eval_pattern, m->n + 1);
    for (int i = 0; i < m->n; i++) {
        compile_pattern(c, m->clauses[i].pattern, &patterns[i]);
        push_region(c, m->clauses[i].body, branch_end(c, e), d, pc, i);
    }
    gpuc_relay_eval_ins *ins = &c->code->ins[pc];
    ins->at = at;
    ins->n = m->n;
    ins->patterns = patterns;
    ins->targets = gpuc_new_array(c->ctx, int, m->n + 1);
}

/* Computes a shared node, unless that is done. */
static void emit_ensure(compiler *c, gpuc_rexpr *e)
{
    int d = find_reg(c->code, e);
    if (d < 0) set_reg(c->code, e, d = new_reg(c));
    emit(c, GPUC_RELAY_EVAL_ENSURE, e, d);
    push_region(c, e, END_BACK, d, c->code->num_ins - 1, -1);
}

static void emit_node(compiler *c, gpuc_rexpr *e)
{
    int d = find_reg(c->code, e);
    if (e->kind == GPUC_REXPR_LET) { /* its value is that of the body */
        int body = operand(c, gpuc_as_rlet(e)->body);
        if (d < 0)
            set_reg(c->code, e, body);
        else
            emit(c, GPUC_RELAY_EVAL_MOVE, e, d)->at = gpuc_ctx_memdup(c->ctx, &body, sizeof body);
        return;
    }
    if (d < 0) set_reg(c->code, e, d = new_reg(c));
    switch (e->kind) {
    case GPUC_REXPR_CALL: emit_call(c, e, d); break;
    case GPUC_REXPR_TUPLE: {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        const int *at = operands(c, t->n, t->fields, NULL);
        gpuc_relay_eval_ins *ins = emit(c, GPUC_RELAY_EVAL_TUPLE, e, d);
        ins->at = at;
        ins->n = t->n;
        break;
    }
    case GPUC_REXPR_GET: {
        gpuc_rexpr *tuple = gpuc_as_rget(e)->tuple;
        const int *at = operands(c, 1, &tuple, NULL);
        gpuc_relay_eval_ins *ins = emit(c, GPUC_RELAY_EVAL_GET, e, d);
        ins->at = at;
        ins->index = gpuc_as_rget(e)->index;
        break;
    }
    case GPUC_REXPR_FUNCTION: emit_closure(c, e, d); break;
    case GPUC_REXPR_IF: emit_if(c, e, d); break;
    case GPUC_REXPR_MATCH: emit_match(c, e, d); break;
    case GPUC_REXPR_VAR:
    case GPUC_REXPR_GLOBAL:
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_LET:
    case GPUC_REXPR_CONSTRUCTOR:
    case GPUC_REXPR_KIND_COUNT: break;
    }
}

/* ---- Regions ---- */

static gpuc_rexpr *child_in_region(const gpuc_rexpr *e, int i, void *arg)
{
    if (!is_inside(arg, e)) return NULL;
    if ((e->kind == GPUC_REXPR_IF || e->kind == GPUC_REXPR_MATCH) && i > 0) return NULL;
    return gpuc_relay_child(e, i);
}

static void end_region(compiler *c, const region *r)
{
    int result = operand(c, r->root);
    gpuc_relay_eval_code *code = c->code;
    bool is_call = code->num_ins && (code->ins[code->num_ins - 1].kind == GPUC_RELAY_EVAL_CALL ||
                                     code->ins[code->num_ins - 1].kind == GPUC_RELAY_EVAL_APPLY);
    const gpuc_rexpr *last = last_node(c);
    bool leaves =
        (last->kind == GPUC_REXPR_IF || last->kind == GPUC_REXPR_MATCH) && branch_end(c, last) == END_RETURN;
    if (leaves) return; /* its branches return */
    if (r->end == END_RETURN && is_call && code->ins[code->num_ins - 1].d == result)
        code->ins[code->num_ins - 1].tail = true;
    if (r->end != END_RETURN && result != r->d)
        emit(c, GPUC_RELAY_EVAL_MOVE, r->root, r->d)->at = gpuc_ctx_memdup(c->ctx, &result, sizeof result);
    if (r->end == END_BACK) {
        emit(c, GPUC_RELAY_EVAL_BACK, r->root, 0);
    } else if (r->end == END_JOIN) {
        emit(c, GPUC_RELAY_EVAL_JUMP, r->root, 0)->to = r->join;
    } else {
        emit(c, GPUC_RELAY_EVAL_RETURN, r->root, 0)->at = gpuc_ctx_memdup(c->ctx, &result, sizeof result);
    }
}

static void compile_region(compiler *c, const region *r)
{
    gpuc_relay_eval_code *code = c->code;
    int begin = (int)code->num_ins;
    if (r->end == END_BACK) {
        int known = (int)(uintptr_t)gpuc_map_get(&c->begun, r->root) - 1;
        code->ins[r->ins].to = known >= 0 ? known : begin;
        if (known >= 0) return;
        gpuc_map_set(&c->begun, r->root, (void *)(uintptr_t)(begin + 1));
    } else if (r->slot >= 0) {
        ((int *)code->ins[r->ins].targets)[r->slot] = begin;
    }
    c->at = r;
    gpuc_map_init(&c->leaves, c->ctx);
    gpuc_ptrs order = {0};
    gpuc_relay_walk_post_order(c->ctx, r->root, &(gpuc_relay_walk){.child = child_in_region, .arg = c},
                               &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        const gpuc_rexpr *let = e->kind == GPUC_REXPR_VAR ? gpuc_map_get(&c->lets, e) : NULL;
        if (let && find_reg(code, e) < 0) set_reg(code, e, operand(c, gpuc_as_rlet(let)->value));
        if (is_leaf(e)) continue;
        if (is_inside(c, e))
            emit_node(c, e);
        else
            emit_ensure(c, e);
    }
    end_region(c, r);
}

static gpuc_rexpr *child_outside_functions(const gpuc_rexpr *e, int i, void *arg)
{
    (void)arg;
    return gpuc_relay_child(e, i);
}

static void count_uses(compiler *c, gpuc_rexpr *body)
{
    gpuc_ptrs order = {0};
    gpuc_relay_walk_post_order(c->ctx, body, &(gpuc_relay_walk){.child = child_outside_functions}, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i], *child;
        for (int k = 0; (child = gpuc_relay_child(e, k)); k++) {
            uintptr_t n = (uintptr_t)gpuc_map_get(&c->uses, child);
            gpuc_map_set(&c->uses, child, (void *)(n + 1));
        }
        if (e->kind != GPUC_REXPR_LET) continue;
        const gpuc_rlet *l = gpuc_as_rlet(e);
        gpuc_map_set(&c->lets, l->var, e);
        if (l->value->kind == GPUC_REXPR_FUNCTION) gpuc_map_set(&c->selves, l->value, l->var);
    }
}

/* ---- Parameters ---- */

static bool has_extents(const gpuc_rtype *t)
{
    if (t->kind == GPUC_RTYPE_TENSOR) return t->tensor.ndim > 0;
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++)
        if (has_extents(t->at[i])) return true;
    return false;
}

static void list_checked(compiler *c, const gpuc_rfunction *f)
{
    gpuc_relay_eval_code *code = c->code;
    code->checked = gpuc_new_array(c->ctx, gpuc_relay_eval_param, f->n + 1);
    for (int i = 0; i < f->n; i++)
        if (f->params[i]->type && has_extents(f->params[i]->type))
            code->checked[code->num_checked++] =
                (gpuc_relay_eval_param){i, f->params[i]->type, gpuc_relay_get_annotation(f->params[i])};
    code->around = gpuc_new_array(c->ctx, gpuc_relay_eval_param, code->num_held + 1);
    for (int i = 0; i < code->num_held; i++) {
        const gpuc_rtype *t = gpuc_relay_get_annotation(code->held.at[i]);
        if (t && has_symbols(t))
            code->around[code->num_around++] = (gpuc_relay_eval_param){f->n + i, t, true};
    }
}

void gpuc_relay_eval_compile(gpuc_relay_interpreter *i, gpuc_relay_eval_code *code)
{
    compiler c = {.i = i, .ctx = i->ctx, .code = code};
    const gpuc_rfunction *f = gpuc_as_rfunction(code->e);
    gpuc_map_init(&code->regs, c.ctx);
    gpuc_map_init(&c.uses, c.ctx);
    gpuc_map_init(&c.lets, c.ctx);
    gpuc_map_init(&c.selves, c.ctx);
    gpuc_map_init(&c.begun, c.ctx);
    code->num_params = f->n;
    code->num_held = (int)code->held.count;
    code->num_regs = 0;
    code->num_ins = 0;
    code->num_checked = code->num_around = 0;
    for (int k = 0; k < f->n; k++) set_reg(code, f->params[k], new_reg(&c));
    for (int k = 0; k < code->num_held; k++) set_reg(code, code->held.at[k], new_reg(&c));
    code->self = code->self_var ? new_reg(&c) : -1;
    if (code->self_var) set_reg(code, code->self_var, code->self);
    list_checked(&c, f);
    count_uses(&c, f->body);
    region body = {.root = f->body, .end = END_RETURN, .slot = -1};
    compile_region(&c, &body);
    while (c.queue.count) compile_region(&c, c.queue.at[--c.queue.count]);
    code->compiled = true;
}
