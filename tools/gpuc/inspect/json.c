/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a package holds as JSON. */
#include <stdlib.h>

#include "cli.h"
#include "inspect/inspect.h"
#include "json.h"

static void json_tensors(cli_json *j, const char *name, const gpuc_tensor_info *t, uint32_t count)
{
    cli_json_array(j, name);
    for (uint32_t i = 0; i < count; i++) {
        char dtype[24];
        cli_json_object(j, NULL);
        cli_json_string(j, "name", t[i].name);
        cli_json_string(j, "dtype", gpuc_dtype_name(t[i].dtype, dtype));
        cli_json_dims(j, "shape", t[i].ndim, t[i].dims, t[i].dim_names);
        cli_json_bool(j, "has_default", t[i].has_default);
        cli_json_string(j, "image", t[i].image ? gpuc_image_format_name(t[i].image) : NULL);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

/* A number where it is fixed, else the expression's text. */
static void json_number(cli_json *j, const char *name, const gpuc_package_number *n)
{
    if (n->fixed)
        cli_json_int(j, name, n->value);
    else
        cli_json_string(j, name, n->text);
}

static void json_cost(cli_json *j, const char *name, int64_t cost)
{
    if (cost < 0)
        cli_json_string(j, name, NULL);
    else
        cli_json_int(j, name, cost);
}

static void json_kernels(cli_json *j, const gpuc_package_program *p)
{
    cli_json_array(j, "kernels");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const gpuc_package_kernel *k = &p->kernels[i];
        cli_json_object(j, NULL);
        cli_json_string(j, "name", k->name);
        cli_json_string(j, "label", k->label);
        cli_json_int(j, "tensors", k->num_tensors);
        cli_json_int(j, "bindings", k->num_bindings);
        cli_json_int(j, "scalars", k->num_scalars);
        cli_json_array(j, "local_size");
        for (int d = 0; d < 3; d++) cli_json_int(j, NULL, k->local_size[d]);
        cli_json_end_array(j);
        cli_json_array(j, "launch");
        for (int d = 0; d < 3; d++) json_number(j, NULL, &k->launch[d]);
        cli_json_end_array(j);
        cli_json_array(j, "features");
        for (int f = 0; f < GPUC_FEATURE_COUNT; f++)
            if (k->features >> f & 1) cli_json_string(j, NULL, gpuc_feature_name((gpuc_feature)(1u << f)));
        cli_json_end_array(j);
        cli_json_int(j, "subgroup_size", k->subgroup_size);
        cli_json_bool(j, "variant", k->variant);
        cli_json_bool(j, "limited", k->limited);
        if (k->iterations.text) json_number(j, "iterations", &k->iterations);
        cli_json_int(j, "shared_bytes", k->shared_bytes);
        json_cost(j, "cost_bytes", k->cost_bytes);
        json_cost(j, "cost_ops", k->cost_ops);
        cli_json_int(j, "module", k->module);
        cli_json_string(j, "schedule", k->schedule);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

static void json_functions(cli_json *j, const gpuc_package_program *p)
{
    char dtype[24];
    cli_json_array(j, "functions");
    for (uint32_t i = 0; i < p->num_functions; i++) {
        const gpuc_package_function *f = &p->functions[i];
        cli_json_object(j, NULL);
        cli_json_string(j, "name", f->name);
        cli_json_array(j, "arrays");
        for (uint32_t a = 0; a < f->num_arrays; a++) {
            cli_json_object(j, NULL);
            cli_json_string(j, "name", f->arrays[a].name);
            cli_json_string(j, "dtype", gpuc_dtype_name(f->arrays[a].dtype, dtype));
            cli_json_array(j, "shape");
            for (int d = 0; d < f->arrays[a].ndim; d++) json_number(j, NULL, &f->arrays[a].dims[d]);
            cli_json_end_array(j);
            cli_json_end_object(j);
        }
        cli_json_end_array(j);
        cli_json_array(j, "scalars");
        for (uint32_t s = 0; s < f->num_scalars; s++) {
            cli_json_object(j, NULL);
            cli_json_string(j, "name", f->scalars[s].name);
            cli_json_string(j, "dtype", gpuc_dtype_name(f->scalars[s].dtype, dtype));
            cli_json_end_object(j);
        }
        cli_json_end_array(j);
        cli_json_array(j, "kernels");
        for (uint32_t s = 0; s < f->num_steps; s++) cli_json_string(j, NULL, f->kernels[s]);
        cli_json_end_array(j);
        cli_json_array(j, "workspace_bytes");
        for (uint32_t w = 0; w < f->num_workspaces; w++) json_number(j, NULL, &f->workspaces[w]);
        cli_json_end_array(j);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

static void json_nodes(cli_json *j, gpuc_runtime *rt, const gpuc_package_program *p)
{
    cli_json_array(j, "operators");
    for (uint32_t i = 0; i < p->num_nodes; i++) {
        const gpuc_package_node *n = &p->nodes[i];
        cli_json_object(j, NULL);
        cli_json_string(j, "name", n->name);
        cli_json_string(j, "source", n->source);
        cli_json_string(j, "device", cli_inspect_device(rt, p, n->device));
        cli_json_array(j, "kernels");
        for (uint32_t s = 0; s < n->num_steps; s++)
            cli_json_string(j, NULL, n->kernels[s] ? n->kernels[s] : "copy");
        cli_json_end_array(j);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

static void json_memory(cli_json *j, const gpuc_package_program *p)
{
    cli_json_object(j, "memory");
    cli_json_int(j, "peak_bytes", (int64_t)p->arena_bytes);
    cli_json_int(j, "arena_slots", p->num_arena_slots);
    cli_json_int(j, "symbolic_slots", p->num_open_arena_slots);
    cli_json_int(j, "weight_bytes", (int64_t)p->weight_bytes);
    cli_json_int(j, "weights", p->num_weights);
    cli_json_array(j, "slots");
    for (uint32_t i = 0; i < p->num_slots; i++) {
        const gpuc_package_slot *slot = &p->slots[i];
        if (slot->kind == GPUC_PACKAGE_WEIGHT) continue;
        cli_json_object(j, NULL);
        cli_json_int(j, "slot", i);
        cli_json_string(j, "kind", gpuc_package_slot_kind_name(slot->kind));
        json_number(j, "bytes", &slot->bytes);
        if (slot->used) {
            cli_json_int(j, "first_step", slot->first_step);
            cli_json_int(j, "last_step", slot->last_step);
        }
        cli_json_string(j, "values", slot->values);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
    cli_json_end_object(j);
}

static void json_taken(cli_json *j, const cli_inspected *all, uint32_t number)
{
    char *why_not;
    int taken = cli_inspect_taken(all, number, &why_not);
    if (taken >= 0) cli_json_bool(j, "taken_by_cpu", taken);
    if (why_not) cli_json_string(j, "not_taken", why_not);
    free(why_not);
}

static void json_program(cli_json *j, const cli_inspected *all, uint32_t number)
{
    gpuc_runtime *rt = all->rt;
    const gpuc_package_program *p = &all->package->programs[number];
    cli_json_object(j, NULL);
    cli_json_string(j, "target", p->target);
    cli_json_string(j, "device", cli_inspect_device(rt, p, p->device));
    cli_json_object(j, "requires");
    for (uint32_t i = 0; i < p->num_requirements; i++)
        cli_json_int(j, p->requirements[i].name, p->requirements[i].at_least);
    cli_json_end_object(j);
    cli_json_array(j, "modules");
    for (uint32_t i = 0; i < p->num_modules; i++) {
        cli_json_object(j, NULL);
        cli_json_string(j, "type", p->modules[i].type);
        if (p->modules[i].machine) cli_json_string(j, "machine", p->modules[i].machine);
        cli_json_int(j, "bytes", (int64_t)p->modules[i].bytes);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
    json_taken(j, all, number);
    cli_json_int(j, "steps", p->num_steps);
    if (p->num_functions) json_functions(j, p);
    json_kernels(j, p);
    if (!p->num_functions) json_nodes(j, rt, p);
    if (!p->num_functions) json_memory(j, p);
    cli_json_end_object(j);
}

void cli_inspect_json(const cli_inspected *p)
{
    const gpuc_package_view *g = p->package;
    cli_json j;
    cli_json_init(&j);
    cli_json_object(&j, NULL);
    cli_json_string(&j, "package", p->path);
    cli_json_int(&j, "bytes", (int64_t)g->file_bytes);
    cli_json_string(&j, "gpuc_version", g->gpuc_version);
    cli_json_bool(&j, "weights_verified", p->checked);
    if (!g->is_library) {
        json_tensors(&j, "inputs", g->inputs, g->num_inputs);
        json_tensors(&j, "outputs", g->outputs, g->num_outputs);
    }
    cli_json_array(&j, "programs");
    for (uint32_t i = 0; i < g->num_programs; i++) json_program(&j, p, i);
    cli_json_end_array(&j);
    cli_json_array(&j, "sections");
    for (uint32_t i = 0; i < g->num_sections; i++) {
        const gpuc_package_section *s = &g->sections[i];
        cli_json_object(&j, NULL);
        cli_json_string(&j, "type", s->type);
        if (s->program != GPUC_PACKAGE_NONE) cli_json_int(&j, "program", s->program);
        if (s->index != GPUC_PACKAGE_NONE) cli_json_int(&j, "index", s->index);
        cli_json_int(&j, "offset", (int64_t)s->offset);
        cli_json_int(&j, "bytes", (int64_t)s->bytes);
        cli_json_hex(&j, "checksum", s->checksum);
        cli_json_end_object(&j);
    }
    cli_json_end_array(&j);
    cli_json_string(&j, "provenance", g->provenance);
    cli_json_end_object(&j);
    cli_json_print(&j, stdout);
    cli_json_deinit(&j);
}
