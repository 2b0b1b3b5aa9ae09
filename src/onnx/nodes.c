/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, in an order in which they can be converted. What is not supported does not end the import at once:
 * all such nodes are told together. */
#include <string.h>

#include "onnx/onnx.h"

const char *gpuc_onnx_label(gpuc_ctx *ctx, const Onnx__NodeProto *p)
{
    if (p->name && *p->name) return p->name;
    return p->n_output && *p->output[0] ? p->output[0] : gpuc_ctx_strdup(ctx, "(unnamed)");
}

/* "node 'conv1' (Conv, opset 13)" */
static const char *where(gpuc_ctx *ctx, const gpuc_onnx_item *item)
{
    const Onnx__NodeProto *p = item->node;
    const char *label = gpuc_onnx_label(ctx, p), *op = p->op_type ? p->op_type : "";
    if (*gpuc_onnx_domain(p->domain))
        return gpuc_ctx_printf(ctx, "node '%s' (%s of domain '%s')", label, op, p->domain);
    return gpuc_ctx_printf(ctx, "node '%s' (%s, opset %lld)", label, op, (long long)item->opset);
}

/* ---- One node ---- */

/* The row, or NULL and why there is none. */
static const gpuc_onnx_row *find_row(gpuc_ctx *ctx, const gpuc_onnx_item *item, gpuc_status *why)
{
    const char *op = item->node->op_type ? item->node->op_type : "";
    const char *domain = gpuc_onnx_domain(item->node->domain);
    *why = NULL;
    if (*domain) {
        if (gpuc_op_find_onnx(ctx, domain, op)) return &gpuc_onnx_own_row;
        *why = gpuc_fail(GPUC_UNSUPPORTED, "operators of this domain are not supported");
        return NULL;
    }
    const gpuc_onnx_row *row = gpuc_onnx_find(op, item->opset);
    if (row) return row;
    const gpuc_onnx_row *any = gpuc_onnx_find(op, INT64_MAX);
    const char *near = any ? NULL : gpuc_onnx_nearest(ctx, op);
    if (any)
        *why = gpuc_fail(GPUC_UNSUPPORTED, "the operator is of opset %d and later", any->from);
    else
        *why = gpuc_fail(GPUC_UNSUPPORTED, "the operator is not supported%s%s%s",
                         near ? " (a similar name: " : "", near ? near : "", near ? ")" : "");
    return NULL;
}

typedef struct convert_arg {
    gpuc_onnx_node *n;
    const gpuc_onnx_row *row;
} convert_arg;

static void run_converter(gpuc_ctx *ctx, void *arg)
{
    convert_arg *c = arg;
    const Onnx__NodeProto *p = c->n->proto;
    gpuc_strmap names;
    gpuc_strmap_init(&names, ctx);
    if (!p->n_output) gpuc_raise(ctx, GPUC_INVALID_DATA, "the node has no outputs");
    for (size_t i = 0; i < p->n_attribute; i++) {
        const char *name = p->attribute[i]->name;
        if (!name) gpuc_raise(ctx, GPUC_INVALID_DATA, "an attribute has no name");
        if (gpuc_strmap_has(&names, name))
            gpuc_raise(ctx, GPUC_INVALID_DATA, "attribute '%s' is given twice", name);
        gpuc_strmap_set(&names, name, p->attribute[i]);
    }
    c->row->convert(c->n);
    for (size_t i = 0; i < p->n_attribute; i++)
        if (!c->n->used[i])
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "attribute '%s' is not one that the operator takes here",
                       p->attribute[i]->name);
    for (size_t i = 0; i < p->n_output; i++)
        if (*p->output[i] && !c->n->out[i])
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "output %zu is not supported", i);
}

/* Defines the outputs, or says why not. */
static gpuc_status convert(gpuc_onnx *m, const gpuc_onnx_item *item, const gpuc_onnx_row *row)
{
    gpuc_ctx *ctx = m->ctx;
    const Onnx__NodeProto *p = item->node;
    gpuc_onnx_node n = {.m = m, .ctx = ctx, .proto = p, .n_in = (int)p->n_input, .n_out = (int)p->n_output};
    n.in = gpuc_new_array(ctx, gpuc_rexpr *, p->n_input + 1);
    n.out = gpuc_new_array(ctx, gpuc_rexpr *, p->n_output + 1);
    n.used = gpuc_new_array(ctx, bool, p->n_attribute + 1);
    for (size_t i = 0; i < p->n_input; i++)
        n.in[i] = *p->input[i] ? gpuc_strmap_get(&m->values, p->input[i]) : NULL;
    m->opset = item->opset;
    convert_arg arg = {&n, row};
    uint32_t first_id = ctx->next_id;
    GPUC_TRY(gpuc_ctx_protect(ctx, run_converter, &arg));
    const char *label = gpuc_onnx_label(ctx, p);
    for (size_t i = 0; i < p->n_output; i++) {
        if (!*p->output[i]) continue;
        gpuc_relay_mark_source(ctx, n.out[i], first_id, label);
        gpuc_onnx_define(m, p->output[i], n.out[i], label);
    }
    return NULL;
}

/* ---- All nodes: they wait for their inputs (Kahn's algorithm), so that the order in the file does not
 * matter ---- */

typedef struct scheduler {
    gpuc_onnx *m;
    gpuc_ctx *ctx;
    const gpuc_onnx_items *items;
    int *missing;         /* per node */
    gpuc_strmap produced; /* names that nodes make */
    gpuc_strmap waiting;  /* name -> gpuc_ptrs of node number + 1 */
    gpuc_ptrs ready;
    gpuc_strmap unknown; /* names that nodes which are not supported would make, and what follows */
    gpuc_ptrs refusals;  /* messages */
} scheduler;

static void wait_for(scheduler *s, const char *name, size_t node)
{
    gpuc_ptrs *list = gpuc_strmap_get(&s->waiting, name);
    if (!list) {
        list = gpuc_new(s->ctx, gpuc_ptrs);
        gpuc_strmap_set(&s->waiting, name, list);
    }
    gpuc_ptrs_push(s->ctx, list, (void *)(node + 1));
}

static void announce(scheduler *s, const char *name)
{
    const gpuc_ptrs *list = gpuc_strmap_get(&s->waiting, name);
    for (size_t i = 0; list && i < list->count; i++) {
        size_t node = (size_t)list->at[i] - 1;
        if (--s->missing[node] == 0) gpuc_ptrs_push(s->ctx, &s->ready, (void *)(node + 1));
    }
}

static void explain_stuck(scheduler *s)
{
    gpuc_ctx *ctx = s->ctx;
    for (size_t i = 0; i < s->items->count; i++) {
        const Onnx__NodeProto *p = s->items->at[i].node;
        if (!s->missing[i]) continue;
        for (size_t k = 0; k < p->n_input; k++)
            if (*p->input[k] && !gpuc_strmap_has(&s->m->values, p->input[k]) &&
                !gpuc_strmap_has(&s->produced, p->input[k]))
                gpuc_raise(ctx, GPUC_INVALID_DATA, "%s: input '%s' is not made by any node",
                           where(ctx, &s->items->at[i]), p->input[k]);
    }
    for (size_t i = 0; i < s->items->count; i++)
        if (s->missing[i])
            gpuc_raise(ctx, GPUC_INVALID_DATA, "the graph has a cycle through %s",
                       where(ctx, &s->items->at[i]));
}

static void find_producers(scheduler *s)
{
    for (size_t i = 0; i < s->items->count; i++) {
        const Onnx__NodeProto *p = s->items->at[i].node;
        for (size_t k = 0; k < p->n_output; k++) {
            if (!*p->output[k]) continue;
            if (gpuc_strmap_has(&s->produced, p->output[k]) || gpuc_strmap_has(&s->m->values, p->output[k]))
                gpuc_raise(s->ctx, GPUC_INVALID_DATA,
                           "the name '%s' is given to two tensors (the second by %s)", p->output[k],
                           where(s->ctx, &s->items->at[i]));
            gpuc_strmap_set(&s->produced, p->output[k], (void *)p);
        }
    }
}

static void find_ready(scheduler *s)
{
    for (size_t i = 0; i < s->items->count; i++) {
        const Onnx__NodeProto *p = s->items->at[i].node;
        for (size_t k = 0; k < p->n_input; k++) {
            if (!*p->input[k] || gpuc_strmap_has(&s->m->values, p->input[k])) continue;
            s->missing[i]++;
            wait_for(s, p->input[k], i);
        }
        if (!s->missing[i]) gpuc_ptrs_push(s->ctx, &s->ready, (void *)(i + 1));
    }
}

static bool has_unknown_input(const scheduler *s, const Onnx__NodeProto *p)
{
    for (size_t k = 0; k < p->n_input; k++)
        if (gpuc_strmap_has(&s->unknown, p->input[k])) return true;
    return false;
}

static void convert_or_refuse(scheduler *s, const gpuc_onnx_item *item)
{
    const Onnx__NodeProto *p = item->node;
    gpuc_status why;
    const gpuc_onnx_row *row = find_row(s->ctx, item, &why);
    bool known = !has_unknown_input(s, p);
    if (row && known) why = convert(s->m, item, row);
    if (row && known && !why) return;
    for (size_t k = 0; k < p->n_output; k++)
        if (*p->output[k]) gpuc_strmap_set(&s->unknown, p->output[k], s);
    if (!why) return; /* its inputs are the reason */
    why = gpuc_error_prefix(why, "%s", where(s->ctx, item));
    if (gpuc_status_code(why) != GPUC_UNSUPPORTED) gpuc_ctx_raise_status(s->ctx, why);
    gpuc_ptrs_push(s->ctx, &s->refusals, gpuc_ctx_strdup(s->ctx, gpuc_status_message(why)));
    gpuc_status_release(why);
}

static void tell_refusals(const scheduler *s)
{
    const gpuc_ptrs *all = &s->refusals;
    if (all->count == 0) return;
    if (all->count == 1) gpuc_raise(s->ctx, GPUC_UNSUPPORTED, "%s", (const char *)all->at[0]);
    gpuc_buf text;
    gpuc_buf_init(&text, s->ctx->allocator);
    gpuc_buf_printf(&text, "%zu nodes are not supported:", all->count);
    for (size_t i = 0; i < all->count; i++) gpuc_buf_printf(&text, "\n  %s", (const char *)all->at[i]);
    gpuc_status status = gpuc_buf_status(&text);
    if (!status) status = gpuc_fail(GPUC_UNSUPPORTED, "%s", gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    gpuc_ctx_raise_status(s->ctx, status);
}

void gpuc_onnx_convert_nodes(gpuc_onnx *m, const gpuc_onnx_items *items)
{
    gpuc_ctx *ctx = m->ctx;
    scheduler s = {.m = m, .ctx = ctx, .items = items, .missing = gpuc_new_array(ctx, int, items->count + 1)};
    gpuc_strmap_init(&s.waiting, ctx);
    gpuc_strmap_init(&s.produced, ctx);
    gpuc_strmap_init(&s.unknown, ctx);
    find_producers(&s);
    find_ready(&s);
    for (size_t i = 0; i < s.ready.count; i++) {
        const gpuc_onnx_item *item = &items->at[(size_t)s.ready.at[i] - 1];
        convert_or_refuse(&s, item);
        for (size_t k = 0; k < item->node->n_output; k++) announce(&s, item->node->output[k]);
    }
    if (s.ready.count != items->count) explain_stuck(&s);
    tell_refusals(&s);
}
