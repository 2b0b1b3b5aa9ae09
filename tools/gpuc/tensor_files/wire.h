/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of protocol buffers, as far as the tools read ONNX files themselves: tensors, and
 * what there is to know of a model before it is imported (onnx_model.h). */
#ifndef GPUC_CLI_WIRE_H
#define GPUC_CLI_WIRE_H

#include <gpuc/base.h>

typedef struct cli_wire {
    const uint8_t *at, *end;
    bool failed; /* cut off, or a wire type that there is none of */
} cli_wire;

typedef enum cli_wire_type {
    CLI_WIRE_VARINT = 0,
    CLI_WIRE_64 = 1,
    CLI_WIRE_BYTES = 2,
    CLI_WIRE_32 = 5
} cli_wire_type;

/* A field's number, type, and value: the number for the scalar types, else the bytes. */
typedef struct cli_wire_field {
    uint32_t number;
    cli_wire_type type;
    uint64_t value;
    cli_wire bytes;
} cli_wire_field;

/* The next field; false at the end and after a failure. */
bool cli_wire_next(cli_wire *w, cli_wire_field *out);
uint64_t cli_wire_varint(cli_wire *w);
char *cli_wire_string(cli_wire bytes); /* from cli_alloc */

#endif
