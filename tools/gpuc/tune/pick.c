/* SPDX-License-Identifier: Apache-2.0 */
/* The best records of logs, in the order in which their functions were first tuned. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "tune/tune.h"

typedef struct pick {
    const cli_strings *logs;
    const char *out;
    int gain, records, kept;
} pick;

/* A configuration of a function. */
typedef struct measured {
    const gpuc_tune_record *last;
    int times;
} measured;

typedef struct function {
    gpuc_strmap configs; /* its text -> measured */
    const measured *first;
    bool confirmed; /* one that is not the first was measured again */
} function;

static void deinit(void *buf)
{
    gpuc_buf_deinit(buf);
}

static const char *config_text(gpuc_ctx *ctx, const gpuc_config *c)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_config_print(&text, c);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

static void note(gpuc_ctx *ctx, gpuc_strmap *functions, const gpuc_tune_record *r)
{
    const char *key = gpuc_ctx_printf(ctx, "%s %s", r->workload, r->target),
               *config = config_text(ctx, r->config);
    function *f = gpuc_strmap_get(functions, key);
    if (!f) {
        f = gpuc_new(ctx, function);
        gpuc_strmap_init(&f->configs, ctx);
        gpuc_strmap_set(functions, key, f);
    }
    measured *m = gpuc_strmap_get(&f->configs, config);
    if (!m) {
        m = gpuc_new(ctx, measured);
        gpuc_strmap_set(&f->configs, config, m);
    }
    m->last = r;
    m->times++;
    if (!f->first) f->first = m;
    f->confirmed |= m != f->first && m->times > 1;
}

/* NULL: none is worth a record. */
static const gpuc_tune_record *best_of(const function *f, int gain)
{
    const gpuc_tune_record *best = NULL;
    for (uint32_t i = 0; i < f->configs.map.count; i++) {
        const measured *m = f->configs.map.entries[i].value;
        double seconds = gpuc_tune_seconds(m->last);
        if ((f->confirmed && m->times < 2) || !isfinite(seconds)) continue;
        if (!best || seconds < gpuc_tune_seconds(best)) best = m->last;
    }
    if (!best || gain == 0) return best;
    return gpuc_tune_seconds(best) <= (1 - 0.01 * gain) * gpuc_tune_seconds(f->first->last) ? best : NULL;
}

static void body(gpuc_ctx *ctx, void *arg)
{
    pick *p = arg;
    gpuc_ptrs records = {0};
    gpuc_strmap functions;
    gpuc_tune_warnings warnings = {.fn = cli_warn};
    gpuc_strmap_init(&functions, ctx);
    for (int i = 0; i < p->logs->count; i++) gpuc_tune_log_read(ctx, p->logs->at[i], &warnings, &records);
    for (size_t i = 0; i < records.count; i++) note(ctx, &functions, records.at[i]);
    gpuc_buf *text = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(text, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, deinit, text);
    for (uint32_t i = 0; i < functions.map.count; i++) {
        const gpuc_tune_record *best = best_of(functions.map.entries[i].value, p->gain);
        if (!best) continue;
        gpuc_tune_record r = *best;
        double median = round(gpuc_tune_seconds(best) * 1e9) / 1e9;
        r.costs = &median;
        r.num_costs = 1;
        gpuc_tune_record_print(ctx, text, &r);
        p->kept++;
    }
    GPUC_RAISE_IF(ctx, gpuc_buf_status(text));
    GPUC_RAISE_IF(ctx, gpuc_file_put(cli_pending, p->out, text->data ? text->data : "", text->size));
    gpuc_ctx_pop_cleanup(ctx, true);
    p->records = (int)records.count;
}

gpuc_status tune_pick_best(const cli_strings *logs, const char *out, int gain)
{
    pick p = {.logs = logs, .out = out, .gain = gain};
    gpuc_ctx *ctx;
    GPUC_TRY(cli_ctx_create(&ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, &p);
    gpuc_ctx_destroy(ctx);
    if (!status) printf("%s: %d of %d records\n", out, p.kept, p.records);
    return status;
}
