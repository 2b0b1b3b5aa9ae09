/* SPDX-License-Identifier: Apache-2.0 */
/* Regions: the elements of a buffer that stand for those of a pattern's tensor, at equal distances along each of its
 * dimensions. */
#include <string.h>

#include "schedule/internal.h"

struct gpuc_tensor_region {
    const gpuc_tensor_intrin *intrin;
    const gpuc_tir_buffer *buffer;
    const gpuc_tensor *tensor; /* of the pattern */
    int ndim;                  /* of the pattern's tensor */
    const gpuc_expr *base;     /* index of its first element, per dimension of the buffer */
    const gpuc_expr
        *step[GPUC_TENSOR_AXES]; /* [dimension of the pattern's tensor][dimension of the buffer] */
};

/* ---- Where the elements lie -------------------------------------------------------------------------- */

typedef struct solver {
    const gpuc_tensor_binding *b;
    const gpuc_tensor_operand *t;
    const char *name;
    const gpuc_tir_buffer *buffer;
    gpuc_expr **scale[GPUC_TENSOR_AXES]; /* [axis][read][dimension of the buffer] */
    gpuc_expr **rest;                    /* [read][dimension of the buffer] */
    gpuc_expr *step[GPUC_TENSOR_AXES];
    const char *why;
} solver;

static const gpuc_tensor_intrin_read *read_at(const solver *s, size_t i)
{
    return s->t->reads.at[i];
}

static gpuc_expr simple(const solver *s, gpuc_expr e)
{
    return gpuc_arith_simplify(s->b->analyzer, e);
}

static gpuc_expr times(const solver *s, gpuc_expr e, int64_t by)
{
    return gpuc_mul(s->b->ctx, e, gpuc_imm_int(s->b->ctx, e->dtype, by));
}

/* Each index as a sum over the loops. */
static bool take_indices(solver *s, const gpuc_expr *const *index)
{
    const gpuc_tensor_binding *b = s->b;
    gpuc_ctx *ctx = b->ctx;
    size_t count = s->t->reads.count;
    gpuc_expr scale[GPUC_TENSOR_AXES];
    s->rest = gpuc_new_array(ctx, gpuc_expr *, count);
    for (int x = 0; x < b->rank; x++) s->scale[x] = gpuc_new_array(ctx, gpuc_expr *, count);
    for (size_t r = 0; r < count; r++) {
        s->rest[r] = gpuc_new_array(ctx, gpuc_expr, s->buffer->ndim);
        for (int x = 0; x < b->rank; x++) s->scale[x][r] = gpuc_new_array(ctx, gpuc_expr, s->buffer->ndim);
        for (int i = 0; i < s->buffer->ndim; i++) {
            gpuc_expr at = simple(s, index[r][i]);
            if (!gpuc_arith_linear(b->analyzer, at, b->rank, b->var, scale, &s->rest[r][i])) {
                s->why = gpuc_ctx_printf(ctx, "%s needs elements of '%s' at equal distances; index %d is %s",
                                         b->intrin->name, s->name, i, gpuc_tir_short_text(ctx, at));
                return false;
            }
            for (int x = 0; x < b->rank; x++) s->scale[x][r][i] = scale[x];
        }
    }
    return true;
}

/* What the steps that are known make of an index when the axis moves by one. */
static gpuc_expr moves(const solver *s, size_t r, int x, int i, gpuc_dtype type)
{
    const gpuc_tensor_intrin_read *read = read_at(s, r);
    gpuc_expr sum = gpuc_imm_int(s->b->ctx, type, 0);
    for (int d = 0; d < s->t->tensor->ndim; d++)
        if (read->scale[d][x]) sum = gpuc_add(s->b->ctx, sum, times(s, s->step[d][i], read->scale[d][x]));
    return sum;
}

static void take_steps(solver *s)
{
    gpuc_ctx *ctx = s->b->ctx;
    for (int d = 0; d < s->t->tensor->ndim; d++) {
        s->step[d] = gpuc_new_array(ctx, gpuc_expr, s->buffer->ndim);
        for (int i = 0; i < s->buffer->ndim; i++) s->step[d][i] = gpuc_int(ctx, 0);
    }
    for (int k = 0; k < s->t->num_steps; k++) {
        const gpuc_tensor_step *step = &s->t->steps[k];
        size_t r = 0;
        while (read_at(s, r) != step->read) r++;
        for (int i = 0; i < s->buffer->ndim; i++) {
            gpuc_expr all = s->scale[step->axis][r][i];
            gpuc_expr left = simple(s, gpuc_sub(ctx, all, moves(s, r, step->axis, i, all->dtype)));
            gpuc_expr by = gpuc_imm_int(ctx, left->dtype, step->read->scale[step->dim][step->axis]);
            s->step[step->dim][i] = simple(s, gpuc_floordiv_(ctx, left, by));
        }
    }
}

/* Along each axis, and at all places where the pattern reads the tensor, the elements must be where the steps say. */
static bool check_steps(solver *s)
{
    const gpuc_tensor_binding *b = s->b;
    for (size_t r = 0; r < s->t->reads.count; r++)
        for (int x = 0; x < b->rank; x++)
            for (int i = 0; i < s->buffer->ndim; i++) {
                gpuc_expr all = s->scale[x][r][i];
                if (gpuc_arith_prove_equal(b->analyzer, moves(s, r, x, i, all->dtype), all)) continue;
                bool along = false;
                for (int d = 0; d < s->t->tensor->ndim; d++) along |= read_at(s, r)->scale[d][x] != 0;
                s->why = gpuc_ctx_printf(
                    b->ctx,
                    along ? "'%s' moves along axis '%s' of %s otherwise than its pattern's '%s'"
                          : "'%s' depends on axis '%s' of %s, whose pattern's '%s' does not",
                    s->name, gpuc_schedule_iter_name(gpuc_tensor_intrin_axis(b->intrin, x)), b->intrin->name,
                    s->t->tensor->name);
                return false;
            }
    return true;
}

static const gpuc_expr *take_base(solver *s)
{
    gpuc_ctx *ctx = s->b->ctx;
    gpuc_expr *base = gpuc_new_array(ctx, gpuc_expr, s->buffer->ndim);
    for (size_t r = 0; r < s->t->reads.count; r++)
        for (int i = 0; i < s->buffer->ndim; i++) {
            gpuc_expr at = s->rest[r][i];
            for (int d = 0; d < s->t->tensor->ndim; d++)
                if (read_at(s, r)->offset[d])
                    at = gpuc_sub(ctx, at, times(s, s->step[d][i], read_at(s, r)->offset[d]));
            at = simple(s, at);
            if (r == 0) base[i] = at;
            if (gpuc_arith_prove_equal(s->b->analyzer, at, base[i])) continue;
            s->why = gpuc_ctx_printf(ctx, "'%s' is read at other distances than '%s' in the pattern of %s",
                                     s->name, s->t->tensor->name, s->b->intrin->name);
            return NULL;
        }
    return base;
}

const gpuc_tensor_region *gpuc_tensor_intrin_region(const gpuc_tensor_binding *b,
                                                    const gpuc_tensor_operand *t, const char *name,
                                                    const gpuc_tir_buffer *buffer,
                                                    const gpuc_expr *const *index, const char **why)
{
    solver s = {.b = b, .t = t, .name = name, .buffer = buffer};
    gpuc_tensor_region *g = gpuc_new(b->ctx, gpuc_tensor_region);
    bool known = take_indices(&s, index);
    if (known) take_steps(&s);
    g->base = known && check_steps(&s) ? take_base(&s) : NULL;
    *why = s.why;
    if (!g->base) return NULL;
    g->intrin = b->intrin;
    g->buffer = buffer;
    g->tensor = t->tensor;
    g->ndim = t->tensor->ndim;
    for (int d = 0; d < g->ndim; d++) g->step[d] = s.step[d];
    return g;
}

const gpuc_tir_buffer *gpuc_tensor_region_buffer(const gpuc_tensor_region *r)
{
    return r->buffer;
}

/* ---- Elements --------------------------------------------------------------------------------------- */

static void need_region(gpuc_ctx *ctx, const gpuc_tensor_region *r, const void *index)
{
    if (!r) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the region of an intrinsic is NULL");
    if (!index && r->ndim > 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': the index into a region of %d dimensions is NULL", r->intrin->name,
                   r->ndim);
}

/* Indices are integers, and of those that are known the pattern's tensor has the elements. */
static void need_inside(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index, int lanes)
{
    char name[24];
    for (int d = 0; d < r->ndim; d++) {
        int64_t from, extent, more = d == r->ndim - 1 ? lanes - 1 : 0;
        gpuc_dtype type = gpuc_tir_need(ctx, index[d], "an index into a region")->dtype;
        if (!gpuc_is_integer(type) || type.lanes != 1)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "intrinsic '%s': index %s of dimension %d of '%s' is of type %s", r->intrin->name,
                       gpuc_tir_short_text(ctx, index[d]), d, r->tensor->name, gpuc_dtype_name(type, name));
        if (!gpuc_expr_is_int(index[d], &from) || !gpuc_expr_is_int(r->tensor->shape[d], &extent) ||
            (from >= 0 && from < extent - more))
            continue;
        const char *end = more ? gpuc_ctx_printf(ctx, " to %lld", (long long)(from + more)) : "";
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': index %lld%s of dimension %d of '%s', which has %lld elements there",
                   r->intrin->name, (long long)from, end, d, r->tensor->name, (long long)extent);
    }
}

static gpuc_expr *element_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index, int lanes)
{
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, r->buffer->ndim);
    need_inside(ctx, r, index, lanes);
    for (int i = 0; i < r->buffer->ndim; i++) {
        at[i] = r->base[i];
        for (int d = 0; d < r->ndim; d++) {
            gpuc_expr step = r->step[d][i];
            at[i] = gpuc_add(ctx, at[i], gpuc_mul(ctx, step, gpuc_cast(ctx, step->dtype, index[d])));
        }
    }
    return at;
}

/* The indices of `lanes` elements along the last dimension, if one ramp gives them; else NULL. */
static const gpuc_expr *ramp_of(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *at, int lanes)
{
    int n = r->buffer->ndim, last = r->ndim - 1, along = 0;
    for (int i = 0; i < n; i++) along += !gpuc_tir_is_const(r->step[last][i], 0);
    if (along != 1 || !gpuc_tir_is_const(r->step[last][n - 1], 1)) return NULL;
    gpuc_expr *vector = gpuc_ctx_memdup(ctx, at, sizeof *at * (size_t)n);
    vector[n - 1] = gpuc_tir_ramp(ctx, at[n - 1], r->step[last][n - 1], lanes);
    return vector;
}

/* The indices of the element `lane` after one along the last dimension. */
static const gpuc_expr *lane_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *at, int lane)
{
    gpuc_expr *next = gpuc_ctx_memdup(ctx, at, sizeof *at * (size_t)r->buffer->ndim);
    for (int i = 0; i < r->buffer->ndim; i++) {
        gpuc_expr step = r->step[r->ndim - 1][i];
        next[i] = gpuc_add(ctx, at[i], gpuc_mul(ctx, step, gpuc_imm_int(ctx, step->dtype, lane)));
    }
    return next;
}

static void need_lanes(gpuc_ctx *ctx, const gpuc_tensor_region *r, int lanes)
{
    if (lanes < 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s': a vector of %d elements", r->intrin->name,
                   lanes);
    if (lanes > 1 && r->ndim == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': a vector of %d elements of a region without dimensions", r->intrin->name,
                   lanes);
}

gpuc_expr gpuc_tensor_region_load_vector(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index,
                                         int lanes)
{
    need_region(ctx, r, index);
    need_lanes(ctx, r, lanes);
    int n = r->buffer->ndim;
    const gpuc_expr *at = element_at(ctx, r, index, lanes);
    if (lanes == 1) return gpuc_tir_load(ctx, r->buffer, n, at);
    const gpuc_expr *vector = ramp_of(ctx, r, at, lanes);
    if (vector) return gpuc_tir_load(ctx, r->buffer, n, vector);
    gpuc_expr *parts = gpuc_new_array(ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++) parts[i] = gpuc_tir_load(ctx, r->buffer, n, lane_at(ctx, r, at, i));
    return gpuc_tir_vector(ctx, lanes, parts);
}

gpuc_expr gpuc_tensor_region_load_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index)
{
    return gpuc_tensor_region_load_vector(ctx, r, index, 1);
}

gpuc_stmt gpuc_tensor_region_store_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index,
                                      gpuc_expr value)
{
    need_region(ctx, r, index);
    int n = r->buffer->ndim, lanes = gpuc_tir_need(ctx, value, "the value for a region")->dtype.lanes;
    need_lanes(ctx, r, lanes);
    const gpuc_expr *at = element_at(ctx, r, index, lanes);
    if (lanes == 1) return gpuc_tir_store(ctx, r->buffer, n, at, value);
    const gpuc_expr *vector = ramp_of(ctx, r, at, lanes);
    if (vector) return gpuc_tir_store(ctx, r->buffer, n, vector, value);
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, lanes);
    gpuc_expr all = gpuc_var(ctx, "value", value->dtype);
    for (int i = 0; i < lanes; i++)
        stores[i] = gpuc_tir_store(ctx, r->buffer, n, lane_at(ctx, r, at, i), gpuc_tir_lane(ctx, all, i));
    return gpuc_tir_let(ctx, all, value, gpuc_tir_seq(ctx, lanes, stores));
}

static const gpuc_expr *constants(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index)
{
    need_region(ctx, r, index);
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, r->ndim + 1);
    for (int d = 0; d < r->ndim; d++) at[d] = gpuc_int(ctx, index[d]);
    return at;
}

gpuc_expr gpuc_tensor_region_load(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index, int lanes)
{
    return gpuc_tensor_region_load_vector(ctx, r, constants(ctx, r, index), lanes);
}

gpuc_stmt gpuc_tensor_region_store(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index,
                                   gpuc_expr value)
{
    return gpuc_tensor_region_store_at(ctx, r, constants(ctx, r, index), value);
}

/* ---- As C functions see them ------------------------------------------------------------------------ */

gpuc_expr gpuc_tensor_region_stride(gpuc_ctx *ctx, const gpuc_tensor_region *r, int dim)
{
    need_region(ctx, r, "");
    if (dim < 0 || dim >= r->ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': a region of %d dimensions has none with number %d", r->intrin->name,
                   r->ndim, dim);
    gpuc_expr sum = gpuc_imm_int(ctx, GPUC_INT64, 0);
    for (int i = 0; i < r->buffer->ndim; i++) {
        gpuc_expr step = gpuc_cast(ctx, GPUC_INT64, r->step[dim][i]);
        sum = gpuc_add(ctx, sum, gpuc_mul(ctx, step, gpuc_tir_stride(ctx, r->buffer, i)));
    }
    return sum;
}

gpuc_expr gpuc_tensor_region_address(gpuc_ctx *ctx, const gpuc_tensor_region *r, bool written)
{
    need_region(ctx, r, "");
    gpuc_tir_intrin fn = written ? GPUC_TIR_CALL_ADDRESS : GPUC_TIR_CALL_CONST_ADDRESS;
    return gpuc_tir_call(ctx, GPUC_INT64, fn, NULL, r->buffer, r->buffer->ndim, r->base);
}

const char *gpuc_tensor_region_scope(const gpuc_tensor_region *r)
{
    return r ? gpuc_scope_name(r->buffer->scope) : NULL;
}
