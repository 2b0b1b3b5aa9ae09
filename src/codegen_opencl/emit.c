/* SPDX-License-Identifier: Apache-2.0 */
/* Prints kernels as OpenCL C, and joins them to programs. */
#include <string.h>

#include "abi/code.h"
#include "codegen_opencl/private.h"

/* Programs are compiled side by side, except by drivers for CPUs (pocl), which hold a lock meanwhile: there
 * each one costs only the time that the headers of OpenCL C take, which is that of ten kernels. */
enum { PROGRAM_KERNELS = 16, PROGRAM_BYTES = 256 << 10 };

static int program_end(const gpuc_target *t, int first, int n, const gpuc_kernel_code *kernels)
{
    return gpuc_target_is_cpu(t) ? n
                                 : gpuc_codegen_module_end(first, n, kernels, PROGRAM_KERNELS, PROGRAM_BYTES);
}

static void print_parameters(gpuc_clike *p)
{
    const gpuc_tir_func *f = p->func;
    const char *align = gpuc_ctx_printf(p->ctx, ",\n%*s", (int)strlen(f->name) + 6, "");
    gpuc_put(p, "void %s(", f->name);
    for (int i = 0; i < f->num_buffers; i++) {
        const gpuc_tir_buffer *b = f->buffers[i];
        const char *name = gpuc_clike_buf(p, b);
        const char *offset = gpuc_clike_name(p, &f->buffers[i], gpuc_ctx_printf(p->ctx, "%s_offset", name));
        bool written = gpuc_codegen_use(p->uses, b)->written;
        if (gpuc_tir_image_channels(b)) {
            gpuc_put(p, "%s%s image2d_t %s, int %s", i ? align : "", written ? "__write_only" : "__read_only",
                     name, offset);
            continue;
        }
        gpuc_put(p, "%s__global %s", i ? align : "", written ? "" : "const ");
        gpuc_opencl_memory_type(p, b->dtype);
        gpuc_put(p, " *%s%s, int %s", f->aliased ? "" : "restrict ", name, offset);
    }
    for (int i = 0; i < f->num_scalars; i++) {
        gpuc_put(p, "%s", i || f->num_buffers ? align : "");
        p->lang->type(p, f->scalars[i]->dtype);
        gpuc_put(p, " %s", gpuc_clike_var(p, f->scalars[i]));
    }
    gpuc_put(p, ")\n");
}

static void print_offsets(gpuc_clike *p)
{
    for (int i = 0; i < p->func->num_buffers; i++) {
        const gpuc_tir_buffer *b = p->func->buffers[i];
        const gpuc_buffer_use *use = gpuc_codegen_use(p->uses, b);
        if ((use->read || use->written) && !gpuc_tir_image_channels(b))
            gpuc_put(p, "    %s += %s;\n", gpuc_clike_buf(p, b),
                     gpuc_clike_name(p, &p->func->buffers[i], ""));
    }
}

/* Numbers of work-groups go on from the offset of the launch, which may be a part of one. */
static void print_group(gpuc_clike *p, int axis, uint32_t size)
{
    gpuc_put(p, "get_group_id(%d) + get_global_offset(%d)", axis, axis);
    if (size > 1) gpuc_put(p, " / %u", size);
}

static void print_threads(gpuc_clike *p, const uint32_t *sizes)
{
    for (int i = 0; i < p->func->num_threads; i++) {
        const gpuc_tir_thread *t = &p->func->threads[i];
        bool block = gpuc_is_block_tag(t->tag);
        if (!p->func->body || !gpuc_tir_stmt_uses_var(p->ctx, p->func->body, t->var)) continue;
        gpuc_put(p, "    const ");
        p->lang->type(p, t->var->dtype);
        int axis = (int)t->tag - (int)(block ? GPUC_BLOCK_X : GPUC_THREAD_X);
        gpuc_put(p, " %s = ", gpuc_clike_var(p, t->var));
        if (block)
            print_group(p, axis, sizes[axis]);
        else
            gpuc_put(p, "get_local_id(%d)", axis);
        gpuc_put(p, ";\n");
    }
}

/* Local memory must be declared at the kernel's outermost level; its ALLOC is its body then. */
static void find_shared(gpuc_stmt s, void *arg)
{
    gpuc_clike *p = arg;
    if (s->kind != GPUC_STMT_ALLOC || gpuc_as_alloc(s)->buffer->scope != GPUC_SCOPE_SHARED) return;
    const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
    if (gpuc_map_has(&p->ahead, b)) return;
    gpuc_map_set(&p->ahead, b, p);
    gpuc_put(p, "    __local ");
    p->lang->declare(p, b);
    gpuc_put(p, "\n");
}

const char *gpuc_opencl_decision(gpuc_clike *p)
{
    return gpuc_clike_name(p, &gpuc_opencl_lang, "holds");
}

/* A comparison that holds for each thread, where the OpenCL device says that it runs on PoCL (GPUC_POCL, an
 * option of the build), and true elsewhere. */
static void define_decision(gpuc_clike *p, uint32_t threads)
{
    const char *name = gpuc_opencl_decision(p);
    gpuc_put(p, "#ifdef GPUC_POCL\n#define %s (get_local_id(0) < %u)\n#else\n#define %s true\n#endif\n", name,
             threads, name);
}

static void print_body(gpuc_clike *p)
{
    gpuc_stmt body = p->func->body;
    if (!body) return;
    gpuc_tir_visit_stmt(p->ctx, body, find_shared, NULL, p);
    p->indent = 1;
    gpuc_clike_stmt(p, body);
}

static void emit_kernel(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                        gpuc_kernel_code *out)
{
    *out = (gpuc_kernel_code){0};
    gpuc_tir_func *f = gpuc_ctx_memdup(ctx, kernel, sizeof *f);
    f->name = gpuc_clike_kernel_name(ctx, &gpuc_opencl_lang, f->name);
    gpuc_codegen_metadata(ctx, t, f, &out->meta);
    gpuc_clike *p = gpuc_new(ctx, gpuc_clike);
    gpuc_clike_init(p, ctx, &gpuc_opencl_lang, t, f);
    p->user = &out->prelude;
    const uint32_t *size = out->meta.local_size;
    gpuc_put(p, "__kernel __attribute__((reqd_work_group_size(%u, %u, %u)))\n", size[0], size[1], size[2]);
    print_parameters(p);
    gpuc_put(p, "{\n");
    print_offsets(p);
    print_threads(p, size);
    if (p->uses->has_decision) define_decision(p, size[0]);
    print_body(p);
    gpuc_put(p, "}\n");
    if (p->uses->has_decision) gpuc_put(p, "#undef %s\n", gpuc_opencl_decision(p));
    out->bytes = gpuc_clike_finish(p, &out->size);
}

/* ---- Programs -------------------------------------------------------------------------------------- */

typedef struct needs {
    bool fp64, fp16;
} needs;

static void note_name(const char *name, size_t length, void *arg)
{
    needs *n = arg;
    if (length >= 6 && length <= 8 && memcmp(name, "double", 6) == 0) n->fp64 = true;
}

static void enable(gpuc_buf *out, const char *extension)
{
    gpuc_buf_printf(out, "#pragma OPENCL EXTENSION %s : enable\n", extension);
}

static void write_extensions(gpuc_buf *out, uint32_t prelude, const needs *n)
{
    static const char *const names[] = {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics",
                                        "cl_khr_subgroups", "cl_khr_subgroup_shuffle",
                                        "cl_khr_subgroup_non_uniform_arithmetic"};
    size_t before = out->size;
    if (n->fp64) enable(out, "cl_khr_fp64");
    if (n->fp16) enable(out, "cl_khr_fp16");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (prelude >> i & 1) enable(out, names[i]);
    if (out->size > before) gpuc_buf_str(out, "\n");
}

static void free_buf(void *data)
{
    gpuc_buf_deinit(data);
}

gpuc_buf *gpuc_opencl_buf(gpuc_ctx *ctx)
{
    gpuc_buf *b = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(b, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_buf, b);
    return b;
}

void *gpuc_opencl_take(gpuc_ctx *ctx, gpuc_buf *b, size_t *size)
{
    if (b->failed) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "writing generated OpenCL C: out of memory");
    *size = b->size;
    void *copy = gpuc_ctx_memdup(ctx, gpuc_buf_cstr(b), b->size + 1);
    gpuc_ctx_pop_cleanup(ctx, true);
    return copy;
}

/* Makes the entries of kernels. Only kernels for CPUs share functions: compilers of GPUs make better code of
 * numbers that they know. */
static gpuc_opencl_entry *make_entries(gpuc_ctx *ctx, const gpuc_target *t, int n,
                                       const gpuc_kernel_code *kernels)
{
    gpuc_opencl_entry *entries = gpuc_new_array(ctx, gpuc_opencl_entry, n);
    for (int i = 0; i < n; i++)
        entries[i] = (gpuc_opencl_entry){.name = kernels[i].meta.name, .text = kernels[i].bytes};
    if (!gpuc_target_is_cpu(t)) return entries;
    gpuc_opencl_share(ctx, n, kernels, entries);
    gpuc_opencl_outline(ctx, n, kernels, entries);
    return entries;
}

static const char *write_program(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                                 const gpuc_opencl_entry *entries, uint32_t *prelude, size_t *size)
{
    const char **texts = gpuc_new_array(ctx, const char *, n + 1);
    needs found = {.fp16 = t->float16 != 0};
    int count = 0;
    *prelude = 0;
    for (int i = 0; i < n; i++) {
        *prelude |= kernels[i].prelude;
        if (!entries[i].text) continue;
        texts[count++] = entries[i].text;
        gpuc_codegen_helpers_scan(entries[i].text, note_name, &found);
    }
    gpuc_buf *helpers = gpuc_opencl_buf(ctx);
    gpuc_codegen_helpers_write(ctx, &gpuc_opencl_helpers, count, texts, helpers);
    size_t helpers_size;
    const char *helpers_text = gpuc_opencl_take(ctx, helpers, &helpers_size);
    gpuc_buf *out = gpuc_opencl_buf(ctx);
    write_extensions(out, *prelude, &found);
    gpuc_buf_str(out, helpers_text);
    for (int i = 0; i < count; i++) gpuc_buf_printf(out, "%s%s", i ? "\n" : "", texts[i]);
    return gpuc_opencl_take(ctx, out, size);
}

static gpuc_opencl_function *list_functions(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels,
                                            const gpuc_opencl_entry *entries)
{
    gpuc_opencl_function *out = gpuc_new_array(ctx, gpuc_opencl_function, n);
    for (int i = 0; i < n; i++)
        out[i] = (gpuc_opencl_function){.kernel = kernels[i].meta.name,
                                        .name = entries[i].name,
                                        .num_values = (uint32_t)entries[i].num_values,
                                        .values = (const uint32_t *)entries[i].values};
    return out;
}

static void link_kernels(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                         gpuc_linked *out)
{
    *out = (gpuc_linked){.kernel_module = gpuc_new_array(ctx, uint32_t, n)};
    if (n == 0) return;
    gpuc_codegen_check_names(ctx, n, kernels);
    gpuc_module_blob *files = gpuc_new_array(ctx, gpuc_module_blob, n);
    const char **names = gpuc_new_array(ctx, const char *, n);
    const gpuc_opencl_entry *entries = make_entries(ctx, t, n, kernels);
    gpuc_opencl_module code = {.programs = gpuc_new_array(ctx, gpuc_opencl_source, n)};
    for (int first = 0, end; first < n; first = end) {
        end = program_end(t, first, n, kernels);
        uint32_t prelude, count = code.num_programs++;
        size_t size;
        const char *text =
            write_program(ctx, t, end - first, kernels + first, entries + first, &prelude, &size);
        code.programs[count] = (gpuc_opencl_source){
            .options = prelude & GPUC_OPENCL_SUBGROUPS ? "-w -cl-std=CL2.0" : "-w -cl-std=CL1.2",
            .text = text,
            .num_functions = (uint32_t)(end - first),
            .functions = list_functions(ctx, end - first, kernels + first, entries + first),
        };
        files[count] = (gpuc_module_blob){"", text, size};
        names[count] = gpuc_ctx_printf(ctx, "kernels%u.cl", count);
    }
    gpuc_buf *blob = gpuc_opencl_buf(ctx);
    gpuc_abi_opencl_write(blob, &code);
    gpuc_module_blob *module = gpuc_new(ctx, gpuc_module_blob);
    module->type_key = "opencl_c";
    module->bytes = gpuc_opencl_take(ctx, blob, &module->size);
    out->num_modules = 1;
    out->modules = module;
    out->num_files = (int)code.num_programs;
    out->file_names = names;
    out->files = files;
}

static void print_programs(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                           gpuc_buf *out)
{
    const gpuc_opencl_entry *entries = make_entries(ctx, t, n, kernels);
    for (int first = 0, end, count = 0; first < n; first = end, count++) {
        uint32_t prelude;
        size_t size;
        end = program_end(t, first, n, kernels);
        const char *text =
            write_program(ctx, t, end - first, kernels + first, entries + first, &prelude, &size);
        gpuc_buf_printf(out, "%skernels%d.cl:\n%s", count ? "\n" : "", count, text);
    }
}

const gpuc_codegen gpuc_codegen_opencl = {.emit = emit_kernel, .link = link_kernels, .print = print_programs};
