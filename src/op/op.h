/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table: gpuc's own rows live in topi, next to their computes (topi/table.c lists the families); rows that an application adds belong to its context or runtime. */
#ifndef GPUC_OP_OP_H
#define GPUC_OP_OP_H

#include <gpuc/op.h>

#include "base/buf.h"
#include "te/te.h"

/* What must hold of sizes that are not known when building, for an operator to make sense. */
typedef struct gpuc_op_condition {
    gpuc_expr cond;
    const char *text; /* what is wrong if it does not hold */
} gpuc_op_condition;

const gpuc_op *gpuc_op_find(const char *name);                  /* of the table; NULL */
const gpuc_op *gpuc_op_lookup(gpuc_ctx *ctx, const char *name); /* of the table, or added; NULL */
/* The row that an operator of ONNX is made of: in ONNX's own domain, "", the one of the table that lists it
 * (NULL if several do, or none); in others the first that was added and lists "domain:name". */
const gpuc_op *gpuc_op_find_onnx(gpuc_ctx *ctx, const char *domain, const char *name);
const char *gpuc_op_nearest(gpuc_ctx *ctx, const char *name); /* for messages; NULL */
/* By Relay's name, or one that it answers to in TOPI or NNVM: the first row of the table that does; NULL. */
const gpuc_op *gpuc_op_named(const char *name);

/* Attributes as programs print them: "axis=[1], mode="edge", dtype=int8". A number does for a list of one. */
const gpuc_attrs *gpuc_op_parse_attrs(gpuc_ctx *ctx, const gpuc_op *op, const char *text);
/* attrs with one more, whose value is written as text. */
const gpuc_attrs *gpuc_op_parse_attr(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs,
                                     const gpuc_attr_spec *spec, const char *value);
/* Checks attrs against the row (unknown, missing, wrong kind raise) and fills defaults in. */
const gpuc_attrs *gpuc_op_complete_attrs(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs);
/* Runs infer after checking the number, types and ranks of inputs, and checks what it gives: sizes fit 63
 * bits. */
void gpuc_op_infer(gpuc_op_call *call);

/* The largest value that a size can have; symbols are extents. */
int64_t gpuc_op_max_size(gpuc_ctx *ctx, gpuc_expr size);

/* Prints strides=[2, 2], mode="reflect". first_names: values that were renamed have the names of old tuning logs. */
void gpuc_op_attrs_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_attrs *a, bool first_names);

#endif
