/* SPDX-License-Identifier: Apache-2.0 */
/* Relay as text: programs of functions, types and operators, in the form of TVM 0.13 (docs/relay.md). All functions
 * raise; what they return lives in the context. */
#ifndef GPUC_RELAY_H
#define GPUC_RELAY_H

#include <gpuc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_rmodule gpuc_rmodule; /* a Relay program: functions and types by name */

/* What a printed program shows besides its functions. */
typedef enum gpuc_relay_print_flag {
    GPUC_RELAY_PRINT_TYPES = 1 << 0,   /* the type of each node in a comment */
    GPUC_RELAY_PRINT_VERSION = 1 << 1, /* the line #[version = "0.0.5"] first */
    GPUC_RELAY_PRINT_CONSTANTS =
        1 << 2 /* the section #[constants] last, so that the text is the whole program */
} gpuc_relay_print_flag;

/* The program that a text defines, with its types inferred. It begins with what another module defines (NULL: with
 * nothing), which stays as it is, and must live as long. origin names the text in messages, "origin:line:column: ...", which show the line
 * with a caret below it. */
GPUC_API gpuc_rmodule *gpuc_relay_parse(gpuc_ctx *ctx, const char *text, const char *origin,
                                        const gpuc_rmodule *with);
/* The program as text; flags are of gpuc_relay_print_flag. What is printed with the constants can be parsed, and
 * prints the same again. */
GPUC_API const char *gpuc_relay_text(gpuc_ctx *ctx, const gpuc_rmodule *m, int flags);
/* The number of functions of a module. */
GPUC_API int gpuc_rmodule_num_functions(const gpuc_rmodule *m);
/* The name of function i, in the order of definition, without the @; NULL where there is none. */
GPUC_API const char *gpuc_rmodule_function_name(const gpuc_rmodule *m, int i);
/* The type of a function as text, "fn [A](A) -> A". Raises where the module has no function of that name. */
GPUC_API const char *gpuc_rmodule_function_type(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *name);

#ifdef __cplusplus
}
#endif
#endif
