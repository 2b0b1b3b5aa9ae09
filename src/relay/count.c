/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the multiply-adds of products and convolutions. */
#include <string.h>

#include "relay/infer.h"
#include "relay/relay.h"

/* Elements; -1: not known. */
static int64_t elements(const gpuc_rexpr *e)
{
    int64_t dims[GPUC_OP_MAX_DIMS], n = 1;
    if (!e->type || e->type->kind != GPUC_RTYPE_TENSOR) return -1;
    const gpuc_tensor_type *t = &e->type->tensor;
    if (!gpuc_relay_tensor_type_static(t, dims)) return -1;
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(n, dims[i], &n)) return -1;
    return n;
}

static int64_t extent(const gpuc_rexpr *e, int axis)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t n;
    return t->ndim + axis >= 0 && t->dims[t->ndim + axis] && gpuc_expr_is_int(t->dims[t->ndim + axis], &n)
               ? n
               : -1;
}

/* Of one call; 0: it is no product, -1: an extent is not known. */
static int64_t count(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    int64_t each = -1, of, n;
    if (!op || gpuc_as_rcall(e)->n < 2) return 0;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const char *name = strncmp(op->name, "qnn.", 4) ? op->name : op->name + 1; /* nn.conv2d of qnn.conv2d */
    bool conv =
        !strncmp(name, "nn.conv1d", 9) || !strncmp(name, "nn.conv2d", 9) || !strncmp(name, "nn.conv3d", 9);
    if (!strcmp(name, "nn.dense") || !strcmp(name, "nn.matmul") || !strcmp(name, "nn.batch_matmul")) {
        of = elements(e);
        each = extent(c->args[0], gpuc_attrs_get_int(c->attrs, "transpose_a", 0) ? -2 : -1);
    } else if (conv && (!name[9] || !strcmp(name + 9, "_transpose"))) {
        /* weights of an output channel for each output; of an input channel for each input */
        int64_t weights = elements(c->args[1]),
                first = extent(c->args[1], -gpuc_relay_tensor_type(c->args[1])->ndim);
        of = elements(name[9] ? c->args[0] : e);
        each = weights < 0 || first < 0 ? -1 : first ? weights / first : 0;
    } else {
        return 0;
    }
    return of < 0 || each < 0 || __builtin_mul_overflow(of, each, &n) ? -1 : n;
}

int64_t gpuc_relay_multiply_adds(gpuc_ctx *ctx, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    int64_t sum = 0;
    gpuc_relay_need(ctx, "counting multiply-adds", "expression", root);
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        int64_t n = count(order.at[i]);
        if (n < 0 || __builtin_add_overflow(sum, n, &sum)) return -1;
    }
    return sum;
}
