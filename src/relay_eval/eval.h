/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of Relay's interpreter.
 *
 * A function is compiled, when it is first called, to instructions over the registers of its frame; frames lie in
 * arrays of their own, so that neither deep programs nor deep recursion needs a deep C stack. A node that several nodes
 * use is computed where it is first needed, once per call of the function.
 *
 *   value.c        tensors, tuples, data and closures
 *   compile.c      functions to instructions
 *   machine.c      runs them
 *   kernel.c       operators: their definitions, lowered without a schedule, kept by types
 *   scalar.c       the same on scalars, without memory
 *   fit.c          whether a value has a type
 *   interpreter.c  functions of gpuc/relay.h
 *   json_read.c, json_write.c  values as text */
#ifndef GPUC_RELAY_EVAL_EVAL_H
#define GPUC_RELAY_EVAL_EVAL_H

#include "relay/infer.h"
#include "runtime/object.h"
#include "tir/value.h"

/* ---- Values ---- */

/* What all values of an interpreter take, counted: it stays as long as one of them. */
typedef struct gpuc_relay_eval_heap {
    gpuc_allocator allocator;
    size_t refs; /* of the interpreter and the values */
    size_t used, max;
    size_t refused; /* the newest block for which there was no room */
} gpuc_relay_eval_heap;

struct gpuc_relay_eval_code;

struct gpuc_relay_value {
    gpuc_object object; /* first */
    gpuc_relay_value_kind kind;
    int n;        /* TENSOR: dimensions; else fields, or what a closure holds of the variables around it */
    size_t bytes; /* of the whole block */
    gpuc_relay_eval_heap *heap;
    union {
        gpuc_dtype dtype;                    /* TENSOR */
        const gpuc_constructor *constructor; /* DATA; FUNCTION that is a constructor; else NULL */
        struct gpuc_relay_value *next;       /* while it is freed */
    };
    const struct gpuc_relay_eval_code *code; /* FUNCTION; NULL: a constructor */
    size_t size;                             /* of a tensor's elements, in bytes */
    union {
        int64_t dims[1]; /* TENSOR: n of them, then the elements, aligned to 16 */
        struct gpuc_relay_value *fields[1];
    } at;
};

/* One reference; elements are zero, fields are NULL and the caller sets them. NULL: no memory is left. */
gpuc_relay_value *gpuc_relay_eval_tensor(gpuc_relay_eval_heap *heap, gpuc_dtype dtype, int ndim,
                                         const int64_t *dims);
gpuc_relay_value *gpuc_relay_eval_fields(gpuc_relay_eval_heap *heap, gpuc_relay_value_kind kind, int n);
void *gpuc_relay_eval_data(const gpuc_relay_value *tensor);
/* Copies its elements from bytes of a file or a caller: a bool that is not 0 becomes 1. */
void gpuc_relay_eval_fill(gpuc_relay_value *tensor, const void *bytes);
void gpuc_relay_eval_heap_release(gpuc_relay_eval_heap *heap);
/* Memory that counts as values do; NULL: none is left. */
void *gpuc_relay_eval_resize(gpuc_relay_eval_heap *heap, void *block, size_t old_size, size_t new_size);
static inline gpuc_relay_value *gpuc_relay_eval_retain(gpuc_relay_value *v)
{
    atomic_fetch_add_explicit(&v->object.refs, 1, memory_order_relaxed);
    return v;
}
static inline void gpuc_relay_eval_release(gpuc_relay_value *v)
{
    if (v) gpuc_object_release(&v->object);
}

/* ---- Instructions ---- */

typedef enum gpuc_relay_eval_kind {
    GPUC_RELAY_EVAL_CONST,    /* d = value */
    GPUC_RELAY_EVAL_MOVE,     /* d = at[0] */
    GPUC_RELAY_EVAL_CLOSURE,  /* d = code over at[] */
    GPUC_RELAY_EVAL_TUPLE,    /* d = (at[]) */
    GPUC_RELAY_EVAL_GET,      /* d = at[0].index */
    GPUC_RELAY_EVAL_DATA,     /* d = constructor(at[]) */
    GPUC_RELAY_EVAL_OPERATOR, /* d = operator(at[]) */
    GPUC_RELAY_EVAL_CALL,     /* d = code(at[]) */
    GPUC_RELAY_EVAL_APPLY,    /* d = at[0](at[1 ..]) */
    GPUC_RELAY_EVAL_IF,       /* goes on at targets[0] where at[0] is true, else at targets[1] */
    GPUC_RELAY_EVAL_MATCH,    /* goes on at targets[k] of the first clause k that fits at[0] */
    GPUC_RELAY_EVAL_ENSURE,   /* computes d by what stands at `to`, unless it is there */
    GPUC_RELAY_EVAL_BACK,     /* ends that */
    GPUC_RELAY_EVAL_JUMP,     /* goes on at `to` */
    GPUC_RELAY_EVAL_RETURN    /* gives at[0] to the caller */
} gpuc_relay_eval_kind;

typedef struct gpuc_relay_eval_site gpuc_relay_eval_site;
typedef struct gpuc_relay_eval_code gpuc_relay_eval_code;

/* A pattern with registers for its variables. */
typedef struct gpuc_relay_eval_pattern {
    int reg;                             /* -1: no variable */
    const gpuc_constructor *constructor; /* that the value must have; NULL: any */
    int n;
    const struct gpuc_relay_eval_pattern *at; /* of the fields */
} gpuc_relay_eval_pattern;

typedef struct gpuc_relay_eval_ins {
    gpuc_relay_eval_kind kind;
    bool tail; /* CALL, APPLY: the frame has nothing left to do */
    int d, n;
    const int *at; /* n registers */
    int to, index;
    const int *targets;                      /* IF: then, else; MATCH: n clauses */
    const gpuc_relay_eval_pattern *patterns; /* MATCH */
    gpuc_rexpr *e;                           /* for messages */
    gpuc_relay_value *value;                 /* CONST; the code owns it */
    gpuc_relay_eval_code *code;              /* CLOSURE, CALL */
    gpuc_relay_eval_site *site;              /* OPERATOR */
    const gpuc_constructor *creates;         /* DATA */
} gpuc_relay_eval_ins;

/* A parameter whose extents a call has to check, or that says what symbols stand for. */
typedef struct gpuc_relay_eval_param {
    int index; /* its register */
    const gpuc_rtype *type;
    bool written; /* the type is in the program: it names sizes of functions around */
} gpuc_relay_eval_param;

struct gpuc_relay_eval_code {
    const char *name; /* "@main"; of a function inside of others "fn" */
    gpuc_rexpr *e;    /* the FUNCTION */
    bool compiled;
    int num_params, num_held, num_regs; /* registers: parameters, what the closure holds, itself, others */
    int self; /* the register of the closure itself, the only way to call it then; -1: none */
    gpuc_rexpr *self_var;
    gpuc_ptrs held; /* the variables of num_held */
    gpuc_relay_eval_ins *ins;
    size_t num_ins, capacity;
    gpuc_map regs; /* variable -> register + 1 */
    int num_checked;
    gpuc_relay_eval_param *checked;
    int num_around;
    gpuc_relay_eval_param *around; /* of those that it holds, which say sizes of functions around */
};

/* ---- The machine ---- */

typedef struct gpuc_relay_eval_frame {
    gpuc_relay_eval_code *code;
    uint32_t pc, tails;     /* calls that this frame was before */
    size_t regs;            /* the first of its registers */
    const gpuc_rexpr *from; /* the newest call from another text, for messages; or NULL */
} gpuc_relay_eval_frame;

typedef struct gpuc_relay_eval_kernels gpuc_relay_eval_kernels;

struct gpuc_relay_interpreter {
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    gpuc_relay_eval_heap *heap;
    uint64_t max_calls;
    gpuc_strmap codes;  /* name of a function -> code */
    gpuc_map constants; /* CONSTANT, GLOBAL, constructor -> value, which is owned here */
    gpuc_map inner;     /* FUNCTION -> code */
    gpuc_relay_eval_kernels *kernels;
    gpuc_map field_types; /* ADT type -> fields of its constructors (fit.c) */
    gpuc_ptrs adt_types;  /* the same, each type once */
    /* while it runs */
    gpuc_relay_value **regs;
    size_t num_regs, max_regs;
    gpuc_relay_value **args; /* of an operator with many */
    size_t max_args;
    gpuc_relay_eval_frame *frames;
    size_t num_frames, max_frames;
    uint32_t *backs;
    size_t num_backs, max_backs;
    uint64_t calls;
    bool running;
};

/* The code of a global function; NULL: there is none. */
gpuc_relay_eval_code *gpuc_relay_eval_global(gpuc_relay_interpreter *i, const char *name);
void gpuc_relay_eval_compile(gpuc_relay_interpreter *i, gpuc_relay_eval_code *code);
/* Runs a function; args are borrowed. Gives a new reference; raises. */
gpuc_relay_value *gpuc_relay_eval_run(gpuc_relay_interpreter *i, gpuc_relay_eval_code *code, int n,
                                      gpuc_relay_value *const *args);
/* Raises with the place of e before the text. */
GPUC_NORETURN void gpuc_relay_eval_fail(gpuc_relay_interpreter *i, gpuc_code code, const gpuc_rexpr *e,
                                        const char *fmt, ...) GPUC_PRINTF(4, 5);
GPUC_NORETURN void gpuc_relay_eval_no_memory(gpuc_relay_interpreter *i, const gpuc_rexpr *e);

/* ---- Operators ---- */

gpuc_relay_eval_site *gpuc_relay_eval_site_create(gpuc_relay_interpreter *i, const gpuc_rexpr *call);
/* The result of an operator: a tensor, or a tuple of them. A new reference; raises. */
gpuc_relay_value *gpuc_relay_eval_operator(gpuc_relay_interpreter *i, gpuc_relay_eval_site *site,
                                           gpuc_relay_value *const *args);
void gpuc_relay_eval_kernels_destroy(gpuc_relay_interpreter *i);

/* An operator whose inputs and only output are scalars, as a list of steps. */
typedef struct gpuc_relay_eval_scalar gpuc_relay_eval_scalar;
/* NULL: it is not of that form. In memory of the allocator. */
gpuc_relay_eval_scalar *gpuc_relay_eval_scalar_create(gpuc_ctx *ctx, gpuc_allocator allocator, int num_in,
                                                      gpuc_tensor *const *ins, gpuc_tensor *out);
void gpuc_relay_eval_scalar_run(const gpuc_relay_eval_scalar *s, const void *const *ins, void *out);
void gpuc_relay_eval_scalar_destroy(gpuc_allocator allocator, gpuc_relay_eval_scalar *s);

/* ---- Types ---- */

/* What the symbol is in a value of type t; -1: it is not there. */
int64_t gpuc_relay_eval_symbol_in(const gpuc_relay_value *v, const gpuc_rtype *t, gpuc_expr symbol);
/* NULL: the extents of argument checked[k] fit, with those before it and with functions around. Else what is wrong, in
 * the context. */
const char *gpuc_relay_eval_wrong_extent(gpuc_relay_interpreter *i, const gpuc_relay_eval_code *code,
                                         gpuc_relay_value *const *regs, int k);
bool gpuc_relay_eval_tensor_fits(const gpuc_relay_value *v, const gpuc_tensor_type *t);
/* NULL: the value has the type. Else what is wrong, in the context. */
const char *gpuc_relay_eval_misfit(gpuc_relay_interpreter *i, const gpuc_relay_value *v, const gpuc_rtype *t);
/* The types of a constructor's fields where its result is t. */
const gpuc_rtype *const *gpuc_relay_eval_fields_of(gpuc_relay_interpreter *i, const gpuc_rtype *t,
                                                   const gpuc_constructor *c);

/* Is the type a list: one constructor without fields, and one of an element and the type itself? Gives the latter. */
const gpuc_constructor *gpuc_relay_eval_cons(const gpuc_adt *adt);

#endif
