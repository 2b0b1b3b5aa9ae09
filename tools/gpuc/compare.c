/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a tensor with its reference, within a tolerance. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

cli_tolerance cli_default_tolerance(gpuc_dtype dtype)
{
    if (gpuc_dtype_is_float(dtype) && dtype.bits <= 16)
        return (cli_tolerance){.rtol = 1e-2, .atol = 1e-3, .rel_l2 = -1};
    return (cli_tolerance){.rtol = 1e-3, .atol = 1e-5, .rel_l2 = -1};
}

static bool same_type(const gpuc_host_tensor *a, const gpuc_host_tensor *b)
{
    return gpuc_dtype_equal(a->dtype, b->dtype) && a->ndim == b->ndim &&
           memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) == 0;
}

static bool equal_exactly(const gpuc_host_tensor *a, const gpuc_host_tensor *b, size_t i)
{
    size_t n = gpuc_dtype_bytes(a->dtype);
    if (a->dtype.code == GPUC_DTYPE_BOOL) return (cli_tensor_get(a, i) != 0) == (cli_tensor_get(b, i) != 0);
    return memcmp((const char *)a->data + i * n, (const char *)b->data + i * n, n) == 0;
}

typedef struct sums {
    double error2, want, want2; /* sums of squares and values */
    bool broken;                /* finite in only one of the two */
} sums;

/* The amount by which an element exceeds the tolerance: negative inside of it, infinite where no tolerance
 * would do. */
static double excess_of(double got, double want, cli_tolerance t, cli_difference *d, sums *s)
{
    bool same = got == want || (isnan(got) && isnan(want));
    if (!isfinite(got) || !isfinite(want)) {
        s->broken = s->broken || !same;
        return same ? -INFINITY : INFINITY;
    }
    double error = fabs(got - want);
    if (error > d->max_abs) d->max_abs = error;
    if (want != 0 && error / fabs(want) > d->max_rel) d->max_rel = error / fabs(want);
    s->error2 += error * error;
    s->want += want;
    s->want2 += want * want;
    return error - (t.atol + t.rtol * fabs(want));
}

static double relative_l2(const gpuc_host_tensor *want, const sums *s)
{
    if (s->broken) return INFINITY;
    if (s->error2 == 0) return 0;
    /* Deviations from the mean are summed in a second pass, for the sake of precision. */
    double mean = s->want / (double)want->count, spread = 0;
    for (size_t i = 0; i < want->count; i++) {
        double v = cli_tensor_get(want, i);
        if (isfinite(v)) spread += (v - mean) * (v - mean);
    }
    return spread > 0 ? sqrt(s->error2 / spread) : INFINITY;
}

void cli_compare(const gpuc_host_tensor *got, const gpuc_host_tensor *want, cli_tolerance tolerance,
                 cli_difference *out)
{
    *out = (cli_difference){.same_type = same_type(got, want), .count = want->count};
    if (!out->same_type) return;
    bool exact = !gpuc_dtype_is_float(want->dtype);
    double furthest = -INFINITY;
    sums s = {0};
    for (size_t i = 0; i < want->count; i++) {
        double a = cli_tensor_get(got, i), b = cli_tensor_get(want, i);
        double excess = excess_of(a, b, tolerance, out, &s);
        if (exact) excess = equal_exactly(got, want, i) ? -1 : fabs(a - b) + 1;
        if (excess > 0) out->wrong++;
        if (i == 0 || excess > furthest) {
            furthest = excess;
            out->worst = i;
            out->got = a;
            out->want = b;
        }
    }
    out->rel_l2 = relative_l2(want, &s);
    out->match = out->wrong == 0 || (!exact && tolerance.rel_l2 >= 0 && out->rel_l2 <= tolerance.rel_l2);
}

static char *place_text(const gpuc_host_tensor *t, size_t i)
{
    int64_t at[GPUC_HOST_TENSOR_DIMS];
    for (int d = t->ndim - 1; d >= 0; d--) {
        at[d] = (int64_t)(i % (size_t)t->dims[d]);
        i /= (size_t)t->dims[d];
    }
    return cli_dims_text(t->ndim, at, NULL);
}

char *cli_difference_text(const cli_difference *d, const gpuc_host_tensor *got, const gpuc_host_tensor *want,
                          cli_tolerance t)
{
    char *out;
    if (!d->same_type) {
        char *a = cli_tensor_type_text(got), *b = cli_tensor_type_text(want);
        out = cli_printf("is %s, expected %s", a, b);
        free(a);
        free(b);
        return out;
    }
    char *place = place_text(want, d->worst), *l2 = NULL;
    double error = fabs(d->got - d->want);
    if (!gpuc_dtype_is_float(want->dtype)) {
        out = cli_printf("differs in %zu of %zu elements, at [%s]: got %.17g, expected %.17g", d->wrong,
                         d->count, place, d->got, d->want);
    } else {
        if (t.rel_l2 >= 0) l2 = cli_printf("; rel_l2 %.3g, allowed %.3g", d->rel_l2, t.rel_l2);
        out = cli_printf("differs in %zu of %zu elements, most at [%s]: got %.9g, expected %.9g, error %.3g, "
                         "allowed %.3g%s",
                         d->wrong, d->count, place, d->got, d->want, error, t.atol + t.rtol * fabs(d->want),
                         l2 ? l2 : "");
    }
    free(place);
    free(l2);
    return out;
}
