/* SPDX-License-Identifier: Apache-2.0 */
#include "random_graph.h"

#include <math.h>
#include <string.h>

#include "../relay/fixture.h"

enum { MAX_ELEMENTS = 3000, MAX_WORK = 200000, MAX_SORTED = 300, LETTERS = 4 }; /* the evaluator is slow */

typedef struct maker {
    graph *g;
    fx_rng r;
    int64_t extent[LETTERS]; /* of the symbols A, B, ... */
} maker;

static int below(maker *m, int n)
{
    return fx_below(&m->r, n);
}

static bool chance(maker *m, int of)
{
    return below(m, of) == 0;
}

/* ---- Values ---- */

static graph_value *value_at(maker *m, int v)
{
    return &m->g->values[v];
}

static int64_t elements(int ndim, const int64_t *dims)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) n *= dims[d];
    return n;
}

static int new_value(maker *m, graph_kind kind, graph_type type, int ndim, const int64_t *dims)
{
    graph_value *v = &m->g->values[m->g->num_values];
    *v = (graph_value){.kind = kind, .type = type, .ndim = ndim, .max = 1, .exact = true};
    for (int d = 0; d < ndim; d++) v->dims[d] = dims[d];
    return m->g->num_values++;
}

static int weights(maker *m, int ndim, const int64_t *dims, bool positive)
{
    int v = new_value(m, GRAPH_CONSTANT, GRAPH_FLOAT, ndim, dims);
    value_at(m, v)->positive = positive;
    value_at(m, v)->max = positive ? 1.5 : 1;
    return v;
}

static int list(maker *m, int n, const int64_t *numbers)
{
    int64_t dims[] = {n};
    int v = new_value(m, GRAPH_LISTED, GRAPH_INT64, 1, dims);
    memcpy(value_at(m, v)->list, numbers, sizeof *numbers * (size_t)n);
    for (int i = 0; i < n; i++) value_at(m, v)->max = fmax(value_at(m, v)->max, fabs((double)numbers[i]));
    return v;
}

static int new_input(maker *m, graph_type type)
{
    static const int64_t plain[] = {1, 2, 3, 4, 5, 8, 16};
    int64_t dims[GRAPH_RANK];
    char letter[GRAPH_RANK] = {0};
    int ndim = below(m, 5);
    for (int d = 0; d < ndim; d++) {
        int symbol = below(m, LETTERS);
        bool open = chance(m, 2);
        dims[d] = open ? m->extent[symbol] : plain[below(m, 7)];
        if (elements(d + 1, dims) > MAX_ELEMENTS / 2) dims[d] = 1, open = false;
        if (open) letter[d] = (char)('A' + symbol);
    }
    int v = new_value(m, GRAPH_INPUT, type, ndim, dims);
    memcpy(value_at(m, v)->letter, letter, sizeof letter);
    if (type == GRAPH_INT64) value_at(m, v)->max = 4;
    return v;
}

/* A random value that has the type and rank; -1: there is none. Young ones more often, so that graphs are
 * deep. */
static int pick(maker *m, graph_type type, int min_rank, int max_rank)
{
    int found[GRAPH_VALUES], n = 0;
    for (int i = 0; i < m->g->num_values; i++) {
        const graph_value *v = value_at(m, i);
        if ((v->kind == GRAPH_INPUT || v->kind == GRAPH_MADE) && v->type == type && v->ndim >= min_rank &&
            v->ndim <= max_rank)
            found[n++] = i;
    }
    if (n == 0) return -1;
    int a = below(m, n), b = below(m, n);
    return found[a > b ? a : b];
}

static int pick_float(maker *m)
{
    return pick(m, GRAPH_FLOAT, 0, GRAPH_RANK);
}

/* ---- Nodes ---- */

static graph_node *begin(maker *m, const char *op)
{
    graph_node *n = &m->g->nodes[m->g->num_nodes++];
    *n = (graph_node){.op = op};
    return n;
}

static void reads(graph_node *n, int v)
{
    n->in[n->n_in++] = v;
}

static graph_node *begin1(maker *m, const char *op, int x)
{
    graph_node *n = begin(m, op);
    reads(n, x);
    return n;
}

static int makes(maker *m, graph_node *n, graph_type type, int ndim, const int64_t *dims, double max,
                 bool exact)
{
    int v = new_value(m, GRAPH_MADE, type, ndim, dims);
    value_at(m, v)->max = max;
    value_at(m, v)->exact = exact;
    n->out[n->n_out++] = v;
    return v;
}

/* The same elements, in another shape or order. */
static int moves(maker *m, graph_node *n, int x, int ndim, const int64_t *dims)
{
    graph_value v = *value_at(m, x);
    return makes(m, n, v.type, ndim, dims, v.max, v.exact);
}

static int like(maker *m, graph_node *n, int x, double max, bool exact)
{
    graph_value v = *value_at(m, x);
    return makes(m, n, v.type, v.ndim, v.dims, max, exact);
}

static void attr(graph_node *n, const char *format, ...)
{
    va_list args;
    size_t used = strlen(n->attrs);
    va_start(args, format);
    vsnprintf(n->attrs + used, sizeof n->attrs - used, format, args);
    va_end(args);
}

static void attr_ints(graph_node *n, const char *name, int count_of_them, const int64_t *v)
{
    attr(n, "%s%s=[", *n->attrs ? " " : "", name);
    for (int i = 0; i < count_of_them; i++) attr(n, "%s%lld", i ? ", " : "", (long long)v[i]);
    attr(n, "]");
}

static void attr_int(graph_node *n, const char *name, int64_t v)
{
    attr(n, "%s%s=%lld", *n->attrs ? " " : "", name, (long long)v);
}

/* ---- Elementwise ---- */

static bool unary(maker *m)
{
    static const struct {
        const char *op, *attrs;
        double up_to, max, grows; /* arguments; results, or 0: grows times as large */
        bool exact, wants_exact;
    } ops[] = {
        {"Relu", "", 0, 0, 1, true, false},
        {"Neg", "", 0, 0, 1, true, false},
        {"Abs", "", 0, 0, 1, true, false},
        {"Sigmoid", "", 0, 1, 0, false, false},
        {"Tanh", "", 0, 1, 0, false, false},
        {"Exp", "", 4, 60, 0, false, false},
        {"Erf", "", 0, 1, 0, false, false},
        {"Softplus", "", 100, 0, 2, false, false},
        {"Softsign", "", 0, 1, 0, false, false},
        {"LeakyRelu", "alpha=0.125", 0, 0, 1, false, false},
        {"Elu", "alpha=1.5", 0, 0, 1.5, false, false},
        {"Selu", "", 0, 0, 2, false, false},
        {"HardSigmoid", "alpha=0.3 beta=0.4", 0, 1, 0, false, false},
        {"HardSwish", "", 0, 0, 1, false, false},
        {"Sin", "", 100, 1, 0, false, false},
        {"Cos", "", 100, 1, 0, false, false},
        {"Atan", "", 0, 2, 0, false, false},
        {"Floor", "", 0, 0, 1, true, true},
        {"Ceil", "", 0, 0, 1, true, true},
        {"Round", "", 0, 0, 1, true, true},
        {"Sign", "", 0, 1, 0, true, true},
    };
    int x = pick_float(m), k = below(m, sizeof ops / sizeof *ops);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    if ((ops[k].up_to > 0 && v.max > ops[k].up_to) || (ops[k].wants_exact && !v.exact)) return false;
    graph_node *n = begin1(m, ops[k].op, x);
    attr(n, "%s", ops[k].attrs);
    double max = ops[k].max > 0 ? ops[k].max : v.max * ops[k].grows;
    like(m, n, x, fmax(max, 1), v.exact && ops[k].exact);
    return true;
}

static bool square_root(maker *m)
{
    int x = pick_float(m);
    if (x < 0) return false;
    graph_node *n = begin1(m, "Abs", x);
    int a = like(m, n, x, value_at(m, x)->max, value_at(m, x)->exact);
    like(m, begin1(m, "Sqrt", a), a, fmax(1, sqrt(value_at(m, a)->max)), false);
    return true;
}

static bool clip(maker *m)
{
    int x = pick_float(m);
    if (x < 0) return false;
    int lo = weights(m, 0, NULL, false), hi = weights(m, 0, NULL, true);
    graph_node *n = begin1(m, "Clip", x);
    reads(n, chance(m, 3) ? -1 : lo);
    if (!chance(m, 3)) reads(n, hi);
    like(m, n, x, fmax(1.5, value_at(m, x)->max), value_at(m, x)->exact);
    return true;
}

/* The shape of both together; false: there is none. */
static bool broadcast(const graph_value *a, const graph_value *b, int *ndim, int64_t *dims)
{
    *ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int d = 0; d < *ndim; d++) {
        int i = d - (*ndim - a->ndim), k = d - (*ndim - b->ndim);
        int64_t x = i < 0 ? 1 : a->dims[i], y = k < 0 ? 1 : b->dims[k];
        if (x != y && x != 1 && y != 1) return false;
        dims[d] = x == 1 ? y : x;
    }
    return elements(*ndim, dims) <= MAX_ELEMENTS;
}

/* A constant that broadcasts against x: of one element, a row, a channel, or the whole. */
static int partner(maker *m, int x, bool positive)
{
    graph_value v = *value_at(m, x);
    int64_t dims[GRAPH_RANK];
    int ndim = below(m, v.ndim + 1);
    for (int d = 0; d < ndim; d++) dims[d] = chance(m, 3) ? 1 : v.dims[v.ndim - ndim + d];
    return weights(m, ndim, dims, positive);
}

static int other(maker *m, int x, graph_type type)
{
    int ndim;
    int64_t dims[GRAPH_RANK];
    for (int tries = 0; tries < 6; tries++) {
        int y = pick(m, type, 0, GRAPH_RANK);
        if (y >= 0 && broadcast(value_at(m, x), value_at(m, y), &ndim, dims)) return y;
    }
    return -1;
}

static bool binary(maker *m)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Min", "Div", "PRelu"};
    int k = below(m, 7), x = pick_float(m), ndim;
    int64_t dims[GRAPH_RANK];
    if (x < 0) return false;
    int y = k >= 5 || chance(m, 3) ? partner(m, x, k == 5) : other(m, x, GRAPH_FLOAT);
    if (y < 0 || !broadcast(value_at(m, x), value_at(m, y), &ndim, dims)) return false;
    graph_value a = *value_at(m, x), b = *value_at(m, y);
    double max = k == 0 || k == 1   ? a.max + b.max
                 : k == 2           ? a.max * b.max
                 : k == 3 || k == 4 ? fmax(a.max, b.max)
                                    : 2 * a.max;
    if (max > 1e4) return false;
    bool swap = k < 5 && chance(m, 2);
    graph_node *n = begin1(m, ops[k], swap ? y : x);
    reads(n, swap ? x : y);
    makes(m, n, GRAPH_FLOAT, ndim, dims, max, a.exact && b.exact && (k == 3 || k == 4));
    return true;
}

static bool integers(maker *m)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Min"};
    int x = pick(m, GRAPH_INT64, 0, GRAPH_RANK), ndim, k = below(m, 5);
    int64_t dims[GRAPH_RANK];
    int y = x < 0 ? -1 : other(m, x, GRAPH_INT64);
    if (y < 0 || !broadcast(value_at(m, x), value_at(m, y), &ndim, dims)) return false;
    graph_value a = *value_at(m, x), b = *value_at(m, y);
    double max = k == 2 ? a.max * b.max : a.max + b.max;
    if (max > 1e6) return false;
    graph_node *n = begin1(m, ops[k], x);
    reads(n, y);
    makes(m, n, GRAPH_INT64, ndim, dims, max, true);
    return true;
}

static bool compare(maker *m)
{
    static const char *const ops[] = {"Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"};
    graph_type type = chance(m, 3) ? GRAPH_INT64 : GRAPH_FLOAT;
    int x = pick(m, type, 0, GRAPH_RANK), y = x < 0 ? -1 : other(m, x, type), ndim;
    int64_t dims[GRAPH_RANK];
    if (y < 0 || !value_at(m, x)->exact || !value_at(m, y)->exact ||
        !broadcast(value_at(m, x), value_at(m, y), &ndim, dims))
        return false;
    graph_node *n = begin1(m, ops[below(m, 5)], x);
    reads(n, y);
    makes(m, n, GRAPH_BOOL, ndim, dims, 1, true);
    return true;
}

static bool where(maker *m)
{
    int c = pick(m, GRAPH_BOOL, 0, GRAPH_RANK), x = pick_float(m), ndim;
    int64_t dims[GRAPH_RANK];
    if (c < 0 || x < 0) return false;
    int y = chance(m, 2) ? partner(m, x, false) : other(m, x, GRAPH_FLOAT);
    if (y < 0) return false;
    graph_value a = *value_at(m, x), b = *value_at(m, y), both = {.ndim = 0};
    if (!broadcast(&a, &b, &both.ndim, both.dims) || !broadcast(&both, value_at(m, c), &ndim, dims))
        return false;
    graph_node *n = begin1(m, "Where", c);
    reads(n, x);
    reads(n, y);
    makes(m, n, GRAPH_FLOAT, ndim, dims, fmax(a.max, b.max), a.exact && b.exact);
    return true;
}

static bool logic(maker *m)
{
    static const char *const ops[] = {"And", "Or", "Xor", "Not"};
    int x = pick(m, GRAPH_BOOL, 0, GRAPH_RANK), y = x < 0 ? -1 : other(m, x, GRAPH_BOOL), k = below(m, 4),
        ndim;
    int64_t dims[GRAPH_RANK];
    if (y < 0) return false;
    if (k == 3) y = x;
    if (!broadcast(value_at(m, x), value_at(m, y), &ndim, dims)) return false;
    graph_node *n = begin1(m, ops[k], x);
    if (k < 3) reads(n, y);
    makes(m, n, GRAPH_BOOL, ndim, dims, 1, true);
    return true;
}

static bool cast(maker *m)
{
    static const graph_type types[] = {GRAPH_FLOAT, GRAPH_INT64, GRAPH_BOOL};
    graph_type from = types[below(m, 3)], to = types[below(m, 3)];
    int x = pick(m, from, 0, GRAPH_RANK);
    if (x < 0 || from == to || !value_at(m, x)->exact) return false;
    graph_value v = *value_at(m, x);
    graph_node *n = begin1(m, "Cast", x);
    attr_int(n, "to", to);
    makes(m, n, to, v.ndim, v.dims, v.max, true);
    return true;
}

/* ---- Movement ---- */

static int pick_any(maker *m, int min_rank, int max_rank)
{
    static const graph_type types[] = {GRAPH_FLOAT, GRAPH_FLOAT, GRAPH_FLOAT, GRAPH_INT64, GRAPH_BOOL};
    return pick(m, types[below(m, 5)], min_rank, max_rank);
}

static bool transpose(maker *m)
{
    int x = pick_any(m, 2, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t perm[GRAPH_RANK], dims[GRAPH_RANK];
    for (int d = 0; d < v.ndim; d++) perm[d] = d;
    for (int d = v.ndim - 1; d > 0; d--) {
        int k = below(m, d + 1);
        int64_t t = perm[d];
        perm[d] = perm[k];
        perm[k] = t;
    }
    for (int d = 0; d < v.ndim; d++) dims[d] = v.dims[perm[d]];
    graph_node *n = begin1(m, "Transpose", x);
    attr_ints(n, "perm", v.ndim, perm);
    moves(m, n, x, v.ndim, dims);
    return true;
}

static bool reshape(maker *m)
{
    int x = pick_any(m, 1, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t dims[GRAPH_RANK], said[GRAPH_RANK];
    int ndim = 0, split = below(m, v.ndim), inferred = -1;
    if (chance(m, 2) && v.ndim > 1) { /* two become one */
        split = below(m, v.ndim - 1);
        for (int d = 0; d < v.ndim; d++) {
            said[ndim] = d < split ? 0 : v.dims[d]; /* 0: as it was */
            dims[ndim++] = v.dims[d];
            if (d != split) continue;
            dims[ndim - 1] = said[ndim - 1] = v.dims[d] * v.dims[d + 1];
            inferred = ndim - 1;
            d++;
        }
    } else {
        static const int64_t factors[] = {1, 2, 3, 4};
        int64_t f = factors[below(m, 4)];
        if (v.dims[split] % f || v.ndim == GRAPH_RANK) return false;
        for (int d = 0; d < v.ndim; d++) {
            said[ndim] = d < split ? 0 : v.dims[d];
            dims[ndim++] = v.dims[d];
            if (d != split) continue;
            dims[ndim - 1] = v.dims[d] / f;
            said[ndim - 1] = dims[ndim - 1];
            inferred = ndim - 1;
            dims[ndim] = said[ndim] = f;
            ndim++;
        }
    }
    if (chance(m, 2)) said[inferred] = -1;
    int shape = list(m, ndim, said);
    graph_node *n = begin1(m, "Reshape", x);
    reads(n, shape);
    moves(m, n, x, ndim, dims);
    return true;
}

static bool flatten(maker *m)
{
    int x = pick_any(m, 1, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim + 1);
    int64_t dims[] = {elements(axis, v.dims), elements(v.ndim - axis, v.dims + axis)};
    graph_node *n = begin1(m, "Flatten", x);
    attr_int(n, "axis", axis);
    moves(m, n, x, 2, dims);
    return true;
}

static bool unsqueeze(maker *m)
{
    int x = pick_any(m, 0, GRAPH_RANK - 1);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int at = below(m, v.ndim + 1);
    int64_t dims[GRAPH_RANK], axis = at;
    for (int d = 0; d <= v.ndim; d++) dims[d] = d < at ? v.dims[d] : d == at ? 1 : v.dims[d - 1];
    int axes = list(m, 1, &axis);
    graph_node *n = begin1(m, "Unsqueeze", x);
    reads(n, axes);
    moves(m, n, x, v.ndim + 1, dims);
    return true;
}

static bool expand(maker *m)
{
    int x = pick_any(m, 0, 4), ndim;
    if (x < 0) return false;
    graph_value v = *value_at(m, x), to = {.ndim = v.ndim + below(m, 2)};
    int64_t dims[GRAPH_RANK];
    for (int d = 0; d < to.ndim; d++) {
        int k = d - (to.ndim - v.ndim);
        to.dims[d] = k >= 0 && v.dims[k] > 1 ? (chance(m, 2) ? v.dims[k] : 1) : 1 + below(m, 5);
    }
    if (!broadcast(&v, &to, &ndim, dims)) return false;
    int shape = list(m, to.ndim, to.dims);
    graph_node *n = begin1(m, "Expand", x);
    reads(n, shape);
    moves(m, n, x, ndim, dims);
    return true;
}

static bool tile(maker *m)
{
    int x = pick_any(m, 1, 4);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t dims[GRAPH_RANK], repeats[GRAPH_RANK];
    for (int d = 0; d < v.ndim; d++) {
        repeats[d] = 1 + below(m, 3);
        dims[d] = v.dims[d] * repeats[d];
    }
    if (elements(v.ndim, dims) > MAX_ELEMENTS) return false;
    int by = list(m, v.ndim, repeats);
    graph_node *n = begin1(m, "Tile", x);
    reads(n, by);
    moves(m, n, x, v.ndim, dims);
    return true;
}

static bool concat(maker *m)
{
    int x = pick_any(m, 1, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim), parts[4] = {x}, num = 1, wanted = 2 + below(m, 3);
    int64_t dims[GRAPH_RANK];
    double max = v.max;
    bool exact = v.exact;
    memcpy(dims, v.dims, sizeof dims);
    for (int tries = 0; tries < 8 && num < wanted; tries++) {
        int y = chance(m, 4) ? x : pick(m, v.type, v.ndim, v.ndim);
        if (y < 0) continue;
        const graph_value *w = value_at(m, y);
        bool fits = true;
        for (int d = 0; d < v.ndim; d++) fits &= d == axis || w->dims[d] == v.dims[d];
        if (!fits) continue;
        parts[num++] = y;
        dims[axis] += w->dims[axis];
        max = fmax(max, w->max);
        exact &= w->exact;
    }
    if (num < 2 || elements(v.ndim, dims) > MAX_ELEMENTS) return false;
    graph_node *n = begin(m, "Concat");
    for (int i = 0; i < num; i++) reads(n, parts[i]);
    attr_int(n, "axis", chance(m, 2) ? axis : axis - v.ndim);
    makes(m, n, v.type, v.ndim, dims, max, exact);
    return true;
}

static bool slice(maker *m)
{
    int x = pick_any(m, 1, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t from[2], to[2], steps[2], axes[2], dims[GRAPH_RANK];
    int num = v.ndim > 1 && chance(m, 2) ? 2 : 1, first = below(m, v.ndim);
    memcpy(dims, v.dims, sizeof dims);
    for (int i = 0; i < num; i++) {
        int axis = (first + i) % v.ndim;
        int64_t extent = v.dims[axis], start = below(m, (int)extent),
                last = start + below(m, (int)(extent - start));
        int64_t step = 1 + (chance(m, 2) ? below(m, 3) : 0), length = (last - start) / step + 1;
        bool back = chance(m, 4), at_end = last == extent - 1 && chance(m, 2);
        axes[i] = axis;
        steps[i] = back ? -step : step;
        from[i] = back ? last : start;
        to[i] = back ? start - 1 : at_end ? INT64_MAX : last + 1;
        if (back && start == 0) to[i] = -extent - 1;
        if (!back && start > 0 && chance(m, 3)) from[i] = start - extent; /* from the end */
        dims[axis] = length;
    }
    int lists[] = {list(m, num, from), list(m, num, to), list(m, num, axes), list(m, num, steps)};
    graph_node *n = begin1(m, "Slice", x);
    for (int i = 0; i < 4; i++) reads(n, lists[i]);
    moves(m, n, x, v.ndim, dims);
    return true;
}

static bool pad(maker *m)
{
    static const char *const modes[] = {"constant", "edge", "reflect"};
    int x = pick(m, GRAPH_FLOAT, 1, 4), mode = below(m, 3);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t pads[2 * GRAPH_RANK] = {0}, dims[GRAPH_RANK];
    for (int d = 0; d < v.ndim; d++) {
        int max = mode == 2 ? (v.dims[d] > 3 ? 3 : (int)v.dims[d] - 1) : 3;
        if (chance(m, 2)) pads[d] = below(m, max + 1);
        if (chance(m, 2)) pads[v.ndim + d] = below(m, max + 1);
        if (mode == 0 && chance(m, 8) && v.dims[d] > 1) pads[d] = -1;
        dims[d] = v.dims[d] + pads[d] + pads[v.ndim + d];
    }
    if (elements(v.ndim, dims) > MAX_ELEMENTS) return false;
    int by = list(m, 2 * v.ndim, pads), with = mode == 0 && chance(m, 2) ? weights(m, 0, NULL, false) : -1;
    graph_node *n = begin1(m, "Pad", x);
    reads(n, by);
    if (with >= 0) reads(n, with);
    attr(n, "mode=%s", modes[mode]);
    moves(m, n, x, v.ndim, dims);
    return true;
}

static bool gather(maker *m)
{
    int x = pick_any(m, 1, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim), num = 1 + below(m, 5);
    int64_t which[GRAPH_LIST], dims[GRAPH_RANK];
    for (int i = 0; i < num; i++) which[i] = below(m, (int)v.dims[axis]) - (chance(m, 3) ? v.dims[axis] : 0);
    memcpy(dims, v.dims, sizeof dims);
    dims[axis] = num;
    if (elements(v.ndim, dims) > MAX_ELEMENTS) return false;
    int indices = list(m, num, which);
    graph_node *n = begin1(m, "Gather", x);
    reads(n, indices);
    attr_int(n, "axis", axis);
    moves(m, n, x, v.ndim, dims);
    return true;
}

static bool split(maker *m)
{
    int x = pick_any(m, 1, GRAPH_RANK);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim);
    if (v.dims[axis] < 2) return false;
    int64_t sizes[2], dims[GRAPH_RANK];
    sizes[0] = 1 + below(m, (int)v.dims[axis] - 1);
    sizes[1] = v.dims[axis] - sizes[0];
    int by = list(m, 2, sizes);
    graph_node *n = begin1(m, "Split", x);
    reads(n, by);
    attr_int(n, "axis", axis);
    memcpy(dims, v.dims, sizeof dims);
    for (int i = 0; i < 2; i++) {
        dims[axis] = sizes[i];
        moves(m, n, x, v.ndim, dims);
    }
    return true;
}

static bool depth_to_space(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 4, 4);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    bool down = v.dims[2] % 2 == 0 && v.dims[3] % 2 == 0;
    if (!down && v.dims[1] % 4) return false;
    int64_t up[] = {v.dims[0], v.dims[1] / 4, v.dims[2] * 2, v.dims[3] * 2},
            less[] = {v.dims[0], v.dims[1] * 4, v.dims[2] / 2, v.dims[3] / 2};
    graph_node *n = begin1(m, down ? "SpaceToDepth" : "DepthToSpace", x);
    attr_int(n, "blocksize", 2);
    if (!down && chance(m, 2)) attr(n, " mode=CRD");
    moves(m, n, x, 4, down ? less : up);
    return true;
}

/* ---- Reductions and order ---- */

static bool reduce(maker *m)
{
    static const char *const ops[] = {"ReduceMax", "ReduceMin",       "ReduceMean",      "ReduceSum",
                                      "ReduceL2",  "ReduceSumSquare", "ReduceLogSumExp", "ReduceL1"};
    int x = pick(m, GRAPH_FLOAT, 1, GRAPH_RANK), k = below(m, 8), ndim = 0, num = 0;
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t axes[GRAPH_RANK], dims[GRAPH_RANK], summed = 1;
    bool keep = chance(m, 2);
    for (int d = 0; d < v.ndim; d++) {
        bool gone = chance(m, 2) || (d == v.ndim - 1 && num == 0);
        if (gone) {
            summed *= v.dims[d];
            axes[num++] = chance(m, 2) ? d : d - v.ndim;
        }
        if (!gone || keep) dims[ndim++] = gone ? 1 : v.dims[d];
    }
    double max = k < 3 ? v.max : k == 5 ? v.max * v.max * (double)summed : v.max * (double)summed + 10;
    if (max > 1e5 || (k == 6 && v.max > 50)) return false;
    int by = k == 3 ? list(m, num, axes) : -1;
    graph_node *n = begin1(m, ops[k], x);
    if (k == 3)
        reads(n, by);
    else
        attr_ints(n, "axes", num, axes);
    attr_int(n, "keepdims", keep);
    makes(m, n, GRAPH_FLOAT, ndim, dims, max, v.exact && k < 2);
    return true;
}

static bool arg_reduce(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 1, GRAPH_RANK);
    if (x < 0 || !value_at(m, x)->exact) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim);
    int64_t dims[GRAPH_RANK];
    memcpy(dims, v.dims, sizeof dims);
    dims[axis] = 1;
    graph_node *n = begin1(m, chance(m, 2) ? "ArgMax" : "ArgMin", x);
    attr_int(n, "axis", axis);
    attr_int(n, "keepdims", 1);
    makes(m, n, GRAPH_INT64, v.ndim, dims, (double)v.dims[axis], true);
    return true;
}

static bool top_k(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 1, 4);
    if (x < 0 || !value_at(m, x)->exact) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim);
    if (elements(v.ndim, v.dims) > MAX_SORTED) return false;
    int64_t dims[GRAPH_RANK], k = 1 + below(m, (int)v.dims[axis]);
    memcpy(dims, v.dims, sizeof dims);
    dims[axis] = k;
    int number = list(m, 1, &k);
    graph_node *n = begin1(m, "TopK", x);
    reads(n, number);
    attr_int(n, "axis", axis);
    attr_int(n, "largest", below(m, 2));
    moves(m, n, x, v.ndim, dims);
    makes(m, n, GRAPH_INT64, v.ndim, dims, (double)v.dims[axis], true);
    return true;
}

static bool cumulate(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 1, 4);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim);
    double max = v.max * (double)v.dims[axis];
    if (max > 1e4) return false;
    int64_t number = axis;
    int along = list(m, 1, &number);
    value_at(m, along)->ndim = 0;
    graph_node *n = begin1(m, "CumSum", x);
    reads(n, along);
    attr_int(n, "exclusive", below(m, 2));
    attr_int(n, "reverse", below(m, 2));
    like(m, n, x, max, false);
    return true;
}

/* ---- Products and windows ---- */

static bool matmul(maker *m)
{
    static const int64_t widths[] = {1, 2, 3, 5, 8, 16, 17, 24, 33};
    int x = pick(m, GRAPH_FLOAT, 2, 4);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t k = v.dims[v.ndim - 1], width = widths[below(m, 9)], shape[] = {k, width}, dims[GRAPH_RANK];
    double max = v.max * (double)k;
    memcpy(dims, v.dims, sizeof dims);
    dims[v.ndim - 1] = width;
    if (max > 1e4 || elements(v.ndim, dims) > MAX_ELEMENTS || elements(v.ndim, dims) * k > MAX_WORK)
        return false;
    int w = weights(m, 2, shape, false);
    graph_node *n = begin1(m, "MatMul", x);
    reads(n, w);
    makes(m, n, GRAPH_FLOAT, v.ndim, dims, max, false);
    return true;
}

/* x times itself transposed, as in attention. */
static bool scores(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 2, 4);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t rows = v.dims[v.ndim - 2], k = v.dims[v.ndim - 1], perm[GRAPH_RANK], turned[GRAPH_RANK],
            dims[GRAPH_RANK];
    double max = v.max * v.max * (double)k;
    for (int d = 0; d < v.ndim; d++) {
        perm[d] = d < v.ndim - 2 ? d : 2 * v.ndim - 3 - d;
        turned[d] = v.dims[perm[d]];
        dims[d] = d == v.ndim - 1 ? rows : v.dims[d];
    }
    if (max > 1e4 || elements(v.ndim, dims) > MAX_ELEMENTS || elements(v.ndim, dims) * k > MAX_WORK)
        return false;
    graph_node *t = begin1(m, "Transpose", x);
    attr_ints(t, "perm", v.ndim, perm);
    int y = moves(m, t, x, v.ndim, turned);
    graph_node *n = begin1(m, "MatMul", x);
    reads(n, y);
    makes(m, n, GRAPH_FLOAT, v.ndim, dims, max, false);
    return true;
}

static bool gemm(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 2, 2);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    bool ta = chance(m, 2), tb = chance(m, 2), bias = chance(m, 2);
    int64_t rows = v.dims[ta], k = v.dims[!ta], width = 1 + below(m, 20), dims[] = {rows, width};
    int64_t shape[] = {tb ? width : k, tb ? k : width};
    double max = v.max * (double)k * 1.5 + 1;
    if (max > 1e4 || rows * width > MAX_ELEMENTS || rows * width * k > MAX_WORK) return false;
    int w = weights(m, 2, shape, false), c = bias ? weights(m, 1, &width, false) : -1;
    graph_node *n = begin1(m, "Gemm", x);
    reads(n, w);
    if (bias) reads(n, c);
    attr_int(n, "transA", ta);
    attr_int(n, "transB", tb);
    attr(n, " alpha=1.5 beta=0.5");
    makes(m, n, GRAPH_FLOAT, 2, dims, max, false);
    return true;
}

typedef struct window {
    int rank;
    int64_t kernel[3], strides[3], dilations[3], pads[6], out[3];
} window;

static bool make_window(maker *m, const graph_value *v, bool dilate, window *w)
{
    w->rank = v->ndim - 2;
    for (int d = 0; d < w->rank; d++) {
        w->kernel[d] = chance(m, 3) ? 1 : 1 + below(m, 4);
        w->strides[d] = chance(m, 2) ? 1 : 1 + below(m, 3);
        w->dilations[d] = dilate && chance(m, 3) ? 2 : 1;
        w->pads[d] = below(m, (int)w->kernel[d]);
        w->pads[w->rank + d] = below(m, (int)w->kernel[d]);
        int64_t reach = (w->kernel[d] - 1) * w->dilations[d] + 1,
                room = v->dims[2 + d] + w->pads[d] + w->pads[w->rank + d] - reach;
        if (room < 0) return false;
        w->out[d] = room / w->strides[d] + 1;
    }
    return true;
}

static void attr_window(graph_node *n, const window *w, bool dilate)
{
    attr_ints(n, "kernel_shape", w->rank, w->kernel);
    attr_ints(n, "strides", w->rank, w->strides);
    attr_ints(n, "pads", 2 * w->rank, w->pads);
    if (dilate) attr_ints(n, "dilations", w->rank, w->dilations);
}

static bool conv(maker *m)
{
    static const int64_t channels[] = {1, 2, 4, 6, 8, 12, 16, 20};
    int x = pick(m, GRAPH_FLOAT, 3, 5);
    window w;
    if (x < 0 || !make_window(m, value_at(m, x), true, &w)) return false;
    graph_value v = *value_at(m, x);
    int64_t c = v.dims[1], group = chance(m, 4) ? c : c % 2 == 0 && chance(m, 4) ? 2 : 1;
    int64_t per = group == c ? 1 + below(m, 2) : channels[below(m, 8)], out = group * per;
    int64_t shape[] = {out, c / group, w.kernel[0], w.kernel[1], w.kernel[2]};
    int64_t dims[] = {v.dims[0], out, w.out[0], w.out[1], w.out[2]};
    int64_t terms = c / group * elements(w.rank, w.kernel);
    double max = v.max * (double)terms + 1;
    if (max > 1e4 || elements(v.ndim, dims) > MAX_ELEMENTS || elements(v.ndim, dims) * terms > MAX_WORK)
        return false;
    bool bias = chance(m, 2);
    int k = weights(m, v.ndim, shape, false), b = bias ? weights(m, 1, &out, false) : -1;
    graph_node *n = begin1(m, "Conv", x);
    reads(n, k);
    if (bias) reads(n, b);
    attr_window(n, &w, true);
    attr_int(n, "group", group);
    makes(m, n, GRAPH_FLOAT, v.ndim, dims, max, false);
    return true;
}

static bool conv_transpose(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 3, 4);
    window w;
    if (x < 0 || !make_window(m, value_at(m, x), false, &w)) return false;
    graph_value v = *value_at(m, x);
    int64_t c = v.dims[1], out = 1 + below(m, 8), shape[] = {c, out, w.kernel[0], w.kernel[1]};
    int64_t dims[] = {v.dims[0], out, 0, 0}, terms = c * elements(w.rank, w.kernel);
    for (int d = 0; d < w.rank; d++) {
        dims[2 + d] = (v.dims[2 + d] - 1) * w.strides[d] + w.kernel[d] - w.pads[d] - w.pads[w.rank + d];
        if (dims[2 + d] < 1) return false;
    }
    double max = v.max * (double)terms;
    if (max > 1e4 || elements(v.ndim, dims) > MAX_ELEMENTS || elements(v.ndim, dims) * terms > MAX_WORK)
        return false;
    int k = weights(m, v.ndim, shape, false);
    graph_node *n = begin1(m, "ConvTranspose", x);
    reads(n, k);
    attr_window(n, &w, false);
    makes(m, n, GRAPH_FLOAT, v.ndim, dims, max, false);
    return true;
}

static bool pool(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 3, 5);
    bool max = chance(m, 2);
    window w;
    if (x < 0 || !make_window(m, value_at(m, x), false, &w)) return false;
    graph_value v = *value_at(m, x);
    int64_t dims[] = {v.dims[0], v.dims[1], w.out[0], w.out[1], w.out[2]};
    if (elements(v.ndim, dims) > MAX_ELEMENTS) return false;
    graph_node *n = begin1(m, max ? "MaxPool" : "AveragePool", x);
    attr_window(n, &w, false);
    if (!max) attr_int(n, "count_include_pad", below(m, 2));
    makes(m, n, GRAPH_FLOAT, v.ndim, dims, v.max, max && v.exact);
    return true;
}

static bool global_pool(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 3, 5);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t dims[GRAPH_RANK] = {v.dims[0], v.dims[1], 1, 1, 1};
    bool max = chance(m, 3);
    makes(m, begin1(m, max ? "GlobalMaxPool" : "GlobalAveragePool", x), GRAPH_FLOAT, v.ndim, dims, v.max,
          max && v.exact);
    return true;
}

static bool resize(maker *m)
{
    static const char *const modes[] = {
        "mode=nearest nearest_mode=floor coordinate_transformation_mode=asymmetric", "mode=linear",
        "mode=linear coordinate_transformation_mode=align_corners"};
    int x = pick(m, GRAPH_FLOAT, 4, 4), mode = below(m, 3);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int64_t to[4], dims[] = {v.dims[0], v.dims[1], v.dims[2] * 2, v.dims[3] * (1 + below(m, 3))};
    memcpy(to, dims, sizeof to);
    if (elements(4, dims) > MAX_ELEMENTS) return false;
    int sizes = list(m, 4, to);
    graph_node *n = begin1(m, "Resize", x);
    reads(n, -1);
    reads(n, -1);
    reads(n, sizes);
    attr(n, "%s", modes[mode]);
    makes(m, n, GRAPH_FLOAT, 4, dims, v.max, mode == 0 && v.exact);
    return true;
}

/* ---- Normalisation ---- */

static bool softmax(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 1, GRAPH_RANK);
    if (x < 0) return false;
    bool log = chance(m, 3);
    graph_node *n = begin1(m, log ? "LogSoftmax" : "Softmax", x);
    attr_int(n, "axis", below(m, value_at(m, x)->ndim) - (chance(m, 2) ? value_at(m, x)->ndim : 0));
    like(m, n, x, log ? 2 * value_at(m, x)->max + 10 : 1, false);
    return true;
}

/* The transform along one axis of real numbers, or of half of them: with a dimension more for the parts. */
static bool spectrum(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 1, GRAPH_RANK - 2);
    if (x < 0) return false;
    graph_value v = *value_at(m, x);
    int axis = below(m, v.ndim);
    double max = v.max * (double)v.dims[axis];
    if (max > 1e4 || elements(v.ndim, v.dims) * 2 > MAX_ELEMENTS) return false;
    int64_t last = v.ndim, dims[GRAPH_RANK];
    memcpy(dims, v.dims, sizeof dims);
    dims[v.ndim] = 1;
    int axes = list(m, 1, &last);
    graph_node *n = begin1(m, "Unsqueeze", x);
    reads(n, axes);
    moves(m, n, x, v.ndim + 1, dims);
    bool half = chance(m, 2);
    int signal = m->g->num_values - 1, length = list(m, 1, &v.dims[axis]); /* the axis may be open */
    value_at(m, length)->ndim = 0;
    n = begin1(m, "DFT", signal);
    reads(n, length);
    attr_int(n, "axis", axis);
    attr_int(n, "onesided", half);
    attr_int(n, "inverse", half ? 0 : below(m, 2));
    if (half) dims[axis] = dims[axis] / 2 + 1;
    dims[v.ndim] = 2;
    makes(m, n, GRAPH_FLOAT, v.ndim + 1, dims, max, false);
    return true;
}

static bool batch_norm(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 2, 5);
    if (x < 0 || value_at(m, x)->max > 1000) return false;
    int64_t c = value_at(m, x)->dims[1];
    int more[] = {weights(m, 1, &c, true), weights(m, 1, &c, false), weights(m, 1, &c, false),
                  weights(m, 1, &c, true)};
    graph_node *n = begin1(m, "BatchNormalization", x);
    for (int i = 0; i < 4; i++) reads(n, more[i]);
    like(m, n, x, 3 * value_at(m, x)->max + 4, false);
    return true;
}

/* Where a row's elements are alike, its variance is what rounding leaves. */
static bool layer_norm(maker *m)
{
    int x = pick(m, GRAPH_FLOAT, 1, 4);
    if (x < 0 || !value_at(m, x)->exact) return false;
    graph_value v = *value_at(m, x);
    int64_t row = v.dims[v.ndim - 1];
    int scale = weights(m, 1, &row, true), bias = weights(m, 1, &row, false);
    graph_node *n = begin1(m, "LayerNormalization", x);
    reads(n, scale);
    if (chance(m, 2)) reads(n, bias);
    attr(n, "epsilon=0.01");
    like(m, n, x, 1.5 * sqrt((double)row) + 2, false);
    return true;
}

static const struct {
    bool (*make)(maker *m);
    int weight;
} kinds[] = {
    {unary, 6},          {square_root, 1}, {clip, 1},       {binary, 8},  {integers, 2},
    {compare, 2},        {where, 2},       {logic, 1},      {cast, 2},    {transpose, 4},
    {reshape, 4},        {flatten, 1},     {unsqueeze, 1},  {expand, 2},  {tile, 1},
    {concat, 4},         {slice, 4},       {pad, 3},        {gather, 2},  {split, 2},
    {depth_to_space, 1}, {reduce, 5},      {arg_reduce, 1}, {top_k, 1},   {cumulate, 1},
    {matmul, 4},         {scores, 2},      {gemm, 2},       {conv, 5},    {conv_transpose, 1},
    {pool, 3},           {global_pool, 1}, {resize, 1},     {softmax, 3}, {batch_norm, 1},
    {layer_norm, 2},     {spectrum, 1},
};

static bool make_one(maker *m)
{
    int total = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) total += kinds[i].weight;
    int at = below(m, total);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((at -= kinds[i].weight) < 0) return kinds[i].make(m);
    return false;
}

void graph_random(uint64_t seed, graph *g)
{
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 19, 31, 32, 33};
    maker m = {.g = g, .r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}};
    memset(g, 0, sizeof *g);
    g->seed = seed;
    for (int i = 0; i < LETTERS; i++) m.extent[i] = extents[below(&m, sizeof extents / sizeof *extents)];
    int inputs = 1 + below(&m, 3), nodes = 1 + below(&m, 12);
    for (int i = 0; i < inputs; i++) new_input(&m, i > 0 && chance(&m, 4) ? GRAPH_INT64 : GRAPH_FLOAT);
    /* a kind makes at most two nodes, and at most eight values */
    for (int tries = 0; tries < 200 && g->num_nodes < nodes && g->num_values < GRAPH_VALUES - 8; tries++)
        make_one(&m);
}
