/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools need to know of a model before it is imported. */
#ifndef GPUC_CLI_ONNX_MODEL_H
#define GPUC_CLI_ONNX_MODEL_H

#include <gpuc/base.h>

typedef struct cli_onnx_input {
    char *name;
    bool is_tensor, has_shape;
    int elem_type;
    int ndim;
    int64_t *dims;      /* -1 where symbolic */
    char **dim_names;   /* "" where fixed or unnamed */
    bool decides_shape; /* it is used, and only by operands of gpuc_onnx_decides_shape */
} cli_onnx_input;

typedef struct cli_onnx_model {
    cli_onnx_input *inputs; /* in the graph's order, without those that are constants */
    int num_inputs, num_outputs;
    bool only_views; /* every node gives the bytes of its operand another shape, if that */
    bool transforms; /* it has a Fourier transform, whose terms cancel */
} cli_onnx_model;

/* with_defaults: inputs that have a default value are listed, too. */
GPUC_NODISCARD gpuc_status cli_onnx_inspect(const char *path, bool with_defaults, cli_onnx_model *out);
void cli_onnx_free(cli_onnx_model *m);
/* NULL if the model has no input of the name. */
cli_onnx_input *cli_onnx_find_input(const cli_onnx_model *m, const char *name);
/* The error for a name that an option gives, with the inputs there are, and symbolic dimensions where they
 * would do. */
GPUC_NODISCARD gpuc_status cli_onnx_unknown_name(const cli_onnx_model *m, const char *option,
                                                 const char *name, bool dims_too);

#endif
