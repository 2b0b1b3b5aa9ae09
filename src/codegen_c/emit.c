/* SPDX-License-Identifier: Apache-2.0 */
/* Prints kernels as C, and joins them to one source file. */
#include <string.h>

#include "codegen_c/private.h"

/* Vectors no wider than the registers: compilers take wider ones apart badly. */
static bool uses_var(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_expr var)
{
    return f->body && gpuc_tir_stmt_uses_var(ctx, f->body, var);
}

static void print_tensors(gpuc_clike *p)
{
    for (int i = 0; i < p->func->num_buffers; i++) {
        const gpuc_buffer_use *use = gpuc_codegen_use(p->uses, p->func->buffers[i]);
        if (!use->read && !use->written) continue;
        gpuc_clike_line(p);
        gpuc_c_pointer(p, p->func->buffers[i], !p->func->aliased);
        gpuc_put(p, " = tensors[%d];\n", i);
    }
}

static void print_scalars(gpuc_clike *p)
{
    for (int i = 0; i < p->func->num_scalars; i++) {
        gpuc_expr var = p->func->scalars[i];
        if (!uses_var(p->ctx, p->func, var)) continue;
        gpuc_clike_line(p);
        gpuc_put(p, "const ");
        p->lang->type(p, var->dtype);
        const char *name = gpuc_clike_var(p, var);
        if (gpuc_is_float(var->dtype))
            gpuc_put(p, " %s = (float)gpuc_bits_f64_i64(scalars[%d]);\n", name, i);
        else if (var->dtype.bits == 64)
            gpuc_put(p, " %s = scalars[%d];\n", name, i);
        else
            gpuc_put(p, " %s = (int32_t)scalars[%d];\n", name, i);
    }
}

/* A pointer where the address of an element is given. */
static void print_argument_type(gpuc_clike *p, gpuc_expr e)
{
    gpuc_tir_intrin fn = e->kind == GPUC_EXPR_CALL ? gpuc_as_call(e)->fn : GPUC_TIR_INTRIN_COUNT;
    if (fn != GPUC_TIR_CALL_ADDRESS && fn != GPUC_TIR_CALL_CONST_ADDRESS) {
        p->lang->type(p, e->dtype);
        return;
    }
    if (fn == GPUC_TIR_CALL_CONST_ADDRESS) gpuc_put(p, "const ");
    p->lang->element(p, gpuc_as_call(e)->buffer->dtype);
    gpuc_put(p, " *");
}

static void print_prototype(const char *name, gpuc_expr call, gpuc_clike *p)
{
    const gpuc_tir_call_node *n = gpuc_as_call(call);
    gpuc_put(p, "extern ");
    p->lang->type(p, call->dtype);
    gpuc_put(p, " %s(", name);
    for (int i = 0; i < n->n; i++) {
        if (i) gpuc_put(p, ", ");
        print_argument_type(p, n->args[i]);
    }
    gpuc_put(p, "%s);\n\n", n->n ? "" : "void");
}

typedef struct externs {
    gpuc_clike *p;
    gpuc_strmap seen;
} externs;

static bool find_extern(gpuc_expr e, void *arg)
{
    externs *x = arg;
    if (e->kind != GPUC_EXPR_CALL || gpuc_as_call(e)->fn != GPUC_TIR_CALL_EXTERN) return true;
    const char *name = gpuc_as_call(e)->name;
    if (gpuc_strmap_has(&x->seen, name)) return true;
    gpuc_strmap_set(&x->seen, name, x);
    print_prototype(name, e, x->p);
    return true;
}

static void print_externs(gpuc_clike *p)
{
    externs x = {.p = p};
    gpuc_strmap_init(&x.seen, p->ctx);
    if (p->func->body) gpuc_tir_visit_stmt(p->ctx, p->func->body, NULL, find_extern, &x);
}

void gpuc_c_end_streams(gpuc_clike *p)
{
    gpuc_c_emit *emit = p->user;
    if (emit->streams) gpuc_put(p, "    gpuc_fence_u8();\n");
    emit->streams = false;
}

static void print_kernel(gpuc_clike *p)
{
    gpuc_put(p, "EXPORT int %s(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)\n{\n",
             p->func->name);
    p->indent = 1;
    print_tensors(p);
    print_scalars(p);
    if (p->func->body) gpuc_clike_stmt(p, p->func->body);
    gpuc_c_end_streams(p);
    gpuc_put(p, "    return 0;\n}\n");
}

static char *append(char *to, const char *text, size_t n)
{
    memcpy(to, text, n);
    return to + n;
}

/* Outlined bodies stand before the function that passes them on, behind the prototypes of what both call. */
static const char *assemble(gpuc_clike *p, const gpuc_c_emit *emit, size_t prototypes, size_t *out_size)
{
    size_t main_size;
    const char *main_text = gpuc_clike_finish(p, &main_size);
    *out_size = main_size;
    for (size_t i = 0; i < emit->functions.count; i++) *out_size += strlen(emit->functions.at[i]);
    char *text = gpuc_ctx_alloc(p->ctx, *out_size + 1), *to = append(text, main_text, prototypes);
    for (size_t i = 0; i < emit->functions.count; i++)
        to = append(to, emit->functions.at[i], strlen(emit->functions.at[i]));
    append(to, main_text + prototypes, main_size - prototypes + 1);
    return text;
}

static void emit_kernel(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                        gpuc_kernel_code *out)
{
    *out = (gpuc_kernel_code){0};
    if (kernel->num_threads > 0)
        gpuc_raise(
            ctx, GPUC_INTERNAL,
            "kernel '%s' has launch dimensions, which C code cannot have; run the pass serialize_threads",
            kernel->name);
    gpuc_tir_func *f = gpuc_ctx_memdup(ctx, kernel, sizeof *f);
    f->name = gpuc_clike_kernel_name(ctx, &gpuc_c_lang, f->name);
    gpuc_codegen_metadata(ctx, t, f, &out->meta);
    gpuc_clike *p = gpuc_new(ctx, gpuc_clike);
    gpuc_c_emit emit = {0};
    gpuc_clike_init(p, ctx, &gpuc_c_lang, t, f);
    p->user = &emit;
    print_externs(p);
    size_t prototypes = p->out.size;
    print_kernel(p);
    out->bytes = assemble(p, &emit, prototypes, &out->size);
}

/* ---- Files ----------------------------------------------------------------------------------------- */

typedef struct needs {
    gpuc_ctx *ctx;
    bool math, string, boolean;
    gpuc_strmap seen;
    gpuc_dtype *vectors;
    bool *unaligned;
    size_t count, capacity;
} needs;

static size_t note_vector(needs *n, gpuc_dtype t)
{
    for (size_t i = 0; i < n->count; i++)
        if (gpuc_dtype_equal(n->vectors[i], t)) return i;
    size_t capacity = n->capacity;
    n->vectors = gpuc_ctx_grow(n->ctx, n->vectors, n->count, &n->capacity, sizeof *n->vectors);
    n->unaligned = gpuc_ctx_grow(n->ctx, n->unaligned, n->count, &capacity, sizeof *n->unaligned);
    n->vectors[n->count] = t;
    n->unaligned[n->count] = false;
    return n->count++;
}

static bool is_math(const char *name, size_t length)
{
    if (length == 3 && memcmp(name, "NAN", 3) == 0) return true;
    if (length == 8 && memcmp(name, "INFINITY", 8) == 0) return true;
    if (length == 5 && (memcmp(name, "isnan", 5) == 0 || memcmp(name, "isinf", 5) == 0)) return true;
    return gpuc_clike_is_function(&gpuc_c_lang, name, length);
}

static void note_name(const char *name, size_t length, void *arg)
{
    needs *n = arg;
    gpuc_dtype t;
    size_t base = length;
    bool any = length > 4 && memcmp(name + length - 4, "_any", 4) == 0;
    if (any) base -= 4;
    if (gpuc_clike_parse_suffix(name, base, &t) && t.lanes > 1) {
        size_t i = note_vector(n, t);
        n->unaligned[i] = n->unaligned[i] || any;
    }
    if (length == 6 && memcmp(name, "memcpy", 6) == 0) n->string = true;
    if (length == 4 && memcmp(name, "bool", 4) == 0) n->boolean = true;
    if (length == 4 && memcmp(name, "NULL", 4) == 0) n->string = true;
    n->math = n->math || is_math(name, length);
}

static void write_vector_types(const needs *n, gpuc_buf *out)
{
    char suffix[16];
    for (size_t i = 0; i < n->count; i++) {
        gpuc_dtype t = n->vectors[i], one = gpuc_dtype_with_lanes(t, 1);
        size_t bytes = gpuc_dtype_bytes(t);
        gpuc_clike_suffix(t, suffix);
        gpuc_buf_str(out, "typedef ");
        gpuc_c_type(out, one);
        gpuc_buf_printf(out, " %s __attribute__((vector_size(%zu)));\n", suffix, bytes * t.lanes);
        if (!n->unaligned[i]) continue;
        gpuc_buf_str(out, "typedef ");
        gpuc_c_type(out, one);
        gpuc_buf_printf(out, " %s_any __attribute__((vector_size(%zu), aligned(%zu), may_alias));\n", suffix,
                        bytes * t.lanes, bytes);
    }
    if (n->count) gpuc_buf_str(out, "\n");
}

static const char env_text[] =
    "#if defined(__GNUC__)\n"
    "#define EXPORT __attribute__((visibility(\"default\")))\n"
    "#else\n"
    "#define EXPORT\n"
    "#endif\n"
    "\n"
    "typedef struct gpuc_cpu_env gpuc_cpu_env;\n"
    "struct gpuc_cpu_env {\n"
    "    uint64_t struct_size;\n"
    "    void (*parallel_for)(const gpuc_cpu_env *env, int64_t begin, int64_t end,\n"
    "                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);\n"
    "    void *host;\n"
    "};\n\n";

static void free_buf(void *data)
{
    gpuc_buf_deinit(data);
}

void gpuc_c_write_file(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                       gpuc_buf *out)
{
    (void)t;
    const char **texts = gpuc_new_array(ctx, const char *, n + 1);
    for (int i = 0; i < n; i++) texts[i] = kernels[i].bytes;
    gpuc_buf *helpers = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(helpers, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_buf, helpers);
    gpuc_codegen_helpers_write(ctx, &gpuc_c_helpers, n, texts, helpers);
    needs found = {.ctx = ctx};
    gpuc_codegen_helpers_scan(gpuc_buf_cstr(helpers), note_name, &found);
    for (int i = 0; i < n; i++) gpuc_codegen_helpers_scan(texts[i], note_name, &found);
    if (found.math) gpuc_buf_str(out, "#include <math.h>\n");
    if (found.boolean) gpuc_buf_str(out, "#include <stdbool.h>\n");
    gpuc_buf_str(out, "#include <stdint.h>\n");
    if (found.string) gpuc_buf_str(out, "#include <string.h>\n");
    gpuc_buf_str(out, "\n");
    gpuc_buf_str(out, env_text);
    write_vector_types(&found, out);
    gpuc_buf_str(out, gpuc_buf_cstr(helpers));
    for (int i = 0; i < n; i++) gpuc_buf_printf(out, "%s%s", i ? "\n" : "", texts[i]);
    bool failed = out->failed || helpers->failed;
    gpuc_ctx_pop_cleanup(ctx, true);
    if (failed) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "writing generated C: out of memory");
}

/* ---- Modules --------------------------------------------------------------------------------------- */

#define SHARD_BYTES (48 << 10)
#define SHARD_KERNELS 16

static void link_kernels(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                         gpuc_linked *out)
{
    *out = (gpuc_linked){.kernel_module = gpuc_new_array(ctx, uint32_t, n)};
    if (n == 0) return;
    gpuc_codegen_check_names(ctx, n, kernels);
    gpuc_c_source *sources = gpuc_new_array(ctx, gpuc_c_source, n);
    gpuc_module_blob *files = gpuc_new_array(ctx, gpuc_module_blob, n);
    const char **names = gpuc_new_array(ctx, const char *, n);
    int count = 0;
    for (int first = 0, end; first < n; first = end, count++) {
        end = gpuc_codegen_module_end(first, n, kernels, SHARD_KERNELS, SHARD_BYTES);
        gpuc_buf *text = gpuc_new(ctx, gpuc_buf);
        gpuc_buf_init(text, ctx->allocator);
        gpuc_ctx_push_cleanup(ctx, free_buf, text);
        gpuc_c_write_file(ctx, t, end - first, kernels + first, text);
        files[count] =
            (gpuc_module_blob){"", gpuc_ctx_memdup(ctx, gpuc_buf_cstr(text), text->size + 1), text->size};
        if (first == 0) gpuc_c_write_isa(text);
        GPUC_RAISE_IF(ctx, gpuc_buf_status(text));
        sources[count] =
            (gpuc_c_source){gpuc_ctx_memdup(ctx, gpuc_buf_cstr(text), text->size + 1), text->size};
        gpuc_ctx_pop_cleanup(ctx, true);
        names[count] = gpuc_ctx_printf(ctx, "kernels%d.c", count);
    }
    gpuc_module_blob *module = gpuc_new(ctx, gpuc_module_blob);
    module->type_key = "cpu_so";
    gpuc_c_compile(ctx, t, count, sources, &module->bytes, &module->size);
    gpuc_c_read_isa(ctx, module->bytes, module->size, out);
    out->num_modules = 1;
    out->modules = module;
    out->num_files = count;
    out->file_names = names;
    out->files = files;
}

static void print_files(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                        gpuc_buf *out)
{
    for (int first = 0, end, count = 0; first < n; first = end, count++) {
        end = gpuc_codegen_module_end(first, n, kernels, SHARD_KERNELS, SHARD_BYTES);
        gpuc_buf_printf(out, "%skernels%d.c:\n", count ? "\n" : "", count);
        gpuc_c_write_file(ctx, t, end - first, kernels + first, out);
    }
}

const gpuc_codegen gpuc_codegen_c = {.emit = emit_kernel, .link = link_kernels, .print = print_files};
