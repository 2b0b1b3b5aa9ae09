/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models: what one holds, and what a build makes of it. Everything raises; errors name the file and the
 * node, tensor or byte offset. What is returned lives in the context. */
#ifndef GPUC_ONNX_H
#define GPUC_ONNX_H

#include <gpuc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a model holds, without building it ---- */

/* An input or output of the graph. */
typedef struct gpuc_onnx_value {
    const char *name;             /* in the model; "" without one */
    bool is_tensor, has_shape;    /* without a shape not even the rank is known */
    int elem_type;                /* of TensorProto.DataType; 0: it says none */
    gpuc_dtype dtype;             /* the same; of 0 bits if gpuc does not carry it */
    int ndim;                     /* of dims and dim_names; 0 without a shape */
    const int64_t *dims;          /* -1 where open */
    const char *const *dim_names; /* of open dimensions; "" where fixed or unnamed */
    bool has_default;             /* an input that a run need not set */
    bool decides_shape;           /* an input that is used, and only by operands of gpuc_onnx_decides_shape */
} gpuc_onnx_value;

/* A constant tensor that the model brings. */
typedef struct gpuc_onnx_initializer {
    const char *name;    /* in the model; "" without one */
    int elem_type;       /* of TensorProto.DataType */
    gpuc_dtype dtype;    /* the same; of 0 bits if gpuc does not carry it */
    int ndim;            /* of dims */
    const int64_t *dims; /* as the model states them: they are not checked */
    bool external;       /* its elements are in another file */
} gpuc_onnx_initializer;

/* A kind of operator that the model uses. */
typedef struct gpuc_onnx_operator {
    const char *domain, *name; /* domain "" is ONNX's own */
    int count;                 /* of nodes, with those of inner graphs, but not of the model's functions */
} gpuc_onnx_operator;

/* What a model says of itself. */
typedef struct gpuc_onnx_description {
    int64_t ir_version, opset; /* opset: of ONNX's own domain; 0: it names none */
    const char *producer;      /* name and version, or "" */
    int num_inputs,
        num_outputs; /* in the graph's order; an initializer is among them only as the default of an input */
    const gpuc_onnx_value *inputs, *outputs;   /* num_inputs and num_outputs of them */
    int num_initializers, num_operators;       /* of the two lists below */
    const gpuc_onnx_initializer *initializers; /* of the graph, in its order; not those of inner graphs */
    const gpuc_onnx_operator *operators;       /* in the order of their first nodes */
} gpuc_onnx_description;

/* Reads a model, but no external data. It need not be one that can be built. */
GPUC_API const gpuc_onnx_description *gpuc_onnx_describe(gpuc_ctx *ctx, const char *path);

/* ---- What a build makes of it ---- */

typedef struct gpuc_rmodule gpuc_rmodule; /* a Relay program; src/relay/relay.h */

/* Fixes the shape of an input, or the size of a symbolic dimension. */
typedef struct gpuc_shape_pin {
    const char *name;    /* of a graph input, or of a symbolic dimension */
    int ndim;            /* of dims; not used with is_dim */
    const int64_t *dims; /* the shape; with is_dim one number, the size of the dimension */
    bool is_dim;         /* name is a symbolic dimension */
} gpuc_shape_pin;

/* The value of a graph input, which becomes a constant and no input of the package. It may have a default in the
 * model. */
typedef struct gpuc_onnx_bind {
    const char *name;    /* of the graph input */
    gpuc_dtype dtype;    /* that of the input */
    int ndim;            /* of dims */
    const int64_t *dims; /* shape of the value */
    const void *data;    /* elements in row-major order without gaps; copied */
} gpuc_onnx_bind;

/* How gpuc_onnx_load reads a model. Start from GPUC_ONNX_OPTIONS_INIT. */
typedef struct gpuc_onnx_options {
    uint32_t struct_size;        /* set by GPUC_ONNX_OPTIONS_INIT */
    const gpuc_shape_pin *pins;  /* fixed shapes of inputs, values of symbolic dims */
    int num_pins;                /* of pins */
    bool keep_symbolic;          /* leave dims that no pin names symbolic; else they are an error that
                           names the dim and the option */
    const gpuc_onnx_bind *binds; /* values of inputs that become constants */
    int num_binds;               /* of binds */
    bool constant_defaults; /* initializers that are inputs of the graph, too, are constants; else they are
                               inputs of the package with a default value, where the model's IR version is 4
                               or newer and no operator needs them when building (gpuc_onnx_decides_shape) */
} gpuc_onnx_options;
#define GPUC_ONNX_OPTIONS_INIT GPUC_SIZED(gpuc_onnx_options)
/* Reads a model (opsets 1 to 25). options may be NULL: the defaults. */
GPUC_API gpuc_rmodule *gpuc_onnx_load(gpuc_ctx *ctx, const char *path, const gpuc_onnx_options *options);
/* Whether an operator takes from its input number i what decides a shape (Reshape's shape, TopK's k). Such an
 * input of a graph may be bound without the package losing an input of data. */
GPUC_API bool gpuc_onnx_decides_shape(const char *op_type, int i);

#ifdef __cplusplus
}
#endif
#endif
