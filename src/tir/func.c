/* SPDX-License-Identifier: Apache-2.0 */
/* Makes functions. */
#include <ctype.h>

#include "tir/tir.h"
#include "tir/validate.h"

bool gpuc_tir_is_identifier(const char *name)
{
    bool ok = name && (isalpha((unsigned char)name[0]) || name[0] == '_');
    for (const char *c = name; ok && *c; c++) ok = isalnum((unsigned char)*c) || *c == '_';
    return ok;
}

static void check_identifier(gpuc_ctx *ctx, const char *name)
{
    if (!gpuc_tir_is_identifier(name))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' cannot name a function: use letters, digits and '_'",
                   name ? name : "");
}

gpuc_tir_func *gpuc_tir_func_new(gpuc_ctx *ctx, const char *name, int num_buffers,
                                 gpuc_tir_buffer *const *buffers, int num_scalars, const gpuc_expr *scalars,
                                 gpuc_stmt body)
{
    check_identifier(ctx, name);
    gpuc_tir_func *f = gpuc_new(ctx, gpuc_tir_func);
    f->name = gpuc_ctx_strdup(ctx, name);
    f->label = f->name;
    f->stage = GPUC_TIR_STAGE_NESTED;
    f->num_buffers = num_buffers;
    f->buffers = buffers;
    f->num_scalars = num_scalars;
    f->scalars = scalars;
    f->body = body;
    return f;
}

gpuc_tir_func *gpuc_tir_func_make(gpuc_ctx *ctx, const char *name, int num_buffers,
                                  gpuc_tir_buffer *const *buffers, int num_scalars, const gpuc_expr *scalars,
                                  gpuc_stmt body)
{
    bool listed = (num_buffers <= 0 || buffers) && (num_scalars <= 0 || scalars);
    for (int i = 0; listed && i < num_buffers; i++) listed = buffers[i] != NULL;
    for (int i = 0; listed && i < num_scalars; i++) listed = scalars[i] && scalars[i]->kind == GPUC_EXPR_VAR;
    if (!listed || num_buffers < 0 || num_scalars < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "making a function: a buffer is NULL, or a scalar is no variable");
    gpuc_tir_func *f = gpuc_tir_func_new(
        ctx, name, num_buffers, gpuc_ctx_memdup(ctx, buffers, sizeof *buffers * (size_t)num_buffers),
        num_scalars, gpuc_ctx_memdup(ctx, scalars, sizeof *scalars * (size_t)num_scalars), body);
    gpuc_tir_validate_given(ctx, f, NULL);
    return f;
}
