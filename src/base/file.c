/* SPDX-License-Identifier: Apache-2.0 */
/* Maps files, writes them and makes folders, with messages that name the path. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

gpuc_status gpuc_file_error(int err, const char *what, const char *path)
{
    char text[128];
    const char *reason = strerror_r(err, text, sizeof text);
    gpuc_code code = err == ENOENT ? GPUC_NOT_FOUND : err == ENOMEM ? GPUC_OUT_OF_MEMORY : GPUC_IO;
    return gpuc_fail(code, "%s '%s': %s", what, path, reason);
}

void gpuc_file_open_standard(void)
{
    int fd;
    do fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

gpuc_status gpuc_file_map_open(int fd, const char *path, gpuc_mapping *out)
{
    struct stat st;
    *out = (gpuc_mapping){0};
    if (fstat(fd, &st) != 0) return gpuc_file_error(errno, "cannot read", path);
    if (S_ISDIR(st.st_mode)) return gpuc_fail(GPUC_IO, "cannot read '%s': it is a directory", path);
    if (!S_ISREG(st.st_mode)) return gpuc_fail(GPUC_IO, "cannot read '%s': it is not a regular file", path);
    if (st.st_size == 0) {
        out->data = (const uint8_t *)"";
        return NULL;
    }
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return gpuc_fail(GPUC_IO, "cannot read '%s': %jd bytes exceed the address space", path,
                         (intmax_t)st.st_size);
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return gpuc_file_error(errno, "cannot map", path);
    out->data = data;
    out->size = (size_t)st.st_size;
    return NULL;
}

gpuc_status gpuc_file_map(const char *path, gpuc_mapping *out)
{
    *out = (gpuc_mapping){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (fd < 0) return gpuc_file_error(errno, "cannot open", path);
    gpuc_status status = gpuc_file_map_open(fd, path, out);
    close(fd);
    return status;
}

void gpuc_file_unmap(gpuc_mapping *mapping)
{
    if (mapping->size > 0) munmap((void *)mapping->data, mapping->size);
    *mapping = (gpuc_mapping){0};
}

void gpuc_file_forget(const void *bytes, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)bytes + page - 1) / page * page,
              end = ((uintptr_t)bytes + size) / page * page;
    if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}

gpuc_status gpuc_file_put(gpuc_pending *pending, const char *path, const void *data, size_t size)
{
    gpuc_file_writer *w;
    GPUC_TRY(gpuc_file_create(pending, (gpuc_allocator){0}, path, &w));
    gpuc_status status = gpuc_file_write(w, data, size);
    if (status) {
        gpuc_file_abandon(w);
        return status;
    }
    return gpuc_file_commit(w);
}

static gpuc_status make_one_dir(const char *path)
{
    if (mkdir(path, 0777) == 0) return NULL;
    int err = errno;
    struct stat st;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) return NULL;
        return gpuc_fail(GPUC_IO, "cannot make the directory '%s': it exists and is not a directory", path);
    }
    return gpuc_file_error(err, "cannot make the directory", path);
}

gpuc_status gpuc_dir_make(const char *path)
{
    if (!*path) return gpuc_fail(GPUC_INVALID_ARGUMENT, "cannot make a directory: its name is empty");
    char *part = strdup(path);
    if (!part) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the path '%s'", path);
    gpuc_status status = NULL;
    for (char *p = part + 1; !status && *p; p++) {
        if (*p != '/' || p[-1] == '/') continue;
        *p = 0;
        status = make_one_dir(part);
        *p = '/';
    }
    if (!status) status = make_one_dir(part);
    free(part);
    return status;
}
