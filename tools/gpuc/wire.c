/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
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

/* ---- Models: field numbers of onnx.proto ---- */

enum {
    MODEL_GRAPH = 7,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    TENSOR_NAME = 8,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEM = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,
};

static bool read_dim(cli_wire w, cli_onnx_input *in)
{
    in->dims = cli_grow(in->dims, (size_t)in->ndim, sizeof *in->dims);
    in->dim_names = cli_grow(in->dim_names, (size_t)in->ndim, sizeof *in->dim_names);
    int64_t value = -1;
    char *name = NULL;
    for (cli_wire_field f; cli_wire_next(&w, &f);) {
        if (f.number == DIM_VALUE && f.type == CLI_WIRE_VARINT) value = (int64_t)f.value;
        if (f.number == DIM_PARAM && f.type == CLI_WIRE_BYTES) {
            free(name);
            name = cli_wire_string(f.bytes);
        }
    }
    in->dims[in->ndim] = value >= 0 ? value : -1;
    in->dim_names[in->ndim++] = name ? name : cli_printf("%s", "");
    return !w.failed;
}

static bool read_shape(cli_wire w, cli_onnx_input *in)
{
    in->has_shape = true;
    for (cli_wire_field f; cli_wire_next(&w, &f);)
        if (f.number == SHAPE_DIM && f.type == CLI_WIRE_BYTES && !read_dim(f.bytes, in)) return false;
    return !w.failed;
}

static bool read_type(cli_wire w, cli_onnx_input *in)
{
    for (cli_wire_field f; cli_wire_next(&w, &f);) {
        if (f.number != TYPE_TENSOR || f.type != CLI_WIRE_BYTES) continue;
        in->is_tensor = true;
        cli_wire t = f.bytes;
        for (cli_wire_field g; cli_wire_next(&t, &g);) {
            if (g.number == TENSOR_TYPE_ELEM && g.type == CLI_WIRE_VARINT) in->elem_type = (int)g.value;
            if (g.number == TENSOR_TYPE_SHAPE && g.type == CLI_WIRE_BYTES && !read_shape(g.bytes, in))
                return false;
        }
        if (t.failed) return false;
    }
    return !w.failed;
}

static bool read_input(cli_wire w, cli_onnx_input *in)
{
    for (cli_wire_field f; cli_wire_next(&w, &f);) {
        if (f.type != CLI_WIRE_BYTES) continue;
        if (f.number == VALUE_NAME) {
            free(in->name);
            in->name = cli_wire_string(f.bytes);
        }
        if (f.number == VALUE_TYPE && !read_type(f.bytes, in)) return false;
    }
    return !w.failed;
}

static void free_input(cli_onnx_input *in)
{
    for (int i = 0; i < in->ndim; i++) free(in->dim_names[i]);
    free(in->dim_names);
    free(in->dims);
    free(in->name);
}

/* Older models list their initializers as inputs, too. */
static void drop_input(cli_onnx_model *m, const char *name)
{
    for (int i = 0; i < m->num_inputs; i++) {
        if (!m->inputs[i].name || strcmp(m->inputs[i].name, name) != 0) continue;
        free_input(&m->inputs[i]);
        memmove(&m->inputs[i], &m->inputs[i + 1], (size_t)(--m->num_inputs - i) * sizeof *m->inputs);
        return;
    }
}

static bool drop_initializer(cli_wire w, cli_onnx_model *m)
{
    for (cli_wire_field f; cli_wire_next(&w, &f);) {
        if (f.number != TENSOR_NAME || f.type != CLI_WIRE_BYTES) continue;
        char *name = cli_wire_string(f.bytes);
        drop_input(m, name);
        free(name);
    }
    return !w.failed;
}

static bool read_graph(cli_wire w, cli_onnx_model *m)
{
    cli_wire again = w;
    for (cli_wire_field f; cli_wire_next(&w, &f);) {
        if (f.type != CLI_WIRE_BYTES) continue;
        if (f.number == GRAPH_OUTPUT) m->num_outputs++;
        if (f.number != GRAPH_INPUT) continue;
        int room = m->num_inputs++;
        m->inputs = cli_grow(m->inputs, (size_t)room, sizeof *m->inputs);
        m->inputs[room] = (cli_onnx_input){0};
        if (!read_input(f.bytes, &m->inputs[room])) return false;
        if (!m->inputs[room].name) m->inputs[room].name = cli_printf("%s", "");
    }
    if (w.failed) return false;
    for (cli_wire_field f; cli_wire_next(&again, &f);)
        if (f.number == GRAPH_INITIALIZER && f.type == CLI_WIRE_BYTES && !drop_initializer(f.bytes, m))
            return false;
    return true;
}

gpuc_status cli_onnx_inspect(const char *path, cli_onnx_model *out)
{
    *out = (cli_onnx_model){0};
    gpuc_mapping map;
    GPUC_TRY(gpuc_file_map(path, &map));
    cli_wire w = {map.data, map.data + map.size, false};
    bool graph = false, whole = true;
    for (cli_wire_field f; whole && cli_wire_next(&w, &f);)
        if (f.number == MODEL_GRAPH && f.type == CLI_WIRE_BYTES && !graph) {
            graph = true;
            whole = read_graph(f.bytes, out);
        }
    gpuc_file_unmap(&map);
    if (graph && whole && !w.failed) return NULL;
    cli_onnx_free(out);
    return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a whole ONNX model", path);
}

void cli_onnx_free(cli_onnx_model *m)
{
    for (int i = 0; i < m->num_inputs; i++) free_input(&m->inputs[i]);
    free(m->inputs);
    *m = (cli_onnx_model){0};
}
