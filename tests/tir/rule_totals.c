/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gpuc_rule_count *find(const rule_totals *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->at[i].name, name) == 0) return (gpuc_rule_count *)&t->at[i];
    return NULL;
}

void rule_totals_of(rule_totals *t, const gpuc_rule_table *const *tables)
{
    const char *name;
    for (int i = 0; (name = gpuc_tir_rule_name(tables, i)); i++) {
        if (find(t, name) || t->n == (int)(sizeof t->at / sizeof t->at[0])) {
            fprintf(stderr, "two rules are named %s, or there are too many\n", name);
            abort();
        }
        t->at[t->n++] = (gpuc_rule_count){name, 0};
    }
}

void rule_totals_watch(gpuc_ctx *ctx)
{
    ctx->debug |= GPUC_DEBUG_RULE_COUNTS;
}

void rule_totals_add(rule_totals *t, gpuc_ctx *ctx)
{
    const gpuc_rule_count *counts;
    int n = gpuc_tir_rule_counts(ctx, &counts);
    for (int i = 0; i < n; i++) {
        gpuc_rule_count *at = find(t, counts[i].name);
        if (at) at->times += counts[i].times;
    }
}

int64_t rule_totals_get(const rule_totals *t, const char *name)
{
    const gpuc_rule_count *at = find(t, name);
    return at ? at->times : 0;
}

int rule_totals_missing(const rule_totals *t)
{
    int never = 0;
    for (int i = 0; i < t->n; i++) never += t->at[i].times == 0;
    return never;
}

int rule_totals_print(const rule_totals *t, const char *what)
{
    int never = rule_totals_missing(t);
    printf("rules that fired in %s:", what);
    for (int i = 0; i < t->n; i++)
        if (t->at[i].times) printf(" %s %" PRId64, t->at[i].name, t->at[i].times);
    printf("\nrules that never fired in %s:", what);
    for (int i = 0; i < t->n; i++)
        if (!t->at[i].times) printf(" %s", t->at[i].name);
    printf("%s\n", never ? "" : " none");
    return never;
}
