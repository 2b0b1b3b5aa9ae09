/* SPDX-License-Identifier: Apache-2.0 */
/* A file -> protobuf -> Relay. */
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"

/* What computing shapes and scales may take while importing. */
enum { MOST_FOLDED_BYTES = 64 << 20, MOST_FOLDED_WORK = 1 << 26 };

static void unmap(void *mapping)
{
    gpuc_file_unmap(mapping);
}

/* protobuf-c's memory comes from the context's allocator, which wants sizes back. */
typedef struct block {
    _Alignas(16) size_t size;
} block;

typedef struct memory {
    ProtobufCAllocator base;
    gpuc_allocator allocator;
    bool exhausted;
    Onnx__ModelProto *model;
} memory;

static void *memory_alloc(void *self, size_t size)
{
    memory *m = self;
    block *b = size <= SIZE_MAX - sizeof *b ? gpuc_mem_alloc(m->allocator, sizeof *b + size) : NULL;
    m->exhausted |= !b;
    if (b) b->size = size;
    return b ? b + 1 : NULL;
}

static void memory_free(void *self, void *p)
{
    memory *m = self;
    block *b = p ? (block *)p - 1 : NULL;
    if (b) gpuc_mem_free(m->allocator, b, sizeof *b + b->size);
}

static void free_model(void *mem)
{
    memory *m = mem;
    onnx__model_proto__free_unpacked(m->model, &m->base);
}

static int64_t default_opset(gpuc_ctx *ctx, const Onnx__ModelProto *model)
{
    int64_t opset = 0;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = model->opset_import[i];
        if (!o->domain || !*o->domain || !strcmp(o->domain, "ai.onnx")) opset = o->version;
    }
    if (!model->n_opset_import)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "not an ONNX model, or cut off: it names no opset");
    if (opset < 7 || opset > 25)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "the model uses opset %lld; opsets 7 to 25 are supported (onnx.version_converter "
                   "can change it)", (long long)opset);
    return opset;
}

gpuc_rmodule *gpuc_onnx_load(gpuc_ctx *ctx, const char *path, const gpuc_onnx_options *options)
{
    static const gpuc_onnx_options defaults = GPUC_ONNX_OPTIONS_INIT;
    gpuc_mapping *mapping = gpuc_new(ctx, gpuc_mapping);
    GPUC_RAISE_IF(ctx, gpuc_file_map(path, mapping));
    gpuc_ctx_push_cleanup(ctx, unmap, mapping);
    GPUC_RAISE_IF(ctx, gpuc_error_prefix(gpuc_onnx_scan(mapping->data, mapping->size), "%s", path));
    memory *mem = gpuc_new(ctx, memory);
    *mem = (memory){.base = {.alloc = memory_alloc, .free = memory_free, .allocator_data = mem}, .allocator = ctx->allocator};
    Onnx__ModelProto *model = onnx__model_proto__unpack(&mem->base, mapping->size, mapping->data);
    if (!model && mem->exhausted) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "%s: out of memory for the model", path);
    if (!model) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model", path);
    mem->model = model;
    gpuc_ctx_pop_cleanup(ctx, true); /* the file: its bytes were copied */
    gpuc_ctx_push_cleanup(ctx, free_model, mem);
    if (!model->graph) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model: it has no graph", path);
    const char *slash = strrchr(path, '/');
    gpuc_onnx m = {
        .ctx = ctx,
        .options = options ? options : &defaults,
        .dir = slash ? gpuc_ctx_printf(ctx, "%.*s", (int)(slash - path), path) : ".",
        .opset = default_opset(ctx, model),
        .budget = {.bytes = MOST_FOLDED_BYTES, .work = MOST_FOLDED_WORK},
        .memory = &mem->base,
    };
    gpuc_map_init(&m.folded, ctx);
    gpuc_strmap_init(&m.values, ctx);
    gpuc_strmap_init(&m.symbols, ctx);
    gpuc_rmodule *out = gpuc_onnx_graph(&m, model->graph);
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}
