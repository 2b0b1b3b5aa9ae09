/* SPDX-License-Identifier: Apache-2.0 */
/* Operator fusion by dominator tree: nodes in post-order with their consumers; the immediate post-dominator
 * of each, with the strongest pattern on the way; then groups are joined in phases (Roesch et al. 2019,
 * section 4.4; the rules are TVM's, but for that of rows). */
#include <string.h>

#include "relay_pass/common/util.h"
#include "autoschedule/rules.h"

enum { MAX_NODES_IN_GROUP = 128 };

typedef struct node {
    gpuc_rexpr *e;
    int index;        /* in post-order: consumers have larger ones */
    bool external;    /* its value is needed outside of any group: an output */
    bool on_fallback; /* it runs on the fallback device */
    gpuc_fuse_pattern pattern;
    int num_out, cap_out;
    struct edge *out; /* consumers */
    /* dominator tree */
    struct node *parent;
    int depth;
    gpuc_fuse_pattern to_parent; /* strongest pattern between here and parent */
    /* group: union-find, with the list of members at the root */
    struct node *group, *next_member, *last_member;
    gpuc_fuse_pattern group_pattern;
    struct node *anchor; /* of the group: its complex operator */
    int size;
    int64_t code; /* of its elementwise operators */
    bool moves;   /* reads at other indices than it writes: inlining may duplicate what it reads */
    uint32_t visited, joining, bound; /* the attempt that saw it as a node, as a group, as an input */
} node;

typedef struct edge {
    node *to;
    gpuc_fuse_pattern pattern;
} edge;

typedef struct graph {
    gpuc_relay_pass_ctx *p;
    gpuc_map nodes; /* expr -> node */
    node **order;
    int count;
    uint32_t attempt;
    gpuc_map sizes; /* elementwise operator -> its code */
} graph;

static gpuc_fuse_pattern combine(gpuc_fuse_pattern a, gpuc_fuse_pattern b)
{
    return a > b ? a : b;
}

static node *find(node *n)
{
    while (n->group != n) {
        n->group = n->group->group;
        n = n->group;
    }
    return n;
}

/* Constants of one element become immediates of the kernel; others are its parameters. */
static bool is_scalar_constant(const gpuc_rexpr *e)
{
    int64_t dims[64];
    if (e->kind != GPUC_REXPR_CONSTANT) return false;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    if (t->ndim > 64 || !gpuc_relay_tensor_type_static(t, dims)) return false;
    for (int i = 0; i < t->ndim; i++)
        if (dims[i] != 1) return false;
    return true;
}

static void add_edge(gpuc_ctx *ctx, node *from, node *to, gpuc_fuse_pattern pattern)
{
    if (from->num_out == from->cap_out) {
        int cap = from->cap_out ? 2 * from->cap_out : 2;
        edge *grown = gpuc_new_array(ctx, edge, cap);
        if (from->num_out) memcpy(grown, from->out, sizeof *grown * (size_t)from->num_out);
        from->out = grown;
        from->cap_out = cap;
    }
    from->out[from->num_out++] = (edge){to, pattern};
}

/* An elementwise operator reads an input that is smaller than its output by broadcasting. */
static gpuc_fuse_pattern edge_pattern(const gpuc_op *op, const gpuc_rexpr *in, const gpuc_rexpr *out)
{
    if (op->pattern != GPUC_FUSE_BROADCAST) return op->pattern;
    const gpuc_tensor_type *a = &in->type->tensor, *b = &out->type->tensor;
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++) same = a->dims[i] == b->dims[i];
    return same ? GPUC_FUSE_ELEMWISE : GPUC_FUSE_BROADCAST;
}

/* An estimate of the code of an elementwise operator: the code of its first call. */
static int64_t code_of(graph *g, const gpuc_op *op, const gpuc_rexpr *e)
{
    gpuc_ctx *ctx = g->p->ctx;
    uintptr_t known = (uintptr_t)gpuc_map_get(&g->sizes, op);
    if (known || !op->compute || op->pattern > GPUC_FUSE_BROADCAST) return (int64_t)known;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **vars = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++) {
        vars[i] = gpuc_relay_var(ctx, "p", c->args[i]->type);
        vars[i]->values = c->args[i]->values;
    }
    gpuc_rexpr *call = gpuc_relay_call(ctx, c->callee, c->attrs, c->n, vars);
    call->type = e->type;
    call->values = e->values;
    int num_results;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_relay_function(ctx, c->n, vars, call, NULL));
    gpuc_tensor **tensors = gpuc_relay_tensors(ctx, f, NULL, &num_results);
    known = (uintptr_t)gpuc_rules_code_size(ctx, num_results, tensors + f->n);
    gpuc_map_set(&g->sizes, op, (void *)known);
    return (int64_t)known;
}

static void build_graph(graph *g, gpuc_rexpr *body)
{
    gpuc_ctx *ctx = g->p->ctx;
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, body, false, &order);
    gpuc_map_init(&g->nodes, ctx);
    gpuc_map_init(&g->sizes, ctx);
    g->order = gpuc_new_array(ctx, node *, order.count);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (e->kind == GPUC_REXPR_OP) continue;
        node *n = gpuc_new(ctx, node);
        n->e = e;
        n->index = g->count;
        const gpuc_op *op = gpuc_relay_call_op(e);
        n->pattern = op ? op->pattern : GPUC_FUSE_OPAQUE;
        n->group = n->last_member = n;
        n->size = 1;
        g->order[g->count++] = n;
        gpuc_map_set(&g->nodes, e, n);
        if (op) {
            const gpuc_rcall *c = gpuc_as_rcall(e);
            n->on_fallback = gpuc_relay_pass_needs_fallback(g->p->target, e);
            n->code = code_of(g, op, e);
            n->moves = op->pattern == GPUC_FUSE_INJECTIVE;
            for (int k = 0; k < c->n; k++)
                add_edge(ctx, gpuc_map_get(&g->nodes, c->args[k]), n, edge_pattern(op, c->args[k], e));
            continue;
        }
        gpuc_rexpr *child;
        for (int k = 0; (child = gpuc_relay_child(e, k)); k++)
            ((node *)gpuc_map_get(&g->nodes, child))->external = true;
    }
    ((node *)gpuc_map_get(&g->nodes, body))->external = true;
    for (int i = 0; i < g->count; i++) {
        node *n = g->order[i];
        n->group_pattern = n->pattern;
        if (n->pattern == GPUC_FUSE_OUT_FUSABLE) n->anchor = n;
    }
}

static node *common_ancestor(node *a, node *b, gpuc_fuse_pattern *pattern)
{
    while (a != b) {
        if (!a || !b) return NULL;
        if (a->depth < b->depth) {
            *pattern = combine(*pattern, b->to_parent);
            b = b->parent;
        } else if (b->depth < a->depth) {
            *pattern = combine(*pattern, a->to_parent);
            a = a->parent;
        } else {
            *pattern = combine(combine(*pattern, a->to_parent), b->to_parent);
            a = a->parent;
            b = b->parent;
        }
    }
    return a;
}

static void post_dominators(graph *g)
{
    for (int i = g->count - 1; i >= 0; i--) {
        node *n = g->order[i];
        n->depth = 1;
        n->to_parent = GPUC_FUSE_OPAQUE;
        if (n->external || n->num_out == 0) continue;
        node *parent = n->out[0].to;
        gpuc_fuse_pattern pattern = n->out[0].pattern;
        for (int k = 1; k < n->num_out; k++) {
            pattern = combine(pattern, n->out[k].pattern);
            parent = common_ancestor(parent, n->out[k].to, &pattern);
        }
        n->parent = parent;
        n->depth = parent ? parent->depth + 1 : 1;
        n->to_parent = pattern;
    }
}

typedef bool (*path_condition)(gpuc_fuse_pattern kind, bool is_sink);

/* The nodes after a node, up to and including its post-dominator. */
typedef struct path {
    node *at[MAX_NODES_IN_GROUP];
    int count;
} path;

/* Fills out; false if a node does not satisfy the condition, or there are too many nodes. */
static bool find_path(graph *g, node *from, path_condition ok, path *out)
{
    node *sink = from->parent;
    uint32_t mark = ++g->attempt;
    out->count = 0;
    for (int next = -1; next < out->count; next++) {
        node *n = next < 0 ? from : out->at[next];
        for (int k = 0; k < n->num_out && n != sink; k++) {
            node *to = n->out[k].to;
            if (to->visited == mark) continue;
            to->visited = mark;
            if (!ok(find(to)->group_pattern, to == sink) || out->count == MAX_NODES_IN_GROUP) return false;
            out->at[out->count++] = to;
        }
    }
    return true;
}

static void join(node *child, node *parent)
{
    child = find(child);
    parent = find(parent);
    if (child == parent) return;
    parent->size += child->size;
    parent->code += child->code;
    parent->moves |= child->moves;
    parent->last_member->next_member = child;
    parent->last_member = child->last_member;
    child->group = parent;
    if (child->anchor) {
        GPUC_CHECK(!parent->anchor);
        parent->anchor = child->anchor;
    }
    parent->group_pattern = combine(parent->group_pattern, child->group_pattern);
}

/* Tensors that the group's members bind when the groups marked `joining` become one: inputs and outputs. */
static int count_tensors(graph *g, node *group)
{
    int count = 0;
    for (node *n = group; n; n = n->next_member) {
        bool out = n->external || n->num_out == 0;
        for (int k = 0; k < n->num_out; k++) out |= find(n->out[k].to)->joining != g->attempt;
        count += out;
        const gpuc_rcall *c = gpuc_as_rcall(n->e);
        for (int k = 0; k < c->n; k++) {
            node *a = gpuc_map_get(&g->nodes, c->args[k]);
            if (find(a)->joining == g->attempt || a->bound == g->attempt || is_scalar_constant(a->e))
                continue;
            a->bound = g->attempt;
            count++;
        }
    }
    return count;
}

static bool elementwise_path(gpuc_fuse_pattern kind, bool is_sink)
{
    (void)is_sink;
    return kind <= GPUC_FUSE_BROADCAST;
}

static bool to_injective_or_reduce(gpuc_fuse_pattern kind, bool is_sink)
{
    return is_sink ? kind <= GPUC_FUSE_OUT_FUSABLE : kind <= GPUC_FUSE_INJECTIVE;
}

static bool injective_path(gpuc_fuse_pattern kind, bool is_sink)
{
    (void)is_sink;
    return kind <= GPUC_FUSE_INJECTIVE;
}

static bool to_reader_of_row(gpuc_fuse_pattern kind, bool is_sink)
{
    return kind <= GPUC_FUSE_REDUCE && !(is_sink && kind == GPUC_FUSE_INJECTIVE);
}

/* A group as a function. Members are those whose groups are marked `joining`. */
typedef struct group_body {
    graph *g;
    gpuc_map inside;         /* expr -> expr in the function */
    gpuc_ptrs params, reads; /* what each stands for */
} group_body;

static gpuc_rexpr *inside_of(group_body *b, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = b->g->p->ctx;
    gpuc_rexpr *known = gpuc_map_get(&b->inside, e);
    if (known) return known;
    gpuc_rexpr *out;
    if (is_scalar_constant(e)) {
        out = e;
    } else if (find(gpuc_map_get(&b->g->nodes, e))->joining == b->g->attempt && gpuc_relay_call_op(e)) {
        const gpuc_rcall *c = gpuc_as_rcall(e);
        gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n);
        for (int i = 0; i < c->n; i++) args[i] = inside_of(b, c->args[i]);
        out = gpuc_relay_call(ctx, c->callee, c->attrs, c->n, args);
        out->type = e->type;
        out->values = e->values;
        gpuc_relay_with_source(ctx, out, e->source);
    } else {
        out = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "p%zu", b->params.count), e->type);
        out->values = e->values;
        gpuc_ptrs_push(ctx, &b->params, out);
        gpuc_ptrs_push(ctx, &b->reads, e);
    }
    gpuc_map_set(&b->inside, e, out);
    return out;
}

/* The function of the members that gives e. */
static gpuc_rexpr *function_of(group_body *b, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = b->g->p->ctx;
    gpuc_map_init(&b->inside, ctx);
    gpuc_rexpr *body = inside_of(b, e);
    return gpuc_relay_function(ctx, (int)b->params.count, (gpuc_rexpr *const *)b->params.at, body,
                               gpuc_attrs_int(ctx, NULL, "primitive", 1));
}

/* Whether these groups make one function whose code stays small and, with wants_rows, whose output is
 * computed row by row. */
static bool is_good(graph *g, int num_groups, node *const *groups, bool wants_rows)
{
    node *last = groups[0];
    bool reduces = false;
    for (int i = 0; i < num_groups; i++) {
        for (node *n = groups[i]; n; n = n->next_member) {
            if (!gpuc_relay_call_op(n->e)->compute) return !wants_rows;
            reduces |= n->pattern == GPUC_FUSE_REDUCE;
            if (n->index > last->index) last = n;
        }
    }
    if (wants_rows && (!reduces || last->pattern == GPUC_FUSE_REDUCE)) return false;
    group_body b = {.g = g};
    int num_results;
    const gpuc_rfunction *f = gpuc_as_rfunction(function_of(&b, last->e));
    gpuc_tensor **tensors = gpuc_relay_tensors(g->p->ctx, f, NULL, &num_results);
    if (wants_rows && (num_results != 1 || !gpuc_rules_makes_rows(g->p->ctx, g->p->target, tensors[f->n])))
        return false;
    return gpuc_rules_stays_small(g->p->ctx, num_results, tensors + f->n);
}

static void try_join(graph *g, node *n, path_condition ok)
{
    path p;
    node *groups[MAX_NODES_IN_GROUP + 1];
    int num_groups = 0, size = 0, tensors = 0;
    int64_t code = 0;
    bool moves = false;
    if (!find_path(g, n, ok, &p)) return;
    if (find(n)->anchor && find(n->parent)->anchor && find(n) != find(n->parent)) return;
    for (int i = -1; i < p.count; i++) {
        node *group = find(i < 0 ? n : p.at[i]);
        if (group->joining == g->attempt) continue;
        if (group->on_fallback != n->on_fallback) return;
        group->joining = g->attempt;
        groups[num_groups++] = group;
        size += group->size;
        code += group->code;
        moves |= group->moves;
    }
    if (size > MAX_NODES_IN_GROUP) return;
    for (int i = 0; i < num_groups; i++) tensors += count_tensors(g, groups[i]);
    if (tensors > g->p->target->max_storage_buffers) return;
    if (code > GPUC_COMMON_code) return;
    bool rows = ok == to_reader_of_row; /* without moves, inlined code is emitted once */
    if ((rows || moves) && !is_good(g, num_groups, groups, rows)) return;
    for (int i = 0; i < num_groups; i++) join(groups[i], n->parent);
}

/* The phases of fusion in their order: first elementwise operators join a complex one, then readers join the
 * reductions of their rows, then the rest. */
typedef enum fuse_phase { ANCHORS, ROWS, ELEMENTWISE, MOVES, REST, NUM_PHASES } fuse_phase;

static void run_phase(graph *g, fuse_phase phase)
{
    for (int i = 0; i < g->count; i++) {
        node *n = g->order[i];
        if (!n->parent || !gpuc_relay_call_op(n->e)) continue;
        gpuc_fuse_pattern pattern = find(n)->group_pattern;
        if (find(n) == find(n->parent)) continue;
        if (phase == ANCHORS) {
            if (pattern == GPUC_FUSE_OUT_FUSABLE && n->to_parent == GPUC_FUSE_ELEMWISE)
                try_join(g, n, elementwise_path);
        } else if (phase == ROWS) {
            if (pattern != GPUC_FUSE_INJECTIVE && n->to_parent <= GPUC_FUSE_REDUCE)
                try_join(g, n, to_reader_of_row);
        } else if (pattern <= GPUC_FUSE_BROADCAST) {
            if (n->to_parent <= GPUC_FUSE_REDUCE) try_join(g, n, to_injective_or_reduce);
        } else if (pattern == GPUC_FUSE_INJECTIVE) {
            if (phase == MOVES && n->to_parent <= GPUC_FUSE_INJECTIVE) try_join(g, n, injective_path);
        }
    }
}

/* ---- Making the functions ---- */

typedef struct extractor {
    gpuc_ctx *ctx;
    graph *g;
    gpuc_map done; /* expr -> replacement in main */
} extractor;

static gpuc_rexpr *value_of(extractor *x, gpuc_rexpr *e)
{
    gpuc_rexpr *out = gpuc_map_get(&x->done, e);
    if (out) return out;
    GPUC_CHECK(!gpuc_relay_call_op(e)); /* calls were done in order */
    return e;
}

/* The call that computes e's group; e is the group's last node and its only output. */
static gpuc_rexpr *extract(extractor *x, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = x->ctx;
    group_body b = {.g = x->g};
    find(gpuc_map_get(&x->g->nodes, e))->joining = ++x->g->attempt;
    gpuc_rexpr *f = function_of(&b, e), **args = gpuc_new_array(ctx, gpuc_rexpr *, b.reads.count);
    for (size_t i = 0; i < b.reads.count; i++) args[i] = value_of(x, b.reads.at[i]);
    gpuc_rexpr *call = gpuc_relay_call(ctx, f, NULL, (int)b.reads.count, args);
    call->type = e->type;
    for (uint32_t i = 0; i < b.inside.count; i++) {
        const gpuc_rexpr *inner = b.inside.entries[i].value;
        if (inner->kind == GPUC_REXPR_CALL) gpuc_relay_with_source(ctx, call, inner->source);
    }
    return call;
}

static gpuc_rexpr *rebuild(extractor *x, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = x->ctx;
    if (gpuc_relay_call_op(e)) {
        node *n = gpuc_map_get(&x->g->nodes, e);
        bool output = n->external || n->num_out == 0;
        for (int k = 0; k < n->num_out; k++) output |= find(n->out[k].to) != find(n);
        return output ? extract(x, e) : e;
    }
    if (e->kind == GPUC_REXPR_TUPLE) {
        const gpuc_rtuple *t = gpuc_as_rtuple(e);
        gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
        for (int i = 0; i < t->n; i++) fields[i] = value_of(x, t->fields[i]);
        return gpuc_relay_tuple(ctx, t->n, fields);
    }
    if (e->kind == GPUC_REXPR_GET)
        return gpuc_relay_get(ctx, value_of(x, gpuc_as_rget(e)->tuple), gpuc_as_rget(e)->index);
    return e;
}

static gpuc_rexpr *fuse_body(gpuc_relay_pass_ctx *p, gpuc_rexpr *body)
{
    graph g = {.p = p};
    build_graph(&g, body);
    post_dominators(&g);
    if (p->opt_level >= 1)
        for (fuse_phase phase = 0; phase < NUM_PHASES; phase++) run_phase(&g, phase);
    extractor x = {.ctx = p->ctx, .g = &g};
    gpuc_map_init(&x.done, p->ctx);
    for (int i = 0; i < g.count; i++) {
        gpuc_rexpr *e = g.order[i]->e, *out = rebuild(&x, e);
        if (out != e) gpuc_map_set(&x.done, e, out);
    }
    return value_of(&x, body);
}

void gpuc_relay_pass_fuse_ops(gpuc_relay_pass_ctx *p)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(p->module, "main"));
    gpuc_rexpr *body = fuse_body(p, f->body);
    gpuc_strmap_set(&p->module->functions, "main",
                    gpuc_relay_function(p->ctx, f->n, f->params, body, f->attrs));
}
