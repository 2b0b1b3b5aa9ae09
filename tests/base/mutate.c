/* SPDX-License-Identifier: Apache-2.0 */
/* mutate DIR [COUNT [SEED [FOLDER]]]: gives the fuzz target that it is linked with COUNT inputs: each is a
 * file of DIR with one to six mistakes, which its number SEED, SEED + 1, ... decides. A process of its own
 * runs them, so that one that crashes it, or does not end, is told; then mistakes are left out for as long as
 * the rest still fails, and the input is written to FOLDER (default: the working folder). */
#include "mutate.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

enum { MAX_FILES = 4096, MAX_MISTAKES = 6, SECONDS = 60, ROOM = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gpuc_mapping files[MAX_FILES];
static int num_files;

uint64_t mutate_number(uint64_t *state, uint64_t old)
{
    uint64_t small = mutate_below(state, 17);
    switch (mutate_below(state, 6)) {
    case 0: return old + small - 8;
    case 1: return small;
    case 2: return (uint64_t)1 << mutate_below(state, 64);
    case 3: return ((uint64_t)1 << mutate_below(state, 64)) - 1;
    case 4: return 0 - small;
    default: return mutate_random(state);
    }
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static bool read_folder(const char *folder)
{
    static char *names[MAX_FILES];
    DIR *dir = opendir(folder);
    int n = 0;
    if (!dir) return false;
    for (const struct dirent *e; n < MAX_FILES && (e = readdir(dir));) {
        size_t size = strlen(folder) + strlen(e->d_name) + 2;
        if (e->d_name[0] == '.' || !(names[n] = malloc(size))) continue;
        snprintf(names[n++], size, "%s/%s", folder, e->d_name);
    }
    closedir(dir);
    qsort(names, (size_t)n, sizeof *names, by_name); /* so that a seed means the same everywhere */
    for (int i = 0; i < n; i++) {
        gpuc_status status = gpuc_file_map(names[i], &files[num_files]);
        num_files += !status && files[num_files].size > 0;
        gpuc_status_release(status);
        free(names[i]);
    }
    return num_files > 0;
}

/* The input of a seed with those mistakes whose bits are set. */
static uint8_t *make(uint64_t seed, unsigned mistakes, size_t *size)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 4; i++) mutate_random(&state);
    const gpuc_mapping *file = &files[mutate_below(&state, (size_t)num_files)];
    size_t count = 1 + mutate_below(&state, MAX_MISTAKES), room = file->size + ROOM;
    uint8_t *data = malloc(room);
    if (!data) abort();
    memcpy(data, file->data, *size = file->size);
    for (size_t i = 0; i < count; i++) {
        uint64_t own = mutate_random(&state) | 1;
        if (mistakes >> i & 1) *size = mutate_once(data, *size, room, &own);
    }
    return data;
}

static void run(uint64_t seed, unsigned mistakes)
{
    size_t size;
    uint8_t *data = make(seed, mistakes, &size);
    alarm(SECONDS);
    LLVMFuzzerTestOneInput(data, size);
    alarm(0);
    free(data);
}

/* Runs seeds from *at to end in a process of its own, which moves *at on. */
static bool run_apart(volatile uint64_t *at, uint64_t end, unsigned mistakes, bool quiet)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        if (quiet && (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))) abort();
        for (; *at < end; ++*at) run(*at, mistakes);
        exit(0); /* with LeakSanitizer's last look */
    }
    while (waitpid(child, &status, 0) < 0) {
    }
    return status == 0;
}

static void shrink(uint64_t seed, volatile uint64_t *at, const char *folder)
{
    unsigned mistakes = (1u << MAX_MISTAKES) - 1;
    for (int i = MAX_MISTAKES - 1; i >= 0; i--) {
        *at = seed;
        if (!run_apart(at, seed + 1, mistakes & ~(1u << i), true)) mistakes &= ~(1u << i);
    }
    size_t size;
    char path[4096];
    uint8_t *data = make(seed, mistakes, &size);
    snprintf(path, sizeof path, "%s/input-%llu", folder, (unsigned long long)seed);
    FILE *f = fopen(path, "wb");
    bool written = f && fwrite(data, 1, size, f) == size;
    if (f && fclose(f)) written = false;
    printf("%s: %zu bytes, %s\n", path, size, written ? "the smallest that fails" : "cannot be written");
    free(data);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000,
             seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    int failed = 0;
    if (argc < 2 || argc > 5 || !read_folder(argv[1])) {
        fprintf(stderr, "usage: mutate DIR [COUNT [SEED [FOLDER]]], with files in DIR\n");
        return 2;
    }
    uint64_t *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 2;
    *at = seed;
    while (*at < seed + count) {
        uint64_t first = *at;
        if (run_apart(at, seed + count, ~0u, false)) continue;
        uint64_t bad = *at;
        failed++;
        if (bad >= seed + count) { /* a leak, of any of them */
            printf("FAILED: something between %llu and %llu leaks\n", (unsigned long long)first,
                   (unsigned long long)bad - 1);
            break;
        }
        printf("FAILED: again: mutate %s 1 %llu\n", argv[1], (unsigned long long)bad);
        shrink(bad, at, argc > 4 ? argv[4] : ".");
        *at = bad + 1;
    }
    printf("cases: %llu (inputs made of %d files, %d failed)\n", (unsigned long long)count, num_files,
           failed);
    return failed > 0;
}
