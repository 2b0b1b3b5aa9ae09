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
} cli_inspected;

/* The name of a kind of device: of one whose plug-in is not loaded, that of the program's kind of target, which the
 * package has in words. In a static buffer. */
const char *cli_inspect_device(gpuc_runtime *rt, const gpuc_package_program *p, gpuc_device_type type);

void cli_inspect_print(const cli_inspected *p);
void cli_inspect_json(const cli_inspected *p);

#endif
