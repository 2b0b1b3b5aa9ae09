/* SPDX-License-Identifier: Apache-2.0 */
/* How the tables of operators are written. */
#ifndef GPUC_BENCH_OPS_H
#define GPUC_BENCH_OPS_H

#include <gpuc/attrs.h>

#include "bench.h"

#define MI ((int64_t)1 << 20)
#define FLOATS(n, ...)                                                                                       \
    {                                                                                                        \
        .dtype = {GPUC_DTYPE_FLOAT, 32, 1}, .ndim = n, .dims = { __VA_ARGS__ }                               \
    }
/* Integers of so many bits below a limit. */
#define INDICES(bits, limit, n, ...)                                                                         \
    {                                                                                                        \
        .dtype = {GPUC_DTYPE_INT, bits, 1}, .ndim = n, .dims = {__VA_ARGS__}, .below = limit                 \
    }
/* What one run reads and writes, or computes. */
#define BYTES(n) .bytes = n
#define OPERATIONS(n) .operations = n
/* Of num inputs; every how many elements the result is looked at. */
#define OP(text, class, size, operator, at, want, every, num, ...)                                           \
    {                                                                                                        \
        .title = text, .relay = operator, .attrs = at, size, .kind = BENCH_##class, .num_inputs = num,       \
        .inputs = {__VA_ARGS__}, .expected = want, .step = every                                             \
    }

#endif
