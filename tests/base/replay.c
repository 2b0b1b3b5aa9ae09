/* SPDX-License-Identifier: Apache-2.0 */
/* replay DIR: gives each file of the folder to the fuzz target that it is linked with, in any build. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run(const char *path)
{
    gpuc_mapping file;
    gpuc_status status = gpuc_file_map(path, &file);
    if (status) {
        fprintf(stderr, "%s\n", gpuc_status_message(status));
        gpuc_status_release(status);
        return 1;
    }
    printf("%s\n", path); /* which one, should it crash */
    fflush(stdout);
    LLVMFuzzerTestOneInput(file.data, file.size);
    gpuc_file_unmap(&file);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    int count = 0, failed = 0;
    if (!dir) {
        fprintf(stderr, "usage: replay DIR\n");
        return 2;
    }
    for (const struct dirent *e; (e = readdir(dir));) {
        char path[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        failed += run(path);
        count++;
    }
    closedir(dir);
    printf("cases: %d (inputs)\n", count);
    return failed || count == 0;
}
