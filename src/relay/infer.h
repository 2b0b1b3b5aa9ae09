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
/* Type and values of an operator call whose arguments have theirs. */
void gpuc_relay_infer_call(gpuc_ctx *ctx, gpuc_rexpr *call);
/* As gpuc_relay_child, and of a function the parameters, then the body. */
gpuc_rexpr *gpuc_relay_operand(const gpuc_rexpr *e, int i);
/* Adds the gpuc_op_conditions that an operator call imposes on sizes that are not known. */
void gpuc_relay_conditions(gpuc_ctx *ctx, const gpuc_rexpr *call, gpuc_ptrs *out);
/* Sets values of a constant that is small and integer. */
void gpuc_relay_constant_values(gpuc_ctx *ctx, gpuc_rexpr *constant);
/* The integer or bool at p, widened; uint64 keeps its bits. */
int64_t gpuc_relay_read_integer(const void *p, gpuc_dtype t);
/* Type (and values) of one node from its children, already inferred. m may be NULL: no globals. */
void gpuc_relay_infer_node(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *e);

#endif
