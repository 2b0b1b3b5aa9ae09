/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy_doubles TARGET: how far the elementary functions of float64 are from the C library's long double, over
 * all exponents; fails beyond a bound in units of the last place, at another sign of zero, and where only one is NaN. */
#include "../compile/run.h"

#include <math.h>

enum { COUNT = 1 << 18 };

static const struct {
    const char *op;
    long double (*reference)(long double);
    double bound;
} functions[] = {
    {"exp", expl, 3},   {"log", logl, 3},   {"tanh", tanhl, 5}, {"sin", sinl, 4},     {"cos", cosl, 4},
    {"tan", tanl, 5},   {"asin", asinl, 4}, {"acos", acosl, 4}, {"atan", atanl, 5},   {"sinh", sinhl, 4},
    {"cosh", coshl, 4}, {"erf", erfl, 16},  {"log2", log2l, 4}, {"log10", log10l, 4}, {"sqrt", sqrtl, 0.5},
};

static double arguments[COUNT];

/* Every exponent and sign in turn, a half of them near 1, where functions bend. */
static void fill(void)
{
    static const double edges[] = {0,
                                   INFINITY,
                                   NAN,
                                   1,
                                   0.5,
                                   0.625,
                                   709.7,
                                   709.8,
                                   745.1,
                                   746,
                                   0x1p-1074,
                                   0x1p-1022,
                                   0x1.fffffffffffffp1023,
                                   1e308,
                                   20,
                                   50};
    uint64_t state = 1;
    for (uint64_t i = 0; i < COUNT; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t exponent = i & 1 ? i / 2 % 2048 : 1003 + i / 2 % 32, bits = exponent << 52 | state >> 12;
        memcpy(&arguments[i], &bits, sizeof bits);
        if (i & 1024) arguments[i] = -arguments[i];
    }
    for (size_t i = 0; i < 2 * sizeof edges / sizeof *edges; i++)
        arguments[i] = i & 1 ? -edges[i / 2] : edges[i / 2];
}

static bool is_within(double bound, long double want, double got)
{
    double nearest = (double)want;
    if (isnan(nearest) || isnan(got)) return isnan(nearest) && isnan(got);
    if (nearest == got) return !signbit(nearest) == !signbit(got);
    if (isinf(nearest) || isinf(got))
        return fabs(got) >= 0x1.fffffffffffffp1023 && fabs(nearest) >= 0x1.fffffffffffffp1023;
    double unit = nextafter(fabs(nearest), INFINITY) - fabs(nearest);
    return fabsl(want - (long double)got) <= bound * (long double)unit;
}

static void run_all(gpuc_ctx *ctx, void *arg)
{
    int *failed = arg;
    static const int64_t dims[] = {COUNT};
    const run_array in = {GPUC_FLOAT64, 1, {COUNT}, arguments};
    fill();
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        gpuc_rexpr *x = gpuc_relay_var(ctx, "a", gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT64, 1, dims));
        gpuc_status status = run_build(ctx, fx_module(ctx, fx_op1(ctx, functions[k].op, NULL, x), 1, &x));
        if (!status) status = run_session(1, &in);
        if (status) fail_msg("%s: %s", functions[k].op, gpuc_status_message(status));
        int ndim, wrong = 0;
        const int64_t *shape;
        const double *got = run_output(0, &ndim, &shape);
        for (int i = 0; i < COUNT; i++) {
            long double want = functions[k].reference(arguments[i]);
            if (is_within(functions[k].bound, want, got[i])) continue;
            if (!wrong++)
                printf("%s of %.17g is %.17g, not %.20Lg\n", functions[k].op, arguments[i], got[i], want);
        }
        *failed += wrong > 0;
    }
    printf("cases: %d (functions)\n", (int)(sizeof functions / sizeof *functions));
}

int main(int argc, char **argv)
{
    int failed = 0;
    gpuc_ctx *ctx;
    if (!run_available(argc, argv)) return 77;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, run_all, &failed);
    if (status) printf("%s\n", gpuc_status_message(status));
    gpuc_ctx_destroy(ctx);
    run_end();
    return status || failed;
}
