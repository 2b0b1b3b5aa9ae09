/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX backend tests of single operators (Debian package libonnx-testdata, or folders on the command
 * line): each model is imported and run by the interpreter, as it is, optimised, and with its inputs made
 * constants, so that all of it folds. Models of operators or types that the importer refuses as unsupported
 * are skipped. What a newer package has beside the tests of ONNX 1.12 (tests/conformance) is told, and fails
 * nothing. */
#include <math.h>
#include <sys/stat.h>

#include "../relay_pass/interp.h"
#include "base/file.h"
#include "node_tests.h"
#include "relay_pass/passes.h"

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* The files hold bfloat16 as uint16. */
static gpuc_rexpr *to_constant(gpuc_ctx *ctx, Onnx__TensorProto *t, const gpuc_rtype *type)
{
    gpuc_onnx m = {.ctx = ctx, .dir = ".", .memory = &node_tests_memory};
    if (type && type->tensor.dtype.code == GPUC_DTYPE_BFLOAT && t->data_type == 4) t->data_type = 16;
    return gpuc_onnx_tensor(&m, t, t->name ? t->name : "");
}

typedef struct test_case {
    const char *dir;
    int set;
    int checked; /* outputs */
} test_case;

/* File number i of "input" or "output"; NULL if there is none. */
static const char *data_file(gpuc_ctx *ctx, const test_case *c, const char *what, int i)
{
    const char *path = gpuc_ctx_printf(ctx, "%s/test_data_set_%d/%s_%d.pb", c->dir, c->set, what, i);
    return exists(path) ? path : NULL;
}

static void check_outputs(gpuc_ctx *ctx, test_case *c, gpuc_rmodule *m, const char *how, int n,
                          gpuc_rexpr *const *args)
{
    gpuc_ptrs outs = {0};
    const char *path;
    interp_run(ctx, m, gpuc_rmodule_get(m, "main"), n, args, &outs);
    for (int i = 0; (path = data_file(ctx, c, "output", i)); i++) {
        Onnx__TensorProto *t = node_tests_tensor(ctx, path);
        gpuc_rexpr *got = (size_t)i < outs.count ? outs.at[i] : NULL,
                   *want = to_constant(ctx, t, got ? got->type : NULL);
        gpuc_onnx__tensor_proto__free_unpacked(t, &node_tests_memory);
        if (!got) gpuc_raise(ctx, GPUC_INTERNAL, "%s: there is no output %d", how, i);
        if (!gpuc_relay_rtype_equal(got->type, want->type)) {
            gpuc_buf text;
            gpuc_buf_init(&text, ctx->allocator);
            gpuc_relay_rtype_print(ctx, &text, got->type);
            gpuc_buf_str(&text, ", not ");
            gpuc_relay_rtype_print(ctx, &text, want->type);
            gpuc_raise(ctx, GPUC_INTERNAL, "%s: output %d is %s", how, i, gpuc_buf_cstr(&text));
        }
        bool half = want->type->tensor.dtype.bits == 16;
        double largest = 0; /* terms of a transform cancel: what is left of them is as exact as they are */
        for (int64_t k = 0; k < fx_count(want); k++)
            if (isfinite(fx_element(ctx, want, k))) largest = fmax(largest, fabs(fx_element(ctx, want, k)));
        for (int64_t k = 0; k < fx_count(want); k++) {
            double x = fx_element(ctx, got, k), y = fx_element(ctx, want, k);
            double limit = gpuc_is_float(want->type->tensor.dtype)
                               ? (half ? 1e-3 + 1e-2 * fabs(y) : 1e-5 + 1e-3 * fabs(y) + 1e-6 * largest)
                               : 0;
            if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= limit))
                gpuc_raise(ctx, GPUC_INTERNAL, "%s: element %lld of output %d is %.9g, should be %.9g", how,
                           (long long)k, i, x, y);
        }
        c->checked++;
    }
}

static void optimize(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    gpuc_relay_pass_ctx p = {
        .ctx = ctx, .module = m, .opt_level = 3, .fold_limit = 1 << 30, .keep_constants = true};
    gpuc_relay_pass_optimize(&p);
}

static void run_plain(gpuc_ctx *ctx, void *arg)
{
    test_case *c = arg;
    gpuc_rmodule *m = gpuc_onnx_load(ctx, gpuc_ctx_printf(ctx, "%s/model.onnx", c->dir), NULL);
    int n = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->n;
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        const char *path = data_file(ctx, c, "input", i);
        if (!path) gpuc_raise(ctx, GPUC_INTERNAL, "there is no input %d", i);
        Onnx__TensorProto *t = node_tests_tensor(ctx, path);
        const gpuc_rtype *type = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->params[i]->type;
        args[i] = to_constant(ctx, t, type);
        gpuc_onnx__tensor_proto__free_unpacked(t, &node_tests_memory);
        if (!gpuc_relay_rtype_equal(args[i]->type, type))
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "data of another type than input %d", i);
    }
    check_outputs(ctx, c, m, "plain", n, args);
    optimize(ctx, m);
    check_outputs(ctx, c, m, "optimised", n, args);
}

/* The model with its inputs as initializers, packed anew. */
static void run_constant(gpuc_ctx *ctx, void *arg)
{
    test_case *c = arg;
    Onnx__ModelProto *model = node_tests_model(ctx, c->dir);
    if (!model->graph) gpuc_raise(ctx, GPUC_INVALID_DATA, "no graph");
    Onnx__GraphProto *g = model->graph;
    for (size_t i = 0; i < g->n_input; i++)
        if (g->input[i]->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
            gpuc_onnx__model_proto__free_unpacked(model, &node_tests_memory);
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "input %zu is not a tensor", i);
        }
    g->initializer = realloc(g->initializer, sizeof *g->initializer * (g->n_initializer + g->n_input + 1));
    for (size_t i = 0; i < g->n_input; i++) {
        const char *path = data_file(ctx, c, "input", (int)i);
        if (!path) continue;
        Onnx__TensorProto *t = node_tests_tensor(ctx, path);
        free(t->name != protobuf_c_empty_string ? t->name : NULL);
        t->name = strdup(g->input[i]->name);
        if (g->input[i]->type->tensor_type->elem_type == 16) t->data_type = 16;
        g->initializer[g->n_initializer++] = t;
    }
    size_t size = gpuc_onnx__model_proto__get_packed_size(model);
    uint8_t *bytes = gpuc_ctx_alloc(ctx, size);
    gpuc_onnx__model_proto__pack(model, bytes);
    gpuc_onnx__model_proto__free_unpacked(model, &node_tests_memory);
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.constant_defaults = true;
    gpuc_rmodule *m = gpuc_onnx_load_bytes(ctx, bytes, size, "constant model", c->dir, &options);
    optimize(ctx, m);
    gpuc_rexpr *body = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body;
    int64_t dims[64];
    if (body->kind == GPUC_REXPR_CALL && !gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(body), dims))
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "extents that are found when it runs");
    if (body->kind == GPUC_REXPR_CALL) gpuc_raise(ctx, GPUC_INTERNAL, "did not fold");
    check_outputs(ctx, c, m, "folded", 0, NULL);
}

/* ---- The tests of ONNX 1.12 ---------------------------------------------------------------------- */

static const char *const tables[] = {"tests/conformance/tensor-tests-1.12.tsv",
                                     "tests/conformance/excluded-1.12.tsv"};
static gpuc_mapping known[2];

static bool map_tables(void)
{
    for (int i = 0; i < 2; i++) {
        gpuc_status status = gpuc_file_map(tables[i], &known[i]);
        if (!status) continue;
        printf("FAILED: %s\n", gpuc_status_message(status));
        gpuc_status_release(status);
        return false;
    }
    return true;
}

/* A line of a table begins with the folder of its test. */
static bool is_of_table(const char *name)
{
    char start[300];
    int n = snprintf(start, sizeof start, "\nnode/%s\t", name);
    for (int i = 0; i < 2; i++)
        if (memmem(known[i].data, known[i].size, start, (size_t)n)) return true;
    return false;
}

/* ---- All of a folder ----------------------------------------------------------------------------- */

static int num_passed, num_skipped, num_failed, num_newer;
static bool verbose;

static void run_one(const char *dir, const char *name, bool must_pass, fx_body *body)
{
    test_case c = {.dir = dir};
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, body, &c);
    if (!status && c.checked) {
        num_passed++;
    } else if (gpuc_status_code(status) == GPUC_UNSUPPORTED) {
        num_skipped++;
        if (verbose) printf("skipped %s: %s\n", name, gpuc_status_message(status));
    } else {
        (*(must_pass ? &num_failed : &num_newer))++;
        printf("%s %s: %s\n", must_pass ? "FAILED" : "newer than ONNX 1.12, and failed:", name,
               status ? gpuc_status_message(status) : "no outputs");
    }
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
}

/* Their outputs are draws. */
static bool is_random(const char *name)
{
    static const char *const names[] = {"test_training_dropout", "test_training_dropout_default",
                                        "test_training_dropout_default_mask", "test_training_dropout_mask"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

static void run_both(const char *dir, const char *name)
{
    if (is_random(name)) return;
    bool must_pass = is_of_table(name);
    run_one(dir, name, must_pass, run_plain);
    run_one(dir, name, must_pass, run_constant);
}

int main(int argc, char **argv)
{
    int first = 1;
    if (first < argc && !strcmp(argv[first], "-v")) verbose = first++;
    if (!map_tables()) return 1;
    if (first == argc && node_tests_each(node_tests_dir, run_both) < 0) {
        printf("skipped: there is no %s (Debian: libonnx-testdata)\n", node_tests_dir);
        return 77;
    }
    for (int i = first; i < argc; i++) {
        char model[4200];
        snprintf(model, sizeof model, "%s/model.onnx", argv[i]);
        if (!exists(model)) {
            node_tests_each(argv[i], run_both);
            continue;
        }
        run_one(argv[i], argv[i], true, run_plain);
        run_one(argv[i], argv[i], true, run_constant);
    }
    for (int i = 0; i < 2; i++) gpuc_file_unmap(&known[i]);
    printf("cases: %d (%d failed, %d skipped, %d newer than the table failed)\n", num_passed, num_failed,
           num_skipped, num_newer);
    return num_failed || !num_passed;
}
