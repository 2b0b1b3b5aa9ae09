/* SPDX-License-Identifier: Apache-2.0 */
/* The text form, shared by printer, parser and validator.
 *
 *   func scale(A: float32[n, 4] global, B: float32[n, 4] global, n: int64) stage flat {
 *     for i in 0..n parallel {            serial if there is no word; vectorized, unrolled, bind threadIdx.x
 *       let x = A[i, 0]                   let and alloc hold to the end of the block
 *       if (x < 0.0) { B[i, 0] = 0.0 }
 *     }
 *   }
 *
 * A range that does not start at 0 is `min..+extent`. A line ends a statement, except inside of () and [].
 * Literals are int64, float32, or take the integer type that they meet; others are int32(5), float16(0.5).
 * `%1 = expr` abbreviates a subexpression of the next statement. # starts a comment. */
#ifndef GPUC_TIR_PRINT_H
#define GPUC_TIR_PRINT_H

#include "tir/intern.h"

/* ---- Names: unique among what is in scope, words of the language left out ---- */
typedef struct gpuc_tir_names {
    gpuc_ctx *ctx;
    gpuc_map names;   /* variable or buffer -> its name while it is in scope */
    gpuc_strmap used; /* name -> who has it */
    bool canonical;   /* number instead: v0, b0 */
    int next_var, next_buffer;
} gpuc_tir_names;

void gpuc_tir_names_init(gpuc_tir_names *n, gpuc_ctx *ctx, bool canonical);
/* Brings a variable or buffer into scope under a name like the wanted one. */
const char *gpuc_tir_names_enter_var(gpuc_tir_names *n, gpuc_expr var);
const char *gpuc_tir_names_enter_buffer(gpuc_tir_names *n, const gpuc_tir_buffer *b);
void gpuc_tir_names_leave(gpuc_tir_names *n, const void *what);
/* The name in scope; what was never brought into scope is named at first sight. */
const char *gpuc_tir_names_var(gpuc_tir_names *n, gpuc_expr var);
const char *gpuc_tir_names_buffer(gpuc_tir_names *n, const gpuc_tir_buffer *b);
bool gpuc_tir_is_reserved(const char *word);
/* Any text as an identifier: letters, digits, '_', and single dots inside. */
char *gpuc_tir_identifier(gpuc_ctx *ctx, const char *text);

/* ---- Numbers, independent of the locale ---- */
/* The shortest decimal that rounds to v in type t; "inf", "-inf", "nan". */
void gpuc_tir_print_float(gpuc_buf *out, gpuc_dtype t, double v);
/* Digits with an optional point and exponent, as the lexer found them. */
double gpuc_tir_parse_float(gpuc_ctx *ctx, const char *text, size_t length);
void gpuc_tir_print_string(gpuc_buf *out, const char *text);

/* ---- Printer ---- */
typedef struct gpuc_tir_printer {
    gpuc_ctx *ctx;
    gpuc_buf *out;
    gpuc_tir_names names;
    gpuc_map aliases; /* subexpression -> number + 1, of the statement being printed */
    bool has_aliases;
    const gpuc_map *notes; /* statement -> gpuc_ptrs of texts to print below it; may be NULL */
    size_t limit;          /* stop with "..." when out has this size; 0: never */
    int indent;
} gpuc_tir_printer;

void gpuc_tir_printer_init(gpuc_tir_printer *p, gpuc_ctx *ctx, gpuc_buf *out, bool canonical);
/* prec: the level below which parentheses are needed. plain: a constant of any integer type may be
 * written without its type, since what it meets tells. */
void gpuc_tir_printer_expr(gpuc_tir_printer *p, gpuc_expr e, int prec, bool plain);
void gpuc_tir_printer_stmt(gpuc_tir_printer *p, gpuc_stmt s);
void gpuc_tir_printer_func(gpuc_tir_printer *p, const gpuc_tir_func *f);

/* The element type that a call has when the text does not say. */
gpuc_dtype gpuc_tir_call_default_type(gpuc_tir_intrin fn, const gpuc_tir_buffer *buffer, int n,
                                      const gpuc_expr *args);
extern const char *const gpuc_tir_stage_names[4];
extern const char *const gpuc_tir_loop_names[GPUC_LOOP_KIND_COUNT];

#endif
