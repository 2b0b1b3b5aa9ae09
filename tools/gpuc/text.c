/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a text that grows. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void cli_text_bytes(cli_text *t, const void *bytes, size_t size)
{
    if (t->room - t->size <= size) {
        size_t room = 2 * (t->room + size) + 64;
        char *at = cli_alloc(room);
        if (t->size) memcpy(at, t->at, t->size);
        free(t->at);
        t->at = at;
        t->room = room;
    }
    if (size) memcpy(t->at + t->size, bytes, size);
    t->size += size;
    t->at[t->size] = 0;
}

void cli_text_add(cli_text *t, const char *text)
{
    cli_text_bytes(t, text, strlen(text));
}

void cli_text_printf(cli_text *t, const char *fmt, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0) {
        cli_error("out of memory");
        exit(1);
    }
    cli_text_bytes(t, text, (size_t)n);
    free(text);
}

const char *cli_text_get(const cli_text *t)
{
    return t->at ? t->at : "";
}

void cli_text_free(cli_text *t)
{
    free(t->at);
    *t = (cli_text){0};
}
