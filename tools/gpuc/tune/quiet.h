/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring beside other programs. */
#ifndef GPUC_CLI_TUNE_QUIET_H
#define GPUC_CLI_TUNE_QUIET_H

#include <gpuc/base.h>

/* Holds how fast this machine is when nobody else uses it. */
typedef struct cli_quiet cli_quiet;

/* Runs a piece of arithmetic on so many threads for some seconds, and notes its best speed. NULL: no memory. */
cli_quiet *cli_quiet_create(int threads, double seconds);
void cli_quiet_destroy(cli_quiet *q);
/* Is the machine as quick as it was at its best? Waits a little for threads that still spin, and up to so
 * many seconds for other programs. */
bool cli_quiet_wait(cli_quiet *q, double seconds);
double cli_quiet_best(const cli_quiet *q); /* operations per second */

/* Runs body(arg, i) on threads that stay on one processor each. */
void cli_on_pinned_threads(int threads, void (*body)(void *arg, int i), void *arg);
/* Software Vulkan: its workers onto one processor each, once they were started. */
void cli_pin_llvmpipe(void);

/* The processors that the threads of this process may run on. */
typedef struct cli_pins cli_pins;
/* Lets all of them run anywhere, for a driver that compiles on a thread of its own, and returns what was;
 * NULL: nothing was changed. */
cli_pins *cli_unpin(void);
/* Undoes it. */
void cli_pin_again(cli_pins *p);

#endif
