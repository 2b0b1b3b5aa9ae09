/* SPDX-License-Identifier: Apache-2.0 */
/* Printing loop IR as C or OpenCL C. The walk, precedence, names and layout are shared; a language is a table
 * of spellings. Vectors are cut beforehand (lanes.h) to what the language has.
 *
 * Registers. A value of dtype t is held as lang->held(t): a language without float16 arithmetic holds it as
 * its bits or as float32; operators on such types are computed in float32 and rounded. A scalar bool is the
 * language's bool; a vector of bool is a mask: signed integers, 0 or -1, as wide as what was compared.
 *
 * Helper functions are called by name, gpuc_<row>_<type>[_<type>], and defined by who links (helpers.h). */
#ifndef GPUC_CODEGEN_CLIKE_H
#define GPUC_CODEGEN_CLIKE_H

#include "base/buf.h"
#include "codegen/lanes.h"

typedef struct gpuc_clike gpuc_clike;

typedef struct gpuc_clike_lang {
    const char *const
        *reserved;    /* names that others must not take ("x*": all that begin so), besides those of both
                         languages (clike_names.c); NULL-terminated */
    const char *half; /* suffix of float16 constants */
    gpuc_dtype (*held)(const gpuc_clike *p, gpuc_dtype t); /* the type of registers for t; lanes are kept */
    void (*type)(gpuc_clike *p, gpuc_dtype t);             /* prints the name of a register type */
    void (*element)(gpuc_clike *p, gpuc_dtype t);          /* and of an element in memory */
    const char *(*math)(const gpuc_clike *p, gpuc_tir_op op,
                        gpuc_dtype t); /* function's name; NULL: a helper; p may be NULL */
    void (*int64)(gpuc_clike *p, int64_t v, bool is_unsigned);
    void (*cast)(gpuc_clike *p, gpuc_expr e, int prec); /* any CAST but between equal held types */
    void (*bitcast)(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec,
                    void (*print)(gpuc_clike *, gpuc_expr, int));
    void (*load)(gpuc_clike *p, gpuc_expr e, int prec);
    bool (*keeps)(gpuc_clike *p, gpuc_expr value); /* is a variable set to helper keep of it? NULL: never */
    void (*store)(gpuc_clike *p, gpuc_stmt s);
    /* Vectors. */
    void (*broadcast)(gpuc_clike *p, gpuc_expr e, int prec);
    void (*ramp)(gpuc_clike *p, gpuc_expr e, int prec);
    void (*vector)(gpuc_clike *p, gpuc_dtype t, const gpuc_expr *lanes);
    void (*lane)(gpuc_clike *p, int lane);             /* after the vector: ".s3", "[3]" */
    void (*part)(gpuc_clike *p, int first, int lanes); /* ".s4567"; NULL: the language has no parts */
    bool (*splats)(const gpuc_clike *p, gpuc_dtype t); /* may a scalar operand stand for a vector of it? */
    void (*select)(gpuc_clike *p, gpuc_expr e, int prec);
    void (*widen_mask)(gpuc_clike *p, gpuc_expr mask, int to_bits, int prec);
    void (*vector_op)(gpuc_clike *p, gpuc_expr e, int prec); /* those that are no infix operator */
    /* Calls and statements. */
    void (*call)(gpuc_clike *p, gpuc_expr e, int prec); /* but of atomics, dot products and exact */
    /* The function of an atomic operation, called in OpenCL C: "add", "cmpxchg". */
    void (*atomic)(gpuc_clike *p, const gpuc_tir_call_node *n, const char *name);
    bool (*loop)(gpuc_clike *p, gpuc_stmt s);                 /* true: printed it, else it is a plain loop */
    void (*declare)(gpuc_clike *p, const gpuc_tir_buffer *b); /* the line of an ALLOC */
} gpuc_clike_lang;

typedef struct gpuc_clike_buffer {
    int vec;       /* declared as an array of vectors of so many lanes; 1: of elements */
    bool variable; /* declared as one variable, not an array */
    bool param;
} gpuc_clike_buffer;

struct gpuc_clike {
    gpuc_ctx *ctx;
    const gpuc_clike_lang *lang;
    const gpuc_target *target;
    const gpuc_tir_func *func;
    gpuc_uses *uses;
    gpuc_analyzer *analyzer;
    gpuc_buf out;
    int indent;
    gpuc_map names; /* variable or buffer -> its name */
    gpuc_strmap taken;
    gpuc_strmap numbers; /* name -> the last number that was appended to it */
    gpuc_map ahead;     /* buffers that the kernel declares before its body */
    gpuc_map declared;  /* variable or buffer that was declared somewhere in the function */
    gpuc_map data_vars; /* let variable -> its value, where that is no index arithmetic: it may overflow */
    gpuc_map mask_bits; /* let variables of vector bool -> bits */
    gpuc_map buffers;   /* buffer -> gpuc_clike_buffer * */
    void *user;         /* of the language */
};

void gpuc_clike_init(gpuc_clike *p, gpuc_ctx *ctx, const gpuc_clike_lang *lang, const gpuc_target *t,
                     const gpuc_tir_func *f);
/* Moves the text to the context's arena and frees the buffer, which is registered as a cleanup. */
const char *gpuc_clike_finish(gpuc_clike *p, size_t *out_size);

/* ---- Names ---- */
/* The name, or another where the language has a use for it ("kernel", "exp"). */
const char *gpuc_clike_kernel_name(gpuc_ctx *ctx, const gpuc_clike_lang *lang, const char *name);
const char *gpuc_clike_name(gpuc_clike *p, const void *var_or_buffer, const char *wanted);
const char *gpuc_clike_var(gpuc_clike *p, gpuc_expr var);
const char *gpuc_clike_buf(gpuc_clike *p, const gpuc_tir_buffer *b);
gpuc_clike_buffer *gpuc_clike_buffer_of(gpuc_clike *p, const gpuc_tir_buffer *b);
/* "f32", "i8x16", "bf16": as helpers are named. */
const char *gpuc_clike_suffix(gpuc_dtype t, char out[16]);
bool gpuc_clike_parse_suffix(const char *text, size_t length, gpuc_dtype *out);

/* How an operator is written: columns prec and clike of tir/ops.def; "": not so. */
typedef struct gpuc_clike_op {
    void (*print)(gpuc_clike *p, gpuc_expr e, int prec);
    const char *infix;
    const char *function;     /* of floats in OpenCL C */
    const char *int_function; /* of integers there */
} gpuc_clike_op;
extern const gpuc_clike_op gpuc_clike_ops[GPUC_TIR_OP_COUNT];

/* Whether an operator of this name is printed as a function that the language has. */
bool gpuc_clike_is_function(const gpuc_clike_lang *lang, const char *name, size_t length);
/* The helper row of an operator, and back (GPUC_TIR_OP_COUNT: the row is none). */
const char *gpuc_clike_row(gpuc_tir_op op);
gpuc_tir_op gpuc_clike_row_op(const char *row);

/* ---- Text ---- */
#define gpuc_put(p, ...) gpuc_buf_printf(&(p)->out, __VA_ARGS__)
void gpuc_clike_line(gpuc_clike *p);                    /* indentation of a new line */
void gpuc_clike_open(gpuc_clike *p, int prec, int own); /* "(" where own binds less than prec asks */
void gpuc_clike_close(gpuc_clike *p, int prec, int own);
void gpuc_clike_helper(gpuc_clike *p, const char *row, gpuc_dtype t); /* its name */
void gpuc_clike_helper2(gpuc_clike *p, const char *row, gpuc_dtype to, gpuc_dtype from);

/* ---- Expressions ---- */
void gpuc_clike_expr(gpuc_clike *p, gpuc_expr e, int prec);
/* A vector of bool as a mask of so many bits a lane. */
void gpuc_clike_mask(gpuc_clike *p, gpuc_expr e, int bits, int prec);
int gpuc_clike_mask_bits(gpuc_clike *p, gpuc_expr e);
/* The two values of a select, each after its sign; as masks of so many bits if that is not 0. */
void gpuc_clike_arms(gpuc_clike *p, gpuc_expr e, int mask_bits);
/* An operand of a vector operator: a broadcast stays a scalar where the language widens it. */
void gpuc_clike_operand(gpuc_clike *p, gpuc_expr e, int prec);
void gpuc_clike_args(gpuc_clike *p, int n, const gpuc_expr *args);
void gpuc_clike_cast(gpuc_clike *p, gpuc_dtype to, gpuc_expr a, int prec,
                     void (*print)(gpuc_clike *, gpuc_expr, int)); /* "(T)a" */
/* buffer[index] of a scalar access, or the variable that the buffer is. */
void gpuc_clike_element(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr index);
/* A pointer to type ("const char") at the first byte of an element. */
void gpuc_clike_byte(gpuc_clike *p, const char *type, const gpuc_tir_buffer *b, gpuc_expr index);
/* The vector of a contiguous access if the buffer is declared in vectors; true if it was printed. */
bool gpuc_clike_vector_element(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr index);
/* A load of a scalar, of a vector of a buffer that is declared in vectors, or of elements that do not lie side
 * by side (lane by lane, equal ones once); true if it was one. */
bool gpuc_clike_load(gpuc_clike *p, gpuc_expr load, int prec);
/* A store of a scalar, or of a vector to a buffer that is declared in vectors; true if it was one. */
bool gpuc_clike_store(gpuc_clike *p, const gpuc_tir_store_node *n);
/* "float acc[8]": of an ALLOC. */
void gpuc_clike_declare(gpuc_clike *p, const gpuc_tir_buffer *b);
/* Whether the float a is proven not to be NaN and to lie in the range of the integer type (clike_range.c). */
bool gpuc_clike_fits(gpuc_clike *p, gpuc_dtype to, gpuc_expr a);
/* The same value in types that the language computes in; e itself if it already is. */
gpuc_expr gpuc_clike_promoted(gpuc_clike *p, gpuc_expr e);
/* Integer arithmetic whose operands are data wraps; on indices it cannot overflow. */
bool gpuc_clike_is_index(gpuc_clike *p, gpuc_expr e);
void gpuc_clike_float(gpuc_clike *p, gpuc_dtype t, double v);

/* ---- Statements ---- */
void gpuc_clike_stmt(gpuc_clike *p, gpuc_stmt s);
void gpuc_clike_block(gpuc_clike *p, gpuc_stmt s); /* " {", the statement indented, "}" without a newline */
/* The head of a loop "for (T i = min; i < end; i++)", binding its range; end NULL: min + extent. */
void gpuc_clike_for_head(gpuc_clike *p, const gpuc_tir_for_node *n, const char *begin, const char *end);

#endif
