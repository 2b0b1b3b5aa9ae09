/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the C compiler: never through a shell, in a directory of its own with fixed file names, so that
 * equal sources give equal bytes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pending.h"
#include "codegen_c/private.h"

#define MAX_ARGS 64
#define MAX_JOBS 64
#define OUTPUT_BYTES 8192

/* ---- The directory --------------------------------------------------------------------------------- */

static char *file_name(gpuc_ctx *ctx, const char *dir, int number, const char *extension)
{
    return gpuc_ctx_printf(ctx, "%s/k%d.%s", dir, number, extension);
}

/* Removes the folder, with what a killed compiler left there. */
static void remove_dir(void *data)
{
    gpuc_pending_folder *dir = data;
    gpuc_folder_remove(dir->path);
    gpuc_pending_give(&dir->entry);
}

static const char *make_dir(gpuc_ctx *ctx)
{
    gpuc_pending_folder *dir = gpuc_pending_take_folder(ctx->pending, gpuc_new(ctx, gpuc_pending_folder));
    if (!dir)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "more than %d compilations at a time", GPUC_MAX_PENDING_FOLDERS);
    const char *folder = ctx->temporary ? ctx->temporary : "/tmp";
    snprintf(dir->path, sizeof dir->path, "%s/gpuc-cc-XXXXXX", folder);
    if (!mkdtemp(dir->path)) {
        int err = errno;
        gpuc_pending_give(&dir->entry);
        gpuc_raise(ctx, GPUC_IO,
                   "a directory for the C compiler in %s: %s; TMPDIR tells the tools another place", folder,
                   strerror(err));
    }
    gpuc_pending_set(&dir->entry, true);
    gpuc_ctx_push_cleanup(ctx, remove_dir, dir);
    return dir->path;
}

static void write_source(gpuc_ctx *ctx, const char *path, const gpuc_c_source *source)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t done = 0;
    int err = fd < 0 ? errno : 0;
    while (!err && done < source->size) {
        ssize_t n = write(fd, source->text + done, source->size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            err = errno;
        else
            done += (size_t)n;
    }
    if (fd >= 0 && close(fd) && !err) err = errno;
    if (err) GPUC_RAISE_IF(ctx, gpuc_file_error(err, "writing the generated C file", path));
}

/* ---- Commands -------------------------------------------------------------------------------------- */

typedef struct command {
    const char *argv[MAX_ARGS + 1];
    int argc;
} command;

static void add(gpuc_ctx *ctx, command *c, const char *arg)
{
    if (c->argc == MAX_ARGS)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the C compiler's command has more than %d words", MAX_ARGS);
    c->argv[c->argc++] = arg;
    c->argv[c->argc] = NULL;
}

static void add_words(gpuc_ctx *ctx, command *c, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, " \t");
        if (n) {
            char *word = gpuc_ctx_alloc(ctx, n + 1);
            memcpy(word, text, n);
            add(ctx, c, word);
        }
        text += n;
        text += strspn(text, " \t");
    }
}

/* Families of processors, as compilers call their machines ("aarch64-linux-gnu"). */
typedef struct family {
    const char *machine; /* begins with */
    const char *arch;    /* values of -mcpu= that begin so are for -march=; "": all are */
    bool own;            /* this process runs on it */
} family;

#if defined(__x86_64__) || defined(__i386__)
#define ON_X86 true
#else
#define ON_X86 false
#endif
#if defined(__aarch64__)
#define ON_AARCH64 true
#else
#define ON_AARCH64 false
#endif
#if defined(__arm__)
#define ON_ARM true
#else
#define ON_ARM false
#endif
#if defined(__riscv)
#define ON_RISCV true
#else
#define ON_RISCV false
#endif

static const family families[] = {
    {"x86_64", "", ON_X86},  {"i386", "", ON_X86},      {"i486", "", ON_X86},
    {"i586", "", ON_X86},    {"i686", "", ON_X86},      {"aarch64", "armv", ON_AARCH64},
    {"arm", "armv", ON_ARM}, {"riscv", "rv", ON_RISCV},
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const family *family_of(const char *machine)
{
    static const family other = {.arch = "-", .own = true};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (begins(machine, families[i].machine)) return &families[i];
    return &other;
}

/* What -mcpu= of the target means for the compiler of a machine. */
static void add_machine(gpuc_ctx *ctx, command *c, const gpuc_target *t, const char *machine)
{
    const char *mcpu = gpuc_target_get_string(t, "mcpu");
    const family *f = family_of(machine);
    if (strcmp(mcpu, "native") == 0 && !f->own)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "-mcpu=native is this machine's processor, but '%s' compiles for %s: name the processor",
                   gpuc_target_get_string(t, "cc"), machine);
    if (strchr(mcpu, ','))
        gpuc_raise(
            ctx, GPUC_INVALID_ARGUMENT,
            "-mcpu=%s lists several levels, which packages of networks may hold (gpuc build): name one",
            mcpu);
    if (*mcpu) add(ctx, c, gpuc_ctx_printf(ctx, "%s=%s", begins(mcpu, f->arch) ? "-march" : "-mcpu", mcpu));
    /* Compilers for AVX-512 prefer half vectors by themselves; what is written here is meant. */
    if (t->vector_bits >= 512 && begins("", f->arch)) add(ctx, c, "-mprefer-vector-width=512");
}

/* Asks the compiler, which may be one for another machine, what it compiles for. */
static command machine_command(gpuc_ctx *ctx, const gpuc_target *t)
{
    command c = {0};
    add_words(ctx, &c, gpuc_target_get_string(t, "cc"));
    add(ctx, &c, "-dumpmachine");
    return c;
}

static command compile_command(gpuc_ctx *ctx, const gpuc_target *t, const char *machine, int number)
{
    command c = {0};
    add_words(ctx, &c, gpuc_target_get_string(t, "cc"));
    static const char *const flags[] = {"-std=gnu11",
                                        "-pipe",
                                        "-O3",
                                        "-fPIC",
                                        "-fvisibility=hidden",
                                        "-ffp-contract=fast",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-w"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) add(ctx, &c, flags[i]);
    if (*machine) add_machine(ctx, &c, t, machine);
    add_words(ctx, &c, gpuc_target_get_string(t, "cflags"));
    add(ctx, &c, "-c");
    add(ctx, &c, "-o");
    add(ctx, &c, gpuc_ctx_printf(ctx, "k%d.o", number));
    add(ctx, &c, gpuc_ctx_printf(ctx, "k%d.c", number));
    return c;
}

/* The linker gets at most this many words of object files: more than any real program has. */
static const char **link_command(gpuc_ctx *ctx, const gpuc_target *t, int n)
{
    command c = {0};
    add_words(ctx, &c, gpuc_target_get_string(t, "cc"));
    add_words(ctx, &c, gpuc_target_get_string(t, "cflags")); /* such as -m32 or --sysroot */
    add(ctx, &c, "-shared");
    add(ctx, &c, "-Wl,--build-id=none");
    add(ctx, &c, "-o");
    add(ctx, &c, "k0.so");
    const char **argv = gpuc_new_array(ctx, const char *, c.argc + n + 2);
    memcpy(argv, c.argv, (size_t)c.argc * sizeof *argv);
    for (int i = 0; i < n; i++) argv[c.argc + i] = gpuc_ctx_printf(ctx, "k%d.o", i);
    argv[c.argc + n] = "-lm";
    return argv;
}

/* ---- Processes ------------------------------------------------------------------------------------- */

typedef struct job {
    pid_t pid; /* 0: not running */
    int out;   /* what it prints */
    int number;
    size_t size;
    char text[OUTPUT_BYTES];
} job;

typedef struct jobs {
    int count;
    job *at;
    const char *const *env;
} jobs;

/* The environment of the compiler: TMPDIR is its folder, so that its temporary files are removed with it. */
static const char *const *environment(gpuc_ctx *ctx)
{
    size_t n = 0, count = 0;
    while (environ[n]) n++;
    const char **env = gpuc_new_array(ctx, const char *, n + 2);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0) env[count++] = environ[i];
    env[count] = "TMPDIR=.";
    return env;
}

/* In the folder, with nothing to read and both outputs in the pipe. */
static int spawn(pid_t *pid, const char *const *argv, const char *const *env, const char *dir, int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    int err = posix_spawn_file_actions_init(&actions);
    if (err) return err;
    err = posix_spawnattr_init(&attributes);
    if (!err) {
        err = posix_spawn_file_actions_addchdir_np(&actions, dir);
        if (!err) err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (!err) err = posix_spawn_file_actions_adddup2(&actions, out, 1);
        if (!err) err = posix_spawn_file_actions_adddup2(&actions, out, 2);
        if (!err) err = posix_spawnattr_setsigmask(&attributes, &none);
        if (!err) err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (!err)
            err = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, (char *const *)env);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

/* Starts the compiler, whose outputs are read from *out. Spawning shares the memory until the compiler runs: a fork copies
 * the page tables, which takes 10 ms where weights take a gigabyte. */
static int start(pid_t *pid, const char *const *argv, const char *const *env, const char *dir, int *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return errno;
    int err = spawn(pid, argv, env, dir, ends[1]);
    close(ends[1]);
    if (err)
        close(ends[0]);
    else
        *out = ends[0];
    return err;
}

static void stop_job(job *j)
{
    if (j->pid <= 0) return;
    kill(j->pid, SIGTERM);
    while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(j->out);
    j->pid = 0;
}

static void stop_jobs(void *data)
{
    jobs *all = data;
    for (int i = 0; i < all->count; i++) stop_job(&all->at[i]);
}

static GPUC_NORETURN void cannot_run(gpuc_ctx *ctx, const gpuc_target *t, int err)
{
    gpuc_raise(ctx, err == ENOENT ? GPUC_NOT_FOUND : GPUC_IO,
               "the C compiler '%s' cannot be run: %s; install one, or name another with -cc= in the target",
               gpuc_target_get_string(t, "cc"), strerror(err));
}

/* Reports the beginning of what a compiler printed, which matters most. */
static GPUC_NORETURN void report_failure(gpuc_ctx *ctx, const gpuc_target *t, const job *j, int status)
{
    size_t end = 0;
    for (int lines = 0; end < j->size && lines < 8; end++) lines += j->text[end] == '\n';
    while (end > 0 && j->text[end - 1] == '\n') end--;
    char how[48];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof how, "failed with exit code %d", WEXITSTATUS(status));
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "the C compiler '%s' %s on generated code:\n%.*s",
               gpuc_target_get_string(t, "cc"), how, (int)end, j->text);
}

/* Reads what a running job prints; at its end, collects it. */
static void serve(gpuc_ctx *ctx, const gpuc_target *t, job *j)
{
    char rest[1024];
    bool room = j->size < sizeof j->text;
    ssize_t n = read(j->out, room ? j->text + j->size : rest, room ? sizeof j->text - j->size : sizeof rest);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n > 0) {
        if (room) j->size += (size_t)n;
        return;
    }
    int status = 0;
    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR) continue;
    close(j->out);
    j->pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) report_failure(ctx, t, j, status);
}

static void wait_any(gpuc_ctx *ctx, const gpuc_target *t, jobs *all)
{
    struct pollfd fds[MAX_JOBS];
    int which[MAX_JOBS], n = 0;
    for (int i = 0; i < all->count; i++) {
        if (all->at[i].pid <= 0) continue;
        fds[n] = (struct pollfd){.fd = all->at[i].out, .events = POLLIN};
        which[n++] = i;
    }
    if (n == 0) return;
    if (poll(fds, (nfds_t)n, -1) < 0) {
        if (errno == EINTR) return;
        gpuc_raise(ctx, GPUC_IO, "waiting for the C compiler: %s", strerror(errno));
    }
    for (int i = 0; i < n; i++)
        if (fds[i].revents) serve(ctx, t, &all->at[which[i]]);
}

static job *idle_job(jobs *all)
{
    for (int i = 0; i < all->count; i++)
        if (all->at[i].pid <= 0) return &all->at[i];
    return NULL;
}

static bool any_running(const jobs *all)
{
    for (int i = 0; i < all->count; i++)
        if (all->at[i].pid > 0) return true;
    return false;
}

static void launch(gpuc_ctx *ctx, const gpuc_target *t, jobs *all, const char *const *argv, const char *dir)
{
    job *j;
    while (!(j = idle_job(all))) wait_any(ctx, t, all);
    j->size = 0;
    int out = -1;
    pid_t pid = 0;
    int err = start(&pid, argv, all->env, dir, &out);
    if (err) cannot_run(ctx, t, err);
    j->out = out;
    j->pid = pid;
}

static void wait_all(gpuc_ctx *ctx, const gpuc_target *t, jobs *all)
{
    while (any_running(all)) wait_any(ctx, t, all);
}

/* ---- All ------------------------------------------------------------------------------------------- */

static void take_result(gpuc_ctx *ctx, const char *path, const void **out, size_t *out_size)
{
    gpuc_mapping m;
    GPUC_RAISE_IF(ctx, gpuc_file_map(path, &m));
    void *copy = gpuc_ctx_memdup(ctx, m.data, m.size);
    *out = copy;
    *out_size = m.size;
    gpuc_file_unmap(&m);
}

/* "aarch64-linux-gnu"; "" where nothing of the target depends on it. */
static const char *ask_machine(gpuc_ctx *ctx, const gpuc_target *t, jobs *all, const char *dir)
{
    if (!*gpuc_target_get_string(t, "mcpu") && t->vector_bits < 512) return "";
    launch(ctx, t, all, machine_command(ctx, t).argv, dir);
    wait_all(ctx, t, all);
    const job *j = &all->at[0];
    size_t n = 0;
    while (n < j->size && (unsigned char)j->text[n] > ' ') n++;
    return gpuc_ctx_printf(ctx, "%.*s", (int)n, j->text);
}

static int job_limit(int n)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int limit = cores < 1 ? 1 : cores > MAX_JOBS ? MAX_JOBS : (int)cores;
    return limit < n ? limit : n;
}

void gpuc_c_compile(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_c_source *sources,
                    const void **out, size_t *out_size)
{
    const char *dir = make_dir(ctx);
    for (int i = 0; i < n; i++) write_source(ctx, file_name(ctx, dir, i, "c"), &sources[i]);
    jobs *all = gpuc_new(ctx, jobs);
    all->count = job_limit(n);
    all->at = gpuc_new_array(ctx, job, all->count);
    all->env = environment(ctx);
    gpuc_ctx_push_cleanup(ctx, stop_jobs, all);
    const char *machine = ask_machine(ctx, t, all, dir);
    for (int i = 0; i < n; i++) {
        command c = compile_command(ctx, t, machine, i);
        launch(ctx, t, all, c.argv, dir);
    }
    wait_all(ctx, t, all);
    launch(ctx, t, all, link_command(ctx, t, n), dir);
    wait_all(ctx, t, all);
    take_result(ctx, file_name(ctx, dir, 0, "so"), out, out_size);
    gpuc_ctx_pop_cleanup(ctx, true);
    gpuc_ctx_pop_cleanup(ctx, true);
}
