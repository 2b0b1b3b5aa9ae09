/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores. A parameter is seen through one variable per vector width that is used; accesses that are
 * aligned are one instruction, others go element by element. */
#include "codegen_spirv/emit.h"

/* ---- Views of parameters ---------------------------------------------------------------------------- */

static SpvStorageClass buffer_class(const gpuc_spv_kernel *k)
{
    return k->target->storage_buffer_class ? SpvStorageClassStorageBuffer : SpvStorageClassUniform;
}

static uint32_t binding_of(const gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    return k->meta->tensors[gpuc_spv_tensor_of(k, b)].binding;
}

static bool is_shared(const gpuc_spv_kernel *k, uint32_t binding)
{
    uint32_t users = 0;
    for (uint32_t t = 0; t < k->meta->num_tensors; t++) users += k->meta->tensors[t].binding == binding;
    return k->func->aliased || users > 1;
}

/* What is only read has a type of its own, whose member says so: NVIDIA's driver (580.159) takes that for a property of the
 * type, and has other variables of the same type read what memory held before the kernel. */
static uint32_t block_type(gpuc_spv_kernel *k, uint32_t element, uint32_t stride, bool read_only)
{
    enum { WRITTEN = 2, READ_ONLY = 4 }; /* tags: no other structure has them */
    gpuc_spv *m = &k->m;
    bool is_new;
    uint32_t array = gpuc_spv_global(m, SpvOpTypeRuntimeArray, 0, 1, &element, 0, &is_new);
    if (is_new) gpuc_spv_decorate(m, array, SpvDecorationArrayStride, 1, &stride);
    uint32_t type =
        gpuc_spv_global(m, SpvOpTypeStruct, 0, 1, &array, read_only ? READ_ONLY : WRITTEN, &is_new);
    if (is_new) {
        bool uniform = buffer_class(k) == SpvStorageClassUniform; /* there Block is for constants */
        gpuc_spv_decorate(m, type, uniform ? SpvDecorationBufferBlock : SpvDecorationBlock, 0, NULL);
        gpuc_spv_emit(m, &m->decorations, SpvOpMemberDecorate, type, 0, SpvDecorationOffset, 0);
        if (read_only)
            gpuc_spv_emit(m, &m->decorations, SpvOpMemberDecorate, type, 0, SpvDecorationNonWritable);
    }
    return type;
}

static gpuc_spv_view *view_of(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, uint32_t element, int lanes)
{
    for (size_t i = 0; i < k->num_views; i++)
        if (k->views[i].buffer == b && k->views[i].element_type == element) return &k->views[i];
    gpuc_spv *m = &k->m;
    k->views = gpuc_ctx_grow(k->ctx, k->views, k->num_views, &k->views_capacity, sizeof *k->views);
    gpuc_spv_view *v = &k->views[k->num_views++];
    uint32_t stride = (uint32_t)gpuc_dtype_bytes(b->dtype) * (uint32_t)lanes;
    uint32_t set = 0, binding = binding_of(k, b);
    bool read_only = !is_shared(k, binding) && !gpuc_codegen_use(k->uses, b)->written;
    uint32_t var = gpuc_spv_variable(m, buffer_class(k), block_type(k, element, stride, read_only));
    *v = (gpuc_spv_view){.buffer = b, .element_type = element, .variable = var, .lanes = lanes};
    gpuc_spv_decorate(m, var, SpvDecorationDescriptorSet, 1, &set);
    gpuc_spv_decorate(m, var, SpvDecorationBinding, 1, &binding);
    gpuc_spv_name(m, var, lanes > 1 ? gpuc_ctx_printf(k->ctx, "%s_x%d", b->name, lanes) : b->name);
    return v;
}

/* Variables are taken for distinct memory unless they say otherwise. */
void gpuc_spv_finish_views(gpuc_spv_kernel *k)
{
    for (size_t i = 0; i < k->num_views; i++) {
        uint32_t binding = binding_of(k, k->views[i].buffer);
        bool aliased = is_shared(k, binding);
        for (size_t j = 0; j < k->num_views; j++)
            aliased = aliased || (j != i && binding_of(k, k->views[j].buffer) == binding);
        if (aliased) gpuc_spv_decorate(&k->m, k->views[i].variable, SpvDecorationAliased, 0, NULL);
    }
}

/* ---- Local and shared buffers ----------------------------------------------------------------------- */

static gpuc_dtype local_dtype(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, bool bits)
{
    gpuc_dtype t = gpuc_spv_held(k, b->dtype);
    if (gpuc_is_bool(t) || bits) {
        t.code = GPUC_DTYPE_UINT;
        if (t.bits < 32) t.bits = 32;
    }
    return t;
}

static gpuc_spv_local *local_of(gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    gpuc_spv_local *l = gpuc_map_get(&k->locals, b);
    if (!l)
        gpuc_raise(k->ctx, GPUC_INTERNAL, "kernel '%s': buffer '%s' is not declared", k->func->name, b->name);
    return l;
}

void gpuc_spv_alloc(gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    if (gpuc_map_has(&k->locals, b)) return;
    if (b->scope == GPUC_SCOPE_COOPMAT) {
        gpuc_spv_coopmat_alloc(k, b);
        return;
    }
    const gpuc_buffer_use *use = gpuc_codegen_use(k->uses, b);
    int64_t n = gpuc_codegen_elements(k->ctx, b);
    if (n < 1) n = 1;
    if (n > INT64_C(1) << 24)
        gpuc_raise(k->ctx, GPUC_UNSUPPORTED,
                   "kernel '%s': buffer '%s' of %lld elements is too large for %s memory", k->func->name,
                   b->name, (long long)n, gpuc_scope_name(b->scope));
    gpuc_spv_local *l = gpuc_new(k->ctx, gpuc_spv_local);
    l->storage = b->scope == GPUC_SCOPE_SHARED ? SpvStorageClassWorkgroup : SpvStorageClassFunction;
    l->bits = gpuc_map_has(&k->float_bits, b);
    l->vec = use->vec >= 4 ? 4 : use->vec == 2 ? 2 : 1;
    if (use->atomic || n % l->vec) l->vec = 1;
    l->element_type = gpuc_spv_type(k, gpuc_dtype_with_lanes(local_dtype(k, b, l->bits), l->vec));
    l->single = n == l->vec && l->storage == SpvStorageClassFunction;
    uint32_t type =
        l->single ? l->element_type : gpuc_spv_type_array(&k->m, l->element_type, (uint32_t)(n / l->vec));
    l->variable = gpuc_spv_variable(&k->m, l->storage, type);
    gpuc_spv_name(&k->m, l->variable, b->name);
    gpuc_map_set(&k->locals, b, l);
}

/* ---- Pointers --------------------------------------------------------------------------------------- */

static uint32_t index_value(gpuc_spv_kernel *k, gpuc_expr index, int by)
{
    if (by > 1) index = gpuc_floordiv_(k->ctx, index, gpuc_imm_int(k->ctx, index->dtype, by));
    return gpuc_spv_expr(k, gpuc_arith_simplify(k->analyzer, index));
}

/* offset / lanes + index / lanes, in the index's type. */
static uint32_t element_number(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int lanes)
{
    gpuc_dtype t = gpuc_dtype_with_lanes(index->dtype, 1);
    uint32_t at = index_value(k, index, lanes);
    uint32_t offset = gpuc_spv_param_offset(k, gpuc_spv_tensor_of(k, b), lanes);
    offset = gpuc_spv_cast(k, t, GPUC_INT32, offset);
    return gpuc_spv_calc(&k->m, SpvOpIAdd, gpuc_spv_type(k, t), offset, at);
}

static uint32_t param_pointer(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, uint32_t element,
                              int lanes)
{
    gpuc_spv *m = &k->m;
    uint32_t at = element_number(k, b, index, lanes);
    uint32_t type = gpuc_spv_type_pointer(m, buffer_class(k), element);
    uint32_t member = gpuc_spv_const_u32(m, 0), view = view_of(k, b, element, lanes)->variable;
    return gpuc_spv_calc(m, SpvOpAccessChain, type, view, member, at);
}

/* Pointer to vec elements (lanes == vec), or to one element inside of a vector. */
static uint32_t local_pointer(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int lanes)
{
    gpuc_spv *m = &k->m;
    const gpuc_spv_local *l = local_of(k, b);
    gpuc_dtype t = local_dtype(k, b, l->bits);
    uint32_t path[2];
    int n = 0;
    if (!l->single) path[n++] = index_value(k, index, l->vec);
    if (lanes < l->vec) {
        gpuc_expr within = gpuc_floormod_(k->ctx, index, gpuc_imm_int(k->ctx, index->dtype, l->vec));
        path[n++] = gpuc_spv_expr(k, gpuc_arith_simplify(k->analyzer, within));
        gpuc_spv_type(k, t);
    }
    if (n == 0) return l->variable;
    uint32_t pointed = lanes < l->vec ? gpuc_spv_type(k, t) : l->element_type;
    uint32_t all[3] = {l->variable, path[0], n > 1 ? path[1] : 0};
    return gpuc_spv_value(m, SpvOpAccessChain, gpuc_spv_type_pointer(m, l->storage, pointed), n + 1, all);
}

uint32_t gpuc_spv_atomic_pointer(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, gpuc_dtype as)
{
    if (gpuc_spv_tensor_of(k, b) < 0) return local_pointer(k, b, index, 1);
    return param_pointer(k, b, index, gpuc_spv_type(k, as), 1);
}

uint32_t gpuc_spv_element_pointer(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int *per)
{
    *per = 1;
    if (gpuc_spv_tensor_of(k, b) >= 0)
        return param_pointer(k, b, index, gpuc_spv_memory_type(k, b->dtype, 1), 1);
    *per = local_of(k, b)->vec;
    return local_pointer(k, b, index, *per);
}

/* Makes an access visible to other invocations: under the Vulkan memory model accesses are private by
 * default. */
int gpuc_spv_shared_access(gpuc_spv_kernel *k, bool write, uint32_t *operands)
{
    if (!k->coopmats) return 0;
    operands[0] = SpvMemoryAccessNonPrivatePointerMask |
                  (write ? SpvMemoryAccessMakePointerAvailableMask : SpvMemoryAccessMakePointerVisibleMask);
    operands[1] = gpuc_spv_const_u32(&k->m, SpvScopeWorkgroup);
    return 2;
}

/* ---- One piece: 1, 2 or 4 lanes at a place that is aligned for them ----------------------------------- */

static uint32_t load_local(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int lanes)
{
    gpuc_spv *m = &k->m;
    const gpuc_spv_local *l = local_of(k, b);
    gpuc_dtype t = gpuc_dtype_with_lanes(local_dtype(k, b, l->bits), lanes);
    uint32_t operands[3] = {local_pointer(k, b, index, lanes)};
    int n = 1;
    if (l->storage == SpvStorageClassWorkgroup) n += gpuc_spv_shared_access(k, false, operands + n);
    uint32_t id = gpuc_spv_value(m, SpvOpLoad, gpuc_spv_type(k, t), n, operands);
    gpuc_dtype held = gpuc_dtype_with_lanes(gpuc_spv_held(k, b->dtype), lanes);
    if (l->bits) return gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, held), id);
    return gpuc_is_bool(held) ? gpuc_spv_cast(k, held, t, id) : id;
}

static void store_local(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int lanes, uint32_t id)
{
    gpuc_spv *m = &k->m;
    const gpuc_spv_local *l = local_of(k, b);
    gpuc_dtype t = gpuc_dtype_with_lanes(local_dtype(k, b, l->bits), lanes);
    if (l->bits) id = gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, t), id);
    if (gpuc_is_bool(b->dtype)) id = gpuc_spv_cast(k, t, gpuc_dtype_with_lanes(GPUC_BOOL, lanes), id);
    uint32_t operands[4] = {local_pointer(k, b, index, lanes), id};
    int n = 2;
    if (l->storage == SpvStorageClassWorkgroup) n += gpuc_spv_shared_access(k, true, operands + n);
    gpuc_spv_op(m, &m->code, SpvOpStore, n, operands);
}

static gpuc_dtype bits_of(gpuc_dtype t)
{
    t.code = GPUC_DTYPE_UINT;
    return t;
}

static uint32_t load_piece(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int lanes)
{
    if (gpuc_spv_tensor_of(k, b) < 0) return load_local(k, b, index, lanes);
    gpuc_dtype t = gpuc_dtype_with_lanes(b->dtype, lanes);
    bool bits = gpuc_map_has(&k->float_bits, b);
    uint32_t element = bits ? gpuc_spv_type(k, bits_of(t)) : gpuc_spv_memory_type(k, b->dtype, lanes);
    uint32_t pointer = param_pointer(k, b, index, element, lanes);
    uint32_t id = gpuc_spv_calc(&k->m, SpvOpLoad, element, pointer);
    if (bits) return gpuc_spv_calc(&k->m, SpvOpBitcast, gpuc_spv_type(k, t), id);
    return gpuc_spv_from_memory(k, t, id);
}

static void store_piece(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int lanes, uint32_t id)
{
    if (gpuc_spv_tensor_of(k, b) < 0) {
        store_local(k, b, index, lanes, id);
        return;
    }
    gpuc_dtype t = gpuc_dtype_with_lanes(b->dtype, lanes);
    bool bits = gpuc_map_has(&k->float_bits, b);
    uint32_t element = bits ? gpuc_spv_type(k, bits_of(t)) : gpuc_spv_memory_type(k, b->dtype, lanes);
    id = bits ? gpuc_spv_calc(&k->m, SpvOpBitcast, element, id) : gpuc_spv_to_memory(k, t, id);
    if (gpuc_codegen_stores_pairs(k->target, b->dtype, lanes)) {
        element = gpuc_spv_type(k, gpuc_dtype_with_lanes(GPUC_INT64, lanes / 2));
        id = gpuc_spv_calc(&k->m, SpvOpBitcast, element, id);
    }
    uint32_t pointer = param_pointer(k, b, index, element, lanes);
    if (b->non_temporal)
        gpuc_spv_emit(&k->m, &k->m.code, SpvOpStore, pointer, id, SpvMemoryAccessNontemporalMask);
    else
        gpuc_spv_emit(&k->m, &k->m.code, SpvOpStore, pointer, id);
}

/* The max number of lanes that an access of `index` may take at a time. */
static int piece_lanes(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index)
{
    int align = gpuc_codegen_ramp_align(k->analyzer, index);
    if (align > 4) align = 4;
    int tensor = gpuc_spv_tensor_of(k, b);
    if (tensor >= 0) {
        uint32_t bytes = (uint32_t)gpuc_dtype_bytes(b->dtype);
        while (align > 1 && k->meta->tensors[tensor].alignment < (uint32_t)align * bytes) align /= 2;
        return gpuc_codegen_use(k->uses, b)->atomic && align > 1 ? 1 : align;
    }
    int vec = local_of(k, b)->vec;
    return align >= vec ? vec : 1;
}

/* ---- Texels ------------------------------------------------------------------------------------------ */

static bool reads_texels(gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    int t = gpuc_spv_tensor_of(k, b);
    return t >= 0 && k->meta->tensors[t].texel && k->meta->tensors[t].access == GPUC_ACCESS_READ;
}

bool gpuc_spv_can_clamp(gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    int64_t size;
    return reads_texels(k, b) && gpuc_expr_is_int(b->shape[0], &size) && size > 0;
}

/* Numbers below 0 are the largest as unsigned ones. */
static uint32_t clamp_texel(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, uint32_t at)
{
    int64_t size = 0;
    gpuc_expr_is_int(b->shape[0], &size);
    uint32_t a[] = {at, gpuc_spv_const_u32(&k->m, (uint32_t)((size - 1) / 4))};
    return gpuc_spv_glsl(&k->m, GLSLstd450UMin, gpuc_spv_type_int(&k->m, 32, false), 2, a);
}

static void declare_image(gpuc_spv_kernel *k, int tensor)
{
    gpuc_spv *m = &k->m;
    gpuc_spv_param *p = &k->params[tensor];
    gpuc_dtype t = k->func->buffers[tensor]->dtype;
    uint32_t sampled =
        gpuc_is_float(t) ? gpuc_spv_type_float(m, 32) : gpuc_spv_type_int(m, 32, t.code == GPUC_DTYPE_INT);
    gpuc_spv_capability(m, SpvCapabilitySampledBuffer);
    p->texel_type = gpuc_spv_type_vector(m, sampled, 4);
    p->image_type =
        gpuc_spv_global(m, SpvOpTypeImage, 0, 7,
                        (uint32_t[]){sampled, SpvDimBuffer, 0, 0, 0, 1, SpvImageFormatUnknown}, 0, NULL);
    uint32_t var = gpuc_spv_variable(m, SpvStorageClassUniformConstant, p->image_type);
    uint32_t set = 0, binding = k->meta->tensors[tensor].texel_binding;
    gpuc_spv_decorate(m, var, SpvDecorationDescriptorSet, 1, &set);
    gpuc_spv_decorate(m, var, SpvDecorationBinding, 1, &binding);
    gpuc_spv_name(m, var, gpuc_ctx_printf(k->ctx, "%s_texels", k->func->buffers[tensor]->name));
    p->image = var;
}

/* Four elements that start at a multiple of four. */
static uint32_t fetch_texel(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr start)
{
    gpuc_spv *m = &k->m;
    int tensor = gpuc_spv_tensor_of(k, b);
    gpuc_spv_param *p = &k->params[tensor];
    if (!p->image) declare_image(k, tensor);
    uint32_t at = index_value(k, start, 4), offset = gpuc_spv_param_offset(k, tensor, 4);
    if (start->dtype.bits == 64) at = gpuc_spv_cast(k, GPUC_INT32, GPUC_INT64, at);
    if (k->clamped) at = clamp_texel(k, b, at);
    at = gpuc_spv_calc(m, SpvOpIAdd, gpuc_spv_type(k, GPUC_INT32), offset, at);
    uint32_t image = gpuc_spv_calc(m, SpvOpLoad, p->image_type, p->image);
    uint32_t id = gpuc_spv_calc(m, SpvOpImageFetch, p->texel_type, image, at);
    gpuc_dtype word = gpuc_dtype_with_lanes(b->dtype, 4);
    if (gpuc_is_bool(word)) word.code = GPUC_DTYPE_UINT;
    word.bits = 32;
    if (word.code == GPUC_DTYPE_INT) id = gpuc_spv_calc(m, SpvOpBitcast, gpuc_spv_type(k, word), id);
    gpuc_dtype t = gpuc_dtype_with_lanes(b->dtype, 4), held = gpuc_spv_held(k, t);
    if (gpuc_is_bool(t)) return gpuc_spv_cast(k, t, word, id);
    if (held.bits == 32) return id;
    SpvOp op = gpuc_is_float(t) ? SpvOpFConvert : t.code == GPUC_DTYPE_INT ? SpvOpSConvert : SpvOpUConvert;
    return gpuc_spv_calc(m, op, gpuc_spv_type(k, held), id);
}

typedef struct spelling {
    gpuc_tir_mapper m;
    const gpuc_analyzer *a;
} spelling;

static gpuc_expr spell_out(gpuc_tir_mapper *m, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_VAR) return gpuc_tir_map_children(m, e);
    gpuc_expr value = gpuc_arith_analyzer_value(((spelling *)m)->a, e);
    if (!value || value->kind != GPUC_EXPR_OP) return e;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(value);
    bool sum = n->op == GPUC_TIR_ADD || n->op == GPUC_TIR_SUB;
    return sum && n->a[0]->kind == GPUC_EXPR_VAR && n->a[1]->kind == GPUC_EXPR_INT ? gpuc_tir_map(m, value)
                                                                                   : e;
}

/* The index with variables that are another one and a constant written out: those of neighbours then have one texel. */
static gpuc_expr spelled_out(gpuc_spv_kernel *k, gpuc_expr index)
{
    spelling s = {.a = k->analyzer};
    gpuc_tir_mapper_init(&s.m, k->ctx, spell_out, NULL);
    return gpuc_tir_map(&s.m, index);
}

/* One element: its texel (found again in what was loaded before), and the lane of it. */
static uint32_t texel_element(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_spv *m = &k->m;
    gpuc_ctx *ctx = k->ctx;
    gpuc_dtype t = index->dtype;
    gpuc_expr four = gpuc_imm_int(ctx, t, 4), one = gpuc_imm_int(ctx, t, 1);
    index = spelled_out(k, index);
    gpuc_expr start = gpuc_arith_simplify(k->analyzer, gpuc_mul(ctx, gpuc_floordiv_(ctx, index, four), four));
    gpuc_expr lane = gpuc_arith_simplify(k->analyzer, gpuc_floormod_(ctx, index, four));
    gpuc_expr texel = gpuc_tir_load1(ctx, b, gpuc_tir_ramp(ctx, start, one, 4));
    uint32_t id = gpuc_spv_expr(k, texel), type = gpuc_spv_type(k, gpuc_spv_held(k, b->dtype));
    int64_t number;
    if (gpuc_expr_is_int(lane, &number))
        return gpuc_spv_calc(m, SpvOpCompositeExtract, type, id, (uint32_t)number);
    return gpuc_spv_calc(m, SpvOpVectorExtractDynamic, type, id, gpuc_spv_expr(k, lane));
}

/* ---- Loads and stores -------------------------------------------------------------------------------- */

static gpuc_expr lane_index(gpuc_spv_kernel *k, gpuc_expr index, int lane)
{
    return gpuc_lower_slice(k->ctx, index, lane, 1, NULL);
}

static uint32_t load_element(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index)
{
    return reads_texels(k, b) ? texel_element(k, b, index) : load_piece(k, b, index, 1);
}

uint32_t gpuc_spv_load(gpuc_spv_kernel *k, gpuc_expr e)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    gpuc_spv *m = &k->m;
    int lanes = e->dtype.lanes;
    if (lanes == 1) return load_element(k, n->buffer, n->index[0]);
    gpuc_dtype held = gpuc_spv_held(k, e->dtype);
    if (n->index[0]->kind == GPUC_EXPR_BROADCAST) {
        gpuc_expr one = gpuc_tir_load1(k->ctx, n->buffer, gpuc_as_broadcast(n->index[0])->a);
        return gpuc_spv_splat(k, held, gpuc_spv_expr(k, one));
    }
    int piece = piece_lanes(k, n->buffer, n->index[0]);
    if (reads_texels(k, n->buffer)) {
        if (piece == 4) return fetch_texel(k, n->buffer, gpuc_lower_contiguous(n->index[0]));
        piece = 1;
    }
    if (piece == lanes) return load_piece(k, n->buffer, gpuc_lower_contiguous(n->index[0]), lanes);
    uint32_t parts[4];
    int count = 0;
    for (int i = 0; i<lanes; i += piece> 1 ? piece : 1) {
        gpuc_expr at = gpuc_arith_simplify(k->analyzer, lane_index(k, n->index[0], i));
        parts[count++] = piece > 1 ? load_piece(k, n->buffer, at, piece)
                                   : gpuc_spv_expr(k, gpuc_tir_load1(k->ctx, n->buffer, at));
    }
    return gpuc_spv_value(m, SpvOpCompositeConstruct, gpuc_spv_type(k, held), count, parts);
}

void gpuc_spv_store(gpuc_spv_kernel *k, const gpuc_tir_store_node *n)
{
    gpuc_spv *m = &k->m;
    int lanes = n->value->dtype.lanes;
    uint32_t value = gpuc_spv_expr(k, n->value);
    if (lanes == 1) {
        store_piece(k, n->buffer, n->index[0], 1, value);
        return;
    }
    int piece = piece_lanes(k, n->buffer, n->index[0]);
    if (piece < 1) piece = 1;
    if (piece == lanes) {
        store_piece(k, n->buffer, gpuc_lower_contiguous(n->index[0]), lanes, value);
        return;
    }
    gpuc_dtype held = gpuc_spv_held(k, gpuc_dtype_with_lanes(n->value->dtype, piece));
    for (int i = 0; i < lanes; i += piece) {
        gpuc_expr at = gpuc_arith_simplify(k->analyzer, lane_index(k, n->index[0], i));
        uint32_t part =
            piece == 1 ? gpuc_spv_calc(m, SpvOpCompositeExtract, gpuc_spv_type(k, held), value, (uint32_t)i)
                       : gpuc_spv_calc(m, SpvOpVectorShuffle, gpuc_spv_type(k, held), value, value,
                                       (uint32_t)i, (uint32_t)i + 1);
        store_piece(k, n->buffer, at, piece, part);
    }
}
