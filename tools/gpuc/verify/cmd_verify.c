/* SPDX-License-Identifier: Apache-2.0 */
/* The parent: it opens no device, starts a child per test, and watches the clock. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify/verify.h"

enum {
    OPT_TIMEOUT = CLI_LONG,
    OPT_KEEP,
    OPT_JUNIT,
    OPT_THREADS,
    OPT_LOG,
    OPT_VALIDATION,
    OPT_STAGING,
    OPT_NO_BIND,
    OPT_JSON
};

static const cli_option options[] = {
    {"target", 't', "T", "compile for this; default vulkan"},
    {"device", 'd', "D", "run there; default: the first device of the target's kind"},
    {"timeout", OPT_TIMEOUT, "S", "seconds that one test may take; default 120"},
    {"keep", OPT_KEEP, "DIR",
     "keep the package and the generated *.spv, *.cl, *.c of each test in DIR/<test>"},
    {"junit", OPT_JUNIT, "FILE", "also write the results as JUnit XML"},
    {"optimize", 'O', "LEVEL", "0 to 3; default 3"},
    {"tuning-log", OPT_LOG, "FILE", "compile with the configurations of this log of `gpuc tune`; repeatable"},
    {"threads", OPT_THREADS, "N", "compile and run on N threads; default one per processor"},
    {"validation", OPT_VALIDATION, NULL, "Vulkan: turn the validation layer on; a message fails the test"},
    {"staging", OPT_STAGING, NULL,
     "Vulkan: copy as to a card with memory of its own, even where memory is unified"},
    {"no-bind", OPT_NO_BIND, NULL,
     "give no input its value when building: what decides a shape is read at run time"},
    {"json", OPT_JSON, NULL, "one JSON object per test and line on stdout; the other lines go to stderr"},
    {"verbose", 'v', NULL, "a line for every test; says why tests were skipped"},
};

typedef struct child {
    const verify_options *o;
    const verify_test *test; /* NULL: only the device is looked for */
    const char *folder, *temporary;
    verify_result *result;
} child;

static int run_child(const child *c)
{
    /* Whatever libraries print must not get between our lines. */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (c->temporary) setenv("TMPDIR", c->temporary, 1); /* whatever ends the child, this folder goes */
    if (c->test)
        verify_run(c->o, c->test, c->folder, c->result);
    else
        verify_probe(c->o, c->result);
    return 0;
}

/* True if the child's end of the pipe was closed in time: it has ended. */
static bool wait_for_end(int pipe_end, double seconds, bool interruptible)
{
    double deadline = cli_now() + seconds;
    struct pollfd p = {.fd = pipe_end, .events = POLLIN};
    for (;;) {
        double left = deadline - cli_now();
        if (left <= 0 || (interruptible && cli_interrupted)) return false;
        int n = poll(&p, 1, left > 3600 ? 3600000 : (int)(left * 1000) + 1);
        if (n > 0 || (n < 0 && errno != EINTR)) return true;
    }
}

/* The child and the compilers that it started; it may remove its temporary files first. */
static void end_group(pid_t group, int pipe_end)
{
    kill(-group, SIGTERM);
    wait_for_end(pipe_end, 2, false);
    kill(-group, SIGKILL);
}

static void explain_end(verify_result *r, int wait_status, bool in_time, double limit)
{
    char text[256] = "";
    if (!in_time)
        snprintf(text, sizeof text, "took longer than %g s, and was ended while %s", limit, r->stage);
    else if (WIFSIGNALED(wait_status))
        snprintf(text, sizeof text, "crashed (signal %d, %s) while %s", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)), r->stage);
    else if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0 || !r->finished)
        snprintf(text, sizeof text, "ended with exit code %d while %s", WEXITSTATUS(wait_status), r->stage);
    if (!*text) return;
    size_t n = strlen(r->reason);
    snprintf(r->reason + n, sizeof r->reason - n, "%s%s", n ? "; " : "", text);
    r->outcome = VERIFY_FAILED;
}

/* Runs a child to its end, or to that of its time. */
static void supervise(const child *c)
{
    int ends[2];
    fflush(stdout);
    fflush(stderr);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(c->result->reason, sizeof c->result->reason, "cannot make a pipe: %s", strerror(errno));
        return;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        setpgid(0, 0); /* so that compilers it starts end with it */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        cli_defer_interrupts(false);
        exit(run_child(c));
    }
    close(ends[1]);
    if (pid < 0) {
        snprintf(c->result->reason, sizeof c->result->reason, "cannot start a process: %s", strerror(errno));
        close(ends[0]);
        return;
    }
    setpgid(pid, pid);
    bool in_time = wait_for_end(ends[0], c->o->timeout, true);
    int status = 0;
    if (!in_time) end_group(pid, ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    kill(-pid, SIGKILL); /* what a crashed child left running */
    close(ends[0]);
    explain_end(c->result, status, in_time, c->o->timeout);
}

/* ---- Folders ---- */

/* A folder of the test's own. With --keep, tests of the same name get a number. */
static char *folder_for(const verify_options *o, const char *temporary, const verify_tests *tests, int i)
{
    int same = 0;
    for (int k = 0; k < i; k++) same += strcmp(tests->at[k].name, tests->at[i].name) == 0;
    const char *base = o->keep ? o->keep : temporary;
    return same ? cli_printf("%s/%s_%d", base, tests->at[i].name, same + 1)
                : cli_printf("%s/%s", base, tests->at[i].name);
}

/* ---- The run ---- */

static bool device_is_there(const verify_options *o)
{
    verify_result *r = verify_result_create(0);
    snprintf(r->stage, sizeof r->stage, "opening the device");
    supervise(&(child){.o = o, .result = r});
    bool there = r->outcome == VERIFY_PASSED;
    if (!there && !cli_interrupted) cli_error("%s", r->reason);
    verify_result_free(r);
    return there;
}

static int max_outputs(const verify_test *t)
{
    int max = 0;
    for (int k = 0; k < t->num_sets; k++)
        if (t->sets[k].num_outputs > max) max = t->sets[k].num_outputs;
    return max;
}

typedef struct totals {
    int counts[3]; /* by outcome */
    int bound;     /* of those that passed: with inputs bound */
    int elsewhere; /* of those that passed: with kernels on the fallback device only */
    verify_junit junit;
    cli_progress progress;
} totals;

static void run_test(const verify_options *o, const verify_tests *tests, int i, const char *temporary,
                     totals *sum)
{
    const verify_test *t = &tests->at[i];
    verify_result *r = verify_result_create(max_outputs(t));
    char *folder = folder_for(o, temporary, tests, i);
    double start = cli_now();
    cli_progress_show(&sum->progress, t->name, i + 1, tests->count);
    if (t->problem)
        snprintf(r->reason, sizeof r->reason, "%s", t->problem);
    else
        supervise(&(child){.o = o, .test = t, .folder = folder, .temporary = temporary, .result = r});
    double seconds = cli_now() - start;
    cli_progress_clear(&sum->progress);
    if (!cli_interrupted) {
        bool passed = r->outcome == VERIFY_PASSED;
        sum->counts[r->outcome]++;
        sum->bound += passed && *r->bound;
        sum->elsewhere += passed && !r->launches && r->launches_elsewhere;
        verify_report_test(o, t, r, seconds);
        verify_junit_add(&sum->junit, t, r, seconds);
    }
    if (!o->keep) cli_remove_tree(folder);
    free(folder);
    verify_result_free(r);
}

static int run_all(const verify_options *o, const verify_tests *tests, const char *temporary)
{
    totals sum = {0};
    verify_junit_init(&sum.junit);
    cli_progress_start(&sum.progress, "verify");
    for (int i = 0; i < tests->count && !cli_interrupted; i++) run_test(o, tests, i, temporary, &sum);
    if (cli_interrupted) {
        cli_text_free(&sum.junit.cases);
        return 1;
    }
    int code = sum.counts[VERIFY_FAILED] == 0 && sum.counts[VERIFY_PASSED] > 0 ? 0 : 1;
    gpuc_status status = o->junit ? verify_junit_write(&sum.junit, o->junit) : NULL;
    if (!o->junit) cli_text_free(&sum.junit.cases);
    if (cli_report(status)) code = 1;
    FILE *to = o->json ? stderr : stdout;
    int passed = sum.counts[VERIFY_PASSED];
    fprintf(to, "%d passed (%d with inputs bound, %d on the fallback device)\n", passed, sum.bound,
            sum.elsewhere);
    fprintf(to, "%d passed, %d failed, %d skipped\n", passed, sum.counts[VERIFY_FAILED],
            sum.counts[VERIFY_SKIPPED]);
    return code;
}

static void parse(const cli_command *c, int argc, char **argv, verify_options *o)
{
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        switch (key) {
        case 't': o->target = value; break;
        case 'd': o->device = value; break;
        case OPT_TIMEOUT: o->timeout = cli_seconds(c, "--timeout", value); break;
        case OPT_KEEP: o->keep = value; break;
        case OPT_JUNIT: o->junit = value; break;
        case 'O': o->level = (int)cli_int(c, "-O", value, 0, 3); break;
        case OPT_LOG: cli_strings_add(&o->tuning_logs, value); break;
        case OPT_THREADS: o->threads = (int)cli_int(c, "--threads", value, 1, 4096); break;
        case OPT_VALIDATION: o->validation = true; break;
        case OPT_STAGING: o->staging = true; break;
        case OPT_NO_BIND: o->no_bind = true; break;
        case OPT_JSON: o->json = true; break;
        case 'v': o->verbose = true; break;
        }
    }
    if (optind == argc) cli_usage(c, "name the folder of a test, or a folder of such folders");
}

static int run(const cli_command *c, int argc, char **argv)
{
    verify_options o = {.target = "vulkan", .timeout = 120, .level = 3};
    parse(c, argc, argv, &o);
    cli_defer_interrupts(true);
    int code = 1;
    if (device_is_there(&o)) {
        verify_tests tests = {0};
        cli_temporary temporary;
        gpuc_status status = cli_temporary_make("verify", &temporary);
        for (int i = optind; i < argc; i++) verify_find(argv[i], &tests);
        code = status ? cli_report(status) : run_all(&o, &tests, temporary.path);
        cli_temporary_remove(&temporary);
        verify_free(&tests);
    }
    cli_strings_free(&o.tuning_logs);
    if (cli_interrupted) cli_interrupt_now();
    cli_defer_interrupts(false);
    return code;
}

const cli_command cli_verify_command = {
    .name = "verify",
    .operands = "[--target T] [--device D] [--timeout S] [--keep DIR] PATH...",
    .about = "compile and run ONNX backend tests (small inputs that decide a shape are given when building)",
    .details =
        "Inputs of at most 64 elements that only decide shapes (Reshape's shape, TopK's k) are bound when\n"
        "building, as a program that knows them would; --no-bind turns that off. What the target cannot "
        "compute\n"
        "runs on the CPU. The last line but one says of how many tests that passed this holds: `N passed (M "
        "with\n"
        "inputs bound, K on the fallback device)`, K being those none of whose kernels ran on the device.\n\n"
        "PATH is the folder of a test (model.onnx, test_data_set_K/input_J.pb and output_J.pb), or a folder\n"
        "of such folders. A test passes when all of its data sets do. Floats must be within the folder's\n"
        "tolerance.json, else within rtol 1e-3 and atol 1e-5 (16-bit floats: 1e-2 and 1e-3; Fourier\n"
        "transforms: atol 1e-3); all else must be equal. A test fails if no kernel ran on a device, unless "
        "its\n"
        "model only reshapes or all of its inputs are bound. It is skipped if its model has operators or "
        "types that gpuc does not support. "
        "The last\n"
        "line is `N passed, N failed, N skipped`; the exit code is 0 if none failed and some passed.\n\n"
        "tolerance.json has an entry per output: [{\"rtol\": 1e-3, \"atol\": 1e-5, \"rel_l2\": 1e-4}, ..]. A "
        "float\n"
        "may be off by atol + rtol * |expected|. rel_l2 is optional: an output in which some are off by "
        "more\n"
        "still passes if the norm of all differences is at most rel_l2 times the norm of what is expected.\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
