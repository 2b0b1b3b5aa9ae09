/* SPDX-License-Identifier: Apache-2.0 */
/* Intrinsics that users declare: parts with loops and storage of their own, tiles of several dimensions, element types,
 * where the elements lie, tails, several outputs, and what differs where a stage computes something else. */
#include "fixture.h"

#include <string.h>

#include "base/element.h"
#include "compare.h"
#include "schedule/internal.h"

/* ---- A block product, in parts ---------------------------------------------------------------------- */

enum { BODY = 1, UPDATE = 2, INIT = 4, FINALISE = 8 };

typedef struct block {
    int64_t m, n, k;
    int runs[4]; /* of body, update, init, finalise */
} block;

static gpuc_stmt loops(gpuc_ctx *ctx, int n, const gpuc_expr *vars, const int64_t *extents, gpuc_stmt body)
{
    for (int i = n; i-- > 0;)
        body = gpuc_tir_for_(ctx, vars[i], gpuc_int(ctx, 0), gpuc_int(ctx, extents[i]), GPUC_LOOP_SERIAL,
                             GPUC_THREAD_NONE, body);
    return body;
}

static gpuc_stmt for_elements(gpuc_ctx *ctx, const block *b, const gpuc_expr *ij, gpuc_stmt body)
{
    return loops(ctx, 2, ij, (const int64_t[]){b->m, b->n}, body);
}

/* Sums in storage of its own, over loops of its own. sign: what is kept in out is sign times the sum. */
static gpuc_stmt product(gpuc_ctx *ctx, const gpuc_tensor_region *const *in, const gpuc_tensor_region *out,
                         const block *b, bool anew, double sign)
{
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INDEX),
              k = gpuc_var(ctx, "k", GPUC_INDEX), one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    const gpuc_expr ij[] = {i, j}, ik[] = {i, k}, kj[] = {k, j}, by = gpuc_imm(ctx, GPUC_FLOAT32, sign);
    const gpuc_tir_buffer *sum = gpuc_tir_buffer_make(ctx, "sum", GPUC_FLOAT32, 1, &one, GPUC_SCOPE_LOCAL);
    gpuc_expr first = anew ? gpuc_imm(ctx, GPUC_FLOAT32, 0) : gpuc_tensor_region_load_at(ctx, out, ij);
    gpuc_expr x =
        gpuc_mul(ctx, gpuc_tensor_region_load_at(ctx, in[0], ik), gpuc_tensor_region_load_at(ctx, in[1], kj));
    gpuc_expr more = gpuc_add(ctx, gpuc_tir_load(ctx, sum, 1, &zero), gpuc_mul(ctx, by, x));
    const gpuc_stmt parts[] = {
        gpuc_tir_store(ctx, sum, 1, &zero, first),
        loops(ctx, 1, &k, &b->k, gpuc_tir_store(ctx, sum, 1, &zero, more)),
        gpuc_tensor_region_store_at(ctx, out, ij, gpuc_tir_load(ctx, sum, 1, &zero)),
    };
    return for_elements(ctx, b, ij, gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 3, parts)));
}

static gpuc_stmt block_body(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                            const gpuc_tensor_region *const *out, void *arg)
{
    ((block *)arg)->runs[0]++;
    return product(ctx, in, out[0], arg, true, 1);
}

static gpuc_stmt block_update(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                              const gpuc_tensor_region *const *out, void *arg)
{
    ((block *)arg)->runs[1]++;
    return product(ctx, in, out[0], arg, false, 1);
}

static gpuc_stmt block_update_negative(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                                       const gpuc_tensor_region *const *out, void *arg)
{
    ((block *)arg)->runs[1]++;
    return product(ctx, in, out[0], arg, false, -1);
}

static gpuc_stmt block_init(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                            const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr ij[] = {gpuc_var(ctx, "i", GPUC_INDEX), gpuc_var(ctx, "j", GPUC_INDEX)};
    assert_null(in);
    ((block *)arg)->runs[2]++;
    return for_elements(ctx, arg, ij,
                        gpuc_tensor_region_store_at(ctx, out[0], ij, gpuc_imm(ctx, GPUC_FLOAT32, 0)));
}

static gpuc_stmt block_finalise(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                                const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr ij[] = {gpuc_var(ctx, "i", GPUC_INDEX), gpuc_var(ctx, "j", GPUC_INDEX)};
    assert_null(in);
    ((block *)arg)->runs[3]++;
    gpuc_expr x = gpuc_tensor_region_load_at(ctx, out[0], ij);
    return for_elements(
        ctx, arg, ij,
        gpuc_tensor_region_store_at(ctx, out[0], ij, gpuc_sub(ctx, gpuc_imm(ctx, GPUC_FLOAT32, 0), x)));
}

static const gpuc_tensor_intrin *block_intrin(gpuc_ctx *ctx, block *b, int parts)
{
    expr_graph g = {.ctx = ctx};
    gpuc_expr m = num(&g, b->m), n = num(&g, b->n), depth = num(&g, b->k);
    gpuc_tensor *in[] = {input(&g, "a", GPUC_FLOAT32, 2, EXPRS(m, depth)),
                         input(&g, "b", GPUC_FLOAT32, 2, EXPRS(depth, n))};
    gpuc_iter *ij[] = {axis(&g, m, "i"), axis(&g, n, "j")}, *k = raxis(&g, depth, "k");
    gpuc_expr x = gpuc_mul(ctx, AT2(&g, in[0], V(ij[0]), V(k)), AT2(&g, in[1], V(k), V(ij[1])));
    gpuc_tensor *c = gpuc_te_compute(ctx, "c", 2, ij, gpuc_te_reduce(ctx, "sum", x, 1, &k));
    const gpuc_tensor_parts p = {
        .body = parts & BODY ? block_body : NULL,
        .update = !(parts & UPDATE)  ? NULL
                  : parts & FINALISE ? block_update_negative
                                     : block_update,
        .init = parts & INIT ? block_init : NULL,
        .finalise = parts & FINALISE ? block_finalise : NULL,
        .arg = b,
    };
    return gpuc_tensor_intrin_declare_parts(ctx, "block", c, 2, in, &p);
}

typedef struct matmul {
    expr_graph g;
    gpuc_schedule *s;
    gpuc_stage *c;
    gpuc_iter *io, *jo, *ko, *ii, *ji, *ki;
} matmul;

/* C = A x B of m x k and k x n, with loops io, jo, ko, ii, ji, ki. */
static void make(gpuc_ctx *ctx, int64_t m, int64_t n, int64_t k, const block *b, matmul *x)
{
    memset(x, 0, sizeof *x);
    expr_graph *g = &x->g;
    g->ctx = ctx;
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT32, 2, EXPRS(num(g, m), num(g, k))),
                *w = input(g, "B", GPUC_FLOAT32, 2, EXPRS(num(g, k), num(g, n)));
    gpuc_iter *ij[] = {axis(g, num(g, m), "i"), axis(g, num(g, n), "j")}, *r = raxis(g, num(g, k), "k");
    gpuc_expr product = gpuc_mul(ctx, AT2(g, a, V(ij[0]), V(r)), AT2(g, w, V(r), V(ij[1])));
    output(g, gpuc_te_compute(ctx, "C", 2, ij, gpuc_te_reduce(ctx, "sum", product, 1, &r)));
    x->s = gpuc_schedule_create(ctx, 1, &g->args[2]);
    x->c = gpuc_schedule_stage(x->s, g->args[2]);
    gpuc_stage_tile(x->c, gpuc_stage_axis(x->c, 0), gpuc_stage_axis(x->c, 1), b->m, b->n, &x->io, &x->jo,
                    &x->ii, &x->ji);
    if (b->k == k) return; /* all of the reduction is in the tile */
    gpuc_stage_split(x->c, gpuc_stage_reduce_axis(x->c, 0), b->k, &x->ko, &x->ki);
    gpuc_stage_reorder(x->c, 6, ITERS(x->io, x->jo, x->ko, x->ii, x->ji, x->ki));
}

static const char *lowered(matmul *x)
{
    return gpuc_tir_text(x->g.ctx, gpuc_schedule_lower(x->s, "f", x->g.num_args, x->g.args));
}

/* All combinations of parts, with and without tails of each axis. */
static void parts_body(gpuc_ctx *ctx, void *arg)
{
    static const int all[] = {UPDATE, UPDATE | INIT, BODY | UPDATE, UPDATE | INIT | FINALISE};
    static const int64_t sizes[][3] = {{8, 6, 10}, {7, 6, 10}, {8, 7, 10},
                                       {9, 8, 10}, {8, 6, 12}, {7, 5, 13}};
    (void)arg;
    for (size_t p = 0; p < 4; p++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
            matmul x;
            block b = {.m = 4, .n = 3, .k = 5};
            const int64_t *size = sizes[n];
            if (all[p] & FINALISE && size[2] % b.k) continue;
            make(ctx, size[0], size[1], size[2], &b, &x);
            gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &b, all[p]));
            compare_with_definition(&x.g, x.s);
            assert_int_equal(b.runs[0], 0); /* part of the reduction is outside */
            assert_int_equal(b.runs[1], 1);
            assert_int_equal(b.runs[2], all[p] & INIT ? 1 : 0);
            assert_int_equal(b.runs[3], all[p] & FINALISE ? 1 : 0);
        }
}

/* The body, where the loops have all of the reduction; what is left out is set and summed by plain loops. */
static void whole_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int64_t m = 8; m < 11; m++)
        for (int64_t n = 6; n < 8; n++)
            for (int update = 0; update < 2; update++) {
                matmul x;
                block b = {.m = 4, .n = 3, .k = 10};
                make(ctx, m, n, 10, &b, &x);
                gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &b, update ? BODY | UPDATE : BODY));
                compare_with_definition(&x.g, x.s);
                assert_int_equal(b.runs[0], 1);
                assert_int_equal(b.runs[1], 0);
            }
}

/* Whole tiles are told from others once, outside of the tile. */
static void tail_text(gpuc_ctx *ctx, void *arg)
{
    matmul x;
    block b = {.m = 4, .n = 3, .k = 5};
    (void)arg;
    make(ctx, 8, 7, 12, &b, &x);
    gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &b, UPDATE | INIT));
    const char *text = lowered(&x);
    assert_non_null(strstr(text, "if (j.outer < 2) {")); /* of the init part */
    assert_non_null(strstr(text, "if (j.outer < 2 && k.outer < 2) {"));
    assert_non_null(strstr(text, "if (k.outer*5 + k.inner < 12) {")); /* of what is left */
}

/* ---- Element types ---------------------------------------------------------------------------------- */

typedef struct typed {
    gpuc_dtype type;
    const char *reducer;
} typed;

static gpuc_stmt copy_row(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                          const gpuc_tensor_region *const *out, void *arg)
{
    const int64_t zero = 0;
    (void)arg;
    return gpuc_tensor_region_store(ctx, out[0], &zero, gpuc_tensor_region_load(ctx, in[0], &zero, 4));
}

static gpuc_stmt join_row(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                          const gpuc_tensor_region *const *out, void *arg)
{
    const typed *t = arg;
    gpuc_expr k = gpuc_var(ctx, "k", GPUC_INDEX), have = gpuc_tensor_region_load_at(ctx, out[0], NULL),
              more = gpuc_tensor_region_load_at(ctx, in[0], &k);
    const gpuc_tir_reducer *r = gpuc_tir_reducer_get(ctx, t->reducer, t->type);
    gpuc_expr joined;
    gpuc_te_combine(ctx, r, &have, &more, &joined);
    return gpuc_tir_for_(ctx, k, gpuc_int(ctx, 0), gpuc_int(ctx, 4), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                         gpuc_tensor_region_store_at(ctx, out[0], NULL, joined));
}

/* T = A copied by vectors of four, C = T reduced by parts of four. 10 = 4 + 4 + 2. */
static void typed_body(gpuc_ctx *ctx, void *arg)
{
    const typed *t = arg;
    expr_graph g = {.ctx = ctx};
    gpuc_expr four = num(&g, 4), n = num(&g, 3), m = num(&g, 10);
    gpuc_tensor *row = gpuc_te_placeholder(ctx, "row", 1, &four, t->type),
                *a = input(&g, "A", t->type, 2, EXPRS(n, m));
    gpuc_iter *i = axis(&g, four, "i"), *k = raxis(&g, four, "k"),
              *ij[] = {axis(&g, n, "i"), axis(&g, m, "j")}, *x = axis(&g, n, "x"), *r = raxis(&g, m, "r");
    gpuc_tensor *copied = gpuc_te_compute(ctx, "copied", 1, &i, AT1(&g, row, V(i))),
                *joined = gpuc_te_compute(ctx, "joined", 0, NULL,
                                          gpuc_te_reduce(ctx, t->reducer, AT1(&g, row, V(k)), 1, &k)),
                *b = gpuc_te_compute(ctx, "T", 2, ij, AT2(&g, a, V(ij[0]), V(ij[1])));
    output(&g,
           gpuc_te_compute(ctx, "C", 1, &x, gpuc_te_reduce(ctx, t->reducer, AT2(&g, b, V(x), V(r)), 1, &r)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[1]);
    gpuc_stage *stages[] = {gpuc_schedule_stage(s, b), gpuc_schedule_stage(s, g.args[1])};
    const gpuc_tensor_intrin *intrins[] = {
        gpuc_tensor_intrin_declare_parts(ctx, "copy", copied, 1, &row,
                                         &(gpuc_tensor_parts){.body = copy_row}),
        gpuc_tensor_intrin_declare_parts(ctx, "join", joined, 1, &row,
                                         &(gpuc_tensor_parts){.update = join_row, .arg = arg})};
    for (int p = 0; p < 2; p++) {
        gpuc_iter *outer, *inner;
        gpuc_stage_split(stages[p], gpuc_stage_leaf(stages[p], 1), 4, &outer, &inner);
        gpuc_stage_tensorize(stages[p], inner, intrins[p]);
    }
    uint8_t data[30 * 8], got[3 * 8], want[3 * 8];
    size_t bytes = gpuc_dtype_bytes(t->type);
    for (int e = 0; e < 30; e++) {
        int v = t->type.code == GPUC_DTYPE_UINT ? e * 7 % 11 : e * 7 % 11 - 5;
        if (gpuc_is_bool(t->type)) v = e > 10;
        uint64_t bits = gpuc_is_float(t->type) ? gpuc_float_bits(t->type, v) : (uint64_t)(int64_t)v;
        memcpy(data + (size_t)e * bytes, &bits, bytes);
    }
    gpuc_tir_arg args[] = {{data, 30 * bytes}, {got, 3 * bytes}};
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, gpuc_schedule_lower(s, "f", 2, g.args), args, NULL, true));
    args[1].data = want;
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, gpuc_te_lower_plain(ctx, "f", 2, g.args), args, NULL, true));
    assert_memory_equal(got, want, 3 * bytes);
}

static void types_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int e = 0; e < GPUC_NUM_ELEMENTS; e++)
        for (int r = 0; r < 2; r++) {
            bool truth = gpuc_is_bool(gpuc_elements[e].dtype);
            typed t = {gpuc_elements[e].dtype, truth ? (r ? "any" : "all") : r ? "sum" : "max"};
            typed_body(ctx, &t);
        }
}

/* ---- Where elements lie ----------------------------------------------------------------------------- */

/* out[i] = sum of in[2 * i + k] * w[k], i < 4, k < 3: a window of elements of one dimension. */
static gpuc_stmt windows(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                         const gpuc_tensor_region *const *out, void *arg)
{
    gpuc_stmt all = NULL;
    (*(int *)arg)++;
    for (int64_t i = 0; i < 4; i++) {
        gpuc_expr sum = gpuc_tensor_region_load(ctx, out[0], &i, 1);
        for (int64_t k = 0; k < 3; k++) {
            int64_t at = 2 * i + k;
            sum = gpuc_add(ctx, sum,
                           gpuc_mul(ctx, gpuc_tensor_region_load(ctx, in[0], &at, 1),
                                    gpuc_tensor_region_load(ctx, in[1], &k, 1)));
        }
        all = gpuc_tir_seq2(ctx, all, gpuc_tensor_region_store(ctx, out[0], &i, sum));
    }
    return all;
}

static const gpuc_tensor_intrin *window_intrin(gpuc_ctx *ctx, int *runs)
{
    expr_graph g = {.ctx = ctx};
    gpuc_tensor *in[] = {input(&g, "in", GPUC_FLOAT32, 1, EXPRS(num(&g, 9))),
                         input(&g, "w", GPUC_FLOAT32, 1, EXPRS(num(&g, 3)))};
    gpuc_iter *i = axis(&g, num(&g, 4), "i"), *k = raxis(&g, num(&g, 3), "k");
    gpuc_expr where = gpuc_add(ctx, gpuc_mul(ctx, V(i), num(&g, 2)), V(k));
    gpuc_expr x = gpuc_mul(ctx, AT1(&g, in[0], where), AT1(&g, in[1], V(k)));
    gpuc_tensor *c = gpuc_te_compute(ctx, "c", 1, &i, gpuc_te_reduce(ctx, "sum", x, 1, &k));
    return gpuc_tensor_intrin_declare_parts(ctx, "window", c, 2, in,
                                            &(gpuc_tensor_parts){.update = windows, .arg = runs});
}

/* How the image lies: row by row; transposed; in blocks; a part of it in storage of its own; a view that runs backwards. */
enum { PLAIN, TRANSPOSED, PADDED, CACHED, BACKWARDS, PLACES };

/* C[c, x] = sum of A[c, 2 * x + k] * W[c, k]: along x or c, from where the columns lie. */
static void place_body(gpuc_ctx *ctx, void *arg)
{
    int place = *(int *)arg, runs = 0;
    expr_graph g = {.ctx = ctx};
    gpuc_expr n = num(&g, 3), m = num(&g, 25), shape[] = {n, m};
    gpuc_tensor *a;
    if (place == BACKWARDS) {
        a = gpuc_te_placeholder_strided(ctx, "A", 2, shape, GPUC_FLOAT32, num(&g, 90),
                                        EXPRS(num(&g, 30), num(&g, -1)), num(&g, 27));
        g.args[g.num_args++] = a;
    } else {
        a = input(&g, "A", GPUC_FLOAT32, 2, shape);
    }
    gpuc_tensor *w = input(&g, "W", GPUC_FLOAT32, 2, EXPRS(n, num(&g, 3)));
    gpuc_iter *pq[] = {axis(&g, n, "p"), axis(&g, m, "q")},
              *cx[] = {axis(&g, n, "c"), axis(&g, num(&g, 12), "x")}, *k = raxis(&g, num(&g, 3), "k"), *xo,
              *xi;
    gpuc_tensor *t = gpuc_te_compute(ctx, "T", 2, pq, AT2(&g, a, V(pq[0]), V(pq[1])));
    gpuc_tensor *from = place == PLAIN || place == BACKWARDS ? a : t;
    gpuc_expr where = gpuc_add(ctx, gpuc_mul(ctx, V(cx[1]), num(&g, 2)), V(k));
    gpuc_expr x = gpuc_mul(ctx, AT2(&g, w, V(cx[0]), V(k)), AT2(&g, from, V(cx[0]), where));
    output(&g, gpuc_te_compute(ctx, "C", 2, cx, gpuc_te_reduce(ctx, "sum", x, 1, &k)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[2]);
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[2]);
    gpuc_stage_split(c, gpuc_stage_axis(c, 1), 4, &xo, &xi);
    if (place == TRANSPOSED) gpuc_stage_transform_layout(gpuc_schedule_stage(s, t), "BA");
    if (place == PADDED) gpuc_stage_storage_align(gpuc_schedule_stage(s, t), 0, 8, 3);
    if (place == CACHED) gpuc_stage_compute_at(gpuc_schedule_stage(s, t), c, xo);
    gpuc_stage_tensorize(c, xi, window_intrin(ctx, &runs));
    compare_with_definition(&g, s);
    assert_int_equal(runs, 1);
}

/* The pattern is what the stage computes, with its own placeholder. */
static void itself_body(gpuc_ctx *ctx, void *arg)
{
    expr_graph g = {.ctx = ctx};
    (void)arg;
    gpuc_expr four = num(&g, 4);
    gpuc_tensor *a = input(&g, "A", GPUC_FLOAT32, 1, &four);
    gpuc_iter *i = axis(&g, four, "i");
    output(&g, gpuc_te_compute(ctx, "C", 1, &i, AT1(&g, a, V(i))));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[1]);
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[1]);
    gpuc_stage_tensorize(c, gpuc_stage_leaf(c, 0),
                         gpuc_tensor_intrin_declare_parts(ctx, "itself", g.args[1], 1, &a,
                                                          &(gpuc_tensor_parts){.body = copy_row}));
    compare_with_definition(&g, s);
}

/* Strides and the address of the first element are those of the storage. */
static gpuc_stmt call_row(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                          const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr args[] = {
        gpuc_tensor_region_address(ctx, out[0], true), gpuc_tensor_region_address(ctx, in[0], false),
        gpuc_tensor_region_stride(ctx, in[0], 0), gpuc_tensor_region_stride(ctx, in[0], 1)};
    (void)arg;
    return gpuc_tir_eval(ctx, gpuc_tir_intrinsic(ctx, GPUC_INT32, "extern", "row", NULL, 4, args));
}

static void call_body(gpuc_ctx *ctx, void *arg)
{
    expr_graph g = {.ctx = ctx};
    (void)arg;
    gpuc_expr two = num(&g, 2), four = num(&g, 4);
    gpuc_tensor *tile = gpuc_te_placeholder(ctx, "tile", 2, EXPRS(two, four), GPUC_FLOAT32),
                *a = input(&g, "A", GPUC_FLOAT32, 2, EXPRS(num(&g, 8), num(&g, 12)));
    gpuc_iter *p[] = {axis(&g, four, "p"), axis(&g, two, "q")},
              *ij[] = {axis(&g, num(&g, 12), "i"), axis(&g, num(&g, 8), "j")}, *io, *jo, *ii, *ji;
    gpuc_tensor *turned = gpuc_te_compute(ctx, "turned", 2, p, AT2(&g, tile, V(p[1]), V(p[0])));
    output(&g, gpuc_te_compute(ctx, "C", 2, ij, AT2(&g, a, V(ij[1]), V(ij[0]))));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[1]);
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[1]);
    gpuc_stage_tile(c, gpuc_stage_axis(c, 0), gpuc_stage_axis(c, 1), 4, 2, &io, &jo, &ii, &ji);
    gpuc_stage_tensorize(c, ii,
                         gpuc_tensor_intrin_declare_parts(ctx, "turn", turned, 1, &tile,
                                                          &(gpuc_tensor_parts){.body = call_row}));
    const char *text = gpuc_tir_text(ctx, gpuc_schedule_lower(s, "f", 2, g.args));
    assert_non_null(strstr(text, "extern(\"row\", address(&C, i.outer*4, j.outer*2), "
                                 "const_address(&A, j.outer*2, i.outer*4), 12, 1)"));
}

/* ---- Several outputs -------------------------------------------------------------------------------- */

/* The largest of four and what goes with it, joined to the one so far. */
static gpuc_stmt top_of_four(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                             const gpuc_tensor_region *const *out, void *arg)
{
    gpuc_expr k = gpuc_var(ctx, "k", GPUC_INDEX), have = gpuc_tensor_region_load_at(ctx, out[0], NULL),
              more = gpuc_tensor_region_load_at(ctx, in[0], &k);
    (void)arg;
    const gpuc_stmt stores[] = {
        gpuc_tensor_region_store_at(ctx, out[0], NULL, more),
        gpuc_tensor_region_store_at(ctx, out[1], NULL, gpuc_tensor_region_load_at(ctx, in[1], &k))};
    gpuc_stmt take = gpuc_tir_if_(ctx, gpuc_lt(ctx, have, more), gpuc_tir_seq(ctx, 2, stores), NULL);
    return gpuc_tir_for_(ctx, k, gpuc_int(ctx, 0), gpuc_int(ctx, 4), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                         take);
}

/* Of equal ones the one with the smaller payload. */
static void top_of(expr_graph *g, gpuc_tensor *values, gpuc_tensor *payload, gpuc_iter *row, gpuc_iter *k,
                   gpuc_tensor **outs)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr l[] = {gpuc_var(ctx, "l", GPUC_FLOAT32), gpuc_var(ctx, "lp", GPUC_INT32)},
              r[] = {gpuc_var(ctx, "r", GPUC_FLOAT32), gpuc_var(ctx, "rp", GPUC_INT32)}, bodies[2], read[2];
    gpuc_expr left = gpuc_or(ctx, gpuc_gt(ctx, l[0], r[0]),
                             gpuc_and(ctx, gpuc_eq(ctx, l[0], r[0]), gpuc_le(ctx, l[1], r[1])));
    gpuc_expr joined[] = {gpuc_select(ctx, left, l[0], r[0]), gpuc_select(ctx, left, l[1], r[1])};
    const gpuc_tir_reducer *reducer = gpuc_te_comm_reducer(
        ctx, "top", 2, l, r, joined,
        EXPRS(gpuc_tir_min_value(ctx, GPUC_FLOAT32), gpuc_tir_max_value(ctx, GPUC_INT32)));
    for (int i = 0; i < 2; i++) {
        gpuc_tensor *t = i ? payload : values;
        read[i] = row ? AT2(g, t, V(row), V(k)) : AT1(g, t, V(k));
    }
    gpuc_te_reduce_n(ctx, reducer, read, 1, &k, NULL, bodies);
    gpuc_te_compute_n(ctx, "top", row ? 1 : 0, &row, 2, bodies, outs);
}

static void outputs_body(gpuc_ctx *ctx, void *arg)
{
    expr_graph g = {.ctx = ctx};
    (void)arg;
    gpuc_expr n = num(&g, 3), m = num(&g, 14), four = num(&g, 4);
    gpuc_tensor *in[] = {gpuc_te_placeholder(ctx, "v", 1, &four, GPUC_FLOAT32),
                         gpuc_te_placeholder(ctx, "p", 1, &four, GPUC_INT32)},
                *outs[2], *pattern[2];
    gpuc_tensor *v = input(&g, "V", GPUC_FLOAT32, 2, EXPRS(n, m)),
                *p = input(&g, "P", GPUC_INT32, 2, EXPRS(n, m));
    top_of(&g, in[0], in[1], NULL, raxis(&g, four, "k"), pattern);
    top_of(&g, v, p, axis(&g, n, "i"), raxis(&g, m, "k"), outs);
    output(&g, outs[0]);
    output(&g, outs[1]);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 2, &g.args[2]);
    gpuc_stage *c = gpuc_schedule_stage(s, outs[0]);
    gpuc_iter *ko, *ki;
    gpuc_stage_split(c, gpuc_stage_reduce_axis(c, 0), 4, &ko, &ki);
    gpuc_stage_tensorize(c, ki,
                         gpuc_tensor_intrin_declare_parts(ctx, "top4", pattern[1], 2, in,
                                                          &(gpuc_tensor_parts){.update = top_of_four}));
    const char *text = gpuc_tir_text(ctx, gpuc_schedule_lower(s, "f", 4, g.args));
    assert_non_null(strstr(text, "for k_1 in 0..4") ? text : strstr(text, "for k in 0..4"));
    data_set d;
    data_fill(&g, 3, &d);
    /* The intrinsic keeps the first of equal ones: payloads in rising order make that the smallest. */
    for (int64_t e = 0; e < d.counts[1]; e++) ((int32_t *)d.args[1].data)[e] = (int32_t)e;
    data_run(&g, gpuc_schedule_lower(s, "f", 4, g.args), &d);
    float got[3];
    int32_t place[3];
    memcpy(got, d.args[2].data, sizeof got);
    memcpy(place, d.args[3].data, sizeof place);
    data_run(&g, gpuc_te_lower_plain(ctx, "f", 4, g.args), &d);
    assert_memory_equal(got, d.args[2].data, sizeof got);
    assert_memory_equal(place, d.args[3].data, sizeof place);
}

/* ---- What is refused -------------------------------------------------------------------------------- */

typedef struct other {
    const char *words;
    gpuc_dtype a, sum; /* of A, and what is summed in */
    const char *reducer;
    int form; /* 0: A[i, k] * B[k, j]; what else see `value` */
} other;

static gpuc_expr value(expr_graph *g, const other *o, gpuc_tensor *const *t, gpuc_expr i, gpuc_expr j,
                       gpuc_expr k)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr a = gpuc_cast(ctx, o->sum, AT2(g, t[0], i, k)), b = gpuc_cast(ctx, o->sum, AT2(g, t[1], k, j));
    switch (o->form) {
    case 1: return gpuc_add(ctx, a, b);
    case 2: return gpuc_mul(ctx, a, a);
    case 3: return gpuc_mul(ctx, a, gpuc_cast(ctx, o->sum, AT2(g, t[0], i, j)));
    case 4: return gpuc_mul(ctx, a, gpuc_cast(ctx, o->sum, AT2(g, t[1], j, k)));
    default: return gpuc_mul(ctx, a, b);
    }
}

/* A stage that is nearly the block product of float32. */
static void mismatch(gpuc_ctx *ctx, void *arg)
{
    const other *o = arg;
    expr_graph g = {.ctx = ctx};
    block b = {.m = 4, .n = 4, .k = 4};
    gpuc_expr eight = num(&g, 8), shape[] = {eight, eight};
    gpuc_tensor *t[] = {input(&g, "A", o->a, 2, shape), input(&g, "B", o->a, 2, shape)};
    gpuc_iter *ij[] = {axis(&g, eight, "i"), axis(&g, eight, "j")}, *r = raxis(&g, eight, "k"), *ko, *ki, *io,
              *jo, *ii, *ji;
    gpuc_expr x = value(&g, o, t, V(ij[0]), V(ij[1]), V(r));
    if (o->form == 5) {
        gpuc_te_reduce_n(ctx, gpuc_tir_reducer_get(ctx, "sum", o->sum), &x, 1, &r,
                         gpuc_lt(ctx, V(r), V(ij[0])), &x);
    } else {
        x = gpuc_te_reduce(ctx, o->reducer, x, 1, &r);
    }
    output(&g, gpuc_te_compute(ctx, "C", 2, ij, x));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[2]);
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[2]);
    gpuc_stage_tile(c, gpuc_stage_axis(c, 0), gpuc_stage_axis(c, 1), 4, 4, &io, &jo, &ii, &ji);
    gpuc_stage_split(c, gpuc_stage_reduce_axis(c, 0), 4, &ko, &ki);
    gpuc_stage_reorder(c, 6, ITERS(io, jo, ko, ii, ji, ki));
    gpuc_stage_tensorize(c, ii, block_intrin(ctx, &b, UPDATE));
    if (o->form == 2 || o->form == 3) g.args[1] = g.args[2]; /* B is not read */
    gpuc_schedule_lower(s, "f", o->form == 2 || o->form == 3 ? 2 : 3, g.args);
}

static const other others[] = {
    {"does not compute what block does|it has float32(A(i, k)) in the place of a(i, k)",
     {GPUC_DTYPE_INT, 32, 1},
     {GPUC_DTYPE_FLOAT, 32, 1},
     "sum",
     0},
    {"it reduces by 'max' of float32, not by 'sum' of float32",
     {GPUC_DTYPE_FLOAT, 32, 1},
     {GPUC_DTYPE_FLOAT, 32, 1},
     "max",
     0},
    {"it reduces by 'sum' of float64, not by 'sum' of float32",
     {GPUC_DTYPE_FLOAT, 32, 1},
     {GPUC_DTYPE_FLOAT, 64, 1},
     "sum",
     0},
    {"it has A(i, k) + B(k, j) in the place of a(i, k)*b(k, j)",
     {GPUC_DTYPE_FLOAT, 32, 1},
     {GPUC_DTYPE_FLOAT, 32, 1},
     "sum",
     1},
    {"'A' depends on axis 'i' of block, whose pattern's 'b' does not",
     {GPUC_DTYPE_FLOAT, 32, 1},
     {GPUC_DTYPE_FLOAT, 32, 1},
     "sum",
     2},
    {"'A' depends on axis", {GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_FLOAT, 32, 1}, "sum", 3},
    {"its reduction has a condition", {GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_FLOAT, 32, 1}, "sum", 5},
};

static void run_refused(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    matmul *x = arg;
    gpuc_schedule_lower(x->s, "f", x->g.num_args, x->g.args);
}

static gpuc_stmt store_input(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                             const gpuc_tensor_region *const *out, void *arg)
{
    const int64_t at[] = {0, 0};
    (void)arg;
    return gpuc_tensor_region_store(ctx, in[0], at, gpuc_tensor_region_load(ctx, out[0], at, 1));
}

static gpuc_stmt store_other(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                             const gpuc_tensor_region *const *out, void *arg)
{
    gpuc_expr one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    const int64_t at[] = {0, 0};
    (void)in;
    (void)arg;
    const gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "mine", GPUC_FLOAT32, 1, &one, GPUC_SCOPE_LOCAL);
    return gpuc_tir_store(ctx, b, 1, &zero, gpuc_tensor_region_load(ctx, out[0], at, 1));
}

/* Elements of A, which has 4 x 4, and of out. */
static gpuc_stmt load_outside(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                              const gpuc_tensor_region *const *out, void *arg)
{
    const int64_t at[] = {0, 2}, zero[] = {0, 0};
    (void)arg;
    return gpuc_tensor_region_store(ctx, out[0], zero, gpuc_tensor_region_load(ctx, in[0], at, 3));
}

static gpuc_stmt store_outside(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                               const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr at[] = {gpuc_int(ctx, -1), gpuc_int(ctx, 0)};
    (void)in;
    (void)arg;
    return gpuc_tensor_region_store_at(ctx, out[0], at, gpuc_imm(ctx, GPUC_FLOAT32, 0));
}

static gpuc_stmt load_between(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                              const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr at[] = {gpuc_imm(ctx, GPUC_FLOAT32, 1.5), gpuc_int(ctx, 0)};
    (void)arg;
    return gpuc_tensor_region_store_at(ctx, out[0], at, gpuc_tensor_region_load_at(ctx, in[0], at));
}

static gpuc_stmt store_unknown(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                               const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr at[] = {gpuc_int(ctx, 0), gpuc_int(ctx, 0)};
    (void)in;
    (void)arg;
    return gpuc_tensor_region_store_at(ctx, out[0], at, gpuc_var(ctx, "unknown", GPUC_FLOAT32));
}

static gpuc_stmt call_words(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                            const gpuc_tensor_region *const *out, void *arg)
{
    const gpuc_expr to = gpuc_tensor_region_address(ctx, out[0], true);
    (void)in;
    (void)arg;
    return gpuc_tir_eval(ctx, gpuc_tir_intrinsic(ctx, GPUC_INT32, "extern", "two words", NULL, 1, &to));
}

static gpuc_stmt no_statement(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                              const gpuc_tensor_region *const *out, void *arg)
{
    (void)ctx;
    (void)in;
    (void)out;
    (void)arg;
    return NULL;
}

static void bodies_body(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        gpuc_tensor_part part;
        const char *words;
    } rows[] = {
        {store_input, "the update of intrinsic 'bad': its body stores to the input 'A'"},
        {store_other, "the update of intrinsic 'bad': its body uses the buffer 'mine'"},
        {load_outside, "intrinsic 'bad': index 2 to 4 of dimension 1 of 'a', which has 4 elements there"},
        {store_outside, "intrinsic 'bad': index -1 of dimension 0 of 'c', which has 4 elements there"},
        {load_between, "intrinsic 'bad': index 1.5 of dimension 0 of 'a' is of type float32"},
        {store_unknown, "after the parts of intrinsic 'bad'|'unknown'"},
        {call_words, "after the parts of intrinsic 'bad'|'two words' cannot name a C function"},
        {no_statement, "the update of intrinsic 'bad' made no statement"},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        matmul x;
        block b = {.m = 4, .n = 4, .k = 4};
        make(ctx, 8, 8, 8, &b, &x);
        gpuc_tensor_intrin bad = *block_intrin(ctx, &b, UPDATE);
        bad.name = "bad";
        bad.parts.update = rows[i].part;
        gpuc_stage_tensorize(x.c, x.ii, &bad);
        expect_error(ctx, rows[i].words, run_refused, &x);
    }
}

static void body_only(gpuc_ctx *ctx, void *arg)
{
    block b = {.m = 4, .n = 4, .k = 4};
    (void)arg;
    matmul x;
    make(ctx, 8, 8, 8, &b, &x);
    gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &b, BODY));
}

static void other_loops(gpuc_ctx *ctx, void *arg)
{
    block b = {.m = 4, .n = 4, .k = 4}, larger = {.m = 4, .n = 5, .k = 4};
    (void)arg;
    matmul x;
    make(ctx, 8, 8, 8, &b, &x);
    gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &larger, UPDATE));
}

/* A pattern of squares, and a stage that multiplies different tensors. */
static void two_tensors(gpuc_ctx *ctx, void *arg)
{
    expr_graph g = {.ctx = ctx};
    (void)arg;
    gpuc_expr four = num(&g, 4);
    gpuc_tensor *a = input(&g, "A", GPUC_FLOAT32, 1, &four), *b = input(&g, "B", GPUC_FLOAT32, 1, &four),
                *row = gpuc_te_placeholder(ctx, "row", 1, &four, GPUC_FLOAT32);
    gpuc_iter *i = axis(&g, four, "i"), *p = axis(&g, four, "p");
    gpuc_tensor *squares =
        gpuc_te_compute(ctx, "squares", 1, &p, gpuc_mul(ctx, AT1(&g, row, V(p)), AT1(&g, row, V(p))));
    output(&g, gpuc_te_compute(ctx, "C", 1, &i, gpuc_mul(ctx, AT1(&g, a, V(i)), AT1(&g, b, V(i)))));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g.args[2]);
    gpuc_stage *c = gpuc_schedule_stage(s, g.args[2]);
    gpuc_stage_tensorize(c, gpuc_stage_leaf(c, 0),
                         gpuc_tensor_intrin_declare_parts(ctx, "squares", squares, 1, &row,
                                                          &(gpuc_tensor_parts){.body = copy_row}));
}

/* Loops that change after tensorize. */
static void changed_loops(gpuc_ctx *ctx, void *arg)
{
    block b = {.m = 4, .n = 4, .k = 4};
    matmul x;
    make(ctx, 8, 8, 8, &b, &x);
    gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &b, BODY | UPDATE));
    if (*(const int *)arg)
        gpuc_stage_reorder(x.c, 2, ITERS(x.ki, x.ii));
    else
        gpuc_stage_split(x.c, x.ki, 2, NULL, NULL);
    gpuc_schedule_lower(x.s, "f", 3, x.g.args);
}

static void own_form_tail(gpuc_ctx *ctx, void *arg)
{
    block b = {.m = 4, .n = 4, .k = 4};
    (void)arg;
    matmul x;
    make(ctx, 8, 8, 10, &b, &x);
    gpuc_stage_tensorize(x.c, x.ii, block_intrin(ctx, &b, UPDATE | FINALISE));
    gpuc_schedule_lower(x.s, "f", 3, x.g.args);
}

static void no_parts(gpuc_ctx *ctx, void *arg)
{
    block b = {.m = 4, .n = 4, .k = 4};
    block_intrin(ctx, &b, *(const int *)arg);
}

static void refusals_body(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_error(ctx, others[i].words, mismatch, (void *)(uintptr_t)&others[i]);
    expect_error(ctx, "it has both A(i) and B(i) in the place of row(p)", two_tensors, NULL);
    expect_error(ctx, "block has no update part|all of the reduction|'k.outer'", body_only, NULL);
    expect_error(
        ctx, "'j.inner' of extent 4 fits no axis of block, whose 'j' has 5: an intrinsic must not be larger",
        other_loops, NULL);
    expect_error(ctx, "the loops of block have changed: there are 4, and it has 3 axes", changed_loops,
                 &(int){0});
    expect_error(ctx, "the loops of block have changed: there are 1, and it has 3 axes", changed_loops,
                 &(int){1});
    expect_error(ctx, "block runs for all of 'k.inner'|left out|finalise|factor that divides", own_form_tail,
                 NULL);
    expect_error(ctx, "intrinsic 'block': it has no body, and no update", no_parts, &(int){0});
    expect_error(ctx, "intrinsic 'block': a part that initialises needs an update", no_parts,
                 &(int){BODY | INIT});
}

/* ---- Tests ------------------------------------------------------------------------------------------ */

static void test_parts(void **state)
{
    (void)state;
    run_ok(parts_body, NULL);
    run_ok(whole_body, NULL);
    run_ok(tail_text, NULL);
}

static void test_types(void **state)
{
    (void)state;
    run_ok(types_body, NULL);
}

static void test_places(void **state)
{
    (void)state;
    for (int place = 0; place < PLACES; place++) run_ok(place_body, &place);
    run_ok(itself_body, NULL);
    run_ok(call_body, NULL);
}

static void test_outputs(void **state)
{
    (void)state;
    run_ok(outputs_body, NULL);
}

static void test_refusals(void **state)
{
    (void)state;
    run_ok(refusals_body, NULL);
    run_ok(bodies_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_types),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_outputs), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
