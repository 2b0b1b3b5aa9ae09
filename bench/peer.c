/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs on a network: each is a process that is told over a pipe when to run, and takes the time
 * itself, so that it is measured as what runs in this process is. bench/peer.py says what is spoken. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

enum { LINE = 4096 };
#define READY_SECONDS 300.0  /* for loading and compiling */
#define ANSWER_SECONDS 120.0 /* for what it is told to do */

typedef struct peer {
    bench_net_data *d;
    char folder[512], log[600]; /* for its files; what it prints beside */
    pid_t process;              /* 0: there is none */
    int to, from;
    char line[LINE]; /* its last answer */
    size_t filled;
} peer;

/* ---- The process ---- */

static void write_command(FILE *to, const peer *p, const char *command, int threads)
{
    const bench_net *net = p->d->net;
    fprintf(to, "exec %s '%s' %d '%s' '%s' %d", command, net->path, threads, p->d->work, p->folder,
            BENCH_VARIANTS);
    for (int i = 0; i < net->num_inputs; i++) {
        const bench_shape *s = &net->inputs[i];
        fprintf(to, " %s%d", s->dtype.code == GPUC_DTYPE_FLOAT ? "float" : "int", s->dtype.bits);
        for (int k = 0; k < s->ndim; k++) fprintf(to, "%c%" PRId64, k ? 'x' : ':', s->dims[k]);
    }
}

/* In the child, which ends with its parent, and can be ended with all that it starts. */
static void become(const char *line, int in, int out, int log)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(log, 2) >= 0)
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static gpuc_status start(peer *p, const char *line)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1},
        log = open(p->log, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    bool ok = log >= 0 && pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
    if (ok && (p->process = fork()) == 0) become(line, in[0], out[1], log);
    if (p->process < 0) {
        ok = false;
        p->process = 0;
    }
    if (ok) setpgid(p->process, p->process);
    p->to = in[1];
    p->from = out[0];
    close(in[0]);
    close(out[1]);
    close(log);
    return ok ? NULL : gpuc_fail(GPUC_IO, "cannot start it: %s", strerror(errno));
}

/* Ends it with what it started, unless it ends by itself within some seconds. */
static int end(peer *p, double grace)
{
    int status = 0;
    if (!p->process) return 0;
    pid_t ended = waitpid(p->process, &status, WNOHANG);
    for (double until = bench_now() + grace; ended == 0 && bench_now() < until;) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        ended = waitpid(p->process, &status, WNOHANG);
    }
    kill(-p->process, SIGKILL);
    if (ended == 0) waitpid(p->process, &status, 0);
    p->process = 0;
    return status;
}

/* The last line that it printed beside. */
static void last_words(const peer *p, char out[LINE])
{
    FILE *f = fopen(p->log, "r");
    char line[LINE];
    out[0] = 0;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[strspn(line, " ")]) strcpy(out, line);
    }
    if (f) fclose(f);
}

/* It said no more. */
static gpuc_status explain_end(peer *p)
{
    char words[LINE];
    last_words(p, words);
    int status = end(p, 2);
    if (WIFSIGNALED(status))
        return gpuc_fail(GPUC_IO, "it was ended by signal %d (%s)", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    return gpuc_fail(GPUC_IO, "it ended: %.200s", words[0] ? words : "without a word");
}

/* ---- What is spoken ---- */

static gpuc_status ask(const peer *p, const char *text)
{
    size_t length = strlen(text);
    return write(p->to, text, length) == (ssize_t)length ? NULL
                                                         : gpuc_fail(GPUC_IO, "it does not listen any more");
}

/* A line goes to p->line. */
static gpuc_status read_line(peer *p, double limit)
{
    double end_at = bench_now() + limit;
    for (p->filled = 0; p->filled + 1 < LINE;) {
        double left = end_at - bench_now();
        struct pollfd f = {.fd = p->from, .events = POLLIN};
        int ready = left > 0 ? poll(&f, 1, (int)(left * 1e3) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            end(p, 0);
            return gpuc_fail(GPUC_IO, "no answer within %.0f s: it was ended", limit);
        }
        ssize_t n = read(p->from, p->line + p->filled, LINE - 1 - p->filled);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return explain_end(p);
        p->filled += (size_t)n;
        p->line[p->filled] = 0;
        char *newline = strchr(p->line, '\n');
        if (newline) {
            *newline = 0;
            return NULL;
        }
    }
    return gpuc_fail(GPUC_IO, "its answer is too long");
}

/* An answer that begins with the word: what follows it. */
static gpuc_status hear(peer *p, const char *word, double limit, const char **rest)
{
    size_t n = strlen(word);
    GPUC_TRY(read_line(p, limit));
    if (strncmp(p->line, "error ", 6) == 0) return gpuc_fail(GPUC_IO, "%.200s", p->line + 6);
    if (strncmp(p->line, word, n) != 0 || (p->line[n] && p->line[n] != ' '))
        return gpuc_fail(GPUC_IO, "it does not answer as bench/peer.py: %.60s", p->line);
    *rest = p->line + n + (p->line[n] != 0);
    return NULL;
}

static gpuc_status run(void *arg, int count, double *seconds)
{
    peer *p = arg;
    char text[32];
    const char *at;
    snprintf(text, sizeof text, "run %d\n", count);
    GPUC_TRY(ask(p, text));
    GPUC_TRY(hear(p, "seconds", ANSWER_SECONDS, &at));
    for (int i = 0; i < count; i++) {
        char *after;
        seconds[i] = strtod(at, &after);
        if (after == at || !(seconds[i] > 0)) return gpuc_fail(GPUC_IO, "it did not say what each run took");
        at = after;
    }
    return NULL;
}

static gpuc_status check_variant(const peer *p, int variant, double *difference)
{
    char path[600];
    snprintf(path, sizeof path, "%s/output.%d.bin", p->folder, variant);
    FILE *f = fopen(path, "rb");
    long size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (f) rewind(f);
    size_t count = size > 0 ? (size_t)size / sizeof(float) : 0;
    float *data = count ? malloc(count * sizeof(float)) : NULL;
    bool ok = data && fread(data, sizeof(float), count, f) == count;
    if (f) fclose(f);
    gpuc_status status = ok ? bench_net_check(p->d, variant, data, count, difference)
                            : gpuc_fail(GPUC_IO, "cannot read its output %s", path);
    free(data);
    return status;
}

static gpuc_status check(void *arg, double *difference)
{
    peer *p = arg;
    const char *rest;
    GPUC_TRY(ask(p, "write\n"));
    GPUC_TRY(hear(p, "done", ANSWER_SECONDS, &rest));
    for (int v = 0; v < BENCH_VARIANTS; v++) GPUC_TRY(check_variant(p, v, difference));
    return NULL;
}

static void close_peer(void *arg)
{
    peer *p = arg;
    end(p, 0);
    if (p->to >= 0) close(p->to);
    if (p->from >= 0) close(p->from);
    free(p);
}

static gpuc_status open_peer(peer *p, const char *command, int threads, char name[64])
{
    char *line = NULL;
    size_t size;
    const char *rest;
    snprintf(p->folder, sizeof p->folder, "%s/%s", p->d->work, name);
    snprintf(p->log, sizeof p->log, "%s/log", p->folder);
    if (mkdir(p->folder, 0777) != 0 && errno != EEXIST)
        return gpuc_fail(GPUC_IO, "cannot make %s: %s", p->folder, strerror(errno));
    FILE *to = open_memstream(&line, &size);
    if (!to) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a command");
    write_command(to, p, command, threads);
    gpuc_status status =
        fclose(to) == 0 ? start(p, line) : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a command");
    free(line);
    if (!status) status = hear(p, "name", READY_SECONDS, &rest);
    if (!status) snprintf(name, 64, "%.63s", rest);
    return status;
}

void bench_peer_open(bench_net_data *d, const char *command, int threads, char name[64], bench_runner *out)
{
    const char *word = strrchr(command, ' ');
    snprintf(name, 64, "%.63s", word ? word + 1 : command);
    peer *p = calloc(1, sizeof *p);
    if (!p) {
        out->failure = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a peer");
        return;
    }
    *p = (peer){.d = d, .to = -1, .from = -1};
    *out = (bench_runner){run, check, close_peer, p, .difference = -1};
    out->failure = open_peer(p, command, threads, name);
}
