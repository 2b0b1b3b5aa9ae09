/* SPDX-License-Identifier: Apache-2.0 */
/* Builds Relay expressions and modules. */
#include <string.h>

#include "relay/infer.h"
#include "relay/relay.h"

static void *make(gpuc_ctx *ctx, gpuc_rexpr_kind kind, size_t size)
{
    gpuc_rexpr *e = gpuc_ctx_alloc(ctx, size);
    e->kind = kind;
    e->id = ctx->next_id++;
    e->source = "";
    return e;
}
#define MAKE(ctx, kind, T) ((T *)make((ctx), (kind), sizeof(T)))

static gpuc_rexpr *const *copy(gpuc_ctx *ctx, int n, gpuc_rexpr *const *at)
{
    return n ? gpuc_ctx_memdup(ctx, at, sizeof(gpuc_rexpr *) * (size_t)n) : NULL;
}

gpuc_rexpr *gpuc_relay_var(gpuc_ctx *ctx, const char *name, const gpuc_rtype *type)
{
    gpuc_relay_need(ctx, "a variable", "name", name);
    gpuc_rvar *v = MAKE(ctx, GPUC_REXPR_VAR, gpuc_rvar);
    v->name = gpuc_ctx_strdup(ctx, name);
    v->annotation = v->base.type = type;
    return &v->base;
}

gpuc_rexpr *gpuc_relay_global(gpuc_ctx *ctx, const char *name)
{
    gpuc_relay_need(ctx, "a global", "name", name);
    gpuc_rglobal *g = MAKE(ctx, GPUC_REXPR_GLOBAL, gpuc_rglobal);
    g->name = gpuc_ctx_strdup(ctx, name);
    return &g->base;
}

gpuc_rexpr *gpuc_relay_constant(gpuc_ctx *ctx, const gpuc_rtype *type, gpuc_const_data *data)
{
    gpuc_rconstant *c = MAKE(ctx, GPUC_REXPR_CONSTANT, gpuc_rconstant);
    c->data = data;
    c->base.type = type;
    gpuc_relay_constant_values(ctx, &c->base);
    return &c->base;
}

gpuc_rexpr *gpuc_relay_promised_constant(gpuc_ctx *ctx)
{
    gpuc_rconstant *c = MAKE(ctx, GPUC_REXPR_CONSTANT, gpuc_rconstant);
    return &c->base;
}

void gpuc_relay_keep_promise(gpuc_rexpr *promised, const gpuc_rexpr *constant)
{
    ((gpuc_rconstant *)promised)->data = gpuc_as_rconstant(constant)->data;
    promised->type = constant->type;
    promised->values = constant->values;
}

gpuc_rexpr *gpuc_relay_call(gpuc_ctx *ctx, gpuc_rexpr *callee, const gpuc_attrs *attrs, int n,
                            gpuc_rexpr *const *args)
{
    gpuc_relay_need(ctx, "a call", "callee", callee);
    gpuc_relay_need_list(ctx, gpuc_relay_get_name(callee) ? gpuc_relay_get_name(callee) : "a call",
                         "argument", n, args);
    bool kernel = callee->kind == GPUC_REXPR_FUNCTION &&
                  gpuc_attrs_get_int(gpuc_as_rfunction(callee)->attrs, "primitive", 0);
    if (attrs && attrs->count && callee->kind != GPUC_REXPR_OP && !kernel)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "the call of %s has attributes: only those of operators and primitive functions have",
                   gpuc_relay_describe(ctx, callee));
    gpuc_rcall *c = MAKE(ctx, GPUC_REXPR_CALL, gpuc_rcall);
    c->callee = callee;
    c->attrs = attrs;
    c->n = n;
    c->args = copy(ctx, n, args);
    return &c->base;
}

gpuc_rexpr *gpuc_relay_call_of_types(gpuc_ctx *ctx, gpuc_rexpr *callee, const gpuc_attrs *attrs, int n,
                                     gpuc_rexpr *const *args, int num_types, const gpuc_rtype *const *types)
{
    gpuc_rexpr *call = gpuc_relay_call(ctx, callee, attrs, n, args);
    ((gpuc_rcall *)call)->num_type_args = num_types;
    ((gpuc_rcall *)call)->type_args = types;
    return call;
}

static gpuc_rexpr *call_row(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs, int n,
                            gpuc_rexpr *const *args)
{
    gpuc_rop *o = MAKE(ctx, GPUC_REXPR_OP, gpuc_rop);
    o->op = op;
    o->name = op->name;
    gpuc_rexpr *call = gpuc_relay_call(ctx, &o->base, attrs, n, args);
    gpuc_relay_infer_call(ctx, call);
    return call;
}

/* The types and values of tensors; none if something else is among them, which inference refuses. */
static void set_types(gpuc_op_written *w, gpuc_rexpr *const *args)
{
    gpuc_tensor_type *types = gpuc_new_array(w->ctx, gpuc_tensor_type, w->num_in + 1);
    const gpuc_expr **values = gpuc_new_array(w->ctx, const gpuc_expr *, w->num_in + 1);
    for (int i = 0; i < w->num_in; i++) {
        if (!args[i]->type || args[i]->type->kind != GPUC_RTYPE_TENSOR) return;
        types[i] = args[i]->type->tensor;
        values[i] = args[i]->values;
    }
    w->in = types;
    w->in_values = values;
}

static gpuc_rexpr *columns_of(gpuc_ctx *ctx, gpuc_rexpr *e, int64_t first, int64_t n)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    gpuc_expr *sizes = gpuc_ctx_memdup(ctx, t->dims, sizeof *t->dims * (size_t)t->ndim);
    int64_t *begin = gpuc_new_array(ctx, int64_t, t->ndim), *strides = gpuc_new_array(ctx, int64_t, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        begin[i] = i == t->ndim - 1 ? first : 0;
        strides[i] = 1;
    }
    sizes[t->ndim - 1] = gpuc_int(ctx, n);
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "sizes", t->ndim, sizes);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_ints(ctx, a, "begin", t->ndim, begin), "strides", t->ndim, strides);
    return gpuc_relay_op1(ctx, "strided_slice", a, e);
}

/* What the row gets as input i of a call that is written otherwise. */
static gpuc_rexpr *input_of(gpuc_ctx *ctx, const gpuc_op_written *w, int i, gpuc_rexpr *const *args)
{
    if (i >= GPUC_OP_WRITTEN_IN) return args[i];
    const gpuc_op_input *in = &w->inputs[i];
    if (in->from < 0) {
        gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, in->constant.dtype, in->value);
        if (in->constant.ndim == 0) return one;
        const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "shape", in->constant.ndim, in->constant.dims);
        return gpuc_relay_op1(ctx, "broadcast_to", a, one);
    }
    gpuc_rexpr *e = args[in->from];
    if (in->columns) e = columns_of(ctx, e, in->first, in->columns);
    if (in->rows) e = gpuc_relay_truncate(ctx, e, 0, in->rows);
    if (in->axes)
        e = gpuc_relay_op1(ctx, "transpose", gpuc_attrs_ints(ctx, NULL, "axes", in->num_axes, in->axes), e);
    if (in->dims) e = gpuc_relay_reshape(ctx, e, in->ndim, in->dims);
    if (in->cast.bits) e = gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", in->cast), e);
    return e;
}

static gpuc_rexpr *finish(gpuc_ctx *ctx, const gpuc_op_written *w, gpuc_rexpr *call, gpuc_rexpr *const *args)
{
    if (w->out_dtype.bits && !gpuc_dtype_equal(gpuc_relay_tensor_type(call)->dtype, w->out_dtype))
        call = gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", w->out_dtype), call);
    if (w->bias >= 0)
        call = gpuc_relay_op2(ctx, "nn.bias_add", gpuc_attrs_int(ctx, NULL, "axis", w->bias_axis), call,
                              args[w->bias]);
    return call;
}

gpuc_rexpr *gpuc_relay_op(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs, int n,
                          gpuc_rexpr *const *args)
{
    gpuc_op_written w = {.ctx = ctx, .name = name, .given = attrs, .num_in = n};
    set_types(&w, args);
    gpuc_op_complete(&w);
    if (!w.changed) return call_row(ctx, w.op, w.attrs, n, args);
    gpuc_rexpr **inputs = gpuc_new_array(ctx, gpuc_rexpr *, w.num_in + 1);
    for (int i = 0; i < w.num_in; i++) inputs[i] = input_of(ctx, &w, i, args);
    return finish(ctx, &w, call_row(ctx, w.op, w.attrs, w.num_in, inputs), args);
}

gpuc_rexpr *gpuc_relay_apply(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs, int n,
                             gpuc_rexpr *const *args)
{
    gpuc_relay_need(ctx, "the call of an operator", "name", name);
    gpuc_op_get(ctx, name); /* raises where there is none */
    gpuc_rop *o = MAKE(ctx, GPUC_REXPR_OP, gpuc_rop);
    o->name = gpuc_ctx_strdup(ctx, name);
    return gpuc_relay_call(ctx, &o->base, attrs, n, args);
}

/* Text does not tell a type from a string: attributes of types become types here. */
static const gpuc_attrs *with_types(gpuc_ctx *ctx, const char *name, const gpuc_attrs *attrs)
{
    const gpuc_op *op = attrs ? gpuc_op_get(ctx, name) : NULL;
    const gpuc_attrs *out = attrs;
    for (int i = 0; attrs && i < attrs->count; i++) {
        const gpuc_attr *a = &attrs->at[i];
        const gpuc_attr_spec *spec = a->kind == GPUC_ATTR_STRING ? gpuc_op_find_spec(op, a->name) : NULL;
        if (spec && spec->kind == GPUC_ATTR_DTYPE) out = gpuc_op_parse_attr(ctx, op, out, spec, a->s);
    }
    return out;
}

void gpuc_relay_complete_call(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rcall *c = (gpuc_rcall *)e;
    const char *name = gpuc_as_rop(c->callee)->name;
    const gpuc_rexpr *done = gpuc_relay_op(ctx, name, with_types(ctx, name, c->attrs), c->n, c->args);
    const gpuc_rcall *to = gpuc_as_rcall(done);
    c->callee = to->callee;
    c->attrs = to->attrs;
    c->n = to->n;
    c->args = to->args;
    e->type = done->type;
    e->values = done->values;
}

gpuc_rexpr *gpuc_relay_op1(gpuc_ctx *ctx, const char *op, const gpuc_attrs *attrs, gpuc_rexpr *a)
{
    return gpuc_relay_op(ctx, op, attrs, 1, &a);
}

gpuc_rexpr *gpuc_relay_reshape(gpuc_ctx *ctx, gpuc_rexpr *e, int ndim, const gpuc_expr *dims)
{
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "newshape", ndim, dims);
    return gpuc_relay_op1(ctx, "reshape", gpuc_attrs_int(ctx, a, "allowzero", 1), e);
}

gpuc_rexpr *gpuc_relay_op2(gpuc_ctx *ctx, const char *op, const gpuc_attrs *attrs, gpuc_rexpr *a,
                           gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {a, b};
    return gpuc_relay_op(ctx, op, attrs, 2, args);
}

gpuc_rexpr *gpuc_relay_truncate(gpuc_ctx *ctx, gpuc_rexpr *data, int axis, gpuc_expr extent)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(data);
    gpuc_expr *sizes = gpuc_new_array(ctx, gpuc_expr, t->ndim);
    int64_t *begin = gpuc_new_array(ctx, int64_t, t->ndim), *strides = gpuc_new_array(ctx, int64_t, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = i == axis ? extent : t->dims[i];
        strides[i] = 1;
    }
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", t->ndim, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", t->ndim, sizes), "strides", t->ndim, strides);
    return gpuc_relay_op1(ctx, "strided_slice", a, data);
}

gpuc_expr gpuc_relay_read_size(gpuc_ctx *ctx, gpuc_ptrs *reads, const char *name, gpuc_rexpr *number,
                               gpuc_expr max)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(number);
    if (t->ndim || !gpuc_dtype_equal(t->dtype, GPUC_INT64))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the size '%s' is not a scalar of int64", name);
    gpuc_relay_read *r = gpuc_new(ctx, gpuc_relay_read);
    gpuc_expr symbol = gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s_%u", name, ctx->next_id++), GPUC_INDEX);
    *r = (gpuc_relay_read){.symbol = symbol, .number = number, .max = max};
    gpuc_ptrs_push(ctx, reads, r);
    return symbol;
}

gpuc_rexpr *gpuc_relay_tuple(gpuc_ctx *ctx, int n, gpuc_rexpr *const *fields)
{
    gpuc_relay_need_list(ctx, "a tuple", "field", n, fields);
    gpuc_rtuple *t = MAKE(ctx, GPUC_REXPR_TUPLE, gpuc_rtuple);
    t->n = n;
    t->fields = copy(ctx, n, fields);
    const gpuc_rtype **types = gpuc_new_array(ctx, const gpuc_rtype *, n);
    bool known = true;
    for (int i = 0; i < n; i++) known &= (types[i] = fields[i]->type) != NULL;
    if (known) t->base.type = gpuc_relay_rtype_tuple(ctx, n, types);
    return &t->base;
}

gpuc_rexpr *gpuc_relay_get(gpuc_ctx *ctx, gpuc_rexpr *tuple, int index)
{
    gpuc_relay_need(ctx, "a field", "tuple", tuple);
    int n = tuple->kind == GPUC_REXPR_TUPLE                        ? gpuc_as_rtuple(tuple)->n
            : tuple->type && tuple->type->kind == GPUC_RTYPE_TUPLE ? tuple->type->n
                                                                   : -1;
    bool other = n < 0 && tuple->type && tuple->type->kind != GPUC_RTYPE_HOLE;
    if (index < 0 || other || (n >= 0 && index >= n))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no field %d in %s%s", index,
                   gpuc_relay_describe(ctx, tuple),
                   other ? gpuc_ctx_printf(ctx, ", which is %s", gpuc_relay_rtype_text(ctx, tuple->type))
                         : "");
    if (tuple->kind == GPUC_REXPR_TUPLE) return gpuc_as_rtuple(tuple)->fields[index];
    gpuc_rget *g = MAKE(ctx, GPUC_REXPR_GET, gpuc_rget);
    g->tuple = tuple;
    g->index = index;
    if (n >= 0) g->base.type = tuple->type->at[index];
    return &g->base;
}

gpuc_rexpr *gpuc_relay_let(gpuc_ctx *ctx, gpuc_rexpr *var, gpuc_rexpr *value, gpuc_rexpr *body)
{
    gpuc_relay_need_var(ctx, "a let", var);
    gpuc_relay_need(ctx, "a let", "value", value);
    gpuc_relay_need(ctx, "a let", "body", body);
    gpuc_rlet *l = MAKE(ctx, GPUC_REXPR_LET, gpuc_rlet);
    l->var = var;
    l->value = value;
    l->body = body;
    l->base.type = body->type;
    return &l->base;
}

gpuc_rexpr *gpuc_relay_function(gpuc_ctx *ctx, int n, gpuc_rexpr *const *params, gpuc_rexpr *body,
                                const gpuc_attrs *attrs)
{
    gpuc_rexpr *f = gpuc_relay_generic_function(ctx, 0, NULL, n, params, NULL, body, attrs);
    const gpuc_rtype **types = gpuc_new_array(ctx, const gpuc_rtype *, n);
    bool known = body->type != NULL;
    for (int i = 0; i < n; i++) known &= (types[i] = params[i]->type) != NULL;
    if (known) f->type = gpuc_relay_rtype_func(ctx, n, types, body->type);
    return f;
}

gpuc_rexpr *gpuc_relay_generic_function(gpuc_ctx *ctx, int num_type_params,
                                        const gpuc_rtype *const *type_params, int n,
                                        gpuc_rexpr *const *params, const gpuc_rtype *ret, gpuc_rexpr *body,
                                        const gpuc_attrs *attrs)
{
    gpuc_relay_need_type_params(ctx, "a function", num_type_params, type_params);
    gpuc_relay_need_list(ctx, "a function", "parameter", n, params);
    gpuc_relay_need(ctx, "a function", "body", body);
    for (int i = 0; i < n; i++) gpuc_relay_need_var(ctx, "a parameter of a function", params[i]);
    for (int i = 0; attrs && i < attrs->count; i++)
        gpuc_relay_need_word(ctx, "an attribute of a function", attrs->at[i].name);
    gpuc_rfunction *f = MAKE(ctx, GPUC_REXPR_FUNCTION, gpuc_rfunction);
    f->n = n;
    f->params = copy(ctx, n, params);
    f->body = body;
    f->attrs = attrs;
    f->num_type_params = num_type_params;
    if (num_type_params)
        f->type_params = gpuc_ctx_memdup(ctx, type_params, sizeof *type_params * (size_t)num_type_params);
    f->ret = ret;
    return &f->base;
}

gpuc_rexpr *gpuc_relay_function_with(gpuc_ctx *ctx, const gpuc_rfunction *f, gpuc_rexpr *const *params,
                                     gpuc_rexpr *body)
{
    if (!f->num_type_params && !f->ret) return gpuc_relay_function(ctx, f->n, params, body, f->attrs);
    return gpuc_relay_generic_function(ctx, f->num_type_params, f->type_params, f->n, params, f->ret, body,
                                       f->attrs);
}

gpuc_rexpr *gpuc_relay_if(gpuc_ctx *ctx, gpuc_rexpr *cond, gpuc_rexpr *then_branch, gpuc_rexpr *else_branch)
{
    gpuc_relay_need(ctx, "an if", "condition", cond);
    gpuc_relay_need(ctx, "an if", "first branch", then_branch);
    gpuc_relay_need(ctx, "an if", "second branch", else_branch);
    gpuc_rif *i = MAKE(ctx, GPUC_REXPR_IF, gpuc_rif);
    i->cond = cond;
    i->then_branch = then_branch;
    i->else_branch = else_branch;
    return &i->base;
}

static void list_vars(gpuc_ctx *ctx, const gpuc_rpattern *p, gpuc_ptrs *out)
{
    if (p->var) gpuc_ptrs_push(ctx, out, p->var);
    for (int i = 0; i < p->n; i++) list_vars(ctx, &p->at[i], out);
}

gpuc_rexpr *gpuc_relay_match(gpuc_ctx *ctx, gpuc_rexpr *value, int n, const gpuc_rclause *clauses,
                             bool partial)
{
    gpuc_ptrs vars = {0};
    gpuc_relay_need(ctx, "a match", "value", value);
    if (n < 0 || (n && !clauses))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a match: %d clauses%s", n,
                   n < 0 ? "" : " in a list that is NULL");
    for (int i = 0; i < n; i++) {
        const char *doing =
            clauses[i].pattern && clauses[i].body ? "" : gpuc_ctx_printf(ctx, "clause %d of a match", i);
        gpuc_relay_need(ctx, doing, "pattern", clauses[i].pattern);
        gpuc_relay_need(ctx, doing, "body", clauses[i].body);
        list_vars(ctx, clauses[i].pattern, &vars);
    }
    gpuc_rmatch *m = MAKE(ctx, GPUC_REXPR_MATCH, gpuc_rmatch);
    m->num_vars = (int)vars.count;
    m->vars = (gpuc_rexpr *const *)vars.at;
    m->value = value;
    m->n = n;
    m->clauses = n ? gpuc_ctx_memdup(ctx, clauses, sizeof *clauses * (size_t)n) : NULL;
    m->partial = partial;
    return &m->base;
}

gpuc_rexpr *gpuc_relay_constructor(gpuc_ctx *ctx, const gpuc_constructor *c)
{
    gpuc_relay_need(ctx, "a constructor", "constructor", c);
    gpuc_rconstructor *e = MAKE(ctx, GPUC_REXPR_CONSTRUCTOR, gpuc_rconstructor);
    e->constructor = c;
    const gpuc_adt *adt = c->adt;
    const gpuc_rtype *result = gpuc_relay_rtype_adt(ctx, adt, adt->num_params, adt->params);
    e->base.type = gpuc_relay_rtype_scheme(ctx, adt->num_params, adt->params, c->n, c->fields, result);
    return &e->base;
}

/* Whether name is in the comma-separated list. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ',')) return true;
    return false;
}

gpuc_rexpr *gpuc_relay_with_source(gpuc_ctx *ctx, gpuc_rexpr *e, const char *source)
{
    if (!source || !*source || listed(e->source, source)) return e;
    e->source = *e->source ? gpuc_ctx_printf(ctx, "%s,%s", e->source, source) : gpuc_ctx_strdup(ctx, source);
    return e;
}

const gpuc_op *gpuc_relay_call_op(const gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_CALL) return NULL;
    const gpuc_rexpr *callee = gpuc_as_rcall(e)->callee;
    return callee->kind == GPUC_REXPR_OP ? gpuc_as_rop(callee)->op : NULL;
}

const gpuc_tensor_type *gpuc_relay_tensor_type(const gpuc_rexpr *e)
{
    GPUC_CHECK(e->type && e->type->kind == GPUC_RTYPE_TENSOR);
    return &e->type->tensor;
}

gpuc_rmodule *gpuc_rmodule_create(gpuc_ctx *ctx)
{
    gpuc_rmodule *m = gpuc_new(ctx, gpuc_rmodule);
    m->ctx = ctx;
    gpuc_strmap_init(&m->functions, ctx);
    gpuc_strmap_init(&m->adts, ctx);
    gpuc_strmap_init(&m->constructors, ctx);
    gpuc_strmap_init(&m->imports, ctx);
    gpuc_strmap_init(&m->defaults, ctx);
    gpuc_strmap_init(&m->input_images, ctx);
    gpuc_strmap_init(&m->output_images, ctx);
    return m;
}

void gpuc_rmodule_set_main(gpuc_rmodule *m, int num_params, gpuc_rexpr *const *params, int n,
                           gpuc_rexpr *const *outputs, const gpuc_ptrs *reads)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_ptrs fields = {0};
    for (int i = 0; i < n; i++) {
        bool tuple = reads && reads->count && outputs[i]->type && outputs[i]->type->kind == GPUC_RTYPE_TUPLE;
        if (!tuple) gpuc_ptrs_push(ctx, &fields, outputs[i]);
        for (int k = 0; tuple && k < outputs[i]->type->n; k++)
            gpuc_ptrs_push(ctx, &fields, gpuc_relay_get(ctx, outputs[i], k));
    }
    if (reads) m->reads = *reads;
    for (size_t i = 0; i < m->reads.count; i++)
        gpuc_ptrs_push(ctx, &fields, ((gpuc_relay_read *)m->reads.at[i])->number);
    gpuc_rexpr *body = fields.count == 1
                           ? fields.at[0]
                           : gpuc_relay_tuple(ctx, (int)fields.count, (gpuc_rexpr *const *)fields.at);
    gpuc_strmap_set(&m->functions, "main", gpuc_relay_function(ctx, num_params, params, body, NULL));
}

int gpuc_rmodule_num_outputs(const gpuc_rmodule *m)
{
    const gpuc_rexpr *body = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body;
    return body->type->kind == GPUC_RTYPE_TUPLE ? body->type->n - (int)m->reads.count : 1;
}

const char *gpuc_rmodule_output_name(const gpuc_rmodule *m, int i)
{
    return i < m->num_outputs ? m->output_names[i] : gpuc_ctx_printf(m->ctx, "output%d", i);
}

gpuc_rexpr *gpuc_rmodule_get(const gpuc_rmodule *m, const char *name)
{
    gpuc_relay_need(m->ctx, "a module", "name of a function", name);
    gpuc_rexpr *f = gpuc_strmap_get(&m->functions, name);
    if (!f)
        gpuc_raise(m->ctx, GPUC_NOT_FOUND, "the module has no function '%s'%s", name,
                   strcmp(name, "main") ? "" : ": write 'def @main(...) { ... }', where a program begins");
    return f;
}

void gpuc_rmodule_add_adt(gpuc_rmodule *m, gpuc_adt *adt)
{
    const gpuc_adt *there = gpuc_strmap_get(&m->adts, adt->name);
    if (there && (there != adt || there->is_defined))
        gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "the module has a type '%s' already", adt->name);
    for (int i = 0; i < adt->n; i++) {
        const gpuc_constructor *c = &adt->constructors[i], *same = gpuc_strmap_get(&m->constructors, c->name);
        if (same)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "'%s' is a constructor of %s already", c->name,
                       same->adt->name);
    }
    for (int i = 0; i < adt->n; i++)
        gpuc_strmap_set(&m->constructors, adt->constructors[i].name, (void *)&adt->constructors[i]);
    adt->is_defined = true;
    gpuc_strmap_set(&m->adts, adt->name, adt);
}
