/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions of float16 by their schedules for targets with cooperative matrices, against
 * their references: the kernels of the target and those for devices that lack the instructions run in the
 * evaluator, since no device of the tests has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "lower/lower.h"
#include "schedule/internal.h"
#include "op/op.h"

#define NATIVE                                                                                               \
    "vulkan -max_num_threads=%d -max_threads_x=1024 -max_threads_y=1024 -max_shared_memory=%d "              \
    "-max_storage_buffers=8 -float16=1 -storage16=1 -coopmat=1 -thread_warp_size=%d -num_cores=%d "          \
    "-max_iterations=0"

static const struct {
    int threads, shared, subgroup, cores;
} targets[] = {{1024, 49152, 32, 1}, {128, 32768, 32, 16}, {64, 16384, 8, 1}, {256, 65536, 64, 1}};

typedef struct job {
    const op_case *c;
    const gpuc_target *target;
    bool general; /* scheduled for the target, lowered for one without the instructions */
} job;

static gpuc_tir_func *scheduled(gpuc_ctx *ctx, const gpuc_rexpr *call, const gpuc_target *t)
{
    const gpuc_rcall *c = gpuc_as_rcall(call);
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    gpuc_tensor *args[16];
    for (int i = 0; i < c->n; i++) {
        in[i] = c->args[i]->type->tensor;
        args[i] = gpuc_te_placeholder(ctx, "x", in[i].ndim, in[i].dims, in[i].dtype);
    }
    gpuc_tensor_type out = call->type->tensor;
    const gpuc_expr *values = NULL;
    gpuc_op_call of = {.ctx = ctx,
                       .op = gpuc_relay_call_op(call),
                       .attrs = c->attrs,
                       .num_in = c->n,
                       .in = in,
                       .in_values = gpuc_new_array(ctx, const gpuc_expr *, c->n),
                       .num_out = 1,
                       .out = &out,
                       .out_values = &values};
    of.op->compute(&of, args, args + c->n);
    gpuc_schedule *s = gpuc_topi_schedule(ctx, t, NULL, 1, args + c->n);
    return gpuc_schedule_lower(s, "row", c->n + 1, args);
}

static void run_kernels(gpuc_ctx *ctx, const gpuc_tir_program *p, gpuc_tir_arg *all, int num_args)
{
    for (int i = 0; i < p->num_workspaces; i++) {
        int64_t n = 0;
        GPUC_CHECK(gpuc_expr_is_int(p->workspaces[i]->shape[0], &n));
        size_t bytes = ((size_t)n * gpuc_dtype_bytes(p->workspaces[i]->dtype) + 15) / 16 * 16;
        all[num_args + i] = (gpuc_tir_arg){gpuc_ctx_alloc(ctx, bytes), bytes};
    }
    for (int i = 0; i < p->num_kernels; i++) {
        const gpuc_tir_func *k = p->kernels[i];
        gpuc_tir_arg own[16];
        gpuc_tir_validate(ctx, k, "lower");
        for (int b = 0; b < k->num_buffers; b++) own[b] = all[p->args[i].buffers[b]];
        GPUC_RAISE_IF(ctx,
                      gpuc_error_prefix(gpuc_ev_run(ctx, k, own, NULL, true), "%s", gpuc_tir_text(ctx, k)));
    }
}

static bool has_matrices(gpuc_ctx *ctx, const gpuc_tir_program *p)
{
    bool found = false;
    for (int i = 0; i < p->num_kernels; i++)
        found |= strstr(gpuc_tir_text(ctx, p->kernels[i]), "attr coopmat") != NULL;
    return found;
}

static const gpuc_target *lowered_for(gpuc_ctx *ctx, const job *j)
{
    gpuc_target *t = gpuc_ctx_memdup(ctx, j->target, sizeof *t);
    if (!j->general) return t;
    t->thread_warp_size = 1;
    t->coopmat = 0;
    return t;
}

static void check(gpuc_ctx *ctx, const job *j)
{
    fx_rng r = {(uint64_t)strlen(j->c->in) * 977 + strlen(j->c->op)};
    op_trial trial;
    op_trial_make(ctx, j->c, GPUC_FLOAT16, &r, &trial);
    gpuc_rexpr *call = fx_op(ctx, j->c->op, trial.attrs, trial.n, trial.args);
    const gpuc_tir_func *f = scheduled(ctx, call, j->target);
    const gpuc_tir_program *p = gpuc_lower(ctx, f, lowered_for(ctx, j));
    if (has_matrices(ctx, p) == j->general) fail_msg("%s is not scheduled as wanted", trial.text);
    gpuc_tir_arg all[32];
    for (int i = 0; i < trial.n; i++) {
        const gpuc_const_data *data = gpuc_as_rconstant(trial.args[i])->data;
        size_t bytes = (data->size + 15) / 16 * 16;
        all[i] = (gpuc_tir_arg){gpuc_ctx_alloc(ctx, bytes), bytes};
        memcpy(all[i].data, data->bytes, data->size);
    }
    size_t bytes = (size_t)gpuc_relay_tensor_type_bytes(ctx, &call->type->tensor);
    gpuc_const_data *out = gpuc_relay_const_data_create(ctx, bytes);
    all[trial.n] = (gpuc_tir_arg){gpuc_ctx_alloc(ctx, bytes + 16), bytes};
    run_kernels(ctx, p, all, trial.n + 1);
    memcpy(out->bytes, all[trial.n].data, bytes);
    op_trial_check(ctx, &trial, 0, gpuc_relay_constant(ctx, call->type, out), 1);
    op_trial_free(&trial);
}

static void check_on_all(gpuc_ctx *ctx, const op_case *c)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const char *text = gpuc_ctx_printf(ctx, NATIVE, targets[i].threads, targets[i].shared,
                                           targets[i].subgroup, targets[i].cores);
        job j = {.c = c, .target = gpuc_target_parse(ctx, text, NULL)};
        print_message("  %s(%s) for %d threads, %d bytes\n", j.c->op, j.c->in, targets[i].threads,
                      targets[i].shared);
        check(ctx, &j);
        j.general = true;
        check(ctx, &j);
    }
    print_message("cases: %zu\n", 2 * sizeof targets / sizeof *targets);
}

static void products(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const op_case cases[] = {
        {"nn.dense", "", "float16[64, 48] float16[64, 48]", .tolerance = 2e-3},
        {"nn.matmul", "", "float16[70, 32] float16[32, 53]", .tolerance = 2e-3},
        {"nn.matmul", "", "float16[3, 17, 16] float16[16, 40]", .tolerance = 2e-3},
        {"nn.matmul", "transpose_a=1", "float16[2, 32, 66] float16[2, 32, 36]", .tolerance = 2e-3},
        {"nn.dense", "out_dtype=float32", "float16[33, 16] float16[31, 16]", .tolerance = 1e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_on_all(ctx, &cases[i]);
}

static void convolutions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const op_case cases[] = {
        {"nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
         "float16[1, 16, 4, 19] float16[20, 16, 3, 3]", .tolerance = 4e-3},
        {"nn.conv2d", "strides=[2, 2] padding=[0, 0, 0, 0] dilation=[1, 1]",
         "float16[2, 16, 5, 37] float16[33, 16, 3, 3]", .tolerance = 4e-3},
        {"nn.conv2d", "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
         "float16[1, 48, 2, 28] float16[64, 48, 1, 1]", .tolerance = 2e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_on_all(ctx, &cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(products), fx_test(convolutions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
