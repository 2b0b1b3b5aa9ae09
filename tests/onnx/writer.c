/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void init(gpuc_buf *b)
{
    gpuc_buf_init(b, (gpuc_allocator){0});
}

void wr_varint(gpuc_buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7) gpuc_buf_u8(b, (uint8_t)(v | 128));
    gpuc_buf_u8(b, (uint8_t)v);
}

static void tag(gpuc_buf *b, int field, int type)
{
    wr_varint(b, (uint64_t)field << 3 | (uint64_t)type);
}

void wr_int(gpuc_buf *b, int field, int64_t v)
{
    tag(b, field, 0);
    wr_varint(b, (uint64_t)v);
}

void wr_f32(gpuc_buf *b, int field, float v)
{
    tag(b, field, 5);
    gpuc_buf_bytes(b, &v, sizeof v);
}

void wr_bytes(gpuc_buf *b, int field, const void *data, size_t size)
{
    tag(b, field, 2);
    wr_varint(b, size);
    gpuc_buf_bytes(b, data, size);
}

void wr_str(gpuc_buf *b, int field, const char *text)
{
    wr_bytes(b, field, text, strlen(text));
}

void wr_msg(gpuc_buf *b, int field, gpuc_buf *inner)
{
    wr_bytes(b, field, inner->data ? inner->data : "", inner->size);
    gpuc_buf_deinit(inner);
}

void wr_begin(wr_model *m, int opset)
{
    init(&m->graph);
    m->opset = opset;
    m->ir_version = 8;
    wr_str(&m->graph, 2, "graph");
}

void wr_end(wr_model *m, gpuc_buf *out)
{
    gpuc_buf opset;
    init(out);
    init(&opset);
    wr_int(out, 1, m->ir_version);
    wr_str(&opset, 1, "");
    wr_int(&opset, 2, m->opset);
    wr_msg(out, 8, &opset);
    wr_msg(out, 7, &m->graph);
}

/* Calls one(user, text, length) for each part between commas. */
static void each_part(const char *list, void (*one)(void *user, const char *text, size_t n), void *user)
{
    if (!*list) return;
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        one(user, p, n);
        p += n;
        if (!*p) return;
    }
}

static void dim(void *shape, const char *text, size_t n)
{
    gpuc_buf d;
    init(&d);
    if (isdigit((unsigned char)*text) || *text == '-')
        wr_int(&d, 1, strtoll(text, NULL, 10));
    else if (*text != '?')
        wr_bytes(&d, 2, text, n);
    wr_msg(shape, 1, &d);
}

static void value_info(gpuc_buf *graph, int field, const char *name, int elem_type, const char *dims)
{
    gpuc_buf info, type, tensor, shape;
    init(&info);
    init(&type);
    init(&tensor);
    init(&shape);
    wr_str(&info, 1, name);
    if (elem_type) {
        wr_int(&tensor, 1, elem_type);
        if (dims) {
            each_part(dims, dim, &shape);
            wr_msg(&tensor, 2, &shape);
        }
        wr_msg(&type, 1, &tensor);
        wr_msg(&info, 2, &type);
    }
    gpuc_buf_deinit(&shape);
    gpuc_buf_deinit(&tensor);
    gpuc_buf_deinit(&type);
    wr_msg(graph, field, &info);
}

void wr_input(wr_model *m, const char *name, int elem_type, const char *dims)
{
    value_info(&m->graph, 11, name, elem_type, dims);
}

void wr_output_as(wr_model *m, const char *name, int elem_type, const char *dims)
{
    value_info(&m->graph, 12, name, elem_type, dims);
}

void wr_output(wr_model *m, const char *name)
{
    wr_output_as(m, name, 0, NULL);
}

static void tensor_dim(void *b, const char *text, size_t n)
{
    (void)n;
    wr_int(b, 1, strtoll(text, NULL, 10));
}

void wr_tensor(gpuc_buf *b, const char *name, int elem_type, const char *dims, const void *raw, size_t size)
{
    each_part(dims, tensor_dim, b);
    wr_int(b, 2, elem_type);
    wr_str(b, 8, name);
    if (raw) wr_bytes(b, 9, raw, size);
}

static size_t count_of(const char *dims)
{
    size_t n = 1;
    for (const char *p = dims; *p; p += strcspn(p, ","), p += *p == ',') n *= (size_t)strtoll(p, NULL, 10);
    return n;
}

static void initializer(wr_model *m, const char *name, int elem_type, const char *dims, const void *v,
                        size_t item)
{
    gpuc_buf t;
    init(&t);
    wr_tensor(&t, name, elem_type, dims, v, count_of(dims) * item);
    wr_msg(&m->graph, 5, &t);
}

void wr_floats(wr_model *m, const char *name, const char *dims, const float *v)
{
    initializer(m, name, 1, dims, v, sizeof *v);
}

void wr_ints(wr_model *m, const char *name, const char *dims, const int64_t *v)
{
    initializer(m, name, 7, dims, v, sizeof *v);
}

static void input_name(void *node, const char *text, size_t n)
{
    wr_bytes(node, 1, text, n);
}

static void output_name(void *node, const char *text, size_t n)
{
    wr_bytes(node, 2, text, n);
}

static const char *list_attr(gpuc_buf *a, const char *p)
{
    bool real = memchr(p, '.', strcspn(p, "]")) != NULL;
    wr_int(a, 20, real ? 6 : 7);
    for (p++; *p != ']'; p += strspn(p, ", ")) {
        char *end;
        if (real)
            wr_f32(a, 7, strtof(p, &end));
        else
            wr_int(a, 8, strtoll(p, &end, 10));
        p = end;
    }
    return p + 1;
}

static const char *attribute(gpuc_buf *node, const char *p)
{
    gpuc_buf a;
    size_t n = strcspn(p, "=");
    init(&a);
    wr_bytes(&a, 1, p, n);
    p += n + 1;
    n = strcspn(p, " ");
    char *end;
    long long i = strtoll(p, &end, 10);
    if (*p == '[') {
        p = list_attr(&a, p);
    } else if (end == p + n) {
        wr_int(&a, 20, 2);
        wr_int(&a, 3, i);
        p = end;
    } else if ((void)strtod(p, &end), end == p + n) {
        wr_int(&a, 20, 1);
        wr_f32(&a, 2, strtof(p, NULL));
        p = end;
    } else {
        wr_int(&a, 20, 3);
        wr_bytes(&a, 4, p, n);
        p += n;
    }
    wr_msg(node, 5, &a);
    return p + strspn(p, " ");
}

void wr_node_begin(gpuc_buf *n, const char *op, const char *inputs, const char *outputs, const char *attrs)
{
    init(n);
    each_part(inputs, input_name, n);
    each_part(outputs, output_name, n);
    gpuc_buf name;
    init(&name);
    gpuc_buf_printf(&name, "n_%s", op);
    wr_str(n, 3, gpuc_buf_cstr(&name));
    gpuc_buf_deinit(&name);
    wr_str(n, 4, op);
    for (const char *p = attrs ? attrs : ""; *p;) p = attribute(n, p);
}

void wr_node(wr_model *m, const char *op, const char *inputs, const char *outputs, const char *attrs)
{
    gpuc_buf n;
    wr_node_begin(&n, op, inputs, outputs, attrs);
    wr_msg(&m->graph, 1, &n);
}
