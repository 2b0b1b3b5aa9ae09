/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_RELAY_INFER_H
#define GPUC_RELAY_INFER_H

#include "relay/relay.h"

/* What a HOLE turned out to be. */
typedef struct gpuc_rhole {
    const gpuc_rtype *is; /* NULL: not known yet */
    bool fixed;           /* of a variable: what is known does not become less known */
    bool joins;           /* of a type parameter: what the call's arguments give for it may join */
    gpuc_ptrs waiting;    /* expressions whose types follow from it */
} gpuc_rhole;

/* The message with the place before it, and the line of the text with a caret below it. */
char *gpuc_relay_located(gpuc_ctx *ctx, gpuc_relay_span span, const char *message);
/* Of a function of gpuc/relay_ir.h: raises "doing: what is NULL", or that argument i of a list is, or that n is
 * negative. */
void gpuc_relay_need(gpuc_ctx *ctx, const char *doing, const char *what, const void *given);
void gpuc_relay_need_list(gpuc_ctx *ctx, const char *doing, const char *what, int n, const void *list);
/* The same, and the expression is a variable. */
void gpuc_relay_need_var(gpuc_ctx *ctx, const char *doing, const gpuc_rexpr *var);
/* The same of a list of types that are to be type parameters, of different names. */
void gpuc_relay_need_type_params(gpuc_ctx *ctx, const char *doing, int n, const gpuc_rtype *const *at);
/* Whether a value of type `given` may stand where `wanted` is. */
bool gpuc_relay_fits(gpuc_ctx *ctx, const gpuc_rtype *wanted, const gpuc_rtype *given);
/* The type of a branch that gives a function of one of two types; raises where there is none. */
const gpuc_rtype *gpuc_relay_join_functions(gpuc_ctx *ctx, const gpuc_rtype *a, const gpuc_rtype *b);
/* Raises where the name is none that text could have; word: that of an attribute, which may have dots. */
void gpuc_relay_need_name(gpuc_ctx *ctx, const char *doing, const char *name);
void gpuc_relay_need_word(gpuc_ctx *ctx, const char *doing, const char *name);
/* Raises where the name is a word of the language, or an element type. */
void gpuc_relay_need_free_name(gpuc_ctx *ctx, const char *what, const char *name);
/* "the call of add", "%x": a node in messages. */
const char *gpuc_relay_describe(gpuc_ctx *ctx, const gpuc_rexpr *e);
/* The data types of another module, and what is known of inputs and outputs of its main. */
void gpuc_rmodule_copy_types(gpuc_rmodule *to, const gpuc_rmodule *from);
void gpuc_rmodule_copy_interface(gpuc_rmodule *to, const gpuc_rmodule *from);
/* Operand i, NULL after the last, and the variables of patterns among them: value, variables of all clauses,
 * bodies. */
gpuc_rexpr *gpuc_relay_scoped_operand(const gpuc_rexpr *e, int i);
/* Raises where a variable is bound twice or used outside of its scope, or where something that is named is not
 * there. Types may be missing. */
void gpuc_relay_check_scopes(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code);
/* Raises where a node has no type, or an operator is not complete: inference has not run. */
void gpuc_relay_check_inferred(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code);
/* Raises where types that are there do not fit. */
void gpuc_relay_check_types(gpuc_ctx *ctx, const gpuc_rmodule *m, gpuc_code code);
/* Type and values of an operator call whose arguments have theirs. */
void gpuc_relay_infer_call(gpuc_ctx *ctx, gpuc_rexpr *call);
/* Adds the gpuc_op_conditions that an operator call imposes on sizes that are not known. */
void gpuc_relay_conditions(gpuc_ctx *ctx, const gpuc_rexpr *call, gpuc_ptrs *out);
/* Sets values of a constant that is small and integer. */
void gpuc_relay_constant_values(gpuc_ctx *ctx, gpuc_rexpr *constant);
/* The elements of a tensor that extents are taken from, also those of a constant of real numbers. NULL: they are not known. */
const gpuc_expr *gpuc_relay_elements(gpuc_ctx *ctx, const gpuc_rexpr *e);
/* The integer or bool at p, widened; uint64 keeps its bits. */
int64_t gpuc_relay_read_integer(const void *p, gpuc_dtype t);
/* Adds to a map from symbols that nobody knew to what they are by now: the type old became new, of the same tensors. */
void gpuc_relay_note_sizes(gpuc_map *sizes, const gpuc_rtype *old, const gpuc_rtype *new);
/* Type (and values) of one node from its children, already inferred. m may be NULL: no globals. */
void gpuc_relay_infer_node(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *e);

#endif
