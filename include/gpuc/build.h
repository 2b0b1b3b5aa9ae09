/* SPDX-License-Identifier: Apache-2.0 */
/* From a model or a scheduled function to code: packages on disk, functions in this process. */
#ifndef GPUC_BUILD_H
#define GPUC_BUILD_H

#include <gpuc/onnx.h>
#include <gpuc/runtime.h>
#include <gpuc/schedule.h>
#include <gpuc/target.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    /* May be NULL. Reports what is being done, and for kernels how many are done; total 0: there is no count.
     * It runs on the thread of the call. */
    void (*progress)(void *user, const char *what, int done, int total);
    void *progress_user;                           /* passed to progress */
    const gpuc_tuning *tuning;                     /* NULL: default schedules */
    void (*warning)(void *user, const char *text); /* may be NULL */
    void *warning_user;                            /* passed to warning */
} gpuc_build_options;
#ifdef __cplusplus
/* What GPUC_BUILD_OPTIONS_INIT is. */
static inline gpuc_build_options gpuc_build_options_(void)
{
    gpuc_build_options options = GPUC_SIZED(gpuc_build_options);
    options.opt_level = 3;
    return options;
}
#define GPUC_BUILD_OPTIONS_INIT (gpuc_build_options_())
#else
#define GPUC_BUILD_OPTIONS_INIT                                                                              \
    ((gpuc_build_options){.struct_size = sizeof(gpuc_build_options), .opt_level = 3})
#endif

/* What gpuc_build_package did. */
typedef struct gpuc_build_report {
    /* steps, different kernels and operators of all programs */
    int num_kernels, num_unique_kernels, num_nodes;
    int num_tuned,
        num_untuned; /* operators that have something to tune: those with a configuration, those without */
    uint64_t weight_bytes; /* of the last program */
    /* import: left 0, for the caller */
    double seconds_import, seconds_passes, seconds_kernels, seconds_write;
} gpuc_build_report;

/* The inputs that the package of a module has, in order; open dimensions are -1, and dim_names says what they
 * are ("N", "2*N + 1"). What is returned lives in the context. Raises. */
GPUC_API int gpuc_rmodule_num_inputs(const gpuc_rmodule *m);
/* Input i of them. Raises INVALID_ARGUMENT where there is none. */
GPUC_API gpuc_tensor_info gpuc_rmodule_input(gpuc_ctx *ctx, const gpuc_rmodule *m, int i);

/* ---- Images as inputs and outputs ---- */
/* Both functions change a module before it is built: the package then takes or gives pixels, as an array of
 * [height, width, channels] of the format's type, and the conversion is a part of the network's kernels. A session
 * may run with an image of another size than before where the size is open. */

/* In which order the channels of the network are the colours of the image. */
typedef enum gpuc_image_order {
    GPUC_IMAGE_ORDER_AUTO, /* rgb of 3 channels, gray of 1 */
    GPUC_IMAGE_ORDER_RGB,  /* red, green, blue */
    GPUC_IMAGE_ORDER_BGR,  /* blue, green, red */
    GPUC_IMAGE_ORDER_GRAY  /* one channel: 0.299 red + 0.587 green + 0.114 blue */
} gpuc_image_order;

/* Where the channels of the network's tensor stand. */
typedef enum gpuc_image_layout {
    GPUC_IMAGE_LAYOUT_AUTO, /* where exactly one position has 1 or 3 channels; else it is an error */
    GPUC_IMAGE_LAYOUT_NCHW, /* before rows and columns; a batch of 1 in front, or none */
    GPUC_IMAGE_LAYOUT_NHWC  /* behind them */
} gpuc_image_layout;

/* Which part of the image the network sees. */
typedef enum gpuc_image_crop {
    GPUC_IMAGE_CROP_NONE,  /* all of it, stretched to the network's size */
    GPUC_IMAGE_CROP_RECT,  /* a rectangle */
    GPUC_IMAGE_CROP_CENTER /* the largest part in the middle that has the network's ratio of width to height */
} gpuc_image_crop;

/* An image for an input of the network. Start from GPUC_IMAGE_INPUT_INIT. A colour is a number c of 0 to 1, of
 * sRGB formats what it stands for after decoding. Resizing comes first, from the centres of pixels, in float32; the
 * network's element is then (c * range - mean) * scale. An integer type gets the nearest number, halves to
 * even, within its range. Alpha is dropped. One channel stands for all three colours where the network has three. */
typedef struct gpuc_image_input {
    uint32_t struct_size;     /* set by GPUC_IMAGE_INPUT_INIT */
    const char *name;         /* of the input */
    gpuc_image_format format; /* of the image */
    bool nearest;             /* take the nearest pixel; else interpolate linearly between four */
    int64_t width, height;    /* of the image; 0 and 0: any that a run gives, up to 32768 */
    gpuc_image_crop crop;     /* the part to take */
    int64_t crop_x, crop_y, crop_width,
        crop_height; /* of GPUC_IMAGE_CROP_RECT, in pixels from the upper left */
    double range;    /* of colours before mean and scale: 1, or 255 */
    int num_mean,
        num_scale; /* 0: none (0, and 1); 1: for all channels; or one for each, in the network's order */
    double mean[3], scale[3]; /* num_mean and num_scale of them */
    gpuc_image_order order;   /* of the network */
    gpuc_image_layout layout; /* of the network */
} gpuc_image_input;
#define GPUC_IMAGE_INPUT_INIT ((gpuc_image_input){.struct_size = sizeof(gpuc_image_input), .range = 1})

/* An image for an output of the network, of its size. Start from GPUC_IMAGE_OUTPUT_INIT. An element v of the network
 * becomes the colour c = (v * scale + offset) / range. In formats of 8 bits it is limited to 0 to 1 (not a number is
 * 0), encoded where the format is of sRGB, and stored as the nearest of 255 steps, halves to even. A network
 * with one channel gives all three colours. */
typedef struct gpuc_image_output {
    uint32_t struct_size;     /* set by GPUC_IMAGE_OUTPUT_INIT */
    const char *name;         /* of the output */
    gpuc_image_format format; /* of the image */
    bool clamp;               /* limit float formats to 0 to 1, too */
    double range;             /* what a full colour is after scale and offset: 1, or 255 */
    int num_scale,
        num_offset; /* 0: none (1, and 0); 1: for all channels; or one for each, in the network's order */
    double scale[3], offset[3]; /* num_scale and num_offset of them */
    double alpha;               /* of all pixels, 0 to 1 */
    gpuc_image_order order;     /* of the network */
    gpuc_image_layout layout;   /* of the network */
} gpuc_image_output;
#define GPUC_IMAGE_OUTPUT_INIT                                                                               \
    ((gpuc_image_output){.struct_size = sizeof(gpuc_image_output), .range = 1, .alpha = 1})

/* Makes an input of main an image. Raises INVALID_ARGUMENT, with what would mend it, where the input and the
 * description do not fit, NOT_FOUND where there is no such input. */
GPUC_API void gpuc_rmodule_image_input(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_image_input *image);
/* Makes an output of main an image. Raises as above. */
GPUC_API void gpuc_rmodule_image_output(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_image_output *image);
/* Parses "NAME=FORMAT,KEY=VALUE,...", as --input-image of `gpuc build` takes it. What is returned lives in the
 * context. Raises INVALID_ARGUMENT, with the nearest name for one that it does not know. */
GPUC_API gpuc_image_input gpuc_image_input_parse(gpuc_ctx *ctx, const char *text);
/* The same of --output-image. */
GPUC_API gpuc_image_output gpuc_image_output_parse(gpuc_ctx *ctx, const char *text);

/* ---- Building ---- */
/* Compiles main of the module for every target and writes one package. The file appears whole or not at all.
 * The module must not be used afterwards. Raises. */
GPUC_API void gpuc_build_package(gpuc_ctx *ctx, gpuc_rmodule *module, int num_targets,
                                 const gpuc_target *const *targets, const gpuc_build_options *options,
                                 const char *path, gpuc_build_report *out_report);

/* ---- Functions in this process ---- */
/* Lowers and compiles a scheduled function, by target.build.<kind> of the runtime, and loads it on the device. The
 * module has one function,
 * named as the func: arguments are one ndarray per buffer parameter (on that device), then the
 * scalar parameters. An int for a float parameter is converted; a float for an int parameter, and arrays of
 * another type, rank or size than the scalars give, are refused by a message that names the argument. Arrays
 * that are written must not overlap others. A call allocates what lives between its kernels from the device's
 * workspace, appends its launches to the thread's current stream of the device (gpuc_runtime_set_stream), and
 * does not wait: gpuc_ndarray_read does, and tickets. Arrays may be released at once. Calls may run side by
 * side. */
GPUC_API gpuc_module *gpuc_build_func(gpuc_ctx *ctx, gpuc_runtime *rt, gpuc_device *device,
                                      const gpuc_target *target, const gpuc_tir_func *func);
/* The generated code of the same, for reading: source text, or SPIR-V as assembly (as words in a build without
 * SPIRV-Tools). Runs no compiler. */
GPUC_API const char *gpuc_build_source(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func);

/* ---- Libraries ---- */
/* Functions for one target or several, which another process loads with the runtime alone
 * (gpuc_module_load_file). It lives in the context. */
typedef struct gpuc_library gpuc_library;
/* A library without functions. The functions below take one that is not NULL, of a context that lives. */
GPUC_API gpuc_library *gpuc_library_create(gpuc_ctx *ctx);
/* Lowers a scheduled function and generates its code for a target. Names are unique among the functions for one
 * target. Its kernels are named f<number>_<name>, with the first letters of the name. No device is needed.
 * Raises. */
GPUC_API void gpuc_library_add(gpuc_library *l, const gpuc_target *target, const gpuc_tir_func *func);
/* The code of all functions for a target, named by gpuc_target_text, for reading: source text, or SPIR-V as
 * assembly (words in a build without SPIRV-Tools). Raises NOT_FOUND if there are none, UNSUPPORTED where a function
 * target.build.<kind> of somebody else makes a module without source. */
GPUC_API const char *gpuc_library_source(gpuc_library *l, const char *target);
/* Compiles what the target has compiled ahead, and writes the library, whole or not at all. Raises. */
GPUC_API void gpuc_library_save(gpuc_library *l, const char *path);
/* The same as saving and loading it with gpuc_module_load_file, without a file; CPU code is loaded. With a device,
 * only what is for its kind is compiled. The caller owns the module. Raises. */
GPUC_API gpuc_module *gpuc_library_load(gpuc_library *l, gpuc_runtime *rt, gpuc_device *device);

/* Registers the compiler's packed functions, and the types of modules (gpuc_module_types_register):
 *   target.build.<kind>  generates code (gpuc/codegen.h)
 *   topi.<name>          an operator, by its own name and those of TOPI and NNVM (`gpuc ops` lists them):
 *                        topi.add, topi.nn.softmax, topi.softmax, topi.broadcast_add. Operators that are added to
 *                        the runtime (gpuc_op_register_in) are among them, whichever comes first.
 * An operator's arguments are ndarrays: its inputs, then its results, of the types that it gives. What
 * follows are attributes: one string such as "axis=[1], keepdims=1", or values in the order of the operator's
 * row (null for the default, a string for a list). It runs on the device of the first array that has one,
 * which is compiled for at the first call with these types, else on the thread's (gpuc_runtime_set_device), else
 * on the CPU device. As with all packed functions
 * of kernels, the results are there when they are read, and the call itself does not wait for them. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_compiler_register(gpuc_runtime *rt);

#ifdef __cplusplus
}
#endif
#endif
