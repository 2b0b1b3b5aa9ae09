/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a schedule and the definition that it is made from in the evaluator. */
#ifndef GPUC_TESTS_SCHEDULE_COMPARE_H
#define GPUC_TESTS_SCHEDULE_COMPARE_H

#include "exprs.h"
#include "tir/tir.h"

/* Data of a graph's arguments, filled with small numbers that float32 adds exactly. */
typedef struct data_set {
    gpuc_tir_arg args[EXPR_MAX_ARGS];
    int64_t counts[EXPR_MAX_ARGS]; /* elements */
} data_set;

void data_fill(const expr_graph *g, uint64_t seed, data_set *out);
void data_clear_outputs(const expr_graph *g, data_set *d);
/* Runs a function over the graph's arguments; raises what the evaluator reports. */
void data_run(const expr_graph *g, const gpuc_tir_func *f, data_set *d);
/* Raises for the first element of an output that differs. */
void data_compare(const expr_graph *g, const data_set *got, const data_set *want);

/* All of it: lowers, validates, runs and compares with the definition; raises. */
void compare_with_definition(const expr_graph *g, gpuc_schedule *s);

#endif
