/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_CLI_INSPECT_H
#define GPUC_CLI_INSPECT_H

#include <gpuc/package.h>

typedef struct cli_inspected {
    const char *path;
    bool checked; /* the weights, too */
    const gpuc_package_view *package;
} cli_inspected;

/* The name of a kind of device: of one of a plug-in, that of the program's kind of target, which the package has in
 * words. In a static buffer. */
const char *cli_inspect_device(const gpuc_package_program *p, gpuc_device_type type);

void cli_inspect_print(const cli_inspected *p);
void cli_inspect_json(const cli_inspected *p);

#endif
