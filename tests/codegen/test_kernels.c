/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "codegen/lanes.h"
#include "lower/lower.h"
#include "run.h"
#include "base/element.h"

static uint64_t seed = 1;

static uint32_t random_word(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

static void fill(gpuc_dtype t, void *data, size_t size)
{
    size_t each = gpuc_dtype_bytes(t);
    for (size_t i = 0; i * each < size; i++) {
        uint8_t *p = (uint8_t *)data + i * each;
        double x = (float)(int32_t)(random_word() % 4001) / 500.0f - 4.0f;
        uint64_t word = (uint64_t)random_word() << 32 | random_word();
        if (gpuc_is_bool(t)) word &= 1;
        if (gpuc_is_float(t)) word = gpuc_float_bits(t, x);
        memcpy(p, &word, each);
    }
}

static size_t buffer_bytes(gpuc_ctx *ctx, const gpuc_tir_buffer *b)
{
    return (size_t)gpuc_codegen_elements(ctx, b) * gpuc_dtype_bytes(b->dtype);
}

static double value_at(gpuc_dtype t, const uint8_t *p)
{
    float f;
    double d;
    uint16_t h;
    memcpy(&h, p, 2);
    if (t.bits == 16) return gpuc_float_value(t, h);
    if (t.bits == 64) {
        memcpy(&d, p, 8);
        return d;
    }
    memcpy(&f, p, 4);
    return f;
}

static void compare(const gpuc_tir_buffer *b, const run_buffer *got, const gpuc_tir_arg *want)
{
    size_t each = gpuc_dtype_bytes(b->dtype);
    for (size_t i = 0; i * each < got->size; i++) {
        const uint8_t *x = (const uint8_t *)got->data + i * each, *y = (const uint8_t *)want->data + i * each;
        if (memcmp(x, y, each) == 0) continue;
        if (!gpuc_is_float(b->dtype)) fail_msg("%s[%zu] differs", b->name, i);
        double u = value_at(b->dtype, x), v = value_at(b->dtype, y);
        double rel = b->dtype.bits == 16 ? 2e-3 : 2e-5;
        if (!(fabs(u - v) <= rel * fmax(1, fabs(v)))) fail_msg("%s[%zu] is %.9g, not %.9g", b->name, i, u, v);
    }
}

typedef struct try_arg {
    const kernel_text *k;
    bool ran;
} try_arg;

static const gpuc_tir_func *lower_for_target(gpuc_ctx *ctx, const gpuc_tir_func *f, const kernel_text *k,
                                             gpuc_tir_program **out)
{
    *out = NULL;
    if (k->flags & RAW) return f;
    *out = gpuc_lower(ctx, f, run_target(ctx));
    return (*out)->num_kernels == 1 ? (*out)->kernels[0] : NULL;
}

static void run_program(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_program *p,
                        const kernel_text *k, const run_buffer *data)
{
    for (int i = 0; i < (p ? p->num_kernels : 1); i++) {
        const gpuc_tir_func *kernel = p ? p->kernels[i] : f;
        run_buffer *own = gpuc_new_array(ctx, run_buffer, kernel->num_buffers);
        int64_t *scalars = gpuc_new_array(ctx, int64_t, kernel->num_scalars);
        for (int j = 0; j < kernel->num_buffers; j++) own[j] = data[p ? p->args[i].buffers[j] : j];
        for (int j = 0; j < kernel->num_scalars; j++) scalars[j] = k->scalars[p ? p->args[i].scalars[j] : j];
        run_kernel(ctx, kernel, own, scalars);
    }
}

static void try_kernel(gpuc_ctx *ctx, void *arg)
{
    try_arg *a = arg;
    const gpuc_tir_func *f = gpuc_tir_parse(ctx, a->k->text, a->k->about);
    const gpuc_target *t = run_target(ctx);
    a->ran = !(a->k->flags & WITH_SUBGROUPS && t->thread_warp_size != f->subgroup_size) &&
             !(a->k->flags & WITH_INT64 && !t->int64);
    if (!a->ran || f->num_buffers > t->max_storage_buffers) return;
    gpuc_tir_program *p;
    lower_for_target(ctx, f, a->k, &p);
    gpuc_tir_arg *want = gpuc_new_array(ctx, gpuc_tir_arg, f->num_buffers);
    run_buffer *got = gpuc_new_array(ctx, run_buffer, f->num_buffers);
    seed = 1;
    for (int i = 0; i < f->num_buffers; i++) {
        size_t size = buffer_bytes(ctx, f->buffers[i]);
        want[i] = (gpuc_tir_arg){gpuc_ctx_alloc(ctx, size + 16), size};
        got[i] = (run_buffer){gpuc_ctx_alloc(ctx, size + 16), size};
        fill(f->buffers[i]->dtype, want[i].data, size);
        memcpy(got[i].data, want[i].data, size);
    }
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, want, a->k->scalars, true));
    run_program(ctx, f, p, a->k, got);
    for (int i = 0; i < f->num_buffers; i++) compare(f->buffers[i], &got[i], &want[i]);
}

static void kernels_do_what_the_evaluator_does(void **state)
{
    (void)state;
    int bit = run_device_type() == GPUC_DEVICE_CPU      ? ON_C
              : run_device_type() == GPUC_DEVICE_OPENCL ? ON_OPENCL
                                                        : ON_VULKAN;
    int count = 0;
    for (int i = 0; i < num_kernel_texts; i++) {
        if (!(kernel_texts[i].flags & bit)) continue;
        try_arg a = {.k = &kernel_texts[i]};
        print_message("  %s\n", a.k->about);
        run_in_ctx(try_kernel, &a);
        count += a.ran;
    }
    print_message("cases: %d (kernels on %s)\n", count, run_target_text);
    assert_true(count > 20);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_do_what_the_evaluator_does)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
