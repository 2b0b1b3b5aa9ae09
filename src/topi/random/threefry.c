/* SPDX-License-Identifier: Apache-2.0 */
/* random.threefry_generate, random.threefry_split: a generator whose numbers are a hash of a key, a path and a counter, so
 * that each is computed alone, and a key may be split in two. Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
 * as 1, 2, 3 (SC 2011): Threefry-4x64 of 20 rounds. Claessen, Palka: Splittable pseudorandom number generators using
 * cryptographic hashing (Haskell 2013), encoding e4. As in TVM, the same number is added to all four words that are hashed,
 * and the key is not added after the last round.
 *
 * A key has words 0 to 3 of a key, 4 and 5 of a path, 6 and 7 of a counter, and the bit of 8 and 9 where the next step of
 * the path goes, from the left; 0: the path is full. */
#include "topi/random/threefry.h"

#include "op/rows.h"
#include "target/target.h"
#include "topi/families.h"

enum { KEY = 0, PATH = 4, COUNTER = 6, NEXT = 8, WORDS = 4, ROUNDS = 20 };

#define ALL_ONES UINT64_MAX
#define LEFTMOST (UINT64_C(1) << 63)

/* ---- Words ------------------------------------------------------------------------------------------ */

/* Values with names, for the statement that uses them. */
typedef struct names {
    gpuc_ctx *ctx;
    gpuc_ptrs vars, values;
} names;

static gpuc_expr word(gpuc_ctx *ctx, uint64_t v)
{
    return gpuc_imm_int(ctx, GPUC_UINT64, (int64_t)v);
}

static gpuc_expr name(names *n, gpuc_expr value)
{
    gpuc_expr var = gpuc_var(n->ctx, "w", GPUC_UINT64);
    gpuc_ptrs_push(n->ctx, &n->vars, (void *)(uintptr_t)var);
    gpuc_ptrs_push(n->ctx, &n->values, (void *)(uintptr_t)value);
    return var;
}

static gpuc_stmt with_names(const names *n, gpuc_stmt body)
{
    for (size_t i = n->vars.count; i > 0; i--)
        body = gpuc_tir_let(n->ctx, n->vars.at[i - 1], n->values.at[i - 1], body);
    return body;
}

static gpuc_expr bits(gpuc_ctx *ctx, const char *op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_call2(ctx, op, a, b);
}

static gpuc_expr rotated(gpuc_ctx *ctx, gpuc_expr x, int by)
{
    return bits(ctx, "bitor", bits(ctx, "shl", x, word(ctx, (uint64_t)by)),
                bits(ctx, "shr", x, word(ctx, (uint64_t)(64 - by))));
}

/* Hashes the words x in place. */
static void threefry(names *n, const gpuc_expr *key, gpuc_expr *x)
{
    static const int rotations[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37},
                                        {25, 33}, {46, 12}, {58, 22}, {32, 32}};
    gpuc_ctx *ctx = n->ctx;
    gpuc_expr all[WORDS + 1], parity = word(ctx, UINT64_C(0x1bd11bdaa9fc1a22)); /* of Skein 1.3 */
    for (int i = 0; i < WORDS; i++) parity = bits(ctx, "bitxor", parity, all[i] = key[i]);
    all[WORDS] = name(n, parity);
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; r % 4 == 0 && i < WORDS; i++) {
            gpuc_expr more = all[(r / 4 + i) % (WORDS + 1)];
            if (i == WORDS - 1) more = gpuc_add(ctx, more, word(ctx, (uint64_t)(r / 4)));
            x[i] = name(n, gpuc_add(ctx, x[i], more));
        }
        for (int i = 0; i < WORDS; i += 2) {
            x[i] = name(n, gpuc_add(ctx, x[i], x[i + 1]));
            x[i + 1] = name(n, bits(ctx, "bitxor", x[i], rotated(ctx, x[i + 1], rotations[r % 8][i / 2])));
        }
        gpuc_expr odd = x[1];
        x[1] = x[3];
        x[3] = odd;
    }
}

static void load_words(names *n, const gpuc_tir_buffer *b, int from, int count, gpuc_expr *to)
{
    for (int i = 0; i < count; i++) to[i] = name(n, gpuc_tir_load1(n->ctx, b, gpuc_int(n->ctx, from + i)));
}

static gpuc_stmt store_words(gpuc_ctx *ctx, const gpuc_tir_buffer *b, const gpuc_expr *words)
{
    gpuc_stmt stores[GPUC_RANDOM_STATE];
    for (int i = 0; i < GPUC_RANDOM_STATE; i++)
        stores[i] = gpuc_tir_store1(ctx, b, gpuc_int(ctx, i), words[i]);
    return gpuc_tir_seq(ctx, GPUC_RANDOM_STATE, stores);
}

/* ---- Keys ------------------------------------------------------------------------------------------- */

static gpuc_expr is_full(gpuc_ctx *ctx, const gpuc_expr *state)
{
    gpuc_expr none = word(ctx, 0);
    return gpuc_and(ctx, gpuc_eq(ctx, state[NEXT], none), gpuc_eq(ctx, state[NEXT + 1], none));
}

/* Moves the bit one place to the right. */
static void step_path(gpuc_ctx *ctx, const gpuc_expr *state, gpuc_expr *next)
{
    gpuc_expr one = word(ctx, 1), left = state[NEXT], right = state[NEXT + 1];
    next[0] = bits(ctx, "shr", left, one);
    next[1] = bits(ctx, "bitor", bits(ctx, "shr", right, one), bits(ctx, "shl", left, word(ctx, 63)));
}

/* Another step of the path, or a new key where it is full. */
static void renew(names *n, const gpuc_expr *state, gpuc_expr *out)
{
    gpuc_ctx *ctx = n->ctx;
    gpuc_expr full = is_full(ctx, state), none = word(ctx, 0), fresh[WORDS], next[2];
    for (int i = 0; i < WORDS; i++) fresh[i] = word(ctx, ALL_ONES);
    threefry(n, state + KEY, fresh);
    step_path(ctx, state, next);
    for (int i = 0; i < WORDS; i++) out[KEY + i] = gpuc_select(ctx, full, fresh[i], state[KEY + i]);
    for (int i = 0; i < 2; i++) {
        out[PATH + i] = gpuc_select(ctx, full, none, bits(ctx, "bitor", state[PATH + i], state[NEXT + i]));
        out[COUNTER + i] = none;
        out[NEXT + i] = gpuc_select(ctx, full, word(ctx, i ? 0 : LEFTMOST), next[i]);
    }
}

/* The state that numbers are made from, which is renewed where the counter would run out; and the next key. */
static gpuc_stmt begin(gpuc_ctx *ctx, const gpuc_tir_buffer *key, gpuc_expr count,
                       const gpuc_tir_buffer *state, const gpuc_tir_buffer *next)
{
    names n = {.ctx = ctx};
    gpuc_expr old[GPUC_RANDOM_STATE], fresh[GPUC_RANDOM_STATE], now[GPUC_RANDOM_STATE];
    load_words(&n, key, 0, GPUC_RANDOM_STATE, old);
    renew(&n, old, fresh);
    gpuc_expr limit = gpuc_sub(ctx, word(ctx, ALL_ONES), count);
    gpuc_expr room = gpuc_lt(ctx, old[COUNTER + 1], limit);
    for (int i = 0; i < GPUC_RANDOM_STATE; i++) now[i] = name(&n, gpuc_select(ctx, room, old[i], fresh[i]));
    gpuc_stmt kept = store_words(ctx, state, now);
    now[COUNTER] = word(ctx, 0);
    now[COUNTER + 1] = gpuc_add(ctx, now[COUNTER + 1], count);
    gpuc_stmt body = with_names(&n, gpuc_tir_seq2(ctx, kept, store_words(ctx, next, now)));
    return gpuc_topi_par_loop(ctx, gpuc_var(ctx, "once", GPUC_INDEX), gpuc_int(ctx, 1), body);
}

/* Makes output 1, four values of which come from the words that are hashed together. */
typedef struct maker {
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    const gpuc_tir_buffer *state;
    gpuc_expr count;
    gpuc_random_value value; /* NULL: the words themselves */
    const void *arg;
} maker;

/* The values of a block. guarded: it may be the last, of fewer. */
static gpuc_stmt hash_block(const maker *m, gpuc_expr at, bool guarded)
{
    gpuc_ctx *ctx = m->ctx;
    const gpuc_tir_buffer *out = m->op->output_buffers[1];
    names n = {.ctx = ctx};
    gpuc_expr held[GPUC_RANDOM_STATE], x[WORDS], block = gpuc_cast(ctx, GPUC_UINT64, at);
    gpuc_stmt stores[WORDS];
    load_words(&n, m->state, 0, PATH + WORDS, held);
    for (int i = 0; i < WORDS; i++) x[i] = name(&n, gpuc_add(ctx, held[PATH + i], block));
    threefry(&n, held + KEY, x);
    for (int i = 0; i < WORDS; i++) {
        gpuc_expr index[GPUC_OP_MAX_DIMS],
            place = gpuc_add(ctx, gpuc_mul(ctx, at, gpuc_int(ctx, WORDS)), gpuc_int(ctx, i));
        gpuc_topi_par_unravel(ctx, out->ndim, out->shape, place, index);
        stores[i] =
            gpuc_tir_store(ctx, out, out->ndim, index, m->value ? m->value(ctx, m->op, m->arg, x[i]) : x[i]);
        if (guarded) stores[i] = gpuc_tir_if_(ctx, gpuc_lt(ctx, place, m->count), stores[i], NULL);
    }
    return with_names(&n, gpuc_tir_seq(ctx, WORDS, stores));
}

/* A vector of blocks at a time; the last ones alone. */
static gpuc_stmt hash_vectors(const maker *m, int lanes)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_expr at = gpuc_var(ctx, "vector", GPUC_INDEX), lane = gpuc_var(ctx, "lane", GPUC_INDEX),
              block = gpuc_var(ctx, "block", GPUC_INDEX);
    gpuc_expr size = gpuc_int(ctx, (int64_t)lanes * WORDS), full = gpuc_floordiv_(ctx, m->count, size),
              first = gpuc_mul(ctx, full, gpuc_int(ctx, lanes));
    gpuc_stmt body = hash_block(m, gpuc_add(ctx, gpuc_mul(ctx, at, gpuc_int(ctx, lanes)), lane), false);
    body = gpuc_tir_for_(ctx, lane, gpuc_int(ctx, 0), gpuc_int(ctx, lanes), GPUC_LOOP_VECTORIZED,
                         GPUC_THREAD_NONE, body);
    gpuc_expr rest = gpuc_topi_par_ceildiv(ctx, gpuc_floormod_(ctx, m->count, size), gpuc_int(ctx, WORDS));
    return gpuc_tir_seq2(
        ctx, gpuc_topi_par_loop(ctx, at, full, body),
        gpuc_topi_par_loop(ctx, block, rest, hash_block(m, gpuc_add(ctx, first, block), true)));
}

static gpuc_stmt random_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                             gpuc_knobs *knobs)
{
    (void)knobs;
    maker m = *(const maker *)arg;
    gpuc_tir_buffer *state =
        gpuc_topi_par_workspace(ctx, "state", GPUC_UINT64, gpuc_int(ctx, GPUC_RANDOM_STATE));
    gpuc_stmt first = begin(ctx, op->input_buffers[0], gpuc_cast(ctx, GPUC_UINT64, m.count), state,
                            op->output_buffers[0]),
              rest;
    /* C compilers make faster vectors of all this than those that they are given. */
    bool cpu = gpuc_topi_par_cpu(target) && target->language->work_groups;
    int lanes = cpu ? gpuc_target_lanes(target, GPUC_UINT64) : 1;
    m.state = state;
    if (lanes > 1) {
        rest = hash_vectors(&m, lanes);
    } else {
        gpuc_expr block = gpuc_var(ctx, "block", GPUC_INDEX);
        rest = gpuc_topi_par_loop(ctx, block, gpuc_topi_par_ceildiv(ctx, m.count, gpuc_int(ctx, WORDS)),
                                  hash_block(&m, block, true));
    }
    return gpuc_tir_alloc(ctx, state, gpuc_tir_seq2(ctx, first, rest));
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

void gpuc_topi_random_infer_key(gpuc_op_call *call)
{
    const gpuc_tensor_type *key = &call->in[0];
    gpuc_expr size = gpuc_topi_num(call, GPUC_RANDOM_STATE);
    if (key->ndim != 1)
        gpuc_topi_fail(call, "input 0, the key, has %d dimensions, must be uint64[%d]", key->ndim,
                       GPUC_RANDOM_STATE);
    gpuc_topi_require(call, gpuc_eq(call->ctx, key->dims[0], size),
                      "input 0, the key, has %s words, must have %d", gpuc_expr_text(call->ctx, key->dims[0]),
                      GPUC_RANDOM_STATE);
    gpuc_topi_set_out(call, 0, GPUC_UINT64, 1, &size);
}

int gpuc_topi_random_shape(const gpuc_op_call *call, gpuc_expr *dims)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "out_shape");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "out_shape has %d dimensions", shape->n);
    for (int i = 0; i < shape->n; i++) {
        dims[i] = gpuc_attr_size(call->ctx, shape, i);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)),
                          "dimension %d of out_shape is %s", i, gpuc_expr_text(call->ctx, dims[i]));
    }
    return shape->n;
}

gpuc_te_op *gpuc_topi_random_values(const gpuc_op_call *call, int num_in, gpuc_tensor *const *ins,
                                    gpuc_dtype t, int ndim, const gpuc_expr *dims, gpuc_random_value value,
                                    const void *arg)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_tensor_type types[] = {call->out[0], gpuc_topi_par_type(ctx, t, ndim, dims)};
    gpuc_expr count = gpuc_topi_par_count(call, &types[1], ndim);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "random", num_in, ins, 2, types);
    maker *m = gpuc_new(ctx, maker);
    *m = (maker){.ctx = ctx, .op = op, .count = count, .value = value, .arg = arg};
    gpuc_topi_par_set_body(ctx, op, random_body, m);
    return op;
}

gpuc_te_op *gpuc_topi_random_words(const gpuc_op_call *call, gpuc_tensor *key, int ndim,
                                   const gpuc_expr *dims)
{
    return gpuc_topi_random_values(call, 1, &key, GPUC_UINT64, ndim, dims, NULL, NULL);
}

static void infer_generate(gpuc_op_call *call)
{
    gpuc_expr dims[GPUC_OP_MAX_DIMS];
    int ndim = gpuc_topi_random_shape(call, dims);
    gpuc_topi_random_infer_key(call);
    gpuc_topi_set_out(call, 1, GPUC_UINT64, ndim, dims);
    gpuc_topi_par_count(call, &call->out[1], ndim);
    call->num_out = 2;
}

static void generate_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_te_op *op = gpuc_topi_random_words(call, ins[0], call->out[1].ndim, call->out[1].dims);
    for (int i = 0; i < 2; i++) outs[i] = op->outputs[i];
}

static void infer_split(gpuc_op_call *call)
{
    gpuc_expr size = gpuc_topi_num(call, GPUC_RANDOM_STATE);
    gpuc_topi_random_infer_key(call);
    gpuc_topi_set_out(call, 1, GPUC_UINT64, 1, &size);
    call->num_out = 2;
}

/* The left one goes on with a 0 in the path, the right one with a 1. A full path becomes part of a new key. */
static void split_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_te_op *op = gpuc_topi_par_extern(call, "split", 1, ins, 2, call->out);
    names n = {.ctx = ctx};
    gpuc_expr old[GPUC_RANDOM_STATE], left[GPUC_RANDOM_STATE], right[GPUC_RANDOM_STATE], hashed[WORDS],
        next[2];
    load_words(&n, op->input_buffers[0], 0, GPUC_RANDOM_STATE, old);
    gpuc_expr full = is_full(ctx, old), none = word(ctx, 0);
    for (int i = 0; i < WORDS; i++) hashed[i] = old[PATH + i];
    threefry(&n, old + KEY, hashed);
    step_path(ctx, old, next);
    for (int i = 0; i < WORDS; i++)
        left[KEY + i] = right[KEY + i] = gpuc_select(ctx, full, hashed[i], old[KEY + i]);
    for (int i = 0; i < 2; i++) {
        left[PATH + i] = gpuc_select(ctx, full, none, old[PATH + i]);
        right[PATH + i] = gpuc_select(ctx, full, word(ctx, i ? 0 : LEFTMOST),
                                      bits(ctx, "bitor", old[PATH + i], old[NEXT + i]));
        left[COUNTER + i] = right[COUNTER + i] = gpuc_select(ctx, full, none, old[COUNTER + i]);
        left[NEXT + i] = right[NEXT + i] = gpuc_select(ctx, full, word(ctx, i ? 0 : LEFTMOST >> 1), next[i]);
    }
    gpuc_stmt stores = gpuc_tir_seq2(ctx, store_words(ctx, op->output_buffers[0], left),
                                     store_words(ctx, op->output_buffers[1], right));
    op->extern_body =
        gpuc_topi_par_loop(ctx, gpuc_var(ctx, "once", GPUC_INDEX), gpuc_int(ctx, 1), with_names(&n, stores));
    for (int i = 0; i < 2; i++) outs[i] = op->outputs[i];
}

ATTRS(generate_attrs, SIZES("out_shape"))

const gpuc_op gpuc_topi_ops_threefry[] = {
    ALONE_BY(gpuc_topi_par_schedule, "random.threefry_generate", 1, 1, generate_attrs, infer_generate,
             generate_compute, "threefry_generate", "", "", GPUC_T_UINT64),
    ALONE("random.threefry_split", 1, 1, NULL, infer_split, split_compute, "threefry_split", "", "",
          GPUC_T_UINT64),
};
const size_t gpuc_topi_ops_threefry_count = sizeof gpuc_topi_ops_threefry / sizeof gpuc_topi_ops_threefry[0];
