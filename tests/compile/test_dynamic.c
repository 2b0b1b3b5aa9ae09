/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose extents are tensors, with extents that only a run knows: one package gives for each what the operator with
 * the same extents as attributes gives in the interpreter, as the dynamic one does there. */
#include "run.h"

#include <math.h>

#include <gpuc/relay.h>

#include "base/element.h"

enum { MAX_PARAMS = 6, MAX_ELEMENTS = 4096 };

typedef struct extents {
    const char *values;      /* "s=2,-1 k=3": elements of parameters; others are small numbers */
    const char *same;        /* the call with attributes; NULL: it is an error */
    const char *words;       /* that the error of a run has; NULL: there is none */
    const char *interpreter; /* the same of the interpreter */
} extents;

typedef struct program {
    const char *params, *body;
    const extents *tries;
    int num_tries;
    double tolerance;
} program;

static gpuc_rmodule *parse(gpuc_ctx *ctx, const program *p, const char *body)
{
    return gpuc_relay_parse(ctx, gpuc_ctx_printf(ctx, "def @main(%s) { %s }", p->params, body), "text", NULL);
}

/* ---- Inputs ---- */

static double element_of(const char *values, const char *name, int64_t i)
{
    size_t n = strlen(name);
    const char *at = values;
    while (at && !(strncmp(at, name, n) == 0 && at[n] == '=')) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at) return (double)((i * 7 + 3) % 23 - 9);
    for (at += n + 1; i > 0; i--) at = strchr(at, ',') + 1;
    return strtod(at, NULL);
}

static void make_input(gpuc_ctx *ctx, const gpuc_rexpr *param, const char *values, run_array *out)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(param);
    int64_t count = 1;
    *out = (run_array){.dtype = t->dtype, .ndim = t->ndim};
    assert_true(gpuc_relay_tensor_type_static(t, out->dims));
    for (int i = 0; i < t->ndim; i++) count *= out->dims[i];
    size_t item = gpuc_dtype_bytes(t->dtype);
    char *bytes = gpuc_ctx_alloc(ctx, (size_t)count * item + 1);
    for (int64_t i = 0; i < count; i++) {
        double v = element_of(values, gpuc_relay_get_name(param), i);
        int64_t whole = (int64_t)v;
        if (gpuc_is_float(t->dtype))
            gpuc_float_store(t->dtype, bytes + (size_t)i * item, v);
        else
            memcpy(bytes + (size_t)i * item, &whole, item);
    }
    out->bytes = bytes;
}

/* ---- The interpreter ---- */

typedef struct job {
    const gpuc_rmodule *m;
    const run_array *inputs;
    gpuc_ptrs results; /* constants */
} job;

static void add_result(gpuc_ctx *ctx, job *j, const gpuc_relay_value *v)
{
    for (int i = 0; gpuc_relay_value_get_kind(v) == GPUC_RELAY_TUPLE && i < gpuc_relay_value_num_fields(v);
         i++)
        add_result(ctx, j, gpuc_relay_value_field(v, i));
    if (gpuc_relay_value_get_kind(v) == GPUC_RELAY_TENSOR)
        gpuc_ptrs_push(ctx, &j->results,
                       gpuc_relay_const_bytes(ctx, gpuc_relay_value_dtype(v), gpuc_relay_value_ndim(v),
                                              gpuc_relay_value_dims(v), gpuc_relay_value_data(v)));
}

static void interpret(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(j->m, "main"));
    gpuc_relay_interpreter *in = gpuc_relay_interpreter_create(ctx, j->m, NULL);
    gpuc_relay_value *args[MAX_PARAMS];
    for (int i = 0; i < f->n; i++)
        args[i] = gpuc_relay_make_tensor(in, j->inputs[i].dtype, j->inputs[i].ndim, j->inputs[i].dims,
                                         j->inputs[i].bytes);
    add_result(ctx, j, gpuc_relay_interpret(in, "main", f->n, args));
}

static void same_shape(const program *p, const extents *e, const gpuc_rexpr *want, int ndim,
                       const int64_t *dims)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(want);
    bool same = t->ndim == ndim;
    int64_t d;
    for (int i = 0; same && i < ndim; i++) same = gpuc_expr_is_int(t->dims[i], &d) && d == dims[i];
    if (!same) fail_msg("%s, %s: another shape than %s", p->body, e->values, e->same);
}

static void same_values(gpuc_ctx *ctx, const program *p, const extents *e, const gpuc_rexpr *want, int ndim,
                        const int64_t *dims, const void *bytes)
{
    same_shape(p, e, want, ndim, dims);
    const gpuc_rexpr *got =
        gpuc_relay_const_bytes(ctx, gpuc_relay_tensor_type(want)->dtype, ndim, dims, bytes);
    for (int64_t i = 0; i < fx_count(want); i++) {
        double a = fx_element(ctx, want, i), b = fx_element(ctx, got, i);
        if (!(fabs(a - b) <= p->tolerance * (1 + fabs(a))))
            fail_msg("%s, %s: element %lld is %.9g, of %s it is %.9g", p->body, e->values, (long long)i, b,
                     e->same, a);
    }
}

/* ---- Programs ---- */

static void try_extents(gpuc_ctx *ctx, const program *p, const gpuc_rmodule *m, const extents *e)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    run_array inputs[MAX_PARAMS];
    for (int i = 0; i < f->n; i++) make_input(ctx, f->params[i], e->values, &inputs[i]);
    job dynamic = {.m = m, .inputs = inputs}, fixed = {.inputs = inputs};
    gpuc_status interpreted = gpuc_ctx_protect(ctx, interpret, &dynamic), run = run_session(f->n, inputs);
    if (!e->same) {
        fx_check_status(interpreted, GPUC_INVALID_ARGUMENT, e->interpreter);
        if (!run) fail_msg("%s, %s: there is no error", p->body, e->values);
        if (!strstr(gpuc_status_message(run), e->words))
            fail_msg("%s, %s: %s", p->body, e->values, gpuc_status_message(run));
        gpuc_status_release(run);
        return;
    }
    if (interpreted) fail_msg("%s, %s: %s", p->body, e->values, gpuc_status_message(interpreted));
    if (run) fail_msg("%s, %s: %s", p->body, e->values, gpuc_status_message(run));
    fixed.m = parse(ctx, p, e->same);
    interpret(ctx, &fixed);
    assert_true(fixed.results.count && fixed.results.count == dynamic.results.count);
    for (size_t i = 0; i < fixed.results.count; i++) {
        int ndim;
        const int64_t *dims;
        int64_t have[GPUC_OP_MAX_DIMS];
        const gpuc_rexpr *got = dynamic.results.at[i];
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(got);
        assert_true(gpuc_relay_tensor_type_static(t, have));
        const void *bytes = gpuc_as_rconstant(got)->data->bytes;
        same_values(ctx, p, e, fixed.results.at[i], t->ndim, have, bytes);
        bytes = run_output((int)i, &ndim, &dims);
        same_values(ctx, p, e, fixed.results.at[i], ndim, dims, bytes);
    }
}

static void try_program(gpuc_ctx *ctx, const program *p)
{
    gpuc_rmodule *m = parse(ctx, p, p->body);
    gpuc_status status = run_build(ctx, parse(ctx, p, p->body));
    if (status) fail_msg("%s: %s", p->body, gpuc_status_message(status));
    for (int i = 0; i < p->num_tries; i++) try_extents(ctx, p, m, &p->tries[i]);
}

#define PROGRAM(fn, params_, body_, tolerance_, ...)                                                         \
    static void fn(gpuc_ctx *ctx, void *arg)                                                                 \
    {                                                                                                        \
        static const extents tries[] = {__VA_ARGS__};                                                        \
        (void)arg;                                                                                           \
        try_program(ctx, &(program){params_, body_, tries, sizeof tries / sizeof tries[0], tolerance_});     \
    }

#define IS(values, same)                                                                                     \
    {                                                                                                        \
        values, same, NULL, NULL                                                                             \
    }
#define FAILS(values, run, interpreted)                                                                      \
    {                                                                                                        \
        values, NULL, run, interpreted                                                                       \
    }

PROGRAM(reshape, "%x: Tensor[(2, 3, 4), float32], %s: Tensor[(2), int64]", "dyn.reshape(%x, %s)", 0,
        IS("s=6,4", "reshape(%x, newshape=[6, 4])"), IS("s=0,-1", "reshape(%x, newshape=[0, -1])"),
        IS("s=-1,1", "reshape(%x, newshape=[-1, 1])"), IS("s=8,0", "reshape(%x, newshape=[8, 3])"),
        FAILS("s=5,4", "do not fit", "dyn.reshape: 24 elements do not fit a shape of 20"),
        FAILS("s=-1,5", "do not fit", "dyn.reshape: 24 elements do not divide into"),
        FAILS("s=-2,-12", "dyn.reshape.newshape", "dyn.reshape: newshape has -2"),
        IS("s=24,1", "reshape(%x, newshape=[24, 1])"))

/* What is behind it follows the extents; the number of elements does, too. */
PROGRAM(chain, "%x: Tensor[(2, 3, 4), int32], %s: Tensor[(2), int32], %b: Tensor[(3), int64]",
        "%0 = dyn.reshape(%x, %s);\n%1 = strided_slice(%0, begin=[1, 0], end=[3, 2]);\n"
        "%2 = dyn.broadcast_to(%1 + %1, %b);\n%3 = dyn.reshape(%2, shape_of(%2));\n(%2, %3, shape_of(%1))",
        0,
        IS("s=6,4 b=2,2,2", "%0 = strided_slice(reshape(%x, newshape=[6, 4]), begin=[1, 0], end=[3, 2]);\n"
                            "%1 = broadcast_to(%0 + %0, shape=[2, 2, 2]);\n(%1, %1, shape_of(%0))"),
        IS("s=2,12 b=3,5,2", "%0 = strided_slice(reshape(%x, newshape=[2, 12]), begin=[1, 0], end=[3, 2]);\n"
                             "%1 = broadcast_to(%0 + %0, shape=[3, 5, 2]);\n(%1, %1, shape_of(%0))"))

PROGRAM(tile,
        "%x: Tensor[(2, 3), float32], %s: Tensor[(2), int64], %t: Tensor[(3), int64], %u: Tensor[(1), int32]",
        "(dyn.tile(%x, %s), dyn.tile(%x, %t), dyn.tile(%x, %u))", 0,
        IS("s=1,2 t=2,1,3 u=4", "(tile(%x, reps=[1, 2]), tile(%x, reps=[2, 1, 3]), tile(%x, reps=[4]))"),
        IS("s=5,1 t=1,1,1 u=1", "(tile(%x, reps=[5, 1]), tile(%x, reps=[1, 1, 1]), tile(%x, reps=[1]))"),
        IS("s=0,1 t=1,2,1 u=0", "(tile(%x, reps=[0, 1]), tile(%x, reps=[1, 2, 1]), tile(%x, reps=[0]))"),
        FAILS("s=1,-1 t=1,1,1 u=1", "dyn.tile.reps", "dyn.tile: repeats of dimension 1 are negative"))

PROGRAM(broadcast_to, "%x: Tensor[(3, 1), float32], %s: Tensor[(3), int64]", "dyn.broadcast_to(%x, %s)", 0,
        IS("s=2,3,5", "broadcast_to(%x, shape=[2, 3, 5])"),
        IS("s=1,3,1", "broadcast_to(%x, shape=[1, 3, 1])"),
        FAILS("s=1,2,1", "does not broadcast",
              "dyn.broadcast_to: dimension 3 of the input does not broadcast to 2"),
        IS("s=4,3,2", "broadcast_to(%x, shape=[4, 3, 2])"))

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(reshape), fx_test(chain), fx_test(tile),
                                       fx_test(broadcast_to)};
    if (!run_available(argc, argv)) return 0;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failures;
}
