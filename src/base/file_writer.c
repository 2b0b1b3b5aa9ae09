/* SPDX-License-Identifier: Apache-2.0 */
/* The temporary file is named relative to an open directory, so that it is found again after a
 * chdir, and entered in the pending table before it exists, so that no signal can leave it behind. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/pending.h"

#define MAX_WRITE ((size_t)1 << 30) /* Linux writes a little less than 2 GiB at once */

struct gpuc_file_writer {
    gpuc_allocator allocator;
    int dir, fd;
    gpuc_pending_file *pending, own; /* own: there is no table */
    char *path;                      /* as given, for messages */
    char *base;                      /* last part of the real path */
    size_t path_size, base_size;
    bool failed;
};

static void free_writer(gpuc_file_writer *w)
{
    if (w->pending) gpuc_pending_give(&w->pending->entry);
    if (w->fd >= 0) close(w->fd);
    if (w->dir >= 0) close(w->dir);
    gpuc_mem_free(w->allocator, w->path, w->path_size);
    gpuc_mem_free(w->allocator, w->base, w->base_size);
    gpuc_mem_free(w->allocator, w, sizeof *w);
}

static char *copy_text(gpuc_allocator a, const char *text, size_t *out_size)
{
    *out_size = strlen(text) + 1;
    char *copy = gpuc_mem_alloc(a, *out_size);
    return copy ? memcpy(copy, text, *out_size) : NULL;
}

/* Opens the directory of the real path and finds the mode that the new file shall have. */
static gpuc_status open_directory(gpuc_file_writer *w, mode_t *out_mode)
{
    *out_mode = 0;
    struct stat st;
    if (!*w->path) return gpuc_fail(GPUC_INVALID_ARGUMENT, "cannot write a file: its name is empty");
    char *real = realpath(w->path, NULL); /* NULL: it does not exist yet */
    gpuc_status status = NULL;
    const char *path = real ? real : w->path;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            status = gpuc_fail(GPUC_IO, "cannot write '%s': it is a directory", w->path);
        else if (!S_ISREG(st.st_mode))
            status = gpuc_fail(GPUC_IO, "cannot write '%s': it exists and is not a regular file", w->path);
        *out_mode = st.st_mode & 07777;
    } else if (lstat(path, &st) == 0) {
        status = gpuc_fail(GPUC_IO, "cannot write '%s': it is a symbolic link that leads nowhere", w->path);
    }
    if (!status) {
        char *parent = strdup(path);
        char *slash = parent ? strrchr(parent, '/') : NULL;
        const char *base = slash ? path + (slash - parent) + 1 : path;
        if (slash) slash[slash == parent] = 0;
        w->base = copy_text(w->allocator, base, &w->base_size);
        if (!parent || !w->base)
            status = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the path '%s'", w->path);
        else if (!*base)
            status = gpuc_fail(GPUC_IO, "cannot write '%s': it names a directory", w->path);
        else if ((w->dir = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
            status = gpuc_file_error(errno, "cannot write into the directory of", w->path);
        free(parent);
    }
    free(real);
    return status;
}

static gpuc_status open_temporary(gpuc_file_writer *w, gpuc_pending *pending, mode_t mode)
{
    w->pending = gpuc_pending_take_file(pending, &w->own);
    if (!w->pending)
        return gpuc_fail(GPUC_IO, "cannot write '%s': %d files are being written already", w->path,
                         GPUC_MAX_PENDING_FILES);
    w->pending->dir = w->dir;
    for (int tries = 0;; tries++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(w->pending->name, sizeof w->pending->name, ".gpuc-%lx-%lx-%lx.tmp", (long)getpid(),
                 (unsigned long)(uintptr_t)w, (unsigned long)now.tv_nsec);
        gpuc_pending_set(&w->pending->entry, true);
        w->fd = openat(w->dir, w->pending->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd >= 0) break;
        int err = errno;
        gpuc_pending_set(&w->pending->entry, false);
        if (err != EEXIST || tries == 100)
            return gpuc_file_error(err, "cannot create a file beside", w->path);
    }
    if (mode && fchmod(w->fd, mode) != 0) {
        int err = errno;
        unlinkat(w->dir, w->pending->name, 0);
        return gpuc_file_error(err, "cannot keep the mode of", w->path);
    }
    return NULL;
}

gpuc_status gpuc_file_create(gpuc_pending *pending, gpuc_allocator a, const char *path,
                             gpuc_file_writer **out)
{
    *out = NULL;
    gpuc_file_writer *w = gpuc_mem_alloc(a, sizeof *w);
    if (!w) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for writing '%s'", path);
    w->allocator = a;
    w->dir = w->fd = -1;
    w->path = copy_text(a, path, &w->path_size);
    mode_t mode = 0;
    gpuc_status status = w->path ? open_directory(w, &mode)
                                 : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for writing '%s'", path);
    if (!status) status = open_temporary(w, pending, mode);
    if (status)
        free_writer(w);
    else
        *out = w;
    return status;
}

gpuc_status gpuc_file_write(gpuc_file_writer *w, const void *data, size_t size)
{
    if (w->failed) return gpuc_fail(GPUC_IO, "cannot write '%s': an earlier write failed", w->path);
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(w->fd, at, size < MAX_WRITE ? size : MAX_WRITE);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            w->failed = true;
            return gpuc_file_error(n < 0 ? errno : ENOSPC, "cannot write", w->path);
        }
        at += n;
        size -= (size_t)n;
    }
    return NULL;
}

void gpuc_file_abandon(gpuc_file_writer *w)
{
    if (!w) return;
    unlinkat(w->dir, w->pending->name, 0);
    free_writer(w);
}

static gpuc_status sync_and_rename(gpuc_file_writer *w)
{
    if (w->failed) return gpuc_fail(GPUC_IO, "cannot write '%s': an earlier write failed", w->path);
    /* EINVAL, ENOTSUP: the file system has no sync. */
    if (fsync(w->fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        return gpuc_file_error(errno, "cannot write", w->path);
    int fd = w->fd;
    w->fd = -1;
    if (close(fd) != 0 && errno != EINTR) return gpuc_file_error(errno, "cannot write", w->path);
    if (renameat(w->dir, w->pending->name, w->dir, w->base) != 0)
        return gpuc_file_error(errno, "cannot put the written file in the place of", w->path);
    fsync(w->dir); /* the new name; without it the file is whole but may be the old one after a crash */
    return NULL;
}

gpuc_status gpuc_file_commit(gpuc_file_writer *w)
{
    gpuc_status status = sync_and_rename(w);
    if (status)
        gpuc_file_abandon(w);
    else
        free_writer(w);
    return status;
}
