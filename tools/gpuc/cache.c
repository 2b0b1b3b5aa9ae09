/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines and program binaries in $XDG_CACHE_HOME/gpuc or ~/.cache/gpuc. If the folder cannot be read or
 * written, nothing is cached, and the next start is slower. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli.h"

#define ENOUGH_BYTES (16 << 20) /* of free space for what drivers and we keep */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of all programs, or NULL where the user has none. The caller frees it. */
static char *user_folder(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/') return cli_printf("%s", xdg);
    /* A home that does not exist is not made. */
    return home && home[0] == '/' && is_folder(home) ? cli_printf("%s/.cache", home) : NULL;
}

static char *cache_folder(void)
{
    char *user = user_folder(), *folder = user ? cli_printf("%s/gpuc", user) : NULL;
    free(user);
    return folder;
}

static bool has_room(const char *folder)
{
    struct statvfs fs;
    if (access(folder, W_OK | X_OK) || statvfs(folder, &fs)) return false;
    return fs.f_blocks == 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= ENOUGH_BYTES;
}

static bool is_usable(const char *folder)
{
    gpuc_status status = gpuc_dir_make(folder);
    bool made = !status;
    gpuc_status_release(status);
    return made && has_room(folder);
}

/* Nobody else may have made it, or may write there. */
static bool is_own(const char *folder)
{
    struct stat st;
    if (mkdir(folder, 0700) && errno != EEXIST) return false;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

void cli_cache_prepare(void)
{
    char *folder = user_folder();
    bool usable = folder && is_usable(folder);
    free(folder);
    if (usable) return;
    const char *base = getenv("TMPDIR");
    folder = cli_printf("%s/gpuc-cache-%u", base && base[0] == '/' ? base : "/tmp", (unsigned)geteuid());
    if (is_own(folder) && has_room(folder))
        setenv("XDG_CACHE_HOME", folder, 1);
    else
        setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
    free(folder);
}

static bool is_file_name(const char *key)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strlen(key);
    return n > 0 && n < 200 && key[0] != '.' && strspn(key, good) == n;
}

/* FNV-1a. */
static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        h = (h ^ *c) * UINT64_C(0x100000001b3);
    return h;
}

/* Backends check what they load, so that two keys in one file would only cost time. */
static char *path_of(const char *folder, const char *key)
{
    if (is_file_name(key)) return cli_printf("%s/%s", folder, key);
    return cli_printf("%s/key-%016llx", folder, (unsigned long long)hash(key));
}

bool cli_cache_load(void *user, const char *key, const void **bytes, size_t *size)
{
    static _Thread_local gpuc_mapping last;
    char *folder = cache_folder(), *path = folder ? path_of(folder, key) : NULL;
    (void)user;
    gpuc_file_unmap(&last);
    last = (gpuc_mapping){0};
    gpuc_status status = path ? gpuc_file_map(path, &last) : NULL;
    free(path);
    free(folder);
    if (status) {
        gpuc_status_release(status);
        return false;
    }
    *bytes = last.data;
    *size = last.size;
    return last.data != NULL;
}

void cli_cache_store(void *user, const char *key, const void *bytes, size_t size)
{
    char *folder = cache_folder(), *path = folder ? path_of(folder, key) : NULL;
    (void)user;
    gpuc_status status = path ? gpuc_dir_make(folder) : NULL;
    if (path && !status) status = gpuc_file_put(cli_pending, path, bytes, size);
    gpuc_status_release(status);
    free(path);
    free(folder);
}
