/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a package: finds its sections and checks everything that they say about each other. */
#include <stdlib.h>
#include <string.h>

#include "abi/check.h"
#include "abi/package_sections.h"
#include "base/names.h"

#define BAD(...) gpuc_fail(GPUC_INVALID_DATA, __VA_ARGS__)

/* Smallest size of one item as written. */
enum {
    STRING_BYTES = 8,
    PROGRAM_BYTES = STRING_BYTES + 16,
    REQUIREMENT_BYTES = STRING_BYTES + 8,
    SIGNATURE_TENSOR_BYTES = STRING_BYTES + 8,
    SIGNATURE_DIM_BYTES = 8 + STRING_BYTES,
    KERNEL_BYTES = 2 * STRING_BYTES + 62,
    ENTRY_BYTES = STRING_BYTES + 16,
    IMAGE_BYTES = 12
};

/* Where the sections of one program are, as numbers into the table. */
typedef struct program_sections {
    uint32_t kernels, body; /* the executable of a network, the entries of a library */
    uint32_t *modules;
    uint32_t weights; /* as the manifest numbers them */
} program_sections;

typedef struct package_reader {
    const uint8_t *bytes;
    gpuc_arena *arena;
    const gpuc_section_info *sections;
    uint32_t num_sections;
    uint32_t manifest, signature, images, provenance;
    uint32_t *weights; /* section numbers by weights number */
    uint32_t num_weights;
    gpuc_program *programs;
    program_sections *places;
    uint32_t num_programs;
    const char *version;
    const char *provenance_text;
    gpuc_signature sig;
    gpuc_signature_tensor *inputs, *outputs; /* those of sig */
} package_reader;

static gpuc_reader open_section(const package_reader *x, uint32_t number)
{
    const gpuc_section_info *s = &x->sections[number];
    return (gpuc_reader){.data = x->bytes + s->offset, .size = (size_t)s->size};
}

static gpuc_status close_section(const gpuc_reader *r)
{
    GPUC_TRY(gpuc_abi_reader_status(r));
    return r->pos == r->size ? NULL : BAD("%zu bytes are left over at its end", r->size - r->pos);
}

/* "kernels of program 1 (opencl)" in front of the message. */
static gpuc_status name_section(const package_reader *x, uint32_t number, gpuc_status status)
{
    char name[64];
    if (!status) return NULL;
    const gpuc_section_info *s = &x->sections[number];
    gpuc_abi_section_describe(s, name);
    if (s->program >= x->num_programs) return gpuc_error_prefix(status, "%s", name);
    const char *target = x->programs[s->program].target;
    return gpuc_error_prefix(status, "%s (%.*s)", name, (int)strcspn(target, " "), target);
}

static gpuc_status set_once(uint32_t *place, uint32_t number)
{
    if (*place != GPUC_NO_INDEX) return BAD("there are two of it");
    *place = number;
    return NULL;
}

static gpuc_status find_package_sections(package_reader *x)
{
    x->manifest = x->signature = x->images = x->provenance = GPUC_NO_INDEX;
    GPUC_TRY(gpuc_abi_array(x->arena, x->num_sections, sizeof *x->weights, &x->weights));
    for (uint32_t i = 0; i < x->num_sections; i++) {
        const gpuc_section_info *s = &x->sections[i];
        gpuc_status status = NULL;
        if (s->type == GPUC_SECTION_MANIFEST)
            status = set_once(&x->manifest, i);
        else if (s->type == GPUC_SECTION_SIGNATURE)
            status = set_once(&x->signature, i);
        else if (s->type == GPUC_SECTION_IMAGES)
            status = set_once(&x->images, i);
        else if (s->type == GPUC_SECTION_PROVENANCE)
            status = set_once(&x->provenance, i);
        else if (s->type != GPUC_SECTION_WEIGHTS)
            continue;
        else if (s->index != x->num_weights)
            status = BAD("its number should be %u", x->num_weights);
        else
            x->weights[x->num_weights++] = i;
        if (!status && s->program != GPUC_NO_INDEX) status = BAD("it belongs to no program");
        GPUC_TRY(name_section(x, i, status));
    }
    if (x->manifest == GPUC_NO_INDEX) return BAD("manifest: it is missing");
    return NULL;
}

/* A package of an older gpuc may have old names in the text of its target. */
static gpuc_status read_target(package_reader *x, gpuc_reader *r, const char **out)
{
    gpuc_buf text;
    gpuc_buf_init(&text, x->arena->allocator);
    gpuc_names_target(&text, gpuc_read_lstr(r));
    gpuc_status status = gpuc_buf_status(&text);
    if (!status && !(*out = gpuc_arena_strdup(x->arena, gpuc_buf_cstr(&text))))
        status = gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the text of a target");
    gpuc_buf_deinit(&text);
    return status;
}

static gpuc_status read_manifest_program(package_reader *x, gpuc_reader *r, uint32_t number)
{
    gpuc_program *p = &x->programs[number];
    program_sections *place = &x->places[number];
    GPUC_TRY(read_target(x, r, &p->target));
    p->device_type = gpuc_read_u32(r);
    p->num_modules = gpuc_read_u32(r);
    place->weights = gpuc_read_u32(r);
    p->num_requirements = gpuc_read_count(r, REQUIREMENT_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(r));
    if (!*p->target) return BAD("its target is empty");
    if (p->num_modules > x->num_sections)
        return BAD("%u modules in %u sections", p->num_modules, x->num_sections);
    if (place->weights != GPUC_NO_INDEX && place->weights >= x->num_weights)
        return BAD("it uses weights %u of %u", place->weights, x->num_weights);
    gpuc_requirement *needs;
    GPUC_TRY(gpuc_abi_array(x->arena, p->num_requirements, sizeof *needs, &needs));
    p->requirements = needs;
    for (uint32_t i = 0; i < p->num_requirements; i++) {
        needs[i].name = gpuc_read_lstr(r);
        needs[i].at_least = gpuc_read_i64(r);
    }
    return gpuc_abi_reader_status(r);
}

static gpuc_status read_manifest(package_reader *x)
{
    gpuc_reader r = open_section(x, x->manifest);
    x->version = gpuc_read_lstr(&r);
    uint32_t count = gpuc_read_count(&r, PROGRAM_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(&r));
    if (count == 0) return BAD("the package holds no program");
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *x->programs, &x->programs));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *x->places, &x->places));
    uint64_t num_modules = 0;
    for (uint32_t i = 0; i < count; i++) {
        GPUC_TRY(gpuc_error_prefix(read_manifest_program(x, &r, i), "program %u", i));
        num_modules += x->programs[i].num_modules;
    }
    if (num_modules > x->num_sections)
        return BAD("%llu modules in %u sections", (unsigned long long)num_modules, x->num_sections);
    x->num_programs = count;
    return close_section(&r);
}

static gpuc_status place_section(package_reader *x, uint32_t number)
{
    const gpuc_section_info *s = &x->sections[number];
    bool of_program = s->type == GPUC_SECTION_KERNELS || s->type == GPUC_SECTION_EXEC ||
                      s->type == GPUC_SECTION_ENTRIES || s->type == GPUC_SECTION_MODULE;
    if (!of_program) return NULL;
    if (s->program >= x->num_programs) return BAD("the package has %u programs", x->num_programs);
    program_sections *place = &x->places[s->program];
    if (s->type == GPUC_SECTION_KERNELS) return set_once(&place->kernels, number);
    if (s->type != GPUC_SECTION_MODULE) {
        bool library = x->signature == GPUC_NO_INDEX;
        if (library != (s->type == GPUC_SECTION_ENTRIES))
            return BAD(library ? "the package has no signature, so it is a library"
                               : "the package has a signature, so it is a network");
        return set_once(&place->body, number);
    }
    if (s->index >= x->programs[s->program].num_modules)
        return BAD("the program has %u modules", x->programs[s->program].num_modules);
    return set_once(&place->modules[s->index], number);
}

static gpuc_status find_program_sections(package_reader *x)
{
    for (uint32_t i = 0; i < x->num_programs; i++) {
        program_sections *place = &x->places[i];
        uint32_t count = x->programs[i].num_modules;
        place->kernels = place->body = GPUC_NO_INDEX;
        GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *place->modules, &place->modules));
        for (uint32_t m = 0; m < count; m++) place->modules[m] = GPUC_NO_INDEX;
    }
    for (uint32_t i = 0; i < x->num_sections; i++) GPUC_TRY(name_section(x, i, place_section(x, i)));
    for (uint32_t i = 0; i < x->num_programs; i++) {
        const program_sections *place = &x->places[i];
        if (place->kernels == GPUC_NO_INDEX) return BAD("kernels of program %u: they are missing", i);
        if (place->body == GPUC_NO_INDEX)
            return BAD("%s of program %u: missing", x->signature == GPUC_NO_INDEX ? "entries" : "executable",
                       i);
        for (uint32_t m = 0; m < x->programs[i].num_modules; m++)
            if (place->modules[m] == GPUC_NO_INDEX)
                return BAD("module %u of program %u: it is missing", m, i);
    }
    return NULL;
}

static gpuc_status read_value(package_reader *x, gpuc_reader *r, gpuc_signature_tensor *t)
{
    uint64_t bytes = gpuc_dtype_bytes(t->dtype), dim;
    int64_t *dims;
    GPUC_TRY(gpuc_abi_array(x->arena, t->ndim, sizeof *dims, &dims));
    for (uint32_t d = 0; d < t->ndim; d++) {
        dims[d] = gpuc_read_i64(r);
        dim = (uint64_t)dims[d];
        if (dims[d] < 0 || (t->dims[d] >= 0 && dims[d] != t->dims[d]))
            return BAD("dimension %u of its default value is %lld", d, (long long)dims[d]);
        if (dim && bytes > UINT64_MAX / dim) return BAD("its default value has an impossible size");
        bytes *= dim;
    }
    t->value_dims = dims;
    t->value_bytes = gpuc_read_u64(r);
    GPUC_TRY(gpuc_abi_reader_status(r));
    if (t->value_bytes != bytes)
        return BAD("its default value has %llu bytes, not %llu", (unsigned long long)t->value_bytes,
                   (unsigned long long)bytes);
    t->value = bytes > SIZE_MAX ? NULL : gpuc_read_bytes(r, (size_t)bytes);
    return t->value ? NULL : BAD("its default value is cut off");
}

static gpuc_status read_signature_tensor(package_reader *x, gpuc_reader *r, gpuc_signature_tensor *t)
{
    t->name = gpuc_read_lstr(r);
    t->dtype = gpuc_abi_read_dtype(r);
    t->ndim = gpuc_read_count(r, SIGNATURE_DIM_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(r));
    GPUC_TRY(gpuc_abi_check_dtype(t->dtype));
    int64_t *dims;
    const char **names;
    GPUC_TRY(gpuc_abi_array(x->arena, t->ndim, sizeof *dims, &dims));
    GPUC_TRY(gpuc_abi_array(x->arena, t->ndim, sizeof *names, &names));
    for (uint32_t d = 0; d < t->ndim; d++) {
        dims[d] = gpuc_read_i64(r);
        names[d] = gpuc_read_lstr(r);
        if (dims[d] < -1) return BAD("dimension %u is %lld", d, (long long)dims[d]);
    }
    t->dims = dims;
    t->dim_names = names;
    uint32_t has_value = gpuc_read_u32(r);
    GPUC_TRY(gpuc_abi_reader_status(r));
    if (has_value > 1) return BAD("the flag of its default value is %u", has_value);
    return has_value ? read_value(x, r, t) : NULL;
}

static gpuc_status read_signature_tensors(package_reader *x, gpuc_reader *r, const char *what,
                                          uint32_t *out_count, gpuc_signature_tensor **out)
{
    uint32_t count = gpuc_read_count(r, SIGNATURE_TENSOR_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(r));
    gpuc_signature_tensor *tensors;
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *tensors, &tensors));
    for (uint32_t i = 0; i < count; i++)
        GPUC_TRY(gpuc_error_prefix(read_signature_tensor(x, r, &tensors[i]), "%s %u", what, i));
    *out_count = count;
    *out = tensors;
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* names is scratch of the caller; it gets sorted. */
static gpuc_status check_unique(const char **names, uint32_t count, const char *what)
{
    if (count > 1) qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0) return BAD("two %s are named '%.64s'", what, names[i]);
    return NULL;
}

static gpuc_status read_signature(package_reader *x)
{
    if (x->signature == GPUC_NO_INDEX) return NULL;
    gpuc_reader r = open_section(x, x->signature);
    GPUC_TRY(read_signature_tensors(x, &r, "input", &x->sig.num_inputs, &x->inputs));
    GPUC_TRY(read_signature_tensors(x, &r, "output", &x->sig.num_outputs, &x->outputs));
    x->sig.inputs = x->inputs;
    x->sig.outputs = x->outputs;
    for (uint32_t i = 0; i < x->sig.num_outputs; i++)
        if (x->sig.outputs[i].value) return BAD("output %u has a default value", i);
    GPUC_TRY(close_section(&r));
    const char **names;
    GPUC_TRY(gpuc_abi_array(x->arena, x->sig.num_inputs, sizeof *names, &names));
    for (uint32_t i = 0; i < x->sig.num_inputs; i++) names[i] = x->sig.inputs[i].name;
    return check_unique(names, x->sig.num_inputs, "inputs");
}

static gpuc_status check_image(const gpuc_signature_tensor *t, uint32_t format)
{
    if (format == GPUC_IMAGE_NONE || format >= GPUC_IMAGE_FORMAT_COUNT)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "'%.64s' is an image of format %u, which this version of gpuc does not "
                         "know; use a newer one",
                         t->name, format);
    if (t->image != GPUC_IMAGE_NONE) return BAD("'%.64s' has two formats", t->name);
    gpuc_image_format f = (gpuc_image_format)format;
    if (!gpuc_dtype_equal(t->dtype, gpuc_image_format_dtype(f)) || t->ndim != 3 ||
        t->dims[2] != gpuc_image_format_channels(f) || t->value)
        return BAD("'%.64s' has not the type and the shape of an image of format %s", t->name,
                   gpuc_image_format_name(f));
    return NULL;
}

static gpuc_status read_images(package_reader *x)
{
    if (x->images == GPUC_NO_INDEX) return NULL;
    if (x->signature == GPUC_NO_INDEX) return BAD("a library has none");
    gpuc_reader r = open_section(x, x->images);
    uint32_t count = gpuc_read_count(&r, IMAGE_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(&r));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t side = gpuc_read_u32(&r), number = gpuc_read_u32(&r), format = gpuc_read_u32(&r);
        if (side > 1 || number >= (side ? x->sig.num_outputs : x->sig.num_inputs))
            return BAD("image %u is tensor %u of list %u, which there is not", i, number, side);
        gpuc_signature_tensor *t = side ? &x->outputs[number] : &x->inputs[number];
        GPUC_TRY(check_image(t, format));
        t->image = (gpuc_image_format)format;
    }
    return close_section(&r);
}

/* A variant takes the arguments of the kernel that it stands in for. */
static gpuc_status check_variant(const gpuc_kernel *general, const gpuc_kernel *k)
{
    if (!general)
        return BAD("kernel '%.64s' is a variant, but follows no kernel that it could stand in for", k->name);
    bool same = k->num_tensors == general->num_tensors && k->num_scalars == general->num_scalars;
    for (uint32_t i = 0; same && i < k->num_tensors; i++)
        same = k->tensors[i].access == general->tensors[i].access &&
               gpuc_dtype_equal(k->tensors[i].dtype, general->tensors[i].dtype);
    for (uint32_t i = 0; same && i < k->num_scalars; i++)
        same = gpuc_dtype_equal(k->scalars[i], general->scalars[i]);
    if (!same) return BAD("kernel '%.64s' takes other arguments than '%.64s'", k->name, general->name);
    return NULL;
}

static gpuc_status read_kernels(package_reader *x, uint32_t number, gpuc_program *p)
{
    gpuc_reader r = open_section(x, number);
    uint32_t count = gpuc_read_count(&r, KERNEL_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(&r));
    gpuc_kernel *kernels;
    const gpuc_kernel *general = NULL;
    const char **names;
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *kernels, &kernels));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *names, &names));
    for (uint32_t i = 0; i < count; i++) {
        GPUC_TRY(gpuc_error_prefix(gpuc_abi_kernel_read(&r, x->arena, &kernels[i]), "kernel %u", i));
        names[i] = kernels[i].name;
        if (kernels[i].module >= p->num_modules)
            return BAD("kernel %u ('%.64s') is in module %u of %u", i, kernels[i].name, kernels[i].module,
                       p->num_modules);
        if (kernels[i].variant)
            GPUC_TRY(check_variant(general, &kernels[i]));
        else
            general = &kernels[i];
    }
    p->num_kernels = count;
    p->kernels = kernels;
    GPUC_TRY(close_section(&r));
    return check_unique(names, count, "kernels");
}

static gpuc_status read_module(package_reader *x, uint32_t number, gpuc_module_blob *m)
{
    gpuc_reader r = open_section(x, number);
    m->type_key = gpuc_read_lstr(&r);
    uint64_t size = gpuc_read_u64(&r);
    GPUC_TRY(gpuc_abi_reader_status(&r));
    if (!*m->type_key) return BAD("its type key is empty");
    while (r.pos % 16 != 0 && !r.failed)
        if (gpuc_read_u8(&r) != 0) return BAD("its padding is not zero");
    if (size > r.size - r.pos) return BAD("%llu bytes of code exceed the section", (unsigned long long)size);
    m->size = (size_t)size;
    m->bytes = gpuc_read_bytes(&r, m->size);
    return close_section(&r);
}

static gpuc_status check_against_value(const gpuc_exec *e, uint32_t value, const gpuc_signature_tensor *t)
{
    const gpuc_exec_value *v = &e->values[value];
    int64_t dim;
    if (!gpuc_dtype_equal(v->dtype, t->dtype) || v->ndim != t->ndim)
        return BAD("'%.64s' has another type in the signature", t->name);
    for (uint32_t d = 0; d < t->ndim; d++)
        if (t->dims[d] >= 0 && gpuc_abi_xexpr_is_const(v->dims[d], &dim) && dim != t->dims[d])
            return BAD("'%.64s': dimension %u is %lld, but %lld in the signature", t->name, d, (long long)dim,
                       (long long)t->dims[d]);
    return NULL;
}

static gpuc_status check_against_signature(const gpuc_program *p, const gpuc_signature *sig)
{
    const gpuc_exec *e = &p->exec;
    if (e->devices[0] != p->device_type)
        return BAD("it is for device type %u, but the manifest says %u", e->devices[0], p->device_type);
    if (e->num_inputs != sig->num_inputs || e->num_outputs != sig->num_outputs)
        return BAD("%u inputs and %u outputs, but %u and %u in the signature", e->num_inputs, e->num_outputs,
                   sig->num_inputs, sig->num_outputs);
    for (uint32_t i = 0; i < e->num_inputs; i++)
        GPUC_TRY(gpuc_error_prefix(check_against_value(e, e->inputs[i], &sig->inputs[i]), "input %u", i));
    for (uint32_t i = 0; i < e->num_outputs; i++)
        GPUC_TRY(gpuc_error_prefix(check_against_value(e, e->outputs[i], &sig->outputs[i]), "output %u", i));
    return NULL;
}

static gpuc_status read_exec(package_reader *x, uint32_t number, gpuc_program *p)
{
    gpuc_reader r = open_section(x, number);
    GPUC_TRY(gpuc_abi_exec_read(&r, x->arena, p->kernels, p->num_kernels, p->weights_size, &p->exec));
    GPUC_TRY(close_section(&r));
    return check_against_signature(p, &x->sig);
}

static gpuc_status read_entries(package_reader *x, uint32_t number, gpuc_program *p)
{
    gpuc_reader r = open_section(x, number);
    uint32_t count = gpuc_read_count(&r, ENTRY_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(&r));
    gpuc_entry *entries;
    const char **names;
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *entries, &entries));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *names, &names));
    for (uint32_t i = 0; i < count; i++) {
        GPUC_TRY(gpuc_error_prefix(gpuc_abi_entry_read(&r, x->arena, p->kernels, p->num_kernels, &entries[i]),
                                   "entry %u", i));
        names[i] = entries[i].name;
    }
    p->num_entries = count;
    p->entries = entries;
    GPUC_TRY(close_section(&r));
    return check_unique(names, count, "entries");
}

static gpuc_status read_body(package_reader *x, uint32_t number, gpuc_program *p)
{
    return x->signature == GPUC_NO_INDEX ? read_entries(x, number, p) : read_exec(x, number, p);
}

static gpuc_status read_program(package_reader *x, uint32_t number)
{
    gpuc_program *p = &x->programs[number];
    const program_sections *place = &x->places[number];
    if (place->weights != GPUC_NO_INDEX) {
        const gpuc_section_info *s = &x->sections[x->weights[place->weights]];
        p->weights = x->bytes + s->offset;
        p->weights_size = s->size;
    }
    GPUC_TRY(name_section(x, place->kernels, read_kernels(x, place->kernels, p)));
    GPUC_TRY(name_section(x, place->body, read_body(x, place->body, p)));
    gpuc_module_blob *modules;
    GPUC_TRY(gpuc_abi_array(x->arena, p->num_modules, sizeof *modules, &modules));
    p->modules = modules;
    for (uint32_t m = 0; m < p->num_modules; m++)
        GPUC_TRY(name_section(x, place->modules[m], read_module(x, place->modules[m], &modules[m])));
    return NULL;
}

static gpuc_status read_provenance(package_reader *x)
{
    x->provenance_text = "";
    if (x->provenance == GPUC_NO_INDEX) return NULL;
    gpuc_reader r = open_section(x, x->provenance);
    x->provenance_text = gpuc_read_lstr(&r);
    return close_section(&r);
}

gpuc_status gpuc_abi_package_read(const void *bytes, size_t size, bool check_weights, gpuc_arena *arena,
                                  gpuc_package *out, const gpuc_section_info **out_sections,
                                  uint32_t *out_num_sections)
{
    *out = (gpuc_package){0};
    if (out_sections) *out_sections = NULL;
    if (out_num_sections) *out_num_sections = 0;
    package_reader x = {.bytes = bytes, .arena = arena};
    gpuc_section_info *sections;
    GPUC_TRY(gpuc_abi_package_read_sections(bytes, size, check_weights, arena, &sections, &x.num_sections));
    x.sections = sections;
    GPUC_TRY(find_package_sections(&x));
    GPUC_TRY(gpuc_error_prefix(read_manifest(&x), "manifest"));
    GPUC_TRY(find_program_sections(&x));
    GPUC_TRY(gpuc_error_prefix(read_signature(&x), "signature"));
    GPUC_TRY(gpuc_error_prefix(read_images(&x), "images"));
    for (uint32_t i = 0; i < x.num_programs; i++) GPUC_TRY(read_program(&x, i));
    GPUC_TRY(gpuc_error_prefix(read_provenance(&x), "provenance"));
    *out = (gpuc_package){.gpuc_version = x.version,
                          .is_library = x.signature == GPUC_NO_INDEX,
                          .signature = x.sig,
                          .num_programs = x.num_programs,
                          .programs = x.programs,
                          .provenance = x.provenance_text};
    if (out_sections) *out_sections = sections;
    if (out_num_sections) *out_num_sections = x.num_sections;
    return NULL;
}
