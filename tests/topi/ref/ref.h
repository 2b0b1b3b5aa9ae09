/* SPDX-License-Identifier: Apache-2.0 */
/* Operators written from their definitions, over tensors of doubles, one element after the other. They share
 * nothing with the compiler but the names of element types. Attributes are read from the text that the test
 * gives. */
#ifndef GPUC_TESTS_TOPI_REF_H
#define GPUC_TESTS_TOPI_REF_H

#include <gpuc/base.h>

enum { REF_DIMS = 8, REF_OUTS = 8 };

typedef struct ref_tensor {
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[REF_DIMS], count;
    double *v; /* from malloc */
} ref_tensor;

typedef struct ref_call {
    const char *op, *attrs; /* "strides=[1, 2] alpha=0.5" */
    int num_in, num_out;
    ref_tensor in[8], out[REF_OUTS];
} ref_call;

typedef void ref_fn(ref_call *c); /* sets num_out (if not 1) and makes the outputs */

/* ---- ref.c ---- */
/* The function for an operator's name; NULL: there is none. */
ref_fn *ref_find(const char *op);
ref_tensor *ref_make(ref_call *c, int i, gpuc_dtype dtype, int ndim,
                     const int64_t *dims); /* output i, zeros */
int64_t ref_int(const ref_call *c, const char *name, int64_t otherwise);
double ref_float(const ref_call *c, const char *name, double otherwise);
const char *ref_string(const ref_call *c, const char *name, const char *otherwise); /* static buffer */
gpuc_dtype ref_dtype(const ref_call *c, const char *name, gpuc_dtype otherwise);
int ref_ints(const ref_call *c, const char *name, int64_t *out); /* how many */
int ref_axis(const ref_call *c, int64_t otherwise);              /* of input 0, "axis" */
int ref_floats(const ref_call *c, const char *name, double *out);
/* t with axis perm[i] as axis i; v from malloc. */
ref_tensor ref_transpose(const ref_tensor *t, const int64_t *perm);
/* Runs fn, which is written for data [N, C, space], on what data_layout says, "NCHW" or "NHWC". */
void ref_with_layout(ref_call *c, ref_fn *fn);
/* Position <-> index of a tensor. */
int64_t ref_at(const ref_tensor *t, const int64_t *index);
void ref_index(const ref_tensor *t, int64_t position, int64_t *index);
/* Element of t that numpy's broadcasting reads for an index of an output of rank ndim. */
double ref_broadcast(const ref_tensor *t, int ndim, const int64_t *index);
bool ref_is_float(gpuc_dtype t);
/* v, or the integer of the type that is nearest to it. */
double ref_saturated(gpuc_dtype t, double v);

typedef struct ref_row {
    const char *op;
    ref_fn *fn;
} ref_row;
/* One table per file, which ends with NULL. */
#define REF_FAMILY(name) extern const ref_row ref_rows_##name[];
#include "families.def"
#undef REF_FAMILY

#endif
