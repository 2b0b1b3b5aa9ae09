/* SPDX-License-Identifier: Apache-2.0 */
/* Types and expressions in messages. */
#include <string.h>

#include "base/buf.h"
#include "tir/intern.h"

#define MAX_SHORT 80

void gpuc_tir_set_tensor_name(gpuc_ctx *ctx, const char *(*name)(const struct gpuc_te_tensor *t))
{
    gpuc_tir_state_get(ctx)->tensor_name = name;
}

const char *gpuc_tir_type_text(gpuc_ctx *ctx, gpuc_dtype t)
{
    char name[24];
    return gpuc_ctx_strdup(ctx, gpuc_dtype_name(t, name));
}

const char *gpuc_tir_short_text(gpuc_ctx *ctx, gpuc_expr e)
{
    if (!e) return "NULL";
    if (e->depth > 50) return "a long expression";
    const char *text = gpuc_expr_text(ctx, e);
    return strlen(text) <= MAX_SHORT ? text : gpuc_ctx_printf(ctx, "%.*s...", MAX_SHORT, text);
}
