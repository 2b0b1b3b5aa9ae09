/* SPDX-License-Identifier: Apache-2.0 */
/* The outer form of a package file: header, table, sections. Knows no section's inside. */
#ifndef GPUC_ABI_PACKAGE_SECTIONS_H
#define GPUC_ABI_PACKAGE_SECTIONS_H

#include "abi/package.h"
#include "abi/scope.h"

#define GPUC_PACKAGE_MAGIC "gpuc\r\n\x1a\n"
#define GPUC_PACKAGE_HEADER_BYTES 32u
#define GPUC_PACKAGE_ROW_BYTES 40u
#define GPUC_PACKAGE_SECTION_ALIGN 64u

/* Checks the header, the table, that the sections lie in order and apart with zeros between, and
 * the sum of every section but the weights (of those too with check_weights). Afterwards the
 * bytes of each section can be taken. */
GPUC_NODISCARD gpuc_status gpuc_abi_package_read_sections(const void *bytes, size_t size, bool check_weights,
                                                          gpuc_arena *arena, gpuc_section_info **out_sections,
                                                          uint32_t *out_count);
/* "kernels of program 1", "module 0 of program 1", "manifest". */
char *gpuc_abi_section_describe(const gpuc_section_info *s, char out[64]);

#endif
