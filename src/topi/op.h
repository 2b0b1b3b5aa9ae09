/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table. A row is all that gpuc knows of an operator; adding one is a row and its
 * compute. Rows live in <family>.c next to their computes; families.def lists the families. */
#ifndef GPUC_TOPI_OP_H
#define GPUC_TOPI_OP_H

#include "te/te.h"
#include "topi/attrs.h"
#include "topi/dtypes.h"

/* How fusion may treat an operator (TVM's OpPatternKind). */
typedef enum gpuc_fuse_pattern {
    GPUC_FUSE_ELEMWISE,    /* out[i] from in[i] */
    GPUC_FUSE_BROADCAST,   /* out[i] from in[i] with some dimensions dropped or 1 */
    GPUC_FUSE_INJECTIVE,   /* each output element from one element of each input, any index map */
    GPUC_FUSE_REDUCE,      /* commutative reduction */
    GPUC_FUSE_OUT_FUSABLE, /* complex; elementwise operators may join its output (convolution) */
    GPUC_FUSE_OPAQUE       /* alone */
} gpuc_fuse_pattern;

typedef struct gpuc_tensor_type {
    gpuc_dtype dtype;
    int ndim;
    const gpuc_expr *dims; /* NULL entry: unknown */
} gpuc_tensor_type;

/* One application of an operator. infer fills num_out and out (and out_values if it knows them). */
typedef struct gpuc_op_call {
    gpuc_ctx *ctx;
    const struct gpuc_op *op;
    const gpuc_attrs *attrs; /* complete: defaults filled in */
    int num_in;
    const gpuc_tensor_type *in;
    const gpuc_expr *const *in_values; /* per input: elements of a small integer tensor, or NULL; for infer */
    int num_out;
    gpuc_tensor_type *out;        /* room for GPUC_OP_MAX_OUT; more: replace by an arena array */
    const gpuc_expr **out_values; /* the same, may be set per output */
} gpuc_op_call;
#define GPUC_OP_MAX_OUT 64

/* Raises with the operator's name, the input and the mend when types do not fit. */
typedef void (*gpuc_op_infer_fn)(gpuc_op_call *call);
/* The definition in te. ins are as many tensors as call->num_in; call->out is what infer gave. */
typedef void (*gpuc_op_compute_fn)(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs);

typedef struct gpuc_attr_spec {
    const char *name;
    gpuc_attr_kind kind;
    bool required;
    int64_t i; /* default of INT; INTS default: empty list; DTYPE: none, of 0 bits */
    double f;
    const char *s;
    gpuc_dtype dtype; /* default of DTYPE; zeros: none */
    int64_t most;     /* INT, INTS: largest absolute value, which also bounds the extents of the
                         inputs, so that sums and products of them fit; 0: any */
} gpuc_attr_spec;
#define GPUC_OP_MOST_WINDOW INT32_MAX /* most of strides, padding, ... */
#define GPUC_OP_MAX_DIMS 64           /* of any input or output */
#define GPUC_OP_TYPED 6               /* inputs whose types rows tell apart */
#define GPUC_OP_MAX_VALUES 64         /* inference follows the elements of integer tensors up to this many */

typedef struct gpuc_op {
    const char *name;   /* Relay's: "nn.conv2d", "add" */
    int min_in, max_in; /* number of tensors; max -1: any number */
    /* Element types that the inputs may have. The last one given holds for those after it, too; none: any
     * types, of which infer says more. Without inputs, those of the attribute dtype. */
    gpuc_dtypes types[GPUC_OP_TYPED];
    const gpuc_attr_spec *attrs; /* ends with a NULL name; NULL: none */
    gpuc_op_infer_fn infer;
    gpuc_op_compute_fn compute; /* NULL: never computed (shape only; folded or an alias) */
    gpuc_fuse_pattern pattern;
    bool alias;                     /* output is input 0's bytes with another shape (reshape) */
    const char *topi, *nnvm, *onnx; /* other names it answers to, comma-separated; "" none */
} gpuc_op;

const gpuc_op *gpuc_op_find(const char *name); /* NULL */
size_t gpuc_op_count(void);
const gpuc_op *gpuc_op_at(size_t i);           /* family by family */
const char *gpuc_op_nearest(const char *name); /* for messages; NULL */
/* Types that input i may have; of one that must be like another, those of that one. */
gpuc_dtypes gpuc_op_types(const gpuc_op *op, int i);
/* The input whose type the operator is about: the first that may have several. */
int gpuc_op_main_input(const gpuc_op *op);

/* Checks attrs against the row (unknown, missing, wrong kind raise) and fills defaults in. */
const gpuc_attrs *gpuc_op_complete_attrs(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs);
/* Runs infer after checking the number, types and ranks of inputs, and checks what it gives: sizes fit 63
 * bits. */
void gpuc_op_infer(gpuc_op_call *call);

#endif
