/* SPDX-License-Identifier: Apache-2.0 */
/* A call of an entry: its arguments against what it was built for, memory for what lives between
 * its kernels, and the launches of all of them on the thread's current stream. It does not wait: backends keep
 * what is queued, and the pool what is for the same stream. */
#include <inttypes.h>
#include <string.h>

#include "abi/scope.h"
#include "base/size.h"
#include "library/library.h"
#include "runtime/current.h"
#include "runtime/services.h"
#include "runtime/ndarray.h"
#include "runtime/workspace_pool.h"

/* What one call needs. */
typedef struct entry_call {
    const gpuc_loaded_library *library;
    const gpuc_entry *f;
    const bool *written; /* by number of the array */
    gpuc_stream *stream;
    gpuc_arena arena;
    int64_t *scalars; /* of the entry; a float is the bits of a double */
    gpuc_binding *slots;
    gpuc_buffer **workspaces; /* NULL: not allocated */
} entry_call;

/* ---- Arguments ------------------------------------------------------------------------------------ */

static gpuc_status take_scalar(const gpuc_entry *f, uint32_t i, const gpuc_value *v, int64_t *out)
{
    const gpuc_entry_scalar *s = &f->scalars[i];
    uint32_t at = f->num_arrays + i;
    char type[24];
    if (v->kind != GPUC_VALUE_INT && v->kind != GPUC_VALUE_FLOAT)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u ('%s') is not a number but %s", f->name, at,
                         s->name, gpuc_value_kind_name(v->kind));
    if (s->dtype.code == GPUC_DTYPE_FLOAT) {
        double value = v->kind == GPUC_VALUE_INT ? (double)v->as.i : v->as.f;
        memcpy(out, &value, sizeof value);
        return NULL;
    }
    if (v->kind == GPUC_VALUE_FLOAT)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%s: argument %u ('%s') is the float %g; the parameter is %s: give an int", f->name,
                         at, s->name, v->as.f, gpuc_dtype_name(s->dtype, type));
    if (s->dtype.bits == 32 && v->as.i != (int32_t)v->as.i)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%s: argument %u ('%s') is %" PRId64 ", which does not fit in int32", f->name, at,
                         s->name, v->as.i);
    *out = v->as.i;
    return NULL;
}

static gpuc_status check_dims(const entry_call *c, uint32_t i, const gpuc_ndarray *a)
{
    const gpuc_entry *f = c->f;
    const gpuc_entry_array *p = &f->arrays[i];
    const int64_t *dims = gpuc_ndarray_dims(a);
    for (uint32_t d = 0; d < p->ndim; d++) {
        int64_t want;
        gpuc_status s = gpuc_abi_xexpr_eval(p->dims[d].size, c->scalars, f->num_scalars, &want);
        GPUC_TRY(gpuc_error_prefix(s, "%s: dimension %u of argument %u ('%s')", f->name, d, i, p->name));
        const char *text = p->dims[d].text;
        if (dims[d] != want)
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "%s: dimension %u of argument %u ('%s') is %" PRId64 "; it must be %" PRId64 "%s%s%s",
                f->name, d, i, p->name, dims[d], want, *text ? " (" : "", text, *text ? ")" : "");
    }
    return NULL;
}

static gpuc_status check_array(const entry_call *c, uint32_t i, const gpuc_value *v)
{
    const gpuc_entry *f = c->f;
    const gpuc_entry_array *p = &f->arrays[i];
    const gpuc_ndarray *a = v->as.ndarray;
    char got[24], want[24];
    if (v->kind != GPUC_VALUE_NDARRAY || !a)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u ('%s') is not an array but %s", f->name, i,
                         p->name, v->kind == GPUC_VALUE_NDARRAY ? "NULL" : gpuc_value_kind_name(v->kind));
    if (a->runtime != c->library->rt)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u ('%s') is an array of another runtime",
                         f->name, i, p->name);
    if (gpuc_ndarray_device(a) != c->library->device)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%s: argument %u ('%s') is on another device; copy it to the one that the function "
                         "was built for",
                         f->name, i, p->name);
    gpuc_dtype dtype = gpuc_ndarray_dtype(a);
    if (!gpuc_dtype_equal(dtype, p->dtype))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u ('%s') is of type %s; it must be %s",
                         f->name, i, p->name, gpuc_dtype_name(dtype, got), gpuc_dtype_name(p->dtype, want));
    if ((uint32_t)gpuc_ndarray_ndim(a) != p->ndim)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: argument %u ('%s') has %d dimensions; it must have %u",
                         f->name, i, p->name, gpuc_ndarray_ndim(a), p->ndim);
    return check_dims(c, i, a);
}

static gpuc_status check_apart(const entry_call *c, const gpuc_value *args)
{
    const gpuc_entry *f = c->f;
    for (uint32_t i = 0; i < f->num_arrays; i++)
        for (uint32_t j = 0; c->written[i] && j < f->num_arrays; j++)
            if (i != j && gpuc_ndarray_overlap(args[i].as.ndarray, args[j].as.ndarray))
                return gpuc_fail(GPUC_INVALID_ARGUMENT,
                                 "%s: argument %u ('%s'), which is written, shares memory with argument %u "
                                 "('%s')",
                                 f->name, i, f->arrays[i].name, j, f->arrays[j].name);
    return NULL;
}

static gpuc_status take_arguments(entry_call *c, const gpuc_value *args, int num_args)
{
    const gpuc_entry *f = c->f;
    if (num_args < 0 || (uint32_t)num_args != f->num_arrays + f->num_scalars)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s takes %u arrays and %u numbers, got %d arguments",
                         f->name, f->num_arrays, f->num_scalars, num_args);
    for (uint32_t i = 0; i < f->num_scalars; i++)
        GPUC_TRY(take_scalar(f, i, &args[f->num_arrays + i], &c->scalars[i]));
    for (uint32_t i = 0; i < f->num_arrays; i++) {
        GPUC_TRY(check_array(c, i, &args[i]));
        c->slots[i] = gpuc_ndarray_binding(args[i].as.ndarray);
    }
    return check_apart(c, args);
}

/* ---- Memory between kernels ----------------------------------------------------------------------- */

static gpuc_status take_workspaces(entry_call *c)
{
    const gpuc_entry *f = c->f;
    for (uint32_t i = 0; i < f->num_workspaces; i++) {
        int64_t bytes;
        GPUC_TRY(gpuc_error_prefix(gpuc_abi_xexpr_eval(f->workspaces[i], c->scalars, f->num_scalars, &bytes),
                                   "%s: the size of an intermediate tensor", f->name));
        /* A vector may be read to its end where only its first lane is in the tensor. */
        uint64_t size = gpuc_align_up(bytes > 0 ? (uint64_t)bytes : 1, GPUC_SLOT_ROUND);
        if (size > SIZE_MAX)
            return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY,
                             "%s: an intermediate tensor of %llu bytes exceeds the address space", f->name,
                             (unsigned long long)size);
        GPUC_TRY(gpuc_error_prefix(
            gpuc_runtime_workspace_alloc(c->library->device, c->stream, (size_t)size, &c->workspaces[i]),
            "%s: an intermediate tensor", f->name));
        c->slots[f->num_arrays + i] = (gpuc_binding){.buffer = c->workspaces[i], .size = size};
    }
    return NULL;
}

/* ---- Steps ---------------------------------------------------------------------------------------- */

static gpuc_status out_of_memory(const gpuc_entry *f)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a call of %s", f->name);
}

static gpuc_status fill_scalars(const entry_call *c, const gpuc_entry_step *from, const gpuc_kernel *k,
                                int64_t *out)
{
    for (uint32_t v = 0; v < k->num_scalars; v++) {
        out[v] = c->scalars[from->scalars[v]];
        if (gpuc_dtype_equal(k->scalars[v], GPUC_INT32) && out[v] != (int32_t)out[v])
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "%s: '%s' is %" PRId64 "; it decides a size, and sizes are less than 2^31",
                             c->f->name, c->f->scalars[from->scalars[v]].name, out[v]);
    }
    return NULL;
}

static gpuc_status fill_step(entry_call *c, const gpuc_entry_step *from, gpuc_step *step)
{
    const gpuc_entry *f = c->f;
    const gpuc_program *p = c->library->program;
    const gpuc_kernel *k = &p->kernels[from->kernel];
    gpuc_step_tensor *tensors = gpuc_arena_alloc_array(&c->arena, k->num_tensors, sizeof *tensors);
    int64_t *scalars = gpuc_arena_alloc_array(&c->arena, k->num_scalars, sizeof *scalars);
    if (!tensors || !scalars) return out_of_memory(f);
    GPUC_TRY(fill_scalars(c, from, k, scalars));
    for (uint32_t t = 0; t < k->num_tensors; t++)
        tensors[t] =
            (gpuc_step_tensor){.slot = from->slots[t],
                               .access = k->tensors[t].access,
                               .size = c->slots[from->slots[t]].size,
                               .name = from->slots[t] < f->num_arrays ? f->arrays[from->slots[t]].name
                                                                      : "an intermediate tensor"};
    *step = (gpuc_step){
        .num_tensors = k->num_tensors, .num_scalars = k->num_scalars, .tensors = tensors, .scalars = scalars};
    uint32_t chosen;
    return gpuc_error_prefix(gpuc_loader_launch(&c->library->code, from->kernel, step, &chosen), "%s",
                             f->name);
}

static gpuc_status run(entry_call *c)
{
    const gpuc_entry *f = c->f;
    gpuc_device *dev = c->library->device;
    gpuc_bindings bindings = {.slots = c->slots, .count = f->num_arrays + f->num_workspaces};
    for (uint32_t i = 0; i < f->num_steps; i++) {
        gpuc_step step;
        gpuc_arena_mark mark = gpuc_arena_save(&c->arena);
        GPUC_TRY(fill_step(c, &f->steps[i], &step));
        GPUC_TRY(gpuc_error_prefix(dev->api->launch(dev, c->stream, &step, &bindings), "%s", f->name));
        gpuc_arena_restore(&c->arena, mark);
    }
    return NULL;
}

static gpuc_status call(entry_call *c, const gpuc_value *args, int num_args)
{
    const gpuc_entry *f = c->f;
    c->scalars = gpuc_arena_alloc_array(&c->arena, f->num_scalars, sizeof *c->scalars);
    c->slots = gpuc_arena_alloc_array(&c->arena, f->num_arrays + f->num_workspaces, sizeof *c->slots);
    c->workspaces = gpuc_arena_alloc_array(&c->arena, f->num_workspaces, sizeof *c->workspaces);
    if (!c->scalars || !c->slots || !c->workspaces) return out_of_memory(f);
    GPUC_TRY(take_arguments(c, args, num_args));
    gpuc_status status = take_workspaces(c);
    if (!status) status = run(c);
    for (uint32_t i = 0; i < f->num_workspaces; i++)
        gpuc_runtime_workspace_free(c->library->device, c->stream, c->workspaces[i]);
    return status;
}

gpuc_status gpuc_library_call(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    const gpuc_library_function *function = self;
    gpuc_device *dev = function->library->device;
    entry_call c = {.library = function->library,
                    .f = function->entry,
                    .written = function->written,
                    .stream = gpuc_runtime_current_stream(dev)};
    if (ret) *ret = (gpuc_value){.kind = GPUC_VALUE_NULL};
    /* Most calls need no more: an allocation would cost as much as all the rest. */
    _Alignas(16) unsigned char memory[2048];
    gpuc_arena_init_at(&c.arena, gpuc_runtime_allocator(c.library->rt), memory, sizeof memory);
    gpuc_status status = call(&c, args, num_args);
    gpuc_arena_deinit(&c.arena);
    return status;
}
