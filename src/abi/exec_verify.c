/* SPDX-License-Identifier: Apache-2.0 */
/* Extents that are constants are checked here; those with symbols by the executor, once the shapes
 * of the inputs are known. */
#include "abi/exec_verify.h"

#include "abi/check.h"
#include "base/size.h"

#define BAD(...) gpuc_fail(GPUC_INVALID_DATA, __VA_ARGS__)

static const char *const slot_kind_names[GPUC_SLOT_KIND_COUNT] = {
    [GPUC_SLOT_INPUT] = "input",
    [GPUC_SLOT_OUTPUT] = "output",
    [GPUC_SLOT_WEIGHT] = "weight",
    [GPUC_SLOT_ARENA] = "arena",
};

/* A size, if it is a constant. Each is found once: one long expression may have many users. */
typedef struct extent {
    bool known;
    int64_t v;
} extent;

typedef struct verifier {
    const gpuc_exec *e;
    uint32_t num_extents; /* symbols that are extents: they come first */
    uint32_t num_read;    /* symbols that the steps so far have read */
    extent *slots;        /* bytes of each slot */
    extent *values;       /* bytes of each value */
} verifier;

static bool unbounded(const gpuc_exec_symbol *s)
{
    int64_t max;
    return s->value != GPUC_NO_INDEX && gpuc_abi_xexpr_is_const(s->upper, &max) && max >= GPUC_MAX_EXTENT;
}

uint32_t gpuc_abi_exec_known_after(const gpuc_exec *e, gpuc_xexpr x)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.count; i++)
        if (x.code[i].op == GPUC_XOP_DIM && (uint64_t)x.code[i].value >= n &&
            unbounded(&e->symbols[x.code[i].value]))
            n = (uint32_t)x.code[i].value + 1;
    return n;
}

static gpuc_status value_bytes(const gpuc_exec_value *v, extent *out)
{
    int64_t bytes = (int64_t)gpuc_dtype_bytes(v->dtype), dim;
    bool known = true, overflow = false, empty = false;
    for (uint32_t d = 0; d < v->ndim; d++) {
        if (!gpuc_abi_xexpr_is_const(v->dims[d], &dim)) {
            known = false;
            continue;
        }
        if (dim < 0) return BAD("dimension %u is %lld", d, (long long)dim);
        empty = empty || dim == 0;
        overflow = overflow || !gpuc_i64_mul(bytes, dim, &bytes);
    }
    if (overflow && known && !empty) return BAD("its size exceeds 64 bits");
    *out = (extent){.known = known, .v = empty ? 0 : bytes};
    return NULL;
}

static bool over_extents(const verifier *x, gpuc_xexpr e)
{
    for (uint32_t i = 0; i < e.count; i++)
        if (e.code[i].op == GPUC_XOP_DIM && e.code[i].value >= x->num_extents) return false;
    return true;
}

/* [offset, offset + size) inside of [0, total), as far as they are constants. */
static gpuc_status check_inside(gpuc_xexpr offset, extent size, extent total)
{
    int64_t begin, end;
    if (!gpuc_abi_xexpr_is_const(offset, &begin)) return NULL;
    if (begin < 0) return BAD("it starts at the negative offset %lld", (long long)begin);
    if (size.known && total.known && (!gpuc_i64_add(begin, size.v, &end) || end > total.v))
        return BAD("%lld bytes at offset %lld exceed the %lld that there are", (long long)size.v,
                   (long long)begin, (long long)total.v);
    return NULL;
}

static gpuc_status verify_devices(const gpuc_exec *e)
{
    if (e->num_devices == 0) return BAD("it names no device");
    for (uint32_t i = 0; i < e->num_devices; i++)
        if (e->devices[i] == 0) return BAD("device %u has no type", i);
    return NULL;
}

static uint32_t owners_of_kind(const gpuc_exec *e, gpuc_slot_kind kind)
{
    switch (kind) {
    case GPUC_SLOT_INPUT: return e->num_inputs;
    case GPUC_SLOT_OUTPUT: return e->num_outputs;
    case GPUC_SLOT_WEIGHT: return e->num_weights;
    case GPUC_SLOT_ARENA:
    case GPUC_SLOT_KIND_COUNT: break;
    }
    return 0;
}

static uint32_t owner_value(const gpuc_exec *e, const gpuc_exec_slot *slot)
{
    switch (slot->kind) {
    case GPUC_SLOT_INPUT: return e->inputs[slot->index];
    case GPUC_SLOT_OUTPUT: return e->outputs[slot->index];
    case GPUC_SLOT_WEIGHT: return e->weights[slot->index].value;
    case GPUC_SLOT_ARENA:
    case GPUC_SLOT_KIND_COUNT: break;
    }
    return GPUC_NO_INDEX;
}

static gpuc_status verify_slot(const gpuc_exec *e, uint32_t number)
{
    const gpuc_exec_slot *s = &e->slots[number];
    if ((unsigned)s->kind >= GPUC_SLOT_KIND_COUNT) return BAD("its kind is %u", (unsigned)s->kind);
    if (s->device >= e->num_devices) return BAD("device %u of %u", s->device, e->num_devices);
    if (s->kind == GPUC_SLOT_ARENA)
        return s->index == GPUC_NO_INDEX ? NULL : BAD("an arena slot has the number %u", s->index);
    if (s->index >= owners_of_kind(e, s->kind))
        return BAD("%s %u of %u", slot_kind_names[s->kind], s->index, owners_of_kind(e, s->kind));
    uint32_t value = owner_value(e, s);
    if (value >= e->num_values || e->values[value].slot != number)
        return BAD("%s %u does not lie in it", slot_kind_names[s->kind], s->index);
    return NULL;
}

static gpuc_status measure_slot(const verifier *x, const gpuc_exec_slot *s, extent *out)
{
    bool made = s->kind == GPUC_SLOT_ARENA || s->kind == GPUC_SLOT_OUTPUT;
    if (!made && !over_extents(x, s->size)) return BAD("its size depends on sizes that the program computes");
    if (!over_extents(x, s->size) && !gpuc_abi_exec_known_after(x->e, s->size))
        return BAD("its size depends on values that have a bound");
    out->known = gpuc_abi_xexpr_is_const(s->size, &out->v);
    return out->known && out->v < 0 ? BAD("its size is %lld", (long long)out->v) : NULL;
}

static gpuc_status verify_value(const verifier *x, uint32_t number)
{
    const gpuc_exec_value *v = &x->e->values[number];
    GPUC_TRY(gpuc_abi_check_dtype(v->dtype));
    if (v->slot >= x->e->num_slots) return BAD("slot %u of %u", v->slot, x->e->num_slots);
    GPUC_TRY(value_bytes(v, &x->values[number]));
    if (!over_extents(x, v->offset)) return BAD("its offset depends on sizes that the program computes");
    return gpuc_error_prefix(check_inside(v->offset, x->values[number], x->slots[v->slot]), "slot %u",
                             v->slot);
}

/* Inputs and weights have a slot each and fill it from its start. Outputs may share what they are
 * equal to: an input, a weight, another output. */
static gpuc_status verify_owned(const gpuc_exec *e, gpuc_slot_kind kind, uint32_t index, uint32_t value)
{
    int64_t offset;
    if (value >= e->num_values) return BAD("value %u of %u", value, e->num_values);
    const gpuc_exec_value *v = &e->values[value];
    const gpuc_exec_slot *s = &e->slots[v->slot];
    if (s->kind != kind || s->index != index)
        return BAD("value %u lies in slot %u, which is not its own", value, v->slot);
    if (!gpuc_abi_xexpr_is_const(v->offset, &offset) || offset != 0)
        return BAD("value %u does not start where slot %u does", value, v->slot);
    return NULL;
}

static gpuc_status verify_weight(const verifier *x, uint32_t number, uint64_t weights_size)
{
    const gpuc_exec_weight *w = &x->e->weights[number];
    GPUC_TRY(verify_owned(x->e, GPUC_SLOT_WEIGHT, number, w->value));
    extent bytes = x->values[w->value];
    if (!bytes.known) return BAD("its dimensions are not constant");
    if (w->size != (uint64_t)bytes.v)
        return BAD("%llu bytes are stored, but its type needs %lld", (unsigned long long)w->size,
                   (long long)bytes.v);
    if (w->offset > weights_size || w->size > weights_size - w->offset)
        return BAD("%llu bytes at offset %llu exceed the weights section of %llu",
                   (unsigned long long)w->size, (unsigned long long)w->offset,
                   (unsigned long long)weights_size);
    return NULL;
}

static gpuc_status verify_number(const verifier *x, const gpuc_exec_symbol *s)
{
    const gpuc_exec *e = x->e;
    int64_t dim;
    if (s->value >= e->num_values) return BAD("value %u of %u", s->value, e->num_values);
    const gpuc_exec_value *v = &e->values[s->value];
    if (!gpuc_dtype_equal(v->dtype, GPUC_INT64)) return BAD("value %u is not int64", s->value);
    for (uint32_t d = 0; d < v->ndim; d++)
        if (!gpuc_abi_xexpr_is_const(v->dims[d], &dim) || dim != 1)
            return BAD("value %u has more than one element", s->value);
    return over_extents(x, s->upper) ? NULL : BAD("its bound depends on sizes that the program computes");
}

static gpuc_status verify_symbol(const verifier *x, uint32_t number)
{
    const gpuc_exec *e = x->e;
    const gpuc_exec_symbol *s = &e->symbols[number];
    if (s->value != GPUC_NO_INDEX) return verify_number(x, s);
    if (number >= x->num_extents) return BAD("an extent follows sizes that the program computes");
    if (s->input >= e->num_inputs) return BAD("input %u of %u", s->input, e->num_inputs);
    const gpuc_exec_value *v = &e->values[e->inputs[s->input]];
    if (s->dim >= v->ndim) return BAD("dimension %u of input %u, which has %u", s->dim, s->input, v->ndim);
    gpuc_xexpr dim = v->dims[s->dim];
    if (dim.count != 1 || dim.code[0].op != GPUC_XOP_DIM || dim.code[0].value != number)
        return BAD("dimension %u of input %u is another expression", s->dim, s->input);
    return NULL;
}

/* The number of symbols that must be known before a value has memory. */
static uint32_t needed_by(const gpuc_exec *e, const gpuc_exec_value *v)
{
    uint32_t n = gpuc_abi_exec_known_after(e, e->slots[v->slot].size);
    for (uint32_t d = 0; d < v->ndim; d++) {
        uint32_t of_dim = gpuc_abi_exec_known_after(e, v->dims[d]);
        if (of_dim > n) n = of_dim;
    }
    return n;
}

static gpuc_status verify_ref(const verifier *x, const gpuc_exec_step *s, const gpuc_exec_tensor_ref *ref,
                              uint32_t known)
{
    const gpuc_exec *e = x->e;
    if (ref->value >= e->num_values) return BAD("value %u of %u", ref->value, e->num_values);
    const gpuc_exec_value *v = &e->values[ref->value];
    const gpuc_exec_slot *slot = &e->slots[v->slot];
    if (ref->access < GPUC_ACCESS_READ || ref->access > GPUC_ACCESS_READ_WRITE)
        return BAD("access %u is none of 1, 2, 3", ref->access);
    if ((ref->access & GPUC_ACCESS_WRITE) &&
        (slot->kind == GPUC_SLOT_INPUT || slot->kind == GPUC_SLOT_WEIGHT))
        return BAD("%s %u ('%.64s') is written", slot_kind_names[slot->kind], slot->index, v->name);
    if (s->kind == GPUC_STEP_LAUNCH && slot->device != s->device)
        return BAD("value %u ('%.64s') lies on device %u, but the step runs on %u", ref->value, v->name,
                   slot->device, s->device);
    if (needed_by(e, v) > known)
        return BAD("value %u ('%.64s') has an extent that is read later", ref->value, v->name);
    extent size;
    size.known = gpuc_abi_xexpr_is_const(ref->size, &size.v);
    if (size.known && size.v < 0) return BAD("its window has %lld bytes", (long long)size.v);
    return gpuc_error_prefix(check_inside(ref->offset, size, x->values[ref->value]), "value %u", ref->value);
}

static gpuc_status verify_launch(const gpuc_exec_step *s, const gpuc_kernel *kernels, uint32_t num_kernels)
{
    if (s->kernel >= num_kernels) return BAD("kernel %u of %u", s->kernel, num_kernels);
    const gpuc_kernel *k = &kernels[s->kernel];
    if (k->variant)
        return BAD("kernel '%.64s' is a variant: a step must name the kernel that it stands in for", k->name);
    if (s->num_tensors != k->num_tensors || s->num_scalars != k->num_scalars)
        return BAD("kernel '%.64s' takes %u tensors and %u scalars, but is given %u and %u", k->name,
                   k->num_tensors, k->num_scalars, s->num_tensors, s->num_scalars);
    for (uint32_t t = 0; t < s->num_tensors; t++)
        if (s->tensors[t].access != k->tensors[t].access)
            return BAD("kernel '%.64s' has access %u to its tensor %u, but the step says %u", k->name,
                       k->tensors[t].access, t, s->tensors[t].access);
    return NULL;
}

static gpuc_status verify_copy(const gpuc_exec *e, const gpuc_exec_step *s)
{
    if (s->kernel != GPUC_NO_INDEX || s->num_tensors != 2 || s->num_scalars != 0)
        return BAD("a copy has %u tensors and %u scalars", s->num_tensors, s->num_scalars);
    if (s->tensors[0].access != GPUC_ACCESS_READ || s->tensors[1].access != GPUC_ACCESS_WRITE)
        return BAD("a copy must read its first tensor and write its second");
    for (int t = 0; t < 2; t++) {
        uint32_t value = s->tensors[t].value;
        if (value < e->num_values && e->slots[e->values[value].slot].device == s->device) return NULL;
    }
    return BAD("neither end of the copy is on device %u", s->device);
}

/* Each symbol that is a value is read once, in order. */
static gpuc_status verify_read(verifier *x, const gpuc_exec_step *s)
{
    const gpuc_exec *e = x->e;
    if (s->kernel != GPUC_NO_INDEX || s->num_tensors != 1 || s->num_scalars != 0)
        return BAD("a step that reads a size has %u tensors and %u scalars", s->num_tensors, s->num_scalars);
    uint32_t next = x->num_extents + x->num_read;
    if (s->symbol != next || next >= e->num_symbols)
        return BAD("it reads symbol %u, the next one is %u of %u", s->symbol, next, e->num_symbols);
    if (s->tensors[0].value != e->symbols[next].value || s->tensors[0].access != GPUC_ACCESS_READ)
        return BAD("symbol %u is not read from its own value", next);
    const gpuc_exec_value *v = &e->values[s->tensors[0].value];
    if (e->slots[v->slot].device != s->device)
        return BAD("value %u lies on another device", s->tensors[0].value);
    x->num_read++;
    return NULL;
}

static gpuc_status verify_kind(verifier *x, const gpuc_exec_step *s, const gpuc_kernel *kernels,
                               uint32_t num_kernels)
{
    switch (s->kind) {
    case GPUC_STEP_LAUNCH: return verify_launch(s, kernels, num_kernels);
    case GPUC_STEP_COPY: return verify_copy(x->e, s);
    case GPUC_STEP_READ: return verify_read(x, s);
    case GPUC_STEP_KIND_COUNT: break;
    }
    return BAD("its kind is %u", (unsigned)s->kind);
}

static gpuc_status verify_step(verifier *x, const gpuc_exec_step *s, const gpuc_kernel *kernels,
                               uint32_t num_kernels)
{
    const gpuc_exec *e = x->e;
    if (s->device >= e->num_devices) return BAD("device %u of %u", s->device, e->num_devices);
    uint32_t known = x->num_extents + x->num_read;
    GPUC_TRY(verify_kind(x, s, kernels, num_kernels));
    for (uint32_t t = 0; t < s->num_tensors; t++)
        GPUC_TRY(gpuc_error_prefix(verify_ref(x, s, &s->tensors[t], known), "tensor %u", t));
    return NULL;
}

static gpuc_status verify_node(const gpuc_exec *e, const gpuc_exec_node *n)
{
    if (n->device >= e->num_devices) return BAD("device %u of %u", n->device, e->num_devices);
    if (n->first_step > e->num_steps || n->num_steps > e->num_steps - n->first_step)
        return BAD("steps %u to %llu of %u", n->first_step, (unsigned long long)n->first_step + n->num_steps,
                   e->num_steps);
    for (uint64_t i = 0; i < (uint64_t)n->num_inputs + n->num_outputs; i++)
        if (n->values[i] >= e->num_values) return BAD("value %u of %u", n->values[i], e->num_values);
    return NULL;
}

static gpuc_status verify_all(verifier *x, const gpuc_kernel *kernels, uint32_t num_kernels,
                              uint64_t weights_size)
{
    const gpuc_exec *e = x->e;
    GPUC_TRY(verify_devices(e));
    while (x->num_extents < e->num_symbols && e->symbols[x->num_extents].value == GPUC_NO_INDEX)
        x->num_extents++;
    for (uint32_t i = 0; i < e->num_slots; i++)
        GPUC_TRY(gpuc_error_prefix(measure_slot(x, &e->slots[i], &x->slots[i]), "slot %u", i));
    for (uint32_t i = 0; i < e->num_values; i++)
        GPUC_TRY(gpuc_error_prefix(verify_value(x, i), "value %u ('%.64s')", i, e->values[i].name));
    for (uint32_t i = 0; i < e->num_slots; i++) GPUC_TRY(gpuc_error_prefix(verify_slot(e, i), "slot %u", i));
    for (uint32_t i = 0; i < e->num_inputs; i++)
        GPUC_TRY(gpuc_error_prefix(verify_owned(e, GPUC_SLOT_INPUT, i, e->inputs[i]), "input %u", i));
    for (uint32_t i = 0; i < e->num_outputs; i++)
        if (e->outputs[i] >= e->num_values)
            return BAD("output %u: value %u of %u", i, e->outputs[i], e->num_values);
    for (uint32_t i = 0; i < e->num_weights; i++)
        GPUC_TRY(gpuc_error_prefix(verify_weight(x, i, weights_size), "weight %u ('%.64s')", i,
                                   e->weights[i].name));
    for (uint32_t i = 0; i < e->num_symbols; i++)
        GPUC_TRY(gpuc_error_prefix(verify_symbol(x, i), "symbol %u ('%.64s')", i, e->symbols[i].name));
    for (uint32_t i = 0; i < e->num_steps; i++)
        GPUC_TRY(gpuc_error_prefix(verify_step(x, &e->steps[i], kernels, num_kernels), "step %u", i));
    if (x->num_extents + x->num_read != e->num_symbols)
        return BAD("symbol %u: no step reads it", x->num_extents + x->num_read);
    for (uint32_t i = 0; i < e->num_nodes; i++)
        GPUC_TRY(gpuc_error_prefix(verify_node(e, &e->nodes[i]), "node %u ('%.64s')", i, e->nodes[i].name));
    return NULL;
}

gpuc_status gpuc_abi_exec_verify(const gpuc_exec *e, gpuc_arena *arena, const gpuc_kernel *kernels,
                                 uint32_t num_kernels, uint64_t weights_size)
{
    verifier x = {.e = e};
    gpuc_arena_mark mark = gpuc_arena_save(arena);
    gpuc_status status = gpuc_abi_array(arena, e->num_slots, sizeof(extent), &x.slots);
    if (!status) status = gpuc_abi_array(arena, e->num_values, sizeof(extent), &x.values);
    if (!status) status = verify_all(&x, kernels, num_kernels, weights_size);
    gpuc_arena_restore(arena, mark);
    return status;
}
