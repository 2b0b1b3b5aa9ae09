/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of few elements, and their products with many columns of numbers. */
#ifndef GPUC_TOPI_LINALG_SPARSE_H
#define GPUC_TOPI_LINALG_SPARSE_H

#include "topi/parallel.h"

/* data, the column of each element (indices), and where each row begins in these (indptr). Elements are numbers (CSR) or
 * blocks of rows and columns, of which indices and indptr say which (BSR). */
typedef struct gpuc_sparse {
    gpuc_ctx *ctx;
    const gpuc_tir_buffer *data, *indices, *indptr;
    gpuc_expr rows, columns; /* of blocks, in a matrix of blocks; columns of the whole matrix */
    gpuc_expr block[2];      /* rows and columns of a block; NULL: CSR */
} gpuc_sparse;

/* Entry i of positions, between these, as int32: there is less of all than that counts. */
gpuc_expr gpuc_topi_sparse_position(gpuc_ctx *ctx, const gpuc_tir_buffer *positions, gpuc_expr i,
                                    gpuc_expr lo, gpuc_expr hi);
/* Where a row of blocks begins, and how many elements it has behind `from`, a variable of that value; as int32. */
gpuc_expr gpuc_topi_sparse_begin(const gpuc_sparse *s, gpuc_expr row);
gpuc_expr gpuc_topi_sparse_count(const gpuc_sparse *s, gpuc_expr row, gpuc_expr from);
/* The column of the whole matrix of element j, an int32; c: the column in a block. */
gpuc_expr gpuc_topi_sparse_column(const gpuc_sparse *s, gpuc_expr j, gpuc_expr c);
/* What that element is; r: the row in a block. */
gpuc_expr gpuc_topi_sparse_element(const gpuc_sparse *s, gpuc_expr j, gpuc_expr r, gpuc_expr c);

/* Each row of the matrix is multiplied with the columns of numbers that lie at the places of an image, or in the rows of a
 * dense matrix. */
typedef struct gpuc_sparse_product {
    gpuc_sparse s;
    const gpuc_op_call *call;
    const gpuc_te_op *op;
    gpuc_dtype wide;            /* of sums */
    gpuc_expr rows, batches;    /* of the result */
    bool is_image;              /* nn.sparse_conv2d */
    int lanes, vectors, chains; /* places of a vector, vectors of a tile, sums of each place */
    bool is_aligned;            /* vectors are loaded from multiples of their lanes only */
    const gpuc_tir_buffer
        *numbers; /* place by place for each column; NULL: as input 0 has them, of one place */
} gpuc_sparse_product;

/* The layout of the numbers, from the sizes of a tile (sparse_places.c). */

/* Places of a batch, of which some may not exist. */
gpuc_expr gpuc_topi_sparse_places(const gpuc_sparse_product *p);
/* How many numbers there are, number e, and where those of a column begin, which goes on with the places in order. */
gpuc_expr gpuc_topi_sparse_size(const gpuc_sparse_product *p);
gpuc_expr gpuc_topi_sparse_number(const gpuc_sparse_product *p, gpuc_expr e);
gpuc_expr gpuc_topi_sparse_offset(const gpuc_sparse_product *p, gpuc_expr batch, gpuc_expr column);
/* Whether n places from this on exist; NULL: they do. */
gpuc_expr gpuc_topi_sparse_exist(const gpuc_sparse_product *p, gpuc_expr place, int n);
/* The index of the result. */
void gpuc_topi_sparse_index(const gpuc_sparse_product *p, gpuc_expr row, gpuc_expr batch, gpuc_expr place,
                            gpuc_expr *index);

/* The body for a target that is known; NULL: where each element of the result alone is faster. */
gpuc_stmt gpuc_topi_sparse_product_body(const gpuc_sparse_product *p, const gpuc_target *target,
                                        gpuc_knobs *knobs);

#endif
