/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy TARGET [--full] [--table] [FUNCTION...]: how far the elementary functions are from float64's, on
 * the target's device, over all exponents of float32; fails where that is beyond the bound. --full: all
 * inputs of functions of one argument, 10^9 pairs of those of two. --table: lines for docs/accuracy.md. */
#include "../compile/run.h"

#include <math.h>
#include <time.h>

#include "functions.h"

enum { BLOCK = 1 << 18 };

typedef struct measure {
    const accuracy_function *f;
    accuracy_kind kind;
    bool flushes; /* subnormal numbers may be taken for 0 */
    double worst; /* in units of the last place, */
    double share; /* and as a share of the bound */
    float at[2], got;
    double want;
    long wrong; /* beyond the bound, or of another kind: NaN, infinite */
} measure;

static uint64_t random_state;

static uint32_t random_word(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 32);
}

static float of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* ---- Errors ---- */

/* The distance of float32's neighbours at v. */
static double unit_at(double v)
{
    int e;
    frexp(v, &e);
    return ldexp(1, (e < -125 ? -125 : e > 128 ? 128 : e) - 24);
}

static double bound_at(const measure *m, double a, double want)
{
    const accuracy_function *f = m->f;
    double units = f->ulp[m->kind];
    if (m->kind == ACCURACY_VULKAN && f->per_a) units += f->per_a * fmin(fabs(a), 128);
    double bound = units * unit_at(want) + f->min;
    if (f->of_a && isfinite(a)) bound += f->of_a * unit_at(a);
    return bound;
}

static double reference(const measure *m, double a, double b)
{
    return m->f->one ? m->f->one(a) : m->f->two(a, b);
}

/* The error of one result, at least 0; INFINITY where it is another kind of number. Float32 rounds what is
 * beyond its range to infinity: there that stands for the power of two. */
static double error_of(double want, double got)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(want)) return got == want || fabs(got) >= 0x1.fffffep127 ? 0 : INFINITY;
    if (isinf(got)) got = copysign(0x1p128, got);
    if (fabs(want) >= 0x1p128) want = copysign(0x1p128, want);
    return fabs(got - want);
}

static bool is_tiny(double v)
{
    return v != 0 && fabs(v) < 0x1p-126;
}

/* Whether a device without subnormal numbers may say so. */
static bool flushed(const measure *m, double a, double b, double want, double got)
{
    if (!m->flushes) return false;
    if (fabs(want) < 0x1.00001p-126 && got == 0) return true;
    for (int i = 1; i < 4; i++) {
        double p = i & 1 && is_tiny(a) ? copysign(0, a) : a, q = i & 2 && is_tiny(b) ? copysign(0, b) : b;
        if (p == a && q == b) continue;
        double other = reference(m, p, q);
        if (error_of(other, got) <= bound_at(m, p, other) || (isinf(other) && isinf(got))) return true;
    }
    return false;
}

static void check_one(measure *m, float a, float b, double want, float got)
{
    if (!isfinite(a) || !isfinite(b) || want == 0) want = reference(m, a, b);
    double error = error_of(want, got), bound;
    if (error == 0 && want == 0 && m->kind == ACCURACY_C && !signbit(want) != !signbit(got)) m->wrong++;
    if (error == 0) return;
    bound = bound_at(m, a, want);
    if (error / bound <= m->share) return; /* it cannot be the worst */
    want = reference(m, a, b);
    error = error_of(want, got);
    if (!(error / bound > m->share) || flushed(m, a, b, want, got)) return;
    if (error > bound) m->wrong++;
    m->share = error / bound;
    bool other_parts = m->f->of_a || m->f->min; /* then units of the result say nothing near 0 */
    m->worst = other_parts ? m->share * m->f->ulp[m->kind] : error / unit_at(want);
    m->at[0] = a;
    m->at[1] = b;
    m->want = want;
    m->got = got;
}

/* ---- Samples ---- */

/* Powers of two, the ends of their ranges, small whole numbers, and what is none. */
static float edge(uint32_t i)
{
    static const float numbers[] = {0,   1,        2,     3,    0.5f, 1.5f, 10,         89,
                                    104, INFINITY, 65536, 1e10, 127,  128,  8388607.5f, 0x1.fffffep127f};
    uint32_t sign = i & 1 ? 0x80000000u : 0, which = i >> 1;
    if (which < 16) return of_bits(sign) == 0 && sign ? -numbers[which] : numbers[which];
    if (which == 16) return NAN;
    which -= 17;
    static const uint32_t ends[] = {0, 1, 0x7fffff, 0x400000};
    return of_bits(sign | (which / 4 % 255) << 23 | ends[which % 4]);
}
enum { NUM_EDGES = 2 * (17 + 255 * 4), FEW_EDGES = 2 * 17 };

/* Every exponent and sign in turn, so that pairs meet all pairs of them. */
static void sample(const measure *m, uint64_t block, float *a, float *b)
{
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint64_t number = block * BLOCK + i;
        a[i] = of_bits((uint32_t)(number % 512) << 23 | random_word() >> 9);
        b[i] = of_bits((uint32_t)(number / 512 % 512) << 23 | random_word() >> 9);
        if (m->f->two && number % 4 == 3) { /* powers that stay in the range, and whole ones */
            a[i] = of_bits((uint32_t)(random_word() % 512) << 23 | random_word() >> 9);
            int e;
            frexp(a[i], &e);
            b[i] = (float)((random_word() / 0x1p31 - 1) * 160 / fmax(fabs(log2(fabs(a[i]))), 1e-7));
            if (number & 4) b[i] = roundf(b[i]);
        }
        if (block > 0) continue;
        if (m->f->one && i < NUM_EDGES) a[i] = edge(i);
        if (m->f->two && i < FEW_EDGES * FEW_EDGES) {
            a[i] = edge(i % FEW_EDGES);
            b[i] = edge(i / FEW_EDGES);
        }
    }
}

static void all_inputs(uint64_t block, float *a)
{
    for (uint32_t i = 0; i < BLOCK; i++) a[i] = of_bits((uint32_t)(block * BLOCK + i));
}

/* ---- Running ---- */

typedef struct buffers {
    float a[BLOCK], b[BLOCK];
    double want[BLOCK];
} buffers;
static buffers memory;

static void run_block(measure *m)
{
    const run_array in[] = {{GPUC_FLOAT32, 1, {BLOCK}, memory.a}, {GPUC_FLOAT32, 1, {BLOCK}, memory.b}};
    gpuc_status status = run_session(m->f->one ? 1 : 2, in);
    if (status) fail_msg("%s: %s", m->f->name, gpuc_status_message(status));
    int ndim;
    const int64_t *dims;
    const float *got = run_output(0, &ndim, &dims);
    m->f->loop(BLOCK, memory.a, memory.b, memory.want);
    double units = m->share * m->f->ulp[m->kind]; /* the bound is nowhere less */
    for (int i = 0; i < BLOCK; i += ACCURACY_CHUNK) {
        if (accuracy_all_within(units, memory.want + i, got + i)) continue;
        for (int k = i; k < i + ACCURACY_CHUNK; k++)
            check_one(m, memory.a[k], m->f->two ? memory.b[k] : 0, memory.want[k], got[k]);
    }
}

typedef struct options {
    bool full, table;
    int num_names;
    char **names;
    int failed;
} options;

static bool wanted(const options *o, const char *name)
{
    for (int i = 0; i < o->num_names; i++)
        if (!strcmp(o->names[i], name)) return true;
    return o->num_names == 0;
}

static void build(gpuc_ctx *ctx, const accuracy_function *f)
{
    gpuc_rexpr *in[] = {fx_var(ctx, "a", FX_DIMS(BLOCK)), fx_var(ctx, "b", FX_DIMS(BLOCK))};
    int n = f->one ? 1 : 2;
    gpuc_status status = run_build(ctx, fx_module(ctx, fx_op(ctx, f->op, f->attrs, n, in), n, in));
    if (status) fail_msg("%s: %s", f->name, gpuc_status_message(status));
}

static void report(const measure *m, const options *o)
{
    const accuracy_function *f = m->f;
    char bound[64], at[64];
    int n = snprintf(bound, sizeof bound, "%g", f->ulp[m->kind]);
    if (m->kind == ACCURACY_VULKAN && f->per_a)
        n += snprintf(bound + n, sizeof bound - (size_t)n, " + %g \\|a\\|", f->per_a);
    if (f->of_a) snprintf(bound + n, sizeof bound - (size_t)n, ", %g of a", f->of_a);
    snprintf(at, sizeof at, f->two ? "%.9g, %.9g" : "%.9g", (double)m->at[0], (double)m->at[1]);
    if (o->table)
        printf("%s\t%.2f\t%s\t%s\n", f->name, m->worst, at, bound);
    else
        printf("%-12s %12.2f ulp of %-18s at %s: %.9g for %.9g%s\n", f->name, m->worst, bound, at,
               (double)m->got, m->want, m->wrong ? "  WRONG" : "");
    fflush(stdout);
}

static void run_function(gpuc_ctx *ctx, const accuracy_function *f, options *o)
{
    const char *target = run_target();
    measure m = {.f = f};
    m.kind = target[0] == 'c' ? ACCURACY_C : target[0] == 'o' ? ACCURACY_OPENCL : ACCURACY_VULKAN;
    m.flushes = m.kind != ACCURACY_C;
    build(ctx, f);
    random_state = 1;
    uint64_t blocks = f->two ? 4 : 1;
    if (o->full) blocks = f->two ? UINT64_C(1000000000) / BLOCK + 1 : (UINT64_C(1) << 32) / BLOCK;
    for (uint64_t i = 0; i < blocks; i++) {
        if (o->full && f->one)
            all_inputs(i, memory.a);
        else
            sample(&m, i, memory.a, memory.b);
        run_block(&m);
    }
    report(&m, o);
    o->failed += m.wrong != 0;
}

static void run_all(gpuc_ctx *ctx, void *arg)
{
    options *o = arg;
    int functions = 0;
    for (int i = 0; i < accuracy_num_functions; i++) {
        if (!wanted(o, accuracy_functions[i].name)) continue;
        run_function(ctx, &accuracy_functions[i], o);
        functions++;
    }
    if (!o->table) printf("cases: %d (functions)\n", functions);
}

int main(int argc, char **argv)
{
    options o = {0};
    if (!run_available(argc, argv)) return 77;
    int i = 2;
    for (; i < argc && argv[i][0] == '-'; i++) {
        o.full |= !strcmp(argv[i], "--full");
        o.table |= !strcmp(argv[i], "--table");
    }
    o.num_names = argc > i ? argc - i : 0;
    o.names = argv + i;
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, run_all, &o);
    if (status) printf("%s\n", gpuc_status_message(status));
    gpuc_ctx_destroy(ctx);
    run_end();
    return status || o.failed;
}
