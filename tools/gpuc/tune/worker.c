/* SPDX-License-Identifier: Apache-2.0 */
/* A child. A byte through a pipe asks it to prepare or to measure a trial, a byte back says that it is done;
 * a child that takes too long or dies is replaced before the next one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune/tune.h"

#define START_SECONDS 60 /* a driver may have to build something of its own */
enum { SLICE = 500 };    /* milliseconds between looks at the clock */
enum { PREPARE = 'p', MEASURE = 'm' };

struct tune_worker {
    const tune_setup *setup;
    tune_shared *shared;
    cli_temporary folder; /* of the child's temporary files */
    pid_t pid;            /* 0: there is none */
    int to, from;
    bool asked; /* it has something to do */
};

tune_worker *tune_worker_create(const tune_setup *setup)
{
    tune_worker *w = cli_alloc(sizeof *w);
    void *p = mmap(NULL, sizeof *w->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        cli_error("out of memory");
        exit(1);
    }
    w->setup = setup;
    w->shared = p;
    return w;
}

const tune_shared *tune_worker_texts(const tune_worker *w)
{
    return w->shared;
}

/* ---- The child ---- */

static int serve(const tune_setup *setup, tune_shared *shared, int from, int to)
{
    tune_bench *b;
    char byte = 0;
    gpuc_status status = tune_bench_create(setup, shared, &b);
    if (status) snprintf(shared->problem, sizeof shared->problem, "%s", gpuc_status_message(status));
    int code = status ? 1 : 0;
    gpuc_status_release(status);
    if (write(to, &byte, 1) != 1) code = 1;
    while (code == 0 && read(from, &byte, 1) == 1) {
        if (byte == PREPARE)
            tune_bench_prepare(b);
        else
            tune_bench_measure(b);
        if (write(to, &byte, 1) != 1) break;
    }
    tune_bench_destroy(b);
    return code;
}

/* Drivers keep what they compiled; what is tried once shall not fill the user's caches. */
static void use_folder(const char *folder)
{
    setenv("TMPDIR", folder, 1);
    setenv("POCL_CACHE_DIR", folder, 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
}

static gpuc_status fork_child(tune_worker *w)
{
    int to[2], from[2];
    if (!w->folder.path) GPUC_TRY(cli_temporary_make("tune", &w->folder));
    if (pipe2(to, O_CLOEXEC) != 0) return gpuc_fail(GPUC_IO, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return gpuc_fail(GPUC_IO, "cannot make a pipe: %s", strerror(errno));
    }
    fflush(stdout);
    fflush(stderr);
    w->shared->problem[0] = 0;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        setpgid(0, 0); /* so that compilers it starts end with it */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        cli_defer_interrupts(false);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        use_folder(w->folder.path);
        exit(serve(w->setup, w->shared, to[0], from[1]));
    }
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return gpuc_fail(GPUC_IO, "cannot start a process: %s", strerror(errno));
    }
    setpgid(pid, pid);
    w->pid = pid;
    w->to = to[1];
    w->from = from[0];
    return NULL;
}

/* ---- The parent ---- */

const char *tune_stage_text(tune_stage s)
{
    static const char *const texts[] = {
        [TUNE_BUILDING] = "building",
        [TUNE_LOADING] = "loading",
        [TUNE_REFERENCE] = "computing the reference",
        [TUNE_RUNNING] = "running",
        [TUNE_COMPARING] = "comparing",
        [TUNE_WAITING] = "waiting for a quiet machine",
        [TUNE_MEASURING] = "measuring",
    };
    return texts[s];
}

typedef enum answer { ANSWER_DONE, ANSWER_DIED, ANSWER_LATE, ANSWER_INTERRUPTED } answer;

/* What time passed counts for, since the last look: a machine that slept, or a process that was stopped, did
 * not run the kernel either. */
static double counted(double passed)
{
    enum { MAX = 2 * SLICE };
    return passed * 1000 < MAX ? passed : MAX * 1e-3;
}

static answer wait_for(const tune_worker *w, double seconds)
{
    double last = cli_now(), left = seconds;
    struct pollfd p = {.fd = w->from, .events = POLLIN};
    while (left > 0) {
        char byte;
        if (cli_interrupted) return ANSWER_INTERRUPTED;
        int n = poll(&p, 1, left * 1000 < SLICE ? (int)(left * 1000) + 1 : SLICE);
        if (n > 0) return read(w->from, &byte, 1) == 1 ? ANSWER_DONE : ANSWER_DIED;
        double now = cli_now();
        left -= counted(now - last);
        last = now;
    }
    return ANSWER_LATE;
}

/* Returns the status of its end. */
static int end_child(tune_worker *w, bool kindly)
{
    int status = 0;
    close(w->to);
    if (!kindly || (wait_for(w, 5) == ANSWER_LATE)) kill(-w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) continue;
    kill(-w->pid, SIGKILL); /* what a crashed child left running */
    close(w->from);
    w->pid = 0;
    return status;
}

void tune_worker_destroy(tune_worker *w)
{
    if (w->pid) end_child(w, !cli_interrupted);
    cli_temporary_remove(&w->folder);
    munmap(w->shared, sizeof *w->shared);
    free(w);
}

gpuc_status tune_worker_start(tune_worker *w)
{
    if (w->pid) return NULL;
    GPUC_TRY(fork_child(w));
    answer a = wait_for(w, START_SECONDS);
    if (a == ANSWER_DONE && !w->shared->problem[0]) return NULL;
    end_child(w, a == ANSWER_DONE);
    if (a == ANSWER_DONE) return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%s", w->shared->problem);
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                     a == ANSWER_LATE          ? "the device did not open within %d s"
                     : a == ANSWER_INTERRUPTED ? "interrupted"
                                               : "opening the device crashed the process",
                     START_SECONDS);
}

gpuc_status tune_worker_probe(tune_worker *w)
{
    GPUC_TRY(tune_worker_start(w));
    end_child(w, true);
    return NULL;
}

static void fail(gpuc_tune_result *out, const char *status, const char *fmt, ...) GPUC_PRINTF(3, 4);
static void fail(gpuc_tune_result *out, const char *status, const char *fmt, ...)
{
    va_list args;
    *out = (gpuc_tune_result){0};
    snprintf(out->status, sizeof out->status, "%s", status);
    va_start(args, fmt);
    vsnprintf(out->message, sizeof out->message, fmt, args);
    va_end(args);
}

static void ask(tune_worker *w, char what)
{
    w->asked = write(w->to, &what, 1) == 1;
}

void tune_worker_prepare(tune_worker *w, int trial, const gpuc_tune_ask *a)
{
    const gpuc_config *config = a->config;
    tune_shared *s = w->shared;
    s->trial = trial;
    s->task = a->task;
    s->best = a->best;
    s->num_knobs = config->n < TUNE_MAX_KNOBS ? config->n : TUNE_MAX_KNOBS;
    for (int i = 0; i < s->num_knobs; i++) {
        snprintf(s->knobs[i].name, TUNE_NAME, "%s", config->at[i].name);
        s->knobs[i].value = config->at[i].value;
    }
    s->stage = TUNE_BUILDING;
    ask(w, PREPARE);
}

void tune_worker_measure(tune_worker *w)
{
    ask(w, MEASURE);
}

gpuc_status tune_worker_finish(tune_worker *w, gpuc_tune_result *out)
{
    answer a = w->asked ? wait_for(w, w->setup->timeout) : ANSWER_DIED;
    if (a == ANSWER_DONE) {
        *out = w->shared->result;
        return NULL;
    }
    int end = end_child(w, false);
    const char *stage = tune_stage_text(w->shared->stage);
    if (a == ANSWER_LATE)
        fail(out, "timeout", "took longer than %g s, and was ended while %s", w->setup->timeout, stage);
    else if (a == ANSWER_INTERRUPTED)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "interrupted while %s", stage);
    else if (WIFSIGNALED(end))
        fail(out, "crash", "signal %d (%s) while %s", WTERMSIG(end), strsignal(WTERMSIG(end)), stage);
    else
        fail(out, "crash", "ended with exit code %d while %s", WEXITSTATUS(end), stage);
    return NULL;
}
