/* SPDX-License-Identifier: Apache-2.0 */
/* What each name of an operator stands for: one table for a row's own name, for those that it lists and for aliases,
 * so that all are found alike. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "op/table.h"

typedef struct visitor {
    void (*each)(void *arg, const char *name, const gpuc_op_name *what);
    void *arg;
} visitor;

static void visit_list(const visitor *v, const char *list, const gpuc_op_name *what)
{
    char name[GPUC_OP_NAME];
    while ((list = gpuc_op_next_name(list, name))) v->each(v->arg, name, what);
}

static void visit_rows(const visitor *v, const char *(*list_of)(const gpuc_op *))
{
    for (const gpuc_op_family *f = gpuc_topi_op_families; f->rows; f++)
        for (size_t i = 0; i < *f->count; i++)
            visit_list(v, list_of(&f->rows[i]), &(gpuc_op_name){.op = &f->rows[i]});
}

static const char *own_name(const gpuc_op *op)
{
    return op->name;
}

static const char *topi_names(const gpuc_op *op)
{
    return op->topi;
}

static const char *nnvm_names(const gpuc_op *op)
{
    return op->nnvm;
}

void gpuc_op_row_name(const gpuc_op_alias *a, const char *by, int rank, char row[2 * GPUC_OP_NAME])
{
    char *out = row;
    for (const char *p = a->row; *p; p++) {
        size_t room = (size_t)(row + 2 * GPUC_OP_NAME - out);
        if (*p != '%')
            out += snprintf(out, room, "%c", *p);
        else if (*++p == 's')
            out += snprintf(out, room, "%s", by);
        else
            out += snprintf(out, room, "%d", rank);
        GPUC_CHECK(out < row + 2 * GPUC_OP_NAME);
    }
}

/* An alias that has no attribute to choose by stands for this row. */
static const gpuc_op *row_of(const gpuc_op_alias *a)
{
    return a->by || strchr(a->row, '%') ? NULL : gpuc_op_find(a->row);
}

void gpuc_op_each_name(void (*each)(void *arg, const char *name, const gpuc_op_name *what), void *arg)
{
    visitor v = {each, arg};
    visit_rows(&v, own_name);
    for (const gpuc_op_alias *a = gpuc_topi_op_aliases; a->names; a++)
        visit_list(&v, a->names, &(gpuc_op_name){.op = row_of(a), .alias = a});
    visit_rows(&v, topi_names);
    visit_rows(&v, nnvm_names);
}

void gpuc_op_each_alias(void (*each)(void *arg, const char *name, const gpuc_op *row), void *arg)
{
    for (const gpuc_op_alias *a = gpuc_topi_op_aliases; a->names; a++) {
        char name[GPUC_OP_NAME], first[GPUC_OP_NAME] = "", row[2 * GPUC_OP_NAME];
        if (a->by) gpuc_op_next_name(a->values, first);
        gpuc_op_row_name(a, first, 2, row);
        for (const char *list = a->names; (list = gpuc_op_next_name(list, name));)
            each(arg, name, gpuc_op_find(row));
    }
}

typedef struct table {
    gpuc_ctx *ctx;
    gpuc_strmap names; /* -> gpuc_op_name */
} table;

static void add(void *arg, const char *name, const gpuc_op_name *what)
{
    table *t = arg;
    if (gpuc_strmap_has(&t->names, name)) return;
    gpuc_op_name *copy = gpuc_new(t->ctx, gpuc_op_name);
    *copy = *what;
    gpuc_strmap_set(&t->names, name, copy);
}

const gpuc_op_name *gpuc_op_named(gpuc_ctx *ctx, const char *name)
{
    table *t = ctx->slots[GPUC_CTX_OP_NAMES];
    if (!t) {
        t = gpuc_new(ctx, table);
        t->ctx = ctx;
        gpuc_strmap_init(&t->names, ctx);
        gpuc_op_each_name(add, t);
        ctx->slots[GPUC_CTX_OP_NAMES] = t;
    }
    return gpuc_strmap_get(&t->names, name);
}
