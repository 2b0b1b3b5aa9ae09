/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a model: their calls are inlined. */
#include "../relay_pass/interp.h"
#include "load.h"

static void begin_function(gpuc_buf *f, const char *name, const char *const *inputs,
                           const char *const *outputs)
{
    gpuc_buf_init(f, (gpuc_allocator){0});
    wr_str(f, 1, name);
    wr_str(f, 10, "own");
    for (; *inputs; inputs++) wr_str(f, 4, *inputs);
    for (; *outputs; outputs++) wr_str(f, 5, *outputs);
}

static void add_node(gpuc_buf *to, int field, const char *domain, const char *op, const char *inputs,
                     const char *outputs, const char *attrs)
{
    gpuc_buf n;
    wr_node_begin(&n, op, inputs, outputs, attrs);
    if (*domain) wr_str(&n, 7, domain);
    wr_msg(to, field, &n);
}

static void body_node(gpuc_buf *f, const char *domain, const char *op, const char *inputs,
                      const char *outputs)
{
    add_node(f, 7, domain, op, inputs, outputs, NULL);
}

/* out = Elu(in) with the function's own attribute a as alpha */
static void elu_of_attribute(gpuc_buf *f, const char *in, const char *out)
{
    gpuc_buf n, a;
    wr_node_begin(&n, "Elu", in, out, NULL);
    gpuc_buf_init(&a, (gpuc_allocator){0});
    wr_str(&a, 1, "alpha");
    wr_str(&a, 21, "a");
    wr_int(&a, 20, 1);
    wr_msg(&n, 5, &a);
    wr_msg(f, 7, &n);
}

static void attribute_default(gpuc_buf *f, float value)
{
    gpuc_buf a;
    gpuc_buf_init(&a, (gpuc_allocator){0});
    wr_str(&a, 1, "a");
    wr_int(&a, 20, 1);
    wr_f32(&a, 2, value);
    wr_msg(f, 11, &a);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* inner(p; a = 0.25) = Elu(Abs(p) - p, a); outer(p, q) = inner(p, a=0.5) + inner(q), p */
static void add_functions(gpuc_buf *file)
{
    gpuc_buf f;
    begin_function(&f, "inner", NAMES("p"), NAMES("out"));
    body_node(&f, "", "Abs", "p", "t");
    body_node(&f, "", "Sub", "t,p", "u");
    elu_of_attribute(&f, "u", "out");
    attribute_default(&f, 0.25f);
    wr_msg(file, 25, &f);
    begin_function(&f, "outer", NAMES("p", "q"), NAMES("sum", "p", "t"));
    add_node(&f, 7, "own", "inner", "p", "t", "a=0.5");
    body_node(&f, "own", "inner", "q", "u");
    body_node(&f, "", "Add", "t,u", "sum");
    wr_msg(file, 25, &f);
}

static void calls_become_nodes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    gpuc_buf file;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_input(&m, "y", 1, "2,3");
    wr_output(&m, "s");
    wr_output(&m, "same");
    add_node(&m.graph, 1, "own", "outer", "x,y", "s,same", NULL); /* the third output is left out */
    wr_end(&m, &file);
    add_functions(&file);
    gpuc_rmodule *called = wr_load(ctx, &file, ".", NULL);

    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_input(&m, "y", 1, "2,3");
    wr_output(&m, "s");
    wr_output(&m, "same");
    wr_node(&m, "Abs", "x", "ax", NULL);
    wr_node(&m, "Abs", "y", "ay", NULL);
    wr_node(&m, "Sub", "ax,x", "dx", NULL);
    wr_node(&m, "Sub", "ay,y", "dy", NULL);
    wr_node(&m, "Elu", "dx", "ex", "alpha=0.5");
    wr_node(&m, "Elu", "dy", "ey", "alpha=0.25");
    wr_node(&m, "Add", "ex,ey", "s", NULL);
    wr_node(&m, "Identity", "x", "same", NULL);
    wr_end(&m, &file);
    interp_expect_equal(ctx, wr_load(ctx, &file, ".", NULL), called, 5, 1e-6);
}

typedef struct bad_model {
    void (*functions)(gpuc_buf *file);
    const char *op, *inputs, *outputs, *attrs;
} bad_model;

static void load_bad(gpuc_ctx *ctx, void *arg)
{
    const bad_model *b = arg;
    wr_model m;
    gpuc_buf file;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_output(&m, "y");
    add_node(&m.graph, 1, "own", b->op, b->inputs, b->outputs, b->attrs);
    wr_end(&m, &file);
    b->functions(&file);
    wr_load(ctx, &file, ".", NULL);
}

static void recursive(gpuc_buf *file)
{
    gpuc_buf f;
    begin_function(&f, "a", NAMES("p"), NAMES("q"));
    body_node(&f, "own", "b", "p", "q");
    wr_msg(file, 25, &f);
    begin_function(&f, "b", NAMES("p"), NAMES("q"));
    body_node(&f, "own", "a", "p", "q");
    wr_msg(file, 25, &f);
}

static void twice(gpuc_buf *file)
{
    add_functions(file);
    add_functions(file);
}

/* Function k calls function k + 1 `width` times; without a cycle, but nothing that could be inlined. */
static void tower(gpuc_buf *file, int height, int width)
{
    for (int k = 0; k < height; k++) {
        gpuc_buf f;
        char name[16], next[16];
        snprintf(name, sizeof name, k ? "f%d" : "f", k);
        snprintf(next, sizeof next, "f%d", k + 1);
        begin_function(&f, name, NAMES("p"), NAMES("q"));
        for (int i = 0; i < width; i++) {
            char out[16];
            snprintf(out, sizeof out, i ? "q%d" : "q", i);
            body_node(&f, k + 1 < height ? "own" : "", k + 1 < height ? next : "Abs", "p", out);
        }
        wr_msg(file, 25, &f);
    }
}

static void many(gpuc_buf *file)
{
    tower(file, 30, 10);
}

static void deep(gpuc_buf *file)
{
    tower(file, 5000, 1);
}

static void what_is_refused(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
#define BAD(code, words, ...) fx_expect(ctx, code, words, load_bad, &(bad_model){__VA_ARGS__})
    BAD(GPUC_UNSUPPORTED, "function 'a' calls itself|n_a/n_b/n_a", recursive, "a", "x", "y", NULL);
    BAD(GPUC_INVALID_DATA, "n_inner|2 inputs|it has 1", add_functions, "inner", "x,x", "y", NULL);
    BAD(GPUC_INVALID_DATA, "n_inner|has no attribute 'b'", add_functions, "inner", "x", "y", "b=1.5");
    BAD(GPUC_INVALID_DATA, "two functions 'inner'", twice, "inner", "x", "y", NULL);
    BAD(GPUC_UNSUPPORTED, "too often", many, "f", "x", "y", NULL);
    BAD(GPUC_UNSUPPORTED, "more than 64 functions", deep, "f", "x", "y", NULL);
    BAD(GPUC_UNSUPPORTED, "n_other|of domain 'own'", add_functions, "other", "x", "y", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(calls_become_nodes),
        fx_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
