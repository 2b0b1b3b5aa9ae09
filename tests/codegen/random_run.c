/* SPDX-License-Identifier: Apache-2.0 */
#include "random_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "te/te.h"

/* Arrays stand in one buffer, as kernels may see several through one binding, between margins that must stay
 * as they were. */
enum { MARGIN = 256, PATTERN = 0xA5, MAX_WORKSPACE = 16 << 20 };

typedef struct batch {
    random_item *const *items;
    int n;
    gpuc_linked linked;
    gpuc_code_module **modules;
    int num_modules;
} batch;

static void ok(gpuc_ctx *ctx, gpuc_status s)
{
    if (s) gpuc_ctx_raise_status(ctx, s);
}

/* ---- What runs when the process dies ---------------------------------------------------------------- */

static const char *volatile running = "nothing";

static void say_who(int number)
{
    ssize_t ignored = write(2, "crash while running ", 20);
    ignored = write(2, running, strlen(running));
    ignored = write(2, "\n", 1);
    (void)ignored;
    raise(number);
}

static void watch_crashes(void)
{
#ifndef GPUC_SANITIZED
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = say_who, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
#else
    (void)say_who;
#endif
}

/* ---- One item --------------------------------------------------------------------------------------- */

typedef struct slot {
    const void *data;          /* that it begins with, or NULL */
    size_t offset, size, room; /* room: what kernels may touch */
} slot;

typedef struct item_run {
    const batch *b;
    random_item *item;
    int first; /* kernel of the program */
    slot *slots;
    int num_slots;
    size_t size; /* of the buffer */
    uint8_t *image;
    gpuc_buffer *buffer;
    gpuc_plan *plan;
} item_run;

static void read_scalars(const random_item *it, int64_t *scalars)
{
    const expr_graph *g = &it->r.graph;
    for (int i = 0; i < it->scheduled->num_scalars; i++)
        for (int k = 0; k < g->num_symbols; k++)
            if (it->scheduled->scalars[i] == g->symbols[k]) scalars[i] = g->values[k];
}

static size_t workspace_bytes(const random_item *it, const gpuc_tir_buffer *b, const int64_t *scalars)
{
    gpuc_ctx *ctx = it->ctx;
    const gpuc_tir_func *f = it->scheduled;
    gpuc_expr with[EXPR_MAX_SYMBOLS];
    int64_t n = -1;
    for (int i = 0; i < f->num_scalars; i++) with[i] = gpuc_imm_int(ctx, f->scalars[i]->dtype, scalars[i]);
    gpuc_expr size = gpuc_tir_substitute(ctx, b->shape[0], f->num_scalars, f->scalars, with);
    if (!gpuc_expr_is_int(size, &n) || n < 0 || n > MAX_WORKSPACE)
        gpuc_raise(ctx, GPUC_INTERNAL, "workspace '%s' has %s elements", b->name, gpuc_expr_text(ctx, size));
    return (size_t)n * gpuc_dtype_bytes(b->dtype);
}

static void add_slot(item_run *run, const void *data, size_t size)
{
    slot *s = &run->slots[run->num_slots++];
    *s = (slot){.data = data, .offset = run->size, .size = size, .room = size ? (size + 15) / 16 * 16 : 16};
    run->size += (s->room + 2 * MARGIN - 1) / MARGIN * MARGIN;
}

static void upload(gpuc_ctx *ctx, item_run *run)
{
    gpuc_device *dev = run_device();
    run->image = gpuc_ctx_alloc(ctx, run->size);
    memset(run->image, PATTERN, run->size);
    for (int i = 0; i < run->num_slots; i++)
        if (run->slots[i].data)
            memcpy(run->image + run->slots[i].offset, run->slots[i].data, run->slots[i].size);
    ok(ctx, dev->api->alloc_data_space(dev, run->size, MARGIN, &run->buffer));
    gpuc_copy_end from = {.host = run->image}, to = {.buffer = run->buffer};
    ok(ctx, dev->api->copy_data_from_to(dev, from, to, run->size, NULL));
}

static void make_step(gpuc_ctx *ctx, const item_run *run, int i, const int64_t *scalars, gpuc_step *step)
{
    gpuc_device *dev = run_device();
    const random_item *it = run->item;
    const gpuc_kernel *k = &it->code[i].meta;
    const gpuc_tir_kernel_args *args = &it->program->args[i];
    gpuc_step_tensor *tensors = gpuc_new_array(ctx, gpuc_step_tensor, k->num_tensors);
    int64_t *own = gpuc_new_array(ctx, int64_t, k->num_scalars);
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        uint32_t at = (uint32_t)args->buffers[t];
        tensors[t] =
            (gpuc_step_tensor){.slot = at, .access = k->tensors[t].access, .size = run->slots[at].room};
    }
    for (uint32_t v = 0; v < k->num_scalars; v++) own[v] = scalars[args->scalars[v]];
    *step = (gpuc_step){.module = run->b->modules[run->b->linked.kernel_module[run->first + i]],
                        .num_tensors = k->num_tensors,
                        .num_scalars = k->num_scalars,
                        .tensors = tensors,
                        .scalars = own};
    ok(ctx, dev->api->kernel_get(step->module, k->name, &step->kernel));
    for (int d = 0; d < 3; d++) {
        int64_t groups;
        ok(ctx, gpuc_abi_xexpr_eval(k->launch[d], own, k->num_scalars, &groups));
        step->launch[d] = groups > 0 ? (uint32_t)groups : 0;
    }
}

static void launch(gpuc_ctx *ctx, item_run *run, const int64_t *scalars)
{
    gpuc_device *dev = run_device();
    int n = run->item->program->num_kernels;
    gpuc_step *steps = gpuc_new_array(ctx, gpuc_step, n);
    gpuc_binding *bound = gpuc_new_array(ctx, gpuc_binding, run->num_slots);
    for (int i = 0; i < n; i++) make_step(ctx, run, i, scalars, &steps[i]);
    for (int i = 0; i < run->num_slots; i++)
        bound[i] = (gpuc_binding){run->buffer, run->slots[i].offset, run->slots[i].room};
    gpuc_bindings bindings = {.slots = bound, .count = (uint32_t)run->num_slots};
    ok(ctx, dev->api->plan_create(dev, steps, (uint32_t)n, 0, &run->plan));
    ok(ctx, dev->api->plan_run(run->plan, &bindings, NULL));
    ok(ctx, dev->api->stream_sync(dev, NULL));
}

static void check_margins(gpuc_ctx *ctx, const item_run *run)
{
    for (int i = 0; i <= run->num_slots; i++) {
        const slot *s = i > 0 ? &run->slots[i - 1] : NULL;
        size_t end = i < run->num_slots ? run->slots[i].offset : run->size;
        for (size_t at = s ? s->offset + s->size : 0; at < end; at++)
            if (run->image[at] != PATTERN)
                gpuc_raise(ctx, GPUC_INTERNAL,
                           "a byte outside of arrays was written, near the end of array %d", i - 1);
    }
}

static void run_body(gpuc_ctx *ctx, void *arg)
{
    item_run *run = arg;
    const random_item *it = run->item;
    const expr_graph *g = &it->r.graph;
    gpuc_device *dev = run_device();
    int64_t scalars[EXPR_MAX_SYMBOLS] = {0};
    data_set got;
    data_fill(g, 1, &got);
    read_scalars(it, scalars);
    run->size = MARGIN;
    run->slots = gpuc_new_array(ctx, slot, g->num_args + it->program->num_workspaces);
    for (int i = 0; i < g->num_args; i++) add_slot(run, got.args[i].data, got.args[i].size);
    for (int i = 0; i < it->program->num_workspaces; i++)
        add_slot(run, NULL, workspace_bytes(it, it->program->workspaces[i], scalars));
    upload(ctx, run);
    launch(ctx, run, scalars);
    gpuc_copy_end from = {.buffer = run->buffer}, to = {.host = run->image};
    ok(ctx, dev->api->copy_data_from_to(dev, from, to, run->size, NULL));
    check_margins(ctx, run);
    for (int i = 0; i < g->num_args; i++)
        memcpy(got.args[i].data, run->image + run->slots[i].offset, run->slots[i].size);
    for (int i = 0; i < g->num_args - g->num_outputs; i++)
        if (memcmp(got.args[i].data, it->want.args[i].data, got.args[i].size))
            gpuc_raise(ctx, GPUC_INTERNAL, "input '%s' was written", g->args[i]->name);
    data_compare(g, &got, &it->want);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void run_item(const batch *b, random_item *it, int first)
{
    gpuc_device *dev = run_device();
    item_run run = {.b = b, .item = it, .first = first};
    running = it->r.name;
    it->ms = -now_ms();
    it->result = gpuc_ctx_protect(it->ctx, run_body, &run);
    if (run.plan) dev->api->plan_destroy(run.plan);
    if (run.buffer) dev->api->free_data_space(dev, run.buffer);
    it->ms += now_ms();
    running = "nothing";
}

/* ---- All -------------------------------------------------------------------------------------------- */

static void batch_body(gpuc_ctx *ctx, void *arg)
{
    batch *b = arg;
    const gpuc_target *t = run_target(ctx);
    gpuc_device *dev = run_device();
    int n = 0, count = 0;
    for (int i = 0; i < b->n; i++) n += b->items[i]->program->num_kernels;
    gpuc_kernel_code *all = gpuc_new_array(ctx, gpuc_kernel_code, n);
    const gpuc_kernel **mine = gpuc_new_array(ctx, const gpuc_kernel *, n);
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < b->items[i]->program->num_kernels; k++) all[count++] = b->items[i]->code[k];
    gpuc_codegen_get(ctx, t)->link(ctx, t, n, all, &b->linked);
    b->modules = gpuc_new_array(ctx, gpuc_code_module *, b->linked.num_modules);
    for (int m = 0; m < b->linked.num_modules; m++) {
        const gpuc_module_blob *blob = &b->linked.modules[m];
        uint32_t in_module = 0;
        for (int k = 0; k < n; k++)
            if (b->linked.kernel_module[k] == (uint32_t)m) mine[in_module++] = &all[k].meta;
        ok(ctx, dev->api->module_load(dev, blob->type_key, blob->bytes, blob->size, mine, in_module,
                                      &b->modules[m]));
        b->num_modules++;
    }
    int first = 0;
    for (int i = 0; i < b->n; i++) {
        run_item(b, b->items[i], first);
        first += b->items[i]->program->num_kernels;
    }
}

void random_run(random_item *const *items, int n)
{
    gpuc_device *dev = run_device();
    batch b = {.items = items, .n = n};
    gpuc_ctx *ctx;
    watch_crashes();
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    gpuc_status s = gpuc_ctx_protect(ctx, batch_body, &b);
    for (int m = 0; m < b.num_modules; m++) dev->api->module_release(dev, b.modules[m]);
    gpuc_ctx_destroy(ctx);
    if (!s) return;
    if (n == 1) {
        items[0]->result = s;
        return;
    }
    gpuc_status_release(s);
    for (int i = 0; i < n; i++) random_run(&items[i], 1);
}
