/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that programs and plug-ins add to a runtime. */
#include <string.h>

#include "op/entries.h"
#include "relay/infer.h"
#include "relay_pass/passes.h"

#define PREFIX "relay.pass."

static void make(const gpuc_relay_pass_desc *d, gpuc_relay_pass *out)
{
    *out = (gpuc_relay_pass){
        .name = d->name,
        .needs =
            (d->needs_graph ? GPUC_RELAY_PASS_GRAPH : 0u) | (d->needs_target ? GPUC_RELAY_PASS_TARGET : 0u),
        .options = d->options ? d->options : "",
        .about = d->about,
        .added = d,
    };
}

static void parse_options(gpuc_ctx *ctx, void *arg)
{
    const gpuc_relay_pass_desc *d = arg;
    gpuc_relay_attrs(ctx, d->options);
}

static gpuc_status check_options(const gpuc_relay_pass_desc *d)
{
    gpuc_ctx *ctx;
    if (!d->options) return NULL;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, parse_options, (void *)(uintptr_t)d), told = NULL;
    if (status)
        told = gpuc_fail(gpuc_status_code(status), "the options of the pass %s, '%s': %s", d->name,
                         d->options, gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return told;
}

gpuc_status gpuc_relay_pass_register(gpuc_runtime *rt, const gpuc_relay_pass_desc *d)
{
    char full[sizeof PREFIX + 200];
    if (!rt || !d || !d->name || !d->about || !d->run)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "adding a pass: the runtime, the pass, its name, about or run is NULL");
    if (!gpuc_op_entry_is_name(d->name) || strchr(d->name, '.') || strlen(d->name) > 200)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "'%.200s' is no name of a pass: it has letters, digits and '_'", d->name);
    memcpy(full, PREFIX, sizeof PREFIX);
    strcat(full, d->name);
    if (gpuc_relay_pass_find(d->name) || gpuc_relay_pass_is_part(d->name))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "gpuc has a pass '%s' of its own", d->name);
    if (gpuc_registry_get(rt, full))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the runtime has a pass '%s' already", d->name);
    GPUC_TRY(check_options(d));
    return gpuc_op_entry_add(rt, full, d);
}

bool gpuc_relay_pass_next(gpuc_runtime *rt, size_t *at, gpuc_relay_pass_info *out)
{
    gpuc_relay_pass pass;
    const gpuc_relay_pass_desc *d = rt && at && out ? gpuc_op_entry_next(rt, PREFIX, at) : NULL;
    if (!d) return false;
    make(d, &pass);
    gpuc_relay_pass_tell(&pass, out);
    return true;
}

const gpuc_relay_pass *gpuc_relay_pass_find_added(gpuc_ctx *ctx, const char *name)
{
    const gpuc_relay_pass_desc *d =
        ctx->runtime ? gpuc_op_entry_find(ctx->runtime, gpuc_ctx_printf(ctx, PREFIX "%s", name)) : NULL;
    gpuc_relay_pass *pass = d ? gpuc_new(ctx, gpuc_relay_pass) : NULL;
    if (pass) make(d, pass);
    return pass;
}

typedef struct check_job {
    gpuc_rmodule *m;
} check_job;

static void check(gpuc_ctx *ctx, void *arg)
{
    check_job *j = arg;
    gpuc_relay_infer_module(ctx, j->m);
    gpuc_relay_validate_given(ctx, j->m);
}

void gpuc_relay_pass_run_added(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_desc *d)
{
    gpuc_rmodule *m = d->run(p->ctx, p->module, p->target, p->options, d->user);
    if (!m) gpuc_raise(p->ctx, GPUC_INVALID_ARGUMENT, "the pass %s gives no program", d->name);
    gpuc_status status = gpuc_ctx_protect(p->ctx, check, &(check_job){m});
    if (status) {
        const char *message = gpuc_ctx_strdup(p->ctx, gpuc_status_message(status));
        gpuc_code code = gpuc_status_code(status);
        gpuc_status_release(status);
        gpuc_raise(p->ctx, code, "the program that the pass %s gives: %s", d->name, message);
    }
    p->module = m;
}
