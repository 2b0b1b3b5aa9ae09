/* SPDX-License-Identifier: Apache-2.0 */
/* A strict device: a vkGetInstanceProcAddr around the system's that shows what a software driver
 * hides. It reports the specification's minimum limits and features and Vulkan 1.1, offset
 * alignments of 256, device memory that the host cannot map, and host memory that is not coherent:
 * what is not flushed stays unseen. New memory is poisoned.
 *
 * It refuses what it does not report: functions, extensions, features, SPIR-V capabilities, formats,
 * and whatever exceeds a limit. A refusal is printed and counted; the call returns an error, or the
 * device is lost if the call returns nothing. One device at a time. */
#ifndef GPUC_TESTS_STRICT_H
#define GPUC_TESTS_STRICT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct strict_options {
    uint64_t heap_bytes; /* of device memory; 0: 2 GiB */
    int lose_at_submit;  /* the device is lost at this submission, counted from 1; 0: never */
    int lose_at_wait;    /* at this wait for a fence */
    bool timestamps;     /* queues have them, which is optional */
    bool resizable_bar;  /* the host can map all device memory, which it does not cache */
    int fail_at;         /* this call that makes something runs out of host memory, from 1; 0: none */
} strict_options;

/* Resets the counts. system is the real vkGetInstanceProcAddr; returns ours. */
void *strict_begin(void *system, const strict_options *options);
uint64_t strict_heap_in_use(void);
/* Calls that broke the rules (mapping device memory, unaligned flushes, ...); 0 is right. */
int strict_violations(void);

#endif
