/* SPDX-License-Identifier: Apache-2.0 */
/* Names of rewrite rules, and how often each fired. Rules stand in tables whose rows begin with the name;
 * what walks a table tells that a rule fired. Counts belong to the context, and are kept only while
 * GPUC_DEBUG_RULES or GPUC_DEBUG_RULE_COUNTS is on. */
#ifndef GPUC_TIR_RULES_H
#define GPUC_TIR_RULES_H

#include "base/ctx.h"

/* The names of a table, wherever its rows are. Rows without a name are left out. */
typedef struct gpuc_rule_table {
    const void *rows;
    size_t count, size;
} gpuc_rule_table;
#define GPUC_RULE_TABLE(table)                                                                               \
    {                                                                                                        \
        (table), sizeof(table) / sizeof(table)[0], sizeof(table)[0]                                          \
    }
/* The i-th name of all tables, of which the last one is followed by NULL; NULL: there are no more. */
const char *gpuc_tir_rule_name(const gpuc_rule_table *const *tables, int i);

void gpuc_tir_rule_note(gpuc_ctx *ctx, const char *name);
static inline void gpuc_rule_fired(gpuc_ctx *ctx, const char *name)
{
    if (ctx->debug & (GPUC_DEBUG_RULES | GPUC_DEBUG_RULE_COUNTS)) gpuc_tir_rule_note(ctx, name);
}

typedef struct gpuc_rule_count {
    const char *name;
    int64_t times;
} gpuc_rule_count;
/* What fired since the last call, most often first. Memory of the context. */
int gpuc_tir_rule_counts(gpuc_ctx *ctx, const gpuc_rule_count **out);
/* Prints it to stderr, a line each, if GPUC_DEBUG_RULES is on. */
void gpuc_tir_rule_print(gpuc_ctx *ctx, const char *function);

#endif
