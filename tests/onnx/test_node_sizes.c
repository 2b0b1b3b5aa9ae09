/* SPDX-License-Identifier: Apache-2.0 */
/* The models of the ONNX backend tests (Debian package libonnx-testdata, or folders on the command line) with the
 * extents of their inputs open. What the importer wants of a number it must ask of an open size, as a condition
 * that a run checks, and the extents of the results are those that the number gives. */
#include "../relay/fixture.h"
#include "base/file.h"
#include "node_tests.h"
#include "relay/infer.h"
#include "relay_pass/passes.h"
#include "tir/tir.h"

enum { MAX_SIZES = 64, MAX_BINDS = 16 };

typedef Onnx__TensorShapeProto__Dimension dimension;

/* A dimension of an input of the model. */
typedef struct size {
    dimension *at;
    int input, k;
    int64_t number; /* in the model */
    bool open;
    char name[48];
} size;

typedef struct test_model {
    const char *dir, *name;
    Onnx__ModelProto *message;
    size sizes[MAX_SIZES];
    int num_sizes;
    gpuc_onnx_bind binds[MAX_BINDS];
    int num_binds;
} test_model;

static int num_tried, num_wrong, num_closed, num_open, num_strict;
static bool verbose;

static void set_number(size *s, int64_t v)
{
    s->at->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    s->at->dim_value = v;
}

static void set_open(size *s)
{
    s->at->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    s->at->dim_param = s->name;
}

/* ---- Loading: a context for each try ---- */

typedef struct load_arg {
    const test_model *m;
    gpuc_rmodule *module;
} load_arg;

static void load(gpuc_ctx *ctx, void *arg)
{
    load_arg *a = arg;
    size_t bytes = gpuc_onnx__model_proto__get_packed_size(a->m->message);
    uint8_t *file = gpuc_ctx_alloc(ctx, bytes);
    gpuc_onnx__model_proto__pack(a->m->message, file);
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.keep_symbolic = true;
    options.binds = a->m->binds;
    options.num_binds = a->m->num_binds;
    a->module = gpuc_onnx_load_bytes(ctx, file, bytes, a->m->name, a->m->dir, &options);
    gpuc_relay_pass_ctx p = {.ctx = ctx, .module = a->module};
    gpuc_relay_pass_collect_conditions(&p);
}

static gpuc_status try_load(gpuc_ctx *ctx, const test_model *m, gpuc_rmodule **out)
{
    load_arg a = {m, NULL};
    gpuc_status status = gpuc_ctx_protect(ctx, load, &a);
    *out = a.module;
    return status;
}

static bool loads(const test_model *m)
{
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = try_load(ctx, m, &module);
    bool ok = !status;
    if (verbose && !ok) printf("  %s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return ok;
}

/* ---- Open sizes against numbers ---- */

typedef struct numbers {
    gpuc_ctx *ctx;
    int n;
    gpuc_expr symbols[MAX_SIZES], values[MAX_SIZES];
} numbers;

/* What the symbols of the module's inputs are in this try. */
static numbers numbers_of(gpuc_ctx *ctx, const test_model *m, const gpuc_rmodule *module, const int64_t *v)
{
    const gpuc_rfunction *main = gpuc_as_rfunction(gpuc_rmodule_get(module, "main"));
    numbers out = {.ctx = ctx};
    for (int i = 0; i < m->num_sizes; i++) {
        const size *s = &m->sizes[i];
        for (int p = 0; s->open && p < main->n; p++) {
            if (strcmp(gpuc_as_rvar(main->params[p])->name, m->message->graph->input[s->input]->name))
                continue;
            out.symbols[out.n] = main->params[p]->type->tensor.dims[s->k];
            out.values[out.n++] = gpuc_int(ctx, v[i]);
        }
    }
    return out;
}

static gpuc_expr as_number(const numbers *x, gpuc_expr e)
{
    return gpuc_tir_substitute(x->ctx, e, x->n, x->symbols, x->values);
}

/* The condition that does not hold; NULL: none. Those on what the program computes are left out. */
static const gpuc_op_condition *broken(const numbers *x, const gpuc_rmodule *module)
{
    for (size_t i = 0; i < module->conditions.count; i++) {
        const gpuc_op_condition *c = module->conditions.at[i];
        int64_t is;
        if (gpuc_expr_is_int(as_number(x, c->cond), &is) && !is) return c;
    }
    return NULL;
}

static const gpuc_tensor_type *output_type(const gpuc_rmodule *module, int i)
{
    const gpuc_rexpr *body = gpuc_as_rfunction(gpuc_rmodule_get(module, "main"))->body;
    return &(body->type->kind == GPUC_RTYPE_TUPLE ? body->type->at[i] : body->type)->tensor;
}

static bool same_extents(const numbers *x, const gpuc_tensor_type *open, const gpuc_tensor_type *known)
{
    if (open->ndim != known->ndim) return false;
    for (int k = 0; k < open->ndim; k++) {
        int64_t have, want;
        if (gpuc_expr_is_int(as_number(x, open->dims[k]), &have) && gpuc_expr_is_int(known->dims[k], &want) &&
            have != want)
            return false;
    }
    return true;
}

/* Whether no output has an element: then it does not matter what is taken. */
static bool gives_nothing(const numbers *x, const gpuc_rmodule *open)
{
    for (int i = 0; i < open->num_outputs; i++) {
        const gpuc_tensor_type *t = output_type(open, i);
        bool empty = false;
        for (int k = 0; k < t->ndim; k++) empty |= gpuc_tir_is_const(as_number(x, t->dims[k]), 0);
        if (!empty) return false;
    }
    return true;
}

static void print_sizes(const test_model *m, const int64_t *v, const char *what, const char *why)
{
    printf("%s:", m->name);
    for (int i = 0; i < m->num_sizes; i++)
        if (v[i] != m->sizes[i].number)
            printf(" dimension %d of input %d as %lld,", m->sizes[i].k, m->sizes[i].input, (long long)v[i]);
    printf(" %s%s%s\n", what, why ? ": " : "", why ? why : "");
}

static void try_numbers(gpuc_ctx *ctx, test_model *m, const gpuc_rmodule *open, const int64_t *v)
{
    gpuc_ctx *other;
    gpuc_rmodule *known = NULL;
    for (int i = 0; i < m->num_sizes; i++) set_number(&m->sizes[i], v[i]);
    gpuc_status status = gpuc_ctx_create(NULL, &other);
    if (!status) status = try_load(other, m, &known);
    numbers x = numbers_of(ctx, m, open, v);
    const gpuc_op_condition *c = broken(&x, open);
    num_tried++;
    if (status && !c && !gives_nothing(&x, open)) {
        num_wrong++;
        print_sizes(m, v, "is taken only where it is open", gpuc_status_message(status));
    } else if (c && !status) {
        bool own = true; /* the numbers of the model */
        for (int i = 0; i < m->num_sizes; i++) own &= v[i] == m->sizes[i].number;
        num_strict++;
        num_wrong += own;
        if (own || verbose) print_sizes(m, v, "is taken only as a number", c->text);
    }
    for (int i = 0; !status && !c && i < open->num_outputs; i++)
        if (!same_extents(&x, output_type(open, i), output_type(known, i))) {
            num_wrong++;
            print_sizes(m, v, "gives other extents where it is open", NULL);
        }
    gpuc_status_release(status);
    gpuc_ctx_destroy(other);
}

/* Each size by itself as other numbers, then all that are alike. */
static void try_all(gpuc_ctx *ctx, test_model *m, const gpuc_rmodule *open)
{
    int64_t v[MAX_SIZES];
    for (int i = 0; i < m->num_sizes; i++) v[i] = m->sizes[i].number;
    try_numbers(ctx, m, open, v);
    for (int i = 0; i < m->num_sizes; i++) {
        int64_t is = m->sizes[i].number, tries[] = {0, is - 1, is + 1};
        for (int k = 0; m->sizes[i].open && k < 3; k++) {
            if (tries[k] < 0 || (k == 1 && is == 1)) continue;
            v[i] = tries[k];
            try_numbers(ctx, m, open, v);
            v[i] = is;
        }
    }
    for (int i = 0; i < m->num_sizes; i++) {
        int alike = 0;
        for (int k = 0; k < m->num_sizes; k++) {
            bool same = m->sizes[k].open && m->sizes[k].number == m->sizes[i].number;
            alike += same;
            if (same && k < i) alike = MAX_SIZES; /* has been */
            v[k] = m->sizes[k].number + same;
        }
        if (m->sizes[i].open && alike > 1 && alike < MAX_SIZES) try_numbers(ctx, m, open, v);
    }
}

static void check_model(gpuc_ctx *ctx, void *arg)
{
    test_model *m = arg;
    gpuc_rmodule *open;
    if (!loads(m)) return;
    for (int i = 0; i < m->num_sizes; i++) {
        set_open(&m->sizes[i]);
        m->sizes[i].open = loads(m);
        num_open += m->sizes[i].open;
        num_closed += !m->sizes[i].open;
        if (!m->sizes[i].open) set_number(&m->sizes[i], m->sizes[i].number);
    }
    GPUC_RAISE_IF(ctx, try_load(ctx, m, &open));
    try_all(ctx, m, open);
}

/* ---- Models ---- */

/* Whether a node takes a number that decides a shape from this input. */
static bool decides_shape(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            if (!strcmp(g->node[i]->input[k], name) && gpuc_onnx_decides_shape(g->node[i]->op_type, (int)k))
                return true;
    return false;
}

static void bind(gpuc_ctx *ctx, test_model *m, int i, const char *name)
{
    Onnx__TensorProto *t =
        node_tests_tensor(ctx, gpuc_ctx_printf(ctx, "%s/test_data_set_0/input_%d.pb", m->dir, i));
    gpuc_onnx reader = {.ctx = ctx, .dir = ".", .memory = &node_tests_memory};
    const gpuc_rconstant *c = gpuc_as_rconstant(gpuc_onnx_tensor(&reader, t, ""));
    gpuc_onnx__tensor_proto__free_unpacked(t, &node_tests_memory);
    gpuc_onnx_bind *b = &m->binds[m->num_binds++];
    int64_t *dims = gpuc_new_array(ctx, int64_t, c->base.type->tensor.ndim + 1);
    gpuc_relay_tensor_type_static(&c->base.type->tensor, dims);
    *b = (gpuc_onnx_bind){.name = name,
                          .dtype = c->base.type->tensor.dtype,
                          .ndim = c->base.type->tensor.ndim,
                          .dims = dims,
                          .data = c->data->bytes};
}

static void check_inputs(gpuc_ctx *ctx, test_model *m)
{
    const Onnx__GraphProto *g = m->message->graph;
    for (size_t i = 0; i < g->n_input; i++) {
        const Onnx__TypeProto *t = g->input[i]->type;
        if (t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape) return;
        if (decides_shape(g, g->input[i]->name)) {
            if (m->num_binds < MAX_BINDS) bind(ctx, m, (int)i, g->input[i]->name);
            continue;
        }
        for (size_t k = 0; k < t->tensor_type->shape->n_dim && m->num_sizes < MAX_SIZES; k++) {
            dimension *d = t->tensor_type->shape->dim[k];
            if (d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) return;
            size *s = &m->sizes[m->num_sizes++];
            *s = (size){.at = d, .input = (int)i, .k = (int)k, .number = d->dim_value};
            snprintf(s->name, sizeof s->name, "i%zud%zu", i, k);
        }
    }
    check_model(ctx, m);
}

static void check_test(gpuc_ctx *ctx, void *arg)
{
    test_model *m = arg;
    m->message = node_tests_model(ctx, m->dir);
    if (m->message->graph) check_inputs(ctx, m);
}

static void run_one(const char *dir, const char *name)
{
    test_model *m = calloc(1, sizeof *m);
    gpuc_ctx *ctx;
    *m = (test_model){.dir = dir, .name = name};
    if (verbose) printf("%s\n", name);
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, check_test, m);
    if (status && gpuc_status_code(status) != GPUC_UNSUPPORTED) {
        num_wrong++;
        printf("%s: %s\n", name, gpuc_status_message(status));
    }
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    for (int i = 0; i < m->num_sizes; i++) set_number(&m->sizes[i], m->sizes[i].number);
    if (m->message) gpuc_onnx__model_proto__free_unpacked(m->message, &node_tests_memory);
    free(m);
}

int main(int argc, char **argv)
{
    int first = 1;
    if (first < argc && !strcmp(argv[first], "-v")) verbose = first++;
    if (first == argc && node_tests_each(node_tests_dir, run_one) < 0) {
        printf("skipped: there is no %s (Debian: libonnx-testdata)\n", node_tests_dir);
        return 77;
    }
    for (int i = first; i < argc; i++) run_one(argv[i], argv[i]);
    printf("%d sizes open, %d must be known; %d of %d tries were taken only as numbers\n", num_open,
           num_closed, num_strict, num_tried);
    printf("cases: %d (%d failed)\n", num_tried, num_wrong);
    return num_wrong || !num_tried;
}
