/* SPDX-License-Identifier: Apache-2.0 */
/* The device of examples/backend_foo, which is compiled into the suite: its registration, and the suite's kernels as its
 * generator makes them of loop IR. */
#include <stdlib.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/lower.h>
#include <gpuc/plugin.h>

#include "cts.h"

gpuc_status cts_foo_register(gpuc_runtime *rt)
{
    return gpuc_plugin_init(rt, GPUC_ABI_VERSION);
}

static const char *const kernels[] = {
    "func vadd(a: float32[n] global, b: float32[n] global, c: float32[n] global, n: int32) stage flat {\n"
    "  for i: int32 in 0..n parallel {\n"
    "    c[i] = a[i] + b[i]\n"
    "  }\n"
    "}\n",
    "func affine(x: float32[n] global, y: float32[n] global, k: float32, n: int32) stage flat {\n"
    "  for i: int32 in 0..n {\n"
    "    y[i] = x[i]*k + 1.0\n"
    "  }\n"
    "}\n",
    "func scalars(out: int32[5] global, a: int32, b: int64, c: float32, d: int32) stage flat {\n"
    "  if (d > 0) {\n"
    "    out[0] = a\n"
    "    out[1] = int32(b)\n"
    "    out[2] = int32(shr(b, 32))\n"
    "    out[3] = reinterpret<int32>(c)\n"
    "    out[4] = d\n"
    "  }\n"
    "}\n",
};

typedef struct job {
    gpuc_runtime *rt;
    gpuc_module *module;
} job;

static void build(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    gpuc_ctx_set_runtime(ctx, j->rt);
    const gpuc_target *target = gpuc_target_parse(ctx, "foo", NULL);
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, target);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const gpuc_tir_func *const *lowered;
        gpuc_lower_passes(ctx, target, gpuc_tir_parse(ctx, kernels[i], "the kernels of the suite"), "lower",
                          &lowered);
        gpuc_ir_module_add(ir, lowered[0]);
    }
    j->module = gpuc_ir_module_build(ir, j->rt);
}

gpuc_status cts_foo_kernels(gpuc_value *out, gpuc_runtime *rt)
{
    gpuc_ctx *ctx;
    job j = {.rt = rt};
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status s = gpuc_ctx_protect(ctx, build, &j);
    gpuc_ctx_destroy(ctx);
    if (!s) s = gpuc_module_save_binary(j.module, out);
    gpuc_module_release(j.module);
    return s;
}
