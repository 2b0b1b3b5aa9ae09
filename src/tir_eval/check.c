/* SPDX-License-Identifier: Apache-2.0 */
/* What a checked run finds, and how it says so. */
#include "tir_eval/eval.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"

enum { MAX_TEXT = 300 };

/* The statement on one line, cut to a readable length. */
static void describe(ev_machine *m, gpuc_stmt s, char out[MAX_TEXT])
{
    gpuc_buf text;
    gpuc_buf_init(&text, m->ctx->allocator);
    gpuc_tir_print_stmt(m->ctx, &text, s);
    const char *p = gpuc_buf_cstr(&text);
    size_t n = 0;
    for (; *p && n < MAX_TEXT - 5; p++) {
        bool space = *p == '\n' || *p == ' ';
        if (space && (n == 0 || out[n - 1] == ' ')) continue;
        out[n++] = space ? ' ' : *p;
    }
    if (*p) {
        memcpy(out + n, " ...", 4);
        n += 4;
    }
    while (n > 0 && out[n - 1] == ' ') n--;
    out[n] = 0;
    gpuc_buf_deinit(&text);
}

void gpuc_ev_fail(ev_machine *m, gpuc_stmt s, const char *fmt, ...)
{
    char what[512], where[MAX_TEXT] = "";
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (s) describe(m, s, where);
    gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "%s: %s%s%s", m->func->name, what, s ? ", in: " : "", where);
}

/* "thread (3, 0, 0)", or "iteration i = 3" of a strip. */
static const char *lane_text(const ev_machine *m, int lane, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    if (!m->lanes) return out;
    if (m->lanes->group) {
        const ev_axis *x = m->lanes->axes;
        snprintf(out, size, " by thread (%lld, %lld, %lld)", (long long)(lane / x[2].radix % x[2].extent),
                 (long long)(lane / x[1].radix % x[1].extent), (long long)(lane / x[0].radix % x[0].extent));
        return out;
    }
    for (int i = 0; i < m->lanes->num_axes && n < size; i++) {
        const ev_axis *x = &m->lanes->axes[i];
        int64_t min = *(const int64_t *)m->lanes->mins[i]->at, v = 0, carry = lane;
        /* first is the value in lane 0; the axes count together */
        for (int k = m->lanes->num_axes - 1; k >= i; k--) {
            const ev_axis *y = &m->lanes->axes[k];
            int64_t low = *(const int64_t *)m->lanes->mins[k]->at;
            v = *(const int64_t *)y->first->at - low + carry;
            carry = y->extent > 0 ? v / y->extent : 0;
            if (y->extent > 0) v %= y->extent;
        }
        n += (size_t)snprintf(out + n, size - n, "%s%s = %lld", n ? ", " : " at ", gpuc_as_var(x->var)->name,
                              (long long)(min + v));
    }
    return out;
}

static const char *element_text(const ev_buffer *b, int64_t e, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "'%s'[", b->b->name);
    for (int i = 0; i < b->b->ndim && n < size; i++) {
        int64_t at = b->stride[i] ? e / b->stride[i] : 0;
        e -= at * b->stride[i];
        n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? ", " : "", (long long)at);
    }
    if (n < size) snprintf(out + n, size - n, "]");
    return out;
}

void gpuc_ev_out_of_range(ev_machine *m, const ev_access *a, int dim, int64_t index, int lane)
{
    char at[160];
    lane_text(m, lane, at, sizeof at);
    if (dim >= 0 || a->buffer->b->ndim == 1)
        gpuc_ev_fail(m, a->stmt, "index %d of '%s' is %lld%s, not in [0, %lld)", dim < 0 ? 0 : dim,
                     a->buffer->b->name, (long long)index, at,
                     (long long)a->buffer->shape[dim < 0 ? 0 : dim]);
    gpuc_ev_fail(m, a->stmt, "element %lld of '%s' is accessed%s; it has %lld", (long long)index,
                 a->buffer->b->name, at, (long long)a->buffer->size);
}

/* Who does it now: a lane, or the iteration of a parallel loop. */
static uint32_t actor(const ev_machine *m, int lane)
{
    return m->parallel ? m->iteration : (uint32_t)lane;
}

static const char *actor_text(const ev_machine *m, uint32_t who, char *out, size_t size)
{
    if (!m->parallel) return lane_text(m, (int)who, out, size);
    snprintf(out, size, " by iteration %u of a parallel loop", who);
    return out;
}

GPUC_NORETURN static void race(ev_machine *m, const ev_access *a, int64_t e, const char *how,
                               const char *other_how, int lane, uint32_t other, bool other_group)
{
    char element[200], mine[100], theirs[100];
    element_text(a->buffer, e, element, sizeof element);
    actor_text(m, actor(m, lane), mine, sizeof mine);
    actor_text(m, other, theirs, sizeof theirs);
    gpuc_ev_fail(m, a->stmt, "a race: %s is %s%s and %s%s%s%s", element, how, mine, other_how, theirs,
                 other_group ? " of another group" : "",
                 other_group || a->buffer->wide_shadow || m->parallel ? ""
                                                                      : " without a barrier between them");
}

/* Did another thread do it, with nothing that orders the two? Only shared memory is ordered by barriers. */
static bool unordered(const ev_machine *m, const ev_buffer *b, uint32_t epoch, uint32_t by, int lane,
                      bool *other_group)
{
    *other_group = false;
    if (m->parallel) return epoch == m->epoch && by != m->iteration;
    *other_group = b->wide_shadow && epoch >= m->launch && epoch < m->group;
    if (*other_group) return true;
    return by != (uint32_t)lane && (b->wide_shadow ? epoch >= m->group : epoch == m->epoch);
}

void gpuc_ev_check_read(ev_machine *m, const ev_access *a, int64_t e, int64_t place, int lane)
{
    ev_buffer *b = a->buffer;
    bool other;
    if (b->written && !b->written[place]) {
        char element[200], at[160];
        gpuc_ev_fail(m, a->stmt, "%s is read%s before anything was written to it",
                     element_text(b, e, element, sizeof element), lane_text(m, lane, at, sizeof at));
    }
    if (!ev_watched(m, b)) return;
    ev_shadow *s = &b->shadow[place];
    if (s->write_epoch && !s->many_writers && unordered(m, b, s->write_epoch, s->writer, lane, &other))
        race(m, a, e, "read", "written", lane, s->writer, other);
    if (s->read_epoch == m->epoch) {
        if (s->reader != actor(m, lane)) s->many_readers = true;
    } else {
        s->read_epoch = m->epoch;
        s->reader = actor(m, lane);
        s->many_readers = false;
    }
}

void gpuc_ev_check_uniform_read(ev_machine *m, const ev_access *a, int64_t e)
{
    int first = 0;
    while (m->mask.at && !m->mask.at[first]) first++;
    gpuc_ev_check_read(m, a, e, e, first);
    if (m->mask.active == 1 || !ev_watched(m, a->buffer)) return;
    int second = first + 1; /* whoever else wrote is not one of the two */
    while (m->mask.at && !m->mask.at[second]) second++;
    gpuc_ev_check_read(m, a, e, e, second);
}

void gpuc_ev_check_write(ev_machine *m, const ev_access *a, int64_t e, int64_t place, int lane, bool fresh)
{
    ev_buffer *b = a->buffer;
    bool other;
    if (b->written) b->written[place] = 1;
    if (!ev_watched(m, b)) return;
    ev_shadow *s = &b->shadow[place];
    if (fresh && s->write_epoch && unordered(m, b, s->write_epoch, s->writer, lane, &other))
        race(m, a, e, "written", "written", lane, s->writer, other);
    if (fresh && s->read_epoch &&
        unordered(m, b, s->read_epoch, s->many_readers ? UINT32_MAX : s->reader, lane, &other))
        race(m, a, e, "written", "read", lane, s->reader, other);
    if (s->write_epoch == m->epoch) {
        if (s->writer != actor(m, lane)) s->many_writers = true;
    } else {
        s->write_epoch = m->epoch;
        s->writer = actor(m, lane);
        s->many_writers = false;
    }
}
