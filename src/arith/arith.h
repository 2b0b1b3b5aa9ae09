/* SPDX-License-Identifier: Apache-2.0 */
/* Analysis and simplification of integer expressions. */
#ifndef GPUC_ARITH_ARITH_H
#define GPUC_ARITH_ARITH_H

#include "tir/rules.h"
#include "tir/tir.h"

/* What is known of variables: ranges, and conditions that hold. Scoped: mark and rewind. */
typedef struct gpuc_analyzer gpuc_analyzer;
gpuc_analyzer *gpuc_arith_analyzer_create(gpuc_ctx *ctx); /* arena; no release */
/* var is in [min, min + extent); min and extent may be symbolic. */
void gpuc_arith_analyzer_bind(gpuc_analyzer *a, gpuc_expr var, gpuc_expr min, gpuc_expr extent);
void gpuc_arith_analyzer_bind_value(gpuc_analyzer *a, gpuc_expr var, gpuc_expr value); /* var == value */
/* The value that var was bound to; NULL: none. */
gpuc_expr gpuc_arith_analyzer_value(const gpuc_analyzer *a, gpuc_expr var);
size_t gpuc_arith_analyzer_assume(gpuc_analyzer *a, gpuc_expr cond); /* returns the mark to rewind to */
size_t gpuc_arith_analyzer_mark(const gpuc_analyzer *a);
void gpuc_arith_analyzer_rewind(gpuc_analyzer *a, size_t mark);

/* Constant bounds, INT64_MIN / INT64_MAX when unknown. Vectors: over all lanes. Symbols (variables
 * without a range) are unknown, but a non-negative extent variable may be bound as [0, 2^31). */
typedef struct gpuc_bounds {
    int64_t min, max;
} gpuc_bounds;
gpuc_bounds gpuc_arith_analyzer_bounds(gpuc_analyzer *a, gpuc_expr e);
/* e == remainder (mod coeff); coeff 0: a constant; 1: nothing known. */
typedef struct gpuc_modular {
    int64_t coeff, remainder;
} gpuc_modular;
gpuc_modular gpuc_arith_analyzer_modular(gpuc_analyzer *a, gpuc_expr e);

/* Rewrites to a canonical, cheaper form that is equal wherever the facts hold: sums of products
 * ("canonical form") for index expressions, div/mod recombination (x//c*c + x%c = x, (x*c+y)//c = x
 * for 0<=y<c), comparisons by bounds, min/max, selects; data expressions get only rules that are
 * exact for wrapping integers and IEEE floats. */
gpuc_expr gpuc_arith_simplify(gpuc_analyzer *a, gpuc_expr e);
/* The rules that gpuc_arith_simplify is made of, for gpuc_tir_rule_name. */
const gpuc_rule_table *const *gpuc_arith_rules(void);
/* True only if proven. */
bool gpuc_arith_prove(gpuc_analyzer *a, gpuc_expr cond);
bool gpuc_arith_prove_equal(gpuc_analyzer *a, gpuc_expr x, gpuc_expr y);

/* Interval of an expression when variables run over intervals (symbolic ends). NULL end: unbounded. */
typedef struct gpuc_interval {
    gpuc_expr min, max;
} gpuc_interval;
/* relax holds (var -> gpuc_interval*): those variables are eliminated; others stay as symbols. */
gpuc_interval gpuc_arith_eval_interval(gpuc_analyzer *a, gpuc_expr e, const gpuc_map *relax);
gpuc_interval gpuc_arith_interval_union(gpuc_analyzer *a, gpuc_interval x, gpuc_interval y);

/* e as sum(coeff[i] * vars[i]) + rest, where rest has none of vars; false if it is not linear in them
 * with coefficients free of vars. */
bool gpuc_arith_linear(gpuc_analyzer *a, gpuc_expr e, int n, const gpuc_expr *vars, gpuc_expr *coeff,
                       gpuc_expr *rest);

/* Exact size of a tir expression over symbols as an abi size expression; symbol number i is
 * symbols[i]. Raises for what the form cannot say. Code is in the context's arena. */
gpuc_xexpr gpuc_arith_to_xexpr(gpuc_ctx *ctx, gpuc_expr e, int num_symbols, const gpuc_expr *symbols);
/* The other way. The expression must be verified for as many symbols. */
gpuc_expr gpuc_arith_from_xexpr(gpuc_ctx *ctx, gpuc_xexpr e, const gpuc_expr *symbols);

#endif
