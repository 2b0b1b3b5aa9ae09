/* SPDX-License-Identifier: Apache-2.0 */
/* What -mcpu=native of c, and -native of opencl, mean on this machine. */
#include <sched.h>
#include <stdio.h>

#if defined(__linux__) && (defined(__arm__) || defined(__aarch64__))
#include <sys/auxv.h>
#endif

#include "target/private.h"

typedef struct simd {
    int bits, registers;
} simd;

static simd host_simd(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return (simd){512, 32};
    if (__builtin_cpu_supports("avx2")) return (simd){256, 16};
    if (__builtin_cpu_supports("sse2")) return (simd){128, sizeof(void *) == 8 ? 16 : 8};
    return (simd){0, 8};
#elif defined(__aarch64__)
    return (simd){128, 32};
#elif defined(__arm__) && defined(__linux__)
    return getauxval(AT_HWCAP) & HWCAP_ARM_NEON ? (simd){128, 16} : (simd){0, 16};
#else
    return (simd){0, 16};
#endif
}

static int host_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
    return 1;
}

/* What a file of the kernel says of a cache of the first CPU: its size in KiB, its level; 0: there is none. sysconf counts
 * a cache once for each thread on some processors. */
static int64_t cache_entry(int index, const char *name)
{
    char path[80];
    long long value = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%lld", &value) != 1 || value < 0 || value >= INT32_MAX) value = 0;
    fclose(f);
    return value;
}

/* Bytes of the largest cache of these levels. */
static int64_t host_cache(int first, int last)
{
    int64_t max = 0;
    for (int index = 0; index < 8; index++) {
        int64_t size = cache_entry(index, "size") * 1024, level = cache_entry(index, "level");
        if (level >= first && level <= last && size > max) max = size;
    }
    return max;
}

int64_t gpuc_target_host_cache(void)
{
    return host_cache(1, 4);
}

/* The second level, if there is one behind it: the last one serves all cores. */
static int64_t host_core_cache(void)
{
    return host_cache(3, 4) ? host_cache(2, 2) : 0;
}

void gpuc_target_fill_native(gpuc_target_draft *d)
{
    simd s = host_simd();
    gpuc_target_derive(d, GPUC_TARGET_ATTR_vector_bits, s.bits);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_vector_registers, s.registers);
    if (d->t.simd_lanes && s.bits) gpuc_target_derive(d, GPUC_TARGET_ATTR_simd_lanes, s.bits / 32);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_num_cores, host_cores());
    gpuc_target_derive(d, GPUC_TARGET_ATTR_core_cache, host_core_cache());
    gpuc_target_derive(d, GPUC_TARGET_ATTR_last_level_cache, gpuc_target_host_cache());
}

/* Work-items run one by one on the lanes: of 8, where the machine does not tell. */
gpuc_status gpuc_target_opencl_canonicalise(gpuc_target_draft *d)
{
    if (!gpuc_target_get_bool(&d->t, "native")) return NULL;
    gpuc_target_derive(d, GPUC_TARGET_ATTR_simd_lanes, 8);
    gpuc_target_fill_native(d);
    return NULL;
}
