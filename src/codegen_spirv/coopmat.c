/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative matrices. Each is a value in a variable of the function; memory is read and written with the
 * operands that the Vulkan memory model wants, which the extension requires. */
#include "abi/coopmat.h"
#include "codegen_spirv/emit.h"
#include "codegen_spirv/khr.h"

enum { SIDE = GPUC_COOPMAT_SIDE };

typedef struct matrices {
    uint32_t type, variable;
    int64_t count;
} matrices;

static uint32_t type_of(gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    static const uint32_t uses[] = {[GPUC_COOPMAT_AS_SUM] = GPUC_SPV_COOPMAT_USE_SUM,
                                    [GPUC_COOPMAT_AS_A] = GPUC_SPV_COOPMAT_USE_A,
                                    [GPUC_COOPMAT_AS_B] = GPUC_SPV_COOPMAT_USE_B};
    gpuc_spv *m = &k->m;
    gpuc_spv_capability(m, (SpvCapability)GPUC_SPV_CAPABILITY_COOPMAT);
    gpuc_spv_extension(m, "SPV_KHR_cooperative_matrix");
    uint32_t side = gpuc_spv_const_u32(m, SIDE);
    const uint32_t operands[] = {gpuc_spv_type(k, b->dtype), gpuc_spv_const_u32(m, SpvScopeSubgroup), side,
                                 side,
                                 gpuc_spv_const_u32(m, uses[gpuc_lower_coopmats_get(k->coopmats, b)->use])};
    return gpuc_spv_global(m, (SpvOp)GPUC_SPV_OP_TYPE_COOPMAT, 0, 5, operands, 0, NULL);
}

void gpuc_spv_coopmat_alloc(gpuc_spv_kernel *k, const gpuc_tir_buffer *b)
{
    gpuc_spv *m = &k->m;
    matrices *v = gpuc_new(k->ctx, matrices);
    v->count = gpuc_lower_coopmats_get(k->coopmats, b)->count;
    v->type = type_of(k, b);
    v->variable =
        gpuc_spv_variable(m, SpvStorageClassFunction,
                          v->count > 1 ? gpuc_spv_type_array(m, v->type, (uint32_t)v->count) : v->type);
    gpuc_spv_name(m, v->variable, b->name);
    gpuc_map_set(&k->locals, b, v);
}

/* One matrix of those that a buffer holds. */
typedef struct matrix {
    uint32_t type, pointer;
} matrix;

static matrix matrix_at(gpuc_spv_kernel *k, const gpuc_tir_coopmat *op, const gpuc_tir_buffer *b,
                        gpuc_expr index)
{
    gpuc_spv *m = &k->m;
    const matrices *v = gpuc_map_get(&k->locals, b);
    matrix r = {.type = v->type, .pointer = v->variable};
    if (v->count == 1) return r;
    gpuc_coopmat_place at = gpuc_lower_coopmat_place_of(k->analyzer, k->ctx, op, index, 0, 1);
    uint32_t number = gpuc_spv_expr(k, gpuc_lower_coopmat_number(k->analyzer, k->ctx, &at));
    uint32_t type = gpuc_spv_type_pointer(m, SpvStorageClassFunction, v->type);
    r.pointer = gpuc_spv_calc(m, SpvOpAccessChain, type, v->variable, number);
    return r;
}

static uint32_t load_matrix(gpuc_spv_kernel *k, const gpuc_tir_coopmat *op, const gpuc_tir_load_node *n)
{
    matrix from = matrix_at(k, op, n->buffer, n->index[0]);
    return gpuc_spv_calc(&k->m, SpvOpLoad, from.type, from.pointer);
}

/* Where a matrix lies in memory: the operands of an access. */
typedef struct memory {
    uint32_t pointer, layout, stride;
    bool shared;
} memory;

static memory memory_at(gpuc_spv_kernel *k, const gpuc_tir_coopmat *op, const gpuc_tir_buffer *b,
                        gpuc_expr index, const gpuc_tir_buffer *held)
{
    gpuc_coopmat_place at = gpuc_lower_coopmat_place_of(k->analyzer, k->ctx, op, index, 0, 1);
    bool rows = gpuc_tir_is_const(at.step[1], 1),
         turned = gpuc_lower_coopmats_get(k->coopmats, held)->transposed;
    int per = 1;
    memory r = {.shared = b->scope == GPUC_SCOPE_SHARED};
    r.pointer = gpuc_spv_element_pointer(k, b, at.base, &per);
    gpuc_expr stride = at.step[rows ? 0 : 1];
    stride = gpuc_floordiv_(k->ctx, stride, gpuc_imm_int(k->ctx, stride->dtype, per));
    r.stride = gpuc_spv_expr(k, gpuc_arith_simplify(k->analyzer, stride));
    r.layout = gpuc_spv_const_u32(&k->m, rows != turned ? GPUC_SPV_COOPMAT_ROW_MAJOR
                                                        : GPUC_SPV_COOPMAT_COLUMN_MAJOR);
    return r;
}

static void store_matrix(gpuc_spv_kernel *k, matrix to, uint32_t value)
{
    gpuc_spv_emit(&k->m, &k->m.code, SpvOpStore, to.pointer, value);
}

static void load(gpuc_spv_kernel *k, const gpuc_tir_coopmat *op)
{
    gpuc_spv *m = &k->m;
    memory from = memory_at(k, op, op->load->buffer, op->load->index[0], op->store->buffer);
    matrix to = matrix_at(k, op, op->store->buffer, op->store->index[0]);
    uint32_t operands[5] = {from.pointer, from.layout, from.stride};
    int n = 3;
    if (from.shared) n += gpuc_spv_shared_access(k, false, operands + n);
    store_matrix(k, to, gpuc_spv_value(m, (SpvOp)GPUC_SPV_OP_COOPMAT_LOAD, to.type, n, operands));
}

static void store(gpuc_spv_kernel *k, const gpuc_tir_coopmat *op)
{
    gpuc_spv *m = &k->m;
    uint32_t value = load_matrix(k, op, op->load);
    memory to = memory_at(k, op, op->store->buffer, op->store->index[0], op->load->buffer);
    uint32_t operands[6] = {to.pointer, value, to.layout, to.stride};
    int n = 4;
    if (to.shared) n += gpuc_spv_shared_access(k, true, operands + n);
    gpuc_spv_op(m, &m->code, (SpvOp)GPUC_SPV_OP_COOPMAT_STORE, n, operands);
}

void gpuc_spv_coopmat(gpuc_spv_kernel *k, const gpuc_tir_attr_node *n)
{
    gpuc_spv *m = &k->m;
    gpuc_tir_coopmat op;
    const char *wrong = gpuc_tir_coopmat_of(k->ctx, n, &op);
    if (wrong)
        gpuc_raise(k->ctx, GPUC_INTERNAL, "kernel '%s': an operation on cooperative matrices %s",
                   k->func->name, wrong);
    for (int i = 0; i < op.num_loops; i++)
        gpuc_arith_analyzer_bind(k->analyzer, op.loop[i]->var, op.loop[i]->min, op.loop[i]->extent);
    switch (op.kind) {
    case GPUC_COOPMAT_FILL: {
        matrix to = matrix_at(k, &op, op.store->buffer, op.store->index[0]);
        uint32_t value = gpuc_spv_expr(k, op.store->value);
        store_matrix(k, to, gpuc_spv_calc(m, SpvOpCompositeConstruct, to.type, value));
        break;
    }
    case GPUC_COOPMAT_LOAD: load(k, &op); break;
    case GPUC_COOPMAT_STORE: store(k, &op); break;
    case GPUC_COOPMAT_MULTIPLY: {
        uint32_t a = load_matrix(k, &op, op.factor[0]), b = load_matrix(k, &op, op.factor[1]);
        matrix to = matrix_at(k, &op, op.store->buffer, op.store->index[0]);
        uint32_t c = gpuc_spv_calc(m, SpvOpLoad, to.type, to.pointer);
        store_matrix(k, to, gpuc_spv_calc(m, (SpvOp)GPUC_SPV_OP_COOPMAT_MUL_ADD, to.type, a, b, c));
        break;
    }
    }
    gpuc_spv_memory_changed(k);
}
