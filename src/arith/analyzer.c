/* SPDX-License-Identifier: Apache-2.0 */
/* What is known: ranges, values, facts; memory and memo tables. */
#include "arith/private.h"

enum { CHUNK_BYTES = 16 << 10, SCRATCH_LIMIT = 4 << 20, FIRST_MEMO = 64 };

void *gpuc_arith_pool_alloc(gpuc_ctx *ctx, arith_pool *pool, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    pool->spent += size;
    if (pool->at && pool->used + size <= pool->at->size) {
        void *p = (char *)(pool->at + 1) + pool->used;
        pool->used += size;
        return p;
    }
    arith_chunk *next = pool->at ? pool->at->next : pool->first;
    if (!next || next->size < size) {
        size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        arith_chunk *fresh = gpuc_ctx_alloc(ctx, sizeof *fresh + bytes);
        *fresh = (arith_chunk){.next = next, .size = bytes};
        if (pool->at)
            pool->at->next = fresh;
        else
            pool->first = fresh;
        next = fresh;
    }
    pool->at = next;
    pool->used = size;
    return next + 1;
}

static uint32_t memo_start(const arith_memo *m, gpuc_expr key)
{
    return (uint32_t)(((uint64_t)key->id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->capacity - 1);
}

const arith_memo_entry *gpuc_arith_memo_get(const arith_memo *m, gpuc_expr key, uint32_t gen)
{
    if (m->count == 0) return NULL;
    for (uint32_t i = memo_start(m, key); m->at[i].key; i = (i + 1) & (m->capacity - 1))
        if (m->at[i].key == key) return m->at[i].gen == gen ? &m->at[i] : NULL;
    return NULL;
}

static bool generation_lives(const gpuc_analyzer *a, uint32_t gen)
{
    if (gen == 0 || gen == a->gen) return true;
    for (int i = 0; i < a->num_active; i++)
        if (a->active_gens[i] == gen) return true;
    return false;
}

static void memo_enter(arith_memo *m, const arith_memo_entry *e)
{
    uint32_t i = memo_start(m, e->key);
    while (m->at[i].key && m->at[i].key != e->key) i = (i + 1) & (m->capacity - 1);
    m->count += !m->at[i].key;
    m->at[i] = *e;
}

/* Entries of generations that are over are dropped first; the table grows if that is not enough. */
static void memo_make_room(gpuc_analyzer *a, arith_memo *m)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < m->capacity; i++) live += m->at[i].key && generation_lives(a, m->at[i].gen);
    uint32_t capacity = m->capacity ? m->capacity : FIRST_MEMO;
    while (live >= capacity / 2) capacity *= 2;
    arith_memo old = *m;
    *m = (arith_memo){.at = gpuc_new_array(a->ctx, arith_memo_entry, capacity), .capacity = capacity};
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.at[i].key && generation_lives(a, old.at[i].gen)) memo_enter(m, &old.at[i]);
}

void gpuc_arith_memo_set(gpuc_analyzer *a, arith_memo *m, gpuc_expr key, uint32_t gen, int64_t v0, int64_t v1)
{
    if (m->count >= m->capacity - m->capacity / 3) memo_make_room(a, m);
    memo_enter(m, &(arith_memo_entry){.key = key, .gen = gen, .v = {v0, v1}});
}

static void memo_reset(arith_memo *m)
{
    if (m->count > m->capacity / 4) {
        memset(m->at, 0, sizeof *m->at * m->capacity);
        m->count = 0;
    }
}

int64_t gpuc_arith_gcd(int64_t x, int64_t y)
{
    uint64_t p = x < 0 ? -(uint64_t)x : (uint64_t)x, q = y < 0 ? -(uint64_t)y : (uint64_t)y;
    while (q) {
        uint64_t r = p % q;
        p = q;
        q = r;
    }
    return p > INT64_MAX ? 1 : (int64_t)p;
}

gpuc_analyzer *gpuc_arith_analyzer_create(gpuc_ctx *ctx)
{
    gpuc_analyzer *a = gpuc_new(ctx, gpuc_analyzer);
    a->ctx = ctx;
    a->gen = a->next_gen = 1;
    gpuc_map_init(&a->known_at, ctx);
    return a;
}

/* Facts have changed for good: everything remembered is void. */
static void new_generation(gpuc_analyzer *a)
{
    a->gen = ++a->next_gen;
    arith_memo *tables[] = {&a->polys, &a->simplified, &a->bounds, &a->modulars};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) memo_reset(tables[i]);
    a->scratch.at = NULL;
    a->scratch.used = a->scratch.spent = 0;
}

const arith_known *gpuc_arith_known_get(const gpuc_analyzer *a, gpuc_expr e)
{
    size_t number = (size_t)(uintptr_t)gpuc_map_get(&a->known_at, e);
    return number ? &a->known[number - 1] : NULL;
}

/* A new entry for e that starts with what is known already. */
static arith_known *know(gpuc_analyzer *a, gpuc_expr e)
{
    a->known = gpuc_ctx_grow(a->ctx, a->known, a->num_known, &a->cap_known, sizeof *a->known);
    size_t previous = (size_t)(uintptr_t)gpuc_map_get(&a->known_at, e);
    arith_known *k = &a->known[a->num_known++];
    if (previous) {
        *k = a->known[previous - 1];
    } else {
        gpuc_bounds range = {INT64_MIN, INT64_MAX};
        if (arith_is_int_type(e->dtype)) range = gpuc_arith_type_bounds(e->dtype);
        if (e->dtype.code == GPUC_DTYPE_BOOL) range = (gpuc_bounds){0, 1};
        *k = (arith_known){.e = e, .bounds = range, .modular = {1, 0}};
    }
    k->previous = (uint32_t)previous;
    gpuc_map_set(&a->known_at, e, (void *)(uintptr_t)a->num_known);
    return k;
}

static void intersect(gpuc_bounds *b, gpuc_bounds with)
{
    if (with.min > b->min) b->min = with.min;
    if (with.max < b->max) b->max = with.max;
}

static void push_fact(gpuc_analyzer *a, const arith_poly *p)
{
    a->facts = gpuc_ctx_grow(a->ctx, (void *)a->facts, a->num_facts, &a->cap_facts, sizeof *a->facts);
    a->facts[a->num_facts++] = gpuc_arith_poly_copy(a->ctx, &a->facts_memory, p);
}

static void add_linear_fact(gpuc_analyzer *a, const arith_poly *p);

/* What low <= y // c <= high says of y. */
static void tighten_dividend(gpuc_analyzer *a, gpuc_expr x, gpuc_bounds b)
{
    int64_t c, end;
    if (arith_op_of(x) != GPUC_TIR_FLOORDIV || !arith_const(arith_arg(x, 1), &c) || c <= 0) return;
    const arith_poly *y = gpuc_arith_to_poly(a, arith_arg(x, 0));
    if (!gpuc_arith_exact(a, y)) return;
    if (b.min != INT64_MIN && gpuc_i64_mul(b.min, -c, &end))
        add_linear_fact(a, gpuc_arith_poly_shift(a, y, end));
    if (b.max != INT64_MAX && gpuc_i64_mul(b.max, c, &end) && gpuc_i64_add(end, c - 1, &end))
        add_linear_fact(a, gpuc_arith_poly_shift(a, gpuc_arith_poly_scale(a, y, -1), end));
}

/* coeff * x + rest >= 0 with rest at most max_rest. */
static void tighten(gpuc_analyzer *a, gpuc_expr x, int64_t coeff, int64_t max_rest)
{
    if (max_rest == INT64_MAX || max_rest == INT64_MIN || coeff == INT64_MIN) return;
    gpuc_bounds b = {INT64_MIN, INT64_MAX}, now = gpuc_arith_bounds(a, x);
    if (coeff > 0)
        b.min = -gpuc_floordiv(max_rest, coeff);
    else
        b.max = gpuc_floordiv(max_rest, -coeff);
    if (b.min <= now.min && b.max >= now.max) return;
    arith_known *k = know(a, x);
    intersect(&k->bounds, now);
    intersect(&k->bounds, b);
    tighten_dividend(a, x, b);
}

/* A product of sizes that is not 0 has no 0 in it. */
static void tighten_factors(gpuc_analyzer *a, const arith_term *t, int64_t max_rest)
{
    if (t->coeff <= 0 || max_rest >= 0) return;
    for (int i = 0; i < t->n; i++)
        if (gpuc_arith_bounds(a, t->atom[i]).min < 0) return;
    for (int i = 0; i < t->n; i++) tighten(a, t->atom[i], 1, -1);
}

static void add_linear_fact(gpuc_analyzer *a, const arith_poly *p)
{
    if (!p || p->n == 0 || a->depth > ARITH_MAX_DEPTH || !gpuc_arith_exact(a, p)) return;
    a->depth++;
    if (p->n > 1 || p->at[0].n > 1) push_fact(a, p);
    for (int i = 0; i < p->n; i++) {
        const arith_poly *rest =
            gpuc_arith_poly_add(a, p, gpuc_arith_poly_term(a, p, &p->at[i], -1, p->at[i].coeff), -1);
        if (rest && p->at[i].n != 1) {
            tighten_factors(a, &p->at[i], gpuc_arith_poly_bounds(a, rest).max);
            continue;
        }
        if (rest) tighten(a, p->at[i].atom[0], p->at[i].coeff, gpuc_arith_poly_bounds(a, rest).max);
    }
    a->depth--;
}

static void know_truth(gpuc_analyzer *a, gpuc_expr cond, bool value)
{
    if (cond->kind == GPUC_EXPR_INT) return;
    know(a, cond)->bounds = (gpuc_bounds){value, value};
}

static void know_modular(gpuc_analyzer *a, gpuc_expr x, gpuc_expr y)
{
    int64_t c, r;
    if (arith_op_of(x) != GPUC_TIR_FLOORMOD || !arith_const(arith_arg(x, 1), &c) || !arith_const(y, &r))
        return;
    gpuc_expr e = arith_arg(x, 0);
    if (c <= 1 || e->kind == GPUC_EXPR_INT) return;
    gpuc_modular now = gpuc_arith_modular(a, e);
    if (now.coeff == 0 || (now.coeff != 1 && c % now.coeff != 0)) return;
    know(a, e)->modular = (gpuc_modular){c, gpuc_floormod(r, c)};
}

static void assume(gpuc_analyzer *a, gpuc_expr cond, bool value);

static void assume_comparison(gpuc_analyzer *a, gpuc_tir_op op, gpuc_expr x, gpuc_expr y, bool value)
{
    if (!value && (op == GPUC_TIR_LT || op == GPUC_TIR_LE)) {
        gpuc_expr swap = x;
        x = y;
        y = swap;
        op = op == GPUC_TIR_LT ? GPUC_TIR_LE : GPUC_TIR_LT;
    }
    bool equal = op == GPUC_TIR_EQ ? value : op == GPUC_TIR_NE ? !value : false;
    if ((op == GPUC_TIR_EQ || op == GPUC_TIR_NE) && !equal) {
        const arith_poly *d = gpuc_arith_difference(a, y, x);
        if (!d || d->n != 1 || d->at[0].n != 1) return;
        gpuc_bounds b = gpuc_arith_poly_bounds(a, d); /* x != an end of its range */
        if (b.min == 0) add_linear_fact(a, gpuc_arith_poly_shift(a, d, -1));
        if (b.max == 0) add_linear_fact(a, gpuc_arith_poly_shift(a, gpuc_arith_poly_scale(a, d, -1), -1));
        return;
    }
    const arith_poly *d = gpuc_arith_difference(a, y, x);
    if (d) add_linear_fact(a, op == GPUC_TIR_LT ? gpuc_arith_poly_shift(a, d, -1) : d);
    if (!equal) return;
    if (d) add_linear_fact(a, gpuc_arith_poly_scale(a, d, -1));
    know_modular(a, x, y);
    know_modular(a, y, x);
}

static void assume_operator(gpuc_analyzer *a, gpuc_expr cond, bool value)
{
    gpuc_tir_op op = arith_op_of(cond);
    if (op == GPUC_TIR_NOT) {
        assume(a, arith_arg(cond, 0), !value);
    } else if (op == (value ? GPUC_TIR_AND : GPUC_TIR_OR)) {
        assume(a, arith_arg(cond, 0), value);
        assume(a, arith_arg(cond, 1), value);
    } else if ((op == GPUC_TIR_LT || op == GPUC_TIR_LE || op == GPUC_TIR_EQ || op == GPUC_TIR_NE) &&
               arith_is_scalar_int(arith_arg(cond, 0))) {
        assume_comparison(a, op, arith_arg(cond, 0), arith_arg(cond, 1), value);
    }
}

static void assume(gpuc_analyzer *a, gpuc_expr cond, bool value)
{
    if (cond->dtype.lanes != 1 || a->depth > ARITH_MAX_DEPTH) return;
    a->depth++;
    gpuc_expr simple = gpuc_arith_simplify_nested(a, cond);
    assume_operator(a, simple, value);
    if (simple->kind != GPUC_EXPR_INT) {
        know_truth(a, cond, value);
        if (simple != cond) know_truth(a, simple, value);
    }
    a->depth--;
}

static size_t open_scope(gpuc_analyzer *a)
{
    a->scopes = gpuc_ctx_grow(a->ctx, a->scopes, a->num_scopes, &a->cap_scopes, sizeof *a->scopes);
    a->scopes[a->num_scopes] =
        (struct arith_scope){a->num_known, a->num_facts, arith_pool_save(&a->facts_memory)};
    return a->num_scopes++;
}

static void close_scopes(gpuc_analyzer *a, size_t mark)
{
    if (mark >= a->num_scopes) return;
    struct arith_scope s = a->scopes[mark];
    while (a->num_known > s.known) {
        const arith_known *k = &a->known[--a->num_known];
        gpuc_map_set(&a->known_at, k->e, (void *)(uintptr_t)k->previous);
    }
    a->num_facts = s.facts;
    arith_pool_restore(&a->facts_memory, s.memory);
    a->num_scopes = mark;
}

/* A raise through an earlier call may have left its traces, and facts of its own. */
void gpuc_arith_begin(gpuc_analyzer *a)
{
    a->depth = a->contexts = a->steps = 0;
    a->num_active = 0;
    if (a->num_scopes > a->settled) {
        close_scopes(a, a->settled);
        new_generation(a);
    }
    if (a->scratch.spent > SCRATCH_LIMIT) new_generation(a);
}

bool gpuc_arith_enter(gpuc_analyzer *a, gpuc_expr cond, bool value, arith_context *out)
{
    if (a->contexts >= ARITH_MAX_CONTEXTS || a->num_active >= ARITH_MAX_CONTEXTS || a->num_active >= 12)
        return false;
    a->contexts++;
    out->gen = a->gen;
    a->active_gens[a->num_active++] = a->gen;
    a->gen = ++a->next_gen;
    out->mark = open_scope(a);
    assume(a, cond, value);
    a->gen = ++a->next_gen; /* what assume itself remembered was with fewer facts */
    return true;
}

void gpuc_arith_leave(gpuc_analyzer *a, arith_context c)
{
    close_scopes(a, c.mark);
    a->gen = c.gen;
    a->num_active--;
}

static void settle(gpuc_analyzer *a)
{
    a->settled = a->num_scopes;
    new_generation(a);
}

void gpuc_arith_analyzer_bind(gpuc_analyzer *a, gpuc_expr var, gpuc_expr min, gpuc_expr extent)
{
    gpuc_arith_begin(a);
    open_scope(a);
    gpuc_expr lo = gpuc_arith_simplify_nested(a, min);
    gpuc_expr end = gpuc_add(a->ctx, min, extent);
    gpuc_expr hi = gpuc_arith_simplify_nested(a, gpuc_sub(a->ctx, end, gpuc_imm_int(a->ctx, end->dtype, 1)));
    if (lo->dtype.bits != var->dtype.bits)
        lo = gpuc_arith_simplify_nested(a, gpuc_cast(a->ctx, var->dtype, lo));
    if (hi->dtype.bits != var->dtype.bits)
        hi = gpuc_arith_simplify_nested(a, gpuc_cast(a->ctx, var->dtype, hi));
    gpuc_bounds range = {gpuc_arith_bounds(a, lo).min, gpuc_arith_bounds(a, hi).max};
    if (range.min <= range.max) {
        /* The range is not empty, whatever the extent's symbols are. */
        gpuc_expr some = gpuc_le(a->ctx, gpuc_imm_int(a->ctx, extent->dtype, 1), extent);
        if (extent->kind != GPUC_EXPR_INT) assume(a, some, true);
    }
    arith_known *k = know(a, var);
    k->bounds = gpuc_arith_type_bounds(var->dtype);
    intersect(&k->bounds, range);
    if (k->bounds.min > k->bounds.max) k->bounds = (gpuc_bounds){range.min, range.min};
    k->modular = (gpuc_modular){1, 0};
    k->min = lo->kind == GPUC_EXPR_INT ? NULL : lo;
    k->max = hi->kind == GPUC_EXPR_INT ? NULL : hi;
    if (k->min || k->max) { /* the proof replaces a variable by either end */
        k->min = lo;
        k->max = hi;
    }
    k->value = lo == hi ? lo : NULL;
    settle(a);
}

gpuc_expr gpuc_arith_analyzer_value(const gpuc_analyzer *a, gpuc_expr var)
{
    const arith_known *k = gpuc_arith_known_get(a, var);
    return k ? k->value : NULL;
}

void gpuc_arith_analyzer_bind_value(gpuc_analyzer *a, gpuc_expr var, gpuc_expr value)
{
    gpuc_arith_begin(a);
    open_scope(a);
    value = gpuc_arith_simplify_nested(a, value);
    gpuc_bounds b = gpuc_arith_bounds(a, value);
    gpuc_modular m = arith_is_scalar_int(value) ? gpuc_arith_modular(a, value) : (gpuc_modular){1, 0};
    arith_known *k = know(a, var);
    *k = (arith_known){.e = var, .previous = k->previous, .bounds = b, .modular = m, .value = value};
    settle(a);
}

size_t gpuc_arith_analyzer_assume(gpuc_analyzer *a, gpuc_expr cond)
{
    gpuc_arith_begin(a);
    size_t mark = open_scope(a);
    assume(a, cond, true);
    settle(a);
    return mark;
}

size_t gpuc_arith_analyzer_mark(const gpuc_analyzer *a)
{
    return a->settled;
}

void gpuc_arith_analyzer_rewind(gpuc_analyzer *a, size_t mark)
{
    gpuc_arith_begin(a);
    if (mark >= a->num_scopes) return;
    close_scopes(a, mark);
    settle(a);
}
