/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes over the symbols of a program. */
#include "compile/symbolic_sizes.h"

#include <string.h>

#include "abi/scope.h"

void gpuc_compile_sizes_init(gpuc_ctx *ctx, gpuc_sizes *s)
{
    *s = (gpuc_sizes){.ctx = ctx, .analyzer = gpuc_arith_analyzer_create(ctx)};
    gpuc_map_init(&s->data, ctx);
}

static gpuc_expr max_extent(gpuc_ctx *ctx)
{
    return gpuc_int(ctx, GPUC_MAX_EXTENT);
}

static void add(gpuc_sizes *s, gpuc_symbol symbol)
{
    gpuc_symbol *own = gpuc_ctx_memdup(s->ctx, &symbol, sizeof symbol);
    for (size_t i = 0; i < s->vars.count; i++)
        if (!strcmp(gpuc_as_var(s->vars.at[i])->name, gpuc_as_var(symbol.var)->name))
            gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT,
                       "two symbolic dimensions are called '%s': give each a name of its own",
                       gpuc_as_var(symbol.var)->name);
    gpuc_ptrs_push(s->ctx, &s->symbols, own);
    gpuc_ptrs_push(s->ctx, &s->vars, (void *)symbol.var);
    gpuc_arith_analyzer_bind(s->analyzer, symbol.var, gpuc_int(s->ctx, 0), max_extent(s->ctx));
}

void gpuc_compile_sizes_add_input(gpuc_sizes *s, gpuc_expr dim, uint32_t input, uint32_t number)
{
    int64_t known;
    if (!dim || (dim->kind != GPUC_EXPR_VAR && !gpuc_expr_is_int(dim, &known)))
        gpuc_raise(s->ctx, GPUC_UNSUPPORTED,
                   "dimension %u of input %u is neither a number nor a symbol: give it a name", number,
                   input);
    if (dim->kind == GPUC_EXPR_VAR && !gpuc_compile_sizes_has(s, dim))
        add(s, (gpuc_symbol){.var = dim, .input = input, .dim = number, .value = GPUC_NO_INDEX});
}

/* Whether a bound depends on extents only, not on values that have no bound. */
static bool over_extents(const gpuc_sizes *s, gpuc_expr e)
{
    for (size_t i = 0; i < s->symbols.count; i++) {
        const gpuc_symbol *symbol = s->symbols.at[i];
        if (symbol->value != GPUC_NO_INDEX && gpuc_tir_uses_var(s->ctx, e, symbol->var)) return false;
    }
    return true;
}

void gpuc_compile_sizes_add_value(gpuc_sizes *s, gpuc_expr var, uint32_t value, gpuc_expr max)
{
    gpuc_expr upper = max ? gpuc_compile_sizes_upper(s, max) : NULL;
    if (upper && !over_extents(s, upper)) upper = NULL;
    add(s, (gpuc_symbol){.var = var, .value = value, .upper = upper});
    if (!upper) return;
    gpuc_interval *range = gpuc_new(s->ctx, gpuc_interval);
    *range = (gpuc_interval){.min = gpuc_int(s->ctx, 0), .max = upper};
    gpuc_map_set(&s->data, var, range);
}

uint32_t gpuc_compile_sizes_known_after(const gpuc_sizes *s, gpuc_expr size)
{
    for (size_t i = s->symbols.count; i > 0; i--) {
        const gpuc_symbol *symbol = s->symbols.at[i - 1];
        if (symbol->value == GPUC_NO_INDEX) return 0;
        if (gpuc_tir_uses_var(s->ctx, size, symbol->var)) return (uint32_t)i;
    }
    return 0;
}

bool gpuc_compile_sizes_has(const gpuc_sizes *s, gpuc_expr var)
{
    for (size_t i = 0; i < s->vars.count; i++)
        if (s->vars.at[i] == var) return true;
    return false;
}

gpuc_expr gpuc_compile_sizes_named(const gpuc_sizes *s, const char *name)
{
    for (size_t i = 0; i < s->vars.count; i++)
        if (!strcmp(gpuc_as_var(s->vars.at[i])->name, name)) return s->vars.at[i];
    gpuc_raise(s->ctx, GPUC_INTERNAL, "the size '%s' is no symbol of the program", name);
}

gpuc_expr gpuc_compile_sizes_padded(gpuc_sizes *s, gpuc_expr bytes)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr round = gpuc_int(ctx, GPUC_SLOT_ROUND);
    bytes = gpuc_add(ctx, bytes, gpuc_int(ctx, GPUC_SLOT_ROUND - 1));
    return gpuc_arith_simplify(s->analyzer, gpuc_mul(ctx, gpuc_floordiv_(ctx, bytes, round), round));
}

gpuc_expr gpuc_compile_sizes_bytes(gpuc_sizes *s, const gpuc_tensor_type *t)
{
    gpuc_ctx *ctx = s->ctx;
    int64_t dims[GPUC_OP_MAX_DIMS];
    if (gpuc_relay_tensor_type_static(t, dims)) return gpuc_int(ctx, gpuc_relay_tensor_type_bytes(ctx, t));
    gpuc_expr bytes = gpuc_int(ctx, (int64_t)gpuc_dtype_bytes(t->dtype));
    for (int i = 0; i < t->ndim; i++) {
        if (!t->dims[i])
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "dimension %d of a tensor is not known when building", i);
        bytes = gpuc_mul(ctx, bytes, t->dims[i]);
    }
    return bytes;
}

gpuc_expr gpuc_compile_sizes_upper(gpuc_sizes *s, gpuc_expr size)
{
    gpuc_expr upper = size;
    if (s->data.count) upper = gpuc_arith_eval_interval(s->analyzer, size, &s->data).max;
    if (!upper)
        gpuc_raise(s->ctx, GPUC_UNSUPPORTED, "the size %s depends on data and has no upper bound",
                   gpuc_expr_text(s->ctx, size));
    return gpuc_arith_simplify(s->analyzer, upper);
}

int64_t gpuc_compile_sizes_nominal(gpuc_sizes *s, gpuc_expr size)
{
    enum { NOMINAL = 32 };
    int64_t v;
    if (gpuc_expr_is_int(size, &v)) return v;
    gpuc_expr *with = gpuc_new_array(s->ctx, gpuc_expr, s->vars.count);
    for (size_t i = 0; i < s->vars.count; i++) with[i] = gpuc_int(s->ctx, NOMINAL);
    gpuc_expr e = gpuc_tir_substitute(s->ctx, size, (int)s->vars.count, (const gpuc_expr *)s->vars.at, with);
    return gpuc_expr_is_int(gpuc_arith_simplify(s->analyzer, e), &v) ? v : INT32_MAX;
}

gpuc_xexpr gpuc_compile_sizes_xexpr(const gpuc_sizes *s, gpuc_expr size)
{
    return gpuc_arith_to_xexpr(s->ctx, size, (int)s->vars.count, (const gpuc_expr *)s->vars.at);
}
