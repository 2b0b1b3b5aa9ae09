/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <ctype.h>

#include "base/buf.h"

void fx_run_test(void **state)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    if (getenv("GPUC_DEBUG")) assert_null(gpuc_ctx_set_debug(ctx, getenv("GPUC_DEBUG")));
    gpuc_status status = gpuc_ctx_protect(ctx, (fx_body *)*state, NULL);
    if (status)
        fail_msg("%s (%s:%d)", gpuc_status_message(status), gpuc_status_file(status),
                 gpuc_status_line(status));
    gpuc_ctx_destroy(ctx);
}

void fx_check_status(gpuc_status status, gpuc_code code, const char *words)
{
    if (!status) fail_msg("no error where one with '%s' was expected", words);
    const char *message = gpuc_status_message(status);
    if (gpuc_status_code(status) != code)
        fail_msg("expected %s, got %s: %s", gpuc_code_name(code), gpuc_code_name(gpuc_status_code(status)),
                 message);
    for (const char *p = words; *p;) {
        char word[256];
        size_t n = strcspn(p, "|");
        assert_true(n < sizeof word);
        memcpy(word, p, n);
        word[n] = 0;
        if (!strstr(message, word)) fail_msg("'%s' is not in: %s", word, message);
        p += n + (p[n] == '|');
    }
    gpuc_status_release(status);
}

void fx_expect(gpuc_ctx *ctx, gpuc_code code, const char *words, fx_body *body, void *arg)
{
    fx_check_status(gpuc_ctx_protect(ctx, body, arg), code, words);
}

void fx_expect_text(const char *got, const char *want)
{
    for (const char *p = got, *q = want;; p++, q++) {
        p += strspn(p, " \n");
        q += strspn(q, " \n");
        if (*p != *q) fail_msg("the text is\n%s\nand differs from what is expected at\n%.100s", got, q);
        if (!*p) return;
    }
}

char *fx_read_file(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, MOST);
    assert_non_null(text);
    assert_true(fread(text, 1, MOST - 1, f) < MOST - 1);
    fclose(f);
    return text;
}

void fx_check_file(const char *path, const char *want, const char *got, const char *made)
{
    size_t same = 0;
    if (made) {
        FILE *f = fopen(made, "wb");
        assert_non_null(f);
        fputs(got, f);
        assert_int_equal(fclose(f), 0);
        return;
    }
    if (!strcmp(got, want)) return;
    while (got[same] == want[same]) same++;
    while (same && strncmp(got + same, "====\n", 5) != 0) same--;
    fail_msg("%s has another message:\n%.500s\n\nnow:\n%.500s", path, want + same, got + same);
}

uint64_t fx_next(fx_rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int fx_below(fx_rng *r, int n)
{
    return (int)(fx_next(r) % (uint64_t)n);
}

double fx_real(fx_rng *r)
{
    return (double)(fx_next(r) >> 40) / (1 << 23) - 1;
}

const gpuc_rtype *fx_type(gpuc_ctx *ctx, gpuc_dtype t, int ndim, const int64_t *dims)
{
    return gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims);
}

gpuc_rexpr *fx_var(gpuc_ctx *ctx, const char *name, int ndim, const int64_t *dims)
{
    return gpuc_relay_var(ctx, name, fx_type(ctx, GPUC_FLOAT32, ndim, dims));
}

gpuc_rexpr *fx_floats(gpuc_ctx *ctx, int ndim, const int64_t *dims, const float *v)
{
    return gpuc_relay_const_bytes(ctx, GPUC_FLOAT32, ndim, dims, v);
}

gpuc_rexpr *fx_ints(gpuc_ctx *ctx, int n, const int64_t *v)
{
    return gpuc_relay_const_ints(ctx, n, v);
}

int64_t fx_count(const gpuc_rexpr *constant)
{
    size_t item = gpuc_dtype_bytes(constant->type->tensor.dtype);
    return (int64_t)(gpuc_as_rconstant(constant)->data->size / item);
}

gpuc_rexpr *fx_random(gpuc_ctx *ctx, const gpuc_rtype *type, fx_rng *r)
{
    gpuc_dtype t = type->tensor.dtype;
    size_t item = gpuc_dtype_bytes(t);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    for (size_t at = 0; at < data->size; at += item) {
        double v = gpuc_is_float(t) ? fx_real(r) : gpuc_is_bool(t) ? fx_below(r, 2) : fx_below(r, 9);
        if (t.code == GPUC_DTYPE_INT) v -= 4;
        gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, t, v);
        memcpy((char *)data->bytes + at, gpuc_as_rconstant(one)->data->bytes, item);
    }
    return gpuc_relay_constant(ctx, type, data);
}

static gpuc_dtype parse_dtype(const char *name, size_t n)
{
    char text[24];
    for (int i = 0; i < GPUC_DTYPE_COUNT; i++) {
        gpuc_dtype_name(gpuc_dtype_list[i], text);
        if (strlen(text) == n && !memcmp(text, name, n)) return gpuc_dtype_list[i];
    }
    fail_msg("'%.*s' is no element type", (int)n, name);
    return GPUC_BOOL;
}

static const gpuc_attrs *parse_list(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, const char **at)
{
    int64_t ints[64];
    double floats[64];
    int n = 0;
    bool real = false;
    const char *p = *at + 1;
    while (*p != ']') {
        size_t length = strcspn(p, ",]");
        real |= memchr(p, '.', length) != NULL;
        ints[n] = strtoll(p, NULL, 10);
        floats[n++] = strtod(p, NULL);
        p += length;
        p += strspn(p, ", ");
    }
    *at = p + 1;
    return real ? gpuc_attrs_floats(ctx, a, name, n, floats) : gpuc_attrs_ints(ctx, a, name, n, ints);
}

const gpuc_attrs *fx_attrs(gpuc_ctx *ctx, const char *text)
{
    const gpuc_attrs *a = NULL;
    for (const char *p = text ? text : ""; *(p += strspn(p, " "));) {
        const char *equals = strchr(p, '=');
        char *name = gpuc_ctx_printf(ctx, "%.*s", (int)(equals - p), p);
        p = equals + 1;
        size_t n = strcspn(p, " ");
        if (*p == '[') {
            a = parse_list(ctx, a, name, &p);
            continue;
        }
        if (*p == '"')
            a = gpuc_attrs_string(ctx, a, name, gpuc_ctx_printf(ctx, "%.*s", (int)n - 2, p + 1));
        else if (strstr(name, "dtype") || !strcmp(name, "pack_type"))
            a = gpuc_attrs_dtype(ctx, a, name, parse_dtype(p, n));
        else if (memchr(p, '.', n) || isalpha((unsigned char)p[n - 1]))
            a = gpuc_attrs_float(ctx, a, name, strtod(p, NULL));
        else
            a = gpuc_attrs_int(ctx, a, name, strtoll(p, NULL, 10));
        p += n;
    }
    return a;
}

gpuc_rexpr *fx_op(gpuc_ctx *ctx, const char *op, const char *attrs, int n, gpuc_rexpr *const *args)
{
    return gpuc_relay_op(ctx, op, fx_attrs(ctx, attrs), n, args);
}

gpuc_rexpr *fx_op1(gpuc_ctx *ctx, const char *op, const char *attrs, gpuc_rexpr *a)
{
    return fx_op(ctx, op, attrs, 1, &a);
}

gpuc_rexpr *fx_op2(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    return gpuc_relay_op2(ctx, op, NULL, a, b);
}

gpuc_rmodule *fx_module(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params)
{
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_strmap_set(&m->functions, "main", gpuc_relay_function(ctx, n, params, body, NULL));
    return m;
}

static const char *take_text(gpuc_ctx *ctx, gpuc_buf *text)
{
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(text));
    gpuc_buf_deinit(text);
    return out;
}

/* Of calls of operators the text of keys, which shows all attributes and the values of small constants. */
const char *fx_text(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_ptrs order = {0};
    bool only_operators = true;
    gpuc_relay_post_order(ctx, e, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr_kind kind = ((gpuc_rexpr *)order.at[i])->kind;
        only_operators &= kind != GPUC_REXPR_GLOBAL && kind != GPUC_REXPR_LET && kind != GPUC_REXPR_IF &&
                          kind != GPUC_REXPR_MATCH && kind != GPUC_REXPR_CONSTRUCTOR;
    }
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    if (only_operators)
        gpuc_relay_print_key(ctx, &text, e);
    else
        gpuc_relay_print_expr(ctx, &text, e, 0);
    return take_text(ctx, &text);
}

const char *fx_module_text(gpuc_ctx *ctx, const gpuc_rmodule *m)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_relay_print(ctx, &text, m, 0, NULL);
    return take_text(ctx, &text);
}

double fx_element(gpuc_ctx *ctx, const gpuc_rexpr *constant, int64_t i)
{
    gpuc_expr e = gpuc_relay_const_element(ctx, gpuc_as_rconstant(constant), i);
    return e->kind == GPUC_EXPR_FLOAT ? gpuc_as_float(e)->value : (double)gpuc_as_int(e)->value;
}
