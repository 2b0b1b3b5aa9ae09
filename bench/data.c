/* SPDX-License-Identifier: Apache-2.0 */
/* What workloads are fed with. */
#include "bench.h"

int64_t bench_count(const bench_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) n *= s->dims[i];
    return n;
}

size_t bench_bytes(const bench_shape *s)
{
    return (size_t)bench_count(s) * gpuc_dtype_bytes(s->dtype);
}

double bench_element(gpuc_dtype t, const void *data, int64_t at)
{
    if (t.code == GPUC_DTYPE_FLOAT) return (double)((const float *)data)[at];
    if (t.bits == 32) return ((const int32_t *)data)[at];
    return t.code == GPUC_DTYPE_UINT ? ((const uint8_t *)data)[at] : ((const int8_t *)data)[at];
}

void bench_fill(const bench_shape *s, int n, int variant, void *data)
{
    int64_t count = bench_count(s), step = n ? 11 : 7, period = n ? 29 : 31;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i + variant * 5, index = s->below ? at * 7919 % s->below : 0;
        if (s->dtype.code == GPUC_DTYPE_FLOAT)
            ((float *)data)[i] = (float)(at * step % period - period / 2) / 16;
        else if (s->dtype.bits == 8)
            ((uint8_t *)data)[i] = (uint8_t)(at * 7919 >> 3);
        else if (s->dtype.bits == 32)
            ((int32_t *)data)[i] = (int32_t)index;
        else
            ((int64_t *)data)[i] = index;
    }
}
