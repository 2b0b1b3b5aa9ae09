/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a group do together: barriers, atomics, subgroup operations, reductions. */
#include "tir_eval/eval.h"

static bool active(const ev_machine *m, int lane)
{
    return !m->mask.at || m->mask.at[lane];
}

static char *value_at(const ev_machine *m, const ev_reg *r, int lane, int component)
{
    size_t lanes = r->uniform ? 1 : (size_t)m->n, i = r->uniform ? 0 : (size_t)lane;
    return (char *)r->at + gpuc_ev_reg_bytes[r->type] * (i + lanes * (size_t)(r->vl == 1 ? 0 : component));
}

/* ---- Atomics ------------------------------------------------------------------------------------------ */

static const gpuc_tir_op atomic_ops[GPUC_TIR_INTRIN_COUNT] = {
    [GPUC_TIR_CALL_ATOMIC_ADD] = GPUC_TIR_ADD,   [GPUC_TIR_CALL_ATOMIC_MIN] = GPUC_TIR_MIN,
    [GPUC_TIR_CALL_ATOMIC_MAX] = GPUC_TIR_MAX,   [GPUC_TIR_CALL_ATOMIC_AND] = GPUC_TIR_BITAND,
    [GPUC_TIR_CALL_ATOMIC_OR] = GPUC_TIR_BITOR,  [GPUC_TIR_CALL_ATOMIC_XOR] = GPUC_TIR_BITXOR,
    [GPUC_TIR_CALL_SUBGROUP_ADD] = GPUC_TIR_ADD, [GPUC_TIR_CALL_SUBGROUP_MUL] = GPUC_TIR_MUL,
    [GPUC_TIR_CALL_SUBGROUP_MIN] = GPUC_TIR_MIN, [GPUC_TIR_CALL_SUBGROUP_MAX] = GPUC_TIR_MAX,
};

static void run_atomic(ev_machine *m, const ev_ins *ins)
{
    const ev_access *a = ins->access;
    ev_buffer *b = a->buffer;
    gpuc_tir_intrin fn = ins->call->fn;
    size_t reg = gpuc_ev_reg_bytes[b->type], mem = gpuc_ev_mem_bytes[b->type];
    bool half = gpuc_ev_is_half(b->type);
    if (ins->list[1]->vl != 1) gpuc_ev_fail(m, ins->stmt, "an atomic operation on a vector");
    gpuc_ev_indices(m, a);
    ev_binary_fn op = NULL;
    if (fn != GPUC_TIR_CALL_ATOMIC_EXCHANGE && fn != GPUC_TIR_CALL_ATOMIC_CAS) {
        op = gpuc_ev_binary(atomic_ops[fn], b->type);
        if (!op) gpuc_ev_fail(m, ins->stmt, "%s does not exist for this type", gpuc_tir_intrins[fn].text);
    }
    for (int i = 0; i < m->n; i++) {
        if (!active(m, i)) continue;
        int64_t place = ev_place(b, m->index[i], i);
        uint8_t *at = b->data + (size_t)place * mem;
        uint64_t old = 0, fresh = 0;
        if (b->written && !b->written[place]) gpuc_ev_check_read(m, a, m->index[i], place, i); /* says so */
        if (half)
            gpuc_ev_half_load(b->type, (float *)(void *)&old, at, 1);
        else
            memcpy(&old, at, mem);
        const char *v = value_at(m, ins->list[fn == GPUC_TIR_CALL_ATOMIC_CAS ? 2 : 1], i, 0);
        if (op)
            op(&fresh, &old, v, 1, 0);
        else if (fn == GPUC_TIR_CALL_ATOMIC_EXCHANGE ||
                 memcmp(&old, value_at(m, ins->list[1], i, 0), reg) == 0)
            memcpy(&fresh, v, reg);
        else
            fresh = old;
        if (half)
            gpuc_ev_half_store(b->type, at, (const float *)(const void *)&fresh, 1);
        else
            memcpy(at, &fresh, mem);
        memcpy(value_at(m, ins->d, i, 0), &old, reg);
    }
}

/* ---- Subgroups ----------------------------------------------------------------------------------------- */

static int subgroup_size(const ev_machine *m)
{
    return m->lanes ? m->lanes->subgroup : 1;
}

static void run_subgroup_op(ev_machine *m, const ev_ins *ins)
{
    int size = subgroup_size(m);
    const ev_reg *v = ins->list[0];
    size_t bytes = gpuc_ev_reg_bytes[v->type];
    ev_binary_fn op = gpuc_ev_binary(atomic_ops[ins->call->fn], v->type);
    if (!op)
        gpuc_ev_fail(m, ins->stmt, "%s does not exist for this type", gpuc_tir_intrins[ins->call->fn].text);
    for (int k = 0; k < ins->d->vl; k++)
        for (int first = 0; first < m->n; first += size) {
            int end = first + size < m->n ? first + size : m->n;
            uint64_t total = 0;
            bool any = false;
            for (int i = first; i < end; i++) {
                if (!active(m, i)) continue;
                if (any)
                    op(&total, &total, value_at(m, v, i, k), 1, 0);
                else
                    memcpy(&total, value_at(m, v, i, k), bytes);
                any = true;
            }
            for (int i = first; i < end; i++) memcpy(value_at(m, ins->d, i, k), &total, bytes);
        }
}

static int64_t lane_number(const ev_machine *m, const ev_reg *r, int lane)
{
    int64_t v = 0;
    memcpy(&v, value_at(m, r, lane, 0), gpuc_ev_reg_bytes[r->type]);
    return v;
}

static void run_shuffle(ev_machine *m, const ev_ins *ins)
{
    int size = subgroup_size(m);
    const ev_reg *v = ins->list[0];
    size_t bytes = gpuc_ev_reg_bytes[v->type];
    for (int i = 0; i < m->n; i++) {
        int64_t from = lane_number(m, ins->list[1], i), at = i / size * size + from;
        bool there = from >= 0 && from < size && at < m->n && active(m, (int)at);
        if (active(m, i) && !there && m->check)
            gpuc_ev_fail(m, ins->stmt, "lane %d of a subgroup reads lane %lld, which does not take part",
                         i % size, (long long)from);
        for (int k = 0; k < ins->d->vl; k++)
            memcpy(value_at(m, ins->d, i, k), value_at(m, v, there ? (int)at : i, k), bytes);
    }
}

static void run_barrier(ev_machine *m, const ev_ins *ins)
{
    if (m->lanes && m->lanes->group && m->mask.active != m->n)
        gpuc_ev_fail(m, ins->stmt, "a barrier is reached by %d of %d threads of the group", m->mask.active,
                     m->n);
    m->epoch++;
}

void gpuc_ev_call(ev_machine *m, const ev_ins *ins)
{
    switch (ins->call->fn) {
    case GPUC_TIR_CALL_BARRIER: run_barrier(m, ins); return;
    case GPUC_TIR_CALL_PREFETCH: gpuc_ev_indices(m, ins->access); return;
    case GPUC_TIR_CALL_ATOMIC_ADD:
    case GPUC_TIR_CALL_ATOMIC_MIN:
    case GPUC_TIR_CALL_ATOMIC_MAX:
    case GPUC_TIR_CALL_ATOMIC_AND:
    case GPUC_TIR_CALL_ATOMIC_OR:
    case GPUC_TIR_CALL_ATOMIC_XOR:
    case GPUC_TIR_CALL_ATOMIC_EXCHANGE:
    case GPUC_TIR_CALL_ATOMIC_CAS: run_atomic(m, ins); return;
    case GPUC_TIR_CALL_SUBGROUP_LANE:
        for (int i = 0; i < m->n; i++) ((int32_t *)ins->d->at)[i] = i % subgroup_size(m);
        return;
    case GPUC_TIR_CALL_SUBGROUP_ADD:
    case GPUC_TIR_CALL_SUBGROUP_MUL:
    case GPUC_TIR_CALL_SUBGROUP_MIN:
    case GPUC_TIR_CALL_SUBGROUP_MAX: run_subgroup_op(m, ins); return;
    case GPUC_TIR_CALL_SUBGROUP_SHUFFLE: run_shuffle(m, ins); return;
    case GPUC_TIR_CALL_THREAD_DECIDES:
    case GPUC_TIR_CALL_REINTERPRET:
    case GPUC_TIR_CALL_EXACT:
    case GPUC_TIR_CALL_DOT_I8:
    case GPUC_TIR_CALL_DOT_U8I8:
    case GPUC_TIR_CALL_DOT_U8:
    case GPUC_TIR_CALL_DOT_I16:
    case GPUC_TIR_CALL_TEXTURE2D_LOAD:
    case GPUC_TIR_CALL_TEXTURE2D_STORE:
    case GPUC_TIR_CALL_EXTERN:
    case GPUC_TIR_CALL_ADDRESS:
    case GPUC_TIR_CALL_CONST_ADDRESS:
    case GPUC_TIR_CALL_STRIDE:
    case GPUC_TIR_INTRIN_COUNT: break;
    }
    gpuc_ev_fail(m, ins->stmt, "a call that the evaluator does not know");
}

/* ---- Cross-thread reductions ----------------------------------------------------------------------------- */

/* Member number s of the threads that lane is combined with: its reduced coordinates become s's digits. */
static int member(const ev_lanes *l, const bool *over, int lane, int64_t s)
{
    int64_t at = lane;
    for (int k = l->num_axes - 1; k >= 0; k--) {
        const ev_axis *x = &l->axes[k];
        if (!over[x->tag]) continue;
        at += (s % x->extent - lane / x->radix % x->extent) * x->radix;
        s /= x->extent;
    }
    return (int)at;
}

void gpuc_ev_reduce(ev_machine *m, const ev_ins *ins)
{
    const ev_allreduce *a = ins->reduce;
    const ev_lanes *l = m->lanes;
    if (m->mask.active != m->n)
        gpuc_ev_fail(m, ins->stmt, "a cross-thread reduction is reached by %d of %d threads of the group",
                     m->mask.active, m->n);
    int64_t members = 1;
    for (int k = 0; k < l->num_axes; k++)
        if (a->over[l->axes[k].tag]) members *= l->axes[k].extent;
    for (int64_t s = 0; s < members; s++) {
        for (int v = 0; v < a->count; v++) {
            size_t bytes = gpuc_ev_reg_bytes[a->value[v]->type];
            const ev_reg *to = s ? a->rhs[v] : a->lhs[v];
            for (int i = 0; i < m->n; i++)
                memcpy(value_at(m, to, i, 0), value_at(m, a->value[v], member(l, a->over, i, s), 0), bytes);
        }
        if (s == 0) continue;
        gpuc_ev_run_block(m, &a->combine);
        for (int v = 0; v < a->count; v++) /* a result may be the left side of another value */
            for (int i = 0; i < m->n; i++)
                memcpy(value_at(m, a->total[v], i, 0), value_at(m, a->result[v], i, 0),
                       gpuc_ev_reg_bytes[a->value[v]->type]);
        for (int v = 0; v < a->count; v++)
            memcpy(a->lhs[v]->at, a->total[v]->at, gpuc_ev_reg_bytes[a->value[v]->type] * (size_t)m->n);
    }
    ev_mask around = m->mask;
    uint8_t *mask = m->masks + m->mask_width * (size_t)m->mask_depth++;
    GPUC_CHECK(m->mask_depth <= m->max_masks);
    int count = 0;
    for (int i = 0; i < m->n; i++) {
        bool lead = member(l, a->over, i, 0) == i;
        mask[i] = (!a->cond || *(const uint8_t *)value_at(m, a->cond, i, 0)) && (a->all_threads || lead);
        count += mask[i];
    }
    m->mask = (ev_mask){count == m->n ? NULL : mask, count};
    if (count) gpuc_ev_run_block(m, &a->store);
    m->mask = around;
    m->mask_depth--;
}
