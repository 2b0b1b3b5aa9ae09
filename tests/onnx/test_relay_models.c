/* SPDX-License-Identifier: Apache-2.0 */
/* Models as programs: what is printed of an imported model parses, has the same types, and prints the same. The
 * arguments are the model files. */
#include <gpuc/onnx.h>

#include "../relay/fixture.h"

static const char *text_of(gpuc_ctx *ctx, const gpuc_rmodule *m, int flags, gpuc_ptrs *constants)
{
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    gpuc_relay_print(ctx, &out, m, flags, constants);
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

static void expect_same(const char *a, const char *b)
{
    size_t line = 1;
    for (; *a && *a == *b; a++, b++) line += *a == '\n';
    if (*a != *b) fail_msg("line %zu: '%.100s' became '%.100s'", line, a, b);
}

static void round_trip(gpuc_ctx *ctx, void *arg)
{
    const char *path = arg;
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.keep_symbolic = true;
    gpuc_ptrs constants = {0}, again = {0};
    gpuc_rmodule *model = gpuc_onnx_load(ctx, path, &options), *program = gpuc_rmodule_create(ctx);
    const char *first = text_of(ctx, model, GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_TYPES, &constants);
    gpuc_relay_parse_text(ctx, program, first, path, &constants);
    gpuc_relay_infer_module(ctx, program);
    const char *second = text_of(ctx, program, GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_TYPES, &again);
    expect_same(first, second);
    assert_int_equal(constants.count, again.count);
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        gpuc_ctx *ctx;
        printf("%s\n", argv[i]);
        if (gpuc_ctx_create(NULL, &ctx)) return 1;
        gpuc_status status = gpuc_ctx_protect(ctx, round_trip, argv[i]);
        if (status) {
            printf("%s\n", gpuc_status_message(status));
            failed++;
        }
        gpuc_status_release(status);
        gpuc_ctx_destroy(ctx);
    }
    return failed;
}
