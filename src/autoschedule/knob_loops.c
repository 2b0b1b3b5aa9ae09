/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs that split, reorder and annotate loops: the spaces of AutoTVM, asked for one decision after the other. */
#include <stdlib.h>
#include <string.h>

#include "autoschedule/knobs.h"
#include "schedule/internal.h"

enum {
    MAX_LOOPS = 64,
    MAX_TRIED = 1 << 20 /* extents that are tried for one split: a filter may refuse any number of them */
};
#define MAX_DIVIDED (INT64_C(1) << 40) /* iterations whose divisors are searched for, up to their root */

/* What is to be chosen, for messages. */
typedef struct subject {
    gpuc_ctx *ctx;
    gpuc_knobs *knobs;
    const char *name;
    gpuc_stage *st;
    gpuc_iter *iter;
} subject;

GPUC_NORETURN static void fail(const subject *s, const char *what)
{
    gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT, "knob %s: %s", s->name ? s->name : "NULL", what);
}

static void check_loops(const subject *s, int n, gpuc_iter *const *iters)
{
    if (!s->name) fail(s, "its name is NULL");
    if (n < 1 || n > MAX_LOOPS)
        fail(s, gpuc_ctx_printf(s->ctx, "it is for 1 to %d loops, not %d", MAX_LOOPS, n));
    if (!iters) fail(s, "its loops are NULL");
    for (int i = 0; i < n; i++)
        if (!iters[i]) fail(s, gpuc_ctx_printf(s->ctx, "loop %d of %d is NULL", i, n));
}

/* The only candidate, or what is asked for. */
static int64_t ask(const subject *s, int64_t own, int n, const int64_t *candidates)
{
    return n == 1 ? candidates[0] : gpuc_knob(s->knobs, s->name, own, n, candidates);
}

/* ---- Split ---- */

typedef struct splitting {
    subject s;
    const gpuc_split_options *o;
    int64_t extent; /* 0: known at run time only */
    bool no_tail;
    int n; /* inner extents */
    int64_t *chosen, *factors;
    int num_factors, tried;
} splitting;

static const char *list_text(gpuc_ctx *ctx, int n, const int64_t *values)
{
    const char *text = "";
    for (int i = 0; i < n; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%lld", text, i ? ", " : "", (long long)values[i]);
    return text;
}

/* Whether inner extents of that product leave room for the loops outside of them. */
static bool fits(const splitting *p, int64_t product)
{
    if (product > INT32_MAX) return false; /* no factor of a split is larger */
    if (p->o->policy == GPUC_SPLIT_CANDIDATES) return !p->no_tail || p->extent % product == 0;
    if (!p->extent) return true;
    return p->no_tail ? p->extent % product == 0 : product <= p->extent;
}

/* Whether one of the listed candidates has the extents that are chosen from `at` on. */
static bool is_listed(const splitting *p, int at)
{
    for (int i = 0; i < p->o->num_candidates; i++)
        if (!memcmp(p->o->candidates + (size_t)i * (size_t)p->n + at, p->chosen + at,
                    sizeof *p->chosen * (size_t)(p->n - at)))
            return true;
    return false;
}

static int list_factors(splitting *p, int at, int64_t product, int64_t *out);

/* Whether there are extents for the loops outside of `at`, whose own is chosen: ones are, unless a filter says no. */
static bool completes(splitting *p, int at, int64_t product)
{
    if (!p->o->filter) return true;
    if (at == 0) return p->o->filter(p->o->user, p->n, p->chosen);
    return list_factors(p, at - 1, product, NULL) > 0;
}

/* The extents that loop `at` may have, when those inside of it, of that product, are chosen; ascending. Without a place
 * for them it stops at the first. */
static int list_factors(splitting *p, int at, int64_t product, int64_t *out)
{
    int n = 0;
    for (int i = 0; i < p->num_factors && (out || n == 0); i++) {
        int64_t all;
        if (__builtin_mul_overflow(product, p->factors[i], &all) || !fits(p, all)) continue;
        if (p->o->filter && ++p->tried > MAX_TRIED)
            fail(&p->s,
                 gpuc_ctx_printf(p->s.ctx,
                                 "its filter refuses nearly all splits of '%s' into %d loops; give fewer "
                                 "extents by max_factor, or list candidates",
                                 gpuc_schedule_iter_name(p->s.iter), p->n + 1));
        p->chosen[at] = p->factors[i];
        if (p->o->policy == GPUC_SPLIT_CANDIDATES && !is_listed(p, at)) continue;
        if (!completes(p, at, all)) continue;
        if (out) out[n] = p->factors[i];
        n++;
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_factor(splitting *p, gpuc_ptrs *all, int64_t factor)
{
    if (p->o->policy != GPUC_SPLIT_CANDIDATES && p->o->max_factor && factor > p->o->max_factor) return;
    gpuc_ptrs_push(p->s.ctx, all, gpuc_ctx_memdup(p->s.ctx, &factor, sizeof factor));
}

static bool has_divisors(const splitting *p)
{
    return p->extent && (p->o->policy == GPUC_SPLIT_FACTORS || p->o->policy == GPUC_SPLIT_VERBOSE);
}

/* What any of the inner loops may have: ascending, each once. */
static void list_all_factors(splitting *p)
{
    const gpuc_split_options *o = p->o;
    gpuc_ptrs all = {0};
    int64_t last = p->extent ? p->extent : o->max_factor;
    bool divisors = has_divisors(p);
    bool powers = o->policy == GPUC_SPLIT_POWER2 || o->policy == GPUC_SPLIT_VERBOSE;
    for (int64_t f = 1; divisors && f <= p->extent / f; f++) {
        if (p->extent % f) continue;
        add_factor(p, &all, f);
        add_factor(p, &all, p->extent / f);
    }
    for (int k = 0; powers && k < 63 && INT64_C(1) << k <= last; k++) add_factor(p, &all, INT64_C(1) << k);
    for (int i = 0; o->policy == GPUC_SPLIT_CANDIDATES && i < o->num_candidates * p->n; i++)
        add_factor(p, &all, o->candidates[i]);
    p->factors = gpuc_new_array(p->s.ctx, int64_t, all.count + 1);
    for (size_t i = 0; i < all.count; i++) p->factors[i] = *(const int64_t *)all.at[i];
    qsort(p->factors, all.count, sizeof *p->factors, compare);
    for (size_t i = 0; i < all.count; i++)
        if (p->num_factors == 0 || p->factors[p->num_factors - 1] != p->factors[i])
            p->factors[p->num_factors++] = p->factors[i];
}

static void check_candidates(const splitting *p)
{
    const gpuc_split_options *o = p->o;
    gpuc_ctx *ctx = p->s.ctx;
    if (o->num_candidates < 1 || !o->candidates) fail(&p->s, "it has no candidates");
    for (int i = 0; i < o->num_candidates; i++) {
        const int64_t *c = o->candidates + (size_t)i * (size_t)p->n;
        int64_t product = 1;
        for (int k = 0; k < p->n; k++) {
            if (c[k] < 1 || __builtin_mul_overflow(product, c[k], &product) || product > INT32_MAX)
                fail(&p->s,
                     gpuc_ctx_printf(ctx, "candidate %d, (%s), has an extent that is below 1 or too large", i,
                                     list_text(ctx, p->n, c)));
        }
        if (p->no_tail && p->extent % product)
            fail(&p->s,
                 gpuc_ctx_printf(ctx,
                                 "candidate %d, (%s), does not divide the %lld iterations of '%s', and "
                                 "no_tail is set",
                                 i, list_text(ctx, p->n, c), (long long)p->extent,
                                 gpuc_schedule_iter_name(p->s.iter)));
    }
}

static void check_split(const splitting *p)
{
    const gpuc_split_options *o = p->o;
    const char *loop = gpuc_schedule_iter_name(p->s.iter);
    if ((unsigned)o->policy > GPUC_SPLIT_CANDIDATES) fail(&p->s, "there is no such policy");
    if (o->max_factor < 0) fail(&p->s, "max_factor is below 0");
    if (!p->extent && p->no_tail)
        fail(&p->s,
             gpuc_ctx_printf(p->s.ctx,
                             "the extent of '%s' is known at run time only, so nothing is known to divide "
                             "it; use GPUC_SPLIT_POWER2 with max_factor, and no no_tail",
                             loop));
    if (!p->extent && o->policy != GPUC_SPLIT_CANDIDATES && !o->max_factor)
        fail(&p->s,
             gpuc_ctx_printf(p->s.ctx, "the extent of '%s' is known at run time only: max_factor is missing",
                             loop));
    if (has_divisors(p) && p->extent > MAX_DIVIDED)
        fail(&p->s,
             gpuc_ctx_printf(p->s.ctx,
                             "the divisors of the %lld iterations of '%s' would take too long to find; use "
                             "GPUC_SPLIT_POWER2 or GPUC_SPLIT_CANDIDATES",
                             (long long)p->extent, loop));
    if (o->policy == GPUC_SPLIT_CANDIDATES) check_candidates(p);
    for (int i = 0; o->own && i < p->n; i++)
        if (o->own[i] < 1) fail(&p->s, "an own extent is below 1");
}

static void choose_extents(splitting *p)
{
    int64_t product = 1, *list = gpuc_new_array(p->s.ctx, int64_t, p->num_factors + 1);
    for (int at = p->n - 1; at >= 0; at--) {
        int n = list_factors(p, at, product, list);
        if (n == 0)
            fail(&p->s, gpuc_ctx_printf(
                            p->s.ctx,
                            "its space is empty: no split of '%s', of %lld iterations, into %d loops fits "
                            "policy, max_factor and filter",
                            gpuc_schedule_iter_name(p->s.iter), (long long)p->extent, p->n + 1));
        int64_t own = list[0];
        for (int i = 1; p->o->own && i < n; i++)
            if (list[i] <= p->o->own[at]) own = list[i];
        p->chosen[at] = ask(&p->s, own, n, list);
        product *= p->chosen[at];
    }
}

void gpuc_knob_split(gpuc_knobs *knobs, const char *name, gpuc_stage *st, gpuc_iter *iter,
                     const gpuc_split_options *options, int n, gpuc_iter **out)
{
    static const gpuc_split_options none;
    splitting p = {.s = {.ctx = st->schedule->ctx, .knobs = knobs, .name = name, .st = st, .iter = iter},
                   .o = options ? options : &none};
    check_loops(&p.s, 1, &iter);
    if (n < 1 || n > MAX_LOOPS)
        fail(&p.s, gpuc_ctx_printf(p.s.ctx, "it makes 1 to %d loops, not %d", MAX_LOOPS, n));
    p.n = n - 1;
    if (!out) fail(&p.s, "the place for its loops is NULL");
    if (!gpuc_expr_is_int(gpuc_iter_extent(iter), &p.extent))
        p.extent = 0;
    else if (p.extent < 1)
        p.extent = 1; /* a loop without iterations is split as one with one */
    p.no_tail = p.o->no_tail || p.o->policy == GPUC_SPLIT_FACTORS;
    p.chosen = gpuc_new_array(p.s.ctx, int64_t, n);
    check_split(&p);
    list_all_factors(&p);
    choose_extents(&p);
    int64_t inner = 1;
    for (int i = 0; i < p.n; i++) inner *= p.chosen[i];
    for (int i = 0; i < p.n; i++) {
        gpuc_stage_split(st, iter, inner, &out[i], &iter);
        inner /= p.chosen[i];
    }
    out[p.n] = iter;
}

/* ---- Reorder ---- */

/* The orders that are listed, or NULL. */
static const int *listed_order(const subject *s, int n, const gpuc_reorder_options *o)
{
    if (!o->num_candidates && !o->candidates) return NULL;
    if (o->num_candidates < 1 || !o->candidates) fail(s, "it has no candidates");
    for (int i = 0; i < o->num_candidates; i++) {
        uint64_t seen = 0;
        for (int k = 0; k < n; k++) {
            int loop = o->candidates[i * n + k];
            if (loop < 0 || loop >= n || seen >> loop & 1)
                fail(s, gpuc_ctx_printf(s->ctx, "candidate %d is no order of its %d loops", i, n));
            seen |= (uint64_t)1 << loop;
        }
    }
    return o->candidates + (size_t)gpuc_knob_choice(s->knobs, s->name, 0, o->num_candidates) * (size_t)n;
}

/* Whether loop i may come next: none that must be before it is left. */
static bool may_come(const gpuc_reorder_options *o, int end, uint64_t done, int i)
{
    if (done >> i & 1) return false;
    for (int k = o->begin; k < i && o->chains; k++)
        if (!(done >> k & 1) && o->chains[k] == o->chains[i]) return false;
    return i < end;
}

static void choose_order(const subject *s, int n, const gpuc_reorder_options *o, int *order)
{
    int end = o->end ? o->end : n;
    uint64_t done = 0;
    if (o->begin < 0 || o->begin >= end || end > n)
        fail(s, gpuc_ctx_printf(s->ctx, "begin %d and end %d are no interval of its %d loops", o->begin,
                                o->end, n));
    for (int i = 0; i < n; i++) order[i] = i;
    for (int at = o->begin; at < end; at++) {
        int64_t next[MAX_LOOPS];
        int count = 0;
        for (int i = o->begin; i < end; i++)
            if (may_come(o, end, done, i)) next[count++] = i;
        order[at] = (int)ask(s, next[0], count, next);
        done |= (uint64_t)1 << order[at];
    }
}

void gpuc_knob_reorder(gpuc_knobs *knobs, const char *name, gpuc_stage *st, int n, gpuc_iter *const *iters,
                       const gpuc_reorder_options *options, gpuc_iter **out)
{
    static const gpuc_reorder_options none;
    const gpuc_reorder_options *o = options ? options : &none;
    const subject s = {.ctx = st->schedule->ctx, .knobs = knobs, .name = name, .st = st};
    int own[MAX_LOOPS];
    gpuc_iter *ordered[MAX_LOOPS];
    check_loops(&s, n, iters);
    const int *order = listed_order(&s, n, o);
    if (!order) choose_order(&s, n, o, own);
    for (int i = 0; i < n; i++) ordered[i] = iters[order ? order[i] : own[i]];
    gpuc_stage_reorder(st, n, ordered);
    for (int i = 0; out && i < n; i++) out[i] = ordered[i];
}

/* ---- Annotate ---- */

static bool is_possible(const subject *s, gpuc_annotation a, int64_t max)
{
    int64_t extent = 0;
    bool small = gpuc_expr_is_int(gpuc_iter_extent(s->iter), &extent) && extent > 1 && extent <= max;
    bool reduced = s->iter->kind == GPUC_ITER_REDUCE;
    switch (a) {
    case GPUC_ANNOTATE_NONE: return true;
    case GPUC_ANNOTATE_UNROLL: return small;
    case GPUC_ANNOTATE_VECTORIZE: return small && !reduced && s->iter == s->st->leaves[s->st->num_leaves - 1];
    case GPUC_ANNOTATE_PARALLEL: return !reduced;
    }
    return false;
}

static void annotate(const subject *s, unsigned from, int64_t max)
{
    static const gpuc_annotation all[] = {GPUC_ANNOTATE_NONE, GPUC_ANNOTATE_UNROLL, GPUC_ANNOTATE_VECTORIZE,
                                          GPUC_ANNOTATE_PARALLEL};
    int64_t list[4];
    int n = 0;
    for (int i = 0; i < 4; i++)
        if ((from & all[i]) && is_possible(s, all[i], max)) list[n++] = all[i];
    if (n == 0)
        fail(s,
             gpuc_ctx_printf(s->ctx, "its space is empty: none of its annotations is possible for loop '%s'",
                             gpuc_schedule_iter_name(s->iter)));
    switch ((gpuc_annotation)ask(s, list[0], n, list)) {
    case GPUC_ANNOTATE_NONE: break;
    case GPUC_ANNOTATE_UNROLL: gpuc_stage_unroll(s->st, s->iter); break;
    case GPUC_ANNOTATE_VECTORIZE: gpuc_stage_vectorize(s->st, s->iter); break;
    case GPUC_ANNOTATE_PARALLEL: gpuc_stage_parallel(s->st, s->iter); break;
    }
}

void gpuc_knob_annotate(gpuc_knobs *knobs, const char *name, gpuc_stage *st, int n, gpuc_iter *const *iters,
                        unsigned from, int64_t max)
{
    enum { DEFAULT_MAX = 64 };
    const unsigned known =
        GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_UNROLL | GPUC_ANNOTATE_VECTORIZE | GPUC_ANNOTATE_PARALLEL;
    subject s = {.ctx = st->schedule->ctx, .knobs = knobs, .name = name, .st = st};
    check_loops(&s, n, iters);
    if (!from || from & ~known) fail(&s, "its annotations are no sum of gpuc_annotation");
    for (int i = 0; i < n; i++) {
        s.iter = iters[i];
        gpuc_stage_need_leaf(st, iters[i], "annotate");
        annotate(&s, from, max ? max : DEFAULT_MAX);
    }
}

/* ---- Choice ---- */

int gpuc_knob_choice(gpuc_knobs *knobs, const char *name, int own, int n)
{
    if (!knobs) return own;
    const subject s = {.ctx = knobs->ctx, .knobs = knobs, .name = name};
    if (!name) fail(&s, "its name is NULL");
    if (n < 1) fail(&s, gpuc_ctx_printf(s.ctx, "its space is empty: it has %d choices", n));
    if (own < 0 || own >= n) fail(&s, gpuc_ctx_printf(s.ctx, "its own choice %d is not below %d", own, n));
    gpuc_knobs_check_count(s.ctx, name, n);
    int64_t *all = gpuc_new_array(s.ctx, int64_t, n);
    for (int i = 0; i < n; i++) all[i] = i;
    return (int)ask(&s, own, n, all);
}
