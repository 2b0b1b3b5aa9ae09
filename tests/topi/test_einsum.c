/* SPDX-License-Identifier: Apache-2.0 */
/* Random equations as packages on the device of a target, against the plain sum: diagonals, dimensions that broadcast,
 * ellipses, open extents. Arguments: target, how many packages, the first seed. */
#include <math.h>
#include <string.h>

#include "../codegen/run.h"
#include "package.h"

enum { LETTERS = 6, MAX_TERMS = 200000 };

typedef struct equation {
    int extent[LETTERS + 2]; /* those of an ellipsis behind the letters */
    bool open[LETTERS + 2];  /* only a run knows it */
    bool used[LETTERS];
    int dots;                 /* dimensions of the ellipsis */
    const char *text, *types; /* so far */
} equation;

static void random_extents(fx_rng *r, equation *e)
{
    static const int some[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    int terms = 1;
    for (int i = 0; i < LETTERS + 2; i++) {
        e->extent[i] = some[fx_below(r, 11)];
        if (terms * e->extent[i] > MAX_TERMS) e->extent[i] = 1;
        terms *= e->extent[i];
        e->open[i] = !fx_below(r, 6);
    }
}

/* Appends a dimension to the shape of input k; a known one may broadcast. */
static void add_dim(gpuc_ctx *ctx, fx_rng *r, equation *e, package_call *call, int k, int *n, int label)
{
    bool one = !e->open[label] && !fx_below(r, 12);
    e->types = gpuc_ctx_printf(ctx, "%s%s%d", e->types, *n ? ", " : "", one ? 1 : e->extent[label]);
    call->open[k][(*n)++] = (char)(e->open[label] && fx_below(r, 12) ? label + 1 : 0);
}

static void random_term(gpuc_ctx *ctx, fx_rng *r, equation *e, package_call *call, int k, const char *type)
{
    int letters = fx_below(r, 5), n = 0, at = e->dots && fx_below(r, 3) ? fx_below(r, letters + 1) : -1,
        before = -1;
    e->text = gpuc_ctx_printf(ctx, "%s%s", e->text, k ? "," : "");
    e->types = gpuc_ctx_printf(ctx, "%s%s%s[", e->types, k ? " " : "", type);
    for (int i = 0; i <= letters; i++) {
        if (i == at) {
            e->text = gpuc_ctx_printf(ctx, "%s...", e->text);
            for (int d = 0; d < e->dots; d++) add_dim(ctx, r, e, call, k, &n, LETTERS + d);
        }
        if (i == letters) break;
        int label = before >= 0 && !fx_below(r, 10) ? before : fx_below(r, LETTERS);
        e->used[label] = true;
        e->text = gpuc_ctx_printf(ctx, "%s%c", e->text, "aBcdXy"[label]);
        add_dim(ctx, r, e, call, k, &n, label);
        before = label;
    }
    e->types = gpuc_ctx_printf(ctx, "%s]", e->types);
}

/* A result of some letters in any order, or none at all. */
static void random_result(gpuc_ctx *ctx, fx_rng *r, equation *e)
{
    int order[LETTERS] = {0, 1, 2, 3, 4, 5}, left = 4;
    bool all_dots = strstr(e->text, "...") != NULL;
    e->text = gpuc_ctx_printf(ctx, "%s->%s", e->text, all_dots ? "..." : "");
    for (int i = 0; i < LETTERS; i++) {
        int k = i + fx_below(r, LETTERS - i), label = order[k];
        order[k] = order[i];
        if (!e->used[label] || !left || !fx_below(r, 3)) continue;
        e->text = gpuc_ctx_printf(ctx, "%s%c", e->text, "aBcdXy"[label]);
        left--;
    }
}

static const char *random_type(gpuc_ctx *ctx, fx_rng *r)
{
    static const char *const types[] = {"float32", "float32", "float32", "float16", "int32", "int8"};
    int way = fx_below(r, 7);
    return way < 6 ? types[way] : run_target(ctx)->float64 ? "float64" : "uint8";
}

static void random_call(gpuc_ctx *ctx, fx_rng *r, package_call *call)
{
    const char *type = random_type(ctx, r);
    equation e = {.dots = fx_below(r, 4) ? 0 : 1 + fx_below(r, 2), .text = "", .types = ""};
    static const int counts[] = {1, 2, 2, 2, 2, 2, 3, 4};
    int operands = counts[fx_below(r, 8)];
    random_extents(r, &e);
    for (int k = 0; k < operands; k++) random_term(ctx, r, &e, call, k, type);
    random_result(ctx, r, &e);
    /* Factors of at most 2 or 1: sums of up to all terms. */
    call->c = (op_case){.op = "einsum",
                        .in = e.types,
                        .attrs = gpuc_ctx_printf(ctx, "equation=\"%s\"", e.text),
                        .lo = -1,
                        .hi = 1,
                        .tolerance = !strcmp(type, "float64")   ? 1e-12
                                     : !strcmp(type, "float32") ? 2e-4
                                                                : 0};
}

int main(int argc, char **argv)
{
    return package_main(argc, argv, random_call);
}
