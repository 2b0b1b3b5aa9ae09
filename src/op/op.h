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

const gpuc_op *gpuc_op_find(const char *name); /* of the table; NULL */
/* That a program added to the runtime; NULL. */
const gpuc_op *gpuc_op_find_in(gpuc_runtime *rt, const char *name);
/* Is name one of a comma-separated list, which may be NULL? */
bool gpuc_op_lists(const char *list, const char *name);
/* Of the table by any of its names, or added; NULL, also for an alias that chooses a row by an attribute. */
const gpuc_op *gpuc_op_lookup(gpuc_ctx *ctx, const char *name);
/* The row that an operator of ONNX is made of: in ONNX's own domain, "", the one of the table that lists it
 * (NULL if several do, or none); in others the first that was added and lists "domain:name". */
const gpuc_op *gpuc_op_find_onnx(gpuc_ctx *ctx, const char *domain, const char *name);
const char *gpuc_op_nearest(gpuc_ctx *ctx, const char *name); /* for messages; NULL */

/* Calls each with every row that was added to the runtime, by name. */
void gpuc_op_each_added(gpuc_runtime *rt, void (*each)(void *arg, const gpuc_op *op), void *arg);
/* A function of the registry that gpuc_op_register_in calls with the handle of a new row, where it is there; if it
 * fails the row is not added. */
#define GPUC_OP_ADDED "compiler.op_added"

#define GPUC_OP_USE_KNOB 48 /* bytes of the name of a knob of implementations, with its 0 */
/* The knob by which a tuner takes the implementation, which is no other's. */
const char *gpuc_op_use_knob(const gpuc_op_implementation *m, char knob[GPUC_OP_USE_KNOB]);

/* A name of another system that stands for a row in a way of its own: it chooses the row by an attribute, or has
 * other defaults or another order of inputs (op/table.h). */
typedef struct gpuc_op_alias gpuc_op_alias;
/* What a name stands for: a row, by its own name or one that it lists, or an alias. */
typedef struct gpuc_op_name {
    const gpuc_op *op;
    const gpuc_op_alias *alias; /* NULL: it is the row itself */
} gpuc_op_name;
/* Row names come first, then aliases, names in TOPI, names in NNVM. NULL: there is none. */
const gpuc_op_name *gpuc_op_named(gpuc_ctx *ctx, const char *name);
/* The same with rows that were added, which come before names that rows of the table list. */
gpuc_op_name gpuc_op_lookup_name(gpuc_ctx *ctx, const char *name);
/* Calls each with every name of the table; where one stands for several, the first counts. */
void gpuc_op_each_name(void (*each)(void *arg, const char *name, const gpuc_op_name *what), void *arg);

/* The row that an alias chooses by its attribute (NULL: not given), for data of that spatial rank. */
const gpuc_op *gpuc_op_choose(gpuc_ctx *ctx, const gpuc_op_alias *a, const gpuc_attr *by, int rank);
/* Finds the row for w->name and gives it all its attributes (w->attrs): defaults, and what follows from other
 * spellings and from the types of inputs. The caller sets ctx, name, given, num_in, in. Raises for unknown names,
 * and unknown, missing and wrong attributes. */
void gpuc_op_complete(gpuc_op_written *w);

/* Attributes as programs print them: "axis=[1], mode="edge", dtype=int8", of the row or in other spellings. A number
 * does for a list of one. */
const gpuc_attrs *gpuc_op_parse_attrs(gpuc_ctx *ctx, const gpuc_op_name *what, const char *text);
const gpuc_attrs *gpuc_op_parse_row_attrs(gpuc_ctx *ctx, const gpuc_op *op, const char *text);
/* How the row's calls may have an attribute; NULL, or raises: in no way. */
const gpuc_attr_spec *gpuc_op_find_spec(const gpuc_op *op, const char *name);
const gpuc_attr_spec *gpuc_op_need_spec(gpuc_ctx *ctx, const gpuc_op *op, const char *name);
/* For take functions: sets an attribute of the row. */
void gpuc_op_set_attr(gpuc_op_written *w, const char *name, const gpuc_attr *value);
/* The list a with the value under that name. */
const gpuc_attrs *gpuc_op_attrs_put(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name,
                                    const gpuc_attr *value);
/* attrs with the sizes that are keys of the map replaced by their values. */
const gpuc_attrs *gpuc_op_attrs_substitute(gpuc_ctx *ctx, const gpuc_attrs *attrs, const gpuc_map *by);
/* attrs with one more, whose value is written as text. */
const gpuc_attrs *gpuc_op_parse_attr(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs,
                                     const gpuc_attr_spec *spec, const char *value);
/* The same for a row whose inputs are not known: lists that follow from them stay as they are. */
const gpuc_attrs *gpuc_op_complete_attrs(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs);
/* Runs infer after checking the number, types and ranks of inputs, and checks what it gives: sizes fit 63
 * bits. */
void gpuc_op_infer(gpuc_op_call *call);

/* The largest value that a size can have; symbols are extents. */
int64_t gpuc_op_max_size(gpuc_ctx *ctx, gpuc_expr size);

/* Prints strides=[2, 2], mode="reflect". first_names: as tuning logs have it, with the first names of values that were
 * renamed, and without what operators got later. */
void gpuc_op_attrs_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_attrs *a, bool first_names);

#endif
