/* SPDX-License-Identifier: Apache-2.0 */
/* Which rewrite rules fired in a whole test, over all of its contexts. */
#ifndef GPUC_TESTS_TIR_RULE_TOTALS_H
#define GPUC_TESTS_TIR_RULE_TOTALS_H

#include "tir/rules.h"

typedef struct rule_totals {
    gpuc_rule_count at[256];
    int n;
} rule_totals;

/* Adds the rules of tables to those that are asked for. Fails if a name is there already. */
void rule_totals_of(rule_totals *t, const gpuc_rule_table *const *tables);
void rule_totals_watch(gpuc_ctx *ctx); /* counts from now on */
void rule_totals_add(rule_totals *t, gpuc_ctx *ctx);
int64_t rule_totals_get(const rule_totals *t, const char *name);
/* How many never fired. */
int rule_totals_missing(const rule_totals *t);
/* Prints how often each fired, and names those that never did; returns how many these are. */
int rule_totals_print(const rule_totals *t, const char *what);

#endif
