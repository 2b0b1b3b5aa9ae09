/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a zip archive, at the end of its file. Nothing is unpacked here. */
#ifndef GPUC_TENSOR_FILES_ZIP_H
#define GPUC_TENSOR_FILES_ZIP_H

#include <gpuc/base.h>

typedef struct zip_member {
    char *name;          /* from malloc */
    uint64_t offset;     /* of its local header */
    const uint8_t *data; /* packed bytes, in the archive */
    uint64_t packed, size;
    uint32_t crc;
    uint16_t flags, method;
} zip_member;

typedef struct zip_archive {
    const char *path; /* for messages */
    const uint8_t *data;
    size_t size;
    zip_member *members; /* in the directory's order; from malloc */
    size_t count;
} zip_archive;

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

/* Reads the directory. Afterwards names are unique and hold no 0 byte; members lie inside of the archive and
 * do not overlap; none is encrypted, and each is stored or deflated, to a size that is possible. The bytes
 * and the path are borrowed. Free it in any case. */
GPUC_NODISCARD gpuc_status gpuc_npz_zip_open(const void *bytes, size_t size, const char *path,
                                             zip_archive *out);
void gpuc_npz_zip_close(zip_archive *a);

#endif
