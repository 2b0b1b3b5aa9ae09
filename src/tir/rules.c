/* SPDX-License-Identifier: Apache-2.0 */
/* Counts which rewrite rules fired. */
#include "tir/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

const char *gpuc_tir_rule_name(const gpuc_rule_table *const *tables, int i)
{
    for (; *tables; tables++)
        for (size_t row = 0; row < (*tables)->count; row++) {
            const char *name;
            memcpy(&name, (const char *)(*tables)->rows + row * (*tables)->size, sizeof name);
            if (name && i-- == 0) return name;
        }
    return NULL;
}

void gpuc_tir_rule_note(gpuc_ctx *ctx, const char *name)
{
    gpuc_strmap *counts = ctx->slots[GPUC_CTX_RULES];
    if (!counts) {
        counts = gpuc_new(ctx, gpuc_strmap);
        gpuc_strmap_init(counts, ctx);
        ctx->slots[GPUC_CTX_RULES] = counts;
    }
    uintptr_t times = (uintptr_t)gpuc_strmap_get(counts, name);
    gpuc_strmap_set(counts, name, (void *)(times + 1));
}

static int compare_counts(const void *a, const void *b)
{
    const gpuc_rule_count *x = a, *y = b;
    if (x->times != y->times) return x->times > y->times ? -1 : 1;
    return strcmp(x->name, y->name);
}

int gpuc_tir_rule_counts(gpuc_ctx *ctx, const gpuc_rule_count **out)
{
    const gpuc_strmap *counts = ctx->slots[GPUC_CTX_RULES];
    *out = NULL;
    if (!counts) return 0;
    int n = (int)counts->map.count;
    gpuc_rule_count *list = gpuc_new_array(ctx, gpuc_rule_count, n);
    for (int i = 0; i < n; i++)
        list[i] =
            (gpuc_rule_count){counts->map.entries[i].key, (int64_t)(uintptr_t)counts->map.entries[i].value};
    qsort(list, (size_t)n, sizeof *list, compare_counts);
    ctx->slots[GPUC_CTX_RULES] = NULL;
    *out = list;
    return n;
}

void gpuc_tir_rule_print(gpuc_ctx *ctx, const char *function)
{
    const gpuc_rule_count *counts;
    if (!(ctx->debug & GPUC_DEBUG_RULES)) return;
    int n = gpuc_tir_rule_counts(ctx, &counts);
    for (int i = 0; i < n; i++)
        fprintf(stderr, "%10" PRId64 " x   %-28s %s\n", counts[i].times, counts[i].name, function);
}
