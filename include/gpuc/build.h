/* SPDX-License-Identifier: Apache-2.0 */
/* From a model or a scheduled function to code: packages on disk, functions in this process. */
#ifndef GPUC_BUILD_H
#define GPUC_BUILD_H

#include <gpuc/runtime.h>
#include <gpuc/schedule.h>
#include <gpuc/target.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_rmodule gpuc_rmodule; /* a Relay program; src/relay/relay.h */

/* ---- ONNX ---- */
/* Fixes the shape of an input, or the size of a symbolic dimension. */
typedef struct gpuc_shape_pin {
    const char *name;    /* of a graph input, or of a symbolic dimension */
    int ndim;            /* of dims; not used with is_dim */
    const int64_t *dims; /* the shape; with is_dim one number, the size of the dimension */
    bool is_dim;         /* name is a symbolic dimension */
} gpuc_shape_pin;

/* The value of a graph input, which becomes a constant and no input of the package. It may have a default in
 * the model. */
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
#define GPUC_ONNX_OPTIONS_INIT ((gpuc_onnx_options){.struct_size = sizeof(gpuc_onnx_options)})
/* Reads a model (opsets 1 to 25). Raises: errors name the node, tensor or byte offset. */
GPUC_API gpuc_rmodule *gpuc_onnx_load(gpuc_ctx *ctx, const char *path, const gpuc_onnx_options *options);
/* Whether input number i of an ONNX operator decides a shape (Reshape's shape, TopK's k) rather than holds
 * data: such inputs of a graph may be bound at build time. */
GPUC_API bool gpuc_onnx_decides_shape(const char *op_type, int i);

/* ---- Packages ---- */
/* What tuning found: configurations of functions, by target; gpuc/tune.h. */
typedef struct gpuc_tuning gpuc_tuning;

/* How gpuc_build_package compiles. Start from GPUC_BUILD_OPTIONS_INIT. */
typedef struct gpuc_build_options {
    uint32_t struct_size;               /* set by GPUC_BUILD_OPTIONS_INIT */
    int opt_level;                      /* 0 to 3; 3 is the tools' default */
    const char *const *disabled_passes; /* names; an unknown one is an error with the nearest */
    int num_disabled;                   /* of disabled_passes */
    int num_threads;                    /* lowering tasks; 0: one per processor. No effect on the result */
    int64_t fold_limit;     /* max bytes of folded constants beyond the constants of the model; 0: 2 GiB */
    const char *emit_dir;   /* also write graph.json, params, *.spv, *.cl, *.c here */
    const char *model_name; /* for provenance */
    /* May be NULL. Tells what is being done, and of kernels how many are; total 0: there is no count. It runs
     * on the thread of the call. */
    void (*progress)(void *user, const char *what, int done, int total);
    void *progress_user;                           /* passed to progress */
    const gpuc_tuning *tuning;                     /* NULL: default schedules */
    void (*warning)(void *user, const char *text); /* may be NULL */
    void *warning_user;                            /* passed to warning */
} gpuc_build_options;
#define GPUC_BUILD_OPTIONS_INIT                                                                              \
    ((gpuc_build_options){.struct_size = sizeof(gpuc_build_options), .opt_level = 3})

/* What gpuc_build_package did. */
typedef struct gpuc_build_report {
    /* steps, different kernels and operators of all programs */
    int num_kernels, num_unique_kernels, num_nodes;
    int num_tuned, num_untuned; /* of the operators with something to tune: with a configuration, without */
    uint64_t weight_bytes;      /* of the last program */
    /* import: left 0, for the caller */
    double seconds_import, seconds_passes, seconds_kernels, seconds_write;
} gpuc_build_report;

/* Compiles main of the module for every target and writes one package. The file appears whole or not at all.
 * The module must not be used afterwards. Raises. */
GPUC_API void gpuc_build_package(gpuc_ctx *ctx, gpuc_rmodule *module, int num_targets,
                                 const gpuc_target *const *targets, const gpuc_build_options *options,
                                 const char *path, gpuc_build_report *out_report);

/* ---- Functions in this process ---- */
/* Lowers and compiles a scheduled function and loads it on the device. The module has one function,
 * named as the func: arguments are one ndarray per buffer parameter (on that device), then the
 * scalar parameters. An int for a float parameter is converted; a float for an int parameter, and arrays of
 * another type, rank or size than the scalars give, are refused by a message that names the argument. Arrays
 * that are written must not overlap others. A call allocates what lives between its kernels from the device's
 * workspace, and returns when the results are there; calls may run side by side. */
GPUC_API gpuc_module *gpuc_build_func(gpuc_ctx *ctx, gpuc_runtime *rt, gpuc_device *device,
                                      const gpuc_target *target, const gpuc_tir_func *func);
/* The generated code of the same, for reading: source text, or a listing of SPIR-V. Runs no compiler. */
GPUC_API const char *gpuc_build_source(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func);

/* Registers the compiler's packed functions:
 *   target.build.<kind>  (context handle, function handle, target text, device) -> module
 *   topi.<name>          an operator, by its own name and those of TOPI and NNVM (`gpuc ops` lists them):
 *                        topi.add, topi.nn.softmax, topi.softmax, topi.broadcast_add.
 * An operator's arguments are ndarrays: its inputs, then its results, of the types that it gives. What
 * follows are attributes: one string such as "axis=[1], keepdims=1", or values in the order of the operator's
 * row (null for the default, a string for a list). It runs on the device of the first array that has one,
 * which is compiled for at the first call with these types, else on the CPU device; when it returns, the
 * results are there. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_compiler_register(gpuc_runtime *rt);

#ifdef __cplusplus
}
#endif
#endif
