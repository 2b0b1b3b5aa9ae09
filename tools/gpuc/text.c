/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a text that grows. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/files.h>

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

gpuc_status cli_text_read(cli_text *t, const char *path)
{
    gpuc_mapping file;
    char piece[4096];
    if (strcmp(path, "-") == 0) {
        for (size_t n; (n = fread(piece, 1, sizeof piece, stdin)) > 0;) cli_text_bytes(t, piece, n);
        if (ferror(stdin)) return gpuc_fail(GPUC_IO, "reading standard input failed");
    } else {
        GPUC_TRY(gpuc_file_map(path, &file));
        cli_text_bytes(t, file.data, file.size);
        gpuc_file_unmap(&file);
    }
    size_t length = strlen(cli_text_get(t));
    if (length == t->size) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "%s: byte %zu is 0, which no text has", path, length);
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
