/* SPDX-License-Identifier: Apache-2.0 */
/* export FILE: builds C[i] = A[i] + B[i], split into groups of 64, for three targets, and writes a library that
 * use.c loads. No device is needed. */
#include <stdio.h>

#include <gpuc/build.h>

static void build(gpuc_ctx *ctx, void *path)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_expr sum = gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, sum);
    gpuc_library *lib = gpuc_library_create(ctx);
    for (const char *const *t = (const char *const[]){"vulkan", "opencl", "c", NULL}; *t; t++) {
        gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
        gpuc_stage *st = gpuc_schedule_stage(s, c);
        gpuc_iter *bx, *tx;
        gpuc_stage_split(st, gpuc_stage_axis(st, 0), 64, &bx, &tx);
        gpuc_stage_bind(st, bx, "blockIdx.x");
        gpuc_stage_bind(st, tx, "threadIdx.x");
        gpuc_library_add(lib, gpuc_target_parse(ctx, *t, NULL),
                         gpuc_schedule_lower(s, "vector_add", 3, (gpuc_tensor *[]){a, b, c}));
    }
    puts(gpuc_library_source(lib, "opencl"));
    gpuc_library_save(lib, path);
}

int main(int argc, char **argv)
{
    gpuc_ctx *ctx = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: export FILE\n");
        return 2;
    }
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, argv[1]);
    if (status) fprintf(stderr, "export: %s\n", gpuc_status_message(status));
    int code = status != NULL;
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return code;
}
