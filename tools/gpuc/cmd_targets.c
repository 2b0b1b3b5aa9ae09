/* SPDX-License-Identifier: Apache-2.0 */
/* Lists target kinds, tags and attributes: gpuc targets. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gpuc/target.h>

#include "cli.h"
#include "compile.h"
#include "json.h"

enum { OPT_JSON = CLI_LONG };

static const cli_option options[] = {
    {"json", OPT_JSON, NULL, "print JSON"},
    {"attributes", 'a', NULL, "list the attributes, too, with their values for each bare kind"},
};

/* Whether the attribute means something for every kind. */
static bool is_common(gpuc_ctx *ctx, const char *name)
{
    size_t have = 0, n = gpuc_target_kind_count(ctx);
    for (size_t k = 0; k < n; k++)
        for (const gpuc_target_attr_row *a = gpuc_target_kind_at(ctx, k)->attrs; a->name; a++)
            have += !a->kept && strcmp(a->name, name) == 0;
    return have == n;
}

static void print_own(gpuc_ctx *ctx, const gpuc_target_kind_row *kind)
{
    for (const gpuc_target_attr_row *a = kind->attrs; a->name; a++)
        if (!a->kept && !is_common(ctx, a->name))
            printf("  %-22s of kind %s: %s\n", a->name, kind->name, a->about);
}

static void print_kept(const gpuc_target_kind_row *kind)
{
    int width = 0;
    printf("\ntaken and kept since TVM has them, without an effect:");
    for (const gpuc_target_attr_row *a = kind->attrs; a->name; a++) {
        if (!a->kept) continue;
        if (width == 0) printf("\n ");
        width += printf(" %s", a->name);
        if (width > 90) width = 0;
    }
    printf("\n");
}

/* The attributes of all kinds are the first ones of each, in one order. */
static void print_attributes(gpuc_ctx *ctx)
{
    size_t n = gpuc_target_kind_count(ctx);
    const gpuc_target_kind_row *first = gpuc_target_kind_at(ctx, 0);
    printf("\n%-24s", "attributes (-name=value)");
    for (size_t k = 0; k < n; k++) printf("%*s", k ? 12 : 15, gpuc_target_kind_at(ctx, k)->name);
    printf("\n");
    for (size_t i = 0; first->attrs[i].name; i++) {
        if (!is_common(ctx, first->attrs[i].name)) continue;
        printf("  %-22s", first->attrs[i].name);
        for (size_t k = 0; k < n; k++)
            printf("%*lld", k ? 12 : 15, (long long)gpuc_target_kind_at(ctx, k)->attrs[i].i);
        printf("  %s\n", first->attrs[i].about);
    }
    for (size_t k = 0; k < n; k++) print_own(ctx, gpuc_target_kind_at(ctx, k));
    print_kept(first);
}

static void print_row(const char *name, const char *about)
{
    printf("%s%-18s%s %s\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), name, cli_colour_off(STDOUT_FILENO),
           about);
}

static void print_rows(gpuc_ctx *ctx)
{
    for (size_t i = 0; i < gpuc_target_kind_count(ctx); i++)
        print_row(gpuc_target_kind_at(ctx, i)->name, gpuc_target_kind_at(ctx, i)->about);
    for (size_t i = 0; i < gpuc_target_tag_count(ctx); i++)
        print_row(gpuc_target_tag_at(ctx, i)->name, gpuc_target_tag_at(ctx, i)->about);
    printf("\nAttributes follow the name, as in 'vulkan -max_num_threads=1024'; -from_device=0 fills them "
           "from a device.\n");
}

static void json_row(gpuc_ctx *ctx, cli_json *j, const char *name, const char *about)
{
    const gpuc_target *t = gpuc_target_parse(ctx, name, NULL);
    cli_json_object(j, NULL);
    cli_json_string(j, "name", name);
    cli_json_string(j, "kind", gpuc_target_kind(t));
    cli_json_string(j, "about", about);
    const gpuc_target_kind_row *kind = gpuc_target_kind_find(ctx, gpuc_target_kind(t));
    cli_json_string(j, "device", kind->device);
    cli_json_object(j, "attributes");
    for (const gpuc_target_attr_row *a = kind->attrs; a->name; a++) {
        switch (a->type) {
        case GPUC_TARGET_INT: cli_json_int(j, a->name, gpuc_target_get_int(t, a->name)); break;
        case GPUC_TARGET_BOOL: cli_json_bool(j, a->name, gpuc_target_get_bool(t, a->name)); break;
        case GPUC_TARGET_STRING: cli_json_string(j, a->name, gpuc_target_get_string(t, a->name)); break;
        }
    }
    cli_json_end_object(j);
    cli_json_end_object(j);
}

static void json_rows(gpuc_ctx *ctx, void *arg)
{
    for (size_t i = 0; i < gpuc_target_kind_count(ctx); i++)
        json_row(ctx, arg, gpuc_target_kind_at(ctx, i)->name, gpuc_target_kind_at(ctx, i)->about);
    for (size_t i = 0; i < gpuc_target_tag_count(ctx); i++)
        json_row(ctx, arg, gpuc_target_tag_at(ctx, i)->name, gpuc_target_tag_at(ctx, i)->about);
}

static gpuc_status print_json(gpuc_ctx *ctx)
{
    cli_json j;
    cli_json_init(&j);
    cli_json_array(&j, NULL);
    gpuc_status status = gpuc_ctx_protect(ctx, json_rows, &j);
    cli_json_end_array(&j);
    if (!status) cli_json_print(&j, stdout);
    cli_json_deinit(&j);
    return status;
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
    cli_runtime r;
    gpuc_ctx *ctx = NULL;
    gpuc_status status = cli_runtime_init(&r, &(cli_runtime_options){.no_devices = true});
    if (!status) status = cli_ctx_create(&r, &ctx);
    if (!status && json) status = print_json(ctx);
    if (!status && !json) print_rows(ctx);
    if (!status && !json && attributes) print_attributes(ctx);
    gpuc_ctx_destroy(ctx);
    cli_runtime_deinit(&r);
    return cli_report(status);
}

const cli_command cli_targets_command = {
    .name = "targets",
    .operands = "[--json]",
    .about = "list the targets that code can be made for",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
