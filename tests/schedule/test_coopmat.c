/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative matrices in schedules: what the loops become, in the evaluator. */
#include "fixture.h"

#include "compare.h"
#include "coopmat_product.h"

static void products_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < num_coopmat_products; i++) {
        expr_graph g;
        gpuc_schedule *s = coopmat_schedule(ctx, &coopmat_products[i], &g);
        compare_with_definition(&g, s);
    }
}

/* Storage where the intrinsics do not want it. */
static void storage_body(gpuc_ctx *ctx, void *arg)
{
    const char *scope = arg;
    expr_graph g = {.ctx = ctx};
    gpuc_expr side = num(&g, 16);
    gpuc_tensor *a = input(&g, "A", GPUC_FLOAT16, 2, EXPRS(side, side));
    gpuc_iter *ij[] = {axis(&g, side, "i"), axis(&g, side, "j")};
    output(&g, gpuc_te_compute(ctx, "C", 2, ij, AT2(&g, a, V(ij[0]), V(ij[1]))));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[1]);
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[1]);
    gpuc_stage *held = gpuc_schedule_stage(s, gpuc_cache_read(s, a, scope, 1, &c));
    gpuc_stage_tensorize(held, gpuc_stage_axis(held, 0), gpuc_tensor_intrin_find(ctx, "coopmat_load_f16"));
    gpuc_schedule_lower(s, "f", g.num_args, g.args);
}

static void test_storage(void **state)
{
    (void)state;
    run_error("coopmat_load_f16|the result must be in scope coopmat, and is in scope local", storage_body,
              "local");
    run_ok(storage_body, "coopmat");
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
        cmocka_unit_test(test_storage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
