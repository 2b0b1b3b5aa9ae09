/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX import: the inside. One converter per operator and, where its definition changed, opset. */
#ifndef GPUC_ONNX_ONNX_H
#define GPUC_ONNX_ONNX_H

#include <gpuc/build.h>

#include "onnx.pb-c.h"
#include "relay/evaluate.h"

typedef struct gpuc_onnx {
    gpuc_ctx *ctx;
    const gpuc_onnx_options *options;
    const Onnx__ModelProto *model;
    const char *dir;            /* of the model: where external data may lie */
    int64_t opset;              /* of the default domain, for the node being converted */
    gpuc_strmap values;         /* tensor name -> gpuc_rexpr */
    gpuc_strmap defaults;       /* input -> CONSTANT: initializers that a run may replace */
    gpuc_strmap symbols;        /* dimension name -> VAR, or the number that a bound input gives it */
    gpuc_strmap files;          /* location of external data -> gpuc_mapping, until the context goes */
    gpuc_ptrs reads;            /* gpuc_relay_read: sizes that the program computes */
    gpuc_map read_sizes;        /* gpuc_rexpr -> the symbol that its one element is read as */
    gpuc_map elements;          /* gpuc_rexpr, a list -> gpuc_rexpr *, its elements */
    gpuc_map folded;            /* gpuc_rexpr -> its constant, for what a converter needed the value of */
    gpuc_relay_budget budget;   /* of such values */
    ProtobufCAllocator *memory; /* of the model's messages */
} gpuc_onnx;

/* A node being converted. in[i] is NULL for an absent input; the converter sets out[0..]. */
typedef struct gpuc_onnx_node {
    gpuc_onnx *m;
    gpuc_ctx *ctx;
    const Onnx__NodeProto *proto;
    int n_in, n_out;
    gpuc_rexpr **in, **out;
    bool *used; /* per attribute: a converter looked at it */
} gpuc_onnx_node;

typedef void (*gpuc_onnx_convert)(gpuc_onnx_node *n);

/* Which operator of gpuc it is made of is said by that operator's row (gpuc_op.onnx): see gpuc_onnx_relay. */
typedef struct gpuc_onnx_row {
    const char *op_type;
    int from; /* the first opset of this definition */
    gpuc_onnx_convert convert;
} gpuc_onnx_row;

/* The newest row that an opset has; NULL: no such operator. INT64_MAX finds those of any opset. */
const gpuc_onnx_row *gpuc_onnx_find(const char *op_type, int64_t opset);
const char *gpuc_onnx_nearest(gpuc_ctx *ctx, const char *op_type); /* for messages; NULL */

/* The name of a domain; "" for ONNX's own, whichever way it is written. */
const char *gpuc_onnx_domain(const char *domain);

/* ---- load.c ---- */
typedef struct gpuc_onnx_messages {
    ProtobufCAllocator base;
    gpuc_allocator allocator;
    bool exhausted;
    Onnx__ModelProto *model;
} gpuc_onnx_messages;
/* The messages of a file, which are outside of the context until gpuc_onnx_free_messages: a cleanup that the
 * caller pushes. Raises. */
gpuc_onnx_messages *gpuc_onnx_parse(gpuc_ctx *ctx, const char *name, const void *data, size_t size);
gpuc_onnx_messages *gpuc_onnx_parse_file(gpuc_ctx *ctx, const char *path);
void gpuc_onnx_free_messages(void *messages);
void gpuc_onnx_need_graph(gpuc_ctx *ctx, const gpuc_onnx_messages *messages, const char *name); /* raises */
/* A model in memory. name is for messages; external data lies in dir. Raises. */
gpuc_rmodule *gpuc_onnx_load_bytes(gpuc_ctx *ctx, const void *data, size_t size, const char *name,
                                   const char *dir, const gpuc_onnx_options *options);

/* The version of the default domain, or otherwise if it is not listed; raises for one that is not
 * supported. */
int64_t gpuc_onnx_default_opset(gpuc_ctx *ctx, size_t n, Onnx__OperatorSetIdProto *const *list,
                                int64_t otherwise);

/* ---- describe.c ---- */
/* What is in messages, which are freed. */
const gpuc_onnx_description *gpuc_onnx_describe_messages(gpuc_ctx *ctx, gpuc_onnx_messages *messages,
                                                         const char *name);

/* ---- wire.c: bounds nesting and lengths before protobuf-c, which recurses without limit ---- */
GPUC_NODISCARD gpuc_status gpuc_onnx_scan(const uint8_t *data, size_t size);

/* ---- tensor.c ---- */
/* Raises for a type that gpuc does not carry, by name. */
gpuc_dtype gpuc_onnx_dtype(gpuc_ctx *ctx, int64_t data_type, const char *where);
/* The same; false for such a type. */
bool gpuc_onnx_dtype_of(int64_t data_type, gpuc_dtype *out);
/* A constant of it. Raw data of the message is given back once it is copied: a tensor is read once. */
gpuc_rexpr *gpuc_onnx_tensor(gpuc_onnx *m, Onnx__TensorProto *t, const char *name);

/* ---- external.c ---- */
/* The bytes of a tensor in a file of the model's folder, in place where their alignment allows it. */
gpuc_const_data *gpuc_onnx_external(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name,
                                    gpuc_dtype dtype, size_t size);

/* ---- bind.c ---- */
/* Enters the inputs that the options bind as constants. Initializers come before. */
void gpuc_onnx_bind_inputs(gpuc_onnx *m, const Onnx__GraphProto *g);
/* Whether the initializer of this name is the default of an input (IR version 4 or newer), and whether it may
 * stay open when building. */
enum { GPUC_ONNX_FIRST_WITH_DEFAULTS = 4 }; /* IR versions before list all initializers as inputs */
bool gpuc_onnx_is_default(const gpuc_onnx *m, const Onnx__GraphProto *g, const char *name);
bool gpuc_onnx_stays_open(const gpuc_onnx *m, const Onnx__GraphProto *g, const char *name);

/* ---- graph.c ---- */
gpuc_rmodule *gpuc_onnx_graph(gpuc_onnx *m, const Onnx__GraphProto *g);
/* For the end of a message: "; fix the model's open sizes, such as with --shape x=1,3"; "" if none is open. */
const char *gpuc_onnx_shape_hint(const gpuc_onnx *m);
/* Gives a value its name; raises if the name is taken. */
void gpuc_onnx_define(gpuc_onnx *m, const char *name, gpuc_rexpr *value, const char *what);

/* ---- inline.c, nodes.c ---- */
typedef struct gpuc_onnx_item {
    const Onnx__NodeProto *node;
    int64_t opset;
} gpuc_onnx_item;
typedef struct gpuc_onnx_items {
    gpuc_onnx_item *at;
    size_t count;
} gpuc_onnx_items;
/* The graph's nodes, with those of functions in the place of their calls. */
const gpuc_onnx_items *gpuc_onnx_inline(gpuc_onnx *m, const Onnx__GraphProto *g);
/* Converts the nodes in an order in which they can be. Raises one error for all that are not supported. */
void gpuc_onnx_convert_nodes(gpuc_onnx *m, const gpuc_onnx_items *items);
const char *gpuc_onnx_label(gpuc_ctx *ctx, const Onnx__NodeProto *p); /* its name, else that of an output */

/* ---- node.c: what converters use ---- */
#define gpuc_onnx_fail(n, ...) gpuc_raise((n)->ctx, GPUC_INVALID_ARGUMENT, __VA_ARGS__)
const Onnx__AttributeProto *gpuc_onnx_attr(gpuc_onnx_node *n, const char *name); /* NULL: not given */
int64_t gpuc_onnx_int(gpuc_onnx_node *n, const char *name, int64_t otherwise);
double gpuc_onnx_float(gpuc_onnx_node *n, const char *name, double otherwise);
const char *gpuc_onnx_string(gpuc_onnx_node *n, const char *name, const char *otherwise);
/* The list, or NULL; count in *n_out. */
const int64_t *gpuc_onnx_ints(gpuc_onnx_node *n, const char *name, int *count);
const double *gpuc_onnx_floats(gpuc_onnx_node *n, const char *name, int *count);
/* A list of exactly `rank` numbers, or `rank` times otherwise. */
const int64_t *gpuc_onnx_ints_or(gpuc_onnx_node *n, const char *name, int rank, int64_t otherwise);
void gpuc_onnx_ignore(gpuc_onnx_node *n, const char *name);
bool gpuc_onnx_has(const gpuc_onnx_node *n, int i);   /* input i was given */
bool gpuc_onnx_wants(const gpuc_onnx_node *n, int i); /* output i has a name */
bool gpuc_onnx_in_empty(gpuc_onnx_node *n, int i);    /* absent, or a list without elements */
gpuc_rexpr *gpuc_onnx_in(gpuc_onnx_node *n, int i);   /* raises if absent */
const gpuc_tensor_type *gpuc_onnx_type(gpuc_onnx_node *n, int i);
/* The constant that e is, or that it gives when it is computed from constants and known shapes; else NULL. */
const gpuc_rconstant *gpuc_onnx_constant(gpuc_onnx_node *n, gpuc_rexpr *e);
const gpuc_rconstant *gpuc_onnx_constant_in(gpuc_onnx_node *n, int i); /* of an input */
int gpuc_onnx_in_count(gpuc_onnx_node *n, int i);                      /* elements of one that is a list */
/* The elements of an input that must be known when building; raises with what to do otherwise. */
const int64_t *gpuc_onnx_in_ints(gpuc_onnx_node *n, int i, int *count);
const double *gpuc_onnx_in_floats(gpuc_onnx_node *n, int i, int *count);
/* The one number of a constant input. */
double gpuc_onnx_in_number(gpuc_onnx_node *n, int i);
/* The list from an attribute, or from input i where later opsets have it; NULL if neither is given. */
const int64_t *gpuc_onnx_axes(gpuc_onnx_node *n, const char *attr, int input, int *count);
/* Known extents of an input. */
const int64_t *gpuc_onnx_dims(gpuc_onnx_node *n, int i);
int64_t gpuc_onnx_dim(gpuc_onnx_node *n, int i, int k); /* the known extent of one dimension */
/* The number of elements in the first `to` dimensions of an input. */
gpuc_expr gpuc_onnx_elements(gpuc_onnx_node *n, int i, int to);
int gpuc_onnx_axis(gpuc_onnx_node *n, int64_t axis, int ndim);

/* ---- sizes.c: numbers that decide a shape, whether they are known when building or not ---- */
/* known: a number, or a size over the symbols of the inputs' shapes; where it is NULL, the program computes
 * it: number, a scalar int64. */
typedef struct gpuc_onnx_size {
    gpuc_expr known;
    gpuc_rexpr *number;
} gpuc_onnx_size;
/* The elements of an input that is a list of integers. */
gpuc_onnx_size *gpuc_onnx_in_numbers(gpuc_onnx_node *n, int i, int *count);
/* The same as extents: what the program computes is read while it runs, 0 or more. */
const gpuc_expr *gpuc_onnx_in_sizes(gpuc_onnx_node *n, int i, int *count);
/* A symbol for a computed integer, with what it cannot exceed (NULL: not known). */
gpuc_expr gpuc_onnx_read_size(gpuc_onnx_node *n, gpuc_rexpr *number, const char *name, gpuc_expr max);
/* The same of a number that may be negative: a difference of symbols. */
gpuc_expr gpuc_onnx_read_signed(gpuc_onnx_node *n, gpuc_onnx_size size, const char *name);
/* A size as a scalar int64. */
gpuc_rexpr *gpuc_onnx_number_of(gpuc_onnx_node *n, gpuc_onnx_size size);
gpuc_rexpr *gpuc_onnx_number(gpuc_onnx_node *n, int64_t v); /* a constant of that type */

static inline gpuc_rexpr *gpuc_onnx_op1(gpuc_onnx_node *n, const char *op, const gpuc_attrs *a, gpuc_rexpr *x)
{
    return gpuc_relay_op1(n->ctx, op, a, x);
}
static inline gpuc_rexpr *gpuc_onnx_op2(gpuc_onnx_node *n, const char *op, gpuc_rexpr *x, gpuc_rexpr *y)
{
    return gpuc_relay_op2(n->ctx, op, NULL, x, y);
}
gpuc_rexpr *gpuc_onnx_reshaped(gpuc_onnx_node *n, gpuc_rexpr *x, int ndim, const int64_t *dims);
/* Input i, a list of so many elements: where the build does not know, a run checks it; raises `otherwise`. */
gpuc_rexpr *gpuc_onnx_list_of(gpuc_onnx_node *n, int i, int64_t count, const char *otherwise);
/* x seen as a matrix whose rows start at axis. */
gpuc_rexpr *gpuc_onnx_matrix(gpuc_onnx_node *n, gpuc_rexpr *x, int axis);
gpuc_rexpr *gpuc_onnx_reshaped_sizes(gpuc_onnx_node *n, gpuc_rexpr *x, int ndim, const gpuc_expr *dims);
gpuc_rexpr *gpuc_onnx_as(gpuc_onnx_node *n, gpuc_rexpr *x, gpuc_dtype t); /* x itself if it has the type */

static inline int64_t gpuc_onnx_clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* The one operator whose row answers to the node's ONNX name, and its Relay name; raises if there is not
 * exactly one: then the converter names what it builds. */
const gpuc_op *gpuc_onnx_op(gpuc_onnx_node *n);
const char *gpuc_onnx_relay(gpuc_onnx_node *n);
/* A converter: gpuc_onnx_relay, of all inputs. */
void gpuc_onnx_simple(gpuc_onnx_node *n);

/* ---- convert_custom.c ---- */
/* For operators that an application added: inputs, outputs and attributes are the operator's. */
extern const gpuc_onnx_row gpuc_onnx_own_row;

/* ---- convert_pool.c ---- */
/* The convolution that a node's attributes describe, of input 0, the weight input 1 and, if there is an input
 * 2, the bias; its sums are made in out (0 bits: in the type of the data). */
gpuc_rexpr *gpuc_onnx_conv(gpuc_onnx_node *n, gpuc_dtype out);

/* Rows by family: each stands at the end of its convert_*.c; a NULL name ends it. */
#define GPUC_ONNX_FAMILY(name) extern const gpuc_onnx_row gpuc_onnx_rows_##name[];
#include "onnx/families.def"
#undef GPUC_ONNX_FAMILY

#endif
