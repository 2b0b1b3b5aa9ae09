/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of random shapes as packages on the device of a target, against the plain sum: lengths with small
 * factors, with large ones, primes; every axis; open extents. Arguments: target, how many packages, the first seed. */
#include <math.h>

#include "../codegen/run.h"
#include "package.h"

enum { MAX_NUMBERS = 12000 };

static int64_t random_length(fx_rng *r)
{
    static const int64_t others[] = {67, 97, 127, 131, 254, 499, 513, 521, 607, 998, 1042, 1031};
    static const int factors[] = {2, 2, 2, 3, 4, 5, 7, 8};
    int way = fx_below(r, 8);
    int64_t n = 1, max = way < 6 ? 1200 : 70;
    if (way == 0) return others[fx_below(r, 12)];
    if (way == 1) return 1 + fx_below(r, 40);
    for (int f; f = factors[fx_below(r, 8)], n * f <= max;) n *= f;
    return n;
}

static const char *random_type(gpuc_ctx *ctx, fx_rng *r)
{
    int way = fx_below(r, 6);
    return way == 0 ? "float16" : way == 1 && run_target(ctx)->float64 ? "float64" : "float32";
}

/* Of sums of n numbers: rounding errors add up as steps at random do, and so do the sums that they are shares of. */
static double tolerance(const char *type, int64_t n)
{
    double unit = strcmp(type, "float64") ? 1.2e-7 : 2.2e-16;
    return strcmp(type, "float16") ? unit * (4 * sqrt((double)n) + (double)n / 2) : 0;
}

static void random_dft(gpuc_ctx *ctx, fx_rng *r, package_call *call)
{
    int64_t n = random_length(r), dims[4], numbers = 2 * n;
    int ndim = 2 + fx_below(r, 3), axis = fx_below(r, ndim - 1), parts = 1 + fx_below(r, 2);
    bool inverse = fx_below(r, 3) == 0, onesided = parts == 1 && !inverse && fx_below(r, 2);
    const char *type = random_type(ctx, r), *text = "";
    for (int i = 0; i < ndim - 1; i++) {
        if (i == axis) continue;
        int64_t most = MAX_NUMBERS / numbers;
        dims[i] = most < 2 ? 1 : 1 + fx_below(r, most < 40 ? (int)most : 40);
        numbers *= dims[i];
    }
    dims[axis] = fx_below(r, 4) ? n : 1 + fx_below(r, 2 * (int)n);
    dims[ndim - 1] = parts;
    for (int i = 0; i < ndim; i++) text = gpuc_ctx_printf(ctx, "%s%s%d", text, i ? ", " : "", (int)dims[i]);
    call->c = (op_case){.op = "dft",
                        .in = gpuc_ctx_printf(ctx, "%s[%s]", type, text),
                        .attrs = gpuc_ctx_printf(ctx, "length=%d axis=%d inverse=%d onesided=%d", (int)n,
                                                 axis, inverse, onesided),
                        .tolerance = tolerance(type, n)};
    if (!fx_below(r, 4)) call->open[0][fx_below(r, ndim - 1)] = 1;
}

static void random_stft(gpuc_ctx *ctx, fx_rng *r, package_call *call)
{
    int n = (int)random_length(r), parts = 1 + fx_below(r, 2), step = 1 + fx_below(r, n),
        frames = 1 + fx_below(r, 1 + MAX_NUMBERS / 2 / n), batch = 1 + fx_below(r, 2);
    const char *type = random_type(ctx, r);
    const char *window = fx_below(r, 2) ? gpuc_ctx_printf(ctx, " %s[%d]", type, n) : "";
    call->c = (op_case){
        .op = "stft",
        .in = gpuc_ctx_printf(ctx, "%s[%d, %d, %d]%s", type, batch,
                              n + (frames - 1) * step + fx_below(r, step), parts, window),
        .attrs = gpuc_ctx_printf(ctx, "length=%d step=%d onesided=%d", n, step, parts == 1 && fx_below(r, 2)),
        .tolerance = 2 * tolerance(type, n)};
    if (!fx_below(r, 4)) call->open[0][fx_below(r, 2)] = 1;
}

static void random_call(gpuc_ctx *ctx, fx_rng *r, package_call *call)
{
    (fx_below(r, 3) ? random_dft : random_stft)(ctx, r, call);
}

int main(int argc, char **argv)
{
    return package_main(argc, argv, random_call);
}
