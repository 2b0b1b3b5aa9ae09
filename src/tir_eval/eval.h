/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the evaluator.
 *
 * A function is compiled to a tree of instructions over registers, which is then interpreted. A register
 * holds a value for each *lane*: of the iterations of a strip of loops, or of the threads of a work-group;
 * uniform registers hold one value for all of them. Where control flow differs between lanes, a mask says
 * which take part: operators work on all lanes anyway (none can trap), memory only on those of the mask.
 *
 *   eval.c     entry, memory
 *   plan.c     which loops become lanes: those whose iterations are independent
 *   linear.c   index expressions as linear forms
 *   compile.c  statements; expr.c expressions; index.c accesses
 *   ops.c      one function per operator and type, over arrays; cast.c the same for casts
 *   exec.c     the interpreter; memory.c loads and stores; check.c what they check;
 *              group.c what threads of a group do together */
#ifndef GPUC_TIR_EVAL_EVAL_H
#define GPUC_TIR_EVAL_EVAL_H

#include <string.h>

#include "tir/intern.h"
#include "tir/value.h"

enum {
    EV_STRIP = 512,      /* lanes of a strip */
    EV_MAX_GROUP = 4096, /* threads of a group */
    EV_MAX_AXES = 8,     /* loops whose iterations are numbered together */
    EV_MAX_TERMS = 24,   /* of a linear form */
    EV_MAX_DIMS = 16
};

/* In registers float16 and the like are floats that their type can hold; the rest is as in memory. */
typedef enum ev_type { /* EV_INT8 ...: also the numbers of gpuc_elements */
#define GPUC_ELEMENT(name, code, bits, ...) EV_##code##bits,
#include "base/elements.def"
#undef GPUC_ELEMENT
                       EV_TYPE_COUNT
} ev_type;
ev_type gpuc_ev_type(gpuc_dtype t);
extern const uint8_t gpuc_ev_reg_bytes[EV_TYPE_COUNT];
extern const uint8_t gpuc_ev_mem_bytes[EV_TYPE_COUNT];
/* float16 and the like. */
static inline bool gpuc_ev_is_half(ev_type t)
{
    return gpuc_ev_reg_bytes[t] != gpuc_ev_mem_bytes[t];
}

/* Operators over arrays. mode 1: a has one value for all, 2: b has. d may be a or b. */
typedef void (*ev_binary_fn)(void *d, const void *a, const void *b, size_t n, int mode);
typedef void (*ev_unary_fn)(void *d, const void *a, size_t n);
ev_binary_fn gpuc_ev_binary(gpuc_tir_op op, ev_type t); /* NULL: not on this type */
ev_unary_fn gpuc_ev_unary(gpuc_tir_op op, ev_type t);
ev_unary_fn gpuc_ev_cast(ev_type to, ev_type from);
/* d = c ? a : b, elements of size bytes; steps of 0 or 1 for c, a, b. */
void gpuc_ev_select(void *d, const uint8_t *c, const void *a, const void *b, size_t n, int bytes,
                    const int *steps);
float gpuc_ev_round_half(ev_type t, double v); /* to a float that registers hold as float32 */
void gpuc_ev_half_load(ev_type t, float *d, const void *s, size_t n);
void gpuc_ev_half_store(ev_type t, void *d, const float *s, size_t n);
/* acc = op(acc, v[i]), in order. False if the operator has no quick form. */
bool gpuc_ev_fold(gpuc_tir_op op, ev_type t, void *acc, const void *v, size_t n);

/* ---- Memory of a run: freed in one go ------------------------------------------------------------- */

typedef struct ev_machine ev_machine;
void *gpuc_ev_alloc(ev_machine *m, size_t size); /* zeroed, of the run's arena */
#define ev_new(m, T) ((T *)gpuc_ev_alloc((m), sizeof(T)))
#define ev_new_array(m, T, n) ((T *)gpuc_ev_alloc((m), sizeof(T) * (size_t)(n)))
void *gpuc_ev_grow(ev_machine *m, void *array, size_t count, size_t *capacity, size_t item_size);

typedef struct ev_map { /* pointer -> pointer */
    const void **keys;
    void **values;
    uint32_t count, capacity;
} ev_map;
void *gpuc_ev_map_get(const ev_map *map, const void *key);
void gpuc_ev_map_set(ev_machine *m, ev_map *map, const void *key, void *value);

/* ---- Buffers -------------------------------------------------------------------------------------- */

typedef struct ev_shadow { /* who touched an element last */
    uint32_t write_epoch, read_epoch;
    uint32_t writer, reader;         /* lane, or iteration of a parallel loop */
    bool many_writers, many_readers; /* others too, in the same epoch */
} ev_shadow;

typedef struct ev_buffer {
    const gpuc_tir_buffer *b;
    ev_type type;
    bool private_;  /* each lane has one: element e of lane l is number e * copies + l */
    int row;        /* threads that differ in x only, which share one: e * copies + l / row; 0: not so */
    int64_t size;   /* elements; -1: known when it is allocated */
    int64_t copies; /* 1 if it is neither */
    int64_t shape[EV_MAX_DIMS], stride[EV_MAX_DIMS];
    uint8_t *data;
    size_t bytes;      /* that were allocated for data */
    uint8_t *written;  /* check: per element and copy; NULL: all are initialised */
    ev_shadow *shadow; /* races: per element; NULL: none are looked for */
    bool stored;       /* some instruction writes it */
    bool wide_shadow;  /* other groups matter too: global memory */
} ev_buffer;

/* ---- Code ----------------------------------------------------------------------------------------- */

typedef struct ev_reg {
    ev_type type;
    int vl; /* lanes of a vector type; component k of all lanes lies before component k + 1 */
    bool uniform;
    bool constant; /* an integer constant */
    int64_t value;
    size_t bytes;
    void *at;
    struct ev_reg *next; /* in the list of a scope or of free ones */
} ev_reg;

/* constant + sum(coeff * register) of uniform int64 registers. */
typedef struct ev_sum {
    int64_t constant;
    int n;
    struct {
        ev_reg *reg;
        int64_t coeff;
    } at[EV_MAX_TERMS];
} ev_sum;

/* The number of an element: sum + stride * lane + varying[lane] + step * component. */
typedef struct ev_index {
    ev_sum sum;
    int64_t stride, step;
    ev_reg *varying; /* NULL: none; else stride is 0. Of several components: step is 0 */
    int dim;         /* of a check */
} ev_index;

typedef struct ev_access {
    ev_buffer *buffer;
    ev_index flat;
    int vl;
    bool uniform; /* the same element for all lanes */
    int num_dims; /* check: those that may be out of range on their own; 0: flat only */
    ev_index *dims;
    gpuc_stmt stmt; /* for messages */
} ev_access;

typedef struct ev_block {
    struct ev_ins **at;
    size_t count, capacity;
} ev_block;

typedef enum ev_kind {
    EV_UNARY,
    EV_BINARY,
    EV_SELECT,
    EV_REINTERPRET,
    EV_FILL,
    EV_RAMP,
    EV_PART,
    EV_VECTOR,
    EV_MULADD,
    EV_LOAD,
    EV_LAZY,
    EV_CALL,
    EV_STORE,
    EV_ACCUMULATE,
    EV_FOR,
    EV_IF,
    EV_ALLOC,
    EV_STRIPS,
    EV_GROUP,
    EV_THREADS,
    EV_ALLREDUCE,
    EV_KIND_COUNT
} ev_kind;

/* A loop or thread axis whose number is part of the lane's. */
typedef struct ev_axis {
    gpuc_expr var;
    gpuc_thread_tag tag;
    int64_t min, extent,
        radix;      /* lane = sum(number * radix); extent -1: of the outermost axis, in a register */
    ev_reg *first;  /* uniform int64: the variable's value in lane 0; NULL: it is min */
    ev_reg *number; /* varying int64: the value in each lane; NULL if nobody asked */
} ev_axis;

typedef struct ev_lanes { /* what the lanes of a region are */
    bool group;           /* threads of a work-group */
    int num_axes;
    ev_axis axes[EV_MAX_AXES];     /* outermost first */
    ev_reg *mins[EV_MAX_AXES];     /* of strips: uniform int64 */
    int width;                     /* lanes at a time */
    int subgroup;                  /* of a group: its size */
    const gpuc_tir_for_node *loop; /* of strips: the outermost */
} ev_lanes;

typedef struct ev_ins {
    ev_kind kind;
    gpuc_tir_op op;
    ev_reg *d, *a, *b, *c;
    union {
        ev_unary_fn unary;
        ev_binary_fn binary;
    } fn;
    int64_t k;          /* coefficient, component */
    bool blocks, watch; /* of FOR: over the groups of a launch; a parallel loop that may race */
    ev_access *access;
    ev_reg **list; /* of VECTOR and CALL */
    int num_list;
    ev_block body, other; /* of FOR, IF and LAZY (then, else), regions */
    ev_lanes *lanes;
    const gpuc_tir_call_node *call;
    ev_buffer *buffer;
    struct ev_allreduce *reduce;
    gpuc_stmt stmt;
} ev_ins;

typedef struct ev_allreduce {
    int count;
    ev_reg **value, **lhs, **rhs, **result, **total;
    ev_block combine;
    ev_block store;   /* under the condition; stores lhs, the totals */
    ev_reg *cond;     /* NULL: none */
    bool all_threads; /* the results go to every thread */
    bool over[GPUC_THREAD_TAG_COUNT];
} ev_allreduce;

/* ---- The machine ---------------------------------------------------------------------------------- */

typedef struct ev_mask {
    const uint8_t *at; /* a byte per lane; NULL: all */
    int active;
} ev_mask;

struct ev_machine {
    gpuc_ctx *ctx;
    const gpuc_tir_func *func;
    bool check, races; /* races: of the threads of a group */
    bool watches;      /* there is a parallel loop that may race with itself */
    gpuc_arena arena;
    ev_map buffers;       /* gpuc_tir_buffer -> ev_buffer */
    struct ev_held *held; /* blocks outside of the arena */
    /* while it runs */
    int n; /* lanes */
    ev_mask mask;
    const ev_lanes *lanes; /* NULL: outside of any region */
    uint8_t *masks;        /* a stack of masks, width bytes each */
    size_t mask_width;
    int mask_depth, max_masks;
    uint32_t epoch, launch; /* of barriers; the epoch when the launch began, the group began */
    uint32_t group;
    bool parallel; /* in a parallel loop that is watched: `iteration` of it */
    uint32_t iteration;
    int64_t *index; /* scratch: element numbers */
    size_t max_index;
};

/* Raises, with the statement's text in front. */
GPUC_NORETURN void gpuc_ev_fail(ev_machine *m, gpuc_stmt s, const char *fmt, ...) GPUC_PRINTF(3, 4);
void *gpuc_ev_hold(ev_machine *m, size_t size); /* outside of the arena; zeroed */

void gpuc_ev_run_block(ev_machine *m, const ev_block *b);
void gpuc_ev_load(ev_machine *m, const ev_access *a, ev_reg *d);
void gpuc_ev_store(ev_machine *m, const ev_access *a, const ev_reg *v);
void gpuc_ev_accumulate(ev_machine *m, const ev_ins *ins);
void gpuc_ev_call(ev_machine *m, const ev_ins *ins);
void gpuc_ev_reduce(ev_machine *m, const ev_ins *ins);
void gpuc_ev_allocate(ev_machine *m, const ev_ins *ins);
/* Element numbers of all lanes and components to m->index (lanes of component 0 first), checked. */
void gpuc_ev_indices(ev_machine *m, const ev_access *a);
static inline int64_t ev_sum_value(const ev_sum *s)
{
    int64_t v = s->constant;
    for (int i = 0; i < s->n; i++) v += s->at[i].coeff * *(const int64_t *)s->at[i].reg->at;
    return v;
}
/* Does what happens to b's elements now matter for races? */
static inline bool ev_watched(const ev_machine *m, const ev_buffer *b)
{
    return b->shadow && (m->parallel || (m->races && m->lanes && m->lanes->group));
}
/* Where element e of lane l lies. */
static inline int64_t ev_place(const ev_buffer *b, int64_t e, int lane)
{
    if (b->private_) return e * b->copies + lane;
    return b->row ? e * b->copies + lane / b->row : e;
}
/* check: the element was written; no other thread races. place is ev_place's result. */
void gpuc_ev_check_read(ev_machine *m, const ev_access *a, int64_t e, int64_t place, int lane);
/* The same for all lanes that take part. */
void gpuc_ev_check_uniform_read(ev_machine *m, const ev_access *a, int64_t e);
/* fresh: the value differs from what is there. */
void gpuc_ev_check_write(ev_machine *m, const ev_access *a, int64_t e, int64_t place, int lane, bool fresh);
GPUC_NORETURN void gpuc_ev_out_of_range(ev_machine *m, const ev_access *a, int dim, int64_t index, int lane);

/* ---- The compiler --------------------------------------------------------------------------------- */

/* constant + sum(coeff * term); terms are variables, or expressions that are not linear. */
typedef struct ev_linear {
    bool ok;
    int64_t constant;
    int n;
    struct {
        gpuc_expr e;
        int64_t coeff;
    } at[EV_MAX_TERMS];
} ev_linear;

typedef struct ev_var {
    ev_reg *reg;
    ev_axis *axis; /* its lane number; reg is NULL */
    int level;     /* of the scope that it belongs to */
    bool constant;
    int64_t value;
    bool ranged; /* its values are in [min, max] */
    int64_t min, max;
} ev_var;

typedef struct ev_scope {
    struct ev_scope *outer;
    ev_block *code;
    int level;
    ev_map memo;  /* expr -> register */
    ev_reg *regs; /* used in it; free in the outer scope when it ends */
    ev_reg *free;
    struct ev_part *parts;
} ev_scope;

/* Where lanes come from in a loop nest that begins at some FOR: its loops first .. last become lanes. */
typedef struct ev_plan {
    int depth;       /* loops of the nest */
    int first, last; /* first -1: none */
    double cost;
} ev_plan;

typedef struct ev_compiler {
    ev_machine *m;
    ev_scope *scope;
    ev_lanes *lanes;   /* of the region around; NULL: none */
    ev_map vars;       /* var -> ev_var */
    ev_map lets;       /* var -> value */
    ev_map plans;      /* FOR -> ev_plan */
    ev_map constants;  /* expr -> register */
    ev_map folded;     /* expr -> its value, or &gpuc_ev_unknown */
    ev_map levels;     /* expr -> level + 1 */
    ev_map accumulate; /* STORE -> the FOR of the region in which its lanes take turns */
    void *touches;     /* scratch of plan.c */
    gpuc_stmt stmt;    /* being compiled */
    int depth, mask_depth;
    int linear_steps, range_steps; /* of one question */
} ev_compiler;

ev_ins *gpuc_ev_emit(ev_compiler *c, ev_scope *s, ev_kind kind);
ev_reg *gpuc_ev_reg(ev_compiler *c, ev_scope *s, ev_type type, int vl, bool uniform);
void gpuc_ev_open(ev_compiler *c, ev_scope *s, ev_block *code, bool deeper);
void gpuc_ev_close(ev_compiler *c);
void gpuc_ev_close_keeping(ev_compiler *c); /* its registers live as long as the outer scope's */
ev_reg *gpuc_ev_expr(ev_compiler *c, gpuc_expr e);
ev_reg *gpuc_ev_index_reg(ev_compiler *c, gpuc_expr e); /* as int64 */
ev_reg *gpuc_ev_const(ev_compiler *c, gpuc_dtype t, gpuc_tir_value v);
int gpuc_ev_level(ev_compiler *c, gpuc_expr e); /* INT_MAX: not to be moved */
bool gpuc_ev_constant(ev_compiler *c, gpuc_expr e, int64_t *out);
/* The range of an integer expression, if it is plain arithmetic over variables with ranges. */
bool gpuc_ev_range(ev_compiler *c, gpuc_expr e, int64_t *min, int64_t *max);
void gpuc_ev_linear(ev_compiler *c, gpuc_expr e, ev_linear *out);
bool gpuc_ev_linear_add(ev_linear *x, const ev_linear *y, int64_t scale);
/* All indices of an access as one number. */
void gpuc_ev_flat(ev_compiler *c, const ev_buffer *b, int n, const gpuc_expr *index, ev_linear *out);
ev_access *gpuc_ev_access(ev_compiler *c, const gpuc_tir_buffer *b, int n, const gpuc_expr *index);
ev_buffer *gpuc_ev_buffer(ev_compiler *c, const gpuc_tir_buffer *b);
void gpuc_ev_stmt(ev_compiler *c, gpuc_stmt s);
/* The plan for the loop nest of s, a FOR outside of any region. */
const ev_plan *gpuc_ev_plan(ev_compiler *c, const gpuc_tir_for_node *s);
/* Are the iterations of s, outside of any region, proven independent? */
bool gpuc_ev_independent(ev_compiler *c, const gpuc_tir_for_node *s);
/* STORE b[i] = op(b[i], x): gives op and x. */
bool gpuc_ev_is_update(const gpuc_tir_store_node *s, gpuc_tir_op *op, gpuc_expr *x);
void gpuc_ev_compile(ev_compiler *c, ev_block *out);

#endif
