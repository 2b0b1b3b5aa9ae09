/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the inputs and symbolic dimensions of an ONNX model, without the compiler. */
#include "onnx_model.h"

#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli.h"
#include "tensor_files/wire.h"

/* Field numbers of onnx.proto. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_GRAPHS = 11,
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

/* Models before IR version 4 list their initializers as inputs, too; later they are inputs with a default. */
enum { FIRST_WITH_DEFAULTS = 4 };

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

cli_onnx_input *cli_onnx_find_input(const cli_onnx_model *m, const char *name)
{
    for (int i = 0; i < m->num_inputs; i++)
        if (strcmp(m->inputs[i].name, name) == 0) return &m->inputs[i];
    return NULL;
}

gpuc_status cli_onnx_unknown_name(const cli_onnx_model *m, const char *option, const char *name,
                                  bool dims_too)
{
    const char **names = NULL;
    size_t count = 0;
    gpuc_buf list;
    gpuc_buf_init(&list, (gpuc_allocator){0});
    for (int i = 0; i < m->num_inputs; i++) {
        char *dims =
            cli_dims_text(m->inputs[i].ndim, m->inputs[i].dims, (const char *const *)m->inputs[i].dim_names);
        gpuc_buf_printf(&list, "%s%s[%s]", i ? ", " : "", m->inputs[i].name, dims);
        free(dims);
        names = cli_grow(names, count, sizeof *names);
        names[count++] = m->inputs[i].name;
        for (int d = 0; dims_too && d < m->inputs[i].ndim; d++) {
            names = cli_grow(names, count, sizeof *names);
            names[count++] = m->inputs[i].dim_names[d];
        }
    }
    const char *near = gpuc_suggest(name, names, count);
    gpuc_status status =
        gpuc_fail(GPUC_INVALID_ARGUMENT, "%s names '%s', which is no input%s%s%s%s; the inputs are %s",
                  option, name, dims_too ? " and no symbolic dimension" : "", near ? "; did you mean '" : "",
                  near ? near : "", near ? "'?" : "", count ? gpuc_buf_cstr(&list) : "none");
    gpuc_buf_deinit(&list);
    free(names);
    return status;
}

/* ---- What nodes do with the inputs ---- */

enum { MOST_NESTING = 64 };

typedef struct uses {
    cli_onnx_model *m;
    bool *shape, *other; /* by input */
} uses;

static bool is_one_of(const char *op_type, const char *const *names)
{
    while (*names && strcmp(*names, op_type) != 0) names++;
    return *names;
}

static void add_use(uses *u, const char *name, bool shape)
{
    const cli_onnx_input *in = cli_onnx_find_input(u->m, name);
    if (in) (shape ? u->shape : u->other)[in - u->m->inputs] = true;
}

static bool read_nodes(cli_wire graph, uses *u, int depth);

static bool read_attribute(cli_wire w, uses *u, int depth)
{
    for (cli_wire_field f; cli_wire_next(&w, &f);) {
        bool graph = f.number == ATTRIBUTE_GRAPH || f.number == ATTRIBUTE_GRAPHS;
        if (graph && f.type == CLI_WIRE_BYTES && !read_nodes(f.bytes, u, depth + 1)) return false;
    }
    return !w.failed;
}

static bool read_node(cli_wire w, uses *u, int depth)
{
    char *op = NULL, *domain = NULL;
    cli_wire again = w;
    bool whole = true;
    for (cli_wire_field f; whole && cli_wire_next(&w, &f);) {
        if (f.type != CLI_WIRE_BYTES) continue;
        char **text = f.number == NODE_OP ? &op : f.number == NODE_DOMAIN ? &domain : NULL;
        if (text) {
            free(*text);
            *text = cli_wire_string(f.bytes);
        }
        if (f.number == NODE_ATTRIBUTE) whole = read_attribute(f.bytes, u, depth);
    }
    bool standard = op && (!domain || !*domain || strcmp(domain, "ai.onnx") == 0);
    static const char *const views[] = {"Constant", "Flatten",   "Identity", "Reshape",
                                        "Squeeze",  "Unsqueeze", NULL};
    static const char *const transforms[] = {"DFT", "STFT", NULL};
    if (!standard || !is_one_of(op, views)) u->m->only_views = false;
    if (standard && is_one_of(op, transforms)) u->m->transforms = true;
    int number = 0;
    for (cli_wire_field f; whole && cli_wire_next(&again, &f);) {
        if (f.number != NODE_INPUT || f.type != CLI_WIRE_BYTES) continue;
        char *name = cli_wire_string(f.bytes);
        add_use(u, name, standard && gpuc_onnx_decides_shape(op, number));
        number++;
        free(name);
    }
    free(op);
    free(domain);
    return whole && !w.failed;
}

/* Nodes of inner graphs see the names of outer ones. */
static bool read_nodes(cli_wire graph, uses *u, int depth)
{
    if (depth > MOST_NESTING) return false;
    for (cli_wire_field f; cli_wire_next(&graph, &f);) {
        if (f.type != CLI_WIRE_BYTES) continue;
        if (f.number == GRAPH_NODE && !read_node(f.bytes, u, depth)) return false;
        if (f.number != GRAPH_OUTPUT) continue;
        cli_onnx_input out = {0};
        bool whole = read_input(f.bytes, &out);
        if (out.name) add_use(u, out.name, false);
        free_input(&out);
        if (!whole) return false;
    }
    return !graph.failed;
}

static bool read_uses(cli_wire graph, cli_onnx_model *m)
{
    size_t n = (size_t)m->num_inputs + 1;
    uses u = {.m = m, .shape = cli_alloc(n), .other = cli_alloc(n)};
    m->only_views = true;
    bool whole = read_nodes(graph, &u, 0);
    for (int i = 0; i < m->num_inputs; i++) m->inputs[i].decides_shape = u.shape[i] && !u.other[i];
    free(u.shape);
    free(u.other);
    return whole;
}

static bool read_graph(cli_wire w, bool drop, cli_onnx_model *m)
{
    const cli_wire graph = w;
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
    for (cli_wire_field f; drop && cli_wire_next(&again, &f);)
        if (f.number == GRAPH_INITIALIZER && f.type == CLI_WIRE_BYTES && !drop_initializer(f.bytes, m))
            return false;
    return read_uses(graph, m);
}

gpuc_status cli_onnx_inspect(const char *path, bool with_defaults, cli_onnx_model *out)
{
    *out = (cli_onnx_model){0};
    gpuc_mapping map;
    GPUC_TRY(gpuc_file_map(path, &map));
    cli_wire w = {map.data, map.data + map.size, false};
    bool graph = false, whole = true;
    int64_t ir_version = 0;
    cli_wire versions = w;
    for (cli_wire_field f; cli_wire_next(&versions, &f);)
        if (f.number == MODEL_IR_VERSION && f.type == CLI_WIRE_VARINT) ir_version = (int64_t)f.value;
    for (cli_wire_field f; whole && cli_wire_next(&w, &f);)
        if (f.number == MODEL_GRAPH && f.type == CLI_WIRE_BYTES && !graph) {
            graph = true;
            whole = read_graph(f.bytes, !with_defaults || ir_version < FIRST_WITH_DEFAULTS, out);
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
