/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a package holds as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "inspect/inspect.h"
#include "text.h"

static void title(const char *text)
{
    printf("\n%s%s%s\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), text, cli_colour_off(STDOUT_FILENO));
}

static void print_tensors(const char *heading, const gpuc_tensor_info *t, uint32_t count)
{
    title(heading);
    for (uint32_t i = 0; i < count; i++) {
        char dtype[24], *dims = cli_dims_text(t[i].ndim, t[i].dims, t[i].dim_names);
        const char *image = gpuc_image_format_name(t[i].image);
        printf("  %u  %s  %s[%s]%s%s%s\n", i, t[i].name, gpuc_dtype_name(t[i].dtype, dtype), dims,
               t[i].has_default ? "  has a default value" : "", *image ? "  image " : "", image);
        free(dims);
    }
}

static void print_sections(const cli_inspected *p)
{
    char size[32];
    const gpuc_package_view *g = p->package;
    title("sections");
    printf("  %-12s %7s %6s %12s %12s  checksum\n", "type", "program", "index", "offset", "bytes");
    for (uint32_t i = 0; i < g->num_sections; i++) {
        const gpuc_package_section *s = &g->sections[i];
        char program[16] = "-", index[16] = "-";
        if (s->program != GPUC_PACKAGE_NONE) snprintf(program, sizeof program, "%u", s->program);
        if (s->index != GPUC_PACKAGE_NONE) snprintf(index, sizeof index, "%u", s->index);
        printf("  %-12s %7s %6s %12llu %12llu  %016llx%s\n", s->type, program, index,
               (unsigned long long)s->offset, (unsigned long long)s->bytes, (unsigned long long)s->checksum,
               !s->verified ? " (not verified: --check)" : "");
    }
    printf("  file: %s\n", cli_size_text(g->file_bytes, size));
}

/* Names, space-separated. From cli_alloc. */
static char *features_text(uint32_t features)
{
    cli_text text = {0};
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (features >> i & 1)
            cli_text_printf(&text, "%s%s", text.size ? " " : "", gpuc_feature_name((gpuc_feature)(1u << i)));
    return text.at ? text.at : cli_printf("%s", "");
}

static void print_cost(int64_t cost, const char *unit)
{
    if (cost < 0)
        printf("; unknown %s", unit);
    else
        printf("; %.3g %s", (double)cost / 1e6, unit);
}

static void print_kernels(const gpuc_package_program *p)
{
    printf("  kernels\n");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const gpuc_package_kernel *k = &p->kernels[i];
        char *features = features_text(k->features);
        printf("    %s: %s\n", k->name, k->label);
        printf("      %u tensors in %u bindings, %u scalars%s; local %u x %u x %u; groups %s x %s x %s",
               k->num_tensors, k->num_bindings, k->num_scalars, k->params_in_buffer ? " in a buffer" : "",
               k->local_size[0], k->local_size[1], k->local_size[2], k->launch[0].text, k->launch[1].text,
               k->launch[2].text);
        if (k->variant) printf("; a variant of the kernel above");
        if (k->limited) printf(" for devices that end loops");
        if (k->shared_bytes) printf("; shared %u bytes", k->shared_bytes);
        if (k->subgroup_size) printf("; subgroups of %u", k->subgroup_size);
        if (*features) printf("; needs %s", features);
        print_cost(k->cost_bytes, "MB");
        print_cost(k->cost_ops, "Mop");
        printf("\n      schedule: %s\n", k->schedule);
        free(features);
    }
}

/* "vector_add(A: float32[n], B: float32[n], n: int64)" */
static void print_functions(const gpuc_package_program *p)
{
    char dtype[24];
    printf("  functions\n");
    for (uint32_t i = 0; i < p->num_functions; i++) {
        const gpuc_package_function *f = &p->functions[i];
        printf("    %s(", f->name);
        for (uint32_t a = 0; a < f->num_arrays; a++) {
            const gpuc_package_array *array = &f->arrays[a];
            printf("%s%s: %s[", a ? ", " : "", array->name, gpuc_dtype_name(array->dtype, dtype));
            for (int d = 0; d < array->ndim; d++) printf("%s%s", d ? ", " : "", array->dims[d].text);
            printf("]");
        }
        for (uint32_t s = 0; s < f->num_scalars; s++)
            printf("%s%s: %s", s || f->num_arrays ? ", " : "", f->scalars[s].name,
                   gpuc_dtype_name(f->scalars[s].dtype, dtype));
        printf(")\n      ");
        for (uint32_t s = 0; s < f->num_steps; s++) printf("%s%s", s ? ", " : "launches ", f->kernels[s]);
        for (uint32_t w = 0; w < f->num_workspaces; w++)
            printf("%s%s bytes", w ? ", " : "; between them ", f->workspaces[w].text);
        printf("%s\n", f->num_steps ? "" : "launches nothing");
    }
}

const char *cli_inspect_device(gpuc_runtime *rt, const gpuc_package_program *p, gpuc_device_type type)
{
    static char name[64];
    const char *known = gpuc_device_type_name(rt, type);
    if (strcmp(known, "unknown") != 0) return known;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(p->target, " /"), p->target);
    return name;
}

static void print_nodes(gpuc_runtime *rt, const gpuc_package_program *p)
{
    printf("  operators\n");
    for (uint32_t i = 0; i < p->num_nodes; i++) {
        const gpuc_package_node *n = &p->nodes[i];
        printf("    %3u  %-7s %s  <- %s\n", i, cli_inspect_device(rt, p, n->device), n->name,
               *n->source ? n->source : "(the compiler)");
        for (uint32_t s = 0; s < n->num_steps; s++)
            printf("%s%s", s ? ", " : "                 ", n->kernels[s] ? n->kernels[s] : "copy");
        if (n->num_steps) printf("\n");
    }
}

static void print_memory(const gpuc_package_program *p)
{
    char text[32];
    printf("  memory plan\n");
    for (uint32_t i = 0; i < p->num_slots; i++) {
        const gpuc_package_slot *slot = &p->slots[i];
        if (slot->kind == GPUC_PACKAGE_WEIGHT) continue;
        printf("    slot %-4u %-7s %12s bytes  ", i, gpuc_package_slot_kind_name(slot->kind),
               slot->bytes.text);
        if (slot->used)
            printf("steps %u..%u", slot->first_step, slot->last_step);
        else
            printf("unused");
        printf("  %s\n", slot->values);
    }
    printf("    peak: %s in %u slots%s, weights: %s in %u tensors\n", cli_size_text(p->arena_bytes, text),
           p->num_arena_slots, p->num_open_arena_slots ? " (and those whose size depends on the inputs)" : "",
           cli_size_text(p->weight_bytes, (char[32]){0}), p->num_weights);
}

static void print_taken(const cli_inspected *p, uint32_t number)
{
    char *why_not;
    int taken = cli_inspect_taken(p, number, &why_not);
    if (taken >= 0) printf("  on this CPU: %s%s\n", taken ? "taken" : "not taken: ", taken ? "" : why_not);
    free(why_not);
}

static void print_program(const cli_inspected *p, uint32_t number)
{
    const gpuc_package_program *g = &p->package->programs[number];
    char size[32], *heading = cli_printf("program %u: target '%s'", number, g->target);
    title(heading);
    free(heading);
    printf("  device kind %s; ", cli_inspect_device(p->rt, g, g->device));
    if (p->package->is_library)
        printf("%u functions, %u kernels\n", g->num_functions, g->num_kernels);
    else
        printf("%u operators, %u steps, %u kernels\n", g->num_nodes, g->num_steps, g->num_kernels);
    for (uint32_t i = 0; i < g->num_modules; i++)
        printf("  module %u: %s%s%s, %s\n", i, g->modules[i].type, g->modules[i].machine ? " for " : "",
               g->modules[i].machine ? g->modules[i].machine : "", cli_size_text(g->modules[i].bytes, size));
    for (uint32_t i = 0; i < g->num_symbols; i++)
        printf("  symbol %s: dimension %u of input %u\n", g->symbols[i].name, g->symbols[i].dim,
               g->symbols[i].input);
    printf("  requires:");
    for (uint32_t i = 0; i < g->num_requirements; i++)
        if (strncmp(g->requirements[i].name, "cpu.", 4) == 0)
            printf(" %s", g->requirements[i].name);
        else
            printf(" %s>=%lld", g->requirements[i].name, (long long)g->requirements[i].at_least);
    printf("%s\n", g->num_requirements ? "" : " nothing beyond the specification's minimum");
    print_taken(p, number);
    if (p->package->is_library) print_functions(g);
    print_kernels(g);
    if (p->package->is_library) return;
    print_nodes(p->rt, g);
    print_memory(g);
}

void cli_inspect_print(const cli_inspected *p)
{
    const gpuc_package_view *g = p->package;
    printf("%s: %s of gpuc %s, %u program%s\n", p->path, g->is_library ? "library" : "package",
           g->gpuc_version, g->num_programs, g->num_programs == 1 ? "" : "s");
    if (!g->is_library) {
        print_tensors("inputs", g->inputs, g->num_inputs);
        print_tensors("outputs", g->outputs, g->num_outputs);
    }
    for (uint32_t i = 0; i < g->num_programs; i++) print_program(p, i);
    print_sections(p);
    if (*g->provenance) {
        title("provenance");
        printf("%s", g->provenance);
    }
}
