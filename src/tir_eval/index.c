/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses: element numbers as a uniform sum plus what differs between lanes. */
#include "tir_eval/eval.h"

typedef struct ev_part { /* a varying sum that is computed already */
    ev_linear sum;
    ev_reg *reg;
    struct ev_part *next;
} ev_part;

static bool same_sum(const ev_linear *x, const ev_linear *y)
{
    if (x->n != y->n) return false;
    for (int i = 0; i < x->n; i++)
        if (x->at[i].e != y->at[i].e || x->at[i].coeff != y->at[i].coeff) return false;
    return true;
}

static ev_reg *muladd(ev_compiler *c, ev_scope *s, ev_reg *a, int64_t k, ev_reg *b)
{
    ev_ins *ins = gpuc_ev_emit(c, s, EV_MULADD);
    ins->a = a;
    ins->k = k;
    ins->b = b;
    int vl = b && b->vl > a->vl ? b->vl : a->vl;
    return ins->d = gpuc_ev_reg(c, s, EV_INT64, vl, a->uniform && (!b || b->uniform));
}

/* The sum of varying terms, in the outermost scope that knows them all. */
static ev_reg *varying_part(ev_compiler *c, const ev_linear *sum)
{
    int level = 0;
    ev_reg *regs[EV_MAX_TERMS];
    for (int i = 0; i < sum->n; i++) {
        int of = gpuc_ev_level(c, sum->at[i].e);
        if (of > level) level = of;
        regs[i] = gpuc_ev_index_reg(c, sum->at[i].e);
    }
    ev_scope *at = c->scope;
    for (ev_scope *s = at; s; s = s->outer) {
        for (const ev_part *p = s->parts; p; p = p->next)
            if (same_sum(&p->sum, sum)) return p->reg;
    }
    while (at->outer && at->level > level) at = at->outer;
    ev_reg *total = NULL;
    for (int i = 0; i < sum->n; i++) {
        if (i == 0 && sum->at[i].coeff == 1)
            total = regs[i];
        else
            total = muladd(c, at, regs[i], sum->at[i].coeff, total);
    }
    ev_part *p = ev_new(c->m, ev_part);
    *p = (ev_part){.sum = *sum, .reg = total, .next = at->parts};
    at->parts = p;
    return total;
}

static ev_axis *axis_of(ev_compiler *c, gpuc_expr e)
{
    ev_var *v = e->kind == GPUC_EXPR_VAR ? gpuc_ev_map_get(&c->vars, e) : NULL;
    return v ? v->axis : NULL;
}

static void add_uniform(ev_compiler *c, ev_index *out, ev_reg *reg, int64_t coeff)
{
    if (reg->constant) {
        out->sum.constant += reg->value * coeff;
        return;
    }
    GPUC_CHECK(out->sum.n < EV_MAX_TERMS);
    out->sum.at[out->sum.n].reg = reg;
    out->sum.at[out->sum.n++].coeff = coeff;
    (void)c;
}

/* Do the axes advance evenly from lane to lane? coeff[k] is of axis k. */
static bool advances_evenly(const ev_lanes *lanes, const int64_t *coeff, int64_t *stride)
{
    *stride = 0;
    bool seen = false;
    for (int k = lanes->num_axes - 1; k >= 0; k--) {
        const ev_axis *x = &lanes->axes[k];
        if (x->extent == 1) continue;
        if (!seen) *stride = coeff[k]; /* radix is 1 */
        seen = true;
        if (coeff[k] != *stride * x->radix) return false;
    }
    return true;
}

static void make_index(ev_compiler *c, const ev_linear *l, ev_index *out)
{
    *out = (ev_index){.sum.constant = l->constant};
    int64_t coeff[EV_MAX_AXES] = {0}, stride = 0;
    ev_linear varying = {.ok = true};
    bool any_axis = false, other = false;
    for (int i = 0; i < l->n; i++) {
        const ev_axis *x = axis_of(c, l->at[i].e);
        if (x) {
            coeff[x - c->lanes->axes] = l->at[i].coeff;
            any_axis = true;
            varying.at[varying.n++] = l->at[i];
            continue;
        }
        ev_reg *r = gpuc_ev_index_reg(c, l->at[i].e);
        if (r->uniform) {
            add_uniform(c, out, r, l->at[i].coeff);
        } else {
            other = true;
            varying.at[varying.n++] = l->at[i];
        }
    }
    if (!any_axis && !other) return;
    if (!other && advances_evenly(c->lanes, coeff, &stride)) {
        out->stride = stride;
        for (int k = 0; k < c->lanes->num_axes; k++) {
            const ev_axis *x = &c->lanes->axes[k];
            if (x->first)
                add_uniform(c, out, x->first, coeff[k]);
            else
                out->sum.constant += coeff[k] * x->min;
        }
        return;
    }
    out->varying = varying_part(c, &varying);
}

static bool is_uniform(const ev_index *i)
{
    return i->stride == 0 && (!i->varying || i->varying->uniform);
}

/* start + step * component, or false. */
static bool split_vector(ev_compiler *c, gpuc_expr e, gpuc_expr *start, int64_t *step)
{
    *step = 0;
    *start = e;
    if (e->dtype.lanes == 1) return true;
    if (e->kind == GPUC_EXPR_BROADCAST) {
        *start = gpuc_as_broadcast(e)->a;
        return true;
    }
    if (e->kind != GPUC_EXPR_RAMP) return false;
    *start = gpuc_as_ramp(e)->start;
    return gpuc_ev_constant(c, gpuc_as_ramp(e)->stride, step);
}

static ev_reg *index_component(ev_compiler *c, gpuc_expr e, int vl)
{
    ev_reg *r = gpuc_ev_index_reg(c, e);
    if (r->vl == vl) return r;
    ev_ins *ins = gpuc_ev_emit(c, c->scope, EV_FILL);
    ins->a = r;
    return ins->d = gpuc_ev_reg(c, c->scope, EV_INT64, vl, r->uniform);
}

/* Indices that are any vectors: every component is computed. */
static void gather_index(ev_compiler *c, const ev_buffer *b, int n, const gpuc_expr *index, int vl,
                         ev_index *out)
{
    ev_reg *total = NULL;
    for (int i = 0; i < n; i++) {
        ev_reg *r = index_component(c, index[i], vl);
        total = i == 0 && b->stride[i] == 1 ? r : muladd(c, c->scope, r, b->stride[i], total);
    }
    *out = (ev_index){.varying = total};
}

ev_access *gpuc_ev_access(ev_compiler *c, const gpuc_tir_buffer *buffer, int n, const gpuc_expr *index)
{
    ev_buffer *b = gpuc_ev_buffer(c, buffer);
    ev_access *a = ev_new(c->m, ev_access);
    *a = (ev_access){.buffer = b, .vl = 1, .stmt = c->stmt};
    if (n > EV_MAX_DIMS)
        gpuc_ev_fail(c->m, c->stmt, "'%s' has more than %d dimensions", buffer->name, EV_MAX_DIMS);
    gpuc_expr start[EV_MAX_DIMS];
    int64_t step[EV_MAX_DIMS], flat_step = 0;
    bool split = true;
    for (int i = 0; i < n; i++) {
        if (index[i]->dtype.lanes > a->vl) a->vl = index[i]->dtype.lanes;
        split = split_vector(c, index[i], &start[i], &step[i]) && split;
        flat_step += split ? step[i] * b->stride[i] : 0;
    }
    ev_linear flat = {.ok = false};
    if (split) gpuc_ev_flat(c, b, n, start, &flat);
    if (flat.ok) {
        make_index(c, &flat, &a->flat);
        a->flat.step = flat_step;
    } else {
        gather_index(c, b, n, index, a->vl, &a->flat);
    }
    a->uniform = is_uniform(&a->flat) && !b->private_ && !b->row;
    size_t elements = (size_t)a->vl * (size_t)(c->lanes ? c->lanes->width : 1);
    if (elements > c->m->max_index) c->m->max_index = elements;
    if (!c->m->check || n < 2 || !flat.ok) return a;
    a->dims = ev_new_array(c->m, ev_index, n);
    for (int i = 0; i < n; i++) {
        ev_linear l;
        int64_t min, max;
        c->range_steps = 0;
        if (step[i] == 0 && gpuc_ev_range(c, start[i], &min, &max) && min >= 0 && max < b->shape[i]) continue;
        ev_index *x = &a->dims[a->num_dims++];
        gpuc_ev_linear(c, start[i], &l);
        make_index(c, &l, x);
        x->step = step[i];
        x->dim = i;
    }
    return a;
}
