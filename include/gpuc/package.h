/* SPDX-License-Identifier: Apache-2.0 */
/* What a package holds, for those who look at it rather than run it: no device is needed. */
#ifndef GPUC_PACKAGE_H
#define GPUC_PACKAGE_H

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number that may depend on the sizes of the inputs. */
typedef struct gpuc_package_number {
    const char *
        text; /* "512", or an expression of the program's symbols, "4*N + 64", and, for a kernel whose launches pass different scalars, of these: "scalar0*4" */
    bool fixed;    /* it is the same for all inputs */
    int64_t value; /* if fixed */
} gpuc_package_number;

/* One entry point of a module's code. */
typedef struct gpuc_package_kernel {
    const char *name;                                /* entry point, unique in the program */
    const char *label;                               /* what it computes: "conv2d+add+relu" */
    uint32_t num_tensors, num_bindings, num_scalars; /* arguments; tensors may share a binding */
    bool params_in_buffer;                           /* scalars and offsets are in a buffer of their own */
    uint32_t local_size[3];                          /* invocations of a work-group in x, y, z */
    gpuc_package_number launch[3];                   /* work-groups */
    uint32_t features;                               /* gpuc_feature bits that a device must have */
    uint32_t subgroup_size;                          /* that it needs; 0: any */
    uint32_t shared_bytes;                           /* of a work-group's shared memory */
    bool
        variant; /* replaces the last kernel before it that is no variant, on devices that have its features */
    bool limited; /* a variant for devices that end loops */
    /* Max iterations of the loops of one invocation; text NULL: not counted. */
    union {
        gpuc_package_number iterations;
        gpuc_package_number rounds; /* old name */
    };
    int64_t cost_bytes, cost_ops; /* estimate of one launch; -1: unknown */
    uint32_t module;              /* which of the program's modules has its code */
    const char *schedule;         /* "{...} from LOG": tuned; or "default" */
} gpuc_package_kernel;

/* One operator of the fused graph. */
typedef struct gpuc_package_node {
    const char *name; /* "conv2d_add_relu_3#7" */
    const char
        *source; /* the model's node names that it came from, comma-separated; "": the compiler's own */
    gpuc_device_type device;        /* that its steps run on: the program's, or the fallback device (CPU) */
    uint32_t first_step, num_steps; /* among the program's steps, which are numbered from 0 */
    const char *const *kernels;     /* by step; NULL: a copy, or a size that the host reads */
} gpuc_package_node;

typedef enum gpuc_package_slot_kind {
    GPUC_PACKAGE_INPUT,
    GPUC_PACKAGE_OUTPUT,
    GPUC_PACKAGE_WEIGHT,
    GPUC_PACKAGE_ARENA /* memory of a session */
} gpuc_package_slot_kind;
GPUC_API const char *gpuc_package_slot_kind_name(gpuc_package_slot_kind kind); /* "input", ... */

/* Memory that several values use, one after the other. */
typedef struct gpuc_package_slot {
    gpuc_package_slot_kind kind;    /* whose memory it is */
    gpuc_package_number bytes;      /* its size */
    bool used;                      /* a step reads or writes it */
    uint32_t first_step, last_step; /* if used */
    const char *values; /* the names of these values, separated by ", "; "#7" for one without a name */
} gpuc_package_slot;

/* A constant tensor of a program. */
typedef struct gpuc_package_weight {
    const char *name;                /* the name of the model that it came from, or "weight3" */
    gpuc_dtype dtype;                /* of an element */
    int ndim;                        /* of dims */
    const gpuc_package_number *dims; /* its shape */
    const void *data;                /* compact; in the mapped file, not verified without check_weights */
    uint64_t bytes;                  /* of data */
} gpuc_package_weight;

/* A size that is not known before a run. */
typedef struct gpuc_package_symbol {
    const char *name;    /* as the texts of gpuc_package_number refer to it */
    bool computed;       /* by the program; else it is */
    uint32_t input, dim; /* this dimension of this input */
} gpuc_package_symbol;

/* What a device must have to run a program. */
typedef struct gpuc_package_requirement {
    const char *name; /* a target attribute, or "cpu.<instruction set>" */
    int64_t at_least; /* of the device's value; 1 for instruction sets and features */
} gpuc_package_requirement;

/* Code of a program. */
typedef struct gpuc_package_module {
    const char *type;    /* "spirv", "opencl_c", "cpu_so" */
    const void *data;    /* the code, in the mapped file */
    uint64_t bytes;      /* of data */
    const char *machine; /* of "cpu_so": the processor that it is for, "x86-64", "AArch64"; else NULL */
    bool foreign;        /* that is not the one that this process runs on */
} gpuc_package_module;

/* An array that a function of a library takes. */
typedef struct gpuc_package_array {
    const char *name;                /* in the tensor expression */
    gpuc_dtype dtype;                /* of an element */
    int ndim;                        /* of dims */
    const gpuc_package_number *dims; /* its shape, over the function's numbers */
} gpuc_package_array;

/* A number that a function of a library takes. */
typedef struct gpuc_package_scalar {
    const char *name; /* as the texts of gpuc_package_number refer to it */
    gpuc_dtype dtype; /* int32, int64 or float32 */
} gpuc_package_scalar;

/* A function of a library: its arguments are the arrays, then the numbers. */
typedef struct gpuc_package_function {
    const char *name;                            /* for gpuc_module_get_function */
    uint32_t num_arrays, num_scalars, num_steps; /* of the lists below */
    const gpuc_package_array *arrays;            /* the first arguments */
    const gpuc_package_scalar *scalars;          /* the last arguments */
    const char *const *kernels;                  /* that it launches, in this order */
    uint32_t num_workspaces;                     /* arrays between kernels, */
    const gpuc_package_number *workspaces;       /* and the bytes of each */
} gpuc_package_function;

/* The package for one target. */
typedef struct gpuc_package_program {
    const char *target;      /* as gpuc_target_parse takes it */
    gpuc_device_type device; /* that it is for */
    /* Lengths of the lists below. Steps have no list: nodes and slots give their numbers. */
    uint32_t num_requirements, num_modules, num_kernels, num_nodes, num_steps, num_slots, num_symbols,
        num_weights, num_functions;
    const gpuc_package_requirement *requirements; /* the devices must meet all of them */
    const gpuc_package_module *modules;           /* gpuc_package_kernel.module is an index of it */
    const gpuc_package_kernel *kernels;           /* a variant follows the kernel that it replaces */
    const gpuc_package_node *nodes;               /* in the order in which they run */
    const gpuc_package_slot *slots;               /* memory of all kinds */
    const gpuc_package_symbol *symbols;           /* sizes that numbers which are not fixed depend on */
    const gpuc_package_weight *weights;           /* constants */
    const gpuc_package_function *functions;       /* of a library, which has no nodes */
    uint64_t weight_bytes;                        /* of all weights, gaps between them included */
    uint32_t num_arena_slots;                     /* the memory of a session: */
    uint64_t arena_bytes;                         /* of those with fixed sizes, as they are placed */
    uint32_t num_open_arena_slots;                /* those whose size depends on the inputs */
} gpuc_package_program;

#define GPUC_PACKAGE_NONE UINT32_MAX
/* A part of the file. */
typedef struct gpuc_package_section {
    const char *type;        /* "manifest", "weights", ... */
    uint32_t program, index; /* GPUC_PACKAGE_NONE: of the package; not one of several */
    uint64_t offset, bytes;  /* in the file */
    uint64_t checksum;       /* XXH64 */
    bool verified;           /* its bytes have this checksum; false: they were not read */
} gpuc_package_section;

/* The contents of a package. All that a view points to belongs to it. */
typedef struct gpuc_package_view {
    uint64_t file_bytes;                                          /* size of the file */
    const char *gpuc_version;                                     /* that made it */
    bool is_library;                                              /* of functions; else a network */
    uint32_t num_inputs, num_outputs, num_programs, num_sections; /* of the lists below */
    const gpuc_tensor_info *inputs, *outputs;                     /* of the model, in its order */
    const gpuc_package_program *programs; /* the first one whose device is available runs */
    const gpuc_package_section *sections; /* in the order of the file's table */
    const char *provenance; /* lines: the model's name and hash, options, passes; "" if there is none */
} gpuc_package_view;

/* Maps a package, verifies it, and describes it. The checksum of the weights, which takes reading all of them,
 * is verified if check_weights. Errors name the file and the section. A view may be read by several threads. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_package_view_load(const gpuc_allocator *allocator, const char *path,
                                                           bool check_weights, gpuc_package_view **out);
/* Frees the view with all that it points to, and unmaps the file. NULL is fine. */
GPUC_API void gpuc_package_view_release(gpuc_package_view *v);

#ifdef __cplusplus
}
#endif
#endif
