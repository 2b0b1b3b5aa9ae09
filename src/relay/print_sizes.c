/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sizes in printed programs. A `?` that an attribute uses has one, and the first variable or node whose type is that
 * size says it, so that the text runs. */
#include "relay/print.h"

typedef gpuc_relay_printer printer;

/* d0 and so on, but none that the function has. */
static const char *new_name(printer *p)
{
    const char *name;
    int n = 0;
    do name = gpuc_ctx_printf(p->ctx, "d%d", n++);
    while (gpuc_strmap_has(&p->taken, name));
    gpuc_strmap_set(&p->taken, name, p);
    return name;
}

static bool name_symbol(gpuc_expr e, void *arg)
{
    printer *p = arg;
    if (e->kind != GPUC_EXPR_VAR || gpuc_map_get(&p->sizes, e)) return true;
    bool is_any = gpuc_relay_is_any_dim(e);
    if (is_any && !gpuc_map_get(&p->said, e)) return true;
    const char *own = is_any ? new_name(p) : gpuc_as_var(e)->name, *name = own;
    for (int n = 1; gpuc_strmap_has(&p->size_names, name); n++)
        name = gpuc_ctx_printf(p->ctx, "%s_%d", own, n);
    gpuc_strmap_set(&p->size_names, name, p);
    bool same = !is_any && name == own;
    gpuc_map_set(&p->sizes, e, (void *)(same ? e : gpuc_var(p->ctx, name, e->dtype)));
    p->renamed |= !same;
    return true;
}

static bool is_shown(gpuc_expr e, void *arg)
{
    const printer *p = arg;
    return !gpuc_map_has(&p->unnamed, e) || gpuc_map_get(&p->said, e);
}

gpuc_expr gpuc_relay_print_size(printer *p, gpuc_expr size)
{
    if (!size || !(size->flags & GPUC_TIR_HAS_VAR)) return size;
    if (p->unnamed.count && !gpuc_tir_visit(p->ctx, size, is_shown, p)) return size;
    gpuc_tir_visit(p->ctx, size, name_symbol, p);
    return p->renamed ? gpuc_tir_substitute_map(p->ctx, size, &p->sizes) : size;
}

bool gpuc_relay_print_says(printer *p, const gpuc_rtype *t)
{
    bool says = false;
    if (!t || !p->unnamed.count || !t->symbolic) return false;
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++) {
        gpuc_expr size = t->tensor.dims[i];
        if (!gpuc_map_has(&p->unnamed, size) || gpuc_map_get(&p->said, size)) continue;
        gpuc_map_set(&p->said, size, p);
        gpuc_ptrs_push(p->ctx, &p->says, (void *)(uintptr_t)size);
        says = true;
    }
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++) says |= gpuc_relay_print_says(p, t->at[i]);
    return says;
}

void gpuc_relay_print_end_said(printer *p, size_t first)
{
    for (; p->says.count > first; p->says.count--) {
        const void *size = p->says.at[p->says.count - 1];
        gpuc_map_set(&p->said, size, NULL);
        gpuc_map_set(&p->sizes, size, NULL);
    }
}

void **gpuc_relay_print_hide_said(printer *p, size_t first, bool rename)
{
    void **names = gpuc_new_array(p->ctx, void *, p->says.count - first + 1);
    for (size_t i = first; i < p->says.count; i++) {
        const void *size = p->says.at[i];
        names[i - first] = gpuc_map_get(&p->sizes, size);
        gpuc_map_set(&p->said, size, NULL);
        if (rename) gpuc_map_set(&p->sizes, size, NULL);
    }
    return names;
}

void gpuc_relay_print_show_said(printer *p, size_t first, size_t last, void *const *names)
{
    for (size_t i = first; i < last; i++) {
        gpuc_map_set(&p->said, p->says.at[i], p);
        gpuc_map_set(&p->sizes, p->says.at[i], names[i - first]);
    }
}

/* ---- Those that get a name ---- */

static bool use_size(gpuc_expr e, void *arg)
{
    if (e->kind == GPUC_EXPR_VAR && gpuc_relay_is_any_dim(e)) gpuc_map_set(arg, e, (void *)(uintptr_t)e);
    return true;
}

static bool take_name(gpuc_expr e, void *arg)
{
    printer *p = arg;
    if (e->kind == GPUC_EXPR_VAR && !gpuc_relay_is_any_dim(e))
        gpuc_strmap_set(&p->taken, gpuc_as_var(e)->name, p);
    return true;
}

static gpuc_expr take_names(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    if (size) gpuc_tir_visit(ctx, size, take_name, arg);
    return size;
}

static void visit_attrs(gpuc_ctx *ctx, const gpuc_attrs *attrs, bool (*visit)(gpuc_expr, void *), void *arg)
{
    for (int i = 0; attrs && i < attrs->count; i++)
        for (int k = 0; attrs->at[i].sizes && k < attrs->at[i].n; k++)
            gpuc_tir_visit(ctx, attrs->at[i].sizes[k], visit, arg);
}

static void find_said(printer *p, const gpuc_rtype *t, const gpuc_map *used)
{
    for (int i = 0; t->kind == GPUC_RTYPE_TENSOR && i < t->tensor.ndim; i++) {
        gpuc_expr size = t->tensor.dims[i];
        if (gpuc_map_has(used, size)) gpuc_map_set(&p->unnamed, size, (void *)(uintptr_t)size);
    }
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++) find_said(p, t->at[i], used);
}

static void take_type(printer *p, const gpuc_rtype *t)
{
    bool is_shown =
        t && t->symbolic && t->kind != GPUC_RTYPE_FUNC; /* names of another function stay its own */
    if (is_shown) gpuc_relay_rtype_map_sizes(p->ctx, t, take_names, p);
}

void gpuc_relay_print_find_sizes(printer *p, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_map used;
    gpuc_map_init(&used, p->ctx);
    gpuc_relay_walk_post_order(p->ctx, root, &(gpuc_relay_walk){0}, &order);
    for (size_t i = 0; i < order.count; i++)
        visit_attrs(p->ctx, gpuc_relay_get_attrs(order.at[i]), use_size, &used);
    for (size_t i = 0; used.count && i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        const gpuc_rtype *written = gpuc_relay_get_annotation(e), *t = e->type;
        bool is_var = e->kind == GPUC_REXPR_VAR;
        if (is_var && written) t = written;
        visit_attrs(p->ctx, gpuc_relay_get_attrs(e), take_name, p);
        take_type(p, written);
        take_type(p, e->type);
        if (t && t->symbolic && (is_var || gpuc_relay_result_of(e))) find_said(p, t, &used);
    }
}
