/* SPDX-License-Identifier: Apache-2.0 */
/* Values from JSON, by the type of a parameter: what json_write.c writes, and {"Cons": [...]} for lists, too. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "relay_eval/eval.h"

enum { MAX_DEPTH = 1000 };

typedef struct reader {
    gpuc_relay_interpreter *i;
    gpuc_ctx *ctx;
    const char *at, *begin, *origin;
    int depth;
    gpuc_ptrs made; /* values, each with a reference of ours */
    gpuc_relay_load_fn load;
    void *user;
} reader;

GPUC_NORETURN static void fail_with(const reader *r, gpuc_code code, const char *text)
{
    int line = 1, column = 1;
    for (const char *c = r->begin; c < r->at; c++, column++)
        if (*c == '\n') {
            line++;
            column = 0;
        }
    gpuc_raise(r->ctx, code, "%s:%d:%d: %.400s", r->origin, line, column, text);
}

GPUC_NORETURN static void fail(const reader *r, const char *fmt, ...) GPUC_PRINTF(2, 3);
static void fail(const reader *r, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fail_with(r, GPUC_INVALID_DATA, text);
}

/* The same at a place that was passed. */
#define FAIL_AT(r, place, ...) ((r)->at = (place), fail(r, __VA_ARGS__))

static void skip_space(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r') r->at++;
}

static bool accept(reader *r, char c)
{
    skip_space(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static void expect(reader *r, char c)
{
    if (accept(r, c)) return;
    if (!*r->at) fail(r, "'%c' is expected, but the text ends", c);
    fail(r, "'%c' is expected, not '%c'", c, *r->at);
}

static char *read_string(reader *r)
{
    expect(r, '"');
    size_t n = 0;
    const char *end = r->at;
    for (; *end != '"'; end++) {
        if (*end == '\\' && end[1]) end++;
        if ((unsigned char)*end < 32) fail(r, "the string does not end");
    }
    char *text = gpuc_ctx_alloc(r->ctx, (size_t)(end - r->at) + 1);
    for (; r->at < end; r->at++) {
        if (*r->at == '\\' && strchr("\"\\/", r->at[1]))
            r->at++;
        else if (*r->at == '\\')
            fail(r, "only \\\", \\\\ and \\/ are read in strings");
        text[n++] = *r->at;
    }
    r->at++;
    return text;
}

/* Before a value is made: then there is room to keep it. */
static void make_room(reader *r)
{
    gpuc_ptrs_push(r->ctx, &r->made, NULL);
    r->made.count--;
}

static gpuc_relay_value *keep(reader *r, gpuc_relay_value *v)
{
    gpuc_ptrs_push(r->ctx, &r->made, v);
    return v;
}

/* ---- Tensors ---- */

typedef struct elements {
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[GPUC_OP_MAX_DIMS];
    gpuc_buf bytes;
} elements;

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9') at++;
    return at;
}

/* Behind the number that begins at `at`; NULL: none does. */
static const char *number_end(const char *at, bool *is_integer)
{
    const char *digits = at + (*at == '-'), *end = skip_digits(digits);
    *is_integer = true;
    if (end == digits) return NULL;
    if (*end == '.') {
        *is_integer = false;
        end = skip_digits(end + 1);
    }
    const char *power = end + 1 + ((*end == 'e' || *end == 'E') && (end[1] == '+' || end[1] == '-'));
    if ((*end == 'e' || *end == 'E') && skip_digits(power) > power) {
        *is_integer = false;
        end = skip_digits(power);
    }
    return end;
}

static double read_float(reader *r, gpuc_dtype t)
{
    static const char names[] = "infinite is \"inf\" or \"-inf\", no number \"nan\"";
    const char *at = r->at;
    bool is_integer;
    char stored[8] = {0}, name[24];
    if (*at == '"') {
        char *text = read_string(r);
        bool negative = *text == '-';
        if (!strcmp(text + negative, "inf")) return negative ? -(double)INFINITY : (double)INFINITY;
        if (!strcmp(text, "nan")) return (double)NAN;
        FAIL_AT(r, at, "\"%s\" is no number and no tensor file; %s", text, names);
    }
    const char *end = number_end(at, &is_integer);
    if (!end) fail(r, "a number is expected; %s", names);
    double v = strtod(at, NULL);
    gpuc_float_store(t, stored, v);
    if (isinf(gpuc_float_load(t, stored)))
        fail(r, "the number does not fit %s; %s", gpuc_dtype_name(t, name), names);
    r->at = end;
    return v;
}

static int64_t read_integer(reader *r, gpuc_dtype t)
{
    char name[24];
    bool is_unsigned = t.code == GPUC_DTYPE_UINT, negative = *r->at == '-', is_integer;
    const char *end = number_end(r->at, &is_integer);
    if (!end || !is_integer) fail(r, "an integer is expected");
    errno = 0;
    unsigned long long u = strtoull(r->at + negative, NULL, 10);
    unsigned long long limit = t.bits == 64 && is_unsigned ? UINT64_MAX
                               : is_unsigned               ? (1ull << t.bits) - 1
                                                           : (1ull << (t.bits - 1)) - !negative;
    if (errno || u > limit || (negative && is_unsigned && u))
        fail(r, "the number does not fit %s", gpuc_dtype_name(t, name));
    r->at = end;
    return (int64_t)(negative ? 0 - u : u);
}

static void read_element(reader *r, elements *e)
{
    char bytes[8] = {0};
    size_t size = gpuc_dtype_bytes(e->dtype);
    skip_space(r);
    if (gpuc_is_bool(e->dtype)) {
        bool truth = !strncmp(r->at, "true", 4);
        if (!truth && strncmp(r->at, "false", 5)) fail(r, "true or false is expected");
        bytes[0] = truth;
        r->at += truth ? 4 : 5;
    } else if (gpuc_is_float(e->dtype)) {
        gpuc_float_store(e->dtype, bytes, read_float(r, e->dtype));
    } else {
        int64_t v = read_integer(r, e->dtype);
        memcpy(bytes, &v, size); /* little-endian: the low bytes */
    }
    gpuc_buf_bytes(&e->bytes, bytes, size);
}

/* Dimensions from `level` on; -1 in dims: not known yet. */
static void read_level(reader *r, elements *e, int level)
{
    int64_t n = 0;
    if (level == e->ndim) {
        read_element(r, e);
        return;
    }
    expect(r, '[');
    while (!accept(r, ']')) {
        if (n++) expect(r, ',');
        read_level(r, e, level + 1);
    }
    if (e->dims[level] >= 0 && e->dims[level] != n)
        fail(r, "%lld elements along dimension %d, before it %lld", (long long)n, level,
             (long long)e->dims[level]);
    e->dims[level] = n;
}

static void deinit_elements(void *arg)
{
    gpuc_buf_deinit(&((elements *)arg)->bytes);
}

static gpuc_relay_value *read_elements(reader *r, const gpuc_tensor_type *t)
{
    elements *e = gpuc_new(r->ctx, elements);
    e->dtype = t->dtype;
    e->ndim = t->ndim;
    for (int d = 0; d < t->ndim; d++) e->dims[d] = -1;
    gpuc_buf_init(&e->bytes, r->ctx->allocator);
    gpuc_ctx_push_cleanup(r->ctx, deinit_elements, e);
    read_level(r, e, 0);
    for (int d = 0; d < t->ndim; d++) { /* behind a dimension without elements */
        int64_t known = 0;
        if (e->dims[d] < 0 && t->dims[d]) gpuc_expr_is_int(t->dims[d], &known);
        if (e->dims[d] < 0) e->dims[d] = known;
    }
    GPUC_RAISE_IF(r->ctx, gpuc_buf_status(&e->bytes));
    make_room(r);
    gpuc_relay_value *v =
        keep(r, gpuc_relay_make_tensor(r->i, e->dtype, e->ndim, e->dims, gpuc_buf_cstr(&e->bytes)));
    gpuc_ctx_pop_cleanup(r->ctx, true);
    return v;
}

static gpuc_relay_value *read_file(reader *r)
{
    const char *at = r->at, *path = read_string(r), *end = r->at;
    gpuc_host_tensor file = {0};
    make_room(r);
    r->at = at;
    if (!r->load) fail(r, "\"%s\": tensors of files are not read here", path);
    gpuc_status status = r->load(r->user, path, &file);
    if (status) {
        gpuc_code code = gpuc_status_code(status);
        const char *text = gpuc_ctx_strdup(r->ctx, gpuc_status_message(status));
        gpuc_status_release(status);
        fail_with(r, code, text);
    }
    r->at = end;
    gpuc_relay_value *v = gpuc_relay_eval_tensor(r->i->heap, file.dtype, file.ndim, file.dims);
    if (v) gpuc_relay_eval_fill(v, file.data);
    gpuc_host_tensor_deinit(&file);
    if (!v) gpuc_raise(r->ctx, GPUC_OUT_OF_MEMORY, "%s: out of memory for %s", r->origin, path);
    return keep(r, v);
}

static gpuc_relay_value *read_tensor(reader *r, const gpuc_rtype *t)
{
    skip_space(r);
    const char *at = r->at;
    bool special = !t->tensor.ndim && gpuc_is_float(t->tensor.dtype) &&
                   (!strncmp(at, "\"inf\"", 5) || !strncmp(at, "\"-inf\"", 6) || !strncmp(at, "\"nan\"", 5));
    gpuc_relay_value *v = *at == '"' && !special ? read_file(r) : read_elements(r, &t->tensor);
    if (!gpuc_relay_eval_tensor_fits(v, &t->tensor)) FAIL_AT(r, at, "%s", gpuc_relay_eval_misfit(r->i, v, t));
    return v;
}

/* ---- Trees ---- */

static gpuc_relay_value *read_value(reader *r, const gpuc_rtype *t);

static void read_fields(reader *r, const char *what, int n, const gpuc_rtype *const *types,
                        gpuc_relay_value **out)
{
    expect(r, '[');
    for (int k = 0; k < n; k++) {
        if (k) expect(r, ',');
        out[k] = read_value(r, types[k]);
    }
    if (!accept(r, ']')) fail(r, "%s has %d fields", what, n);
}

static gpuc_relay_value *make_data(reader *r, const gpuc_constructor *c, gpuc_relay_value *const *fields)
{
    make_room(r);
    return keep(r, gpuc_relay_make_data(r->i, c->name, c->n, fields));
}

static gpuc_relay_value *read_list(reader *r, const gpuc_rtype *t, const gpuc_constructor *cons)
{
    gpuc_ptrs list = {0};
    const gpuc_rtype *element = gpuc_relay_eval_fields_of(r->i, t, cons)[0];
    expect(r, '[');
    while (!accept(r, ']')) {
        if (list.count) expect(r, ',');
        gpuc_ptrs_push(r->ctx, &list, read_value(r, element));
    }
    gpuc_relay_value *v = make_data(r, &t->adt->constructors[1 - cons->tag], NULL);
    for (size_t k = list.count; k > 0; k--) {
        gpuc_relay_value *fields[] = {list.at[k - 1], v};
        v = make_data(r, cons, fields);
    }
    return v;
}

static gpuc_relay_value *read_data(reader *r, const gpuc_rtype *t)
{
    const gpuc_adt *adt = t->adt;
    const gpuc_constructor *cons = gpuc_relay_eval_cons(adt), *c = NULL;
    gpuc_relay_value *v;
    expect(r, '{');
    skip_space(r);
    const char *at = r->at, *name = read_string(r);
    expect(r, ':');
    for (int k = 0; k < adt->n; k++)
        if (!strcmp(adt->constructors[k].name, name)) c = &adt->constructors[k];
    if (c) {
        gpuc_relay_value **fields = gpuc_new_array(r->ctx, gpuc_relay_value *, c->n + 1);
        read_fields(r, name, c->n, gpuc_relay_eval_fields_of(r->i, t, c), fields);
        v = make_data(r, c, fields);
    } else if (cons && !strcmp(name, adt->name)) {
        v = read_list(r, t, cons);
    } else {
        r->at = at;
        fail(r, "the type %s has no constructor '%s'", adt->name, name);
    }
    expect(r, '}');
    return v;
}

static gpuc_relay_value *read_value(reader *r, const gpuc_rtype *t)
{
    gpuc_relay_value *v = NULL;
    if (++r->depth > MAX_DEPTH)
        fail(r, "nested more than %d deep: write a list as {\"List\": [...]}", MAX_DEPTH);
    switch (t->kind) {
    case GPUC_RTYPE_TENSOR: v = read_tensor(r, t); break;
    case GPUC_RTYPE_TUPLE: {
        gpuc_relay_value **fields = gpuc_new_array(r->ctx, gpuc_relay_value *, t->n + 1);
        read_fields(r, "the tuple", t->n, t->at, fields);
        make_room(r);
        v = keep(r, gpuc_relay_make_tuple(r->i, t->n, fields));
        break;
    }
    case GPUC_RTYPE_ADT: v = read_data(r, t); break;
    case GPUC_RTYPE_FUNC: fail(r, "a function cannot be read");
    case GPUC_RTYPE_VAR:
    case GPUC_RTYPE_HOLE:
    case GPUC_RTYPE_KIND_COUNT: fail(r, "the type of the value is not known: the function is polymorphic");
    }
    r->depth--;
    return v;
}

static void release_made(void *arg)
{
    reader *r = arg;
    for (size_t k = 0; k < r->made.count; k++) gpuc_relay_eval_release(r->made.at[k]);
}

gpuc_relay_value *gpuc_relay_read_json(gpuc_relay_interpreter *i, const char *function, int param,
                                       const char *text, const char *origin, gpuc_relay_load_fn load,
                                       void *user)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(i->module, function));
    if (param < 0 || param >= f->n)
        gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "@%s has no parameter %d", function, param);
    reader r = {
        .i = i, .ctx = i->ctx, .at = text, .begin = text, .origin = origin, .load = load, .user = user};
    gpuc_ctx_push_cleanup(i->ctx, release_made, &r);
    gpuc_relay_value *v = read_value(&r, f->params[param]->type);
    skip_space(&r);
    if (*r.at) fail(&r, "the text goes on after the value");
    gpuc_relay_eval_retain(v);
    gpuc_ctx_pop_cleanup(i->ctx, true);
    return v;
}
