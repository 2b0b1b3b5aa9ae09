/* SPDX-License-Identifier: Apache-2.0 */
/* Lists target kinds, presets and attributes: gpuc targets. */
#include <stdio.h>
#include <unistd.h>

#include <gpuc/target.h>

#include "cli.h"
#include "json.h"

enum { OPT_JSON = CLI_LONG };

static const cli_option options[] = {
    {"json", OPT_JSON, NULL, "print JSON"},
    {"attributes", 'a', NULL, "list the attributes, too, with their values for each bare kind"},
};

static void print_attributes(void)
{
    printf("\n%-24s", "attributes (-name=value)");
    for (int k = 0; k < gpuc_target_num_kinds(); k++) printf("%*s", k ? 12 : 15, gpuc_target_kind_name(k));
    printf("\n");
    for (int i = 0; i < gpuc_target_num_attrs(); i++) {
        printf("  %-22s", gpuc_target_attr_name(i));
        for (int k = 0; k < gpuc_target_num_kinds(); k++)
            printf("%*lld", k ? 12 : 15, (long long)gpuc_target_attr_default(i, k));
        printf("  %s\n", gpuc_target_attr_about(i));
    }
    printf("  kind c also has -cc=COMMAND, -mcpu=NAME (native: this machine's) and -cflags='...'.\n");
}

static void print_rows(void)
{
    for (size_t i = 0; i < gpuc_target_preset_count(); i++)
        printf("%s%-18s%s %s\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), gpuc_target_preset_name(i),
               cli_colour_off(STDOUT_FILENO), gpuc_target_preset_about(i));
    printf("\nAttributes follow the name, as in 'vulkan -max_num_threads=1024'; -from_device=0 fills them "
           "from a device.\n");
}

static void json_rows(gpuc_ctx *ctx, void *arg)
{
    cli_json *j = arg;
    for (size_t i = 0; i < gpuc_target_preset_count(); i++) {
        const gpuc_target *t = gpuc_target_parse(ctx, gpuc_target_preset_name(i), NULL);
        cli_json_object(j, NULL);
        cli_json_string(j, "name", gpuc_target_preset_name(i));
        cli_json_string(j, "kind", gpuc_target_kind(t));
        cli_json_string(j, "about", gpuc_target_preset_about(i));
        cli_json_string(j, "device", gpuc_device_type_name(gpuc_target_device_type(t)));
        cli_json_object(j, "attributes");
        for (int a = 0; a < gpuc_target_num_attrs(); a++)
            cli_json_int(j, gpuc_target_attr_name(a), gpuc_target_attr(t, gpuc_target_attr_name(a)));
        cli_json_end_object(j);
        cli_json_end_object(j);
    }
}

static int print_json(void)
{
    gpuc_ctx *ctx;
    cli_json j;
    cli_json_init(&j);
    cli_json_array(&j, NULL);
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, json_rows, &j);
    cli_json_end_array(&j);
    if (!status) cli_json_print(&j, stdout);
    cli_json_deinit(&j);
    gpuc_ctx_destroy(ctx);
    return cli_report(status);
}

static int run(const cli_command *c, int argc, char **argv)
{
    bool json = false, attributes = false;
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        if (key == OPT_JSON) json = true;
        if (key == 'a') attributes = true;
    }
    cli_no_operands(c, argc, argv);
    if (json) return print_json();
    print_rows();
    if (attributes) print_attributes();
    return 0;
}

const cli_command cli_targets_command = {
    .name = "targets",
    .operands = "[--json]",
    .about = "list the targets that code can be made for",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
