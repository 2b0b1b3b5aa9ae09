/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define MAX_ROUNDS 6
#define MIN_SAMPLES 3
#define STEADY 1.5 /* times the min sample: the median of what was not disturbed */
#define SHORT 0.05 /* seconds that are warmed up for before an attempt, and sampled for at least */

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(int count, const double *seconds)
{
    double sorted[BENCH_MAX_SAMPLES];
    if (count == 0) return 0;
    memcpy(sorted, seconds, sizeof(double) * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

double bench_median(const bench_samples *s)
{
    return median_of(s->count, s->seconds);
}

gpuc_status bench_repeat(gpuc_status (*once)(void *arg), void *arg, int count, double *seconds)
{
    for (int i = 0; i < count; i++) {
        double from = bench_now();
        GPUC_TRY(once(arg));
        seconds[i] = bench_now() - from;
    }
    return NULL;
}

static double lost; /* seconds */

static bool is_quiet(double patience)
{
    double from = bench_now();
    bool quiet = cli_quiet_wait(bench_quiet, patience);
    if (!quiet) lost += bench_now() - from;
    return quiet;
}

/* Runs it for a while. typical: what a run took in the end. */
static gpuc_status warm_up(const bench_runner *r, double *typical)
{
    double seconds[BENCH_MAX_SAMPLES], spent = 0;
    for (int n = 1; spent < SHORT; n = 2 * n < BENCH_MAX_SAMPLES ? 2 * n : BENCH_MAX_SAMPLES) {
        GPUC_TRY(r->run(r->arg, n, seconds));
        for (int i = 0; i < n; i++) spent += seconds[i];
        *typical = median_of(n, seconds);
    }
    return NULL;
}

static int at_most(int max, double count)
{
    return count < max ? (int)count : max;
}

/* As many as the plan wants and its budget allows, more if these are short, three if they are long. */
static int num_samples(const bench_plan *plan, double typical)
{
    int wanted = at_most(plan->repeats, plan->budget / typical);
    int of_short = at_most(BENCH_MAX_SAMPLES, ceil(SHORT / typical));
    int count = wanted > of_short ? wanted : of_short;
    return at_most(BENCH_MAX_SAMPLES, count > MIN_SAMPLES ? count : MIN_SAMPLES);
}

static double min(const bench_samples *s)
{
    double t = s->seconds[0];
    for (int i = 1; i < s->count; i++) t = fmin(t, s->seconds[i]);
    return t;
}

/* Keeps what was measured while the machine was quiet, of such the attempt with the min median. */
static void keep(bench_samples *kept, const bench_samples *s)
{
    double best = min(s);
    if (kept->count) best = fmin(best, kept->best);
    bool better = kept->noisy == s->noisy ? bench_median(s) < bench_median(kept) : kept->noisy && !s->noisy;
    if (kept->count == 0 || better) *kept = *s;
    kept->best = best;
}

static void attempt(const bench_plan *plan, bench_runner *r, double patience, bool *quiet)
{
    bench_samples s = {0};
    double typical = 0, spent = 0;
    bool before = *quiet;
    r->failure = warm_up(r, &typical);
    if (!r->failure) {
        s.count = num_samples(plan, typical);
        r->failure = r->run(r->arg, s.count, s.seconds);
    }
    *quiet = is_quiet(patience);
    if (r->failure) return;
    s.noisy = !before || !*quiet || bench_median(&s) > STEADY * min(&s);
    keep(&r->samples, &s);
    for (int i = 0; i < s.count; i++) spent += s.seconds[i];
    r->slow = spent > 4 * plan->budget;
}

void bench_measure(const bench_plan *plan, int count, bench_runner *runners)
{
    const double patience = 1.5;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        double from = bench_now(), wait = lost < plan->losses ? patience : 0;
        bool quiet = is_quiet(wait), all = true;
        for (int i = 0; i < count; i++) { /* to and fro: each has other neighbours */
            bench_runner *r = &runners[round % 2 ? count - 1 - i : i];
            if (r->failure || r->slow) continue;
            attempt(plan, r, wait, &quiet);
            if (!r->failure && !r->slow && r->samples.noisy) all = false;
        }
        if (round + 1 < plan->rounds) continue;
        if (all || lost >= plan->losses) break;
        lost += bench_now() - from;
    }
    for (int i = 0; i < count; i++)
        if (!runners[i].failure)
            runners[i].failure = runners[i].check(runners[i].arg, &runners[i].difference);
}

void bench_look(bench_worst *w, double got, double want)
{
    double off = fabs(got - want);
    if (!isnan(w->off) && !(off <= w->off)) w->off = off;
    if (fabs(want) > w->largest) w->largest = fabs(want);
}

gpuc_status bench_judge(const bench_worst *w, double *difference)
{
    const double tolerance = 1e-3;
    *difference = w->off == 0 ? 0 : w->off / w->largest;
    if (*difference <= tolerance) return NULL;
    return gpuc_fail(GPUC_INTERNAL, "the output differs from the reference by %.2g of its largest element",
                     *difference);
}
