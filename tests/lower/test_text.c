/* SPDX-License-Identifier: Apache-2.0 */
/* Every .tir file of a folder: comments say which passes run and what must come out, and each function is
 * run before and after, and lowered for each target. In a file:
 *
 *     # RUN storage_flatten,vectorize for opencl
 *     # WITH n=37 I=0..15        (sizes of symbols; ranges of integer data)
 *     func ...
 *     # EXPECT
 *     func ...                   (or: # ERROR part of the message)
 *
 * With --update the expected text is replaced by what came out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>

#include "base/file.h"
#include "../tir/rule_totals.h"
#include "harness.h"

typedef struct text_test {
    const char *path;
    char *text, *input, *with, *expect, *error;
    char passes[512], target[128];
    data_setup setup;
    bool update;
} text_test;

static bool update;
static const char *const targets[] = {
    "c",
    "c -mcpu=native",
    "opencl",
    "opencl/pocl",
    "vulkan -max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024",
    "vulkan/llvmpipe",
    "vulkan -int8=1 -int16=1 -storage8=1 -storage16=1 -float16=1 -int64=1 -float64=1"};

/* ---- Reading --------------------------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    gpuc_mapping m;
    gpuc_status status = gpuc_file_map(path, &m);
    if (status) fail_msg("%s", gpuc_status_message(status));
    char *text = calloc(1, m.size + 1);
    if (m.size) memcpy(text, m.data, m.size);
    gpuc_file_unmap(&m);
    return text;
}

static void read_setup(text_test *t, char *line)
{
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
        char *eq = strchr(word, '=');
        if (!eq || t->setup.n == 16) continue;
        *eq = 0;
        data_range *r = &t->setup.at[t->setup.n++];
        char *end;
        r->name = word;
        r->lo = r->hi = strtoll(eq + 1, &end, 0);
        if (strncmp(end, "..", 2) == 0) r->hi = strtoll(end + 2, NULL, 0);
    }
}

static void parse_file(text_test *t)
{
    t->text = read_text(t->path);
    t->input = strdup(t->text);
    if (sscanf(t->text, "# RUN %511s for %127[^\n]", t->passes, t->target) != 2)
        fail_msg("%s does not begin with '# RUN passes for target'", t->path);
    char *with = strstr(t->text, "\n# WITH "), *expect = strstr(t->input, "\n# EXPECT"),
         *error = strstr(t->input, "\n# ERROR ");
    if (with) {
        t->with = strdup(with + 8);
        t->with[strcspn(t->with, "\n")] = 0;
        read_setup(t, t->with);
    }
    if (expect) {
        *expect = 0;
        t->expect = strchr(expect + 1, '\n');
        t->expect = t->expect ? t->expect + 1 : expect + strlen(expect + 1) + 1;
    }
    if (error) {
        *error = 0;
        t->error = error + 9;
        t->error[strcspn(t->error, "\n")] = 0;
    }
    if (!expect && !error && !update) fail_msg("%s expects nothing", t->path);
}

/* ---- Comparing ------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == ' ' || *a == '\n') a++;
        while (*b == ' ' || *b == '\n') b++;
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static void rewrite(const text_test *t, const char *out)
{
    FILE *f = fopen(t->path, "w");
    if (!f) fail_msg("cannot write %s", t->path);
    fprintf(f, "%s\n# EXPECT\n%s", t->input, out);
    size_t n = strlen(out);
    if (n && out[n - 1] != '\n') fputc('\n', f);
    fclose(f);
}

static void run_text(gpuc_ctx *ctx, void *arg)
{
    const text_test *t = arg;
    gpuc_pass_ctx p = {.ctx = ctx, .target = gpuc_target_parse(ctx, t->target, NULL)};
    gpuc_ptrs funcs = {0};
    char *out = gpuc_ctx_strdup(ctx, "");
    gpuc_lower_run(&p, gpuc_tir_parse(ctx, t->input, t->path), t->passes, &funcs);
    for (size_t i = 0; i < funcs.count; i++)
        out = gpuc_ctx_printf(ctx, "%s%s", out, gpuc_tir_text(ctx, funcs.at[i]));
    if (update && !t->error)
        rewrite(t, out);
    else if (!t->error && !same_text(out, t->expect))
        fail_msg("%s: %s for %s gives\n%s\nnot\n%s", t->path, t->passes, t->target, out, t->expect);
}

/* The named passes alone, where they keep one function. */
static void run_passes(gpuc_ctx *ctx, const text_test *t, const gpuc_tir_func *f, const data_set *before,
                       const data_set *want)
{
    gpuc_pass_ctx p = {.ctx = ctx, .target = gpuc_target_parse(ctx, t->target, NULL)};
    gpuc_ptrs funcs = {0};
    if (strstr(t->passes, "lower") || strstr(t->passes, "split_kernels")) return;
    data_set d = data_copy(ctx, before);
    gpuc_lower_run(&p, f, t->passes, &funcs);
    run_func(ctx, funcs.at[0], &d);
    const char *wrong = data_differs(ctx, want, &d);
    if (wrong) fail_msg("%s: after %s, %s\n%s", t->path, t->passes, wrong, gpuc_tir_text(ctx, funcs.at[0]));
}

typedef struct lower_job {
    const gpuc_tir_func *f;
    const char *target;
    gpuc_tir_program *program;
} lower_job;

static void lower(gpuc_ctx *ctx, void *arg)
{
    lower_job *j = arg;
    j->program = gpuc_lower(ctx, j->f, gpuc_target_parse(ctx, j->target, NULL));
}

static void run_equivalence(gpuc_ctx *ctx, void *arg)
{
    text_test *t = arg;
    t->setup.seed = 1;
    const gpuc_tir_func *f = gpuc_tir_parse(ctx, t->input, t->path);
    if (f->stage > GPUC_TIR_STAGE_FLAT) {
        data_set before = data_make(ctx, f, &t->setup), want = data_copy(ctx, &before);
        run_func(ctx, f, &want);
        run_passes(ctx, t, f, &before, &want);
        return;
    }
    data_set before = data_make(ctx, f, &t->setup), want = data_copy(ctx, &before);
    run_func(ctx, f, &want);
    run_passes(ctx, t, f, &before, &want);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        lower_job j = {.f = f, .target = targets[i]};
        gpuc_status status = gpuc_ctx_protect(ctx, lower, &j);
        if (gpuc_status_code(status) == GPUC_UNSUPPORTED) { /* the target is too small for it */
            print_message("  %s for %s: %s\n", t->path, targets[i], gpuc_status_message(status));
            gpuc_status_release(status);
            continue;
        }
        GPUC_RAISE_IF(ctx, status);
        data_set d = data_copy(ctx, &before);
        run_program(ctx, j.program, &d);
        const char *wrong = data_differs(ctx, &want, &d);
        if (!wrong) continue;
        for (int k = 0; k < j.program->num_kernels; k++)
            print_error("%s", gpuc_tir_text(ctx, j.program->kernels[k]));
        fail_msg("%s: lowered for %s, %s", t->path, targets[i], wrong);
    }
}

static void release_test(text_test *t)
{
    free(t->input);
    free(t->with);
    free(t->text);
}

static rule_totals totals;

static void run_file(void **state)
{
    text_test t = {.path = *state};
    gpuc_ctx *ctx;
    parse_file(&t);
    assert_null(gpuc_ctx_create(NULL, &ctx));
    rule_totals_watch(ctx);
    gpuc_status status = gpuc_ctx_protect(ctx, run_text, &t);
    if (t.error) {
        if (!status || !strstr(gpuc_status_message(status), t.error))
            fail_msg("%s: expected the error '%s', got '%s'", t.path, t.error, gpuc_status_message(status));
        gpuc_status_release(status);
        gpuc_ctx_destroy(ctx);
        release_test(&t);
        return;
    }
    if (!status) status = gpuc_ctx_protect(ctx, run_equivalence, &t);
    if (status)
        fail_msg("%s: %s (%s:%d)", t.path, gpuc_status_message(status), gpuc_status_file(status),
                 gpuc_status_line(status));
    rule_totals_add(&totals, ctx);
    gpuc_ctx_destroy(ctx);
    release_test(&t);
}

static void every_rule_fires(void **state)
{
    (void)state;
    assert_int_equal(rule_totals_print(&totals, "tests/lower"), 0);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int main(int argc, char **argv)
{
    const char *folder = "tests/lower", *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--update") == 0)
            update = true;
        else
            only = argv[i];
    }
    static struct CMUnitTest tests[1000];
    size_t n = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        fprintf(stderr, "no folder %s\n", folder);
        return 1;
    }
    for (struct dirent *e; (e = readdir(dir)) && n < 999;) {
        size_t size = strlen(e->d_name);
        if (size < 5 || strcmp(e->d_name + size - 4, ".tir") != 0 || (only && !strstr(e->d_name, only)))
            continue;
        char *path = malloc(strlen(folder) + size + 2);
        sprintf(path, "%s/%s", folder, e->d_name);
        tests[n++] = (struct CMUnitTest){.name = path, .test_func = run_file, .initial_state = path};
    }
    closedir(dir);
    qsort(tests, n, sizeof *tests, by_name);
    rule_totals_of(&totals, gpuc_lower_simplify_rules());
    if (!only) tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_rule_fires);
    return _cmocka_run_group_tests("lower", tests, n, NULL, NULL);
}
