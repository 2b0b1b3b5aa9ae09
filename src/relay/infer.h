/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_RELAY_INFER_H
#define GPUC_RELAY_INFER_H

#include "relay/relay.h"

/* What a HOLE turned out to be. */
typedef struct gpuc_rhole {
    const gpuc_rtype *is; /* NULL: not known yet */
    bool fixed;           /* of a variable: what is known does not become less known */
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
/* The same of a type that is to be a type parameter. */
void gpuc_relay_need_type_param(gpuc_ctx *ctx, const char *doing, const gpuc_rtype *t);
/* Whether a value of type `given` may stand where `wanted` is. */
bool gpuc_relay_fits(gpuc_ctx *ctx, const gpuc_rtype *wanted, const gpuc_rtype *given);
/* Raises where the name is none that text could have. */
void gpuc_relay_need_name(gpuc_ctx *ctx, const char *doing, const char *name);
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
/* The integer or bool at p, widened; uint64 keeps its bits. */
int64_t gpuc_relay_read_integer(const void *p, gpuc_dtype t);
/* Type (and values) of one node from its children, already inferred. m may be NULL: no globals. */
void gpuc_relay_infer_node(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *e);

#endif
