/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of protobuf messages. */
#include "tensor_files/wire.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

uint64_t cli_wire_varint(cli_wire *w)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (w->at == w->end) break;
        uint8_t b = *w->at++;
        if (shift < 64) v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return v;
    }
    w->failed = true;
    return 0;
}

static cli_wire take(cli_wire *w, uint64_t size)
{
    cli_wire out = {w->at, w->at, false};
    if (size > (uint64_t)(w->end - w->at)) {
        w->failed = true;
        return out;
    }
    out.end = w->at += size;
    return out;
}

bool cli_wire_next(cli_wire *w, cli_wire_field *out)
{
    if (w->failed || w->at == w->end) return false;
    uint64_t tag = cli_wire_varint(w);
    *out = (cli_wire_field){.number = (uint32_t)(tag >> 3), .type = (cli_wire_type)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 32) w->failed = true;
    switch (tag & 7) {
    case CLI_WIRE_VARINT: out->value = cli_wire_varint(w); break;
    case CLI_WIRE_64: out->bytes = take(w, 8); break;
    case CLI_WIRE_32: out->bytes = take(w, 4); break;
    case CLI_WIRE_BYTES: out->bytes = take(w, cli_wire_varint(w)); break;
    default: w->failed = true;
    }
    if (out->type != CLI_WIRE_VARINT && !w->failed && out->type != CLI_WIRE_BYTES)
        memcpy(&out->value, out->bytes.at, out->type == CLI_WIRE_64 ? 8 : 4); /* little-endian */
    return !w->failed;
}

char *cli_wire_string(cli_wire bytes)
{
    size_t n = (size_t)(bytes.end - bytes.at);
    char *text = cli_alloc(n + 1);
    if (n) memcpy(text, bytes.at, n);
    return text;
}
