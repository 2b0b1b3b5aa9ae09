/* SPDX-License-Identifier: Apache-2.0 */
/* Random Relay programs, well-typed by construction: functions (recursive ones end), type parameters, data types of
 * their own and of the prelude, let, if, nested match, closures, tuples, tensors. A seed always gives the same program.
 *
 *   random_program.c   makes them
 *   program_types.c    types, data types, the prelude's functions
 *   program_shrink.c   makes programs that fail smaller
 *   program_text.c     prints them; what inference can find may be left out
 *   program_value.c    evaluates them, by the rules of the language over this tree
 *   program_ops.c      operators on tensors: what makes them, their text and their values */
#ifndef GPUC_TESTS_RELAY_RANDOM_PROGRAM_H
#define GPUC_TESTS_RELAY_RANDOM_PROGRAM_H

#include "base/buf.h"
#include "fixture.h"

enum { RP_FIELDS = 6, RP_RANK = 3, RP_ROWS = 8, RP_FUNCTIONS = 48, RP_PARAMS = 3, RP_CONSTRUCTORS = 3 };

/* ---- Types ---- */

typedef enum rp_element { RP_BOOL, RP_INT8, RP_INT32, RP_INT64, RP_FLOAT32, RP_ELEMENTS } rp_element;
typedef enum rp_type_kind { RP_TENSOR, RP_TUPLE, RP_FN, RP_DATA, RP_PARAM } rp_type_kind;

typedef struct rp_data rp_data;
/* Types that are equal are one. */
typedef struct rp_type {
    rp_type_kind kind;
    rp_element element;
    int ndim, dims[RP_RANK];
    const rp_data *data;
    int n; /* fields, type arguments, parameters */
    const struct rp_type *at[RP_FIELDS];
    const struct rp_type *ret;
    int param;     /* PARAM: its number */
    unsigned vars; /* a bit for each PARAM inside */
} rp_type;

typedef struct rp_constructor {
    const char *name;
    int n, tag;
    const rp_type *fields[RP_FIELDS];
    const rp_data *data;
} rp_constructor;
struct rp_data {
    const char *name;
    int num_params, n;
    rp_constructor at[RP_CONSTRUCTORS];
    bool own; /* of the program, not of the prelude */
};

/* ---- Expressions ---- */

typedef struct rp_var {
    int id;
    const rp_type *type;
    bool node;                 /* %1, not %x */
    bool counter;              /* a function whose first argument is a number that it counts down */
    int num_types, first_type; /* of a function with type parameters: they are numbers first_type to ... */
    int size;                  /* 1: a parameter that recursion makes smaller; 2: a part of it */
} rp_var;

typedef struct rp_pattern {
    const rp_type *type;
    rp_var *var;                 /* with NULL in both: a wildcard */
    const rp_constructor *maker; /* or a tuple, where n > 0 */
    int n;
    struct rp_pattern *at[RP_FIELDS];
} rp_pattern;

typedef enum rp_kind {
    RP_VAR,
    RP_SCALAR,
    RP_CONSTANT,
    RP_OP,
    RP_MAKE_TUPLE,
    RP_GET,
    RP_LET,
    RP_LAMBDA,
    RP_IF,
    RP_MATCH,
    RP_CALL,   /* at[0] is called */
    RP_GLOBAL, /* a function of the program as a value */
    RP_MAKE,   /* a constructor with its fields */
    RP_MAKER   /* the constructor as a value */
} rp_kind;

typedef struct rp_function rp_function;
typedef struct rp_expr {
    rp_kind kind;
    int id; /* decides what text leaves out */
    const rp_type *type;
    int n; /* LET: value, body; MATCH: value, bodies; LAMBDA: body */
    struct rp_expr *at[RP_ROWS + 1];
    rp_var *var; /* VAR, LET; a LAMBDA that calls itself */
    bool itself; /* LAMBDA: it does */
    int num_params;
    rp_var *params[RP_PARAMS];
    rp_pattern *patterns[RP_ROWS];
    const rp_constructor *maker;
    const rp_function *function;
    int number, op; /* GET: field; OP: row; SCALAR, CONSTANT: value, seed of the elements */
    int axis, list[RP_RANK];
} rp_expr;

struct rp_function {
    const char *name;
    int num_types, n;
    const rp_type *params[RP_PARAMS], *ret, *type; /* type: as a function */
    rp_var *vars[RP_PARAMS];
    rp_expr *body; /* NULL: the prelude's */
    int group;     /* it calls those of smaller numbers, and of its own with less */
    enum { RP_CALLS_BEFORE, RP_COUNTS, RP_SHRINKS } ends;
};

typedef struct rp_program {
    gpuc_ctx *ctx;
    uint64_t seed;
    fx_rng random;
    gpuc_ptrs types; /* all that there are */
    gpuc_ptrs data;  /* rp_data *, the prelude's first */
    int num_functions;
    rp_function *functions[RP_FUNCTIONS]; /* the prelude's first, main last */
    int next_id;
    int num_args;
    rp_expr *args[RP_PARAMS]; /* of main */
} rp_program;

/* ---- Types (program_types.c) ---- */

const rp_type *rp_tensor(rp_program *p, rp_element element, int ndim, const int *dims);
const rp_type *rp_scalar(rp_program *p, rp_element element);
const rp_type *rp_tuple(rp_program *p, int n, const rp_type *const *fields);
const rp_type *rp_fn(rp_program *p, int n, const rp_type *const *params, const rp_type *ret);
const rp_type *rp_data_of(rp_program *p, const rp_data *data, const rp_type *const *args);
const rp_type *rp_param(rp_program *p, int number);
const rp_type *rp_substitute(rp_program *p, const rp_type *t, const rp_type *const *args);
/* Finds args with which schema is t; those that were not NULL stay. */
bool rp_fits(const rp_type *schema, const rp_type *t, const rp_type **args);
int rp_count(const rp_type *tensor);
const rp_data *rp_find_data(const rp_program *p, const char *name);
void rp_add_prelude(rp_program *p);
void rp_type_text(gpuc_buf *out, const rp_type *t);
const char *rp_function_type(const rp_program *p, const rp_function *f); /* as gpuc prints it */

/* ---- Programs ---- */

/* In p->ctx; main's value is known. */
void rp_random(gpuc_ctx *ctx, uint64_t seed, rp_program *p);
/* Makes the program smaller for as long as fails(p, arg) holds. */
void rp_shrink(rp_program *p, bool (*fails)(rp_program *p, void *arg), void *arg);
/* bare: without what inference can find, in 3 of 4 places. */
void rp_text(rp_program *p, bool bare, gpuc_buf *out);
rp_expr *rp_new(rp_program *p, rp_kind kind, const rp_type *type);
bool rp_is_generic(const rp_function *f);

/* ---- Operators (program_ops.c) ---- */

/* An operator that gives the type, with the types of its operands; they are made by make(arg, type). NULL: none. */
rp_expr *rp_random_op(rp_program *p, const rp_type *t, rp_expr *(*make)(void *arg, const rp_type *t),
                      void *arg);
rp_expr *rp_binary(rp_program *p, const char *name, const rp_type *t, rp_expr *a, rp_expr *b);
/* What stands around the operands: text before the first, between, after the last. */
bool rp_op_infix(const rp_expr *e, const char **between);
const char *rp_op_name(const rp_expr *e);
bool rp_op_takes_tuple(const rp_expr *e); /* its operands are written as one tuple */
void rp_op_attrs(gpuc_buf *out, const rp_expr *e);

/* ---- Values (program_value.c) ---- */

typedef union rp_cell {
    int64_t i;
    double f;
} rp_cell;
typedef struct rp_value rp_value;
struct rp_value {
    const rp_type *type;         /* of a tensor; else NULL */
    rp_cell *cells;              /* of a tensor */
    const rp_constructor *maker; /* of data */
    const rp_expr *lambda;       /* of a function: one of these three */
    const rp_function *function;
    bool is_maker;
    const struct rp_env *env;
    int n;
    const rp_value *fields[RP_FIELDS];
};
/* An integer as its type has it; a float as float32. Raises where a float has become too large to be exact. */
rp_cell rp_rounded(gpuc_ctx *ctx, rp_element t, rp_cell c);
rp_value *rp_new_tensor(gpuc_ctx *ctx, const rp_type *t);
void rp_constant_cells(const rp_type *t, int seed, rp_cell *cells);
const rp_value *rp_apply_op(gpuc_ctx *ctx, const rp_expr *e, const rp_value *const *args);
/* Raises where it takes too long, or numbers become too large. */
const rp_value *rp_evaluate(gpuc_ctx *ctx, const rp_program *p, const rp_expr *closed);
const rp_value *rp_run_main(gpuc_ctx *ctx, const rp_program *p);

#endif
