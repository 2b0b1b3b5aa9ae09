/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of operator calls: an immutable list of names with typed values. */
#ifndef GPUC_ATTRS_H
#define GPUC_ATTRS_H

#include <gpuc/tir.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    const char *name;
    gpuc_attr_kind kind;
    int64_t i;
    double f;
    const char *s;
    gpuc_dtype dtype;
    int n; /* of ints, floats */
    const int64_t *ints;
    const gpuc_expr *sizes; /* of ints some of which are sizes that the build does not know: those are
                               GPUC_ATTR_UNKNOWN in ints; NULL: all are numbers */
    const double *floats;
} gpuc_attr;
#define GPUC_ATTR_UNKNOWN INT64_MIN

/* Sorted by name; NULL is the empty list. */
typedef struct gpuc_attrs {
    int count;
    const gpuc_attr *at;
} gpuc_attrs;

/* Makes a list, adding to it in any order: with(with(NULL, ...), ...). All copy and return a new list. */
GPUC_API const gpuc_attrs *gpuc_attrs_int(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int64_t v);
GPUC_API const gpuc_attrs *gpuc_attrs_float(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, double v);
GPUC_API const gpuc_attrs *gpuc_attrs_string(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name,
                                             const char *v);
GPUC_API const gpuc_attrs *gpuc_attrs_ints(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                           const int64_t *v);
/* Integers that may be expressions of symbols; numbers among them stay numbers. */
GPUC_API const gpuc_attrs *gpuc_attrs_sizes(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                            const gpuc_expr *v);
GPUC_API const gpuc_attrs *gpuc_attrs_floats(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                             const double *v);
GPUC_API const gpuc_attrs *gpuc_attrs_dtype(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name,
                                            gpuc_dtype v);

GPUC_API const gpuc_attr *gpuc_attrs_find(const gpuc_attrs *a, const char *name); /* NULL */
GPUC_API int64_t gpuc_attrs_get_int(const gpuc_attrs *a, const char *name, int64_t otherwise);
GPUC_API double gpuc_attrs_get_float(const gpuc_attrs *a, const char *name, double otherwise);
GPUC_API const char *gpuc_attrs_get_string(const gpuc_attrs *a, const char *name, const char *otherwise);
/* Entry i of a list of integers, as an expression. */
GPUC_API gpuc_expr gpuc_attr_size(gpuc_ctx *ctx, const gpuc_attr *a, int i);
GPUC_API bool gpuc_attrs_symbolic(const gpuc_attrs *a); /* some entry is no number */
GPUC_API bool gpuc_attrs_equal(const gpuc_attrs *a, const gpuc_attrs *b);
GPUC_API uint32_t gpuc_attrs_hash(const gpuc_attrs *a);

#ifdef __cplusplus
}
#endif
#endif
