/* SPDX-License-Identifier: Apache-2.0 */
/* Loop IR from inside: what functions, statements and expressions are made of, and builders of them. For code
 * generators, passes and tools. Everything lives in its context and is immutable. Builders raise; functions that look
 * take nodes only, NULL where it is said. gpuc_tir_text and gpuc_tir_parse (gpuc/tir.h) are the text form.
 *
 * Expressions. All arithmetic on data wraps (two's complement) on integers and is IEEE on
 * floats (contraction to fma is allowed, nothing else). An *index expression*, whose leaves are only
 * integer constants and variables of type int32/int64, does not overflow by contract: rewriting may
 * assume it. Evaluation order is free; SELECT evaluates both arms, IF_THEN_ELSE one. A vector
 * operand's operation is lane by lane; a scalar never meets a vector without a BROADCAST.
 *
 * Memory. Two buffers never alias, except that a kernel parameter pair may if the
 * function says so (aliased). A load of storage that was not written is an error (the evaluator tells).
 * Storage whose size comes out negative has no elements.
 * Equal loads give equal values only between stores and calls with effects.
 *
 * Loops. min and extent are evaluated once; extent <= 0 runs nothing. PARALLEL iterations are independent.
 * VECTORIZED and UNROLLED extents are constants when their pass runs. THREAD loops with one tag at several
 * places of a kernel are the same launch dimension: the extent is the largest, and a smaller one is guarded.
 * BARRIER must be reached by all invocations of a group, or by none. */
#ifndef GPUC_IR_H
#define GPUC_IR_H

#include <gpuc/scope.h>
#include <gpuc/tir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that a function reads and writes. Unique by identity. */
typedef struct gpuc_tir_buffer gpuc_tir_buffer;
/* How a reduction joins two tuples of values: gpuc_te_comm_reducer of gpuc/te.h makes one. */
typedef struct gpuc_tir_reducer gpuc_tir_reducer;
struct gpuc_iter;
struct gpuc_te_tensor;

/* ---- Looking: expressions ---- */

/* What an expression is; in brackets its operands. */
typedef enum gpuc_tir_expr_kind {
    GPUC_EXPR_VAR,   /* a variable */
    GPUC_EXPR_INT,   /* integers and bool */
    GPUC_EXPR_FLOAT, /* interned by bits */
    GPUC_EXPR_CAST,
    GPUC_EXPR_OP,
    GPUC_EXPR_LOAD,
    GPUC_EXPR_RAMP, /* base, base + stride, ... */
    GPUC_EXPR_BROADCAST,
    GPUC_EXPR_LANE,   /* one lane of a vector, by constant number */
    GPUC_EXPR_VECTOR, /* a vector from scalars */
    GPUC_EXPR_CALL,
    GPUC_EXPR_READ,   /* te: an element of a tensor */
    GPUC_EXPR_REDUCE, /* te: a reduction; only as the whole body of a compute */
    GPUC_EXPR_KIND_COUNT
} gpuc_tir_expr_kind;

/* One node of an expression. */
typedef struct gpuc_tir_expr_info {
    gpuc_tir_expr_kind kind; /* which of the following it has */
    gpuc_dtype dtype;        /* of its value; lanes > 1: a vector */
    /* VAR: the name, which others may have, too. OP: "+", "<", "exp", "select", ... CALL: "barrier", "atomic_add",
     * "extern", ... REDUCE: "sum", ... Else "". */
    const char *name;
    const char *function;          /* of a CALL of "extern": the C function; else "" */
    int64_t i;                     /* INT: the value, sign- or zero-extended; LANE: the number of the lane */
    double f;                      /* FLOAT: the value */
    const gpuc_tir_buffer *buffer; /* LOAD, and CALLs that access memory; else NULL */
    /* CAST, BROADCAST, LANE: one. OP: 1 to 3. LOAD, READ: indices. RAMP: start, stride. VECTOR: its lanes. CALL: its
     * arguments. REDUCE: the values that it joins. Borrowed. */
    const gpuc_expr *operands;
    int num_operands;              /* of operands */
    struct gpuc_te_tensor *tensor; /* READ: the gpuc_tensor of gpuc/te.h; else NULL */
    int num_axes;                  /* REDUCE */
    struct gpuc_iter *const *axes; /* REDUCE: the axes that are reduced over */
    gpuc_expr condition;           /* REDUCE: elements where it is false do not take part; NULL: all do */
} gpuc_tir_expr_info;
/* The node of an expression. */
GPUC_API gpuc_tir_expr_info gpuc_tir_expr_get(gpuc_expr e);

/* ---- Looking: statements ---- */

/* What a statement is. */
typedef enum gpuc_tir_stmt_kind {
    GPUC_STMT_FOR,
    GPUC_STMT_STORE,
    GPUC_STMT_IF,
    GPUC_STMT_SEQ,
    GPUC_STMT_ALLOC, /* a buffer that lives in the body */
    GPUC_STMT_LET,
    GPUC_STMT_EVAL, /* an expression for its effect */
    GPUC_STMT_ATTR, /* says something about the body */
    GPUC_STMT_KIND_COUNT
} gpuc_tir_stmt_kind;

/* How the iterations of a loop run. */
typedef enum gpuc_loop_kind {
    GPUC_LOOP_SERIAL,
    GPUC_LOOP_PARALLEL,
    GPUC_LOOP_VECTORIZED,
    GPUC_LOOP_UNROLLED,
    GPUC_LOOP_THREAD, /* bound to tag */
    GPUC_LOOP_KIND_COUNT
} gpuc_loop_kind;

/* One node of a statement. Statements that do nothing are NULL. */
typedef struct gpuc_tir_stmt_info {
    gpuc_tir_stmt_kind kind;       /* which of the following it has */
    gpuc_expr var;                 /* FOR, LET: a VAR */
    gpuc_expr min, extent;         /* FOR: its values are min to min + extent - 1 */
    gpuc_loop_kind loop;           /* FOR */
    gpuc_thread_tag tag;           /* FOR of a THREAD loop */
    const gpuc_tir_buffer *buffer; /* STORE, ALLOC */
    int num_index;                 /* STORE */
    const gpuc_expr *index;        /* STORE: one per dimension */
    gpuc_expr value; /* STORE: what is stored, LET, EVAL; IF: the condition; ATTR: an argument, or NULL */
    const char *key, *text;  /* ATTR, see gpuc_tir_attr; text may be NULL */
    int num_bodies;          /* FOR, ALLOC, LET, ATTR: 1. IF: 2. SEQ: as many as it has */
    const gpuc_stmt *bodies; /* borrowed; the second of an IF may be NULL */
} gpuc_tir_stmt_info;
/* The node of a statement. */
GPUC_API gpuc_tir_stmt_info gpuc_tir_stmt_get(gpuc_stmt s);

/* ---- Looking: functions ---- */

/* A buffer. It is row-major and compact but for what strides say. */
typedef struct gpuc_tir_buffer_info {
    const char *name;         /* others may have it, too */
    gpuc_dtype dtype;         /* of an element; one lane */
    gpuc_scope scope;         /* where it lies */
    int ndim;                 /* of shape; 1 in kernels */
    const gpuc_expr *shape;   /* borrowed */
    const gpuc_expr *strides; /* in elements, per dimension; NULL: compact */
    bool non_temporal;        /* nothing reads it soon: stores may pass the caches */
} gpuc_tir_buffer_info;
/* The description of a buffer. */
GPUC_API gpuc_tir_buffer_info gpuc_tir_buffer_get(const gpuc_tir_buffer *b);

/* A launch dimension of a kernel. */
typedef struct gpuc_tir_thread {
    gpuc_thread_tag tag; /* which */
    gpuc_expr var;       /* the VAR that has its number in the body */
    gpuc_expr extent;    /* over the function's scalars; a constant of a thread tag */
} gpuc_tir_thread;

/* Stages of a function's life; the validator checks what each allows (see validate.h). */
typedef enum gpuc_tir_stage {
    GPUC_TIR_STAGE_NESTED, /* from schedule lowering: multi-dimensional accesses */
    GPUC_TIR_STAGE_FLAT,   /* after storage_flatten: one index, constant local and shared sizes */
    GPUC_TIR_STAGE_KERNEL, /* one kernel: thread loops are gone, threads lists them */
    GPUC_TIR_STAGE_TARGET  /* all lowering done: only what generators know */
} gpuc_tir_stage;

/* A function: its arguments are the buffers, then the scalars. */
typedef struct gpuc_tir_func_info {
    const char *name;                          /* a C identifier */
    const char *label;                         /* for people; "" */
    gpuc_tir_stage stage;                      /* how far it is lowered */
    int num_buffers, num_scalars, num_threads; /* of the arrays below */
    gpuc_tir_buffer *const *buffers;           /* of scope global, texel or texture */
    const gpuc_expr *scalars;       /* VARs of int32, int64 or float32; symbols of shapes are among them */
    const gpuc_tir_thread *threads; /* of a kernel; other functions have THREAD loops */
    bool aliased;                   /* buffers may overlap */
    uint32_t subgroup_size;         /* that it relies on; 0: none */
    gpuc_stmt body;                 /* NULL: it does nothing */
} gpuc_tir_func_info;
/* What a function has; all that it points to is borrowed. */
GPUC_API gpuc_tir_func_info gpuc_tir_func_get(const gpuc_tir_func *f);

/* ---- Visiting ---- */

/* Calls visit on each distinct subexpression once, children first; stops when it returns false. */
GPUC_API bool gpuc_tir_visit(gpuc_ctx *ctx, gpuc_expr e, bool (*visit)(gpuc_expr e, void *arg), void *arg);
/* Every statement (parents first), and each distinct expression of them once. Either callback may be NULL. */
GPUC_API void gpuc_tir_visit_stmt(gpuc_ctx *ctx, gpuc_stmt s, void (*on_stmt)(gpuc_stmt s, void *arg),
                                  bool (*on_expr)(gpuc_expr e, void *arg), void *arg);

/* ---- Building ---- */

/* A new buffer of the context, which no other aliases. */
GPUC_API gpuc_tir_buffer *gpuc_tir_buffer_make(gpuc_ctx *ctx, const char *name, gpuc_dtype dtype, int ndim,
                                               const gpuc_expr *shape, gpuc_scope scope);
/* An element of b, or a vector of them if the one index is a vector. */
GPUC_API gpuc_expr gpuc_tir_load(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *index);
/* The vector start, start + stride, ... */
GPUC_API gpuc_expr gpuc_tir_ramp(gpuc_ctx *ctx, gpuc_expr start, gpuc_expr stride, int lanes);
/* A vector of equal lanes; lanes 1: a itself. */
GPUC_API gpuc_expr gpuc_tir_broadcast(gpuc_ctx *ctx, gpuc_expr a, int lanes);
/* One lane of a vector. */
GPUC_API gpuc_expr gpuc_tir_lane(gpuc_ctx *ctx, gpuc_expr a, int lane);
/* A vector of n scalars of one type. */
GPUC_API gpuc_expr gpuc_tir_vector(gpuc_ctx *ctx, int n, const gpuc_expr *a);
/* A call of a row of src/tir/intrinsics.def by its text: "barrier", "atomic_add", ... function is the C function's name
 * for "extern", else NULL; buffer is that of memory intrinsics, else NULL. Raises for a text that is none.
 * "extern" calls a C function that the program, or a library in it, exports (target c only); its arguments are scalars, and
 * addresses of elements: int64 "address" of a buffer at an index per dimension, or "const_address" where the function only
 * reads, are pointers to elements of the buffer's type. int64 "stride" of a buffer and a constant dimension is the distance
 * of neighbours along it, in elements: a body of gpuc_te_extern that does not ask for it is refused where rows do not
 * lie side by side. */
GPUC_API gpuc_expr gpuc_tir_intrinsic(gpuc_ctx *ctx, gpuc_dtype dtype, const char *name, const char *function,
                                      const gpuc_tir_buffer *buffer, int n, const gpuc_expr *args);

/* A statement that does nothing is NULL, as a body and as a result: a loop that never runs or has no body, an
 * if whose condition is a constant and chooses nothing, an eval without effect, ... tag is that of a THREAD loop, else
 * NONE. */
GPUC_API gpuc_stmt gpuc_tir_for_(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr min, gpuc_expr extent,
                                 gpuc_loop_kind kind, gpuc_thread_tag tag, gpuc_stmt body);
/* Stores a value, of as many lanes as the one index has. */
GPUC_API gpuc_stmt gpuc_tir_store(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *index,
                                  gpuc_expr value);
/* else_body may be NULL. */
GPUC_API gpuc_stmt gpuc_tir_if_(gpuc_ctx *ctx, gpuc_expr cond, gpuc_stmt then_body, gpuc_stmt else_body);
/* One after the other; sequences in it are flattened, and one statement is itself. */
GPUC_API gpuc_stmt gpuc_tir_seq(gpuc_ctx *ctx, int n, const gpuc_stmt *at);
/* A buffer that lives in the body. */
GPUC_API gpuc_stmt gpuc_tir_alloc(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_stmt body);
/* The variable has the value in the body. */
GPUC_API gpuc_stmt gpuc_tir_let(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr value, gpuc_stmt body);
/* An expression for its effect. */
GPUC_API gpuc_stmt gpuc_tir_eval(gpuc_ctx *ctx, gpuc_expr value);
/* Keys: "pragma" (text is the pragma's name, value its argument); "reduce_init" and "reduce_update"
 * (around the two halves of a reduction, made by schedule lowering); "allreduce": text lists the thread tags
 * that are reduced over ("threadIdx.x" or "threadIdx.x,threadIdx.y"); the body is a STORE, a SEQ of
 * reducer->count STOREs (value k of the tuple), or an IF without else around that. All threads of the group
 * reach it and offer the stores' values (evaluated outside of the IF); those of the threads that differ only
 * in the tags are combined in any order. The results are stored under the IF's condition: into a local buffer
 * by every thread, into another by the thread whose tags are all 0.
 * "coopmat": the threads that differ in x only do the body once, together (see gpuc_tir_coopmat); only such
 * bodies access buffers of scope coopmat. The reducer is that of "allreduce"; else NULL. */
GPUC_API gpuc_stmt gpuc_tir_attr(gpuc_ctx *ctx, const char *key, const char *text, gpuc_expr value,
                                 const gpuc_tir_reducer *reducer, gpuc_stmt body);
/* A function before lowering (gpuc_lower_passes with "lower" does that), named by a C identifier. Buffers are of scope
 * global, texel or texture; scalars are VARs. Raises if the body uses others, or is wrong in another way. */
GPUC_API gpuc_tir_func *gpuc_tir_func_make(gpuc_ctx *ctx, const char *name, int num_buffers,
                                           gpuc_tir_buffer *const *buffers, int num_scalars,
                                           const gpuc_expr *scalars, gpuc_stmt body);

#ifdef __cplusplus
}
#endif
#endif
