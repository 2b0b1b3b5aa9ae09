/* SPDX-License-Identifier: Apache-2.0 */
/* Package bytes for tests: the sample written and loaded, damage whose checksums are mended, and a
 * walk over everything that a reader gave. */
#ifndef GPUC_TESTS_ABI_PACKAGE_BYTES_H
#define GPUC_TESTS_ABI_PACKAGE_BYTES_H

#include <stdlib.h>
#include <string.h>

#include "abi/package_sections.h"
#include "base/hash.h"

static inline uint64_t get_le(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static inline void put_le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) p[i] = (uint8_t)(v >> (8 * i));
}

/* Makes the checksums (and the size in the header) those of the bytes, as far as the table makes sense,
 * so that damage reaches what lies behind them. */
static inline void mend_checksums(uint8_t *bytes, size_t size)
{
    if (size < GPUC_PACKAGE_HEADER_BYTES) return;
    memcpy(bytes, GPUC_PACKAGE_MAGIC, 8);
    put_le(bytes + 8, GPUC_PACKAGE_VERSION, 4);
    put_le(bytes + 16, size, 8);
    uint64_t count = get_le(bytes + 12, 4), max = (size - GPUC_PACKAGE_HEADER_BYTES) / GPUC_PACKAGE_ROW_BYTES;
    if (count > max) count = max;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *row = bytes + GPUC_PACKAGE_HEADER_BYTES + i * GPUC_PACKAGE_ROW_BYTES;
        uint64_t offset = get_le(row + 16, 8), length = get_le(row + 24, 8);
        if (offset <= size && length <= size - offset)
            put_le(row + 32, gpuc_hash_bytes(bytes + offset, (size_t)length, 0), 8);
    }
    uint64_t table =
        gpuc_hash_bytes(bytes + GPUC_PACKAGE_HEADER_BYTES, (size_t)(count * GPUC_PACKAGE_ROW_BYTES), 0);
    put_le(bytes + 24, table, 8);
}

/* Touches all that an executor would. The sum keeps the compiler from leaving it out. */
static inline uint64_t walk_package(const gpuc_package *p)
{
    uint64_t sum = strlen(p->gpuc_version) + strlen(p->provenance);
    int64_t symbols[64], v;
    for (int i = 0; i < 64; i++) symbols[i] = i + 1;
#define EVAL(e, n)                                                                                           \
    do {                                                                                                     \
        gpuc_status s_ = (n) <= 64 ? gpuc_abi_xexpr_eval((e), symbols, (n), &v) : NULL;                      \
        sum += s_ ? 1 : (uint64_t)v;                                                                         \
        gpuc_status_release(s_);                                                                             \
    } while (0)
    for (uint32_t i = 0; i < p->signature.num_outputs; i++)
        sum += strlen(gpuc_image_format_name(p->signature.outputs[i].image));
    for (uint32_t i = 0; i < p->signature.num_inputs; i++)
        for (uint32_t d = 0; d < p->signature.inputs[i].ndim; d++)
            sum += (uint64_t)p->signature.inputs[i].dims[d] + strlen(p->signature.inputs[i].dim_names[d]);
    for (uint32_t i = 0; i < p->num_programs; i++) {
        const gpuc_program *prog = &p->programs[i];
        const gpuc_exec *e = &prog->exec;
        sum += strlen(prog->target);
        for (uint32_t k = 0; k < prog->num_requirements; k++) sum += strlen(prog->requirements[k].name);
        for (uint32_t m = 0; m < prog->num_modules; m++)
            sum += gpuc_hash_bytes(prog->modules[m].bytes, prog->modules[m].size, 0) +
                   strlen(prog->modules[m].type_key);
        for (uint32_t k = 0; k < prog->num_kernels; k++) {
            const gpuc_kernel *kernel = &prog->kernels[k];
            sum += gpuc_abi_kernel_param_layout(kernel, NULL) + prog->modules[kernel->module].size;
            for (int d = 0; d < 3; d++) EVAL(kernel->launch[d], kernel->num_scalars);
        }
        for (uint32_t x = 0; x < prog->num_entries; x++) {
            const gpuc_entry *entry = &prog->entries[x];
            sum += strlen(entry->name);
            for (uint32_t w = 0; w < entry->num_workspaces; w++)
                EVAL(entry->workspaces[w], entry->num_scalars);
            for (uint32_t a = 0; a < entry->num_arrays; a++)
                for (uint32_t d = 0; d < entry->arrays[a].ndim; d++) {
                    EVAL(entry->arrays[a].dims[d].size, entry->num_scalars);
                    sum += strlen(entry->arrays[a].dims[d].text);
                }
            for (uint32_t s = 0; s < entry->num_steps; s++) {
                const gpuc_kernel *kernel = &prog->kernels[entry->steps[s].kernel];
                for (uint32_t t = 0; t < kernel->num_tensors; t++) sum += entry->steps[s].slots[t];
                for (uint32_t q = 0; q < kernel->num_scalars; q++)
                    sum += strlen(entry->scalars[entry->steps[s].scalars[q]].name);
            }
        }
        for (uint32_t s = 0; s < e->num_slots; s++) EVAL(e->slots[s].size, e->num_symbols);
        for (uint32_t s = 0; s < e->num_values; s++) {
            EVAL(e->values[s].offset, e->num_symbols);
            for (uint32_t d = 0; d < e->values[s].ndim; d++) EVAL(e->values[s].dims[d], e->num_symbols);
            sum += e->slots[e->values[s].slot].index;
        }
        for (uint32_t s = 0; s < e->num_steps; s++) {
            const gpuc_exec_step *step = &e->steps[s];
            if (step->kind == GPUC_STEP_LAUNCH) sum += prog->kernels[step->kernel].module;
            for (uint32_t t = 0; t < step->num_tensors; t++) sum += e->values[step->tensors[t].value].ndim;
            for (uint32_t t = 0; t < step->num_scalars; t++) EVAL(step->scalars[t], e->num_symbols);
        }
        for (uint32_t n = 0; n < e->num_nodes; n++) {
            sum += strlen(e->nodes[n].source);
            for (uint32_t k = 0; k < e->nodes[n].num_inputs + e->nodes[n].num_outputs; k++)
                sum += e->values[e->nodes[n].values[k]].slot;
        }
        for (uint32_t k = 0; k < e->num_asserts; k++) EVAL(e->asserts[k].cond, e->num_symbols);
        for (uint32_t w = 0; w < e->num_weights; w++) {
            const uint8_t *at = (const uint8_t *)prog->weights + e->weights[w].offset;
            sum += e->weights[w].size ? at[0] + at[e->weights[w].size - 1] : 0u;
        }
    }
#undef EVAL
    return sum;
}

#endif
