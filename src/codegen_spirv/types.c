/* SPDX-License-Identifier: Apache-2.0 */
/* Maps element types to SPIR-V types, and converts between their forms in memory and in registers. */
#include <math.h>
#include <string.h>

#include "codegen_spirv/emit.h"

static gpuc_dtype make(gpuc_dtype_code code, int bits, int lanes)
{
    return (gpuc_dtype){.code = (uint8_t)code, .bits = (uint8_t)bits, .lanes = (uint16_t)lanes};
}

gpuc_dtype gpuc_spv_held(const gpuc_spv_kernel *k, gpuc_dtype t)
{
    const gpuc_target *target = k->target;
    if (gpuc_is_bool(t)) return t;
    bool has = t.bits >= 32 || (gpuc_is_float(t) ? target->float16
                                : t.bits == 8    ? target->int8
                                                 : target->int16);
    if (!has) t.bits = 32;
    return t;
}

/* What is only loaded, stored or converted needs no arithmetic, but the type in registers needs its capability, and that a
 * feature of the device. */
static void declare(gpuc_spv_kernel *k, SpvCapability capability, uint32_t feature)
{
    gpuc_spv_capability(&k->m, capability);
    k->meta->features |= feature;
}

static uint32_t scalar_type(gpuc_spv_kernel *k, gpuc_dtype t)
{
    gpuc_spv *m = &k->m;
    if (gpuc_is_bool(t)) return gpuc_spv_type_bool(m);
    if (gpuc_is_float(t)) {
        if (t.bits == 16) declare(k, SpvCapabilityFloat16, GPUC_FEATURE_FLOAT16);
        if (t.bits == 64) declare(k, SpvCapabilityFloat64, GPUC_FEATURE_FLOAT64);
        return gpuc_spv_type_float(m, t.bits);
    }
    if (t.bits == 8) declare(k, SpvCapabilityInt8, GPUC_FEATURE_INT8);
    if (t.bits == 16) declare(k, SpvCapabilityInt16, GPUC_FEATURE_INT16);
    if (t.bits == 64) declare(k, SpvCapabilityInt64, GPUC_FEATURE_INT64);
    return gpuc_spv_type_int(m, t.bits, false);
}

uint32_t gpuc_spv_type(gpuc_spv_kernel *k, gpuc_dtype t)
{
    return gpuc_spv_type_vector(&k->m, scalar_type(k, t), t.lanes);
}

uint32_t gpuc_spv_splat(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t scalar)
{
    if (t.lanes == 1) return scalar;
    const uint32_t all[4] = {scalar, scalar, scalar, scalar};
    return gpuc_spv_value(&k->m, SpvOpCompositeConstruct, gpuc_spv_type(k, t), t.lanes, all);
}

static uint32_t splat_const(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t scalar)
{
    return gpuc_spv_const_splat(&k->m, gpuc_spv_type(k, t), scalar, t.lanes);
}

uint32_t gpuc_spv_int_const(gpuc_spv_kernel *k, gpuc_dtype t, int64_t v)
{
    gpuc_dtype one = gpuc_dtype_with_lanes(t, 1);
    if (gpuc_is_bool(t)) return splat_const(k, t, gpuc_spv_const_bool(&k->m, v != 0));
    return splat_const(k, t, gpuc_spv_const(&k->m, scalar_type(k, one), t.bits, (uint64_t)v));
}

uint32_t gpuc_spv_float_const(gpuc_spv_kernel *k, gpuc_dtype t, double v)
{
    uint64_t bits = gpuc_float_bits(t, v);
    return splat_const(k, t,
                       gpuc_spv_const(&k->m, scalar_type(k, gpuc_dtype_with_lanes(t, 1)), t.bits, bits));
}

uint32_t gpuc_spv_wrap(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t id)
{
    gpuc_dtype held = gpuc_spv_held(k, t);
    if (!gpuc_is_integer(t) || held.bits == t.bits) return id;
    uint32_t type = gpuc_spv_type(k, held);
    if (t.code == GPUC_DTYPE_UINT)
        return gpuc_spv_calc(&k->m, SpvOpBitwiseAnd, type, id,
                             gpuc_spv_int_const(k, held, (INT64_C(1) << t.bits) - 1));
    uint32_t by = gpuc_spv_int_const(k, held, held.bits - t.bits);
    uint32_t up = gpuc_spv_calc(&k->m, SpvOpShiftLeftLogical, type, id, by);
    return gpuc_spv_calc(&k->m, SpvOpShiftRightArithmetic, type, up, by);
}

/* ---- Memory ---------------------------------------------------------------------------------------- */

static gpuc_dtype memory_dtype(gpuc_dtype t)
{
    if (gpuc_is_bool(t)) return make(GPUC_DTYPE_UINT, 8, t.lanes);
    return t;
}

uint32_t gpuc_spv_memory_type(gpuc_spv_kernel *k, gpuc_dtype t, int lanes)
{
    gpuc_spv *m = &k->m;
    t = memory_dtype(gpuc_dtype_with_lanes(t, 1));
    if (t.bits == 8) {
        gpuc_spv_capability(m, SpvCapabilityStorageBuffer8BitAccess);
        gpuc_spv_extension(m, "SPV_KHR_8bit_storage");
        return gpuc_spv_type_vector(m, gpuc_spv_type_int(m, 8, false), lanes);
    }
    if (t.bits == 16) {
        gpuc_spv_capability(m, SpvCapabilityStorageBuffer16BitAccess);
        uint32_t type = gpuc_is_float(t) ? gpuc_spv_type_float(m, 16) : gpuc_spv_type_int(m, 16, false);
        return gpuc_spv_type_vector(m, type, lanes);
    }
    return gpuc_spv_type(k, gpuc_dtype_with_lanes(t, lanes));
}

static uint32_t resize_int(gpuc_spv_kernel *k, gpuc_dtype to, bool is_signed, uint32_t id)
{
    return gpuc_spv_calc(&k->m, is_signed ? SpvOpSConvert : SpvOpUConvert, gpuc_spv_type(k, to), id);
}

/* Compilers choose in which order arguments are evaluated. Types and constants are made one after the other,
 * so that a module does not depend on it. */
static uint32_t with(gpuc_spv_kernel *k, SpvOp op, gpuc_dtype result, uint32_t id, uint32_t number)
{
    return gpuc_spv_calc(&k->m, op, gpuc_spv_type(k, result), id, number);
}

static uint32_t number(gpuc_spv_kernel *k, gpuc_dtype t, int64_t v)
{
    return gpuc_is_float(t) ? gpuc_spv_float_const(k, t, (double)v) : gpuc_spv_int_const(k, t, v);
}

static uint32_t choose(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t cond, int64_t yes, int64_t no)
{
    uint32_t b = number(k, t, no), a = number(k, t, yes);
    return gpuc_spv_select(k, t, cond, a, b);
}

uint32_t gpuc_spv_from_memory(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t id)
{
    gpuc_dtype memory = memory_dtype(t), held = gpuc_spv_held(k, t);
    if (gpuc_is_bool(t)) {
        gpuc_dtype word = make(GPUC_DTYPE_UINT, 32, t.lanes);
        uint32_t wide = resize_int(k, word, false, id);
        return with(k, SpvOpINotEqual, held, wide, number(k, word, 0));
    }
    if (held.bits == memory.bits) return id;
    if (gpuc_is_float(memory)) return gpuc_spv_calc(&k->m, SpvOpFConvert, gpuc_spv_type(k, held), id);
    return resize_int(k, held, memory.code == GPUC_DTYPE_INT, id);
}

uint32_t gpuc_spv_to_memory(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t id)
{
    gpuc_dtype memory = memory_dtype(t), held = gpuc_spv_held(k, t);
    uint32_t type = gpuc_spv_memory_type(k, t, t.lanes);
    if (gpuc_is_bool(t)) {
        gpuc_dtype word = make(GPUC_DTYPE_UINT, 32, t.lanes);
        return gpuc_spv_calc(&k->m, SpvOpUConvert, type, choose(k, word, id, 1, 0));
    }
    if (held.bits == memory.bits) return id;
    if (!gpuc_is_float(memory)) return gpuc_spv_calc(&k->m, SpvOpUConvert, type, id);
    uint32_t half = gpuc_spv_calc(&k->m, SpvOpFConvert, type, id);
    const uint32_t nearest = SpvFPRoundingModeRTE;
    gpuc_spv_decorate(&k->m, half, SpvDecorationFPRoundingMode, 1, &nearest);
    return half;
}

/* ---- Casts ----------------------------------------------------------------------------------------- */

/* Out of range values are undefined for the instruction: clamped by comparisons, NaN gives 0. */
static uint32_t float_to_int(gpuc_spv_kernel *k, gpuc_dtype to, gpuc_dtype from, uint32_t id)
{
    gpuc_spv *m = &k->m;
    gpuc_dtype held = gpuc_spv_held(k, to), truth = make(GPUC_DTYPE_BOOL, 8, to.lanes);
    if (from.bits == 16) {
        gpuc_dtype single = make(GPUC_DTYPE_FLOAT, 32, to.lanes);
        id = gpuc_spv_cast(k, single, from, id);
        from = single;
    }
    bool is_signed = to.code == GPUC_DTYPE_INT;
    double high = ldexp(1, to.bits - is_signed), low = is_signed ? -high : 0;
    int64_t max =
        to.bits == 64 ? (int64_t)(UINT64_MAX >> is_signed) : (INT64_C(1) << (to.bits - is_signed)) - 1;
    int64_t min = is_signed ? -max - 1 : 0;
    uint32_t bool_type = gpuc_spv_type(k, truth), type = gpuc_spv_type(k, held);
    uint32_t low_id = gpuc_spv_float_const(k, from, low), high_id = gpuc_spv_float_const(k, from, high);
    uint32_t above = gpuc_spv_calc(m, SpvOpFOrdGreaterThanEqual, bool_type, id, high_id);
    uint32_t not_low = gpuc_spv_calc(m, SpvOpFOrdGreaterThanEqual, bool_type, id, low_id);
    uint32_t not_high = gpuc_spv_calc(m, SpvOpFOrdLessThan, bool_type, id, high_id);
    uint32_t inside = gpuc_spv_calc(m, SpvOpLogicalAnd, bool_type, not_low, not_high);
    uint32_t safe = gpuc_spv_select(k, from, inside, id, gpuc_spv_float_const(k, from, 0));
    uint32_t r = gpuc_spv_calc(m, is_signed ? SpvOpConvertFToS : SpvOpConvertFToU, type, safe);
    r = gpuc_spv_select(k, held, above, gpuc_spv_int_const(k, held, max), r);
    if (!is_signed) return r;
    uint32_t below = gpuc_spv_calc(m, SpvOpFOrdLessThan, bool_type, id, low_id);
    return gpuc_spv_select(k, held, below, gpuc_spv_int_const(k, held, min), r);
}

static uint32_t to_bool(gpuc_spv_kernel *k, gpuc_dtype from, uint32_t id)
{
    gpuc_dtype truth = make(GPUC_DTYPE_BOOL, 8, from.lanes), held = gpuc_spv_held(k, from);
    return with(k, gpuc_is_float(held) ? SpvOpFUnordNotEqual : SpvOpINotEqual, truth, id, number(k, held, 0));
}

static uint32_t from_bool(gpuc_spv_kernel *k, gpuc_dtype to, uint32_t id)
{
    return choose(k, gpuc_spv_held(k, to), id, 1, 0);
}

/* Rounds a float32 that stands for a float16, lane by lane. */
static uint32_t round_to_half(gpuc_spv_kernel *k, int lanes, uint32_t id)
{
    gpuc_spv *m = &k->m;
    gpuc_dtype word = make(GPUC_DTYPE_UINT, 32, 1), single = make(GPUC_DTYPE_FLOAT, 32, 1), pair = single;
    pair.lanes = 2;
    uint32_t out[4], zero = gpuc_spv_float_const(k, single, 0);
    for (int i = 0; i < lanes; i++) {
        uint32_t x = lanes == 1
                         ? id
                         : gpuc_spv_calc(m, SpvOpCompositeExtract, gpuc_spv_type(k, single), id, (uint32_t)i);
        uint32_t two = gpuc_spv_calc(m, SpvOpCompositeConstruct, gpuc_spv_type(k, pair), x, zero);
        uint32_t bits = gpuc_spv_glsl(m, GLSLstd450PackHalf2x16, gpuc_spv_type(k, word), 1, &two);
        two = gpuc_spv_glsl(m, GLSLstd450UnpackHalf2x16, gpuc_spv_type(k, pair), 1, &bits);
        out[i] = gpuc_spv_calc(m, SpvOpCompositeExtract, gpuc_spv_type(k, single), two, 0);
    }
    single.lanes = (uint16_t)lanes;
    return lanes == 1 ? out[0]
                      : gpuc_spv_value(m, SpvOpCompositeConstruct, gpuc_spv_type(k, single), lanes, out);
}

static uint32_t float_to_float(gpuc_spv_kernel *k, gpuc_dtype to, gpuc_dtype from, uint32_t id)
{
    gpuc_dtype held_to = gpuc_spv_held(k, to), held_from = gpuc_spv_held(k, from);
    if (held_to.bits != held_from.bits)
        id = gpuc_spv_calc(&k->m, SpvOpFConvert, gpuc_spv_type(k, held_to), id);
    bool rounds = to.bits == 16 && held_to.bits == 32 && from.bits != 16;
    return rounds ? round_to_half(k, to.lanes, id) : id;
}

uint32_t gpuc_spv_cast(gpuc_spv_kernel *k, gpuc_dtype to, gpuc_dtype from, uint32_t id)
{
    gpuc_dtype single = make(GPUC_DTYPE_FLOAT, 32, to.lanes), held = gpuc_spv_held(k, to);
    if (gpuc_same_element(to, from)) return id;
    bool resizes = gpuc_is_float(to) == gpuc_is_float(from) && !gpuc_is_bool(to) && !gpuc_is_bool(from);
    if (!resizes)
        gpuc_spv_type(k, gpuc_spv_held(k, from)); /* more than a change of size needs the type's capability */
    if (gpuc_is_bool(to)) return to_bool(k, from, id);
    if (gpuc_is_bool(from)) return from_bool(k, to, id);
    if (gpuc_is_float(from) && gpuc_is_float(to)) return float_to_float(k, to, from, id);
    if (gpuc_is_float(from)) return float_to_int(k, to, from, id);
    bool is_signed = from.code == GPUC_DTYPE_INT;
    if (gpuc_is_float(to)) {
        if (to.bits == 16) return float_to_float(k, to, single, gpuc_spv_cast(k, single, from, id));
        return gpuc_spv_calc(&k->m, is_signed ? SpvOpConvertSToF : SpvOpConvertUToF, gpuc_spv_type(k, held),
                             id);
    }
    if (held.bits != gpuc_spv_held(k, from).bits) id = resize_int(k, held, is_signed, id);
    bool fits = to.bits > from.bits || (to.bits == from.bits && to.code == from.code);
    bool extends = fits && (is_signed == (to.code == GPUC_DTYPE_INT) || !is_signed);
    return extends ? id : gpuc_spv_wrap(k, to, id);
}

/* The bits of a small type are those in the low end of what holds it. */
uint32_t gpuc_spv_reinterpret(gpuc_spv_kernel *k, gpuc_dtype to, gpuc_dtype from, uint32_t id)
{
    gpuc_spv *m = &k->m;
    gpuc_dtype held_to = gpuc_spv_held(k, to), held_from = gpuc_spv_held(k, from);
    gpuc_dtype word = make(GPUC_DTYPE_UINT, 32, to.lanes);
    bool half_out = to.code == GPUC_DTYPE_FLOAT && to.bits == 16 && held_to.bits == 32;
    bool half_in = from.code == GPUC_DTYPE_FLOAT && from.bits == 16 && held_from.bits == 32;
    if (to.lanes != from.lanes && (held_to.bits != to.bits || held_from.bits != from.bits))
        gpuc_raise(k->ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': reinterpreting small types with other numbers of lanes needs "
                   "their arithmetic",
                   k->func->name);
    if (half_in || half_out) {
        if (to.lanes > 1)
            gpuc_raise(k->ctx, GPUC_UNSUPPORTED, "kernel '%s': reinterpreting vectors of float16",
                       k->func->name);
        gpuc_dtype pair = make(GPUC_DTYPE_FLOAT, 32, 2), single = make(GPUC_DTYPE_FLOAT, 32, 1);
        if (half_in) {
            uint32_t two = with(k, SpvOpCompositeConstruct, pair, id, number(k, single, 0));
            uint32_t bits = gpuc_spv_glsl(m, GLSLstd450PackHalf2x16, gpuc_spv_type(k, word), 1, &two);
            return gpuc_spv_cast(k, to, make(GPUC_DTYPE_UINT, 32, 1), bits);
        }
        uint32_t bits = gpuc_spv_cast(k, word, make(GPUC_DTYPE_UINT, from.bits, 1), id);
        uint32_t two = gpuc_spv_glsl(m, GLSLstd450UnpackHalf2x16, gpuc_spv_type(k, pair), 1, &bits);
        return gpuc_spv_calc(m, SpvOpCompositeExtract, gpuc_spv_type(k, single), two, 0);
    }
    bool same_kind = gpuc_is_float(held_to) == gpuc_is_float(held_from);
    if (same_kind && held_to.bits == held_from.bits && to.lanes == from.lanes)
        return gpuc_spv_wrap(k, to, id);
    if (held_to.bits == held_from.bits || to.lanes != from.lanes)
        return gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, held_to), id);
    /* One of the two is held wider: through an integer of the narrow size. */
    gpuc_dtype bits_from = held_from, bits_to = held_to;
    bits_from.code = bits_to.code = GPUC_DTYPE_UINT;
    if (gpuc_is_float(held_from)) id = gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, bits_from), id);
    id = resize_int(k, bits_to, false, id);
    return gpuc_is_float(held_to) ? gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, held_to), id)
                                  : gpuc_spv_wrap(k, to, id);
}
