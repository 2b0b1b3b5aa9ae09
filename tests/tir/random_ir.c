/* SPDX-License-Identifier: Apache-2.0 */
#include "random_ir.h"

#include <math.h>

#define MAX_SCOPE 64

typedef struct gen {
    gpuc_ctx *ctx;
    rng r;
    gpuc_expr vars[MAX_SCOPE];
    int num_vars;
    const gpuc_tir_buffer *buffers[MAX_SCOPE];
    int num_buffers;
    bool tags[GPUC_THREAD_TAG_COUNT];
} gen;

/* Names that clash with each other, with the language, and that are no identifiers. */
static const char *random_name(gen *g)
{
    static const char *const names[] = {"i",   "j",   "x",  "x",   "i_1", "i.outer",
                                        "min", "for", "2d", "a b", "T.1", "\xc3\xa9"};
    return names[rng_below(&g->r, 12)];
}

static bool chance(gen *g, int one_in)
{
    return rng_below(&g->r, one_in) == 0;
}

static gpuc_expr random_expr(gen *g, gpuc_dtype t, int depth);

static gpuc_expr random_const(gen *g, gpuc_dtype t)
{
    static const double floats[] = {0.0,  -0.0,        1.0,      -1.5,      0.1, 1e-30,
                                    1e30, 123456789.0, INFINITY, -INFINITY, NAN, 2.5e-6};
    if (gpuc_is_float(t))
        return gpuc_imm(g->ctx, t,
                        chance(g, 2) ? floats[rng_below(&g->r, 12)]
                                     : ldexp((double)(int64_t)rng_next(&g->r), rng_below(&g->r, 60) - 90));
    int64_t v = (int64_t)(rng_next(&g->r) >> rng_below(&g->r, 64));
    return gpuc_imm_int(g->ctx, t, chance(g, 3) ? -v : v);
}

static gpuc_expr random_leaf(gen *g, gpuc_dtype t)
{
    for (int tries = 0; tries < 6 && g->num_vars; tries++) {
        gpuc_expr v = g->vars[rng_below(&g->r, g->num_vars)];
        if (gpuc_dtype_equal(v->dtype, t)) return v;
    }
    return random_const(g, t);
}

/* Index types, mostly the usual one. */
static gpuc_dtype random_index_type(gen *g)
{
    return chance(g, 3) ? GPUC_INT32 : GPUC_INDEX;
}

static int random_index(gen *g, const gpuc_tir_buffer *b, int lanes, int depth, gpuc_expr *index)
{
    for (int i = 0; i < b->ndim; i++) {
        gpuc_dtype t = random_index_type(g);
        index[i] = random_expr(g, t, depth - 1);
        if (lanes > 1 && i == b->ndim - 1)
            index[i] = gpuc_tir_ramp(g->ctx, index[i], random_leaf(g, t), lanes);
    }
    return b->ndim;
}

static const gpuc_tir_buffer *find_buffer(gen *g, gpuc_dtype t, int lanes)
{
    for (int tries = 0; tries < 6 && g->num_buffers; tries++) {
        const gpuc_tir_buffer *b = g->buffers[rng_below(&g->r, g->num_buffers)];
        if (gpuc_same_element(b->dtype, t) && (lanes == 1 || b->ndim > 0)) return b;
    }
    return NULL;
}

static gpuc_expr random_load(gen *g, gpuc_dtype t, int depth)
{
    gpuc_expr index[4];
    const gpuc_tir_buffer *b = find_buffer(g, t, t.lanes);
    if (!b) return random_const(g, t);
    int n = random_index(g, b, t.lanes, depth, index);
    gpuc_expr e = gpuc_tir_load(g->ctx, b, n, index);
    return gpuc_dtype_equal(e->dtype, t) ? e : random_const(g, t);
}

static gpuc_expr random_op(gen *g, gpuc_dtype t, int depth)
{
    gpuc_expr a[3] = {NULL};
    for (int tries = 0; tries < 50; tries++) {
        gpuc_tir_op op = (gpuc_tir_op)rng_below(&g->r, GPUC_TIR_OP_COUNT);
        const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
        gpuc_dtype of = t;
        if (info->result == GPUC_TIR_BOOL) {
            if (!gpuc_is_bool(t)) continue;
            of = gpuc_dtype_with_lanes(all_types(rng_below(&g->r, NUM_TYPES)), t.lanes);
        }
        int need = gpuc_is_integer(of) ? GPUC_TIR_INT : gpuc_is_float(of) ? GPUC_TIR_FLT : GPUC_TIR_LOGIC;
        if (!(info->flags & need)) continue;
        for (int i = 0; i < info->arity; i++) a[i] = random_expr(g, of, depth - 1);
        if (info->result == GPUC_TIR_ARM)
            a[0] = random_expr(g, gpuc_dtype_with_lanes(GPUC_BOOL, t.lanes), depth - 1);
        return gpuc_tir_make(g->ctx, op, a[0], a[1], a[2]);
    }
    return random_const(g, t);
}

static gpuc_expr random_call(gen *g, gpuc_dtype t, int depth)
{
    gpuc_expr args[3];
    gpuc_dtype of = t;
    switch (rng_below(&g->r, 6)) {
    case 0:
        for (int tries = 0; tries < 20; tries++) {
            of = gpuc_dtype_with_lanes(all_types(rng_below(&g->r, NUM_TYPES)), t.lanes);
            if (of.bits != t.bits) continue;
            args[0] = random_expr(g, of, depth - 1);
            return gpuc_tir_call(g->ctx, t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, args);
        }
        break;
    case 1:
        args[0] = random_expr(g, t, depth - 1);
        args[1] = random_expr(g, GPUC_INT32, depth - 1);
        return gpuc_tir_call(g->ctx, t, GPUC_TIR_CALL_SUBGROUP_SHUFFLE, NULL, NULL, 2, args);
    case 2:
        args[0] = random_expr(g, t, depth - 1);
        return gpuc_tir_call(g->ctx, t, GPUC_TIR_CALL_SUBGROUP_ADD, NULL, NULL, 1, args);
    case 3: {
        const gpuc_tir_buffer *b = t.lanes == 1 ? find_buffer(g, t, 1) : NULL;
        if (!b) break;
        args[0] = random_expr(g, random_index_type(g), depth - 1);
        args[1] = random_expr(g, t, depth - 1);
        args[2] = random_expr(g, t, depth - 1);
        bool cas = chance(g, 2);
        return gpuc_tir_call(g->ctx, t, cas ? GPUC_TIR_CALL_ATOMIC_CAS : GPUC_TIR_CALL_ATOMIC_MAX, NULL, b,
                             cas ? 3 : 2, args);
    }
    case 4:
        args[0] = random_expr(g, GPUC_FLOAT64, depth - 1);
        return gpuc_tir_call(g->ctx, t, GPUC_TIR_CALL_EXTERN, "f_1g", find_buffer(g, t, 1),
                             rng_below(&g->r, 2), args);
    case 5:
        if (gpuc_dtype_equal(t, GPUC_INT32))
            return gpuc_tir_call(g->ctx, t, GPUC_TIR_CALL_SUBGROUP_LANE, NULL, NULL, 0, NULL);
        break;
    }
    return random_const(g, t);
}

static gpuc_expr random_vector(gen *g, gpuc_dtype t, int depth)
{
    gpuc_dtype scalar = gpuc_dtype_with_lanes(t, 1);
    gpuc_expr lanes[16];
    int kind = rng_below(&g->r, 4);
    if (t.lanes == 1)
        return gpuc_tir_lane(g->ctx, random_expr(g, gpuc_dtype_with_lanes(t, 4), depth - 1), kind);
    if (kind == 0 && gpuc_is_integer(t))
        return gpuc_tir_ramp(g->ctx, random_expr(g, scalar, depth - 1), random_expr(g, scalar, depth - 1),
                             t.lanes);
    if (kind == 1) {
        for (int i = 0; i < t.lanes; i++) lanes[i] = random_expr(g, scalar, depth > 2 ? 2 : depth - 1);
        return gpuc_tir_vector(g->ctx, t.lanes, lanes);
    }
    return gpuc_tir_broadcast(g->ctx, random_expr(g, scalar, depth - 1), t.lanes);
}

static gpuc_expr random_expr(gen *g, gpuc_dtype t, int depth)
{
    if (depth <= 0)
        return t.lanes == 1
                   ? random_leaf(g, t)
                   : gpuc_tir_broadcast(g->ctx, random_leaf(g, gpuc_dtype_with_lanes(t, 1)), t.lanes);
    switch (rng_below(&g->r, 12)) {
    case 0: return random_leaf(g, t);
    case 1:
        return gpuc_cast(g->ctx, t,
                         random_expr(g,
                                     gpuc_dtype_with_lanes(all_types(rng_below(&g->r, NUM_TYPES)), t.lanes),
                                     depth - 1));
    case 2:
    case 3: return random_load(g, t, depth);
    case 4: return random_vector(g, t, depth);
    case 5: return random_call(g, t, depth);
    default: return random_op(g, t, depth);
    }
}

/* ---- Statements ---------------------------------------------------------------------------------------- */

static gpuc_stmt random_stmt(gen *g, int depth);

static gpuc_stmt random_store(gen *g)
{
    gpuc_expr index[4];
    const gpuc_tir_buffer *b = g->buffers[rng_below(&g->r, g->num_buffers)];
    if (b->scope == GPUC_SCOPE_TEXEL) b = g->buffers[0];
    int lanes = b->ndim && chance(g, 3) ? 4 : 1;
    int n = random_index(g, b, lanes, 3, index);
    lanes = 1;
    for (int i = 0; i < n; i++)
        if (index[i]->dtype.lanes > 1) lanes = index[i]->dtype.lanes;
    gpuc_dtype t = gpuc_dtype_with_lanes(b->dtype, lanes);
    return gpuc_tir_store(g->ctx, b, n, index, random_expr(g, t, 1 + rng_below(&g->r, 5)));
}

static gpuc_tir_buffer *random_buffer(gen *g, gpuc_scope scope)
{
    gpuc_expr shape[3], strides[3];
    int ndim = rng_below(&g->r, 4);
    for (int i = 0; i < ndim; i++) {
        do
            shape[i] =
                chance(g, 2) ? gpuc_int(g->ctx, 1 + rng_below(&g->r, 100)) : random_expr(g, GPUC_INDEX, 1);
        while (shape[i]->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT));
        strides[i] = gpuc_int(g->ctx, rng_below(&g->r, 100));
    }
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(g->ctx, random_name(g), all_types(rng_below(&g->r, NUM_TYPES)),
                                              ndim, shape, scope);
    if (ndim && chance(g, 4)) b->strides = gpuc_ctx_memdup(g->ctx, strides, (size_t)ndim * sizeof *strides);
    b->double_buffer = chance(g, 4);
    b->non_temporal = chance(g, 4);
    return b;
}

static gpuc_stmt random_for(gen *g, int depth)
{
    gpuc_dtype t = random_index_type(g);
    gpuc_expr var = gpuc_var(g->ctx, random_name(g), t);
    gpuc_expr min = chance(g, 2) ? gpuc_imm_int(g->ctx, t, 0) : random_expr(g, t, 2);
    gpuc_expr extent =
        chance(g, 2) ? gpuc_imm_int(g->ctx, t, 1 + rng_below(&g->r, 64)) : random_expr(g, t, 2);
    gpuc_loop_kind kind = (gpuc_loop_kind)rng_below(&g->r, GPUC_LOOP_KIND_COUNT);
    gpuc_thread_tag tag = kind == GPUC_LOOP_THREAD
                              ? (gpuc_thread_tag)(1 + rng_below(&g->r, GPUC_THREAD_TAG_COUNT - 1))
                              : GPUC_THREAD_NONE;
    if (g->tags[tag] && tag != GPUC_VTHREAD) {
        kind = GPUC_LOOP_SERIAL;
        tag = GPUC_THREAD_NONE;
    }
    bool outer = g->tags[tag];
    g->tags[tag] = tag != GPUC_THREAD_NONE;
    g->vars[g->num_vars++] = var;
    gpuc_stmt body = random_stmt(g, depth - 1);
    g->num_vars--;
    g->tags[tag] = outer;
    return gpuc_tir_for_(g->ctx, var, min, extent, kind, tag, body);
}

static const gpuc_tir_reducer *random_reducer(gen *g)
{
    if (chance(g, 2))
        return gpuc_tir_reducer_get(g->ctx, chance(g, 2) ? "sum" : "max",
                                    all_types(rng_below(&g->r, NUM_TYPES - 1)));
    gpuc_tir_reducer *r = gpuc_new(g->ctx, gpuc_tir_reducer);
    gpuc_expr v[8], *list = gpuc_new_array(g->ctx, gpuc_expr, 8);
    for (int i = 0; i < 4; i++) v[i] = gpuc_var(g->ctx, random_name(g), i % 2 ? GPUC_INT32 : GPUC_FLOAT16);
    gpuc_expr less = gpuc_lt(g->ctx, v[0], v[2]);
    for (int i = 0; i < 2; i++) {
        v[4 + i] = gpuc_select(g->ctx, less, v[i], v[2 + i]);
        v[6 + i] = random_const(g, v[i]->dtype);
    }
    memcpy(list, v, sizeof v);
    *r = (gpuc_tir_reducer){.name = "arg min",
                            .count = 2,
                            .lhs = list,
                            .rhs = list + 2,
                            .result = list + 4,
                            .identity = list + 6};
    return r;
}

static gpuc_stmt random_seq(gen *g, int depth)
{
    gpuc_stmt list[4];
    int n = 1 + rng_below(&g->r, 4);
    for (int i = 0; i < n; i++) list[i] = random_stmt(g, depth - 1);
    return gpuc_tir_seq(g->ctx, n, list);
}

static gpuc_stmt random_let(gen *g, int depth)
{
    int lanes = chance(g, 4) ? 4 : 1;
    gpuc_expr value = random_expr(g, gpuc_dtype_with_lanes(all_types(rng_below(&g->r, NUM_TYPES)), lanes), 4);
    gpuc_expr var = gpuc_var(g->ctx, random_name(g), value->dtype);
    g->vars[g->num_vars++] = var;
    gpuc_stmt body = random_stmt(g, depth - 1);
    g->num_vars--;
    return gpuc_tir_let(g->ctx, var, value, body);
}

static gpuc_stmt random_alloc(gen *g, int depth)
{
    gpuc_tir_buffer *b = random_buffer(g, (gpuc_scope)(GPUC_SCOPE_SHARED + rng_below(&g->r, 3)));
    g->buffers[g->num_buffers++] = b;
    gpuc_stmt body = random_stmt(g, depth - 1);
    g->num_buffers--;
    return gpuc_tir_alloc(g->ctx, b, body);
}

static gpuc_stmt random_allreduce(gen *g)
{
    const gpuc_tir_reducer *r = random_reducer(g);
    gpuc_stmt stores[2], body;
    for (int i = 0; i < r->count; i++) stores[i] = random_store(g);
    body = gpuc_tir_seq(g->ctx, r->count, stores);
    if (chance(g, 2)) body = gpuc_tir_if_(g->ctx, random_expr(g, GPUC_BOOL, 2), body, NULL);
    return gpuc_tir_attr(g->ctx, "allreduce", chance(g, 2) ? "threadIdx.x" : "threadIdx.x,threadIdx.y", NULL,
                         r, body);
}

static gpuc_stmt random_attr(gen *g, int depth)
{
    int kind = rng_below(&g->r, 3);
    gpuc_stmt body = kind ? random_stmt(g, depth - 1) : NULL;
    switch (kind) {
    case 0: return random_allreduce(g);
    case 1:
        return gpuc_tir_attr(g->ctx, "pragma", "auto_unroll \"x\"", random_expr(g, GPUC_INT32, 2), NULL,
                             body);
    }
    return gpuc_tir_attr(g->ctx, "reduce_init", NULL, NULL, NULL, body);
}

static gpuc_stmt random_stmt(gen *g, int depth)
{
    if (depth <= 0 || g->num_vars >= MAX_SCOPE - 2 || g->num_buffers >= MAX_SCOPE - 2) return random_store(g);
    switch (rng_below(&g->r, 10)) {
    case 0:
    case 1: return random_for(g, depth);
    case 2: {
        gpuc_stmt then_body = random_stmt(g, depth - 1);
        return gpuc_tir_if_(g->ctx, random_expr(g, GPUC_BOOL, 3), then_body,
                            chance(g, 2) ? random_stmt(g, depth - 1) : NULL);
    }
    case 3:
    case 4: return random_seq(g, depth);
    case 5: return random_let(g, depth);
    case 6: return random_alloc(g, depth);
    case 7: return random_attr(g, depth);
    case 8: return gpuc_tir_eval(g->ctx, random_call(g, all_types(rng_below(&g->r, NUM_TYPES)), 3));
    }
    return random_store(g);
}

gpuc_tir_func *random_func(gpuc_ctx *ctx, uint64_t seed)
{
    static const gpuc_dtype scalar_types[3] = {
        {GPUC_DTYPE_INT, 64, 1}, {GPUC_DTYPE_INT, 32, 1}, {GPUC_DTYPE_FLOAT, 32, 1}};
    gen g = {.ctx = ctx, .r = {seed}};
    gpuc_tir_func *f = gpuc_new(ctx, gpuc_tir_func);
    gpuc_expr *scalars = gpuc_new_array(ctx, gpuc_expr, 4);
    gpuc_tir_buffer **buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, 6);
    f->name = "some func";
    f->label = chance(&g, 2) ? "a \"label\"" : NULL;
    f->aliased = chance(&g, 3);
    f->subgroup_size = chance(&g, 3) ? 32 : 0;
    f->num_scalars = 1 + rng_below(&g.r, 4);
    for (int i = 0; i < f->num_scalars; i++)
        g.vars[g.num_vars++] = scalars[i] = gpuc_var(ctx, random_name(&g), scalar_types[rng_below(&g.r, 3)]);
    f->num_buffers = 1 + rng_below(&g.r, 5);
    for (int i = 0; i < f->num_buffers; i++)
        buffers[i] = random_buffer(&g, i && chance(&g, 4) ? GPUC_SCOPE_TEXEL : GPUC_SCOPE_GLOBAL);
    for (int i = 0; i < f->num_buffers; i++) g.buffers[g.num_buffers++] = buffers[i];
    f->scalars = scalars;
    f->buffers = buffers;
    f->body = random_stmt(&g, 6);
    return f;
}
