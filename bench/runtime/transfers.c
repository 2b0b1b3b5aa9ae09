/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the host into an array and back, beside memcpy of as many. An array that the device has finished with, in memory
 * that host and device share, is copied to and from directly; elsewhere staging memory is between. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launches.h"

enum { ROUNDS = 41 };

typedef struct places {
    size_t size;
    uint8_t *host, *other;
    gpuc_ndarray *array;
} places;

static gpuc_status once(const places *p, int way, double *out)
{
    double from = bench_now();
    if (way == 0) memcpy(p->other, p->host, p->size);
    if (way == 1) GPUC_TRY(gpuc_ndarray_write(p->array, p->host, p->size));
    if (way == 2) memcpy(p->host, p->other, p->size);
    if (way == 3) GPUC_TRY(gpuc_ndarray_read(p->array, p->host, p->size));
    *out = bench_now() - from;
    return NULL;
}

static gpuc_status measure(const places *p)
{
    static double seconds[4][ROUNDS];
    double m[4];
    for (int i = -2; i < ROUNDS; i++) /* in turn; the first ones touch the pages */
        for (int way = 0; way < 4; way++) {
            double t, best = 0;
            for (int k = 0; k < (p->size < 1 << 20 ? 20 : 1); k++) {
                GPUC_TRY(once(p, way, &t));
                if (best == 0 || t < best) best = t;
            }
            if (i >= 0) seconds[way][i] = best;
        }
    for (int way = 0; way < 4; way++) m[way] = bench_median(seconds[way], ROUNDS);
    for (int way = 1; way < 4; way += 2)
        printf("  %-10s %8zu KiB %9.3f us (memcpy: %.3f), %.2f of its speed\n",
               way == 1 ? "upload" : "download", p->size >> 10, 1e6 * m[way], 1e6 * m[way - 1],
               m[way - 1] / m[way]);
    return NULL;
}

static gpuc_status of_size(gpuc_runtime *rt, gpuc_device *dev, size_t size)
{
    const int64_t n = (int64_t)size;
    places p = {.size = size, .host = aligned_alloc(4096, size), .other = aligned_alloc(4096, size)};
    gpuc_status status = NULL;
    if (!p.host || !p.other) status = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    if (!status) status = gpuc_ndarray_create(rt, dev, GPUC_UINT8, 1, &n, &p.array);
    if (!status) {
        memset(p.host, 1, size);
        memset(p.other, 2, size);
        status = measure(&p);
    }
    gpuc_ndarray_release(p.array);
    free(p.host);
    free(p.other);
    return status;
}

gpuc_status transfers_of_arrays(gpuc_runtime *rt, gpuc_device *dev)
{
    bool unified = gpuc_device_get_attr(dev, GPUC_ATTR_UNIFIED_MEMORY).i != 0;
    printf(" bytes of the host to an array and back%s\n", unified ? "" : " (not of unified memory)");
    GPUC_TRY(of_size(rt, dev, (size_t)64 << 10));
    return of_size(rt, dev, (size_t)16 << 20);
}
