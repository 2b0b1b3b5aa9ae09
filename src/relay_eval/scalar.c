/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on scalars: the definition's expression as a list of steps over values. */
#include <string.h>

#include "base/element.h"
#include "relay_eval/eval.h"
#include "te/te.h"

enum { MAX_STEPS = 256 };

typedef enum step_kind { STEP_INPUT, STEP_NUMBER, STEP_CAST, STEP_OP } step_kind;

typedef struct step {
    step_kind kind;
    gpuc_tir_op op;
    gpuc_dtype dtype, from; /* of the result; of the operands, of the arms */
    int a[3];               /* INPUT: its number */
    gpuc_tir_value value;
} step;

struct gpuc_relay_eval_scalar {
    int n;
    size_t bytes;
    step steps[];
};

typedef struct builder {
    gpuc_ctx *ctx;
    int num_in, n;
    gpuc_tensor *const *ins;
    gpuc_map done; /* expression, placeholder or operation -> step + 1 */
    step steps[MAX_STEPS];
} builder;

static int add(builder *b, const void *key, step s)
{
    if (b->n == MAX_STEPS) return -1;
    b->steps[b->n] = s;
    gpuc_map_set(&b->done, key, (void *)(uintptr_t)(b->n + 1));
    return b->n++;
}

static int build(builder *b, gpuc_expr e);

/* -1: it is no scalar expression. */
static int build_tensor(builder *b, const gpuc_tensor *t)
{
    int known = (int)(uintptr_t)gpuc_map_get(&b->done, t) - 1;
    if (known >= 0) return known;
    if (t->ndim) return -1;
    for (int i = 0; i < b->num_in; i++)
        if (b->ins[i] == t) return add(b, t, (step){.kind = STEP_INPUT, .dtype = t->dtype, .a = {i}});
    const gpuc_te_op *op = t->op;
    if (op->kind != GPUC_TE_COMPUTE || op->num_axes || op->num_reduce) return -1;
    return build(b, op->bodies[t->value_index]);
}

static int build_op(builder *b, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = (const gpuc_tir_opexpr_node *)e;
    int arity = gpuc_tir_ops[n->op].arity;
    step s = {.kind = STEP_OP, .op = n->op, .dtype = e->dtype, .from = n->a[arity - 1]->dtype};
    for (int i = 0; i < arity; i++)
        if ((s.a[i] = build(b, n->a[i])) < 0) return -1;
    return add(b, e, s);
}

static int build(builder *b, gpuc_expr e)
{
    int known = (int)(uintptr_t)gpuc_map_get(&b->done, e) - 1;
    step s = {.dtype = e->dtype};
    if (known >= 0) return known;
    if (e->dtype.lanes != 1) return -1;
    switch (e->kind) {
    case GPUC_EXPR_INT:
        s.kind = STEP_NUMBER;
        s.value.i = ((const gpuc_tir_int_node *)e)->value;
        return add(b, e, s);
    case GPUC_EXPR_FLOAT:
        s.kind = STEP_NUMBER;
        s.value.f = ((const gpuc_tir_float_node *)e)->value;
        return add(b, e, s);
    case GPUC_EXPR_CAST: {
        gpuc_expr a = ((const gpuc_tir_cast_node *)e)->a;
        s.kind = STEP_CAST;
        s.from = a->dtype;
        s.a[0] = build(b, a);
        return s.a[0] < 0 ? -1 : add(b, e, s);
    }
    case GPUC_EXPR_OP: return build_op(b, e);
    case GPUC_EXPR_READ: return build_tensor(b, ((const gpuc_tir_read_node *)e)->tensor);
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_LOAD:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return -1;
}

gpuc_relay_eval_scalar *gpuc_relay_eval_scalar_create(gpuc_ctx *ctx, gpuc_allocator allocator, int num_in,
                                                      gpuc_tensor *const *ins, gpuc_tensor *out)
{
    builder *b = gpuc_new(ctx, builder);
    b->ctx = ctx;
    b->num_in = num_in;
    b->ins = ins;
    gpuc_map_init(&b->done, ctx);
    int result = build_tensor(b, out);
    if (result < 0) return NULL;
    size_t bytes = sizeof(gpuc_relay_eval_scalar) + sizeof(step) * (size_t)(result + 1);
    gpuc_relay_eval_scalar *s = gpuc_mem_alloc(allocator, bytes);
    if (!s) return NULL;
    s->bytes = bytes;
    s->n = result + 1; /* operands come first */
    memcpy(s->steps, b->steps, sizeof(step) * (size_t)s->n);
    return s;
}

void gpuc_relay_eval_scalar_destroy(gpuc_allocator allocator, gpuc_relay_eval_scalar *s)
{
    if (s) gpuc_mem_free(allocator, s, s->bytes);
}

static gpuc_tir_value load(gpuc_dtype t, const void *at)
{
    gpuc_tir_value v;
    if (gpuc_is_float(t))
        v.f = gpuc_float_load(t, at);
    else
        v.i = gpuc_relay_read_integer(at, t);
    return v;
}

void gpuc_relay_eval_scalar_run(const gpuc_relay_eval_scalar *s, const void *const *ins, void *out)
{
    gpuc_tir_value values[MAX_STEPS];
    for (int i = 0; i < s->n; i++) {
        const step *p = &s->steps[i];
        switch (p->kind) {
        case STEP_INPUT: values[i] = load(p->dtype, ins[p->a[0]]); break;
        case STEP_NUMBER: values[i] = p->value; break;
        case STEP_CAST: values[i] = gpuc_tir_convert(p->dtype, p->from, values[p->a[0]]); break;
        case STEP_OP: {
            gpuc_tir_value a[3] = {values[p->a[0]], values[p->a[1]], values[p->a[2]]};
            values[i] = gpuc_tir_apply(p->op, p->from, a);
            break;
        }
        }
    }
    const step *last = &s->steps[s->n - 1];
    if (gpuc_is_float(last->dtype))
        gpuc_float_store(last->dtype, out, values[s->n - 1].f);
    else
        memcpy(out, &values[s->n - 1].i, gpuc_dtype_bytes(last->dtype)); /* little-endian: the low bytes */
}
