/* SPDX-License-Identifier: Apache-2.0 */
/* What build and verify share: a model file to a package. */
#ifndef GPUC_CLI_COMPILE_H
#define GPUC_CLI_COMPILE_H

#include <gpuc/build.h>

#include "cli.h"
#include "text.h"

/* What --input-image and --output-image say. */
typedef struct cli_images {
    cli_strings inputs, outputs;
} cli_images;

typedef struct cli_compile {
    const char *model, *out;
    const char *const *targets;  /* texts */
    gpuc_device *const *devices; /* per target: the one of -from_device, or NULL */
    int num_targets;
    gpuc_shape_pin *pins;
    int num_pins;
    const gpuc_onnx_bind *binds;
    int num_binds;
    bool constant_defaults;
    const cli_images *images;       /* NULL: none */
    const cli_strings *tuning_logs; /* NULL: none */
    gpuc_build_options options;
    gpuc_build_report report;   /* set by cli_compile_run */
    bool imported;              /* the model is valid, and everything in it is supported */
    const gpuc_target **parsed; /* while it runs */
    cli_text program;           /* the text of a model that is Relay */
    cli_text full_targets;      /* ", "-separated */
    cli_text defaults;          /* the same: inputs that have a default */
    cli_text open_sizes;        /* "x=N,3,H y=N": inputs with open dimensions */
} cli_compile;

/* A context with the developer switches of the environment, which finds what plug-ins added to the runtime; that one
 * must outlive it. */
GPUC_NODISCARD gpuc_status cli_ctx_create(cli_runtime *r, gpuc_ctx **out);
bool cli_is_relay(const char *path); /* by its name: .rly, .relay */
/* A program whose main is a graph, once lets and calls of functions are gone; the build says what else it has. Raises. */
gpuc_rmodule *cli_relay_load(gpuc_ctx *ctx, const cli_text *program, const char *path);
GPUC_NODISCARD gpuc_status cli_compile_run(gpuc_ctx *ctx, cli_compile *c);
void cli_compile_deinit(cli_compile *c);
/* Makes images of the inputs and outputs that the options name. Raises. */
void cli_images_apply(gpuc_ctx *ctx, gpuc_rmodule *m, const cli_images *images);
void cli_images_free(cli_images *images);
/* The configurations of logs, in the context; NULL without logs. Raises. */
gpuc_tuning *cli_tuning_load(gpuc_ctx *ctx, const cli_strings *logs);
void cli_warn(void *user, const char *text); /* as gpuc_build_options wants it */
/* Opens the device that the target's -from_device names; *out NULL if it names none. */
GPUC_NODISCARD gpuc_status cli_target_device(cli_runtime *r, gpuc_ctx *ctx, const char *target,
                                             gpuc_device **out);
/* Parses a target. Errors are those of gpuc_target_parse. */
GPUC_NODISCARD gpuc_status cli_target_parse(gpuc_ctx *ctx, const char *text, gpuc_device *device,
                                            const gpuc_target **out);

#endif
