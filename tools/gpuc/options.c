/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command's options, and prints its help. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 100

static bool is_short(int key)
{
    return key < CLI_LONG;
}

static void begin_error(void)
{
    fflush(stdout);
    fprintf(stderr, "%sgpuc:%s ", cli_colour_on(STDERR_FILENO, CLI_RED), cli_colour_off(STDERR_FILENO));
}

void cli_usage(const cli_command *c, const char *fmt, ...)
{
    va_list args;
    begin_error();
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, " (`gpuc %s --help` tells more)\n", c->name);
    exit(2);
}

/* Text in the second column, broken at spaces. */
static void print_wrapped(const char *text)
{
    size_t room = HELP_WIDTH - HELP_COLUMN;
    while (strlen(text) > room) {
        size_t n = room;
        while (n > 0 && text[n] != ' ') n--;
        if (n == 0) break;
        printf("%.*s\n%*s", (int)n, text, HELP_COLUMN, "");
        text += n + 1;
    }
    printf("%s\n", text);
}

/* The options that every command has follow its own. */
static const cli_option common_options[] = {
    {"plugin", CLI_PLUGIN, "FILE",
     "load a shared library that adds operators, targets, functions, ... (gpuc/plugin.h); repeatable"},
    {"help", CLI_HELP, NULL, "print this"},
};

static int count_options(const cli_command *c)
{
    return c->num_options + (int)CLI_COUNT(common_options);
}

static const cli_option *option_at(const cli_command *c, int i)
{
    return i < c->num_options ? &c->options[i] : &common_options[i - c->num_options];
}

static void print_option(const cli_option *o)
{
    char left[96];
    int n = is_short(o->key) ? snprintf(left, sizeof left, "  -%c, --%s", o->key, o->name)
                             : snprintf(left, sizeof left, "      --%s", o->name);
    if (o->arg) n += snprintf(left + n, sizeof left - (size_t)n, " %s", o->arg);
    if (n + 2 > HELP_COLUMN)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    print_wrapped(o->help);
}

void cli_help(const cli_command *c)
{
    printf("usage: gpuc %s %s\n\n%s\n\noptions:\n", c->name, c->operands, c->about);
    for (int i = 0; i < count_options(c); i++)
        if (option_at(c, i)->help) print_option(option_at(c, i));
    if (c->details) printf("\n%s", c->details);
}

/* The word that getopt_long did not know, with the nearest name of the command's. */
static void unknown_option(const cli_command *c, const char *word)
{
    char name[64];
    if (strncmp(word, "--", 2) == 0) word += 2;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    int n = count_options(c);
    const char **names = cli_alloc((size_t)n * sizeof *names);
    for (int i = 0; i < n; i++) names[i] = option_at(c, i)->name;
    const char *near = gpuc_suggest(name, names, (size_t)n);
    free(names);
    cli_usage(c, "unknown or ambiguous option '--%s'%s%s%s", name, near ? "; did you mean '--" : "",
              near ? near : "", near ? "'?" : "");
}

static const cli_option *find_key(const cli_command *c, int key)
{
    for (int i = 0; i < count_options(c); i++)
        if (option_at(c, i)->key == key) return option_at(c, i);
    return NULL;
}

static void wrong_option(const cli_command *c, char **argv, int key)
{
    const cli_option *o = optopt ? find_key(c, optopt) : NULL;
    const char *word = optind > 0 ? argv[optind - 1] : "";
    if (key == ':' && o) cli_usage(c, "option '--%s' needs an argument: %s", o->name, o->arg);
    if (o) cli_usage(c, "option '--%s' takes no argument", o->name);
    if (optopt && isprint(optopt) && strncmp(word, "--", 2) != 0)
        cli_usage(c, "unknown option '-%c'", optopt);
    unknown_option(c, word);
}

static int next_option(const cli_command *c, int argc, char **argv, const char **value)
{
    int n = count_options(c);
    struct option *longs = cli_alloc((size_t)(n + 1) * sizeof *longs);
    char *shorts = cli_alloc((size_t)n * 2 + 2), *s = shorts;
    *s++ = ':'; /* a missing argument is ':' */
    for (int i = 0; i < n; i++) {
        const cli_option *o = option_at(c, i);
        longs[i] = (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->key};
        if (!is_short(o->key)) continue;
        *s++ = (char)o->key;
        if (o->arg) *s++ = ':';
    }
    opterr = 0;
    int key = getopt_long(argc, argv, shorts, longs, NULL);
    *value = optarg;
    free(longs);
    free(shorts);
    if (key == '?' || key == ':') wrong_option(c, argv, key);
    return key;
}

int cli_next(const cli_command *c, int argc, char **argv, const char **value)
{
    int key;
    while ((key = next_option(c, argc, argv, value)) == CLI_PLUGIN) cli_plugin_add(*value);
    if (key == CLI_HELP) {
        cli_help(c);
        exit(cli_finish(0));
    }
    return key;
}

const char *cli_only_operand(const cli_command *c, int argc, char **argv, const char *what)
{
    if (optind >= argc) cli_usage(c, "%s is missing", what);
    if (optind + 1 < argc) cli_usage(c, "one %s at a time; '%s' is too much", what, argv[optind + 1]);
    return argv[optind];
}

void cli_no_operands(const cli_command *c, int argc, char **argv)
{
    if (optind < argc) cli_usage(c, "'%s' is too much", argv[optind]);
}

static bool parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    if (isspace((unsigned char)*text)) return false;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0;
}

int64_t cli_int(const cli_command *c, const char *option, const char *text, int64_t min, int64_t max)
{
    int64_t v;
    if (!parse_int(text, &v)) cli_usage(c, "%s needs an integer, not '%s'", option, text);
    if (v < min || v > max)
        cli_usage(c, "%s must be in %lld..%lld, not %lld", option, (long long)min, (long long)max,
                  (long long)v);
    return v;
}

int64_t cli_bytes(const cli_command *c, const char *option, const char *text)
{
    static const char suffixes[] = "KMGT";
    size_t n = strlen(text);
    char *digits = cli_printf("%s", text);
    int shift = 0;
    const char *suffix = n ? strchr(suffixes, toupper((unsigned char)text[n - 1])) : NULL;
    if (suffix && *suffix) {
        shift = 10 * (int)(suffix - suffixes + 1);
        digits[n - 1] = 0;
    }
    int64_t v;
    if (!parse_int(digits, &v) || v < 1 || v > INT64_MAX >> shift)
        cli_usage(c, "%s needs a number of bytes such as 512M or 2G, not '%s'", option, text);
    free(digits);
    return v << shift;
}

double cli_seconds(const cli_command *c, const char *option, const char *text)
{
    char *end;
    double v = strtod(text, &end), unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    bool number = end != text && (!*end || (strchr("smh", *end) && !end[1]));
    if (!number || !(v > 0) || v * unit > 1e6)
        cli_usage(c, "%s needs a time above 0 such as 90, 90s, 10m or 2h, not '%s'", option, text);
    return v * unit;
}

void cli_shapes_add(const cli_command *c, cli_shapes *shapes, const char *text)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text) cli_usage(c, "--shape needs NAME=1,3,224,224, not '%s'", text);
    cli_shape s = {.name = cli_printf("%.*s", (int)(equals - text), text)};
    char *rest = cli_printf("%s", equals + 1), *at = rest;
    while (*at) { /* nothing after the '=' is a scalar */
        size_t n = strcspn(at, ",");
        bool last = !at[n];
        at[n] = 0;
        int64_t v;
        if (!parse_int(at, &v) || v < 0 || (!last && !at[n + 1]))
            cli_usage(c, "--shape needs NAME=1,3,224,224, not '%s'", text);
        s.dims = cli_grow(s.dims, (size_t)s.ndim, sizeof *s.dims);
        s.dims[s.ndim++] = v;
        at += last ? n : n + 1;
    }
    free(rest);
    if (cli_shapes_find(shapes, s.name)) cli_usage(c, "--shape names '%s' twice", s.name);
    shapes->at = cli_grow(shapes->at, (size_t)shapes->count, sizeof *shapes->at);
    shapes->at[shapes->count++] = s;
}

void cli_shapes_free(cli_shapes *shapes)
{
    for (int i = 0; i < shapes->count; i++) {
        free(shapes->at[i].name);
        free(shapes->at[i].dims);
    }
    free(shapes->at);
    *shapes = (cli_shapes){0};
}

const cli_shape *cli_shapes_find(const cli_shapes *shapes, const char *name)
{
    for (int i = 0; i < shapes->count; i++)
        if (strcmp(shapes->at[i].name, name) == 0) return &shapes->at[i];
    return NULL;
}

void cli_strings_add(cli_strings *list, const char *text)
{
    list->at = cli_grow(list->at, (size_t)list->count, sizeof *list->at);
    list->at[list->count++] = text;
}

void cli_strings_free(cli_strings *list)
{
    free(list->at);
    *list = (cli_strings){0};
}
