/* SPDX-License-Identifier: Apache-2.0 */
/* Those who look on as passes run: entered before the first pass of a build or of a list of passes, left after the
 * last, also where one raised. Who raises in either is not asked again. */
#include "relay_pass/passes.h"

typedef struct instruments {
    int n, depth; /* depth: of runs within runs */
    gpuc_relay_pass_instrument *list;
} instruments;

static instruments *of(gpuc_ctx *ctx)
{
    if (!ctx->slots[GPUC_CTX_RELAY_PASS]) ctx->slots[GPUC_CTX_RELAY_PASS] = gpuc_new(ctx, instruments);
    return ctx->slots[GPUC_CTX_RELAY_PASS];
}

void gpuc_relay_pass_set_instruments(gpuc_ctx *ctx, int n, const gpuc_relay_pass_instrument *list)
{
    instruments *all = of(ctx);
    if (n < 0 || (n && !list))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "setting instruments: %d%s", n,
                   n < 0 ? "" : " in a list that is NULL");
    if (all->depth) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "setting instruments while passes run");
    *all = (instruments){.n = n, .list = n ? gpuc_ctx_memdup(ctx, list, sizeof *list * (size_t)n) : NULL};
}

bool gpuc_relay_pass_is_watched(gpuc_ctx *ctx)
{
    return of(ctx)->n > 0;
}

bool gpuc_relay_pass_may_run(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_info *info)
{
    const instruments *all = of(p->ctx);
    for (int i = 0; i < all->n; i++)
        if (all->list[i].should_run && !all->list[i].should_run(p->ctx, p->module, info, all->list[i].user))
            return false;
    return true;
}

void gpuc_relay_pass_tell_before(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_info *info)
{
    const instruments *all = of(p->ctx);
    for (int i = 0; i < all->n; i++)
        if (all->list[i].before) all->list[i].before(p->ctx, p->module, info, all->list[i].user);
}

void gpuc_relay_pass_tell_after(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_info *info, double milliseconds)
{
    const instruments *all = of(p->ctx);
    for (int i = 0; i < all->n; i++)
        if (all->list[i].after) all->list[i].after(p->ctx, p->module, info, milliseconds, all->list[i].user);
}

/* ---- The run as a whole ---- */

typedef struct walk {
    instruments *all;
    int entered;
} walk;

static void enter(gpuc_ctx *ctx, void *arg)
{
    walk *w = arg;
    for (; w->entered < w->all->n; w->entered++) {
        const gpuc_relay_pass_instrument *one = &w->all->list[w->entered];
        if (one->enter) one->enter(ctx, one->user);
    }
}

static void leave(gpuc_ctx *ctx, void *arg)
{
    const walk *w = arg;
    for (int i = 0; i < w->entered; i++)
        if (w->all->list[i].leave) w->all->list[i].leave(ctx, w->all->list[i].user);
}

void gpuc_relay_pass_within(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    walk w = {of(ctx), 0};
    if (w.all->depth || !w.all->n) {
        body(ctx, arg);
        return;
    }
    w.all->depth++;
    gpuc_status first = gpuc_ctx_protect(ctx, enter, &w), last;
    bool dropped = first != NULL;
    if (!first) first = gpuc_ctx_protect(ctx, body, arg);
    last = gpuc_ctx_protect(ctx, leave, &w);
    dropped |= last != NULL;
    if (dropped) w.all->n = 0;
    w.all->depth--;
    if (first) gpuc_status_release(last);
    if (first || last) gpuc_ctx_raise_status(ctx, first ? first : last);
}
