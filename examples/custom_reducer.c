/* SPDX-License-Identifier: Apache-2.0 */
/* Reducers of one's own, of several values at once: the largest element of each row with a label that belongs to it, and
 * count, mean and sum of squared distances (Welford's), from which variances follow in one pass. On a GPU 32 threads reduce
 * a row together. Prints the loops, then runs them on each device that is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpuc/build.h>
#include <gpuc/devices.h>

enum { ROWS = 37, COLUMNS = 301, THREADS = 32, NUM_ARGS = 7 };

typedef struct job {
    gpuc_runtime *rt;
    gpuc_device *device;
    const char *target;
    bool print;
    gpuc_module *module; /* out */
} job;

static gpuc_expr real(gpuc_ctx *ctx, double v)
{
    return gpuc_imm(ctx, GPUC_FLOAT32, v);
}

/* Of equal values the one with the smaller label: then the order does not matter. */
static const gpuc_tir_reducer *largest(gpuc_ctx *ctx)
{
    const gpuc_expr l[] = {gpuc_var(ctx, "lv", GPUC_FLOAT32), gpuc_var(ctx, "ll", GPUC_INT32)},
                    r[] = {gpuc_var(ctx, "rv", GPUC_FLOAT32), gpuc_var(ctx, "rl", GPUC_INT32)};
    gpuc_expr first = gpuc_and(ctx, gpuc_eq(ctx, l[0], r[0]), gpuc_le(ctx, l[1], r[1]));
    gpuc_expr left = gpuc_or(ctx, gpuc_gt(ctx, l[0], r[0]), first);
    const gpuc_expr result[] = {gpuc_select(ctx, left, l[0], r[0]), gpuc_select(ctx, left, l[1], r[1])};
    const gpuc_expr identity[] = {real(ctx, -INFINITY), gpuc_imm_int(ctx, GPUC_INT32, INT32_MAX)};
    return gpuc_te_comm_reducer(ctx, "largest", 2, l, r, result, identity);
}

/* (count, mean, sum of squared distances from the mean) */
static const gpuc_tir_reducer *welford(gpuc_ctx *ctx)
{
    static const char *const names[2][3] = {{"ln", "lm", "ls"}, {"rn", "rm", "rs"}};
    gpuc_expr l[3], r[3];
    for (int i = 0; i < 3; i++) {
        l[i] = gpuc_var(ctx, names[0][i], GPUC_FLOAT32);
        r[i] = gpuc_var(ctx, names[1][i], GPUC_FLOAT32);
    }
    gpuc_expr n = gpuc_add(ctx, l[0], r[0]), some = gpuc_max(ctx, n, real(ctx, 1)),
              d = gpuc_sub(ctx, r[1], l[1]);
    gpuc_expr share = gpuc_div(ctx, r[0], some);
    gpuc_expr between = gpuc_mul(ctx, gpuc_mul(ctx, d, d), gpuc_mul(ctx, l[0], share));
    const gpuc_expr result[] = {n, gpuc_add(ctx, l[1], gpuc_mul(ctx, d, share)),
                                gpuc_add(ctx, gpuc_add(ctx, l[2], r[2]), between)};
    const gpuc_expr identity[] = {real(ctx, 0), real(ctx, 0), real(ctx, 0)};
    return gpuc_te_comm_reducer(ctx, "welford", 3, l, r, result, identity);
}

/* values of each element of the rows, joined: outs gets as many tensors as the reducer has values. */
static void reduce_rows(gpuc_ctx *ctx, const char *name, gpuc_tensor *x, gpuc_tensor *labels,
                        gpuc_tensor **outs)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_te_shape(x)[0], "i"),
              *k = gpuc_te_reduce_axis(ctx, gpuc_te_shape(x)[1], "k");
    const gpuc_expr at[] = {gpuc_iter_var(i), gpuc_iter_var(k)};
    gpuc_expr v = gpuc_te_read(ctx, x, 2, at), bodies[3];
    const gpuc_expr labelled[] = {v, labels ? gpuc_te_read(ctx, labels, 1, &at[1]) : NULL},
                    counted[] = {real(ctx, 1), v, real(ctx, 0)};
    gpuc_te_reduce_n(ctx, labels ? largest(ctx) : welford(ctx), labels ? labelled : counted, 1, &k, NULL,
                     bodies);
    gpuc_te_compute_n(ctx, name, 1, &i, labels ? 2 : 3, bodies, outs);
}

static void share_rows(gpuc_stage *stage)
{
    gpuc_iter *part, *thread;
    gpuc_stage_split(stage, gpuc_stage_reduce_axis(stage, 0), THREADS, &part, &thread);
    gpuc_stage_bind(stage, gpuc_stage_axis(stage, 0), "blockIdx.x");
    gpuc_stage_bind(stage, thread, "threadIdx.x");
}

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const gpuc_expr shape[] = {gpuc_int(ctx, ROWS), gpuc_int(ctx, COLUMNS)};
    gpuc_tensor *args[NUM_ARGS] = {gpuc_te_placeholder(ctx, "X", 2, shape, GPUC_FLOAT32),
                                   gpuc_te_placeholder(ctx, "labels", 1, &shape[1], GPUC_INT32)};
    reduce_rows(ctx, "largest", args[0], args[1], &args[2]);
    reduce_rows(ctx, "moments", args[0], NULL, &args[4]);
    const gpuc_target *target = gpuc_target_parse(ctx, j->target, NULL);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 2, (gpuc_tensor *[]){args[2], args[4]});
    if (gpuc_target_device_type(target) != GPUC_DEVICE_CPU) {
        share_rows(gpuc_schedule_stage(s, args[2]));
        share_rows(gpuc_schedule_stage(s, args[4]));
    }
    if (j->print) printf("%s\n", gpuc_schedule_text(s));
    gpuc_tir_func *func = gpuc_schedule_lower(s, "rows", NUM_ARGS, args);
    j->module = gpuc_build_func(ctx, j->rt, j->device, target, func);
}

typedef struct data {
    float x[ROWS][COLUMNS], largest[ROWS], count[ROWS], mean[ROWS], squares[ROWS];
    int32_t labels[COLUMNS], label[ROWS];
} data;

/* Rows with a wrong result. */
static int count_wrong(const data *d)
{
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        int best = 0;
        double mean = 0, squares = 0;
        for (int k = 0; k < COLUMNS; k++) {
            float v = d->x[i][k], top = d->x[i][best];
            if (v > top || (v == top && d->labels[k] < d->labels[best])) best = k;
            mean += v / (double)COLUMNS;
        }
        for (int k = 0; k < COLUMNS; k++) squares += (d->x[i][k] - mean) * (d->x[i][k] - mean);
        wrong += d->largest[i] != d->x[i][best] || d->label[i] != d->labels[best] || d->count[i] != COLUMNS ||
                 !(fabs(d->mean[i] - mean) < 1e-3) || !(fabs(d->squares[i] - squares) < 1e-4 * squares);
    }
    return wrong;
}

static gpuc_status run(const job *j, int *out_wrong)
{
    static data d;
    static const int64_t dims[] = {ROWS, COLUMNS};
    const gpuc_dtype types[NUM_ARGS] = {GPUC_FLOAT32, GPUC_INT32,   GPUC_FLOAT32, GPUC_INT32,
                                        GPUC_FLOAT32, GPUC_FLOAT32, GPUC_FLOAT32};
    void *const host[NUM_ARGS] = {d.x, d.labels, d.largest, d.label, d.count, d.mean, d.squares};
    gpuc_ndarray *arrays[NUM_ARGS] = {0};
    gpuc_value args[NUM_ARGS];
    gpuc_function *f = NULL;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        d.x[i / COLUMNS][i % COLUMNS] = 100 + (float)(i * 29 % 1009 % 97) / 8;
    for (int k = 0; k < COLUMNS; k++) d.labels[k] = 1000 + k * 71 % COLUMNS;
    gpuc_status status = gpuc_module_get_function(j->module, "rows", &f);
    for (int i = 0; i < NUM_ARGS && !status; i++) {
        int ndim = i == 0 ? 2 : 1;
        status = gpuc_ndarray_create(j->rt, j->device, types[i], ndim, i == 1 ? dims + 1 : dims, &arrays[i]);
        if (!status && i < 2) status = gpuc_ndarray_write(arrays[i], host[i], gpuc_ndarray_bytes(arrays[i]));
        if (!status) args[i] = gpuc_arg(arrays[i]);
    }
    if (!status) status = gpuc_function_call(f, args, NUM_ARGS, NULL);
    for (int i = 2; i < NUM_ARGS && !status; i++)
        status = gpuc_ndarray_read(arrays[i], host[i], gpuc_ndarray_bytes(arrays[i]));
    for (int i = 0; i < NUM_ARGS; i++) gpuc_ndarray_release(arrays[i]);
    gpuc_function_release(f);
    *out_wrong = status ? 0 : count_wrong(&d);
    return status;
}

/* 1 if the device reduced, 0 if there is no such device, -1 on an error. */
static int run_on(gpuc_ctx *ctx, job j, gpuc_device_type type)
{
    int wrong = 0;
    gpuc_status status = gpuc_device_open(j.rt, type, 0, &j.device);
    if (status) {
        printf("%-7s not here: %s\n", j.target, gpuc_status_message(status));
        gpuc_status_release(status);
        return 0;
    }
    status = gpuc_ctx_protect(ctx, compile, &j);
    if (!status) status = run(&j, &wrong);
    gpuc_module_release(j.module);
    if (status)
        printf("%-7s failed: %s\n", j.target, gpuc_status_message(status));
    else
        printf("%-7s %d of %d rows are right\n", j.target, ROWS - wrong, ROWS);
    int result = status || wrong ? -1 : 1;
    gpuc_status_release(status);
    return result;
}

int main(void)
{
    gpuc_ctx *ctx = NULL;
    gpuc_runtime *rt = NULL;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &rt);
    if (!status) status = gpuc_devices_register(rt);
    if (status) {
        fprintf(stderr, "%s\n", gpuc_status_message(status));
        return 1;
    }
    const int results[] = {
        run_on(ctx, (job){.rt = rt, .target = "vulkan", .print = true}, GPUC_DEVICE_VULKAN),
        run_on(ctx, (job){.rt = rt, .target = "opencl"}, GPUC_DEVICE_OPENCL),
        run_on(ctx, (job){.rt = rt, .target = "c"}, GPUC_DEVICE_CPU),
    };
    gpuc_runtime_release(rt);
    gpuc_ctx_destroy(ctx);
    for (int i = 0; i < 3; i++)
        if (results[i] < 0) return 1;
    return results[2] ? 0 : 1; /* the CPU is always there */
}
