/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled function of this process: what func_module.c makes and func_call.c runs. */
#ifndef GPUC_COMPILE_FUNC_MODULE_H
#define GPUC_COMPILE_FUNC_MODULE_H

#include <gpuc/runtime.h>

#include "abi/expr.h"
#include "abi/kernel.h"
#include "base/arena.h"

typedef struct gpuc_func_dim {
    gpuc_xexpr size;  /* over the function's scalars */
    const char *text; /* "n + 1"; NULL of a constant */
} gpuc_func_dim;

typedef struct gpuc_func_array {
    const char *name;
    gpuc_dtype dtype;
    uint32_t ndim;
    gpuc_func_dim *dims;
} gpuc_func_array;

typedef struct gpuc_func_scalar {
    const char *name;
    gpuc_dtype dtype; /* int32, int64 or float32 */
} gpuc_func_scalar;

typedef struct gpuc_func_kernel {
    gpuc_kernel meta;
    uint32_t number;   /* in its module */
    uint32_t *slots;   /* of each tensor: array, then workspace */
    uint32_t *scalars; /* of each scalar: number among the function's */
} gpuc_func_kernel;

typedef struct gpuc_func {
    gpuc_runtime *rt;
    gpuc_device *device;
    gpuc_arena arena; /* all that is below */
    const char *name;
    uint32_t num_arrays, num_scalars, num_kernels, num_workspaces, num_modules;
    gpuc_func_array *arrays;
    gpuc_func_scalar *scalars;
    gpuc_func_kernel *kernels;
    gpuc_xexpr *workspace_bytes; /* over the scalars */
    gpuc_code_module **modules;
} gpuc_func;

/* The packed function; self is a gpuc_func, which it does not change: calls may run side by side. */
gpuc_status gpuc_compile_func_call(const gpuc_value *args, int num_args, gpuc_value *ret, void *self);

#endif
