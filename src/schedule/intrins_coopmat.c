/* SPDX-License-Identifier: Apache-2.0 */
/* Declares intrinsics on cooperative matrices: products of 16 x 16 matrices that the threads along x hold
 * together, in storage of scope coopmat. An operation is its loops under an attribute (tir/coopmat.c), which
 * the evaluator runs as they are; targets with the attribute coopmat run it as one instruction
 * (VK_KHR_cooperative_matrix), and elsewhere the pass coopmat has the threads share the loops out. */
#include <string.h>

#include "abi/coopmat.h"
#include "schedule/internal.h"

enum { SIDE = GPUC_COOPMAT_SIDE };

static gpuc_stmt together(gpuc_ctx *ctx, int n, const gpuc_expr *vars, gpuc_stmt body)
{
    for (int i = n; i-- > 0;)
        body = gpuc_tir_for_(ctx, vars[i], gpuc_int(ctx, 0), gpuc_int(ctx, SIDE), GPUC_LOOP_SERIAL,
                             GPUC_THREAD_NONE, body);
    return gpuc_tir_attr(ctx, "coopmat", NULL, NULL, NULL, body);
}

static void need_scope(gpuc_ctx *ctx, const char *intrin, const char *what, const gpuc_tensor_region *r,
                       bool matrix)
{
    const char *scope = gpuc_tensor_region_scope(r);
    if ((strcmp(scope, gpuc_scope_name(GPUC_SCOPE_COOPMAT)) == 0) != matrix)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s must%s be in scope coopmat, and is in scope %s",
                   intrin, what, matrix ? "" : " not", scope);
}

static gpuc_stmt emit_multiply(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                               const gpuc_tensor_region *out, void *arg)
{
    const gpuc_coopmat_row *row = arg;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX),
              k = gpuc_var(ctx, "k", GPUC_INDEX), vars[] = {i, j, k}, a[] = {i, k}, b[] = {k, j};
    need_scope(ctx, row->name, "the first factor", in[0], true);
    need_scope(ctx, row->name, "the second factor", in[1], true);
    need_scope(ctx, row->name, "the sum", out, true);
    gpuc_expr product = gpuc_mul(ctx, gpuc_cast(ctx, row->sum, gpuc_tensor_region_load_at(ctx, in[0], a)),
                                 gpuc_cast(ctx, row->sum, gpuc_tensor_region_load_at(ctx, in[1], b)));
    gpuc_expr sum = gpuc_add(ctx, gpuc_tensor_region_load_at(ctx, out, vars), product);
    return together(ctx, 3, vars, gpuc_tensor_region_store_at(ctx, out, vars, sum));
}

/* arg: the intrinsic's name; a load's result is a matrix, a store's source. */
static gpuc_stmt emit_copy(gpuc_ctx *ctx, const gpuc_tensor_region *const *in, const gpuc_tensor_region *out,
                           void *arg)
{
    const char *name = arg;
    bool load = strncmp(name, "coopmat_load", 12) == 0;
    gpuc_expr vars[] = {gpuc_var(ctx, "i", GPUC_INDEX), gpuc_var(ctx, "j", GPUC_INDEX)};
    need_scope(ctx, name, "what is read", in[0], !load);
    need_scope(ctx, name, "the result", out, load);
    gpuc_expr value = gpuc_tensor_region_load_at(ctx, in[0], vars);
    return together(ctx, 2, vars, gpuc_tensor_region_store_at(ctx, out, vars, value));
}

static gpuc_tensor *matrix(gpuc_ctx *ctx, const char *name, gpuc_dtype t)
{
    gpuc_expr shape[] = {gpuc_int(ctx, SIDE), gpuc_int(ctx, SIDE)};
    return gpuc_te_placeholder(ctx, name, 2, shape, t);
}

static gpuc_tensor_intrin *declare_multiply(gpuc_ctx *ctx, const gpuc_coopmat_row *row)
{
    gpuc_expr side = gpuc_int(ctx, SIDE);
    gpuc_tensor *in[] = {matrix(ctx, "a", row->factor), matrix(ctx, "b", row->factor)};
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, side, "i"), gpuc_te_axis(ctx, side, "j")},
              *k = gpuc_te_reduce_axis(ctx, side, "k");
    gpuc_expr a[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(k)},
              b[] = {gpuc_iter_var(k), gpuc_iter_var(axes[1])};
    gpuc_expr product = gpuc_mul(ctx, gpuc_cast(ctx, row->sum, gpuc_te_read(ctx, in[0], 2, a)),
                                 gpuc_cast(ctx, row->sum, gpuc_te_read(ctx, in[1], 2, b)));
    gpuc_tensor *pattern =
        gpuc_te_compute(ctx, row->name, 2, axes, gpuc_te_reduce(ctx, "sum", product, 1, &k));
    return gpuc_tensor_intrin_declare(ctx, row->name, pattern, 2, in, emit_multiply, (void *)row);
}

static gpuc_tensor_intrin *declare_copy(gpuc_ctx *ctx, const char *name, gpuc_dtype t)
{
    gpuc_expr side = gpuc_int(ctx, SIDE);
    gpuc_tensor *in = matrix(ctx, "from", t);
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, side, "i"), gpuc_te_axis(ctx, side, "j")};
    gpuc_expr at[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(axes[1])};
    gpuc_tensor *pattern = gpuc_te_compute(ctx, name, 2, axes, gpuc_te_read(ctx, in, 2, at));
    return gpuc_tensor_intrin_declare(ctx, name, pattern, 1, &in, emit_copy, gpuc_ctx_strdup(ctx, name));
}

gpuc_tensor_intrin *gpuc_tensor_intrin_coopmat(gpuc_ctx *ctx, const char *name)
{
    static const struct {
        const char *name;
        gpuc_dtype type;
    } copies[] = {
        {"coopmat_load_f16", GPUC_FLOAT16},
        {"coopmat_store_f16", GPUC_FLOAT16},
        {"coopmat_store_f32", GPUC_FLOAT32},
    };
    for (size_t i = 0; i < GPUC_COOPMAT_ROWS; i++)
        if (strcmp(gpuc_coopmat_rows[i].name, name) == 0) return declare_multiply(ctx, &gpuc_coopmat_rows[i]);
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        if (strcmp(copies[i].name, name) == 0) return declare_copy(ctx, name, copies[i].type);
    return NULL;
}
