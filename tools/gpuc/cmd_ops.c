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
    int n;          /* operators that are asked for; 0: all */
    char **names;
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

typedef struct alias_args {
    const gpuc_op *op;
    cli_json *json; /* NULL: text */
    int n;
} alias_args;

static void next_alias(void *arg, const char *name, const gpuc_op *row)
{
    alias_args *a = arg;
    if (row != a->op) return;
    if (a->json)
        cli_json_string(a->json, NULL, name);
    else
        printf("%s%s", a->n ? "," : "  aliases  ", name);
    a->n++;
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
    alias_args aliases = {.op = op};
    gpuc_op_each_alias(next_alias, &aliases);
    if (aliases.n) printf("\n");
}

static const char *const kinds[GPUC_ATTR_KIND_COUNT] = {
    [GPUC_ATTR_INT] = "integer",   [GPUC_ATTR_FLOAT] = "float",   [GPUC_ATTR_STRING] = "string",
    [GPUC_ATTR_INTS] = "integers", [GPUC_ATTR_FLOATS] = "floats", [GPUC_ATTR_DTYPE] = "element type",
};

/* What the attribute has where a call does not name it; "": it must. */
static const char *default_of(const gpuc_attr_spec *a, char text[64])
{
    char name[24];
    static const char *const each[] = {"[]", "%lld for each dimension", "%lld for each spatial dimension",
                                       "%lld for each side"};
    if (a->required) return "";
    switch (a->kind) {
    case GPUC_ATTR_INT: snprintf(text, 64, "%lld", (long long)a->i); break;
    case GPUC_ATTR_FLOAT: snprintf(text, 64, "%g", a->f); break;
    case GPUC_ATTR_STRING: snprintf(text, 64, "\"%s\"", a->s ? a->s : ""); break;
    case GPUC_ATTR_INTS: snprintf(text, 64, each[a->each], (long long)a->i); break;
    case GPUC_ATTR_FLOATS: snprintf(text, 64, "%s", a->s ? a->s : "[]"); break;
    case GPUC_ATTR_DTYPE:
        snprintf(text, 64, "%s", a->dtype.bits ? gpuc_dtype_name(a->dtype, name) : "none");
        break;
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return text;
}

/* What another spelling without a word about it says: the attribute, values of it, or the only values. */
static void print_spelling(const gpuc_op *op, const gpuc_attr_spec *a)
{
    const gpuc_attr_spec *own = op->attrs;
    const char *values = strchr(a->to, '|');
    while (own->name && strcmp(own->name, a->to) != 0) own++;
    if (values)
        printf(" of %.*s: %s", (int)(values - a->to), a->to, values + 1);
    else
        printf(own->name ? " of %s" : ": %s only", a->to);
}

static void print_attr(const gpuc_op *op, const gpuc_attr_spec *a)
{
    char text[64];
    const char *given = a->take ? "" : default_of(a, text);
    printf("    %-20s %s", a->name, kinds[a->kind]);
    if (a->take == gpuc_op_take_refused)
        printf(", refused");
    else if (a->take)
        printf(", another spelling");
    if (a->take && a->to && !a->about) print_spelling(op, a);
    if (!a->take && a->required) printf(", required");
    if (*given) printf(", default %s", given);
    if (a->about) printf(": %s", a->about);
    printf("\n");
}

static void print_attrs(const gpuc_op *op)
{
    if (op->attrs && op->attrs->name) printf("  attributes\n");
    for (const gpuc_attr_spec *a = op->attrs; a && a->name; a++) print_attr(op, a);
}

/* Inputs with the types that they may have, and how fusion treats the operator. */
static void print_inputs(gpuc_ctx *ctx, const gpuc_op *op)
{
    static const char *const patterns[] = {
        [GPUC_FUSE_ELEMWISE] = "elementwise", [GPUC_FUSE_BROADCAST] = "broadcast",
        [GPUC_FUSE_INJECTIVE] = "injective",  [GPUC_FUSE_REDUCE] = "reduction",
        [GPUC_FUSE_OUT_FUSABLE] = "complex",  [GPUC_FUSE_OPAQUE] = "opaque"};
    int last = GPUC_OP_TYPED - 1, shown = op->max_in;
    while (last > 0 && !op->types[last]) last--;
    if (op->max_in < 0)
        printf("  inputs   %d or more\n", op->min_in);
    else if (op->max_in == op->min_in)
        printf("  inputs   %d\n", op->min_in);
    else
        printf("  inputs   %d to %d\n", op->min_in, op->max_in);
    if (shown < 0 || shown > last + 1) shown = last + 1;
    for (int i = 0; i < shown; i++) {
        gpuc_dtypes set = op->types[i];
        const char *more = i == shown - 1 && shown != op->max_in ? ", and all further ones" : "";
        if (set & (GPUC_T_LIKE | GPUC_T_LIKE_1))
            printf("    %-8d as input %d%s\n", i, set & GPUC_T_LIKE ? 0 : 1, more);
        else
            printf("    %-8d %s%s\n", i, gpuc_dtypes_text(ctx, gpuc_op_types(op, i)), more);
    }
    const char *relation = gpuc_op_relation(ctx, op);
    printf("  results  %s\n", relation ? relation : "depend on values of inputs or on attributes");
    printf("  fused as %s\n", patterns[op->pattern]);
}

/* Kinds of targets that nobody has registered, which may be misspelt. */
static void print_unknown(gpuc_ctx *ctx, const char *targets)
{
    char kind[GPUC_OP_NAME];
    while ((targets = gpuc_op_next_name(targets, kind)))
        if (!gpuc_target_kind_find(ctx, kind)) printf(", no target '%s' here", kind);
}

static void print_implementations(gpuc_ctx *ctx, const gpuc_op *op)
{
    const gpuc_op_implementation *m = gpuc_op_implementation_at(ctx, op->name, 0);
    if (m) printf("  implementations beside its own, of priority %d\n", GPUC_OP_OWN_PRIORITY);
    for (size_t i = 0; (m = gpuc_op_implementation_at(ctx, op->name, i)); i++) {
        printf("    %-20s %s, priority %d%s", m->name, m->targets ? m->targets : "all targets", m->priority,
               m->applies ? ", for some calls" : "");
        print_unknown(ctx, m->targets);
        printf("\n");
    }
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

/* One way in which calls may have an attribute. */
static void json_attr(cli_json *j, const gpuc_attr_spec *a)
{
    char text[64];
    cli_json_object(j, NULL);
    cli_json_string(j, "name", a->name);
    cli_json_string(j, "kind", kinds[a->kind]);
    cli_json_bool(j, "spelling", a->take != NULL);
    cli_json_bool(j, "refused", a->take == gpuc_op_take_refused);
    cli_json_bool(j, "required", !a->take && a->required);
    if (!a->take && !a->required) cli_json_string(j, "default", default_of(a, text));
    if (a->take && a->to) cli_json_string(j, "to", a->to);
    if (a->about) cli_json_string(j, "about", a->about);
    cli_json_end_object(j);
}

static void json_row(gpuc_ctx *ctx, cli_json *j, const gpuc_op *op)
{
    cli_json_object(j, NULL);
    cli_json_string(j, "name", op->name);
    for (int s = 0; s < 3; s++) json_names(j, systems[s], names_of(op, s));
    alias_args aliases = {.op = op, .json = j};
    cli_json_array(j, "aliases");
    gpuc_op_each_alias(next_alias, &aliases);
    cli_json_end_array(j);
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
    cli_json_array(j, "implementations");
    const gpuc_op_implementation *m;
    for (size_t i = 0; (m = gpuc_op_implementation_at(ctx, op->name, i)); i++) {
        cli_json_object(j, NULL);
        cli_json_string(j, "name", m->name);
        cli_json_string(j, "targets", m->targets ? m->targets : "");
        cli_json_int(j, "priority", m->priority);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
    cli_json_array(j, "attributes");
    for (const gpuc_attr_spec *a = op->attrs; a && a->name; a++)
        if (!a->take) cli_json_string(j, NULL, a->name);
    cli_json_end_array(j);
    cli_json_array(j, "written");
    for (const gpuc_attr_spec *a = op->attrs; a && a->name; a++) json_attr(j, a);
    cli_json_end_array(j);
    cli_json_end_object(j);
}

static void print_one(gpuc_ctx *ctx, const print_args *p, const gpuc_op *op)
{
    if (p->json)
        json_row(ctx, p->json, op);
    else
        print_row(ctx, op);
    if (!p->json && p->n) print_inputs(ctx, op);
    if (!p->json && p->n) print_attrs(op);
    if (!p->json && p->n) print_implementations(ctx, op);
}

static void print_all(gpuc_ctx *ctx, void *arg)
{
    const print_args *p = arg;
    size_t n = gpuc_op_count(), added = gpuc_op_added_count(ctx);
    for (int i = 0; i < p->n; i++) print_one(ctx, p, gpuc_op_get(ctx, p->names[i]));
    for (size_t i = 0; i < n + added && !p->n; i++)
        print_one(ctx, p, i < n ? gpuc_op_at(i) : gpuc_op_added_at(ctx, i - n));
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
    p.n = argc - optind;
    p.names = argv + optind;
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
    .operands = "[--json] [NAME...]",
    .about = "list the operators: their names in TOPI, NNVM and ONNX, element types and targets;\n"
             "for those named, by any name, also inputs, attributes, and how other systems spell them",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
