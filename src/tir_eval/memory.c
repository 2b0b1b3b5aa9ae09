/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores, accumulation. The quick ways are for unmasked accesses that advance evenly from lane to lane
 * and need no checks per element. */
#include "tir_eval/eval.h"

/* ---- Element numbers ---------------------------------------------------------------------------------- */

static int64_t index_at(const ev_machine *m, const ev_index *x, int64_t sum, int lane, int component)
{
    int64_t v = sum + x->stride * lane + x->step * component;
    if (!x->varying) return v;
    const int64_t *r = x->varying->at;
    size_t lanes = x->varying->uniform ? 1 : (size_t)m->n;
    size_t i = x->varying->uniform ? 0 : (size_t)lane;
    return v + r[i + (x->varying->vl > 1 ? lanes * (size_t)component : 0)];
}

static bool active(const ev_machine *m, int lane)
{
    return !m->mask.at || m->mask.at[lane];
}

/* First and last of the elements if all lanes take part and advance evenly. */
static bool even_ends(const ev_machine *m, const ev_index *x, int vl, int64_t *first, int64_t *last)
{
    if (m->mask.at || x->varying) return false;
    int64_t at = ev_sum_value(&x->sum), span = x->stride * (m->n - 1), high = x->step * (vl - 1);
    *first = at + (span < 0 ? span : 0) + (high < 0 ? high : 0);
    *last = at + (span > 0 ? span : 0) + (high > 0 ? high : 0);
    return true;
}

static void check_dims(ev_machine *m, const ev_access *a)
{
    int64_t first, last;
    for (int d = 0; d < a->num_dims; d++) {
        int64_t size = a->buffer->shape[a->dims[d].dim];
        if (even_ends(m, &a->dims[d], a->vl, &first, &last) && first >= 0 && last < size) continue;
        int64_t sum = ev_sum_value(&a->dims[d].sum);
        for (int k = 0; k < a->vl; k++)
            for (int i = 0; i < m->n; i++) {
                if (!active(m, i)) continue;
                int64_t v = index_at(m, &a->dims[d], sum, i, k);
                if (v < 0 || v >= size) gpuc_ev_out_of_range(m, a, a->dims[d].dim, v, i);
            }
    }
}

void gpuc_ev_indices(ev_machine *m, const ev_access *a)
{
    int64_t sum = ev_sum_value(&a->flat.sum), size = a->buffer->size, *out = m->index;
    check_dims(m, a);
    for (int k = 0; k < a->vl; k++)
        for (int i = 0; i < m->n; i++) {
            int64_t v = index_at(m, &a->flat, sum, i, k);
            if ((v < 0 || v >= size)) {
                if (active(m, i)) gpuc_ev_out_of_range(m, a, -1, v, i);
                v = 0;
            }
            *out++ = v;
        }
}

/* ---- Elements in memory ---------------------------------------------------------------------------------- */

#define COPY_LOOP(T, to, from)                                                                               \
    for (size_t i = 0; i < n; i++) ((T *)d)[to] = ((const T *)s)[from];                                      \
    break

static void gather_even(void *d, const uint8_t *s, size_t n, int bytes, int64_t stride)
{
    if (stride == 1) {
        memcpy(d, s, n * (size_t)bytes);
        return;
    }
    switch (bytes) {
    case 1: COPY_LOOP(uint8_t, i, (int64_t)i * stride);
    case 2: COPY_LOOP(uint16_t, i, (int64_t)i * stride);
    case 4: COPY_LOOP(uint32_t, i, (int64_t)i * stride);
    default: COPY_LOOP(uint64_t, i, (int64_t)i * stride);
    }
}

static void scatter_even(uint8_t *d, const void *s, size_t n, int bytes, int64_t stride)
{
    if (stride == 1) {
        memcpy(d, s, n * (size_t)bytes);
        return;
    }
    switch (bytes) {
    case 1: COPY_LOOP(uint8_t, (int64_t)i * stride, i);
    case 2: COPY_LOOP(uint16_t, (int64_t)i * stride, i);
    case 4: COPY_LOOP(uint32_t, (int64_t)i * stride, i);
    default: COPY_LOOP(uint64_t, (int64_t)i * stride, i);
    }
}

static void gather(void *d, const uint8_t *s, const int64_t *at, size_t n, int bytes)
{
    switch (bytes) {
    case 1: COPY_LOOP(uint8_t, i, at[i]);
    case 2: COPY_LOOP(uint16_t, i, at[i]);
    case 4: COPY_LOOP(uint32_t, i, at[i]);
    default: COPY_LOOP(uint64_t, i, at[i]);
    }
}

static void scatter(uint8_t *d, const void *s, const int64_t *at, size_t n, int bytes)
{
    switch (bytes) {
    case 1: COPY_LOOP(uint8_t, at[i], i);
    case 2: COPY_LOOP(uint16_t, at[i], i);
    case 4: COPY_LOOP(uint32_t, at[i], i);
    default: COPY_LOOP(uint64_t, at[i], i);
    }
}

/* Registers hold halves as floats: their bits pass through here. */
typedef union halves {
    uint16_t at[EV_MAX_GROUP];
} halves;

static bool needs_elements(const ev_machine *m, const ev_buffer *b)
{
    return b->written || ev_watched(m, b);
}

static bool all_written(const ev_buffer *b, int64_t place, int64_t stride, int n)
{
    if (stride == 1) return !memchr(b->written + place, 0, (size_t)n);
    for (int i = 0; i < n; i++)
        if (!b->written[place + stride * i]) return false;
    return true;
}

/* The place of lane 0's element and the distance to the next lane's, if accesses can be made in one go. */
static bool even_place(ev_machine *m, const ev_access *a, int64_t *place, int64_t *stride)
{
    const ev_buffer *b = a->buffer;
    int64_t first, last;
    if (a->vl != 1 || b->row || ev_watched(m, b)) return false;
    if (!even_ends(m, &a->flat, 1, &first, &last)) return false;
    if (first < 0 || last >= b->size) return false; /* found again, with the lane */
    if (a->num_dims) check_dims(m, a);
    *place = ev_sum_value(&a->flat.sum);
    *stride = a->flat.stride;
    if (b->private_) {
        *place *= b->copies;
        *stride = *stride * b->copies + 1;
    }
    return true;
}

/* One element for all lanes. */
static void load_uniform(ev_machine *m, const ev_access *a, ev_reg *d)
{
    const ev_buffer *b = a->buffer;
    int bytes = gpuc_ev_mem_bytes[b->type], lane = 0;
    int64_t sum = ev_sum_value(&a->flat.sum);
    while (!active(m, lane)) lane++;
    for (int i = 0; i < a->num_dims; i++) {
        int64_t of = ev_sum_value(&a->dims[i].sum);
        for (int k = 0; k < a->vl; k++) {
            int64_t v = index_at(m, &a->dims[i], of, 0, k);
            if (v < 0 || v >= b->shape[a->dims[i].dim]) gpuc_ev_out_of_range(m, a, a->dims[i].dim, v, lane);
        }
    }
    for (int k = 0; k < a->vl; k++) {
        int64_t e = index_at(m, &a->flat, sum, 0, k);
        if (e < 0 || e >= b->size) gpuc_ev_out_of_range(m, a, -1, e, lane);
        if (needs_elements(m, b)) gpuc_ev_check_uniform_read(m, a, e);
        const uint8_t *from = b->data + (size_t)e * (size_t)bytes;
        char *to = (char *)d->at + (size_t)gpuc_ev_reg_bytes[d->type] * (size_t)k;
        if (gpuc_ev_is_half(b->type))
            gpuc_ev_half_load(b->type, (float *)(void *)to, from, 1);
        else
            memcpy(to, from, (size_t)bytes);
    }
}

void gpuc_ev_load(ev_machine *m, const ev_access *a, ev_reg *d)
{
    const ev_buffer *b = a->buffer;
    int bytes = gpuc_ev_mem_bytes[b->type];
    int64_t place, stride;
    halves half;
    if (a->uniform) {
        load_uniform(m, a, d);
        return;
    }
    size_t n = (size_t)m->n;
    if (even_place(m, a, &place, &stride) && (!b->written || all_written(b, place, stride, m->n))) {
        const uint8_t *from = b->data + place * bytes;
        gather_even(gpuc_ev_is_half(b->type) ? half.at : d->at, from, n, bytes, stride);
        if (gpuc_ev_is_half(b->type)) gpuc_ev_half_load(b->type, d->at, half.at, n);
        return;
    }
    gpuc_ev_indices(m, a);
    if (b->size == 0) return; /* no lane takes part */
    bool check = needs_elements(m, b);
    for (int k = 0; k < a->vl; k++) {
        int64_t *at = m->index + (size_t)k * n;
        if (check || b->copies > 1)
            for (size_t i = 0; i < n; i++) {
                int64_t e = at[i];
                at[i] = ev_place(b, e, (int)i);
                if (check && active(m, (int)i)) gpuc_ev_check_read(m, a, e, at[i], (int)i);
            }
        char *to = (char *)d->at + (size_t)gpuc_ev_reg_bytes[d->type] * n * (size_t)k;
        gather(gpuc_ev_is_half(b->type) ? (void *)half.at : (void *)to, b->data, at, n, bytes);
        if (gpuc_ev_is_half(b->type)) gpuc_ev_half_load(b->type, (float *)(void *)to, half.at, n);
    }
}

/* ---- Stores ---------------------------------------------------------------------------------------------- */

/* Component k of v in memory's form, for every lane. */
static const void *in_memory_form(const ev_machine *m, const ev_reg *v, ev_type t, int k, void *scratch)
{
    size_t lanes = v->uniform ? 1 : (size_t)m->n, n = (size_t)m->n;
    const char *s = (const char *)v->at + (size_t)gpuc_ev_reg_bytes[t] * lanes * (size_t)(v->vl == 1 ? 0 : k);
    int bytes = gpuc_ev_mem_bytes[t];
    uint64_t one = 0;
    if (!v->uniform && !gpuc_ev_is_half(t)) return s;
    if (!v->uniform) {
        gpuc_ev_half_store(t, scratch, (const float *)(const void *)s, n);
        return scratch;
    }
    if (gpuc_ev_is_half(t))
        gpuc_ev_half_store(t, &one, (const float *)(const void *)s, 1);
    else
        memcpy(&one, s, (size_t)bytes);
    for (size_t i = 0; i < n; i++) memcpy((char *)scratch + i * (size_t)bytes, &one, (size_t)bytes);
    return scratch;
}

void gpuc_ev_store(ev_machine *m, const ev_access *a, const ev_reg *v)
{
    ev_buffer *b = a->buffer;
    int bytes = gpuc_ev_mem_bytes[b->type];
    size_t n = (size_t)m->n;
    int64_t place, stride;
    uint64_t scratch[EV_MAX_GROUP];
    if (even_place(m, a, &place, &stride) && (stride != 0 || n == 1)) {
        scatter_even(b->data + place * bytes, in_memory_form(m, v, b->type, 0, scratch), n, bytes, stride);
        for (size_t i = 0; b->written && i < n; i++) b->written[place + stride * (int64_t)i] = 1;
        return;
    }
    gpuc_ev_indices(m, a);
    bool check = needs_elements(m, b);
    for (int k = 0; k < a->vl; k++) {
        int64_t *at = m->index + (size_t)k * n;
        const char *s = in_memory_form(m, v, b->type, k, scratch);
        if (!check && b->copies == 1 && !m->mask.at) {
            scatter(b->data, s, at, n, bytes);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            if (!active(m, (int)i)) continue;
            int64_t p = ev_place(b, at[i], (int)i);
            uint8_t *to = b->data + p * bytes;
            bool fresh = b->shadow && memcmp(to, s + i * (size_t)bytes, (size_t)bytes) != 0;
            if (check) gpuc_ev_check_write(m, a, at[i], p, (int)i, fresh);
            memcpy(to, s + i * (size_t)bytes, (size_t)bytes);
        }
    }
}

/* Lanes in order; runs of the same element are folded at once. */
void gpuc_ev_accumulate(ev_machine *m, const ev_ins *ins)
{
    const ev_access *a = ins->access;
    ev_buffer *b = a->buffer;
    ev_reg *v = ins->a;
    int bytes = gpuc_ev_mem_bytes[b->type], reg = gpuc_ev_reg_bytes[b->type];
    gpuc_ev_indices(m, a);
    bool check = needs_elements(m, b);
    for (int i = 0; i < m->n;) {
        if (!active(m, i)) {
            i++;
            continue;
        }
        int64_t e = m->index[i], p = ev_place(b, e, i);
        int end = i + 1;
        while (end < m->n && m->index[end] == e && active(m, end) && b->copies == 1) end++;
        uint8_t *at = b->data + p * bytes;
        uint64_t acc = 0;
        if (check) gpuc_ev_check_read(m, a, e, p, i);
        if (gpuc_ev_is_half(b->type))
            gpuc_ev_half_load(b->type, (float *)(void *)&acc, at, 1);
        else
            memcpy(&acc, at, (size_t)bytes);
        const char *values = (const char *)v->at + (v->uniform ? 0 : (size_t)reg * (size_t)i);
        if (v->uniform || !gpuc_ev_fold(ins->op, b->type, &acc, values, (size_t)(end - i)))
            for (int k = i; k < end; k++)
                ins->fn.binary(&acc, &acc, values + (v->uniform ? 0 : (size_t)reg * (size_t)(k - i)), 1, 0);
        if (check) gpuc_ev_check_write(m, a, e, p, i, true);
        if (gpuc_ev_is_half(b->type))
            gpuc_ev_half_store(b->type, at, (const float *)(const void *)&acc, 1);
        else
            memcpy(at, &acc, (size_t)bytes);
        i = end;
    }
}

/* ---- Allocation ------------------------------------------------------------------------------------------ */

void gpuc_ev_allocate(ev_machine *m, const ev_ins *ins)
{
    ev_buffer *b = ins->buffer;
    if (b->size < 0) b->size = 0;
    size_t elements = (size_t)b->size * (size_t)b->copies;
    if (!b->data) {
        size_t bytes = elements * gpuc_ev_mem_bytes[b->type];
        if (b->size && bytes / gpuc_ev_mem_bytes[b->type] / (size_t)b->copies != (size_t)b->size)
            gpuc_ev_fail(m, ins->stmt, "'%s' is too large", b->b->name);
        b->data = gpuc_ev_hold(m, bytes);
        if (m->check) b->written = gpuc_ev_hold(m, elements);
        bool common = !b->private_ && !b->row;
        if ((m->races || (m->watches && !m->parallel)) && common && b->stored)
            b->shadow = gpuc_ev_hold(m, elements * sizeof *b->shadow);
    } else if (b->written) {
        memset(b->written, 0, elements);
    }
}
