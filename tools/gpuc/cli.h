/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands share: options, messages, the terminal, a runtime with caches and devices.
 *
 * Exit codes: 0; 1 with one message on stderr; 2 for a wrong command line. Results go to stdout,
 * everything else to stderr. */
#ifndef GPUC_CLI_H
#define GPUC_CLI_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <gpuc/files.h>
#include <gpuc/runtime.h>

#define CLI_COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- Commands and options (options.c) ---- */

typedef struct cli_option {
    const char *name; /* long name, without the dashes */
    int key;          /* what cli_next returns: the short letter, or a number from CLI_LONG on */
    const char *arg;  /* placeholder of its argument; NULL for a flag */
    const char *help; /* NULL: not shown */
} cli_option;

#define CLI_LONG 256
#define CLI_HELP 'h'       /* every command has it */
#define CLI_PLUGIN 0x10000 /* and --plugin, which cli_next passes to cli_plugin_add */

typedef struct cli_command {
    const char *name;
    const char *operands; /* "PKG", "PATH...": as the usage line shows them */
    const char *about;    /* one line */
    const char *details;  /* below the options in --help; may be NULL */
    const cli_option *options;
    int num_options;
    int (*run)(const struct cli_command *c, int argc, char **argv); /* returns the exit code */
} cli_command;

/* The next option: its key, with the argument in *value; -1 when none is left, and the operands are
 * argv[optind..]. --help prints and exits; an unknown option or a missing argument exits with 2. */
int cli_next(const cli_command *c, int argc, char **argv, const char **value);
/* The one operand of a command; anything else exits with 2. */
const char *cli_only_operand(const cli_command *c, int argc, char **argv, const char *what);
void cli_no_operands(const cli_command *c, int argc, char **argv);
GPUC_NORETURN void cli_usage(const cli_command *c, const char *fmt, ...) GPUC_PRINTF(2, 3);
/* Prints the help of a command to stdout. */
void cli_help(const cli_command *c);
/* Values of options; a wrong one exits with 2. */
int64_t cli_int(const cli_command *c, const char *option, const char *text, int64_t min, int64_t max);
int64_t cli_bytes(const cli_command *c, const char *option, const char *text);  /* 64, 64K, 2M, 1G */
double cli_seconds(const cli_command *c, const char *option, const char *text); /* 90, 90s, 10m, 2h */

/* NAME=1,3,224,224. The name ends at the last '='. */
typedef struct cli_shape {
    char *name;
    int ndim;
    int64_t *dims;
} cli_shape;

typedef struct cli_shapes {
    cli_shape *at;
    int count;
} cli_shapes;

void cli_shapes_add(const cli_command *c, cli_shapes *shapes, const char *text);
void cli_shapes_free(cli_shapes *shapes);
const cli_shape *cli_shapes_find(const cli_shapes *shapes, const char *name); /* NULL */

typedef struct cli_strings {
    const char **at;
    int count;
} cli_strings;

void cli_strings_add(cli_strings *list, const char *text); /* keeps the pointer */
void cli_strings_free(cli_strings *list);

/* ---- Memory, messages, terminal (term.c, progress.c) ---- */

/* Zeroed; a tool that has no memory for its own lists ends. */
void *cli_alloc(size_t size);
void *cli_grow(void *array, size_t count, size_t item_size); /* room for one more item, zeroed */
char *cli_printf(const char *fmt, ...) GPUC_PRINTF(1, 2);    /* from cli_alloc */

void cli_error(const char *fmt, ...) GPUC_PRINTF(1, 2); /* "gpuc: <text>" */
void cli_note(const char *fmt, ...) GPUC_PRINTF(1, 2);  /* "gpuc: <text>", without the colour of an error */
/* Prints the status, releases it and returns 1; 0 for NULL. */
int cli_report(gpuc_status status);
/* Flushes stdout; returns code, or 1 if what was printed did not arrive. */
int cli_finish(int code);

typedef enum cli_colour { CLI_PLAIN, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_BOLD } cli_colour;
/* Escape sequences, or "" where the stream is no terminal. */
const char *cli_colour_on(int fd, cli_colour colour);
const char *cli_colour_off(int fd);

/* A line on a terminal that says what is going on, shown once the work has lasted a second, by a thread of
 * its own. Nothing of this happens where stderr is no terminal. */
typedef struct cli_progress {
    bool terminal, shown, hidden, ends;
    double start;
    char what[96];
    int done, total;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
} cli_progress;
void cli_progress_start(cli_progress *p, const char *what);
void cli_progress_show(void *progress, const char *what, int done,
                       int total);        /* as gpuc_build_options wants it */
void cli_progress_clear(cli_progress *p); /* takes the line away until the next show */
void cli_progress_end(cli_progress *p);

double cli_now(void); /* seconds */
/* "1.5 MiB"; "12 bytes". Returns out. */
char *cli_size_text(uint64_t bytes, char out[32]);
/* "1.23 ms". Returns out. */
char *cli_time_text(double seconds, char out[32]);
/* "1,3,224,224" of dims; names[i] where a dim is -1. From cli_alloc. */
char *cli_dims_text(int ndim, const int64_t *dims, const char *const *names);
double cli_median(double *values, int count); /* sorts */

/* ---- Interrupts (main.c) ---- */

/* Files and folders that are removed if this process is interrupted. */
extern gpuc_pending *cli_pending;

/* While on, an interrupt only sets cli_interrupted, and who turned it on ends the process with
 * cli_interrupt_now when it has cleaned up. */
void cli_defer_interrupts(bool on);
extern volatile sig_atomic_t cli_interrupted; /* the signal, or 0 */
GPUC_NORETURN void cli_interrupt_now(void);

/* ---- Temporary folders (temporary.c) ---- */

/* A folder "gpuc-<what>-XXXXXX" where TMPDIR says, of this process and those that it forks. Making one
 * removes those of the same kind whose processes have ended, however they did. */
typedef struct cli_temporary {
    char *path; /* NULL: there is none */
    int lock;
} cli_temporary;
GPUC_NODISCARD gpuc_status cli_temporary_make(const char *what, cli_temporary *out);
void cli_temporary_remove(cli_temporary *t); /* with all that is in it */
void cli_remove_tree(const char *path);

/* ---- Runtime (setup.c, cache.c) ---- */

typedef struct cli_runtime {
    gpuc_runtime *rt;
    bool verbose;
    atomic_int validation_messages;
    char first_message[512]; /* of the validation layer */
} cli_runtime;

typedef struct cli_runtime_options {
    bool validation; /* ask for Vulkan's validation layer */
    bool staging;    /* Vulkan: no direct access to device memory */
    bool verbose;    /* print what the drivers say for information, too */
    bool no_cache;
    bool no_devices; /* only the plug-ins */
    int threads;     /* of the CPU device; 0: one per processor */
} cli_runtime_options;

/* Another plug-in for all runtimes of this process and of those that it forks; keeps the pointer. */
void cli_plugin_add(const char *path);
bool cli_has_plugins(void);
/* A runtime with every device kind of this build and the plug-ins, caches in the user's cache folder, messages to
 * stderr. */
GPUC_NODISCARD gpuc_status cli_runtime_init(cli_runtime *r, const cli_runtime_options *options);
void cli_runtime_deinit(cli_runtime *r);
/* 1, with a message, if the validation layer complained; else code. */
int cli_validation_result(cli_runtime *r, int code);
/* Opens "vulkan:1"; *out NULL for text NULL. */
GPUC_NODISCARD gpuc_status cli_open_device(cli_runtime *r, const char *text, gpuc_device **out);
const char *cli_device_text(gpuc_device *dev, gpuc_device_attr attr); /* a string attribute, or "unknown" */

#define CLI_DEBUG_VARIABLE "GPUC_DEBUG" /* developer switches of the compiler */

/* Drivers keep files in the user's cache folder as well: some fail, or crash, where they cannot. If there is
 * no such folder, or no room in it, this names a folder of the user among the temporary files for all of
 * them, through the environment. */
void cli_cache_prepare(void);
bool cli_cache_load(void *user, const char *key, const void **bytes, size_t *size);
void cli_cache_store(void *user, const char *key, const void *bytes, size_t size);

/* ---- Commands ---- */

extern const cli_command cli_bench_command, cli_build_command, cli_compare_command, cli_devices_command,
    cli_inspect_command, cli_run_command, cli_ops_command, cli_opt_command, cli_targets_command,
    cli_tune_command, cli_verify_command;

#endif
