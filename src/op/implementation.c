/* SPDX-License-Identifier: Apache-2.0 */
/* Further ways to compute operators, which programs add to a runtime. */
#include <stdio.h>
#include <string.h>

#include "base/require.h"
#include "op/entries.h"
#include "op/op.h"

#define PREFIX "implementation." /* of their names in the registry */
enum { MAX_NAME = 36 };          /* the knob's name has room for "use_" */

const char *gpuc_op_use_knob(const gpuc_op_implementation *m, char knob[GPUC_OP_USE_KNOB])
{
    snprintf(knob, GPUC_OP_USE_KNOB, "use_%s", m->name);
    for (char *c = knob; *c; c++)
        if (*c == '.') *c = '_';
    return knob;
}

typedef struct find_row {
    const char *name;
    const gpuc_op *row;
} find_row;

static void note_row(void *arg, const char *name, const gpuc_op_name *what)
{
    find_row *f = arg;
    if (!f->row && what->op && !strcmp(name, f->name)) f->row = what->op;
}

static gpuc_status no_row(const gpuc_op_implementation *m)
{
    find_row f = {.name = m->op};
    gpuc_op_each_name(note_row, &f);
    if (f.row)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "implementation '%s': '%s' is another name of '%s': write the row's own", m->name,
                         m->op, f.row->name);
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "implementation '%s': there is no operator '%s'; register it first", m->name, m->op);
}

/* Names of kinds with commas between them; a kind need not be known yet. */
static gpuc_status check_targets(const gpuc_op_implementation *m)
{
    for (const char *p = m->targets; p; p = *p ? p + 1 : NULL) {
        size_t n = strcspn(p, ",");
        char kind[64];
        snprintf(kind, sizeof kind, "%.*s", n < sizeof kind ? (int)n : 0, p);
        if (!gpuc_op_entry_is_name(kind))
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "implementation '%s': targets are '%.64s'; write kinds with commas and without spaces, "
                "as \"vulkan,opencl\", or NULL for all",
                m->name, m->targets);
        p += n;
    }
    return NULL;
}

/* Two names may not be one as parts of a knob's. */
static gpuc_status check_unique(gpuc_runtime *rt, const gpuc_op_implementation *m)
{
    const gpuc_op_implementation *other;
    size_t at = 0;
    while ((other = gpuc_op_entry_next(rt, PREFIX, &at))) {
        char own[GPUC_OP_USE_KNOB], its[GPUC_OP_USE_KNOB];
        if (!strcmp(other->name, m->name))
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "there is an implementation '%s' already", m->name);
        if (!strcmp(gpuc_op_use_knob(m, own), gpuc_op_use_knob(other, its)))
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "implementation '%s': the knob %s is that of '%s' already; choose a name that differs in "
                "more than '.' and '_'",
                m->name, own, other->name);
    }
    return NULL;
}

static gpuc_status check(gpuc_runtime *rt, const gpuc_op_implementation *m)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    size_t length = m->name ? strlen(m->name) : 0;
    if (!length || length > MAX_NAME || strspn(m->name, letters) != length)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "'%.64s' is no name for an implementation: it has 1 to %d letters, digits, '_' and '.'",
            m->name ? m->name : "NULL", MAX_NAME);
    if (!m->op)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "implementation '%s': the operator's name is NULL", m->name);
    if (!gpuc_op_find(m->op) && !gpuc_op_find_in(rt, m->op)) return no_row(m);
    if (m->priority == GPUC_OP_OWN_PRIORITY)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "implementation '%s': %d is the priority of the row's own; a larger one comes before it", m->name,
            GPUC_OP_OWN_PRIORITY);
    if (!m->compute && !m->schedule)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "implementation '%s' has neither compute nor schedule",
                         m->name);
    GPUC_TRY(check_targets(m));
    return check_unique(rt, m);
}

gpuc_status gpuc_op_implement(gpuc_runtime *rt, const gpuc_op_implementation *implementation)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(implementation);
    GPUC_TRY(check(rt, implementation));
    char full[sizeof PREFIX + MAX_NAME];
    snprintf(full, sizeof full, PREFIX "%s", implementation->name);
    return gpuc_op_entry_add(rt, full, implementation);
}

/* Whether a is taken before b. */
static bool is_before(const gpuc_op_implementation *a, const gpuc_op_implementation *b)
{
    return a->priority != b->priority ? a->priority > b->priority : strcmp(a->name, b->name) < 0;
}

const gpuc_op_implementation *gpuc_op_implementation_at(gpuc_ctx *ctx, const char *op, size_t i)
{
    const gpuc_op_implementation *last = NULL;
    for (size_t count = 0; ctx->runtime && count <= i; count++) {
        const gpuc_op_implementation *m, *next = NULL;
        size_t at = 0;
        while ((m = gpuc_op_entry_next(ctx->runtime, PREFIX, &at)))
            if (!strcmp(m->op, op) && (!last || is_before(last, m)) && (!next || is_before(m, next)))
                next = m;
        if (!next) return NULL;
        last = next;
    }
    return last;
}
