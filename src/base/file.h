/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read or map whole, write whole or not at all. Messages name the path and the reason. */
#ifndef GPUC_BASE_FILE_H
#define GPUC_BASE_FILE_H

#include <gpuc/base.h>

typedef struct gpuc_mapping {
    const uint8_t *data; /* NULL for an empty file */
    size_t size;
} gpuc_mapping;

/* "<what> '<path>': <reason of errno value err>"; ENOENT becomes GPUC_NOT_FOUND, the rest GPUC_IO. */
GPUC_NODISCARD gpuc_status gpuc_file_error(int err, const char *what, const char *path);

/* Opens the null device on those of descriptors 0, 1 and 2 that are closed. A program calls it first: a file
 * that it opens later would else become its standard output. */
void gpuc_file_open_standard(void);

/* Read-only mapping of a regular file. */
GPUC_NODISCARD gpuc_status gpuc_file_map(const char *path, gpuc_mapping *out);
/* The same of a file that is open; path is for messages. */
GPUC_NODISCARD gpuc_status gpuc_file_map_open(int fd, const char *path, gpuc_mapping *out);
void gpuc_file_unmap(gpuc_mapping *mapping);
/* Bytes of a mapping that are not needed for now: their memory is given back; reading fetches them again. */
void gpuc_file_forget(const void *bytes, size_t size);

/* Writes to a temporary file beside path, syncs, renames. On any failure, or when the process is
 * interrupted (gpuc_file_discard_pending), nothing is left behind and path is as it was. A path that
 * exists must be a regular file, whose mode is kept; symbolic links are followed. */
typedef struct gpuc_file_writer gpuc_file_writer;
GPUC_NODISCARD gpuc_status gpuc_file_create(gpuc_allocator a, const char *path, gpuc_file_writer **out);
GPUC_NODISCARD gpuc_status gpuc_file_write(gpuc_file_writer *w, const void *data, size_t size);
GPUC_NODISCARD gpuc_status gpuc_file_commit(gpuc_file_writer *w); /* frees w in any case */
void gpuc_file_abandon(gpuc_file_writer *w);                      /* NULL is fine */
GPUC_NODISCARD gpuc_status gpuc_file_put(const char *path, const void *data, size_t size);
/* Unlinks the temporary files that are open now; async-signal-safe, for a SIGINT handler. */
void gpuc_file_discard_pending(void);

GPUC_NODISCARD gpuc_status gpuc_dir_make(const char *path); /* with parents; existing is fine */

/* Edit distance for "did you mean"; the best of the names within about a third of the word's length,
 * the first of equals, or NULL. */
const char *gpuc_suggest(const char *word, const char *const *names, size_t count);

#endif
