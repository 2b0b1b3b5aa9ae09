/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator and cast, on every type, as scalars and vectors, on the target of the command line; held
 * to tir/value.h. With "raw" kernels go to the generator as they are, else through lowering. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower/lower.h"
#include "run.h"
#include "base/element.h"
#include "tir/value.h"

#define N 64 /* elements of one operator's section */

static bool raw, controls; /* controls: the target asks for NaN, infinities and signs of zeros */

static const gpuc_dtype types[] = {
#define GPUC_ELEMENT(name, of, width, ...) {.code = GPUC_DTYPE_##of, .bits = width, .lanes = 1},
#include "base/elements.def"
#undef GPUC_ELEMENT
};
enum { NUM_TYPES = sizeof types / sizeof *types };

/* ---- Values in memory ------------------------------------------------------------------------ */

static gpuc_tir_value peek(gpuc_dtype t, const void *memory, size_t i)
{
    const uint8_t *p = (const uint8_t *)memory + i * gpuc_dtype_bytes(t);
    gpuc_tir_value v = {0};
    if (gpuc_is_float(t)) {
        v.f = gpuc_float_load(t, p);
        return v;
    }
    memcpy(&v.i, p, gpuc_dtype_bytes(t));
    v.i = gpuc_tir_wrap(t, v.i);
    return v;
}

static void poke(gpuc_dtype t, void *memory, size_t i, gpuc_tir_value v)
{
    uint8_t *p = (uint8_t *)memory + i * gpuc_dtype_bytes(t);
    if (gpuc_is_float(t)) {
        gpuc_float_store(t, p, v.f);
        return;
    }
    memcpy(p, &v.i, gpuc_dtype_bytes(t));
}

static uint64_t seed;

static uint64_t random_bits(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 11 ^ seed << 40;
}

static double uniform(double lo, double hi)
{
    return lo + (hi - lo) * ((double)(random_bits() & 0xfffff) / 0xfffff);
}

/* ---- What to try ------------------------------------------------------------------------------- */

typedef struct op_case {
    gpuc_tir_op op;
    double lo, hi;   /* of the first operand, floats */
    double lo2, hi2; /* of the second */
    bool exact, specials;
    bool constant; /* the second operand is lo2 in the kernel's code; swapped: it is the first one */
    bool swapped;
} op_case;

static const op_case float_cases[] = {
    {GPUC_TIR_ADD, -100, 100, -100, 100, true, true},  {GPUC_TIR_SUB, -100, 100, -100, 100, true, true},
    {GPUC_TIR_MUL, -100, 100, -100, 100, true, true},  {GPUC_TIR_DIV, -100, 100, 0.5, 9, false, true},
    {GPUC_TIR_MOD, -30, 30, 0.75, 9, false, false},    {GPUC_TIR_MIN, -9, 9, -9, 9, true, true},
    {GPUC_TIR_MAX, -9, 9, -9, 9, true, true},          {GPUC_TIR_EQ, -3, 3, -3, 3, true, true},
    {GPUC_TIR_NE, -3, 3, -3, 3, true, true},           {GPUC_TIR_LT, -3, 3, -3, 3, true, true},
    {GPUC_TIR_LE, -3, 3, -3, 3, true, true},           {GPUC_TIR_SELECT, -3, 3, -3, 3, true, true},
    {GPUC_TIR_IF_THEN_ELSE, -3, 3, -3, 3, true, true}, {GPUC_TIR_ABS, -9, 9, 0, 0, true, true},
    {GPUC_TIR_FLOOR, -9, 9, 0, 0, true, true},         {GPUC_TIR_CEIL, -9, 9, 0, 0, true, true},
    {GPUC_TIR_TRUNC, -9, 9, 0, 0, true, true},         {GPUC_TIR_ROUND, -9, 9, 0, 0, true, true},
    {GPUC_TIR_SQRT, 0, 100, 0, 0, false, false},       {GPUC_TIR_EXP, -10, 10, 0, 0, false, false},
    {GPUC_TIR_LOG, 0.01, 100, 0, 0, false, false},     {GPUC_TIR_POW, 0.1, 8, -3, 3, false, false},
    {GPUC_TIR_SIN, -20, 20, 0, 0, false, false},       {GPUC_TIR_COS, -20, 20, 0, 0, false, false},
    {GPUC_TIR_TAN, -1.4, 1.4, 0, 0, false, false},     {GPUC_TIR_ASIN, -1, 1, 0, 0, false, false},
    {GPUC_TIR_ACOS, -1, 1, 0, 0, false, false},        {GPUC_TIR_ATAN, -9, 9, 0, 0, false, false},
    {GPUC_TIR_ATAN2, -9, 9, -9, 9, false, false},      {GPUC_TIR_SINH, -5, 5, 0, 0, false, false},
    {GPUC_TIR_COSH, -5, 5, 0, 0, false, false},        {GPUC_TIR_TANH, -9, 9, 0, 0, false, false},
    {GPUC_TIR_ASINH, -9, 9, 0, 0, false, false},       {GPUC_TIR_ACOSH, 1, 9, 0, 0, false, false},
    {GPUC_TIR_ATANH, -0.9, 0.9, 0, 0, false, false},   {GPUC_TIR_ERF, -3, 3, 0, 0, false, false},
    {GPUC_TIR_EXPM1, -9, 9, 0, 0, false, false},       {GPUC_TIR_LOG1P, -0.9, 9, 0, 0, false, false},
    {GPUC_TIR_ISNAN, -3, 3, 0, 0, true, true},         {GPUC_TIR_ISINF, -3, 3, 0, 0, true, true},
};
/* What drivers get wrong, and lowering gets right. */
static const op_case lowered_cases[] = {
    {GPUC_TIR_MOD, -30, 30, 0.75, 9, true, true},
    {GPUC_TIR_MOD, -60000, 60000, 0.001, 0.1, true, true},
    {GPUC_TIR_MUL, -9, 9, 0.0, 0.0, true, true, .constant = true},
    {GPUC_TIR_MUL, -9, 9, -0.0, -0.0, true, true, .constant = true},
    {GPUC_TIR_DIV, -9, 9, 0.0, 0.0, true, true, .constant = true},
    {GPUC_TIR_DIV, -9, 9, -0.0, -0.0, true, true, .constant = true},
    {GPUC_TIR_MUL, -9, 9, 0.0, 0.0, true, true, .constant = true, .swapped = true},
    {GPUC_TIR_DIV, -9, 9, 0.0, 0.0, true, true, .constant = true, .swapped = true},
    {GPUC_TIR_DIV, -9, 9, -0.0, -0.0, true, true, .constant = true, .swapped = true},
};

static const gpuc_tir_op int_ops[] = {
    GPUC_TIR_ADD,      GPUC_TIR_SUB,      GPUC_TIR_MUL,    GPUC_TIR_DIV,    GPUC_TIR_MOD,
    GPUC_TIR_FLOORDIV, GPUC_TIR_FLOORMOD, GPUC_TIR_MIN,    GPUC_TIR_MAX,    GPUC_TIR_EQ,
    GPUC_TIR_NE,       GPUC_TIR_LT,       GPUC_TIR_LE,     GPUC_TIR_SELECT, GPUC_TIR_IF_THEN_ELSE,
    GPUC_TIR_BITAND,   GPUC_TIR_BITOR,    GPUC_TIR_BITXOR, GPUC_TIR_BITNOT, GPUC_TIR_SHL,
    GPUC_TIR_SHR,      GPUC_TIR_ABS};
static const gpuc_tir_op bool_ops[] = {GPUC_TIR_EQ,  GPUC_TIR_NE,     GPUC_TIR_AND,         GPUC_TIR_OR,
                                       GPUC_TIR_NOT, GPUC_TIR_SELECT, GPUC_TIR_IF_THEN_ELSE};

static int cases_of(gpuc_dtype t, op_case *out)
{
    int n = 0;
    if (gpuc_is_float(t)) {
        n = (int)(sizeof float_cases / sizeof *float_cases);
        memcpy(out, float_cases, sizeof float_cases);
        if (raw) return n;
        memcpy(out + n, lowered_cases, sizeof lowered_cases);
        return n + (int)(sizeof lowered_cases / sizeof *lowered_cases);
    }
    const gpuc_tir_op *ops = gpuc_is_bool(t) ? bool_ops : int_ops;
    int count =
        (int)(gpuc_is_bool(t) ? sizeof bool_ops / sizeof *bool_ops : sizeof int_ops / sizeof *int_ops);
    for (; n < count; n++) out[n] = (op_case){.op = ops[n], .exact = true, .specials = true};
    return n;
}

/* Nothing of the table is left out. */
static void all_operators_are_tried(void **state)
{
    (void)state;
    bool seen[GPUC_TIR_OP_COUNT] = {false};
    op_case list[64];
    for (int t = 0; t < NUM_TYPES; t++)
        for (int i = cases_of(types[t], list); i-- > 0;) seen[list[i].op] = true;
    for (int i = 0; i < GPUC_TIR_OP_COUNT; i++)
        if (!seen[i]) fail_msg("no case for %s", gpuc_tir_ops[i].text);
}

static double special_float(gpuc_dtype t, uint64_t pick)
{
    double largest = t.bits == 64 ? 1e300 : t.bits == 16 && t.code == GPUC_DTYPE_FLOAT ? 65504 : 0x1.fep127;
    const double values[] = {0.0,  -0.0, INFINITY, -INFINITY, NAN,  1,       -1,      0.5,
                             -0.5, 1.5,  2.5,      -2.5,      -1.5, largest, -largest};
    return values[pick % (sizeof values / sizeof *values)];
}

static gpuc_tir_value operand(gpuc_dtype t, const op_case *c, int which, int i)
{
    gpuc_tir_value v = {0};
    uint64_t bits = random_bits();
    if (gpuc_is_float(t)) {
        double lo = which ? c->lo2 : c->lo, hi = which ? c->hi2 : c->hi;
        if (which && c->constant) {
            v.f = c->lo2;
            return v;
        }
        v.f = gpuc_tir_round(t, c->specials && i % 3 == 0 ? special_float(t, bits >> 20) : uniform(lo, hi));
        return v;
    }
    v.i = (int64_t)bits;
    if (bits >> 8 & 1) v.i = (int64_t)(bits % 19) - 9;
    if ((bits >> 9 & 15) == 0) v.i = t.code == GPUC_DTYPE_INT ? (int64_t)(UINT64_MAX << (t.bits - 1)) : -1;
    if ((c->op == GPUC_TIR_SHL || c->op == GPUC_TIR_SHR) && which) v.i = (int64_t)(bits % (t.bits + 8u)) - 3;
    v.i = gpuc_tir_wrap(t, v.i);
    return v;
}

/* ---- Kernels ------------------------------------------------------------------------------------ */

typedef struct op_kernel {
    gpuc_dtype t;
    int lanes, n; /* cases */
    op_case cases[64];
    gpuc_tir_func *func; /* result */
} op_kernel;

static gpuc_expr apply_case(gpuc_ctx *ctx, const op_case *c, gpuc_expr a, gpuc_expr b)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[c->op];
    if (c->constant) b = gpuc_imm(ctx, b->dtype, c->lo2);
    if (info->result == GPUC_TIR_ARM)
        return gpuc_tir_make(ctx, c->op, gpuc_is_bool(a->dtype) ? a : gpuc_lt(ctx, a, b), b, a);
    if (c->swapped) return gpuc_tir_make(ctx, c->op, b, a, NULL);
    return gpuc_tir_make(ctx, c->op, a, info->arity > 1 ? b : NULL, NULL);
}

static gpuc_tir_value expect_case(const op_case *c, gpuc_dtype t, gpuc_tir_value a, gpuc_tir_value b)
{
    gpuc_tir_value v[3] = {c->swapped ? b : a, c->swapped ? a : b, {0}};
    if (gpuc_tir_ops[c->op].result == GPUC_TIR_ARM) {
        v[0] = gpuc_is_bool(t) ? a : gpuc_tir_apply(GPUC_TIR_LT, t, (gpuc_tir_value[]){a, b});
        v[1] = b;
        v[2] = a;
    }
    return gpuc_tir_apply(c->op, t, v);
}

static gpuc_tir_buffer *flat(gpuc_ctx *ctx, const char *name, gpuc_dtype t, int64_t n)
{
    gpuc_expr size = gpuc_int(ctx, n);
    return gpuc_tir_buffer_make(ctx, name, t, 1, &size, GPUC_SCOPE_GLOBAL);
}

/* for block { stores }: a launch of N / lanes groups of one thread, or a loop for C. */
static gpuc_tir_func *finish_kernel(gpuc_ctx *ctx, int num_buffers, gpuc_tir_buffer *const *buffers,
                                    gpuc_expr var, int lanes, gpuc_stmt body)
{
    const gpuc_target *t = run_target(ctx);
    controls = t->float_controls;
    gpuc_tir_func *f = gpuc_new(ctx, gpuc_tir_func);
    gpuc_expr zero = gpuc_imm_int(ctx, var->dtype, 0), extent = gpuc_imm_int(ctx, var->dtype, N / lanes);
    f->name = "kernel";
    f->label = "";
    f->num_buffers = num_buffers;
    f->buffers = gpuc_ctx_memdup(ctx, buffers, (size_t)num_buffers * sizeof *buffers);
    bool loops = t->kind == &gpuc_target_builtin[GPUC_TARGET_C];
    if (raw && !loops) {
        gpuc_tir_thread *thread = gpuc_new(ctx, gpuc_tir_thread);
        *thread = (gpuc_tir_thread){GPUC_BLOCK_X, var, extent};
        f->num_threads = 1;
        f->threads = thread;
    } else {
        body = gpuc_tir_for_(ctx, var, zero, extent, loops ? GPUC_LOOP_PARALLEL : GPUC_LOOP_THREAD,
                             loops ? GPUC_THREAD_NONE : GPUC_BLOCK_X, body);
    }
    f->body = body;
    f->stage = raw ? GPUC_TIR_STAGE_TARGET : GPUC_TIR_STAGE_FLAT;
    gpuc_tir_validate(ctx, f, "test");
    if (raw) return f;
    gpuc_tir_program *p = gpuc_lower(ctx, f, t);
    assert_int_equal(p->num_kernels, 1);
    return p->kernels[0];
}

static gpuc_expr at_section(gpuc_ctx *ctx, gpuc_expr var, int lanes, int section)
{
    gpuc_expr start = gpuc_add(ctx, gpuc_mul(ctx, var, gpuc_imm_int(ctx, var->dtype, lanes)),
                               gpuc_imm_int(ctx, var->dtype, (int64_t)section * N));
    return gpuc_tir_ramp(ctx, start, gpuc_imm_int(ctx, var->dtype, 1), lanes);
}

/* Scalars have the operator's name, which no function of the language may be hidden by. */
static void build_ops(gpuc_ctx *ctx, void *arg)
{
    op_kernel *k = arg;
    gpuc_tir_buffer *buffers[4] = {
        flat(ctx, "A", k->t, (int64_t)k->n * N), flat(ctx, "B", k->t, (int64_t)k->n * N),
        flat(ctx, "C", k->t, (int64_t)k->n * N), flat(ctx, "P", GPUC_BOOL, (int64_t)k->n * N)};
    gpuc_expr var = gpuc_var(ctx, "i", GPUC_INT32);
    gpuc_ptrs stores = {0};
    for (int i = 0; i < k->n; i++) {
        gpuc_expr at = at_section(ctx, var, k->lanes, i);
        gpuc_expr a = gpuc_tir_load1(ctx, buffers[0], at), named = a;
        const char *name = gpuc_tir_ops[k->cases[i].op].text;
        if (k->lanes == 1 && isalpha((unsigned char)*name)) named = gpuc_var(ctx, name, k->t);
        gpuc_expr r = apply_case(ctx, &k->cases[i], named, gpuc_tir_load1(ctx, buffers[1], at));
        bool truth = gpuc_is_bool(r->dtype) && !gpuc_is_bool(k->t);
        gpuc_stmt store = gpuc_tir_store1(ctx, buffers[truth ? 3 : 2], at, r);
        gpuc_ptrs_push(ctx, &stores, named == a ? store : gpuc_tir_let(ctx, named, a, store));
    }
    k->func = finish_kernel(ctx, 4, buffers, var, k->lanes,
                            gpuc_tir_seq(ctx, (int)stores.count, (const gpuc_stmt *)stores.at));
}

static void build_and_emit(gpuc_ctx *ctx, void *arg)
{
    build_ops(ctx, arg);
    gpuc_kernel_code code;
    const gpuc_target *t = run_target(ctx);
    gpuc_pass_ctx p = {.ctx = ctx, .target = t};
    gpuc_codegen_get(ctx, t)->emit(
        ctx, t, gpuc_lower_cut_vectors(&p, (gpuc_tir_func *)((op_kernel *)arg)->func), &code);
    if (t->kind == &gpuc_target_builtin[GPUC_TARGET_OPENCL]) {
        gpuc_linked linked; /* helpers that the language lacks are found here */
        gpuc_codegen_get(ctx, t)->link(ctx, t, 1, &code, &linked);
    }
}

/* Cases that the target can do at all, each tried alone. */
static void drop_unsupported(gpuc_ctx *ctx, op_kernel *k, int *dropped)
{
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        op_kernel one = {.t = k->t, .lanes = k->lanes, .n = 1, .cases = {k->cases[i]}};
        if (run_supported(ctx, build_and_emit, &one))
            k->cases[n++] = k->cases[i];
        else
            ++*dropped;
    }
    k->n = n;
}

/* ---- Comparison ----------------------------------------------------------------------------------- */

static double unit_of(gpuc_dtype t)
{
    return gpuc_is_float(t) ? ldexp(1, 1 - gpuc_element_of(t)->significand) : 0;
}

/* Relative error that the language allows. */
static double tolerance(const op_case *c, gpuc_dtype t)
{
    bool c_code = run_device_type() == GPUC_DEVICE_CPU;
    double unit = unit_of(t);
    if (c->exact) return run_device_type() == GPUC_DEVICE_VULKAN && t.bits <= 16 ? unit : 0;
    if (t.bits <= 16) return 2 * unit;
    if (c_code) return 8 * unit;
    if (run_device_type() == GPUC_DEVICE_OPENCL) return 64 * unit;
    return t.bits == 64 ? 1e-12 : raw ? 2e-3 : 2e-5; /* Vulkan promises little; lowering does better */
}

static bool close_enough(double got, double want, double rel)
{
    if (isnan(want)) return isnan(got);
    if (got == want) return true;
    if (isnan(got) || isinf(got) || isinf(want)) return false;
    return fabs(got - want) <= rel * fmax(fabs(want), 0.05);
}

/* Vulkan promises nothing for divisors beyond 2^126 and below 2^-126 (float16: 2^14), nor for NaN, infinities and
 * the results that they are of a device that was not asked for them. */
static bool is_promised(const op_case *c, gpuc_dtype t, double x, double y, double want)
{
    if (run_device_type() != GPUC_DEVICE_VULKAN || !gpuc_is_float(t) || t.bits == 64) return true;
    double largest = t.bits == 32 ? 0x1p126 : 0x1p14;
    if (c->op == GPUC_TIR_DIV && (fabs(y) > largest || fabs(y) < 1 / largest)) return false;
    return controls || (isfinite(x) && isfinite(y) && isfinite(want));
}

static void check_ops(const op_kernel *k, const run_buffer *b)
{
    for (int i = 0; i < k->n; i++)
        for (int j = 0; j < N; j++) {
            size_t at = (size_t)i * N + (size_t)j;
            gpuc_tir_value x = peek(k->t, b[0].data, at), y = peek(k->t, b[1].data, at);
            gpuc_tir_value want = expect_case(&k->cases[i], k->t, x, y);
            bool truth = gpuc_tir_ops[k->cases[i].op].result == GPUC_TIR_BOOL && !gpuc_is_bool(k->t);
            gpuc_dtype t = truth ? GPUC_BOOL : k->t;
            gpuc_tir_value got = peek(t, b[truth ? 3 : 2].data, at);
            char name[24];
            gpuc_dtype_name(k->t, name);
            const char *op = gpuc_tir_ops[k->cases[i].op].text;
            if (!is_promised(&k->cases[i], k->t, x.f, y.f, want.f)) continue;
            if (gpuc_is_float(t) && !close_enough(got.f, want.f, tolerance(&k->cases[i], t)))
                fail_msg("%s of %s x%d: (%.17g, %.17g) gave %.17g, not %.17g", op, name, k->lanes, x.f, y.f,
                         got.f, want.f);
            if (!gpuc_is_float(t) && got.i != want.i) {
                if (gpuc_is_float(k->t))
                    fail_msg("%s of %s x%d: (%g, %g) gave %lld", op, name, k->lanes, x.f, y.f,
                             (long long)got.i);
                fail_msg("%s of %s x%d: (%lld, %lld) gave %lld, not %lld", op, name, k->lanes, (long long)x.i,
                         (long long)y.i, (long long)got.i, (long long)want.i);
            }
        }
}

typedef struct type_arg {
    gpuc_dtype t;
    int lanes, tried, dropped;
} type_arg;

static void try_type(gpuc_ctx *ctx, void *arg)
{
    type_arg *a = arg;
    op_kernel k = {.t = a->t, .lanes = a->lanes};
    k.n = cases_of(a->t, k.cases);
    drop_unsupported(ctx, &k, &a->dropped);
    a->tried += k.n;
    if (k.n == 0) return;
    size_t count = (size_t)k.n * N, bytes = gpuc_dtype_bytes(k.t);
    run_buffer b[4];
    for (int i = 0; i < 4; i++) b[i] = (run_buffer){calloc(count, bytes), count * (i == 3 ? 1 : bytes)};
    for (size_t i = 0; i < count; i++)
        for (int which = 0; which < 2; which++)
            poke(k.t, b[which].data, i, operand(k.t, &k.cases[i / N], which, (int)(i % N)));
    build_ops(ctx, &k);
    run_kernel(ctx, k.func, b, NULL);
    check_ops(&k, b);
    for (int i = 0; i < 4; i++) free(b[i].data);
}

/* What is a vector to the language, not cut before. */
static int wide_lanes(void)
{
    return run_device_type() == GPUC_DEVICE_VULKAN ? 4 : 8;
}

static void operators_mean_what_the_table_says(void **state)
{
    (void)state;
    type_arg a = {.tried = 0};
    for (int t = 0; t < NUM_TYPES; t++)
        for (int wide = 0; wide < 2; wide++) {
            a.t = types[t];
            a.lanes = wide ? wide_lanes() : 1;
            run_in_ctx(try_type, &a);
        }
    print_message("cases: %d (operators; %d more are not carried by %s)\n", a.tried, a.dropped,
                  run_target_text);
    assert_true(a.tried > 300);
}

/* ---- Casts ------------------------------------------------------------------------------------------ */

typedef struct cast_kernel {
    gpuc_dtype from;
    int lanes, n;
    gpuc_dtype to[16];
    gpuc_tir_func *func;
} cast_kernel;

static void build_casts(gpuc_ctx *ctx, void *arg)
{
    cast_kernel *k = arg;
    gpuc_tir_buffer *buffers[16];
    buffers[0] = flat(ctx, "A", k->from, N);
    gpuc_expr var = gpuc_var(ctx, "i", GPUC_INT32), at = at_section(ctx, var, k->lanes, 0);
    gpuc_ptrs stores = {0};
    for (int i = 0; i < k->n; i++) {
        char name[24];
        buffers[i + 1] =
            flat(ctx, gpuc_ctx_printf(ctx, "to_%s", gpuc_dtype_name(k->to[i], name)), k->to[i], N);
        gpuc_expr value =
            gpuc_cast(ctx, gpuc_dtype_with_lanes(k->to[i], k->lanes), gpuc_tir_load1(ctx, buffers[0], at));
        gpuc_ptrs_push(ctx, &stores, gpuc_tir_store1(ctx, buffers[i + 1], at, value));
    }
    k->func = finish_kernel(ctx, k->n + 1, buffers, var, k->lanes,
                            gpuc_tir_seq(ctx, (int)stores.count, (const gpuc_stmt *)stores.at));
}

static void build_and_emit_casts(gpuc_ctx *ctx, void *arg)
{
    build_casts(ctx, arg);
    gpuc_kernel_code code;
    const gpuc_target *t = run_target(ctx);
    gpuc_pass_ctx p = {.ctx = ctx, .target = t};
    gpuc_codegen_get(ctx, t)->emit(
        ctx, t, gpuc_lower_cut_vectors(&p, (gpuc_tir_func *)((cast_kernel *)arg)->func), &code);
}

/* Two roundings (through float32) may meet halfway cases differently. */
static bool cast_is_close(gpuc_dtype from, gpuc_dtype to, double got, double want)
{
    if (isnan(want)) return isnan(got);
    if (got == want) return true;
    if (gpuc_same_element(from, GPUC_FLOAT32) && gpuc_same_element(to, GPUC_FLOAT16)) return false;
    bool narrow =
        to.bits <= 16 || (to.bits == 32 && from.bits == 64 && run_device_type() == GPUC_DEVICE_VULKAN);
    if (narrow && isinf(want)) return fabs(got) >= gpuc_float_largest(to);
    return narrow && fabs(got - want) <= unit_of(to) * fabs(want);
}

static void check_casts(const cast_kernel *k, const run_buffer *b)
{
    for (int i = 0; i < k->n; i++)
        for (size_t j = 0; j < N; j++) {
            gpuc_tir_value x = peek(k->from, b[0].data, j), got = peek(k->to[i], b[i + 1].data, j);
            gpuc_tir_value want = gpuc_tir_convert(k->to[i], k->from, x);
            char from[24], to[24];
            gpuc_dtype_name(k->from, from);
            gpuc_dtype_name(k->to[i], to);
            bool fine =
                gpuc_is_float(k->to[i]) ? cast_is_close(k->from, k->to[i], got.f, want.f) : got.i == want.i;
            if (fine) continue;
            if (gpuc_is_float(k->from))
                fail_msg("%s(%.17g: %s) x%d: %lld %g, not %lld %g", to, x.f, from, k->lanes, (long long)got.i,
                         got.f, (long long)want.i, want.f);
            fail_msg("%s(%lld: %s) x%d: %lld %g, not %lld %g", to, (long long)x.i, from, k->lanes,
                     (long long)got.i, got.f, (long long)want.i, want.f);
        }
}

static gpuc_tir_value cast_operand(gpuc_dtype t, int i)
{
    op_case c = {.op = GPUC_TIR_ADD, .lo = -300, .hi = 300, .specials = true};
    if (i % 7 == 3) c.lo = -1e6, c.hi = 1e6;
    gpuc_tir_value v = operand(t, &c, 0, i);
    if (gpuc_is_float(t) && i % 11 == 5) v.f = gpuc_tir_round(t, uniform(-6e9, 6e9));
    if (gpuc_is_float(t) && i % 13 == 5) v.f = gpuc_tir_round(t, uniform(-3e19, 3e19));
    if (gpuc_is_float(t) && i % 13 == 6) v.f = gpuc_tir_round(t, uniform(-0x1p-15, 0x1p-15));
    return v;
}

static void try_cast(gpuc_ctx *ctx, void *arg)
{
    type_arg *a = arg;
    cast_kernel k = {.from = a->t, .lanes = a->lanes};
    for (int t = 0; t < NUM_TYPES; t++) {
        if (gpuc_same_element(types[t], a->t)) continue;
        if (k.n + 1 == run_target(ctx)->max_storage_buffers) break;
        cast_kernel one = {
            .from = a->t, .lanes = a->lanes, .n = 1, .to = {types[(t + a->tried) % NUM_TYPES]}};
        if (gpuc_same_element(one.to[0], a->t)) continue;
        if (run_supported(ctx, build_and_emit_casts, &one))
            k.to[k.n++] = one.to[0];
        else
            a->dropped++;
    }
    a->tried += k.n;
    if (k.n == 0) return;
    run_buffer b[16];
    for (int i = 0; i <= k.n; i++) {
        size_t size = N * gpuc_dtype_bytes(i ? k.to[i - 1] : k.from);
        b[i] = (run_buffer){calloc(1, size), size};
    }
    for (int j = 0; j < N; j++) poke(k.from, b[0].data, (size_t)j, cast_operand(k.from, j));
    build_casts(ctx, &k);
    run_kernel(ctx, k.func, b, NULL);
    check_casts(&k, b);
    for (int i = 0; i <= k.n; i++) free(b[i].data);
}

static void casts_saturate_and_round(void **state)
{
    (void)state;
    type_arg a = {.tried = 0};
    for (int t = 0; t < NUM_TYPES; t++)
        for (int lanes = 1; lanes <= 4; lanes += 3) {
            a.t = types[t];
            a.lanes = lanes;
            run_in_ctx(try_cast, &a);
        }
    print_message("cases: %d (casts; %d more are not carried by %s)\n", a.tried, a.dropped, run_target_text);
    assert_true(a.tried > 40);
}

int main(int argc, char **argv)
{
    raw = argc > 2 && strcmp(argv[2], "raw") == 0;
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_operators_are_tried),
        cmocka_unit_test(operators_mean_what_the_table_says),
        cmocka_unit_test(casts_saturate_and_round),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
