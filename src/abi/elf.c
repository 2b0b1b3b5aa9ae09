/* SPDX-License-Identifier: Apache-2.0 */
/* Which processor a shared object is for: those of another machine are refused before dlopen sees them. */
#include "abi/elf.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__i386__)
#define OWN_MACHINE EM_386
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__arm__)
#define OWN_MACHINE EM_ARM
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#elif defined(__loongarch__)
#define OWN_MACHINE 258
#endif

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {
        {EM_X86_64, "x86-64"}, {EM_386, "x86"},     {EM_AARCH64, "AArch64"}, {EM_ARM, "ARM"},
        {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"}, {EM_S390, "s390x"},      {258, "LoongArch"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].machine == machine) return names[i].name;
    return NULL;
}

/* Both classes have e_ident, e_type and e_machine at the same places. */
static bool read_head(const void *bytes, size_t size, Elf32_Ehdr *head)
{
    if (size < sizeof *head || memcmp(bytes, ELFMAG, SELFMAG) != 0) return false;
    memcpy(head, bytes, sizeof *head);
    return true;
}

/* Words of 64 bits and of other orders are as much another machine. */
static bool is_own(const Elf32_Ehdr *head)
{
#ifdef OWN_MACHINE
    const int own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const uint16_t one = 1;
    const int own_data = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    return head->e_machine == OWN_MACHINE && head->e_ident[EI_CLASS] == own_class &&
           head->e_ident[EI_DATA] == own_data;
#else
    (void)head;
    return true;
#endif
}

const char *gpuc_abi_elf_machine(const void *bytes, size_t size, bool *out_own)
{
    Elf32_Ehdr head;
    *out_own = false;
    if (!read_head(bytes, size, &head)) return NULL;
    const char *name = machine_name(head.e_machine);
    *out_own = is_own(&head);
    return name ? name : "an unknown processor";
}

gpuc_status gpuc_abi_elf_check(const void *bytes, size_t size)
{
    Elf32_Ehdr head;
    if (!read_head(bytes, size, &head))
        return gpuc_fail(GPUC_INVALID_DATA, "the CPU code is not an ELF shared object");
#ifdef OWN_MACHINE
    if (!is_own(&head)) {
        char number[32];
        const char *name = machine_name(head.e_machine);
        snprintf(number, sizeof number, "ELF machine %u", head.e_machine);
        return gpuc_fail(
            GPUC_DEVICE_UNAVAILABLE,
            "the CPU code is for %s (%s), this processor is %s: build the package on such a machine "
            "or with a cross compiler (-cc=)",
            name ? name : number, head.e_ident[EI_CLASS] == ELFCLASS64 ? "64 bit" : "32 bit",
            machine_name(OWN_MACHINE));
    }
#endif
    if (head.e_type != ET_DYN)
        return gpuc_fail(GPUC_INVALID_DATA, "the CPU code is an ELF file, but not a shared object");
    return NULL;
}
