/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define MAX_ATTEMPTS 6
#define MIN_SAMPLES 3

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

gpuc_status bench_measure(const bench_plan *plan, gpuc_status (*run)(void *arg), void *arg,
                          bench_samples *out)
{
    int repeats = plan->repeats < BENCH_MAX_SAMPLES ? plan->repeats : BENCH_MAX_SAMPLES;
    *out = (bench_samples){0};
    GPUC_TRY(run(arg));
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        bench_samples s = {0};
        bool quiet = gpuc_quiet_wait(bench_quiet, BENCH_PATIENCE);
        double start = bench_now();
        while (s.count < repeats && (s.count < MIN_SAMPLES || bench_now() - start < plan->budget)) {
            double from = bench_now();
            GPUC_TRY(run(arg));
            s.seconds[s.count++] = bench_now() - from;
        }
        double spent = bench_now() - start;
        s.noisy = !(quiet && gpuc_quiet_wait(bench_quiet, BENCH_PATIENCE));
        if (out->count == 0 || !s.noisy || bench_median(&s) < bench_median(out)) *out = s;
        if (!s.noisy || spent > 4 * plan->budget) break; /* what takes long is not tried again */
    }
    return NULL;
}
