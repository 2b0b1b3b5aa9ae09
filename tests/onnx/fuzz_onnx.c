/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model: described, imported and, when that works, optimised. Must not crash, leak or run away. Seeds:
 * corpus.tar.xz, and the models of the ONNX backend tests. */
#include <stdlib.h>

#include "../base/limited.h"
#include "onnx/onnx.h"
#include "relay_pass/passes.h"

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static void run(gpuc_ctx *ctx, void *arg)
{
    const input *in = arg;
    gpuc_onnx_options o = GPUC_ONNX_OPTIONS_INIT;
    gpuc_onnx_describe_messages(ctx, gpuc_onnx_parse(ctx, "fuzz", in->data, in->size), "fuzz");
    gpuc_rmodule *m = gpuc_onnx_load_bytes(ctx, in->data, in->size, "fuzz", "/nonexistent", &o);
    gpuc_relay_pass_ctx p = {.ctx = ctx, .module = m, .opt_level = 3, .fold_limit = 1 << 20};
    p.budget = (gpuc_relay_budget){.bytes = 1 << 20, .work = 1 << 14};
    gpuc_relay_pass_optimize(&p);
    p.target = gpuc_target_parse(ctx, "vulkan", NULL);
    gpuc_relay_pass_optimize_for_target(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limited heap = {.max = (size_t)512 << 20};
    gpuc_allocator a = {.resize = limited_resize, .user = &heap};
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(&a, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, run, &(input){data, size});
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    if (heap.live) abort();
    return 0;
}
