/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring beside other programs. */
#ifndef GPUC_TUNE_QUIET_H
#define GPUC_TUNE_QUIET_H

#include <gpuc/base.h>

/* Knows how fast this machine is when nobody else uses it. */
typedef struct gpuc_quiet gpuc_quiet;

/* Runs a piece of arithmetic on so many threads for some seconds, and notes its best speed. NULL: no memory.
 */
gpuc_quiet *gpuc_quiet_create(int threads, double seconds);
void gpuc_quiet_destroy(gpuc_quiet *q);
/* Is the machine as quick as it was at its best? Waits a little for threads that still spin, and up to so
 * many seconds for other programs. */
bool gpuc_quiet_wait(gpuc_quiet *q, double seconds);
double gpuc_quiet_best(const gpuc_quiet *q); /* operations per second */

/* Runs body(arg, i) on threads that stay on one processor each. */
void gpuc_on_pinned_threads(int threads, void (*body)(void *arg, int i), void *arg);
/* Software Vulkan: its workers onto one processor each, once they were started. */
void gpuc_pin_llvmpipe(void);

/* Where the threads of this process may run. */
typedef struct gpuc_pins gpuc_pins;
/* Lets all of them run anywhere, for a driver that compiles on a thread of its own, and returns what was;
 * NULL: nothing was changed. */
gpuc_pins *gpuc_unpin(void);
/* Undoes it. */
void gpuc_pin_again(gpuc_pins *p);

#endif
