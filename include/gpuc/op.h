/* SPDX-License-Identifier: Apache-2.0 */
/* Operators. A row is everything that gpuc knows of an operator: names, attributes, types, definition,
 * fusion and schedule. gpuc has a table of rows; an application adds its own rows to a context, and models
 * that are loaded in that context may use them (docs/adding-an-operator.md). All functions raise.
 *
 * infer computes the types of the outputs from those of the inputs, and compute defines the outputs as
 * tensor expressions. Both run on the thread of call->ctx; compute may also run on other threads, each
 * with a context of its own. So rows, and data that their functions read, must not change. Results live in
 * call->ctx. */
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

/* The type of a tensor. */
typedef struct gpuc_tensor_type {
    gpuc_dtype dtype;      /* of an element: one lane */
    int ndim;              /* of dims; 0: a scalar */
    const gpuc_expr *dims; /* NULL entry: unknown */
} gpuc_tensor_type;

/* One application of an operator. infer fills num_out and out (and out_values if it knows them). */
typedef struct gpuc_op_call {
    gpuc_ctx *ctx;                     /* where results are made */
    const struct gpuc_op *op;          /* the operator's row */
    const gpuc_attrs *attrs;           /* complete: defaults filled in */
    int num_in;                        /* number of inputs */
    const gpuc_tensor_type *in;        /* their types */
    const gpuc_expr *const *in_values; /* per input: elements of a small integer tensor, or NULL; for infer */
    int num_out;                       /* number of outputs */
    gpuc_tensor_type *out;             /* room for GPUC_OP_MAX_OUT; more: replace by an arena array */
    const gpuc_expr **out_values;      /* the same, may be set per output */
    struct gpuc_ptrs *conditions;      /* filled by gpuc_topi_require; NULL: not collected */
} gpuc_op_call;
/* Outputs that gpuc_op_call.out has room for at first. */
#define GPUC_OP_MAX_OUT 64

/* Computes the output types. Raises where types do not fit; the message names the operator and the input, and
 * says what would fit. */
typedef void (*gpuc_op_infer_fn)(gpuc_op_call *call);
/* Defines the outputs: sets outs[0 .. num_out) to tensors that are computed from ins[0 .. num_in). call->out
 * has the types that infer computed. */
typedef void (*gpuc_op_compute_fn)(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs);

/* Schedules a function that holds this operator alone; outputs are its results. It asks knobs, which may be
 * NULL, for what a tuner may decide. */
typedef gpuc_schedule *(*gpuc_op_schedule_fn)(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                              int num_outputs, gpuc_tensor *const *outputs);

/* What each entry of a list belongs to, so that a list may be left out, or have fewer entries. */
typedef enum gpuc_attr_each {
    GPUC_EACH_GIVEN, /* none: the list is as it is given */
    GPUC_EACH_AXIS,  /* a dimension of input 0 */
    GPUC_EACH_SPACE, /* a spatial dimension: those of input 0 but two */
    GPUC_EACH_SIDE /* the beginnings of the spatial dimensions, then their ends; one entry is for all, as many as
                      * there are dimensions for both sides */
} gpuc_attr_each;

struct gpuc_op_written;
struct gpuc_attr_spec;
/* Sets attributes of the row from another spelling of them, spec, that a call was written with, or changes what the
 * call has otherwise. value is NULL where it was not written (gpuc_attr_spec.always). */
typedef void (*gpuc_attr_take_fn)(struct gpuc_op_written *w, const struct gpuc_attr_spec *spec,
                                  const gpuc_attr *value);

/* An attribute that an operator takes: name, kind, default and bounds. */
typedef struct gpuc_attr_spec {
    const char *name;    /* NULL ends a list */
    gpuc_attr_kind kind; /* of its value */
    bool required;       /* a call without it is an error; there is no default */
    int64_t i;           /* default of INT; INTS default: empty list; DTYPE: none, of 0 bits */
    double f;            /* default of FLOAT */
    const char *s;       /* default of STRING; NULL: "". Default of FLOATS as text; NULL: an empty list */
    gpuc_dtype dtype;    /* default of DTYPE; zeros: none */
    bool symbolic;       /* INTS: entries may be sizes that the build does not know */
    /* INT, INTS: largest absolute value, which also bounds the extents of the inputs, so that sums and products
     * of them fit; 0: any. */
    union {
        int64_t max;
        int64_t most; /* old name */
    };
    /* INTS: which entries there are. A list without entries gets i for each, and one entry is for all. */
    gpuc_attr_each each;
    /* Another spelling, as other systems have it: take sets attributes of the row from it. Calls never have it. With
     * the name of an attribute of the row it says how that may be written. */
    gpuc_attr_take_fn take;
    const char *to;    /* for take: the attribute of the row, or what take wants to know */
    bool always;       /* take is asked also where the spelling is not written */
    const char *about; /* in a few words, for people; NULL: nothing */
} gpuc_attr_spec;
#define GPUC_OP_MAX_WINDOW INT32_MAX           /* max of strides, padding, ... */
#define GPUC_OP_MOST_WINDOW GPUC_OP_MAX_WINDOW /* old name */
#define GPUC_OP_MAX_DIMS 64                    /* of any input or output */
#define GPUC_OP_TYPED 6                        /* number of inputs whose types a row states one by one */
#define GPUC_OP_MAX_VALUES 64 /* inference follows the elements of integer tensors up to this many */

/* An operator's row. */
typedef struct gpuc_op {
    const char *name;   /* Relay's: "nn.conv2d", "add" */
    int min_in, max_in; /* number of tensors; max -1: any number */
    /* Element types that the inputs may have; the last entry holds for all further inputs. No entry: infer
     * checks the types. For an operator without inputs: the types that the attribute dtype may have. */
    gpuc_dtypes types[GPUC_OP_TYPED];
    const gpuc_attr_spec *attrs; /* ends with a NULL name; NULL: none */
    gpuc_op_infer_fn infer;      /* types of the outputs from those of the inputs */
    gpuc_op_compute_fn compute;  /* NULL: never computed (shape only; folded or an alias) */
    gpuc_fuse_pattern pattern;   /* which operators it may be fused with */
    bool alias;                  /* output is input 0's bytes with another shape (reshape) */
    /* Further names, comma-separated; "": none. An ONNX operator of another domain than ONNX's own is
     * "domain:name"; its nodes have the inputs, outputs and attributes of this row. */
    const char *topi, *nnvm, *onnx;
    gpuc_op_schedule_fn schedule; /* NULL: gpuc_topi_schedule; always called if pattern is opaque */
} gpuc_op;

/* ---- Other spellings ---- */

/* What happens to an input of a written call before the row gets it. */
typedef struct gpuc_op_input {
    int from;                  /* number among the written inputs; -1: it is a constant */
    int64_t first, columns;    /* that many of the last dimension, from the first on; columns 0: all */
    int num_axes;              /* of axes */
    const int64_t *axes;       /* the order of its dimensions for the row; NULL: as it is */
    int ndim;                  /* of dims */
    const gpuc_expr *dims;     /* to which it is reshaped; -1: what is left; NULL: as it is */
    gpuc_dtype cast;           /* of 0 bits: as it is */
    gpuc_tensor_type constant; /* type of the constant */
    double value;              /* of each of its elements */
    gpuc_expr rows;            /* that many of the first dimension, from the beginning; NULL: all */
} gpuc_op_input;
#define GPUC_OP_WRITTEN_IN 8 /* number of inputs that may be changed */

/* A call as it is written: names and attributes may be those of other systems. */
typedef struct gpuc_op_written {
    gpuc_ctx *ctx;              /* where lists and texts are made */
    const gpuc_op *op;          /* the row; take may choose another */
    const char *name;           /* by which the row was named */
    const gpuc_attrs *given;    /* attributes as they are written */
    const gpuc_attrs *attrs;    /* those of the row */
    int num_in;                 /* number of inputs of the row; take may change it */
    const gpuc_tensor_type *in; /* types of the inputs as written; NULL: not known */
    const gpuc_expr *const
        *in_values;  /* per input: elements of a small integer tensor, or NULL; NULL: as in */
    int num_written; /* number of these */
    gpuc_op_input inputs[GPUC_OP_WRITTEN_IN]; /* what the row gets, for the first num_in inputs */
    bool changed;                             /* some input is not as written */
    int bias;                                 /* written input that is added to the result; -1: none */
    int bias_axis;                            /* along this axis */
    gpuc_dtype out_dtype;                     /* that result 0 is cast to; of 0 bits: as it is */
} gpuc_op_written;

/* Raises "<name>: <text>". */
#define gpuc_op_written_fail(w, ...)                                                                         \
    gpuc_raise((w)->ctx, GPUC_INVALID_ARGUMENT, "%s: %s", (w)->name, gpuc_topi_printf((w)->ctx, __VA_ARGS__))
/* A take function: the row's attribute that spec->to names has the value. */
GPUC_API void gpuc_op_take_same(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* A take function: spec->to is "attribute|written=value,...", which says the row's value for each written one. */
GPUC_API void gpuc_op_take_value(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);
/* A take function: only the values in spec->to, "NCHW,NCW", are computed; others are refused. */
GPUC_API void gpuc_op_take_only(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);

/* A take function: what other systems have and the row does not. Calls that have it are refused with spec->about, one
 * sentence. */
GPUC_API void gpuc_op_take_refused(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value);

/* Adds a row, which is borrowed and must outlive the context. Raises if it has no name, no infer, no compute,
 * or the name of another row. */
GPUC_API void gpuc_op_register(gpuc_ctx *ctx, const gpuc_op *op);
/* Adds a row for all contexts of a runtime (gpuc_ctx_set_runtime): how a plug-in brings an operator. It stands in the
 * registry as op.<name>, a function without arguments that gives the row as a handle, and where the compiler is registered
 * (gpuc_compiler_register, before or after) as topi.<name>, by this name and by those that topi and nnvm list, unless
 * other rows have these. The row is borrowed and must
 * outlive the runtime. INVALID_ARGUMENT where gpuc_op_register raises. As for the registry: not beside other threads
 * that use the runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_op_register_in(gpuc_runtime *rt, const gpuc_op *op);

/* ---- Implementations ---- */

#define GPUC_OP_OWN_PRIORITY 10 /* of the row's own compute and schedule */
/* Another way to compute an operator, for some targets and calls (TVM: OpImplementation of an OpStrategy). Calls are
 * those that the passes of a build leave, which `gpuc inspect` names. Of those that apply to a call the one with the
 * largest priority is taken, the row's own if it has that; of equal ones that whose name comes first. A tuner may take
 * others: the knob use_<name>, with '_' for '.', is 1 for the one that is taken, and stands in its records.
 * `gpuc inspect` has its name behind the kernel's. */
typedef struct gpuc_op_implementation {
    const char *name;    /* "example.dense_split": at most 36 letters, digits, '_' and '.' */
    const char *op;      /* the row's name */
    const char *targets; /* kinds of targets, comma-separated, without spaces: "vulkan,opencl"; NULL: all */
    int priority;        /* any number but GPUC_OP_OWN_PRIORITY; lower ones are taken by a tuner alone */
    /* Whether it computes this call, whose types are known, on the target; NULL: it computes all. */
    bool (*applies)(const gpuc_op_call *call, const gpuc_target *target);
    gpuc_op_compute_fn compute;   /* NULL: the row's */
    gpuc_op_schedule_fn schedule; /* of functions of this operator alone; NULL: gpuc_topi_schedule */
} gpuc_op_implementation;

/* Adds an implementation for all builds of contexts that know the runtime (gpuc_ctx_set_runtime). It is borrowed and must
 * outlive the runtime. INVALID_ARGUMENT: no name or a wrong one, that of another implementation or one with the same knob, no row of that name
 * among gpuc's own and the runtime's, targets that are no list, the priority of the row's own, neither compute nor
 * schedule. As for the registry: not beside
 * other threads that use the runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_op_implement(gpuc_runtime *rt,
                                                      const gpuc_op_implementation *implementation);
/* Implementation i of the row of that name in the runtime of the context, by falling priority; NULL where there is none. */
GPUC_API const gpuc_op_implementation *gpuc_op_implementation_at(gpuc_ctx *ctx, const char *op, size_t i);

/* ---- The table ---- */

#define GPUC_OP_NAME 64 /* bytes of a name, with its 0 */
/* The next of a comma-separated list of names (of topi, nnvm, onnx), into name; what is left, or NULL. */
GPUC_API const char *gpuc_op_next_name(const char *list, char name[GPUC_OP_NAME]);
/* gpuc's own rows, family by family. */
GPUC_API size_t gpuc_op_count(void);
/* Row i of them, which lives as long as the library; NULL where there is none. */
GPUC_API const gpuc_op *gpuc_op_at(size_t i);
/* The row of that name, its own, one that it lists or an alias, or a row that was added. Of an alias that chooses a row
 * by an attribute, the first that it may choose. Raises where there is none, with the nearest name. */
GPUC_API const gpuc_op *gpuc_op_get(gpuc_ctx *ctx, const char *name);
/* Calls each with every name that stands for one of several rows, of which one is given, or for a row with defaults of
 * its own. */
GPUC_API void gpuc_op_each_alias(void (*each)(void *arg, const char *name, const gpuc_op *row), void *arg);
/* The number of rows that were added to the context and to its runtime. */
GPUC_API size_t gpuc_op_added_count(gpuc_ctx *ctx);
/* Row i of them: the context's in the order in which they were added, then the runtime's by name; NULL where there is
 * none. */
GPUC_API const gpuc_op *gpuc_op_added_at(gpuc_ctx *ctx, size_t i);
/* The element types that input i may have. Where it must have the type of another input, they are those of
 * that input; where the row has no inputs, those of its result. */
GPUC_API gpuc_dtypes gpuc_op_types(const gpuc_op *op, int i);
/* The relation of the row for inputs of unknown sizes, as inference says it with fresh symbols, a0, a1, ... of input 0,
 * b0, ... of input 1, and default attributes: "float32[a0, a1], float32[b0, b1] -> float32[a0, b0] where a1 == b1". Of
 * several ranks that inputs may have it takes one; channels and windows are numbers, 8 and 3, where the row has to know
 * them. NULL: it depends on values of inputs, or on attributes that have no default. */
GPUC_API const char *gpuc_op_relation(gpuc_ctx *ctx, const gpuc_op *op);
/* The input whose element type tells calls of the operator apart: the first that may have several types. */
GPUC_API int gpuc_op_main_input(const gpuc_op *op);

/* ---- For infer ---- */

/* Max dimensions of an intermediate index: enough for arrays of every operator's axes. */
#define GPUC_TOPI_MAX_DIMS 64

/* Raises "<operator>: <text>". */
#define gpuc_topi_fail(call, ...)                                                                            \
    gpuc_raise((call)->ctx, GPUC_INVALID_ARGUMENT, "%s: %s", (call)->op->name,                               \
               gpuc_topi_printf((call)->ctx, __VA_ARGS__))
/* A formatted text in the context. */
GPUC_API const char *gpuc_topi_printf(gpuc_ctx *ctx, const char *fmt, ...) GPUC_PRINTF(2, 3);

/* Output i; dims are copied. */
GPUC_API void gpuc_topi_set_out(gpuc_op_call *call, int i, gpuc_dtype dtype, int ndim, const gpuc_expr *dims);
/* Sets the number of outputs, and makes room for their types, which are set next. */
GPUC_API void gpuc_topi_set_num_out(gpuc_op_call *call, int n);
GPUC_API void
gpuc_topi_infer_same(gpuc_op_call *call); /* an infer function: output 0 has the type of input 0 */
/* The attribute as an axis in [0, ndim): negative values count from the end. Raises where it is out of
 * range. */
GPUC_API int gpuc_topi_axis(const gpuc_op_call *call, const char *attr, int ndim);
/* Sets flags[i] for each axis i in an ints attribute; an empty list means all axes. */
GPUC_API void gpuc_topi_axis_flags(const gpuc_op_call *call, const char *attr, int ndim, bool *flags);
/* The entries of an ints attribute; raises unless there are n. */
GPUC_API const int64_t *gpuc_topi_ints(const gpuc_op_call *call, const char *attr, int n);
/* Dimension k of input i; raises if it is not known when building. */
GPUC_API int64_t gpuc_topi_static_dim(const gpuc_op_call *call, int i, int k);
/* Copies the entries of an ints attribute, which may be expressions, to out; raises unless there are n. */
GPUC_API void gpuc_topi_sizes(const gpuc_op_call *call, const char *attr, int n, gpuc_expr *out);
/* Raises if cond is false. If it depends on symbols, it becomes a condition that the program checks when it
 * runs. The text says what is wrong if it is false. */
GPUC_API void gpuc_topi_require(const gpuc_op_call *call, gpuc_expr cond, const char *text, ...)
    GPUC_PRINTF(3, 4);
/* Requires that two dimensions are equal, and returns the one that is better known. NULL is an unknown
 * dimension. */
GPUC_API gpuc_expr gpuc_topi_same_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b, const char *what);
/* Whether cond is proven to hold for all values of the symbols. */
GPUC_API bool gpuc_topi_proves(gpuc_ctx *ctx, gpuc_expr cond);
/* The size in canonical form: equal sizes become the same expression. */
GPUC_API gpuc_expr gpuc_topi_canonical(gpuc_ctx *ctx, gpuc_expr size);
/* The dimension that a and b broadcast to by numpy's rule; raises if they do not. */
GPUC_API gpuc_expr gpuc_topi_broadcast_dim(const gpuc_op_call *call, gpuc_expr a, gpuc_expr b);
/* Requires that dim is 1 or equal to `to`, for an operand that is broadcast to the shape of another. Raises
 * if not, or makes it a condition of the program where it depends on symbols. what names the operand in the
 * message ("slope"). NULL dimensions are unknown, and fit. */
GPUC_API void gpuc_topi_require_expands(const gpuc_op_call *call, gpuc_expr dim, gpuc_expr to,
                                        const char *what);
/* Sets out to the type that `count` inputs from number `first` on broadcast to, with the element type of the
 * first. */
GPUC_API void gpuc_topi_broadcast_types(gpuc_op_call *call, int first, int count, gpuc_tensor_type *out);

/* ---- For compute ---- */

/* One axis per dimension of a type; vars[i] is the variable of axis i. */
GPUC_API gpuc_iter **gpuc_topi_axes(gpuc_ctx *ctx, const gpuc_tensor_type *t, gpuc_expr *vars);
/* The element of t that broadcasting (numpy's rule) reads for an index into a tensor of type `out`. */
GPUC_API gpuc_expr gpuc_topi_read_broadcast(gpuc_ctx *ctx, gpuc_tensor *t, const gpuc_tensor_type *out,
                                            const gpuc_expr *index);
/* gpuc_te_compute with a tag for the default schedules: "elemwise", "broadcast", "injective" or "reduce". */
GPUC_API gpuc_tensor *gpuc_topi_compute(gpuc_ctx *ctx, const char *name, const char *tag, int ndim,
                                        gpuc_iter *const *axes, gpuc_expr body);

/* ---- For schedule ---- */

/* The default schedule of the outputs, which may be computed from placeholders through any number of
 * computes: injective producers are inlined, and the main reduction gets the tiling of its class. */
GPUC_API gpuc_schedule *gpuc_topi_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                           int num_outputs, gpuc_tensor *const *outputs);

#ifdef __cplusplus
}
#endif
#endif
