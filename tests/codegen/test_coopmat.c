/* SPDX-License-Identifier: Apache-2.0 */
/* Products of cooperative matrices on a device, where loops do what it lacks; and as SPIR-V, held to what the
 * extension's specification says and, where it is new enough to know the extension, to spirv-val. */
#define SPV_ENABLE_UTILITY_CODE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../schedule/compare.h"
#include "../schedule/coopmat_product.h"
#include "codegen_spirv/khr.h"
#include "codegen_spirv/module.h"
#include "lower/lower.h"
#include "run.h"
#include "te/te.h"

static const char native[] = "vulkan -max_num_threads=1024 -max_threads_x=1024 -max_threads_y=1024 "
                             "-float16=1 -storage16=1 -coopmat=1 -thread_warp_size=%d";

extern inline void SpvHasResultAndType(SpvOp opcode, bool *has_result, bool *has_type);

/* ---- What the specification says of the words ------------------------------------------------------- */

typedef struct module {
    const uint32_t *words;
    size_t count;
    uint32_t *at; /* result id -> where its instruction is; 0: nowhere */
    uint32_t *type;
} module;

static bool has_result(uint32_t op)
{
    return op == GPUC_SPV_OP_TYPE_COOPMAT || op == GPUC_SPV_OP_COOPMAT_LOAD ||
           op == GPUC_SPV_OP_COOPMAT_MUL_ADD;
}

static void index_results(gpuc_ctx *ctx, module *m)
{
    assert_int_equal(m->words[0], SpvMagicNumber);
    m->at = gpuc_new_array(ctx, uint32_t, m->words[3]);
    m->type = gpuc_new_array(ctx, uint32_t, m->words[3]);
    for (size_t i = 5; i < m->count; i += m->words[i] >> 16) {
        uint32_t op = m->words[i] & 0xffff;
        bool result = has_result(op), typed = op != GPUC_SPV_OP_TYPE_COOPMAT;
        if (!result) SpvHasResultAndType((SpvOp)op, &result, &typed);
        assert_true(m->words[i] >> 16 > 0 && i + (m->words[i] >> 16) <= m->count);
        if (!result) continue;
        uint32_t id = m->words[i + 1 + typed];
        assert_true(id > 0 && id < m->words[3] && m->at[id] == 0);
        m->at[id] = (uint32_t)i;
        if (typed) m->type[id] = m->words[i + 1];
    }
}

static const uint32_t *instruction(const module *m, uint32_t id, uint32_t op)
{
    assert_true(id < m->words[3] && m->at[id]);
    const uint32_t *at = m->words + m->at[id];
    assert_int_equal(at[0] & 0xffff, op);
    return at;
}

static uint32_t constant(const module *m, uint32_t id)
{
    return instruction(m, id, SpvOpConstant)[3];
}

/* A matrix type: its component and use; 16 x 16, of the subgroup. */
static uint32_t matrix_type(const module *m, uint32_t id, uint32_t *use)
{
    const uint32_t *t = instruction(m, id, GPUC_SPV_OP_TYPE_COOPMAT);
    assert_int_equal(t[0] >> 16, 7);
    assert_int_equal(constant(m, t[3]), SpvScopeSubgroup);
    assert_int_equal(constant(m, t[4]), 16);
    assert_int_equal(constant(m, t[5]), 16);
    *use = constant(m, t[6]);
    instruction(m, t[2], SpvOpTypeFloat);
    return t[2];
}

/* Pointer, layout and stride of a load or store, and what follows them for shared memory. */
static void check_memory(const module *m, const uint32_t *at, int n, uint32_t mask)
{
    const uint32_t *pointer = instruction(m, m->type[at[0]], SpvOpTypePointer);
    assert_true(constant(m, at[1]) <= GPUC_SPV_COOPMAT_COLUMN_MAJOR);
    assert_true(m->type[at[2]] != 0); /* a value */
    bool shared = pointer[2] == SpvStorageClassWorkgroup;
    assert_true(shared || pointer[2] == SpvStorageClassStorageBuffer);
    assert_int_equal(n, shared ? 5 : 3);
    if (!shared) return;
    assert_int_equal(at[3], SpvMemoryAccessNonPrivatePointerMask | mask);
    assert_int_equal(constant(m, at[4]), SpvScopeWorkgroup);
}

typedef struct tally {
    int types, loads, stores, products, capability, model, extensions;
} tally;

static void check_instruction(const module *m, const uint32_t *at, tally *t)
{
    uint32_t use, uses[4], parts[4];
    int n = (int)(at[0] >> 16);
    switch (at[0] & 0xffff) {
    case GPUC_SPV_OP_TYPE_COOPMAT: t->types++; break;
    case GPUC_SPV_OP_COOPMAT_LOAD:
        matrix_type(m, at[1], &use);
        assert_int_not_equal(use, GPUC_SPV_COOPMAT_USE_SUM);
        check_memory(m, at + 3, n - 3, SpvMemoryAccessMakePointerVisibleMask);
        t->loads++;
        break;
    case GPUC_SPV_OP_COOPMAT_STORE: {
        const uint32_t operands[] = {at[1], at[3], at[4], n > 5 ? at[5] : 0, n > 6 ? at[6] : 0};
        matrix_type(m, m->type[at[2]], &use);
        assert_int_equal(use, GPUC_SPV_COOPMAT_USE_SUM);
        check_memory(m, operands, n - 2, SpvMemoryAccessMakePointerAvailableMask);
        t->stores++;
        break;
    }
    case GPUC_SPV_OP_COOPMAT_MUL_ADD:
        assert_int_equal(n, 6);
        for (int i = 0; i < 4; i++) parts[i] = matrix_type(m, i ? m->type[at[i + 2]] : at[1], &uses[i]);
        assert_true(uses[0] == GPUC_SPV_COOPMAT_USE_SUM && uses[3] == GPUC_SPV_COOPMAT_USE_SUM);
        assert_true(uses[1] == GPUC_SPV_COOPMAT_USE_A && uses[2] == GPUC_SPV_COOPMAT_USE_B);
        assert_true(parts[0] == parts[3] && parts[1] == parts[2]);
        t->products++;
        break;
    case SpvOpCapability: t->capability += at[1] == GPUC_SPV_CAPABILITY_COOPMAT; break;
    case SpvOpMemoryModel: t->model = (int)at[2]; break;
    case SpvOpExtension:
        t->extensions += !strcmp((const char *)(at + 1), "SPV_KHR_cooperative_matrix") ||
                         !strcmp((const char *)(at + 1), "SPV_KHR_vulkan_memory_model");
        break;
    }
}

static void check_words(gpuc_ctx *ctx, const gpuc_kernel_code *code)
{
    module m = {.words = (const uint32_t *)(const void *)code->bytes, .count = code->size / sizeof(uint32_t)};
    tally t = {0};
    index_results(ctx, &m);
    for (size_t i = 5; i < m.count; i += m.words[i] >> 16) check_instruction(&m, m.words + i, &t);
    assert_int_equal(t.capability, 1);
    assert_int_equal(t.model, SpvMemoryModelVulkan);
    assert_int_equal(t.extensions, 2);
    assert_int_equal(t.types, 3);
    assert_true(t.loads >= 2 && t.stores >= 1 && t.products >= 1);
}

/* ---- spirv-val -------------------------------------------------------------------------------------- */

/* False: this spirv-val is older than the extension. */
static bool validated(const gpuc_kernel_code *code)
{
#ifdef GPUC_SPIRV_VAL
    char path[] = "/tmp/gpuc-spv-XXXXXX", command[512], said[2000] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, code->bytes, code->size), (ssize_t)code->size);
    close(fd);
    snprintf(command, sizeof command, "%s --target-env vulkan1.3 %s 2>&1", GPUC_SPIRV_VAL, path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    size_t n = fread(said, 1, sizeof said - 1, out);
    said[n] = 0;
    int status = pclose(out);
    unlink(path);
    if (status && strstr(said, "Invalid capability operand: 6022")) return false;
    if (status) fail_msg("spirv-val refuses a product of cooperative matrices: %s", said);
    return true;
#else
    (void)code;
    return false;
#endif
}

static gpuc_kernel_code emit(gpuc_ctx *ctx, const coopmat_product *p, const char *more)
{
    expr_graph g;
    gpuc_schedule *s = coopmat_schedule(ctx, p, &g);
    const char *text = gpuc_ctx_printf(ctx, native, p->lanes);
    const gpuc_target *t = gpuc_target_parse(ctx, gpuc_ctx_printf(ctx, "%s%s", text, more), NULL);
    gpuc_tir_program *program = gpuc_lower(ctx, gpuc_schedule_lower(s, "f", g.num_args, g.args), t);
    assert_int_equal(program->num_kernels, 1);
    gpuc_kernel_code code;
    gpuc_codegen_emit(ctx, t, program->kernels[0], &code);
    return code;
}

static void emit_body(gpuc_ctx *ctx, void *arg)
{
    const coopmat_product *p = arg;
    gpuc_kernel_code code = emit(ctx, p, "");
    assert_int_equal(code.meta.subgroup_size, p->lanes);
    assert_true(code.meta.features & GPUC_FEATURE_COOPMAT);
    check_words(ctx, &code);
    if (!validated(&code)) print_message("spirv-val does not know SPV_KHR_cooperative_matrix: not asked\n");
    /* Buffers that the instructions cannot read: loops. */
    assert_false(emit(ctx, p, " -storage_buffer_class=0").meta.features & GPUC_FEATURE_COOPMAT);
}

static void words_are_as_specified(void **state)
{
    (void)state;
    for (int i = 0; i < num_coopmat_products; i++) {
        bool power = (coopmat_products[i].lanes & (coopmat_products[i].lanes - 1)) == 0;
        if (power) run_in_ctx(emit_body, (void *)&coopmat_products[i]);
    }
}

/* ---- On the device ---------------------------------------------------------------------------------- */

static void run_body(gpuc_ctx *ctx, void *arg)
{
    expr_graph g;
    gpuc_schedule *s = coopmat_schedule(ctx, arg, &g);
    data_set got, want;
    data_fill(&g, 1, &want);
    data_fill(&g, 1, &got);
    data_run(&g, gpuc_te_lower_plain(ctx, "plain", g.num_args, g.args), &want);
    gpuc_tir_program *p = gpuc_lower(ctx, gpuc_schedule_lower(s, "f", g.num_args, g.args), run_target(ctx));
    assert_int_equal(p->num_kernels, 1);
    run_buffer buffers[EXPR_MAX_ARGS];
    for (int i = 0; i < g.num_args; i++) buffers[i] = (run_buffer){got.args[i].data, got.args[i].size};
    run_kernel(ctx, p->kernels[0], buffers, NULL);
    data_compare(&g, &got, &want);
}

static void device_computes_them(void **state)
{
    (void)state;
    for (int i = 0; i < num_coopmat_products; i++) run_in_ctx(run_body, (void *)&coopmat_products[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_as_specified),
        cmocka_unit_test(device_computes_them),
    };
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
