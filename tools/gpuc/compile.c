/* SPDX-License-Identifier: Apache-2.0 */
/* Opens compiler contexts, targets and tuning logs for commands that build, and runs builds. */
#include "compile.h"

#include <stdlib.h>
#include <string.h>

#include <gpuc/tune.h>

#include "base/ctx.h"
#include "relay/relay.h"

gpuc_status cli_ctx_create(gpuc_ctx **out)
{
    const char *debug = getenv(CLI_DEBUG_VARIABLE), *temporary = getenv("TMPDIR");
    GPUC_TRY(gpuc_ctx_create(NULL, out));
    gpuc_status status = temporary && temporary[0] == '/' ? gpuc_ctx_set_temporary(*out, temporary) : NULL;
    if (status)
        status = gpuc_error_prefix(status, "TMPDIR");
    else if (debug && *debug && (status = gpuc_ctx_set_debug(*out, debug)))
        status = gpuc_error_prefix(status, CLI_DEBUG_VARIABLE);
    if (!status) return NULL;
    gpuc_ctx_destroy(*out);
    *out = NULL;
    return status;
}

typedef struct parse_arg {
    const char *text;
    gpuc_device *device;
    const gpuc_target *out;
} parse_arg;

static void parse_body(gpuc_ctx *ctx, void *arg)
{
    parse_arg *a = arg;
    a->out = gpuc_target_parse(ctx, a->text, a->device);
}

gpuc_status cli_target_parse(gpuc_ctx *ctx, const char *text, gpuc_device *device, const gpuc_target **out)
{
    parse_arg arg = {.text = text, .device = device};
    *out = NULL;
    GPUC_TRY(gpuc_ctx_protect(ctx, parse_body, &arg));
    *out = arg.out;
    return NULL;
}

gpuc_status cli_target_device(cli_runtime *r, const char *target, gpuc_device **out)
{
    gpuc_device_type type;
    int index;
    *out = NULL;
    if (!gpuc_target_wants_device(target, &type, &index)) return NULL;
    return gpuc_error_prefix(gpuc_device_open(r->rt, type, index, out), "target '%s'", target);
}

void cli_warn(void *user, const char *text)
{
    (void)user;
    cli_note("warning: %s", text);
}

gpuc_tuning *cli_tuning_load(gpuc_ctx *ctx, const cli_strings *logs)
{
    return logs && logs->count ? gpuc_tuning_load(ctx, logs->count, logs->at, cli_warn, NULL) : NULL;
}

/* "x=N,3,H": the inputs that have open dimensions. */
static const char *open_sizes(gpuc_ctx *ctx, const gpuc_rmodule *module)
{
    const gpuc_rfunction *main = gpuc_as_rfunction(gpuc_strmap_get(&module->functions, "main"));
    const char *text = "";
    for (int i = 0; i < main->n; i++) {
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(main->params[i]);
        const char *dims = "";
        bool open = false;
        for (int k = 0; k < t->ndim; k++) {
            open |= t->dims[k]->kind != GPUC_EXPR_INT;
            dims = gpuc_ctx_printf(ctx, "%s%s%s", dims, k ? "," : "", gpuc_expr_text(ctx, t->dims[k]));
        }
        if (open)
            text = gpuc_ctx_printf(ctx, "%s%s%s=%s", text, text[0] ? " " : "",
                                   gpuc_as_rvar(main->params[i])->name, dims);
    }
    return text;
}

static const char *defaults(gpuc_ctx *ctx, const gpuc_rmodule *module)
{
    const gpuc_rfunction *main = gpuc_as_rfunction(gpuc_rmodule_get(module, "main"));
    const char *text = "";
    for (int i = 0; i < main->n; i++) {
        const char *name = gpuc_as_rvar(main->params[i])->name;
        if (gpuc_strmap_has(&module->defaults, name))
            text = gpuc_ctx_printf(ctx, "%s%s%s", text, *text ? ", " : "", name);
    }
    return text;
}

static void compile_body(gpuc_ctx *ctx, void *arg)
{
    cli_compile *c = arg;
    const gpuc_target **targets = gpuc_new_array(ctx, const gpuc_target *, c->num_targets);
    c->full_targets = "";
    for (int i = 0; i < c->num_targets; i++) {
        targets[i] = gpuc_target_parse(ctx, c->targets[i], c->devices ? c->devices[i] : NULL);
        c->full_targets =
            gpuc_ctx_printf(ctx, "%s%s%s", c->full_targets, i ? ", " : "", gpuc_target_text(ctx, targets[i]));
    }
    gpuc_onnx_options onnx = GPUC_ONNX_OPTIONS_INIT;
    onnx.pins = c->pins;
    onnx.num_pins = c->num_pins;
    onnx.binds = c->binds;
    onnx.num_binds = c->num_binds;
    onnx.constant_defaults = c->constant_defaults;
    onnx.keep_symbolic = true;
    c->options.tuning = cli_tuning_load(ctx, c->tuning_logs);
    c->options.warning = cli_warn;
    double start = cli_now();
    gpuc_rmodule *module = gpuc_onnx_load(ctx, c->model, &onnx);
    double import = cli_now() - start;
    c->imported = true;
    c->open_sizes = open_sizes(ctx, module);
    c->defaults = defaults(ctx, module);
    gpuc_build_package(ctx, module, c->num_targets, targets, &c->options, c->out, &c->report);
    c->report.seconds_import = import;
}

gpuc_status cli_compile_run(gpuc_ctx *ctx, cli_compile *c)
{
    c->imported = false;
    gpuc_status status = gpuc_ctx_protect(ctx, compile_body, c);
    /* What the importer says of a file that cannot be read names it already. */
    bool named = !status || strstr(gpuc_status_message(status), c->model);
    return named ? status : gpuc_error_prefix(status, "'%s'", c->model);
}
