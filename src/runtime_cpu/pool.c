/* SPDX-License-Identifier: Apache-2.0 */
/* Runs parallel loops on a pool of threads, one loop at a time. The caller describes the loop, opens the
 * gate, wakes sleeping workers, and takes chunks as they do; when no chunk is left it closes the gate and
 * waits for the workers that are inside. Each thread has a share, the same part of every loop, as what it
 * wrote in one loop lies in its cache for the next; then it helps with the shares of others. A worker that
 * comes late finds the gate closed, so nobody waits for a thread to wake up, and the description only
 * changes while the gate is closed and nobody is inside.
 *
 * A forked child has none of the threads, and a copy of whatever the parent's were doing: a plan that
 * begins there starts the pool anew. */
#include "runtime_cpu/pool.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

#define GATE_OPEN (UINT64_C(1) << 32)
#define CHUNKS_PER_THREAD 8
#define SPIN_NS 20000                  /* of an idle worker before it sleeps */
#define SPIN_BURST_NS 200000           /* the same while a plan is running */
#define SPIN_JOIN_NS 50000             /* of the caller for workers that are inside */
#define MAX_STEERED_CPUS 8             /* larger machines have an idle processor for a worker that wakes up */
#define WORKER_STACK ((size_t)8 << 20) /* generated code keeps its local arrays there */

typedef struct share {
    atomic_uint_fast64_t next; /* chunk number */
    uint64_t end;
    uint64_t apart[14]; /* no two in one line of a cache */
} share;

struct gpuc_cpu_pool {
    gpuc_allocator allocator;
    int num_threads;
    int num_workers;    /* started; changes in a turn */
    pthread_t *workers; /* num_threads - 1 of them */
    share *shares;      /* of the caller, then of the workers */
    atomic_int names;   /* that workers gave themselves */
    bool started;
    atomic_int process; /* whose threads these are; 0 while the pool starts anew */
    cpu_set_t allowed;  /* where the first caller may run; empty: workers are not steered */
    int caller_cpu;     /* which workers keep away from; -1: none */
    /* Loops wait for their turn, so that none starves: a lock would go to who asks again at once. */
    atomic_uint_fast64_t next_turn, turn;

    pthread_mutex_t sleep_lock;
    pthread_cond_t wake, all_left, turned;
    atomic_int sleepers;
    atomic_bool waiting; /* the caller sleeps on all_left */
    atomic_bool stop;
    atomic_int bursts;
    atomic_uint_fast64_t generation; /* of the loop: workers look here for work */
    atomic_uint_fast64_t gate;       /* GATE_OPEN, plus the number of workers inside */

    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
    int64_t begin;
    uint64_t count, chunk; /* the distance of two int64 fits a uint64 */
};

static _Thread_local bool inside_loop;

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void take_turn(gpuc_cpu_pool *p)
{
    uint64_t mine = atomic_fetch_add(&p->next_turn, 1);
    if (atomic_load(&p->turn) == mine) return;
    pthread_mutex_lock(&p->sleep_lock);
    while (atomic_load(&p->turn) != mine) pthread_cond_wait(&p->turned, &p->sleep_lock);
    pthread_mutex_unlock(&p->sleep_lock);
}

static void end_turn(gpuc_cpu_pool *p)
{
    uint64_t next = atomic_fetch_add(&p->turn, 1) + 1;
    if (atomic_load(&p->next_turn) == next) return;
    pthread_mutex_lock(&p->sleep_lock);
    pthread_cond_broadcast(&p->turned);
    pthread_mutex_unlock(&p->sleep_lock);
}

static void take_share(gpuc_cpu_pool *p, share *s)
{
    while (atomic_load_explicit(&s->next, memory_order_relaxed) < s->end) {
        uint64_t i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        if (i >= s->end) return;
        uint64_t from = i * p->chunk;
        uint64_t to = p->count - from < p->chunk ? p->count : from + p->chunk;
        p->body(p->arg, (int64_t)((uint64_t)p->begin + from), (int64_t)((uint64_t)p->begin + to));
    }
}

static void take_chunks(gpuc_cpu_pool *p, int self)
{
    for (int i = 0; i < p->num_threads; i++) take_share(p, &p->shares[(self + i) % p->num_threads]);
}

static void share_out(gpuc_cpu_pool *p)
{
    uint64_t chunks = p->count / p->chunk + (p->count % p->chunk != 0), threads = (uint64_t)p->num_threads;
    uint64_t each = chunks / threads, more = chunks % threads, at = 0;
    for (uint64_t i = 0; i < threads; i++) {
        atomic_store_explicit(&p->shares[i].next, at, memory_order_relaxed);
        at += each + (i < more);
        p->shares[i].end = at;
    }
}

static bool enter(gpuc_cpu_pool *p)
{
    uint_fast64_t g = atomic_load(&p->gate);
    while (g & GATE_OPEN)
        if (atomic_compare_exchange_weak(&p->gate, &g, g + 1)) return true;
    return false;
}

static void leave(gpuc_cpu_pool *p)
{
    uint_fast64_t left = atomic_fetch_sub(&p->gate, 1) - 1;
    if (left == 0 && atomic_load(&p->waiting)) {
        pthread_mutex_lock(&p->sleep_lock);
        pthread_cond_signal(&p->all_left);
        pthread_mutex_unlock(&p->sleep_lock);
    }
}

/* Returns the generation that differs from seen, or seen itself when the pool stops. */
static uint64_t await_loop(gpuc_cpu_pool *p, uint64_t seen)
{
    int64_t start = now_ns();
    for (unsigned iteration = 1;; iteration++) {
        uint64_t g = atomic_load(&p->generation);
        if (g != seen) return g;
        relax();
        if (iteration % 64 != 0) continue;
        int64_t limit = atomic_load_explicit(&p->bursts, memory_order_relaxed) ? SPIN_BURST_NS : SPIN_NS;
        if (now_ns() - start > limit) break;
    }
    pthread_mutex_lock(&p->sleep_lock);
    /* This must come before the generation is read, since the caller does the two in the opposite order. */
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->generation) == seen && !atomic_load(&p->stop))
        pthread_cond_wait(&p->wake, &p->sleep_lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->sleep_lock);
    return atomic_load(&p->generation);
}

static void *worker_main(void *self)
{
    gpuc_cpu_pool *p = self;
    int name = 1 + atomic_fetch_add(&p->names, 1);
    inside_loop = true;
    uint64_t seen = 0;
    while (!atomic_load(&p->stop)) {
        seen = await_loop(p, seen);
        if (!enter(p)) continue;
        take_chunks(p, name);
        leave(p);
    }
    return NULL;
}

bool gpuc_cpu_thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setstacksize(&attr, WORKER_STACK);
    sigset_t all, old;
    sigfillset(&all); /* signals are for the application's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(out, &attr, run, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

/* Fewer threads than asked for, or none, only make loops slower. */
static void start_workers(gpuc_cpu_pool *p)
{
    p->started = true;
    if (sched_getaffinity(0, sizeof p->allowed, &p->allowed) != 0 ||
        CPU_COUNT(&p->allowed) > MAX_STEERED_CPUS)
        CPU_ZERO(&p->allowed);
    while (p->num_workers < p->num_threads - 1 &&
           gpuc_cpu_thread_start(&p->workers[p->num_workers], worker_main, p))
        p->num_workers++;
}

/* On small machines the scheduler likes to wake a worker on the processor of its waker, where it
 * waits for milliseconds while another one idles: workers are kept off the caller's. */
static void steer_workers(gpuc_cpu_pool *p)
{
    int cpu = sched_getcpu();
    if (cpu == p->caller_cpu || CPU_COUNT(&p->allowed) < 2) return;
    cpu_set_t others = p->allowed;
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_CLR(cpu, &others);
    for (int i = 0; i < p->num_workers; i++) pthread_setaffinity_np(p->workers[i], sizeof others, &others);
    p->caller_cpu = cpu;
}

static void wake_workers(gpuc_cpu_pool *p, uint64_t useful)
{
    uint64_t sleepers = (uint64_t)atomic_load(&p->sleepers);
    if (sleepers == 0) return;
    pthread_mutex_lock(&p->sleep_lock);
    if (useful >= sleepers)
        pthread_cond_broadcast(&p->wake);
    else
        for (uint64_t i = 0; i < useful; i++) pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->sleep_lock);
}

static void await_workers(gpuc_cpu_pool *p)
{
    if (atomic_load(&p->gate) == 0) return;
    int64_t start = now_ns();
    for (unsigned iteration = 1;; iteration++) {
        if (atomic_load(&p->gate) == 0) return;
        relax();
        if (iteration % 64 == 0 && now_ns() - start > SPIN_JOIN_NS) break;
    }
    pthread_mutex_lock(&p->sleep_lock);
    atomic_store(&p->waiting, true);
    while (atomic_load(&p->gate) != 0) pthread_cond_wait(&p->all_left, &p->sleep_lock);
    atomic_store(&p->waiting, false);
    pthread_mutex_unlock(&p->sleep_lock);
}

void gpuc_cpu_pool_run(gpuc_cpu_pool *p, int64_t begin, int64_t end,
                       void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    if (begin >= end) return;
    uint64_t count = (uint64_t)end - (uint64_t)begin;
    if (inside_loop || p->num_threads == 1 || count == 1) {
        body(arg, begin, end);
        return;
    }
    take_turn(p);
    if (!p->started) start_workers(p);
    p->body = body;
    p->arg = arg;
    p->begin = begin;
    p->count = count;
    p->chunk = count / ((uint64_t)p->num_threads * CHUNKS_PER_THREAD);
    if (p->chunk == 0) p->chunk = 1;
    share_out(p);
    if (p->num_workers > 0) {
        steer_workers(p);
        atomic_store(&p->gate, GATE_OPEN);
        atomic_fetch_add(&p->generation, 1);
        wake_workers(p, count - 1);
    }
    inside_loop = true;
    take_chunks(p, 0);
    inside_loop = false;
    if (p->num_workers > 0) {
        atomic_fetch_and(&p->gate, ~GATE_OPEN);
        await_workers(p);
    }
    end_turn(p);
}

static void init_locks(gpuc_cpu_pool *p)
{
    pthread_mutex_init(&p->sleep_lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->all_left, NULL);
    pthread_cond_init(&p->turned, NULL);
}

/* Starts the pool anew in a forked child. Locks and counts of the threads of the parent are void here, since
 * no thread is left to release them. */
static void start_anew(gpuc_cpu_pool *p)
{
    init_locks(p);
    p->num_workers = 0;
    p->started = false;
    p->caller_cpu = -1;
    atomic_store(&p->names, 0);
    atomic_store(&p->sleepers, 0);
    atomic_store(&p->waiting, false);
    atomic_store(&p->bursts, 0);
    atomic_store(&p->gate, 0);
    atomic_store(&p->next_turn, 0);
    atomic_store(&p->turn, 0);
}

/* The child may have threads of its own, of which one does it. */
static void enter_process(gpuc_cpu_pool *p)
{
    int here = getpid(), seen = atomic_load(&p->process);
    while (seen != here) {
        if (seen != 0 && atomic_compare_exchange_strong(&p->process, &seen, 0)) {
            start_anew(p);
            atomic_store(&p->process, here);
            return;
        }
        relax();
        seen = atomic_load(&p->process);
    }
}

void gpuc_cpu_pool_begin_burst(gpuc_cpu_pool *p)
{
    enter_process(p);
    atomic_fetch_add_explicit(&p->bursts, 1, memory_order_relaxed);
}

void gpuc_cpu_pool_end_burst(gpuc_cpu_pool *p)
{
    atomic_fetch_sub_explicit(&p->bursts, 1, memory_order_relaxed);
}

int gpuc_cpu_pool_num_started(gpuc_cpu_pool *p)
{
    take_turn(p);
    int n = p->num_workers;
    end_turn(p);
    return n;
}

static void free_pool(gpuc_cpu_pool *p)
{
    size_t threads = (size_t)p->num_threads;
    gpuc_mem_free(p->allocator, p->workers, threads * sizeof *p->workers);
    gpuc_mem_free(p->allocator, p->shares, threads * sizeof *p->shares);
    gpuc_mem_free(p->allocator, p, sizeof *p);
}

gpuc_status gpuc_cpu_pool_create(gpuc_allocator a, int num_threads, gpuc_cpu_pool **out)
{
    *out = NULL;
    gpuc_cpu_pool *p = gpuc_mem_alloc(a, sizeof *p);
    if (!p) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the CPU device's threads");
    p->allocator = a;
    p->num_threads = num_threads < 1 ? 1 : num_threads;
    p->caller_cpu = -1;
    size_t threads = (size_t)p->num_threads;
    p->workers = gpuc_mem_alloc(a, threads * sizeof *p->workers);
    p->shares = gpuc_mem_alloc(a, threads * sizeof *p->shares);
    if (!p->workers || !p->shares) {
        free_pool(p);
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the CPU device's threads");
    }
    init_locks(p);
    atomic_init(&p->process, getpid());
    *out = p;
    return NULL;
}

void gpuc_cpu_pool_destroy(gpuc_cpu_pool *p)
{
    if (!p) return;
    enter_process(p);
    atomic_store(&p->stop, true);
    pthread_mutex_lock(&p->sleep_lock);
    atomic_fetch_add(&p->generation, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->sleep_lock);
    for (int i = 0; i < p->num_workers; i++) pthread_join(p->workers[i], NULL);
    pthread_cond_destroy(&p->turned);
    pthread_cond_destroy(&p->all_left);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->sleep_lock);
    free_pool(p);
}
