/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_CLI_INSPECT_H
#define GPUC_CLI_INSPECT_H

#include <gpuc/package.h>
#include <gpuc/runtime.h>

typedef struct cli_inspected {
    const char *path;
    gpuc_runtime *rt; /* knows the names of devices */
    bool checked;     /* the weights, too */
    const gpuc_package_view *package;
    gpuc_device *cpu; /* of this machine; NULL if gpuc was built without it */
} cli_inspected;

/* Whether the CPU device takes the program among those of the package: 1; 0: no, and why; -1: it is for other devices.
 * The caller frees the text. */
int cli_inspect_taken(const cli_inspected *p, uint32_t program, char **out_why_not);

/* The name of a kind of device: of one whose plug-in is not loaded, that of the program's kind of target, which the
 * package has in words. In a static buffer. */
const char *cli_inspect_device(gpuc_runtime *rt, const gpuc_package_program *p, gpuc_device_type type);

void cli_inspect_print(const cli_inspected *p);
void cli_inspect_json(const cli_inspected *p);

#endif
