/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/element.h"

gpuc_tir_value ref_read(gpuc_dtype t, const void *data, int64_t at)
{
    gpuc_tir_value v = {0};
    uint64_t bits = 0;
    size_t bytes = gpuc_dtype_bytes(t);
    const char *from = (const char *)data + (size_t)at * bytes;
    memcpy(&bits, from, bytes);
    if (gpuc_is_float(t))
        v.f = gpuc_float_load(t, from);
    else
        v.i = gpuc_tir_wrap(t, (int64_t)bits);
    return v;
}

void ref_write(gpuc_dtype t, void *data, int64_t at, gpuc_tir_value v)
{
    uint64_t bits = gpuc_is_float(t) ? gpuc_float_bits(t, v.f) : (uint64_t)v.i;
    size_t bytes = gpuc_dtype_bytes(t);
    memcpy((char *)data + (size_t)at * bytes, &bits, bytes);
}

static void set_var(ref_run *r, gpuc_expr var, gpuc_tir_value v)
{
    int i = 0;
    while (i < r->num_vars && r->vars[i] != var) i++;
    GPUC_CHECK(i < REF_MAX_VARS);
    if (i == r->num_vars) r->vars[r->num_vars++] = var;
    r->values[i] = v;
}

static gpuc_tir_value eval(ref_run *r, gpuc_expr e);

static int64_t flat_index(ref_run *r, const gpuc_tir_buffer *b, int n, const gpuc_expr *index)
{
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        int64_t size = eval(r, b->shape[i]).i, v = eval(r, index[i]).i;
        if (v < 0 || v >= size) r->out_of_range = true;
        at = at * size + (v < 0 || v >= size ? 0 : v);
    }
    return at;
}

static void *data_of(ref_run *r, const gpuc_tir_buffer *b)
{
    for (int i = 0; i < r->num_buffers; i++)
        if (r->buffers[i] == b) return r->data[i];
    GPUC_CHECK(!"a buffer that does not exist");
    return NULL;
}

static gpuc_tir_value eval(ref_run *r, gpuc_expr e)
{
    gpuc_tir_value v[3] = {{0}};
    if (e->kind == GPUC_EXPR_INT) {
        v[0].i = gpuc_as_int(e)->value;
    } else if (e->kind == GPUC_EXPR_FLOAT) {
        v[0].f = gpuc_as_float(e)->value;
    } else if (e->kind == GPUC_EXPR_VAR) {
        for (int i = 0; i < r->num_vars; i++)
            if (r->vars[i] == e) return r->values[i];
        GPUC_CHECK(!"a variable without a value");
    } else if (e->kind == GPUC_EXPR_CAST) {
        gpuc_expr a = gpuc_as_cast(e)->a;
        return gpuc_tir_convert(e->dtype, a->dtype, eval(r, a));
    } else if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *l = gpuc_as_load(e);
        int64_t at = flat_index(r, l->buffer, l->n, l->index);
        return ref_read(e->dtype, data_of(r, l->buffer), at);
    } else {
        const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
        int arity = gpuc_tir_ops[o->op].arity;
        if (o->op == GPUC_TIR_IF_THEN_ELSE) return eval(r, o->a[eval(r, o->a[0]).i ? 1 : 2]);
        for (int i = 0; i < arity; i++) v[i] = eval(r, o->a[i]);
        return gpuc_tir_apply(o->op, o->a[arity - 1]->dtype, v);
    }
    return v[0];
}

int64_t ref_elements(const gpuc_tir_buffer *b)
{
    int64_t n = 1, size;
    for (int i = 0; i < b->ndim; i++) {
        GPUC_CHECK(gpuc_expr_is_int(b->shape[i], &size));
        n *= size;
    }
    return n;
}

static void run(ref_run *r, gpuc_stmt s)
{
    if (!s) return;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        int64_t min = eval(r, n->min).i, extent = eval(r, n->extent).i;
        for (int64_t i = 0; i < extent; i++) {
            set_var(r, n->var, (gpuc_tir_value){.i = gpuc_tir_wrap(n->var->dtype, min + i)});
            run(r, n->body);
        }
        return;
    }
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        gpuc_tir_value v = eval(r, n->value);
        int64_t at = flat_index(r, n->buffer, n->n, n->index);
        ref_write(n->buffer->dtype, data_of(r, n->buffer), at, v);
        return;
    }
    case GPUC_STMT_IF:
        run(r, eval(r, gpuc_as_if(s)->cond).i ? gpuc_as_if(s)->then_body : gpuc_as_if(s)->else_body);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) run(r, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC: {
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        int k = r->num_buffers++;
        GPUC_CHECK(k < REF_MAX_BUFFERS);
        r->buffers[k] = b;
        r->data[k] = calloc((size_t)ref_elements(b) + 1, gpuc_dtype_bytes(b->dtype));
        run(r, gpuc_as_alloc(s)->body);
        free(r->data[k]);
        r->num_buffers--;
        return;
    }
    case GPUC_STMT_LET:
        set_var(r, gpuc_as_let(s)->var, eval(r, gpuc_as_let(s)->value));
        run(r, gpuc_as_let(s)->body);
        return;
    case GPUC_STMT_EVAL: eval(r, gpuc_as_eval(s)->value); return;
    case GPUC_STMT_ATTR: run(r, gpuc_as_attr(s)->body); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

void ref_function(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_arg *args, const int64_t *scalars)
{
    ref_run r = {.ctx = ctx};
    for (int i = 0; i < f->num_scalars; i++) set_var(&r, f->scalars[i], (gpuc_tir_value){.i = scalars[i]});
    for (int i = 0; i < f->num_buffers; i++) {
        r.buffers[r.num_buffers] = f->buffers[i];
        r.data[r.num_buffers++] = args[i].data;
    }
    run(&r, f->body);
    GPUC_CHECK(!r.out_of_range);
}
