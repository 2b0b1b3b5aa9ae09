/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the bytes of code modules. */
#include "abi/code.h"

#include <string.h>

#include "abi/check.h"

static void write_values(gpuc_buf *buf, uint32_t count, const uint32_t *values)
{
    gpuc_buf_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) gpuc_buf_u32(buf, values[i]);
}

/* 32-bit numbers in place, or a copy if the bytes are not aligned for them. */
static gpuc_status read_values(gpuc_reader *r, gpuc_arena *arena, uint32_t *count, const uint32_t **out)
{
    *count = gpuc_read_count(r, sizeof(uint32_t));
    const void *in_place = gpuc_read_bytes(r, *count * sizeof(uint32_t));
    *out = in_place;
    if (r->failed || (uintptr_t)in_place % sizeof(uint32_t) == 0) return NULL;
    uint32_t *copy;
    GPUC_TRY(gpuc_abi_array(arena, *count, sizeof *copy, &copy));
    if (*count) memcpy(copy, in_place, *count * sizeof *copy);
    *out = copy;
    return NULL;
}

static gpuc_status end(const gpuc_reader *r)
{
    GPUC_TRY(gpuc_abi_reader_status(r));
    if (r->pos == r->size) return NULL;
    return gpuc_fail(GPUC_INVALID_DATA, "%zu bytes stand behind its end", r->size - r->pos);
}

/* ---- spirv ---- */

void gpuc_abi_spirv_write(gpuc_buf *buf, const gpuc_spirv_module *m)
{
    gpuc_buf_u32(buf, m->num_codes);
    for (uint32_t i = 0; i < m->num_codes; i++) {
        gpuc_buf_lstr(buf, m->codes[i].name);
        gpuc_buf_u32(buf, m->codes[i].num_words);
        gpuc_buf_bytes(buf, m->codes[i].words, m->codes[i].num_words * sizeof(uint32_t));
    }
    gpuc_buf_u32(buf, m->num_shared);
    for (uint32_t i = 0; i < m->num_shared; i++) {
        const gpuc_spirv_shared *s = &m->shared[i];
        gpuc_buf_lstr(buf, s->kernel);
        gpuc_buf_lstr(buf, s->code);
        write_values(buf, s->num_values, s->values);
    }
}

gpuc_status gpuc_abi_spirv_read(const void *bytes, size_t size, gpuc_arena *arena, gpuc_spirv_module *out)
{
    gpuc_reader r = {.data = bytes, .size = size};
    out->num_codes = gpuc_read_count(&r, 2 * sizeof(uint32_t));
    GPUC_TRY(gpuc_abi_array(arena, out->num_codes, sizeof *out->codes, &out->codes));
    for (uint32_t i = 0; i < out->num_codes && !r.failed; i++) {
        out->codes[i].name = gpuc_read_lstr(&r);
        GPUC_TRY(read_values(&r, arena, &out->codes[i].num_words, &out->codes[i].words));
    }
    out->num_shared = gpuc_read_count(&r, 3 * sizeof(uint32_t));
    GPUC_TRY(gpuc_abi_array(arena, out->num_shared, sizeof *out->shared, &out->shared));
    for (uint32_t i = 0; i < out->num_shared && !r.failed; i++) {
        gpuc_spirv_shared *s = &out->shared[i];
        s->kernel = gpuc_read_lstr(&r);
        s->code = gpuc_read_lstr(&r);
        GPUC_TRY(read_values(&r, arena, &s->num_values, &s->values));
    }
    return end(&r);
}

gpuc_spirv_kernel gpuc_abi_spirv_find(const gpuc_spirv_module *m, const char *kernel)
{
    gpuc_spirv_kernel out = {0};
    for (uint32_t i = 0; i < m->num_shared && !out.shared; i++)
        if (strcmp(m->shared[i].kernel, kernel) == 0) out.shared = &m->shared[i];
    const char *code = out.shared ? out.shared->code : kernel;
    for (uint32_t i = 0; i < m->num_codes && !out.code; i++)
        if (strcmp(m->codes[i].name, code) == 0) out.code = &m->codes[i];
    return out;
}

/* ---- opencl_c ---- */

void gpuc_abi_opencl_write(gpuc_buf *buf, const gpuc_opencl_module *m)
{
    gpuc_buf_u32(buf, m->num_programs);
    for (uint32_t i = 0; i < m->num_programs; i++) {
        const gpuc_opencl_source *p = &m->programs[i];
        gpuc_buf_lstr(buf, p->options);
        gpuc_buf_lstr(buf, p->text);
        gpuc_buf_u32(buf, p->num_functions);
        for (uint32_t f = 0; f < p->num_functions; f++) {
            gpuc_buf_lstr(buf, p->functions[f].kernel);
            gpuc_buf_lstr(buf, p->functions[f].name);
            write_values(buf, p->functions[f].num_values, p->functions[f].values);
        }
    }
}

static gpuc_status read_program(gpuc_reader *r, gpuc_arena *arena, gpuc_opencl_source *p)
{
    p->options = gpuc_read_lstr(r);
    p->text = gpuc_read_lstr(r);
    p->num_functions = gpuc_read_count(r, 3 * sizeof(uint32_t));
    GPUC_TRY(gpuc_abi_array(arena, p->num_functions, sizeof *p->functions, &p->functions));
    for (uint32_t i = 0; i < p->num_functions && !r->failed; i++) {
        gpuc_opencl_function *f = &p->functions[i];
        f->kernel = gpuc_read_lstr(r);
        f->name = gpuc_read_lstr(r);
        GPUC_TRY(read_values(r, arena, &f->num_values, &f->values));
    }
    return NULL;
}

gpuc_status gpuc_abi_opencl_read(const void *bytes, size_t size, gpuc_arena *arena, gpuc_opencl_module *out)
{
    gpuc_reader r = {.data = bytes, .size = size};
    out->num_programs = gpuc_read_count(&r, 3 * sizeof(uint32_t));
    GPUC_TRY(gpuc_abi_array(arena, out->num_programs, sizeof *out->programs, &out->programs));
    for (uint32_t i = 0; i < out->num_programs && !r.failed; i++)
        GPUC_TRY(read_program(&r, arena, &out->programs[i]));
    return end(&r);
}

const gpuc_opencl_source *gpuc_abi_opencl_find(const gpuc_opencl_module *m, const char *kernel,
                                               const gpuc_opencl_function **out_function)
{
    for (uint32_t i = 0; i < m->num_programs; i++)
        for (uint32_t f = 0; f < m->programs[i].num_functions; f++) {
            *out_function = &m->programs[i].functions[f];
            if (strcmp((*out_function)->kernel, kernel) == 0) return &m->programs[i];
        }
    *out_function = NULL;
    return NULL;
}
