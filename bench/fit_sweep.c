/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that are not part of a model of costs: operators are built with one value after the other, and the quickest counts if
 * it gains more than noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/attrs.h>

#include "bench_ops.h"
#include "fit.h"
#include "relay/relay.h"

enum { MAX_OPS = 4, MAX_VALUES = 6 };

typedef struct sweep {
    bool lanes; /* a rule of lanes that are threads asks, else one of CPUs */
    gpuc_constant_id id;
    int64_t values[MAX_VALUES]; /* up to a 0 */
    int num_ops;
    bench_op ops[MAX_OPS];
} sweep;

static const gpuc_attrs *axis_0(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){0});
}

static const gpuc_attrs *axis_1(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){1});
}

static const gpuc_attrs *window_3(gpuc_ctx *ctx)
{
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 2, (int64_t[]){1, 1});
    a = gpuc_attrs_ints(ctx, a, "padding", 4, (int64_t[]){1, 1, 1, 1});
    return gpuc_attrs_ints(ctx, a, "dilation", 2, (int64_t[]){1, 1});
}

static gpuc_rexpr *attention(gpuc_ctx *ctx, gpuc_rexpr *const *ins)
{
    gpuc_rexpr *scores =
        gpuc_relay_op2(ctx, "nn.matmul", gpuc_attrs_int(ctx, NULL, "transpose_b", 1), ins[0], ins[1]);
    gpuc_rexpr *weights = gpuc_relay_op1(ctx, "nn.softmax", gpuc_attrs_int(ctx, NULL, "axis", -1), scores);
    return gpuc_relay_op2(ctx, "nn.matmul", NULL, weights, ins[2]);
}

#define ONE(name, at, ...)                                                                                   \
    {                                                                                                        \
        .relay = name, .attrs = at, .num_inputs = 1, .inputs = { FLOATS(__VA_ARGS__) }                       \
    }
#define PRODUCT(m, n, k)                                                                                     \
    {                                                                                                        \
        .relay = "nn.matmul", .num_inputs = 2, .inputs = { FLOATS(2, m, k), FLOATS(2, k, n) }                \
    }
#define CONV(c, o, side)                                                                                     \
    {                                                                                                        \
        .relay = "nn.conv2d", .attrs = window_3, .num_inputs = 2, .constants = 2, .inputs = {                \
            FLOATS(4, 1, c, side, side),                                                                     \
            FLOATS(4, o, c, 3, 3)                                                                            \
        }                                                                                                    \
    }
#define ATTENTION(heads, length, size)                                                                       \
    {                                                                                                        \
        .spell = attention, .num_inputs = 3, .inputs = {                                                     \
            FLOATS(4, 1, heads, length, size),                                                               \
            FLOATS(4, 1, heads, length, size),                                                               \
            FLOATS(4, 1, heads, length, size)                                                                \
        }                                                                                                    \
    }
/* Few rows are not worth packing their other operand, a small operand is not either: sizes around the constants. */
static const sweep sweeps[] = {
    {false,
     GPUC_CONSTANT_tile_cached,
     {65536, 131072, 262144, 524288, 1048576},
     4,
     {PRODUCT(96, 192, 512), PRODUCT(96, 512, 512), PRODUCT(128, 512, 128), PRODUCT(256, 1024, 256)}},
    {false,
     GPUC_CONSTANT_tile_often,
     {16, 32, 48, 64, 96},
     3,
     {PRODUCT(20, 1024, 512), PRODUCT(40, 1024, 512), PRODUCT(64, 1024, 512)}},
    {false,
     GPUC_CONSTANT_injective_chunk,
     {1024, 2048, 4096, 8192, 16384},
     2,
     {ONE("nn.relu", NULL, 1, 1 << 17), ONE("exp", NULL, 1, 1 << 20)}},
    {false,
     GPUC_CONSTANT_transpose_task,
     {2048, 4096, 8192, 16384, 32768},
     3,
     {ONE("transpose", NULL, 2, 128, 784), ONE("transpose", NULL, 2, 512, 512),
      ONE("transpose", NULL, 2, 2048, 2048)}},
    {false,
     GPUC_CONSTANT_reduce_accumulators,
     {1, 2, 4, 8},
     3,
     {ONE("sum", axis_1, 2, 64, 4096), PRODUCT(1, 1024, 1024), PRODUCT(1, 1000, 4096)}},
    {false,
     GPUC_CONSTANT_reduce_streams,
     {1, 2, 4, 8},
     4,
     {ONE("sum", axis_0, 2, 512, 1024), PRODUCT(1, 1024, 1024), PRODUCT(1, 1000, 4096),
      PRODUCT(1, 4096, 4096)}},
    {false,
     GPUC_CONSTANT_reduce_piece,
     {512, 1024, 2048, 4096, 8192},
     4,
     {ONE("sum", axis_0, 2, 64, 1 << 17), PRODUCT(1, 1024, 1024), PRODUCT(1, 1000, 4096),
      PRODUCT(1, 4096, 4096)}},
    {false,
     GPUC_CONSTANT_attention_keys,
     {16, 32, 64, 128, 256},
     2,
     {ATTENTION(4, 128, 64), ATTENTION(2, 512, 64)}},
    {false, GPUC_CONSTANT_attention_tile, {4, 6, 8, 12}, 2, {ATTENTION(4, 128, 64), ATTENTION(2, 512, 64)}},
    {true, GPUC_CONSTANT_warp_steps, {4, 8, 12, 16}, 2, {PRODUCT(256, 256, 256), PRODUCT(128, 512, 512)}},
    {true, GPUC_CONSTANT_warp_block, {4, 8, 16}, 2, {PRODUCT(256, 256, 256), PRODUCT(128, 512, 512)}},
    {true, GPUC_CONSTANT_channels_block, {2, 4, 8, 16}, 2, {CONV(64, 64, 28), CONV(128, 128, 14)}},
};

typedef struct measuring {
    fit *f;
    const sweep *s;
    int n; /* values */
    fit_trials trials;
} measuring;

/* All functions of the operator: copies belong to what is chosen. */
static void add(gpuc_ctx *ctx, measuring *m, const bench_op *op, int64_t value)
{
    gpuc_constants *constants = gpuc_ctx_memdup(ctx, &m->f->old, sizeof m->f->old);
    void *data[BENCH_INPUTS] = {NULL};
    gpuc_target_constant_set(constants, m->s->id, (double)value);
    const gpuc_target *target = fit_target(ctx, m->f, constants);
    for (int i = 0; i < op->num_inputs; i++) {
        if (!(op->constants >> i & 1)) continue;
        data[i] = gpuc_ctx_alloc(ctx, bench_bytes(&op->inputs[i]));
        bench_fill(&op->inputs[i], i, 0, data[i]);
    }
    const gpuc_graph *g = fit_graph(ctx, bench_op_module(ctx, op, data), target);
    const gpuc_graph_function *all = NULL;
    for (size_t i = 0; i < g->functions.count; i++) {
        const gpuc_graph_function *function = g->functions.at[i];
        if (!all || !strstr(function->label, "transpose")) all = function;
    }
    if (!all) gpuc_raise(ctx, GPUC_INTERNAL, "no function of %s", op->relay);
    fit_add(ctx, m->f, &m->trials, all, target, NULL);
}

/* How long value i takes, as a multiple of what value `of` does. */
static double share(const measuring *m, int i, int of, int batch)
{
    double product = 1;
    for (int k = 0; k < m->s->num_ops; k++) {
        const fit_trial *trials = m->trials.at + k * m->n;
        product *= trials[i].seconds[batch] / trials[of].seconds[batch];
    }
    return pow(product, 1.0 / m->s->num_ops);
}

/* How much longer than now value i takes at most, of the operators. */
static double worst(const measuring *m, int i, int old)
{
    double max = 0;
    for (int k = 0; k < m->s->num_ops; k++) {
        const fit_trial *trials = m->trials.at + k * m->n;
        max = fmax(max, trials[i].seconds[FIT_BATCHES] / trials[old].seconds[FIT_BATCHES]);
    }
    return max;
}

static double distance(double a, double b)
{
    return fabs(log(a / b));
}

/* The best of those that slow no operator; of what is as good, the nearest to the old one. */
static void judge(const measuring *m)
{
    const int64_t *values = m->s->values;
    double was = gpuc_target_constant_get(&m->f->old, m->s->id);
    int old = 0, best, nearest;
    int64_t min = INT64_MAX, max = 0;
    char spread[48];
    while (old + 1 < m->n && (double)values[old] != was) old++;
    best = nearest = old;
    for (int i = 0; i < m->n; i++) {
        if (m->f->verbose)
            printf("  %lld: %.3f times as long as now, %.3f at most\n", (long long)values[i],
                   share(m, i, old, FIT_BATCHES), worst(m, i, old));
        if (worst(m, i, old) <= FIT_NOISE && share(m, i, best, FIT_BATCHES) < 1) best = i;
    }
    for (int i = 0; i < m->n; i++) {
        if (worst(m, i, old) > FIT_NOISE || share(m, i, best, FIT_BATCHES) > FIT_NOISE) continue;
        if (values[i] < min) min = values[i];
        if (values[i] > max) max = values[i];
        bool near = distance((double)values[i], was) < distance((double)values[nearest], was);
        if (share(m, nearest, best, FIT_BATCHES) > FIT_NOISE || near) nearest = i;
    }
    snprintf(spread, sizeof spread, "%lld..%lld", (long long)min, (long long)max);
    fit_print(m->f, m->s->id, (double)values[nearest], spread);
}

static void measure(gpuc_ctx *ctx, void *arg)
{
    measuring *m = arg;
    while (m->n < MAX_VALUES && m->s->values[m->n]) m->n++;
    for (int k = 0; k < m->s->num_ops; k++)
        for (int i = 0; i < m->n; i++) add(ctx, m, &m->s->ops[k], m->s->values[i]);
    fit_measure(ctx, &m->trials);
    judge(m);
}

void fit_sweeps(fit *f)
{
    for (size_t i = 0; i < BENCH_COUNT(sweeps); i++) {
        gpuc_ctx *ctx;
        if (!fit_wants(f, sweeps[i].id) || sweeps[i].lanes != f->lanes) continue;
        measuring *m = calloc(1, sizeof *m);
        gpuc_status status = m ? gpuc_ctx_create(NULL, &ctx) : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        if (!status) {
            *m = (measuring){.f = f, .s = &sweeps[i]};
            status = gpuc_ctx_protect(ctx, measure, m);
            fit_close(&m->trials);
            gpuc_ctx_destroy(ctx);
        }
        if (status)
            printf("%-28s %s\n", gpuc_target_constant_infos[sweeps[i].id].name, gpuc_status_message(status));
        gpuc_status_release(status);
        free(m);
    }
}
