/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that each end with the next nest as deep as a body is long. What one of these links shares with those below it
 * is found without a look at them: a walk from the end notes of every expression where it and its uses are seen last. Each
 * link then walks over what is its own, its items. Names are only noted. They get into statements where the links end. */
#include <stdlib.h>

#include "lower/hoist_common/hoist.h"

typedef struct link {
    gpuc_stmt s;    /* a name, a sequence, a condition with one arm, an allocation, an attribute */
    int first, end; /* its items: the value or the condition; what stands in front of the last statement */
    gpuc_hoist_names around, own;
    gpuc_expr value;     /* with names: of a name, a condition, an attribute */
    gpuc_stmt *in_front; /* with names: of a sequence */
} link;

typedef struct item {
    gpuc_stmt s;
    gpuc_expr e;
} item;

typedef struct seen_info {
    int last;             /* the last item that it occurs in */
    int bound;            /* the last item that binds a variable of it; -1: none does */
    int num_uses;         /* 2: or more */
    int use[2];           /* last items of the uses, as operands or roots, the last first */
    gpuc_expr user[2];    /* NULL: it is a root */
    bool legal;           /* no load, no effect, no division by what may be 0 */
    int walked, twice_at; /* the links, counted from 1, of the last walk and of twice */
    bool twice;
} seen_info;

typedef struct chain {
    gpuc_tir_mapper m; /* replaces what is named */
    gpuc_hoister *h;
    link *links;
    item *items; /* the last is the end of the chain, if it does not end with a sequence */
    int num_links, num_items;
    gpuc_stmt end;
    gpuc_map seen;  /* expr -> seen_info */
    gpuc_map bound; /* variable -> the last item that binds it, counted from 1 */
    gpuc_map named; /* expr -> its name */
    int at;         /* the link, counted from 1 */
    int item;
    gpuc_ptrs *list;
} chain;

gpuc_stmt gpuc_lower_hoist_last(gpuc_stmt s)
{
    switch (s->kind) {
    case GPUC_STMT_LET: return gpuc_as_let(s)->body;
    case GPUC_STMT_SEQ: return gpuc_as_seq(s)->at[gpuc_as_seq(s)->n - 1];
    case GPUC_STMT_IF: return gpuc_as_if(s)->else_body ? NULL : gpuc_as_if(s)->then_body;
    case GPUC_STMT_ALLOC: return gpuc_as_alloc(s)->body;
    case GPUC_STMT_ATTR: return gpuc_tir_is_coopmat(s) ? NULL : gpuc_as_attr(s)->body;
    case GPUC_STMT_FOR:
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return NULL;
}

/* Counts, or notes with fill, the links and items. */
static void list_links(chain *c, gpuc_stmt s, bool fill)
{
    c->num_links = c->num_items = 0;
    for (gpuc_stmt last; (last = gpuc_lower_hoist_last(s)); s = last) {
        int first = c->num_items, n = 0;
        const gpuc_stmt *at = NULL;
        gpuc_expr e = NULL;
        if (s->kind == GPUC_STMT_LET) e = gpuc_as_let(s)->value;
        if (s->kind == GPUC_STMT_IF) e = gpuc_as_if(s)->cond;
        if (s->kind == GPUC_STMT_SEQ) {
            at = gpuc_as_seq(s)->at;
            n = gpuc_as_seq(s)->n - 1;
        }
        for (int i = 0; fill && i < n; i++) c->items[first + i].s = at[i];
        if (fill && e) c->items[first].e = e;
        c->num_items += n + (e != NULL);
        if (fill) c->links[c->num_links] = (link){.s = s, .first = first, .end = c->num_items};
        c->num_links++;
    }
    if (fill) c->items[c->num_items].s = s;
    c->num_items++;
    c->end = s;
}

static void note_binding(gpuc_stmt s, void *arg)
{
    chain *c = arg;
    gpuc_expr var = gpuc_lower_hoist_variable(s);
    if (var) gpuc_map_set(&c->bound, var, (void *)(intptr_t)(c->item + 1));
}

static void note_use(chain *c, gpuc_expr e, gpuc_expr user)
{
    if (e->kind == GPUC_EXPR_VAR || e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT) return;
    seen_info *i = gpuc_map_get(&c->seen, e);
    if (!i) {
        i = gpuc_new(c->m.ctx, seen_info);
        gpuc_map_set(&c->seen, e, i);
        gpuc_expr by = gpuc_lower_hoist_divisor(e);
        gpuc_tir_operands operands;
        gpuc_tir_operands_get(c->m.ctx, e, &operands);
        i->last = c->item;
        i->bound = -1;
        i->legal = !(e->flags & (GPUC_TIR_HAS_EFFECT | GPUC_TIR_HAS_LOAD)) &&
                   (!by || gpuc_lower_hoist_is_nonzero(c->h, by));
        for (int k = 0; k < operands.n; k++) {
            note_use(c, operands.at[k], e);
            const seen_info *o = gpuc_map_get(&c->seen, operands.at[k]);
            int bound = o ? o->bound : (int)(intptr_t)gpuc_map_get(&c->bound, operands.at[k]) - 1;
            if (bound > i->bound) i->bound = bound;
            if (o && !o->legal) i->legal = false;
        }
    }
    if (i->num_uses == 2) return;
    i->user[i->num_uses] = user;
    i->use[i->num_uses++] = c->item;
}

static bool note_root(gpuc_expr e, void *arg)
{
    note_use(arg, e, NULL);
    return true;
}

static void for_item(chain *c, int k, gpuc_hoist_expr_fn fn)
{
    c->item = k;
    if (c->items[k].e) fn(c->items[k].e, c);
    if (c->items[k].s) gpuc_lower_hoist_roots(c, c->items[k].s, fn);
}

static gpuc_expr map_named(gpuc_tir_mapper *m, gpuc_expr e)
{
    gpuc_expr name = gpuc_map_get(&((chain *)m)->named, e);
    return name ? name : gpuc_tir_map_children(m, e);
}

static void survey_chain(chain *c, gpuc_hoister *h, gpuc_stmt s)
{
    *c = (chain){.h = h};
    gpuc_tir_mapper_init(&c->m, h->ctx, map_named, NULL);
    gpuc_map_init(&c->seen, h->ctx);
    gpuc_map_init(&c->bound, h->ctx);
    gpuc_map_init(&c->named, h->ctx);
    list_links(c, s, false);
    c->links = gpuc_new_array(h->ctx, link, c->num_links);
    c->items = gpuc_new_array(h->ctx, item, c->num_items);
    list_links(c, s, true);
    if (c->num_items == 1) return;
    for (int k = 0, l = 0; k < c->num_items; k++) {
        c->item = k;
        for (; l < c->num_links && c->links[l].first <= k; l++) note_binding(c->links[l].s, c);
        if (c->items[k].s) gpuc_tir_visit_stmt(h->ctx, c->items[k].s, note_binding, NULL, c);
    }
    for (int k = c->num_items; k-- > 0;) for_item(c, k, note_root);
}

/* Whether e, with the names there are, may have one around the current link. */
static bool may_be_named(const chain *c, gpuc_expr e, const seen_info *i)
{
    return i->legal && i->bound < c->links[c->at - 1].first &&
           gpuc_lower_hoist_is_worth(c->m.ctx, e, &c->named);
}

/* Whether what i is of, which is also seen below the current link, is printed twice if what may have names has them. */
static bool is_printed_twice(chain *c, seen_info *i)
{
    if (i->twice_at == c->at) return i->twice;
    bool twice = i->num_uses == 2 && i->use[1] >= c->links[c->at - 1].first;
    if (!twice && i->user[0]) {
        seen_info *user = gpuc_map_get(&c->seen, i->user[0]);
        twice = !may_be_named(c, i->user[0], user) && is_printed_twice(c, user);
    }
    i->twice_at = c->at;
    i->twice = twice;
    return twice;
}

static bool find_shared(gpuc_expr e, void *arg)
{
    chain *c = arg;
    seen_info *i = gpuc_map_get(&c->seen, e);
    if (!i || i->walked == c->at || gpuc_map_has(&c->named, e)) return true;
    i->walked = c->at;
    if (i->last > c->item && may_be_named(c, e, i) && is_printed_twice(c, i))
        gpuc_ptrs_push(c->m.ctx, c->list, (void *)e);
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(c->m.ctx, e, &operands);
    for (int k = 0; k < operands.n; k++) find_shared(operands.at[k], c);
    return true;
}

static gpuc_expr with_names(chain *c, gpuc_expr e)
{
    return c->named.count && e ? gpuc_tir_map(&c->m, e) : e;
}

/* forms: those of the list, in the order of their names, as they are with the names around the link. */
static gpuc_hoist_names bind_shared(chain *c, const gpuc_ptrs *list, const gpuc_hoist_placed *forms)
{
    gpuc_hoist_names out = {gpuc_new_array(c->m.ctx, gpuc_hoist_name, list->count), list->count};
    for (size_t k = 0; k < list->count; k++) {
        gpuc_expr e = list->at[forms[k].at];
        out.at[k] = gpuc_lower_hoist_name(c->h, forms[k].e, gpuc_tir_map(&c->m, e));
        gpuc_map_set(&c->m.memo, e, (void *)out.at[k].var);
        gpuc_map_set(&c->named, e, (void *)out.at[k].var);
    }
    return out;
}

/* Names around the link what it shares with what is below; then the mapper puts these names into expressions. */
static void name_shared(chain *c, link *l)
{
    gpuc_ctx *ctx = c->m.ctx;
    gpuc_ptrs list = {0};
    c->list = &list;
    gpuc_tir_mapper_init(&c->m, ctx, map_named, NULL);
    for (int k = l->first; k < l->end; k++) for_item(c, k, find_shared);
    if (list.count == 0) return;
    gpuc_hoist_placed *forms = gpuc_new_array(ctx, gpuc_hoist_placed, list.count);
    for (size_t k = 0; k < list.count; k++) forms[k] = (gpuc_hoist_placed){with_names(c, list.at[k]), k};
    qsort(forms, list.count, sizeof *forms, gpuc_lower_hoist_by_depth);
    gpuc_lower_hoist_limit(c->h, &list.count);
    gpuc_tir_mapper_init(&c->m, ctx, map_named, NULL);
    l->around = bind_shared(c, &list, forms);
    c->h->nesting += (uint32_t)l->around.num;
}

static gpuc_stmt stmt_with_names(chain *c, gpuc_stmt s)
{
    return c->named.count ? gpuc_tir_map_stmt(&c->m, s) : s;
}

static bool is_let(const chain *c, int k)
{
    return k < c->num_links && c->links[k].s->kind == GPUC_STMT_LET;
}

/* The names in a row from link k on, with the body. */
static gpuc_stmt row_of(chain *c, int k, int end, gpuc_stmt body)
{
    while (end-- > k) {
        const gpuc_tir_let_node *n = gpuc_as_let(c->links[end].s);
        body = gpuc_tir_let(c->m.ctx, n->var, with_names(c, n->value), body);
    }
    return body;
}

/* Names what the values of a row of names, which begins with link k, use twice. If that changes values below the first,
 * the chain ends here: *rest is the row with all that follows. */
static void hoist_row(chain *c, int k, gpuc_stmt *rest)
{
    link *l = &c->links[k];
    int end = k + 1;
    while (is_let(c, end)) end++;
    gpuc_stmt body = gpuc_lower_hoist_last(c->links[end - 1].s), row = row_of(c, k, end, body);
    gpuc_tir_mapper m;
    l->value = gpuc_as_let(row)->value;
    l->own = gpuc_lower_hoist_uses(c->h, row, &m);
    if (l->own.num == 0) return;
    c->h->nesting += (uint32_t)l->own.num;
    l->value = gpuc_tir_map(&m, l->value);
    bool same = l->value->kind != GPUC_EXPR_VAR;
    for (gpuc_stmt s = gpuc_as_let(row)->body; s != body && same; s = gpuc_as_let(s)->body) {
        gpuc_expr value = gpuc_as_let(s)->value;
        same = value->kind != GPUC_EXPR_VAR && gpuc_tir_map(&m, value) == value;
    }
    if (!same) *rest = gpuc_lower_hoist_map_own(&m, row_of(c, k, end, stmt_with_names(c, body)));
}

static void hoist_condition(chain *c, link *l)
{
    gpuc_tir_mapper m;
    l->value = with_names(c, gpuc_as_if(l->s)->cond);
    gpuc_stmt s = gpuc_tir_if_(c->m.ctx, l->value, gpuc_as_if(l->s)->then_body, NULL);
    if (s->kind != GPUC_STMT_IF) return;
    l->own = gpuc_lower_hoist_uses(c->h, s, &m);
    if (l->own.num == 0) return;
    l->value = gpuc_tir_map(&m, l->value);
    c->h->nesting += (uint32_t)l->own.num;
}

/* The link around what has become of the statement that it ends with. */
static gpuc_stmt close_link(gpuc_ctx *ctx, const link *l, gpuc_stmt last)
{
    switch (l->s->kind) {
    case GPUC_STMT_LET: return gpuc_tir_let(ctx, gpuc_as_let(l->s)->var, l->value, last);
    case GPUC_STMT_SEQ: {
        int n = l->end - l->first;
        l->in_front[n] = last;
        return gpuc_tir_seq(ctx, n + 1, l->in_front);
    }
    case GPUC_STMT_IF: return gpuc_tir_if_(ctx, l->value, last, NULL);
    case GPUC_STMT_ALLOC: return gpuc_tir_alloc(ctx, gpuc_as_alloc(l->s)->buffer, last);
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(l->s);
        return gpuc_tir_attr(ctx, n->key, n->text, l->value, n->reducer, last);
    }
    case GPUC_STMT_FOR:
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return last;
}

gpuc_stmt gpuc_lower_hoist_chain(gpuc_hoister *h, gpuc_stmt s, bool uses)
{
    chain c;
    uint32_t nesting = h->nesting;
    survey_chain(&c, h, s);
    gpuc_stmt rest = NULL;
    int n = 0;
    while (n < c.num_links && !rest) {
        link *l = &c.links[n];
        c.at = ++n;
        name_shared(&c, l);
        if (l->s->kind == GPUC_STMT_LET && (n == 1 ? uses : !is_let(&c, n - 2)))
            hoist_row(&c, n - 1, &rest);
        else if (l->s->kind == GPUC_STMT_LET)
            l->value = with_names(&c, gpuc_as_let(l->s)->value);
        else if (l->s->kind == GPUC_STMT_IF)
            hoist_condition(&c, l);
        else if (l->s->kind == GPUC_STMT_ATTR)
            l->value = with_names(&c, gpuc_as_attr(l->s)->value);
        if (l->s->kind != GPUC_STMT_SEQ) continue;
        l->in_front = gpuc_new_array(h->ctx, gpuc_stmt, l->end - l->first + 1);
        for (int k = l->first; k < l->end; k++)
            l->in_front[k - l->first] = gpuc_lower_hoist(h, stmt_with_names(&c, c.items[k].s));
    }
    gpuc_stmt out;
    if (rest) { /* its first name, if it is still there, was seen */
        link *l = &c.links[--n];
        out = rest->kind == GPUC_STMT_LET ? gpuc_lower_hoist_below(h, rest) : gpuc_lower_hoist(h, rest);
        out = gpuc_lower_hoist_wrap(h->ctx, &l->around, gpuc_lower_hoist_wrap(h->ctx, &l->own, out));
    } else {
        out = gpuc_lower_hoist(h, stmt_with_names(&c, c.end));
    }
    while (n-- > 0) {
        link *l = &c.links[n];
        out = gpuc_lower_hoist_wrap(h->ctx, &l->own, close_link(h->ctx, l, out));
        out = gpuc_lower_hoist_wrap(h->ctx, &l->around, out);
    }
    h->nesting = nesting;
    return out;
}
