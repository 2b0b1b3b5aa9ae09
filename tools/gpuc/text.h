/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows. Zeros are an empty one; a tool that has no memory for it ends. */
#ifndef GPUC_CLI_TEXT_H
#define GPUC_CLI_TEXT_H

#include <gpuc/base.h>

typedef struct cli_text {
    char *at; /* NULL or 0-terminated */
    size_t size, room;
} cli_text;

void cli_text_add(cli_text *t, const char *text);
void cli_text_bytes(cli_text *t, const void *bytes, size_t size);
void cli_text_printf(cli_text *t, const char *fmt, ...) GPUC_PRINTF(2, 3);
const char *cli_text_get(const cli_text *t); /* never NULL */
/* Adds what the file holds, or standard input, which is "-"; a byte that is 0 is an error. */
GPUC_NODISCARD gpuc_status cli_text_read(cli_text *t, const char *path);
void cli_text_free(cli_text *t); /* it is empty then */

#endif
