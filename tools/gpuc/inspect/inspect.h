/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_CLI_INSPECT_H
#define GPUC_CLI_INSPECT_H

#include "abi/package.h"

typedef struct cli_inspected {
    const char *path;
    size_t file_size;
    bool checked; /* the weights, too */
    gpuc_package package;
    const gpuc_section_info *sections;
    uint32_t num_sections;
} cli_inspected;

void cli_inspect_print(const cli_inspected *p);
void cli_inspect_json(const cli_inspected *p);

/* ---- Shared by the two forms (info.c) ---- */

/* Infix text of an expression over the program's symbols. From cli_alloc. */
char *cli_expr_text(const gpuc_program *p, gpuc_xexpr e);
/* Kernels of a node, comma-separated; "copy" for copies, "" for a reshape. From cli_alloc. */
char *cli_node_kernels(const gpuc_program *p, const gpuc_exec_node *node);
/* The values that live in a slot, comma-separated. From cli_alloc. */
char *cli_slot_values(const gpuc_program *p, uint32_t slot);
/* The first and last step that use a slot; false: none does. */
bool cli_slot_life(const gpuc_program *p, uint32_t slot, uint32_t *first, uint32_t *last);
/* Where a kernel's schedule is from: "{...} from LOG", or "default". From cli_alloc. */
char *cli_kernel_configuration(const gpuc_package *g, uint32_t program, const char *kernel);
/* The provenance without what that tells. From cli_alloc. */
char *cli_provenance(const gpuc_package *g);
const char *cli_slot_kind_name(gpuc_slot_kind kind);
/* Feature names, space-separated. From cli_alloc. */
char *cli_features_text(uint32_t features);

/* The memory that a session needs: arena slots, each at a multiple of 256 as the executor places them. */
typedef struct cli_memory {
    uint32_t arena_slots;
    uint64_t arena_bytes; /* of the slots with fixed sizes */
    uint32_t symbolic;    /* slots whose size depends on the inputs */
} cli_memory;
cli_memory cli_memory_of(const gpuc_program *p);

#endif
