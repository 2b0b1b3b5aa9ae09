/* SPDX-License-Identifier: Apache-2.0 */
/* Imports of models that tests write. */
#ifndef GPUC_TESTS_ONNX_LOAD_H
#define GPUC_TESTS_ONNX_LOAD_H

#include "onnx/onnx.h"
#include "writer.h"

/* Imports a finished file, and frees it. Files that it names lie in dir. */
gpuc_rmodule *wr_load(gpuc_ctx *ctx, gpuc_buf *file, const char *dir, const gpuc_onnx_options *options);
/* The same with the extents that the model names kept open. */
gpuc_rmodule *wr_load_open(gpuc_ctx *ctx, gpuc_buf *file);

#endif
