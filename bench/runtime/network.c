/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that are built here and run on a device. */
#include "compile/program.h"
#include "launches.h"

typedef struct making {
    const char *target;
    bench_maker *make;
    void *arg;
    gpuc_buf *package;
} making;

static void build(gpuc_ctx *ctx, void *arg)
{
    const making *m = arg;
    gpuc_build_package_bytes(ctx, m->make(ctx, m->arg), gpuc_target_parse(ctx, m->target, NULL), m->package);
}

gpuc_status bench_network_open(gpuc_device *dev, const char *target, bench_maker *make, void *arg,
                               bench_network *out)
{
    making m = {target, make, arg, &out->package};
    gpuc_ctx *ctx;
    gpuc_buf_init(&out->package, gpuc_runtime_allocator(dev->runtime));
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, build, &m);
    gpuc_ctx_destroy(ctx);
    GPUC_TRY(status);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.bytes = out->package.data;
    desc.size = out->package.size;
    desc.device = dev;
    desc.allow_native_code = true; /* made here */
    GPUC_TRY(gpuc_model_load(dev->runtime, &desc, &out->model));
    return gpuc_session_create(out->model, &out->session);
}

gpuc_status bench_network_run(bench_network *n, double *out_seconds)
{
    double from = bench_now();
    GPUC_TRY(gpuc_session_run(n->session));
    GPUC_TRY(gpuc_session_sync(n->session));
    *out_seconds = bench_now() - from;
    return NULL;
}

void bench_network_close(bench_network *n)
{
    gpuc_session_release(n->session);
    gpuc_model_release(n->model);
    gpuc_buf_deinit(&n->package);
}
