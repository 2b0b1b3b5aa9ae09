/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation on cooperative matrices is, told by its loops. */
#include <string.h>

#include "tir/tir.h"

bool gpuc_tir_is_coopmat(gpuc_stmt s)
{
    return s->kind == GPUC_STMT_ATTR && strcmp(gpuc_as_attr(s)->key, "coopmat") == 0;
}

static bool is_matrix(const gpuc_tir_buffer *b)
{
    return b->scope == GPUC_SCOPE_COOPMAT;
}

static bool uses(gpuc_ctx *ctx, int n, const gpuc_expr *index, const gpuc_tir_for_node *loop)
{
    bool found = false;
    for (int i = 0; i < n; i++) found = found || gpuc_tir_uses_var(ctx, index[i], loop->var);
    return found;
}

/* Whether an access depends on exactly the loops in wanted, of which bit i is loop i. */
static bool runs_along(gpuc_ctx *ctx, const gpuc_tir_coopmat *m, int n, const gpuc_expr *index, int wanted)
{
    for (int i = 0; i < m->num_loops; i++)
        if (uses(ctx, n, index, m->loop[i]) != (wanted >> i & 1)) return false;
    return true;
}

static gpuc_expr without_cast(gpuc_expr e)
{
    return e->kind == GPUC_EXPR_CAST ? gpuc_as_cast(e)->a : e;
}

enum { ROWS = 1, COLUMNS = 2, STEPS = 4 };

static bool find_factor(gpuc_ctx *ctx, gpuc_tir_coopmat *m, gpuc_expr e)
{
    e = without_cast(e);
    if (e->kind != GPUC_EXPR_LOAD || !is_matrix(gpuc_as_load(e)->buffer)) return false;
    const gpuc_tir_load_node *load = gpuc_as_load(e);
    for (int i = 0; i < 2; i++) {
        if (m->factor[i] || !runs_along(ctx, m, load->n, load->index, (i ? COLUMNS : ROWS) | STEPS)) continue;
        m->factor[i] = load;
        return true;
    }
    return false;
}

static bool is_same_element(const gpuc_tir_store_node *store, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_LOAD || gpuc_as_load(e)->buffer != store->buffer) return false;
    for (int i = 0; i < store->n; i++)
        if (gpuc_as_load(e)->index[i] != store->index[i]) return false;
    return true;
}

static bool find_product(gpuc_ctx *ctx, gpuc_tir_coopmat *m, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP || gpuc_as_op(e)->op != GPUC_TIR_ADD) return false;
    for (int i = 0; i < 2; i++) {
        gpuc_expr sum = gpuc_as_op(e)->a[i], product = gpuc_as_op(e)->a[1 - i];
        if (!is_same_element(m->store, sum)) continue;
        return product->kind == GPUC_EXPR_OP && gpuc_as_op(product)->op == GPUC_TIR_MUL &&
               find_factor(ctx, m, gpuc_as_op(product)->a[0]) &&
               find_factor(ctx, m, gpuc_as_op(product)->a[1]);
    }
    return false;
}

const char *gpuc_tir_coopmat_of(gpuc_ctx *ctx, const gpuc_tir_attr_node *n, gpuc_tir_coopmat *out)
{
    *out = (gpuc_tir_coopmat){0};
    gpuc_stmt s = n->body;
    for (; s && s->kind == GPUC_STMT_FOR; s = gpuc_as_for(s)->body) {
        const gpuc_tir_for_node *loop = gpuc_as_for(s);
        if (out->num_loops == 3) return "has more than three loops";
        if (!gpuc_tir_is_const(loop->min, 0) || !gpuc_expr_is_int(loop->extent, &out->extent[out->num_loops]))
            return "has a loop that does not run from 0 to a constant";
        if (loop->loop != GPUC_LOOP_SERIAL) return "has a loop that is not serial";
        out->loop[out->num_loops++] = loop;
    }
    if (!s || s->kind != GPUC_STMT_STORE) return "is not loops around one store";
    if (out->num_loops < 2) return "has fewer than two loops";
    const gpuc_tir_store_node *store = out->store = gpuc_as_store(s);
    bool to_matrix = is_matrix(store->buffer);
    if (!runs_along(ctx, out, store->n, store->index, ROWS | COLUMNS))
        return "does not store one element for each row and column";
    if (out->num_loops == 3) {
        out->kind = GPUC_COOPMAT_MULTIPLY;
        return to_matrix && find_product(ctx, out, store->value) ? NULL : "is no sum of products of matrices";
    }
    if (to_matrix && !(store->value->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT))) {
        out->kind = GPUC_COOPMAT_FILL;
        return runs_along(ctx, out, 1, &store->value, 0) ? NULL : "fills a matrix with different values";
    }
    if (store->value->kind != GPUC_EXPR_LOAD) return "computes what it moves";
    out->load = gpuc_as_load(store->value);
    out->kind = to_matrix ? GPUC_COOPMAT_LOAD : GPUC_COOPMAT_STORE;
    if (to_matrix == is_matrix(out->load->buffer)) return "does not move a matrix from or to memory";
    return runs_along(ctx, out, out->load->n, out->load->index, ROWS | COLUMNS)
               ? NULL
               : "does not read one element for each row and column";
}
