/* SPDX-License-Identifier: Apache-2.0 */
/* A virtual machine's neighbours come and go: a measurement counts only if a fixed piece of arithmetic, a
 * matrix product of 512 on as many threads, ran at its usual speed before and after it. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

enum { SIZE = 512, ROWS = 4, LANES = 8, MAX_THREADS = 64 };
#define ENOUGH 0.9

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
static int num_threads = 1;
static double best;

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

void bench_on_threads(int threads, void (*body)(void *arg, int i), void *arg)
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
static void multiply_tile(int row, int column)
{
    lanes sum[ROWS][2] = {0};
    for (int k = 0; k < SIZE; k++) {
        const lanes *at = (const lanes *)&b[k * SIZE + column];
        lanes b0 = at[0], b1 = at[1];
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            float x = a[(row + i) * SIZE + k];
            sum[i][0] += x * b0;
            sum[i][1] += x * b1;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        lanes *to = (lanes *)&c[(row + i) * SIZE + column];
        to[0] = sum[i][0];
        to[1] = sum[i][1];
    }
}

static void multiply_part(void *arg, int i)
{
    double *seconds = arg;
    int from = SIZE / ROWS * i / num_threads, to = SIZE / ROWS * (i + 1) / num_threads;
    double start = bench_now();
    for (int column = 0; column < SIZE; column += 2 * LANES)
        for (int row = from; row < to; row++) multiply_tile(row * ROWS, column);
    seconds[i] = bench_now() - start;
}

/* The slowest thread counts: another program on one processor must show. */
static double calibrate(void)
{
    double seconds[MAX_THREADS] = {0}, slowest = 0;
    bench_on_threads(num_threads, multiply_part, seconds);
    for (int i = 0; i < num_threads; i++)
        if (seconds[i] > slowest) slowest = seconds[i];
    double speed = 2.0 * SIZE * SIZE * SIZE / slowest;
    if (speed > best) best = speed;
    return speed;
}

void bench_gate_start(int threads)
{
    num_threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (float)(i % 13) * 0.1f;
        b[i] = (float)(i % 7) * 0.1f;
    }
    double end = bench_now() + 1;
    while (bench_now() < end) calibrate();
}

bool bench_gate_quiet(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    for (int i = 0; i < 40; i++) {
        double speed = 0;
        for (int k = 0; k < 3; k++) {
            double s = calibrate();
            if (s > speed) speed = s;
        }
        if (speed >= ENOUGH * best) return true;
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    }
    return false;
}

double bench_gate_best(void)
{
    return best;
}
