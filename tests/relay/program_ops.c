/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of random programs: a few of each kind of shape, by definition. */
#include "random_program.h"

#include <math.h>

typedef enum op_kind { UNARY, BINARY, COMPARE, LOGIC, WHERE, CAST, REDUCE, MOVE, MANY, PRODUCT } op_kind;

enum { ANY_NUMBER = 1, FLOATS = 2, BOOLS = 4, INTS = 8 };

typedef struct op_row {
    const char *name, *infix;
    op_kind kind;
    int elements; /* of the result */
} op_row;

enum {
    ADD,
    SUBTRACT,
    MULTIPLY,
    MINIMUM,
    MAXIMUM,
    LESS,
    LESS_EQUAL,
    GREATER,
    EQUAL,
    NOT_EQUAL,
    AND,
    OR,
    NOT,
    NEGATIVE,
    ABS,
    RELU,
    WHERE_,
    CAST_,
    SUM,
    MAX,
    RESHAPE,
    TRANSPOSE,
    EXPAND,
    SQUEEZE,
    TAKE,
    SLICE,
    CONCATENATE,
    STACK,
    SPLIT,
    DENSE,
    OPS
};

static const op_row rows[OPS] = {
    [ADD] = {"add", "+", BINARY, ANY_NUMBER},
    [SUBTRACT] = {"subtract", "-", BINARY, ANY_NUMBER},
    [MULTIPLY] = {"multiply", "*", BINARY, ANY_NUMBER},
    [MINIMUM] = {"minimum", NULL, BINARY, ANY_NUMBER},
    [MAXIMUM] = {"maximum", NULL, BINARY, ANY_NUMBER},
    [LESS] = {"less", "<", COMPARE, BOOLS},
    [LESS_EQUAL] = {"less_equal", "<=", COMPARE, BOOLS},
    [GREATER] = {"greater", ">", COMPARE, BOOLS},
    [EQUAL] = {"equal", "==", COMPARE, BOOLS},
    [NOT_EQUAL] = {"not_equal", "!=", COMPARE, BOOLS},
    [AND] = {"logical_and", NULL, LOGIC, BOOLS},
    [OR] = {"logical_or", NULL, LOGIC, BOOLS},
    [NOT] = {"logical_not", NULL, UNARY, BOOLS},
    [NEGATIVE] = {"negative", NULL, UNARY, ANY_NUMBER},
    [ABS] = {"abs", NULL, UNARY, ANY_NUMBER},
    [RELU] = {"nn.relu", NULL, UNARY, FLOATS},
    [WHERE_] = {"where", NULL, WHERE, ANY_NUMBER},
    [CAST_] = {"cast", NULL, CAST, ANY_NUMBER},
    [SUM] = {"sum", NULL, REDUCE, FLOATS | INTS},
    [MAX] = {"max", NULL, REDUCE, ANY_NUMBER},
    [RESHAPE] = {"reshape", NULL, MOVE, ANY_NUMBER | BOOLS},
    [TRANSPOSE] = {"transpose", NULL, MOVE, ANY_NUMBER | BOOLS},
    [EXPAND] = {"expand_dims", NULL, MOVE, ANY_NUMBER | BOOLS},
    [SQUEEZE] = {"squeeze", NULL, MOVE, ANY_NUMBER | BOOLS},
    [TAKE] = {"take", NULL, MOVE, ANY_NUMBER | BOOLS},
    [SLICE] = {"strided_slice", NULL, MOVE, ANY_NUMBER | BOOLS},
    [CONCATENATE] = {"concatenate", NULL, MANY, ANY_NUMBER | BOOLS},
    [STACK] = {"stack", NULL, MANY, ANY_NUMBER | BOOLS},
    [SPLIT] = {"split", NULL, MANY, ANY_NUMBER | BOOLS},
    [DENSE] = {"nn.dense", NULL, PRODUCT, FLOATS},
};

/* ---- Making ---- */

static const rp_type *with_element(rp_program *p, const rp_type *t, rp_element e)
{
    return rp_tensor(p, e, t->ndim, t->dims);
}

/* A shape that is broadcast to t's. */
static const rp_type *narrower(rp_program *p, const rp_type *t)
{
    int dims[RP_RANK], skip = fx_below(&p->random, 3) ? 0 : fx_below(&p->random, t->ndim + 1);
    for (int i = skip; i < t->ndim; i++) dims[i - skip] = fx_below(&p->random, 5) ? t->dims[i] : 1;
    return rp_tensor(p, t->element, t->ndim - skip, dims);
}

static const rp_type *with_axis(rp_program *p, const rp_type *t, int axis, int extent)
{
    int dims[RP_RANK + 1];
    for (int i = 0; i < t->ndim; i++) dims[i < axis ? i : i + 1] = t->dims[i];
    dims[axis] = extent;
    return rp_tensor(p, t->element, t->ndim + 1, dims);
}

static const rp_type *without_axis(rp_program *p, const rp_type *t, int axis)
{
    int dims[RP_RANK];
    for (int i = 0; i < t->ndim; i++)
        if (i != axis) dims[i < axis ? i : i - 1] = t->dims[i];
    return rp_tensor(p, t->element, t->ndim - 1, dims);
}

static const rp_type *with_extent(rp_program *p, const rp_type *t, int axis, int extent)
{
    int dims[RP_RANK];
    for (int i = 0; i < t->ndim; i++) dims[i] = i == axis ? extent : t->dims[i];
    return rp_tensor(p, t->element, t->ndim, dims);
}

/* The operand of a MOVE that gives t; NULL: none here. */
static const rp_type *moved(rp_program *p, rp_expr *e, const rp_type *t)
{
    int dims[RP_RANK], n = rp_count(t), where = fx_below(&p->random, t->ndim + 1);
    e->axis = where;
    switch (e->op) {
    case RESHAPE:
        for (int i = 0; i < t->ndim; i++) e->list[i] = t->dims[i];
        if (fx_below(&p->random, 2)) return rp_tensor(p, t->element, 1, &n);
        dims[0] = n % 2 ? 1 : 2;
        dims[1] = n / dims[0];
        return rp_tensor(p, t->element, 2, dims);
    case TRANSPOSE:
        if (t->ndim < 2) return NULL;
        for (int i = 0; i < t->ndim; i++) e->list[i] = (i + 1 + where) % t->ndim;
        for (int i = 0; i < t->ndim; i++) dims[e->list[i]] = t->dims[i];
        return rp_tensor(p, t->element, t->ndim, dims);
    case EXPAND:
        if (where == t->ndim || t->dims[where] != 1) return NULL;
        return without_axis(p, t, where);
    case SQUEEZE: return t->ndim == RP_RANK ? NULL : with_axis(p, t, where, 1);
    case TAKE:
        if (t->ndim == RP_RANK) return NULL;
        n = 1 + fx_below(&p->random, 3);
        e->number = fx_below(&p->random, n);
        return with_axis(p, t, where, n);
    case SLICE:
        if (where == t->ndim) return NULL;
        e->number = fx_below(&p->random, 3);
        return with_extent(p, t, where, t->dims[where] + e->number + fx_below(&p->random, 2));
    default: return NULL;
    }
}

/* The operands of a row; false: it gives no such type here. */
static bool choose(rp_program *p, rp_expr *e, const rp_type *t, const rp_type **in)
{
    static const rp_element numbers[] = {RP_INT8, RP_INT32, RP_INT64, RP_FLOAT32};
    const op_row *row = &rows[e->op];
    const rp_type *first = t->kind == RP_TUPLE ? t->at[0] : t;
    rp_element any = numbers[fx_below(&p->random, 4)];
    e->n = 1;
    in[0] = first;
    switch (row->kind) {
    case UNARY: return true;
    case COMPARE:
    case BINARY:
    case LOGIC:
        first = row->kind == COMPARE ? with_element(p, t, any) : t;
        e->n = 2;
        e->number = fx_below(&p->random, 2); /* written as a + b */
        in[0] = in[1] = first;
        if (fx_below(&p->random, 3) == 0) in[fx_below(&p->random, 2)] = narrower(p, first);
        return true;
    case WHERE:
        e->n = 3;
        in[0] = with_element(p, t, RP_BOOL);
        in[1] = in[2] = t;
        return true;
    case CAST:
        in[0] = with_element(p, t, numbers[fx_below(&p->random, 4)]);
        if (fx_below(&p->random, 4) == 0) in[0] = with_element(p, t, RP_BOOL);
        return in[0] != t;
    case REDUCE:
        e->axis = fx_below(&p->random, t->ndim + 1);
        if (t->ndim == RP_RANK) return false;
        in[0] = with_axis(p, t, e->axis, 1 + fx_below(&p->random, 3));
        return true;
    case MOVE: return (in[0] = moved(p, e, t)) != NULL;
    case PRODUCT: {
        int k = 1 + fx_below(&p->random, 3);
        if (t->ndim != 2) return false;
        e->n = 2;
        in[0] = with_extent(p, t, 1, k);
        in[1] = rp_tensor(p, t->element, 2, (int[]){t->dims[1], k});
        return true;
    }
    case MANY: break;
    }
    if (t->ndim == 0 && t->kind == RP_TENSOR) return false;
    e->axis = fx_below(&p->random, first->ndim + (first->ndim == 0));
    e->n = e->op == SPLIT ? 1 : 2;
    if (e->op == SPLIT) {
        if (first->ndim == 0) return false;
        in[0] = with_extent(p, first, e->axis, first->dims[e->axis] * t->n);
    } else if (e->op == STACK) {
        e->n = t->dims[e->axis];
        if (e->n > RP_FIELDS) return false;
        for (int i = 0; i < e->n; i++) in[i] = without_axis(p, t, e->axis);
    } else {
        int part = t->dims[e->axis] > 1 ? 1 + fx_below(&p->random, t->dims[e->axis] - 1) : 1;
        e->n = part < t->dims[e->axis] ? 2 : 1;
        in[0] = with_extent(p, t, e->axis, part);
        if (e->n == 2) in[1] = with_extent(p, t, e->axis, t->dims[e->axis] - part);
    }
    return true;
}

static bool splits_to(const rp_type *t)
{
    if (t->kind != RP_TUPLE || t->n < 2) return false;
    for (int i = 0; i < t->n; i++)
        if (t->at[i] != t->at[0] || t->at[i]->kind != RP_TENSOR) return false;
    return true;
}

rp_expr *rp_random_op(rp_program *p, const rp_type *t, rp_expr *(*make)(void *arg, const rp_type *t),
                      void *arg)
{
    const rp_type *in[RP_FIELDS];
    if (t->kind == RP_TUPLE && !splits_to(t)) return NULL;
    rp_element element = t->kind == RP_TUPLE ? t->at[0]->element : t->element;
    int is = element == RP_BOOL      ? BOOLS
             : element == RP_FLOAT32 ? ANY_NUMBER | FLOATS
             : element == RP_INT8    ? ANY_NUMBER
                                     : ANY_NUMBER | INTS;
    rp_expr *e = rp_new(p, RP_OP, t);
    for (int tries = 0; tries < 10; tries++) {
        e->op = t->kind == RP_TUPLE ? SPLIT : fx_below(&p->random, OPS);
        if ((t->kind == RP_TENSOR && e->op == SPLIT) || !(rows[e->op].elements & is)) continue;
        if (!choose(p, e, t, in)) continue;
        for (int i = 0; i < e->n; i++) {
            e->at[i] = make(arg, in[i]);
            GPUC_CHECK(e->at[i]->type == in[i]);
        }
        return e;
    }
    return NULL;
}

rp_expr *rp_binary(rp_program *p, const char *name, const rp_type *t, rp_expr *a, rp_expr *b)
{
    rp_expr *e = rp_new(p, RP_OP, t);
    while (strcmp(rows[e->op].name, name) != 0) e->op++;
    e->number = 1;
    e->n = 2;
    e->at[0] = a;
    e->at[1] = b;
    return e;
}

/* ---- Text ---- */

bool rp_op_infix(const rp_expr *e, const char **between)
{
    *between = rows[e->op].infix;
    return rows[e->op].infix && e->number;
}

const char *rp_op_name(const rp_expr *e)
{
    return rows[e->op].name;
}

bool rp_op_takes_tuple(const rp_expr *e)
{
    return e->op == CONCATENATE || e->op == STACK;
}

static void list_text(gpuc_buf *out, const char *name, int n, const int *list)
{
    gpuc_buf_printf(out, ", %s=[", name);
    for (int i = 0; i < n; i++) gpuc_buf_printf(out, i ? ", %d" : "%d", list[i]);
    gpuc_buf_str(out, "]");
}

void rp_op_attrs(gpuc_buf *out, const rp_expr *e)
{
    static const char *const names[] = {"bool", "int8", "int32", "int64", "float32"};
    int begin[RP_RANK] = {0}, end[RP_RANK] = {0};
    switch (e->op) {
    case CAST_: gpuc_buf_printf(out, ", dtype=\"%s\"", names[e->type->element]); break;
    case SUM:
    case MAX:
    case SQUEEZE: gpuc_buf_printf(out, ", axis=[%d]", e->axis); break;
    case RESHAPE: list_text(out, "newshape", e->type->ndim, e->list); break;
    case TRANSPOSE: list_text(out, "axes", e->type->ndim, e->list); break;
    case EXPAND:
    case CONCATENATE:
    case STACK: gpuc_buf_printf(out, ", axis=%d", e->axis); break;
    case TAKE: gpuc_buf_printf(out, ", %d, axis=%d", e->number, e->axis); break;
    case SPLIT: gpuc_buf_printf(out, ", indices_or_sections=%d, axis=%d", e->type->n, e->axis); break;
    case SLICE:
        for (int i = 0; i < e->type->ndim; i++) end[i] = e->type->dims[i];
        begin[e->axis] = e->number;
        end[e->axis] += e->number;
        list_text(out, "begin", e->type->ndim, begin);
        list_text(out, "end", e->type->ndim, end);
        break;
    default: break;
    }
}

/* ---- Values ---- */

rp_cell rp_rounded(gpuc_ctx *ctx, rp_element t, rp_cell c)
{
    switch (t) {
    case RP_BOOL: return (rp_cell){.i = c.i != 0};
    case RP_INT8: return (rp_cell){.i = (int8_t)(uint8_t)(uint64_t)c.i};
    case RP_INT32: return (rp_cell){.i = (int32_t)(uint32_t)(uint64_t)c.i};
    case RP_INT64: return c;
    case RP_FLOAT32:
    case RP_ELEMENTS: break;
    }
    if (!(c.f < 1e5 && c.f > -1e5)) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a float is too large");
    c.f += 0.0; /* no -0: signs of zeros are not what this is for */
    return c;
}

rp_value *rp_new_tensor(gpuc_ctx *ctx, const rp_type *t)
{
    rp_value *v = gpuc_new(ctx, rp_value);
    *v = (rp_value){.type = t};
    v->cells = gpuc_new_array(ctx, rp_cell, rp_count(t));
    return v;
}

static rp_cell arithmetic(const rp_expr *e, rp_element t, rp_cell a, rp_cell b)
{
    bool is_float = t == RP_FLOAT32;
    uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
    bool less = is_float ? a.f < b.f : a.i < b.i, equal = is_float ? a.f == b.f : a.i == b.i;
    switch (e->op) {
    case ADD: return is_float ? (rp_cell){.f = a.f + b.f} : (rp_cell){.i = (int64_t)(x + y)};
    case SUBTRACT: return is_float ? (rp_cell){.f = a.f - b.f} : (rp_cell){.i = (int64_t)(x - y)};
    case MULTIPLY: return is_float ? (rp_cell){.f = a.f * b.f} : (rp_cell){.i = (int64_t)(x * y)};
    case MINIMUM: return less ? a : b;
    case MAXIMUM: return less ? b : a;
    case LESS: return (rp_cell){.i = less};
    case LESS_EQUAL: return (rp_cell){.i = less || equal};
    case GREATER: return (rp_cell){.i = !less && !equal};
    case EQUAL: return (rp_cell){.i = equal};
    case NOT_EQUAL: return (rp_cell){.i = !equal};
    case AND: return (rp_cell){.i = a.i && b.i};
    case OR: return (rp_cell){.i = a.i || b.i};
    case NOT: return (rp_cell){.i = !a.i};
    case NEGATIVE: return is_float ? (rp_cell){.f = -a.f} : (rp_cell){.i = (int64_t)(0 - x)};
    case ABS:
        if (is_float) return (rp_cell){.f = fabs(a.f)};
        return (rp_cell){.i = a.i < 0 ? (int64_t)(0 - x) : a.i};
    case RELU: return (rp_cell){.f = a.f > 0 ? a.f : 0};
    default: return a;
    }
}

static rp_cell converted(gpuc_ctx *ctx, rp_element from, rp_element to, rp_cell c)
{
    if ((from == RP_FLOAT32) == (to == RP_FLOAT32)) return c;
    if (to == RP_FLOAT32) return (rp_cell){.f = (double)c.i};
    if (to == RP_INT8 && (c.f > 127 || c.f < -128))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a float does not fit int8");
    return (rp_cell){.i = (int64_t)c.f};
}

/* The number of the element at an index of the result, in an operand that is broadcast to it. */
static int broadcast(const rp_type *t, int ndim, const int *index)
{
    int at = 0;
    for (int i = 0; i < t->ndim; i++)
        at = at * t->dims[i] + (t->dims[i] == 1 ? 0 : index[ndim - t->ndim + i]);
    return at;
}

static int number_at(const rp_type *t, const int *index)
{
    int at = 0;
    for (int i = 0; i < t->ndim; i++) at = at * t->dims[i] + index[i];
    return at;
}

/* The index in the operand of a MOVE. */
static void moved_index(const rp_expr *e, int ndim, const int *index, int *from)
{
    for (int i = 0; i < ndim; i++) {
        int behind = i < e->axis ? i : i - 1; /* without the operand's axis */
        switch (e->op) {
        case EXPAND: from[i] = index[i < e->axis ? i : i + 1]; break;
        case SQUEEZE: from[i] = i == e->axis ? 0 : index[behind]; break;
        case TAKE: from[i] = i == e->axis ? e->number : index[behind]; break;
        case SLICE: from[i] = index[i] + (i == e->axis ? e->number : 0); break;
        default: break;
        }
    }
    for (int i = 0; e->op == TRANSPOSE && i < ndim; i++) from[e->list[i]] = index[i];
}

static rp_cell reduced(const rp_expr *e, const rp_value *x, const int *index)
{
    int from[RP_RANK];
    rp_cell sum = {0};
    for (int k = 0; k < x->type->dims[e->axis]; k++) {
        for (int i = 0; i < x->type->ndim; i++) from[i] = i == e->axis ? k : index[i < e->axis ? i : i - 1];
        rp_cell c = x->cells[number_at(x->type, from)];
        bool is_float = x->type->element == RP_FLOAT32;
        if (e->op == SUM)
            sum = is_float ? (rp_cell){.f = sum.f + c.f}
                           : (rp_cell){.i = (int64_t)((uint64_t)sum.i + (uint64_t)c.i)};
        else if (k == 0 || (is_float ? c.f > sum.f : c.i > sum.i))
            sum = c;
    }
    return sum;
}

static rp_cell joined(const rp_expr *e, const rp_value *const *args, const int *index)
{
    int from[RP_RANK], k = 0, place = index[e->axis];
    if (e->op == STACK) {
        for (int i = 0; i < args[0]->type->ndim; i++) from[i] = index[i < e->axis ? i : i + 1];
        return args[place]->cells[number_at(args[place]->type, from)];
    }
    for (int i = 0; i < e->type->ndim; i++) from[i] = index[i];
    for (; from[e->axis] >= args[k]->type->dims[e->axis]; k++) from[e->axis] -= args[k]->type->dims[e->axis];
    return args[k]->cells[number_at(args[k]->type, from)];
}

static rp_cell element(gpuc_ctx *ctx, const rp_expr *e, const rp_value *const *args, const int *index,
                       int number)
{
    int ndim = e->type->ndim, from[RP_RANK];
    const rp_value *a = args[0], *b = e->n > 1 ? args[1] : a;
    switch (rows[e->op].kind) {
    case UNARY:
    case BINARY:
    case COMPARE:
    case LOGIC:
        return arithmetic(e, a->type->element, a->cells[broadcast(a->type, ndim, index)],
                          b->cells[broadcast(b->type, ndim, index)]);
    case WHERE: return a->cells[number].i ? b->cells[number] : args[2]->cells[number];
    case CAST: return converted(ctx, a->type->element, e->type->element, a->cells[number]);
    case REDUCE: return reduced(e, a, index);
    case MOVE:
        if (e->op == RESHAPE) return a->cells[number];
        moved_index(e, a->type->ndim, index, from);
        return a->cells[number_at(a->type, from)];
    case MANY: return joined(e, args, index);
    case PRODUCT: {
        rp_cell sum = {.f = 0};
        int k = a->type->dims[1];
        for (int i = 0; i < k; i++) sum.f += a->cells[index[0] * k + i].f * b->cells[index[1] * k + i].f;
        return sum;
    }
    }
    return (rp_cell){0};
}

static void index_of(const rp_type *t, int number, int *index)
{
    for (int i = t->ndim - 1; i >= 0; i--) {
        index[i] = number % t->dims[i];
        number /= t->dims[i];
    }
}

static const rp_value *split(gpuc_ctx *ctx, const rp_expr *e, const rp_value *x)
{
    rp_value *out = gpuc_new(ctx, rp_value);
    *out = (rp_value){.n = e->type->n};
    int index[RP_RANK];
    for (int k = 0; k < out->n; k++) {
        const rp_type *t = e->type->at[k];
        rp_value *part = rp_new_tensor(ctx, t);
        for (int i = 0; i < rp_count(t); i++) {
            index_of(t, i, index);
            index[e->axis] += k * t->dims[e->axis];
            part->cells[i] = x->cells[number_at(x->type, index)];
        }
        out->fields[k] = part;
    }
    return out;
}

const rp_value *rp_apply_op(gpuc_ctx *ctx, const rp_expr *e, const rp_value *const *args)
{
    if (e->op == SPLIT) return split(ctx, e, args[0]);
    rp_value *out = rp_new_tensor(ctx, e->type);
    int index[RP_RANK];
    for (int i = 0; i < rp_count(e->type); i++) {
        index_of(e->type, i, index);
        out->cells[i] = rp_rounded(ctx, e->type->element, element(ctx, e, args, index, i));
    }
    return out;
}
