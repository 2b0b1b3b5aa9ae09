/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models, written field by field (numbers of onnx.proto), and folders of backend tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "make_files.h"

static void varint(gpuc_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) gpuc_buf_u8(b, (uint8_t)(v | 0x80));
    gpuc_buf_u8(b, (uint8_t)v);
}

static void int_field(gpuc_buf *b, int field, uint64_t v)
{
    varint(b, (uint64_t)field << 3);
    varint(b, v);
}

static void bytes_field(gpuc_buf *b, int field, const void *bytes, size_t size)
{
    varint(b, (uint64_t)field << 3 | 2);
    varint(b, size);
    gpuc_buf_bytes(b, bytes, size);
}

static void text_field(gpuc_buf *b, int field, const char *text)
{
    bytes_field(b, field, text, strlen(text));
}

/* Adds inner as a field of b, and empties it. */
static void message_field(gpuc_buf *b, int field, gpuc_buf *inner)
{
    bytes_field(b, field, inner->data, inner->size);
    gpuc_buf_deinit(inner);
}

static gpuc_buf fresh(void)
{
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    return b;
}

enum { FLOAT = 1, INT64 = 7, DOUBLE = 11 };

/* Dims such as "2,3" or "N,3". */
static void value_info_of(gpuc_buf *graph, int field, const char *name, uint64_t elem_type, const char *dims)
{
    gpuc_buf info = fresh(), type = fresh(), tensor = fresh(), shape = fresh();
    char copy[64];
    snprintf(copy, sizeof copy, "%s", dims);
    for (char *word = strtok(copy, ","); word; word = strtok(NULL, ",")) {
        gpuc_buf dim = fresh();
        if (word[0] >= '0' && word[0] <= '9')
            int_field(&dim, 1, (uint64_t)atoi(word));
        else
            text_field(&dim, 2, word);
        message_field(&shape, 1, &dim);
    }
    int_field(&tensor, 1, elem_type);
    message_field(&tensor, 2, &shape);
    message_field(&type, 1, &tensor);
    text_field(&info, 1, name);
    message_field(&info, 2, &type);
    message_field(graph, field, &info);
}

static void value_info(gpuc_buf *graph, int field, const char *name, const char *dims)
{
    value_info_of(graph, field, name, FLOAT, dims);
}

/* attribute: the name of an integer, or NULL */
static void node_with(gpuc_buf *graph, const char *op, const char *in0, const char *in1, const char *out,
                      const char *attribute, uint64_t number)
{
    gpuc_buf n = fresh();
    text_field(&n, 1, in0);
    if (in1) text_field(&n, 1, in1);
    text_field(&n, 2, out);
    char name[64];
    snprintf(name, sizeof name, "node_%s", out);
    text_field(&n, 3, name);
    text_field(&n, 4, op);
    if (attribute) {
        gpuc_buf a = fresh();
        text_field(&a, 1, attribute);
        int_field(&a, 20, 2);
        int_field(&a, 3, number);
        message_field(&n, 5, &a);
    }
    message_field(graph, 1, &n);
}

static void node(gpuc_buf *graph, const char *op, const char *in0, const char *in1, const char *out)
{
    node_with(graph, op, in0, in1, out, NULL, 0);
}

static void write_model(const char *path, gpuc_buf *graph)
{
    gpuc_buf model = fresh(), opset = fresh();
    int_field(&model, 1, 7);
    text_field(graph, 2, "graph");
    message_field(&model, 7, graph);
    int_field(&opset, 2, 13);
    message_field(&model, 8, &opset);
    put(path, model.data, model.size);
    gpuc_buf_deinit(&model);
}

/* sum = a + b, twice = sum * sum, by an operator of choice. */
static void sum_model(const char *path, const char *op, const char *dims)
{
    gpuc_buf g = fresh();
    node(&g, op, "a", "b", "sum");
    node(&g, "Mul", "sum", "sum", "twice");
    value_info(&g, 11, "a", dims);
    value_info(&g, 11, "b", dims);
    value_info(&g, 12, "sum", dims);
    value_info(&g, 12, "twice", dims);
    write_model(path, &g);
}

/* Two nodes that need each other. */
static void cycle_model(const char *path)
{
    gpuc_buf g = fresh();
    node(&g, "Add", "a", "twice", "sum");
    node(&g, "Mul", "sum", "sum", "twice");
    value_info(&g, 11, "a", "2,3");
    value_info(&g, 12, "twice", "2,3");
    write_model(path, &g);
}

static void duplicate_model(const char *path)
{
    gpuc_buf g = fresh();
    node(&g, "Relu", "a", NULL, "b");
    node(&g, "Abs", "a", NULL, "b");
    value_info(&g, 11, "a", "2,3");
    value_info(&g, 12, "b", "2,3");
    write_model(path, &g);
}

/* A few bytes that are a constant of count zeros. */
static void fold_model(const char *path, int64_t count)
{
    gpuc_buf g = fresh(), size = fresh();
    int_field(&size, 1, 1);
    int_field(&size, 2, 7);
    text_field(&size, 8, "size");
    bytes_field(&size, 9, &count, sizeof count);
    node(&g, "ConstantOfShape", "size", NULL, "zeros");
    node(&g, "Add", "a", "zeros", "b");
    message_field(&g, 5, &size);
    value_info(&g, 11, "a", "1");
    value_info(&g, 12, "b", "n");
    write_model(path, &g);
}

static void scalar(gpuc_buf *graph, const char *name, float value)
{
    gpuc_buf t = fresh();
    int_field(&t, 2, FLOAT);
    text_field(&t, 8, name);
    bytes_field(&t, 9, &value, sizeof value);
    message_field(graph, 5, &t);
}

/* Operators that are not fused, three of them with a constant of their own. */
static void chain_model(const char *path)
{
    gpuc_buf g = fresh();
    scalar(&g, "c1", 1.375f);
    scalar(&g, "c2", 0.28125f);
    scalar(&g, "c3", 3.625f);
    node(&g, "Mul", "x", "c1", "scaled");
    node(&g, "MatMul", "scaled", "x", "product");
    node(&g, "Add", "product", "c2", "shifted");
    node(&g, "Softmax", "shifted", NULL, "soft");
    node(&g, "Mul", "soft", "c3", "y");
    value_info(&g, 11, "x", "24,24");
    value_info(&g, 12, "y", "24,24");
    write_model(path, &g);
}

/* y = [1.375 x * x | 3.625 x * z], where a kernel stores each half. */
static void halves_model(const char *path)
{
    gpuc_buf g = fresh();
    scalar(&g, "c1", 1.375f);
    scalar(&g, "c2", 3.625f);
    node(&g, "MatMul", "x", "x", "product");
    node(&g, "Mul", "product", "c1", "left");
    node(&g, "MatMul", "x", "z", "other");
    node(&g, "Mul", "other", "c2", "right");
    node_with(&g, "Concat", "left", "right", "y", "axis", 1);
    value_info(&g, 11, "x", "24,24");
    value_info(&g, 11, "z", "24,24");
    value_info(&g, 12, "y", "24,48");
    write_model(path, &g);
}

/* y = ((1.375 a + b) + c) + d + e: one operator, or two where a kernel has no room for six tensors. */
static void sums_model(const char *path)
{
    static const char *const inputs[] = {"a", "b", "c", "d", "e"};
    gpuc_buf g = fresh();
    scalar(&g, "c1", 1.375f);
    node(&g, "Mul", "a", "c1", "scaled");
    node(&g, "Add", "scaled", "b", "s1");
    node(&g, "Add", "s1", "c", "s2");
    node(&g, "Add", "s2", "d", "s3");
    node(&g, "Add", "s3", "e", "y");
    for (int i = 0; i < 5; i++) value_info(&g, 11, inputs[i], "40");
    value_info(&g, 12, "y", "40");
    write_model(path, &g);
}

/* Two inputs and the outputs of the sum model; off is added to the last element of the second output. */
static void data_set(const char *folder, int64_t rows, double off, bool both_outputs)
{
    const int64_t dims[] = {rows, 3};
    char path[256];
    gpuc_host_tensor a = ramp(2, dims, 1), b = ramp(2, dims, -3.5), sum = ramp(2, dims, 0),
               twice = ramp(2, dims, 0);
    for (size_t i = 0; i < a.count; i++) {
        float v = ((float *)a.data)[i] + ((float *)b.data)[i];
        ((float *)sum.data)[i] = v;
        ((float *)twice.data)[i] = v * v + (i + 1 == a.count ? (float)off : 0);
    }
    const gpuc_host_tensor *tensors[] = {&a, &b, &sum, &twice};
    static const char *const names[] = {"input_0", "input_1", "output_0", "output_1"};
    for (int i = 0; i < (both_outputs ? 4 : 3); i++) {
        snprintf(path, sizeof path, "%s/%s.pb", folder, names[i]);
        put_pb(path, tensors[i]);
    }
    gpuc_host_tensor_deinit(&a);
    gpuc_host_tensor_deinit(&b);
    gpuc_host_tensor_deinit(&sum);
    gpuc_host_tensor_deinit(&twice);
}

/* y = Abs(Reshape(x, shape)); with shape as an operand of data, too, or not. */
static void reshape_test(const char *folder, const int64_t rows[], int num_sets, bool data_too)
{
    gpuc_buf g = fresh();
    char path[256];
    node(&g, "Reshape", "x", "shape", "r");
    node(&g, "Abs", "r", NULL, "y");
    if (data_too) node(&g, "Abs", "shape", NULL, "z");
    value_info(&g, 11, "x", "2,6");
    value_info_of(&g, 11, "shape", INT64, "2");
    value_info(&g, 12, "y", "a,b");
    if (data_too) value_info_of(&g, 12, "z", INT64, "2");
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    write_model(path, &g);
    for (int i = 0; i < num_sets; i++) {
        const int64_t in_dims[] = {2, 6}, dims[] = {rows[i], 12 / rows[i]}, two = 2;
        gpuc_host_tensor x = ramp(2, in_dims, 1), y = ramp(2, dims, 1), shape;
        must(gpuc_host_tensor_init(GPUC_INT64, 1, &two, "shape", &shape));
        memcpy(shape.data, dims, sizeof dims);
        const gpuc_host_tensor *const tensors[] = {&x, &shape, &y, &shape};
        static const char *const names[] = {"input_0", "input_1", "output_0", "output_1"};
        for (int k = 0; k < (data_too ? 4 : 3); k++) {
            snprintf(path, sizeof path, "%s/test_data_set_%d/%s.pb", folder, i, names[k]);
            put_pb(path, tensors[k]);
        }
        if (i == 0) must(gpuc_npy_write(NULL, &shape, in_folder("shape.npy")));
        gpuc_host_tensor_deinit(&x);
        gpuc_host_tensor_deinit(&y);
        gpuc_host_tensor_deinit(&shape);
    }
}

/* y = Abs(x) + float(double(Abs(x)) * k), z = -double(Abs(x)) * k, and k itself. */
static void mixed_types_test(const char *folder)
{
    const int64_t dims[] = {2, 3}, three = 3;
    const double k[] = {0.5, -2, 4};
    gpuc_buf g = fresh(), weight = fresh();
    char path[256];
    int_field(&weight, 1, 3);
    int_field(&weight, 2, DOUBLE);
    text_field(&weight, 8, "k");
    bytes_field(&weight, 9, k, sizeof k);
    node(&g, "Abs", "x", NULL, "a");
    node_with(&g, "Cast", "a", NULL, "wide", "to", DOUBLE);
    node(&g, "Mul", "wide", "k", "product");
    node(&g, "Neg", "product", NULL, "z");
    node_with(&g, "Cast", "product", NULL, "narrow", "to", FLOAT);
    node(&g, "Add", "a", "narrow", "y");
    message_field(&g, 5, &weight);
    value_info(&g, 11, "x", "2,3");
    value_info(&g, 12, "y", "2,3");
    value_info_of(&g, 12, "z", DOUBLE, "2,3");
    value_info_of(&g, 12, "k", DOUBLE, "3");
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    write_model(path, &g);
    gpuc_host_tensor x = ramp(2, dims, -2), y = ramp(2, dims, 0), z, same;
    must(gpuc_host_tensor_init(GPUC_FLOAT64, 2, dims, "z", &z));
    must(gpuc_host_tensor_init(GPUC_FLOAT64, 1, &three, "k", &same));
    memcpy(same.data, k, sizeof k);
    for (size_t i = 0; i < x.count; i++) {
        double a = ((float *)x.data)[i], product = (a < 0 ? -a : a) * k[i % 3];
        ((float *)y.data)[i] = (float)((a < 0 ? -a : a) + product);
        ((double *)z.data)[i] = -product;
    }
    const gpuc_host_tensor *const tensors[] = {&x, &y, &z, &same};
    static const char *const names[] = {"input_0", "output_0", "output_1", "output_2"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/test_data_set_0/%s.pb", folder, names[i]);
        put_pb(path, tensors[i]);
    }
    gpuc_host_tensor_deinit(&x);
    gpuc_host_tensor_deinit(&y);
    gpuc_host_tensor_deinit(&z);
    gpuc_host_tensor_deinit(&same);
}

/* Graphs in attributes of nodes in graphs, written from the innermost outwards. */
static void nested_model(const char *path, int depth)
{
    static const uint8_t tags[] = {6 << 3 | 2, 5 << 3 | 2,
                                   1 << 3 | 2}; /* attribute.g, node.attribute, graph.node */
    size_t room = (size_t)depth * 6 + 16, at = room;
    uint8_t *bytes = calloc(1, room);
    if (!bytes) exit(1);
    for (int i = 0; i <= depth; i++) {
        size_t size = room - at;
        int n = size < 1 << 7 ? 1 : size < 1 << 14 ? 2 : size < 1 << 21 ? 3 : 4;
        at -= (size_t)n;
        for (int k = 0; k < n; k++)
            bytes[at + (size_t)k] = (uint8_t)((size >> 7 * k & 127) | (k + 1 < n ? 128 : 0));
        bytes[--at] = i == depth ? 7 << 3 | 2 : tags[i % 3];
    }
    put(path, bytes + at, room - at);
    free(bytes);
}

void make_models(void)
{
    sum_model("sum.onnx", "Add", "2,3");
    sum_model("dynamic.onnx", "Add", "N,3");
    sum_model("unknown.onnx", "Addd", "2,3");
    cycle_model("cycle.onnx");
    chain_model("chain.onnx");
    sums_model("sums.onnx");
    halves_model("halves.onnx");
    duplicate_model("duplicate.onnx");
    fold_model("fold.onnx", (int64_t)1 << 32);
    put("noise.onnx", "\xff\xff\xff\xff", 4);
    put("empty.onnx", "", 0);
    nested_model("nested.onnx", 99999);

    sum_model("tests/good/model.onnx", "Add", "2,3");
    data_set("tests/good/test_data_set_0", 2, 0, true);
    sum_model("tests/dynamic/model.onnx", "Add", "N,3");
    data_set("tests/dynamic/test_data_set_0", 2, 0, true);
    data_set("tests/dynamic/test_data_set_1", 5, 0, true);

    sum_model("bad/wrong/model.onnx", "Add", "2,3");
    data_set("bad/wrong/test_data_set_0", 2, 0.07, true);
    sum_model("bad/one_output/model.onnx", "Add", "2,3");
    data_set("bad/one_output/test_data_set_0", 2, 0, false);
    sum_model("bad/tolerance/model.onnx", "Add", "2,3");
    data_set("bad/tolerance/test_data_set_0", 2, 0, true);
    put("bad/tolerance/tolerance.json", "[{\"rtol\": 1e-3, \"atol\": 0}, {]", 31);
    sum_model("bad/no_data/model.onnx", "Add", "2,3");
    sum_model("bad/other_shape/model.onnx", "Add", "2,3");
    data_set("bad/other_shape/test_data_set_0", 4, 0, true);
    data_set("bad/no_model/test_data_set_0", 2, 0, true);

    sum_model("loose/model.onnx", "Add", "2,3");
    data_set("loose/test_data_set_0", 2, 0.25, true);
    put("loose/tolerance.json", "[{\"rtol\": 0, \"atol\": 1e-6}, {\"rtol\": 0, \"atol\": 0.3}]\n", 54);
    reshape_test("bound/reshape", (const int64_t[]){3, 4}, 2, false);
    reshape_test("unbound/reshape", (const int64_t[]){3}, 1, true);
    mixed_types_test("mixed");
    sum_model("skipped/unknown/model.onnx", "Addd", "2,3");
    data_set("skipped/unknown/test_data_set_0", 2, 0, true);
}
