/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc run --interpret: a Relay program in the interpreter. */
#ifndef GPUC_CLI_INTERPRET_H
#define GPUC_CLI_INTERPRET_H

#include "cli.h"

typedef struct cli_interpret {
    const char *program, *entry;
    const cli_strings *inputs; /* NAME=FILE, of .json, .npy or .pb */
    const char *output;        /* folder, or NULL */
    uint64_t memory;           /* bytes that values may take; 0: the default */
} cli_interpret;

/* Prints the result as JSON, and writes it to the folder. */
GPUC_NODISCARD gpuc_status cli_interpret_run(const cli_interpret *o);

#endif
