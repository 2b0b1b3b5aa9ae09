/* SPDX-License-Identifier: Apache-2.0 */
/* A file -> protobuf -> Relay. */
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"

/* What computing shapes and scales may take while importing. */
enum { MAX_FOLDED_BYTES = 64 << 20, MAX_FOLDED_WORK = 1 << 26 };

static void unmap(void *mapping)
{
    gpuc_file_unmap(mapping);
}

/* protobuf-c's memory comes from the context's allocator, which wants sizes back. */
typedef struct block {
    _Alignas(16) size_t size;
} block;

static void *memory_alloc(void *self, size_t size)
{
    gpuc_onnx_messages *m = self;
    block *b = size <= SIZE_MAX - sizeof *b ? gpuc_mem_alloc(m->allocator, sizeof *b + size) : NULL;
    m->exhausted |= !b;
    if (b) b->size = size;
    return b ? b + 1 : NULL;
}

static void memory_free(void *self, void *p)
{
    gpuc_onnx_messages *m = self;
    block *b = p ? (block *)p - 1 : NULL;
    if (b) gpuc_mem_free(m->allocator, b, sizeof *b + b->size);
}

void gpuc_onnx_free_messages(void *messages)
{
    gpuc_onnx_messages *m = messages;
    gpuc_onnx__model_proto__free_unpacked(m->model, &m->base);
}

int64_t gpuc_onnx_default_opset(gpuc_ctx *ctx, size_t n, Onnx__OperatorSetIdProto *const *list,
                                int64_t otherwise)
{
    int64_t opset = otherwise;
    for (size_t i = 0; i < n; i++)
        if (!*gpuc_onnx_domain(list[i]->domain)) opset = list[i]->version;
    if (opset < 1 || opset > 25)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "the model uses opset %lld; opsets 1 to 25 are supported (onnx.version_converter "
                   "can change it)",
                   (long long)opset);
    return opset;
}

gpuc_onnx_messages *gpuc_onnx_parse(gpuc_ctx *ctx, const char *name, const void *data, size_t size)
{
    GPUC_RAISE_IF(ctx, gpuc_error_prefix(gpuc_onnx_scan(data, size), "%s", name));
    gpuc_onnx_messages *mem = gpuc_new(ctx, gpuc_onnx_messages);
    *mem = (gpuc_onnx_messages){.base = {.alloc = memory_alloc, .free = memory_free, .allocator_data = mem},
                                .allocator = ctx->allocator};
    mem->model = gpuc_onnx__model_proto__unpack(&mem->base, size, data);
    if (!mem->model && mem->exhausted)
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "%s: out of memory for the model", name);
    if (!mem->model) gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model", name);
    return mem;
}

void gpuc_onnx_need_graph(gpuc_ctx *ctx, const gpuc_onnx_messages *messages, const char *name)
{
    if (!messages->model->graph)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model, or cut off: it has no graph", name);
}

/* The lists that an application brings. */
static void check_options(gpuc_ctx *ctx, const gpuc_onnx_options *o)
{
    if (o->num_pins < 0 || (o->num_pins > 0 && !o->pins) || o->num_binds < 0 ||
        (o->num_binds > 0 && !o->binds))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "loading a model: the list of %s is NULL, or has a count below 0",
                   o->num_pins < 0 || (o->num_pins > 0 && !o->pins) ? "pins" : "binds");
    for (int i = 0; i < o->num_pins; i++) {
        const gpuc_shape_pin *p = &o->pins[i];
        if (!p->name || p->ndim < 0 || (!p->dims && (p->is_dim || p->ndim > 0)))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "loading a model: pin %d has no name, or no dims", i);
    }
    for (int i = 0; i < o->num_binds; i++) {
        const gpuc_onnx_bind *b = &o->binds[i];
        if (!b->name || b->ndim < 0 || (!b->dims && b->ndim > 0))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "loading a model: bind %d has no name, or no dims", i);
    }
}

static gpuc_rmodule *convert(gpuc_ctx *ctx, gpuc_onnx_messages *mem, const char *name, const char *dir,
                             const gpuc_onnx_options *options)
{
    static const gpuc_onnx_options defaults = GPUC_ONNX_OPTIONS_INIT;
    gpuc_ctx_push_cleanup(ctx, gpuc_onnx_free_messages, mem);
    if (options) check_options(ctx, options);
    gpuc_onnx_need_graph(ctx, mem, name);
    if (!mem->model->n_opset_import)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: not an ONNX model, or cut off: it names no opset", name);
    gpuc_onnx m = {
        .ctx = ctx,
        .options = options ? options : &defaults,
        .model = mem->model,
        .dir = dir,
        .opset = gpuc_onnx_default_opset(ctx, mem->model->n_opset_import, mem->model->opset_import, 0),
        .budget = {.bytes = MAX_FOLDED_BYTES, .work = MAX_FOLDED_WORK},
        .memory = &mem->base,
    };
    gpuc_map_init(&m.folded, ctx);
    gpuc_map_init(&m.read_sizes, ctx);
    gpuc_map_init(&m.elements, ctx);
    gpuc_strmap_init(&m.values, ctx);
    gpuc_strmap_init(&m.symbols, ctx);
    gpuc_strmap_init(&m.defaults, ctx);
    gpuc_strmap_init(&m.files, ctx);
    gpuc_rmodule *out = gpuc_onnx_graph(&m, mem->model->graph);
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}

gpuc_rmodule *gpuc_onnx_load_bytes(gpuc_ctx *ctx, const void *data, size_t size, const char *name,
                                   const char *dir, const gpuc_onnx_options *options)
{
    return convert(ctx, gpuc_onnx_parse(ctx, name, data, size), name, dir, options);
}

gpuc_onnx_messages *gpuc_onnx_parse_file(gpuc_ctx *ctx, const char *path)
{
    if (!path) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "loading a model: the path is NULL");
    gpuc_mapping *mapping = gpuc_new(ctx, gpuc_mapping);
    GPUC_RAISE_IF(ctx, gpuc_file_map(path, mapping));
    gpuc_ctx_push_cleanup(ctx, unmap, mapping);
    gpuc_onnx_messages *messages = gpuc_onnx_parse(ctx, path, mapping->data, mapping->size);
    gpuc_ctx_pop_cleanup(ctx, true); /* its bytes were copied */
    return messages;
}

gpuc_rmodule *gpuc_onnx_load(gpuc_ctx *ctx, const char *path, const gpuc_onnx_options *options)
{
    gpuc_onnx_messages *mem = gpuc_onnx_parse_file(ctx, path);
    const char *slash = strrchr(path, '/');
    const char *dir = !slash          ? "."
                      : slash == path ? "/"
                                      : gpuc_ctx_printf(ctx, "%.*s", (int)(slash - path), path);
    return convert(ctx, mem, path, dir, options);
}
