/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter. */
#include "tir_eval/eval.h"

static size_t lanes_of(const ev_machine *m, const ev_reg *r)
{
    return r->uniform ? 1 : (size_t)m->n;
}

/* Component k of a register with `lanes` lanes. */
static void *part(const ev_reg *r, size_t lanes, int k)
{
    return (char *)r->at + (size_t)gpuc_ev_reg_bytes[r->type] * lanes * (size_t)k;
}

static const int64_t *element(const ev_machine *m, const ev_reg *r, int k)
{
    return part(r, lanes_of(m, r), k);
}

/* The integer in one lane. */
static int64_t int_at(const ev_reg *r, int lane)
{
    size_t i = r->uniform ? 0 : (size_t)lane;
    size_t bytes = gpuc_ev_reg_bytes[r->type];
    int64_t v = 0;
    memcpy(&v, (const char *)r->at + i * bytes, bytes); /* little-endian: the low bytes */
    return gpuc_tir_wrap(gpuc_elements[r->type].dtype, v);
}

static void set_int(ev_reg *r, int64_t v)
{
    memcpy(r->at, &v, gpuc_ev_reg_bytes[r->type]);
}

/* One value n times. */
static void spread(void *d, const void *value, size_t n, int bytes)
{
    if (bytes == 1) {
        memset(d, *(const uint8_t *)value, n);
    } else if (bytes == 2) {
        for (size_t i = 0; i < n; i++) ((uint16_t *)d)[i] = *(const uint16_t *)value;
    } else if (bytes == 4) {
        for (size_t i = 0; i < n; i++) ((uint32_t *)d)[i] = *(const uint32_t *)value;
    } else {
        for (size_t i = 0; i < n; i++) ((uint64_t *)d)[i] = *(const uint64_t *)value;
    }
}

/* Component k of r to all lanes at d. */
static void put_component(const ev_machine *m, void *d, size_t lanes, const ev_reg *r, int k)
{
    int bytes = gpuc_ev_reg_bytes[r->type];
    const void *s = part(r, lanes_of(m, r), r->vl == 1 ? 0 : k);
    if (r->uniform && lanes > 1)
        spread(d, s, lanes, bytes);
    else
        memcpy(d, s, lanes * (size_t)bytes);
}

/* ---- Operators ---------------------------------------------------------------------------------------- */

static void run_binary(const ev_machine *m, const ev_ins *ins)
{
    const ev_reg *a = ins->a, *b = ins->b;
    size_t lanes = lanes_of(m, ins->d);
    if (a->uniform == b->uniform || (a->vl == 1 && b->vl == 1)) {
        int mode = a->uniform == b->uniform ? 0 : a->uniform ? 1 : 2;
        ins->fn.binary(ins->d->at, a->at, b->at, lanes * (size_t)a->vl, mode);
        return;
    }
    for (int k = 0; k < a->vl; k++)
        ins->fn.binary(part(ins->d, lanes, k), element(m, a, k), element(m, b, k), lanes, a->uniform ? 1 : 2);
}

static void run_select(const ev_machine *m, const ev_ins *ins)
{
    size_t lanes = lanes_of(m, ins->d);
    int bytes = gpuc_ev_reg_bytes[ins->d->type];
    int steps[3] = {!ins->c->uniform, !ins->a->uniform, !ins->b->uniform};
    if (lanes == 1) steps[0] = steps[1] = steps[2] = 1;
    for (int k = 0; k < ins->d->vl; k++)
        gpuc_ev_select(part(ins->d, lanes, k), (const uint8_t *)element(m, ins->c, ins->c->vl == 1 ? 0 : k),
                       element(m, ins->a, k), element(m, ins->b, k), lanes, bytes, steps);
}

static uint64_t bits_of(const ev_reg *r, size_t i)
{
    uint64_t v = 0;
    if (gpuc_ev_is_half(r->type)) {
        uint16_t half = 0;
        gpuc_ev_half_store(r->type, &half, (const float *)r->at + i, 1);
        return half;
    }
    memcpy(&v, (const char *)r->at + i * gpuc_ev_reg_bytes[r->type], gpuc_ev_reg_bytes[r->type]);
    return v;
}

static void run_reinterpret(const ev_machine *m, const ev_ins *ins)
{
    size_t n = lanes_of(m, ins->d) * (size_t)ins->d->vl;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = bits_of(ins->a, i);
        if (gpuc_ev_is_half(ins->d->type)) {
            uint16_t half = (uint16_t)v;
            gpuc_ev_half_load(ins->d->type, (float *)ins->d->at + i, &half, 1);
        } else if (ins->d->type == EV_BOOL8) {
            ((uint8_t *)ins->d->at)[i] = v != 0;
        } else {
            int bytes = gpuc_ev_reg_bytes[ins->d->type];
            memcpy((char *)ins->d->at + i * (size_t)bytes, &v, (size_t)bytes);
        }
    }
}

static void run_ramp(const ev_machine *m, const ev_ins *ins)
{
    size_t lanes = lanes_of(m, ins->d);
    ev_binary_fn add = gpuc_ev_binary(GPUC_TIR_ADD, ins->d->type);
    put_component(m, ins->d->at, lanes, ins->a, 0);
    for (int k = 1; k < ins->d->vl; k++)
        add(part(ins->d, lanes, k), part(ins->d, lanes, k - 1), ins->b->at, lanes,
            lanes_of(m, ins->b) == lanes ? 0 : 2);
}

static void run_muladd(const ev_machine *m, const ev_ins *ins)
{
    size_t lanes = lanes_of(m, ins->d), a_step = !ins->a->uniform, b_step = ins->b && !ins->b->uniform;
    for (int c = 0; c < ins->d->vl; c++) {
        int64_t *d = part(ins->d, lanes, c);
        const int64_t *a = element(m, ins->a, ins->a->vl == 1 ? 0 : c);
        const int64_t *b = ins->b ? element(m, ins->b, ins->b->vl == 1 ? 0 : c) : NULL;
        uint64_t k = (uint64_t)ins->k;
        if (!b)
            for (size_t i = 0; i < lanes; i++) d[i] = (int64_t)((uint64_t)a[i * a_step] * k);
        else
            for (size_t i = 0; i < lanes; i++)
                d[i] = (int64_t)((uint64_t)a[i * a_step] * k + (uint64_t)b[i * b_step]);
    }
}

/* ---- Masks -------------------------------------------------------------------------------------------- */

static uint8_t *push_mask(ev_machine *m)
{
    GPUC_CHECK(m->mask_depth < m->max_masks);
    return m->masks + m->mask_width * (size_t)m->mask_depth++;
}

/* Lanes of the mask for which cond is value. */
static int narrow(const ev_machine *m, uint8_t *out, const ev_mask *from, const uint8_t *cond, bool value)
{
    int active = 0;
    for (int i = 0; i < m->n; i++) {
        out[i] = (cond[i] != 0) == value && (!from->at || from->at[i]);
        active += out[i];
    }
    return active;
}

static void run_under(ev_machine *m, const ev_block *code, const uint8_t *mask, int active)
{
    ev_mask saved = m->mask;
    m->mask = (ev_mask){active == m->n ? NULL : mask, active};
    gpuc_ev_run_block(m, code);
    m->mask = saved;
}

static void run_if(ev_machine *m, const ev_ins *ins)
{
    const uint8_t *cond = ins->c->at;
    if (ins->c->uniform) {
        gpuc_ev_run_block(m, *cond ? &ins->body : &ins->other);
        return;
    }
    ev_mask around = m->mask;
    uint8_t *mask = push_mask(m);
    /* The condition's register may be used again inside: both masks are made first. */
    uint8_t *opposite = push_mask(m);
    int yes = narrow(m, mask, &around, cond, true), no = narrow(m, opposite, &around, cond, false);
    if (yes && ins->body.count) run_under(m, &ins->body, mask, yes);
    if (no && ins->other.count) run_under(m, &ins->other, opposite, no);
    m->mask_depth -= 2;
}

static void run_lazy(ev_machine *m, const ev_ins *ins)
{
    run_if(m, ins);
    if (ins->c->uniform) {
        const ev_reg *r = *(const uint8_t *)ins->c->at ? ins->a : ins->b;
        size_t lanes = lanes_of(m, ins->d);
        for (int k = 0; k < ins->d->vl; k++) put_component(m, part(ins->d, lanes, k), lanes, r, k);
    } else {
        run_select(m, ins);
    }
}

/* ---- Loops ----------------------------------------------------------------------------------------------- */

static void begin_block(ev_machine *m)
{
    m->epoch++;
    m->group = m->epoch;
}

static void run_varying_for(ev_machine *m, const ev_ins *ins)
{
    ev_mask around = m->mask;
    uint8_t *mask = push_mask(m), *all = push_mask(m);
    memset(all, 1, (size_t)m->n);
    if (around.at) memcpy(all, around.at, (size_t)m->n);
    size_t bytes = gpuc_ev_reg_bytes[ins->d->type];
    for (int64_t iteration = 0;; iteration++) {
        int active = 0;
        for (int i = 0; i < m->n; i++) {
            mask[i] = all[i] && iteration < int_at(ins->b, i);
            active += mask[i];
            int64_t v = int_at(ins->a, i) + iteration;
            memcpy((char *)ins->d->at + bytes * (size_t)i, &v, bytes); /* little-endian */
        }
        if (!active) break;
        run_under(m, &ins->body, mask, active);
    }
    m->mask_depth -= 2;
}

static void run_for(ev_machine *m, const ev_ins *ins)
{
    if (!ins->d->uniform) {
        run_varying_for(m, ins);
        return;
    }
    int64_t min = int_at(ins->a, 0), extent = int_at(ins->b, 0);
    bool watch = ins->watch && !m->parallel;
    if (watch) {
        m->parallel = true;
        m->epoch++;
    }
    for (int64_t i = 0; i < extent; i++) {
        if (ins->blocks) begin_block(m);
        if (watch) m->iteration = (uint32_t)i;
        set_int(ins->d, min + i);
        gpuc_ev_run_block(m, &ins->body);
    }
    if (watch) m->parallel = false;
}

/* The value in each lane of a strip whose lane 0 is iteration `start`. */
static void fill_axis(const ev_axis *x, int64_t min, int64_t start, int n)
{
    int64_t *d = x->number->at;
    if (x->radix == 1 && x->extent < 0) {
        for (int i = 0; i < n; i++) d[i] = min + start + i;
        return;
    }
    int64_t number = start / x->radix, inside = start % x->radix;
    if (x->extent >= 0) number %= x->extent;
    for (int i = 0; i < n; i++) {
        d[i] = min + number;
        if (++inside == x->radix) {
            inside = 0;
            number = number + 1 == x->extent ? 0 : number + 1;
        }
    }
}

static void run_strips(ev_machine *m, const ev_ins *ins)
{
    const ev_lanes *l = ins->lanes;
    int64_t total = ins->a ? *(const int64_t *)ins->a->at : l->axes[0].extent;
    for (int i = 1; i < l->num_axes; i++) total *= l->axes[i].extent;
    m->lanes = l;
    for (int64_t start = 0; start < total; start += l->width) {
        m->n = total - start < l->width ? (int)(total - start) : l->width;
        m->mask = (ev_mask){NULL, m->n};
        for (int i = 0; i < l->num_axes; i++) {
            const ev_axis *x = &l->axes[i];
            int64_t min = *(const int64_t *)l->mins[i]->at, number = start / x->radix;
            if (x->extent > 0) number %= x->extent;
            *(int64_t *)x->first->at = min + number;
            if (x->number) fill_axis(x, min, start, m->n);
        }
        gpuc_ev_run_block(m, &ins->body);
    }
    m->lanes = NULL;
    m->n = 1;
    m->mask = (ev_mask){NULL, 1};
}

static void run_group(ev_machine *m, const ev_ins *ins)
{
    const ev_lanes *l = ins->lanes;
    m->lanes = l;
    m->n = l->width;
    m->mask = (ev_mask){NULL, m->n};
    begin_block(m);
    m->launch = m->epoch;
    for (int i = 0; i < l->num_axes; i++)
        if (l->axes[i].number) fill_axis(&l->axes[i], 0, 0, m->n);
    gpuc_ev_run_block(m, &ins->body);
    m->lanes = NULL;
    m->n = 1;
    m->mask = (ev_mask){NULL, 1};
}

static void run_threads(ev_machine *m, const ev_ins *ins)
{
    if (!ins->b) {
        gpuc_ev_run_block(m, &ins->body);
        return;
    }
    const int64_t *number = ins->a->at;
    uint8_t *mask = push_mask(m);
    int active = 0;
    for (int i = 0; i < m->n; i++) {
        mask[i] = number[i] < int_at(ins->b, i) && (!m->mask.at || m->mask.at[i]);
        active += mask[i];
    }
    if (active) run_under(m, &ins->body, mask, active);
    m->mask_depth--;
}

/* ---- All ------------------------------------------------------------------------------------------------- */

static void run(ev_machine *m, const ev_ins *ins)
{
    size_t lanes = ins->d ? lanes_of(m, ins->d) : 1;
    switch (ins->kind) {
    case EV_UNARY: ins->fn.unary(ins->d->at, ins->a->at, lanes * (size_t)ins->d->vl); return;
    case EV_BINARY: run_binary(m, ins); return;
    case EV_SELECT: run_select(m, ins); return;
    case EV_REINTERPRET: run_reinterpret(m, ins); return;
    case EV_FILL:
        for (int k = 0; k < ins->d->vl; k++) put_component(m, part(ins->d, lanes, k), lanes, ins->a, 0);
        return;
    case EV_RAMP: run_ramp(m, ins); return;
    case EV_PART: put_component(m, ins->d->at, lanes, ins->a, (int)ins->k); return;
    case EV_VECTOR:
        for (int k = 0; k < ins->num_list; k++)
            put_component(m, part(ins->d, lanes, k), lanes, ins->list[k], 0);
        return;
    case EV_MULADD: run_muladd(m, ins); return;
    case EV_LOAD: gpuc_ev_load(m, ins->access, ins->d); return;
    case EV_LAZY: run_lazy(m, ins); return;
    case EV_CALL: gpuc_ev_call(m, ins); return;
    case EV_STORE: gpuc_ev_store(m, ins->access, ins->a); return;
    case EV_ACCUMULATE: gpuc_ev_accumulate(m, ins); return;
    case EV_FOR: run_for(m, ins); return;
    case EV_IF: run_if(m, ins); return;
    case EV_ALLOC: gpuc_ev_allocate(m, ins); return;
    case EV_STRIPS: run_strips(m, ins); return;
    case EV_GROUP: run_group(m, ins); return;
    case EV_THREADS: run_threads(m, ins); return;
    case EV_ALLREDUCE: gpuc_ev_reduce(m, ins); return;
    case EV_KIND_COUNT: return;
    }
}

void gpuc_ev_run_block(ev_machine *m, const ev_block *b)
{
    for (size_t i = 0; i < b->count; i++) run(m, b->at[i]);
}
