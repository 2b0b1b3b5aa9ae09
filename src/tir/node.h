/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of the loop IR; <gpuc/ir.h> says what they mean. */
#ifndef GPUC_TIR_NODE_H
#define GPUC_TIR_NODE_H

#include <gpuc/ir.h>

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
struct gpuc_tir_buffer {
    const char *name;
    uint32_t id;
    gpuc_dtype dtype; /* lanes 1; bool is one byte */
    gpuc_scope scope;
    int ndim;
    const gpuc_expr *shape;
    const gpuc_expr *strides; /* NULL: compact */
    const gpuc_expr *image;   /* of a texture after storage_flatten: height, width, channels; else NULL */
    bool double_buffer;       /* wanted by the schedule; the pass of that name clears it */
    bool non_temporal;        /* vectors are stored past the caches: nothing reads them soon */
    bool require_scope;       /* other storage in its place is an error */
};

/* A commutative combination of tuples: result[k] is an expression over lhs and rhs variables. */
struct gpuc_tir_reducer {
    const char *name; /* "sum", "prod", "min", "max", "all", "any", "argmin", ... */
    int count;        /* of the tuple */
    const gpuc_expr *lhs, *rhs, *result, *identity;
};

/* ---- Expressions ---------------------------------------------------------------------------- */

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
    union {
        struct {
            gpuc_expr start, stride;
        };
        gpuc_expr a[2];
    };
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
    union {
        struct {
            gpuc_stmt then_body, else_body; /* else_body may be NULL */
        };
        gpuc_stmt bodies[2];
    };
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
typedef struct gpuc_tir_attr_node {
    gpuc_tir_stmt base;
    const char *key, *text;
    gpuc_expr value;                 /* may be NULL */
    const gpuc_tir_reducer *reducer; /* of "allreduce" */
    gpuc_stmt body;
} gpuc_tir_attr_node;

/* ---- Functions ------------------------------------------------------------------------------ */

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
    gpuc_tir_buffer *const *buffers; /* parameters; of a global scope */
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
