/* SPDX-License-Identifier: Apache-2.0 */
/* Has the table of passes, and runs them: one, or those that a text names, with their options. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "relay/infer.h"
#include "relay_pass/common/util.h"

enum { MODULE = GPUC_RELAY_PASS_MODULE, GRAPH = GPUC_RELAY_PASS_GRAPH, TARGET = GPUC_RELAY_PASS_TARGET };

const gpuc_relay_pass gpuc_relay_pass_table[] = {
#define GPUC_RELAY_PASS(name, level, needs, options, about)                                                  \
    {#name, gpuc_relay_pass_##name, level, needs, options, about, NULL},
#include "relay_pass/passes.def"
};

/* The parts of a build. */
static const struct {
    const char *name;
    void (*run)(gpuc_relay_pass_ctx *p);
} parts[] = {
    {"optimize", gpuc_relay_pass_optimize},
    {"optimize_for_target", gpuc_relay_pass_optimize_for_target},
};
enum { NUM_PARTS = sizeof parts / sizeof *parts };

const gpuc_relay_pass *gpuc_relay_pass_find(const char *name)
{
    for (int i = 0; i < GPUC_RELAY_PASS_ID_COUNT; i++)
        if (!strcmp(gpuc_relay_pass_table[i].name, name)) return &gpuc_relay_pass_table[i];
    return NULL;
}

bool gpuc_relay_pass_is_part(const char *name)
{
    bool found = false;
    for (int i = 0; i < NUM_PARTS; i++) found |= !strcmp(parts[i].name, name);
    return found;
}

const gpuc_relay_pass *gpuc_relay_pass_need(gpuc_ctx *ctx, const char *name)
{
    const gpuc_relay_pass *pass = gpuc_relay_pass_find(name);
    gpuc_relay_pass_info added;
    gpuc_ptrs names = {0};
    if (!pass) pass = gpuc_relay_pass_find_added(ctx, name);
    if (pass) return pass;
    for (int i = 0; i < GPUC_RELAY_PASS_ID_COUNT; i++)
        gpuc_ptrs_push(ctx, &names, (void *)(uintptr_t)gpuc_relay_pass_table[i].name);
    for (int i = 0; i < NUM_PARTS; i++) gpuc_ptrs_push(ctx, &names, (void *)(uintptr_t)parts[i].name);
    for (size_t at = 0; gpuc_relay_pass_next(ctx->runtime, &at, &added);)
        gpuc_ptrs_push(ctx, &names, (void *)(uintptr_t)added.name);
    const char *near = gpuc_suggest(name, (const char *const *)names.at, names.count);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no pass '%s'%s%s%s", name,
               near ? "; did you mean '" : "; those of Relay are listed by `gpuc opt --list`",
               near ? near : "", near ? "'?" : "");
}

/* ---- Options ---- */

static const gpuc_attrs *with_attr(gpuc_ctx *ctx, const gpuc_attrs *list, const gpuc_attr *a)
{
    gpuc_attrs *out = gpuc_new(ctx, gpuc_attrs);
    gpuc_attr *at = gpuc_ctx_memdup(ctx, list->at, sizeof *at * (size_t)list->count);
    for (int i = 0; i < list->count; i++)
        if (!strcmp(at[i].name, a->name)) at[i] = *a;
    *out = (gpuc_attrs){list->count, at};
    return out;
}

static const gpuc_attrs *set_option(gpuc_ctx *ctx, const gpuc_relay_pass *pass, const gpuc_attrs *all,
                                    const gpuc_attr *given)
{
    const gpuc_attr *known = gpuc_attrs_find(all, given->name);
    gpuc_attr a = *given;
    if (!known && !*pass->options)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the pass %s has no options, '%s' is none", pass->name,
                   given->name);
    if (!known)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the pass %s has no option '%s'; it has %s", pass->name,
                   given->name, pass->options);
    if (known->kind == GPUC_ATTR_FLOAT && a.kind == GPUC_ATTR_INT) {
        a.kind = GPUC_ATTR_FLOAT;
        a.f = (double)a.i;
    }
    if (a.kind != known->kind)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the pass %s: its option '%s' is written as in %s", pass->name,
                   given->name, pass->options);
    return with_attr(ctx, all, &a);
}

static const gpuc_attrs *complete(gpuc_ctx *ctx, const gpuc_relay_pass *pass, const gpuc_attrs *given)
{
    const gpuc_attrs *all = gpuc_relay_attrs(ctx, pass->options);
    for (int i = 0; given && i < given->count; i++) all = set_option(ctx, pass, all, &given->at[i]);
    return all;
}

/* ---- Running one ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void dump(gpuc_relay_pass_ctx *p, const char *after)
{
    gpuc_buf text;
    gpuc_buf_init(&text, p->ctx->allocator);
    gpuc_relay_print(p->ctx, &text, p->module, GPUC_RELAY_PRINT_TYPES, NULL);
    fprintf(stderr, "# relay after %s\n%s", after, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
}

static const gpuc_map_entry *functions_of(const gpuc_relay_pass_ctx *p)
{
    const gpuc_map *all = &p->module->functions.map;
    return gpuc_ctx_memdup(p->ctx, all->entries, sizeof *all->entries * all->count);
}

static bool changed(const gpuc_relay_pass_ctx *p, const gpuc_map_entry *before, uint32_t count)
{
    const gpuc_map *now = &p->module->functions.map;
    if (now->count != count) return true;
    for (uint32_t i = 0; i < count; i++)
        if (now->entries[i].value != before[i].value) return true;
    return false;
}

static void run_and_tell(gpuc_relay_pass_ctx *p, const gpuc_relay_pass *pass,
                         const gpuc_relay_pass_info *info)
{
    gpuc_ctx *ctx = p->ctx;
    gpuc_relay_pass_tell_before(p, info);
    bool timed = gpuc_relay_pass_is_watched(ctx) || ctx->debug & GPUC_DEBUG_TIME;
    double start = timed ? now_ms() : 0;
    if (pass->added)
        gpuc_relay_pass_run_added(p, pass->added);
    else
        pass->run(p);
    double took = timed ? now_ms() - start : 0;
    if (ctx->debug & GPUC_DEBUG_TIME) fprintf(stderr, "%10.3f ms  %-18s relay\n", took, pass->name);
    gpuc_relay_pass_tell_after(p, info, took);
}

void gpuc_relay_pass_run(gpuc_relay_pass_ctx *p, const gpuc_relay_pass *pass, const gpuc_attrs *options)
{
    gpuc_ctx *ctx = p->ctx;
    gpuc_relay_pass_info info;
    uint32_t count = p->module->functions.map.count;
    const gpuc_map_entry *before = functions_of(p);
    p->options = complete(ctx, pass, options);
    gpuc_relay_pass_tell(pass, &info);
    if (!gpuc_relay_pass_may_run(p, &info)) return;
    if (pass->needs & TARGET && !p->target)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the pass %s needs a target", pass->name);
    if (pass->needs & GRAPH) gpuc_relay_pass_need_graph(p);
    run_and_tell(p, pass, &info);
    p->options = NULL;
    if (ctx->debug & GPUC_DEBUG_RELAY && changed(p, before, count)) dump(p, pass->name);
    if (gpuc_ctx_validates(ctx)) gpuc_relay_validate(ctx, p->module, pass->name);
}

/* ---- Running some, by name ---- */

static bool run_part(gpuc_relay_pass_ctx *p, const char *name)
{
    for (int i = 0; i < NUM_PARTS; i++) {
        if (strcmp(parts[i].name, name) != 0) continue;
        parts[i].run(p);
        return true;
    }
    return false;
}

/* The length of a text in parentheses, with these; strings in it may have parentheses. 0: it does not end. */
static size_t enclosed(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; text[i]; i++) {
        if (quoted && text[i] == '\\' && text[i + 1]) {
            i++;
            continue;
        }
        if (text[i] == '"') quoted = !quoted;
        if (!quoted) depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0) return i + 1;
    }
    return 0;
}

/* One "name" or "name(options)". Returns its length. */
static size_t run_named(gpuc_relay_pass_ctx *p, const char *at)
{
    gpuc_ctx *ctx = p->ctx;
    size_t n = strcspn(at, ", ("), more = at[n] == '(' ? enclosed(at + n) : 0;
    const char *name = gpuc_ctx_printf(ctx, "%.*s", (int)n, at);
    if (at[n] == '(' && !more)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the options of the pass %s have no ')'", name);
    if (!more && run_part(p, name)) return n;
    const gpuc_relay_pass *pass = gpuc_relay_pass_need(ctx, name);
    const gpuc_attrs *options = NULL;
    if (more) options = gpuc_relay_attrs(ctx, gpuc_ctx_printf(ctx, "%.*s", (int)more - 2, at + n + 1));
    gpuc_relay_pass_run(p, pass, options);
    gpuc_tir_rule_print(ctx, "main");
    return n + more;
}

void gpuc_relay_pass_run_text(gpuc_relay_pass_ctx *p, const char *passes)
{
    for (const char *at = passes; *at;) {
        at += strspn(at, ", ");
        if (*at) at += run_named(p, at);
        if (*at && !strchr(", ", *at))
            gpuc_raise(p->ctx, GPUC_INVALID_ARGUMENT, "passes: a ',' is expected before '%s'", at);
    }
}
