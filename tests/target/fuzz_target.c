/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a target, short or JSON: what parses prints to a text that is the same target again. */
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(gpuc_ctx *ctx, void *arg)
{
    const gpuc_target *t = gpuc_target_parse(ctx, arg, NULL);
    const char *text = gpuc_target_text(ctx, t), *json = gpuc_target_json(ctx, t);
    const gpuc_target *from_text = gpuc_target_parse(ctx, text, NULL);
    if (!gpuc_target_equal(t, from_text) || !gpuc_target_equal(t, gpuc_target_parse(ctx, json, NULL))) abort();
    if (strcmp(text, gpuc_target_text(ctx, from_text)) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gpuc_ctx *ctx = NULL;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, parse, text);
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    free(text);
    return 0;
}
