/* SPDX-License-Identifier: Apache-2.0 */
/* Gives variables and buffers names that are unique in a printed function. */
#include <ctype.h>
#include <string.h>

#include "tir/ops.h"
#include "tir/print.h"

void gpuc_tir_names_init(gpuc_tir_names *n, gpuc_ctx *ctx, bool canonical)
{
    *n = (gpuc_tir_names){.ctx = ctx, .canonical = canonical};
    gpuc_map_init(&n->names, ctx);
    gpuc_strmap_init(&n->used, ctx);
}

bool gpuc_tir_is_reserved(const char *word)
{
    static const char *const words[] = {"for",  "if",   "else",   "let",   "alloc", "attr",
                                        "func", "true", "false",  "inf",   "nan",   "broadcast",
                                        "ramp", "lane", "vector", "reduce"};
    gpuc_dtype t;
    gpuc_tir_op op;
    gpuc_tir_intrin fn;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0) return true;
    return gpuc_dtype_parse(word, &t) || gpuc_tir_op_find(word, &op) || gpuc_tir_intrin_find(word, &fn);
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

char *gpuc_tir_identifier(gpuc_ctx *ctx, const char *text)
{
    bool digit = isdigit((unsigned char)text[0]);
    char *name = gpuc_ctx_printf(ctx, "%s%s", digit || !*text ? "v" : "", text);
    for (char *p = name; *p; p++) {
        bool inner_dot = *p == '.' && p > name && is_word_char(p[1]) && is_word_char(p[-1]);
        if ((unsigned char)*p >= 128 || (!is_word_char(*p) && !inner_dot)) *p = '_';
    }
    return name;
}

static const char *enter(gpuc_tir_names *n, const void *what, const char *wanted, char kind, int *next)
{
    const char *base, *name;
    if (n->canonical) {
        name = gpuc_ctx_printf(n->ctx, "%c%d", kind, (*next)++);
    } else {
        name = base = gpuc_tir_identifier(n->ctx, wanted);
        for (int i = 1; gpuc_strmap_get(&n->used, name) || gpuc_tir_is_reserved(name); i++)
            name = gpuc_ctx_printf(n->ctx, "%s_%d", base, i);
        gpuc_strmap_set(&n->used, name, (void *)what);
    }
    gpuc_map_set(&n->names, what, (void *)name);
    return name;
}

const char *gpuc_tir_names_enter_var(gpuc_tir_names *n, gpuc_expr var)
{
    return enter(n, var, gpuc_as_var(var)->name, 'v', &n->next_var);
}

const char *gpuc_tir_names_enter_buffer(gpuc_tir_names *n, const gpuc_tir_buffer *b)
{
    return enter(n, b, b->name, 'b', &n->next_buffer);
}

void gpuc_tir_names_leave(gpuc_tir_names *n, const void *what)
{
    const char *name = gpuc_map_get(&n->names, what);
    if (!name) return;
    gpuc_map_set(&n->names, what, NULL);
    if (!n->canonical) gpuc_strmap_set(&n->used, name, NULL);
}

const char *gpuc_tir_names_var(gpuc_tir_names *n, gpuc_expr var)
{
    const char *name = gpuc_map_get(&n->names, var);
    return name ? name : gpuc_tir_names_enter_var(n, var);
}

const char *gpuc_tir_names_buffer(gpuc_tir_names *n, const gpuc_tir_buffer *b)
{
    const char *name = gpuc_map_get(&n->names, b);
    return name ? name : gpuc_tir_names_enter_buffer(n, b);
}
