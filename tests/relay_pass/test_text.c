/* SPDX-License-Identifier: Apache-2.0 */
/* Every .rly file of this folder: programs, the passes that run on them, and what must come out. Each program is run by the
 * interpreter before and after, on random inputs. A file holds cases, each from a line that begins with RUN on:
 *
 *     // RUN fold_constant,NAME(option=1) for c        (no "for": without a target)
 *     // WITH n=5 any=2 tolerance=0.01                 (sizes of names and of `?`, 3 without; how far values may be off)
 *     def @main(...) { ... }
 *     // EXPECT
 *     def @main(...) { ... }                           (or: // ERROR part of the message)
 *
 * test_relay_text FOLDER [--update] [NAME]: with --update the expected text is replaced by what came out. */
#include <dirent.h>
#include <math.h>

#include <gpuc/relay_pass.h>

#include "../relay/fixture.h"
#include "target/target.h"

enum { PRINT = GPUC_RELAY_PRINT_CONSTANTS };

static bool update;
static int cases;

typedef struct text_case {
    const char *path;
    int line;
    char *passes, *target; /* target NULL: none */
    char *with, *input, *expect, *error;
} text_case;

#define FAIL(t, ...) fail_with((t), gpuc_ctx_printf(ctx, __VA_ARGS__))
static void fail_with(const text_case *t, const char *text)
{
    fail_msg("%s:%d: %s: %s", t->path, t->line, t->passes, text);
}

/* ---- Values ---- */

static int64_t size_of(const text_case *t, gpuc_expr dim)
{
    int64_t n;
    if (gpuc_expr_is_int(dim, &n)) return n;
    const char *name =
        gpuc_relay_is_any_dim(dim) ? "any" : (dim->kind == GPUC_EXPR_VAR ? gpuc_as_var(dim)->name : "?");
    for (const char *at = t->with; at && (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[strlen(name)] == '=') return strtoll(at + strlen(name) + 1, NULL, 10);
    return 3;
}

static double tolerance_of(const text_case *t)
{
    const char *at = t->with ? strstr(t->with, " tolerance=") : NULL;
    return at ? strtod(at + strlen(" tolerance="), NULL) : 1e-5;
}

static gpuc_relay_value *random_value(gpuc_ctx *ctx, const text_case *t, gpuc_relay_interpreter *in,
                                      const gpuc_rtype *type, fx_rng *r)
{
    if (type->kind == GPUC_RTYPE_TUPLE) {
        gpuc_relay_value **fields = gpuc_new_array(ctx, gpuc_relay_value *, type->n + 1);
        for (int i = 0; i < type->n; i++) fields[i] = random_value(ctx, t, in, type->at[i], r);
        gpuc_relay_value *out = gpuc_relay_make_tuple(in, type->n, fields);
        for (int i = 0; i < type->n; i++) gpuc_relay_value_release(fields[i]);
        return out;
    }
    if (type->kind != GPUC_RTYPE_TENSOR)
        FAIL(t, "a parameter of main is %s: tensors, and tuples of them, can be made",
             gpuc_relay_rtype_text(ctx, type));
    int64_t dims[GPUC_OP_MAX_DIMS];
    for (int i = 0; i < type->tensor.ndim; i++) dims[i] = size_of(t, type->tensor.dims[i]);
    const gpuc_rexpr *c = fx_random(ctx, fx_type(ctx, type->tensor.dtype, type->tensor.ndim, dims), r);
    return gpuc_relay_make_tensor(in, type->tensor.dtype, type->tensor.ndim, dims,
                                  gpuc_as_rconstant(c)->data->bytes);
}

static gpuc_relay_value *value_of(gpuc_ctx *ctx, const text_case *t, const gpuc_rmodule *m)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    gpuc_relay_interpreter *in = gpuc_relay_interpreter_create(ctx, m, NULL);
    gpuc_relay_value **args = gpuc_new_array(ctx, gpuc_relay_value *, f->n + 1);
    fx_rng r = {7};
    for (int i = 0; i < f->n; i++) args[i] = random_value(ctx, t, in, f->params[i]->type, &r);
    gpuc_relay_value *out = gpuc_relay_interpret(in, "main", f->n, args);
    for (int i = 0; i < f->n; i++) gpuc_relay_value_release(args[i]);
    return out;
}

static void compare_tensors(gpuc_ctx *ctx, const text_case *t, const gpuc_relay_value *want,
                            const gpuc_relay_value *got)
{
    int ndim = gpuc_relay_value_ndim(want);
    const int64_t *dims = gpuc_relay_value_dims(want);
    bool same = ndim == gpuc_relay_value_ndim(got);
    for (int i = 0; same && i < ndim; i++) same = dims[i] == gpuc_relay_value_dims(got)[i];
    if (!same) FAIL(t, "a value has another shape after the passes");
    const gpuc_rexpr *a =
        gpuc_relay_const_bytes(ctx, gpuc_relay_value_dtype(want), ndim, dims, gpuc_relay_value_data(want));
    const gpuc_rexpr *b =
        gpuc_relay_const_bytes(ctx, gpuc_relay_value_dtype(got), ndim, dims, gpuc_relay_value_data(got));
    for (int64_t i = 0; i < fx_count(a); i++) {
        double x = fx_element(ctx, a, i), y = fx_element(ctx, b, i);
        double allowed = gpuc_is_float(gpuc_relay_value_dtype(want)) ? tolerance_of(t) * (1 + fabs(x)) : 0;
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= allowed))
            FAIL(t, "element %lld is %.9g after the passes, it was %.9g", (long long)i, y, x);
    }
}

static void compare(gpuc_ctx *ctx, const text_case *t, const gpuc_relay_value *want,
                    const gpuc_relay_value *got)
{
    gpuc_relay_value_kind kind = gpuc_relay_value_get_kind(want);
    if (kind != gpuc_relay_value_get_kind(got)) FAIL(t, "the value is of another kind after the passes");
    if (kind == GPUC_RELAY_TENSOR) compare_tensors(ctx, t, want, got);
    if (kind == GPUC_RELAY_DATA &&
        strcmp(gpuc_relay_value_constructor(want), gpuc_relay_value_constructor(got)) != 0)
        FAIL(t, "the value is another constructor after the passes");
    if (kind == GPUC_RELAY_FUNCTION) return;
    if (gpuc_relay_value_num_fields(want) != gpuc_relay_value_num_fields(got))
        FAIL(t, "the value has another number of fields after the passes");
    for (int i = 0; i < gpuc_relay_value_num_fields(want); i++)
        compare(ctx, t, gpuc_relay_value_field(want, i), gpuc_relay_value_field(got, i));
}

/* ---- One case ---- */

typedef struct case_job {
    text_case *t;
    FILE *out; /* with --update */
} case_job;

static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == ' ' || *a == '\n') a++;
        while (*b == ' ' || *b == '\n') b++;
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static void run_case(gpuc_ctx *ctx, void *arg)
{
    case_job *j = arg;
    const text_case *t = j->t;
    const gpuc_target *target = t->target ? gpuc_target_parse(ctx, t->target, NULL) : NULL;
    gpuc_rmodule *m = gpuc_relay_parse(ctx, t->input, t->path, NULL);
    const char *before = gpuc_relay_text(ctx, m, PRINT);
    gpuc_rmodule *after = gpuc_relay_run_passes(ctx, m, target, t->passes);
    const char *text = gpuc_relay_text(ctx, after, PRINT);
    if (t->error) return;
    if (j->out)
        fprintf(j->out, "%s", text);
    else if (!same_text(text, t->expect))
        FAIL(t, "it gives\n%s\nnot\n%s", text, t->expect);
    gpuc_relay_validate(ctx, after, t->passes);
    if (strcmp(before, gpuc_relay_text(ctx, m, PRINT)) != 0) FAIL(t, "the module is not as it was");
    const char *again = gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "printed", NULL), PRINT);
    if (strcmp(text, again) != 0) FAIL(t, "%s\nprints as another text when it was parsed:\n%s", text, again);
    gpuc_relay_value *want = value_of(ctx, t, m), *got = value_of(ctx, t, after);
    compare(ctx, t, want, got);
    gpuc_relay_value_release(want);
    gpuc_relay_value_release(got);
}

static void check_case(text_case *t, FILE *out)
{
    gpuc_ctx *ctx;
    case_job j = {t, out};
    assert_null(gpuc_ctx_create(NULL, &ctx));
    assert_null(gpuc_ctx_set_debug(ctx, "validate"));
    gpuc_status status = gpuc_ctx_protect(ctx, run_case, &j);
    const char *message = status ? gpuc_status_message(status) : "there is none";
    if (t->error && !strstr(message, t->error)) FAIL(t, "expected the error '%s': %s", t->error, message);
    if (!t->error && status) FAIL(t, "%s", message);
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    cases++;
}

/* ---- Files ---- */

/* The rest of the line that begins with these words, cut there; *after: the next line. NULL: there is none. */
static char *cut_line(char *text, const char *words, char **after)
{
    for (char *at = text; at && (at = strstr(at, words)); at++) {
        if (at != text && at[-1] != '\n') continue;
        char *rest = at + strlen(words), *end = rest + strcspn(rest, "\n");
        *after = *end ? end + 1 : end;
        *end = 0;
        if (at != text) at[-1] = 0;
        return rest;
    }
    return NULL;
}

/* Cuts text into the parts of a case. */
static void read_case(text_case *t, char *text)
{
    char *after = text, *rest = cut_line(text, "// RUN ", &after);
    t->passes = rest;
    char *target = strstr(rest, " for ");
    if (target) {
        *target = 0;
        t->target = target + strlen(" for ");
    }
    t->input = after;
    t->with = cut_line(t->input, "// WITH", &after);
    if (t->with) t->input = after;
    if (cut_line(t->input, "// EXPECT", &after))
        t->expect = after;
    else
        t->error = cut_line(t->input, "// ERROR ", &after);
    if (!t->expect && !t->error && !update)
        fail_msg("%s:%d: nothing is expected of %s", t->path, t->line, t->passes);
    if (!t->expect && !t->error) t->input[strlen(t->input) - 1] = 0; /* the newline is written again */
}

static char *next_case(char *text)
{
    char *at = strstr(text, "\n// RUN ");
    return at ? at + 1 : NULL;
}

static void run_file(void **state)
{
    const char *path = *state;
    char *text = fx_read_file(path), *at = strncmp(text, "// RUN ", 7) ? next_case(text) : text;
    FILE *out = update ? fopen(path, "w") : NULL;
    int line = 1;
    if (!at) fail_msg("%s has no line '// RUN passes'", path);
    if (out) fprintf(out, "%.*s", (int)(at - text), text);
    for (char *last = text, *next; at; last = at, at = next) {
        for (const char *c = last; c < at; c++) line += *c == '\n' || !*c;
        text_case t = {.path = path, .line = line};
        next = next_case(at);
        if (next) next[-1] = 0;
        char *copy = strdup(at);
        read_case(&t, copy);
        if (out) {
            fprintf(out, "// RUN %s%s%s\n", t.passes, t.target ? " for " : "", t.target ? t.target : "");
            if (t.with) fprintf(out, "// WITH%s\n", t.with);
            fprintf(out, "%s\n", t.input);
            fprintf(out, t.error ? "// ERROR %s\n" : "// EXPECT\n", t.error);
        }
        check_case(&t, out);
        if (out && next) fputc('\n', out);
        free(copy);
        if (next) next[-1] = '\n';
    }
    if (out) fclose(out);
    free(text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".", *only = NULL;
    static struct CMUnitTest tests[500];
    size_t n = 0;
    for (int i = 2; i < argc; i++) {
        update |= !strcmp(argv[i], "--update");
        if (*argv[i] != '-') only = argv[i];
    }
    DIR *dir = opendir(folder);
    if (!dir) {
        fprintf(stderr, "no folder %s\n", folder);
        return 1;
    }
    for (struct dirent *e; (e = readdir(dir)) && n < 500;) {
        size_t size = strlen(e->d_name);
        if (size < 5 || strcmp(e->d_name + size - 4, ".rly") != 0 || (only && !strstr(e->d_name, only)))
            continue;
        char *path = malloc(strlen(folder) + size + 2);
        sprintf(path, "%s/%s", folder, e->d_name);
        tests[n++] = (struct CMUnitTest){
            .name = path + strlen(folder) + 1, .test_func = run_file, .initial_state = path};
    }
    closedir(dir);
    qsort(tests, n, sizeof *tests, by_name);
    int failed = _cmocka_run_group_tests("relay passes", tests, n, NULL, NULL);
    printf("cases: %d (programs)\n", cases);
    return failed;
}
