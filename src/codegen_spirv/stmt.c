/* SPDX-License-Identifier: Apache-2.0 */
/* Statements as structured control flow. Loop variables are phis; storage is variables. */
#include "codegen_spirv/emit.h"

static void scoped(gpuc_spv_kernel *k, gpuc_stmt s)
{
    size_t values = gpuc_spv_scope_begin(k), facts = gpuc_arith_analyzer_mark(k->analyzer);
    gpuc_spv_stmt(k, s);
    gpuc_arith_analyzer_rewind(k->analyzer, facts);
    gpuc_spv_scope_end(k, values);
}

static void for_stmt(gpuc_spv_kernel *k, const gpuc_tir_for_node *n)
{
    gpuc_spv *m = &k->m;
    if (n->loop == GPUC_LOOP_THREAD)
        gpuc_raise(k->ctx, GPUC_INTERNAL, "kernel '%s' holds a loop over %s", k->func->name,
                   gpuc_thread_tag_name(n->tag));
    gpuc_dtype t = n->var->dtype;
    uint32_t type = gpuc_spv_type(k, t), begin = gpuc_spv_expr(k, n->min);
    uint32_t end = gpuc_spv_expr(k, gpuc_arith_simplify(k->analyzer, gpuc_add(k->ctx, n->min, n->extent)));
    uint32_t header = gpuc_spv_id(m), body = gpuc_spv_id(m), again = gpuc_spv_id(m), merge = gpuc_spv_id(m);
    uint32_t var = gpuc_spv_id(m), next = gpuc_spv_id(m), before = m->block;
    gpuc_spv_memory_changed(k);
    gpuc_spv_emit(m, &m->code, SpvOpBranch, header);
    gpuc_spv_label(m, header);
    gpuc_spv_emit(m, &m->code, SpvOpPhi, type, var, begin, before, next, again);
    gpuc_spv_name(m, var, gpuc_as_var(n->var)->name);
    uint32_t more = gpuc_spv_calc(m, t.code == GPUC_DTYPE_UINT ? SpvOpULessThan : SpvOpSLessThan,
                                  gpuc_spv_type(k, GPUC_BOOL), var, end);
    gpuc_spv_emit(m, &m->code, SpvOpLoopMerge, merge, again, gpuc_spv_loop_control(k->ctx, n));
    gpuc_spv_emit(m, &m->code, SpvOpBranchConditional, more, body, merge);
    gpuc_spv_label(m, body);
    size_t values = gpuc_spv_scope_begin(k), facts = gpuc_arith_analyzer_mark(k->analyzer);
    gpuc_spv_set_value(k, n->var, var);
    gpuc_arith_analyzer_bind(k->analyzer, n->var, n->min, n->extent);
    gpuc_spv_stmt(k, n->body);
    gpuc_arith_analyzer_rewind(k->analyzer, facts);
    gpuc_spv_scope_end(k, values);
    gpuc_spv_emit(m, &m->code, SpvOpBranch, again);
    gpuc_spv_label(m, again);
    gpuc_spv_emit(m, &m->code, SpvOpIAdd, type, next, var, gpuc_spv_int_const(k, t, 1));
    gpuc_spv_emit(m, &m->code, SpvOpBranch, header);
    gpuc_spv_label(m, merge);
    gpuc_spv_memory_changed(k);
}

static void if_stmt(gpuc_spv_kernel *k, const gpuc_tir_if_node *n)
{
    gpuc_spv *m = &k->m;
    uint32_t cond = gpuc_spv_expr(k, n->cond), yes = gpuc_spv_id(m);
    uint32_t no = n->else_body ? gpuc_spv_id(m) : 0, merge = gpuc_spv_id(m);
    gpuc_spv_emit(m, &m->code, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
    gpuc_spv_emit(m, &m->code, SpvOpBranchConditional, cond, yes, no ? no : merge);
    gpuc_spv_label(m, yes);
    size_t facts = gpuc_arith_analyzer_assume(k->analyzer, n->cond);
    scoped(k, n->then_body);
    gpuc_arith_analyzer_rewind(k->analyzer, facts);
    gpuc_spv_emit(m, &m->code, SpvOpBranch, merge);
    gpuc_spv_memory_changed(k);
    if (no) {
        gpuc_spv_label(m, no);
        scoped(k, n->else_body);
        gpuc_spv_emit(m, &m->code, SpvOpBranch, merge);
        gpuc_spv_memory_changed(k);
    }
    gpuc_spv_label(m, merge);
}

static void let_stmt(gpuc_spv_kernel *k, const gpuc_tir_let_node *n)
{
    size_t facts = gpuc_arith_analyzer_mark(k->analyzer);
    gpuc_spv_set_value(k, n->var, gpuc_spv_expr(k, n->value));
    if (gpuc_is_integer(n->var->dtype) && n->var->dtype.lanes == 1)
        gpuc_arith_analyzer_bind_value(k->analyzer, n->var, n->value);
    gpuc_spv_stmt(k, n->body);
    gpuc_arith_analyzer_rewind(k->analyzer, facts);
}

void gpuc_spv_stmt(gpuc_spv_kernel *k, gpuc_stmt s)
{
    switch (s->kind) {
    case GPUC_STMT_FOR: for_stmt(k, gpuc_as_for(s)); return;
    case GPUC_STMT_STORE:
        gpuc_spv_store(k, gpuc_as_store(s));
        gpuc_spv_memory_changed(k);
        return;
    case GPUC_STMT_IF: if_stmt(k, gpuc_as_if(s)); return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) gpuc_spv_stmt(k, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC:
        gpuc_spv_alloc(k, gpuc_as_alloc(s)->buffer);
        gpuc_spv_stmt(k, gpuc_as_alloc(s)->body);
        return;
    case GPUC_STMT_LET: let_stmt(k, gpuc_as_let(s)); return;
    case GPUC_STMT_EVAL: gpuc_spv_expr(k, gpuc_as_eval(s)->value); return;
    case GPUC_STMT_ATTR:
        if (gpuc_tir_is_coopmat(s))
            gpuc_spv_coopmat(k, gpuc_as_attr(s));
        else
            gpuc_spv_stmt(k, gpuc_as_attr(s)->body);
        return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}
