/* SPDX-License-Identifier: Apache-2.0 */
/* Places for what is on disk for a while. An owner that has no table to note it in brings a place of its own. */
#ifndef GPUC_BASE_PENDING_H
#define GPUC_BASE_PENDING_H

#include <gpuc/files.h>

#include <stdatomic.h>
#include <sys/types.h>

#define GPUC_TEMPORARY_LENGTH 200 /* of the path of a folder for temporary files, at most */
enum { GPUC_MAX_PENDING_FILES = 64, GPUC_MAX_PENDING_FOLDERS = 16 };

typedef struct gpuc_pending_entry {
    atomic_int state;
    pid_t pid; /* a forked child must not remove what is its parent's */
} gpuc_pending_entry;

typedef struct gpuc_pending_file {
    gpuc_pending_entry entry;
    int dir; /* that the name is relative to */
    char name[48];
} gpuc_pending_file;

typedef struct gpuc_pending_folder {
    gpuc_pending_entry entry;
    char path[GPUC_TEMPORARY_LENGTH + 32];
} gpuc_pending_folder;

/* A free place of the table, own where there is no table, or NULL: all are taken. */
gpuc_pending_file *gpuc_pending_take_file(gpuc_pending *p, gpuc_pending_file *own);
gpuc_pending_folder *gpuc_pending_take_folder(gpuc_pending *p, gpuc_pending_folder *own);
/* From now on it exists, or may exist at any time; or not, but the place stays taken. */
void gpuc_pending_set(gpuc_pending_entry *e, bool exists);
void gpuc_pending_give(gpuc_pending_entry *e);

/* Removes a folder with the files in it and in up to four levels of folders below. Async-signal-safe. */
void gpuc_folder_remove(const char *path);

#endif
