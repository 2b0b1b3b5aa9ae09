/* SPDX-License-Identifier: Apache-2.0 */
/* Random loop nests, against the reference: is every loop that becomes lanes independent, is the order of
 * what depends on each other kept? */
#include "eval_test.h"

#include <math.h>

#include "reference.h"

enum { NUM_BUFFERS = 4, MAX_DEPTH = 5 };

typedef struct fuzz {
    gpuc_ctx *c;
    uint64_t state;
    int num_vars;
    gpuc_expr vars[16];
    int64_t extent[16];
    int num_buffers;
    gpuc_tir_buffer *buffers[NUM_BUFFERS + 4];
    int64_t shape[NUM_BUFFERS + 4][3];
    int64_t iterations; /* of the loops around */
    gpuc_expr own;      /* of a kernel: the element of this thread */
} fuzz;

static uint64_t next(fuzz *z)
{
    z->state ^= z->state << 13;
    z->state ^= z->state >> 7;
    z->state ^= z->state << 17;
    return z->state * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

static int below(fuzz *z, int n)
{
    return (int)(next(z) % (uint64_t)n);
}

static const gpuc_dtype types[] = {GPUC_INT32, GPUC_INT64,   GPUC_FLOAT32,
                                   GPUC_INT8,  GPUC_FLOAT16, GPUC_UINT16};

static gpuc_tir_buffer *new_buffer(fuzz *z, gpuc_scope scope)
{
    int k = z->num_buffers++, ndim = 1 + below(z, 3);
    gpuc_expr shape[3];
    for (int d = 0; d < ndim; d++) {
        z->shape[k][d] = ndim == 1 ? 1 + below(z, 60) : 1 + below(z, 9);
        if (ndim == 1 && below(z, 3) == 0) z->shape[k][d] = 700 + below(z, 900);
        shape[d] = I(z->c, z->shape[k][d]);
    }
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    return z->buffers[k] = gpuc_tir_buffer_make(z->c, names[k], types[below(z, 6)], ndim, shape, scope);
}

/* Something in [0, size): linear where that is sure to fit. */
static gpuc_expr index_for(fuzz *z, int64_t size)
{
    gpuc_ctx *c = z->c;
    if (z->num_vars == 0 || below(z, 10) == 0) return I(c, below(z, (int)size));
    int v = below(z, z->num_vars), w = below(z, z->num_vars);
    gpuc_expr x = z->vars[v], y = z->vars[w];
    if (below(z, 3) && z->extent[v] <= size) {
        if (below(z, 4) == 0) return gpuc_sub(c, I(c, z->extent[v] - 1), x);
        if (below(z, 3) == 0 && v != w && z->extent[v] * z->extent[w] <= size)
            return gpuc_add(c, gpuc_mul(c, x, I(c, z->extent[w])), y);
        if (below(z, 4) == 0 && z->extent[v] + z->extent[w] - 1 <= size) return gpuc_add(c, x, y);
        if (below(z, 4) == 0 && z->extent[v] + 1 <= size) return gpuc_add(c, x, I(c, 1));
        return x;
    }
    gpuc_expr e = gpuc_add(c, gpuc_mul(c, x, I(c, 1 + below(z, 5))), gpuc_add(c, y, I(c, below(z, 4))));
    return below(z, 2) ? gpuc_floormod_(c, e, I(c, size)) : gpuc_min(c, e, I(c, size - 1));
}

static void indices_for(fuzz *z, int k, gpuc_expr *index)
{
    for (int d = 0; d < z->buffers[k]->ndim; d++) index[d] = index_for(z, z->shape[k][d]);
}

static gpuc_expr value(fuzz *z, gpuc_dtype t, int depth);

static gpuc_expr condition(fuzz *z)
{
    gpuc_ctx *c = z->c;
    if (z->num_vars == 0) return gpuc_lt(c, I(c, below(z, 2)), I(c, 1));
    gpuc_expr x = z->vars[below(z, z->num_vars)], y = z->vars[below(z, z->num_vars)];
    if (below(z, 3) == 0) return gpuc_lt(c, value(z, GPUC_INT32, 1), value(z, GPUC_INT32, 0));
    if (below(z, 2)) return gpuc_lt(c, gpuc_floormod_(c, gpuc_add(c, x, y), I(c, 5)), I(c, 1 + below(z, 4)));
    return gpuc_lt(c, x, I(c, below(z, 12)));
}

static gpuc_expr value(fuzz *z, gpuc_dtype t, int depth)
{
    gpuc_ctx *c = z->c;
    if (depth == 0 || below(z, 6) == 0) {
        if (below(z, 4) == 0) return gpuc_imm_int(c, t, below(z, 7) - 2);
        if (below(z, 4) == 0 && z->num_vars) return gpuc_cast(c, t, z->vars[below(z, z->num_vars)]);
        int k = below(z, z->num_buffers);
        gpuc_expr index[3];
        indices_for(z, k, index);
        if (z->own && k == 0) index[0] = z->own;
        return gpuc_cast(c, t, gpuc_tir_load(c, z->buffers[k], z->buffers[k]->ndim, index));
    }
    gpuc_expr x = value(z, t, depth - 1), y = value(z, t, depth - 1);
    switch (below(z, 9)) {
    case 0: return gpuc_sub(c, x, y);
    case 1: return gpuc_mul(c, x, y);
    case 2: return gpuc_min(c, x, y);
    case 3: return gpuc_div(c, x, y);
    case 4: return gpuc_select(c, condition(z), x, y);
    case 5: return gpuc_if_then_else(c, condition(z), x, y);
    case 6: return gpuc_mod(c, x, gpuc_imm_int(c, t, 3));
    default: return gpuc_add(c, x, y);
    }
}

/* Which buffer to write: of a kernel, a thread's own element or its own storage. */
static int target(fuzz *z, gpuc_expr *own)
{
    *own = NULL;
    if (!z->own) return below(z, z->num_buffers);
    int locals = z->num_buffers - NUM_BUFFERS;
    if (locals > 0 && below(z, 3)) return NUM_BUFFERS + below(z, locals);
    *own = z->own;
    return 0;
}

static gpuc_stmt store(fuzz *z)
{
    gpuc_ctx *c = z->c;
    gpuc_expr own;
    int k = target(z, &own);
    gpuc_tir_buffer *b = z->buffers[k];
    gpuc_expr index[3];
    indices_for(z, k, index);
    if (own) index[0] = own;
    gpuc_expr v = value(z, b->dtype, 1 + below(z, 3));
    if (below(z, 3) == 0) {
        gpuc_expr old = gpuc_tir_load(c, b, b->ndim, index);
        int how = below(z, 4);
        v = how == 0 ? gpuc_min(c, old, v) : how == 1 ? gpuc_max(c, v, old) : gpuc_add(c, old, v);
    }
    return gpuc_tir_store(c, b, b->ndim, index, v);
}

static gpuc_stmt statement(fuzz *z, int depth);

static gpuc_stmt random_loop(fuzz *z, int depth)
{
    static const gpuc_loop_kind kinds[] = {GPUC_LOOP_SERIAL, GPUC_LOOP_SERIAL, GPUC_LOOP_UNROLLED,
                                           GPUC_LOOP_VECTORIZED};
    gpuc_ctx *c = z->c;
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    int v = z->num_vars;
    if (v == 8) return store(z);
    int64_t extent = below(z, 8) == 0 ? 500 + below(z, 700) : below(z, 10);
    if (extent * z->iterations > 6000) extent = z->iterations > 2000 ? 1 : 3;
    gpuc_expr min = I(c, 0), n = I(c, extent);
    if (below(z, 12) == 0 && v > 0) { /* triangular */
        n = z->vars[v - 1];
        extent = z->extent[v - 1];
        if (extent * z->iterations > 6000) n = I(c, extent = 1);
    }
    z->vars[v] = gpuc_var(c, names[v], below(z, 5) ? GPUC_INDEX : GPUC_INDEX);
    z->extent[v] = extent > 0 ? extent : 1;
    z->num_vars++;
    int64_t around = z->iterations;
    z->iterations *= z->extent[v];
    gpuc_stmt body = statement(z, depth - 1);
    z->iterations = around;
    z->num_vars--;
    return gpuc_tir_for_(c, z->vars[v], min, n, kinds[below(z, 4)], GPUC_THREAD_NONE, body);
}

/* A buffer that is zeroed and then used. */
static gpuc_stmt allocation(fuzz *z, int depth)
{
    gpuc_ctx *c = z->c;
    if (z->num_buffers == NUM_BUFFERS + 4) return store(z);
    int k = z->num_buffers;
    gpuc_tir_buffer *b = new_buffer(z, below(z, 2) || z->own ? GPUC_SCOPE_LOCAL : GPUC_SCOPE_GLOBAL);
    gpuc_expr index[3];
    for (int d = 0; d < b->ndim; d++) index[d] = gpuc_var(c, "t", GPUC_INDEX);
    gpuc_stmt zero = gpuc_tir_store(c, b, b->ndim, index, gpuc_imm_int(c, b->dtype, 1));
    for (int d = b->ndim - 1; d >= 0; d--) zero = loop(c, index[d], z->shape[k][d], zero);
    gpuc_stmt body = gpuc_tir_seq2(c, zero, statement(z, depth - 1));
    z->num_buffers = k;
    return gpuc_tir_alloc(c, b, body);
}

static gpuc_stmt statement(fuzz *z, int depth)
{
    gpuc_ctx *c = z->c;
    if (depth == 0 || below(z, 7) == 0) return store(z);
    switch (below(z, 10)) {
    case 0:
        return gpuc_tir_if_(c, condition(z), statement(z, depth - 1),
                            below(z, 2) ? statement(z, depth - 1) : NULL);
    case 1:
    case 2: return gpuc_tir_seq2(c, statement(z, depth - 1), statement(z, depth - 1));
    case 3: {
        int v = z->num_vars;
        if (v == 8 || v == 0) return store(z);
        gpuc_expr bound = below(z, 2)
                              ? gpuc_add(c, z->vars[v - 1], I(c, 1))
                              : gpuc_floormod_(c, gpuc_cast(c, GPUC_INDEX, value(z, GPUC_INT32, 1)), I(c, 6));
        z->vars[v] = gpuc_var(c, "x", GPUC_INDEX);
        z->extent[v] = z->extent[v - 1] + 1 > 6 ? z->extent[v - 1] + 1 : 6;
        z->num_vars++;
        gpuc_stmt body = statement(z, depth - 1);
        z->num_vars--;
        return gpuc_tir_let(c, z->vars[v], bound, body);
    }
    case 4: return allocation(z, depth);
    default: return random_loop(z, depth);
    }
}

static void fill(const gpuc_tir_buffer *b, void *data, uint64_t seed)
{
    int64_t n = ref_elements(b);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        gpuc_tir_value v = {0};
        int64_t x = (int64_t)(seed >> 40) % 23 - 7;
        if (gpuc_is_float(b->dtype))
            v.f = gpuc_tir_round(b->dtype, (double)x / 4);
        else
            v.i = gpuc_tir_wrap(b->dtype, x);
        ref_write(b->dtype, data, i, v);
    }
}

static bool equal(gpuc_dtype t, const void *a, const void *b, int64_t n, int64_t *where)
{
    for (int64_t i = 0; i < n; i++) {
        gpuc_tir_value x = ref_read(t, a, i), y = ref_read(t, b, i);
        *where = i;
        if (gpuc_is_float(t) ? !(x.f == y.f || (isnan(x.f) && isnan(y.f))) : x.i != y.i) return false;
    }
    return true;
}

typedef struct job {
    uint64_t seed;
    bool kernel;
} job;

/* for bx: for tx: statements in which a thread writes only what is its own. */
static gpuc_stmt random_kernel(fuzz *z)
{
    gpuc_ctx *c = z->c;
    int64_t groups = 1 + below(z, 3), x = 1 + below(z, 20), y = 1 + below(z, 3);
    z->buffers[0] = gpuc_tir_buffer_make(c, "A", types[below(z, 6)], 1, (gpuc_expr[]){I(c, groups * x * y)},
                                         GPUC_SCOPE_GLOBAL);
    z->shape[0][0] = groups * x * y;
    static const char *const names[] = {"bx", "ty", "tx"};
    for (int i = 0; i < 3; i++) z->vars[i] = gpuc_var(c, names[i], GPUC_INDEX);
    z->extent[0] = groups;
    z->extent[1] = y;
    z->extent[2] = x;
    z->num_vars = 3;
    z->iterations = groups * x * y;
    gpuc_expr group = gpuc_add(c, gpuc_mul(c, z->vars[0], I(c, y)), z->vars[1]);
    z->own = gpuc_add(c, gpuc_mul(c, group, I(c, x)), z->vars[2]);
    gpuc_stmt s = threads(c, z->vars[2], x, GPUC_THREAD_X, statement(z, MAX_DEPTH));
    return threads(c, z->vars[0], groups, GPUC_BLOCK_X, threads(c, z->vars[1], y, GPUC_THREAD_Y, s));
}

static void body(gpuc_ctx *c, void *arg)
{
    fuzz z = {.c = c, .state = ((job *)arg)->seed * UINT64_C(0x9e3779b97f4a7c15) + 1, .iterations = 1};
    for (int k = 0; k < NUM_BUFFERS; k++) new_buffer(&z, GPUC_SCOPE_GLOBAL);
    gpuc_stmt s = ((job *)arg)->kernel ? random_kernel(&z) : statement(&z, MAX_DEPTH);
    gpuc_tir_func f = {
        .name = "f", .label = "f", .num_buffers = NUM_BUFFERS, .buffers = z.buffers, .body = s};
    gpuc_tir_arg expected[NUM_BUFFERS], got[NUM_BUFFERS];
    for (int k = 0; k < NUM_BUFFERS; k++) {
        size_t bytes = (size_t)ref_elements(z.buffers[k]) * gpuc_dtype_bytes(z.buffers[k]->dtype);
        expected[k] = (gpuc_tir_arg){malloc(bytes), bytes};
        got[k] = (gpuc_tir_arg){malloc(bytes), bytes};
        fill(z.buffers[k], expected[k].data, (uint64_t)k);
    }
    ref_function(c, &f, expected, NULL);
    for (int check = 0; check < 2; check++) {
        for (int k = 0; k < NUM_BUFFERS; k++) fill(z.buffers[k], got[k].data, (uint64_t)k);
        gpuc_status status = gpuc_ev_run(c, &f, got, NULL, check);
        if (status)
            print_error("seed %d: %s\n%s\n", (int)((job *)arg)->seed, gpuc_status_message(status),
                        gpuc_tir_text(c, &f));
        assert_null(status);
        for (int k = 0; k < NUM_BUFFERS; k++) {
            int64_t at;
            if (equal(z.buffers[k]->dtype, expected[k].data, got[k].data, ref_elements(z.buffers[k]), &at))
                continue;
            print_error("seed %d, check %d: %s differs at %d\n%s\n", (int)((job *)arg)->seed, check,
                        z.buffers[k]->name, (int)at, gpuc_tir_text(c, &f));
            fail();
        }
    }
    for (int k = 0; k < NUM_BUFFERS; k++) {
        free(expected[k].data);
        free(got[k].data);
    }
}

static void run(bool kernel)
{
    const char *more = getenv("GPUC_FUZZ_ROUNDS"), *one = getenv("GPUC_FUZZ_SEED");
    int rounds = 500 * (more ? atoi(more) : 1);
    for (int i = one ? atoi(one) : 1; i <= (one ? atoi(one) : rounds); i++) {
        job j = {.seed = (uint64_t)i, .kernel = kernel};
        with_context(body, &j);
    }
    print_message("cases: %d\n", rounds);
}

static void test_nests(void **state)
{
    (void)state;
    run(false);
}

static void test_kernels(void **state)
{
    (void)state;
    run(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nests), cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
