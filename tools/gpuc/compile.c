/* SPDX-License-Identifier: Apache-2.0 */
/* Opens compiler contexts, targets and tuning logs for commands that build, and runs builds. */
#include "compile.h"

#include <stdlib.h>
#include <string.h>

#include <gpuc/relay_pass.h>
#include <gpuc/tune.h>

gpuc_status cli_ctx_create(cli_runtime *r, gpuc_ctx **out)
{
    const char *debug = getenv(CLI_DEBUG_VARIABLE), *temporary = getenv("TMPDIR");
    GPUC_TRY(gpuc_ctx_create(NULL, out));
    gpuc_ctx_set_pending(*out, cli_pending);
    gpuc_ctx_set_runtime(*out, r->rt);
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

gpuc_status cli_target_device(cli_runtime *r, gpuc_ctx *ctx, const char *target, gpuc_device **out)
{
    gpuc_device_type type;
    int index;
    *out = NULL;
    if (!gpuc_target_wants_device(ctx, target, &type, &index)) return NULL;
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

void cli_images_apply(gpuc_ctx *ctx, gpuc_rmodule *m, const cli_images *images)
{
    for (int i = 0; images && i < images->inputs.count; i++) {
        gpuc_image_input image = gpuc_image_input_parse(ctx, images->inputs.at[i]);
        gpuc_rmodule_image_input(ctx, m, &image);
    }
    for (int i = 0; images && i < images->outputs.count; i++) {
        gpuc_image_output image = gpuc_image_output_parse(ctx, images->outputs.at[i]);
        gpuc_rmodule_image_output(ctx, m, &image);
    }
}

void cli_images_free(cli_images *images)
{
    cli_strings_free(&images->inputs);
    cli_strings_free(&images->outputs);
}

static void add_item(cli_text *list, const char *separator, const char *item)
{
    cli_text_printf(list, "%s%s", list->size ? separator : "", item);
}

/* Notes which dimensions of inputs are open, and which inputs need not be given. */
static void note_inputs(gpuc_ctx *ctx, const gpuc_rmodule *module, cli_compile *c)
{
    for (int i = 0; i < gpuc_rmodule_num_inputs(module); i++) {
        gpuc_tensor_info info = gpuc_rmodule_input(ctx, module, i);
        bool open = false;
        for (int k = 0; k < info.ndim; k++) open |= info.dims[k] < 0;
        if (info.has_default) add_item(&c->defaults, ", ", info.name);
        if (!open) continue;
        char *dims = cli_dims_text(info.ndim, info.dims, info.dim_names);
        add_item(&c->open_sizes, " ", info.name);
        cli_text_printf(&c->open_sizes, "=%s", dims);
        free(dims);
    }
}

bool cli_is_relay(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".rly") == 0 || strcmp(dot, ".relay") == 0);
}

gpuc_rmodule *cli_relay_load(gpuc_ctx *ctx, const cli_text *program, const char *path)
{
    gpuc_rmodule *m = gpuc_relay_parse(ctx, cli_text_get(program), path, NULL);
    return gpuc_relay_run_passes(ctx, m, NULL, "inline(all=True),to_graph_normal_form,dead_code");
}

static void compile_body(gpuc_ctx *ctx, void *arg)
{
    cli_compile *c = arg;
    for (int i = 0; i < c->num_targets; i++) {
        c->parsed[i] = gpuc_target_parse(ctx, c->targets[i], c->devices ? c->devices[i] : NULL);
        add_item(&c->full_targets, ", ", gpuc_target_text(ctx, c->parsed[i]));
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
    gpuc_rmodule *module = cli_is_relay(c->model) ? cli_relay_load(ctx, &c->program, c->model)
                                                  : gpuc_onnx_load(ctx, c->model, &onnx);
    double import = cli_now() - start;
    c->imported = true;
    cli_images_apply(ctx, module, c->images);
    note_inputs(ctx, module, c);
    gpuc_build_package(ctx, module, c->num_targets, c->parsed, &c->options, c->out, &c->report);
    c->report.seconds_import = import;
}

gpuc_status cli_compile_run(gpuc_ctx *ctx, cli_compile *c)
{
    c->imported = false;
    c->parsed = cli_alloc((size_t)c->num_targets * sizeof *c->parsed);
    gpuc_status status = cli_is_relay(c->model) ? cli_text_read(&c->program, c->model) : NULL;
    if (!status) status = gpuc_ctx_protect(ctx, compile_body, c);
    free(c->parsed);
    c->parsed = NULL;
    /* What the importer says of a file that cannot be read names it already. */
    bool named = !status || strstr(gpuc_status_message(status), c->model);
    return named ? status : gpuc_error_prefix(status, "'%s'", c->model);
}

void cli_compile_deinit(cli_compile *c)
{
    cli_text_free(&c->program);
    cli_text_free(&c->full_targets);
    cli_text_free(&c->defaults);
    cli_text_free(&c->open_sizes);
}
