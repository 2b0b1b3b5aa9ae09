/* SPDX-License-Identifier: Apache-2.0 */
/* A package as plain data in an arena, texts instead of expressions. */
#include <gpuc/package.h>

#include <string.h>

#include "abi/elf.h"
#include "abi/package.h"
#include "abi/scope.h"
#include "base/arena.h"
#include "base/size.h"

typedef struct view {
    gpuc_package_view it; /* first: what the caller has */
    gpuc_allocator allocator;
    gpuc_arena arena;
    gpuc_mapping map;
    gpuc_package package;
} view;

const char *gpuc_package_slot_kind_name(gpuc_package_slot_kind kind)
{
    switch (kind) {
    case GPUC_PACKAGE_INPUT: return "input";
    case GPUC_PACKAGE_OUTPUT: return "output";
    case GPUC_PACKAGE_WEIGHT: return "weight";
    case GPUC_PACKAGE_ARENA: return "arena";
    }
    return "";
}

gpuc_tensor_info gpuc_abi_signature_info(const gpuc_signature_tensor *t)
{
    return (gpuc_tensor_info){
        .name = t->name,
        .dtype = t->dtype,
        .ndim = (int)t->ndim,
        .dims = t->dims,
        .dim_names = t->dim_names,
        .has_default = t->value != NULL,
        .image = t->image,
    };
}

/* ---- Memory ---- */

static gpuc_status no_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for what the package holds");
}

static gpuc_status make(view *v, size_t count, size_t item_size, void *out)
{
    void *p = gpuc_arena_alloc_array(&v->arena, count, item_size);
    memcpy(out, &p, sizeof p);
    return p ? NULL : no_memory();
}

/* Takes the text. */
static gpuc_status keep(view *v, gpuc_buf *text, const char **out)
{
    gpuc_status status = gpuc_buf_status(text);
    if (!status && !(*out = gpuc_arena_strdup(&v->arena, gpuc_buf_cstr(text)))) status = no_memory();
    gpuc_buf_deinit(text);
    return status;
}

/* ---- Parts of a program ---- */

static gpuc_status print(view *v, gpuc_xexpr e, const char *const *names, const char **out)
{
    gpuc_buf text;
    gpuc_buf_init(&text, v->allocator);
    gpuc_abi_xexpr_print(&text, e, names);
    return keep(v, &text, out);
}

/* Over the program's symbols. */
static gpuc_status number_of(view *v, const gpuc_program *p, gpuc_xexpr e, gpuc_package_number *out)
{
    const char **names;
    GPUC_TRY(make(v, p->exec.num_symbols, sizeof *names, &names));
    for (uint32_t i = 0; i < p->exec.num_symbols; i++) names[i] = p->exec.symbols[i].name;
    out->fixed = gpuc_abi_xexpr_is_const(e, &out->value);
    return print(v, e, names, &out->text);
}

static bool equal(gpuc_xexpr a, gpuc_xexpr b)
{
    bool same = a.count == b.count;
    for (uint32_t i = 0; same && i < a.count; i++)
        same = a.code[i].op == b.code[i].op && a.code[i].value == b.code[i].value;
    return same;
}

/* The expression that every launch of a kernel passes as this scalar; no code: launches differ, or there is
 * no launch. */
static gpuc_xexpr scalar_of(const gpuc_program *p, uint32_t kernel, uint32_t scalar)
{
    gpuc_xexpr out = {0};
    for (uint32_t s = 0; s < p->exec.num_steps; s++) {
        const gpuc_exec_step *step = &p->exec.steps[s];
        if (step->kind != GPUC_STEP_LAUNCH || step->kernel != kernel || scalar >= step->num_scalars) continue;
        if (out.count && !equal(out, step->scalars[scalar])) return (gpuc_xexpr){0};
        out = step->scalars[scalar];
    }
    return out;
}

/* The name that a scalar of a kernel has in the first function that launches it; NULL in a network. */
static const char *function_scalar(const gpuc_program *p, uint32_t kernel, uint32_t scalar)
{
    for (uint32_t f = 0; f < p->num_entries; f++)
        for (uint32_t s = 0; s < p->entries[f].num_steps; s++)
            if (p->entries[f].steps[s].kernel == kernel)
                return p->entries[f].scalars[p->entries[f].steps[s].scalars[scalar]].name;
    return NULL;
}

/* Names the scalars of a kernel in the texts of its expressions. */
static gpuc_status scalar_names(view *v, const gpuc_program *p, uint32_t kernel, const char *const **out)
{
    uint32_t launched = kernel, n = p->kernels[kernel].num_scalars;
    const char **names;
    while (launched > 0 && p->kernels[launched].variant) launched--;
    GPUC_TRY(make(v, n, sizeof *names, &names));
    for (uint32_t i = 0; i < n; i++) {
        gpuc_xexpr e = scalar_of(p, launched, i);
        gpuc_package_number number;
        gpuc_buf text;
        if (e.count) GPUC_TRY(number_of(v, p, e, &number));
        gpuc_buf_init(&text, v->allocator);
        const char *of_function = function_scalar(p, launched, i);
        if (of_function)
            gpuc_buf_str(&text, of_function);
        else if (!e.count)
            gpuc_buf_printf(&text, "scalar%u", i);
        else
            gpuc_buf_printf(&text, e.count > 1 ? "(%s)" : "%s", number.text);
        GPUC_TRY(keep(v, &text, &names[i]));
    }
    *out = names;
    return NULL;
}

static gpuc_status kernel_number(view *v, gpuc_xexpr e, const char *const *scalars, gpuc_package_number *out)
{
    out->fixed = gpuc_abi_xexpr_is_const(e, &out->value);
    return print(v, e, scalars, &out->text);
}

/* Finds the line of the provenance about a kernel: "kernel <program> <name>: ...". */
static gpuc_status schedule_of(view *v, uint32_t program, const char *kernel, const char **out)
{
    gpuc_buf start, text;
    gpuc_buf_init(&start, v->allocator);
    gpuc_buf_init(&text, v->allocator);
    gpuc_buf_printf(&start, "kernel %u %s: ", program, kernel);
    for (const char *line = v->package.provenance; *line && !text.size;
         line += strcspn(line, "\n"), line += *line == '\n')
        if (!strncmp(line, gpuc_buf_cstr(&start), start.size))
            gpuc_buf_bytes(&text, line + start.size, strcspn(line + start.size, "\n"));
    if (!text.size) gpuc_buf_str(&text, "default");
    gpuc_status status = gpuc_buf_status(&start);
    gpuc_buf_deinit(&start);
    gpuc_status kept = keep(v, &text, out);
    if (!status) return kept;
    gpuc_status_release(kept);
    return status;
}

static gpuc_status set_kernels(view *v, uint32_t program, gpuc_package_program *out)
{
    const gpuc_program *p = &v->package.programs[program];
    gpuc_package_kernel *list;
    GPUC_TRY(make(v, p->num_kernels, sizeof *list, &list));
    out->num_kernels = p->num_kernels;
    out->kernels = list;
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const gpuc_kernel *k = &p->kernels[i];
        list[i] = (gpuc_package_kernel){
            .name = k->name,
            .label = k->label,
            .num_tensors = k->num_tensors,
            .num_bindings = k->num_bindings,
            .num_scalars = k->num_scalars,
            .params_in_buffer = k->params_in_buffer,
            .local_size = {k->local_size[0], k->local_size[1], k->local_size[2]},
            .features = k->features,
            .subgroup_size = k->subgroup_size,
            .shared_bytes = k->shared_bytes,
            .variant = k->variant,
            .limited = k->limited,
            .cost_bytes = k->cost_bytes,
            .cost_ops = k->cost_ops,
            .module = k->module,
        };
        const char *const *scalars;
        GPUC_TRY(scalar_names(v, p, i, &scalars));
        for (int d = 0; d < 3; d++) GPUC_TRY(kernel_number(v, k->launch[d], scalars, &list[i].launch[d]));
        if (k->iterations.count) GPUC_TRY(kernel_number(v, k->iterations, scalars, &list[i].iterations));
        GPUC_TRY(schedule_of(v, program, k->name, &list[i].schedule));
    }
    return NULL;
}

static gpuc_status set_nodes(view *v, const gpuc_program *p, gpuc_package_program *out)
{
    gpuc_package_node *list;
    GPUC_TRY(make(v, p->exec.num_nodes, sizeof *list, &list));
    out->num_nodes = p->exec.num_nodes;
    out->num_steps = p->exec.num_steps;
    out->nodes = list;
    for (uint32_t i = 0; i < p->exec.num_nodes; i++) {
        const gpuc_exec_node *n = &p->exec.nodes[i];
        const char **kernels;
        GPUC_TRY(make(v, n->num_steps, sizeof *kernels, &kernels));
        for (uint32_t s = 0; s < n->num_steps; s++) {
            const gpuc_exec_step *step = &p->exec.steps[n->first_step + s];
            kernels[s] = step->kind == GPUC_STEP_LAUNCH ? p->kernels[step->kernel].name : NULL;
        }
        list[i] = (gpuc_package_node){.name = n->name,
                                      .source = n->source,
                                      .device = (gpuc_device_type)p->exec.devices[n->device],
                                      .first_step = n->first_step,
                                      .num_steps = n->num_steps,
                                      .kernels = kernels};
    }
    return NULL;
}

static gpuc_status values_of(view *v, const gpuc_program *p, uint32_t slot, const char **out)
{
    gpuc_buf text;
    gpuc_buf_init(&text, v->allocator);
    for (uint32_t i = 0; i < p->exec.num_values; i++) {
        const gpuc_exec_value *value = &p->exec.values[i];
        if (value->slot != slot) continue;
        if (text.size) gpuc_buf_str(&text, ", ");
        if (*value->name)
            gpuc_buf_str(&text, value->name);
        else
            gpuc_buf_printf(&text, "#%u", i);
    }
    return keep(v, &text, out);
}

static void set_lives(const gpuc_program *p, gpuc_package_slot *slots)
{
    for (uint32_t s = 0; s < p->exec.num_steps; s++) {
        const gpuc_exec_step *step = &p->exec.steps[s];
        for (uint32_t t = 0; t < step->num_tensors; t++) {
            gpuc_package_slot *slot = &slots[p->exec.values[step->tensors[t].value].slot];
            if (!slot->used) slot->first_step = s;
            slot->last_step = s;
            slot->used = true;
        }
    }
}

static gpuc_status set_slots(view *v, const gpuc_program *p, gpuc_package_program *out)
{
    static const gpuc_package_slot_kind kinds[GPUC_SLOT_KIND_COUNT] = {
        [GPUC_SLOT_INPUT] = GPUC_PACKAGE_INPUT,
        [GPUC_SLOT_OUTPUT] = GPUC_PACKAGE_OUTPUT,
        [GPUC_SLOT_WEIGHT] = GPUC_PACKAGE_WEIGHT,
        [GPUC_SLOT_ARENA] = GPUC_PACKAGE_ARENA,
    };
    gpuc_package_slot *list;
    GPUC_TRY(make(v, p->exec.num_slots, sizeof *list, &list));
    out->num_slots = p->exec.num_slots;
    out->slots = list;
    for (uint32_t i = 0; i < p->exec.num_slots; i++) {
        list[i].kind = kinds[p->exec.slots[i].kind];
        GPUC_TRY(number_of(v, p, p->exec.slots[i].size, &list[i].bytes));
        GPUC_TRY(values_of(v, p, i, &list[i].values));
        if (list[i].kind != GPUC_PACKAGE_ARENA) continue;
        out->num_arena_slots++;
        if (list[i].bytes.fixed)
            out->arena_bytes += gpuc_align_up((uint64_t)list[i].bytes.value, GPUC_SLOT_ALIGN);
        else
            out->num_open_arena_slots++;
    }
    set_lives(p, list);
    return NULL;
}

static gpuc_status set_weights(view *v, const gpuc_program *p, gpuc_package_program *out)
{
    gpuc_package_weight *list;
    GPUC_TRY(make(v, p->exec.num_weights, sizeof *list, &list));
    out->num_weights = p->exec.num_weights;
    out->weight_bytes = p->weights_size;
    out->weights = list;
    for (uint32_t i = 0; i < p->exec.num_weights; i++) {
        const gpuc_exec_weight *w = &p->exec.weights[i];
        const gpuc_exec_value *value = &p->exec.values[w->value];
        gpuc_package_number *dims;
        GPUC_TRY(make(v, value->ndim, sizeof *dims, &dims));
        for (uint32_t d = 0; d < value->ndim; d++) GPUC_TRY(number_of(v, p, value->dims[d], &dims[d]));
        list[i] = (gpuc_package_weight){.name = w->name,
                                        .dtype = value->dtype,
                                        .ndim = (int)value->ndim,
                                        .dims = dims,
                                        .data = (const char *)p->weights + w->offset,
                                        .bytes = w->size};
    }
    return NULL;
}

static gpuc_status set_arrays(view *v, const gpuc_entry *e, const char *const *names,
                              gpuc_package_function *out)
{
    gpuc_package_array *arrays;
    GPUC_TRY(make(v, e->num_arrays, sizeof *arrays, &arrays));
    out->num_arrays = e->num_arrays;
    out->arrays = arrays;
    for (uint32_t i = 0; i < e->num_arrays; i++) {
        const gpuc_entry_array *a = &e->arrays[i];
        gpuc_package_number *dims;
        GPUC_TRY(make(v, a->ndim, sizeof *dims, &dims));
        for (uint32_t d = 0; d < a->ndim; d++) GPUC_TRY(kernel_number(v, a->dims[d].size, names, &dims[d]));
        arrays[i] =
            (gpuc_package_array){.name = a->name, .dtype = a->dtype, .ndim = (int)a->ndim, .dims = dims};
    }
    return NULL;
}

static gpuc_status set_function(view *v, const gpuc_program *p, const gpuc_entry *e,
                                gpuc_package_function *out)
{
    gpuc_package_scalar *scalars;
    gpuc_package_number *workspaces;
    const char **names, **kernels;
    GPUC_TRY(make(v, e->num_scalars, sizeof *scalars, &scalars));
    GPUC_TRY(make(v, e->num_scalars, sizeof *names, &names));
    GPUC_TRY(make(v, e->num_workspaces, sizeof *workspaces, &workspaces));
    GPUC_TRY(make(v, e->num_steps, sizeof *kernels, &kernels));
    for (uint32_t i = 0; i < e->num_scalars; i++) {
        names[i] = e->scalars[i].name;
        scalars[i] = (gpuc_package_scalar){.name = names[i], .dtype = e->scalars[i].dtype};
    }
    for (uint32_t i = 0; i < e->num_steps; i++) kernels[i] = p->kernels[e->steps[i].kernel].name;
    for (uint32_t i = 0; i < e->num_workspaces; i++)
        GPUC_TRY(kernel_number(v, e->workspaces[i], names, &workspaces[i]));
    *out = (gpuc_package_function){.name = e->name,
                                   .num_scalars = e->num_scalars,
                                   .num_steps = e->num_steps,
                                   .scalars = scalars,
                                   .kernels = kernels,
                                   .num_workspaces = e->num_workspaces,
                                   .workspaces = workspaces};
    return set_arrays(v, e, names, out);
}

static gpuc_status set_functions(view *v, const gpuc_program *p, gpuc_package_program *out)
{
    gpuc_package_function *list;
    GPUC_TRY(make(v, p->num_entries, sizeof *list, &list));
    out->num_functions = p->num_entries;
    out->functions = list;
    for (uint32_t i = 0; i < p->num_entries; i++) GPUC_TRY(set_function(v, p, &p->entries[i], &list[i]));
    return NULL;
}

static void describe_module(const gpuc_module_blob *m, gpuc_package_module *out)
{
    bool own = true;
    bool native = strcmp(m->type_key, "cpu_so") == 0;
    const char *machine = native ? gpuc_abi_elf_machine(m->bytes, m->size, &own) : NULL;
    *out = (gpuc_package_module){.type = m->type_key,
                                 .data = m->bytes,
                                 .bytes = m->size,
                                 .machine = machine,
                                 .foreign = machine && !own};
}

static gpuc_status set_needs(view *v, const gpuc_program *p, gpuc_package_program *out)
{
    gpuc_package_requirement *needs;
    gpuc_package_module *modules;
    gpuc_package_symbol *symbols;
    GPUC_TRY(make(v, p->num_requirements, sizeof *needs, &needs));
    GPUC_TRY(make(v, p->num_modules, sizeof *modules, &modules));
    GPUC_TRY(make(v, p->exec.num_symbols, sizeof *symbols, &symbols));
    for (uint32_t i = 0; i < p->num_requirements; i++)
        needs[i] = (gpuc_package_requirement){.name = p->requirements[i].name,
                                              .at_least = p->requirements[i].at_least};
    for (uint32_t i = 0; i < p->num_modules; i++) describe_module(&p->modules[i], &modules[i]);
    for (uint32_t i = 0; i < p->exec.num_symbols; i++) {
        const gpuc_exec_symbol *s = &p->exec.symbols[i];
        symbols[i] = (gpuc_package_symbol){
            .name = s->name, .computed = s->value != GPUC_NO_INDEX, .input = s->input, .dim = s->dim};
    }
    out->num_requirements = p->num_requirements;
    out->requirements = needs;
    out->num_modules = p->num_modules;
    out->modules = modules;
    out->num_symbols = p->exec.num_symbols;
    out->symbols = symbols;
    return NULL;
}

/* ---- The package ---- */

static gpuc_status set_programs(view *v)
{
    gpuc_package_program *list;
    uint32_t n = v->package.num_programs;
    GPUC_TRY(make(v, n, sizeof *list, &list));
    v->it.num_programs = n;
    v->it.programs = list;
    for (uint32_t i = 0; i < n; i++) {
        const gpuc_program *p = &v->package.programs[i];
        list[i] = (gpuc_package_program){.target = p->target, .device = (gpuc_device_type)p->device_type};
        GPUC_TRY(set_needs(v, p, &list[i]));
        GPUC_TRY(set_kernels(v, i, &list[i]));
        GPUC_TRY(set_nodes(v, p, &list[i]));
        GPUC_TRY(set_slots(v, p, &list[i]));
        GPUC_TRY(set_weights(v, p, &list[i]));
        GPUC_TRY(set_functions(v, p, &list[i]));
    }
    return NULL;
}

static gpuc_status tensors_of(view *v, const gpuc_signature_tensor *t, uint32_t n,
                              const gpuc_tensor_info **out)
{
    gpuc_tensor_info *list;
    GPUC_TRY(make(v, n, sizeof *list, &list));
    for (uint32_t i = 0; i < n; i++) list[i] = gpuc_abi_signature_info(&t[i]);
    *out = list;
    return NULL;
}

static gpuc_status set_sections(view *v, const gpuc_section_info *sections, uint32_t n, bool check_weights)
{
    gpuc_package_section *list;
    GPUC_TRY(make(v, n, sizeof *list, &list));
    v->it.num_sections = n;
    v->it.sections = list;
    for (uint32_t i = 0; i < n; i++) {
        const gpuc_section_info *s = &sections[i];
        list[i] =
            (gpuc_package_section){.type = gpuc_abi_section_type_name(s->type),
                                   .program = s->program,
                                   .index = s->type == GPUC_SECTION_MODULE ? s->index : GPUC_PACKAGE_NONE,
                                   .offset = s->offset,
                                   .bytes = s->size,
                                   .checksum = s->checksum,
                                   .verified = s->type != GPUC_SECTION_WEIGHTS || check_weights};
    }
    return NULL;
}

/* The provenance without the lines about kernels. */
static gpuc_status set_provenance(view *v)
{
    gpuc_buf text;
    gpuc_buf_init(&text, v->allocator);
    for (const char *line = v->package.provenance, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (strncmp(line, "kernel ", 7)) gpuc_buf_bytes(&text, line, (size_t)(next - line));
    }
    return keep(v, &text, &v->it.provenance);
}

static gpuc_status fill(view *v, bool check_weights)
{
    const gpuc_section_info *sections;
    uint32_t num_sections;
    const gpuc_signature *s = &v->package.signature;
    GPUC_TRY(gpuc_abi_package_read(v->map.data, v->map.size, check_weights, &v->arena, &v->package, &sections,
                                   &num_sections));
    v->it.file_bytes = v->map.size;
    v->it.gpuc_version = v->package.gpuc_version;
    v->it.is_library = v->package.is_library;
    v->it.num_inputs = s->num_inputs;
    v->it.num_outputs = s->num_outputs;
    GPUC_TRY(tensors_of(v, s->inputs, s->num_inputs, &v->it.inputs));
    GPUC_TRY(tensors_of(v, s->outputs, s->num_outputs, &v->it.outputs));
    GPUC_TRY(set_programs(v));
    GPUC_TRY(set_sections(v, sections, num_sections, check_weights));
    return set_provenance(v);
}

gpuc_status gpuc_package_view_load(const gpuc_allocator *allocator, const char *path, bool check_weights,
                                   gpuc_package_view **out)
{
    gpuc_allocator a = allocator ? *allocator : (gpuc_allocator){0};
    gpuc_mapping map;
    *out = NULL;
    GPUC_TRY(gpuc_file_map(path, &map));
    view *v = gpuc_mem_alloc(a, sizeof *v);
    if (!v) {
        gpuc_file_unmap(&map);
        return gpuc_error_prefix(no_memory(), "'%s'", path);
    }
    v->allocator = a;
    v->map = map;
    gpuc_arena_init(&v->arena, a);
    gpuc_status status = fill(v, check_weights);
    if (status)
        gpuc_package_view_release(&v->it);
    else
        *out = &v->it;
    return gpuc_error_prefix(status, "'%s'", path);
}

void gpuc_package_view_release(gpuc_package_view *it)
{
    view *v = (view *)it;
    if (!v) return;
    gpuc_arena_deinit(&v->arena);
    gpuc_file_unmap(&v->map);
    gpuc_mem_free(v->allocator, v, sizeof *v);
}
