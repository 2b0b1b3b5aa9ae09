/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are given when building. */
#ifndef GPUC_CLI_BIND_H
#define GPUC_CLI_BIND_H

#include <gpuc/build.h>

#include "cli.h"
#include "tensor.h"

/* Reads what a model holds; it lives in the context. */
GPUC_NODISCARD gpuc_status cli_onnx_describe(gpuc_ctx *ctx, const char *path,
                                             const gpuc_onnx_description **out);
/* NULL if the model has no input of the name. */
const gpuc_onnx_value *cli_onnx_find_input(const gpuc_onnx_description *m, const char *name);

typedef struct cli_binds {
    gpuc_onnx_bind *at;
    gpuc_host_tensor *tensors; /* what they refer to */
    int count;
} cli_binds;

/* What the options --shape and --bind say of a model's inputs. */
typedef struct cli_fixed {
    gpuc_shape_pin *pins;
    int num_pins;
    cli_binds binds;
} cli_fixed;
GPUC_NODISCARD gpuc_status cli_fix_inputs(cli_runtime *r, const char *model, const cli_shapes *shapes,
                                          const cli_strings *binds, cli_fixed *out);
void cli_fixed_free(cli_fixed *f);

/* The tensor as the value of an input; borrows both. */
gpuc_onnx_bind cli_bind(const char *name, const gpuc_host_tensor *t);

#endif
