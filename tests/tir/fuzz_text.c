/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a function: what parses prints to a text that parses to the same text again, and the validator
 * says something or nothing. Seeds: tests/lower, tests/codegen/golden. */
#include <stdlib.h>
#include <string.h>

#include "../base/limited.h"
#include "base/buf.h"
#include "tir/tir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const char *text;
    gpuc_tir_func *f;
    gpuc_buf first, second;
} input;

static void parse(gpuc_ctx *ctx, void *arg)
{
    input *in = arg;
    in->f = gpuc_tir_parse(ctx, in->text, "fuzz");
}

static void again(gpuc_ctx *ctx, void *arg)
{
    input *in = arg;
    gpuc_tir_print(ctx, &in->first, in->f);
    gpuc_tir_print(ctx, &in->second, gpuc_tir_parse(ctx, gpuc_buf_cstr(&in->first), "printed"));
    if (strcmp(gpuc_buf_cstr(&in->first), gpuc_buf_cstr(&in->second)) != 0) abort();
}

static void validate(gpuc_ctx *ctx, void *arg)
{
    const input *in = arg;
    gpuc_tir_validate(ctx, in->f, "parsing");
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
    input in = {.text = text};
    gpuc_buf_init(&in.first, (gpuc_allocator){0});
    gpuc_buf_init(&in.second, (gpuc_allocator){0});
    gpuc_status status = gpuc_ctx_create(&a, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, parse, &in);
    if (!status) {
        status = gpuc_ctx_protect(ctx, again, &in);
        if (status && gpuc_status_code(status) != GPUC_OUT_OF_MEMORY) abort();
        if (!status) status = gpuc_ctx_protect(ctx, validate, &in);
    }
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    gpuc_buf_deinit(&in.first);
    gpuc_buf_deinit(&in.second);
    free(text);
    if (heap.live) abort();
    return 0;
}
