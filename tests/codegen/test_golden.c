/* SPDX-License-Identifier: Apache-2.0 */
/* What is generated reads as a person would write it: whole texts of small kernels. The files of
 * tests/codegen/golden hold them; `test_codegen_golden --update` writes them anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lower/lower.h"
#include "run.h"

static bool update;

static const char vector_add[] =
    "func vector_add(A: float32[n] global, B: float32[n] global, C: float32[n] global, n: int32) {\n"
    "  for bx: int32 in 0..(n + 63) // 64 bind blockIdx.x {\n"
    "    for tx: int32 in 0..64 bind threadIdx.x {\n"
    "      if (bx*64 + tx < n) {\n"
    "        C[bx*64 + tx] = A[bx*64 + tx] + B[bx*64 + tx]\n"
    "      }\n    }\n  }\n}\n";

static const char vector_add_even[] =
    "func vector_add(A: float32[1024] global, B: float32[1024] global, C: float32[1024] global) {\n"
    "  for bx in 0..16 bind blockIdx.x {\n"
    "    for tx in 0..64 bind threadIdx.x {\n"
    "      C[bx*64 + tx] = A[bx*64 + tx] + B[bx*64 + tx]\n"
    "    }\n  }\n}\n";

static const char register_tile[] =
    "func tile(A: float32[16, 24] global, B: float32[24, 16] global, C: float32[16, 16] global) {\n"
    "  for i in 0..8 bind blockIdx.x {\n"
    "    alloc acc: float32[2, 16] local\n"
    "    for r in 0..2 unrolled { for j in 0..16 vectorized { acc[r, j] = 0.0 } }\n"
    "    for k in 0..24 { for r in 0..2 unrolled { for j in 0..16 vectorized {\n"
    "      acc[r, j] = acc[r, j] + A[i*2 + r, k]*B[k, j]\n    } } }\n"
    "    for r in 0..2 unrolled { for j in 0..16 vectorized { C[i*2 + r, j] = max(acc[r, j], 0.0) } }\n"
    "  }\n}\n";

static const char odds_and_ends[] =
    "func odds(A: float32[64] global, I: int32[64] global, P: bool[64] global, C: float32[64] global) {\n"
    "  for i in 0..64 bind blockIdx.x {\n"
    "    let x = if_then_else(3 <= i && (i < 60 || P[i]), A[i - 3], -1.0)\n"
    "    if (P[i]) {\n      C[i] = x*0.5 + exp(A[i])\n    } else if (I[i] < int32(0)) {\n"
    "      C[i] = x\n    } else {\n      C[i] = 0.0\n    }\n"
    "    I[i] = I[i]*int32(3) - I[63 - i]\n"
    "  }\n}\n";

static const char stream[] =
    "func stream(A: float32[64, 16] global, C: float32[64, 16] global non_temporal) {\n"
    "  for i in 0..64 parallel {\n    for j in 0..16 vectorized { C[i, j] = A[i, j]*2.0 }\n  }\n}\n";

static const char product[] =
    "func product(A: float16[16, 16] global, B: float16[16, 16] global, C: float32[16, 16] global) {\n"
    "  for bx in 0..1 bind blockIdx.x {\n    alloc S: float16[16, 16] shared\n"
    "    alloc P: float16[256] coopmat\n    alloc Q: float16[256] coopmat\n    alloc R: float32[256] "
    "coopmat\n"
    "    for t in 0..16 bind threadIdx.x { for i in 0..16 { S[i, t] = max(B[i, t], float16(0.0)) } }\n"
    "    attr coopmat { for i in 0..16 { for j in 0..16 { R[i*16 + j] = 0.0 } } }\n"
    "    attr coopmat { for i in 0..16 { for j in 0..16 { P[i*16 + j] = A[i, j] } } }\n"
    "    attr coopmat { for i in 0..16 { for j in 0..16 { Q[i*16 + j] = S[i, j] } } }\n"
    "    attr coopmat { for i in 0..16 { for j in 0..16 { for k in 0..16 {\n"
    "      R[i*16 + j] = R[i*16 + j] + float32(P[i*16 + k])*float32(Q[k*16 + j])\n    } } } }\n"
    "    attr coopmat { for i in 0..16 { for j in 0..16 { C[i, j] = R[i*16 + j] } } }\n"
    "  }\n}\n";

/* A sum and what rounding it has lost; the greater of two, of which both may be NaN. */
static const char floats[] =
    "func floats(A: float32[16] global, B: float32[16] global, C: float32[16] global, D: float32[16] global) "
    "{\n"
    "  for i in 0..16 bind blockIdx.x {\n"
    "    let s = exact(A[i] + B[i])\n"
    "    C[i] = exact(B[i] - exact(s - A[i]))\n"
    "    D[i] = max(A[i], B[i])\n"
    "  }\n}\n";

/* PoCL needs help with the condition, other drivers pay nothing. */
static const char guarded[] =
    "func guarded(A: float32[16, 64] global, C: float32[16, 64] global) {\n"
    "  for bx in 0..16 bind blockIdx.x {\n    alloc S: float32[64] shared\n"
    "    for tx in 0..64 bind threadIdx.x {\n      C[bx, tx] = 0.0\n"
    "      for s in 0..4 {\n        barrier()\n        S[tx] = A[bx, (tx + s) %% 64]\n        barrier()\n"
    "        if (bx < 9) { for k in 0..8 { C[bx, tx] = C[bx, tx] + S[(tx + k) %% 64] } }\n      }\n"
    "    }\n  }\n}\n";

/* Lowering clamps what is converted, so that the conversion itself need not saturate. */
static const char casts[] = "func casts(A: float32[64] global, C: uint8[64] global, D: int8[64] global) {\n"
                            "  for i in 0..8 bind blockIdx.x {\n"
                            "    for j in 0..8 vectorized {\n"
                            "      C[i*8 + j] = uint8(A[i*8 + j])\n"
                            "      D[i*8 + j] = int8(A[i*8 + j])\n"
                            "    }\n  }\n}\n";

/* Padding of a row. Where lanes are threads there is no branch: texels beyond the row are read at its ends, and not used. */
static const char edges[] =
    "func edges(A: float32[2, 64] global, C: float32[2, 72] global) {\n"
    "  for bx in 0..2 bind blockIdx.x {\n    for tx in 0..18 bind threadIdx.x {\n"
    "      for j in 0..4 vectorized {\n"
    "        C[bx, tx*4 + j] = if_then_else(tx*4 + j >= 3 && tx*4 + j < 67, A[bx, tx*4 + j - 3], 0.5)\n"
    "      }\n    }\n  }\n}\n";

static const struct {
    const char *file, *target, *text;
} cases[] = {
    {"edges.spvasm", "vulkan/llvmpipe", edges},
    {"casts.c", "c -vector_bits=256", casts},
    {"casts.cl", "opencl", casts},
    {"guarded.cl", "opencl", guarded},
    {"vector_add.c", "c", vector_add},
    {"vector_add.cl", "opencl", vector_add},
    {"vector_add.spvasm", "opencl -max_num_threads=64", NULL}, /* the kernel as OpenCL has it, as SPIR-V */
    {"vector_add_even.c", "c", vector_add_even},
    {"vector_add_even.cl", "opencl", vector_add_even},
    {"vector_add_even.spvasm", "vulkan", vector_add_even},
    {"vector_add_even_uniform.spvasm", "vulkan -storage_buffer_class=0", vector_add_even},
    {"tile.c", "c -vector_bits=256", register_tile},
    {"tile.cl", "opencl", register_tile},
    {"tile.spvasm", "vulkan", register_tile},
    {"odds.c", "c", odds_and_ends},
    {"odds.cl", "opencl", odds_and_ends},
    {"stream.c", "c -vector_bits=512", stream},
    {"stream.cl", "opencl", stream},
    {"stream.spvasm", "vulkan", stream},
    {"floats.c", "c", floats},
    {"floats.cl", "opencl", floats},
    {"floats.spvasm", "vulkan", floats}, /* NaN is found by bits */
    {"floats_controls.spvasm", "vulkan -float_controls=1", floats},
    {"product.c", "c", product},
    {"product.cl", "opencl", product},
    {"product.spvasm", "vulkan",
     product}, /* without the instructions: spirv-dis may be older than they are */
};

/* ---- Files and listings ------------------------------------------------------------------------- */

static char *read_all(FILE *file)
{
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    for (size_t n; (n = fread(text + size, 1, capacity - size - 1, file)) > 0;) {
        size += n;
        if (capacity - size < 2) text = realloc(text, capacity *= 2);
    }
    text[size] = 0;
    return text;
}

static const char *golden_path(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "tests/codegen/golden/%s", name);
    return path;
}

static void check_text(const char *name, const char *text)
{
    FILE *file = fopen(golden_path(name), update ? "w" : "r");
    if (!file) fail_msg("cannot open %s", golden_path(name));
    if (update) {
        fputs(text, file);
        fclose(file);
        return;
    }
    char *want = read_all(file);
    fclose(file);
    if (strcmp(text, want) != 0) fail_msg("%s has changed; it is now:\n%s", name, text);
    free(want);
}

#ifdef GPUC_SPIRV_DIS
static char *disassemble(const gpuc_kernel_code *code)
{
    char path[] = "/tmp/gpuc-dis-XXXXXX";
    int fd = mkstemp(path), ends[2];
    assert_true(fd >= 0 && pipe(ends) == 0);
    assert_int_equal(write(fd, code->bytes, code->size), (ssize_t)code->size);
    close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        execl(GPUC_SPIRV_DIS, GPUC_SPIRV_DIS, "--no-header", "--no-color", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    char *text = read_all(file);
    fclose(file);
    waitpid(pid, NULL, 0);
    unlink(path);
    return text;
}
#endif

/* ---- The cases ---------------------------------------------------------------------------------- */

typedef struct golden_arg {
    const char *file, *target, *text;
} golden_arg;

static void check_golden(gpuc_ctx *ctx, void *arg)
{
    const golden_arg *a = arg;
    bool spirv = strstr(a->file, ".spvasm") != NULL;
    const gpuc_target *t = gpuc_target_parse(ctx, a->target, NULL);
    gpuc_tir_program *p = gpuc_lower(ctx, gpuc_tir_parse(ctx, a->text ? a->text : vector_add, a->file), t);
    assert_int_equal(p->num_kernels, 1);
    if (spirv && t->kind != &gpuc_target_builtin[GPUC_TARGET_VULKAN])
        t = gpuc_target_parse(ctx, "vulkan", NULL);
    gpuc_kernel_code code = run_emit(ctx, t, p->kernels[0]);
#ifdef GPUC_SPIRV_DIS
    if (spirv) {
        char *listing = disassemble(&code);
        check_text(a->file, listing);
        free(listing);
    }
#endif
    if (spirv) return;
    gpuc_linked linked;
    gpuc_codegen_get(ctx, t)->link(ctx, t, 1, &code, &linked);
    assert_int_equal(linked.num_files, 1);
    check_text(a->file, linked.files[0].bytes);
}

static void texts_are_as_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        golden_arg a = {cases[i].file, cases[i].target, cases[i].text};
        run_in_ctx(check_golden, &a);
    }
}

/* ---- Modules ------------------------------------------------------------------------------------- */

#define MANY 40

static gpuc_kernel_code *emit_many(gpuc_ctx *ctx, const gpuc_target *t)
{
    gpuc_kernel_code *codes = gpuc_new_array(ctx, gpuc_kernel_code, MANY);
    for (int i = 0; i < MANY; i++) {
        char *text = gpuc_ctx_printf(
            ctx,
            "func k%d(A: float32[64] global) { for i in 0..64 bind blockIdx.x { A[i] = A[i]*%d.0 + "
            "tanh(A[i]) } }",
            i, i + 2);
        gpuc_tir_program *p = gpuc_lower(ctx, gpuc_tir_parse(ctx, text, "many"), t);
        codes[i] = run_emit(ctx, t, p->kernels[0]);
    }
    return codes;
}

static void link_twice(gpuc_ctx *ctx, void *arg)
{
    const gpuc_target *t = gpuc_target_parse(ctx, arg, NULL);
    gpuc_linked a, b;
    gpuc_codegen_get(ctx, t)->link(ctx, t, MANY, emit_many(ctx, t), &a);
    gpuc_codegen_get(ctx, t)->link(ctx, t, MANY, emit_many(ctx, t), &b);
    assert_int_equal(a.num_modules, b.num_modules);
    for (int i = 0; i < a.num_modules; i++) {
        assert_int_equal(a.modules[i].size, b.modules[i].size);
        assert_memory_equal(a.modules[i].bytes, b.modules[i].bytes, a.modules[i].size);
    }
    if (t->kind != &gpuc_target_builtin[GPUC_TARGET_VULKAN])
        assert_true(a.num_files > 1); /* shards, programs */
    for (int i = 0; i < MANY; i++) assert_true(a.kernel_module[i] < (uint32_t)a.num_modules);
}

static void equal_kernels_give_equal_bytes(void **state)
{
    (void)state;
    run_in_ctx(link_twice, "c -cflags=-O1");
    run_in_ctx(link_twice, "opencl");
    run_in_ctx(link_twice, "vulkan");
}

/* ---- Mistakes ------------------------------------------------------------------------------------ */

typedef struct mistake {
    const char *target, *text, *part;
} mistake;

static void make_mistake(gpuc_ctx *ctx, void *arg)
{
    const mistake *m = arg;
    const gpuc_target *t = gpuc_target_parse(ctx, m->target, NULL);
    const gpuc_tir_func *f = gpuc_tir_parse(ctx, m->text, "mistake");
    gpuc_kernel_code code[2];
    gpuc_codegen_emit(ctx, t, f, &code[0]);
    code[1] = code[0];
    gpuc_linked linked;
    gpuc_codegen_get(ctx, t)->link(ctx, t, strstr(m->part, "two kernels") ? 2 : 1, code, &linked);
}

static void mistakes_are_named(void **state)
{
    (void)state;
#define BODY " { A[int32(0)] = 1.0 }"
#define F "func f(A: float32[4] global) stage target"
    static const mistake mistakes[] = {
        {"c -cc=no-such-compiler", F BODY, "-cc="},
        {"c -cflags=-no-such-flag", F BODY, "exit code"},
        {"c", F BODY, "two kernels"},
        {"opencl", F BODY, "two kernels"},
        {"vulkan", F BODY, "two kernels"},
        {"c", F " launch (x: int32 = blockIdx.x of int32(4))" BODY, "launch dimensions"},
        {"vulkan", F " launch (x: int32 = threadIdx.x of int32(2048))" BODY, "max_threads_x"},
        {"vulkan -max_threads_x=512", F " launch (x: int32 = threadIdx.x of int32(256))" BODY,
         "max_num_threads"},
        {"vulkan", "func f(A: float64[4] global) stage target { A[int32(0)] = float64(1) }", "float64"},
        {"vulkan", "func f(A: int8[4] global) stage target { A[int32(0)] = int8(1) }", "storage8"},
        {"vulkan", F " {\n alloc S: float32[8192] shared\n S[int32(0)] = 1.0\n A[int32(0)] = S[int32(0)]\n }",
         "max_shared_memory"},
        {"opencl", F " { A[int32(0)] = subgroup_add(A[int32(1)]) }", "subgroup"},
        {"c", F " { A[int32(0)] = subgroup_add(A[int32(1)]) }", "subgroup_add"},
        {"vulkan", "func f(A: float64[4] global) stage target { A[int32(0)] = erf(A[int32(1)]) }", "float64"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        gpuc_status s = gpuc_ctx_protect(ctx, make_mistake, (void *)&mistakes[i]);
        if (!s) fail_msg("%s: %s gave no error", mistakes[i].target, mistakes[i].text);
        if (!strstr(gpuc_status_message(s), mistakes[i].part))
            fail_msg("'%s' lacks '%s'", gpuc_status_message(s), mistakes[i].part);
        gpuc_status_release(s);
        gpuc_ctx_destroy(ctx);
    }
}

int main(int argc, char **argv)
{
    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_kept),
        cmocka_unit_test(equal_kernels_give_equal_bytes),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
