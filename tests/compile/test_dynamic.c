/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose extents are tensors, with extents that only a run knows: one package gives for each what the operator with
 * the same extents as attributes gives in the interpreter, as the dynamic one does there. */
#include "run.h"

#include <math.h>

#include <gpuc/relay.h>
#include <gpuc/relay_pass.h>

#include "base/element.h"

enum { MAX_PARAMS = 8, MAX_ELEMENTS = 4096 };

typedef struct extents {
    const char *values; /* "s=2,-1 k=3": elements of parameters; others are small numbers. Sizes: "n=5 ?=2" */
    const char *same;   /* the call with attributes; NULL: it is an error */
    const char *words;  /* that the error of a run has; NULL: there is none */
    const char *interpreter; /* the same of the interpreter */
} extents;

typedef struct program {
    const char *functions, *params, *body;
    const extents *tries;
    int num_tries;
    double tolerance;
} program;

static gpuc_rmodule *parse(gpuc_ctx *ctx, const program *p, const char *body)
{
    const char *text = gpuc_ctx_printf(ctx, "%sdef @main(%s) { %s }", p->functions, p->params, body);
    return gpuc_relay_parse(ctx, text, "text", NULL);
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
    for (int i = 0; i < t->ndim; i++) {
        if (!gpuc_expr_is_int(t->dims[i], &out->dims[i]))
            out->dims[i] = (int64_t)element_of(values, gpuc_as_var(t->dims[i])->name, 0);
        count *= out->dims[i];
    }
    size_t item = gpuc_dtype_bytes(t->dtype);
    char *bytes = gpuc_ctx_alloc(ctx, (size_t)count * item + 1);
    for (int64_t i = 0; i < count; i++) {
        double v = element_of(values, gpuc_relay_get_name(param), i);
        if (gpuc_is_float(t->dtype)) {
            gpuc_float_store(t->dtype, bytes + (size_t)i * item, v);
            continue;
        }
        int64_t whole = v < 0x1p63 ? (int64_t)v : (int64_t)(uint64_t)v;
        memcpy(bytes + (size_t)i * item, &whole, item);
    }
    out->bytes = bytes;
}

/* ---- The interpreter ---- */

typedef struct job {
    const gpuc_rmodule *m;
    const run_array *inputs;
    gpuc_ptrs results; /* constants */
    gpuc_relay_value *args[MAX_PARAMS];
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
    for (int i = 0; i < f->n; i++)
        j->args[i] = gpuc_relay_make_tensor(in, j->inputs[i].dtype, j->inputs[i].ndim, j->inputs[i].dims,
                                            j->inputs[i].bytes);
    gpuc_relay_value *result = gpuc_relay_interpret(in, "main", f->n, j->args);
    add_result(ctx, j, result);
    gpuc_relay_value_release(result);
}

static gpuc_status run_interpreter(gpuc_ctx *ctx, job *j)
{
    gpuc_status status = gpuc_ctx_protect(ctx, interpret, j);
    for (int i = 0; i < MAX_PARAMS; i++) gpuc_relay_value_release(j->args[i]);
    return status;
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
    gpuc_status interpreted = run_interpreter(ctx, &dynamic), run = run_session(f->n, inputs);
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
    assert_null(run_interpreter(ctx, &fixed));
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
    gpuc_rmodule *graph = gpuc_relay_run_passes(ctx, parse(ctx, p, p->body), NULL,
                                                "inline(all=True),to_graph_normal_form,dead_code");
    gpuc_status status = run_build(ctx, graph);
    if (status) fail_msg("%s: %s", p->body, gpuc_status_message(status));
    for (int i = 0; i < p->num_tries; i++) try_extents(ctx, p, m, &p->tries[i]);
}

#define PROGRAM(fn, params_, body_, tolerance_, ...)                                                         \
    PROGRAM_OF(fn, "", params_, body_, tolerance_, __VA_ARGS__)
#define PROGRAM_OF(fn, functions_, params_, body_, tolerance_, ...)                                          \
    static void fn(gpuc_ctx *ctx, void *arg)                                                                 \
    {                                                                                                        \
        static const extents tries[] = {__VA_ARGS__};                                                        \
        (void)arg;                                                                                           \
        try_program(                                                                                         \
            ctx, &(program){functions_, params_, body_, tries, sizeof tries / sizeof tries[0], tolerance_}); \
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

/* Elements fit what these extents would be, but the extents are none. */
PROGRAM(reshape_few, "%x: Tensor[(1, 1), float32], %s: Tensor[(2), int64]", "dyn.reshape(%x, %s)", 0,
        IS("s=-1,1", "reshape(%x, newshape=[-1, 1])"),
        FAILS("s=-1,-1", "dyn.reshape.newshape", "dyn.reshape: two dimensions of the new shape are -1"))

PROGRAM(reshape_none, "%x: Tensor[(3, 0), float32], %s: Tensor[(3), int64]", "dyn.reshape(%x, %s)", 0,
        IS("s=0,0,5", "reshape(%x, newshape=[3, 0, 5])"),
        FAILS("s=-1,0,5", "dyn.reshape.newshape", "dyn.reshape: 0 elements do not divide into"),
        FAILS("s=2,2,0", "dyn.reshape.newshape", "dyn.reshape: the input has no dimension 2"))

/* What is behind it follows the extents; the number of elements does, too. */
PROGRAM(chain, "%x: Tensor[(2, 3, 4), int32], %s: Tensor[(2), int32], %b: Tensor[(3), int64]",
        "%0 = dyn.reshape(%x, %s);\n%1 = strided_slice(%0, begin=[1, 0], end=[3, 2]);\n"
        "%2 = dyn.broadcast_to(%1 + %1, %b);\n%3 = dyn.reshape(%2, shape_of(%2));\n(%2, %3, shape_of(%1))",
        0,
        IS("s=6,4 b=2,2,2", "%0 = strided_slice(reshape(%x, newshape=[6, 4]), begin=[1, 0], end=[3, 2]);\n"
                            "%1 = broadcast_to(%0 + %0, shape=[2, 2, 2]);\n(%1, %1, shape_of(%0))"),
        IS("s=2,12 b=3,5,2", "%0 = strided_slice(reshape(%x, newshape=[2, 12]), begin=[1, 0], end=[3, 2]);\n"
                             "%1 = broadcast_to(%0 + %0, shape=[3, 5, 2]);\n(%1, %1, shape_of(%0))"))

/* Each call of a function has extents of its own. */
PROGRAM_OF(
    functions,
    "def @part(%x: Tensor[(2, 3), float32], %s: Tensor[(2), int32]) { nn.relu(dyn.tile(%x, %s)) + 1f }\n",
    "%x: Tensor[(2, 3), float32], %s: Tensor[(2), int32], %t: Tensor[(2), int32]",
    "let %a = @part(%x, %s);\nlet %b = @part(%x, %t);\n"
    "(%a, strided_slice(%b, begin=[1, 1], end=[3, 30]), strided_slice(%a, begin=[0, 0], end=[9, 4]))",
    0,
    IS("s=1,2 t=2,1",
       "let %a = nn.relu(tile(%x, reps=[1, 2])) + 1f;\n"
       "let %b = nn.relu(tile(%x, reps=[2, 1])) + 1f;\n"
       "(%a, strided_slice(%b, begin=[1, 1], end=[3, 30]), strided_slice(%a, begin=[0, 0], end=[9, 4]))"),
    IS("s=3,1 t=1,5",
       "let %a = nn.relu(tile(%x, reps=[3, 1])) + 1f;\n"
       "let %b = nn.relu(tile(%x, reps=[1, 5])) + 1f;\n"
       "(%a, strided_slice(%b, begin=[1, 1], end=[3, 30]), strided_slice(%a, begin=[0, 0], end=[9, 4]))"))

/* A body names sizes of its arguments, those that tensors hold, and those that the type of a variable says. */
PROGRAM_OF(
    named_sizes,
    "def @turn(%x: Tensor[(n, ?), float32], %s: Tensor[(2), int32]) {\n"
    "  let %y: Tensor[(p, q), float32] = dyn.tile(%x, %s);\n"
    "  concatenate((reshape(%x, newshape=[-3]), reshape(reshape(%y, newshape=[q, p]), newshape=[-3])))\n}\n"
    "def @both(%x: Tensor[(n, m), float32], %s: Tensor[(2), int32]) {\n"
    "  reshape(concatenate((@turn(%x, %s), @turn(transpose(%x), %s))), newshape=[-2, 1])\n}\n",
    "%x: Tensor[(n, 3), float32], %s: Tensor[(2), int32]",
    "let %v: Tensor[(p, q), float32] = dyn.tile(%x, %s);\n"
    "(@both(%x, %s), @both(concatenate((%x, %x)), %s), reshape(%v, newshape=[q, p]))",
    0,
    IS("n=2 s=1,2",
       "let %a = reshape(%x, newshape=[-1]);\nlet %b = reshape(transpose(%x), newshape=[-1]);\n"
       "let %c = concatenate((%x, %x));\nlet %d = transpose(%c);\n"
       "(reshape(concatenate((%a, reshape(tile(%x, reps=[1, 2]), newshape=[-1]), %b,\n"
       "                      reshape(tile(transpose(%x), reps=[1, 2]), newshape=[-1]))), newshape=[-1, "
       "1]),\n"
       " reshape(concatenate((reshape(%c, newshape=[-1]), reshape(tile(%c, reps=[1, 2]), newshape=[-1]),\n"
       "                      reshape(%d, newshape=[-1]), reshape(tile(%d, reps=[1, 2]), newshape=[-1]))),\n"
       "         newshape=[-1, 1]),\n"
       " reshape(tile(%x, reps=[1, 2]), newshape=[6, 2]))"))

/* As it is printed: the type of a node names what its tensor holds. */
PROGRAM(sizes_of_nodes, "%x: Tensor[(d0, d1), float32], %s: Tensor[(2), int32]",
        "%0: Tensor[(d2, d3), float32] = dyn.tile(%x, %s);\n"
        "(reshape(%x, newshape=[d0*d1]), reshape(%0, newshape=[d2*d3]), strided_slice(%0, begin=[0, min(d3, "
        "1)],\n"
        "  sizes=[d2, max(d3 - 1, 0)], strides=[1, 1]))",
        0,
        IS("d0=2 d1=3 s=1,2",
           "let %t = tile(%x, reps=[1, 2]);\n(reshape(%x, newshape=[-1]), reshape(%t, newshape=[-1]),\n"
           " strided_slice(%t, begin=[0, 1], end=[2, 6]))"))

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

PROGRAM(squeeze, "%x: Tensor[(1, 3, 4, 1), float32], %s: Tensor[(1), int64], %t: Tensor[(2), int32]",
        "(dyn.squeeze(%x, %s), dyn.squeeze(%x, %t))", 0,
        IS("s=0 t=0,3", "(squeeze(%x, axis=[0]), squeeze(%x, axis=[0, 3]))"),
        IS("s=-1 t=-1,0", "(squeeze(%x, axis=[3]), squeeze(%x, axis=[0, 3]))"),
        IS("s=3 t=3,-4", "(squeeze(%x, axis=[3]), squeeze(%x, axis=[0, 3]))"),
        FAILS("s=1 t=0,3", "dyn.squeeze.axis", "dyn.squeeze: dimension 1 is not 1"),
        FAILS("s=0 t=0,0", "dyn.squeeze.axis", "dyn.squeeze: axis names dimension 0 twice"),
        FAILS("s=4 t=0,3", "dyn.squeeze.axis", "dyn.squeeze: axis has 4, outside of the 4 dimensions"))

PROGRAM(squeeze_all, "%x: Tensor[(1, 1), float32], %s: Tensor[(2), int64]", "dyn.squeeze(%x, %s) + 1f", 0,
        IS("s=0,1", "squeeze(%x, axis=[0, 1]) + 1f"), IS("s=-1,0", "squeeze(%x, axis=[0, 1]) + 1f"),
        FAILS("s=0,0", "dyn.squeeze.axis", "dyn.squeeze: axis names dimension 0 twice"),
        FAILS("s=5,7", "dyn.squeeze.axis", "dyn.squeeze: axis has 5, outside of the 2 dimensions"))

PROGRAM(squeeze_none, "%x: Tensor[(0, 3, 1), float32], %s: Tensor[(1), int64]", "dyn.squeeze(%x, %s)", 0,
        IS("s=2", "squeeze(%x, axis=[2])"),
        FAILS("s=1", "dyn.squeeze.axis", "dyn.squeeze: dimension 1 is not 1"),
        FAILS("s=0", "dyn.squeeze.axis", "dyn.squeeze: dimension 0 is not 1"))

PROGRAM(expand_dims, "%x: Tensor[(2, 3), float32], %a: int32, %s: Tensor[(1), int64]",
        "(dyn.expand_dims(%x, %a), dyn.expand_dims(%x, %s, num_newaxis=2) + 1f)", 0,
        IS("a=0 s=0", "(expand_dims(%x, axis=0), expand_dims(%x, axis=0, num_newaxis=2) + 1f)"),
        IS("a=1 s=2", "(expand_dims(%x, axis=1), expand_dims(%x, axis=2, num_newaxis=2) + 1f)"),
        IS("a=-1 s=-2", "(expand_dims(%x, axis=2), expand_dims(%x, axis=1, num_newaxis=2) + 1f)"),
        IS("a=-3 s=-3", "(expand_dims(%x, axis=0), expand_dims(%x, axis=0, num_newaxis=2) + 1f)"),
        FAILS("a=3 s=0", "dyn.expand_dims.axis", "dyn.expand_dims: axis is 3, outside of the 2 dimensions"),
        FAILS("a=0 s=-4", "dyn.expand_dims.axis", "dyn.expand_dims: axis is -4, outside of the 2 dimensions"))

/* Axes and scales that are extents of a tensor: known as sizes, but not as numbers. */
PROGRAM(axes_of_shapes, "%x: Tensor[(1, 1, 3), float32], %s: Tensor[(2), int64]",
        "dyn.squeeze(%x, shape_of(dyn.zeros(%s)))", 0, IS("s=0,1", "squeeze(%x, axis=[0, 1])"),
        IS("s=1,0", "squeeze(%x, axis=[1, 0])"),
        FAILS("s=1,1", "dyn.squeeze.axis", "dyn.squeeze: axis names dimension 1 twice"))

PROGRAM(scales_of_shapes, "%x: Tensor[(1, 1, 2, 3), float32], %s: Tensor[(2), int64]",
        "%0 = shape_of(dyn.zeros(%s));\n%1 = take(%0, 0i64);\n"
        "(dyn.nn.upsampling(%x, %1, take(%0, 1i64)), dyn.nn.upsampling(%x, 1.5f, %1), dyn.nn.upsampling(%x, "
        "%1, 4))",
        0,
        IS("s=2,3", "(nn.upsampling(%x, scale_h=2, scale_w=3), nn.upsampling(%x, scale_h=1.5, scale_w=2), "
                    "nn.upsampling(%x, scale_h=2, scale_w=4))"),
        IS("s=1,4", "(nn.upsampling(%x, scale_h=1, scale_w=4), nn.upsampling(%x, scale_h=1.5, scale_w=1), "
                    "nn.upsampling(%x, scale_h=1, scale_w=4))"))

PROGRAM(filled, "%v: float32, %s: Tensor[(3), int64], %t: Tensor[(1), uint8]",
        "%0 = dyn.full(%v, %s);\n(dyn.zeros(%s, dtype=\"int32\"), dyn.ones(%t), %0 + %0, dyn.full(%v, %t, "
        "dtype=\"int64\"))",
        0,
        IS("v=2.5 s=2,3,4 t=5", "%0 = full(%v, shape=[2, 3, 4]);\n(zeros(shape=[2, 3, 4], dtype=\"int32\"), "
                                "ones(shape=[5]), %0 + %0, full(%v, shape=[5], dtype=\"int64\"))"),
        IS("v=-1 s=1,70,3 t=0",
           "%0 = full(%v, shape=[1, 70, 3]);\n(zeros(shape=[1, 70, 3], dtype=\"int32\"), "
           "ones(shape=[0]), %0 + %0, full(%v, shape=[0], dtype=\"int64\"))"),
        FAILS("v=1 s=1,-2,3 t=1", "the extent 'dyn.zeros.shape_", "dimension 1 of the shape is -2"))

PROGRAM(topk, "%x: Tensor[(3, 9), float32], %k: int32, %s: Tensor[(1), int64]",
        "(dyn.topk(%x, %k, dtype=\"int64\"), dyn.topk(%x, %s, axis=0, is_ascend=True))", 0,
        IS("k=4 s=2", "(topk(%x, k=4, dtype=\"int64\"), topk(%x, k=2, axis=0, is_ascend=True))"),
        IS("k=9 s=0", "(topk(%x, k=9, dtype=\"int64\"), topk(%x, k=0, axis=0, is_ascend=True))"),
        IS("k=1 s=3", "(topk(%x, k=1, dtype=\"int64\"), topk(%x, k=3, axis=0, is_ascend=True))"),
        FAILS("k=10 s=1", "topk: k is ", "dyn.topk: k is 10, dimension 1 has 9 elements"),
        FAILS("k=1 s=-1", "dyn.topk.k", "dyn.topk: k is -1"))

/* One result is no tuple. */
PROGRAM(topk_of_one_result, "%x: Tensor[(3, 9), float32], %k: int32",
        "(dyn.topk(%x, %k, ret_type=\"values\") + 1f, dyn.topk(%x, %k, axis=0, ret_type=\"indices\") * 2)", 0,
        IS("k=2", "%0 = topk(%x, k=2);\n%1 = topk(%x, k=2, axis=0);\n(%0.0 + 1f, %1.1 * 2)"),
        IS("k=3",
           "(topk(%x, k=3, ret_type=\"values\") + 1f, topk(%x, k=3, axis=0, ret_type=\"indices\") * 2)"),
        FAILS("k=4", "topk: k is ", "dyn.topk: k is 4, dimension 0 has 3 elements"))

PROGRAM(one_hot, "%i: Tensor[(2, 3), int32], %on: int8, %off: int8, %d: int64",
        "dyn.one_hot(%i, %on, %off, %d, axis=1)", 0,
        IS("i=0,1,2,3,4,-1 on=5 off=-2 d=4", "one_hot(%i, %on, %off, depth=4, axis=1)"),
        IS("i=0,1,2,3,4,-1 on=1 off=0 d=9", "one_hot(%i, %on, %off, depth=9, axis=1)"),
        FAILS("i=0,1,2,3,4,-1 on=1 off=0 d=-1", "dyn.one_hot.depth", "dyn.one_hot: depth is -1"))

PROGRAM(pad, "%x: Tensor[(3, 4), float32], %p: Tensor[(2, 2), int32], %v: float32",
        "(dyn.nn.pad(%x, %p, %v), dyn.nn.pad(%x, %p, pad_mode=\"reflect\"))", 0,
        IS("p=1,2,0,3 v=1.5",
           "(nn.pad(%x, %v, pad_width=[[1, 2], [0, 3]]), nn.pad(%x, pad_width=[[1, 2], [0, 3]], "
           "pad_mode=\"reflect\"))"),
        IS("p=0,0,0,0 v=1.5",
           "(nn.pad(%x, %v, pad_width=[[0, 0], [0, 0]]), nn.pad(%x, pad_width=[[0, 0], [0, 0]], "
           "pad_mode=\"reflect\"))"))

PROGRAM(sparse_to_dense,
        "%i: Tensor[(3, 2), int64], %x: Tensor[(3), float32], %d: float32, %s: Tensor[(2), int32]",
        "dyn.sparse_to_dense(%i, %x, %d, %s)", 0,
        IS("i=0,0,1,2,2,3 d=4 s=3,4", "sparse_to_dense(%i, %x, %d, output_shape=[3, 4])"),
        IS("i=0,0,1,2,2,3 d=-1 s=5,6", "sparse_to_dense(%i, %x, %d, output_shape=[5, 6])"),
        FAILS("i=0,0,1,2,2,3 d=0 s=5,-6", "dyn.sparse_to_dense.output_shape", "output_shape has -6"))

PROGRAM(resize,
        "%x: Tensor[(1, 2, 4, 3), float32], %s: Tensor[(2), int64], %f: Tensor[(2), float32], %r: "
        "Tensor[(4), float32]",
        "(dyn.image.resize2d(%x, %s, %r), dyn.image.resize2d(%x, %f, %r, layout=\"NHWC\", "
        "method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\"))",
        1e-5,
        IS("s=8,6 f=3,5 r=0,0,1,1", "(image.resize2d(%x, size=[8, 6]), image.resize2d(%x, size=[3, 5], "
                                    "layout=\"NHWC\", method=\"nearest_neighbor\", "
                                    "coordinate_transformation_mode=\"asymmetric\"))"),
        FAILS("s=1,7 f=3.5,9 r=0,0,1,1", "dyn.image.resize2d.size",
              "dyn.image.resize2d: size has 3.5, which is no integer"),
        FAILS("s=1,7 f=3,nan r=0,0,1,1", "dyn.image.resize2d.size",
              "dyn.image.resize2d: size has nan, which is no integer"),
        IS("s=1,7 f=2,9 r=0,0,1,1", "(image.resize2d(%x, size=[1, 7]), image.resize2d(%x, size=[2, 9], "
                                    "layout=\"NHWC\", method=\"nearest_neighbor\", "
                                    "coordinate_transformation_mode=\"asymmetric\"))"))

/* Halves of an element are one more. */
PROGRAM(upsampling, "%x: Tensor[(1, 2, 4, 3), float32], %h: float32, %w: float32, %n: int32",
        "(dyn.nn.upsampling(%x, %h, %w), dyn.nn.upsampling(%x, %n, %h, layout=\"NHWC\", method=\"bilinear\", "
        "align_corners=True))",
        1e-5,
        IS("h=2 w=3 n=2", "(nn.upsampling(%x, scale_h=2, scale_w=3), nn.upsampling(%x, scale_h=2, scale_w=2, "
                          "layout=\"NHWC\", method=\"bilinear\", align_corners=True))"),
        IS("h=1.5 w=0.5 n=3", "(nn.upsampling(%x, scale_h=1.5, scale_w=0.5), nn.upsampling(%x, scale_h=3, "
                              "scale_w=1.5, layout=\"NHWC\", method=\"bilinear\", align_corners=True))"),
        FAILS("h=-0.05 w=1 n=1", "dyn.nn.upsampling.scale_h", "scale_h must be a number from 0 on"),
        FAILS("h=1 w=nan n=1", "dyn.nn.upsampling.scale_w", "scale_w must be a number from 0 on"),
        IS("h=0.625 w=1.25 n=1",
           "(nn.upsampling(%x, scale_h=0.625, scale_w=1.25), nn.upsampling(%x, scale_h=1, "
           "scale_w=0.625, layout=\"NHWC\", method=\"bilinear\", align_corners=True))"))

/* Of halves, and of ratios that no float is. */
PROGRAM(upsampling_of_open_sizes, "%x: Tensor[(1, 2, n, ?), float32]",
        "(dyn.nn.upsampling(%x, 1.5f, 0.7f), nn.upsampling(%x, scale_h=0.3, scale_w=2.5, layout=\"NHWC\", "
        "method=\"bilinear\", align_corners=True) + 1f)",
        1e-5,
        IS("n=5 ?=5", "(nn.upsampling(%x, size=[8, 4]), nn.upsampling(%x, size=[1, 13], layout=\"NHWC\", "
                      "method=\"bilinear\", align_corners=True) + 1f)"),
        IS("n=2 ?=15", "(nn.upsampling(%x, size=[3, 11]), nn.upsampling(%x, size=[1, 5], layout=\"NHWC\", "
                       "method=\"bilinear\", align_corners=True) + 1f)"),
        IS("n=3 ?=1", "(nn.upsampling(%x, size=[5, 1]), nn.upsampling(%x, size=[1, 8], layout=\"NHWC\", "
                      "method=\"bilinear\", align_corners=True) + 1f)"))

/* Of sizes that the program reads. */
PROGRAM(upsampling_of_read_sizes, "%x: Tensor[(1, 1, 6, 2), float32], %s: Tensor[(4), int64]",
        "dyn.nn.upsampling(dyn.reshape(%x, %s), 1.5f, 0.5f)", 1e-5,
        IS("s=1,1,4,3", "nn.upsampling(reshape(%x, newshape=[1, 1, 4, 3]), size=[6, 2])"),
        IS("s=1,2,3,2", "nn.upsampling(reshape(%x, newshape=[1, 2, 3, 2]), size=[5, 1])"))

PROGRAM(upsampling3d,
        "%x: Tensor[(1, 1, 2, 3, 2), float32], %d: float32, %h: float32, %w: Tensor[(1), float32]",
        "dyn.nn.upsampling3d(%x, %d, %h, %w)", 1e-5,
        IS("d=2 h=3 w=4", "nn.upsampling3d(%x, scale_d=2, scale_h=3, scale_w=4)"),
        IS("d=1 h=1.5 w=2.5", "nn.upsampling3d(%x, scale_d=1, scale_h=1.5, scale_w=2.5)"))

/* The difference of floats has their type: that of 16777216 and 0.7 is 16777215, and the division is of float64. */
PROGRAM(ranges, "%a: float32, %b: float32, %s: float32",
        "%0 = arange(%a, %b, %s);\n(%0 + 1f, arange(0.7f, %b, 1f), arange(0f, %b, 0.1f))", 0,
        IS("a=0 b=15 s=1", "(arange(%a, %b, %s, length=15) + 1f, arange(0.7f, %b, 1f, length=15), "
                           "arange(0f, %b, 0.1f, length=150))"),
        IS("a=1.5 b=-1 s=0.5", "(arange(%a, %b, %s, length=0) + 1f, arange(0.7f, %b, 1f, length=0), "
                               "arange(0f, %b, 0.1f, length=0))"),
        IS("a=7 b=2 s=-0.75", "(arange(%a, %b, %s, length=7) + 1f, arange(0.7f, %b, 1f, length=2), "
                              "arange(0f, %b, 0.1f, length=20))"),
        IS("a=0 b=1 s=0.1", "(arange(%a, %b, %s, length=10) + 1f, arange(0.7f, %b, 1f, length=1), "
                            "arange(0f, %b, 0.1f, length=10))"),
        FAILS("a=0 b=1 s=0", "arange.length", "arange: the step is 0"),
        FAILS("a=0 b=1 s=nan", "arange.length", "arange: the step nan does not lead from 0 to 1"),
        FAILS("a=-inf b=1 s=1", "arange.length", "arange: the step 1 does not lead from -inf to 1"))

/* 2048 - 0.5 is 2048 as a float16, and float32 has 16777216 - 0.7 as 16777215. (Targets round elements of float16 as they
 * can.) */
PROGRAM(ranges_of_types, "%a: float16, %b: float16, %c: float32, %d: float32, %e: float64",
        "(shape_of(arange(%a, %b, 0.5f16)), arange(%c, %d, 4194303.825f), arange(0f64, %e, 0.1f64))", 0,
        IS("a=0.5 b=2048 c=0.7 d=16777216 e=0.3",
           "(shape_of(arange(%a, %b, 0.5f16, length=4096)), arange(%c, %d, 4194303.825f, length=4), "
           "arange(0f64, %e, 0.1f64, length=3))"),
        IS("a=-2047 b=1.5 c=0 d=16777216 e=1",
           "(shape_of(arange(%a, %b, 0.5f16, length=4096)), arange(%c, %d, 4194303.825f, length=5), "
           "arange(0f64, %e, 0.1f64, length=10))"))

/* Any two integers have a difference, and all of them count. */
PROGRAM(ranges_of_integers, "%a: int64, %b: int64, %s: int64, %i: int32, %u: uint8, %v: uint8, %w: uint64",
        "(arange(%a, %b, %s), arange(0, %i, 3), arange(%u, %v, %u), arange(%w - %w, %w, %w))", 0,
        IS("a=0 b=10 s=3 i=10 u=7 v=255 w=5", "(arange(%a, %b, %s, length=4), arange(0, %i, 3, length=4), "
                                              "arange(%u, %v, %u, length=36), arange(%w - %w, "
                                              "%w, %w, length=1))"),
        IS("a=-9223372036854775808 b=9223372036854774784 s=4611686018427387904 i=-1 u=200 v=0 "
           "w=18446744073709549568",
           "(arange(%a, %b, %s, length=4), arange(0, %i, 3, length=0), arange(%u, %v, %u, length=0), "
           "arange(%w - %w, "
           "%w, %w, length=1))"),
        IS("a=9 b=-6 s=-5 i=3 u=255 v=255 w=1", "(arange(%a, %b, %s, length=3), arange(0, %i, 3, length=1), "
                                                "arange(%u, %v, %u, length=0), arange(%w - %w, "
                                                "%w, %w, length=1))"),
        FAILS("a=0 b=1 s=0 i=1 u=1 v=1 w=1", "arange.length", "arange: the step is 0"))

PROGRAM(
    slices,
    "%x: Tensor[(5, 6, 2), float32], %b: Tensor[(2), int64], %e: Tensor[(2), int64], %s: Tensor[(2), int64]",
    "%0 = dyn.strided_slice(%x, %b, %e, %s);\n(%0 + %0, dyn.strided_slice(%x, %b, %e), dyn.reshape(%0, "
    "shape_of(%0)))",
    0,
    IS("b=1,0 e=4,5 s=1,2", "%0 = strided_slice(%x, begin=[1, 0], end=[4, 5], strides=[1, 2]);\n(%0 + %0, "
                            "strided_slice(%x, begin=[1, 0], end=[4, 5]), %0)"),
    IS("b=-2,5 e=9,-9 s=1,-2",
       "%0 = strided_slice(%x, begin=[-2, 5], end=[9, -9], strides=[1, -2]);\n(%0 + %0, "
       "strided_slice(%x, begin=[-2, 5], end=[9, -9]), %0)"),
    IS("b=4,3 e=-5,3 s=-3,100",
       "%0 = strided_slice(%x, begin=[4, 3], end=[-5, 3], strides=[-3, 100]);\n(%0 + %0, "
       "strided_slice(%x, begin=[4, 3], end=[-5, 3]), %0)"),
    IS("b=9,7 e=0,-9 s=-2,-1",
       "%0 = strided_slice(%x, begin=[9, 7], end=[0, -9], strides=[-2, -1]);\n(%0 + %0, "
       "strided_slice(%x, begin=[9, 7], end=[0, -9]), %0)"),
    FAILS("b=0,0 e=1,1 s=1,0", "dyn.strided_slice.sizes",
          "dyn.strided_slice: entry 1 has axis 1 of 3 and stride 0"))

/* Bounds that are extents of a tensor: known as sizes, but not as numbers. */
PROGRAM(slices_of_shapes, "%x: Tensor[(9), float32], %y: Tensor[(4), float32], %s: Tensor[(1), int64]",
        "%0 = shape_of(dyn.tile(%y, %s));\n%1 = dyn.strided_slice(%x, %0 - 6i64, %0);\n"
        "(%1, %1 + %1, arange(0i64, take(%0, 0i64), 3i64), arange(9i64, 0i64, take(%0, 0i64)))",
        0,
        IS("s=1", "%1 = strided_slice(%x, begin=[-2], end=[4]);\n(%1, %1 + %1, arange(0i64, 4i64, 3i64), "
                  "arange(9i64, 0i64, 4i64))"),
        IS("s=2", "%1 = strided_slice(%x, begin=[2], end=[8]);\n(%1, %1 + %1, arange(0i64, 8i64, 3i64), "
                  "arange(9i64, 0i64, 8i64))"))

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(reshape),
                                       fx_test(reshape_few),
                                       fx_test(reshape_none),
                                       fx_test(squeeze_all),
                                       fx_test(squeeze_none),
                                       fx_test(expand_dims),
                                       fx_test(axes_of_shapes),
                                       fx_test(scales_of_shapes),
                                       fx_test(chain),
                                       fx_test(named_sizes),
                                       fx_test(sizes_of_nodes),
                                       fx_test(functions),
                                       fx_test(tile),
                                       fx_test(broadcast_to),
                                       fx_test(squeeze),
                                       fx_test(filled),
                                       fx_test(topk),
                                       fx_test(topk_of_one_result),
                                       fx_test(one_hot),
                                       fx_test(pad),
                                       fx_test(sparse_to_dense),
                                       fx_test(resize),
                                       fx_test(upsampling),
                                       fx_test(upsampling3d),
                                       fx_test(upsampling_of_open_sizes),
                                       fx_test(upsampling_of_read_sizes),
                                       fx_test(ranges),
                                       fx_test(ranges_of_types),
                                       fx_test(ranges_of_integers),
                                       fx_test(slices),
                                       fx_test(slices_of_shapes)};
    if (!run_available(argc, argv)) return 0;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failures;
}
