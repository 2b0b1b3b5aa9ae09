/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of default schedules: which class of targets has which, and that rules ask the target for them. */
#include "../te/protect.h"

#include <string.h>

#include "autoschedule/rules.h"

static void check_classes(gpuc_ctx *ctx)
{
    static const struct {
        const char *target;
        int64_t tasks, tasks_of_core;
        double element;
    } rows[] = {
        {"vulkan", 16384, 512, 8},       {"vulkan/desktop", 16384, 512, 8},
        {"opencl", 16384, 512, 8},       {"opencl/pocl", 64, 0, 14},
        {"vulkan/llvmpipe", 128, 0, 30}, {"c", 0, 4, 8},
        {"c -mcpu=native", 0, 4, 8},     {"vulkan/llvmpipe -subgroup_shuffle=0", 16384, 512, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const gpuc_constants *c = gpuc_target_parse(ctx, rows[i].target, NULL)->constants;
        assert_int_equal(c->tile_tasks, rows[i].tasks);
        assert_int_equal(c->tile_tasks_of_core, rows[i].tasks_of_core);
        assert_true(c->winograd_element == rows[i].element);
    }
}

static void classes(void **state)
{
    (void)state;
    run_ok(check_classes);
}

/* Tools print and vary them by number. */
static void all_are_named_and_set(void **state)
{
    (void)state;
    gpuc_constants c = {0};
    for (int i = 0; i < GPUC_CONSTANT_COUNT; i++) {
        const gpuc_constant_info *info = &gpuc_target_constant_infos[i];
        assert_true(*info->name && *info->unit && *info->meaning);
        for (int k = 0; k < i; k++) assert_string_not_equal(info->name, gpuc_target_constant_infos[k].name);
        gpuc_target_constant_set(&c, (gpuc_constant_id)i, i + 1);
    }
    for (int i = 0; i < GPUC_CONSTANT_COUNT; i++)
        assert_true(gpuc_target_constant_get(&c, (gpuc_constant_id)i) == i + 1);
    assert_int_equal(c.vector_lanes, GPUC_CONSTANT_vector_lanes + 1);
    gpuc_target_constant_set(&c, GPUC_CONSTANT_tile_load, 0.25);
    assert_true(c.tile_load == 0.25);
    gpuc_target_constant_set(&c, GPUC_CONSTANT_tile_often, 31.6);
    assert_int_equal(c.tile_often, 32);
}

/* What a schedule decides by itself for a knob. */
static int64_t own(gpuc_ctx *ctx, const gpuc_target *target, gpuc_tensor *out, const char *name)
{
    gpuc_knobs knobs = {.ctx = ctx};
    gpuc_topi_schedule(ctx, target, &knobs, 1, &out);
    for (size_t i = 0; i < knobs.asked.count; i++) {
        const gpuc_asked *a = knobs.asked.at[i];
        if (!strcmp(a->name, name)) return a->own;
    }
    fail_msg("no rule asks for %s", name);
    return 0;
}

static gpuc_tensor *twice(gpuc_ctx *ctx, int64_t n)
{
    gpuc_expr dim = gpuc_int(ctx, n);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &dim, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, dim, "i");
    gpuc_expr at = gpuc_iter_var(i), x = gpuc_te_read(ctx, a, 1, &at);
    return gpuc_te_compute(ctx, "B", 1, &i, gpuc_add(ctx, x, x));
}

static gpuc_tensor *product(gpuc_ctx *ctx, int64_t m, int64_t n, int64_t k)
{
    gpuc_expr rows[] = {gpuc_int(ctx, m), gpuc_int(ctx, k)}, columns[] = {gpuc_int(ctx, k), gpuc_int(ctx, n)};
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 2, rows, GPUC_FLOAT32),
                *b = gpuc_te_placeholder(ctx, "B", 2, columns, GPUC_FLOAT32);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, rows[0], "i"), gpuc_te_axis(ctx, columns[1], "j")},
              *sum = gpuc_te_reduce_axis(ctx, rows[1], "k");
    gpuc_expr at_a[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(sum)},
              at_b[] = {gpuc_iter_var(sum), gpuc_iter_var(axes[1])};
    gpuc_expr value = gpuc_mul(ctx, gpuc_te_read(ctx, a, 2, at_a), gpuc_te_read(ctx, b, 2, at_b));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 2, axes, gpuc_te_reduce(ctx, "sum", value, 1, &sum));
    gpuc_te_set_attr(ctx, c, "tag", "matmul");
    return c;
}

static void check_rules(gpuc_ctx *ctx)
{
    gpuc_target *t = gpuc_ctx_memdup(
        ctx, gpuc_target_parse(ctx, "c -vector_bits=512 -vector_registers=32", NULL), sizeof *t);
    gpuc_constants mine = *t->constants;
    const int64_t many = 1 << 20;
    assert_int_equal(own(ctx, t, twice(ctx, many), "chunk"), t->constants->injective_chunk);
    int64_t vectors = own(ctx, t, product(ctx, 96, 256, 64), "vectors");
    assert_true(vectors > 1);
    assert_int_equal(own(ctx, t, product(ctx, 96, 256, 64), "pack_columns"), 0);
    t->constants = &mine;
    mine.injective_chunk = 512;
    assert_int_equal(own(ctx, t, twice(ctx, many), "chunk"), 512);
    mine.tile_vectors = 1;
    assert_int_equal(own(ctx, t, product(ctx, 96, 256, 64), "vectors"), 1);
    mine.tile_cached = 1024;
    assert_int_equal(own(ctx, t, product(ctx, 96, 256, 64), "pack_columns"), 1);
}

static void rules_ask_the_target(void **state)
{
    (void)state;
    run_ok(check_rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        cmocka_unit_test(all_are_named_and_set),
        cmocka_unit_test(rules_ask_the_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
