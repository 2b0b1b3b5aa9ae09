/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts calls with more tensors than somebody wants in one; limit_arguments does it by what a target's kernels bind. */
#include "relay_pass/common/split_call.h"

static gpuc_rexpr *split(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    return gpuc_relay_pass_split_call(ctx, e, *(const int *)arg);
}

/* A kernel has its result among its arguments. */
void gpuc_relay_pass_split_args(gpuc_relay_pass_ctx *p)
{
    int64_t given = gpuc_attrs_get_int(p->options, "max_function_args", 0);
    if (given && given < 3)
        gpuc_raise(p->ctx, GPUC_INVALID_ARGUMENT,
                   "split_args: max_function_args=%lld: a sum of two has 3, with its result; 0 is any number",
                   (long long)given);
    int max = given > INT32_MAX ? INT32_MAX : (int)given - 1;
    if (given) gpuc_relay_pass_rewrite_module(p, split, &max);
}
