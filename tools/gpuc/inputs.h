/* SPDX-License-Identifier: Apache-2.0 */
/* Where the inputs of a run come from. */
#ifndef GPUC_CLI_INPUTS_H
#define GPUC_CLI_INPUTS_H

#include "cli.h"
#include "tensor.h"

typedef struct cli_input_options {
    cli_strings files; /* NAME=FILE */
    const char *from;  /* a folder or an .npz; NULL: none */
    bool random;
    uint64_t seed;
    cli_shapes shapes; /* for random inputs with symbolic dims */
} cli_input_options;

/* The options of commands that take inputs, and what reads them: true if key was one of them. */
enum { CLI_INPUTS = 2 * CLI_LONG, CLI_RANDOM, CLI_SHAPE };
#define CLI_INPUT_OPTIONS                                                                                    \
    {"input", 'i', "NAME=FILE", "an input from a .npy or a .pb file (ONNX TensorProto); repeatable"},        \
        {"inputs", CLI_INPUTS, "DIR|X.npz",                                                                  \
         "inputs from files or members that are named <input>.npy or input_J.npy (.pb)"},                    \
        {"random", CLI_RANDOM, "SEED", "fill inputs that no file gives with random numbers"},                \
    {                                                                                                        \
        "shape", CLI_SHAPE, "NAME=DIMS", "shape of a random input with symbolic dimensions; repeatable"      \
    }
bool cli_inputs_option(const cli_command *c, int key, const char *value, cli_input_options *options);

/* One tensor per input of the model, checked against it. *out from cli_alloc, also on failure; free
 * with cli_inputs_free. */
GPUC_NODISCARD gpuc_status cli_inputs_gather(gpuc_model *model, const cli_input_options *options,
                                             gpuc_host_tensor **out);
/* New random numbers in tensors of the model's types. */
GPUC_NODISCARD gpuc_status cli_inputs_random(gpuc_model *model, const cli_shapes *shapes, uint64_t seed,
                                             gpuc_host_tensor **out);
void cli_inputs_free(gpuc_host_tensor *inputs, int count);
/* "float32[1,3,224,224]". The caller frees it. */
char *cli_info_text(const gpuc_tensor_info *info);

#endif
