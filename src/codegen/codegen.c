/* SPDX-License-Identifier: Apache-2.0 */
/* The table of generators, and the metadata that they all write the same way. */
#include "codegen/codegen.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "codegen/lanes.h"

static const gpuc_codegen *const generators[GPUC_TARGET_KIND_COUNT] = {
#define GPUC_TARGET_KIND(id, name, generator, ...) [GPUC_TARGET_##id] = &gpuc_codegen_##generator,
#include "target/kinds.def"
#undef GPUC_TARGET_KIND
};

const gpuc_codegen *gpuc_codegen_get(gpuc_ctx *ctx, const gpuc_target *t)
{
    for (int i = 0; i < GPUC_TARGET_KIND_COUNT; i++)
        if (t->kind == &gpuc_target_builtin[i]) return generators[i];
    gpuc_raise(ctx, GPUC_UNSUPPORTED,
               "target kind '%s' has no generator of code: register a function 'target.build.%s'",
               t->kind->name, t->kind->name);
}

gpuc_status gpuc_codegen_assembly(const uint32_t *words, size_t count, gpuc_buf *out)
{
    for (int i = 0; i < GPUC_TARGET_KIND_COUNT; i++)
        if (generators[i]->assembly) return generators[i]->assembly(words, count, out);
    return gpuc_fail(GPUC_UNSUPPORTED, "no generator of this build has an assembly");
}

void gpuc_codegen_emit(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                       gpuc_kernel_code *out)
{
    gpuc_codegen_get(ctx, t)->emit(ctx, t, kernel, out);
    gpuc_tir_rule_print(ctx, kernel->name);
}

void gpuc_codegen_defer(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                        gpuc_kernel_code *out)
{
    const char *text = gpuc_tir_text(ctx, kernel);
    *out = (gpuc_kernel_code){.bytes = text, .size = strlen(text), .deferred = true};
    gpuc_codegen_metadata(ctx, t, kernel, &out->meta);
}

static void free_buf(void *data)
{
    gpuc_buf_deinit(data);
}

const char *gpuc_codegen_text(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels)
{
    gpuc_buf *text = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(text, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_buf, text);
    gpuc_codegen_get(ctx, t)->print(ctx, t, n, kernels, text);
    GPUC_RAISE_IF(ctx, gpuc_buf_status(text));
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(text));
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}

void gpuc_codegen_link(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                       gpuc_linked *out)
{
    if (ctx->debug & GPUC_DEBUG_SOURCE) fputs(gpuc_codegen_text(ctx, t, n, kernels), stderr);
    gpuc_codegen_get(ctx, t)->link(ctx, t, n, kernels, out);
}

/* Read through a texel view: where the schedule asks for it, and where the target says that it is the fast
 * way to read. */
static bool wants_texels(const gpuc_target *t, const gpuc_tir_buffer *b, const gpuc_kernel_tensor *tensor)
{
    int64_t size, texel = 4 * (int64_t)gpuc_dtype_bytes(tensor->dtype);
    if (!t->language->descriptors || !gpuc_codegen_has_texels(tensor->dtype)) return false;
    bool fixed = gpuc_expr_is_int(b->shape[0], &size);
    if (fixed && t->max_texels && (size + 3) / 4 > t->max_texels) return false;
    if (tensor->access != GPUC_ACCESS_READ) return false;
    /* Of an unknown size: whether a view holds all that a binding can. */
    bool fits =
        fixed || !t->max_texels || (t->max_buffer_range && t->max_buffer_range / texel <= t->max_texels);
    if (b->scope == GPUC_SCOPE_TEXEL) return true;
    return t->texel && fits;
}

/* Tensors beyond the target's number of buffers share the last binding: they must lie in one buffer. */
static void number_bindings(const gpuc_target *t, const gpuc_tir_func *f, gpuc_kernel *k,
                            gpuc_kernel_tensor *tensors)
{
    uint32_t limit = (uint32_t)t->max_storage_buffers, plain = 0, at = 0;
    for (uint32_t i = 0; i < k->num_tensors; i++) plain += !tensors[i].image;
    uint32_t storage = plain < limit ? plain : limit, next = storage;
    k->num_bindings = storage;
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        if (tensors[i].image) {
            tensors[i].binding = next++;
            continue;
        }
        tensors[i].binding = at < storage ? at : storage - 1;
        /* A view of a shared binding would cover all that lies in it. */
        bool shared = plain > storage && at + 1 >= storage;
        at++;
        tensors[i].texel = !f->aliased && !shared && wants_texels(t, f->buffers[i], &tensors[i]);
        if (tensors[i].texel) tensors[i].texel_binding = next++;
    }
}

static gpuc_access access_of(const gpuc_buffer_use *u)
{
    if (u->written) return u->read ? GPUC_ACCESS_READ_WRITE : GPUC_ACCESS_WRITE;
    return GPUC_ACCESS_READ;
}

static void fill_tensors(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f, const gpuc_uses *uses,
                         gpuc_kernel *k)
{
    gpuc_kernel_tensor *tensors = gpuc_new_array(ctx, gpuc_kernel_tensor, f->num_buffers);
    k->num_tensors = (uint32_t)f->num_buffers;
    k->tensors = tensors;
    for (int i = 0; i < f->num_buffers; i++) {
        const gpuc_tir_buffer *b = f->buffers[i];
        const gpuc_buffer_use *u = gpuc_codegen_use(uses, b);
        tensors[i].dtype = b->dtype;
        tensors[i].access = (uint8_t)access_of(u);
        tensors[i].image = (uint8_t)gpuc_tir_image_channels(b);
        uint32_t lanes = 1;
        if (t->language->descriptors) lanes = u->widest >= 4 ? 4 : u->widest == 2 ? 2 : 1;
        tensors[i].alignment = lanes * (uint32_t)gpuc_dtype_bytes(b->dtype);
        if (u->align > tensors[i].alignment) tensors[i].alignment = u->align;
    }
    number_bindings(t, f, k, tensors);
    for (uint32_t i = 0; i < k->num_tensors; i++)
        if (tensors[i].texel) tensors[i].alignment = 4 * (uint32_t)gpuc_dtype_bytes(tensors[i].dtype);
}

static void fill_scalars(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_kernel *k)
{
    gpuc_dtype *types = gpuc_new_array(ctx, gpuc_dtype, f->num_scalars);
    for (int i = 0; i < f->num_scalars; i++) {
        types[i] = f->scalars[i]->dtype;
        char name[24];
        if (!gpuc_dtype_equal(types[i], GPUC_INT32) && !gpuc_dtype_equal(types[i], GPUC_INT64) &&
            !gpuc_dtype_equal(types[i], GPUC_FLOAT32))
            gpuc_raise(ctx, GPUC_UNSUPPORTED,
                       "kernel '%s': scalar '%s' has type %s; it must be int32, int64 or float32", f->name,
                       gpuc_as_var(f->scalars[i])->name, gpuc_dtype_name(types[i], name));
    }
    k->num_scalars = (uint32_t)f->num_scalars;
    k->scalars = types;
}

static gpuc_xexpr const_xexpr(gpuc_ctx *ctx, int64_t value)
{
    gpuc_xinstr *one = gpuc_new(ctx, gpuc_xinstr);
    *one = (gpuc_xinstr){GPUC_XOP_CONST, value};
    return (gpuc_xexpr){one, 1};
}

static void fill_local_size(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_thread *thread,
                            gpuc_kernel *k)
{
    int64_t extent;
    if (!gpuc_expr_is_int(thread->extent, &extent) || extent < 1 || extent > 65536)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': the extent of %s is %s; a work-group's size must be constant", f->name,
                   gpuc_thread_tag_name(thread->tag), gpuc_expr_text(ctx, thread->extent));
    uint32_t *size = &k->local_size[thread->tag - GPUC_THREAD_X];
    if ((uint32_t)extent > *size) *size = (uint32_t)extent;
}

/* Fills in the launch. Without work-groups launch dimensions are loops, and a launch has one group. */
typedef struct iterations {
    const gpuc_tir_func *f;
    gpuc_expr extent;
    gpuc_xexpr *out;
} iterations;

static void count_iterations(gpuc_ctx *ctx, void *arg)
{
    const iterations *i = arg;
    *i->out = gpuc_arith_to_xexpr(ctx, i->extent, i->f->num_scalars, i->f->scalars);
}

/* Of a loop that is all of a kernel, if they are known before it runs. */
static void fill_iterations(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_kernel *k)
{
    if (!f->body || f->body->kind != GPUC_STMT_FOR) return;
    const gpuc_tir_for_node *loop = gpuc_as_for(f->body);
    iterations i = {.f = f, .extent = loop->extent, .out = &k->launch[0]};
    if (loop->loop != GPUC_LOOP_PARALLEL) return;
    gpuc_status status = gpuc_ctx_protect(ctx, count_iterations, &i);
    if (status && gpuc_status_code(status) != GPUC_UNSUPPORTED) gpuc_ctx_raise_status(ctx, status);
    gpuc_status_release(status);
}

static void fill_launch(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f, gpuc_kernel *k)
{
    gpuc_expr extents[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) k->local_size[i] = 1;
    for (int i = 0; i < f->num_threads && t->language->work_groups; i++) {
        const gpuc_tir_thread *thread = &f->threads[i];
        if (gpuc_is_thread_tag(thread->tag)) {
            fill_local_size(ctx, f, thread, k);
        } else if (gpuc_is_block_tag(thread->tag)) {
            gpuc_expr *at = &extents[thread->tag - GPUC_BLOCK_X];
            *at = *at ? gpuc_max(ctx, *at, thread->extent) : thread->extent;
        } else {
            gpuc_raise(ctx, GPUC_INTERNAL, "kernel '%s': %s is not a launch dimension", f->name,
                       gpuc_thread_tag_name(thread->tag));
        }
    }
    for (int i = 0; i < 3; i++)
        k->launch[i] = extents[i] ? gpuc_arith_to_xexpr(ctx, extents[i], f->num_scalars, f->scalars)
                                  : const_xexpr(ctx, 1);
    if (t->language->loops_in_parts) fill_iterations(ctx, f, k);
}

static void check_limits(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_kernel *k)
{
    if (!t->language->work_groups) return;
    int64_t total = 1;
    const int64_t limits[3] = {t->max_threads_x, t->max_threads_y, t->max_threads_z};
    for (int i = 0; i < 3; i++) {
        total *= k->local_size[i];
        if (k->local_size[i] > limits[i])
            gpuc_raise(ctx, GPUC_UNSUPPORTED,
                       "kernel '%s' has %u threads in %c; the target allows %lld (max_threads_%c)", k->name,
                       k->local_size[i], "xyz"[i], (long long)limits[i], "xyz"[i]);
    }
    if (total > t->max_num_threads)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "kernel '%s' has groups of %lld threads; the target allows %lld (max_num_threads)",
                   k->name, (long long)total, (long long)t->max_num_threads);
    if (k->shared_bytes > t->max_shared_memory)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "kernel '%s' uses %u bytes of shared memory; the target allows %lld (max_shared_memory)",
                   k->name, k->shared_bytes, (long long)t->max_shared_memory);
    uint32_t lacking = k->features & ~gpuc_target_features(t);
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (lacking >> i & 1)
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "kernel '%s' needs %s, which the target '%s' lacks", k->name,
                       gpuc_feature_name((gpuc_feature)(1u << i)), gpuc_target_text(ctx, t));
}

/* Generators keep small types in wider registers where the target has no arithmetic for them, and exchange
 * bits where it has no atomics on floats. */
static uint32_t features_of(const gpuc_target *t, const gpuc_uses *uses)
{
    uint32_t optional = GPUC_FEATURE_FLOAT16 | GPUC_FEATURE_INT8 | GPUC_FEATURE_INT16 |
                        GPUC_FEATURE_ATOMIC_FLOAT | GPUC_FEATURE_FLOAT_CONTROLS |
                        GPUC_FEATURE_IMAGE_ANY_FORMAT;
    uint32_t features = uses->features & (~optional | gpuc_target_features(t));
    return features & ~t->language->own_features;
}

void gpuc_codegen_metadata(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f, gpuc_kernel *out)
{
    gpuc_uses *uses = gpuc_codegen_uses(ctx, t, f);
    *out = (gpuc_kernel){
        .name = f->name,
        .label = f->label && *f->label ? f->label : f->name,
        .subgroup_size = f->subgroup_size,
        .shared_bytes = t->language->work_groups ? (uint32_t)uses->shared_bytes : 0,
        .cost_bytes = uses->bytes,
        .cost_ops = uses->ops,
        .features = features_of(t, uses),
    };
    if (uses->shared_bytes > UINT32_MAX)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "kernel '%s' uses %lld bytes of shared memory", f->name,
                   (long long)uses->shared_bytes);
    fill_tensors(ctx, t, f, uses, out);
    fill_scalars(ctx, f, out);
    fill_launch(ctx, t, f, out);
    out->params_in_buffer =
        t->language->descriptors && gpuc_abi_kernel_param_layout(out, NULL) > t->max_push_constants;
    check_limits(ctx, t, out);
}

void gpuc_codegen_check_names(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels)
{
    gpuc_strmap seen;
    gpuc_strmap_init(&seen, ctx);
    for (int i = 0; i < n; i++) {
        if (gpuc_strmap_has(&seen, kernels[i].meta.name))
            gpuc_raise(ctx, GPUC_INTERNAL, "two kernels are named '%s'", kernels[i].meta.name);
        gpuc_strmap_set(&seen, kernels[i].meta.name, &seen);
    }
}

int gpuc_codegen_module_end(int first, int n, const gpuc_kernel_code *kernels, int max, size_t bytes)
{
    size_t sum = 0;
    int i = first;
    for (; i < n && i - first < max && (i == first || sum + kernels[i].size <= bytes); i++)
        sum += kernels[i].size;
    return i;
}
