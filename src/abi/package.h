/* SPDX-License-Identifier: Apache-2.0 */
/* The package file (model.gpuc), of a network or a library. Little-endian, meant for mmap.
 *
 *   header   magic "gpuc\r\n\x1a\n" (8 bytes), u32 version, u32 section count, u64 file size,
 *            u64 XXH64 of the section table
 *   table    per section: u32 type, u32 flags, u32 program (GPUC_NO_INDEX: of the package),
 *            u32 index (of the module), u64 offset, u64 size, u64 XXH64 of the bytes
 *   sections in the order of the table at multiples of 64, weights at multiples of 4096, as close as
 *   that allows, zeros between
 *
 * Unknown sections are skipped unless flagged required. */
#ifndef GPUC_ABI_PACKAGE_H
#define GPUC_ABI_PACKAGE_H

#include <gpuc/files.h>
#include <gpuc/runtime.h>

#include "abi/entry.h"
#include "abi/exec.h"
#include "base/buf.h"

#define GPUC_PACKAGE_VERSION 5
#define GPUC_SECTION_REQUIRED 1u

typedef enum gpuc_section_type {
    GPUC_SECTION_MANIFEST = 1, /* gpuc version, number of programs, their targets and needs */
    GPUC_SECTION_SIGNATURE,    /* of a network: input and output names, dtypes, dims (names of symbols) */
    GPUC_SECTION_EXEC,         /* per program of a network: gpuc_exec */
    GPUC_SECTION_KERNELS,      /* per program: kernel metadata */
    GPUC_SECTION_MODULE,       /* per program and index: type key, code bytes */
    GPUC_SECTION_WEIGHTS,      /* raw bytes; programs with the same layout share one */
    GPUC_SECTION_PROVENANCE,   /* text: model name and hash, passes, options. Optional. */
    GPUC_SECTION_ENTRIES,      /* per program of a library: gpuc_entry */
    GPUC_SECTION_IMAGES        /* of a network: which inputs and outputs are images. Optional. */
} gpuc_section_type;

typedef struct gpuc_signature_tensor {
    const char *name;
    gpuc_dtype dtype;
    uint32_t ndim;
    const int64_t *dims;          /* -1 for a symbolic one */
    const char *const *dim_names; /* "" where fixed */
    const void *value;            /* of an input that has a default: its bytes; else NULL */
    const int64_t *value_dims;    /* which fit dims */
    uint64_t value_bytes;
    gpuc_image_format image;
} gpuc_signature_tensor;

typedef struct gpuc_signature {
    uint32_t num_inputs, num_outputs;
    const gpuc_signature_tensor *inputs, *outputs;
} gpuc_signature;

gpuc_tensor_info gpuc_abi_signature_info(const gpuc_signature_tensor *t);

typedef struct gpuc_module_blob {
    const char *type_key; /* "spirv", "opencl_c", "cpu_so" */
    const void *bytes;
    size_t size;
} gpuc_module_blob;

/* What a program asks of a device, checked at load with a message that names the item. */
typedef struct gpuc_requirement {
    const char *name; /* a target attribute: "max_threads_per_block", "float16", ... */
    int64_t at_least;
} gpuc_requirement;

typedef struct gpuc_program {
    const char *target;   /* full string */
    uint32_t device_type; /* gpuc_device_type */
    uint32_t num_requirements, num_kernels, num_modules;
    const gpuc_requirement *requirements;
    const gpuc_kernel *kernels;
    const gpuc_module_blob *modules;
    gpuc_exec exec;       /* of a network; zeros in a library */
    uint32_t num_entries; /* of a library, unique names; 0 in a network */
    const gpuc_entry *entries;
    const void *weights; /* in the mapped file, or in memory */
    /* For writing, instead of weights: the bytes of each of exec's weights. They stand in the order of their
     * offsets, but for those that are the same as an earlier one. What is between is zero. */
    const void *const *weight_data;
    uint64_t weights_size;
} gpuc_program;

/* A network, or a library of entries. */
typedef struct gpuc_package {
    const char *gpuc_version;
    bool is_library;
    gpuc_signature signature; /* of a network */
    uint32_t num_programs;
    const gpuc_program *programs;
    const char *provenance; /* "" if there is none */
} gpuc_package;

/* One row per section, for inspect. */
typedef struct gpuc_section_info {
    uint32_t type, flags, program, index;
    uint64_t offset, size, checksum;
} gpuc_section_info;

/* Writes the whole file (through gpuc_file_writer). Equal packages give equal bytes. Programs
 * whose weights are byte-identical share one section. */
GPUC_NODISCARD gpuc_status gpuc_abi_package_write(gpuc_pending *pending, gpuc_allocator a,
                                                  const gpuc_package *p, const char *path);
/* The weights of a program alone, as the package has them. */
GPUC_NODISCARD gpuc_status gpuc_abi_program_write_weights(const gpuc_program *p, gpuc_file_writer *file);
/* The same bytes, appended to a buffer, which must be empty to be read. */
GPUC_NODISCARD gpuc_status gpuc_abi_package_append(const gpuc_package *p, gpuc_buf *out);
/* Opens bytes that stay valid while the package is used, which points into them; they must start at a
 * multiple of 16. Everything but the weights is
 * checksummed and verified; check_weights does those too. All memory comes from the arena.
 * Errors name the section. */
GPUC_NODISCARD gpuc_status gpuc_abi_package_read(const void *bytes, size_t size, bool check_weights,
                                                 gpuc_arena *arena, gpuc_package *out,
                                                 const gpuc_section_info **out_sections,
                                                 uint32_t *out_num_sections);
const char *gpuc_abi_section_type_name(uint32_t type);

#endif
