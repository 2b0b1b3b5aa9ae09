/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a package holds as JSON. */
#include <stdlib.h>

#include "cli.h"
#include "inspect/inspect.h"
#include "json.h"

static void json_tensors(cli_json *j, const char *name, const gpuc_signature_tensor *t, uint32_t count)
{
    cli_json_array(j, name);
    for (uint32_t i = 0; i < count; i++) {
        char dtype[24];
        cli_json_object(j, NULL);
        cli_json_string(j, "name", t[i].name);
        cli_json_string(j, "dtype", gpuc_dtype_name(t[i].dtype, dtype));
        cli_json_dims(j, "shape", (int)t[i].ndim, t[i].dims, t[i].dim_names);
        cli_json_bool(j, "has_default", t[i].value != NULL);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

/* A number where it is fixed, else the expression's text. */
static void json_expr(cli_json *j, const char *name, const gpuc_program *p, gpuc_xexpr e)
{
    int64_t v;
    char *text = cli_expr_text(p, e);
    if (gpuc_xexpr_is_const(e, &v))
        cli_json_int(j, name, v);
    else
        cli_json_string(j, name, text);
    free(text);
}

static void json_cost(cli_json *j, const char *name, int64_t cost)
{
    if (cost < 0)
        cli_json_string(j, name, NULL);
    else
        cli_json_int(j, name, cost);
}

static void json_kernels(cli_json *j, const gpuc_package *package, uint32_t number)
{
    const gpuc_program *p = &package->programs[number];
    cli_json_array(j, "kernels");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const gpuc_kernel *k = &p->kernels[i];
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
        for (int d = 0; d < 3; d++) json_expr(j, NULL, p, k->launch[d]);
        cli_json_end_array(j);
        cli_json_array(j, "features");
        for (int f = 0; f < GPUC_FEATURE_COUNT; f++)
            if (k->features >> f & 1) cli_json_string(j, NULL, gpuc_feature_name((gpuc_feature)(1u << f)));
        cli_json_end_array(j);
        cli_json_int(j, "subgroup_size", k->subgroup_size);
        cli_json_bool(j, "variant", k->variant);
        cli_json_bool(j, "limited", k->limited);
        if (k->rounds.count) json_expr(j, "rounds", p, k->rounds);
        cli_json_int(j, "shared_bytes", k->shared_bytes);
        json_cost(j, "cost_bytes", k->cost_bytes);
        json_cost(j, "cost_ops", k->cost_ops);
        cli_json_int(j, "module", k->module);
        char *schedule = cli_kernel_configuration(package, number, k->name);
        cli_json_string(j, "schedule", schedule);
        free(schedule);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

static void json_nodes(cli_json *j, const gpuc_program *p)
{
    cli_json_array(j, "operators");
    for (uint32_t i = 0; i < p->exec.num_nodes; i++) {
        const gpuc_exec_node *n = &p->exec.nodes[i];
        cli_json_object(j, NULL);
        cli_json_string(j, "name", n->name);
        cli_json_string(j, "source", n->source);
        cli_json_string(j, "device", gpuc_device_type_name((gpuc_device_type)p->exec.devices[n->device]));
        cli_json_array(j, "kernels");
        for (uint32_t s = 0; s < n->num_steps; s++) {
            const gpuc_exec_step *step = &p->exec.steps[n->first_step + s];
            cli_json_string(j, NULL, step->kind == GPUC_STEP_LAUNCH ? p->kernels[step->kernel].name : "copy");
        }
        cli_json_end_array(j);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
}

static void json_memory(cli_json *j, const gpuc_program *p)
{
    cli_memory m = cli_memory_of(p);
    cli_json_object(j, "memory");
    cli_json_int(j, "peak_bytes", (int64_t)m.arena_bytes);
    cli_json_int(j, "arena_slots", m.arena_slots);
    cli_json_int(j, "symbolic_slots", m.symbolic);
    cli_json_int(j, "weight_bytes", (int64_t)p->weights_size);
    cli_json_int(j, "weights", p->exec.num_weights);
    cli_json_array(j, "slots");
    for (uint32_t i = 0; i < p->exec.num_slots; i++) {
        uint32_t first, last;
        if (p->exec.slots[i].kind == GPUC_SLOT_WEIGHT) continue;
        char *values = cli_slot_values(p, i);
        cli_json_object(j, NULL);
        cli_json_int(j, "slot", i);
        cli_json_string(j, "kind", cli_slot_kind_name(p->exec.slots[i].kind));
        json_expr(j, "bytes", p, p->exec.slots[i].size);
        if (cli_slot_life(p, i, &first, &last)) {
            cli_json_int(j, "first_step", first);
            cli_json_int(j, "last_step", last);
        }
        cli_json_string(j, "values", values);
        cli_json_end_object(j);
        free(values);
    }
    cli_json_end_array(j);
    cli_json_end_object(j);
}

static void json_program(cli_json *j, const gpuc_package *package, uint32_t number)
{
    const gpuc_program *p = &package->programs[number];
    cli_json_object(j, NULL);
    cli_json_string(j, "target", p->target);
    cli_json_string(j, "device", gpuc_device_type_name((gpuc_device_type)p->device_type));
    cli_json_object(j, "requires");
    for (uint32_t i = 0; i < p->num_requirements; i++)
        cli_json_int(j, p->requirements[i].name, p->requirements[i].at_least);
    cli_json_end_object(j);
    cli_json_array(j, "modules");
    for (uint32_t i = 0; i < p->num_modules; i++) {
        cli_json_object(j, NULL);
        cli_json_string(j, "type", p->modules[i].type_key);
        cli_json_int(j, "bytes", (int64_t)p->modules[i].size);
        cli_json_end_object(j);
    }
    cli_json_end_array(j);
    cli_json_int(j, "steps", p->exec.num_steps);
    json_kernels(j, package, number);
    json_nodes(j, p);
    json_memory(j, p);
    cli_json_end_object(j);
}

void cli_inspect_json(const cli_inspected *p)
{
    const gpuc_package *g = &p->package;
    cli_json j;
    cli_json_init(&j);
    cli_json_object(&j, NULL);
    cli_json_string(&j, "package", p->path);
    cli_json_int(&j, "bytes", (int64_t)p->file_size);
    cli_json_string(&j, "gpuc_version", g->gpuc_version);
    cli_json_bool(&j, "weights_verified", p->checked);
    json_tensors(&j, "inputs", g->signature.inputs, g->signature.num_inputs);
    json_tensors(&j, "outputs", g->signature.outputs, g->signature.num_outputs);
    cli_json_array(&j, "programs");
    for (uint32_t i = 0; i < g->num_programs; i++) json_program(&j, g, i);
    cli_json_end_array(&j);
    cli_json_array(&j, "sections");
    for (uint32_t i = 0; i < p->num_sections; i++) {
        const gpuc_section_info *s = &p->sections[i];
        cli_json_object(&j, NULL);
        cli_json_string(&j, "type", gpuc_section_type_name(s->type));
        if (s->program != GPUC_NO_INDEX) cli_json_int(&j, "program", s->program);
        if (s->type == GPUC_SECTION_MODULE) cli_json_int(&j, "index", s->index);
        cli_json_int(&j, "offset", (int64_t)s->offset);
        cli_json_int(&j, "bytes", (int64_t)s->size);
        cli_json_hex(&j, "checksum", s->checksum);
        cli_json_end_object(&j);
    }
    cli_json_end_array(&j);
    char *provenance = cli_provenance(g);
    cli_json_string(&j, "provenance", provenance);
    free(provenance);
    cli_json_end_object(&j);
    cli_json_print(&j, stdout);
    cli_json_deinit(&j);
}
