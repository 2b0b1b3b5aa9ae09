/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-opt: runs lowering passes on the loop IR of a file and prints the result. For developers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/lower.h>

typedef struct options {
    const char *input, *passes, *target;
} options;

static const char usage[] =
    "usage: gpuc-opt [--pass A,B,...] [--target T] FILE.tir\n"
    "Runs lowering passes on the function in FILE (- reads standard input) and prints what comes out.\n"
    "  --pass LIST   passes by name, in order; 'lower' is the whole pipeline; none: parse and print\n"
    "  --target T    the target they lower for (default c)\n"
    "  --list        print the names of the passes in pipeline order\n"
    "Environment: GPUC_DEBUG=print,validate,time,rules ('help' lists the flags).\n";

static char *read_stream(FILE *f)
{
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    while (text) {
        size += fread(text + size, 1, capacity - size - 1, f);
        if (size + 1 < capacity) break;
        capacity *= 2;
        char *more = realloc(text, capacity);
        if (!more) free(text);
        text = more;
    }
    if (text) text[size] = 0;
    return text;
}

static char *read_input(const char *path)
{
    if (strcmp(path, "-") == 0) return read_stream(stdin);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = read_stream(f);
    fclose(f);
    return text;
}

static void run(gpuc_ctx *ctx, void *arg)
{
    const options *o = ((void **)arg)[0];
    const char *text = ((void **)arg)[1];
    const gpuc_target *target = gpuc_target_parse(ctx, o->target, NULL);
    const gpuc_tir_func *const *funcs;
    int n = gpuc_lower_passes(ctx, target, gpuc_tir_parse(ctx, text, o->input), o->passes, &funcs);
    for (int i = 0; i < n; i++) printf("%s%s", i ? "\n" : "", gpuc_tir_text(ctx, funcs[i]));
}

static int fail(gpuc_status status)
{
    fprintf(stderr, "gpuc-opt: %s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    return 1;
}

static int parse_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(arg, "--list") == 0) {
            for (int k = 0; gpuc_lower_pass_name(k); k++) puts(gpuc_lower_pass_name(k));
            return 0;
        }
        bool takes_value = strcmp(arg, "--pass") == 0 || strcmp(arg, "--target") == 0;
        if (takes_value && i + 1 < argc) {
            *(arg[2] == 'p' ? &o->passes : &o->target) = argv[++i];
        } else if (!o->input && (arg[0] != '-' || arg[1] == 0)) {
            o->input = arg;
        } else {
            fprintf(stderr, "gpuc-opt: unexpected '%s'\n%s", arg, usage);
            return 2;
        }
    }
    if (o->input) return -1;
    fputs(usage, stderr);
    return 2;
}

int main(int argc, char **argv)
{
    gpuc_file_open_standard();
    options o = {.passes = "", .target = "c"};
    int code = parse_options(argc, argv, &o);
    if (code >= 0) return code;
    char *text = read_input(o.input);
    if (!text) {
        fprintf(stderr, "gpuc-opt: cannot read '%s'\n", o.input);
        return 1;
    }
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    void *arg[2] = {&o, text};
    if (!status && getenv("GPUC_DEBUG")) status = gpuc_ctx_set_debug(ctx, getenv("GPUC_DEBUG"));
    if (!status) status = gpuc_ctx_protect(ctx, run, arg);
    code = status ? fail(status) : 0;
    gpuc_ctx_destroy(ctx);
    free(text);
    return code;
}
