/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpuc/devices.h>

#include "abi/kernel.h"
#include "base/file.h"
#include "runtime_cpu/cpu.h"

#define ONE                                                                                                  \
    {                                                                                                        \
        .code = (const gpuc_xinstr[]){{GPUC_XOP_CONST, 1}}, .count = 1                                       \
    }

static const gpuc_kernel answer = {.name = "answer",
                                   .label = "the answer",
                                   .num_tensors = 1,
                                   .num_bindings = 1,
                                   .tensors = (const gpuc_kernel_tensor[]){{.dtype = {GPUC_DTYPE_INT, 64, 1},
                                                                            .access = GPUC_ACCESS_WRITE,
                                                                            .alignment = 16}},
                                   .local_size = {1, 1, 1},
                                   .launch = {ONE, ONE, ONE}};
static const gpuc_kernel loops = {.name = "loops",
                                  .label = "loops",
                                  .num_tensors = 1,
                                  .num_bindings = 1,
                                  .tensors = (const gpuc_kernel_tensor[]){{.dtype = {GPUC_DTYPE_INT, 64, 1},
                                                                           .access = GPUC_ACCESS_WRITE,
                                                                           .alignment = 8}},
                                  .local_size = {1, 1, 1},
                                  .launch = {ONE, ONE, ONE}};
static const gpuc_kernel broken = {
    .name = "broken", .label = "broken", .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}};

static const char source[] =
    "#include <stdint.h>\n"
    "typedef struct env env;\n"
    "struct env { uint64_t size; void (*parallel_for)(const env *, int64_t, int64_t,\n"
    "    void (*)(void *, int64_t, int64_t), void *); void *host; };\n"
    "int answer(const env *e, void *const *t, const int64_t *s)\n"
    "{ (void)s; *(int64_t *)t[0] = ANSWER; return e->size < sizeof *e; }\n"
    "static void body(void *p, int64_t b, int64_t n) { for (; b < n; b++) ((int64_t *)p)[b] = b; }\n"
    "int loops(const env *e, void *const *t, const int64_t *s)\n"
    "{ (void)s; e->parallel_for(e, 0, 100, body, t[0]); return 0; }\n"
    "int broken(const env *e, void *const *t, const int64_t *s) { (void)e; (void)t; (void)s; return 3; }\n";

/* A shared object whose kernel `answer` writes a number. */
static gpuc_mapping compile(int number)
{
    char in[] = "/tmp/gpuc-test-XXXXXX.c", out[64], command[256];
    int fd = mkstemps(in, 2);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, source, sizeof source - 1), sizeof source - 1);
    close(fd);
    snprintf(out, sizeof out, "%s.so", in);
    snprintf(command, sizeof command, "cc -shared -fPIC -DANSWER=%d -o %s %s", number, out, in);
    if (system(command) != 0) skip();
    gpuc_mapping m;
    assert_null(gpuc_file_map(out, &m));
    unlink(in);
    unlink(out);
    return m;
}

static void fails(gpuc_status s, gpuc_code code, const char *text)
{
    if (gpuc_status_code(s) != code || !strstr(gpuc_status_message(s), text))
        fail_msg("%s: %s", gpuc_code_name(gpuc_status_code(s)), gpuc_status_message(s));
    gpuc_status_release(s);
}

static void ok(gpuc_status s)
{
    if (s) fail_msg("%s", gpuc_status_message(s));
}

static gpuc_device *open_cpu(gpuc_runtime **rt, const gpuc_runtime_desc *desc)
{
    gpuc_device *dev;
    ok(gpuc_runtime_create(desc, rt));
    ok(gpuc_cpu_register(*rt));
    ok(gpuc_device_open(*rt, GPUC_DEVICE_CPU, 0, &dev));
    return dev;
}

static int64_t run_one(gpuc_device *dev, gpuc_code_module *m, const char *name)
{
    gpuc_buffer *b;
    gpuc_plan *plan;
    uint32_t number;
    ok(dev->api->alloc_data_space(dev, 800, 0, &b));
    ok(dev->api->kernel_get(m, name, &number));
    const gpuc_step_tensor t = {.access = GPUC_ACCESS_WRITE, .size = 8};
    const gpuc_step step = {
        .module = m, .kernel = number, .num_tensors = 1, .tensors = &t, .launch = {1, 1, 1}};
    ok(dev->api->plan_create(dev, &step, 1, 0, &plan));
    const gpuc_binding binding = {.buffer = b, .size = 800};
    ok(dev->api->plan_run(plan, &(gpuc_bindings){.slots = &binding, .count = 1}, NULL));
    int64_t last = ((int64_t *)b->host)[strcmp(name, "loops") == 0 ? 99 : 0];
    dev->api->plan_destroy(plan);
    dev->api->free_data_space(dev, b);
    return last;
}

/* The dynamic linker knows libraries by name; modules must not be taken for each other. */
static void modules_with_the_same_names_stay_apart(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_device *dev = open_cpu(&rt, &desc);
    gpuc_code_module *modules[COUNT];
    const gpuc_kernel *kernels[] = {&answer, &loops, &broken};
    for (int i = 0; i < COUNT; i++) {
        gpuc_mapping so = compile(40 + i);
        ok(dev->api->module_load(dev, "cpu_so", so.data, so.size, kernels, 3, &modules[i]));
        gpuc_file_unmap(&so);
        if (i == 3) { /* frees a descriptor number */
            dev->api->module_release(dev, modules[1]);
            modules[1] = NULL;
        }
    }
    for (int i = 0; i < COUNT; i++)
        if (modules[i]) assert_int_equal(run_one(dev, modules[i], "answer"), 40 + i);
    for (int i = 0; i < COUNT; i++) dev->api->module_release(dev, modules[i]);
    gpuc_runtime_release(rt);
}

static void a_kernel_that_fails_is_named(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_device *dev = open_cpu(&rt, &desc);
    gpuc_mapping so = compile(1);
    const gpuc_kernel *kernels[] = {&answer, &broken};
    gpuc_code_module *m;
    gpuc_plan *plan;
    gpuc_buffer *b;
    ok(dev->api->module_load(dev, "cpu_so", so.data, so.size, kernels, 2, &m));
    gpuc_step step = {.module = m, .kernel = 1, .launch = {1, 1, 1}};
    ok(dev->api->plan_create(dev, &step, 1, 0, &plan));
    fails(dev->api->plan_run(plan, &(gpuc_bindings){0}, NULL), GPUC_INTERNAL, "'broken' returned 3");
    dev->api->plan_destroy(plan);

    step.launch[1] = 2;
    fails(dev->api->plan_create(dev, &step, 1, 0, &plan), GPUC_INVALID_ARGUMENT, "N,1,1, not 1,2,1");

    const gpuc_step_tensor t = {.access = GPUC_ACCESS_WRITE, .offset = 8, .size = 8};
    step = (gpuc_step){.module = m, .kernel = 0, .num_tensors = 1, .tensors = &t, .launch = {1, 1, 1}};
    ok(dev->api->plan_create(dev, &step, 1, 0, &plan));
    ok(dev->api->alloc_data_space(dev, 64, 0, &b));
    assert_int_equal((uintptr_t)b->host % 256, 0);
    const gpuc_binding binding = {.buffer = b, .size = 64};
    fails(dev->api->plan_run(plan, &(gpuc_bindings){.slots = &binding, .count = 1}, NULL),
          GPUC_INVALID_ARGUMENT, "not aligned to 16");
    dev->api->plan_destroy(plan);
    dev->api->free_data_space(dev, b);
    dev->api->module_release(dev, m);
    gpuc_file_unmap(&so);
    gpuc_runtime_release(rt);
}

static void foreign_and_damaged_objects_are_refused(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_device *dev = open_cpu(&rt, &desc);
    gpuc_mapping so = compile(1);
    const gpuc_kernel *kernels[] = {&answer};
    gpuc_code_module *m;
    uint8_t *copy = malloc(so.size);
    memcpy(copy, so.data, so.size);
    Elf64_Ehdr *head = (Elf64_Ehdr *)copy;
    uint16_t machine = head->e_machine;
    head->e_machine = machine == EM_RISCV ? EM_AARCH64 : EM_RISCV;
    fails(dev->api->module_load(dev, "cpu_so", copy, so.size, kernels, 1, &m), GPUC_DEVICE_UNAVAILABLE,
          "RISC-V");
    head->e_machine = 60000;
    fails(dev->api->module_load(dev, "cpu_so", copy, so.size, kernels, 1, &m), GPUC_DEVICE_UNAVAILABLE,
          "ELF machine 60000");
    head->e_machine = machine;
    head->e_type = ET_EXEC;
    fails(dev->api->module_load(dev, "cpu_so", copy, so.size, kernels, 1, &m), GPUC_INVALID_DATA,
          "shared object");
    head->e_type = ET_DYN;
    head->e_phnum = 0;
    fails(dev->api->module_load(dev, "cpu_so", copy, so.size, kernels, 1, &m), GPUC_INVALID_DATA,
          "cannot be loaded");
    copy[0] = 0;
    fails(dev->api->module_load(dev, "cpu_so", copy, so.size, kernels, 1, &m), GPUC_INVALID_DATA,
          "not an ELF");
    fails(dev->api->module_load(dev, "cpu_so", so.data, 20, kernels, 1, &m), GPUC_INVALID_DATA, "not an ELF");
    gpuc_kernel missing = answer;
    missing.name = "question";
    kernels[0] = &missing;
    fails(dev->api->module_load(dev, "cpu_so", so.data, so.size, kernels, 1, &m), GPUC_INVALID_DATA,
          "'question'");
    free(copy);
    gpuc_file_unmap(&so);
    gpuc_runtime_release(rt);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static void descriptors_are_given_back(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_device *dev = open_cpu(&rt, &desc);
    gpuc_mapping so = compile(1);
    const gpuc_kernel *kernels[] = {&answer};
    int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        gpuc_code_module *m;
        ok(dev->api->module_load(dev, "cpu_so", so.data, so.size, kernels, 1, &m));
        assert_int_equal(run_one(dev, m, "answer"), 1);
        dev->api->module_release(dev, m);
    }
    assert_int_equal(open_descriptors(), before);
    gpuc_file_unmap(&so);
    gpuc_runtime_release(rt);
}

/* ---- Loading without files, and without memory that is a file ---- */

static const char *const temporary[] = {"/tmp", "/dev/shm", "/var/tmp"};

/* The number of files that were made in the folders since it was opened; theirs alone have our name. */
static int files_made(int watch)
{
    _Alignas(struct inotify_event) char events[16384];
    int made = 0;
    for (ssize_t n; (n = read(watch, events, sizeof events)) > 0;)
        for (char *at = events; at < events + n;) {
            const struct inotify_event *e = (const struct inotify_event *)at;
            if (e->len && strncmp(e->name, "gpuc-", 5) == 0 && strlen(e->name) == 11) made++;
            at += sizeof *e + e->len;
        }
    return made;
}

static int watch_folders(void)
{
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (size_t i = 0; watch >= 0 && i < sizeof temporary / sizeof *temporary; i++)
        inotify_add_watch(watch, temporary[i], IN_CREATE); /* one that is missing gets no files */
    return watch;
}

/* What a process is denied from now on. */
enum {
    NOTHING,
    MEMORY = 1, /* files in memory */
    FILES = 2,  /* new files */
    CODE = 4    /* mapping what can be executed */
};

static bool deny(unsigned what)
{
    enum { CREATES = O_CREAT };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what & MEMORY ? __NR_memfd_create : UINT32_MAX, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what & FILES ? __NR_openat : UINT32_MAX, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CREATES, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EROFS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what & CODE ? __NR_mmap : UINT32_MAX, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { CANNOT_DENY = 77 };

/* Loads and runs the module in a child, which is denied some calls. What it says goes to a pipe: the child ends without
 * the test program's own end. */
static int load_in_child(const gpuc_mapping *so, unsigned denied, char said[512])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const gpuc_kernel *kernels[] = {&answer, &loops};
        gpuc_runtime *rt;
        gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
        gpuc_code_module *m;
        desc.num_threads = 2;
        gpuc_device *dev = open_cpu(&rt, &desc);
        if (denied && !deny(denied)) _exit(CANNOT_DENY);
        gpuc_status s = dev->api->module_load(dev, "cpu_so", so->data, so->size, kernels, 2, &m);
        const char *text = s ? gpuc_status_message(s) : "";
        ssize_t written = write(ends[1], text, strlen(text));
        if (s || written < 0) _exit(1);
        bool right = run_one(dev, m, "answer") == 7 && run_one(dev, m, "loops") == 99;
        dev->api->module_release(dev, m);
        gpuc_runtime_release(rt);
        _exit(right ? 0 : 2);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], said, 511);
    said[n > 0 ? n : 0] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void code_is_loaded_without_a_file_where_it_can_be(void **state)
{
    (void)state;
    char said[512];
    gpuc_mapping so = compile(7);
    int watch = watch_folders();
    if (watch < 0) skip();
    setenv("TMPDIR", "/nowhere", 1); /* the runtime asks for no place */
    assert_int_equal(load_in_child(&so, NOTHING, said), 0);
    assert_int_equal(files_made(watch), 0);
    int code = load_in_child(&so, FILES, said); /* as on disks that are read-only */
    if (code != CANNOT_DENY) assert_int_equal(code, 0);
    code = load_in_child(&so, MEMORY, said);
    if (code != CANNOT_DENY) {
        assert_int_equal(code, 0);
        assert_int_equal(files_made(watch), 1); /* which is gone again */
        code = load_in_child(&so, MEMORY | FILES, said);
        assert_int_equal(code, 1);
        if (!strstr(said, "memfd_create: Function not implemented") || !strstr(said, "/var/tmp") ||
            !strstr(said, "Read-only file system"))
            fail_msg("%s", said);
        code = load_in_child(&so, MEMORY | CODE, said); /* as where folders are mounted with noexec */
        assert_int_equal(code, 1);
        if (!strstr(said, "memfd_create: Function not implemented") || !strstr(said, "/var/tmp") ||
            !strstr(said, "failed to map segment"))
            fail_msg("%s", said);
        code = load_in_child(&so, CODE, said);
        assert_int_equal(code, 1);
        if (!strstr(said, "failed to map segment") || strstr(said, "neither"))
            fail_msg("%s", said); /* once */
    }
    unsetenv("TMPDIR");
    close(watch);
    gpuc_file_unmap(&so);
}

static int loops_of_the_application;

static void own_loop(void *user, int64_t begin, int64_t end,
                     void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    assert_ptr_equal(user, &loops_of_the_application);
    loops_of_the_application++;
    for (int64_t i = begin; i < end; i++) body(arg, i, i + 1);
}

static int loops_of_a_plan;

static void loop_of_plan(void *user, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    ++*(int *)user;
    body(arg, begin, end);
}

static void plans_may_have_loops_of_their_own(gpuc_device *dev, gpuc_code_module *m)
{
    gpuc_buffer *b;
    gpuc_plan *plan;
    ok(dev->api->alloc_data_space(dev, 800, 0, &b));
    const gpuc_step_tensor t = {.access = GPUC_ACCESS_WRITE, .size = 8};
    const gpuc_step step = {.module = m, .num_tensors = 1, .tensors = &t, .launch = {1, 1, 1}};
    ok(dev->api->plan_create(dev, &step, 1, 0, &plan));
    const gpuc_binding binding = {.buffer = b, .size = 800};
    const gpuc_bindings bindings = {.slots = &binding, .count = 1};
    for (int i = 0; i < 3; i++) {
        int before = loops_of_the_application;
        dev->api->plan_set_parallel(
            plan, i == 1 ? &(gpuc_parallel){.run = loop_of_plan, .user = &loops_of_a_plan} : NULL);
        ok(dev->api->plan_run(plan, &bindings, NULL));
        assert_int_equal(loops_of_the_application, before + (i != 1));
        assert_int_equal(loops_of_a_plan, i > 0);
    }
    dev->api->plan_destroy(plan);
    dev->api->free_data_space(dev, b);
}

static void the_application_may_run_the_loops(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.parallel_for = own_loop;
    desc.parallel_user = &loops_of_the_application;
    gpuc_device *dev = open_cpu(&rt, &desc);
    gpuc_mapping so = compile(1);
    const gpuc_kernel *kernels[] = {&loops};
    gpuc_code_module *m;
    ok(dev->api->module_load(dev, "cpu_so", so.data, so.size, kernels, 1, &m));
    assert_int_equal(run_one(dev, m, "loops"), 99);
    assert_int_equal(loops_of_the_application, 1);
    plans_may_have_loops_of_their_own(dev, m);
    dev->api->module_release(dev, m);
    gpuc_file_unmap(&so);
    gpuc_runtime_release(rt);
}

/* ---- Streams ---- */

static void launch(gpuc_device *dev, gpuc_stream *s, gpuc_code_module *m, gpuc_buffer *out)
{
    const gpuc_step_tensor tensor = {.access = GPUC_ACCESS_WRITE, .size = out->size};
    const gpuc_step step = {.module = m, .num_tensors = 1, .tensors = &tensor, .launch = {1, 1, 1}};
    const gpuc_binding slot = {.buffer = out, .size = out->size};
    ok(dev->api->launch(dev, s, &step, &(gpuc_bindings){.slots = &slot, .count = 1}));
}

/* With the application's loops, what is flushed runs in the call, since there are no other threads. */
static void streams_on_loops_of_the_application(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.parallel_for = own_loop;
    desc.parallel_user = &loops_of_the_application;
    gpuc_device *dev = open_cpu(&rt, &desc);
    gpuc_mapping so = compile(1);
    const gpuc_kernel *kernels[] = {&loops};
    gpuc_code_module *m;
    gpuc_buffer *b;
    gpuc_stream *s;
    ok(dev->api->module_load(dev, "cpu_so", so.data, so.size, kernels, 1, &m));
    ok(dev->api->alloc_data_space(dev, 800, 16, &b));
    ok(dev->api->create_stream(dev, &s));
    int before = loops_of_the_application;
    for (int i = 0; i < 10; i++) launch(dev, s, m, b);
    assert_int_equal(loops_of_the_application, before);
    ok(dev->api->stream_flush(dev, s));
    assert_int_equal(loops_of_the_application, before + 10);
    dev->api->free_stream(dev, s);
    dev->api->free_data_space(dev, b);
    dev->api->module_release(dev, m);
    gpuc_file_unmap(&so);
    gpuc_runtime_release(rt);
}

/* The child has none of the streams' threads, and goes on with what is queued. */
static int use_in_child(gpuc_device *dev, gpuc_code_module *m, gpuc_stream *s, gpuc_buffer *b)
{
    alarm(20);
    gpuc_stream *streams[2] = {NULL, s};
    for (int i = 0; i < 2; i++) {
        uint64_t ticket, before = dev->launches;
        bool done;
        for (int k = 0; k < 5; k++) launch(dev, streams[i], m, b);
        ok(dev->api->stream_signal(dev, streams[i], &ticket));
        do {
            ok(dev->api->ticket_wait(dev, ticket, 1000000, &done));
        } while (!done);
        if (dev->launches != before + (i == 0 ? 7 : 6)) return 1; /* with what was left */
    }
    dev->api->free_stream(dev, s);
    dev->api->free_data_space(dev, b);
    dev->api->module_release(dev, m);
    gpuc_runtime_release(dev->runtime);
    return 0;
}

/* What children are forked beside. */
typedef struct forking {
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_mapping so;
    gpuc_code_module *m;
    gpuc_buffer *b;
    gpuc_stream *s;
} forking;

static void begin_forking(forking *f, int num_threads)
{
#ifdef GPUC_SANITIZED
    print_message(
        "not run: AddressSanitizer's allocator may be locked by another thread when a process forks\n");
    skip();
#endif
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    const gpuc_kernel *kernels[] = {&loops};
    desc.num_threads = num_threads;
    f->dev = open_cpu(&f->rt, &desc);
    f->so = compile(1);
    ok(f->dev->api->module_load(f->dev, "cpu_so", f->so.data, f->so.size, kernels, 1, &f->m));
    ok(f->dev->api->alloc_data_space(f->dev, 800, 16, &f->b));
    ok(f->dev->api->create_stream(f->dev, &f->s));
}

static void end_forking(forking *f)
{
    f->dev->api->free_stream(f->dev, f->s);
    f->dev->api->free_data_space(f->dev, f->b);
    f->dev->api->module_release(f->dev, f->m);
    gpuc_file_unmap(&f->so);
    gpuc_runtime_release(f->rt);
}

static void children_go_on_with_streams(void **state)
{
    (void)state;
    forking f;
    uint64_t ticket;
    bool done;
    begin_forking(&f, 3);
    for (int round = 0; round < 10; round++) {
        launch(f.dev, f.s, f.m, f.b);
        ok(f.dev->api->stream_signal(f.dev, f.s, &ticket));
        ok(f.dev->api->ticket_wait(f.dev, ticket, GPUC_FOREVER, &done));
        launch(f.dev, f.s, f.m, f.b);
        launch(f.dev, NULL, f.m, f.b);
        launch(f.dev, NULL, f.m, f.b);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) _exit(use_in_child(f.dev, f.m, f.s, f.b));
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        ok(f.dev->api->stream_sync(f.dev, f.s));
        ok(f.dev->api->stream_sync(f.dev, NULL));
    }
    end_forking(&f);
}

/* The stream's thread is in the middle of the queue when the process forks; nobody but it would run the rest. */
static void children_find_a_queue_in_the_middle(void **state)
{
    (void)state;
    forking f;
    uint64_t ticket;
    begin_forking(&f, 2);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 2000; i++) launch(f.dev, f.s, f.m, f.b);
        ok(f.dev->api->stream_signal(f.dev, f.s, &ticket));
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            bool done = false;
            alarm(20);
            while (!done) ok(f.dev->api->ticket_wait(f.dev, ticket, 0, &done));
            ok(f.dev->api->stream_sync(f.dev, f.s));
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("round %d: status 0x%x", round, (unsigned)status);
        ok(f.dev->api->stream_sync(f.dev, f.s));
    }
    end_forking(&f);
}

static void threads_are_as_many_as_asked_for(void **state)
{
    (void)state;
    gpuc_runtime *rt;
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_device *dev = open_cpu(&rt, &desc);
    assert_int_equal(gpuc_device_get_attr(dev, GPUC_ATTR_MULTI_PROCESSOR_COUNT).i,
                     gpuc_cpu_online_processors());
    gpuc_runtime_release(rt);
    desc.num_threads = 3;
    dev = open_cpu(&rt, &desc);
    assert_int_equal(gpuc_device_get_attr(dev, GPUC_ATTR_MULTI_PROCESSOR_COUNT).i, 3);
    gpuc_runtime_release(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_with_the_same_names_stay_apart),
        cmocka_unit_test(a_kernel_that_fails_is_named),
        cmocka_unit_test(foreign_and_damaged_objects_are_refused),
        cmocka_unit_test(descriptors_are_given_back),
        cmocka_unit_test(code_is_loaded_without_a_file_where_it_can_be),
        cmocka_unit_test(the_application_may_run_the_loops),
        cmocka_unit_test(streams_on_loops_of_the_application),
        cmocka_unit_test(children_go_on_with_streams),
        cmocka_unit_test(children_find_a_queue_in_the_middle),
        cmocka_unit_test(threads_are_as_many_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
