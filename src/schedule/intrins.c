/* SPDX-License-Identifier: Apache-2.0 */
/* The intrinsics by their names; dot products of small integers. */
#include <string.h>

#include "schedule/internal.h"

typedef struct dot_row {
    const char *name;
    gpuc_tir_intrin fn;
} dot_row;

static const dot_row dots[] = {
    {"dot_i8", GPUC_TIR_CALL_DOT_I8},
    {"dot_u8i8", GPUC_TIR_CALL_DOT_U8I8},
    {"dot_u8", GPUC_TIR_CALL_DOT_U8},
    {"dot_i16", GPUC_TIR_CALL_DOT_I16},
};

static gpuc_stmt emit_dot(gpuc_ctx *ctx, const gpuc_tensor_region *const *in, const gpuc_tensor_region *out,
                          void *arg)
{
    const dot_row *row = arg;
    int each = 32 / gpuc_tir_dot_of(row->fn)->bits;
    const int64_t first[1] = {0};
    gpuc_expr *args = gpuc_new_array(ctx, gpuc_expr, 3);
    args[0] = gpuc_tensor_region_load(ctx, out, NULL, 1);
    for (int i = 0; i < 2; i++) {
        gpuc_expr parts = gpuc_tensor_region_load(ctx, in[i], first, each);
        args[1 + i] = gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1,
                                    gpuc_ctx_memdup(ctx, &parts, sizeof parts));
    }
    return gpuc_tensor_region_store(ctx, out, NULL,
                                    gpuc_tir_call(ctx, GPUC_INT32, row->fn, NULL, NULL, 3, args));
}

static gpuc_dtype factor_type(int bits, bool is_signed)
{
    return (gpuc_dtype){
        .code = is_signed ? GPUC_DTYPE_INT : GPUC_DTYPE_UINT, .bits = (uint8_t)bits, .lanes = 1};
}

gpuc_tensor_intrin *gpuc_tensor_intrin_find(gpuc_ctx *ctx, const char *name)
{
    if (!name) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "gpuc_tensor_intrin_find: the name is NULL");
    for (size_t i = 0; i < sizeof dots / sizeof dots[0]; i++) {
        if (strcmp(dots[i].name, name) != 0) continue;
        const gpuc_tir_dot *dot = gpuc_tir_dot_of(dots[i].fn);
        gpuc_expr extent = gpuc_int(ctx, 32 / dot->bits);
        gpuc_iter *k = gpuc_te_reduce_axis(ctx, extent, "k");
        gpuc_expr at = gpuc_iter_var(k);
        gpuc_tensor *in[2] = {
            gpuc_te_placeholder(ctx, "a", 1, &extent, factor_type(dot->bits, dot->signed_a)),
            gpuc_te_placeholder(ctx, "b", 1, &extent, factor_type(dot->bits, dot->signed_b))};
        gpuc_expr a = gpuc_cast(ctx, GPUC_INT32, gpuc_te_read(ctx, in[0], 1, &at)),
                  b = gpuc_cast(ctx, GPUC_INT32, gpuc_te_read(ctx, in[1], 1, &at));
        gpuc_expr sum = gpuc_te_reduce(ctx, "sum", gpuc_mul(ctx, a, b), 1, &k);
        gpuc_tensor *pattern = gpuc_te_compute(ctx, name, 0, NULL, sum);
        return gpuc_tensor_intrin_declare(ctx, name, pattern, 2, in, emit_dot, (void *)&dots[i]);
    }
    return gpuc_tensor_intrin_coopmat(ctx, name);
}
