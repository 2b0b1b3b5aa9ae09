/* SPDX-License-Identifier: Apache-2.0 */
/* Values as JSON: tuples are arrays, data is {"Cons": [fields]}, lists are {"List": [elements]}; lists and trees of any
 * depth, by a stack of its own. */
#include <math.h>
#include <string.h>

#include "base/element.h"
#include "relay_eval/eval.h"

typedef struct frame {
    const gpuc_relay_value *v; /* of a list: the cell at hand */
    int next;                  /* field to print */
    bool list;
} frame;

typedef struct writer {
    gpuc_ctx *ctx;
    gpuc_buf out;
    frame *stack;
    size_t n, capacity;
    gpuc_relay_store_fn store;
    void *user;
} writer;

static void write_number(gpuc_buf *out, gpuc_dtype t, const void *at)
{
    if (!gpuc_is_float(t)) {
        int64_t v = gpuc_relay_read_integer(at, t);
        if (gpuc_is_bool(t))
            gpuc_buf_str(out, v ? "true" : "false");
        else if (t.code == GPUC_DTYPE_UINT)
            gpuc_buf_printf(out, "%llu", (unsigned long long)v);
        else
            gpuc_buf_printf(out, "%lld", (long long)v);
        return;
    }
    double v = gpuc_float_load(t, at);
    if (isnan(v))
        gpuc_buf_str(out, "\"nan\"");
    else if (isinf(v))
        gpuc_buf_str(out, v < 0 ? "\"-inf\"" : "\"inf\"");
    else
        gpuc_buf_printf(out, t.bits > 32 ? "%.17g" : "%.9g", v);
}

/* A value whose parts stand in it many times may have a text of any length: it is bounded as values are. */
static void check_size(const writer *w, const gpuc_relay_value *v)
{
    if (w->out.size <= v->heap->max) return;
    gpuc_raise(w->ctx, GPUC_OUT_OF_MEMORY,
               "the value as JSON takes more than the %zu bytes that are allowed for values", v->heap->max);
}

/* Dimensions from `level` on; at: the next element. */
static void write_level(writer *w, const gpuc_relay_value *v, int level, const char **at)
{
    if (level == v->n) {
        write_number(&w->out, v->dtype, *at);
        *at += gpuc_dtype_bytes(v->dtype);
        return;
    }
    gpuc_buf_str(&w->out, "[");
    for (int64_t k = 0; k < v->at.dims[level]; k++) {
        if (k) gpuc_buf_str(&w->out, ", ");
        check_size(w, v);
        write_level(w, v, level + 1, at);
    }
    gpuc_buf_str(&w->out, "]");
}

static void write_string(gpuc_buf *out, const char *text)
{
    gpuc_buf_str(out, "\"");
    for (const char *at = text; *at; at++)
        if (*at == '"' || *at == '\\')
            gpuc_buf_printf(out, "\\%c", *at);
        else if ((unsigned char)*at < 32)
            gpuc_buf_printf(out, "\\u%04x", *at);
        else
            gpuc_buf_printf(out, "%c", *at);
    gpuc_buf_str(out, "\"");
}

static void write_tensor(writer *w, const gpuc_relay_value *v)
{
    const char *path = NULL;
    if (w->store && v->n) GPUC_RAISE_IF(w->ctx, w->store(w->user, v, &path));
    if (path) {
        write_string(&w->out, path);
    } else {
        const char *at = gpuc_relay_eval_data(v);
        write_level(w, v, 0, &at);
    }
}

static void push(writer *w, const gpuc_relay_value *v, bool list)
{
    w->stack = gpuc_ctx_grow(w->ctx, w->stack, w->n, &w->capacity, sizeof *w->stack);
    w->stack[w->n++] = (frame){v, 0, list};
}

/* Prints a value, or its beginning. */
static void begin(writer *w, const gpuc_relay_value *v)
{
    switch (v->kind) {
    case GPUC_RELAY_TENSOR: write_tensor(w, v); break;
    case GPUC_RELAY_TUPLE:
        gpuc_buf_str(&w->out, "[");
        push(w, v, false);
        break;
    case GPUC_RELAY_DATA: {
        bool list = gpuc_relay_eval_cons(v->constructor->adt) != NULL;
        gpuc_buf_printf(&w->out, "{\"%s\": [", list ? v->constructor->adt->name : v->constructor->name);
        push(w, v, list);
        break;
    }
    case GPUC_RELAY_FUNCTION:
        gpuc_buf_str(&w->out, "{\"fn\": ");
        write_string(&w->out, v->code ? v->code->name : v->constructor->name);
        gpuc_buf_str(&w->out, "}");
        break;
    }
}

static void write_all(writer *w)
{
    while (w->n) {
        frame *f = &w->stack[w->n - 1];
        const gpuc_relay_value *v = f->v;
        if (f->list ? !v->n : f->next == v->n) {
            gpuc_buf_str(&w->out, v->kind == GPUC_RELAY_TUPLE ? "]" : "]}");
            w->n--;
            continue;
        }
        if (f->next++) gpuc_buf_str(&w->out, ", ");
        gpuc_relay_value *const *fields = v->at.fields;
        const gpuc_relay_value *part = fields[f->list ? 0 : f->next - 1];
        if (f->list) f->v = fields[1];
        check_size(w, part);
        begin(w, part);
    }
}

static void deinit_writer(void *arg)
{
    gpuc_buf_deinit(&((writer *)arg)->out);
}

const char *gpuc_relay_value_json(gpuc_ctx *ctx, const gpuc_relay_value *v, gpuc_relay_store_fn store,
                                  void *user)
{
    writer w = {.ctx = ctx, .store = store, .user = user};
    gpuc_buf_init(&w.out, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, deinit_writer, &w);
    begin(&w, v);
    write_all(&w);
    GPUC_RAISE_IF(ctx, gpuc_buf_status(&w.out));
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&w.out));
    gpuc_ctx_pop_cleanup(ctx, true);
    return text;
}
