/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, neighbours, and three ways to choose what is tried next. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t gpuc_tune_random(gpuc_tune_rng *r, uint64_t below)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return below ? z % below : z;
}

double gpuc_tune_uniform(gpuc_tune_rng *r)
{
    return (double)(gpuc_tune_random(r, 0) >> 11) * 0x1p-53;
}

void gpuc_tune_state_init(gpuc_tune_state *s, gpuc_ctx *ctx, gpuc_tune_space *space)
{
    *s = (gpuc_tune_state){.ctx = ctx, .space = space, .temperature = 0.5};
    gpuc_strmap_init(&s->tried, ctx);
}

bool gpuc_tune_tried(const gpuc_tune_state *s, const gpuc_tune_point *p)
{
    return gpuc_strmap_has(&s->tried, p->key);
}

/* What is measured again was lucky or unlucky before. */
static void correct(gpuc_tune_state *s, gpuc_tune_trial *t, double seconds)
{
    t->seconds = seconds;
    s->best = NULL;
    for (size_t i = 0; i < s->trials.count; i++) {
        const gpuc_tune_trial *other = s->trials.at[i];
        if (isfinite(other->seconds) && (!s->best || other->seconds < s->best->seconds)) s->best = other;
    }
}

void gpuc_tune_note(gpuc_tune_state *s, const gpuc_tune_point *p, double seconds)
{
    gpuc_tune_trial *t = gpuc_strmap_get(&s->tried, p->key);
    if (t) {
        correct(s, t, seconds);
        return;
    }
    t = gpuc_new(s->ctx, gpuc_tune_trial);
    *t = (gpuc_tune_trial){.point = p, .seconds = seconds};
    gpuc_strmap_set(&s->tried, p->key, t);
    gpuc_ptrs_push(s->ctx, &s->trials, t);
    /* A hair better is noise. */
    if (isfinite(seconds) && (!s->best || seconds < 0.98 * s->best->seconds))
        s->since_best = 0;
    else
        s->since_best++;
    if (isfinite(seconds) && (!s->best || seconds < s->best->seconds)) s->best = t;
}

/* ---- Points ---- */

typedef struct choice {
    gpuc_tune_rng *rng;
    const gpuc_config *from; /* NULL: all is chosen by chance */
    int changed[2];          /* knobs of it that change */
} choice;

static int64_t any(gpuc_tune_rng *rng, const gpuc_asked *knob)
{
    return knob->candidates[gpuc_tune_random(rng, (uint64_t)knob->n)];
}

static int64_t nearest(const gpuc_asked *knob, int64_t value)
{
    int64_t best = knob->candidates[0];
    for (int i = 1; i < knob->n; i++)
        if (llabs(knob->candidates[i] - value) < llabs(best - value)) best = knob->candidates[i];
    return best;
}

static int64_t choose(void *user, const gpuc_asked *knob)
{
    choice *c = user;
    for (int i = 0; c->from && i < c->from->n; i++) {
        const gpuc_knob_value *v = &c->from->at[i];
        if (strcmp(v->name, knob->name)) continue;
        if (i != c->changed[0] && i != c->changed[1]) return nearest(knob, v->value);
        int64_t value = any(c->rng, knob);
        for (int k = 0; k < 4 && value == v->value; k++) value = any(c->rng, knob);
        return value;
    }
    return any(c->rng, knob);
}

const gpuc_tune_point *gpuc_tune_sample(gpuc_tune_state *s, gpuc_tune_rng *rng)
{
    return gpuc_tune_space_walk(s->space, choose, &(choice){.rng = rng});
}

const gpuc_tune_point *gpuc_tune_mutate(gpuc_tune_state *s, gpuc_tune_rng *rng, const gpuc_tune_point *from)
{
    uint64_t n = (uint64_t)from->config->n;
    choice c = {.rng = rng, .from = from->config, .changed = {-1, -1}};
    if (n) c.changed[0] = (int)gpuc_tune_random(rng, n);
    if (n > 1 && gpuc_tune_uniform(rng) < 0.3) c.changed[1] = (int)gpuc_tune_random(rng, n);
    return gpuc_tune_space_walk(s->space, choose, &c);
}

/* ---- Proposals ---- */

enum { TRIES = 64 }; /* before the space counts as seen */

static bool is_new(const gpuc_tune_state *s, const gpuc_tune_point *p, int n,
                   const gpuc_tune_point *const *list)
{
    if (!p || gpuc_tune_tried(s, p)) return false;
    for (int i = 0; i < n; i++)
        if (list[i] == p) return false;
    return true;
}

/* Adds samples up to n. */
static int fill(gpuc_tune_state *s, gpuc_tune_rng *rng, int count, int n, const gpuc_tune_point **out)
{
    while (count < n) {
        const gpuc_tune_point *p = NULL;
        for (int i = 0; i < TRIES && !is_new(s, p, count, out); i++) p = gpuc_tune_sample(s, rng);
        if (!is_new(s, p, count, out)) break;
        out[count++] = p;
    }
    return count;
}

int gpuc_tune_propose_random(gpuc_tune_state *s, gpuc_tune_rng *rng, int n, const gpuc_tune_point **out)
{
    return fill(s, rng, 0, n, out);
}

/* Where the chains stand after what was measured since. */
static void settle(gpuc_tune_state *s, gpuc_tune_rng *rng, int n)
{
    for (size_t i = s->chains.count; i < (size_t)n && s->best; i++)
        gpuc_ptrs_push(s->ctx, &s->chains, s->best);
    size_t recent = s->trials.count < (size_t)n ? s->trials.count : (size_t)n;
    for (size_t i = 0; i < recent && i < s->chains.count; i++) {
        const gpuc_tune_trial *next = s->trials.at[s->trials.count - recent + i], *at = s->chains.at[i];
        if (!isfinite(next->seconds)) continue;
        double worse = log(next->seconds / at->seconds);
        if (worse <= 0 || gpuc_tune_uniform(rng) < exp(-worse / s->temperature))
            s->chains.at[i] = (void *)(uintptr_t)next;
    }
    s->temperature *= 0.85;
}

int gpuc_tune_propose_sa(gpuc_tune_state *s, gpuc_tune_rng *rng, int n, const gpuc_tune_point **out)
{
    int count = 0;
    settle(s, rng, n);
    for (size_t i = 0; i < s->chains.count && count < n; i++) {
        const gpuc_tune_trial *at = s->chains.at[i];
        const gpuc_tune_point *p = NULL;
        for (int k = 0; k < TRIES && !is_new(s, p, count, out); k++) p = gpuc_tune_mutate(s, rng, at->point);
        if (is_new(s, p, count, out)) out[count++] = p;
    }
    return fill(s, rng, count, n, out);
}

/* ---- Annealing on the model ---- */

enum { CHAINS = 32, STEPS = 20, KEPT = 64 };

typedef struct scored {
    const gpuc_tune_point *point;
    float score;
} scored;

typedef struct annealing {
    gpuc_tune_state *s;
    gpuc_tune_rng *rng;
    gpuc_tune_model *model;
    gpuc_tune_features *features;
    const float *workload;
    scored best[KEPT]; /* not tried, falling */
    int num_best;
} annealing;

static void keep(annealing *a, const gpuc_tune_point *p, float score)
{
    int at = a->num_best;
    if (gpuc_tune_tried(a->s, p)) return;
    for (int i = 0; i < a->num_best; i++)
        if (a->best[i].point == p) return;
    if (at == KEPT && score <= a->best[KEPT - 1].score) return;
    if (at < KEPT)
        a->num_best++;
    else
        at--;
    for (; at > 0 && a->best[at - 1].score < score; at--) a->best[at] = a->best[at - 1];
    a->best[at] = (scored){p, score};
}

static void score(annealing *a, int n, const gpuc_tune_point *const *points, float *scores)
{
    float rows[CHAINS][GPUC_TUNE_MAX_FEATURES];
    for (int i = 0; i < n; i++) gpuc_tune_featurize(a->features, a->workload, points[i]->config, rows[i]);
    gpuc_tune_rows matrix = {.n = n, .num_features = GPUC_TUNE_MAX_FEATURES, .at = rows[0]};
    GPUC_RAISE_IF(a->s->ctx, gpuc_tune_model_score(a->model, &matrix, scores));
    for (int i = 0; i < n; i++) keep(a, points[i], scores[i]);
}

static int by_seconds(const void *a, const void *b)
{
    const gpuc_tune_trial *x = *(void *const *)a, *y = *(void *const *)b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Half of the chains begin at the best that is known. */
static int begin(annealing *a, const gpuc_tune_point **points)
{
    gpuc_tune_state *s = a->s;
    int n = 0;
    size_t count = s->trials.count;
    void **sorted = gpuc_ctx_memdup(s->ctx, s->trials.at, sizeof *sorted * (count + !count));
    qsort(sorted, count, sizeof *sorted, by_seconds);
    for (size_t i = 0; i < count && n < CHAINS / 2; i++) {
        const gpuc_tune_trial *t = sorted[i];
        if (isfinite(t->seconds)) points[n++] = t->point;
    }
    for (int i = 0; i < 2 * CHAINS && n < CHAINS; i++) {
        const gpuc_tune_point *p = gpuc_tune_sample(s, a->rng);
        if (p) points[n++] = p;
    }
    return n;
}

static void anneal(annealing *a)
{
    const gpuc_tune_point *at[CHAINS], *next[CHAINS];
    float scores[CHAINS], next_scores[CHAINS];
    int n = begin(a, at);
    if (n < 1) return;
    score(a, n, at, scores);
    float low = scores[0], high = scores[0];
    for (int i = 1; i < n; i++) {
        low = fminf(low, scores[i]);
        high = fmaxf(high, scores[i]);
    }
    double spread = high > low ? (double)(high - low) : 1;
    for (int step = 0; step < STEPS; step++) {
        double temperature = 0.5 * spread * (1 - (double)step / STEPS);
        for (int i = 0; i < n; i++) {
            next[i] = gpuc_tune_mutate(a->s, a->rng, at[i]);
            if (!next[i]) next[i] = at[i];
        }
        score(a, n, next, next_scores);
        for (int i = 0; i < n; i++) {
            double worse = (double)(scores[i] - next_scores[i]);
            if (worse > 0 && gpuc_tune_uniform(a->rng) >= exp(-worse / temperature)) continue;
            at[i] = next[i];
            scores[i] = next_scores[i];
        }
    }
}

int gpuc_tune_propose_model(gpuc_tune_state *s, gpuc_tune_rng *rng, gpuc_tune_model *model,
                            gpuc_tune_features *features, const float *workload, int n,
                            const gpuc_tune_point **out)
{
    annealing a = {.s = s, .rng = rng, .model = model, .features = features, .workload = workload};
    int wanted = n - n / 8, count = 0; /* the rest by chance: what the model does not know, it cannot learn */
    anneal(&a);
    for (int i = 0; i < a.num_best && count < wanted; i++) out[count++] = a.best[i].point;
    return fill(s, rng, count, n, out);
}
