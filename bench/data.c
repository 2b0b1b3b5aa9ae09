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

static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t bits(int n, int variant, int64_t at)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return scramble(((uint64_t)at * 64 + (uint64_t)n * 8 + (uint64_t)variant + 1) * golden);
}

float bench_float(int n, int variant, int64_t at)
{
    return (float)((double)(int64_t)bits(n, variant, at) * 0x1p-63);
}

void bench_fill(const bench_shape *s, int n, int variant, void *data)
{
    int64_t count = bench_count(s);
    for (int64_t i = 0; i < count; i++) {
        uint64_t x = bits(n, variant, i) >> 16, index = s->below ? x % (uint64_t)s->below : 0;
        if (s->dtype.code == GPUC_DTYPE_FLOAT)
            ((float *)data)[i] = bench_float(n, variant, i);
        else if (s->dtype.bits == 8)
            ((uint8_t *)data)[i] = (uint8_t)x;
        else if (s->dtype.bits == 32)
            ((int32_t *)data)[i] = (int32_t)index;
        else
            ((int64_t *)data)[i] = (int64_t)index;
    }
}
