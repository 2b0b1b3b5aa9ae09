/* SPDX-License-Identifier: Apache-2.0 */
/* Helper functions of generated source. Kernels call gpuc_<row>_<type>[_<type>]; who links finds these names
 * in the text, and writes the definitions that are needed, each once, from rows of templates. */
#ifndef GPUC_CODEGEN_HELPERS_H
#define GPUC_CODEGEN_HELPERS_H

#include "base/buf.h"
#include "base/map.h"
#include "tir/node.h"

/* A row. Templates: $T, $F the types of the first and second suffix; $E the element type of $T; $U the
 * unsigned type of $T's bits; $W the same, of at least 32 bits; $M the mask type of $T; $<u32> a type by its
 * suffix; $S, $e the suffixes of $T and of its element; $B bits; $N lanes; $LO, $HI the floats MIN and MAX + 1
 * of an integer $T, as $F; $(text$) the text for each lane, # being its number. */
typedef struct gpuc_helper_row {
    const char *name;
    const char *to;   /* letters of $T's kind that it is for (i, u, f, b), or one whole suffix */
    const char *from; /* of $F; NULL: there is no second suffix */
    const char *sig;  /* result, then arguments: T, F, M, E; P const pointer to $E, Q pointer to $E, G and L
                         pointers to $E in global and local memory, H const pointer to half in global memory,
                         h pointer to half there, v void, w const pointer to void */
    const char *body; /* statements */
    bool vector;      /* for lanes > 1; rows for scalars are applied lane by lane where there is none */
    bool both;        /* for scalars and vectors */
} gpuc_helper_row;

typedef struct gpuc_helper_lang {
    const gpuc_helper_row *rows; /* its own, which are taken before shared ones */
    size_t num_rows;
    const struct gpuc_clike_lang *clike; /* its math is what a row without template is */
    const char *qualifier;               /* "static inline " */
    void (*type)(gpuc_buf *out, gpuc_dtype t);
    /* The body of a vector helper that calls a scalar function lane by lane. */
    void (*lanes)(gpuc_buf *out, gpuc_dtype result, const char *function, int num_args);
} gpuc_helper_lang;

/* The rows of all languages; no name ends them. */
extern const gpuc_helper_row gpuc_codegen_helper_shared[];

/* Calls visit for each identifier of C text, outside of comments and strings. */
void gpuc_codegen_helpers_scan(const char *text, void (*visit)(const char *name, size_t length, void *arg),
                               void *arg);
/* Definitions of all helpers that the texts need, in the order of first use, what they need before them. */
void gpuc_codegen_helpers_write(gpuc_ctx *ctx, const gpuc_helper_lang *lang, int n, const char *const *texts,
                                gpuc_buf *out);

#endif
