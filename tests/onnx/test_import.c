/* SPDX-License-Identifier: Apache-2.0 */
/* Import of whole models: graphs, types, pins, tensors, values of shapes. What operators mean is tested with
 * the ONNX backend tests (test_node_data). */
#include <unistd.h>

#include "../relay_pass/interp.h"
#include "load.h"

static gpuc_rmodule *load_with(gpuc_ctx *ctx, wr_model *m, const gpuc_onnx_options *options)
{
    gpuc_buf file;
    wr_end(m, &file);
    return wr_load(ctx, &file, ".", options);
}

static gpuc_rmodule *load(gpuc_ctx *ctx, wr_model *m)
{
    return load_with(ctx, m, NULL);
}

static gpuc_rexpr *body_of(const gpuc_rmodule *m)
{
    return gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body;
}

static void a_small_network(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    float w[18] = {1}, b[2] = {0.5f, -0.5f};
    wr_begin(&m, 13);
    wr_input(&m, "image", 1, "1,1,4,4");
    wr_floats(&m, "w", "2,1,3,3", w);
    wr_floats(&m, "b", "2", b);
    wr_output(&m, "probabilities");
    wr_output(&m, "features");
    /* in an order in which nothing is ready when it comes */
    wr_node(&m, "Softmax", "flat", "probabilities", "axis=1");
    wr_node(&m, "Flatten", "features", "flat", NULL);
    wr_node(&m, "Relu", "c", "features", NULL);
    wr_node(&m, "Conv", "image,w,b", "c", "pads=[1, 1, 1, 1]");
    gpuc_rmodule *r = load(ctx, &m);
    assert_int_equal(r->num_outputs, 2);
    assert_string_equal(r->output_names[0], "probabilities");
    assert_string_equal(r->output_names[1], "features");
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(r, "main"));
    assert_int_equal(f->n, 1);
    assert_string_equal(gpuc_as_rvar(f->params[0])->name, "image");
    gpuc_rexpr *features = gpuc_as_rtuple(f->body)->fields[1];
    assert_string_equal(features->source, "n_Relu");
    gpuc_rexpr *bias_add = gpuc_as_rcall(features)->args[0];
    assert_true(gpuc_relay_is_op(bias_add, "nn.bias_add"));
    assert_string_equal(bias_add->source, "n_Conv");
    assert_string_equal(gpuc_as_rcall(bias_add)->args[0]->source, "n_Conv"); /* all that a node made */
    assert_string_equal(gpuc_as_rcall(bias_add)->args[1]->source, "b");
}

static void initializers_may_be_listed_as_inputs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    float one = 1;
    wr_begin(&m, 7);
    wr_input(&m, "k", 1, "1");
    wr_input(&m, "x", 1, "3");
    wr_floats(&m, "k", "1", &one);
    wr_output(&m, "y");
    wr_node(&m, "Add", "x,k", "y", NULL);
    m.ir_version = 3; /* later ones mean a default value: tests/build/test_defaults.c */
    gpuc_rmodule *r = load(ctx, &m);
    assert_int_equal(gpuc_as_rfunction(gpuc_rmodule_get(r, "main"))->n, 1);
}

static void inputs_are_outputs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "3");
    wr_output(&m, "x");
    gpuc_rmodule *r = load(ctx, &m);
    assert_true(body_of(r)->kind == GPUC_REXPR_VAR);
}

/* ---- Symbolic dims ---- */

static void symbolic_model(wr_model *m)
{
    wr_begin(m, 13);
    wr_input(m, "x", 1, "N,3,?");
    wr_output(m, "y");
    wr_node(m, "Relu", "x", "y", NULL);
}

static void run_load(gpuc_ctx *ctx, void *arg)
{
    wr_model m;
    symbolic_model(&m);
    load_with(ctx, &m, arg);
}

static const char *type_text(gpuc_ctx *ctx, const gpuc_rtype *t)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_relay_rtype_print(ctx, &text, t);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

static const char *pinned(gpuc_ctx *ctx, const gpuc_shape_pin *pins, int n, bool keep)
{
    gpuc_onnx_options o = GPUC_ONNX_OPTIONS_INIT;
    o.pins = pins;
    o.num_pins = n;
    o.keep_symbolic = keep;
    wr_model m;
    symbolic_model(&m);
    return type_text(ctx, body_of(load_with(ctx, &m, &o))->type);
}

static void pins(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    int64_t full[] = {2, 3, 5}, n = 7, wrong[] = {2, 4, 5}, negative[] = {2, 3, -1};
    gpuc_shape_pin input = {.name = "x", .ndim = 3, .dims = full},
                   dim = {.name = "N", .dims = &n, .is_dim = true};
    gpuc_shape_pin both[] = {input, dim};
    assert_string_equal(pinned(ctx, &input, 1, false), "Tensor[(2, 3, 5), float32]");
    assert_string_equal(pinned(ctx, both, 2, false), "Tensor[(2, 3, 5), float32]");
    assert_string_equal(pinned(ctx, &dim, 1, true), "Tensor[(7, 3, x_2), float32]");
    assert_string_equal(pinned(ctx, NULL, 0, true), "Tensor[(N, 3, x_2), float32]");
    gpuc_onnx_options o = GPUC_ONNX_OPTIONS_INIT;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "dimension 0 ('N') of input 'x'|--shape x=1,3,1|--shape N=1",
              run_load, &o);
    o.num_pins = 1;
    o.pins = &dim;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "dimension 2 of input 'x' is not fixed|--shape x=7,3,1", run_load,
              &o);
    gpuc_shape_pin bad = {.name = "x", .ndim = 3, .dims = wrong};
    o.pins = &bad;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "dimension 1 of input 'x' is 3 in the model, the given shape says 4", run_load, &o);
    bad.ndim = 2;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "'x' has 3 dimensions, the given shape 2", run_load, &o);
    bad = (gpuc_shape_pin){.name = "x", .ndim = 3, .dims = negative};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "--shape x has the extent -1", run_load, &o);
    bad = (gpuc_shape_pin){.name = "z", .ndim = 3, .dims = full};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "'z', which is no input", run_load, &o);
    bad = (gpuc_shape_pin){.name = "M", .dims = &n, .is_dim = true};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "'M', which is no symbolic dimension", run_load, &o);
    const gpuc_shape_pin incomplete[] = {{.ndim = 1, .dims = full},
                                         {.name = "x", .ndim = 3},
                                         {.name = "x", .ndim = -3, .dims = full},
                                         {.name = "N", .is_dim = true}};
    for (int i = 0; i < 4; i++) {
        o.pins = &incomplete[i];
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, "pin 0 has no name, or no dims", run_load, &o);
    }
    o.pins = NULL;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the list of pins is NULL", run_load, &o);
    const gpuc_onnx_bind bind = {.name = "x", .dtype = GPUC_FLOAT32, .ndim = 3, .data = full};
    o = (gpuc_onnx_options)GPUC_ONNX_OPTIONS_INIT;
    o.binds = &bind;
    o.num_binds = 1;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "bind 0 has no name, or no dims", run_load, &o);
}

/* Reshape fed by Shape, Gather, Unsqueeze, Mul and Concat, as PyTorch writes view(n, -1, 2 * w). */
static void shapes_computed_in_the_graph(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    int64_t zero = 0, two = 2, minus = -1;
    wr_begin(&m, 11);
    wr_input(&m, "x", 1, "4,6,10");
    wr_ints(&m, "i0", "", &zero);
    wr_ints(&m, "i2", "", &two);
    wr_ints(&m, "m1", "1", &minus);
    wr_output(&m, "y");
    wr_node(&m, "Shape", "x", "s", NULL);
    wr_node(&m, "Gather", "s,i0", "n", "axis=0");
    wr_node(&m, "Gather", "s,i2", "w", "axis=0");
    wr_node(&m, "Mul", "w,i2", "w2", NULL);
    wr_node(&m, "Unsqueeze", "n", "n1", "axes=[0]");
    wr_node(&m, "Unsqueeze", "w2", "w1", "axes=[0]");
    wr_node(&m, "Concat", "n1,m1,w1", "target", "axis=0");
    wr_node(&m, "Reshape", "x,target", "y", NULL);
    assert_string_equal(type_text(ctx, body_of(load(ctx, &m))->type), "Tensor[(4, 3, 20), float32]");
}

/* Sizes through floats: Upsample as PyTorch 1.0 wrote it. */
static void scales_computed_in_the_graph(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    float two[] = {2, 2}, ones[] = {1, 1};
    wr_begin(&m, 11);
    wr_input(&m, "x", 1, "1,2,3,5");
    wr_floats(&m, "two", "2", two);
    wr_floats(&m, "ones", "2", ones);
    wr_floats(&m, "roi", "0", ones);
    wr_output(&m, "y");
    wr_output(&m, "z");
    wr_node(&m, "Shape", "x", "s", NULL);
    wr_node(&m, "Cast", "s", "f", "to=1");
    wr_node(&m, "Split", "f", "head,tail", "axis=0");
    wr_node(&m, "Mul", "tail,two", "doubled", NULL);
    wr_node(&m, "Floor", "doubled", "floored", NULL);
    wr_node(&m, "Concat", "head,floored", "sizes_f", "axis=0");
    wr_node(&m, "Cast", "sizes_f", "sizes", "to=7");
    wr_node(&m, "Resize", "x,roi,,sizes", "y", "mode=nearest");
    wr_node(&m, "Div", "doubled,tail", "ratio", NULL);
    wr_node(&m, "Concat", "ones,ratio", "scales", "axis=0");
    wr_node(&m, "Resize", "x,roi,scales", "z", "mode=linear");
    gpuc_rexpr *body = body_of(load(ctx, &m));
    assert_string_equal(type_text(ctx, gpuc_as_rtuple(body)->fields[0]->type),
                        "Tensor[(1, 2, 6, 10), float32]");
    assert_string_equal(type_text(ctx, gpuc_as_rtuple(body)->fields[1]->type),
                        "Tensor[(1, 2, 6, 10), float32]");
}

/* Expand(x, Where(shape == -1, 1, shape)). */
static void shapes_chosen_in_the_graph(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    int64_t shape[] = {2, -1, 4}, one = 1, three = 3;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "3,1");
    wr_ints(&m, "shape", "3", shape);
    wr_ints(&m, "minus", "", (int64_t[]){-1});
    wr_ints(&m, "three", "1", &three);
    wr_output(&m, "y");
    gpuc_buf n, a, t;
    wr_node_begin(&n, "ConstantOfShape", "three", "ones", NULL);
    gpuc_buf_init(&a, (gpuc_allocator){0});
    gpuc_buf_init(&t, (gpuc_allocator){0});
    wr_str(&a, 1, "value");
    wr_int(&a, 20, 4);
    wr_tensor(&t, "", 7, "1", &one, sizeof one);
    wr_msg(&a, 5, &t);
    wr_msg(&n, 5, &a);
    wr_msg(&m.graph, 1, &n);
    wr_node(&m, "Equal", "shape,minus", "same", NULL);
    wr_node(&m, "Where", "same,ones,shape", "target", NULL);
    wr_node(&m, "Expand", "x,target", "y", NULL);
    assert_string_equal(type_text(ctx, body_of(load(ctx, &m))->type), "Tensor[(2, 3, 4), float32]");
}

static void symbolic_shapes_reach_the_output(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    gpuc_onnx_options o = GPUC_ONNX_OPTIONS_INIT;
    o.keep_symbolic = true;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "N,3");
    wr_output(&m, "y");
    wr_node(&m, "Shape", "x", "y", NULL);
    gpuc_rexpr *body = body_of(load_with(ctx, &m, &o));
    assert_string_equal(gpuc_expr_text(ctx, body->values[0]), "N");
}

/* ---- Tensors ---- */

static gpuc_rexpr *constant_of(gpuc_ctx *ctx, void (*fill)(gpuc_buf *tensor))
{
    wr_model m;
    gpuc_buf t;
    wr_begin(&m, 13);
    gpuc_buf_init(&t, (gpuc_allocator){0});
    fill(&t);
    wr_str(&t, 8, "k");
    wr_msg(&m.graph, 5, &t);
    wr_output(&m, "k");
    return body_of(load(ctx, &m));
}

static void packed(gpuc_buf *t, int field, const uint64_t *v, int n)
{
    gpuc_buf list;
    gpuc_buf_init(&list, (gpuc_allocator){0});
    for (int i = 0; i < n; i++) wr_varint(&list, v[i]);
    wr_msg(t, field, &list);
}

static void head(gpuc_buf *t, int elem_type, int64_t n)
{
    wr_int(t, 1, n);
    wr_int(t, 2, elem_type);
}

static void float_fields(gpuc_buf *t)
{
    head(t, 1, 2);
    wr_bytes(t, 4, (float[]){1.5f, -2}, 8);
}

static void int8_fields(gpuc_buf *t)
{
    head(t, 3, 3);
    packed(t, 5, (uint64_t[]){1, (uint64_t)-1, (uint64_t)-128}, 3);
}

static void half_fields(gpuc_buf *t)
{
    head(t, 10, 2);
    packed(t, 5, (uint64_t[]){0x3c00, 0xc000}, 2);
}

static void bool_fields(gpuc_buf *t)
{
    head(t, 9, 3);
    packed(t, 5, (uint64_t[]){0, 1, 256}, 3);
}

static void bool_raw(gpuc_buf *t)
{
    head(t, 9, 3);
    wr_bytes(t, 9, "\0\1\xff", 3);
}

static void uint32_fields(gpuc_buf *t)
{
    head(t, 12, 2);
    packed(t, 11, (uint64_t[]){7, 4294967295}, 2);
}

static void double_fields(gpuc_buf *t)
{
    head(t, 11, 1);
    wr_bytes(t, 10, (double[]){0.1}, 8);
}

static void empty_raw(gpuc_buf *t)
{
    head(t, 1, 0);
}

static void tensors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *k = constant_of(ctx, float_fields);
    assert_true(fx_element(ctx, k, 0) == 1.5 && fx_element(ctx, k, 1) == -2);
    k = constant_of(ctx, int8_fields);
    assert_true(fx_element(ctx, k, 1) == -1 && fx_element(ctx, k, 2) == -128);
    k = constant_of(ctx, half_fields);
    assert_true(fx_element(ctx, k, 0) == 1 && fx_element(ctx, k, 1) == -2);
    k = constant_of(ctx, bool_fields);
    assert_memory_equal(gpuc_as_rconstant(k)->data->bytes, "\0\1\1", 3);
    k = constant_of(ctx, bool_raw);
    assert_memory_equal(gpuc_as_rconstant(k)->data->bytes, "\0\1\1", 3);
    k = constant_of(ctx, uint32_fields);
    assert_true(fx_element(ctx, k, 1) == 4294967295.0);
    assert_true(fx_element(ctx, constant_of(ctx, double_fields), 0) == 0.1);
    assert_int_equal(fx_count(constant_of(ctx, empty_raw)), 0);
}

/* ---- External data ---- */

typedef struct external_case {
    const char *location, *offset, *length, *dir;
    int64_t elements;
} external_case;

static void entry(gpuc_buf *tensor, const char *key, const char *value)
{
    gpuc_buf e;
    if (!value) return;
    gpuc_buf_init(&e, (gpuc_allocator){0});
    wr_str(&e, 1, key);
    wr_str(&e, 2, value);
    wr_msg(tensor, 13, &e);
}

static gpuc_rexpr *external_body;

static void load_external(gpuc_ctx *ctx, void *arg)
{
    const external_case *c = arg;
    wr_model m;
    gpuc_buf t, file;
    wr_begin(&m, 13);
    gpuc_buf_init(&t, (gpuc_allocator){0});
    head(&t, 1, c->elements);
    wr_str(&t, 8, "weights");
    entry(&t, "location", c->location);
    entry(&t, "offset", c->offset);
    entry(&t, "length", c->length);
    wr_int(&t, 14, 1);
    wr_msg(&m.graph, 5, &t);
    wr_output(&m, "weights");
    wr_end(&m, &file);
    external_body = body_of(wr_load(ctx, &file, c->dir, NULL));
}

static void external_data(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    char dir[] = "/tmp/gpuc-onnx-XXXXXX", path[64], link_path[64], folder_path[64];
    float v[] = {1, 2, 3, 4};
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/w.bin", dir);
    snprintf(link_path, sizeof link_path, "%s/link.bin", dir);
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(v, sizeof v, 1, f), 1);
    fclose(f);
    assert_int_equal(symlink("/etc/passwd", link_path), 0);
    snprintf(folder_path, sizeof folder_path, "%s/etc", dir);
    assert_int_equal(symlink("/etc", folder_path), 0);
    load_external(ctx, &(external_case){"w.bin", NULL, NULL, dir, 4});
    assert_true(fx_element(ctx, external_body, 3) == 4);
    load_external(ctx, &(external_case){"w.bin", "4", "8", dir, 2});
    assert_true(fx_element(ctx, external_body, 0) == 2);
#define OUTSIDE(code, words, ...) fx_expect(ctx, code, words, load_external, &(external_case){__VA_ARGS__})
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|'/etc/passwd' is not in the model's folder", "/etc/passwd",
            NULL, NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|not in the model's folder", "../w.bin", NULL, NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|not in the model's folder", "a/../../w.bin", NULL, NULL, dir,
            1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|not in the model's folder", NULL, NULL, NULL, dir, 1);
    OUTSIDE(GPUC_IO, "tensor weights|cannot open", "link.bin", NULL, NULL, dir, 1);
    OUTSIDE(GPUC_IO, "tensor weights|cannot open", "none.bin", NULL, NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|fewer than 0 + 20", "w.bin", NULL, NULL, dir, 5);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|fewer than 16 + 4", "w.bin", "16", NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|offset '-4'", "w.bin", "-4", NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|offset '1x'", "w.bin", "1x", NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|external data of 8 bytes, the shape needs 4", "w.bin", NULL,
            "8", dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|fewer", "w.bin", NULL, NULL, dir,
            (int64_t)1 << 60); /* before memory is asked for */
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|not in the model's folder", ".", NULL, NULL, dir, 1);
    OUTSIDE(GPUC_INVALID_DATA, "tensor weights|not in the model's folder", "etc/passwd", NULL, NULL, dir, 1);
    load_external(ctx, &(external_case){"w.bin", "2", "4", dir, 1}); /* not where floats can lie: copied */
    unlink(folder_path);
    unlink(path);
    unlink(link_path);
    rmdir(dir);
}

/* What the rows of operators say to serve is what the importer knows. */
static void names_of_operators(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    char name[GPUC_OP_NAME];
    for (size_t i = 0; i < gpuc_op_count(); i++)
        for (const char *list = gpuc_op_at(i)->onnx; (list = gpuc_op_next_name(list, name));)
            assert_non_null(gpuc_onnx_find(name, INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(a_small_network),
        fx_test(initializers_may_be_listed_as_inputs),
        fx_test(inputs_are_outputs),
        fx_test(pins),
        fx_test(shapes_computed_in_the_graph),
        fx_test(scales_computed_in_the_graph),
        fx_test(shapes_chosen_in_the_graph),
        fx_test(symbolic_shapes_reach_the_output),
        fx_test(tensors),
        fx_test(external_data),
        fx_test(names_of_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
