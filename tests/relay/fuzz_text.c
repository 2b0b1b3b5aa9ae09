/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a program: what is wrong with it is said with its place; what parses is valid, prints to a text that parses, has
 * the same types, and prints the same; and so does a copy of all of its nodes. Seeds: tests/relay/corpus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/limited.h"
#include "base/buf.h"
#include "copy.h"
#include "relay/relay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ALL = GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_CONSTANTS | GPUC_RELAY_PRINT_TYPES };

typedef struct input {
    const char *text, *origin, *printed;
    gpuc_rmodule *m;
} input;

static void parse(gpuc_ctx *ctx, void *arg)
{
    input *in = arg;
    in->m = gpuc_relay_parse(ctx, in->text, in->origin, NULL);
}

static void print(gpuc_ctx *ctx, void *arg)
{
    input *in = arg;
    in->printed = gpuc_relay_text(ctx, in->m, ALL);
}

static void validate(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_validate_given(ctx, ((input *)arg)->m);
}

static void copy(gpuc_ctx *ctx, void *arg)
{
    input *in = arg;
    in->m = copy_of(in->m);
    in->printed = gpuc_relay_text(ctx, in->m, ALL);
}

/* Raises what bounds an input's size, and those alone. */
static bool is_bound(const gpuc_status status)
{
    return gpuc_status_code(status) == GPUC_OUT_OF_MEMORY;
}

static void wrong(const char *what, const char *text, const char *more)
{
    fprintf(stderr, "%s\n%s\n%s\n", what, text, more);
    abort();
}

static void run(gpuc_ctx *ctx, const char *text)
{
    input first = {.text = text, .origin = "fuzz"}, second = {.origin = "printed"};
    gpuc_status status = gpuc_ctx_protect(ctx, parse, &first);
    if (status && strncmp(gpuc_status_message(status), "fuzz:", 5) != 0 && !is_bound(status))
        wrong("the message has no place", text, gpuc_status_message(status));
    if (!status) {
        status = gpuc_ctx_protect(ctx, print, &first);
        if (status && !is_bound(status)) wrong("not printed", text, gpuc_status_message(status));
    }
    if (!status) status = gpuc_ctx_protect(ctx, validate, &first);
    if (status && first.m && !is_bound(status)) wrong("not valid", text, gpuc_status_message(status));
    input whole = first;
    if (!status) status = gpuc_ctx_protect(ctx, copy, &whole);
    if (status && first.m && !is_bound(status)) wrong("not copied", text, gpuc_status_message(status));
    if (!status && strcmp(first.printed, whole.printed) != 0)
        wrong("the copy has another text", first.printed, whole.printed);
    if (!status) {
        second.text = first.printed;
        status = gpuc_ctx_protect(ctx, parse, &second);
        if (!status) status = gpuc_ctx_protect(ctx, print, &second);
        if (status && !is_bound(status))
            wrong("the printed text is wrong", first.printed, gpuc_status_message(status));
        if (!status && strcmp(first.printed, second.printed) != 0)
            wrong("another text", first.printed, second.printed);
    }
    gpuc_status_release(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limited heap = {.max = (size_t)256 << 20};
    gpuc_allocator a = {.resize = limited_resize, .user = &heap};
    gpuc_ctx *ctx = NULL;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    gpuc_status status = gpuc_ctx_create(&a, &ctx);
    if (!status) run(ctx, text);
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    free(text);
    if (heap.live) wrong("memory is left", "", "");
    return 0;
}
