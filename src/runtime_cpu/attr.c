/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the attributes of the CPU device. */
#include "runtime_cpu/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__aarch64__) || defined(__arm__)
#include <sys/auxv.h>
#endif

/* Processors that this thread may run on, also on machines with more of them than a cpu_set_t holds. */
int gpuc_cpu_online_processors(void)
{
    for (int max = CPU_SETSIZE; max <= 1 << 18; max *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)max);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE((size_t)max);
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0) return n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

#if defined(__x86_64__) || defined(__i386__)
static int vector_bits(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return 512;
    if (__builtin_cpu_supports("avx2")) return 256;
    return __builtin_cpu_supports("sse2") ? 128 : 0;
}
#elif defined(__aarch64__)
static int vector_bits(void)
{
    return 128;
}
#elif defined(__arm__)
static int vector_bits(void)
{
    return getauxval(AT_HWCAP) & HWCAP_ARM_NEON ? 128 : 0;
}
#else
static int vector_bits(void)
{
    return 0;
}
#endif

static bool has_float16(const char *cpuinfo_flags)
{
#if defined(__aarch64__)
    (void)cpuinfo_flags;
    return getauxval(AT_HWCAP) & (1 << 10); /* HWCAP_ASIMDHP */
#else
    return strstr(cpuinfo_flags, " avx512_fp16") != NULL;
#endif
}

/* Value of "key : value" if the line has that key. */
static const char *value_of(char *line, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0) return NULL;
    char *p = line + n + strspn(line + n, " \t");
    if (*p != ':') return NULL;
    p[strcspn(p, "\n")] = 0;
    return p + 1 + strspn(p + 1, " \t");
}

void gpuc_cpu_query(gpuc_cpu_device *dev)
{
    char line[8192], flags[8192] = "";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f) && (!dev->name[0] || !flags[0])) {
        const char *v;
        if (!dev->name[0] && ((v = value_of(line, "model name")) || (v = value_of(line, "cpu model"))))
            snprintf(dev->name, sizeof dev->name, "%s", v);
        else if (!flags[0] && ((v = value_of(line, "flags")) || (v = value_of(line, "Features"))))
            snprintf(flags, sizeof flags, " %s", v);
    }
    if (f) fclose(f);
    if (!dev->name[0]) snprintf(dev->name, sizeof dev->name, "CPU");
    dev->vector_bits = vector_bits();
    gpuc_cpu_list_isa(dev->instruction_sets, sizeof dev->instruction_sets);
    dev->features = GPUC_FEATURE_FLOAT64 | GPUC_FEATURE_INT8 | GPUC_FEATURE_INT16 | GPUC_FEATURE_INT64 |
                    GPUC_FEATURE_STORAGE8 | GPUC_FEATURE_STORAGE16;
    if (has_float16(flags)) dev->features |= GPUC_FEATURE_FLOAT16;
}

/* which: _SC_PHYS_PAGES or _SC_AVPHYS_PAGES */
static int64_t memory_bytes(int which)
{
    long pages = sysconf(which), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

/* kHz, as Linux tells; 0: it does not. */
static int64_t clock_rate(void)
{
    long long khz = 0;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    if (f && fscanf(f, "%lld", &khz) != 1) khz = 0;
    if (f) fclose(f);
    return khz;
}

/* Of the cache that several processors share, or that each has; 0: unknown. */
static int64_t l2_bytes(void)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    return sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
    return 0;
#endif
}

static gpuc_attr_value number(int64_t i)
{
    return (gpuc_attr_value){.known = true, .i = i};
}

/* Unknown where it is not above 0. */
static gpuc_attr_value positive(int64_t i)
{
    return (gpuc_attr_value){.known = i > 0, .i = i > 0 ? i : 0};
}

static gpuc_attr_value text(const char *s)
{
    return (gpuc_attr_value){.known = true, .s = s};
}

/* A kernel is one call: its blocks and threads are loops inside of it. What has no limit is unknown. */
gpuc_status gpuc_cpu_get_attr(gpuc_device *device, gpuc_device_attr attr, gpuc_attr_value *out)
{
    const gpuc_cpu_device *dev = (const gpuc_cpu_device *)device;
    *out = (gpuc_attr_value){0};
    switch (attr) {
    case GPUC_ATTR_EXISTS: *out = number(1); break;
    case GPUC_ATTR_NAME: *out = text(dev->name); break;
    case GPUC_ATTR_DRIVER: *out = text("gpuc cpu " GPUC_VERSION); break;
    case GPUC_ATTR_IS_SOFTWARE: *out = number(1); break;
    case GPUC_ATTR_API_VERSION: *out = text("C"); break;
    case GPUC_ATTR_MAX_THREADS_PER_BLOCK:
    case GPUC_ATTR_MAX_BLOCK_X:
    case GPUC_ATTR_MAX_BLOCK_Y:
    case GPUC_ATTR_MAX_BLOCK_Z:
    case GPUC_ATTR_MAX_GRID_X:
    case GPUC_ATTR_MAX_GRID_Y:
    case GPUC_ATTR_MAX_GRID_Z:
    case GPUC_ATTR_WARP_SIZE: *out = number(1); break;
    case GPUC_ATTR_MAX_SHARED_BYTES: *out = number(0); break;
    case GPUC_ATTR_MULTI_PROCESSOR_COUNT: *out = number(dev->num_threads); break;
    case GPUC_ATTR_TOTAL_GLOBAL_BYTES: *out = positive(memory_bytes(_SC_PHYS_PAGES)); break;
    case GPUC_ATTR_AVAILABLE_GLOBAL_BYTES: *out = positive(memory_bytes(_SC_AVPHYS_PAGES)); break;
    case GPUC_ATTR_L2_CACHE_BYTES: *out = positive(l2_bytes()); break;
    case GPUC_ATTR_MAX_CLOCK_RATE: *out = positive(clock_rate()); break;
    case GPUC_ATTR_BUFFER_ALIGN: *out = number(64); break;
    case GPUC_ATTR_UNIFIED_MEMORY: *out = number(1); break;
    case GPUC_ATTR_FEATURES: *out = number(dev->features); break;
    case GPUC_ATTR_SUBGROUP_SIZE_CONTROL: *out = number(0); break;
    case GPUC_ATTR_VECTOR_BITS: *out = positive(dev->vector_bits); break;
    case GPUC_ATTR_INSTRUCTION_SETS: *out = text(dev->instruction_sets); break;
    case GPUC_ATTR_MAX_ITERATIONS:
    case GPUC_ATTR_MAX_ALLOC_BYTES:
    case GPUC_ATTR_MAX_BUFFER_RANGE:
    case GPUC_ATTR_MAX_STORAGE_BUFFERS:
    case GPUC_ATTR_MAX_PUSH_BYTES:
    case GPUC_ATTR_MAX_TEXELS:
    case GPUC_ATTR_MAX_IMAGE_WIDTH:
    case GPUC_ATTR_MAX_IMAGE_HEIGHT:
    case GPUC_ATTR_COMPUTE_VERSION:
    case GPUC_ATTR_MAX_THREAD_DIMENSIONS:
    case GPUC_ATTR_MAX_REGISTERS:
    case GPUC_ATTR_GCN_ARCH:
    case GPUC_ATTR_COUNT: break;
    }
    return NULL;
}
