/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a package from a model: gpuc build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bind.h"
#include "compile.h"
#include "json.h"

enum {
    OPT_EMIT = CLI_LONG,
    OPT_SHAPE,
    OPT_BIND,
    OPT_INPUT_IMAGE,
    OPT_OUTPUT_IMAGE,
    OPT_DEFAULTS,
    OPT_DISABLE,
    OPT_FOLD_LIMIT,
    OPT_THREADS,
    OPT_LOG,
    OPT_JSON
};

static const cli_option options[] = {
    {"target", 't', "T",
     "what to compile for: vulkan, opencl, c, a tag such as vulkan/llvmpipe, with attributes; "
     "repeatable, then the first that runs is used (`gpuc targets` lists them)"},
    {"output", 'o', "FILE", "the package; default: the model's name with .gpuc, in this folder"},
    {"emit", OPT_EMIT, "DIR", "also write graph.json, params and the generated *.spv, *.cl, *.c there"},
    {"shape", OPT_SHAPE, "NAME=DIMS",
     "shape of an input (data=1,3,224,224) or value of a symbolic dimension (N=1); "
     "what is not given stays open; repeatable"},
    {"bind", OPT_BIND, "NAME=FILE",
     "the value of an input (.npy or .pb), which becomes a constant and no input of the package; repeatable"},
    {"input-image", OPT_INPUT_IMAGE, "NAME=FORMAT,KEY=VALUE,...",
     "the input is an image of this format (rgba8, rgba8_srgb, bgra8, bgra8_srgb, rgba16f, r32f, r8), which "
     "the "
     "package makes the network's tensor of: linear, nearest, size=WxH, crop=WxH+X+Y or crop=center, range=, "
     "mean=, scale= or std=, order=rgb, bgr or gray, layout=nchw or nhwc; repeatable"},
    {"output-image", OPT_OUTPUT_IMAGE, "NAME=FORMAT,KEY=VALUE,...",
     "the output is an image of this format: range=, scale=, offset=, clamp, alpha=, order=, layout=; "
     "repeatable"},
    {"constant-defaults", OPT_DEFAULTS, NULL,
     "inputs that have a default value in the model (initializers) are constants and no inputs of the "
     "package"},
    {"optimize", 'O', "LEVEL", "0 to 3; default 3"},
    {"disable-pass", OPT_DISABLE, "NAME", "leave a pass out; repeatable"},
    {"fold-limit", OPT_FOLD_LIMIT, "BYTES",
     "largest constant to compute when building, such as 512M; default 2G"},
    {"tuning-log", OPT_LOG, "FILE",
     "use the best configurations that `gpuc tune` wrote there for the targets; repeatable"},
    {"threads", OPT_THREADS, "N", "compile on N threads; default one per processor; the result is the same"},
    {"json", OPT_JSON, NULL, "print the report as JSON"},
    {"verbose", 'v', NULL, "print the report"},
};

typedef struct build_args {
    const char *model, *out, *emit;
    cli_strings targets, disabled, binds, logs;
    cli_shapes shapes;
    cli_images images;
    int level, threads;
    int64_t fold_limit;
    bool constant_defaults, json, verbose;
} build_args;

static void parse(const cli_command *c, int argc, char **argv, build_args *b)
{
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        switch (key) {
        case 't': cli_strings_add(&b->targets, value); break;
        case 'o': b->out = value; break;
        case OPT_EMIT: b->emit = value; break;
        case OPT_SHAPE: cli_shapes_add(c, &b->shapes, value); break;
        case OPT_BIND: cli_strings_add(&b->binds, value); break;
        case OPT_INPUT_IMAGE: cli_strings_add(&b->images.inputs, value); break;
        case OPT_OUTPUT_IMAGE: cli_strings_add(&b->images.outputs, value); break;
        case OPT_DEFAULTS: b->constant_defaults = true; break;
        case 'O': b->level = (int)cli_int(c, "-O", value, 0, 3); break;
        case OPT_DISABLE: cli_strings_add(&b->disabled, value); break;
        case OPT_FOLD_LIMIT: b->fold_limit = cli_bytes(c, "--fold-limit", value); break;
        case OPT_LOG: cli_strings_add(&b->logs, value); break;
        case OPT_THREADS: b->threads = (int)cli_int(c, "--threads", value, 1, 4096); break;
        case OPT_JSON: b->json = true; break;
        case 'v': b->verbose = true; break;
        }
    }
    b->model = cli_only_operand(c, argc, argv, "model");
    if (b->targets.count == 0) cli_usage(c, "say what to build for, such as --target vulkan or --target c");
}

static char *default_output(const char *model)
{
    const char *slash = strrchr(model, '/'), *base = slash ? slash + 1 : model;
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    return cli_printf("%.*s.gpuc", (int)n, base);
}

/* ---- Report ---- */

static uint64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void print_report(const build_args *b, const cli_compile *c, double seconds)
{
    const gpuc_build_report *r = &c->report;
    char size[32], weights[32];
    printf("%s: %s for %s\n", b->out, cli_size_text(file_size(b->out), size), cli_text_get(&c->full_targets));
    if (c->open_sizes.size)
        printf("open: %s (any size runs; %s, for more speed)\n", c->open_sizes.at,
               cli_is_relay(c->model) ? "the program can say sizes" : "--shape pins sizes");
    if (c->defaults.size)
        printf("defaults: %s (a run may give others; --constant-defaults builds them in, for more speed)\n",
               c->defaults.at);
    if (!b->verbose) return;
    printf("  operators        %d\n  kernels          %d launches of %d kernels\n  weights          %s\n",
           r->num_nodes, r->num_kernels, r->num_unique_kernels, cli_size_text(r->weight_bytes, weights));
    printf("  schedules        %d of %d operators with something to tune are tuned, %d use their default\n",
           r->num_tuned, r->num_tuned + r->num_untuned, r->num_untuned);
    printf("  seconds          %.2f: import %.2f, passes %.2f, kernels %.2f, write %.2f\n", seconds,
           r->seconds_import, r->seconds_passes, r->seconds_kernels, r->seconds_write);
}

static void json_report(const build_args *b, const cli_compile *c, double seconds)
{
    const gpuc_build_report *r = &c->report;
    cli_json j;
    cli_json_init(&j);
    cli_json_object(&j, NULL);
    cli_json_string(&j, "package", b->out);
    cli_json_int(&j, "bytes", (int64_t)file_size(b->out));
    cli_json_string(&j, "targets", cli_text_get(&c->full_targets));
    cli_json_string(&j, "open", cli_text_get(&c->open_sizes));
    cli_json_string(&j, "defaults", cli_text_get(&c->defaults));
    cli_json_int(&j, "operators", r->num_nodes);
    cli_json_int(&j, "launches", r->num_kernels);
    cli_json_int(&j, "kernels", r->num_unique_kernels);
    cli_json_int(&j, "tuned", r->num_tuned);
    cli_json_int(&j, "untuned", r->num_untuned);
    cli_json_int(&j, "weight_bytes", (int64_t)r->weight_bytes);
    cli_json_object(&j, "seconds");
    cli_json_number(&j, "total", seconds);
    cli_json_number(&j, "import", r->seconds_import);
    cli_json_number(&j, "passes", r->seconds_passes);
    cli_json_number(&j, "kernels", r->seconds_kernels);
    cli_json_number(&j, "write", r->seconds_write);
    cli_json_end_object(&j);
    cli_json_end_object(&j);
    cli_json_print(&j, stdout);
    cli_json_deinit(&j);
}

/* ---- Build ---- */

static gpuc_status open_devices(cli_runtime *r, gpuc_ctx *ctx, const cli_strings *targets,
                                gpuc_device **devices)
{
    for (int i = 0; i < targets->count; i++) GPUC_TRY(cli_target_device(r, ctx, targets->at[i], &devices[i]));
    return NULL;
}

static gpuc_status build(const build_args *b, cli_runtime *r)
{
    gpuc_device **devices = cli_alloc((size_t)b->targets.count * sizeof *devices);
    cli_fixed fixed = {0};
    cli_progress progress;
    gpuc_ctx *ctx = NULL;
    double start = cli_now();
    cli_progress_start(&progress, "reading the model");
    cli_compile c = {.model = b->model,
                     .out = b->out,
                     .targets = b->targets.at,
                     .devices = devices,
                     .num_targets = b->targets.count,
                     .tuning_logs = &b->logs};
    c.options = GPUC_BUILD_OPTIONS_INIT;
    c.options.opt_level = b->level;
    c.options.disabled_passes = b->disabled.at;
    c.options.num_disabled = b->disabled.count;
    c.options.num_threads = b->threads;
    c.options.fold_limit = b->fold_limit;
    c.options.emit_dir = b->emit;
    const char *slash = strrchr(b->model, '/');
    c.options.model_name = slash ? slash + 1 : b->model; /* not the path: equal models give equal packages */
    c.options.progress = cli_progress_show;
    c.options.progress_user = &progress;
    gpuc_status status = cli_ctx_create(r, &ctx);
    if (!status) status = open_devices(r, ctx, &b->targets, devices);
    if (!status) status = cli_fix_inputs(r, b->model, &b->shapes, &b->binds, &fixed);
    c.pins = fixed.pins;
    c.num_pins = fixed.num_pins;
    c.binds = fixed.binds.at;
    c.num_binds = fixed.binds.count;
    c.constant_defaults = b->constant_defaults;
    c.images = &b->images;
    if (!status) status = cli_compile_run(ctx, &c);
    cli_progress_end(&progress);
    if (!status && b->json)
        json_report(b, &c, cli_now() - start);
    else if (!status)
        print_report(b, &c, cli_now() - start);
    cli_compile_deinit(&c);
    gpuc_ctx_destroy(ctx);
    free(devices);
    cli_fixed_free(&fixed);
    return status;
}

static int run(const cli_command *c, int argc, char **argv)
{
    build_args b = {.level = 3};
    parse(c, argc, argv, &b);
    char *out = b.out ? NULL : default_output(b.model);
    if (out) b.out = out;
    cli_runtime r;
    cli_runtime_options ro = {.verbose = b.verbose};
    gpuc_status status = cli_runtime_init(&r, &ro);
    if (!status) status = build(&b, &r);
    cli_runtime_deinit(&r);
    free(out);
    cli_strings_free(&b.targets);
    cli_strings_free(&b.disabled);
    cli_strings_free(&b.binds);
    cli_strings_free(&b.logs);
    cli_shapes_free(&b.shapes);
    cli_images_free(&b.images);
    return cli_report(status);
}

const cli_command cli_build_command = {
    .name = "build",
    .operands = "MODEL --target T [--target T2]... [-o FILE.gpuc] [--emit DIR] [--shape NAME=DIMS]...",
    .about = "compile an ONNX model or a Relay program to a package",
    .details = "FILE.rly and FILE.relay hold a Relay program (docs/relay.md), whose main must be a graph.\n"
               "GPUC_DEBUG=help in the environment lists developer switches.\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
