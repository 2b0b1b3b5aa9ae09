/* SPDX-License-Identifier: Apache-2.0 */
/* Relay as objects: builds programs, looks at their parts, rewrites and checks them (docs/relay.md). Text is in
 * gpuc/relay.h, which prints what is built here.
 *
 *   gpuc_rmodule *m = gpuc_rmodule_create(ctx);
 *   const gpuc_rtype *t = gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 2, dims);
 *   gpuc_rexpr *x = gpuc_relay_var(ctx, "x", t), *two[] = {x, x};
 *   gpuc_rexpr *sum = gpuc_relay_apply(ctx, "add", NULL, 2, two);
 *   gpuc_rmodule_add_function(m, "main", gpuc_relay_function(ctx, 1, &x, sum, NULL));
 *   gpuc_relay_infer_module(ctx, m);
 *
 * What is made lives in the context, by whose thread it is used; names, lists and bytes are copied. Functions
 * with a context or a module raise INVALID_ARGUMENT for a NULL that is not allowed, and name it (the module is none);
 * functions without one return NULL or 0 for NULL. A node may be used several times: it is computed once where it stands.
 * Nodes are not changed once they are made, but for types, which inference fills in. Variables are told apart by
 * identity, not by name: each is bound once, by a let, as a parameter or in a pattern. */
#ifndef GPUC_RELAY_IR_H
#define GPUC_RELAY_IR_H

#include <gpuc/op.h>
#include <gpuc/relay.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_rtype gpuc_rtype;             /* a type */
typedef struct gpuc_rexpr gpuc_rexpr;             /* a node of a program */
typedef struct gpuc_rpattern gpuc_rpattern;       /* of a clause of a match */
typedef struct gpuc_adt gpuc_adt;                 /* a data type of a program */
typedef struct gpuc_constructor gpuc_constructor; /* one of its constructors */

/* ---- Types ------------------------------------------------------------------------------------------- */

/* The kind of a type. */
typedef enum gpuc_rtype_kind {
    GPUC_RTYPE_TENSOR,
    GPUC_RTYPE_TUPLE,
    GPUC_RTYPE_FUNC,
    GPUC_RTYPE_ADT,  /* a data type, with type arguments */
    GPUC_RTYPE_VAR,  /* a type parameter; equal only to itself */
    GPUC_RTYPE_HOLE, /* not known yet: what inference solves for */
    GPUC_RTYPE_KIND_COUNT
} gpuc_rtype_kind;

/* A tensor of these extents: integers of constants and symbols (gpuc_var of GPUC_INDEX; one symbol is the same size
 * wherever it stands in a function), or gpuc_relay_any_dim. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_tensor(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim,
                                                   const gpuc_expr *dims);
/* The same with numbers; none: a scalar. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_tensor_static(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim,
                                                          const int64_t *dims);
/* An extent that is `?` in text: a symbol that no other extent is. */
GPUC_API gpuc_expr gpuc_relay_any_dim(gpuc_ctx *ctx);
/* A tuple of n fields. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_tuple(gpuc_ctx *ctx, int n, const gpuc_rtype *const *fields);
/* A function of n parameters. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_func(gpuc_ctx *ctx, int n, const gpuc_rtype *const *params,
                                                 const gpuc_rtype *ret);
/* The same with type parameters, each a gpuc_relay_rtype_var that args and ret may have inside. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_scheme(gpuc_ctx *ctx, int num_params,
                                                   const gpuc_rtype *const *params, int n,
                                                   const gpuc_rtype *const *args, const gpuc_rtype *ret);
/* A data type with n type arguments. Raises where it has another number of type parameters. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_adt(gpuc_ctx *ctx, const gpuc_adt *adt, int n,
                                                const gpuc_rtype *const *args);
/* A new type parameter: of a function, a function type or a data type. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_var(gpuc_ctx *ctx, const char *name);
/* A new type that inference finds: `_` in text. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_hole(gpuc_ctx *ctx);
/* The kind of a type; of NULL GPUC_RTYPE_HOLE. */
GPUC_API gpuc_rtype_kind gpuc_relay_rtype_get_kind(const gpuc_rtype *t);
/* Element type and extents of a tensor, borrowed; NULL of others. An extent may be NULL: it is not known. */
GPUC_API const gpuc_tensor_type *gpuc_relay_rtype_get_tensor(const gpuc_rtype *t);
/* The number of fields of a tuple, parameters of a function, type arguments of a data type; 0 of others. */
GPUC_API int gpuc_relay_rtype_count(const gpuc_rtype *t);
/* Number i of those; NULL where there is none. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_part(const gpuc_rtype *t, int i);
/* What a function gives; NULL of others. */
GPUC_API const gpuc_rtype *gpuc_relay_rtype_result(const gpuc_rtype *t);
/* The data type; NULL of others. */
GPUC_API const gpuc_adt *gpuc_relay_rtype_get_adt(const gpuc_rtype *t);
/* The type as the program's text has it; "_" of NULL. */
GPUC_API const char *gpuc_relay_rtype_text(gpuc_ctx *ctx, const gpuc_rtype *t);

/* ---- Modules ----------------------------------------------------------------------------------------- */

/* A program without functions and types. */
GPUC_API gpuc_rmodule *gpuc_rmodule_create(gpuc_ctx *ctx);
/* Defines @name, a function that uses no variable of another. Names are letters, digits and _, no digit first.
 * Raises where the module has a function of that name. */
GPUC_API void gpuc_rmodule_add_function(gpuc_rmodule *m, const char *name, gpuc_rexpr *function);
/* Puts another function in the place of @name. Raises NOT_FOUND where there is none. */
GPUC_API void gpuc_rmodule_replace_function(gpuc_rmodule *m, const char *name, gpuc_rexpr *function);
/* The function @name. Raises NOT_FOUND where there is none. */
GPUC_API gpuc_rexpr *gpuc_rmodule_get(const gpuc_rmodule *m, const char *name);

/* A constructor that is to be defined. */
typedef struct gpuc_relay_constructor_desc {
    const char *name; /* letters, digits and _; otherwise than operators and words of the language */
    int n;            /* number of fields */
    const gpuc_rtype *const *fields; /* their types: of the type parameters of the data type, without holes */
} gpuc_relay_constructor_desc;

/* A data type with these type parameters, each a gpuc_relay_rtype_var. It has no constructors until it is defined:
 * the types of their fields may name it. */
GPUC_API gpuc_adt *gpuc_relay_adt(gpuc_ctx *ctx, const char *name, int num_params,
                                  const gpuc_rtype *const *params);
/* Defines it in the module, with n constructors. Raises where the module has the name of the type or of a
 * constructor, a field has a type parameter of something else, or the type is defined already. */
GPUC_API void gpuc_rmodule_define_adt(gpuc_rmodule *m, gpuc_adt *adt, int n,
                                      const gpuc_relay_constructor_desc *constructors);
/* A data type, or a constructor, of the module by name: of one that was parsed, too. Raises NOT_FOUND where there
 * is none. */
GPUC_API const gpuc_adt *gpuc_rmodule_get_adt(const gpuc_rmodule *m, const char *name);
/* The same of a constructor. */
GPUC_API const gpuc_constructor *gpuc_rmodule_get_constructor(const gpuc_rmodule *m, const char *name);
/* The name of a data type, and of a constructor; borrowed. */
GPUC_API const char *gpuc_relay_adt_name(const gpuc_adt *adt);
/* The same of a constructor. */
GPUC_API const char *gpuc_relay_constructor_name(const gpuc_constructor *c);

/* Infers the types of a program: functions with type parameters, recursion, matches, closures. Nodes that have
 * types keep them. Raises where scopes are not well-formed, or types do not fit; the message says in which
 * function, or where in the text. After an error the functions that had no types are not to be used. */
GPUC_API void gpuc_relay_infer_module(gpuc_ctx *ctx, gpuc_rmodule *m);
/* Checks a program whose types are inferred, as it is checked between passes: each variable is bound once and used
 * in its scope, functions, types and constructors that are named are there and defined once, every node has a type
 * and they fit. Raises with the function and the node that are wrong. */
GPUC_API void gpuc_relay_validate_given(gpuc_ctx *ctx, gpuc_rmodule *m);

/* ---- Expressions ------------------------------------------------------------------------------------- */

/* The kind of an expression. */
typedef enum gpuc_rexpr_kind {
    GPUC_REXPR_VAR,
    GPUC_REXPR_GLOBAL, /* a function of the module, by name */
    GPUC_REXPR_CONSTANT,
    GPUC_REXPR_CALL,
    GPUC_REXPR_OP, /* callee of a call */
    GPUC_REXPR_TUPLE,
    GPUC_REXPR_GET, /* a field of a tuple */
    GPUC_REXPR_LET,
    GPUC_REXPR_FUNCTION,
    GPUC_REXPR_IF,
    GPUC_REXPR_MATCH,
    GPUC_REXPR_CONSTRUCTOR,
    GPUC_REXPR_KIND_COUNT
} gpuc_rexpr_kind;

/* A variable. type NULL: inference finds it. Text shows other letters than letters, digits and _ as _, and numbers
 * behind names that are used twice. */
GPUC_API gpuc_rexpr *gpuc_relay_var(gpuc_ctx *ctx, const char *name, const gpuc_rtype *type);
/* The function @name of the module that the expression will stand in. */
GPUC_API gpuc_rexpr *gpuc_relay_global(gpuc_ctx *ctx, const char *name);
/* A tensor of these extents; bytes are its elements, compact, row by row. */
GPUC_API gpuc_rexpr *gpuc_relay_const_bytes(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim, const int64_t *dims,
                                            const void *bytes);
/* A scalar; of integers the nearest one. */
GPUC_API gpuc_rexpr *gpuc_relay_const_scalar(gpuc_ctx *ctx, gpuc_dtype dtype, double value);
/* A tensor of int64 of one dimension. */
GPUC_API gpuc_rexpr *gpuc_relay_const_ints(gpuc_ctx *ctx, int n, const int64_t *values);
/* The call of an operator by any of its names, with attributes in any of their spellings (gpuc/op.h; NULL: none).
 * Inference completes it. An operator of many tensors takes one tuple, as in text; one of several results gives a
 * tuple. Raises UNSUPPORTED for an unknown operator, with the nearest name. */
GPUC_API gpuc_rexpr *gpuc_relay_apply(gpuc_ctx *ctx, const char *op, const gpuc_attrs *attrs, int n,
                                      gpuc_rexpr *const *args);
/* Attributes from text, "axis=[0, 1], keepdims=True, mode=\"edge\"": values as the program's text has them, names
 * of sizes not among them (gpuc_attrs_sizes). "" is NULL, no attributes. Raises with the column that is wrong. */
GPUC_API const gpuc_attrs *gpuc_relay_attrs(gpuc_ctx *ctx, const char *text);
/* The call of a function, a variable that is one, a global or a constructor. attrs: NULL. */
GPUC_API gpuc_rexpr *gpuc_relay_call(gpuc_ctx *ctx, gpuc_rexpr *callee, const gpuc_attrs *attrs, int n,
                                     gpuc_rexpr *const *args);
/* A constructor as a function. Also one without fields is called, with no arguments. */
GPUC_API gpuc_rexpr *gpuc_relay_constructor(gpuc_ctx *ctx, const gpuc_constructor *c);
/* A tuple. */
GPUC_API gpuc_rexpr *gpuc_relay_tuple(gpuc_ctx *ctx, int n, gpuc_rexpr *const *fields);
/* A field; of a node that is a tuple, the field itself. Raises where it is known that there is no such field. */
GPUC_API gpuc_rexpr *gpuc_relay_get(gpuc_ctx *ctx, gpuc_rexpr *tuple, int index);
/* let var = value; body. A value that is a function may use the variable. */
GPUC_API gpuc_rexpr *gpuc_relay_let(gpuc_ctx *ctx, gpuc_rexpr *var, gpuc_rexpr *value, gpuc_rexpr *body);
/* A function. attrs may be NULL. */
GPUC_API gpuc_rexpr *gpuc_relay_function(gpuc_ctx *ctx, int n, gpuc_rexpr *const *params, gpuc_rexpr *body,
                                         const gpuc_attrs *attrs);
/* The same with type parameters, each a gpuc_relay_rtype_var, and the type of the result (NULL: inference finds
 * it). */
GPUC_API gpuc_rexpr *gpuc_relay_generic_function(gpuc_ctx *ctx, int num_type_params,
                                                 const gpuc_rtype *const *type_params, int n,
                                                 gpuc_rexpr *const *params, const gpuc_rtype *ret,
                                                 gpuc_rexpr *body, const gpuc_attrs *attrs);
/* One branch, by a scalar bool. */
GPUC_API gpuc_rexpr *gpuc_relay_if(gpuc_ctx *ctx, gpuc_rexpr *cond, gpuc_rexpr *then_branch,
                                   gpuc_rexpr *else_branch);

/* A pattern that fits every value. */
GPUC_API const gpuc_rpattern *gpuc_relay_pattern_any(gpuc_ctx *ctx);
/* The same, which binds a variable. */
GPUC_API const gpuc_rpattern *gpuc_relay_pattern_var(gpuc_ctx *ctx, gpuc_rexpr *var);
/* A constructor with a pattern for each field, n of them. Raises where it has another number of fields. */
GPUC_API const gpuc_rpattern *gpuc_relay_pattern_constructor(gpuc_ctx *ctx, const gpuc_constructor *c, int n,
                                                             const gpuc_rpattern *const *fields);
/* A tuple with a pattern for each field. Patterns are at most 900 levels deep, and have at most 131072 parts. */
GPUC_API const gpuc_rpattern *gpuc_relay_pattern_tuple(gpuc_ctx *ctx, int n,
                                                       const gpuc_rpattern *const *fields);
/* A clause: what it gives where the pattern fits. */
typedef struct gpuc_rclause {
    const gpuc_rpattern *pattern; /* what values it is for */
    gpuc_rexpr *body;             /* uses the variables of the pattern */
} gpuc_rclause;
/* The first clause that fits the value. partial: match?, where values that no clause fits are an error when the
 * program runs; else the type has none of them. */
GPUC_API gpuc_rexpr *gpuc_relay_match(gpuc_ctx *ctx, gpuc_rexpr *value, int n, const gpuc_rclause *clauses,
                                      bool partial);

/* The function with constants in the place of n parameters, by name; TVM's bind_params_by_name. Its other
 * parameters stay. Sizes with a name that constants give are numbers in all of the function, its parameters too. Raises
 * where two parameters have such a name, none has, the constant has another type, or a size with a name is one number in
 * one constant and another in the next. */
GPUC_API gpuc_rexpr *gpuc_relay_bind_params(gpuc_ctx *ctx, gpuc_rexpr *function, int n,
                                            const char *const *names, gpuc_rexpr *const *constants);

/* ---- Parts of expressions ---------------------------------------------------------------------------- */

/* The kind of a node, which is not NULL. */
GPUC_API gpuc_rexpr_kind gpuc_relay_get_kind(const gpuc_rexpr *e);
/* The type of a node; NULL: it is not inferred. */
GPUC_API const gpuc_rtype *gpuc_relay_get_type(const gpuc_rexpr *e);
/* The name of a variable, a global, a constructor, or of the operator that a call applies: as it was written, after
 * inference that of its row. Borrowed; NULL of others. */
GPUC_API const char *gpuc_relay_get_name(const gpuc_rexpr *e);
/* Operand i, NULL after the last. A call: the callee, then arguments; a tuple: fields; a let: value, variable,
 * body; a function: parameters, then the body; an if: condition, branches; a match: the value, then the bodies of
 * its clauses. */
GPUC_API gpuc_rexpr *gpuc_relay_operand(const gpuc_rexpr *e, int i);
/* The number of operands. */
GPUC_API int gpuc_relay_num_operands(const gpuc_rexpr *e);
/* The attributes of a call or of a function; NULL: none, or another node. */
GPUC_API const gpuc_attrs *gpuc_relay_get_attrs(const gpuc_rexpr *e);
/* The number of the field that a node takes of a tuple; -1 of others. */
GPUC_API int gpuc_relay_get_index(const gpuc_rexpr *e);
/* The elements of a constant, borrowed; NULL of others. */
GPUC_API const void *gpuc_relay_get_bytes(const gpuc_rexpr *e);
/* Type parameter i of a function, NULL after the last. */
GPUC_API const gpuc_rtype *gpuc_relay_get_type_param(const gpuc_rexpr *e, int i);
/* The type that was written: of a variable, or of what a function gives; NULL: none was. */
GPUC_API const gpuc_rtype *gpuc_relay_get_annotation(const gpuc_rexpr *e);
/* The pattern of clause i of a match; NULL where there is none. */
GPUC_API const gpuc_rpattern *gpuc_relay_get_pattern(const gpuc_rexpr *e, int i);
/* Whether a node is match?. */
GPUC_API bool gpuc_relay_is_partial(const gpuc_rexpr *e);
/* The variable that a pattern is; NULL. */
GPUC_API gpuc_rexpr *gpuc_relay_pattern_get_var(const gpuc_rpattern *p);
/* The constructor of a pattern; NULL: it is a variable, a tuple, or fits every value. */
GPUC_API const gpuc_constructor *gpuc_relay_pattern_get_constructor(const gpuc_rpattern *p);
/* Pattern i inside of a constructor or of a tuple; NULL after the last. */
GPUC_API const gpuc_rpattern *gpuc_relay_pattern_part(const gpuc_rpattern *p, int i);

/* ---- Comparison and cost --------------------------------------------------------------------------------------- */

/* Whether two expressions are the same but for the names of variables and of type parameters that are bound in them:
 * kinds, attributes, elements of constants, types that were written, and which nodes are shared. Variables that are
 * bound elsewhere, or nowhere, are the same only as the same node. Both are before inference, or both after it, which
 * completes attributes. */
GPUC_API bool gpuc_relay_equal(gpuc_ctx *ctx, const gpuc_rexpr *a, const gpuc_rexpr *b);
/* A hash that equal expressions share. */
GPUC_API uint64_t gpuc_relay_hash(gpuc_ctx *ctx, const gpuc_rexpr *e);

/* Multiply-adds of the matrix products and convolutions below an expression whose types were inferred, each node once,
 * whether branches are taken or not; padding counts. -1: an extent is not known, or there are too many. */
GPUC_API int64_t gpuc_relay_multiply_adds(gpuc_ctx *ctx, gpuc_rexpr *root);

/* ---- Walks ------------------------------------------------------------------------------------------- */

/* Looks at a node. */
typedef void (*gpuc_relay_visit_fn)(gpuc_rexpr *e, void *arg);
/* Calls visit once for each node below root and then for root, parts before what has them: bodies of functions,
 * branches, clauses and the variables of patterns among them. Neither depth nor sharing has a bound. */
GPUC_API void gpuc_relay_visit(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_visit_fn visit, void *arg);
/* The same over all functions of a module, in order. */
GPUC_API void gpuc_rmodule_visit(const gpuc_rmodule *m, gpuc_relay_visit_fn visit, void *arg);

/* Gives the node that is to stand for old. rebuilt is old with its parts replaced: old itself where none was, which
 * is also the answer that changes nothing. */
typedef gpuc_rexpr *(*gpuc_relay_rewrite_fn)(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg);
/* Rewrites a node and all below it, in the order of gpuc_relay_visit, each once: what was shared stays shared. root
 * itself where nothing changed. What is replaced where it is bound is replaced where it is used, and the other way
 * round: by a variable, or it raises. Rebuilt nodes have no types yet, nor have variables of lets and patterns
 * whose type was not written and whose value changed. */
GPUC_API gpuc_rexpr *gpuc_relay_mutate(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_relay_rewrite_fn rewrite,
                                       void *arg);
/* A module with the same types and the functions rewritten, what they share once; m stays as it is. Types are
 * inferred, and the scopes checked: what rewrite broke is an error that names it. */
GPUC_API gpuc_rmodule *gpuc_rmodule_mutate(gpuc_rmodule *m, gpuc_relay_rewrite_fn rewrite, void *arg);

#ifdef __cplusplus
}
#endif
#endif
