/* SPDX-License-Identifier: Apache-2.0 */
/* Words of small integers, and their dot products. */
#include "tir/tir.h"

const gpuc_tir_dot *gpuc_tir_dot_of(gpuc_tir_intrin fn)
{
    static const gpuc_tir_dot dots[GPUC_TIR_INTRIN_COUNT] = {
        [GPUC_TIR_CALL_DOT_I8] = {8, true, true},
        [GPUC_TIR_CALL_DOT_U8I8] = {8, false, true},
        [GPUC_TIR_CALL_DOT_U8] = {8, false, false},
        [GPUC_TIR_CALL_DOT_I16] = {16, true, true},
    };
    return dots[fn].bits ? &dots[fn] : NULL;
}

bool gpuc_tir_is_value(gpuc_tir_intrin fn)
{
    return fn == GPUC_TIR_CALL_REINTERPRET || fn == GPUC_TIR_CALL_EXACT || gpuc_tir_dot_of(fn);
}

bool gpuc_tir_makes_words(gpuc_dtype to, gpuc_dtype from)
{
    return gpuc_is_integer(to) && to.bits == 32 && gpuc_is_integer(from) &&
           (from.bits == 8 || from.bits == 16) && from.lanes == to.lanes * (32 / from.bits);
}

bool gpuc_tir_is_words(gpuc_expr e)
{
    return e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_REINTERPRET &&
           gpuc_as_call(e)->args[0]->dtype.lanes != e->dtype.lanes;
}

static gpuc_expr op(gpuc_ctx *ctx, gpuc_tir_op o, gpuc_expr a, int64_t b)
{
    return gpuc_tir_make(ctx, o, a, gpuc_imm_int(ctx, a->dtype, b), NULL);
}

gpuc_expr gpuc_tir_words(gpuc_ctx *ctx, gpuc_dtype to, gpuc_dtype from, gpuc_expr a)
{
    int each = 32 / from.bits;
    gpuc_dtype one = gpuc_dtype_with_lanes(to, 1);
    gpuc_expr *words = gpuc_new_array(ctx, gpuc_expr, to.lanes);
    for (int i = 0; i < to.lanes; i++) {
        words[i] = gpuc_imm_int(ctx, one, 0);
        for (int k = 0; k < each; k++) {
            gpuc_expr x = gpuc_cast(ctx, one, gpuc_tir_lane(ctx, a, i * each + k));
            x = op(ctx, GPUC_TIR_BITAND, x, from.bits == 8 ? 0xff : 0xffff);
            if (k) x = op(ctx, GPUC_TIR_SHL, x, k * from.bits);
            words[i] = gpuc_tir_make(ctx, GPUC_TIR_BITOR, words[i], x, NULL);
        }
    }
    return to.lanes == 1 ? words[0] : gpuc_tir_vector(ctx, to.lanes, words);
}

/* Integer number k of each word. */
static gpuc_expr part(gpuc_ctx *ctx, gpuc_expr word, int k, int bits, bool is_signed)
{
    int above = 32 - (k + 1) * bits;
    if (is_signed) {
        if (above) word = op(ctx, GPUC_TIR_SHL, word, above);
        return op(ctx, GPUC_TIR_SHR, word, 32 - bits);
    }
    if (k) word = op(ctx, GPUC_TIR_SHR, word, k * bits);
    return op(ctx, GPUC_TIR_BITAND, word, bits == 8 ? 0xff : 0xffff);
}

gpuc_expr gpuc_tir_expand(gpuc_ctx *ctx, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_CALL) return e;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    int64_t dim;
    if (n->fn == GPUC_TIR_CALL_EXACT) return n->args[0];
    if (n->fn == GPUC_TIR_CALL_STRIDE)
        return gpuc_expr_is_int(n->args[0], &dim) ? gpuc_tir_stride(ctx, n->buffer, (int)dim) : e;
    if (gpuc_tir_is_words(e)) return gpuc_tir_words(ctx, e->dtype, n->args[0]->dtype, n->args[0]);
    const gpuc_tir_dot *dot = gpuc_tir_dot_of(n->fn);
    if (!dot) return e;
    gpuc_expr sum = n->args[0];
    for (int k = 0; k < 32 / dot->bits; k++) {
        gpuc_expr a = part(ctx, n->args[1], k, dot->bits, dot->signed_a),
                  b = part(ctx, n->args[2], k, dot->bits, dot->signed_b);
        sum = gpuc_add(ctx, sum, gpuc_mul(ctx, a, b));
    }
    return sum;
}
