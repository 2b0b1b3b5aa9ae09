/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, atomics, subgroups. */
#include "codegen_spirv/emit.h"

static uint32_t scope(gpuc_spv_kernel *k, SpvScope s)
{
    return gpuc_spv_const_u32(&k->m, (uint32_t)s);
}

/* The scope of atomics: all invocations that run at a time. Scope Device needs another feature of the Vulkan
 * memory model. */
static uint32_t widest(gpuc_spv_kernel *k)
{
    return scope(k, k->coopmats ? SpvScopeQueueFamily : SpvScopeDevice);
}

static uint32_t barrier(gpuc_spv_kernel *k)
{
    gpuc_spv *m = &k->m;
    uint32_t group = scope(k, SpvScopeWorkgroup);
    uint32_t semantics =
        gpuc_spv_const_u32(m, SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask);
    gpuc_spv_emit(m, &m->code, SpvOpControlBarrier, group, group, semantics);
    gpuc_spv_memory_changed(k);
    return 0;
}

/* ---- Atomics ---------------------------------------------------------------------------------------- */

typedef struct atomic_ops {
    SpvOp on_signed, on_unsigned, on_float;
} atomic_ops;

static const atomic_ops atomics[GPUC_TIR_INTRIN_COUNT] = {
    [GPUC_TIR_CALL_ATOMIC_ADD] = {SpvOpAtomicIAdd, SpvOpAtomicIAdd, SpvOpAtomicFAddEXT},
    [GPUC_TIR_CALL_ATOMIC_MIN] = {SpvOpAtomicSMin, SpvOpAtomicUMin, 0},
    [GPUC_TIR_CALL_ATOMIC_MAX] = {SpvOpAtomicSMax, SpvOpAtomicUMax, 0},
    [GPUC_TIR_CALL_ATOMIC_AND] = {SpvOpAtomicAnd, SpvOpAtomicAnd, 0},
    [GPUC_TIR_CALL_ATOMIC_OR] = {SpvOpAtomicOr, SpvOpAtomicOr, 0},
    [GPUC_TIR_CALL_ATOMIC_XOR] = {SpvOpAtomicXor, SpvOpAtomicXor, 0},
    [GPUC_TIR_CALL_ATOMIC_EXCHANGE] = {SpvOpAtomicExchange, SpvOpAtomicExchange, SpvOpAtomicExchange},
};

static uint32_t compare_exchange(gpuc_spv_kernel *k, gpuc_dtype word, uint32_t pointer, uint32_t expected,
                                 uint32_t value)
{
    uint32_t relaxed = gpuc_spv_const_u32(&k->m, 0), device = widest(k);
    return gpuc_spv_calc(&k->m, SpvOpAtomicCompareExchange, gpuc_spv_type(k, word), pointer, device, relaxed,
                         relaxed, value, expected);
}

/* Tests the bits, since drivers may assume that there is no NaN. */
static uint32_t is_nan(gpuc_spv_kernel *k, uint32_t single)
{
    gpuc_spv *m = &k->m;
    uint32_t word = gpuc_spv_type(k, GPUC_UINT32), bits = gpuc_spv_calc(m, SpvOpBitcast, word, single);
    bits = gpuc_spv_calc(m, SpvOpBitwiseAnd, word, bits, gpuc_spv_const_u32(m, 0x7fffffff));
    uint32_t infinity = gpuc_spv_const_u32(m, 0x7f800000);
    return gpuc_spv_calc(m, SpvOpUGreaterThan, gpuc_spv_type(k, GPUC_BOOL), bits, infinity);
}

static uint32_t combine(gpuc_spv_kernel *k, gpuc_tir_intrin fn, uint32_t old, uint32_t value)
{
    gpuc_spv *m = &k->m;
    uint32_t type = gpuc_spv_type(k, GPUC_FLOAT32), truth = gpuc_spv_type(k, GPUC_BOOL);
    if (fn == GPUC_TIR_CALL_ATOMIC_ADD) return gpuc_spv_calc(m, SpvOpFAdd, type, old, value);
    SpvOp better = fn == GPUC_TIR_CALL_ATOMIC_MIN ? SpvOpFOrdLessThan : SpvOpFOrdGreaterThan;
    uint32_t first = gpuc_spv_calc(m, better, truth, old, value);
    uint32_t keep = gpuc_spv_calc(m, SpvOpLogicalOr, truth, first, is_nan(k, old));
    return gpuc_spv_select(k, GPUC_FLOAT32, keep, old, value);
}

/* Updates a float by exchanging its bits, until no other invocation changed it in between. */
static uint32_t update_by_exchange(gpuc_spv_kernel *k, gpuc_tir_intrin fn, uint32_t pointer, uint32_t value)
{
    gpuc_spv *m = &k->m;
    uint32_t word = gpuc_spv_type(k, GPUC_UINT32), single = gpuc_spv_type(k, GPUC_FLOAT32);
    uint32_t relaxed = gpuc_spv_const_u32(m, 0), device = widest(k);
    uint32_t start = gpuc_spv_calc(m, SpvOpAtomicLoad, word, pointer, device, relaxed), before = m->block;
    uint32_t header = gpuc_spv_id(m), body = gpuc_spv_id(m), again = gpuc_spv_id(m), merge = gpuc_spv_id(m);
    uint32_t was = gpuc_spv_id(m), now = gpuc_spv_id(m);
    gpuc_spv_emit(m, &m->code, SpvOpBranch, header);
    gpuc_spv_label(m, header);
    gpuc_spv_emit(m, &m->code, SpvOpPhi, word, was, start, before, now, again);
    gpuc_spv_emit(m, &m->code, SpvOpLoopMerge, merge, again, SpvLoopControlMaskNone);
    gpuc_spv_emit(m, &m->code, SpvOpBranch, body);
    gpuc_spv_label(m, body);
    uint32_t next = combine(k, fn, gpuc_spv_calc(m, SpvOpBitcast, single, was), value);
    next = gpuc_spv_calc(m, SpvOpBitcast, word, next);
    gpuc_spv_emit(m, &m->code, SpvOpAtomicCompareExchange, word, now, pointer, device, relaxed, relaxed, next,
                  was);
    uint32_t done = gpuc_spv_calc(m, SpvOpIEqual, gpuc_spv_type(k, GPUC_BOOL), now, was);
    gpuc_spv_emit(m, &m->code, SpvOpBranchConditional, done, merge, again);
    gpuc_spv_label(m, again);
    gpuc_spv_emit(m, &m->code, SpvOpBranch, header);
    gpuc_spv_label(m, merge);
    return gpuc_spv_calc(m, SpvOpBitcast, single, now);
}

static uint32_t atomic(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_spv *m = &k->m;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_dtype t = e->dtype, word = t;
    char name[24];
    if (t.bits != 32 || t.lanes != 1 || gpuc_is_bool(t) || n->buffer->scope == GPUC_SCOPE_LOCAL)
        gpuc_raise(k->ctx, GPUC_UNSUPPORTED, "kernel '%s': %s on %s elements of %s buffer '%s'",
                   k->func->name, gpuc_tir_intrins[n->fn].text, gpuc_dtype_name(t, name),
                   gpuc_scope_name(n->buffer->scope), n->buffer->name);
    bool bits = gpuc_map_has(&k->float_bits, n->buffer);
    if (bits) word.code = GPUC_DTYPE_UINT;
    uint32_t value = gpuc_spv_expr(k, n->args[n->n - 1]),
             expected = n->n > 2 ? gpuc_spv_expr(k, n->args[1]) : 0;
    uint32_t pointer = gpuc_spv_atomic_pointer(k, n->buffer, n->args[0], word);
    uint32_t type = gpuc_spv_type(k, word), relaxed = gpuc_spv_const_u32(m, 0), device = widest(k), r;
    if (bits && n->fn != GPUC_TIR_CALL_ATOMIC_CAS && n->fn != GPUC_TIR_CALL_ATOMIC_EXCHANGE) {
        r = update_by_exchange(k, n->fn, pointer, value);
        gpuc_spv_memory_changed(k);
        return r;
    }
    if (bits) {
        value = gpuc_spv_calc(m, SpvOpBitcast, type, value);
        if (expected) expected = gpuc_spv_calc(m, SpvOpBitcast, type, expected);
    }
    if (n->fn == GPUC_TIR_CALL_ATOMIC_CAS) {
        r = compare_exchange(k, word, pointer, expected, value);
    } else {
        const atomic_ops *ops = &atomics[n->fn];
        SpvOp op = gpuc_is_float(word)           ? ops->on_float
                   : word.code == GPUC_DTYPE_INT ? ops->on_signed
                                                 : ops->on_unsigned;
        if (op == SpvOpAtomicFAddEXT) {
            gpuc_spv_capability(m, SpvCapabilityAtomicFloat32AddEXT);
            gpuc_spv_extension(m, "SPV_EXT_shader_atomic_float_add");
        }
        r = gpuc_spv_calc(m, op, type, pointer, device, relaxed, value);
    }
    gpuc_spv_memory_changed(k);
    return bits ? gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, t), r) : r;
}

/* ---- Subgroups -------------------------------------------------------------------------------------- */

static const atomic_ops reductions[GPUC_TIR_INTRIN_COUNT] = {
    [GPUC_TIR_CALL_SUBGROUP_ADD] = {SpvOpGroupNonUniformIAdd, SpvOpGroupNonUniformIAdd,
                                    SpvOpGroupNonUniformFAdd},
    [GPUC_TIR_CALL_SUBGROUP_MUL] = {SpvOpGroupNonUniformIMul, SpvOpGroupNonUniformIMul,
                                    SpvOpGroupNonUniformFMul},
    [GPUC_TIR_CALL_SUBGROUP_MIN] = {SpvOpGroupNonUniformSMin, SpvOpGroupNonUniformUMin,
                                    SpvOpGroupNonUniformFMin},
    [GPUC_TIR_CALL_SUBGROUP_MAX] = {SpvOpGroupNonUniformSMax, SpvOpGroupNonUniformUMax,
                                    SpvOpGroupNonUniformFMax},
};

static uint32_t reduce(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_spv *m = &k->m;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_dtype held = gpuc_spv_held(k, e->dtype);
    gpuc_spv_capability(m, SpvCapabilityGroupNonUniform);
    gpuc_spv_capability(m, SpvCapabilityGroupNonUniformArithmetic);
    const atomic_ops *ops = &reductions[n->fn];
    SpvOp op = gpuc_is_float(held)               ? ops->on_float
               : e->dtype.code == GPUC_DTYPE_INT ? ops->on_signed
                                                 : ops->on_unsigned;
    uint32_t value = gpuc_spv_expr(k, n->args[0]), all = scope(k, SpvScopeSubgroup);
    uint32_t id = gpuc_spv_calc(m, op, gpuc_spv_type(k, held), all, SpvGroupOperationReduce, value);
    return gpuc_spv_wrap(k, e->dtype, id);
}

static uint32_t shuffle(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_spv *m = &k->m;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_spv_capability(m, SpvCapabilityGroupNonUniform);
    gpuc_spv_capability(m, SpvCapabilityGroupNonUniformShuffle);
    uint32_t value = gpuc_spv_expr(k, n->args[0]), lane = 0;
    int64_t number;
    if (k->hidden_lanes && gpuc_expr_is_int(n->args[1], &number) && number < (int64_t)k->func->subgroup_size)
        lane = k->hidden_lanes[number];
    if (!lane) lane = gpuc_spv_expr(k, n->args[1]);
    lane = gpuc_spv_cast(k, GPUC_UINT32, n->args[1]->dtype, lane);
    uint32_t all = scope(k, SpvScopeSubgroup), type = gpuc_spv_type(k, gpuc_spv_held(k, e->dtype));
    return gpuc_spv_calc(m, SpvOpGroupNonUniformShuffle, type, all, value, lane);
}

/* ---- Words of small integers ------------------------------------------------------------------------ */

static uint32_t construct(gpuc_spv_kernel *k, gpuc_dtype t, const uint32_t *lanes)
{
    return gpuc_spv_value(&k->m, SpvOpCompositeConstruct, gpuc_spv_type(k, t), t.lanes, lanes);
}

static uint32_t words(gpuc_spv_kernel *k, gpuc_expr e)
{
    uint32_t lanes[4];
    gpuc_expr a = gpuc_as_call(e)->args[0];
    gpuc_spv_type(k, a->dtype); /* a bitcast needs the capability of the small type, other than loads do */
    if (e->dtype.lanes == 1) {
        uint32_t value = gpuc_spv_expr(k, a);
        return gpuc_spv_calc(&k->m, SpvOpBitcast, gpuc_spv_type(k, e->dtype), value);
    }
    for (int i = 0; i < e->dtype.lanes; i++)
        lanes[i] = gpuc_spv_expr(k, gpuc_lower_slice(k->ctx, e, i, 1, NULL));
    return construct(k, e->dtype, lanes);
}

/* Instructions are of scalars, and take the factor with a sign first. */
static uint32_t dot(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_spv *m = &k->m;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    const gpuc_tir_dot *d = gpuc_tir_dot_of(n->fn);
    SpvOp op = d->signed_a ? SpvOpSDot : d->signed_b ? SpvOpSUDot : SpvOpUDot;
    uint32_t lanes[4], type = gpuc_spv_type(k, GPUC_INT32);
    gpuc_spv_capability(m, SpvCapabilityDotProduct);
    gpuc_spv_capability(m, SpvCapabilityDotProductInput4x8BitPacked);
    gpuc_spv_extension(m, "SPV_KHR_integer_dot_product");
    for (int i = 0; i < e->dtype.lanes; i++) {
        uint32_t a[3];
        for (int j = 0; j < 3; j++) a[j] = gpuc_spv_expr(k, gpuc_lower_slice(k->ctx, n->args[j], i, 1, NULL));
        bool swap = !d->signed_a && d->signed_b;
        uint32_t result = op == SpvOpUDot ? gpuc_spv_type(k, GPUC_UINT32) : type;
        uint32_t product = gpuc_spv_calc(m, op, result, a[swap ? 2 : 1], a[swap ? 1 : 2],
                                         SpvPackedVectorFormatPackedVectorFormat4x8Bit);
        if (op == SpvOpUDot) product = gpuc_spv_calc(m, SpvOpBitcast, type, product);
        lanes[i] = gpuc_spv_calc(m, SpvOpIAdd, type, a[0], product);
    }
    return e->dtype.lanes == 1 ? lanes[0] : construct(k, e->dtype, lanes);
}

static bool is_arithmetic(gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP) return false;
    gpuc_tir_op op = gpuc_as_op(e)->op;
    return op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL;
}

static uint32_t exact(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_expr a = gpuc_as_call(e)->args[0];
    uint32_t id = gpuc_spv_expr(k, a);
    const void *key = (const void *)(uintptr_t)id;
    bool as_is = gpuc_dtype_equal(gpuc_spv_held(k, a->dtype), a->dtype); /* else a conversion made it */
    if (!as_is || !is_arithmetic(a) || gpuc_map_has(&k->exact, key)) return id;
    gpuc_map_set(&k->exact, key, k);
    gpuc_spv_decorate(&k->m, id, SpvDecorationNoContraction, 0, NULL);
    return id;
}

uint32_t gpuc_spv_call(gpuc_spv_kernel *k, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    switch (n->fn) {
    case GPUC_TIR_CALL_DOT_I8:
    case GPUC_TIR_CALL_DOT_U8I8:
    case GPUC_TIR_CALL_DOT_U8:
    case GPUC_TIR_CALL_DOT_I16: return dot(k, e);
    case GPUC_TIR_CALL_REINTERPRET:
        if (gpuc_tir_is_words(e)) return words(k, e);
        return gpuc_spv_reinterpret(k, e->dtype, n->args[0]->dtype, gpuc_spv_expr(k, n->args[0]));
    case GPUC_TIR_CALL_EXACT: return exact(k, e);
    case GPUC_TIR_CALL_BARRIER: return barrier(k);
    case GPUC_TIR_CALL_PREFETCH:
        return gpuc_spv_expr(k, gpuc_imm_int(k->ctx, e->dtype, 0)); /* there is none */
    case GPUC_TIR_CALL_THREAD_DECIDES: return gpuc_spv_expr(k, gpuc_imm_int(k->ctx, e->dtype, 1));
    case GPUC_TIR_CALL_ATOMIC_ADD:
    case GPUC_TIR_CALL_ATOMIC_MIN:
    case GPUC_TIR_CALL_ATOMIC_MAX:
    case GPUC_TIR_CALL_ATOMIC_AND:
    case GPUC_TIR_CALL_ATOMIC_OR:
    case GPUC_TIR_CALL_ATOMIC_XOR:
    case GPUC_TIR_CALL_ATOMIC_EXCHANGE:
    case GPUC_TIR_CALL_ATOMIC_CAS: return atomic(k, e);
    case GPUC_TIR_CALL_TEXTURE2D_LOAD:
    case GPUC_TIR_CALL_TEXTURE2D_STORE: return gpuc_spv_texture(k, e);
    case GPUC_TIR_CALL_SUBGROUP_LANE:
        gpuc_spv_capability(&k->m, SpvCapabilityGroupNonUniform);
        return gpuc_spv_cast(k, e->dtype, GPUC_UINT32,
                             gpuc_spv_builtin(k, SpvBuiltInSubgroupLocalInvocationId));
    case GPUC_TIR_CALL_SUBGROUP_ADD:
    case GPUC_TIR_CALL_SUBGROUP_MUL:
    case GPUC_TIR_CALL_SUBGROUP_MIN:
    case GPUC_TIR_CALL_SUBGROUP_MAX: return reduce(k, e);
    case GPUC_TIR_CALL_SUBGROUP_SHUFFLE: return shuffle(k, e);
    case GPUC_TIR_CALL_EXTERN:
    case GPUC_TIR_CALL_ADDRESS:
    case GPUC_TIR_CALL_CONST_ADDRESS:
    case GPUC_TIR_CALL_STRIDE:
    case GPUC_TIR_INTRIN_COUNT: break;
    }
    gpuc_raise(k->ctx, GPUC_UNSUPPORTED, "kernel '%s': a shader cannot call %s", k->func->name,
               n->name ? n->name : gpuc_tir_intrins[n->fn].text);
}
