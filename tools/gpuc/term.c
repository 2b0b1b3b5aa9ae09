/* SPDX-License-Identifier: Apache-2.0 */
/* Prints errors and notes in colour, and allocates memory or ends the program. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "text.h"

void *cli_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (p) return p;
    cli_error("out of memory");
    exit(1);
}

void *cli_grow(void *array, size_t count, size_t item_size)
{
    /* Room doubles whenever the count is a power of two. */
    if (count & (count - 1)) return array;
    size_t room = count ? 2 * count : 1;
    char *p = room > SIZE_MAX / item_size ? NULL : realloc(array, room * item_size);
    if (!p) {
        cli_error("out of memory");
        exit(1);
    }
    memset(p + count * item_size, 0, (room - count) * item_size);
    return p;
}

char *cli_printf(const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *text = cli_alloc((size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

static void say(cli_colour colour, const char *fmt, va_list args)
{
    fflush(stdout);
    fprintf(stderr, "%sgpuc:%s ", cli_colour_on(STDERR_FILENO, colour), cli_colour_off(STDERR_FILENO));
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

void cli_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(CLI_RED, fmt, args);
    va_end(args);
}

void cli_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(CLI_PLAIN, fmt, args);
    va_end(args);
}

int cli_report(gpuc_status status)
{
    if (!status) return 0;
    bool ours = gpuc_status_code(status) == GPUC_INTERNAL;
    cli_error("%s%s", gpuc_status_message(status), ours ? " (this is a bug in gpuc; please report it)" : "");
    gpuc_status_release(status);
    return 1;
}

int cli_finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    cli_error("cannot write the output: %s", strerror(errno));
    return 1;
}

static bool colourful(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

const char *cli_colour_on(int fd, cli_colour colour)
{
    static const char *const codes[] = {
        [CLI_PLAIN] = "",          [CLI_RED] = "\033[1;31m", [CLI_GREEN] = "\033[32m",
        [CLI_YELLOW] = "\033[33m", [CLI_BOLD] = "\033[1m",
    };
    return colour != CLI_PLAIN && colourful(fd) ? codes[colour] : "";
}

const char *cli_colour_off(int fd)
{
    return colourful(fd) ? "\033[0m" : "";
}

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

char *cli_size_text(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes / 1024;
    size_t u = 0;
    if (bytes < 1024) {
        snprintf(out, 32, "%d bytes", (int)bytes);
        return out;
    }
    while (v >= 1024 && u + 1 < CLI_COUNT(units)) {
        v /= 1024;
        u++;
    }
    snprintf(out, 32, "%.*f %s", v < 10 ? 2 : v < 100 ? 1 : 0, v, units[u]);
    return out;
}

char *cli_time_text(double seconds, char out[32])
{
    static const struct {
        double from, scale;
        const char *unit;
    } units[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {0, 1e6, "us"}};
    size_t u = 0;
    while (seconds < units[u].from) u++;
    double v = seconds * units[u].scale;
    snprintf(out, 32, "%.*f %s", v < 10 ? 3 : v < 100 ? 2 : 1, v, units[u].unit);
    return out;
}

char *cli_dims_text(int ndim, const int64_t *dims, const char *const *names)
{
    cli_text buf = {0};
    for (int i = 0; i < ndim; i++) {
        if (i) cli_text_add(&buf, ",");
        if (dims[i] < 0)
            cli_text_add(&buf, names && names[i] && names[i][0] ? names[i] : "?");
        else
            cli_text_printf(&buf, "%lld", (long long)dims[i]);
    }
    char *text = cli_printf("%s", cli_text_get(&buf));
    cli_text_free(&buf);
    return text;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cli_median(double *values, int count)
{
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
