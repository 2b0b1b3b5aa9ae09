/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read as a mapping, written whole or not at all. Messages name the path and the reason.
 *
 * What a program has on disk only while it works (files that are being written, a C compiler's folder) it can
 * have noted in an object of its own, which a handler of SIGINT tells to remove all of it. Every function that
 * takes such an object takes NULL, too: then nothing is noted. */
#ifndef GPUC_FILES_H
#define GPUC_FILES_H

#include <gpuc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Files and folders that are removed if the process is interrupted. May be used by several threads at once.
 * What a process notes is not removed by one that it forks. */
typedef struct gpuc_pending gpuc_pending;
/* Makes an empty list, which the caller destroys. allocator NULL: the C library's. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_pending_create(const gpuc_allocator *allocator, gpuc_pending **out);
/* Destroys the list. Writers and contexts that use it must end first. NULL is fine. */
GPUC_API void gpuc_pending_destroy(gpuc_pending *p);
/* Removes what is noted now. Async-signal-safe; to be followed by the end of the process. */
GPUC_API void gpuc_pending_discard(gpuc_pending *p);

/* ---- Writing ---- */

/* Writes to a temporary file beside path, syncs, renames. On any failure, or when the process is interrupted
 * (gpuc_pending_discard), nothing is left behind and path is as it was. A path that exists must be a regular
 * file, whose mode is kept; symbolic links are followed. At most 64 such files may be noted at a time. */
typedef struct gpuc_file_writer gpuc_file_writer;
/* Starts a file, which the caller commits or abandons. On failure *out is NULL. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_file_create(gpuc_pending *pending, gpuc_allocator a,
                                                     const char *path, gpuc_file_writer **out);
/* Appends. After a failure neither writing nor commit succeeds. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_file_write(gpuc_file_writer *w, const void *data, size_t size);
GPUC_API GPUC_NODISCARD gpuc_status gpuc_file_commit(gpuc_file_writer *w); /* frees w in any case */
GPUC_API void gpuc_file_abandon(gpuc_file_writer *w);                      /* NULL is fine */
/* Writes a whole file from bytes in memory, in one call. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_file_put(gpuc_pending *pending, const char *path, const void *data,
                                                  size_t size);
/* Makes a directory with its parents; one that exists is fine. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_dir_make(const char *path);

/* ---- Reading ---- */

typedef struct gpuc_mapping {
    const uint8_t *data; /* not NULL, even of an empty file */
    size_t size;         /* bytes */
} gpuc_mapping;
/* Maps a regular file for reading. NOT_FOUND if there is none, else IO. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_file_map(const char *path, gpuc_mapping *out);
GPUC_API void gpuc_file_unmap(gpuc_mapping *mapping); /* zeros are fine; sets the mapping to zeros */

/* ---- For programs ---- */

/* "<what> '<path>': <reason of errno value err>"; ENOENT becomes NOT_FOUND, ENOMEM OUT_OF_MEMORY, the rest IO. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_file_error(int err, const char *what, const char *path);
/* Opens the null device on those of descriptors 0, 1 and 2 that are closed. A program calls it first: a file
 * that it opens later would else become its standard output. */
GPUC_API void gpuc_file_open_standard(void);

#ifdef __cplusplus
}
#endif
#endif
