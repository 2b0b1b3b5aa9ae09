/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on values: by their definitions, lowered without a schedule and run by the evaluator. What was lowered is
 * kept, by the call and the extents of its inputs. */
#include <string.h>

#include "relay_eval/eval.h"
#include "relay_pass/common/dynamic.h"
#include "te/te.h"

/* Kernels that are kept; when there are more, as for a list of growing tensors, all are made again. */
enum { MAX_KERNELS = 512, BUCKETS = 1024 };

typedef struct output {
    gpuc_dtype dtype;
    int ndim, copies; /* the input that it is; -1: it is computed */
    const int64_t *dims;
    const void *known; /* its elements, where inference knows them; or NULL */
} output;

typedef struct kernel {
    struct kernel *next; /* in its bucket */
    const gpuc_rexpr *call;
    size_t key_size;
    gpuc_relay_eval_scalar *scalar; /* then ctx is NULL */
    gpuc_dtype scalar_type;
    gpuc_ctx *ctx;             /* which the rest lives in */
    const gpuc_tir_func *func; /* NULL: no output is computed */
    int num_out;
    bool tuple;
    const output *outputs;
    int64_t key[];
} kernel;

struct gpuc_relay_eval_kernels {
    kernel *buckets[BUCKETS];
    int count;
    uint32_t generation; /* how often all were dropped */
    int64_t *key;        /* of the call at hand */
    size_t key_size, key_capacity;
};

struct gpuc_relay_eval_site {
    gpuc_rexpr *e;
    bool by_value, symbolic; /* by_value: the values of small integer inputs decide the result's type */
    const gpuc_op_dynamic *dynamic; /* the elements of its inputs of extents do; NULL: it has none */
    kernel *last;
    uint32_t generation; /* when last was set */
};

/* ---- The cache ---- */

static size_t kernel_bytes(size_t key_size)
{
    return sizeof(kernel) + sizeof(int64_t) * key_size;
}

static void destroy_kernel(gpuc_allocator a, kernel *k)
{
    gpuc_relay_eval_scalar_destroy(a, k->scalar);
    gpuc_ctx_destroy(k->ctx);
    gpuc_mem_free(a, k, kernel_bytes(k->key_size));
}

static void drop_all(gpuc_relay_interpreter *i)
{
    gpuc_relay_eval_kernels *all = i->kernels;
    for (int b = 0; b < BUCKETS; b++)
        while (all->buckets[b]) {
            kernel *k = all->buckets[b];
            all->buckets[b] = k->next;
            destroy_kernel(i->ctx->allocator, k);
        }
    all->count = 0;
    all->generation++;
}

void gpuc_relay_eval_kernels_destroy(gpuc_relay_interpreter *i)
{
    if (!i->kernels) return;
    drop_all(i);
    gpuc_mem_free(i->ctx->allocator, i->kernels->key, sizeof(int64_t) * i->kernels->key_capacity);
    gpuc_mem_free(i->ctx->allocator, i->kernels, sizeof *i->kernels);
    i->kernels = NULL;
}

gpuc_relay_eval_site *gpuc_relay_eval_site_create(gpuc_relay_interpreter *i, const gpuc_rexpr *call)
{
    gpuc_relay_eval_site *s = gpuc_new(i->ctx, gpuc_relay_eval_site);
    s->e = (gpuc_rexpr *)call;
    s->symbolic = gpuc_attrs_symbolic(gpuc_as_rcall(call)->attrs);
    if (!gpuc_relay_call_op(call))
        gpuc_relay_eval_fail(i, GPUC_INVALID_ARGUMENT, call, "the call has no type yet");
    s->dynamic = gpuc_relay_pass_dynamic(call);
    if (!i->kernels) i->kernels = gpuc_mem_alloc(i->ctx->allocator, sizeof *i->kernels);
    if (!i->kernels) gpuc_relay_eval_no_memory(i, call);
    return s;
}

static void add_to_key(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s, int64_t v)
{
    gpuc_relay_eval_kernels *all = i->kernels;
    if (all->key_size == all->key_capacity) {
        size_t larger = all->key_capacity ? 2 * all->key_capacity : 64;
        int64_t *key = gpuc_mem_alloc(i->ctx->allocator, sizeof *key * larger);
        if (!key) gpuc_relay_eval_no_memory(i, s->e);
        if (all->key_size) memcpy(key, all->key, sizeof *key * all->key_size);
        gpuc_mem_free(i->ctx->allocator, all->key, sizeof *key * all->key_capacity);
        all->key = key;
        all->key_capacity = larger;
    }
    all->key[all->key_size++] = v;
}

static int64_t count_of(const gpuc_relay_value *v)
{
    return (int64_t)(v->size / gpuc_dtype_bytes(v->dtype));
}

/* Does inference follow the values of such a tensor? */
static bool has_values(const gpuc_relay_value *v)
{
    return !gpuc_is_float(v->dtype) && count_of(v) <= GPUC_OP_MAX_VALUES;
}

static bool is_extents(const gpuc_relay_eval_site *s, int input)
{
    return s->dynamic && gpuc_op_dynamic_at(s->dynamic, input) >= 0;
}

/* Of a real number the bits. */
static int64_t value_at(const gpuc_relay_value *v, int64_t k)
{
    const char *at = gpuc_relay_eval_data(v);
    return gpuc_relay_read_integer(at + (size_t)k * gpuc_dtype_bytes(v->dtype), v->dtype);
}

/* ---- Symbols ---- */

/* What a size, a name or what is computed of them, is where a dimension of an argument is that; -1: none is. */
static int64_t size_in_args(const gpuc_relay_eval_site *s, gpuc_relay_value *const *args, gpuc_expr size)
{
    const gpuc_rcall *c = gpuc_as_rcall(s->e);
    int64_t found = -1;
    for (int k = 0; k < c->n && found < 0; k++)
        found = gpuc_relay_eval_symbol_in(args[k], c->args[k]->type, size);
    return found;
}

static int64_t symbol_value(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s,
                            gpuc_relay_value *const *args, gpuc_expr symbol)
{
    const gpuc_relay_eval_frame *f = &i->frames[i->num_frames - 1];
    const gpuc_map *vars = &f->code->regs;
    int64_t found = size_in_args(s, args, symbol);
    for (uint32_t k = 0; k < vars->count && found < 0; k++) {
        const gpuc_rexpr *e = vars->entries[k].key;
        size_t reg = (uintptr_t)vars->entries[k].value - 1;
        found = gpuc_relay_eval_symbol_in(i->regs[f->regs + reg], e->type, symbol);
    }
    if (found < 0)
        gpuc_relay_eval_fail(i, GPUC_INVALID_ARGUMENT, s->e, "%s: nothing says what the size %s is",
                             gpuc_relay_call_op(s->e)->name,
                             gpuc_relay_is_any_dim(symbol) ? "?" : gpuc_expr_text(i->ctx, symbol));
    return found;
}

/* Sizes are evaluated without memory: a call may come a million times. */
static int64_t size_value(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s,
                          gpuc_relay_value *const *args, gpuc_expr e)
{
    int64_t v;
    if (gpuc_expr_is_int(e, &v)) return v;
    if (e->kind == GPUC_EXPR_VAR) return symbol_value(i, s, args, e);
    if (e->kind == GPUC_EXPR_CAST) return size_value(i, s, args, gpuc_as_cast(e)->a);
    if (e->kind == GPUC_EXPR_OP) {
        const gpuc_tir_opexpr_node *n = (const gpuc_tir_opexpr_node *)e;
        int arity = gpuc_tir_ops[n->op].arity;
        gpuc_tir_value a[3] = {{0}};
        if ((v = size_in_args(s, args, e)) >= 0) return v;
        for (int k = 0; k < arity; k++) a[k].i = size_value(i, s, args, n->a[k]);
        return gpuc_tir_apply(n->op, n->a[arity - 1]->dtype, a).i;
    }
    gpuc_relay_eval_fail(i, GPUC_UNSUPPORTED, s->e, "the size %s is no number", gpuc_expr_text(i->ctx, e));
}

/* The call's attributes with numbers for symbols. */
static const gpuc_attrs *known_attrs(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s,
                                     gpuc_relay_value *const *args)
{
    const gpuc_attrs *attrs = gpuc_as_rcall(s->e)->attrs, *out = attrs;
    for (int k = 0; s->symbolic && k < attrs->count; k++) {
        const gpuc_attr *a = &attrs->at[k];
        if (a->kind != GPUC_ATTR_INTS || !a->sizes) continue;
        int64_t *ints = gpuc_new_array(i->ctx, int64_t, a->n + 1);
        for (int d = 0; d < a->n; d++) ints[d] = size_value(i, s, args, a->sizes[d]);
        out = gpuc_attrs_ints(i->ctx, out, a->name, a->n, ints);
    }
    return out;
}

static void make_key(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s, gpuc_relay_value *const *args)
{
    const gpuc_rcall *c = gpuc_as_rcall(s->e);
    i->kernels->key_size = 0;
    for (int k = 0; k < c->n; k++) {
        const gpuc_relay_value *v = args[k];
        if (v->kind != GPUC_RELAY_TENSOR)
            gpuc_relay_eval_fail(i, GPUC_INTERNAL, s->e, "input %d is no tensor", k);
        add_to_key(i, s, v->n);
        for (int d = 0; d < v->n; d++) add_to_key(i, s, v->at.dims[d]);
        bool by_value = (s->by_value && has_values(v)) || is_extents(s, k);
        for (int64_t d = 0; by_value && d < count_of(v); d++) add_to_key(i, s, value_at(v, d));
    }
    for (int k = 0; s->symbolic && k < c->attrs->count; k++) {
        const gpuc_attr *a = &c->attrs->at[k];
        for (int d = 0; a->kind == GPUC_ATTR_INTS && a->sizes && d < a->n; d++)
            add_to_key(i, s, size_value(i, s, args, a->sizes[d]));
    }
}

/* ---- Making kernels, in a context of their own ---- */

typedef struct making {
    gpuc_relay_interpreter *i;
    gpuc_relay_eval_site *s;
    gpuc_relay_value *const *args;
    const gpuc_attrs *attrs;
    kernel *k;
    bool unknown; /* the result's type was not found */
} making;

static gpuc_rexpr *parameter(gpuc_ctx *ctx, const making *m, int k)
{
    const gpuc_relay_value *v = m->args[k];
    gpuc_rexpr *e = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "in%d", k),
                                   gpuc_relay_rtype_tensor_static(ctx, v->dtype, v->n, v->at.dims));
    if (!m->s->by_value || !has_values(v)) return e;
    gpuc_expr *values = gpuc_new_array(ctx, gpuc_expr, count_of(v) + 1);
    for (int64_t d = 0; d < count_of(v); d++) values[d] = gpuc_int(ctx, value_at(v, d));
    e->values = values;
    return e;
}

/* The call with the elements of inputs of extents as attributes. */
static gpuc_rexpr *static_call(gpuc_ctx *ctx, const making *m, gpuc_rexpr *const *params, gpuc_rexpr *call)
{
    int n = gpuc_as_rcall(call)->n;
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, params, sizeof *args * (size_t)n);
    for (int k = 0; k < n; k++) {
        const gpuc_relay_value *v = m->args[k];
        if (is_extents(m->s, k))
            args[k] = gpuc_relay_const_bytes(ctx, v->dtype, v->n, v->at.dims, gpuc_relay_eval_data(v));
    }
    const gpuc_rcall *c = gpuc_as_rcall(call);
    call = gpuc_relay_call(ctx, c->callee, c->attrs, n, args);
    gpuc_relay_infer_call(ctx, call); /* says what does not fit */
    return gpuc_relay_pass_write_static(ctx, call);
}

static const gpuc_rtype *output_type(const gpuc_rexpr *e, int k)
{
    return e->type->kind == GPUC_RTYPE_TUPLE ? e->type->at[k] : e->type;
}

static bool describe_outputs(gpuc_ctx *ctx, making *m, const gpuc_rexpr *call)
{
    kernel *k = m->k;
    k->tuple = call->type->kind == GPUC_RTYPE_TUPLE;
    k->num_out = k->tuple ? call->type->n : 1;
    output *outputs = gpuc_new_array(ctx, output, k->num_out);
    k->outputs = outputs;
    for (int o = 0; o < k->num_out; o++) {
        const gpuc_tensor_type *t = &output_type(call, o)->tensor;
        int64_t *dims = gpuc_new_array(ctx, int64_t, t->ndim + 1);
        if (!gpuc_relay_tensor_type_static(t, dims)) return false;
        outputs[o] = (output){t->dtype, t->ndim, -1, dims, NULL};
    }
    return true;
}

/* Elements that inference knows, such as those of a shape. */
static bool take_values(gpuc_ctx *ctx, kernel *k, const gpuc_rexpr *call)
{
    if (k->tuple || !call->values) return false;
    output *o = (output *)k->outputs;
    int64_t count = 1, v;
    for (int d = 0; d < o->ndim; d++) count *= o->dims[d];
    size_t item = gpuc_dtype_bytes(o->dtype);
    char *bytes = gpuc_ctx_alloc(ctx, (size_t)count * item + 1);
    for (int64_t d = 0; d < count; d++) {
        if (!gpuc_expr_is_int(call->values[d], &v)) return false;
        memcpy(bytes + (size_t)d * item, &v, item); /* little-endian: the low bytes */
    }
    o->known = bytes;
    return true;
}

/* What has no definition is written as operators that have. */
static gpuc_rexpr *simplified(gpuc_ctx *ctx, int n, gpuc_rexpr *const *params, gpuc_rexpr *call, int num_out)
{
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rexpr **outputs = gpuc_new_array(ctx, gpuc_rexpr *, num_out);
    bool tuple = call->type->kind == GPUC_RTYPE_TUPLE;
    for (int o = 0; o < num_out; o++) outputs[o] = tuple ? gpuc_relay_get(ctx, call, o) : call;
    gpuc_rmodule_set_main(m, n, params, num_out, outputs, NULL);
    gpuc_relay_pass_ctx passes = {.ctx = ctx, .module = m, .fold_limit = 1 << 24};
    gpuc_relay_pass_simplify_inference(&passes);
    return gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body;
}

static void check_computable(gpuc_ctx *ctx, gpuc_rexpr *body)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, body, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_op *op = gpuc_relay_call_op(order.at[i]);
        if (op && !op->compute)
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s has no definition that could be interpreted", op->name);
    }
}

/* Lowers the outputs that are computed; n parameters, then these. */
static void lower(gpuc_ctx *ctx, making *m, int n, gpuc_rexpr *const *params, gpuc_rexpr *body)
{
    kernel *k = m->k;
    int num_results, count = n;
    gpuc_map tensors;
    gpuc_map_init(&tensors, ctx);
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, n + k->num_out + 1);
    for (int p = 0; p < n; p++) {
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(params[p]);
        args[p] = gpuc_te_placeholder(ctx, gpuc_as_rvar(params[p])->name, t->ndim, t->dims, t->dtype);
        gpuc_map_set(&tensors, params[p], &args[p]);
    }
    gpuc_tensor **results = gpuc_relay_results(ctx, body, NULL, &tensors, &num_results);
    for (int o = 0; o < num_results; o++) {
        output *out = (output *)&k->outputs[o];
        for (int p = 0; p < n; p++)
            if (args[p] == results[o]) out->copies = p;
        if (out->copies < 0) args[count++] = results[o];
    }
    if (count == n) return;
    if (num_results == 1 && !k->tuple && !k->outputs[0].ndim) {
        k->scalar = gpuc_relay_eval_scalar_create(ctx, m->i->ctx->allocator, n, args, results[0]);
        k->scalar_type = k->outputs[0].dtype;
        if (k->scalar) return;
    }
    k->func = gpuc_te_lower_plain(ctx, "operator", count, args);
}

static void make_in(gpuc_ctx *ctx, void *arg)
{
    making *m = arg;
    const gpuc_rcall *c = gpuc_as_rcall(m->s->e);
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, c->n + 1);
    for (int k = 0; k < c->n; k++) params[k] = parameter(ctx, m, k);
    gpuc_rexpr *call = gpuc_relay_call(ctx, c->callee, m->attrs, c->n, params), *body = call;
    if (m->s->dynamic)
        body = call = static_call(ctx, m, params, call);
    else
        gpuc_relay_infer_call(ctx, call);
    if (!describe_outputs(ctx, m, call)) {
        m->unknown = true;
        return;
    }
    if (take_values(ctx, m->k, call)) return;
    if (!gpuc_relay_call_op(call)->compute) body = simplified(ctx, c->n, params, call, m->k->num_out);
    check_computable(ctx, body);
    lower(ctx, m, c->n, params, body);
}

/* Tries once; false: the values of inputs decide the type, and were not looked at. */
static bool try_making(gpuc_relay_interpreter *i, making *m)
{
    gpuc_relay_eval_site *s = m->s;
    kernel *k = m->k;
    GPUC_RAISE_IF(i->ctx, gpuc_ctx_create_child(i->ctx, &k->ctx));
    m->unknown = false;
    gpuc_status status = gpuc_ctx_protect(k->ctx, make_in, m);
    if (!status && !m->unknown) return true;
    gpuc_relay_eval_scalar_destroy(i->ctx->allocator, k->scalar);
    gpuc_ctx_destroy(k->ctx);
    k->scalar = NULL;
    k->ctx = NULL;
    if (!s->by_value && (!status || gpuc_status_code(status) != GPUC_OUT_OF_MEMORY)) {
        gpuc_status_release(status);
        return false;
    }
    if (!status)
        status =
            gpuc_fail(GPUC_UNSUPPORTED, "the size of the result of %s is known after it is computed only",
                      gpuc_relay_call_op(s->e)->name);
    gpuc_code code = gpuc_status_code(status);
    const char *message = gpuc_ctx_printf(i->ctx, "%s", gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_relay_eval_fail(i, code, s->e, "%s", message);
}

typedef struct held_kernel {
    gpuc_allocator allocator;
    kernel *k;
} held_kernel;

static void destroy_held(void *arg)
{
    held_kernel *h = arg;
    destroy_kernel(h->allocator, h->k);
}

static kernel *make_kernel(gpuc_relay_interpreter *i, gpuc_relay_eval_site *s, gpuc_relay_value *const *args,
                           const gpuc_attrs *attrs)
{
    size_t n = i->kernels->key_size;
    held_kernel held = {i->ctx->allocator, gpuc_mem_alloc(i->ctx->allocator, kernel_bytes(n))};
    kernel *k = held.k;
    if (!k) gpuc_relay_eval_no_memory(i, s->e);
    k->call = s->e;
    k->key_size = n;
    if (n) memcpy(k->key, i->kernels->key, sizeof(int64_t) * n);
    gpuc_ctx_push_cleanup(i->ctx, destroy_held, &held);
    making m = {.i = i, .s = s, .args = args, .attrs = attrs, .k = k};
    bool made = try_making(i, &m);
    gpuc_ctx_pop_cleanup(i->ctx, !made);
    if (!made) return NULL;
    if (k->scalar) {
        gpuc_ctx_destroy(k->ctx);
        k->ctx = NULL;
        k->outputs = NULL;
    }
    return k;
}

static uint32_t bucket_of(const gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s)
{
    uint64_t h = (uint64_t)(uintptr_t)s->e;
    for (size_t k = 0; k < i->kernels->key_size; k++)
        h = (h ^ (uint64_t)i->kernels->key[k]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 40) % BUCKETS;
}

static bool is_kernel(const gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s, const kernel *k)
{
    size_t n = i->kernels->key_size;
    return k->call == s->e && k->key_size == n &&
           (!n || !memcmp(k->key, i->kernels->key, sizeof(int64_t) * n));
}

static kernel *find_kernel(gpuc_relay_interpreter *i, gpuc_relay_eval_site *s, gpuc_relay_value *const *args)
{
    gpuc_relay_eval_kernels *all = i->kernels;
    make_key(i, s, args);
    if (s->last && s->generation == all->generation && is_kernel(i, s, s->last)) return s->last;
    uint32_t b = bucket_of(i, s);
    kernel *k = all->buckets[b];
    while (k && !is_kernel(i, s, k)) k = k->next;
    if (!k) {
        if (all->count == MAX_KERNELS) drop_all(i);
        k = make_kernel(i, s, args, known_attrs(i, s, args));
        if (!k) {
            s->by_value = true;
            return find_kernel(i, s, args);
        }
        k->next = all->buckets[b];
        all->buckets[b] = k;
        all->count++;
    }
    s->last = k;
    s->generation = all->generation;
    return k;
}

/* ---- Running them ---- */

static gpuc_relay_value *run_scalar(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s, const kernel *k,
                                    gpuc_relay_value *const *args)
{
    const void *ins[8];
    int n = gpuc_as_rcall(s->e)->n;
    const void **at = n <= 8 ? ins : gpuc_new_array(i->ctx, const void *, n);
    for (int p = 0; p < n; p++) at[p] = gpuc_relay_eval_data(args[p]);
    gpuc_relay_value *out = gpuc_relay_eval_tensor(i->heap, k->scalar_type, 0, NULL);
    if (!out) gpuc_relay_eval_no_memory(i, s->e);
    gpuc_relay_eval_scalar_run(k->scalar, at, gpuc_relay_eval_data(out));
    return out;
}

static void run_func(gpuc_relay_interpreter *i, const gpuc_relay_eval_site *s, const kernel *k,
                     gpuc_relay_value *const *args, gpuc_relay_value *const *outs)
{
    int n = gpuc_as_rcall(s->e)->n, count = 0;
    gpuc_tir_arg few[16], *at = few;
    size_t bytes = sizeof *at * (size_t)(n + k->num_out);
    if (n + k->num_out > 16 && !(at = gpuc_mem_alloc(i->ctx->allocator, bytes)))
        gpuc_relay_eval_no_memory(i, s->e);
    for (int p = 0; p < n; p++) at[count++] = (gpuc_tir_arg){gpuc_relay_eval_data(args[p]), args[p]->size};
    for (int o = 0; o < k->num_out; o++)
        if (k->outputs[o].copies < 0)
            at[count++] = (gpuc_tir_arg){gpuc_relay_eval_data(outs[o]), outs[o]->size};
    gpuc_status status = gpuc_ev_run(k->ctx, k->func, at, NULL, false);
    if (at != few) gpuc_mem_free(i->ctx->allocator, at, bytes);
    if (!status) return;
    gpuc_code code = gpuc_status_code(status);
    const char *message = gpuc_ctx_printf(i->ctx, "%s", gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_relay_eval_fail(i, code, s->e, "%s", message);
}

static void release_value(void *v)
{
    gpuc_relay_eval_release(v);
}

gpuc_relay_value *gpuc_relay_eval_operator(gpuc_relay_interpreter *i, gpuc_relay_eval_site *s,
                                           gpuc_relay_value *const *args)
{
    const kernel *k = find_kernel(i, s, args);
    if (k->scalar) return run_scalar(i, s, k, args);
    gpuc_relay_value *result = gpuc_relay_eval_fields(i->heap, GPUC_RELAY_TUPLE, k->num_out);
    if (!result) gpuc_relay_eval_no_memory(i, s->e);
    gpuc_ctx_push_cleanup(i->ctx, release_value, result);
    for (int o = 0; o < k->num_out; o++) {
        const output *out = &k->outputs[o];
        gpuc_relay_value *v = gpuc_relay_eval_tensor(i->heap, out->dtype, out->ndim, out->dims);
        if (!v) gpuc_relay_eval_no_memory(i, s->e);
        result->at.fields[o] = v;
        const void *from = out->known         ? out->known
                           : out->copies >= 0 ? gpuc_relay_eval_data(args[out->copies])
                                              : NULL;
        if (from && v->size) memcpy(gpuc_relay_eval_data(v), from, v->size);
    }
    if (k->func) run_func(i, s, k, args, result->at.fields);
    gpuc_ctx_pop_cleanup(i->ctx, false);
    if (k->tuple) return result;
    gpuc_relay_value *only = gpuc_relay_eval_retain(result->at.fields[0]);
    gpuc_relay_eval_release(result);
    return only;
}
