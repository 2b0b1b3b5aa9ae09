/* SPDX-License-Identifier: Apache-2.0 */
#include "tir_test.h"

#define I(n) gpuc_int(ctx, (n))

static void validate(gpuc_ctx *ctx, void *arg)
{
    gpuc_tir_validate(ctx, arg, "a_pass");
}

static void expect_complaint(gpuc_ctx *ctx, const gpuc_tir_func *f, const char *part)
{
    expect_raise(ctx, validate, (void *)f, GPUC_INTERNAL, part);
}

/* ---- Faults that text can show ------------------------------------------------------------------------ */

#define P "(A: float32[64] global, I: int32[64] global, n: int64) "
#define MATRICES                                                                                             \
    "func f(A: float16[256] global, n: int64) { alloc M: float16[256] coopmat\n alloc N: float16[256] "      \
    "coopmat\n "
#define LAUNCH "launch (bx = blockIdx.x of n, tx = threadIdx.x of 64) "

static void bad_texts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"func f(A: float32[n] shared, n: int64) {}", "the parameter 'A' is in shared memory"},
        {"func f(x: int8) {}", "the scalar 'x' has type int8"},
        {"func f(A: float32[n, 2] global, n: int64) stage flat {}", "'A' has 2 dimensions after flattening"},
        {"func f" P "stage flat { alloc B: float32[8] local strides(2)\n B[0] = 1.0 }", "'B' has strides"},
        {"func f" P "stage flat { alloc B: float32[n] shared\n B[0] = 1.0 }",
         "the size of 'B' in shared memory is not"},
        {"func f" P LAUNCH "{ A[tx] = 1.0 }", "only a kernel lists its threads"},
        {"func f" P "stage kernel { for i in 0..n bind blockIdx.x { A[i] = 1.0 } }",
         "a loop over blockIdx.x is left"},
        {"func f" P "stage kernel { alloc B: float32[8] global\n B[0] = 1.0 }",
         "'B' is allocated in global memory"},
        {"func f" P "stage kernel launch (a = blockIdx.x of n, b = blockIdx.x of n) {}",
         "which another is of already"},
        {"func f" P "stage kernel launch (a = vthread of 2) {}", "vthread, which is not a launch dimension"},
        {"func f" P "{ for i in 0..4 bind threadIdx.x { for j in 0..4 bind threadIdx.x { A[j] = 1.0 } } }",
         "loops over threadIdx.x nest"},
        {"func f" P "stage target { for i in 0..4 vectorized { A[i] = 1.0 } }", "a vectorized loop is left"},
        {"func f" P "stage target { attr allreduce \"threadIdx.x\" with sum float32 { A[0] = 1.0 } }",
         "a cross-thread reduction is left"},
        {"func f" P "stage target { alloc B: float32[8] local double_buffer\n B[0] = 1.0 }",
         "still asks for a double"},
        {"func f" P "stage target { A[ramp(0, 1, 5)] = broadcast(1.0, 5) }", "has 5 lanes"},
        {"func f" P "{ A[ramp(0, 1, 65)] = broadcast(1.0, 65) }", "has 65 lanes"},
        {"func f" P "{ attr allreduce \"threadIdx.x\" { A[0] = 1.0 } }",
         "the cross-thread reduction has no reducer"},
        {"func f" P "{ attr allreduce with sum float32 { A[0] = 1.0 } }", "over no list of thread axes"},
        {"func f" P "{ attr allreduce \"threadIdx.x,blockIdx.y\" with sum float32 { A[0] = 1.0 } }",
         "over no list"},
        {"func f" P "{ attr allreduce \"threadIdx.x\" with sum float32 { A[0] = 1.0\n A[1] = 1.0 } }",
         "not one store for each value of 'sum'"},
        {"func f" P "{ attr allreduce \"threadIdx.x\" with sum float32 { for i in 0..n { A[i] = 1.0 } } }",
         "not one store for each value of 'sum'"},
        {"func f(A: float32[n] global.texel, n: int64) { A[0] = 1.0 }", "'A' is of scope global.texel"},
        {"func f(A: float32[n, 4] global.texture, n: int64) { }", "an image has three dimensions"},
        {"func f(A: float32[n] global.texture, n: int64) stage kernel { }", "it is of no image"},
        {"func f(A: float32[4] global.texture image(1, 1, 4)) stage kernel { texture2d_store(&A, 0, 0, 1.0) "
         "}",
         "'texture2d_store' on 'A' has type"},
        {"func f(A: uint8[4] global.texture image(1, 1, 4)) stage kernel { texture2d_store(&A, 0, 0, "
         "texture2d_load(&A, 0)) }",
         "'texture2d_load' takes 2 operands, not 1"},
        {"func f(A: uint8[4] global) stage kernel { A[0] = texture2d_load(&A, 0, 0) }", "is of no image"},
        {"func f" P "{ I[0] = atomic_add<int32>(3, int32(4)) }", "'atomic_add' has no buffer"},
        {"func f" P "{ I[0] = atomic_cas(&I, 3, int32(4)) }", "'atomic_cas' takes 3 operands, not 2"},
        {"func f" P "{ I[0] = atomic_add(&I, 3, 4) }", "'atomic_add' on 'I' gets int64, not int32"},
        {"func f" P "{ A[0] = atomic_add<float32>(&I, 3, int32(4)) }",
         "'atomic_add' on 'I' has type float32"},
        {"func f" P "{ A[0] = atomic_add(&A, 1.0, 4.0) }", "the index of 'atomic_add' has type float32"},
        {"func f" P "{ A[0] = subgroup_shuffle(1.0, 2.0) }",
         "the lane of 'subgroup_shuffle' has type float32"},
        {"func f" P "{ A[0] = subgroup_add<float32>(n) }", "'subgroup_add' of int64 has type float32"},
        {"func f" P "{ barrier(n) }", "'barrier' takes 0 operands, not 1"},
        {"func f" P "{ I[0] = extern() }", "an extern call has no name"},
        {"func f" P "{ I[0] = extern(\"a b\") }", "'a b' cannot name a C function"},
        {"func f" P "{ I[0] = int32(address(&I, 3)) }", "address(&I, 3) is no argument of a C function"},
        {"func f" P "{ let p = const_address(&I, 3)\n extern(\"f\", p) }",
         "const_address(&I, 3) is no argument of a C function"},
        {"func f" P "{ extern(\"f\", address<int32>(&I, 3)) }", "'address' has type int32, not int64"},
        {"func f" P "{ extern(\"f\", address(&I, 3, 3)) }",
         "'I' has 1 dimensions and is accessed with 2 indices"},
        {"func f" P "{ extern(\"f\", address<int64>(3)) }", "'address' has no buffer"},
        {"func f" P "{ I[stride(&I, 1)] = 1 }", "'stride' of 'I': 1 is none of its 1 dimensions"},
        {"func f" P "{ I[stride(&I, n)] = 1 }", "'stride' of 'I': n is none of its 1 dimensions"},
        {"func f" P "stage flat { I[stride(&I, 0)] = 1 }", "'stride' after storage_flatten"},
        {"func f" P "stage kernel " LAUNCH "{ if (tx < 3) { barrier() } }",
         "the barrier is not reached by all threads: tx < 3"},
        {"func f" P "stage kernel " LAUNCH "{ let t = tx + 1\n let u = t*2\n if (u < n) { barrier() } }",
         "the barrier is not reached by all threads: u < n"},
        {"func f" P "stage kernel " LAUNCH "{ for i in 0..tx { barrier() } }", "tx differs between them"},
        {"func f" P "stage kernel " LAUNCH "{ if (I[tx] < 3) { barrier() } }", "I[tx] < 3"},
        {"func f" P "stage kernel " LAUNCH "{ if (subgroup_lane() == 0) { barrier() } }",
         "differs between them"},
        {"func f" P "{ for t in 0..4 bind threadIdx.y { if (t < n) { A[0] = 1.0 } else { barrier() } } }",
         "t < n"},
        {MATRICES "attr coopmat { M[0] = A[0] } }", "cooperative matrices has fewer than two loops"},
        {MATRICES "attr coopmat { for i in 0..16 { for j in 0..16 { M[i*16] = A[i] } } } }",
         "does not store one element for each row and column"},
        {MATRICES "attr coopmat { for i in 0..16 { for j in 0..16 { M[i*16 + j] = N[i*16 + j] } } } }",
         "does not move a matrix from or to memory"},
        {MATRICES "attr coopmat { for i in 0..16 { for j in 0..16 { A[i*16 + j] = M[i*16 + j] + M[i] } } } }",
         "computes what it moves"},
        {MATRICES "attr coopmat { for i in 0..16 { for j in 0..n { M[i*16 + j] = float16(1.0) } } } }",
         "has a loop that does not run from 0 to a constant"},
        {MATRICES
         "attr coopmat { for i in 0..16 { for j in 0..16 { for k in 0..16 { M[i*16 + j] = M[i*16 + j] "
         "+ A[i*16 + k]*N[k*16 + j] } } } } }",
         "is no sum of products of matrices"},
        {MATRICES
         "for t in 0..4 bind threadIdx.x { if (t < n) { attr coopmat { for i in 0..16 { for j in 0..16 "
         "{ M[i*16 + j] = float16(1.0) } } } } } }",
         "not all threads along x reach the operation on cooperative matrices: t < n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_complaint(ctx, gpuc_tir_parse(ctx, cases[i].text, "bad"), cases[i].message);
}

static void good_texts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const texts[] = {
        "func f() {}",
        "func f" P "stage kernel " LAUNCH "{ if (bx < 3) { barrier() } }",
        "func f" P "stage kernel " LAUNCH "{ for i in 0..n { if (I[i] < 3) { barrier() } } }",
        "func f" P "{ for i in 0..4 { A[i] = 1.0 }\n for i in 0..4 bind vthread { for j in 0..4 bind vthread "
        "{ A[j] = 1.0 } } }",
        "func f" P
        "{ for i in 0..4 bind threadIdx.x { A[i] = 1.0 }\n for i in 0..8 bind threadIdx.x { A[i] = 1.0 } }",
        "func f" P "stage target " LAUNCH "{ A[ramp(bx*64, 1, 16)] = broadcast(1.0, 16) }",
        "func f" P
        "{ for t in 0..4 bind threadIdx.x { attr allreduce \"threadIdx.x,threadIdx.y\" with sum float32 "
        "{ if (n < 3) { A[0] = A[t] } } } }",
        MATRICES
        "for t in 0..4 bind threadIdx.y { if (t < n) { attr coopmat { for i in 0..16 { for j in 0..16 "
        "{ M[i*16 + j] = float16(1.0) } } } } } }",
        "func f" P "stage flat { for i in 0..4 vectorized { alloc B: float32[n] global\n B[i] = A[i] } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        gpuc_tir_validate(ctx, gpuc_tir_parse(ctx, texts[i], "good"), NULL);
}

/* ---- Faults that only builders can make --------------------------------------------------------------- */

typedef struct parts {
    gpuc_expr i, j, n;
    gpuc_tir_buffer *a, *b;
    gpuc_stmt store;
    gpuc_tir_func f;
} parts;

static void make_parts(gpuc_ctx *ctx, parts *p)
{
    p->i = gpuc_var(ctx, "i", GPUC_INT64);
    p->j = gpuc_var(ctx, "j", GPUC_INT64);
    p->n = gpuc_var(ctx, "n", GPUC_INT64);
    p->a = gpuc_tir_buffer_make(ctx, "a", GPUC_FLOAT32, 1, &p->n, GPUC_SCOPE_GLOBAL);
    p->b = gpuc_tir_buffer_make(ctx, "b", GPUC_FLOAT32, 1, &p->n, GPUC_SCOPE_LOCAL);
    p->store = gpuc_tir_store1(ctx, p->a, p->i, gpuc_imm(ctx, GPUC_FLOAT32, 1));
    p->f =
        (gpuc_tir_func){.name = "f", .num_buffers = 1, .buffers = &p->a, .num_scalars = 1, .scalars = &p->n};
}

static gpuc_stmt loop(gpuc_ctx *ctx, gpuc_expr var, gpuc_stmt body)
{
    return gpuc_tir_for_(ctx, var, I(0), I(8), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
}

static void bad_scopes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p;
    make_parts(ctx, &p);
    p.f.body = p.store;
    expect_complaint(ctx, &p.f,
                     "after a_pass (1 complaint, marked with ^):\nfunc f(a: float32[n] global, n: int64) {\n"
                     "  a[i] = 1.0\n"
                     "  # ^ the variable 'i' is not defined here\n"
                     "}\n");
    p.f.body = loop(ctx, p.j, gpuc_tir_seq2(ctx, loop(ctx, p.i, p.store), p.store));
    expect_complaint(ctx, &p.f, "the variable 'i' is not defined here");
    p.f.body = loop(ctx, p.i, loop(ctx, p.i, p.store));
    expect_complaint(ctx, &p.f, "    # ^ the variable 'i' is defined already\n");
    p.f.body = loop(ctx, p.i, gpuc_tir_let(ctx, p.i, I(3), p.store));
    expect_complaint(ctx, &p.f, "the variable 'i' is defined already");
    p.f.body = gpuc_tir_seq2(ctx, loop(ctx, p.i, p.store), loop(ctx, p.i, p.store));
    gpuc_tir_validate(ctx, &p.f, NULL);
    gpuc_stmt use_b = gpuc_tir_store1(ctx, p.b, I(0), gpuc_tir_load1(ctx, p.b, I(1)));
    p.f.body = use_b;
    expect_complaint(ctx, &p.f, "the buffer 'b' is not defined here");
    p.f.body = gpuc_tir_alloc(ctx, p.b, gpuc_tir_alloc(ctx, p.b, use_b));
    expect_complaint(ctx, &p.f, "the buffer 'b' is defined already");
    p.f.body = gpuc_tir_alloc(ctx, p.b, use_b);
    gpuc_tir_validate(ctx, &p.f, NULL);
    p.f.num_scalars = 0;
    p.f.body = NULL;
    expect_complaint(ctx, &p.f, "the variable 'n' is not defined here");
}

static void bad_nodes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p;
    make_parts(ctx, &p);
    gpuc_expr zero = I(0), read = gpuc_tir_read(ctx, GPUC_FLOAT32, NULL, 1, &zero);
    p.f.body = gpuc_tir_store1(ctx, p.a, I(0), read);
    expect_complaint(ctx, &p.f, "a tensor is read");
    gpuc_iter *k = gpuc_tir_iter(ctx, "k", I(0), p.n, GPUC_ITER_REDUCE, GPUC_THREAD_NONE);
    gpuc_expr one = gpuc_imm(ctx, GPUC_FLOAT32, 1);
    p.f.body = gpuc_tir_store1(
        ctx, p.a, I(0),
        gpuc_tir_reduce(ctx, gpuc_tir_reducer_get(ctx, "sum", GPUC_FLOAT32), &one, 1, &k, NULL, 0));
    expect_complaint(ctx, &p.f, "a reduction is left");
    /* Buffers changed under an access. */
    p.f.body = gpuc_tir_store1(ctx, p.a, I(0), gpuc_tir_load1(ctx, p.a, I(1)));
    p.a->dtype = GPUC_INT32;
    expect_complaint(ctx, &p.f, "the load a[1] has type float32, not int32");
    p.a->dtype = GPUC_FLOAT32;
    p.a->ndim = 0;
    expect_complaint(ctx, &p.f, "'a' has 0 dimensions and is accessed with 1 indices");
    p.a->ndim = 1;
    gpuc_tir_validate(ctx, &p.f, NULL);
}

/* All faults come in one message, each under its line, however many. */
static void many(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    parts p;
    make_parts(ctx, &p);
    gpuc_stmt list[100];
    for (int i = 0; i < 100; i++)
        list[i] = gpuc_tir_store1(ctx, p.a, gpuc_var(ctx, "x", GPUC_INT64), gpuc_imm(ctx, GPUC_FLOAT32, i));
    p.f.body = gpuc_tir_seq(ctx, 100, list);
    gpuc_status status = gpuc_ctx_protect(ctx, validate, &p.f);
    const char *message = gpuc_status_message(status);
    assert_non_null(strstr(message, "100 complaints"));
    int marks = 0;
    for (const char *at = message; (at = strstr(at, "# ^ ")); at++) marks++;
    assert_int_equal(marks, 40);
    gpuc_status_release(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ctx_test(bad_texts), ctx_test(good_texts), ctx_test(bad_scopes), ctx_test(bad_nodes), ctx_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
