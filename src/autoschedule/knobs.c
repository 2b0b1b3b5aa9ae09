/* SPDX-License-Identifier: Apache-2.0 */
/* Answers a schedule's knobs from a configuration, and prints, copies and checks configurations. */
#include "autoschedule/knobs.h"

#include <string.h>

#include "base/names.h"

bool gpuc_config_get(const gpuc_config *c, const char *name, int64_t *out)
{
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->at[i].name, name)) continue;
        *out = c->at[i].value;
        return true;
    }
    return false;
}

static bool is_offered(const gpuc_asked *a, int64_t value)
{
    for (int i = 0; i < a->n; i++)
        if (a->candidates[i] == value) return true;
    return false;
}

/* "rows", then "rows.2", ... */
static const char *name_of(gpuc_knobs *k, const char *name)
{
    size_t length = strlen(name);
    int before = 0;
    for (size_t i = 0; i < k->asked.count; i++) {
        const char *other = ((const gpuc_asked *)k->asked.at[i])->name;
        before += !strncmp(other, name, length) && (!other[length] || other[length] == '.');
    }
    return before ? gpuc_ctx_printf(k->ctx, "%s.%d", name, before + 1) : gpuc_ctx_strdup(k->ctx, name);
}

static const char *candidates_text(gpuc_ctx *ctx, const gpuc_asked *a)
{
    const char *text = "";
    for (int i = 0; i < a->n; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%lld", text, i ? ", " : "", (long long)a->candidates[i]);
    return text;
}

/* Names stand in logs, which know those that knobs had before. */
static void check_name(gpuc_ctx *ctx, const char *name)
{
    enum { MAX = 40 }; /* with room for ".2" behind it */
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > MAX || strspn(name, letters) != n)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "'%.64s' is no name for a knob: it has 1 to %d letters, digits and '_'",
                   name ? name : "NULL", MAX);
    const char *now = gpuc_names_now("knob", name);
    if (strcmp(now, name) != 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' is an old name of the knob '%s': choose another name",
                   name, now);
}

void gpuc_knobs_check_count(gpuc_ctx *ctx, const char *name, int n)
{
    if (n < 0 || n > GPUC_KNOB_MAX_CANDIDATES)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "knob %s: %d candidates; there can be 0 to %d: let several knobs decide", name, n,
                   GPUC_KNOB_MAX_CANDIDATES);
}

int64_t gpuc_knob(gpuc_knobs *k, const char *name, int64_t own, int num_candidates, const int64_t *candidates)
{
    if (!k) return own;
    check_name(k->ctx, name);
    gpuc_knobs_check_count(k->ctx, name, num_candidates);
    if (num_candidates > 0 && !candidates)
        gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT, "knob %s: its list of candidates is NULL", name);
    gpuc_asked *a = gpuc_new(k->ctx, gpuc_asked);
    int64_t *list = gpuc_new_array(k->ctx, int64_t, num_candidates + 1);
    *a = (gpuc_asked){.name = name_of(k, name), .own = own, .value = own, .candidates = list};
    for (int i = 0; i < num_candidates; i++) list[a->n++] = candidates[i];
    if (!is_offered(a, own)) list[a->n++] = own;
    if (k->choose)
        a->value = k->choose(k->user, a);
    else if (k->config)
        gpuc_config_get(k->config, a->name, &a->value);
    if (!is_offered(a, a->value))
        gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT, "knob %s cannot be %lld here, but one of %s", a->name,
                   (long long)a->value, candidates_text(k->ctx, a));
    gpuc_ptrs_push(k->ctx, &k->asked, a);
    return a->value;
}

void gpuc_knobs_check(const gpuc_knobs *k)
{
    for (int i = 0; k->config && i < k->config->n; i++) {
        bool asked = false;
        for (size_t j = 0; j < k->asked.count; j++)
            asked |= !strcmp(((const gpuc_asked *)k->asked.at[j])->name, k->config->at[i].name);
        if (!asked)
            gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT, "the schedule of this function has no knob %s",
                       k->config->at[i].name);
    }
}

void gpuc_config_print(gpuc_buf *out, const gpuc_config *c)
{
    gpuc_buf_str(out, "{");
    for (int i = 0; i < c->n; i++)
        gpuc_buf_printf(out, "%s\"%s\":%lld", i ? "," : "", c->at[i].name, (long long)c->at[i].value);
    gpuc_buf_str(out, "}");
}

gpuc_config *gpuc_config_copy(gpuc_ctx *ctx, const gpuc_config *c)
{
    gpuc_config *out = gpuc_new(ctx, gpuc_config);
    gpuc_knob_value *at = gpuc_new_array(ctx, gpuc_knob_value, c->n);
    for (int i = 0; i < c->n; i++)
        at[i] = (gpuc_knob_value){.name = gpuc_ctx_strdup(ctx, c->at[i].name), .value = c->at[i].value};
    *out = (gpuc_config){.n = c->n, .at = at};
    return out;
}

gpuc_config *gpuc_knobs_config(gpuc_ctx *ctx, const gpuc_knobs *k)
{
    gpuc_config *out = gpuc_new(ctx, gpuc_config);
    gpuc_knob_value *at = gpuc_new_array(ctx, gpuc_knob_value, k->asked.count);
    for (size_t i = 0; i < k->asked.count; i++) {
        const gpuc_asked *a = k->asked.at[i];
        at[i] = (gpuc_knob_value){.name = gpuc_ctx_strdup(ctx, a->name), .value = a->value};
    }
    *out = (gpuc_config){.n = (int)k->asked.count, .at = at};
    return out;
}
