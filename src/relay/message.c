/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with the place in the text: file, line, column, then the line with a caret below. */
#include <string.h>

#include "relay/infer.h"

enum { LONGEST = 160 };

char *gpuc_relay_located(gpuc_ctx *ctx, gpuc_relay_span span, const char *message)
{
    if (!span.text) return gpuc_ctx_strdup(ctx, message);
    const char *at = span.text->text;
    for (uint32_t line = 1; line < span.line; line++) {
        const char *end = strchr(at, '\n');
        if (!end) break;
        at = end + 1;
    }
    size_t length = strcspn(at, "\r\n"), column = span.column - 1, skip = 0;
    if (column > LONGEST / 2) skip = column - LONGEST / 2; /* a part of a long line */
    if (skip > length) skip = length;
    if (length - skip > LONGEST) length = skip + LONGEST;
    char *pad = gpuc_ctx_alloc(ctx, column - skip + 1);
    for (size_t i = skip; i < column; i++) pad[i - skip] = i < length && at[i] == '\t' ? '\t' : ' ';
    return gpuc_ctx_printf(ctx, "%s:%u:%u: %s\n%.*s\n%s^", span.text->name, span.line, span.column, message,
                           (int)(length - skip), at + skip, pad);
}
