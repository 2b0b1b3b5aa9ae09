/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the metadata of a kernel, and refuses metadata that no device could launch. */
#include "abi/kernel.h"

#include "abi/check.h"
#include "abi/window.h"
#include "base/size.h"

#define MAX_LOCAL_SIZE 65536u
#define MAX_SUBGROUP_SIZE 1024u
#define MAX_ALIGNMENT 65536u
#define TENSOR_BYTES 20 /* of one tensor as written */

static const char *const feature_names[GPUC_FEATURE_COUNT] = {
    "float16",        "float64",  "int8",
    "int16",          "int64",    "storage8",
    "storage16",      "subgroup", "subgroup_shuffle",
    "dot_product",    "coopmat",  "atomic_float",
    "float_controls", "images",   "image_any_format",
};

const char *gpuc_feature_name(gpuc_feature one_bit)
{
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if ((uint32_t)one_bit == 1u << i) return feature_names[i];
    return "unknown feature";
}

uint32_t gpuc_abi_kernel_param_layout(const gpuc_kernel *k, uint32_t *scalar_offsets)
{
    uint32_t at = 4 * k->num_tensors;
    for (uint32_t i = 0; i < k->num_scalars; i++) {
        uint32_t size = (uint32_t)gpuc_dtype_bytes(k->scalars[i]);
        at = (uint32_t)gpuc_align_up(at, size);
        if (scalar_offsets) scalar_offsets[i] = at;
        at += size;
    }
    return at;
}

void gpuc_abi_kernel_write(gpuc_buf *buf, const gpuc_kernel *k)
{
    gpuc_buf_lstr(buf, k->name);
    gpuc_buf_lstr(buf, k->label);
    gpuc_buf_u32(buf, k->module);
    gpuc_buf_u32(buf, k->num_bindings);
    gpuc_buf_u32(buf, k->num_tensors);
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        const gpuc_kernel_tensor *t = &k->tensors[i];
        gpuc_abi_write_dtype(buf, t->dtype);
        gpuc_buf_u8(buf, t->access);
        gpuc_buf_u8(buf, t->texel);
        gpuc_buf_u8(buf, t->windowed);
        gpuc_buf_u8(buf, t->image);
        gpuc_buf_u32(buf, t->alignment);
        gpuc_buf_u32(buf, t->binding);
        gpuc_buf_u32(buf, t->texel ? t->texel_binding : 0);
    }
    gpuc_buf_u32(buf, k->num_scalars);
    for (uint32_t i = 0; i < k->num_scalars; i++) gpuc_abi_write_dtype(buf, k->scalars[i]);
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        if (!k->tensors[i].windowed) continue;
        gpuc_abi_xexpr_write(buf, k->tensors[i].begin);
        gpuc_abi_xexpr_write(buf, k->tensors[i].end);
    }
    for (int i = 0; i < 3; i++) gpuc_buf_u32(buf, k->local_size[i]);
    for (int i = 0; i < 3; i++) gpuc_abi_xexpr_write(buf, k->launch[i]);
    gpuc_buf_u32(buf, k->features);
    gpuc_buf_u32(buf, k->subgroup_size);
    gpuc_buf_u32(buf, k->shared_bytes);
    gpuc_buf_u8(buf, k->params_in_buffer);
    gpuc_buf_u8(buf, k->variant);
    gpuc_buf_u8(buf, k->limited);
    gpuc_buf_u8(buf, k->iterations.count != 0);
    if (k->iterations.count) gpuc_abi_xexpr_write(buf, k->iterations);
    gpuc_buf_i64(buf, k->cost_bytes);
    gpuc_buf_i64(buf, k->cost_ops);
}

static bool is_identifier(const char *s)
{
    for (const char *p = s; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        if (!letter && !(p > s && *p >= '0' && *p <= '9')) return false;
    }
    return *s != 0;
}

static bool is_power_of_two(uint32_t v)
{
    return v != 0 && (v & (v - 1)) == 0;
}

static gpuc_status check_image(const gpuc_kernel_tensor *t, uint32_t number)
{
    bool fits = gpuc_dtype_equal(t->dtype, GPUC_UINT8) || gpuc_dtype_equal(t->dtype, GPUC_FLOAT16) ||
                gpuc_dtype_equal(t->dtype, GPUC_FLOAT32);
    if (!t->image) return NULL;
    if (t->image != 1 && t->image != 4)
        return gpuc_fail(GPUC_INVALID_DATA, "tensor %u: an image of %u channels", number, t->image);
    if (!fits || t->texel || t->windowed || t->access == GPUC_ACCESS_READ_WRITE)
        return gpuc_fail(GPUC_INVALID_DATA,
                         "tensor %u: an image is of uint8, float16 or float32, read or written, and whole",
                         number);
    return NULL;
}

static gpuc_status read_tensor(gpuc_reader *r, uint32_t number, gpuc_kernel_tensor *t)
{
    t->dtype = gpuc_abi_read_dtype(r);
    t->access = gpuc_read_u8(r);
    GPUC_TRY(gpuc_abi_read_bool(r, "the texel flag of a tensor", &t->texel));
    GPUC_TRY(gpuc_abi_read_bool(r, "the window flag of a tensor", &t->windowed));
    t->image = gpuc_read_u8(r);
    t->alignment = gpuc_read_u32(r);
    t->binding = gpuc_read_u32(r);
    t->texel_binding = gpuc_read_u32(r);
    GPUC_TRY(gpuc_abi_reader_status(r));
    GPUC_TRY(gpuc_error_prefix(gpuc_abi_check_dtype(t->dtype), "tensor %u", number));
    if (t->access < GPUC_ACCESS_READ || t->access > GPUC_ACCESS_READ_WRITE)
        return gpuc_fail(GPUC_INVALID_DATA, "tensor %u: access %u is none of 1, 2, 3", number, t->access);
    if (t->texel && t->access != GPUC_ACCESS_READ)
        return gpuc_fail(GPUC_INVALID_DATA, "tensor %u: it is written, but read through a texel view",
                         number);
    if (!is_power_of_two(t->alignment) || t->alignment > MAX_ALIGNMENT)
        return gpuc_fail(GPUC_INVALID_DATA, "tensor %u: alignment %u is no power of two up to %u", number,
                         t->alignment, MAX_ALIGNMENT);
    if (!t->texel && t->texel_binding != 0)
        return gpuc_fail(GPUC_INVALID_DATA, "tensor %u: a field that must be 0 is not", number);
    return check_image(t, number);
}

static gpuc_status read_window(gpuc_reader *r, gpuc_arena *arena, uint32_t num_scalars, gpuc_kernel_tensor *t)
{
    if (!t->windowed) return NULL;
    GPUC_TRY(gpuc_abi_xexpr_read(r, arena, num_scalars + GPUC_WINDOW_SYMBOLS, &t->begin));
    return gpuc_abi_xexpr_read(r, arena, num_scalars + GPUC_WINDOW_SYMBOLS, &t->end);
}

/* Storage bindings come first and each has a user; texel views and images follow, one binding each. */
static gpuc_status check_bindings(const gpuc_kernel *k, gpuc_arena *arena)
{
    uint32_t views = 0;
    for (uint32_t i = 0; i < k->num_tensors; i++) views += k->tensors[i].texel || k->tensors[i].image;
    if (k->num_bindings > k->num_tensors)
        return gpuc_fail(GPUC_INVALID_DATA, "%u bindings for %u tensors", k->num_bindings, k->num_tensors);
    uint32_t total = k->num_bindings + views;
    uint8_t *used;
    GPUC_TRY(gpuc_abi_array(arena, total, 1, &used));
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        const gpuc_kernel_tensor *t = &k->tensors[i];
        if (!t->image && t->binding >= k->num_bindings)
            return gpuc_fail(GPUC_INVALID_DATA, "tensor %u: binding %u of %u", i, t->binding,
                             k->num_bindings);
        if (!t->image) used[t->binding] = 1;
        if (!t->texel && !t->image) continue;
        uint32_t view = t->image ? t->binding : t->texel_binding;
        if (view < k->num_bindings || view >= total || used[view])
            return gpuc_fail(GPUC_INVALID_DATA,
                             "tensor %u: its %s is at binding %u; views have %u to %u, one each", i,
                             t->image ? "image" : "texel view", view, k->num_bindings, total - 1);
        used[view] = 1;
    }
    for (uint32_t i = 0; i < total; i++)
        if (!used[i]) return gpuc_fail(GPUC_INVALID_DATA, "binding %u belongs to no tensor", i);
    return NULL;
}

static gpuc_status check_whole(const gpuc_kernel *k, gpuc_xexpr e, const char *what)
{
    for (uint32_t i = 0; i < e.count; i++) {
        const gpuc_xinstr *x = &e.code[i];
        if (x->op == GPUC_XOP_DIM && x->value < k->num_scalars &&
            k->scalars[x->value].code == GPUC_DTYPE_FLOAT)
            return gpuc_fail(GPUC_INVALID_DATA, "the %s uses scalar %lld, which is a float", what,
                             (long long)x->value);
    }
    return NULL;
}

static gpuc_status check_scalar_use(const gpuc_kernel *k)
{
    for (uint32_t i = 0; i < k->num_scalars; i++) {
        gpuc_dtype t = k->scalars[i];
        if (!gpuc_dtype_equal(t, GPUC_INT32) && !gpuc_dtype_equal(t, GPUC_INT64) &&
            !gpuc_dtype_equal(t, GPUC_FLOAT32)) {
            char name[24];
            return gpuc_fail(GPUC_INVALID_DATA, "scalar %u is %s, not int32, int64 or float32", i,
                             gpuc_dtype_name(t, name));
        }
    }
    for (int d = 0; d < 3; d++) GPUC_TRY(check_whole(k, k->launch[d], "launch size"));
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        GPUC_TRY(check_whole(k, k->tensors[i].begin, "start of a window"));
        GPUC_TRY(check_whole(k, k->tensors[i].end, "end of a window"));
    }
    return check_whole(k, k->iterations, "number of loop iterations");
}

static gpuc_status check_limits(const gpuc_kernel *k)
{
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) {
        if (k->local_size[d] == 0 || k->local_size[d] > MAX_LOCAL_SIZE)
            return gpuc_fail(GPUC_INVALID_DATA, "local size %u is outside of 1 to %u", k->local_size[d],
                             MAX_LOCAL_SIZE);
        threads *= k->local_size[d];
    }
    if (threads > MAX_LOCAL_SIZE)
        return gpuc_fail(GPUC_INVALID_DATA, "a work-group of %llu threads", (unsigned long long)threads);
    if (k->features >> GPUC_FEATURE_COUNT)
        return gpuc_fail(
            GPUC_UNSUPPORTED,
            "it needs device features unknown to this version of gpuc (bits 0x%x); use a newer one",
            k->features >> GPUC_FEATURE_COUNT << GPUC_FEATURE_COUNT);
    if (k->subgroup_size != 0 && (!is_power_of_two(k->subgroup_size) || k->subgroup_size > MAX_SUBGROUP_SIZE))
        return gpuc_fail(GPUC_INVALID_DATA, "subgroup size %u is no power of two up to %u", k->subgroup_size,
                         MAX_SUBGROUP_SIZE);
    if (k->cost_bytes < -1 || k->cost_ops < -1)
        return gpuc_fail(GPUC_INVALID_DATA, "the cost estimate is negative");
    /* Offsets of the parameter block are 32-bit. */
    if ((uint64_t)k->num_tensors * 4 + (uint64_t)k->num_scalars * 8 > UINT32_MAX / 2)
        return gpuc_fail(GPUC_INVALID_DATA, "%u tensors and %u scalars", k->num_tensors, k->num_scalars);
    return NULL;
}

static gpuc_status read_body(gpuc_reader *r, gpuc_arena *arena, gpuc_kernel *k)
{
    k->module = gpuc_read_u32(r);
    k->num_bindings = gpuc_read_u32(r);
    k->num_tensors = gpuc_read_count(r, TENSOR_BYTES);
    GPUC_TRY(gpuc_abi_reader_status(r));
    gpuc_kernel_tensor *tensors;
    GPUC_TRY(gpuc_abi_array(arena, k->num_tensors, sizeof *tensors, &tensors));
    for (uint32_t i = 0; i < k->num_tensors; i++) GPUC_TRY(read_tensor(r, i, &tensors[i]));
    k->tensors = tensors;

    k->num_scalars = gpuc_read_count(r, 4);
    GPUC_TRY(gpuc_abi_reader_status(r));
    gpuc_dtype *scalars;
    GPUC_TRY(gpuc_abi_array(arena, k->num_scalars, sizeof *scalars, &scalars));
    for (uint32_t i = 0; i < k->num_scalars; i++) scalars[i] = gpuc_abi_read_dtype(r);
    k->scalars = scalars;

    for (uint32_t i = 0; i < k->num_tensors; i++)
        GPUC_TRY(
            gpuc_error_prefix(read_window(r, arena, k->num_scalars, &tensors[i]), "window of tensor %u", i));

    for (int d = 0; d < 3; d++) k->local_size[d] = gpuc_read_u32(r);
    for (int d = 0; d < 3; d++)
        GPUC_TRY(gpuc_error_prefix(gpuc_abi_xexpr_read(r, arena, k->num_scalars, &k->launch[d]),
                                   "launch size %c", "xyz"[d]));
    k->features = gpuc_read_u32(r);
    k->subgroup_size = gpuc_read_u32(r);
    k->shared_bytes = gpuc_read_u32(r);
    GPUC_TRY(gpuc_abi_read_bool(r, "the parameter block flag", &k->params_in_buffer));
    GPUC_TRY(gpuc_abi_read_bool(r, "the variant flag", &k->variant));
    GPUC_TRY(gpuc_abi_read_bool(r, "the flag of limited iterations", &k->limited));
    bool counted;
    GPUC_TRY(gpuc_abi_read_bool(r, "the flag of counted iterations", &counted));
    if (counted)
        GPUC_TRY(gpuc_error_prefix(gpuc_abi_xexpr_read(r, arena, k->num_scalars, &k->iterations),
                                   "loop iterations"));
    k->cost_bytes = gpuc_read_i64(r);
    k->cost_ops = gpuc_read_i64(r);
    GPUC_TRY(gpuc_abi_reader_status(r));
    GPUC_TRY(check_limits(k));
    GPUC_TRY(check_scalar_use(k));
    return check_bindings(k, arena);
}

gpuc_status gpuc_abi_kernel_read(gpuc_reader *r, gpuc_arena *arena, gpuc_kernel *out)
{
    *out = (gpuc_kernel){0};
    gpuc_kernel k = {0};
    GPUC_TRY(gpuc_abi_read_string(r, arena, &k.name));
    if (!is_identifier(k.name))
        return gpuc_fail(GPUC_INVALID_DATA, "the kernel name '%.64s' is not an identifier", k.name);
    GPUC_TRY(gpuc_abi_read_string(r, arena, &k.label));
    GPUC_TRY(gpuc_error_prefix(read_body(r, arena, &k), "kernel '%.64s'", k.name));
    *out = k;
    return NULL;
}
