/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime_cpu/pool.h"

enum { MAX = 10007 };

typedef struct loop {
    gpuc_cpu_pool *pool;
    atomic_int counts[MAX];
    int64_t base;
    atomic_int calls;
    pthread_t caller;
    atomic_bool elsewhere; /* some part ran on another thread */
} loop;

static gpuc_cpu_pool *make(int threads)
{
    gpuc_cpu_pool *p;
    assert_null(gpuc_cpu_pool_create((gpuc_allocator){0}, threads, &p));
    return p;
}

static void count(void *arg, int64_t begin, int64_t end)
{
    loop *l = arg;
    assert_true(begin < end);
    atomic_fetch_add(&l->calls, 1);
    if (!pthread_equal(pthread_self(), l->caller)) atomic_store(&l->elsewhere, true);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&l->counts[i - l->base], 1);
}

static void check(loop *l, int64_t n)
{
    for (int64_t i = 0; i < MAX; i++)
        if (l->counts[i] != (i < n))
            fail_msg("item %d of %d was done %d times", (int)i, (int)n, l->counts[i]);
}

static void every_item_is_done_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 100, 4096, MAX};
    static const int64_t bases[] = {0, -5, 1000000, INT64_MIN, INT64_MAX - MAX};
    for (int threads = 1; threads <= 9; threads += 2) {
        gpuc_cpu_pool *p = make(threads);
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                loop l = {.pool = p, .base = bases[b], .caller = pthread_self()};
                gpuc_cpu_pool_run(p, bases[b], bases[b] + sizes[s], count, &l);
                check(&l, sizes[s]);
            }
        loop l = {.pool = p, .caller = pthread_self()};
        gpuc_cpu_pool_run(p, 5, 3, count, &l);
        check(&l, 0);
        gpuc_cpu_pool_destroy(p);
    }
    gpuc_cpu_pool_destroy(NULL);
}

static void threads_start_when_they_are_needed(void **state)
{
    (void)state;
    gpuc_cpu_pool *p = make(4);
    loop l = {.pool = p, .caller = pthread_self()};
    assert_int_equal(gpuc_cpu_pool_num_started(p), 0);
    gpuc_cpu_pool_run(p, 0, 1, count, &l);
    assert_int_equal(gpuc_cpu_pool_num_started(p), 0);
    gpuc_cpu_pool_run(p, 0, 2, count, &l);
    assert_int_equal(gpuc_cpu_pool_num_started(p), 3);
    gpuc_cpu_pool_destroy(p);
    p = make(1);
    gpuc_cpu_pool_run(p, 0, 100, count, &l);
    assert_int_equal(gpuc_cpu_pool_num_started(p), 0);
    gpuc_cpu_pool_destroy(p);
}

static void nested_body(void *arg, int64_t begin, int64_t end)
{
    loop *l = arg;
    for (int64_t i = begin; i < end; i++) {
        loop inner = {.pool = l->pool, .caller = pthread_self()};
        gpuc_cpu_pool_run(l->pool, 0, 50, count, &inner);
        assert_int_equal(inner.calls, 1);
        assert_false(inner.elsewhere);
        check(&inner, 50);
        atomic_fetch_add(&l->counts[i], 1);
    }
}

static void loops_inside_of_loops_run_inline(void **state)
{
    (void)state;
    gpuc_cpu_pool *p = make(4);
    static loop l;
    l.pool = p;
    gpuc_cpu_pool_run(p, 0, 20, nested_body, &l);
    check(&l, 20);
    gpuc_cpu_pool_destroy(p);
}

static void slow(void *arg, int64_t begin, int64_t end)
{
    loop *l = arg;
    const struct timespec t = {.tv_nsec = 2000000};
    nanosleep(&t, NULL);
    count(l, begin, end);
}

static void others_help(void **state)
{
    (void)state;
    gpuc_cpu_pool *p = make(3);
    static loop l;
    l.caller = pthread_self();
    gpuc_cpu_pool_run(p, 0, 30, slow, &l);
    check(&l, 30);
    assert_true(l.elsewhere);
    gpuc_cpu_pool_destroy(p);
}

static void many_short_loops_with_and_without_sleep(void **state)
{
    (void)state;
    gpuc_cpu_pool *p = make(4);
    for (int i = 0; i < 3000; i++) {
        static loop l;
        int64_t n = i % 37;
        for (int j = 0; j < 37; j++) l.counts[j] = 0;
        if (i % 5 == 0) gpuc_cpu_pool_begin_burst(p);
        gpuc_cpu_pool_run(p, 0, n, count, &l);
        for (int j = 0; j < 37; j++) assert_int_equal(l.counts[j], j < n);
        if (i % 5 == 0) gpuc_cpu_pool_end_burst(p);
        if (i % 100 == 0) usleep(500);
    }
    gpuc_cpu_pool_destroy(p);
}

static void *caller_main(void *arg)
{
    gpuc_cpu_pool *p = arg;
    for (int i = 0; i < 300; i++) {
        loop *l = calloc(1, sizeof *l);
        l->caller = pthread_self();
        gpuc_cpu_pool_run(p, 0, 100, count, l);
        bool good = true;
        for (int j = 0; j < 100; j++) good = good && l->counts[j] == 1;
        free(l);
        if (!good) return p;
    }
    return NULL;
}

static void callers_on_several_threads_take_turns(void **state)
{
    (void)state;
    gpuc_cpu_pool *p = make(3);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, caller_main, p);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    gpuc_cpu_pool_destroy(p);
}

typedef struct rival {
    gpuc_cpu_pool *pool;
    atomic_int loops;
    atomic_bool stop;
} rival;

static void count_loop(void *arg, int64_t begin, int64_t end)
{
    (void)arg;
    if (begin == 0 && end > 0) usleep(200);
}

static void *loop_on(void *arg)
{
    rival *r = arg;
    while (!atomic_load(&r->stop)) {
        gpuc_cpu_pool_run(r->pool, 0, 100, count_loop, NULL);
        atomic_fetch_add(&r->loops, 1);
    }
    return NULL;
}

/* Who asks for a loop gets it after the one that runs, however often the other one asks. */
static void no_caller_starves(void **state)
{
    (void)state;
    enum { LOOPS = 200 };
    rival r = {.pool = make(2)};
    pthread_t other;
    int late = 0;
    assert_int_equal(pthread_create(&other, NULL, loop_on, &r), 0);
    while (!atomic_load(&r.loops)) usleep(100);
    for (int i = 0; i < LOOPS; i++) {
        int before = atomic_load(&r.loops);
        gpuc_cpu_pool_run(r.pool, 0, 100, count_loop, NULL);
        late += atomic_load(&r.loops) - before > 3;
    }
    atomic_store(&r.stop, true);
    pthread_join(other, NULL);
    assert_true(late < LOOPS / 4); /* the machine may be busy */
    gpuc_cpu_pool_destroy(r.pool);
}

static void pools_come_and_go(void **state)
{
    (void)state;
    static loop l;
    for (int i = 0; i < 50; i++) {
        gpuc_cpu_pool *p = make(5);
        memset((void *)l.counts, 0, sizeof l.counts);
        gpuc_cpu_pool_run(p, 0, i, count, &l);
        check(&l, i);
        gpuc_cpu_pool_destroy(p);
    }
}

/* In a child, where a loop that waits for threads of the parent would never end. */
static int run_and_destroy(gpuc_cpu_pool *p)
{
    static loop l;
    l.caller = pthread_self();
    alarm(20);
    for (int i = 0; i < 20; i++) {
        memset((void *)l.counts, 0, sizeof l.counts);
        gpuc_cpu_pool_begin_burst(p);
        gpuc_cpu_pool_run(p, 0, MAX, count, &l);
        gpuc_cpu_pool_end_burst(p);
        for (int k = 0; k < MAX; k++)
            if (l.counts[k] != 1) return 1;
    }
    int started = gpuc_cpu_pool_num_started(p);
    gpuc_cpu_pool_destroy(p);
    return started == 2 ? 0 : 2;
}

static void check_child(gpuc_cpu_pool *p, int (*child)(gpuc_cpu_pool *p))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(child(p));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int destroy(gpuc_cpu_pool *p)
{
    alarm(20);
    gpuc_cpu_pool_destroy(p);
    return 0;
}

static atomic_bool looping, enough;

static void loop_until_enough(void *arg, int64_t begin, int64_t end)
{
    (void)arg;
    (void)begin;
    (void)end;
    atomic_store(&looping, true);
    while (!atomic_load(&enough)) usleep(100);
}

static void *keep_looping(void *pool)
{
    gpuc_cpu_pool_run(pool, 0, 100, loop_until_enough, NULL);
    return NULL;
}

/* The child gets a pool whose threads are gone, whatever they were doing. */
static void children_have_threads_of_their_own(void **state)
{
    (void)state;
#ifdef GPUC_SANITIZED
    print_message(
        "not run: AddressSanitizer's allocator may be locked by another thread when a process forks\n");
    skip();
#endif
    gpuc_cpu_pool *p = make(3);
    loop *l = calloc(1, sizeof *l);
    pthread_t other;
    check_child(p, run_and_destroy); /* none was started */
    gpuc_cpu_pool_run(p, 0, MAX, count, l);
    check_child(p, run_and_destroy);
    check_child(p, destroy);
    pthread_create(&other, NULL, keep_looping, p);
    while (!atomic_load(&looping)) usleep(100);
    check_child(p, run_and_destroy); /* in the middle of a loop */
    check_child(p, destroy);
    atomic_store(&enough, true);
    pthread_join(other, NULL);
    gpuc_cpu_pool_run(p, 0, MAX, count, l);
    gpuc_cpu_pool_destroy(p);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(threads_start_when_they_are_needed),
        cmocka_unit_test(loops_inside_of_loops_run_inline),
        cmocka_unit_test(others_help),
        cmocka_unit_test(many_short_loops_with_and_without_sleep),
        cmocka_unit_test(callers_on_several_threads_take_turns),
        cmocka_unit_test(no_caller_starves),
        cmocka_unit_test(pools_come_and_go),
        cmocka_unit_test(children_have_threads_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
