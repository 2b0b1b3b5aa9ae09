/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines and program binaries in $XDG_CACHE_HOME/gpuc or ~/.cache/gpuc. What cannot be read or
 * written there is only not cached: the next start is slower. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "cli.h"

/* The folder, or NULL where the user has none. The caller frees it. */
static char *cache_folder(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/') return cli_printf("%s/gpuc", xdg);
    return home && home[0] == '/' ? cli_printf("%s/.cache/gpuc", home) : NULL;
}

static bool is_file_name(const char *key)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strlen(key);
    return n > 0 && n < 200 && key[0] != '.' && strspn(key, good) == n;
}

/* Backends check what they load, so that two keys in one file would only cost time. */
static char *path_of(const char *folder, const char *key)
{
    if (is_file_name(key)) return cli_printf("%s/%s", folder, key);
    return cli_printf("%s/key-%016llx", folder, (unsigned long long)gpuc_hash_bytes(key, strlen(key), 0));
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
    if (path && !status) status = gpuc_file_put(path, bytes, size);
    gpuc_status_release(status);
    free(path);
    free(folder);
}
