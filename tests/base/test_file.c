/* SPDX-License-Identifier: Apache-2.0 */
#include "test_heap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pending.h"

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/gpuc-test-file-XXXXXX");
    return mkdtemp(dir) ? chdir(dir) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s && rm -rf %s", dir, dir);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static int count_files(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void expect_content(const char *path, const char *text)
{
    gpuc_mapping m;
    expect_success(gpuc_file_map(path, &m));
    assert_int_equal(m.size, strlen(text));
    assert_memory_equal(m.data, text, m.size);
    gpuc_file_unmap(&m);
    assert_null(m.data);
}

static void put_and_map(void **state)
{
    (void)state;
    expect_success(gpuc_file_put(NULL, "a", "hello", 5));
    expect_content("a", "hello");
    expect_success(gpuc_file_put(NULL, "a", "bye", 3));
    expect_content("a", "bye");
    expect_success(gpuc_file_put(NULL, "./empty", "", 0));
    gpuc_mapping m;
    expect_success(gpuc_file_map("empty", &m));
    assert_non_null(m.data);
    assert_int_equal(m.size, 0);
    gpuc_file_unmap(&m);
    assert_int_equal(count_files("."), 2);
}

static void map_errors_name_path_and_reason(void **state)
{
    (void)state;
    gpuc_mapping m;
    expect_failure(gpuc_file_map("none", &m), GPUC_NOT_FOUND, "'none': No such file");
    expect_failure(gpuc_file_map("", &m), GPUC_NOT_FOUND, "''");
    assert_int_equal(mkdir("d", 0777), 0);
    expect_failure(gpuc_file_map("d", &m), GPUC_IO, "'d': it is a directory");
    assert_int_equal(mkfifo("f", 0666), 0);
    expect_failure(gpuc_file_map("f", &m), GPUC_IO, "'f': it is not a regular file"); /* and does not block */
    assert_null(m.data);
}

static void bad_paths_are_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0777), 0);
    assert_int_equal(mkfifo("f", 0666), 0);
    assert_int_equal(symlink("nowhere", "l"), 0);
    expect_failure(gpuc_file_put(NULL, "d", "x", 1), GPUC_IO, "'d': it is a directory");
    expect_failure(gpuc_file_put(NULL, "d/", "x", 1), GPUC_IO, "directory");
    expect_failure(gpuc_file_put(NULL, "new/", "x", 1), GPUC_IO, "it names a directory");
    expect_failure(gpuc_file_put(NULL, "f", "x", 1), GPUC_IO, "'f': it exists and is not a regular file");
    expect_failure(gpuc_file_put(NULL, "l", "x", 1), GPUC_IO, "'l': it is a symbolic link");
    expect_failure(gpuc_file_put(NULL, "/dev/null", "x", 1), GPUC_IO, "not a regular file");
    expect_failure(gpuc_file_put(NULL, "none/a", "x", 1), GPUC_NOT_FOUND, "'none/a'");
    expect_failure(gpuc_file_put(NULL, "", "x", 1), GPUC_INVALID_ARGUMENT, "empty");
    assert_int_equal(count_files("."), 3);
    assert_int_equal(count_files("d"), 0);
}

static void a_directory_without_permission(void **state)
{
    (void)state;
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(mkdir("d", 0555), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && seteuid(65534) != 0) _exit(2); /* root may write anywhere */
        gpuc_status s = gpuc_file_put(NULL, "d/a", "x", 1);
        bool good =
            gpuc_status_code(s) == GPUC_IO && strstr(gpuc_status_message(s), "'d/a': Permission denied");
        gpuc_status_release(s);
        _exit(good ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_equal(count_files("d"), 0);
}

static void the_mode_and_links_are_kept(void **state)
{
    (void)state;
    struct stat st;
    umask(022);
    expect_success(gpuc_file_put(NULL, "a", "1", 1));
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(chmod("a", 0600), 0);
    assert_int_equal(symlink("a", "l"), 0);
    expect_success(gpuc_file_put(NULL, "l", "22", 2));
    assert_int_equal(lstat("l", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    expect_content("a", "22");
}

/* A disk that fills up: RLIMIT_FSIZE makes the write that crosses it fall short, the next fail. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    expect_success(gpuc_file_put(NULL, "a", "old", 3));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {.rlim_cur = 10000, .rlim_max = 10000};
        setrlimit(RLIMIT_FSIZE, &limit);
        char *big = calloc(1, 100000);
        gpuc_status s = gpuc_file_put(NULL, "a", big, 100000);
        bool good = gpuc_status_code(s) == GPUC_IO && strstr(gpuc_status_message(s), "'a': File too large");
        gpuc_status_release(s);
        gpuc_file_writer *w;
        s = gpuc_file_create(NULL, (gpuc_allocator){0}, "a", &w);
        good = good && !s;
        s = gpuc_file_write(w, big, 100000);
        good = good && s;
        gpuc_status_release(s);
        s = gpuc_file_commit(w); /* a write failed: no commit */
        good = good && gpuc_status_code(s) == GPUC_IO;
        gpuc_status_release(s);
        free(big);
        _exit(good ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    expect_content("a", "old");
    assert_int_equal(count_files("."), 1);
}

static void dev_full_reports_no_space(void **state)
{
    (void)state;
    /* The error text of the reason, without a file system to fill. */
    expect_failure(gpuc_file_error(ENOSPC, "cannot write", "x"), GPUC_IO,
                   "cannot write 'x': No space left on device");
}

static void abandoned_and_interrupted_writes_leave_nothing(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_file_writer *a, *b;
    gpuc_pending *pending;
    expect_success(gpuc_pending_create(NULL, &pending));
    gpuc_file_abandon(NULL);
    expect_success(gpuc_file_create(NULL, test_heap_allocator(&heap), "a", &a));
    expect_success(gpuc_file_write(a, "x", 1));
    assert_int_equal(count_files("."), 1);
    gpuc_file_abandon(a);
    assert_int_equal(count_files("."), 0);
    assert_int_equal(heap.live, 0);

    assert_int_equal(mkdir("d", 0777), 0);
    expect_success(gpuc_file_create(pending, (gpuc_allocator){0}, "d/a", &a));
    expect_success(gpuc_file_create(pending, (gpuc_allocator){0}, "d/b", &b));
    assert_int_equal(count_files("d"), 2);
    pid_t child = fork();
    if (child == 0) {
        gpuc_pending_discard(pending); /* not its files */
        _exit(0);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(count_files("d"), 2);
    assert_int_equal(chdir("/"), 0); /* found again from elsewhere */
    gpuc_pending_discard(pending);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(count_files("d"), 0);
    expect_failure(gpuc_file_commit(a), GPUC_NOT_FOUND, "'d/a'");
    gpuc_file_abandon(b);
    expect_success(gpuc_file_put(pending, "d/a", "after", 5));
    gpuc_pending_discard(pending);
    expect_content("d/a", "after");
    gpuc_pending_discard(NULL);
    gpuc_pending_destroy(pending);
}

static void many_writers_at_once(void **state)
{
    (void)state;
    gpuc_file_writer *w[65];
    gpuc_pending *pending;
    char name[16];
    expect_success(gpuc_pending_create(NULL, &pending));
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "f%d", i);
        expect_success(gpuc_file_create(pending, (gpuc_allocator){0}, name, &w[i]));
    }
    expect_failure(gpuc_file_create(pending, (gpuc_allocator){0}, "more", &w[64]), GPUC_IO, "64 files");
    for (int i = 0; i < 64; i++) expect_success(gpuc_file_commit(w[i]));
    assert_int_equal(count_files("."), 64);
    expect_success(gpuc_file_put(pending, "more", "x", 1));
    gpuc_pending_destroy(pending);
}

static void pending_folders(void **state)
{
    (void)state;
    gpuc_pending *pending;
    expect_success(gpuc_pending_create(NULL, &pending));
    gpuc_pending_folder own, *f = gpuc_pending_take_folder(pending, &own);
    assert_ptr_equal(gpuc_pending_take_folder(NULL, &own), &own);
    snprintf(f->path, sizeof f->path, "%s/folder", dir);
    assert_int_equal(mkdir(f->path, 0777), 0);
    for (int i = 0; i < 300; i++) { /* more than one read of the folder tells */
        char name[128];
        snprintf(name, sizeof name, "folder/a file with number %d", i);
        int fd = open(name, O_WRONLY | O_CREAT, 0666);
        assert_true(fd >= 0);
        close(fd);
    }
    gpuc_pending_discard(pending); /* taken only */
    assert_int_equal(count_files("folder"), 300);
    gpuc_pending_set(&f->entry, true);
    gpuc_pending_discard(pending);
    assert_int_equal(count_files("."), 0);
    gpuc_pending_give(&f->entry);
    assert_int_equal(mkdir(f->path, 0777), 0);
    gpuc_pending_discard(pending);
    assert_int_equal(count_files("."), 1);
    gpuc_pending_destroy(pending);
}

static void writer_without_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        test_heap heap = {.fail_at = n};
        gpuc_file_writer *w;
        gpuc_status status = gpuc_file_create(NULL, test_heap_allocator(&heap), "a", &w);
        if (!status) status = gpuc_file_commit(w);
        assert_int_equal(heap.live, 0);
        if (!status) break;
        expect_failure(status, GPUC_OUT_OF_MEMORY, "'a'");
        assert_int_equal(count_files("."), 0);
    }
    assert_int_equal(count_files("."), 1);
}

static void directories_with_parents(void **state)
{
    (void)state;
    struct stat st;
    expect_success(gpuc_dir_make("x//y/z/"));
    expect_success(gpuc_dir_make("x/y"));
    expect_success(gpuc_dir_make("/"));
    assert_true(stat("x/y/z", &st) == 0 && S_ISDIR(st.st_mode));
    expect_success(gpuc_file_put(NULL, "file", "", 0));
    expect_failure(gpuc_dir_make("file"), GPUC_IO, "'file': it exists and is not a directory");
    expect_failure(gpuc_dir_make("file/below"), GPUC_IO, "not a directory");
    expect_failure(gpuc_dir_make(""), GPUC_INVALID_ARGUMENT, "empty");
}

static void suggestions(void **state)
{
    (void)state;
    static const char *const names[] = {"vulkan", "opencl", "cpu", "c", "max_num_threads"};
    const size_t n = sizeof names / sizeof names[0];
    assert_string_equal(gpuc_suggest("vulcan", names, n), "vulkan");
    assert_string_equal(gpuc_suggest("VULKAN", names, n), "vulkan");
    assert_string_equal(gpuc_suggest("opnecl", names, n), "opencl");
    assert_string_equal(gpuc_suggest("max_threads", names, n), "max_num_threads");
    assert_string_equal(gpuc_suggest("cpux", names, n), "cpu");
    assert_null(gpuc_suggest("metal", names, n));
    static const char *const operators[] = {"Floor", "Atan", "Split", "And"};
    assert_null(gpuc_suggest("Loop", operators, 4));
    assert_null(gpuc_suggest("Scan", operators, 4));
    assert_string_equal(gpuc_suggest("Flor", operators, 4), "Floor");
    assert_string_equal(gpuc_suggest("Splits", operators, 4), "Split");
    assert_null(gpuc_suggest("", names, n));
    assert_null(gpuc_suggest("x", names, n));
    char long_word[300];
    memset(long_word, 'a', 299);
    long_word[299] = 0;
    assert_null(gpuc_suggest(long_word, names, n));
    assert_null(gpuc_suggest("cpu", NULL, 0));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(put_and_map),
        TEST(map_errors_name_path_and_reason),
        TEST(bad_paths_are_refused),
        TEST(a_directory_without_permission),
        TEST(the_mode_and_links_are_kept),
        TEST(a_full_disk_leaves_nothing_behind),
        TEST(dev_full_reports_no_space),
        TEST(abandoned_and_interrupted_writes_leave_nothing),
        TEST(many_writers_at_once),
        TEST(pending_folders),
        TEST(writer_without_memory),
        TEST(directories_with_parents),
        TEST(suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
