/* SPDX-License-Identifier: Apache-2.0 */
/* Runs lowering passes on the loop IR of a file and prints the result, or prints a Relay program: gpuc opt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/lower.h>
#include <gpuc/relay.h>

#include "cli.h"
#include "compile.h"
#include "text.h"

enum { OPT_PASS = CLI_LONG, OPT_TARGET, OPT_LIST, OPT_TYPES };

static const cli_option options[] = {
    {"pass", OPT_PASS, "A,B,...",
     "passes by name, in this order; 'lower': the whole pipeline. Without: none"},
    {"target", OPT_TARGET, "T", "the target that they lower for (default c)"},
    {"list", OPT_LIST, NULL, "print the names of the passes in pipeline order"},
    {"types", OPT_TYPES, NULL, "of a Relay program: print the type of each node, too"},
};

typedef struct opt_args {
    const char *path, *passes, *target, *text;
    bool types;
} opt_args;

static bool is_relay(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".rly") == 0 || strcmp(dot, ".relay") == 0);
}

static void print_relay(gpuc_ctx *ctx, const opt_args *a)
{
    int flags = GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_CONSTANTS;
    if (*a->passes)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "--pass: passes run on loop IR only, %s is Relay", a->path);
    if (a->types) flags |= GPUC_RELAY_PRINT_TYPES;
    fputs(gpuc_relay_text(ctx, gpuc_relay_parse(ctx, a->text, a->path, NULL), flags), stdout);
}

static void run_passes(gpuc_ctx *ctx, void *arg)
{
    const opt_args *a = arg;
    if (is_relay(a->path)) {
        print_relay(ctx, a);
        return;
    }
    const gpuc_target *target = gpuc_target_parse(ctx, a->target, NULL);
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
    if (!status) status = cli_text_read(&text, a->path);
    a->text = cli_text_get(&text);
    if (!status) status = cli_ctx_create(&r, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, run_passes, a);
    gpuc_ctx_destroy(ctx);
    cli_runtime_deinit(&r);
    cli_text_free(&text);
    return status;
}

static int run(const cli_command *c, int argc, char **argv)
{
    opt_args a = {.passes = "", .target = "c"};
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
        for (int i = 0; gpuc_lower_pass_name(i); i++) puts(gpuc_lower_pass_name(i));
        return 0;
    }
    a.path = cli_only_operand(c, argc, argv, "file");
    return cli_report(opt(&a));
}

const cli_command cli_opt_command = {
    .name = "opt",
    .operands = "FILE.tir|FILE.rly [--pass A,B,...] [--target T]",
    .about = "run passes on loop IR, and print what comes out; check and print a Relay program",
    .details = "FILE holds a function as GPUC_DEBUG=print shows it; - is standard input.\n"
               "FILE.rly and FILE.relay hold a Relay program (docs/relay.md).\n"
               "GPUC_DEBUG=print,validate,time,rules says more of each pass ('help' lists the flags).\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
