/* SPDX-License-Identifier: Apache-2.0 */
/* Suppression of boxes, and scattering by tuples: one package for all numbers of batches, classes and boxes
 * gives what packages do that are built for each. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH, CLASSES, BOXES, SIZES, MAX_IN = 5, MAX_OUT = 2, MAX_BYTES = 1 << 20 };

typedef struct operands {
    int n;
    gpuc_dtype dtypes[MAX_IN];
    int ndims[MAX_IN], num_outputs;
    gpuc_expr dims[MAX_IN][3];
    double scale; /* of the numbers of inputs with dimensions */
    double scalars[MAX_IN];
} operands;

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

/* ONNX's: boxes, scores, max boxes per class, two thresholds. */
static void all_classes(gpuc_ctx *ctx, const gpuc_expr *s, operands *o)
{
    gpuc_expr four = gpuc_int(ctx, 4);
    *o = (operands){.n = 5,
                    .dtypes = {GPUC_FLOAT32, GPUC_FLOAT32, GPUC_INT64, GPUC_FLOAT32, GPUC_FLOAT32},
                    .ndims = {3, 3, 0, 0, 0},
                    .num_outputs = 2,
                    .dims = {{s[BATCH], s[BOXES], four}, {s[BATCH], s[CLASSES], s[BOXES]}},
                    .scale = 1,
                    .scalars = {0, 0, 7, 0.3, 0.2}};
}

static void rows(gpuc_ctx *ctx, const gpuc_expr *s, operands *o)
{
    *o = (operands){.n = 2,
                    .dtypes = {GPUC_FLOAT32, GPUC_INT32},
                    .ndims = {3, 1},
                    .num_outputs = 1,
                    .dims = {{s[BATCH], s[BOXES], gpuc_int(ctx, 6)}, {s[BATCH]}},
                    .scale = 3};
}

static void anchors(gpuc_ctx *ctx, const gpuc_expr *s, operands *o)
{
    gpuc_expr four = gpuc_int(ctx, 4);
    *o = (operands){.n = 3,
                    .dtypes = {GPUC_FLOAT32, GPUC_FLOAT32, GPUC_FLOAT32},
                    .ndims = {3, 2, 3},
                    .num_outputs = 2,
                    .dims = {{s[BATCH], s[CLASSES], s[BOXES]},
                             {s[BATCH], gpuc_mul(ctx, s[BOXES], four)},
                             {gpuc_int(ctx, 1), s[BOXES], four}},
                    .scale = 1};
}

typedef struct box_case {
    const char *op, *attrs;
    void (*operands)(gpuc_ctx *ctx, const gpuc_expr *sizes, operands *o);
} box_case;

static const box_case cases[] = {
    {"vision.all_class_non_max_suppression", "", all_classes},
    {"vision.all_class_non_max_suppression", "center_point_box=1 max_output_size=5", all_classes},
    {"vision.nms", "nms_threshold=0.4", rows},
    {"vision.nms", "nms_threshold=0.3 force_suppress=1 nms_topk=9", rows},
    {"vision.multibox_transform_loc", "threshold=0.3", anchors},
};

static void build(gpuc_ctx *ctx, const box_case *c, const gpuc_expr *sizes)
{
    operands o;
    gpuc_rexpr *in[MAX_IN], *outs[MAX_OUT];
    c->operands(ctx, sizes, &o);
    /* An extent of an input is a number or a symbol of its own. */
    for (int i = 0; i < o.n; i++) {
        for (int d = 0; d < o.ndims[i]; d++)
            if (o.dims[i][d]->kind == GPUC_EXPR_OP) o.dims[i][d] = gpuc_var(ctx, "numbers", GPUC_INDEX);
        in[i] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", i),
                               gpuc_relay_rtype_tensor(ctx, o.dtypes[i], o.ndims[i], o.dims[i]));
    }
    gpuc_rexpr *y = fx_op(ctx, c->op, *c->attrs ? c->attrs : NULL, o.n, in);
    for (int i = 0; i < o.num_outputs; i++) outs[i] = o.num_outputs > 1 ? gpuc_relay_get(ctx, y, i) : y;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_set_main(m, o.n, in, o.num_outputs, outs, NULL);
    ok(run_build(ctx, m));
}

typedef struct result {
    size_t size[MAX_OUT];
    char bytes[MAX_OUT][MAX_BYTES];
} result;

static void run(gpuc_ctx *ctx, const box_case *c, const gpuc_expr *sizes, result *r)
{
    operands o;
    run_array in[MAX_IN];
    uint32_t state = 5;
    memset(r->size, 0, sizeof r->size);
    c->operands(ctx, sizes, &o);
    for (int i = 0; i < o.n; i++) {
        int64_t count = 1, d;
        in[i] = (run_array){.dtype = o.dtypes[i], .ndim = o.ndims[i]};
        for (int k = 0; k < o.ndims[i]; k++) {
            assert_true(gpuc_expr_is_int(o.dims[i][k], &d));
            count *= in[i].dims[k] = d;
        }
        char *v = malloc(8 * (size_t)count + 8);
        for (int64_t e = 0; e < count; e++) {
            double x = (double)((state = state * 1664525 + 1013904223) >> 16) / 65536 * o.scale;
            if (!o.ndims[i]) x = o.scalars[i];
            if (gpuc_is_float(o.dtypes[i]))
                ((float *)v)[e] = (float)x;
            else if (o.dtypes[i].bits == 32)
                ((int32_t *)v)[e] = (int32_t)(x * 9);
            else
                ((int64_t *)v)[e] = (int64_t)x;
        }
        in[i].bytes = v;
    }
    ok(run_session(o.n, in));
    for (int i = 0; i < o.num_outputs; i++) {
        int ndim;
        const int64_t *dims;
        const void *bytes = run_output(i, &ndim, &dims);
        size_t size = strstr(c->op, "all_class") ? 8 : 4;
        for (int d = 0; d < ndim; d++) size *= (size_t)dims[d];
        assert_true(size <= MAX_BYTES);
        if (size) memcpy(r->bytes[i], bytes, size);
        r->size[i] = size;
    }
    for (int i = 0; i < o.n; i++) free((void *)in[i].bytes);
}

static void any_number(gpuc_ctx *ctx, void *arg)
{
    static const int64_t numbers[][SIZES] = {{2, 3, 40}, {1, 1, 1}, {3, 2, 130}, {1, 4, 321}};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
    static result have[NUMBERS], want;
    (void)arg;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const box_case *c = &cases[k];
        gpuc_expr symbols[] = {gpuc_var(ctx, "batch", GPUC_INDEX), gpuc_var(ctx, "classes", GPUC_INDEX),
                               gpuc_var(ctx, "boxes", GPUC_INDEX)},
                  known[NUMBERS][SIZES];
        build(ctx, c, symbols);
        for (int i = 0; i < NUMBERS; i++) {
            for (int d = 0; d < SIZES; d++) known[i][d] = gpuc_int(ctx, numbers[i][d]);
            run(ctx, c, known[i], &have[i]);
        }
        for (int i = 0; i < NUMBERS; i++) {
            build(ctx, c, known[i]);
            run(ctx, c, known[i], &want);
            for (int o = 0; o < MAX_OUT; o++) {
                assert_int_equal(have[i].size[o], want.size[o]);
                if (memcmp(have[i].bytes[o], want.bytes[o], want.size[o]))
                    fail_msg("%s %s, sizes %d: output %d differs", c->op, c->attrs, i, o);
            }
        }
    }
}

/* The ranks say how many positions an index has; the program checks it. */
static void tuples(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr data[] = {gpuc_var(ctx, "h", GPUC_INDEX), gpuc_var(ctx, "w", GPUC_INDEX)},
              at[] = {gpuc_var(ctx, "n", GPUC_INDEX), gpuc_var(ctx, "depth", GPUC_INDEX)};
    gpuc_rexpr *in[] = {gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, data)),
                        gpuc_relay_var(ctx, "at", gpuc_relay_rtype_tensor(ctx, GPUC_INT64, 2, at)),
                        gpuc_relay_var(ctx, "u", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, at))};
    gpuc_rexpr *y = fx_op(ctx, "scatter_nd", "reduction=\"add\"", 3, in);
    ok(run_build(ctx, fx_module(ctx, y, 3, in)));
    static const float x[12] = {0}, u[] = {1, 2, 3};
    static const int64_t where[] = {2, 3, 0, 1, 2, 3};
    const run_array right[] = {
        {GPUC_FLOAT32, 2, {3, 4}, x}, {GPUC_INT64, 2, {3, 2}, where}, {GPUC_FLOAT32, 1, {3}, u}};
    const run_array wrong[] = {right[0], {GPUC_INT64, 2, {3, 1}, where}, right[2]};
    for (int i = 0; i < 2; i++) {
        ok(run_session(3, right));
        int ndim;
        const int64_t *dims;
        const float *v = run_output(0, &ndim, &dims);
        for (int k = 0; k < 12; k++) assert_true(v[k] == (k == 11 ? 4 : k == 1 ? 2 : 0));
        fx_check_status(run_session(3, wrong), GPUC_INVALID_ARGUMENT, "scatter_nd|positions");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(any_number), fx_test(tuples)};
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
