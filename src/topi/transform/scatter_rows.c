/* SPDX-License-Identifier: Apache-2.0 */
/* The scattering operators: what their rows, slots and updates are. */
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/transform/scatter.h"

/* A position of an update: below zero counted from the end if it wraps, and ok while within n. */
static gpuc_expr position(const gpuc_scatter *s, gpuc_expr p, gpuc_expr n, bool wraps, gpuc_expr *ok)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr zero = gpuc_int(ctx, 0);
    p = gpuc_topi_par_index(ctx, p);
    if (wraps) p = gpuc_select(ctx, gpuc_lt(ctx, p, zero), gpuc_add(ctx, p, n), p);
    gpuc_expr inside = gpuc_and(ctx, gpuc_le(ctx, zero, p), gpuc_lt(ctx, p, n));
    *ok = *ok ? gpuc_and(ctx, *ok, inside) : inside;
    return p;
}

static gpuc_expr slot_or_none(const gpuc_scatter *s, gpuc_expr ok, gpuc_expr slot)
{
    slot = gpuc_topi_par_to_i32(s->ctx, slot);
    return ok ? gpuc_select(s->ctx, ok, slot, gpuc_topi_par_i32(s->ctx, -1)) : slot;
}

static void check_same(const gpuc_op_call *call, int i, int k, gpuc_expr have, gpuc_expr want)
{
    if (have && want)
        gpuc_topi_require(call, gpuc_eq(call->ctx, have, want),
                          "dimension %d of input %d is %s, should be %s", k, i,
                          gpuc_expr_text(call->ctx, have), gpuc_expr_text(call->ctx, want));
}

/* ---- scatter_elements ---- */

static void infer_scatter_elements(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1], *updates = &call->in[2];
    if (in->ndim == 0 || at->ndim != in->ndim || updates->ndim != in->ndim)
        gpuc_topi_fail(call, "data, indices and updates have %d, %d and %d dimensions, must have as many",
                       in->ndim, at->ndim, updates->ndim);
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    for (int k = 0; k < in->ndim; k++) {
        check_same(call, 2, k, updates->dims[k], at->dims[k]);
        if (k == axis || !at->dims[k] || !in->dims[k]) continue;
        gpuc_topi_require(call, gpuc_le(call->ctx, at->dims[k], in->dims[k]),
                          "dimension %d of the indices is %s, of the data %s", k,
                          gpuc_expr_text(call->ctx, at->dims[k]), gpuc_expr_text(call->ctx, in->dims[k]));
    }
    (void)gpuc_topi_scatter_kind_of(call); /* raises if there is no such reduction of this type */
    gpuc_topi_par_countable(call, at->dims[axis]);
    gpuc_topi_par_countable(call, in->dims[axis]);
    gpuc_topi_infer_same(call);
}

static gpuc_expr slot_of_element(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr i)
{
    const gpuc_rows *r = &s->index_rows;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], ok = NULL;
    for (int k = 0; k < r->ndim; k++) index[k] = k == r->axis ? i : element[k];
    gpuc_expr p = gpuc_tir_load(s->ctx, s->positions, r->ndim, index);
    p = position(s, p, s->call->in[0].dims[r->axis], true, &ok);
    return slot_or_none(s, ok, p);
}

static gpuc_expr element_slot(const gpuc_scatter *s, gpuc_expr row, gpuc_expr i)
{
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_rows_index(s->ctx, &s->index_rows, row, i, index);
    return slot_of_element(s, index, gpuc_topi_par_index(s->ctx, i));
}

static gpuc_expr locate_element(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr *row,
                                gpuc_expr *slot)
{
    const gpuc_rows *r = &s->index_rows;
    gpuc_expr inside = NULL;
    for (int k = 0; k < r->ndim; k++) {
        if (k == r->axis || r->dims[k] == s->call->in[0].dims[k]) continue;
        gpuc_expr within = gpuc_lt(s->ctx, element[k], r->dims[k]);
        inside = inside ? gpuc_and(s->ctx, inside, within) : within;
    }
    *row = gpuc_topi_rows_number(s->ctx, r, element);
    *slot = element[r->axis];
    return inside;
}

static int element_update(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr row, gpuc_expr i,
                          gpuc_expr *index)
{
    const gpuc_rows *r = &s->index_rows;
    (void)row;
    for (int k = 0; k < r->ndim; k++) index[k] = k == r->axis ? i : element[k];
    return r->ndim;
}

static void scatter_elements_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    int axis = gpuc_topi_axis(call, "axis", call->in[0].ndim);
    gpuc_scatter s = {.call = call,
                      .ctx = call->ctx,
                      .kind = gpuc_topi_scatter_kind_of(call),
                      .indices = 1,
                      .updates = 2,
                      .index_rows = gpuc_topi_rows_of(call, &call->in[1], axis),
                      .outer = axis,
                      .own_indices = true,
                      .inner = axis + 1,
                      .extents = call->in[1].dims,
                      .slot = element_slot,
                      .slot_of = slot_of_element,
                      .locate = locate_element,
                      .update_index = element_update};
    s.rows = s.index_rows.count;
    s.n = s.index_rows.n;
    s.slots = gpuc_topi_rows_of(call, &call->in[0], axis).n;
    outs[0] = gpuc_topi_scatter_te(&s, ins);
}

/* ---- scatter_nd: the last dimension of the indices holds positions along the first dimensions ---- */

/* Positions of an index. Where their number is not known, the ranks say it. */
static int tuple_depth(const gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1], *updates = &call->in[2];
    int64_t depth = at->ndim - 1 + in->ndim - updates->ndim;
    gpuc_expr_is_int(at->dims[at->ndim - 1], &depth);
    if (depth < 0 || depth > in->ndim)
        gpuc_topi_fail(call, "an index has %lld positions, the data %d dimensions", (long long)depth,
                       in->ndim);
    return (int)depth;
}

static void infer_scatter_nd(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *at = &call->in[1], *updates = &call->in[2];
    if (at->ndim == 0) gpuc_topi_fail(call, "the indices have no dimensions");
    int depth = tuple_depth(call), outer = at->ndim - 1, rank = outer + in->ndim - depth;
    gpuc_topi_require(call, gpuc_eq(call->ctx, at->dims[outer], gpuc_topi_num(call, depth)),
                      "an index has %s positions, the ranks of the inputs need %d",
                      gpuc_expr_text(call->ctx, at->dims[outer]), depth);
    if (updates->ndim != rank)
        gpuc_topi_fail(call,
                       "the updates have %d dimensions, need %d: those of the indices but the last, then "
                       "those of the data that are not indexed",
                       updates->ndim, rank);
    for (int k = 0; k < rank; k++)
        check_same(call, 2, k, updates->dims[k], k < outer ? at->dims[k] : in->dims[k - outer + depth]);
    (void)gpuc_topi_scatter_kind_of(call);
    gpuc_topi_par_count(call, at, outer);
    gpuc_topi_par_count(call, in, depth);
    gpuc_topi_infer_same(call);
}

static gpuc_expr tuple_slot(const gpuc_scatter *s, gpuc_expr row, gpuc_expr i)
{
    const gpuc_tensor_type *at = &s->call->in[1];
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], ok = NULL, slot = gpuc_int(s->ctx, 0);
    (void)row;
    gpuc_topi_par_unravel(s->ctx, at->ndim - 1, at->dims, i, index);
    for (int k = 0; k < s->depth; k++) {
        gpuc_expr n = s->call->in[0].dims[k];
        index[at->ndim - 1] = gpuc_int(s->ctx, k);
        gpuc_expr p = position(s, gpuc_tir_load(s->ctx, s->positions, at->ndim, index), n, true, &ok);
        slot = gpuc_add(s->ctx, gpuc_mul(s->ctx, slot, n), p);
    }
    return slot_or_none(s, ok, slot);
}

static gpuc_expr slot_of_tuple(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr i)
{
    (void)element;
    return tuple_slot(s, NULL, i);
}

static gpuc_expr locate_slice(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr *row,
                              gpuc_expr *slot)
{
    const gpuc_expr *dims = s->call->out[0].dims;
    *row = *slot = gpuc_int(s->ctx, 0);
    for (int k = 0; k < s->depth; k++) *slot = gpuc_add(s->ctx, gpuc_mul(s->ctx, *slot, dims[k]), element[k]);
    return NULL;
}

static int tuple_update(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr row, gpuc_expr i,
                        gpuc_expr *index)
{
    const gpuc_tensor_type *at = &s->call->in[1], *in = &s->call->in[0];
    int outer = at->ndim - 1;
    (void)row;
    gpuc_topi_par_unravel(s->ctx, outer, at->dims, i, index);
    for (int k = s->depth; k < in->ndim; k++) index[outer + k - s->depth] = element[k];
    return outer + in->ndim - s->depth;
}

static void scatter_nd_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    const gpuc_tensor_type *at = &call->in[1];
    gpuc_scatter s = {.call = call,
                      .ctx = call->ctx,
                      .kind = gpuc_topi_scatter_kind_of(call),
                      .indices = 1,
                      .updates = 2,
                      .rows = gpuc_int(call->ctx, 1),
                      .n = gpuc_topi_par_count(call, at, at->ndim - 1),
                      .depth = tuple_depth(call),
                      .extents = call->in[0].dims,
                      .slot = tuple_slot,
                      .slot_of = slot_of_tuple,
                      .locate = locate_slice,
                      .update_index = tuple_update};
    s.inner = s.depth;
    s.slots = gpuc_topi_par_count(call, &call->in[0], s.depth);
    outs[0] = gpuc_topi_scatter_te(&s, ins);
}

/* ---- sparse_to_dense(indices, values, default) ---- */

static void infer_sparse_to_dense(gpuc_op_call *call)
{
    const gpuc_tensor_type *at = &call->in[0], *values = &call->in[1];
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "output_shape");
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (at->ndim > 2) gpuc_topi_fail(call, "the indices have %d dimensions, at most 2", at->ndim);
    gpuc_expr depth = at->ndim == 2 ? at->dims[1] : gpuc_topi_num(call, 1);
    if (shape->n > GPUC_TOPI_MAX_DIMS) gpuc_topi_fail(call, "output_shape has %d dimensions", shape->n);
    gpuc_topi_require(call, gpuc_eq(call->ctx, depth, gpuc_topi_num(call, shape->n)),
                      "an index has %s positions, output_shape %d dimensions",
                      gpuc_expr_text(call->ctx, depth), shape->n);
    if (values->ndim > 1 || (values->ndim == 1 && at->ndim == 0))
        gpuc_topi_fail(call, "the values have %d dimensions, the indices %d", values->ndim, at->ndim);
    if (values->ndim == 1) check_same(call, 1, 0, values->dims[0], at->dims[0]);
    if (call->in[2].ndim) gpuc_topi_fail(call, "the default value must be a scalar");
    for (int k = 0; k < shape->n; k++) {
        dims[k] = gpuc_attr_size(call->ctx, shape, k);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[k], gpuc_topi_num(call, 0)), "output_shape has %s",
                          gpuc_expr_text(call->ctx, dims[k]));
    }
    gpuc_topi_set_out(call, 0, values->dtype, shape->n, dims);
}

static gpuc_expr sparse_slot(const gpuc_scatter *s, gpuc_expr row, gpuc_expr i)
{
    const gpuc_tensor_type *at = &s->call->in[0];
    gpuc_expr index[] = {i, NULL}, ok = NULL, slot = gpuc_int(s->ctx, 0);
    (void)row;
    for (int k = 0; k < s->depth; k++) {
        gpuc_expr n = s->call->out[0].dims[k];
        index[1] = gpuc_int(s->ctx, k);
        gpuc_expr p = position(s, gpuc_tir_load(s->ctx, s->positions, at->ndim, index), n, false, &ok);
        slot = gpuc_add(s->ctx, gpuc_mul(s->ctx, slot, n), p);
    }
    return slot_or_none(s, ok, slot);
}

static gpuc_expr slot_of_sparse(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr i)
{
    (void)element;
    return sparse_slot(s, NULL, i);
}

static int sparse_value(const gpuc_scatter *s, const gpuc_expr *element, gpuc_expr row, gpuc_expr i,
                        gpuc_expr *index)
{
    (void)element;
    (void)row;
    index[0] = i;
    return s->call->in[1].ndim;
}

static void sparse_to_dense_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    const gpuc_tensor_type *at = &call->in[0], *out = &call->out[0];
    gpuc_scatter s = {.call = call,
                      .ctx = call->ctx,
                      .kind = GPUC_SCATTER_NONE,
                      .indices = 1,
                      .updates = 2,
                      .rows = gpuc_int(call->ctx, 1),
                      .n = gpuc_topi_par_count(call, at, at->ndim ? 1 : 0),
                      .depth = out->ndim,
                      .slots = gpuc_topi_par_count(call, out, out->ndim),
                      .inner = out->ndim,
                      .slot = sparse_slot,
                      .slot_of = slot_of_sparse,
                      .locate = locate_slice,
                      .update_index = sparse_value};
    gpuc_tensor *args[] = {ins[2], ins[0], ins[1]};
    outs[0] = gpuc_topi_scatter_te(&s, args);
}

/* ---- tensor_scatter(cache, update, write_indices): each batch's update is put into the cache at its own
 * position along the axis ---- */

static bool is_circular(const gpuc_op_call *call)
{
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "linear");
    bool circular = !strcmp(mode, "circular");
    if (!circular && strcmp(mode, "linear"))
        gpuc_topi_fail(call, "mode '%s' is not linear or circular", mode);
    return circular;
}

static void infer_tensor_scatter(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0], *update = &call->in[1];
    if (in->ndim < 2 || update->ndim != in->ndim)
        gpuc_topi_fail(call, "the cache has %d dimensions, the update %d; both need as many, at least 2",
                       in->ndim, update->ndim);
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    if (axis == 0) gpuc_topi_fail(call, "axis 0 is the batch's");
    is_circular(call);
    for (int k = 0; k < in->ndim; k++)
        if (k != axis) check_same(call, 1, k, update->dims[k], in->dims[k]);
    if (call->num_in > 2) {
        if (call->in[2].ndim != 1) gpuc_topi_fail(call, "the write indices must have one dimension");
        check_same(call, 2, 0, call->in[2].dims[0], in->dims[0]);
    }
    gpuc_topi_infer_same(call);
}

static void tensor_scatter_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], zero = gpuc_int(ctx, 0), start = zero;
    gpuc_iter **axes = gpuc_topi_axes(ctx, in, vars);
    gpuc_expr old = gpuc_te_read(ctx, ins[0], in->ndim, vars);
    if (call->num_in > 2) start = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, ins[2], 1, vars));
    gpuc_expr at = gpuc_sub(ctx, vars[axis], start);
    if (is_circular(call)) at = gpuc_floormod_(ctx, at, in->dims[axis]);
    gpuc_expr inside = gpuc_and(ctx, gpuc_le(ctx, zero, at), gpuc_lt(ctx, at, call->in[1].dims[axis]));
    vars[axis] = at;
    gpuc_expr value = gpuc_te_read(ctx, ins[1], in->ndim, vars);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_if_then_else(ctx, inside, value, old));
}

/* segment_sum(data, ids): each row of the data is added to the row of zeros that its id says. Rows behind the last id are
 * left out, as in TVM. */
static void take_segments(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_expr *ids;
    int64_t n = value ? value->i : 0, id;
    bool known = value != NULL;
    if (strcmp(w->name, "segment_sum")) {
        if (value) gpuc_op_written_fail(w, "has no attribute '%s'", spec->name);
        return;
    }
    if (!w->in || w->num_written != 2 || w->in[0].ndim < 1 || w->in[1].ndim != 1) return;
    int64_t rows, ids_there;
    if (gpuc_expr_is_int(w->in[0].dims[0], &rows) && gpuc_expr_is_int(w->in[1].dims[0], &ids_there) &&
        rows < ids_there)
        gpuc_op_written_fail(w, "the data has %lld rows, and there are %lld ids", (long long)rows,
                             (long long)ids_there);
    int count = known ? 0 : gpuc_op_values_of(w, 1, &ids);
    known |= count >= 0;
    for (int i = 0; i < count; i++) {
        known &= gpuc_expr_is_int(ids[i], &id);
        if (known && id >= n) n = id + 1;
    }
    if (!known) gpuc_op_written_fail(w, "needs %s, unless the ids are known when building", spec->name);
    if (n < 0) gpuc_op_written_fail(w, "%s is %lld", spec->name, (long long)n);
    gpuc_tensor_type zeros = w->in[0];
    gpuc_expr *dims = gpuc_ctx_memdup(w->ctx, zeros.dims, sizeof *dims * (size_t)zeros.ndim);
    dims[0] = gpuc_int(w->ctx, n);
    zeros.dims = dims;
    gpuc_op_constant_input(w, 0, zeros, 0);
    gpuc_expr places[] = {w->in[1].dims[0], gpuc_int(w->ctx, 1)};
    gpuc_op_reshape_input(w, 1, 2, places);
    w->inputs[2] = (gpuc_op_input){.from = 0};
    if (w->in[0].dims[0] != w->in[1].dims[0]) w->inputs[2].rows = w->in[1].dims[0];
    w->num_in = 3;
    gpuc_op_set_attr(w, "reduction", &(gpuc_attr){.name = "reduction", .kind = GPUC_ATTR_STRING, .s = "add"});
}

ATTRS(element_attrs, INT("axis", 0), STRING("reduction", "none"),
      VALUES("reduction", "reduction|update=none"))
ATTRS(nd_attrs, STRING("reduction", "none"), VALUES("reduction", "reduction|update=none"),
      VALUES("mode", "reduction|update=none,add=add,mul=mul,min=min,max=max"),
      {.name = "num_segments",
       .kind = GPUC_ATTR_INT,
       .take = take_segments,
       .always = true,
       .about = "of segment_sum: rows of the result"})
ATTRS(sparse_attrs, {.name = "output_shape", .kind = GPUC_ATTR_INTS, .required = true, .symbolic = true})
ATTRS(cache_attrs, INT("axis", -2), STRING("mode", "linear"))

const gpuc_op gpuc_topi_ops_scatter[] = {
    ALONE_BY(gpuc_topi_par_schedule, "scatter_elements", 3, 3, element_attrs, infer_scatter_elements,
             scatter_elements_compute, "scatter,scatter_elements", "", "Scatter,ScatterElements", GPUC_T_ANY,
             GPUC_T_INTS, GPUC_T_LIKE),
    ALONE_BY(gpuc_topi_par_schedule, "scatter_nd", 3, 3, nd_attrs, infer_scatter_nd, scatter_nd_compute,
             "scatter_nd", "", "ScatterND", GPUC_T_ANY, GPUC_T_INTS, GPUC_T_LIKE),
    ALONE_BY(gpuc_topi_par_schedule, "sparse_to_dense", 3, 3, sparse_attrs, infer_sparse_to_dense,
             sparse_to_dense_compute, "sparse_to_dense", "", "", GPUC_T_INTS, GPUC_T_ANY, GPUC_T_LIKE_1),
    MOVES_OF("tensor_scatter", 2, 3, cache_attrs, infer_tensor_scatter, tensor_scatter_compute,
             "tensor_scatter", "", "TensorScatter", GPUC_T_ANY, GPUC_T_LIKE, GPUC_T_INTS),
};
const size_t gpuc_topi_ops_scatter_count = sizeof gpuc_topi_ops_scatter / sizeof gpuc_topi_ops_scatter[0];
