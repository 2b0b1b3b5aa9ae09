/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of drivers on their processors. llvmpipe starts N rasterizer threads, named llvmpipe-0 to N-1, and
 * after them N threads for compute, which keep the name of the program. The scheduler often puts two of them
 * on one processor, which halves the speed of kernels of a few milliseconds; there is no switch for it, so
 * they are put in their places from outside. */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/quiet.h"

enum { MAX_TASKS = 512 };

static void task_name(int id, char out[32])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", id);
    FILE *f = fopen(path, "r");
    out[0] = 0;
    if (f && !fgets(out, 32, f)) out[0] = 0;
    if (f) fclose(f);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int list_tasks(int ids[MAX_TASKS])
{
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    if (!dir) return 0;
    for (const struct dirent *e; count < MAX_TASKS && (e = readdir(dir));)
        if (e->d_name[0] != '.') ids[count++] = atoi(e->d_name);
    closedir(dir);
    qsort(ids, (size_t)count, sizeof *ids, compare);
    return count;
}

void cli_pin_llvmpipe(void)
{
    int ids[MAX_TASKS], count = list_tasks(ids), rasterizers = 0, last = -1;
    for (int i = 0; i < count; i++) {
        char name[32];
        task_name(ids[i], name);
        if (strncmp(name, "llvmpipe-", 9)) continue;
        rasterizers++;
        last = i;
    }
    cpu_set_t allowed;
    if (rasterizers == 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int i = last + 1, cpu = -1; i < count && i <= last + rasterizers; i++) {
        do cpu = (cpu + 1) % CPU_SETSIZE;
        while (!CPU_ISSET(cpu, &allowed));
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(ids[i], sizeof one, &one);
    }
}

struct cli_pins {
    int count;
    struct {
        int id;
        cpu_set_t allowed;
    } at[MAX_TASKS];
};

cli_pins *cli_unpin(void)
{
    int ids[MAX_TASKS], count = list_tasks(ids);
    cpu_set_t all;
    cli_pins *p = calloc(1, sizeof *p);
    if (!p || sched_getaffinity(getpid(), sizeof all, &all) != 0) {
        free(p);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        cpu_set_t own;
        if (sched_getaffinity(ids[i], sizeof own, &own) != 0 || CPU_EQUAL(&own, &all)) continue;
        if (sched_setaffinity(ids[i], sizeof all, &all) != 0) continue;
        p->at[p->count].id = ids[i];
        p->at[p->count++].allowed = own;
    }
    return p;
}

void cli_pin_again(cli_pins *p)
{
    for (int i = 0; p && i < p->count; i++)
        sched_setaffinity(p->at[i].id, sizeof p->at[i].allowed, &p->at[i].allowed);
    free(p);
}
