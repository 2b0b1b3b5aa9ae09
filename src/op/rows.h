/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of rows write their tables. */
#ifndef GPUC_OP_ROWS_H
#define GPUC_OP_ROWS_H

#include "op/op.h"

/* Attributes: ATTRS(name_of_list, INTS("axes"), INT("axis", 0)) */
#define ATTRS(id, ...) static const gpuc_attr_spec id[] = {__VA_ARGS__, {0}};
#define INTS(nm)                                                                                             \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS                                                                   \
    }
#define INT(nm, def)                                                                                         \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .i = def                                                          \
    }
/* Integers that may be sizes which the build does not know. */
#define SIZES(nm)                                                                                            \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .symbolic = true                                                 \
    }
#define FLOAT(nm, def)                                                                                       \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_FLOAT, .f = def                                                        \
    }
#define STRING(nm, def)                                                                                      \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_STRING, .s = def                                                       \
    }
#define DTYPE_OR(nm, def)                                                                                    \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_DTYPE, .dtype = def                                                    \
    }
/* Integers whose sums and products with extents must fit. */
#define INT_UP_TO(nm, def, limit)                                                                            \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .i = def, .max = limit                                            \
    }
#define INTS_UP_TO(nm, limit)                                                                                \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .max = limit                                                     \
    }
#define SIZES_UP_TO(nm, limit)                                                                               \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .symbolic = true, .max = limit                                   \
    }

/* What describes a window, and must be given. */
#define WINDOW_INTS(nm)                                                                                      \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .required = true, .max = GPUC_OP_MAX_WINDOW                      \
    }
#define WINDOW_SIZES(nm)                                                                                     \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .required = true, .symbolic = true, .max = GPUC_OP_MAX_WINDOW    \
    }
#define WINDOW_INT(nm, def)                                                                                  \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .i = def, .max = GPUC_OP_MAX_WINDOW                               \
    }

/* An operator that moves elements: from lo to hi inputs (-1: any number). */
#define MOVES(nm, lo, hi, at, inf, fn, tp, nn, on)                                                           \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .attrs = at, .infer = inf, .compute = fn,                    \
        .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on                                   \
    }
/* The same with the element types of its inputs. */
#define MOVES_OF(nm, lo, hi, at, inf, fn, tp, nn, on, ...)                                                   \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .attrs = at, .infer = inf, .compute = fn,                    \
        .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on, .types = {                       \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

/* An operator whose result elementwise ones may join. The inputs' element types come last. */
#define ANCHOR_BY(sched, nm, lo, hi, at, inf, fn, tp, nn, on, ...)                                           \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .types = {__VA_ARGS__}, .attrs = at, .infer = inf,           \
        .compute = fn, .pattern = GPUC_FUSE_OUT_FUSABLE, .schedule = sched, .topi = tp, .nnvm = nn,          \
        .onnx = on                                                                                           \
    }
#define ANCHOR(...) ANCHOR_BY(NULL, __VA_ARGS__)

/* An operator that is never fused with others, with a schedule of its own (NULL: as others). The inputs' element
 * types come last. */
#define ALONE_BY(sched, nm, lo, hi, at, inf, fn, tp, nn, on, ...)                                            \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .types = {__VA_ARGS__}, .attrs = at, .infer = inf,           \
        .compute = fn, .pattern = GPUC_FUSE_OPAQUE, .schedule = sched, .topi = tp, .nnvm = nn, .onnx = on    \
    }
#define ALONE(...) ALONE_BY(NULL, __VA_ARGS__)
/* One that maps elements anywhere. */
#define INJECTIVE(nm, lo, hi, at, inf, fn, tp, nn, on, ...)                                                  \
    {                                                                                                        \
        .name = nm, .min_in = lo, .max_in = hi, .types = {__VA_ARGS__}, .attrs = at, .infer = inf,           \
        .compute = fn, .pattern = GPUC_FUSE_INJECTIVE, .topi = tp, .nnvm = nn, .onnx = on                    \
    }
#define DTYPE(nm)                                                                                            \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_DTYPE, .required = true                                                \
    }

#endif
