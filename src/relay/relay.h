/* SPDX-License-Identifier: Apache-2.0 */
/* Relay: the graph language (Roesch et al., "Relay: A High-Level Compiler for Deep Learning", 2019;
 * as in TVM 0.13, without references). Expressions form a DAG in the context's arena; they are not
 * changed after creation except for `type`, which inference fills in. Everything raises. */
#ifndef GPUC_RELAY_RELAY_H
#define GPUC_RELAY_RELAY_H

#include <gpuc/relay_ir.h>

#include "op/op.h"

/* ---- Types ---- */
struct gpuc_rtype {
    gpuc_rtype_kind kind;
    gpuc_tensor_type tensor; /* TENSOR */
    int n;                   /* TUPLE: fields; FUNC: parameters; ADT: type arguments */
    const struct gpuc_rtype *const *at;
    const struct gpuc_rtype *ret;           /* FUNC */
    const struct gpuc_adt *adt;             /* ADT */
    int num_params;                         /* FUNC: type parameters */
    const struct gpuc_rtype *const *params; /* VARs */
    const char *name;                       /* VAR */
    struct gpuc_rhole *hole;                /* HOLE; inference owns it */
    bool open;                              /* a HOLE, or has one inside */
    bool varies;                            /* a VAR, or has one inside */
    bool unknown;                           /* has a `?` inside */
    bool symbolic;                          /* has an extent inside that is no number */
    int depth, size;                        /* levels of types inside; types inside, and it */
};
/* Levels that a type may have, which bounds recursion over types; and types inside of it, each counted as often as it
 * stands there: pairs of pairs share theirs, and would be too long to print. */
#define GPUC_RELAY_TYPE_DEPTH 400
#define GPUC_RELAY_TYPE_SIZE (1 << 17)

/* Text that programs were read from, for messages. */
typedef struct gpuc_relay_text {
    const char *name, *text;
} gpuc_relay_origin;
/* A place in it; text NULL: none. Lines and columns count from 1. */
typedef struct gpuc_relay_span {
    const gpuc_relay_origin *text;
    uint32_t line, column;
} gpuc_relay_span;

struct gpuc_constructor {
    const char *name;
    int tag, n;
    const gpuc_rtype *const *fields;
    const struct gpuc_adt *adt;
};
struct gpuc_adt {
    const char *name;
    int n;
    const gpuc_constructor *constructors;
    int num_params; /* type parameters */
    const gpuc_rtype *const *params;
    bool is_extern, is_defined; /* is_defined false: only named so far (text) */
    gpuc_relay_span span;
};

/* The type with each of n VARs replaced. */
const gpuc_rtype *gpuc_relay_rtype_substitute(gpuc_ctx *ctx, const gpuc_rtype *t, int n,
                                              const gpuc_rtype *const *vars, const gpuc_rtype *const *by);
bool gpuc_relay_is_any_dim(gpuc_expr dim); /* has such a symbol in it, or is NULL */
/* The type with every `?` a new symbol. */
const gpuc_rtype *gpuc_relay_rtype_fresh(gpuc_ctx *ctx, const gpuc_rtype *t);
typedef gpuc_expr gpuc_relay_size_fn(gpuc_ctx *ctx, gpuc_expr size, void *arg);
/* The type with what fn gives for every extent that is no number; it is NULL where it is not known. */
const gpuc_rtype *gpuc_relay_rtype_map_sizes(gpuc_ctx *ctx, const gpuc_rtype *t, gpuc_relay_size_fn *fn,
                                             void *arg);
/* The type with the symbols that `before` has, where both have `?`: attributes of other nodes name them. NULL: none. */
const gpuc_rtype *gpuc_relay_rtype_keep_any(gpuc_ctx *ctx, const gpuc_rtype *t, const gpuc_rtype *before);
/* Adds sizes that values of the type, which may be NULL, say: size -> itself; other keys have no value. */
void gpuc_relay_rtype_find_sizes(const gpuc_rtype *t, gpuc_map *sizes);
bool gpuc_relay_rtype_equal(const gpuc_rtype *a, const gpuc_rtype *b); /* dims by identity of expressions */
void gpuc_relay_rtype_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rtype *t);
/* Every dim a known constant? Then out (room for ndim) has them. */
bool gpuc_relay_tensor_type_static(const gpuc_tensor_type *t, int64_t *out);
/* Bytes of a static tensor type; raises if not static or too large for int64. */
int64_t gpuc_relay_tensor_type_bytes(gpuc_ctx *ctx, const gpuc_tensor_type *t);

/* ---- Constant data: counted, outside of the arena, so that folding can drop what it consumed ---- */
typedef struct gpuc_const_data {
    gpuc_allocator allocator;
    int refs;
    size_t size;
    void *bytes; /* aligned to 64; of a mapped file: to the element */
    void *base;  /* what to free; NULL: of a mapped file, which is not written */
    size_t base_size;
} gpuc_const_data;
/* One reference, zeroed. Whatever references are left, the memory goes with the context. */
gpuc_const_data *gpuc_relay_const_data_create(gpuc_ctx *ctx, size_t size);
/* Bytes of a file that stays mapped as long as the context lives. */
gpuc_const_data *gpuc_relay_const_data_of_mapping(gpuc_ctx *ctx, const void *bytes, size_t size);
/* Counts the constants that share it (a reshape does). The last release gives the memory back. */
gpuc_const_data *gpuc_relay_const_data_retain(gpuc_const_data *data);
void gpuc_relay_const_data_release(gpuc_const_data *data);

/* ---- Expressions ---- */
struct gpuc_rexpr {
    gpuc_rexpr_kind kind;
    uint32_t id;                   /* order of creation */
    const gpuc_rtype *type;        /* NULL until inferred */
    const gpuc_rtype *type_before; /* of a node that was rebuilt: that it had, whose `?` are kept; NULL */
    const gpuc_expr *values;       /* known elements of a small integer tensor, or NULL */
    const char *source;            /* names of the model's nodes that this came from; "" */
    gpuc_relay_span span;          /* where it stands in text */
};

typedef struct gpuc_rvar {
    gpuc_rexpr base;
    const char *name;
    const gpuc_rtype *annotation; /* the type as it was written; NULL: it was not */
} gpuc_rvar;
typedef struct gpuc_rglobal {
    gpuc_rexpr base;
    const char *name;
} gpuc_rglobal;
typedef struct gpuc_rconstant {
    gpuc_rexpr base;
    gpuc_const_data *data;
} gpuc_rconstant;
typedef struct gpuc_rop {
    gpuc_rexpr base;
    const gpuc_op *op; /* NULL: a call as it is written, until inference knows the types of its inputs */
    const char *name;  /* by which it was written; of op where that is set */
} gpuc_rop;
typedef struct gpuc_rcall {
    gpuc_rexpr base;
    gpuc_rexpr *callee;      /* OP, FUNCTION, GLOBAL, VAR, CONSTRUCTOR */
    const gpuc_attrs *attrs; /* of an operator call; complete, once the OP has its row */
    int n;
    gpuc_rexpr *const *args;
    int num_type_args; /* what the callee's type parameters are here: written, or inferred */
    const gpuc_rtype *const *type_args;
} gpuc_rcall;
typedef struct gpuc_rtuple {
    gpuc_rexpr base;
    int n;
    gpuc_rexpr *const *fields;
} gpuc_rtuple;
typedef struct gpuc_rget {
    gpuc_rexpr base;
    gpuc_rexpr *tuple;
    int index;
} gpuc_rget;
typedef struct gpuc_rlet {
    gpuc_rexpr base;
    gpuc_rexpr *var, *value, *body;
} gpuc_rlet;
typedef struct gpuc_rfunction {
    gpuc_rexpr base;
    int n;
    gpuc_rexpr *const *params; /* VARs */
    gpuc_rexpr *body;
    const gpuc_attrs *attrs; /* "primitive"=1 after fusion; "compiler" for BYOC; names */
    int num_type_params;
    const gpuc_rtype *const *type_params; /* VARs */
    const gpuc_rtype *ret;                /* as it was written; NULL: it was not */
} gpuc_rfunction;
typedef struct gpuc_rif {
    gpuc_rexpr base;
    gpuc_rexpr *cond, *then_branch, *else_branch;
} gpuc_rif;

/* A pattern: wildcard (all NULL), a variable, a constructor with sub-patterns, a tuple of them. */
struct gpuc_rpattern {
    gpuc_rexpr *var;
    const gpuc_constructor *constructor;
    bool tuple;
    int n, depth, size; /* sub-patterns; levels of them; all that are inside */
    const struct gpuc_rpattern *at;
    gpuc_relay_span span;
};
typedef struct gpuc_rmatch {
    gpuc_rexpr base;
    gpuc_rexpr *value;
    int n;
    const gpuc_rclause *clauses;
    int num_vars; /* of the patterns of all clauses, in order */
    gpuc_rexpr *const *vars;
    bool partial; /* match?: values that no clause fits are an error when it runs */
} gpuc_rmatch;
typedef struct gpuc_rconstructor {
    gpuc_rexpr base;
    const gpuc_constructor *constructor;
} gpuc_rconstructor;

gpuc_rexpr *gpuc_relay_constant(gpuc_ctx *ctx, const gpuc_rtype *type, gpuc_const_data *data);
/* A constant whose type and data come later: those of another. */
gpuc_rexpr *gpuc_relay_promised_constant(gpuc_ctx *ctx);
void gpuc_relay_keep_promise(gpuc_rexpr *promised, const gpuc_rexpr *constant);
/* Call of an operator by any of its names, with attributes in any of their spellings (gpuc/op.h), which are
 * completed; its type is inferred at once. A row with several outputs gives a tuple-typed call. Raises for an unknown
 * operator. */
gpuc_rexpr *gpuc_relay_op(gpuc_ctx *ctx, const char *op, const gpuc_attrs *attrs, int n,
                          gpuc_rexpr *const *args);
/* Completes a call that gpuc_relay_apply made, in its place. The inputs have their types. */
void gpuc_relay_complete_call(gpuc_ctx *ctx, gpuc_rexpr *call);
gpuc_rexpr *gpuc_relay_op1(gpuc_ctx *ctx, const char *op, const gpuc_attrs *attrs, gpuc_rexpr *a);
/* e with these extents, of which one may be -1; 0 is the number, not an extent of e. */
gpuc_rexpr *gpuc_relay_reshape(gpuc_ctx *ctx, gpuc_rexpr *e, int ndim, const gpuc_expr *dims);
gpuc_rexpr *gpuc_relay_op2(gpuc_ctx *ctx, const char *op, const gpuc_attrs *attrs, gpuc_rexpr *a,
                           gpuc_rexpr *b);
/* The first `extent` elements of data along an axis. */
gpuc_rexpr *gpuc_relay_truncate(gpuc_ctx *ctx, gpuc_rexpr *data, int axis, gpuc_expr extent);
/* A size that the program computes. The host reads it; after that, operators with this size among their
 * extents can run. */
typedef struct gpuc_relay_read {
    gpuc_expr symbol;   /* stands for it in types and attributes */
    gpuc_rexpr *number; /* a scalar int64 */
    gpuc_expr max;      /* its upper bound, over extents and earlier symbols; NULL: not known */
} gpuc_relay_read;
/* Adds one to the list, with a new symbol: the name, and a number that no other has. */
gpuc_expr gpuc_relay_read_size(gpuc_ctx *ctx, gpuc_ptrs *reads, const char *name, gpuc_rexpr *number,
                               gpuc_expr max);
/* A call where the callee's type parameters are these types (the list is taken). */
gpuc_rexpr *gpuc_relay_call_of_types(gpuc_ctx *ctx, gpuc_rexpr *callee, const gpuc_attrs *attrs, int n,
                                     gpuc_rexpr *const *args, int num_types, const gpuc_rtype *const *types);
/* A function like f with other parameters, as many, and another body of the same type. */
gpuc_rexpr *gpuc_relay_function_with(gpuc_ctx *ctx, const gpuc_rfunction *f, gpuc_rexpr *const *params,
                                     gpuc_rexpr *body);
/* Sets the source names of an expression (joined when it came from several). Returns e. */
gpuc_rexpr *gpuc_relay_with_source(gpuc_ctx *ctx, gpuc_rexpr *e, const char *source);
/* Sets the source names of all expressions below root that have none and were made since ctx->next_id was
 * first_id. */
void gpuc_relay_mark_source(gpuc_ctx *ctx, gpuc_rexpr *root, uint32_t first_id, const char *source);

/* Element i of a constant as an immediate. */
gpuc_expr gpuc_relay_const_element(gpuc_ctx *ctx, const gpuc_rconstant *c, int64_t i);
#define GPUC_RELAY_AS(name, type_, K)                                                                        \
    static inline const type_ *gpuc_as_##name(const gpuc_rexpr *e)                                           \
    {                                                                                                        \
        GPUC_CHECK(e->kind == K);                                                                            \
        return (const type_ *)e;                                                                             \
    }
GPUC_RELAY_AS(rvar, gpuc_rvar, GPUC_REXPR_VAR)
GPUC_RELAY_AS(rglobal, gpuc_rglobal, GPUC_REXPR_GLOBAL)
GPUC_RELAY_AS(rconstant, gpuc_rconstant, GPUC_REXPR_CONSTANT)
GPUC_RELAY_AS(rcall, gpuc_rcall, GPUC_REXPR_CALL)
GPUC_RELAY_AS(rop, gpuc_rop, GPUC_REXPR_OP)
GPUC_RELAY_AS(rtuple, gpuc_rtuple, GPUC_REXPR_TUPLE)
GPUC_RELAY_AS(rget, gpuc_rget, GPUC_REXPR_GET)
GPUC_RELAY_AS(rlet, gpuc_rlet, GPUC_REXPR_LET)
GPUC_RELAY_AS(rfunction, gpuc_rfunction, GPUC_REXPR_FUNCTION)
GPUC_RELAY_AS(rif, gpuc_rif, GPUC_REXPR_IF)
GPUC_RELAY_AS(rmatch, gpuc_rmatch, GPUC_REXPR_MATCH)
GPUC_RELAY_AS(rconstructor, gpuc_rconstructor, GPUC_REXPR_CONSTRUCTOR)
/* The operator that a call applies, or NULL. */
const gpuc_op *gpuc_relay_call_op(const gpuc_rexpr *e);
static inline bool gpuc_relay_is_op(const gpuc_rexpr *e, const char *name)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    return op && !__builtin_strcmp(op->name, name);
}
/* The tensor type of an expression of tensor type (checked). */
const gpuc_tensor_type *gpuc_relay_tensor_type(const gpuc_rexpr *e);

/* ---- Modules: functions by name; "main" is the entry ---- */
struct gpuc_rmodule {
    gpuc_ctx *ctx;
    gpuc_strmap functions;    /* name -> gpuc_rexpr* (FUNCTION) */
    gpuc_strmap adts;         /* name -> gpuc_adt * */
    gpuc_strmap constructors; /* name -> const gpuc_constructor * */
    gpuc_strmap imports;      /* what texts imported, as it was written; values are not NULL */
    int num_outputs;          /* of main: names in graph order */
    const char *const *output_names;
    gpuc_ptrs conditions; /* gpuc_op_condition: what sizes must satisfy for the operators to make sense */
    gpuc_strmap
        defaults; /* parameter of main -> gpuc_rexpr * (CONSTANT): its value unless a run gives another */
    gpuc_strmap input_images, output_images; /* name -> gpuc_image_format, of those that are images */
    gpuc_ptrs reads;   /* gpuc_relay_read, in order: the last fields of main's result are their numbers */
    gpuc_ptrs written; /* gpuc_relay_written of a text, until types are inferred */
};
/* A type that a text writes of a node. */
typedef struct gpuc_relay_written {
    gpuc_rexpr *e;
    const gpuc_rtype *type;
    gpuc_relay_span span;
} gpuc_relay_written;
/* Makes main: a function of these parameters that gives n outputs, and the sizes that are read (the list is
 * taken; NULL: none). */
void gpuc_rmodule_set_main(gpuc_rmodule *m, int num_params, gpuc_rexpr *const *params, int n,
                           gpuc_rexpr *const *outputs, const gpuc_ptrs *reads);
/* Gives each extent of main's parameters that has no name one of its own, d0 and so on. */
void gpuc_relay_name_sizes(gpuc_rmodule *m);
int gpuc_rmodule_num_outputs(const gpuc_rmodule *m); /* of main, without what is read */
/* Of output i of main: its name in the graph, or outputI where the graph names none. */
const char *gpuc_rmodule_output_name(const gpuc_rmodule *m, int i);
/* Defines a type whose constructors and parameters are set. Raises where the module has one of these names. */
void gpuc_rmodule_add_adt(gpuc_rmodule *m, gpuc_adt *adt);

/* ---- Traversal: iterative over the DAG, so that depth does not matter ---- */
/* Operand number i (the callee before the arguments), or NULL after the last. A function has none. */
gpuc_rexpr *gpuc_relay_child(const gpuc_rexpr *e, int i);
/* The call, if or match that gives the value of e, which may be lets before it; NULL: something else does. */
gpuc_rexpr *gpuc_relay_result_of(gpuc_rexpr *e);
/* A walk: child number i of e, or NULL after the last (NULL: gpuc_relay_scoped_operand); which children it enters (NULL:
 * all). */
typedef struct gpuc_relay_walk {
    gpuc_rexpr *(*child)(const gpuc_rexpr *e, int i, void *arg);
    bool (*enters)(const gpuc_rexpr *e, void *arg);
    void *arg;
} gpuc_relay_walk;
/* Each node that the walk comes to, once, children before parents; root is the last. */
void gpuc_relay_walk_post_order(gpuc_ctx *ctx, gpuc_rexpr *root, const gpuc_relay_walk *w, gpuc_ptrs *out);
/* Distinct subexpressions, children before parents; function bodies are entered if into_functions. */
void gpuc_relay_post_order(gpuc_ctx *ctx, gpuc_rexpr *root, bool into_functions, gpuc_ptrs *out);
/* gpuc_relay_mutate of a graph: functions inside of root that are primitive are left alone, types of rebuilt nodes are
 * inferred at once, what rewrite makes takes the source of the node that it stands for, and a let whose variable is replaced
 * by something else than a variable is what follows it. */
gpuc_rexpr *gpuc_relay_rewrite(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_rewrite_fn rewrite, void *arg);
/* Chooses how to compute a call; NULL: as its row does. */
typedef struct gpuc_relay_chooser {
    const gpuc_op_implementation *(*choose)(gpuc_ctx *ctx, void *user, const gpuc_op_call *call);
    void *user;
} gpuc_relay_chooser;

/* The results of operators as tensors, which are computed from those that `tensors` has for the variables: it maps
 * expressions to arrays of gpuc_tensor *, one per result. Without a chooser calls are computed as rows do. */
gpuc_tensor **gpuc_relay_results(gpuc_ctx *ctx, gpuc_rexpr *body, const gpuc_relay_chooser *chooser,
                                 gpuc_map *tensors, int *num_results);
/* A function of operators as tensors: its parameters, which are placeholders, then its results. */
gpuc_tensor **gpuc_relay_tensors(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_relay_chooser *chooser,
                                 int *num_results);

/* ---- Types and text ---- */
/* Adds what the text defines to the module, without types yet. Errors say "origin:line:column: ..." with the line and
 * a caret. meta[relay.Constant][i] is constant i of the list; those of the text's own section are added to it (NULL:
 * there are only those). */
void gpuc_relay_parse_text(gpuc_ctx *ctx, gpuc_rmodule *m, const char *text, const char *origin,
                           gpuc_ptrs *constants);
/* Infers the types of the functions from number first on: those before have their types, and are not touched. Calls
 * that are as they were written are completed in their place. */
void gpuc_relay_infer_functions(gpuc_ctx *ctx, gpuc_rmodule *m, uint32_t first);
/* Infers types of everything below root; calls must have complete attrs. Errors name the node's source. */
void gpuc_relay_infer_type(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *root);
/* gpuc_relay_validate_given between passes: a complaint is INTERNAL, and names the pass. */
void gpuc_relay_validate(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *after_pass);
/* Prints a module as TVM 0.13 does. Constants that are no scalars are meta[relay.Constant][i]: they are added to
 * constants, of which it is the i-th (NULL: nobody wants them). Raises where blocks are nested too deep. */
void gpuc_relay_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_rmodule *m, int flags, gpuc_ptrs *constants);
void gpuc_relay_print_expr(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e, int flags);
/* Levels of blocks, parentheses and clauses that text may have, which bounds recursion over them. */
#define GPUC_RELAY_TEXT_DEPTH 900
/* The text of a fused function with the first names of what was renamed: tuning logs know a function by the hash of
 * this text. */
void gpuc_relay_print_key(gpuc_ctx *ctx, gpuc_buf *out, gpuc_rexpr *e);

#endif
