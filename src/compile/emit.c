/* SPDX-License-Identifier: Apache-2.0 */
/* --emit: a program's parts as separate files, for reading. graph.json is TVM's graph executor form. */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/file.h"
#include "compile/program.h"

static void delete_json(void *json)
{
    cJSON_Delete(json);
}

typedef struct entry {
    uint32_t node, index;
} entry;

static cJSON *entry_json(entry e)
{
    cJSON *a = cJSON_CreateArray();
    cJSON_AddItemToArray(a, cJSON_CreateNumber(e.node));
    cJSON_AddItemToArray(a, cJSON_CreateNumber(e.index));
    cJSON_AddItemToArray(a, cJSON_CreateNumber(0));
    return a;
}

static cJSON *null_node(cJSON *nodes, const char *name)
{
    cJSON *n = cJSON_CreateObject();
    cJSON_AddStringToObject(n, "op", "null");
    cJSON_AddStringToObject(n, "name", name);
    cJSON_AddItemToObject(n, "inputs", cJSON_CreateArray());
    cJSON_AddItemToArray(nodes, n);
    return n;
}

static cJSON *op_node(gpuc_ctx *ctx, gpuc_graph *g, cJSON *nodes, const gpuc_graph_node *node,
                      const entry *entries)
{
    const char *func = !strcmp(node->name, "__copy") ? "__copy"
                       : node->function == GPUC_NO_INDEX
                           ? "__nop"
                           : ((gpuc_graph_function *)g->functions.at[node->function])->name;
    cJSON *n = cJSON_CreateObject();
    cJSON_AddStringToObject(n, "op", "tvm_op");
    cJSON_AddStringToObject(n, "name", node->name);
    cJSON *attrs = cJSON_AddObjectToObject(n, "attrs");
    cJSON_AddStringToObject(attrs, "func_name", func);
    cJSON_AddStringToObject(attrs, "num_inputs", gpuc_ctx_printf(ctx, "%d", node->num_inputs));
    cJSON_AddStringToObject(attrs, "num_outputs", gpuc_ctx_printf(ctx, "%d", node->num_outputs));
    cJSON_AddStringToObject(attrs, "flatten_data", "0");
    cJSON *inputs = cJSON_AddArrayToObject(n, "inputs");
    for (int i = 0; i < node->num_inputs; i++)
        cJSON_AddItemToArray(inputs, entry_json(entries[node->values[i]]));
    cJSON_AddItemToArray(nodes, n);
    return n;
}

static cJSON *typed_list(const char *type, cJSON *list)
{
    cJSON *pair = cJSON_CreateArray();
    cJSON_AddItemToArray(pair, cJSON_CreateString(type));
    cJSON_AddItemToArray(pair, list);
    return pair;
}

char *gpuc_compile_graph_json(gpuc_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    cJSON *root = cJSON_CreateObject();
    gpuc_ctx_push_cleanup(ctx, delete_json, root);
    cJSON *nodes = cJSON_AddArrayToObject(root, "nodes"), *args = cJSON_AddArrayToObject(root, "arg_nodes");
    cJSON *heads = cJSON_AddArrayToObject(root, "heads");
    entry *entries = gpuc_new_array(ctx, entry, g->values.count);
    uint32_t *by_entry =
        gpuc_new_array(ctx, uint32_t, g->values.count); /* value of each entry, in node order */
    double *row = gpuc_new_array(ctx, double, g->values.count + g->nodes.count + 1);
    uint32_t num_nodes = 0, num_entries = 0;
    for (uint32_t v = 0; v < g->values.count; v++) {
        const gpuc_graph_value *value = g->values.at[v];
        bool weight = false;
        for (size_t i = 0; i < g->weights.count && !weight; i++)
            weight = ((gpuc_graph_weight *)g->weights.at[i])->value == v;
        if (value->storage->kind != GPUC_SLOT_INPUT && !weight) continue;
        if (value->storage->kind == GPUC_SLOT_INPUT && value != g->inputs.at[value->storage->index]) continue;
        null_node(nodes, value->name);
        cJSON_AddItemToArray(args, cJSON_CreateNumber(num_nodes));
        entries[v] = (entry){num_nodes++, 0};
        row[num_nodes - 1] = num_entries;
        by_entry[num_entries++] = v;
    }
    for (size_t i = 0; i < g->nodes.count; i++) {
        const gpuc_graph_node *node = g->nodes.at[i];
        op_node(ctx, g, nodes, node, entries);
        row[num_nodes] = num_entries;
        for (int k = 0; k < node->num_outputs; k++) {
            uint32_t v = node->values[node->num_inputs + k];
            entries[v] = (entry){num_nodes, (uint32_t)k};
            by_entry[num_entries++] = v;
        }
        num_nodes++;
    }
    row[num_nodes] = num_entries;
    for (size_t i = 0; i < g->outputs.count; i++)
        for (uint32_t v = 0; v < g->values.count; v++)
            if (g->values.at[v] == g->outputs.at[i]) cJSON_AddItemToArray(heads, entry_json(entries[v]));
    cJSON_AddItemToObject(root, "node_row_ptr", cJSON_CreateDoubleArray(row, (int)num_nodes + 1));
    cJSON *types = cJSON_CreateArray(), *devices = cJSON_CreateArray(), *ids = cJSON_CreateArray();
    cJSON *shapes = cJSON_CreateArray();
    for (uint32_t i = 0; i < num_entries; i++) {
        const gpuc_graph_value *v = g->values.at[by_entry[i]];
        const gpuc_tensor_type *t = &v->type->tensor;
        char name[24];
        cJSON_AddItemToArray(types, cJSON_CreateString(gpuc_dtype_name(t->dtype, name)));
        cJSON_AddItemToArray(
            devices, cJSON_CreateNumber(gpuc_target_device_type(gpuc_graph_target(g, v->storage->device))));
        cJSON_AddItemToArray(ids, cJSON_CreateNumber(v->storage->slot));
        cJSON *shape = cJSON_CreateArray();
        for (int k = 0; k < t->ndim; k++) {
            int64_t d = -1;
            gpuc_expr_is_int(t->dims[k], &d);
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)d));
        }
        cJSON_AddItemToArray(shapes, shape);
    }
    cJSON *attrs = cJSON_AddObjectToObject(root, "attrs");
    cJSON_AddItemToObject(attrs, "dltype", typed_list("list_str", types));
    cJSON_AddItemToObject(attrs, "device_index", typed_list("list_int", devices));
    cJSON_AddItemToObject(attrs, "storage_id", typed_list("list_int", ids));
    cJSON_AddItemToObject(attrs, "shape", typed_list("list_shape", shapes));
    char *printed = cJSON_Print(root);
    char *text = printed ? gpuc_ctx_printf(ctx, "%s\n", printed) : NULL;
    cJSON_free(printed);
    gpuc_ctx_pop_cleanup(ctx, true);
    if (!text) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for the graph's JSON");
    return text;
}

static void put(gpuc_ctx *ctx, const char *dir, const char *name, const void *bytes, size_t size)
{
    GPUC_RAISE_IF(ctx, gpuc_file_put(ctx->pending, gpuc_ctx_printf(ctx, "%s/%s", dir, name), bytes, size));
}

static void put_params(gpuc_ctx *ctx, const char *dir, const gpuc_program *p)
{
    gpuc_file_writer *file;
    GPUC_RAISE_IF(
        ctx, gpuc_file_create(ctx->pending, ctx->allocator, gpuc_ctx_printf(ctx, "%s/params", dir), &file));
    gpuc_status status = gpuc_abi_program_write_weights(p, file);
    if (status)
        gpuc_file_abandon(file);
    else
        status = gpuc_file_commit(file);
    GPUC_RAISE_IF(ctx, status);
}

void gpuc_compile_emit_program(gpuc_ctx *ctx, const gpuc_built_program *p, const char *dir)
{
    GPUC_RAISE_IF(ctx, gpuc_dir_make(dir));
    const char *json = gpuc_compile_graph_json(p->graph);
    put(ctx, dir, "graph.json", json, strlen(json));
    put_params(ctx, dir, &p->program);
    for (int i = 0; i < p->linked.num_files; i++)
        put(ctx, dir, p->linked.file_names[i], p->linked.files[i].bytes, p->linked.files[i].size);
}
