/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a text may import: lists and trees, and tensor arrays, whose text is made for an element type or for
 * the type of a tensor. A template's lines have $NAME for texts, and begin parts with a word of their own:
 *   $each K      lines for each rank K to 6, up to $end: $K, $J (one less), $DIMS (?, ?, ...)
 *   $type NAME   lines that are left out where the module, or a part before, has that type
 *   $rank        lines that are left out for scalars */
#include "relay/prelude.h"

#include <stdlib.h>
#include <string.h>

#include "prelude_text.h"

enum { MAX_RANK = 6 };

typedef struct text_name {
    const char *name, *text;
} text_name;

typedef struct template
{
    gpuc_rmodule *module;
    gpuc_buf out;
    text_name names[16];
    int n, rank;
    gpuc_strmap types; /* of parts before */
}
template;

static void set(template *t, const char *name, const char *text)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->names[i].name, name)) {
            t->names[i].text = text;
            return;
        }
    GPUC_CHECK(t->n < 16);
    t->names[t->n++] = (text_name){name, text};
}

/* The longest name that stands there; NULL: none. */
static const text_name *name_at(const template *t, const char *at)
{
    const text_name *best = NULL;
    for (int i = 0; i < t->n; i++) {
        size_t n = strlen(t->names[i].name);
        if (!strncmp(at, t->names[i].name, n) && (!best || n > strlen(best->name))) best = &t->names[i];
    }
    return best;
}

static void add_line(template *t, gpuc_buf *out, const char *line, size_t n)
{
    for (const char *at = line; at < line + n; at++) {
        const text_name *name = *at == '$' ? name_at(t, at + 1) : NULL;
        if (name) {
            gpuc_buf_str(out, name->text);
            at += strlen(name->name);
        } else {
            gpuc_buf_bytes(out, at, 1);
        }
    }
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

static bool begins(const char *line, const char *word)
{
    return !strncmp(line, word, strlen(word));
}

static bool begins_part(const char *line)
{
    return begins(line, "$each ") || begins(line, "$type ") || begins(line, "$rank");
}

static const char *end_of_part(const char *line)
{
    for (int depth = 1; *line; line = next_line(line)) {
        depth += begins_part(line);
        depth -= begins(line, "$end");
        if (!depth) return line;
    }
    return line;
}

static void set_rank(template *t, int k)
{
    gpuc_ctx *ctx = t->module->ctx;
    const char *dims = "?";
    for (int i = 1; i < k; i++) dims = gpuc_ctx_printf(ctx, "%s, ?", dims);
    set(t, "K", gpuc_ctx_printf(ctx, "%d", k));
    set(t, "J", gpuc_ctx_printf(ctx, "%d", k - 1));
    set(t, "DIMS", dims);
}

static void deinit_text(void *text)
{
    gpuc_buf_deinit(text);
}

/* Is the type defined before this part? It is from here on. */
static bool has_type(template *t, const char *line)
{
    gpuc_buf name;
    gpuc_buf_init(&name, t->module->ctx->allocator);
    gpuc_ctx_push_cleanup(t->module->ctx, deinit_text, &name);
    line += strlen("$type ");
    add_line(t, &name, line, strcspn(line, "\n"));
    const gpuc_adt *adt = gpuc_strmap_get(&t->module->adts, gpuc_buf_cstr(&name));
    bool there = (adt && adt->is_defined) || gpuc_strmap_has(&t->types, gpuc_buf_cstr(&name));
    gpuc_strmap_set(&t->types, gpuc_buf_cstr(&name), t);
    GPUC_RAISE_IF(t->module->ctx, gpuc_buf_status(&name));
    gpuc_ctx_pop_cleanup(t->module->ctx, true);
    return there;
}

static void expand(template *t, const char *line, const char *end)
{
    while (line < end) {
        const char *next = next_line(line);
        if (!begins_part(line)) {
            add_line(t, &t->out, line, (size_t)(next - line));
            line = next;
            continue;
        }
        const char *last = end_of_part(next);
        if (begins(line, "$each ")) {
            for (int k = atoi(line + strlen("$each ")); k <= MAX_RANK; k++) {
                set_rank(t, k);
                expand(t, next, last);
            }
        } else if (begins(line, "$rank") ? t->rank > 0 : !has_type(t, line)) {
            expand(t, next, last);
        }
        line = next_line(last);
    }
}

static void deinit_template(void *arg)
{
    gpuc_buf_deinit(&((template *)arg)->out);
}

static const char *expanded(gpuc_ctx *ctx, template *t, const char *text)
{
    gpuc_buf_init(&t->out, ctx->allocator);
    gpuc_strmap_init(&t->types, ctx);
    gpuc_ctx_push_cleanup(ctx, deinit_template, t);
    expand(t, text, text + strlen(text));
    GPUC_RAISE_IF(ctx, gpuc_buf_status(&t->out));
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&t->out));
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}

/* "float32_any_2" and "Tensor[(?, 2), float32]"; first: a dimension before the others, NULL: none. skip: how many of
 * these are left out. */
static void set_shape(template *t, const char *name, const char *type, const char *first, int skip,
                      const gpuc_tensor_type *of)
{
    gpuc_ctx *ctx = t->module->ctx;
    char element[24];
    gpuc_dtype_name(of->dtype, element);
    const char *n = element, *dims = "";
    for (int d = first ? skip - 1 : skip; d < of->ndim; d++) {
        int64_t v;
        bool known = d >= skip && gpuc_expr_is_int(of->dims[d], &v);
        const char *number = known ? gpuc_ctx_printf(ctx, "%lld", (long long)v) : NULL;
        n = gpuc_ctx_printf(ctx, "%s_%s", n, known ? number : "any");
        dims = gpuc_ctx_printf(ctx, "%s%s%s", dims, *dims ? ", " : "", known ? number : "?");
    }
    set(t, name, *dims ? gpuc_ctx_strdup(ctx, n) : gpuc_ctx_printf(ctx, "%s_scalar", n));
    set(t, type,
        *dims ? gpuc_ctx_printf(ctx, "Tensor[(%s), %s]", dims, element) : gpuc_ctx_strdup(ctx, element));
}

const char *const gpuc_relay_prelude_text = prelude_text;

const char *gpuc_relay_prelude_tensors(gpuc_rmodule *m, gpuc_dtype dtype)
{
    template t = {.module = m};
    char name[24];
    set(&t, "T", gpuc_dtype_name(dtype, name));
    return expanded(m->ctx, &t, tensor_array_text);
}

const char *gpuc_relay_prelude_static_tensors(gpuc_rmodule *m, const gpuc_tensor_type *type)
{
    template t = {.module = m, .rank = type->ndim};
    char name[24];
    set(&t, "T", gpuc_dtype_name(type->dtype, name));
    set_shape(&t, "N", "SHAPE", NULL, 0, type);
    set_shape(&t, "M", "STACKED", "?", 0, type);
    set_shape(&t, "P", "JOINED", "?", 1, type);
    return expanded(m->ctx, &t, static_tensor_array_text);
}
