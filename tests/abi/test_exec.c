/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"
#include "sample.h"

static gpuc_arena arena;

static int set_up(void **state)
{
    (void)state;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpuc_arena_deinit(&arena);
    return 0;
}

static gpuc_status read_back(const gpuc_exec *e, gpuc_exec *out)
{
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_abi_exec_write(&b, e);
    gpuc_reader r = {.data = (const uint8_t *)b.data, .size = b.size};
    gpuc_status status = gpuc_abi_exec_read(&r, &arena, sample_kernels, 1, 512, out);
    assert_true(status || r.pos == r.size);
    gpuc_buf_deinit(&b);
    return status;
}

static void round_trip(void **state)
{
    (void)state;
    gpuc_exec e = sample_exec(sample_devices_vulkan), back;
    expect_success(read_back(&e, &back));
    gpuc_buf a, b;
    gpuc_buf_init(&a, (gpuc_allocator){0});
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_abi_exec_write(&a, &e);
    gpuc_abi_exec_write(&b, &back);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    gpuc_buf_deinit(&a);
    gpuc_buf_deinit(&b);
    assert_string_equal(back.values[3].name, "z");
    assert_string_equal(back.nodes[0].source, "Add_17");
    assert_int_equal(back.steps[1].kind, GPUC_STEP_COPY);
    int64_t n = 3, size;
    expect_success(gpuc_abi_xexpr_eval(back.slots[0].size, &n, 1, &size));
    assert_int_equal(size, 48);
}

/* One copy of everything that a case may change. */
typedef struct parts {
    gpuc_exec e;
    gpuc_exec_slot slots[4];
    gpuc_exec_value values[4];
    gpuc_exec_step steps[2];
    gpuc_exec_tensor_ref launch[3], copy[2];
    gpuc_exec_node node;
    gpuc_exec_weight weight;
    gpuc_exec_symbol symbol;
    uint32_t devices[2], input, output;
} parts;

static void fill(parts *p)
{
    p->e = sample_exec(p->devices);
    memcpy(p->devices, sample_devices_vulkan, sizeof p->devices);
    memcpy(p->slots, sample_slots, sizeof p->slots);
    memcpy(p->values, sample_values, sizeof p->values);
    memcpy(p->steps, sample_steps, sizeof p->steps);
    memcpy(p->launch, sample_launch_refs, sizeof p->launch);
    memcpy(p->copy, sample_copy_refs, sizeof p->copy);
    p->node = sample_nodes[0];
    p->weight = sample_weights[0];
    p->symbol = sample_symbols[0];
    p->input = 0;
    p->output = 3;
    p->steps[0].tensors = p->launch;
    p->steps[1].tensors = p->copy;
    p->e.slots = p->slots;
    p->e.values = p->values;
    p->e.steps = p->steps;
    p->e.nodes = &p->node;
    p->e.weights = &p->weight;
    p->e.symbols = &p->symbol;
    p->e.inputs = &p->input;
    p->e.outputs = &p->output;
}

static void bad_executables_are_refused(void **state)
{
    (void)state;
    parts p;
    gpuc_exec back;
    fill(&p);
    expect_success(read_back(&p.e, &back));
#define REFUSE(change, part)                                                                                 \
    do {                                                                                                     \
        fill(&p);                                                                                            \
        change;                                                                                              \
        expect_failure(read_back(&p.e, &back), GPUC_INVALID_DATA, part);                                     \
    } while (0)
#define EXPR(...) ((gpuc_xexpr)CODE(__VA_ARGS__))
    REFUSE(p.e.num_devices = 0, "no device");
    REFUSE(p.devices[1] = 0, "device 1 has no type");
    REFUSE(p.slots[0].kind = (gpuc_slot_kind)9, "slot 0: its kind is 9");
    REFUSE(p.slots[0].device = 2, "slot 0: device 2 of 2");
    REFUSE(p.slots[0].index = 1, "slot 0: input 1 of 1");
    REFUSE(p.slots[2].index = 0, "slot 2: an arena slot");
    REFUSE(p.slots[1].size = EXPR(K(8)), "value 1 ('w'): slot 1: 16 bytes at offset 0 exceed the 8");
    REFUSE(p.slots[1].size = EXPR(K(-8)), "slot 1: its size is -8");
    REFUSE(p.slots[3].kind = GPUC_SLOT_ARENA, "slot 3");
    REFUSE((p.slots[2].kind = GPUC_SLOT_OUTPUT, p.slots[2].index = 0), "slot 2: output 0 does not lie in it");
    REFUSE(p.values[0].slot = 4, "value 0 ('x'): slot 4 of 4");
    REFUSE(p.values[0].slot = 2, "slot 0: input 0 does not lie in it");
    REFUSE(p.values[0].dtype.lanes = 2, "value 0 ('x'): float32x2");
    REFUSE(p.values[0].offset = EXPR(K(4)), "input 0: value 0 does not start where slot 0 does");
    REFUSE(p.values[2].offset = EXPR(K(-4)), "negative offset -4");
    REFUSE(p.values[1].dims = ((gpuc_xexpr[]){CODE(K(-1))}), "dimension 0 is -1");
    REFUSE(p.values[1].dims = ((gpuc_xexpr[]){CODE(K(INT64_MAX))}), "exceeds 64 bits");
    REFUSE(p.values[1].dims = ((gpuc_xexpr[]){CODE(S(0))}),
           "weight 0 ('w'): its dimensions are not constant");
    REFUSE(p.values[0].dims = ((gpuc_xexpr[]){CODE(S(1)), CODE(K(4)), CODE(K(1))}),
           "value 0: size expression: symbol 1 of 1");
    REFUSE(p.values[0].dims = ((gpuc_xexpr[]){CODE(S(0), K(1), X(ADD)), CODE(K(4)), CODE(K(1))}),
           "another expression");
    REFUSE(p.input = 9, "slot 0: input 0 does not lie in it");
    REFUSE(p.input = 2, "slot 0: input 0 does not lie in it");
    REFUSE(p.output = 4, "slot 3: output 0 does not lie in it");
    REFUSE((p.e.num_outputs = 2, p.e.outputs = (uint32_t[]){3, 7}), "output 1: value 7 of 4");
    REFUSE(p.weight.offset = 500, "16 bytes at offset 500 exceed the weights section of 512");
    REFUSE(p.weight.offset = UINT64_MAX, "exceed the weights section");
    REFUSE(p.weight.size = 8, "8 bytes are stored, but its type needs 16");
    REFUSE(p.weight.value = 0, "slot 1: weight 0 does not lie in it");
    REFUSE(p.symbol.input = 1, "symbol 0 ('n'): input 1 of 1");
    REFUSE(p.symbol.dim = 3, "symbol 0 ('n'): dimension 3 of input 0, which has 3");
    REFUSE(p.symbol.dim = 1, "another expression");
    REFUSE(p.steps[0].kind = (gpuc_step_kind)7, "step 0: its kind is 7");
    REFUSE(p.steps[0].device = 2, "step 0: device 2 of 2");
    REFUSE(p.steps[0].device = 1, "value 0 ('x') lies on device 0, but the step runs on 1");
    REFUSE(p.steps[0].kernel = 1, "step 0: kernel 1 of 1");
    REFUSE(p.steps[0].num_tensors = 2,
           "kernel 'add_kernel0' takes 3 tensors and 3 scalars, but is given 2 and 3");
    REFUSE(p.steps[0].num_scalars = 0, "is given 3 and 0");
    REFUSE(p.launch[2].value = 4, "step 0: tensor 2: value 4 of 4");
    REFUSE(p.launch[2].value = 0, "input 0 ('x') is written");
    REFUSE(p.launch[2].value = 1, "weight 0 ('w') is written");
    REFUSE(p.launch[0].access = GPUC_ACCESS_READ_WRITE, "has access 1 to its tensor 0, but the step says 3");
    REFUSE(p.launch[1].offset = EXPR(K(4)), "16 bytes at offset 4 exceed the 16");
    REFUSE(p.launch[1].size = EXPR(K(-1)), "its window has -1 bytes");
    REFUSE(p.steps[1].num_tensors = 1, "a copy has 1 tensors");
    REFUSE(p.steps[1].kernel = 0, "a copy has");
    REFUSE(p.copy[0].access = GPUC_ACCESS_WRITE, "a copy must read");
    REFUSE((p.copy[0].value = 3, p.copy[1].value = 3), "neither end of the copy is on device 0");
    REFUSE(p.node.num_steps = 3, "node 0 ('add_0'): steps 0 to 3 of 2");
    REFUSE(p.node.first_step = UINT32_MAX, "node 0");
    REFUSE(p.node.device = 5, "node 0 ('add_0'): device 5 of 2");
    REFUSE(p.node.values = ((uint32_t[]){0, 1, 9}), "node 0 ('add_0'): value 9 of 4");
}

/* The sample with a size that the host reads after the copy, and what has it as its extent. */
typedef struct reading {
    parts p;
    gpuc_exec_slot slots[6];
    gpuc_exec_value values[6];
    gpuc_exec_step steps[4];
    gpuc_exec_symbol symbols[2];
    gpuc_exec_tensor_ref number, late[3];
} reading;

static const gpuc_xexpr late_dims[] = {CODE(S(1)), CONSTANT(4)};
static const gpuc_exec_slot reading_slots[] = {
    {.kind = GPUC_SLOT_ARENA, .index = GPUC_NO_INDEX, .size = CONSTANT(16)},
    {.kind = GPUC_SLOT_ARENA, .index = GPUC_NO_INDEX, .size = CODE(S(1), K(16), X(MUL))},
};
static const gpuc_exec_symbol reading_symbol = {.name = "m", .value = 4, .upper = CONSTANT(GPUC_MAX_EXTENT)};

static void fill_reading(reading *r)
{
    parts *p = &r->p;
    fill(p);
    memcpy(r->slots, p->slots, sizeof p->slots);
    memcpy(r->values, p->values, sizeof p->values);
    memcpy(r->steps, p->steps, sizeof p->steps);
    memcpy(r->late, p->launch, sizeof p->launch);
    memcpy(&r->slots[4], reading_slots, sizeof reading_slots);
    r->values[4] = (gpuc_exec_value){.name = "count", .dtype = GPUC_INT64, .slot = 4};
    r->values[5] = (gpuc_exec_value)SAMPLE_VALUE("late", late_dims, 2, 5);
    r->symbols[0] = p->symbol;
    r->symbols[1] = reading_symbol;
    r->number = (gpuc_exec_tensor_ref){.value = 4, .access = GPUC_ACCESS_READ};
    r->steps[2] = (gpuc_exec_step){.kind = GPUC_STEP_READ,
                                   .kernel = GPUC_NO_INDEX,
                                   .symbol = 1,
                                   .num_tensors = 1,
                                   .tensors = &r->number};
    r->late[2].value = 5;
    r->steps[3] = p->steps[0];
    r->steps[3].tensors = r->late;
    p->e.slots = r->slots;
    p->e.values = r->values;
    p->e.steps = r->steps;
    p->e.symbols = r->symbols;
    p->e.num_slots = p->e.num_values = 6;
    p->e.num_steps = 4;
    p->e.num_symbols = 2;
}

static void swap_steps(reading *r, int a, int b)
{
    gpuc_exec_step step = r->steps[a];
    r->steps[a] = r->steps[b];
    r->steps[b] = step;
}

static void bad_readings_are_refused(void **state)
{
    (void)state;
    reading r;
    gpuc_exec back;
    fill_reading(&r);
    expect_success(read_back(&r.p.e, &back));
    assert_int_equal(back.steps[2].symbol, 1);
    assert_int_equal(back.symbols[1].value, 4);
#define REFUSE_READING(change, part)                                                                         \
    do {                                                                                                     \
        fill_reading(&r);                                                                                    \
        change;                                                                                              \
        expect_failure(read_back(&r.p.e, &back), GPUC_INVALID_DATA, part);                                   \
    } while (0)
    REFUSE_READING(r.symbols[1].value = 6, "symbol 1 ('m'): value 6 of 6");
    REFUSE_READING(r.symbols[1].value = 0, "symbol 1 ('m'): value 0 is not int64");
    REFUSE_READING((r.values[4].ndim = 1, r.values[4].dims = ((gpuc_xexpr[]){CODE(K(2))})),
                   "value 4 has more than one element");
    REFUSE_READING((r.values[4].ndim = 1, r.values[4].dims = ((gpuc_xexpr[]){CODE(S(0))})),
                   "value 4 has more than one element");
    REFUSE_READING(r.slots[4].size = EXPR(K(4)), "8 bytes at offset 0 exceed the 4");
    REFUSE_READING(r.symbols[1].upper = EXPR(S(1)), "symbol 1: size expression: symbol 1 of 1");
    REFUSE_READING((r.symbols[0].value = 4, r.symbols[1] = sample_symbols[0]),
                   "slot 0: its size depends on sizes that the program computes");
    REFUSE_READING(r.symbols[1].upper = EXPR(K(100)), "slot 5: its size depends on values that have a bound");
    REFUSE_READING(r.values[5].offset = EXPR(S(1)),
                   "value 5 ('late'): its offset depends on sizes that the program computes");
    REFUSE_READING(r.number.value = 9, "step 2: symbol 1 is not read from its own value");
    REFUSE_READING(r.number.value = 2, "step 2: symbol 1 is not read from its own value");
    REFUSE_READING(r.number.access = GPUC_ACCESS_READ_WRITE,
                   "step 2: symbol 1 is not read from its own value");
    REFUSE_READING(r.steps[2].symbol = 0, "step 2: it reads symbol 0, the next one is 1 of 2");
    REFUSE_READING(r.steps[2].symbol = UINT32_MAX, "the next one is 1 of 2");
    REFUSE_READING(r.steps[2].num_tensors = 0,
                   "step 2: a step that reads a size has 0 tensors and 0 scalars");
    REFUSE_READING(r.steps[2].kernel = 0, "step 2: a step that reads a size has");
    REFUSE_READING(r.steps[2].device = 1, "step 2: value 4 lies on another device");
    REFUSE_READING(r.p.e.num_steps = 2, "symbol 1: no step reads it");
    REFUSE_READING(r.steps[3] = r.steps[2], "step 3: it reads symbol 1, the next one is 2 of 2");
    REFUSE_READING(swap_steps(&r, 2, 3),
                   "step 2: tensor 2: value 5 ('late') has an extent that is read later");
    REFUSE_READING((r.values[4].dtype = GPUC_INT32), "value 4 is not int64");
    REFUSE_READING(r.symbols[1] = ((gpuc_exec_symbol){.name = "m", .dim = 1, .value = GPUC_NO_INDEX}),
                   "symbol 1 ('m'): dimension 1 of input 0 is another expression");
}

static void empty_tensors_are_sound(void **state)
{
    (void)state;
    parts p;
    gpuc_exec back;
    fill(&p);
    p.values[1].dims = (gpuc_xexpr[]){CODE(K(INT64_MAX)), CODE(K(0)), CODE(K(INT64_MAX))};
    p.values[1].ndim = 3;
    p.weight.size = 0;
    p.launch[1].size = (gpuc_xexpr){0};
    expect_success(read_back(&p.e, &back));
}

static void outputs_may_share(void **state)
{
    (void)state;
    parts p;
    gpuc_exec back;
    fill(&p);
    p.e.num_outputs = 4; /* the output twice, an input, a weight */
    p.e.outputs = (uint32_t[]){3, 3, 0, 1};
    expect_success(read_back(&p.e, &back));
}

/* One long expression with many users must not make verification quadratic. */
static void many_users_of_a_long_expression(void **state)
{
    (void)state;
    enum { LONG = 200001, REFS = 20000 };
    gpuc_xinstr *code = malloc(LONG * sizeof *code);
    gpuc_exec_step *steps = calloc(REFS, sizeof *steps);
    for (int i = 0; i < LONG; i++) code[i] = i % 2 ? (gpuc_xinstr)K(0) : (gpuc_xinstr)X(ADD);
    code[0] = (gpuc_xinstr)K(4);
    parts p;
    gpuc_exec back;
    fill(&p);
    gpuc_xexpr dims[] = {{.code = code, .count = LONG}, CODE(K(4))};
    p.values[1].dims = dims;
    p.slots[1].size = dims[0];
    p.slots[1].size.count = LONG;
    p.values[1].ndim = 1;
    code[0].value = 16; /* the slot has 16 bytes; the value 16 of one byte */
    p.values[1].dtype = GPUC_INT8;
    for (int i = 0; i < REFS; i++) steps[i] = p.steps[0];
    p.e.steps = steps;
    p.e.num_steps = REFS;
    expect_success(read_back(&p.e, &back));
    free(code);
    free(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(bad_executables_are_refused),
        cmocka_unit_test(bad_readings_are_refused),
        cmocka_unit_test(empty_tensors_are_sound),
        cmocka_unit_test(outputs_may_share),
        cmocka_unit_test(many_users_of_a_long_expression),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
