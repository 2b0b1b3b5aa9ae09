/* SPDX-License-Identifier: Apache-2.0 */
/* Sets, binds and gets the inputs and outputs of a session, checks their types and sizes, and takes its parallel loops. */
#include <stdio.h>

#include "abi/scope.h"
#include "base/buf.h"
#include "base/require.h"
#include "executor/session.h"

static void print_dims(gpuc_buf *buf, const gpuc_signature_tensor *t)
{
    gpuc_buf_str(buf, "[");
    for (uint32_t d = 0; d < t->ndim; d++) {
        if (d) gpuc_buf_str(buf, ",");
        if (t->dims[d] >= 0)
            gpuc_buf_printf(buf, "%lld", (long long)t->dims[d]);
        else
            gpuc_buf_str(buf, t->dim_names[d][0] ? t->dim_names[d] : "?");
    }
    gpuc_buf_str(buf, "]");
}

static void print_array(gpuc_buf *buf, const gpuc_ndarray *a)
{
    char name[24];
    gpuc_buf_printf(buf, "%s[", gpuc_dtype_name(gpuc_ndarray_dtype(a), name));
    for (int d = 0; d < gpuc_ndarray_ndim(a); d++)
        gpuc_buf_printf(buf, "%s%lld", d ? "," : "", (long long)gpuc_ndarray_dims(a)[d]);
    gpuc_buf_str(buf, "]");
}

static gpuc_status mismatch(const gpuc_session *s, const char *what, const gpuc_signature_tensor *t,
                            const gpuc_ndarray *a)
{
    char name[24];
    gpuc_buf want, have;
    gpuc_buf_init(&want, s->allocator);
    gpuc_buf_init(&have, s->allocator);
    gpuc_buf_str(&want, gpuc_dtype_name(t->dtype, name));
    print_dims(&want, t);
    print_array(&have, a);
    gpuc_status status = gpuc_fail(GPUC_INVALID_ARGUMENT, "%s '%s' is %s, but the array given is %s", what,
                                   t->name, gpuc_buf_cstr(&want), gpuc_buf_cstr(&have));
    gpuc_buf_deinit(&want);
    gpuc_buf_deinit(&have);
    return status;
}

static bool fits(const gpuc_signature_tensor *t, const gpuc_ndarray *a)
{
    if (!gpuc_dtype_equal(t->dtype, gpuc_ndarray_dtype(a)) || (int)t->ndim != gpuc_ndarray_ndim(a))
        return false;
    for (uint32_t d = 0; d < t->ndim; d++)
        if (t->dims[d] >= 0 && t->dims[d] != gpuc_ndarray_dims(a)[d]) return false;
    return true;
}

static bool same_dims(const gpuc_ndarray *a, const gpuc_ndarray *b)
{
    for (int d = 0; d < gpuc_ndarray_ndim(a); d++)
        if (gpuc_ndarray_dims(a)[d] != gpuc_ndarray_dims(b)[d]) return false;
    return true;
}

static gpuc_status check_index(const char *what, int i, uint32_t count)
{
    if (i >= 0 && (uint32_t)i < count) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s %d: the model has %u", what, i, count);
}

static gpuc_device *device_of(const gpuc_session *s, uint32_t value)
{
    const gpuc_exec *e = s->model->exec;
    return s->model->devices[e->slots[e->values[value].slot].device].code.dev;
}

/* Takes one reference of array, or NULL. A stepped inference reads what was there when it began, so it ends:
 * what it would read next may go away here. */
static gpuc_status replace(gpuc_session *s, gpuc_session_array *at, gpuc_ndarray *array, bool bound)
{
    gpuc_ndarray *old = at->array;
    gpuc_session_end_inference(s);
    s->bound = false;
    *at = (gpuc_session_array){.array = array, .bound = bound};
    return gpuc_session_retire(s, old);
}

static gpuc_status replace_input(gpuc_session *s, int i, gpuc_ndarray *array, bool bound)
{
    gpuc_session_array *in = &s->inputs[i];
    if (!in->array || !array || !same_dims(in->array, array)) s->shapes_changed = true;
    return replace(s, in, array, bound);
}

gpuc_status gpuc_session_set_input(gpuc_session *s, int i, const gpuc_ndarray *value)
{
    GPUC_REQUIRE(s);
    const gpuc_signature *sig = &s->model->package.signature;
    GPUC_TRY(check_index("input", i, sig->num_inputs));
    if (!value) return gpuc_fail(GPUC_INVALID_ARGUMENT, "input '%s': no array given", sig->inputs[i].name);
    if (!fits(&sig->inputs[i], value)) return mismatch(s, "input", &sig->inputs[i], value);
    gpuc_session_array *in = &s->inputs[i];
    /* What the application has recorded, and may not even have submitted, keeps what was set before. */
    if (!in->array || in->bound || gpuc_session_is_in_flight(s, in->recording) ||
        !same_dims(in->array, value)) {
        gpuc_ndarray *own;
        GPUC_TRY(gpuc_error_prefix(
            gpuc_session_create_array(s, s->model->exec->inputs[i], gpuc_ndarray_dims(value), &own),
            "input '%s'", sig->inputs[i].name));
        GPUC_TRY(replace_input(s, i, own, false));
    }
    gpuc_session_end_inference(s); /* as in replace */
    gpuc_session_note_work(s);
    gpuc_status status = gpuc_ndarray_copy(value, in->array); /* perhaps by way of memory of the device */
    if (gpuc_session_reclaim(s, &status)) {
        gpuc_session_note_work(s);
        status = gpuc_ndarray_copy(value, in->array);
    }
    return gpuc_error_prefix(status, "input '%s'", sig->inputs[i].name);
}

static gpuc_status check_bindable(const gpuc_session *s, const char *what, const gpuc_signature_tensor *t,
                                  uint32_t value, const gpuc_ndarray *a)
{
    if (!fits(t, a)) return mismatch(s, what, t, a);
    gpuc_device *want = device_of(s, value), *have = gpuc_ndarray_device(a);
    if (have == want) return NULL;
    char at[48] = "the host";
    if (have) snprintf(at, sizeof at, "%s:%d", have->api->name, have->index);
    return gpuc_fail(
        GPUC_INVALID_ARGUMENT,
        "%s '%s' must lie on %s:%d to be bound, but the array is on %s; copy it with set_input or "
        "gpuc_ndarray_copy",
        what, t->name, want->api->name, want->index, at);
}

gpuc_status gpuc_session_bind_input(gpuc_session *s, int i, gpuc_ndarray *value)
{
    GPUC_REQUIRE(s);
    const gpuc_signature *sig = &s->model->package.signature;
    GPUC_TRY(check_index("input", i, sig->num_inputs));
    if (value) GPUC_TRY(check_bindable(s, "input", &sig->inputs[i], s->model->exec->inputs[i], value));
    if (!value) value = s->model->defaults[i];
    return replace_input(s, i, gpuc_ndarray_retain(value), value != NULL);
}

gpuc_status gpuc_session_bind_output(gpuc_session *s, int i, gpuc_ndarray *value)
{
    GPUC_REQUIRE(s);
    const gpuc_signature *sig = &s->model->package.signature;
    GPUC_TRY(check_index("output", i, sig->num_outputs));
    if (value) GPUC_TRY(check_bindable(s, "output", &sig->outputs[i], s->model->exec->outputs[i], value));
    return replace(s, &s->outputs[i], gpuc_ndarray_retain(value), value != NULL);
}

gpuc_status gpuc_session_bind_workspace(gpuc_session *s, gpuc_ndarray *memory)
{
    GPUC_REQUIRE(s);
    gpuc_device *want = gpuc_model_device(s->model), *have = memory ? gpuc_ndarray_device(memory) : want;
    if (have != want)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the workspace must lie on %s:%d, but the array is on %s",
                         want->api->name, want->index, have ? have->api->name : "the host");
    gpuc_binding b = memory ? gpuc_ndarray_binding(memory) : (gpuc_binding){0};
    if (b.offset % GPUC_SLOT_ALIGN)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the workspace begins at byte %llu of its buffer, no multiple of %d",
                         (unsigned long long)b.offset, GPUC_SLOT_ALIGN);
    s->bound = false;
    if (memory) GPUC_TRY(gpuc_session_drop_memory(s, 0));
    gpuc_ndarray *old = s->workspace;
    s->workspace = gpuc_ndarray_retain(memory);
    gpuc_session_end_inference(s);
    return gpuc_session_retire(s, old);
}

gpuc_status gpuc_session_get_output(gpuc_session *s, int i, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(s);
    GPUC_TRY(check_index("output", i, s->model->package.signature.num_outputs));
    if (!s->outputs[i].computed)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "output '%s': no run has filled it: the last one failed, or none was made since it was "
            "bound",
            s->model->package.signature.outputs[i].name);
    *out = s->outputs[i].array;
    return NULL;
}

gpuc_status gpuc_session_set_parallel_for(
    gpuc_session *s,
    void (*parallel_for)(void *user, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg),
    void *user)
{
    GPUC_REQUIRE(s);
    s->parallel = (gpuc_parallel){.run = parallel_for, .user = user};
    return NULL;
}
