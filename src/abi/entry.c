/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads entries, and refuses those that do not fit the kernels they launch. */
#include "abi/entry.h"

#include "abi/check.h"

#define BAD(...) gpuc_fail(GPUC_INVALID_DATA, __VA_ARGS__)

enum { DIM_BYTES = 12, ARRAY_BYTES = 16, SCALAR_BYTES = 12, WORKSPACE_BYTES = 4, STEP_BYTES = 4 };

/* ---- Writing ---- */

void gpuc_abi_entry_write(gpuc_buf *buf, const gpuc_entry *e, const gpuc_kernel *kernels)
{
    gpuc_buf_lstr(buf, e->name);
    gpuc_buf_u32(buf, e->num_scalars);
    for (uint32_t i = 0; i < e->num_scalars; i++) {
        gpuc_buf_lstr(buf, e->scalars[i].name);
        gpuc_abi_write_dtype(buf, e->scalars[i].dtype);
    }
    gpuc_buf_u32(buf, e->num_arrays);
    for (uint32_t i = 0; i < e->num_arrays; i++) {
        const gpuc_entry_array *a = &e->arrays[i];
        gpuc_buf_lstr(buf, a->name);
        gpuc_abi_write_dtype(buf, a->dtype);
        gpuc_buf_u32(buf, a->ndim);
        for (uint32_t d = 0; d < a->ndim; d++) {
            gpuc_abi_xexpr_write(buf, a->dims[d].size);
            gpuc_buf_lstr(buf, a->dims[d].text);
        }
    }
    gpuc_buf_u32(buf, e->num_workspaces);
    for (uint32_t i = 0; i < e->num_workspaces; i++) gpuc_abi_xexpr_write(buf, e->workspaces[i]);
    gpuc_buf_u32(buf, e->num_steps);
    for (uint32_t i = 0; i < e->num_steps; i++) {
        const gpuc_entry_step *s = &e->steps[i];
        gpuc_buf_u32(buf, s->kernel);
        for (uint32_t t = 0; t < kernels[s->kernel].num_tensors; t++) gpuc_buf_u32(buf, s->slots[t]);
        for (uint32_t v = 0; v < kernels[s->kernel].num_scalars; v++) gpuc_buf_u32(buf, s->scalars[v]);
    }
}

/* ---- Reading ---- */

typedef struct entry_reader {
    gpuc_reader *r;
    gpuc_arena *arena;
    const gpuc_kernel *kernels;
    uint32_t num_kernels;
    gpuc_entry *e;
} entry_reader;

static bool is_scalar_type(gpuc_dtype t)
{
    return gpuc_dtype_equal(t, GPUC_INT32) || gpuc_dtype_equal(t, GPUC_INT64) ||
           gpuc_dtype_equal(t, GPUC_FLOAT32);
}

static gpuc_status read_scalars(entry_reader *x)
{
    gpuc_entry_scalar *scalars;
    uint32_t count = gpuc_read_count(x->r, SCALAR_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *scalars, &scalars));
    for (uint32_t i = 0; i < count; i++) {
        GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &scalars[i].name));
        scalars[i].dtype = gpuc_abi_read_dtype(x->r);
        GPUC_TRY(gpuc_abi_reader_status(x->r));
        if (!is_scalar_type(scalars[i].dtype))
            return BAD("scalar %u ('%.64s') has no scalar type", i, scalars[i].name);
    }
    x->e->scalars = scalars;
    x->e->num_scalars = count;
    return NULL;
}

static gpuc_status read_array(entry_reader *x, gpuc_entry_array *a)
{
    gpuc_entry_dim *dims;
    GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &a->name));
    a->dtype = gpuc_abi_read_dtype(x->r);
    a->ndim = gpuc_read_count(x->r, DIM_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    GPUC_TRY(gpuc_abi_check_dtype(a->dtype));
    GPUC_TRY(gpuc_abi_array(x->arena, a->ndim, sizeof *dims, &dims));
    for (uint32_t d = 0; d < a->ndim; d++) {
        GPUC_TRY(gpuc_abi_xexpr_read(x->r, x->arena, x->e->num_scalars, &dims[d].size));
        GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &dims[d].text));
    }
    a->dims = dims;
    return NULL;
}

static gpuc_status read_arrays(entry_reader *x)
{
    gpuc_entry_array *arrays;
    uint32_t count = gpuc_read_count(x->r, ARRAY_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *arrays, &arrays));
    for (uint32_t i = 0; i < count; i++)
        GPUC_TRY(gpuc_error_prefix(read_array(x, &arrays[i]), "array %u", i));
    x->e->arrays = arrays;
    x->e->num_arrays = count;
    return NULL;
}

static gpuc_status read_workspaces(entry_reader *x)
{
    gpuc_xexpr *sizes;
    uint32_t count = gpuc_read_count(x->r, WORKSPACE_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *sizes, &sizes));
    for (uint32_t i = 0; i < count; i++)
        GPUC_TRY(gpuc_error_prefix(gpuc_abi_xexpr_read(x->r, x->arena, x->e->num_scalars, &sizes[i]),
                                   "workspace %u", i));
    x->e->workspaces = sizes;
    x->e->num_workspaces = count;
    return NULL;
}

/* Numbers below limit. */
static gpuc_status read_numbers(entry_reader *x, uint32_t count, uint64_t limit, const char *what,
                                const uint32_t **out)
{
    uint32_t *numbers;
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *numbers, &numbers));
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = gpuc_read_u32(x->r);
        GPUC_TRY(gpuc_abi_reader_status(x->r));
        if (numbers[i] >= limit) return BAD("%s %u of %llu", what, numbers[i], (unsigned long long)limit);
    }
    *out = numbers;
    return NULL;
}

/* Tensors may have other types than the arrays: kernels read bool as bytes, and float16 as words. */
static gpuc_status check_scalars(const entry_reader *x, const gpuc_kernel *k, const gpuc_entry_step *s)
{
    for (uint32_t v = 0; v < k->num_scalars; v++)
        if ((x->e->scalars[s->scalars[v]].dtype.code == GPUC_DTYPE_FLOAT) !=
            (k->scalars[v].code == GPUC_DTYPE_FLOAT))
            return BAD("scalar %u of kernel '%.64s' has another type than scalar %u", v, k->name,
                       s->scalars[v]);
    return NULL;
}

static gpuc_status read_step(entry_reader *x, gpuc_entry_step *s)
{
    s->kernel = gpuc_read_u32(x->r);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    if (s->kernel >= x->num_kernels) return BAD("kernel %u of %u", s->kernel, x->num_kernels);
    const gpuc_kernel *k = &x->kernels[s->kernel];
    if (k->variant) return BAD("kernel '%.64s' is a variant", k->name);
    uint64_t slots = (uint64_t)x->e->num_arrays + x->e->num_workspaces;
    GPUC_TRY(read_numbers(x, k->num_tensors, slots, "array or workspace", &s->slots));
    GPUC_TRY(read_numbers(x, k->num_scalars, x->e->num_scalars, "scalar", &s->scalars));
    return check_scalars(x, k, s);
}

static gpuc_status read_steps(entry_reader *x)
{
    gpuc_entry_step *steps;
    uint32_t count = gpuc_read_count(x->r, STEP_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    GPUC_TRY(gpuc_abi_array(x->arena, count, sizeof *steps, &steps));
    for (uint32_t i = 0; i < count; i++) GPUC_TRY(gpuc_error_prefix(read_step(x, &steps[i]), "step %u", i));
    x->e->steps = steps;
    x->e->num_steps = count;
    return NULL;
}

gpuc_status gpuc_abi_entry_read(gpuc_reader *r, gpuc_arena *arena, const gpuc_kernel *kernels,
                                uint32_t num_kernels, gpuc_entry *out)
{
    entry_reader x = {.r = r, .arena = arena, .kernels = kernels, .num_kernels = num_kernels, .e = out};
    *out = (gpuc_entry){0};
    GPUC_TRY(gpuc_abi_read_string(r, arena, &out->name));
    if (!*out->name) return BAD("its name is empty");
    GPUC_TRY(read_scalars(&x));
    GPUC_TRY(read_arrays(&x));
    GPUC_TRY(read_workspaces(&x));
    return read_steps(&x);
}
