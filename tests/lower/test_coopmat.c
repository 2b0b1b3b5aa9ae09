/* SPDX-License-Identifier: Apache-2.0 */
/* Products of cooperative matrices, lowered: operations that stay where the target has them, else loops that
 * the threads share out. Both compute what the definition does, without races. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../schedule/compare.h"
#include "../schedule/coopmat_product.h"
#include "../schedule/fixture.h"
#include "lower/lower.h"
#include "te/te.h"

#define BIG "-max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 -max_shared_memory=49152 "

static const struct {
    const char *target; /* %d: threads that hold a matrix */
    bool native;
} targets[] = {
    {"c", false},
    {"c -mcpu=native", false},
    {"opencl", false},
    {"opencl/pocl", false},
    {"vulkan " BIG, false},
    {"vulkan " BIG "-float16=1 -storage16=1 -subgroup=1 -subgroup_shuffle=1 -thread_warp_size=%d", false},
    {"vulkan " BIG "-float16=1 -storage16=1 -coopmat=1", false}, /* of no known subgroup */
    {"vulkan " BIG "-float16=1 -storage16=1 -coopmat=1 -thread_warp_size=%d", true},
    {"vulkan " BIG "-float16=1 -storage16=1 -coopmat=1 -thread_warp_size=%d -max_iterations=100", true},
};

static void run(gpuc_ctx *ctx, const coopmat_product *p, const char *target, bool native)
{
    expr_graph g;
    gpuc_schedule *s = coopmat_schedule(ctx, p, &g);
    data_set got, want;
    data_fill(&g, 1, &want);
    data_fill(&g, 1, &got);
    data_run(&g, gpuc_te_lower_plain(ctx, "plain", g.num_args, g.args), &want);
    const gpuc_tir_program *program = gpuc_lower(ctx, gpuc_schedule_lower(s, "f", g.num_args, g.args),
                                                 gpuc_target_parse(ctx, target, NULL));
    assert_int_equal(program->num_kernels, 1);
    const gpuc_tir_func *k = program->kernels[0];
    const char *text = gpuc_tir_text(ctx, k);
    gpuc_tir_validate(ctx, k, "lower");
    if ((strstr(text, "attr coopmat") != NULL) != native)
        fail_msg("%s: matrices are%s left:\n%s", target, native ? " not" : "", text);
    if (native) assert_int_equal(k->subgroup_size, p->lanes);
    gpuc_tir_func *again = gpuc_tir_parse(ctx, text, "again");
    assert_string_equal(gpuc_tir_text(ctx, again), text);
    data_run(&g, again, &got);
    data_compare(&g, &got, &want);
}

static void products_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < num_coopmat_products; i++)
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            const coopmat_product *p = &coopmat_products[i];
            bool power = (p->lanes & (p->lanes - 1)) == 0; /* as all subgroups are */
            if (strchr(targets[t].target, '%') && !power) continue;
            run(ctx, p, gpuc_ctx_printf(ctx, targets[t].target, p->lanes), targets[t].native);
        }
}

static void test_products(void **state)
{
    (void)state;
    run_ok(products_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
