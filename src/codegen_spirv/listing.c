/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V as text, an instruction a line: "%12 = FMul %float %10 %11". Ids are names where there are some. */
#include <string.h>

#include "base/map.h"
#include "codegen_spirv/emit.h"
#include "codegen_spirv/khr.h"

/* What follows the opcode: r result type and result, R result only; then i ids, l literals, s a string. The
 * last kind holds for all that is left. */
typedef struct op_row {
    SpvOp op;
    const char *name, *operands;
} op_row;

#define ROW(name, operands)                                                                                  \
    {                                                                                                        \
        SpvOp##name, #name, operands                                                                         \
    }
static const op_row rows[] = {
    ROW(Capability, "l"),
    ROW(Extension, "s"),
    ROW(ExtInstImport, "Rs"),
    ROW(MemoryModel, "l"),
    ROW(EntryPoint, "lisi"),
    ROW(ExecutionMode, "il"),
    ROW(Name, "is"),
    ROW(Decorate, "il"),
    ROW(MemberDecorate, "il"),
    ROW(TypeVoid, "R"),
    ROW(TypeBool, "R"),
    ROW(TypeInt, "Rl"),
    ROW(TypeFloat, "Rl"),
    ROW(TypeVector, "Ril"),
    ROW(TypeArray, "Ri"),
    ROW(TypeRuntimeArray, "Ri"),
    ROW(TypeStruct, "Ri"),
    ROW(TypePointer, "Rli"),
    ROW(TypeFunction, "Ri"),
    ROW(TypeImage, "Ril"),
    ROW(Constant, "rl"),
    ROW(ConstantComposite, "ri"),
    ROW(ConstantTrue, "r"),
    ROW(ConstantFalse, "r"),
    ROW(Variable, "rli"),
    ROW(Function, "rli"),
    ROW(FunctionEnd, ""),
    ROW(Label, "R"),
    ROW(Branch, "i"),
    ROW(BranchConditional, "iiil"),
    ROW(LoopMerge, "iil"),
    ROW(SelectionMerge, "il"),
    ROW(Return, ""),
    ROW(Nop, ""),
    ROW(Phi, "ri"),
    ROW(Load, "ril"),
    ROW(Store, "iil"),
    ROW(AccessChain, "ri"),
    ROW(ControlBarrier, "i"),
    ROW(ExtInst, "rili"),
    ROW(CompositeConstruct, "ri"),
    ROW(CompositeExtract, "ril"),
    ROW(VectorShuffle, "riil"),
    ROW(VectorExtractDynamic, "ri"),
    ROW(ImageFetch, "riil"),
    ROW(Select, "ri"),
    ROW(Bitcast, "ri"),
    ROW(ConvertFToS, "ri"),
    ROW(ConvertFToU, "ri"),
    ROW(ConvertSToF, "ri"),
    ROW(ConvertUToF, "ri"),
    ROW(SConvert, "ri"),
    ROW(UConvert, "ri"),
    ROW(FConvert, "ri"),
    ROW(IAdd, "ri"),
    ROW(ISub, "ri"),
    ROW(IMul, "ri"),
    ROW(SDiv, "ri"),
    ROW(UDiv, "ri"),
    ROW(UMod, "ri"),
    ROW(FAdd, "ri"),
    ROW(FSub, "ri"),
    ROW(FMul, "ri"),
    ROW(FDiv, "ri"),
    ROW(FRem, "ri"),
    ROW(Not, "ri"),
    ROW(BitwiseAnd, "ri"),
    ROW(BitwiseOr, "ri"),
    ROW(BitwiseXor, "ri"),
    ROW(ShiftLeftLogical, "ri"),
    ROW(ShiftRightLogical, "ri"),
    ROW(ShiftRightArithmetic, "ri"),
    ROW(IEqual, "ri"),
    ROW(INotEqual, "ri"),
    ROW(SLessThan, "ri"),
    ROW(SLessThanEqual, "ri"),
    ROW(ULessThan, "ri"),
    ROW(ULessThanEqual, "ri"),
    ROW(UGreaterThan, "ri"),
    ROW(FOrdEqual, "ri"),
    ROW(FUnordNotEqual, "ri"),
    ROW(FOrdLessThan, "ri"),
    ROW(FOrdLessThanEqual, "ri"),
    ROW(FOrdGreaterThan, "ri"),
    ROW(FOrdGreaterThanEqual, "ri"),
    ROW(LogicalAnd, "ri"),
    ROW(LogicalOr, "ri"),
    ROW(LogicalNot, "ri"),
    ROW(LogicalEqual, "ri"),
    ROW(LogicalNotEqual, "ri"),
    ROW(AtomicLoad, "ri"),
    ROW(AtomicExchange, "ri"),
    ROW(AtomicCompareExchange, "ri"),
    ROW(AtomicIAdd, "ri"),
    ROW(AtomicSMin, "ri"),
    ROW(AtomicSMax, "ri"),
    ROW(AtomicUMin, "ri"),
    ROW(AtomicUMax, "ri"),
    ROW(AtomicAnd, "ri"),
    ROW(AtomicOr, "ri"),
    ROW(AtomicXor, "ri"),
    ROW(AtomicFAddEXT, "ri"),
    ROW(GroupNonUniformIAdd, "rili"),
    ROW(GroupNonUniformFAdd, "rili"),
    ROW(GroupNonUniformIMul, "rili"),
    ROW(GroupNonUniformFMul, "rili"),
    ROW(GroupNonUniformSMin, "rili"),
    ROW(GroupNonUniformUMin, "rili"),
    ROW(GroupNonUniformFMin, "rili"),
    ROW(GroupNonUniformSMax, "rili"),
    ROW(GroupNonUniformUMax, "rili"),
    ROW(GroupNonUniformFMax, "rili"),
    ROW(GroupNonUniformShuffle, "ri"),
    ROW(SDot, "riil"),
    ROW(UDot, "riil"),
    ROW(SUDot, "riil"),
    {(SpvOp)GPUC_SPV_OP_TYPE_COOPMAT, "TypeCooperativeMatrixKHR", "Ri"},
    {(SpvOp)GPUC_SPV_OP_COOPMAT_LOAD, "CooperativeMatrixLoadKHR", "riiil"},
    {(SpvOp)GPUC_SPV_OP_COOPMAT_STORE, "CooperativeMatrixStoreKHR", "iiiil"},
    {(SpvOp)GPUC_SPV_OP_COOPMAT_MUL_ADD, "CooperativeMatrixMulAddKHR", "riiil"},
};
#undef ROW

static const op_row *row_of(uint32_t op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == (SpvOp)op) return &rows[i];
    return NULL;
}

const char *gpuc_spv_operand_kinds(uint32_t op)
{
    const op_row *row = row_of(op);
    return row ? row->operands : NULL;
}

typedef struct listing {
    gpuc_buf *out;
    gpuc_map names; /* id -> text */
} listing;

static const void *id_key(uint32_t id)
{
    return (const void *)((uintptr_t)id + 1);
}

static void print_id(const listing *l, uint32_t id)
{
    const char *name = gpuc_map_get(&l->names, id_key(id));
    gpuc_buf_printf(l->out, name ? "%%%u.%s" : "%%%u", id, name);
}

static uint32_t string_words(const uint32_t *at, uint32_t n)
{
    uint32_t words = (uint32_t)(strnlen((const char *)at, n * sizeof *at) / sizeof *at) + 1;
    return words < n ? words : n;
}

static void print_operands(const listing *l, const char *kinds, const uint32_t *at, uint32_t n)
{
    while (n > 0) {
        uint32_t used = *kinds == 's' ? string_words(at, n) : 1;
        gpuc_buf_str(l->out, " ");
        if (*kinds == 's')
            gpuc_buf_printf(l->out, "\"%.*s\"", (int)(used * sizeof *at), (const char *)at);
        else if (*kinds == 'i')
            print_id(l, *at);
        else
            gpuc_buf_printf(l->out, "%u", *at);
        at += used;
        n -= used;
        if (kinds[0] && kinds[1]) kinds++;
    }
    gpuc_buf_str(l->out, "\n");
}

/* at: an instruction of n words. */
static void print_instruction(const listing *l, const uint32_t *at, uint32_t n)
{
    const op_row *row = row_of(*at & 0xffff);
    const char *kinds = row ? row->operands : "l";
    bool typed = *kinds == 'r' && n > 2, result = typed || (*kinds == 'R' && n > 1);
    uint32_t used = 1 + typed + result;
    if (result) {
        print_id(l, at[1 + typed]);
        gpuc_buf_str(l->out, " = ");
    } else {
        gpuc_buf_str(l->out, "    ");
    }
    if (row)
        gpuc_buf_str(l->out, row->name);
    else
        gpuc_buf_printf(l->out, "Op%u", *at & 0xffff);
    if (typed) {
        gpuc_buf_str(l->out, " ");
        print_id(l, at[1]);
    }
    print_operands(l, kinds + (*kinds == 'r' || *kinds == 'R'), at + used, n - used);
}

/* The words of instruction at, or 0 where the module ends. */
static uint32_t length_of(const uint32_t *at, const uint32_t *end)
{
    uint32_t n = at < end ? *at >> 16 : 0;
    return n <= (size_t)(end - at) ? n : 0;
}

void gpuc_spv_print(gpuc_ctx *ctx, const uint32_t *words, size_t count, gpuc_buf *out)
{
    enum { HEADER = 5 };
    listing l = {.out = out};
    const uint32_t *end = words + count;
    if (count < HEADER) return;
    gpuc_map_init(&l.names, ctx);
    for (const uint32_t *at = words + HEADER; length_of(at, end); at += *at >> 16)
        if ((*at & 0xffff) == SpvOpName && *at >> 16 > 2)
            gpuc_map_set(&l.names, id_key(at[1]),
                         gpuc_ctx_printf(ctx, "%.*s", (int)((*at >> 16) - 2) * 4, (const char *)(at + 2)));
    gpuc_buf_printf(out, "; SPIR-V %u.%u, %zu words, ids below %u\n", words[1] >> 16 & 0xff,
                    words[1] >> 8 & 0xff, count, words[3]);
    for (const uint32_t *at = words + HEADER; length_of(at, end); at += *at >> 16)
        print_instruction(&l, at, *at >> 16);
}
