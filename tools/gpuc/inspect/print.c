/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a package holds as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "inspect/inspect.h"

static void title(const char *text)
{
    printf("\n%s%s%s\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), text, cli_colour_off(STDOUT_FILENO));
}

static void print_tensors(const char *heading, const gpuc_signature_tensor *t, uint32_t count)
{
    title(heading);
    for (uint32_t i = 0; i < count; i++) {
        char dtype[24], *dims = cli_dims_text((int)t[i].ndim, t[i].dims, t[i].dim_names);
        printf("  %u  %s  %s[%s]%s\n", i, t[i].name, gpuc_dtype_name(t[i].dtype, dtype), dims,
               t[i].value ? "  has a default value" : "");
        free(dims);
    }
}

static void print_sections(const cli_inspected *p)
{
    char size[32];
    title("sections");
    printf("  %-12s %7s %6s %12s %12s  checksum\n", "type", "program", "index", "offset", "bytes");
    for (uint32_t i = 0; i < p->num_sections; i++) {
        const gpuc_section_info *s = &p->sections[i];
        char program[16] = "-", index[16] = "-";
        if (s->program != GPUC_NO_INDEX) snprintf(program, sizeof program, "%u", s->program);
        if (s->type == GPUC_SECTION_MODULE) snprintf(index, sizeof index, "%u", s->index);
        printf("  %-12s %7s %6s %12llu %12llu  %016llx%s\n", gpuc_section_type_name(s->type), program, index,
               (unsigned long long)s->offset, (unsigned long long)s->size, (unsigned long long)s->checksum,
               s->type == GPUC_SECTION_WEIGHTS && !p->checked ? " (not verified: --check)" : "");
    }
    printf("  file: %s\n", cli_size_text(p->file_size, size));
}

static void print_cost(int64_t cost, const char *unit)
{
    if (cost < 0)
        printf("; unknown %s", unit);
    else
        printf("; %.3g %s", (double)cost / 1e6, unit);
}

static void print_kernels(const gpuc_package *package, uint32_t number)
{
    const gpuc_program *p = &package->programs[number];
    printf("  kernels\n");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const gpuc_kernel *k = &p->kernels[i];
        char *launch[3], *features = cli_features_text(k->features);
        for (int d = 0; d < 3; d++) launch[d] = cli_expr_text(p, k->launch[d]);
        printf("    %s: %s\n", k->name, k->label);
        printf("      %u tensors in %u bindings, %u scalars%s; local %u x %u x %u; groups %s x %s x %s",
               k->num_tensors, k->num_bindings, k->num_scalars, k->params_in_buffer ? " in a buffer" : "",
               k->local_size[0], k->local_size[1], k->local_size[2], launch[0], launch[1], launch[2]);
        if (k->variant) printf("; a variant of the kernel above");
        if (k->limited) printf(" for devices that end loops");
        if (k->shared_bytes) printf("; shared %u bytes", k->shared_bytes);
        if (k->subgroup_size) printf("; subgroups of %u", k->subgroup_size);
        if (*features) printf("; needs %s", features);
        print_cost(k->cost_bytes, "MB");
        print_cost(k->cost_ops, "Mop");
        char *configuration = cli_kernel_configuration(package, number, k->name);
        printf("\n      schedule: %s\n", configuration);
        free(configuration);
        for (int d = 0; d < 3; d++) free(launch[d]);
        free(features);
    }
}

static void print_nodes(const gpuc_program *p)
{
    printf("  operators\n");
    for (uint32_t i = 0; i < p->exec.num_nodes; i++) {
        const gpuc_exec_node *n = &p->exec.nodes[i];
        char *kernels = cli_node_kernels(p, n);
        printf("    %3u  %-7s %s  <- %s\n", i,
               gpuc_device_type_name((gpuc_device_type)p->exec.devices[n->device]), n->name,
               *n->source ? n->source : "(the compiler)");
        if (*kernels) printf("                 %s\n", kernels);
        free(kernels);
    }
}

static void print_memory(const gpuc_program *p)
{
    char text[32];
    cli_memory m = cli_memory_of(p);
    printf("  memory plan\n");
    for (uint32_t i = 0; i < p->exec.num_slots; i++) {
        const gpuc_exec_slot *slot = &p->exec.slots[i];
        if (slot->kind == GPUC_SLOT_WEIGHT) continue;
        uint32_t first, last;
        char *size = cli_expr_text(p, slot->size), *values = cli_slot_values(p, i);
        printf("    slot %-4u %-7s %12s bytes  ", i, cli_slot_kind_name(slot->kind), size);
        if (cli_slot_life(p, i, &first, &last))
            printf("steps %u..%u", first, last);
        else
            printf("unused");
        printf("  %s\n", values);
        free(size);
        free(values);
    }
    printf("    peak: %s in %u slots%s, weights: %s in %u tensors\n", cli_size_text(m.arena_bytes, text),
           m.arena_slots, m.symbolic ? " (and those whose size depends on the inputs)" : "",
           cli_size_text(p->weights_size, (char[32]){0}), p->exec.num_weights);
}

static void print_program(const cli_inspected *p, uint32_t number)
{
    const gpuc_program *g = &p->package.programs[number];
    char size[32], *heading = cli_printf("program %u: target '%s'", number, g->target);
    title(heading);
    free(heading);
    printf("  device kind %s; %u operators, %u steps, %u kernels\n",
           gpuc_device_type_name((gpuc_device_type)g->device_type), g->exec.num_nodes, g->exec.num_steps,
           g->num_kernels);
    for (uint32_t i = 0; i < g->num_modules; i++)
        printf("  module %u: %s, %s\n", i, g->modules[i].type_key, cli_size_text(g->modules[i].size, size));
    for (uint32_t i = 0; i < g->exec.num_symbols; i++)
        printf("  symbol %s: dimension %u of input %u\n", g->exec.symbols[i].name, g->exec.symbols[i].dim,
               g->exec.symbols[i].input);
    printf("  requires:");
    for (uint32_t i = 0; i < g->num_requirements; i++)
        if (strncmp(g->requirements[i].name, "cpu.", 4) == 0)
            printf(" %s", g->requirements[i].name);
        else
            printf(" %s>=%lld", g->requirements[i].name, (long long)g->requirements[i].at_least);
    printf("%s\n", g->num_requirements ? "" : " nothing beyond the specification's minimum");
    print_kernels(&p->package, number);
    print_nodes(g);
    print_memory(g);
}

void cli_inspect_print(const cli_inspected *p)
{
    const gpuc_package *g = &p->package;
    printf("%s: package of gpuc %s, %u program%s\n", p->path, g->gpuc_version, g->num_programs,
           g->num_programs == 1 ? "" : "s");
    print_tensors("inputs", g->signature.inputs, g->signature.num_inputs);
    print_tensors("outputs", g->signature.outputs, g->signature.num_outputs);
    for (uint32_t i = 0; i < g->num_programs; i++) print_program(p, i);
    print_sections(p);
    char *provenance = cli_provenance(g);
    if (*provenance) {
        title("provenance");
        printf("%s", provenance);
    }
    free(provenance);
}
