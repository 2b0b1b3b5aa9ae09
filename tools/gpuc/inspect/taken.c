/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which program of a package this machine's CPU takes, and what it lacks for the others. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "inspect/inspect.h"
#include "text.h"

#define SET "cpu."

static bool has(const char *sets, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = sets; at && (at = strstr(at, name)); at += n)
        if (at > sets && at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

/* NULL: the CPU runs it. From cli_alloc. */
static char *missing(const cli_inspected *p, const gpuc_package_program *g)
{
    const char *sets = gpuc_device_get_attr(p->cpu, GPUC_ATTR_INSTRUCTION_SETS).s;
    cli_text list = {0};
    for (uint32_t i = 0; i < g->num_modules; i++)
        if (g->modules[i].foreign) return cli_printf("its code is for %s", g->modules[i].machine);
    for (uint32_t i = 0; i < g->num_requirements; i++) {
        const char *name = g->requirements[i].name;
        if (strncmp(name, SET, strlen(SET)) == 0 && !has(sets, name + strlen(SET)))
            cli_text_printf(&list, "%s%s", list.size ? " " : "it lacks ", name + strlen(SET));
    }
    return list.at;
}

int cli_inspect_taken(const cli_inspected *p, uint32_t program, char **out_why_not)
{
    const gpuc_package_view *g = p->package;
    *out_why_not = NULL;
    if (!p->cpu || g->programs[program].device != GPUC_DEVICE_CPU) return -1;
    *out_why_not = missing(p, &g->programs[program]);
    for (uint32_t i = 0; i < program && !*out_why_not; i++) {
        char *lacks = g->programs[i].device == GPUC_DEVICE_CPU ? missing(p, &g->programs[i]) : NULL;
        if (g->programs[i].device == GPUC_DEVICE_CPU && !lacks)
            *out_why_not = cli_printf("program %u is before it", i);
        free(lacks);
    }
    return !*out_why_not;
}
