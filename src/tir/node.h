/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of the loop IR, and what they mean.
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
#ifndef GPUC_TIR_NODE_H
#define GPUC_TIR_NODE_H

#include <gpuc/tir.h>

#include "abi/kernel.h"
#include "abi/scope.h"
#include "base/map.h"

typedef enum gpuc_tir_op {
#define GPUC_TIR_OP(e, ...) GPUC_TIR_##e,
#include "tir/ops.def"
#undef GPUC_TIR_OP
    GPUC_TIR_OP_COUNT
} gpuc_tir_op;

typedef enum gpuc_tir_result { GPUC_TIR_SAME, GPUC_TIR_BOOL, GPUC_TIR_ARM } gpuc_tir_result;
enum {
    GPUC_TIR_COMM = 1,
    GPUC_TIR_ASSOC = 2,
    GPUC_TIR_INT = 4,
    GPUC_TIR_FLT = 8,
    GPUC_TIR_LOGIC = 16,
    GPUC_TIR_LAZY = 32,
    GPUC_TIR_WRAPS = 64,
    GPUC_TIR_FUNC = 128
};
/* How tightly operators bind, as in C; the text form has fewer of them. */
typedef enum gpuc_prec {
    GPUC_PREC_NONE,
    GPUC_PREC_COMMA,
    GPUC_PREC_ASSIGN,
    GPUC_PREC_COND,
    GPUC_PREC_LOGOR,
    GPUC_PREC_LOGAND,
    GPUC_PREC_OR,
    GPUC_PREC_XOR,
    GPUC_PREC_AND,
    GPUC_PREC_EQ,
    GPUC_PREC_REL,
    GPUC_PREC_SHIFT,
    GPUC_PREC_ADD,
    GPUC_PREC_MUL,
    GPUC_PREC_UNARY,
    GPUC_PREC_POSTFIX
} gpuc_prec;
typedef struct gpuc_tir_op_info {
    const char *text;
    int arity;
    gpuc_tir_result result;
    gpuc_prec prec;
    int flags;
} gpuc_tir_op_info;
extern const gpuc_tir_op_info gpuc_tir_ops[GPUC_TIR_OP_COUNT];

typedef enum gpuc_tir_intrin {
#define GPUC_TIR_INTRIN(e, text, effect) GPUC_TIR_CALL_##e,
#include "tir/intrinsics.def"
#undef GPUC_TIR_INTRIN
    GPUC_TIR_INTRIN_COUNT
} gpuc_tir_intrin;
typedef enum gpuc_tir_effect {
    GPUC_TIR_PURE,
    GPUC_TIR_READS,
    GPUC_TIR_WRITES,
    GPUC_TIR_SYNC
} gpuc_tir_effect;
typedef struct gpuc_tir_intrin_info {
    const char *text;
    gpuc_tir_effect effect;
} gpuc_tir_intrin_info;
extern const gpuc_tir_intrin_info gpuc_tir_intrins[GPUC_TIR_INTRIN_COUNT];

/* ---- Variables with a range; buffers; reducers ------------------------------------------------ */

typedef enum gpuc_iter_kind {
    GPUC_ITER_DATA, /* of a compute's output */
    GPUC_ITER_REDUCE,
    GPUC_ITER_THREAD /* a launch dimension */
} gpuc_iter_kind;

/* An iteration variable ("IterVar"): of a compute, a reduction, a schedule. Unique by identity. */
typedef struct gpuc_iter {
    gpuc_expr var; /* a VAR of type GPUC_INDEX */
    gpuc_expr min, extent;
    gpuc_iter_kind kind;
    gpuc_thread_tag tag;
} gpuc_iter;

/* Memory that a function reads and writes. Unique by identity. Row-major and compact, unless
 * storage_align padded a dimension: then strides holds the element strides. After
 * storage_flatten ndim is 1. */
typedef struct gpuc_tir_buffer {
    const char *name;
    uint32_t id;
    gpuc_dtype dtype; /* lanes 1; bool is one byte */
    gpuc_scope scope;
    int ndim;
    const gpuc_expr *shape;
    const gpuc_expr *strides; /* NULL: compact */
    bool double_buffer;       /* wanted by the schedule; the pass of that name clears it */
    bool non_temporal;        /* vectors are stored past the caches: nothing reads them soon */
    bool require_scope;       /* other storage in its place is an error */
} gpuc_tir_buffer;

/* A commutative combination of tuples: result[k] is an expression over lhs and rhs variables. */
typedef struct gpuc_tir_reducer {
    const char *name; /* "sum", "prod", "min", "max", "all", "any", "argmin", ... */
    int count;        /* of the tuple */
    const gpuc_expr *lhs, *rhs, *result, *identity;
} gpuc_tir_reducer;

/* ---- Expressions ---------------------------------------------------------------------------- */

typedef enum gpuc_tir_expr_kind {
    GPUC_EXPR_VAR,
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

/* Flags about an expression and everything in it. */
enum {
    GPUC_TIR_HAS_LOAD = 1,   /* a LOAD, or a call that reads */
    GPUC_TIR_HAS_EFFECT = 2, /* a call that writes or synchronises: never dropped, never duplicated */
    GPUC_TIR_HAS_TE = 4,     /* READ or REDUCE */
    GPUC_TIR_IS_INDEX = 8,   /* leaves are integer constants and variables of type int32/int64 only */
    GPUC_TIR_HAS_VAR = 16
};
/* Builders refuse deeper expressions and statements, so that recursion over them is bounded. */
#define GPUC_TIR_MAX_DEPTH 2000
#define GPUC_TIR_MAX_NESTING 4000

typedef struct gpuc_tir_expr {
    gpuc_tir_expr_kind kind;
    gpuc_dtype dtype;
    uint32_t hash;
    uint32_t id; /* order of creation in the context */
    uint16_t flags;
    uint16_t depth; /* 1 for a leaf */
    uint32_t size;  /* nodes when written out as a tree; stays at UINT32_MAX */
    const gpuc_ctx *ctx;
} gpuc_tir_expr;

typedef struct gpuc_tir_var_node {
    gpuc_tir_expr base;
    const char *name;
} gpuc_tir_var_node;
/* Sign- or zero-extended from its type; of uint64 the bits. */
typedef struct gpuc_tir_int_node {
    gpuc_tir_expr base;
    int64_t value;
} gpuc_tir_int_node;
typedef struct gpuc_tir_float_node {
    gpuc_tir_expr base;
    double value;
} gpuc_tir_float_node;
typedef struct gpuc_tir_cast_node {
    gpuc_tir_expr base;
    gpuc_expr a;
} gpuc_tir_cast_node;
typedef struct gpuc_tir_opexpr_node {
    gpuc_tir_expr base;
    gpuc_tir_op op;
    gpuc_expr a[3]; /* NULL beyond the operator's arity */
} gpuc_tir_opexpr_node;
typedef struct gpuc_tir_load_node {
    gpuc_tir_expr base;
    const gpuc_tir_buffer *buffer;
    int n;
    const gpuc_expr *index; /* after flattening n == 1; a vector index makes a vector load */
} gpuc_tir_load_node;
typedef struct gpuc_tir_ramp_node {
    gpuc_tir_expr base;
    gpuc_expr start, stride;
} gpuc_tir_ramp_node;
typedef struct gpuc_tir_broadcast_node {
    gpuc_tir_expr base;
    gpuc_expr a;
} gpuc_tir_broadcast_node;
typedef struct gpuc_tir_lane_node {
    gpuc_tir_expr base;
    gpuc_expr a;
    int lane;
} gpuc_tir_lane_node;
typedef struct gpuc_tir_vector_node {
    gpuc_tir_expr base;
    const gpuc_expr *a;
} gpuc_tir_vector_node;
typedef struct gpuc_tir_call_node {
    gpuc_tir_expr base;
    gpuc_tir_intrin fn;
    const char *name;              /* of EXTERN */
    const gpuc_tir_buffer *buffer; /* of memory intrinsics */
    int n;
    const gpuc_expr *args;
} gpuc_tir_call_node;
typedef struct gpuc_tir_read_node {
    gpuc_tir_expr base;
    struct gpuc_te_tensor *tensor;
    int n;
    const gpuc_expr *index;
} gpuc_tir_read_node;
typedef struct gpuc_tir_reduce_node {
    gpuc_tir_expr base;
    const gpuc_tir_reducer *reducer;
    const gpuc_expr *source; /* reducer->count of them */
    int num_axes;
    gpuc_iter *const *axes;
    gpuc_expr condition; /* NULL: always; else elements where it is false do not take part */
    int value_index;     /* which of the tuple this expression is */
} gpuc_tir_reduce_node;

/* ---- Statements ----------------------------------------------------------------------------- */

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

typedef enum gpuc_loop_kind {
    GPUC_LOOP_SERIAL,
    GPUC_LOOP_PARALLEL,
    GPUC_LOOP_VECTORIZED,
    GPUC_LOOP_UNROLLED,
    GPUC_LOOP_THREAD, /* bound to tag */
    GPUC_LOOP_KIND_COUNT
} gpuc_loop_kind;

typedef struct gpuc_tir_stmt {
    gpuc_tir_stmt_kind kind;
    uint32_t depth; /* of nesting: 1 for a store; at most GPUC_TIR_MAX_NESTING */
} gpuc_tir_stmt;
typedef struct gpuc_tir_for_node {
    gpuc_tir_stmt base;
    gpuc_expr var, min, extent;
    gpuc_loop_kind loop;
    gpuc_thread_tag tag;
    gpuc_stmt body;
} gpuc_tir_for_node;
typedef struct gpuc_tir_store_node {
    gpuc_tir_stmt base;
    const gpuc_tir_buffer *buffer;
    int n;
    const gpuc_expr *index;
    gpuc_expr value; /* as many lanes as the index */
} gpuc_tir_store_node;
typedef struct gpuc_tir_if_node {
    gpuc_tir_stmt base;
    gpuc_expr cond;
    gpuc_stmt then_body, else_body; /* else_body may be NULL */
} gpuc_tir_if_node;
typedef struct gpuc_tir_seq_node {
    gpuc_tir_stmt base;
    int n;
    const gpuc_stmt *at;
} gpuc_tir_seq_node;
typedef struct gpuc_tir_alloc_node {
    gpuc_tir_stmt base;
    const gpuc_tir_buffer *buffer;
    gpuc_stmt body;
} gpuc_tir_alloc_node;
typedef struct gpuc_tir_let_node {
    gpuc_tir_stmt base;
    gpuc_expr var, value;
    gpuc_stmt body;
} gpuc_tir_let_node;
typedef struct gpuc_tir_eval_node {
    gpuc_tir_stmt base;
    gpuc_expr value;
} gpuc_tir_eval_node;
/* Keys: "pragma" (text is the pragma's name, value its argument); "reduce_init" and "reduce_update"
 * (around the two halves of a reduction, made by schedule lowering); "allreduce": text lists the thread tags
 * that are reduced over ("threadIdx.x" or "threadIdx.x,threadIdx.y"); the body is a STORE, a SEQ of
 * reducer->count STOREs (value k of the tuple), or an IF without else around that. All threads of the group
 * reach it and offer the stores' values (evaluated outside of the IF); those of the threads that differ only
 * in the tags are combined in any order. The results are stored under the IF's condition: into a local buffer
 * by every thread, into another by the thread whose tags are all 0.
 * "coopmat": the threads that differ in x only do the body once, together (see gpuc_tir_coopmat); only such
 * bodies access buffers of scope coopmat. */
typedef struct gpuc_tir_attr_node {
    gpuc_tir_stmt base;
    const char *key, *text;
    gpuc_expr value;                 /* may be NULL */
    const gpuc_tir_reducer *reducer; /* of "allreduce" */
    gpuc_stmt body;
} gpuc_tir_attr_node;

/* ---- Functions ------------------------------------------------------------------------------ */

typedef struct gpuc_tir_thread {
    gpuc_thread_tag tag;
    gpuc_expr var, extent;
} gpuc_tir_thread;

/* Stages of a function's life; the validator checks what each allows (see validate.h). */
typedef enum gpuc_tir_stage {
    GPUC_TIR_STAGE_NESTED, /* from schedule lowering: multi-dimensional accesses */
    GPUC_TIR_STAGE_FLAT,   /* after storage_flatten: one index, constant local and shared sizes */
    GPUC_TIR_STAGE_KERNEL, /* one kernel: thread loops are gone, threads lists them */
    GPUC_TIR_STAGE_TARGET  /* all lowering done: only what generators know */
} gpuc_tir_stage;

/* What a range of groups touches of a parameter: bytes begin to end, over scalars and the numbers of the first and
 * the last group. NULL: not known, or not asked for. */
typedef struct gpuc_tir_window {
    gpuc_expr begin, end;
} gpuc_tir_window;

struct gpuc_tir_func {
    const char *name;  /* C identifier */
    const char *label; /* for people */
    gpuc_tir_stage stage;
    int num_buffers, num_scalars, num_threads;
    gpuc_tir_buffer *const *buffers; /* parameters; global or texture scope */
    const gpuc_expr *scalars;        /* VARs: int32, int64 or float32; symbols of shapes too */
    const gpuc_tir_thread *threads;  /* of a kernel: launch dimensions, launch extents over scalars */
    bool aliased;                    /* parameters may overlap */
    bool yields;            /* threads beyond what the target has become loops; else that is an error */
    uint32_t subgroup_size; /* that it relies on; 0 none */
    gpuc_expr iterations;   /* of a kernel: max iterations of all loops of an invocation, over scalars;
                                        NULL: not counted */
    gpuc_expr iterations_as_scheduled; /* the same before limit_iterations unrolled; NULL: it did not */
    const gpuc_tir_window *windows;    /* of each buffer; NULL: none */
    const gpuc_expr *groups;           /* with windows: VARs, the first group in x, y, z, and the last one */
    gpuc_stmt body;
};

#endif
