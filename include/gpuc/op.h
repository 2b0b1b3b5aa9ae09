/* SPDX-License-Identifier: Apache-2.0 */
/* Operators. A row is all that gpuc knows of one: names, attributes, types, definition, how it fuses and how
 * it is scheduled. gpuc's own rows stand in its table; an application adds rows of its own to a context, and
 * models that are loaded in that context may use them: docs/adding-an-operator.md. Everything raises.
 *
 * infer says what an operator gives for inputs of some types, and compute defines it in tensor expressions.
 * Both run on the thread of the context that the call names, compute also on other threads in contexts of
 * their own: rows, and what their functions read, must not change. What the functions make lives in the
 * call's context. */
#ifndef GPUC_OP_H
#define GPUC_OP_H

#include <gpuc/attrs.h>
#include <gpuc/dtypes.h>
#include <gpuc/knobs.h>
#include <gpuc/schedule.h>
#include <gpuc/target.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    struct gpuc_ptrs *conditions; /* what gpuc_topi_require found; NULL: nobody wants to know */
} gpuc_op_call;
#define GPUC_OP_MAX_OUT 64

/* Raises with the operator's name, the input and the mend when types do not fit. */
typedef void (*gpuc_op_infer_fn)(gpuc_op_call *call);
/* The definition in te. ins are as many tensors as call->num_in; call->out is what infer gave. */
typedef void (*gpuc_op_compute_fn)(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs);

/* How a function that holds this operator alone is computed: a schedule of outputs. What a tuner may decide
 * it asks of knobs, which may be NULL. */
typedef gpuc_schedule *(*gpuc_op_schedule_fn)(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                              int num_outputs, gpuc_tensor *const *outputs);

typedef struct gpuc_attr_spec {
    const char *name;
    gpuc_attr_kind kind;
    bool required;
    int64_t i; /* default of INT; INTS default: empty list; DTYPE: none, of 0 bits */
    double f;
    const char *s;
    gpuc_dtype dtype; /* default of DTYPE; zeros: none */
    bool symbolic;    /* INTS: entries may be sizes that the build does not know */
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
    bool alias; /* output is input 0's bytes with another shape (reshape) */
    /* Other names it answers to, comma-separated; "" none. An ONNX name of another domain than ONNX's own is
     * "domain:name"; such a node has the operator's inputs, outputs and attributes. */
    const char *topi, *nnvm, *onnx;
    gpuc_op_schedule_fn schedule; /* NULL: gpuc_topi_schedule; always called if pattern is opaque */
} gpuc_op;

/* Adds a row, which is borrowed and must outlive the context. Raises if it has no name, no infer, no compute,
 * or the name of another row. */
GPUC_API void gpuc_op_register(gpuc_ctx *ctx, const gpuc_op *op);

/* ---- The table ---- */

#define GPUC_OP_NAME 64 /* bytes of a name, with its 0 */
/* The next of a comma-separated list of names (of topi, nnvm, onnx), into name; what is left, or NULL. */
GPUC_API const char *gpuc_op_next_name(const char *list, char name[GPUC_OP_NAME]);
/* gpuc's own rows, family by family. */
GPUC_API size_t gpuc_op_count(void);
GPUC_API const gpuc_op *gpuc_op_at(size_t i);
/* Types that input i may have; of one that must be like another, those of that one. Of a row without inputs
 * those of its result. */
GPUC_API gpuc_dtypes gpuc_op_types(const gpuc_op *op, int i);
/* The input whose type the operator is about: the first that may have several. */
GPUC_API int gpuc_op_main_input(const gpuc_op *op);

/* ---- For infer ---- */

/* Most dimensions of an intermediate index: enough for arrays of every operator's axes. */
#define GPUC_TOPI_MAX_DIMS 64

/* Raises "<operator>: <text>". */
#define gpuc_topi_fail(call, ...)                                                                            \
    gpuc_raise((call)->ctx, GPUC_INVALID_ARGUMENT, "%s: %s", (call)->op->name,                               \
               gpuc_topi_printf((call)->ctx, __VA_ARGS__))
GPUC_API const char *gpuc_topi_printf(gpuc_ctx *ctx, const char *fmt, ...) GPUC_PRINTF(2, 3);

/* Output i; dims are copied. */
GPUC_API void gpuc_topi_set_out(gpuc_op_call *call, int i, gpuc_dtype dtype, int ndim, const gpuc_expr *dims);
/* Room for any number of outputs; those beyond the first are set next. */
GPUC_API void gpuc_topi_set_num_out(gpuc_op_call *call, int n);
GPUC_API void gpuc_topi_infer_same(gpuc_op_call *call); /* an infer: output 0 is like input 0 */
/* The attribute, counted from the end if negative, checked against [0, ndim). */
GPUC_API int gpuc_topi_axis(const gpuc_op_call *call, const char *attr, int ndim);
/* flags[i] for each axis listed in an ints attribute; an empty list means all. */
GPUC_API void gpuc_topi_axis_flags(const gpuc_op_call *call, const char *attr, int ndim, bool *flags);
/* An ints attribute of exactly n entries. */
GPUC_API const int64_t *gpuc_topi_ints(const gpuc_op_call *call, const char *attr, int n);
/* Dimension k of input i, which must be a number. */
GPUC_API int64_t gpuc_topi_static_dim(const gpuc_op_call *call, int i, int k);
/* An ints attribute of exactly n entries, which may be expressions: into out. */
GPUC_API void gpuc_topi_sizes(const gpuc_op_call *call, const char *attr, int n, gpuc_expr *out);
/* Raises unless cond holds; what depends on symbols becomes a condition of the program. The text says what
 * is wrong if it does not hold. */
GPUC_API void gpuc_topi_require(const gpuc_op_call *call, gpuc_expr cond, const char *text, ...)
    GPUC_PRINTF(3, 4);
/* Two dimensions that must be one; NULL ones are unknown. Returns the better known. */
GPUC_API gpuc_expr gpuc_topi_same_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b, const char *what);
/* What is true of dimensions, whatever the symbols are. */
GPUC_API bool gpuc_topi_proves(gpuc_ctx *ctx, gpuc_expr cond);
/* In the form in which equal sizes are the same expression. */
GPUC_API gpuc_expr gpuc_topi_canonical(gpuc_ctx *ctx, gpuc_expr size);
/* The dimension of two operands that meet, numpy's rule; raises if they cannot. */
GPUC_API gpuc_expr gpuc_topi_broadcast_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b);
/* For an operand that is broadcast to another, which keeps its shape: raises, or makes it a condition of each
 * run, unless its dimension is 1 or equal to the other's. what: names the operand in the message ("slope").
 * NULL dimensions are not known, and fit. */
GPUC_API void gpuc_topi_require_expands(const gpuc_op_call *call, gpuc_expr dim, gpuc_expr to,
                                        const char *what);
/* The type that `count` inputs from `first` on broadcast to; the element type is that of the first. */
GPUC_API void gpuc_topi_broadcast_types(gpuc_op_call *call, int first, int count, gpuc_tensor_type *out);

/* ---- For compute ---- */

/* One axis per dimension of a type; vars[i] is the variable of axis i. */
GPUC_API gpuc_iter **gpuc_topi_axes(gpuc_ctx *ctx, const gpuc_tensor_type *t, gpuc_expr *vars);
/* Element of t for an index into a tensor of type `out` under numpy broadcasting. */
GPUC_API gpuc_expr gpuc_topi_read_broadcast(gpuc_ctx *ctx, gpuc_tensor *t, const gpuc_tensor_type *out,
                                            const gpuc_expr *index);
/* A compute with a tag, which the default schedules read: "elemwise", "broadcast", "injective", "reduce". */
GPUC_API gpuc_tensor *gpuc_topi_compute(gpuc_ctx *ctx, const char *name, const char *tag, int ndim,
                                        gpuc_iter *const *axes, gpuc_expr body);

/* ---- For schedule ---- */

/* gpuc's own default schedule: injective producers are inlined; the anchor (a reduction with reuse) gets the
 * tiling of its class. outputs are computed from placeholders through any number of computes. */
GPUC_API gpuc_schedule *gpuc_topi_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                           int num_outputs, gpuc_tensor *const *outputs);

#ifdef __cplusplus
}
#endif
#endif
