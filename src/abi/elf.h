/* SPDX-License-Identifier: Apache-2.0 */
/* Which processor CPU code is for. */
#ifndef GPUC_ABI_ELF_H
#define GPUC_ABI_ELF_H

#include <gpuc/base.h>

/* The processor of a shared object, static: "x86-64"; NULL if it is none. *out_own: this process runs on it. */
const char *gpuc_abi_elf_machine(const void *bytes, size_t size, bool *out_own);
/* Whether bytes look like a shared object for the processor of this process: DEVICE_UNAVAILABLE if they are for another
 * one, else INVALID_DATA. */
GPUC_NODISCARD gpuc_status gpuc_abi_elf_check(const void *bytes, size_t size);

#endif
