/* SPDX-License-Identifier: Apache-2.0 */
/* Makes SPIR-V of kernels, one by one, and links them into modules. */
#include "codegen_spirv/emit.h"

#include <string.h>

#include "abi/code.h"
#include "lower/common/util.h"

/* Buffers of floats whose atomics need an integer's compare and exchange. */
static bool find_float_atomics(gpuc_expr e, void *arg)
{
    gpuc_spv_kernel *k = arg;
    if (e->kind != GPUC_EXPR_CALL || !gpuc_as_call(e)->buffer || !gpuc_is_float(e->dtype)) return true;
    gpuc_tir_intrin fn = gpuc_as_call(e)->fn;
    bool native =
        fn == GPUC_TIR_CALL_ATOMIC_EXCHANGE || (fn == GPUC_TIR_CALL_ATOMIC_ADD && k->target->atomic_float);
    if (!native) gpuc_map_set(&k->float_bits, gpuc_as_call(e)->buffer, k);
    return true;
}

static void init(gpuc_spv_kernel *k, gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f,
                 gpuc_kernel *meta)
{
    *k = (gpuc_spv_kernel){.ctx = ctx, .target = t, .func = f, .meta = meta};
    gpuc_spv_init(&k->m, ctx);
    gpuc_map_init(&k->values, ctx);
    gpuc_map_init(&k->reads_memory, ctx);
    gpuc_map_init(&k->locals, ctx);
    gpuc_map_init(&k->exact, ctx);
    gpuc_map_init(&k->float_bits, ctx);
    k->uses = gpuc_codegen_uses(ctx, t, f);
    k->analyzer = gpuc_lower_analyzer(ctx, f);
    if (k->uses->features & GPUC_FEATURE_COOPMAT) k->coopmats = gpuc_lower_coopmats_find(ctx, t, f);
    if (f->body) gpuc_tir_visit_stmt(ctx, f->body, NULL, find_float_atomics, k);
}

/* Asks for float controls, without which a driver may assume that there is no NaN and no infinity, drop the sign
 * of a zero, and round float16 toward zero. */
static void float_controls(gpuc_spv_kernel *k, uint32_t main_id)
{
    const struct {
        uint32_t bits, feature;
    } widths[] = {{16, GPUC_FEATURE_FLOAT16}, {32, 0}, {64, GPUC_FEATURE_FLOAT64}};
    gpuc_spv *m = &k->m;
    if (!(k->meta->features & GPUC_FEATURE_FLOAT_CONTROLS)) return;
    gpuc_spv_capability(m, SpvCapabilitySignedZeroInfNanPreserve);
    gpuc_spv_extension(m, "SPV_KHR_float_controls");
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if ((k->meta->features & widths[i].feature) == widths[i].feature)
            gpuc_spv_emit(m, &m->modes, SpvOpExecutionMode, main_id, SpvExecutionModeSignedZeroInfNanPreserve,
                          widths[i].bits);
    if (k->meta->features & GPUC_FEATURE_FLOAT16) {
        gpuc_spv_capability(m, SpvCapabilityRoundingModeRTE);
        gpuc_spv_emit(m, &m->modes, SpvOpExecutionMode, main_id, SpvExecutionModeRoundingModeRTE, 16);
    }
}

static void entry_point(gpuc_spv_kernel *k, uint32_t main_id)
{
    gpuc_spv *m = &k->m;
    gpuc_spv_capability(m, SpvCapabilityShader);
    if (k->coopmats) {
        gpuc_spv_capability(m, SpvCapabilityVulkanMemoryModel);
        gpuc_spv_extension(m, "SPV_KHR_vulkan_memory_model");
    }
    gpuc_spv_emit(m, &m->model, SpvOpMemoryModel, SpvAddressingModelLogical,
                  k->coopmats ? SpvMemoryModelVulkan : SpvMemoryModelGLSL450);
    /* The interface follows the name: the words are put together by hand. */
    gpuc_spv_words text = {0};
    gpuc_spv_op_string(m, &text, SpvOpNop, 0, NULL, k->func->name);
    size_t name_words = text.count - 1;
    uint32_t *all = gpuc_new_array(k->ctx, uint32_t, 2 + name_words + m->interface.count);
    all[0] = SpvExecutionModelGLCompute;
    all[1] = main_id;
    memcpy(all + 2, text.at + 1, name_words * sizeof *all);
    for (uint32_t i = 0; i < m->interface.count; i++)
        all[2 + name_words + i] = (uint32_t)(uintptr_t)m->interface.entries[i].key;
    gpuc_spv_op(m, &m->entry, SpvOpEntryPoint, (int)(2 + name_words + m->interface.count), all);
    const uint32_t *size = k->meta->local_size;
    gpuc_spv_emit(m, &m->modes, SpvOpExecutionMode, main_id, SpvExecutionModeLocalSize, size[0], size[1],
                  size[2]);
    float_controls(k, main_id);
    gpuc_spv_name(m, main_id, k->func->name);
}

static void emit_kernel(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *f, gpuc_kernel_code *out)
{
    *out = (gpuc_kernel_code){0};
    gpuc_codegen_metadata(ctx, t, f, &out->meta);
    gpuc_spv_kernel *k = gpuc_new(ctx, gpuc_spv_kernel);
    init(k, ctx, t, f, &out->meta);
    uint32_t main_id = gpuc_spv_id(&k->m);
    gpuc_spv_load_params(k);
    gpuc_spv_load_threads(k);
    if (f->body) gpuc_spv_stmt(k, f->body);
    gpuc_spv_finish_views(k);
    entry_point(k, main_id);
    size_t words;
    out->bytes = gpuc_spv_finish(&k->m, main_id, &words);
    out->size = words * sizeof(uint32_t);
}

/* ---- Modules ---------------------------------------------------------------------------------------- */

static void free_buf(void *data)
{
    gpuc_buf_deinit(data);
}

/* Drivers of cards compile a kernel within milliseconds, and make better code of numbers that they know. */
static gpuc_spv_entry *make_entries(gpuc_ctx *ctx, const gpuc_target *t, int n,
                                    const gpuc_kernel_code *kernels)
{
    gpuc_spv_entry *entries = gpuc_new_array(ctx, gpuc_spv_entry, n);
    for (int i = 0; i < n; i++)
        entries[i] = (gpuc_spv_entry){
            .code = i, .words = kernels[i].bytes, .num_words = kernels[i].size / sizeof(uint32_t)};
    if (t->simd_lanes) gpuc_spv_share(ctx, t, n, kernels, entries);
    return entries;
}

static bool is_shared(const gpuc_spv_entry *e, int kernel)
{
    return e->code != kernel || e->num_values > 0;
}

static void link_kernels(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                         gpuc_linked *out)
{
    *out = (gpuc_linked){.kernel_module = gpuc_new_array(ctx, uint32_t, n)};
    if (n == 0) return;
    gpuc_codegen_check_names(ctx, n, kernels);
    const gpuc_spv_entry *entries = make_entries(ctx, t, n, kernels);
    gpuc_module_blob *files = gpuc_new_array(ctx, gpuc_module_blob, n),
                     *module = gpuc_new(ctx, gpuc_module_blob);
    const char **names = gpuc_new_array(ctx, const char *, n);
    gpuc_buf *blob = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(blob, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_buf, blob);
    gpuc_spirv_module code = {.codes = gpuc_new_array(ctx, gpuc_spirv_code, n),
                              .shared = gpuc_new_array(ctx, gpuc_spirv_shared, n)};
    for (int i = 0; i < n; i++) {
        const gpuc_spv_entry *e = &entries[i];
        const char *name = kernels[i].meta.name;
        if (is_shared(e, i))
            code.shared[code.num_shared++] = (gpuc_spirv_shared){.kernel = name,
                                                                 .code = kernels[e->code].meta.name,
                                                                 .num_values = (uint32_t)e->num_values,
                                                                 .values = (const uint32_t *)e->values};
        if (!e->words) continue;
        code.codes[code.num_codes++] = (gpuc_spirv_code){name, e->words, (uint32_t)e->num_words};
        files[out->num_files] = (gpuc_module_blob){"", e->words, e->num_words * sizeof(uint32_t)};
        names[out->num_files++] = gpuc_ctx_printf(ctx, "%s.spv", name);
    }
    gpuc_abi_spirv_write(blob, &code);
    if (blob->failed) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "writing SPIR-V: out of memory");
    *module = (gpuc_module_blob){"spirv", gpuc_ctx_memdup(ctx, blob->data, blob->size), blob->size};
    gpuc_ctx_pop_cleanup(ctx, true);
    out->num_modules = 1;
    out->modules = module;
    out->file_names = names;
    out->files = files;
}

static void print_kernels(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                          gpuc_buf *out)
{
    const gpuc_spv_entry *entries = make_entries(ctx, t, n, kernels);
    for (int i = 0; i < n; i++) {
        const gpuc_spv_entry *e = &entries[i];
        gpuc_buf_printf(out, "%s%s.spv:", i ? "\n" : "", kernels[i].meta.name);
        if (e->code != i) gpuc_buf_printf(out, " %s.spv", kernels[e->code].meta.name);
        for (int k = 0; k < e->num_values; k++) gpuc_buf_printf(out, " %d", e->values[k]);
        gpuc_buf_str(out, "\n");
        if (e->words) gpuc_spv_print(ctx, e->words, e->num_words, out);
    }
}

const gpuc_codegen gpuc_codegen_spirv = {
    .emit = emit_kernel, .link = link_kernels, .print = print_kernels, .assembly = gpuc_spv_assembly};
