/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a package holds: gpuc inspect. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gpuc/devices.h>

#include "cli.h"
#include "inspect/inspect.h"

enum { OPT_CHECK = CLI_LONG, OPT_JSON };

static const cli_option options[] = {
    {"check", OPT_CHECK, NULL, "verify the checksum of the weights as well"},
    {"json", OPT_JSON, NULL, "print JSON"},
};

static gpuc_status open_cpu(gpuc_runtime *rt, gpuc_device **out)
{
    *out = NULL;
#if GPUC_HAVE_CPU
    GPUC_TRY(gpuc_cpu_register(rt));
    return gpuc_device_open(rt, GPUC_DEVICE_CPU, 0, out);
#else
    (void)rt;
    return NULL;
#endif
}

static gpuc_status inspect(gpuc_runtime *rt, const char *path, bool check, bool json)
{
    gpuc_package_view *package;
    gpuc_device *cpu;
    GPUC_TRY(open_cpu(rt, &cpu));
    GPUC_TRY(gpuc_package_view_load(NULL, path, check, &package));
    cli_inspected p = {.path = path, .rt = rt, .checked = check, .package = package, .cpu = cpu};
    if (json)
        cli_inspect_json(&p);
    else
        cli_inspect_print(&p);
    gpuc_package_view_release(package);
    return NULL;
}

static int run(const cli_command *c, int argc, char **argv)
{
    bool check = false, json = false;
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        if (key == OPT_CHECK) check = true;
        if (key == OPT_JSON) json = true;
    }
    const char *path = cli_only_operand(c, argc, argv, "package");
    cli_runtime r;
    gpuc_status status = cli_runtime_init(&r, &(cli_runtime_options){.no_devices = true});
    if (!status) status = inspect(r.rt, path, check, json);
    cli_runtime_deinit(&r);
    return cli_report(status);
}

const cli_command cli_inspect_command = {
    .name = "inspect",
    .operands = "PKG [--check] [--json]",
    .about = "show what a package holds",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
