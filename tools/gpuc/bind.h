/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are given when building. */
#ifndef GPUC_CLI_BIND_H
#define GPUC_CLI_BIND_H

#include <gpuc/build.h>

#include "cli.h"
#include "onnx_model.h"
#include "tensor_files/tensor.h"

typedef struct cli_binds {
    gpuc_onnx_bind *at;
    cli_tensor *tensors; /* what they refer to */
    int count;
} cli_binds;

/* Reads the files of a list of NAME=FILE. The names must be those of inputs. */
GPUC_NODISCARD gpuc_status cli_binds_load(const cli_onnx_model *m, const cli_strings *texts, cli_binds *out);
void cli_binds_free(cli_binds *binds);

/* What the options --shape and --bind say of a model's inputs. */
typedef struct cli_fixed {
    gpuc_shape_pin *pins;
    int num_pins;
    cli_binds binds;
} cli_fixed;
GPUC_NODISCARD gpuc_status cli_fix_inputs(const char *model, const cli_shapes *shapes,
                                          const cli_strings *binds, cli_fixed *out);
void cli_fixed_free(cli_fixed *f);

/* The tensor as the value of an input; borrows both. */
gpuc_onnx_bind cli_bind(const char *name, const cli_tensor *t);

#endif
