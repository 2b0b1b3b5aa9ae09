/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of targets that a program registers: passes lower for their language, and code without a generator is an
 * error that names the kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <gpuc/build.h>
#include <gpuc/ir.h>
#include <gpuc/lower.h>

static const gpuc_target_attr_row attrs[] = {{"max_num_threads", GPUC_TARGET_INT, .i = 64},
                                             {"max_threads_x", GPUC_TARGET_INT, .i = 64},
                                             {"vector_bits", GPUC_TARGET_INT, .i = 256},
                                             {"int64", GPUC_TARGET_BOOL, .i = 1},
                                             {0}};
static const gpuc_target_kind_row kinds[] = {
    {.name = "little", .device = "foo"},
    {.name = "loops",
     .device = "foo",
     .attrs = attrs,
     .language = {.functions = true, .c99_math = true, .max_lanes = 8}},
    {.name = "groups", .device = "foo", .attrs = attrs, .language = {.work_groups = true, .max_lanes = 4}},
};

typedef struct job {
    const char *text; /* of the target */
    int num_kernels, num_threads;
    bool build;
} job;

/* C = A + B by 32. */
static gpuc_tir_func *vector_add(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *bx, *tx;
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_tensor *c = gpuc_te_compute(
        ctx, "C", 1, &i, gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage *st = gpuc_schedule_stage(s, c);
    gpuc_stage_split(st, gpuc_stage_axis(st, 0), 32, &bx, &tx);
    gpuc_stage_bind(st, bx, "blockIdx.x");
    gpuc_stage_bind(st, tx, "threadIdx.x");
    return gpuc_schedule_lower(s, "vector_add", 3, (gpuc_tensor *[]){a, b, c});
}

static void run(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const gpuc_tir_func *const *kernels;
    const gpuc_target *t = gpuc_target_parse(ctx, j->text, NULL);
    gpuc_tir_func *f = vector_add(ctx);
    if (j->build) {
        gpuc_build_source(ctx, t, f);
        return;
    }
    j->num_kernels = gpuc_lower_passes(ctx, t, f, "lower", &kernels);
    j->num_threads = gpuc_tir_func_get(kernels[0]).num_threads;
}

static void registered_kinds_are_lowered_for(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_ctx *ctx;
    assert_null(gpuc_runtime_create(NULL, &rt));
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_ctx_set_runtime(ctx, rt);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        job j = {.text = kinds[i].name};
        assert_null(gpuc_target_kind_register(rt, &kinds[i]));
        gpuc_status s = gpuc_ctx_protect(ctx, run, &j);
        if (s) fail_msg("%s: %s", j.text, gpuc_status_message(s));
        assert_int_equal(j.num_kernels, 1);
        assert_int_equal(j.num_threads > 0, kinds[i].language.work_groups); /* else they are loops */
        j.build = true;
        s = gpuc_ctx_protect(ctx, run, &j);
        assert_non_null(s);
        assert_non_null(strstr(gpuc_status_message(s), kinds[i].name));
        gpuc_status_release(s);
    }
    gpuc_ctx_destroy(ctx);
    gpuc_runtime_release(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(registered_kinds_are_lowered_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
