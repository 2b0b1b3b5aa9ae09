/* SPDX-License-Identifier: Apache-2.0 */
/* What is waited for where a short and a long piece of work are on one device. Medians. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launches.h"
#include "relay/relay.h"

typedef enum order { ALONE, SHORT_FIRST, LONG_FIRST, NUM_ORDERS } order;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, compare);
    return t[n / 2];
}

/* long_alone 0: not measured */
static void print(const char *name, double *const seconds[NUM_ORDERS], int rounds, double long_alone)
{
    double t[NUM_ORDERS];
    for (int i = 0; i < NUM_ORDERS; i++) t[i] = bench_median(seconds[i], rounds);
    printf("  %-22s short alone %.3f ms, in front of the long one %.3f ms (%.2f), behind it %.3f ms", name,
           1e3 * t[ALONE], 1e3 * t[SHORT_FIRST], t[SHORT_FIRST] / t[ALONE], 1e3 * t[LONG_FIRST]);
    if (long_alone > 0) printf(" (long alone %.3f ms)", 1e3 * long_alone);
    puts("");
}

/* ---- Chains of launches ---- */

enum { SHORT_CHAIN = 100, LONG_CHAIN = 1000, CHAIN_ROUNDS = 60 };

/* A way to run chains: two of them may be under way. */
typedef struct chains {
    gpuc_status (*submit)(void *self, int which, int length);
    gpuc_status (*wait)(void *self, int which);
    void *self;
} chains;

typedef struct bare_chains {
    const bare *bare;
    void *of[2];
} bare_chains;

static gpuc_status bare_submit(void *self, int which, int length)
{
    bare_chains *c = self;
    GPUC_TRY(c->bare->begin(c->of[which]));
    GPUC_TRY(c->bare->append(c->of[which], length));
    return c->bare->submit(c->of[which]);
}

static gpuc_status bare_wait(void *self, int which)
{
    bare_chains *c = self;
    return c->bare->wait(c->of[which]);
}

typedef struct stream_chains {
    launches *l;
    gpuc_stream *streams[2];
    gpuc_ticket tickets[2];
} stream_chains;

static gpuc_status stream_submit(void *self, int which, int length)
{
    stream_chains *c = self;
    launches *l = c->l;
    const gpuc_bindings bindings = {.slots = l->slots, .count = 3};
    for (int i = 0; i < length; i++)
        GPUC_TRY(l->dev->api->launch(l->dev, c->streams[which], &l->step, &bindings));
    return gpuc_stream_signal(c->streams[which], &c->tickets[which]);
}

static gpuc_status stream_wait(void *self, int which)
{
    stream_chains *c = self;
    return gpuc_ticket_wait(c->tickets[which], GPUC_FOREVER);
}

static gpuc_status time_order(const chains *c, order o, double *out)
{
    if (o == LONG_FIRST) GPUC_TRY(c->submit(c->self, 1, LONG_CHAIN));
    double from = bench_now();
    GPUC_TRY(c->submit(c->self, 0, SHORT_CHAIN));
    if (o == SHORT_FIRST) {
        double paused = bench_now(); /* appending the long one is not waiting */
        GPUC_TRY(c->submit(c->self, 1, LONG_CHAIN));
        from += bench_now() - paused;
    }
    GPUC_TRY(c->wait(c->self, 0));
    *out = bench_now() - from;
    return o == ALONE ? NULL : c->wait(c->self, 1);
}

static gpuc_status time_chains(const char *name, const chains *c)
{
    static double seconds[NUM_ORDERS][CHAIN_ROUNDS];
    for (int i = 0; i < CHAIN_ROUNDS; i++)
        for (int o = 0; o < NUM_ORDERS; o++) GPUC_TRY(time_order(c, (order)o, &seconds[o][i]));
    print(name, (double *[]){seconds[0], seconds[1], seconds[2]}, CHAIN_ROUNDS, 0);
    return NULL;
}

static gpuc_status driver_chains(launches *l, const bare *b)
{
    bare_chains c = {.bare = b};
    gpuc_status status = b->open(l, &c.of[0]);
    if (!status) status = b->open(l, &c.of[1]);
    if (!status) status = time_chains("driver", &(chains){bare_submit, bare_wait, &c});
    for (int i = 0; i < 2; i++)
        if (c.of[i]) b->close(c.of[i]);
    return status;
}

gpuc_status orders_of_chains(launches *l, const bare *b)
{
    printf(" a chain of %d until its ticket, beside one of %d\n", SHORT_CHAIN, LONG_CHAIN);
    if (l->dev->type != GPUC_DEVICE_CPU) GPUC_TRY(driver_chains(l, b));
    stream_chains c = {.l = l};
    gpuc_status status = gpuc_stream_create(l->dev, &c.streams[0]);
    if (!status) status = gpuc_stream_create(l->dev, &c.streams[1]);
    if (!status) status = time_chains("streams", &(chains){stream_submit, stream_wait, &c});
    for (int i = 0; i < 2; i++) gpuc_stream_release(c.streams[i]);
    return status;
}

/* ---- Sessions on two threads ---- */

enum { SHORT_ROWS = 32, LONG_ROWS = 320, WIDTH = 512, SESSION_ROUNDS = 1000 };
#define HEAD_START 1e-4 /* seconds that who is first has: it has begun by then */

/* A product of matrices in one launch. */
typedef struct network {
    gpuc_device *dev;
    int64_t rows;
    bench_network net;
    gpuc_ndarray *in[2];
} network;

static gpuc_rmodule *make_product(gpuc_ctx *ctx, void *arg)
{
    const network *n = arg;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rexpr *in[2];
    const int64_t dims[2][2] = {{n->rows, WIDTH}, {WIDTH, WIDTH}};
    for (int i = 0; i < 2; i++)
        in[i] =
            gpuc_relay_var(ctx, i ? "w" : "x", gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 2, dims[i]));
    gpuc_rexpr *f =
        gpuc_relay_function(ctx, 2, in, gpuc_relay_op2(ctx, "nn.dense", NULL, in[0], in[1]), NULL);
    gpuc_relay_infer_type(ctx, m, f);
    gpuc_strmap_set(&m->functions, "main", f);
    return m;
}

static gpuc_status open_network(network *n, gpuc_runtime *rt)
{
    const char *target = n->dev->type == GPUC_DEVICE_CPU ? "c" : n->dev->api->name;
    GPUC_TRY(bench_network_open(n->dev, target, make_product, n, &n->net));
    for (int i = 0; i < 2; i++) {
        const int64_t dims[2] = {i ? WIDTH : n->rows, WIDTH};
        GPUC_TRY(gpuc_ndarray_create(rt, n->dev, GPUC_FLOAT32, 2, dims, &n->in[i]));
        GPUC_TRY(gpuc_session_set_input(n->net.session, i, n->in[i]));
    }
    return NULL;
}

static void close_network(network *n)
{
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(n->in[i]);
    bench_network_close(&n->net);
}

/* The thread of the long one: a run each time it is told to. */
typedef struct rival {
    network *n;
    sem_t go, done;
    double delay; /* seconds before it runs */
    bool stop;
    gpuc_status status;
} rival;

static void sleep_for(double seconds)
{
    struct timespec t = {.tv_nsec = (long)(1e9 * seconds)};
    if (seconds > 0) nanosleep(&t, NULL);
}

static void *compete(void *arg)
{
    rival *r = arg;
    for (;;) {
        double seconds;
        sem_wait(&r->go);
        if (r->stop) return NULL;
        sleep_for(r->delay);
        if (!r->status) r->status = bench_network_run(&r->n->net, &seconds);
        sem_post(&r->done);
    }
}

static gpuc_status time_sessions(network *n, rival *r, order o, double *out)
{
    if (o == ALONE) return bench_network_run(&n->net, out);
    r->delay = o == SHORT_FIRST ? HEAD_START : 0;
    sem_post(&r->go);
    sleep_for(HEAD_START - r->delay);
    gpuc_status status = bench_network_run(&n->net, out);
    sem_wait(&r->done);
    return status;
}

static gpuc_status time_pair(network *n, rival *r)
{
    static double seconds[NUM_ORDERS][SESSION_ROUNDS], longs[100];
    for (int i = 0; i < 100; i++) GPUC_TRY(bench_network_run(&r->n->net, &longs[i]));
    for (int i = 0; i < SESSION_ROUNDS; i++)
        for (int o = 0; o < NUM_ORDERS; o++) GPUC_TRY(time_sessions(n, r, (order)o, &seconds[o][i]));
    print("sessions", (double *[]){seconds[0], seconds[1], seconds[2]}, SESSION_ROUNDS,
          bench_median(longs, 100));
    return NULL;
}

gpuc_status orders_of_sessions(gpuc_runtime *rt, gpuc_device *dev)
{
    network nets[2] = {{.dev = dev, .rows = SHORT_ROWS}, {.dev = dev, .rows = LONG_ROWS}};
    rival r = {.n = &nets[1]};
    pthread_t thread;
    printf(" a session of %d rows until it is synchronized, beside one of %d on another thread\n", SHORT_ROWS,
           LONG_ROWS);
    gpuc_status status = open_network(&nets[0], rt);
    if (!status) status = open_network(&nets[1], rt);
    sem_init(&r.go, 0, 0);
    sem_init(&r.done, 0, 0);
    if (!status && pthread_create(&thread, NULL, compete, &r) == 0) {
        status = time_pair(&nets[0], &r);
        r.stop = true;
        sem_post(&r.go);
        pthread_join(thread, NULL);
    }
    close_network(&nets[0]);
    close_network(&nets[1]);
    if (status) return status;
    return r.status;
}
