/* SPDX-License-Identifier: Apache-2.0 */
/* All sections but the weights are made in memory; those are written from where they lie. */
#include <string.h>

#include "abi/check.h"
#include "abi/package_sections.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/size.h"

typedef struct section {
    gpuc_section_info info;
    gpuc_buf buf;                /* what was made here, or */
    const gpuc_program *program; /* whose weights these are */
} section;

typedef struct writer {
    gpuc_allocator allocator;
    gpuc_arena arena;
    section *sections;
    uint32_t count;
    uint32_t num_weights;
    uint32_t *weights_of; /* per program: number of its weights section, or GPUC_NO_INDEX */
} writer;

static section *add_section(writer *w, gpuc_section_type type, uint32_t program, uint32_t index)
{
    section *s = &w->sections[w->count++];
    s->info = (gpuc_section_info){.type = type, .program = program, .index = index};
    if (type != GPUC_SECTION_PROVENANCE && type != GPUC_SECTION_IMAGES) s->info.flags = GPUC_SECTION_REQUIRED;
    gpuc_buf_init(&s->buf, w->allocator);
    return s;
}

static void write_manifest(writer *w, const gpuc_package *p)
{
    gpuc_buf *buf = &add_section(w, GPUC_SECTION_MANIFEST, GPUC_NO_INDEX, 0)->buf;
    gpuc_buf_lstr(buf, p->gpuc_version);
    gpuc_buf_u32(buf, p->num_programs);
    for (uint32_t i = 0; i < p->num_programs; i++) {
        const gpuc_program *prog = &p->programs[i];
        gpuc_buf_lstr(buf, prog->target);
        gpuc_buf_u32(buf, prog->device_type);
        gpuc_buf_u32(buf, prog->num_modules);
        gpuc_buf_u32(buf, w->weights_of[i]);
        gpuc_buf_u32(buf, prog->num_requirements);
        for (uint32_t k = 0; k < prog->num_requirements; k++) {
            gpuc_buf_lstr(buf, prog->requirements[k].name);
            gpuc_buf_i64(buf, prog->requirements[k].at_least);
        }
    }
}

static void write_signature_tensors(gpuc_buf *buf, const gpuc_signature_tensor *tensors, uint32_t count)
{
    gpuc_buf_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) {
        const gpuc_signature_tensor *t = &tensors[i];
        gpuc_buf_lstr(buf, t->name);
        gpuc_abi_write_dtype(buf, t->dtype);
        gpuc_buf_u32(buf, t->ndim);
        for (uint32_t d = 0; d < t->ndim; d++) {
            gpuc_buf_i64(buf, t->dims[d]);
            gpuc_buf_lstr(buf, t->dim_names && t->dim_names[d] ? t->dim_names[d] : "");
        }
        gpuc_buf_u32(buf, t->value != NULL);
        if (!t->value) continue;
        for (uint32_t d = 0; d < t->ndim; d++) gpuc_buf_i64(buf, t->value_dims[d]);
        gpuc_buf_u64(buf, t->value_bytes);
        gpuc_buf_bytes(buf, t->value, t->value_bytes);
    }
}

static void write_signature(writer *w, const gpuc_signature *s)
{
    gpuc_buf *buf = &add_section(w, GPUC_SECTION_SIGNATURE, GPUC_NO_INDEX, 0)->buf;
    write_signature_tensors(buf, s->inputs, s->num_inputs);
    write_signature_tensors(buf, s->outputs, s->num_outputs);
}

/* Runtimes that do not know this section run the package on arrays. */
static void write_images(writer *w, const gpuc_signature *s)
{
    const gpuc_signature_tensor *const lists[] = {s->inputs, s->outputs};
    const uint32_t counts[] = {s->num_inputs, s->num_outputs};
    uint32_t count = 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < counts[side]; i++) count += lists[side][i].image != GPUC_IMAGE_NONE;
    if (!count) return;
    gpuc_buf *buf = &add_section(w, GPUC_SECTION_IMAGES, GPUC_NO_INDEX, 0)->buf;
    gpuc_buf_u32(buf, count);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < counts[side]; i++) {
            if (lists[side][i].image == GPUC_IMAGE_NONE) continue;
            gpuc_buf_u32(buf, side);
            gpuc_buf_u32(buf, i);
            gpuc_buf_u32(buf, (uint32_t)lists[side][i].image);
        }
}

static void write_entries(writer *w, const gpuc_program *prog, uint32_t number)
{
    gpuc_buf *buf = &add_section(w, GPUC_SECTION_ENTRIES, number, 0)->buf;
    gpuc_buf_u32(buf, prog->num_entries);
    for (uint32_t i = 0; i < prog->num_entries; i++)
        gpuc_abi_entry_write(buf, &prog->entries[i], prog->kernels);
}

static void write_program(writer *w, const gpuc_program *prog, uint32_t number, bool is_library)
{
    gpuc_buf *buf = &add_section(w, GPUC_SECTION_KERNELS, number, 0)->buf;
    gpuc_buf_u32(buf, prog->num_kernels);
    for (uint32_t i = 0; i < prog->num_kernels; i++) gpuc_abi_kernel_write(buf, &prog->kernels[i]);

    if (is_library)
        write_entries(w, prog, number);
    else
        gpuc_abi_exec_write(&add_section(w, GPUC_SECTION_EXEC, number, 0)->buf, &prog->exec);

    for (uint32_t i = 0; i < prog->num_modules; i++) {
        buf = &add_section(w, GPUC_SECTION_MODULE, number, i)->buf;
        gpuc_buf_lstr(buf, prog->modules[i].type_key);
        gpuc_buf_u64(buf, prog->modules[i].size);
        gpuc_buf_align(buf, 16);
        gpuc_buf_bytes(buf, prog->modules[i].bytes, prog->modules[i].size);
    }
}

/* ---- Weights ---- */

typedef gpuc_status (*part_fn)(void *user, const void *bytes, size_t size);

static gpuc_status put_zeros(part_fn fn, void *user, uint64_t size)
{
    static const char zeros[256];
    for (uint64_t n; size; size -= n) {
        n = size < sizeof zeros ? size : sizeof zeros;
        GPUC_TRY(fn(user, zeros, (size_t)n));
    }
    return NULL;
}

/* The bytes of a weights section, in order. */
static gpuc_status each_part(const gpuc_program *p, part_fn fn, void *user)
{
    if (!p->weight_data) return fn(user, p->weights, (size_t)p->weights_size);
    uint64_t at = 0;
    for (uint32_t i = 0; i < p->exec.num_weights; i++) {
        const gpuc_exec_weight *w = &p->exec.weights[i];
        if (w->offset < at) continue; /* the same as one before */
        GPUC_TRY(put_zeros(fn, user, w->offset - at));
        if (w->size) GPUC_TRY(fn(user, p->weight_data[i], (size_t)w->size));
        at = w->offset + w->size;
    }
    return put_zeros(fn, user, p->weights_size - at);
}

static gpuc_status hash_part(void *user, const void *bytes, size_t size)
{
    gpuc_hasher_add(user, bytes, size);
    return NULL;
}

static gpuc_status write_part(void *user, const void *bytes, size_t size)
{
    return gpuc_file_write(user, bytes, size);
}

static gpuc_status append_part(void *user, const void *bytes, size_t size)
{
    gpuc_buf_bytes(user, bytes, size);
    return gpuc_buf_status(user);
}

gpuc_status gpuc_abi_program_write_weights(const gpuc_program *p, gpuc_file_writer *file)
{
    return each_part(p, write_part, file);
}

static bool same_bytes(const void *a, const void *b, uint64_t size)
{
    return a == b || memcmp(a, b, (size_t)size) == 0;
}

static bool same_weights(const gpuc_program *a, const gpuc_program *b)
{
    if (a->weights_size != b->weights_size || !a->weight_data != !b->weight_data) return false;
    if (!a->weight_data) return same_bytes(a->weights, b->weights, a->weights_size);
    if (a->exec.num_weights != b->exec.num_weights) return false;
    for (uint32_t i = 0; i < a->exec.num_weights; i++) {
        const gpuc_exec_weight *v = &a->exec.weights[i], *w = &b->exec.weights[i];
        if (v->offset != w->offset || v->size != w->size ||
            !same_bytes(a->weight_data[i], b->weight_data[i], v->size))
            return false;
    }
    return true;
}

static void number_weights(writer *w, const gpuc_package *p)
{
    for (uint32_t i = 0; i < p->num_programs; i++) {
        w->weights_of[i] = GPUC_NO_INDEX;
        if (p->programs[i].weights_size == 0) continue;
        for (uint32_t k = 0; k < i && w->weights_of[i] == GPUC_NO_INDEX; k++)
            if (same_weights(&p->programs[i], &p->programs[k])) w->weights_of[i] = w->weights_of[k];
        if (w->weights_of[i] == GPUC_NO_INDEX) w->weights_of[i] = w->num_weights++;
    }
}

static void add_weights(writer *w, const gpuc_package *p)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->num_programs; i++) {
        if (w->weights_of[i] != next) continue;
        section *s = add_section(w, GPUC_SECTION_WEIGHTS, GPUC_NO_INDEX, next++);
        s->program = &p->programs[i];
        s->info.size = p->programs[i].weights_size;
    }
}

static gpuc_status finish_sections(writer *w)
{
    uint64_t end = GPUC_PACKAGE_HEADER_BYTES + (uint64_t)w->count * GPUC_PACKAGE_ROW_BYTES;
    for (uint32_t i = 0; i < w->count; i++) {
        section *s = &w->sections[i];
        GPUC_TRY(gpuc_buf_status(&s->buf));
        if (!s->program) s->info.size = s->buf.size;
        s->info.offset = gpuc_align_up(end, s->program ? GPUC_WEIGHT_ALIGN : GPUC_PACKAGE_SECTION_ALIGN);
        gpuc_hasher hash;
        gpuc_hasher_init(&hash);
        if (s->program)
            GPUC_TRY(each_part(s->program, hash_part, &hash));
        else
            gpuc_hasher_add(&hash, gpuc_buf_cstr(&s->buf), s->buf.size);
        s->info.checksum = gpuc_hasher_get(&hash);
        end = s->info.offset + s->info.size;
    }
    return NULL;
}

static void write_head(writer *w, gpuc_buf *head)
{
    const section *last = &w->sections[w->count - 1];
    gpuc_buf table;
    gpuc_buf_init(&table, w->allocator);
    for (uint32_t i = 0; i < w->count; i++) {
        const gpuc_section_info *s = &w->sections[i].info;
        gpuc_buf_u32(&table, s->type);
        gpuc_buf_u32(&table, s->flags);
        gpuc_buf_u32(&table, s->program);
        gpuc_buf_u32(&table, s->index);
        gpuc_buf_u64(&table, s->offset);
        gpuc_buf_u64(&table, s->size);
        gpuc_buf_u64(&table, s->checksum);
    }
    gpuc_buf_bytes(head, GPUC_PACKAGE_MAGIC, 8);
    gpuc_buf_u32(head, GPUC_PACKAGE_VERSION);
    gpuc_buf_u32(head, w->count);
    gpuc_buf_u64(head, last->info.offset + last->info.size);
    gpuc_buf_u64(head, gpuc_hash_bytes(gpuc_buf_cstr(&table), table.size, 0));
    gpuc_buf_bytes(head, gpuc_buf_cstr(&table), table.size);
    head->failed = head->failed || table.failed;
    gpuc_buf_deinit(&table);
}

static gpuc_status write_sections(writer *w, part_fn put, void *to)
{
    gpuc_buf head;
    gpuc_buf_init(&head, w->allocator);
    write_head(w, &head);
    gpuc_status status = gpuc_buf_status(&head);
    if (!status) status = put(to, gpuc_buf_cstr(&head), head.size);
    uint64_t end = head.size;
    gpuc_buf_deinit(&head);
    for (uint32_t i = 0; !status && i < w->count; i++) {
        const section *s = &w->sections[i];
        status = put_zeros(put, to, s->info.offset - end);
        if (!status && s->program) status = each_part(s->program, put, to);
        if (!status && !s->program) status = put(to, gpuc_buf_cstr(&s->buf), s->buf.size);
        end = s->info.offset + s->info.size;
    }
    return status;
}

static gpuc_status make_sections(writer *w, const gpuc_package *p)
{
    size_t count = 4; /* manifest, signature, images, provenance */
    for (uint32_t i = 0; i < p->num_programs; i++) {
        if (p->programs[i].weights_size > SIZE_MAX)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "program %u: its weights exceed the address space", i);
        count += 3 + (size_t)p->programs[i].num_modules;
    }
    GPUC_TRY(gpuc_abi_array(&w->arena, count, sizeof *w->sections, &w->sections));
    GPUC_TRY(gpuc_abi_array(&w->arena, p->num_programs, sizeof *w->weights_of, &w->weights_of));
    number_weights(w, p);
    write_manifest(w, p);
    if (!p->is_library) write_signature(w, &p->signature);
    if (!p->is_library) write_images(w, &p->signature);
    for (uint32_t i = 0; i < p->num_programs; i++) write_program(w, &p->programs[i], i, p->is_library);
    if (p->provenance && *p->provenance)
        gpuc_buf_lstr(&add_section(w, GPUC_SECTION_PROVENANCE, GPUC_NO_INDEX, 0)->buf, p->provenance);
    add_weights(w, p);
    return finish_sections(w);
}

static void deinit(writer *w)
{
    for (uint32_t i = 0; i < w->count; i++) gpuc_buf_deinit(&w->sections[i].buf);
    gpuc_arena_deinit(&w->arena);
}

gpuc_status gpuc_abi_package_write(gpuc_pending *pending, gpuc_allocator a, const gpuc_package *p,
                                   const char *path)
{
    writer w = {.allocator = a};
    gpuc_file_writer *file = NULL;
    gpuc_arena_init(&w.arena, a);
    gpuc_status status = make_sections(&w, p);
    if (!status) status = gpuc_file_create(pending, a, path, &file);
    if (!status) status = write_sections(&w, write_part, file);
    if (status)
        gpuc_file_abandon(file);
    else
        status = gpuc_file_commit(file);
    deinit(&w);
    return status;
}

gpuc_status gpuc_abi_package_append(const gpuc_package *p, gpuc_buf *out)
{
    writer w = {.allocator = out->allocator};
    gpuc_arena_init(&w.arena, out->allocator);
    gpuc_status status = make_sections(&w, p);
    if (!status) status = write_sections(&w, append_part, out);
    deinit(&w);
    return status;
}
