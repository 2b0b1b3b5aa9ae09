/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the operators: gpuc ops. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gpuc/op.h>

#include "cli.h"
#include "compile.h"
#include "json.h"

enum { OPT_JSON = CLI_LONG };

static const cli_option options[] = {
    {"json", OPT_JSON, NULL, "print JSON"},
};

typedef struct print_args {
    cli_json *json; /* NULL: text */
} print_args;

static const char *const systems[] = {"topi", "nnvm", "onnx"};

static const char *names_of(const gpuc_op *op, int system)
{
    const char *lists[] = {op->topi, op->nnvm, op->onnx};
    return lists[system] ? lists[system] : "";
}

static gpuc_dtypes types_of(const gpuc_op *op)
{
    return gpuc_op_types(op, gpuc_op_main_input(op));
}

/* Those of them that the bare target of the kind does not compute in: such calls run on the CPU device. */
static gpuc_dtypes on_cpu(gpuc_ctx *ctx, const gpuc_target_kind_row *kind, gpuc_dtypes set)
{
    const gpuc_target *t = gpuc_target_parse(ctx, kind->name, NULL);
    for (int i = 0; i < GPUC_DTYPE_COUNT; i++)
        if (gpuc_target_computes(t, gpuc_dtype_list[i])) set &= ~((gpuc_dtypes)1 << i);
    return set;
}

/* ---- Text: the name, what it takes, where it runs, other names ---- */

static void print_row(gpuc_ctx *ctx, const gpuc_op *op)
{
    printf("%s%s%s\n  types    %s\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), op->name,
           cli_colour_off(STDOUT_FILENO), gpuc_dtypes_text(ctx, types_of(op)));
    printf("  targets ");
    for (size_t k = 0; k < gpuc_target_kind_count(ctx); k++) {
        const gpuc_target_kind_row *kind = gpuc_target_kind_at(ctx, k);
        gpuc_dtypes elsewhere = on_cpu(ctx, kind, types_of(op));
        printf(" %s", kind->name);
        if (elsewhere) printf(" (%s on the CPU)", gpuc_dtypes_text(ctx, elsewhere));
    }
    printf("\n");
    for (int s = 0; s < 3; s++)
        if (*names_of(op, s)) printf("  %-8s %s\n", systems[s], names_of(op, s));
}

/* ---- JSON ---- */

static void json_names(cli_json *j, const char *name, const char *list)
{
    char one[GPUC_OP_NAME];
    cli_json_array(j, name);
    while ((list = gpuc_op_next_name(list, one))) cli_json_string(j, NULL, one);
    cli_json_end_array(j);
}

static void json_types(cli_json *j, const char *key, gpuc_dtypes set)
{
    char name[24];
    cli_json_array(j, key);
    for (int i = 0; i < GPUC_DTYPE_COUNT; i++)
        if (set >> i & 1) cli_json_string(j, NULL, gpuc_dtype_name(gpuc_dtype_list[i], name));
    cli_json_end_array(j);
}

static void json_row(gpuc_ctx *ctx, cli_json *j, const gpuc_op *op)
{
    cli_json_object(j, NULL);
    cli_json_string(j, "name", op->name);
    for (int s = 0; s < 3; s++) json_names(j, systems[s], names_of(op, s));
    json_types(j, "dtypes", types_of(op));
    cli_json_array(j, "targets");
    for (size_t k = 0; k < gpuc_target_kind_count(ctx); k++)
        cli_json_string(j, NULL, gpuc_target_kind_at(ctx, k)->name);
    cli_json_end_array(j);
    cli_json_object(j, "on_cpu");
    for (size_t k = 0; k < gpuc_target_kind_count(ctx); k++) {
        const gpuc_target_kind_row *kind = gpuc_target_kind_at(ctx, k);
        json_types(j, kind->name, on_cpu(ctx, kind, types_of(op)));
    }
    cli_json_end_object(j);
    cli_json_int(j, "min_inputs", op->min_in);
    cli_json_int(j, "max_inputs", op->max_in);
    cli_json_array(j, "attributes");
    for (const gpuc_attr_spec *a = op->attrs; a && a->name; a++) cli_json_string(j, NULL, a->name);
    cli_json_end_array(j);
    cli_json_end_object(j);
}

static void print_all(gpuc_ctx *ctx, void *arg)
{
    const print_args *p = arg;
    size_t n = gpuc_op_count(), added = gpuc_op_added_count(ctx);
    for (size_t i = 0; i < n + added; i++) {
        const gpuc_op *op = i < n ? gpuc_op_at(i) : gpuc_op_added_at(ctx, i - n);
        if (p->json)
            json_row(ctx, p->json, op);
        else
            print_row(ctx, op);
    }
}

static int run(const cli_command *c, int argc, char **argv)
{
    const char *value;
    gpuc_ctx *ctx = NULL;
    cli_runtime r;
    cli_json j;
    print_args p = {0};
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;)
        if (key == OPT_JSON) p.json = &j;
    cli_no_operands(c, argc, argv);
    cli_json_init(&j);
    cli_json_array(&j, NULL);
    gpuc_status status = cli_runtime_init(&r, &(cli_runtime_options){.no_devices = true});
    if (!status) status = cli_ctx_create(&r, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, print_all, &p);
    cli_json_end_array(&j);
    if (!status && p.json) cli_json_print(&j, stdout);
    cli_json_deinit(&j);
    gpuc_ctx_destroy(ctx);
    cli_runtime_deinit(&r);
    return cli_report(status);
}

const cli_command cli_ops_command = {
    .name = "ops",
    .operands = "[--json]",
    .about = "list the operators: their names in TOPI, NNVM and ONNX, element types and targets",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
