/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of operator calls: an immutable list of names with typed values. */
#ifndef GPUC_ATTRS_H
#define GPUC_ATTRS_H

#include <gpuc/tir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a value: it names the fields of gpuc_attr that hold it. */
typedef enum gpuc_attr_kind {
    GPUC_ATTR_INT,
    GPUC_ATTR_FLOAT,
    GPUC_ATTR_STRING,
    GPUC_ATTR_INTS,
    GPUC_ATTR_FLOATS,
    GPUC_ATTR_DTYPE,
    GPUC_ATTR_KIND_COUNT
} gpuc_attr_kind;

typedef struct gpuc_attr {
    const char *name;    /* of the attribute; copied into the context */
    gpuc_attr_kind kind; /* which of the following fields holds the value */
    int64_t i;           /* INT */
    double f;            /* FLOAT */
    const char *s;       /* STRING */
    gpuc_dtype dtype;    /* DTYPE */
    int n;               /* of ints, floats */
    const int64_t *ints; /* INTS */
    const gpuc_expr *
        sizes; /* the entries of ints as expressions, where some are sizes that the build does not know, which are GPUC_ATTR_UNKNOWN in ints; NULL: all are numbers */
    const double *floats; /* FLOATS */
} gpuc_attr;
/* Stands in ints for a size that is an expression. */
#define GPUC_ATTR_UNKNOWN INT64_MIN

/* Sorted by name; NULL is the empty list. */
typedef struct gpuc_attrs {
    int count;           /* of the attributes */
    const gpuc_attr *at; /* sorted by name */
} gpuc_attrs;

/* The list a with one more attribute, an integer; it replaces an attribute of that name. NULL is the empty
 * list, so that lists are made by nested calls. These functions return a new list in the context and leave a
 * as it was. */
GPUC_API const gpuc_attrs *gpuc_attrs_int(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int64_t v);
/* The list a with a float; it replaces an attribute of that name. */
GPUC_API const gpuc_attrs *gpuc_attrs_float(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, double v);
/* The list a with a string, which is copied. */
GPUC_API const gpuc_attrs *gpuc_attrs_string(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name,
                                             const char *v);
/* The list a with n integers, which are copied. */
GPUC_API const gpuc_attrs *gpuc_attrs_ints(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                           const int64_t *v);
/* Integers that may be expressions of symbols; numbers among them stay numbers. */
GPUC_API const gpuc_attrs *gpuc_attrs_sizes(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                            const gpuc_expr *v);
/* The list a with n floats, which are copied. */
GPUC_API const gpuc_attrs *gpuc_attrs_floats(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                             const double *v);
/* The list a with an element type. */
GPUC_API const gpuc_attrs *gpuc_attrs_dtype(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name,
                                            gpuc_dtype v);

GPUC_API const gpuc_attr *gpuc_attrs_find(const gpuc_attrs *a, const char *name); /* NULL: not in it */
/* The value of an INT attribute; otherwise, if the list has no attribute of that name. */
GPUC_API int64_t gpuc_attrs_get_int(const gpuc_attrs *a, const char *name, int64_t otherwise);
/* The value of a FLOAT attribute; otherwise, if the list has no attribute of that name. */
GPUC_API double gpuc_attrs_get_float(const gpuc_attrs *a, const char *name, double otherwise);
/* The value of a STRING attribute, borrowed; otherwise, if the list has no attribute of that name. */
GPUC_API const char *gpuc_attrs_get_string(const gpuc_attrs *a, const char *name, const char *otherwise);
/* Entry i of a list of integers, as an expression. */
GPUC_API gpuc_expr gpuc_attr_size(gpuc_ctx *ctx, const gpuc_attr *a, int i);
GPUC_API bool gpuc_attrs_symbolic(const gpuc_attrs *a); /* some entry is no number */
/* Whether both lists have the same names, kinds and values; floats are compared by their bits. */
GPUC_API bool gpuc_attrs_equal(const gpuc_attrs *a, const gpuc_attrs *b);
/* A hash that is the same for equal lists. */
GPUC_API uint32_t gpuc_attrs_hash(const gpuc_attrs *a);

#ifdef __cplusplus
}
#endif
#endif
