/* SPDX-License-Identifier: Apache-2.0 */
/* Random Relay programs: test_random_programs [programs [first seed [passes]]]. Each has the types that it was made with, also
 * where it is written without what inference finds; prints as what prints the same; and gives the value that its tree has,
 * interpreted, and after passes over Relay: a fifth of them one by one, and random ones one after the other; or those that are
 * given. One that fails is printed as small as it gets, with the passes. */
#include "random_program.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay_pass/passes.h"

enum { WHOLE = GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_CONSTANTS | GPUC_RELAY_PRINT_TYPES };

typedef struct job {
    rp_program *p;
    const gpuc_rmodule *prelude; /* NULL: each text is parsed with its own */
    const char *text, *bare;     /* of the program */
    const rp_value *value;
    int refused;
    const char *doing;
    bool shows;
} job;

#define FAIL(ctx, ...) gpuc_raise(ctx, GPUC_INTERNAL, __VA_ARGS__)

/* ---- Types of nodes ---- */

typedef struct typed {
    gpuc_ctx *ctx;
    gpuc_map nodes; /* variable of a node -> what it stands for */
    gpuc_map values;
} typed;

static const char *text_of(gpuc_ctx *ctx, const gpuc_rtype *t)
{
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    gpuc_relay_rtype_print(ctx, &out, t);
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

static void check_type(typed *c, const rp_type *want, const gpuc_rexpr *e)
{
    gpuc_buf out;
    if (!e->type) FAIL(c->ctx, "%u:%u has no type", e->span.line, e->span.column);
    gpuc_buf_init(&out, c->ctx->allocator);
    rp_type_text(&out, want);
    const char *is = text_of(c->ctx, e->type), *should = gpuc_ctx_strdup(c->ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    bool more = strstr(is, "fn [") != NULL; /* it is more general */
    if (!more && strcmp(is, should) != 0)
        FAIL(c->ctx, "%u:%u is %s, it was meant to be %s", e->span.line, e->span.column, is, should);
}

static void walk(typed *c, const rp_expr *e, gpuc_rexpr *r);

static void walk_list(typed *c, int n, rp_expr *const *list, int num, gpuc_rexpr *const *at)
{
    for (int i = 0; n == num && i < n; i++) walk(c, list[i], at[i]);
}

static void walk_pattern(typed *c, const rp_pattern *p, const gpuc_rpattern *r)
{
    if (p->var) check_type(c, p->var->type, r->var);
    for (int i = 0; i < p->n; i++) walk_pattern(c, p->at[i], &r->at[i]);
}

static void walk_match(typed *c, const rp_expr *e, const gpuc_rmatch *m)
{
    if (m->n != e->n - 1) FAIL(c->ctx, "a match has %d clauses, it had %d", m->n, e->n - 1);
    walk(c, e->at[0], m->value);
    for (int i = 0; i < m->n; i++) {
        walk_pattern(c, e->patterns[i], m->clauses[i].pattern);
        walk(c, e->at[i + 1], m->clauses[i].body);
    }
}

/* What a node stands for, wherever it is used. */
static void walk_node(typed *c, const rp_var *v, gpuc_rexpr *r)
{
    const gpuc_rexpr *known = gpuc_map_get(&c->nodes, v);
    if (known && known != r) FAIL(c->ctx, "%%%d is two nodes", v->id);
    if (known) return;
    gpuc_map_set(&c->nodes, v, r);
    walk(c, gpuc_map_get(&c->values, v), r);
}

static gpuc_rexpr *below_annotation(const rp_expr *e, gpuc_rexpr *r)
{
    bool wraps = r->kind == GPUC_REXPR_LET && *gpuc_as_rvar(gpuc_as_rlet(r)->var)->name == 'w';
    bool open = e->kind == RP_GLOBAL || e->kind == RP_MAKE || e->kind == RP_MAKER;
    return wraps && open ? gpuc_as_rlet(r)->value : r;
}

/* A field of a tuple that is written there, or that a node stands for, is the field itself; so is a field of that. */
static bool is_written(const rp_expr *e)
{
    while (e->kind == RP_GET) e = e->at[0];
    return e->kind == RP_MAKE_TUPLE || e->kind == RP_LET || e->kind == RP_VAR;
}

static void walk_call(typed *c, const rp_expr *e, gpuc_rexpr *r)
{
    const gpuc_rcall *call = r->kind == GPUC_REXPR_CALL ? gpuc_as_rcall(r) : NULL;
    if (!call) FAIL(c->ctx, "%u:%u is no call", r->span.line, r->span.column);
    if (e->kind == RP_CALL) {
        if (e->at[0]->kind != RP_GLOBAL) walk(c, e->at[0], call->callee);
        walk_list(c, e->n - 1, e->at + 1, call->n, call->args);
    } else {
        walk_list(c, e->n, e->at, call->n, call->args);
    }
}

static void walk_let(typed *c, const rp_expr *e, gpuc_rexpr *r)
{
    if (e->var->node) {
        gpuc_map_set(&c->values, e->var, e->at[0]);
        walk(c, e->at[1], r);
        return;
    }
    if (r->kind != GPUC_REXPR_LET) FAIL(c->ctx, "%u:%u is no let", r->span.line, r->span.column);
    if (!e->var->num_types) check_type(c, e->var->type, gpuc_as_rlet(r)->var);
    walk(c, e->at[0], gpuc_as_rlet(r)->value);
    walk(c, e->at[1], gpuc_as_rlet(r)->body);
}

static void walk(typed *c, const rp_expr *e, gpuc_rexpr *r)
{
    r = below_annotation(e, r);
    if (e->kind == RP_VAR && e->var->node) {
        walk_node(c, e->var, r);
        return;
    }
    bool generic = r->type && r->type->kind == GPUC_RTYPE_FUNC && r->type->num_params;
    if (!generic) check_type(c, e->type, r); /* else it is a function of the program, for all of its uses */
    switch (e->kind) {
    case RP_VAR:
    case RP_SCALAR:
    case RP_CONSTANT:
    case RP_GLOBAL:
    case RP_MAKER: break;
    case RP_OP:
    case RP_CALL:
    case RP_MAKE: walk_call(c, e, r); break;
    case RP_MAKE_TUPLE: walk_list(c, e->n, e->at, gpuc_as_rtuple(r)->n, gpuc_as_rtuple(r)->fields); break;
    case RP_GET:
        if (r->kind == GPUC_REXPR_GET && e->at[0]->type->n == gpuc_as_rget(r)->tuple->type->n &&
            !is_written(e->at[0]))
            walk(c, e->at[0], gpuc_as_rget(r)->tuple);
        break;
    case RP_LET: walk_let(c, e, r); break;
    case RP_LAMBDA:
        for (int i = 0; i < e->num_params; i++)
            check_type(c, e->params[i]->type, gpuc_as_rfunction(r)->params[i]);
        walk(c, e->at[0], gpuc_as_rfunction(r)->body);
        break;
    case RP_IF:
        walk(c, e->at[0], gpuc_as_rif(r)->cond);
        walk(c, e->at[1], gpuc_as_rif(r)->then_branch);
        walk(c, e->at[2], gpuc_as_rif(r)->else_branch);
        break;
    case RP_MATCH: walk_match(c, e, gpuc_as_rmatch(r)); break;
    }
}

static void check_function_types(gpuc_ctx *ctx, const rp_program *p, const gpuc_rmodule *m)
{
    for (int i = 0; i < p->num_functions; i++) {
        const rp_function *f = p->functions[i];
        if (!gpuc_strmap_has(&m->functions, f->name)) continue;
        const char *is = gpuc_rmodule_function_type(ctx, m, f->name), *should = rp_function_type(p, f);
        if (strcmp(is, should) != 0) FAIL(ctx, "@%s is %s, it was meant to be %s", f->name, is, should);
    }
}

static void check_types(gpuc_ctx *ctx, const rp_program *p, const gpuc_rmodule *m)
{
    check_function_types(ctx, p, m);
    for (int i = 0; i < p->num_functions; i++) {
        const rp_function *f = p->functions[i];
        typed c = {.ctx = ctx};
        gpuc_map_init(&c.nodes, ctx);
        gpuc_map_init(&c.values, ctx);
        if (f->body) walk(&c, f->body, gpuc_as_rfunction(gpuc_rmodule_get(m, f->name))->body);
    }
}

/* ---- Values ---- */

static const gpuc_dtype dtypes[] = {[RP_BOOL] = {GPUC_DTYPE_BOOL, 8, 1},
                                    [RP_INT8] = {GPUC_DTYPE_INT, 8, 1},
                                    [RP_INT32] = {GPUC_DTYPE_INT, 32, 1},
                                    [RP_INT64] = {GPUC_DTYPE_INT, 64, 1},
                                    [RP_FLOAT32] = {GPUC_DTYPE_FLOAT, 32, 1}};

static void release(void *v)
{
    gpuc_relay_value_release(v);
}

static gpuc_relay_value *given(gpuc_ctx *ctx, gpuc_relay_interpreter *i, const rp_value *v)
{
    gpuc_relay_value *fields[RP_FIELDS], *out;
    if (v->type) {
        gpuc_dtype t = dtypes[v->type->element];
        int64_t dims[RP_RANK];
        size_t size = gpuc_dtype_bytes(t);
        int n = rp_count(v->type);
        char *bytes = gpuc_new_array(ctx, char, size *(size_t)n);
        for (int k = 0; k < v->type->ndim; k++) dims[k] = v->type->dims[k];
        for (int k = 0; k < n; k++) {
            float f = (float)v->cells[k].f;
            memcpy(bytes + size * (size_t)k, gpuc_is_float(t) ? (void *)&f : (void *)&v->cells[k], size);
        }
        return gpuc_relay_make_tensor(i, t, v->type->ndim, dims, bytes);
    }
    for (int k = 0; k < v->n; k++) {
        fields[k] = given(ctx, i, v->fields[k]);
        gpuc_ctx_push_cleanup(ctx, release, fields[k]);
    }
    out = v->maker ? gpuc_relay_make_data(i, v->maker->name, v->n, fields)
                   : gpuc_relay_make_tuple(i, v->n, fields);
    for (int k = 0; k < v->n; k++) gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}

static void compare_tensors(gpuc_ctx *ctx, const rp_value *want, const gpuc_relay_value *got)
{
    gpuc_dtype t = dtypes[want->type->element];
    bool like = gpuc_relay_value_get_kind(got) == GPUC_RELAY_TENSOR &&
                gpuc_dtype_equal(gpuc_relay_value_dtype(got), t) &&
                gpuc_relay_value_ndim(got) == want->type->ndim;
    for (int i = 0; like && i < want->type->ndim; i++)
        like = gpuc_relay_value_dims(got)[i] == want->type->dims[i];
    if (!like) FAIL(ctx, "the value has another type");
    for (int i = 0; i < rp_count(want->type); i++) {
        const char *at = (const char *)gpuc_relay_value_data(got) + gpuc_dtype_bytes(t) * (size_t)i;
        float f;
        int64_t n = 0;
        memcpy(&f, at, gpuc_is_float(t) ? sizeof f : 1);
        memcpy(&n, at, gpuc_dtype_bytes(t));
        int unused = 64 - 8 * (int)gpuc_dtype_bytes(t);
        if (unused) n = (int64_t)((uint64_t)n << unused) >> unused;
        bool same = gpuc_is_float(t) ? fabs(f - want->cells[i].f) <= 1e-4 * fabs(want->cells[i].f)
                                     : n == want->cells[i].i;
        if (same) continue;
        if (gpuc_is_float(t)) FAIL(ctx, "element %d is %g, should be %g", i, f, want->cells[i].f);
        FAIL(ctx, "element %d is %lld, should be %lld", i, (long long)n, (long long)want->cells[i].i);
    }
}

static void compare(gpuc_ctx *ctx, const rp_value *want, const gpuc_relay_value *got)
{
    if (want->type) {
        compare_tensors(ctx, want, got);
        return;
    }
    bool is_function = want->lambda || want->function || want->is_maker;
    gpuc_relay_value_kind kind = is_function   ? GPUC_RELAY_FUNCTION
                                 : want->maker ? GPUC_RELAY_DATA
                                               : GPUC_RELAY_TUPLE;
    if (gpuc_relay_value_get_kind(got) != kind) FAIL(ctx, "the value is of another kind");
    if (is_function) return;
    if (want->maker && strcmp(want->maker->name, gpuc_relay_value_constructor(got)) != 0)
        FAIL(ctx, "the value is %s, should be %s", gpuc_relay_value_constructor(got), want->maker->name);
    if (gpuc_relay_value_num_fields(got) != want->n) FAIL(ctx, "the value has another number of fields");
    for (int i = 0; i < want->n; i++) compare(ctx, want->fields[i], gpuc_relay_value_field(got, i));
}

typedef struct run_job {
    const job *j;
    gpuc_relay_interpreter *i;
} run_job;

static void run_main(gpuc_ctx *ctx, void *arg)
{
    run_job *r = arg;
    const job *j = r->j;
    gpuc_relay_value *args[RP_PARAMS];
    for (int k = 0; k < j->p->num_args; k++) {
        args[k] = given(ctx, r->i, rp_evaluate(ctx, j->p, j->p->args[k]));
        gpuc_ctx_push_cleanup(ctx, release, args[k]);
    }
    gpuc_relay_value *v = gpuc_relay_interpret(r->i, "main", j->p->num_args, args);
    gpuc_ctx_push_cleanup(ctx, release, v);
    compare(ctx, j->value, v);
    for (int k = 0; k <= j->p->num_args; k++) gpuc_ctx_pop_cleanup(ctx, true);
}

static void check_value(gpuc_ctx *ctx, const job *j, const gpuc_rmodule *m)
{
    gpuc_relay_interpreter_desc desc = GPUC_RELAY_INTERPRETER_DESC_INIT;
    desc.max_bytes = 64 << 20;
    run_job r = {j, gpuc_relay_interpreter_create(ctx, m, &desc)};
    run_main(ctx, &r);
}

/* With little memory, or few calls, it says so, and may be asked again. */
static void check_limits(gpuc_ctx *ctx, const job *j, const gpuc_rmodule *m)
{
    fx_rng random = {j->p->seed};
    gpuc_relay_interpreter_desc desc = GPUC_RELAY_INTERPRETER_DESC_INIT;
    desc.max_bytes = 1 + (uint64_t)fx_below(&random, 20000);
    desc.max_calls = 1 + (uint64_t)fx_below(&random, 6);
    run_job r = {j, gpuc_relay_interpreter_create(ctx, m, &desc)};
    for (int i = 0; i < 2; i++) {
        gpuc_status status = gpuc_ctx_protect(ctx, run_main, &r);
        if (status && gpuc_status_code(status) != GPUC_OUT_OF_MEMORY) GPUC_RAISE_IF(ctx, status);
        gpuc_status_release(status);
    }
}

/* ---- Text ---- */

static gpuc_rmodule *parse(gpuc_ctx *ctx, const job *j, const char *text)
{
    return gpuc_relay_parse(ctx, text, "text", j->prelude);
}

static bool drop_prelude(gpuc_ctx *ctx, const gpuc_strmap *all, const gpuc_strmap *prelude, gpuc_strmap *out)
{
    gpuc_strmap_init(out, ctx);
    for (uint32_t i = 0; i < all->map.count; i++) {
        const gpuc_map_entry *e = &all->map.entries[i];
        const void *known = gpuc_strmap_get(prelude, e->key);
        if (known && known != e->value) return false;
        if (!known) gpuc_strmap_set(out, e->key, e->value);
    }
    return true;
}

/* The program as text, without what it has of the prelude, unless a pass has changed that. */
static const char *print(gpuc_ctx *ctx, const job *j, const gpuc_rmodule *m, bool *whole)
{
    gpuc_rmodule own = *m;
    *whole = !j->prelude || !drop_prelude(ctx, &m->functions, &j->prelude->functions, &own.functions) ||
             !drop_prelude(ctx, &m->adts, &j->prelude->adts, &own.adts);
    return gpuc_relay_text(ctx, *whole ? m : &own, WHOLE);
}

/* Prints as what parses, has the same types, and prints the same. */
static gpuc_rmodule *check_print(gpuc_ctx *ctx, const job *j, const gpuc_rmodule *m)
{
    bool whole;
    job again = *j;
    const char *first = print(ctx, j, m, &whole);
    if (whole) again.prelude = NULL;
    gpuc_rmodule *parsed = parse(ctx, &again, first);
    const char *second = print(ctx, &again, parsed, &whole);
    for (size_t i = 0; first[i] || second[i]; i++)
        if (first[i] != second[i]) {
            size_t from = i > 100 ? i - 100 : 0;
            FAIL(ctx, "it prints another text when it was parsed:\n%.160s\n--- before:\n%.160s",
                 second + from, first + from);
        }
    return parsed;
}

/* ---- Passes ---- */

/* Passes that change values, within their meaning, or types. */
static const char *const others[] = {"fast_math", "to_mixed_precision"};

/* Passes that do little without options. */
static const char *const with_options[] = {
    "inline(all=True)",
    "eta_expand(expand_constructor=True, expand_global_var=True)",
    "split_args(max_function_args=3)",
};

/* All of the table, then the two parts of builds. */
enum { NUM_PASSES = GPUC_RELAY_PASS_ID_COUNT + 2 };

static const char *pass_name(int which)
{
    if (which >= GPUC_RELAY_PASS_ID_COUNT)
        return which == GPUC_RELAY_PASS_ID_COUNT ? "optimize" : "optimize_for_target";
    const char *name = gpuc_relay_pass_table[which].name;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(others[i], name)) return NULL;
    for (size_t i = 0; i < sizeof with_options / sizeof *with_options; i++) {
        size_t n = strlen(name);
        if (!strncmp(with_options[i], name, n) && with_options[i][n] == '(') return with_options[i];
    }
    return name;
}

/* Whether it may refuse what is no graph. */
static bool needs_graph(int which)
{
    return which < GPUC_RELAY_PASS_ID_COUNT ? gpuc_relay_pass_table[which].needs & GPUC_RELAY_PASS_GRAPH
                                            : which > GPUC_RELAY_PASS_ID_COUNT;
}

typedef struct pass_job {
    gpuc_relay_pass_ctx pass;
    const char *name;
} pass_job;

static void run_pass(gpuc_ctx *ctx, void *arg)
{
    pass_job *j = arg;
    (void)ctx;
    gpuc_relay_pass_run_text(&j->pass, j->name);
}

static void check_passes(gpuc_ctx *ctx, job *j, const char *passes, bool may_refuse)
{
    static const char *const targets[] = {"c", "vulkan", "opencl"};
    gpuc_rmodule *m = parse(ctx, j, j->text);
    pass_job run = {.name = passes};
    run.pass = (gpuc_relay_pass_ctx){.ctx = ctx,
                                     .module = m,
                                     .opt_level = (int)(j->p->seed % 4),
                                     .fold_limit = 1 << 20,
                                     .target = gpuc_target_parse(ctx, targets[j->p->seed % 3], NULL)};
    j->doing = run.name;
    gpuc_status status = gpuc_ctx_protect(ctx, run_pass, &run);
    if (status && may_refuse && gpuc_status_code(status) == GPUC_UNSUPPORTED &&
        strstr(gpuc_status_message(status), "graphs only can be built")) {
        gpuc_status_release(status);
        j->refused++;
        return;
    }
    GPUC_RAISE_IF(ctx, status);
    gpuc_relay_validate(ctx, m, run.name);
    check_function_types(ctx, j->p, m);
    check_print(ctx, j, m);
    check_value(ctx, j, m);
}

static void check_pass(gpuc_ctx *ctx, job *j, int which)
{
    const char *name = pass_name(which);
    if (name) check_passes(ctx, j, name, needs_graph(which));
}

/* 2 to 6 passes, one after the other. */
static void check_sequence(gpuc_ctx *ctx, job *j)
{
    fx_rng random = {j->p->seed ^ UINT64_C(0x5eed)};
    const char *passes = "";
    bool may_refuse = false;
    for (int n = 2 + fx_below(&random, 5); n > 0;) {
        int which = fx_below(&random, NUM_PASSES);
        const char *name = pass_name(which);
        if (!name || (needs_graph(which) && fx_below(&random, 4))) continue;
        passes = gpuc_ctx_printf(ctx, "%s%s%s", passes, *passes ? "," : "", name);
        may_refuse |= needs_graph(which);
        n--;
    }
    check_passes(ctx, j, passes, may_refuse);
}

/* ---- A program ---- */

static const char *given_passes; /* NULL: none */

static const char *text_in(gpuc_ctx *ctx, rp_program *p, bool bare)
{
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    rp_text(p, bare, &out);
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

static void check(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    j->doing = "making it";
    j->text = text_in(ctx, j->p, false);
    j->bare = text_in(ctx, j->p, true);
    if (j->shows) printf("%s\n", j->text);
    if (j->p->seed % 8) j->prelude = gpuc_relay_parse(ctx, "import \"prelude.rly\"", "prelude", NULL);
    j->value = rp_run_main(ctx, j->p);
    j->doing = "types";
    gpuc_rmodule *m = parse(ctx, j, j->text);
    check_types(ctx, j->p, m);
    j->doing = "printing";
    gpuc_rmodule *again = check_print(ctx, j, m);
    j->doing = "the interpreter";
    check_value(ctx, j, m);
    check_limits(ctx, j, m);
    check_value(ctx, j, m);
    j->doing = "the interpreter, of what was printed";
    check_value(ctx, j, again);
    j->doing = "types that inference finds";
    gpuc_rmodule *bare = parse(ctx, j, j->bare);
    check_types(ctx, j->p, bare);
    check_print(ctx, j, bare);
    check_value(ctx, j, bare);
    if (given_passes) {
        check_passes(ctx, j, given_passes, true);
        return;
    }
    for (int i = 0; i < NUM_PASSES; i++)
        if (i >= NUM_PASSES - 2 || (uint64_t)i % 5 == j->p->seed % 5) check_pass(ctx, j, i);
    check_sequence(ctx, j);
}

static bool run(rp_program *p, char *message, size_t size, int *refused)
{
    gpuc_ctx *ctx;
    static bool shown;
    job j = {.p = p, .shows = getenv("GPUC_TEST_VERBOSE") && !shown};
    shown = true;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    gpuc_status status = gpuc_ctx_protect(ctx, check, &j);
    if (status)
        snprintf(message, size, "%s: %s (%s:%d)", j.doing, gpuc_status_message(status),
                 gpuc_status_file(status), gpuc_status_line(status));
    bool passed = !status;
    *refused += j.refused;
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return passed;
}

/* ---- Programs that fail ---- */

typedef struct trial {
    char message[4096], begin[32]; /* of the smallest so far; of the first: it goes on failing there */
    bool quiet;
} trial;

/* In a process of its own: a program may end it. */
static bool fails(rp_program *p, void *arg)
{
    trial *t = arg;
    int ends[2], status, refused = 0;
    char message[sizeof t->message] = {0};
    fflush(stdout);
    if (pipe(ends)) abort();
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        if (t->quiet && !freopen("/dev/null", "w", stderr)) _exit(2);
        bool passed = run(p, message, sizeof message, &refused);
        ssize_t ignored = write(ends[1], message, strlen(message));
        (void)ignored;
        _exit(!passed);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], message + n, sizeof message - 1 - n)) > 0;) n += (size_t)got;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    if (!n) snprintf(message, sizeof message, "it ends the process, status %d", status);
    size_t length = strcspn(message, ":");
    if (length >= sizeof t->begin) length = sizeof t->begin - 1;
    if (!*t->begin) memcpy(t->begin, message, length);
    if (strncmp(message, t->begin, strlen(t->begin)) != 0) return false; /* another failure */
    memcpy(t->message, message, sizeof message);
    return true;
}

static void report(rp_program *p, trial *t)
{
    gpuc_buf out;
    printf("FAILED: test_random_programs 1 %llu: %s\n", (unsigned long long)p->seed, t->message);
    fflush(stdout);
    t->quiet = true;
    rp_shrink(p, fails, t);
    for (int bare = 0; bare < 2; bare++) {
        gpuc_buf_init(&out, p->ctx->allocator);
        rp_text(p, bare, &out);
        printf("%s\n%s", bare ? "with less types:" : "the smallest that fails:", gpuc_buf_cstr(&out));
        gpuc_buf_deinit(&out);
    }
    printf("%s\nagain: test_random_programs 1 %llu\n", t->message, (unsigned long long)p->seed);
    fflush(stdout);
}

static char doing[64]; /* for the handler of signals */

static void say_and_end(int number)
{
    static const char said[] = "\nFAILED by a signal; again: test_random_programs 1 ";
    ssize_t ignored = write(1, said, sizeof said - 1);
    ignored = write(1, doing, strlen(doing));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void make(gpuc_ctx *ctx, void *arg)
{
    rp_program *p = arg;
    rp_random(ctx, p->seed, p);
}

static bool check_seed(uint64_t seed, bool alone, int *refused)
{
    static trial t;
    gpuc_ctx *ctx;
    rp_program p = {.seed = seed};
    memset(&t, 0, sizeof t);
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    gpuc_status status = gpuc_ctx_protect(ctx, make, &p);
    if (status) snprintf(t.message, sizeof t.message, "%s", gpuc_status_message(status));
    bool made = !status;
    bool passed = made && (alone ? !fails(&p, &t) && run(&p, t.message, sizeof t.message, refused)
                                 : run(&p, t.message, sizeof t.message, refused));
    if (!passed) {
        snprintf(t.begin, sizeof t.begin, "%.*s", (int)strcspn(t.message, ":"), t.message);
        if (made) report(&p, &t);
    }
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return passed;
}

int main(int argc, char **argv)
{
    int programs = argc > 1 ? atoi(argv[1]) : 100, failed = 0, refused = 0;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (argc > 3) given_passes = argv[3];
    static const int ends[] = {SIGSEGV, SIGABRT, SIGFPE, SIGALRM, SIGBUS};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; programs > 1 && i < sizeof ends / sizeof *ends; i++) signal(ends[i], say_and_end);
    for (int i = 0; i < programs; i++) {
        uint64_t seed = first + (uint64_t)i;
        snprintf(doing, sizeof doing, "%llu\n", (unsigned long long)seed);
        if (programs > 1) alarm(120);
        failed += !check_seed(seed, programs == 1, &refused);
    }
    alarm(0);
    printf("cases: %d (programs; passes refused %d, %d failed)\n", programs - failed, refused, failed);
    return failed > 0;
}
