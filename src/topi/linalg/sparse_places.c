/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that a sparse matrix is multiplied with, in the order in which vectors want them: those of neighbouring places
 * side by side. A dense matrix is turned. An image gets its padding; its rows follow each other with it, so that a tap of
 * the kernel is a distance, and places in the padding do not exist. */
#include <string.h>

#include "topi/linalg/sparse.h"

static gpuc_expr num(const gpuc_sparse_product *p, int64_t n)
{
    return gpuc_int(p->s.ctx, n);
}

static gpuc_expr multiple(const gpuc_sparse_product *p, gpuc_expr n, int64_t of)
{
    gpuc_ctx *ctx = p->s.ctx;
    return gpuc_mul(ctx, gpuc_topi_par_ceildiv(ctx, n, num(p, of)), num(p, of));
}

static int tile_of(const gpuc_sparse_product *p)
{
    return p->lanes * p->vectors;
}

/* ---- Images ---- */

typedef struct image {
    int channels, rows;  /* dimensions */
    const int64_t *taps; /* of rows and columns */
    gpuc_expr batch, depth, height, width;
    gpuc_expr line, plane; /* with padding */
    int64_t copies;        /* each of which begins a column later, so that vectors are aligned */
} image;

static image image_of(const gpuc_sparse_product *p)
{
    gpuc_ctx *ctx = p->s.ctx;
    const gpuc_expr *dims = p->call->in[0].dims;
    bool last = !strcmp(gpuc_attrs_get_string(p->call->attrs, "layout", "NHWC"), "NHWC");
    image m = {.channels = last ? 3 : 1,
               .rows = last ? 1 : 2,
               .taps = gpuc_topi_ints(p->call, "kernel_size", 2),
               .batch = dims[0]};
    m.depth = dims[m.channels];
    m.height = dims[m.rows];
    m.width = dims[m.rows + 1];
    m.copies = p->is_aligned ? m.taps[1] : 1;
    m.line = p->is_aligned ? multiple(p, m.width, p->lanes) : gpuc_add(ctx, m.width, num(p, m.taps[1] - 1));
    m.plane = gpuc_mul(ctx, gpuc_add(ctx, m.height, num(p, m.taps[0] - 1)), m.line);
    return m;
}

static gpuc_expr image_number(const gpuc_sparse_product *p, gpuc_expr e)
{
    gpuc_ctx *ctx = p->s.ctx;
    image m = image_of(p);
    gpuc_expr zero = num(p, 0), one = num(p, 1), at[5], index[4];
    const gpuc_expr dims[] = {num(p, m.copies), m.batch, m.depth,
                              gpuc_add(ctx, m.height, num(p, m.taps[0] - 1)), m.line};
    gpuc_topi_par_unravel(ctx, 5, dims, e, at);
    gpuc_expr y = gpuc_sub(ctx, at[3], num(p, m.taps[0] / 2)),
              x = gpuc_sub(ctx, at[4], num(p, m.taps[1] / 2));
    if (m.copies > 1) x = gpuc_add(ctx, x, at[0]);
    gpuc_expr inside = gpuc_lt(ctx, at[0], num(p, m.copies));
    inside = gpuc_and(ctx, inside, gpuc_and(ctx, gpuc_ge(ctx, y, zero), gpuc_lt(ctx, y, m.height)));
    inside = gpuc_and(ctx, inside, gpuc_and(ctx, gpuc_ge(ctx, x, zero), gpuc_lt(ctx, x, m.width)));
    index[0] = at[1];
    index[m.channels] = at[2];
    index[m.rows] = gpuc_topi_par_clamp(ctx, y, zero, gpuc_sub(ctx, m.height, one));
    index[m.rows + 1] = gpuc_topi_par_clamp(ctx, x, zero, gpuc_sub(ctx, m.width, one));
    gpuc_expr number = gpuc_cast(ctx, p->wide, gpuc_tir_load(ctx, p->op->input_buffers[0], 4, index));
    return gpuc_if_then_else(ctx, inside, number, gpuc_imm(ctx, p->wide, 0));
}

/* ---- Either ---- */

/* From one column of numbers to the next, in a dense matrix. */
static gpuc_expr stride(const gpuc_sparse_product *p)
{
    return multiple(p, p->call->in[0].dims[0], tile_of(p));
}

gpuc_expr gpuc_topi_sparse_places(const gpuc_sparse_product *p)
{
    if (!p->is_image) return p->call->in[0].dims[0];
    image m = image_of(p);
    return gpuc_mul(p->s.ctx, m.height, m.line);
}

/* Behind the last plane of an image lies what its last tile reads. */
gpuc_expr gpuc_topi_sparse_size(const gpuc_sparse_product *p)
{
    gpuc_ctx *ctx = p->s.ctx;
    if (!p->is_image) return gpuc_mul(ctx, p->call->in[0].dims[1], stride(p));
    image m = image_of(p);
    gpuc_expr planes = gpuc_mul(ctx, gpuc_mul(ctx, m.batch, m.depth), num(p, m.copies));
    gpuc_expr behind = multiple(p, num(p, tile_of(p) + m.taps[1]), p->lanes);
    return gpuc_add(ctx, gpuc_mul(ctx, planes, m.plane), behind);
}

gpuc_expr gpuc_topi_sparse_number(const gpuc_sparse_product *p, gpuc_expr e)
{
    gpuc_ctx *ctx = p->s.ctx;
    if (p->is_image) return image_number(p, e);
    gpuc_expr rows = p->call->in[0].dims[0], width = stride(p), place = gpuc_floormod_(ctx, e, width);
    gpuc_expr at[] = {gpuc_min(ctx, place, gpuc_sub(ctx, rows, num(p, 1))), gpuc_floordiv_(ctx, e, width)};
    return gpuc_cast(ctx, p->wide, gpuc_tir_load(ctx, p->op->input_buffers[0], 2, at));
}

gpuc_expr gpuc_topi_sparse_offset(const gpuc_sparse_product *p, gpuc_expr batch, gpuc_expr column)
{
    gpuc_ctx *ctx = p->s.ctx;
    if (!p->is_image) return gpuc_mul(ctx, column, stride(p));
    image m = image_of(p);
    gpuc_expr depth = gpuc_max(ctx, num(p, 1), m.depth), taps = num(p, m.taps[1]);
    gpuc_expr tap = gpuc_floordiv_(ctx, column, depth), channel = gpuc_floormod_(ctx, column, depth);
    gpuc_expr y = gpuc_floordiv_(ctx, tap, taps), x = gpuc_floormod_(ctx, tap, taps), plane = batch;
    if (m.copies > 1) plane = gpuc_add(ctx, gpuc_mul(ctx, x, m.batch), batch);
    plane = gpuc_add(ctx, gpuc_mul(ctx, plane, m.depth), channel);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, plane, m.plane), gpuc_mul(ctx, y, m.line));
    return m.copies > 1 || m.taps[1] == 1 ? at : gpuc_add(ctx, at, x);
}

static bool divides(gpuc_expr n, int64_t by)
{
    int64_t value;
    return gpuc_expr_is_int(n, &value) && value % by == 0;
}

gpuc_expr gpuc_topi_sparse_exist(const gpuc_sparse_product *p, gpuc_expr place, int n)
{
    gpuc_ctx *ctx = p->s.ctx;
    gpuc_expr end = gpuc_add(ctx, place, num(p, n));
    if (!p->is_image) {
        gpuc_expr rows = p->call->in[0].dims[0];
        return divides(rows, tile_of(p)) ? NULL : gpuc_le(ctx, end, rows);
    }
    image m = image_of(p);
    gpuc_expr x = gpuc_add(ctx, gpuc_floormod_(ctx, place, m.line), num(p, n));
    gpuc_expr inside = gpuc_le(ctx, end, gpuc_mul(ctx, m.height, m.line));
    return gpuc_and(ctx, inside, gpuc_le(ctx, x, m.width));
}

void gpuc_topi_sparse_index(const gpuc_sparse_product *p, gpuc_expr row, gpuc_expr batch, gpuc_expr place,
                            gpuc_expr *index)
{
    gpuc_ctx *ctx = p->s.ctx;
    if (!p->is_image) {
        bool left = gpuc_attrs_get_int(p->call->attrs, "sparse_lhs", 0) != 0;
        index[left] = place;
        index[!left] = row;
        return;
    }
    image m = image_of(p);
    index[0] = batch;
    index[m.channels] = row;
    index[m.rows] = gpuc_floordiv_(ctx, place, m.line);
    index[m.rows + 1] = gpuc_floormod_(ctx, place, m.line);
}
