/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and schedules through the public headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include <gpuc/schedule.h>

static const char *loop_name(const gpuc_iter *i)
{
    return gpuc_tir_expr_get(gpuc_iter_var(i)).name;
}

/* T[i] = A[i] + 1; S = the sum over i of T[i] * 2, of 32 rows of n. */
static void body(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), rows = gpuc_int(ctx, 32), shape[] = {rows, n};
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 2, shape, GPUC_FLOAT32);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, rows, "i"), gpuc_te_axis(ctx, n, "j")};
    gpuc_expr at[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(axes[1])};
    gpuc_tensor *t = gpuc_te_compute(
        ctx, "T", 2, axes, gpuc_add(ctx, gpuc_te_read(ctx, a, 2, at), gpuc_imm(ctx, GPUC_FLOAT32, 1)));
    gpuc_iter *row = gpuc_te_axis(ctx, rows, "row"), *k = gpuc_te_reduce_axis(ctx, n, "k");
    gpuc_expr where[] = {gpuc_iter_var(row), gpuc_iter_var(k)};
    gpuc_tensor *s = gpuc_te_compute(
        ctx, "S", 1, &row,
        gpuc_te_reduce(ctx, "sum",
                       gpuc_mul(ctx, gpuc_te_read(ctx, t, 2, where), gpuc_imm(ctx, GPUC_FLOAT32, 2)), 1, &k));
    (void)arg;

    gpuc_te_info input = gpuc_te_get(a), sum = gpuc_te_get(s);
    assert_int_equal(input.kind, GPUC_TE_PLACEHOLDER);
    assert_int_equal(input.num_inputs, 0);
    assert_null(input.body);
    assert_int_equal(sum.kind, GPUC_TE_COMPUTE);
    assert_int_equal(sum.num_inputs, 1);
    assert_ptr_equal(sum.inputs[0], t);
    assert_ptr_equal(sum.outputs[sum.output], s);
    assert_int_equal(sum.num_axes, 1);
    assert_ptr_equal(sum.axes[0], row);
    assert_int_equal(sum.num_reduce, 1);
    assert_ptr_equal(sum.reduce[0], k);
    gpuc_tir_expr_info reduce = gpuc_tir_expr_get(sum.body);
    assert_int_equal(reduce.kind, GPUC_EXPR_REDUCE);
    assert_string_equal(reduce.name, "sum");
    assert_ptr_equal(reduce.axes[0], k);
    gpuc_tir_expr_info product = gpuc_tir_expr_get(reduce.operands[0]);
    assert_string_equal(product.name, "*");
    gpuc_tir_expr_info read = gpuc_tir_expr_get(product.operands[0]);
    assert_int_equal(read.kind, GPUC_EXPR_READ);
    assert_ptr_equal(read.tensor, t);
    assert_int_equal(read.num_operands, 2);

    gpuc_schedule *schedule = gpuc_schedule_create(ctx, 1, &s);
    assert_int_equal(gpuc_schedule_num_stages(schedule), 3);
    assert_null(gpuc_schedule_stage_at(schedule, 3));
    assert_null(gpuc_schedule_stage_at(schedule, -1));
    gpuc_stage *out = gpuc_schedule_stage(schedule, s), *mid = gpuc_schedule_stage(schedule, t);
    assert_ptr_equal(gpuc_schedule_stage_at(schedule, 2), out);
    gpuc_iter *bx, *tx, *fused;
    gpuc_stage_split(out, row, 8, &bx, &tx);
    gpuc_stage_bind(out, bx, "blockIdx.x");
    gpuc_stage_bind(out, tx, "threadIdx.x");
    fused = gpuc_stage_fuse(mid, axes[0], axes[1]);
    gpuc_stage_compute_at(mid, out, tx);
    gpuc_stage_set_scope(mid, "local");

    gpuc_stage_info info = gpuc_stage_get(mid);
    assert_string_equal(info.name, "T");
    assert_false(info.is_output);
    assert_int_equal(info.attach, GPUC_ATTACH_AT);
    assert_ptr_equal(info.parent, out);
    assert_ptr_equal(info.at, tx);
    assert_true(info.has_scope);
    assert_int_equal(info.scope, GPUC_SCOPE_LOCAL);
    assert_true(gpuc_stage_get(out).is_output);
    assert_int_equal(gpuc_stage_get(out).attach, GPUC_ATTACH_ROOT);
    assert_null(gpuc_stage_get(out).parent);

    gpuc_thread_tag tag;
    assert_int_equal(gpuc_stage_num_leaves(out), 3);
    assert_int_equal(gpuc_stage_leaf_kind(out, 0, &tag), GPUC_LOOP_THREAD);
    assert_string_equal(gpuc_thread_tag_name(tag), "blockIdx.x");
    assert_int_equal(gpuc_stage_leaf_kind(out, 1, &tag), GPUC_LOOP_THREAD);
    assert_string_equal(gpuc_thread_tag_name(tag), "threadIdx.x");
    assert_int_equal(gpuc_stage_leaf_kind(out, 2, &tag), GPUC_LOOP_SERIAL);
    assert_int_equal(tag, GPUC_THREAD_NONE);
    assert_int_equal(gpuc_stage_leaf_kind(out, 7, &tag), GPUC_LOOP_SERIAL);
    assert_string_equal(loop_name(gpuc_stage_leaf(out, 2)), "k");

    assert_int_equal(gpuc_stage_num_relations(out), 1);
    gpuc_relation split = gpuc_stage_relation(out, 0), fuse = gpuc_stage_relation(mid, 0);
    assert_int_equal(split.kind, GPUC_RELATION_SPLIT);
    assert_ptr_equal(split.whole, row);
    assert_ptr_equal(split.outer, bx);
    assert_ptr_equal(split.inner, tx);
    assert_int_equal(split.factor, 8);
    assert_int_equal(fuse.kind, GPUC_RELATION_FUSE);
    assert_ptr_equal(fuse.whole, fused);
    assert_null(gpuc_stage_relation(mid, 1).whole);
}

static void test_look(void **state)
{
    gpuc_ctx *ctx;
    (void)state;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status s = gpuc_ctx_protect(ctx, body, NULL);
    if (s) fail_msg("%s", gpuc_status_message(s));
    gpuc_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_look)};
    return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
