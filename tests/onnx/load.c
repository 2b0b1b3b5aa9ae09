/* SPDX-License-Identifier: Apache-2.0 */
/* Imports what the writer wrote. */
#include "load.h"

gpuc_rmodule *wr_load(gpuc_ctx *ctx, gpuc_buf *file, const char *dir, const gpuc_onnx_options *options)
{
    void *copy = gpuc_ctx_memdup(ctx, file->data, file->size);
    size_t size = file->size;
    gpuc_buf_deinit(file);
    return gpuc_onnx_load_bytes(ctx, copy, size, "test.onnx", dir, options);
}

gpuc_rmodule *wr_load_open(gpuc_ctx *ctx, gpuc_buf *file)
{
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.keep_symbolic = true;
    return wr_load(ctx, file, ".", &options);
}
