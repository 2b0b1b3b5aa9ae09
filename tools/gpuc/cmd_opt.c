/* SPDX-License-Identifier: Apache-2.0 */
/* Runs passes on the loop IR or the Relay program of a file, and prints the result: gpuc opt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/lower.h>
#include <gpuc/onnx.h>
#include <gpuc/relay_pass.h>

#include "cli.h"
#include "compile.h"
#include "text.h"

enum { OPT_PASS = CLI_LONG, OPT_TARGET, OPT_LIST, OPT_TYPES };

static const cli_option options[] = {
    {"pass", OPT_PASS, "A,B,...",
     "passes by name, in this order, NAME(option=value) where one has options; 'lower': all of loop IR; "
     "'optimize' "
     "and 'optimize_for_target': all of Relay that builds run. Without: none"},
    {"target", OPT_TARGET, "T", "the target that they are for (default c for loop IR, none for Relay)"},
    {"list", OPT_LIST, NULL,
     "print the passes: of loop IR in pipeline order, then of Relay with what they do"},
    {"types", OPT_TYPES, NULL, "of a Relay program: print the type of each node, too"},
};

typedef struct opt_args {
    const char *path, *passes, *target, *text;
    bool types;
} opt_args;

static bool is_onnx(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".onnx") == 0;
}

static gpuc_rmodule *import(gpuc_ctx *ctx, const char *path)
{
    gpuc_onnx_options o = GPUC_ONNX_OPTIONS_INIT;
    o.keep_symbolic = true;
    return gpuc_onnx_load(ctx, path, &o);
}

static void print_relay(gpuc_ctx *ctx, const opt_args *a)
{
    int flags = GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_CONSTANTS;
    const gpuc_target *target = a->target ? gpuc_target_parse(ctx, a->target, NULL) : NULL;
    gpuc_rmodule *m = is_onnx(a->path) ? import(ctx, a->path) : gpuc_relay_parse(ctx, a->text, a->path, NULL);
    if (a->types) flags |= GPUC_RELAY_PRINT_TYPES;
    fputs(gpuc_relay_text(ctx, gpuc_relay_run_passes(ctx, m, target, a->passes), flags), stdout);
}

static void run_passes(gpuc_ctx *ctx, void *arg)
{
    const opt_args *a = arg;
    if (cli_is_relay(a->path) || is_onnx(a->path)) {
        print_relay(ctx, a);
        return;
    }
    const gpuc_target *target = gpuc_target_parse(ctx, a->target ? a->target : "c", NULL);
    const gpuc_tir_func *const *funcs;
    int n = gpuc_lower_passes(ctx, target, gpuc_tir_parse(ctx, a->text, a->path), a->passes, &funcs);
    for (int i = 0; i < n; i++) printf("%s%s", i ? "\n" : "", gpuc_tir_text(ctx, funcs[i]));
}

static gpuc_status opt(opt_args *a)
{
    cli_text text = {0};
    gpuc_ctx *ctx = NULL;
    cli_runtime r;
    gpuc_status status = cli_runtime_init(&r, &(cli_runtime_options){.no_devices = true});
    if (!status && !is_onnx(a->path)) status = cli_text_read(&text, a->path);
    a->text = is_onnx(a->path) ? NULL : cli_text_get(&text);
    if (!status) status = cli_ctx_create(&r, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, run_passes, a);
    gpuc_ctx_destroy(ctx);
    cli_runtime_deinit(&r);
    cli_text_free(&text);
    return status;
}

static void print_pass(const gpuc_relay_pass_info *p)
{
    const char *needs = p->needs_graph && p->needs_target ? "a graph, a target"
                        : p->needs_graph                  ? "a graph"
                        : p->needs_target                 ? "a target"
                                                          : "-";
    printf("  %s%s%s%s\n    -O%d; %s: %s\n", p->name, *p->options ? "(" : "", p->options,
           *p->options ? ")" : "", p->level, needs, p->about);
}

static gpuc_status print_list(void)
{
    gpuc_relay_pass_info p;
    cli_runtime r;
    gpuc_status status = cli_runtime_init(&r, &(cli_runtime_options){.no_devices = true});
    if (status) return status;
    puts("of loop IR:");
    for (int i = 0; gpuc_lower_pass_name(i); i++) printf("  %s\n", gpuc_lower_pass_name(i));
    puts("of Relay, with the -O level from which builds run them, and what they need besides the program:");
    for (int i = 0; gpuc_relay_pass_at(i, &p); i++) print_pass(&p);
    for (size_t at = 0; gpuc_relay_pass_next(r.rt, &at, &p);) print_pass(&p);
    cli_runtime_deinit(&r);
    return NULL;
}

static int run(const cli_command *c, int argc, char **argv)
{
    opt_args a = {.passes = ""};
    bool list = false;
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        if (key == OPT_PASS) a.passes = value;
        if (key == OPT_TARGET) a.target = value;
        if (key == OPT_LIST) list = true;
        if (key == OPT_TYPES) a.types = true;
    }
    if (list) {
        cli_no_operands(c, argc, argv);
        return cli_report(print_list());
    }
    a.path = cli_only_operand(c, argc, argv, "file");
    return cli_report(opt(&a));
}

const cli_command cli_opt_command = {
    .name = "opt",
    .operands = "FILE.tir|FILE.rly|FILE.onnx [--pass A,B,...] [--target T]",
    .about = "run passes on loop IR or on a Relay program, and print what comes out",
    .details =
        "FILE holds a function as GPUC_DEBUG=print shows it; - is standard input.\n"
        "FILE.rly and FILE.relay hold a Relay program (docs/relay.md), FILE.onnx a model that is imported as "
        "one.\n"
        "GPUC_DEBUG=print,relay,validate,time,rules says more of each pass ('help' lists the flags).\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
