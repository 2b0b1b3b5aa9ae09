/* SPDX-License-Identifier: Apache-2.0 */
/* A folder belongs to the processes that hold the lock of a file in it: the one that made it, and those that
 * it forked. The kernel lets go of the lock when the last of them ends, however it ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

#define LOCK ".gpuc-lock"
enum { YOUNG = 60 }; /* seconds in which a folder may be without a lock, since it is just being made */

static const char *base_folder(void)
{
    const char *base = getenv("TMPDIR");
    return base && base[0] == '/' ? base : "/tmp";
}

/* The lock goes last, so that a removal that was cut short is gone on with. */
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    if (where->level == 1 && strcmp(path + where->base, LOCK) == 0) return 0;
    if (where->level > 0) return remove(path);
    return 0;
}

void cli_remove_tree(const char *path)
{
    char *lock = cli_printf("%s/" LOCK, path);
    /* A compiler that is being killed may still put a file there. */
    for (int i = 0; i < 50 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0; i++) {
        unlink(lock);
        if (rmdir(path) == 0 || errno == ENOENT) break;
        usleep(10000);
    }
    free(lock);
}

/* ---- Folders that a killed process left ---- */

/* True if nobody holds the lock; then the caller does. */
static bool is_abandoned(int folder, int *lock)
{
    struct stat st;
    *lock = -1;
    if (fstat(folder, &st) != 0 || st.st_uid != geteuid()) return false;
    *lock = openat(folder, LOCK, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*lock < 0) return errno == ENOENT && time(NULL) - st.st_mtime > YOUNG;
    return flock(*lock, LOCK_EX | LOCK_NB) == 0;
}

static void remove_if_abandoned(const char *path)
{
    int lock = -1, folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) return;
    bool abandoned = is_abandoned(folder, &lock);
    if (abandoned && lock >= 0) cli_remove_tree(path);
    if (abandoned && lock < 0) rmdir(path); /* only if it is empty: whose it is cannot be told */
    if (lock >= 0) close(lock);
    close(folder);
}

static void remove_abandoned(const char *base, const char *start)
{
    enum { RANDOM = 6 }; /* letters that mkdtemp chooses */
    size_t n = strlen(start);
    DIR *dir = opendir(base);
    if (!dir) return;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, start, n) != 0 || strlen(e->d_name) != n + RANDOM) continue;
        char *path = cli_printf("%s/%s", base, e->d_name);
        remove_if_abandoned(path);
        free(path);
    }
    closedir(dir);
}

/* ---- Folders of this process ---- */

/* False if another process took the folder for an abandoned one before it was locked. */
static bool take(cli_temporary *t)
{
    struct stat st;
    char *path = cli_printf("%s/" LOCK, t->path);
    t->lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(path);
    if (t->lock < 0) return false;
    while (flock(t->lock, LOCK_EX) != 0 && errno == EINTR) continue;
    if (fstat(t->lock, &st) == 0 && st.st_nlink > 0) return true;
    close(t->lock);
    return false;
}

gpuc_status cli_temporary_make(const char *what, cli_temporary *out)
{
    enum { TIMES = 10 };
    const char *base = base_folder();
    char *start = cli_printf("gpuc-%s-", what);
    remove_abandoned(base, start);
    gpuc_status status = NULL;
    bool taken = false;
    for (int i = 0; i < TIMES && !status; i++) {
        *out = (cli_temporary){.path = cli_printf("%s/%sXXXXXX", base, start), .lock = -1};
        if (!mkdtemp(out->path))
            status = gpuc_file_error(errno, "cannot make a folder", out->path);
        else
            taken = take(out);
        if (taken) break;
        if (!status) rmdir(out->path);
        free(out->path);
    }
    free(start);
    if (!taken) *out = (cli_temporary){.lock = -1};
    if (taken || status) return status;
    return gpuc_fail(GPUC_IO, "cannot make a folder in '%s': %s", base, strerror(errno));
}

void cli_temporary_remove(cli_temporary *t)
{
    if (!t->path) return;
    cli_remove_tree(t->path);
    close(t->lock);
    free(t->path);
    *t = (cli_temporary){.lock = -1};
}
