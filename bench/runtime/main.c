/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-bench-runtime: what a launch costs, beside the calls of the driver that do the same: appending one, and a chain
 * of 1000 of an almost empty kernel, each behind a barrier. Host seconds are the fastest of many chains. Then what
 * one of two waits for (orders.c), networks in an application (record.c, image.c), and copies (transfers.c). Arguments
 * choose: launches, orders, network, images, transfers. Runs in the root of the sources. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "launches.h"
#include "runtime_vulkan/testing.h"

enum { CHAIN = 1000, ROUNDS = 40, N = 1 };

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The kernel ---- */

typedef struct making {
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_module *module;
} making;

static void make(gpuc_ctx *ctx, void *arg)
{
    making *m = arg;
    static const char *const targets[] = {
        [GPUC_DEVICE_CPU] = "c", [GPUC_DEVICE_OPENCL] = "opencl", [GPUC_DEVICE_VULKAN] = "vulkan"};
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_expr sum = gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, sum);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    if (m->dev->type != GPUC_DEVICE_CPU) {
        gpuc_stage *st = gpuc_schedule_stage(s, c);
        gpuc_iter *bx, *tx;
        gpuc_stage_split(st, gpuc_stage_axis(st, 0), 64, &bx, &tx);
        gpuc_stage_bind(st, bx, "blockIdx.x");
        gpuc_stage_bind(st, tx, "threadIdx.x");
    }
    gpuc_library *lib = gpuc_library_create(ctx);
    gpuc_library_add(lib, gpuc_target_parse(ctx, targets[m->dev->type], NULL),
                     gpuc_schedule_lower(s, "add", 3, (gpuc_tensor *[]){a, b, c}));
    m->module = gpuc_library_load(lib, m->rt, m->dev);
}

static gpuc_status prepare(launches *l, gpuc_runtime *rt, gpuc_device *dev, gpuc_module **out)
{
    making m = {.rt = rt, .dev = dev};
    gpuc_ctx *ctx;
    *out = NULL;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, make, &m);
    gpuc_ctx_destroy(ctx);
    GPUC_TRY(status);
    *out = m.module;
    *l = (launches){.dev = dev, .library = gpuc_module_state(m.module), .scalars = {N}};
    GPUC_TRY(gpuc_module_get_function(m.module, "add", &l->function));
    for (uint32_t i = 0; i < 3; i++) {
        GPUC_TRY(gpuc_ndarray_create(rt, dev, GPUC_FLOAT32, 1, (int64_t[]){N}, &l->arrays[i]));
        l->slots[i] = gpuc_ndarray_binding(l->arrays[i]);
        l->tensors[i] = (gpuc_step_tensor){.slot = i, .access = i == 2 ? 2 : 1, .size = l->slots[i].size};
    }
    l->step = (gpuc_step){.num_tensors = 3, .num_scalars = 1, .tensors = l->tensors, .scalars = l->scalars};
    uint32_t kernel = l->library->program->entries[0].steps[0].kernel;
    return gpuc_loader_launch(&l->library->code, kernel, &l->step, &kernel);
}

/* ---- Chains ---- */

typedef struct times {
    double append, chain; /* seconds of a chain until it is appended, until it is done; the least of all */
} times;

static void note(times *t, double append, double chain)
{
    if (t->append == 0 || append < t->append) t->append = append;
    if (t->chain == 0 || chain < t->chain) t->chain = chain;
}

static gpuc_status chain_bare(const bare *b, void *self, times *t)
{
    double from = bench_now();
    GPUC_TRY(b->begin(self));
    GPUC_TRY(b->append(self, CHAIN));
    double appended = bench_now();
    GPUC_TRY(b->submit(self));
    GPUC_TRY(b->wait(self));
    note(t, appended - from, bench_now() - from);
    return NULL;
}

static gpuc_status append(launches *l, gpuc_stream *s, bool packed)
{
    const gpuc_value n = {.kind = GPUC_VALUE_INT, .as.i = N};
    const gpuc_bindings bindings = {.slots = l->slots, .count = 3};
    for (int i = 0; i < CHAIN; i++)
        GPUC_TRY(packed ? gpuc_launch(s, l->function, l->arrays, 3, &n, 1)
                        : l->dev->api->launch(l->dev, s, &l->step, &bindings));
    return NULL;
}

static gpuc_status chain(launches *l, gpuc_stream *s, bool packed, times *t)
{
    gpuc_ticket ticket;
    double from = bench_now();
    GPUC_TRY(append(l, s, packed));
    double appended = bench_now();
    GPUC_TRY(gpuc_stream_signal(s, &ticket));
    GPUC_TRY(gpuc_ticket_wait(ticket, GPUC_FOREVER));
    note(t, appended - from, bench_now() - from);
    return NULL;
}

static void row(const char *name, times t, const times *driver)
{
    printf("  %-22s %9.3f us", name, 1e6 * t.append / CHAIN);
    if (driver)
        printf(" (%+7.3f)", 1e6 * (t.append - driver->append) / CHAIN);
    else
        printf("          ");
    printf(" %9.3f ms", 1e3 * t.chain);
    if (driver) printf(" (%.2f)", t.chain / driver->chain);
    puts("");
}

static gpuc_status measure(launches *l, const bare *b)
{
    void *self;
    gpuc_stream *s;
    times driver = {0}, launch = {0}, packed = {0};
    GPUC_TRY(b->open(l, &self));
    gpuc_status status = gpuc_stream_create(l->dev, &s);
    for (int i = 0; i < ROUNDS && !status; i++) { /* in turn, so that what disturbs disturbs all */
        status = chain_bare(b, self, &driver);
        if (!status) status = chain(l, s, false, &launch);
        if (!status) status = chain(l, s, true, &packed);
    }
    b->close(self);
    if (status) {
        gpuc_stream_release(s);
        return status;
    }
    printf(" a launch appended, a chain of %d\n", CHAIN);
    row("driver", driver, NULL);
    row("launch of the table", launch, &driver);
    row("gpuc_launch", packed, &driver);
    gpuc_stream_release(s);
    return NULL;
}

/* What to measure: all, if nothing is named. */
static int num_parts;
static char **parts;

static bool asked(const char *part)
{
    for (int i = 0; i < num_parts; i++)
        if (!strcmp(parts[i], part)) return true;
    return !num_parts;
}

static gpuc_status run(gpuc_device_type type, const bare *b, bool push, const char *name)
{
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_module *module = NULL;
    launches l = {0};
    GPUC_TRY(gpuc_runtime_create(NULL, &rt));
    gpuc_status status = gpuc_devices_register(rt);
    if (!status) status = gpuc_device_open(rt, type, 0, &dev);
    if (!status && !push) gpuc_vk_set_push_descriptors(dev, false);
    if (!status) status = prepare(&l, rt, dev, &module);
    bool vulkan = type == GPUC_DEVICE_VULKAN;
    if (!status) printf("%s\n", name);
    if (!status && asked("launches")) status = measure(&l, b);
    if (!status && asked("orders")) status = orders_of_chains(&l, b);
    if (!status && vulkan && asked("network")) status = frames_of_network(&l, b);
    if (!status && vulkan && push && asked("images")) status = images_of_network(dev);
    if (!status && push && asked("transfers")) status = transfers_of_arrays(rt, dev);
    if (!status && push && asked("orders")) status = orders_of_sessions(rt, dev);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(l.arrays[i]);
    gpuc_function_release(l.function);
    gpuc_module_release(module);
    gpuc_runtime_release(rt);
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        gpuc_device_type type;
        const bare *bare;
        bool push;
        const char *name;
    } rows[] = {
        {GPUC_DEVICE_VULKAN, &bare_vulkan, true, "vulkan"},
        {GPUC_DEVICE_VULKAN, &bare_vulkan, false, "vulkan, without push descriptors"},
        {GPUC_DEVICE_OPENCL, &bare_opencl, true, "opencl"},
        {GPUC_DEVICE_CPU, &bare_cpu, true, "cpu"},
    };
    num_parts = argc - 1;
    parts = argv + 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_status status = run(rows[i].type, rows[i].bare, rows[i].push, rows[i].name);
        if (status) printf("%s: %s\n", rows[i].name, gpuc_status_message(status));
        gpuc_status_release(status);
    }
    return 0;
}
