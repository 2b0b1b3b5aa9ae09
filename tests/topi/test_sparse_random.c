/* SPDX-License-Identifier: Apache-2.0 */
/* test_topi_sparse_random TARGET [CASES [SEED]]: sparse matrices whose rows may overlap, and random numbers, of odd and of no
 * extents, beside their references. */
#include <stdlib.h>
#include <string.h>

#include "../codegen/run.h"
#include "on_device.h"

static const char *one_of(fx_rng *r, int n, const char *const *of)
{
    return of[fx_below(r, n)];
}

static const char *const floats[] = {"float32", "float16", "float64", "bfloat16"}, *const positions[] = {
                                                                                       "int32", "int64"};

static int extent(fx_rng *r)
{
    static const int some[] = {0, 1, 2, 3, 5, 8, 17, 33};
    return some[fx_below(r, 8)];
}

/* Of what is multiplied: of vectors, tiles and their ends, too. */
static int many(fx_rng *r)
{
    return fx_below(r, 2) ? extent(r) : fx_below(r, 300);
}

/* Sums of hundreds of float32 may cancel. */
static double tolerance_of(const char *type)
{
    return strcmp(type, "float32") ? 0 : 2e-5;
}

static op_case sparse_dense(gpuc_ctx *ctx, fx_rng *r)
{
    const char *t = one_of(r, 4, floats), *block = "";
    int n = many(r);
    if (fx_below(r, 2)) block = gpuc_ctx_printf(ctx, ", %d, %d", fx_below(r, 4), fx_below(r, 4));
    return (op_case){.op = "nn.sparse_dense",
                     .attrs = fx_below(r, 2) ? "sparse_lhs=1" : "",
                     .in = gpuc_ctx_printf(ctx, "%s[%d, %d] %s[%d%s] %s[%d] %s[%d]", t, many(r), extent(r), t,
                                           n, block, one_of(r, 2, positions), n, one_of(r, 2, positions),
                                           1 + extent(r)),
                     .lo = -2,
                     .hi = fx_below(r, 2) ? 9 : n + 3,
                     .tolerance = tolerance_of(t)};
}

static op_case sparse_conv(gpuc_ctx *ctx, fx_rng *r)
{
    const char *t = one_of(r, 4, floats), *block = "";
    int n = many(r), edge = fx_below(r, 3) ? 9 : 40;
    if (fx_below(r, 2)) block = gpuc_ctx_printf(ctx, ", %d, %d", fx_below(r, 4), fx_below(r, 4));
    return (op_case){
        .op = "nn.sparse_conv2d",
        .attrs = gpuc_ctx_printf(ctx, "kernel_size=[%d, %d]%s", 1 + 2 * fx_below(r, 2),
                                 1 + 2 * fx_below(r, 3), fx_below(r, 2) ? " layout=\"NCHW\"" : ""),
        .in = gpuc_ctx_printf(ctx, "%s[%d, %d, %d, %d] %s[%d%s] %s[%d] %s[%d]", t, fx_below(r, 3),
                              fx_below(r, edge), fx_below(r, edge), fx_below(r, 9), t, n, block,
                              one_of(r, 2, positions), n, one_of(r, 2, positions), 1 + fx_below(r, 9)),
        .lo = -2,
        .hi = 20,
        .tolerance = tolerance_of(t)};
}

static op_case sparse_add(gpuc_ctx *ctx, fx_rng *r)
{
    const char *t = one_of(r, 2, (const char *const[]){"float32", "float64"});
    int n = extent(r), rows = extent(r), columns = fx_below(r, 2) ? extent(r) : 4 * fx_below(r, 9);
    return (op_case){.op = "nn.sparse_add",
                     .attrs = "",
                     .in = gpuc_ctx_printf(ctx, "%s[%d, %d] %s[%d] %s[%d] %s[%d]", t, rows, columns, t, n,
                                           one_of(r, 2, positions), n, one_of(r, 2, positions), rows + 1),
                     .lo = -2,
                     .hi = 20};
}

static op_case sparse_transpose(gpuc_ctx *ctx, fx_rng *r)
{
    int n = extent(r);
    return (op_case){.op = "nn.sparse_transpose",
                     .attrs = "",
                     .in =
                         gpuc_ctx_printf(ctx, "%s[%d] %s[%d] %s[%d]", one_of(r, 4, floats), n,
                                         one_of(r, 2, positions), n, one_of(r, 2, positions), 1 + extent(r)),
                     .lo = -2,
                     .hi = 9};
}

/* "out_shape=[3, 0]" */
static const char *shape(gpuc_ctx *ctx, fx_rng *r)
{
    const char *text = "";
    for (int i = 0, n = fx_below(r, 4); i < n; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%d", text, i ? ", " : "", extent(r));
    return gpuc_ctx_printf(ctx, "out_shape=[%s]", text);
}

/* Counters at their ends, too. */
static op_case words(gpuc_ctx *ctx, fx_rng *r)
{
    static const double from[] = {0, 1, 4e9, 18446744073709547520.0},
                        to[] = {1, 9, 4e10, 18446744073709549568.0};
    int range = fx_below(r, 4);
    op_case c = {.op = "random.threefry_split", .in = "uint64[10]", .lo = from[range], .hi = to[range]};
    if (fx_below(r, 3)) c.op = "random.threefry_generate", c.attrs = shape(ctx, r);
    return c;
}

static op_case numbers(gpuc_ctx *ctx, fx_rng *r)
{
    const char *t = floats[2 * fx_below(r, 2)];
    return (op_case){.op = fx_below(r, 2) ? "random.uniform" : "random.normal",
                     .attrs = gpuc_ctx_printf(ctx, "%s out_dtype=%s", shape(ctx, r), t),
                     .in = gpuc_ctx_printf(ctx, "uint64[10] %s[] %s[]", t, t),
                     .tolerance = 1e-5};
}

static op_case multinomial(gpuc_ctx *ctx, fx_rng *r)
{
    return (op_case){
        .op = "random.multinomial",
        .attrs = gpuc_ctx_printf(ctx, "num_samples=%d", extent(r)),
        .in = gpuc_ctx_printf(ctx, "uint64[10] %s[%d, %d]", one_of(r, 4, floats), extent(r), 1 + extent(r)),
        .lo = -1,
        .hi = 3};
}

static void draw(gpuc_ctx *ctx, void *arg)
{
    static op_case (*const makers[])(gpuc_ctx *, fx_rng *) = {
        sparse_dense, sparse_conv, sparse_add, sparse_transpose, words, numbers, multinomial};
    on_device_case *c = arg;
    const op_case one = makers[c->seed % 7](ctx, &c->rng);
    on_device_check_all(&one, 1);
}

int main(int argc, char **argv)
{
    return on_device_main(argc, argv, 12, draw);
}
