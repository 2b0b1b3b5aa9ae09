/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor expressions that schedules are tried on. */
#ifndef GPUC_TESTS_SCHEDULE_EXPRS_H
#define GPUC_TESTS_SCHEDULE_EXPRS_H

#include <gpuc/schedule.h>

enum { EXPR_MAX_ARGS = 16, EXPR_MAX_SYMBOLS = 12 };

typedef struct expr_graph {
    gpuc_ctx *ctx;
    int num_args, num_outputs, num_symbols;
    gpuc_tensor *args[EXPR_MAX_ARGS]; /* inputs, then the outputs */
    gpuc_expr symbols[EXPR_MAX_SYMBOLS];
    int64_t values[EXPR_MAX_SYMBOLS];
} expr_graph;

typedef struct expr_case {
    const char *name;
    void (*build)(expr_graph *g);
} expr_case;

extern const expr_case expr_cases[];
extern const int num_expr_cases;

const expr_case *expr_find(const char *name); /* NULL: none */
void expr_build(const expr_case *c, gpuc_ctx *ctx, expr_graph *g);
/* The (first) tensor of an operation by its name, intermediates included. */
gpuc_tensor *expr_tensor(const expr_graph *g, const char *name);

/* ---- Writing expressions ---- */
gpuc_expr num(expr_graph *g, int64_t value);
gpuc_expr real(expr_graph *g, double value);
gpuc_expr symbol(expr_graph *g, const char *name, int64_t value);
gpuc_tensor *input(expr_graph *g, const char *name, gpuc_dtype dtype, int ndim, const gpuc_expr *dims);
void output(expr_graph *g, gpuc_tensor *t);
gpuc_iter *axis(expr_graph *g, gpuc_expr extent, const char *name);
gpuc_iter *raxis(expr_graph *g, gpuc_expr extent, const char *name);
gpuc_expr at(expr_graph *g, gpuc_tensor *t, int n, const gpuc_expr *index);

#define V(iter) gpuc_iter_var(iter)
#define EXPRS(...) ((const gpuc_expr[]){__VA_ARGS__})
#define ITERS(...) ((gpuc_iter *const[]){__VA_ARGS__})
#define AT1(g, t, a) at(g, t, 1, EXPRS(a))
#define AT2(g, t, a, b) at(g, t, 2, EXPRS(a, b))
#define AT3(g, t, a, b, c) at(g, t, 3, EXPRS(a, b, c))
#define AT4(g, t, a, b, c, d) at(g, t, 4, EXPRS(a, b, c, d))

#endif
