/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpuc/package.h>

#include "base/file.h"
#include "package_bytes.h"
#include "sample.h"

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/gpuc-test-package-XXXXXX");
    return mkdtemp(dir) ? chdir(dir) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %.63s", dir);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void expect_same_exec(const gpuc_exec *a, const gpuc_exec *b)
{
    gpuc_buf x, y;
    gpuc_buf_init(&x, (gpuc_allocator){0});
    gpuc_buf_init(&y, (gpuc_allocator){0});
    gpuc_abi_exec_write(&x, a);
    gpuc_abi_exec_write(&y, b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    gpuc_buf_deinit(&x);
    gpuc_buf_deinit(&y);
}

static void round_trip(void **state)
{
    (void)state;
    test_heap heap = {0};
    sample s;
    gpuc_mapping m;
    gpuc_package p;
    const gpuc_section_info *sections;
    uint32_t count;
    sample_init(&s);
    expect_success(gpuc_abi_package_write(NULL, test_heap_allocator(&heap), &s.package, "a.gpuc"));
    assert_int_equal(heap.live, 0);
    expect_success(gpuc_file_map("a.gpuc", &m));
    gpuc_arena arena;
    gpuc_arena_init(&arena, test_heap_allocator(&heap));
    expect_success(gpuc_abi_package_read(m.data, m.size, true, &arena, &p, &sections, &count));
    assert_int_equal(count, 4 + 2 * 2 + 3 + 1);
    assert_int_equal(sections[count - 1].type, GPUC_SECTION_WEIGHTS);
    assert_int_equal(sections[count - 1].offset % GPUC_WEIGHT_ALIGN, 0);

    assert_string_equal(p.gpuc_version, "0.1.0");
    assert_string_equal(p.provenance, s.package.provenance);
    assert_int_equal(p.signature.num_inputs, 1);
    assert_string_equal(p.signature.inputs[0].name, "x");
    assert_int_equal(p.signature.inputs[0].dims[0], -1);
    assert_string_equal(p.signature.inputs[0].dim_names[0], "n");
    assert_int_equal(p.signature.outputs[0].dims[1], 4);
    assert_int_equal(p.signature.inputs[0].image, GPUC_IMAGE_R32F);
    assert_int_equal(p.signature.outputs[0].image, GPUC_IMAGE_R32F);
    assert_int_equal(p.num_programs, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const gpuc_program *a = &p.programs[i], *b = &s.programs[i];
        assert_string_equal(a->target, b->target);
        assert_int_equal(a->device_type, b->device_type);
        assert_int_equal(a->num_requirements, b->num_requirements);
        assert_int_equal(a->num_kernels, 1);
        assert_string_equal(a->kernels[0].name, "add_kernel0");
        assert_int_equal(a->num_modules, b->num_modules);
        for (uint32_t k = 0; k < a->num_modules; k++) {
            assert_string_equal(a->modules[k].type_key, b->modules[k].type_key);
            assert_int_equal(a->modules[k].size, b->modules[k].size);
            if (a->modules[k].size)
                assert_memory_equal(a->modules[k].bytes, b->modules[k].bytes, a->modules[k].size);
            assert_int_equal((uintptr_t)a->modules[k].bytes % 16, 0);
        }
        expect_same_exec(&a->exec, &b->exec);
        assert_int_equal(a->weights_size, 512);
        assert_memory_equal(a->weights, b->weights, 512);
        assert_int_equal((uintptr_t)a->weights % GPUC_WEIGHT_ALIGN, 0);
    }
    assert_string_equal(p.programs[0].requirements[1].name, "subgroup_size");
    assert_int_equal(p.programs[0].requirements[1].at_least, 32);
    assert_ptr_equal(p.programs[0].weights, p.programs[1].weights); /* stored once */
    walk_package(&p);
    gpuc_arena_deinit(&arena);
    assert_int_equal(heap.live, 0);
    gpuc_file_unmap(&m);
}

static void equal_packages_give_equal_bytes(void **state)
{
    (void)state;
    sample s;
    gpuc_mapping a, b, c;
    sample_init(&s);
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "b.gpuc"));
    char other[512] = "other weights";
    s.programs[1].weights = other;
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "c.gpuc"));
    expect_success(gpuc_file_map("a.gpuc", &a));
    expect_success(gpuc_file_map("b.gpuc", &b));
    expect_success(gpuc_file_map("c.gpuc", &c));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    assert_int_equal(c.size, a.size + 4096); /* a second weights section */
    gpuc_arena arena;
    gpuc_package p;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    expect_success(gpuc_abi_package_read(c.data, c.size, true, &arena, &p, NULL, NULL));
    assert_memory_equal(p.programs[1].weights, other, sizeof other);
    gpuc_arena_deinit(&arena);
    gpuc_file_unmap(&a);
    gpuc_file_unmap(&b);
    gpuc_file_unmap(&c);
}

static void without_weights_or_provenance(void **state)
{
    (void)state;
    sample s;
    gpuc_mapping m;
    gpuc_package p;
    uint32_t count;
    sample_init(&s);
    static const uint32_t values[] = {0};
    for (int i = 0; i < 2; i++) {
        gpuc_exec *e = &s.programs[i].exec;
        s.programs[i].weights = NULL;
        s.programs[i].weights_size = 0;
        e->num_weights = e->num_steps = e->num_nodes = 0;
        e->num_slots = e->num_values = 1;
        e->outputs = values; /* the input itself */
    }
    s.package.provenance = NULL;
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_file_map("a.gpuc", &m));
    gpuc_arena arena;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    expect_success(gpuc_abi_package_read(m.data, m.size, true, &arena, &p, NULL, &count));
    assert_int_equal(count, 3 + 4 + 3);
    assert_null(p.programs[0].weights);
    assert_string_equal(p.provenance, "");
    gpuc_arena_deinit(&arena);
    gpuc_file_unmap(&m);
}

static void writing_without_memory(void **state)
{
    (void)state;
    sample s;
    sample_init(&s);
    for (size_t n = 1;; n++) {
        test_heap heap = {.fail_at = n};
        gpuc_status status = gpuc_abi_package_write(NULL, test_heap_allocator(&heap), &s.package, "a.gpuc");
        assert_int_equal(heap.live, 0);
        if (!status) break;
        assert_int_not_equal(access("a.gpuc", F_OK), 0);
        expect_failure(status, GPUC_OUT_OF_MEMORY, "out of memory");
    }
}

static void reading_without_memory(void **state)
{
    (void)state;
    sample s;
    gpuc_mapping m;
    gpuc_package p;
    sample_init(&s);
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_file_map("a.gpuc", &m));
    size_t n = 1;
    for (;; n++) {
        test_heap heap = {.fail_at = n};
        gpuc_arena arena;
        gpuc_arena_init(&arena, test_heap_allocator(&heap));
        gpuc_status status = gpuc_abi_package_read(m.data, m.size, false, &arena, &p, NULL, NULL);
        gpuc_arena_deinit(&arena);
        assert_int_equal(heap.live, 0);
        if (!status) break;
        assert_null(p.programs);
        expect_failure(status, GPUC_OUT_OF_MEMORY, "out of memory");
    }
    assert_true(n > 1);
    gpuc_file_unmap(&m);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sample s;
        sample_init(&s);
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {.rlim_cur = 3000, .rlim_max = 3000};
        setrlimit(RLIMIT_FSIZE, &limit);
        gpuc_status status = gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc");
        bool good = gpuc_status_code(status) == GPUC_IO && strstr(gpuc_status_message(status), "'a.gpuc'");
        gpuc_status_release(status);
        _exit(good ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_not_equal(rmdir("a.gpuc"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing in it */
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(chdir(dir), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static void expect_number(const gpuc_package_number *n, bool fixed, int64_t value, const char *text)
{
    assert_string_equal(n->text, text);
    assert_int_equal(n->fixed, fixed);
    if (fixed) assert_int_equal(n->value, value);
}

static void described(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_allocator allocator = test_heap_allocator(&heap);
    sample s;
    gpuc_package_view *v;
    sample_init(&s);
    s.package.provenance = "model m\nkernel 1 add_kernel0: {\"rows\":4} from LOG\nlevel 3\n";
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_package_view_load(&allocator, "a.gpuc", false, &v));
    assert_string_equal(v->provenance, "model m\nlevel 3\n");
    assert_string_equal(v->gpuc_version, "0.1.0");
    assert_int_equal(v->num_inputs, 1);
    assert_string_equal(v->inputs[0].dim_names[0], "n");
    assert_int_equal(v->num_programs, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const gpuc_package_program *p = &v->programs[i];
        assert_string_equal(p->target, s.programs[i].target);
        assert_int_equal(p->num_kernels, 1);
        expect_number(&p->kernels[0].launch[1], true, 1, "1");
        assert_false(p->kernels[0].launch[0].fixed);
        assert_non_null(strstr(p->kernels[0].launch[0].text, "n"));
        expect_number(&p->kernels[0].iterations, false, 0, "-1 + 1"); /* what the launch passes */
        assert_string_equal(p->kernels[0].schedule, i ? "{\"rows\":4} from LOG" : "default");
        assert_int_equal(p->num_nodes, 1);
        assert_string_equal(p->nodes[0].source, "Add_17");
        assert_string_equal(p->nodes[0].kernels[0], "add_kernel0");
        assert_int_equal(p->num_steps, 2);
        assert_int_equal(p->slots[2].kind, GPUC_PACKAGE_ARENA);
        assert_string_equal(p->slots[2].values, "y");
        assert_true(p->slots[2].used && p->slots[2].first_step == 0 && p->slots[2].last_step == 1);
        assert_int_equal(p->num_arena_slots, 1);
        assert_int_equal(p->num_open_arena_slots, 1);
        assert_int_equal(p->num_weights, 1);
        expect_number(&p->weights[0].dims[0], true, 4, "4");
        assert_int_equal(p->weights[0].bytes, 16);
        assert_memory_equal(p->weights[0].data, (const char *)s.programs[i].weights + 256, 16);
        assert_string_equal(p->symbols[0].name, "n");
    }
    const gpuc_package_section *weights = &v->sections[v->num_sections - 1];
    assert_string_equal(weights->type, "weights");
    assert_false(weights->verified);
    assert_true(v->sections[0].verified);
    gpuc_package_view_release(v);
    assert_int_equal(heap.live, 0);
    for (size_t n = 1;; n++) {
        heap = (test_heap){.fail_at = n};
        gpuc_status status = gpuc_package_view_load(&allocator, "a.gpuc", true, &v);
        if (!status) break;
        assert_null(v);
        assert_int_equal(heap.live, 0);
        expect_failure(status, GPUC_OUT_OF_MEMORY, "'a.gpuc'");
    }
    assert_true(v->sections[v->num_sections - 1].verified);
    gpuc_package_view_release(v);
    assert_int_equal(heap.live, 0);
    expect_failure(gpuc_package_view_load(NULL, "none.gpuc", true, &v), GPUC_NOT_FOUND, "none.gpuc");
    gpuc_package_view_release(NULL);
}

/* Kernels name their scalars by what their launches pass, if that is one thing. */
static void scalars_of_kernels(void **state)
{
    (void)state;
    const gpuc_xexpr other[] = {CODE(S(0)), CONSTANT(0x3f800000), CODE(S(0), K(2), X(MUL))};
    sample s;
    gpuc_package_view *v;
    sample_init(&s);
    gpuc_kernel kernels[2] = {sample_kernels[0], sample_kernels[0]};
    gpuc_exec_step steps[3] = {sample_steps[0], sample_steps[1], sample_steps[0]};
    kernels[1].name = "add_kernel1";
    kernels[1].variant = true;
    s.programs[0].kernels = kernels;
    s.programs[0].num_kernels = 2;
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_package_view_load(NULL, "a.gpuc", true, &v));
    for (int k = 0; k < 2; k++) expect_number(&v->programs[0].kernels[k].iterations, false, 0, "-1 + 1");
    gpuc_package_view_release(v);
    steps[2].scalars = other;
    s.programs[0].exec.steps = steps;
    s.programs[0].exec.num_steps = 3;
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_package_view_load(NULL, "a.gpuc", true, &v));
    for (int k = 0; k < 2; k++) expect_number(&v->programs[0].kernels[k].iterations, false, 0, "scalar2 + 1");
    assert_non_null(strstr(v->programs[0].kernels[1].launch[0].text, "n")); /* both pass it */
    gpuc_package_view_release(v);
    steps[0].scalars = other;
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, "a.gpuc"));
    expect_success(gpuc_package_view_load(NULL, "a.gpuc", true, &v));
    expect_number(&v->programs[0].kernels[0].iterations, false, 0, "(n * 2) + 1");
    gpuc_package_view_release(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(round_trip),
        TEST(equal_packages_give_equal_bytes),
        TEST(without_weights_or_provenance),
        TEST(writing_without_memory),
        TEST(reading_without_memory),
        TEST(a_full_disk_is_an_error),
        TEST(described),
        TEST(scalars_of_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
