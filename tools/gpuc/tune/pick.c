/* SPDX-License-Identifier: Apache-2.0 */
/* The best records of logs, in the order in which their functions were first tuned. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "tune/tune.h"

/* A configuration of a function. */
typedef struct measured {
    char *config;
    const gpuc_tune_record *last;
    int times;
} measured;

typedef struct function {
    const char *workload, *target;
    measured *configs; /* in the order in which they were measured first */
    int num_configs;
    bool confirmed; /* one that is not the first was measured again */
} function;

typedef struct pick {
    const cli_strings *logs;
    function *functions;
    int num_functions, gain, records, kept;
    cli_text out;
} pick;

char *tune_config_text(const gpuc_config *c)
{
    cli_text text = {0};
    for (int i = 0; i < c->n; i++)
        cli_text_printf(&text, "%s\"%s\":%lld", i ? "," : "{", c->at[i].name, (long long)c->at[i].value);
    cli_text_add(&text, c->n ? "}" : "{}");
    return text.at;
}

static function *function_of(pick *p, const gpuc_tune_record *r)
{
    for (int i = 0; i < p->num_functions; i++)
        if (!strcmp(p->functions[i].workload, r->workload) && !strcmp(p->functions[i].target, r->target))
            return &p->functions[i];
    p->functions = cli_grow(p->functions, (size_t)p->num_functions, sizeof *p->functions);
    function *f = &p->functions[p->num_functions++];
    *f = (function){.workload = r->workload, .target = r->target};
    return f;
}

static void note(pick *p, const gpuc_tune_record *r)
{
    function *f = function_of(p, r);
    char *config = tune_config_text(r->config);
    int i = 0;
    while (i < f->num_configs && strcmp(f->configs[i].config, config) != 0) i++;
    if (i == f->num_configs) {
        f->configs = cli_grow(f->configs, (size_t)f->num_configs++, sizeof *f->configs);
        f->configs[i] = (measured){.config = config};
    } else {
        free(config);
    }
    f->configs[i].last = r;
    f->configs[i].times++;
    f->confirmed |= i > 0 && f->configs[i].times > 1;
}

/* NULL: none is worth a record. */
static const gpuc_tune_record *best_of(const function *f, int gain)
{
    const gpuc_tune_record *best = NULL;
    for (int i = 0; i < f->num_configs; i++) {
        const measured *m = &f->configs[i];
        double seconds = gpuc_tune_seconds(m->last);
        if ((f->confirmed && m->times < 2) || !isfinite(seconds)) continue;
        if (!best || seconds < gpuc_tune_seconds(best)) best = m->last;
    }
    if (!best || gain == 0) return best;
    double max = (1 - 0.01 * gain) * gpuc_tune_seconds(f->configs[0].last);
    return gpuc_tune_seconds(best) <= max ? best : NULL;
}

static void body(gpuc_ctx *ctx, void *arg)
{
    pick *p = arg;
    gpuc_tune_warnings warnings = {.fn = cli_warn};
    gpuc_tune_records records = gpuc_tune_logs_read(ctx, p->logs->count, p->logs->at, &warnings);
    for (size_t i = 0; i < records.count; i++) note(p, records.at[i]);
    for (int i = 0; i < p->num_functions; i++) {
        const gpuc_tune_record *best = best_of(&p->functions[i], p->gain);
        if (!best) continue;
        gpuc_tune_record r = *best;
        double median = round(gpuc_tune_seconds(best) * 1e9) / 1e9;
        r.costs = &median;
        r.num_costs = 1;
        cli_text_add(&p->out, gpuc_tune_record_text(ctx, &r));
        p->kept++;
    }
    p->records = (int)records.count;
}

static void free_pick(pick *p)
{
    for (int i = 0; i < p->num_functions; i++) {
        for (int k = 0; k < p->functions[i].num_configs; k++) free(p->functions[i].configs[k].config);
        free(p->functions[i].configs);
    }
    free(p->functions);
    cli_text_free(&p->out);
}

gpuc_status tune_pick_best(cli_runtime *r, const cli_strings *logs, const char *out, int gain)
{
    pick p = {.logs = logs, .gain = gain};
    gpuc_ctx *ctx;
    GPUC_TRY(cli_ctx_create(r, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, &p);
    if (!status) status = gpuc_file_put(cli_pending, out, cli_text_get(&p.out), p.out.size);
    gpuc_ctx_destroy(ctx);
    if (!status) printf("%s: %d of %d records\n", out, p.kept, p.records);
    free_pick(&p);
    return status;
}
