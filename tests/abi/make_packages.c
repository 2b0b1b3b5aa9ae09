/* SPDX-License-Identifier: Apache-2.0 */
/* make_packages DIR CODE_DIR: small packages, and modules of code, for the fuzz targets to start from, made anew in each
 * build so that they have the format as it is. No package has native code. */
#include "../relay/fixture.h"

#include <sys/stat.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/files.h>
#include <gpuc/lower.h>

#include "sample.h"

static const char *folder, *code_folder;

static const char *path_of(gpuc_ctx *ctx, const char *name, const char *target)
{
    return gpuc_ctx_printf(ctx, "%s/%s_%s.gpuc", folder, name, target);
}

static void write_for_all(gpuc_ctx *ctx, const char *name, gpuc_rmodule *(*make)(gpuc_ctx *ctx))
{
    static const char *const targets[] = {"opencl", "vulkan"};
    const gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    for (size_t i = 0; i < LEN(targets); i++) {
        const gpuc_target *t = gpuc_target_parse(ctx, targets[i], NULL);
        gpuc_build_package(ctx, make(ctx), 1, &t, &options, path_of(ctx, name, targets[i]), NULL);
    }
}

/* With a weight. */
static gpuc_rmodule *fixed(gpuc_ctx *ctx)
{
    static const float w[] = {1, -2, 3};
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3));
    gpuc_rexpr *y = fx_op1(ctx, "nn.relu", NULL, fx_op2(ctx, "add", x, fx_floats(ctx, FX_DIMS(3), w)));
    return fx_module(ctx, y, 1, &x);
}

/* Symbols that must fit each other. */
static gpuc_rmodule *symbolic(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), m = gpuc_var(ctx, "m", GPUC_INDEX);
    gpuc_expr half[] = {gpuc_int(ctx, 2), gpuc_int(ctx, -1)};
    gpuc_rexpr *in[] = {gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &n)),
                        gpuc_relay_var(ctx, "y", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &m))};
    gpuc_rexpr *sum = fx_op2(ctx, "add", in[0], in[1]);
    sum = gpuc_relay_op1(ctx, "reshape", gpuc_attrs_sizes(ctx, NULL, "newshape", 2, half), sum);
    return fx_module(ctx, sum, 2, in);
}

/* Sizes that are read: one with a bound, one without. */
static gpuc_rmodule *computed(gpuc_ctx *ctx)
{
    gpuc_ptrs reads = {0};
    gpuc_rexpr *in[] = {fx_var(ctx, "x", FX_DIMS(8)),
                        gpuc_relay_var(ctx, "n", gpuc_relay_rtype_tensor(ctx, GPUC_INT64, 0, NULL))};
    gpuc_rexpr *positive = fx_op2(ctx, "greater", in[0], gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 0));
    positive = fx_op1(ctx, "sum", NULL, fx_op1(ctx, "cast", "dtype=int64", positive));
    gpuc_expr few = gpuc_relay_read_size(ctx, &reads, "few", positive, gpuc_int(ctx, 8));
    gpuc_expr many = gpuc_relay_read_size(ctx, &reads, "many", in[1], NULL);
    gpuc_rexpr *cut = gpuc_relay_truncate(ctx, fx_op1(ctx, "negative", NULL, in[0]), 0, few);
    gpuc_rexpr *row = fx_op1(ctx, "sum", "axis=[0] keepdims=1", cut);
    gpuc_rexpr *wide =
        gpuc_relay_op1(ctx, "broadcast_to", gpuc_attrs_sizes(ctx, NULL, "shape", 1, &many), row);
    gpuc_rexpr *outs[] = {cut, fx_op2(ctx, "add", wide, wide)};
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_set_main(m, 2, in, 2, outs, &reads);
    return m;
}

/* Two kernels, with a tensor of n floats between them. */
static gpuc_tir_func *halves(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), half = gpuc_imm(ctx, GPUC_FLOAT32, 0.5);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *j = gpuc_te_axis(ctx, n, "j");
    gpuc_expr at[] = {gpuc_iter_var(i), gpuc_iter_var(j)};
    gpuc_tensor *t = gpuc_te_compute(ctx, "T", 1, &i, gpuc_mul(ctx, gpuc_te_read(ctx, a, 1, &at[0]), half));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &j, gpuc_add(ctx, gpuc_te_read(ctx, t, 1, &at[1]), half));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    return gpuc_schedule_lower(s, "halves", 2, (gpuc_tensor *[]){a, c});
}

static void write_library(gpuc_ctx *ctx)
{
    gpuc_library *l = gpuc_library_create(ctx);
    gpuc_tir_func *f = halves(ctx);
    gpuc_library_add(l, gpuc_target_parse(ctx, "opencl", NULL), f);
    gpuc_library_add(l, gpuc_target_parse(ctx, "vulkan", NULL), f);
    gpuc_library_save(l, path_of(ctx, "library", "opencl_vulkan"));
}

static void write_code(gpuc_ctx *ctx, gpuc_runtime *rt, const char *target, const char *extension)
{
    const gpuc_target *t = gpuc_target_parse(ctx, target, NULL);
    const gpuc_tir_func *const *kernels;
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, t);
    int n = gpuc_lower_passes(ctx, t, halves(ctx), "lower", &kernels);
    for (int i = 0; i < n; i++) gpuc_ir_module_add(ir, kernels[i]);
    gpuc_module *m = gpuc_ir_module_build(ir, rt);
    const char *path = gpuc_ctx_printf(ctx, "%s/halves.%s", code_folder, extension);
    GPUC_RAISE_IF(ctx, gpuc_module_save_file(m, path));
    gpuc_module_release(m);
}

static void write_modules(gpuc_ctx *ctx)
{
    gpuc_runtime *rt;
    GPUC_RAISE_IF(ctx, gpuc_runtime_create(NULL, &rt));
    GPUC_RAISE_IF(ctx, gpuc_compiler_register(rt));
    write_code(ctx, rt, "vulkan", "spirv");
    write_code(ctx, rt, "opencl", "opencl_c");
    write_code(ctx, rt, "c", "so");
    gpuc_runtime_release(rt);
}

static void make_all(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    sample s;
    sample_init(&s);
    gpuc_status status =
        gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, path_of(ctx, "sample", "vulkan_c"));
    if (status) fail_msg("%s", gpuc_status_message(status));
    write_for_all(ctx, "fixed", fixed);
    write_for_all(ctx, "symbolic", symbolic);
    write_for_all(ctx, "computed", computed);
    write_library(ctx);
    write_modules(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(make_all)};
    if (argc != 3) {
        fprintf(stderr, "usage: make_packages DIR CODE_DIR\n");
        return 2;
    }
    folder = argv[1];
    code_folder = argv[2];
    mkdir(folder, 0777);
    mkdir(code_folder, 0777);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
