/* SPDX-License-Identifier: Apache-2.0 */
/* A virtual machine's neighbours come and go: a measurement counts only if a fixed piece of arithmetic, a
 * matrix product of 512 on as many threads, ran at its usual speed before and after it. */
#include "tune/quiet.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { SIZE = 512, ROWS = 4, LANES = 8, MAX_THREADS = 64 };
#define ENOUGH 0.9

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

struct cli_quiet {
    float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    int num_threads;
    double best;
    double seconds[MAX_THREADS]; /* of each, the last time */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct thread_start {
    void (*body)(void *arg, int i);
    void *arg;
    int i, cpu;
} thread_start;

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *enter_thread(void *arg)
{
    thread_start *t = arg;
    pin(t->cpu);
    t->body(t->arg, t->i);
    return NULL;
}

static int nth_cpu(const cpu_set_t *allowed, int n)
{
    int count = CPU_COUNT(allowed), cpu = 0;
    n %= count > 0 ? count : 1;
    for (; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && n-- == 0) return cpu;
    return 0;
}

void cli_on_pinned_threads(int threads, void (*body)(void *arg, int i), void *arg)
{
    pthread_t id[MAX_THREADS];
    thread_start start[MAX_THREADS];
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    int started = 0;
    for (; started < threads; started++) {
        start[started] = (thread_start){body, arg, started, nth_cpu(&allowed, started)};
        if (pthread_create(&id[started], NULL, enter_thread, &start[started]) != 0) break;
    }
    for (int i = 0; i < started; i++) pthread_join(id[i], NULL);
    for (int i = started; i < threads; i++) body(arg, i);
}

/* ROWS rows of c by 2 * LANES columns, in registers. */
static inline __attribute__((always_inline)) void multiply_tile(cli_quiet *q, int row, int column)
{
    lanes sum[ROWS][2] = {0};
    for (int k = 0; k < SIZE; k++) {
        const lanes *at = (const lanes *)&q->b[k * SIZE + column];
        lanes b0 = at[0], b1 = at[1];
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            float x = q->a[(row + i) * SIZE + k];
            sum[i][0] += x * b0;
            sum[i][1] += x * b1;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        lanes *to = (lanes *)&q->c[(row + i) * SIZE + column];
        to[0] = sum[i][0];
        to[1] = sum[i][1];
    }
}

static inline __attribute__((always_inline)) void multiply_rows(cli_quiet *q, int from, int to)
{
    for (int column = 0; column < SIZE; column += 2 * LANES)
        for (int row = from; row < to; row++) multiply_tile(q, row * ROWS, column);
}

/* This loop uses the full speed of the processor, as the measured kernels do. */
#if defined __x86_64__
__attribute__((target("avx2,fma"))) static void multiply_wide(cli_quiet *q, int from, int to)
{
    multiply_rows(q, from, to);
}

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
static void multiply_wide(cli_quiet *q, int from, int to)
{
    multiply_rows(q, from, to);
}

static bool has_wide(void)
{
    return true;
}
#endif

static void multiply_part(void *arg, int i)
{
    cli_quiet *q = arg;
    int from = SIZE / ROWS * i / q->num_threads, to = SIZE / ROWS * (i + 1) / q->num_threads;
    double start = now();
    if (has_wide())
        multiply_wide(q, from, to);
    else
        multiply_rows(q, from, to);
    q->seconds[i] = now() - start;
}

/* The slowest thread counts: another program on one processor must show. */
static double calibrate(cli_quiet *q)
{
    double slowest = 0;
    cli_on_pinned_threads(q->num_threads, multiply_part, q);
    for (int i = 0; i < q->num_threads; i++)
        if (q->seconds[i] > slowest) slowest = q->seconds[i];
    double speed = 2.0 * SIZE * SIZE * SIZE / slowest;
    if (speed > q->best) q->best = speed;
    return speed;
}

cli_quiet *cli_quiet_create(int threads, double seconds)
{
    cli_quiet *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->num_threads = threads < 1 ? 1 : threads < MAX_THREADS ? threads : MAX_THREADS;
    for (int i = 0; i < SIZE * SIZE; i++) {
        q->a[i] = (float)(i % 13) * 0.1f;
        q->b[i] = (float)(i % 7) * 0.1f;
    }
    double end = now() + seconds;
    while (now() < end) calibrate(q);
    return q;
}

void cli_quiet_destroy(cli_quiet *q)
{
    free(q);
}

bool cli_quiet_wait(cli_quiet *q, double seconds)
{
    double end = now() + seconds;
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    for (;;) {
        double speed = 0;
        for (int k = 0; k < 3; k++) {
            double s = calibrate(q);
            if (s > speed) speed = s;
        }
        if (speed >= ENOUGH * q->best) return true;
        if (now() >= end) return false;
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    }
}

double cli_quiet_best(const cli_quiet *q)
{
    return q->best;
}
