/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of rows write their tables. */
#ifndef GPUC_OP_ROWS_H
#define GPUC_OP_ROWS_H

#include "op/op.h"
#include "op/takes.h"

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

/* Windows over the spatial dimensions: an entry for each, of the default where none is given. */
#define SPACE_INTS(nm, def)                                                                                  \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .i = def, .each = GPUC_EACH_SPACE, .max = GPUC_OP_MAX_WINDOW     \
    }
#define SPACE_REQUIRED(nm)                                                                                   \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .each = GPUC_EACH_SPACE, .required = true,                       \
        .max = GPUC_OP_MAX_WINDOW                                                                            \
    }
#define SIDE_SIZES(nm)                                                                                       \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .each = GPUC_EACH_SIDE, .symbolic = true,                        \
        .max = GPUC_OP_MAX_WINDOW                                                                            \
    }
#define AXIS_INTS(nm, def)                                                                                   \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INTS, .i = def, .each = GPUC_EACH_AXIS, .max = GPUC_OP_MAX_WINDOW      \
    }

/* Other spellings (op/takes.h): what fn makes of them. */
#define SPELLED(nm, k, fn, what, text)                                                                       \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_##k, .take = fn, .to = what, .about = text                             \
    }
#define SAME(nm, k, attr) SPELLED(nm, k, gpuc_op_take_same, attr, NULL)
#define VALUES(nm, what) SPELLED(nm, STRING, gpuc_op_take_value, what, NULL)
#define ONLY(nm, k, values) SPELLED(nm, k, gpuc_op_take_only, values, NULL)
#define REFUSED(nm, k, why) SPELLED(nm, k, gpuc_op_take_refused, NULL, why)
#define NOT(nm, attr) SPELLED(nm, INT, gpuc_op_take_not, attr, NULL)
/* The kernel's or the output's layout in any spatial rank, as rows name it. */
#define LAYOUTS "NCHW=NCHW,NHWC=NHWC,NCW=NCHW,NCDHW=NCHW,NWC=NHWC,NDHWC=NHWC"
#define DATA_LAYOUTS VALUES("data_layout", "data_layout|" LAYOUTS), VALUES("layout", "data_layout|" LAYOUTS)
#define OUT_LAYOUT SPELLED("out_layout", STRING, gpuc_op_take_out_layout, "data_layout", "as data_layout")
/* Of the weight, input 1: where the row's order is this. */
#define WEIGHT_ORDER(row)                                                                                    \
    SPELLED("kernel_layout", STRING, gpuc_op_take_order, "1=" row, row ", or these letters in another order")
#define NCHW_ONLY(nm) ONLY(nm, STRING, "NCHW,NCW,NCDHW")
#define EXCLUDE SPELLED("exclude", INT, gpuc_op_take_others, "axis", "1: the axes that are not in axis")
/* Also without it, where there is one input more than the row takes. */
#define USE_BIAS_ALWAYS                                                                                      \
    {                                                                                                        \
        .name = "use_bias", .kind = GPUC_ATTR_INT, .take = gpuc_op_take_bias, .always = true,                \
        .about = "1: one more input is added to each channel"                                                \
    }
#define FLAT_WITHOUT(nm)                                                                                     \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_INT, .take = gpuc_op_take_flat, .to = nm, .always = true,              \
        .about = "without it, input 0 is taken as one dimension"                                             \
    }
#define UNUSED_INPUT(nm, what, text) SPELLED(nm, INT, gpuc_op_take_unused, what, text)

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
