/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tests below the folders that are given. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "verify/verify.h"

#define MAX_DEPTH 16 /* of folders; links may form circles */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Names that sort as people count: set_2 before set_10. */
static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static char **list(const char *path, int *count)
{
    char **names = NULL;
    DIR *dir = opendir(path);
    *count = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        names = cli_grow(names, (size_t)*count, sizeof *names);
        names[(*count)++] = cli_printf("%s", e->d_name);
    }
    if (dir) closedir(dir);
    if (names) qsort(names, (size_t)*count, sizeof *names, compare_names);
    return names;
}

static void free_list(char **names, int count)
{
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
}

static char *last_part(const char *path)
{
    char *real = realpath(path, NULL);
    const char *from = real ? real : path, *slash = strrchr(from, '/');
    char *name = cli_printf("%s", slash && slash[1] ? slash + 1 : from);
    free(real);
    return name;
}

/* The number of "<kind>_J.pb" in a list, whose J must be 0, 1, ... without gaps; -1 if they are not. */
static int count_files(char *const *names, int count, const char *kind)
{
    int found = 0, highest = -1;
    size_t n = strlen(kind);
    for (int i = 0; i < count; i++) {
        if (strncmp(names[i], kind, n) != 0 || names[i][n] != '_') continue;
        char *end;
        long j = strtol(names[i] + n + 1, &end, 10);
        if (end == names[i] + n + 1 || strcmp(end, ".pb") != 0) continue;
        found++;
        if (j > highest) highest = (int)j;
    }
    return highest == found - 1 ? found : -1;
}

static void add_set(verify_test *t, const char *name)
{
    verify_set s = {.path = cli_printf("%s/%s", t->path, name), .name = cli_printf("%s", name)};
    int count;
    char **names = list(s.path, &count);
    s.num_inputs = count_files(names, count, "input");
    s.num_outputs = count_files(names, count, "output");
    free_list(names, count);
    if (!t->problem && (s.num_inputs < 0 || s.num_outputs < 0))
        t->problem = cli_printf("%s: the files %s_J.pb are not numbered 0, 1, ... without gaps", name,
                                s.num_inputs < 0 ? "input" : "output");
    if (!t->problem && s.num_outputs == 0) t->problem = cli_printf("%s: there is no output_0.pb", name);
    t->sets = cli_grow(t->sets, (size_t)t->num_sets, sizeof *t->sets);
    t->sets[t->num_sets++] = s;
}

static verify_test *add_test(verify_tests *tests, const char *path)
{
    tests->at = cli_grow(tests->at, (size_t)tests->count, sizeof *tests->at);
    verify_test *t = &tests->at[tests->count++];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    *t = (verify_test){.path = cli_printf("%.*s", (int)n, path), .name = last_part(path)};
    t->model = cli_printf("%s/model.onnx", t->path);
    return t;
}

static bool is_set_name(const char *name)
{
    return strncmp(name, "test_data_set_", 14) == 0;
}

/* True if the folder is a test, which is then added. */
static bool add_if_test(verify_tests *tests, const char *path, char *const *names, int count)
{
    bool model = false, sets = false;
    for (int i = 0; i < count; i++) {
        model = model || strcmp(names[i], "model.onnx") == 0;
        sets = sets || is_set_name(names[i]);
    }
    if (!model && !sets) return false;
    verify_test *t = add_test(tests, path);
    if (!model) t->problem = cli_printf("%s", "there is no model.onnx in the folder");
    if (!sets) t->problem = cli_printf("%s", "there is no data set (test_data_set_0) in the folder");
    for (int i = 0; i < count; i++)
        if (is_set_name(names[i])) add_set(t, names[i]);
    return true;
}

static void find(verify_tests *tests, const char *path, int depth)
{
    int count;
    char **names = list(path, &count);
    if (!add_if_test(tests, path, names, count) && depth < MAX_DEPTH)
        for (int i = 0; i < count; i++) {
            char *inner = cli_printf("%s/%s", path, names[i]);
            if (is_folder(inner)) find(tests, inner, depth + 1);
            free(inner);
        }
    free_list(names, count);
}

void verify_find(const char *path, verify_tests *tests)
{
    int before = tests->count;
    char *trimmed = cli_printf("%s", path);
    for (size_t n = strlen(trimmed); n > 1 && trimmed[n - 1] == '/';) trimmed[--n] = 0;
    if (is_folder(trimmed)) find(tests, trimmed, 0);
    if (tests->count == before) {
        verify_test *t = add_test(tests, trimmed);
        t->problem = !exists(trimmed) ? cli_printf("there is no such folder: %s", strerror(errno))
                     : !is_folder(trimmed)
                         ? cli_printf("%s", "is not a folder; give the one that holds model.onnx")
                         : cli_printf("%s", "no test was found: no folder in it holds model.onnx");
    }
    free(trimmed);
}

void verify_free(verify_tests *tests)
{
    for (int i = 0; i < tests->count; i++) {
        verify_test *t = &tests->at[i];
        for (int k = 0; k < t->num_sets; k++) {
            free(t->sets[k].path);
            free(t->sets[k].name);
        }
        free(t->sets);
        free(t->path);
        free(t->name);
        free(t->model);
        free(t->problem);
    }
    free(tests->at);
    *tests = (verify_tests){0};
}
