/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction sets this machine's CPU has, by the names of abi/cpu_isa.def. */
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

#include "runtime_cpu/cpu.h"

typedef struct words {
    char *at, *end;
} words;

static void add(words *w, bool has, const char *name)
{
    size_t n = strlen(name) + 1;
    if (!has || (size_t)(w->end - w->at) <= n) return;
    *w->at = ' ';
    memcpy(w->at + 1, name, n);
    w->at += n;
}

#if defined(__x86_64__) || defined(__i386__)
typedef struct registers {
    unsigned eax, ebx, ecx, edx;
} registers;

static registers cpuid(unsigned leaf, unsigned subleaf)
{
    registers r = {0};
    if (subleaf) {
        registers first = cpuid(leaf, 0); /* eax: the last subleaf */
        if (first.eax < subleaf) return r;
    }
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

/* The register sets that the operating system saves, as bits of XCR0. */
static unsigned saved(void)
{
    unsigned low, high;
    if (!(cpuid(1, 0).ecx >> 27 & 1)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void list(words *w)
{
    unsigned state = saved();
#define GPUC_ISA_X86(name, macro, leaf, subleaf, reg, bit, xcr0)                                             \
    add(w, (cpuid(leaf, subleaf).reg >> (bit)&1) && (state & (xcr0)) == (xcr0), #name);
#include "abi/cpu_isa.def"
}
#elif defined(__linux__)
static void list(words *w)
{
#define GPUC_ISA_HWCAP(name, arch, macro, entry, bit)                                                        \
    add(w, strcmp(#arch, own_arch) == 0 && getauxval(entry) >> (bit)&1, #name);
#if defined(__aarch64__)
    static const char own_arch[] = "__aarch64__";
#elif defined(__arm__)
    static const char own_arch[] = "__arm__";
#elif defined(__riscv)
    static const char own_arch[] = "__riscv";
#else
    static const char own_arch[] = "";
#endif
#include "abi/cpu_isa.def"
}
#else
static void list(words *w)
{
    (void)w;
}
#endif

void gpuc_cpu_list_isa(char *out, size_t size)
{
    words w = {out, out + size - 2};
    list(&w);
    *w.at++ = ' ';
    *w.at = 0;
}
