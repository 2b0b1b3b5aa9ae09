/* SPDX-License-Identifier: Apache-2.0 */
/* Compares expressions but for the names of what is bound in them: both are written down node by node, each once and by
 * number, so that what is shared must be shared in both, and the texts are compared. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "relay/infer.h"
#include "relay/relay.h"

typedef struct writer {
    gpuc_ctx *ctx;
    gpuc_buf out;
    gpuc_map bound;      /* variables and type parameters that are bound inside */
    gpuc_map numbers;    /* of those, and of nodes, by first mention */
    gpuc_ptrs constants; /* as they are mentioned */
} writer;

static uintptr_t number_of(writer *w, const void *key)
{
    uintptr_t n = (uintptr_t)gpuc_map_get(&w->numbers, key);
    if (!n) gpuc_map_set(&w->numbers, key, (void *)(n = w->numbers.count + 1));
    return n;
}

/* ---- Types ---- */

static void write_type(writer *w, const gpuc_rtype *t);

static void write_types(writer *w, int n, const gpuc_rtype *const *at)
{
    gpuc_buf_printf(&w->out, "%d(", n);
    for (int i = 0; i < n; i++) write_type(w, at[i]);
    gpuc_buf_str(&w->out, ")");
}

static void bind_types(writer *w, int n, const gpuc_rtype *const *params)
{
    for (int i = 0; i < n; i++) gpuc_map_set(&w->bound, params[i], w);
}

/* Its depth is bounded. */
static void write_type(writer *w, const gpuc_rtype *t)
{
    if (!t) {
        gpuc_buf_str(&w->out, "_ ");
        return;
    }
    switch (t->kind) {
    case GPUC_RTYPE_TENSOR: gpuc_relay_rtype_print(w->ctx, &w->out, t); break;
    case GPUC_RTYPE_TUPLE: write_types(w, t->n, t->at); break;
    case GPUC_RTYPE_FUNC:
        bind_types(w, t->num_params, t->params);
        gpuc_buf_printf(&w->out, "fn %d", t->num_params);
        for (int i = 0; i < t->num_params; i++) number_of(w, t->params[i]);
        write_types(w, t->n, t->at);
        write_type(w, t->ret);
        break;
    case GPUC_RTYPE_ADT:
        gpuc_buf_printf(&w->out, "%s ", t->adt->name);
        write_types(w, t->n, t->at);
        break;
    case GPUC_RTYPE_VAR:
        if (gpuc_map_has(&w->bound, t))
            gpuc_buf_printf(&w->out, "'%" PRIuPTR " ", number_of(w, t));
        else
            gpuc_buf_printf(&w->out, "'%s ", t->name);
        break;
    case GPUC_RTYPE_HOLE: write_type(w, t->hole->is); break;
    case GPUC_RTYPE_KIND_COUNT: break;
    }
    gpuc_buf_str(&w->out, " ");
}

/* ---- Attributes ---- */

static void write_attr(writer *w, const gpuc_attr *a)
{
    gpuc_buf *out = &w->out;
    char name[24];
    gpuc_buf_printf(out, "%s %d=", a->name, (int)a->kind);
    switch (a->kind) {
    case GPUC_ATTR_INT: gpuc_buf_printf(out, "%" PRId64, a->i); break;
    case GPUC_ATTR_FLOAT: gpuc_buf_printf(out, "%a", a->f); break;
    case GPUC_ATTR_STRING: gpuc_buf_printf(out, "%zu:%s", strlen(a->s), a->s); break;
    case GPUC_ATTR_DTYPE: gpuc_buf_str(out, gpuc_dtype_name(a->dtype, name)); break;
    case GPUC_ATTR_INTS:
        for (int i = 0; i < a->n; i++)
            gpuc_buf_printf(out, "%s,", gpuc_expr_text(w->ctx, gpuc_attr_size(w->ctx, a, i)));
        break;
    case GPUC_ATTR_FLOATS:
        for (int i = 0; i < a->n; i++) gpuc_buf_printf(out, "%a,", a->floats[i]);
        break;
    case GPUC_ATTR_KIND_COUNT: break;
    }
    gpuc_buf_str(out, " ");
}

static void write_attrs(writer *w, const gpuc_attrs *attrs)
{
    for (int i = 0; attrs && i < attrs->count; i++) write_attr(w, &attrs->at[i]);
}

/* ---- Expressions ---- */

/* Operators, globals, constructors and constants are what they are, wherever they stand. */
static void mention(writer *w, gpuc_rexpr *e)
{
    switch ((int)e->kind) {
    case GPUC_REXPR_OP: gpuc_buf_printf(&w->out, "op %s ", gpuc_as_rop(e)->name); break;
    case GPUC_REXPR_GLOBAL: gpuc_buf_printf(&w->out, "@%s ", gpuc_as_rglobal(e)->name); break;
    case GPUC_REXPR_CONSTRUCTOR:
        gpuc_buf_printf(&w->out, "%s ", gpuc_as_rconstructor(e)->constructor->name);
        break;
    case GPUC_REXPR_CONSTANT:
        gpuc_ptrs_push(w->ctx, &w->constants, e);
        gpuc_buf_str(&w->out, "constant ");
        write_type(w, e->type);
        break;
    case GPUC_REXPR_VAR:
        if (!gpuc_map_has(&w->bound, e)) {
            gpuc_buf_printf(&w->out, "%%%s.%" PRIu32 " ", gpuc_as_rvar(e)->name, e->id);
            break;
        }
        __attribute__((fallthrough));
    default: gpuc_buf_printf(&w->out, "#%" PRIuPTR " ", number_of(w, e));
    }
}

static void bind(writer *w, gpuc_rexpr *var)
{
    mention(w, var);
    write_type(w, gpuc_as_rvar(var)->annotation);
}

static void write_pattern(writer *w, const gpuc_rpattern *p)
{
    gpuc_buf_printf(&w->out, "%s%s%d(", p->tuple ? "tuple " : "", p->constructor ? p->constructor->name : "",
                    p->n);
    if (p->var) bind(w, p->var);
    for (int i = 0; i < p->n; i++) write_pattern(w, &p->at[i]);
    gpuc_buf_str(&w->out, ")");
}

static void write_function(writer *w, const gpuc_rfunction *f)
{
    gpuc_buf_printf(&w->out, "%d type parameters ", f->num_type_params);
    for (int i = 0; i < f->num_type_params; i++) number_of(w, f->type_params[i]);
    for (int i = 0; i < f->n; i++) bind(w, f->params[i]);
    write_type(w, f->ret);
    write_attrs(w, f->attrs);
    mention(w, f->body);
}

static void write_match(writer *w, const gpuc_rmatch *m)
{
    mention(w, m->value);
    gpuc_buf_str(&w->out, m->partial ? "partial " : "");
    for (int i = 0; i < m->n; i++) {
        write_pattern(w, m->clauses[i].pattern);
        mention(w, m->clauses[i].body);
    }
}

static void write_node(writer *w, gpuc_rexpr *e)
{
    gpuc_rexpr *part;
    bool is_leaf = e->kind == GPUC_REXPR_OP || e->kind == GPUC_REXPR_GLOBAL ||
                   e->kind == GPUC_REXPR_CONSTRUCTOR || e->kind == GPUC_REXPR_CONSTANT ||
                   e->kind == GPUC_REXPR_VAR;
    if (is_leaf) return;
    mention(w, e);
    gpuc_buf_printf(&w->out, "= %d ", (int)e->kind);
    if (e->kind == GPUC_REXPR_FUNCTION) {
        write_function(w, gpuc_as_rfunction(e));
    } else if (e->kind == GPUC_REXPR_MATCH) {
        write_match(w, gpuc_as_rmatch(e));
    } else {
        if (e->kind == GPUC_REXPR_LET) bind(w, gpuc_as_rlet(e)->var);
        if (e->kind == GPUC_REXPR_GET) gpuc_buf_printf(&w->out, ".%d ", gpuc_as_rget(e)->index);
        if (e->kind == GPUC_REXPR_CALL) {
            write_attrs(w, gpuc_as_rcall(e)->attrs);
            write_types(w, gpuc_as_rcall(e)->num_type_args, gpuc_as_rcall(e)->type_args);
        }
        for (int i = 0; (part = gpuc_relay_operand(e, i)); i++) mention(w, part);
    }
    gpuc_buf_str(&w->out, "\n");
}

static void find_bound(writer *w, gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_LET) gpuc_map_set(&w->bound, gpuc_as_rlet(e)->var, w);
    if (e->kind == GPUC_REXPR_FUNCTION) {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        for (int i = 0; i < f->n; i++) gpuc_map_set(&w->bound, f->params[i], w);
        bind_types(w, f->num_type_params, f->type_params);
    }
    if (e->kind == GPUC_REXPR_MATCH)
        for (int i = 0; i < gpuc_as_rmatch(e)->num_vars; i++)
            gpuc_map_set(&w->bound, gpuc_as_rmatch(e)->vars[i], w);
}

static void write(writer *w, gpuc_ctx *ctx, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_relay_need(ctx, "comparing expressions", "expression", root);
    *w = (writer){.ctx = ctx};
    gpuc_buf_init(&w->out, ctx->allocator);
    gpuc_map_init(&w->bound, ctx);
    gpuc_map_init(&w->numbers, ctx);
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) find_bound(w, order.at[i]);
    for (size_t i = 0; i < order.count; i++) write_node(w, order.at[i]);
    mention(w, root);
}

static bool same_constants(const writer *a, const writer *b)
{
    if (a->constants.count != b->constants.count) return false;
    for (size_t i = 0; i < a->constants.count; i++) {
        const gpuc_const_data *x = gpuc_as_rconstant(a->constants.at[i])->data,
                              *y = gpuc_as_rconstant(b->constants.at[i])->data;
        if (x != y && (x->size != y->size || memcmp(x->bytes, y->bytes, x->size) != 0)) return false;
    }
    return true;
}

bool gpuc_relay_equal(gpuc_ctx *ctx, const gpuc_rexpr *a, const gpuc_rexpr *b)
{
    writer x, y;
    write(&x, ctx, (gpuc_rexpr *)a);
    write(&y, ctx, (gpuc_rexpr *)b);
    bool same =
        x.out.size == y.out.size && !memcmp(x.out.data, y.out.data, x.out.size) && same_constants(&x, &y);
    gpuc_buf_deinit(&x.out);
    gpuc_buf_deinit(&y.out);
    return same;
}

uint64_t gpuc_relay_hash(gpuc_ctx *ctx, const gpuc_rexpr *e)
{
    writer w;
    write(&w, ctx, (gpuc_rexpr *)e);
    uint64_t hash = gpuc_hash_bytes(w.out.data, w.out.size, 0);
    for (size_t i = 0; i < w.constants.count; i++) {
        const gpuc_const_data *d = gpuc_as_rconstant(w.constants.at[i])->data;
        hash = gpuc_hash_bytes(d->bytes, d->size, hash);
    }
    gpuc_buf_deinit(&w.out);
    return hash;
}
