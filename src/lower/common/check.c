/* SPDX-License-Identifier: Apache-2.0 */
/* Raises where a kernel needs more threads or shared memory than the target has. */
#include "lower/common/check.h"

#include "lower/common/util.h"

typedef struct shared_sum {
    int64_t bytes;
} shared_sum;

static void add_shared(gpuc_stmt s, void *arg)
{
    int64_t count;
    if (s->kind != GPUC_STMT_ALLOC) return;
    const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
    if (gpuc_lower_is_shared(b) && gpuc_lower_const_size(b, &count))
        ((shared_sum *)arg)->bytes += count * (int64_t)gpuc_dtype_bytes(b->dtype);
}

static void check_axis(gpuc_ctx *ctx, const gpuc_tir_func *k, const char *what, int64_t have, int64_t limit,
                       const char *attr, const char *mend)
{
    if (have > limit)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "kernel '%s': %s is %lld, but the target allows %lld (%s); %s",
                   k->name, what, (long long)have, (long long)limit, attr, mend);
}

void gpuc_lower_check_limits(gpuc_pass_ctx *p, const gpuc_tir_func *k)
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_target *t = p->target;
    if (!t->language->work_groups || !k->body) return;
    static const char split[] = "split the loop bound to it by a smaller factor";
    static const char *const attr[3] = {"max_threads_x", "max_threads_y", "max_threads_z"};
    const int64_t limit[3] = {t->max_threads_x, t->max_threads_y, t->max_threads_z};
    int64_t total = 1, extent;
    for (int i = 0; i < k->num_threads; i++) {
        const gpuc_tir_thread *th = &k->threads[i];
        if (!gpuc_is_thread_tag(th->tag) || !gpuc_expr_is_int(th->extent, &extent)) continue;
        int axis = (int)(th->tag - GPUC_THREAD_X);
        check_axis(ctx, k, gpuc_ctx_printf(ctx, "the extent of %s", gpuc_thread_tag_name(th->tag)), extent,
                   limit[axis], attr[axis], split);
        total *= extent;
    }
    check_axis(ctx, k, "the number of threads of a work-group", total, t->max_num_threads, "max_num_threads",
               split);
    shared_sum sum = {0};
    gpuc_tir_visit_stmt(ctx, k->body, add_shared, NULL, &sum);
    check_axis(ctx, k, "the shared memory of a work-group in bytes", sum.bytes, t->max_shared_memory,
               "max_shared_memory", "use smaller tiles");
}
