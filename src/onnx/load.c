/* SPDX-License-Identifier: Apache-2.0 */
/* A file -> protobuf -> Relay. */
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"

static void unmap(void *mapping)
{
    gpuc_file_unmap(mapping);
}

static void free_model(void *model)
{
    onnx__model_proto__free_unpacked(model, NULL);
}

static int64_t default_opset(gpuc_ctx *ctx, const Onnx__ModelProto *model)
{
    int64_t opset = 0;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = model->opset_import[i];
        if (!o->domain || !*o->domain || !strcmp(o->domain, "ai.onnx")) opset = o->version;
    }
    if (opset < 7 || opset > 25)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "the model uses opset %lld; opsets 7 to 25 are supported (onnx.version_converter "
                   "can change it)", (long long)opset);
    return opset;
}

gpuc_rmodule *gpuc_onnx_load(gpuc_ctx *ctx, const char *path, const gpuc_onnx_options *options)
{
    static const gpuc_onnx_options defaults = {0};
    gpuc_mapping *mapping = gpuc_new(ctx, gpuc_mapping);
    GPUC_RAISE_IF(ctx, gpuc_file_map(path, mapping));
    gpuc_ctx_push_cleanup(ctx, unmap, mapping);
    GPUC_RAISE_IF(ctx, gpuc_error_prefix(gpuc_onnx_scan(mapping->data, mapping->size), "%s", path));
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, mapping->size, mapping->data);
    if (!model) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model", path);
    gpuc_ctx_push_cleanup(ctx, free_model, model);
    if (!model->graph) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model: it has no graph", path);
    const char *slash = strrchr(path, '/');
    gpuc_onnx m = {
        .ctx = ctx,
        .options = options ? options : &defaults,
        .dir = slash ? gpuc_ctx_printf(ctx, "%.*s", (int)(slash - path), path) : ".",
        .opset = default_opset(ctx, model),
    };
    gpuc_strmap_init(&m.values, ctx);
    gpuc_strmap_init(&m.symbols, ctx);
    gpuc_rmodule *out = gpuc_onnx_graph(&m, model->graph);
    gpuc_ctx_pop_cleanup(ctx, true);
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}
