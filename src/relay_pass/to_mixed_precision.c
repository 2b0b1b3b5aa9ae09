/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what is float32 in float16 or bfloat16 where that pays: products always, operators behind them where all that they
 * get is narrow by then, others never. Each value that is narrow stands for one of float32, made of it by a cast where
 * something needs that; so whatever is no operator, and what crosses its borders, keeps its types. */
#include <math.h>
#include <string.h>

#include "base/element.h"
#include "relay/infer.h"
#include "relay_pass/common/util.h"

/* Products gain. Those of `follow` neither lose range nor sum up much: one that is not listed stays as it is, as do those
 * that are far larger than what they get (exp, power), or sums (softmax, mean, norms). As in TVM. */
static const char *const always[] = {"nn.conv1d",
                                     "nn.conv2d",
                                     "nn.conv3d",
                                     "nn.conv1d_transpose",
                                     "nn.conv2d_transpose",
                                     "nn.conv3d_transpose",
                                     "nn.dense",
                                     "nn.matmul",
                                     NULL};
static const char *const follow[] = {"add",
                                     "argmax",
                                     "argmin",
                                     "broadcast_to",
                                     "broadcast_to_like",
                                     "clip",
                                     "concatenate",
                                     "divide",
                                     "dyn.strided_slice",
                                     "fast_erf",
                                     "fast_tanh",
                                     "gather",
                                     "gather_nd",
                                     "identity",
                                     "layout_transform",
                                     "max",
                                     "maximum",
                                     "min",
                                     "minimum",
                                     "multiply",
                                     "negative",
                                     "nn.avg_pool1d",
                                     "nn.avg_pool2d",
                                     "nn.avg_pool3d",
                                     "nn.batch_norm",
                                     "nn.batch_to_space_nd",
                                     "nn.bias_add",
                                     "nn.depth_to_space",
                                     "nn.dropout",
                                     "nn.global_max_pool",
                                     "nn.adaptive_max_pool1d",
                                     "nn.adaptive_max_pool2d",
                                     "nn.adaptive_max_pool3d",
                                     "nn.leaky_relu",
                                     "nn.max_pool1d",
                                     "nn.max_pool2d",
                                     "nn.max_pool3d",
                                     "nn.pad",
                                     "nn.prelu",
                                     "nn.relu",
                                     "nn.space_to_batch_nd",
                                     "nn.space_to_depth",
                                     "repeat",
                                     "reverse",
                                     "sigmoid",
                                     "split",
                                     "sqrt",
                                     "stack",
                                     "strided_slice",
                                     "subtract",
                                     "take",
                                     "tanh",
                                     "tile",
                                     "topk",
                                     "transpose",
                                     "where",
                                     NULL};

typedef struct mixer {
    gpuc_relay_pass_ctx *p;
    gpuc_dtype narrow, sum;
    gpuc_map kinds; /* operator -> one of the lists */
    gpuc_map low;   /* new node of float32 -> the narrow one that it stands for */
    gpuc_map cast;  /* node of float32 -> its cast, which all share */
    gpuc_map made;  /* old node -> new one, of values of lets */
    gpuc_map value; /* variable of a let -> its value */
    gpuc_map names; /* the same -> the variable of the narrow value */
    gpuc_map spare; /* variables of lets that nothing may use by now */
} mixer;

static bool is_wide(const gpuc_rtype *t)
{
    return t->kind == GPUC_RTYPE_TENSOR && gpuc_dtype_equal(t->tensor.dtype, GPUC_FLOAT32);
}

static const char *const *kind_of(const mixer *m, const gpuc_op *op)
{
    return op->alias ? follow : gpuc_map_get(&m->kinds, op);
}

/* ---- Narrow values ---- */

/* e as a narrow one; all share the cast. */
static gpuc_rexpr *narrowed(mixer *m, gpuc_rexpr *e)
{
    gpuc_rexpr *low = gpuc_map_get(&m->low, e);
    if (!low) low = gpuc_map_get(&m->cast, e);
    if (low) return low;
    low = gpuc_relay_pass_cast(m->p->ctx, e, m->narrow);
    gpuc_map_set(&m->cast, e, low);
    return low;
}

/* The float32 that a narrow one stands for. */
static gpuc_rexpr *widened(mixer *m, gpuc_rexpr *low)
{
    gpuc_rexpr *e = gpuc_relay_pass_cast(m->p->ctx, low, GPUC_FLOAT32);
    gpuc_map_set(&m->low, e, low);
    return e;
}

/* Whether every element is still there when it is rounded: neither too large nor too small. */
static bool fits(mixer *m, const gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_CONSTANT) return false;
    const gpuc_const_data *data = gpuc_as_rconstant(e)->data;
    const float *at = data->bytes;
    for (size_t i = 0; i < data->size / sizeof *at; i++) {
        double is = gpuc_float_round(m->narrow, at[i]);
        if ((isinf(is) && !isinf(at[i])) || (is == 0 && at[i] != 0)) return false;
    }
    return true;
}

/* ---- Calls ---- */

static gpuc_rexpr *product(mixer *m, const gpuc_rcall *c, gpuc_rexpr **args)
{
    gpuc_ctx *ctx = m->p->ctx;
    const gpuc_attr *out = gpuc_attrs_find(c->attrs, "out_dtype");
    const gpuc_attrs *attrs = out ? gpuc_attrs_dtype(ctx, c->attrs, "out_dtype", m->sum) : c->attrs;
    gpuc_rexpr *y = gpuc_relay_op(ctx, gpuc_relay_call_op(&c->base)->name, attrs, c->n, args);
    if (!is_wide(y->type)) return widened(m, y);
    gpuc_map_set(&m->low, y, gpuc_relay_pass_cast(ctx, y, m->narrow));
    return y;
}

static gpuc_rexpr *follower(mixer *m, const gpuc_rcall *c, gpuc_rexpr **args)
{
    gpuc_ctx *ctx = m->p->ctx;
    gpuc_rexpr *y = gpuc_relay_op(ctx, gpuc_relay_call_op(&c->base)->name, c->attrs, c->n, args);
    const gpuc_rtype *t = c->base.type;
    if (t->kind == GPUC_RTYPE_TENSOR) return is_wide(t) ? widened(m, y) : y;
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
    for (int i = 0; i < t->n; i++) {
        fields[i] = gpuc_relay_get(ctx, y, i);
        if (is_wide(t->at[i])) fields[i] = widened(m, fields[i]);
    }
    return gpuc_relay_tuple(ctx, t->n, fields);
}

/* The call in narrow types; NULL: it stays. */
static gpuc_rexpr *mix_call(mixer *m, const gpuc_rcall *c)
{
    const gpuc_op *op = gpuc_relay_call_op(&c->base);
    if (gpuc_relay_is_op(&c->base, "cast")) {
        gpuc_rexpr *low = gpuc_map_get(&m->low, c->args[0]);
        return low && gpuc_dtype_equal(gpuc_relay_tensor_type(&c->base)->dtype, m->narrow) ? low : NULL;
    }
    const char *const *kind = kind_of(m, op);
    bool any = false, all = true;
    if (!kind) return NULL;
    for (int i = 0; i < c->n; i++) {
        const gpuc_rtype *t = c->args[i]->type;
        if (t->kind != GPUC_RTYPE_TENSOR) return NULL;
        if (!is_wide(t) && gpuc_is_float(t->tensor.dtype)) return NULL;
        if (kind == always && !is_wide(t)) return NULL;
        if (!is_wide(t)) continue;
        bool low = gpuc_map_has(&m->low, c->args[i]);
        any |= low;
        all &= low || fits(m, c->args[i]);
    }
    if (kind == always ? !is_wide(c->base.type) : !any || !all) return NULL;
    gpuc_rexpr **args = gpuc_new_array(m->p->ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++) args[i] = is_wide(c->args[i]->type) ? narrowed(m, c->args[i]) : c->args[i];
    return kind == always ? product(m, c, args) : follower(m, c, args);
}

/* ---- Lets ---- */

/* A narrow value gets a variable of its own beside that of float32. */
static void name_value(mixer *m, gpuc_rexpr *var)
{
    gpuc_rexpr *old = gpuc_map_get(&m->value, var), *value = old ? gpuc_map_get(&m->made, old) : NULL;
    gpuc_rexpr *low = value ? gpuc_map_get(&m->low, value) : NULL;
    if (!low) return;
    gpuc_rexpr *narrow = gpuc_relay_var(m->p->ctx, gpuc_as_rvar(var)->name, NULL);
    narrow->type = low->type;
    gpuc_map_set(&m->low, var, narrow);
    gpuc_map_set(&m->names, var, narrow);
    gpuc_map_set(&m->spare, narrow, m);
    gpuc_map_set(&m->spare, var, m);
}

static gpuc_rexpr *name_both(mixer *m, const gpuc_rlet *l)
{
    gpuc_ctx *ctx = m->p->ctx;
    gpuc_rexpr *narrow = gpuc_map_get(&m->names, l->var), *low = gpuc_map_get(&m->low, l->value);
    if (!narrow || !low) return (gpuc_rexpr *)&l->base;
    if (gpuc_relay_is_op(low, "cast") && gpuc_as_rcall(low)->args[0] == l->value) /* a sum of float32 */
        return gpuc_relay_let(
            ctx, l->var, l->value,
            gpuc_relay_let(ctx, narrow, gpuc_relay_pass_cast(ctx, l->var, m->narrow), l->body));
    return gpuc_relay_let(
        ctx, narrow, low,
        gpuc_relay_let(ctx, l->var, gpuc_relay_pass_cast(ctx, narrow, GPUC_FLOAT32), l->body));
}

static gpuc_rexpr *mix(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    mixer *m = arg;
    gpuc_rexpr *out = NULL;
    if (old->kind == GPUC_REXPR_VAR) name_value(m, old);
    if (old->kind == GPUC_REXPR_LET) out = name_both(m, gpuc_as_rlet(e));
    if (gpuc_relay_call_op(e)) out = mix_call(m, gpuc_as_rcall(e));
    if (!out) out = e;
    gpuc_map_set(&m->made, old, out);
    return out;
}

typedef struct dropper {
    const mixer *m;
    gpuc_map uses;
} dropper;

static gpuc_rexpr *drop(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    (void)old;
    const dropper *d = arg;
    if (e->kind != GPUC_REXPR_LET) return e;
    const gpuc_rlet *l = gpuc_as_rlet(e);
    return gpuc_map_has(&d->m->spare, l->var) && !gpuc_relay_uses(&d->uses, l->var) ? l->body : e;
}

/* ---- The pass ---- */

static void note_lets(mixer *m, gpuc_rexpr *f)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(m->p->ctx, f, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_rexpr *e = order.at[i];
        if (e->kind == GPUC_REXPR_LET && e->type && is_wide(gpuc_as_rlet(e)->value->type))
            gpuc_map_set(&m->value, gpuc_as_rlet(e)->var, gpuc_as_rlet(e)->value);
    }
}

/* A tensor of main's result, or tuples of them, as they are computed. */
static gpuc_rexpr *as_computed(mixer *m, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_TUPLE) {
        gpuc_rexpr *low = gpuc_map_get(&m->low, e);
        return low ? low : e;
    }
    const gpuc_rtuple *t = gpuc_as_rtuple(e);
    gpuc_rexpr **fields = gpuc_new_array(m->p->ctx, gpuc_rexpr *, t->n);
    bool same = true;
    for (int i = 0; i < t->n; i++) {
        fields[i] = as_computed(m, t->fields[i]);
        same &= fields[i] == t->fields[i];
    }
    return same ? e : gpuc_relay_tuple(m->p->ctx, t->n, fields);
}

static void note_main(gpuc_rexpr *e, void *arg)
{
    bool *called = arg;
    if (e->kind == GPUC_REXPR_GLOBAL && !strcmp(gpuc_as_rglobal(e)->name, "main")) *called = true;
}

/* Results of main need not be float32, unless that is written, or the program calls it. */
static void narrow_outputs(mixer *m)
{
    gpuc_ctx *ctx = m->p->ctx;
    bool called = false;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m->p->module, "main"));
    gpuc_ptrs lets = {0};
    gpuc_rmodule_visit(m->p->module, note_main, &called);
    if (called || f->ret) return;
    gpuc_rexpr *e = f->body;
    for (; e->kind == GPUC_REXPR_LET; e = gpuc_as_rlet(e)->body) gpuc_ptrs_push(ctx, &lets, e);
    gpuc_rexpr *out = as_computed(m, e);
    if (out == e) return;
    while (lets.count) {
        const gpuc_rlet *l = gpuc_as_rlet(lets.at[--lets.count]);
        out = gpuc_relay_let(ctx, l->var, l->value, out);
    }
    gpuc_strmap_set(&m->p->module->functions, "main", gpuc_relay_function_with(ctx, f, f->params, out));
}

static void begin(mixer *m)
{
    gpuc_map *const maps[] = {&m->kinds, &m->low, &m->cast, &m->made, &m->value, &m->names, &m->spare};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) gpuc_map_init(maps[i], m->p->ctx);
    const char *const *const lists[] = {always, follow};
    for (int i = 0; i < 2; i++)
        for (const char *const *name = lists[i]; *name; name++) {
            const gpuc_op *op = gpuc_op_find(*name);
            if (op) gpuc_map_set(&m->kinds, op, (void *)(uintptr_t)lists[i]);
        }
}

static gpuc_dtype type_of(const gpuc_relay_pass_ctx *p, const char *option)
{
    gpuc_dtype t = {0};
    gpuc_dtype_parse(gpuc_attrs_get_string(p->options, option, ""), &t);
    return t;
}

void gpuc_relay_pass_to_mixed_precision(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    mixer m = {.p = p, .narrow = type_of(p, "dtype"), .sum = type_of(p, "accumulation_dtype")};
    if (!gpuc_is_float(m.narrow) || m.narrow.bits != 16)
        gpuc_raise(p->ctx, GPUC_INVALID_ARGUMENT, "to_mixed_precision: dtype is float16 or bfloat16");
    if (!gpuc_dtype_equal(m.sum, GPUC_FLOAT32) && !gpuc_dtype_equal(m.sum, m.narrow))
        gpuc_raise(p->ctx, GPUC_INVALID_ARGUMENT,
                   "to_mixed_precision: accumulation_dtype is float32 or as dtype");
    begin(&m);
    for (uint32_t i = 0; i < functions->count; i++) note_lets(&m, functions->entries[i].value);
    gpuc_relay_pass_rewrite_module(p, mix, &m);
    if (!gpuc_attrs_get_int(p->options, "keep_orig_output_dtype", 0)) narrow_outputs(&m);
    dropper d = {.m = &m};
    gpuc_map_init(&d.uses, p->ctx);
    for (uint32_t i = 0; i < functions->count; i++)
        gpuc_relay_pass_add_uses(p->ctx, functions->entries[i].value, &d.uses);
    gpuc_relay_pass_rewrite_module(p, drop, &d);
}
