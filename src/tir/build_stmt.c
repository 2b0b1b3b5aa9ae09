/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration variables, buffers, reducers, statements. A statement that does nothing is NULL. */
#include <string.h>

#include "tir/intern.h"

gpuc_iter *gpuc_tir_iter(gpuc_ctx *ctx, const char *name, gpuc_expr min, gpuc_expr extent,
                         gpuc_iter_kind kind, gpuc_thread_tag tag)
{
    gpuc_iter *iter = gpuc_new(ctx, gpuc_iter);
    *iter = (gpuc_iter){
        .var = gpuc_var(ctx, name, GPUC_INDEX), .min = min, .extent = extent, .kind = kind, .tag = tag};
    return iter;
}

gpuc_tir_buffer *gpuc_tir_buffer_make(gpuc_ctx *ctx, const char *name, gpuc_dtype dtype, int ndim,
                                      const gpuc_expr *shape, gpuc_scope scope)
{
    gpuc_tir_check_list(ctx, ndim, shape, "the dimensions of a buffer");
    if ((unsigned)scope >= GPUC_SCOPE_COUNT)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the buffer '%s' has the unknown scope %d",
                   name ? name : "buf", (int)scope);
    if (dtype.lanes != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "the buffer '%s' has elements of type %s; they must be scalars", name,
                   gpuc_tir_type_text(ctx, dtype));
    for (int i = 0; i < ndim; i++)
        if (!gpuc_is_integer(shape[i]->dtype) || shape[i]->dtype.lanes != 1)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "dimension %d of '%s' is %s of type %s, not an integer", i,
                       name, gpuc_tir_short_text(ctx, shape[i]), gpuc_tir_type_text(ctx, shape[i]->dtype));
    gpuc_tir_buffer *b = gpuc_new(ctx, gpuc_tir_buffer);
    *b = (gpuc_tir_buffer){
        .name = gpuc_ctx_strdup(ctx, name && *name ? name : "buf"),
        .id = ctx->next_id++,
        .dtype = dtype,
        .scope = scope,
        .ndim = ndim,
        .shape = gpuc_ctx_memdup(ctx, shape, (size_t)ndim * sizeof *shape),
    };
    return b;
}

/* ---- Reducers ---------------------------------------------------------------------------------------- */

static const gpuc_tir_reducer *reducer_of_op(gpuc_ctx *ctx, const char *name, gpuc_dtype t, gpuc_tir_op op,
                                             gpuc_expr identity)
{
    gpuc_tir_reducer *r = gpuc_new(ctx, gpuc_tir_reducer);
    gpuc_expr lhs = gpuc_var(ctx, "x", t), rhs = gpuc_var(ctx, "y", t);
    gpuc_expr result = gpuc_tir_make(ctx, op, lhs, rhs, NULL);
    *r = (gpuc_tir_reducer){
        .name = gpuc_ctx_strdup(ctx, name),
        .count = 1,
        .lhs = gpuc_ctx_memdup(ctx, &lhs, sizeof lhs),
        .rhs = gpuc_ctx_memdup(ctx, &rhs, sizeof rhs),
        .result = gpuc_ctx_memdup(ctx, &result, sizeof result),
        .identity = gpuc_ctx_memdup(ctx, &identity, sizeof identity),
    };
    return r;
}

static const gpuc_tir_reducer *reducer_make(gpuc_ctx *ctx, const char *name, gpuc_dtype t)
{
    bool logic = gpuc_is_bool(t);
    if (!logic && strcmp(name, "sum") == 0)
        return reducer_of_op(ctx, name, t, GPUC_TIR_ADD, gpuc_imm_int(ctx, t, 0));
    if (!logic && strcmp(name, "prod") == 0)
        return reducer_of_op(ctx, name, t, GPUC_TIR_MUL, gpuc_imm_int(ctx, t, 1));
    if (!logic && strcmp(name, "min") == 0)
        return reducer_of_op(ctx, name, t, GPUC_TIR_MIN, gpuc_tir_max_value(ctx, t));
    if (!logic && strcmp(name, "max") == 0)
        return reducer_of_op(ctx, name, t, GPUC_TIR_MAX, gpuc_tir_min_value(ctx, t));
    if (logic && strcmp(name, "all") == 0)
        return reducer_of_op(ctx, name, t, GPUC_TIR_AND, gpuc_imm_int(ctx, t, 1));
    if (logic && strcmp(name, "any") == 0)
        return reducer_of_op(ctx, name, t, GPUC_TIR_OR, gpuc_imm_int(ctx, t, 0));
    gpuc_raise(
        ctx, GPUC_INVALID_ARGUMENT,
        "there is no reducer '%s' of %s; there are sum, prod, min, max of numbers and all, any of bool", name,
        gpuc_tir_type_text(ctx, t));
}

const gpuc_tir_reducer *gpuc_tir_reducer_get(gpuc_ctx *ctx, const char *name, gpuc_dtype dtype)
{
    gpuc_strmap *known = &gpuc_tir_state_get(ctx)->reducers;
    const char *key = gpuc_ctx_printf(ctx, "%s %s", name, gpuc_tir_type_text(ctx, dtype));
    const gpuc_tir_reducer *r = gpuc_strmap_get(known, key);
    if (!r) {
        r = reducer_make(ctx, name, dtype);
        gpuc_strmap_set(known, key, (void *)r);
    }
    return r;
}

/* ---- Statements -------------------------------------------------------------------------------------- */

/* An integer constant takes on the wanted type; anything else must have it. */
static gpuc_expr as_type(gpuc_ctx *ctx, gpuc_expr e, gpuc_dtype t, const char *what)
{
    if (!e) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s is missing (NULL)", what);
    if (e->ctx != ctx)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s was made in another context; make it in the one that uses it", what);
    if (gpuc_dtype_equal(e->dtype, t)) return e;
    if (gpuc_same_element(e->dtype, GPUC_INDEX) && e->dtype.lanes == t.lanes && !gpuc_is_bool(t) &&
        (e->kind == GPUC_EXPR_INT ||
         (e->kind == GPUC_EXPR_BROADCAST && gpuc_as_broadcast(e)->a->kind == GPUC_EXPR_INT)))
        return gpuc_cast(ctx, t, e);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has type %s (%s), but %s is wanted", what,
               gpuc_tir_type_text(ctx, e->dtype), gpuc_tir_short_text(ctx, e), gpuc_tir_type_text(ctx, t));
}

static gpuc_tir_stmt base(gpuc_ctx *ctx, gpuc_tir_stmt_kind kind, gpuc_stmt inner)
{
    uint32_t depth = inner ? inner->depth + 1 : 1;
    if (depth > GPUC_TIR_MAX_NESTING)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "statements are nested more than %d deep", GPUC_TIR_MAX_NESTING);
    return (gpuc_tir_stmt){.kind = kind, .depth = depth};
}

static gpuc_stmt deeper(gpuc_stmt a, gpuc_stmt b)
{
    return !b || (a && a->depth >= b->depth) ? a : b;
}

static void check_var(gpuc_ctx *ctx, gpuc_expr var, const char *what)
{
    if (!var || var->kind != GPUC_EXPR_VAR)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s defines %s, which is not a variable", what,
                   var ? gpuc_tir_short_text(ctx, var) : "NULL");
}

gpuc_stmt gpuc_tir_for_(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr min, gpuc_expr extent, gpuc_loop_kind kind,
                        gpuc_thread_tag tag, gpuc_stmt body)
{
    check_var(ctx, var, "a loop");
    if (!gpuc_is_integer(var->dtype) || var->dtype.lanes != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the loop variable '%s' has type %s, not an integer type",
                   gpuc_as_var(var)->name, gpuc_tir_type_text(ctx, var->dtype));
    if ((unsigned)kind >= GPUC_LOOP_KIND_COUNT || (unsigned)tag >= GPUC_THREAD_TAG_COUNT)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the loop over '%s' has the unknown kind %d or thread axis %d",
                   gpuc_as_var(var)->name, (int)kind, (int)tag);
    if ((kind == GPUC_LOOP_THREAD) != (tag != GPUC_THREAD_NONE))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the loop over '%s' %s", gpuc_as_var(var)->name,
                   tag == GPUC_THREAD_NONE ? "is bound to no thread axis"
                                           : "has a thread axis but is not bound");
    min = as_type(ctx, min, var->dtype, "the start of a loop");
    extent = as_type(ctx, extent, var->dtype, "the extent of a loop");
    int64_t n;
    if (!body || (gpuc_expr_is_int(extent, &n) && (n == 0 || (n < 0 && var->dtype.code == GPUC_DTYPE_INT))))
        return NULL;
    gpuc_tir_for_node *s = gpuc_new(ctx, gpuc_tir_for_node);
    *s = (gpuc_tir_for_node){.base = base(ctx, GPUC_STMT_FOR, body),
                             .var = var,
                             .min = min,
                             .extent = extent,
                             .loop = kind,
                             .tag = tag,
                             .body = body};
    return &s->base;
}

gpuc_stmt gpuc_tir_store(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *index,
                         gpuc_expr value)
{
    int lanes = gpuc_tir_index_lanes(ctx, b, n, index);
    value = as_type(ctx, value, gpuc_dtype_with_lanes(b->dtype, lanes),
                    gpuc_ctx_printf(ctx, "the value stored to '%s'", b->name));
    gpuc_tir_store_node *s = gpuc_new(ctx, gpuc_tir_store_node);
    *s = (gpuc_tir_store_node){.base = base(ctx, GPUC_STMT_STORE, NULL),
                               .buffer = b,
                               .n = n,
                               .index = gpuc_ctx_memdup(ctx, index, (size_t)n * sizeof *index),
                               .value = value};
    return &s->base;
}

gpuc_stmt gpuc_tir_store1(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_expr index, gpuc_expr value)
{
    return gpuc_tir_store(ctx, b, 1, &index, value);
}

gpuc_stmt gpuc_tir_if_(gpuc_ctx *ctx, gpuc_expr cond, gpuc_stmt then_body, gpuc_stmt else_body)
{
    cond = as_type(ctx, cond, GPUC_BOOL, "the condition of an if");
    if (gpuc_tir_is_const(cond, 1)) return then_body;
    if (gpuc_tir_is_const(cond, 0)) return else_body;
    if (!then_body && !else_body) return gpuc_tir_eval(ctx, cond);
    if (!then_body) {
        cond = gpuc_not(ctx, cond);
        then_body = else_body;
        else_body = NULL;
    }
    gpuc_tir_if_node *s = gpuc_new(ctx, gpuc_tir_if_node);
    *s = (gpuc_tir_if_node){.base = base(ctx, GPUC_STMT_IF, deeper(then_body, else_body)),
                            .cond = cond,
                            .then_body = then_body,
                            .else_body = else_body};
    return &s->base;
}

gpuc_stmt gpuc_tir_seq(gpuc_ctx *ctx, int n, const gpuc_stmt *at)
{
    int count = 0;
    gpuc_stmt only = NULL;
    if (n < 0 || (n > 0 && !at))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a sequence of %d statements, whose list is %s", n,
                   at ? "there" : "NULL");
    for (int i = 0; i < n; i++) {
        if (!at[i]) continue;
        count += at[i]->kind == GPUC_STMT_SEQ ? gpuc_as_seq(at[i])->n : 1;
        only = at[i];
    }
    if (count == 0) return NULL;
    if (count == 1) return only;
    gpuc_stmt *flat = gpuc_new_array(ctx, gpuc_stmt, count);
    gpuc_stmt deepest = NULL;
    int filled = 0;
    for (int i = 0; i < n; i++) {
        if (!at[i]) continue;
        if (at[i]->kind == GPUC_STMT_SEQ) {
            const gpuc_tir_seq_node *inner = gpuc_as_seq(at[i]);
            if (inner->n == count) return at[i];
            memcpy(flat + filled, inner->at, (size_t)inner->n * sizeof *flat);
            filled += inner->n;
        } else {
            flat[filled++] = at[i];
        }
    }
    for (int i = 0; i < count; i++) deepest = deeper(deepest, flat[i]);
    gpuc_tir_seq_node *s = gpuc_new(ctx, gpuc_tir_seq_node);
    *s = (gpuc_tir_seq_node){.base = base(ctx, GPUC_STMT_SEQ, deepest), .n = count, .at = flat};
    return &s->base;
}

gpuc_stmt gpuc_tir_seq2(gpuc_ctx *ctx, gpuc_stmt a, gpuc_stmt b)
{
    gpuc_stmt both[2] = {a, b};
    return gpuc_tir_seq(ctx, 2, both);
}

gpuc_stmt gpuc_tir_alloc(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_stmt body)
{
    if (!b) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "allocating a buffer that is NULL");
    if (!body) return NULL;
    gpuc_tir_alloc_node *s = gpuc_new(ctx, gpuc_tir_alloc_node);
    *s = (gpuc_tir_alloc_node){.base = base(ctx, GPUC_STMT_ALLOC, body), .buffer = b, .body = body};
    return &s->base;
}

gpuc_stmt gpuc_tir_let(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr value, gpuc_stmt body)
{
    check_var(ctx, var, "a let");
    value =
        as_type(ctx, value, var->dtype, gpuc_ctx_printf(ctx, "the value of '%s'", gpuc_as_var(var)->name));
    if (!body) return gpuc_tir_eval(ctx, value);
    gpuc_tir_let_node *s = gpuc_new(ctx, gpuc_tir_let_node);
    *s =
        (gpuc_tir_let_node){.base = base(ctx, GPUC_STMT_LET, body), .var = var, .value = value, .body = body};
    return &s->base;
}

gpuc_stmt gpuc_tir_eval(gpuc_ctx *ctx, gpuc_expr value)
{
    if (!value) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "evaluating an expression that is NULL");
    if (!(value->flags & GPUC_TIR_HAS_EFFECT)) return NULL;
    gpuc_tir_eval_node *s = gpuc_new(ctx, gpuc_tir_eval_node);
    *s = (gpuc_tir_eval_node){.base = base(ctx, GPUC_STMT_EVAL, NULL), .value = value};
    return &s->base;
}

gpuc_stmt gpuc_tir_attr(gpuc_ctx *ctx, const char *key, const char *text, gpuc_expr value,
                        const gpuc_tir_reducer *reducer, gpuc_stmt body)
{
    if (!key) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "an attribute whose key is NULL");
    if (!body) return NULL;
    gpuc_tir_attr_node *s = gpuc_new(ctx, gpuc_tir_attr_node);
    *s = (gpuc_tir_attr_node){.base = base(ctx, GPUC_STMT_ATTR, body),
                              .key = gpuc_ctx_strdup(ctx, key),
                              .text = text ? gpuc_ctx_strdup(ctx, text) : NULL,
                              .value = value,
                              .reducer = reducer,
                              .body = body};
    return &s->base;
}
