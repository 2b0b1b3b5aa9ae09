/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/util.h"

typedef struct checker {
    gpuc_ctx *ctx;
    const gpuc_tir_func *f;
} checker;

static bool check(gpuc_expr e, void *arg)
{
    checker *c = arg;
    if (gpuc_is_integer(e->dtype) && e->dtype.bits == 64 && e->kind != GPUC_EXPR_INT)
        gpuc_raise(c->ctx, GPUC_UNSUPPORTED,
                   "kernel '%s' computes with 64-bit integers, which the target does not have (int64=0): %s", c->f->name,
                   gpuc_expr_text(c->ctx, e));
    return true;
}

gpuc_tir_func *gpuc_lower_legalize_int64(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    checker c = {.ctx = p->ctx, .f = f};
    if (!p->target->int64) gpuc_tir_visit_stmt(p->ctx, f->body, NULL, check, &c);
    return f;
}
