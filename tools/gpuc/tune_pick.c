/* SPDX-License-Identifier: Apache-2.0 */
/* The best records of logs, in the order in which their functions were first tuned. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "tune.h"

typedef struct pick {
    const cli_strings *logs;
    const char *out;
    int records, kept;
} pick;

static void deinit(void *buf)
{
    gpuc_buf_deinit(buf);
}

static void body(gpuc_ctx *ctx, void *arg)
{
    pick *p = arg;
    gpuc_ptrs records = {0};
    gpuc_strmap best;
    gpuc_tune_warnings warnings = {.fn = cli_warn};
    gpuc_strmap_init(&best, ctx);
    for (int i = 0; i < p->logs->count; i++) gpuc_tune_log_read(ctx, p->logs->at[i], &warnings, &records);
    for (size_t i = 0; i < records.count; i++) {
        const gpuc_tune_record *r = records.at[i];
        const char *key = gpuc_ctx_printf(ctx, "%s %s", r->workload, r->target);
        const gpuc_tune_record *known = gpuc_strmap_get(&best, key);
        if (!isfinite(gpuc_tune_seconds(r)) || (known && gpuc_tune_seconds(known) <= gpuc_tune_seconds(r)))
            continue;
        gpuc_strmap_set(&best, key, records.at[i]);
    }
    gpuc_buf *text = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(text, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, deinit, text);
    for (uint32_t i = 0; i < best.map.count; i++)
        gpuc_tune_record_print(ctx, text, best.map.entries[i].value);
    GPUC_RAISE_IF(ctx, gpuc_buf_status(text));
    GPUC_RAISE_IF(ctx, gpuc_file_put(p->out, text->data ? text->data : "", text->size));
    gpuc_ctx_pop_cleanup(ctx, true);
    p->records = (int)records.count;
    p->kept = (int)best.map.count;
}

gpuc_status tune_pick_best(const cli_strings *logs, const char *out)
{
    pick p = {.logs = logs, .out = out};
    gpuc_ctx *ctx;
    GPUC_TRY(cli_ctx_create(&ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, &p);
    gpuc_ctx_destroy(ctx);
    if (!status) printf("%s: %d of %d records\n", out, p.kept, p.records);
    return status;
}
