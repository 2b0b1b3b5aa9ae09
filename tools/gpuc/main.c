/* SPDX-License-Identifier: Apache-2.0 */
/* Is the entry of gpuc: finds the command by name, and handles signals. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const cli_command *const commands[] = {
#ifdef GPUC_CLI_COMPILER
    &cli_build_command,   &cli_tune_command,    &cli_verify_command,
#endif
    &cli_run_command,     &cli_bench_command,   &cli_compare_command,
    &cli_inspect_command, &cli_devices_command,
#ifdef GPUC_CLI_COMPILER
    &cli_targets_command, &cli_ops_command,     &cli_opt_command,
#endif
};

/* Commands that a build without the compiler lacks. */
static const char *const compiler_commands[] = {"build", "tune", "verify", "targets", "ops", "opt"};

gpuc_pending *cli_pending;
volatile sig_atomic_t cli_interrupted;
static volatile sig_atomic_t deferred;

static void end_by_signal(int number)
{
    gpuc_pending_discard(cli_pending);
    signal(number, SIG_DFL);
    raise(number);
}

static void on_signal(int number)
{
    if (deferred)
        cli_interrupted = number;
    else
        end_by_signal(number);
}

void cli_defer_interrupts(bool on)
{
    deferred = on;
}

void cli_interrupt_now(void)
{
    deferred = 0;
    end_by_signal(cli_interrupted);
    /* Raised inside a handler, the signal would wait for its end; here it has arrived. */
    _exit(128 + cli_interrupted);
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < CLI_COUNT(numbers); i++) {
        struct sigaction old, action = {.sa_handler = on_signal};
        sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

static void print_help(FILE *to)
{
    fprintf(to, "usage: gpuc COMMAND [OPTION]...\n\n"
                "Compiles networks to packages of GPU and CPU kernels, and runs them.\n\ncommands:\n");
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->about);
    fprintf(to,
            "\n`gpuc COMMAND --help` tells more. In front of COMMAND: --help, --version, --plugin FILE.\n");
}

static int unknown_command(const char *word)
{
    const char *names[CLI_COUNT(commands)];
    for (size_t i = 0; i < CLI_COUNT(commands); i++) names[i] = commands[i]->name;
    for (size_t i = 0; i < CLI_COUNT(compiler_commands); i++)
        if (strcmp(word, compiler_commands[i]) == 0) {
            cli_error("'%s' needs the compiler, which this gpuc was built without (GPUC_COMPILER=OFF)", word);
            return 2;
        }
    const char *near = gpuc_suggest(word, names, CLI_COUNT(names));
    if (near)
        cli_error("unknown command '%s'; did you mean '%s'?", word, near);
    else
        cli_error("unknown command '%s'; `gpuc --help` lists the commands", word);
    return 2;
}

/* --plugin FILE may stand in front of the command, too. Gives the number of words before it. */
static int add_plugins(int argc, char **argv)
{
    static const char option[] = "--plugin";
    size_t n = strlen(option);
    int i = 1;
    for (; i < argc && strncmp(argv[i], option, n) == 0; i++) {
        if (argv[i][n] == '=')
            cli_plugin_add(argv[i] + n + 1);
        else if (!argv[i][n] && i + 1 < argc)
            cli_plugin_add(argv[++i]);
        else
            break;
    }
    return i;
}

int main(int argc, char **argv)
{
    int at = add_plugins(argc, argv);
    const char *word = at < argc ? argv[at] : NULL;
    gpuc_file_open_standard();
    gpuc_status status = gpuc_pending_create(NULL, &cli_pending);
    if (status) return cli_report(status);
    catch_signals();
    setenv("POCL_AFFINITY", "1", 0);
    if (!word) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(word, "--version") == 0) {
        printf("gpuc %s\n", GPUC_VERSION);
        return cli_finish(0);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return cli_finish(0);
    }
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        if (strcmp(commands[i]->name, word) == 0)
            return cli_finish(commands[i]->run(commands[i], argc - at, argv + at));
    if (strcmp(word, "--plugin") == 0) {
        cli_error("option '--plugin' needs an argument: FILE");
        return 2;
    }
    if (word[0] == '-') {
        cli_error("unknown option '%s'; `gpuc --help` lists the commands", word);
        return 2;
    }
    return unknown_command(word);
}
