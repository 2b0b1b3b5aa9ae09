/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define MAX_ATTEMPTS 6
#define MIN_SAMPLES 3
#define SHORT 0.05 /* seconds that short workloads are warmed up for, and sampled for at least */

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

double bench_median(const bench_samples *s)
{
    double sorted[BENCH_MAX_SAMPLES];
    if (s->count == 0) return 0;
    memcpy(sorted, s->seconds, sizeof(double) * (size_t)s->count);
    qsort(sorted, (size_t)s->count, sizeof *sorted, compare);
    return s->count % 2 ? sorted[s->count / 2] : 0.5 * (sorted[s->count / 2 - 1] + sorted[s->count / 2]);
}

double bench_min(const bench_samples *s)
{
    double least = s->count ? s->seconds[0] : 0;
    for (int i = 1; i < s->count; i++)
        if (s->seconds[i] < least) least = s->seconds[i];
    return least;
}

static double lost; /* seconds */

bool bench_wait_quiet(const bench_plan *plan)
{
    const double patience = 1.5;
    double from = bench_now();
    bool quiet = cli_quiet_wait(bench_quiet, lost < plan->losses ? patience : 0);
    if (!quiet) lost += bench_now() - from;
    return quiet;
}

bool bench_may_repeat(const bench_plan *plan, double seconds)
{
    bool may = lost < plan->losses;
    lost += seconds;
    return may;
}

gpuc_status bench_measure(const bench_plan *plan, gpuc_status (*run)(void *arg), void *arg,
                          bench_samples *out)
{
    int repeats = plan->repeats < BENCH_MAX_SAMPLES ? plan->repeats : BENCH_MAX_SAMPLES;
    *out = (bench_samples){0};
    double warm = bench_now();
    do GPUC_TRY(run(arg));
    while (bench_now() - warm < SHORT);
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        bench_samples s = {0};
        bool quiet = bench_wait_quiet(plan);
        double start = bench_now();
        double spent = 0;
        while (s.count < MIN_SAMPLES || (s.count < repeats && spent < plan->budget) ||
               (s.count < BENCH_MAX_SAMPLES && spent < SHORT)) {
            double from = bench_now();
            GPUC_TRY(run(arg));
            s.seconds[s.count++] = bench_now() - from;
            spent = bench_now() - start;
        }
        s.noisy = !(quiet && bench_wait_quiet(plan));
        if (out->count == 0 || !s.noisy || bench_median(&s) < bench_median(out)) *out = s;
        bool long_one = spent > 4 * plan->budget;
        if (!s.noisy || long_one || !bench_may_repeat(plan, spent)) break;
    }
    return NULL;
}
